"""Describe a query as it is sent to workers: plain data, which each worker parses.

Evaluators are not sent. Each worker compiles a query once and shares the result among all its keys and batches. Keys
may be many and their streams short: where the evaluator allows it, one call of its loops reads the streams of many
keys, one after the other (`Concatenated`). A query without such an evaluator has its streams gathered, within a limit.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from cerify.api import plan_query, read_query
from cerify.automata.dfa.evaluators import CompiledRunner
from cerify.automata.dfa.model import DFA, late_start
from cerify.automata.dfa.parametric import ParametricMonitor, Symbolic
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.scope import ReachBounds
from cerify.automata.evaluate.tables import MatchBatch, Numbers
from cerify.automata.evaluator import Evaluator, Output
from cerify.automata.nfab.compiled import CompiledBlockRunner
from cerify.automata.nfab.evaluate import StoredEvents
from cerify.automata.nfab.evaluators import SPARE, attributes_of, block_of, positions_of
from cerify.automata.nfab.moves import values_in
from cerify.automata.nfab.programs import why_not
from cerify.languages import DEFAULT, language_named
from cerify.languages.language import EvaluatorName, Evaluators, Language, Options
from cerify.plan import Found, Want, plan, reach_of
from cerify.semantics.arguments import Budget, too_many_matches
from cerify.semantics.cel.denote import NO_PREDICATES, Predicates
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported, errors_in
from cerify.semantics.events import TIME, Bindings, Match, Schema, Stream, result_of
from cerify.semantics.json_events import schema_of_json
from cerify.semantics.match_frames import result_schema, table_of_matches, table_of_positions
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.spark.rows import NOTHING, Classes, Longs, RowsOfKeys, SparkRun


@dataclass(frozen=True)
class SparkQuery:
    """The text of a query, its language, the output wanted, and the schema of the events or None.

    predicates: functions that a query of CEL names. Workers get them separately, because JSON cannot contain them.
    """

    text: str
    language: str = DEFAULT
    output: Output = "matches"
    schema: Schema | None = None
    predicates: Predicates = field(default_factory=dict, compare=False)

    @cached_property
    def parsed(self) -> Any:
        """Return the tree of the query, checked. Raises ParseError, IllFormed and Unsupported."""
        with errors_in(self.text):
            if type(self.plugin.evaluators).output_table is not Evaluators.output_table:
                raise Unsupported(f"{self.plugin.title} makes a table: use cerify.spark.match_recognize(df, clause)")
            if self.plugin.name == "sigma":
                raise Unsupported("queries in Sigma do not run on Spark yet; use cerify.match for each key")
            _, phi = read_query(self.text, self.language, self.schema)
            _ = plan(self.plugin, phi, self.schema, Want(self.options())).chosen_evaluator
            return phi

    def options(self, budget: Budget = Budget()) -> Options:
        """Return the query's output and predicates as the options of an evaluation with this budget."""
        return Options(self.output, budget, self.predicates)

    def in_cel(self, budget: Budget) -> Formula | Unsupported:
        """Return the query as a formula of CEL, or the reason why this is impossible (also if the formula is too
        large).
        """
        try:
            return self.plugin.deciders.in_cel(self.parsed, budget)
        except BudgetExceeded as error:
            return Unsupported(error.message, error.span)

    @property
    def plugin(self) -> Language[Any]:
        """Return the language. Raises IllFormed if there is none of that name."""
        return language_named(self.language)

    @cached_property
    def identity(self) -> str:
        """Return a text for the query's tree and options; queries with equal texts are the same."""
        types = None if self.schema is None else {name: dict(of) for name, of in sorted(self.schema.types.items())}
        return json.dumps([self.language, self.plugin.syntax.show(self.parsed), self.output, types], sort_keys=True)

    def to_json(self) -> str:
        """Return the query as JSON."""
        types = None if self.schema is None else {T: dict(names) for T, names in self.schema.types.items()}
        return json.dumps({"text": self.text, "language": self.language, "output": self.output, "schema": types})

    @classmethod
    def from_json(cls, text: str, predicates: Predicates = NO_PREDICATES) -> SparkQuery:
        """Return the query that `to_json` wrote, with these predicates."""
        fields = json.loads(text)
        schema = fields.pop("schema")
        return cls(**fields, schema=None if schema is None else schema_of_json(schema), predicates=predicates)


