"""Ask an engine about likely causes: on streams where a cause shows, and on streams that distinguish two causes.

The cases of a suite suggest a cause. Before it is reported, the engine gets the questions by which `identify` would
find it. Some show the cause itself. Others separate it from another choice that fits all answers so far. Random
questions come last. The judgement then uses these answers too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from cerify.conformance.identification import CORROBORATED, PROBED, Identification, Pool, is_unfit, random_questions
from cerify.conformance.judgement import Choice, Choices, ChoiceScorer
from cerify.conformance.model import Case, CaseResult
from cerify.conformance.peeling import Elements, Peeler
from cerify.conformance.prediction import STAGES, EngineAnswer, Predictor
from cerify.conformance.report import event_text
from cerify.hypotheses.interpretation import Axis, EngineQuestion
from cerify.hypotheses.interpretation import Choices as Point
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError

SHOWING = 4  # questions about each cause whose answers it changes, with different queries if possible
SEPARATING = 6  # questions to separate a cause from one other choice
LOOKED_AT = 72  # questions about the axis of each cause whose answers it need not change
LOOKED_NEAR = 40  # questions about other axes of the same operators
MOST = 300  # questions about the causes of a language
BOUNDED = {"plus": "repeat", "cplus": "crepeat"}  # iterations, with the operators that engines evaluate in the same way
ROUNDS = 8  # repeated searches, each without the rejected choices


@dataclass
class Inquiry:
    """Asks an engine questions that show which choices (values of axes) it makes in a language.

    origin: the case whose id and output the questions have.
    """

    peeler: Peeler
    choices: Choices
    origin: Case
    asked: list[CaseResult] = field(default_factory=list)

    @cached_property
    def predictor(self) -> Predictor:
        """Return the predictor of engines' answers to the questions of `identify`."""
        found = Predictor(self.choices.language)
        if self.origin.output == "matches":
            found.compare_rows()
        return found

    @cached_property
    def pool(self) -> Pool:
        """Return the questions that have not been asked."""
        return Pool((t for stage in STAGES.get(self.choices.language, ()) for t in stage.templates), set())

    def point(self, chosen: Sequence[Choice]) -> Point:
        """Return the value of each axis for an engine with these choices.

        An axis without a choice has the value that a policy declares, or else the default value.
        """
        return {**self.predictor.default, **self.choices.held, **dict(chosen)}

    def show(self, choice: Choice, beside: Sequence[Choice]) -> None:
        """Ask a few questions, with different queries if possible, that the engine answers otherwise with the choice
        than without.

        One more question follows whose answer has an additional match with the choice, and one whose answer lacks a
        match, if there are such questions. beside: other choices that the engine makes.
        """
        others = [other for other in beside if other != choice]
        with_it, queries = [*others, choice], set[str]()
        for _ in range(SHOWING):
            question = self.between(with_it, others, queries) or self.between(with_it, others, set())
            if question is None:
                return
            queries.add(question.query)
            self.ask(question)
        for more, less in ((with_it, others), (others, with_it)):
            if (question := self.between(more, less, set(), exceeding=True)) is not None:
                self.ask(question)

    def separate(self, choice: Choice, rival: Choice, beside: Sequence[Choice]) -> None:
        """Ask questions that separate a choice from its rival, until the engine answers one."""
        others = [other for other in beside if other != choice]
        for _ in range(SEPARATING):
            question = self.between([*others, choice], [*others, rival], set())
            if question is None or self.ask(question):
                return

    def identify(self) -> tuple[list[list[Choice]], list[Choice], list[Elements]]:
        """Identify the engine as `cerify identify` does, and return three lists: choices, likely choices, and faults.

        A choice comes as a list, together with the choices that no question separates from it. Choices that the policy
        or the definition expects are left out. A likely choice is the only possible value of an axis on which the
        answers do not decide. A fault is an operator of an axis for which no value fits, or a set of operators that an
        unexplained answer needs together. This search also finds choices that have an effect only together.
        """
        if self.choices.language not in STAGES:  # a plug-in language
            return [], [], []
        language = LANGUAGES[self.choices.language]

        def answer(question: EngineQuestion) -> EngineAnswer | None:
            result = None
            with suppress(CerifyError):
                result = self.peeler.result(language.syntax.parse(question.query), question.S, self.origin)
            if result is None or result.outcome in ("skipped", "not_run", "disputed"):
                return None
            self.asked.append(result)
            if result.outcome == "error":
                return "error"
            return "no answer" if result.matches is None else self.predictor.compared_part(result.matches)

        findings = Identification(self.predictor, answer).run(STAGES.get(self.choices.language, ()))
        expected = self.point(())
        named = {name: f for name, f in findings.items() if f.value not in (None, expected[name])}
        chosen = [[(name, value) for value in (f.value, *f.alike) if value] for name, f in named.items()]
        open_ = {name: f for name, f in findings.items() if f.value is None and f.alike}
        likely = [(n, f.alike[0]) for n, f in open_.items() if len(f.alike) == 1 and f.alike[0] != expected[n]]
        known = self.predictor.interpretation.axes
        unfit = {operator for name, f in findings.items() if is_unfit(f) for operator in known[name].operators}
        together: dict[str, list[Axis]] = {}
        for name, finding in open_.items():
            if finding.exception is not None:
                together.setdefault(finding.exception.query, []).append(known[name])
        joint = [
            self.predictor.interpretation.operators(language.syntax.parse(query))
            & {operator for axis in own for operator in axis.operators}
            for query, own in together.items()
            if len(own) > 1 and all(axis.operators for axis in own)
        ]
        faults = [frozenset([name]) for name in (*unfit, *(BOUNDED[name] for name in unfit & BOUNDED.keys()))]
        return chosen, likely, [*faults, *joint]

    def look_beside(self, choice: Choice, beside: Sequence[Choice]) -> None:
        """Ask each query of the choice's axis, also on streams where the choice does not change the answer.

        So a meaning can be found that no value describes, and that differs from the choice only there. Queries of other
        axes with the same operators get one question each. The results are stored in `choices.looked`. beside: other
        choices that the engine makes.
        """
        name, axes = choice[0], self.predictor.interpretation.axes
        if name in self.choices.looked:
            return
        found = self.choices.looked[name] = []
        point, own = self.point(beside), axes[name].operators
        stages = STAGES.get(self.choices.language, ())
        near = [s for s in stages if name not in s.axes and own and any(axes[a].operators == own for a in s.axes)]
        for about, most, each in (([s for s in stages if name in s.axes], LOOKED_AT, None), (near, LOOKED_NEAR, 1)):
            for template in (template for stage in about for template in stage.templates):
                pool = Pool((template,), self.pool.skipped)
                some = pool.further(point, self.predictor)[:each]
                known = {question.key for question in some}
                more = [] if each else pool.matched(self.predictor, CORROBORATED)
                for question in (*some, *(one for one in more if one.key not in known)):
                    if most == 0 or len(self.asked) >= MOST or self.peeler.stopped:
                        break
                    if self.ask(question):
                        found.append(self.asked[-1])
                        most -= 1

    def probe(self, judge: ChoiceScorer, chosen: Sequence[Choice]) -> None:
        """Ask random questions on which one of the chosen choices changes the answer, with operators of the answered
        cases.

        Other questions are selected to test a particular value. A random question can show that the engine's meaning is
        close to that value but different.
        """
        used = frozenset[str]().union(*(self.choices.elements(one.case) for one in judge.answers if one.given))
        number = 0
        for question in random_questions(self.predictor, used) if chosen else ():
            if number == PROBED or self.peeler.stopped:
                return
            with_all = self.predictor.answer(question, self.point(chosen))
            others = (self.point([other for other in chosen if other != choice]) for choice in chosen)
            if any(self.predictor.answer(question, point) != with_all for point in others):
                number += self.ask(question)

    def telling_apart(self, choice: Choice, rival: Choice, beside: Sequence[Choice]) -> str:
        """Return, as text, a query and a stream that would separate a choice from its rival; "" if none is known."""
        others = [other for other in beside if other != choice]
        # A pool of its own: this question is only shown, so it may be of a kind that the engine skips.
        pool = Pool((t for stage in STAGES.get(self.choices.language, ()) for t in stage.templates), set())
        one, other = self.point([*others, choice]), self.point([*others, rival])
        if (question := pool.between(one, other, self.predictor)) is None:
            return ""
        return f"{question.query} on {' '.join(event_text(dict(event)) for event in question.events)}"

    def between(
        self, one: Sequence[Choice], other: Sequence[Choice], without: set[str], exceeding: bool = False
    ) -> EngineQuestion | None:
        """Return a shortest question to which engines with the choices `one` and with the choices `other` answer
        differently.

        Return None if there is none, or if no more questions may be asked. without: queries that the question must not
        have. exceeding: whether the first engine must have a match that the second one lacks.
        """
        if self.peeler.stopped or len(self.asked) >= MOST:
            return None
        return self.pool.between(self.point(one), self.point(other), self.predictor, without, exceeding)

    def ask(self, question: EngineQuestion) -> bool:
        """Ask the engine a question and store its answer. Return whether it answered. Raises DiagnosisStopped."""
        language = LANGUAGES[self.choices.language]
        self.choices.watch.check()
        with suppress(CerifyError):
            result = self.peeler.result(language.syntax.parse(question.query), question.S, self.origin)
            if result is not None and result.outcome not in ("skipped", "not_run", "disputed"):
                self.asked.append(result)
                return True
        # An engine without an answer to a question has none to others of its kind: they would cost time, or restarts.
        self.pool.skipped.add(question.kind)
        return False

    def settle(self, judge: ChoiceScorer, chosen: Sequence[Choice]) -> list[Choice]:
        """Ask about the choices and their rivals; return the choices that the judge still accepts.

        If a rival fits all answers so far, a further question separates it from the choice, if there is such a
        question.
        """
        stands = judge.confirm(chosen)
        for choice in list(stands):
            self.show(choice, stands)
        stands = self._again(judge, stands)
        for choice in list(stands):
            for rival in judge.alike(choice, stands):
                self.separate(choice, rival, stands)
        stands = self._again(judge, stands)
        if not self.choices.settled:  # if time runs out below
            self.choices.settled, self.choices.unconfirmed = stands, 0
            self.choices.alike |= {choice: tuple(judge.alike(choice, stands)) for choice in stands}
        for choice in list(stands):
            self.look_beside(choice, stands)
        stands = self._again(judge, stands)
        self.probe(judge, stands)
        return self._again(judge, stands)

    def _again(self, judge: ChoiceScorer, chosen: Sequence[Choice]) -> list[Choice]:
        judge.add(self.asked)
        stands = judge.confirm(chosen)
        # If the time ends before `settle` does, a choice that an answer has refuted must not be reported.
        self.choices.settled = [one for one in self.choices.settled if one in stands or one not in chosen]
        return stands
