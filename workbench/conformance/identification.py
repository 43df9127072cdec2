"""Identify an engine: ask questions that split the remaining hypotheses, until one is left.

An axis is one aspect of meaning on which engines differ; its values are the possible meanings. A hypothesis gives each
axis a value. The axes are identified stage by stage. A stage starts with the hypotheses that the earlier stages left,
combined with every value of the stage's axes. The next question is on a shortest stream on which two of the best
hypotheses differ, and it splits the hypotheses best. Then queries with several operators confirm the result. At last,
the best hypothesis is compared with hypotheses that differ from it in one axis, over the questions of all stages, and
random questions probe its values. A value stays open if there were too few questions to check it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import count, cycle, islice, product
from math import prod
from random import Random
from typing import Any

from cerify.conformance.cases import claims_of_json
from cerify.conformance.harness import Engine, Limits, Losses
from cerify.conformance.model import Case, evaluated_output, kinds_compared, of_output
from cerify.conformance.oracle import AxisFinding, EngineProfile, merged
from cerify.conformance.prediction import STAGES, EngineAnswer, Predictor
from cerify.equivalence.generate.shrink import shrink
from cerify.hypotheses.interpretation import (
    REPORTING,
    Axis,
    Choices,
    EngineQuestion,
    Stage,
    Template,
    question_on,
    questions,
    types,
)
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema, schema_of_json

Ask = Callable[[EngineQuestion], EngineAnswer | None]
"""Returns the engine's answer to a question; None if the engine does not support the query."""

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much there is."""

MOST = 500
MOST_IN_A_STAGE = 40
CARRIED = 8  # hypotheses that no question has distinguished, and that the next stage starts with
RESERVED = 100  # questions reserved for values other than the default, and for the end
LAST = 40  # of the reserved questions, those for the end, which separate the best hypotheses
FEW = 40  # the number of longest questions of a template from which `further` chooses
FURTHER = 3  # the most questions that `further` chooses
EVERYWHERE = 2  # the most questions that `look_everywhere` lets it choose
CORROBORATING = 3  # the fewest questions that separate a found value from each other value of its axis
CORROBORATED = 12  # questions with each query about a value other than the default
UNMATCHED = 4  # the most further questions about such a value for which no match is expected
APART = 12  # the most questions that separate the best hypothesis from others if an axis has no value
CONFIRMATIONS = 2  # questions of a stage of several axes on which the best hypotheses agree
RICH = 4  # the most events in the stream of a question that confirms
LOOKED_AT = 60  # questions of one length among which the best split is chosen
LOOKED_THROUGH = 400  # questions tried before a stage counts the best hypotheses as equal; `settle` goes on
COMPARED = 24  # hypotheses by which a question is chosen first; all are used if no question splits these
EMPTY = 3  # the fewest answers that lack matches before an engine counts as never giving a match
ERRORS = 3  # failed answers to one query, after which it is dropped
STEPS = 4  # how many values of other axes may change to make a value possible
TRIED = 3000  # random queries from which the questions are chosen
PROBED = 72  # the most random questions
SEVERAL = 2  # the fewest expected matches of a random question: one match tells little
SHRINKING = 40  # the most further questions for shrinking questions that refute values
PARTS = 60  # the most further questions about parts of queries with unexplained answers
COMBINED = 500  # the most combinations of values that are tried to explain an answer
NODES = 6  # the most nodes of a random query
LENGTH = 7  # the most events of its stream
FITS = 0.7  # share of answers that hypotheses must explain before values without effect are dropped

SKIPPED = "the engine skips all questions about it"
ERRONEOUS = "the engine answers its questions with errors, or not at all"
USED_UP = "the questions were used up"
ENDED = "the questions ended before it was tested"
UNANSWERED = "no answer to its questions distinguishes its values"
SILENT = "its questions name a type twice, and the engine reports no match for such queries"
SAME_ANSWERS = "given the other findings, its values predict the same answers to all questions"
INTERRUPTED = "interrupted"


@dataclass
class Answered:
    """A question with the engine's answer.

    axes: the axes that the question tests; () if it is there to confirm the whole profile. settles: whether it was
    asked because two hypotheses predict different answers. Then an axis that `axes` does not name may be the reason for
    a wrong answer.
    """

    question: EngineQuestion
    answer: EngineAnswer
    axes: tuple[str, ...]
    settles: bool = False


@dataclass
class Identification:
    """The state of an identification: the remaining hypotheses, and all answers.

    most: the greatest number of questions. left: the remaining hypotheses, the best one first. skipped: kinds of
    questions that the engine skips or cannot answer. interrupted: whether a KeyboardInterrupt ended it; the findings
    are then those of the completed stages. errors: for each kind of question, the number of failed answers that no
    value predicts. probed: the number of answers to random questions. unsettled: hypotheses that explain as many
    answers as the best one, while no question was left to separate them. unchecked: axes whose value was found, but not
    checked by further questions. unput: queries that were left out because the engine had stopped. lost: queries
    that were left out because the engine gave no answer to other queries with the same operators.
    """

    predictor: Predictor
    ask: Ask
    most: int = MOST
    left: list[Choices] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    skipped: set[tuple[str, bool]] = field(default_factory=set)
    interrupted: bool = False
    _ended: tuple[int, list[Choices]] = (0, [])  # the answers at the end of a step, and the hypotheses left
    errors: Counter[tuple[str, bool]] = field(default_factory=Counter)
    probed: int = 0
    unsettled: list[Choices] = field(default_factory=list)
    unchecked: set[str] = field(default_factory=set)
    unput: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    _rivals: list[Choices] = field(
        default_factory=list
    )  # hypotheses that leave a value open if no value of another axis fits
    common: dict[str, int] = field(default_factory=dict)  # the operators of all queries with unexplained answers
    blamed: str = ""  # the first of them that concerns an axis without a value
    silent: set[str] = field(default_factory=set)  # operators that never match a type named twice
    _parts: dict[tuple[str, str], Answered | None] = field(default_factory=dict)  # answers about parts of queries
    _counted: dict[tuple[str, ...], tuple[int, int]] = field(default_factory=dict)

    def run(
        self, stages: Sequence[Stage], progress: Progress = lambda what, done, total: None
    ) -> dict[str, AxisFinding]:
        """Return the findings by axis. The engine is asked at most `most` questions."""
        self.left = [self.predictor.default]
        self._end_step()
        refuted, told = dict[str, EngineQuestion](), list[Answered]()
        try:
            self.silent = self.find_silent()
            for number, stage in enumerate(stages):
                progress("asking", number, len(stages))
                if stage.axes:
                    self.identify(stage)
                else:
                    self.confirm(stage)
                self._end_step()
            progress("checking values", 0, 3)
            self.settle(stages)
            progress("checking values", 1, 3)
            if self.corroborate(stages):
                self.settle(stages)
            progress("checking values", 2, 3)
            self.separate(stages)
            self._end_step()
            best = self.left[0]
            progress("asking random questions", 0, 1)
            refuted, told = self.probe()
            if self.left[0] != best:
                self.settle(stages)
            progress("asking random questions", 1, 1)
        except KeyboardInterrupt:
            self.interrupted, self.unsettled = True, []
            answers, self.left = self._ended
            del self.answered[answers:]
        found = {name: self.opened(name, finding) for name, finding in self.findings().items()}
        for name, question in refuted.items():
            found[name] = replace(
                found[name], value=None, alike=(), answers=found[name].answers + 1, exception=question
            )
        found = {name: self.with_possible(name, found, told) for name in found}
        try:
            opened = self.unexplained(found, told)
        except KeyboardInterrupt:
            self.interrupted = True
            opened = self.unexplained(found, told)  # it asks no more questions now
        for name, question in opened.items():
            values = (found[name].value, *found[name].alike)
            alike = tuple(value for value in self.values_of(name) if value in values)
            found[name] = replace(found[name], value=None, alike=alike, exception=question)
        found |= {name: self.add_fitting(name, found[name], proved) for name, proved in self.unproved(found).items()}
        unfit = [name for name, finding in found.items() if is_unfit(finding)]
        return found | {name: replace(found[name], by_type=self.values_by_type(name)) for name in unfit}

    def unproved(self, found: Mapping[str, AxisFinding]) -> dict[str, set[str]]:
        """Return the axes for which no value fits, but whose unexplained answers other axes may have caused.

        Each is mapped to these other axes, for which it is certain that no value fits: each of them has an unexplained
        answer whose query concerns no other axis without a fitting value, except axes about the same operators.
        """
        known = self.predictor.interpretation.axes
        unfit = [known[name] for name, finding in found.items() if is_unfit(finding)]
        concerned = [
            {
                axis.name
                for axis in unfit
                if axis in self.predictor.axes_of(one.question.query)
                and (axis.operators or self.depends(axis.name, one))
            }
            for one in self.wrong(self.left[0], self.answered)
        ]
        alone = [names for names in concerned if len({known[name].operators for name in names}) == 1]
        proved = set[str]().union(*alone)
        involved = set[str]().union(*concerned)
        return {
            name: proved for name in involved - proved if all(names & proved for names in concerned if name in names)
        }

    def add_fitting(self, name: str, finding: AxisFinding, proved: Collection[str]) -> AxisFinding:
        """Return the finding about an axis, with all values of the axis that may still be right in `alike`.

        A value may be right if, with the best values of the other axes, it explains all answers about the axis. Answers
        to queries with operators of the axes in `proved`, for which no value fits, do not count.
        """
        axis = self.predictor.interpretation.axes[name]
        clear = [one for one in self.about(name) if self.is_apart(proved, one.question.query)]
        fits = tuple(v for v in axis.values if not self.wrong({**self.left[0], name: v}, clear))
        return replace(finding, alike=fits)

    def find_silent(self) -> set[str]:
        """Return the operators whose queries get matches, but no match if they name an event type twice.

        No value of an axis describes this. Questions with such queries would leave their axes without a value, so they
        are skipped.
        """
        found = set[str]()
        for name, (same, different) in self.predictor.interpretation.twice.items():
            asked = [question_on(query, types(stream)) for query, stream in (same, different)]
            twice, once = (self.ask_aside(question) for question in asked)
            if twice is not None and twice.answer == frozenset() and once is not None and once.answer:
                found.add(name)
        return found

    def values_by_type(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return the values that explain the answers about each type of attributes; {} if one value explains all.

        Types with fewer than CORROBORATING answers are left out.
        """
        of_query: dict[str, set[str]] = {}
        for question in (one.question for one in self.answered):
            of_query.setdefault(question.query, set()).update(self.kinds(question))
        by_type: dict[str, list[Answered]] = {}
        for one in self.about(name):
            kinds = self.kinds(one.question) or of_query[one.question.query]
            for kind in kinds if len(kinds) == 1 else ():
                by_type.setdefault(kind, []).append(one)
        fitting = {
            kind: tuple(v for v in self.values_of(name) if not self.wrong({**self.left[0], name: v}, about))
            for kind, about in sorted(by_type.items())
            if len(about) >= CORROBORATING
        }
        if len(fitting) < 2 or set.intersection(*map(set, fitting.values())) or not all(fitting.values()):
            return {}
        union = {value for values in fitting.values() for value in values}
        return {
            kind: values for kind, values in fitting.items() if not union <= {*values}
        }  # a type that fits all values says nothing

    def kinds(self, question: EngineQuestion) -> set[str]:
        """Return the types of the attributes that a question's query reads, given the values in its events."""
        return kinds_compared(self.predictor.language.name, question.query, schema_of_values(question))

    def values_of(self, name: str) -> tuple[str, ...]:
        """Return the values of an axis."""
        return self.predictor.interpretation.axes[name].values

    def opened(self, name: str, finding: AxisFinding) -> AxisFinding:
        """Return a finding, but without its value if questions that might refute the value could not be asked."""
        rivals = {one[name] for one in self.unsettled} - {self.left[0][name]}
        if finding.value is None or not (rivals or name in self.unchecked):
            return finding
        possible = {finding.value, *finding.alike, *rivals}
        values = self.predictor.interpretation.axes[name].values
        return replace(finding, value=None, alike=tuple(value for value in values if value in possible))

    def unexplained(self, found: Mapping[str, AxisFinding], told: Iterable[Answered]) -> dict[str, EngineQuestion]:
        """Return the axes whose values must be left open, because no remaining value explains an answer about their
        operators.

        Each axis comes with a question whose answer depends on it. told: further answers, to questions that belong to
        no stage.
        """
        wrong = self.unexplained_by(found, [*self.answered, *told])
        unfit = [name for name, finding in found.items() if is_unfit(finding) and name not in REPORTING]
        shown = {name: [one for one in self.wrong(self.left[0], self.answered) if name in one.axes] for name in unfit}
        opened, kept = dict[str, EngineQuestion](), list[set[str]]()
        for one in wrong:
            bearing = self.predictor.axes_of(one.question.query)
            excuses = [self.predictor.axes_of(o.question.query) for a in bearing for o in shown.get(a.name, ())]
            named = [a for a in bearing if a.operators and a.name in found and found[a.name].value is not None]
            same = {a.operators for a in bearing if a.name in unfit}  # the unnamed meaning of an operator is found
            if () in same and len({a.operators for a in bearing if a.operators}) < 2:
                continue  # the axis without a value concerns all queries, not the only operator
            accused = [a for a in named if a.operators not in same] if () not in same else []
            # An open axis of the same operator accounts for the answer, which need not depend on the others.
            odd = {operator for name in opened for operator in self.predictor.interpretation.axes[name].operators}
            accused = [axis for axis in accused if odd.isdisjoint(axis.operators)]
            named = [a for a in named if a.operators not in same and all(a in axes for axes in excuses)]
            if any(self.is_blamed(axis.name) for axis in bearing):
                named = [axis for axis in named if not self.common.keys().isdisjoint(axis.operators)]
            own = {axis.name for axis in named if self.depends(axis.name, one)}
            if own and not any(fewer <= own for fewer in kept):  # otherwise a smaller question already shows the fault
                kept.append(own)
                opened = dict.fromkeys(own, one.question) | opened
            opened = dict.fromkeys(self.accused(one, accused, found), one.question) | opened
        return opened

    def with_possible(self, name: str, found: Mapping[str, AxisFinding], told: Sequence[Answered]) -> AxisFinding:
        """Return the finding about an axis without the values that an answer in `told` contradicts.

        A finding with a single value is returned unchanged. If an answer contradicts the best value, the new finding
        has no best value; the values that remain are in `alike`. If the answers contradict every value, all of them
        remain, and `exception` is a question that contradicts the best one.
        """
        finding = found[name]
        values = [value for value in (finding.value, *finding.alike) if value is not None]
        about = [one for one in told if name in {axis.name for axis in self.predictor.axes_of(one.question.query)}]
        about = [one for one in about if self.is_explained(one, found)] if len(values) > 1 else []
        against = {
            value: next((o.question for o in about if not self.is_explained(o, {**found, name: only})), None)
            for value in values
            for only in [replace(finding, value=value, alike=())]
        }
        fits = tuple(value for value in values if against[value] is None)
        if len(values) < 2 or len(fits) == len(values):
            return finding
        if not fits:
            return replace(finding, value=None, alike=tuple(values), exception=against[values[0]])
        kept = finding.value if finding.value in fits else None
        return replace(finding, value=kept, alike=tuple(value for value in fits if value != kept))

    def accused(
        self, one: Answered, axes: Iterable[Axis], found: Mapping[str, AxisFinding], unary: bool = False
    ) -> list[str]:
        """Return the axes, among the given ones, that concern the outermost operator of a query with an unexplained
        answer.

        The engine also gets the operands of that operator as separate queries. If remaining values explain the answers
        to these, the outermost operator itself has a meaning that no value describes. Otherwise an operator inside may
        be the reason, and no axis is returned. unary: return no axis unless the outermost operator has one operand.
        """
        syntax, operators = self.predictor.language.syntax, self.predictor.interpretation.operators
        phi = syntax.parse(one.question.query)
        below = syntax.children(phi)
        outer = operators(phi).difference(*map(operators, below)) or {syntax.operator_of(phi)}
        names = [axis.name for axis in axes if not outer.isdisjoint(axis.operators)]
        if not below or not names or (unary and len(below) > 1):
            return []
        if any(self.is_odd(syntax.show(part), one.question, found) for part in below):
            return []
        near = self.near(one.question)
        return [name for name in names if any(self.depends(name, Answered(q, "error", ())) for q in near)] or names[:1]

    def near(self, question: EngineQuestion) -> list[EngineQuestion]:
        """Return a question, and others with the same query on all short streams made of the question's events."""
        events = list({repr(event): dict(event) for event in question.events}.values())
        return [question, *questions(Template(question.query, tuple(events), len(question.events)))]

    def is_odd(self, query: str, beside: EngineQuestion, found: Mapping[str, AxisFinding]) -> bool:
        """Return whether some answer to a query cannot be explained by the remaining values.

        The answers are those already known, and the one on the events of the question `beside`, which is asked if
        needed.
        """
        question = question_on(query, [dict(event) for event in beside.events])
        known = self.wrong(self.left[0], (other for other in self.answered if other.question.query == query))
        further = [other for other in [self.ask_aside(question)] if other is not None]
        return any(not self.is_explained(other, found) for other in (*further, *known))

    def ask_aside(self, question: EngineQuestion) -> Answered | None:
        """Ask a question that belongs to no axis, unless its answer is known, and return the answer.

        Return None if the engine gave no answer that proves anything, or after PARTS questions.
        """
        key = question.query, question.key
        if key not in self._parts and not self.interrupted and len(self._parts) < PARTS:
            self._parts[key] = None
            answer = self.request_answer(question)
            self._parts[key] = None if answer is None else Answered(question, answer, ())
        return self._parts.get(key)

    @property
    def number(self) -> int:
        """Return the number of questions asked."""
        return len(self.answered) + self.probed + len(self._parts)

    def unexplained_by(self, found: Mapping[str, AxisFinding], answered: Iterable[Answered]) -> list[Answered]:
        """Return the answers that no remaining values explain, beginning with queries of few operators."""
        parse, operators = self.predictor.language.syntax.parse, self.predictor.interpretation.operators
        wrong = (one for one in self.wrong(self.left[0], answered) if not self.is_explained(one, found))
        ranked = [(len(operators(parse(one.question.query))), one) for one in wrong]
        ranked.sort(key=lambda pair: (pair[0], len(pair[1].question.events), len(pair[1].question.query)))
        return [one for _, one in ranked]

    def is_explained(self, one: Answered, found: Mapping[str, AxisFinding]) -> bool:
        """Return whether some combination of remaining values explains an answer.

        An axis without a remaining value may have any of its values. If such an axis is about which matches are
        reported, and when, the engine may report any of the matches. If there are more than COMBINED combinations, none
        is tried.
        """
        names = [axis.name for axis in self.predictor.axes_of(one.question.query)]
        open_ = [name for name in names if name in REPORTING and name in found and is_unfit(found[name])]
        ways = [[self.left[0][name]] for name in names]
        for number, name in enumerate(names):
            if open_ and name in REPORTING:
                ways[number] = [self.predictor.default[name]]
            elif (finding := found.get(name)) is not None:
                fitting = [value for value in (finding.value, *finding.alike) if value is not None]
                ways[number] = fitting or [*self.values_of(name)]
        if prod(map(len, ways)) > COMBINED:
            return False
        points = ({**self.left[0], **dict(zip(names, way, strict=True))} for way in product(*ways))
        answers = (self.predictor.answer(one.question, point) for point in points)
        if open_ and not isinstance(one.answer, str):
            reported = events_of(one.answer)
            return any(not isinstance(found, str) and reported <= events_of(found) for found in answers)
        return any(answer == one.answer for answer in answers)

    def _end_step(self) -> None:
        """Store the findings that are certain at this step, for use if the next step is interrupted."""
        self._ended = len(self.answered), list(self.left)

    def identify(self, stage: Stage) -> None:
        """Ask the questions of a stage, which are about a few axes; keep the hypotheses that explain most of the
        answers.
        """
        candidates = list(self.expanded(stage))
        misses = Counter(dict.fromkeys(range(len(candidates)), 0))
        pool = Pool(stage.templates, self.skipped)
        confirmed, asked, first = 0, 0, len(self.answered)
        same: list[Choices] = []  # hypotheses that no question of the pool distinguishes
        while asked < MOST_IN_A_STAGE and len(self.answered) < self.most:
            least = min(misses.values())
            best = [candidates[n] for n in misses if misses[n] == least]
            question = None if best == same else pool.splitting(best, self.predictor)
            if question is None:
                same = best
                question = pool.corroborating(best[0], stage.axes, self.answered[first:], self.predictor)
            if question is None:
                if len(stage.axes) == 1 or confirmed == CONFIRMATIONS:
                    break
                if (question := pool.splitting(candidates, self.predictor)) is None:
                    break
                confirmed += 1
            if (answer := self.request_answer(question)) is None:
                continue
            asked += 1
            self.answered.append(Answered(question, answer, stage.axes))
            for n, candidate in enumerate(candidates):
                # Counted, not excluded at the first contradiction: an engine may have a meaning that no candidate
                # describes.
                misses[n] += self.predictor.answer(question, candidate) != answer
        self.look_everywhere(stage, candidates[min(misses, key=lambda n: misses[n])], first)
        least = min(misses.values())
        best = [candidates[n] for n in misses if misses[n] == least]
        self.keep(stage, best, asked - least >= FITS * asked)

    def request_answer(self, question: EngineQuestion) -> EngineAnswer | None:
        """Ask the engine a question and return its answer; None if the answer proves nothing.

        A skip proves nothing. An error proves something only if a remaining hypothesis, or one that differs from it in
        one axis, predicts it. After a skip, or after ERRORS such answers, the query is dropped.
        """
        if self.silent and self.is_silent(question.query):
            self.skipped.add(question.kind)
            return None
        answer = self.ask(question)
        said = not isinstance(answer, str) or (answer == "error" and self.may_be_error(question))
        if not said:
            self.errors[question.kind] += 1
        if answer is None or self.errors[question.kind] >= ERRORS:
            self.skipped.add(question.kind)
        return answer if said else None

    def is_silent(self, query: str) -> bool:
        """Return whether a query names a type twice with an operator for which the engine then reports no match."""
        phi, interpretation = self.predictor.language.syntax.parse(query), self.predictor.interpretation
        return not self.silent.isdisjoint(interpretation.operators(phi)) and interpretation.repeats(phi)

    def may_be_error(self, question: EngineQuestion) -> bool:
        """Return whether a remaining hypothesis, or one that differs from it in one axis, predicts an error."""
        names = [axis.name for axis in self.predictor.axes_of(question.query)]
        near = (c for one in self.left for c in (one, *self.neighbours(one, names)))
        return any(self.predictor.answer(question, c) == "error" for c in near)

    def look_everywhere(self, stage: Stage, best: Choices, first: int) -> None:
        """Ask questions with many events about each query of a stage, even if all values of its axes predict the same
        answer.

        A wrong answer shows that the engine has a meaning that none of the values describes. best: the hypothesis that
        chooses the questions. first: the index, among all answers, of the first one in this stage.
        """
        asked = {(one.question.query, one.question.key) for one in self.answered[first:]}
        for template in stage.templates:
            pool = Pool((template,), self.skipped)
            told = (one.question for one in self.answered[first:] if one.question.query == template.query)
            without = any(not self.predictor.answer(question, best) for question in told)
            for question in pool.further(best, self.predictor, EVERYWHERE, unmatched=not without):
                if len(self.answered) >= self.most - RESERVED or question.kind in self.skipped:
                    break
                if (question.query, question.key) in asked:
                    continue
                if (answer := self.request_answer(question)) is not None:
                    self.answered.append(Answered(question, answer, stage.axes))

    def confirm(self, stage: Stage) -> None:
        """Ask one question for each template of a stage, to check the remaining hypotheses; drop those that an answer
        refutes.

        If possible, the remaining hypotheses predict different answers to the question, or at least the best one and
        the default meaning do. If no hypothesis predicts the answer, all are kept.
        """
        for template in stage.templates:
            pool = Pool((template,), self.skipped)
            question = pool.splitting(self.left, self.predictor) or pool.splitting(
                [self.left[0], self.predictor.default], self.predictor
            )
            question = question or pool.richest(self.left[0], self.predictor)
            if question is None or len(self.answered) >= self.most:
                continue
            if (answer := self.request_answer(question)) is None:
                continue
            self.answered.append(Answered(question, answer, ()))
            # If none predicts the answer, all stay: the answer then says nothing about which of them is right.
            self.left = [c for c in self.left if self.predictor.answer(question, c) == answer] or self.left

    def expanded(self, stage: Stage) -> Iterator[Choices]:
        """Yield the remaining hypotheses combined with all values of the stage's axes.

        Hypotheses with fewer values other than the default come first.
        """
        axes = [self.predictor.interpretation.axes[name] for name in stage.axes]
        chosen = list(product(*(axis.values for axis in axes)))
        # The order matters later: of equal candidates the first wins, so a default is kept until an answer speaks
        # against it.
        chosen.sort(key=lambda values: sum(v != axis.default for v, axis in zip(values, axes, strict=True)))
        for hypothesis in self.left:
            for values in chosen:
                yield dict(hypothesis) | dict(zip(stage.axes, values, strict=True))

    def keep(self, stage: Stage, best: list[Choices], fit: bool) -> None:
        """Keep the best hypotheses as the remaining ones.

        fit: whether they explain enough answers. Then, if all values of an axis explain the answers equally well, only
        its default value is kept.
        """
        for name in stage.axes if fit else ():
            axis = self.predictor.interpretation.axes[name]
            beside = Counter(values_beside(hypothesis, name) for hypothesis in best)
            hidden = {others for others, number in beside.items() if number == len(axis.values)}
            # All values of the axis fit equally well beside these others, so no answer depends on it.
            best = [one for one in best if one[name] == axis.default or values_beside(one, name) not in hidden]
        self.left = choose_varied(best, CARRIED)

    def settle(self, stages: Sequence[Stage]) -> None:
        """Ask questions until none separates the best hypothesis from the others that explain as many answers."""
        pool = Pool((template for stage in stages for template in stage.templates), self.skipped)
        alike: set[tuple[str, ...]] = set()  # the values of pairs of hypotheses that no question distinguishes
        self.left = self.best()
        while True:
            self._end_step()
            first, *others = self.left
            self.unsettled = [c for c in others if (*first.values(), *c.values()) not in alike]
            if not self.unsettled or len(self.answered) >= self.most:
                break
            rival = self.unsettled[0]
            question = pool.between(first, rival, self.predictor)
            if question is None:
                alike.add((*first.values(), *rival.values()))
            elif (answer := self.request_answer(question)) is not None:
                differing = tuple(name for name in first if first[name] != rival[name])
                self.answered.append(Answered(question, answer, differing, settles=True))
                self.left = self.best()

    def corroborate(self, stages: Sequence[Stage]) -> bool:
        """For each query, ask more questions about the axes whose value is not the default.

        Return whether an answer contradicts a value. The engine's meaning may be close to a value and differ from it
        only on few streams.
        """
        best, contradicted = self.left[0], False
        asked = {(one.question.query, one.question.key) for one in self.answered}
        odd = [stage for stage in stages if any(best[name] != self.predictor.default[name] for name in stage.axes)]
        further = list[tuple[Stage, list[EngineQuestion]]]()
        for stage in odd:
            for template in stage.templates:
                pool = Pool((template,), self.skipped)
                some = [*pool.unmatched(best, self.predictor, stage.axes), *pool.matched(self.predictor, CORROBORATED)]
                further.append((stage, [one for one in some if (one.query, one.key) not in asked]))
        for number in range(UNMATCHED + CORROBORATED):  # one of each query in turn, as there may be too many
            for stage, some in further:
                if number >= len(some) or some[number].kind in self.skipped:
                    continue
                if len(self.answered) >= self.most - LAST:
                    self.unchecked.update(() if number else stage.axes)
                elif (answer := self.request_answer(some[number])) is not None:
                    self.answered.append(Answered(some[number], answer, stage.axes))
                    contradicted |= self.predictor.answer(some[number], best) != answer
        self.unchecked = {name for name in self.unchecked if best[name] != self.predictor.default[name]}
        return contradicted

    def separate(self, stages: Sequence[Stage]) -> None:
        """Ask at most APART questions that separate the best hypothesis from others that also explain all clear
        answers.

        An answer is clear if it does not depend on an axis for which no value fits. Other answers have no information
        on the remaining axes, so questions with clear answers suffice.
        """
        asked = {(one.question.query, one.question.key) for one in self.answered}
        pool = Pool((template for stage in stages for template in stage.templates), self.skipped)
        left = [question for question in pool.unskipped() if (question.query, question.key) not in asked]
        for _ in range(min(APART, self.most - len(self.answered))):
            self._rivals.clear()
            best, unfit = self.left[0], {name for name, finding in self.findings().items() if is_unfit(finding)}
            for question, rival in product(left, self._rivals):
                if self.predictor.answer(question, best) != self.predictor.answer(question, rival):
                    differing = tuple(name for name in best if best[name] != rival[name])
                    one = Answered(question, frozenset(), differing, settles=True)
                    if question.kind not in self.skipped and not self.is_blurred(unfit, one):
                        break
            else:
                return
            left.remove(question)
            if (answer := self.request_answer(question)) is not None:
                self.answered.append(replace(one, answer=answer))
                self.left = self.best()

    def probe(self) -> tuple[dict[str, EngineQuestion], list[Answered]]:
        """Ask random questions about the axes whose values are not the default; if there are none, about all axes.

        Return, for each axis whose value is refuted, a question that refutes it, and also the answers: first
        unexplained answers to smaller questions, if there are any, then the answers to the random questions. If a
        hypothesis that differs in one axis explains all answers, it becomes the best one, and nothing is refuted.
        Otherwise an unexplained answer refutes every value that it may contradict, but none if the operator of another
        axis may have a meaning that no value describes. The language's examples of queries with several operators
        (`shapes`) are always among the questions. Other queries are left out if they have an operator of an axis for
        which no value fits.
        """
        best, default, found = self.left[0], self.predictor.default, self.findings()
        unfit = {name for name, finding in found.items() if is_unfit(finding)}
        named = {name for name, finding in found.items() if finding.value is not None}
        about = {name for name in named if best[name] != default[name]} or named
        shapes = {query for query, _ in self.predictor.interpretation.shapes}
        told, beside = list[Answered](), list[Answered]()  # beside: those with operators of an axis without a value
        for question in self.random_questions():
            if len(told) + len(beside) >= PROBED:
                break
            bearing = {axis.name for axis in self.predictor.axes_of(question.query)}
            without = [axis for axis in self.predictor.axes_of(question.query) if axis.name in unfit]
            if not all(axis.name in REPORTING or (axis.operators and question.query in shapes) for axis in without):
                continue
            if question.kind in self.skipped:
                continue
            if about.isdisjoint(bearing) and question.query not in shapes:
                continue
            expected = self.predictor.answer(question, default)
            if len(expected) >= SEVERAL and not isinstance(self.predictor.answer(question, best), str):
                answer = self.request_answer(question)
                if answer is not None and not isinstance(answer, str):
                    (beside if without else told).append(Answered(question, answer, ()))
                    self.unchecked -= frozenset() if without else bearing
        self.probed = len(told) + len(beside)
        wrong = self.wrong(best, told)
        names = {axis.name for one in wrong for axis in self.predictor.axes_of(one.question.query)}
        least = self.misses(best)
        near = [*self.left[1:], *self.neighbours(best, sorted(names))] if wrong else []
        if better := [c for c in near if self.misses(c, least) <= least and not self.wrong(c, told)]:
            self.left, self.probed = better, self.probed - len(wrong)
            self.answered += wrong
            return {}, [*told, *beside]
        wrong = self.unexplained_by(found, told)
        small = [self.shrunk(one, found, SHRINKING // len(wrong)) for one in wrong]
        # Shrinking may remove the reason why an answer depends on a value: then use the question before it.
        telling = [
            one if self.suspects(one.question, about) else before for before, one in zip(wrong, small, strict=True)
        ]
        suspects = [(one, self.suspects(one.question, about)) for one in telling]
        refuted = dict[str, EngineQuestion]()
        for one, names in sorted(suspects, key=lambda pair: (len(pair[1]), len(pair[0].question.events))):
            concerned = [axis for axis in self.predictor.axes_of(one.question.query) if axis.name in named]
            if len({axis.operators for axis in concerned if axis.operators}) > 1:  # any of them may be the reason
                names = {name for name in names if not self.predictor.interpretation.axes[name].operators}
            elif of_operand := self.accused(one, [a for a in concerned if a.operators], found, unary=True):
                names = {*of_operand, *(name for name in names if best[name] != default[name])}
            if refuted.keys().isdisjoint(names):  # otherwise the value already refuted may be the only fault
                refuted.update(dict.fromkeys(names, one.question))
        return refuted, [*small, *told, *beside]

    def suspects(self, question: EngineQuestion, about: Collection[str]) -> set[str]:
        """Return the axes whose values a small question with a wrong answer may refute.

        A value other than the default is a suspect if the query has operators of the value's axis, or if it changes an
        answer on a stream of these events. If there is no such value, the suspects are the axes on which the answer
        depends; axes with operators come before axes of all queries.
        """
        axes = [axis for axis in self.predictor.axes_of(question.query) if axis.name in about]
        near = self.near(question)
        odd = [axis for axis in axes if self.left[0][axis.name] != axis.default]
        bearing = [a for a in odd if a.operators or any(self.depends(a.name, Answered(q, "error", ())) for q in near)]
        if bearing:
            return {axis.name for axis in bearing}
        depending = [axis for axis in axes if self.depends(axis.name, Answered(question, "error", ()))]
        return {axis.name for axis in depending if axis.operators} or {axis.name for axis in depending}

    def shrunk(self, wrong: Answered, findings: Mapping[str, AxisFinding], most: int) -> Answered:
        """Return a smaller question with an answer that no remaining values of the axes explain, if there is one.

        At most `most` questions are asked. If none is smaller, return the given one.
        """
        language, found, best = self.predictor.language, wrong, self.left[0]
        end = self.probed + most

        def fails(phi: Any, S: Stream) -> bool:
            nonlocal found
            question = question_on(language.syntax.show(phi), [json_of_event(event) for event in S])
            predicted = self.predictor.answer(question, best)
            if isinstance(predicted, str) or question.kind in self.skipped or self.probed >= end:
                return False
            answer = self.request_answer(question)
            self.probed += 1
            if answer is None or isinstance(answer, str) or self.is_explained(Answered(question, answer, ()), findings):
                return False
            found = Answered(question, answer, ())
            return True

        phi = language.syntax.parse(wrong.question.query)
        if (operations := language.operations()) is not None and self.probed < end:
            shrink(operations, phi, wrong.question.S, fails, SHRINKING)
        return found

    def random_questions(self) -> Iterator[EngineQuestion]:
        """Yield random questions with operators of the queries answered so far."""
        parse, interpretation = self.predictor.language.syntax.parse, self.predictor.interpretation
        used = (interpretation.operators(parse(one.question.query)) for one in self.answered)
        return random_questions(self.predictor, frozenset[str]().union(*used))

    def best(self) -> list[Choices]:
        """Hill-climb from the best remaining hypothesis; return the hypotheses that explain the most answers.

        A step changes the value of one axis. If no step explains more answers, two axes are changed at once: two wrong
        values can fit together, so that changing only one of them explains fewer answers. These are axes on which
        unexplained answers depend. Pairs of changes are also tried from the default values of these axes.
        """
        first = min(self.left, key=self.misses)
        while True:
            least = self.misses(first)
            steps = list(self.neighbours(first, self.seen()))
            better = min(steps, key=lambda c: self.misses(c, least), default=first)
            if least and self.misses(better, least) >= least:
                wrong = self.wrong(first, self.answered)
                axes = {axis.name for one in wrong for axis in self.predictor.axes_of(one.question.query)}
                plain = {**first, **{name: self.predictor.default[name] for name in axes}}
                twice = (
                    c
                    for start in (first, plain)
                    for step in self.neighbours(start, sorted(axes))
                    for c in self.neighbours(step, sorted(axes))
                )
                # There are many pairs of steps; those that do not explain the first wrong answer are not counted in
                # full.
                mending = (c for c in twice if self.predictor.answer(wrong[0].question, c) == wrong[0].answer)
                better = min(mending, key=lambda c: self.misses(c, least), default=first)
            if self.misses(better, least) >= least:
                for name in self.seen():  # prefer the default if it fits as well
                    plain = {**first, name: self.predictor.default[name]}
                    first = plain if self.misses(plain, least) <= least else first
                return [first, *(c for c in (*steps, *self.left) if c != first and self.misses(c, least) == least)]
            first = better

    def neighbours(self, hypothesis: Choices, names: Iterable[str]) -> Iterator[Choices]:
        """Yield the hypotheses that differ from this one in exactly one axis, which is one of these axes."""
        for name in names:
            for value in self.predictor.interpretation.axes[name].values:
                if value != hypothesis[name]:
                    yield {**hypothesis, name: value}

    def misses(self, hypothesis: Choices, most: int | None = None) -> int:
        """Return the number of answers that a hypothesis fails to explain; stop counting above `most`."""
        key = tuple(hypothesis.values())
        counted, wrong = self._counted.get(key, (0, 0))
        while counted < len(self.answered) and (most is None or wrong <= most):
            one = self.answered[counted]
            wrong += self.predictor.answer(one.question, hypothesis) != one.answer
            counted += 1
        self._counted[key] = counted, wrong
        return wrong

    def seen(self) -> list[str]:
        """Return the names of the axes that can affect a query answered so far."""
        queries = {one.question.query for one in self.answered}
        found = {axis.name for query in queries for axis in self.predictor.axes_of(query)}
        return [name for name in self.predictor.interpretation.axes if name in found]

    def findings(self) -> dict[str, AxisFinding]:
        """Return the findings for each axis that affects an answer to a question about it.

        If no value of an axis fits, answers that depend on it are not used for another axis that has answers enough
        without them.
        """
        about = {name: found for name in self.seen() if (found := self.about(name))}
        suspected = {name for name, found in about.items() if self.misfit(found)}
        self.common = self.common_operators()
        concerned = {operator for name in suspected for operator in self.predictor.interpretation.axes[name].operators}
        self.blamed = next((operator for operator in self.common if operator in concerned), "")
        unfit = {name for name in suspected if self.is_blamed(name)} or {*suspected}
        while True:
            clear = {name: self.without(unfit - {name}, found) for name, found in about.items()}
            ranked = sorted((self.misfit(clear[name]), self.misfit(about[name]), name) for name in unfit)
            if not ranked or ranked[0][0]:
                break
            unfit.remove(ranked[0][2])
        torn = {name for name in suspected - unfit if self.is_torn(name, unfit, about[name])}
        unfit |= torn
        clear = {name: found if name in torn else self.without(unfit - {name}, found) for name, found in about.items()}
        for name in suspected:  # an engine without any match agrees with answers that have none
            if not any(one.answer and name in one.axes for one in clear[name]):
                clear[name] = about[name]
        return {name: self.finding(name, found, about[name], unfit - {name}) for name, found in clear.items()}

    def unasked(self, stages: Iterable[Stage], found: Collection[str]) -> dict[str, str]:
        """Return, for each axis of these stages without a finding, the reason as a phrase."""
        own = templates_by_axis(stages)
        return {name: self._why_unasked(name, templates) for name, templates in own.items() if name not in found}

    def _why_unasked(self, name: str, templates: Sequence[Template]) -> str:
        queries = {template.query for template in templates}
        if queries & self.unput:
            return ENDED
        left = Pool(templates, self.skipped).unskipped()
        if not left and any(map(self.is_silent, queries)):
            return SILENT
        if not left:
            return ERRONEOUS if queries & {*self.lost, *(query for query, _ in self.errors)} else SKIPPED
        if any(self.depends(name, Answered(question, "error", ())) for question in left):
            return INTERRUPTED if self.interrupted else USED_UP if len(self.answered) >= self.most else UNANSWERED
        return SAME_ANSWERS

    def common_operators(self) -> dict[str, int]:
        """Return the operators that all queries with unexplained answers have.

        Each comes with the number of answered queries that have it, the fewest first.
        """
        parse, operators = self.predictor.language.syntax.parse, self.predictor.interpretation.operators
        inside = {one.question.query: operators(parse(one.question.query)) for one in self.answered}
        wrong = [inside[one.question.query] for one in self.wrong(self.left[0], self.answered)]
        common = set[str](wrong[0]).intersection(*wrong) if wrong else set[str]()
        number = {name: sum(name in inside[one.question.query] for one in self.answered) for name in sorted(common)}
        return dict(sorted(number.items(), key=lambda pair: pair[1]))

    def is_blamed(self, name: str) -> bool:
        """Return whether an axis concerns the operator that all queries with unexplained answers have."""
        return self.blamed in self.predictor.interpretation.axes[name].operators

    def is_torn(self, name: str, unfit: Iterable[str], answered: Sequence[Answered]) -> bool:
        """Return whether some question about this axis and an axis of `unfit` has an unexplained answer.

        Then either axis may have a meaning that no value describes.
        """
        if self.blamed and not self.is_blamed(name):
            return False
        wrong = [one for one in self.wrong(self.left[0], answered) if not one.settles]
        return any(name in one.axes and other in one.axes for one in wrong for other in unfit)

    def doubts(self, name: str, unfit: Collection[str]) -> list[Answered]:
        """Return the unexplained answers that may refute the value found for this axis, although they are about other
        axes.

        unfit: axes for which no value fits. Answers about these axes are returned if they also depend on the value of
        this axis, and if both axes have questions with the same operators. Then either axis may have a meaning that no
        value describes. Return [] if this axis has its default value, because that is never refuted.
        """
        best = self.left[0]
        if best[name] == self.predictor.default[name]:
            return []
        queries = {one.question.query for one in self.answered if name in one.axes}
        shared = {axis.name for query in queries for axis in self.predictor.axes_of(query) if axis.operators}
        about = [one for one in self.answered if not one.settles and not shared.isdisjoint({*unfit} & {*one.axes})]
        return [one for one in self.wrong(best, about) if self.depends(name, one)]

    def remarks(self) -> Iterator[str]:
        """Yield sentences about behaviour that no value of a single axis describes."""
        for name in sorted(self.silent):
            query, stream = self.predictor.interpretation.twice[name][0]
            yield (
                f"a query with {name} that names a type twice gets no match, such as {query} on {stream}; "
                "no axis describes this, and the values hold for other queries"
            )
        first, *others = self.left
        yield from dict.fromkeys(remark for other in others if (remark := self._remark_on(other, self.misses(first))))

    def _remark_on(self, other: Choices, most: int) -> str:
        """Return a sentence about values of a hypothesis that fit only together; "" if there are none.

        most: the number of answers that a fitting hypothesis may fail to explain. Values of axes on which no answer
        depends are left out.
        """
        first = self.left[0]
        changed = {name: value for name, value in other.items() if first[name] != value}
        alone = {name for name, value in changed.items() if self.misses({**first, name: value}) > most}
        for name in changed if alone else ():
            fewer = {n: value for n, value in changed.items() if n != name}
            if not alone.isdisjoint(fewer) and self.misses({**first, **fewer}) <= most:
                changed = fewer
        if not alone or len(changed) < 2:
            return ""
        together = " with ".join("=".join(choice) for choice in changed.items())
        return f"{together} fits too, but only together"

    def always_empty(self) -> bool:
        """Return whether the engine reported no match at all, although by the definition several questions have
        matches.
        """
        due = [one for one in self.answered if self.predictor.answer(one.question, self.predictor.default)]
        return len(due) >= EMPTY and all(one.answer == frozenset() for one in self.answered)

    def finding(
        self, name: str, mine: Sequence[Answered], every: Sequence[Answered], unfit: Collection[str]
    ) -> AxisFinding:
        """Judge the values of an axis by the engine's answers, and return the finding.

        mine: the answers about the axis that do not depend on an axis of `unfit`. every: all answers about the axis.
        unfit: other axes for which no value fits.
        """
        axis, best = self.predictor.interpretation.axes[name], self.left[0]
        spoilt = [one for one in every if self.is_blurred(unfit, one) and self.depends(name, one)]
        spoilt += (one for one in self.doubts(name, unfit) if one not in spoilt)
        if spoilt:
            others = [{**best, name: value} for value in axis.values]
            best = min([best, *others], key=lambda one: len(self.wrong(one, mine)))
        alike = tuple(v for v in axis.values if v != best[name] and any(one[name] == v for one in self.left))
        wrong = self.wrong(best, mine)
        fits = not wrong  # one contradicting answer is enough: a wrong value misleads more than none
        unexplained = (one.question for one in wrong or self.wrong(best, spoilt))
        exception = min(unexplained, key=lambda one: (len(one.events), len(one.query)), default=None)
        if fits and unfit:
            clear = self.without(unfit, self.answered)
            if best[name] == axis.default:  # a query whose answers are all right shows no unnamed meaning
                off = {one.question.query for one in self.wrong(self.predictor.default, self.answered)}
                clear = [o for o in self.answered if o.question.query not in off or not self.is_blurred(unfit, o)]
            clear = [one for one in clear if self.predictor.answer(one.question, best) == one.answer]
            rivals = {v: self.complete(name, {**best, name: v}, clear) for v in axis.values if v != best[name]}
            if not axis.operators and best[name] != axis.default:  # it shows without operators of axes without a value
                plain = [one for one in clear if self.is_apart(unfit, one.question.query)]
                rivals[axis.default] = self.complete(name, {**best, name: axis.default}, plain)
            possible = {v for v, rival in rivals.items() if rival is not None and self.is_other(best, rival)}
            as_good = [v for v in axis.values if v == best[name] or v in possible]
            hidden = spoilt and best[name] != axis.default
            same = all(self.are_same(best, {**best, name: value}) for value in as_good)
            # Answers that would separate values, or contradict one, may be among the unexplained ones.
            if hidden or not same:
                self._rivals += (rival for v, rival in rivals.items() if rival is not None and v in possible)
                return AxisFinding(None, tuple(as_good), len(mine), len(mine), exception)
            alike, exception = tuple(value for value in as_good if value != best[name]), None
        return AxisFinding(
            best[name] if fits else None, alike if fits else (), len(mine), len(mine) - len(wrong), exception
        )

    def complete(self, name: str, hypothesis: Choices, answered: Sequence[Answered]) -> Choices | None:
        """Change a few values of axes other than `name`, so that the hypothesis explains all answers; return it.

        Return None if that fails. Each change must explain more answers. Changes are needed because the hypothesis may
        have two wrong values that fit together.
        """
        wrong = self.wrong(hypothesis, answered)
        for _ in range(STEPS):
            if not wrong:
                break
            first, fewest = wrong[0], wrong
            others = [axis.name for axis in self.predictor.axes_of(first.question.query) if axis.name != name]
            for other in self.neighbours(hypothesis, others):
                if self.predictor.answer(first.question, other) == first.answer:
                    left = self.wrong(other, answered)
                    if len(left) < len(fewest):
                        hypothesis, fewest = other, left
            if fewest is wrong:
                return None
            wrong = fewest
        return None if wrong else hypothesis

    def is_other(self, hypothesis: Choices, rival: Choices) -> bool:
        """Return whether `rival` is a different result that must be reported beside the hypothesis.

        That is so if the two differ in only one axis, or predict different answers to a question asked so far.
        """
        return sum(hypothesis[name] != rival[name] for name in hypothesis) < 2 or not self.are_same(hypothesis, rival)

    def are_same(self, hypothesis: Choices, rival: Choices) -> bool:
        """Return whether two hypotheses predict the same answers to all questions asked so far."""
        answer = self.predictor.answer
        return all(answer(one.question, hypothesis) == answer(one.question, rival) for one in self.answered)

    def wrong(self, hypothesis: Choices, answered: Iterable[Answered]) -> list[Answered]:
        """Return the answers that a hypothesis does not explain."""
        return [one for one in answered if self.predictor.answer(one.question, hypothesis) != one.answer]

    def misfit(self, answered: Sequence[Answered]) -> float:
        """Return the share of these answers that the best hypothesis does not explain."""
        return len(self.wrong(self.left[0], answered)) / len(answered)

    def about(self, name: str) -> list[Answered]:
        """Return the answers that depend on the value of an axis.

        Their questions are about this axis, or about no particular axis. Wrongly predicted answers to questions about
        this axis are returned too. If none of these exist, and the axis says which matches are reported, return the
        answers to any questions that depend on its value.
        """
        found = [
            one
            for one in self.answered
            if ((name in one.axes or not one.axes) and self.depends(name, one))
            or (name in one.axes and self.predictor.answer(one.question, self.left[0]) != one.answer)
        ]
        return found or [one for one in self.answered if name in REPORTING and self.depends(name, one)]

    def depends(self, name: str, one: Answered) -> bool:
        """Return whether the answer to a question depends on the value of an axis.

        The other axes have the values found so far.
        """
        values = self.predictor.interpretation.axes[name].values
        return len({self.predictor.answer(one.question, {**self.left[0], name: value}) for value in values}) > 1

    def without(self, unfit: Iterable[str], answered: list[Answered]) -> list[Answered]:
        """Return the answers that depend on no axis of `unfit`; if all depend on one, return all answers.

        unfit: axes for which no value fits.
        """
        return [one for one in answered if not self.is_blurred(unfit, one)] or answered

    def is_apart(self, unfit: Collection[str], query: str) -> bool:
        """Return whether a query has no operator that one of these axes concerns."""
        return not any(axis.operators and axis.name in unfit for axis in self.predictor.axes_of(query))

    def is_blurred(self, unfit: Iterable[str], one: Answered) -> bool:
        """Return whether an answer depends on one of the axes in `unfit`, for which no value fits.

        An answer that the best hypothesis does not explain also counts as dependent on an axis in `unfit` if that axis
        concerns an operator that the queries of all unexplained answers share.
        """
        odd = bool(self.blamed) and self.predictor.answer(one.question, self.left[0]) != one.answer
        return any((odd and self.is_blamed(other)) or self.depends(other, one) for other in unfit)


def random_questions(predictor: Predictor, used: Collection[str]) -> Iterator[EngineQuestion]:
    """Yield questions whose queries have only the operators in `used`.

    The language's examples of queries (`shapes`) come first, then random queries from each profile of the generator in
    turn.
    """
    language, interpretation = predictor.language, predictor.interpretation
    operators = interpretation.operators
    for query, shape in interpretation.shapes:
        if operators(language.syntax.parse(query)) <= {*used}:
            yield question_on(query, shape)
    if language.cases is None or (operations := language.operations()) is None:
        return
    generator, rng, around = language.cases.generator(), Random(0), cycle(interpretation.around)
    for profile in islice(cycle(generator.profiles.values()), TRIED):
        query, S = generator.case(rng, profile, NODES, LENGTH)
        events = [json_of_event(event) for event in S]
        unbound = any(problem.rule == "unbound" for problem in language.syntax.problems(query, S.schema))
        if not unbound and operators(query) <= {*used} and not any(has_times(event) for event in S):
            text = next(around).format(operations.show(query))
            if operators(language.syntax.parse(text)) <= {*used}:
                yield question_on(text, events)


def templates_by_axis(stages: Iterable[Stage]) -> dict[str, list[Template]]:
    """Return the templates of questions about each axis, which may have several stages."""
    found: dict[str, list[Template]] = {}
    for stage in stages:
        for name in stage.axes:
            found.setdefault(name, []).extend(stage.templates)
    return found


def is_unfit(finding: AxisFinding) -> bool:
    """Return whether no value of an axis fits."""
    return finding.value is None and not finding.alike


def events_of(answer: EngineAnswer) -> set[tuple[int, ...]]:
    """Return, for the matches of an answer, the positions of their events, without the positions where they are
    reported.
    """
    return {match.events if isinstance(match, Match) else match[1] for match in answer if not isinstance(match, str)}


def types_of(question: EngineQuestion) -> tuple[str, ...]:
    """Return the types of the events of a question, in their order."""
    return tuple(event["type"] for event in question.events)


def has_times(event: Event) -> bool:
    """Return whether an attribute of an event is a point in time, which JSON represents as a string."""
    return any(isinstance(value, datetime) for value in event.attributes.values())


def values_beside(hypothesis: Choices, name: str) -> tuple[str, ...]:
    """Return the values that a hypothesis gives to all axes except the one with this name."""
    return tuple(value for axis, value in hypothesis.items() if axis != name)


def choose_varied(hypotheses: Sequence[Choices], most: int) -> list[Choices]:
    """Return at most `most` hypotheses, preferring those with a value that no earlier hypothesis has.

    A new value counts more if its axis has few values so far. Otherwise an axis with many fitting values would crowd
    out the others.
    """
    known: dict[str, set[str]] = {}
    ranked = list[tuple[int, Choices]]()
    for hypothesis in hypotheses:
        new = [len(known.get(name, ())) for name, value in hypothesis.items() if value not in known.get(name, ())]
        ranked.append((min(new, default=len(hypotheses)), hypothesis))
        for name, value in hypothesis.items():
            known.setdefault(name, set()).add(value)
    return [hypothesis for _, hypothesis in sorted(ranked, key=lambda one: one[0])][:most]


class Need:
    """The evidence that is still missing to separate a hypothesis about an engine from a rival hypothesis.

    Enough evidence is: CORROBORATING questions to which the two predict different answers, about more than one query,
    and for each of the two hypotheses a question where it predicts a match that the other lacks. telling: the questions
    answered so far to which the two predict different answers. queries: their queries. number: how many of them count.
    A question in `whole` tests many events at once, and counts once for each event on which the two differ.
    """

    def __init__(
        self,
        hypothesis: Choices,
        rival: Choices,
        answered: Iterable[Answered],
        predictor: Predictor,
        whole: Container[EngineQuestion],
    ) -> None:
        self.hypothesis, self.rival, self.predictor = hypothesis, rival, predictor
        given = ((q := one.question, predictor.answer(q, hypothesis), predictor.answer(q, rival)) for one in answered)
        self.telling = [question for question, one, other in given if one != other]
        self.queries = {question.query for question in self.telling}
        self.number = sum(self._events_apart(question) if question in whole else 1 for question in self.telling)
        self._lacking = [
            way
            for way in ((hypothesis, rival), (rival, hypothesis))
            if not any(predictor.exceeds(question, *way) for question in self.telling)
        ]

    def _events_apart(self, question: EngineQuestion) -> int:
        one, other = (self.predictor.answer(question, choices) for choices in (self.hypothesis, self.rival))
        return 1 if isinstance(one, str) or isinstance(other, str) else len({*one} ^ {*other})

    def count_met(self, question: EngineQuestion) -> int:
        """Return how much of the missing evidence a question would give, from 0 to 4.

        It counts one if more questions are needed, one if its query is new, and one for each hypothesis that predicts a
        match that the other lacks, if no question has shown that. It is 0 if the hypotheses predict the same answer.
        """
        if self.predictor.answer(question, self.hypothesis) == self.predictor.answer(question, self.rival):
            return 0
        few = self.number < CORROBORATING
        lacking = sum(self.predictor.exceeds(question, *way) for way in self._lacking)
        return few + (question.query not in self.queries) + lacking


class Pool:
    """The questions of a stage that have not been asked, grouped by the number of events in their streams.

    If each match of a template's query is a single event, one question has a stream of all the template's events and
    tests all of them at once. These questions are in `whole`, and are sorted as if they had one event.
    """

    def __init__(self, templates: Iterable[Template], skipped: set[tuple[str, bool]]) -> None:
        self.skipped = skipped
        self.by_length: dict[int, list[EngineQuestion]] = {}
        self.whole: list[EngineQuestion] = []
        for template in templates:
            for question in questions(template):
                length = 1 if template.single else len(question.events)
                self.by_length.setdefault(length, []).append(question)
            if template.single:
                self.whole.append(question)
        for same_length in self.by_length.values():
            Random(0).shuffle(same_length)

    def unskipped(self) -> list[EngineQuestion]:
        """Return the questions of the kinds that the engine answers, the shortest first."""
        every = (question for length in sorted(self.by_length) for question in self.by_length[length])
        return [question for question in every if question.kind not in self.skipped]

    def richest(self, hypothesis: Choices, predictor: Predictor) -> EngineQuestion | None:
        """Return the question for which the hypothesis predicts the most matches, among those of at most RICH events.

        Of several such questions, return the shortest.
        """
        short = [q for q in self.unskipped() if len(q.events) <= RICH]
        if not short:
            return None
        return max(short, key=lambda question: len(predictor.answer(question, hypothesis)))

    def matched(self, predictor: Predictor, most: int) -> list[EngineQuestion]:
        """Return the shortest questions for which the default meaning predicts a match."""
        return list(islice((q for q in self.unskipped() if predictor.answer(q, predictor.default)), most))

    def unmatched(self, hypothesis: Choices, predictor: Predictor, names: Iterable[str]) -> list[EngineQuestion]:
        """Return up to UNMATCHED questions to which both the default meaning and the hypothesis predict no match.

        For up to half of them, another value of one of the axes in `names` predicts a match. For the others, the
        default meaning predicts a match as soon as the events have other attribute values, with the same types in the
        same order.
        """
        every, default = self.unskipped(), predictor.default
        axes = (predictor.interpretation.axes[name] for name in names)
        values = [{**default, axis.name: value} for axis in axes for value in axis.values[1:]]

        def matched(question: EngineQuestion, points: Iterable[Choices]) -> bool:
            return any(predictor.answer(question, choices) for choices in points)

        with_match = {types_of(question) for question in every if predictor.answer(question, default)}
        by_type = (q for q in every if types_of(q) in with_match and not matched(q, (hypothesis, default)))
        first = islice((q for q in every if not matched(q, (hypothesis, default))), LOOKED_AT)
        by_value = islice((question for question in first if matched(question, values)), UNMATCHED // 2)
        found = {question.key: question for question in (*by_value, *islice(by_type, UNMATCHED))}
        return list(found.values())[:UNMATCHED]

    def further(
        self, hypothesis: Choices, predictor: Predictor, most: int = FURTHER, unmatched: bool = True
    ) -> list[EngineQuestion]:
        """Choose questions of one template with many events, mainly those with the most matches.

        most: the greatest number of them. unmatched: whether one question without a match may be among them. An engine
        that reports only some of the matches shows which ones in the answers to questions with many matches. If each
        match of the template's query is a single event, the result is the question with all of the template's events.
        """
        if self.whole:
            return [question for question in self.whole if question.kind not in self.skipped]
        every = self.unskipped()
        some = sorted(every if len(every) <= FEW else every[-FEW:], key=lambda question: -len(question.events))
        number = {question.key: len(predictor.answer(question, hypothesis)) for question in some}
        none = [question for question in some if unmatched and not number[question.key]][:1]
        full = sorted(some, key=lambda question: -number[question.key])
        rich = sorted(some, key=lambda question: -len(predictor.answer(question, predictor.default)))
        chosen = {question.key: question for question in (*none, *rich[:1], *full)}
        return list(chosen.values())[: len(none) + most - 1]

    def corroborating(
        self, hypothesis: Choices, names: Iterable[str], answered: Sequence[Answered], predictor: Predictor
    ) -> EngineQuestion | None:
        """Remove from the pool a shortest question that tests the hypothesis's value of one of these axes, and return
        it.

        Against each other value of the axis there must be a question with each query, and at least CORROBORATING
        questions in all. One of them must have a match that only the other value gives, and one a match that only the
        hypothesis's value gives. Return None if none of these is missing or if the pool has no such question.
        """
        axes = (predictor.interpretation.axes[name] for name in names)
        others = ((axis.name, v) for axis in axes for v in reversed(axis.values) if v != hypothesis[axis.name])
        rivals = [
            {**hypothesis, name: value} for name, value in others
        ]  # at-most-7 first: its questions serve all limits
        needs = [Need(hypothesis, rival, answered, predictor, self.whole) for rival in rivals]
        for need in needs:
            places = [self._find(hypothesis, need.rival, predictor, need.queries)]
            for more, less in ((hypothesis, need.rival), (need.rival, hypothesis)):
                if places[-1] is None and not any(predictor.exceeds(one, more, less) for one in need.telling):
                    places.append(self._find(more, less, predictor, exceeding=True))
            if places[-1] is None and need.number < CORROBORATING:
                places.append(self._find(hypothesis, need.rival, predictor))
            if (place := places[-1]) is not None:
                same_length, first = self.by_length[place[0]], place[1]
                some = (n for n in range(first, len(same_length)) if same_length[n].kind not in self.skipped)
                number = {n: sum(one.count_met(same_length[n]) for one in needs) for n in islice(some, LOOKED_AT)}
                return same_length.pop(max(number, key=number.__getitem__))
        return None

    def between(
        self,
        one: Choices,
        other: Choices,
        predictor: Predictor,
        without: Container[str] = (),
        exceeding: bool = False,
    ) -> EngineQuestion | None:
        """Remove from the pool a shortest question on which two hypotheses differ, and return it; None if there is
        none.

        without: excluded queries. exceeding: whether the first hypothesis must have a match that the other lacks.
        """
        place = self._find(one, other, predictor, without, exceeding)
        return None if place is None else self.by_length[place[0]].pop(place[1])

    def _find(
        self,
        one: Choices,
        other: Choices,
        predictor: Predictor,
        without: Container[str] = (),
        exceeding: bool = False,
    ) -> tuple[int, int] | None:
        """Return the length of the question that `between` would find, and its index among questions of this length."""

        @cache
        def bears(query: str) -> bool:
            return predictor.choose_values(query, one) != predictor.choose_values(query, other)

        for length in sorted(self.by_length):
            for number, question in enumerate(self.by_length[length]):
                if (
                    question.kind not in self.skipped
                    and question.query not in without
                    and bears(question.query)
                    and predictor.answer(question, one) != predictor.answer(question, other)
                    and (not exceeding or predictor.exceeds(question, one, other))
                ):
                    return length, number
        return None

    def splitting(self, hypotheses: Sequence[Choices], predictor: Predictor) -> EngineQuestion | None:
        """Remove from the pool the question whose answer, whatever it is, rules out most hypotheses; return the
        question.

        Only the shortest questions to which the hypotheses predict different answers are compared. Return None if they
        predict the same answer to every question.
        """
        if len(hypotheses) < 2:
            return None
        some = hypotheses[:: -(-len(hypotheses) // COMPARED)]
        if len(some) < len(hypotheses) and (question := self.splitting(some, predictor)) is not None:
            return question
        classes: dict[str, list[tuple[Choices, int]]] = {}
        looked_through = 0
        for length in sorted(self.by_length):
            best: tuple[tuple[int, int], int] | None = None
            for number, question in enumerate(self.by_length[length]):
                if best is not None and number >= LOOKED_AT:
                    break
                if question.query not in classes:
                    classes[question.query] = predictor.classes(question.query, hypotheses)
                if len(classes[question.query]) < 2 or question.kind in self.skipped:
                    continue
                looked_through += 1
                groups: Counter[EngineAnswer] = Counter()
                for hypothesis, size in classes[question.query]:
                    groups[predictor.answer(question, hypothesis)] += size
                if len(groups) > 1:
                    quality = (max(groups.values()), len(question.query))
                    if best is None or quality < best[0]:
                        best = quality, number
            if best is not None:
                return self.by_length[length].pop(best[1])
            if looked_through > LOOKED_THROUGH:
                break
        return None


# ---------------------------------------------------------------------------------------------------------------------
# The shortest questions that distinguish the values of an axis from its default.

BESIDE = {
    "overlap@partition": {"overlap": "past-last"},
    "alternatives": {"seq": "nearest"},
    "guard": {"seq": "next-from-left"},
    "brackets": {"seq": "next-from-left"},
}
"""For each axis whose values have no effect while all other axes have their defaults: a choice with which they do."""


@dataclass(frozen=True)
class AxisSeparation:
    """A value of an axis, with a shortest question whose answer shows whether an engine has it or the default value.

    question: None if no question shows that. beside: the values of other axes, the same in both engines. expected,
    given: the sorted matches of an engine with the default value, and of an engine with this value; the text "error" if
    it answers with an error.
    """

    axis: str
    value: str
    beside: Choices
    question: EngineQuestion | None
    expected: list[Match] | str = ""
    given: list[Match] | str = ""


def separations(language: str) -> Iterator[AxisSeparation]:
    """Yield, for each axis of a language and each value except the default, a question that tells the value from the
    default.

    Example: next(separations("cel")).question
    """
    known = Predictor(language)
    for name, templates in templates_by_axis(STAGES[language]).items():
        axis, beside = known.interpretation.axes[name], BESIDE.get(name, {})
        every = (question for template in templates for question in questions(template))
        pool = sorted(every, key=lambda question: (len(question.events), len(question.query)))
        first = {**known.default, **beside}
        for value in axis.values[1:]:
            other = {**first, name: value}
            telling = (q for q in pool if known.answer(q, first) != known.answer(q, other))
            if (question := next(telling, None)) is None:
                yield AxisSeparation(name, value, beside, None)
                continue
            answers = (
                known.matches(question.query, question.S, question.key, choices, known.interpretation.compared)
                for choices in (first, other)
            )
            both = [found if isinstance(found, str) else sorted(found) for found in answers]
            yield AxisSeparation(name, value, beside, question, *both)


# ---------------------------------------------------------------------------------------------------------------------
# The identification of an engine behind the protocol.

ALIKE_ERRORS = 10  # first answers with the same error, after which the questions end
ERROR_PARTS = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")  # parts that may differ: they come from the query
TYPES = {bool: "bool", int: "int", float: "float", str: "string"}


def identified(
    argv: Sequence[str],
    language: str | None = None,
    limits: Limits = Limits(),
    progress: Progress = lambda what, done, total: None,
) -> EngineProfile:
    """Start an engine with a command, ask it questions, and return the profile of its semantics in one language.

    language: None for the first language that the engine supports. Raises InputError if the engine does not start, or
    does not support the language.
    """
    with Engine(argv, limits, losses=Losses(skips=True)) as engine:
        languages = [name for name in engine.info.languages if name in STAGES]
        if language is None and languages:
            language = languages[0]
        if language not in languages:
            raise InputError(
                f"the engine does not support {language or 'any language'} for which cerify has axes; the languages "
                f"with axes are {', '.join(STAGES)}"
            )
        assert language is not None
        predictor = Predictor(language)
        if claims_of_json(engine.info.claims, language).less_than_results(language) == "matches":
            predictor.compare_rows()
        numbers, origin = (
            count(),
            Case("", "identify", "", language, "", None, [], evaluated_output(predictor.interpretation.compared), []),
        )
        stopped, malformed, errors, broken = list[str](), list[str](), list[str](), list[str]()
        unput, lost = set[str](), set[str]()

        def ask(question: EngineQuestion) -> EngineAnswer | None:
            schema, events = schema_for(language, question), [dict(event) for event in question.events]
            id_ = f"identify/{next(numbers)}"
            case = replace(origin, id=id_, query=question.query, schema=schema, events=events)
            if stopped:
                unput.add(question.query)
            if not stopped and engine.why_not(case, limits.restarts // 2) is not None:
                lost.add(question.query)
            if stopped or question.query in lost:
                return None
            result = engine.answer(case)
            errors.append(ERROR_PARTS.sub("", result.detail) if result.outcome in ("error", "protocol") else "")
            if all_alike(errors):
                stopped.append(f"the first {ALIKE_ERRORS} answers are the same error: {result.detail}")
                return None
            if result.outcome not in ("skipped", "not_run") and result.matches is None:
                broken.append(f"{question.query}: {result.detail}")
            match result.outcome:
                case "not_run":
                    stopped.append(result.detail)
                    unput.add(question.query)
                    return None
                case "skipped":
                    return None
                case "error":
                    return "error"
                case _ if result.matches is not None:
                    if result.detail:
                        malformed.append(result.detail)
                    return predictor.compared_part(
                        of_output(result.matches, language, predictor.interpretation.compared)
                    )
                case _:
                    return "no answer"

        identification = Identification(predictor, ask, unput=unput, lost=lost)
        axes = identification.run(STAGES[language], progress)
        not_asked = identification.unasked(STAGES[language], axes)
        bases = {name: axis.base for name, axis in predictor.interpretation.axes.items()}
        info, asked = engine.info, identification.number
        if empty := identification.always_empty():
            axes = {name: replace(finding, value=None, alike=()) for name, finding in axes.items()}
        if identification.interrupted:
            stopped.append(INTERRUPTED)
        found, ended = merged(axes, bases), next(iter(stopped), "")
        return EngineProfile(
            info.name,
            info.version,
            language,
            found,
            asked,
            ended,
            (*remarks_on(empty, malformed, broken, asked), *dict.fromkeys(identification.remarks())),
            not_asked,
        )


def all_alike(errors: Sequence[str]) -> bool:
    """Return whether the first answers are all the same error, ignoring the text of the query; "" stands for no
    error.
    """
    return len(errors) == ALIKE_ERRORS and bool(errors[0]) and len(set(errors)) == 1


def remarks_on(empty: bool, malformed: Sequence[str], broken: Sequence[str], answers: int) -> tuple[str, ...]:
    """Return sentences about the answers as a whole: whether there are any answers or matches, and how many are
    malformed.

    broken: for each question without a proper answer, its query and the problem.
    """
    remarks = []
    if not answers:
        remarks.append("the engine answered none of the questions, so nothing is known about its semantics")
    if empty:
        remarks.append("the engine gives no match in any of its answers, so they say nothing about its choices")
    if malformed:
        remarks.append(f"{len(malformed)} answers are wrong in their form: {malformed[0]}")
    if broken:
        remarks.append(f"{len(broken)} questions got an error or no answer: {broken[0].splitlines()[0]}")
    return tuple(remarks)


def schema_of_values(question: EngineQuestion) -> dict[str, dict[str, str]]:
    """Return for each type of events the types of their attributes. An attribute has the same type in all of them."""
    kinds: dict[str, str] = {}
    for name, value in ((name, value) for event in question.events for name, value in event.items()):
        kind = "timestamp" if name == "time" and isinstance(value, str) else TYPES[type(value)]
        if name != "type" and kinds.get(name) != "float":
            kinds[name] = kind
    return dict.fromkeys(sorted({"A", "B", "C"} | {event["type"] for event in question.events}), kinds)


def schema_for(language: str, question: EngineQuestion) -> dict[str, Any] | None:
    """Return, as JSON, a schema that fits the query and the events; None if there is none."""
    plugin = LANGUAGES[language]
    phi = plugin.syntax.parse(question.query)
    for more in ({}, {"x": "int", "s": "string", "z": "float"}):
        schema = schema_of_json({name: more | kinds for name, kinds in schema_of_values(question).items()})
        try:
            plugin.syntax.require_typed(phi, schema)
        except CerifyError:
            continue
        return dict(json_of_schema(schema))
    return None