# ---------------------------------------------------------------------------------------------------------------------
# The reach of a query: how many events before a match it may depend on; that of a formula is in cerify.plan.


def reach_of_query(query: SparkQuery, budget: Budget) -> Found:
    """Return how far back the matches of a query look; None if they may depend on all earlier events."""
    phi = query.in_cel(budget)
    return reach_of_block(query.parsed) if isinstance(phi, Unsupported) else reach_of(phi)


def reach_of_block(q: Any, ahead: bool = False) -> Found:
    """Return how far back the matches of a SASE+ query look; None if nothing bounds this.

    A match must depend only on events in a window that ends with it. So no match may exclude another one, and the last
    component must be neither negated nor a Kleene plus, which extends until an event stops it. ahead: allows such a
    last component, because the caller also waits for the events in a window after the match. The bound is WITHIN, or
    the number of components if each one directly follows the one before.
    """
    # NON-OVERLAP compares matches with earlier ones, without a bound on how far back.
    if not isinstance(q, sase.SaseQuery) or q.source is not None or q.returned.non_overlap:
        return None
    if not ahead and (q.pattern[-1].kleene or q.pattern[-1].negated):
        return None
    adjacent = all(clauses.strategy_of(q, k.variable) == "strict_contiguity" for k in q.pattern[1:])
    if adjacent and not any(k.kleene or k.negated for k in q.pattern):
        return ReachBounds(len(q.pattern))
    return None if q.within is None else ReachBounds(1, ((TIME, q.within.seconds),))


# ---------------------------------------------------------------------------------------------------------------------
# A run over the streams of many keys, one after the other: one call of the compiled loops reads a whole batch of rows.
#
# Positions count on from stream to stream; `KeyedRows` says which rows are of which stream.


class Failures(ABC):
    """Records which streams of some rows have failed, by number. No more matches are searched in them."""

    streams: set[int]

    @abstractmethod
    def add(self, stream: int, error: CerifyError) -> None:
        """Record that a stream has failed with this error, or raise the error."""


class Concatenated(ABC):
    """A run over several streams, one after the other in the rows. position: the position of the next event."""

    position: int

    @abstractmethod
    def classes(self, table: pa.Table) -> Classes:
        """Return the class of each event of a table."""

    @abstractmethod
    def matches(self, rows: RowsOfKeys, failures: Failures) -> Iterator[MatchBatch]:
        """Read the next events, with their classes; yield the matches that they complete. Raises Unordered."""

    @abstractmethod
    def numbers(self, rows: RowsOfKeys, failures: Failures) -> Iterator[Numbers]:
        """Read the next events; yield positions, ascending, with the numbers of matches that the events complete."""

    @property
    def reaches(self) -> int:
        """Return a lower bound for the positions of the events in all matches that are still to be reported."""
        return 0

    @property
    def ascending(self) -> Mapping[str, bool]:
        """Return the attributes whose values must not decrease; True for an attribute that every event must have."""
        return {}


