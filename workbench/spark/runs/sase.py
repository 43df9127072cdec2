"""Runs of SASE+: the compiled evaluator of a query block, and the rows that RETURN reads."""

from __future__ import annotations

import pyarrow as pa

from cerify.automata.nfab.compiled import CompiledBlockRunner
from cerify.automata.nfab.evaluators import SPARE
from cerify.automata.nfab.instances import values_in
from cerify.automata.nfab.results import attributes_of, positions_of
from cerify.automata.nfab.stored import StoredEvents
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Bindings, Match, Stream, result_of
from cerify.semantics.matches import table_of_matches
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import syntax as sase
from cerify.spark.runs.gathered import EVENTS, GatheredRun
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import Classes, Run


class SaseRun(Run):
    """An evaluator of batches, and the rows that a match may still have: those since the oldest run under way.

    The stream is gathered if the evaluator cannot read the first rows.
    """

    def __init__(self, query: Query, budget: Budget) -> None:
        self.q: sase.Query = query.parsed
        self._query, self._budget = query, budget
        self._evaluator = CompiledBlockRunner(self.q, budget=budget)
        self._rows, self._most = StoredEvents(), min(SPARE, EVENTS)
        self._gathered: GatheredRun | None = None

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches that these events complete. Raises BudgetExceeded for too many rows without a window."""
        if (known := self._read(table)) is None:
            assert self._gathered is not None
            return self._gathered.push(table)
        return table_of_matches(self._matches(known))

    def finish(self) -> pa.Table:
        """The matches that the end of the stream completes."""
        if self._gathered is not None:
            return self._gathered.finish()
        return table_of_matches(self._matches(self._evaluator.finish()))

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """The number of matches that these events complete; without HAVING they are not listed."""
        if self.q.having is not None or self._gathered is not None:
            return super().count(table)
        found = self._evaluator.tried_count(table)
        if isinstance(found, Unsupported):
            self._gather(found)
            return super().count(table)
        return found

    def finish_count(self) -> int:
        """The number of matches that the end of the stream completes."""
        if self.q.having is not None or self._gathered is not None:
            return super().finish_count()
        return self._evaluator.finish_count()

    def _read(self, table: pa.Table) -> pa.Table | None:
        if self._gathered is not None:
            return None
        rows = self._rows
        if len(rows) + table.num_rows - rows.start > self._most:
            rows.delete_before(self._evaluator.oldest())
            self._most = min(2 * (len(rows) - rows.start) + SPARE, EVENTS)
        known = self._evaluator.tried(table)
        if isinstance(known, Unsupported):
            self._gather(known)
            return None
        rows.add(Stream.from_table(table))
        if len(rows) - rows.start > EVENTS:
            raise BudgetExceeded(
                f"without WITHIN, or within so long a window, more than {EVENTS} events of a key would be kept for "
                "RETURN; set a shorter window, or count the matches"
            )
        return known

    def _gather(self, refused: Unsupported) -> None:
        """Gather the stream from its beginning. Raises the reason if the evaluator has read a part of it."""
        if self._evaluator.position:
            raise refused
        self._gathered = GatheredRun(self._query, self._budget)

    def _matches(self, known: pa.Table) -> list[Match]:
        variables = self._evaluator.variables
        columns = [known[variable].to_pylist() for variable in variables]
        found: dict[Bindings, None] = {}
        for row in zip(*columns, strict=True):
            found[tuple((v, tuple(positions)) for v, positions in zip(variables, row, strict=True))] = None
            if len(found) > self._budget.matches:
                raise BudgetExceeded(f"more than {self._budget.matches} matches at a time; count them, or set WITHIN")
        return sorted(self._match(m) for m in found if self._has(m))

    def _match(self, m: Bindings) -> Match:
        events = positions_of(m)
        return Match(max(events), events, tuple(sorted(m)), result_of(attributes_of(self.q, m, self._rows)))

    def _has(self, m: Bindings) -> bool:
        return self.q.having is None or satisfied(self.q.having, values_in(m, self._rows))
