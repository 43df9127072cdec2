"""Files as people have them: compressed, several, of other separators, documents of JSON, and what is no text."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

import cerify
from cerify.semantics.ecs import read_ecs
from cerify.semantics.errors import InputError, InputWarning
from cerify.semantics.events import Event, Schema, Stream, observed
from cerify.semantics.files import as_stream, locked, read_stream, table_of_json_lines, write_whole
from cerify.semantics.json_events import JsonSchema
from cerify.semantics.tables import SMALL, CsvSource
from cerify.semantics.time_columns import FieldReading
from proofs_tests.conftest import Write
from proofs_tests.support import sampled

# ---- file shapes ----
#

AB = [Event("A", {"x": 1}), Event("B", {"x": 2})]
LINES = '{"type": "A", "x": 1}\n{"type": "B", "x": 2}\n'


# --- compression ------------------------------------------------------------------------------------------------------


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(data)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", _zstd)])
@pytest.mark.parametrize(("name", "text"), [("e.jsonl", LINES), ("e.csv", "type,x\nA,1\nB,2\n"), ("e", LINES)])
def test_compressed_files_are_unpacked(
    name: str, text: str, suffix: str, pack: Callable[[bytes], bytes], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(f"{name}.{suffix}", pack(text.encode()))
    assert list(read_stream(path)) == AB
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    assert list(read_stream("-")) == AB


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", _zstd)])
def test_a_file_unpacks_to_so_much(
    suffix: str, pack: Callable[[bytes], bytes], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cerify.semantics.file_shapes.LARGEST_UNPACKED", 1000)
    monkeypatch.setattr("cerify.semantics.file_shapes.MOST_COMPRESSED", 2)
    path = write(f"e.jsonl.{suffix}", pack(LINES.encode() * 1000))
    with pytest.raises(InputError, match=r"bytes, but unpacks to more than \d,\d+ bytes"):
        read_stream(path)
    cut = write(f"f.jsonl.{suffix}", pack(LINES.encode() * 10)[:-9])
    with pytest.raises(InputError, match="the file is compressed, but damaged"):
        read_stream(cut)


# --- several files ----------------------------------------------------------------------------------------------------


def test_several_files_are_one_stream(write: Write, tmp_path: Path) -> None:
    first, second = write("a1.jsonl", '{"type": "A", "x": 1}\n'), write("a2.csv", "type,x\nB,2.5\n")
    for source in ([first, second], (str(first), str(second))):
        assert list(read_stream(source)) == list(as_stream(source)) == [Event("A", {"x": 1.0}), Event("B", {"x": 2.5})]
    assert [event.type for event in read_stream([second, first])] == ["B", "A"]
    write("a3.csv", "type,x\nC,1\n")
    assert [event.type for event in read_stream(str(tmp_path / "a*"))] == ["A", "B", "C"]
    assert len(cerify.match("A ; B ; C", str(tmp_path / "a*"))) == 1
    with pytest.raises(InputError, match=r"no file .*b\*, and no file matches it as a pattern"):
        read_stream(str(tmp_path / "b*"))


def test_files_that_disagree_leave_an_attribute_out(write: Write) -> None:
    first, second = write("a.jsonl", '{"type": "A", "x": 1, "y": 2}\n'), write("b.csv", "type,x,y\nB,one,2\n")
    assert len(cerify.match("A ; B FILTER A.y = B.y", [str(first), str(second)])) == 1
    with pytest.raises(InputError, match=r"b\.csv, field 'x': string, but int in .*a\.jsonl"):
        cerify.match("A ; B FILTER A.x = B.x", [first, second])


def test_a_text_in_one_file_makes_texts_of_the_times_in_another(write: Write) -> None:
    first, second = write("a.csv", "type,x\nA,2024-01-31\n"), write("b.csv", "type,x\nB,soon\n")
    assert [event.get("x") for event in read_stream([first, second])] == ["2024-01-31", "soon"]


def test_files_with_a_schema(write: Write) -> None:
    schema = Schema({"A": {"x": "int"}, "B": {"x": "int"}})
    S = read_stream([write("a.jsonl", LINES), write("b.csv", "type,x\nA,3\n")], schema=schema)
    assert (S.schema, len(S)) == (schema, 3)


def test_a_file_whose_name_is_a_pattern_is_that_file(write: Write) -> None:
    assert list(read_stream(write("a[1].jsonl", LINES))) == AB


# --- separators -------------------------------------------------------------------------------------------------------


def test_semicolons_with_decimal_commas(write: Write) -> None:
    text = 'type;x;n;note\nA;1,5;1;"a;b"\n\nB;2;2;1,5 %\n'
    with pytest.warns(InputWarning, match="read with decimal commas: x$"):
        S = read_stream(write("e.csv", text))
    assert list(S) == [
        Event("A", {"x": 1.5, "n": 1, "note": "a;b"}),
        Event("B", {"x": 2.0, "n": 2, "note": "1,5 %"}),
    ]
    with pytest.warns(InputWarning), pytest.raises(InputError, match="line 5, field 'n': 'x' is not an integer"):
        read_stream(write("f.csv", text + "A;1,5;x;\n"), schema=Schema({R: {"n": "int", "x": "float", "note": "string"}
                                                                 for R in "AB"}))  # fmt: skip


@pytest.mark.parametrize("separator", ["\t", "|", ";"])
@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e"])
def test_other_separators(separator: str, name: str, write: Write) -> None:
    text = "type,x,name\nA,1,\nB,2,c d\n".replace(",", separator)
    assert list(read_stream(write(name, text))) == [Event("A", {"x": 1}), Event("B", {"x": 2, "name": "c d"})]


def test_a_log_of_zeek(write: Write) -> None:
    text = (
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
        "#open\t2024-03-30-06-00-00\n#fields\tts\tid.orig_h\tid.resp_p\tservice\tlocal\n"
        "#types\ttime\taddr\tport\tstring\tbool\n"
        "1711778400.123456\t10.0.0.1\t53\tdns\tT\n1711778401.5\t10.0.0.2\t80\t-\tF\n#close\t2024-03-30-07-00-00\n"
    )
    S = read_stream(write("conn.log", text), time_column="ts")
    assert [(event.type, event.get("id.orig_h"), event.get("service"), event.get("local")) for event in S] == [
        ("conn", "10.0.0.1", "dns", True),
        ("conn", "10.0.0.2", None, False),
    ]
    assert S[0].get("time").microsecond == 123456  # type: ignore[union-attr]
    text_ = 'conn IN A ; conn IN B FILTER A."id.resp_p" < B."id.resp_p" WITHIN 2 seconds'
    assert len(cerify.match(text_, S)) == 1
    with pytest.raises(InputError, match="has no line #fields"):
        read_stream(write("e.log", "#separator \\x09\n#path\tx\n"))


# --- documents of JSON ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"type": "A", "x": 1}, {"type": "B", "x": 2}]),
        json.dumps([{"type": "A", "x": 1}, {"type": "B", "x": 2}], indent=2),
        "\n".join(json.dumps({"type": R, "x": x}, indent=2) for R, x in (("A", 1), ("B", 2))),
        '{"type": "A", "x": 1}{"type": "B", "x": 2}',
        '{"type": "A", "x": 1},\n{"type": "B", "x": 2}',
    ],
)
@pytest.mark.parametrize("name", ["e.json", "e.jsonl", "e"])
def test_documents_of_json(name: str, text: str, write: Write) -> None:
    assert list(read_stream(write(name, text))) == AB


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("path", ["Records", "hits.hits"])
def test_a_list_in_one_object(path: str, indent: int | None, write: Write) -> None:
    """As audit logs of clouds and answers of search engines come."""
    obj: Any = [{"type": "A", "x": 1}, {"type": "B", "x": 2}]
    for name in reversed(path.split(".")):
        obj = {"took": 3, name: obj}
    file = write("e.json", json.dumps(obj, indent=indent))
    assert list(read_stream(file, records=path)) == AB
    with pytest.raises(InputError, match=f"lists of objects are {path}: name the list of events with --records"):
        read_stream(file)
    with pytest.raises(InputError, match=f"no list at 'Rows'; lists of objects are {path}"):
        read_stream(file, records="Rows")


def test_what_is_wrong_in_a_line_is_said_of_the_line(write: Write) -> None:
    with pytest.raises(InputError, match="line 2: not JSON"):
        read_stream(write("e.jsonl", '{"type": "A"}\n{"type": \n'))
    with pytest.raises(InputError, match="line 1: not JSON"):
        read_stream(write("f.jsonl", '{"type": "A"\n{"type": "B"}\n'))


# --- what is not read -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_file_without_names_of_columns(
    separator: str, installed: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first event was lost, without a word."""
    monkeypatch.setattr("cerify.semantics.files.installed", lambda name: installed)
    text = separator.join(["A", "1541000542", "ann"]) + "\n" + separator.join(["B", "1541000543", "x"]) + "\n"
    path = write("e.csv", text)
    with pytest.warns(InputWarning, match="names of the columns, but '1541000542' looks like a value"):
        assert len(read_stream(path, type_column="A")) == 1
    S = read_stream(path, header=["type", "time", "user"])
    assert list(S) == [Event("A", {"time": 1541000542, "user": "ann"}), Event("B", {"time": 1541000543, "user": "x"})]
    with pytest.raises(InputError, match=r"e\.csv, line 1, field 'time': 'ann' is no"):
        read_stream(path, header=["type", "n", "time"], schema=Schema({"A": {"n": "int"}, "B": {"n": "int"}}))
    with pytest.raises(InputError, match="expected the names of the columns"):
        read_stream(path, header="type,time,user")


