"""The value of an expression in DEFINE or MEASURES: ISO/IEC 9075-2, feature R010.

Letters, here and in denote.py:
    e  an expression     f  a frame: what is known of a match     r  a row of the partition, from 0     A  a variable
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.reading import RowReading
from cerify.semantics.row_pattern.scalars import Nullable, aggregated, combined
from cerify.semantics.values import Value

Row: TypeAlias = Mapping[str, Value]
"""The values of a row's columns that are not NULL."""


@dataclass(frozen=True)
class Frame:
    """What an expression looks at.

    partition: its rows. visible: those that PREV and NEXT lead to. start: the row at which the match starts. labels:
    the variables of the rows from start on, as far as they are labelled. current: how many of them RUNNING sees; the
    last of these is the current row. number: that of the match. unions: the primary variables that each variable
    stands for.
    """

    partition: Sequence[Row]
    visible: range
    start: int
    labels: tuple[str, ...]
    current: int
    number: int
    unions: Mapping[str, frozenset[str]]
    reading: RowReading

    def rows_of(self, A: str | None, semantics: rows.Semantics = "RUNNING") -> list[int]:
        """The rows of a variable, or of the match, in order: those up to the current one, or all."""
        seen = self.labels if semantics == "FINAL" else self.labels[: self.current]
        return [self.start + k for k, label in enumerate(seen) if A is None or label in self.unions[A]]


def value(e: rows.Expression, f: Frame, r: int | None = None) -> Nullable:
    """The value of an expression; inside a navigation or an aggregate, that in the row r."""
    match e:
        case rows.Column(name, A):  # A.x outside of a navigation is LAST(A.x)
            if r is None:
                r = _last(f, A)
            return None if r is None else f.partition[r].get(name)
        case rows.Classifier(A):
            if r is None:
                r = _last(f, A)
            return f.labels[r - f.start] if r is not None and 0 <= r - f.start < len(f.labels) else None
        case rows.MatchNumber():
            return f.number
        case rows.Physical(function, argument, offset):  # from a row of the match to one of the partition
            inner = argument if isinstance(argument, rows.Logical) else rows.Logical("LAST", argument)
            r = row_of(inner, f)
            if r is None:
                return None
            r += offset if function == "NEXT" else -offset
            return value(inner.argument, f, r) if r in f.visible else None
        case rows.Logical(_, argument):
            r = row_of(e, f)
            return None if r is None else value(argument, f, r)
        case rows.Count(A, semantics):
            return len(f.rows_of(A, semantics))
        case rows.Aggregate(function, argument, semantics):
            found = [value(argument, f, r) for r in f.rows_of(rows.variable_of(argument), semantics)]
            return aggregated(function, found)
        case (
            rows.Constant()
            | rows.Negative()
            | rows.Sum()
            | rows.Product()
            | rows.Absolute()
            | rows.Cast()
            | rows.Coalesce()
            | rows.Case()
            | rows.Comparison()
            | rows.IsNull()
            | rows.Between()
            | rows.In()
            | rows.Like()
            | rows.Not()
            | rows.And()
            | rows.Or()
        ):
            return combined(e, [value(operand, f, r) for operand in rows.below(e)], f.reading)
        case _:
            assert_never(e)  # fmt: skip


def row_of(e: rows.Logical, f: Frame) -> int | None:
    """The row to which FIRST or LAST leads; None if there is none."""
    found = f.rows_of(rows.variable_of(e.argument), e.semantics)
    if e.offset >= len(found):
        return None
    return found[e.offset] if e.function == "FIRST" else found[-1 - e.offset]


def _last(f: Frame, A: str | None) -> int | None:
    found = f.rows_of(A)
    return found[-1] if found else None
