"""Grade answers to exercises: an answer is right, or wrong with a shortest stream that shows the difference.

The answer is compared with the model answer by the exact deciders, if they support both. If the deciders cannot decide,
both are tried on all short streams over the values that the exercise lists, or else over a few chosen values.
"""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from html import escape
from io import StringIO
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Any, Literal, TypeAlias

import cerify
from cerify.api import read_query
from cerify.equivalence.decide.replay import streams_of
from cerify.equivalence.verdict import Bounded, Different, Undecided
from cerify.explanations.explanation import SHOWN, braces, row
from cerify.grade.mistakes import NULLS, Difference, Mistake, mistake
from cerify.languages import DEFAULT, LANGUAGES
from cerify.languages.language import Language
from cerify.semantics.arguments import Budget, check_time, did_you_mean
from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    IllFormed,
    InputError,
    InternalError,
    MissingPackage,
    ParseError,
    Span,
    Unsupported,
    errors_in,
    underline,
)
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream
from cerify.semantics.json_events import event_of_json, json_of_event, lines_of, parse_json, schema_of_json, text_of
from cerify.semantics.packages import installed
from cerify.semantics.values import Value, ValueType
from cerify.terminal import picked

# ---------------------------------------------------------------------------------------------------------------------
# The exercises as data, a JSON object on each line: those of the course, and files of other teachers.
#
# Files of other teachers have the same form. An exercise needs an id, a sentence and a schema, and answers if it is to
# be graded.

FILE = Path(__file__).parent / "exercises.jsonl"
PATTERN = "pattern"
COMPARING = 10.0  # seconds for comparing another right answer with the first
LEVELS = {1: "easy", 2: "middling", 3: "hard"}


class UnusableAnswer(InputError):
    """Raised if an answer that an exercise file lists as right cannot be used.

    withheld: the message for students, which does not reveal the answer.
    """

    withheld: str = ""


@dataclass(frozen=True)
class Exercise:
    """A sentence, and formulas that express it.

    answers: right answers, the model answer first; a file for students has none. wrong: typical wrong answers of
    beginners. about: "pattern" if the hint does not help with a mistake in the conditions, else "". values: for each
    attribute, the values with which queries are tried on short streams. level: 1, 2 or 3, from easy to hard. session:
    the session of the course, 0 for none. where: the file and the line, for messages.
    """

    id: str
    sentence: str
    schema: Schema
    language: str = DEFAULT
    session: int = 0
    level: int = 1
    answers: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    hint: str = ""
    about: str = ""
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    where: str = field(default="", compare=False)

    def hint_about(self, mistake: Mistake) -> str:
        """Return the exercise's hint, or "" if it does not help with the mistake."""
        return "" if self.about == PATTERN and mistake.in_conditions else self.hint

    def right(self) -> tuple[str, ...]:
        """Return the right answers, the model answer first. Raises InputError if there are none."""
        if not self.answers:
            raise InputError(
                f"the file has no answer to {self.id!r}, because it is for students: grade with the teacher's file"
            )
        return self.answers

    def trees(self) -> list[Any]:
        """Return the right answers as syntax trees. Raises UnusableAnswer, and InputError if there are no answers."""
        return [self._tree(text, number) for number, text in enumerate(self.right(), 1)]

    def _tree(self, text: str, number: int) -> Any:
        try:
            return read_query(text, self.language, self.schema)[1]
        except CerifyError as error:
            raise self._unusable(number, error) from None

    def require_usable(self) -> None:
        """Raise UnusableAnswer if queries cannot be compared with the first answer, or another answer differs from it.

        If the solver is not installed, an answer that needs the solver is still usable: queries are then tried on short
        streams.
        """
        first, *others = self.trees()
        lang = LANGUAGES[self.language]
        try:
            found = lang.deciders.difference(first, first, self.schema)
        except MissingPackage:
            found = None
        except CerifyError as error:
            raise self._unusable(1, error) from None
        if isinstance(found, Undecided) and not self.values and installed("z3"):
            reason = f"{found.reason}; so add a field 'values' with a list of values to try for each attribute"
            raise self._unusable(1, InputError(reason))
        for number, other in enumerate(others, 2):
            with suppress(Unsupported, BudgetExceeded), Budget(seconds=COMPARING).timed():
                found = lang.deciders.difference(first, other, self.schema)
                if isinstance(found, Different):
                    S = " ".join(event.type for event in found.stream)
                    raise self._unusable(number, InputError(f"this answer differs from answer 1 on the events {S}"))

    def _unusable(self, number: int, error: CerifyError) -> UnusableAnswer:
        which = ", ".join(filter(None, (self.where, f"answer {number} to {self.id!r}")))
        unusable = UnusableAnswer(f"{which}: {error.message}", error.span)
        unusable.text = self.answers[number - 1]
        unusable.withheld = f"{which} cannot be used; to see why, run cerify grade --exercises with only this file"
        return unusable

    def public(self) -> dict[str, Any]:
        """Return the part of the exercise that students may see, as JSON."""
        schema = {name: dict(attributes) for name, attributes in self.schema.types.items()}
        return {**picked(self, "id", "language", "session", "level", "sentence"), "schema": schema}

    def for_students(self) -> dict[str, Any]:
        """Return the exercise as an object without answers; without the session if it has none."""
        return {name: value for name, value in self.public().items() if (name, value) != ("session", 0)}


