"""The choice of the state that a query has between batches."""

from __future__ import annotations

from functools import lru_cache

from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.evaluate.partitions import batch_scope
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported, errors_in
from cerify.semantics.events import TIME
from cerify.spark.runs.expression import automaton_of
from cerify.spark.runs.query import Query
from cerify.spark.runs.reach import reach_of_query
from cerify.spark.streams.cel_states import CompiledCel
from cerify.spark.streams.expression_states import CompiledExpression
from cerify.spark.streams.resumable import Compiled
from cerify.spark.streams.window_states import CompiledWindow

QUERIES = 16  # compiled queries cached in a process


@lru_cache(QUERIES)
def compiled(text: str, clock: str = TIME, budget: Budget = Budget()) -> Compiled:
    """The compiled query of this JSON, cached; its rows are ordered by the attribute clock.

    Raises ParseError, IllFormed, Unsupported, BudgetExceeded.
    """
    query = Query.from_json(text)
    with errors_in(query.text):
        if (A := automaton_of(query, budget)) is not None:
            return CompiledExpression(A)
        phi = query.in_cel(budget)
        scope = phi if isinstance(phi, Unsupported) else batch_scope(phi)
        if not isinstance(phi, Unsupported) and not isinstance(scope, Unsupported):
            return CompiledCel(CompiledCelEvaluator(phi, query.output, budget=budget, scope=scope))
        assert isinstance(scope, Unsupported)
        reach = reach_of_query(query, budget)
        if reach is None or not {a for a, _ in reach.widths} <= {clock}:
            raise _refused(query, scope)
        return CompiledWindow(query, budget, reach)


def _refused(query: Query, error: Unsupported) -> Unsupported:
    if query.plugin.unsaved:
        return Unsupported(query.plugin.unsaved)
    return Unsupported(
        f"{error.message}; or put WITHIN around it, some events or on the time, which bounds the state",
        error.span,
    )
