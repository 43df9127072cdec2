"""Evaluation of complex event automata under windows and partitions, in readable Python, after tods21, Algorithm 2.

The time for an event depends on the number of active states, not on the number of partial matches; completed matches
are enumerated with output-linear delay. The automaton is I/O-determinized as far as the stream needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby, islice, product
from operator import itemgetter

from cerify.automata.cea.compile import distinct_chain, lazily
from cerify.automata.cea.model import Determinized, Marks, single_variable
from cerify.automata.evaluate import ces
from cerify.automata.evaluate.ces import Evaluation, read_events
from cerify.automata.evaluate.evaluation_plan import (
    AutomatonPlan,
    CheckedPlan,
    CollectedPlan,
    EvaluationPlan,
    PerKeyPlan,
    counted_in_scope,
    is_mark,
    required_plan,
)
from cerify.automata.evaluate.greatest_chains import Chosen, GreatestChains, NewestValues, greatest_in_scope
from cerify.automata.evaluate.membership import (
    CorrelatedFilterChecker,
    Membership,
    Passing,
    Spending,
    in_list,
    in_node,
    sup,
)
from cerify.automata.evaluate.scope import (
    Key,
    Scope,
    Windows,
    key_of,
    lookback_bounds,
    reports_at_last_event,
    strip_windows,
    within_width,
)
from cerify.automata.evaluate.tables import classify
from cerify.automata.evaluator import Output
from cerify.semantics.arguments import Budget, check_time, timed_items, too_many_matches
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream, Valuation, bindings_of
from cerify.semantics.values import Value

# ---------------------------------------------------------------------------------------------------------------------
# Evaluation under windows and partitions, in readable Python: Algorithm 2 of tods21, one set for each state and key.
#
# A run that has marked events belongs to the key of those events, and can mark only events of that key. It skips events
# of other keys, by the same step as the runs of all keys. So the sets of a state are kept by key in one table, and a
# skip moves the table as a whole. That is right for every automaton, however it treats the skipped events. Where two
# tables meet, the smaller one goes into the larger.

SWEEP = 1000  # old nodes are deleted when this many more have been made than twice those left the last time


class ScopedEvaluation:
    """Runs an automaton over a stream, under windows and partitions.

    T: for each active state and each key, the complex events of its runs that have marked an event, as a series of
    nodes. unmarked: the state of the run that has marked nothing, which belongs to every key; None if it has ended.
    """

    def __init__(self, automaton: Determinized, windowed: bool) -> None:
        self.automaton = automaton
        self.position = -1
        self.T: dict[int, dict[Key, ces.Series]] = {}
        self.unmarked: int | None = 0
        self._windowed = windowed
        self._reports_at_last_event = reports_at_last_event(automaton.A)
        self._made = self._left = 0
        self.made = 0  # nodes for events

    def restart(self) -> None:
        """Forget all partial matches, as at the beginning of a stream."""
        self.T, self.unmarked = {}, 0

    def push(self, type_: int, key: Key | None, low: int) -> None:
        """Read the next event.

        type_: its type as a bit mask. key: its key, None if it is in no match. low: the first position in its window.
        """
        check_time()
        self.position += 1
        step, marked = self.automaton.step, []
        # Only then: a match that is reported later keeps the window of its last event, which reaches further back than
        # low.
        if self._reports_at_last_event and self._made > 2 * self._left + SWEEP:
            self._sweep(low)
        for p, table in self.T.items() if key is not None else ():
            # The first node of a series is the most recent; if it is too old, all are.
            if key in table and table[key][0].latest >= low:
                marked += [
                    (q, ces.CesOutput(self.position, marks, ces.merge(table[key])))
                    for marks, q in step(p, type_)
                    if marks
                ]
        if self.unmarked is not None and key is not None:
            marked += [
                (q, ces.CesOutput(self.position, marks, ces.WINDOW_BOTTOM))
                for marks, q in step(self.unmarked, type_)
                if marks
            ]
        T_: dict[int, dict[Key, ces.Series]] = {}
        for p, table in self.T.items():
            for q in self._skip(p, type_):
                T_[q] = _joined(T_[q], table) if q in T_ else table
        self.unmarked = None if self.unmarked is None else next(self._skip(self.unmarked, type_), None)
        for q, node in marked:
            table = T_.setdefault(q, {})
            assert key is not None
            table[key] = ces.add(table[key], [node]) if key in table else [node]
            self._made += len(table[key])
        self.made += len(marked)
        self.T = T_

    def ends(self) -> Iterator[ces.Node]:
        """Yield the nodes whose complex events end at the last position read."""
        if self.unmarked is not None and self.automaton.final[self.unmarked] and not self._windowed:
            yield ces.WINDOW_BOTTOM
        for q, table in self.T.items():
            if self.automaton.final[q]:
                for series in table.values():
                    yield from series

    def is_spent(self, low: int) -> bool:
        """Drop partial matches that begin before `low`; return whether the state is then that of a new evaluation."""
        if self._reports_at_last_event:
            self._sweep(low)
        return self.unmarked == 0 and not any(self.T.values())

    def _skip(self, p: int, type_: int) -> Iterator[int]:
        return (q for marks, q in self.automaton.step(p, type_) if not marks)

    def _sweep(self, low: int) -> None:
        """Delete partial matches that begin before low, even inside other nodes: no later event needs them."""
        for table in self.T.values():
            for key, series in list(table.items()):
                series[:] = [node for node in series if node.latest >= low]
                if not series:
                    del table[key]
        self._left = ces.forget(
            (node for table in self.T.values() for series in table.values() for node in series), low
        )
        self._made = 0


class KeyedEvaluation:
    """Runs an automaton over the stream of each key: one ScopedEvaluation for each key, which reads only its events.

    parts: the evaluation of each key, unless it is in the same state as a new one. position: the last position in the
    whole stream. Without PER KEY, all events have the key ().
    """

    def __init__(self, automaton: Determinized, windowed: bool) -> None:
        self.automaton = automaton
        self.position = -1
        self.parts: dict[Key, ScopedEvaluation] = {}
        self._windowed = windowed
        self._last: ScopedEvaluation | None = None
        self._made = self._swept = self._left = 0

    @property
    def node_count(self) -> int:
        """Return the number of nodes made for events."""
        return self._made + sum(part.made for part in self.parts.values())

    def restart(self) -> None:
        """Forget all partial matches, as at the beginning of a stream."""
        self._made, self.parts, self._last = self.node_count, {}, None

    def push(
        self, type_: int, stream: Key | None, key: Key | None, low: int, overall: int = 0, value: Value | None = None
    ) -> None:
        """Read the next event. type_, key, low: as in ScopedEvaluation.push.

        stream: the key of PER KEY, which names the stream that the event belongs to; None if it is in no stream. key:
        the key of PARTITION BY inside this stream. overall: the earliest position at which a match that ends here or
        later may begin, in the stream of any key. value: used only by ValuesEvaluation.
        """
        self.position += 1
        self._last = None
        if stream is None:
            return
        if len(self.parts) > 2 * self._left + SWEEP:
            self._sweep(overall)
        if stream not in self.parts:
            self.parts[stream] = ScopedEvaluation(self.automaton, self._windowed)
        self._last = self.parts[stream]
        # A part sees few events of the stream, but counts the positions of the whole stream.
        self._last.position = self.position - 1
        self._last.push(type_, key, low)

    def ends(self) -> Iterator[ces.Node]:
        """Return the sets of complex events at the last position read."""
        return iter(()) if self._last is None else self._last.ends()

    def _sweep(self, low: int) -> None:
        """Drop runs that begin before `low`, and delete the evaluations that are then the same as new ones."""
        for stream, part in list(self.parts.items()):
            if part.is_spent(low):
                self._made += part.made
                del self.parts[stream]
        self._left = len(self.parts)


class ValuesEvaluation:
    """LAST of events of one kind with different values, evaluated over the stream of each key.

    It has the methods and attributes of KeyedEvaluation. automaton: reads one event, and tells how it is marked if it
    is of the kind. parts: for each key its newest events, and their types by position.
    """

    def __init__(self, automaton: Determinized, count: int) -> None:
        self.automaton, self.position = automaton, -1
        self.parts: dict[Key, tuple[NewestValues, dict[int, int]]] = {}
        self.node_count, self._count, self._left = 0, count, 0
        self._found: tuple[NewestValues, dict[int, int]] | None = None

    def restart(self) -> None:
        """Forget all events."""
        self.parts, self._found = {}, None

    def ways(self, type_: int) -> list[Marks]:
        """Return the sets of marks that an event of this type can get."""
        return [marks for marks, _ in self.automaton.step(0, type_) if marks]

    def part(self, stream: Key) -> tuple[NewestValues, dict[int, int]]:
        """Return the stored events of a key, and their types by position."""
        return self.parts.setdefault(stream, (NewestValues(self._count), {}))

    def push(
        self, type_: int, stream: Key | None, key: Key | None, low: int, overall: int = 0, value: Value | None = None
    ) -> None:
        """Read the next event, as in KeyedEvaluation. value: the value that must differ between events."""
        check_time()
        self.position += 1
        self._found = None
        if stream is None or value is None or not self.ways(type_):
            return
        if len(self.parts) > 2 * self._left + SWEEP:
            # A key whose newest event is before every window to come starts anew when it comes back.
            self.parts = {one: part for one, part in self.parts.items() if max(part[1]) >= overall}
            self._left = len(self.parts)
        newest, types = part = self.part(stream)
        newest.add(value, self.position, key is None)
        types[self.position] = type_
        for p in types.keys() - newest.events.values():
            del types[p]
        self.node_count += 1
        self._found = part if newest.is_complete(low) else None

    def ends(self) -> Iterator[ces.Node]:
        """Yield the sets of complex events that end at the last position read: one set for each way of marking the
        events.
        """
        newest, types = self._found or (NewestValues(0), {})
        events = list(newest.events.values())
        for ways in product(*(self.ways(types[p]) for p in events)) if events else ():
            node: ces.Node = ces.WINDOW_BOTTOM
            for p, marks in zip(events, ways, strict=True):
                node = ces.CesOutput(p, marks, node)
            yield node


def evaluation_in(windows: Windows, automaton: Determinized) -> KeyedEvaluation | ValuesEvaluation:
    """Return a new evaluation that runs an automaton under these windows, keys and partitions."""
    if windows.values is not None:
        return ValuesEvaluation(automaton, windows.values[1])
    return KeyedEvaluation(automaton, windows.windowed)


def _joined(one: dict[Key, ces.Series], other: dict[Key, ces.Series]) -> dict[Key, ces.Series]:
    if len(one) < len(other):
        one, other = other, one
    for key, series in other.items():
        one[key] = ces.add(one[key], series) if key in one else series
    return one


def evaluate(scope: Scope, S: Stream, output: str = "matches", budget: Budget = Budget()) -> Iterator[Match]:
    """Yield the matches of a formula, lazily and in the order of positions. Raises Unsupported, BudgetExceeded."""
    if (greatest := greatest_in_scope(scope, S)) is not None:
        yield from _of_chains(*greatest, output)
        return
    unordered = lookback_bounds(scope, S).unordered
    for n, nodes, low in _run_scope(scope, S, output == "valuations", budget):
        for node in nodes:
            for path in ces.enumerate_(node, low):
                events = ces.complex_event(path)
                if all(within_width(width, [S[i].get(a) for i in events]) for a, width in unordered):
                    yield Match(n, events, bindings_of(ces.valuation(path)) if output == "valuations" else None)


def _of_chains(chains: GreatestChains, found: Iterable[tuple[int, Chosen]], output: str) -> Iterator[Match]:
    for n, chosen in found:
        if output == "valuations":
            yield from (Match(n, chosen, bindings_of(mu)) for mu in chains.valuations(chosen))
        else:
            yield Match(n, chosen)


def filter_valuations_in_scope(
    automaton: Determinized, scope: Scope, S: Stream, checker: CorrelatedFilterChecker
) -> Iterator[tuple[int, Valuation]]:
    """Yield the valuations of an automaton that are in scope and satisfy the filters, in the order of positions."""
    unordered = lookback_bounds(scope, S).unordered
    for n, nodes, low in run_automaton(automaton, scope, S):
        for node in nodes:
            for path in in_node(node, low, checker):
                if all(within_width(width, [S[i].get(a) for i in ces.complex_event(path)]) for a, width in unordered):
                    yield n, ces.valuation(path)


def count(scope: Scope, S: Stream, budget: Budget = Budget()) -> Iterator[int]:
    """Yield the number of matches at each position. Raises Unsupported, BudgetExceeded.

    Matches are counted without being listed, in time linear in the number of nodes in the window. They are listed only
    if the values of a window's attribute decrease along the stream.
    """
    if (greatest := greatest_in_scope(scope, S)) is not None:
        ends = {n for n, _ in greatest[1]}
        yield from (int(n in ends) for n in range(len(S)))
        return
    if lookback_bounds(scope, S).unordered:
        numbers = [0] * len(S)
        for match in evaluate(scope, S, budget=budget):
            numbers[match.at] += 1
            if numbers[match.at] > budget.matches:
                raise BudgetExceeded(
                    f"there are more than {budget.matches} matches at position {match.at}; sort the stream by the "
                    "attribute of the window, so that they can be counted without being listed"
                )
        yield from numbers
    else:
        for _, nodes, low in _run_scope(scope, S, False, budget):
            yield sum(ces.number(node, low) for node in nodes)


def _run_scope(
    scope: Scope, S: Stream, variables: bool, budget: Budget
) -> Iterator[tuple[int, Iterator[ces.Node], list[int]]]:
    """Same as `run_automaton`, for the automaton of the scope's formula."""
    return run_automaton(lazily(scope.core, budget, None if variables else single_variable), scope, S)


