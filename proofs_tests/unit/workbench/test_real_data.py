"""What people do with matches of real data: tables, open matches, counting, a look at a file, queries as data."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import cerify
from cerify.cli import cerify as command
from cerify.commands.schema import summarized
from cerify.conformance.cases import tree_of
from cerify.languages import LANGUAGES
from cerify.query_json import query_of_json
from cerify.semantics.errors import IllFormed, InputError, InputWarning, QueryWarning
from cerify.semantics.events import Event, Stream
from cerify.semantics.files import read_stream
from cerify.semantics.match_frames import MatchColumns, written_table
from cerify.semantics.readings import Reading

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run() -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(command, arguments, standalone_mode=False)
        if isinstance(result.exception, cerify.CerifyError):
            return 2, result.stdout, result.exception.message
        assert result.exception is None, result.exception
        return result.return_value, result.stdout, result.stderr

    return run


ROWS = [
    {"type": "login", "uid": "u1", "time": 0, "price": 1.5},
    {"type": "login", "uid": "u2", "time": 10},
    {"type": "buy", "uid": "u2", "time": 20, "price": 3.0},
    {"type": "login", "uid": "u3", "time": 100},
]
ABSENCE = "PATTERN SEQ(login a, ~buy b) WHERE [uid] WITHIN 50 seconds RETURN a.uid AS who"

SIGMA_COUNT = """name: t
title: t
logsource: {category: x}
detection: {s: {a: 1}, condition: s}
---
title: two
correlation: {type: event_count, rules: [t], timespan: 1m, condition: {gte: 2}}
"""

# --- open matches -----------------------------------------------------------------------------------------------------


def test_a_match_whose_negation_may_still_come_is_open() -> None:
    found = cerify.match(ABSENCE, ROWS, language="sase")
    assert [(m.events, is_open) for m, is_open in zip(found, found.open or (), strict=True)] == [
        ((0,), False),
        ((3,), True),
    ]
    assert cerify.match(ABSENCE, ROWS, language="sase", reading=Reading(stream_end="waits")).open is None
    assert [m.events for m in cerify.match(ABSENCE, ROWS, language="sase", reading=Reading(stream_end="waits"))] == [
        (0,)
    ]
    over = cerify.match(ABSENCE, [*ROWS, {"type": "x", "uid": "u9", "time": 150}], language="sase")
    assert len(over) == 2
    assert over.open is None
    assert cerify.match("PATTERN SEQ(login a, buy b)", ROWS, language="sase").open is None
    closed = cerify.match(
        ABSENCE, [*ROWS, {"type": "x", "uid": "u9", "time": 150}], language="sase", reading=Reading(window="closed")
    )
    assert closed.open == [False, True]


def test_open_is_what_the_other_reading_waits_for() -> None:
    """Exactly the open matches are none where the end of the stream waits for events to come."""
    rows = [{"type": "AB"[i * 7 % 3 == 0], "k": i % 2, "time": i * i % 37} for i in range(20)]
    start = datetime(2024, 1, 1, tzinfo=UTC)
    for events in (rows, [{**row, "time": start + timedelta(seconds=int(str(row["time"])))} for row in rows]):
        for width in (3, 10, 30):
            text = f"PATTERN SEQ(A a, ~B b) WHERE [k] WITHIN {width} seconds"
            stops = cerify.match(text, events, language="sase")
            waits = cerify.match(text, events, language="sase", reading=Reading(stream_end="waits"))
            assert [m for m, is_open in zip(stops, stops.open or [False] * len(stops), strict=True) if not is_open] == [
                *waits
            ]


def test_open_matches_are_marked_on_the_command_line(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "e.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    lines = [
        json.loads(line) for line in run("match", ABSENCE, str(file), "--language", "sase", "--json")[1].splitlines()
    ]
    assert [line.get("open") for line in lines] == [None, True]
    assert "open" in run("match", ABSENCE, str(file), "--language", "sase")[1]
    assert "open" not in run("match", "PATTERN SEQ(login a, buy b)", str(file), "--language", "sase")[1]


def test_the_protocol_has_no_open_matches() -> None:

    found = cerify.match(ABSENCE, ROWS, language="sase")
    assert all("open" not in match.json() for match in found)


@pytest.mark.parametrize(
    ("language", "text"),
    [("sase", "PATTERN SEQ(login a, ~logout b) WHERE [uid] WITHIN 5 seconds"), ("cel", "(login ; buy) UNLESS logout")],
)
def test_an_unknown_type_is_no_warning_where_it_is_negated(language: str, text: str, recwarn: Any) -> None:
    cerify.match(text, ROWS, language=language)
    assert not [warning for warning in recwarn if issubclass(warning.category, QueryWarning)]
    with pytest.warns(QueryWarning, match="unknown event type logout"):
        cerify.match("login ; logout", ROWS)


def test_events_without_the_key_of_a_single_component_are_told(recwarn: pytest.WarningsRecorder) -> None:
    """28 rows without a user were matches of a query that asks for one user."""
    rows = [*ROWS, {"type": "login", "time": 101}]
    with pytest.warns(QueryWarning, match=r"events of login without uid match too, such as event 4 \(1 in all\)"):
        found = cerify.match(ABSENCE, rows, language="sase")
    assert (4,) in [m.events for m in found]
    mended = ABSENCE.replace("[uid]", "[uid] and a.uid = a.uid")
    assert (4,) not in [m.events for m in cerify.match(mended, rows, language="sase")]
    assert not recwarn.list


# --- tables -----------------------------------------------------------------------------------------------------------


def test_matches_have_the_attributes_of_their_variables() -> None:
    S = Stream(ROWS)
    found = cerify.match("(login IN L ; buy IN P) FILTER L.uid = P.uid", S, output="valuations")
    assert found.to_arrow(S, ["uid", "price"]).to_pylist() == [
        {"at": 2, "events": [1, 2], "L.uid": "u2", "login.uid": "u2", "P.uid": "u2", "buy.uid": "u2", "P.price": 3.0,
         "buy.price": 3.0},
    ]  # fmt: skip
    plain = cerify.match("login ; login ; buy", S)
    assert plain.to_arrow(S, ["uid"]).to_pylist() == [
        {"at": 2, "events": [0, 1, 2], "login.uid": ["u1", "u2"], "buy.uid": "u2"}
    ]
    assert plain.to_arrow(S, ["type"]).column_names == ["at", "events", "login.type", "buy.type"]
    with pytest.raises(IllFormed, match="no event has the attribute 'pric'; did you mean 'price'"):
        plain.to_arrow(S, ["pric"])


TIME = pa.timestamp("us", tz="UTC")
TYPED = {
    "type": pa.array(["A", "B", "A.b", "B", "A", "A.b", "B"]),
    "b.c": pa.array([None, 1, 2, None, 3, 4, 5]),
    "c": pa.array(["x", None, 'a "b", c', "z\n", "x", "z\n", None]).dictionary_encode(),
    "f": pa.array([0.0, -0.0, 1.5, None, 1e300, -0.0, 2.0]),
    "t": pa.array([None, 0, 10**6, 1, None, 7, 8], TIME),
    "ns": pa.array([1, 2001, None, None, 5, 6, 7], pa.timestamp("ns", tz="UTC")),
    "ok": pa.array([True, None, False, None, None, True, None]),
    "nothing": pa.nulls(7, pa.int64()),
}


@pytest.mark.parametrize("query", ["A ; B", "A ; B+", "A OR (B ; B)", '(A OR "A.b") ; B', "Z ; A"])
@pytest.mark.parametrize("attributes", [None, ["c", "type"], ["ns"]])
def test_matches_that_are_arrays_have_the_columns_of_objects(
    query: str, attributes: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cerify.semantics.match_frames.ROWS_TOGETHER", 2)
    S = Stream(pa.table(TYPED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cerify.match(query, S, evaluator="kernel")
        readable = cerify.match(query, Stream(pa.table(TYPED)), evaluator="automaton")
    assert found.arrays is not None
    assert (len(found) > 0) is (query != "Z ; A")
    tables = found.to_arrow(), found.to_arrow(S, attributes)
    columns = MatchColumns(found, S, attributes).columns()
    written = [written_table(columns, format) for format in ("csv", "jsonl")]
    assert found.arrays is not None
    assert tables == (readable.to_arrow(), readable.to_arrow(S, attributes))
    listed = MatchColumns(list(readable), S, attributes).columns()
    assert written == [written_table(listed, format) for format in ("csv", "jsonl")]
    assert found == readable == list(readable)
    assert found[-1:] == list(readable)[-1:]
    assert found.arrays is None


def test_results_are_columns() -> None:
    S = Stream(ROWS)
    found = cerify.match(ABSENCE, S, language="sase")
    table = found.to_arrow(S, ["time"])
    assert table.column_names == ["at", "events", "a.time", "who", "open"]
    assert table.to_pylist()[1] == {"at": 3, "events": [3], "a.time": 100, "who": "u3", "open": True}


def test_frames_of_pandas_and_polars() -> None:
    S = Stream(ROWS)
    found = cerify.match("login ; buy", S, output="valuations")
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas(S, ["uid"])
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["buy.uid"]) == ["u2", "u2"]


def test_a_frame_of_polars() -> None:
    pytest.importorskip("polars")
    S = Stream(ROWS)
    found = cerify.match("login ; buy", S, output="valuations")
    assert found.to_polars(S, ["uid"])["buy.uid"].to_list() == ["u2", "u2"]
    assert found.to_polars()["bindings"].to_list()[0] == [
        {"variable": "buy", "positions": [2]},
        {"variable": "login", "positions": [0]},
    ]


@pytest.mark.parametrize("output", ["matches", "valuations"])
def test_a_table_takes_what_match_took(output: Any, tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    file, frame = tmp_path / "log.jsonl", pandas.DataFrame(ROWS)
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    for events in (frame, polars.DataFrame(ROWS), pa.Table.from_pylist(ROWS), ROWS, [*Stream(ROWS)], file, str(file)):
        found = cerify.match("login ; buy", events, output=output)
        assert found.to_arrow(events, ["uid"])["buy.uid"].to_pylist() == ["u2", "u2"]
        assert list(found.to_pandas(events)["buy.uid"]) == ["u2", "u2"]
        assert found.to_polars(events)["buy.uid"].to_list() == ["u2", "u2"]
    with pytest.raises(InputError, match="not 7"):
        found.to_pandas(7)  # type: ignore[arg-type]


def test_positions_are_rows_and_no_labels() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    frame = frame[frame["uid"] != "u1"]
    (match,) = cerify.match("login ; buy", frame)
    assert list(frame.iloc[list(match.events)]["uid"]) == ["u2", "u2"]


def test_a_limit_in_python() -> None:
    assert len(cerify.match("login ; login", ROWS, limit=2)) == 2
    with pytest.raises(IllFormed, match="limit: expected a whole number of at least 1"):
        cerify.match("login", ROWS, limit=0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_attributes_are_shown(file: Path, run: Run) -> None:
    status, out, _ = run("match", "login ; buy", str(file), "--show", "uid,price")
    assert status == 0
    assert "login.uid" in out
    assert "buy.price" in out
    status, out, _ = run("match", "login ; buy", str(file), "--show", "uid", "--json", "--limit", "1")
    assert json.loads(out)["shown"] == {"login.uid": "u2", "buy.uid": "u2"}
    assert run("match", "login", str(file), "--show", "uidd")[0] == 2


@pytest.mark.parametrize("name", ["m.csv", "m.parquet", "m.jsonl"])
def test_matches_are_written_to_a_file(name: str, file: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / name
    status, _, said = run("match", "login ; buy", str(file), "-o", str(out), "--show", "uid,price")
    assert (status, said) == (0, f"2 matches written to {out}\n")
    if name == "m.csv":
        rows = list(csv.DictReader(out.open()))
        assert rows[0] == {"at": "2", "events": "[1, 2]", "login.uid": "u2", "buy.uid": "u2", "login.price": "",
                           "buy.price": "3.0"}  # fmt: skip
    elif name == "m.parquet":
        assert pq.read_table(out).to_pylist()[0]["buy.price"] == 3.0
    else:
        assert json.loads(out.read_text().splitlines()[0])["buy.uid"] == "u2"


def test_the_table_of_a_clause_is_written_to_a_file(file: Path, tmp_path: Path, run: Run) -> None:
    out, clause = tmp_path / "m.csv", "MATCH_RECOGNIZE (MEASURES A.uid AS u PATTERN (A) DEFINE A AS uid = 'u2')"
    assert run("match", clause, str(file), "--language", "row-pattern", "--output", "rows", "-o", str(out))[0] == 0
    assert out.read_text() == "u\nu2\nu2\n"


def test_many_matches_are_not_printed_without_a_word(file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cerify.commands.match.MOST_LINES", 2)
    _, out, said = run("match", "login", str(file), "--json")
    assert out.count("\n") == 2
    assert "the first 2 matches; there are more: --limit N prints N" in said
    assert run("match", "login", str(file), "--json", "--limit", "3")[1].count("\n") == 3


def test_matches_are_counted(file: Path, run: Run) -> None:
    assert run("count", "login ; login", str(file)) == (0, "3\n", "")
    assert run("count", "buy ; login", str(file), str(file), "--json")[1] == '{"count": 5}\n'
    assert run("count", "buy ; buy", str(file))[:2] == (1, "0\n")


def test_commands_take_the_clause_of_a_select(file: Path, run: Run) -> None:
    text = "SELECT a FROM t MATCH_RECOGNIZE (ORDER BY time MEASURES A.uid AS a PATTERN (A B)) WHERE a = 'u9'"
    for name, printed in (("count", "2\n"), ("explain", "is match 2 of its partition")):
        status, out, err = run(name, text, str(file), "--language", "row-pattern")
        assert (status, printed in out) == (0, True)
        assert "before the rest of SELECT" in err
    assert run("match", text, str(file), "--language", "row-pattern")[0] == 1


@pytest.mark.parametrize("command", ["match", "count", "explain", "misses", "simplify", "translate", "check", "draw"])
def test_a_rule_may_be_a_file(command: str, file: Path, tmp_path: Path, run: Run) -> None:
    more = {"simplify": [], "check": [], "translate": ["--to", "cel"], "draw": ["--svg"]}.get(command, [str(file)])
    other = tmp_path / "other.toml"
    other.write_text("[rule]\nname = 'x'\n", encoding="utf-8")
    for name, message in ((tmp_path / "missing.eql", "no file"), (other, "the file has no query of a rule")):
        status, _, err = run(command, str(name), *more)
        assert (status, message in err) == (2, True)
    rule = tmp_path / "rule.eql"
    rule.write_text('sequence [login where uid == "u2"] [buy where true]', encoding="utf-8")
    status, out, err = run(command, str(rule), *more)
    expected = {"misses": "1 of these goes on", "draw": "no automaton to draw", "count": "1\n"}
    assert expected.get(command, "") in out + err
    assert "not expected here" not in err


@pytest.mark.parametrize("window", ["1 minute", "1 [price]"])
def test_matches_are_counted_where_a_window_needs_no_order(window: str, tmp_path: Path, run: Run) -> None:
    """`count` refused values that go back, of which `match` has the matches."""
    file = tmp_path / "e.csv"
    file.write_text("type,time,price\na,3,5\nb,1,4\na,2,4\nb,4,9\na,1000,1\nb,990,2\n")
    text = f"(a ; b) WITHIN {window}"
    found = len(cerify.match(text, file, evaluator="denotational"))
    assert found == {"1 minute": 4, "1 [price]": 2}[window]
    _, out, err = run("count", text, str(file))
    assert out == f"{found}\n"
    assert ("the time goes back from 3 of event 0 to 1 of event 1" if "min" in window else "is less than before") in err
    assert len(run("match", text, str(file), "--json")[1].splitlines()) == found


@pytest.mark.parametrize("columnar", [True, False])
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("cel", "A ; B WITHIN 1 minute"),
        ("cel", "A ; B WITHIN 60 [time]"),
        ("sase", "PATTERN SEQ(A a, B b) WITHIN 1 minute"),
        ("eql", "sequence with maxspan=1m [A where true] [B where true]"),
        ("eql", "sequence [A where true] [B where true]"),
        ("sigma", SIGMA_COUNT),
        ("cel", "A ; B WITHIN 3 EVENTS"),  # needs no time
    ],
)
def test_a_window_over_times_that_go_back_warns(language: str, text: str, columnar: bool) -> None:
    events = [{"type": "B", "time": 60}, {"type": "x", "time": 200}, {"type": "A", "time": 30}]
    for rows, says in ((events, "WITHIN 3" not in text), (sorted(events, key=lambda e: e["time"]), False)):
        S = cerify.as_stream(rows)
        S = cerify.Stream.from_table(S.table) if columnar else S
        for run_ in (cerify.match, cerify.count):
            with warnings.catch_warnings(record=True) as issued:
                warnings.simplefilter("always", QueryWarning)
                run_(text, S, language=language)
            back = [one for one in issued if "the time goes back from 200 of event 1 to 30 of" in str(one.message)]
            assert len(back) == says


@pytest.mark.parametrize(
    ("cells", "kind"),
    [("007 7", "string"), ("-07.5 1", "string"), ("0 7", "int"), ("0.5 1e5", "float")],
)
@pytest.mark.parametrize("rows", [1, 20000])
def test_ids_with_leading_zeros_are_texts(cells: str, kind: str, rows: int, tmp_path: Path) -> None:
    """007 and 7 were one user; small files are read in Python, large ones by Arrow."""
    (file := tmp_path / "e.csv").write_text("type,time,u\n" + "".join(f"A,07,{c}\n" for c in cells.split()) * rows)
    assert cerify.observed(S := cerify.as_stream(file)).types["A"]["u"] == kind
    assert S[0].get("time") == 7
    asked = cerify.Schema({"A": {"u": "float"}})
    assert cerify.as_stream(file, schema=asked)[0].get("u") == float(cells.split()[0])


def test_output_columns_have_different_names(file: Path, run: Run) -> None:
    text = "MATCH_RECOGNIZE (ORDER BY time MEASURES FIRST(time) AS {} ALL ROWS PER MATCH PATTERN (A+))"
    found = run("match", text.format("time"), str(file), "--language", "row-pattern", "--output", "rows")
    assert "the output has the columns time 2 times; give one of them another name" in found[2]
    found = run("match", text.format("UID"), str(file), "--language", "row-pattern", "--output", "rows")
    assert "the output has two columns UID: a measure, and uid of the table" in found[2]


@pytest.mark.parametrize(
    ("language", "text", "message"),
    [
        ("cel", "A ; B LIMIT DURATION 5 minutes", "write WITHIN 5 minutes"),
        ("row-pattern", "MATCH_RECOGNIZE (PATTERN (A . B))", "for any row write a variable without a condition"),
        ("row-pattern", "MATCH_RECOGNIZE (LIMIT DURATION 5 PATTERN (A B))", "write LIMIT DURATION(minute, 5)"),
    ],
)
def test_no_advice_changes_the_query(language: str, text: str, message: str) -> None:
    with pytest.raises(cerify.ParseError) as caught:
        cerify.parse(text, language)
    if language == "cel":
        with pytest.raises(cerify.ParseError, match=message):
            cerify.match(text, ROWS)
    else:
        assert message in caught.value.message
        assert "leave it out" not in caught.value.message


# --- a look at a file -------------------------------------------------------------------------------------------------


def test_a_file_is_summarized(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "shop.csv"
    rows = [f"{'view' if i % 3 else 'buy'},u{i % 4},{1711778400000 + i * 1000},{i}.5\n" for i in range(12)]
    file.write_text("action,user,ts,price\n" + "".join(rows))
    out = json.loads(run("schema", str(file), "--json")[1])
    assert out["events"] == 12
    assert out["attributes"]["user"] == {"kind": "string", "present": 12, "distinct": 4, "min": "u0", "max": "u3"}
    assert out["suggestions"] == ["--type action", "--time ts", "--time-unit ms"]
    zeek = tmp_path / "conn.jsonl"
    zeek.write_text('{"_path": "conn", "date": "2024/3/1 9:30", "proto": "tcp"}\n' * 2)
    out = json.loads(run("schema", str(zeek), "--json")[1])
    assert out["suggestions"] == ["--type _path", "--time date", "--time-format '%Y/%m/%d %H:%M'"]
    for name, low, option in (
        ("time ms", 0, "--time 'time ms' --time-unit ms"),
        ("Timestamp (us)", 0, "--time 'Timestamp (us)' --time-unit us"),
        ("event_time", 0, "--time event_time"),
        ("time_ns", 1711778400000, "--time time_ns --time-unit ms"),  # what the numbers say wins
        ("items", 0, ""),
    ):
        zeek.write_text("".join(f'{{"type": "A", "{name}": {low + n}}}\n' for n in range(2)))
        assert " ".join(json.loads(run("schema", str(zeek), "--json")[1])["suggestions"]) == option
    zeek.write_text('{"type": "A", "time ms": 5}\n')
    advice = "--time 'time ms' --time-unit ms, in Python time_column='time ms', time_unit='ms'"
    assert advice in run("match", "A WITHIN 2 seconds", str(zeek))[2]
    status, text, _ = run("schema", str(file), "--type", "action", "--time", "ts", "--time-unit", "ms")
    assert status == 0
    assert "a key?" in text
    assert "the time?" in text
    schema = run("schema", str(file), "--type", "action", "--as-schema")[1]
    assert json.loads(schema)["buy"] == {"user": "string", "ts": "int", "price": "float"}


def test_what_may_be_meant_is_named(tmp_path: Path, run: Run) -> None:
    """Of a log of process mining `--type case:department --time case:deadline` was said; of days of a month, --time."""
    file = tmp_path / "e.csv"
    rows = [f"{d},T{d},2024-03-0{d},2024-03-0{d}T10:00:00Z" for d in (1, 2, 1, 2)]
    file.write_text("\n".join(["case:group,concept:name,case:deadline,time:timestamp", *rows]) + "\n")
    assert "--type concept:name --time time:timestamp" in run("schema", str(file))[1]
    file.write_text("userIdentity.type,eventName\nRoot,Get\nUser,List\n")
    assert "--type eventName" in run("schema", str(file))[1]
    assert run("count", "b ; d", str(file), "--header", "x, type")[1] == "0\n"
    file.write_text("Date,EventId\n1,E1\n2,E2\n1,E1\n")
    assert "that may help: --type EventId\n" in run("schema", str(file))[1]


def test_kinds_that_are_mixed_are_said_to_be_mixed() -> None:
    summary = summarized(Stream([{"type": "A", "x": 1}, {"type": "A", "x": "a"}]))
    assert summary.attributes["x"].json() == {"kind": "mixed", "present": 2, "distinct": 2, "min": 1, "max": 1}


# --- queries as data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["cel", "core-cel", "sase", "event-expression", "row-pattern"])
def test_the_json_of_a_tree_is_read_back(language: str) -> None:
    for seed in range(150):
        query, _ = cerify.generate(language, seed=seed)
        data = json.loads(json.dumps(tree_of(query)))
        assert cerify.parse(data, language) == query
        assert LANGUAGES[language].syntax.show(query_of_json(data, language)) == LANGUAGES[language].syntax.show(query)


SEQ = {"node": "Seq", "left": {"node": "Event", "type": "login"}, "right": {"node": "Event", "type": "buy"}}


def test_a_query_may_be_data(file: Path, tmp_path: Path, run: Run) -> None:
    assert cerify.match(SEQ, ROWS) == cerify.match("login ; buy", ROWS)
    query = tmp_path / "q.json"
    query.write_text(json.dumps(SEQ))
    assert run("match", "--query", str(query), str(file), "--json") == run("match", "login ; buy", str(file), "--json")
    blank = {"node": "Event", "type": 'a "b" c'}
    assert cerify.show(cerify.parse(blank)) == '"a ""b"" c"'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node": "Sec"}, "not the name of a node; did you mean 'Seq'"),
        ({"left": {"node": "Event"}}, r"the query\.left: Event needs the field 'type'"),
        ({"left": {"node": "Event", "type": "A", "tipe": 1}}, r"the query\.left: Event has no field 'tipe'"),
        ({"left": {"node": "Event", "type": 5}}, "a field has a value of a wrong type"),
        ({"left": "A"}, "a field has a value of a wrong type"),
        ({"left": {"node": "Attribute", "name": "x"}}, "a field has a value of a wrong type"),
        ({"left": {"node": "Event", "type": ""}}, "CEL cannot write it"),
    ],
)
def test_data_that_is_no_query_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cerify.parse({**SEQ, **change})


def test_deep_data_is_refused() -> None:
    tree: Any = {"node": "Event", "type": "A"}
    for _ in range(5000):
        tree = {"node": "Plus", "phi": tree}
    with pytest.raises(cerify.BudgetExceeded):
        cerify.parse(tree)


def test_semicolons_and_decimal_commas_under_a_header_with_commas_at_its_end(tmp_path: Path, run: Run) -> None:
    """Spreadsheets write commas for columns without a name; the file was one column of text."""
    file = tmp_path / "e.csv"
    file.write_text("Date time;Temp;Flow,,\r\n01/09/2020 12:00;8,51;86,2\r\n01/09/2020 12:01;8;86\r\n")
    with pytest.warns(InputWarning, match="read with decimal commas: Temp, Flow"):
        S = read_stream(file, default_type="reading", time_column="Date time", time_format="%d/%m/%Y %H:%M")
    assert S[0] == Event("reading", {"time": datetime(2020, 9, 1, 12, tzinfo=UTC), "Temp": 8.51, "Flow": 86.2})
    how = ("--default-type", "reading", "--time", "Date time", "--time-format", "%d/%m/%Y %H:%M")
    assert run("count", "reading ; reading WITHIN 1 minute", str(file), *how)[1] == "1\n"
    _, _, message = run("count", "reading", str(file))
    assert "give all events one type by --default-type" in message


def test_only_lists_of_objects_are_suggested_as_records(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "e.json"
    file.write_text('{"tags": ["a"], "events": [{"type": "A"}], "n": 1}')
    _, printed, _ = run("schema", str(file))
    assert "--records events" in printed
    assert "--records tags" not in printed


def test_explanations_show_nanoseconds(tmp_path: Path, run: Run) -> None:
    """Numbers of seconds with a fraction of a microsecond could not be formatted."""
    file = tmp_path / "e.jsonl"
    times = ("10:00:00.000000001Z", "10:00:00.5Z", "10:00:02.000000002Z")
    rows = ({"type": type_, "time": f"2024-03-01T{time}"} for type_, time in zip("ABC", times, strict=True))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "2.000000001 seconds apart" in run("misses", "A ; C WITHIN 2 seconds", str(file))[1]
    sequence = "sequence with maxspan=2s [A where true] [B where true] [C where true]"
    asked = ("explain", sequence, str(file), "--language", "eql", "--match", "0,1,2")
    assert "is too late by 0.000000001 s" in run(*asked)[1]
    assert "by 0.000000001 s" in run("misses", sequence, str(file), "--language", "eql")[1]
    shown = run("match", "A ; C", str(file), "--show", "time", "-o", str(tmp_path / "o.csv"))
    assert "2024-03-01T10:00:00.000000001Z,2024-03-01T10:00:02.000000002Z" in (tmp_path / "o.csv").read_text(), shown
