"""Check whether a certificate proves its claim, without any code of the search that found it.

The check trusts the parser, the compiler, and the algebra that lists the types of events. Each has its own tests, and
`unlisted` of keys_and_windows_checker.py looks for types that the list lacks.

The argument is bisimulation up to congruence. Read each pair of the relation as an equation between sets of states, and
call two sets *joined* if the equations and unions make them equal. Suppose that each pair is final on both sides or on
neither, and that each step from a pair, or from the two starts, leads to joined sets. Then joined sets accept the same
words, by induction on the word. So the two automata accept the same words, except perhaps the empty word, which stands
for no position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.model import CEA, Marks, Transition, seen_at
from cerify.automata.dfa.compile import compile_together
from cerify.automata.dfa.model import Names, types_under
from cerify.equivalence.decide.derivation_checker import DerivationCheck
from cerify.equivalence.decide.keys_and_windows_checker import flaw_in_cases, unlisted
from cerify.equivalence.verdict import Certificate
from cerify.semantics.arguments import Budget, check_time, timed_items
from cerify.semantics.cel.parse import parse
from cerify.semantics.event_expressions.parse import parse as event_expressions_parse

States = frozenset[int]


def flaw(certificate: Certificate, budget: Budget = Budget()) -> str | None:
    """Return the flaw in a certificate for formulas of CEL; None if it proves its claim.

    Raises Unsupported for a certificate of another language, BudgetExceeded.
    """
    certificate.require_language("cel")
    with budget.timed():
        if certificate.derivation is not None:
            return DerivationCheck(certificate, budget, lambda part: flaw(part, budget)).run()
        return _flaw(certificate, budget) if certificate.cases is None else flaw_in_cases(certificate, budget)


def _flaw(certificate: Certificate, budget: Budget) -> str | None:
    check_time()  # parsing has no other bound than the length of the text
    phi, psi, schema = parse(certificate.left), parse(certificate.right), certificate.schema
    algebra = Algebra([*generators(phi), *generators(psi)], budget, schema, certificate.solver)
    listed = {atom.chosen for atom in algebra.atoms}
    if (event := unlisted(algebra.generators, listed, schema)) is not None:
        return f"the certificate does not cover events such as {event}"
    left, right = compile_cel(phi, budget, algebra), compile_cel(psi, budget, algebra)
    left, right = seen_at(left, certificate.level), seen_at(right, certificate.level)
    both = _Both(left, right, algebra)
    relation = dict.fromkeys((frozenset(x), frozenset(y)) for x, y in certificate.relation)  # each pair once
    if any(q >= both.states for x, y in relation for q in x | y):
        return f"the certificate names a state that the automata do not have; they have {both.states} states"
    right_start = frozenset(q + left.states for q in right.initial)
    # The left formula is contained in the right one if both together mean the same as the right one.
    left_start = left.initial | right_start if certificate.claim == "contained" else left.initial
    for x, y in relation:
        if bool(x & both.final) != bool(y & both.final):
            pair = f"{_format_states(x)}, {_format_states(y)}"
            return f"the certificate has the pair {pair} of sets of states, but only one of them is final"
    for x, y in [(left_start, right_start), *relation]:
        for x_, y_ in both.steps(x, y):
            check_time()
            if not _are_joined(x_, y_, relation):
                before, after = (", ".join(map(_format_states, pair)) for pair in ((x, y), (x_, y_)))
                return f"the pair {before} steps to {after}, and no listed pair proves these equal"
    return None


@dataclass(frozen=True)
class _Both:
    """The two automata of a claim, read together."""

    left: CEA
    right: CEA
    algebra: Algebra

    @property
    def states(self) -> int:
        return self.left.states + self.right.states

    @cached_property
    def final(self) -> States:
        return self.left.final | {q + self.left.states for q in self.right.final}

    @cached_property
    def leaving(self) -> list[list[Transition]]:
        n = self.left.states
        shifted = ([t._replace(target=t.target + n) for t in leaving] for leaving in self.right.leaving)
        return [*map(list, self.left.leaving), *shifted]

    def steps(self, x: States, y: States) -> Iterator[tuple[States, States]]:
        """Yield the targets of x and of y, for each type of events and each set of marks on their transitions."""
        # Other marks lead both sets to the empty set, and these are equal.
        enabled = {t.marks for q in x | y for t in self.leaving[q]}
        for type_ in range(len(self.algebra.atoms)):
            for marks in enabled:
                yield self._step(x, type_, marks), self._step(y, type_, marks)

    def _step(self, states: States, type_: int, marks: Marks) -> States:
        return frozenset(
            t.target
            for q in states
            for t in self.leaving[q]
            if t.marks == marks and self.algebra.mask(t.predicate) >> type_ & 1
        )


def _are_joined(x: States, y: States, relation: Collection[tuple[States, States]]) -> bool:
    return x == y or (x, y) in relation or _joined(x, relation) == _joined(y, relation)


def _joined(states: States, relation: Collection[tuple[States, States]]) -> States:
    """Return the greatest set that the equations of the relation make equal to this one."""
    while True:
        check_time()
        grown = states.union(*(x | y for x, y in relation if x <= states or y <= states))
        if grown == states:
            return states
        states = grown


def _format_states(states: States) -> str:
    return "{" + ", ".join(map(str, sorted(states))) + "}"


# ---------------------------------------------------------------------------------------------------------------------
# Check whether a certificate proves its claim about two event expressions: the same argument, deterministic automata.
#
# Here a pair has one state of each automaton. If both states of each pair accept or neither does, and each type of
# events leads from a pair to a pair, then by induction on the history the automata are always in a pair, and so accept
# alike. For containment it is enough that the right state accepts if the left one does. A start event comes first or
# not at all.

NOBODY: Names = frozenset()


def expression_flaw(certificate: Certificate, budget: Budget = Budget()) -> str | None:
    """Return the flaw in a certificate for event expressions; None if it proves its claim.

    Raises Unsupported for a certificate of another language, BudgetExceeded.
    """
    certificate.require_language("event-expression")
    with budget.timed():
        return _expression_flaw(certificate, budget)


def _expression_flaw(certificate: Certificate, budget: Budget) -> str | None:
    A, B = compile_together(
        [event_expressions_parse(certificate.left), event_expressions_parse(certificate.right)],
        certificate.schema,
        budget,
    )
    letters = set(types_under(A.alphabet, certificate.schema, budget))
    listed = {A.alphabet.types[a].chosen for a in letters}
    if (event := unlisted(A.alphabet.predicates, listed, certificate.schema)) is not None:
        return f"the certificate does not cover events such as {event}"
    if any(len(x) != 1 or len(y) != 1 for x, y in certificate.relation):
        return "a pair of the certificate does not have one state of each automaton"
    related = {(x[0], y[0]) for x, y in certificate.relation}
    if (0, 0) not in related:
        return "the certificate lacks the pair of the two initial states"
    for p, q in timed_items(sorted(related)):
        if p >= len(A.following) or q >= len(B.following):
            return f"the certificate has the pair {p}, {q}, but the automata do not have these states"
        left, right = p in A.accepting, q in B.accepting
        if left != right and (left or certificate.claim == "equivalent"):
            return f"the certificate has the pair {p}, {q}, but only one of these states accepts"
        # A later history that comes back to this pair is asked about a start event, too: too much, but never too
        # little.
        for a in letters.intersection(A.alphabet.coming if (p, q) != (0, 0) else range(len(A.alphabet.types))):
            after = A.step(p, a, NOBODY), B.step(q, a, NOBODY)
            if after not in related:
                return f"the certificate has the pair {p}, {q}, but not {after[0]}, {after[1]}, to which an event leads"
    return None
