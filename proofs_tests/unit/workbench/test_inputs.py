"""What the API takes for events, and what it makes of matches."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum
from itertools import count as counting
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cerify import Budget, Event, Match, Schema, Stream, compile, count, explain, match
from cerify.languages import language_named
from cerify.plan import DefinitionEvaluator
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError
from cerify.semantics.files import as_stream, read_stream
from cerify.semantics.match_frames import Matches, result_schema
from cerify.semantics.values import show_time

ROWS: list[dict[str, Any]] = [
    {"type": "T", "id": 1, "tmp": 40.5},
    {"type": "H", "id": 1, "tmp": None},
    {"type": "T", "id": 2, "tmp": 45.0},
]
S = Stream([Event("T", {"id": 1, "tmp": 40.5}), Event("H", {"id": 1}), Event("T", {"id": 2, "tmp": 45.0})])
QUERY = "T ; H FILTER T.id = H.id"
FOUND = [Match(1, (0, 1))]


class Foreign:
    """A frame of a library that knows the Arrow PyCapsule interface and nothing of us, as polars does."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def pandas_frame() -> Any:
    """The rows in pandas, with an index that is none of the data."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS, index=["a", "b", "c"])


def polars_frame() -> Any:
    """The rows in polars."""
    return pytest.importorskip("polars").DataFrame(ROWS)


TABLE = pa.Table.from_pylist(ROWS)
SOURCES = {
    "events": lambda: list(S),
    "dicts": lambda: ROWS,
    "an iterator": lambda: iter(ROWS),
    "a generator of both": lambda: (row if n % 2 else S[n] for n, row in enumerate(ROWS)),
    "a table": lambda: TABLE,
    "a batch": lambda: TABLE.to_batches()[0],
    "a reader of batches": lambda: TABLE.to_reader(max_chunksize=2),
    "a struct array": lambda: TABLE.to_struct_array().combine_chunks(),
    "another library": lambda: Foreign(TABLE),
    "pandas": pandas_frame,
    "polars": polars_frame,
}


@pytest.mark.parametrize("source", SOURCES)
def test_events_come_in_many_forms(source: str) -> None:
    make = SOURCES[source]
    assert as_stream(make()) == S
    assert Stream(make()) == S
    assert match(QUERY, make()) == FOUND
    assert DefinitionEvaluator(language_named("cel"), parse(QUERY), waits=False).push(make()) == FOUND


def test_texts_of_a_dictionary_may_be_views() -> None:
    """Found by a trial: categories of polars, which Arrow does not cast."""
    texts = pa.array(["A", "B", None], pa.string_view())
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1], pa.int8()), texts)
    table = pa.table({"type": coded.take(pa.array([0, 1, 3])), "x": coded.slice(1)})
    assert list(as_stream(table)) == [Event("A", {"x": "B"}), Event("B"), Event("B", {"x": "B"})]
    assert match("A ; B FILTER B.x = 'B'", table) == match("A ; B FILTER B.x = 'B'", list(as_stream(table))) != []


def test_a_dictionary_of_what_is_no_value_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"type": ["A", "B"], "x": pandas.cut([1, 2], 2)})
    with pytest.raises(InputError, match="field 'x': its values cannot be read"):
        match("A FILTER A.x = 1", frame)
    assert len(match("A", frame)) == 1


def test_the_seconds_bound_a_reader_of_batches_without_end() -> None:
    """Found by a trial: it was read until there was no memory left."""
    endless = (pa.record_batch({"type": ["A"]}) for _ in counting())
    reader = pa.RecordBatchReader.from_batches(pa.schema({"type": pa.string()}), endless)
    with pytest.raises(BudgetExceeded):
        match("A", reader, budget=Budget(seconds=0.2))


def test_the_seconds_bound_the_tests_of_each_event() -> None:
    """Found by a trial: the numbers of a product of thousands of attributes have thousands of digits."""

    def product(factors: int) -> str:
        return "x" if factors == 1 else f"({product(factors // 2)} * {product(factors - factors // 2)})"

    of_table = pa.table({"type": ["A"] * 3_000, "x": [2**62] * 3_000})
    for events, factors in (([Event("A", {"x": 10**100_000})] * 200, 16), (of_table, 2_000)):
        query = parse(f"A FILTER A[{product(factors)} > 1]")
        started = time.monotonic()
        with pytest.raises(BudgetExceeded):
            match(query, events, budget=Budget(seconds=0.1))
        assert time.monotonic() - started < 8  # it took 10 s and more, as the clock was not looked at


def test_numbers_that_python_does_not_write_are_named() -> None:
    """Found by a trial: a ValueError of Python, with advice for programs."""
    events = [Event("A", {"x": 10**5000, "time": 1})]
    saved = compile("(A ; A) PARTITION BY [x]")
    saved.push(events)
    asked: list[Callable[[], object]] = [
        lambda: match("PATTERN SEQ(A a) RETURN a.x", events, language="sase"),
        lambda: match("MATCH_RECOGNIZE (MEASURES A.x AS y PATTERN (A))", events, language="row-pattern", output="rows"),
        lambda: explain("A FILTER A[x > 1]", events, [0]),
        saved.save,
    ]
    for ask in asked:
        with pytest.raises(BudgetExceeded, match="the whole number has more than 4300 digits, too many to print"):
            ask()


def test_event_types_are_not_empty() -> None:
    """Found by a trial: files refused them, and memory did not."""
    coded = pa.array(["A", "", "A"]).dictionary_encode()
    for events in ([{"type": "A"}, {"type": ""}], pa.table({"type": ["A", ""]}), pa.table({"type": coded})):
        with pytest.raises(InputError, match=r"1[:,] .*empty"):
            match("A", events)
    assert len(match("A", pa.table({"type": coded.take(pa.array([0, 2]))}))) == 2


def test_frames_without_values_are_named_as_what_they_are() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="there are no columns"):
        match("A", pandas.DataFrame())
    with pytest.raises(InputError, match=r"column 'x': row 0 has .*, which Arrow cannot represent"):
        match("A FILTER A.x = 1", pandas.DataFrame({"type": ["A"], "x": [object()]}))


def test_a_path_is_a_file(tmp_path: Path) -> None:
    lines, columns = tmp_path / "events.jsonl", tmp_path / "events.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pq.write_table(TABLE, columns)
    for path in (lines, columns, str(lines)):
        assert as_stream(path) == S
        assert match(QUERY, path) == FOUND


def test_a_stream_is_taken_as_it_is() -> None:
    assert as_stream(S) is S


@pytest.mark.parametrize("source", ["dicts", "a table", "pandas"])
def test_other_names_for_the_type_and_the_time(source: str) -> None:
    rows = [{"kind": "A", "when": "2020-01-01T00:00:00Z", "x": 1}]
    frames = {"dicts": lambda: rows, "a table": lambda: pa.Table.from_pylist(rows)}
    frames["pandas"] = lambda: pytest.importorskip("pandas").DataFrame(rows)
    found = as_stream(frames[source](), type_column="kind", time_column="when")
    assert found == Stream([Event("A", {"time": datetime(2020, 1, 1, tzinfo=UTC), "x": 1})])


@pytest.mark.parametrize("source", ["dicts", "a table"])
def test_with_a_schema_every_value_fits_it(source: str) -> None:
    schema = Schema({"T": {"id": "int", "tmp": "float"}, "H": {"id": "int"}})
    assert as_stream(SOURCES[source](), schema=schema) == Stream(S.events, schema)
    assert as_stream(S, schema=schema) == Stream(S.events, schema)
    with pytest.raises(InputError, match="event 1, field 'type': unknown event type 'H'; the schema has T"):
        as_stream(SOURCES[source](), schema=Schema({"T": {"id": "int", "tmp": "float"}}))
    with pytest.raises(InputError, match="event 0, field 'tmp': unknown attribute; T has id"):
        as_stream(SOURCES[source](), schema=Schema({"T": {"id": "int"}, "H": {"id": "int"}}))


def test_text_is_a_time_where_the_schema_or_the_key_says_so() -> None:
    new_year = datetime(2020, 1, 1, tzinfo=UTC)
    rows = [{"type": "A", "time": "2020-01-01", "x": "2020-01-01"}]
    assert Stream(rows)[0].attributes == {"time": new_year, "x": new_year}
    declared = Schema({"A": {"x": "string", "time": "timestamp"}})
    assert as_stream(rows, schema=declared)[0].attributes == {"time": new_year, "x": "2020-01-01"}
    declared = Schema({"A": {"x": "timestamp", "time": "timestamp"}})
    assert as_stream(rows, schema=declared)[0].attributes == {"time": new_year, "x": new_year}
    with pytest.raises(InputError, match="event 0, attribute 'time': 'soon' is not a time; a time is ISO 8601"):
        Stream([{"type": "A", "time": "soon"}]).require_read()
    with pytest.raises(InputError, match="event 0, attribute 'time': '0000-01-01' is outside the years 1 to 9999"):
        Stream([{"type": "A", "time": "0000-01-01"}]).require_read()


def test_values_of_numpy_and_not_a_number() -> None:
    found = Stream([{"type": "A", "n": np.int32(3), "t": np.bool_(True), "x": float("nan")}])[0].attributes
    assert (found["n"], found["t"]) == (3, True)
    assert [type(found[name]) for name in "ntx"] == [int, bool, float]


NO_TEXT = pa.array([b"\xff"]).view(pa.string())  # as it may come from a socket


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([{"x": 1}], "event 0: no field 'type' for the event type"),
        ([{"type": None}], "event 0: its type is None"),
        ([{"type": "A", 5: 1}], "event 0: the attribute name 5 is not a string"),
        ([{"type": "A", "x": 1}, {"type": "A", "\ud800": 1}], "event 1: the attribute name"),
        ([{"type": "A", "x": np.array([1, 2])}], "event 0, attribute 'x': the value has type ndarray"),
        ([5], r"event 0 is 5; write Event\('T', {'x': 1}\) or {'type': 'T', 'x': 1}"),
        (pa.table({"x": [1]}), "no column 'type' for the event type; the columns are x"),
        (pa.table({"type": ["A"], "x": [[1]]}), "field 'x': a list, whose number of elements is the attribute"),
        (Foreign(pa.chunked_array([[1]])), "this Foreign cannot be read as a table of events"),
        (pa.table({"type": ["A"], "x": NO_TEXT}), "this Table cannot be read as a table of events: .*UTF8"),
        (pa.table({"type": NO_TEXT.dictionary_encode()}), "this Table cannot be read as a table of events: .*UTF8"),
        (pa.record_batch({"type": NO_TEXT}), "this RecordBatch cannot be read as a table of events: .*UTF8"),
        ("nothing.csv", "no file nothing.csv"),
    ],
)
def test_what_is_no_stream_is_refused(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_stream(source).require_read()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "a"], r"column 'x': row 1 has 'a', but row 0 has 1;"),
        ([None, 1, 2, True], r"column 'x': row 3 has True, but row 1 has 1;"),
        ([{"a": 1}, 2], r"column 'x': row 1 has 2, but row 0 has {'a': 1};"),
    ],
)
def test_values_of_several_kinds_in_a_frame_are_named_with_their_row(values: list[object], message: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"type": ["A"] * len(values), "x": pandas.Series(values, dtype=object)})
    with pytest.raises(InputError, match=message):
        as_stream(frame).require_read()


def test_matches_are_a_list_that_becomes_a_table() -> None:
    found = match(QUERY, S, output="valuations")
    assert isinstance(found, Matches)
    assert found == list(found)
    table = found.to_arrow()
    assert table.schema == result_schema()
    assert table.to_pylist(maps_as_pydicts="strict") == [
        {"at": 1, "events": [0, 1], "bindings": {"T": [0], "H": [1]}, "result": None}
    ]
    assert pickle.loads(pickle.dumps(found)) == found
    assert Matches().to_arrow().num_rows == 0


def test_an_evaluator_of_batches_returns_matches() -> None:
    evaluator = DefinitionEvaluator(language_named("cel"), parse(QUERY), waits=False)
    assert evaluator.push(ROWS).to_arrow()["at"].to_pylist() == [1]
    assert isinstance(evaluator.finish(), Matches)


def test_a_result_is_json() -> None:
    found = match("PATTERN SEQ(T a, H b) WHERE skip_till_any_match(a, b) { [id] } RETURN a.tmp", S, language="sase")
    (row,) = found.to_arrow().to_pylist(maps_as_pydicts="strict")
    assert row["bindings"] == {"a": [0], "b": [1]}
    assert list(json.loads(row["result"]).values()) == [40.5]


def test_a_result_has_the_order_of_return() -> None:
    text = "PATTERN SEQ(T a, H b) WHERE skip_till_any_match(a, b) { [id] } RETURN b.id AS z, a.tmp AS a"
    found = match(text, S, language="sase")
    (row,) = found.to_arrow().to_pylist()
    assert list(json.loads(row["result"])) == ["z", "a"]
    assert match(text.replace("b.id AS z, a.tmp AS a", "a.tmp AS a, b.id AS z"), S, language="sase") == found


def test_matches_are_a_frame_of_pandas() -> None:
    pytest.importorskip("pandas")
    frame = match(QUERY, S, output="valuations").to_pandas()
    assert list(frame.columns) == result_schema().names
    assert list(frame["events"][0]) == [0, 1]
    assert {name: list(places) for name, places in frame["bindings"][0].items()} == {"T": [0], "H": [1]}


@pytest.mark.parametrize("other", [None, 1, 2**70])
def test_a_whole_number_of_pandas_beyond_64_bits_is_named(other: object) -> None:
    """It was an OverflowError without column or row."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"type": ["A", "A"], "x": pandas.Series([other, -(2**63) - 1], dtype=object)})
    row = int(other != 2**70)
    with pytest.raises(InputError, match=rf"^row {row}, column 'x': -?\d+ does not fit in 64 bits"):
        as_stream(frame).require_read()


