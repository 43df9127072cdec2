"""Random EQL queries and logs, with few categories, values and keys, so that conditions and steps overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from cerify.equivalence.generate.generator import Generator
from cerify.semantics.eql import syntax as eql
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.values import Value

CATEGORIES = ("process", "file", "network")
NAMES = ("cmd.exe", "CMD.EXE", "cmd", "a.exe", "")
FIELDS = ("name", "user.name", "process.args")
NUMBERS = ("size",)
KEYS = ("host.id", "user.id")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class EqlProfile:
    """The parameters of random queries.

    steps: the largest number of steps. conditions: whether filters test more than the category.
    """

    steps: int = 4
    keys: bool = True
    conditions: bool = True
    missing: bool = True
    samples: bool = True
    pipes: bool = True
    runs: bool = True


PROFILES = {
    "rules": EqlProfile(),
    "sequences": EqlProfile(missing=False, samples=False, pipes=False),
    "plain": EqlProfile(keys=False, conditions=False, missing=False, samples=False, pipes=False),
}


def random_condition(rng: Random, depth: int = 2) -> eql.Condition:
    """Return a random condition over a few fields."""
    kind = rng.random()
    if depth and kind < 0.35:
        parts = tuple(random_condition(rng, depth - 1) for _ in range(rng.randint(2, 3)))
        return eql.AllConditions(parts) if rng.random() < 0.5 else eql.AnyConditions(parts)
    if depth and kind < 0.5:
        return eql.NegatedCondition(random_condition(rng, depth - 1))
    field = eql.EventField(rng.choice(FIELDS), rng.random() < 0.2)
    number, text = eql.EventField(rng.choice(NUMBERS)), rng.choice(NAMES)
    match rng.randrange(9):
        case 0:
            return eql.FieldComparison(rng.choice(("==", "!=")), field, eql.FieldConstant(text))
        case 1:
            return eql.FieldComparison(rng.choice(("==", "!=")), field, eql.FieldConstant(None))
        case 2:
            comparator: Any = rng.choice(("==", "!=", "<", "<=", ">", ">="))
            return eql.FieldComparison(comparator, number, eql.FieldConstant(rng.randint(0, 3)))
        case 3:
            patterns = tuple(rng.choice((*NAMES, "cmd*", "*.exe", "?md*", "*")) for _ in range(rng.randint(1, 2)))
            return eql.ValueLookup(rng.choice((":", "like", "like~")), field, patterns)
        case 4:
            return eql.ValueLookup(rng.choice(("in", "in~")), field, tuple(rng.sample(NAMES, rng.randint(1, 3))))
        case 5:
            return eql.ValueLookup(rng.choice(("regex", "regex~")), field, (rng.choice(("cmd.*", "[a-c]+", ".*e")),))
        case 6:
            name = rng.choice(("startsWith", "endsWith", "stringContains"))
            return eql.FunctionCall(name, rng.random() < 0.5, (field, eql.FieldConstant(text)))
        case 7:
            length = eql.FunctionCall("length", False, (field,))
            return eql.FieldComparison(rng.choice(("==", ">", "!=")), length, eql.FieldConstant(rng.randint(0, 7)))
        case _:
            doubled = eql.FieldArithmetic(rng.choice("+-*"), number, eql.FieldConstant(2))
            return eql.FieldComparison(rng.choice((">", "==")), doubled, eql.FieldConstant(rng.randint(0, 4)))


def random_filter(rng: Random, profile: EqlProfile) -> eql.EventFilter:
    """Return a random event filter."""
    category = rng.choice((*CATEGORIES, *CATEGORIES, None))
    plain = not profile.conditions or rng.random() < 0.4
    return eql.EventFilter(category, eql.FieldConstant(True) if plain else random_condition(rng))


def random_query(rng: Random, profile: EqlProfile, nodes: int) -> eql.EqlQuery:
    """Return a random well-formed query of a profile; `nodes` bounds the number of steps."""
    kind = rng.random()
    pipes = tuple(_pipes(rng)) if profile.pipes and rng.random() < 0.2 else ()
    if kind < 0.1:
        return eql.EqlQuery(random_filter(rng, profile), pipes)
    shared, own = _random_keys(rng, profile)
    most = max(2, min(profile.steps, nodes))
    if profile.samples and kind < 0.2:
        keys = shared or (eql.EventField(KEYS[0]),)
        steps = tuple(eql.SequenceStep(random_filter(rng, profile)) for _ in range(rng.randint(1, 3)))
        return eql.EqlQuery(eql.EventSample(keys, steps), pipes)
    window = eql.MaximalSpan(rng.choice((0, 1, 2, 5)), "s") if rng.random() < 0.5 else None
    made = [_random_step(rng, profile, own) for _ in range(rng.randint(2, most))]
    if profile.missing and rng.random() < 0.3:
        window = window or eql.MaximalSpan(rng.choice((500, 1500, 3000)), "ms")
        for _ in range(rng.randint(1, 2)):
            missing = eql.SequenceStep(random_filter(rng, profile), _step_keys(rng, own), 1, True)
            made.insert(rng.randint(0, len(made)), missing)
    until = _random_step(rng, profile, own) if rng.random() < 0.3 else None
    if until is not None:
        until = eql.SequenceStep(until.filter, until.keys)
    return eql.EqlQuery(eql.EventSequence(shared, window, tuple(made), until), pipes)


def _pipes(rng: Random) -> Iterator[eql.MatchPipe]:
    for _ in range(rng.randint(1, 2)):
        yield eql.MatchPipe("head" if rng.random() < 0.5 else "tail", rng.randint(1, 3))


def _random_keys(rng: Random, profile: EqlProfile) -> tuple[tuple[eql.EventField, ...], int]:
    """Return the keys of the query, and the number of keys of each step."""
    if not profile.keys:
        return (), 0
    shared = tuple(eql.EventField(name, rng.random() < 0.2) for name in KEYS[: rng.choice((0, 1, 1, 2))])
    return shared, rng.choice((0, 0, 1))


def _step_keys(rng: Random, own: int) -> tuple[eql.EventField, ...]:
    return tuple(eql.EventField(rng.choice(KEYS), rng.random() < 0.2) for _ in range(own))


def _random_step(rng: Random, profile: EqlProfile, own: int) -> eql.SequenceStep:
    runs = rng.randint(2, 3) if profile.runs and rng.random() < 0.15 else 1
    return eql.SequenceStep(random_filter(rng, profile), _step_keys(rng, own), runs)


def random_event(rng: Random, seconds: float) -> Event:
    """Return a random event, the given number of seconds after BEGIN.

    Fields may be absent; process.args and keys may be arrays.
    """
    attributes: dict[str, Value] = {TIME: BEGIN + timedelta(seconds=seconds)}
    for name in FIELDS:
        if rng.random() < 0.7:
            attributes[name] = rng.choice(NAMES)
            if name == "process.args" and rng.random() < 0.4:
                attributes[f"{name}[1]"] = rng.choice(NAMES)
    for name in NUMBERS:
        if rng.random() < 0.7:
            attributes[name] = rng.randint(0, 3)
    for name in KEYS:
        if rng.random() < 0.85:
            attributes[name] = rng.choice(("h1", "h2"))
            if rng.random() < 0.15:
                attributes[f"{name}[1]"] = rng.choice(("h1", "h2", "h3"))
    return Event(rng.choice(CATEGORIES), attributes)


def random_log(rng: Random, profile: Any, length: int, query: eql.EqlQuery) -> Stream:
    """Return a random log of that length, whose times are in order and multiples of half a second."""
    time, events = 0.0, []
    for _ in range(length):
        time += rng.choice((0, 0.5, 0.5, 1, 2))
        events.append(random_event(rng, time))
    return Stream(events)


def random_case(rng: Random, profile: EqlProfile, nodes: int, events: int) -> tuple[eql.EqlQuery, Stream]:
    """Return a random query, and a random log for it."""
    query = random_query(rng, profile, nodes)
    return query, random_log(rng, profile, rng.randint(1, events), query)


EQL: Generator[eql.EqlQuery] = Generator(PROFILES, random_case, random_log)
