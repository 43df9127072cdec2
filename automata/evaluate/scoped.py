"""Evaluation under windows and partitions, in readable Python: Algorithm 2 of tods21, one set for each state and key.

A run of which events are marked belongs to the key of those events, and only events of that key can be marked in it.
Events of other keys are skipped in it, by the same step in the runs of all keys: so the sets of a state are kept by
key in one table, and a skip moves the table as a whole. That is right for every automaton, whatever it makes of the
events that are skipped; where two tables meet, the smaller one goes into the larger.
"""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.cea.blowup_diagnosis import lazily
from cerify.automata.cea.io_determinize import Determinized, single_variable
from cerify.automata.evaluate import ces_window as ces
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker, in_node
from cerify.automata.evaluate.scope import Key, Scope, key_of, lookback_bounds, reports_at_last_event, within_width
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream, Valuation, bindings_of

SWEEP = 1000  # nodes made, beyond twice those that were left, before old ones are looked for again


class ScopedEvaluation:
    """An automaton on its way through a stream, under windows and partitions.

    T: for each active state and each key the series of what runs have marked. unmarked: the state of the run that has
    marked nothing so far, which belongs to every key; None once there is none.
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
        """Read the next event: its type as a bit mask, its key (None if no match has it), how far back it reaches."""
        check_time()
        self.position += 1
        step, marked = self.automaton.step, []
        if self._reports_at_last_event and self._made > 2 * self._left + SWEEP:
            self._sweep(low)
        for p, table in self.T.items() if key is not None else ():
            if key in table and table[key][0].latest >= low:
                marked += [
                    (q, ces.Output(self.position, marks, ces.merge(table[key]))) for marks, q in step(p, type_) if marks
                ]
        if self.unmarked is not None and key is not None:
            marked += [
                (q, ces.Output(self.position, marks, ces.BOTTOM)) for marks, q in step(self.unmarked, type_) if marks
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
        """The sets of complex events at the last position read."""
        if self.unmarked is not None and self.automaton.final[self.unmarked] and not self._windowed:
            yield ces.BOTTOM
        for q, table in self.T.items():
            if self.automaton.final[q]:
                for series in table.values():
                    yield from series

    def _skip(self, p: int, type_: int) -> Iterator[int]:
        return (q for marks, q in self.automaton.step(p, type_) if not marks)

    def _sweep(self, low: int) -> None:
        """Let go of what begins before low, here and inside: no later event reaches so far back."""
        for table in self.T.values():
            for key, series in list(table.items()):
                series[:] = [node for node in series if node.latest >= low]
                if not series:
                    del table[key]
        self._left = ces.forget(
            (node for table in self.T.values() for series in table.values() for node in series), low
        )
        self._made = 0


def _joined(one: dict[Key, ces.Series], other: dict[Key, ces.Series]) -> dict[Key, ces.Series]:
    if len(one) < len(other):
        one, other = other, one
    for key, series in other.items():
        one[key] = ces.add(one[key], series) if key in one else series
    return one


def evaluate(scope: Scope, S: Stream, output: str = "matches", budget: Budget = Budget()) -> Iterator[Match]:
    """The matches of a formula, lazily and in the order of positions. Raises Unsupported, BudgetExceeded."""
    unordered = lookback_bounds(scope, S).unordered
    for n, nodes, low in _read(scope, S, output == "valuations", budget):
        for node in nodes:
            for path in ces.enumerate_(node, low):
                events = ces.complex_event(path)
                if all(within_width(width, [S[i].get(a) for i in events]) for a, width in unordered):
                    yield Match(n, events, bindings_of(ces.valuation(path)) if output == "valuations" else None)


def passing(
    automaton: Determinized, scope: Scope, S: Stream, checker: CorrelatedFilterChecker
) -> Iterator[tuple[int, Valuation]]:
    """The valuations of an automaton that are in scope and satisfy the filters, in the order of positions."""
    unordered = lookback_bounds(scope, S).unordered
    for n, nodes, low in read(automaton, scope, S):
        for node in nodes:
            for path in in_node(node, low, checker):
                if all(within_width(width, [S[i].get(a) for i in ces.complex_event(path)]) for a, width in unordered):
                    yield n, ces.valuation(path)


def count(scope: Scope, S: Stream, budget: Budget = Budget()) -> Iterator[int]:
    """The number of matches at each position. Raises Unsupported, BudgetExceeded.

    They are counted without being enumerated, in time linear in the nodes of the window; but where an attribute with a
    window goes back along the stream each match is looked at.
    """
    if lookback_bounds(scope, S).unordered:
        numbers = [0] * len(S)
        for match in evaluate(scope, S, budget=budget):
            numbers[match.at] += 1
            if numbers[match.at] > budget.matches:
                raise BudgetExceeded(f"more than {budget.matches} matches at a position, on a stream not in order")
        yield from numbers
    else:
        for _, nodes, low in _read(scope, S, False, budget):
            yield sum(ces.number(node, low) for node in nodes)


def _read(
    scope: Scope, S: Stream, variables: bool, budget: Budget
) -> Iterator[tuple[int, Iterator[ces.Node], list[int]]]:
    """As read, for the automaton of the scope's formula."""
    return read(lazily(scope.core, budget, None if variables else single_variable), scope, S)


def read(automaton: Determinized, scope: Scope, S: Stream) -> Iterator[tuple[int, Iterator[ces.Node], list[int]]]:
    """For each position the position, the sets of complex events there, and how far back each position reaches."""
    evaluation = ScopedEvaluation(automaton, scope.windowed)
    reached = lookback_bounds(scope, S)
    for n, type_ in enumerate(classify(evaluation.automaton.A.predicates, S)):
        key = key_of(scope.attributes, S[n]) if reached.marks[n] else None
        evaluation.push(type_, key, reached.low[n])
        yield n, evaluation.ends(), reached.low
