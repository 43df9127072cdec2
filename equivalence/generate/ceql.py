"""Random CEQL queries, with streams that have their keys and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import get_args

from cerify.equivalence.generate import cel as generate_cel
from cerify.equivalence.generate.cel import CORE, CelProfile, clocked, guided_case
from cerify.equivalence.generate.generator import Generator
from cerify.equivalence.rewrite.trees import names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.ceql.syntax import CeqlQuery, Strategy
from cerify.semantics.events import Stream

WINDOWS: tuple[cel.Window, ...] = (
    *(cel.EventWindow(count) for count in (1, 2, 3, 5)),
    *(cel.TimeWindow(amount, "second") for amount in (1, 2, 3)),
    *(cel.AttributeWindow(width, "u") for width in (0, 1, 2)),
)
KEYS = (("k",), ("x",), ("k", "y"))


@dataclass(frozen=True)
class CeqlProfile:
    """The parameters of random queries.

    formulas: the profile of the formulas, with operators that CEQL has, and filters on single events. clauses: how
    often each clause occurs. consumes: the share of queries that consume events.
    """

    formulas: CelProfile = CORE
    clauses: float = 0.4
    consumes: float = 0.0


PROFILES: Mapping[str, CeqlProfile] = {
    "ceql": CeqlProfile(),
    "formulas": CeqlProfile(clauses=0),
    "absent": CeqlProfile(replace(CORE, absent=0.2)),
    "consuming": CeqlProfile(consumes=0.5),
}


def random_query(rng: Random, profile: CeqlProfile, phi: cel.Formula) -> CeqlQuery:
    """Return a query with this formula and random clauses around it."""

    def has_clause() -> bool:
        return rng.random() < profile.clauses

    bound = sorted(set(names(phi)))
    return CeqlQuery(
        phi,
        variables=tuple(rng.sample(bound, rng.randint(0, len(bound)))) if has_clause() else None,
        strategy=rng.choice(get_args(Strategy)) if has_clause() else None,
        streams=("S",) if has_clause() else (),
        keys=rng.choice(KEYS) if has_clause() else (),
        window=rng.choice(WINDOWS) if has_clause() else None,
        policy="ANY" if rng.random() < profile.consumes else "NONE",
    )


def _case(rng: Random, profile: CeqlProfile, nodes: int, events: int) -> tuple[CeqlQuery, Stream]:
    phi, S = generate_cel.case(rng, profile.formulas, nodes, events)
    return random_query(rng, profile, phi), clocked(rng, S)


def _guided_case(rng: Random, profile: CeqlProfile, nodes: int, events: int) -> tuple[CeqlQuery, Stream]:
    phi, S = guided_case(rng, profile.formulas, nodes, events)
    return random_query(rng, profile, phi), clocked(rng, S)


def _stream(rng: Random, profile: CeqlProfile, length: int, query: CeqlQuery) -> Stream:
    return clocked(rng, generate_cel.stream(rng, profile.formulas, length, query.phi))


CEQL = Generator[CeqlQuery](PROFILES, _case, _stream, _guided_case)
"""The random cases of CEQL."""
