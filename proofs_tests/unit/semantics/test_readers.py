"""Reading events: the same data through every format, and what is said, and where, about data that is wrong."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv

from cerify.semantics import files, tables
from cerify.semantics.arrow_columns import ARROW
from cerify.semantics.errors import CerifyError, IllFormed, InputError, InputWarning
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.files import IPC_STREAM, Format, read_in_parts, read_schema, read_stream
from cerify.semantics.json_events import json_of_event, lines_of, parse_json, text_of
from cerify.semantics.tables import SAVE_AS_UTF_8, CsvSource, native_buffer
from cerify.semantics.time_columns import FORMS, GIVE_TYPE, NO_TYPE, rename_fields

SCHEMA = Schema(
    {
        "T": {"id": "int", "tmp": "float", "room": "string", "on": "bool", "seen": "timestamp"},
        "H": {"id": "int", "hum": "float"},
    }
)
EVENTS = [
    Event("T", {"id": 2**53 + 1, "tmp": 45.0, "room": 'é, "日本"\n2', "on": True, "time": 7}),
    Event("H", {"id": 0, "hum": -0.5, "time": 5}),
    Event("T", {"id": -(2**63), "tmp": 1e300, "seen": datetime(2013, 1, 31, 14, 5, 0, 250, tzinfo=UTC), "time": 9}),
    Event("H", {"time": 9}),
]
CSV = """type,id,tmp,hum,room,on,seen,time
T,9007199254740993,45,,"é, ""日本""\n2",true,,7
H,0,,-0.5,,,,5

T,-9223372036854775808,1e300,,"",,2013-01-31T14:05:00.000250Z,9
H,,,,,,,9
"""


def write_csv(path: Path) -> Path:
    path.write_text(CSV, encoding="utf-8")
    return path


def write_jsonl(path: Path) -> Path:
    path.write_text("".join(json.dumps(json_of_event(e)) + "\n\n" for e in EVENTS), encoding="utf-8")
    return path


def write_parquet(path: Path) -> Path:
    pq.write_table(Stream(EVENTS, SCHEMA).table, path)
    return path


def write_ipc(path: Path, new: Callable[..., Any] = pa.ipc.new_file) -> Path:
    table = Stream(EVENTS, SCHEMA).table
    with new(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


def write_ipc_stream(path: Path) -> Path:
    return write_ipc(path, pa.ipc.new_stream)


WRITERS = {
    "e.csv": write_csv,
    "e.jsonl": write_jsonl,
    "e.parquet": write_parquet,
    "e.arrow": write_ipc,
    "e.arrows": write_ipc_stream,
}


def refuses(path: Path, message: str, **options: Any) -> None:
    """The file, or its attributes, are refused with one message that starts with its name and says this to its end."""
    with pytest.raises(InputError) as error:
        read_stream(path, **options).require_read()
    assert error.value.message == f"{path}{message}"


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_events(name: str, tmp_path: Path) -> None:
    """A value that one format rounds, drops or shifts would change a query's answer with the file's suffix."""
    stream = read_stream(WRITERS[name](tmp_path / name), schema=SCHEMA)
    assert list(stream) == EVENTS
    assert {stream.table.schema.field(n).type for n in stream.table.column_names} <= set(ARROW.values())
    assert stream.schema == SCHEMA


@pytest.mark.parametrize("name", WRITERS)
def test_standard_input_is_read_as_its_content_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = WRITERS[name](tmp_path / name).read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert list(read_stream("-", schema=SCHEMA)) == EVENTS


def test_an_error_in_standard_input_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"type,id\nT,1\nT,x\n")))
    with pytest.raises(InputError, match=r"^standard input, line 3, field 'id': 'x' is not an integer$"):
        read_stream("-", schema=Schema({"T": {"id": "int"}}))


@pytest.mark.parametrize("piped", [False, True])
def test_arrow_reads_csv_without_an_object_of_python(
    piped: bool, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One time in a hundred `cerify match` ended with SIGABRT: a thread of Arrow let go of the file at the very end."""
    path, given, read_csv = write("e.csv", "type,x\nA,1.50\n"), [], arrow_csv.read_csv
    if piped:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    monkeypatch.setattr(
        "cerify.semantics.packages.arrow_csv.read_csv", lambda file, **how: given.append(file) or read_csv(file, **how)
    )
    S = read_stream("-" if piped else str(path), format="csv", default_type="A")
    assert [event.attributes["x"] for event in S] == [1.5]
    assert {type(file) for file in given} == {pa.BufferReader if piped else pa.OSFile}


