"""The run of the readable evaluators of CEL: tods21, Algorithms 1 and 2, and what it becomes under windows and keys.

It is automata/evaluate/streaming.py, and scoped.py where a window or a partition stands around the formula, that read
the events; after each event it is written down what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol, assert_never

from cerify.automata.cea.io_determinize import MARKED, Determinized
from cerify.automata.cea.model import Marks
from cerify.automata.evaluate.answers import without_marks
from cerify.automata.evaluate.ces import BOTTOM, NodeList
from cerify.automata.evaluate.ces_window import Bottom, Output, Union, enumerate_
from cerify.automata.evaluate.ces_window import Node as SetNode
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.decorrelation import is_mark
from cerify.automata.evaluate.evaluation_plan import AutomatonPlan, required_plan
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker, in_list, in_node
from cerify.automata.evaluate.scope import Key, Scope, key_of, lookback_bounds, within_width
from cerify.automata.evaluate.scoped import ScopedEvaluation
from cerify.automata.evaluate.spending import Spending
from cerify.automata.evaluate.streaming import Evaluation
from cerify.automata.evaluator import Output as OutputName
from cerify.draw.automaton import diagram_of_cea
from cerify.draw.diagram import Diagram
from cerify.draw.recording import (
    BEFORE,
    MOST_FOUND,
    Graph,
    Labels,
    LinkKind,
    Recorded,
    RecordedMatch,
    Recording,
    StateRow,
    Step,
    arrows,
    require_short,
)
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream, Valuation, bindings_of
from cerify.semantics.predicate_text import show_value

Path = tuple[int, ...]


class Run(Protocol):
    """An evaluation that is looked at."""

    graph: Graph

    def push(self, n: int, type_: int) -> None: ...

    def state_rows(self) -> Iterator[tuple[int, str, Path]]:
        """The active states of the I/O-deterministic automaton, each with a key's text and its nodes."""

    def live(self) -> frozenset[int]: ...

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        """The complex events at the last position read."""


def label(position: int, marks: Marks) -> str:
    """The position, and the variables of the query that mark it."""
    own = sorted(A for A in marks - MARKED if not is_mark(A))
    return " ".join((str(position), ", ".join(own))).strip()


class UnwindowedRun:
    """Algorithm 2: nodes with lists of children."""

    def __init__(self, automaton: Determinized, checker: CorrelatedFilterChecker | None) -> None:
        self.graph = Graph()
        self._evaluation = Evaluation(automaton)
        self._checker = checker
        self._next: list[int] = []
        self._written(BEFORE)

    def push(self, n: int, type_: int) -> None:
        self._evaluation.push(type_)
        self._written(n)

    def _written(self, n: int) -> None:
        """Write down the nodes and links that are new."""
        D, graph = self._evaluation.D, self.graph
        for node in range(len(graph.nodes), len(D)):
            if node == BOTTOM:
                graph.add("bottom", "⊥", None, n)
                continue
            graph.add("output", label(D.event[node], D.marks[node]), D.event[node], n)
            graph.link(node, D.first[node], "first", n)
            if D.last[node] != D.first[node]:
                graph.link(node, D.last[node], "last", n)
        for node, following in enumerate(D.next):
            if following >= 0 and (node >= len(self._next) or self._next[node] != following):
                graph.link(node, following, "next", n)
        self._next = list(D.next)

    def state_rows(self) -> Iterator[tuple[int, str, Path]]:
        for q, nodes in self._evaluation.T.items():
            yield q, "", tuple(self._along(nodes))

    def _along(self, nodes: NodeList) -> Iterator[int]:
        node, last = nodes
        yield node
        while node != last:
            node = self._evaluation.D.next[node]
            yield node

    def live(self) -> frozenset[int]:
        D, live = self._evaluation.D, set[int]()
        pending = [node for nodes in self._evaluation.T.values() for node in self._along(nodes)]
        while pending:
            node = pending.pop()
            if node not in live:
                live.add(node)
                pending += self._along((D.first[node], D.last[node])) if node != BOTTOM else ()
        return frozenset(live)

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        D = self._evaluation.D
        for nodes in self._evaluation.ends():
            for path in D.enumerate(nodes) if self._checker is None else in_list(D, nodes, self._checker):
                yield (*path, BOTTOM), D.valuation(path)


class Series:
    """Algorithm 2 under windows and partitions: nodes for one event more, and for the union of two sets."""

    def __init__(
        self, automaton: Determinized, scope: Scope, S: Stream, checker: CorrelatedFilterChecker | None
    ) -> None:
        self.graph = Graph()
        self._evaluation = ScopedEvaluation(automaton, scope.windowed)
        self._scope, self._S, self._checker, self._reach = scope, S, checker, lookback_bounds(scope, S)
        self._nodes = Recorded[SetNode](lambda node: [child for _, child in _below(node)], self._add)
        self._bottom = self.graph.add("bottom", "⊥", None, BEFORE)

    def push(self, n: int, type_: int) -> None:
        key = key_of(self._scope.attributes, self._S[n]) if self._reach.marks[n] else None
        self._evaluation.push(type_, key, self._reach.low[n])
        for table in self._evaluation.T.values():
            for series in table.values():
                for node in reversed(series):
                    self._nodes.record(node, n)

    def _add(self, node: SetNode, n: int) -> int:
        match node:
            case Bottom():
                return self._bottom
            case Output():
                number = self.graph.add("output", label(node.position, node.marks), node.position, n)
            case Union():
                number = self.graph.add("union", "∪", None, n)
        for kind, child in _below(node):
            self.graph.link(number, self._nodes[child], kind, n)
        return number

    def state_rows(self) -> Iterator[tuple[int, str, Path]]:
        if self._evaluation.unmarked is not None:
            yield self._evaluation.unmarked, "any key" if self._scope.attributes else "", (self._bottom,)
        for q, table in self._evaluation.T.items():
            for key, series in table.items():
                yield q, _key_text(self._scope, key), tuple(map(self._nodes.__getitem__, series))

    def live(self) -> frozenset[int]:
        bottom = frozenset[int]() if self._evaluation.unmarked is None else {self._bottom}
        nodes = [node for table in self._evaluation.T.values() for series in table.values() for node in series]
        return self._nodes.live(nodes) | bottom

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        low = self._reach.low
        for node in self._evaluation.ends():
            for path in enumerate_(node, low) if self._checker is None else in_node(node, low, self._checker):
                mu = frozenset((A, output.position) for output in path for A in output.marks)
                if all(within_width(width, [self._S[p].get(a) for _, p in mu]) for a, width in self._reach.unordered):
                    yield (*map(self._nodes.__getitem__, path), self._bottom), mu


