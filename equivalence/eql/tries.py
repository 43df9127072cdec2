"""Make logs on which EQL queries may differ: random logs, and logs that follow the steps with times near windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from random import Random

from cerify.equivalence.eql.letters import EventLetter, PartialKey
from cerify.equivalence.eql.slots import key_fields
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
ADDRESS = "192.0.2.1"
"""A value of a key field with the name `ip`, which an index stores as an address."""
BEGIN = microseconds(datetime(2026, 1, 1, tzinfo=UTC))
SECOND = 1_000_000
TRIED_LOGS = 400


def tried_logs(
    queries: Sequence[eql.EqlQuery],
    number: Mapping[eql.EventFilter, int],
    letters: Sequence[EventLetter],
    key: PartialKey,
) -> Iterator[list[Event]]:
    """Yield logs on which the queries may differ.

    number: the number of each filter among the letters. key: the values of the key fields.
    """
    if not letters:
        return
    rng = Random(0)
    gaps = _gaps_around(queries)
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


def keyed_logs(
    query: eql.EqlQuery,
    queries: Sequence[eql.EqlQuery],
    number: Mapping[eql.EventFilter, int],
    values: Sequence[Value],
    letters_with: Callable[[dict[str, Value]], list[EventLetter]],
    twin: Callable[[str, Value], Value],
) -> Iterator[list[Event]]:
    """Yield logs on which a sequence or sample fires, with these values of its keys, place by place.

    letters_with: returns the letters of events with some fixed fields. twin: returns another value for which every test
    of a field has the same result, if there is one. In the logs, the fields of other keys are absent, equal in all
    events, or different in some. Times are around the windows of the queries.
    """
    body = query.body
    if isinstance(body, eql.EventFilter):
        return
    until = number[body.until.filter] if isinstance(body, eql.EventSequence) and body.until is not None else None
    steps = body.steps if isinstance(body, eql.EventSample) else eql.step_expanded(body)
    path: list[tuple[EventLetter, dict[str, Value]]] = []
    for step in steps:
        if step.missing:
            continue
        fixed: dict[str, Value] = {}
        for field, value in zip(eql.step_keys(body, step), values, strict=True):
            if fixed.setdefault(field.name, value) != value:
                return
        passing = [one for one in letters_with(fixed) if number[step.filter] in one.passes and until not in one.passes]
        if not passing:
            return
        added = min(passing, key=lambda one: len(one.passes)), fixed
        path.append(path[-1] if path and path[-1] == added else added)
    others = {field.name for one in queries for field in key_fields(one)} - {f.name for f in key_fields(query)}

    def log_of(numbers: Sequence[int], rows: Sequence[int], gaps: Sequence[int]) -> list[Event]:
        """Return a log with the events of these steps. rows: the index of each step. numbers: for each event a number
        that selects values for the fields of other keys; 0 if there are none.
        """
        events = []
        for row, number_, time in zip(rows, numbers, accumulate(gaps), strict=True):
            letter, fixed = path[row]
            here: dict[str, Value | None] = {**fixed, TIME: time_at(BEGIN + time)}
            tested = {name: values[0] for name, values in letter.fields if values}
            for name in others - fixed.keys() if number_ else ():
                here[name] = tested.get(name, f"k{number_}")
                if name in tested and number_ % 2 == 0:
                    here[name] = twin(name, tested[name])
            events.append(letter.event(here))
        return events

    rows = list(range(len(path)))
    same = [1] * len(path)
    choices = [[0] * len(path), same, [n + 1 for n in rows]][: 3 if others else 1]
    for numbers in choices:
        yield log_of(numbers, rows, [0] * len(path))
    begins = [n for n in rows if n == 0 or path[n] is not path[n - 1]]  # a step with `runs` counts once
    for extra in begins if others else ():
        for n in (*begins, len(path)):
            more = [*rows[:n], extra, *rows[n:]]
            yield log_of([*same[:n], 2, *same[n:]], more, [0] * len(more))
    for gap in _gaps_around(queries):
        for place in {*begins, len(path) - 1} - {0} if gap else ():
            for numbers in choices:
                yield log_of(numbers, rows, [gap if n == place else 0 for n in rows])


def _gaps_around(queries: Sequence[eql.EqlQuery]) -> list[int]:
    windows = [
        query.body.maxspan.microseconds
        for query in queries
        if isinstance(query.body, eql.EventSequence) and query.body.maxspan is not None
    ]
    return sorted({0, SECOND, *windows, *(w + 1000 for w in windows), *(max(w - 1000, 0) for w in windows)})


def _keys_like(value: Value | None) -> tuple[Value | None, ...]:
    """Return values of a key from which to choose at random: one value twice, another value, and None."""
    one, other = KEYS["string" if value is None else value_type_of(value)]
    return (one, one, other, None)


def _along(
    query: eql.EqlQuery, number: Mapping[eql.EventFilter, int], letters: Sequence[EventLetter]
) -> list[EventLetter]:
    """Return a letter for each step of the query that is not missing; [] if some step has no letter."""
    match query.body:
        case eql.EventFilter():
            filters = [query.body]
        case eql.EventSequence():
            filters = [step.filter for step in eql.step_expanded(query.body) if not step.missing]
        case eql.EventSample():
            filters = [step.filter for step in query.body.steps]
    path = [next((one for one in letters if number[f] in one.passes), None) for f in filters]
    return [one for one in path if one is not None] if None not in path else []


def _timed(path: Sequence[EventLetter], gaps: Sequence[int], key: PartialKey) -> list[Event]:
    time, events = 0, []
    for letter, gap in zip(path, [*gaps, *[0] * len(path)], strict=False):
        time += gap
        events.append(letter.event({**key, TIME: time_at(BEGIN + time)}))
    return events
