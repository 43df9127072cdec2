"""cerify grade: every right answer is accepted, every wrong one told apart on a shortest stream, in words."""

import json
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import cerify
from cerify.commands.grade import command
from cerify.grade.exercises import Exercise, exercise, exercises
from cerify.grade.grading import Misfit, Right, Wrong, graded
from cerify.grade.sheet import require_right
from cerify.grade.text import feedback
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError, InputError, ParseError
from cerify.semantics.events import Event, Stream

WRONG = [(e.id, text) for e in exercises().values() for text in e.wrong]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def reported(e: Exercise, text: str, S: Stream, evaluator: str) -> set[tuple[int, tuple[int, ...]]]:
    return {(m.at, m.events) for m in cerify.match(text, S, language=e.language, evaluator=evaluator)}


def test_there_are_exercises_of_every_language_and_level() -> None:
    assert len(exercises()) == 84
    assert {(e.language, e.level) for e in exercises().values()} == set(product(LANGUAGES, (1, 2, 3)))
    assert {e.session for e in exercises().values()} == set(range(1, 9))
    assert all(len(e.answers) >= 2 and len(e.wrong) >= 2 and e.hint for e in exercises().values())


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
    lines = feedback(e, grade, text)
    assert len(lines) >= 5 + min(len(grade.stream), 21) - 1
    assert lines[-2:] == [f"hint: {grade.mistake.hint}", f"hint: {e.hint}"]


