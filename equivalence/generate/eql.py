"""Random EQL queries and logs, with few categories, values and keys, so that conditions and steps overlap.

The last part simplifies queries, for shrinking and campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from cerify.equivalence.generate.shrink import Generator, QueryOperations, dropped, varied
from cerify.equivalence.rewrite.trees import same
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.parse import parse
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.trees import children, rebuilt, subtrees
from cerify.semantics.values import Value

CATEGORIES = ("process", "file", "network")
NAMES = ("cmd.exe", "CMD.EXE", "cmd", "a.exe", "")
FIELDS = ("name", "user.name", "process.args")
NUMBERS = ("size",)
KEYS = ("host.id", "user.id")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class EqlProfile:
    """The parameters of random queries: which features of EQL they may have.

    steps: the largest number of steps. conditions: whether filters test more than the category. missing: whether events
    may be required to be missing (`![…]`). runs: whether a step may be repeated (`with runs`).
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
        # Without a window a missing event could come at any later time, so a rule must have one.
        window = window or eql.MaximalSpan(rng.choice((500, 1500, 3000)), "ms")
        for _ in range(rng.randint(1, 2)):
            missing = eql.SequenceStep(random_filter(rng, profile), _step_keys(rng, own), 1, True)
            made.insert(rng.randint(0, len(made)), missing)
    until = _random_step(rng, profile, own) if rng.random() < 0.3 else None
    if until is not None:
        # The step may have `runs`, and `until` must not.
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


EQL_GENERATOR: Generator[eql.EqlQuery] = Generator(PROFILES, random_case, random_log)


# ---------------------------------------------------------------------------------------------------------------------
# Simplify EQL queries, for shrinking and campaigns: fewer steps, keys, pipes and conditions.

Body = eql.EventFilter | eql.EventSequence | eql.EventSample
TRUE = eql.FieldConstant(True)


def fewer_parts(query: eql.EqlQuery) -> Iterator[eql.EqlQuery]:
    """Yield the query without a step, pipe, key, its window or `until`, or with a step repeated less often."""
    body = query.body
    yield from (eql.EqlQuery(body, pipes) for pipes in dropped(query.pipes))
    if isinstance(body, eql.EventSequence):
        yield from (_with(query, replace(body, steps=steps)) for steps in dropped(body.steps) if steps)
        yield from (_with(query, replace(body, until=None)) for _ in [1] if body.until is not None)
        yield from (_with(query, replace(body, maxspan=None)) for _ in [1] if body.maxspan is not None)
        yield from (_with(query, replace(body, keys=keys)) for keys in dropped(body.keys))
        # All at once: every step must have as many keys as the others.
        if body.steps[0].keys:
            until = None if body.until is None else replace(body.until, keys=())
            yield _with(query, replace(body, steps=tuple(replace(s, keys=()) for s in body.steps), until=until))
        yield from (
            _with(query, replace(body, steps=steps))
            for steps in varied(body.steps, lambda s: [replace(s, runs=s.runs - 1)] if s.runs > 1 else [])
        )
    elif isinstance(body, eql.EventSample):
        yield from (_with(query, replace(body, steps=steps)) for steps in dropped(body.steps) if steps)


def simpler_conditions(query: eql.EqlQuery) -> Iterator[eql.EqlQuery]:
    """Yield the query with a condition replaced by a part of it, or left out."""

    def simpler(part: eql.EventFilter) -> Iterator[eql.EventFilter]:
        if part.condition != TRUE:
            yield replace(part, condition=TRUE)
            yield from (replace(part, condition=other) for other in _parts(part.condition))

    yield from (_with(query, body) for body in _with_filters(query.body, simpler))


def _parts(condition: eql.Condition) -> Iterator[eql.Condition]:
    match condition:
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            yield from parts
            for fewer in dropped(parts):
                if len(fewer) > 1:
                    yield type(condition)(fewer)
            for others in varied(parts, _parts):
                yield type(condition)(others)
        case eql.NegatedCondition(part):
            yield part
            yield from (eql.NegatedCondition(other) for other in _parts(part))
        case eql.ValueLookup(operator, term, values) if len(values) > 1:
            yield from (eql.ValueLookup(operator, term, fewer) for fewer in dropped(values))
        case eql.SingleCondition():
            return