def grade_command(file: Path) -> str:
    """Return the shell command that grades the exercises of a file."""
    return "cerify grade" if file == FILE else f"cerify grade --exercises {shlex.quote(str(file))}"


@cache
def exercises(file: Path = FILE) -> Mapping[str, Exercise]:
    """Return all exercises of a file by id, in the order of the file: in the course's file by language, then level.

    Raises InputError, whose message names the file and the line, and UnusableAnswer. The answers of the course's file
    are not checked again.
    """
    found: dict[str, Exercise] = {}
    for line, where in lines_of(file):
        one = _exercise(parse_json(line, where), where)
        if one.id in found:
            raise InputError(f"{where}: there is another exercise {one.id!r}; give each exercise its own id")
        # The course's own file is checked by the tests, and checking would delay every command.
        if file != FILE and one.answers:
            one.require_usable()
        found[one.id] = one
    if not found:
        raise InputError(f"{file} has no exercises")
    return found


def exercise(id_: str, file: Path = FILE) -> Exercise:
    """Return the exercise with this id. Raises InputError."""
    if (found := exercises(file).get(id_)) is None:
        raise InputError(
            f"no exercise {id_!r}{did_you_mean(id_, exercises(file)) or f'; {grade_command(file)} lists them all'}"
        )
    return found


KINDS: Mapping[str, type] = {
    **dict.fromkeys(("id", "language", "sentence", "hint", "about"), str),
    **dict.fromkeys(("session", "level"), int),
    **dict.fromkeys(("answers", "wrong"), list),
    **dict.fromkeys(("schema", "values"), dict),
}
"""The type of each field of an exercise, as JSON."""


def _exercise(obj: Any, where: str) -> Exercise:
    if not isinstance(obj, dict):
        raise InputError(f"{where}: an exercise is a JSON object")
    for name, value in obj.items():
        if name not in KINDS:
            near, there = did_you_mean(name, KINDS), f"; its fields are {', '.join(KINDS)}"
            raise InputError(f"{where}: an exercise has no field {name!r}{near or there}")
        if KINDS[name] is list and not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
            raise InputError(f"{where}, field {name!r}: give a list of texts")
        if not isinstance(value, KINDS[name]):
            raise InputError(f"{where}, field {name!r}: {json.dumps(value)} has a wrong type")
    if missing := [name for name in ("id", "sentence", "schema") if name not in obj]:
        raise InputError(f"{where}: an exercise needs the field {missing[0]!r}")
    if obj.get("about", "") not in ("", PATTERN):
        raise InputError(f"{where}, field 'about': write {json.dumps(PATTERN)}, or leave the field out")
    if obj.get("language", DEFAULT) not in LANGUAGES or obj.get("level", 1) not in LEVELS:
        raise InputError(f"{where}: language must be one of {', '.join(LANGUAGES)}, and level must be 1, 2 or 3")
    try:
        schema = schema_of_json(obj["schema"])
    except CerifyError as error:
        raise InputError(f"{where}: {error.message}") from None
    lists = {name: tuple(obj.get(name, ())) for name in ("answers", "wrong")}
    values = dict(_values(obj.get("values", {}), schema, where))
    if values and (missing := sorted(schema.attributes.keys() - values)):
        raise InputError(f"{where}: the field 'values' has no entry for the attribute {missing[0]!r}; add one")
    return Exercise(**{**obj, **lists, "values": values, "schema": schema, "where": where})