ACCESS_LOG = (
    '10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 17\n'
    '10.0.0.2 - ann b [10/Oct/2000:13:55:40 -0700] "POST /pay?x=\\"1\\" HTTP/1.1" 302 - "http://x/a b" "Agent (X11)"\n'
    "\n"
    '::1 - - [10/Oct/2000:22:56:36 +0200] "-" 408 0 "-" "-"\n'
)


@pytest.mark.parametrize("name", ["bulk.ndjson", "bulk.json", "bulk.jsonl.gz"])
def test_actions_for_elasticsearch_are_no_events(name: str, write: Write) -> None:
    """Read in EQL as documents without a word, and refused elsewhere as events without a type."""
    lines = ('{"index":{"_id":1}}', '{"type":"A","x":1}', '{ "create": {"_index": "a", "_id": "2"} }', '{"type":"B"}')
    data = "".join(
        f"{line}\n" for line in (*lines, '{"delete":{}}', '{"type":"C","x":"y"}', '{"type":"A","x":{}}')
    ).encode()
    path = write(name, gzip.compress(data) if name.endswith("gz") else data)
    with pytest.warns(InputWarning, match="are actions of Elasticsearch, not events"):
        S = read_stream(path)
    assert [event.type for event in S] == ["A", "B", "C", "A"]
    with pytest.raises(InputError, match="line 6, field 'x': string, but int in line 2"):
        S.require_read(["x"])
    with pytest.warns(InputWarning, match="actions"):
        documents = read_ecs(path)
    assert len(documents) == 4


