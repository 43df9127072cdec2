"""Find the valuations of planned formulas over intervals of a stream, and test whether a candidate is one of them.

The clauses of tods21, Figure 3 and section 7.1, divide a candidate and its interval into candidates for the operands. A
formula that compares no events is tested by a run of its automaton. For NXT, LAST, MAX, PROJECT, ALL and the right
operand of UNLESS, all valuations are enumerated by a separate plan, once for each position at which an interval begins,
and the candidate is looked up. Positions count from the beginning of the stream, not of an interval.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from heapq import merge
from itertools import groupby, product
from operator import itemgetter
from typing import NamedTuple, TypeAlias, assert_never

from cerify.automata.cea.compile import ValueWindow, compilable, lazily
from cerify.automata.cea.model import Determinized, Marks
from cerify.automata.evaluate.ces import BOTTOM, Bottom, CesOutput, CesUnion, CompactComplexEventSet, Node, NodeList
from cerify.automata.evaluate.evaluation_plan import (
    AutomatonPlan,
    CheckedPlan,
    CollectedPlan,
    Collecting,
    EvaluationPlan,
    PerKeyPlan,
    ResidualFilter,
    counted_in_scope,
    rebinds,
    required_plan,
)
from cerify.automata.evaluate.greatest_chains import GreatestChains
from cerify.automata.evaluate.scope import Key, key_of, width_of, within_width
from cerify.automata.evaluate.tables import classify
from cerify.automata.evaluator import Output
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, check_time, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Event, Stream, Valuation
from cerify.semantics.predicates import compare, holds, mapped_predicate, mentions, satisfied

# ---------------------------------------------------------------------------------------------------------------------
# The stream of each key under PER KEY: the events of the key, and their positions in the whole stream.


class KeyStreams:
    """The stream of each key on some attributes. Positions in the stream of a key count from 0.

    keys: the key of each event; None for an event that has no key.
    """

    def __init__(self, S: Stream, names: tuple[str, ...]) -> None:
        self.names = names
        self.keys = [key_of(names, event) for event in S]
        self._S = S
        self._number: list[int] = []  # the position of each event in the stream of its key
        self._positions: dict[Key, list[int]] = {}
        for p, key in enumerate(self.keys):
            positions = [] if key is None else self._positions.setdefault(key, [])
            self._number.append(len(positions))
            positions.append(p)

    def stream(self, key: Key) -> Stream:
        """Return the events of a key, as a stream."""
        return Stream([self._S[p] for p in self._positions[key]])

    def between(self, begin: int, end: int) -> Iterator[tuple[Key, int, int]]:
        """Yield (key, l, m) for each key with events from position `begin` up to, but not including, `end`.

        In the stream of the key, these events have the positions l to m - 1.
        """
        for key, positions in self._positions.items():
            l, m = bisect_left(positions, begin), bisect_left(positions, end)
            if l < m:
                yield key, l, m

    def interval(self, key: Key, i: int, j: int) -> tuple[int, int]:
        """Convert the interval from i to j to positions in the stream of the key. The event at j must have the key."""
        return bisect_left(self._positions[key], i), self._number[j]

    def inside(self, mu: Valuation, j: int) -> Valuation | None:
        """Convert the positions in a valuation to positions in the stream of one key: the key of the event at j.

        Return None if the valuation binds an event with another key.
        """
        if any(self.keys[p] != self.keys[j] for _, p in mu):
            return None
        return frozenset((A, self._number[p]) for A, p in mu)

    def moved(self, found: Found, key: Key) -> Found:
        """Convert pairs (end, valuation) from positions in the stream of a key to positions in the whole stream."""
        P = self._positions[key]
        return ((P[n], frozenset((A, P[p]) for A, p in mu)) for n, mu in found)


# ---------------------------------------------------------------------------------------------------------------------
# The budget of one evaluation for checks of candidates; all parts of the evaluation share it.

STEPS = 256  # the clock is read after this many steps


class Spending:
    """Counts the steps of one evaluation: at most budget.valuations steps, within budget.seconds.

    plan: the plan of the query, from which an error can tell what to add to the query.
    """

    def __init__(self, budget: Budget, plan: EvaluationPlan | None = None) -> None:
        self._budget, self._plan = budget, plan
        self._left = budget.valuations
        self._until = None if budget.seconds is None else time.monotonic() + budget.seconds

    def spend(self) -> None:
        """Count one step. Raises BudgetExceeded after more steps, or a longer time, than the budget allows."""
        self._left -= 1
        if self._left < 0:
            raise BudgetExceeded(
                f"cross-event filters were tried on more than {self._budget.valuations} events of partial "
                f"matches; add {_missing_bounds(self._plan)}, or raise the budget"
            )
        if self._left % STEPS == 0:
            check_time()
            if self._until is not None and time.monotonic() > self._until:
                raise BudgetExceeded(
                    f"cross-event filters took more than {self._budget.seconds} seconds; use a shorter stream, or "
                    "raise the budget"
                )


def _missing_bounds(plan: EvaluationPlan | None) -> str:
    """Return, for a message, what a user could add to a query to bound its matches."""
    if isinstance(plan, AutomatonPlan):
        windowed, keyed = plan.scope.windowed, bool(plan.scope.keys or plan.scope.attributes)
    else:
        parts = list(cel.subformulas(plan.phi)) if plan is not None else []
        windowed = any(isinstance(psi, cel.Within) for psi in parts)
        keyed = any(isinstance(psi, cel.PartitionBy | cel.PerKey) for psi in parts)
    window, key = "a shorter window" if windowed else "WITHIN", () if keyed else ("PARTITION BY",)
    return ", ".join((window, *key)) + " or a filter on single events"


# ---------------------------------------------------------------------------------------------------------------------
# Filters that compare events, checked during the enumeration of complex events, from the latest position to the first.
#
# Such a filter must hold for all combinations of the events of its variables. So it can become false as events are
# added, but never true again. The same is true of AND and OR of such filters, and of a window on values. So a path is
# abandoned at the first event with which a filter fails. Apart from this the enumerations are those of ces.py.


class Round(NamedTuple):
    """The state of one filter in the current rounds of the iterations around it.

    colours: for each iteration the mark of its current round (see ResidualFilter); None if the path has not entered the
    iteration. bound: the events of each variable in these rounds. failed: the atoms that are false for these events.
    """

    colours: tuple[str | None, ...]
    bound: tuple[tuple[int, ...], ...]
    failed: frozenset[int]


Rounds: TypeAlias = tuple[Round, ...]
"""The state of each filter."""


@dataclass(frozen=True)
class _Atom:
    """An atom of a condition.

    variables: the number of the variable of each mention. predicate: its attributes name the mentions by number instead
    of by variable. single: whether it is a condition on each single event of one variable.
    """

    variables: tuple[int, ...]
    predicate: pred.Predicate
    single: bool


class CorrelatedFilterChecker:
    """Checks the cross-event filters of a formula over a stream.

    Each event added to a partial match, and each comparison, counts as a step against the budget.
    """

    def __init__(
        self, checks: Sequence[ResidualFilter], S: Sequence[Event] | Mapping[int, Event], spending: Spending
    ) -> None:
        events = S if isinstance(S, Mapping) else tuple(S)
        self.spend = spending.spend
        self.checks = [_Compiled(check, events, self.spend) for check in checks]
        self.start: Rounds = tuple(check.start for check in self.checks)

    def extended(self, rounds: Rounds, position: int, marks: Marks) -> Rounds | None:
        """Return the states of the filters after one more event of a match, or None if a filter fails.

        A match is built from its last event to its first, so this event is the earliest so far. rounds: the states
        before. position, marks: of the event. Raises BudgetExceeded.
        """
        self.spend()
        found = []
        for check, known in zip(self.checks, rounds, strict=True):
            new = check.extended(known, position, marks)
            if new is None:
                return None
            found.append(new)
        return tuple(found)

    def passes(self, mu: Valuation) -> bool:
        """Return whether a valuation of a whole match, with the compiler's marks, satisfies the filters."""
        marks: dict[int, set[str]] = {}
        for A, p in mu:
            marks.setdefault(p, set()).add(A)
        rounds: Rounds | None = self.start
        for p in sorted(marks, reverse=True):
            if rounds is not None:
                rounds = self.extended(rounds, p, frozenset(marks[p]))
        return rounds is not None


