"""Draw a funnel as bars: the length of each step's bar is the share of the keys that reached the step."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from html import escape

from cerify.draw.diagram import document, markup, page

WIDTH, MARGIN, ROW, BAR = 640, 12, 62, 18
LONGEST = 56  # characters of a step's text
STYLES = ("draw/palette.css", "draw/funnel.css")


def funnel_svg(title: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Return inline SVG of bars: each has the step's text, its share from 0 to 1, and a remark."""
    height = MARGIN + len(bars) * ROW
    described = "; ".join(f"{name}: {said}" for name, _, said in bars)
    name = "f" + blake2b(repr((title, bars)).encode(), digest_size=5).hexdigest()
    parts = [
        f'<svg class="funnel" role="img" aria-labelledby="{name}t {name}d" '
        f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f'<title id="{name}t">{escape(title)}</title><desc id="{name}d">{escape(described)}</desc>',
    ]
    room = WIDTH - 2 * MARGIN
    for i, (name, share, said) in enumerate(bars):
        y = MARGIN + i * ROW
        shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        parts += [
            f"<g><title>{escape(f'{name}: {said}')}</title>",
            f'<text class="name" x="{MARGIN}" y="{y + 12}">{escape(shown)}</text>',
            f'<rect class="room" x="{MARGIN}" y="{y + 18}" width="{room}" height="{BAR}" rx="3"/>',
            f'<rect class="reached" x="{MARGIN}" y="{y + 18}" width="{room * share:g}" height="{BAR}" rx="3"/>',
            f'<text class="soft" x="{WIDTH - MARGIN}" y="{y + 12}" text-anchor="end">{escape(said)}</text></g>',
        ]
    return "".join((*parts, "</svg>"))


def funnel_document(title: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Return the text of an SVG file of the bars."""
    return document(funnel_svg(title, bars), STYLES)


def funnel_page(title: str, query: str, drawings: Sequence[tuple[str, Sequence[tuple[str, float, str]]]]) -> str:
    """Return a self-contained page: the query of the funnel, and for each drawing its heading, bars and a table."""
    drawn = [(heading, markup(funnel_svg(heading or title, bars)), bars) for heading, bars in drawings]
    return page("draw/funnel.html", title=title, query=query, drawings=drawn)