def test_the_access_log_of_a_web_server(write: Write) -> None:
    path = write("access.log", ACCESS_LOG)
    first, second, third = read_stream(path)
    at = datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC)
    assert first == Event(
        "request",
        {"client": "10.0.0.1", "time": at, "method": "GET", "path": "/a", "protocol": "HTTP/1.0", "status": 200,
         "bytes": 17},
    )  # fmt: skip
    named = {"user": "ann b", "path": '/pay?x="1"', "agent": "Agent (X11)", "referer": "http://x/a b"}
    assert {name: second.get(name) for name in named} == named
    assert second.get("bytes") is None
    assert [event.type for event in read_stream(path, type_column="method")] == ["GET", "POST", "-"]
    assert third.get("time") == at + timedelta(minutes=1)
    (bare,) = read_stream(write("bare.log", '::1 - - [10/Oct/2000:20:55:36] "GET /a HTTP/1.1" 200 17 \n'))
    assert bare.attributes == first.attributes | {"client": "::1", "protocol": "HTTP/1.1"}
    large = write("large.log", ACCESS_LOG * 500)
    assert list(read_stream(large))[:3] == [first, second, third]
    with pytest.raises(InputError, match=r"bad\.log, line 5: this is not a line of an access log"):
        read_stream(write("bad.log", ACCESS_LOG + "10.0.0.1 - -\n"))
    cut = write("cut.log", ACCESS_LOG.replace(" 408 ", " 99999999999999999999 "))
    with pytest.raises(InputError, match=r"cut\.log, line 4, field 'status'"):
        read_stream(
            cut, schema=Schema({"request": dict.fromkeys(("client", "method", "path"), "string") | {"status": "int"}})
        )


