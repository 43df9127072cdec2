"""Random funnels and sequences by key, with streams in which times repeat and an event may pass several steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from cerify.equivalence.generate.generator import Generator
from cerify.semantics.errors import ParseError
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.funnel_queries import KeyedQuestion, parse_keyed_question
from cerify.semantics.funnels import FUNNEL_MODES
from cerify.semantics.sequence_patterns import parse_sequence_pattern
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
    """Return the text of a step, most often with this type."""
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


FUNNELS: Generator[KeyedQuestion] = Generator(PROFILES, random_case, random_stream)
