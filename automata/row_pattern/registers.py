"""What conditions see of the rows that a match has so far, in registers, and their values by these.

Letters: r a row of the partition, v a view: the contents of all registers after some row. Two searches at the same row,
in the same state of the automaton, with equal views go on alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never, cast

from cerify.automata.row_pattern.conditions import Columns
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.scalars import Nullable, combined
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, kind

View: TypeAlias = tuple[Any, ...]
Variables: TypeAlias = frozenset[str] | None
"""The primary variables that one stands for; None: all rows of the match."""


@dataclass(frozen=True)
class Rows:
    """The first or the last rows of some variables, at most `number`, each with its label if `labelled`."""

    variables: Variables
    first: bool
    number: int
    labelled: bool


@dataclass(frozen=True)
class Number:
    """How many rows there are of some variables."""

    variables: Variables


@dataclass(frozen=True)
class Folded:
    """An aggregate: how many values there are, their kind, the sum or the best of them, and how that is written."""

    variables: Variables
    aggregate: rows.Aggregate


@dataclass(frozen=True)
class Labels:
    """The labels of all rows: what CLASSIFIER in PREV or NEXT needs."""


@dataclass(frozen=True)
class MatchNumber:
    """The number of the match."""


Register: TypeAlias = Rows | Number | Folded | Labels | MatchNumber


class Registers:
    """The registers of some conditions on the rows of a partition."""

    def __init__(
        self, conditions: Iterable[rows.Expression], unions: Mapping[str, frozenset[str]], columns: Columns, length: int
    ) -> None:
        self.unions, self.columns, self.length = unions, columns, length
        self.number = 0  # of the match that is searched
        self._of: dict[rows.Expression, int] = {}
        registers: dict[Register, int] = {}
        for e in conditions:
            if any(isinstance(one, rows.MatchNumber) for one in subtrees(e)):
                registers.setdefault(MatchNumber(), len(registers))
            for one in rows.lookups(e):
                if (register := self._register(one)) is not None:
                    self._of[one] = registers.setdefault(register, len(registers))
        self.registers = tuple(registers)

    def initial(self, number: int) -> View:
        """The view before the first row of the match of that number."""
        self.number = number
        begin: dict[type[Register], Any] = {Number: 0, MatchNumber: number}
        return tuple(begin.get(type(one), ()) for one in self.registers)

    def after(self, v: View, r: int, label: str) -> View:
        """The view after a row is labelled."""
        return tuple(self._step(one, state, r, label) for one, state in zip(self.registers, v, strict=True))

    def value(self, e: rows.Expression, v: View, r: int, label: str) -> Nullable:
        """The value of an expression after the row r, which is labelled, by the view then."""
        if not isinstance(e, rows.Lookup):
            return combined(e, [self.value(one, v, r, label) for one in rows.below(e)], STANDARD)
        state: Any = v[self._of[e]] if e in self._of else None
        match e:
            case rows.Column(_, A) | rows.Classifier(A):
                found = (r, label) if A is None else state[-1] if state else None
            case rows.MatchNumber():
                return self.number
            case rows.Count():
                return cast(int, state)
            case rows.Aggregate(function, _):
                return _result(function, state)
            case rows.Logical(function, argument, offset):
                found = nth(function, offset, state)
                e = argument
            case rows.Physical():
                found = self._physical(e, state, r)
                e = inner_of(e).argument
            case _:
                assert_never(e)
        return None if found is None else self._in_row(e, *found)

    def _physical(self, e: rows.Physical, state: Any, r: int) -> tuple[int, str | None] | None:
        """The row to which PREV or NEXT leads from the row r, and its label; None if there is no such row."""
        inner, start = inner_of(e), r - len(state) + 1
        by_labels = isinstance(self.registers[self._of[e]], Labels)
        if by_labels:
            its = self._variables(inner.argument)
            there = [(start + n, label) for n, label in enumerate(state) if its is None or label in its]
        else:
            there = state
        found = nth(inner.function, inner.offset, there)
        if found is None:
            return None
        other = found[0] + (e.offset if e.function == "NEXT" else -e.offset)
        if not 0 <= other < self.length:
            return None
        return other, state[other - start] if by_labels and start <= other <= r else None

    def _in_row(self, e: rows.Expression, r: int, label: str | None) -> Nullable:
        """The value of an expression without navigation in a row of the partition."""
        if not isinstance(e, rows.Lookup):
            return combined(e, [self._in_row(one, r, label) for one in rows.below(e)], STANDARD)
        match e:
            case rows.Column(name):
                return self._column(name, r)
            case rows.Classifier():
                return label
            case rows.MatchNumber():
                return self.number
            case rows.Physical() | rows.Logical() | rows.Count() | rows.Aggregate():
                raise AssertionError("a clause with one inside another is refused")
            case _:
                assert_never(e)

    def _column(self, name: str, r: int) -> Nullable:
        return self.columns[name][r] if name in self.columns else None

    def _variables(self, e: rows.Expression) -> Variables:
        A = rows.variable_of(e)
        return None if A is None else self.unions[A]

    def _register(self, e: rows.Lookup) -> Register | None:
        """What of the rows so far a lookup needs; None if the current row is enough."""
        match e:
            case rows.Column(_, A) | rows.Classifier(A):
                return None if A is None else Rows(self.unions[A], False, 1, isinstance(e, rows.Classifier))
            case rows.MatchNumber():
                return None
            case rows.Count(A):
                return Number(None if A is None else self.unions[A])
            case rows.Aggregate(_, argument):
                return Folded(self._variables(argument), e)
            case rows.Logical(function, argument, offset):
                return Rows(self._variables(argument), function == "FIRST", offset + 1, _labelled(argument))
            case rows.Physical():
                return Labels() if _labelled(e) else self._register(inner_of(e))
            case _:
                assert_never(e)

    def _step(self, register: Register, state: Any, r: int, label: str) -> Any:
        if isinstance(register, MatchNumber):
            return state
        if isinstance(register, Labels):
            return (*state, label)
        if register.variables is not None and label not in register.variables:
            return state
        match register:
            case Number():
                return state + 1
            case Rows(_, first, number, labelled):
                longer = (*state, (r, label if labelled else None))
                return longer[:number] if first else longer[-number:]
            case Folded(_, rows.Aggregate(function, argument)):
                value = self._in_row(argument, r, label)
                return state if value is None else _folded(function, state, value)
            case _:
                assert_never(register)


def inner_of(e: rows.Physical) -> rows.Logical:
    """The row from which PREV or NEXT counts: without FIRST or LAST that of LAST."""
    return e.argument if isinstance(e.argument, rows.Logical) else rows.Logical("LAST", e.argument)


def _labelled(e: rows.Expression) -> bool:
    return any(isinstance(one, rows.Classifier) for one in rows.references(e))


def nth(function: str, offset: int, there: Sequence[tuple[int, str | None]]) -> tuple[int, str | None] | None:
    """The row, with its label, to which FIRST or LAST leads among these; None if there is none."""
    if offset >= len(there):
        return None
    return there[offset] if function == "FIRST" else there[-1 - offset]


def _folded(function: str, state: View, value: Value) -> View:
    """An aggregate with one more value. How the sum or the best is written distinguishes 1 and 1.0, 0.0 and -0.0."""
    if not state:
        return 1, kind(value), value, repr(value)
    number, its, so_far, _ = state
    if its != kind(value) or function == "COUNT":
        return number + 1, its if function == "COUNT" else None, None, ""
    if function in ("MIN", "MAX"):
        better = value < so_far if function == "MIN" else value > so_far
        so_far = value if better else so_far
    elif its == "number":
        so_far = so_far + value
    return number + 1, its, so_far, repr(so_far)


def _result(function: str, state: View) -> Nullable:
    number, its, so_far, _ = state or (0, None, None, "")
    if function == "COUNT":
        return cast("int", number)
    if its is None or function in ("MIN", "MAX"):
        return cast(Nullable, so_far)
    if its != "number":
        return None
    try:
        found = so_far if function == "SUM" else so_far / number
    except OverflowError:
        return None
    return cast(Nullable, found) if isinstance(found, int) or math.isfinite(found) else None
