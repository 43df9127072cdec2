"""What the page of the playground asks of cerify, without a browser."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cerify
from cerify import protocol
from cerify.automata.evaluator import Output
from cerify.commands import engine
from cerify.equivalence.verdict import Undecided
from cerify.grade.grading import exercise
from cerify.languages import LANGUAGES
from cerify.languages.language import Explanations
from cerify.playground import __main__ as playground
from cerify.playground import session
from cerify.playground.session import answer
from cerify.semantics import packages
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import InputError, MissingPackage, Unsupported
from cerify.semantics.events import Match
from cerify.semantics.json_events import json_of_event
from cerify.semantics.match_frames import PositionArrays
from cerify.semantics.packages import naming_extras
from proofs_tests.conftest import Run

STREAM = [["type", "x"], ["A", "1"], ["A", "2"], ["B", "3"]]


def ask(do: str, **fields: Any) -> Any:
    defaults = {"language": "cel", "query": "A ; B", "stream": STREAM}
    return json.loads(answer(json.dumps({"do": do} | defaults | fields)))


@pytest.mark.parametrize("name", list(LANGUAGES))
def test_the_example_of_every_language_has_matches_and_pictures(name: str) -> None:
    (language,) = [one for one in ask("languages")["languages"] if one["name"] == name]
    example = language["example"]
    given = {"language": name, "query": example["query"], "stream": example["stream"]}
    found = ask("evaluate", **given)
    assert found["matches"]
    assert not found["warnings"]
    assert found["svg"].startswith("<svg")
    match = found["matches"][0]
    view = ask("explain", **given, events=match["events"], at=match["at"])
    assert view["matched"]
    if type(LANGUAGES[name].explanations).explainer is not Explanations.explainer:  # which says only that it is a match
        assert any(part["trees"] or part["run"] or part["lines"] for part in view["parts"])
    assert ask("compare", **given, other=example["other"], otherLanguage=name)["lines"]
    assert ask("draw", **given).keys() <= {"svg", "error"}
    assert ask("step", **given).keys() <= {"html", "error"}


@pytest.mark.parametrize("output", ["matches", "valuations"])
@pytest.mark.parametrize("name", list(LANGUAGES))
def test_every_writer_of_matches_writes_the_same_fields(name: str, output: Output, tmp_path: Path, run: Run) -> None:
    """Fields, their order and values are those of Match.json: in the API, commands, the protocol and tables."""
    (language,) = [one for one in ask("languages")["languages"] if one["name"] == name]
    query, rows = language["example"]["query"], language["example"]["stream"]
    (tmp_path / "e.csv").write_text("\n".join(map(",".join, rows)))
    S = cerify.as_stream(tmp_path / "e.csv")
    try:
        matches = cerify.match(query, S, language=name, output=output)
    except Unsupported:
        assert output == "valuations"
        return
    expected = [json.dumps(match.json(), ensure_ascii=False) for match in matches]
    assert expected

    valuations = ["--valuations"] if output == "valuations" else []
    status, printed, error = run("match", query, str(tmp_path / "e.csv"), "--language", name, "--json", *valuations)
    if status == 2:
        assert "leave out --valuations" in error
    else:
        assert (sorted(printed.splitlines()), error) == (sorted(expected), "")
    if not valuations:
        pasted = ask("evaluate", language=name, query=query, stream=rows)
        assert [json.dumps(match, ensure_ascii=False) for match in pasted["matches"]] == expected

    message = {"language": name, "query": query, "output": output, "events": list(map(json_of_event, S))}
    served = {name: lambda query, S, options: list(cerify.match(query, S, language=name, output=options.output))}
    sent = engine.run(message, served)["matches"]
    assert list(map(json.dumps, sent)) == list(map(json.dumps, (match.json() for match in matches)))
    if output == "valuations":
        assert [match.json() for match in protocol.matches_of_json(sent, output)] == sent

    columns = cerify.Matches(list(matches)).to_arrow().to_pylist(maps_as_pydicts="strict")
    for row, match in zip(columns, matches, strict=True):
        assert [*row] == [field.name for field in fields(Match)]
        row["result"] = row["result"] and json.loads(row["result"])
        assert json.dumps(row) == json.dumps({name: match.json().get(name) for name in row})

    ends = np.cumsum([0, *(len(match.events) for match in matches)])
    places = np.array([place for match in matches for place in match.events], np.int64)
    arrays = PositionArrays(np.array([match.at for match in matches]), ends, places)
    alone = [Match(match.at, match.events) for match in matches]
    assert arrays.json_lines().splitlines() == [json.dumps(match.json()) for match in alone]
    assert arrays.table().equals(cerify.Matches(alone).to_arrow())


@pytest.mark.parametrize("name", list(LANGUAGES))
def test_the_queries_to_try_fit_the_example_and_differ(name: str) -> None:
    (language,) = [one for one in ask("languages")["languages"] if one["name"] == name]
    example = language["example"]
    found = [ask("evaluate", language=name, query=query, stream=example["stream"]) for query, _ in example["variants"]]
    assert not any("error" in one or one["warnings"] for one in found)
    answers = {json.dumps([match["events"] for match in one["matches"]]) for one in found}
    assert len(answers - {"[]"}) == len(found)


def test_an_error_has_its_place() -> None:
    error = ask("evaluate", query="A ; ; B")["error"]
    assert (error["code"], error["span"]) == ("parse", [4, 5])
    assert ask("evaluate", stream=[["type", "x"], ["", "1"]])["error"]["code"] == "input"


def test_a_query_in_another_language_is_named_as_the_list_has_it() -> None:
    asked = (("cel", "PATTERN SEQ(A a)", "SASE+"), ("cel", "PATTERN SEQ(", "SASE+"), ("sase", "A ; B", "CEL"))
    for language, query, title in asked:
        message = ask("evaluate", language=language, query=query)["error"]["message"]
        assert message.endswith(f"; this is {title}: choose it in the list of languages")


def test_what_the_events_do_not_have_is_a_warning() -> None:
    (warning,) = ask("evaluate", query="A ; C")["warnings"]
    assert "C" in warning["message"]


def test_a_type_that_no_query_can_name_is_a_warning() -> None:
    stream = [["type", "x"], ["A", "1"], ["🔥", "2"], ["B", "3"]]
    (warning,) = ask("evaluate", stream=stream)["warnings"]
    assert warning["message"].startswith("no query can name the event type '🔥'")
    row = [["type", "x"], ["a row", "1"]]
    assert not ask("evaluate", language="row-pattern", query="MATCH_RECOGNIZE (PATTERN (A))", stream=row)["warnings"]


def test_a_query_that_can_have_no_match_is_a_warning() -> None:
    (warning,) = ask("evaluate", query="A AND B")["warnings"]
    assert warning["message"].startswith("this has no match on any stream: AND needs one match that both sides have")
    assert not ask("evaluate", query="A FILTER A.x > 9")["warnings"]


def test_why_positions_are_no_match() -> None:
    view = ask("explain", query="(A ; B) FILTER A.x > 1", events=[0, 2], at=2)
    assert not view["matched"]
    assert "A.x > 1 is false" in json.dumps(view["parts"])


def test_of_several_events_an_expression_is_explained_at_the_last_and_the_page_says_so() -> None:
    given = {"language": "event-expression", "query": "prior(A, B)", "at": 2}
    assert ask("explain", **given, events=[2])["sentence"] == "takes place at event 2: B x=3"
    assert ask("explain", **given, events=None)["matched"]
    several = ask("explain", **given, events=[0, 2])
    assert several["sentence"] == "Only the last of the chosen events is explained. It takes place at event 2: B x=3"


def test_matches_of_a_derived_stream_are_drawn_on_it() -> None:
    """The match {0, 1} is of the two results of the first query, and the input's first two events were marked."""
    query = """PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { } RETURN C(a.x AS y) IN STREAM s;
FROM s PATTERN SEQ(C c, C d) WHERE skip_till_next_match(c, d) { } RETURN D(d.y AS z)"""
    rows = [["type", "x"], ["B", "0"], ["A", "1"], ["B", "2"], ["A", "3"], ["B", "4"]]
    given = {"language": "sase", "query": query, "stream": rows}
    found = ask("evaluate", **given)
    assert "error" not in found, found
    (match,) = found["matches"]
    assert match["events"] == [0, 1]
    for drawn in (found["svg"], ask("explain", **given, events=match["events"], at=match["at"])["svg"]):
        assert ">C<" in drawn
        assert ">A<" not in drawn


