"""The runs of queries, and the choice among them; what is compiled is shared by all runs of a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import ClassVar, TypeAlias

import pyarrow as pa

from cerify.api import planned
from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.dfa.parametric import ParametricMonitor, Symbolic
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.nfab.compiled import CompiledBlockRunner
from cerify.automata.nfab.evaluators import SPARE
from cerify.automata.nfab.instances import values_in
from cerify.automata.nfab.results import attributes_of, positions_of
from cerify.automata.nfab.stored import StoredEvents
from cerify.languages.language import EvaluatorName, Options
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported, errors_in
from cerify.semantics.events import TIME, Bindings, Match, Stream, result_of
from cerify.semantics.match_tables import table_of_matches
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import syntax as sase
from cerify.spark.runs.concatenated import Concatenated, ConcatenatedCel, ConcatenatedExpression, reaches
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import NOTHING, Classes, Run, of_events

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
        evaluator = None if self.query.predicates else GATHERED
        options = self.query.options(self.budget)
        plan = planned(self.query.parsed, self.query.language, self.query.schema, options, evaluator)
        return table_of_matches(plan.all_matches(S))


class CelRun(Run):
    """A run by the compiled evaluator."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator = evaluator

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches that these events complete. Raises Unordered where a window's attribute decreases."""
        E = self._evaluator
        if E.output == "valuations":
            return table_of_matches(E.read(Stream.from_table(table), None, classes))
        found = E.push_arrow(table, None, classes)
        return of_events(found["at"], found["events"]) if found.num_rows else NOTHING

    @property
    def ascending(self) -> Mapping[str, bool]:
        """The attributes of windows on values."""
        return dict.fromkeys((window.attribute for window in self._evaluator.range_windows), False)

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """The number of these matches, without listing them."""
        return self._evaluator.tally(Stream.from_table(table), classes)

    def classes(self, table: pa.Table) -> Classes:
        """The classes of events by the predicates of the automaton."""
        return self._evaluator.classes(Stream.from_table(table))

    @property
    def reaches(self) -> int:
        """The position at which the windows begin if matches end where they are reported, else 0."""
        return reaches(self._evaluator)


def automaton_of(query: Query, budget: Budget) -> DFA | None:
    """The finite automaton that finds the matches of a query; None if it has none."""
    return query.plugin.dfa(query.parsed, query.schema, budget)


class ExpressionRun(Run):
    """A run in one state of an automaton; all runs of the expression share the evaluator."""

    def __init__(self, evaluator: CompiledRunner) -> None:
        self._evaluator = evaluator
        self._states, self._position = [0], 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """A match for each event at which the expression takes place."""
        return _each(self._read(table, classes))

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """The number of these matches."""
        return len(self._read(table, classes))

    def classes(self, table: pa.Table) -> Classes:
        """For each event its letter in the alphabet of the automaton."""
        return self._evaluator.classes.of_stream(Stream.from_table(table))

    def _read(self, table: pa.Table, classes: Classes | None) -> pa.Array:
        E = self._evaluator
        E.states, E.position = self._states, self._position
        (positions,) = E.read_classes(self.classes(table) if classes is None else classes)
        self._states, self._position = E.states, E.position
        return pa.array(positions, pa.int64())


class ParametricRun(Run):
    """An expression with attribute variables."""

    def __init__(self, symbolic: Symbolic, budget: Budget) -> None:
        self._machines = ParametricMonitor(symbolic, budget)

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """A match for each event at which the expression takes place for some values."""
        return _each(pa.array(self._machines.read(Stream.from_table(table)), pa.int64()))


def _each(positions: pa.Array) -> pa.Table:
    """A match of one event for each position."""
    if not len(positions):
        return NOTHING
    offsets = pa.array(range(len(positions) + 1), pa.int32())
    return of_events(positions, pa.ListArray.from_arrays(offsets, positions))


class SaseRun(Run):
    """An evaluator of batches, and the rows that a match may still have: those since the oldest run under way.

    The stream is gathered if the evaluator cannot read the first rows.
    """

    def __init__(self, query: Query, budget: Budget, evaluator: CompiledBlockRunner) -> None:
        self.q: sase.Query = query.parsed
        self._query, self._budget = query, budget
        self._evaluator = evaluator.fresh()
        self._rows, self._most = StoredEvents(), min(SPARE, EVENTS)
        self._gathered: GatheredRun | None = None

    @property
    def ascending(self) -> Mapping[str, bool]:
        """With WITHIN every event needs a time."""
        return {} if self.q.within is None else {TIME: True}

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


Make: TypeAlias = Callable[[], Run]
QUERIES = 64  # compiled queries cached in a process


def start(query: Query, budget: Budget = Budget()) -> Run:
    """A run at the beginning of a stream. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""
    return starting(query, budget)()


def starting(query: Query, budget: Budget = Budget()) -> Make:
    """A function that returns such runs. Raises what start raises."""
    return partial(GatheredRun, query, budget) if query.predicates else _makes(query.to_json(), budget)[0]


def concatenated(query: Query, budget: Budget = Budget()) -> Concatenated | None:
    """A run over streams one after the other; None if each stream needs a run of its own. Raises what start raises."""
    make = None if query.predicates else _makes(query.to_json(), budget)[1]
    return None if make is None else make()


@lru_cache(QUERIES)
def _makes(text: str, budget: Budget) -> tuple[Make, Callable[[], Concatenated] | None]:
    query = Query.from_json(text)
    if find_spec("numba") is None:
        raise Unsupported("cerify.spark needs numba on every worker: pip install 'cerify[spark]'")
    _ = query.parsed  # raises the errors of the query
    with errors_in(query.text):
        match query.plugin.streamed(query.parsed, query.schema, Options(query.output, budget)):
            case Unsupported():
                return partial(GatheredRun, query, budget), None
            case CompiledCelEvaluator() as first:
                together = None if query.output == "valuations" else lambda: ConcatenatedCel(first.fresh())
                return lambda: CelRun(first.fresh()), together
            case DFA() as A:
                runner = CompiledRunner([A])
                return partial(ExpressionRun, runner), partial(ConcatenatedExpression, runner)
            case Symbolic() as machine:
                return partial(ParametricRun, machine, budget), None
            case sase.Query():
                return partial(SaseRun, query, budget, CompiledBlockRunner(query.parsed, budget=budget)), None
            case other:
                raise Unsupported(f"no run evaluates a {type(other).__name__}")
