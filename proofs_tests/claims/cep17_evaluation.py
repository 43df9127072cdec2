"""The transition relation as a function of states and marks (cep17, appendix C.3).

A CEA of cep17 marks a position or leaves it, and its accepting runs end with a mark. Events are given by their types,
as bit masks: bit i is set if the event is in A.predicates[i].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Generic, Literal, TypeVar, assert_never

from cerify.automata.cea.model import CEA, MARKED, single_variable
from cerify.automata.evaluate.ces import BOTTOM, CompactComplexEventSet, NodeList
from cerify.automata.evaluate.tables import classify
from cerify.automata.exploration import Subset, members, subset
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream


class Delta:
    """Delta(q, t, m) and Delta(R, t, m), for m marked or not."""

    def __init__(self, A: CEA) -> None:
        self.A = A = single_variable(A)
        self.initial, self.final = subset(A.initial), subset(A.final)
        bit = {P: 1 << i for i, P in enumerate(A.predicates)}
        self._leaving = [
            {
                marked: [(bit[t.predicate], t.target) for t in leaving if bool(t.marks) == marked]
                for marked in (True, False)
            }
            for leaving in A.leaving
        ]

    def of(self, q: int, type_: int, marked: bool) -> list[int]:
        """The states after a state on an event of the type; each transition with the mark is visited once."""
        return [target for bit, target in self._leaving[q][marked] if type_ & bit]

    def __call__(self, R: Subset, type_: int, marked: bool) -> Subset:
        """Where the states of a set may go."""
        reached = 0
        for q in members(R):
            for target in self.of(q, type_, marked):
                reached |= 1 << target
        return reached


# ---------------------------------------------------------------------------------------------------------------------
# Lists of nodes: the data structure of cep17, section 7.2.
#
# It is the compact complex event set of tods21: a node stands for a position, and its children are a list of nodes,
# given by its first and its last. What cep17 adds is an order. A new node goes to the top of a list and an old list to
# its end, so that in the list of a state the nodes of the present position come first, and what ends here is found
# without a look at the rest. A list is a pair of nodes, so the lazy copy of the paper is the pair itself.


class NodeLists(CompactComplexEventSet):
    """The nodes, with the two ways to make a list longer; None is the empty list."""

    def add(self, position: int, children: NodeList, nodes: NodeList | None) -> NodeList:
        """The list with a new node on top."""
        n = self.extend(position, MARKED, children)
        if nodes is None:
            return n, n
        self.append(n, nodes[0])
        return n, nodes[1]

    def joined(self, nodes: NodeList | None, more: NodeList) -> NodeList:
        """The list with another one at its end."""
        if nodes is None:
            return more
        self.append(nodes[1], more[0])
        return nodes[0], more[1]

    def top(self, nodes: NodeList, position: int) -> Iterator[int]:
        """The nodes of the position, which are the first ones of the list (Algorithm 2, Enumerate)."""
        node, last = nodes
        while self.event[node] == position:
            yield node
            if node == last:
                return
            node = self.next[node]


# ---------------------------------------------------------------------------------------------------------------------
# EnumAll*: enumeration with constant delay (cep17, appendix D.1, Algorithm 3).
#
# The output is a tape: for each complex event its positions, the latest first, and then END. Between two symbols on
# the tape lies a constant number of steps, also where a complex event shares nothing with the one before but its end.

END = -1


@dataclass
class BlackWhiteStack:
    """A stack of nodes, each with the list of its children that are still to be visited.

    A node is black as long as it has such children, and white from then on. Only the first size entries of nodes count:
    what lies above is overwritten, so that popping any number of nodes is one step.
    """

    nodes: list[int] = field(default_factory=list)
    size: int = 0
    black: list[tuple[int, NodeList]] = field(default_factory=list)
    """Of each black node its place in the stack, and the children that are left."""

    def push(self, node: int) -> None:
        if self.size == len(self.nodes):
            self.nodes.append(node)
        else:
            self.nodes[self.size] = node
        self.size += 1

    def blacken(self, left: NodeList) -> None:
        """The node on top has these children left."""
        self.black.append((self.size - 1, left))

    def pop_white(self) -> NodeList:
        """Pop the white nodes at the top; the black one below is white from now on, and these children are left."""
        place, left = self.black.pop()
        self.size = place + 1
        return left

    def recap(self, D: NodeLists) -> Iterator[int]:
        """The positions of the stack, bottom first."""
        for place in range(self.size):
            yield D.event[self.nodes[place]]


def enum_all(D: NodeLists, root: int) -> Iterator[int]:
    """The tape of all paths from a node to the terminator."""
    stack = BlackWhiteStack()
    stack.push(root)
    yield D.event[root]
    left = D.first[root], D.last[root]
    while True:
        node, last = left
        if node != last:
            stack.blacken((D.next[node], last))
        if node != BOTTOM:
            stack.push(node)
            yield D.event[node]
            left = D.first[node], D.last[node]
            continue
        yield END
        if not stack.black:
            return
        left = stack.pop_white()
        yield from stack.recap(D)


def complex_events(tape: Iterator[int]) -> Iterator[tuple[int, ...]]:
    """What is written on a tape, the positions ascending."""
    path: list[int] = []
    for symbol in tape:
        if symbol == END:
            yield tuple(reversed(path))
            path = []
        else:
            path.append(symbol)


# ---------------------------------------------------------------------------------------------------------------------
# A list of nodes for each state: cep17, Algorithms 1, 4, 7 and 8.
#
# Algorithm 1 asks for an I/O-deterministic automaton. Algorithms 4 and 7 are the same loop over other states, made on
# the fly: sets of states of the automaton, and pairs of such sets. Each complex event is carried by one state only, so
# the lists of two states share no node, and every path from them is another complex event.

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


class Cep17Strict(Everything):
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


# ---------------------------------------------------------------------------------------------------------------------
# NXT and LAST in time linear in the automaton, without determinizing it: cep17, Algorithms 5 and 6.
#
# One complex event wins over all others that end at the same position, and what it does next it does for all runs that
# have reached its state. So of each state only the best complex event is kept. The states stand in a ranking, by
# these; states with the same one stand together. An event leads from a ranking to the next:
#
#     NXT   what differs earlier decides: by the old rank first, and then marked before unmarked
#     LAST  what differs later decides: marked before unmarked, and then by the old rank
#
# Every state is in the ranking once and every transition is looked at once. As printed the best complex event of a
# final state is handed out if it ends here. If it does not, it may stand before one that does (docs/errata.md); here
# the first rank that reaches a final state *with a mark* hands out.

Rank = tuple[int, list[int]]
"""The node of a complex event, and the states of which it is the best."""


class Ranked(ABC):
    """The states that are reached, best complex event first."""

    def __init__(self, A: Delta) -> None:
        self.A = A
        self.D = NodeLists()
        self.position = -1
        self.ranking: list[Rank] = [(BOTTOM, sorted(A.A.initial))]
        self._best: int | None = None

    @abstractmethod
    def order(self) -> Iterable[tuple[Rank, bool]]:
        """The ranks of before the event, marked and unmarked, best first."""

    def push(self, type_: int) -> None:
        """Read the next event, given its type."""
        self.position += 1
        self._best = None
        ranking: list[Rank] = []
        taken: set[int] = set()
        for (node, states), marked in self.order():
            new: list[int] = []
            accepted = False
            for p in states:
                for q in self.A.of(p, type_, marked):
                    accepted |= q in self.A.A.final
                    if q not in taken:
                        taken.add(q)
                        new.append(q)
            wins = marked and accepted and self._best is None
            if marked and (new or wins):
                node = self.D.extend(self.position, MARKED, (node, node))
            if wins:
                self._best = node
            if new:
                ranking.append((node, new))
        self.ranking = ranking

    def roots(self) -> Iterator[int]:
        """The node of the complex event that ends at the position, if there is one."""
        if self._best is not None:
            yield self._best


class Cep17Next(Ranked):
    """Algorithm 5."""

    def order(self) -> Iterable[tuple[Rank, bool]]:
        return product(self.ranking, (True, False))


class Cep17Last(Ranked):
    """Algorithm 6."""

    def order(self) -> Iterable[tuple[Rank, bool]]:
        return ((rank, marked) for marked, rank in product((True, False), self.ranking))


# ---------------------------------------------------------------------------------------------------------------------
# Evaluation under a selection strategy by the algorithms of cep17.

Strategy = Literal["all", "strict", "nxt", "last", "max"]
Evaluation = Everything | Maximal | Cep17Strict | Cep17Next | Cep17Last


def evaluation(A: CEA, strategy: Strategy, budget: Budget = Budget()) -> Evaluation:
    """An automaton on its way through a stream, under a strategy."""
    delta = Delta(A)
    match strategy:
        case "all":
            return Everything(delta, budget)
        case "strict":
            return Cep17Strict(delta, budget)
        case "nxt":
            return Cep17Next(delta)
        case "last":
            return Cep17Last(delta)
        case "max":
            return Maximal(delta, budget)
        case _:
            assert_never(strategy)


def evaluate(A: CEA, S: Stream, strategy: Strategy = "all", budget: Budget = Budget()) -> Iterator[Match]:
    """The complex events of an automaton under a strategy, lazily and in the order of positions.

    As in cep17 a run ends with a mark: a complex event is reported at its last position. Raises BudgetExceeded.
    """
    running = evaluation(A, strategy, budget)
    for n, type_ in enumerate(classify(running.A.A.predicates, S)):
        running.push(type_)
        for root in running.roots():
            for C in complex_events(enum_all(running.D, root)):
                yield Match(n, C)