def test_two_queries_differ_on_a_stream_that_can_be_shown() -> None:
    found = ask("compare", query="NXT(A ; B)", other="LAST(A ; B)", otherLanguage="cel")
    assert found["verdict"] == "different"
    assert found["rows"] == [["type"], ["A"], ["A"], ["B"]]
    assert ask("compare", other="A ; B", otherLanguage="cel")["verdict"] == "equivalent"


def test_what_the_page_lacks_is_said_with_the_command_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It said pip install, in a page where nothing can be installed."""
    with pytest.raises(MissingPackage) as caught, naming_extras():
        raise ModuleNotFoundError(name="z3")
    monkeypatch.setattr(session, "equivalent", lambda *_, **__: Undecided(caught.value.message))
    found = ask("compare", query="A FILTER A.x + 1 > 2", other="A FILTER A.x > 1", otherLanguage="cel")
    needs, install, command = found["lines"]
    assert needs.startswith("undecided: ")
    assert needs.endswith("this needs z3, which the page does not have; on your own machine:")
    assert install == "pip install 'cerify[solver]'"
    assert command == "cerify equiv 'A FILTER A.x + 1 > 2' 'A FILTER A.x > 1' --language cel"


def test_what_needs_z3_is_tried_on_short_streams_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for attribute in vars(packages.z3).keys() - {"_name"}:  # that a test before this one has used
        monkeypatch.delattr(packages.z3, attribute)
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.setattr(session, "STREAMS", 200)
    asked = {"query": "T ; H FILTER T.tmp > H.hum", "otherLanguage": "cel"}
    found = ask("compare", **asked, other="T ; H FILTER T.tmp >= H.hum")
    assert found["lines"][0] == "different: on a stream of 2 events, perhaps not the shortest"
    assert len(found["rows"]) == 3
    found = ask("compare", **asked, other="T ; H FILTER T.tmp > H.hum AND T.tmp != H.hum")
    assert found["verdict"] == "undecided"
    assert "no difference on streams of up to 2 events" in found["lines"][0]
    assert "this needs z3, which the page does not have" in found["lines"][0]
    monkeypatch.setattr(session, "TRYING", 1e-9)  # seconds, so that not all streams of one event are tried
    found = ask("compare", **asked, other="T ; H FILTER T.tmp > H.hum AND T.tmp != H.hum")
    assert found["lines"][0].startswith("undecided: ")
    assert "this needs z3, which the page does not have" in found["lines"][0]


def test_what_takes_too_long_has_no_advice_that_the_page_cannot_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "BUDGET", Budget(seconds=0))
    simpler = "the call takes more than 0 seconds; simplify the query"
    assert ask("evaluate")["error"]["message"] == f"{simpler}, or take a shorter stream"
    monkeypatch.setitem(session.REQUESTS, "draw", session.evaluate)
    assert ask("draw")["error"]["message"] == simpler
    assert ask("compare", other="B ; A", otherLanguage="cel")["lines"] == [f"undecided: {simpler}"]


def test_a_type_that_only_the_second_query_misspells_is_a_warning() -> None:
    (warning,) = ask("compare", other="A ; Bb", otherLanguage="cel")["warnings"]
    assert warning.startswith("warning: unknown event type Bb; the events have A, B")
    assert not ask("compare", query="C ; D", other="D ; C", otherLanguage="cel", stream=[["type"]])["warnings"]
    assert not ask("compare", query="C", other="A OR C", otherLanguage="cel")["warnings"]


def test_a_language_that_there_is_not_is_named() -> None:
    """A link that was changed ended in a KeyError."""
    for do in ("evaluate", "compare", "explain", "draw", "step", "read"):
        found = ask(do, query="A", language="celt", other="A", otherLanguage="celt", events=[0], at=0, text="type")
        assert "there is no language 'celt'" in found["error"]["message"], do
    assert "there is no language 'x'" in ask("compare", query="A", other="A", otherLanguage="x")["error"]["message"]


def test_languages_that_cannot_be_compared_are_named() -> None:
    comparable = {one["name"]: one["comparable"] for one in ask("languages")["languages"]}
    assert comparable["cel"] == ["cel", "core-cel", "ceql"]
    assert comparable["sase"] == ["sase"]
    for name, others in comparable.items():
        for other in LANGUAGES.keys() - set(others):
            found = ask("compare", language=name, query="A", otherLanguage=other, other="A")
            assert found["lines"][0].startswith("not compared: queries in ")


PASTED = [
    "type,user,n\nLogin,alice,1\nLogout,bob,2.5",
    'user,type,n\r\n"alice",Login,1\r\n bob ,Logout,2.5\r\n',
    "type\tuser\tn\nLogin\talice\t1\nLogout\tbob\t2.5\n",
    '[{"type": "Login", "user": "alice", "n": 1}, {"type": "Logout", "user": "bob", "n": 2.5}]',
    '{"type": "Login", "user": "alice", "n": 1}\n{"n": 2.5, "type": "Logout", "user": "bob"}\n',
]


@pytest.mark.parametrize("text", PASTED)
def test_what_is_pasted_becomes_the_stream(text: str) -> None:
    rows = [["type", "user", "n"], ["Login", "alice", "1"], ["Logout", "bob", "2.5"]]
    assert ask("read", text=text)["rows"] == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type,time\nA,1\nB,noon", "the pasted text, line 3, field 'time': 'noon' is not a time; a time is ISO 8601"),
        ("type,x\nA,1,2", "the pasted text, line 2: 3 fields, where the header has 2 (type, x)"),
        ('type,x\nA,"1', "the pasted text, line 2: a quotation mark is opened"),
        ("user,x\na,1", "the pasted text has no column 'type' for the event type; rename one of the columns user, x"),
        ('[{"type": "A"}, {"x": 1}]', "the pasted text, event 1: an event needs the key 'type'"),
        ('[{"type": "A", "x": [1]}]', "the pasted text, event 0, field 'x': the value is a list"),
        ('{"type": "A"}\n{x', "the pasted text, line 2: not JSON"),
        ("type\n" + "A\n" * 1001, "the pasted text has 1001 events; the page takes 1000"),
        ("  ", "the pasted text is empty"),
    ],
)
def test_what_is_pasted_and_is_no_stream_is_an_error_with_its_place(text: str, message: str) -> None:
    assert ask("read", text=text)["error"]["message"].startswith(message)


def test_rows_have_no_type_and_texts_that_look_like_numbers_are_told() -> None:
    assert ask("read", language="row-pattern", text="price\n3")["rows"] == [["type", "price"], ["row", "3"]]
    assert (
        "texts of id are read as other values"
        in ask("read", text='[{"type": "A", "id": "7", "name": "007"}]')["message"]
    )


def test_an_error_in_the_stream_names_its_cell() -> None:
    for stream, message, cell in (
        (
            [["type", "time"], ["A", "1"], ["B", "noon"]],
            "event 1, field 'time': 'noon' is not a time; a time is ISO 8601",
            [1, "time"],
        ),
        ([["type", "time"], ["A", "12:00"], ["B", "3"]], "event 0, field 'time': '12:00' is not a time", [0, "time"]),
        ([["type", "x"], ["A", ""], ["A", "20 C"]], "event 1, field 'x': '20 C' has no clear type", [1, "x"]),
        ([["type", "x"], ["A", "1"], ["", "2"]], "event 1: no event type", [1, "type"]),
    ):
        error = ask("evaluate", stream=stream)["error"]
        assert error["message"].startswith(f"the stream, {message}")
        assert "pip" not in error["message"]
        assert error["cell"] == cell


def test_a_window_over_times_that_go_back_is_a_warning() -> None:
    stream = [["type", "time"], ["A", "10"], ["A", ""], ["B", "-5"]]
    for language, query in (("sase", "PATTERN SEQ(A a, B b) WITHIN 1 hours"), ("cel", "(A ; B) WITHIN 1 hours")):
        warnings = [
            one["message"] for one in ask("evaluate", language=language, query=query, stream=stream)["warnings"]
        ]
        assert any("the time goes back from 10 of event 0 to -5 of event 2" in one for one in warnings)
    assert not ask("evaluate", stream=stream)["warnings"]
    assert not ask("evaluate", query="(A ; B) WITHIN 1 hours", stream=[["type", "time"], ["A", "1"], ["B", "1"]])[
        "warnings"
    ]


def test_a_window_over_a_stream_without_time_is_a_warning() -> None:
    """It read as no match."""
    for language, query in (("sase", "PATTERN SEQ(A a, B b) WITHIN 1 hours"), ("cel", "(A ; B) WITHIN 1 hours")):
        (warning,) = ask("evaluate", language=language, query=query)["warnings"]
        assert "add an attribute time" in warning["message"]
    timed = [["type", "time"], ["A", "1"], ["B", ""]]
    (warning,) = ask("evaluate", language="sase", query="PATTERN SEQ(A a, B b) WITHIN 1 hours", stream=timed)[
        "warnings"
    ]
    assert "B, which b may hold, has no attribute 'time'" in warning["message"]


def test_a_column_without_a_name_and_positions_beyond_the_stream_are_refused() -> None:
    assert "no name" in ask("evaluate", stream=[["type", ""], ["A", "1"]])["error"]["message"]
    for name in LANGUAGES:
        (language,) = [one for one in ask("languages")["languages"] if one["name"] == name]
        given = {"language": name, "query": language["example"]["query"], "stream": language["example"]["stream"]}
        assert "position 77 is not on the stream" in ask("explain", **given, events=[77], at=77)["error"]["message"]


def test_an_operator_that_was_meant_is_named() -> None:
    """`relativ(a, b)` is an event with two attributes."""
    stream = [["type", "x"], ["deposit", "1"], ["withdraw", "2"]]
    given = {"language": "event-expression", "query": "relativ(deposit, withdraw)", "stream": stream}
    assert "did you mean relative?" in json.dumps(ask("evaluate", **given)["warnings"])
    twice = {"query": "relativ(deposit, deposit)", "stream": [["type"], ["deposit"]]}
    error = ask("evaluate", **given | twice)["error"]
    assert error["message"].split("\n")[0].endswith("did you mean relative?")


def test_an_answer_that_does_not_fit_the_events_is_not_graded() -> None:
    found = ask("grade", id="cel-then", query="A ; B")
    assert not found["graded"]
    assert found["lines"][0].startswith("not graded: unknown event type A")


def test_an_option_is_no_folder_to_build_the_page_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--help was: it became a folder with all files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["playground", "--help"])
    with pytest.raises(SystemExit) as ended:
        playground.main()
    assert ended.value.code == 0
    assert "where its files are written" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("of", "looked_up", "message"),
    [
        (playground, "find_spec", "the package cerify is not installed: pip install 'cerify[draw]'"),
        (shutil, "which", "npm is needed to fetch Pyodide and Graphviz; install Node.js"),
    ],
)
def test_what_is_missing_is_found_before_anything_is_fetched(
    of: Any, looked_up: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playground, "_vendor", lambda *_: None)
    monkeypatch.setattr(of, looked_up, lambda _: None)
    with pytest.raises(InputError, match=re.escape(message)):
        playground.build(tmp_path / "site")
    assert not list(tmp_path.iterdir())


def test_an_exercise_is_graded() -> None:
    assert "cel-then" in [one["id"] for one in ask("tasks")["exercises"]]
    proved, tried = (ask("grade", id=id_, query=exercise(id_).answers[-1]) for id_ in ("cel-then", "sase-average"))
    assert (proved["right"], proved["proved"]) == (True, True)
    assert (tried["right"], tried["proved"]) == (True, False)
    wrong = ask("grade", id="cel-then", query="Open : Close")
    assert not wrong["right"]
    assert "hint:" in " ".join(wrong["lines"])
    assert "{0, 2}" not in " ".join(wrong["lines"])
    assert "after event 2 the sentence wants {0, 2}, {1, 2}; yours reports {1, 2}" in wrong["difference"]
    assert wrong["rows"][0] == ["type"]
