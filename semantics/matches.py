"""The matches of a query as a list that becomes an Arrow table or a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cerify.semantics.events import Match

POSITIONS = pa.list_(pa.int64())
RESULT = pa.schema(
    [
        ("at", pa.int64()),
        ("events", POSITIONS),
        ("bindings", pa.map_(pa.string(), POSITIONS)),
        ("result", pa.string()),
    ]
)
"""A match: `at` and `events` are positions, `bindings` maps variables to positions, and `result` is JSON.

bindings and result are null where the query does not give them.
"""


class Matches(list[Match]):
    """Matches in a list, which is equal to any list of the same matches."""

    def to_arrow(self) -> pa.Table:
        """A table with one row for each match and the columns of RESULT; polars.from_arrow makes a frame of it.

        A result has its attributes in the order of RETURN.
        """
        written = [None if m.result is None else m.result.written for m in self]
        return table_of_matches(self).set_column(3, RESULT.field("result"), pa.array(written, pa.string()))

    def to_pandas(self) -> Any:
        """A pandas data frame with one row for each match and the columns of RESULT; bindings are dicts.

        Raises ImportError where pandas is not installed.
        """
        return self.to_arrow().to_pandas(maps_as_pydicts="strict")


def table_of_matches(matches: Sequence[Match]) -> pa.Table:
    """The table of some matches, with the columns of RESULT."""
    bindings: list[list[tuple[str, tuple[int, ...]]] | None] = [
        None if m.bindings is None else list(m.bindings) for m in matches
    ]
    columns: list[Any] = [
        [m.at for m in matches],
        [m.events for m in matches],
        bindings,
        [None if m.result is None else m.result.text for m in matches],
    ]
    return pa.table([pa.array(values, kind) for values, kind in zip(columns, RESULT.types, strict=True)], RESULT)
