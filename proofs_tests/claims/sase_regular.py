"""From NFA^b without aggregation to finite automata over finitely many events: sase07, Theorem 4.1, 5 implies 1.

The buffer grows with the run; but without aggregates the conditions look at the first and at the last events of a
variable alone. With finitely many events there are finitely many such memories. The text says only that an NFA^b is a
special kind of NFA.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab.moves import NfabConfiguration, Runs
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import mentions
from cerify.semantics.sase.syntax import SaseAggregate

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
        return frozenset(following for memory in memories for following in self._moved(memory, letter))

    def ends(self, memories: Iterable[Memory], letter: int) -> bool:
        """Whether some match of a run with one of these memories has this letter as its last event."""
        return self.accepts(following for memory in memories for following in self._moved(memory, letter, taken=True))

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
                    pending.extend(self._moved(memory, letter))
        return frozenset(seen)

    def _moved(self, memory: Memory, letter: int, taken: bool = False) -> Iterator[Memory]:
        """The memories after the moves that read the letter, or only those that take it, proceed moves included."""
        word, now = self._configuration(memory)
        word.append(letter)
        runs = Runs(self.A, Stream(self.letters[x] for x in word))
        pending = [now]
        while pending:
            for step, following in runs.moves(pending.pop()):
                if step.move == "proceed":
                    pending.append(following)
                elif step.move != "ignore" or not taken:
                    yield self._memory(following, word)

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

    def _memory(self, now: NfabConfiguration, word: Sequence[int]) -> Memory:
        kept = ((variable, (ps[0], ps[-1]) if len(ps) > 1 else ps) for variable, ps in now.buffer)
        return now.state, tuple((variable, tuple(word[p] for p in ps)) for variable, ps in kept)
