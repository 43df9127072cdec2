"""The choice of the run of a query. What is compiled is shared by the runs of all streams in a process."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TypeAlias

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.dfa.parametric import Symbolic
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.languages.language import Options
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported, errors_in
from cerify.semantics.sase import syntax as sase
from cerify.spark.runs.cel import CelRun
from cerify.spark.runs.expression import ExpressionRun, ParametricRun
from cerify.spark.runs.gathered import GatheredRun
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import Run
from cerify.spark.runs.sase import SaseRun

Make: TypeAlias = Callable[[], Run]
QUERIES = 64  # compiled queries cached in a process


def start(query: Query, budget: Budget = Budget()) -> Run:
    """A run at the beginning of a stream. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""
    return starting(query, budget)()


def starting(query: Query, budget: Budget = Budget()) -> Make:
    """A function that returns such runs. Raises what start raises."""
    return _makes(query.to_json(), budget)


@lru_cache(QUERIES)
def _makes(text: str, budget: Budget) -> Make:
    query = Query.from_json(text)
    if find_spec("numba") is None:
        raise Unsupported("cerify.spark needs numba on every worker: pip install 'cerify[spark]'")
    _ = query.parsed  # raises the errors of the query
    with errors_in(query.text):
        match query.plugin.streamed(query.parsed, query.schema, Options(query.output, budget)):
            case Unsupported():
                return partial(GatheredRun, query, budget)
            case CompiledCelEvaluator() as first:
                return lambda: CelRun(first.fresh())
            case DFA() as A:
                return partial(ExpressionRun, CompiledRunner([A]))
            case Symbolic() as machine:
                return partial(ParametricRun, machine, budget)
            case sase.Query():
                return partial(SaseRun, query, budget)
            case other:
                raise Unsupported(f"no run evaluates a {type(other).__name__}")
