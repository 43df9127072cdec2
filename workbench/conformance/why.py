"""Why the semantics differs from an engine: an explanation of a missing match, or of why an extra one is none."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from cerify.conformance.model import Result
from cerify.conformance.oracle import stream_of
from cerify.explanations.explainer import Request
from cerify.explanations.text import explanation_lines
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match

LINES = 24  # of an explanation; the rest is left out


def why_of(result: Result, held: Mapping[str, str] = {}) -> str:
    """The explanation of the first difference as text; "" where there is none, or no explanation.

    held: the choices of a policy or a reading that bear on the case. The semantics does not explain what is expected by
    these, and a note says so.
    """
    if result.outcome not in ("failed", "error", "crashed", "timeout", "memory", "protocol"):
        return ""
    expected, got = set(result.case.matches), set(result.matches or ())
    different = sorted(expected - got) or sorted(got - expected)
    inside = [m for m in different if m.events and max((m.at, *m.events)) < len(result.case.events)]
    if not inside:
        return ""
    if held:
        says = ", ".join(f"{axis}={value}" for axis, value in held.items())
        return f"the engine is held to {says}: that is not the definition's meaning"
    with suppress(CerifyError):
        return explained(result, inside[0])
    return ""


def explained(result: Result, match: Match) -> str:
    """Why a match is one, or why it is none. Raises Unsupported, BudgetExceeded."""
    case = result.case
    language = LANGUAGES[case.language]
    explainer = language.explainer(language.parse(case.query), stream_of(case), case.query)
    found = explainer.one(Request(events=frozenset(match.events), at=match.at))
    if found is None:
        return ""
    text = "\n".join(line.text.rstrip() for line in explanation_lines(explainer, found))
    lines = text.strip().splitlines()
    return "\n".join(lines[:LINES] + (["..."] if len(lines) > LINES else []))
