"""The choices of an alternative semantics, and the answers of an engine with some of them.

A choice gives one axis (an aspect of meaning on which engines differ) one of its values.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from cerify.conformance.model import Case, CaseResult, query_of
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import Elements, elements
from cerify.conformance.prediction import AXES, MatchPredictor
from cerify.conformance.watch import Watch
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream

Choice: TypeAlias = tuple[str, str]
"""An axis and one of its values."""

Given: TypeAlias = frozenset[Match] | str | None
"""The matches of an answer, the word "error" for an error, None if there is neither."""

PASSED = 150  # cases that the engine passed, on which a choice is tested
EXCEPTIONS = 0.03  # share of these that it may predict wrongly, since two faults can give a right answer


def given_by(result: CaseResult) -> Given:
    """Return the engine's answer as a set of matches, or "error".

    Return None if there is no answer, or if only the form of the matches is wrong.
    """
    if result.outcome == "error":
        return "error"
    if result.matches is None or set(result.matches) == set(result.case.matches):
        return None
    return frozenset(result.matches)


@dataclass
class Choices:
    """The choices of a language; predicts the answers of an engine with some of them.

    passed: cases that the engine passed. held: choices, by axis, that the expected matches follow in place of the
    default meaning; predictions use them on all axes without a choice. excluded: whether no choice is considered,
    because the answers do not depend on the queries. silencing: whether all answers are to one query, have no match,
    and are predicted by a choice. silent: operators whose queries never get a match. banned: choices that were judged
    and rejected. watch: raises DiagnosisStopped once the time for the search is over. alike: for each accepted choice,
    the choices that no question distinguishes from it. apart: for each accepted choice, a question that would
    distinguish it from the first of these. asked: the answers to further questions. replayed: for each accepted choice,
    the numbers of wrong answers without it and with it. looked: for each axis, the answers to questions that were not
    selected to separate its values. nearly: the choices that each search found, of which answers may contradict
    some. settled: the choices accepted so far, which a search that ends early reports.
    """

    language: str
    passed: Sequence[Case] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    excluded: bool = False
    silencing: bool = False
    silent: frozenset[str] = frozenset()
    banned: set[Choice] = field(default_factory=set)
    watch: Watch = field(default_factory=Watch)
    alike: dict[Choice, tuple[Choice, ...]] = field(default_factory=dict)
    apart: dict[Choice, str] = field(default_factory=dict)
    asked: list[CaseResult] = field(default_factory=list)
    replayed: dict[Choice, tuple[int, int]] = field(default_factory=dict)
    looked: dict[str, list[CaseResult]] = field(default_factory=dict)
    nearly: list[Sequence[Choice]] = field(default_factory=list)
    settled: Sequence[Choice] = ()
    _streams: dict[str, Stream] = field(default_factory=dict)
    _possible: dict[Choice, bool] = field(default_factory=dict)
    _elements: dict[str, Elements] = field(default_factory=dict)

    @cached_property
    def _predictor(self) -> MatchPredictor:
        return MatchPredictor(self.language)

    def __iter__(self) -> Iterator[Choice]:
        """Yield every value of every axis as a choice, except the expected value."""
        for axis in () if self.excluded else AXES.get(self.language, {}).values():
            expected = self.held.get(axis.name, axis.default)
            yield from ((axis.name, v) for v in axis.values if v != expected and (axis.name, v) not in self.banned)

    def answer(self, case: Case, chosen: Iterable[Choice]) -> Given:
        """Return the answer that an engine with these choices would give; None if it cannot be predicted."""
        self.watch.check()
        text = repr((case.events, case.schema))
        try:
            if text not in self._streams:
                self._streams[text] = stream_of(case)
            given = {**self._predictor.default, **self.held, **dict(chosen)}
            found = self._predictor.matches(case.query, self._streams[text], text, given, case.output)
        except (CerifyError, RecursionError):
            return None
        return None if found == "unmodelled" else found

    def elements(self, case: Case) -> Elements:
        """Return the operators of a case's query, and other features that may cause a failure; cached by the case's
        text.
        """
        text = case.query + repr((case.events, case.schema))
        if text not in self._elements:
            language = LANGUAGES[case.language]
            self._elements[text] = frozenset()
            with suppress(CerifyError, RecursionError):
                phi = query_of(case.language, case.query)
                operators = self._predictor.interpretation.operators(
                    phi
                )  # also those in the expansion of a derived one
                self._elements[text] = elements(language, phi, stream_of(case)) | operators
        return self._elements[text]

    def concerns(self, case: Case, axes: Container[str]) -> bool:
        """Return whether one of the axes can change the meaning of the case's query."""
        return any(name in axes for name in self.axes_of(case))

    def axes_of(self, case: Case) -> frozenset[str]:
        """Return the names of the axes that can change the meaning of the case's query."""
        with suppress(CerifyError, RecursionError):
            return frozenset(axis.name for axis in self._predictor.axes_of(case.query))
        return frozenset()

    def reproduces(self, chosen: Iterable[Choice], result: CaseResult) -> bool:
        """Return whether an engine with these choices gives the same answer as in the result."""
        given = given_by(result)
        return given is not None and self.answer(result.case, chosen) == given

    def possible(self, choice: Choice) -> bool:
        """Return whether an engine with this choice would pass the cases that the engine passed; a few exceptions
        are allowed.
        """
        if choice not in self._possible:
            some = list(islice((case for case in self.passed if self.concerns(case, [choice[0]])), PASSED))
            wrong, most = 0, EXCEPTIONS * len(some)
            for case in some:
                given = self.answer(case, [choice])
                wrong += given is not None and given != frozenset(case.matches)
                if wrong > most:
                    break
            self._possible[choice] = wrong <= most
        return self._possible[choice]
