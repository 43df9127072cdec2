"""cerify grade: every right answer is accepted, every wrong one told apart on a shortest stream, in words."""

import csv
import json
from datetime import date
from itertools import product
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import cerify
from cerify.commands.grade import grade_command
from cerify.equivalence.verdict import Undecided
from cerify.grade import grading
from cerify.grade.grading import (
    Exercise,
    Misfit,
    Right,
    UnusableAnswer,
    WrongAnswer,
    exercise,
    exercises,
    feedback,
    graded,
    require_right,
)
from cerify.languages import BUILT_IN, LANGUAGES
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError, MissingPackage, ParseError, Unsupported
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.browser import CHROMIUM
from proofs_tests.support import sampled

WRONG = [(e.id, text) for e in exercises().values() for text in e.wrong]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(grade_command, arguments, standalone_mode=False)


def reported(e: Exercise, text: str, S: Stream, evaluator: str) -> set[tuple[int, tuple[int, ...]]]:
    return {(m.at, m.events) for m in cerify.match(text, S, language=e.language, evaluator=evaluator)}


def test_there_are_exercises_of_every_language_and_level() -> None:
    assert len(exercises()) == 87
    assert {(e.language, e.level) for e in exercises().values()} == set(product(BUILT_IN, (1, 2, 3)))
    assert {e.session for e in exercises().values()} == set(range(1, 9))
    assert all(len(e.answers) >= 2 and len(e.wrong) >= 2 and e.hint for e in exercises().values())


@pytest.mark.parametrize("id_", sampled(exercises(), {*[*exercises()][::3]} - {"sase-after-news"}))
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
    assert isinstance(grade, WrongAnswer)
    assert grade.wanted != grade.yours
    for formula, claimed in ((e.answers[-1], grade.wanted), (text, grade.yours)):
        found = reported(e, formula, grade.stream, "automaton") if not compares(e) else set()
        found = found or reported(e, formula, grade.stream, "denotational")
        assert tuple(sorted(events for at, events in found if at == grade.at)) == claimed
    lines = feedback(e, grade, text)
    assert len(lines) >= 5 + min(len(grade.stream), 21) - 1
    about = [] if e.about == "pattern" and grade.mistake.in_conditions else [f"hint: {e.hint}"]
    assert lines[-1 - len(about) :] == [f"hint: {grade.mistake.hint}", *about]


def compares(e: Exercise) -> bool:
    """Whether its formulas compare events, which no automaton of ours carries in every language."""
    return e.id in ("cel-same", "core-same", "cel-other-user", "cel-rising", "cel-minutes", "cel-door")


@pytest.mark.parametrize(("id_", "text"), [p for p in WRONG if p[0] in ("cel-row", "core-all", "cel-latest")])
def test_no_shorter_stream_shows_the_difference(id_: str, text: str) -> None:
    e = exercise(id_)
    grade = graded(e, text)
    assert isinstance(grade, WrongAnswer)
    assert grade.shortest
    for length in range(1, len(grade.stream)):
        for types in product(e.schema.types, repeat=length):
            S = Stream(map(Event, types))
            assert reported(e, text, S, "denotational") == reported(e, e.answers[0], S, "denotational")


def test_numbers_that_only_the_answer_mentions_are_tried() -> None:
    """SASE+ is tried on a few values; a limit far from those of the exercise must not go unseen."""
    capped = exercise("sase-rise").answers[0].replace("a[i-1].price", "a[i-1].price and a[i].price < 50")
    grade = graded(exercise("sase-rise"), capped)
    assert isinstance(grade, WrongAnswer)
    assert any(event.get("price") == 50 for event in grade.stream)


def test_what_is_known_is_said() -> None:
    said = {id_: run(id_, exercise(id_).answers[1]).stdout for id_ in ("cel-then", "cel-same", "sase-within")}
    assert said["cel-then"] == "right: it agrees with the sentence on every stream\n"
    assert said["cel-same"] == said["cel-then"]
    bounded = run("cel-same", "(Order ; Pay) FILTER (Order.user <= Pay.user AND Order.user >= Pay.user)").stdout
    assert "it agrees with the sentence on all streams of up to 4 events; longer ones were not tried" in bounded
    assert said["sase-within"].startswith(
        "right as far as it was tried: it agrees with the sentence on the streams of up to 3 events"
    )


