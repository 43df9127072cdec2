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
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
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

    A smaller pair that needs two rewritings at once may exist. Each step descends the well-founded order of `weight`
    to a formula that is printed and parsed back unchanged, and `differs` alone judges it; a typed error that `differs`
    raises counts as no difference. `differs` is called at most `tries` times; after that the result still differs, but
    may not be minimal. The same input gives the same result.
    """
    # spans refer to the text of the original formula
    return descent(mapped(phi), stream, differs, tries, ways, weight, lambda psi: parse(show(psi)) == psi)


def descent(
    phi: Q,
    stream: Stream,
    differs: Callable[[Q, Stream], bool],
    tries: int,
    ways: Sequence[WayOf[Q]],
    weigh: Callable[[Q, Stream], Weight],
    well_formed: Callable[[Q], bool],
) -> tuple[Q, Stream]:
    """As `shrink`, for a query of any language: by these ways, down this well-founded order.

    Candidates that are not well_formed, or for which that raises a typed error, are dropped without a call of differs.
    """
    search = _Search(differs, tries, ways, weigh, well_formed)
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
        well_formed: Callable[[Q], bool],
    ) -> None:
        self.differs = differs
        self.well_formed = well_formed
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
        try:
            if self.well_formed(phi):
                self.tries -= 1
                if self.differs(phi, stream):
                    return True
        except CerifyError:
            pass
        self.refused.add(key)
        return False
