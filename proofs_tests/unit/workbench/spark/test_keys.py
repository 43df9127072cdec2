"""Many keys at once, and rows that are set aside: the answer of a worker is that of each key's valid events alone."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from cerify.api import match
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError, Unsupported
from cerify.semantics.events import TIME, TYPE, Schema, Stream
from cerify.spark import answers
from cerify.spark import rows as rows_module
from cerify.spark.answers import OnError, answer_batches
from cerify.spark.rows import Columns
from cerify.spark.runs import SparkQuery, concatenated, whole_streams
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.spark.spark_cases import pair

KEY, ORDER, ID = "key_", "order_", "id_"
BUDGET = Budget(matches=2_000, valuations=100_000, seconds=5)
Found = dict[int, list[tuple[Any, ...]]]


def keyed(rng: Random, S: Stream, keys: int) -> tuple[pa.Table, dict[int, pa.Table]]:
    """Some keys, each with a part of the events of a stream; also by key."""
    parts = {k: S.table.filter(pa.array([rng.random() < 0.8 for _ in range(len(S))], pa.bool_())) for k in range(keys)}
    parts = {k: table.combine_chunks() for k, table in parts.items() if len(table)} or {0: S.table}
    tables = [
        table.append_column(KEY, pa.repeat(k, len(table))).append_column(ORDER, pa.array(range(len(table)), pa.int64()))
        for k, table in parts.items()
    ]
    whole = pa.concat_tables(tables)
    return whole.append_column(ID, pa.array(range(100, 100 + len(whole)), pa.int64())), parts


def answered(
    rng: Random, table: pa.Table, query: SparkQuery, columns: Columns, on_error: OnError = "fail", output: str = ""
) -> list[dict[str, Any]]:
    """The rows of the answer, where the table comes in batches that are cut anywhere."""
    table, batches = table.combine_chunks(), []
    while len(table):
        size = rng.choice((1, 2, 5, 40))
        batches += table.slice(0, size).to_batches()
        table = table.slice(size)
    made = answer_batches(batches, query.to_json(), columns, output or query.output, BUDGET, on_error)  # type: ignore[arg-type]
    return [row for batch in made for row in batch.to_pylist()]


def columns_of(query: SparkQuery, table: pa.Table, id_: str | None = None) -> Columns:
    attributes = tuple(n for n in table.column_names if n not in (KEY, ORDER, ID, TYPE, TIME))
    return Columns((ORDER,), (KEY,), id=id_, time=TIME if TIME in table.column_names else None, attributes=attributes)


def by_key(rows: Iterable[dict[str, Any]]) -> Found:
    found: Found = {}
    for row in rows:
        found.setdefault(row[KEY], []).append((row["at"], tuple(row["events"])))
    return {k: sorted(matches) for k, matches in found.items()}


def expected(parts: dict[int, pa.Table], query: SparkQuery) -> Found | None:
    found: Found = {}
    try:
        for k, table in parts.items():
            S = Stream.from_table(table)
            S.schema = query.schema
            matches = match(query.parsed, S, language=query.language, budget=BUDGET, evaluator="kernel")
            found[k] = sorted((m.at, m.events) for m in matches)
    except CerifyError:
        return None
    return {k: matches for k, matches in found.items() if matches}


@pytest.mark.parametrize("pairs", sampled([10, 30], [10]))
@pytest.mark.parametrize("language", ["cel", "event-expression", "core-cel", "sase"])
def test_keys_that_are_read_together_have_the_matches_of_each_alone(
    language: str, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, compared, together = Random(5), 0, 0
    for _ in range(pairs):
        query, S = pair(rng, language)
        query = SparkQuery(query.text, query.language, schema=query.schema)
        table, parts = keyed(rng, S, rng.choice((1, 3, 12)))
        if not len(S) or (right := expected(parts, query)) is None:
            continue
        monkeypatch.setattr(rows_module, "AT_ONCE", rng.choice((1, 7, 65_536)))
        rows = answered(rng, table, query, columns_of(query, table))
        assert by_key(rows) == right, query.text
        ids = dict(
            zip(zip(table[KEY].to_pylist(), table[ORDER].to_pylist(), strict=True), table[ID].to_pylist(), strict=True)
        )
        named = {
            k: sorted((ids[k, at], tuple(ids[k, p] for p in events)) for at, events in its) for k, its in right.items()
        }
        assert by_key(answered(rng, table, query, columns_of(query, table, ID))) == named, query.text
        numbers = answered(rng, table, query, columns_of(query, table), output="count")
        assert {row[KEY]: int(row["digits"]) for row in numbers} == {k: len(right.get(k, ())) for k in parts}
        events = answered(rng, table, query, columns_of(query, table), output="events")
        sets: dict[tuple[int, int, int], list[int]] = {}
        for row in events:
            sets.setdefault((row[KEY], row["match"], row["at"]), []).append(row["event"])
        assert {k for k, *_ in sets} == right.keys()
        assert sorted((k, at, tuple(es)) for (k, _, at), es in sets.items()) == sorted(
            (k, at, es) for k, its in right.items() for at, es in its
        )
        compared += bool(right)
        together += (concatenated(query, BUDGET) or whole_streams(query, BUDGET)) is not None
    assert compared / pairs > 8 / 30
    assert together / pairs > 8 / 30


@pytest.mark.thorough
@pytest.mark.parametrize("pairs", sampled([15, 100], [15]))
def test_small_keys_of_sase_have_the_rows_that_a_run_for_each_makes(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bindings, RETURN and HAVING, ids, and ORDER BY of several batches."""
    rng, compared, read = Random(8), 0, 0
    for _ in range(pairs):
        query, S = pair(rng, "sase")
        query = SparkQuery(query.text, query.language, schema=query.schema)
        table, _ = keyed(rng, S, rng.choice((3, 12)))
        if not len(S):
            continue
        monkeypatch.setattr(rows_module, "AT_ONCE", rng.choice((7, 65_536)))
        for id_, output in ((None, "matches"), (ID, "matches"), (ID, "events"), (None, "count")):
            columns, made = columns_of(query, table, id_), []
            for whole in (whole_streams, lambda *_: None):
                monkeypatch.setattr(answers, "whole_streams", whole)
                rows = answered(rng, table, query, columns, output=output)
                if output == "events":  # which number a match has is left open
                    sets: dict[tuple[int, int, int], list[int]] = {}
                    for row in rows:
                        sets.setdefault((row[KEY], row["match"], row["at"]), []).append(row["event"])
                    rows = [{"key": key, "at": at, "events": events} for (key, _, at), events in sets.items()]
                made.append(sorted(map(repr, rows)))
            assert made[0] == made[1], query.text
            compared += len(made[0]) > 1
        read += whole_streams(query, BUDGET) is not None
    assert compared > pairs
    assert read > pairs / 2


