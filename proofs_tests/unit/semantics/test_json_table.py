"""JSON Lines by Arrow's reader are what they are line by line, or they are not read by it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random

import pytest

from cerify.semantics.errors import InputError
from cerify.semantics.events import Stream, observed
from cerify.semantics.files import read
from cerify.semantics.json_lines import table_of_json_lines
from cerify.semantics.tables import SMALL, CsvSource
from cerify.semantics.time_columns import FieldReading
from proofs_tests.support import sampled

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
        return read(path)
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
    monkeypatch.setattr("cerify.semantics.json_lines._parsed", lambda data, texts: pytest.fail("Arrow has read it"))
    text = f'{before}{{"type": "T", "x": {open_ * 30_000}1{close * 30_000}}}\n'
    assert table_of_json_lines(CsvSource("e", lambda: io.BytesIO(text.encode())), FieldReading()) is None


@pytest.mark.parametrize(
    "text",
    ["null", "null\n", '{"type": "T"}\nnull\n', 'null{"type": "T"}\n', '{"type": "T"}null\n', '{"a":1} null {\n'],
)
def test_arrow_does_not_see_null_in_the_place_of_an_object(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader ended the process with SIGSEGV, which the fuzzer found."""
    monkeypatch.setattr("cerify.semantics.json_lines._parsed", lambda data, texts: pytest.fail("Arrow has read it"))
    assert table_of_json_lines(CsvSource("e", lambda: io.BytesIO(text.encode())), FieldReading()) is None


def test_a_large_file_is_read_by_columns(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_text(
        "".join(json.dumps({"kind": "T", "x": i, "at": f"2013-01-31T14:05:{i % 60:02}Z"}) + "\n" for i in range(3000))
    )
    assert path.stat().st_size > SMALL
    S = read(path, type_column="kind", time_column="at")
    assert S.is_columnar
    assert len(S) == 3000
    assert S[61].get("time").second == 1  # type: ignore[union-attr]
    path.write_text(path.read_text() + '{"kind": "T", "x": "text"}\n')
    with pytest.raises(InputError, match="line 3001, field 'x': string, but int in line 1"):
        read(path, type_column="kind").require_read(["x"])
