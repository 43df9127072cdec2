"""Runs of SASE+: the compiled evaluator of a query block, and the rows that RETURN reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import pyarrow as pa
import pyarrow.compute as pc

from cerify.automata.nfab.compiled import CompiledBlockRunner
from cerify.automata.nfab.instances import values_in
from cerify.automata.nfab.results import attributes_of, positions_of
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TIME, Bindings, Event, Match, Stream, result_of
from cerify.semantics.matches import table_of_matches
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import ARROW
from cerify.spark.runs.gathered import EVENTS, GatheredRun
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import Classes, Run


class SaseRun(Run):
    """An evaluator of batches, and the rows that a match may still have: those of the window, or all.

    The stream is gathered if the evaluator cannot read the first rows.
    """

    def __init__(self, query: Query, budget: Budget) -> None:
        self.q: sase.Query = query.parsed
        self._query, self._budget = query, budget
        self._evaluator = CompiledBlockRunner(self.q, budget=budget)
        self._rows = _Rows()
        self._gathered: GatheredRun | None = None

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches that these events complete. Raises BudgetExceeded for too many rows without a window."""
        if (known := self._read(table)) is None:
            assert self._gathered is not None
            return self._gathered.push(table)
        found = table_of_matches(self._matches(known))
        self._rows.discard_old(self.q)
        return found

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
        known = self._evaluator.tried(table)
        if isinstance(known, Unsupported):
            self._gather(known)
            return None
        self._rows.add(table)
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


class _Rows(Sequence[Event]):
    """The rows of a stream from some position on, by position."""

    def __init__(self) -> None:
        self._first = 0
        self._parts: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        self._parts.append(table)
        if len(self) - self._first > EVENTS:
            raise BudgetExceeded(
                f"without WITHIN, or within so long a window, more than {EVENTS} events of a key would be kept for "
                "RETURN; set a shorter window, or count the matches"
            )

    def discard_old(self, q: sase.Query) -> None:
        """Discard the rows that the window has passed."""
        if q.within is None or not self._parts or not self._parts[-1].num_rows:
            return
        last = self._parts[-1][TIME]
        ticks = 10**6 if pa.types.is_timestamp(last.type) else 1
        low = _numbers(last)[-1].as_py() - q.within.seconds * ticks
        while self._parts:
            part = self._parts[0]
            old = pc.sum(pc.less(_numbers(part[TIME]), low)).as_py() or 0
            self._first += old
            if old < part.num_rows:
                self._parts[0] = part.slice(old)
                return
            del self._parts[0]

    def __len__(self) -> int:
        kept: int = sum(part.num_rows for part in self._parts)
        return self._first + kept

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        assert isinstance(index, int)
        at = index - self._first
        for part in self._parts:
            if at < part.num_rows:
                return Stream.from_table(part.slice(at, 1))[0]
            at -= part.num_rows
        raise IndexError(index)

    def __iter__(self) -> Iterator[Event]:
        return (self[p] for p in range(self._first, len(self)))


def _numbers(times: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(times.type):
        times = times.cast(ARROW["timestamp"]).cast(pa.int64())
    return times.cast(pa.float64())
