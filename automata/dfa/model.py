"""Deterministic automata over types of events, and over the correlation variables that are at an event.

Letters, here and in every module of this package:
    A, B  automata       p, q  states, the initial one is 0
    a  a type of events, by number       here  the variables that are at the event
An automaton reads histories and has no word to say of the empty one: its initial state never accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias, TypeVar

from cerify.automata.algebra.minterms import Minterm
from cerify.automata.explore import explore
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InternalError
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Predicate, holds

Names: TypeAlias = frozenset[str]
Symbol: TypeAlias = tuple[int, Names]
"""A type of events, and the variables that are at the event."""


@dataclass(frozen=True)
class Alphabet:
    """The types of events with respect to some predicates: each event is of exactly one."""

    predicates: tuple[Predicate, ...]
    types: tuple[Minterm, ...]

    def type_of(self, event: Event) -> int:
        """The number of the event's type."""
        chosen = frozenset(i for i, P in enumerate(self.predicates) if holds(P, event))
        if (a := self._numbers.get(chosen)) is None:
            raise InternalError(f"the event {event} is of a type that was thought to be empty")
        return a

    @cached_property
    def _numbers(self) -> dict[frozenset[int], int]:
        return {minterm.chosen: a for a, minterm in enumerate(self.types)}


@dataclass(frozen=True)
class DFA:
    """Of each state, the one that follows it for each symbol; and the states that accept.

    variables are those whose place the automaton reads; an automaton of a whole expression has none.
    """

    alphabet: Alphabet
    variables: Names
    following: tuple[dict[Symbol, int], ...]
    accepting: frozenset[int]

    def step(self, q: int, a: int, here: Names = frozenset()) -> int:
        """The state after one more event."""
        return self.following[q][a, here & self.variables]

    def events(self, S: Stream) -> frozenset[int]:
        """The events after which the automaton accepts (Corollary 1)."""
        found, q = set(), 0
        for e, event in enumerate(S):
            q = self.step(q, self.alphabet.type_of(event))
            if q in self.accepting:
                found.add(e)
        return frozenset(found)


def symbols(alphabet: Alphabet, variables: Names) -> Iterator[Symbol]:
    """All symbols; a variable may be at any event or at none."""
    names = sorted(variables)
    for a in range(len(alphabet.types)):
        for size in range(len(names) + 1):
            yield from ((a, frozenset(here)) for here in combinations(names, size))


State = TypeVar("State", bound=Hashable)


def built(
    alphabet: Alphabet,
    variables: Names,
    initial: State,
    step: Callable[[State, int, Names], State],
    accepts: Callable[[State], bool],
    budget: Budget,
) -> DFA:
    """The minimal automaton with the states that can be reached, numbered. Raises BudgetExceeded.

    An initial state that would accept, or rather does so when it is reached again, is kept apart.
    """
    start: tuple[State, bool] = (initial, True)

    def successors(node: tuple[State, bool]) -> Iterator[tuple[Symbol, tuple[State, bool]]]:
        for a, here in symbols(alphabet, variables):
            yield (a, here), (step(node[0], a, here), False)

    found = explore([start], successors, budget.states, "the automaton")
    number = {node: i for i, node in enumerate(found)}
    following = tuple({symbol: number[node] for symbol, node in edges} for edges in found.values())
    accepting = frozenset(i for node, i in number.items() if not node[1] and accepts(node[0]))
    return minimal(DFA(alphabet, variables, following, accepting))


def minimal(A: DFA) -> DFA:
    """The automaton with the fewest states that accepts the same histories: states that nothing tells apart are one.

    States are numbered in the order in which they are found from the initial one, so that equal means equivalent.
    """
    block = [int(q in A.accepting) for q in range(len(A.following))]
    while True:
        keys = [(block[q], *(block[A.following[q][s]] for s in A.following[0])) for q in range(len(block))]
        numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        finer = [numbers[key] for key in keys]
        if len(numbers) == len(set(block)):
            break
        block = finer
    some = {number: q for q, number in reversed(list(enumerate(block)))}
    place = {block[0]: 0}
    order = [block[0]]
    for number in order:  # grows while it is gone through: breadth first
        for q in A.following[some[number]].values():
            if block[q] not in place:
                place[block[q]] = len(order)
                order.append(block[q])
    following = tuple({s: place[block[q]] for s, q in A.following[some[number]].items()} for number in order)
    return DFA(A.alphabet, A.variables, following, frozenset(place[block[q]] for q in A.accepting if block[q] in place))
