"""From NFA^b without aggregation to finite automata over finitely many events: sase07, Theorem 4.1, 5 implies 1.

The buffer grows with the run; but without aggregates the conditions look at the first event of a variable and at
the last two so far. With finitely many events there are finitely many such memories. The text says only that an NFA^b
is a special kind of NFA.

Composition: what a query returns on a word is a word too. How many matches end at an event is a number without a bound;
but a finite automaton that reads their results tells only finitely many numbers apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Any, Protocol, TypeAlias, cast

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab.moves import NfabConfiguration, Runs
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import mentions
from cerify.semantics.sase import interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import SaseAggregate, type_of
from cerify.semantics.values import Value

Memory: TypeAlias = tuple[nfab.NfabState, tuple[tuple[str, tuple[int, ...]], ...]]
"""A state, and of each variable the letters of its first and its last event, or of its only one."""


@dataclass(frozen=True)
class Regular:
    """A nondeterministic finite automaton over the numbers of letters, whose states are the memories of an NFA^b.

    Raises Unsupported for one with a window or an aggregate, whose moves depend on more.
    """

    A: nfab.NFAb
    letters: Sequence[Event]

    def __post_init__(self) -> None:
        pending = list(self.A.theta.values())
        while pending:
            match pending.pop():
                case nfab.NfabConjunction(parts) | nfab.NfabDisjunction(parts):
                    pending.extend(parts)
                case nfab.Negation(inner):
                    pending.append(inner)
                case nfab.Elapsed():
                    raise Unsupported("times are not of finitely many kinds: leave WITHIN out")
                case nfab.NfabTest(p, _) if any(isinstance(a, SaseAggregate) for a in mentions(p)):
                    raise Unsupported("an aggregate is about all events of a variable, which no finite automaton keeps")

    def initial(self) -> frozenset[Memory]:
        """The memories before the first letter."""
        return frozenset({(self.A.initial, ())})

    def after(self, memories: Iterable[Memory], letter: int) -> frozenset[Memory]:
        """The memories after one more letter."""
        return frozenset(following for memory in memories for _, following in self.moves(memory, letter))

    def ends(self, memories: Iterable[Memory], letter: int) -> bool:
        """Whether some match of a run with one of these memories has this letter as its last event."""
        found = (step for memory in memories for step in self.moves(memory, letter))
        return self.accepts(following for variable, following in found if variable is not None)

    def accepts(self, memories: Iterable[Memory]) -> bool:
        """Whether a word that leads to one of the memories is in L(A)."""
        return any(state == self.A.final for memory in memories for state, _ in self._left(memory))

    def states(self) -> frozenset[Memory]:
        """All memories that some word leads to."""
        seen: set[Memory] = set()
        pending = list(self.initial())
        while pending:
            memory = pending.pop()
            if memory not in seen:
                seen.add(memory)
                for letter in range(len(self.letters)):
                    pending.extend(following for _, following in self.moves(memory, letter))
        return frozenset(seen)

    def moves(self, memory: Memory, letter: int) -> Iterator[tuple[str | None, Memory]]:
        """The memories after the moves that read the letter, each with the variable that takes it, if one does."""
        word, now = self._configuration(memory)
        word.append(letter)
        runs = Runs(self.A, Stream(self.letters[x] for x in word))
        pending = [now]
        while pending:
            for step, following in runs.moves(pending.pop()):
                if step.move == "proceed":
                    pending.append(following)
                else:
                    taken = None if step.move == "ignore" else following.buffer[-1][0]
                    yield taken, self._memory(following, word)

    def _left(self, memory: Memory) -> Iterator[Memory]:
        """The memory, and those that proceed moves lead to at the end of the word."""
        word, now = self._configuration(memory)
        runs = Runs(self.A, Stream(self.letters[x] for x in word))
        pending = [now]
        while pending:
            now = pending.pop()
            yield self._memory(now, word)
            pending.extend(following for _, following in runs.moves(now))

    def _configuration(self, memory: Memory) -> tuple[list[int], NfabConfiguration]:
        """A short word whose events are those remembered, and the configuration after it."""
        state, remembered = memory
        word: list[int] = []
        buffer = []
        for variable, letters in remembered:
            buffer.append((variable, tuple(range(len(word), len(word) + len(letters)))))
            word += letters
        return word, NfabConfiguration(state, len(word), tuple(buffer))

    def result(self, memory: Memory, q: sase.SaseQuery) -> Event:
        """What a match with this memory returns, as an event."""
        word, now = self._configuration(memory)
        made = interpreter.result(q, now.buffer, [self.letters[x] for x in word])
        return Event(type_of(q.returned), {name: cast(Value, value) for name, value in made.items()})

    def _memory(self, now: NfabConfiguration, word: Sequence[int]) -> Memory:
        kept = ((variable, (ps[0], ps[-1]) if len(ps) > 1 else ps) for variable, ps in now.buffer)
        return now.state, tuple((variable, tuple(word[p] for p in ps)) for variable, ps in kept)


class Accepting(Protocol):
    """A deterministic automaton over the numbers of letters."""

    def initial(self) -> Hashable: ...
    def after(self, state: Any, letter: int) -> Hashable: ...
    def accepts(self, state: Any) -> bool: ...


@dataclass(frozen=True)
class Parity:
    """The words in which the letter 0 stands an even number of times."""

    def initial(self) -> int:
        return 0

    def after(self, state: int, letter: int) -> int:
        return state ^ (letter == 0)

    def accepts(self, state: int) -> bool:
        return state == 0


@dataclass(frozen=True)
class Composed:
    """A deterministic automaton for the words whose results, read in order, are a word of L.

    Its states are one of L, and for each set of memories that a marked word leads to the number of those words: up to
    a threshold and modulo a period, by which L reads a letter that is repeated.
    """

    N: Regular
    q: sase.SaseQuery
    L: Accepting
    results: tuple[Event, ...]
    threshold: int
    period: int
    known: dict[tuple[frozenset[Memory], int], list[tuple[frozenset[Memory], int | None]]] = field(default_factory=dict)

    def initial(self) -> Hashable:
        return frozenset(), self.L.initial()

    def accepts(self, state: tuple[Any, Any]) -> bool:
        return self.L.accepts(state[1])

    def after(self, state: tuple[frozenset[tuple[frozenset[Memory], int]], Any], letter: int) -> Hashable:
        counts, now = state
        following, found = Counter[frozenset[Memory]](), Counter[int]()
        for memories, n in (*counts, (self.N.initial(), 1)):
            for group, number in self._marked(memories, letter):
                following[group] += n
                if number is not None:
                    found[number] += n
        for number, n in sorted(found.items()):
            for _ in range(self.least(n)):
                now = self.L.after(now, number)
        return frozenset((group, self.least(n)) for group, n in following.items()), now

    def _marked(self, memories: frozenset[Memory], letter: int) -> list[tuple[frozenset[Memory], int | None]]:
        """The memories after the letter, for each variable that may take it or none, and the result of a match."""
        if (memories, letter) not in self.known:
            groups = defaultdict[str | None, set[Memory]](set)
            for memory in memories:
                for variable, after in self.N.moves(memory, letter):
                    groups[variable].add(after)
            self.known[memories, letter] = [(frozenset(group), self._returned(group)) for group in groups.values()]
        return self.known[memories, letter]

    def _returned(self, memories: Iterable[Memory]) -> int | None:
        """The number of the result, if these are the memories of a match: its last event is its last component."""
        final = next((memory for memory in memories if memory[0] == self.N.A.final), None)
        return None if final is None else self.results.index(self.N.result(final, self.q))

    def least(self, n: int) -> int:
        """The least number that L cannot tell from n copies of a letter."""
        return n if n < self.threshold else self.threshold + (n - self.threshold) % self.period


def composed(N: Regular, q: sase.SaseQuery, L: Callable[[tuple[Event, ...]], Accepting]) -> Composed:
    """The automaton for a query whose last component is a single event, and for the L of the results that it can have.

    Results are numbered in the order of their values.
    """
    made = (N.result(memory, q) for memory in N.states() if memory[0] == N.A.final)
    results = tuple(dict(sorted((repr(event), event) for event in made)).values())
    over, threshold, period = L(results), 0, 1
    for state in reachable(over, len(results)):
        for letter in range(len(results)):
            seen = [state]
            while (state := over.after(state, letter)) not in seen:
                seen.append(state)
            threshold, period = max(threshold, seen.index(state)), lcm(period, len(seen) - seen.index(state))
            state = seen[0]
    return Composed(N, q, over, results, threshold, period)


def reachable(A: Accepting, letters: int) -> list[Hashable]:
    """All states that some word over so many letters leads to."""
    states = dict.fromkeys([A.initial()])
    pending = list(states)
    for state in pending:
        for letter in range(letters):
            if (following := A.after(state, letter)) not in states:
                states[following] = None
                pending.append(following)
    return pending