def _workbook() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("xl/workbook.xml"), "<workbook/>")  # of one date, since it names the test
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.xlsx", _workbook(), "it is a workbook of a spreadsheet, or another ZIP archive: save the sheet as CSV"),
        ("e.evtx", b"ElfFile\x00\x00\x00", r"it is a log of Windows events \(EVTX\): write it as JSON Lines"),
        ("e.avro", b"Obj\x01\x04", "it is an Avro file: write it as Parquet or JSON Lines"),
        ("e.csv.bz2", b"BZh91AY", r"it is compressed \(bzip2\): unpack it first"),
        ("e.log", "Jan  1 00:00:01 host sshd[1]: Failed password for root\n", "it is a log of syslog, whose lines"),
        ("f.log", "<34>1 2003-10-11T22:14:15.003Z host su - ID47 - failed\n", "it is a log of syslog, whose lines"),
        (
            "g.log",
            'h:80 ::1 - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 1\n',
            "an access log in an unknown format",
        ),
        ("i.log", "[Sun Dec 04 04:47:44 2005] [error] child 6 in error state\n", "the error log of a web server"),
        ("j.log", "2024/03/01 10:00:00 [error] 31#31: *1 open() failed\n", "the error log of a web server"),
        ("k.log", "2024-03-01 10:00:00,123 INFO main: started\n", "the log of a program, whose lines"),
        ("k.log", "[2024-03-01 10:00:00,123] TRACE main: started\n", "the log of a program, whose lines"),
        ("e.csv", "log.csv".ljust(257, "\0") + "ustar" + "\0" * 250, "it is a tar archive: unpack it first"),
        ("e.parquet", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "it is a pointer of Git LFS"),
        ("h.log", "CEF:0|Vendor|Product|1|100|name|5|src=10.0.0.1\n", "it is a log in CEF or LEEF"),
    ],
)
def test_a_file_that_is_not_read_is_named(name: str, content: str | bytes, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        read_stream(write(name, content))


# ---- json table ----
# JSON Lines by Arrow's reader are what they are line by line, or they are not read by it.

PLAIN = (
    '{"type": "T", "x": 1, "tmp": 2.5, "on": true, "name": "é\\u00e9\\ud83d\\ude00", "time": "2013-01-31T14:05:00Z"}\n'
)
TAKEN = [
    '{"type": "T", "x": 1}\n{"type": "H", "hum": 3}',
    PLAIN * 3,
    '{"type": "T", "x": 1}\n{"type": "H", "x": 2.5}\n{"type": "H", "x": null}\r\n',
    '{"type": "T", "when": "2013-01-31"}\n{"type": "T", "when": "2013-01-31T14:05:00Z"}\n',
    '{"type": "T", "when": "2013-01-31"}\n{"type": "T", "when": "yesterday"}\n',
    '{"type": "T", "x": "[{\\"}\\\\", "{": "]"}\n{"type": "T", "x": "["}\n',
    '{"time": 5, "type": "T"}\n{"b": 1, "a": 2, "type": "T"}\n',
    '{"type": "T", "x": -0.0, "y": 0.1, "z": 123456789.123456789, "u": 5e-324, "": 3, "n": null}\n',
    '{"type": "T", "x": 9007199254740993, "y": -9223372036854775808}\n',
    '{"type": 1}\n',
    '{"type": "T", "time": "5"}\n',
    '{"type": "T", "time": 1.5}\n{"type": "T", "time": 1711778400.123456}\n',
    '{"type": "T", "time": 1541000542290}\n',
    '{"type": "T", "when": "2013-01-31T14:05:00+02:00"}\n{"type": "T", "when": "2013-01-31T14:05:00,123456Z"}\n',
    '{"type": "T", "time": "2013-01-31T14:05:00.25+02:00"}\n{"type": "T", "time": "2013-02-01"}\n',
]
LEFT = [
    '{"type": "T"}{"type": "H"}\n',
    '{"type": "T"} {"type": "H"}\n\n',
    '{"type":\n"T"}\n',
    '{"type": "T"}{"type":\n"H"}\n',
    '{"type": "T", "x": 9007199254740993}\n{"type": "T", "x": 0.5}\n',
    '{"type": "T", "x": 12345678901234567890}\n',
    '{"type": "T", "x": NaN}\n',
    '{"type": "T", "x": Infinity}\n',
    '{"type": "T", "x": 1e999}\n',
    '{"type": "T", "x": 1, "x": 2}\n',
    '{"type": "T", "x": true}\n{"type": "T", "x": 1}\n',
    '{"type": "T", "x": [1]}\n',
    '{"type": "T", "x": {"y": 1}}\n',
    '{"type": "T", "x": "\\ud800"}\n',
    '{"type": "T", "x": "\\udc00"}\n',
    '{"type": ""}\n',
    '{"type": null}\n',
    '{"x": 1}\n',
    '{"type": "T", "time": true}\n',
    '{"type": "T"},\n',
    '{"type": "T",}\n',
    ' {"type": "T"}\n',
    '{"type": "T", " x": 1}\n',
    "",
    "\n",
    "[1]\n",
]


def by_arrow(data: bytes, name: str = "e.jsonl") -> Stream | None:
    found = table_of_json_lines(CsvSource(name, lambda: io.BytesIO(data)), FieldReading())
    return None if found is None else Stream.from_table(found.table)


def line_by_line(folder: Path, data: bytes) -> Stream | None:
    """None if it is no stream."""
    assert len(data) <= SMALL
    path = folder / "e.jsonl"
    path.write_bytes(data)
    try:
        return read_stream(path)
    except InputError:
        return None


def same(one: Stream, other: Stream) -> bool:
    shown = [[list(attributes.items()) for attributes in observed(S).types.values()] for S in (one, other)]
    values = [[sorted(map(repr, event.attributes.items())) for event in S] for S in (one, other)]  # 1 is not 1.0 there
    return one == other and values[0] == values[1] and shown[0] == shown[1]


@pytest.mark.parametrize("text", TAKEN)
def test_what_arrow_reads_is_the_same_stream(text: str, tmp_path: Path) -> None:
    found, expected = by_arrow(text.encode()), line_by_line(tmp_path, text.encode())
    assert found is not None
    assert expected is not None
    assert same(found, expected)


@pytest.mark.parametrize("text", LEFT)
def test_what_arrow_reads_otherwise_is_left(text: str) -> None:
    assert by_arrow(text.encode()) is None


@pytest.mark.parametrize("seed", sampled(range(40), range(1)))
@pytest.mark.slow
def test_changed_files_are_the_same_stream_or_none(seed: int, tmp_path: Path) -> None:
    rng, taken = Random(f"json/{seed}"), 0
    for _ in range(150):
        data = bytearray("".join(rng.choices(TAKEN, k=rng.randint(1, 2))).replace("}{", "}\n{").encode())
        for _ in range(rng.randint(0, 2)):
            at, other = rng.randrange(len(data)), rng.randrange(len(data))
            match rng.randrange(3):
                case 0:
                    data[at] = rng.choice(b'\n\r {}[],:"01.eE-tnu\\\xff')
                case 1:
                    del data[min(at, other) : min(at, other) + rng.randint(1, 9)]
                case _:
                    data[at:at] = data[other : other + rng.randint(1, 9)]
        found = by_arrow(bytes(data))
        expected = line_by_line(tmp_path, bytes(data))
        if found is not None:
            assert expected is not None, bytes(data)
            assert same(found, expected), bytes(data)
            taken += 1
    assert taken > 20


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("before", ["", '{"type": "T", "x": "}\n'])
def test_arrow_does_not_see_deep_nesting(open_: str, close: str, before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader used up the stack, which ended the process, or took minutes. A text does not hide it."""
    monkeypatch.setattr("cerify.semantics.files._parsed", lambda data, texts: pytest.fail("Arrow has read it"))
    text = f'{before}{{"type": "T", "x": {open_ * 30_000}1{close * 30_000}}}\n'
    assert table_of_json_lines(CsvSource("e", lambda: io.BytesIO(text.encode())), FieldReading()) is None


@pytest.mark.parametrize(
    "text",
    ["null", "null\n", '{"type": "T"}\nnull\n', 'null{"type": "T"}\n', '{"type": "T"}null\n', '{"a":1} null {\n'],
)
def test_arrow_does_not_see_null_in_the_place_of_an_object(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader ended the process with SIGSEGV, which the fuzzer found."""
    monkeypatch.setattr("cerify.semantics.files._parsed", lambda data, texts: pytest.fail("Arrow has read it"))
    assert table_of_json_lines(CsvSource("e", lambda: io.BytesIO(text.encode())), FieldReading()) is None


def test_a_large_file_is_read_by_columns(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_text(
        "".join(json.dumps({"kind": "T", "x": i, "at": f"2013-01-31T14:05:{i % 60:02}Z"}) + "\n" for i in range(3000))
    )
    assert path.stat().st_size > SMALL
    S = read_stream(path, type_column="kind", time_column="at")
    assert S.is_columnar
    assert len(S) == 3000
    assert S[61].get("time").second == 1  # type: ignore[union-attr]
    path.write_text(path.read_text() + '{"kind": "T", "x": "text"}\n')
    with pytest.raises(InputError, match="line 3001, field 'x': string, but int in line 1"):
        read_stream(path, type_column="kind").require_read(["x"])


# ---- json schema ----
# Which problem of a JSON value is reported, and where.

SCHEMA = JsonSchema(
    {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string"},
            "events": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        },
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize("value", [{"id": "a"}, {"id": "\udc8c"}, {"id": "a", "events": [0, 10**400, 2.0]}])
def test_a_value_that_meets_the_schema_has_no_problem(value: Any) -> None:
    assert SCHEMA.problem(value) is None


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ([], (), "is not of type"),
        ({"id": 1, "events": [-1]}, ("id",), "is not of type"),
        ({"id": "a", "events": [0, -1]}, ("events", 1), "less than the minimum"),
        ({"id": "a", "events": [True]}, ("events", 0), "is not of type"),
        ({"events": [-1], "more": 1}, (), "required property|unexpected"),
        ("\udc8c", (), "is not of type"),
        ({"id": "a", "\udc8c": "\udc8c"}, (), "unexpected"),
    ],
)
def test_the_problem_nearest_the_top_is_reported(value: Any, path: tuple[str | int, ...], message: str) -> None:
    problem = SCHEMA.problem(value)
    assert problem is not None
    assert problem.path == path
    assert any(one in problem.message for one in message.split("|"))


@pytest.mark.parametrize("depth", [100, 300, 900])
def test_a_value_nested_deeply_has_a_problem(depth: int) -> None:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    problem = SCHEMA.problem({"id": value})
    assert problem is not None
    assert "is not of type" in problem.message or "nested too deeply" in problem.message


def test_a_problem_with_a_large_value_is_short() -> None:
    problem = SCHEMA.problem({"id": [0] * 100_000})
    assert problem is not None
    assert len(problem.message) < 300
    assert "is not of type" in problem.message


def test_of_a_long_value_one_problem_is_found() -> None:
    """All of them took a minute and five gigabytes for an answer of 12 MB with a number in the place of each match."""
    schema = JsonSchema({"items": {"type": "object"}})
    schema._validator = cast("Any", SimpleNamespace(is_valid=lambda _: False, validate=schema._validator.validate))
    problem = schema.problem([1] * 50_000)
    assert problem is not None
    assert problem == ((0,), '1 is not of type "object"')


# ---- output files ----
# Files that are written whole or not at all, and locks between processes.

LOCKS = """
import sys
from pathlib import Path
from cerify.semantics.files import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""
FULL = """
import resource, sys
from pathlib import Path
from cerify.semantics.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write_whole(Path(sys.argv[1]), "new " * 1000)
"""


def test_a_file_is_replaced_with_its_mode_and_behind_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "page", tmp_path / "link"
    write_whole(path, "old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, "é\n")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, link.is_symlink()) == ("é\n".encode(), 0o640, True)
    assert sorted(os.listdir(tmp_path)) == ["link", "page"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process")
def test_without_room_a_file_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_text("old")
    ran = subprocess.run([sys.executable, "-c", FULL, str(path)], stderr=subprocess.PIPE, text=True, check=False)
    assert "InputError: cannot write" in ran.stderr
    assert "File too large" in ran.stderr
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["page"])


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "page"):
        with pytest.raises(InputError, match="cannot write"):
            write_whole(path, "text")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_device_is_written_to() -> None:
    write_whole(Path("/dev/null"), "text")
    with pytest.raises(InputError, match="No space left"):
        write_whole(Path("/dev/full"), "text")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_a_file_is_locked_until_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    argv = [sys.executable, "-c", LOCKS, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(InputError, match="another run writes to"), locked(path):
            pass
        other.kill()
    with locked(path):
        pass