def _values(obj: Mapping[str, Any], schema: Schema, where: str) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield each attribute with the values that are listed for it, converted to its type. Raises InputError."""
    for name, given in obj.items():
        type_ = next((type_ for type_, attributes in schema.types.items() if name in attributes), None)
        if type_ is None or not isinstance(given, list) or not given or None in given:
            raise InputError(
                f"{where}, field 'values': give each attribute of the schema a list of values, not {name!r}"
            )
        yield name, tuple(event_of_json({TYPE: type_, name: value}, schema, where).attributes[name] for value in given)


FITTING = ("event_type", "attribute")  # the rules about names that the events do not have
STREAMS = 1600  # the most streams that are tried for an exercise
LONGEST = 5  # the most events of these streams
FILLED = 30  # streams tried with values in place of absent attributes, to see whether these cause the difference
SECONDS = 20.0  # the time for grading one answer
DECIDING = 10.0  # the part of it for the decider; the rest is for trying streams

UNDECIDED: Mapping[type[CerifyError], str] = {
    BudgetExceeded: "takes too much time or memory to decide; write it in another way",
    InternalError: "could not be decided because of a defect of cerify: please report it",
    Unsupported: "cannot be decided; write it in another way",
}
"""The message for each error of the comparison, whose own message is not shown since it may reveal the model answer."""


def short_streams(schema: Schema, values: Mapping[str, Sequence[Value]], most: int = STREAMS) -> Iterator[Stream]:
    """Yield all streams of the schema with these attribute values, the shortest first.

    The greatest length is chosen so that there are at most `most` streams. Times never decrease.
    """
    yield from filter(_in_time, streams_of(list(_events(schema, values)), LONGEST, most, schema))


def _events(schema: Schema, values: Mapping[str, Sequence[Value]]) -> Iterator[Event]:
    for type_, attributes in schema.types.items():
        for chosen in product(*(values[name] for name in attributes)):
            yield Event(type_, dict(zip(attributes, chosen, strict=True)))


def _in_time(S: Stream) -> bool:
    """Return whether no event is earlier than the event before it."""
    times = [event.get(TIME) for event in S]
    return all(t1 <= t2 for t1, t2 in pairwise(times) if isinstance(t1, int) and isinstance(t2, int))


Evidence = Literal["decided", "bounded", "tried"]
"""The streams that were compared: all; all up to a length; or those over a few values up to a length."""


@dataclass(frozen=True)
class Right:
    """The grade of a right formula.

    evidence: which streams were compared. length: their greatest length; None if equivalence is proved.
    """

    evidence: Evidence
    length: int | None = None


@dataclass(frozen=True)
class WrongAnswer:
    """The grade of a wrong formula, with a stream that shows the difference.

    wanted, yours: the right matches at position `at` of the stream, and those of the formula. evidence: which streams
    were compared. shortest: whether the formula is right on every shorter one of these. mistake: the probable mistake.
    warnings: the warnings that `cerify match` would give.
    """

    stream: Stream
    at: int
    wanted: tuple[tuple[int, ...], ...]
    yours: tuple[tuple[int, ...], ...]
    shortest: bool
    evidence: Evidence
    mistake: Mistake
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Misfit:
    """The grade of a formula with names that the exercise's events do not have; `message` says which."""

    message: str
    span: Span | None