@pytest.mark.parametrize("piped", [False, True])
def test_arrow_reads_parquet_without_an_object_of_python(
    piped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, given, parquet = write_parquet(tmp_path / "e.parquet"), [], pq.ParquetFile
    if piped:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    monkeypatch.setattr(pq, "ParquetFile", lambda file, **how: given.append(file) or parquet(file, **how))
    assert len(read_stream("-" if piped else path)) == len(EVENTS)
    assert {type(file) for file in given} == {pa.BufferReader if piped else pa.OSFile}


def test_the_parts_of_a_parquet_file_are_forgotten(tmp_path: Path) -> None:
    """Arrow's reading ahead would keep all that it has read."""
    random = Random(1)
    times = pa.array([0] * 200_000, pa.timestamp("s", "UTC"))
    table = pa.table({"type": ["A"] * 200_000, "x": [random.random() for _ in range(200_000)], "time": times})
    pq.write_table(table, path := tmp_path / "e.parquet", row_group_size=10_000)
    opened = read_in_parts(path, {"x"})
    assert opened is not None
    before, most = pa.total_allocated_bytes(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cerify.semantics.files.PART_ROWS", 10_000)
        for _ in opened[1]:
            most = max(most, pa.total_allocated_bytes() - before)
    assert most < path.stat().st_size / 2


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_beside_a_dictionary_is_an_error(index: int, tmp_path: Path) -> None:
    codes = pa.array([0, None, index], pa.int32())
    names = pa.DictionaryArray.from_arrays(codes, pa.array(["A", "B"]), safe=False)
    table = pa.table({"type": ["A", "A", "A"], "user": names})
    with pa.ipc.new_file(str(path := tmp_path / "e.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match=f"index {index} in a dictionary of 2 texts"):
        read_stream(path)


@pytest.mark.parametrize("name", ["e.jsonl", "e.arrow"])
def test_arrow_reads_a_copy_of_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[bytes] = []
    monkeypatch.setattr("cerify.semantics.tables.SMALL", 0)  # Arrow reads JSON Lines too
    monkeypatch.setattr("cerify.semantics.files.native_buffer", lambda data: copied.append(data) or native_buffer(data))
    path = WRITERS[name](tmp_path / name)
    if name == "e.jsonl":
        path.write_text('{"type": "A"}\n')  # no empty lines
    read_stream(path)
    assert path.read_bytes() in copied


def test_bytes_are_copied_for_arrow() -> None:
    data = bytes(range(256))
    references = sys.getrefcount(data)
    buffer = native_buffer(data)
    assert sys.getrefcount(data) == references
    assert buffer.to_pybytes() == data


@pytest.mark.skipif(sys.platform != "linux", reason="there names of files are text")
def test_a_file_whose_name_is_no_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.csv")
    path.write_text("type,x\nA,1.50\n")
    assert [event.attributes["x"] for event in read_stream(str(path), default_type="A")] == [1.5]


def test_a_given_format_wins_over_the_suffix(write: Callable[..., Path]) -> None:
    assert read_stream(write("e.csv", '{"type": "T", "x": 1}'), format="jsonl")[0] == Event("T", {"x": 1})


# --- CSV --------------------------------------------------------------------------------------------------------------


def test_without_a_schema_a_column_has_one_type_over_the_whole_file(write: Callable[..., Path]) -> None:
    """A type taken from the first block would refuse, or misread, what comes a megabyte later."""
    rows = "".join(f"T,{i},{'long' * 25}\n" for i in range(20_000)) + "T,x,\n"
    stream = read_stream(write("e.csv", "type,a,b\n" + rows))
    assert stream[0].get("a") == "0"
    assert stream[-1].get("a") == "x"


def test_csv_types_without_a_schema(write: Callable[..., Path]) -> None:
    """Event types stay text, days become times, times of day stay text, a column of nothing is no attribute."""
    path = write("e.csv", "type,day,clock,n,none\n1,2013-01-31,12:30,NA,\n2,,,,\n")
    day = datetime(2013, 1, 31, tzinfo=UTC)
    assert list(read_stream(path)) == [Event("1", {"day": day, "clock": "12:30", "n": "NA"}), Event("2")]
    assert "none" not in read_stream(path).table.column_names


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["true", "False", "TRUE"], [True, False, True]),
        (["1", "true", "0"], ["1", "true", "0"]),
        (["1", "0", ""], [1, 0, None]),
    ],
)
def test_only_the_words_are_booleans(cells: list[str], values: list[object], write: Callable[..., Path]) -> None:
    """As in the other formats, a 1 is a number and not true."""
    rows = "".join(f"T,{cell}\n" for cell in cells)
    assert [event.get("x") for event in read_stream(write("e.csv", f"type,x\n{rows}"))] == values


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["18446744073709551614", ""], "'18446744073709551614' cannot be stored exactly as a 64-bit float"),
        (["-9223372036854775809", "1"], "'-9223372036854775809' cannot be stored exactly as a 64-bit float"),
        ([" 9007199254740993", "0.5"], "' 9007199254740993' cannot be stored exactly as a 64-bit float"),
        (["1e400", "1"], "'1e400' is too large for a 64-bit float"),
    ],
)
def test_a_number_that_a_column_of_floats_would_change_is_refused(
    cells: list[str], message: str, write: Callable[..., Path]
) -> None:
    """Rounded, two ids that differ would be equal."""
    rows = "".join(f"T,{cell}\n" for cell in ["0", *cells])
    refuses(write("e.csv", f"type,x\n{rows}"), f", line 3, field 'x': {message}")


def test_large_numbers_that_a_float_carries_are_read(write: Callable[..., Path]) -> None:
    stream = read_stream(write("e.csv", "type,x\nT,18446744073709551616\nT,1e300\nT,-inf\nT,nan\n"))
    assert [str(event.get("x")) for event in stream] == ["1.8446744073709552e+19", "1e+300", "-inf", "nan"]


