"""The matches of a SASE+ query by the evaluators of CEL, which count and limit them without building all.

Carried are the queries that sase_to_cel translates; with a window the times of the stream are whole numbers, or floats,
that ascend.
"""

from __future__ import annotations

from dataclasses import replace

from cerify.automata.evaluate import compiled
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.nfab.evaluate import ascend
from cerify.equivalence.rewrite.translate_core_cel import Names
from cerify.equivalence.rewrite.translate_sase import sase_to_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME, Bindings, Stream
from cerify.semantics.readings import DECIDED, Reading
from cerify.semantics.sase import syntax as sase


def bindings(q: sase.SaseQuery, S: Stream, reading: Reading = DECIDED, budget: Budget = Budget()) -> set[Bindings]:
    """What a query block binds. Raises Unsupported and BudgetExceeded."""
    found = compiled.matches(formula_for(q, S, reading), S, "valuations", budget)
    return {_in_sase(q, match.bindings or ()) for match in found}


def count(q: sase.SaseQuery, S: Stream, reading: Reading = DECIDED, budget: Budget = Budget()) -> int:
    """How many matches a query block has; none is built. Raises Unsupported and BudgetExceeded."""
    return CompiledCelEvaluator(formula_for(q, S, reading), output="valuations", budget=budget).count(S)


def first(
    q: sase.SaseQuery, S: Stream, limit: int, reading: Reading = DECIDED, budget: Budget = Budget()
) -> list[Bindings]:
    """The first matches, at most that many; no others are built. Raises Unsupported and BudgetExceeded."""
    found = CompiledCelEvaluator(formula_for(q, S, reading), output="valuations", budget=budget).push_stream(S, limit)
    return [_in_sase(q, match.bindings or ()) for match in found]


def formula_for(q: sase.SaseQuery, S: Stream, reading: Reading = DECIDED) -> cel.Formula:
    """The formula of what a query block binds, over streams with times like those of S. Raises Unsupported."""
    if q.within is not None and len(S):
        of_first = type(S[0].get(TIME))
        if of_first not in (int, float) or not ascend(S):
            raise Unsupported("a window of SASE+ is one of CEL here only if the times are numbers that ascend")
    alone = replace(q, having=None, source=None, returned=replace(q.returned, non_overlap=False))
    return sase_to_cel(alone, reading)


def _in_sase(q: sase.SaseQuery, pairs: Bindings) -> Bindings:
    """The bindings of the query's own variables, in the order of the pattern."""
    # A variable has a new name in CEL if an event type has the old one.
    positions, names = dict(pairs), Names(frozenset(k.type for k in q.pattern))
    return tuple((k.variable, positions[names.unused(k.variable)]) for k in q.pattern)