Grade: TypeAlias = Right | WrongAnswer | Misfit


def graded(exercise: Exercise, text: str) -> Grade:
    """Grade the text as an answer to the exercise.

    Raises ParseError; Unsupported and BudgetExceeded if the grade cannot be decided, with messages that do not reveal
    the answers; and InputError for an exercise without answers.
    """
    answers = exercise.trees()
    lang, answer = _parse_answer(text, exercise.language)
    if problem := next((p for p in lang.syntax.problems(answer, exercise.schema) if p.rule in FITTING), None):
        return Misfit(problem.hinted, problem.span)
    with errors_in(text):
        try:
            lang.syntax.require_typed(answer, exercise.schema)
        except IllFormed as error:
            return Misfit(error.message, error.span)
    if answer == answers[0]:
        return Right("decided")
    try:
        with Budget(seconds=SECONDS).timed():
            return _compared(exercise, lang, answers, answer)
    except CerifyError as error:  # its message may reveal the model answer
        kind = type(error) if type(error) in UNDECIDED else Unsupported
    own = next((p for p in lang.syntax.problems(answer, exercise.schema) if p.rule == "unbound"), None)
    with errors_in(text):
        if own is not None and kind is Unsupported:
            raise kind(f"whether this is right cannot be decided: {own.hinted}. {exercise.hint}", own.span)
        raise kind(f"whether this is right {UNDECIDED[kind]}")


def _parse_answer(text: str, language: str) -> tuple[Language[Any], Any]:
    """Return the language and the syntax tree of the answer.

    Raises ParseError. Its message does not suggest another language, because the exercise determines the language.
    """
    try:
        return read_query(text, language)
    except ParseError as error:
        wrong, otherwise, _ = error.message.rpartition(": language=")
        if otherwise:
            error.message = f"{wrong}, and the exercise is of {LANGUAGES[language].title}"
        raise


def _compared(exercise: Exercise, lang: Language[Any], answers: Sequence[Any], answer: Any) -> Grade:
    """Compare the answer with each right answer until a comparison decides; if none does, try short streams.

    Only a difference from the first right answer, the model answer, makes the answer wrong.
    """
    undecided: CerifyError | None = None
    with suppress(BudgetExceeded), Budget(seconds=DECIDING).timed():
        for right in answers:
            try:
                found = lang.deciders.difference(right, answer, exercise.schema)
            except (BudgetExceeded, Unsupported) as error:
                undecided = undecided or error
                continue
            match found:
                case None:
                    return Right("decided")
                case Bounded(length):
                    return Right("bounded", length)
                # If an earlier right answer could not be compared, the answer may equal that one, so a difference
                # decides nothing yet.
                case Different(S, _, _, _, shortest) if undecided is None:
                    return _wrong(lang, answers, answer, S, shortest, "decided")
                case Undecided(reason):
                    undecided = undecided or Unsupported(reason)
    grade = _compare_on_short_streams(exercise, lang, answers, answer)
    with_solver = installed("z3") and not isinstance(undecided, MissingPackage)
    if isinstance(grade, Right) and not exercise.values and with_solver:
        raise undecided or BudgetExceeded(f"more than {DECIDING} seconds")
    return grade


def _compare_on_short_streams(
    exercise: Exercise, lang: Language[Any], answers: Sequence[Any], answer: Any
) -> Right | WrongAnswer:
    """Compare the answer with the model answer on all short streams over a few values.

    The values are those that the exercise lists, and those next to constants of the answer.
    """
    # Only constants that the model lacks: the exercise's own values already tell its constants apart.
    extra = _near(_integers(lang, answer) - _integers(lang, answers[0]))
    values = {
        name: sorted({*given, *extra} if all(type(v) is int for v in given) else given)
        for name, given in exercise.values.items()
    } or few_values(lang, exercise.schema, answers[0], answer)
    length = 0
    for S in short_streams(exercise.schema, values):
        check_time()
        if _matches(lang, answers[0], S) != _matches(lang, answer, S):
            return _wrong(lang, answers, answer, S, True, "tried")
        length = len(S)
    return Right("tried", length)


