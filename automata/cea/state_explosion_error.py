"""What to say where the automaton of an operator grows too large: which operator, out of what, and what may help."""

from __future__ import annotations

from collections.abc import Sequence

from cerify.automata.cea.model import CEA
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.operators import OPERATORS as CEL
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.operators import OPERATORS as CORE_CEL
from cerify.semantics.errors import BudgetExceeded

SELECTS = "it compares all runs that are under way: put it around a smaller part, or use fewer of +, OR and : in it"
ADVICE: dict[type[cel.Formula | core.Formula], str] = {
    cel.And: "its operands multiply: ask for less in one of them",
    cel.All: "its operands multiply: put fewer under one ALL, and ; between those whose order is known",
    cel.Unless: "all ways to what must not happen are followed at once: make the right operand shorter",
    cel.Next: SELECTS,
    cel.Last: SELECTS,
    cel.Max: SELECTS,
    core.Next: SELECTS,
    core.Last: SELECTS,
    core.Max: SELECTS,
    core.Seq: "both sides read the whole stream, and multiply: put the strategy around the whole sequence",
    core.Plus: "rounds that are over may still be undecided: put the strategy around the iteration, or the filter",
    cel.Within: "it counts events here: put the window around the whole formula, where it need not",
}
_OPERATORS = {**CEL, **CORE_CEL}
OTHERWISE = "write it with fewer alternatives"
ALLOW = "or evaluate by the definition (the evaluator denotational) on short streams, or allow more: Budget(states=...)"


def state_explosion_error(
    phi: cel.Formula | core.Formula, operands: Sequence[CEA], error: BudgetExceeded
) -> BudgetExceeded:
    """The error of phi's construction, with its place, the sizes of the operands' automata, and what to try."""
    sizes = " and ".join(f"{A.states} states and {len(A.transitions)} transitions" for A in operands)
    return BudgetExceeded(
        f"{symbol(phi)} makes too large an automaton out of {'one' if len(operands) == 1 else 'two'} of {sizes}: "
        f"{error.message}; {ADVICE.get(type(phi), OTHERWISE)}; {ALLOW}",
        phi.span,
    )


def symbol(phi: cel.Formula | core.Formula) -> str:
    """The operator as it is written."""
    return _OPERATORS[type(phi)].symbol
