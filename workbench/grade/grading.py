"""Grades of answers to exercises: right, or wrong with a shortest stream that shows it.

The formula is compared with the model answer: by the exact deciders where there are any. Where these are undecided,
both are tried on all short streams over the values that the exercise lists, or else over a few that a difference needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise, product
from typing import Any, Literal, TypeAlias

from cerify.api import read_query
from cerify.equivalence.bounded.short_streams import streams_of
from cerify.equivalence.verdict import Bounded, Different, Undecided
from cerify.grade.exercises import Exercise
from cerify.grade.mistakes import NULLS, Difference, Mistake, mistake
from cerify.languages import LANGUAGES
from cerify.languages.language import Language
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    IllFormed,
    InternalError,
    MissingPackage,
    ParseError,
    Span,
    Unsupported,
    errors_in,
)
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.packages import installed
from cerify.semantics.values import Value, ValueType

FITTING = ("event_type", "attribute")  # rules that an answer breaks with a name that the events do not have
STREAMS = 1600  # that are tried at most for an exercise
LONGEST = 5
FILLED = 30  # streams that have values in place of absent attributes, to see whether these decide
SECONDS = 20.0  # that one answer may take in all
DECIDING = 10.0  # of these, until it is decided; what is left is there to try streams

UNDECIDED: Mapping[type[CerifyError], str] = {
    BudgetExceeded: "takes more time or memory than there is; write it in another way",
    InternalError: "was not found out, by a fault of cerify: please report it",
    Unsupported: "cannot be decided; write it in another way",
}
"""By the error in a comparison with the model answer, which is not shown, what is said instead."""


def short_streams(schema: Schema, values: Mapping[str, Sequence[Value]], most: int = STREAMS) -> Iterator[Stream]:
    """All streams of the schema whose attributes have these values: those of 1 event, of 2, and so on.

    They end with the greatest length for which all together are at most `most`. Times never decrease.
    """
    yield from filter(_in_time, streams_of(list(_events(schema, values)), LONGEST, most, schema))


def _events(schema: Schema, values: Mapping[str, Sequence[Value]]) -> Iterator[Event]:
    for type_, attributes in schema.types.items():
        for chosen in product(*(values[name] for name in attributes)):
            yield Event(type_, dict(zip(attributes, chosen, strict=True)))


def _in_time(S: Stream) -> bool:
    """Whether no event happens before the one in front of it."""
    times = [event.get(TIME) for event in S]
    return all(t1 <= t2 for t1, t2 in pairwise(times) if isinstance(t1, int) and isinstance(t2, int))


Evidence = Literal["decided", "bounded", "tried"]
"""How it is known: for all streams; for all streams up to a length; for those over a few values up to a length."""


@dataclass(frozen=True)
class Right:
    """The formula means what is wanted; on streams of up to length events, where that is not None."""

    evidence: Evidence
    length: int | None = None


@dataclass(frozen=True)
class Wrong:
    """After the event at position `at` of the stream the formula has yours, and wanted are others.

    Where shortest is true, the two have the same on every shorter stream, or on those that were tried. mistake is what
    is probably wrong, and warnings are those that `cerify match` gives.
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
    """The formula does not fit the events of the exercise: it names what they do not have. message says what."""

    message: str
    span: Span | None


Grade: TypeAlias = Right | Wrong | Misfit


def graded(exercise: Exercise, text: str) -> Grade:
    """What becomes of the text as an answer.

    Raises ParseError; Unsupported and BudgetExceeded, without a word of the answers, where nothing can tell; and
    InputError for an exercise without answers.
    """
    answers = exercise.trees()
    lang, answer = _read(text, exercise.language)
    if problem := next((p for p in lang.problems(answer, exercise.schema) if p.rule in FITTING), None):
        return Misfit(problem.hinted, problem.span)
    with errors_in(text):
        try:
            lang.require_typed(answer, exercise.schema)
        except IllFormed as error:
            return Misfit(error.message, error.span)
    if answer == answers[0]:
        return Right("decided")
    try:
        with Budget(seconds=SECONDS).timed():
            return _compared(exercise, lang, answers, answer)
    except CerifyError as error:  # which may speak of the model answer, or show it
        kind = type(error) if type(error) in UNDECIDED else Unsupported
    own = next((p for p in lang.problems(answer, exercise.schema) if p.rule == "unbound"), None)
    with errors_in(text):
        if own is not None and kind is Unsupported:
            raise kind(f"whether this is right cannot be decided: {own.hinted}. {exercise.hint}", own.span)
        raise kind(f"whether this is right {UNDECIDED[kind]}")


