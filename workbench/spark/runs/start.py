"""Which run a query has: what evaluates it, stream after stream; what is compiled is kept from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, TypeAlias

from cerify.automata.dfa.arguments import order_under
from cerify.automata.dfa.compiled import CompiledEvaluator
from cerify.automata.dfa.parametric import symbolic
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.evaluators import EVENT_EXPRESSION, SASE
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported, errors_in
from cerify.spark.runs.cel import CelRun
from cerify.spark.runs.expression import ExpressionRun, ParametricRun, automaton_of
from cerify.spark.runs.gathered import GatheredRun
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import Run
from cerify.spark.runs.sase import SaseRun, is_carried

Make: TypeAlias = Callable[[], Run]
QUERIES = 64  # that a process keeps compiled


def start(query: Query, budget: Budget = Budget()) -> Run:
    """A run over a stream of which nothing is known yet. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""
    return starting(query, budget)()


def starting(query: Query, budget: Budget = Budget()) -> Make:
    """What gives such runs. Raises as start."""
    return _makes(query.to_json(), budget)


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
    first = CompiledCelEvaluator(query.in_cel(budget), output=query.output, budget=budget)
    return lambda: CelRun(first.fresh())


def _expressions(E: Any, query: Query, budget: Budget) -> Make:
    if (A := automaton_of(query, budget)) is not None:
        return partial(ExpressionRun, CompiledEvaluator([A]))
    if query.schema is None:
        raise Unsupported("which attribute is meant, only the whole stream says")
    return partial(ParametricRun, symbolic(E, order_under(query.schema), budget), budget)