def test_windows_on_values_of_any_kind_begin_anew_with_each_key() -> None:
    """Values go back from key to key, and are so far apart that they cannot be put one above the other."""
    for values in ([5, 7, 1, 2], [2**62, 2**62 + 1, -(2**62), 3 - 2**62], [1.5, 2.5, 0.1, 0.2]):
        table = pa.table({KEY: [0, 0, 1, 1], ORDER: [0, 1, 0, 1], TYPE: ["A", "B"] * 2, "x": values})
        for width, both in ((2, [0, 1]), (0.5, [1])):
            query = SparkQuery(f"A ; B WITHIN {width} [x]")
            rows = answered(Random(1), table, query, columns_of(query, table))
            expected_ = [k for k in (0, 1) if values[2 * k + 1] - values[2 * k] <= width]
            assert sorted(row[KEY] for row in rows) == expected_
            assert len(both) >= len(expected_) or width == 2


SCHEMA = Schema({"A": {"x": "int"}, "B": {"x": "int", "y": "int"}})
GOOD = [("a", 1, "A", 1.0, None), ("a", 4, "B", 5.0, 1), ("b", 1, "A", 1.0, None), ("b", 5, "B", 2.0, 2)]
BAD = {
    "no key": [(None, 1, "A", 1.0, None), (None, 1, "A", 1.0, None)],
    "no order": [("a", None, "A", 1.0, None)],
    "no type": [("a", 2, None, 1.0, None), ("b", 2, "", 1.0, None)],
    "not in the schema": [("a", 2, "C", 1.0, None), ("a", 3, "A", 1.0, 3)],
    "bad value": [("b", 3, "A", 1.5, None), ("b", 4, "B", 1.25, None)],
    "tie": [("a", 9, "B", 9.0, 1), ("a", 9, "B", 9.0, 1), ("a", 9, "A", 9.0, None)],
    "backward": [("a", 5, "B", 4.0, 1), ("b", 6, "B", 0.0, 1)],
}
NAMES = (KEY, ORDER, TYPE, "x", "y")