def test_columns_without_name_and_values_are_left_out_with_a_note(write: Callable[..., Path]) -> None:
    """Spreadsheets write trailing commas for columns that once had something in them."""
    path = write("e.csv", "type,x,, \nA,1,,\nB,2,,\n")
    with pytest.warns(InputWarning, match=r"e\.csv: ignored column 3, 4: no name and no values$"):
        stream = read_stream(path)
    assert list(stream) == [Event("A", {"x": 1}), Event("B", {"x": 2})]


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("default", [None, "A"])
def test_a_column_of_values_without_a_name_is_left_out(
    installed: bool, default: str | None, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames are often written with their row labels, in a first column without a name."""
    monkeypatch.setattr("cerify.semantics.files.installed", lambda name: installed)
    path = write("e.csv", ",type,x,\n7,A,1,\n8,A,2,z\n")
    with pytest.warns(InputWarning, match=r"e\.csv: ignored column 1, 4: no name in line 1$"):
        stream = read_stream(path, default_type=default)
    assert list(stream) == [Event("A", {"x": 1}), Event("A", {"x": 2})]


def test_columns_with_names_are_read_without_a_note(write: Callable[..., Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        (event,) = read_stream(write("e.csv", 'type,x\nT,"a, b"\n'))
    assert event.get("x") == "a, b"


def test_a_header_alone_is_an_empty_stream(write: Callable[..., Path]) -> None:
    assert len(read_stream(write("e.csv", "type,a\n"))) == 0


BLANKS = "; the blanks around it belong to the value: remove them"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("T,1,1\nT,x,1\n", ", line 3, field 'id': 'x' is not an integer"),
        ("T,1,1\nT, 2,1\n", ", line 3, field 'id': ' 2' is not an integer" + BLANKS),
        ("T, 1.5,1\n", ", line 2, field 'id': ' 1.5' is not an integer" + BLANKS),
        ("T, x,1\n", ", line 2, field 'id': ' x' is not an integer"),
        ("T,1.0,1\n", ", line 2, field 'id': '1.0' is not an integer"),
        ("T,0x1F,1\n", ", line 2, field 'id': '0x1F' is not an integer"),
        ("T,9223372036854775808,1\n", ", line 2, field 'id': '9223372036854775808' does not fit in 64 bits"),
        ("T,1,warm\n", ", line 2, field 'tmp': 'warm' is not a number"),
        ("T,1,1e400\n", ", line 2, field 'tmp': '1e400' is too large for a 64-bit float"),
        (
            "T,1,9007199254740993\n",
            ", line 2, field 'tmp': '9007199254740993' cannot be stored exactly as a 64-bit float",
        ),
        ('"T\n\n",1,1\n', r", line 2, field 'type': unknown event type 'T\n\n'; the schema has T, H"),
        ("T,1,1\n\n\nT,x,1\n", ", line 5, field 'id': 'x' is not an integer"),
        ("T,1,1\r\nT,x,1\r\n", ", line 3, field 'id': 'x' is not an integer"),
        (",1,1\n", ", line 2, field 'type': " + NO_TYPE),
        ("T,1\n", ", line 2: 2 fields, where the header has 3 (type, id, tmp)"),
        ("T,1,1\nT,1,1,1\n", ", line 3: 4 fields, where the header has 3 (type, id, tmp)"),
        ("H,1,1\n", ", line 2, field 'tmp': unknown attribute; H has id, hum"),
        (f"T,{'9' * 80},1\n", f", line 2, field 'id': '{'9' * 57}...' does not fit in 64 bits"),
    ],
)
def test_a_bad_csv_row_is_located(rows: str, message: str, write: Callable[..., Path]) -> None:
    refuses(write("e.csv", "type,id,tmp\n" + rows), message, schema=SCHEMA)


def test_a_bad_row_after_quoted_newlines_has_the_line_an_editor_shows(write: Callable[..., Path]) -> None:
    path = write("e.csv", 'type,room,id\nT,"a\nb\n\nc",1\nT,"\n",x\n')
    refuses(path, ", line 6, field 'id': 'x' is not an integer", schema=SCHEMA)


def test_a_bad_row_far_down_is_located(write: Callable[..., Path]) -> None:
    """Beyond the first of Arrow's blocks, where a row within a block is not a row of the file."""
    path = write("e.csv", "type,id\n" + "T,1\n" * 600_000 + "T,\nT,?\n")
    refuses(path, ", line 600003, field 'id': '?' is not an integer", schema=SCHEMA)


@pytest.mark.parametrize(
    ("cell", "problem"),
    [("yes", "true or false"), ("1", "true or false")],
)
def test_a_bad_boolean_is_refused(cell: str, problem: str, write: Callable[..., Path]) -> None:
    refuses(write("e.csv", f"type,on\nT,{cell}\n"), f", line 2, field 'on': {cell!r} is not {problem}", schema=SCHEMA)


@pytest.mark.parametrize(
    ("cell", "time"),
    [
        ("2013-01-31T14:05:00Z", datetime(2013, 1, 31, 14, 5, tzinfo=UTC)),
        ("2013-01-31 14:05", datetime(2013, 1, 31, 14, 5, tzinfo=UTC)),
        ("2013-01-31", datetime(2013, 1, 31, tzinfo=UTC)),
        ("2013-01-31T14:05:00.5+02:00", datetime(2013, 1, 31, 12, 5, 0, 500_000, tzinfo=UTC)),
        ("2013-01-31T14:05-0130", datetime(2013, 1, 31, 15, 35, tzinfo=UTC)),
        ("20130131T140500", datetime(2013, 1, 31, 14, 5, tzinfo=UTC)),
    ],
)
def test_times_with_and_without_offset(cell: str, time: datetime, write: Callable[..., Path]) -> None:
    """Several forms in one column: a time without an offset is UTC."""
    stream = read_stream(write("e.csv", f"type,seen\nT,2000-01-01\nT,{cell}\nT,\n"), schema=SCHEMA)
    assert [event.get("seen") for event in stream] == [datetime(2000, 1, 1, tzinfo=UTC), time, None]


@pytest.mark.parametrize("cell", ["yesterday", "2013-02-30", "0000-01-01", "2013-01-31T25:00:00Z"])
def test_a_bad_time_is_located(cell: str, write: Callable[..., Path]) -> None:
    path = write("e.csv", f"type,seen\nT,2000-01-01\nT,{cell}\n")
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}, line 3, field 'seen': "):
        read_stream(path, schema=SCHEMA)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": empty; a CSV file starts with a line of column names"),
        ("\n\n", ": empty; a CSV file starts with a line of column names"),
        ("hello", ": one line without a line break; a CSV file starts with a line of column names"),
        ("a\n1\n", ": no column 'type' for the event type; the columns are a; name it by --type, in Python "
         "type_column, or give all events one type by --default-type, in Python default_type; name the time, if there "
         "is one, by --time, in Python time_column"),
        ("time,a\n1,2\n", ": no column 'type' for the event type; the columns are time, a; name it by --type, in "
         "Python type_column, or give all events one type by --default-type, in Python default_type"),
        ("a,typ\n1,A\n", ": no column 'type' for the event type; the columns are a, typ; did you mean 'typ'?"),
        ("type,a,a\nT,1,2\n", ", line 1: two columns are called 'a'; give each its own name"),
        (b"type,a\nT,ok\nT,\xff\n", f", line 3: byte 0xff is not text in UTF-8{SAVE_AS_UTF_8}"),
        (b"type,\xff\nT,1\n", f", line 1: byte 0xff is not text in UTF-8{SAVE_AS_UTF_8}"),
        ("type,time\nT,1\nT,noon\n", f", line 3, field 'time': 'noon' is not a time; {FORMS}"),
        ("type,time\nT,2013-01-31\nT,1\n", f", line 3, field 'time': '1' is not a time; {FORMS}"),
    ],
)  # fmt: skip
def test_a_bad_csv_file_gets_one_message(content: str | bytes, message: str, write: Callable[..., Path]) -> None:
    refuses(write("e.csv", content), message)


