"""cerify grade: every right answer is accepted, every wrong one told apart on a shortest stream, in words."""

import json
from itertools import product

import pytest
from click.testing import CliRunner, Result

import cerify
from cerify.commands.grade import command
from cerify.grade.exercises import Exercise, exercise, exercises
from cerify.grade.grading import Right, Wrong, graded
from cerify.grade.text import feedback
from cerify.languages import LANGUAGES
from cerify.semantics.errors import ParseError
from cerify.semantics.events import Event, Stream

WRONG = [(e.id, text) for e in exercises().values() for text in e.wrong]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


GRADED = LANGUAGES.keys() - {"row-pattern"}
"""The languages whose queries can be compared for all streams, so that an answer can be graded."""


def reported(e: Exercise, text: str, S: Stream, evaluator: str) -> set[tuple[int, tuple[int, ...]]]:
    return {(m.at, m.events) for m in cerify.match(text, S, language=e.language, evaluator=evaluator)}


def test_there_are_exercises_of_every_language_and_level() -> None:
    assert len(exercises()) >= 40
    assert {(e.language, e.level) for e in exercises().values()} == set(product(GRADED, (1, 2, 3)))
    assert all(len(e.answers) >= 2 and len(e.wrong) >= 2 for e in exercises().values())


@pytest.mark.parametrize("id_", exercises())
def test_every_right_answer_is_accepted(id_: str) -> None:
    for answer in exercise(id_).answers:
        assert isinstance(graded(exercise(id_), answer), Right), answer


@pytest.mark.parametrize(
    ("id_", "text"),
    [pytest.param(*pair, marks=pytest.mark.thorough if n % 4 else ()) for n, pair in enumerate(WRONG)],
    ids=range(len(WRONG)),
)
def test_every_wrong_answer_is_told_apart_where_two_other_evaluators_see_it_too(id_: str, text: str) -> None:
    e = exercise(id_)
    grade = graded(e, text)
    assert isinstance(grade, Wrong)
    assert grade.wanted != grade.yours
    for formula, claimed in ((e.answers[-1], grade.wanted), (text, grade.yours)):
        found = reported(e, formula, grade.stream, "automaton") if not compares(e) else set()
        found = found or reported(e, formula, grade.stream, "denotational")
        assert tuple(sorted(events for at, events in found if at == grade.at)) == claimed
    assert len(feedback(e, grade)) >= 4 + len(grade.stream) - 1


def compares(e: Exercise) -> bool:
    """Whether its formulas compare events, which no automaton of ours carries in every language."""
    return e.id in ("cel-same", "core-same")


@pytest.mark.parametrize(("id_", "text"), [p for p in WRONG if p[0] in ("cel-row", "core-all", "cel-latest")])
def test_no_shorter_stream_shows_the_difference(id_: str, text: str) -> None:
    e = exercise(id_)
    grade = graded(e, text)
    assert isinstance(grade, Wrong)
    assert grade.shortest
    for length in range(1, len(grade.stream)):
        for types in product(e.schema.types, repeat=length):
            S = Stream(map(Event, types))
            assert reported(e, text, S, "denotational") == reported(e, e.answers[0], S, "denotational")


def test_numbers_that_only_the_answer_mentions_are_tried() -> None:
    """SASE+ is tried on a few values; a limit far from those of the exercise must not go unseen."""
    capped = exercise("sase-rise").answers[0].replace("a[i-1].price", "a[i-1].price and a[i].price < 50")
    grade = graded(exercise("sase-rise"), capped)
    assert isinstance(grade, Wrong)
    assert any(event.get("price") == 50 for event in grade.stream)


def test_what_is_known_is_said() -> None:
    said = {id_: run(id_, exercise(id_).answers[1]).stdout for id_ in ("cel-then", "cel-same", "sase-within")}
    assert said["cel-then"] == "right: it says what the sentence says, on every stream\n"
    assert "no difference on all streams of up to 4 events; longer ones were not looked at" in said["cel-same"]
    assert "no difference on the streams of up to 3 events over a few values" in said["sase-within"]


def test_wrong_feedback_in_words() -> None:
    result = run("cel-then", "Open : Close")
    assert result.return_value == 1
    assert result.stdout.splitlines()[:-1] == [
        "wrong: it differs on this stream of 3 events, and on no shorter one",
        "  0  Open",
        "  1  Open",
        "  2  Close",
        "after event 2 the sentence wants {0, 2}, {1, 2}; yours reports {1, 2}",
        "yours misses the match of events 0 (Open), 2 (Close)",
    ]
    assert (
        "yours takes place at event 2 (withdraw), which the sentence does not want"
        in run("ev-just-before", "prior(deposit, withdraw)").stdout
    )
    assert "yours reports the match of event 0 (T), which" in run("cel-filter", "T").stdout


def test_of_a_long_stream_the_ends_are_shown() -> None:
    lines = run("cel-then", "(Open ; Close) WITHIN 60 EVENTS").stdout.splitlines()
    assert lines[0] == "wrong: it differs on this stream of 61 events, and on no shorter one"
    assert lines[10:13] == ["  9  Open", "  …", "  51  Open"]
    assert lines[21:23] == ["  60  Close", lines[22]]


def test_json_and_exit_status() -> None:
    right, wrong, error = (run("cel-or", f, "--json") for f in ("Close OR Open", "Open", "Open OR"))
    assert (right.return_value, wrong.return_value, error.return_value) == (0, 1, 2)
    assert json.loads(right.stdout)["grade"] == "right"
    assert json.loads(wrong.stdout)["difference"] == {
        "events": [{"type": "Close"}],
        "at": 0,
        "wanted": [[0]],
        "yours": [],
        "shortest": True,
    }
    assert json.loads(error.stdout)["error"]["code"] == "parse"


def test_a_wrong_parse_is_underlined() -> None:
    with pytest.raises(ParseError) as caught:
        graded(exercise("cel-then"), "Open ; ; Close")
    assert caught.value.described().splitlines()[1:] == ["Open ; ; Close", "       ^"]


def test_a_type_that_there_is_not_is_an_error_and_no_grade() -> None:
    result = run("cel-then", "Open ; Klose")
    assert "unknown event type Klose" in str(result.exception)


def test_list_task_and_solution() -> None:
    listed = run().stdout
    assert all(e.id in listed and e.sentence in listed for e in exercises().values())
    assert run("cel-then").stdout.splitlines()[1] == exercise("cel-then").sentence
    assert "Open ; Close" not in run("cel-then").stdout
    assert run("--show", "cel-then").stdout.splitlines()[0] == "Open ; Close"
    assert [json.loads(line)["id"] for line in run("--json").stdout.splitlines()] == list(exercises())
    only = [json.loads(line)["language"] for line in run("--language", "sase", "--json").stdout.splitlines()]
    assert set(only) == {"sase"}
    assert "no exercise 'nope'" in str(run("nope").exception)
