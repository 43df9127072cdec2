"""Find a smaller formula that means the same: apply laws, leave parts out, and prove each step.

For unary formulas, and for partitions and windows around whole matches, every step has a certificate. In formulas that
compare events in other ways, only the unary parts can be decided. Outside these parts, a step relies on a named law.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import TypeAlias, assert_never

from cerify.automata.cea.compile import compilable
from cerify.equivalence.decide.cel import NEVER
from cerify.equivalence.decide.derivation import compare_formulas
from cerify.equivalence.decide.keys_and_windows import is_reducible
from cerify.equivalence.generate.cel import CEL, SHAPE, simpler_operators
from cerify.equivalence.generate.shrink import weight
from cerify.equivalence.rewrite.trees import mapped, names, variables_of
from cerify.equivalence.verdict import Certificate, Different, Equivalent, Level, Verdict
from cerify.semantics.arguments import Budget, depth_limited
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import type_errors
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Schema, Stream
from cerify.semantics.trees import children, rebuilt

# ---------------------------------------------------------------------------------------------------------------------
# Rewritings that are known to keep the meaning of a CEL formula: laws, and parts whose removal has no effect.
#
# Each candidate comes with the name of the law or rule that allows it. A law of valuations holds anywhere in a formula.
# A law of complex events holds where no operator around the place looks at variables: AND compares valuations, and
# FILTER and PROJECT look at some variables.

Candidate: TypeAlias = tuple[str, Formula]
"""The name of the law or rule that allows a rewriting, and the rewritten formula."""

CHAINS = (cel.Or, cel.And, cel.All, cel.Seq, cel.ContiguousSeq)
COMMUTATIVE = (cel.Or, cel.And, cel.All)
EVERYTHING: frozenset[str] | None = None


@dataclass(frozen=True)
class Subformula:
    """A sub-formula in its place: how to replace it, and what the operators around it use of its matches.

    put: returns the whole formula with another formula in place of this one. looked: the variables whose events the
    operators around it use; None for all. blind: whether they use only the positions of a match, not its variables.
    chained: whether the operator around it is the same as its own, as in A ; (B ; C).
    """

    psi: Formula
    put: Callable[[Formula], Formula]
    looked: frozenset[str] | None = frozenset()
    blind: bool = True
    chained: bool = False


def places(phi: Formula) -> Iterator[Subformula]:
    """Yield each sub-formula with how it is used (`Subformula`), outermost first."""
    pending = [Subformula(phi, lambda other: other)]
    while pending:
        place = pending.pop()
        yield place
        below = children(place.psi)
        pending.extend(_below(place, below, i) for i in reversed(range(len(below))))


def _below(place: Subformula, below: Sequence[Formula], i: int) -> Subformula:
    def put_part(other: Formula) -> Formula:
        return place.put(rebuilt(place.psi, (*below[:i], other, *below[i + 1 :])))

    looked, blind, chained = place.looked, place.blind, type(below[i]) is type(place.psi)
    match place.psi:
        case cel.And():
            return Subformula(below[i], put_part, EVERYTHING, False, chained)
        case cel.Filter(_, condition):
            more = frozenset(A for atom in cel.atoms(condition) for A in variables_of(atom))
            return Subformula(below[i], put_part, looked if looked is None else looked | more, False)
        case cel.Project(L, _):
            return Subformula(below[i], put_part, looked if looked is None else looked | L, False)
        case cel.Derived():  # its expansion may look at anything
            return Subformula(below[i], put_part, EVERYTHING, False)
        case (
            cel.In()
            | cel.Narrowing()
            | cel.Iteration()
            | cel.PerKey()
            | cel.Sequencing()
            | cel.Combination()
            | cel.Unless()
        ):
            return Subformula(below[i], put_part, looked, blind, chained)
        case cel.EventAtom():
            raise AssertionError("an event type has no operand")
        case _:
            assert_never(place.psi)


def find_rewritings(phi: Formula, level: Level) -> Iterator[Candidate]:
    """Yield each formula that one rewriting of a sub-formula gives and that is known to have the same matches at that
    level.
    """
    for place in places(phi):
        exact = level == "valuations" or not place.blind
        for name, other in _local(place, exact):
            yield name, place.put(other)
        if level == "events" and isinstance(place.psi, cel.In) and not _is_looked_at(place, place.psi.variable):
            yield "an IN without effect", place.put(place.psi.phi)


def _is_looked_at(place: Subformula, A: str) -> bool:
    return place.looked is None or A in place.looked


def _local(place: Subformula, exact: bool) -> Iterator[Candidate]:
    yield from simplify_nothing(place.psi)
    yield from fewer_conditions(place.psi)
    yield from by_laws(place.psi, exact)
    if isinstance(place.psi, CHAINS) and not place.chained:  # a part of a chain has no other pairs than the whole chain
        yield from in_chains(place.psi, exact)


def by_laws(psi: Formula, exact: bool) -> Iterator[Candidate]:
    """Yield the formula with one side of a law replaced by the other.

    exact: whether only laws that keep the valuations are applied.
    """
    from cerify.equivalence.rewrite.laws import rules  # reads hundreds of formulas

    for rule in rules():
        if not exact or rule.law.level == "valuations":
            other = rule.applied(psi)
            if other is not None:
                yield rule.law.name, other


def in_chains(psi: Formula, exact: bool) -> Iterator[Candidate]:
    """Apply laws to two operands of a chain such as A ; B ; C, and yield the results with the laws' names.

    The operands are neighbours, or any two if the operator is commutative.
    """
    kind = type(psi)
    operands = _operands(psi, kind)
    if len(operands) < 2 or not isinstance(psi, CHAINS):
        return
    for i in range(len(operands)):
        for j in range(len(operands)):
            if i == j or (kind not in COMMUTATIVE and j != i + 1):
                continue
            pair = type(psi)(operands[i], operands[j])
            rest = [chi for k, chi in enumerate(operands) if k not in (i, j)]
            place = min(i, j)
            for name, other in (*simplify_nothing(pair), *by_laws(pair, exact)):
                yield name, reduce(type(psi), [*rest[:place], other, *rest[place:]])


def _operands(psi: Formula, kind: type) -> list[Formula]:
    found: list[Formula] = []
    pending = [psi]
    while pending:
        chi = pending.pop()
        if type(chi) is kind:
            pending.extend(reversed(children(chi)))
        else:
            found.append(chi)
    return found


# --- nothing ----------------------------------------------------------------------------------------------------------


def nothing(phi: Formula) -> Formula:
    """Return a formula that matches nowhere, made from the first event type of this one."""
    R = next(psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom))
    return cel.Filter(cel.EventAtom(R), cel.Every(R, NEVER))


def is_nothing(phi: Formula) -> bool:
    """Return whether the formula is the one that `nothing` returns, which matches nowhere."""
    return isinstance(phi, cel.Filter) and phi == nothing(phi)


def simplify_nothing(psi: Formula) -> Iterator[Candidate]:
    """Simplify an operator with an operand that never matches; yield the results, each with the name of the rule."""
    match psi:
        case cel.Or(left, right) if is_nothing(left) or is_nothing(right):
            yield "OR with nothing", right if is_nothing(left) else left
        case cel.Unless(left, right) if is_nothing(right):
            yield "UNLESS nothing", left
        case cel.Unless(left, right) if left == right:
            yield "UNLESS itself", nothing(psi)
        case cel.Unless(left, right) if not is_nothing(left):
            return
        case cel.Or() | cel.EventAtom():
            return
        case cel.In() | cel.Narrowing() | cel.Project() | cel.PerKey() | cel.Iteration() | cel.Sequencing():
            pass
        case cel.Combination() | cel.Unless() | cel.Derived():
            pass
        case _:
            assert_never(psi)
    if not is_nothing(psi) and any(map(is_nothing, children(psi))):
        yield "nothing, from nothing", nothing(psi)


def fewer_conditions(psi: Formula) -> Iterator[Candidate]:
    """Yield a filter without a repeated operand of AND or OR."""
    if isinstance(psi, cel.Filter) and (condition := _without_copies(psi.condition)) != psi.condition:
        yield "a repeated condition", cel.Filter(psi.phi, condition)


def _without_copies(c: cel.Condition) -> cel.Condition:
    if not isinstance(c, cel.Conjunction | cel.Disjunction):
        return c
    kind = type(c)
    pending, found = [c.left, c.right], dict[cel.Condition, None]()
    while pending:
        d = pending.pop(0)
        if isinstance(d, kind):
            pending[:0] = [d.left, d.right]
        else:
            found.setdefault(_without_copies(d))
    return reduce(kind, found)


TRIES = 2000
STATES = 2000  # the limit of one comparison of automata: a candidate that needs more states is skipped
EMPTY = Stream([])


@dataclass(frozen=True)
class RewriteStep:
    """A rewriting of a part of a formula: the part before and after.

    by: the law or rule that allows the step. proof: the proof that both mean the same; None if only a law says so.
    """

    by: str
    before: Formula
    after: Formula
    proof: Certificate | None


@dataclass(frozen=True)
class Simplified:
    """The smaller formula, the steps that lead to it, and the proof that both formulas mean the same.

    proof: None if no decider supports the formula, or the budget was too small to compare the two formulas; then the
    steps are the only evidence. finished: whether all smaller formulas were tried; if not, the tries or the time were
    used up.
    """

    original: Formula
    phi: Formula
    level: Level
    steps: tuple[RewriteStep, ...]
    proof: Certificate | None
    finished: bool

    @property
    def by_law_only(self) -> tuple[RewriteStep, ...]:
        """Return the steps that rely on a law alone, because `before` and `after` were not proved equivalent."""
        return tuple(step for step in self.steps if step.proof is None)


def simplify(
    phi: Formula,
    level: Level = "events",
    schema: Schema | None = None,
    budget: Budget = Budget(),
    tries: int = TRIES,
) -> Simplified:
    """Return a smaller, or equally small and simpler, formula with the same complex events, or valuations.

    schema: the two formulas need to agree only on streams of this schema. tries: the greatest number of comparisons.
    The result is the same in every call, unless budget.seconds ends the search.
    """
    with depth_limited(phi.span), budget.timed():
        original = mapped(phi)  # without spans, which refer to the text of phi
        search = _Search(schema, budget, tries)
        result, steps = search.simplified(original, level)
        proof = None
        if is_decided(original, schema):
            verdict = same_meaning(original, result, level, schema, budget)
            proof = verdict.certificate if isinstance(verdict, Equivalent) else None
        return Simplified(original, result, level, tuple(steps), proof, not search.ended())


def is_decided(phi: Formula, schema: Schema | None) -> bool:
    """Return whether a decision procedure supports the formula on all streams, even if times decrease."""
    return compilable(phi) or is_reducible(phi, schema, "any")


def same_meaning(phi: Formula, psi: Formula, level: Level, schema: Schema | None, budget: Budget) -> Verdict:
    """Return the verdict on whether two formulas have the same matches on all streams, even if times decrease."""
    return compare_formulas(phi, psi, "equivalent", level, schema, "any", 0, budget)


class _Search:
    """A search for smaller formulas, with the rest of its budget."""

    def __init__(self, schema: Schema | None, budget: Budget, tries: int) -> None:
        self.schema = schema
        self.budget = replace(budget, states=min(budget.states, STATES))
        self.tries = tries
        self.deadline = None if budget.seconds is None else time.monotonic() + budget.seconds

    def ended(self) -> bool:
        """Return whether the tries or the time are used up."""
        return self.tries <= 0 or (self.deadline is not None and time.monotonic() > self.deadline)

    def simplified(self, phi: Formula, level: Level) -> tuple[Formula, list[RewriteStep]]:
        """Make the formula smaller, step by step, until there is no further step; return the result."""
        if is_decided(phi, self.schema):
            return self._shrink_by_decider(phi, level)
        steps: list[RewriteStep] = []
        settled: set[tuple[Formula, Level]] = set()
        while not self.ended() and (step := self._part(phi, level, settled, steps) or self._law(phi, level)):
            if step[0] is not None:
                steps.append(step[0])
            phi = step[1]
        return phi, steps

    def _law(self, phi: Formula, level: Level) -> tuple[RewriteStep, Formula] | None:
        """Return the first step that a law allows, and the formula after the step; None if no law applies."""
        found = next(self._lighter(phi, find_rewritings(phi, level)), None)
        return None if found is None else (RewriteStep(found[0], phi, found[1], None), found[1])

    def _part(
        self, phi: Formula, level: Level, settled: set[tuple[Formula, Level]], steps: list[RewriteStep]
    ) -> tuple[None, Formula] | None:
        """Make one of the largest unary parts of the formula smaller; return the formula, or None. Add the steps to
        `steps`.
        """
        for place in _unary_parts(phi):
            at: Level = level if place.blind else "valuations"
            if (place.psi, at) not in settled:
                smaller, taken = self._shrink_by_decider(place.psi, at)
                # Only the result is settled, and at this level only: the same part may stand at other places.
                settled.add((smaller, at))
                if taken:
                    steps += taken
                    return None, place.put(smaller)
        return None

    def _shrink_by_decider(self, phi: Formula, level: Level) -> tuple[Formula, list[RewriteStep]]:
        """Make the unary formula smaller by candidates that are proved equivalent; return the formula and the steps."""
        steps: list[RewriteStep] = []
        witnesses: list[Stream] = []
        refused: set[Formula] = set()
        while (step := self._decided_step(phi, level, witnesses, refused)) is not None:
            steps.append(step)
            phi = step.after
        return phi, steps

    def _decided_step(
        self, phi: Formula, level: Level, witnesses: list[Stream], refused: set[Formula]
    ) -> RewriteStep | None:
        """Return the step to the first equivalent candidate; None if there is none.

        Streams that refuted earlier candidates are tried before the formulas are compared.
        """
        known = [(S, self._said(phi, S, level)) for S in witnesses]
        for by, other in self._lighter(phi, chain(find_rewritings(phi, level), _less(phi, level))):
            if other in refused:
                continue
            refused.add(other)
            if any(self._said(other, S, level) != said for S, said in known):
                continue
            self.tries -= 1
            verdict = same_meaning(phi, other, level, self.schema, self.budget)
            if isinstance(verdict, Equivalent):
                return RewriteStep(by, phi, other, verdict.certificate)
            if isinstance(verdict, Different):
                witnesses.append(verdict.stream)
                # Most wrong candidates fail on a few streams, and evaluating one is much faster than comparing
                # automata.
                known.append((verdict.stream, self._said(phi, verdict.stream, level)))
        return None

    def _lighter(self, phi: Formula, candidates: Iterator[Candidate]) -> Iterator[Candidate]:
        """Yield candidates that are lighter and that add no type error, until the search ends."""
        bound = weight(CEL, phi, EMPTY)
        typed = self.schema is not None and not type_errors(phi, self.schema)
        for by, other in candidates:
            if self.ended():
                return
            if weight(CEL, other, EMPTY) < bound and not (typed and self.schema and type_errors(other, self.schema)):
                yield by, other

    def _said(self, phi: Formula, S: Stream, level: Level) -> object:
        """Return the matches of the formula at the end of a stream; None if computing them takes too long."""
        try:
            ask = interpreter.complex_events if level == "events" else interpreter.valuations
            return ask(phi, S, len(S) - 1, self.budget)
        except BudgetExceeded:
            return None


def _unary_parts(phi: Formula) -> Iterator[Subformula]:
    """Yield the largest sub-formulas that are unary, without those that are only an event type."""
    inside: set[int] = set()
    for place in places(phi):
        if id(place.psi) in inside:
            continue
        if compilable(place.psi):
            inside |= set(map(id, subformulas(place.psi)))
            if not isinstance(place.psi, cel.EventAtom):
                yield place


def _less(phi: Formula, level: Level) -> Iterator[Candidate]:
    """Yield smaller candidates, equivalent or not."""
    yield from (("a part is enough", other) for other in SHAPE.smaller(phi))
    for place in places(phi):
        if not is_nothing(place.psi) and not isinstance(place.psi, cel.EventAtom):
            yield "nothing comes of a part", place.put(nothing(place.psi))
    for place in places(phi):
        yield from (("parts next to each other", place.put(other)) for other in _contiguous(place.psi))
    yield from (("a simpler operator", other) for other in simpler_operators(phi))
    yield from (("a simpler predicate", other) for other in SHAPE.simpler_predicates(phi))
    if level == "events":
        types = sorted({psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom)})
        for old in sorted(set(names(phi)) - set(types)):
            for R in types:
                yield "a name less", mapped(phi, name=lambda n, old=old, new=R: new if n == old else n)  # type: ignore[misc]


def _contiguous(psi: Formula) -> Iterator[Formula]:
    """Yield the operand of STRICT or WITHIN with : in place of ;, or with :+ in place of +."""
    chi = psi.phi if isinstance(psi, cel.Strict | cel.Within) else None
    if isinstance(chi, cel.Seq):
        yield cel.ContiguousSeq(chi.left, chi.right)
    elif isinstance(chi, cel.Plus):
        yield cel.ContiguousPlus(chi.phi)