def few_values(lang: Language[Any], schema: Schema, *queries: Any) -> Mapping[str, Sequence[Value]]:
    """Return values to try for each attribute: several if a query tests the attribute, else one."""
    numbers = set.union(*(_integers(lang, query) for query in queries))
    near = sorted(numbers ^ _near(numbers) if len(numbers) > 1 else _near(numbers)) or [0, 1]
    by_type: Mapping[ValueType, Sequence[Value]] = {
        "int": near,
        "float": [float(n) for n in near],
        "string": ("a", "b"),
        "bool": (False, True),
        "timestamp": [datetime.fromtimestamp(n, UTC) for n in near],
    }
    operations = lang.operations()
    asked = {name for query in queries for name in operations.attributes(query)} if operations else schema.attributes
    attributes = (pair for of_type in schema.types.values() for pair in of_type.items())
    return {name: by_type[type_][: None if name in asked else 1] for name, type_ in attributes}


def _near(numbers: set[int]) -> set[int]:
    return {n + d for n in numbers for d in (-1, 0, 1)}


def _integers(lang: Language[Any], query: Any) -> set[int]:
    """Return the integers that a query mentions."""
    operations = lang.operations()
    constants = [*lang.syntax.constants(query), *(operations.constants(query) if operations is not None else ())]
    return {int(n) for n in constants if isinstance(n, int | float) and math.isfinite(n) and n == int(n)}


def _wrong(
    lang: Language[Any], answers: Sequence[Any], answer: Any, S: Stream, shortest: bool, evidence: Evidence
) -> WrongAnswer:
    """Return the grade of a wrong answer, with its matches and the model's at the last position where these differ.

    The reference evaluator computes the matches.
    """
    wanted, yours = _matches(lang, answers[0], S), _matches(lang, answer, S)
    if wanted == yours:
        raise InternalError(f"answer and model were found different on {list(S)}, but have the same matches there")
    # The last difference: on a shortest stream it is at the end, because no shorter stream shows one.
    at = max(n for n, _ in wanted ^ yours)
    there = Difference(S, *(tuple(sorted(events for n, events in found if n == at)) for found in (wanted, yours)))
    warnings = tuple(problem.hinted for problem in lang.syntax.problems(answer, S.schema) if problem.rule == "unbound")
    found = NULLS if _nulls_decide(lang, answers[0], answer, S) else mistake(lang, answers, answer, there)
    return WrongAnswer(S, at, there.wanted, there.yours, shortest, evidence, found, warnings)


def _nulls_decide(lang: Language[Any], model: Any, answer: Any, S: Stream) -> bool:
    """Return whether two queries that differ on S agree once every absent or NaN attribute has a value."""
    assert S.schema is not None
    values = few_values(lang, S.schema, model, answer)
    absent = sorted({name for event in S for name in S.schema.types[event.type] if _without_value(event, name)})
    filled = product(*(values[name] for name in absent))
    return bool(absent) and not any(
        _matches(lang, model, T) != _matches(lang, answer, T)
        for T in (_filled(S, dict(zip(absent, chosen, strict=True))) for chosen in islice(filled, FILLED))
    )


def _filled(S: Stream, values: Mapping[str, Value]) -> Stream:
    """Return the stream with these values in place of attributes that are absent or NaN."""
    assert S.schema is not None
    types = S.schema.types
    filled = ({n: v for n, v in values.items() if n in types[e.type] and _without_value(e, n)} for e in S)
    return Stream([Event(e.type, {**e.attributes, **more}) for e, more in zip(S, filled, strict=True)], S.schema)


def _without_value(event: Event, name: str) -> bool:
    value = event.attributes.get(name)
    return value is None or value != value


def _matches(lang: Language[Any], query: Any, S: Stream) -> set[tuple[int, tuple[int, ...]]]:
    """Return the matches that the reference evaluator finds: where each is reported, and its events' positions."""
    return {(m.at, m.events) for m in lang.evaluators.matches(query, S)}