def test_a_frame_without_rows_is_a_stream_without_events() -> None:
    """Its columns are of any type, and so was that of the events' types: null, or double."""
    pandas = pytest.importorskip("pandas")
    for frame in (pandas.DataFrame({"type": ["A"], "x": [1]}).query("x > 5"), pandas.DataFrame({"type": [], "x": []})):
        assert (len(as_stream(frame)), list(match("A", frame))) == (0, [])
    with pytest.raises(InputError, match="no column 'type'"):
        as_stream(pandas.DataFrame({"x": []}))


def test_no_time_of_numpy_is_an_absent_attribute_and_an_array_is_no_value() -> None:
    assert list(Stream([Event("A", {"x": np.datetime64("NaT")})])) == [Event("A")]  # type: ignore[dict-item]
    assert list(Stream([{"type": "A", "x": np.datetime64("NaT"), "y": np.int64(1)}])) == [Event("A", {"y": 1})]
    with pytest.raises(InputError, match="event 0, attribute 'x': the value has type ndarray"):
        Stream([{"type": "A", "x": np.array([1])}]).require_read()


@pytest.mark.parametrize(("year", "month", "day", "hours"), [(1, 1, 1, 14), (9999, 12, 31, -14)])
def test_a_time_whose_utc_is_outside_the_years_is_refused(year: int, month: int, day: int, hours: int) -> None:
    """Tables of MATCH_RECOGNIZE ended in an OverflowError, and the column of Arrow had the year 0."""
    when = datetime(year, month, day, 12, tzinfo=timezone(timedelta(hours=hours)))
    with pytest.raises(InputError, match="event 0, attribute 'x': the time is outside the years 1 to 9999"):
        Stream([{"type": "A", "x": when}]).require_read()


