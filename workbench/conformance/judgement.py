"""Judge suspected causes: decide whether choices of another semantics really explain an engine's answers.

A choice is suspected because it predicts some wrong answers. That is weak evidence: other meanings agree with it on
many streams, and an engine may have a meaning that is a value of no axis. So a choice is judged on every case whose
predicted answer depends on it. If the engine answered such a case differently, rightly or wrongly, the answer
contradicts the choice. So further evidence can only reject choices. A wrong cause misleads a reader more than a missing
one, so a single contradiction is enough.

Choices are judged together, because an engine may have several. An answer that no choice explains is ignored, because
another fault may have caused it.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from cerify.conformance.model import Case, CaseResult, query_of
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import Elements, Watch, elements
from cerify.conformance.prediction import AXES, INTERPRETATIONS, MatchPredictor
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream

# ---------------------------------------------------------------------------------------------------------------------
# The choices of an alternative semantics, and the answers of an engine with some of them.
#
# A choice gives one axis (an aspect of meaning on which engines differ) one of its values.

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
    """The choices (axis and value) on which engines of a language may differ, with what a search knows about them.

    It predicts the answers of an engine that makes some of these choices.

    passed: cases that the engine passed. held: choices, by axis, that the expected matches follow in place of the
    default meaning; predictions use them on all axes without a choice. excluded: whether no choice is considered,
    because the answers do not depend on the queries. silencing: whether all answers are to one query, have no match,
    and are predicted by a choice. silent: operators whose queries never get a match. silent_twice: operators whose
    queries never get a match if they name a type twice. banned: choices that were judged and rejected. watch: raises
    DiagnosisStopped once the time for the search is over. alike: for each accepted choice, the choices that no question
    distinguishes from it. apart: for each accepted choice, a question that would distinguish it from the first of
    these. asked: the answers to further questions. replayed: for each accepted choice, the numbers of wrong answers
    without it and with it. looked: for each axis, the answers to questions that were not selected to separate its
    values. nearly: the choices that each search found; answers may contradict some of these. settled: the choices
    accepted so far, which a search that ends early reports. unconfirmed: the number of choices that a search found but
    had no time to judge.
    """

    language: str
    passed: Sequence[Case] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    excluded: bool = False
    silencing: bool = False
    silent: frozenset[str] = frozenset()
    silent_twice: frozenset[str] = frozenset()
    banned: set[Choice] = field(default_factory=set)
    watch: Watch = field(default_factory=Watch)
    alike: dict[Choice, tuple[Choice, ...]] = field(default_factory=dict)
    apart: dict[Choice, str] = field(default_factory=dict)
    asked: list[CaseResult] = field(default_factory=list)
    replayed: dict[Choice, tuple[int, int]] = field(default_factory=dict)
    looked: dict[str, list[CaseResult]] = field(default_factory=dict)
    nearly: list[Sequence[Choice]] = field(default_factory=list)
    settled: Sequence[Choice] = ()
    unconfirmed: int = 0
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

    def is_silenced(self, case: Case) -> bool:
        """Return whether the query has an operator whose queries never get a match, or not if they name a type
        twice.
        """
        if not self.silent and not self.silent_twice:
            return False
        operators = self.elements(case)
        twice = not self.silent_twice.isdisjoint(operators) and repeats_a_type(case)
        return twice or not self.silent.isdisjoint(operators)

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
        """Return whether an engine with this choice would pass the cases that the tested engine passed, with few
        exceptions.
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


# ---------------------------------------------------------------------------------------------------------------------
# How well choices explain the answers of an engine.

NONEMPTY = 1  # answers with a match that an axis needs before it is judged, because empty answers prove nothing


@dataclass(frozen=True)
class AnsweredCase:
    """A case with the engine's answer. wrong: whether the answer differs from the expected one."""

    case: Case
    given: Given
    wrong: bool


