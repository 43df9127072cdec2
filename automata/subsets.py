"""Sets of states as whole numbers: bit q for state q."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

Subset: TypeAlias = int


def subset(states: Iterable[int]) -> Subset:
    """The set of these states."""
    return sum(1 << q for q in set(states))


def members(states: Subset) -> Iterator[int]:
    """The states of a set, in order."""
    while states:
        lowest = states & -states
        yield lowest.bit_length() - 1
        states ^= lowest
