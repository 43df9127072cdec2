"""What the command line and the API say of a mistake: the word that was meant, the argument, the place."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.shell_completion import BashComplete

import cerify
import cerify.cli
from cerify import Budget, Event, Schema, Stream, cli
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError, IllFormed, InputError, ParseError, Span, underline
from cerify.terminal import echo_error
from proofs_tests.claims.__main__ import WIDTH, entry_text
from proofs_tests.conftest import Run

S = Stream(map(Event, "ABAB"))


@pytest.mark.parametrize(
    ("language", "query", "message"),
    [
        ("cel", "T FLTER T.x > 1", "did you mean FILTER?"),
        ("cel", "add ; !remove ; payment", "; the query may be: add ; (payment UNLESS remove)\n"),
        ("cel", "add ; not (remove) -> payment", "; the query may be: add ; (payment UNLESS remove)\n"),
        ("cel", "A ; B? ; C", "; the query may be: A ; ((B ; C) OR C)\n"),
        ("cel", "exists(A) ; B", "matches each event of the type; write A; the query may be: A ; B\n"),
        ("cel", "A x ; B y", "'x' is not expected here; the query may be: A IN x ; B IN y\n"),
        ("cel", "A IN x y", 'write "x y"\n'),
        ("cel", "A ; B WITHIN 5m", "'m' is not expected here; the query may be: A ; B WITHIN 5 minutes\n"),
        ("cel", "A ; B WITHIN 500 milliseconds", "; the query may be: A ; B WITHIN 0.5 seconds\n"),
        ("cel", "A ; B WITHIN 2 weeks", "; the query may be: A ; B WITHIN 14 days\n"),
        ("sase", "PATTERN SEQ(A a) WITHIN 9 min", "; the query may be: PATTERN SEQ(A a) WITHIN 9 minutes\n"),
        ("cel", "(A PARTITION BY [k] ; B)", "put parentheses; the query may be: ((A PARTITION BY [k]) ; B)\n"),
        ("cel", "A FILTER A.x > 3 ; B", "put parentheses; the query may be: (A FILTER A.x > 3) ; B\n"),
        ("cel", "A FILTER A.s like '*b*'", "operator: *; .* matches any text, as in 'a.*'\n"),
        ("cel", "every A -> B", "leave the word out; the query may be: A ; B\n"),
        ("cel", "A followedBy B", "CEL has no 'followedBy'; write ;\n"),
        ("cel", "A ; B GROUP BY x", "write PARTITION BY [id], or PER KEY [id]"),
        ("cel", "A FILTER A.x IS NULL", "IS NULL stands in brackets, as in FILTER T[x is null]"),
        ("cel", "A FILTER A.x = null", "nothing is equal to null; write A[x is null]"),
        ("cel", "A FILTER A.x = TRUE", "write true, in lower case, not TRUE\n"),
        ("cel", "A FILTER A.s LIKE 'a%'", "with a regular expression, as in T.name like 'a.*'"),
        ("cel", "A FILTER A.x IN (1, 2)", "after in, values stand in braces, as in T.x in {1, 2}"),
        ("cel", "(A ; B) FILTER COUNT(A) > 3", "CEL has no aggregates"),
        ("cel", "T where T.x > 1", "CEL has no 'where'; write FILTER"),
        ("cel", "T -> H", "CEL has no '->'; write ;\nT -> H\n  ^^\n"),
        ("cel", "T*", "write + for one or more events, and (A+ ; B) OR B for A* ; B, or (A OR B) for an event of any"),
        ("cel", "T FILTER T.x == 1", "write =\n"),
        ("cel", "T FILTER NOT T.x > 3", "NOT stands in brackets, as in FILTER T[not x > 3]"),
        ("cel", "T ; NOT H", "for no C in between write A ; (B UNLESS C)\n"),
        ("cel", "NOT H ; T", "for no C in between write A ; (B UNLESS C)"),
        ("cel", "T ; H?", "write (A ; B) OR A for A ; B?"),
        ("cel", "T? ; H", "and (A ; B) OR B for A? ; B"),
        ("cel", "T followed by H", "CEL has no 'followed by'; write ;\nT followed by H\n  ^^^^^^^^^^^\n"),
        ("cel", "T FILTER T.x <> 3", "write !="),
        ("cel", "T FILTER T.x BETWEEN 1 AND 3", "write two comparisons, as in T.x >= 1 AND T.x <= 3"),
        ("cel", "(T ; H) PARTITION BY id", "in brackets, as in PARTITION BY [id]"),
        ("cel", "T ; H -- hot", "CEL has no comments; remove this one"),
        ("cel", "(T ; H", "ends too early; this bracket is never closed\n(T ; H\n^"),
        ("cel", "T ; H ;", "leave the ; at the end out, or write what follows"),
        ("cel", "T ; 😀", "a name has letters, digits and _"),
        ("cel", "SEQ(T, H)", "this looks like SASE+: --language sase"),
        ("event-expression", "SEQ(T a, T b)", "this looks like SASE+: --language sase"),
        ("cel", "SELECT * FROM T", "; this looks like SQL; only MATCH_RECOGNIZE is supported: --language "),
        ("cel", "select * from s\nwhere x > 1", "; this looks like SQL; only MATCH_RECOGNIZE is supported: --"),
        (
            "sase",
            "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > 1)",
            "this looks like MATCH_RECOGNIZE: --language row-pattern",
        ),
        (
            "cel",
            "A ; B WITHIN -5 seconds",
            "a window cannot have a negative length; leave '-' out\nA ; B WITHIN -5 seconds\n",
        ),
        ("cel", "(A ; B) WITHIN -5 EVENTS", "a window cannot have a negative length"),
        ("sase", "PATTERN SEQ(A a, B b) within -5 seconds", "a window cannot have a negative length"),
        ("cel", 'T FILTER T.x = "a"', "a string stands in single quotes, as in 'text'"),
        ("cel", "PATTERN SEQ(A a, B b", "this looks like SASE+: --language sase"),
        ("cel", "PATTERN (A B+) DEFINE B AS x > 1", "this looks like MATCH_RECOGNIZE: --language row-pattern"),
        ("cel", "relative(A", "this looks like event expressions: --language event-expression"),
        ("cel", "nxt(A ; B)", "keywords are written in capitals: NXT\nnxt(A ; B)\n^^^"),
        ("cel", "T FILTER T.x > 1 and T.y > 2", "keywords are written in capitals: AND"),
        ("cel", "A WITHIN 3 SECONDS", "keywords are written in small letters: seconds"),
        ("cel", "A ; !C ; B", "write A ; (B UNLESS C) for no C between A and B"),
        ("cel", "every A -> B", "CEL has no 'every': it always reports all matches; leave the word out"),
        ("sase", "SEQ(A a, B b)", "a query begins with PATTERN, as in PATTERN SEQ(A a, B b)\nSEQ(A a, B b)\n^^^\n"),
        ("sase", "EVENT SEQ(A a, B b)", "a query begins with PATTERN, as in PATTERN SEQ(A a, B b)"),
        ("sase", "PATTERN SEQ(A, B)", "write a variable after each type, as in SEQ(A a, B b)"),
        ("cel", "(T|H)", "write OR; or it is a query in another language: --language event-expression"),
        ("cel", "!T", "between A and B; or it is a query in another language"),
        ("cel", "T.*H", "CEL has no '.*'; write ;\nT.*H\n ^^\n"),
        (
            "cel",
            "T.tmp > 40",
            'conditions stand after FILTER, as in T FILTER T.x > 3; quote a name with a dot: "user.id"',
        ),
        ("cel", "T[page.device.os = 'ios']", 'cerify: quote a name with a dot: "user.id"\n'),
        ("cel", "T FILTER T.page.os = 'ios'", 'cerify: quote a name with a dot: "user.id"\n'),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (MEASURES FIRST(A.page.device.os) AS os PATTERN (A))",
            'quote a name with dots, as in A."page.device"',
        ),
        ("cel", "(A ; B) PARTITION BY [user.id]", 'quote a name with a dot: "user.id"'),
        ("sase", "PATTERN SEQ(A a, B b) WHERE [user.id]", 'quote a name with a dot, as in a."user.id"'),
        ("cel", "T FILTER T.tmp => 40", "CEL has no '=>'; write >=\n"),
        ("row-pattern", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x::int > 1)", "write CAST(price AS DOUBLE)"),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS NVL(x, 1) = 2)",
            "did you mean COALESCE",
        ),
        ("cel", "T FILTER T.x > 1, T.y > 2", "write ; between events and AND between conditions"),
        ("cel", "T ; H LIMIT 3", "CEL has no LIMIT: it reports all matches"),
        ("cel", "T ; (H OR )", "')' is not expected here; expected ("),
        ("core-cel", "T[x > 3]", "stands after FILTER, as in (T AS x) FILTER x[tmp > 3]"),
        ("cel", "T[x > H.x]", "events of two variables are compared after FILTER"),
        ("cel", "T ; H WITHIN 5 sec", "write seconds"),
        ("cel", "T FILTER SUM(T.x) > 1", "CEL has no aggregates"),
        ("cel", "count(T) > 2", "write A{3} for three events A, or use SASE+ or MATCH_RECOGNIZE"),
        (
            "cel",
            "T FILTER T.x = ann",
            "whose attribute is 'ann'? Write VARIABLE.ann, or VARIABLE[...] around a test of",
        ),
        ("cel", "T FILTER T.x = ann", "; a string is written 'ann'\n"),
        ("core-cel", "T ; H", "each event needs a variable, as in T AS x ; H AS y"),
        (
            "core-cel",
            "T+ AS x",
            "+ stands after brackets, as in (T AS x)+",
        ),
        ("event-expression", "NOT T", "'NOT' is not expected here; keywords are written in small letters: not"),
        ("event-expression", "T H", "'H' is not expected here; expected"),
        (
            "sase",
            "PATTERN SEQ(T t) WHERE skip_till_next { t.x > 4 }",
            "the strategy is called skip_till_next_match, as in skip_till_next_match(a, b) { ... }",
        ),
        ("row-pattern", "MATCH_RECOGNIZE (PATTERN A+ B DEFINE B AS x > 1)", "in brackets: PATTERN (A+ B)\n"),
        ("row-pattern", "MATCH_RECOGNIZE (PATTERN)", "in brackets: PATTERN (A B)\n"),
        (
            "row-pattern",
            "PATTERN (A B)",
            "a clause is MATCH_RECOGNIZE (...), or WINDOW (...), as in MATCH_RECOGNIZE (PAT",
        ),
        ("row-pattern", "MATCH_RECOGNIZE PATTERN (A B)", "brackets are missing after MATCH_RECOGNIZE; a clause is"),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS AVG(x, y) > 1)",
            "AVG takes one argument, as in AVG(",
        ),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS SUM(*) > 1)",
            "SUM takes one argument, as in SUM(price)",
        ),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS PREV(x, n) > 1)",
            "and a number of rows, as in PREV(",
        ),
        ("row-pattern", "MATCH_RECOGNIZE (MEASURES x PATTERN (A))", "AS is missing before PATTERN: a measure is an"),
        ("row-pattern", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x = 1 y < 2)", "'AND' is missing before 'y'"),
        ("event-expression", "T || H", "event expressions have no '||'; write or"),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (PATTERN (A -> B))",
            "write nothing between two variables, as in PATTERN (A B)",
        ),
        ("sase", "PATTERN SEQ(T t) WHERE t.x > 4, t.y < 3", "and AND between conditions"),
        ("sase", "PATTERN SEQ(T t, !H x, H h)", "for no B in between write ~B b, without brackets"),
        ("sase", "PATTERN SEQ(T t, NOT H x, H h)", "for no B in between write ~B b, without brackets"),
        ("sase", "PATTERN SEQ(T t, ~(H x), H h)", "for no B in between write ~B b, without brackets"),
        (
            "sase",
            "PATTERN SEQ(T t) WHERE { t.x > 4 }",
            "write a strategy before the bracket, as in WHERE skip_till_any_match(a, b) {",
        ),
        ("sase", "PATTERN SEQ(T t, H h) -- hot", "SASE+ has no comments; remove this one"),
        ("sase", "PATTERN SEQ (T t, H h", "ends too early; this bracket is never closed"),
        ("event-expression", "A -- hot", "event expressions have no comments; remove this one"),
        ("event-expression", "prior(A B)", "',' is missing before 'B'"),
        ("event-expression", "A & B", "event expressions have no '&'; write and"),
        ("event-expression", "A where x > 3", "stands in brackets after an event type, as in E[x > 3]"),
        ("core-cel", "A AS x WHERE x.a > 1", "write FILTER"),
        ("sase", "PATTERN SEQ(A a) FILTER a.x > 1", "write WHERE"),
        ("sase", "PATTERN SEQ(A a) WHER a.x > 1", "did you mean WHERE?"),
        ("row-pattern", "MATCH_RECOGNIZE (PATTRN (A))", "did you mean PATTERN?"),
        ("row-pattern", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x == 1)", "MATCH_RECOGNIZE has no '=='; write ="),
        ("cel", "MATCH_RECOGNIZE (PATTERN (A))", "it is a query in another language: --language row-pattern\n"),
        ("eql", "sequence with maxspan=5x [a where true] [b where true]", "as in maxspan=30s"),
        (
            "cel",
            "windowFunnel(60)",
            "a funnel function of ClickHouse: --language funnel",
        ),
        ("funnel", "windowFunnel(60)", "calls of it; write a funnel as in FUNNEL view, pay WITHIN 1 hour BY user\n"),
        ("cel", "count(A)", "or use SASE+ or MATCH_RECOGNIZE\n"),
    ],
)
def test_the_word_that_was_meant_is_named(language: str, query: str, message: str, run: Run) -> None:
    status, _, err = run("check", query, "--language", language)
    assert status == 2
    assert message in err


@pytest.mark.parametrize(
    ("language", "query", "hint", "right", "matched", "missed"),
    [
        ("cel", "A ; !C ; B", "A ; (B UNLESS C)", "A ; (B UNLESS C)", "CAB", "ACB"),
        ("cel", "A ; B?", "(A ; B) OR A", "(A ; B) OR A", "A", "B"),
        ("cel", "A* ; B", "(A+ ; B) OR B", "(A+ ; B) OR B", "B", "A"),
        ("cel", "every A -> B", "leave the word out", "A ; B", "AB", "BA"),
        ("cel", "COUNT(A) > 2", "A{3}", "A{3}", "ABAA", "AA"),
        ("core-cel", "A+ AS x", "(T AS x)+", "(A AS x)+", "A", "B"),
        ("core-cel", "(A AS x)?", "(A AS x ; B AS y) OR A AS x", "(A AS x ; B AS y) OR A AS x", "A", "B"),
        ("event-expression", "A -> B", "prior(E, F)", "prior(A, B)", "ACB", "BA"),
        ("sase", "PATTERN SEQ(A a, !C c, B b)", "SEQ(A a, ~B b, C c)", "PATTERN SEQ(A a, ~C c, B b)", "CAB", "ACB"),
        ("sase", "SEQ(A a, B b)", "PATTERN SEQ(A a, B b)", "PATTERN SEQ(A a, B b)", "ACB", "BA"),
    ],
)
def test_a_query_that_follows_the_hint_means_what_was_meant(
    language: str, query: str, hint: str, right: str, matched: str, missed: str
) -> None:
    """For an absence the hint was A ; B UNLESS C, which has no match where a C comes before the A."""
    with pytest.raises(ParseError, match=re.escape(hint)):
        cerify.match(query, S, language=language)
    assert cerify.match(right, Stream(map(Event, matched)), language=language)
    assert not cerify.match(right, Stream(map(Event, missed)), language=language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("query", ["", " \n"])
def test_an_empty_query_is_said_to_be_empty(language: str, query: str, run: Run) -> None:
    """The message listed what can begin a query, below which a caret stood alone."""
    assert run("check", query, "--language", language) == (2, "", "cerify: the query is empty\n")


def test_an_option_that_is_missing_has_its_names_in_a_line(run: Run) -> None:
    """They were below each other, after a sentence."""
    names = "'disjunctive', 'push-in', 'push-filters', 'star', 'safe', 'lp-normal'"
    message = f"cerify: missing option '--to'; it is one of {names}\ntry: cerify normalize --help\n"
    assert run("normalize", "A") == (2, "", message)


def test_a_name_is_suggested_where_it_is_like_the_one_that_is_written(tmp_path: Path, run: Run) -> None:
    """Of a column 'kind' the message asked whether 'id' was meant."""
    file = tmp_path / "a.csv"
    file.write_text("type,id,tmp\nA,1,2\n")
    assert run("match", "A", str(file), "--type", "kind")[2].endswith("the columns are type, id, tmp\n")
    assert run("match", "A", str(file), "--type", "tipe")[2].endswith("tmp; did you mean 'type'?\n")
    assert run("match", "A FILTER A.kind = 1", str(file))[2].startswith(
        "cerify: warning: A has no attribute 'kind'; it has id, tmp\n"
    )


def test_a_file_before_the_query_is_named(tmp_path: Path, run: Run) -> None:
    """The error was one in the query, which was the name of the file."""
    file = tmp_path / "a.csv"
    file.write_text("type\nA\n")
    written = ("-o", str(tmp_path / "a.svg"))
    for command, options in {"match": (), "explain": (), "step": written, "draw": written}.items():
        assert (
            f"'{file}' is a file of events: give the query first, then the file"
            in run(command, str(file), "A", *options)[2]
        )
    assert "no file A" in run("match", "A", "A")[2]
    rule = tmp_path / "rule.yml"
    rule.write_text("title: a\nlogsource: {category: test}\ndetection: {s: {x: 1}, condition: s}\n")
    assert run("match", str(rule), "missing.ndjson")[2] == "cerify: no file missing.ndjson\n"
    assert f"'{file}' is a file of events: give the query first, then the file" in run("match", str(file), str(rule))[2]


def test_a_name_that_is_too_long_is_said_of_what_is_read(run: Run) -> None:
    """It could not be written."""
    assert run("match", "A", "x" * 5000)[2].startswith("cerify: cannot read xxx")


@pytest.mark.parametrize(
    "command",
    [
        ["match", "A", "{}"],
        ["check", "A", "--schema", "{}"],
        ["verify", "{}"],
        ["trend", "{}"],
        ["grade", "--file", "{}"],
        ["grade", "--exercises", "{}"],
        ["conform", "--policy", "{}", "--", "x"],
        ["conform", "--baseline", "{}", "--", "x"],
        ["fuzz", "--known", "{}", "--", "x"],
    ],
)
def test_a_file_that_is_missing_or_no_text_is_said_to_be_by_every_command(
    command: list[str], tmp_path: Path, run: Run
) -> None:
    """Some said "[Errno 2]", and the name twice."""
    file = tmp_path / "a.json"
    asked = [word.replace("{}", str(file)) for word in command]
    assert run(*asked) == (2, "", f"cerify: no file {file}\n")
    file.write_bytes(b'{"a": "\xff"}\n')
    assert run(*asked)[2].startswith(f"cerify: {file}")
    assert "not text in UTF-8" in run(*asked)[2]
    file.unlink()
    file.mkdir()
    assert run(*asked) == (2, "", f"cerify: {file} is a folder, not a file\n")


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_a_column_for_the_time_has_a_value(name: str, tmp_path: Path, run: Run) -> None:
    """Without one the command went on without times."""
    file = tmp_path / name
    for seconds in (None, 3):
        table = pa.table({"type": ["A", "B"], "tmp": pa.array([None, seconds], pa.int64())})
        pq.write_table(table, file) if file.suffix == ".parquet" else pa.csv.write_csv(table, file)
        status, _, said = run("match", "A ; B", str(file), "--time", "tmp")
        missing = "" if seconds else f"cerify: {file}: no event has a value in the column 'tmp' for the time\n"
        assert (status, said) == (0 if seconds else 2, missing)


def test_a_sheet_may_begin_with_a_byte_order_mark(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b'\xef\xbb\xbf{"cel-then": "Open ; Close"}')
    assert run("grade", "--file", str(file))[1].startswith("passed: cel-then\n")


def test_the_language_is_named_as_the_caller_chooses_it(run: Run) -> None:
    """The text of the query, which is shown below the message, stays as it is."""
    query = '"language=""cel""" A'
    with pytest.raises(ParseError, match=r'this looks like SASE\+: language="sase"'):
        cerify.match("PATTERN SEQ(A a, B b", S)
    err = run("check", "PATTERN SEQ(A a, B b")[2]
    assert "this looks like SASE+: --language sase\n" in err
    assert run("check", query)[2].splitlines()[1] == query


