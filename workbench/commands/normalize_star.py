"""The form `star` of cerify normalize: the query in CEL*, or the two streams that show that it cannot be written so."""

from __future__ import annotations

import json
from typing import Any

from cerify.equivalence.decide.star import InStar, NotInStar, star_form
from cerify.equivalence.rewrite.simplify import simplify
from cerify.equivalence.verdict import Undecided
from cerify.explanations.evidence import braces, row
from cerify.semantics.budget import depth_limited
from cerify.semantics.cel.fragment import beyond_star
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula, size
from cerify.semantics.errors import errors_in
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.json_events import json_of_event
from cerify.terminal import echo

NONE, UNDECIDED = 1, 3


def star(query: str, as_json: bool) -> int:
    """Print the form, or why there is none, and return the exit status."""
    phi = parse(query)
    with errors_in(query), depth_limited(phi.span):
        found = star_form(phi)
        psi = _smaller(found.phi) if isinstance(found, InStar) else None
    if as_json:
        sizes = None if psi is None else {"before": size(phi), "after": size(psi)}
        answer = {"language": "cel", "query": query, "to": "star", "result": psi and show(psi), "size": sizes}
        echo(json.dumps(answer | _json(found), ensure_ascii=False))
    elif psi is not None:
        echo(f"{show(psi)}\nsize {size(phi)} -> {size(psi)}")
    else:
        echo("\n".join(_text(found)))
    return 0 if psi is not None else UNDECIDED if isinstance(found, Undecided) else NONE


def _smaller(phi: Formula) -> Formula:
    """The formula simplified, if that is one of CEL* too."""
    psi = simplify(phi).phi
    return phi if beyond_star(psi) else psi


def _text(found: InStar | NotInStar | Undecided) -> list[str]:
    match found:
        case NotInStar((S, C), unmatched):
            lines = ["not in CEL*: whether events are a match depends on others", *_marked(S, C, "a match")]
            if unmatched is None:
                return [*lines, "it is reported after an event that it does not have"]
            return [*lines, *_marked(*unmatched, "the same events, and no match")]
        case Undecided(reason):
            return [f"undecided: {reason}"]
        case InStar():
            return []


def _marked(S: Stream, C: ComplexEvent, said: str) -> list[str]:
    return [
        *(f"  {p}  {row(event)}" for p, event in enumerate(S)),
        f"after event {len(S) - 1} {braces(sorted(C))}: {said}",
    ]


def _json(found: InStar | NotInStar | Undecided) -> dict[str, Any]:
    match found:
        case NotInStar(matched, unmatched):
            return {"matched": _side(*matched), "unmatched": None if unmatched is None else _side(*unmatched)}
        case Undecided(reason):
            return {"undecided": reason}
        case InStar():
            return {}


def _side(S: Stream, C: ComplexEvent) -> dict[str, Any]:
    return {"events": [json_of_event(event) for event in S], "match": sorted(C)}