@dataclass
class Weight:
    """The evidence about a choice: the answers that it explains (for_), and the answers that contradict it
    (against).
    """

    for_: list[AnsweredCase] = field(default_factory=list)
    against: list[AnsweredCase] = field(default_factory=list)

    @property
    def stands(self) -> bool:
        """Return whether the choice explains some wrong answers, and no answer contradicts it."""
        return any(one.wrong for one in self.for_) and not self.against

    @property
    def share_against(self) -> float:
        """Return the share of the answers that contradict the choice.

        It is 2.0, above every share, if the choice explains no wrong answer.
        """
        if not any(one.wrong for one in self.for_):
            return 2.0
        return len(self.against) / (len(self.for_) + len(self.against))


@dataclass
class ChoiceScorer:
    """Weighs choices (values of axes) in a language by all answers of an engine.

    results: the results of all cases in the language, including cases that were run while failures were shrunk.
    unexplained: for each failure that no choice explains, the operators and other features that it needs. unfit: for
    each axis of which no value explains the answers, the operators that it concerns.
    """

    choices: Choices
    results: Sequence[CaseResult]
    unexplained: Collection[Elements] = ()
    unfit: Collection[Elements] = ()

    def __post_init__(self) -> None:
        self.answers: list[AnsweredCase] = []
        self._bearing: dict[str, list[AnsweredCase]] = {}
        self._known: set[int] = set()
        self.climbed: list[Choice] = []
        self.add(self.results)

    def add(self, results: Iterable[CaseResult]) -> None:
        """Add the engine's answers to further cases."""
        # An inquiry passes all its answers each time, and an answer must not count twice.
        new = [result for result in results if id(result) not in self._known]
        self._known.update(map(id, new))
        self.answers += [answer for result in new if (answer := answer_of(result)) is not None]
        self._bearing.clear()

    def bearing(self, axis: str) -> list[AnsweredCase]:
        """Return the answers to cases whose meaning a choice on this axis can change."""
        if axis not in self._bearing:
            self._bearing[axis] = [one for one in self.answers if self.choices.concerns(one.case, [axis])]
        return self._bearing[axis]

    def weigh(self, choice: Choice, beside: Iterable[Choice]) -> Weight:
        """Return the evidence about a choice: the answers that confirm it and the answers that contradict it.

        It counts the answers that an engine with the choices in `beside` would give otherwise with this choice than
        without. An error counts only if one of the two predictions is an error. An empty answer does not count if the
        query has an operator with which the engine never reports a match.
        """
        others, weight = [other for other in beside if other != choice], Weight()
        for one in self.bearing(choice[0]):
            if not one.given and self.choices.is_silenced(one.case):
                continue
            with_it = self.choices.answer(one.case, [*others, choice])
            without = self.choices.answer(one.case, others)
            if with_it is None or with_it == without or (one.given == "error" and "error" not in (with_it, without)):
                continue
            if with_it == one.given:
                weight.for_.append(one)
            elif one.given != "error" and not self.excuses(choice, one.case, one.wrong):
                weight.against.append(one)
        return weight

    def excuses(self, choice: Choice, case: Case, wrong: bool = True) -> bool:
        """Return whether a wrong (or right) answer to a case may be due to something else, and so cannot refute the
        choice.

        An operator that the case shares with an axis for which no value fits may be the reason. For a wrong answer it
        may also be a failure that no choice explains, unless the choice's axis affects every query. Operators of the
        choice's own axis do not count as such a reason.
        """
        own = set(AXES[self.choices.language][choice[0]].operators)
        present = self.choices.elements(case)
        faults = [*self.unfit, *(self.unexplained if own and wrong else ())]
        return any(b and b <= present and b.isdisjoint(own) for b in faults)

    def speaks(self, choice: Choice) -> bool:
        """Return whether the engine reports matches for at least some queries that the choice's axis concerns.

        If it reports none, many choices predict the empty answers, and that explains nothing.
        """
        given = (isinstance(one.given, frozenset) and bool(one.given) for one in self.bearing(choice[0]))
        return self.choices.silencing or sum(given) >= NONEMPTY

    def confirm(self, chosen: Sequence[Choice], *, likely: Sequence[Choice] = (), helped: bool = False) -> list[Choice]:
        """Judge the choices together, and return those that are accepted.

        As long as answers contradict some choice, the choice that most answers contradict is dropped. likely: choices
        on further axes that are assumed. helped: whether a dropped choice is still assumed when others are judged, if
        it explains some right answers and no answer contradicts it.
        """
        left = [choice for choice in chosen if self.speaks(choice)]
        taken = {axis for axis, _ in chosen}
        helpers = [choice for choice in likely if choice[0] not in taken]
        while left:
            weights = {choice: self.weigh(choice, [*left, *helpers]) for choice in left}
            if all(weights[choice].stands for choice in left):
                break
            # One at a time: the others were weighed together with it, and without it they may stand.
            worst = max(left, key=lambda c: (weights[c].share_against, len(weights[c].against)))
            left.remove(worst)
            if helped and weights[worst].for_ and not weights[worst].against:
                helpers.append(worst)
        return [choice for choice in left if not self.is_strange(choice, [*left, *helpers])]

    def climb(self) -> list[Choice]:
        """Search greedily for choices that together explain the most answers, and return them.

        Each step adds or changes the choice that explains the most additional answers, at least one. The search also
        finds choices that have an effect only together, which no single case suggests. `climbed` has the choices found
        so far, the strongest first, in case time runs out.
        """
        taken: dict[str, str] = {}
        right = {id(one): self.expected(one, ()) == one.given for one in self.answers}
        while True:
            fixed: dict[Choice, int] = {}
            for axis, value in self.choices:
                if taken.get(axis) != value:
                    beside = [*({**taken, axis: value}).items()]
                    wrong = (o for o in self.bearing(axis) if not right[id(o)])
                    fixed[axis, value] = sum(self.expected(o, beside) == o.given for o in wrong)
            gains: dict[Choice, int] = {}
            # A choice gains at most the wrong answers that it fixes, so right answers are predicted for few choices.
            for axis, value in sorted(fixed, key=fixed.__getitem__, reverse=True):
                if fixed[axis, value] < max([1, *gains.values()]):
                    break
                beside = [*({**taken, axis: value}).items()]
                lost = sum(right[id(o)] and self.expected(o, beside) != o.given for o in self.bearing(axis))
                gains[axis, value] = fixed[axis, value] - lost
            best = max((choice for choice in fixed if choice in gains), key=gains.__getitem__, default=None)
            if best is None or gains[best] <= 0:
                return list(taken.items())
            taken[best[0]] = best[1]
            self.climbed = list(taken.items())
            # The axis cannot change any other answer.
            right |= {id(o): self.expected(o, list(taken.items())) == o.given for o in self.bearing(best[0])}

    def confirm_climbs(self, found: Sequence[Choice], rounds: int) -> list[list[Choice]]:
        """Search choices with `climb` several times; return, for each climb, the choices that are accepted.

        Each further climb excludes the choice of the previous one that most answers contradict.
        """
        stands = [self.confirm(found, helped=True)]
        for _ in range(rounds):
            fallen = {c: self.weigh(c, found) for c in found if not any(c in some for some in stands)}
            contradicted = {choice: weight for choice, weight in fallen.items() if weight.against}
            if not contradicted:
                break
            self.choices.banned.add(max(contradicted, key=lambda choice: contradicted[choice].share_against))
            found = self.climb()
            stands.append(self.confirm(found, helped=True))
        return stands

    def is_strange(self, choice: Choice, beside: Sequence[Choice]) -> bool:
        """Return whether the engine gave a wrong answer to a question about the choice's axis that these choices do not
        explain.

        The engine's meaning is then similar to this value, but not the same. beside: the choices that are assumed.
        """
        return any(
            one is not None
            and one.wrong
            and one.given != "error"
            and self.expected(one, beside) != one.given
            and not self.excuses(choice, one.case)
            and (one.given or not self.choices.is_silenced(one.case))
            for one in map(answer_of, self.choices.looked.get(choice[0], ()))
        )

    def alike(self, choice: Choice, beside: Sequence[Choice]) -> list[Choice]:
        """Return the other choices that would explain all answers just as this choice does.

        beside: choices of other axes, which are assumed throughout.
        """
        others = [other for other in beside if other != choice]
        taken = {axis for axis, _ in others}
        first = self.weigh(choice, beside).for_
        smallest = min(first, key=lambda one: (len(one.case.query), len(one.case.events)), default=None)
        return [
            rival
            for rival in self.choices
            if smallest is not None
            and rival != choice
            and rival[0] not in taken
            and self.choices.answer(smallest.case, [*others, rival]) == smallest.given
            and self.speaks(rival)
            and not self._told_apart(choice, rival, others)
        ]

    def _told_apart(self, choice: Choice, rival: Choice, others: Sequence[Choice]) -> bool:
        for one in {id(one): one for one in (*self.bearing(choice[0]), *self.bearing(rival[0]))}.values():
            by_rival = self.choices.answer(one.case, [*others, rival])
            by_choice = self.choices.answer(one.case, [*others, choice])
            if by_rival is None or by_rival == one.given or (one.given == "error" and by_choice != "error"):
                continue
            if by_rival != by_choice:
                return True
        return False

    def failing_under(self, chosen: Sequence[Choice]) -> int:
        """Return how many of the answers would be wrong if these choices were the expected ones."""
        return sum(self.expected(one, chosen) != one.given for one in self.answers)

    def expected(self, one: AnsweredCase, chosen: Sequence[Choice]) -> Given:
        """Return the answer expected under these choices; under the default meaning if they cannot be predicted."""
        found = self.choices.answer(one.case, chosen)
        return frozenset(one.case.matches) if found is None else found


