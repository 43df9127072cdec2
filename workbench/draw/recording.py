"""The run of any evaluator over a stream, event by event, as data for pictures.

A recording has the state of the evaluator after each event, as the evaluator itself has it. Partial matches are a graph
of nodes to which nodes are only added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from cerify.draw.diagram import Diagram
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream

N = TypeVar("N")
NodeKind = Literal["bottom", "output", "union"]
"""The terminator, a node that stands for an event, one that stands for those of two others."""

LinkKind = Literal["first", "last", "next", "left", "right", "before"]
"""The field of the node that the link is; each kind has a stroke of its own (stepper.py)."""

BEFORE = -1  # the position of the step before the first event
MOST_EVENTS = 200
MOST_NODES = 400
MOST_LINKS = 1600
MOST_FOUND = 40  # matches that are listed at a step


@dataclass(frozen=True)
class Node:
    """A node: the position that it stands for, if it does, with a text, and at which step it was made."""

    kind: NodeKind
    name: str
    label: str
    position: int | None
    born: int


@dataclass(frozen=True)
class Link:
    """An arrow between two nodes by their numbers, and at which step it was made."""

    source: int
    target: int
    kind: LinkKind
    born: int


@dataclass(frozen=True)
class StateRow:
    """The partial matches of a state, or of some states together, as nodes; states are indices into the diagram's.

    fate: what became of them at this step. gone: whether they end with it.
    """

    holder: str
    states: frozenset[int]
    nodes: tuple[int, ...] = ()
    final: bool = False
    fate: str = ""
    gone: bool = False


@dataclass(frozen=True)
class RecordedMatch:
    """A match, and the nodes on the path that stands for it."""

    match: Match
    path: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """The state after an event. fired: the arrows of the diagram that were followed, as indices.

    rows: the partial matches by state. live: the nodes that a state can still reach. more: whether there are matches
    beyond those found. text: what happened, if it is more than that the event was read.
    """

    position: int
    fired: frozenset[int]
    rows: tuple[StateRow, ...]
    live: frozenset[int]
    found: tuple[RecordedMatch, ...] = ()
    more: bool = False
    text: str = ""

    @property
    def active(self) -> frozenset[int]:
        """The states in which a run is, as indices into the diagram's."""
        return frozenset(q for row in self.rows for q in row.states)


@dataclass(frozen=True)
class Labels:
    """The headings of a page, and the texts for what is empty. finals: whether the table shows which rows are final.

    fate: the heading of what became of a row of the table, if that is shown. unit: what one goes through.
    """

    holds: str
    holder: str
    found: str
    nothing: str
    labelled: str = ""
    finals: bool = True
    fate: str = ""
    unit: str = "Event"


@dataclass(frozen=True)
class Recording:
    """A run over a stream: the automaton, all nodes and links ever made, and a step for each event that is read.

    The first step is the one before the first event. An evaluator that goes back reads an event several times; it has
    no nodes. notes are sentences below the drawing.
    """

    query: str
    S: Stream
    diagram: Diagram
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    steps: tuple[Step, ...]
    labels: Labels
    notes: tuple[str, ...] = ()

    def made(self, step: Step) -> tuple[Node, ...]:
        """The nodes made at a step."""
        return tuple(node for node in self.nodes if node.born == step.position)


@dataclass
class Graph:
    """The nodes and links of a recording that is being made. Raises BudgetExceeded for more than can be drawn."""

    nodes: list[Node] = field(default_factory=list)
    links: dict[Link, None] = field(default_factory=dict)

    def add(self, kind: NodeKind, label: str, position: int | None, born: int) -> int:
        """The number of a new node."""
        if len(self.nodes) >= MOST_NODES:
            raise BudgetExceeded(
                f"the run makes more than {MOST_NODES} nodes by event {born}, more than can be drawn; "
                "take the stream up to there, or a part of it"
            )
        n = len(self.nodes)
        self.nodes.append(Node(kind, "⊥" if kind == "bottom" else f"n{n}", label, position, born))
        return n

    def link(self, source: int, target: int, kind: LinkKind, born: int) -> None:
        """Add an arrow."""
        if len(self.links) >= MOST_LINKS:
            raise BudgetExceeded(
                f"the run makes more than {MOST_LINKS} links by event {born}, more than can be drawn; "
                "take the stream up to there, or a part of it"
            )
        self.links[Link(source, target, kind, born)] = None


class Recorded(Generic[N]):
    """The nodes of an evaluator that are in a graph, by their identity.

    below: the nodes that a node leads to. add: adds a node to the graph, those below it being there, at a step; it
    returns its number.
    """

    def __init__(self, below: Callable[[N], Iterable[N]], add: Callable[[N, int], int]) -> None:
        self._below, self._add = below, add
        self._number: dict[int, int] = {}
        self._kept: list[N] = []  # all of them, so that no identity is used again

    def __getitem__(self, node: N) -> int:
        return self._number[id(node)]

    def record(self, root: N, n: int) -> None:
        """Record a node and the nodes below it, these first, unless they are recorded."""
        pending = [root]
        while pending:
            node = pending[-1]
            unknown = [child for child in self._below(node) if id(child) not in self._number]
            if id(node) not in self._number and unknown:
                pending += unknown
                continue
            pending.pop()
            if id(node) not in self._number:
                self._number[id(node)] = self._add(node, n)
                self._kept.append(node)

    def live(self, pending: list[N]) -> frozenset[int]:
        """The numbers of the nodes and of all below them."""
        live = set[int]()
        while pending:
            node = pending.pop()
            if self[node] not in live:
                live.add(self[node])
                pending += self._below(node)
        return frozenset(live)


def require_short(S: Stream) -> None:
    """Raises BudgetExceeded for a stream of more than MOST_EVENTS events."""
    if len(S) > MOST_EVENTS:
        raise BudgetExceeded(
            f"the stream has {len(S):,} events, and a run is shown step by step for at most {MOST_EVENTS}; "
            "take a part of the stream"
        )


def arrows(diagram: Diagram, followed: Iterable[tuple[int, int, str]]) -> frozenset[int]:
    """The indices of the arrows of a diagram that lead from a state to another with a kind: rows of followed."""
    ways = set(followed)
    return frozenset(k for k, edge in enumerate(diagram.edges) if (edge.source, edge.target, edge.kind) in ways)