class _Compiled:
    """A filter with its variables and atoms as numbers."""

    def __init__(
        self, check: ResidualFilter, S: Sequence[Event] | Mapping[int, Event], spend: Callable[[], None]
    ) -> None:
        self._S = S
        self._spend = spend
        self._rounds = check.rounds
        self._condition = check.condition
        self._marks = tuple(check.marks.values())
        atoms = () if isinstance(check.condition, ValueWindow) else tuple(cel.atoms(check.condition))
        self._atoms = [_atom(atom, list(check.marks)) for atom in atoms]
        self._number = {id(atom): i for i, atom in enumerate(atoms)}
        self._no_events: tuple[tuple[int, ...], ...] = ((),) * len(self._marks)
        self.start = Round((None,) * len(check.rounds), self._no_events, frozenset())

    def extended(self, known: Round, position: int, marks: Marks) -> Round | None:
        colours, bound, failed = known
        for level, pair in enumerate(self._rounds):
            colour = next((colour for colour in pair if colour in marks), None)
            # Outside this iteration the event is outside all iterations within it.
            if colour is None:
                break
            if colours[level] != colour:
                colours = (*colours[:level], colour, *(None for _ in colours[level + 1 :]))
                bound, failed = self._no_events, frozenset()
        new = [v for v, mark in enumerate(self._marks) if mark in marks]
        if not new:
            return known if colours is known.colours else Round(colours, bound, failed)
        bound = tuple((*events, position) if v in new else events for v, events in enumerate(bound))
        if isinstance(self._condition, ValueWindow):
            a, width = width_of(self._condition)
            inside = within_width(width, [self._S[p].get(a) for p in bound[0]])
            return Round(colours, bound, failed) if inside else None
        false = {i for i, atom in enumerate(self._atoms) if i not in failed and self._fails(atom, bound, new, position)}
        if false:
            failed |= false
            if not self._true(self._condition, failed):
                return None
        return Round(colours, bound, failed)

    def _fails(self, atom: _Atom, bound: tuple[tuple[int, ...], ...], new: list[int], position: int) -> bool:
        """Return whether the atom is false for some combination of events that includes the event at position."""
        if atom.single:
            return atom.variables[0] in new and not holds(atom.predicate, self._S[position])
        # Only combinations with the new event: all others were checked when their last event came.
        for i, v in enumerate(atom.variables):
            if v in new:
                ranges = (bound[w] if i != j else (position,) for j, w in enumerate(atom.variables))
                if not all(self._holds(atom.predicate, positions) for positions in product(*ranges)):
                    return True
        return False

    def _holds(self, predicate: pred.Predicate, positions: tuple[int, ...]) -> bool:
        self._spend()
        S = self._S
        match predicate:
            # most are so, and this is the quick way
            case pred.Comparison(comparator, pred.Attribute(a), pred.Attribute(b)):
                return compare(comparator, S[positions[0]].get(a), S[positions[1]].get(b))
            case _:
                return satisfied(predicate, lambda m: S[positions[int(m.variable or 0)]].get(m.name))

    def _true(self, condition: cel.Condition, failed: frozenset[int]) -> bool:
        match condition:
            case cel.Conjunction(left, right):
                return self._true(left, failed) and self._true(right, failed)
            case cel.Disjunction(left, right):
                return self._true(left, failed) or self._true(right, failed)
            case cel.Every() | cel.Correlated() | cel.Named():
                return self._number[id(condition)] not in failed
            case _:
                assert_never(condition)


