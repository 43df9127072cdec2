"""Find the matches of a clause with its automaton: divide the table, search partitions and frames, number matches.

The definition tries all labellings of the rows, which are exponentially many. Here the search depends on the
conditions. If they look only at columns, a pass backwards finds which rows can be completed, and the search never goes
back. If they look at the match so far, the search goes back, but remembers where it failed. ThreadSimulation follows
all labellings row by row; it finds the same matches, and shows each step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeAlias, assert_never, cast

from cerify.automata.row_pattern.compile import (
    ACCEPT,
    Automaton,
    Columns,
    Way,
    at_fixed_distances,
    compile_pattern,
    contextual_variables,
    truths,
    value_in,
)
from cerify.semantics.arguments import Budget, check_time, timed_items
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import Stream
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.scalars import (
    Nullable,
    NumberedMatch,
    collected,
    column_values,
    columns_of,
    combined,
    resolved,
)
from cerify.semantics.row_pattern.syntax import MatchRecognize, RowSkip
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, kind

# ---------------------------------------------------------------------------------------------------------------------
# Find the match at a row if conditions look only at columns: pass backwards over the rows, then forwards.
#
# The backward pass finds, for each row and state, whether a match can be completed that takes the row in that state.
# The forward pass then needs no backtracking: at each step it takes the first way that can be completed. Both passes
# take time in proportion to the rows, whatever the pattern.

ROWS_TOGETHER = 4096  # rows between two looks at the clock; fewer where a row has many states


@dataclass(frozen=True)
class Lookahead:
    """Finds where in a partition matches can still be completed, by one pass over its columns from the last row on.

    A condition that needs more than columns counts as true, so the answer may be too optimistic.
    """

    q: MatchRecognize
    automaton: Automaton
    columns: Columns
    length: int

    @cached_property
    def contextual(self) -> frozenset[str]:
        """Return the variables whose conditions depend on the match so far."""
        return contextual_variables(self.q)

    @cached_property
    def open(self) -> list[int]:
        """Return for each row the states (as bits) that can take the row so that a match can still be completed.

        There is one more entry, after the last row, without states.
        """
        length, follow = self.length, self.automaton.follow
        conditions = {
            A: truths(e, A, self.columns, length) for A, e in self.q.conditions.items() if A not in self.contextual
        }
        taken = [conditions.get(A) for A in self.automaton.variables]
        onward = [sum(1 << way.target for way in ways if way.target != ACCEPT and not way.end) for ways in follow]
        ends = [any(way.target == ACCEPT and not way.end for way in ways) for ways in follow]
        last = [any(way.target == ACCEPT for way in ways) for ways in follow]
        found = [0] * (length + 1)
        together = max(1, ROWS_TOGETHER // max(1, len(taken)))
        for r in range(length - 1, -1, -1):
            if r % together == 0:
                check_time()
            completed = last if r == length - 1 else ends
            later = found[r + 1]
            for state, true in enumerate(taken):
                if (true is None or true[r]) and (completed[state] or onward[state] & later):
                    found[r] |= 1 << state
        return found

    @cached_property
    def farthest(self) -> list[dict[int, int]]:
        """Return for each row, and each state that can take it, the row after the longest possible match."""
        found: list[dict[int, int]] = [{} for _ in range(self.length + 1)]
        for r in range(self.length - 1, -1, -1):
            if r % ROWS_TOGETHER == 0:
                check_time()
            for state in range(len(self.automaton.follow)):
                if self.open[r] >> state & 1:
                    ends = (self._end(way, r + 1, found) for way in self.possible(self.automaton.follow[state], r + 1))
                    found[r][state] = max(ends)
        return found

    def _end(self, way: Way, r: int, farthest: Sequence[Mapping[int, int]]) -> int:
        return r if way.target == ACCEPT else farthest[r][way.target]

    def match_at(self, s: int, number: int) -> list[int] | None:
        """Return the states of the rows of the match that starts at row s; None if no match starts there."""
        taken: list[int] = []
        way = self._choose_way(self.automaton.first, s, s == 0)
        while way is not None and way.target != ACCEPT:
            taken.append(way.target)
            way = self._choose_way(self.automaton.follow[way.target], s + len(taken), False)
        return None if way is None else taken

    def _choose_way(self, ways: Sequence[Way], r: int, at_start: bool) -> Way | None:
        """Return the preferred way at row r that can be completed.

        With longest match, return the preferred way among those that reach farthest.
        """
        possible = self.possible(ways, r, at_start)
        if self.q.longest:  # of several that lead equally far max takes the first, which is preferred
            return max(possible, key=lambda way: self._end(way, r, self.farthest), default=None)
        return next(possible, None)

    def possible(self, ways: Sequence[Way], r: int, at_start: bool = False) -> Iterator[Way]:
        """Yield those of the transitions (ways) that can be taken at row r and may then lead to a complete match."""
        at_end = r == self.length
        for way in ways:
            held = (at_start or not way.start) and (at_end or not way.end)
            if held and (way.target == ACCEPT or self.open[r] >> way.target & 1):
                yield way


# ---------------------------------------------------------------------------------------------------------------------
# Registers: what conditions can see of the rows that a match has so far.
#
# Letters: r a row of the partition, v a view: the contents of all registers after some row. Two searches at the same
# row, in the same state of the automaton, with equal views go on alike.

View: TypeAlias = tuple[Any, ...]
Variables: TypeAlias = frozenset[str] | None
"""The primary variables that a variable stands for; None: all rows of the match."""


@dataclass(frozen=True)
class FrameRows:
    """A register with at most `number` rows of some variables: the first ones if `first`, otherwise the last ones.

    labelled: whether it also has their labels.
    """

    variables: Variables
    first: bool
    number: int
    labelled: bool


@dataclass(frozen=True)
class Number:
    """A register with the number of rows of some variables."""

    variables: Variables


@dataclass(frozen=True)
class Folded:
    """A register with an aggregate of rows of some variables: the number of values, their kind, and their sum, least or
    greatest value.

    The least or greatest value is stored with its `repr`.
    """

    variables: Variables
    aggregate: rows.RowAggregate


@dataclass(frozen=True)
class RowLabels:
    """A register with the labels of all rows, for CLASSIFIER in PREV or NEXT."""


@dataclass(frozen=True)
class NumberRegister:
    """A register with the number of the match."""


Register: TypeAlias = FrameRows | Number | Folded | RowLabels | NumberRegister


class RowRegisters:
    """The values that conditions need of earlier rows of a match, each in a register.

    A view is a tuple of the values of all registers.
    """

    def __init__(
        self, conditions: Iterable[rows.Expression], unions: Mapping[str, frozenset[str]], columns: Columns, length: int
    ) -> None:
        self.unions, self.columns, self.length = unions, columns, length
        self.number = 0  # of the match that is searched
        self._of: dict[rows.Expression, int] = {}
        registers: dict[Register, int] = {}
        for e in conditions:
            if any(isinstance(one, rows.RowMatchNumber) for one in subtrees(e)):
                registers.setdefault(NumberRegister(), len(registers))
            for one in rows.lookups(e):
                if (register := self._register(one)) is not None:
                    self._of[one] = registers.setdefault(register, len(registers))
        self.registers = tuple(registers)

    def initial(self, number: int) -> View:
        """Return the view (values of all registers) before the first row of the match with this number."""
        self.number = number
        begin: dict[type[Register], Any] = {Number: 0, NumberRegister: number}
        return tuple(begin.get(type(one), ()) for one in self.registers)

    def after(self, v: View, r: int, label: str) -> View:
        """Return the view (values of all registers) after row r gets a label. v: the view before row r."""
        return tuple(self._step(one, state, r, label) for one, state in zip(self.registers, v, strict=True))

    def value(self, e: rows.Expression, v: View, r: int, label: str) -> Nullable:
        """Return the value of an expression at row r, which gets this label; v: the registers before the row."""
        if not isinstance(e, rows.Lookup):
            return combined(e, [self.value(one, v, r, label) for one in rows.below(e)], STANDARD)
        state: Any = v[self._of[e]] if e in self._of else None
        match e:
            case rows.RowColumn(_, A) | rows.Classifier(A):
                found = (r, label) if A is None else state[-1] if state else None
            case rows.RowMatchNumber():
                return self.number
            case rows.Count():
                return cast(int, state)
            case rows.Collection():
                return cast("Nullable", collected(e, state or ()))
            case rows.RowAggregate(function, _):
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
        """Return the row, with its label, to which PREV or NEXT leads from row r; None if there is no such row."""
        inner, start = inner_of(e), r - len(state) + 1
        by_labels = isinstance(self.registers[self._of[e]], RowLabels)
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
        """Return the value of an expression without navigation in row r, which has this label."""
        if not isinstance(e, rows.Lookup):
            return combined(e, [self._in_row(one, r, label) for one in rows.below(e)], STANDARD)
        match e:
            case rows.RowColumn(name):
                return self._column(name, r)
            case rows.Classifier():
                return label
            case rows.RowMatchNumber():
                return self.number
            case rows.Physical() | rows.Logical() | rows.Count() | rows.RowAggregate():
                raise AssertionError("a lookup is nested in another lookup; why_not did not refuse it")
            case _:
                assert_never(e)

    def _column(self, name: str, r: int) -> Nullable:
        return self.columns[name][r] if name in self.columns else None

    def _variables(self, e: rows.Expression) -> Variables:
        A = rows.variable_of(e)
        return None if A is None else self.unions[A]

    def _register(self, e: rows.Lookup) -> Register | None:
        """Return the register that a lookup needs; None if the current row is enough."""
        match e:
            case rows.RowColumn(_, A) | rows.Classifier(A):
                return None if A is None else FrameRows(self.unions[A], False, 1, isinstance(e, rows.Classifier))
            case rows.RowMatchNumber():
                return None
            case rows.Count(A):
                return Number(None if A is None else self.unions[A])
            case rows.RowAggregate(_, argument):
                return Folded(self._variables(argument), e)
            case rows.Logical(function, argument, offset):
                return FrameRows(self._variables(argument), function == "FIRST", offset + 1, _labelled(argument))
            case rows.Physical():
                return RowLabels() if _labelled(e) else self._register(inner_of(e))
            case _:
                assert_never(e)

    def _step(self, register: Register, state: Any, r: int, label: str) -> Any:
        if isinstance(register, NumberRegister):
            return state
        if isinstance(register, RowLabels):
            return (*state, label)
        if register.variables is not None and label not in register.variables:
            return state
        match register:
            case Number():
                return state + 1
            case FrameRows(_, first, number, labelled):
                # Only as many rows as conditions can reach: the shorter the view, the more searches share a failure.
                longer = (*state, (r, label if labelled else None))
                return longer[:number] if first else longer[-number:]
            case Folded(_, rows.Collection(_, argument) as e):
                return (*state, tuple(self._in_row(one, r, label) for one in (argument, *e.order)))
            case Folded(_, rows.RowAggregate(function, argument)):
                value = self._in_row(argument, r, label)
                return state if value is None else _folded(function, state, value)
            case _:
                assert_never(register)


def inner_of(e: rows.Physical) -> rows.Logical:
    """Return the operand of PREV or NEXT as FIRST or LAST of a column; their offset counts from the row of the operand.

    PREV(A.x) means PREV(LAST(A.x)).
    """
    return e.argument if isinstance(e.argument, rows.Logical) else rows.Logical("LAST", e.argument)


def _labelled(e: rows.Expression) -> bool:
    return any(isinstance(one, rows.Classifier) for one in rows.references(e))


def nth(function: str, offset: int, there: Sequence[tuple[int, str | None]]) -> tuple[int, str | None] | None:
    """Return the row, with its label, to which FIRST or LAST refers; None if there is none.

    function: "FIRST" or "LAST". there: the rows of the match that have one of its variables, with their labels, in
    order. offset: how many of these rows to go on from the first one, or back from the last one.
    """
    if offset >= len(there):
        return None
    return there[offset] if function == "FIRST" else there[-1 - offset]


def _folded(function: str, state: View, value: Value | timedelta) -> View:
    """Return an aggregate after one more value."""
    if not state:
        return 1, kind(value), value, repr(value)
    number, its, so_far, _ = state
    if its != kind(value) or function == "COUNT":
        return number + 1, its if function == "COUNT" else None, None, ""
    if function in ("MIN", "MAX"):
        better = value < so_far if function == "MIN" else value > so_far
        so_far = value if better else so_far
    elif its in ("number", "interval"):
        so_far = so_far + value
    # Views are compared as tuples, in which 1 equals 1.0; the repr keeps them apart.
    return number + 1, its, so_far, repr(so_far)


def _result(function: str, state: View) -> Nullable:
    number, its, so_far, _ = state or (0, None, None, "")
    if function == "COUNT":
        return cast("int", number)
    if its is None or function in ("MIN", "MAX"):
        return cast(Nullable, so_far)
    if its not in ("number", "interval"):
        return None
    try:
        found = so_far if function == "SUM" else so_far / number
    except OverflowError:
        return None
    return None if isinstance(found, float) and not math.isfinite(found) else cast(Nullable, found)


# ---------------------------------------------------------------------------------------------------------------------
# Find the match at a row if conditions look at the match so far: backtrack, and remember failures.
#
# The ways are tried in the order of preference. What can follow depends only on the row, the state of the automaton and
# what conditions see of the rows so far (RowRegisters), so a combination of the three that has failed is not tried
# again. Ways that fail even if all conditions on the match count as true are not tried at all.


class Backtracking:
    """A search by backtracking over the rows of a partition.

    failed: combinations (row, state, view) from which no match can be completed; a view holds the registers' values.
    """

    def __init__(self, ahead: Lookahead, budget: Budget = Budget()) -> None:
        self.ahead, self.limit = ahead, budget.valuations
        self.failed: set[tuple[int, int, View]] = set()
        self.steps = 0

    @cached_property
    def registers(self) -> RowRegisters:
        """Return the registers for the conditions that depend on the match so far."""
        q = self.ahead.q
        return RowRegisters(
            [q.conditions[A] for A in self.ahead.contextual], q.unions, self.ahead.columns, self.ahead.length
        )

    def match_at(self, s: int, number: int) -> list[int] | None:
        """Return the states of the rows of the match that starts at row s, with this number; None if no match does.

        Raises BudgetExceeded if more than budget.valuations failures would have to be stored.
        """
        automaton, ahead = self.ahead.automaton, self.ahead
        view = self.registers.initial(number)
        taken: list[tuple[int, View]] = []
        pending: list[Iterator[Way]] = [ahead.possible(automaton.first, s, s == 0)]
        while pending:
            way = next(pending[-1], None)
            r = s + len(taken)
            if way is None:
                pending.pop()
                if taken:
                    state, at = taken.pop()
                    self.give_back(s, r - 1, state, at)
            elif way.target == ACCEPT:
                return [state for state, _ in taken]
            elif (after := self.take_row(r, way.target, taken[-1][1] if taken else view)) is not None:
                taken.append((way.target, after))
                pending.append(ahead.possible(automaton.follow[way.target], r + 1, False))
        return None

    def take_row(self, r: int, state: int, view: View) -> View | None:
        """Return the registers' values (view) after a state takes row r.

        Return None if the state's condition is false, or if the search has already failed from there.
        """
        self.steps += 1
        if self.steps % ROWS_TOGETHER == 0:
            check_time()
        A, q = self.ahead.automaton.variables[state], self.ahead.q
        after = self.registers.after(view, r, A)
        if (r, state, after) in self.failed:
            return None
        if A in self.ahead.contextual and self.registers.value(q.conditions[A], after, r, A) is not True:
            return None
        return after

    def give_back(self, s: int, r: int, state: int, view: View) -> None:
        """Record that row r, taken in this state, leads to no match.

        If too many failures are stored, forget those before row s, or raise BudgetExceeded.
        """
        self.failed.add((r, state, view))
        if len(self.failed) > self.limit:
            self.failed = {other for other in self.failed if other[0] >= s}
            if 2 * len(self.failed) > self.limit:
                raise BudgetExceeded(
                    f"the search must remember more than {self.limit} ways to label rows; use smaller partitions, or a "
                    "pattern that allows fewer ways"
                )


class LongestSearch(Backtracking):
    """The search for the longest match.

    For each row, state and view it stores the row after the longest match, or 0 if there is no match. The future
    depends only on these three, so each combination is searched once. Then the match takes the preferred ways that lead
    to the farthest row.
    """

    def __init__(self, ahead: Lookahead, budget: Budget = Budget()) -> None:
        super().__init__(ahead, budget)
        self.farthest: dict[tuple[int, int, View], int] = {}

    def match_at(self, s: int, number: int) -> list[int] | None:
        """Return the states of the rows of the longest match that starts at a row. Raises BudgetExceeded."""
        if len(self.farthest) > self.limit:
            self.farthest.clear()
        view = self.registers.initial(number)
        ways: Iterable[Way] = [*self.ahead.possible(self.ahead.automaton.first, s, s == 0)]
        taken: list[int] = []
        target = max((self._end(way, s, view) for way in ways), default=0)
        if not any(way.target == ACCEPT for way in ways) and not target:
            return None
        while (r := s + len(taken)) < target:
            way = next(way for way in ways if self._end(way, r, view) == target)
            after = self.take_row(r, way.target, view)
            assert after is not None  # since it is completed
            view = after
            taken.append(way.target)
            ways = [*self.ahead.possible(self.ahead.automaton.follow[way.target], r + 1)]
        return taken

    def _end(self, way: Way, r: int, view: View) -> int:
        """Return the row after the longest match that takes this way before row r; 0 if there is none."""
        if way.target == ACCEPT:
            return r
        after = self.take_row(r, way.target, view)
        if after is None:
            return 0
        follow, ahead = self.ahead.automaton.follow, self.ahead
        key = (r, way.target, after)
        if key in self.farthest:
            return self.farthest[key]
        best = {key: 0}
        path = [(key, ahead.possible(follow[way.target], r + 1))]
        while path:
            (row, _, so_far), pending = path[-1]
            here = path[-1][0]
            onward = next(pending, None)
            if onward is None:
                self._remember(here, best.pop(here))
                path.pop()
                if path:
                    best[path[-1][0]] = max(best[path[-1][0]], self.farthest[here])
            elif onward.target == ACCEPT:
                best[here] = max(best[here], row + 1)
            elif (later := self.take_row(row + 1, onward.target, so_far)) is not None:
                there = (row + 1, onward.target, later)
                if there in self.farthest:
                    best[here] = max(best[here], self.farthest[there])
                else:
                    best[there] = 0
                    path.append((there, ahead.possible(follow[onward.target], row + 2)))
        return self.farthest[key]

    def _remember(self, key: tuple[int, int, View], end: int) -> None:
        self.farthest[key] = end
        if len(self.farthest) > 2 * self.limit:
            raise BudgetExceeded(
                f"the search must remember more than {2 * self.limit} ways to label rows; use smaller partitions, or a "
                "pattern that allows fewer ways"
            )


def find_matches(q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> Iterator[NumberedMatch]:
    """Yield the matches in the order in which they are found; partitions come in the order of their first rows.

    Raises IllFormed if AFTER MATCH SKIP has no row to skip to, and BudgetExceeded.
    """
    yield from resolved_answers(resolved(q, columns_of(S)), S, budget)


def resolved_answers(q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> Iterator[NumberedMatch]:
    """Yield the matches of a clause that already names columns as the table does."""
    q = at_fixed_distances(q, budget)
    automaton = compile_pattern(q.pattern, budget)
    columns = column_values(S)
    for places in partitions(q, columns, len(S)):
        mine = {name: [values[place] for place in places] for name, values in columns.items()}
        yield from RowPartition(q, automaton, places, mine, budget).matches()


def partitions(q: MatchRecognize, columns: Columns, length: int) -> list[list[int]]:
    """Return the positions of each partition's rows, sorted by ORDER BY; partitions come in the order of their first
    rows.
    """
    keys = [ranks(key_values(e, columns, length), length, False, False) for e in q.partition]
    order = []
    for one in q.order:
        first = one.descending if one.nulls is None else one.nulls == "FIRST"  # NULL is above all values
        order.append(ranks(key_values(one.column, columns, length), length, one.descending, first))
    found: dict[tuple[int, ...], list[int]] = {}
    for place in range(length):
        found.setdefault(tuple(key[place] for key in keys), []).append(place)
    return [sorted(places, key=lambda place: tuple(key[place] for key in order)) for places in found.values()]


def key_values(e: rows.Expression, columns: Columns, length: int) -> Sequence[Nullable] | None:
    """Return the values of an expression of PARTITION BY or ORDER BY in each row; None for a missing column."""
    if isinstance(e, rows.RowColumn):
        return columns.get(e.name)
    return [value_in(e, "", columns, r, length) for r in timed_items(range(length))]


def ranks(values: Sequence[Any] | None, length: int, descending: bool, nulls_first: bool) -> list[int]:
    """Return for each row the rank of its value among the distinct values of its column."""
    if values is None:
        return [0] * length
    keys = [None if value is None else _key(value) for value in values]
    distinct = sorted({key for key in keys if key is not None}, reverse=descending)
    rank = {key: n for n, key in enumerate(distinct)}
    null = -1 if nulls_first else len(distinct)
    return [null if key is None else rank[key] for key in keys]


def _key(value: Value | timedelta) -> tuple[int, Any]:
    """Return the sort key of a value.

    Booleans come first, then numbers (NaN last), strings, times and intervals.
    """
    match value:
        case bool():
            return 0, value
        case float() if value != value:
            return 2, 0
        case int() | float():
            return 1, value
        case str():
            return 3, value
        case datetime():
            return 4, value
        case timedelta():
            return 5, value


class RowSearch(Protocol):
    """A search for the match that starts at a row of a partition."""

    def match_at(self, s: int, number: int) -> list[int] | None:
        """Return the states of the rows of the match that starts at row s; None if no match starts there.

        number: the number that the match would have.
        """


@dataclass(frozen=True)
class RowPartition:
    """One partition: the positions of its rows, and its columns."""

    q: MatchRecognize
    automaton: Automaton
    places: Sequence[int]
    columns: Mapping[str, Sequence[Any]]
    budget: Budget = field(default_factory=Budget)

    @cached_property
    def search(self) -> RowSearch:
        """Return the search over the rows of this partition."""
        ahead = Lookahead(self.q, self.automaton, self.columns, len(self.places))
        if not ahead.contextual:
            return ahead
        return LongestSearch(ahead, self.budget) if self.q.longest else Backtracking(ahead, self.budget)

    def find_match(self, r: int, number: int) -> tuple[int, list[int]] | None:
        """Search from row r. Return (s, states): the row at which the match starts, and the states of its rows.

        Return None if there is no match. In WINDOW, the rows of the frame of r are searched as if they were a
        partition.
        """
        window = self.q.window
        if window is None:
            states = self.search.match_at(r, number)
            return None if states is None else (r, states)
        check_time()
        rows = slice(r, None if window.following is None else r + window.following + 1)
        columns = {name: values[rows] for name, values in self.columns.items()}
        framed = replace(self, places=self.places[rows], columns=columns)
        for n in range(len(framed.places) if window.seek else 1):
            if (states := framed.search.match_at(n, number)) is not None:
                return r + n, states
        return None

    def matches(self) -> Iterator[NumberedMatch]:
        """Yield the matches in order. Raises IllFormed if AFTER MATCH SKIP has no row to skip to."""
        r, number = 0, 0
        while r < len(self.places):
            if r % ROWS_TOGETHER == 0:
                check_time()
            found = self.find_match(r, number + 1)
            if found is None:
                r += 1
                continue
            number += 1
            s, states = found
            places = self.places[s : s + len(states)]
            at = places[-1] if states and self.q.window is None else self.places[r]
            yield numbered(self.automaton, at, places, states, number)
            r = self.resumed(r, s, states, number)

    def resumed(self, r: int, s: int, states: list[int], number: int) -> int:
        """Return the row at which the search continues after a match: AFTER MATCH SKIP decides. Raises IllFormed.

        r: the row whose search found the match. s: its first row. states: the states of its rows. number: its number.
        """
        skip = self.q.skip
        if skip.to == "next row" or not states:
            return r + 1
        if skip.variable is None:
            return s + len(states)
        its = self.q.unions[skip.variable]
        there = [n for n, state in enumerate(states) if self.automaton.variables[state] in its]
        step = there[0 if skip.to == "first" else -1] if there else 0
        if step == 0:
            raise skip_error(skip, number, bool(there))
        return s + step


def numbered(A: Automaton, at: int, places: Sequence[int], states: Sequence[int], number: int) -> NumberedMatch:
    """Return a match as positions and bindings.

    at: the position at which it is reported. places, states: the position and the state of each of its rows.
    """
    bound: dict[str, list[int]] = {}
    for place, state in zip(places, states, strict=True):
        bound.setdefault(A.variables[state], []).append(place)
    excluded = tuple(place for place, state in zip(places, states, strict=True) if A.excluded[state])
    bindings = tuple((name, tuple(sorted(bound[name]))) for name in sorted(bound))
    return NumberedMatch(at, tuple(places), bindings, match_number=number, excluded=excluded)


def skip_error(skip: RowSkip, number: int, to_first: bool) -> IllFormed:
    """Return the error for an AFTER MATCH SKIP that leads to the first row of a match, or to a row that does
    not exist.
    """
    if to_first:
        return IllFormed(
            f"AFTER MATCH SKIP leads back to the first row of match {number}, which would match again and again",
            skip.span,
        )
    return IllFormed(f"AFTER MATCH SKIP leads to {skip.variable}, but match {number} has no row of it", skip.span)


# ---------------------------------------------------------------------------------------------------------------------
# The measures of a match by registers, in one pass over its rows: ISO/IEC 9075-2, features R010 and R020.


@dataclass(frozen=True)
class LabelledRows:
    """A match with at least one row, as measures read it.

    partition: the rows of its partition, each with its values that are not NULL. visible: the rows that PREV and NEXT
    can reach. start: the first row of the match. labels: the variables of its rows. number: the match number.
    """

    partition: Sequence[Mapping[str, Value]]
    visible: range
    start: int
    labels: Sequence[str]
    number: int


class MeasureRegisters(RowRegisters):
    """The registers for the measures of a clause. Measures are computed after all rows of the match are labelled."""

    def __init__(self, q: MatchRecognize) -> None:
        self.expressions = [one.expression for one in q.measures]
        super().__init__(self.expressions, q.unions, {}, 0)

    def measures(self, match: LabelledRows, seen: Sequence[int]) -> Iterator[tuple[Nullable, ...]]:
        """Yield the measures of a match at each row in `seen`: numbers of rows within the match, from 1."""
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


# ---------------------------------------------------------------------------------------------------------------------
# Run the prioritized automaton row by row: all threads at once, in the order of preference, for conditions on columns.
#
# A thread is a labelling of the rows so far that can still be part of the match. Of two threads in the same state only
# the preferred one goes on, because both have the same future. When a thread is complete, the less preferred threads
# are cut, unless the longest match is wanted.

Fate = Literal["goes on", "complete", "stuck", "false", "same state", "cut"]
"""The result when a thread tries to take a row in a state.

