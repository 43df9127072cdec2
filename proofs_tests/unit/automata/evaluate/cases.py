"""Random formulas under windows and partitions, with streams on which they make a difference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

from cerify.equivalence.generate.cel import Profile, case
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Event, Stream, Value

DAY = datetime(2021, 1, 1, tzinfo=UTC)


def scoped_case(rng: Random, profile: Profile, nodes: int = 8, events: int = 9) -> tuple[Formula, Stream]:
    """A case of the profile, in one to three windows and partitions; some of them stand under another operator."""
    phi, S = case(rng, profile, nodes, events)
    for _ in range(rng.choice((1, 1, 2, 3))):
        phi = around(rng, phi)
        if rng.random() < 0.2:
            phi = rng.choice((cel.Start, cel.Strict, lambda psi: cel.In(psi, "X")))(phi)
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
