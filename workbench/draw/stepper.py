"""A recording as one self-contained HTML page that steps forward and back through the stream.

The page contains every step as text and each drawing once; its script only selects what is visible. It loads no other
file and uses no network, and its policy allows no script but its own.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import blake2b, sha256
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from cerify.draw.diagram import (
    INCH,
    ROOT,
    Arrow,
    Point,
    arrow_svg,
    css,
    graphviz,
    markup,
    page,
    placed_arrow,
    placed_point,
    svg,
)
from cerify.draw.recording import DrawnNode, DrawnStep, Link, LinkKind, Recording, StateRow
from cerify.draw.timeline import every_column, timeline
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match
from cerify.semantics.predicates import show_value

if TYPE_CHECKING:
    from markupsafe import Markup

MEANING: Mapping[LinkKind, str] = {
    "first": "the first node of the list below",
    "last": "the last node of that list",
    "next": "the next node in a list",
    "before": "what comes before",
    "left": "one of the two sets, the more recent one",
    "right": "the other set",
}
HEIGHT, WIDTH, CHARACTER = 34, 40, 7.6
MARGIN = 10
HEADER = 24  # above the nodes, for the positions
LINE = 16


STYLES = ("draw/growth.css", "draw/stepper.css")


def stepper(run: Recording) -> str:
    """Return the page of a recording. Raises Unsupported if Graphviz is not installed."""
    script = (ROOT / "draw/stepper.js").read_text(encoding="utf-8")
    # The page's policy allows only a script with this digest, so text from a query cannot run as one.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    undrawn = automaton = ""
    try:
        automaton = markup(svg(run.diagram))
    except BudgetExceeded as error:
        undrawn = f"It is not drawn: {error.message}."
    return page(
        "draw/stepper.html",
        run=run,
        says=summary(run),
        sentences=[sentence(run, step) for step in run.steps],
        labels=run.labels,
        follows=any(step.fired for step in run.steps),
        pressed=any(found.path for step in run.steps for found in step.found),
        automaton=automaton,
        undrawn=undrawn,
        stream=markup(timeline(every_column(run.S))),
        graph=markup(growth_svg(run)) if run.nodes else "",
        key=markup(key_svg(run)),
        nodes_text=lambda row: nodes_text(run, row),
        match_text=match_text,
        digest=f"sha256-{digest}",
        styles=markup(css(STYLES)),
        script=markup(script),
        data=_data(run),
    )


def summary(run: Recording) -> str:
    """Summarize a run in a sentence: its events, nodes and matches."""
    number = sum(len(step.found) for step in run.steps)
    more = "at least " if any(step.more for step in run.steps) else ""
    made = f", {_count(len(run.nodes), 'node')}" if run.nodes else ""
    return f"{_count(len(run.S), 'event')}{made}, {more}{_count(number, 'match', 'matches')}"


def sentence(run: Recording, step: DrawnStep) -> str:
    """Describe a step in a few sentences."""
    if step.text:
        return step.text
    if step.position < 0:
        return "Before the first event."
    if step.position == len(run.S):
        return _summary(run, step, "The end of the stream.")
    event = run.S[step.position]
    values = ", ".join(f"{name} {show_value(value)}" for name, value in event.attributes.items())
    return _summary(run, step, f"Event {step.position}: {event.type}{f' ({values})' if values else ''}.")


def _summary(run: Recording, step: DrawnStep, what: str) -> str:
    active = ", ".join(run.diagram.states[q].name for q in sorted(step.active))
    text = [what, f"Active: {active}." if active else "No state is active."]
    if run.nodes:
        text.append(f"{_count(len(run.find_nodes(step)), 'new node')}, {len(step.live)} within reach.")
    if step.found:
        more = "more than " if step.more else ""
        text.append(f"{more}{_count(len(step.found), 'match', 'matches')}.".capitalize())
    return " ".join(text)


def nodes_text(run: Recording, row: StateRow) -> str:
    """Return the names of the nodes in a row of the table, in their order."""
    return ", ".join(run.nodes[n].name for n in row.nodes)


def match_text(match: Match) -> str:
    """Format the events of a match, or of each of its variables."""
    if match.bindings:
        return ", ".join(f"{A} {{{', '.join(map(str, positions))}}}" for A, positions in match.bindings)
    return f"{{{', '.join(map(str, match.events))}}}"


def _data(run: Recording) -> Markup:
    """Return the data for the page's script, escaped so that no text can end its element."""
    steps = [
        {"at": step.position} | {"active": sorted(step.active), "fired": sorted(step.fired), "live": sorted(step.live)}
        for step in run.steps
    ]
    text = json.dumps({"arrows": len(run.diagram.edges), "steps": steps}, separators=(",", ":"))
    return markup(text.replace("<", "\\u003c"))


