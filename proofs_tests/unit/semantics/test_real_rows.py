"""The same rows have the same answers, whatever they come in: times of text, units of numbers, and unused fields."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cerify
from cerify import funnel
from cerify.languages import LANGUAGES
from cerify.semantics.arrow_columns import VALUE_TYPES
from cerify.semantics.arrow_rows import times_if_text, times_in_column
from cerify.semantics.errors import IllFormed, InputError, InputWarning, QueryWarning, Unsupported
from cerify.semantics.events import Event, Schema, Stream, observed
from cerify.semantics.files import as_stream, read_schema, read_stream
from cerify.semantics.json_events import json_of_event
from cerify.semantics.time_columns import (
    BadTime,
    TimeReading,
    are_date_times,
    time_of_number,
    times_of_column,
    times_of_texts,
    unit_of,
)
from cerify.semantics.values import (
    NanosecondTime,
    Value,
    microseconds,
    nanoseconds,
    parse_time,
    show_time,
    time_at_nanoseconds,
)

# ---- real rows ----
#

Rows = Sequence[Mapping[str, Any]]
Open = Callable[..., Stream]


def _csv(rows: Rows) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [["" if row.get(name) is None else str(row[name]) for name in names] for row in rows]
    return "".join(",".join(line) + "\n" for line in [names, *cells])


def _jsonl(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _file(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def _parquet(rows: Rows, folder: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / "e.parquet")
    return folder / "e.parquet"


def _ipc(rows: Rows, folder: Path) -> Path:
    table = pa.Table.from_pylist(list(rows))
    with pa.ipc.new_file(str(folder / "e.arrow"), table.schema) as writer:
        writer.write_table(table)
    return folder / "e.arrow"


def _pandas(rows: Rows) -> Any:
    return pytest.importorskip("pandas").DataFrame(list(rows))


def _polars(rows: Rows) -> Any:
    return pytest.importorskip("polars").DataFrame(list(rows))


READERS: Mapping[str, Callable[[Rows, Path, pytest.MonkeyPatch], Any]] = {
    "csv": lambda rows, folder, _: _file(folder, "e.csv", _csv(rows)),
    "csv by Arrow": lambda rows, folder, patch: (
        patch.setattr("cerify.semantics.tables.SMALL", 0),
        _file(folder, "e.csv", _csv(rows)),
    )[1],
    "csv without Arrow": lambda rows, folder, patch: (
        patch.setattr("cerify.semantics.files.installed", lambda name: False),
        _file(folder, "e.csv", _csv(rows)),
    )[1],
    "jsonl": lambda rows, folder, _: _file(folder, "e.jsonl", _jsonl(rows)),
    "jsonl by Arrow": lambda rows, folder, patch: (
        patch.setattr("cerify.semantics.tables.SMALL", 0),
        _file(folder, "e.jsonl", _jsonl(rows)),
    )[1],
    "json": lambda rows, folder, _: _file(folder, "e.jsonl", json.dumps(list(rows))),
    "parquet": lambda rows, folder, _: _parquet(rows, folder),
    "arrow": lambda rows, folder, _: _ipc(rows, folder),
    "table": lambda rows, folder, _: pa.Table.from_pylist(list(rows)),
    "dicts": lambda rows, folder, _: list(rows),
    "pandas": lambda rows, folder, _: _pandas(rows),
    "polars": lambda rows, folder, _: _polars(rows),
}
FLAT = list(READERS)
NESTED = [name for name in READERS if "csv" not in name]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Rows], Any]:
    return lambda reader, rows: READERS[reader](rows, tmp_path, monkeypatch)


# --- times of text ----------------------------------------------------------------------------------------------------

FORMS = [
    {"type": "open", "ts": "2024-03-01T10:00:01Z"},
    {"type": "close", "ts": "2024-03-01T10:00:01.500Z"},
    {"type": "late", "ts": "2024-03-01T11:00:02+01:00"},
    {"type": "plain", "ts": "2024-03-01 10:00:03"},
]


@pytest.mark.parametrize("reader", FLAT)
def test_a_column_of_iso_times_is_one_of_times(reader: str, source: Callable[[str, Rows], Any]) -> None:
    """By characters 01.500Z comes before 01Z, and 11:00:02+01:00 after 10:00:03."""
    S = as_stream(source(reader, FORMS))
    assert [event.get("ts") for event in S] == [
        datetime(2024, 3, 1, 10, 0, 1, tzinfo=UTC),
        datetime(2024, 3, 1, 10, 0, 1, 500_000, tzinfo=UTC),
        datetime(2024, 3, 1, 10, 0, 2, tzinfo=UTC),
        datetime(2024, 3, 1, 10, 0, 3, tzinfo=UTC),
    ]
    text = "open ; close ; late ; plain FILTER open.ts < close.ts AND close.ts < late.ts AND late.ts < plain.ts"
    assert [m.events for m in cerify.match(text, source(reader, FORMS))] == [(0, 1, 2, 3)]
    ordered = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B C D) DEFINE A AS type = 'open', C AS type = 'late')"
    assert len(cerify.match(ordered, [{"type": "x", **row} for row in FORMS], language="row-pattern")) == 1


@pytest.mark.parametrize("reader", FLAT)
def test_one_other_text_leaves_a_column_text(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "x": "2024-03-01T10:00:01+02:00"}, {"type": "A", "x": "soon"}]
    assert [event.get("x") for event in as_stream(source(reader, rows))] == ["2024-03-01T10:00:01+02:00", "soon"]


@pytest.mark.parametrize("reader", FLAT)
def test_a_schema_overrides_the_rule(reader: str, source: Callable[[str, Rows], Any]) -> None:
    schema = Schema({"A": {"x": "string"}})
    S = as_stream(source(reader, [{"type": "A", "x": "2024-03-01T10:00:01Z"}]), schema=schema)
    assert S[0] == Event("A", {"x": "2024-03-01T10:00:01Z"})


def test_events_of_a_program_keep_their_texts() -> None:
    S = Stream([Event("A", {"x": "2024-03-01T10:00:01Z"})])
    assert S[0].get("x") == Stream.from_table(S.table)[0].get("x") == "2024-03-01T10:00:01Z"
    mixed = Stream([Event("A"), {"type": "A", "x": "2024-03-01T10:00:01Z"}])
    assert mixed[1].get("x") == "2024-03-01T10:00:01Z"


def test_batches_agree_on_what_is_a_time() -> None:
    """Each batch is read on its own; one that reads an attribute otherwise than those before is refused."""
    rows = [{"type": "A", "x": "2024-01-01T00:00:01Z"}, {"type": "A", "x": "2024-01-01T00:00:01.5Z"}]
    text = "A IN X ; A IN Y FILTER X.x < Y.x"
    E = cerify.compile(text)
    assert [m.events for row in rows for m in E.push([row])] == [m.events for m in cerify.match(text, rows)] == [(0, 1)]
    with pytest.raises(InputError, match="earlier batches have timestamps, this batch has strings"):
        E.push([{"type": "A", "x": "soon"}])
    words = cerify.compile(text)
    assert [m.events for row in ({"x": "1"}, rows[0], rows[1]) for m in words.push([{"type": "A", **row}])] == [
        (0, 1),
        (0, 2),
    ]
    declared = cerify.compile(text, schema=Schema({"A": {"x": "string"}}))
    assert [m for row in rows for m in declared.push([row])] == []


# --- numbers that are times -------------------------------------------------------------------------------------------

SECONDS = [1541000542, 1541000545, 1541001152]
SCALES = {"ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("reader", FLAT)
@pytest.mark.parametrize("unit", SCALES)
def test_the_unit_of_large_numbers_is_found_out(unit: str, reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "time": second * SCALES[unit]} for second in SECONDS]
    with pytest.warns(InputWarning, match=r"--time-unit s\|ms\|us\|ns"):
        S = as_stream(source(reader, rows))
    assert [event.get("time") for event in S] == [datetime.fromtimestamp(second, UTC) for second in SECONDS]
    with pytest.warns(InputWarning):
        assert len(cerify.match("A IN X ; A IN Y WITHIN 5 seconds", source(reader, rows))) == 1


@pytest.mark.parametrize("reader", FLAT)
def test_seconds_stay_seconds(reader: str, source: Callable[[str, Rows], Any], recwarn: Any) -> None:
    S = as_stream(source(reader, [{"type": "A", "time": second} for second in [*SECONDS, 5]]))
    assert [event.get("time") for event in S] == [*SECONDS, 5]
    assert not [warning for warning in recwarn if warning.category is InputWarning]


@pytest.mark.parametrize("reader", FLAT)
def test_numbers_of_two_units_are_seconds(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "time": 1541000542290}, {"type": "A", "time": 7}]
    assert [event.get("time") for event in as_stream(source(reader, rows))] == [1541000542290, 7]
    rows = [{"type": "A", "time": 1541000542}, {"type": "A", "time": 1541000542290}]
    with pytest.warns(InputWarning, match="1541000542290 looks like milliseconds"):
        assert as_stream(source(reader, rows))[1].get("time") == 1541000542290


@pytest.mark.parametrize("reader", FLAT)
def test_a_unit_that_is_given_decides(reader: str, source: Callable[[str, Rows], Any], recwarn: Any) -> None:
    rows = [{"type": "A", "at": 1541000542290}, {"type": "A", "at": 7}]
    S = as_stream(source(reader, rows), time_column="at", time_unit="ms")
    assert [event.get("time") for event in S] == [
        datetime(2018, 10, 31, 15, 42, 22, 290_000, tzinfo=UTC),
        datetime(1970, 1, 1, 0, 0, 0, 7_000, tzinfo=UTC),
    ]
    kept = as_stream(source(reader, rows[:1]), time_column="at", time_unit="s")
    assert [event.get("time") for event in kept] == [1541000542290]
    assert not [warning for warning in recwarn if warning.category is InputWarning]


MOMENT = datetime(2018, 10, 31, 15, 42, 22, 290_000, tzinfo=UTC)


@pytest.mark.parametrize("reader", FLAT)
@pytest.mark.parametrize(
    ("types", "row", "options"),
    [
        ({"time": "timestamp"}, {"time": 1541000542290}, {"time_unit": "ms"}),
        ({"time": "timestamp[ms]"}, {"time": 1541000542290}, {}),
        ({"time": "timestamp[us]"}, {"at": 1541000542290000}, {"time_column": "at", "time_unit": "s"}),
        ({"time": "timestamp"}, {"time": 1541000542.29}, {}),
        ({"seen": "timestamp[ms]"}, {"seen": 1541000542290}, {}),
        ({"seen": "timestamp[ns]"}, {"seen": 1541000542290000000}, {}),
        ({}, {"time": 1541000542290}, {"time_unit": "ms"}),
        ({"time": "timestamp"}, {"time": "31/10/2018 15:42:22.29"}, {"time_format": "%d/%m/%Y %H:%M:%S.%f"}),
        ({"time": "timestamp"}, {"time": "2018-10-31T15:42:22.290Z"}, {}),
    ],
)
def test_a_schema_has_times_in_every_reader(
    types: Any, row: Any, options: Any, reader: str, source: Callable[[str, Rows], Any]
) -> None:
    schema = Schema({"A": types})
    (event,) = as_stream(source(reader, [{"type": "A", **row}]), schema=schema, **options)
    assert list(event.attributes.values()) == [MOMENT]


@pytest.mark.parametrize("reader", FLAT)
def test_seconds_of_a_schema_are_times_or_numbers(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "time": 5, "x": 1}]
    for declared, value in (("timestamp", datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)), ("int", 5)):
        schema = Schema({"A": {"time": declared, "x": "int"}})
        assert as_stream(source(reader, rows), schema=schema)[0].get("time") == value
    with pytest.raises(IllFormed, match="--time-unit reads timestamps, but the schema declares the time as int"):
        as_stream(source(reader, rows), schema=schema, time_unit="ms")
    with pytest.raises(InputError, match="x"):
        as_stream(source(reader, rows), schema=Schema({"A": {"time": "int", "x": "timestamp"}}))


def test_units_of_a_schema() -> None:
    schema = Schema({"A": {"at": "timestamp[ms]"}, "B": {"at": "timestamp[ms]", "x": "int"}})
    assert (schema.types["B"], dict(schema.units)) == ({"at": "timestamp", "x": "int"}, {"at": "ms"})
    with pytest.raises(IllFormed, match=r"timestamp\[s\|ms\|us\|ns\]"):
        Schema({"A": {"at": "timestamp[min]"}})


@pytest.mark.parametrize("reader", FLAT)
def test_fractions_of_seconds_are_read(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "time": 1711778400.123456}, {"type": "A", "time": 1711778401}]
    S = as_stream(source(reader, [{**row, "time": float(row["time"])} for row in rows]))
    assert [event.get("time") for event in S] == [
        datetime(2024, 3, 30, 6, 0, 0, 123456, tzinfo=UTC),
        datetime(2024, 3, 30, 6, 0, 1, tzinfo=UTC),
    ]


@pytest.mark.parametrize("reader", FLAT)
def test_fractions_that_are_no_time_of_our_days_stay_numbers(reader: str, source: Callable[[str, Rows], Any]) -> None:
    """As hours of a day in a column that is called time."""
    S = as_stream(source(reader, [{"type": "A", "time": 23.5}, {"type": "A", "time": 0.25}]))
    assert [event.get("time") for event in S] == [23.5, 0.25]
    assert len(cerify.match("A FILTER A.time > 12", S, strict=True)) == 1


def test_a_unit_that_there_is_not_is_refused() -> None:
    with pytest.raises(IllFormed, match="there is no unit 'min' of times; use one of s, ms, us, ns"):
        as_stream([{"type": "A"}], time_unit="min")  # type: ignore[arg-type]
    with pytest.raises(IllFormed, match="time_format: expected a text"):
        as_stream([{"type": "A"}], time_format=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("reader", FLAT)
def test_times_of_another_format(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "at": "31/01/2024 10:00"}, {"type": "B", "at": "01/02/2024 09:30"}]
    S = as_stream(source(reader, rows), time_column="at", time_format="%d/%m/%Y %H:%M")
    assert [event.get("time") for event in S] == [
        datetime(2024, 1, 31, 10, tzinfo=UTC),
        datetime(2024, 2, 1, 9, 30, tzinfo=UTC),
    ]
    unfit = as_stream(source(reader, rows), time_column="at", time_format="%Y")
    with pytest.raises(InputError, match=r"'31/01/2024 10:00' is not of the format '%Y'"):
        unfit.require_read(["time"])


@pytest.mark.parametrize("reader", FLAT)
def test_events_are_sorted_by_their_time(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "B", "time": 9}, {"type": "C", "time": None}, {"type": "A", "time": 3}, {"type": "D", "time": 9}]
    S = as_stream(source(reader, rows), sort=True)
    assert [event.type for event in S] == ["A", "B", "C", "D"]
    assert [m.events for m in cerify.match("A ; B WITHIN 10 seconds", S)] == [(0, 1)]
    with pytest.warns(QueryWarning, match="sort them by time: --sort; in Python, .*sort=True"):
        assert cerify.count("A ; B WITHIN 10 seconds", source(reader, rows)) == 0


def test_what_has_no_times_is_not_sorted() -> None:
    with pytest.raises(InputError, match="'noon' is not a time"):
        as_stream([{"type": "A", "time": "noon"}], sort=True)
    with pytest.raises(InputError, match="their times are of several kinds; write all in one form"):
        as_stream([Event("A", {"time": 1}), Event("A", {"time": datetime(2024, 1, 1, tzinfo=UTC)})], sort=True)
    assert [event.type for event in as_stream([{"type": "B"}, {"type": "A"}], sort=True)] == ["B", "A"]


# --- digits beyond microseconds ---------------------------------------------------------------------------------------

NANOSECONDS = "A IN X ; B IN Y FILTER X.ts < Y.ts", "A ; B WITHIN 1 seconds"
DIGITS: Mapping[str, tuple[tuple[str, str], tuple[int, int] | str]] = {
    # the times of A and B, and the numbers of matches by ts and within one second, or the reason why they are refused
    "seven digits, 800 ns too far": (("2017-11-10T07:27:47.2779361Z", "2017-11-10T07:27:48.2779369Z"), (1, 0)),
    "nine digits, a second apart": (("2017-11-10T07:27:47.277936123Z", "2017-11-10T07:27:48.277936123Z"), (1, 1)),
    "one nanosecond apart": (("2017-11-10T07:27:47.277936123Z", "2017-11-10T08:27:47.277936124+01:00"), (1, 1)),
    "one of microseconds": (("2017-11-10 07:27:47.2779361", "2017-11-10 07:27:48.277936"), (1, 1)),
    "zeros beyond microseconds": (("2017-11-10T07:27:47.277936000Z", "2017-11-10T07:27:47.277936Z"), (0, 1)),
    "the first and the last year": (("1678-01-01T00:00:00.000000001Z", "2261-12-31T23:59:59.999999999Z"), (1, 0)),
    "a year that has no nanoseconds": (("2017-11-10T07:27:47.2779361Z", "9999-12-31T00:00:00Z"), "1678 to 2261"),
    "ten digits": (("2017-11-10T07:27:47.2779361234Z", "2017-11-10T07:27:48Z"), "digits beyond nanoseconds"),
}


@pytest.mark.parametrize("case", DIGITS)
@pytest.mark.parametrize("reader", FLAT)
def test_nanoseconds_are_kept_or_refused_in_every_reader(
    reader: str, case: str, source: Callable[[str, Rows], Any]
) -> None:
    times, expected = DIGITS[case]
    rows = [{"type": type_, "time": time, "ts": time} for type_, time in zip("AB", times, strict=True)]
    assert len(cerify.match("A ; B", source(reader, rows))) == 1
    if isinstance(expected, str):
        for query in NANOSECONDS:
            with pytest.raises(InputError, match=expected):
                cerify.match(query, source(reader, rows))
        return
    assert tuple(len(cerify.match(query, source(reader, rows))) for query in NANOSECONDS) == expected
    S = as_stream(source(reader, rows))
    assert [event.get("ts") for event in S] == [parse_time(time, keep_nanoseconds=True) for time in times]
    assert Stream.from_table(S.table) == Stream(S.events) == S
    cut = as_stream(source(reader, rows), round_times=True)
    assert [event.get("time") for event in cut] == [parse_time(re.sub(r"(\.\d{6})\d+", r"\1", time)) for time in times]


@pytest.mark.parametrize("reader", FLAT)
def test_a_text_that_is_no_time_is_named_in_every_reader(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "x": "2024-02-29"}, {"type": "A", "x": "2024-02-30"}]
    schema = read_schema('{"A": {"x": "timestamp"}}')
    for options in ({}, {"round_times": True}, {"schema": schema}, {"schema": schema, "round_times": True}):
        with pytest.raises(InputError, match="'2024-02-30' is not an ISO 8601 time"):
            as_stream(source(reader, rows), **options).require_read()  # type: ignore[arg-type]


@pytest.mark.parametrize("reader", FLAT)
def test_numbers_of_nanoseconds_are_kept(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "time": 1510298867277936100}, {"type": "B", "time": 1510298868277936900}]
    S = as_stream(source(reader, rows), time_unit="ns")
    assert [nanoseconds(event.get("time")) for event in S] == [row["time"] for row in rows]  # type: ignore[arg-type]
    assert not cerify.match("A ; B WITHIN 1 seconds", S)
    declared = read_schema('{"A": {"time": "timestamp[ns]"}, "B": {"time": "timestamp[ns]"}}')
    assert as_stream(source(reader, rows), schema=declared).events == S.events
    texts = [{**row, "time": show_time(event.get("time"))} for row, event in zip(rows, S, strict=True)]  # type: ignore[arg-type]
    schema = read_schema('{"A": {"time": "timestamp"}, "B": {"time": "timestamp"}}')
    assert as_stream(source(reader, texts), schema=schema).events == S.events
    texts = [{"type": row["type"], "ts": row["time"]} for row in texts]
    schema = read_schema('{"A": {"ts": "timestamp"}, "B": {"ts": "timestamp"}}')
    assert [e.get("ts") for e in as_stream(source(reader, texts), schema=schema)] == [e.get("time") for e in S]


@pytest.mark.parametrize("options", [{}, {"schema": Schema({"A": {"x": "timestamp"}})}])
def test_times_of_frames_keep_nanoseconds_or_are_cut(options: Any) -> None:
    pandas = pytest.importorskip("pandas")
    time = pandas.Timestamp("2024-03-01T10:00:00.123456789", tz="UTC")
    rows = [{"type": "A", "time": time, "x": time}]
    for events in (rows, pandas.DataFrame(rows), pa.Table.from_pandas(pandas.DataFrame(rows))):
        for cut in (False, True):
            (event,) = as_stream(events, round_times=cut, **options)
            expected = "2024-03-01T10:00:00.123456Z" if cut else "2024-03-01T10:00:00.123456789Z"
            assert [show_time(event.attributes[name]) for name in ("time", "x")] == [expected] * 2  # type: ignore[arg-type]


def _ticking(rng: Random, tick: int) -> list[Event]:
    """Events at whole seconds and up to three ticks; whatever a tick is, they have the same matches."""
    moments = sorted((rng.randint(0, 6), rng.randint(0, 3)) for _ in range(8))
    found = []
    for second, ticks in moments:
        other, more = rng.choice(moments)
        start = 1_700_000_000
        attributes: dict[str, Any] = {"time": time_at_nanoseconds((start + second) * 10**9 + ticks * tick)}
        attributes |= {"ts": time_at_nanoseconds((start + other) * 10**9 + more * tick), "x": rng.randint(0, 2)}
        found.append(Event(rng.choice("AABC"), attributes))
    return found


TICKED: Mapping[str, Sequence[str]] = {
    "cel": [
        "A ; B WITHIN 2 seconds", "A ; (B UNLESS C) WITHIN 2 seconds", "A IN X ; B IN Y FILTER X.ts < Y.ts",
        "(A ; B) PARTITION BY [ts]", "A FILTER A.ts > timestamp '2023-11-14T22:13:22Z'", "((A ; B) PER KEY [ts])",
    ],
    "sase": [
        "PATTERN SEQ(A a, ~C c, B b) WITHIN 2 seconds", "PATTERN SEQ(A a, ~C c) WITHIN 2 seconds",
        "PATTERN SEQ(A a, B+ b[]) WHERE [ts] AND a.ts <= b[1].time",
    ],
    "row-pattern": [
        "MATCH_RECOGNIZE (ORDER BY time PATTERN (P Q) DEFINE Q AS Q.time - P.time <= INTERVAL '1' SECOND)",
        "MATCH_RECOGNIZE (ORDER BY ts DESC, time PATTERN (P+) DEFINE P AS P.ts + (P.ts - P.time) > FIRST(P.ts))",
        "MATCH_RECOGNIZE (PARTITION BY ts ORDER BY time PATTERN (P Q) DEFINE Q AS DATE_TRUNC('second', Q.ts) <> P.ts)",
    ],
    "eql": [
        "sequence with maxspan=2s [A where true] [B where true] until [C where true]",
        "sequence by ts [A where true] [B where true]", "any where ts == time",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in TICKED.items() for text in texts])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_ticks_of_nanoseconds_have_the_matches_of_microseconds(language: str, text: str) -> None:
    """In all evaluators, over events and columns, at once and in batches with saved states between them."""
    for seed in range(8):
        coarse, fine = (_ticking(Random(seed), tick) for tick in (1000, 1))
        expected = cerify.match(text, coarse, language=language, evaluator="denotational")
        for evaluator in ("denotational", "automaton", "kernel"):
            for S in (Stream(fine), Stream.from_table(Stream(fine).table)):
                with suppress(cerify.Unsupported) if evaluator == "kernel" else nullcontext():
                    assert sorted(cerify.match(text, S, language=language, evaluator=evaluator)) == sorted(expected)
        E = cerify.compile(text, language=language)
        found = []
        for start in range(0, len(fine), 3):
            found += E.push(fine[start : start + 3])
            state, E = E.save(), cerify.compile(text, language=language)
            E.restore(state)
        assert sorted(m.events for m in [*found, *E.finish()]) == sorted(m.events for m in expected)


def test_nanoseconds_are_printed_and_written_and_messages_refuse_them() -> None:
    S = as_stream(
        [{"type": "A", "time": "2017-11-10T07:27:47.2779361Z"}, {"type": "B", "time": "2017-11-10T07:27:49Z"}]
    )
    time = S[0].attributes["time"]
    assert isinstance(time, NanosecondTime)
    assert show_time(time) == "2017-11-10T07:27:47.277936100Z"
    found = cerify.match("A ; B", S, output="valuations")
    assert found.to_arrow(S)["A.time"].cast(pa.int64()).to_pylist() == [1510298867277936100]
    columns = (
        "MATCH_RECOGNIZE (ORDER BY time MEASURES B.time - A.time AS d, EXTRACT(SECOND FROM A.time) AS s PATTERN (A B))"
    )
    (match,) = cerify.match(columns, S, language="row-pattern")
    assert match.result.attributes["s"] == 47.2779361  # type: ignore[union-attr]
    assert json.loads(match.result.text)["d"] == "PT1.7220639S"  # type: ignore[union-attr]
    with pytest.raises(InputError, match="has nanoseconds, but messages carry microseconds"):
        json_of_event(S[0])
    with pytest.raises(cerify.Unsupported, match="has nanoseconds, which are not supported here"):
        microseconds(time)
    copied = pickle.loads(pickle.dumps(time))
    assert (copied, hash(copied)) == (time, hash(time))
    assert time != time.whole


def test_a_literal_of_seven_digits_is_refused() -> None:
    with pytest.raises(cerify.ParseError, match="has digits beyond microseconds"):
        cerify.parse("A FILTER A.x < timestamp '2017-11-10T07:27:47.2779361Z'")
    assert cerify.parse("A FILTER A.x < timestamp '2017-11-10T07:27:47.2779360Z'")


# --- which field is the time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", FLAT)
def test_the_named_field_is_the_time(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "time": 1, "when": 100}, {"type": "B", "time": 2, "when": 200}]
    S = as_stream(source(reader, rows), time_column="when")
    assert list(S) == [Event("A", {"time": 100}), Event("B", {"time": 200})]
    with pytest.raises(InputError, match="'gone'"):
        as_stream(source(reader, rows), time_column="gone")


@pytest.mark.parametrize("reader", FLAT)
def test_the_form_of_other_times_is_proposed(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "at": "03/04/2024 10:00"}, {"type": "B", "at": "05/04/2024 9:30"}]
    with pytest.raises(InputError, match="not a time; --time-format '%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M', in Python"):
        as_stream(source(reader, rows), time_column="at").require_read(["time"])
    rows.append({"type": "C", "at": "31/04 10:00"})
    with pytest.raises(InputError, match="not a time; a time is ISO 8601"):
        as_stream(source(reader, rows), time_column="at").require_read(["time"])


@pytest.mark.parametrize("reader", FLAT)
def test_an_empty_text_is_no_time(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "at": ""}, {"type": "A", "at": "2024-03-01T10:00:00Z"}]
    S = as_stream(source(reader, rows), time_column="at")
    assert [event.get("time") for event in S] == [None, datetime(2024, 3, 1, 10, tzinfo=UTC)]


@pytest.mark.parametrize("reader", FLAT)
def test_rows_without_a_type_have_the_default(reader: str, source: Callable[[str, Rows], Any]) -> None:
    for rows in ([{"id": "A", "x": 1}, {"id": None, "x": 2}], [{"id": 1, "x": 1}, {"id": None, "x": 2}]):
        S = as_stream(source(reader, rows), type_column="id", default_type="none")
        assert [event.type for event in S] == [str(rows[0]["id"]), "none"]


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.slow
def test_texts_of_parquet_without_dictionaries(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"type": ["A", "B"] * 50, "x": [f"{i:030}" for i in range(100)]})
    encodings = dict.fromkeys(table.column_names, encoding)
    pq.write_table(table, tmp_path / "e.parquet", use_dictionary=False, column_encoding=encodings)
    assert [event.attributes["x"] for event in as_stream(tmp_path / "e.parquet")] == table["x"].to_pylist()
    assert [count.keys for count in funnel(tmp_path / "e.parquet", ["A", "B"], by="x").counts] == [50, 0]
    monkeypatch.setattr("cerify.semantics.files.LARGEST_CLAIM", 0)
    monkeypatch.setattr("cerify.semantics.files.MOST_COMPRESSED", 1)
    with pytest.raises(InputError, match="the file claims"):
        as_stream(tmp_path / "e.parquet")


@pytest.mark.parametrize("reader", FLAT)
def test_numbers_are_types(reader: str, source: Callable[[str, Rows], Any]) -> None:
    S = as_stream(source(reader, [{"id": 4625, "x": 1}, {"id": 4624, "x": 2}]), type_column="id")
    assert [event.type for event in S] == ["4625", "4624"]


# --- fields that the query does not use -------------------------------------------------------------------------------

UNUSED: Mapping[str, Sequence[Any]] = {
    "objects": [{"y": 1}, None],
    "lists": [None, ["a", "b"]],
    "mixed kinds": [1, "one"],
    "mixed objects": [{"y": 1}, 2],
    "beyond 64 bits": [2**64, 1],
}


@pytest.mark.parametrize("kind", UNUSED)
@pytest.mark.parametrize("reader", ["jsonl", "json", "dicts", "pandas"])
def test_fields_that_are_not_used_refuse_nothing(
    kind: str, reader: str, source: Callable[[str, Rows], Any], recwarn: Any
) -> None:
    first, second = UNUSED[kind]
    rows = [{"type": "A", "z": 1, "x": first}, {"type": "B", "z": 1, "x": second}]
    assert [m.events for m in cerify.match("A ; B FILTER A.z = B.z", source(reader, rows))] == [(0, 1)]
    assert not [warning for warning in recwarn if issubclass(warning.category, InputWarning)]


@pytest.mark.parametrize("reader", NESTED)
@pytest.mark.parametrize("text", ["A ; B FILTER A.x = B.x", "(A ; B) PARTITION BY [x]"])
def test_a_field_that_is_used_is_refused_with_the_reason(
    text: str, reader: str, source: Callable[[str, Rows], Any]
) -> None:
    rows = [{"type": "A", "x": [1]}, {"type": "B", "x": [1, 2]}]
    with pytest.raises(InputError, match=r"'x': a list, whose number of elements is the attribute 'x\.count'; 'x"):
        cerify.match(text, source(reader, rows))


@pytest.mark.parametrize("reader", FLAT)
def test_a_column_that_happens_to_be_called_time(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "time": "noon"}, {"type": "B", "time": "2 pm"}]
    assert len(cerify.match("A ; B", source(reader, rows))) == 1
    with pytest.raises(InputError, match="'noon' is not a time; a time is ISO 8601"):
        cerify.match("A ; B WITHIN 5 seconds", source(reader, rows))


def test_any_attribute_may_matter_to_a_predicate_of_the_users_own() -> None:
    rows = [{"type": "A", "x": [1]}]
    with pytest.raises(InputError, match="'x': a list"):
        cerify.match("A FILTER p(A)", rows, predicates={"p": lambda A: True})
    with pytest.raises(InputError, match="'x': a list"):
        cerify.match("A(1)", rows, language="event-expression")


@pytest.mark.parametrize("column", [
    pa.array([1, 2], pa.duration("s")), pa.array([b"a", b"b"]), pa.array([1, 2], pa.time64("us")),
])  # fmt: skip
def test_columns_of_types_without_values_refuse_nothing(column: pa.Array) -> None:
    table = pa.table({"type": ["A", "B"], "x": column})
    assert len(cerify.match("A ; B", table)) == 1
    with pytest.raises(InputError, match="field 'x': the column has type"):
        cerify.match("A FILTER A.x = 1", table)


def test_a_time_before_the_first_year_refuses_only_its_column(tmp_path: Path) -> None:
    """Programs of .NET write their least time so; with an offset it is in the year 0, and tables refused the file."""
    rows = [{"type": "A", "x": "0001-01-01T00:00:00+01:00"}]
    for read_rows in (READERS[name] for name in FLAT):
        with pytest.MonkeyPatch.context() as patch:
            given = read_rows(rows, tmp_path, patch)
            assert len(cerify.match("A", given)) == 1
            with pytest.raises(InputError, match="outside the years 1 to 9999"):
                cerify.match("A FILTER A.x < timestamp '2024-01-01'", given)


def test_whole_numbers_with_gaps_are_no_floats_in_pandas() -> None:
    """Seconds became timestamps, which are compared with no number, and divisions of SQL were those of floats."""
    pandas = pytest.importorskip("pandas")
    rows = [{"type": "A", "time": 1711778400, "x": 5}, {"type": "A"}, {"type": "A", "time": 1711778401, "x": 7}]
    S = Stream(pandas.DataFrame(rows))
    assert [(event.get("time"), event.get("x")) for event in S] == [(1711778400, 5), (None, None), (1711778401, 7)]
    assert Stream(rows) == S
    assert type(Stream(pandas.DataFrame({"type": ["A", "A"], "x": [0.5, None]}))[0].get("x")) is float


def test_decimals_are_numbers_where_none_is_rounded() -> None:
    table = pa.table({"type": ["A"], "price": pa.array([1]).cast(pa.decimal128(21, 2)).cast(
        pa.decimal128(12, 2)), "n": pa.array([7]).cast(pa.decimal128(19, 0)).cast(
        pa.decimal128(18, 0))})  # fmt: skip
    assert dict(Stream(table)[0].attributes) == {"price": 1.0, "n": 7}
    digits = ["0.57", "1.10", "-0.07", "0.00", "9999999999.99"]  # a cast by Arrow makes 0.5700000000000001 of 0.57
    for kind in (pa.decimal64(12, 2), pa.decimal128(12, 2), pa.decimal256(12, 2)):
        prices = pa.array([*map(Decimal, digits)], kind)
        events = Stream(pa.table({"type": ["A"] * 5, "price": prices}))
        assert [event.get("price") for event in events] == [*map(float, digits)]


# --- objects in objects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", NESTED)
def test_a_field_of_an_object_is_an_attribute_by_its_path(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [
        {"event": {"category": "A"}, "process": {"name": "x", "parent": {"pid": 7}}, "tags": ["a", "b"]},
        {"event": {"category": "B"}, "process": {"name": "y", "parent": {"pid": 8}}, "tags": []},
    ]
    S = as_stream(source(reader, rows), type_column="event.category")
    assert list(S) == [
        Event("A", {"process.name": "x", "process.parent.pid": 7, "tags.count": 2}),
        Event("B", {"process.name": "y", "process.parent.pid": 8, "tags.count": 0}),
    ]


@pytest.mark.parametrize("reader", ["jsonl", "dicts", "table"])
def test_a_path_and_nesting_are_one_attribute(reader: str, source: Callable[[str, Rows], Any]) -> None:
    rows = [{"type": "A", "p": {"n": "x"}, "p.n": None}, {"type": "A", "p": None, "p.n": "y"}]
    assert [event.get("p.n") for event in as_stream(source(reader, rows))] == ["x", "y"]
    with pytest.raises(InputError, match=r"'p\.n' has two values"):
        as_stream(source(reader, [{"type": "A", "p": {"n": "x"}, "p.n": "y"}]))


@pytest.mark.parametrize("reader", ["jsonl", "json", "dicts"])
def test_an_object_without_fields_has_no_attributes(reader: str, source: Callable[[str, Rows], Any]) -> None:
    S = as_stream(source(reader, [{"type": "A", "user": {"id": "u"}}, {"type": "B", "user": {}, "x": {"y": {}}}]))
    assert list(S) == [Event("A", {"user.id": "u"}), Event("B")]
    assert not S.unread


@pytest.mark.parametrize("reader", NESTED)
def test_a_schema_has_paths_and_counts(reader: str, source: Callable[[str, Rows], Any]) -> None:
    """Such a file was refused with the schema that it shows."""
    rows = [{"event": {"kind": "A"}, "user": {"id": "u"}, "tags": ["a", "b"], "time": 1541000542290}]
    schema = cerify.observed(as_stream(source(reader, rows), type_column="event.kind", time_unit="ms"))
    (event,) = as_stream(source(reader, rows), type_column="event.kind", time_unit="ms", schema=schema)
    assert event.attributes == {"user.id": "u", "tags.count": 2, "time": MOMENT}


LISTED = [
    {"type": "A", "user": "u1", "time": 2, "tags": ["new", "sale"], "items": [{"sku": "x1", "n": 2}], "n": [1.0, 2.5]},
    {"type": "A", "user": "u2", "time": 1, "tags": [], "items": [{"sku": "x2"}, {"sku": "x3"}], "n": []},
    {"type": "B", "user": "u1", "time": 3},
]
ELEMENTS: Mapping[str, list[bool | None]] = {
    "tags.any.new": [True, False, None],
    "tags.any.ne": [False, False, None],
    "items.sku.any.x3": [False, True, None],
    "items.n.any.2": [True, False, None],
    "n.any.2.5": [True, False, None],
    "n.any.1": [True, False, None],
}


@pytest.mark.parametrize("reader", NESTED)
def test_an_attribute_says_whether_a_list_has_an_element(reader: str, source: Callable[[str, Rows], Any]) -> None:
    for name, expected in ELEMENTS.items():
        for flag in (True, False):
            rows = [n for n, one in enumerate(expected) if one is flag]
            text = f'A FILTER A."{name}" = {str(flag).lower()}'
            assert [m.at for m in cerify.match(text, source(reader, LISTED))] == rows, name
    in_order = as_stream(source(reader, LISTED), sort=True)
    assert [m.at for m in cerify.match('A FILTER A."tags.any.new" = true', in_order)] == [1]
    clause = 'MATCH_RECOGNIZE (PARTITION BY "user" PATTERN (P Q) DEFINE P AS "tags.any.sale" AND "tags.count" = 2)'
    assert [m.events for m in cerify.match(clause, source(reader, LISTED), language="row-pattern")] == [(0, 2)]
    with pytest.raises(InputError, match=r"'tags\.any\.x' says whether x is one of them"):
        cerify.match("A FILTER A.tags = 'new'", source(reader, LISTED))
    attributes = '{"user": "string", "time": "int", "tags.any.new": "bool", "items.sku.any.x2": "bool"}'
    schema = read_schema(f'{{"A": {attributes}, "B": {attributes}}}')
    declared = as_stream(source(reader, LISTED), schema=schema)
    assert [event.get("items.sku.any.x2") for event in declared] == [False, True, None]
    assert [event.get("tags.any.new") for event in declared] == [True, False, None]


NO_ELEMENTS = {
    "items.any.x1": "items.sku.any.x1",
    "items.nn.any.2": "items.n.any.2",
    "tags.x.any.new": "tags.any.new",
    "tag.any.new": "tags.any.new",
}
NAMING = {
    "cel": 'A FILTER A."{}" = false',
    "core-cel": '(A AS x) FILTER x."{}" = false',
    "sase": """PATTERN SEQ(A a) WHERE skip_till_any_match(a) {{ a."{}" = false }} RETURN a.user""",
    "eql": "A where `{}` == false",
    "row-pattern": 'MATCH_RECOGNIZE (PATTERN (P) DEFINE P AS NOT "{}")',
}


@pytest.mark.parametrize("reader", NESTED)
@pytest.mark.slow
def test_what_no_element_can_be_is_no_attribute(reader: str, source: Callable[[str, Rows], Any]) -> None:
    """Such a condition was false for all events, silently."""
    for name, meant in NO_ELEMENTS.items():
        for language, text in NAMING.items():
            with pytest.raises(IllFormed, match=rf"'{re.escape(name)}'.*did you mean .?{re.escape(meant)}"):
                cerify.match(text.format(name), source(reader, LISTED), language=language, strict=True)
        S = as_stream(source(reader, LISTED))
        with pytest.raises(IllFormed, match=f"no event has the attribute '{name}'; did you mean '{meant}'"):
            cerify.match("A", S).to_arrow(S, [name])
        with pytest.warns(QueryWarning, match=f"no event has the attribute '{name}'.*did you mean \"{meant}\""):
            cerify.funnel(source(reader, LISTED), [f'A["{name}" = true]'], by="user")
    lists = {"x": [{"a": {"b": 1}, "c": [2], "d": [{"e": 1}]}], "y": [[1]], "z": [3], "v": [{"d": [[1]]}]}
    reasons = {
        "x": r"'x\.FIELD\.any\.x' says whether an element has x as its FIELD \(a\.b, c\)",
        "y": "'y.count'",
        "z": r"'z\.any\.x' says whether x is one of them",
        "v": "'v.count'",
    }
    for name, reason in reasons.items():
        with pytest.raises(InputError, match=rf"{reason}$"):
            cerify.match(f"A FILTER A.{name} = 1", source(reader, [{"type": "A"} | lists]))
    empty = source(reader, [{"type": "A", "tags": []}, {"type": "A", "tags": ["new"]}])
    assert [m.at for m in cerify.match('A FILTER A."tags.any.old" = false', empty, strict=True)] == [0, 1]


@pytest.mark.parametrize("reader", NESTED)
@pytest.mark.slow
def test_elements_are_asked_for_by_columns_and_funnels(reader: str, source: Callable[[str, Rows], Any]) -> None:
    """These said that no event had the attribute."""
    S = as_stream(source(reader, LISTED))
    (*found, _) = cerify.match("A OR B", S).to_arrow(S, ["user", "items.sku.any.x3"]).to_pylist()
    assert [row["A.items.sku.any.x3"] for row in found] == [False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        funnels = [
            cerify.funnel(source(reader, LISTED), ['A["tags.any.sale" = true]', "B"], by="user", order="stream"),
            cerify.funnel(source(reader, LISTED), ["A", "B"], by="tags.any.sale", order="stream"),
        ]
    assert [[count.keys for count in funnel.counts] for funnel in funnels] == [[1, 1], [2, 0]]


@pytest.mark.parametrize("language", NAMING)
@pytest.mark.parametrize("reader", ["table", "parquet"])
@pytest.mark.slow
def test_no_evaluator_needs_what_a_query_does_not_name(
    language: str, reader: str, source: Callable[[str, Rows], Any]
) -> None:
    rows = [row | {"lasted": timedelta(seconds=1), "f": False} for row in LISTED]
    for evaluator in LANGUAGES[language].evaluators:
        try:
            found = cerify.match(
                NAMING[language].format("f"), source(reader, rows), language=language, evaluator=evaluator
            )
        except Unsupported:
            continue
        assert [m.at for m in found] == [0, 1, 2][: 3 if language == "row-pattern" else 2]


def test_elements_of_several_files_and_of_single_values(tmp_path: Path) -> None:
    one = _file(tmp_path, "1.jsonl", '{"type": "A", "tags": "new"}\n{"type": "A", "tags": ["old", "new"]}\n')
    two = _file(tmp_path, "2.jsonl", '{"type": "A"}\n{"type": "A", "tags": ["old", true]}\n')
    for text, rows in (("new", [0, 1]), ("old", [1, 3]), ("true", [3])):
        assert [m.at for m in cerify.match(f'A FILTER A."tags.any.{text}" = true', as_stream([one, two]))] == rows
    E = cerify.compile('A FILTER A."tags.any.new" = true')
    assert [m.at for row in ({"tags": ["new"]}, {"tags": ["old"]}) for m in E.push([{"type": "A", **row}])] == [0]


def test_objects_are_nested_only_so_deep() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(InputError, match="more than 64 deep"):
        Stream([{"type": "A", "x": deep}])
    with pytest.raises(InputError, match="more than 10,000 attributes"):
        Stream([{"type": "A", "x": {str(i): i for i in range(10_001)}}])


def test_a_type_in_a_list_of_one_is_a_type() -> None:
    """As the Elastic Common Schema writes categories."""
    (event,) = as_stream([{"event": {"category": ["process"]}}], type_column="event.category")
    assert event.type == "process"


# --- the two halves of the rule ---------------------------------------------------------------------------------------

TEXTS = st.sampled_from([
    "2024-01-31", "2024-01-31T10:00Z", "2024-01-31 10:00:00", "2024-01-31T10:00:00.123456+02:00", "2024-01-31T10",
    "2024-02-30", "2024-01-31T10:00:00,5Z", "2024-01-31T10:00:00.1234567Z", "2024-01-31T10:00:00.1234567891Z",
    "1600-01-01", "10:00", "2024", "x",
    "2024-01-31T10:00:00z", "2024-01-31t10:00:00Z", "2024-01-31T10:00:00-0130",
])  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([1541000542, 1541000542290, 1541000542290123, 1541000542290123456, 0, 7]),
)
FLOATS = st.one_of(st.floats(allow_nan=True), st.sampled_from([1541000542.25, 1541000542290.5, 0.1]))


@given(st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
@pytest.mark.slow
def test_texts_are_times_to_arrow_where_they_are_to_python(texts: list[str | None]) -> None:
    column = pa.chunked_array([pa.array(texts, pa.string())])
    try:
        expected = times_of_texts(texts) if are_date_times(texts) else texts
    except BadTime:
        with pytest.raises(InputError):
            times_if_text(column, "x", str)
        return
    found = times_if_text(column, "x", str)
    assert (
        Stream.from_table(pa.table({"type": ["A"] * len(texts), "x": found})).events
        == Stream([Event("A", {} if value is None else {"x": value}) for value in expected]).events
    )


@pytest.mark.thorough
@given(
    st.one_of(*(st.lists(st.one_of(st.none(), some), min_size=1, max_size=4) for some in (NUMBERS, FLOATS, TEXTS))),
    st.sampled_from([None, "s", "ms", "us", "ns"]),
    st.booleans(),
)
@settings(max_examples=1000, deadline=None)
@pytest.mark.slow
def test_the_column_of_the_time_is_to_arrow_what_it_is_to_python(values: list[Any], unit: Any, cut: bool) -> None:
    how = TimeReading(unit, None, cut)
    column = pa.chunked_array([pa.array(values)])
    try:
        expected, note = times_of_column(values, "time", how)
    except BadTime as error:
        with pytest.raises(InputError, match=f"^{error.row}, field 'time': "):
            times_in_column(column, "time", how, str)
        return
    found, noted = times_in_column(column, "time", how, str)
    assert noted == note
    if not pa.types.is_null(found.type):
        shown = Stream.from_table(pa.table({"type": ["A"] * len(values), "time": found}))
        assert [event.get("time") for event in shown] == expected
        assert found.type in VALUE_TYPES


@pytest.mark.parametrize(("unit", "per"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_units_are_told_apart_by_their_years(unit: Any, per: int) -> None:
    for year in (1990, 2024, 2099):
        second = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
        assert unit_of(second * per, second * per) == unit
        assert time_of_number(second * per, unit) == datetime(year, 1, 1, tzinfo=UTC)
    assert unit_of(631_152_000 * per - 1, 631_152_000 * per) == "s"
    assert unit_of(4_102_444_800 * per, 4_102_444_800 * per) == "s"
    assert Fraction(per) == Fraction(10) ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]


def test_a_file_is_read_as_the_options_say(tmp_path: Path) -> None:
    path = _file(tmp_path, "e.jsonl", '{"type": "A", "time": 1541000542290, "x": "2024-01-01"}\n')
    assert read_stream(path, time_unit="ms", texts=frozenset({"x"}))[0].get("x") == "2024-01-01"


# ---- observed ----
# The schema that a stream shows, by columns and by events.

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
        assert Schema(by_events.types) == Schema.from_events(S)


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