# --- the reserved columns ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", "kind,at,x\nT,5,1\nT,3,2\n"),
        ("e.jsonl", '{"kind": "T", "at": 5, "x": 1}\n{"kind": "T", "at": 3, "x": 2}\n'),
        ("e.parquet", pa.table({"kind": ["T", "T"], "at": [5, 3], "x": [1, 2]})),
    ],
)
def test_named_columns_become_type_and_time(name: str, content: str | pa.Table, write: Callable[..., Path]) -> None:
    """Decreasing times keep the file's order: a row's place is its position."""
    stream = read_stream(write(name, content), type_column="kind", time_column="at")
    assert list(stream) == [Event("T", {"time": 5, "x": 1}), Event("T", {"time": 3, "x": 2})]


def test_a_named_time_column_takes_the_schemas_type_of_time(write: Callable[..., Path]) -> None:
    path = write("e.csv", "type,at\nT,2013-01-31\n")
    stream = read_stream(path, schema=Schema({"T": {"time": "timestamp"}}), time_column="at")
    assert stream[0].get("time") == datetime(2013, 1, 31, tzinfo=UTC)
    refuses(path, ", line 2, field 'at': '2013-01-31' is not an integer", schema=Schema({"T": {"time": "int"}}),
            time_column="at")  # fmt: skip


def test_the_named_column_is_meant_where_another_has_the_reserved_name(write: Callable[..., Path]) -> None:
    """Such a file was refused, although the option says which column is meant."""
    S = read_stream(write("e.csv", "type,time,at\nT,1,2\n"), time_column="at")
    assert list(S) == [Event("T", {"time": 2})]
    assert list(read_stream(write("e.jsonl", '{"type": "T", "kind": "H"}\n'), type_column="kind")) == [Event("H")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", "kind,when\nT,31/01/2013\n", ", line 2, field 'when': '31/01/2013' is not a time; --time-format "
         "'%d/%m/%Y', in Python time_format, reads times of this form"),
        ("e.csv", "kind,when\n,1\n", ", line 2, field 'kind': " + NO_TYPE),
        ("e.parquet", pa.table({"kind": ["T"], "when": pa.array([10**18], pa.timestamp("us"))}),
         ", position 0, field 'when': the time is outside the years 1 to 9999"),
        ("e.jsonl", '{"kind": "T", "when": "31.Jan"}\n',
         f", line 1, field 'when': '31.Jan' is not a time; {FORMS}"),
        ("e.jsonl", '{"kind": "T", "when": "9999-12-31T23:59:59-23:59"}\n', ", line 1, field 'when': "
         "'9999-12-31T23:59:59-23:59' is outside the years 1 to 9999"),
        ("e.jsonl", '{"kind": "T", "when": "0000-01-01"}\n', ", line 1, field 'when': '0000-01-01' is outside the "
         "years 1 to 9999"),
        ("e.jsonl", '{"kind": true, "when": 1}\n', ", line 1: an event needs the key 'kind' with its event type, a "
         "string"),
    ],
)  # fmt: skip
def test_a_message_names_the_column_of_the_file(
    name: str, content: str | pa.Table, message: str, write: Callable[..., Path]
) -> None:
    refuses(write(name, content), message, type_column="kind", time_column="when")