class ConcatenatedCel(Concatenated):
    """A run over consecutive streams by the compiled evaluator of CEL."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator, self.position = evaluator, 0

    def classes(self, table: pa.Table) -> Classes:
        """Return the class of each event; events of one class satisfy the same predicates of the automaton."""
        return self._evaluator.classes(Stream.from_table(table))

    def matches(self, rows: RowsOfKeys, failures: Failures) -> Iterator[MatchBatch]:
        """Yield the matches of the next events. A stream that has more matches in these rows than the budget allows
        fails.
        """
        E, first = self._evaluator, rows.origins(self.position)
        # The budget is one for each stream, although one call finds the matches of all.
        most, found = E.budget.matches, np.zeros(len(first), np.int64)
        for roots in E.advance(Stream.from_table(rows.table), rows.classes, rows.begins):
            while len(roots := roots[~np.isin(streams_of(first, roots[:, 0]), list(failures.streams))]):
                for matches in E.match_batches(roots):
                    found += np.bincount(streams_of(first, matches.at), minlength=len(first))
                    if not (over := set(np.flatnonzero(found > most).tolist()) - failures.streams):
                        yield matches
                        continue
                    stream = min(over)
                    failures.add(stream, too_many_matches(most))
                    yield matches.first(int((streams_of(first, matches.at) <= stream).sum()))
                    found[stream + 1 :] = 0  # these are enumerated again
                    roots = roots[streams_of(first, roots[:, 0]) > stream]
                    break
                else:
                    break
        self.position = E.position

    def numbers(self, rows: RowsOfKeys, failures: Failures) -> Iterator[Numbers]:
        """Yield positions, ascending, with the numbers of matches that the next events complete."""
        yield from self._evaluator.tallies(Stream.from_table(rows.table), rows.classes, rows.begins)
        self.position = self._evaluator.position

    @property
    def reaches(self) -> int:
        """Return the first position in the current windows; later matches contain no earlier one.

        Return 0 if a match may be reported after its last event.
        """
        return reaches(self._evaluator)

    @property
    def ascending(self) -> Mapping[str, bool]:
        """Return the attributes of windows on values, each with False, because an event may lack the attribute."""
        return dict.fromkeys((window.attribute for window in self._evaluator.range_windows), False)


def streams_of(first: Longs, positions: Longs | int) -> Longs:
    """Return the number of the stream to which each position belongs. first: the first position of each stream."""
    return np.asarray(np.searchsorted(first, positions, "right") - 1)


def reaches(E: CompiledCelEvaluator) -> int:
    """Return the first position in the current windows; later matches contain no earlier one.

    Return 0 if a match may be reported after its last event.
    """
    if not E.reports_at_last_event:
        return 0
    windows = [int(window.positions[0]) for window in E.range_windows if window.positions.size]
    return max([0, *windows, *([] if E.scope.events is None else [E.position + 1 - E.scope.events])])


class ConcatenatedExpression(Concatenated):
    """A run of an event expression over consecutive streams: the current state of its automaton.

    All runs of a process share the evaluator.
    """

    def __init__(self, evaluator: CompiledRunner) -> None:
        self._evaluator, self._states, self.position = evaluator, [0], 0

    def classes(self, table: pa.Table) -> Classes:
        """Return the class of each event; the automaton does not distinguish events of one class."""
        return self._evaluator.classes.of_stream(Stream.from_table(table))

    def matches(self, rows: RowsOfKeys, failures: Failures) -> Iterator[MatchBatch]:
        """Yield the matches of the next events."""
        at = self._find_positions(rows, failures)
        yield MatchBatch(at, np.arange(len(at) + 1), at, np.empty(0, np.int32))

    def numbers(self, rows: RowsOfKeys, failures: Failures) -> Iterator[Numbers]:
        """Yield positions, ascending, with the numbers of matches that the next events complete."""
        at = self._find_positions(rows, failures)
        yield at, np.ones(len(at), np.int64)

    def _find_positions(self, rows: RowsOfKeys, failures: Failures) -> Longs:
        """Return the positions at which the expression takes place. A stream with a late start event fails."""
        E, classes = self._evaluator, rows.classes
        assert classes is not None
        late = np.isin(classes, list(E.classes.starts))
        # A start event may be the first of its stream.
        late[rows.begins] = False
        for row in np.flatnonzero(late).tolist():
            stream = int(streams_of(rows.origins(), row))
            if stream not in failures.streams:
                failures.add(stream, late_start(row - int(rows.origins()[stream])))
        E.states, E.position = self._states, self.position
        (positions,) = E.read_classes(classes, rows.begins)
        self._states, self.position = E.states, E.position
        return np.asarray(positions)


# ---------------------------------------------------------------------------------------------------------------------
# The runs of queries, and the choice among them; what is compiled is shared by all runs of a process.

GATHERED: EvaluatorName = "kernel"  # the evaluator of gathered streams
EVENTS = 1_000_000  # of one stream, at most


class GatheredRun(SparkRun):
    """A run that stores all events of its stream; `finish` evaluates them."""

    streams: ClassVar[bool] = False

    def __init__(self, query: SparkQuery, budget: Budget) -> None:
        self.query, self.budget = query, budget
        self._parts: list[pa.Table] = []
        self._events = 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Store the events; return an empty table. Raises BudgetExceeded."""
        self._events += table.num_rows
        if self._events > EVENTS:
            raise BudgetExceeded(
                f"this query needs its whole stream in memory, at most {EVENTS} events; partition by a finer "
                "key, or remove the parts of the query that look at the whole stream"
            )
        self._parts.append(table)
        return NOTHING

    def finish(self) -> pa.Table:
        """Return all matches of the stream."""
        if not self._parts:
            return NOTHING
        S = Stream.from_table(pa.concat_tables(self._parts, promote_options="permissive"), self.query.schema)
        evaluator = None if self.query.predicates else GATHERED
        options = self.query.options(self.budget)
        plan = plan_query(self.query.parsed, self.query.language, self.query.schema, options, evaluator)
        return table_of_matches(plan.all_matches(S))


