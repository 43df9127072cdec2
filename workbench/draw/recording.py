"""The run of an evaluator over a stream, event by event, as a picture shows it: whatever kind of evaluator it is.

A recording holds what an evaluator has had in its hands after each event, and nothing that has been worked out beside
it. What is kept for matches to come is a graph of nodes to which nodes are only added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from cerify.draw.diagram import Diagram
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream

NodeKind = Literal["bottom", "output", "union"]
"""The terminator, a node that stands for an event, one that stands for those of two others."""

LinkKind = Literal["first", "last", "next", "left", "right", "before"]
"""What a node says of another; a kind has a stroke of its own (growth.py)."""

BEFORE = -1  # the position of the step before the first event
MOST_EVENTS = 200  # beyond these nobody goes through a stream step by step
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
class Held:
    """What a state, or some of them together, holds: a row of the table. states are places in the diagram."""

    holder: str
    states: frozenset[int]
    nodes: tuple[int, ...]
    final: bool


@dataclass(frozen=True)
class Found:
    """A match, and the nodes on the path that stands for it."""

    match: Match
    path: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """What there is after an event. fired: the arrows of the diagram that were followed, by place.

    live: the nodes that a state can still reach. more: whether there are matches beyond those found.
    """

    position: int
    fired: frozenset[int]
    held: tuple[Held, ...]
    live: frozenset[int]
    found: tuple[Found, ...] = ()
    more: bool = False

    @property
    def active(self) -> frozenset[int]:
        """The states in which a run is, by place in the diagram."""
        return frozenset(q for held in self.held for q in held.states)


@dataclass(frozen=True)
class Words:
    """What an evaluator's things are called on a page: headings, and what stands where there is nothing.

    finals: whether the table says which rows are final.
    """

    holds: str
    holder: str
    found: str
    nothing: str
    labelled: str = ""
    finals: bool = True


@dataclass(frozen=True)
class Recording:
    """A run over a stream: the automaton, all nodes and links there ever were, and a step for each event.

    The first step is that before the first event. notes are sentences about what is seen.
    """

    query: str
    S: Stream
    diagram: Diagram
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    steps: tuple[Step, ...]
    words: Words
    notes: tuple[str, ...] = ()

    def made(self, step: Step) -> tuple[Node, ...]:
        """The nodes made at a step."""
        return tuple(node for node in self.nodes if node.born == step.position)


@dataclass
class Graph:
    """The nodes and links of a recording that is being made. Raises BudgetExceeded where they cannot be looked at."""

    nodes: list[Node] = field(default_factory=list)
    links: dict[Link, None] = field(default_factory=dict)

    def add(self, kind: NodeKind, label: str, position: int | None, born: int) -> int:
        """The number of a new node."""
        if len(self.nodes) >= MOST_NODES:
            raise BudgetExceeded(
                f"the run makes more than {MOST_NODES} nodes by event {born}, which cannot be looked at; "
                "take the stream up to there, or a part of it"
            )
        n = len(self.nodes)
        self.nodes.append(Node(kind, "⊥" if kind == "bottom" else f"n{n}", label, position, born))
        return n

    def link(self, source: int, target: int, kind: LinkKind, born: int) -> None:
        """Add an arrow."""
        if len(self.links) >= MOST_LINKS:
            raise BudgetExceeded(
                f"the run makes more than {MOST_LINKS} links by event {born}, which cannot be looked at; "
                "take the stream up to there, or a part of it"
            )
        self.links[Link(source, target, kind, born)] = None


def require_short(S: Stream) -> None:
    """Raises BudgetExceeded for a stream that nobody would go through step by step."""
    if len(S) > MOST_EVENTS:
        raise BudgetExceeded(
            f"the stream has {len(S):,} events, and a run is shown step by step for at most {MOST_EVENTS}; "
            "take a part of the stream"
        )


def arrows(diagram: Diagram, followed: Iterable[tuple[int, int, str]]) -> frozenset[int]:
    """The arrows of a diagram, by place, that lead from a state to another in some way."""
    ways = set(followed)
    return frozenset(k for k, edge in enumerate(diagram.edges) if (edge.source, edge.target, edge.kind) in ways)