def _atom(atom: cel.Atom, variables: list[str]) -> _Atom:
    match atom:
        case cel.Every(A, predicate):
            return _Atom((variables.index(A),), predicate, True)
        case cel.Correlated(predicate):
            mentioned = tuple(variables.index(m.variable or "") for m in mentions(predicate))
            numbers = iter(range(len(mentioned)))
            return _Atom(
                mentioned, mapped_predicate(predicate, lambda a: pred.Attribute(a.name, str(next(numbers)))), False
            )
        case cel.Named(name, _):
            raise AssertionError(f"the registered predicate {name} was not refused before evaluation")
        case _:
            assert_never(atom)


def in_list(D: CompactComplexEventSet, nodes: NodeList, checker: CorrelatedFilterChecker) -> Iterator[list[int]]:
    """Yield the complex events in a list of nodes that pass the filters, each as its nodes from the latest to the
    first.
    """
    path: list[int] = []
    known = [checker.start]
    pending = [(*nodes, 0)]
    while pending:
        node, last, depth = pending.pop()
        del path[depth:], known[depth + 1 :]
        if node != last:
            pending.append((D.next[node], last, depth))
        if node == BOTTOM:
            yield path
        elif (rounds := checker.extended(known[-1], D.event[node], D.marks[node])) is not None:
            path.append(node)
            known.append(rounds)
            pending.append((D.first[node], D.last[node], depth + 1))


