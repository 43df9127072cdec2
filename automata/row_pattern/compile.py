"""Compile a pattern to a prioritized automaton: after each row it has the possible next states, the preferred one
first.

A state is an occurrence of a variable in the pattern. From a state, *ways* lead to the next states through quantifiers
and alternations, without taking a row. The ways are found once, by a walk that takes the preferred branch first. Of
several ways to the same state, only the first counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Literal, TypeAlias, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics import trees
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TYPE
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.scalars import Nullable, combined
from cerify.semantics.row_pattern.syntax import MatchRecognize, RowDefinition
from cerify.semantics.trees import subtrees

ACCEPT = -1
"""The target of a way on which a match is complete."""


@dataclass(frozen=True)
class Way:
    """A transition of a row pattern's automaton: to a state, or to ACCEPT.

    start: whether it can be taken only before the first row of a partition. end: whether it can be taken only after the
    last row.
    """

    target: int
    start: bool = False
    end: bool = False


@dataclass(frozen=True)
class Automaton:
    """The automaton of a row pattern.

    first, follow: its ways (transitions) from the beginning and from each state, the preferred one first. places: the
    variable of each state. excluded: whether the row that a state takes is excluded from the output.
    """

    first: tuple[Way, ...]
    follow: tuple[tuple[Way, ...], ...]
    places: tuple[rows.RowVariable, ...]
    excluded: tuple[bool, ...]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Return the variable of each state."""
        return tuple(place.name for place in self.places)


# --- the graph of a pattern -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Accept:
    """The node at which the pattern ends."""


@dataclass(eq=False)
class _Take:
    """A node that takes a row in a state."""

    state: int


@dataclass(eq=False)
class _Check:
    """A node that checks an anchor."""

    end: bool
    after: _Node


@dataclass(eq=False)
class _Branch:
    """A node that chooses one of several ways, the preferred one first."""

    options: tuple[_Node, ...]


@dataclass(eq=False)
class _Enter:
    """A node that begins an iteration of an unbounded quantifier."""

    loop: _Loop


@dataclass(eq=False)
class _Loop:
    """A node that ends an iteration. After an iteration that took no row, no further iteration may follow."""

    after: _Node
    greedy: bool
    body: _Node = field(default_factory=_Accept)


_Node: TypeAlias = _Accept | _Take | _Check | _Branch | _Enter | _Loop


def compile_pattern(p: rows.Pattern, budget: Budget = Budget()) -> Automaton:
    """Return the automaton of a pattern. Raises BudgetExceeded for more than budget.states states or branches."""
    graph = _Graph(budget.states)
    entry = graph.built(p, _Accept(), False)
    # After a row the start of the partition is past, so ways with that anchor are left out.
    follow = tuple(tuple(way for way in graph.ways(node) if not way.start) for node in graph.after)
    return Automaton(tuple(graph.ways(entry)), follow, tuple(graph.places), tuple(graph.excluded))


