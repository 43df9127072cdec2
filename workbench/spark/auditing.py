"""Audit an engine's log: compare its reports with the matches of a query, and find causes of the divergences.

To explain a divergence, a piece of the log is cut out around it, from the first event of the match to the one that
follows the last, or under a window of SASE+ to the first event after the window: otherwise the end of the piece would
decide what the log's events decided.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeAlias, Unpack

import pyarrow as pa
from markupsafe import Markup
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.conformance.defects import (
    Evidence,
    LogCause,
    Piece,
    PlainMatch,
    Progress,
    Report,
    causes,
    evaluate_by_definition,
    thinned,
)
from cerify.conformance.model import difference, shown_match
from cerify.conformance.oracle import second_opinion
from cerify.draw.diagram import page
from cerify.draw.timeline import Presence, Row, every_column, timeline
from cerify.languages import DEFAULT
from cerify.semantics.arguments import Budget, require_keywords
from cerify.semantics.errors import CerifyError, InputError, QueryWarning
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.json_events import json_of_event
from cerify.spark.batch import match
from cerify.spark.columns import (
    TIMES,
    EventColumns,
    column,
    columns_of,
    seconds_after,
    utc_micros,
    with_fields,
)
from cerify.spark.rows import Columns, events_of
from cerify.spark.runs import SparkQuery
from cerify.spark.transport import worker_errors

NUMBER, ID, PLACE, MICROS = "cerify_number", "cerify_id", "cerify_place", "cerify_micros"
REPORTED = "reported"  # the kind of reports of the same engine that are no divergences
BESIDE = 3  # such reports for each key
RIGHT = 48  # matches that were reported rightly, with which each cause is compared
LONGEST = 16  # events of a piece; a longer one loses the first events that no verdict names


Nearby: TypeAlias = tuple[Any, Sequence[Any], bool | None]
"""The position and events of a report (None), of a match that is due and was not reported (True), or of a report that
is not due (False).
"""


@dataclass(frozen=True)
class Divergence:
    """One difference between the reports of an engine and the matches of a query over a log.

    verdict: its row. piece: the part of the log around the divergence, if that part alone shows it. about: the match
    that is due, or that is reported but not due. reported_at: the position at which the match was reported. disputed:
    whether two evaluators of cerify disagree on the piece, so that cerify itself is wrong there. faithful: whether the
    piece alone has exactly those matches that the log has there.
    """

    verdict: Mapping[str, Any]
    piece: Piece | None = None
    about: PlainMatch | None = None
    reported_at: int | None = None
    disputed: bool = False
    faithful: bool = False

    @property
    def kind(self) -> str:
        """Return the kind of the difference, such as "missing": the column `kind` of the verdict."""
        return str(self.verdict["kind"])


def struct_of(columns: Columns) -> Column:
    """Return the columns that order events as one column, a struct."""
    return F.struct(*map(column, columns.order))


def sampled(verdicts: DataFrame, keys: Sequence[str], size: int) -> list[dict[str, Any]]:
    """Return a sample of the verdicts, as rows: at most `size` for each kind and each number of events.

    It has verdicts on as many different keys as possible.
    """
    # A hash as order: a sample that is spread like a random one, and the same in each run.
    anyhow = F.xxhash64(*(column(name) for name in verdicts.columns if name != "times"))
    group = [F.col("kind"), F.size("events")]
    of_key = F.row_number().over(Window.partitionBy(*group, *map(column, keys)).orderBy(anyhow))
    # By turn first, so that each key gives one verdict before any gives two.
    of_all = F.row_number().over(Window.partitionBy(*group).orderBy("turn", anyhow))
    chosen = verdicts.withColumn("turn", of_key).withColumn("number", of_all).where(F.col("number") <= size)
    return [row.asDict(recursive=True) for row in chosen.drop("turn", "number").collect()]


def beside(rows: Sequence[Mapping[str, Any]], reported: DataFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return a sample of the engine's reports, right or wrong, for each key that occurs in some verdicts.

    rows: these verdicts. The result has rows with the same columns.
    """
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