def test_a_translation_is_from_a_language_by_either_option(run: Run) -> None:
    for option in ("--from", "--language"):
        assert run("translate", "A AS x", option, "core-cel", "--to", "cel")[1] == "A IN x\n"


def test_a_query_of_another_language_is_named_before_what_its_rows_lack() -> None:
    """The rows have no column "type", which the default language needs."""
    with pytest.raises(ParseError, match='it is a query in another language: language="row-pattern"'):
        cerify.match("MATCH_RECOGNIZE (PATTERN (A))", pa.table({"x": [1, 2]}))
    with pytest.raises(InputError, match="no column 'type' for the event type"):
        cerify.match("A", pa.table({"x": [1, 2]}))


def test_of_a_text_with_marks_of_its_own_language_no_other_is_named(run: Run) -> None:
    """FILTER is a word of core-CEL too, so that CEL is not what a broken query of core-CEL looks like."""
    assert "looks like" not in run("check", "A AS x FILTER", "--language", "core-cel")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mtach", "A"], "cerify: no command 'mtach'; did you mean 'match'[?]\ntry: cerify --help\n"),
        (["conform", "--engine", "automatn"], "no engine 'automatn'; did you mean 'automaton'[?]"),
        (["conform", "--engine", "automaton", "--feature", "sek"], "did you mean seq[?]"),
        (["conform", "--engine", "automaton", "--feature", "sequence"], "did you mean seq, "),
        (
            ["conform", "--", "node engine.js"],
            "pass the program and its arguments as separate words, without quotation marks around",
        ),
        (["match", "--josn"], "no such option:? '?--josn'?; did you mean '--json'[?]\ntry: cerify match --help\n"),
        (["match", "--tim", "x"], "no such option:? '?--tim'?; did you mean '--time'[?]\ntry: cerify match --help\n"),
        (["match", "--sheet"], "no such option:? '?--sheet'?\ntry: cerify match --help\n"),
        (["draw", "A", "-o", "no/where/x.svg"], "cerify: invalid value for '-o' / '--output': the folder no/where"),
        (["match", "A", "x.csv", "--language", "cell"], "did you mean 'cel'[?]"),
        (["match", "A", "x.csv", "--language", "match_recognize"], "did you mean 'row-pattern'[?]"),
        (["match", "A", "x.csv", "--evaluator", "automatn"], "did you mean 'automaton'[?]"),
        (["demo", "--out", f"{__file__}/report"], "is not a folder"),
        (["vectors", "A", "--out", "no/where/x.jsonl"], "the folder no/where does not exist"),
    ],
)
def test_an_error_of_use_is_one_message(arguments: list[str], message: str, run: Run) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("cerify: ")
    assert re.search(message, err)