def _below(node: SetNode) -> list[tuple[LinkKind, SetNode]]:
    match node:
        case Output():
            return [("before", node.child)]
        case Union():
            return [("left", node.left)] if node.right is None else [("left", node.left), ("right", node.right)]
        case Bottom():
            return []
        case _:
            assert_never(node)


def _key_text(scope: Scope, key: Key) -> str:
    return ", ".join(f"{a} {show_value(value)}" for a, (_, value) in zip(scope.attributes, key, strict=True))


SETS = (
    "The evaluator follows sets of states, so that each complex event is found once: a row of the table is a set, and "
    "a state is active if it is in one of them."
)
LISTS = "A state has a list of nodes; each path from one of them down to ⊥ is a partial match."
SERIES = "A state has, for each key, a series of nodes; each path from one of them down to ⊥ is a partial match."
PARTITIONED = (
    "PARTITION BY is not in the automaton, which is that of the formula inside: a row of the table is a set of states "
    "for one value of {}, and only events with that value are read there."
)
ANY_VARIABLE = "• marks an event as one of the match, whatever variables bind it; with --valuations they are shown."
CHECKED = (
    "What the automaton finds is checked against the filters that compare events; only what passes is listed. A name "
    "that begins with ◦ marks an event that such a filter looks at."
)

LABELS = Labels(holds="Nodes of the states", holder="States", found="Complex events at this event", nothing="None.")

MOST_PATHS = 20 * MOST_FOUND  # under checks several paths can stand for one match


def record(phi: Formula, S: Stream, query: str, output: OutputName = "matches", budget: Budget = Budget()) -> Recording:
    """The run of a formula over a stream. Raises Unsupported where it takes more than one automaton, BudgetExceeded."""
    require_short(S)
    plan = required_plan(phi, budget)
    if not isinstance(plan, AutomatonPlan):
        raise plan.refused
    scope, checks = plan.scope, plan.checks
    automaton = plan.automaton(output, budget)
    checker = CorrelatedFilterChecker(checks, S, Spending(budget)) if checks else None
    run: Run = UnwindowedRun(automaton, checker) if scope.everything else Series(automaton, scope, S, checker)
    diagram = diagram_of_cea(automaton.A, f"Automaton of {query}")
    steps = [_step(run, automaton, frozenset())]
    for n, type_ in enumerate(classify(automaton.A.predicates, S)):
        before = steps[-1].active
        run.push(n, type_)
        found, more = _found(run, n, output)
        fired = _fired(automaton, diagram, before, type_)
        steps.append(_step(run, automaton, fired, n, found, more))
    notes = [SETS, LISTS if scope.everything else SERIES]
    if scope.attributes:
        notes.append(PARTITIONED.format(", ".join(scope.attributes)))
    if output == "matches":
        notes.append(ANY_VARIABLE)
    if checks:
        notes.append(CHECKED)
    labels = LABELS if output == "matches" else replace(LABELS, labelled=", and the variables that bind it")
    graph = run.graph
    return Recording(query, S, diagram, tuple(graph.nodes), tuple(graph.links), tuple(steps), labels, tuple(notes))


def _step(
    run: Run,
    automaton: Determinized,
    fired: frozenset[int],
    n: int = BEFORE,
    found: tuple[RecordedMatch, ...] = (),
    more: bool = False,
) -> Step:
    rows = []
    for q, key, nodes in run.state_rows():
        states = automaton.subsets[q]
        name = f"{{{', '.join(map(str, sorted(states)))}}}"
        rows.append(StateRow(f"{name} · {key}" if key else name, states, nodes, automaton.final[q]))
    return Step(n, fired, tuple(rows), run.live(), found, more)


def _found(run: Run, n: int, output: OutputName) -> tuple[tuple[RecordedMatch, ...], bool]:
    """The first matches at a position, each once, and whether there are more."""
    found: dict[Match, RecordedMatch] = {}
    for number, (path, mu) in enumerate(run.paths()):
        if len(found) == MOST_FOUND or number == MOST_PATHS:
            return tuple(found.values()), True
        events = tuple(sorted({p for _, p in mu}))
        match = Match(n, events, bindings_of(without_marks(mu)) if output == "valuations" else None)
        found.setdefault(match, RecordedMatch(match, path))
    return tuple(found.values()), False


def _fired(automaton: Determinized, diagram: Diagram, before: frozenset[int], type_: int) -> frozenset[int]:
    followed = (
        (p, q, "take" if marks else "ignore") for p in before for bit, marks, q in automaton.A.steps[p] if type_ & bit
    )
    return arrows(diagram, followed)
