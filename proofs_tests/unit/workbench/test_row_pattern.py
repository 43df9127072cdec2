"""MATCH_RECOGNIZE through the API, the command line and the protocol."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner

import cerify
from cerify import cli, protocol
from cerify.api import check, compile, count, explain, generate
from cerify.commands import match as command
from cerify.commands.engine import answered
from cerify.explanations.row_pattern import RowRejection
from cerify.languages import LANGUAGES
from cerify.languages.language import Options
from cerify.plan import Want, plan
from cerify.protocol import EngineInfo
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    IllFormed,
    InputError,
    ParseError,
    QueryWarning,
    Unsupported,
)
from cerify.semantics.events import Schema, Stream
from cerify.semantics.match_frames import table_of_columns
from cerify.semantics.readings import RowReading
from cerify.semantics.row_pattern.dialects import DIALECTS, dialect_named
from cerify.semantics.row_pattern.interpreter import RowOutput, find_matches
from cerify.semantics.row_pattern.parse import Duration, parse
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.show_dialects import show_in_dialect, show_statement
from cerify.semantics.row_pattern.statement import is_statement, parse_statement
from cerify.semantics.row_pattern.syntax import MatchRecognize, show
from cerify.statements import SQLGLOT, read_pasted, read_sqlglot, select, write_sqlglot
from proofs_tests.conftest import Run

# ---- row pattern ----
#

LANGUAGE = "row-pattern"
QUERY = """MATCH_RECOGNIZE (PARTITION BY k MEASURES LAST(DOWN.x) AS bottom, MATCH_NUMBER() AS n
    PATTERN (STRT DOWN+ UP) DEFINE DOWN AS x < PREV(x), UP AS x > PREV(x))"""
CONTEXT = "MATCH_RECOGNIZE (PATTERN (A+ B) DEFINE B AS x > FIRST(A.x))"
TABLE = [{"k": k, "x": x} for k, x in (("b", 3), ("a", 5), ("b", 1), ("a", 2), ("b", 2), ("a", 1), ("a", 4))]
CSV = "k,x\n" + "".join(f"{row['k']},{row['x']}\n" for row in TABLE)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "table.csv"
    path.write_text(CSV)
    return str(path)


def test_matches_come_partition_by_partition() -> None:
    for evaluator in (None, *LANGUAGES[LANGUAGE].evaluators):
        found = cerify.match(QUERY, TABLE, language=LANGUAGE, evaluator=evaluator)
        assert [(m.at, m.events) for m in found] == [(4, (0, 2, 4)), (6, (1, 3, 5, 6))]
        assert found[1].bindings == (("DOWN", (3, 5)), ("STRT", (1,)), ("UP", (6,)))
        assert found[1].result is not None
        assert found[1].result.attributes == {"bottom": 1, "n": 1}
        assert isinstance(found[1], NumberedMatch)


def test_what_the_loops_do_not_carry_is_refused_with_the_reason() -> None:
    language = LANGUAGES[LANGUAGE]
    for query in (QUERY, CONTEXT):
        assert plan(language, language.syntax.parse(query)).evaluator == "automaton"
    assert plan(language, language.syntax.parse(QUERY), want=Want(evaluator="kernel")).evaluator == "kernel"
    made = plan(language, language.syntax.parse(CONTEXT), want=Want(evaluator="kernel"))
    assert made.evaluator is None
    assert "depends on the match so far" in made.why_not["kernel"].message
    with pytest.raises(Unsupported, match="the condition of B depends on"):
        cerify.match(CONTEXT, TABLE, language=LANGUAGE, evaluator="kernel")
    with pytest.raises(IllFormed, match="no evaluator 'loops'"):
        plan(language, language.syntax.parse(QUERY), want=Want(evaluator="loops"))


def test_a_clause_that_breaks_a_rule_is_refused_before_it_runs() -> None:
    with pytest.raises(IllFormed, match="the variable C is not in the pattern"):
        cerify.match("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS C.x > 1)", TABLE, language=LANGUAGE)
    with pytest.warns(QueryWarning, match="no column 'y'"):
        cerify.match("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS y > 1)", TABLE, language=LANGUAGE)
    S = Stream([{"type": "row", "x": 1}], Schema({"row": {"x": "int"}}))
    with pytest.raises(IllFormed, match="x is a number, but a string is expected"):
        cerify.match("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x LIKE 'a')", S, language=LANGUAGE)


def test_rows_need_no_type_in_this_language_alone() -> None:
    with pytest.raises(InputError, match="no field 'type'"):
        cerify.match("A", TABLE)
    typed = [{"type": "tick", **row} for row in TABLE]
    query = "MATCH_RECOGNIZE (MEASURES type AS t PATTERN (A) DEFINE A AS type = 'tick' AND x = 5)"
    assert [m.events for m in cerify.match(query, typed, language=LANGUAGE)] == [(1,)]


def test_another_reading_is_followed_by_the_definition(run: Run, file: str) -> None:
    query = "MATCH_RECOGNIZE (ORDER BY x PATTERN (A B $) DEFINE B AS x IS NULL)"
    table, low = [{"x": 1}, {"k": "a"}], RowReading(nulls="low")
    assert [m.events for m in cerify.match(query, table, language=LANGUAGE)] == [(0, 1)]
    assert cerify.match(query, table, language=LANGUAGE, row_reading=low) == []
    language = LANGUAGES[LANGUAGE]
    made = plan(language, language.syntax.parse(query), want=Want(Options(row_reading=low)))
    assert made.evaluator == "denotational"
    assert "supports readings other than the default" in made.why_not["automaton"].message
    skip = "MATCH_RECOGNIZE (AFTER MATCH SKIP TO A PATTERN (A B?) DEFINE B AS x < 0)"
    assert run("match", skip, file, "--language", LANGUAGE)[0] == 2
    assert run("match", skip, file, "--language", LANGUAGE, "--reading", "skip_to_first=next_row")[0] == 0
    status, _, err = run("match", skip, file, "--language", LANGUAGE, "--reading", "window=closed")
    assert (status, "a reading has no question 'window'" in err) == (2, True)
    status, _, err = run("match", "A", file, "--type", "k", "--reading", "window=closed")
    assert (status, "CEL has no readings: leave out --reading window=closed" in err) == (2, True)


def test_what_has_no_effect_is_said() -> None:
    known = check("MATCH_RECOGNIZE (PATTERN ((A | A B) | C*? $) DEFINE A AS x > 1)", language=LANGUAGE)
    assert known.fragment["never_taken"] == ["A B"]
    assert known.fragment["reluctant_without_effect"] == ["C*?"]
    assert "no match has a row of A B: wherever it could, a preferred alternative matches" in known.summary
    assert "C*? may as well be greedy: the matches are the same" in known.summary
    large = check("MATCH_RECOGNIZE (PATTERN (A{3000}?))", language=LANGUAGE)
    assert large.fragment["reluctant_without_effect"] == []


def test_count_and_batches() -> None:
    assert count(QUERY, TABLE, language=LANGUAGE) == 2
    made = compile(QUERY, language=LANGUAGE)
    assert made.push(TABLE[:3]) == made.push(TABLE[3:]) == []
    assert made.finish() == sorted(cerify.match(QUERY, TABLE, language=LANGUAGE))


def test_a_random_case_is_one_of_the_language() -> None:
    query, S = generate(LANGUAGE, seed=3)
    assert LANGUAGES[LANGUAGE].syntax.parse(LANGUAGES[LANGUAGE].syntax.show(query)) == query
    assert len(S) <= 10


def test_check_names_divisions_of_whole_numbers() -> None:
    condition = "(B.x - A.x) / A.x < -0.08 AND y / A.x > x % 2"
    text = f"MATCH_RECOGNIZE (MEASURES B.y / 2 AS h PATTERN (A B) DEFINE B AS {condition})"
    known = check(text, Schema({"row": {"x": "int", "y": "float"}}), language=LANGUAGE)
    assert known.fragment["whole_divisions"] == ["(B.x - A.x) / A.x"]
    assert "(B.x - A.x) / A.x is a whole number, because its operands are: CAST one AS DOUBLE" in known.summary
    assert check(text, language=LANGUAGE).fragment["whole_divisions"] == []


def test_check() -> None:
    known = check(QUERY, language=LANGUAGE)
    assert known.fragment["variables"] == ["STRT", "DOWN", "UP"]
    assert (known.fragment["may_be_empty"], known.fragment["columns_only"], known.problems) == (False, True, [])
    schema = Schema({"row": {"k": "string", "x": "string"}})
    assert check(QUERY, schema, language=LANGUAGE).problems == []  # strings have an order
    assert [p.rule for p in check(CONTEXT.replace("A.x", "A.z"), schema, language=LANGUAGE).problems] == ["attribute"]


def test_the_command_lists_matches_and_rows(run: Run, file: str) -> None:
    _, out, _ = run("match", QUERY, file, "--language", LANGUAGE, "--json")
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "at": 4,
            "events": [0, 2, 4],
            "bindings": {"DOWN": [2], "STRT": [0], "UP": [4]},
            "result": {"bottom": 1, "n": 1},
            "match_number": 1,
        },
        {
            "at": 6,
            "events": [1, 3, 5, 6],
            "bindings": {"DOWN": [3, 5], "STRT": [1], "UP": [6]},
            "result": {"bottom": 1, "n": 1},
            "match_number": 1,
        },
    ]
    _, out, _ = run("match", QUERY, file, "--language", LANGUAGE, "--output", "rows", "--json")
    assert json.loads(out) == {"columns": ["k", "bottom", "n"], "rows": [["b", 1, 1], ["a", 1, 1]]}
    _, out, _ = run("match", QUERY, file, "--language", LANGUAGE, "--output", "rows")
    assert [line.split() for line in out.splitlines() if "─" not in line and line.strip()] == [
        ["k", "bottom", "n"], ["b", "1", "1"], ["a", "1", "1"], ["2", "rows"],
    ]  # fmt: skip
    nothing = "MATCH_RECOGNIZE (ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A) DEFINE A AS x > 9)"
    status, out, _ = run("match", nothing, file, "--language", LANGUAGE, "--output", "rows", "--limit", "1")
    assert (status, "7 rows, of which the first 1 are shown" in out) == (0, True)
    assert run("match", nothing, file, "--language", LANGUAGE)[0] == 1


def test_a_table_may_have_no_columns(run: Run, file: str) -> None:
    assert (
        run("match", "MATCH_RECOGNIZE (PATTERN (A))", file, "--language", LANGUAGE, "--output", "rows")[1] == "7 rows\n"
    )


def test_other_languages_make_no_table(run: Run, file: str) -> None:
    """No evaluator changes that, so that none is named."""
    status, _, err = run("match", "A", file, "--type", "k", "--output", "rows")
    assert status == 2
    assert err.startswith("cerify: a query in CEL makes no table; leave --output rows out\n")


def ask(query: str, output: str) -> object:
    message = {"cmd": "run", "id": "1", "language": LANGUAGE, "query": query, "events": TABLE, "output": output}
    language = LANGUAGES[LANGUAGE]
    served = {LANGUAGE: lambda q, S, options: plan(language, q, S.schema, Want(options)).all_matches(S)}
    given = answered(protocol.line(message).encode(), EngineInfo("x", "1", [LANGUAGE]), served)
    assert given is not None
    return given


def test_an_engine_answers_with_matches_or_rows() -> None:
    shown = ask(QUERY, "rows")
    assert shown == {"id": "1", "columns": ["k", "bottom", "n"], "rows": [["b", 1, 1], ["a", 1, 1]]}
    answer = ask(QUERY, "matches")
    assert isinstance(answer, dict)
    read = protocol.answer_of_json(protocol.parse_message(protocol.line(answer), "answer"), "valuations", len(TABLE))
    assert isinstance(read, protocol.MatchesAnswer)
    assert list(read.matches) == sorted(cerify.match(QUERY, TABLE, language=LANGUAGE))
    assert read.problem == ""


def test_a_match_keeps_its_number_and_the_order_of_its_rows_on_the_wire() -> None:
    text = "MATCH_RECOGNIZE (ORDER BY x DESC PATTERN (^ A B C))"
    sent = [m.json() for m in LANGUAGES[LANGUAGE].evaluators.matches(
        LANGUAGES[LANGUAGE].syntax.parse(text), Stream({"type": "row", **row} for row in TABLE), options=Options()
    )]  # fmt: skip
    assert [(one["events"], one["match_number"]) for one in sent] == [([1, 6, 0], 1)]
    assert [m.json() for m in protocol.matches_of_json(sent, "valuations")] == sent


PRICES = [{"price": price} for price in (12, 17, 11, 9, 14, 15, 8)]
RUNS = """MATCH_RECOGNIZE (PATTERN ((UP | DOWN)+ TOP)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price), TOP AS price > 13)"""


def test_explain_says_why_each_row_has_its_label() -> None:
    found = explain(RUNS, PRICES, [1, 2, 3, 4, 5], language=LANGUAGE)
    assert [(row.place, row.label) for row in found.rows] == [*enumerate(["UP", "DOWN", "DOWN", "UP", "TOP"], 1)]
    assert found.rows[1].why == "price < PREV(price), where price is 11, PREV(price) is 17"
    assert found.rows[1].preferred == ("UP is preferred, but its condition is false",)
    assert found.rows[4].preferred == (
        "UP is preferred and fits, but no match continues from there (1 more row at most)",
        "DOWN is preferred, but its condition is false",
    )
    greedy = explain("MATCH_RECOGNIZE (PATTERN (A{2}? B?))", PRICES[:1] * 3, [0, 1, 2], language=LANGUAGE)
    assert [row.why for row in greedy.rows] == ["it has no condition"] * 3


SUMMED = "MATCH_RECOGNIZE (PATTERN (A+) DEFINE A AS SUM(A.price) < 30)"
FOLLOWED = "MATCH_RECOGNIZE (PATTERN (A+ B) DEFINE A AS price < 14, B AS price > 20)"
NULLS = [{"price": 1}, {"x": 0}]


@pytest.mark.parametrize(
    ("query", "events", "reasons"),
    [
        (RUNS, [0, 1], [
            "no match begins at row 0: 0 rows can be labelled there at most",
            "row 0 is not UP: price > PREV(price) is unknown, where price is 12, PREV(price) is NULL",
            "row 0 is not DOWN: price < PREV(price) is unknown, where price is 12, PREV(price) is NULL",
        ]),
        (RUNS, [5, 6], [
            "no match begins at row 5: 2 rows can be labelled there at most, UP DOWN",
            "there is no row for UP: the partition ends",
            "there is no row for DOWN: the partition ends",
            "there is no row for TOP: the partition ends",
        ]),
        (RUNS, [1, 2], ["the rows can be labelled UP DOWN, but after row 2 the pattern needs UP or DOWN or TOP"]),
        (RUNS, [1, 2, 3, 4], [
            "the match that begins at row 1 is another: UP DOWN DOWN UP TOP comes before UP DOWN DOWN TOP "
            "in the order of preference"
        ]),
        (RUNS, [2, 3, 4], [
            "no search begins at row 2: it is in match 1, rows 1 to 5, and AFTER MATCH SKIP goes on after it "
            "(there would be DOWN DOWN UP TOP)"
        ]),
        (RUNS, [1, 3], ["a match is of consecutive rows, and row 2 is between row 1 and row 3"]),
        (SUMMED, [0, 1, 2], [
            "only 2 of the 3 rows can be labelled: A A",
            "row 2 is not A: SUM(A.price) < 30 is false, where SUM(A.price) is 40",
        ]),
        (FOLLOWED, [2, 3], [
            "no match begins at row 2: 2 rows can be labelled there at most, A A",
            "row 4 is not A: price < 14 is false, where price is 14",
            "row 4 is not B: price > 20 is false, where price is 14",
        ]),
        ("MATCH_RECOGNIZE (PATTERN (A B))", [0, 1, 2], [
            "only 2 of the 3 rows can be labelled: A B",
            "row 2 has no label: the pattern ends before it",
        ]),
        ("MATCH_RECOGNIZE (PATTERN (A | B C) DEFINE C AS B.price > 20)", [0, 1], [
            "only 1 of the 2 rows can be labelled: A",
            "after B row 1 is not C: B.price > 20 is false, where B.price is 12",
        ]),
        ("MATCH_RECOGNIZE (PATTERN (A{5} $))", [0], [
            "no match begins at row 0: 5 rows can be labelled there at most, A{5}",
            "$ is false before row 5: the partition does not end there",
        ]),
        ("MATCH_RECOGNIZE (ORDER BY price PATTERN (A ^))", [6], [
            "no match begins at row 6: 1 row can be labelled there at most, A",
            "^ is false before row 3: the partition does not begin there",
        ]),
        ("MATCH_RECOGNIZE (PARTITION BY price PATTERN (A))", [0, 1], [
            "the rows are of several partitions: row 1 is not in the partition of row 0"
        ]),
        ("WINDOW (ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A+))", [0, 1, 2], [
            "only 2 of the 3 rows can be labelled: A A", "there is no row for A: the frame ends",
        ]),
        ("WINDOW (ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A+))", [0, 1], [
            "the match that begins at row 0 is another: A A A comes before A A in the order of preference"
        ]),
    ],
)  # fmt: skip
def test_explain_says_why_rows_are_no_match(query: str, events: list[int], reasons: list[str]) -> None:
    found = explain(query, PRICES, events, language=LANGUAGE)
    assert list(found.reasons) == reasons
    assert all(set(m.events) != set(events) for m in found.near)


def test_explain_of_rows_at_a_row() -> None:
    """Where rows are reported can be what is in the way."""
    query = "MATCH_RECOGNIZE (PATTERN (A B))"
    known = explain(query, PRICES, [0, 1], at=0, language=LANGUAGE)
    assert known.reasons == ("a match is reported at its last row, here row 1, and not at row 0",)
    window = "WINDOW (ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING {}PATTERN (A A) DEFINE A AS price > 11)"
    initial, seek = window.format(""), window.format("SEEK ")
    reasons = [explain(q, PRICES, [4, 5], at=at, language=LANGUAGE).reasons for q, at in ((initial, 3), (seek, 0))]
    assert reasons == [
        ("a match in the window of row 3 begins there; with SEEK it may begin later",),
        ("row 4 is not in the frame of row 0",),
    ]
    known = explain(seek, PRICES, [1, 2], at=0, language=LANGUAGE)
    assert known.reasons[1] == "row 2 is not A: price > 11 is false, where price is 11"
    free = "WINDOW (ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING SEEK PATTERN (A A))"
    known = explain(free, PRICES, [1, 2], at=0, language=LANGUAGE)
    assert known.reasons == ("the match in the window of row 0 begins at row 0",)
    empty = explain("MATCH_RECOGNIZE (PATTERN (A))", PRICES, [], at=2, language=LANGUAGE)
    assert empty.reasons == ("the pattern needs A",)


def test_explain_names_null_as_the_reason() -> None:
    known = explain("MATCH_RECOGNIZE (PATTERN (A+) DEFINE A AS NOT (price > 5))", NULLS, [0, 1], language=LANGUAGE)
    assert known.reasons[1] == "row 1 is not A: NOT price > 5 is unknown, where price is NULL"


def test_explain_does_not_guess_whether_rows_can_be_labelled() -> None:
    """The match is found at once; that no labelling has six rows takes a look at each of the 64 of six rows."""
    S = Stream({"type": "row", **row} for row in PRICES)
    q = LANGUAGES[LANGUAGE].syntax.parse("MATCH_RECOGNIZE (PATTERN ((A | B){7}))")
    assert isinstance(q, MatchRecognize)
    made = RowRejection(RowOutput(q, S), sorted(find_matches(q, S)))
    found = made.reasons(frozenset(range(6)), None)
    assert found == ("the rows can be labelled A{6}, but after row 5 the pattern needs A or B",)
    (reason,) = replace(made, budget=Budget(valuations=60)).reasons(frozenset(range(6)), None)
    known = "the match that begins at row 0 is another: A{7}; whether these rows can be labelled is not known: "
    assert reason.startswith(known)


def test_explain_without_a_match_says_where_the_search_comes_farthest(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("price\n" + "".join(f"{row['price']}\n" for row in PRICES))
    reasons = [
        "no match begins at row 2: 2 rows can be labelled there at most, A A",
        "row 4 is not A: price < 14 is false, where price is 14",
        "row 4 is not B: price > 20 is false, where price is 14",
    ]
    asked = ("explain", FOLLOWED, str(path), "--language", LANGUAGE)
    page = tmp_path / "page.html"
    status, out, _ = run(*asked, "--html", str(page))
    assert (status, [line.strip() for line in out.splitlines() if line.startswith("  ")]) == (1, reasons)
    assert "after events 0 to 6: no match" in out
    assert "row 4 is not B: price &gt; 20 is false, where price is 14" in page.read_text()
    answer = json.loads(run(*asked, "--json")[1])
    assert (answer["matches"], answer["reasons"]) == ([], reasons)
    assert "reasons" not in json.loads(run("explain", RUNS, str(path), "--language", LANGUAGE, "--json")[1])
    path.write_text("price\n")
    assert run(*asked)[0] == 1


def test_explain_on_the_command_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("price\n" + "".join(f"{row['price']}\n" for row in PRICES))
    status, out, _ = run("explain", RUNS, str(path), "--language", LANGUAGE)
    assert status == 0
    assert "row 2 is DOWN: price < PREV(price), where price is 11, PREV(price) is 17" in out
    status, out, _ = run("explain", RUNS, str(path), "--language", LANGUAGE, "--match", "1,2,3,4,5", "--json")
    assert (json.loads(out)["match_number"], json.loads(out)["rows"][4]["variable"]) == (1, "TOP")
    status, out, _ = run("explain", RUNS, str(path), "--language", LANGUAGE, "--match", "0,1", "--json")
    assert (status, json.loads(out)["match"], json.loads(out)["nearest"]) == (
        1, False, [{"events": [1, 2, 3, 4, 5], "at": 5}],
    )  # fmt: skip
    empty = "MATCH_RECOGNIZE (PATTERN (B?) DEFINE B AS price > 13)"
    status, out, _ = run("explain", empty, str(path), "--language", LANGUAGE)
    assert "{} is empty match 1 of its partition, reported at 0" in out
    with pytest.raises(InputError, match="an empty match needs --at"):
        explain(empty, PRICES, [], language=LANGUAGE)
    assert explain(empty, PRICES, [], at=0, language=LANGUAGE).match.match_number == 1
    with pytest.raises(Unsupported, match="only the rows of a match can be explained"):
        explain(empty, PRICES, valuation={"B": [1]}, language=LANGUAGE)


# ---- row table ----
# The output table of MATCH_RECOGNIZE from Python, and the time limit of the command.

OUTPUT_TABLE = [{"sym": sym, "price": price} for sym in "AB" for price in (3, 2, 5)]
FALLS = "PARTITION BY sym MEASURES LAST(U.price) AS top PATTERN (D U) DEFINE D AS price < PREV(price)"


@pytest.mark.parametrize("evaluator", [None, "denotational", "automaton"])
def test_the_table_has_the_partition_and_the_measures(evaluator: str | None) -> None:
    table = cerify.match(
        f"MATCH_RECOGNIZE ({FALLS})", OUTPUT_TABLE, language="row-pattern", output="rows", evaluator=evaluator
    )
    assert table.columns == ("sym", "top")
    assert table.rows == (("A", 5), ("B", 5))


def test_rows_without_a_match_are_in_the_table() -> None:
    rows = "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A) DEFINE A AS x > 1"
    q = f"MATCH_RECOGNIZE (MEASURES CLASSIFIER() AS label {rows})"
    table = cerify.match(q, [{"x": 1}, {"x": 2}], language="row-pattern", output="rows")
    assert table.rows == ((None, 1), ("A", 2))
    frame = table.to_pandas().astype(object)  # in pandas 3 a column of texts has NaN for what is missing
    assert frame.where(frame.notna(), None).to_dict("list") == {"label": [None, "A"], "x": [1, 2]}


def test_other_languages_have_no_table() -> None:
    with pytest.raises(Unsupported, match="makes no table"):
        cerify.match("A", [cerify.Event("A")], output="rows")


def test_the_command_stops_after_its_time(tmp_path: Path) -> None:
    """The search would remember two million failures, which takes minutes."""
    file = tmp_path / "x.csv"
    file.write_text("x\n" + "1\n2\n" * 30, encoding="utf-8")
    define = "DEFINE A AS SUM(A.x) < 1000000, B AS SUM(B.x) <> 3, C AS SUM(A.x) = 77777"
    query = f"MATCH_RECOGNIZE (PATTERN ((A | B)* C) {define})"
    arguments = [query, str(file), "--language", "row-pattern", "--time-limit", "0.2"]
    with pytest.raises(BudgetExceeded, match=r"takes more than 0\.2 seconds.*--time-limit"):
        CliRunner().invoke(command.match_command, arguments, catch_exceptions=False, standalone_mode=False)


@pytest.mark.parametrize(
    ("test", "rows"),
    [
        ("b IS TRUE", [0]),
        ("b IS NOT TRUE", [1, 2]),
        ("b IS FALSE", [1]),
        ("b IS NOT FALSE", [0, 2]),
        ("b IS UNKNOWN", [2]),
        ("b IS NOT UNKNOWN", [0, 1]),
        ("x > 1 IS TRUE", [1]),
    ],
)
def test_truth_is_tested_of_what_is_unknown(test: str, rows: list[int]) -> None:
    table = [{"b": True, "x": 1}, {"b": False, "x": 2}, {"x": None}]
    query = f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {test})"
    assert [match.at for match in cerify.match(query, table, language="row-pattern")] == rows


def test_the_time_is_looked_at_among_the_matches_of_one_event(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("type,x\n" + "A,1\n" * 25, encoding="utf-8")  # 16,777,216 matches at the last event
    arguments = ["(A AS x)+", str(file), "--language", "core-cel", "--time-limit", "0.2", "--json"]
    with pytest.raises(BudgetExceeded, match="takes more than"):
        CliRunner().invoke(command.match_command, arguments, catch_exceptions=False, standalone_mode=False)


# ---- statements ----
# SELECT statements around MATCH_RECOGNIZE: what they give, and what is refused with its place.

STATEMENTS_PRICES = [{"sym": "a", "day": i, "price": p} for i, p in enumerate([12, 10, 8, 11, 15, 14, 9, 13])]
STATEMENTS_PRICES += [{"sym": "b", "day": i, "price": p} for i, p in enumerate([5, 3, 4])]
CLAUSE = """MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY day  -- the days, in ORDER
    MEASURES A.day AS first_day, LAST(UP.day) AS last_day /* ) */, MATCH_NUMBER() AS n
    AFTER MATCH SKIP TO LAST UP
    PATTERN (A DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""


@pytest.mark.parametrize(
    ("statement", "columns", "rows"),
    [
        ("SELECT * FROM t {}", ("sym", "first_day", "last_day", "n"), (("a", 0, 4, 1), ("a", 4, 7, 2), ("b", 0, 2, 1))),
        ("select m.N, SYM from db.t {} as m order by first_day desc, m.sym;", ("n", "sym"),
         ((2, "a"), (1, "a"), (1, "b"))),
        ("SELECT last_day - first_day AS days FROM t {} m WHERE n = 1 ORDER BY days", ("days",), ((2,), (4,))),
        ("SELECT last_day - first_day days, sym s FROM t {} ORDER BY s DESC LIMIT 1", ("days", "s"), ((2, "b"),)),
        ("SELECT n, sym FROM t {} ORDER BY 2 DESC, 1 DESC", ("n", "sym"), ((1, "b"), (2, "a"), (1, "a"))),
        ("SELECT n FROM t {} WHERE sym <> 'x WHERE, ''FROM' AND n > 1", ("n",), ((2,),)),
        ("SELECT m.*, n + 1 FROM t {} AS m FETCH FIRST 1 ROW ONLY", ("sym", "first_day", "last_day", "n", "n + 1"),
         (("a", 0, 4, 1, 2),)),
        ("SELECT CASE WHEN n > 1 THEN 'x' ELSE NULL END AS c FROM t {} ORDER BY c NULLS FIRST, sym", ("c",),
         ((None,), (None,), ("x",))),
        ("SELECT CASE WHEN n > 1 THEN 'x' ELSE NULL END AS c FROM t {} ORDER BY c DESC LIMIT 1", ("c",), ((None,),)),
        ("SELECT sym FROM t {} WHERE NULLIF(n, 1) = 2", ("sym",), (("a",),)),
        ("SELECT NOT n FROM t {} WHERE sym = 'b'", ("NOT n",), ((None,),)),
        ("SELECT sym FROM t {} WHERE NULLIF(n, 1) > 5 OR n IS NULL", ("sym",), ()),
        ("SELECT sym, n FROM (SELECT * FROM t WHERE sym <> 'a') {}", ("sym", "n"), (("b", 1),)),
        ("SELECT sym, n FROM (SELECT sym || '!' AS sym, day, 20 - price AS price FROM t) AS u {} m", ("sym", "n"),
         (("a!", 1),)),
        ("SELECT n FROM (SELECT * FROM (SELECT * FROM t ORDER BY day LIMIT 3) AS u WHERE sym = 'b') {}", ("n",), ()),
        ("WITH few AS (SELECT * FROM t WHERE day < 5), b AS (SELECT * FROM few f WHERE f.sym = 'a') SELECT * FROM b {}",
         ("sym", "first_day", "last_day", "n"), (("a", 0, 4, 1),)),
        ("SELECT COUNT(*), COUNT(DISTINCT sym) AS s, MAX(n) - 1 AS m FROM t {} WHERE first_day = 0 ORDER BY s LIMIT 1",
         ("COUNT(*)", "s", "m"), ((2, 2, 0),)),
        ("SELECT COUNT(*) AS k, SUM(n) AS s, LISTAGG(sym, '-') AS l FROM t {} WHERE n > 9", ("k", "s", "l"),
         ((0, None, None),)),
        ("SELECT sym FROM t {} WHERE n IS NOT DISTINCT FROM 2", ("sym",), (("a",),)),
    ],
)  # fmt: skip
def test_what_a_statement_gives(statement: str, columns: tuple[str, ...], rows: tuple[object, ...]) -> None:
    made = select(statement.format(CLAUSE), STATEMENTS_PRICES)
    assert (made.columns, made.rows) == (columns, rows)


@pytest.mark.parametrize(
    ("statement", "kind", "message", "place"),
    [
        ("SELECT * FROM t JOIN u {}", Unsupported, "JOIN is not supported", "JOIN"),
        ("SELECT sym FROM t {} GROUP BY sym", Unsupported, "GROUP BY is not supported", "GROUP BY"),
        ("SELECT * FROM (SELECT x AS y) {}", IllFormed, "no column x", "x"),
        ("SELECT * FROM (VALUES (1), (2, 3)) AS t (x) {}", ParseError, "the first has 1", "2, 3"),
        ("SELECT * FROM (VALUES (1, 2)) AS t (x) {}", ParseError, "1 names, and a row has 2", " AS t (x)"),
        ("SELECT * FROM (VALUES 1) AS t (x) {}", ParseError, "rows after VALUES in parentheses", None),
        ("SELECT * FROM (SELECT * FROM t UNION SELECT * FROM t) {}", Unsupported, "without ALL", "UNION"),
        (
            "SELECT * FROM (SELECT 1 AS a UNION ALL SELECT 2, 3) {}",
            IllFormed,
            "before UNION ALL has 1 columns, and the one after it 2",
            None,
        ),
        ("SELECT * FROM (SELECT sym FROM t GROUP BY sym) {}", Unsupported, "GROUP BY is not supported", "GROUP BY"),
        ("SELECT * FROM (SELECT day - day AS d FROM t WHERE nope = 1) {}", IllFormed, "no column nope", "nope"),
        ("WITH u AS (SELECT * FROM t) SELECT * FROM v {}", Unsupported, "FROM names v", " v"),
        ("WITH u AS (SELECT * FROM t {}) SELECT * FROM u", Unsupported, "is inside WITH", None),
        ("SELECT sym, COUNT(*) FROM t {}", IllFormed, "beside an aggregate of all rows", "sym"),
        ("SELECT *, COUNT(*) FROM t {}", IllFormed, "beside an aggregate of all rows", "COUNT(*)"),
        ("SELECT n FROM t {} WHERE COUNT(*) > 1", Unsupported, "not around the clause", "COUNT(*)"),
        ("SELECT COUNT(*) FROM (SELECT * FROM t {})", Unsupported, "is inside a subquery", "MATCH_RECOGNIZE"),
        ("SELECT TOP 7 sym FROM t {}", Unsupported, "TOP is not supported", "TOP"),
        ("SELECT COUNT(*) FILTER (WHERE n > 1) FROM t {}", Unsupported, "FILTER is not supported", "FILTER"),
        ("SELECT DISTINCT sym FROM t {}", Unsupported, "DISTINCT is not supported", "DISTINCT"),
        ("WITH u AS (t) SELECT * FROM u {}", Unsupported, "SELECT list FROM table", "t"),
        ("SELECT * FROM t, u {}", Unsupported, "two tables", " t, u "),
        ("SELECT * {}", ParseError, "FROM is missing", "SELECT * "),
        ("SELECT * FROM t {} LIMIT 3 WHERE n = 1", ParseError, "in this order", None),
        ("SELECT * FROM t {} WHERE n = 1 WHERE n = 2", ParseError, "each once", None),
        ("SELECT * FROM t {} LIMIT n", ParseError, "whole number of rows", " n"),
        ("SELECT sym, FROM t {}", ParseError, "is missing here", " "),
        ("SELECT nope FROM t {}", IllFormed, "no column nope; it has sym", "nope"),
        ("SELECT x.sym FROM t {} AS m", IllFormed, "not called X; it is m", "x.sym"),
        ("SELECT n FROM t {} ORDER BY 2", IllFormed, "number from 1 to 1", "2"),
        ("SELECT n FROM t {} ORDER BY 'n'", IllFormed, "number from 1 to 1", "'n'"),
        ("SELECT n + FROM t {}", ParseError, "not expected", None),
        ("SELECT FIRST(n) FROM t {}", Unsupported, "not around the clause", "FIRST(n)"),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)", ParseError, "not closed", "("),
        ("SELECT * FROM t", ParseError, "no MATCH_RECOGNIZE", "SELECT * FROM t"),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B) DEFINE C AS price > )", ParseError, "not expected", ")"),
    ],
)
def test_what_is_refused_is_shown_where_it_is(
    statement: str, kind: type[CerifyError], message: str, place: str | None
) -> None:
    text = statement.format(CLAUSE)
    with pytest.raises(kind, match=message) as error:
        select(text, STATEMENTS_PRICES)
    assert error.value.text == text
    assert error.value.span is not None
    if place is not None:
        assert text[error.value.span.start : error.value.span.end] == place