def run_automaton(
    automaton: Determinized, scope: Scope, S: Stream
) -> Iterator[tuple[int, Iterator[ces.Node], list[int]]]:
    """Yield for each position (position, nodes, low).

    nodes: the nodes of the complex events that end there. low: see LookbackBounds.
    """
    evaluation = KeyedEvaluation(automaton, scope.windowed)
    reached = lookback_bounds(scope, S)
    for n, type_ in enumerate(classify(evaluation.automaton.A.predicates, S)):
        key = key_of(scope.attributes, S[n]) if reached.marks[n] else None
        evaluation.push(type_, reached.keys[n], key, reached.low[n], reached.overall[n])
        yield n, evaluation.ends(), reached.low


# ---------------------------------------------------------------------------------------------------------------------
# The matches of a planned formula, each once.


def find_planned(plan: EvaluationPlan, S: Stream, output: Output, budget: Budget, passing: Passing) -> Iterator[Match]:
    """Yield the matches of a planned formula in the order of positions, each once. Raises BudgetExceeded.

    passing: a function that yields the valuations of a part of the formula that one automaton evaluates, after the
    checks.
    """
    if (greatest := greatest_planned(plan, S)) is not None:
        yield from _of_chains(*greatest, output)
        return
    for n, group in groupby(
        Membership(S, budget, passing, plan).find_valuations(plan, 0, len(S), output), itemgetter(0)
    ):
        # Equal matches end at the same position, so only the matches of one position have to be remembered.
        seen = set()
        for _, mu in group:
            match = Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if output == "valuations" else None)
            if match not in seen:
                seen.add(match)
                yield match