@pytest.mark.parametrize("day", [date(2021, 1, 1), np.datetime64("2021-01-01"), np.datetime64("2021", "Y")])
def test_a_date_is_its_midnight_as_in_a_column(day: object) -> None:
    (event,) = Stream([{"type": "A", "x": day}])
    assert [event] == list(as_stream(pa.table({"type": ["A"], "x": [date(2021, 1, 1)]})))
    assert event == Event("A", {"x": datetime(2021, 1, 1, tzinfo=UTC)})


class Colour(str, Enum):  # noqa: UP042 - of a StrEnum str() is the plain text
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Lower(str):
    def __eq__(self, other: object) -> bool:
        return str.lower(self) == other

    __hash__ = str.__hash__


@pytest.mark.parametrize("value", [Colour.RED, Level.HIGH, Lower("Hello"), type("F", (float,), {})(0.5)])
def test_a_value_is_of_exactly_its_class(value: str | int | float) -> None:
    """A member of an Enum had another text in CAST, and a text with an equality of its own passed what none passes."""
    for made in (Event("A", {"x": value}), {"type": "A", "x": value}):
        (event,) = Stream([made])
        assert type(event.attributes["x"]) in (str, int, float)
        assert repr(event.attributes["x"]) in ("'red'", "3", "'Hello'", "0.5")