class _Graph:
    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self.after: list[_Node] = []
        self.places: list[rows.RowVariable] = []
        self.excluded: list[bool] = []

    def built(self, p: rows.Pattern, after: _Node, excluded: bool) -> _Node:
        """Return the first node of p; `after` is the node that follows p."""
        self._count()
        match p:
            case rows.RowVariable():
                self.after.append(after)
                self.places.append(p)
                self.excluded.append(excluded)
                return _Take(len(self.after) - 1)
            case rows.Empty():
                return after
            case rows.Anchor(place):
                return _Check(place == "end", after)
            case rows.RowConcatenation(left, right):
                # From the right, because a node needs the node that follows it.
                return self.built(left, self.built(right, after, excluded), excluded)
            case rows.Alternation(left, right):
                return _Branch((self.built(left, after, excluded), self.built(right, after, excluded)))
            case rows.Permute(parts):
                return _Branch(tuple(self._in_order(reversed(order), after, excluded) for order in permutations(parts)))
            case rows.Quantified(_, _, high):
                return self._unbounded(p, after, excluded) if high is None else self._bounded(p, high, after, excluded)
            case rows.Exclusion(inner):
                return self.built(inner, after, True)
            case _:
                assert_never(p)

    def _in_order(self, parts: Iterable[rows.Pattern], after: _Node, excluded: bool) -> _Node:
        """Return the first node of a sequence, given its parts from the last to the first."""
        for part in parts:
            after = self.built(part, after, excluded)
        return after

    def _unbounded(self, p: rows.Quantified, after: _Node, excluded: bool) -> _Node:
        """Return the first node of an unbounded quantifier: all required iterations but one, then an iteration that may
        be repeated.
        """
        loop = _Loop(after, p.greedy)
        loop.body = self.built(p.pattern, loop, excluded)
        if p.low == 0:
            return _Branch((_Enter(loop), after) if p.greedy else (after, _Enter(loop)))
        return self._in_order((p.pattern for _ in range(p.low - 1)), _Enter(loop), excluded)

    def _bounded(self, p: rows.Quantified, high: int, after: _Node, excluded: bool) -> _Node:
        """Return the first node of a bounded quantifier: the required iterations, then the optional ones, each nested
        in the one before.
        """
        node = after
        for _ in range(high - p.low):
            more = self.built(p.pattern, node, excluded)
            node = _Branch((more, after) if p.greedy else (after, more))
        return self._in_order((p.pattern for _ in range(p.low)), node, excluded)

    def ways(self, entry: _Node) -> Iterator[Way]:
        """Yield the ways from a node to the states, and to the end, in the order of preference."""
        found: set[Way] = set()
        seen: set[tuple[int, frozenset[int], bool, bool]] = set()
        # each node, the loops whose iteration has taken no row so far, and the anchors passed: start and end
        pending: list[tuple[_Node, frozenset[int], bool, bool]] = [(entry, frozenset(), False, False)]
        while pending:
            node, rowless, start, end = pending.pop()
            if (state := (id(node), rowless, start, end)) in seen:
                continue
            seen.add(state)
            self._count()
            match node:
                case _Accept() | _Take():
                    way = Way(ACCEPT if isinstance(node, _Accept) else node.state, start, end)
                    # a way to the same state with fewer anchors includes this one
                    weaker = (Way(way.target, s, e) for s in {False, start} for e in {False, end})
                    if found.isdisjoint(weaker):
                        found.add(way)
                        yield way
                case _Check(at_end, after):
                    pending.append((after, rowless, start or not at_end, end or at_end))
                case _Branch(options):
                    pending += [(option, rowless, start, end) for option in reversed(options)]
                case _Enter(loop):
                    pending.append((loop.body, rowless | {id(loop)}, start, end))
                case _Loop(after, greedy, body):
                    onward = (after, rowless - {id(node)}, start, end)
                    again = (body, rowless | {id(node)}, start, end)
                    if id(node) in rowless:
                        pending.append(onward)
                    else:
                        pending += (onward, again) if greedy else (again, onward)
                case _:
                    assert_never(node)

    def _count(self) -> None:
        self.size += 1
        if self.size > self.limit:
            raise BudgetExceeded(
                f"the automaton of the pattern has more than {self.limit} states and branches; lower the bounds of "
                "its quantifiers, or write fewer parts into PERMUTE"
            )


# ---------------------------------------------------------------------------------------------------------------------
# Evaluate WINDOW with the compiled code for MATCH_RECOGNIZE: the automaton also counts the rows of the frame.
#
# PREV and NEXT see only the rows of the frame, so a condition depends on where in the frame its row is. Letters: d is
# the place of a row in its frame, from 0; m is the number of the pattern's states. SEEK becomes rows before the
# pattern, as few as possible.

BEFORE = ""
"""The variable of the rows that SEEK passes before it finds a match."""


@dataclass(frozen=True)
class Framed:
    """A clause with frames (WINDOW), and the automaton that finds its matches in a whole partition.

    pattern: the automaton of the pattern, with m states; if the clause has SEEK, the last state is that of BEFORE.
    automaton: its state d * m + s stands for state s of the pattern in row d of a frame. If frames have no end, the
    last d stands for all rows from there on.
    """

    q: MatchRecognize
    pattern: Automaton
    automaton: Automaton


