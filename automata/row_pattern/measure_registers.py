"""The measures of a match by registers, in one pass over its rows: ISO/IEC 9075-2, features R010 and R020."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from cerify.automata.row_pattern.registers import Register, Registers, View, inner_of, nth
from cerify.semantics.budget import check_time, timed_items
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.scalars import Nullable
from cerify.semantics.values import Value


@dataclass(frozen=True)
class LabelledRows:
    """A match of one row at least.

    partition: the rows of its partition, each with its values that are not NULL. visible: those that PREV and NEXT lead
    to. start: its first row. labels: the variables of its rows. number: that of the match.
    """

    partition: Sequence[Mapping[str, Value]]
    visible: range
    start: int
    labels: Sequence[str]
    number: int


class MeasureRegisters(Registers):
    """The registers of the measures of a clause; when one is computed, all rows of the match are labelled."""

    def __init__(self, q: MatchRecognize) -> None:
        self.expressions = [one.expression for one in q.measures]
        super().__init__(self.expressions, q.unions, {}, 0)

    def measures(self, match: LabelledRows, seen: Sequence[int]) -> Iterator[tuple[Nullable, ...]]:
        """The measures of a match in its rows of these numbers, from 1."""
        self.match = match
        labelled = list(enumerate(timed_items(match.labels), match.start))
        views = [*accumulate(labelled, lambda v, row: self.after(v, *row), initial=self.initial(match.number))]
        self.last = views[-1], *labelled[-1]
        for k in seen:
            check_time()
            yield tuple(self.value(e, views[k], *labelled[k - 1]) for e in self.expressions)

    def value(self, e: rows.Expression, v: View, r: int, label: str) -> Nullable:
        looked_at = inner_of(e) if isinstance(e, rows.Physical) else e
        if getattr(looked_at, "semantics", "RUNNING") == "FINAL":
            v, r, label = self.last
        return super().value(e, v, r, label)

    def _register(self, e: rows.Lookup) -> Register | None:
        return super()._register(inner_of(e) if isinstance(e, rows.Physical) else e)

    def _physical(self, e: rows.Physical, state: Any, r: int) -> tuple[int, str | None] | None:
        inner, match = inner_of(e), self.match
        found = nth(inner.function, inner.offset, state)
        if found is None:
            return None
        other = found[0] + (e.offset if e.function == "NEXT" else -e.offset)
        if other not in match.visible:
            return None
        number = other - match.start
        return other, match.labels[number] if 0 <= number < len(match.labels) else None

    def _column(self, name: str, r: int) -> Nullable:
        return self.match.partition[r].get(name)
