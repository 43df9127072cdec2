"""A match of MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cerify.semantics.events import Match


@dataclass(frozen=True, slots=True, order=True)
class NumberedMatch(Match):
    """A match of rows, of which `events` are in the order of the match; its number counts in its partition, from 1.

    excluded: the rows that are left out of the output of all rows.
    """

    match_number: int = field(kw_only=True)
    excluded: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def more(self) -> dict[str, Any]:
        return {"match_number": self.match_number}
