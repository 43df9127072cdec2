"""A list of nodes for each state: cep17, Algorithms 1, 4, 7 and 8.

Algorithm 1 asks for an I/O-deterministic automaton. Algorithms 4 and 7 are the same loop over other states, made on the
fly: sets of states of the automaton, and pairs of such sets. Each complex event is carried by one state only, so the
lists of two states share no node, and every path from them is another complex event.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from cerify.automata.evaluate.cep17.delta import Delta
from cerify.automata.evaluate.cep17.lists import NodeLists
from cerify.automata.evaluate.ces import BOTTOM, NodeList
from cerify.automata.subsets import Subset
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded

State = TypeVar("State", bound=Hashable)
Pair = tuple[Subset, Subset]
Table = dict[State, NodeList]

NO_STATES: Subset = 0


class Listed(ABC, Generic[State]):
    """A list of nodes for each state that is reached; subclasses say what a state is and where it goes."""

    def __init__(self, A: Delta, start: State, budget: Budget = Budget()) -> None:
        self.A = A
        self.D = NodeLists()
        self.position = -1
        self.T: Table[State] = {start: (BOTTOM, BOTTOM)}
        self._budget = budget

    def push(self, type_: int) -> None:
        """Read the next event, given its type. Raises BudgetExceeded."""
        self.position += 1
        self.T = self._updated(type_)
        if len(self.T) > self._budget.states:
            raise BudgetExceeded(
                f"more than {self._budget.states} states are reached at once; NXT and LAST need no sets of states, and "
                "a larger budget allows for more"
            )

    def roots(self) -> Iterator[int]:
        """The nodes at the position whose paths are the complex events that end there."""
        for state, nodes in self.T.items():
            if self.accepts(state):
                yield from self.D.top(nodes, self.position)

    @abstractmethod
    def step(self, state: State, type_: int, marked: bool) -> State | None:
        """The state after an event of the type, marked or not, if there is one."""

    @abstractmethod
    def accepts(self, state: State) -> bool:
        """Whether the complex events of the state are reported."""

    def _updated(self, type_: int) -> Table[State]:
        D, T_ = self.D, dict[State, NodeList]()
        for p, nodes in self.T.items():
            if (q := self.step(p, type_, True)) is not None:
                T_[q] = D.add(self.position, nodes, T_.get(q))
            if (q := self.step(p, type_, False)) is not None:
                T_[q] = D.joined(T_.get(q), nodes)
        return T_


class Deterministic(Listed[int]):
    """Algorithm 1: the automaton is I/O-deterministic, and its states are the states."""

    def __init__(self, A: Delta, budget: Budget = Budget()) -> None:
        (q0,) = A.A.initial
        super().__init__(A, q0, budget)

    def step(self, state: int, type_: int, marked: bool) -> int | None:
        return next(iter(self.A.of(state, type_, marked)), None)

    def accepts(self, state: int) -> bool:
        return state in self.A.A.final


class Everything(Listed[Subset]):
    """Algorithm 4: a state is the set of all states that runs with one complex event have reached."""

    def __init__(self, A: Delta, budget: Budget = Budget()) -> None:
        super().__init__(A, A.initial, budget)

    def step(self, state: Subset, type_: int, marked: bool) -> Subset | None:
        return self.A(state, type_, marked) or None

    def accepts(self, state: Subset) -> bool:
        return bool(state & self.A.final)


class Maximal(Listed[Pair]):
    """Algorithm 7, MAX: beside the states T of one complex event the states U of all larger ones.

    A state of U is none of T: what goes on from there goes on from a larger one too.
    """

    def __init__(self, A: Delta, budget: Budget = Budget()) -> None:
        super().__init__(A, (A.initial, NO_STATES), budget)

    def step(self, state: Pair, type_: int, marked: bool) -> Pair | None:
        T, U = state
        if marked:
            U_ = self.A(U, type_, True)
        else:
            U_ = self.A(U, type_, True) | self.A(U, type_, False) | self.A(T, type_, True)
        T_ = self.A(T, type_, marked) & ~U_
        return (T_, U_) if T_ else None

    def accepts(self, state: Pair) -> bool:
        T, U = state
        return bool(T & self.A.final) and not U & self.A.final


class Strict(Everything):
    """Algorithm 8, STRICT: no step without a mark but by the one run that has marked nothing yet.

    That run stands as the terminator in the list of its state. It has to come last there: what is found on top of a
    list ends with the first node of another position.
    """

    def __init__(self, A: Delta, budget: Budget = Budget()) -> None:
        super().__init__(A, budget)
        self.unmarked: Subset | None = A.initial

    def _updated(self, type_: int) -> Table[Subset]:
        T_: Table[Subset] = {}
        for p, nodes in self.T.items():
            if (q := self.step(p, type_, True)) is not None:
                T_[q] = self.D.add(self.position, nodes, T_.get(q))
        if self.unmarked is not None:
            self.unmarked = self.step(self.unmarked, type_, False)
        if self.unmarked is not None:
            T_[self.unmarked] = self.D.joined(T_.get(self.unmarked), (BOTTOM, BOTTOM))
        return T_
