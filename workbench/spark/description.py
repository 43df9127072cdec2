"""How a query would run over a data frame: in how many tasks, what is shuffled, and what is kept; no row is read."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.languages.language import Options
from cerify.semantics.arguments import require_keywords
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported, errors_in
from cerify.spark.batch import MatchOptions, Prepared, prepare
from cerify.spark.chunking.chunks import ADVICE, OLD
from cerify.spark.chunking.cuts import width_in_places
from cerify.spark.chunking.transfer import transfer_of
from cerify.spark.columns import require_frame
from cerify.spark.fitting import KnownTypes, tolerated
from cerify.spark.row_patterns import described_clause
from cerify.spark.runs.query import Query
from cerify.spark.runs.reach import reach_of_query
from cerify.spark.runs.rows import AT_ONCE, Columns
from cerify.spark.runs.start import EVENTS, concatenated
from cerify.spark.streaming import PreparedStream, StreamOptions, match_stream
from cerify.spark.streaming import prepare as prepare_stream
from cerify.spark.versions import CHUNKS, release

OWN = ("watermark", "observe")  # the options of match_stream that do not concern the plan


def describe(df: DataFrame, query: str, **options: Any) -> str:
    """How a query would run over a data frame, in some lines.

    The options are those of `match`, or, where the data frame is a streaming one, of `match_stream`; a clause
    MATCH_RECOGNIZE has none. Raises as these do. No row is read, except with the option `sample`.
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
        "shuffled": _types(T.StructType([df.schema[name] for name in columns.needed])),
        "evaluation": _evaluation(query, given.budget, given.output == "count"),
        "answer": _types(given.answer),
    }
    return lines | _warnings(df, query, columns, given.known)


def _warnings(df: DataFrame, query: Query, columns: Columns, known: KnownTypes) -> dict[str, str]:
    found = tolerated(df, query, columns, known)
    return {f"warning {i}": problem.hinted for i, problem in enumerate(found, 1)}


def _described_stream(prepared: PreparedStream) -> dict[str, str]:
    df, plan = prepared.df, prepared.plan
    idle = plan.idle_timeout
    lines = {
        "streams": f"one for each {', '.join(plan.columns.keys)}, in Spark's state store",
        "order": f"{', '.join(plan.columns.order)}, once the watermark has passed {plan.event_time}",
        "shuffled": _types(df.schema),
        "kept": f"rows until the watermark has passed them ({', '.join(plan.held.names)}); {plan.compiled.state}",
        "silent keys": "kept for ever" if idle is None else f"forgotten after {idle / MICROSECONDS:g} seconds",
        "answer": _types(prepared.answer),
    }
    return lines | _warnings(df, plan.query, plan.columns, prepared.known)


def _tasks(given: Prepared) -> str:
    """The division of the rows between tasks, and why there is no finer one."""
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


def _evaluation(query: Query, budget: Budget, counts: bool) -> str:
    """What is held of a stream while it is read, and why."""
    with errors_in(query.text):
        run = query.plugin.streamed(query.parsed, query.schema, Options(query.output, budget))
    if isinstance(run, Unsupported):
        reason, _, _ = run.message.partition(";")
        return f"each stream is gathered, up to {EVENTS} events, since {reason}"
    reach = reach_of_query(query, budget)
    held = "what may still become part of a match" if reach is None else str(reach)
    together = "streams read together" if concatenated(query, budget) is not None else "a run for each stream"
    return f"as the rows come, some {AT_ONCE} at a time, {together}; kept: {'numbers of ' * counts}{held}"


def _types(schema: T.StructType) -> str:
    return ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in schema)
