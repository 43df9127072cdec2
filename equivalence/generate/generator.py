"""The generators of random cases, one for each language: profiles, and functions that make cases of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar

from cerify.equivalence.generate import cel, core_cel, expressions, row_pattern, sase
from cerify.equivalence.generate.cel import EVERYTHING, TYPED, CelProfile, guided_case
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.event_expressions.syntax import Expression
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.syntax import MatchRecognize
from cerify.semantics.sase import syntax as sase_syntax

Q = TypeVar("Q")
CaseMaker: TypeAlias = Callable[[Random, Any, int, int], tuple[Q, Stream]]
"""Makes a query and a stream of a profile, of at most the given numbers of nodes and of events."""
StreamMaker: TypeAlias = Callable[[Random, Any, int, Q], Stream]
"""Makes a stream of that length, of a profile, for a query."""


@dataclass(frozen=True)
class Generator(Generic[Q]):
    """The random cases of a language. The same random numbers give the same cases.

    profiles: what queries and streams are made of, by name; the first is the default. case: makes a query and a random
    stream. stream: makes another stream for a query. guided: like `case`, but most streams have a match; None if the
    language has no such function.
    """

    profiles: Mapping[str, Any]
    case: CaseMaker[Q]
    stream: StreamMaker[Q]
    guided: CaseMaker[Q] | None = None


# ---------------------------------------------------------------------------------------------------------------------
# The generators of all languages.


def cel_case(rng: Random, profile: CelProfile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """Return a formula and a random stream; in windows and partitions if the profile is Scoped."""
    make = cel.scoped_case if isinstance(profile, cel.Scoped) else cel.case
    return make(rng, profile, nodes, events)


def cel_stream(rng: Random, profile: CelProfile, length: int, phi: Formula) -> Stream:
    """Return a random stream, with keys and clocks if the profile is Scoped."""
    S = cel.stream(rng, profile, length, phi)
    return cel.clocked(rng, S) if isinstance(profile, cel.Scoped) else S


def guided_cel_case(rng: Random, profile: CelProfile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """Return a formula and a stream like `cel_case`, but most streams have a match.

    If the profile is Scoped, the streams are random.
    """
    if isinstance(profile, cel.Scoped):
        return cel.scoped_case(rng, profile, nodes, events)
    return guided_case(rng, profile, nodes, events)


def expression_case(
    rng: Random, profile: expressions.ExpressionProfile, nodes: int, events: int
) -> tuple[Expression, Stream]:
    """Return a random expression, and a random history for it, without a schema."""
    E, S = expressions.case(rng, profile, nodes, events)
    return E, Stream(S)


def expression_stream(rng: Random, profile: expressions.ExpressionProfile, length: int, E: Expression) -> Stream:
    """Return another history, without a schema."""
    return Stream(expressions.history(rng, profile, length))


def sase_stream(rng: Random, profile: sase.SaseProfile, length: int, q: sase_syntax.Tree) -> Stream:
    """Return a random stream; if the query is a single PATTERN, most streams are built to match."""
    return sase.stream(rng, profile, length, q if isinstance(q, sase_syntax.SaseQuery) else None)


CEL = Generator[Formula](
    {**cel.PROFILES, "typed-everything": replace(TYPED, operators=EVERYTHING.operators), "windows": cel.WINDOWS},
    cel_case,
    cel_stream,
    guided_cel_case,
)
CORE_CEL = Generator[core.Formula](core_cel.CORE_CEL_PROFILES, core_cel.case, core_cel.stream)
EVENT_EXPRESSION = Generator[Expression](
    {**expressions.PROFILES, **expressions.VALUED_PROFILES}, expression_case, expression_stream
)
ROW_PATTERN = Generator[MatchRecognize](row_pattern.PROFILES, row_pattern.case, row_pattern.stream)
SASE = Generator[sase_syntax.Tree](sase.PROFILES, sase.case, sase_stream)
