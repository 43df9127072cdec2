"""The common part of the readable and the compiled evaluators of CEL and core-CEL in batches.

`CelEvaluator` and `CoreEvaluator` make the automaton of a query; `ReadableEvaluator` and `CompiledEvaluator` read
events with it. Each evaluator inherits from one class of each pair.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, cast

from cerify.automata.cea.compile import EventChain, fixed_chain, lazily
from cerify.automata.cea.model import Determinized, single_variable
from cerify.automata.evaluate import ces
from cerify.automata.evaluate.ces import WINDOW_BOTTOM, Node, complex_event, enumerate_, number, valuation
from cerify.automata.evaluate.core import COMPILED_CORE_CEL
from cerify.automata.evaluate.evaluation_plan import (
    AutomatonPlan,
    CheckedPlan,
    CollectedPlan,
    Collecting,
    EvaluationPlan,
    PerKeyPlan,
    ResidualFilter,
    batch_scope,
    evaluation_plan,
)
from cerify.automata.evaluate.greatest_chains import greatest_in_scope
from cerify.automata.evaluate.membership import CorrelatedFilterChecker, Spending, collected, in_node, sup
from cerify.automata.evaluate.scope import (
    Key,
    KindOfValues,
    RunningBounds,
    Scope,
    Windows,
    fingerprint,
    key_of,
    lookback_bounds,
    reports_at_last_event,
    width_of,
)
from cerify.automata.evaluate.streaming import (
    ScopedEvaluation,
    ValuesEvaluation,
    count_matches,
    evaluation_in,
    without_marks,
)
from cerify.automata.evaluate.tables import classify
from cerify.automata.evaluator import Consumption, Counters, Evaluator, Output, require_output
from cerify.semantics.arguments import Budget, timed_items, too_many_matches
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Match, Stream, Valuation, bindings_of
from cerify.semantics.predicates import mentions
from cerify.semantics.values import Value, nanoseconds, time_at_nanoseconds


class AutomatonEvaluator(Evaluator):
    """Runs an I/O-determinized automaton over a stream, within windows.

    chain: the chain of LAST or NXT of a number of events, such as LAST(A{60} ; B); None for other formulas.
    """

    chain: EventChain | None = None

    def __init__(
        self,
        automaton: Determinized,
        scope: Windows,
        output: Output = "matches",
        consumption: Consumption = Consumption.NONE,
        budget: Budget = Budget(),
    ) -> None:
        self.scope, self.output, self.consumption, self.budget = scope, output, consumption, budget
        self.reports_at_last_event = reports_at_last_event(automaton.A)
        named = [attribute.name for P in automaton.A.predicates for attribute in mentions(P)]
        named += [] if scope.values is None else [scope.values[0]]
        self.attributes = frozenset([*named, *scope.attributes, *scope.keys, *(a for a, _ in scope.widths)])
        self._start(automaton)

    @abstractmethod
    def _start(self, automaton: Determinized) -> None:
        """Set the state to the beginning of a stream, with this automaton."""

    @property
    @abstractmethod
    def automaton(self) -> Determinized:
        """Return the automaton, as far as it has been determinized."""

    @property
    def identity(self) -> str:
        return fingerprint(self.automaton.A, self.scope, f"{self.output} {self.consumption.value}")


class CelEvaluator(AutomatonEvaluator):
    """Finds the matches of a formula of CEL over a stream that comes in batches.

    scope: the result of `batch_scope`, if already known. Raises IllFormed for an unknown output or consumption, and
    BudgetExceeded. Raises Unsupported if `batch_scope` gives a reason instead of a scope, or if numba is needed and not
    installed.
    """

    def __init__(
        self,
        phi: Formula,
        output: Output = "matches",
        consumption: Consumption | str = Consumption.NONE,
        budget: Budget = Budget(),
        scope: Scope | Unsupported | None = None,
    ) -> None:
        require_output(output)
        self.phi = phi
        scope = batch_scope(phi) if scope is None else scope
        if isinstance(scope, Unsupported):
            raise scope
        self.chain = fixed_chain(scope.core)
        automaton = lazily(scope.core, budget, None if output == "valuations" else single_variable)
        super().__init__(automaton, scope, output, Consumption.from_value(consumption), budget)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.output, self.consumption, self.budget)


class CoreEvaluator(AutomatonEvaluator):
    """Finds the matches of a unary formula of core-CEL. waits: whether the formula looks ahead.

    If it does, `finish` returns all matches, because the automaton finds them only at the end of the stream. Raises
    BudgetExceeded; and Unsupported if the formula is not unary, or if numba is needed and not installed.
    """

    def __init__(self, phi: core.Formula, budget: Budget = Budget()) -> None:
        self.phi = phi
        A, self.waits = COMPILED_CORE_CEL(phi, budget)
        super().__init__(Determinized(A, budget), Windows(), budget=budget)

    def flush(self) -> list[Match]:
        """Return the matches of a formula that looks ahead, each at its last event. Raises BudgetExceeded."""
        matches = []
        for C in self.at_end():
            matches.append(Match(C[-1], C))
            if len(matches) > self.budget.matches:
                raise too_many_matches(self.budget.matches)
        return sorted(matches)

    @abstractmethod
    def at_end(self) -> Iterator[tuple[int, ...]]:
        """Yield the complex events that end at the last position read, for a formula that looks ahead; nothing for
        others.
        """

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.budget)


# ---------------------------------------------------------------------------------------------------------------------
# Evaluators of batches in readable Python; the compiled twins are in compiled.py.


class ReadableEvaluator(AutomatonEvaluator):
    """Runs an I/O-determinized automaton over a stream, within windows.

    low: for each position at which a match may still end, the earliest position at which this match may begin. overall:
    the earliest position at which any match that is still to come may begin.
    """

    STATE = "readable"
    overall = 0

    def _start(self, automaton: Determinized) -> None:
        self.evaluation = evaluation_in(self.scope, automaton)
        self.bounds, self.values = RunningBounds(self.scope), KindOfValues(self.scope)
        self.low: dict[int, int] = {}

    @property
    def automaton(self) -> Determinized:
        """Return the automaton, as far as it has been determinized."""
        return self.evaluation.automaton

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        """Same as `push`, but for a Stream."""
        found: list[Match] = []
        for node in self._ends(S):
            most = self.budget.matches + 1 if limit is None else limit
            found += timed_items(islice(self._matches(node), most - len(found)))
            if limit is None and len(found) > self.budget.matches:
                raise BudgetExceeded(
                    f"there are more than {self.budget.matches} matches in a batch; push smaller batches, or count"
                )
        self._whole = True
        return sorted(found)

    def tally(self, S: Stream) -> int:
        """Same as `count`, but for a Stream. Matches are counted in the stored nodes; they are not listed."""
        total = sum(number(node, self.low) for node in self._ends(S))
        self._whole = True
        return total

    def _ends(self, S: Stream) -> Iterator[Node]:
        """Read all events; yield for each the sets of complex events that end there."""
        for _ in self._pushed(S):
            yield from self._completed()

    def _pushed(self, S: Stream) -> Iterator[int]:
        """Read all events; yield the position of each event after reading it.

        If the batch is out of order, raise Unordered and change nothing.
        """
        self._require_whole()
        bounds = self.bounds.copy()
        reached = [bounds.advance(self.position + i, event) for i, event in enumerate(S)]
        types = classify(self.automaton.A.predicates, S)
        values = self.values.of_events(S)
        self.bounds, self._whole = bounds, False
        for event, type_, (low, admitted, seen), value in zip(S, types, reached, values, strict=True):
            stream, key = key_of(self.scope.keys, event), key_of(self.scope.attributes, event) if admitted else None
            of_key = max(low, bounds.of_key(self.position, stream))
            self.low[self.position] = of_key
            self.evaluation.push(type_, stream if seen else None, key, of_key, low, value)
            self.overall = low
            self.position += 1
            yield self.position - 1
            if self.reports_at_last_event:
                # All matches that end here have been reported, so no later event needs the bounds.
                self.low.clear()

    def _completed(self) -> Iterator[Node]:
        """Yield the sets of complex events at the last position read."""
        found = False
        for node in self.evaluation.ends():
            # A node may have only complex events that begin before the window. Consumption needs a match inside.
            found = found or next(enumerate_(node, self.low), None) is not None
            yield node
        if found and self.consumption is Consumption.ANY:
            self.evaluation.restart()

    def _matches(self, node: Node) -> Iterator[Match]:
        for path in enumerate_(node, self.low):
            bindings = bindings_of(valuation(path)) if self.output == "valuations" else None
            yield Match(self.position - 1, complex_event(path), bindings)

    @property
    def counters(self) -> Counters:
        """Return the counters. nodes: only nodes for events are counted, not unions."""
        E = self.evaluation
        return Counters(self.position - self._first, E.node_count, len(E.automaton.subsets))

    def dump(self) -> bytes:
        """Return the state as JSON. Each state of the determinized automaton is written as a set of original states."""
        E, of_keys = self.evaluation, {} if self.bounds.of_keys is None else self.bounds.of_keys.positions
        state: dict[str, Any] = {
            "position": self.position,
            "low": list(self.low.items()),
            "windows": [[[p, _json(value)] for p, value in window.reached] for window in self.bounds.ranges],
        }
        if self.scope.keys:
            state["last"] = [[_json(stream), list(positions)] for stream, positions in of_keys.items()]
        if isinstance(E, ValuesEvaluation):
            state["kind"] = self.values.kind
            state["values"] = [
                [_json(stream), [[_json(value), p, types[p], p in newest.late] for value, p in newest.items()]]
                for stream, (newest, types) in E.parts.items()
            ]
            return json.dumps(state).encode()
        series = (some for part in E.parts.values() for table in part.T.values() for some in table.values())
        numbers, state["nodes"] = _numbered(node for some in series for node in some)
        if self.scope.keys:
            state["parts"] = [[_json(stream), self._part(part, numbers)] for stream, part in E.parts.items()]
        else:
            state |= self._part(E.parts.get((), ScopedEvaluation(self.automaton, self.scope.windowed)), numbers)
        return json.dumps(state).encode()

    def _part(self, part: ScopedEvaluation, numbers: dict[int, int]) -> dict[str, Any]:
        """Return the partial matches of one stream."""
        subsets = self.automaton.subsets
        return {
            "table": [
                [sorted(subsets[q]), [[_json(key), [numbers[id(n)] for n in some]] for key, some in series.items()]]
                for q, series in part.T.items()
            ],
            "unmarked": None if part.unmarked is None else sorted(subsets[part.unmarked]),
        }

    def load(self, data: bytes) -> None:
        state = json.loads(data)
        position, bounds = int(state["position"]), RunningBounds(self.scope)
        E, values = evaluation_in(self.scope, self.automaton), KindOfValues(self.scope)
        E.position = position - 1
        if isinstance(E, ValuesEvaluation):
            values.kind = str(state["kind"])
            _load_values(E, state["values"], position)
        else:
            nodes: list[Node] = [WINDOW_BOTTOM]
            for row in state["nodes"]:
                nodes.append(_node(row, nodes, position))
            for stream, saved in state["parts"] if self.scope.keys else [[[], state]]:
                part = E.parts[_key(stream)] = ScopedEvaluation(self.automaton, self.scope.windowed)
                for subset, rows in saved["table"]:
                    part.T[E.automaton.numbered(frozenset(subset))] = {
                        _key(key): [nodes[n] for n in series] for key, series in rows if series and min(series) > 0
                    }
                unmarked = saved["unmarked"]
                part.unmarked = None if unmarked is None else E.automaton.numbered(frozenset(unmarked))
        for stream, positions in state["last"] if self.scope.keys else ():
            for p in positions:
                bounds.of_key(int(p), _key(stream))
        for window, rows in zip(bounds.ranges, state["windows"], strict=True):
            window.reached.extend((int(p), _value(value)) for p, value in rows)
        self.low = {int(p): int(low) for p, low in state["low"]}
        self.evaluation, self.bounds, self.values, self.position = E, bounds, values, position


class ReadableCelEvaluator(CelEvaluator, ReadableEvaluator):
    """Finds the matches of a formula of CEL in readable Python."""

    def count_all(self, S: Stream) -> int:
        scope, plain = self.scope, self.output == "matches" and self.consumption is Consumption.NONE
        if plain and (scope.skipped or scope.values):
            return sum(count_matches(self.phi, self._opened(S), self.budget))
        if plain and isinstance(scope, Scope) and not lookback_bounds(scope, S).unordered:
            greatest = greatest_in_scope(scope, self._opened(S))
            if greatest is not None:
                return sum(1 for _ in greatest[1])
        return super().count_all(S)


class ReadableCoreEvaluator(CoreEvaluator, ReadableEvaluator):
    """Finds the matches of a unary formula in readable Python."""

    def at_end(self) -> Iterator[tuple[int, ...]]:
        ends = self.evaluation.ends() if self.waits else iter(())
        return (complex_event(path) for n in ends for path in enumerate_(n, self.low))

    def _completed(self) -> Iterator[Node]:
        return iter(()) if self.waits else super()._completed()


def _load_values(E: ValuesEvaluation, saved: Any, position: int) -> None:
    """Restore the newest events of the newest values from a saved state."""
    for stream, rows in saved:
        newest, types = E.part(_key(stream))
        for value, p, type_, is_late in rows:
            if not 0 <= p < position:
                raise ValueError("an event is out of range")
            newest.add(_value(value), p, bool(is_late))
            types[p] = int(type_)


def _numbered(roots: Iterator[Node]) -> tuple[dict[int, int], list[Any]]:
    """Return (numbers, rows) for all nodes below some roots.

    numbers: the number of each node, by its id(); the terminator has number 0. rows: the nodes, children before their
    parents: [position, marks, child] for an output, and [left, right] for a union, where right may be null.
    """
    numbers, rows = {id(WINDOW_BOTTOM): 0}, []
    # A stack instead of recursion: children form chains as long as the longest match.
    pending = list(roots)
    while pending:
        node = pending[-1]
        new = [child for child in ces.children(node) if id(child) not in numbers]
        pending += new
        if not new:
            pending.pop()
            if id(node) not in numbers:
                rows.append(_row(node, numbers))
                numbers[id(node)] = len(rows)
    return numbers, rows


def _row(node: Node, numbers: dict[int, int]) -> list[Any]:
    match node:
        case ces.CesOutput():
            return [node.position, sorted(node.marks), numbers[id(node.child)]]
        case ces.CesUnion():
            return [numbers[id(node.left)], None if node.right is None else numbers[id(node.right)]]
        case ces.Bottom():
            raise AssertionError("the terminator, which has number 0, was to be written as a row")


def _node(row: list[Any], nodes: list[Node], position: int) -> Node:
    """Return the node of a saved row. Raises ValueError or another exception for an invalid row."""
    if len(row) == 3:
        at, marks, child = row
        if type(at) is not int or not 0 <= at < position or not 0 <= child < len(nodes):
            raise ValueError("a node is out of range")
        return ces.CesOutput(at, frozenset(map(str, marks)), nodes[child])
    left, right = row
    if not 0 < left < len(nodes) or (right is not None and not 0 < right < len(nodes)):
        raise ValueError("a node is out of range")
    return ces.CesUnion(nodes[left], None if right is None else nodes[right])


def _json(value: Any) -> Any:
    """Convert a value or a key to JSON. A key is a tuple of pairs (kind, value)."""
    if isinstance(value, tuple):
        return [[name, _json(one)] for name, one in value]
    return {"time": nanoseconds(value)} if isinstance(value, datetime) else value


def _value(obj: Any) -> Value:
    value: Value = time_at_nanoseconds(obj["time"]) if isinstance(obj, dict) else obj
    return value


def _key(obj: Any) -> Key:
    return tuple((name, _value(one)) for name, one in obj)


# ---------------------------------------------------------------------------------------------------------------------
# Evaluate formulas with cross-event filters on batches: an automaton finds candidates, which are then checked.
#
# The automaton is that of the formula without these filters; it marks the events that the filters compare
# (evaluation_plan.py). At each position the complex events are enumerated, as on whole streams, and a complex event is
# abandoned at the first event with which a filter fails. NXT, LAST, MAX, PROJECT and IN around such a formula are
# applied to all its valuations at the position. Events marked by a partial match are kept, with the attributes that
# filters use.

SWEEP = 4096  # events between two searches for kept events that no future match can contain


def batch_plan(phi: cel.Formula, budget: Budget = Budget()) -> EvaluationPlan | Unsupported:
    """Return the plan for evaluation in batches: one automaton with checks, or operators around such a plan.

    Return Unsupported, with the reason, if checking a match by the definition may need any earlier event. Raises
    BudgetExceeded.
    """
    plan = evaluation_plan(phi, budget)
    inner: EvaluationPlan | Unsupported = plan
    while isinstance(inner, CollectedPlan):
        inner = inner.operand
    match inner:
        case CheckedPlan() | PerKeyPlan():
            return Unsupported(
                "batch evaluation does not support this formula, because checking a match needs all "
                f"earlier events ({inner.refused.message}); collect the stream and use cerify.match",
                inner.refused.span,
            )
    return plan


class CheckedEvaluator(ReadableEvaluator):
    """Finds the matches of a formula with cross-event filters, over a stream that comes in batches.

    plan: the result of `batch_plan`, if already known. kept: by position, the events of partial matches, which later
    filters may compare. Raises IllFormed, Unsupported and BudgetExceeded, as CelEvaluator does.
    """

    STATE = "checked"
    counts = False

    def __init__(
        self,
        phi: cel.Formula,
        output: Output = "matches",
        consumption: Consumption | str = Consumption.NONE,
        budget: Budget = Budget(),
        plan: EvaluationPlan | Unsupported | None = None,
    ) -> None:
        require_output(output)
        self.phi = phi
        plan = batch_plan(phi, budget) if plan is None else plan
        self.collecting: list[Collecting] = []
        while isinstance(plan, CollectedPlan):
            self.collecting.append(plan.phi)
            plan = plan.operand
        if isinstance(plan, Unsupported):
            raise plan
        assert isinstance(plan, AutomatonPlan)
        self.checks = plan.checks
        self.kept: dict[int, Event] = {}
        self._swept = 0
        automaton = plan.automaton("valuations" if self.collecting else output, budget)
        super().__init__(automaton, plan.scope, output, Consumption.from_value(consumption), budget)
        self._asked = frozenset(name for check in self.checks for name in _find_attributes(check))
        assert self.attributes is not None
        self.attributes |= self._asked

    def _start(self, automaton: Determinized) -> None:
        super()._start(automaton)
        self.kept, self._swept = {}, 0

    @property
    def identity(self) -> str:
        return f"{super().identity} {list(map(str, self.collecting))} {list(map(str, self.checks))}"

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.output, self.consumption, self.budget)

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        found: list[Match] = []
        most = self.budget.matches + 1 if limit is None else limit
        for matches in self._by_position(S):
            found += islice(matches, most - len(found))
            if limit is None and len(found) > self.budget.matches:
                raise BudgetExceeded(
                    f"there are more than {self.budget.matches} matches in a batch; push smaller batches"
                )
        self._whole = True
        return sorted(found)

    def tally(self, S: Stream) -> int:
        """Read the next events; return the number of matches. Each match is built, because its filters must
        be checked.
        """
        total = sum(sum(1 for _ in matches) for matches in self._by_position(S))
        self._whole = True
        return total

    def _by_position(self, S: Stream) -> Iterator[Iterator[Match]]:
        """Read all events; yield for each position an iterator over its matches, without repetitions."""
        checker = CorrelatedFilterChecker(self.checks, self.kept, Spending(self.budget))
        made, base = self.evaluation.node_count, self.position
        for p in self._pushed(S):
            if self.evaluation.node_count > made:  # the event has been marked
                made, event = self.evaluation.node_count, S[p - base]
                self.kept[p] = Event(event.type, {a: v for a, v in event.attributes.items() if a in self._asked})
            found = self._matches_at(p, checker)
            # Listed at once: evaluation restarts after the last match of a position, also if a limit ends the reading.
            yield found if self.consumption is Consumption.NONE else iter(list(found))
            self._sweep(p)

    def _matches_at(self, p: int, checker: CorrelatedFilterChecker) -> Iterator[Match]:
        """Yield the matches at the last position read."""
        mus: set[Valuation] | None = None if not self.collecting else set(self._valuations(checker))
        for operator in reversed(self.collecting):
            assert mus is not None
            mus = set(collected(operator, mus))
        seen: set[Match] = set()
        for mu in self._valuations(checker) if mus is None else mus:
            match = Match(p, tuple(sorted(sup(mu))), bindings_of(mu) if self.output == "valuations" else None)
            if match not in seen:
                seen.add(match)
                yield match
        if seen and self.consumption is Consumption.ANY:
            self.evaluation.restart()

    def _valuations(self, checker: CorrelatedFilterChecker) -> Iterator[Valuation]:
        low = cast("list[int]", self.low)
        nodes: list[Node] = list(self.evaluation.ends())
        for node in nodes:
            for path in timed_items(in_node(node, low, checker)):
                yield without_marks(valuation(path))

    def _sweep(self, p: int) -> None:
        """Delete the kept events that are before all windows."""
        if p - self._swept >= SWEEP and self.reports_at_last_event:
            low, self._swept = self.overall, p
            for q in [q for q in self.kept if q < low]:
                del self.kept[q]

    def dump(self) -> bytes:
        state = json.loads(super().dump())
        state["kept"] = [
            [p, event.type, [[a, _json(value)] for a, value in event.attributes.items()]]
            for p, event in self.kept.items()
        ]
        return json.dumps(state).encode()

    def load(self, data: bytes) -> None:
        kept = {
            int(p): Event(type_, {a: _value(value) for a, value in attributes})
            for p, type_, attributes in json.loads(data)["kept"]
        }
        super().load(data)
        self.kept = kept


def _find_attributes(check: ResidualFilter) -> Iterator[str]:
    """Yield the attributes used in a filter."""
    if isinstance(check.condition, cel.TimeWindow | cel.AttributeWindow):
        yield width_of(check.condition)[0]
        return
    for atom in cel.atoms(check.condition):
        if not isinstance(atom, cel.Named):
            yield from (a.name for a in mentions(atom.predicate))
