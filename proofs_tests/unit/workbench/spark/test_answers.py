"""What a worker makes of batches of rows, without Spark around it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types as T

import cerify.spark
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, ParseError, Span
from cerify.semantics.events import Schema
from cerify.semantics.values import ValueType
from cerify.spark import rows as rows_module
from cerify.spark.answers import answer_batches
from cerify.spark.columns import columns_of
from cerify.spark.keyed_streams import StreamPlan, packed
from cerify.spark.rows import BAD_VALUE, Columns, ValidRows, events_of
from cerify.spark.runs import SparkQuery, start
from cerify.spark.streaming import unpacked_rows
from cerify.spark.transport import WorkerError, deserialize_error, serialize_error, worker_errors

COLUMNS = Columns(("ts",), ("k",), attributes=("x",))


@pytest.fixture(autouse=True, params=[1, 5, 65_536])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows are looked at together."""
    monkeypatch.setattr(rows_module, "AT_ONCE", request.param)


def batches(rows: list[dict[str, Any]], *cuts: int) -> list[pa.RecordBatch]:
    """Rows as batches that are cut before these."""
    schema = {"k": pa.string(), "ts": pa.int64(), "type": pa.string(), "x": pa.float64(), "n": pa.string()}
    whole = pa.RecordBatch.from_pylist(rows, pa.schema(list(schema.items())))
    ends = [0, *cuts, len(rows)]
    return [whole.slice(begin, end - begin) for begin, end in pairwise(ends)]


def keyed(**types: str) -> list[dict[str, Any]]:
    """For each key its events, by their types."""
    return [{"k": k, "ts": t, "type": R, "x": float(t), "n": f"{k}{t}"} for k in types for t, R in enumerate(types[k])]


def found(parts: list[pa.RecordBatch], query: str, columns: Columns = COLUMNS, **given: Any) -> list[dict[str, Any]]:
    said = {"output": "matches", "budget": Budget()} | given
    return [
        row
        for batch in answer_batches(parts, SparkQuery(query).to_json(), columns, **said)
        for row in batch.to_pylist()
    ]


@pytest.mark.slow
def test_wherever_batches_are_cut_each_key_is_a_stream_of_its_own() -> None:
    rows, rng = keyed(a="ABAB", b="B", c="AAB", d="BA"), Random(1)
    for cuts in ((), *((i,) for i in range(11)), *(sorted(rng.sample(range(11), 4)) for _ in range(20))):
        pairs = [(row["k"], row["at"], row["events"]) for row in found(batches(rows, *cuts), "A ; B")]
        assert sorted(pairs) == [
            ("a", 1, [0, 1]), ("a", 3, [0, 3]), ("a", 3, [2, 3]), ("c", 2, [0, 2]), ("c", 2, [1, 2])
        ]  # fmt: skip
        numbers = {row["k"]: row["digits"] for row in found(batches(rows, *cuts), "A ; B", output="count")}
        assert numbers == {"a": "3", "b": "0", "c": "2", "d": "0"}


def test_a_number_of_any_length_is_written_out() -> None:
    (row,) = found(batches(keyed(a="A" * 15_000), 5_000, 10_000), "A+", output="count")
    assert row["count"] is None
    assert Decimal(row["digits"]) == Decimal(2**15_000 - 1)


def test_ids_are_those_of_the_events_also_after_old_ones_are_let_go() -> None:
    rows = keyed(a="AB" * 60, b="CAB")
    columns = Columns(("ts",), ("k",), id="n", attributes=("x",))
    for query in ("A : B WITHIN 2 EVENTS", "A : B WITHIN 1 [x]", "A : B"):
        parts = batches(rows, *range(1, 120, 2))
        assert [(row["at"], row["events"]) for row in found(parts, query, columns)] == [
            *((f"a{t + 1}", [f"a{t}", f"a{t + 1}"]) for t in range(0, 120, 2)),
            ("b2", ["b1", "b2"]),
        ]


def test_what_is_projected_away_can_be_reported_later_by_its_id() -> None:
    columns = Columns(("ts",), ("k",), id="n", attributes=("x",))
    rows = found(batches(keyed(a="ACCB"), 2, 3), "PROJECT[A](A ; B) WITHIN 2 EVENTS", columns)
    assert [(row["at"], row["events"]) for row in rows] == [("a3", ["a0"])]


def test_a_tie_is_found_within_a_batch_and_from_one_to_the_next() -> None:
    rows = keyed(a="AB", b="AB")
    rows[3]["ts"] = 0
    for cuts in ((), (3,), (2, 3)):
        with pytest.raises(WorkerError) as raised:
            found(batches(rows, *cuts), "A")
        error = deserialize_error(raised.value)
        assert isinstance(error, InputError)
        assert error.message.startswith("k='b', ts=0: two events of k have the same place in the order")


