"""Whether a formula says what the sentence of an exercise says: right, or wrong on a shortest stream.

The formula is compared with the model answer: by the exact deciders where there are any. Two queries of SASE+ are
decided where both have a CEL formula about single events; else they are tried on all short streams over a few values.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias

from cerify.automata.cea.compile import compilable
from cerify.automata.cea.compile_core import compile_core
from cerify.compare import equivalent, expressions
from cerify.equivalence.decide.automata import difference
from cerify.equivalence.rewrite.translate.sase_to_cel import sase_to_cel
from cerify.equivalence.shrink.sase import constants
from cerify.equivalence.verdict import Bounded, Contained, Different, Equivalent, Undecided
from cerify.evaluators import LANGUAGES
from cerify.grade.exercises import Exercise
from cerify.grade.short_streams import short_streams
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.show import show as show_core
from cerify.semantics.core_cel.wellformed import is_unary
from cerify.semantics.errors import InternalError, Unsupported, errors_in
from cerify.semantics.events import Match, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.streams import blocks_of, queries_of

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

    Where shortest is true, the two have the same on every shorter stream, or on those that were tried.
    """

    stream: Stream
    at: int
    wanted: tuple[tuple[int, ...], ...]
    yours: tuple[tuple[int, ...], ...]
    shortest: bool
    evidence: Evidence


Grade: TypeAlias = Right | Wrong


def graded(exercise: Exercise, text: str) -> Grade:
    """What becomes of the text as an answer. Raises ParseError, IllFormed, and Unsupported where nothing can tell."""
    spoken = LANGUAGES[exercise.language]
    with errors_in(text):
        answer = spoken.parse(text)
        spoken.require_typed(answer, exercise.schema)
        model = spoken.parse(exercise.answers[0])
        return Right("decided") if answer == model else _graded(exercise, model, answer)


def _graded(exercise: Exercise, model: Any, answer: Any) -> Grade:
    match exercise.language:
        case "cel":
            return _cel(exercise, model, answer)
        case "core-cel":
            return _core_cel(exercise, model, answer)
        case "event-expression":
            return _of_verdict(exercise, model, answer, expressions(model, answer, schema=exercise.schema))
        case "sase":
            return _sase(exercise, model, answer)
        case other:
            raise InternalError(f"no exercise is in {other}")


def _cel(exercise: Exercise, model: cel.Formula, answer: cel.Formula) -> Grade:
    return _of_verdict(exercise, model, answer, equivalent(model, answer, schema=exercise.schema))


def _core_cel(exercise: Exercise, model: core.Formula, answer: core.Formula) -> Grade:
    if is_unary(model) and is_unary(answer):
        S = difference(compile_core(model), compile_core(answer), "events", exercise.schema)
        return Right("decided") if S is None else _wrong(exercise, model, answer, S, True, "decided")
    texts = show_core(model), show_core(answer)
    verdict = equivalent(*texts, schema=exercise.schema, languages=("core-cel", "core-cel"))
    return _of_verdict(exercise, model, answer, verdict)


def _sase(exercise: Exercise, model: sase.Tree, answer: sase.Tree) -> Grade:
    try:
        phi, psi = sase_to_cel(model), sase_to_cel(answer)
    except Unsupported:
        return _tried(exercise, model, answer)
    if not (compilable(phi) and compilable(psi)):
        return _tried(exercise, model, answer)
    return _of_verdict(exercise, model, answer, equivalent(phi, psi, schema=exercise.schema))


def _of_verdict(
    exercise: Exercise,
    model: Any,
    answer: Any,
    verdict: Equivalent | Contained | Different | Bounded | Undecided,
) -> Grade:
    match verdict:
        case Equivalent() | Contained():
            return Right("decided")
        case Bounded(length):
            return Right("bounded", length)
        case Different(S, _, _, _, shortest):
            return _wrong(exercise, model, answer, S, shortest, "decided")
        case Undecided(reason):
            raise Unsupported(f"whether this is right cannot be told: {reason}; write it in another way")


def _tried(exercise: Exercise, model: sase.Tree, answer: sase.Tree) -> Grade:
    """The two on all short streams over the values of the exercise, and those next to what the answer adds."""
    extra = {n + d for n in _numbers(answer) - _numbers(model) for d in (-1, 0, 1)}
    values = {
        name: sorted({*given, *extra} if all(type(v) is int for v in given) else given)
        for name, given in exercise.values.items()
    }
    length = 0
    for S in short_streams(exercise.schema, values):
        if _matches(exercise, model, S) != _matches(exercise, answer, S):
            return _wrong(exercise, model, answer, S, True, "tried")
        length = len(S)
    return Right("tried", length)


def _numbers(query: sase.Tree) -> set[int]:
    """The whole numbers that the conditions and windows of a query mention."""
    blocks = [q for part in queries_of(query) for q in blocks_of(part)]
    windows = [q.within.seconds for q in blocks if q.within is not None]
    mentioned = chain(windows, *map(constants, blocks))
    return {int(n) for n in mentioned if isinstance(n, int) or (isinstance(n, float) and n.is_integer())}


def _wrong(exercise: Exercise, model: Any, answer: Any, S: Stream, shortest: bool, evidence: Evidence) -> Wrong:
    """The stream with what the definitions have on it, at the last position at which they differ."""
    wanted, yours = _matches(exercise, model, S), _matches(exercise, answer, S)
    if wanted == yours:
        raise InternalError(f"the two were found to differ on {list(S)}, and do not")
    at = max(n for n, _ in wanted ^ yours)
    there = [tuple(sorted(events for n, events in found if n == at)) for found in (wanted, yours)]
    return Wrong(S, at, there[0], there[1], shortest, evidence)


def _matches(exercise: Exercise, phi: Any, S: Stream) -> set[tuple[int, tuple[int, ...]]]:
    """The matches by the definition: where each is reported, and its positions."""
    found: list[Match] = LANGUAGES[exercise.language].evaluators["denotational"](phi, S, "matches", Budget())
    return {(m.at, m.events) for m in found}