# ---------------------------------------------------------------------------------------------------------------------
# An exercise, and the feedback on an answer, as text and as JSON.

LISTED = 20  # the most events of a stream that are shown


def statement(exercise: Exercise) -> list[str]:
    """Return lines with the sentence of the exercise, and its event types."""
    types = (f"{name}({', '.join(attributes)})" if attributes else name for name, attributes in _schema(exercise))
    heading = f"{exercise.id}, {LANGUAGES[exercise.language].title}, {LEVELS[exercise.level]}"
    return [heading, exercise.sentence, f"events: {', '.join(types)}"]


def solution(exercise: Exercise) -> list[str]:
    """Return lines with the model answer, and other right answers. Raises InputError if the exercise has no answer."""
    first, *others = exercise.right()
    return [first, *(f"or: {other}" for other in others)]


def feedback(exercise: Exercise, grade: Grade, answer: str, stream: bool = True) -> list[str]:
    """Return lines of feedback: for a right answer the evidence, for a wrong one where it differs, and hints.

    stream: whether to show the stream on which the answer differs, and its matches. If not, the lines only say how many
    events the stream has, and whether matches are missing or not wanted.
    """
    match grade:
        case Right(evidence, length):
            tried = " as far as it was tried" if evidence == "tried" else ""
            return [f"right{tried}: {_how_known(evidence, length)}"]
        case Misfit(message, span):
            return [f"wrong: {message}", *(underline(answer, span).split("\n") if span is not None else ())]
        case WrongAnswer(S, at, wanted, yours, shortest, evidence, mistake, warnings):
            difference = _taking_place if LANGUAGES[exercise.language].takes_place else _reporting
            shown = [*_show_events(S), *difference(S, at, wanted, yours)] if stream else _in_short(wanted, yours)
            return [
                f"wrong: it differs on {'this' if stream else 'a'} {_size_of(S, shortest, evidence)}",
                *shown,
                *(f"warning: {warning}" for warning in warnings),
                *(f"hint: {hint}" for hint in (mistake.hint, exercise.hint_about(mistake)) if hint),
            ]


def json_of(exercise: Exercise, grade: Grade) -> dict[str, Any]:
    """Return the grade as JSON."""
    answer: dict[str, Any] = {"id": exercise.id, "language": exercise.language, "grade": "right"}
    match grade:
        case Right(evidence, length):
            return answer | {"evidence": evidence, "length": length}
        case Misfit(message, span):
            problem = {"message": message, "span": span and [span.start, span.end]}
            return answer | {"grade": "wrong", "problem": problem, "hint": exercise.hint}
        case WrongAnswer(S, at, wanted, yours, shortest, evidence, mistake, warnings):
            difference = {
                "events": [json_of_event(event) for event in S],
                "at": at,
                "wanted": [list(places) for places in wanted],
                "yours": [list(places) for places in yours],
                "shortest": shortest,
            }
            hints = {"mistake": picked(mistake, "kind", "hint"), "hint": exercise.hint_about(mistake)}
            found = hints | {"warnings": list(warnings)}
            return answer | {"grade": "wrong", "evidence": evidence, "difference": difference} | found


def _schema(exercise: Exercise) -> Iterator[tuple[str, list[str]]]:
    for name, attributes in exercise.schema.types.items():
        yield name, [f"{attribute} {value_type}" for attribute, value_type in attributes.items()]


def _how_known(evidence: Evidence, length: int | None) -> str:
    match evidence:
        case "decided":
            return "it agrees with the sentence on every stream"
        case "bounded":
            return f"it agrees with the sentence on all streams of up to {length} events; longer ones were not tried"
        case "tried":
            return (
                f"it agrees with the sentence on the streams of up to {length} events over a few values; for such "
                "queries, cerify cannot decide all streams"
            )


def _size_of(S: Stream, shortest: bool, evidence: Evidence) -> str:
    events = "1 event" if len(S) == 1 else f"{len(S)} events"
    tried = " that was tried" if evidence == "tried" else ""
    return f"stream of {events}{f', and on no shorter one{tried}' if shortest else ''}"


