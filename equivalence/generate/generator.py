"""What a campaign has to know of a generator: its profiles, and the functions that make cases of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar

from cerify.semantics.events import Stream

Q = TypeVar("Q")
CaseMaker: TypeAlias = Callable[[Random, Any, int, int], tuple[Q, Stream]]
"""Makes a query and a stream of a profile, of at most the given numbers of nodes and of events."""
StreamMaker: TypeAlias = Callable[[Random, Any, int, Q], Stream]
"""Makes a stream of that length, of a profile, for a query."""


@dataclass(frozen=True)
class Generator(Generic[Q]):
    """The random cases of a language. The same random numbers give the same cases.

    profiles: what queries and streams are made of, by name; the first is the default. case: a query with a random
    stream. stream: another stream for a query. guided: as case, most streams with a match; None if there is no way.
    """

    profiles: Mapping[str, Any]
    case: CaseMaker[Q]
    stream: StreamMaker[Q]
    guided: CaseMaker[Q] | None = None