@pytest.mark.parametrize("unit", ["h", "s", "ms", "us", "ns"])
def test_a_time_of_numpy_is_a_time_in_each_unit(unit: str) -> None:
    """One of nanoseconds, as a column of pandas has them, became a whole number."""
    (event,) = Stream([{"type": "A", "x": np.datetime64("2021-01-01T02", unit)}])
    assert event == Event("A", {"x": datetime(2021, 1, 1, 2, tzinfo=UTC)})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.datetime64("2021-01-01T00:00:00.000000000001", "ps"), "has digits beyond nanoseconds"),
        (np.datetime64("20000-01-01", "s"), "the time is outside the years 1 to 9999"),
        (np.datetime64("20000-01-01", "us"), "the time is outside the years 1 to 9999"),
        (np.timedelta64(5, "ns"), "the value has type timedelta64"),
        (np.timedelta64(5, "s"), "the value has type timedelta64"),
    ],
)
def test_what_is_no_time_of_numpy_is_refused(value: object, message: str) -> None:
    with pytest.raises(InputError, match=f"event 0, attribute 'x': .*{message}"):
        Stream([{"type": "A", "x": value}]).require_read()


def test_a_timestamp_of_pandas_is_a_time_and_na_is_no_value() -> None:
    pandas = pytest.importorskip("pandas")
    (event,) = Stream([{"type": "A", "x": pandas.Timestamp("2021-01-01T02", tz="Europe/Berlin"), "y": pandas.NA}])
    assert event == Event("A", {"x": datetime(2021, 1, 1, 1, tzinfo=UTC)})
    assert type(event.attributes["x"]) is datetime
    text = "2021-01-01T00:00:00.000000001"
    for fine in (pandas.Timestamp(text, tz="UTC"), pandas.Timestamp(text), np.datetime64(text)):
        (event,) = Stream([Event("A", {"x": fine})])
        assert show_time(event.attributes["x"]) == "2021-01-01T00:00:00.000000001Z"  # type: ignore[arg-type]