def greatest_planned(plan: EvaluationPlan, S: Stream) -> tuple[GreatestChains, Iterator[tuple[int, Chosen]]] | None:
    """Return (chains, matches) if the plan is LAST or NXT of a chain with a window or DISTINCT inside; else None.

    matches: pairs of a position and the events of the match there.
    """
    match plan:
        case PerKeyPlan(phi, CollectedPlan() as operand) if (counted := counted_in_scope(operand)) is not None:
            chain, scope = counted
            if scope.keys:
                return None
            chains = GreatestChains(chain, replace(scope, keys=phi.attributes, events=None, key_events=scope.events), S)
            return None if chains.unordered else (chains, chains.find())
        case PerKeyPlan() | CollectedPlan() | CheckedPlan():
            scope_ = strip_windows(plan.phi)
            if isinstance(scope_, Scope) and distinct_chain(scope_.core) is not None:
                return greatest_in_scope(scope_, S)
    return None


def at_most(limit: int, matches: Iterator[Match]) -> list[Match]:
    """Return all of the matches, sorted. Raises BudgetExceeded if there are more than the limit."""
    some = list(islice(timed_items(matches), limit + 1))
    if len(some) > limit:
        raise too_many_matches(limit)
    return sorted(some)


def without_marks(mu: Iterable[tuple[str, int]]) -> Valuation:
    """Return the valuation restricted to the query's own variables, without the compiler's marks."""
    return frozenset(pair for pair in mu if not is_mark(pair[0]))


