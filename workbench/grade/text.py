"""An exercise, and what is said of an answer to it, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cerify.explanations.evidence import SHOWN, braces, row
from cerify.grade.exercises import LEVELS, Exercise
from cerify.grade.grading import Evidence, Grade, Misfit, Right, Wrong
from cerify.languages import LANGUAGES
from cerify.semantics.errors import underline
from cerify.semantics.events import Stream
from cerify.semantics.json_events import json_of_event
from cerify.terminal import picked

LISTED = 20  # events of a stream


def statement(exercise: Exercise) -> list[str]:
    """The exercise: its sentence, and the events that there are."""
    types = (f"{name}({', '.join(attributes)})" if attributes else name for name, attributes in _schema(exercise))
    heading = f"{exercise.id}, {LANGUAGES[exercise.language].title}, {LEVELS[exercise.level]}"
    return [heading, exercise.sentence, f"events: {', '.join(types)}"]


def solution(exercise: Exercise) -> list[str]:
    """The model answer, and other ways to write it. Raises InputError if the exercise has none."""
    first, *others = exercise.right()
    return [first, *(f"or: {other}" for other in others)]


def feedback(exercise: Exercise, grade: Grade, answer: str) -> list[str]:
    """What is said of the answer: that it is right, and how that is known, or where it differs and what to look at."""
    match grade:
        case Right(evidence, length):
            tried = " as far as it was tried" if evidence == "tried" else ""
            return [f"right{tried}: {_how_known(evidence, length)}"]
        case Misfit(message, span):
            return [f"wrong: {message}", *(underline(answer, span).split("\n") if span is not None else ())]
        case Wrong(S, at, wanted, yours, shortest, evidence, mistake, warnings):
            difference = _taking_place if LANGUAGES[exercise.language].takes_place else _reporting
            return [
                _where(S, shortest, evidence),
                *_events(S),
                *difference(S, at, wanted, yours),
                *(f"warning: {warning}" for warning in warnings),
                *(f"hint: {hint}" for hint in (mistake.hint, exercise.hint_about(mistake)) if hint),
            ]


def json_of(exercise: Exercise, grade: Grade) -> dict[str, Any]:
    """The grade as JSON."""
    answer: dict[str, Any] = {"id": exercise.id, "language": exercise.language, "grade": "right"}
    match grade:
        case Right(evidence, length):
            return answer | {"evidence": evidence, "length": length}
        case Misfit(message, span):
            problem = {"message": message, "span": span and [span.start, span.end]}
            return answer | {"grade": "wrong", "problem": problem, "hint": exercise.hint}
        case Wrong(S, at, wanted, yours, shortest, evidence, mistake, warnings):
            difference = {
                "events": [json_of_event(event) for event in S],
                "at": at,
                "wanted": [list(places) for places in wanted],
                "yours": [list(places) for places in yours],
                "shortest": shortest,
            }
            hints = {"mistake": picked(mistake, "kind", "hint"), "hint": exercise.hint_about(mistake)}
            found = hints | {"warnings": list(warnings)}
            return answer | {"grade": "wrong", "evidence": evidence, "difference": difference} | found


def _schema(exercise: Exercise) -> Iterator[tuple[str, list[str]]]:
    for name, attributes in exercise.schema.types.items():
        yield name, [f"{attribute} {value_type}" for attribute, value_type in attributes.items()]


def _how_known(evidence: Evidence, length: int | None) -> str:
    match evidence:
        case "decided":
            return "it says what the sentence says, on every stream"
        case "bounded":
            return f"no difference on all streams of up to {length} events; longer ones were not looked at"
        case "tried":
            return (
                f"no difference on the streams of up to {length} events over a few values; whether two such queries "
                "mean the same is not decided"
            )


def _where(S: Stream, shortest: bool, evidence: Evidence) -> str:
    events = "1 event" if len(S) == 1 else f"{len(S)} events"
    tried = " that was tried" if evidence == "tried" else ""
    return f"wrong: it differs on this stream of {events}{f', and on no shorter one{tried}' if shortest else ''}"


def _events(S: Stream) -> list[str]:
    """A line for each event; of a long stream the first ones and the last ones."""
    lines = [f"  {position}  {row(event)}" for position, event in enumerate(S)]
    return lines if len(lines) <= LISTED else [*lines[: LISTED // 2], "  …", *lines[-LISTED // 2 :]]


Matches = Sequence[tuple[int, ...]]


def _reporting(S: Stream, at: int, wanted: Matches, yours: Matches) -> Iterator[str]:
    yield f"after event {at} the sentence wants {_listed(wanted)}; yours reports {_listed(yours)}"
    if missing := [places for places in wanted if places not in yours]:
        yield f"yours misses {_in_words(S, missing[0])}"
    if extra := [places for places in yours if places not in wanted]:
        yield f"yours reports {_in_words(S, extra[0])}, which the sentence does not want"


def _taking_place(S: Stream, at: int, wanted: Matches, yours: Matches) -> Iterator[str]:
    event = f"event {at} ({S[at].type})"
    if wanted:
        yield f"the sentence wants {event}; yours does not take place there"
    else:
        yield f"yours takes place at {event}, which the sentence does not want"


def _listed(matches: Matches) -> str:
    more = f" and {len(matches) - SHOWN} more" if len(matches) > SHOWN else ""
    return (", ".join(map(braces, matches[:SHOWN])) + more) or "nothing"


def _in_words(S: Stream, places: tuple[int, ...]) -> str:
    if not places:
        return "a match of no event"
    named = ", ".join(f"{p} ({S[p].type})" for p in places)
    return f"the match of event{'s' * (len(places) > 1)} {named}"
