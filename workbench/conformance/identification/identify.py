"""The identification of an engine: questions that split the hypotheses that are left, until one is.

The axes are identified stage by stage. In a stage the hypotheses are those that the stages before have left, with every
value of the stage's axes. The next question is, of the shortest streams on which two of those that explain most answers
differ, the one on which they differ most. At last queries with several operators confirm the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

from cerify.conformance.hypotheses.axis import Choices
from cerify.conformance.identification.cel_stages import CEL, CORE_CEL
from cerify.conformance.identification.other_stages import EVENT_EXPRESSIONS, SASE
from cerify.conformance.identification.predicting import Predictor, Told
from cerify.conformance.identification.profile import Finding
from cerify.conformance.identification.questions import Question, Stage, Template, questions

Ask = Callable[[Question], Told | None]
"""Puts a question to the engine; None where it does not claim what the query uses."""

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much there is."""

MOST = 300
MOST_IN_A_STAGE = 40
CARRIED = 8  # hypotheses that no question has distinguished, and that are looked at further
CONFIRMATIONS = 2  # questions of a stage on which what is left agrees
RICH = 4  # events of the stream of a question that confirms
LOOKED_AT = 60  # questions of one length among which the best is looked for, if one of them splits
FITS = 0.7  # the part of the answers that a value has to explain


@dataclass
class Answered:
    """A question with its answer, and the axes of the stage in which it was asked."""

    question: Question
    told: Told
    axes: tuple[str, ...]


@dataclass
class Identification:
    """The state of an identification: the hypotheses that are left, and all answers."""

    predictor: Predictor
    ask: Ask
    most: int = MOST
    left: list[Choices] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    alike: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: dict[str, set[str]] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)

    def run(self, stages: Sequence[Stage], progress: Progress = lambda what, done, total: None) -> dict[str, Finding]:
        """The findings by axis. The engine is asked at most `most` questions."""
        self.left = [self.predictor.default]
        for number, stage in enumerate(stages):
            progress("asking", number, len(stages))
            if stage.axes:
                self.identify(stage)
            else:
                self.confirm(stage)
        progress("asking", len(stages), len(stages))
        return self.findings()

    def identify(self, stage: Stage) -> None:
        """Ask the questions of a stage, and leave the hypotheses that explain most of the answers."""
        candidates = list(self.expanded(stage))
        misses = Counter(dict.fromkeys(range(len(candidates)), 0))
        pool = Pool(stage.templates, self.skipped)
        confirmed = asked = 0
        same: list[Choices] = []  # hypotheses that no question of the pool distinguishes
        while asked < MOST_IN_A_STAGE and len(self.answered) < self.most:
            least = min(misses.values())
            best = [candidates[n] for n in misses if misses[n] == least]
            question = None if best == same else pool.splitting(best, self.predictor)
            if question is None:
                same = best
                if confirmed == CONFIRMATIONS or (question := pool.splitting(candidates, self.predictor)) is None:
                    break
                confirmed += 1
            told = self.ask(question)
            if told is None:
                self.skipped.add(question.query)
                continue
            asked += 1
            self.answered.append(Answered(question, told, stage.axes))
            for n, candidate in enumerate(candidates):
                misses[n] += self.predictor.answer(question, candidate) != told
        least = min(misses.values())
        best = [candidates[n] for n in misses if misses[n] == least]
        self.keep(stage, best, asked, asked - least >= FITS * asked)

    def confirm(self, stage: Stage) -> None:
        """Ask one question of each template, on which what is left differs from itself or from the definition."""
        for template in stage.templates:
            pool = Pool((template,), self.skipped)
            question = pool.splitting(self.left, self.predictor) or pool.splitting(
                [self.left[0], self.predictor.default], self.predictor
            )
            question = question or pool.richest(self.left[0], self.predictor)
            if question is None or len(self.answered) >= self.most:
                continue
            told = self.ask(question)
            if told is None:
                self.skipped.add(question.query)
                continue
            self.answered.append(Answered(question, told, ()))
            self.left = [c for c in self.left if self.predictor.answer(question, c) == told] or self.left

    def expanded(self, stage: Stage) -> Iterator[Choices]:
        """The hypotheses that are left, with every value of the stage's axes, those nearest to the definition first."""
        axes = [self.predictor.interpretation.axes[name] for name in stage.axes]
        chosen = list(product(*(axis.values for axis in axes)))
        chosen.sort(key=lambda values: sum(v != axis.default for v, axis in zip(values, axes, strict=True)))
        for hypothesis in self.left:
            for values in chosen:
                yield dict(hypothesis) | dict(zip(stage.axes, values, strict=True))

    def keep(self, stage: Stage, best: list[Choices], asked: int, fit: bool) -> None:
        """Go on with the best hypotheses; an axis of which every value is left was not seen, if the best ones fit."""
        for name in stage.axes:
            axis = self.predictor.interpretation.axes[name]
            values = dict.fromkeys(hypothesis[name] for hypothesis in best)
            if not asked or (fit and len(values) == len(axis.values)):
                self.unseen.add(name)
                best = [hypothesis for hypothesis in best if hypothesis[name] == axis.default] or best
            else:
                self.alike[name] = tuple(values)
        self.left = best[:CARRIED]
        for name in self.alike:
            dropped = {hypothesis[name] for hypothesis in best} - {hypothesis[name] for hypothesis in self.left}
            self.dropped.setdefault(name, set()).update(dropped)

    def findings(self) -> dict[str, Finding]:
        """What all answers say about each axis that was seen."""
        misses = [
            sum(self.predictor.answer(one.question, hypothesis) != one.told for one in self.answered)
            for hypothesis in self.left
        ]
        final = self.left[misses.index(min(misses))]
        found = {}
        for name in self.predictor.interpretation.axes:
            if name in self.unseen or name not in self.alike:
                continue
            mine = [one for one in self.answered if name in one.axes or (not one.axes and self._bears(name, one))]
            wrong = [one for one in mine if self.predictor.answer(one.question, final) != one.told]
            explained = len(mine) - len(wrong)
            open_ = {hypothesis[name] for hypothesis in self.left} | self.dropped.get(name, set())
            alike = tuple(v for v in self.alike[name] if v in open_ and v != final[name])
            fits = explained >= FITS * len(mine)
            found[name] = Finding(
                final[name] if fits else None,
                alike if fits else (),
                len(mine),
                explained,
                wrong[0].question if wrong else None,
            )
        return found

    def _bears(self, name: str, one: Answered) -> bool:
        return any(axis.name == name for axis in self.predictor.axes_of(one.question.query))


