"""Files as people have them: compressed, several, of other separators, documents of JSON, and what is no text."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import cerify
from cerify.semantics.errors import InputError, InputWarning
from cerify.semantics.events import Event, Schema
from cerify.semantics.files import as_stream, read

AB = [Event("A", {"x": 1}), Event("B", {"x": 2})]
LINES = '{"type": "A", "x": 1}\n{"type": "B", "x": 2}\n'


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


Write = Callable[[str, str | bytes], Path]

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
    assert list(read(path)) == AB
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    assert list(read("-")) == AB


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", _zstd)])
def test_a_file_unpacks_to_so_much(
    suffix: str, pack: Callable[[bytes], bytes], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cerify.semantics.file_shapes.LARGEST_UNPACKED", 1000)
    monkeypatch.setattr("cerify.semantics.file_shapes.MOST_COMPRESSED", 2)
    path = write(f"e.jsonl.{suffix}", pack(LINES.encode() * 1000))
    with pytest.raises(InputError, match=r"it unpacks to more than \d,\d+ bytes, where the file has"):
        read(path)
    cut = write(f"f.jsonl.{suffix}", pack(LINES.encode() * 10)[:-9])
    with pytest.raises(InputError, match="it is compressed, and damaged"):
        read(cut)


# --- several files ----------------------------------------------------------------------------------------------------


def test_several_files_are_one_stream(write: Write, tmp_path: Path) -> None:
    first, second = write("a1.jsonl", '{"type": "A", "x": 1}\n'), write("a2.csv", "type,x\nB,2.5\n")
    for source in ([first, second], (str(first), str(second))):
        assert list(read(source)) == list(as_stream(source)) == [Event("A", {"x": 1.0}), Event("B", {"x": 2.5})]
    assert [event.type for event in read([second, first])] == ["B", "A"]
    write("a3.csv", "type,x\nC,1\n")
    assert [event.type for event in read(str(tmp_path / "a*"))] == ["A", "B", "C"]
    assert len(cerify.match("A ; B ; C", str(tmp_path / "a*"))) == 1
    with pytest.raises(InputError, match=r"no file .*b\*, and none that it is a pattern of"):
        read(str(tmp_path / "b*"))


def test_files_that_disagree_leave_an_attribute_out(write: Write) -> None:
    first, second = write("a.jsonl", '{"type": "A", "x": 1, "y": 2}\n'), write("b.csv", "type,x,y\nB,one,2\n")
    assert len(cerify.match("A ; B FILTER A.y = B.y", [str(first), str(second)])) == 1
    with pytest.raises(InputError, match=r"b\.csv, field 'x': string, but int in .*a\.jsonl"):
        cerify.match("A ; B FILTER A.x = B.x", [first, second])


def test_a_text_in_one_file_makes_texts_of_the_times_in_another(write: Write) -> None:
    first, second = write("a.csv", "type,x\nA,2024-01-31\n"), write("b.csv", "type,x\nB,soon\n")
    assert [event.get("x") for event in read([first, second])] == ["2024-01-31", "soon"]


def test_files_with_a_schema(write: Write) -> None:
    schema = Schema({"A": {"x": "int"}, "B": {"x": "int"}})
    S = read([write("a.jsonl", LINES), write("b.csv", "type,x\nA,3\n")], schema=schema)
    assert (S.schema, len(S)) == (schema, 3)


def test_a_file_whose_name_is_a_pattern_is_that_file(write: Write) -> None:
    assert list(read(write("a[1].jsonl", LINES))) == AB


# --- separators -------------------------------------------------------------------------------------------------------


def test_semicolons_with_decimal_commas(write: Write) -> None:
    text = 'type;x;n;note\nA;1,5;1;"a;b"\n\nB;2;2;1,5 %\n'
    with pytest.warns(InputWarning, match="read with decimal commas: x$"):
        S = read(write("e.csv", text))
    assert list(S) == [
        Event("A", {"x": 1.5, "n": 1, "note": "a;b"}),
        Event("B", {"x": 2.0, "n": 2, "note": "1,5 %"}),
    ]
    with pytest.warns(InputWarning), pytest.raises(InputError, match="line 5, field 'n': 'x' is not an integer"):
        read(write("f.csv", text + "A;1,5;x;\n"), schema=Schema({R: {"n": "int", "x": "float", "note": "string"}
                                                                 for R in "AB"}))  # fmt: skip


@pytest.mark.parametrize("separator", ["\t", "|", ";"])
@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e"])
def test_other_separators(separator: str, name: str, write: Write) -> None:
    text = "type,x,name\nA,1,\nB,2,c d\n".replace(",", separator)
    assert list(read(write(name, text))) == [Event("A", {"x": 1}), Event("B", {"x": 2, "name": "c d"})]


def test_a_log_of_zeek(write: Write) -> None:
    text = (
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
        "#open\t2024-03-30-06-00-00\n#fields\tts\tid.orig_h\tid.resp_p\tservice\tlocal\n"
        "#types\ttime\taddr\tport\tstring\tbool\n"
        "1711778400.123456\t10.0.0.1\t53\tdns\tT\n1711778401.5\t10.0.0.2\t80\t-\tF\n#close\t2024-03-30-07-00-00\n"
    )
    S = read(write("conn.log", text), time_column="ts")
    assert [(event.type, event.get("id.orig_h"), event.get("service"), event.get("local")) for event in S] == [
        ("conn", "10.0.0.1", "dns", True),
        ("conn", "10.0.0.2", None, False),
    ]
    assert S[0].get("time").microsecond == 123456  # type: ignore[union-attr]
    text_ = 'conn IN A ; conn IN B FILTER A."id.resp_p" < B."id.resp_p" WITHIN 2 seconds'
    assert len(cerify.match(text_, S)) == 1
    with pytest.raises(InputError, match="without a line #fields"):
        read(write("e.log", "#separator \\x09\n#path\tx\n"))


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
    assert list(read(write(name, text))) == AB


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("path", ["Records", "hits.hits"])
def test_a_list_in_one_object(path: str, indent: int | None, write: Write) -> None:
    """As audit logs of clouds and answers of search engines come."""
    obj: Any = [{"type": "A", "x": 1}, {"type": "B", "x": 2}]
    for name in reversed(path.split(".")):
        obj = {"took": 3, name: obj}
    file = write("e.json", json.dumps(obj, indent=indent))
    assert list(read(file, records=path)) == AB
    with pytest.raises(InputError, match=f"lists of objects in it are {path}: name that of the events with --records"):
        read(file)
    with pytest.raises(InputError, match=f"no list at 'Rows'; lists of objects are {path}"):
        read(file, records="Rows")


def test_what_is_wrong_in_a_line_is_said_of_the_line(write: Write) -> None:
    with pytest.raises(InputError, match="line 2: not JSON"):
        read(write("e.jsonl", '{"type": "A"}\n{"type": \n'))
    with pytest.raises(InputError, match="line 1: not JSON"):
        read(write("f.jsonl", '{"type": "A"\n{"type": "B"}\n'))


# --- what is not read -------------------------------------------------------------------------------------------------


def _workbook() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
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
            '10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1\n',
            "the access log of a web server",
        ),
        ("h.log", "CEF:0|Vendor|Product|1|100|name|5|src=10.0.0.1\n", "it is a log in CEF or LEEF"),
    ],
)
def test_a_file_that_is_not_read_is_named(name: str, content: str | bytes, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        read(write(name, content))
