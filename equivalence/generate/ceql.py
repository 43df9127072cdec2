"""Random CEQL queries, with streams that have their keys and times; and simpler queries, for shrinking.

The formula of a query comes from the generator of CEL, with the operators that CEQL has, and is simplified as in CEL.
Only the clauses around it are new here. The streams always have keys and times, because clauses about attributes that
no event has would have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, get_args

from cerify.equivalence.generate import cel as generate_cel
from cerify.equivalence.generate.cel import CEL, CORE, CelProfile, clocked, guided_case
from cerify.equivalence.generate.shrink import Generator, QueryOperations, Reduction
from cerify.equivalence.rewrite.trees import names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.ceql.syntax import OPERATORS, CeqlQuery, Strategy, parse, show
from cerify.semantics.events import Stream
from cerify.semantics.predicates import Predicate

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


CEQL_GENERATOR = Generator[CeqlQuery](PROFILES, _case, _stream, _guided_case)
"""The random cases of CEQL."""


# ---------------------------------------------------------------------------------------------------------------------
# Simplify CEQL queries, for shrinking and campaigns: drop clauses, and simplify the formula as in CEL.


def fewer_clauses(query: CeqlQuery) -> Iterator[CeqlQuery]:
    """Yield the query without a clause, with one key or variable fewer, or with a narrower window."""
    plain = CeqlQuery(query.phi)
    for field in ("policy", "strategy", "keys", "window", "variables", "streams"):
        if getattr(query, field) != getattr(plain, field):
            yield replace(query, **{field: getattr(plain, field)})
    for name in query.keys if len(query.keys) > 1 else ():
        yield replace(query, keys=tuple(other for other in query.keys if other != name))
    for name in query.variables or ():
        yield replace(query, variables=tuple(other for other in query.variables or () if other != name))
    if query.window is not None:
        yield from (replace(query, window=window) for window in generate_cel.narrower_windows(query.window))


@dataclass(frozen=True)
class _InFormula:
    """Reduces the formula of a query, within CEQL; can be sent to other processes."""

    reduction: Reduction[Formula]

    def __call__(self, query: CeqlQuery) -> Iterator[CeqlQuery]:
        """Yield the reduced queries."""
        for phi in self.reduction(query.phi):
            if all(type(psi) in OPERATORS for psi in subformulas(phi)):
                yield replace(query, phi=phi)


def _mapped(query: CeqlQuery, **maps: Any) -> CeqlQuery:
    """Map names and constants of the formula, and the names after SELECT."""
    name: Callable[[str], str] = maps.get("name") or str
    variables = None if query.variables is None else tuple(map(name, query.variables))
    return replace(query, phi=CEL.mapped(query.phi, **maps), variables=variables)


def _complexity(query: CeqlQuery) -> int:
    clauses = (query.variables is not None, query.strategy, query.streams, query.window, query.policy != "NONE")
    return CEL.complexity(query.phi) + sum(map(bool, clauses)) + len(query.keys) + len(query.variables or ())


def _size(query: CeqlQuery) -> int:
    return CEL.size(query.phi)


def _types(query: CeqlQuery) -> Iterable[str]:
    return CEL.types(query.phi)


def _operators(query: CeqlQuery) -> Iterable[str]:
    return CEL.operators(query.formula)


def _expanded(query: CeqlQuery) -> CeqlQuery:
    return replace(query, phi=CEL.expanded(query.phi))


def _attributes(query: CeqlQuery) -> Iterable[str]:
    return CEL.attributes(query.formula)


def _predicates(query: CeqlQuery) -> Iterable[Predicate]:
    return CEL.predicates(query.phi)


CEQL = QueryOperations[CeqlQuery](
    parse,
    show,
    (fewer_clauses, *map(_InFormula, CEL.reductions)),
    _size,
    _complexity,
    _types,
    _attributes,
    _predicates,
    _mapped,
    _operators,
    expanded=_expanded,
)
