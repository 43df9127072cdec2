"""What a drawing of an automaton shows, whatever kind of automaton it is; and the text of a drawing for Graphviz."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cerify.semantics.errors import BudgetExceeded

EdgeKind = Literal["read", "begin", "take", "ignore", "proceed", "match", "label", "fail", "end"]
"""What an edge does with the event at hand; each kind has a stroke of its own."""

MEANING: Mapping[EdgeKind, str] = {
    "read": "reads the event",
    "begin": "takes the first event",
    "take": "takes the event",
    "ignore": "passes over the event",
    "proceed": "proceeds without an event",
    "match": "a row of the match",
    "label": "the row may have this label",
    "fail": "the row cannot have this label",
    "end": "the labelling is complete",
}

MOST_STATES = 60  # beyond these a drawing cannot be read
MOST_EDGES = 240


@dataclass(frozen=True)
class State:
    """A circle: the text in it, and whether runs begin there or end there."""

    name: str
    initial: bool = False
    final: bool = False


@dataclass(frozen=True)
class Edge:
    """An arrow between two states, by their indices, with lines of text, any of which is enough."""

    source: int
    target: int
    lines: tuple[str, ...] = ()
    kind: EdgeKind = "read"

    @property
    def is_loop(self) -> bool:
        """Whether it leads from a state to itself."""
        return self.source == self.target


@dataclass(frozen=True)
class Section:
    """A part of the table below a drawing: a heading, and lines."""

    title: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagram:
    """A drawing before it is laid out. title names it; below it are the sections of a table, and notes: sentences.

    is_tree: whether it is a tree, of nodes and branches, where the branches from a node are drawn in their order.
    """

    title: str
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...] = ()
    table: tuple[Section, ...] = ()
    is_tree: bool = False

    def described(self) -> str:
        """The drawing in words, for those who do not see it."""
        names = [state.name for state in self.states]
        kinds = {edge.kind for edge in self.edges}
        states = ", ".join(state.name + _role(state) for state in self.states)
        edges = " ".join(
            f"From {names[edge.source]} to {names[edge.target]}"
            f"{f' ({edge.kind})' if len(kinds) > 1 else ''}: {' or '.join(edge.lines) or 'always'}."
            for edge in self.edges
        )
        what = "Nodes" if self.is_tree else "States"
        table = (f"{section.title}: {'; '.join(section.lines)}." for section in self.table)
        return " ".join(filter(None, (f"{what}: {states}.", edges, *table, *self.notes)))


def merged(title: str, states: tuple[State, ...], edges: list[Edge], notes: tuple[str, ...] = ()) -> Diagram:
    """The diagram in which edges of one kind between the same two states are one, with the lines of all, in order."""
    lines: dict[tuple[int, int, EdgeKind], dict[str, None]] = {}
    for edge in edges:
        lines.setdefault((edge.source, edge.target, edge.kind), {}).update(dict.fromkeys(edge.lines))
    drawn = tuple(
        Edge(p, q, tuple(texts), kind) for (p, q, kind), texts in sorted(lines.items(), key=lambda edge: edge[0])
    )
    return Diagram(title, states, drawn, notes)


def require_legible(diagram: Diagram) -> None:
    """Raises BudgetExceeded for more states or edges than anyone could follow on a drawing."""
    for count, most, what in ((len(diagram.states), MOST_STATES, "states"), (len(diagram.edges), MOST_EDGES, "arrows")):
        if count > most:
            raise BudgetExceeded(
                f"the automaton has {count} {what}, and a drawing with more than {most} cannot be read; "
                "draw a part of the query, or a smaller query with the same meaning (cerify simplify)"
            )


def _role(state: State) -> str:
    roles = [word for word, is_so in (("initial", state.initial), ("final", state.final)) if is_so]
    return f" ({' and '.join(roles)})" if roles else ""


STYLES: Mapping[EdgeKind, str] = {
    "read": "solid",
    "begin": "bold",
    "take": "solid",
    "ignore": "dashed",
    "proceed": "dotted",
    "match": "bold",
    "label": "solid",
    "fail": "dashed",
    "end": "dotted",
}


def dot(diagram: Diagram) -> str:
    """The text of a .dot file."""
    lines = [f"digraph {_quoted(diagram.title)} {{", "  rankdir=LR;", "  node [shape=circle];"]
    lines += ["  ordering=out;"] * diagram.is_tree
    for q, state in enumerate(diagram.states):
        shape = ", shape=doublecircle" if state.final else ""
        lines.append(f"  {q} [label={_quoted(state.name)}{shape}];")
        if state.initial:
            lines += [f'  start{q} [shape=point, label=""];', f"  start{q} -> {q};"]
    for edge in diagram.edges:
        label = _quoted("\n".join(edge.lines))
        lines.append(f"  {edge.source} -> {edge.target} [label={label}, style={STYLES[edge.kind]}];")
    return "\n".join((*lines, "}", ""))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