def test_a_schema_that_is_none_is_a_typed_error(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text("type\nA\n")
    for take in (Stream, as_stream, lambda events, schema: read_stream(file, schema=schema)):
        with pytest.raises(IllFormed, match=r"a schema must be a cerify.Schema, not a dict"):
            take([{"type": "A"}], schema={"A": {}})


HUGE = 10**400


@pytest.mark.parametrize("times", [(HUGE, 1.5), (1.5, HUGE), (-HUGE, 1.5), (-HUGE, float("inf"))])
@pytest.mark.parametrize("evaluator", ["denotational", "automaton"])
def test_an_integer_beyond_the_floats_and_a_float_are_in_no_window(times: tuple[Any, ...], evaluator: str) -> None:
    """Their difference was an OverflowError; as in arithmetic it has no value."""
    S = Stream([Event("A", {"time": times[0]}), Event("B", {"time": times[1]})])
    assert list(match("A ; B WITHIN 5 seconds", S, evaluator=evaluator)) == []
    assert list(match("A ; B WITHIN 5 [time]", S, evaluator=evaluator)) == []
    assert list(match("PATTERN SEQ(A a, B b) WITHIN 5 seconds", S, evaluator=evaluator, language="sase")) == []
    both = Stream([Event("A", {"time": HUGE}), Event("B", {"time": HUGE + 5})])
    assert len(match("A ; B WITHIN 5 seconds", both, evaluator=evaluator)) == 1


ASKED: dict[str, Callable[[Iterator[Any], Iterator[int], Budget], object]] = {
    "match": lambda events, _, budget: match(QUERY, events, budget=budget),
    "count": lambda events, _, budget: count(QUERY, events, budget=budget),
    "push": lambda events, _, budget: compile(QUERY, budget=budget).push(events),
    "explain": lambda events, _, budget: explain(QUERY, events, [0, 1], budget=budget),
    "positions": lambda _, places, budget: explain(QUERY, S, places, budget=budget),
    "a valuation": lambda _, places, budget: explain(QUERY, S, valuation={"T": places}, budget=budget),
}


@pytest.mark.parametrize("asked", ASKED)
def test_the_seconds_bound_an_iterator_without_end(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of events even one that is slow: of a feed with an event each second, three were bounded by 256 of them."""
    now = began = time.monotonic()

    def slow(item: Callable[[int], Any], seconds: float) -> Iterator[Any]:
        nonlocal now
        for n in range(1000):
            now += seconds
            yield item(n)
        pytest.fail("all was read")

    monkeypatch.setattr(time, "monotonic", lambda: now)
    events, places = slow(lambda _: {"type": "A"}, 1), slow(lambda n: n, 0.01)
    with pytest.raises(BudgetExceeded, match="more than 3 seconds"):
        ASKED[asked](events, places, Budget(seconds=3))
    assert now - began < 6