def rightly_reported(reported: DataFrame, verdicts: DataFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return a sample of the correct reports, which no row of `verdicts` calls wrong, as rows with the same columns."""
    names = [*keys, "at", "events"]
    well = reported.select(*map(column, keys), "at", _in_order("events")).dropna(subset=names)
    wrong = verdicts.select(*map(column, keys), F.col("reported_at").alias("at"), "events")
    size = F.row_number().over(Window.partitionBy(F.size("events")).orderBy(F.xxhash64(*map(column, names))))
    some = well.join(wrong, names, "left_anti").withColumn("turn", size).where(F.col("turn") <= RIGHT).drop("turn")
    rows = [row.asDict(recursive=True) for row in some.collect()]
    at = {"kind": REPORTED, "at": None, "times": 1}
    return [{**row, **at, "reported_at": row["at"]} for row in rows[:: -(-len(rows) // RIGHT) or 1]]


def divergences(
    rows: Sequence[Mapping[str, Any]],
    events: DataFrame,
    id_: str,
    reported: DataFrame,
    verdicts: DataFrame,
    columns: Columns,
    query: SparkQuery,
) -> Iterator[Divergence]:
    """Yield a Divergence for each of these verdicts (`rows`), with the part of the log around it.

    events: the log; id_: its column of ids. reported: the engine's reports; verdicts: all verdicts on them.
    """
    spans = _spans(rows, events, columns, id_, seconds_after(query.parsed))
    nearby = _reports_nearby(rows, spans, reported, verdicts, columns)
    for number, row in enumerate(rows):
        if number not in spans:
            yield Divergence(row)
            continue
        ids, table = spans[number]
        named = [one in {row["at"], row["reported_at"], *(row["events"] or ())} for one in ids]
        found = Divergence(row)
        # A long piece first; if its other events disturb the verdict, one with the named events and a single other one.
        for most in (LONGEST, sum(named) + 1):
            kept = _select_events(named, most)
            S = Stream.from_table(table.take(kept), query.schema)
            one = _divergence(row, [ids[i] for i in kept], S, nearby.get(number, []), query)
            found = one if one.faithful or found.piece is None else found
            if found.faithful or len(named) <= most:
                break
        yield found


def _divergence(
    row: Mapping[str, Any], ids: Sequence[Any], S: Stream, nearby: Sequence[Nearby], query: SparkQuery
) -> Divergence:
    number = {one: i for i, one in enumerate(ids)}

    def place(at: Any, events: Sequence[Any]) -> PlainMatch | None:
        inside = {at, *events} <= number.keys()
        return (number[at], tuple(sorted(number[e] for e in events))) if inside else None

    def places(is_due: bool | None) -> Report:
        return frozenset(found for at, events, due in nearby if due is is_due and (found := place(at, events)))

    due = row["at"] is not None or row["kind"] == REPORTED
    about = place(row["reported_at"] if row["at"] is None else row["at"], row["events"] or ())
    if about is None:
        return Divergence(row)
    try:
        expected = evaluate_by_definition(query.text, query.language, S)
    except CerifyError:
        return Divergence(row)
    if row["kind"] != REPORTED and (about in expected) != due:
        return Divergence(row)  # it depends on events before the piece
    reported = places(None)
    second = second_opinion(query.language, query.parsed, S, "matches")
    disputed = second is not None and expected != {(match.at, match.events) for match in second}
    faithful = expected == (reported - places(False)) | places(True)
    return Divergence(row, Piece(S, expected, reported), about, number.get(row["reported_at"]), disputed, faithful)


def _select_events(named: Sequence[bool], most: int) -> list[int]:
    """Return the indices of at most so many events of a piece: all named events, and the last of the other events."""
    others = [i for i, is_named in enumerate(named) if not is_named]
    room = max(0, most - sum(named))
    return sorted(
        {i for i, is_named in enumerate(named) if is_named} | set(others[len(others) - room :] if room else ())
    )


def _spans(
    rows: Sequence[Mapping[str, Any]], events: DataFrame, columns: Columns, id_: str, seconds: float | None
) -> dict[int, tuple[list[Any], pa.Table]]:
    """Return for each verdict the ids and the table of its key's events, from the first named event to the one after
    the last; with seconds, to the first event that is later than the first one by more.
    """
    keys = list(columns.keys)
    named = [
        (*(row[name] for name in keys), number, one)
        for number, row in enumerate(rows)
        if row["kind"] != "malformed"
        for one in {row["at"], row["reported_at"], *row["events"]} - {None}
    ]
    micros = F.lit(0) if seconds is None or columns.time is None else _micros(events, columns.time)
    log = events.select(
        *map(column, columns.all_columns),
        column(id_).alias(ID),
        struct_of(columns).alias(PLACE),
        micros.alias(MICROS),
    )
    kinds = [*(log.schema[name] for name in keys), T.StructField(NUMBER, T.IntegerType()), log.schema[ID]]
    names = F.broadcast(events.sparkSession.createDataFrame(named, T.StructType(kinds)))
    first, last, begins = "cerify_first", "cerify_last", "cerify_begins"
    group = [F.col(NUMBER), *map(column, keys)]
    ends = (
        log.join(names, [*keys, ID])
        .groupBy(*group)
        .agg(F.min(PLACE).alias(first), F.max(PLACE).alias(last), F.min(MICROS).alias(begins))
    )
    followed = _beside(log, ends, keys).where(F.col(PLACE) > F.col(last))
    end = F.min(PLACE)
    if seconds is not None:
        over = F.col(MICROS) > F.col(begins) + F.lit(round(seconds * 1_000_000))
        end = F.coalesce(F.min(F.when(over, F.col(PLACE))), F.max(PLACE))
    ends = ends.join(followed.groupBy(*group).agg(end.alias("cerify_end")), [NUMBER, *keys], "left")
    inside = _beside(log, ends, keys).where(F.col(PLACE).between(F.col(first), F.coalesce("cerify_end", last)))
    wanted = inside.orderBy(NUMBER, PLACE).select(NUMBER, ID, *map(column, columns.all_columns))
    return dict(_by_number(wanted.toArrow(), columns))


def _beside(log: DataFrame, ends: DataFrame, keys: Sequence[str]) -> DataFrame:
    return log.join(F.broadcast(ends), list(keys)) if keys else log.crossJoin(F.broadcast(ends))


def _micros(events: DataFrame, time: str) -> Column:
    if isinstance(events.schema[time].dataType, TIMES):
        return utc_micros(events.schema, time)  # type: ignore[no-any-return]
    return (column(time).cast("double") * 1_000_000).cast("bigint")  # type: ignore[no-any-return]


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
    verdicts: DataFrame,
    columns: Columns,
) -> dict[int, list[Nearby]]:
    """Return for each verdict the reports at the events of its piece, and what the verdicts say of these events."""
    keys = list(columns.keys)
    ids = [(*(rows[number][name] for name in keys), number, one) for number, (ids, _) in spans.items() for one in ids]
    kinds = [*(reported.schema[name] for name in keys), T.StructField(NUMBER, T.IntegerType()), reported.schema["at"]]
    at = F.broadcast(reported.sparkSession.createDataFrame(ids, T.StructType(kinds)))
    wrong = verdicts.where(F.col("kind") != "duplicated")

    def parts(df: DataFrame, at: str, due: bool | None) -> DataFrame:
        is_due = F.lit(due).cast("boolean").alias("due")
        return df.select(*map(column, keys), F.col(at).alias("at"), "events", is_due)

    every = parts(reported, "at", None).unionByName(parts(wrong, "at", True))
    every = every.unionByName(parts(wrong, "reported_at", False))
    found: dict[int, list[Nearby]] = {}
    for row in every.join(at, [*keys, "at"]).select(NUMBER, "at", "events", "due").collect():
        found.setdefault(row[NUMBER], []).append((row["at"], row["events"], row["due"]))
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts: the differences between the matches of a log of events and what an engine reported.


def verdicts(due: DataFrame, reported: DataFrame, places: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return a row for each divergence: the keys, kind, at, events, reported_at and times.

    due: the matches of the query, and reported: the engine's reports; both have the keys, `at` and `events` (ids of
    events). places: the keys, the `id` of each event, and its `place` in the order. In the result, `at` is the event
    where the match is due, null if it is not due; `reported_at` is the event where it was reported, null if it was not;
    `times` is how often it was reported. The order of the events in a report does not matter.
    """
    names = [*keys, "events"]
    # Without a key, a position or events a report cannot be compared with a match; it is added at the end.
    broken = reduce(or_, (column(name).isNull() for name in [*names, "at"]))
    broken = broken | F.exists("events", lambda event: event.isNull())
    well = reported.where(~broken).select(*map(column, keys), "at", _in_order("events"), F.lit(False).alias("is_due"))
    both = due.select(*map(column, keys), "at", _in_order("events"), F.lit(True).alias("is_due")).unionByName(well)
    compared = both.groupBy(*map(column, names)).agg(
        F.array_sort(F.collect_list(F.when(F.col("is_due"), F.col("at")))).alias("due"),
        F.array_sort(F.collect_list(F.when(~F.col("is_due"), F.col("at")))).alias("reported"),
    )
    found = (
        compared.withColumn("missing", F.array_except("due", "reported"))
        .withColumn("extra", F.array_except("reported", "due"))
        .withColumn("verdict", F.explode(_verdicts(places.schema["id"].dataType)))
        .select(*map(column, keys), "verdict.kind", "verdict.at", "events", "verdict.reported_at", "verdict.times")
    )
    found = _ordered(found, places, keys)
    malformed = reported.where(broken).select(
        *map(column, keys),
        F.lit("malformed").alias("kind"),
        F.lit(None).cast(places.schema["id"].dataType).alias("at"),
        "events",
        F.col("at").alias("reported_at"),
        F.lit(1).alias("times"),
    )
    return found.unionByName(malformed)


def _verdicts(id_: T.DataType) -> Column:
    """Return the verdicts on one set of events. A missing and an extra position together are one late report."""
    paired = F.least(F.size("missing"), F.size("extra"))

    def verdict(kind: str, at: Column | None, reported: Column | None, times: Column) -> Column:
        nowhere = F.lit(None).cast(id_)
        return F.struct(
            F.lit(kind).alias("kind"),
            (nowhere if at is None else at).alias("at"),
            (nowhere if reported is None else reported).alias("reported_at"),
            times.cast("int").alias("times"),
        )

    def times(at: Column) -> Column:
        return F.size(F.filter("reported", lambda other: other == at))

    one = F.lit(1)
    moved = F.transform(
        F.arrays_zip(F.slice("missing", one, paired), F.slice("extra", one, paired)),
        lambda pair: verdict("late", pair["0"], pair["1"], times(pair["1"])),
    )
    missing = F.transform(_from("missing", paired), lambda at: verdict("missing", at, None, F.lit(0)))
    extra = F.transform(_from("extra", paired), lambda at: verdict("extra", None, at, times(at)))
    repeated = F.transform(
        F.filter(F.array_distinct("reported"), lambda at: (times(at) > 1) & F.array_contains("due", at)),
        lambda at: verdict("duplicated", at, at, times(at)),
    )
    return F.concat(moved, missing, extra, repeated)


def _from(name: str, start: Column) -> Column:
    return F.slice(name, start + 1, F.size(name))


def _ordered(found: DataFrame, places: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the verdicts, with `late` changed to `early` where needed, and `malformed` for events that the log lacks.

    The log is read once, to look up the events of such verdicts.
    """
    named = F.concat(
        _tag_ids("due", F.array("at")), _tag_ids("reported", F.array("reported_at")), _tag_ids("", F.col("events"))
    )
    wanted = F.when(F.col("kind").isin("late", "extra"), named)
    where = places.select(*map(column, keys), F.col("id").alias("named"), F.col("place"))
    seen = (
        found.withColumn("one", F.explode_outer(wanted))
        .withColumn("named", F.col("one.id"))
        .join(where, [*keys, "named"], "left")
        .groupBy(*map(column, found.columns))
        .agg(
            F.max(F.when(F.col("one.as") == "due", F.col("place"))).alias("due"),
            F.max(F.when(F.col("one.as") == "reported", F.col("place"))).alias("reported"),
            F.coalesce(F.bool_or(F.col("named").isNotNull() & F.col("place").isNull()), F.lit(False)).alias("unknown"),
        )
    )
    early = (F.col("kind") == "late") & (F.col("reported") < F.col("due"))
    kind = F.when(F.col("unknown"), "malformed").when(early, "early").otherwise(F.col("kind"))
    return seen.withColumn("kind", kind).select(*map(column, found.columns))


def _tag_ids(role: str, ids: Column) -> Column:
    return F.transform(ids, lambda one: F.struct(F.lit(role).alias("as"), one.alias("id")))


def _in_order(name: str) -> Column:
    return F.array_sort(name).alias(name)


def reports(reported: DataFrame, keys: Sequence[str], id_: T.DataType) -> DataFrame:
    """Return the engine's reports, with ids cast to the type in the log. Raises InputError if a column is missing."""
    names = [*keys, "at", "events"]
    if missing := [name for name in names if name not in reported.columns]:
        raise InputError(
            f"the reports have no column {missing[0]!r}; they need {', '.join(names)}, and have "
            f"{', '.join(reported.columns)}"
        )
    if not isinstance(kind := reported.schema["events"].dataType, T.ArrayType):
        raise InputError(f"the column 'events' of the reports is {kind.simpleString()}, not an array of ids")
    return reported.select(*map(column, keys), F.col("at").cast(id_), F.col("events").cast(T.ArrayType(id_)))


# ---------------------------------------------------------------------------------------------------------------------
# The audit of an engine's log: its verdicts, and their likely causes.

Verdict = Mapping[str, Any]
"""A row of the verdicts, by the names of its columns."""

SAMPLES = 24  # verdicts sampled for each kind and number of events
NO_SEMANTICS = ("duplicated", "malformed")  # kinds that no semantics causes
DISPUTED = "disputed"  # the kind of the verdicts on which the plain definition and the interpreter differ
EXAMPLES = 3  # verdicts shown without a known cause, for each kind and types of events


@dataclass(frozen=True)
class ExplainedRows:
    """Divergences that one cause explains: a wrong semantics of the engine.

    kinds: the kinds of these divergences. sampled: their number in the sample. verdicts: some of them.
    """

    cause: LogCause
    kinds: tuple[str, ...]
    sampled: int
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Unexplained:
    """Divergences of one kind that no known wrong semantics explains, about matches with the same event types.

    sampled: their number in the sample. verdicts: some of them. piece: a smallest part of the log that shows such a
    divergence; None if none was found. about: the match in question there.
    """

    kind: str
    types: tuple[str, ...]
    sampled: int
    verdicts: tuple[Verdict, ...]
    piece: Piece | None
    about: PlainMatch | None


@dataclass(frozen=True)
class Findings:
    """The number of verdicts of each kind (counts), and the causes of those in a sample."""

    query: SparkQuery
    counts: Mapping[str, int]
    explained: tuple[ExplainedRows, ...]
    unexplained: tuple[Unexplained, ...]
    sampled: int


@dataclass(frozen=True)
class Audit:
    """An engine's reports about a log, compared with the matches of the query.

    verdicts: a data frame with a row for each divergence; for its columns see the function `verdicts` of
    cerify.spark.auditing.
    """

    verdicts: DataFrame
    query: SparkQuery
    _events: DataFrame
    _id: str
    _reported: DataFrame
    _columns: Columns

    @worker_errors()
    def findings(self, samples: int = SAMPLES, progress: Progress = lambda what, done, total: None) -> Findings:
        """Return the causes of a sample of the divergences, each with a smallest case. It is computed on the driver.

        samples: how many verdicts of each kind to examine. progress: called with a phrase, the steps done, and their
        number.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryWarning)  # a piece of a log may lack what the query names
            return self._findings(samples, progress)

    def _findings(self, samples: int, progress: Progress) -> Findings:
        # Kept, because several jobs read the verdicts, and each would evaluate the query over the whole log again.
        stored, keys = self.verdicts.persist(), self._columns.keys
        try:
            counts = stored.groupBy("kind").count().orderBy("kind").collect()
            rows = sampled(stored, keys, samples)
            if not rows:
                return Findings(self.query, {}, (), (), 0)
            others = beside(rows, self._reported, keys)
            every = [*rows, *others, *rightly_reported(self._reported, stored, keys)]
            found = list(divergences(every, self._events, self._id, self._reported, stored, self._columns, self.query))
        finally:
            stored.unpersist()
        own, near, elsewhere = found[: len(rows)], found[len(rows) :][: len(others)], found[len(rows) + len(others) :]
        evidence = self._evidence([d for d in own if d.faithful and not d.disputed], near)
        right = [(d.piece, d.about) for d in elsewhere if d.faithful and d.piece is not None and d.about is not None]
        known, _ = causes(self.query.text, self.query.language, evidence, progress, right)
        of_piece = {id(d.piece): d for d in own if d.piece is not None}
        explained = [(cause, [of_piece.pop(id(one.piece)) for one in cause.explains]) for cause in known]
        left = [d for d in own if d.piece is None or id(d.piece) in of_piece]
        return Findings(
            self.query,
            {row["kind"]: row["count"] for row in counts},
            tuple(_explained(cause, some) for cause, some in explained),
            tuple(_group_unexplained(left, self.query)),
            len(rows),
        )

    def _evidence(self, found: Sequence[Divergence], others: Sequence[Divergence]) -> list[Evidence]:
        """Return the divergences that a semantics could explain, the smallest first, each with other pieces of
        its key.
        """
        of_key: dict[tuple[Any, ...], list[Piece]] = {}
        for other in others:
            if other.piece is not None and other.faithful:
                of_key.setdefault(self._key(other), []).append(other.piece)
        pieces = [(d.piece, self._key(d)) for d in found if d.piece is not None and d.kind not in NO_SEMANTICS]
        pieces.sort(key=lambda pair: len(pair[0].S))
        return [Evidence(piece, tuple(of_key.get(key, ())[:BESIDE])) for piece, key in pieces]

    def _key(self, d: Divergence) -> tuple[Any, ...]:
        return tuple(d.verdict[name] for name in self._columns.keys)


def audit(
    events: DataFrame,
    reported: DataFrame,
    query: str,
    *,
    id_col: str,
    schema: Schema | None = None,
    language: str = DEFAULT,
    budget: Budget = Budget(),
    **names: Unpack[EventColumns],
) -> Audit:
    """Compare an engine's reports about a log of events with the matches of a query. The columns of the log are named
    as for `match`.

    reported has the columns of the key; `at`, the id of the event at which a match was reported; and `events`, the ids
    of its events in any order. Raises ParseError, IllFormed, Unsupported and InputError.
    """
    require_keywords(audit, names, EventColumns)
    parsed = SparkQuery(query, language, "matches", schema)
    events = with_fields(events, parsed)
    columns = columns_of(events.schema, parsed, id_col=id_col, **names)
    id_ = events.schema[id_col].dataType
    checked = reports(reported, columns.keys, id_)
    due = match(events, query, id_col=id_col, schema=schema, language=language, budget=budget, **names)
    keys = list(columns.keys)
    places = events.select(*map(column, keys), column(id_col).alias("id"), struct_of(columns).alias("place"))
    return Audit(
        verdicts(due.select(*map(column, keys), "at", "events"), checked, places, keys),
        parsed,
        events,
        id_col,
        checked,
        columns,
    )


def _explained(cause: LogCause, some: Sequence[Divergence]) -> ExplainedRows:
    kinds = tuple(sorted({d.kind for d in some}))
    return ExplainedRows(cause, kinds, len(some), tuple(d.verdict for d in some[:EXAMPLES]))


def _group_unexplained(left: Sequence[Divergence], query: SparkQuery) -> list[Unexplained]:
    groups: dict[tuple[str, tuple[str, ...]], list[Divergence]] = {}
    for d in left:
        types: tuple[str, ...] = ()
        if d.piece is not None and d.about is not None and d.kind not in NO_SEMANTICS:
            types = tuple(d.piece.S[e].type for e in d.about[1])
        groups.setdefault((DISPUTED if d.disputed else d.kind, types), []).append(d)
    found = []
    for (kind, types), some in sorted(groups.items(), key=lambda group: group[0]):
        smallest = min(some, key=lambda d: (d.piece is None, 0 if d.piece is None else len(d.piece.S)))
        piece, about = smallest.piece, smallest.about
        if piece is not None and about is not None and kind != DISPUTED:
            piece, about = thinned(query.text, query.language, piece, about, smallest.reported_at)
        found.append(Unexplained(kind, types, len(some), tuple(d.verdict for d in some[:EXAMPLES]), piece, about))
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The findings of an audit as text, as JSON, and as one self-contained HTML page.

MEANING = {
    "missing": "due, and not reported",
    "extra": "reported, and no match",
    "late": "reported at a later event than it is due",
    "early": "reported at an earlier event than it is due",
    "duplicated": "reported more than once",
    "disputed": "cerify contradicts itself here, and is wrong rather than the engine; please report it",
    "malformed": "reported without a key or events, or of events that the log does not have",
}


@dataclass(frozen=True)
class AuditView:
    """A finding as shown to the user: a headline, the smallest case, and verdicts on the log."""

    title: str
    note: str
    query: str
    S: Stream | None
    expected: Report
    reported: Report
    verdicts: tuple[Verdict, ...]

    @property
    def sentence(self) -> str:
        """Return a sentence that says how the report on the shrunk case differs from the definition."""
        return difference(_matches(self.expected), _matches(self.reported)) or "the same matches, reported again"

    @property
    def drawing(self) -> Markup:
        """Return a timeline of the shrunk case: its events, and the matches that are missing or wrong."""
        return Markup(timeline(every_column(self.S or Stream()), self._rows()))

    def _rows(self) -> list[Row]:
        kinds: list[tuple[Presence, Report]] = [
            ("missing", self.expected - self.reported),
            ("extra", self.reported - self.expected),
            ("common", self.expected & self.reported),
        ]
        return [
            Row(kind, match.events, match.at, f"{'in common' if kind == 'common' else kind} · {shown_match(match)}")
            for kind, report in kinds
            for match in sorted(_matches(report))
        ]

    @property
    def where(self) -> list[str]:
        """Return each verdict on the log as text: its columns with their values."""
        return [
            ", ".join(f"{name} {json.dumps(value, default=str)}" for name, value in v.items()) for v in self.verdicts
        ]


def views(findings: Findings) -> Iterator[AuditView]:
    """Yield all findings, those with a cause first."""
    for one in findings.explained:
        yield _with_cause(one)
    for other in findings.unexplained:
        yield _without_cause(other, findings.query.text)


def _with_cause(one: ExplainedRows) -> AuditView:
    cause, small = one.cause, one.cause.smallest
    alike = f" Or {', or '.join(cause.alike)}: the sample does not decide." if cause.alike else ""
    checked = f" Correct reports that could refute it, but do not: {cause.checked:,}."
    note = f"Explains {one.sampled} of the sample ({', '.join(one.kinds)}).{checked}{alike}"
    if small is None:
        return AuditView(cause.name, note, "", None, frozenset(), frozenset(), one.verdicts)
    return AuditView(cause.name, note, small.query, small.S, small.expected, small.reported, one.verdicts)


def _without_cause(one: Unexplained, query: str) -> AuditView:
    title = f"{one.kind}: {MEANING[one.kind]}" + (f" ({' '.join(one.types)})" if one.types else "")
    semantics = "" if one.kind in (*NO_SEMANTICS, DISPUTED) else "; no known wrong semantics reports this"
    note = f"{one.sampled} of the sample{semantics}."
    if one.piece is None:
        return AuditView(title, note, query, None, frozenset(), frozenset(), one.verdicts)
    return AuditView(title, note, query, one.piece.S, one.piece.expected, one.piece.reported, one.verdicts)


def _matches(report: Report) -> set[Match]:
    return {Match(at, C) for at, C in report}


def text(findings: Findings) -> str:
    """Return the findings of an audit as lines of text for a terminal."""
    lines = [f"{count:>10,}  {kind:<11} {MEANING[kind]}" for kind, count in findings.counts.items()]
    if not lines:
        return "No divergence: each match was reported once, when it was due, and nothing else was reported."
    lines.append(f"Sample: {findings.sampled}.")
    for view in views(findings):
        lines += ["", view.title, f"  {view.note}"]
        if view.S is not None:
            events = " ".join(_event(view.S, i) for i in range(len(view.S)))
            lines += [f"  {view.query}", f"  over {events}: {view.sentence}"]
        lines += [f"  seen: {where}" for where in view.where]
    return "\n".join(lines)


def as_json(findings: Findings) -> dict[str, Any]:
    """Return the findings as JSON: counts, and for each finding its smallest case in the form of
    the engine protocol.
    """
    return {
        "query": findings.query.text,
        "language": findings.query.language,
        "counts": dict(findings.counts),
        "sampled": findings.sampled,
        "findings": [
            {
                "title": view.title,
                "note": view.note,
                "query": view.query,
                "events": None if view.S is None else [json_of_event(event) for event in view.S],
                "expected": _places(view.expected),
                "reported": _places(view.reported),
                "seen": [json.loads(json.dumps(dict(verdict), default=str)) for verdict in view.verdicts],
            }
            for view in views(findings)
        ],
    }


def html(findings: Findings) -> str:
    """Return the findings of an audit as an HTML page."""
    return page("spark/audit.html", findings=findings, views=list(views(findings)), meaning=MEANING)


def _places(report: Report) -> list[dict[str, Any]]:
    return [{"at": at, "events": list(C)} for at, C in sorted(report)]


def _event(S: Stream, i: int) -> str:
    attributes = ", ".join(f"{name}={json.dumps(value, default=str)}" for name, value in S[i].attributes.items())
    return f"{S[i].type}({attributes})" if attributes else S[i].type
