"""Small CSV files in plain Python against Arrow's reader: the same events, or left to Arrow."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cerify.semantics.arrow_rows import rows_of_table, timed_table
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.tables import CsvSource, fitted_table, line_of, read_csv, stream_of_csv
from cerify.semantics.time_columns import FieldReading

WRITTEN = """
0 -7 007 12 123456789012345678 9223372036854775808 1.5 -0.25 1e3 1e99 .5 5. 0x1F
true False TRUE tRue a x_1 nan inf Infinity NaN null é
2013-01-31 2013-01-31T14:05:00 2013-01-31T14:05:00Z 2013-01-31T14:05:00.25 12:30 12:30:00 2013-13-01
"""
CELLS = ["", "A b", " a", "1 ", "2013-01-31 14:05:00Z", *WRITTEN.split()]
SCHEMAS = [
    None,
    Schema({"A": {"x": "int", "y": "float"}, "B": {"x": "int"}}),
    Schema({"A": {"x": "string", "y": "bool"}, "B": {"y": "bool", "time": "timestamp"}}),
]


def _source(text: str) -> CsvSource:
    data = text.encode()
    return CsvSource("x.csv", lambda: io.BytesIO(data))


def _by_arrow(source: CsvSource, schema: Schema | None) -> list[Event]:
    known = {"type": "string"} | dict({} if schema is None else schema.attributes)

    def place(row: int) -> str:
        return line_of(source, row)

    table = read_csv(source, known)
    if schema is None:
        return list(Stream.from_table(rows_of_table(table, FieldReading(), source.name, place).table))
    timed, _ = timed_table(table, schema, FieldReading(), source.name, place)
    return list(Stream.from_table(fitted_table(timed, schema, {"type": "type"}, source.name, place), schema))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('type,x\nA,1\nA,"4,5"\n', "x.csv, line 3: cells in quotes take Arrow's reader: pip install"),
        ("type,\nA,1\n", "x.csv, line 1: columns without a name take Arrow's reader: pip install"),
        (
            "type,x\nA,1\nA,4o\n",
            "line 3, field 'x': '4o' is of no clear type .*: correct it; columns of such values take",
        ),
        ("type,x\nA,4o\n", "line 2, field 'x': '4o' is of no clear type: correct it"),
        ("type,x\nA, 1\n", "field 'x': ' 1' is of no clear type; the blanks around it belong to the value: leave them"),
        ("type,x\nA, x\n", "field 'x': ' x' is of no clear type; the blanks around it belong to the value: leave them"),
        ("type,time\nA,noon\n", "line 2, field 'time': 'noon' is no time; a time is ISO 8601, as 2013-01-31T14:05:00Z"),
        ("type,time\nA,1\nA, 2\n", "line 3, field 'time': ' 2' is no time; a time is ISO 8601"),
        ('type,x,y\nA,1,"2,\n', "x.csv, line 2: a quotation mark is opened and never closed"),
    ],
)
def test_what_is_left_to_arrow_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        stream_of_csv(_source(text), None)


def shown(event: Event) -> dict[str, str]:
    """The attributes as text, since NaN is not equal to itself, and 1 is equal to 1.0."""
    return {name: repr(value) for name, value in event.attributes.items()}


ROWS = st.lists(st.tuples(st.sampled_from(["A", "B", "B", "C", ""]), *[st.sampled_from(CELLS)] * 3), max_size=4)
COLUMNS = st.lists(st.sampled_from(CELLS), min_size=1, max_size=3)


@given(st.one_of(ROWS, COLUMNS.map(lambda cells: [("A", cell, "", "") for cell in cells])), st.sampled_from(SCHEMAS))
@example([("A", "1", "2.5", ""), ("B", "7", "", "60")], SCHEMAS[1])
@example([("A", "", "nan", "")], SCHEMAS[1])
@example([("A", "true", "2013-01-31", "0"), ("A", "False", "2013-02-01", "1")], None)
@settings(max_examples=500, deadline=None)
def test_what_is_read_in_plain_python_is_what_arrow_reads(rows: list[tuple[str, ...]], schema: Schema | None) -> None:
    source = _source("type,x,y,time\n" + "".join(",".join(row) + "\n" for row in rows))
    try:
        found = stream_of_csv(source, schema)
    except InputError:
        return
    expected = _by_arrow(source, schema)
    assert [(e.type, shown(e)) for e in found] == [(e.type, shown(e)) for e in expected]


def test_what_is_clear_is_not_left_to_arrow() -> None:
    text = "type,id,tmp,hum,at,ok,name\nT,1,45.5,,2013-01-31,true,a b\nH,2,,20,2013-02-01,false,c\n"
    T, H = stream_of_csv(_source(text), None)
    assert (T.type, T.get("id"), T.get("tmp"), T.get("ok"), T.get("name")) == ("T", 1, 45.5, True, "a b")
    assert H.attributes.keys() == {"id", "hum", "at", "ok", "name"}
    assert T.get("at") == datetime(2013, 1, 31, tzinfo=UTC)
