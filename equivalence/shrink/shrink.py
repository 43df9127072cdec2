"""Shrinking: a query and a stream on which two things differ, made smaller for as long as they still differ."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Generic, TypeAlias

from cerify.equivalence.shrink.operations import Q, QueryOperations, Reduction
from cerify.equivalence.shrink.smaller import Candidates, fewer_events, fewer_names, less_declared, simpler_values
from cerify.equivalence.shrink.weight import Weight, weight
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream

Differs: TypeAlias = Callable[[Q, Stream], bool]
Way: TypeAlias = Callable[[Q, Stream], Iterator[tuple[Q, Stream]]]
"""From a query and a stream to candidates, of which those that weigh less are looked at."""


def shrink(
    language: QueryOperations[Q],
    query: Q,
    stream: Stream,
    differs: Differs[Q],
    tries: int = 2000,
    small_enough: Differs[Q] = lambda query, stream: False,
) -> tuple[Q, Stream]:
    """A query and a stream that still differ, and are locally minimal: no single rewriting below them differs.

    A smaller pair that needs two rewritings at once may exist. Each step descends the well-founded order of `weight`
    to a query that is printed and parsed back unchanged, and `differs` alone judges it; a typed error that `differs`
    raises counts as no difference. `differs` is called at most `tries` times; after that the result still differs, but
    may not be minimal. Nor is one that is small enough. The same input gives the same result.
    """
    search = _Search(language, differs, tries)
    best = search.first(query, stream)
    while not small_enough(*best) and (better := search.step(*best)) is not None:
        best = better
    return best


def shrink_stream(stream: Stream, differs: Callable[[Stream], bool], tries: int = 2000) -> Stream:
    """A stream that still differs, of which no part can be left out; see `shrink`."""
    length = (len(stream) + 1) // 2
    while length > 0:
        shorter = (Stream(stream[:i] + stream[i + length :], stream.schema) for i in range(0, len(stream), length))
        for other in shorter:
            if tries <= 0:
                return stream
            tries -= 1
            with suppress(CerifyError):
                if differs(other):
                    stream, length = other, len(other) + 1
                    break
        length //= 2
    return stream


def ways(language: QueryOperations[Q]) -> tuple[Way[Q], ...]:
    """The ways to make a query and a stream smaller, those that cut deepest first."""
    reductions = (partial(_reduced, reduction) for reduction in language.reductions)
    return (
        partial(fewer_events, language),
        *reductions,
        partial(fewer_names, language),
        partial(less_declared, language),
        partial(simpler_values, language),
    )


def _reduced(reduction: Reduction[Q], query: Q, stream: Stream) -> Candidates[Q]:
    return ((other, stream) for other in reduction(query))


class _Search(Generic[Q]):
    """Calls differs at most once for each candidate, and at most `tries` times."""

    def __init__(self, language: QueryOperations[Q], differs: Differs[Q], tries: int) -> None:
        self.language = language
        self.differs = differs
        self.tries = tries
        self.ways = deque(ways(language))
        self.refused: set[bytes] = set()

    def first(self, query: Q, stream: Stream) -> tuple[Q, Stream]:
        """The pair to begin with: the expanded query, if that is another one and differs too."""
        expanded = self.language.expanded(query)
        return (expanded, stream) if expanded == query or self._accepted(expanded, stream) else (query, stream)

    def step(self, query: Q, stream: Stream) -> tuple[Q, Stream] | None:
        """The first smaller candidate that differs; the next step begins with the way that gave it."""
        bound = weight(self.language, query, stream)
        for _ in range(len(self.ways)):
            for candidate in self._smaller(query, stream, bound):
                if self.tries <= 0:
                    return None
                if self._accepted(*candidate):
                    return candidate
            self.ways.rotate(-1)
        return None

    def _smaller(self, query: Q, stream: Stream, bound: Weight) -> Iterator[tuple[Q, Stream]]:
        candidates = self.ways[0](query, stream)
        return (candidate for candidate in candidates if weight(self.language, *candidate) < bound)

    def _accepted(self, query: Q, stream: Stream) -> bool:
        key = hashlib.blake2b(repr((query, stream.events, stream.schema)).encode(), digest_size=16).digest()
        if key in self.refused:
            return False
        with suppress(CerifyError):
            if self.language.is_wellformed(query):
                self.tries -= 1
                if self.differs(query, stream):
                    return True
        self.refused.add(key)
        return False