class ListNodes(NamedTuple):
    """The nodes of list_kernels as Python lists: for each node its position, marks, child and next node."""

    position: list[int]
    marks: list[Marks]
    child: list[int]
    next: list[int]


def in_reference(nodes: ListNodes, ref: int, checker: CorrelatedFilterChecker) -> Iterator[list[tuple[str, int]]]:
    """Yield the complex events of a list that pass the filters, each as pairs (variable, position).

    ref: the reference of the list, as list_kernels writes it.
    """
    path: list[int] = []
    known = [checker.start]
    pending = [(ref, 0)]
    while pending:
        ref, depth = pending.pop()
        del path[depth:], known[depth + 1 :]
        if ref < 0:
            yield [(variable, nodes.position[n]) for n in path for variable in nodes.marks[n]]
            ref = ~ref
        if ref == 0:
            continue
        child, following = nodes.child[ref], nodes.next[ref]
        if following < 0:
            pending += (~following, depth), (child, depth)
            continue
        pending.append((following, depth))
        if (rounds := checker.extended(known[-1], nodes.position[ref], nodes.marks[ref])) is not None:
            path.append(ref)
            known.append(rounds)
            pending.append((child, depth + 1))


def in_node(node: Node, low: list[int], checker: CorrelatedFilterChecker) -> Iterator[list[CesOutput]]:
    """Yield the complex events of a node that fit in its window and pass the filters, as ces.enumerate_ yields them."""
    path: list[CesOutput] = []
    known = [checker.start]
    pending: list[tuple[Node, int]] = [(node, 0)]
    bound = 0
    while pending:
        node, depth = pending.pop()
        del path[depth:], known[depth + 1 :]
        match node:
            case Bottom():
                yield path
            case CesOutput():
                if not path:
                    bound = low[node.position]
                rounds = checker.extended(known[-1], node.position, node.marks)
                if rounds is not None:
                    path.append(node)
                    known.append(rounds)
                    pending.append((node.child, depth + 1))
            case CesUnion():
                if node.right is not None and (not path or node.right.latest >= bound):
                    pending.append((node.right, depth))
                pending.append((node.left, depth))


Found: TypeAlias = Iterator[tuple[int, Valuation]]
"""Pairs (end of the interval, valuation), in the order of the ends. A pair may occur more than once."""

Passing: TypeAlias = Callable[[AutomatonPlan, Determinized, Stream, Budget, Spending], Found]
"""A function that returns the valuations of a plan that its automaton finds, without the compiler's marks."""

