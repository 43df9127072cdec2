"""Search for the causes of an engine's answers to rules, rule by rule; further questions decide between them.

A rule has few test logs. A choice that predicts all of its answers may hide another one, and several choices may
predict the same answers. So a few choices that together predict a rule's answers are only a guess. Each guess with one
choice added, or one choice replaced, is a rival. If a rival predicts all answers too, the engine is asked about a log
on which the two differ; its answer confirms or refutes the guess. Rules are independent: an unexplained rule does not
affect the causes of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from cerify.conformance.defects import defect_of_group, error_kind
from cerify.conformance.judgement import AnsweredCase, Choice, Choices, Given, answer_of
from cerify.conformance.model import ASKED, NONE_FOUND, Case, CaseResult, Defect, DefectCause, kinds_of
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import DiagnosisStopped, Peeler, Watch
from cerify.conformance.prediction import AXES
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream

Guess: TypeAlias = frozenset[Choice]
"""Some choices, at most one for each axis."""

BEAM = 5  # guesses from which a search goes on
MOST_CHOICES = 9  # choices of a guess
MOST_ASKED = 40  # logs about one rule beside its test logs
MOST_LEFT = 3  # answers that two choices together are tried on
SHOWN = 5  # sets of choices that a search without a decision names

Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass
class RuleInquiry:
    """The search for the choices of meaning that explain an engine's answers about one rule.

    results: the results on the rule's test logs. asked: the results on further logs. guess: the choices that explain
    the answers best so far. alike: for each choice of the guess, the choices that no known log distinguishes from it.
    rivals: other sets of choices that give the same answers as the guess; None if they were not looked for. stopped:
    why the search ended early, "" if it did not. perhaps: sets of choices that may each give the answers, if the search
    ended before it decided.
    """

    peeler: Peeler
    choices: Choices
    results: Sequence[CaseResult]
    asked: list[CaseResult] = field(default_factory=list)
    guess: Guess = frozenset()
    alike: dict[Choice, list[Choice]] = field(default_factory=dict)
    rivals: list[Guess] | None = None
    stopped: str = ""
    perhaps: list[Guess] = field(default_factory=list)
    _tried: Mapping[Guess, tuple[int, int]] = field(default_factory=dict)
    _predicted: dict[tuple[int, Guess], Given] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.answers = [one for result in self.results if (one := _answer_of(result)) is not None]

    @cached_property
    def axes(self) -> list[str]:
        """Return the names of the axes that can affect the rule."""
        case = self.results[0].case
        return [axis for axis in AXES[self.choices.language] if self.choices.concerns(case, [axis])]

    def search(self, watch: Watch) -> None:
        """Find choices that explain the engine's answers about the rule, within the time of a watch.

        Other sets of choices may explain the answers as well (rivals). The engine is asked about them as long as there
        is a log that distinguishes them. If time runs out before, only the choices that all these sets share are kept,
        and `perhaps` has the rest of each set. The time limit applies to the search alone; the choices can predict
        answers afterwards too.
        """
        self.stopped, self.perhaps, self.alike, self.choices.watch = "", [], {}, watch
        try:
            self._guess_again()
            while self._asks_about_rivals():
                self._guess_again()
        except KeyboardInterrupt as error:
            self.peeler.stop(error)
        except DiagnosisStopped as error:
            self.stopped = str(error)
            try:
                self.peeler.watch.check()
            except DiagnosisStopped as over:  # the whole time is over, not only this rule's share
                self.peeler.stop(over)
        finally:
            self.choices.watch = Watch()
        self.stopped = self.peeler.stopped or self.stopped
        self.guess = self._confirmed(self.guess)
        if self.stopped:
            rivals = self._rivals(self._tried) if self.rivals is None else self.rivals
            sure = self.guess.intersection(*rivals) if self.rivals is not None else frozenset[Choice]()
            least = [one for one in rivals if not any(other < one for other in (*rivals, self.guess))]
            self.perhaps = [one - sure for one in (self.guess, *least)] if self.guess != sure else []
            self.guess, self.alike = sure, {choice: [] for choice in sure}

    def _guess_again(self) -> None:
        self.rivals = None
        self.guess = self._fit()

    def adopt(self, choices: Iterable[Choice]) -> None:
        """Add to this rule's guess the choices found for other rules that the answers about this rule confirm.

        This is for a search that ended early. Only choices on axes that the guess does not yet have are added.
        """
        self.stopped = self.stopped or self.peeler.stopped
        own = {axis for axis, _ in self.guess}
        more = {axis: value for axis, value in choices if axis in self.axes and axis not in own}
        self.guess = self._confirmed(self.guess | frozenset(more.items()))

    # --- guesses ------------------------------------------------------------------------------------------------------

    def predicts(self, guess: Guess, one: AnsweredCase) -> bool:
        """Return whether these choices predict the engine's answer; True if the answer of such an engine cannot be
        predicted.
        """
        # By identity: an answer has lists, so it cannot be a key, and answers live as long as the inquiry.
        key = id(one), guess
        if key not in self._predicted:
            self._predicted[key] = self.choices.answer(one.case, guess)
        return self._predicted[key] in (None, one.given)

    def _wrong(self, guess: Guess) -> int:
        return sum(not self.predicts(guess, one) for one in self.answers)

    def _near(self, guess: Guess) -> Iterator[Guess]:
        """Yield the guesses that have one choice more than this one, or another value of one axis."""
        for axis in self.axes:
            left = frozenset(choice for choice in guess if choice[0] != axis)
            expected = self.choices.held.get(axis, AXES[self.choices.language][axis].default)
            yield from (left | {(axis, v)} for v in AXES[self.choices.language][axis].values if v != expected)

    def _fit(self) -> Guess:
        """Return choices that predict the most answers, as few as possible, by a beam search."""
        self.guess = best = frozenset[Choice]()  # the guess if time runs out
        beam, seen, idle = [best], {best}, 0
        self._tried = rank = {best: (self._wrong(best), 0)}
        while rank[best][0] and idle < 2:
            new = {other for guess in beam for other in self._near(guess) if len(other) <= MOST_CHOICES} - seen
            if not new:
                break
            seen |= new
            rank |= {guess: (self._wrong(guess), len(guess)) for guess in new}
            places = {axis: n for n, axis in enumerate(self.axes)}
            beam = sorted(new, key=lambda g: (rank[g], sorted(places[axis] for axis, _ in g), sorted(g)))[:BEAM]
            # Two rounds without progress are allowed: a choice may help only together with the next one.
            idle = 0 if rank[beam[0]] < rank[best] and rank[beam[0]][0] < rank[best][0] else idle + 1
            self.guess = best = min(best, beam[0], key=lambda g: rank[g])
            if idle == 2 and (more := self._with_two(best)) is not None:
                rank[more] = self._wrong(more), len(more)
                if rank[more][0] < rank[best][0]:
                    best, beam, idle = more, [more], 0
        # The beam adds choices and does not drop them, so one may have become superfluous.
        for choice in sorted(best):
            if self._wrong(best - {choice}) <= rank[best][0]:
                best -= {choice}
                rank[best] = self._wrong(best), len(best)
        return best

    def _with_two(self, guess: Guess) -> Guess | None:
        """Extend the guess by two choices so that it predicts a further answer; return the best such guess, or None.

        This is needed because the beam search drops choices that help only together: each alone only makes predictions
        wrong.
        """
        left = sorted((one for one in self.answers if not self.predicts(guess, one)), key=lambda a: len(a.case.events))
        near = [other for other in self._near(guess) if guess < other]
        pairs = (one | other for one, other in combinations(near, 2) if len({axis for axis, _ in one ^ other}) == 2)
        found = [pair for pair in pairs if any(self.predicts(pair, one) for one in left[:MOST_LEFT])]
        return min(found, key=self._wrong, default=None)

    def _confirmed(self, guess: Guess) -> Guess:
        """Return the choices of a guess that are needed to predict some answer, and that no answer contradicts.

        Each is judged given the other choices. A right answer can need a choice too, because one of two choices can
        hide the effect of the other.
        """
        while True:
            for choice in sorted(guess):
                fewer = guess - {choice}
                changed = [one for one in self.answers if self.predicts(guess, one) != self.predicts(fewer, one)]
                gives = [one for one in changed if self.predicts(guess, one)]
                if len(gives) < len(changed) or not gives:
                    guess = fewer
                    break
            else:
                break
        wrong = [one for one in self.answers if one.wrong]
        given = sum(self.predicts(guess, one) for one in wrong)
        return guess if 2 * given >= len(wrong) else frozenset()  # a choice may fit a few answers by chance

    # --- rivals -------------------------------------------------------------------------------------------------------

    def _near_all(self) -> list[Guess]:
        """Return the guesses near the current one: with one choice more, one choice replaced, or both a changed value
        and one choice more.
        """
        near = list(self._near(self.guess))
        for choice in sorted(self.guess):
            near += self._near(self.guess - {choice})
            values = (v for v in AXES[self.choices.language][choice[0]].values[1:] if v != choice[1])
            near += (other for v in values for other in self._near(self.guess - {choice} | {(choice[0], v)}))
        return near

    def _rivals(self, among: Iterable[Guess] | None = None) -> list[Guess]:
        """Return the guesses that predict at least the answers that the current guess predicts.

        among: the guesses to consider; None for those near the current one.
        """
        right = [one for one in self.answers if self.predicts(self.guess, one)]
        near = self._near_all() if among is None else list(among)
        others = (other for other in dict.fromkeys(near) if not other <= self.guess)
        return [other for other in others if all(self.predicts(other, one) for one in right)]

    @cached_property
    def _logs(self) -> list[Case]:
        """Return logs on which the engine may be asked about the rule, the shortest first."""
        origin, language = self.results[0].case, LANGUAGES[self.choices.language]
        query = language.syntax.parse(origin.query)
        found: list[Case] = []
        for log in language.explanations.logs_to_ask(query):
            self.choices.watch.check()
            with suppress(CerifyError):
                found.append(self.peeler.oracle.case(query, Stream(log), origin))
        return found

    def _asks_about_rivals(self) -> bool:
        """Ask about logs on which rivals differ from the guess. Return whether an answer refutes the guess."""
        rivals, same = self._rivals(), list[Guess]()
        try:
            while rivals and len(self.asked) < MOST_ASKED:
                answers = ((case, self.choices.answer(case, self.guess)) for case in self._logs)
                apart = (
                    case
                    for case, own in answers
                    if own is not None and self.choices.answer(case, rivals[0]) not in (None, own)
                )
                # Lazily: the first log that the engine answers is enough, and predicting answers on logs takes long.
                result = next((one for one in map(self._ask, apart) if one is not None), None)
                if result is None:
                    same.append(rivals.pop(0))
                    continue
                if not self.predicts(self.guess, self.answers[-1]):
                    return True
                rivals = [other for other in rivals if self.predicts(other, self.answers[-1])]
        finally:
            self.rivals = [*same, *rivals]
        for choice in self.guess:
            self.alike[choice] = [
                next(iter(o - self.guess)) for o in self.rivals if choice not in o and len(o - self.guess) == 1
            ]
        return False

    def _ask(self, case: Case) -> CaseResult | None:
        """Send a log to the engine; store and return its answer.

        Return None if there is no answer, or if the log was used before.
        """
        if len(self.asked) >= MOST_ASKED:
            return None
        result = None
        with suppress(CerifyError):
            result = self.peeler.result(LANGUAGES[case.language].syntax.parse(case.query), stream_of(case), case)
        if result is None or any(result.case.events == one.case.events for one in self.asked):
            return None
        if (answer := _answer_of(result)) is None:
            return None
        id_ = f"{self.results[0].case.id.rpartition(':')[0]}:asked-{len(self.asked) + 1}"
        result = replace(result, case=replace(result.case, id=id_, clause=ASKED))
        self.asked.append(result)
        self.answers.append(replace(answer, case=result.case))
        return result

    # --- what a choice explains ---------------------------------------------------------------------------------------

    def explains(self, result: CaseResult, guess: Guess | None = None) -> bool:
        """Return whether some choices predict the engine's wrong answer to a case.

        guess: the choices; None: those that `search` found.
        """
        return self.choices.reproduces(self.guess if guess is None else guess, result)

    def cases_of(self, choice: Choice) -> list[CaseResult]:
        """Return the wrong answers that this choice explains.

        These are the answers that the whole guess predicts, but not without this choice, or that this choice predicts
        alone.
        """
        wrong = [one for one in (*self.results, *self.asked) if kinds_of(one) and self.explains(one)]
        rest = self.guess - {choice}
        return [one for one in wrong if not self.explains(one, rest) or self.explains(one, frozenset({choice}))]

    def shrunk(self, choice: Choice, result: CaseResult) -> CaseResult:
        """Remove events from a case with a wrong answer, and return the smaller result.

        Events are removed as long as the guess explains the answer with this choice and does not explain it without.
        """
        language, alone = LANGUAGES[self.choices.language], frozenset({choice})
        query, place = language.syntax.parse(result.case.query), 0
        events = list(stream_of(result.case))
        gives_alone = self.explains(result, alone)
        while place < len(events) and not self.peeler.stopped:
            fewer, other = [*events[:place], *events[place + 1 :]], None
            with suppress(CerifyError, DiagnosisStopped):
                other = self.peeler.result(query, Stream(fewer), result.case) if fewer else None
            needs = (
                other is not None
                and other.outcome == "failed"
                and self.explains(other)
                and not self.explains(other, self.guess - {choice})
                and self.explains(other, alone) >= gives_alone
            )
            result, events, place = (other, fewer, 0) if needs and other is not None else (result, events, place + 1)
        return result


def _answer_of(result: CaseResult) -> AnsweredCase | None:
    """Return the matches that an engine reported; None for an error, which no choice predicts."""
    answer = answer_of(result)
    return None if answer is None or answer.given == "error" else answer


def defects_of_rules(
    peeler: Peeler, results: Sequence[CaseResult], progress: Progress
) -> tuple[list[Defect], list[CaseResult]]:
    """Return the defects behind the answers to rules, one for each cause, and the results of additional questions.

    A defect has the wrong answers of all rules with this cause. Unexplained answers are a defect of their rule. Each
    rule gets an equal share of the time that is left. A search that needs more time goes on after all rules have had
    their share.
    """
    rules: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        rules.setdefault((result.case.language, result.case.query), []).append(result)
    failing = [of for of in rules.values() if any(map(kinds_of, of))]
    inquiries: list[RuleInquiry] = []
    for done, of in enumerate(failing):
        progress("looking for causes", done, len(failing))
        language = of[0].case.language
        inquiries.append(RuleInquiry(peeler, Choices(language, held=peeler.oracle.find_choices(language)), of))
        if inquiries[-1].answers and not peeler.stopped:
            inquiries[-1].search(peeler.watch.part(1 / (len(failing) - done)))
    for inquiry in inquiries:
        if inquiry.stopped and not peeler.stopped:
            inquiry.search(peeler.watch)
    progress("looking for causes", len(failing), len(failing))
    known = sorted({choice for one in inquiries for choice in one.guess})
    for inquiry in inquiries:
        if peeler.stopped or inquiry.stopped:
            inquiry.adopt(known)
    _agree(inquiries)
    found = [_defect_of_choice(c, inquiries) for c in dict.fromkeys(c for one in inquiries for c in sorted(one.guess))]
    found += _without_cause(peeler, inquiries)
    ordered = sorted((one for one in found if one is not None), key=lambda d: (-len(d.cases), d.result.case.query))
    asked = [result for one in inquiries for result in one.asked]
    return [replace(defect, id=f"d{n}") for n, defect in enumerate(ordered, 1)], asked


def _agree(inquiries: Sequence[RuleInquiry]) -> None:
    """If a rule's own answers do not decide between choices, adopt the choice that another rule's answers confirm."""
    decided = {c for one in inquiries for c in one.guess if one.alike.get(c) == []}
    for inquiry in inquiries:
        for choice in sorted(inquiry.guess - decided):
            others = [other for other in inquiry.alike.get(choice, ()) if other in decided]
            if others and others[0][0] not in {axis for axis, _ in inquiry.guess - {choice}}:
                inquiry.guess = inquiry.guess - {choice} | {others[0]}
                inquiry.alike[others[0]] = []


def _defect_of_choice(choice: Choice, inquiries: Sequence[RuleInquiry]) -> Defect | None:
    """Return the defect of one choice in all rules; None if no wrong answer needs the choice."""
    of = [(one, result) for one in inquiries if choice in one.guess for result in one.cases_of(choice)]
    if not of:
        return None

    def rank(pair: tuple[RuleInquiry, CaseResult]) -> tuple[bool, int, int, str]:
        inquiry, result = pair
        alone = inquiry.explains(result, frozenset({choice})) and not inquiry.explains(result, inquiry.guess - {choice})
        return not alone, len(result.case.events), len(result.case.query), result.case.id

    inquiry, original = min(of, key=rank)
    first = inquiry.shrunk(choice, original)
    alone = sum(one.explains(result, frozenset({choice})) for one, result in of)
    jointly = [(one, r) for one, r in of if not one.explains(r, frozenset({choice}))]
    needed = {o for one, r in jointly for o in one.guess - {choice} if not one.explains(r, one.guess - {o})}
    known = [set(one.alike[choice]) for one in inquiries if choice in one.guess and choice in one.alike]
    alike = sorted("=".join(other) for other in (set.intersection(*known) if known else ()))
    wrong = [(one, a) for one in inquiries for a in one.answers]
    now, then = (sum(not one.predicts(g, a) for one, a in wrong) for g in (frozenset(), frozenset({choice})))
    cause = DefectCause(
        *choice, len(of), len(of), alone, tuple(sorted("=".join(o) for o in needed)), tuple(alike), now=now, then=then
    )
    return defect_of_group(
        inquiry.choices, first, original, tuple(result.case.id for _, result in of), (cause,), stopped=inquiry.stopped
    )


def _without_cause(peeler: Peeler, inquiries: Sequence[RuleInquiry]) -> list[Defect]:
    """Return the defects of unexplained answers: wrong matches grouped by rule, errors grouped by message."""
    found: list[Defect] = []
    others: list[tuple[RuleInquiry, CaseResult]] = []
    for inquiry in inquiries:
        left = [one for one in (*inquiry.results, *inquiry.asked) if kinds_of(one) and not inquiry.explains(one)]
        others += [(inquiry, one) for one in left if one.outcome != "failed"]
        wrong = sorted((one for one in left if one.outcome == "failed"), key=lambda r: (len(r.case.events), r.case.id))
        if wrong:
            said = inquiry.stopped or f"{NONE_FOUND}: no combination of the tested choices gives these answers"
            if likely := [" and ".join(map("=".join, sorted(one))) for one in inquiry.perhaps]:
                said += f": perhaps {', or '.join(likely[:SHOWN])}{', or others' * (len(likely) > SHOWN)}"
            ids = tuple(one.case.id for one in wrong)
            found.append(defect_of_group(inquiry.choices, wrong[0], wrong[0], ids, (), said, inquiry.stopped))
    groups: dict[object, list[tuple[RuleInquiry, CaseResult]]] = {}
    for inquiry, one in others:
        key = error_kind(one) if one.outcome == "error" else one.outcome
        groups.setdefault((one.outcome, key), []).append((inquiry, one))
    for some in groups.values():
        inquiry, first = min(
            some, key=lambda pair: (len(pair[1].case.query), len(pair[1].case.events), pair[1].case.id)
        )
        found.append(defect_of_group(inquiry.choices, first, first, tuple(one.case.id for _, one in some)))
    return found