def test_wrong_feedback_in_words() -> None:
    result = run("cel-then", "Open : Close", "--stream")
    assert result.return_value == 1
    assert result.stdout.splitlines() == [
        "wrong: it differs on this stream of 3 events, and on no shorter one",
        "  0  Open",
        "  1  Open",
        "  2  Close",
        "after event 2 the sentence wants {0, 2}, {1, 2}; yours reports {1, 2}",
        "yours misses the match of events 0 (Open), 2 (Close)",
        "hint: your formula allows no event in between: the sentence does not require that",
        "hint: There are two signs for one thing after another; one of them lets events lie between.",
    ]
    assert (
        "yours takes place at event 2 (withdraw), which the sentence does not want"
        in run("ev-just-before", "prior(deposit, withdraw)", "--stream").stdout
    )
    assert "yours reports the match of event 0 (T), which" in run("cel-filter", "T", "--stream").stdout


def test_hints_come_before_the_stream() -> None:
    """The first look at a wrong answer does not show where it differs: that is for the student to find."""
    assert run("cel-then", "Open : Close").stdout.splitlines() == [
        "wrong: it differs on a stream of 3 events, and on no shorter one",
        "yours misses a match that the sentence wants",
        "hint: your formula allows no event in between: the sentence does not require that",
        "hint: There are two signs for one thing after another; one of them lets events lie between.",
        "--stream shows this stream, and the matches on it",
    ]
    extra = "yours reports a match that the sentence does not want"
    assert extra in run("cel-filter", "T").stdout.splitlines()
    assert extra in run("ev-just-before", "prior(deposit, withdraw)").stdout.splitlines()
    with pytest.raises(click.UsageError, match="--stream needs a FORMULA"):
        raise run("cel-then", "--stream").exception or AssertionError


def test_of_a_long_stream_the_ends_are_shown() -> None:
    lines = run("cel-then", "(Open ; Close) WITHIN 60 EVENTS", "--stream").stdout.splitlines()
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
        (
            "row-first-peak",
            "MATCH_RECOGNIZE (PATTERN (A B* P) DEFINE B AS NOT price > NEXT(price), P AS price > NEXT(price))",
            "NULL",
        ),
    ],
)
def test_the_hint_follows_the_mistake(id_: str, text: str, kind: str) -> None:
    grade = graded(exercise(id_), text)
    assert isinstance(grade, WrongAnswer)
    assert grade.mistake.kind == kind