def searched_pattern(q: MatchRecognize) -> rows.Pattern:
    """Return the pattern to search from a row. With SEEK it allows rows before the match, as few as possible."""
    if q.window is None or not q.window.seek:
        return q.pattern
    return rows.RowConcatenation(rows.Quantified(rows.RowVariable(BEFORE), 0, None, greedy=False), q.pattern)


def last_place(q: MatchRecognize) -> int:
    """Return the index of a frame's last row, counted from 0.

    If frames have no end, return the greatest offset of a PREV in the conditions. For rows from this index on, no PREV
    reaches before the frame, so conditions treat them all in the same way.
    """
    if q.window is None:
        return 0
    if q.window.following is not None:
        return q.window.following
    # NEXT does not matter: a frame without an end reaches as far as the partition.
    inside = (node for one in q.define for node in subtrees(one.condition))
    return max((e.offset for e in inside if isinstance(e, rows.Physical) and e.function == "PREV"), default=0)


def framed(q: MatchRecognize, budget: Budget = Budget()) -> Framed:
    """Return the automaton of a clause with or without frames. Raises BudgetExceeded.

    The conditions of the clause must look only at columns; see `why_not`.
    """
    pattern = compile_pattern(searched_pattern(q), budget)
    if q.window is None:
        return Framed(q, pattern, pattern)
    m, last, end = len(pattern.places), last_place(q), q.window.following
    variables: dict[tuple[str, rows.Expression | None], rows.RowVariable] = {}
    places = [
        variables.setdefault((A, e), rows.RowVariable(f"{A} {len(variables)}"))
        for d in range(last + 1)
        for A in pattern.variables
        for e in (in_frame(q.conditions[A], A, d, end) if A in q.conditions else None,)
    ]

    def moved(ways: tuple[Way, ...], d: int) -> tuple[Way, ...]:
        """Return the ways with their targets in row d of the frame. There are none if d is after the frame's end."""
        d = min(d, last) if end is None else d
        return tuple(
            way if way.target == ACCEPT else replace(way, target=d * m + way.target)
            for way in ways
            if way.target == ACCEPT or d <= last
        )

    follow = tuple(moved(ways, d + 1) for d in range(last + 1) for ways in pattern.follow)
    automaton = Automaton(moved(pattern.first, 0), follow, tuple(places), pattern.excluded * (last + 1))
    define = tuple(RowDefinition(one.name, e) for (_, e), one in variables.items() if e is not None)
    return Framed(replace(q, define=define), pattern, automaton)


def in_frame(e: rows.Expression, A: str, d: int, end: int | None) -> rows.Expression:
    """Rewrite a condition of variable A for row d of a frame, so that it looks only at columns of the whole partition.

    end: the last row of the frame; None if frames have no end.
    """
    if isinstance(e, rows.Classifier):
        return rows.RowConstant(A)
    if isinstance(e, rows.Physical):
        other = d + (e.offset if e.function == "NEXT" else -e.offset)
        return e if other >= 0 and (end is None or other <= end) else rows.RowConstant(None)
    below = rows.below(e)
    return trees.rebuilt(e, [in_frame(one, A, d, end) for one in below]) if below else e


# ---------------------------------------------------------------------------------------------------------------------
# Conditions of DEFINE that look at columns alone, in rows at fixed distances from the row that is labelled.

MOST_STATES = 2048  # in compiled loops each row has a bit for each state
Columns = Mapping[str, Sequence[Nullable]]
"""The columns of a partition; a missing column is NULL in each row."""


def why_not(q: MatchRecognize) -> Unsupported | None:
    """Return why a clause cannot be evaluated by columns alone; None if it can.

    It cannot if a condition of DEFINE depends on the match so far.
    """
    for one in q.define:
        if (e := _beyond_columns(q, one.variable)) is not None:
            message = f"the condition of {one.variable} depends on the match so far, not only on columns"
            return Unsupported(message, e.span or one.span)
    return None


@lru_cache(maxsize=256)  # each partition asks for them
def contextual_variables(q: MatchRecognize) -> frozenset[str]:
    """Return the variables whose conditions depend on the match so far.

    The others depend only on columns of rows at fixed distances.
    """
    return frozenset(A for A in q.conditions if _beyond_columns(q, A) is not None)


