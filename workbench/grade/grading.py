"""Grades of answers to exercises: right, or wrong with a shortest stream that shows it.

The formula is compared with the model answer: by the exact deciders where there are any. Where these are undecided and
the exercise lists values of attributes, both are tried on all short streams over these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Literal, TypeAlias

from cerify.api import read_query
from cerify.equivalence.verdict import Bounded, Different, Undecided
from cerify.grade.exercises import Exercise
from cerify.grade.mistakes import Mistake, mistake
from cerify.languages.language import Language
from cerify.semantics.errors import CerifyError, IllFormed, InputError, InternalError, Span, Unsupported, errors_in
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.values import Value

FITTING = ("event_type", "attribute")  # rules that an answer breaks with a name that the events do not have
STREAMS = 1600  # that are tried at most
LONGEST = 5


def short_streams(schema: Schema, values: Mapping[str, Sequence[Value]]) -> Iterator[Stream]:
    """All streams of the schema whose attributes have these values: those of 1 event, of 2, and so on.

    They end with the greatest length for which all together are few enough. Times never decrease.
    """
    letters = list(_events(schema, values))
    made = 0
    for length in range(1, LONGEST + 1):
        made += len(letters) ** length
        if made > STREAMS and length > 1:
            return
        for events in product(letters, repeat=length):
            if _in_time(events):
                yield Stream(events, schema)


def _events(schema: Schema, values: Mapping[str, Sequence[Value]]) -> Iterator[Event]:
    for type_, attributes in schema.types.items():
        for chosen in product(*(values[name] for name in attributes)):
            yield Event(type_, dict(zip(attributes, chosen, strict=True)))


def _in_time(events: Sequence[Event]) -> bool:
    """Whether no event happens before the one in front of it."""
    times = [event.get(TIME) for event in events]
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
    is probably wrong.
    """

    stream: Stream
    at: int
    wanted: tuple[tuple[int, ...], ...]
    yours: tuple[tuple[int, ...], ...]
    shortest: bool
    evidence: Evidence
    mistake: Mistake


@dataclass(frozen=True)
class Misfit:
    """The formula does not fit the events of the exercise: it names what they do not have. message says what."""

    message: str
    span: Span | None


Grade: TypeAlias = Right | Wrong | Misfit


def graded(exercise: Exercise, text: str) -> Grade:
    """What becomes of the text as an answer.

    Raises ParseError, Unsupported where nothing can tell, and InputError for an exercise without answers.
    """
    answers = right_answers(exercise)
    lang, answer = read_query(text, exercise.language)
    if problem := next((p for p in lang.problems(answer, exercise.schema) if p.rule in FITTING), None):
        return Misfit(problem.hinted, problem.span)
    with errors_in(text):
        try:
            lang.require_typed(answer, exercise.schema)
        except IllFormed as error:
            return Misfit(error.message, error.span)
        return Right("decided") if answer == answers[0] else _graded(exercise, lang, answers, answer)


def right_answers(exercise: Exercise) -> list[Any]:
    """Its answers as syntax trees. Raises InputError if it has none, or one that does not fit its events."""
    texts = exercise.right()
    try:
        return [read_query(text, exercise.language, exercise.schema)[1] for text in texts]
    except CerifyError as error:
        raise InputError(f"the file's answer to {exercise.id!r} cannot be used: {error.described()}") from None


def _graded(exercise: Exercise, lang: Language[Any], answers: Sequence[Any], answer: Any) -> Grade:
    found = lang.difference(answers[0], answer, exercise.schema)
    match found:
        case None:
            return Right("decided")
        case Bounded(length):
            return Right("bounded", length)
        case Different(S, _, _, _, shortest):
            return _wrong(lang, answers, answer, S, shortest, "decided")
        case Undecided(reason) if exercise.values:
            return _tried(exercise, lang, answers, answer)
        case Undecided(reason):
            raise Unsupported(f"whether this is right cannot be decided: {reason}; write it in another way")


def _tried(exercise: Exercise, lang: Language[Any], answers: Sequence[Any], answer: Any) -> Grade:
    """The two on all short streams over the values of the exercise, and those next to what the answer adds."""
    extra = {n + d for n in _integers(lang, answer) - _integers(lang, answers[0]) for d in (-1, 0, 1)}
    values = {
        name: sorted({*given, *extra} if all(type(v) is int for v in given) else given)
        for name, given in exercise.values.items()
    }
    length = 0
    for S in short_streams(exercise.schema, values):
        if _matches(lang, answers[0], S) != _matches(lang, answer, S):
            return _wrong(lang, answers, answer, S, True, "tried")
        length = len(S)
    return Right("tried", length)


def _integers(lang: Language[Any], query: Any) -> set[int]:
    """The integers that a query mentions."""
    numbers = (n for n in lang.constants(query) if isinstance(n, int | float))
    return {int(n) for n in numbers if isinstance(n, int) or n.is_integer()}


def _wrong(
    lang: Language[Any], answers: Sequence[Any], answer: Any, S: Stream, shortest: bool, evidence: Evidence
) -> Wrong:
    """The stream with what the definitions have on it, at the last position at which they differ."""
    wanted, yours = _matches(lang, answers[0], S), _matches(lang, answer, S)
    if wanted == yours:
        raise InternalError(f"the two were found to differ on {list(S)}, and do not")
    at = max(n for n, _ in wanted ^ yours)
    there = [tuple(sorted(events for n, events in found if n == at)) for found in (wanted, yours)]
    return Wrong(S, at, there[0], there[1], shortest, evidence, mistake(lang, answers, answer, S))


def _matches(lang: Language[Any], query: Any, S: Stream) -> set[tuple[int, tuple[int, ...]]]:
    """The matches by the definition: where each is reported, and its positions."""
    return {(m.at, m.events) for m in lang.matches(query, S)}
