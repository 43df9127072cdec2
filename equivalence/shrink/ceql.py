"""Simplify CEQL queries, for shrinking and campaigns: drop clauses, and simplify the formula as in CEL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from cerify.equivalence.shrink import cel as shrink_cel
from cerify.equivalence.shrink.cel import CEL
from cerify.equivalence.shrink.shrink import QueryOperations, Reduction
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.ceql.parse import parse
from cerify.semantics.ceql.syntax import OPERATORS, CeqlQuery, show
from cerify.semantics.predicates import Predicate


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
        yield from (replace(query, window=window) for window in shrink_cel.narrower_windows(query.window))


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
