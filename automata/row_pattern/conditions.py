"""Conditions of DEFINE that look at columns alone, in rows at fixed distances from the row that is labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from cerify.automata.row_pattern.compile import compile_pattern
from cerify.automata.row_pattern.windows import last_place, searched_pattern
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import Unsupported
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.scalars import Nullable, combined

MOST_STATES = 2048  # in compiled loops each row has a bit for each state
Columns = Mapping[str, Sequence[Nullable]]
"""The columns of a partition; one that is missing is NULL throughout."""


def why_not(q: MatchRecognize) -> Unsupported | None:
    """Why a clause is not decided by columns alone; None if it is."""
    for one in q.define:
        if (e := _beyond_columns(q, one.variable)) is not None:
            message = f"the condition of {one.variable} looks at what the match has so far, not at columns alone"
            return Unsupported(message, e.span or one.span)
    return None


def on_columns(q: MatchRecognize, variable: str) -> bool:
    """Whether the condition of a variable looks at columns alone, in rows at fixed distances."""
    return _beyond_columns(q, variable) is None


def _beyond_columns(q: MatchRecognize, variable: str) -> rows.Expression | None:
    """What in the condition of a variable looks at more than columns in rows at fixed distances; None if nothing."""
    its = {A for A, members in q.unions.items() if variable in members}
    return next((e for e in rows.lookups(q.conditions[variable]) if not _fixed(e, its)), None)


def why_not_compiled(q: MatchRecognize, budget: Budget) -> Unsupported | None:
    """Why the compiled loops cannot carry the automaton of a clause; None if they can. Raises BudgetExceeded."""
    states = len(compile_pattern(searched_pattern(q), budget).places) * (last_place(q) + 1)
    if states <= MOST_STATES:
        return None
    message = f"the automaton of the pattern has {states} states, and the compiled loops carry {MOST_STATES}"
    return Unsupported(message, q.pattern.span)


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
    """For each row of a partition whether the condition of a variable is true there. Raises BudgetExceeded."""
    found = []
    for r in range(length):
        check_time()  # an IN may have thousands of items
        found.append(value_in(e, variable, columns, r, length) is True)
    return found


def value_in(e: rows.Expression, variable: str, columns: Columns, r: int, length: int) -> Nullable:
    """The value of an expression in the row r, which may be outside of the partition."""
    match e:
        case rows.Column(name):
            return columns[name][r] if name in columns and 0 <= r < length else None
        case rows.Classifier():
            return variable
        case rows.Logical(_, argument):
            return value_in(argument, variable, columns, r, length)
        case rows.Physical(function, argument, offset):
            other = r + (offset if function == "NEXT" else -offset)
            return value_in(argument, variable, columns, other, length) if 0 <= other < length else None
        case (
            rows.Constant() | rows.Negative() | rows.Sum() | rows.Product() | rows.Absolute() | rows.Cast()
            | rows.Coalesce() | rows.Case() | rows.Comparison() | rows.IsNull() | rows.Between() | rows.In()
            | rows.Like() | rows.Not() | rows.And() | rows.Or()
        ):  # fmt: skip
            return combined(e, [value_in(one, variable, columns, r, length) for one in rows.below(e)], STANDARD)
        case rows.MatchNumber() | rows.Count() | rows.Aggregate():
            raise AssertionError("why_not refuses it")
        case _:
            assert_never(e)
