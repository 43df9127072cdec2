"""The run of the readable evaluators of CEL: tods21, Algorithms 1 and 2, and what it becomes under windows and keys.

It is automata/evaluate/streaming.py, and scoped.py where a window or a partition stands around the formula, that read
the events; after each event it is written down what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol, assert_never

from cerify.automata.cea.culprit import lazily
from cerify.automata.cea.io_determinize import MARKED, Determinized, single_variable
from cerify.automata.cea.model import Marks
from cerify.automata.evaluate import answers
from cerify.automata.evaluate.ces import BOTTOM, NodeList
from cerify.automata.evaluate.ces_window import Bottom, Output, Union, enumerate_
from cerify.automata.evaluate.ces_window import Node as SetNode
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.crossing import Check, carried, is_mark
from cerify.automata.evaluate.partitions import partitioned
from cerify.automata.evaluate.scope import Key, Scope, key_of, near, reach, split
from cerify.automata.evaluate.scoped import ScopedEvaluation
from cerify.automata.evaluate.sieve import Sieve, in_list, in_node
from cerify.automata.evaluate.streaming import Evaluation
from cerify.draw.automaton import diagram_of_cea
from cerify.draw.diagram import Diagram
from cerify.draw.recording import (
    BEFORE,
    MOST_FOUND,
    Found,
    Graph,
    Held,
    LinkKind,
    Recording,
    Step,
    Words,
    arrows,
    require_short,
)
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream, Valuation, bindings_of
from cerify.semantics.predicate_text import show_value

SETS = (
    "The evaluator follows sets of states, so that each complex event is found once: a row of the table is a set, and "
    "a state is active if it is in one of them."
)
LISTS = "A state holds a list of nodes; each path from one of them down to ⊥ is a partial match."
SERIES = "A state holds, for each key, a series of nodes; each path from one of them down to ⊥ is a partial match."
ANY_VARIABLE = "• marks an event as one of the match, whatever variables hold it; with --valuations these are kept."
CHECKED = (
    "What the automaton finds is checked against the filters that compare events; only what passes is listed. A name "
    "that begins with ◦ marks an event that such a filter looks at."
)

WORDS = Words(
    holds="What states hold",
    holder="States",
    found="Complex events at this event",
    nothing="None.",
)

Path = tuple[int, ...]

MOST_PATHS = 20 * MOST_FOUND  # under checks several paths can stand for one match


def record(
    phi: Formula, S: Stream, query: str, output: answers.Output = "matches", budget: Budget = Budget()
) -> Recording:
    """The run of a formula over a stream. Raises Unsupported where it takes more than one automaton, BudgetExceeded."""
    require_short(S)
    checks: tuple[Check, ...] = ()
    form = None if output == "valuations" else single_variable
    if answers.needs_checks(phi):
        with depth_limited(phi.span):
            taken = carried(partitioned(phi), budget)
        phi, checks, form = taken.phi, taken.checks, partial(answers.kept_marks, output=output)
    scope = split(phi)
    automaton = lazily(scope.core, budget, form)
    sieve = Sieve(checks, S, budget) if checks else None
    run: _Run = _Lists(automaton, sieve) if scope.everything else _Series(automaton, scope, S, sieve)
    diagram = diagram_of_cea(automaton.A, f"Automaton of {query}")
    steps = [_step(run, automaton, frozenset())]
    for n, type_ in enumerate(classify(automaton.A.predicates, S)):
        before = steps[-1].active
        run.push(n, type_)
        found, more = _found(run, n, output)
        fired = _fired(automaton, diagram, before, type_)
        steps.append(_step(run, automaton, fired, n, found, more))
    notes = [SETS, LISTS if scope.everything else SERIES]
    if output == "matches":
        notes.append(ANY_VARIABLE)
    if checks:
        notes.append(CHECKED)
    words = WORDS if output == "matches" else replace(WORDS, labelled=", and the variables that hold it")
    graph = run.graph
    return Recording(query, S, diagram, tuple(graph.nodes), tuple(graph.links), tuple(steps), words, tuple(notes))


class _Run(Protocol):
    """An evaluation that is looked at."""

    graph: Graph

    def push(self, n: int, type_: int) -> None: ...

    def held(self) -> Iterator[tuple[int, str, Path]]:
        """The active states of the I/O-deterministic automaton, each with a key's text and the nodes it holds."""

    def live(self) -> frozenset[int]: ...

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        """The complex events at the last position read."""


class _Lists:
    """Algorithm 2: nodes with lists of children."""

    def __init__(self, automaton: Determinized, sieve: Sieve | None) -> None:
        self.graph = Graph()
        self._evaluation = Evaluation(automaton)
        self._sieve = sieve
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
            graph.add("output", _label(D.event[node], D.marks[node]), D.event[node], n)
            graph.link(node, D.first[node], "first", n)
            if D.last[node] != D.first[node]:
                graph.link(node, D.last[node], "last", n)
        for node, following in enumerate(D.next):
            if following >= 0 and (node >= len(self._next) or self._next[node] != following):
                graph.link(node, following, "next", n)
        self._next = list(D.next)

    def held(self) -> Iterator[tuple[int, str, Path]]:
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
            for path in D.enumerate(nodes) if self._sieve is None else in_list(D, nodes, self._sieve):
                yield (*path, BOTTOM), D.valuation(path)


