"""Does a certificate prove its claim about two event expressions? As checker.py, for deterministic automata.

Here the pairs are of one state each. If they agree on acceptance, and each type of events leads from a pair to a pair,
then by induction on the history the automata are always in a pair, and so accept alike; for containment it is enough
that the right accepts wherever the left does. A start event comes first or not at all.
"""

from __future__ import annotations

from cerify.automata.dfa.compile import compile_together
from cerify.automata.dfa.decide import types_under
from cerify.automata.dfa.model import Names
from cerify.equivalence.decide.boundary_events import unlisted
from cerify.equivalence.decide.certificate import Certificate
from cerify.semantics.budget import Budget, timed_items
from cerify.semantics.event_expressions.parse import parse

NOBODY: Names = frozenset()


def expression_flaw(certificate: Certificate, budget: Budget = Budget()) -> str | None:
    """What is wrong with a certificate for event expressions; None if it proves its claim.

    Raises Unsupported for a certificate of another language, BudgetExceeded.
    """
    certificate.require_language("event-expression")
    with budget.timed():
        return _flaw(certificate, budget)


def _flaw(certificate: Certificate, budget: Budget) -> str | None:
    A, B = compile_together([parse(certificate.left), parse(certificate.right)], certificate.schema, budget)
    letters = set(types_under(A.alphabet, certificate.schema, budget))
    listed = {A.alphabet.types[a].chosen for a in letters}
    if (event := unlisted(A.alphabet.predicates, listed, certificate.schema)) is not None:
        return f"the types of events that the predicate algebra lists lack that of {event}"
    if any(len(x) != 1 or len(y) != 1 for x, y in certificate.relation):
        return "a pair is not of one state each"
    related = {(x[0], y[0]) for x, y in certificate.relation}
    if (0, 0) not in related:
        return "the two initial states are not related"
    for p, q in timed_items(sorted(related)):
        if p >= len(A.following) or q >= len(B.following):
            return f"the pair {p}, {q} names a state that the automata do not have"
        left, right = p in A.accepting, q in B.accepting
        if left != right and (left or certificate.claim == "equivalent"):
            return f"of the pair {p}, {q} one accepts and the other does not"
        for a in letters.intersection(A.alphabet.coming if (p, q) != (0, 0) else range(len(A.alphabet.types))):
            after = A.step(p, a, NOBODY), B.step(q, a, NOBODY)
            if after not in related:
                return f"the pair {p}, {q} steps to {after[0]}, {after[1]}, which are not related"
    return None