def test_intervals_have_an_order_and_a_measure_may_be_called_events(tmp_path: Path) -> None:
    rows = [
        {"t": datetime(2026, 1, 1, hour, tzinfo=UTC), "u": u} for u, hour in (("a", 1), ("a", 4), ("b", 2), ("b", 3))
    ]
    clause = """MATCH_RECOGNIZE (PARTITION BY u ORDER BY t MEASURES LAST(t) - FIRST(t) AS took, COUNT(*) AS events{}
        PATTERN (A+))"""
    made = select(f"SELECT u, events FROM t {clause.format('')} ORDER BY took", rows)
    assert made.rows == (("b", 2), ("a", 2))
    with pytest.raises(IllFormed, match="lists have no order"):
        select(f"SELECT u FROM t {clause.format(', ARRAY_AGG(u) AS l')} ORDER BY l", rows)
    columns = {name: [row[n] for row in made.rows] for n, name in enumerate(made.columns)}
    assert str(table_of_columns(columns).schema.field("events").type) == "int64"


@pytest.mark.parametrize("table", ["t", "db.t", "prices AS t", 'prices "t"'])
def test_keys_may_have_the_name_of_the_table(table: str) -> None:
    text = (
        f"SELECT * FROM {table} MATCH_RECOGNIZE (PARTITION BY t.sym ORDER BY t.day MEASURES COUNT(*) AS n PATTERN (A+))"
    )
    assert select(text, STATEMENTS_PRICES) == select(
        text.replace("t.sym", "sym").replace("t.day", "day"), STATEMENTS_PRICES
    )
    with pytest.raises(IllFormed, match=r"has no value before a match|no variable|no column"):
        select(text.replace("t.sym", "u.sym"), STATEMENTS_PRICES)