REMEMBERED = 200_000  # answers of `has` are stored, up to this many

SHORTEST = 16  # events that are read at first from a position


class _Read:
    """The valuations of a formula over the intervals from one position, computed when they are needed.

    ahead: a function that yields each end position, up to a given position, with its valuations. A short part of the
    stream is read first. If a later position is needed, a longer part is read from the beginning, so a short interval
    takes little time.
    """

    def __init__(self, begin: int, ahead: Callable[[int], Iterator[tuple[int, set[Valuation]]]]) -> None:
        self._ahead, self._begin, self._end = ahead, begin, begin
        self._reached = begin - 1
        self._sets: dict[int, set[Valuation]] = {}
        self._rest: Iterator[tuple[int, set[Valuation]]] = iter(())

    def to(self, j: int) -> dict[int, set[Valuation]]:
        """Return the valuations over the intervals, grouped by their ends, at least for all ends up to j."""
        if j >= self._end:
            self._end = self._begin + max(SHORTEST, 2 * (j + 1 - self._begin))
            self._rest = self._ahead(self._end)
        while self._reached < j:
            n, mus = next(self._rest, (self._end - 1, set[Valuation]()))
            self._reached = max(n, self._reached)
            if mus:
                self._sets[n] = mus
        return self._sets


class Membership:
    """Finds the valuations of formulas over intervals of one stream. All steps count against one budget."""

    def __init__(self, S: Stream, budget: Budget, passing: Passing, plan: EvaluationPlan | None = None) -> None:
        self.S, self.budget, self.spending = S, budget, Spending(budget, plan)
        self._passing = passing
        self._plans: dict[int, EvaluationPlan] = {}
        self._compiled: dict[int, Determinized] = {}
        self._automata: dict[tuple[int, Output], Determinized] = {}
        self._known: dict[tuple[int, Valuation, int, int], bool] = {}
        self._reads: dict[tuple[int, int], _Read] = {}
        self._runs: dict[int, _Runs] = {}
        self._checkers: dict[int, CorrelatedFilterChecker] = {}
        self._comparing: dict[int, bool] = {}
        self._anywhere: dict[int, Formula] = {}
        self._of_keys = cache(lambda names: KeyStreams(S, names))
        self._part = cache(self._new_part)

    def find_valuations(self, plan: EvaluationPlan, begin: int, end: int, output: Output = "valuations") -> Found:
        """Yield the valuations of a planned formula over the intervals that begin at `begin` and end before `end`.

        The caller must keep the plan until the iterator is exhausted. Raises BudgetExceeded.
        """
        match plan:
            case AutomatonPlan():
                whole = begin == 0 and end >= len(self.S)
                S = self.S if whole else self.S.part(begin, min(end, len(self.S)) - begin)
                if (id(plan), output) not in self._automata:
                    self._automata[id(plan), output] = plan.automaton(output, self.budget)
                automaton = self._automata[id(plan), output]
                for n, mu in self._passing(plan, automaton, S, self.budget, self.spending):
                    yield n + begin, _shifted(mu, begin)
            case CheckedPlan():
                for n, mu in self.find_valuations(plan.candidates, begin, end):
                    with depth_limited(plan.phi.span):
                        passes = self.has(plan.phi, mu, begin, n)
                    if passes:
                        yield n, mu
            case PerKeyPlan():
                streams = self._of_keys(plan.phi.attributes)
                spans = streams.between(begin, end)
                each = (
                    streams.moved(self._part(streams, k).find_valuations(plan.operand, l, m), k) for k, l, m in spans
                )
                yield from merge(*each, key=itemgetter(0))
            case CollectedPlan():
                if (chains := self._greatest(plan, begin, end)) is not None:
                    for n, chosen in chains.find():
                        self.spending.spend()
                        yield from ((n + begin, _shifted(mu, begin)) for mu in chains.valuations(chosen))
                    return
                for n, mus in self._by_position(plan.operand, begin, end):
                    yield from ((n, mu) for mu in collected(plan.phi, mus))
            case _:
                assert_never(plan)

    def _greatest(self, plan: CollectedPlan, begin: int, end: int) -> GreatestChains | None:
        """Return the chains of LAST or NXT in windows and keys.

        Return None for other formulas, or if the attribute of a window decreases.
        """
        if (counted := counted_in_scope(plan)) is None:
            return None
        chains = GreatestChains(*counted, self.S.part(begin, min(end, len(self.S)) - begin))
        return None if chains.unordered else chains

    def has(self, phi: Formula, mu: Valuation, i: int, j: int) -> bool:
        """Return whether mu is a valuation of phi over the interval from i to j. Raises BudgetExceeded."""
        key = id(phi), mu, i, j
        known = self._known.get(key)
        if known is None:
            self.spending.spend()
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            if id(phi) not in self._comparing:
                self._comparing[id(phi)] = not compilable(phi)
            known = self._clause(phi, mu, i, j) if self._comparing[id(phi)] else self._run(phi, mu, i, j)
            self._known[key] = known
        return known

    def _clause(self, phi: Formula, mu: Valuation, i: int, j: int) -> bool:
        match phi:
            case cel.EventAtom():
                return self._run(phi, mu, i, j)
            case cel.In(psi, A):
                if rebinds(phi):
                    return mu in self._over(phi, i, j)
                rest = frozenset(pair for pair in mu if pair[0] != A)
                return {p for B, p in mu if B == A} == sup(rest) and self.has(psi, rest, i, j)
            case cel.Filter(psi, condition):
                if id(phi) not in self._checkers:
                    check = ResidualFilter.from_condition(condition)
                    self._checkers[id(phi)] = CorrelatedFilterChecker((check,), self.S, self.spending)
                return self._checkers[id(phi)].passes(mu) and self.has(psi, mu, i, j)
            case cel.Start(psi) | cel.Strict(psi) | cel.Within(psi, _) | cel.PartitionBy(psi, _):
                return self._admits(phi, sup(mu), i) and self.has(psi, mu, i, j)
            case cel.Project() | cel.Preference():
                return mu in self._over(phi, i, j)
            case cel.Or(left, right):
                return self.has(left, mu, i, j) or self.has(right, mu, i, j)
            case cel.And(left, right):
                return self.has(left, mu, i, j) and self.has(right, mu, i, j)
            case cel.Seq(left, right):
                return self._joined(left, right, mu, i, j, _ends(left, mu, i, j))
            case cel.Plus(psi):
                return self.has(psi, mu, i, j) or self._joined(psi, phi, mu, i, j, _ends(psi, mu, i, j))
            case cel.ContiguousSeq(left, right):
                return self._joined(left, right, mu, i, j, _meetings(mu))
            case cel.ContiguousPlus(psi):
                return self.has(psi, mu, i, j) or self._joined(psi, phi, mu, i, j, _meetings(mu))
            case cel.All(left, right):
                return self._interleaved(left, right, mu, i, j)
            case cel.Unless(left, right):
                return self.has(left, mu, i, j) and not self._somewhere(right, i, j)
            case cel.PerKey(psi, names):
                streams = self._of_keys(names)
                key, C = streams.keys[j], streams.inside(mu, j)
                if key is None or C is None:
                    return False
                return self._part(streams, key).has(psi, C, *streams.interval(key, i, j))
            case cel.Derived():
                return self.has(phi.expansion, mu, i, j)
            case _:
                assert_never(phi)

    def _new_part(self, streams: KeyStreams, key: Key) -> Membership:
        """Return a Membership for the stream of a key, with the same budget and automata."""
        inner = Membership(streams.stream(key), self.budget, self._passing)
        # Plans and automata belong to formulas, so parts share them; all other tables belong to one stream.
        inner.spending, inner._plans = self.spending, self._plans
        inner._automata, inner._compiled = self._automata, self._compiled
        return inner

    def _joined(self, left: Formula, right: Formula, mu: Valuation, i: int, j: int, ends: Iterable[int]) -> bool:
        """Return whether mu consists of a valuation of left that ends at one of `ends`, and a valuation of right after
        it.
        """
        for k in ends:
            before = frozenset(pair for pair in mu if pair[1] <= k)
            if self.has(left, before, i, k) and self.has(right, mu - before, k + 1, j):
                return True
        return False

    def _interleaved(self, left: Formula, right: Formula, mu: Valuation, i: int, j: int) -> bool:
        """Return whether mu joins a valuation of left and a valuation of right over two intervals.

        At least one of the intervals begins at i, and at least one ends at j.
        """
        positions = range(i, j + 1)
        for i1, i2 in {(i, k) for k in positions} | {(k, i) for k in positions}:
            for j1, j2 in {(j, k) for k in positions} | {(k, j) for k in positions}:
                self.spending.spend()
                lefts = [nu for nu in self._over(left, i1, j1) if nu <= mu] if i1 <= j1 and i2 <= j2 else []
                rights = [nu for nu in self._over(right, i2, j2) if nu <= mu] if lefts else []
                if any(nu1 | nu2 == mu for nu1 in lefts for nu2 in rights):
                    return True
        return False

    def _somewhere(self, phi: Formula, i: int, j: int) -> bool:
        """Return whether phi has a valuation over some interval inside the one from i to j."""
        if id(phi) not in self._anywhere:
            # CEL has no operator for "from a later position on": `any event ; phi` begins phi after any event.
            types: list[Formula] = [cel.EventAtom(R) for R in sorted({event.type for event in self.S})]
            first = reduce(cel.Or, types)
            self._anywhere[id(phi)] = cel.Or(phi, cel.Seq(first, phi))
        sets = self._find_reads(self._anywhere[id(phi)], i).to(j)
        return min(sets, default=j + 1) <= j

    def _over(self, phi: Formula, i: int, j: int) -> set[Valuation]:
        """Return all valuations of phi over the interval from i to j."""
        return self._find_reads(phi, i).to(j).get(j, set())

    def _find_reads(self, phi: Formula, i: int) -> _Read:
        if (id(phi), i) not in self._reads:
            if id(phi) not in self._plans:
                self._plans[id(phi)] = required_plan(phi, self.budget)
            plan = self._plans[id(phi)]
            self._reads[id(phi), i] = _Read(i, lambda end: self._by_position(plan, i, end))
        return self._reads[id(phi), i]

    def _by_position(self, plan: EvaluationPlan, begin: int, end: int) -> Iterator[tuple[int, set[Valuation]]]:
        """Yield each position with valuations, together with these valuations."""
        for n, group in groupby(self.find_valuations(plan, begin, end), itemgetter(0)):
            mus = set()
            for _, mu in group:
                self.spending.spend()
                mus.add(mu)
            yield n, mus

    def _run(self, phi: Formula, mu: Valuation, i: int, j: int) -> bool:
        if id(phi) not in self._runs:
            if id(phi) not in self._compiled:
                self._compiled[id(phi)] = lazily(phi, self.budget)
            self._runs[id(phi)] = _Runs(self._compiled[id(phi)], self.S)
        return self._runs[id(phi)].accepts(mu, i, j)

    def _admits(self, phi: cel.Start | cel.Strict | cel.Within | cel.PartitionBy, C: ComplexEvent, i: int) -> bool:
        """Return whether a valuation with the support C, over an interval from i, satisfies the condition of the
        operator.
        """
        match phi:
            case cel.Start():
                return i in C
            case cel.Strict():
                return not C or max(C) - min(C) < len(C)
            case cel.Within(_, cel.EventWindow(count)):
                return bool(C) and max(C) - min(C) < count
            case cel.Within(_, window):
                assert not isinstance(window, cel.EventWindow)
                a, width = width_of(window)
                return within_width(width, [self.S[p].get(a) for p in C])
            case cel.PartitionBy(_, a):
                keys = {key_of((a,), self.S[p]) for p in C}
                return len(keys) < 2 and None not in keys
            case _:
                assert_never(phi)