def test_a_missing_reserved_column_is_named(write: Callable[..., Path]) -> None:
    refuses(write("e.csv", "type,x\nT,1\n"), ": no column 'at' for the time; the columns are type, x", time_column="at")
    refuses(write("e.jsonl", '{"type": "T"}\n'), ": no event has the field 'at' for the time", time_column="at")
    refuses(
        write("f.jsonl", '{"type": "T"}\n'),
        f", line 1: no field 'kind' for the event type; {GIVE_TYPE}",
        type_column="kind",
    )
    refuses(
        write("g.jsonl", '{"kinds": "T"}\n'),
        ", line 1: no field 'kind' for the event type; did you mean 'kinds'?",
        type_column="kind",
    )


# --- JSON Lines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ('{"type": "T", "id": 1}\n\n{"type": "T", "id": [1]}\n', ", line 3, field 'id': "),
        ('{"type": "T", "id": {}}\n', ", line 1, field 'id': an object, but the schema has int"),
        ('{"type": "T", "id": []}\n', ", line 1, field 'id': a list, but the schema has int"),
        ('{"type": "T", "id": "1"}\n', ", line 1, field 'id': "),
        ('{"type": "T", "id": 9223372036854775808}\n', ", line 1, field 'id': "),
        (
            '{"type": "T", "tmp": 9007199254740993}\n',
            ", line 1, field 'tmp': 9007199254740993 cannot be stored exactly as a 64-bit float",
        ),
        ('{"type": "T", "id": 1\n', ", line 1: not JSON: "),
        ('{"type": "T", "tmp": 1e999}\n', ", line 1: not JSON: 1e999 is beyond the floats of 64 bits"),
        ('{"type": "T"}\n[]\n', ", line 2: "),
        ('{"type": "X"}\n', ", line 1: unknown event type 'X'"),
        ('{"id": 1}\n', ", line 1: no field 'type' for the event type"),
        ('{"type": "T", "id": 1, "id": 2}\n', ", line 1: 'id' has two values in one object"),
        ("", ": no events; "),
        (" \n\n", ": no events; "),
    ],
)
def test_a_bad_json_line_is_located(lines: str, place: str, write: Callable[..., Path]) -> None:
    path = write("e.jsonl", lines)
    with pytest.raises(InputError, match=f"^{re.escape(str(path) + place)}"):
        read_stream(path, schema=SCHEMA)


def test_an_integer_of_json_in_a_field_of_floats_is_a_float(write: Callable[..., Path]) -> None:
    (event,) = read_stream(write("e.jsonl", '{"type": "T", "tmp": 3}\n'), schema=SCHEMA)
    assert repr(event.get("tmp")) == "3.0"


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("1", '"1"', ", line 2, field 'x': string, but int in line 1; an attribute has one type throughout a stream"),
        ("true", "1", ", line 2, field 'x': int, but bool in line 1; an attribute has one type throughout a stream"),
        (
            "9007199254740993",
            "0.5",
            ", line 1, field 'x': 9007199254740993 cannot be stored exactly as a 64-bit float",
        ),
    ],
)
def test_json_lines_that_disagree_are_refused(
    first: str, second: str, message: str, write: Callable[..., Path]
) -> None:
    """Also across event types, since an attribute is one column."""
    refuses(write("e.jsonl", f'{{"type": "T", "x": {first}}}\n{{"type": "H", "x": {second}}}\n'), message)


def test_integers_among_floats_are_floats_in_events_and_column(write: Callable[..., Path]) -> None:
    """The interpreter reads the events and the automaton the column, and both have to see the same numbers."""
    stream = read_stream(write("e.jsonl", '{"type": "T", "x": 1}\n{"type": "H", "x": 0.5}\n'))
    assert [type(event.get("x")) for event in stream] == [float, float]
    assert stream.table["x"].to_pylist() == [1.0, 0.5]


def test_a_json_time_is_whole_seconds_or_iso_8601(write: Callable[..., Path]) -> None:
    stream = read_stream(write("e.jsonl", '{"type": "T", "time": "2013-01-31T14:05:00Z"}\n'))
    assert stream[0].get("time") == datetime(2013, 1, 31, 14, 5, tzinfo=UTC)
    refuses(write("f.jsonl", '{"type": "T", "time": true}\n'), f", line 1, field 'time': True is not a time; {FORMS}")


# --- Parquet and Arrow ------------------------------------------------------------------------------------------------


