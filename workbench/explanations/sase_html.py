"""Explanations of matches of SASE+ as one self-contained HTML page: timelines, and runs step by step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cerify.draw.page import page
from cerify.draw.stream import columns, drawn, match_row
from cerify.draw.timeline import Row, timeline
from cerify.explanations.evidence import braces
from cerify.explanations.explanation import changes
from cerify.explanations.sase import Accepted, Explainer, Failure, Move, NoMatch, bound_text
from cerify.explanations.step import Step
from cerify.semantics.events import Bindings
from cerify.semantics.sase.show import show
from cerify.semantics.values import plain


def render(known: Explainer, found: Sequence[Accepted | NoMatch]) -> str:
    """The page of what some events are to the query; if there is more than one, with all of them on the stream."""
    matches = [one.match for one in found if isinstance(one, Accepted)]
    return page(
        "explanations/sase.html",
        query=show(known.q),
        length=len(known.S),
        overview=Markup(drawn(known.S, list(map(match_row, matches)))) if len(matches) > 1 else "",
        views=[_view(number, one, known) for number, one in enumerate(found, 1)],
        more=len(known.matches) > len(found) > 1,
        bound_text=bound_text,
    )


@dataclass(frozen=True)
class View:
    """What some events are to the query as the page shows it."""

    number: int
    is_match: bool
    sentence: str
    drawing: Markup
    runs: tuple[tuple[Step, ...], ...] = ()
    more: bool = False
    absent: tuple[str, ...] = ()
    result: str = ""
    failures: tuple[tuple[Failure, tuple[Step, ...]], ...] = ()
    nearest: tuple[str, ...] = ()


def _view(number: int, found: Accepted | NoMatch, known: Explainer) -> View:
    S = known.S
    match found:
        case Accepted(match, M, runs, more, absent):
            marks = _marks(M)
            rows = [Row("common", match.events, match.at, bound_text(M))]
            result = "" if match.result is None else json.dumps(plain(match.result.attributes), ensure_ascii=False)
            sentence = f"{braces(match.events)} is a match at {match.at}"
            drawing = Markup(timeline(columns(S, match.events, marks), rows))
            return View(number, True, sentence, drawing, tuple(map(_steps, runs)), more, absent, result)
        case NoMatch(events, failures, nearest):
            asked = [Row("extra", sorted(events), None, f"asked: {braces(events)}")]
            near = [Row("missing", C, max(C), f"a match: {braces(C)}") for C in nearest]
            said = tuple(f"{braces(C)}, {changes(frozenset(C), events)}" for C in nearest)
            drawing = Markup(drawn(S, [*asked, *near]))
            sentence = f"{braces(events)} is not a match"
            return View(
                number,
                False,
                sentence,
                drawing,
                failures=tuple((one, _steps(one.steps)) for one in failures),
                nearest=said,
            )


def _steps(run: Iterable[Move]) -> tuple[Step, ...]:
    return tuple(move.step for move in run)


def _marks(M: Bindings) -> dict[int, str]:
    """What each event is bound to: a, b[2]."""
    return {p: a if len(at) == 1 else f"{a}[{i}]" for a, at in M for i, p in enumerate(at, 1)}
