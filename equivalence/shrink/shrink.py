"""Shrinking: a query and a stream on which two things differ, made smaller for as long as they go on differing."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from cerify.equivalence.rewrite.trees import mapped
from cerify.equivalence.shrink.smaller import (
    Candidates,
    fewer_events,
    fewer_names,
    less_declared,
    simpler_operators,
    simpler_predicates,
    simpler_values,
    smaller_formulas,
)
from cerify.equivalence.shrink.weight import Weight, weight
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream

Differs = Callable[[Formula, Stream], bool]
Way = Callable[[Formula, Stream], Candidates]
Q = TypeVar("Q")
WayOf: TypeAlias = Callable[[Q, Stream], Iterator[tuple[Q, Stream]]]
"""From a query of some language and a stream to candidates, of which those that weigh less are looked at."""

# What can be made smaller, what cuts deepest first.
WAYS: tuple[Way, ...] = (
    fewer_events,
    smaller_formulas,
    simpler_operators,
    simpler_predicates,
    fewer_names,
    less_declared,
    simpler_values,
)


def shrink(
    phi: Formula, stream: Stream, differs: Differs, tries: int = 2000, ways: Sequence[Way] = WAYS
) -> tuple[Formula, Stream]:
    """A formula and a stream that still differ, and are locally minimal: no single rewriting below them differs.

    That is not to say that there are no smaller ones. Each step goes down the well-founded order of `weight`, and only
    `differs` judges it; a typed error that it raises counts as no difference. Asks `differs` at most `tries` times; if
    these are used up the result still differs, but may not be minimal. The same input gives the same result.
    """
    # spans speak of a text that the result no longer has
    return descent(mapped(phi), stream, differs, tries, ways, weight)


def descent(
    phi: Q,
    stream: Stream,
    differs: Callable[[Q, Stream], bool],
    tries: int,
    ways: Sequence[WayOf[Q]],
    weigh: Callable[[Q, Stream], Weight],
) -> tuple[Q, Stream]:
    """As shrink, for a query of any language: by these ways, down this well-founded order."""
    search = _Search(differs, tries, ways, weigh)
    best = (phi, stream)
    while (better := search.step(*best)) is not None:
        best = better
    return best


class _Search(Generic[Q]):
    """Asks about each candidate once, and no more than so many times."""

    def __init__(
        self,
        differs: Callable[[Q, Stream], bool],
        tries: int,
        ways: Sequence[WayOf[Q]],
        weigh: Callable[[Q, Stream], Weight],
    ) -> None:
        self.differs = differs
        self.tries = tries
        self.ways = deque(ways)
        self.weigh = weigh
        self.refused: set[bytes] = set()

    def step(self, phi: Q, stream: Stream) -> tuple[Q, Stream] | None:
        """The first smaller candidate that differs; the search goes on with the way that gave it."""
        bound = self.weigh(phi, stream)
        for _ in range(len(self.ways)):
            for candidate in self._smaller(phi, stream, bound):
                if self.tries <= 0:
                    return None
                if self._accepted(*candidate):
                    return candidate
            self.ways.rotate(-1)
        return None

    def _smaller(self, phi: Q, stream: Stream, bound: Weight) -> Iterator[tuple[Q, Stream]]:
        return (candidate for candidate in self.ways[0](phi, stream) if self.weigh(*candidate) < bound)

    def _accepted(self, phi: Q, stream: Stream) -> bool:
        key = hashlib.blake2b(repr((phi, stream.events, stream.schema)).encode(), digest_size=16).digest()
        if key in self.refused:
            return False
        self.tries -= 1
        try:
            if self.differs(phi, stream):
                return True
        except CerifyError:
            pass
        self.refused.add(key)
        return False