class _Runs:
    """The runs of the automaton of a formula that compares no events, over the intervals of a stream."""

    def __init__(self, automaton: Determinized, S: Stream) -> None:
        self._automaton = automaton
        self._types = classify(self._automaton.A.predicates, S)
        self._unmarked: dict[int, list[int | None]] = {}  # by the beginning, the states before each event from it on

    def accepts(self, mu: Valuation, i: int, j: int) -> bool:
        """Return whether the run over the interval from i to j with exactly the marks of mu is accepting."""
        marks: dict[int, set[str]] = {}
        for A, p in mu:
            marks.setdefault(p, set()).add(A)
        begin = min(marks, default=j + 1)
        state = self._before(i, begin)
        for p in range(begin, j + 1):
            if state is None:
                return False
            state = self._after(state, p, frozenset(marks.get(p, ())))
        return state is not None and self._automaton.final[state]

    def _before(self, i: int, begin: int) -> int | None:
        """Return the state after reading the events from i to begin - 1 without marks."""
        # Kept, because all valuations over intervals from i share the steps before their first event.
        states = self._unmarked.setdefault(i, [0])
        while len(states) <= begin - i:
            last = states[-1]
            states.append(None if last is None else self._after(last, i + len(states) - 1, frozenset()))
        return states[begin - i]

    def _after(self, state: int, p: int, L: frozenset[str]) -> int | None:
        return next((q for marks, q in self._automaton.step(state, self._types[p]) if marks == L), None)