def test_a_statement_is_read_from_a_file_or_after_a_comment(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    statement = "-- first\nSELECT n FROM t MATCH_RECOGNIZE (ORDER BY day MEASURES COUNT(*) AS n PATTERN (A+));"
    (tmp_path / "q.sql").write_text(statement)
    (tmp_path / "t.csv").write_text("day\n1\n2\n")
    for query in (statement, str(tmp_path / "q.sql")):
        arguments = ["cerify", "match", query, str(tmp_path / "t.csv"), "--json", "--language", "row-pattern"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", arguments)
            with pytest.raises(SystemExit):
                cli.main()
        assert json.loads(capfd.readouterr().out) == {"columns": ["n"], "rows": [[2]]}


def test_a_refusal_of_a_dialect_has_its_place_in_the_statement() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY day PATTERN (A | B C) DEFINE A AS price > 3)"
    with pytest.raises(Unsupported, match="Flink SQL does not have alternation") as error:
        read_pasted(text, "flink")
    assert error.value.span is not None
    assert text[error.value.span.start : error.value.span.end] == "A | B C"


def test_a_select_with_a_window() -> None:
    text = """SELECT day, n OVER w AS n FROM t WINDOW w AS (PARTITION BY sym ORDER BY day MEASURES COUNT(*) AS n
        ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A DOWN+) DEFINE DOWN AS price < PREV(price))
        ORDER BY day LIMIT 3"""
    assert select(text, STATEMENTS_PRICES).rows == ((0, 3), (0, 2), (1, None))


HOURS = [{"u": u, "t": datetime(2026, 1, 30, tzinfo=UTC) + timedelta(hours=h), "x": h} for u, h in
         [("a", 0), ("b", 1), ("a", 20), ("a", 60), ("b", 25), ("a", 61)]]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "text", "columns", "rows"),
    [
        ("snowflake", "SELECT * FROM (SELECT * FROM VALUES (1, 5), (2, 3) AS v (day, Price)) {}",
         ("DAY", "PRICE", "l", "N"), ((1, 5, None, 1), (2, 3, 5, 2))),
        ("snowflake", "SELECT * FROM VALUES (1, 5), (2, 3) AS v (day, price) {}",
         ("DAY", "PRICE", "l", "N"), ((1, 5, None, 1), (2, 3, 5, 2))),
        ("oracle",
         "WITH v AS (SELECT 1 AS day, 5 AS price FROM DUAL UNION ALL SELECT 2, 3 FROM DUAL) SELECT * FROM v {}",
         ("DAY", "l", "N", "PRICE"), ((1, None, 1, 5), (2, 5, 2, 3))),
        ("trino", "SELECT l, N FROM (VALUES (2, 3), (1, 5)) AS v (Day, price) {} WHERE n = 2", ("l", "n"), ((5, 2),)),
        ("duckdb", "WITH v(day, price) AS (VALUES (1, 5), (2, 3)) FROM_IT {}", ("day", "l", "N", "price"),
         ((1, None, 1, 5), (2, 5, 2, 3))),
        ("standard", "SELECT l FROM (SELECT * FROM (VALUES (1, 5)) AS v (day, price) UNION ALL VALUES (2, 3)) {}",
         ("l",), ((None,), (5,))),
    ],
)  # fmt: skip
def test_tables_in_the_text(dialect: str, text: str, columns: tuple[str, ...], rows: tuple[object, ...]) -> None:
    """No file is read, and names and order of columns are the dialect's."""
    lag = "LAG" if dialect == "snowflake" else "PREV"
    clause = f"""MATCH_RECOGNIZE (ORDER BY day MEASURES {lag}(price) AS "l", COUNT(*) AS N ALL ROWS PER MATCH
        PATTERN (A+) DEFINE A AS TRUE)"""
    made = select(text.replace("FROM_IT", "SELECT * FROM v").format(clause), dialect=dialect)
    assert (made.columns, made.rows) == (columns, rows)