def _read(text: str, language: str) -> tuple[Language[Any], Any]:
    """The answer as a syntax tree. Raises ParseError, which does not say how to choose another language."""
    try:
        return read_query(text, language)
    except ParseError as error:
        wrong, otherwise, _ = error.message.rpartition(": language=")
        if otherwise:
            error.message = f"{wrong}, and the exercise is of {LANGUAGES[language].title}"
        raise


def _compared(exercise: Exercise, lang: Language[Any], answers: Sequence[Any], answer: Any) -> Grade:
    """What is found of the first answer; where that is not decided, what is proved of another one, or is tried."""
    undecided: CerifyError | None = None
    with suppress(BudgetExceeded), Budget(seconds=DECIDING).timed():
        for right in answers:
            try:
                found = lang.difference(right, answer, exercise.schema)
            except (BudgetExceeded, Unsupported) as error:
                undecided = undecided or error
                continue
            match found:
                case None:
                    return Right("decided")
                case Bounded(length):
                    return Right("bounded", length)
                case Different(S, _, _, _, shortest) if undecided is None:
                    return _wrong(lang, answers, answer, S, shortest, "decided")
                case Undecided(reason):
                    undecided = undecided or Unsupported(reason)
    grade = _tried(exercise, lang, answers, answer)
    with_solver = installed("z3") and not isinstance(undecided, MissingPackage)
    if isinstance(grade, Right) and not exercise.values and with_solver:
        raise undecided or BudgetExceeded(f"more than {DECIDING} seconds")
    return grade


def _tried(exercise: Exercise, lang: Language[Any], answers: Sequence[Any], answer: Any) -> Right | Wrong:
    """The two on all short streams over the values of the exercise, and those next to what the answer adds."""
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
    """For each attribute one value to try, and some more if a query asks about it."""
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
    """The integers that a query mentions."""
    operations = lang.operations()
    constants = [*lang.constants(query), *(operations.constants(query) if operations is not None else ())]
    return {int(n) for n in constants if isinstance(n, int | float) and math.isfinite(n) and n == int(n)}


def _wrong(
    lang: Language[Any], answers: Sequence[Any], answer: Any, S: Stream, shortest: bool, evidence: Evidence
) -> Wrong:
    """The stream with what the definitions have on it, at the last position at which they differ."""
    wanted, yours = _matches(lang, answers[0], S), _matches(lang, answer, S)
    if wanted == yours:
        raise InternalError(f"the two were found to differ on {list(S)}, and do not")
    at = max(n for n, _ in wanted ^ yours)
    there = Difference(S, *(tuple(sorted(events for n, events in found if n == at)) for found in (wanted, yours)))
    warnings = tuple(problem.hinted for problem in lang.problems(answer, S.schema) if problem.rule == "unbound")
    found = NULLS if _nulls_decide(lang, answers[0], answer, S) else mistake(lang, answers, answer, there)
    return Wrong(S, at, there.wanted, there.yours, shortest, evidence, found, warnings)


def _nulls_decide(lang: Language[Any], model: Any, answer: Any, S: Stream) -> bool:
    """Whether two that differ on a stream do so only since attributes are absent, or NaN: with values they do not."""
    assert S.schema is not None
    values = few_values(lang, S.schema, model, answer)
    absent = sorted({name for event in S for name in S.schema.types[event.type] if _without_value(event, name)})
    filled = product(*(values[name] for name in absent))
    return bool(absent) and not any(
        _matches(lang, model, T) != _matches(lang, answer, T)
        for T in (_filled(S, dict(zip(absent, chosen, strict=True))) for chosen in islice(filled, FILLED))
    )


def _filled(S: Stream, values: Mapping[str, Value]) -> Stream:
    """The stream with values in place of the attributes that are absent, or NaN."""
    assert S.schema is not None
    types = S.schema.types
    filled = ({n: v for n, v in values.items() if n in types[e.type] and _without_value(e, n)} for e in S)
    return Stream([Event(e.type, {**e.attributes, **more}) for e, more in zip(S, filled, strict=True)], S.schema)


def _without_value(event: Event, name: str) -> bool:
    value = event.attributes.get(name)
    return value is None or value != value


def _matches(lang: Language[Any], query: Any, S: Stream) -> set[tuple[int, tuple[int, ...]]]:
    """The matches by the definition: where each is reported, and its positions."""
    return {(m.at, m.events) for m in lang.matches(query, S)}