class CelRun(SparkRun):
    """The evaluation of a CEL query over one stream by the compiled evaluator."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator = evaluator

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Return the matches that these events complete. Raises Unordered if a window's attribute decreases."""
        E = self._evaluator
        if E.output == "valuations":
            return table_of_matches(E.push_stream(Stream.from_table(table), None, classes))
        found = E.push_arrow(table, None, classes)
        return table_of_positions(found["at"], found["events"]) if found.num_rows else NOTHING

    @property
    def ascending(self) -> Mapping[str, bool]:
        """Return the attributes of windows on values, each with False, because an event may lack the attribute."""
        return dict.fromkeys((window.attribute for window in self._evaluator.range_windows), False)

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Read events and return the number of matches that they complete, without listing these."""
        return self._evaluator.tally(Stream.from_table(table), classes)

    def classes(self, table: pa.Table) -> Classes:
        """Return the class of each event; events of one class satisfy the same predicates of the automaton."""
        return self._evaluator.classes(Stream.from_table(table))

    @property
    def reaches(self) -> int:
        """Return the first position in the current windows; later matches contain no earlier one.

        Return 0 if a match may be reported after its last event.
        """
        return reaches(self._evaluator)


class BatchRun(SparkRun):
    """A run by any evaluator that reads batches, except those that have a class of their own here."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Return the matches that these events make certain."""
        return table_of_matches(self._evaluator.push_stream(Stream.from_table(table)))

    def finish(self) -> pa.Table:
        """Return the matches that the end of the stream makes certain."""
        return table_of_matches(self._evaluator.flush())


def automaton_of(query: SparkQuery, budget: Budget) -> DFA | None:
    """Return the finite automaton of an event expression; None for a query that has no such automaton."""
    return query.plugin.evaluators.dfa(query.parsed, query.schema, budget)


class ExpressionRun(SparkRun):
    """A run of an event expression: the current state of its automaton. All runs of the expression share the
    evaluator.
    """

    def __init__(self, evaluator: CompiledRunner) -> None:
        self._evaluator = evaluator
        self._states, self._position = [0], 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Return a match for each event at which the expression takes place."""
        return _match_each_event(self._find_positions(table, classes))

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Read events and return the number of events at which the expression takes place."""
        return len(self._find_positions(table, classes))

    def classes(self, table: pa.Table) -> Classes:
        """Return the class of each event; the automaton does not distinguish events of one class."""
        return self._evaluator.classes.of_stream(Stream.from_table(table))

    def _find_positions(self, table: pa.Table, classes: Classes | None) -> pa.Array:
        E = self._evaluator
        E.states, E.position = self._states, self._position
        (positions,) = E.read_classes(self.classes(table) if classes is None else classes)
        self._states, self._position = E.states, E.position
        return pa.array(positions, pa.int64())


