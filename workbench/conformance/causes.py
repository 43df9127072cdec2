"""The likely causes of defects: the choices of another semantics that give the answers which the engine gave."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from cerify.conformance.hypotheses import AXES
from cerify.conformance.hypotheses.predicting import MatchPredictor
from cerify.conformance.model import Case, Cause, Result
from cerify.conformance.oracle import stream_of
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream

Choice: TypeAlias = tuple[str, str]
"""An axis and one of its values."""

Given: TypeAlias = frozenset[Match] | str | None
"""The matches of an answer, the word "error" for an error, None where there is neither."""

PASSED = 150  # cases that the engine passed on which a choice must not predict a wrong answer
MOSTLY = 0.5  # the share of the answers that a cause has to give
EXCEPTIONS = 0.03  # of these, the share on which it may, since two faults can make a right answer
SAMPLE = 120  # failing cases on which choices are compared
COMPARED = 60  # answers to failing cases, and as many right ones, on which each choice is compared with its rivals
SHOWN = 3  # causes of a defect that are listed


def given_by(result: Result) -> Given:
    """What the engine answered; None too where the matches are the expected ones, and only their form is wrong."""
    if result.outcome == "error":
        return "error"
    if result.matches is None or set(result.matches) == set(result.case.matches):
        return None
    return frozenset(result.matches)


@dataclass
class Choices:
    """The choices of a language, and what an engine with some of them answers; each question is answered once.

    passed: cases that the engine passed. held: the choices that the expected matches have, by axis, where they are not
    those of the definition: each answer is one with these, but for the axes that are chosen. excluded: whether no
    choice is considered, since the answers do not depend on the queries.
    """

    language: str
    passed: Sequence[Case] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    excluded: bool = False
    _streams: dict[str, Stream] = field(default_factory=dict)
    _possible: dict[Choice, bool] = field(default_factory=dict)

    @cached_property
    def _predictor(self) -> MatchPredictor:
        return MatchPredictor(self.language)

    def __iter__(self) -> Iterator[Choice]:
        """Every value of every axis but the expected one."""
        for axis in () if self.excluded else AXES.get(self.language, {}).values():
            expected = self.held.get(axis.name, axis.default)
            yield from ((axis.name, value) for value in axis.values if value != expected)

    def answer(self, case: Case, chosen: Iterable[Choice]) -> Given:
        """What an engine with these choices answers; None where that is not modelled."""
        text = repr((case.events, case.schema))
        try:
            if text not in self._streams:
                self._streams[text] = stream_of(case)
            given = {**self._predictor.default, **self.held, **dict(chosen)}
            found = self._predictor.matches(case.query, self._streams[text], text, given, case.output)
        except (CerifyError, RecursionError):
            return None
        return None if found == "unmodelled" else found

    def concerns(self, case: Case, axes: Container[str]) -> bool:
        """Whether one of the axes bears on the query of a case."""
        with suppress(CerifyError, RecursionError):
            return any(axis.name in axes for axis in self._predictor.axes_of(case.query))
        return False

    def reproduces(self, chosen: Iterable[Choice], result: Result) -> bool:
        """Whether an engine with these choices gives the answer that was given."""
        given = given_by(result)
        return given is not None and self.answer(result.case, chosen) == given

    def possible(self, choice: Choice) -> bool:
        """Whether the choice gives the right answer to the cases that the engine passed, with few exceptions."""
        if choice not in self._possible:
            wrong, most = 0, EXCEPTIONS * min(len(self.passed), PASSED)
            for case in self.passed[:PASSED]:
                given = self.answer(case, [choice])
                wrong += given is not None and given != frozenset(case.matches)
                if wrong > most:
                    break
            self._possible[choice] = wrong <= most
        return self._possible[choice]


def chosen_for(choices: Choices, smallest: Sequence[Result], failing: Sequence[Result]) -> list[Choice]:
    """The fewest choices found that between them give the answers to the smallest cases, each one by itself.

    Of those that explain equally many of these, the one that together with those found before explains most failing
    cases is taken. Then come those that give an answer that is left together with those found before. In the end each
    is compared with its rivals again, now that the others are known.
    """
    sample = failing[:: max(1, len(failing) // SAMPLE)]
    taken: list[Choice] = []
    covers: dict[Choice, set[int]] = {}
    left = set(range(len(smallest)))

    def taking(candidates: Mapping[Choice, set[int]]) -> None:
        """Takes choices until none of the candidates gives an answer that is left."""
        while free := {
            c: len(found & left) for c, found in candidates.items() if found & left and not _taken(c, taken)
        }:
            best = [c for c, number in free.items() if number == max(free.values())]
            joint = {c: sum(choices.reproduces([*taken, c], one) for one in sample) for c in best}
            choice = max(joint, key=lambda c: joint[c])
            taken.append(choice)
            covers[choice] = candidates[choice]
            left.difference_update(candidates[choice])

    def giving(beside: Sequence[Choice], among: Iterable[int]) -> dict[Choice, set[int]]:
        """The choices that give some of the answers beside others, with these answers."""
        found = {c: {i for i in among if choices.reproduces([*beside, c], smallest[i])} for c in choices}
        return {c: answers for c, answers in found.items() if answers and choices.possible(c)}

    taking(giving([], tuple(left)))
    if taken and left:
        taking(giving(tuple(taken), tuple(left)))
    only = [covers[c].difference(*(covers[other] for other in taken if other != c)) or covers[c] for c in taken]
    return revised(choices, taken, [[smallest[i] for i in own] for own in only], failing)


def revised(
    choices: Choices, taken: Sequence[Choice], smallest: Sequence[Sequence[Result]], failing: Sequence[Result]
) -> list[Choice]:
    """The choices, each replaced by one that explains more of the answers, now that the others are known.

    smallest: for each choice the smallest cases that it explains; what replaces it does so beside the others.
    """
    found = list(taken)
    for n, choice in enumerate(found):
        rest = found[:n] + found[n + 1 :]
        rivals = [
            c
            for c in choices
            if c == choice or (not _taken(c, rest) and all(choices.reproduces([*rest, c], one) for one in smallest[n]))
        ]
        if len(rivals) > 1:
            asked = answered_about(choices, {axis for axis, _ in rivals}, failing)
            number = {c: sum(choices.answer(case, [*rest, c]) == given for case, given in asked) for c in rivals}
            found[n] = max(rivals, key=lambda c: (number[c], c == choice))
    return found


def answered_about(choices: Choices, axes: set[str], failing: Sequence[Result]) -> list[tuple[Case, Given]]:
    """Cases with what the engine answered, those on whose queries one of the axes bears."""
    wrong = [(one.case, given_by(one)) for one in failing if choices.concerns(one.case, axes)]
    right: list[tuple[Case, Given]] = [(c, frozenset(c.matches)) for c in choices.passed if choices.concerns(c, axes)]
    return [one for some in (wrong, right) for one in some[:: -(-len(some) // COMPARED) or 1]]


def _taken(choice: Choice, taken: Iterable[Choice]) -> bool:
    return any(axis == choice[0] for axis, _ in taken)


def causes_of(
    choices: Choices, results: Sequence[Result], first: Choice | None = None, beside: Sequence[Choice] = ()
) -> tuple[Cause, ...]:
    """The choices that give the first result, of a smallest case, and half of all; `first` in front if given.

    beside: the causes of other defects, together with which `first` may give an answer too.
    """
    number = {
        c: sum(choices.reproduces([c], one) for one in results)
        for c in choices
        if c == first or (choices.reproduces([c], results[0]) and choices.possible(c))
    }
    if first is not None:
        ways = ([first], [*beside, first])
        number[first] = sum(any(choices.reproduces(way, one) for way in ways) for one in results)
    enough = (c for c in number if number[c] and (c == first or number[c] >= MOSTLY * len(results)))
    ordered = sorted(enough, key=lambda c: (c != first, -number[c]))
    return tuple(Cause(*c, number[c], len(results)) for c in ordered[:SHOWN])