def _beyond_columns(q: MatchRecognize, variable: str) -> rows.Expression | None:
    """Return the first part of a variable's condition that needs more than columns at fixed distances; None if there is
    none.
    """
    its = {A for A, members in q.unions.items() if variable in members}
    return next((e for e in rows.lookups(q.conditions[variable]) if not _fixed(e, its)), None)


def why_not_compiled(q: MatchRecognize, budget: Budget) -> Unsupported | None:
    """Return why the compiled evaluator does not support a clause's automaton; None if it does.

    Raises BudgetExceeded.
    """
    if q.longest:
        return Unsupported("the compiled evaluator finds the preferred match, not the longest one", q.pattern.span)
    states = len(compile_pattern(searched_pattern(q), budget).places) * (last_place(q) + 1)
    if states <= MOST_STATES:
        return None
    message = (
        f"the automaton of the pattern has {states} states, but the compiled evaluator supports only {MOST_STATES}"
    )
    return Unsupported(message, q.pattern.span)


def _fixed(e: rows.Expression, its: set[str]) -> bool:
    """Return whether a lookup depends only on columns of a row at a fixed distance.

    its: the variables to which the current row belongs: the condition's variable and unions that include it. The
    current row is the last row of each of these variables and of the match.
    """
    match e:
        case rows.RowColumn(_, A) | rows.Classifier(A):
            return A is None or A in its
        case rows.Logical("LAST", argument, 0):
            return all(_fixed(one, its) for one in rows.lookups(argument))
        case rows.Physical(_, argument):
            inner = argument.argument if isinstance(argument, rows.Logical) else argument
            last = not isinstance(argument, rows.Logical) or (argument.function, argument.offset) == ("LAST", 0)
            return last and all(isinstance(one, rows.RowColumn) and _fixed(one, its) for one in rows.lookups(inner))
    return False


ROWS_TOGETHER = 16  # between two looks at the clock


def truths(e: rows.Expression, variable: str, columns: Columns, length: int) -> list[bool]:
    """Return for each row of a partition whether the condition of a variable is true there. Raises BudgetExceeded."""
    found = []
    for r in range(length):
        if r % ROWS_TOGETHER == 0:  # an IN may have thousands of items
            check_time()
        found.append(value_in(e, variable, columns, r, length) is True)
    return found


def value_in(e: rows.Expression, variable: str, columns: Columns, r: int, length: int) -> Nullable:
    """Return the value of an expression in row r; NULL outside of the partition. variable: the label of the row."""
    match e:
        case rows.RowColumn(name):
            return columns[name][r] if name in columns and 0 <= r < length else None
        case rows.RowConstant(value):
            return value
        case rows.Classifier():
            return variable
        case rows.Logical(_, argument):
            return value_in(argument, variable, columns, r, length)
        case rows.Physical(function, argument, offset):
            other = r + (offset if function == "NEXT" else -offset)
            return value_in(argument, variable, columns, other, length) if 0 <= other < length else None
        case (
            rows.Negative() | rows.Sum() | rows.Product() | rows.Absolute() | rows.Cast()
            | rows.Coalesce() | rows.RowCall() | rows.Extract() | rows.RowCase() | rows.RowComparison()
            | rows.IsNull() | rows.RowBetween() | rows.RowIn() | rows.RowLike() | rows.RowNot() | rows.RowAnd()
            | rows.RowOr()
        ):  # fmt: skip
            return combined(e, [value_in(one, variable, columns, r, length) for one in rows.below(e)], STANDARD)
        case rows.RowMatchNumber() | rows.Count() | rows.RowAggregate():
            raise AssertionError("why_not did not refuse this expression")
        case _:
            assert_never(e)


# ---------------------------------------------------------------------------------------------------------------------
# Use PREV for a row that is at the same distance from the labelled row in all matches.
#
# In PATTERN (A B C) the row of A.price is always two rows before the row of C. A condition that looks only at such rows
# does not depend on how the earlier rows are labelled.

NO_ROW, SEVERAL = -1, -2  # instead of a distance: there is no such row, or the distance is not the same in all matches