def test_statements_that_are_nested_too_deeply() -> None:
    queries = ", ".join(f"a{i} AS (SELECT * FROM {f'a{i - 1}' if i else 't'})" for i in range(1200))
    for table in (f"{'(SELECT * FROM ' * 500}t{')' * 500}", f"a{1199}"):
        lead = f"WITH {queries} " if table == "a1199" else ""
        with pytest.raises(BudgetExceeded):
            select(f"{lead}SELECT * FROM {table} MATCH_RECOGNIZE (PATTERN (A))", [{"x": 1}])


def test_a_table_in_the_text_needs_no_file(run: Run, tmp_path: Path) -> None:
    text = "SELECT n FROM (VALUES (1), (2)) AS t (x) MATCH_RECOGNIZE (ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+))"
    assert run("match", text, "--language", "row-pattern", "--json")[1] == '{"columns": ["n"], "rows": [[2]]}\n'
    assert "leave FILE out" in run("match", text, str(tmp_path / "t.csv"), "--language", "row-pattern")[2]
    assert (
        "missing argument"
        in run("match", text.replace("(VALUES (1), (2)) AS t (x)", "t"), "--language", "row-pattern")[2]
    )


@pytest.mark.parametrize(
    "condition",
    [
        "t - PREV(t) <= 1",
        "t <= PREV(t) + 1",
        "(t - PREV(t)) * 24 <= 24",
        "t - PREV(t) BETWEEN 0 AND 1",
        "x - PREV(x) <= 24",
        "NUMTODSINTERVAL(x - PREV(x), 'HOUR') <= 1",
        "(CAST(t AS DATE) - CAST(PREV(t) AS DATE)) * 24 <= 24",
    ],
)
def test_numbers_beside_times_are_days_in_oracle(condition: str) -> None:
    """Sessions with gaps of a day at most, and the day after each."""
    text = f"""SELECT u, n, later FROM t MATCH_RECOGNIZE (PARTITION BY u ORDER BY t MEASURES COUNT(*) AS n,
        LAST(t) + 1 AS later PATTERN (A B*) DEFINE B AS {condition}) ORDER BY u, later"""
    made = select(text, HOURS, dialect="oracle")
    assert [row[:2] for row in made.rows] == [("a", 2), ("a", 2), ("b", 2)]
    assert made.rows[0][2] == datetime(2026, 1, 31, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("dialect", "condition", "where", "found"),
    [
        ("snowflake", "t > '2026-01-31 00:30:00'", "at < '2026-02-01 12:30'", 2),
        ("databricks", "t BETWEEN '2026-01-31' AND '2026-02-01'", "TRUE", 1),
        ("duckdb", "t IN ('2026-01-31 01:00:00', '2026-01-30')", "TRUE", 2),
        ("oracle", "TRUE", "at - at2 < 1 / 1440 AND at2 > TIMESTAMP '2026-02-01 00:00:00'", 2),
        ("trino", "t > '2026-01-31'", "TRUE", "write TIMESTAMP '2026-01-31'"),
        ("trino", "TO_UNIXTIME(t) > TO_UNIXTIME(FROM_ISO8601_TIMESTAMP('2026-02-01T00:00:00Z'))", "TRUE", 2),
        ("snowflake", "DATEDIFF(day, '2026-01-30', t) = 1", "TRUE", 1),
    ],
)
def test_a_text_beside_a_time(dialect: str, condition: str, where: str, found: int | str) -> None:
    text = f"""SELECT at FROM t MATCH_RECOGNIZE (ORDER BY t MEASURES A.t AS at, A.t AS at2 PATTERN (A)
        DEFINE A AS {condition}) WHERE {where}"""
    if isinstance(found, str):
        with pytest.warns(QueryWarning, match=found):
            assert select(text, HOURS, dialect=dialect).rows == ()
    else:
        assert len(select(text, HOURS, dialect=dialect).rows) == found