def matches(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """Return all matches of a formula over a stream, sorted. Raises Unsupported, BudgetExceeded."""
    return at_most(budget.matches, iterate_matches(phi, S, output, budget))


def iterate_matches(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> Iterator[Match]:
    """Yield the matches of a formula, lazily and in the order of positions. Raises Unsupported, BudgetExceeded."""
    return evaluate_plan(required_plan(phi, budget), S, output, budget)


def evaluate_plan(
    plan: EvaluationPlan, S: Stream, output: Output = "matches", budget: Budget = Budget()
) -> Iterator[Match]:
    """Return the matches of a planned formula, lazily and in the order of positions. Raises BudgetExceeded."""
    if not isinstance(plan, AutomatonPlan) or plan.checks:
        return find_planned(plan, S, output, budget, count_passing)
    scope = plan.scope
    if scope.everything and greatest_in_scope(scope, S) is None:
        return read_events(lazily(scope.core, budget, None if output == "valuations" else single_variable), S, output)
    return evaluate(scope, S, output, budget)


def count_passing(
    query: AutomatonPlan, automaton: Determinized, S: Stream, budget: Budget, spending: Spending
) -> Iterator[tuple[int, Valuation]]:
    """Yield the valuations of a formula that satisfy its cross-event filters, with their positions.

    Filters are checked as soon as their events are known.
    """
    scope, checker = query.scope, CorrelatedFilterChecker(query.checks, S, spending)
    pass_ = (
        _filter_valuations(automaton, S, checker)
        if scope.everything
        else filter_valuations_in_scope(automaton, scope, S, checker)
    )
    return ((n, without_marks(mu)) for n, mu in pass_)


def _filter_valuations(
    automaton: Determinized, S: Stream, checker: CorrelatedFilterChecker
) -> Iterator[tuple[int, Valuation]]:
    evaluation = Evaluation(automaton)
    for n, type_ in enumerate(timed_items(classify(evaluation.automaton.A.predicates, S))):
        evaluation.push(type_)
        for nodes in evaluation.ends():
            for path in in_list(evaluation.D, nodes, checker):
                yield n, evaluation.D.valuation(path)


def count_matches(phi: Formula, S: Stream, budget: Budget = Budget()) -> Iterator[int]:
    """Yield the exact number of matches at each position. Raises Unsupported, BudgetExceeded.

    The runs of the automaton are counted: because it is I/O-deterministic, each complex event has one run. Under
    windows and partitions, see `count`. Matches are listed only if there are cross-event filters.
    """
    plan = required_plan(phi, budget)
    if not isinstance(plan, AutomatonPlan) or plan.checks:
        numbers = Counter(match.at for match in evaluate_plan(plan, S, budget=budget))
        yield from (numbers[n] for n in range(len(S)))
        return
    if not plan.scope.everything or greatest_in_scope(plan.scope, S) is not None:
        yield from count(plan.scope, S, budget)
        return
    automaton = lazily(plan.scope.core, budget, single_variable)
    # Counting runs is exact because the automaton is I/O-deterministic: each complex event has one run.
    runs = {0: 1}
    for type_ in timed_items(classify(automaton.A.predicates, S)):
        runs_: dict[int, int] = {}
        for p, number in runs.items():
            for _, q in automaton.step(p, type_):
                runs_[q] = runs_.get(q, 0) + number
        runs = runs_
        yield sum(number for q, number in runs.items() if automaton.final[q])
