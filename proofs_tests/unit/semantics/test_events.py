"""Events, schemas and streams."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from cerify.semantics.errors import IllFormed, InputError
from cerify.semantics.events import Event, Schema, Stream, Value, parse_time, show_time

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


def test_the_name_type_is_reserved() -> None:
    with pytest.raises(IllFormed, match="reserved"):
        Schema({"T": {"type": "string"}})


def test_the_schema_that_events_show_widens_integers_to_floats() -> None:
    assert Schema.of(EVENTS).types["T"] == {"id": "int", "tmp": "float", "name": "string"}


def test_an_event_without_a_type_is_refused_with_its_row() -> None:
    with pytest.raises(InputError, match="row 1"):
        Stream.from_table(pa.table({"type": ["A", None], "x": [1, 2]}))
    with pytest.raises(InputError, match="no column 'type'"):
        Stream.from_table(pa.table({"x": [1, 2]}))


def test_times_without_an_offset_are_utc() -> None:
    assert parse_time("2013-01-31T14:05:00") == parse_time("2013-01-31T15:05:00+01:00")
    assert show_time(parse_time("2013-01-31T15:05:00+01:00")) == "2013-01-31T14:05:00Z"


@pytest.mark.parametrize("values", [(1, "one"), (True, 2), (2**63, 1), ("one", datetime(2013, 1, 1, tzinfo=UTC))])
def test_values_that_fit_no_column_are_named(values: tuple[Value, Value]) -> None:
    S = Stream(Event("A", {"x": value}) for value in values)
    with pytest.raises(InputError, match="attribute 'x'"):
        _ = S.table
