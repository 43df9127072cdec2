"""The derived operators on automata: vldb92, section 2.3, each from its text and not by its expansion to others.

Each is a product of the operands' automata, or as small, where the definitions need subsets of states. A and B are the
automata of the operands, in their order; that the results are those of the definitions is decided in the tests.
"""

from __future__ import annotations

from typing import TypeAlias

from cerify.automata.dfa.model import DFA, Names, built
from cerify.semantics.budget import Budget

Pair: TypeAlias = tuple[int, int]


def prior(A: DFA, B: DFA, budget: Budget) -> DFA:
    """(c) An event of B after one of A; both read all of the history. Beside the states, whether A has been."""

    def step(q: tuple[int, int, bool], a: int, here: Names) -> tuple[int, int, bool]:
        return A.step(q[0], a, here), B.step(q[1], a, here), q[2] or q[0] in A.accepting

    def accepts(q: tuple[int, int, bool]) -> bool:
        return q[2] and q[1] in B.accepting

    return built(A.alphabet, A.variables | B.variables, (0, 0, False), step, accepts, budget)


def sequence(A: DFA, B: DFA, budget: Budget) -> DFA:
    """(e) An event of B just after one of A. Beside the states, whether the event before the last was one of A."""

    def step(q: tuple[int, int, bool], a: int, here: Names) -> tuple[int, int, bool]:
        return A.step(q[0], a, here), B.step(q[1], a, here), q[0] in A.accepting

    def accepts(q: tuple[int, int, bool]) -> bool:
        return q[2] and q[1] in B.accepting

    return built(A.alphabet, A.variables | B.variables, (0, 0, False), step, accepts, budget)


def after(A: DFA, B: DFA, budget: Budget) -> DFA:
    """(j) A / B: B up to its first event, then A on what is left. A state is that of one of the two."""

    def step(q: tuple[bool, int], a: int, here: Names) -> tuple[bool, int]:
        if q[0]:
            return True, A.step(q[1], a, here)
        p = B.step(q[1], a, here)
        return (True, 0) if p in B.accepting else (False, p)

    return built(
        A.alphabet, A.variables | B.variables, (False, 0), step, lambda q: q[0] and q[1] in A.accepting, budget
    )


def first_after(opening: DFA, event: DFA, closing: DFA, budget: Budget) -> DFA:
    """(l) With each opening, event and closing begin anew. The flag says whether the closing has been before."""

    def step(q: tuple[int, Pair | None, bool], a: int, here: Names) -> tuple[int, Pair | None, bool]:
        p, running, closed = opening.step(q[0], a, here), q[1], q[2]
        if p in opening.accepting:
            return p, (0, 0), False
        if running is None:
            return p, None, False
        closed = closed or running[1] in closing.accepting
        return p, (event.step(running[0], a, here), closing.step(running[1], a, here)), closed

    def accepts(q: tuple[int, Pair | None, bool]) -> bool:
        return q[1] is not None and q[1][0] in event.accepting and not q[2]

    variables = opening.variables | event.variables | closing.variables
    before: tuple[int, Pair | None, bool] = (0, None, False)
    return built(opening.alphabet, variables, before, step, accepts, budget)


def before(A: DFA, budget: Budget) -> DFA:
    """(m) Every event after the first one of A: nothing has to be read any more."""

    def step(q: tuple[int, bool], a: int, here: Names) -> tuple[int, bool]:
        return (0, True) if q[1] or q[0] in A.accepting else (A.step(q[0], a, here), False)

    return built(A.alphabet, A.variables, (0, False), step, lambda q: q[1], budget)


def happened(A: DFA, budget: Budget) -> DFA:
    """(n) The first event of A and every one after it."""

    def step(q: int | None, a: int, here: Names) -> int | None:
        p = None if q is None else A.step(q, a, here)
        return None if p in A.accepting else p

    initial: int | None = 0
    return built(A.alphabet, A.variables, initial, step, lambda q: q is None, budget)


def series(A: DFA, B: DFA, budget: Budget) -> DFA:
    """(p) A * B: an event of B with nothing but events of A before it; None once there has been another."""

    def step(q: tuple[Pair, bool] | None, a: int, here: Names) -> tuple[Pair, bool] | None:
        if q is None or not q[1]:
            return None
        p = A.step(q[0][0], a, here)
        return (p, B.step(q[0][1], a, here)), p in A.accepting

    def accepts(q: tuple[Pair, bool] | None) -> bool:
        return q is not None and q[0][1] in B.accepting

    nothing_yet: tuple[Pair, bool] | None = ((0, 0), True)
    return built(A.alphabet, A.variables | B.variables, nothing_yet, step, accepts, budget)
