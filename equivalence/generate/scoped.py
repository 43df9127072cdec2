"""Random formulas under windows and partitions, with streams on which they make a difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import EVERYTHING, Profile
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Event, Stream
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value

DAY = datetime(2021, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Scoped(Profile):
    """A profile whose formulas stand in windows and partitions, and whose streams have keys and clocks."""


WINDOWS = Scoped(EVERYTHING.operators, correlated=EVERYTHING.correlated)
"""All operators and strategies, in windows and partitions."""


def case(rng: Random, profile: Profile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """A formula of up to `nodes` nodes, in a window or a partition or both, and a stream of up to `events` events.

    Some formulas have a window of events inside too.
    """
    phi, S = generate.case(rng, profile, nodes, events)
    if rng.random() < 0.2:
        phi = inside(rng, phi, counted)
    for _ in range(rng.choice((1, 1, 2))):
        phi = around(rng, phi)
    return phi, clocked(rng, S)


def around(rng: Random, phi: Formula) -> Formula:
    """The formula in a random window or partition."""
    chance = rng.random()
    if chance < 0.35:
        return cel.PartitionBy(phi, rng.choice(("k", "k", "x")))
    if chance < 0.6:
        return cel.Within(phi, cel.EventWindow(rng.randint(1, 6)))
    if chance < 0.8:
        return cel.Within(phi, cel.TimeWindow(rng.choice((0, 1, 2, 2.5, 4)), "second"))
    return cel.Within(phi, cel.AttributeWindow(rng.choice((0, 1, 1.5, 3)), rng.choice(("u", "u", "x"))))


def counted(rng: Random, phi: Formula) -> Formula:
    """The formula in a random window of events, which an automaton counts."""
    return cel.Within(phi, cel.EventWindow(rng.randint(1, 6)))


def inside(rng: Random, phi: Formula, scope: Callable[[Random, Formula], Formula]) -> Formula:
    """The formula with one of its sub-formulas in a window or partition that `scope` makes."""
    below = children(phi)
    if not below or rng.random() < 0.3:
        return scope(rng, phi)
    chosen = rng.randrange(len(below))
    return rebuilt(phi, [inside(rng, psi, scope) if i == chosen else psi for i, psi in enumerate(below)])


def clocked(rng: Random, S: Stream) -> Stream:
    """The stream with a key k, a time that mostly ascends, and an attribute u that ascends; each is absent at times."""
    steps = list(accumulate(rng.choice((0, 0, 1, 1, 2)) for _ in S))
    if rng.random() < 0.15:
        rng.shuffle(steps)
    stamps, missing = rng.random() < 0.5, rng.choice((0.0, 0.0, 0.15))
    found = []
    for event, step in zip(S, steps, strict=True):
        values: dict[str, Value] = {
            "k": rng.choice(("a", "b")),
            "time": DAY + timedelta(seconds=step) if stamps else step,
            "u": step * 0.7,
        }
        kept = {name: value for name, value in values.items() if rng.random() >= missing}
        found.append(Event(event.type, {**event.attributes, **kept}))
    return Stream(found)
