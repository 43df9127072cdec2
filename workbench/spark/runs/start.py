"""Which run a query has: what evaluates it, stream after stream; what is compiled is kept from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, TypeAlias

from cerify.automata.dfa.compiled import CompiledEvaluator
from cerify.automata.dfa.spawned import symbolic
from cerify.automata.dfa.valued import Valued
from cerify.equivalence.rewrite.translate.to_cel import to_cel
from cerify.evaluators import CEL, CORE_CEL, EVENT_EXPRESSION, SASE
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported, errors_in
from cerify.semantics.gehani.history import in_order
from cerify.semantics.gehani.opened import opened
from cerify.spark.runs import cel
from cerify.spark.runs.expression import ExpressionRun, SpawnedRun
from cerify.spark.runs.gathered import GatheredRun
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import Run
from cerify.spark.runs.sase import SaseRun, is_carried

Make: TypeAlias = Callable[[], Run]
QUERIES = 64  # that a process keeps compiled


def start(query: Query, budget: Budget = Budget()) -> Run:
    """A run over a stream of which nothing is known yet. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""
    return _makes(query.to_json(), budget)()


def restore(query: Query, saved: bytes, budget: Budget = Budget()) -> Run:
    """The run that was saved. Raises InputError for the state of anything else, and Unsupported."""
    with errors_in(query.text):
        return cel.restored(_in_cel(query, budget), query.output, budget, saved)


@lru_cache(QUERIES)
def _makes(text: str, budget: Budget) -> Make:
    query = Query.from_json(text)
    if find_spec("numba") is None:
        raise Unsupported("cerify.spark needs numba on every worker: pip install 'cerify[spark]'")
    phi = query.parsed
    with errors_in(query.text):
        try:
            return _streaming(phi, query, budget)
        except Unsupported:
            return partial(GatheredRun, query, budget)


def _streaming(phi: Any, query: Query, budget: Budget) -> Make:
    """Runs that tell matches as they come. Raises Unsupported where there are none."""
    if query.spoken is EVENT_EXPRESSION:
        return _expressions(phi, query, budget)
    if query.spoken is SASE:
        if not is_carried(phi):
            raise Unsupported("it is known at the end")
        SaseRun(query, budget)
        return partial(SaseRun, query, budget)
    return partial(cel.CelRun, cel.shared_of(_in_cel(query, budget), query.output, budget))


def _in_cel(query: Query, budget: Budget) -> Any:
    """The query as a formula of CEL. Raises Unsupported where there is none."""
    if query.spoken is CEL:
        return query.parsed
    if query.spoken is not CORE_CEL:
        raise Unsupported(f"of a query in {query.language} no state can be saved")
    try:
        return to_cel(query.parsed, budget)
    except BudgetExceeded as error:
        raise Unsupported(error.message, error.span) from None


def _expressions(E: Any, query: Query, budget: Budget) -> Make:
    order = {} if query.schema is None else in_order(query.schema)
    if opened(E).variables:
        if query.schema is None:
            raise Unsupported("which attribute is meant, only the whole stream says")
        return partial(SpawnedRun, symbolic(E, order, budget), budget)
    return partial(ExpressionRun, CompiledEvaluator([Valued(E, order, budget).automaton(())]))