def test_without_a_command_the_help_is_printed(run: Run) -> None:
    status, _, err = run()
    assert (status, err[:13]) == (2, "Usage: cerify")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({"FORCE_COLOR": "1"}, True), ({}, False), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_errors_are_in_colour_where_that_is_wanted(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    echo_error("wrong\nA ;\n   ^")
    red = "\x1b[31m\x1b[1m{}\x1b[0m" if coloured else "{}"
    assert capsys.readouterr().err == f"{red.format('cerify:')} wrong\nA ;\n{red.format('   ^')}\n"


CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("seconds", lambda: Budget(seconds="x")),  # type: ignore[arg-type]
    ("seconds", lambda: Budget(seconds=float("nan"))),
    ("states", lambda: Budget(states=-1)),
    ("budget", lambda: cerify.match("A", S, budget=3)),  # type: ignore[typeddict-item]
    ("predicates", lambda: cerify.match("A", S, predicates=3)),  # type: ignore[typeddict-item]
    ("reading", lambda: cerify.match("A", S, reading="x")),  # type: ignore[typeddict-item]
    ("budget", lambda: cerify.check("A", budget="x")),  # type: ignore[arg-type]
    ("budget", lambda: cerify.explain("A", S, [0], budget="x")),  # type: ignore[typeddict-item]
    ("tries", lambda: cerify.simplify("A", tries=-1)),
    ("limit", lambda: cerify.compile("A").push(S, limit=-1)),
    ("limit", lambda: cerify.compile("A").push(S, limit="x")),  # type: ignore[arg-type]
    ("bound", lambda: cerify.equivalent("A", "B", bound=2.5)),  # type: ignore[arg-type]
    ("bound", lambda: cerify.equivalent("A", "B", bound=True)),
    ("languages", lambda: cerify.equivalent("A", "B", languages="cel")),  # type: ignore[arg-type]
    ("seed", lambda: cerify.generate(seed=None)),  # type: ignore[arg-type]
    ("nodes", lambda: cerify.generate(nodes=0)),
    ("events", lambda: cerify.generate(events=-1)),
    ("count", lambda: cerify.explain("A", S, [0], count=0)),
    ("match", lambda: cerify.explain("A", S, 5)),  # type: ignore[arg-type]
    ("a position", lambda: cerify.explain("A", S, "0")),  # type: ignore[arg-type]
    ("at", lambda: cerify.explain("A", S, [0], at="x")),  # type: ignore[arg-type]
    ("valuation", lambda: cerify.explain("A", S, valuation=[1])),  # type: ignore[arg-type]
    ("the valuation of A", lambda: cerify.explain("A", S, valuation={"A": 0})),  # type: ignore[dict-item]
    ("a query", lambda: cerify.parse(3)),  # type: ignore[arg-type]
    ("the types of a schema", lambda: Schema({"A": 3})),  # type: ignore[dict-item]
    ("events must be", lambda: Stream(3)),  # type: ignore[arg-type]
    ("events must be", lambda: cerify.match("A", None)),  # type: ignore[arg-type]
    ("event 0: its attributes", lambda: Stream([Event("A", 3)])),  # type: ignore[arg-type]
    ("language: expected the name", lambda: cerify.match("A", S, language=None)),  # type: ignore[call-overload]
    ("language: expected the name", lambda: cerify.equivalent("A", "A", languages=(5, "cel"))),  # type: ignore[arg-type]
    ("evaluator: expected the name", lambda: cerify.match("A", S, evaluator=[])),  # type: ignore[call-overload]
    ("profile: expected the name", lambda: cerify.generate(profile=[])),  # type: ignore[arg-type]
    ("a key of the valuation: expected the name", lambda: cerify.explain("A", S, valuation={5: [0]})),  # type: ignore[dict-item]
    ("event 0 is 1, which is not an event", lambda: Schema.from_events([1])),  # type: ignore[list-item]
    ("events must be .*, not 'x'", lambda: Schema.from_events("x")),  # type: ignore[arg-type]
    ("unknown event type C", lambda: cerify.match("C", S, strict="yes")),  # type: ignore[typeddict-item]
    ("a position", lambda: cerify.explain("A", S, [[0]])),  # type: ignore[list-item]
    ("a position", lambda: cerify.explain("A", S, valuation={"A": [[0]]})),  # type: ignore[list-item]
    ("a position: .* is not a position of a stream", lambda: cerify.explain("A", S, [10**5000])),
    ("at: .* is not a position of a stream", lambda: cerify.explain("A", S, [0], at=10**30)),
    (r"count: expected at most 10\*\*18", lambda: cerify.explain("A", S, [0], count=2**63 - 1)),
    (r"limit: expected at most 10\*\*18", lambda: cerify.compile("A").push(S, limit=10**30)),
    (r"matches: expected at most 10\*\*18", lambda: cerify.match("A", S, budget=Budget(matches=2**63 - 1))),
    ("states: .* not a number of more than 4300 digits", lambda: Budget(states=10**5000)),
    ("seconds: expected a number that fits in a float", lambda: Budget(seconds=10**400)),
]


