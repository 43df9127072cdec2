"""The run of the readable evaluator of SASE+: the runs in each state, and the buffer that they share (evaluate.py)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cerify.automata.nfab.buffer import Node
from cerify.automata.nfab.evaluate import BlockRunner, Key
from cerify.draw.nfab import diagram_of_query
from cerify.draw.recording import (
    BEFORE,
    MOST_FOUND,
    Graph,
    Labels,
    Recorded,
    RecordedMatch,
    Recording,
    StateRow,
    Step,
    require_short,
)
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InternalError, Unsupported
from cerify.semantics.events import Bindings, Match, Stream
from cerify.semantics.predicate_text import show_value
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import DECIDED, Reading

LABELS = Labels(
    holds="Runs",
    holder="State",
    found="Matches certain by this event",
    nothing="None.",
    labelled=", and the variable",
    finals=False,
)
BUFFER = (
    "Runs in one state that have the same future are one, and share a buffer: each path from a node back to one with "
    "nothing before it is what one of them has selected. A run that has selected nothing yet is not stored."
)


def record(q: sase.Tree, S: Stream, query: str, reading: Reading = DECIDED, budget: Budget = Budget()) -> Recording:
    """The run of a query of one block over a stream. Raises Unsupported for other queries, BudgetExceeded, InputError.

    The last step is that of the end of the stream.
    """
    require_short(S)
    if not isinstance(q, sase.Query):
        raise Unsupported(
            "a run is shown for one block, PATTERN … WHERE … WITHIN; this query is put together from some"
        )
    diagram = diagram_of_query(q, f"Automaton of {query}")
    buffer = _Buffer(BlockRunner(q, reading, budget))
    steps = [Step(BEFORE, frozenset(), (), frozenset())]
    for n, event in enumerate(S):
        steps.append(buffer.step(n, buffer.evaluator.nodes(event)))
    steps.append(buffer.step(len(S), buffer.evaluator.end()))
    graph = buffer.graph
    return Recording(query, S, diagram, tuple(graph.nodes), tuple(graph.links), tuple(steps), LABELS, (BUFFER,))


class _Buffer:
    """An evaluator that is looked at: the nodes of its runs, numbered as they are seen."""

    def __init__(self, evaluator: BlockRunner) -> None:
        self.evaluator = evaluator
        self.graph = Graph()
        self.nodes = Recorded[Node](lambda node: node.before, self._add)

    def step(self, n: int, matching: list[Node]) -> Step:
        """The step after event n, by which the nodes are certain to be matches."""
        groups = [
            (place, key, list(group.nodes.values()))
            for key, tables in self.evaluator.partitions.items()
            for place, table in enumerate(tables)
            for group in table.values()
        ]
        for node in (*(node for _, _, nodes in groups for node in nodes), *matching):
            self.nodes.record(node, n)
        states = self.evaluator.plan.states
        held = tuple(
            StateRow(
                _holder(states[place].variable, states[place].kind, key),
                frozenset({place}),
                tuple(map(self.nodes.__getitem__, nodes)),
                False,
            )
            for place, key, nodes in groups
        )
        found = list(islice(self._found(n, matching), MOST_FOUND + 1))
        live = self.nodes.live([*(node for _, _, nodes in groups for node in nodes), *matching])
        return Step(n, frozenset(), held, live, tuple(found[:MOST_FOUND]), len(found) > MOST_FOUND)

    def _add(self, node: Node, n: int) -> int:
        variable = self.evaluator.plan.pattern[node.component].variable
        number = self.graph.add("output", f"{node.position} {variable}", node.position, n)
        for before in node.before:
            self.graph.link(number, self.nodes[before], "before", n)
        return number

    def _found(self, n: int, matching: list[Node]) -> Iterator[RecordedMatch]:
        for node in matching:
            for M in self.evaluator.listed([node]):
                positions = tuple(sorted(p for _, places in M for p in places))
                yield RecordedMatch(Match(n, positions, M), self._path(node, M))

    def _path(self, node: Node, M: Bindings) -> tuple[int, ...]:
        """The nodes of a match, from the last one back."""
        order = {k.variable: n for n, k in enumerate(self.evaluator.plan.pattern)}
        selected = [(order[variable], p) for variable, places in M for p in places]
        pending: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
        while pending:
            node, after = pending.pop()
            path = (*after, node)
            if (node.component, node.position) != selected[-len(path)]:
                continue
            if len(path) == len(selected):
                return tuple(map(self.nodes.__getitem__, path))
            pending += ((before, path) for before in node.before)
        raise InternalError(f"no path of the buffer has selected {M}")


def _holder(variable: str, kind: str, key: Key) -> str:
    name = {"single": variable, "first": f"{variable}[1]", "more": f"{variable}[i]"}[kind]
    values = [show_value(value) for _, value in key] if isinstance(key, tuple) else []
    return " · ".join((name, *values))
