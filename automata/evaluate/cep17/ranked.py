"""NXT and LAST in time linear in the automaton, without determinizing it: cep17, Algorithms 5 and 6.

One complex event wins over all others that end at the same position, and what it does next it does for all runs that
have reached its state. So of each state only the best complex event is kept. The states stand in a ranking, by these;
states with the same one stand together. An event leads from a ranking to the next:

    NXT   what differs earlier decides: by the old rank first, and then marked before unmarked
    LAST  what differs later decides: marked before unmarked, and then by the old rank

Every state is in the ranking once and every transition is looked at once. As printed the best complex event of a final
state is handed out if it ends here. If it does not, it may stand before one that does (docs/errata.md); here the first
rank that reaches a final state *with a mark* hands out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import product

from cerify.automata.cea.io_determinize import MARKED
from cerify.automata.evaluate.cep17.delta import Delta
from cerify.automata.evaluate.cep17.lists import NodeLists
from cerify.automata.evaluate.ces import BOTTOM

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


class Next(Ranked):
    """Algorithm 5."""

    def order(self) -> Iterable[tuple[Rank, bool]]:
        return product(self.ranking, (True, False))


class Last(Ranked):
    """Algorithm 6."""

    def order(self) -> Iterable[tuple[Rank, bool]]:
        return ((rank, marked) for marked, rank in product((True, False), self.ranking))