class Pool:
    """The questions of a stage that were not asked, by the length of their streams."""

    def __init__(self, templates: Iterable[Template], skipped: set[str]) -> None:
        self.skipped = skipped
        self.by_length: dict[int, list[Question]] = {}
        for template in templates:
            for question in questions(template):
                self.by_length.setdefault(len(question.events), []).append(question)
        for same_length in self.by_length.values():
            Random(0).shuffle(same_length)

    def richest(self, hypothesis: Choices, predictor: Predictor) -> Question | None:
        """The question of at most RICH events to which the hypothesis has most matches, the shortest of those."""
        short = [q for length in sorted(self.by_length) if length <= RICH for q in self.by_length[length]]
        if not short or short[0].query in self.skipped:
            return None
        return max(short, key=lambda question: len(predictor.answer(question, hypothesis)))

    def splitting(self, hypotheses: Sequence[Choices], predictor: Predictor) -> Question | None:
        """Of the shortest on which some of the hypotheses differ the one that splits them best; None if there is none.

        It is taken out of the pool.
        """
        if len(hypotheses) < 2:
            return None
        for length in sorted(self.by_length):
            best: tuple[tuple[int, int], Question] | None = None
            for number, question in enumerate(self.by_length[length]):
                if question.query in self.skipped:
                    continue
                if best is not None and number >= LOOKED_AT:
                    break
                groups = Counter(predictor.answer(question, hypothesis) for hypothesis in hypotheses)
                if len(groups) > 1:
                    quality = (max(groups.values()), len(question.query))
                    if best is None or quality < best[0]:
                        best = quality, question
            if best is not None:
                self.by_length[length].remove(best[1])
                return best[1]
        return None


STAGES: Mapping[str, Sequence[Stage]] = {
    "cel": CEL,
    "core-cel": CORE_CEL,
    "sase": SASE,
    "event-expression": EVENT_EXPRESSIONS,
}
"""The stages of the questions about each language."""
