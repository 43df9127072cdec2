"""Logs on which two queries of EQL may differ: they follow the steps, at times around the windows, or are random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from random import Random

from cerify.equivalence.eql.letters import EventLetter
from cerify.semantics.eql import syntax as eql
from cerify.semantics.events import TIME, Event
from cerify.semantics.values import Value, ValueType, microseconds, time_at, value_type_of

KEYS: Mapping[ValueType, tuple[Value, Value]] = {
    "string": ("k1", "k2"),
    "int": (1, 2),
    "float": (1.0, 2.0),
    "bool": (True, False),
    "timestamp": (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
}
"""Two values of a key, by its type."""
BEGIN = microseconds(datetime(2026, 1, 1, tzinfo=UTC))
SECOND = 1_000_000
TRIED_LOGS = 400


def tried_logs(
    queries: Sequence[eql.EqlQuery],
    number: Mapping[eql.EventFilter, int],
    letters: Sequence[EventLetter],
    key: Mapping[str, Value],
) -> Iterator[list[Event]]:
    """Yield logs to try: number has the number of each filter among the letters, key the values of the keys' fields."""
    if not letters:
        return
    rng = Random(0)
    windows = [
        query.body.maxspan.microseconds
        for query in queries
        if isinstance(query.body, eql.EventSequence) and query.body.maxspan is not None
    ]
    gaps = sorted({0, SECOND, *windows, *(w + 1000 for w in windows), *(max(w - 1000, 0) for w in windows)})
    paths = [path for query in queries if (path := _along(query, number, letters))]
    for path in paths:
        for i in range(len(path)):
            for gap in gaps:
                yield _timed(path, [0] * i + [gap], key)
    for n in range(TRIED_LOGS):
        if paths and n % 2:
            path = list(rng.choice(paths))
            path.insert(rng.randint(0, len(path)), rng.choice(letters))
        else:
            path = [rng.choice(letters) for _ in range(rng.randint(1, 6))]
        keys = [{f: v for f in sorted(key) if (v := rng.choice(_keys_like(key[f]))) is not None} for _ in path]
        times = [rng.choice(gaps) for _ in path]
        if n % 4 < 2:
            yield _timed(path, times, key)
        else:
            made = _timed(path, times, {})
            yield [Event(e.type, {**e.attributes, **k}) for e, k in zip(made, keys, strict=True)]


def _keys_like(value: Value) -> tuple[Value | None, ...]:
    """Values of a key to choose from: one of them more often, and none."""
    one, other = KEYS[value_type_of(value)]
    return (one, one, other, None)


def _along(
    query: eql.EqlQuery, number: Mapping[eql.EventFilter, int], letters: Sequence[EventLetter]
) -> list[EventLetter]:
    """A letter for each step of the query that is not missing; [] if no event is at one of them."""
    match query.body:
        case eql.EventFilter():
            filters = [query.body]
        case eql.EventSequence():
            filters = [step.filter for step in eql.step_expanded(query.body) if not step.missing]
        case eql.EventSample():
            filters = [step.filter for step in query.body.steps]
    path = [next((one for one in letters if number[f] in one.passes), None) for f in filters]
    return [one for one in path if one is not None] if None not in path else []


def _timed(path: Sequence[EventLetter], gaps: Sequence[int], key: Mapping[str, Value]) -> list[Event]:
    time, events = 0, []
    for letter, gap in zip(path, [*gaps, *[0] * len(path)], strict=False):
        time += gap
        events.append(letter.event({**key, TIME: time_at(BEGIN + time)}))
    return events
