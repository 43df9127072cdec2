"""The series of nodes of the readable evaluator under windows and keys, written down event by event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.evaluate.ces_window import Bottom, Output, Union, enumerate_
from cerify.automata.evaluate.ces_window import Node as SetNode
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker, in_node
from cerify.automata.evaluate.scope import Key, Scope, key_of, lookback_bounds, within_width
from cerify.automata.evaluate.scoped import ScopedEvaluation
from cerify.draw.record_run import Path, label
from cerify.draw.recording import BEFORE, Graph, LinkKind, Recorded
from cerify.semantics.events import Stream, Valuation
from cerify.semantics.predicate_text import show_value


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
