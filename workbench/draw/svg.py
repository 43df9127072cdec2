"""A diagram as inline SVG, and SVG as a document that stands alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import escape
from math import hypot
from textwrap import wrap

from cerify.draw.diagram import MEANING, Diagram, Edge, EdgeKind, require_legible
from cerify.draw.layout import CHARACTER, LINE, RADIUS, Arrow, Layout, Size, layout
from cerify.draw.page import DRAWINGS, css
from cerify.terminal import shielded

NAMESPACE = "http://www.w3.org/2000/svg"
MARGIN = 10
LONGEST = 26  # characters of a line beside an arrow
BASELINE = 2  # pixels from the middle of a text beside an arrow to its baseline: its brackets stay above the arrow
MOST_LINES = 4  # lines beside an arrow; a longer text stands below the drawing, by number
BELOW = 330  # the width of what stands below the drawing, which fits a phone
SAMPLE = 44  # of the stroke of a kind of edge
HEAD = 8.5
BOUND = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class _Text:
    """The text beside an arrow: that of its edge in lines, or the number of a text below the drawing."""

    lines: tuple[str, ...]
    number: int | None = None


def svg(diagram: Diagram) -> str:
    """The SVG of a diagram, whose colours and fonts are those of diagram.css, which the page has to carry.

    Raises BudgetExceeded where there is too much to be legible, and Unsupported where Graphviz is not installed.
    """
    require_legible(diagram)
    numbered: dict[tuple[str, ...], int] = {}
    texts = [_text(edge, numbered) for edge in diagram.edges]
    placed = layout(diagram, list(map(_size, texts)))
    below = list(_below(diagram, numbered, placed.height + 3 * MARGIN))
    width = max(placed.width, BELOW if below else 0) + 2 * MARGIN
    height = below[-1][0] + MARGIN if below else placed.height + 2 * MARGIN
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
    """Inline SVG as the text of an SVG file, with its styles, light and dark, and a ground to stand on.

    Characters that are not printable are escaped, which are also all that XML cannot have.
    """
    head, rest = inline.replace("<svg ", f'<svg xmlns="{NAMESPACE}" ', 1).split(">", 1)
    title = ""
    if label := re.search('aria-label="([^"]*)"', head):  # of a timeline, which has no title to show on every card
        title = f"<title>Timeline</title><desc>{label[1]}</desc>"
    ground = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    return shielded(f"{head}>{title}<style>{css(styles)}</style>{ground}{rest}\n")


def _text(edge: Edge, numbered: dict[tuple[str, ...], int]) -> _Text:
    lines = tuple(part for line in edge.lines for part in _wrapped(line, LONGEST))
    if len(lines) <= MOST_LINES and all(len(line) <= LONGEST for line in lines):
        return _Text(lines)
    return _Text((), numbered.setdefault(edge.lines, len(numbered) + 1))


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a text; a slash begins a line, with the variables after it, and ends none."""
    bound = text.replace(" / ", f" /{BOUND}")
    lines = wrap(bound, width, break_long_words=False, break_on_hyphens=False, subsequent_indent=" ")
    return [line.replace(BOUND, " ") for line in lines]


def _size(text: _Text) -> Size:
    if text.number is not None:
        return len(f"({text.number})"), 1
    return max(map(len, text.lines), default=0), len(text.lines)


def _kinds(diagram: Diagram) -> list[EdgeKind]:
    return [kind for kind in MEANING if any(edge.kind == kind for edge in diagram.edges)]


def _edges(diagram: Diagram, placed: Layout, texts: Sequence[_Text]) -> Iterator[str]:
    """First all strokes, then all texts, so that no stroke runs over a text."""
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


def _tooltip(diagram: Diagram, edge: Edge) -> str:
    states = f"{diagram.states[edge.source].name} → {diagram.states[edge.target].name}"
    return "\n".join((states, *edge.lines))


def arrow_svg(kind: str, arrow: Arrow, tooltip: str) -> str:
    """An arrow of a kind, or of several classes, which the style sheet gives a stroke; with a tooltip."""
    x, y = arrow.curve[0]
    curve = f"M{x:g} {y:g}C" + " ".join(f"{a:g} {b:g}" for a, b in arrow.curve[1:])
    return (
        f'<g class="arrow {kind}"><title>{escape(tooltip)}</title><path class="stroke" d="{curve}"/>'
        f'<path class="head" d="{_head(arrow.curve[-1], arrow.head)}"/></g>'
    )


def _head(base: tuple[float, float], tip: tuple[float, float]) -> str:
    """A triangle that ends at the tip and comes from the base."""
    dx, dy = tip[0] - base[0], tip[1] - base[1]
    length = hypot(dx, dy) or 1.0
    ux, uy = dx / length * HEAD, dy / length * HEAD
    x, y = tip[0] - ux, tip[1] - uy
    return f"M{tip[0]:g} {tip[1]:g}L{x - uy * 0.42:g} {y + ux * 0.42:g}L{x + uy * 0.42:g} {y - ux * 0.42:g}Z"


def _states(diagram: Diagram, placed: Layout) -> Iterator[str]:
    for state, (x, y) in zip(diagram.states, placed.states, strict=True):
        roles = [word for word, is_so in (("initial", state.initial), ("final", state.final)) if is_so]
        inner = f'<circle class="inner" cx="{x:g}" cy="{y:g}" r="{RADIUS - 4}"/>' if state.final else ""
        yield (
            f'<g class="state"><title>{escape(", ".join((f"state {state.name}", *roles)))}</title>'
            f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}"/>{inner}'
            f'<text x="{x:g}" y="{y + 4.5:g}">{escape(state.name)}</text></g>'
        )


def _below(diagram: Diagram, numbered: dict[tuple[str, ...], int], top: float) -> Iterator[tuple[float, str]]:
    """The lines below the drawing, each with its lower edge: strokes, long texts, table, notes."""
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