def _count(number: int, word: str, words: str | None = None) -> str:
    return f"{number:,} {word if number == 1 else words or word + 's'}"


def growth_svg(recording: Recording, at: DrawnStep | None = None) -> str:
    """Return the nodes and links that exist at a step as inline SVG; without a step, those of the whole run.

    The colours are those of growth.css, which the page must include. Raises Unsupported if Graphviz is not installed.
    """
    nodes, links = recording.nodes, recording.links
    places, arrows, positions, width, height = _layout(recording)
    if at is not None:
        nodes = tuple(node for node in nodes if node.born <= at.position)
        links = tuple(link for link in links if link.born <= at.position)
    full = (width + 2 * MARGIN, HEADER + height + 2 * MARGIN)
    when = "" if at is None else f" after event {at.position}" if at.position >= 0 else " before the first event"
    title = f"Nodes of {recording.query}{when}"
    name = "g" + blake2b(title.encode(), digest_size=5).hexdigest()
    shown = {node.position for node in nodes}
    parts = [
        f'<svg class="growth" role="img" aria-labelledby="{name}t {name}d" width="{full[0]:g}" '
        f'height="{full[1]:g}" viewBox="0 0 {full[0]:g} {full[1]:g}">',
        f'<title id="{name}t">{escape(title)}</title>',
        f'<desc id="{name}d">{escape(described(recording, at))}</desc>',
        f'<g transform="translate({MARGIN} {HEADER})">',
        *(_column(p, x, height) for p, x in positions.items() if p in shown),
        *(_link(link, arrows[link], recording, at) for link in links),
        *(_node(n, node, places[n], at) for n, node in enumerate(nodes)),
        "</g>",
        "</svg>",
    ]
    return "".join(parts)


def described(recording: Recording, at: DrawnStep | None = None) -> str:
    """Describe the drawn nodes and links in words, for screen readers."""
    nodes = [node for node in recording.nodes if at is None or node.born <= at.position]
    links = [link for link in recording.links if at is None or link.born <= at.position]
    text = []
    for n, node in enumerate(nodes):
        to = "; ".join(f"{link.kind} {recording.nodes[link.target].name}" for link in links if link.source == n)
        text.append(" ".join(filter(None, (node.name, node.label if node.kind == "output" else node.kind, to))))
    return f"{len(nodes)} nodes. {'. '.join(text)}."


def _layout(recording: Recording) -> tuple[list[Point], dict[Link, Arrow], dict[int, float], float, float]:
    """Place a recording's nodes for a drawing.

    Return the middles of the nodes, the arrows of the links, the middle of each position's column, the width and the
    height.
    """
    found = graphviz(_dot(recording))
    _, _, width, height = map(float, found["bb"].split(","))
    at = {node["name"]: placed_point(node["pos"], height) for node in found["objects"] if "pos" in node}
    by_id = {edge["id"]: edge for edge in found.get("edges", ()) if "id" in edge}
    arrows = {link: placed_arrow(by_id[f"e{k}"], height) for k, link in enumerate(recording.links)}
    positions = {int(name[1:]): x for name, (x, _) in at.items() if name.startswith("p")}
    return [at[f"n{n}"] for n in range(len(recording.nodes))], arrows, dict(sorted(positions.items())), width, height


