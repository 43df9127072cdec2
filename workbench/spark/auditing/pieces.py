"""The pieces of the log around some divergences, from the first event of a match to the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.conformance.diagnosis import Piece, PlainMatch, meant
from cerify.conformance.second_opinion import second_opinion
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.spark.columns import column
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns, events_of

NUMBER, ID, PLACE = "cerify_number", "cerify_id", "cerify_place"
REPORTED = "reported"  # the kind of reports of the same engine that are no divergences
BESIDE = 3  # such reports for each key
LONGEST = 16  # events of a piece; a longer one loses the first events that no verdict names


@dataclass(frozen=True)
class Divergence:
    """A verdict on the log, by its columns.

    piece: the part of the log around it, if that part alone shows the divergence. about: the match that is due there,
    or not due. reported_at: the position at which it was reported. disputed: the plain definition has other matches
    over the piece than the interpreter, so that cerify is wrong there.
    """

    verdict: Mapping[str, Any]
    piece: Piece | None = None
    about: PlainMatch | None = None
    reported_at: int | None = None
    disputed: bool = False

    @property
    def kind(self) -> str:
        """The kind of the verdict; see verdicts.Kind."""
        return str(self.verdict["kind"])


def struct_of(columns: Columns) -> Column:
    """The place of an event in the order, as one column."""
    return F.struct(*map(column, columns.order))


def sampled(verdicts: DataFrame, keys: Sequence[str], size: int) -> list[dict[str, Any]]:
    """At most `size` verdicts for each kind and number of events, of as many keys as possible."""
    anyhow = F.xxhash64(*(column(name) for name in verdicts.columns if name != "times"))
    group = [F.col("kind"), F.size("events")]
    of_key = F.row_number().over(Window.partitionBy(*group, *map(column, keys)).orderBy(anyhow))
    of_all = F.row_number().over(Window.partitionBy(*group).orderBy("turn", anyhow))
    chosen = verdicts.withColumn("turn", of_key).withColumn("number", of_all).where(F.col("number") <= size)
    return [row.asDict(recursive=True) for row in chosen.drop("turn", "number").collect()]


def beside(rows: Sequence[Mapping[str, Any]], reported: DataFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Some reports of each key of the verdicts, right or wrong, as rows like verdicts."""
    wanted = {tuple(row[name] for name in keys) for row in rows}
    some = reported
    if keys:
        kinds = T.StructType([reported.schema[name] for name in keys])
        some = reported.join(F.broadcast(reported.sparkSession.createDataFrame(sorted(wanted), kinds)), list(keys))
    anyhow = F.xxhash64(*map(column, reported.columns))
    turn = F.row_number().over(Window.partitionBy(*map(column, keys)).orderBy(anyhow))
    some = some.withColumn("turn", turn).where(F.col("turn") <= (BESIDE if keys else BESIDE * len(rows))).drop("turn")
    at = {"kind": REPORTED, "at": None, "times": 1}
    return [{**(found := row.asDict(recursive=True)), **at, "reported_at": found["at"]} for row in some.collect()]


def divergences(
    rows: Sequence[Mapping[str, Any]], events: DataFrame, id_: str, reported: DataFrame, columns: Columns, query: Query
) -> Iterator[Divergence]:
    """The verdicts with their pieces. events: the log; id_: its column of ids; reported: the reports."""
    spans = _spans(rows, events, columns, id_)
    nearby = _reports_nearby(rows, spans, reported, columns)
    for number, row in enumerate(rows):
        if number not in spans:
            yield Divergence(row)
            continue
        ids, table = spans[number]
        named = {row["at"], row["reported_at"], *(row["events"] or ())}
        kept = _kept([i in named for i in ids])
        ids = [ids[i] for i in kept]
        yield _divergence(row, ids, Stream.from_table(table.take(kept), query.schema), nearby.get(number, []), query)