@pytest.mark.parametrize(
    ("aggregate", "frame", "over"),
    [
        ("AVG(price)", "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", lambda rows, i: fmean(rows)),
        ("AVG(price)", "2 PRECEDING AND 1 PRECEDING", lambda rows, i: fmean(rows[max(i - 2, 0) : i]) if i else None),
        ("MAX(price - 1)", "CURRENT ROW AND 2 FOLLOWING", lambda rows, i: max(rows[i : i + 3]) - 1),
        ("COUNT(*)", "UNBOUNDED PRECEDING AND CURRENT ROW", lambda rows, i: i + 1),
    ],
)
def test_aggregates_over_rows_in_define(aggregate: str, frame: str, over: Callable[[list[int], int], float]) -> None:
    """They are of the rows of the partition, and no column of the output."""
    expected = []
    for sym in "ab":
        prices = [int(str(row["price"])) for row in STATEMENTS_PRICES if row["sym"] == sym]
        bounds = [over(prices, i) for i in range(len(prices))]
        expected += [(sym, i) for i, price in enumerate(prices) if bounds[i] is not None and price > bounds[i]]
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY day ALL ROWS PER MATCH PATTERN (HIGH)
        DEFINE HIGH AS price > {aggregate} OVER ( ROWS BETWEEN {frame} )) ORDER BY sym, day"""
    made = select(text, STATEMENTS_PRICES[::-1], dialect="snowflake")
    assert made.columns == ("SYM", "DAY", "PRICE")
    assert [row[:2] for row in made.rows] == expected
    assert 0 < len(expected) < len(STATEMENTS_PRICES) or aggregate == "COUNT(*)"


def test_explanations_know_the_table(run: Run, tmp_path: Path) -> None:
    """Days beside times, and aggregates with OVER, are those of the rows."""
    table = tmp_path / "t.csv"
    table.write_text("t,x\n2026-01-01,1\n2026-01-02,5\n2026-01-04,9\n")
    row = (str(table), "--language", "row-pattern", "--dialect")
    clause = "MATCH_RECOGNIZE (ORDER BY t PATTERN (A B) DEFINE A AS TRUE, B AS {})"
    assert "{0, 1} is match 1" in run("explain", clause.format("t <= PREV(t) + 1"), *row, "oracle")[1]
    over = clause.format("x >= AVG(x) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)")
    assert 'OVER (UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)" is 5' in run("explain", over, *row, "snowflake")[1]
    checked = run("check", clause.format("t - PREV(t) <= 1"), *row[1:], "oracle", "--schema", str(table))
    assert checked[0] == 0
    assert "no problems" in checked[1]
    assert run("check", over, *row[1:], "snowflake")[0] == 0
    for refused in (("check", over, "--schema", str(table)), ("equiv", over, over), ("vectors", over)):
        assert "AVG(x) OVER (…) needs the rows of a table" in run(*refused, *row[1:], "snowflake")[2]
    translated = run("translate", over, "--dialect", "snowflake", "--to-dialect", "trino")
    assert translated[0] == 1
    assert "Trino has no AVG(x) OVER (…) in DEFINE: compute it as a column" in translated[1]


def test_other_windows_in_define_are_refused() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY day PATTERN (A) DEFINE A AS price > {})"
    for window, message in (("AVG(price) OVER (ORDER BY x)", "ROWS BETWEEN"), ("AVG(A.price) OVER (ROWS BETWEEN 1 "
                            "PRECEDING AND CURRENT ROW)", "not a pattern variable")):  # fmt: skip
        with pytest.raises(Unsupported, match=message) as error:
            read_pasted(clause.format(window), "snowflake")
        assert error.value.span is not None
    with pytest.raises(ParseError, match="OVER is not supported"):
        read_pasted(clause.format("AVG(price) OVER ()"), "trino")


def test_lists_of_structures() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY day MEASURES sym AS s,
        ARRAY_AGG(STRUCT(MATCH_ROW_NUMBER() AS n, CLASSIFIER() AS c, price) ORDER BY price) AS l,
        ARRAY_AGG(MATCH_ROW_NUMBER()) AS ns, ARRAY_AGG(STRUCT(up.day)) AS days
        PATTERN (a up*) DEFINE a AS price < 6, up AS price > PREV(price))"""
    made = select(text, STATEMENTS_PRICES, dialect="bigquery")
    assert made.columns == ("sym", "s", "l", "ns", "days")
    first, last = made.rows
    assert first == ("b", "b", ({"n": 1, "c": "a", "price": 5},), (1,), None)
    assert last[2:] == (
        ({"n": 1, "c": "a", "price": 3}, {"n": 2, "c": "up", "price": 4}), (1, 2), ({"day": 2},)
    )  # fmt: skip
    assert json.loads(json.dumps(made.json()))["rows"][0][2] == [{"n": 1, "c": "a", "price": 5}]


TOLL = [{"booth": booth, "at": datetime(2020, 1, 1, 0, 0, second, tzinfo=UTC), "make": make}
        for booth, second, make in [(1, 0, "x"), (2, 10, "x"), (1, 20, "y"), (1, 30, "x"), (1, 40, "z"), (2, 50, "y")]
]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "duration", "begun"),
    [(20, "open", [30]), (20, "closed", [0, 30]), (40, "open", [0, 30]), (40, "closed", [0, 10, 30])],
)
def test_the_duration_of_azure(seconds: int, duration: Duration, begun: list[int]) -> None:
    """Pairs of a booth are 10, 20 and 40 seconds long, which separates a closed bound from an open one."""
    text = f"""SELECT * INTO out FROM input TIMESTAMP BY at OVER booth MATCH_RECOGNIZE (
        LIMIT DURATION(second, {seconds})
        PARTITION BY booth MEASURES FIRST(A.at) AS begun AFTER MATCH SKIP TO NEXT ROW PATTERN (A .)
        DEFINE A AS make = 'x') AS T"""
    q = read_pasted(text, "azure", duration).clause
    assert sorted(row[1].second for row in cerify.match(q, TOLL, output="rows").rows) == begun


@pytest.mark.parametrize(
    ("clause", "dialect", "kind", "message"),
    [
        ("LIMIT DURATION(minute, 1) PATTERN (A)", "standard", Unsupported, "not part of the standard"),
        ("LIMIT DURATION(month, 1) PATTERN (A)", "azure", ParseError, "unit of time"),
        ("LIMIT DURATION(minute, 1) PATTERN (A)", "azure", Unsupported, "TIMESTAMP BY"),
        ("PATTERN (A . B)", "standard", ParseError, "for any row write a variable"),
        ("PATTERN (A |)", "trino", ParseError, "alternative is missing"),
    ],
)
def test_what_streams_alone_have(clause: str, dialect: str, kind: type[CerifyError], message: str) -> None:
    with pytest.raises(kind, match=message) as error:
        read_pasted(f"MATCH_RECOGNIZE ({clause})", dialect)
    assert error.value.span is not None


@pytest.mark.parametrize(
    ("dialect", "null", "warned"), [("bigquery", True, True), ("bigquery", False, False), ("trino", True, False)]
)
def test_bigquery_passes_over_null(dialect: str, null: bool, warned: bool) -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY o MEASURES LAST(A.x) AS l PATTERN (A+) DEFINE A AS TRUE)"
    table = [{"o": 1, "x": 0}, {"o": 2} if null else {"o": 2, "x": 1}]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert select(text, table, dialect=dialect).rows == ((None if null else 1,),)
    assert ["x is NULL in some rows" in str(one.message) for one in caught] == [True] * warned


class Written:
    """A tree as sqlglot has it, which writes itself in a dialect."""

    def sql(self, dialect: Any = None) -> str:
        return "SELECT m.n FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES COUNT(*) n PATTERN (A) DEFINE A AS x > LAG(x)) m"


def test_a_tree_of_sqlglot_is_read() -> None:
    pasted = read_sqlglot(Written(), "snowflake")
    assert pasted.statement is not None
    assert pasted.clause.define[0].condition == pasted.clause.conditions["A"]
    with pytest.raises(ParseError, match="AS is missing"):
        read_sqlglot(Written(), "trino")
    with pytest.raises(Unsupported, match="does not keep MATCH_RECOGNIZE in databricks"):
        read_sqlglot(Written(), "databricks")


def test_a_tree_of_sqlglot_is_written() -> None:
    pytest.importorskip("sqlglot")
    q = parse("MATCH_RECOGNIZE (ORDER BY x MEASURES FIRST(A.x, 1) AS n PATTERN (A+? B) DEFINE A AS x > PREV(x, 2))")
    for dialect in SQLGLOT:
        tree = write_sqlglot(q, dialect, "log")
        assert replace(read_sqlglot(tree, dialect).clause, order=q.order) == q


def test_a_query_may_be_longer_than_the_name_of_a_file(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x\n1\n")
    query = f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {' OR '.join(['x = 1'] * 60)})"
    assert run("match", query, str(table), "--language", "row-pattern")[0] == 0
    assert run("check", query, "--language", "row-pattern")[0] == 0


def test_commands_read_dialects(run: Run, tmp_path: Path) -> None:
    """The division of Oracle is exact, Trino's is not; the place of NULL is the dialect's."""
    halves = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x / 2 = 0.5)"
    row = "--language", "row-pattern"
    oracle, trino = (*row, "--dialect", "oracle"), (*row, "--dialect", "trino")
    exact = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x * 1.0 / 2 = 0.5)"
    assert run("equiv", halves, exact, *oracle)[0] == 0
    assert run("equiv", halves, exact, *trino, "--dialect-right", "oracle", "--bound", "2")[0] == 1
    assert run("equiv", halves, exact, *trino, "--reading", "integer_division=exact")[0] == 0
    table = tmp_path / "t.csv"
    table.write_text("x\n1\n")
    assert run("explain", halves, str(table), *oracle)[0] == 0
    assert run("explain", halves, str(table), *trino)[0] == 1
    assert "Oracle requires DEFINE" in run("check", "MATCH_RECOGNIZE (PATTERN (A))", *oracle)[2]
    assert "only cerify match supports" in run("check", halves, *row, "--reading", "empty_matches=unnumbered")[2]
    assert "for queries in MATCH_RECOGNIZE" in run("check", "A ; B", "--dialect", "oracle")[2]


def test_two_measures_of_one_name_are_refused() -> None:
    with pytest.raises(CerifyError, match="2 times"):
        select("SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.price AS p, A.day AS p PATTERN (A))", STATEMENTS_PRICES)


def test_what_is_a_statement() -> None:
    assert is_statement("  -- first\n select 1")
    assert is_statement("WITH a AS (SELECT 1) SELECT * FROM a")
    assert not is_statement("MATCH_RECOGNIZE (PATTERN (A))")
    assert parse_statement('SELECT * FROM "a b".c MATCH_RECOGNIZE (PATTERN (A)) "my m"').alias == "my m"


