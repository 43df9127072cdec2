"""Shortest histories that automata of event expressions accept, or separate, as words of types of events.

An expression takes place at an event or not, as the history up to that event is; so two expressions are equivalent if
their automata accept the same histories. Automata that are compared are over one alphabet (compile.compile_together).
among are the types of events that there are: all of them, unless a schema rules some out (types_under). A type without
an event to show for it may be empty: leave it out of among to be sure of a word, leave it in to be sure of None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from cerify.automata.algebra.minterms import minterms
from cerify.automata.dfa.model import DFA, Alphabet
from cerify.automata.explore import explore
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InternalError, Unsupported
from cerify.semantics.events import Event, Schema, Stream

Word: TypeAlias = tuple[int, ...]
"""A history by the types of its events."""

Pair: TypeAlias = tuple[int, int]


def separating_word(A: DFA, B: DFA, among: Collection[int] | None = None, budget: Budget = Budget()) -> Word | None:
    """A shortest history at whose last event just one of the two takes place; None if they are equivalent."""
    return _of_both(A, B, lambda q: (q[0] in A.accepting) != (q[1] in B.accepting), among, budget)


def uncontained_word(A: DFA, B: DFA, among: Collection[int] | None = None, budget: Budget = Budget()) -> Word | None:
    """A shortest history at whose last event A takes place and B does not; None if A is contained in B."""
    return _of_both(A, B, lambda q: q[0] in A.accepting and q[1] not in B.accepting, among, budget)


def accepted_word(A: DFA, among: Collection[int] | None = None, budget: Budget = Budget()) -> Word | None:
    """A shortest history at whose last event A takes place; None if it can never take place."""
    return _of_both(A, A, lambda q: q[0] in A.accepting, among, budget)


def shortest_extension(A: DFA, q: int, among: Collection[int] | None = None, budget: Budget = Budget()) -> Word | None:
    """Fewest events to come after which A takes place, once some events have led to q; None if it no more can."""
    coming = _chosen(A.alphabet.coming, among)

    def edges(node: tuple[int, bool]) -> Iterator[tuple[int, tuple[int, bool]]]:
        return ((a, (A.step(node[0], a), True)) for a in coming)

    return shortest((q, False), edges, lambda node: node[0] in A.accepting, budget)


def coaccessible_states(A: DFA, among: Collection[int] | None = None) -> frozenset[int]:
    """The states from which some events to come, one or more, lead to an accepting state."""
    coming = _chosen(A.alphabet.coming, among)
    sources: dict[int, list[int]] = {}
    for q in range(len(A.following)):
        for a in coming:
            sources.setdefault(A.step(q, a), []).append(q)
    found: set[int] = set()
    pending = list(A.accepting)
    while pending:
        for q in sources.get(pending.pop(), ()):
            if q not in found:
                found.add(q)
                pending.append(q)
    return frozenset(found)


def types_under(
    alphabet: Alphabet, schema: Schema | None = None, budget: Budget = Budget()
) -> Mapping[int, Event | None]:
    """The types that events of the schema can have, each with an event; None where z3 returned unknown.

    A start event is one of them if the schema has its type. Raises BudgetExceeded.
    """
    if schema is None:
        return {a: minterm.witness for a, minterm in enumerate(alphabet.types)}
    typed = minterms(alphabet.predicates, schema, budget)
    return {alphabet.number(minterm.chosen): minterm.witness for minterm in typed}


def stream_of(word: Word, events: Mapping[int, Event | None], schema: Schema | None = None) -> Stream:
    """The word as events. Raises Unsupported where there is a type without an event to show."""
    found = []
    for a in word:
        if (event := events[a]) is None:
            raise Unsupported(
                "z3 returned unknown for an event that has to pass some masks only; compare attributes with values"
            )
        found.append(event)
    return Stream(found, schema)


def _of_both(
    A: DFA, B: DFA, wanted: Callable[[Pair], bool], among: Collection[int] | None, budget: Budget
) -> Word | None:
    """A shortest history that leads the two to a pair of states that is wanted."""
    if A.alphabet != B.alphabet:
        raise InternalError("the two automata are over different alphabets")
    if A.variables or B.variables:
        raise InternalError("an automaton of a whole expression reads no variables")
    later = _chosen(A.alphabet.coming, among)
    first = (*later, *_chosen(A.alphabet.starts, among))

    def edges(node: tuple[Pair, bool]) -> Iterator[tuple[int, tuple[Pair, bool]]]:
        (p, q), begun = node
        return ((a, ((A.step(p, a), B.step(q, a)), True)) for a in (later if begun else first))

    return shortest(((0, 0), False), edges, lambda node: wanted(node[0]), budget)


def _chosen(types: Iterable[int], among: Collection[int] | None) -> tuple[int, ...]:
    return tuple(a for a in types if among is None or a in among)


Node = TypeVar("Node", bound=Hashable)


def shortest(
    start: Node, edges: Callable[[Node], Iterable[tuple[int, Node]]], wanted: Callable[[Node], bool], budget: Budget
) -> Word | None:
    """The letters on a shortest way to a node that is wanted; None if there is no way. Raises BudgetExceeded."""
    goal: list[Node] = []

    def until_found(node: Node) -> Iterator[tuple[int, Node]]:
        for a, target in edges(node) if not goal else ():
            yield a, target
            if not goal and wanted(target):
                goal.append(target)

    came: dict[Node, tuple[Node, int]] = {}
    for node, found in explore([start], until_found, budget.states, "the product of the automata").items():
        for a, target in found:
            came.setdefault(target, (node, a))
    word: list[int] = []
    while goal and goal[0] != start:
        goal[0], a = came[goal[0]]
        word.append(a)
    return tuple(reversed(word)) if goal else None