@pytest.mark.parametrize("id_", ["cel-same", "core-same"])
def test_without_the_solver_a_right_answer_is_right_as_far_as_it_was_tried(
    id_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the playground, which has no z3: it said that it cannot be decided, and to write it in another way."""

    def difference(*_: object) -> None:
        raise MissingPackage("this needs z3, which is not installed")

    monkeypatch.setattr(type(LANGUAGES[exercise(id_).language].deciders), "difference", difference)
    e = exercise(id_)
    grade = graded(e, e.answers[1])
    assert isinstance(grade, Right)
    assert grade.evidence == "tried"
    assert isinstance(graded(e, e.wrong[0]), WrongAnswer)


@pytest.mark.parametrize(
    ("id_", "text"),
    [
        pytest.param("cel-filter", "T FILTER T.tmp - 40 > 0", marks=pytest.mark.thorough),
        pytest.param("cel-range", "T FILTER T.tmp - 20 >= 0 AND T.tmp <= 40", marks=pytest.mark.thorough),
        ("cel-sensor", "H FILTER H.id - 1 = 0"),
    ],
)
def test_what_calculates_is_decided_and_without_the_solver_tried(
    id_: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had been said that it cannot be decided: z3 takes up to 1.5 million steps for it, by the order of the two."""
    assert graded(exercise(id_), text) == Right("decided")
    monkeypatch.setattr(type(LANGUAGES["cel"].deciders), "difference", lambda *_: Undecided("this needs z3"))
    monkeypatch.setattr(grading, "installed", lambda name: False)
    assert isinstance(grade := graded(exercise(id_), text), Right)
    assert grade.evidence == "tried"


def test_another_answer_decides_where_the_first_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    e = exercise("cel-filter")

    def difference(self: object, right: object, *_: object) -> Undecided | None:
        return Undecided("unknown") if right == e.trees()[0] else None

    monkeypatch.setattr(type(LANGUAGES["cel"].deciders), "difference", difference)
    assert graded(e, "T FILTER T.tmp - 40 > 0") == Right("decided")


def test_answers_of_a_teacher_that_mean_different_things_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "teacher.jsonl"
    line = {"id": "loop", "sentence": "It.", "schema": {"A": {}}, "answers": ["A", "A OR A", "A+"]}
    file.write_text(json.dumps(line))
    with pytest.raises(
        UnusableAnswer, match=r"answer 3 to 'loop': this answer differs from answer 1 on the events A A$"
    ):
        exercises(file)


@pytest.mark.parametrize(
    ("id_", "text", "says"),
    [
        ("cel-then", "PATTERN SEQ(Open a, Close b)", "it is a query in another language, and the exercise is of CEL"),
        ("sase-any", "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))", "and the exercise is of SASE+"),
    ],
)
def test_an_answer_in_another_language_is_told_that_of_the_exercise(id_: str, text: str, says: str) -> None:
    """It was told to give --language, which an exercise has not."""
    with pytest.raises(ParseError) as raised:
        graded(exercise(id_), text)
    assert raised.value.message.endswith(says)


def test_streams_show_a_difference_that_no_decider_finds() -> None:
    """A filter in core-CEL on a variable that an iteration hides: no automaton carries it."""
    lines = run("core-each", "((T AS x)+ ; H AS y) FILTER x.tmp > 40 AND y.hum < 20", "--stream").stdout.splitlines()
    assert lines[0] == "wrong: it differs on this stream of 3 events, and on no shorter one that was tried"
    assert lines[-3].startswith("warning: x may hold no event of the match here")
    assert lines[-1] == "hint: A filter inside the iteration asks about the event of the round."


def test_the_time_of_one_answer_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not decided in time is tried on short streams, on one of which the second answer differs."""
    monkeypatch.setattr(grading, "DECIDING", 0.001)
    shown = graded(exercise("cel-all"), "MAX(Open{1,60} ; Alarm) OR Open{1,60}")
    assert isinstance(shown, WrongAnswer)
    assert (len(shown.stream), shown.evidence) == (1, "tried")
    monkeypatch.setattr(grading, "SECONDS", 0.5)
    with pytest.raises(CerifyError, match="whether this is right"):
        graded(exercise("cel-all"), "MAX(Open{1,60} ; Alarm)")


def rows(pattern: str, define: str = "B AS price < PREV(price)") -> str:
    return f"MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE {define})"


@pytest.mark.parametrize(
    ("id_", "text", "hint"),
    [
        ("ev-mask", "withdraw > 100", "withdraw is an event type, but your formula uses the name for something else"),
        ("row-to-the-end", rows("A U+", "U AS price > PREV(price)"), "is about the first or the last row of the table"),
        ("row-overlap", rows("A B"), "where does the search continue after a match?"),
        ("row-falls", rows("B+"), "the sentence mentions more events"),
        ("row-falls", rows("A B+?"), "how often is something repeated"),
        ("row-falls", rows("A B*"), "how often is something repeated"),
        ("row-first-peak", rows("A B* P", "P AS price > NEXT(price)"), "how often is something repeated"),
        (
            "row-recover",
            rows("A B+ C", "B AS price < PREV(price), C AS price >= A.price"),
            "with which row is each row",
        ),
        ("row-fall", rows("A B", "A AS price > B.price"), "B has no row yet when a row is labelled A"),
        ("cel-project", "PROJECT[Open](Open ; Alarm)", "which events must PROJECT keep?"),
        ("cel-project", "Alarm UNLESS Open", "one event comes after another"),
        ("cel-variables", "T ; T FILTER T.tmp < 20 AND T.tmp > 40", "give each event a variable of its own"),
        ("cel-filter", "T FILTER X.tmp > 40", "what in the sentence is not true of the extra match?"),
        ("cel-repeat", "Open+", "how often is something repeated, at least and at most?"),
        ("cel-repeat", "Open : Open", "which part of it rejects the missing match?"),
        ("cel-repeat", "Open{2,3}", "the sentence allows no event in between"),
        ("row-falls", rows("A B+", "B AS B.price < A.price"), "with which row is each row"),
        ("ev-third", "every <3> deposit", "your formula begins to count again each time"),
        ("ev-first", "first and withdraw", "the sentence says how many"),
        (
            "ev-none-between",
            "exists x (prior(deposit = x, withdraw) and !relative(x, interest))",
            "not true of the extra match?",
        ),
    ],
)
def test_a_hint_is_true_of_the_answer(id_: str, text: str, hint: str) -> None:
    """What it says of the sentence is true of the model answer; the parts are right only if all of them are."""
    grade = graded(exercise(id_), text)
    assert isinstance(grade, WrongAnswer)
    assert hint in grade.mistake.hint


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ("(cart ; pay) PER KEY [user] WITHIN 1801 seconds", "look at the numbers"),
        ("(cart ; pay) PARTITION BY [user] WITHIN 1801 seconds", "look at the numbers"),
        ("(cart ; pay) WITHIN 1800 seconds", "the sentence compares two events with each other"),
        ("(cart : pay) PER KEY [user] WITHIN 1800 seconds", "your formula allows no event in between"),
    ],
)
@pytest.mark.parametrize("key", ["PARTITION BY", "PER KEY"])
def test_per_key_compares_events_as_partition_by_does(key: str, answer: str, hint: str, tmp_path: Path) -> None:
    types = {"user": "string", "time": "timestamp"}
    line = {
        "id": "shop",
        "sentence": "A cart and a later pay of the same user, at most 30 minutes apart.",
        "schema": {"cart": types, "pay": types},
        "answers": [f"(cart ; pay) {key} [user] WITHIN 30 minutes"],
    }
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(line), encoding="utf-8")
    grade = graded(exercise("shop", file), answer)
    assert isinstance(grade, WrongAnswer)
    assert hint in grade.mistake.hint


def test_a_hint_about_the_pattern_is_left_out_where_the_mistake_is_in_the_conditions() -> None:
    greedy, compared = (
        run("row-falls", rows(*one), "--stream").stdout for one in (("A B+?",), ("A B+", "B AS price < A.price"))
    )
    assert greedy.splitlines()[-1] == f"hint: {exercise('row-falls').hint}"
    assert compared.splitlines()[-1].startswith("hint: with which row is each row compared?")
    assert json.loads(run("row-falls", rows("A B+", "B AS price < A.price"), "--json").stdout)["hint"] == ""


def test_a_wrong_answer_comes_with_the_warnings_about_it() -> None:
    lines = run("cel-filter", "T FILTER X.tmp > 40", "--stream").stdout.splitlines()
    assert lines[-3] == "warning: X is not bound here; the bound variables are T"
    found = json.loads(run("ev-mask", "withdraw > 100", "--json").stdout)
    assert found["warnings"] == [
        "withdraw has no value: it is not an argument of an event. Make it an argument, as in order(withdraw)"
    ]


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
    assert isinstance(one, WrongAnswer)
    assert isinstance(other, WrongAnswer)
    assert isinstance(both, WrongAnswer)
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
    answers = map(language.syntax.parse, e.answers)
    for mutant in (q for answer in answers for reduction in operations.reductions for q in reduction(answer)):
        try:
            text = language.syntax.show(mutant)
            grade = graded(e, text)
        except CerifyError:
            continue
        if not isinstance(grade, Right):
            assert feedback(e, grade, text)[0].startswith("wrong: ")
            assert not isinstance(grade, WrongAnswer) or grade.mistake.hint
            return
    pytest.fail(f"no mutant of {e.answers} is wrong")


def test_an_id_that_differs_in_a_number_alone_is_no_misspelling() -> None:
    assert [did_you_mean("ann-7", ["ann-3"]), did_you_mean("x10", ["x2"])] == ["", ""]
    assert did_you_mean("ann-7", ["ann-3", "anne-7"]) == "; did you mean 'anne-7'?"
    assert did_you_mean("total2", ["total"]) == "; did you mean 'total'?"


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
    assert marks["output"] == "there is no exercise 'cel-thn', so its answer was not marked; did you mean 'cel-then'?"
    assert [(t["name"], t["score"], t["max_score"], t["status"]) for t in marks["tests"]] == [
        ("cel-event", 0, 1, "failed"),
        ("cel-or", 0, 1, "failed"),
        ("cel-then", 1, 1, "passed"),
    ]
    assert "hint: the sentence allows one thing or another" in marks["tests"][1]["output"]
    assert "expected" in marks["tests"][0]["output"]
    whole = json.loads(run("--file", str(answers), "--session", "1", "--json").stdout)
    assert [t["output"].endswith("no answer") for t in whole["tests"]].count(True) == 5
    answers.write_text("[1]")
    assert isinstance(run("--file", str(answers), "--out", str(out)).exception, InputError)
    assert json.loads(out.read_text()) == {"score": 0, "output": f"{answers}: {SHEET}", "tests": []}


def test_a_folder_of_sheets_is_marked(tmp_path: Path) -> None:
    """One file a student; an unreadable one has a reason and no points, and the rest goes on."""
    folder, table, page = tmp_path / "answers", tmp_path / "marks.csv", tmp_path / "marks.html"
    folder.mkdir()
    (folder / "ann.json").write_text(json.dumps({"cel-then": "Open ; Close", "cel-or": "Open ; Close"}))
    (folder / "s10.json").write_text("{")
    (folder / "s9.json").write_bytes(b"\xff\xfe\x00")
    (folder / "=dan.json").write_text(json.dumps({"cel-event": "<b>", "cel-thn": "Open"}))
    (folder / ".hidden").write_text("no sheet")
    result = run("--folder", str(folder), "--csv", str(table), "--sheets", str(page))
    assert result.return_value == 1
    assert result.stdout.splitlines()[1].startswith("ann: 1 of 3")
    head, *rows = csv.reader(table.read_text(encoding="utf-8").splitlines())
    assert head == ["student", "points", "of", "cel-event", "cel-or", "cel-then", "problem", "cerify", "date"]
    assert {tuple(row[7:]) for row in rows} == {(cerify.__version__, date.today().isoformat())}
    assert [row[:6] for row in rows] == [
        ["'=dan", "0", "3", "0", "0", "0"],
        ["ann", "1", "3", "0", "0", "1"],
        ["s9", "0", "3", "0", "0", "0"],
        ["s10", "0", "3", "0", "0", "0"],
    ]
    assert ["s9.json" in rows[2][6], "s10.json" in rows[3][6], rows[1][6]] == [True, True, ""]
    written = page.read_text(encoding="utf-8")
    assert written.count(f"Marked by cerify {cerify.__version__} on {date.today().isoformat()}") == 4
    assert (written.count("<section>"), "<b>" in written, "&lt;b&gt;" in written) == (4, False, True)
    (folder / "s10.json").unlink()
    (folder / "s9.json").unlink()
    assert run("--folder", str(folder)).return_value == 0
    for wrong in (("--csv", str(table)), ("--folder", str(folder), "--sheets", "marks.txt"), ("--folder", str(table))):
        assert run(*wrong).return_value == 2 or run(*wrong).exception is not None


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
def test_sheets_are_printed(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "ann.json").write_text('{"cel-then": "Open ; Close"}')
    assert run("--folder", str(tmp_path / "answers"), "--sheets", str(tmp_path / "marks.pdf")).return_value == 0
    assert (tmp_path / "marks.pdf").read_bytes().startswith(b"%PDF")


SHEET = 'the answers must be one JSON object, as {"cel-then": "Open ; Close"}'


def test_the_file_of_students_has_no_answers(tmp_path: Path) -> None:
    teacher, students = tmp_path / "teacher.jsonl", tmp_path / "students.jsonl"
    own = {"id": "mine", "sentence": "A, then B.", "schema": {"A": {}, "B": {}}}
    teacher.write_text(json.dumps(own | {"answers": ["A ; B"], "hint": "SECRET"}) + "\n")
    assert run("--exercises", str(teacher), "--students", str(students)).return_value == 0
    assert "A ; B" not in students.read_text()
    assert "session" not in students.read_text()
    assert "SECRET" not in students.read_text()
    assert run("--exercises", str(students), "mine").stdout.splitlines()[1] == "A, then B."
    assert "has no answer to 'mine'" in str(run("--exercises", str(students), "mine", "A ; B").exception)
    assert "has no answer to 'mine'" in str(run("--exercises", str(students), "--show", "mine").exception)
    assert run("--exercises", str(teacher), "mine", "A ; B").return_value == 0


SHOP = {"A": {"x": "int"}, "B": {"x": "int"}}
SECRETS = {
    "cel": "A IN sesame ; B FILTER sesame.x > 1",
    "core-cel": "A AS sesame ; B AS b FILTER sesame.x > 1",
    "event-expression": "prior(A[x > 1], B) & sesame",
    "sase": "PATTERN SEQ(A+ sesame[], B b) WHERE sesame[i].x > sesame[i-1].x RETURN b.x",
    "row-pattern": "MATCH_RECOGNIZE (PATTERN (sesame b) DEFINE sesame AS x > 1, b AS x < 9)",
}
LAST = ("sase", "row-pattern")  # whose answers are tried on many streams
SLIPS = {
    "cut": lambda secret: [secret[:n] for n in range(3, len(secret), 7)],
    "twice": lambda secret: [f"{secret} {secret}", f"{secret} )"],
    "other name": lambda secret: [secret.replace("x >", "y >"), secret.replace("A", "Q", 1)],
    "other type": lambda secret: [secret.replace("> 1", "> 'sesame'")],
}


def file_of(tmp_path: Path, language: str, answers: object, **fields: object) -> Path:
    """A teacher's file: an exercise that is right, and another of the language with the answers."""
    fine = {"id": "fine", "sentence": "A, then B.", "schema": SHOP, "answers": ["A ; B"]}
    mine = {"id": "mine", "sentence": "It.", "schema": SHOP, "language": language, "answers": answers}
    file = tmp_path / "teacher.jsonl"
    file.write_text(f"{json.dumps(fine)}\n{json.dumps(mine | fields)}\n")
    exercises.cache_clear()
    return file


def printed(result: Result) -> str:
    error = result.exception
    return result.output + (error.described() if isinstance(error, CerifyError) else repr(error or ""))


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("language", sampled(LANGUAGES, ["cel"]))
def test_a_students_run_shows_nothing_of_the_answer(language: str, slip: str, tmp_path: Path) -> None:
    """Whatever slip the teacher made, and whatever the student wrote; nor is a point lost by the slip."""
    sheet, out = tmp_path / "answers.json", tmp_path / "results.json"
    sheet.write_text(json.dumps({"fine": "A ; B", "mine": "A ; C"}))
    secret = SECRETS[language]
    for answer in SLIPS[slip](secret):
        for answers in ([answer], [secret, answer], answer):
            file = file_of(tmp_path, language, answers, values={"x": [1, 2]})
            try:
                exercises(file)
                continue
            except InputError as error:
                message = error.message
            assert message.startswith(f"{file}, line 2, ")
            ran = run("--exercises", str(file), "--file", str(sheet), "--out", str(out))
            assert isinstance(ran.exception, InputError)
            assert not out.exists()
            with pytest.raises(InputError) as caught:
                require_right("mine", "A ; C", str(file))
            for shown in (printed(ran), caught.value.described()):
                assert "sesame" not in shown
                assert f"{file}, line 2, " in shown


@pytest.mark.parametrize("language", ["cel", "core-cel", *(pytest.param(n, marks=pytest.mark.thorough) for n in LAST)])
def test_what_is_said_of_a_wrong_answer_shows_nothing_of_the_right_one(language: str, tmp_path: Path) -> None:
    sheet, out = tmp_path / "answers.json", tmp_path / "results.json"
    file = file_of(tmp_path, language, [SECRETS[language]], values={"x": [1, 2]})
    own = SECRETS[language].replace("sesame", "mine")
    others = ["", "(", "A ; B", own + " )", own.replace(" > ", " < "), own.replace("x", "y"), own.replace("A", "Q"), 3]
    for other in (*others, None, ["A"], own):
        sheet.write_text(json.dumps({"mine": other}))
        ran = run("--exercises", str(file), "--file", str(sheet), "--out", str(out))
        assert "sesame" not in printed(ran) + out.read_text()
        assert json.loads(out.read_text())["score"] == (other == own)
        if isinstance(other, str) and other:
            assert "sesame" not in printed(run("--exercises", str(file), "mine", other, "--json"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "answer", "other"),
    [
        ("core-cel", "(A AS sesame)+ ; B AS b FILTER sesame.x < b.x", "A AS y ; B AS b FILTER b.x < y.x"),
        ("cel", "A IN sesame ; B FILTER sesame.x / B.x = 3", "A ; B FILTER A.x < B.x"),
    ],
)
def test_why_a_comparison_is_undecided_shows_nothing_of_the_answer(
    language: str, answer: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "LONGEST", 0)  # no stream shows the difference
    schema = Schema({"A": {"x": "int"}, "B": {"x": "int"}})
    with pytest.raises((Unsupported, BudgetExceeded), match=r"^whether this is right [^$]*another way$") as caught:
        graded(Exercise("mine", "It.", schema, language, answers=(answer,)), other)
    assert "sesame" not in caught.value.described()


def test_why_a_comparison_is_undecided_is_said_of_the_students_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "LONGEST", 0)  # no stream shows the difference
    formula = "((T AS x)+ ; H AS y) FILTER x.tmp > 40 AND y.hum < 20"
    with pytest.raises(Unsupported, match="whether this is right cannot be decided: x may hold no event") as caught:
        graded(exercise("core-each"), formula)
    assert caught.value.message.endswith(exercise("core-each").hint)
    assert caught.value.described().splitlines()[1] == formula