def _divergence(
    row: Mapping[str, Any], ids: Sequence[Any], S: Stream, nearby: Sequence[tuple[Any, Sequence[Any]]], query: Query
) -> Divergence:
    number = {one: i for i, one in enumerate(ids)}

    def place(at: Any, events: Sequence[Any]) -> PlainMatch | None:
        inside = {at, *events} <= number.keys()
        return (number[at], tuple(sorted(number[e] for e in events))) if inside else None

    due = row["at"] is not None or row["kind"] == REPORTED
    about = place(row["reported_at"] if row["at"] is None else row["at"], row["events"] or ())
    if about is None:
        return Divergence(row)
    try:
        expected = meant(query.text, query.language, S)
    except CerifyError:
        return Divergence(row)
    if row["kind"] != REPORTED and (about in expected) != due:
        return Divergence(row)  # it depends on events before the piece
    reported = frozenset(found for at, events in nearby if (found := place(at, events)) is not None)
    second = second_opinion(query.language, query.parsed, S, "matches")
    disputed = second is not None and expected != {(match.at, match.events) for match in second}
    return Divergence(row, Piece(S, expected, reported), about, number.get(row["reported_at"]), disputed)


def _kept(named: Sequence[bool]) -> list[int]:
    """The indices of the events of a piece: those that are named, and the last ones of the others."""
    others = [i for i, is_named in enumerate(named) if not is_named]
    room = max(0, LONGEST - sum(named))
    return sorted(
        {i for i, is_named in enumerate(named) if is_named} | set(others[len(others) - room :] if room else ())
    )


def _spans(
    rows: Sequence[Mapping[str, Any]], events: DataFrame, columns: Columns, id_: str
) -> dict[int, tuple[list[Any], pa.Table]]:
    """For each verdict the events of its key from the first to the last that it names: their ids and table."""
    keys = list(columns.keys)
    named = [
        (*(row[name] for name in keys), number, one)
        for number, row in enumerate(rows)
        if row["kind"] != "malformed"
        for one in {row["at"], row["reported_at"], *row["events"]} - {None}
    ]
    log = events.select(*map(column, columns.needed), column(id_).alias(ID), struct_of(columns).alias(PLACE))
    kinds = [*(log.schema[name] for name in keys), T.StructField(NUMBER, T.IntegerType()), log.schema[ID]]
    names = F.broadcast(events.sparkSession.createDataFrame(named, T.StructType(kinds)))
    ends = (
        log.join(names, [*keys, ID])
        .groupBy(NUMBER, *map(column, keys))
        .agg(F.min(PLACE).alias("cerify_first"), F.max(PLACE).alias("cerify_last"))
    )
    inside = log.join(F.broadcast(ends), keys) if keys else log.crossJoin(F.broadcast(ends))
    inside = inside.where(F.col(PLACE).between(F.col("cerify_first"), F.col("cerify_last")))
    wanted = inside.orderBy(NUMBER, PLACE).select(NUMBER, ID, *map(column, columns.needed))
    return dict(_by_number(wanted.toArrow(), columns))


def _by_number(table: pa.Table, columns: Columns) -> Iterator[tuple[int, tuple[list[Any], pa.Table]]]:
    numbers = table[NUMBER].to_pylist()
    starts = [i for i, number in enumerate(numbers) if i == 0 or numbers[i - 1] != number]
    for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
        (batch,) = table.slice(start, end - start).combine_chunks().to_batches()
        yield numbers[start], (batch.column(ID).to_pylist(), events_of(batch, columns, None))


def _reports_nearby(
    rows: Sequence[Mapping[str, Any]],
    spans: Mapping[int, tuple[Sequence[Any], pa.Table]],
    reported: DataFrame,
    columns: Columns,
) -> dict[int, list[tuple[Any, list[Any]]]]:
    """For each verdict the reports at the events of its piece."""
    keys = list(columns.keys)
    ids = [(*(rows[number][name] for name in keys), number, one) for number, (ids, _) in spans.items() for one in ids]
    kinds = [*(reported.schema[name] for name in keys), T.StructField(NUMBER, T.IntegerType()), reported.schema["at"]]
    at = F.broadcast(reported.sparkSession.createDataFrame(ids, T.StructType(kinds)))
    found: dict[int, list[tuple[Any, list[Any]]]] = {}
    for row in reported.join(at, [*keys, "at"]).select(NUMBER, "at", "events").collect():
        found.setdefault(row[NUMBER], []).append((row["at"], row["events"]))
    return found
