"""The constructs in a query of SASE+, and whether SQL-TS and Cayuga have them (sase07, section 4; icde08, III)."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.semantics.predicates import Attribute, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import conjuncts, equivalences, is_cut, positive, strategy_of
from cerify.semantics.sase.show import show_component
from cerify.semantics.sase.streams import blocks_of, queries_of, source_of

SQL_TS: frozenset[sase.Strategy] = frozenset({"strict_contiguity", "partition_contiguity"})
CAYUGA: frozenset[sase.Strategy] = frozenset({"partition_contiguity", "skip_till_next_match"})
"""Section 4 names skip_till_next_match alone; section 6, and icde08, name both."""


def strategies(q: sase.Tree) -> frozenset[sase.Strategy]:
    """The strategies by which a query selects events, the default included."""
    return frozenset(strategy for part in _blocks(q) for strategy in _strategies(part))


def operators(q: sase.Tree) -> frozenset[str]:
    """The other constructs of a query, less those that every query has."""
    return frozenset(name for part in _blocks(q) for name in _operators(part)) | frozenset(_connecting(q))


def beyond_sql_ts(q: sase.Tree) -> list[str]:
    """Why a query is not one of SQL-TS: without negation, strict or partition contiguity. Empty if it is."""
    return list(_beyond(q, SQL_TS))


def beyond_cayuga(q: sase.Tree) -> list[str]:
    """Why a query is not one of Cayuga: without negation, partition contiguity or skip till next match."""
    return list(_beyond(q, CAYUGA))


def _beyond(q: sase.Tree, allowed: frozenset[sase.Strategy]) -> Iterator[str]:
    for part in _blocks(q):
        for k in part.pattern:
            if k.negated:
                yield f"{show_component(k)} is negated"
            elif (strategy := strategy_of(part, k.variable)) not in allowed:
                yield f"{show_component(k)} is selected by {strategy}"


def _strategies(q: sase.Query) -> Iterator[sase.Strategy]:
    """The strategies of all components, also of the first one, before which nothing is skipped."""
    yield from (strategy_of(q, k.variable) for k in positive(q))


def _operators(q: sase.Query) -> Iterator[str]:
    if any(k.kleene for k in q.pattern):
        yield "Kleene plus"
    if any(k.negated for k in q.pattern):
        yield "negation"
    if any(is_cut(q, k.variable) for k in q.pattern):
        yield "!"
    if equivalences(q):
        yield "equivalence test"
    if any(c.underlined for c in conjuncts(q)):
        yield "underlining"
    for c in conjuncts(q):
        if not isinstance(c.condition, sase.Equivalence):
            yield from _kinds(list(mentions(c.condition)))
    if q.within is not None:
        yield "WITHIN"
    if q.having is not None:
        yield "HAVING"
    if q.returned.non_overlap:
        yield "NON-OVERLAP"


def _kinds(mentioned: list[Attribute]) -> Iterator[str]:
    """What sase07 calls the predicates of WHERE."""
    if any(isinstance(a, sase.Aggregate) for a in mentioned):
        running = any(isinstance(a, sase.Aggregate) and a.running for a in mentioned)
        yield "running aggregate" if running else "aggregate"
    if any(isinstance(a, sase.Reference) and a.place == "previous" for a in mentioned):
        yield "correlated iterator"
    if any(isinstance(a, sase.Reference) and a.place == "last" for a in mentioned):
        yield "a.LEN"


def _connecting(q: sase.Tree) -> Iterator[str]:
    if any(isinstance(query, sase.Union) for query in queries_of(q)):
        yield "UNION"
    if any(source_of(part) is not None for part in _blocks(q)):
        yield "composition"


def _blocks(q: sase.Tree) -> Iterator[sase.Query]:
    for query in queries_of(q):
        yield from blocks_of(query)