@pytest.mark.parametrize("reasons", [(), *((reason,) for reason in BAD), tuple(BAD)], ids=lambda r: "+".join(r)[:20])
@pytest.mark.parametrize("at_once", sampled([1, 3, 65_536], [3]))
def test_rows_that_are_no_events_are_set_aside(
    reasons: tuple[str, ...], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "AT_ONCE", at_once)
    rows = sorted(
        [*GOOD, *(row for reason in reasons for row in BAD[reason])],
        key=lambda row: (row[0] is not None, row[0] or "", row[1] is not None, row[1] or 0),
    )
    kinds = [pa.string(), pa.int64(), pa.string(), pa.float64(), pa.int64()]
    table = pa.table([pa.array([r[i] for r in rows], kinds[i]) for i in range(5)], names=NAMES)
    query = SparkQuery("A ; B WITHIN 10 [x]", schema=SCHEMA)
    columns = Columns((ORDER,), (KEY,), attributes=("x", "y"))
    for output in ("matches", "count", "events"):
        for seed in range(3):
            found = answered(Random(seed), table, query, columns, "aside", output)
            aside = [(row["kind"], tuple(row["row"].values())) for row in found if row["kind"] != "match"]
            assert sorted(aside, key=repr) == sorted(
                ((reason, row) for reason in reasons for row in BAD[reason]), key=repr
            )
            if output == "matches":
                assert [(r[KEY], r["events"]) for r in found if r["kind"] == "match"] == [("a", [0, 1]), ("b", [0, 1])]
            if output == "count":
                assert {r[KEY]: r["digits"] for r in found if r["kind"] == "match"} == {"a": "1", "b": "1"}


def test_valid_rows_alone_have_the_answer_that_they_have_among_others() -> None:
    """Rows by chance, of which some are no events: the answer is that of the rows that stay."""
    rng = Random(6)
    for _ in range(40):
        rows = [
            (rng.choice((None, "a", "a", "b")), rng.choice((None, *range(12))), rng.choice(("A", "A", "B", "B", None)),
             float(rng.randrange(6)), None)
            for _ in range(rng.randrange(1, 30))
        ]  # fmt: skip
        rows.sort(key=lambda r: (r[0] is not None, r[0] or "", r[1] is not None, r[1] or 0))
        kinds = [pa.string(), pa.int64(), pa.string(), pa.float64(), pa.int64()]
        table = pa.table([pa.array([r[i] for r in rows], kinds[i]) for i in range(5)], names=NAMES)
        query = SparkQuery("A ; B WITHIN 3 [x]")
        columns = Columns((ORDER,), (KEY,), attributes=("x",))
        valid = [r for r in rows if None not in r[:3]]
        places = [r[:2] for r in valid]
        valid = [r for r in valid if places.count(r[:2]) == 1]
        ascending: list[tuple[Any, ...]] = []
        for row in valid:
            if all(other[3] <= row[3] for other in ascending if other[0] == row[0]):
                ascending.append(row)
        good = pa.table([pa.array([r[i] for r in ascending], kinds[i]) for i in range(5)], names=NAMES)
        found = answered(rng, table, query, columns, "aside")
        right = answered(rng, good, query, columns)
        assert by_key(r for r in found if r["kind"] == "match") == by_key(right)
        assert sum(r["kind"] != "match" for r in found) == len(rows) - len(ascending)


@pytest.mark.parametrize(
    ("query", "reason", "message"),
    [
        (SparkQuery("A ; B"), "over budget", "key_=1: more than 2 matches"),
        (
            SparkQuery("PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { } RETURN a.x", "sase"),
            "over budget",
            "key_=1: there are more than 2 matches",
        ),
        (SparkQuery("(A ; B) FILTER A.x <= B.x"), "over budget", "key_=1: more than 2 "),
        (SparkQuery("relative(A, start)", "event-expression"), "failed", "key_=1: event 3 is a start event"),
    ],
    ids=lambda value: getattr(value, "language", None),
)
def test_a_key_that_fails_is_set_aside_and_the_others_are_answered(
    query: SparkQuery, reason: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = {0: "AB", 1: "ABBBAAAB", 2: "AB"}
    if query.language == "event-expression":
        types[1] = ["A", "A", "A", "start", "A"]  # type: ignore[assignment]
    rows = [(k, t, R, 1) for k, its in types.items() for t, R in enumerate(its)]
    table = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=[KEY, ORDER, TYPE, "x"])
    columns = Columns((ORDER,), (KEY,), attributes=("x",))
    for at_once in (1, 4, 65_536):
        monkeypatch.setattr(rows_module, "AT_ONCE", at_once)
        batches = table.to_batches(max_chunksize=1)
        made = answer_batches(batches, query.to_json(), columns, "matches", Budget(matches=2), "aside")
        found = [row for batch in made for row in batch.to_pylist()]
        if at_once > 1:
            aside = [(r["kind"], r["message"], r["row"]) for r in found if r["kind"] != "match"]
            assert [(kind, row) for kind, _, row in aside] == [(reason, {KEY: 1, ORDER: None, TYPE: None, "x": None})]
            assert aside[0][1].startswith(message)
        if query.language != "event-expression":
            assert {r[KEY] for r in found if r["kind"] == "match"} >= {0, 2}


def test_a_query_is_refused_and_not_set_aside() -> None:
    with pytest.raises(Unsupported):
        concatenated(SparkQuery("A FILTER near(A)"))
