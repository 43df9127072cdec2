"""Events, schemas and streams."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerify import match
from cerify.semantics.arrow_columns import arrow_table, stream_table
from cerify.semantics.errors import IllFormed, InputError
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.json_events import json_of_event
from cerify.semantics.values import Value, parse_time, plain, show_time

# ---- events ----
#

EVENTS = [
    Event("T", {"id": 1, "tmp": 40.5}),
    Event("H", {"id": 2, "ok": True, "seen": datetime(2013, 1, 31, 14, 5, 0, 250_000, tzinfo=UTC)}),
    Event("T", {"name": "nord", "tmp": 1}),
]


def test_a_stream_is_the_same_from_events_and_from_its_table() -> None:
    again = Stream.from_table(Stream(EVENTS).table)
    assert list(again) == [EVENTS[0], EVENTS[1], Event("T", {"name": "nord", "tmp": 1.0})]
    assert len(again) == 3


def test_a_part_starts_at_0_again_on_both_sides() -> None:
    for S in (Stream(EVENTS), Stream.from_table(Stream(EVENTS).table)):
        assert list(S.part(1, 1)) == [EVENTS[1]]


def test_a_name_with_two_types_is_refused_with_both_places() -> None:
    with pytest.raises(IllFormed, match=r"id.*int in T.*string in H"):
        Schema({"T": {"id": "int"}, "H": {"id": "string"}})


@pytest.mark.parametrize("types", [{"T": {5: "int"}}, {5: {"x": "int"}}, {"T": {"\ud800": "int"}}])
def test_the_names_of_a_schema_are_texts(types: Any) -> None:
    with pytest.raises(IllFormed, match="each of its names must be a text"):
        Schema(types)


def test_the_name_type_is_reserved() -> None:
    with pytest.raises(IllFormed, match="reserved"):
        Schema({"T": {"type": "string"}})
    with pytest.raises(InputError, match="field 'type'"):
        json_of_event(Event("T", {"type": "H"}))


def test_the_schema_that_events_show_widens_integers_to_floats() -> None:
    assert Schema.from_events(EVENTS).types["T"] == {"id": "int", "tmp": "float", "name": "string"}


def test_a_schema_has_the_attributes_of_each_type_in_the_order_of_columns() -> None:
    S = Stream([Event("a", {"m": 1}), Event("b", {"n": 1, "m": 2}), Event("a", {"n": 1.5})])
    assert (
        [*Schema.from_events(S).types["b"]] == [name for name in S.table.column_names if name != "type"] == ["m", "n"]
    )
    assert Schema.from_events(S).types["b"] == {"m": "int", "n": "float"}


def test_an_event_without_a_type_is_refused_with_its_row() -> None:
    with pytest.raises(InputError, match="row 1"):
        Stream.from_table(pa.table({"type": ["A", None], "x": [1, 2]}))
    with pytest.raises(InputError, match="no column 'type'"):
        Stream.from_table(pa.table({"x": [1, 2]}))


def test_what_is_no_event_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"event 1 is \('A', 1\); write Event"):
        Stream([Event("A"), ("A", 1)])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"event 1: no key 'type' for the event type; the keys are x"):
        Stream([Event("A"), {"x": 1}])


@pytest.mark.parametrize("events", ["a.csv", Path("a.csv"), 3])
def test_what_is_no_collection_of_events_is_refused(events: Any) -> None:
    """A path is not iterated letter by letter."""
    with pytest.raises(
        InputError, match=r"^events must be a Stream, a list or a table, not .*; read a file with cerify"
    ):
        Stream(events)


def test_times_without_an_offset_are_utc() -> None:
    assert parse_time("2013-01-31T14:05:00") == parse_time("2013-01-31T15:05:00+01:00")
    assert show_time(parse_time("2013-01-31T15:05:00+01:00")) == "2013-01-31T14:05:00Z"


@pytest.mark.parametrize("values", [(1, "one"), (True, 2), (2**63, 1), ("one", datetime(2013, 1, 1, tzinfo=UTC))])
def test_values_that_fit_no_column_are_named(values: tuple[Value, Value]) -> None:
    S = Stream(Event("A", {"x": value}) for value in values)
    with pytest.raises(InputError, match="attribute 'x'"):
        _ = S.table


def test_values_are_brought_to_our_types() -> None:
    """Whatever the length of a stream: from some length on it is read by its table."""
    naive = Event("A", {"t": datetime(2021, 1, 1), "x": np.int64(5), "y": None})
    for n in (1, 256):
        S = Stream([naive] * n)
        assert S[0] == Event("A", {"t": datetime(2021, 1, 1, tzinfo=UTC), "x": 5})
        assert len(match("A FILTER A.t = timestamp '2021-01-01' AND A.x > 4", S)) == n


@pytest.mark.parametrize("value", [Decimal(1), "\ud800", [1], b"a"])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="event 1, attribute 'x': "):
        Stream([Event("A"), Event("A", {"x": value})])


@pytest.mark.parametrize("type_", [None, 3, "\ud800"])
def test_a_type_is_a_text(type_: Any) -> None:
    with pytest.raises(InputError, match="event 0: "):
        Stream([Event(type_)])


def test_no_value_is_made_one_of_another_type() -> None:
    with pytest.raises(
        InputError, match="event 1, attribute 'x': the value has type float, but the column has type int"
    ):
        _ = Stream([Event("A", {"x": 1}), Event("A", {"x": 1.5})], Schema({"A": {"x": "int"}})).table
    with pytest.raises(InputError, match="event 1, attribute 'x': float, but an earlier A has bool"):
        _ = Stream([Event("A", {"x": True}), Event("A", {"x": 1.5})]).table


def test_columns_are_brought_to_our_types() -> None:
    """The same matches by every evaluator, whatever Arrow type a column has."""
    columns = {
        "type": pa.array(["A", "B"], pa.large_string()),
        "time": pa.array([1, 3], pa.int16()).dictionary_encode(),
        "day": pa.array([date(2021, 1, 1)] * 2),
        "at": pa.array([datetime(2021, 1, 1)] * 2, pa.timestamp("ns")).dictionary_encode(),
    }
    query = "(A ; B) WITHIN 2 seconds FILTER A.day = A.at AND B.at = timestamp '2021-01-01'"
    for evaluator in ("denotational", "automaton"):
        assert len(match(query, Stream.from_table(pa.table(columns)), evaluator=evaluator)) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ([["A"], [Decimal(1)]], "type x"),
        ([["A"], [b"a"]], "type x"),
        ([["A"], [1], [1]], "type x x"),
        ([[1]], "type"),
        ([["A"], pa.array([2**63], pa.uint64())], "type x"),
        ([pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["A", None]))], "type"),
    ],
)
def test_columns_that_hold_no_values_are_refused(columns: list[Any], names: str) -> None:
    with pytest.raises(InputError):
        Stream.from_table(pa.table(list(map(pa.array, columns)), names=names.split()))


def test_a_dictionary_that_has_a_type_twice_is_one_type() -> None:
    types = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 128), pa.array(["A", "A"]))
    assert len(match("A FILTER A.x = 1", Stream.from_table(pa.table({"type": types, "x": [1] * 256})))) == 256


def test_streams_are_equal_where_their_events_and_schemas_are() -> None:
    events = [Event("A", {"x": 1}), Event("B")]
    S = Stream(events)
    assert S == Stream(events) == Stream.from_table(S.table)
    assert hash(S) == hash(Stream.from_table(S.table))
    assert Stream([Event("A", {"x": 1.0}), Event("B")]) == S
    assert Stream(events[::-1]) != S
    assert Stream(events[:1]) != S
    assert Stream([Event("A", {"x": True}), Event("B")]) != S
    assert Stream(events, Schema({"A": {"x": "int"}, "B": {}})) != S
    assert events != S


def test_a_table_of_nothing_but_texts_and_times_has_its_times_checked_and_in_utc() -> None:
    """A timestamp needs a look even where every column has one of our types."""

    def table(tick: int, type_: pa.DataType) -> pa.Table:
        return pa.table({"type": ["A"], "x": pa.array([tick], type_)})

    for type_ in (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        assert Stream.from_table(table(5, type_)).table.schema.field("x").type == pa.timestamp("us", "UTC")
    with pytest.raises(InputError, match="row 0, field 'x': the time is outside the years 1 to 9999"):
        Stream.from_table(table(10**18, pa.timestamp("us", "UTC")))


def test_text_is_read_as_a_time_under_the_key_time_and_where_the_schema_has_one() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    rows = [{"type": "A", "time": "2026-01-01T12:00:00Z", "x": "2026-01-01T12:00:00Z"}]
    assert Stream(rows)[0].attributes == {"time": noon, "x": noon}
    assert Stream([Event("A", {"x": "2026-01-01T12:00:00Z"})])[0].attributes == {"x": "2026-01-01T12:00:00Z"}
    schema = Schema({"A": {"time": "string", "x": "timestamp"}})
    assert Stream(rows, schema)[0].attributes == {"time": "2026-01-01T12:00:00Z", "x": noon}
    assert Stream([{"type": "A", "time": 3}])[0].attributes == {"time": 3}


@pytest.mark.parametrize(("value", "text"), [(2.0, "2"), (0.5, "0.5"), (float("nan"), "null"), ([-1e300, 2], None)])
def test_a_result_has_whole_numbers_without_point(value: object, text: str | None) -> None:
    assert json.dumps(plain(value)) == (text or f"[{int(-1e300)}, 2]")


# ---- arrow columns ----
# Tables of Arrow as tables of a stream.


class NoStream:
    """An object that claims to have a table and has none."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return None


class NoArray:
    """The same of an array."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return None


def test_a_table_whose_columns_have_the_types_of_values_is_not_copied() -> None:
    table = pa.table({"type": ["A", "B"], "x": [1, 2], "y": [0.5, None], "z": [True, False]})
    assert stream_table(table, "type") is table


def test_a_time_outside_the_years_of_python_is_refused_though_its_type_is_ours() -> None:
    times = pa.array([0, 2**62], pa.timestamp("us", "UTC"))
    with pytest.raises(InputError, match=r"row 1.*outside the years"):
        stream_table(pa.table({"type": ["A", "B"], "t": times}), "type")


@pytest.mark.parametrize("kind", [NoStream, NoArray])
def test_what_only_claims_to_have_a_table_is_an_input_error(kind: type) -> None:
    with pytest.raises(InputError, match=kind.__name__):
        arrow_table(kind())
