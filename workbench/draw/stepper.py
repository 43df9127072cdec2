"""A recording as one self-contained HTML page that steps forward and back through the stream.

The page contains every step as text and each drawing once; its script only selects what is visible. It loads no other
file and uses no network, and its policy allows no script but its own.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256

from markupsafe import Markup

from cerify.draw.growth import growth_svg, key_svg
from cerify.draw.page import ROOT, css, page
from cerify.draw.recording import Recording, StateRow, Step
from cerify.draw.stream import every_column
from cerify.draw.svg import svg
from cerify.draw.timeline import timeline
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match
from cerify.semantics.predicate_text import show_value

STYLES = ("draw/growth.css", "draw/stepper.css")


def stepper(run: Recording) -> str:
    """The page of a recording. Raises Unsupported where Graphviz is not installed."""
    script = (ROOT / "draw/stepper.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    undrawn = automaton = ""
    try:
        automaton = Markup(svg(run.diagram))
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
        stream=Markup(timeline(every_column(run.S))),
        graph=Markup(growth_svg(run)) if run.nodes else "",
        key=Markup(key_svg(run)),
        nodes_text=lambda row: nodes_text(run, row),
        match_text=match_text,
        digest=f"sha256-{digest}",
        styles=Markup(css(STYLES)),
        script=Markup(script),
        data=_data(run),
    )


def summary(run: Recording) -> str:
    """What a run came to, in a sentence."""
    number = sum(len(step.found) for step in run.steps)
    more = "at least " if any(step.more for step in run.steps) else ""
    made = f", {_count(len(run.nodes), 'node')}" if run.nodes else ""
    return f"{_count(len(run.S), 'event')}{made}, {more}{_count(number, 'match', 'matches')}"


def sentence(run: Recording, step: Step) -> str:
    """A step in labels."""
    if step.position < 0:
        return "Before the first event."
    if step.position == len(run.S):
        return _summary(run, step, "The end of the stream.")
    event = run.S[step.position]
    values = ", ".join(f"{name} {show_value(value)}" for name, value in event.attributes.items())
    return _summary(run, step, f"Event {step.position}: {event.type}{f' ({values})' if values else ''}.")


def _summary(run: Recording, step: Step, what: str) -> str:
    active = ", ".join(run.diagram.states[q].name for q in sorted(step.active))
    text = [what, f"Active: {active}." if active else "No state is active."]
    if run.nodes:
        text.append(f"{_count(len(run.made(step)), 'new node')}, {len(step.live)} within reach.")
    if step.found:
        more = "more than " if step.more else ""
        text.append(f"{more}{_count(len(step.found), 'match', 'matches')}.".capitalize())
    return " ".join(text)


def nodes_text(run: Recording, row: StateRow) -> str:
    """The nodes of a row of the table by name, in their order."""
    return ", ".join(run.nodes[n].name for n in row.nodes)


def match_text(match: Match) -> str:
    """The events of a match, or those of each variable."""
    if match.bindings:
        return ", ".join(f"{A} {{{', '.join(map(str, positions))}}}" for A, positions in match.bindings)
    return f"{{{', '.join(map(str, match.events))}}}"


def _data(run: Recording) -> Markup:
    """What the script reads; no text of it can end the element that it stands in."""
    steps = [
        {"active": sorted(step.active), "fired": sorted(step.fired), "live": sorted(step.live)} for step in run.steps
    ]
    text = json.dumps({"arrows": len(run.diagram.edges), "steps": steps}, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


def _count(number: int, word: str, words: str | None = None) -> str:
    return f"{number:,} {word if number == 1 else words or word + 's'}"
