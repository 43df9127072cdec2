"""The outcome of a case in words, for every form of the report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import assert_never

from cerify.conformance.model import Report, Result
from cerify.equivalence.differential import judge
from cerify.semantics.events import Match

FUZZED_OUTCOMES: Mapping[judge.Outcome, str] = {
    "matched": "agree on some match",
    "empty": "agree that there is none",
    "unsupported": "not carried by the engine",
    "budget": "over a budget",
    "disagreed": "disagree",
    "disputed": "cerify contradicts itself",
}
"""The outcomes of random cases in words."""

CONTRADICTION = "cerify contradicts itself: a fault of cerify, not of what is tested; please report it"


def sentence(result: Result) -> str:
    """One sentence that says what the engine did with a case."""
    match result.outcome:
        case "passed":
            return "the matches are the expected ones"
        case "failed":
            parts = (difference(set(result.case.matches), set(result.matches or ())), result.detail)
            return "; ".join(part for part in parts if part)
        case "skipped":
            return f"skipped: {result.detail}"
        case "error":
            return f"answered with an error: {result.detail}"
        case "crashed" | "timeout" | "memory" | "protocol" | "not_run" | "disputed":
            return result.detail
        case _:
            assert_never(result.outcome)


def second_sentence(result: Result) -> str:
    """One sentence about the second opinion on a wrong answer; "" if none was taken."""
    if result.second is None or result.outcome == "disputed":
        return ""
    return "again by the plain definition, which expects the same"


def plural(number: int, noun: str) -> str:
    """A number with its noun, as in "1 defect" or "1,200 cases"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def count_of(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def unasked_sentence(report: Report) -> str:
    """One sentence about the cases in languages that the engine does not speak; empty if there are none."""
    if not report.unasked:
        return ""
    counts = " and ".join(f"{count:,} in {language}" for language, count in report.unasked.items())
    return f"Not asked, since the engine does not speak the language: {counts}."


def difference(expected: set[Match], got: set[Match]) -> str:
    """The missing matches and those that are not expected, in words."""
    missing, extra = sorted(expected - got), sorted(got - expected)
    places: dict[object, set[int]] = {}
    for m in extra:
        places.setdefault((m.events, m.bindings), set()).add(m.at)
    reported = [(m.at, places.get((m.events, m.bindings), set())) for m in missing]
    parts = []
    if missing:
        parts.append(f"missing {shown(missing)}")
    if extra:
        parts.append(f"not expected {shown(extra)}")
    if any(others - {at} for at, others in reported):
        parts.append("the same events are reported at another position")
    if any(at in others for at, others in reported):
        parts.append("the same match has another result")
    return "; ".join(parts)


def shown(matches: Collection[Match], most: int = 6) -> str:
    """Some matches as text: events, position, bindings and result of each."""
    texts = [shown_match(match) for match in list(matches)[:most]]
    rest = len(matches) - most
    return ", ".join(texts) + (f" and {rest} more" if rest > 0 else "")


def shown_match(match: Match) -> str:
    """A match as text, such as {0, 2} at 2, with its bindings and its result if it has them."""
    text = f"{{{', '.join(map(str, match.events))}}} at {match.at}"
    if match.bindings is not None:
        bound = ", ".join(f"{A}: {', '.join(map(str, positions))}" for A, positions in match.bindings)
        text = f"{text} ({bound})"
    return text if match.result is None else f"{text} returns {match.result.text}"