class _Series:
    """Algorithm 2 under windows and partitions: nodes for one event more, and for the union of two sets."""

    def __init__(self, automaton: Determinized, scope: Scope, S: Stream, sieve: Sieve | None) -> None:
        self.graph = Graph()
        self._evaluation = ScopedEvaluation(automaton, scope.windowed)
        self._scope, self._S, self._sieve, self._reach = scope, S, sieve, reach(scope, S)
        self._number: dict[int, int] = {}  # of a node, by its identity
        self._kept: list[SetNode] = []  # all of them, so that no identity is used again
        self._bottom = self.graph.add("bottom", "⊥", None, BEFORE)

    def push(self, n: int, type_: int) -> None:
        key = key_of(self._scope.attributes, self._S[n]) if self._reach.marks[n] else None
        self._evaluation.push(type_, key, self._reach.low[n])
        for table in self._evaluation.T.values():
            for series in table.values():
                for node in reversed(series):
                    self._written(node, n)

    def _written(self, root: SetNode, n: int) -> None:
        """Write down a node and what is below it, unless it is known; what is below comes first."""
        pending = [root]
        while pending:
            node = pending[-1]
            below = [child for _, child in _below(node)]
            unknown = [child for child in below if not isinstance(child, Bottom) and id(child) not in self._number]
            if isinstance(node, Bottom) or id(node) in self._number:
                pending.pop()
            elif unknown:
                pending += unknown
            else:
                pending.pop()
                self._add(node, n)

    def _add(self, node: Output | Union, n: int) -> None:
        if isinstance(node, Output):
            number = self.graph.add("output", _label(node.position, node.marks), node.position, n)
        else:
            number = self.graph.add("union", "∪", None, n)
        self._number[id(node)] = number
        self._kept.append(node)
        for kind, child in _below(node):
            self.graph.link(number, self._of(child), kind, n)

    def _of(self, node: SetNode) -> int:
        return self._bottom if isinstance(node, Bottom) else self._number[id(node)]

    def held(self) -> Iterator[tuple[int, str, Path]]:
        if self._evaluation.unmarked is not None:
            yield self._evaluation.unmarked, "any key" if self._scope.attributes else "", (self._bottom,)
        for q, table in self._evaluation.T.items():
            for key, series in table.items():
                yield q, _key_text(self._scope, key), tuple(map(self._of, series))

    def live(self) -> frozenset[int]:
        live: set[int] = set() if self._evaluation.unmarked is None else {self._bottom}
        pending = [node for table in self._evaluation.T.values() for series in table.values() for node in series]
        while pending:
            node = pending.pop()
            if self._of(node) not in live:
                live.add(self._of(node))
                pending += (child for _, child in _below(node))
        return frozenset(live)

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        low = self._reach.low
        for node in self._evaluation.ends():
            for path in enumerate_(node, low) if self._sieve is None else in_node(node, low, self._sieve):
                mu = frozenset((A, output.position) for output in path for A in output.marks)
                if all(near(width, [self._S[p].get(a) for _, p in mu]) for a, width in self._reach.unordered):
                    yield (*map(self._of, path), self._bottom), mu


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


def _step(
    run: _Run,
    automaton: Determinized,
    fired: frozenset[int],
    n: int = BEFORE,
    found: tuple[Found, ...] = (),
    more: bool = False,
) -> Step:
    rows = []
    for q, key, nodes in run.held():
        states = automaton.subsets[q]
        said = f"{{{', '.join(map(str, sorted(states)))}}}"
        rows.append(Held(f"{said} · {key}" if key else said, states, nodes, automaton.final[q]))
    return Step(n, fired, tuple(rows), run.live(), found, more)


def _found(run: _Run, n: int, output: answers.Output) -> tuple[tuple[Found, ...], bool]:
    """The first matches at a position, each once, and whether there are more."""
    found: dict[Match, Found] = {}
    for number, (path, mu) in enumerate(run.paths()):
        if len(found) == MOST_FOUND or number == MOST_PATHS:
            return tuple(found.values()), True
        events = tuple(sorted({p for _, p in mu}))
        match = Match(n, events, bindings_of(answers.without_marks(mu)) if output == "valuations" else None)
        found.setdefault(match, Found(match, path))
    return tuple(found.values()), False


def _fired(automaton: Determinized, diagram: Diagram, before: frozenset[int], type_: int) -> frozenset[int]:
    followed = (
        (p, q, "take" if marks else "ignore") for p in before for bit, marks, q in automaton.A.steps[p] if type_ & bit
    )
    return arrows(diagram, followed)


def _label(position: int, marks: Marks) -> str:
    """The position, and the variables of the query that mark it."""
    own = sorted(A for A in marks - MARKED if not is_mark(A))
    return " ".join((str(position), ", ".join(own))).strip()


def _key_text(scope: Scope, key: Key) -> str:
    return ", ".join(f"{a} {show_value(value)}" for a, (_, value) in zip(scope.attributes, key, strict=True))