def test_nan_and_null_tie_as_spark_sorts_them() -> None:
    rows = keyed(a="AA")
    for row in rows:
        row["x"] = float("nan")
    with pytest.raises(WorkerError, match="the same place"):
        found(batches(rows), "A", Columns(("x",), ("k",)))


def test_an_error_is_serialized_with_all_its_fields() -> None:
    for error in (ParseError("no", Span(1, 2)), BudgetExceeded("so much")):
        error.text = "A ;"
        with pytest.raises(WorkerError) as raised, serialize_error():
            raise error
        other = deserialize_error(RuntimeError(f"org.apache.spark.SparkException: {raised.value}\n\tat somewhere"))
        assert isinstance(other, CerifyError)
        assert (type(other), other.message, other.span, other.text) == (
            type(error), error.message, error.span, error.text
        )  # fmt: skip
    plain = RuntimeError("disk full")
    assert deserialize_error(plain) is plain


def test_worker_errors_raises_the_error_of_the_worker_and_leaves_others_alone() -> None:
    with pytest.raises(WorkerError) as raised, serialize_error():
        raise InputError("row 3")
    with pytest.raises(InputError, match="row 3"), worker_errors():
        raise RuntimeError(f"Job aborted: {raised.value}\n\tat somewhere")
    plain = RuntimeError("disk full")
    with pytest.raises(RuntimeError) as same, worker_errors():
        raise plain
    assert same.value is plain


@pytest.mark.slow
def test_no_function_of_pyspark_is_replaced() -> None:
    pytest.importorskip("pyspark", "4.1")
    from pyspark.errors.exceptions import base, captured

    for name in ("batch", "sql", "streaming"):
        import_module(f"cerify.spark.{name}")
    assert captured.recover_python_exception is base.recover_python_exception


def test_an_error_of_a_run_names_its_key() -> None:
    with pytest.raises(WorkerError, match="k='b': more than 1 matches"):
        found(batches(keyed(a="A", b="AAA")), "A", budget=Budget(matches=1))


@pytest.mark.parametrize(
    ("types", "x", "message"),
    [
        ({"A": {"x": "int"}, "B": {}}, 1.0, "k='a', ts=1, field 'x': unknown attribute; B has none in the schema"),
        (
            {"A": {"x": "int"}, "B": {"x": "int"}},
            0.5,
            "k='a', ts=1, field 'x': 0.5 cannot be stored exactly as a 64-bit int",
        ),
        ({"A": {"x": "float"}}, None, "k='a', ts=1, field 'type': unknown event type 'B'; the schema has A"),
    ],
)
def test_a_row_that_does_not_fit_the_schema_is_told_with_its_place(
    types: dict[str, dict[str, ValueType]], x: float | None, message: str
) -> None:
    rows = keyed(a="AB", b="A")
    rows[1]["x"] = x
    query = SparkQuery("A FILTER A[x > 0]", schema=Schema(types)).to_json()
    with pytest.raises(WorkerError) as raised:
        list(answer_batches(batches(rows, 1), query, COLUMNS, "matches", Budget()))
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["match", "match_stream", "audit"])
def test_a_keyword_argument_that_there_is_not_is_named(name: str) -> None:
    required = {"id_col": "id"} if name == "audit" else {}
    with pytest.raises(IllFormed, match=f"^{name} has no argument 'partiton_by'; did you mean 'partition_by'"):
        getattr(cerify.spark, name)(*(None,) * (3 if name == "audit" else 2), partiton_by="k", **required)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN SEQ(A a, B b)", 'it is a query in another language: language="sase"'),
        ("MATCH_RECOGNIZE (PATTERN (A))", 'it is a query in another language: language="row-pattern"'),
        ("A || B", "CEL has no '||'; write OR"),
    ],
)
def test_a_query_of_another_language_is_named_as_elsewhere(text: str, message: str) -> None:
    """The error listed what CEL expects there."""
    with pytest.raises(ParseError, match=re.escape(message)):
        _ = SparkQuery(text).parsed


def test_a_row_without_an_id_is_refused_or_set_aside() -> None:
    """Found by a trial: the events of a match were None."""
    rows = pa.record_batch({"ts": [0, 1], "type": ["A", "B"], "id": [None, 7]})
    columns = Columns(("ts",), id="id")
    with pytest.raises(InputError, match="ts=0: the column 'id' is empty; it identifies the event"):
        events_of(rows, columns, None)
    valid = ValidRows(columns, None, {})
    assert sum(batch.num_rows for batch in valid.filter_batches([rows])) == 1
    assert [(one.reason, one.rows.num_rows) for one in valid.take()] == [(BAD_VALUE, 1)]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("tags.any.new", "F.exists('tags', lambda x: x == 'new')"),
        ("items.sku.any.x1", "F.exists('items', lambda x: x['sku'] == 'x1')"),
        ("tags.count", "F.array_size('tags')"),
    ],
)
def test_what_to_write_for_an_element_of_a_list(name: str, column: str) -> None:
    """Elements of lists were columns that there are not, without advice."""
    item = T.StructType().add("sku", "string")
    row = T.StructType().add("n", "long").add("type", "string")
    row = row.add("tags", T.ArrayType(T.StringType())).add("items", T.ArrayType(item))
    with pytest.raises(InputError, match=re.escape(f"give attributes={{{name!r}: {column}}}")):
        columns_of(row, SparkQuery(f'A FILTER A."{name}" = 1'), order_by="n")


