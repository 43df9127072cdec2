"""Queries with streams of several keys whose rows come in disorder, and what the local evaluator finds in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa

from cerify import match
from cerify.equivalence.generate import expressions, sase
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.semantics.arrow_columns import ARROW
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions.syntax import START as START_EVENT
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.events import Stream
from cerify.semantics.sase.syntax import show as show_sase
from cerify.semantics.values import ValueType
from cerify.spark.keyed_streams import compiled
from cerify.spark.runs import SparkQuery
from proofs_tests.unit.workbench.spark.spark_cases import result_in

Row = dict[str, Any]
START = datetime(2024, 1, 1, tzinfo=UTC)
ATTRIBUTES: Mapping[str, ValueType] = {
    "x": "int",
    "y": "int",
    "f": "float",
    "s": "string",
    "b": "bool",
    "t": "timestamp",
}
SCHEMA = pa.schema(
    [
        ("k", pa.string()), ("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("id", pa.string()),
        *((name, ARROW[kind]) for name, kind in ATTRIBUTES.items()),
    ]
)  # fmt: skip
DELAY = timedelta(seconds=5)  # of the watermark
KEYS = ("p", "q", "r", "")
SMALL = 400  # matches of a pair, at most


@dataclass(frozen=True)
class Pair:
    """A query, and the rows that come, batch by batch."""

    query: SparkQuery
    batches: Sequence[Sequence[Row]]


def pair(rng: Random, nodes: int = 6, events: int = 40, batches: int = 5, sets: int = 1) -> Pair:
    """A pair whose query can be resumed and whose answer is small; of several sets of data each has its own keys."""
    language = rng.choice(("cel", "cel", "cel", "event-expression", "sase"))
    while True:
        query, S = _asked(rng, language, nodes, events)
        clocked = _rows(rng, S, language == "sase")
        for other in range(1, sets):
            clocked += _rows(rng, Stream(rng.choices(S, k=len(S)), S.schema), language == "sase", str(other))
        rows = [row for _, row in sorted(clocked, key=lambda pair: pair[0])]
        try:
            compiled(query.to_json())
            if (
                any(event.type == START_EVENT for event in S)
                or len(expected(query, rows, timedelta.max)) > SMALL * sets
            ):
                continue
        except (Unsupported, BudgetExceeded):
            continue
        cuts = sorted(rng.randrange(len(rows) + 1) for _ in range(batches - 1))
        return Pair(query, [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)])


def _asked(rng: Random, language: str, nodes: int, events: int) -> tuple[SparkQuery, Stream]:
    """A query, mostly with windows where the language has some, and events for it."""
    match language:
        case "event-expression":
            E, S = expressions.case(rng, rng.choice(list(expressions.PROFILES.values())), nodes, events)
            return SparkQuery(show_expression(E), language), S
        case "sase":
            q, S = sase.case(rng, rng.choice(list(sase.PROFILES.values())), nodes, events)
            return SparkQuery(show_sase(q), language), S
    profile = rng.choice(("core", "everything", "typed", "correlated"))
    phi, S = case(rng, PROFILES[profile], nodes, events)
    if profile == "correlated":  # no state of an evaluator, but the rows of a window
        phi = cel.Within(phi, cel.TimeWindow(rng.choice((2, 9)), "second"))
    for around in rng.sample(
        (lambda psi: cel.Within(psi, cel.TimeWindow(rng.choice((2, 4, 9)), "second")),
         lambda psi: cel.Within(psi, cel.EventWindow(rng.randint(2, 6))),
         lambda psi: cel.PartitionBy(psi, "x")), rng.choice((0, 1, 1, 2))
    ):  # fmt: skip
        phi = around(phi)
    return SparkQuery(show(phi), output=rng.choice(("matches", "valuations"))), S


def _rows(rng: Random, S: Stream, unique: bool, name: str = "") -> list[tuple[datetime, Row]]:
    """The events with keys and times, and when they come, nearly in the order of time; some keys fall silent."""
    clock, rows = START, []
    for i, event in enumerate(S):
        clock += timedelta(seconds=rng.choice((0, 0, 1, 1, 2, 20)))
        time = clock - timedelta(seconds=rng.choice((0, 0, 0, 1, 3, 12)), microseconds=rng.choice((0, 1, 999)))
        time += timedelta(microseconds=2_000 * i if unique else 0)
        row = {"k": name + rng.choice(KEYS), "time": time, "type": event.type, "id": f"{name}e{i}"}
        rows.append((clock, row | {a: event.get(a) for a in ATTRIBUTES}))
    return rows


def watermarks(batches: Iterable[Sequence[Row]]) -> list[datetime | None]:
    """At each batch the watermark: what the rows before it say, to a millisecond."""
    latest, found = None, []
    for batch in batches:
        found.append(latest)
        for row in batch:
            if row["time"] is not None:
                time = row["time"] - DELAY
                time = time.replace(microsecond=time.microsecond // 1000 * 1000)
                latest = time if latest is None else max(latest, time)
    return [*found, latest]


def punctual_and_late(
    batches: Sequence[Sequence[Row]], marks: Sequence[datetime | None] | None = None
) -> tuple[list[Row], list[Row]]:
    """The rows that are in time, and those that are late, by the watermark of each batch."""
    rows: tuple[list[Row], list[Row]] = [], []
    for batch, watermark in zip(batches, marks or watermarks(batches), strict=False):
        for row in batch:
            rows[watermark is not None and row["time"] < watermark].append(row)
    return rows


Found = list[tuple[Any, ...]]


def found_in(rows: Iterable[Mapping[str, Any]]) -> Found:
    """Matches from rows of an answer, comparable with those that are expected."""
    found: Found = []
    for row in rows:
        bindings = row["bindings"]
        if bindings is not None:
            bindings = tuple((v, tuple(ids)) for v, ids in sorted(dict(bindings).items()))
        made = result_in(row)
        result = () if made is None else (made.text,)
        found.append((row["k"], row["at"], tuple(row["events"]), bindings, *result))
    return sorted(found, key=repr)


def expected(query: SparkQuery, rows: Iterable[Row], before: datetime | timedelta) -> Found:
    """What the local evaluator finds in the rows of each key, told by ids; what is certain before a time."""
    ahead = getattr(compiled(query.to_json()), "ahead", None)  # seconds whose events decide a match
    certain = before
    if ahead is not None and isinstance(before, datetime):
        certain = before - timedelta(seconds=ahead, microseconds=1)
    keyed: Mapping[str, list[Row]] = defaultdict(list)
    for row in rows:
        if isinstance(before, timedelta) or row["time"] < before:
            keyed[row["k"]].append(row)
    found: Found = []
    for key, its in keyed.items():
        its.sort(key=lambda row: (row["time"], row["id"]))
        table = pa.Table.from_pylist(its, SCHEMA)
        ids = [row["id"] for row in its]
        for m in match(
            query.text, Stream.from_table(table), language=query.language, output=query.output, evaluator="kernel"
        ):
            if isinstance(certain, datetime) and its[m.at]["time"] >= certain:
                continue
            bindings = m.bindings and tuple((v, tuple(ids[p] for p in at)) for v, at in m.bindings)
            result = () if m.result is None else (m.result.text,)
            found.append((key, ids[m.at], tuple(ids[p] for p in m.events), bindings, *result))
    return sorted(found, key=repr)