def _with(query: eql.EqlQuery, body: Body) -> eql.EqlQuery:
    return eql.EqlQuery(body, query.pipes)


def _with_filters(body: Body, other: Callable[[eql.EventFilter], Iterator[eql.EventFilter]]) -> Iterator[Body]:
    if isinstance(body, eql.EventFilter):
        yield from other(body)
        return
    for steps in varied(body.steps, lambda s: (replace(s, filter=f) for f in other(s.filter))):
        yield replace(body, steps=steps)
    if isinstance(body, eql.EventSequence) and body.until is not None:
        for f in other(body.until.filter):
            yield replace(body, until=replace(body.until, filter=f))


def mapped(query: eql.EqlQuery, name: Callable[[str], str] = same, value: Callable[[Any], Any] = same) -> eql.EqlQuery:
    """Return the query with `name` applied to categories and `value` to constants, without spans."""

    def condition(node: Any) -> Any:
        match node:
            case eql.FieldConstant(constant):
                return eql.FieldConstant(constant if constant is None else value(constant))
            case eql.ValueLookup(operator, term, constants):
                mine = condition(term)
                return eql.ValueLookup(operator, mine, tuple(c if c is None else value(c) for c in constants))
        return rebuilt(node, [condition(child) for child in children(node)])

    def filtered(part: eql.EventFilter) -> eql.EventFilter:
        category = None if part.category is None else name(part.category)
        return eql.EventFilter(category, condition(part.condition))

    def step(one: eql.SequenceStep) -> eql.SequenceStep:
        return eql.SequenceStep(filtered(one.filter), one.keys, one.runs, one.missing)

    body = query.body
    made: Body
    match body:
        case eql.EventFilter():
            made = filtered(body)
        case eql.EventSequence(keys, maxspan, steps, until):
            made = eql.EventSequence(keys, maxspan, tuple(map(step, steps)), None if until is None else step(until))
        case eql.EventSample(keys, steps):
            made = eql.EventSample(keys, tuple(map(step, steps)))
    return eql.EqlQuery(made, tuple(eql.MatchPipe(pipe.name, pipe.count) for pipe in query.pipes))


def _size(query: eql.EqlQuery) -> int:
    nodes = sum(1 + sum(1 for _ in subtrees(part.condition)) for part in eql.filters_of(query))
    body = query.body
    if isinstance(body, eql.EventFilter):
        return nodes + len(query.pipes)
    keys = len(body.keys) + sum(len(step.keys) for step in body.steps)
    runs = sum(step.runs - 1 for step in body.steps)
    window = isinstance(body, eql.EventSequence) and body.maxspan is not None
    return nodes + len(query.pipes) + keys + runs + window


def _constants(query: eql.EqlQuery) -> int:
    return sum(
        len(node.values) for part in eql.filters_of(query) for node in subtrees(part.condition)
        if isinstance(node, eql.ValueLookup)
    )  # fmt: skip


def _operators(query: eql.EqlQuery) -> list[str]:
    return [type(node).__name__ for part in eql.filters_of(query) for node in subtrees(part.condition)]


def _categories(query: eql.EqlQuery) -> list[str]:
    return [part.category for part in eql.filters_of(query) if part.category is not None]


def _fields(query: eql.EqlQuery) -> list[str]:
    return [field.name for part in eql.filters_of(query) for field in eql.fields_of(part.condition)]


def _no_predicates(query: eql.EqlQuery) -> tuple[()]:
    return ()


def _require_wellformed(query: eql.EqlQuery) -> None:
    from cerify.semantics.eql.parse import require_wellformed

    require_wellformed(query)


EQL: QueryOperations[eql.EqlQuery] = QueryOperations(
    parse=parse,
    show=eql.show,
    reductions=(fewer_parts, simpler_conditions),
    size=_size,
    complexity=_constants,
    types=_categories,
    attributes=_fields,
    predicates=_no_predicates,
    mapped=mapped,
    operators=_operators,
    require_wellformed=_require_wellformed,
)