The first three mean that the row is taken. complete: the match is complete. goes on: a way leads to another row. stuck:
no way does. The others mean that it is not taken. false: the condition is not true. same state: a preferred thread has
taken the row in this state. cut: a preferred thread is complete.
"""


@dataclass(frozen=True)
class Thread:
    """A partial labelling of a match: the states of its rows so far, the transitions to try at the next row (ways).

    complete: whether these rows already form a match.
    """

    states: tuple[int, ...]
    ways: tuple[Way, ...]
    complete: bool


@dataclass(frozen=True)
class ThreadAttempt:
    """A thread's attempt to take a row in its last state, and the result."""

    states: tuple[int, ...]
    fate: Fate


@dataclass(frozen=True)
class Layer:
    """A row with all attempts to label it, and the threads that survive, both in the order of preference.

    preferred: the states of the most preferred labelling that is complete so far; None if none is complete.
    """

    r: int
    attempts: tuple[ThreadAttempt, ...]
    threads: tuple[Thread, ...]
    preferred: tuple[int, ...] | None


@dataclass(frozen=True)
class ThreadSimulation:
    """A simulation by threads (partial labellings) over the columns of a partition, row by row.

    It is for clauses whose conditions need only columns (see `why_not`).
    """

    q: MatchRecognize
    automaton: Automaton
    columns: Columns
    length: int

    def layers(self, s: int) -> Iterator[Layer]:
        """Search for the match that starts at row s, row by row; yield what was tried at each row (see Layer).

        The first layer yielded is the state before row s. The search ends when no thread is left.
        """
        begin = self._thread((), self.automaton.first, s, s == 0)
        layer = Layer(s, (), (begin,) if begin.ways else (), () if begin.complete else None)
        yield layer
        for r in range(s, self.length):
            if not layer.threads:
                return
            layer = self._advance(layer, r)
            yield layer

    def match_at(self, s: int, number: int) -> list[int] | None:
        """Return the states of the rows of the match that starts at row s; None if no match starts there."""
        *_, last = self.layers(s)
        return None if last.preferred is None else [*last.preferred]

    @cached_property
    def _true(self) -> dict[str, list[bool]]:
        return {A: truths(e, A, self.columns, self.length) for A, e in self.q.conditions.items()}

    def _thread(self, states: tuple[int, ...], ways: Sequence[Way], r: int, at_start: bool) -> Thread:
        """Return the thread after these states, before row r.

        It has the ways to further rows whose anchors hold. There are none after the last row.
        """
        onward: list[Way] = []
        complete = False
        for way in ways:
            if (way.start and not at_start) or (way.end and r < self.length):
                continue
            if way.target == ACCEPT:
                complete = True
                if not self.q.longest:
                    break
            elif r < self.length:
                onward.append(way)
        return Thread(states, tuple(onward), complete)

    def _advance(self, before: Layer, r: int) -> Layer:
        attempts, threads, reached, preferred = [], [], set[int](), before.preferred
        is_complete = longer = False
        for thread in before.threads:
            for way in thread.ways:
                states, A = (*thread.states, way.target), self.automaton.variables[way.target]
                fate: Fate
                if is_complete:
                    fate = "cut"
                elif way.target in reached:
                    fate = "same state"
                elif A in self._true and not self._true[A][r]:
                    fate = "false"
                else:
                    reached.add(way.target)
                    after = self._thread(states, self.automaton.follow[way.target], r + 1, False)
                    fate = "complete" if after.complete else "goes on" if after.ways else "stuck"
                    if after.complete and not (self.q.longest and longer):
                        preferred, longer, is_complete = states, True, not self.q.longest
                    if after.ways:
                        threads.append(after)
                attempts.append(ThreadAttempt(states, fate))
        return Layer(r, tuple(attempts), tuple(threads), preferred)