def test_arrow_types_are_brought_to_ours(write: Callable[..., Path]) -> None:
    noon = datetime(2013, 1, 31, 12, tzinfo=UTC)
    table = pa.table(
        {
            "type": pa.array(["T", "H"]).dictionary_encode(),
            "i": pa.array([-1, None], pa.int8()),
            "u": pa.array([2**63 - 1, 0], pa.uint64()),
            "f": pa.array([0.5, None], pa.float32()),
            "s": pa.array(["é", ""], pa.large_string()),
            "d": pa.array([date(2013, 1, 31), None], pa.date32()),
            "naive": pa.array([noon.replace(tzinfo=None), None], pa.timestamp("ns")),
            "zoned": pa.array([noon, None], pa.timestamp("ms", tz="America/New_York")),
            "n": pa.nulls(2),
        }
    )
    stream = read_stream(write("e.parquet", table))
    assert list(stream) == [
        Event("T", {"i": -1, "u": 2**63 - 1, "f": 0.5, "s": "é", "d": datetime(2013, 1, 31, tzinfo=UTC),
                    "naive": noon, "zoned": noon}),
        Event("H", {"u": 0, "s": ""}),
    ]  # fmt: skip
    assert set(stream.table.drop_columns("type").schema.types) <= set(ARROW.values())
    assert stream.table["type"].type.value_type == pa.string()  # the types stay codes


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([0, 1, 2**63], pa.uint64()),
         ", position 2, field 'x': 9223372036854775808 cannot be stored exactly as a 64-bit int"),
        (pa.array([0, 10**18, 0], pa.timestamp("us")),
         ", position 1, field 'x': the time is outside the years 1 to 9999"),
        (pa.array([[1], [], []]), ", field 'x': a list, whose number of elements is the "
         "attribute 'x.count'; 'x.any.x' says whether x is one of them"),
        (pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)), ", field 'x': the column has type decimal128(21, 2); an "
         "attribute must be int, float, string, bool, timestamp; convert the column or leave it out"),
    ],
)  # fmt: skip
def test_arrow_columns_that_have_no_place_are_refused(
    column: pa.Array, message: str, write: Callable[..., Path]
) -> None:
    refuses(write("e.parquet", pa.table({"type": ["T"] * 3, "x": column})), message)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"type": ["T", "X"]}, ", position 1, field 'type': unknown event type 'X'; the schema has T, H"),
        ({"type": ["T", None]}, ", position 1, field 'type': " + NO_TYPE),
        ({"type": [1, 2]}, ", position 0, field 'type': the event type must be a string, not int"),
        ({"type": ["T", "T"], "id": [None, "1"]}, ", position 1, field 'id': string, but the schema has int"),
        ({"type": ["T", "T"], "id": [1.0, 1.5]},
         ", position 1, field 'id': 1.5 cannot be stored exactly as a 64-bit int"),
        ({"type": ["T", "T"], "tmp": [0, 2**53 + 1]},
         ", position 1, field 'tmp': 9007199254740993 cannot be stored exactly as a 64-bit float"),
        ({"type": ["T", "H"], "tmp": [0.5, 0.5]}, ", position 1, field 'tmp': unknown attribute; H has id, hum"),
        ({"type": ["T", "H"], "x": [0.5, None]},
         ", position 0, field 'x': unknown attribute; T has id, tmp, room, on, seen"),
    ],
)  # fmt: skip
def test_a_table_that_does_not_fit_the_schema_is_located(
    columns: dict[str, list[object]], message: str, write: Callable[..., Path]
) -> None:
    refuses(write("e.parquet", pa.table(columns)), message, schema=SCHEMA)


def test_whole_floats_fit_an_integer_attribute(write: Callable[..., Path]) -> None:
    """What a data frame makes of integers with gaps."""
    stream = read_stream(write("e.parquet", pa.table({"type": ["T", "T"], "id": [3.0, None]})), schema=SCHEMA)
    assert [event.get("id") for event in stream] == [3, None]
    assert stream.table["id"].type == pa.int64()


def test_blanks_around_the_name_of_a_column_are_warned_of(write: Callable[..., Path]) -> None:
    with pytest.warns(InputWarning, match=r"e\.csv: the blanks around ' id' belong to the column's name$"):
        read_stream(write("e.csv", "type, id,x\nA,1,2\n"))
    with pytest.raises(InputError, match="the blanks around ' type' belong to its name: remove them"):
        read_stream(write("e.csv", " type,id\nA,1\n"))


def test_two_parquet_columns_without_a_name_are_refused(write: Callable[..., Path]) -> None:
    table = pa.Table.from_arrays([pa.array(["T"]), pa.array([1]), pa.array([2])], names=["type", "", ""])
    refuses(write("e.parquet", table), ": two columns are called ''; give each its own name")


def test_two_parquet_columns_of_one_name_are_refused(write: Callable[..., Path]) -> None:
    table = pa.Table.from_arrays([pa.array(["T"]), pa.array([1]), pa.array([2])], names=["type", "a", "a"])
    refuses(write("e.parquet", table), ": two columns are called 'a'; give each its own name")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("e.parquet", "a Parquet file"),
        ("e.pq", "a Parquet file"),
        ("e.arrow", "an Arrow IPC file"),
        ("e.feather", "an Arrow IPC file"),
    ],
)
@pytest.mark.parametrize("content", [b"", b"type,a\nT,1\n", b"ARROW1\x00\x00rubbish that is no footer", b"PAR1x"])
def test_a_file_of_another_format_is_refused(name: str, what: str, content: bytes, write: Callable[..., Path]) -> None:
    path = write(name, content)
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: not {what} that can be read: "):
        read_stream(path)


