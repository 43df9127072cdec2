"""Describe how a query would run over a data frame: the tasks, what is shuffled, and what is kept. No row is read.

The description comes from the same plan that `match` would run, so the two agree. `key_costs` is the exception: it runs
the query and measures each key, to find the keys that make a task slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.languages.language import Options
from cerify.semantics.arguments import Budget, require_keywords
from cerify.semantics.cel.denote import Predicates
from cerify.semantics.errors import CerifyError, InputError, InternalError, Unsupported, errors_in
from cerify.spark.batch import MatchOptions, Prepared, by_key, prepare
from cerify.spark.chunks import ADVICE, OLD, transfer_of, width_in_places
from cerify.spark.columns import KnownTypes, column, map_in_arrow, require_frame, selected, tolerated
from cerify.spark.row_patterns import described_clause
from cerify.spark.rows import AT_ONCE, Columns, SparkRows, SparkRun, gathered, rows_of
from cerify.spark.runs import EVENTS, SparkQuery, concatenated, reach_of_query, starting
from cerify.spark.session import CHUNKS, release
from cerify.spark.streaming import PreparedStream, StreamOptions, match_stream
from cerify.spark.streaming import prepare as prepare_stream
from cerify.spark.transport import serialize_error

OWN = ("watermark", "observe")  # the options of match_stream that do not concern the plan


def describe(df: DataFrame, query: str, **options: Any) -> str:
    """Describe in some lines how a query would run over a data frame.

    The options are those of `match`, or of `match_stream` for a streaming data frame. For a clause MATCH_RECOGNIZE
    there are no options. Raises what these functions raise. Rows are read only for the option `sample`.
    """
    require_frame(df)
    if re.match(r"\s*MATCH_RECOGNIZE\b", query, re.IGNORECASE):
        lines = described_clause(df, query)
    elif df.isStreaming:
        require_keywords(match_stream, options, StreamOptions)
        known: Any = {k: v for k, v in options.items() if k not in OWN}
        lines = _described_stream(prepare_stream(df, query, known))
    else:
        require_keywords(describe, options, MatchOptions)
        lines = _described_match(prepare(df, query, options))  # type: ignore[arg-type]  # checked
    return "\n".join(f"{name:<12}{line}" for name, line in lines.items())


def _described_match(given: Prepared) -> dict[str, str]:
    df, query, columns = given.df, given.query, given.columns
    lines = {
        "streams": f"one for each {', '.join(columns.keys)}" if columns.keys else "one, of all rows",
        "order": ", ".join(columns.order),
        "tasks": _tasks(given),
        "shuffled": _types(T.StructType([df.schema[name] for name in columns.all_columns])),
        "evaluation": _evaluation(query, given.budget, given.output == "count"),
        "answer": _types(given.answer),
    }
    return lines | _warnings(df, query, columns, given.known)


def _warnings(df: DataFrame, query: SparkQuery, columns: Columns, known: KnownTypes) -> dict[str, str]:
    found = tolerated(df, query, columns, known)
    return {f"warning {i}": problem.hinted for i, problem in enumerate(found, 1)}


def _described_stream(prepared: PreparedStream) -> dict[str, str]:
    df, plan = prepared.df, prepared.plan
    idle, held = plan.idle_timeout, ", ".join(plan.held_schema.names)
    lines = {
        "streams": f"one for each {', '.join(plan.columns.keys)}, in Spark's state store",
        "order": f"{', '.join(plan.columns.order)}, once the watermark has passed {plan.event_time}",
        "shuffled": _types(df.schema),
        "kept": f"rows until the watermark has passed them ({held}); {plan.compiled.state}",
        "silent keys": "kept for ever" if idle is None else f"forgotten after {idle / MICROSECONDS:g} seconds",
        "answer": _types(prepared.answer),
    }
    return lines | _warnings(df, plan.query, plan.columns, prepared.known)


def _tasks(given: Prepared) -> str:
    """Return how rows are divided between tasks, and why they are not divided further."""
    parts = given.df.sparkSession.conf.get("spark.sql.shuffle.partitions")
    if given.columns.keys:
        how = "rows stay where Spark knows them to be clustered by the key" if given.clustered else "shuffled by key"
        return f"up to {parts}, {how}, and sorted"
    if given.on_error == "aside":
        return 'one: on_error="aside" reads a stream without keys in order'
    if release() < CHUNKS:
        return OLD.format(*CHUNKS, *release())
    reach = reach_of_query(given.query, given.budget)
    if reach is not None and all(width_in_places(given.df, given.columns, *one) is not None for one in reach.widths):
        return f"up to {parts} chunks, which overlap by {reach}; the rows are counted first"
    composes = given.query.plugin.takes_place or given.output == "count"
    if composes and transfer_of(given.query.to_json(), given.budget, begins=True) is not None:
        times = "once" if given.output == "count" else "twice"
        return f"up to {parts} chunks, each read {times}, from all states of the automaton"
    return f"one: {ADVICE}"


def _evaluation(query: SparkQuery, budget: Budget, counts: bool) -> str:
    """Return a sentence about the part of a stream that is kept in memory while it is read, with the reason."""
    with errors_in(query.text):
        run = query.plugin.evaluators.streamed(query.parsed, query.schema, Options(query.output, budget))
    if isinstance(run, Unsupported):
        reason, _, _ = run.message.partition(";")
        return f"each stream is gathered, up to {EVENTS} events, because {reason}"
    reach = reach_of_query(query, budget)
    held = "what may still become part of a match" if reach is None else str(reach)
    together = "streams read together" if concatenated(query, budget) is not None else "a run for each stream"
    return f"as the rows come, some {AT_ONCE} at a time, {together}; kept: {'numbers of ' * counts}{held}"


def _types(schema: T.StructType) -> str:
    return ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in schema)


# ---------------------------------------------------------------------------------------------------------------------
# What each key of a data frame costs: its rows, its matches, and the seconds of its evaluation.

COSTS = {"rows": T.LongType(), "matches": T.DoubleType(), "seconds": T.DoubleType(), "error": T.StringType()}


def key_costs(df: DataFrame, query: str, **options: Unpack[MatchOptions]) -> DataFrame:
    """Return the cost of evaluating each key: a data frame with a row for each key, the slowest first.

    Its columns are those of the key; `rows`, their number; `matches`, their number, rounded beyond 15 digits;
    `seconds`, the time in which a worker evaluates the key by itself; and `error`, the message if the evaluation fails,
    else null. The options are those of `match`; partition_by is required. With output="count" matches are counted,
    otherwise they are listed. Raises what `match` raises.
    """
    require_keywords(key_costs, options, MatchOptions)
    prepared = prepare(df, query, options)
    columns = prepared.columns
    if not columns.keys:
        raise InputError(
            "partition_by is missing; name the columns of the key, because costs are measured for each key"
        )
    if taken := [name for name in columns.keys if name in COSTS]:
        raise InputError(f"the answer has its own column {taken[0]!r}; give the column of the key another name")
    answer = T.StructType(
        [prepared.df.schema[name] for name in columns.keys] + [T.StructField(*one) for one in COSTS.items()]
    )
    task = partial(
        _costs,
        query=prepared.query.to_json(),
        columns=columns,
        budget=prepared.budget,
        counts=prepared.output == "count",
        predicates=prepared.query.predicates,
    )
    keys, order = [*map(column, columns.keys)], [*map(column, columns.order)]
    rows = by_key(selected(prepared.df, columns), keys, order, clustered=prepared.clustered)
    return map_in_arrow(rows, task, answer).sort("seconds", ascending=False)


class _Key:
    """The costs of one key so far."""

    def __init__(self, run: SparkRun, key: dict[str, pa.Array], counts: bool) -> None:
        self._run, self._key, self._counts = run, key, counts
        self._rows, self._matches, self._seconds = 0, 0, 0.0
        self._error: str | None = None

    def evaluate(self, rows: SparkRows) -> None:
        """Evaluate some rows."""
        self._rows += rows.table.num_rows
        self._timed(lambda: self._run.count(rows.table) if self._counts else len(self._run.push(rows.table)))

    def finish(self) -> pa.RecordBatch:
        """Evaluate the end of the stream; return the row of the answer."""
        self._timed(lambda: self._run.finish_count() if self._counts else len(self._run.finish()))
        values = (self._rows, float(self._matches), self._seconds, self._error)
        kinds = (pa.int64(), pa.float64(), pa.float64(), pa.string())
        found = {name: pa.array([v], kind) for name, v, kind in zip(COSTS, values, kinds, strict=True)}
        return pa.record_batch(self._key | found)

    def _timed(self, step: Callable[[], int]) -> None:
        if self._error is not None:
            return
        started = perf_counter()
        try:
            self._matches += step()
        # A defect of cerify is no property of the key.
        except InternalError:
            raise
        except CerifyError as error:
            self._error = error.message
        self._seconds += perf_counter() - started


def _costs(
    batches: Iterable[pa.RecordBatch],
    query: str,
    columns: Columns,
    budget: Budget,
    counts: bool,
    predicates: Predicates,
) -> Iterator[pa.RecordBatch]:
    with serialize_error():
        parsed = SparkQuery.from_json(query, predicates)
        make = starting(parsed, budget)
        current: _Key | None = None
        for some in rows_of(gathered(batches), columns, parsed.schema):
            for rows in some.streams():
                if rows.begins or current is None:
                    if current is not None:
                        yield current.finish()
                    current = _Key(make(), rows.key, counts)
                current.evaluate(rows)
        if current is not None:
            yield current.finish()