BY_LABELS = "MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS B.x > SUM(A.x))"
READERS = ((), ("--json",), ("mine",), ("mine", "A"), ("--show", "mine"), ("--students", "students.jsonl"))


@pytest.mark.parametrize(
    ("language", "answers", "reason"),
    [
        ("cel", ["A ; ;"], "answer 1 to 'mine': ';' is not expected here"),
        ("cel", ["A ; B", "A ; C"], "answer 2 to 'mine': unknown event type C; the schema has A, B"),
        ("row-pattern", ["PATTERN (A B)"], "answer 1 to 'mine': a clause is MATCH_RECOGNIZE (...)"),
        ("row-pattern", [BY_LABELS], "answer 1 to 'mine': the condition of B depends on the match so far"),
        ("core-cel", ["(A AS s)+ ; B AS b FILTER s.x < b.x"], "answer 1 to 'mine': s may hold no event"),
    ],
)
def test_every_way_of_reading_a_teachers_file_refuses_an_answer_that_cannot_be_used(
    language: str, answers: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = file_of(tmp_path, language, answers)
    for options in READERS:
        result = run("--exercises", str(file), *options)
        assert isinstance(result.exception, InputError), options
        assert result.exception.message.startswith(f"{file}, line 2, {reason}")
        assert result.stdout == ""
    assert not (tmp_path / "students.jsonl").exists()
    if "expected" in reason:
        assert f"\n{answers[0]}\n" in printed(result)
        assert printed(result).endswith("^")


def test_no_sheet_is_marked_with_the_file_of_students(tmp_path: Path) -> None:
    students, sheet, out = (tmp_path / name for name in ("students.jsonl", "answers.json", "results.json"))
    students.write_text(json.dumps({"id": "mine", "sentence": "A.", "schema": {"A": {}}}))
    sheet.write_text(json.dumps({"mine": "A"}))
    assert "has no answer to 'mine'" in printed(
        run("--exercises", str(students), "--file", str(sheet), "--out", str(out))
    )
    assert not out.exists()


def test_an_answer_that_is_no_text_is_one_wrong_answer(tmp_path: Path) -> None:
    sheet = tmp_path / "answers.json"
    sheet.write_text(json.dumps({"cel-then": 3, "cel-or": "Open OR Close"}))
    marks = json.loads(run("--file", str(sheet), "--json").stdout)
    assert [test["score"] for test in marks["tests"]] == [1, 0]
    assert marks["tests"][1]["output"].splitlines()[1:] == [
        "3",
        'an answer must be a text in quotes, as "Open ; Close"',
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "x"}', "line 1: an exercise needs the field 'sentence'"),
        ('{"id": "x", "sentense": ""}', "line 1: an exercise has no field 'sentense'; did you mean 'sentence'?"),
        ('{"id": "x", "stream": []}', "an exercise has no field 'stream'; its fields are id, language, sentence, hint"),
        ('{"id": 3, "sentence": "", "schema": {}}', "line 1, field 'id': 3 has a wrong type"),
        ('{"id": "x", "sentence": "", "schema": {}, "level": 7}', "level must be 1, 2 or 3"),
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
            "line 1: the field 'values' has no entry for the attribute 'y'",
        ),
        (
            '{"id": "x", "sentence": "", "schema": {"A": {"x": "int"}}, "values": {"x": [1], "y": [1]}}',
            "line 1, field 'values': give each attribute of the schema a list of values, not 'y'",
        ),
        (
            '{"id": "x", "sentence": "", "schema": {"A": {"x": "int"}}, "values": {"x": 1}}',
            "line 1, field 'values': give each attribute of the schema a list of values, not 'x'",
        ),
        (
            '{"id": "x", "sentence": "", "schema": {"A": {"x": "int"}}, "values": {"x": ["1"]}}',
            "line 1, field 'x'",
        ),
        ('{"id": "x", "sentence": "", "schema": {}, "answers": "A"}', "field 'answers': give a list of texts"),
        ("[]", "an exercise is a JSON object"),
        ("{", "not JSON"),
        ("\n", "has no exercises"),
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
    with pytest.raises(AssertionError, match="hint: your formula allows no event in between"):
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