def at_fixed_distances(q: MatchRecognize, budget: Budget = Budget()) -> MatchRecognize:
    """Return an equivalent clause that uses PREV wherever DEFINE looks at a row at a fixed distance from the current
    one.

    Raises BudgetExceeded.
    """
    if not contextual_variables(q):
        return q
    found = _Distances(compile_pattern(q.pattern, budget), q.unions)
    return replace(q, define=tuple(found.defined(one) for one in q.define))


@dataclass(frozen=True)
class _Distances:
    """Finds how far apart rows are. automaton: that of the pattern. unions: the primary variables of each variable."""

    automaton: Automaton
    unions: Mapping[str, frozenset[str]]

    def defined(self, one: RowDefinition) -> RowDefinition:
        """Return a condition of DEFINE with PREV wherever that is possible."""
        return replace(one, condition=self.rewritten(one.condition, one.variable))

    def rewritten(self, e: rows.Expression, variable: str) -> rows.Expression:
        """Return an expression of a variable's condition with PREV wherever that is possible."""
        if not isinstance(e, rows.Lookup):
            found: rows.Expression = trees.rebuilt(e, [self.rewritten(one, variable) for one in rows.below(e)])
            return found
        forward, inner = 0, e
        match e:
            case rows.Physical(function, argument, offset):
                forward = offset if function == "NEXT" else -offset
                inner = argument if isinstance(argument, rows.Logical) else rows.Logical("LAST", argument)
            case rows.RowColumn():
                inner = rows.Logical("LAST", e)
        if not isinstance(inner, rows.Logical) or inner.offset or inner.semantics != "RUNNING":
            return e
        distance = self.distance(inner.function, rows.variable_of(inner.argument), variable)
        if distance < 0 or not all(isinstance(one, rows.RowColumn) for one in rows.lookups(inner.argument)):
            return e
        return _moved(_without_variables(inner.argument), forward - distance)

    def distance(self, function: Literal["FIRST", "LAST"], looked_at: str | None, variable: str) -> int:
        """Return the distance from a row of `variable` back to the first or last row of `looked_at`.

        Return NO_ROW if there is no such row, and SEVERAL if the distance varies.
        """
        names = frozenset(self.automaton.variables) if looked_at is None else self.unions.get(looked_at, frozenset())
        of_states = self._of_states(function, names)
        found = {of_states.get(s, NO_ROW) for s, A in enumerate(self.automaton.variables) if variable == A}
        return found.pop() if len(found) == 1 else SEVERAL

    def _of_states(self, function: Literal["FIRST", "LAST"], names: frozenset[str]) -> dict[int, int]:
        """Return for each reachable state the distance back to the first or last row of these variables."""
        found: dict[int, int] = {}
        pending: list[tuple[Iterable[Way], int]] = [(self.automaton.first, NO_ROW)]
        while pending:
            ways, before = pending.pop()
            for s in {way.target for way in ways if way.target != ACCEPT}:
                now = before + 1 if before >= 0 else before
                if self.automaton.variables[s] in names and (function == "LAST" or before == NO_ROW):
                    now = 0
                # This ends, because a state changes at most twice: to a distance, and from that to SEVERAL.
                if found.get(s, now) != now:
                    now = SEVERAL
                if found.get(s) != now:
                    found[s] = now
                    pending.append((self.automaton.follow[s], now))
        return found


def _moved(e: rows.Expression, forward: int) -> rows.Expression:
    """Return the expression in the row that is `forward` rows after the current one."""
    if forward == 0:
        return e
    return rows.Physical("NEXT", e, forward) if forward > 0 else rows.Physical("PREV", e, -forward)


def _without_variables(e: rows.Expression) -> rows.Expression:
    if isinstance(e, rows.RowColumn):
        return rows.RowColumn(e.name, quoted=e.quoted)
    found: rows.Expression = trees.rebuilt(e, [_without_variables(one) for one in rows.below(e)])
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Translate conditions on one row between CEL and MATCH_RECOGNIZE: comparisons of columns and constants, AND, OR.
#
# Here the two languages agree: a comparison with a missing column is never true. NOT cannot be translated: in SQL, NOT
# of an unknown comparison is unknown; in CEL it is true. CEL does not order Booleans, so a comparison by order must not
# have a Boolean constant, and columns that are compared with each other by order must hold no Booleans.

