"""The commands match and check: what they print, where, and the exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proofs_tests.conftest import Run
from proofs_tests.support import EXAMPLES, FIGURE_1

SCHEMA = '{"T": {"id": "int", "tmp": "int"}, "H": {"id": "int", "hum": "int"}}'


@pytest.fixture
def figure_1(tmp_path: Path) -> str:
    """The stream of tods21, Figure 1, as a CSV file."""
    rows = "".join(f"{e.type},{e.get('id')},{e.get('tmp') or ''},{e.get('hum') or ''}\n" for e in FIGURE_1)
    (tmp_path / "figure-1.csv").write_text("type,id,tmp,hum\n" + rows)
    return str(tmp_path / "figure-1.csv")


@pytest.mark.parametrize("evaluator", ["automaton", "denotational"])
@pytest.mark.parametrize("name", ["phi1", "phi1'", "phi2", "phi3", "phi3'"])
def test_the_papers_examples_from_a_file(name: str, evaluator: str, figure_1: str, run: Run) -> None:
    """tods21, section 3: one line for each match."""
    query, expected = EXAMPLES[name]
    status, out, _ = run("match", query, figure_1, "--json", "--evaluator", evaluator, "--schema", SCHEMA)
    lines = [json.loads(line) for line in out.splitlines()]
    assert all(line.keys() == {"at", "events"} for line in lines)
    assert sorted((line["at"], line["events"]) for line in lines) == [
        (at, list(events)) for at in expected for events in sorted(expected[at])
    ]
    assert status == 0


def test_a_correlated_query_by_automaton_and_by_the_definition(figure_1: str, run: Run) -> None:
    """phi5 compares events with each other."""
    query = EXAMPLES["phi5"][0]
    status, out, _ = run("match", query, figure_1, "--json")
    assert status == 0
    assert len(out.splitlines()) == 3
    _, defined, _ = run("match", query, figure_1, "--json", "--evaluator", "denotational")
    assert sorted(out.splitlines()) == sorted(defined.splitlines())


def test_every_evaluator_matches_a_strategy_over_a_comparison(figure_1: str, run: Run) -> None:
    query = "T ; NXT((T IN A ; H IN B) FILTER A.id = B.id)"
    _, defined, _ = run("match", query, figure_1, "--json", "--evaluator", "denotational")
    assert defined
    for chosen in ([], ["--evaluator", "automaton"], ["--evaluator", "kernel"]):
        status, out, err = run("match", query, figure_1, "--json", *chosen)
        assert (status, sorted(out.splitlines()), err) == (0, sorted(defined.splitlines()), "")


def test_what_the_compiled_loops_do_not_carry_points_to_the_definition(figure_1: str, run: Run) -> None:
    query = "MATCH_RECOGNIZE (PATTERN (A+ B+) DEFINE B AS tmp > A.tmp)"
    status, out, err = run("match", query, figure_1, "--language", "row-pattern", "--evaluator", "kernel", "--json")
    assert (status, out) == (2, "")
    assert "try --evaluator denotational\n" in err
    assert err.endswith("^\n")


def test_valuations_have_bindings(figure_1: str, run: Run) -> None:
    query = "(T ; H) IN A FILTER A.id = 0"
    _, out, _ = run("match", query, figure_1, "--json", "--valuations", "--limit", "1")
    assert json.loads(out) == {"at": 2, "events": [1, 2], "bindings": {"A": [1, 2], "H": [2], "T": [1]}}


@pytest.mark.parametrize(("language", "query"), [("cel", "T+ ; H"), ("core-cel", "(T AS x)+ ; H AS y")])
def test_a_selection_is_the_operator_around_the_query(language: str, query: str, figure_1: str, run: Run) -> None:
    for selection, operator in (("strict", "STRICT"), ("next", "NXT"), ("last", "LAST"), ("max", "MAX"), ("all", "")):
        options = figure_1, "--json", "--language", language
        chosen = run("match", query, *options, "--selection", selection)
        assert chosen == run("match", f"{operator}({query})", *options)
        assert chosen[0] == 0


def test_nothing_found_is_no(figure_1: str, run: Run) -> None:
    assert run("match", "T FILTER T.tmp > 1000", figure_1, "--json") == (1, "", "")
    assert run("match", "T FILTER T.tmp > 1000", figure_1) == (1, "no match in 9 events\n", "")


def test_a_query_that_can_never_match_is_said_to_be_by_explain_as_by_match(figure_1: str, run: Run) -> None:
    warnings = [run(command, "T AND H", figure_1)[2] for command in ("match", "explain")]
    assert warnings[0].startswith("cerify: warning: this has no match on any stream")
    assert warnings[0] == warnings[1] == run("explain", "T AND H", figure_1, "--match", "0,1")[2]
    assert run("explain", "T FILTER T.tmp > 1000", figure_1)[2] == ""


def test_a_limit_does_not_wait_for_all_matches(tmp_path: Path, run: Run) -> None:
    """Sixty events have more than 10^17 matches: enumerated before they are cut, they would never come."""
    (tmp_path / "e.csv").write_text("type\n" + "A\n" * 60)
    status, out, _ = run("match", "A+", str(tmp_path / "e.csv"), "--json", "--limit", "2000")
    assert (status, len(out.splitlines())) == (0, 2000)
    status, out, _ = run("match", "A+", str(tmp_path / "e.csv"))
    assert status == 0
    assert "the first 100 matches; there are more" in out
    assert sum(line.split()[:1] != [] and line.split()[0].isdecimal() for line in out.splitlines()) == 100


def test_standard_input_time_and_type_columns(run: Run) -> None:
    text = "kind,at\nT,5\nH,3\n"
    query = "(T ; H) FILTER T.time = 5 AND H.time = 3"
    status, out, _ = run("match", query, "-", "--json", "--type", "kind", "--time", "at", stdin=text)
    assert (status, json.loads(out)) == (0, {"at": 1, "events": [0, 1]})
    status, _, err = run("match", query, "-", "--format", "jsonl", stdin=text)
    assert status == 2
    assert err.startswith("cerify: standard input, line 1: not JSON: ")


def test_the_table_says_positions_events_and_how_many(figure_1: str, run: Run) -> None:
    status, out, _ = run("match", EXAMPLES["phi1"][0], figure_1, "--valuations")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert status == 0
    assert lines[0] == ["at", "events", "bindings"]
    assert lines[2] == ["2", "1", "2", "H:", "2"]
    assert lines[3] == ["T:", "1"]
    assert lines[-1] == ["3", "matches", "in", "9", "events"]


def test_on_a_terminal_the_events_are_shown(figure_1: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as rich understands it: standard output is a terminal
    _, out, _ = run("match", "T FILTER T.tmp = 45", figure_1)
    assert "T id=0 tmp=45" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["T ; (H", "{}"], "cerify: the query ends too early; this bracket is never closed\nT ; (H\n    ^\n"),
        (["T", "gone.csv"], "cerify: no file gone.csv\n"),
        (["T", "{}", "--schema", '{"T": {"id": "int"}}'], "cerify: {}, line 2, field 'type': unknown event type 'H'"),
        (["T", "{}", "--schema", "gone.json"], "cerify: no file gone.json\n"),
        (
            ["T", "{}", "--time", "when"],
            "cerify: {}: no column 'when' for the time; the columns are type, id, tmp, hum",
        ),
        (["T FILTER T.hum = 1", "{}", "--schema", SCHEMA], "cerify: T has no attribute 'hum'; it has id, tmp\n"),
    ],
)
def test_what_is_wrong_gets_one_message(arguments: list[str], message: str, figure_1: str, run: Run) -> None:
    status, out, err = run("match", *(a.replace("{}", figure_1) if a == "{}" else a for a in arguments))
    assert (status, out) == (2, "")
    assert err.startswith(message.replace("{}", figure_1))


@pytest.mark.parametrize("option", [["--language", "sql"], ["--evaluator", "x"], ["--limit", "0"], ["--format", "xls"]])
def test_an_option_that_does_not_exist_is_a_usage_error(option: list[str], figure_1: str, run: Run) -> None:
    status, out, err = run("match", "T", figure_1, *option)
    assert (status, out) == (2, "")
    assert f"invalid value for '{option[0]}'" in err


def test_the_installed_program_reports_a_bad_row(tmp_path: Path) -> None:
    """As a process of its own, with a real standard input."""
    process = subprocess.run(
        [sys.executable, "-c", "from cerify.cli import main; main()", "match", "T", "-", "--schema", SCHEMA],
        input="type,id\nT,1\nT,x\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == "cerify: standard input, line 3, field 'id': 'x' is not an integer\n"


def test_check_prints_the_pinned_json(run: Run) -> None:
    assert run("check", "T ; H", "--json", "--schema", SCHEMA) == (
        0,
        '{"language": "cel", "fragment": {"unary": true, "star": true, "beyond_star": []}, '
        '"satisfiable": true, "problems": []}\n',
        "",
    )
    status, out, _ = run("check", "(T ; H) FILTER T.hum = H.id", "--json", "--schema", SCHEMA)
    assert status == 1
    assert json.loads(out) == {
        "language": "cel",
        "fragment": {"unary": False, "star": True, "beyond_star": []},
        "satisfiable": None,
        "problems": [
            {
                "rule": "attribute",
                "message": "T has no attribute 'hum'; it has id, tmp",
                "mend": "name an attribute that the type has, or add this one to the schema",
                "span": [15, 27],
            },
        ],
    }


def test_check_underlines_every_problem(run: Run) -> None:
    status, out, _ = run("check", "T FILTER T.hum = 3 AND X.y = 3", "--schema", SCHEMA)
    assert status == 1
    assert out == (
        "CEL*, unary\n"
        "\nattribute: T has no attribute 'hum'; it has id, tmp\n"
        "T FILTER T.hum = 3 AND X.y = 3\n"
        "         ^^^^^^^^^\n"
        "to mend it: name an attribute that the type has, or add this one to the schema\n"
        "\nunbound: nothing here binds X; bound are T\n"
        "T FILTER T.hum = 3 AND X.y = 3\n"
        "                       ^^^^^^^\n"
        "to mend it: bind the variable, or name one that is bound\n"
    )


def test_check_says_what_was_probably_meant(run: Run) -> None:
    status, out, _ = run("check", "(T IN first ; H) FILTER frist.tpm > 3 AND first.tpm > 3", "--schema", SCHEMA)
    assert status == 1
    assert "to mend it: did you mean first? Or bind the variable" in out
    assert "to mend it: did you mean tmp? Or name an attribute" in out


def test_check_names_the_predicates_that_have_to_be_registered(run: Run) -> None:
    query = "(T ; H) FILTER near(T, H) AND hot(T) OR near(T, H)"
    status, out, _ = run("check", query)
    assert status == 0
    assert out.splitlines()[1] == "needs registered predicates: near(T, H), hot(T)"
    answer = json.loads(run("check", query, "--json")[1])
    assert answer["predicates"] == [
        {"name": "near", "variables": ["T", "H"]},
        {"name": "hot", "variables": ["T"]},
    ]


def test_check_finds_a_variable_that_nothing_uses(run: Run) -> None:
    status, out, _ = run("check", "PROJECT[T](T ; H IN spare)")
    assert status == 1
    assert out.splitlines()[2:] == [
        "unused: spare is bound here and nothing uses it: no filter around it names it, no output has it",
        "PROJECT[T](T ; H IN spare)",
        "               ^^^^^^^^^^",
        "to mend it: leave the variable out, or ask for it in a filter or in PROJECT",
    ]


def test_check_underlines_what_does_not_parse(run: Run) -> None:
    """A text that is no formula is an input error, not a formula with a problem."""
    status, out, err = run("check", "T ;; H", "--json")
    assert (status, out) == (2, "")
    assert err.startswith("cerify: ';' is not expected here")
    assert err.endswith("\nT ;; H\n   ^\n")


def test_core_cel_is_matched_and_checked_by_its_own_definition(figure_1: str, run: Run) -> None:
    correlated = "(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER x.hum < 30 AND z.hum > 60 AND x.id = z.id"
    status, out, _ = run("match", correlated, figure_1, "--language", "core-cel", "--json")
    assert status == 0
    assert [json.loads(line)["events"] for line in out.splitlines()] == [[3, 4, 6, 7], [3, 4, 7], [3, 6, 7]]
    _, by_automaton, _ = run(
        "match", correlated, figure_1, "--language", "core-cel", "--json", "--evaluator", "automaton"
    )
    assert sorted(by_automaton.splitlines()) == sorted(out.splitlines())
    status, out, _ = run("check", "T AS x ; T AS x", "--language", "core-cel", "--json")
    assert status == 1
    assert json.loads(out)["fragment"] == {"unary": True, "well_formed": True, "safe": False, "lp_normal": True}


@pytest.mark.parametrize(
    ("query", "unary", "words"),
    [
        ("A+ WITHIN 3 EVENTS", False, "equiv decides it"),
        ("A+ WITHIN 3 seconds", False, "equiv decides it"),
        ("A+ PARTITION BY [x]", False, "equiv decides it"),
        ("A+ FILTER A.x < A.x", False, "it compares events with each other"),
        ("A{2,3}", True, "CEL*, unary"),
    ],
)
def test_check_says_what_an_automaton_carries(query: str, unary: bool, words: str, run: Run) -> None:
    """A window that counts is not unary by Definition 4.1, and decided all the same."""
    assert words in run("check", query)[1].splitlines()[0]
    assert json.loads(run("check", query, "--json")[1])["fragment"]["unary"] is unary
    decided = run("equiv", query, f"({query}) AND ({query})", "--bound", "0")[1].startswith("equivalent")
    assert decided is (unary or "equiv decides" in words)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mtach", "A", "x.csv"], "did you mean 'match'?"),
        (["grade", "cel-thn"], "did you mean 'cel-then'?"),
        (
            ["check", "A ; B filter A.x > 1"],
            "written in capitals: FILTER\nA ; B filter A.x > 1\n      ^^^^^^",
        ),
        (["check", "PATTERN SEQ(A a, B b)"], "it is a query in another language: --language sase"),
        (["check", "relative(A, B)"], "it is a query in another language: --language event-expression"),
        (["check", "A ; B", "--language", "sase"], "it is a query in another language: --language cel"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_nearly_right_is_named(arguments: list[str], message: str, run: Run) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_what_is_a_query_in_no_language_has_no_such_hint(run: Run) -> None:
    _, _, err = run("check", "A ; ; B")
    assert "another language" not in err
