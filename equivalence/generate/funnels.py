"""Random funnels and sequences by key, with streams in which times repeat and an event may pass several steps.

The last part simplifies them, for shrinking and campaigns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from cerify.equivalence.generate.cel import narrower_windows
from cerify.equivalence.generate.shrink import Generator, QueryOperations, dropped, parts, value_weight, varied
from cerify.equivalence.rewrite.trees import same
from cerify.semantics.cel.syntax import AttributeWindow, EventWindow, TimeWindow, Window
from cerify.semantics.errors import IllFormed, ParseError
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.funnel_queries import (
    FunnelQuestion,
    FunnelStep,
    FunnelWindow,
    KeyedQuestion,
    SequenceQuestion,
    parse_keyed_question,
    query_constructs,
    show_keyed_question,
)
from cerify.semantics.funnels import FUNNEL_MODES, parse_sequence_pattern
from cerify.semantics.predicates import Predicate, mapped_predicate, mentions
from cerify.semantics.values import Value

TYPES = ("a", "b", "c", "n")
CONDITIONS = ("[x > 0]", "[x = 1]", "[not x > 0]", "[x in {0, 2}]", "[x < 2 and y = 1]", "[x >= 1 or y = 0]")
PARTS = ("(?1)", "(?1)", "(?2)", "(?2)", "(?3)", ".", ".*", ".*", "(?t<=2)", "(?t<2)", "(?t>=2)", "(?t>2)", "(?t==2)")
VALUES: Mapping[str, tuple[Value, ...]] = {"k": ("u", "u", "v"), "x": (0, 1, 2), "y": (0, 1)}


@dataclass(frozen=True)
class FunnelProfile:
    """The parameters of random queries and streams.

    kinds: the kinds of queries; "chain" is a funnel without a mode. clauses: whether funnels have further clauses.
    conditions: how often a step has a condition. absent: how often an event lacks an attribute.
    """

    kinds: tuple[str, ...] = ("chain", *FUNNEL_MODES, "sequence")
    clauses: bool = True
    conditions: float = 0.3
    absent: float = 0.2


PROFILES = {
    "funnels": FunnelProfile(),
    "chains": FunnelProfile(("chain",), False, 0.4, 0),
    "modes": FunnelProfile(tuple(FUNNEL_MODES), False, 0.4, 0),
    "sequences": FunnelProfile(("sequence",), False, 0.2, 0),
}


def random_step(rng: Random, profile: FunnelProfile, type_: str) -> str:
    """Return the text of a random step, usually an event of this type."""
    if rng.random() >= profile.conditions:
        return type_
    return rng.choice(("", type_, type_)) + rng.choice(CONDITIONS)


def random_pattern(rng: Random, conditions: int) -> str:
    """Return a pattern that sequenceMatch accepts, with at most the given number of conditions."""
    parts = [part for part in PARTS if part[1:2] != "?" or part[2] == "t" or int(part[2]) <= conditions]
    while True:
        text = "".join(rng.choices(parts, k=rng.randint(1, 5)))
        try:
            parse_sequence_pattern(text)
        except ParseError:
            continue
        return text


def random_funnel(rng: Random, profile: FunnelProfile, nodes: int) -> KeyedQuestion:
    """Return a random funnel or sequence of at most this number of steps."""
    kind, n = rng.choice(profile.kinds), rng.randint(1, max(1, min(3, nodes)))
    types = TYPES[:n] if rng.random() < 0.8 else rng.choices(TYPES[:3], k=n)
    steps = ", ".join(random_step(rng, profile, type_) for type_ in types)
    by = " BY k" if rng.random() < 0.7 else ""
    if kind == "sequence":
        return parse_keyed_question(f"SEQUENCE '{random_pattern(rng, n)}' OF {steps}{by}")
    text = f"FUNNEL {steps}"
    window = rng.choice((0, 1, 2, 3, 10))
    if kind != "chain":
        return parse_keyed_question(f"{text} WITHIN {window} seconds{by} MODE {kind}")
    if not profile.clauses:
        return parse_keyed_question(f"{text} WITHIN {window} seconds{by}")
    order = rng.choice(("", "", " ORDER time", " ORDER strict"))
    within = rng.choice(("", f" WITHIN {window} seconds", "" if order else f" WITHIN {window + 1} EVENTS"))
    start = rng.choice(("", "", " START first"))
    between = rng.choice(("", "", f" BETWEEN not {random_step(rng, profile, 'n')}"))
    return parse_keyed_question(text + within + by + start + order + between)


def random_stream(rng: Random, profile: FunnelProfile, length: int, query: KeyedQuestion) -> Stream:
    """Return a random stream in the order of time, in which successive events often have the same time."""
    time, events = rng.randint(0, 3), []
    for _ in range(length):
        time += rng.choice((0, 0, 1, 1, 2, 4))
        attributes: dict[str, Value] = {TIME: time}
        for name, values in VALUES.items():
            if rng.random() >= profile.absent * (name != "k"):
                attributes[name] = rng.choice(values)
        events.append(Event(rng.choices(TYPES, (3, 3, 3, 1))[0], attributes))
    return Stream(events)


def random_case(rng: Random, profile: FunnelProfile, nodes: int, events: int) -> tuple[KeyedQuestion, Stream]:
    """Return a random funnel or sequence, and a random stream for it."""
    query = random_funnel(rng, profile, nodes)
    return query, random_stream(rng, profile, rng.randint(1, events), query)


FUNNEL_GENERATOR: Generator[KeyedQuestion] = Generator(PROFILES, random_case, random_stream)


# ---------------------------------------------------------------------------------------------------------------------
# Simplify funnels and sequences: fewer steps, clauses and parts of patterns, simpler conditions and windows.

_PATTERN_PART = re.compile(r"\(\?[^)]*\)|\.\*?")


def fewer_parts(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    """Yield the query without a step, a clause or a part of its pattern."""
    return _parsed_again(_fewer_parts(query))


def simpler_steps(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    """Yield the query with a condition left out or replaced by a part of it, or with a narrower window."""
    return _parsed_again(_simpler_steps(query))


def _parsed_again(queries: Iterable[KeyedQuestion]) -> Iterator[KeyedQuestion]:
    """Write and parse each query again; drop queries that break a rule."""
    for query in queries:
        with suppress(IllFormed, ParseError):
            yield parse_keyed_question(show_keyed_question(query))


def _fewer_parts(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    yield from (replace(query, steps=steps) for steps in dropped(query.steps) if steps)
    if query.by is not None:
        yield replace(query, by=None)
    if isinstance(query, SequenceQuestion):
        pattern = tuple(_PATTERN_PART.findall(query.pattern))
        yield from (replace(query, pattern="".join(fewer)) for fewer in dropped(pattern) if fewer)
        return
    if query.mode is not None:
        yield replace(query, mode=None)
    elif query.window is not None:
        yield replace(query, window=None)
    if query.between is not None:
        yield replace(query, between=None)
    if query.start != "best":
        yield replace(query, start="best")
    if query.order != "stream":
        yield replace(query, order="stream")


def _simpler_steps(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    yield from (replace(query, steps=steps) for steps in varied(query.steps, _simpler_step))
    if isinstance(query, FunnelQuestion):
        if query.between is not None:
            yield from (replace(query, between=step) for step in _simpler_step(query.between))
        if query.window is not None:
            yield from (replace(query, window=_window(other)) for other in narrower_windows(query.window.window))


def _simpler_step(step: FunnelStep) -> Iterator[FunnelStep]:
    if step.predicate is not None:
        if step.type is not None:
            yield replace(step, predicate=None)
            yield replace(step, type=None)
        yield from (replace(step, predicate=P) for P in parts(step.predicate))


def _window(window: Window) -> FunnelWindow:
    match window:
        case TimeWindow(amount, unit):
            return FunnelWindow(f"{amount} {unit}s", window)
        case EventWindow(count):
            return FunnelWindow(f"{count} EVENTS", window)
        case AttributeWindow(width, attribute):
            return FunnelWindow(f"{width} [{attribute}]", window)


def _steps(query: KeyedQuestion) -> Iterator[FunnelStep]:
    """Yield the steps, and the step that is forbidden between them."""
    yield from query.steps
    if isinstance(query, FunnelQuestion) and query.between is not None:
        yield query.between


def _predicates(query: KeyedQuestion) -> Iterator[Predicate]:
    return (step.predicate for step in _steps(query) if step.predicate is not None)


def _types(query: KeyedQuestion) -> Iterator[str]:
    return (step.type for step in _steps(query) if step.type is not None)


def _attributes(query: KeyedQuestion) -> Iterator[str]:
    yield from (mention.name for P in _predicates(query) for mention in mentions(P))
    if query.by is not None:
        yield query.by
    if isinstance(query, FunnelQuestion) and query.window is not None:
        match query.window.window:
            case TimeWindow():
                yield TIME
            case AttributeWindow(_, attribute):
                yield attribute


def mapped(
    query: KeyedQuestion, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same
) -> KeyedQuestion:
    """Return the query with `name` applied to its event types and `value` applied to its constants."""

    def step(one: FunnelStep) -> FunnelStep:
        type_ = None if one.type is None else name(one.type)
        predicate = None if one.predicate is None else mapped_predicate(one.predicate, value=value)
        return FunnelStep(one.text, type_, predicate)

    other = replace(query, steps=tuple(map(step, query.steps)))
    if isinstance(other, FunnelQuestion) and other.between is not None:
        other = replace(other, between=step(other.between))
    return parse_keyed_question(show_keyed_question(other))


def _size(query: KeyedQuestion) -> int:
    pattern = _PATTERN_PART.findall(query.pattern) if isinstance(query, SequenceQuestion) else ()
    return len(query.steps) + len(query_constructs(query)) + len(pattern)


def _complexity(query: KeyedQuestion) -> int:
    match query.window.window if isinstance(query, FunnelQuestion) and query.window is not None else None:
        case TimeWindow(amount, _) | EventWindow(amount) | AttributeWindow(amount, _):
            return value_weight(amount)
    return 0


FUNNELS: QueryOperations[KeyedQuestion] = QueryOperations(
    parse=parse_keyed_question,
    show=show_keyed_question,
    reductions=(fewer_parts, simpler_steps),
    size=_size,
    complexity=_complexity,
    types=_types,
    attributes=_attributes,
    predicates=_predicates,
    mapped=mapped,
    operators=query_constructs,
    expanded=mapped,  # texts of steps as they are shown
)