@pytest.mark.parametrize(
    ("name", "kind", "mark"), [("e.parquet", "a Parquet", "PAR1"), ("e.arrow", "an Arrow IPC", "ARROW1")]
)
def test_a_file_that_was_cut_is_said_to_be(name: str, kind: str, mark: str, tmp_path: Path) -> None:
    """Arrow's own words are of magic bytes, and the same for a file of another kind."""
    path = WRITERS[name](tmp_path / name)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    end = f"the file does not end with {mark}: it was cut off, or is still being written"
    refuses(path, f": not {kind} file that can be read: {end}")


def test_a_parquet_file_that_is_damaged_or_none_is_said_to_be_in_one_line(write: Callable[..., Path]) -> None:
    path = write("e.parquet", pa.table({"type": ["T"] * 10, "x": range(10)}))
    content = path.read_bytes()
    for damaged, reason in (
        (content[:4] + b"\xff" * 60 + content[64:], r"the file is damaged \(Couldn't deserialize thrift: [^\n]*\)"),
        (b"type,x\nT,1\n", "the file does not begin with PAR1"),
        (b"", "the file is empty"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"e\.parquet: not a Parquet file that can be read: {reason}\Z"):
            read_stream(path)


def test_arrow_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Believed, it would fail much later, far from the file's name."""
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    table = pa.table({"type": text})
    with pa.ipc.new_file(str(tmp_path / "e.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match=r"not an Arrow IPC file that can be read: .*UTF8"):
        read_stream(tmp_path / "e.arrow")


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow", "e.arrows"])
def test_a_column_name_that_is_not_utf8_is_refused(name: str, tmp_path: Path) -> None:
    """Arrow reads the file and fails only when Python asks for the name."""
    path = WRITERS[name](tmp_path / name)
    path.write_bytes(path.read_bytes().replace(b"room", b"\xffoom"))
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: not an? .* file that can be read: "):
        read_stream(path)


def test_a_damaged_arrow_stream_takes_no_more_memory_than_it_has_bytes(tmp_path: Path) -> None:
    """The length of a message is the file's claim; read from a file, Arrow allocates all of it."""
    path = write_ipc_stream(tmp_path / "e.arrows")
    path.write_bytes(IPC_STREAM + (2**28).to_bytes(4, "little") + path.read_bytes()[8:])
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="not an Arrow IPC file that can be read"):
            read_stream(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow"])
def test_a_file_that_claims_far_more_values_than_bytes_is_refused(
    name: str, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes of Parquet, or a column of nulls in Arrow, can stand for any number of rows."""
    monkeypatch.setattr(files, "LARGEST_CLAIM", 50_000)
    table = pa.table({"type": pa.array(["T"] * 10_000).dictionary_encode(), "x": pa.nulls(10_000)})
    path = write("e.parquet", table)
    if name == "e.arrow":
        path = path.with_suffix(".arrow")
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    assert len(read_stream(path)) == 10_000
    monkeypatch.setattr(files, "MOST_COMPRESSED", 1)
    with pytest.raises(InputError, match=r"the file claims 160,000 bytes of values, but has only [0-9,]+$"):
        read_stream(path)


def test_a_file_may_claim_a_gigabyte() -> None:
    files._require_plausible(2**30, 100)
    with pytest.raises(ValueError, match="claims 1,073,741,825 bytes"):
        files._require_plausible(2**30 + 1, 100)


def test_no_memory_for_a_file_is_an_error_with_its_name(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MemoryError of Arrow has no message."""

    def refuse(claimed: int, size: int) -> None:
        raise MemoryError

    monkeypatch.setattr(files, "_require_plausible", refuse)
    path = write("e.parquet", pa.table({"type": ["T"]}))
    refuses(path, ": not a Parquet file that can be read: the file claims more memory than there is")


# --- files and schemas ------------------------------------------------------------------------------------------------


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no file .*gone\.csv$"):
        read_stream(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r" is a folder, not a file$"):
        read_stream(tmp_path)
    for name in ("", "\0", "a\0.csv"):
        with pytest.raises(InputError, match=rf"^{re.escape(repr(name))} is not a file name$"):
            read_stream(name)


def test_a_schema_is_a_file_or_the_text_itself(write: Callable[..., Path]) -> None:
    text = ' {"T": {"id": "int", "tmp": "float"}}'
    assert read_schema(text) == read_schema(str(write("s.json", text))) == Schema({"T": {"id": "int", "tmp": "float"}})


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("nowhere.json", InputError, "no file nowhere.json"),
        ('{"T": ', InputError, "schema: not JSON: "),
        ('{"T": {"id": "integer"}}', IllFormed, "attribute T.id has type 'integer'"),
        ('{"T": ["id"]}', InputError, "schema, event type 'T'"),
    ],
)
def test_a_bad_schema_gets_one_message(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        read_schema(text)


@pytest.mark.parametrize("text", ["null", "[]", '{"a": 5}', '{"a": {"x": "text"}}'])
def test_a_bad_schema_in_a_file_is_named(text: str, write: Callable[..., Path]) -> None:
    path = write("s.json", text)
    with pytest.raises(CerifyError, match=f"^{re.escape(str(path))}: ") as caught:
        read_schema(str(path))
    assert type(caught.value) is (IllFormed if "text" in text else InputError)


def test_lines_end_where_a_file_has_the_end_of_a_line_and_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('\ufeff{"x": "a\u2028b\x85c"}\r\n\n {"y": 1}'.encode())
    assert lines_of(path) == [('{"x": "a\u2028b\x85c"}', f"{path}, line 1"), (' {"y": 1}', f"{path}, line 3")]


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e", "e.gz", "s.json"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("type,x\nA,1\n".encode("utf-16"), "it is text in UTF-16: save it as UTF-8"),
        (b"\xfe\xff" + "type,x\nA,1\n".encode("utf-16-be"), "it is text in UTF-16: save it as UTF-8"),
        ("type,x\nA,1\n".encode("utf-32"), "it is text in UTF-32: save it as UTF-8"),
        (b"\0\0\xfe\xff" + "type,x\nA,1\n".encode("utf-32-be"), "it is text in UTF-32: save it as UTF-8"),
        (gzip.compress(b"type,x\nA,1\n"), "it is compressed (gzip): unpack it first"),
    ],
    ids=["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "gzip"],
)
def test_what_is_no_text_is_named(data: bytes, message: str, name: str, write: Callable[..., Path]) -> None:
    path = write(name, data)
    is_read = data.startswith(b"\x1f\x8b") and name != "s.json"
    for reads in (text_of,) if is_read else (read_schema, text_of) if name == "s.json" else (read_stream, text_of):
        with pytest.raises(InputError, match=f"^{re.escape(f'{path}: {message}')}$"):
            reads(path if reads is text_of else str(path))  # type: ignore[operator]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file of Linux whose reading fails")
@pytest.mark.parametrize("format", [None, "csv", "jsonl"])
def test_a_file_whose_reading_fails_is_named(format: Format | None) -> None:
    """The command line said that it cannot write."""
    with pytest.raises(InputError, match=r"^cannot read /proc/self/mem: "):
        read_stream("/proc/self/mem", format=format)


def test_a_row_that_is_too_long_for_arrow_is_located(write: Callable[..., Path]) -> None:
    """Arrow advised to try a larger block, which no option gives."""
    path = write("e.csv", f"type,x\nA,1\nA,{'x' * 3_000_000}\n")
    refuses(path, ", line 3: a row of more than 1,048,576 bytes; write it as Parquet or JSON Lines")


def test_an_integer_of_very_many_digits_is_refused(write: Callable[..., Path]) -> None:
    """The message advised to call sys.set_int_max_str_digits()."""
    path = write("e.jsonl", f'{{"type": "A", "x": {"9" * 5000}}}\n')
    refuses(path, ", line 1: a number is too long; integers have 64 bits")


def test_a_key_twice_among_very_many_is_found_in_linear_time() -> None:
    """Each key was counted by itself: minutes for this object."""
    keys = [f'"a{i}": 0' for i in range(100_000)]
    with pytest.raises(InputError, match="'a99999' has two values in one object"):
        parse_json("{" + ", ".join([*keys, keys[-1]]) + "}", "it")


def test_the_names_of_very_many_columns_are_compared_in_linear_time() -> None:
    """Each name was compared with all others: half a minute for 20,000 columns."""
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str(self) == other

    names = ["type", *(Name(f"c{i}") for i in range(1000))]
    assert rename_fields(names, {"type": "type", "c999": "time"}, "it") == [*names[:-1], "time"]
    assert compared < 10_000


def test_the_columns_of_a_schema_are_converted_at_once(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table was copied for each column: five minutes for 20,000. Here there is none that could be copied."""
    named = tables._drop_unnamed

    def without_table(source: CsvSource, table: pa.Table) -> SimpleNamespace:
        table = named(source, table)
        return SimpleNamespace(column_names=table.column_names, columns=table.columns)

    monkeypatch.setattr(tables, "_drop_unnamed", without_table)
    path = write("e.csv", "type,x,y\nA,1,2.5\n")
    assert read_stream(path, schema=Schema({"A": {"x": "int", "y": "float"}}), default_type="A") == Stream(
        [Event("A", {"x": 1, "y": 2.5})], Schema({"A": {"x": "int", "y": "float"}})
    )


@pytest.mark.parametrize(("rows", "line"), [('A,1\nB,"2\nA,3\n', 3), ('A,"a\nb"\nB,1\nB,"', 5), ('A,"a ""b\nA,1\n', 2)])
def test_a_quotation_mark_that_is_not_closed_is_located(rows: str, line: int, write: Callable[..., Path]) -> None:
    """Found by a trial: the rest of the file was one cell."""
    refuses(write("e.csv", f"type,x\n{rows}"), f", line {line}: a quotation mark is opened and never closed")


def test_a_quotation_mark_inside_of_a_cell_is_text(write: Callable[..., Path]) -> None:
    assert [event.get("x") for event in read_stream(write("e.csv", 'type,x\nA,5"\nA,6\n'))] == ['5"', "6"]


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow"])
@pytest.mark.parametrize("column", ["type", "x"])
def test_a_dictionary_that_stands_for_gigabytes_is_refused(name: str, column: str, tmp_path: Path) -> None:
    """Of a thousand bytes, Arrow would make three gigabytes, or end with an overflow."""
    large = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000, pa.int32()), pa.array(["y" * 10**6]))
    table = pa.table({"type": ["A"] * 3_000} | {column: large})
    path = tmp_path / name
    if name == "e.parquet":
        pq.write_table(table, path, compression="zstd", write_statistics=False, store_schema=False)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    # the indices, the text and two offsets
    told = "its texts take 3,000,000,000 bytes, but the column has 1,012,008; store the texts without a dictionary"
    refuses(path, f", field {column!r}: {told}")