MISSPELT: list[tuple[str, Callable[[], Any]]] = [
    ("match has no argument 'budgt'; did you mean 'budget'?", lambda: cerify.match("A", S, budgt=Budget())),  # type: ignore[call-arg]
    ("match has no argument 'langage'; did you mean 'language'?", lambda: cerify.match("A", S, langage="cel")),  # type: ignore[call-arg]
    ("count has no argument 'stric'; did you mean 'strict'?", lambda: cerify.count("A", S, stric=True)),  # type: ignore[call-arg]
    ("compile has no argument 'x'; it has aggregates, budget,", lambda: cerify.compile("A", x=1)),  # type: ignore[call-arg]
    ("explain has no argument 'budgets'", lambda: cerify.explain("A", S, [0], budgets=1)),  # type: ignore[call-arg]
    ("there is no language 'cell'; did you mean 'cel'?", lambda: cerify.match("A", S, language="cell")),
    (
        "there is no language 'Match-Recognize'; did you mean 'row-pattern'?",
        lambda: cerify.parse("A", language="Match-Recognize"),
    ),
    ("there is no language 'x'; use one of cel, core-cel,", lambda: cerify.match("A", S, language="x")),
    ("match has no argument 'type_column'", lambda: cerify.match("A", [{"x": 1}], type_column="x")),  # type: ignore[call-arg]
    ("differ has no argument 'proceses'", lambda: cerify.differ(len, len, proceses=2)),  # type: ignore[call-arg, arg-type]
]