@pytest.mark.parametrize(
    ("dialect", "text", "rows"),
    [
        ("snowflake", "SELECT msq, c FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY day MEASURES "
         "MATCH_SEQUENCE_NUMBER() msq, CLASSIFIER c ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS price < LAG(price)) "
         "WHERE day < 3 LIMIT 2", ((1, "A"), (2, "B"))),
        ("bigquery", "SELECT n FROM t MATCH_RECOGNIZE (PARTITION BY `sym` ORDER BY day MEASURES COUNT(A.day) AS n "
         "PATTERN (A+) DEFINE A AS sym = \"b\")", ((3,),)),
        ("oracle", "SELECT h FROM t MATCH_RECOGNIZE (ORDER BY day MEASURES A.price / 8 AS h PATTERN (A) "
         "DEFINE A AS price = 12)", ((1.5,),)),
        ("trino", "SELECT h FROM t MATCH_RECOGNIZE (ORDER BY day MEASURES A.price / 8 AS h PATTERN (A) "
         "DEFINE A AS price = 12)", ((1,),)),
        ("flink", "SELECT f FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY day MEASURES A.day AS f PATTERN (A B) "
         "DEFINE A AS price < 12, B AS price < 12)", ((1,), (2,), (0,), (1,))),
    ],
)  # fmt: skip
def test_statements_of_dialects(dialect: str, text: str, rows: tuple[object, ...]) -> None:
    assert select(text, STATEMENTS_PRICES, dialect=dialect).rows == rows


@pytest.mark.parametrize(
    ("dialect", "condition", "found"),
    [
        ("standard", r"REGEXP_LIKE(u, '^/b/\d+')", [1, 2]), ("trino", r"REGEXP_LIKE(u, '\d')", [1, 2, 3]),
        ("trino", "REGEXP_LIKE(u, p)", [0, 1]), ("oracle", r"REGEXP_LIKE(u, '^/B/\d+$', 'i')", [1]),
        ("oracle", "NOT REGEXP_LIKE(u, '[0-9]')", [0]), ("snowflake", r"REGEXP_LIKE(u, '/b/\\d+')", [1]),
        ("snowflake", r"u RLIKE $$/b/\d+.*$$", [1, 2]), ("snowflake", "RLIKE(u, '/A', 'i')", [0]),
        ("snowflake", "u NOT REGEXP '/b.*'", [0, 3]), ("snowflake", "u ILIKE '%X'", [2]),
        ("bigquery", r"REGEXP_CONTAINS(u, r'b/\d+$')", [1]), ("bigquery", r'REGEXP_CONTAINS(u, r"\d'"'"'?x")', [2]),
        ("bigquery", r"u = '\x2fa'", [0]), ("duckdb", r"REGEXP_MATCHES(u, '\dX', 'i')", [2]),
        ("duckdb", r"REGEXP_FULL_MATCH(u, '/b/\d+')", [1]), ("flink", r"REGEXP(u, '\d+$')", [1, 3]),
        ("bigquery", r"u LIKE '%\\_'", []), ("databricks", r"u LIKE r'/b\_%'", []),
        ("databricks", "u LIKE '/b_%'", [1, 2]),
        ("databricks", r"u RLIKE '^/b/\\d+$'", [1]), ("databricks", r"REGEXP_LIKE(u, r'\d+$')", [1, 3]),
    ],
)  # fmt: skip
def test_regular_expressions(dialect: str, condition: str, found: list[int]) -> None:
    table = [{"o": i, "u": u, "p": p} for i, (u, p) in enumerate([("/a", "A|a"), ("/b/12", r"\d$"), ("/b/1x", "a"),
                                                                  ("/c/12", None)])]  # fmt: skip
    clause = f"MATCH_RECOGNIZE (ORDER BY o MEASURES MAX(A.o) AS i PATTERN (A) DEFINE A AS {condition})"
    pasted = read_pasted(clause, dialect)
    assert [row[0] for row in select(clause, table, dialect=dialect).rows] == found
    again = show_in_dialect(pasted.clause, dialect_named(dialect), dialect_named(dialect))[0]
    assert [row[0] for row in select(again, table, dialect=dialect).rows] == found


@pytest.mark.parametrize(
    ("dialect", "condition", "found"),
    [
        ("trino", "SUBSTR(u, -3) = '/12'", [0]), ("trino", "SUBSTR(u, -3) = ''", [1]),
        ("oracle", "SUBSTR(u, -3) IS NULL", [1, 2, 3]), ("oracle", "SUBSTR(u, 0, 1) = 'a'", [1]),
        ("snowflake", "SUBSTR(u, -2, 1) = '1'", [0]), ("bigquery", "SUBSTR(u, -3) = 'ab'", [1]),
        ("duckdb", "SUBSTRING(u, -3) = '/12'", [0]), ("databricks", "SUBSTR(u, 0, 1) = 'a'", [1]),
        ("standard", "SUBSTRING(u, -3) = '/12'", []), ("duckdb", "SUBSTRING(u, 0, 1) = ''", [0, 1]),
        ("oracle", "u || 'x' = 'x'", [2, 3]), ("oracle", "u || v = 'y'", [2]), ("oracle", "u || v IS NULL", [3]),
        ("oracle", "CONCAT(u, v) = 'abx'", [1]), ("oracle", "u <> ''", []),
        ("oracle", "COALESCE(u, '') IS NULL", [2, 3]),
        ("oracle", "REPLACE(u, '/', '') = 'shop12'", [0]), ("oracle", "u || v || 'z' = 'z'", [3]),
        ("trino", "u || v = 'abx'", [1]), ("trino", "u <> ''", [0, 1]),
        *((name, "SUBSTR(u, 2, -1) = ''", [0, 1]) for name in ("trino", "snowflake", "databricks")),
        ("oracle", "SUBSTR(u, 2, -1) IS NULL", [0, 1, 2, 3]), ("flink", "SUBSTR(u, 2, -1) = ''", []),
        ("trino", "SUBSTR(u, 0, 2) = ''", [0, 1]), ("flink", "SUBSTR(u, -2, 1) = 'a'", [1]),
        ("flink", "SUBSTR(u, -3) = ''", [1]), ("flink", "SUBSTR(u, 0, 1) = 'a'", [1]),
        ("duckdb", "REPLACE(u, '', 'x') = 'ab'", [1]), ("oracle", "REPLACE(u, '', 'x') = 'ab'", [1]),
    ],
)  # fmt: skip
def test_texts_of_dialects(dialect: str, condition: str, found: list[int]) -> None:
    """A start from the end, NULL in || and the empty text; Oracle's own text is read as the same again."""
    table = [{"o": 0, "u": "/shop/12"}, {"o": 1, "u": "ab", "v": "x"}, {"o": 2, "v": "y"}, {"o": 3}]
    clause = f"MATCH_RECOGNIZE (ORDER BY o MEASURES MAX(A.o) AS i PATTERN (A) DEFINE A AS {condition})"
    assert [row[0] for row in select(clause, table, dialect=dialect).rows] == found
    if "||" in condition or dialect == "oracle":
        q, own = read_pasted(clause, dialect).clause, dialect_named(dialect)
        assert show_in_dialect(q, own, own)[0]
        if dialect == "trino" and "||" in condition:
            with pytest.raises(Unsupported, match=r"in Oracle \|\| passes over NULL"):
                show_in_dialect(q, own, dialect_named("oracle"))


@pytest.mark.parametrize(
    ("dialect", "measure", "text"),
    [
        ("oracle", "TO_CHAR(A.t, 'YYYY-MM-DD HH24:MI:SS')", "2026-03-01 15:05:07"),
        ("oracle", "TO_CHAR(A.t, 'dd-MON-yy hh:mi AM')", "01-MAR-26 03:05 PM"),
        ("oracle", "TO_CHAR(A.t, 'Dy FF3 \"Q\"Q') || TO_CHAR(1)", "Sun 123 Q11"),
        ("oracle", "CAST(TO_CHAR(A.t, 'YYYY-MM-DD') AS VARCHAR2(7))", "2026-03"),
        ("snowflake", "TO_CHAR(A.t, 'DD MON YYYY')", "01 Mar 2026"),
        ("bigquery", "FORMAT_TIMESTAMP('%F %T', MAX(A.t))", "2026-03-01 15:05:07"),
        ("duckdb", "STRFTIME(A.t, '%d.%m.%Y %H:%M')", "01.03.2026 15:05"),
        ("trino", "DATE_FORMAT(A.t, '%Y-%m-%d %H:%i:%s')", "2026-03-01 15:05:07"),
        ("databricks", "DATE_FORMAT(A.t, \"yyyy-MM-dd'T'HH:mm\")", "2026-03-01T15:05"),
        ("flink", "DATE_FORMAT(MATCH_ROWTIME(), 'yyyy-MM-dd')", "2026-03-01"),
    ],
)
def test_times_are_written_in_a_format(dialect: str, measure: str, text: str) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY t MEASURES {measure} AS c PATTERN (A) DEFINE A AS 1 = 1)"
    table = [{"t": datetime(2026, 3, 1, 15, 5, 7, 123000, tzinfo=UTC)}]
    assert select(clause, table, dialect=dialect).rows == ((text,),)
    if dialect in ("oracle", "snowflake"):
        q = read_pasted(clause, dialect).clause
        assert show_in_dialect(q, dialect_named(dialect), dialect_named("oracle"))[0]
        with pytest.raises(Unsupported, match="DuckDB does not have TO_CHAR"):
            show_in_dialect(q, dialect_named(dialect), dialect_named("duckdb"))


@pytest.mark.parametrize(
    ("dialect", "condition", "kind", "message"),
    [
        ("oracle", "TO_CHAR(o, '999.9') = 'a'", Unsupported, "not with 9; CAST"),
        ("trino", "TO_CHAR(o, 'YYYY') = 'a'", Unsupported, "Trino does not have TO_CHAR"),
        ("trino", "DATE_FORMAT(o, '%q') = 'a'", Unsupported, "not with %; CAST"),
        ("flink", "MATCH_PROCTIME() = o", Unsupported, "did you mean MATCH_ROWTIME"),
        ("trino", "REGEXP_LIKE(u, '(?=a)')", Unsupported, "without lookahead"),
        ("oracle", "REGEXP_LIKE(u, 'a', 'q')", Unsupported, "letters of 'icmn'"),
        ("bigquery", r"REGEXP_CONTAINS(u, '\d')", ParseError, r"write \\\\d for a backslash and d, or r'…'"),
        ("bigquery", "REGEXP_LIKE(u, 'a') AND u RLIKE 'a'", Unsupported, r"write REGEXP_CONTAINS\(name, '\^a'\)"),
        (
            "standard",
            "u SIMILAR TO 'a%'",
            Unsupported,
            "SIMILAR TO is not supported in the standard: write REGEXP_LIKE",
        ),
        ("azure", "REGEXP_LIKE(u, 'a')", Unsupported, "does not have REGEXP_LIKE"),
        ("snowflake", "CONTAINS(u, 'a')", Unsupported, "write name LIKE '%a%'"),
        ("oracle", "REGEXP_SUBSTR(u, 'a') = 'a'", Unsupported, "match a text with LIKE or a regular expression"),
    ],
)
def test_regular_expressions_that_are_refused(
    dialect: str, condition: str, kind: type[CerifyError], message: str
) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY o MEASURES COUNT(*) AS i PATTERN (A) DEFINE A AS {condition})"
    with pytest.raises(kind, match=message) as error:
        read_pasted(clause, dialect)
    assert error.value.span is not None
    assert clause[error.value.span.start : error.value.span.end] in condition


