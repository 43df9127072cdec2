"""Conditions of DEFINE that look at columns alone, in rows at fixed distances from the row that is labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from cerify.semantics.errors import Unsupported
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.scalars import Nullable, combined

Columns = Mapping[str, Sequence[Nullable]]
"""The columns of a partition; one that is missing is NULL throughout."""


def why_not(q: MatchRecognize) -> Unsupported | None:
    """Why the automaton cannot carry a clause; None if it can."""
    for one in q.define:
        its = {A for A, members in q.unions.items() if one.variable in members}
        for e in rows.lookups(one.condition):
            if not _fixed(e, its):
                return Unsupported(
                    f"the condition of {one.variable} looks at what the match has so far, and the automaton at columns "
                    "in rows at fixed distances",
                    e.span or one.span,
                )
    return None


def _fixed(e: rows.Expression, its: set[str]) -> bool:
    """Whether a lookup depends on columns of a row at a fixed distance alone.

    its: the variables that stand for the variable of the condition. The last row of each is the current one, and so is
    the last row of the match.
    """
    match e:
        case rows.Column(_, A) | rows.Classifier(A):
            return A is None or A in its
        case rows.Logical("LAST", argument, 0):
            return all(_fixed(one, its) for one in rows.lookups(argument))
        case rows.Physical(_, argument):
            inner = argument.argument if isinstance(argument, rows.Logical) else argument
            last = not isinstance(argument, rows.Logical) or (argument.function, argument.offset) == ("LAST", 0)
            return last and all(isinstance(one, rows.Column) and _fixed(one, its) for one in rows.lookups(inner))
    return False


def truths(e: rows.Expression, variable: str, columns: Columns, length: int) -> list[bool]:
    """For each row of a partition whether the condition of a variable is true there."""
    return [_value(e, variable, columns, r, length) is True for r in range(length)]


def _value(e: rows.Expression, variable: str, columns: Columns, r: int, length: int) -> Nullable:
    """The value of an expression in the row r, which may be outside of the partition."""
    match e:
        case rows.Column(name):
            return columns[name][r] if name in columns and 0 <= r < length else None
        case rows.Classifier():
            return variable
        case rows.Logical(_, argument):
            return _value(argument, variable, columns, r, length)
        case rows.Physical(function, argument, offset):
            other = r + (offset if function == "NEXT" else -offset)
            return _value(argument, variable, columns, other, length) if 0 <= other < length else None
        case (
            rows.Constant() | rows.Negative() | rows.Sum() | rows.Product() | rows.Absolute() | rows.Cast()
            | rows.Coalesce() | rows.Case() | rows.Comparison() | rows.IsNull() | rows.Between() | rows.In()
            | rows.Like() | rows.Not() | rows.And() | rows.Or()
        ):  # fmt: skip
            return combined(e, [_value(one, variable, columns, r, length) for one in rows.below(e)], STANDARD)
        case rows.MatchNumber() | rows.Count() | rows.Aggregate():
            raise AssertionError("why_not refuses it")
        case _:
            assert_never(e)