def _dot(recording: Recording) -> str:
    columns: dict[int, list[int]] = {}
    lines = ["rankdir=RL; nodesep=0.22; ranksep=0.45; margin=0;", "edge [arrowsize=0.6];"]
    for n, node in enumerate(recording.nodes):
        wide = max(WIDTH, (max(len(node.label), len(node.name)) + 1) * CHARACTER)
        size = f"fixedsize=true, width={wide / INCH:.3f}, height={HEIGHT / INCH:.3f}"
        lines.append(f'n{n} [shape={"box" if node.kind == "output" else "ellipse"}, {size}, label=""];')
        if node.position is not None:
            columns.setdefault(node.position, []).append(n)
    order = sorted(columns)
    for p in order:
        lines.append(f"p{p} [shape=point, width=0.01];")
        lines.append(f"{{rank=same; p{p}; {' '.join(f'n{n};' for n in columns[p])}}}")
    lines += [f"p{q} -> p{p} [style=invis, weight=20];" for p, q in pairwise(order)]
    for k, link in enumerate(recording.links):
        free = ", constraint=false" if link.kind in ("next", "last") else ""
        lines.append(f"n{link.source} -> n{link.target} [id=e{k}{free}];")
    return "digraph {\n" + "\n".join(lines) + "\n}"


def _column(p: int, x: float, height: float) -> str:
    return (
        f'<g class="column" data-at="{p}"><path class="guide" d="M{x:g} 0V{height:g}"/>'
        f'<text class="position" x="{x:g}" y="-9">{p}</text></g>'
    )


def _state(born: int, at: DrawnStep | None) -> str:
    return " new" if at is not None and born == at.position else ""


def _link(link: Link, arrow: Arrow, recording: Recording, at: DrawnStep | None) -> str:
    idle = "" if at is None or link.source in at.live else " idle"
    text = f"{recording.nodes[link.source].name} → {recording.nodes[link.target].name}: {MEANING[link.kind]}"
    drawn = arrow_svg(f"{link.kind}{_state(link.born, at)}{idle}", arrow, text)
    return drawn.replace("<g ", f'<g data-born="{link.born}" data-source="{link.source}" data-target="{link.target}" ')


def _node(n: int, node: DrawnNode, place: Point, at: DrawnStep | None) -> str:
    x, y = place
    idle = "" if at is None or n in at.live else " idle"
    wide = max(WIDTH, (max(len(node.label), len(node.name)) + 1) * CHARACTER)
    if node.kind == "output":
        shape = (
            f'<rect x="{x - wide / 2:g}" y="{y - HEIGHT / 2:g}" width="{wide:g}" height="{HEIGHT}" rx="6"/>'
            f'<text class="label" x="{x:g}" y="{y - 2:g}">{escape(node.label)}</text>'
            f'<text class="name" x="{x:g}" y="{y + 12:g}">{node.name}</text>'
        )
    else:
        two = node.kind == "union"
        shape = (
            f'<ellipse cx="{x:g}" cy="{y:g}" rx="{wide / 2:g}" ry="{HEIGHT / 2}"/>'
            f'<text class="label" x="{x:g}" y="{y - 2 if two else y + 5:g}">{escape(node.label)}</text>'
        )
        shape += f'<text class="name" x="{x:g}" y="{y + 12:g}">{node.name}</text>' if two else ""
    text = node.name if node.position is None else f"{node.name}, for position {node.position}"
    return (
        f'<g class="node {node.kind}{_state(node.born, at)}{idle}" data-born="{node.born}" data-node="{n}">'
        f"<title>{escape(text)}</title>{shape}</g>"
    )


def key_svg(recording: Recording) -> str:
    """Return the legend of the strokes as inline SVG; "" if there are fewer than two kinds of strokes."""
    kinds = [kind for kind in MEANING if any(link.kind == kind for link in recording.links)]
    if len(kinds) < 2:
        return ""
    size = f'width="420" height="{len(kinds) * LINE + 6}" viewBox="0 0 420 {len(kinds) * LINE + 6}"'
    text = "; ".join(f"{kind}: {MEANING[kind]}" for kind in kinds)
    return f'<svg class="growth key" role="img" aria-label="Strokes: {text}" {size}>{"".join(_samples(kinds))}</svg>'


def _samples(kinds: list[LinkKind]) -> Iterator[str]:
    for i, kind in enumerate(kinds):
        y = i * LINE + 10
        line = ((MARGIN, y), (MARGIN, y), (MARGIN + 34, y), (MARGIN + 34, y))
        yield arrow_svg(kind, Arrow(line, (MARGIN + 42, y), (0, 0)), MEANING[kind])
        yield f'<text class="note" x="{MARGIN + 52}" y="{y + 4}">{MEANING[kind]}</text>'