def test_texts_and_keys_of_dialects() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY o PATTERN (A) DEFINE A AS u = {})"
    with pytest.warns(QueryWarning, match=r"\\d in a text is d in Snowflake; write \\\\d"):
        assert "u = 'd'" in show(read_pasted(clause.format(r"'\d'"), "snowflake").clause)
    days = read_pasted(clause.replace("u = {}", "o <= PREV(o) + 30 / 1440"), "oracle").clause
    assert "in Snowflake only beside DATEs" in show_in_dialect(days, *map(dialect_named, ("oracle", "snowflake")))[1][0]
    whole = read_pasted(clause.replace("u = {}", "REGEXP_LIKE(u, 'a')"), "trino").clause
    with pytest.raises(Unsupported, match="REGEXP_LIKE of Snowflake must match the whole text"):
        show_in_dialect(whole, dialect_named("trino"), dialect_named("snowflake"))
    keys = "MATCH_RECOGNIZE (PARTITION BY STRUCT(u, o) ORDER BY o MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TRUE)"
    with pytest.warns(QueryWarning, match="PARTITION BY with a STRUCT groups by its fields"):
        made = select(keys, [{"u": u, "o": o} for u in "ab" for o in (1, 1, 2)], dialect="bigquery")
    assert made.columns == ("u", "o", "n")
    assert len(made.rows) == 6
    with pytest.raises(Unsupported, match="a STRUCT has no order: list its fields"):
        read_pasted(keys.replace("ORDER BY o", "ORDER BY STRUCT(o)"), "bigquery")


OF_DIALECTS: list[tuple[str, str, list[Any], list[Any]]] = [  # a measure, dialects, values of x, its values
    ("CAST(x AS INT)", "flink databricks", [0.5, 1.5, -1.5, 2**53 + 1, True, "7", "7.5", "1_0", None],
     [0, 1, -1, 2**53 + 1, 1, 7, None, None, None]),
    ("CAST(x AS INT)", "standard trino snowflake azure", [0.5, 1.5, -1.5, 2.5, 0.4], [1, 2, -2, 3, 0]),
    ("CAST(x AS INT)", "duckdb", [0.5, 1.5, -1.5, 2.5, -0.5, 2**53 + 1], [0, 2, -2, 2, 0, 2**53 + 1]),
    ("CAST(x AS INT)", "oracle snowflake duckdb", ["2.5", "-1.5", "0.5", "7", "2.4", "x", None],
     [3, -2, 1, 7, 2, None, None]),
    ("CAST(x AS INT)", "standard trino azure", ["2.5", "7"], [None, 7]),
    ("CAST(x * 0.5 AS INT)", "duckdb", [1, 3, 5], [1, 2, 3]),  # DECIMAL: DuckDB 2.0 gives the same
    ("CAST(ROUND(x) AS INT)", "flink", [1.5, 2.5], [2, 3]),
    ("AVG(x)", "flink", [0, 3, -3, 1.5], [0, 3, -3, 1.5]),
    ("SUBSTR(x, 2)", "oracle", ["ab", "a", "", None], ["b", None, None, None]),
    ("SUBSTR(x, 2)", "duckdb", ["ab", "a", "", None], ["b", "", "", None]),
    ("TRIM(x)", "oracle", [" a", " "], ["a", None]),
    ("REPLACE(x, 'a')", "oracle", ["ab", "a"], ["b", None]),
    ("x", "oracle", ["", "a"], [None, "a"]),
    ("x = '35'", "oracle snowflake duckdb databricks", [35, 4, None], [True, False, None]),
    ("x = '35'", "standard trino bigquery", [35], [None]),
    ("x + '1'", "oracle snowflake databricks", [35], [36]),
    ("x < 5", "oracle snowflake databricks", ["35", "4.5", "b"], [False, True, None]),
    ("x LIKE ANY ('a%', '%b')", "snowflake bigquery databricks", ["ab", "cb", "c", None],
     [True, True, False, None]),
    ("x LIKE ALL ('a%', '%b')", "snowflake bigquery databricks", ["ab", "cb", "c"], [True, False, False]),
    ("x NOT LIKE ANY ('a', 'b')", "bigquery databricks", ["a", "c"], [True, True]),
    ("x NOT LIKE ALL ('a', 'b')", "bigquery databricks", ["a", "c"], [False, True]),
    ("x ILIKE ANY ('A', 'b')", "snowflake databricks", ["a", "c"], [True, False]),
    ("x LIKE SOME ('a!%') ESCAPE '!'", "snowflake", ["a%", "ab"], [True, False]),
    ("ADD_MONTHS(x, 1)", "oracle snowflake", [datetime(2024, 2, 29, 13, tzinfo=UTC), datetime(2024, 1, 30, tzinfo=UTC)],
     [datetime(2024, 3, 31, 13, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)]),
    ("ADD_MONTHS(x, 1)", "databricks", [datetime(2024, 2, 29, 13, tzinfo=UTC)], [datetime(2024, 3, 29, tzinfo=UTC)]),
    ("DATEADD(month, 1, x)", "snowflake databricks", [datetime(2024, 2, 29, 13, tzinfo=UTC)],
     [datetime(2024, 3, 29, 13, tzinfo=UTC)]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::cerify.semantics.errors.QueryWarning")
@pytest.mark.parametrize(
    ("measure", "dialect", "values", "expected"),
    [(m, d, values, made) for m, names, values, made in OF_DIALECTS for d in names.split()],
)
def test_what_dialects_make_of_values(measure: str, dialect: str, values: list[Any], expected: list[Any]) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY o MEASURES LAST(o) AS o, {measure} AS n PATTERN (A) DEFINE A AS o >= 0)"
    clause = clause if dialect != "bigquery" else clause.replace(f"{measure} AS n", f"LAST({measure}) AS n")
    if dialect in ("flink", "azure"):
        clause = clause.replace(" PATTERN", " AFTER MATCH SKIP TO NEXT ROW PATTERN")
    table = [{"o": n} | ({} if value is None else {"x": value}) for n, value in enumerate(values)]
    assert [row[1] for row in select(clause, table, dialect=dialect).rows] == expected
    written, notes = show_in_dialect(read_pasted(clause, dialect).clause, *map(dialect_named, (dialect, dialect)))
    assert not notes
    if not measure.startswith("x "):  # what makes no lists of patterns is written as it was
        assert f"{measure.partition('(')[0]}" in written
        assert "CASE" not in written


def test_a_division_of_whole_numbers_warns_unless_a_dialect_says_what_it_gives(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("o,x,y\n1,3,0.5\n", encoding="utf-8")
    text = "MATCH_RECOGNIZE (ORDER BY o MEASURES x / 2 AS h, y / 2 AS f PATTERN (A))"
    warning = "x / 2 is a whole number, because its operands are: CAST one AS DOUBLE"
    for query in (text, f"SELECT h FROM t {text}"):
        asked = ("match", query, str(table), "--language", "row-pattern", "--output", "rows", "--json")
        status, _, errors = run(*asked)
        assert status == 0
        assert errors.count("is a whole number") == 1
        assert warning in errors
        clause = text.replace("x / 2 AS h, y / 2 AS f", "x * 2 AS h, o AS o")
        around = f"SELECT h, o / 2 AS q FROM t {clause} WHERE h / 4 > 0"
        errors = run("match", around, str(table), "--language", "row-pattern")[2]
        assert "h / 4 is a whole number" in errors
        assert "o / 2 is a whole number" in errors
        for more in (("--dialect", "duckdb"), ("--reading", "integer_division=truncated")):
            assert "is a whole number" not in run(*asked, *more)[2]


@pytest.mark.thorough
def test_an_empty_text_is_no_witness_in_oracle(run: Run, tmp_path: Path) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY o MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS {})"
    left, right = (clause.format(e) for e in ("s IS NULL", "TRIM(s) IS NULL"))
    schema = tmp_path / "schema.json"
    schema.write_text('{"row": {"o": "int", "s": "string"}}', encoding="utf-8")
    typed = ("--language", "row-pattern", "--schema", str(schema))
    assert run("equiv", left, right, *typed, "--dialect", "oracle")[0] == 3
    assert run("equiv", left, clause.format("s IS NOT NULL"), *typed, "--dialect", "oracle")[0] == 1
    asked = (
        "vectors",
        clause.format("SUBSTR(s, 2) <> 'b'"),
        "--language",
        "row-pattern",
        "--sql",
        "--schema",
        str(schema),
    )
    status, tables, _ = run(*asked, "--dialect", "oracle")
    assert status == 0
    assert "SUBSTR(s, 2) <> 'b'" in tables
    assert "''" not in "".join(line for line in tables.splitlines() if line.startswith("WITH"))


def test_what_a_translation_says_of_casts_means_and_empty_texts() -> None:
    q = parse("MATCH_RECOGNIZE (ORDER BY o MEASURES CAST(x AS BIGINT) AS i, AVG(x) AS m, TRIM(s) AS t PATTERN (A Z))")
    for target, notes in (
        ("flink", ["a CAST to a whole number drops the fraction in Flink SQL", "AVG of whole numbers is whole"]),
        ("duckdb", ["a CAST to a whole number rounds halves to even"]),
        ("oracle", ["an empty text, such as SUBSTR, TRIM and REPLACE may return, is NULL in Oracle"]),
        ("trino", []),
    ):
        found = show_in_dialect(q, dialect_named("standard"), dialect_named(target))[1]
        assert len(found) == len(notes)
        assert all(note in one for one, note in zip(found, notes, strict=True))
    texts = "MATCH_RECOGNIZE (ORDER BY o PATTERN (A) DEFINE A AS t > '2024-03-05' AND x = '3')"
    snowflake = parse(texts, dialect_named("snowflake"))
    for target, number in (("trino", 2), ("oracle", 1), ("databricks", 0)):
        notes = show_in_dialect(snowflake, *map(dialect_named, ("snowflake", target)))[1]
        assert sum("Snowflake reads a text beside a" in one for one in notes) == number
    flink = parse(
        "MATCH_RECOGNIZE (ORDER BY o MEASURES AVG(x) AS m PATTERN (A) DEFINE A AS TRUE)", dialect_named("flink")
    )
    assert "SUM(x) / COUNT(x)" in show_in_dialect(flink, *map(dialect_named, ("flink", "trino")))[0]


@pytest.mark.parametrize(
    ("source", "text", "target", "part"),
    [
        ("oracle", r"SELECT COUNT(*) AS n FROM t {} WHERE REGEXP_LIKE(sym, '^A$', 'i')", "bigquery",
         "WHERE REGEXP_CONTAINS(sym, '(?i)^A$')"),
        ("snowflake", "SELECT m.sym, n * 2 AS twice, 'x' AS \"A b\" FROM (SELECT * FROM t WHERE price > 3) {} AS m "
         "WHERE n > 1 ORDER BY sym DESC, n LIMIT 2", "oracle",
         "FROM (SELECT * FROM t WHERE price > 3) v MATCH_RECOGNIZE"),
        ("snowflake", "SELECT sym, n FROM t {} ORDER BY n, sym", "bigquery",
         "DEFINE UP AS price > PREV(price), A AS TRUE"),
        ("snowflake", "SELECT sym, n FROM t {} ORDER BY n DESC, sym", "trino", "n DESC NULLS FIRST, sym"),
        ("duckdb", "SELECT sym, n FROM (VALUES ('a', 1, 2), ('a', 2, 3)) AS t (sym, day, price) {}", "bigquery",
         "FROM (SELECT * FROM UNNEST([STRUCT('a' AS sym, 1 AS day, 2 AS price), ('a', 2, 3)])) AS v MATCH"),
        ("duckdb", "SELECT sym, n % 2 AS odd FROM (VALUES ('a', 1, 2), ('a', 2, 3)) AS t (sym, day, price) {}",
         "oracle",
         "SELECT sym, MOD(n, 2) AS odd FROM (SELECT 'a' AS sym, 1 AS day, 2 AS price FROM DUAL UNION ALL SELECT"),
        ("bigquery",
         "WITH v AS (SELECT 'a' AS sym, 1 AS day, 2 AS price UNION ALL SELECT 'a', 2, 3) SELECT * FROM v {}",
         "snowflake", "FROM (SELECT 'a' AS sym, 1 AS day, 2 AS price UNION ALL SELECT 'a', 2, 3) AS v MATCH"),
    ],
)  # fmt: skip
def test_statements_are_translated(source: str, text: str, target: str, part: str) -> None:
    """They give the same rows in the other dialect."""
    define = "DEFINE A AS TRUE, UP AS" if source == "bigquery" else "DEFINE UP AS"
    clause = "MATCH_RECOGNIZE (PARTITION BY sym ORDER BY day MEASURES COUNT(*) AS n PATTERN (A UP*)"
    text = text.format(f"{clause} {define} price > PREV(price))")
    statement = read_pasted(text, source).statement
    assert statement is not None
    written, _ = show_statement(statement, dialect_named(source), dialect_named(target))
    assert part in written
    table = [] if not read_pasted(text, source).reads_file else STATEMENTS_PRICES
    made, again = select(text, table, dialect=source), select(written, table, dialect=target)
    assert made.rows == again.rows != ()
    assert [name.lower() for name in made.columns] == [name.lower() for name in again.columns]


def run(*argv: object, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["cerify", *map(str, argv)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return (int(ended.value.code or 0), *capfd.readouterr())


def test_the_commands_take_statements_and_dialects(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in STATEMENTS_PRICES), encoding="utf-8")
    text = f"SELECT n AS k FROM t {CLAUSE} m WHERE n = 2;"

    def match(*more: object) -> tuple[int, str, str]:
        return run("match", *more, "--language", "row-pattern", "--json", capfd=capfd, monkeypatch=monkeypatch)

    assert json.loads(match(text, file)[1]) == {"columns": ["k"], "rows": [[2]]}
    assert len(match(text, file, "--output", "matches")[1].splitlines()) == 3
    halves = "SELECT h FROM t MATCH_RECOGNIZE (MEASURES A.price / 8 AS h PATTERN (A) DEFINE A AS price = 12)"
    answers = [
        json.loads(match(halves, file, *more)[1])["rows"]
        for more in ((), ("--dialect", "oracle"), ("--dialect", "oracle", "--reading", "integer_division=truncated"))
    ]
    assert answers == [[[1]], [[1.5]], [[1]]]
    status, _, err = match(f"SELECT * FROM t {CLAUSE} JOIN u", file)
    assert status == 2
    assert "JOIN is not supported" in err
    asked = ("translate", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > LAG(x))", "--from", "row-pattern")
    status, out, _ = run(
        *asked, "--to", "row-pattern", "--dialect", "snowflake", "--to-dialect", "trino", "--json",
        capfd=capfd, monkeypatch=monkeypatch,
    )  # fmt: skip
    assert status == 0
    assert "x > PREV(x)" in json.loads(out)["query"]
    status, out, _ = run(
        *asked, "--to", "row-pattern", "--dialect", "snowflake", "--to-dialect", "flink",
        capfd=capfd, monkeypatch=monkeypatch,
    )  # fmt: skip
    assert status == 1
    assert "no translation: Flink SQL requires ORDER BY" in out


def test_trunc_and_round_of_oracle_are_of_numbers_too() -> None:
    measures = ["TRUNC(x)", "TRUNC(x) - TRUNC(y)", "TRUNC(t)", "ROUND(t)", "TRUNC(y / 4)", "ROUND(x)"]
    listed = ", ".join(f"{one} AS m{i}" for i, one in enumerate(measures))
    row = {"x": -2.34, "y": 7, "t": datetime(2024, 2, 29, 13, 5, tzinfo=UTC)}
    days = (datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC))
    clause = f"MATCH_RECOGNIZE (MEASURES {listed} PATTERN (A) DEFINE A AS TRUNC(x) = -2)"
    assert select(clause, [row], dialect="oracle").rows == ((-2, -9, *days, 1, -2),)
    around = "SELECT TRUNC(x) FROM t MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A) DEFINE A AS TRUE)"
    assert select(around, [row], dialect="oracle").rows == ((-2,),)


def test_concat_of_duckdb_and_azure_passes_over_null() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY o MEASURES CONCAT(x, 'a', x) AS c, x || 'a' AS d PATTERN (A) DEFINE A AS TRUE)"
    for name in ("duckdb", "azure"):
        assert select(clause, [{"o": 1, "x": "b"}, {"o": 2}], dialect=name).rows == (("bab", "ba"), ("a", None))


