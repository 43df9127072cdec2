"""The measures of a match by registers, in one pass over its rows: ISO/IEC 9075-2, features R010 and R020."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from cerify.automata.row_pattern.registers import Register, Registers, View, inner_of, nth
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.expressions import Frame
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.output import Output, OutputRow, labels_of
from cerify.semantics.row_pattern.scalars import Nullable


class RegisterOutput(Output):
    """What a clause makes of its matches by the decided reading, in time that is linear in the rows of a match."""

    @cached_property
    def registers(self) -> MeasureRegisters:
        """What the measures see."""
        return MeasureRegisters(self.q)

    def measures(self, match: NumberedMatch, seen: Sequence[int]) -> Iterator[OutputRow]:
        if match.events:
            return self.registers.measures(self.frame(match, labels_of(match), len(match.events)), seen)
        return super().measures(match, seen)


class MeasureRegisters(Registers):
    """The registers of the measures of a clause; when one is computed, all rows of the match are labelled."""

    def __init__(self, q: MatchRecognize) -> None:
        self.expressions = [one.expression for one in q.measures]
        super().__init__(self.expressions, q.unions, {}, 0)

    def measures(self, f: Frame, seen: Sequence[int]) -> Iterator[OutputRow]:
        """The measures of a whole match in its rows of these numbers, from 1."""
        self.frame = f
        labelled = list(enumerate(f.labels, f.start))
        views = [*accumulate(labelled, lambda v, row: self.after(v, *row), initial=self.initial(f.number))]
        self.last = views[-1], *labelled[-1]
        for k in seen:
            yield tuple(self.value(e, views[k], *labelled[k - 1]) for e in self.expressions)

    def value(self, e: rows.Expression, v: View, r: int, label: str) -> Nullable:
        looked_at = inner_of(e) if isinstance(e, rows.Physical) else e
        if getattr(looked_at, "semantics", "RUNNING") == "FINAL":
            v, r, label = self.last
        return super().value(e, v, r, label)

    def _register(self, e: rows.Lookup) -> Register | None:
        return super()._register(inner_of(e) if isinstance(e, rows.Physical) else e)

    def _physical(self, e: rows.Physical, state: Any, r: int) -> tuple[int, str | None] | None:
        inner, f = inner_of(e), self.frame
        found = nth(inner.function, inner.offset, state)
        if found is None:
            return None
        other = found[0] + (e.offset if e.function == "NEXT" else -e.offset)
        number = other - f.start
        return (other, f.labels[number] if 0 <= number < len(f.labels) else None) if other in f.visible else None

    def _column(self, name: str, r: int) -> Nullable:
        return self.frame.partition[r].get(name)
