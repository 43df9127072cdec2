"""The likely causes of what an engine reported over pieces of its stream: hypotheses under which it reports the same.

A log has what was reported, and its engine cannot be run again. Engines that depart from the definition in one axis
(see hypotheses) are run instead: one that reports exactly what the log has is a likely cause, and its difference from
the definition can be shrunk to a short query and stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from cerify.api import match
from cerify.conformance.hypotheses import INTERPRETATIONS, interpretation_of
from cerify.conformance.hypotheses.axis import EngineError, choices_of
from cerify.conformance.shrinking import shrink_case
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL
from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream

PlainMatch = tuple[int, tuple[int, ...]]
"""A position, and the positions of the events of a match that is reported there."""

Report = frozenset[PlainMatch]
"""What is reported over a whole stream."""

Reports = Callable[[str, Stream], Report | None]
"""From a query and a stream to what an engine reports; None where it answers with an error."""

BUDGET = Budget(valuations=200_000, seconds=2.0)
Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much there is."""

CANDIDATES = 3000  # smaller cases tried for each cause
TOGETHER = 24  # pieces that all wrong semantics are compared with at a time


@dataclass(frozen=True)
class Piece:
    """Consecutive events of a stream, the matches to be reported inside them, and those that were."""

    S: Stream
    expected: Report
    reported: Report


@dataclass(frozen=True)
class Evidence:
    """A piece with a wrong report, and other pieces of the same stream, right or wrong.

    A semantics that reports nothing at all explains each match that is missing; those beside it tell it apart.
    """

    piece: Piece
    beside: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Smallest:
    """The shortest query and stream found on which a wrong semantics departs from the meaning."""

    query: str
    S: Stream
    expected: Report
    reported: Report


@dataclass(frozen=True)
class Cause:
    """A hypothesis as axis=value, others that fit as well, and what it explains."""

    name: str
    alike: tuple[str, ...]
    explains: tuple[Evidence, ...]
    smallest: Smallest | None


def causes(
    query: str, language: str, evidence: Iterable[Evidence], progress: Progress = lambda what, done, total: None
) -> tuple[list[Cause], list[Evidence]]:
    """The fewest hypotheses found that report what was reported, and the evidence that none of them explains.

    Of some at a time the hypothesis that explains most is taken, with all that it explains. Raises ParseError.
    """
    LANGUAGES[language].parse(query)
    left, found, unknown = list(evidence), list[Cause](), list[Evidence]()
    total = len(left)
    known: dict[tuple[str, int], bool] = {}

    def reports(name: str, piece: Piece) -> bool:
        key = name, id(piece)
        if key not in known:
            known[key] = False
            with suppress(CerifyError):
                said = SUSPECTS[language][name](query, piece.S)
                known[key] = said is not None and piece.reported == {(n, C) for n, C in said if n < len(piece.S)}
        return known[key]

    def explains(name: str, one: Evidence) -> bool:
        return all(reports(name, piece) for piece in (one.piece, *one.beside))

    while left:
        progress("looking for causes", total - len(left), total)
        some = left[:TOGETHER]
        number = {name: sum(explains(name, one) for one in some) for name in SUSPECTS[language]}
        most = max(number.values())
        if not most:
            unknown, left = [*unknown, *some], left[TOGETHER:]
            continue
        names = [name for name in number if number[name] == most]
        explained = [one for one in left if explains(names[0], one)]
        left = [one for one in left if not explains(names[0], one)]
        alike = tuple(name for name in names[1:] if all(explains(name, one) for one in explained))
        small = smallest(query, language, SUSPECTS[language][names[0]], [one.piece for one in explained])
        found.append(Cause(names[0], alike, tuple(explained), small))
    progress("looking for causes", total, total)
    return found, unknown


def smallest(query: str, language: str, reports: Reports, pieces: Iterable[Piece]) -> Smallest | None:
    """The smallest case found, going down from the piece with the fewest events."""
    best: Smallest | None = None

    def fails(query: str, S: Stream) -> bool:
        nonlocal best
        expected, reported = meant(query, language, S), reports(query, S)
        if reported is None or reported == expected:
            return False
        best = Smallest(query, S, expected, reported)
        return True

    start = min(pieces, key=lambda piece: len(piece.S)).S
    if fails(query, start):
        shrink_case(LANGUAGES[language], query, start, fails, CANDIDATES)
    return best


def meant(query: str, language: str, S: Stream) -> Report:
    """The positions and events of the matches by the definition. Raises CerifyError."""
    found = match(query, S, language=language, evaluator=DENOTATIONAL, budget=BUDGET)
    return frozenset((m.at, m.events) for m in found)


def thinned(
    query: str, language: str, piece: Piece, about: PlainMatch, said: int | None = None
) -> tuple[Piece, PlainMatch]:
    """The piece without the events that do not matter for whether this match is due; and where the match is then.

    said is where it was reported, if it was elsewhere.
    What an engine would have reported about fewer events nobody knows: what is left of the log is kept.
    """
    kept = list(range(len(piece.S)))
    due = about in piece.expected
    for event in reversed(range(len(piece.S))):
        if event in (about[0], said, *about[1]):
            continue
        fewer = [e for e in kept if e != event]
        with suppress(CerifyError):
            if (_moved(about, fewer) in meant(query, language, _part(piece.S, fewer))) == due:
                kept = fewer
    S = _part(piece.S, kept)
    inside = {(at, C) for at, C in piece.reported if {at, *C} <= set(kept)}
    reported = frozenset(_moved(one, kept) for one in inside)
    return Piece(S, meant(query, language, S), reported), _moved(about, kept)


def _part(S: Stream, kept: Sequence[int]) -> Stream:
    return Stream([S[e] for e in kept], S.schema)


def _moved(one: PlainMatch, kept: Sequence[int]) -> PlainMatch:
    number = {e: i for i, e in enumerate(kept)}
    return number[one[0]], tuple(number[e] for e in one[1])


def _reports(language: str, axis: str, value: str, query: str, S: Stream) -> Report | None:
    """What an engine reports whose meaning departs from the definition in one axis. Raises CerifyError."""
    interpretation = interpretation_of(language)
    try:
        found = interpretation.matches(
            LANGUAGES[language].parse(query), S, choices_of({axis: value}, interpretation.axes), budget=BUDGET
        )
    except EngineError:
        return None
    return frozenset((m.at, m.events) for m in found)


SUSPECTS: Mapping[str, Mapping[str, Reports]] = {
    language: {
        f"{axis.name}={value}": partial(_reports, language, axis.name, value)
        for axis in one.axes.values()
        for value in axis.values[1:]
    }
    for language, one in INTERPRETATIONS.items()
}
"""For each language what engines report that depart from the definition in one axis, by the axis and its value."""