def compares(e: Exercise) -> bool:
    """Whether its formulas compare events, which no automaton of ours carries in every language."""
    return e.id in ("cel-same", "core-same", "cel-other-user", "cel-rising")


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
    assert result.stdout.splitlines() == [
        "wrong: it differs on this stream of 3 events, and on no shorter one",
        "  0  Open",
        "  1  Open",
        "  2  Close",
        "after event 2 the sentence wants {0, 2}, {1, 2}; yours reports {1, 2}",
        "yours misses the match of events 0 (Open), 2 (Close)",
        "hint: your formula lets no event lie between, and the sentence does not ask for that",
        "hint: There are two signs for one thing after another; one of them lets events lie between.",
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


def test_a_name_that_there_is_not_is_a_wrong_answer() -> None:
    result = run("cel-then", "Open ; Klose")
    assert result.return_value == 1
    assert result.stdout.splitlines() == [
        "wrong: unknown event type Klose; the schema has Open, Close, Alarm; did you mean Close?",
        "Open ; Klose",
        "       ^^^^^",
    ]
    found = json.loads(run("cel-filter", "T FILTER T.temp > 40", "--json").stdout)
    assert found["grade"] == "wrong"
    assert found["problem"]["message"].endswith("did you mean tmp?")
    for id_, text in (("sase-price", "PATTERN SEQ(Stok a) RETURN a.price"), ("ev-mask", "withdraw[amont > 1]")):
        grade = graded(exercise(id_), text)
        assert isinstance(grade, Misfit)
        assert "did you mean" in grade.message


@pytest.mark.parametrize(
    ("id_", "text", "kind"),
    [
        ("cel-filter", "T FILTER T.tmp >= 40", "comparison"),
        ("cel-range", "T FILTER T.tmp >= 20 OR T.tmp <= 40", "connective"),
        ("cel-filter", "T FILTER T.tmp > 41", "number"),
        ("cel-filter", "T FILTER T.id > 40", "attribute"),
        ("cel-several", "Open ; Alarm", "operator"),
        ("cel-three", "Open ; Alarm", "event type"),
        ("cel-two", "Open ; Open ; Open ; Alarm", "number of events"),
        ("cel-next-to", "Close : Open", "arrangement"),
        ("core-two-conditions", "T AS x ; H AS y FILTER x.tmp > 40", "condition"),
    ],
)
def test_the_hint_follows_the_mistake(id_: str, text: str, kind: str) -> None:
    grade = graded(exercise(id_), text)
    assert isinstance(grade, Wrong)
    assert grade.mistake.kind == kind


def test_a_wrong_comparison_gets_another_hint_than_a_missing_iteration() -> None:
    """Of an answer with both mistakes, the stream decides: it has the boundary itself."""
    one, other, both = (
        graded(exercise("cel-each"), text)
        for text in (
            "T+ ; H FILTER T.tmp >= 40 AND H.hum < 20",
            "T ; H FILTER T.tmp > 40 AND H.hum < 20",
            "T ; H FILTER T.tmp >= 40 AND H.hum < 20",
        )
    )
    assert isinstance(one, Wrong)
    assert isinstance(other, Wrong)
    assert isinstance(both, Wrong)
    assert "comparisons" in one.mistake.hint
    assert "no iteration" in other.mistake.hint
    boundary = any(event.get("tmp") == 40 or event.get("hum") == 20 for event in both.stream)
    assert both.mistake == (one if boundary else other).mistake


@pytest.mark.parametrize(
    "id_", [pytest.param(id_, marks=pytest.mark.thorough if n % 5 else ()) for n, id_ in enumerate(exercises())]
)
def test_a_mutated_answer_is_wrong_with_a_hint(id_: str) -> None:
    """A simpler query than a right answer, the first of the shrinker's that fits and means something else."""
    e = exercise(id_)
    language = LANGUAGES[e.language]
    operations = language.operations()
    assert operations is not None
    answers = map(language.parse, e.answers)
    for mutant in (q for answer in answers for reduction in operations.reductions for q in reduction(answer)):
        try:
            text = language.show(mutant)
            grade = graded(e, text)
        except CerifyError:
            continue
        if not isinstance(grade, Right):
            assert feedback(e, grade, text)[0].startswith("wrong: ")
            assert not isinstance(grade, Wrong) or grade.mistake.hint
            return
    pytest.fail(f"no mutant of {e.answers} is wrong")


def test_a_sheet_is_marked_as_gradescope_reads_it(tmp_path: Path) -> None:
    answers, out = tmp_path / "answers.json", tmp_path / "results.json"
    answers.write_text(
        json.dumps({"cel-then": "Open ; Close", "cel-or": "Open ; Close", "cel-event": "(", "cel-thn": "Open"})
    )
    result = run("--file", str(answers), "--out", str(out))
    assert result.return_value == 1
    assert result.stdout.endswith("1 of 3 are right\n")
    marks = json.loads(out.read_text())
    assert marks["score"] == 1
    assert marks["output"] == "no exercise 'cel-thn'; did you mean 'cel-then'?"
    assert [(t["name"], t["score"], t["max_score"], t["status"]) for t in marks["tests"]] == [
        ("cel-event", 0, 1, "failed"),
        ("cel-or", 0, 1, "failed"),
        ("cel-then", 1, 1, "passed"),
    ]
    assert "hint: the sentence leaves a choice" in marks["tests"][1]["output"]
    assert "expected" in marks["tests"][0]["output"]
    whole = json.loads(run("--file", str(answers), "--session", "1", "--json").stdout)
    assert [t["output"].endswith("no answer") for t in whole["tests"]].count(True) == 5
    answers.write_text("[1]")
    assert isinstance(run("--file", str(answers), "--out", str(out)).exception, InputError)
    assert json.loads(out.read_text()) == {"score": 0, "output": f"{answers}: {SHEET}", "tests": []}


SHEET = 'answers are one JSON object, as {"cel-then": "Open ; Close"}'


def test_the_file_of_students_has_no_answers(tmp_path: Path) -> None:
    teacher, students = tmp_path / "teacher.jsonl", tmp_path / "students.jsonl"
    own = {"id": "mine", "sentence": "A, then B.", "schema": {"A": {}, "B": {}}}
    teacher.write_text(json.dumps(own | {"answers": ["A ; B"], "hint": "SECRET"}) + "\n")
    assert run("--exercises", str(teacher), "--students", str(students)).return_value == 0
    assert "A ; B" not in students.read_text()
    assert "SECRET" not in students.read_text()
    assert run("--exercises", str(students), "mine").stdout.splitlines()[1] == "A, then B."
    assert "has no answer to 'mine'" in str(run("--exercises", str(students), "mine", "A ; B").exception)
    assert "has no answer to 'mine'" in str(run("--exercises", str(students), "--show", "mine").exception)
    assert run("--exercises", str(teacher), "mine", "A ; B").return_value == 0


@pytest.mark.parametrize("answer", ["A ; ;", "A ; C"])
def test_of_a_wrong_answer_of_a_teacher_the_student_is_not_blamed(answer: str, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    one = {"id": "mine", "sentence": "A, then B.", "schema": {"A": {}, "B": {}}, "answers": ["A ; B", answer]}
    file.write_text(json.dumps(one))
    error = run("--exercises", str(file), "mine", "B ; A").exception
    assert isinstance(error, InputError)
    assert error.message.startswith("the file's answer to 'mine' cannot be used: ")
    assert answer in error.message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "x"}', "line 1: an exercise needs the field 'sentence'"),
        ('{"id": "x", "sentense": ""}', "line 1: no field 'sentense' of an exercise; did you mean 'sentence'?"),
        ('{"id": 3, "sentence": "", "schema": {}}', "line 1, field 'id': 3 is of a wrong type"),
        ('{"id": "x", "sentence": "", "schema": {}, "level": 7}', "level 1, 2 or 3"),
        (
            '{"id": "x", "sentence": "", "schema": {}}\n{"id": "x", "sentence": "", "schema": {}}',
            "another exercise 'x'",
        ),
        (
            '{"id": "x", "sentence": "", "schema": {"A": {"x": "integer"}}}',
            "line 1: attribute A.x has type 'integer'; use int,",
        ),
        (
            '{"id": "x", "sentence": "", "schema": {"A": {"x": "int", "y": "int"}}, "values": {"x": [1]}}',
            "line 1: values has none for the attribute 'y'",
        ),
        ("[]", "an exercise is a JSON object"),
        ("{", "not JSON"),
    ],
)
def test_a_file_of_exercises_that_is_none_names_the_line(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(InputError) as caught:
        exercises(file)
    assert message in caught.value.message


def test_a_cell_of_nbgrader_fails_with_the_feedback() -> None:
    require_right("cel-then", "Open ; Close")
    with pytest.raises(AssertionError, match="hint: your formula lets no event lie between"):
        require_right("cel-then", "Open : Close")
    with pytest.raises(AssertionError, match="is not expected here"):
        require_right("cel-then", "Open ; ; Close")


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
