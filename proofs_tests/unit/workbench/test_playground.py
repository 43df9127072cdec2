"""What the page of the playground asks of cerify, without a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cerify.languages import LANGUAGES
from cerify.playground.session import answer

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
    assert view["parts"] or view["svg"]
    assert ask("compare", **given, other=example["other"], otherLanguage=name)["lines"]
    assert ask("draw", **given).keys() <= {"svg", "error"}
    assert ask("step", **given).keys() <= {"html", "error"}


def test_an_error_has_its_place() -> None:
    error = ask("evaluate", query="A ; ; B")["error"]
    assert (error["code"], error["span"]) == ("parse", [4, 5])
    assert ask("evaluate", stream=[["type", "x"], ["", "1"]])["error"]["code"] == "input"


def test_what_the_events_do_not_have_is_a_warning() -> None:
    (warning,) = ask("evaluate", query="A ; C")["warnings"]
    assert "C" in warning["message"]


def test_why_positions_are_no_match() -> None:
    view = ask("explain", query="(A ; B) FILTER A.x > 1", events=[0, 2], at=2)
    assert not view["matched"]
    assert "A.x > 1 is false" in json.dumps(view["parts"])


def test_two_queries_differ_on_a_stream_that_can_be_shown() -> None:
    found = ask("compare", query="NXT(A ; B)", other="LAST(A ; B)", otherLanguage="cel")
    assert found["verdict"] == "different"
    assert found["rows"] == [["type"], ["A"], ["A"], ["B"]]
    assert ask("compare", other="A ; B", otherLanguage="cel")["verdict"] == "equivalent"


def test_an_exercise_is_graded() -> None:
    assert "cel-then" in [one["id"] for one in ask("tasks")["exercises"]]
    assert ask("grade", id="cel-then", query="Open ; Close")["right"]
    wrong = ask("grade", id="cel-then", query="Open : Close")
    assert not wrong["right"]
    assert wrong["rows"][0] == ["type"]