def answer_of(result: CaseResult) -> AnsweredCase | None:
    """Return the engine's answer to a case; None if it gave neither matches nor an error."""
    if result.outcome == "passed":
        return AnsweredCase(result.case, frozenset(result.case.matches), wrong=False)
    given = given_by(result)
    return None if given is None else AnsweredCase(result.case, given, wrong=True)


def silent_operators(results: Iterable[CaseResult], least: int) -> list[str]:
    """Return the operators with which the engine never reports a match, although at least `least` of their queries have
    one.
    """
    with_matches: dict[str, int] = {}
    answered: set[str] = set()
    for result in results:
        if result.matches is None:
            continue
        for name in operators_in(result.case):
            if result.matches:
                answered.add(name)
            if result.case.matches:
                with_matches[name] = with_matches.get(name, 0) + 1
    return sorted(name for name, number in with_matches.items() if number >= least and name not in answered)


def silent_if_repeated(results: Sequence[CaseResult], least: int) -> list[str]:
    """Return the operators for whose queries the engine reports matches, but never if a query names a type twice.

    At least `least` of these queries must have a match.
    """
    language = next((result.case.language for result in results), "")
    if language not in INTERPRETATIONS or not (known := INTERPRETATIONS[language].twice):
        return []
    repeated = [result for result in results if repeats_a_type(result.case)]
    others = silent_operators(results, 0)
    return [name for name in silent_operators(repeated, least) if name in known and name not in others]


def repeats_a_type(case: Case) -> bool:
    """Return whether the query of a case names an event type twice."""
    with suppress(CerifyError, RecursionError):
        known = INTERPRETATIONS.get(case.language)  # a plug-in language has none
        return known is not None and known.repeats(query_of(case.language, case.query))
    return False


def operators_in(case: Case) -> frozenset[str]:
    """Return the names of the operators in a case's query."""
    try:
        return frozenset(LANGUAGES[case.language].syntax.constructs(query_of(case.language, case.query)))
    except (CerifyError, RecursionError):
        return frozenset()
