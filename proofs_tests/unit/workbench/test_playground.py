"""What the page of the playground asks of cerify, without a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cerify.equivalence.verdict import Undecided
from cerify.languages import LANGUAGES
from cerify.playground import session
from cerify.playground.session import answer
from cerify.semantics.errors import MissingPackage
from cerify.semantics.packages import naming_extras

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
    assert any(part["trees"] or part["run"] or part["lines"] for part in view["parts"])
    assert ask("compare", **given, other=example["other"], otherLanguage=name)["lines"]
    assert ask("draw", **given).keys() <= {"svg", "error"}
    assert ask("step", **given).keys() <= {"html", "error"}


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


def test_why_positions_are_no_match() -> None:
    view = ask("explain", query="(A ; B) FILTER A.x > 1", events=[0, 2], at=2)
    assert not view["matched"]
    assert "A.x > 1 is false" in json.dumps(view["parts"])


def test_of_several_events_an_expression_is_explained_at_the_last_and_the_page_says_so() -> None:
    given = {"language": "event-expression", "query": "prior(A, B)", "at": 2}
    assert ask("explain", **given, events=[2])["sentence"] == "takes place at event 2: B x=3"
    several = ask("explain", **given, events=[0, 2])
    assert several["sentence"] == "Of the events chosen, the last alone is explained. It takes place at event 2: B x=3"


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
    assert needs == "undecided: this needs z3, which the page does not have; on your own machine:"
    assert install == "pip install 'cerify[solver]'"
    assert command == "cerify equiv 'A FILTER A.x + 1 > 2' 'A FILTER A.x > 1' --language cel"


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


def test_an_exercise_is_graded() -> None:
    assert "cel-then" in [one["id"] for one in ask("tasks")["exercises"]]
    assert ask("grade", id="cel-then", query="Open ; Close")["right"]
    wrong = ask("grade", id="cel-then", query="Open : Close")
    assert not wrong["right"]
    assert wrong["rows"][0] == ["type"]