@pytest.mark.filterwarnings("ignore::cerify.semantics.errors.QueryWarning")
@pytest.mark.parametrize(
    ("pattern", "conditions", "values", "matching"),
    [
        ("A", "A AS CAST(x AS INT) = 0", [0.5], "duckdb flink databricks"),
        ("A B", "A AS TRUE, B AS AVG(x) = 0", [0, 1], "flink"),
        ("A", "A AS SUBSTR(x, 2) IS NULL", ["a"], "oracle"),
        ("A", "A AS x = '35'", [35], "oracle snowflake duckdb databricks"),
    ],
)
def test_the_smallest_tables_on_which_dialects_differ(
    pattern: str, conditions: str, values: list[Any], matching: str
) -> None:
    """docs/guide/row-pattern-dialects.md prints them."""
    clause = f"MATCH_RECOGNIZE (ORDER BY o MEASURES COUNT(*) AS n PATTERN ({pattern}) DEFINE {conditions})"
    table = [{"o": n, "x": x} for n, x in enumerate(values)]
    matched = []
    for dialect in DIALECTS:
        with suppress(Unsupported):  # aggregates in DEFINE
            matched += [dialect] if select(clause, table, dialect=dialect).rows else []
    assert matched == matching.split()


def test_bigquery_has_a_structure_of_the_first_and_the_last_row() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY id MEASURES FIRST(STRUCT(id, price)) AS f,
      LAST(STRUCT(small.id, small.price, MATCH_ROW_NUMBER() AS n)) AS last_small,
      LAST(STRUCT(MATCH_ROW_NUMBER() AS n)) AS l
      PATTERN (small* large small?) DEFINE small AS price < 100, large AS price >= 100)"""
    table = [{"id": n, "price": price} for n, price in enumerate((200, 150, 60, 20, 150, 70))]
    assert select(clause.replace(" small?", ""), table, dialect="bigquery").rows == (
        ({"id": 0, "price": 200}, None, {"n": 1}),
        ({"id": 1, "price": 150}, None, {"n": 1}),
        ({"id": 2, "price": 60}, {"id": 3, "price": 20, "n": 2}, {"n": 3}),
    )
    assert select(clause, table, dialect="bigquery").rows[-1][1:] == ({"id": 5, "price": 70, "n": 3}, {"n": 3})
    with pytest.raises(Unsupported, match="of one variable"):
        select(clause.replace("small.price", "large.price"), table, dialect="bigquery")


def test_what_flink_azure_oracle_and_databricks_say_of_their_clauses() -> None:
    flink = "MATCH_RECOGNIZE (ORDER BY o MEASURES COUNT(A.x) AS n PATTERN ({}) DEFINE A AS TRUE)"
    with pytest.raises(Unsupported, match="a pattern that may match no row"):
        read_pasted(flink.format("A*? B*?"), "flink")
    with pytest.raises(Unsupported, match="DISTINCT in an aggregate"):
        read_pasted(flink.format("A B").replace("(A.x", "(DISTINCT A.x"), "flink")
    azure = (
        "MATCH_RECOGNIZE (ORDER BY o MEASURES CLASSIFIER() AS c PATTERN (Low+ High) DEFINE Low AS {}, High AS x > 1)"
    )
    table = [{"o": 1, "x": 0}, {"o": 2, "x": 2}]
    assert select(azure.format("MAX(Low.x) < 1"), table, dialect="azure").rows == ((("Low", "High"),),)
    written, _ = show_in_dialect(parse(azure.format("x < 1"), dialect_named("azure")), *[dialect_named("azure")] * 2)
    assert "CLASSIFIER() AS c" in written
    labelled = parse(azure.format("x < 1").replace("PATTERN", "AFTER MATCH SKIP TO NEXT ROW PATTERN"))
    with pytest.raises(Unsupported, match="the list of all labels in Azure Stream Analytics"):
        show_in_dialect(labelled, dialect_named("standard"), dialect_named("azure"))
    for condition, message in (
        ("MAX(Low.x + Low.o) < 1", "an aggregate of anything but one column"),
        ("LAST(High.x) < 1", "a variable in DEFINE that is defined later"),
    ):
        with pytest.raises(Unsupported, match=message):
            read_pasted(azure.format(condition), "azure")
    oracle = "MATCH_RECOGNIZE (ORDER BY o MEASURES FIRST(x) a PATTERN (A) DEFINE A AS x > 1)"
    assert select(oracle, table, dialect="oracle").columns == ("A",)
    with pytest.warns(QueryWarning, match="Databricks does not report empty matches"):
        read_pasted(oracle.replace(" a ", " AS a ").replace("(A)", "(A*)"), "databricks")


def test_a_message_about_a_statement_points_into_it(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x\n1\n", encoding="utf-8")
    text = "SELECT a FROM t /* c */ MATCH_RECOGNIZE (MEASURES A.x AS a PATTERN (A) DEFINE A AS {})"
    for condition, place in (("nope > 1", "nope"), ("x LIKE 'a'", "x LIKE")):
        query = text.format(condition)
        lines = run("match", query, str(table), "--language", "row-pattern")[2].splitlines()
        assert lines[lines.index(query) + 1].index("^") == query.index(place)
