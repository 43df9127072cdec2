"""tods21, proof of Theorem 7.2, letter for letter.

Delta(R, P, L) is the printed extension to sets of states, for P among the types of the predicates; in place of the type
stands the set of predicates that an event of the type satisfies. Each function gives the steps from one state of the
constructed automaton on one type, as pairs (L, next state).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from cerify.automata.algebra.finite import types
from cerify.automata.cea.model import CEA, Transition
from cerify.automata.exploration import explore
from cerify.semantics.predicates import Predicate

Subset: TypeAlias = frozenset[int]
State: TypeAlias = Any
EMPTY: frozenset[str] = frozenset()


class Delta:
    """The transition relation of A as a function, on events of one type."""

    def __init__(self, A: CEA, satisfied: frozenset[Predicate]) -> None:
        self.A, self.satisfied = A, satisfied
        self.marking = frozenset(t.marks for t in A.transitions) - {EMPTY}

    def __call__(self, R: Subset, L: frozenset[str]) -> Subset:
        """Delta(R, P, L)."""
        return frozenset(
            t.target for p in R for t in self.A.leaving[p] if t.marks == L and t.predicate in self.satisfied
        )

    def marked(self, R: Subset) -> Subset:
        """The union of Delta(R, P, L) over the non-empty L."""
        return frozenset[int]().union(*(self(R, L) for L in self.marking))

    def all(self, R: Subset) -> Subset:
        """Delta(R, P)."""
        return self.marked(R) | self(R, EMPTY)


Steps: TypeAlias = Callable[[State, Delta], Iterator[tuple[frozenset[str], State]]]


def strict_steps(state: State, delta: Delta) -> Iterator[tuple[frozenset[str], State]]:
    R, i = state
    for L in (*delta.marking, EMPTY):
        for i_ in (1, 2, 3):
            if (L != EMPTY and (i, i_) in {(1, 2), (2, 2)}) or (L == EMPTY and (i, i_) in {(1, 1), (2, 3), (3, 3)}):
                yield L, (delta(R, L), i_)


def nxt_steps(state: State, delta: Delta) -> Iterator[tuple[frozenset[str], State]]:
    R, W = state
    for L in delta.marking:
        W_ = delta.all(W)
        yield L, (delta(R, L) - W_, W_)
    W_ = delta.all(W) | delta.marked(R)
    yield EMPTY, (delta(R, EMPTY) - W_, W_)


def last_steps(state: State, delta: Delta) -> Iterator[tuple[frozenset[str], State]]:
    R, W, T = state
    for L in delta.marking:
        W_ = delta.marked(W)
        R_ = delta(R, L) - W_
        yield L, (R_, W_, (delta.all(T) | delta(R | W, EMPTY)) - (R_ | W_))
    W_ = delta.all(W) | delta.marked(R | T)
    R_ = delta(R, EMPTY) - W_
    yield EMPTY, (R_, W_, delta(T, EMPTY) - (R_ | W_))


def max_steps(state: State, delta: Delta) -> Iterator[tuple[frozenset[str], State]]:
    R, W = state
    for L in delta.marking:
        W_ = delta.marked(W)
        yield L, (delta(R, L) - W_, W_)
    W_ = delta.all(W) | delta.marked(R)
    yield EMPTY, (delta(R, EMPTY) - W_, W_)


NONE: Subset = frozenset()
STEPS: dict[str, Steps] = {"strict": strict_steps, "nxt": nxt_steps, "last": last_steps, "max": max_steps}


def construct(strategy: str, A: CEA) -> CEA:
    """A_SEL, as far as it can be reached."""
    start = {"strict": (A.initial, 1), "last": (A.initial, NONE, NONE)}.get(strategy, (A.initial, NONE))
    types_ = [(P, Delta(A, frozenset(A.predicates[i] for i in chosen))) for chosen, P in types(A.predicates)]

    def successors(state: State) -> Iterator[tuple[tuple[Predicate, frozenset[str]], State]]:
        for P, delta in types_:
            for L, target in STEPS[strategy](state, delta):
                if target[0]:  # R = {} can never be accepted again
                    yield (P, L), target

    found = explore([start], successors, 200_000, "the printed automaton")
    number = {state: i for i, state in enumerate(found)}

    def accepts(state: State) -> bool:
        R, W = state[0], state[1] if strategy != "strict" else NONE
        return bool(R & A.final) and not W & A.final

    return CEA(
        len(found),
        tuple(Transition(number[s], P, L, number[t]) for s, edges in found.items() for (P, L), t in edges),
        frozenset({0}),
        frozenset(i for state, i in number.items() if accepts(state)),
    )