def collected(phi: Collecting, mus: set[Valuation]) -> Iterable[Valuation]:
    """Apply an operator that needs all valuations of its operand over one interval, such as IN, PROJECT or MAX.

    mus: these valuations. Return the valuations of phi over the interval.
    """
    match phi:
        case cel.In(_, A):
            return {frozenset(pair for pair in mu if pair[0] != A) | {(A, p) for p in sup(mu)} for mu in mus}
        case cel.Project(L, _):
            return {frozenset(pair for pair in mu if pair[0] in L) for mu in mus}
        case cel.Next():
            return _greatest(mus, lambda C, D: min(C ^ D) in C)
        case cel.Last():
            return _greatest(mus, lambda C, D: max(C ^ D) in C)
        case cel.Max():
            Cs = set(map(sup, mus))
            return {mu for mu in mus if not any(map(sup(mu).__lt__, Cs))}
        case _:
            assert_never(phi)


def sup(mu: Valuation) -> ComplexEvent:
    """Return the positions of a valuation."""
    return frozenset(p for _, p in mu)


def _greatest(mus: set[Valuation], above: Callable[[ComplexEvent, ComplexEvent], bool]) -> set[Valuation]:
    """Return the valuations whose support is the greatest; `above` tells which of two supports is greater."""
    Cs = {sup(mu) for mu in mus}
    # NXT and LAST order all supports, so one pass finds the greatest. MAX orders them in part, and compares all.
    greatest = reduce(lambda C, D: C if C == D or above(C, D) else D, Cs, next(iter(Cs), frozenset[int]()))
    return {mu for mu in mus if sup(mu) == greatest}


def _ends(left: Formula, mu: Valuation, i: int, j: int) -> Iterable[int]:
    """Return where the interval of a left operand may end: at an event of mu, or anywhere if PROJECT may hide that
    event.
    """
    if any(isinstance(psi, cel.Project | cel.Derived) for psi in cel.subformulas(left)):
        return range(i, j)
    return sorted({p for _, p in mu if p < j})


def _meetings(mu: Valuation) -> Iterable[int]:
    """Return the positions of mu whose next position is also in mu."""
    C = sup(mu)
    return sorted(p for p in C if p + 1 in C)


def _shifted(mu: Valuation, by: int) -> Valuation:
    return frozenset((A, p + by) for A, p in mu) if by else mu