def test_a_name_with_dashes_that_stands_without_quotes_is_named() -> None:
    row = T.StructType().add("n", "long").add("type", "string").add("unit-price", "long")
    with pytest.raises(InputError, match=r"needs 'price'; .*; if you mean 'unit-price', .*: \"unit-price\"$"):
        columns_of(row, SparkQuery("A FILTER A[unit-price > 1]"), order_by="n")


@pytest.mark.parametrize(("per", "unit"), [(10**3, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds")])
def test_times_of_smaller_units_are_no_seconds(per: int, unit: str) -> None:
    """A window of ten minutes over milliseconds lost its matches without a word."""
    columns = Columns(("ts",), time="ts")
    rows = pa.record_batch({"ts": pa.array([1541000542 * per]), "type": ["A"]})
    with pytest.raises(InputError, match=f"ts=.*: the column 'ts' has {unit} since 1970.*timestamp_"):
        events_of(rows, columns, None)
    seconds = pa.record_batch({"ts": pa.array([1541000542]), "type": ["A"]})
    assert events_of(seconds, columns, None)["time"].to_pylist() == [1541000542]


@pytest.mark.slow
def test_what_return_makes_has_the_types_of_the_columns() -> None:
    """It was JSON in a text, with decimals as floats and times as texts."""
    day, moment = date(2024, 10, 27), datetime(2024, 10, 27, 0, 59, tzinfo=UTC)
    columns = {
        "k": (pa.string(), ["u"] * 3),
        "ts": (pa.timestamp("us", "UTC"), [moment + timedelta(minutes=i) for i in range(3)]),
        "type": (pa.string(), list("ABB")),
        "price": (pa.decimal128(12, 2), [Decimal("9999999999.99"), Decimal("0.10"), None]),
        "n": (pa.int32(), [2**31 - 1, 2, 4]),
        "at.day": (pa.date32(), [day, None, day]),
        "clock": (pa.timestamp("us"), [moment.replace(tzinfo=None)] * 3),
    }
    batch = pa.record_batch([pa.array(values, kind) for kind, values in columns.values()], names=list(columns))
    wanted: dict[str, tuple[str, pa.DataType, Any]] = {
        "price": ("a.price", pa.decimal128(12, 2), Decimal("9999999999.99")),
        "prices": ("b[].price AS prices", pa.list_(pa.decimal128(12, 2)), [Decimal("0.10"), None]),
        "least": ("min(b[].price) AS least", pa.decimal128(12, 2), Decimal("0.10")),
        "total": ("sum(b[].price) AS total", pa.float64(), 0.1),
        "number": ("count(b[]) AS number", pa.int64(), 2),
        "mean": ("avg(b[].n) AS mean", pa.float64(), 3.0),
        "next": ("a.n + 1 AS next", pa.int64(), 2**31),
        "half": ("a.price / 2 AS half", pa.float64(), 9999999999.99 / 2),
        "time": ("a.time", pa.timestamp("us", "UTC"), moment),
        "clock": ("a.clock", pa.timestamp("us"), moment.replace(tzinfo=None)),
        "day": ('a."at.day" AS day', pa.date32(), day),
        "first": ('b[1].(n, "at.day") AS first', pa.struct({"n": pa.int32(), "at.day": pa.date32()}),
                  {"n": 2, "at.day": None}),
        "all": ("b[].(n, clock) AS all", pa.list_(pa.struct({"n": pa.int32(), "clock": pa.timestamp("us")})),
                [{"n": n, "clock": moment.replace(tzinfo=None)} for n in (2, 4)]),
    }  # fmt: skip
    text = f"PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour RETURN {', '.join(item for item, _, _ in wanted.values())}"
    query = SparkQuery(text, "sase").to_json()
    places = Columns(("ts",), ("k",), time="ts", attributes=("price", "n", "at.day", "clock"))
    (answer,) = answer_batches([batch], query, places, "matches", Budget())
    assert answer.schema.field("result").type == pa.struct([(name, kind) for name, (_, kind, _) in wanted.items()])
    assert answer.column("result").to_pylist() == [{name: value for name, (_, _, value) in wanted.items()}]
    run = start(SparkQuery(text, "sase"))
    blob = packed(pa.concat_tables([run.push(events_of(batch, places, None)), run.finish()]))
    yielded = pa.record_batch({"k0": ["u"], "kind": ["match"], "rows": [blob]})
    (of_stream,) = unpacked_rows([yielded], StreamPlan(SparkQuery(text, "sase"), places, batch.schema).to_json())
    assert of_stream.column("result") == answer.column("result")
