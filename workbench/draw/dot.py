"""A diagram in the language of Graphviz, for those who want to lay it out or to change it on their own."""

from __future__ import annotations

from collections.abc import Mapping

from cerify.draw.diagram import Diagram, Kind

STYLES: Mapping[Kind, str] = {
    "read": "solid",
    "begin": "bold",
    "take": "solid",
    "ignore": "dashed",
    "proceed": "dotted",
}


def dot(diagram: Diagram) -> str:
    """The text of a .dot file."""
    lines = [f"digraph {_quoted(diagram.title)} {{", "  rankdir=LR;", "  node [shape=circle];"]
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