def test_the_way_on_names_the_file_of_exercises(tmp_path: Path) -> None:
    """It named a command that is about the exercises of the course."""
    own = tmp_path / "my own.jsonl"
    own.write_text(json.dumps({"id": "mine", "sentence": "A.", "schema": {"A": {}}, "answers": ["A"]}))
    again = f"cerify grade --exercises '{own}'"
    last = f"{again} ID prints an exercise, {again} ID FORMULA grades a formula, {again} --show ID prints the answer"
    assert run("--exercises", str(own)).stdout.splitlines()[-1] == last
    assert f"no exercise 'cel-then'; {again} lists them all" in str(run("--exercises", str(own), "cel-then").exception)
    assert str(run("--exercises", str(own), "--session", "1").exception).endswith("the sessions none")


def test_a_number_that_differs_is_looked_for_where_numbers_are() -> None:
    """The hint spoke of "a number, or an index", and of no place."""
    places = "in a condition, a window, a count or an index"
    hint = f"hint: look at the numbers: a number {places} is not that of the sentence"
    assert hint in run("cel-filter", "T FILTER T.tmp > 41").stdout.splitlines()


def test_a_session_that_there_is_not_is_named() -> None:
    """What was printed was the line below an empty list."""
    for options in (("--session", "9"), ("--session", "7", "--language", "cel")):
        error = run(*options).exception
        assert isinstance(error, InputError)
        assert (
            "no exercise has this language and session; there are exercises of the languages cel, core-cel, "
            in error.message
        )


@pytest.mark.parametrize("answers", [{}, {"a": 5}])
def test_a_sheet_that_answers_no_exercise_is_refused(answers: object, tmp_path: Path) -> None:
    """None of none was right, with status 0."""
    answered, out = tmp_path / "answers.json", tmp_path / "results.json"
    answered.write_text(json.dumps(answers))
    error = run("--file", str(answered), "--out", str(out)).exception
    assert isinstance(error, InputError)
    assert json.loads(out.read_text())["output"] == error.message
    assert "answers none of the exercises" in error.message
