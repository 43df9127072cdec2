"""Deterministic automata over types of events, and over the correlation variables that are at an event.

Letters, here and in every module of this package:
    A, B  automata       p, q  states, the initial one is 0
    a  a type of events, by number       here  the variables that are at the event
An automaton does not accept the empty history: its initial state never accepts. A start event can only be the first
event: only the initial state has a step for it. So two expressions take place at the same events of all histories if
and only if their automata over one alphabet are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import combinations
from typing import TypeAlias, TypeVar

from cerify.automata.algebra.finite import Minterm, minterms
from cerify.automata.exploration import classes, explore
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, InternalError, Unsupported
from cerify.semantics.event_expressions.syntax import START
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import Predicate, classify_event

Names: TypeAlias = frozenset[str]
Symbol: TypeAlias = tuple[int, Names]
"""A type of events, and the variables that are at the event."""


@dataclass(frozen=True)
class Alphabet:
    """The types of events with respect to some predicates: each event has exactly one type.

    The first predicate is true of start events.
    """

    predicates: tuple[Predicate, ...]
    types: tuple[Minterm, ...]

    def type_of(self, event: Event) -> int:
        """Return the number of the event's type."""
        return self.number(classify_event(self.predicates, event))

    def number(self, chosen: frozenset[int]) -> int:
        """Return the number of the type whose events satisfy exactly the predicates with these indices."""
        if (a := self._numbers.get(chosen)) is None:
            predicates = [self.predicates[i] for i in sorted(chosen)]
            raise InternalError(f"the alphabet has no type whose events satisfy exactly {predicates}")
        return a

    @cached_property
    def coming(self) -> tuple[int, ...]:
        """Return the types of events that can occur after the first event: all except start events."""
        return tuple(a for a, minterm in enumerate(self.types) if 0 not in minterm.chosen)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Return the types of start events; there are several if the start event has a mask."""
        return tuple(a for a, minterm in enumerate(self.types) if 0 in minterm.chosen)

    @cached_property
    def _numbers(self) -> dict[frozenset[int], int]:
        return {minterm.chosen: a for a, minterm in enumerate(self.types)}


@dataclass(frozen=True)
class DFA:
    """A deterministic automaton: for each state the next state by symbol, and the accepting states.

    A symbol is a type of events with the set of correlation variables that are bound to the event. variables: the free
    correlation variables of the expression; none for a whole expression.
    """

    alphabet: Alphabet
    variables: Names
    following: tuple[dict[Symbol, int], ...]
    accepting: frozenset[int]

    @property
    def fingerprint(self) -> str:
        """Return a hash of the alphabet and the table; automata with equal hashes number their states in the
        same way.
        """
        steps = [sorted((a, q) for (a, _), q in following.items()) for following in self.following]
        types = [sorted(t.chosen) for t in self.alphabet.types]
        return digest(self.alphabet.predicates, types, steps, sorted(self.accepting))

    def step(self, q: int, a: int, here: Names = frozenset()) -> int:
        """Return the state after one more event. q: the state before. a: the type of the event. here: the variables
        that are bound to the event.
        """
        return self.following[q][a, here & self.variables]

    def events(self, S: Stream) -> frozenset[int]:
        """Return the positions of the events after which the automaton accepts (vldb92, Corollary 1).

        Raises InputError for a start event that is not the first event.
        """
        found, q = set(), 0
        for e, event in enumerate(S):
            require_first(event, e)
            q = self.step(q, self.alphabet.type_of(event))
            if q in self.accepting:
                found.add(e)
        return frozenset(found)


def digest(*parts: object) -> str:
    """Return a short hash of the text of some values. It identifies the query to which a saved state belongs."""
    return sha256(repr(parts).encode()).hexdigest()[:32]


def require_first(event: Event, position: int) -> None:
    """Raise InputError for a start event that is not the first event (vldb92, section 2.1)."""
    if event.type == START and position > 0:
        raise late_start(position)


def late_start(position: int) -> InputError:
    """Return the error for a start event at this position, which is not the beginning of the history."""
    return InputError(
        f"event {position} is a {START} event; only the first event of a history may be one; if {START} is an ordinary "
        f"type here, read it by another name: --rename-type {START}=begin, in Python "
        f'as_stream(events, rename_types={{"{START}": "begin"}})'
    )


def symbols(variables: Names, types: Iterable[int]) -> list[Symbol]:
    """Return all symbols: each of these types of events with each subset of the variables."""
    names = sorted(variables)
    subsets = [frozenset(here) for size in range(len(names) + 1) for here in combinations(names, size)]
    return [(a, here) for a in types for here in subsets]


State = TypeVar("State", bound=Hashable)


def built(
    alphabet: Alphabet,
    variables: Names,
    initial: State,
    step: Callable[[State, int, Names], State],
    accepts: Callable[[State], bool],
    budget: Budget,
) -> DFA:
    """Build the automaton of all states that can be reached from `initial`, and minimize it. Raises BudgetExceeded.

    A step back to the initial state leads to a copy of it, because the initial state itself must not accept.
    """
    if len(alphabet.types) << len(variables) > budget.states:
        raise BudgetExceeded(
            f"with {len(variables)} variables the automaton distinguishes more than {budget.states} kinds of events"
        )
    start: tuple[State, bool] = (initial, True)
    first, later = symbols(variables, range(len(alphabet.types))), symbols(variables, alphabet.coming)

    def successors(node: tuple[State, bool]) -> Iterator[tuple[Symbol, tuple[State, bool]]]:
        for a, here in first if node[1] else later:
            yield (a, here), (step(node[0], a, here), False)

    found = explore([start], successors, budget.states, "the automaton")
    number = {node: i for i, node in enumerate(found)}
    following = tuple({symbol: number[node] for symbol, node in edges} for edges in found.values())
    accepting = frozenset(i for node, i in number.items() if not node[1] and accepts(node[0]))
    # Minimal after each operator, because the operators around it multiply or determinize the states.
    return minimal(DFA(alphabet, variables, following, accepting))


def minimal(A: DFA) -> DFA:
    """Return the automaton with the fewest states that accepts the same histories.

    States are numbered in the order of a search from the initial one, so equivalent automata become equal.
    """
    later = symbols(A.variables, A.alphabet.coming)
    steps = [{symbol: edges[symbol] for symbol in later} for edges in A.following]
    of = classes(steps, [q in A.accepting for q in range(len(steps))])
    some = {number: q for q, number in reversed(list(enumerate(of)))}  # the initial state stands for its class
    place = {of[0]: 0}
    order = [of[0]]
    following = []
    for number in order:  # grows while it is gone through: breadth first
        edges = A.following[0] if number == of[0] else steps[some[number]]
        for q in edges.values():
            if of[q] not in place:
                place[of[q]] = len(order)
                order.append(of[q])
        following.append({symbol: place[of[q]] for symbol, q in edges.items()})
    accepting = frozenset(place[of[q]] for q in A.accepting if of[q] in place)
    return DFA(A.alphabet, A.variables, tuple(following), accepting)


# ---------------------------------------------------------------------------------------------------------------------
# Shortest histories that automata of event expressions accept, or separate, as words of types of events.
#
# Whether an expression takes place at an event depends on the history up to that event; so two expressions are
# equivalent if their automata accept the same histories. Automata that are compared are over one alphabet
# (compile.compile_together). `among` are the types of events that occur: all types, unless a schema rules some out
# (types_under). A type without an example event may be empty: remove it from `among` to be sure of a word that is
# found, or keep it to be sure of the answer None.

Word: TypeAlias = tuple[int, ...]
"""A history by the types of its events."""

Pair: TypeAlias = tuple[int, int]


def separating_word(A: DFA, B: DFA, among: Collection[int] | None = None, budget: Budget = Budget()) -> Word | None:
    """Return a shortest history that exactly one of the automata accepts; None if they are equivalent.

    among: the types of events that may occur; None for all.
    """
    return _of_both(A, B, lambda q: (q[0] in A.accepting) != (q[1] in B.accepting), among, budget)


def uncontained_word(A: DFA, B: DFA, among: Collection[int] | None = None, budget: Budget = Budget()) -> Word | None:
    """Return a shortest history that A accepts and B does not; None if A is contained in B.

    among: the types of events that may occur; None for all.
    """
    return _of_both(A, B, lambda q: q[0] in A.accepting and q[1] not in B.accepting, among, budget)


def accepted_word(A: DFA, among: Collection[int] | None = None, budget: Budget = Budget()) -> Word | None:
    """Return a shortest history that A accepts; None if there is none.

    among: the types of events that may occur; None for all.
    """
    return _of_both(A, A, lambda q: q[0] in A.accepting, among, budget)


def shortest_extension(A: DFA, q: int) -> Word | None:
    """Return a shortest sequence of further events that leads from state q to an accepting state; None if there is
    none.
    """

    def edges(node: tuple[int, bool]) -> Iterator[tuple[int, tuple[int, bool]]]:
        return ((a, (A.step(node[0], a), True)) for a in A.alphabet.coming)

    return shortest((q, False), edges, lambda node: node[0] in A.accepting, Budget())


def coaccessible_states(A: DFA, among: Collection[int] | None = None) -> frozenset[int]:
    """Return the states from which one or more events lead to an accepting state. among: the types of these events;
    None for all.
    """
    coming = _restrict_types(A.alphabet.coming, among)
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
    """Return the types that events of the schema can have, each with an example event (None if z3 could not decide).

    Start events are included if the schema has their type. Raises BudgetExceeded.
    """
    if schema is None:
        return {a: minterm.witness for a, minterm in enumerate(alphabet.types)}
    typed = minterms(alphabet.predicates, schema, budget)
    return {alphabet.number(minterm.chosen): minterm.witness for minterm in typed}


def stream_of(word: Word, events: Mapping[int, Event | None], schema: Schema | None = None) -> Stream:
    """Return the word as events. Raises Unsupported if a type has no example event."""
    found = []
    for a in word:
        if (event := events[a]) is None:
            raise Unsupported(
                "z3 could not decide whether an event can satisfy exactly these conditions; compare "
                "attributes with constants"
            )
        found.append(event)
    return Stream(found, schema)


def _of_both(
    A: DFA, B: DFA, wanted: Callable[[Pair], bool], among: Collection[int] | None, budget: Budget
) -> Word | None:
    """Return a shortest history that leads both automata to a pair of states that `wanted` accepts."""
    if A.alphabet != B.alphabet:
        raise InternalError("the two automata are over different alphabets")
    if A.variables or B.variables:
        raise InternalError(f"an automaton reads the variables {sorted(A.variables | B.variables)}")
    later = _restrict_types(A.alphabet.coming, among)
    first = (*later, *_restrict_types(A.alphabet.starts, among))

    def edges(node: tuple[Pair, bool]) -> Iterator[tuple[int, tuple[Pair, bool]]]:
        (p, q), begun = node
        return ((a, ((A.step(p, a), B.step(q, a)), True)) for a in (later if begun else first))

    return shortest(((0, 0), False), edges, lambda node: wanted(node[0]), budget)


def _restrict_types(types: Iterable[int], among: Collection[int] | None) -> tuple[int, ...]:
    return tuple(a for a in types if among is None or a in among)


Node = TypeVar("Node", bound=Hashable)


def shortest(
    start: Node, edges: Callable[[Node], Iterable[tuple[int, Node]]], wanted: Callable[[Node], bool], budget: Budget
) -> Word | None:
    """Return the letters on a shortest path from `start` to a node that is `wanted`.

    Return None if there is no path. Raises BudgetExceeded.
    """
    goal: list[Node] = []

    def until_found(node: Node) -> Iterator[tuple[int, Node]]:
        # `explore` cannot be stopped from outside: once the goal is found, nodes have no more edges.
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
