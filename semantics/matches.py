"""The matches of a query as a list that becomes an Arrow table or a data frame."""

from __future__ import annotations

from typing import Any

from cerify.semantics.events import Match
from cerify.semantics.packages import pa


class Matches(list[Match]):
    """Matches in a list, which is equal to any list of the same matches."""

    def to_arrow(self) -> pa.Table:
        """A table with one row for each match and the columns of RESULT; polars.from_arrow makes a frame of it.

        A result has its attributes in the order of RETURN.
        """
        from cerify.semantics.match_tables import RESULT, table_of_matches

        written = [None if m.result is None else m.result.written for m in self]
        return table_of_matches(self).set_column(3, RESULT.field("result"), pa.array(written, pa.string()))

    def to_pandas(self) -> Any:
        """A pandas data frame with one row for each match and the columns of RESULT; bindings are dicts.

        Raises ImportError where pandas is not installed.
        """
        return self.to_arrow().to_pandas(maps_as_pydicts="strict")
