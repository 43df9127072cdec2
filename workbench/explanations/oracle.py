"""The interpreter as an explanation asks it: with limits of its own and, where it may, about one set's events only."""

from __future__ import annotations

from cerify.semantics.budget import Budget, check_time
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import Valuations
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Event, Stream

ENOUGH = Budget(valuations=500_000)
STEPS = 10_000_000
CHECKED_TOGETHER = 1024  # steps between two looks at the clock: the clause of ALL may ask a million and find nothing

ANY = "?"
"""The variable of an event whose type an explanation leaves free; no text of a formula can say it."""


class Oracle(Interpreter):
    """The denotational interpreter, which gives up after a number of questions about sub-formulas and intervals.

    So an explanation ends on a long stream even if little matches there.
    """

    def __init__(
        self, S: Stream, budget: Budget = ENOUGH, steps: int = STEPS, predicates: Predicates = NO_PREDICATES
    ) -> None:
        super().__init__(S, budget, predicates)
        self._left = steps

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """The valuations of phi over the stream from i to j. Raises BudgetExceeded, Unsupported."""
        self._left -= 1
        if self._left % CHECKED_TOGETHER == 0:
            check_time()
        if self._left < 0:
            raise BudgetExceeded(
                f"an explanation asks the definition about every interval, and {len(self.S)} events have too many for "
                "this formula; explain a shorter stream"
            )
        return super().meaning(phi, i, j)


def alone(S: Stream, C: ComplexEvent) -> Stream:
    """The stream in which every event outside C is of a type that no formula asks for."""
    nobody = Event("")
    return Stream(S[p] if p in C else nobody for p in range(len(S)))


def is_hidden(phi: cel.Formula) -> bool:
    """Whether a valuation of phi may come from events that are not in its support: under PROJECT."""
    return any(isinstance(node, cel.Project) and node.variables != {ANY} for node in cel.subformulas(phi))


def is_local(phi: cel.Formula) -> bool:
    """Whether events outside C have no say in whether C is a complex event of phi, so that C alone decides.

    They have one where matches are compared, where something must not occur, and under PROJECT. Asking about C alone
    matters: a loose formula has few matches within one set, and very many on a stream.
    """
    beyond = cel.Next | cel.Last | cel.Max | cel.Unless
    phi = cel.expanded(phi)
    return not is_hidden(phi) and not any(isinstance(node, beyond) for node in cel.subformulas(phi))
