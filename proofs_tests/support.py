"""Short ways to write streams, their answers, and the parameters of tests."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from cerify.automata.evaluator import Evaluator, seal
from cerify.equivalence.verdict import Level
from cerify.semantics.arguments import choices
from cerify.semantics.cel import interpreter
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Event, Stream
from cerify.semantics.values import Value

# The stream of tods21, Figure 1.
FIGURE_1 = Stream(
    Event(type_, {"id": id_, ("tmp" if type_ == "T" else "hum"): value})
    for type_, id_, value in zip(
        "HTHHTTTHH", [2, 0, 0, 1, 1, 0, 1, 1, 0], [25, 45, 20, 25, 40, 42, 25, 70, 18], strict=True
    )
)

FIRE = "FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0"
RISE = "FILTER H1.hum < 30 AND H2.hum > 60"
SENSOR_1 = f"{RISE} AND H.id = 1 AND T.id = 1"

# The formulas of tods21, section 3, and what the text says they output on Figure 1: position -> complex events.
EXAMPLES: dict[str, tuple[str, dict[int, set[tuple[int, ...]]]]] = {
    "phi1": (f"(T ; H) {FIRE}", {2: {(1, 2)}, 8: {(1, 8), (5, 8)}}),
    "phi1'": (f"(T : H) {FIRE}", {2: {(1, 2)}}),
    "phi2": (f"((T ; H) OR (H ; T)) {FIRE}", {2: {(1, 2)}, 5: {(2, 5)}, 8: {(1, 8), (5, 8)}}),
    "phi2'": (f"(T ALL H) {FIRE}", {2: {(1, 2)}, 5: {(2, 5)}, 8: {(1, 8), (5, 8)}}),
    "phi3": (f"(H IN H1 ; T+ ; H IN H2) {SENSOR_1}", {7: {(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)}}),
    "phi3'": (f"(H IN H1 ; T:+ ; H IN H2) {SENSOR_1}", {7: {(3, 4, 7), (3, 6, 7)}}),
    "phi4": (f"PROJECT[T]((H IN H1 ; T+ ; H IN H2) {SENSOR_1})", {7: {(4, 6), (4,), (6,)}}),
    "phi5": (f"(H IN H1 ; T+ ; H IN H2) {RISE} AND H.id = T.id", {7: {(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)}}),
}

T = TypeVar("T")


def sampled(values: Iterable[T], sample: Collection[T]) -> list[object]:
    """The values as parameters of a test; those not in the sample are run by `pytest -m thorough` only."""
    return [pytest.param(value, marks=() if value in sample else pytest.mark.thorough) for value in values]


def stream(types: str, **columns: list[Value]) -> Stream:
    """A stream of these event types, as in "A B A", with an attribute for each column."""
    return Stream(
        Event(type_, {name: values[i] for name, values in columns.items()}) for i, type_ in enumerate(types.split())
    )


def complex_events(query: str, S: Stream | str, at: int) -> set[tuple[int, ...]]:
    """The complex events of a query at a position, by the denotational semantics."""
    S = stream(S) if isinstance(S, str) else S
    return {tuple(sorted(C)) for C in interpreter.complex_events(parse(query), S, at)}


def sealed(evaluator: Evaluator, data: bytes) -> bytes:
    """A saved state of the evaluator with other data and the right checksum, which anybody can compute."""
    return seal(evaluator.STATE, evaluator.identity, data)


def by_position(query: str, S: Stream | str) -> dict[int, set[tuple[int, ...]]]:
    """The complex events of a query at each position that has some."""
    S = stream(S) if isinstance(S, str) else S
    found = {n: complex_events(query, S, n) for n in range(len(S))}
    return {n: events for n, events in found.items() if events}


def compared_by(valuations: Iterable[Any], level: Level) -> set[Any]:
    """What two formulas are compared by at a position of which these are the valuations."""
    if level == "positions":
        return {True for _ in valuations}
    return set(valuations) if level == "valuations" else set(map(sup, valuations))


def vary_reading(decided: Any) -> dict[tuple[str, str], Any]:
    """Return each reading that differs from `decided` in a single answer, keyed by the question and that answer."""
    return {
        (name, answer): replace(decided, **{name: answer})
        for name, answers in choices(type(decided)).items()
        for answer in answers
        if answer != getattr(decided, name)
    }
