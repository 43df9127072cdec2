"""Lazy I/O-determinization of a formula's automaton, whose error names the operator that makes it too large.

Where a stream reaches too many sets of states, the parts of the formula are determinized on their own, the small ones
first, until one is too large: its operator is what a person can change.
"""

from __future__ import annotations

from collections.abc import Callable

from cerify.automata.cached_compiler import CachedCompiler
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.io_determinize import Determinized, io_determinize
from cerify.automata.cea.model import CEA
from cerify.automata.cea.state_explosion_error import symbol
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.trees import children

COMPILED_CEL = CachedCompiler(compile_cel)
SECONDS = 1.0  # for each part: an error may take a moment, not minutes


def lazily(phi: cel.Formula, budget: Budget, form: Callable[[CEA], CEA] | None = None) -> Determinized:
    """The I/O-determinization of the formula's automaton, or of a form of it, built state by state as needed.

    Raises Unsupported and BudgetExceeded, the latter also later, when a stream needs more states than the budget has;
    its message names the operator that makes the automaton too large.
    """

    def automaton(psi: cel.Formula) -> CEA:
        A = COMPILED_CEL(psi, budget)
        return A if form is None else form(A)

    def named(error: BudgetExceeded) -> BudgetExceeded:
        alone = Budget(states=budget.states, seconds=SECONDS)
        sizes: dict[cel.Formula, int] = {}
        for psi in reversed(list(cel.subformulas(phi))):  # operands come before what is made of them
            try:
                sizes[psi] = io_determinize(automaton(psi), alone).states
            except BudgetExceeded:
                operands = " and ".join(str(sizes[operand]) for operand in children(psi))
                size = f"its operands, by themselves, take {operands} states, and it more than {budget.states}"
                return BudgetExceeded(f"{symbol(psi)} makes too large an automaton ({size}): {error.message}", psi.span)
        return error

    return Determinized(automaton(phi), budget, named)
