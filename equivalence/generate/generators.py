"""The generators of all languages."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cerify.equivalence.generate import cel, core_cel, expressions, row_pattern, sase, sase_profiles, scoped
from cerify.equivalence.generate.cel import EVERYTHING, TYPED, Profile
from cerify.equivalence.generate.generator import Generator
from cerify.equivalence.generate.guided import guided_case
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.event_expressions.syntax import Expression
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.sase import syntax as sase_syntax


def cel_case(rng: Random, profile: Profile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """A formula and a random stream; in windows and partitions if the profile is Scoped."""
    make = scoped.case if isinstance(profile, scoped.Scoped) else cel.case
    return make(rng, profile, nodes, events)


def cel_stream(rng: Random, profile: Profile, length: int, phi: Formula) -> Stream:
    """A random stream, with keys and clocks if the profile is Scoped."""
    S = cel.stream(rng, profile, length, phi)
    return scoped.clocked(rng, S) if isinstance(profile, scoped.Scoped) else S


def guided_cel_case(rng: Random, profile: Profile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """As cel_case, most streams with a match; under windows and partitions streams are random."""
    if isinstance(profile, scoped.Scoped):
        return scoped.case(rng, profile, nodes, events)
    return guided_case(rng, profile, nodes, events)


def expression_case(rng: Random, profile: expressions.Profile, nodes: int, events: int) -> tuple[Expression, Stream]:
    """An expression and a history, without a schema."""
    E, S = expressions.case(rng, profile, nodes, events)
    return E, Stream(S)


def expression_stream(rng: Random, profile: expressions.Profile, length: int, E: Expression) -> Stream:
    """Another history, without a schema."""
    return Stream(expressions.history(rng, profile, length))


def sase_stream(rng: Random, profile: sase_profiles.Profile, length: int, q: sase_syntax.Tree) -> Stream:
    """A random stream; for a query of one block most streams are led to a match."""
    return sase.stream(rng, profile, length, q if isinstance(q, sase_syntax.Query) else None)


CEL = Generator[Formula](
    {**cel.PROFILES, "typed-everything": replace(TYPED, operators=EVERYTHING.operators), "windows": scoped.WINDOWS},
    cel_case,
    cel_stream,
    guided_cel_case,
)
CORE_CEL = Generator[core.Formula](core_cel.CORE_CEL_PROFILES, core_cel.case, core_cel.stream)
EVENT_EXPRESSION = Generator[Expression](
    {**expressions.PROFILES, **expressions.VALUED_PROFILES}, expression_case, expression_stream
)
ROW_PATTERN = Generator[MatchRecognize](row_pattern.PROFILES, row_pattern.case, row_pattern.stream)
SASE = Generator[sase_syntax.Tree](sase_profiles.PROFILES, sase.case, sase_stream)
