"""An automaton given by its initial states and their successors, built as far as it can be reached."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from cerify.automata.cea.model import CEA, Marks, Transition
from cerify.automata.explore import explore
from cerify.semantics.budget import Budget
from cerify.semantics.predicates import Predicate

State = TypeVar("State", bound=Hashable)
Label = tuple[Predicate, Marks]


def reachable_cea(
    initial: Iterable[State],
    successors: Callable[[State], Iterable[tuple[Label, State]]],
    accepts: Callable[[State], bool],
    budget: Budget,
    what: str,
) -> CEA:
    """The automaton, its states numbered in breadth-first order. Raises BudgetExceeded, naming what was to be built."""
    initial = list(initial)
    found = explore(initial, successors, budget.states, what, budget.seconds)
    number = {state: i for i, state in enumerate(found)}
    transitions = (
        Transition(number[state], P, marks, number[target])
        for state, edges in found.items()
        for (P, marks), target in edges
    )
    return CEA(
        len(found),
        tuple(dict.fromkeys(transitions)),
        frozenset(number[state] for state in initial),
        frozenset(i for state, i in number.items() if accepts(state)),
    )
