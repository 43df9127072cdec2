"""A smaller formula that means the same: rewriting by laws and by leaving parts out, each step proved by the decider.

Of a formula that an automaton can carry, a unary one, every step has a certificate. Of one that compares events with
each other only the unary parts can be decided; around them a step stands on the law that is named.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from cerify.automata.cea.compile import compilable
from cerify.equivalence.claim import Level
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.decide.certificate import Certificate
from cerify.equivalence.rewrite.redundant import Candidate, Subformula, is_nothing, nothing, places, redundant
from cerify.equivalence.rewrite.trees import mapped, names
from cerify.equivalence.shrink.cel import CEL, SHAPE, simpler_operators
from cerify.equivalence.shrink.weight import weight
from cerify.equivalence.verdict import Different, Equivalent
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.cel.wellformed import type_errors
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Schema, Stream

TRIES = 2000
STATES = 2000  # of the automata that are compared in one step: a candidate that is hard to decide is left alone
EMPTY = Stream([])


@dataclass(frozen=True)
class Step:
    """A part of the formula rewritten, by what, and the proof that the part means the same; None if only by law."""

    by: str
    before: Formula
    after: Formula
    proof: Certificate | None


@dataclass(frozen=True)
class Simplified:
    """The smaller formula, the steps, and the proof that it means what the formula did.

    proof: None if no automaton carries the formula, or the whole could not be decided within the budget; then the
    steps are what there is. finished: nothing smaller was left to try; if not, the tries or the time were used up.
    """

    original: Formula
    phi: Formula
    level: Level
    steps: tuple[Step, ...]
    proof: Certificate | None
    finished: bool

    @property
    def by_law_only(self) -> tuple[Step, ...]:
        """The steps that no decision stands behind."""
        return tuple(step for step in self.steps if step.proof is None)


def simplify(
    phi: Formula,
    level: Level = "events",
    schema: Schema | None = None,
    budget: Budget = Budget(),
    tries: int = TRIES,
) -> Simplified:
    """A formula that is smaller, or as small and simpler, and has the same complex events, or valuations, everywhere.

    With a schema: on the streams of that schema. The decider is asked at most `tries` times; budget.seconds ends the
    search by the clock, and only then the result may differ from one call to the next.
    """
    with depth_limited(phi.span), budget.timed():
        original = mapped(phi)  # spans speak of a text that the result no longer has
        search = _Search(schema, budget, tries)
        result, steps = search.simplified(original, level)
        proof = None
        if compilable(original):
            verdict = equivalent(original, result, level, schema, budget)
            proof = verdict.certificate if isinstance(verdict, Equivalent) else None
        return Simplified(original, result, level, tuple(steps), proof, not search.ended())


class _Search:
    """The search, with what it may still use."""

    def __init__(self, schema: Schema | None, budget: Budget, tries: int) -> None:
        self.schema = schema
        self.budget = replace(budget, states=min(budget.states, STATES))
        self.tries = tries
        self.deadline = None if budget.seconds is None else time.monotonic() + budget.seconds

    def ended(self) -> bool:
        """Whether the tries or the time are used up."""
        return self.tries <= 0 or (self.deadline is not None and time.monotonic() > self.deadline)

    def simplified(self, phi: Formula, level: Level) -> tuple[Formula, list[Step]]:
        """The formula made smaller until nothing more is found."""
        if compilable(phi):
            return self._decided(phi, level)
        steps: list[Step] = []
        settled: set[Formula] = set()
        while not self.ended() and (step := self._part(phi, level, settled, steps) or self._law(phi, level)):
            if step[0] is not None:
                steps.append(step[0])
            phi = step[1]
        return phi, steps

    def _law(self, phi: Formula, level: Level) -> tuple[Step, Formula] | None:
        """The first step by a law."""
        found = next(self._lighter(phi, redundant(phi, level)), None)
        return None if found is None else (Step(found[0], phi, found[1], None), found[1])

    def _part(
        self, phi: Formula, level: Level, settled: set[Formula], steps: list[Step]
    ) -> tuple[None, Formula] | None:
        """The first of the greatest unary parts that can be made smaller, made so; its steps are added."""
        for place in _unary_parts(phi):
            if place.psi not in settled:
                smaller, taken = self._decided(place.psi, level if place.blind else "valuations")
                settled |= {place.psi, smaller}
                if taken:
                    steps += taken
                    return None, place.put(smaller)
        return None

    def _decided(self, phi: Formula, level: Level) -> tuple[Formula, list[Step]]:
        """A unary formula made smaller, by all that the decider agrees to."""
        steps: list[Step] = []
        witnesses: list[Stream] = []
        refused: set[Formula] = set()
        while (step := self._decided_step(phi, level, witnesses, refused)) is not None:
            steps.append(step)
            phi = step.after
        return phi, steps

    def _decided_step(self, phi: Formula, level: Level, witnesses: list[Stream], refused: set[Formula]) -> Step | None:
        """The first equivalent candidate. Streams on which earlier candidates differed are tried before the decider."""
        known = [(S, self._said(phi, S, level)) for S in witnesses]
        for by, other in self._lighter(phi, chain(redundant(phi, level), _less(phi, level))):
            if other in refused:
                continue
            refused.add(other)
            if any(self._said(other, S, level) != said for S, said in known):
                continue
            self.tries -= 1
            verdict = equivalent(phi, other, level, self.schema, self.budget)
            if isinstance(verdict, Equivalent):
                return Step(by, phi, other, verdict.certificate)
            if isinstance(verdict, Different):
                witnesses.append(verdict.stream)
                known.append((verdict.stream, self._said(phi, verdict.stream, level)))
        return None

    def _lighter(self, phi: Formula, candidates: Iterator[Candidate]) -> Iterator[Candidate]:
        """Those that are lighter, and have no type error that the formula has not, until the search has ended."""
        bound = weight(CEL, phi, EMPTY)
        typed = self.schema is not None and not type_errors(phi, self.schema)
        for by, other in candidates:
            if self.ended():
                return
            if weight(CEL, other, EMPTY) < bound and not (typed and self.schema and type_errors(other, self.schema)):
                yield by, other

    def _said(self, phi: Formula, S: Stream, level: Level) -> object:
        """What the formula has at the end of a stream; None, which tells nothing apart, if that takes too much."""
        try:
            ask = interpreter.complex_events if level == "events" else interpreter.valuations
            return ask(phi, S, len(S) - 1, self.budget)
        except BudgetExceeded:
            return None


def _unary_parts(phi: Formula) -> Iterator[Subformula]:
    """The greatest sub-formulas that are unary, and more than an event type."""
    inside: set[int] = set()
    for place in places(phi):
        if id(place.psi) in inside:
            continue
        if compilable(place.psi):
            inside |= set(map(id, subformulas(place.psi)))
            if not isinstance(place.psi, cel.Event):
                yield place


def _less(phi: Formula, level: Level) -> Iterator[Candidate]:
    """Candidates that may or may not be the same."""
    yield from (("a part is enough", other) for other in SHAPE.smaller(phi))
    for place in places(phi):
        if not is_nothing(place.psi) and not isinstance(place.psi, cel.Event):
            yield "nothing comes of a part", place.put(nothing(place.psi))
    for place in places(phi):
        yield from (("parts next to each other", place.put(other)) for other in _contiguous(place.psi))
    yield from (("a simpler operator", other) for other in simpler_operators(phi))
    yield from (("a simpler predicate", other) for other in SHAPE.simpler_predicates(phi))
    if level == "events":
        types = sorted({psi.type for psi in subformulas(phi) if isinstance(psi, cel.Event)})
        for old in sorted(set(names(phi)) - set(types)):
            for R in types:
                yield "a name less", mapped(phi, name=lambda n, old=old, new=R: new if n == old else n)  # type: ignore[misc]


def _contiguous(psi: Formula) -> Iterator[Formula]:
    """: and :+ for ; and + that something around them makes contiguous."""
    chi = psi.phi if isinstance(psi, cel.Strict | cel.Within) else None
    if isinstance(chi, cel.Seq):
        yield cel.ContiguousSeq(chi.left, chi.right)
    elif isinstance(chi, cel.Plus):
        yield cel.ContiguousPlus(chi.phi)