class ParametricRun(SparkRun):
    """The evaluation of an event expression with attribute variables over one stream."""

    def __init__(self, symbolic: Symbolic, budget: Budget) -> None:
        self._machines = ParametricMonitor(symbolic, budget)

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Return a match for each event at which the expression takes place for some values."""
        return _match_each_event(pa.array(self._machines.advance(Stream.from_table(table)), pa.int64()))


def _match_each_event(positions: pa.Array) -> pa.Table:
    """Return a match of one event for each position."""
    if not len(positions):
        return NOTHING
    offsets = pa.array(range(len(positions) + 1), pa.int32())
    return table_of_positions(positions, pa.ListArray.from_arrays(offsets, positions))


class SaseRun(SparkRun):
    """A run by an evaluator of SASE+. It stores the rows that matches may still contain: all since the oldest run
    began.

    If the evaluator cannot read the first rows, the run stores the whole stream, and `finish` evaluates it.
    """

    def __init__(self, query: SparkQuery, budget: Budget, evaluator: CompiledBlockRunner) -> None:
        self.q: sase.SaseQuery = query.parsed
        self._query, self._budget = query, budget
        self._evaluator = evaluator.fresh()
        self._rows, self._most = StoredEvents(), min(SPARE, EVENTS)
        self._gathered: GatheredRun | None = None

    @property
    def ascending(self) -> Mapping[str, bool]:
        """Return {time: True} if the query has a window: times must not decrease, and every event needs a time.

        Without a window, return {}.
        """
        return {} if self.q.within is None else {TIME: True}

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Return the matches that these events complete. Raises BudgetExceeded if too many rows would have to be
        stored.
        """
        if (known := self._find_matches(table)) is None:
            assert self._gathered is not None
            return self._gathered.push(table)
        return table_of_matches(self._matches(known))

    def finish(self) -> pa.Table:
        """Return the matches that the end of the stream completes."""
        if self._gathered is not None:
            return self._gathered.finish()
        return table_of_matches(self._matches(self._evaluator.finish()))

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Return the number of matches that these events complete; without HAVING they are not listed."""
        if self.q.having is not None or self._gathered is not None:
            return super().count(table)
        found = self._evaluator.tried_count(table)
        if isinstance(found, Unsupported):
            self._gather(found)
            return super().count(table)
        return found

    def finish_count(self) -> int:
        """Return the number of matches that the end of the stream completes."""
        if self.q.having is not None or self._gathered is not None:
            return super().finish_count()
        return self._evaluator.finish_count()

    def _find_matches(self, table: pa.Table) -> pa.Table | None:
        if self._gathered is not None:
            return None
        rows = self._rows
        if len(rows) + table.num_rows - rows.start > self._most:
            rows.delete_before(self._evaluator.oldest())
            # Twice what is needed now, so that rows are deleted seldom and the cost for each row stays constant.
            self._most = min(2 * (len(rows) - rows.start) + SPARE, EVENTS)
        known = self._evaluator.try_advance(table)
        if isinstance(known, Unsupported):
            self._gather(known)
            return None
        rows.add(Stream.from_table(table))
        if len(rows) - rows.start > EVENTS:
            raise BudgetExceeded(
                f"RETURN needs the events of matches, and more than {EVENTS} events of a key would be kept for it; set "
                "a shorter window by WITHIN, or count the matches"
            )
        return known

    def _gather(self, refused: Unsupported) -> None:
        """Store the stream from its beginning. Raises the given reason if the evaluator has already read a part
        of it.
        """
        # Rows that were read are gone, so the stream can be gathered only from its beginning.
        if self._evaluator.position:
            raise refused
        self._gathered = GatheredRun(self._query, self._budget)

    def _matches(self, known: pa.Table) -> list[Match]:
        variables = self._evaluator.variables
        columns = [known[variable].to_pylist() for variable in variables]
        # A dict as an ordered set: the runner can find one match in several ways.
        found: dict[Bindings, None] = {}
        for row in zip(*columns, strict=True):
            found[tuple((v, tuple(positions)) for v, positions in zip(variables, row, strict=True))] = None
            if len(found) > self._budget.matches:
                raise BudgetExceeded(
                    f"there are more than {self._budget.matches} matches at a time; count them, or set WITHIN"
                )
        return sorted(self._match(m) for m in found if self._has(m))

    def _match(self, m: Bindings) -> Match:
        events = positions_of(m)
        return Match(max(events), events, tuple(sorted(m)), result_of(attributes_of(self.q, m, self._rows)))

    def _has(self, m: Bindings) -> bool:
        return self.q.having is None or satisfied(self.q.having, values_in(m, self._rows))


class SaseStreams:
    """Finds the matches of a query block in many whole streams by one pass.

    Starting a run for each stream would cost more than evaluating its events.
    """

    def __init__(self, q: sase.SaseQuery, budget: Budget) -> None:
        self._q, self._runner = q, CompiledBlockRunner(q, budget=budget)

    def matches(self, table: pa.Table, firsts: Longs) -> pa.Table | Unsupported:
        """Return the matches, ordered by `at`, as a table with the schema `result_schema`. Positions are rows of the
        table.

        firsts: the rows at which the streams begin. Returns Unsupported if one pass is impossible. Raises
        BudgetExceeded; the budget is for all streams together.
        """
        found = self._runner.match_streams(table, firsts)
        if isinstance(found, Unsupported):
            return found
        if not len(found):
            return NOTHING
        q, variables, lengths = self._q, sorted(self._runner.variables), np.diff(found.offsets)
        rank = np.array([variables.index(v) for v in self._runner.variables])[found.labels]
        number = np.empty(len(found), np.int64)  # of each match in the order by `at`
        number[np.argsort(found.events[found.offsets[1:] - 1], kind="stable")] = np.arange(len(found))
        parents = np.repeat(number, lengths)
        events = found.events[np.lexsort((found.events, parents))]
        bound = found.events[np.lexsort((found.events, rank, parents))]
        sizes = np.bincount(parents * len(variables) + rank, minlength=len(found) * len(variables))
        lists = pa.ListArray.from_arrays(_offsets(sizes), pa.array(bound))
        names = pa.array(variables).take(pa.array(np.tile(np.arange(len(variables)), len(found))))
        each = _offsets(np.full(len(found), len(variables)))
        ends = _offsets(np.bincount(parents))
        columns = [
            pa.array(events[ends.to_numpy()[1:] - 1]),
            pa.ListArray.from_arrays(ends, pa.array(events)),
            pa.MapArray.from_arrays(each, names, lists),
        ]
        if q.having is None and not q.returned.items:
            return pa.table([*columns, pa.repeat(result_of({}).text, len(found))], result_schema())
        S = StoredEvents()
        S.add(Stream.from_table(table))
        stand, results = [], []
        for i, bindings in enumerate(columns[2].to_pylist()):
            if q.having is None or satisfied(q.having, values_in(bindings, S)):
                stand.append(i)
                results.append(result_of(attributes_of(q, bindings, S)).text)
        return pa.table(
            [*(column.take(pa.array(stand, pa.int64())) for column in columns), pa.array(results, pa.string())],
            result_schema(),
        )


def _offsets(sizes: Longs) -> pa.Array:
    """Return the offsets of lists of these sizes."""
    return pa.array(np.append(0, np.cumsum(sizes)), pa.int32())


Make: TypeAlias = Callable[[], SparkRun]
QUERIES = 64  # compiled queries cached in a process


def start(query: SparkQuery, budget: Budget = Budget()) -> SparkRun:
    """Return a run at the beginning of a stream. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""
    return starting(query, budget)()