def _show_events(S: Stream) -> list[str]:
    """Return a line for each event; of a long stream, only the first and the last ones."""
    lines = [f"  {position}  {row(event)}" for position, event in enumerate(S)]
    return lines if len(lines) <= LISTED else [*lines[: LISTED // 2], "  …", *lines[-LISTED // 2 :]]


Matches = Sequence[tuple[int, ...]]


def _in_short(wanted: Matches, yours: Matches) -> Iterator[str]:
    if set(wanted) - set(yours):
        yield "yours misses a match that the sentence wants"
    if set(yours) - set(wanted):
        yield "yours reports a match that the sentence does not want"


def _reporting(S: Stream, at: int, wanted: Matches, yours: Matches) -> Iterator[str]:
    yield f"after event {at} the sentence wants {_format_matches(wanted)}; yours reports {_format_matches(yours)}"
    if missing := [places for places in wanted if places not in yours]:
        yield f"yours misses {_in_words(S, missing[0])}"
    if extra := [places for places in yours if places not in wanted]:
        yield f"yours reports {_in_words(S, extra[0])}, which the sentence does not want"


def _taking_place(S: Stream, at: int, wanted: Matches, yours: Matches) -> Iterator[str]:
    event = f"event {at} ({S[at].type})"
    if wanted:
        yield f"the sentence wants {event}; yours does not take place there"
    else:
        yield f"yours takes place at {event}, which the sentence does not want"


def _format_matches(matches: Matches) -> str:
    more = f" and {len(matches) - SHOWN} more" if len(matches) > SHOWN else ""
    return (", ".join(map(braces, matches[:SHOWN])) + more) or "nothing"


def _in_words(S: Stream, places: tuple[int, ...]) -> str:
    if not places:
        return "a match of no event"
    named = ", ".join(f"{p} ({S[p].type})" for p in places)
    return f"the match of event{'s' * (len(places) > 1)} {named}"


# ---------------------------------------------------------------------------------------------------------------------
# Answers marked by a program: a sheet of answers for Gradescope, or one answer in a cell of nbgrader.


def read_answers(file: Path) -> dict[str, Any]:
    """Return the answers in a file, by the ids of exercises. Raises InputError."""
    answers = parse_json(text_of(file), str(file))
    if not isinstance(answers, dict):
        raise InputError(f'{file}: the answers must be one JSON object, as {{"cel-then": "Open ; Close"}}')
    return answers


def results(answers: Mapping[str, Any], tasks: Mapping[str, Exercise]) -> dict[str, Any]:
    """Grade a sheet of answers; return the points, one for each right answer, and the feedback, in Gradescope's form.

    tasks: the exercises to mark. Raises InputError if the file has no right answer to one of them.
    """
    for task in tasks.values():
        task.right()
    tests = [_grade_task(task, answers.get(task.id), number) for number, task in enumerate(tasks.values(), 1)]
    unknown = [
        f"there is no exercise {id_!r}, so its answer was not marked{did_you_mean(id_, tasks)}"
        for id_ in answers
        if id_ not in tasks
    ]
    return {"score": sum(test["score"] for test in tests), "output": "\n".join(unknown), "tests": tests}


def not_marked(error: CerifyError) -> dict[str, Any]:
    """Return the results for a file that cannot be read: no points, and the reason."""
    return {"score": 0, "output": error.described(), "tests": []}


def read_submissions(folder: Path) -> dict[str, dict[str, Any] | InputError]:
    """Return the answers in each file of a folder, by the student's name; for a file that cannot be read, the error.

    Hidden files and folders are left out. Raises InputError if nothing is left.
    """
    names = sorted(one.name for one in folder.iterdir() if one.is_file() and not one.name.startswith("."))
    names.sort(key=lambda name: [int(t) if i % 2 else t for i, t in enumerate(re.split(r"(\d+)", name))])  # s2, s10
    files = [folder / name for name in names]
    if not files:
        raise InputError(f"{folder} has no files; it needs a file of answers for each student")
    stems = Counter(one.stem for one in files)
    found: dict[str, dict[str, Any] | InputError] = {}
    for one in files:
        student = one.stem if stems[one.stem] == 1 else one.name
        try:
            found[student] = read_answers(one)
        except InputError as error:
            found[student] = error
    return found


def marks_csv(marked: Mapping[str, Mapping[str, Any]], tasks: Collection[str]) -> str:
    """Return the results of students as CSV: for each student a row with the points of each exercise and problems.

    The last columns have the version of cerify and the date of today.
    """
    lines = StringIO()
    table = csv.writer(lines, lineterminator="\n")
    table.writerow(["student", "points", "of", *tasks, "problem", "cerify", "date"])
    for student, one in marked.items():
        points = {test["name"]: test["score"] for test in one["tests"]}
        problem = " ".join(one["output"].split())
        # A spreadsheet would run a cell that begins with one of these signs as a formula.
        texts = [f"'{text}" if text.startswith(("=", "+", "-", "@")) else text for text in (student, problem)]
        marks = [one["score"], len(tasks), *(points.get(id_, 0) for id_ in tasks)]
        table.writerow([texts[0], *marks, texts[1], cerify.__version__, date.today().isoformat()])
    return lines.getvalue()


PAGE_OF_MARKS = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Marks</title><style>
body {{ font: 11pt/1.4 sans-serif; margin: 1.5rem auto; max-width: 48rem; padding: 0 1rem; }}
section {{ break-after: page; }} section:last-child {{ break-after: auto; }} article {{ break-inside: avoid; }}
footer {{ color: #555; font-size: 9pt; }}
h3 {{ margin-bottom: 0; }} pre {{ background: #f3f3f3; padding: 0.5rem; white-space: pre-wrap; }}
</style></head><body>
{}
</body></html>
"""


def marks_page(marked: Mapping[str, Mapping[str, Any]], tasks: Collection[str]) -> str:
    """Return the results of students as an HTML page to print: a sheet for each student, with version and date."""
    sections = []
    footer = f"<footer>Marked by cerify {cerify.__version__} on {date.today().isoformat()}</footer>"
    for student, one in marked.items():
        parts = [f"<h1>{escape(student)}</h1><p>{one['score']} of {len(tasks)} points</p>"]
        if one["output"]:
            parts.append(f"<pre>{escape(one['output'])}</pre>")
        parts += (
            f"<article><h3>{escape(test['name'])}: {test['score']} of {test['max_score']}</h3>"
            f"<pre>{escape(test['output'])}</pre></article>"
            for test in one["tests"]
        )
        sections.append(f"<section>{''.join(parts)}{footer}</section>")
    return PAGE_OF_MARKS.format("\n".join(sections))


def _grade_task(task: Exercise, text: Any, number: int) -> dict[str, Any]:
    right, lines = False, ["no answer"]
    if text is not None and not isinstance(text, str):
        text = json.dumps(text)
        lines = ['an answer must be a text in quotes, as "Open ; Close"']
    elif text is not None:
        try:
            grade = graded(task, text)
            right, lines = isinstance(grade, Right), feedback(task, grade, text)
        except CerifyError as error:
            lines = [error.described()]
    return {
        "name": task.id,
        "number": str(number),
        "score": int(right),
        "max_score": 1,
        "status": "passed" if right else "failed",
        "output": "\n".join([task.sentence, *([] if text is None else [text]), *lines]),
        "output_format": "text",
    }


def require_right(id_: str, text: str, file: str | Path = FILE) -> None:
    """Raise AssertionError, with the feedback, if the text is not a right answer. Use it in a cell that nbgrader runs.

    Raises InputError if the file cannot be read, does not have the exercise, or has no usable answer to it.
    """
    try:
        task = exercise(id_, Path(file))
        task.right()
    except UnusableAnswer as error:
        raise InputError(error.withheld) from None
    try:
        grade = graded(task, text)
    except CerifyError as error:
        raise AssertionError(error.described()) from None
    if not isinstance(grade, Right):
        raise AssertionError("\n".join(feedback(task, grade, text)))