@pytest.mark.parametrize(("message", "call"), MISSPELT, ids=range(len(MISSPELT)))
def test_a_keyword_argument_that_there_is_not_is_named(message: str, call: Callable[[], Any]) -> None:
    """`explain` ignored them, and `match` spoke of a class."""
    with pytest.raises(IllFormed, match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize(("name", "call"), CALLS, ids=range(len(CALLS)))
def test_an_argument_of_a_wrong_kind_is_named(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(CerifyError, match=f"^{name}"):
        call()


@pytest.mark.parametrize("number", ["99999999999999999999", str(2**63 - 1), "9" * 4000], ids=len)
@pytest.mark.parametrize(
    "command", ["match --limit", "match --json --limit", "explain --limit", "explain --derivations"]
)
def test_a_number_that_is_too_large_for_an_option_is_refused(
    command: str, number: str, run: Run, tmp_path: Path
) -> None:
    """islice raised a ValueError, with the status of a fault."""
    (tmp_path / "g.csv").write_text("type\nA\nB\n")
    name, *options = command.split()
    status, out, err = run(name, "A ; B", str(tmp_path / "g.csv"), *options, number)
    assert (status, out) == (2, "")
    assert re.match(rf"cerify: invalid value for '{options[-1]}': [0-9.]+ is too large: .* 10\*\*18\n", err)
    status, out, _ = run(name, "A ; B", str(tmp_path / "g.csv"), *options, str(10**18))
    assert (status, out == "") == (0, False)


def test_positions_of_very_many_digits_are_refused_in_short(run: Run, tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("type\nA\n")
    status, _, err = run("explain", "A", str(tmp_path / "g.csv"), "--match", "9" * 5000)
    assert (status, len(err) < 200, "as in 1,8; '999" in err) == (2, True, True)


def test_a_name_of_very_many_characters_is_cut_in_a_message(run: Run, tmp_path: Path) -> None:
    """It went to standard error as a whole."""
    (tmp_path / "g.csv").write_text(f"type,{'x' * 1_000_000}\nA,1\n")
    for query, options in (("A", ["--type", "kind"]), ("A FILTER A.y > 1", []), ("A FILTER A.y > 1", ["--strict"])):
        status, _, err = run("match", query, str(tmp_path / "g.csv"), *options)
        assert (status, len(err) < 5_000, "x … x" in err) == (2 if options else 1, True, True)


@pytest.mark.parametrize(
    ("encoding", "hint"), [("iso-8859-1", "; set PYTHONUTF8=1 for UTF-8\n"), ("utf-8", "\n")], ids=["latin", "utf-8"]
)
def test_an_argument_in_another_encoding_than_the_locale_points_to_it(
    encoding: str, hint: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: encoding)
    status, _, err = run("check", "A \udce2\udc88\udca8 B")
    assert status == 2
    assert err.startswith(
        f"cerify: '\\udce2' is not valid Unicode text: it is not {encoding}, the encoding of the locale{hint}"
    )
    with pytest.raises(ParseError, match=r"is not valid Unicode text$"):
        cerify.parse("A \ud83d B")


@pytest.mark.parametrize(
    ("language", "query"),
    [
        ("cel", "A FILTER A.x > {}"),
        ("cel", "A WITHIN {} EVENTS"),
        ("sase", "PATTERN SEQ(A a) WITHIN {} seconds RETURN a.x"),
        ("event-expression", "<{}> A"),
        ("row-pattern", "MATCH_RECOGNIZE (PATTERN (A{{{}}}) DEFINE A AS x > 1)"),
    ],
)
def test_a_number_of_many_digits_is_refused_in_a_short_message(language: str, query: str) -> None:
    with pytest.raises(ParseError, match="the whole number has more than 308 digits") as caught:
        cerify.parse(query.format("1" * 5000), language=language)
    assert len(caught.value.described()) < 400


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    text = "A ; " * 200 + "B B" + " ; A" * 200
    place = text.index("B B") + 2
    line, carets = underline(text, Span(place, place + 1)).split("\n")
    assert line[carets.index("^")] == "B"
    assert line.startswith("…")
    assert line.endswith("…")


@pytest.mark.parametrize("text", ['{"type": "A", "x": "\\ud800"}', '{"type": "\\udc00"}'])
def test_half_of_a_surrogate_pair_is_named(text: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(text + "\n")
    assert "is half of a surrogate pair, not a character; write both halves" in run("match", "A", str(file))[2]


def test_an_array_in_a_json_file_is_read(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "events.json"
    file.write_text('\n[{"type": "A", "x": 1},\n {"type": "B", "x": 2}]')
    assert run("match", "A ; B", str(file), "--json")[1] == '{"at": 1, "events": [0, 1]}\n'
    file.write_text('[{"type": "A", "x": 1}, {"type": "B", "x": "2"}]')
    assert "element 1, field 'x': string, but int in element 0" in run("match", "A FILTER A.x = 1", str(file))[2]


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_a_csv_file_with_another_separator_is_read(sign: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "events.csv"
    file.write_text(f"type{sign}x\nA{sign}1\n")
    assert run("match", "A FILTER A.x = 1", str(file), "--json")[1] == '{"at": 0, "events": [0]}\n'


def test_a_bounded_comparison_states_the_type_of_times(run: Run) -> None:
    queries = ("A+ FILTER A.time <= A.time", "A+ FILTER A.time >= A.time AND A.time <= A.time")
    assert "  attributes: time timestamp\n" in run("equiv", *queries, "--bound", "2")[1]
    assert json.loads(run("equiv", *queries, "--bound", "2", "--json")[1])["time"] == "timestamp"
    schema = '{"A": {"time": "int"}, "B": {"time": "int"}}'
    assert json.loads(run("equiv", *queries, "--bound", "2", "--json", "--schema", schema)[1])["time"] == "int"


def test_of_ordered_rows_positions_are_no_points_in_time(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("type,t,price\nrow,3,5\nrow,1,7\nrow,2,6\n")
    query = "MATCH_RECOGNIZE (ORDER BY t PATTERN (A B) DEFINE B AS B.price < A.price)"
    out = run("explain", query, str(file), "--language", "row-pattern")[1]
    assert out.startswith("at row 2: row t=2 price=6\n{1, 2} is match 1")
    assert "after event" not in out
    after = query.replace("ORDER BY t ", "")
    assert run("explain", after, str(file), "--language", "row-pattern")[1].startswith("after event")


def test_one_row_is_not_several(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("type,x\nrow,1\nrow,2\n")
    query = "MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS x > 1)"
    assert "1 row can be labelled" in run("explain", query, str(file), "--language", "row-pattern", "--match", "1")[1]


AS_JSON: dict[str, list[str]] = {
    "count": ["A", "events.csv"],
    "schema": ["events.csv"],
    "check": ["A"],
    "claims": ["tods21.ex3", "--jobs", "1"],
    "conform": ["--case", "cel/ex3/phi1", "--engine", "denotational"],
    "demo": ["--out", "report"],
    "diff": ["rules", "rules"],
    "draw": ["A", "-o", "a.svg"],
    "engines": [],
    "equiv": ["A", "B"],
    "explain": ["A", "events.csv"],
    "funnel": ["events.csv", "A", "B"],
    "fuzz": ["--cases", "1", "--nodes", "3", "--engine", "denotational"],
    "grade": [],
    "identify": ["--engine", "denotational"],
    "match": ["A", "events.csv"],
    "misses": ["A ; B", "events.csv"],
    "normalize": ["A", "--to", "disjunctive"],
    "simplify": ["A"],
    "step": ["A", "events.csv", "-o", "a.html"],
    "translate": ["A", "--to", "core-cel"],
    "trend": ["run.jsonl"],
    "vectors": ["A"],
    "verify": ["proof.json"],
}
LONG = {"demo", "draw", "identify", "step"}


def test_every_command_but_the_one_that_speaks_the_protocol_prints_json() -> None:
    assert set(AS_JSON) == set(cerify.cli.COMMANDS) - {"engine"}


@pytest.mark.parametrize("command", [pytest.param(c, marks=[pytest.mark.thorough] * (c in LONG)) for c in AS_JSON])
@pytest.mark.slow
def test_all_that_a_command_prints_as_json_is_json(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text("type,x\nA,1\nB,2\n")
    run("equiv", "A", "A", "--certificate", "proof.json")
    Path("rules").mkdir()
    Path("rules", "one.eql").write_text("process where true")
    if command == "trend":
        Path("run.jsonl").write_text(run("conform", *AS_JSON["conform"], "--json")[1])
    _, out, err = run(command, *AS_JSON[command], "--json")
    assert out, err
    try:
        json.loads(out)
    except json.JSONDecodeError:
        assert all(map(json.loads, out.splitlines()))


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("gr", ["grade"]),
        ("match --lang", ["--language"]),
        ("match A --language co", ["core-cel"]),
        ("match A workbench/ex", ["workbench/ex"]),
        ("grade cel-th", ["cel-then", "cel-three"]),
        ("grade --exercises none.jsonl sess", []),
        ("conform --engine auto", ["automaton"]),
        ("conform --suite cel-core --feature plu", ["plus"]),
        ("claims sase07.q1", ["sase07.q1"]),
    ],
)
def test_the_shell_completes_names(words: str, completed: list[str]) -> None:
    """As the shell asks: the words so far in a variable, and which of them is to be completed."""
    complete = BashComplete(cerify.cli.cerify, {}, "cerify", "_CERIFY_COMPLETE")
    *args, incomplete = words.split()
    assert [item.value for item in complete.get_completions(args, incomplete)] == completed


def test_no_command_is_imported_to_complete_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cerify.cli, "load_command", None)
    complete = BashComplete(cerify.cli.cerify, {}, "cerify", "_CERIFY_COMPLETE")
    assert [item.value for item in complete.get_completions([], "")] == sorted(cerify.cli.COMMANDS)


@pytest.mark.parametrize(("command", "suffix"), [("draw", "svg"), ("step", "html")])
def test_what_was_written_as_json(command: str, suffix: str, tmp_path: Path, run: Run) -> None:
    events, file = tmp_path / "events.csv", tmp_path / f"x.{suffix}"
    events.write_text("type,x\nA,1\nB,2\n")
    answer = json.loads(run(command, "A ; B", str(events), "-o", str(file), "--json")[1])
    assert answer["file"] == str(file)
    assert answer["summary"].startswith("2 events")
    assert file.exists()


def test_a_certificate_is_checked_as_json(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "proof.json"
    run("equiv", "A ; B", "(A ; B)", "--certificate", str(file))
    status, out, _ = run("verify", str(file), "--json")
    assert status == 0
    assert json.loads(out) == {
        "language": "cel",
        "claim": "equivalent",
        "level": "events",
        "left": "A ; B",
        "right": "A ; B",
        "schema": False,
        "order": "any",
        "proved": True,
        "reason": None,
    }
    file.write_text(file.read_text().replace("A ; B", "B ; A", 1))
    status, out, _ = run("verify", str(file), "--json")
    assert (status, json.loads(out)["proved"]) == (1, False)


def test_the_table_and_the_json_are_in_one_order(run: Run) -> None:
    arguments = ("match", "(T ; H) FILTER T.id = H.id", "workbench/examples/farm.csv")
    listed = [json.loads(line)["events"] for line in run(*arguments, "--json")[1].splitlines()]
    rows = run(*arguments)[1].splitlines()[3:-2]
    assert [[int(p) for p in row.split()[1:]] for row in rows] == listed


def test_an_entry_of_the_ledger_is_readable_at_80_columns() -> None:
    found = {"id": "a" * 40, "status": "holds", "evidence": "exhaustive", "bound": "all formulas " * 30, "seconds": 0.1}
    lines = entry_text(found).splitlines()
    assert lines[0] == f"{'a' * 40}: holds, exhaustive, 0.1 s"
    assert max(map(len, lines)) <= WIDTH
    assert lines[1].startswith("    checked: all formulas")
    assert "    claim: one thing" in entry_text(found | {"title": "one thing"}).splitlines()


def test_an_argument_that_is_a_bool_is_no_number() -> None:
    with pytest.raises(IllFormed, match="states: expected a whole number of at least 0, not True"):
        Budget(states=True)


def test_a_fault_of_cerify_is_no_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An operator that one function had forgotten ended `equiv` with status 1, which is that of queries that differ."""

    def fails(*_: object, **__: object) -> None:
        raise AssertionError("unreachable")

    monkeypatch.setattr(cerify.cli.cerify, "main", fails)
    with pytest.raises(SystemExit) as exit_:
        cerify.cli.main()
    assert exit_.value.code == 70
    err = capsys.readouterr().err
    assert "AssertionError: unreachable" in err
    assert "a defect of cerify" in err


def test_sase_without_seq_does_not_look_like_core_cel(run: Run) -> None:
    """AS is a mark of core-CEL, where the query fails at the same place."""
    status, _, err = run("check", "PATTERN A+ a[] WITHIN 9 seconds RETURN count(a[]) AS c", "--language", "sase")
    assert (status, err.partition("\n")[0]) == (2, "cerify: 'A' is not expected here; expected SEQ")


def test_the_ledger_has_a_help_where_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "a" / "b" / "claims.py"))
    status, out, _ = run("claims", "--help")
    assert (status, "Not here: the ledger of claims is in the project's source" in " ".join(out.split())) == (0, True)
    status, _, err = run("claims", "run", "--tag", "x")
    assert (status, "clone the project" in err) == (2, True)


@pytest.mark.parametrize(
    ("command", "query", "options"),
    [
        ("match", "A ; (B FILTER B.ts > 3)", []),
        ("match", "A", ["--show", "ts"]),
        ("match", "PATTERN SEQ(A a, B b) WHERE a.ts < b.ts WITHIN 1 hour", ["--language", "sase"]),
        ("match", "MATCH_RECOGNIZE (ORDER BY TS PATTERN (A) DEFINE A AS true)", ["--language", "row-pattern"]),
        ("match", "sequence [A where ts > 3] [B where true]", ["--language", "eql"]),
        ("misses", "A ; (B FILTER B.ts > 3)", []),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("sort", [[], ["--sort"]])
def test_the_column_of_the_time_is_asked_for_as_time(
    command: str, query: str, options: list[str], form: str, sort: list[str], tmp_path: Path, run: Run
) -> None:
    file = tmp_path / f"a.{form}"
    rows = [("B", "2024-03-01T10:01:00Z"), ("A", "2024-03-01T10:00:00Z")]
    lines = (
        ["type,ts", *map(",".join, rows)] if form == "csv" else [json.dumps({"type": t, "ts": ts}) for t, ts in rows]
    )
    file.write_text("\n".join(lines) + "\n")
    asked = run(command, query, str(file), "--time", "ts", *options, *sort)
    assert asked == (2, "", "cerify: the field 'ts' is read as the attribute time: write time instead\n")


def test_a_window_on_the_time_names_the_option_that_mends_it(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.csv"
    file.write_text("type,x,seen\nB,1,2024-03-01T10:01:00Z\nA,1,2024-03-01T10:00:00Z\n")
    assert "; read it from 'seen': --time seen, in Python" in run("match", "A ; B WITHIN 5 minutes", str(file))[2]
    said = run("misses", "A ; B WITHIN 5 minutes", str(file), "--time", "seen")[2]
    assert said.endswith("so sort the stream by it (--sort; in Python, as_stream with sort=True)\n")


def test_lines_of_another_encoding_are_counted_as_the_file_has_them(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"A,x\nA,\xe9\n")
    said = run("match", "A", str(file), "--header", "type,a")[2]
    assert ", line 2: byte 0xe9 is not text in UTF-8: save the file as UTF-8" in said
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"type": "A"}\n{"type": "\xe9"}\n')
    assert ", line 2: not text in UTF-8: write JSON in UTF-8" in run("match", "A", str(file))[2]
