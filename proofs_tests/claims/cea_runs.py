"""What a complex event automaton outputs, straight from its runs: tods21, Definitions 5.1 and 5.2."""

from __future__ import annotations

from cerify.automata.cea.model import CEA
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream, Valuation
from cerify.semantics.predicates import holds


def valuations(A: CEA, S: Stream, n: int, budget: Budget = Budget()) -> frozenset[Valuation]:
    """The valuations of the accepting runs of A over S that end at position n. Raises BudgetExceeded."""
    reached: set[tuple[int, Valuation]] = {(q, frozenset()) for q in A.initial}
    for i in range(n + 1):
        reached = {
            (t.target, mu | {(variable, i) for variable in t.marks})
            for q, mu in reached
            for t in A.leaving[q]
            if holds(t.predicate, S[i])
        }
        if len(reached) > budget.valuations:
            raise BudgetExceeded(f"the automaton has more than {budget.valuations} different runs to position {i}")
    return frozenset(mu for q, mu in reached if q in A.final)
