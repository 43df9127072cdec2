"""The constructs in a query of SASE+, and whether SQL-TS and Cayuga have them (sase07, section 4; icde08, III)."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import strategy_of
from cerify.semantics.sase.operators import CONSTRUCTS, STRATEGIES, Construct
from cerify.semantics.sase.show import show_component
from cerify.semantics.sase.streams import blocks_of, queries_of

SQL_TS: frozenset[sase.Strategy] = frozenset({"strict_contiguity", "partition_contiguity"})
CAYUGA: frozenset[sase.Strategy] = frozenset({"partition_contiguity", "skip_till_next_match"})
"""Section 4 names skip_till_next_match alone; section 6, and icde08, name both."""


def strategies(q: sase.Tree) -> frozenset[sase.Strategy]:
    """The strategies by which a query selects events, the default included."""
    return frozenset(STRATEGIES[c.symbol] for c in _used(q) if c.symbol in STRATEGIES)


def operators(q: sase.Tree) -> frozenset[str]:
    """The other constructs of a query, less those that every query has."""
    return frozenset(c.title for c in _used(q) if c.symbol not in STRATEGIES)


def constructs(q: sase.Tree) -> frozenset[str]:
    """The names of all constructs of a query, less those that every query has, as the suite calls them."""
    return frozenset(c.name for c in _used(q))


def beyond_sql_ts(q: sase.Tree) -> list[str]:
    """Why a query is not one of SQL-TS: without negation, strict or partition contiguity. Empty if it is."""
    return list(_beyond(q, SQL_TS))


def beyond_cayuga(q: sase.Tree) -> list[str]:
    """Why a query is not one of Cayuga: without negation, partition contiguity or skip till next match."""
    return list(_beyond(q, CAYUGA))


def _beyond(q: sase.Tree, allowed: frozenset[sase.Strategy]) -> Iterator[str]:
    for part in (part for query in queries_of(q) for part in blocks_of(query)):
        for k in part.pattern:
            if k.negated:
                yield f"{show_component(k)} is negated"
            elif (strategy := strategy_of(part, k.variable)) not in allowed:
                yield f"{show_component(k)} is selected by {strategy}"


def _used(q: sase.Tree) -> Iterator[Construct]:
    return (construct for construct in CONSTRUCTS if construct.used is not None and construct.used(q))
