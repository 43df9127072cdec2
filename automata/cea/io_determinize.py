"""I/O-determinization and the single-variable form: tods21, Propositions 5.5 and 9.2.

A subset of states steps on the type of an event, that is on which of the automaton's predicates it is in, and on a set
of marks. The static construction goes through all types, the lazy one only through those that a stream shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.model import CEA, UNMARKED, Marks
from cerify.automata.cea.reachable_cea import reachable_cea
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.predicates import Predicate

MARKED: Marks = frozenset({"•"})

ADVICE = (
    "which +, OR and : inside each other make, and what ; and ALL join to them: use fewer of these, begin with START, "
    "or evaluate by the definition (the evaluator denotational) on short streams, or allow more: Budget(states=...)"
)

Subset = frozenset[int]
Steps = tuple[tuple[Marks, int], ...]


def single_variable(A: CEA) -> CEA:
    """A CEA with the same complex events whose transitions mark with one variable or not at all (Proposition 9.2)."""
    return A.remarked({L: MARKED if L else UNMARKED for L in A.marks})


def io_determinize(A: CEA, budget: Budget = Budget(), algebra: Algebra | None = None) -> CEA:
    """An I/O-deterministic CEA with the same valuations (Proposition 5.5). Raises BudgetExceeded.

    Its states are the subsets that can be reached, numbered in breadth-first order from the initial one, 0. The algebra
    is that in which the predicates are written; if there is none, they generate one.
    """
    types_ = (algebra or Algebra(A.predicates, budget)).types(A.predicates)

    def successors(subset: Subset) -> Iterator[tuple[tuple[Predicate, Marks], Subset]]:
        for chosen, P in types_:
            for marks, target in _step(A, subset, sum(1 << i for i in chosen)):
                yield (P, marks), target

    return reachable_cea(
        [A.initial], successors, lambda R: bool(R & A.final), budget, "the I/O-deterministic automaton"
    )


def _step(A: CEA, subset: Subset, type_: int) -> Iterable[tuple[Marks, Subset]]:
    """For each set of marks, the states that the subset reaches on an event of the type with these marks."""
    targets: dict[Marks, set[int]] = {}
    for q in subset:
        for bit, marks, target in A.steps[q]:
            if type_ & bit:
                targets.setdefault(marks, set()).add(target)
    return [(marks, frozenset(states)) for marks, states in targets.items()]


class Determinized:
    """The I/O-determinization of a CEA, built as far as a stream asks for it.

    An event's type is given as a bit mask: bit i is set if the event is in A.predicates[i]. State 0 is initial; subsets
    has the states of A that each stands for. named makes the error more telling for whoever knows what the automaton
    was made of.
    """

    def __init__(
        self,
        A: CEA,
        budget: Budget = Budget(),
        named: Callable[[BudgetExceeded], BudgetExceeded] = lambda error: error,
    ) -> None:
        self.A = A
        self._budget = budget
        self.named = named
        self._number: dict[Subset, int] = {A.initial: 0}
        self.subsets = [A.initial]
        self.final = [bool(A.initial & A.final)]
        self._steps: list[dict[int, Steps]] = [{}]
        self._spent = 0.0  # seconds on steps that no event had asked for before

    def anew(self) -> Determinized:
        """A fresh determinization of the same automaton, with no states built yet."""
        return Determinized(self.A, self._budget, self.named)

    def step(self, state: int, type_: int) -> Steps:
        """The pairs (marks, next state) of a state on an event of the type. Raises BudgetExceeded."""
        known = self._steps[state].get(type_)
        if known is None:
            check_time()
            begun = time.monotonic()
            targets = _step(self.A, self.subsets[state], type_)
            known = tuple((marks, self._numbered(subset)) for marks, subset in targets)
            self._steps[state][type_] = known
            self._spent += time.monotonic() - begun
            if self._budget.seconds is not None and self._spent > self._budget.seconds:
                too_slow = f"it takes more than {self._budget.seconds} seconds to build {self.described()}"
                raise self.named(BudgetExceeded(too_slow))
        return known

    def numbered(self, subset: Subset) -> int:
        """The state that stands for a subset of the states of A. Raises ValueError if it is none, BudgetExceeded."""
        if not all(type(q) is int and 0 <= q < self.A.states for q in subset):
            raise ValueError("there is no such state of the automaton")
        return self._numbered(subset)

    def described(self) -> str:
        """What it is made of, and what to try where that is too much."""
        return (
            f"the I/O-deterministic automaton, which is made out of one of {self.A.states} states and "
            f"{len(self.A.transitions)} transitions: too many different sets of runs are under way, {ADVICE}"
        )

    def _numbered(self, subset: Subset) -> int:
        number = self._number.setdefault(subset, len(self.subsets))
        if number == len(self.subsets):
            if number >= self._budget.states:
                too_large = f"the stream reaches more than {number} states of {self.described()}"
                raise self.named(BudgetExceeded(too_large))
            self.subsets.append(subset)
            self.final.append(bool(subset & self.A.final))
            self._steps.append({})
        return number