IN_SQL: Mapping[pred.Comparator, str] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "=", "!=": "<>"}
IN_CEL = {sql: cel for cel, sql in IN_SQL.items()}


def predicate_of(e: rows.Expression, own: Collection[str]) -> pred.Predicate:
    """Return a condition of SQL as a predicate on one event. Raises Unsupported if it needs more than one event.

    own: the names by which the condition may refer to the current row, such as its variable.
    """
    match e:
        case rows.RowAnd(left, right):
            return pred.Both(predicate_of(left, own), predicate_of(right, own))
        case rows.RowOr(left, right):
            return pred.Either(predicate_of(left, own), predicate_of(right, own))
        case rows.RowComparison(rows.RowColumn(name), "=", rows.RowConstant(str(R))) if name.lower() == TYPE:
            return pred.OfType(R)
        case rows.RowComparison(left, operator, right) if operator in ("=", "<>") or _has_order(left, right):
            return pred.Comparison(IN_CEL[operator], _term(left, own), _term(right, own))
        case rows.RowBetween(operand, rows.RowConstant(low), rows.RowConstant(high), False) if _is_ordered(low, high):
            return pred.InRange(_term(operand, own), low, high)  # type: ignore[arg-type]
        case rows.RowIn(operand, items, False) if all(isinstance(one, rows.RowConstant) for one in items):
            return pred.OneOf(_term(operand, own), tuple(value for one in items for value in rows.constants(one)))
        case _:
            raise Unsupported(
                "only comparisons of columns and constants, BETWEEN, IN, AND and OR can be translated; "
                "Booleans cannot be compared by order",
                e.span,
            )


def _term(e: rows.Expression, own: Collection[str]) -> pred.Term:
    match e:
        case rows.RowConstant(value) if value is not None and not isinstance(value, timedelta):
            return pred.Constant(value)
        case rows.RowColumn(name, A) if (A is None or A in own) and name.lower() != TYPE:
            return pred.Attribute(name)
        case rows.RowColumn(_, A) if A is not None and A not in own:
            raise Unsupported(
                "this condition looks at another row; only conditions on the current row can be translated", e.span
            )
        case _:
            raise Unsupported("only columns of the current row and constants can be compared in a translation", e.span)


def expression_of(predicate: pred.Predicate) -> rows.Expression:
    """Return the SQL condition that is true of the same rows. Raises Unsupported if SQL has no such condition."""
    match predicate:
        case pred.OfType(R):
            return rows.RowComparison(rows.RowColumn(TYPE), "=", rows.RowConstant(R))
        case pred.Both(left, right):
            return rows.RowAnd(expression_of(left), expression_of(right))
        case pred.Either(left, right):
            return rows.RowOr(expression_of(left), expression_of(right))
        case pred.Comparison(comparator, left, right) if comparator in ("=", "!=") or _has_order(left, right):
            return rows.RowComparison(_value(left), IN_SQL[comparator], _value(right))  # type: ignore[arg-type]
        case pred.OneOf(term, values):
            return rows.RowIn(_value(term), tuple(map(rows.RowConstant, values)))
        case pred.InRange(term, low, high) if _is_ordered(low, high):
            return rows.RowBetween(_value(term), rows.RowConstant(low), rows.RowConstant(high))
        case _:
            raise Unsupported("NOT, string patterns and the order of Booleans cannot be translated to SQL")


def _has_order(*operands: rows.Expression | pred.Term) -> bool:
    """Return whether both languages order the constants of these operands in the same way."""
    return _is_ordered(*(one.value for one in operands if isinstance(one, rows.RowConstant | pred.Constant)))


def _is_ordered(*values: Nullable) -> bool:
    """Return whether the values can be ordered: none is NULL, a Boolean or an interval."""
    return not any(value is None or isinstance(value, bool | timedelta) for value in values)


def _value(term: pred.Term) -> rows.Expression:
    match term:
        case pred.Attribute(name):
            return rows.RowColumn(name)
        case pred.Constant(value):
            return rows.RowConstant(value)
        case pred.Arithmetic():
            raise Unsupported(
                "arithmetic is not translated to SQL, because SQL's division of whole numbers drops the remainder"
            )
