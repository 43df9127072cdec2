"""The lists of nodes of the readable evaluator, written down event by event."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.evaluate.ces import BOTTOM, NodeList
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker, in_list
from cerify.automata.evaluate.streaming import Evaluation
from cerify.draw.record_run import Path, label
from cerify.draw.recording import BEFORE, Graph
from cerify.semantics.events import Valuation


class Lists:
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
