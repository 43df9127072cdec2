"""A run that gathers its stream and evaluates it at the end, for queries that no evaluator of batches evaluates."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from cerify.api import planned
from cerify.languages.language import EvaluatorName, Options
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from cerify.semantics.matches import table_of_matches
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import NOTHING, Classes, Run

GATHERED: EvaluatorName = "kernel"  # the evaluator of gathered streams
EVENTS = 1_000_000  # of one stream, at most


class GatheredRun(Run):
    """A run whose state is all events so far."""

    streams: ClassVar[bool] = False

    def __init__(self, query: Query, budget: Budget) -> None:
        self.query, self.budget = query, budget
        self._parts: list[pa.Table] = []
        self._events = 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Keep the events; no matches. Raises BudgetExceeded."""
        self._events += table.num_rows
        if self._events > EVENTS:
            raise BudgetExceeded(
                f"this query is evaluated over its stream as a whole, which is gathered up to {EVENTS} events; "
                "partition by a finer key, or write the query without what looks at the whole stream"
            )
        self._parts.append(table)
        return NOTHING

    def finish(self) -> pa.Table:
        """All matches of the stream."""
        if not self._parts:
            return NOTHING
        S = Stream.from_table(pa.concat_tables(self._parts, promote_options="permissive"), self.query.schema)
        options = Options(self.query.output, self.budget)
        plan = planned(self.query.parsed, self.query.language, self.query.schema, options, GATHERED)
        return table_of_matches(plan.all_matches(S))
