"""Random schemas, as profiles: which types and attributes there are, and which values these have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from cerify.equivalence.generate.cel import EVERYTHING, CelProfile
from cerify.semantics.values import Value, ValueType

TYPES = ("A", "B", "C", "D", "E", "F")
ATTRIBUTES = ("x", "y", "z", "u", "v", "w")
VALUES: Mapping[ValueType, tuple[Value, ...]] = {
    "int": (-(2**31), -1, 0, 1, 2, 3, 7, 2**31),
    "float": (-1.5, 0.0, 0.1, 0.5, 1.0, 2.5, 1e9),
    "string": ("", "a", "ab", "b", "A", " ", "é", "a'b"),
    "bool": (False, True),
    "timestamp": tuple(datetime(2021, 1, 1, tzinfo=UTC) + timedelta(seconds=s) for s in (0, 1, 60, 3600, 86_400)),
}


def random_profile(rng: Random, base: CelProfile = EVERYTHING, types: int = 5, attributes: int = 4) -> CelProfile:
    """The profile with another schema, of at most `types` types and `attributes` attributes, each with a few values.

    Every type has every attribute, in the schema; in half of the profiles events leave some out.
    """
    names = ATTRIBUTES[: rng.randint(1, attributes)]
    return replace(
        base,
        types=TYPES[: rng.randint(1, types)],
        attributes=tuple((name, _pool(rng)) for name in names),
        absent=rng.choice((0.0, 0.2)),
    )


def _pool(rng: Random) -> tuple[Value, ...]:
    values = VALUES[rng.choice(tuple(VALUES))]
    return tuple(rng.sample(values, min(len(values), rng.randint(2, 5))))