def starting(query: SparkQuery, budget: Budget = Budget()) -> Make:
    """Return a function that starts a run of the query. Raises what `start` raises."""
    # Functions of a user cannot be part of the key of a cache: two that are equal by name may differ.
    return partial(GatheredRun, query, budget) if query.predicates else _makes(query.to_json(), budget)[0]


def whole_streams(query: SparkQuery, budget: Budget = Budget()) -> SaseStreams | None:
    """Return an evaluator that finds the matches of several whole streams in one pass; None if there is none.

    It is for queries for which `concatenated` returns None.
    """
    return None if query.predicates else _whole_streams(query.to_json(), budget)


@lru_cache(QUERIES)
def _whole_streams(text: str, budget: Budget) -> SaseStreams | None:
    block = block_of(SparkQuery.from_json(text).parsed)
    return None if isinstance(block, Unsupported) or why_not(block) is not None else SaseStreams(block, budget)


def concatenated(query: SparkQuery, budget: Budget = Budget()) -> Concatenated | None:
    """Return a run over consecutive streams; None if each stream needs its own run. Raises what `start` raises."""
    make = None if query.predicates else _makes(query.to_json(), budget)[1]
    return None if make is None else make()


@lru_cache(QUERIES)
def _makes(text: str, budget: Budget) -> tuple[Make, Callable[[], Concatenated] | None]:
    query = SparkQuery.from_json(text)
    if find_spec("numba") is None:
        raise Unsupported("cerify.spark needs numba on every worker: pip install 'cerify[spark]'")
    _ = query.parsed  # raises the errors of the query
    with errors_in(query.text):
        match query.plugin.evaluators.streamed(query.parsed, query.schema, Options(query.output, budget)):
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
            case Evaluator() as fresh:
                return lambda: BatchRun(fresh.fresh()), None
            case sase.SaseQuery():
                return partial(SaseRun, query, budget, CompiledBlockRunner(query.parsed, budget=budget)), None
            case other:
                raise Unsupported(f"no run evaluates a {type(other).__name__}")
