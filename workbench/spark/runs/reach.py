"""The reach of a query: how many events before a match it may depend on; that of a formula is in cerify.reach."""

from __future__ import annotations

from typing import Any

from cerify.automata.evaluate.reach import LookbackBounds
from cerify.reach import Found, reach_of
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.spark.runs.query import Query


def reach_of_query(query: Query, budget: Budget) -> Found:
    """The reach of a query; None if it may depend on all events before."""
    phi = query.in_cel(budget)
    return reach_of_block(query.parsed) if isinstance(phi, Unsupported) else reach_of(phi)


def reach_of_block(q: Any) -> Found:
    """The reach of a query of SASE+ whose matches depend on the events from the first to the last, and on no others.

    So no components are negated, since their scopes may begin before it or end after it; the last component is no
    Kleene plus, which extends until an event stops it; and no matches are left out because of others. Then WITHIN is a
    reach, and so is the number of components if each is the event that follows the one before it.
    """
    if not isinstance(q, sase.Query) or q.source is not None:
        return None
    if clauses.negated(q) or q.returned.non_overlap or q.pattern[-1].kleene:
        return None
    adjacent = all(clauses.strategy_of(q, k.variable) == "strict_contiguity" for k in q.pattern[1:])
    if adjacent and not any(k.kleene for k in q.pattern):
        return LookbackBounds(len(q.pattern))
    return None if q.within is None else LookbackBounds(1, ((TIME, q.within.seconds),))
