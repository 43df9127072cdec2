"""The schema that a stream shows, by columns and by events."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pyarrow as pa
import pytest

from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Schema, Stream, observed
from cerify.semantics.files import read_schema
from cerify.semantics.values import Value

VALUES: dict[str, tuple[Value, ...]] = {
    "b": (True, False),
    "n": (1, -2),
    "x": (1, 2.5),
    "s": ("a", ""),
    "time": (datetime(2020, 1, 1, tzinfo=UTC),),
}


def stream(rng: Random) -> Stream:
    """A stream of a few types, each event with some of the attributes, in an order of its own."""
    events = []
    for _ in range(rng.randint(0, 12)):
        names = rng.sample(sorted(VALUES), rng.randint(0, len(VALUES)))
        events.append(Event(rng.choice("ABC"), {name: rng.choice(VALUES[name]) for name in names}))
    return Stream(events)


def test_columns_and_events_show_the_same() -> None:
    rng = Random(5)
    for _ in range(300):
        S = stream(rng)
        by_events = observed(S)
        by_columns = observed(Stream.from_table(S.table))
        assert {R: dict(names) for R, names in by_columns.types.items()} == by_events.types
        assert Schema(by_events.types) == Schema.of(S)


def test_attributes_are_in_the_order_in_which_events_have_them() -> None:
    """As event expressions count their arguments, see places_of."""
    table = pa.table({"type": ["A", "B", "A"], "x": [None, 1, 2], "y": [1, 2, None]})
    assert {R: tuple(names) for R, names in observed(Stream.from_table(table)).types.items()} == {
        "A": ("y", "x"),
        "B": ("x", "y"),
    }


def test_a_column_in_several_chunks_with_a_dictionary() -> None:
    chunks = (("AB", [None, 1]), ("BC", [2, 3]))
    table = pa.concat_tables([pa.table({"type": pa.array(R).dictionary_encode(), "x": x}) for R, x in chunks])
    assert observed(Stream.from_table(table)).types == {"A": {}, "B": {"x": "int"}, "C": {"x": "int"}}


def test_values_of_several_types_are_named() -> None:
    S = Stream([Event("A", {"x": 1, "y": 1}), Event("B", {"x": "a", "y": 1.5})])
    assert observed(S).mixed == {"x"}
    assert observed(S).types["A"]["y"] == "float"


def test_a_time_is_there_only_if_an_event_has_it() -> None:
    assert not observed(Stream([Event("A", {"x": 1})])).has("A", "time")
    assert observed(Stream([Event("A", {"time": 1})])).has("A", "time")
    assert Schema({"A": {"x": "int"}}).has("A", "time")


def test_a_schema_is_read_from_a_file_of_events(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "events.csv"
    path.write_text("kind,at,x\nA,2020-01-01,1\nB,2020-01-02,\n")
    schema = read_schema(str(path), type_column="kind", time_column="at")
    assert schema.types == {"A": {"time": "timestamp", "x": "int"}, "B": {"time": "timestamp"}}
    with pytest.raises(InputError, match="no column 'type' for the event type; the columns are kind, at, x"):
        read_schema(str(path))
    lines = tmp_path / "events.jsonl"
    lines.write_text('{"type": "A", "x": 1}\n{"type": "A", "x": 1.5}\n')
    assert read_schema(str(lines)).types == {"A": {"x": "float"}}
