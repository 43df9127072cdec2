"""Event expressions over a history by tables, in readable Python: one look-up for each event and expression.

The compiled twin is compiled.CompiledRunner.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Protocol

from cerify.automata.dfa.classes import Classes
from cerify.automata.dfa.decide import coaccessible_states
from cerify.automata.dfa.model import DFA, Names, require_first
from cerify.semantics.event_expressions.syntax import START
from cerify.semantics.events import Event, Stream

NO_VARIABLE: Names = frozenset()


class Positions(Protocol):
    """Positions in ascending order, as 64-bit integers: an array of Python's own, or one of NumPy."""

    def tolist(self) -> list[int]:
        """The positions as a list."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice, /) -> Positions: ...


class TableRunner:
    """The states of some automata over one history, which is read an event or a batch of events at a time.

    Results name an expression by the index of its automaton. position is that of the next event.
    """

    def __init__(self, automata: Sequence[DFA]) -> None:
        self.automata = tuple(automata)
        self.restart()
        self.classes = Classes(self.automata)
        self._steps: list[list[list[int]]] = []  # of each class, for each automaton, the state after each state

    def restart(self) -> None:
        """Begin a new history; the classes of events are not computed again."""
        self.states = [0] * len(self.automata)
        self.position = 0

    def state(self) -> list[int]:
        """The state of each automaton, for resume."""
        return list(self.states)

    def resume(self, states: list[int], position: int) -> None:
        """Continue in these states at a position. Raises ValueError where the automata do not have them."""
        if len(states) != len(self.automata) or not all(
            isinstance(q, int) and 0 <= q < len(A.following) for q, A in zip(states, self.automata, strict=True)
        ):
            raise ValueError(states)
        self.states, self.position = list(states), position

    def push(self, event: Event) -> list[int]:
        """The expressions that take place at the next event. Raises InputError for a late start event."""
        require_first(event, self.position)
        return self._advance(self.classes.of_event(event))

    def read(self, S: Stream) -> list[Positions]:
        """For each expression the positions of the events, of the next ones, at which it takes place.

        Raises InputError for a late start event.
        """
        found: list[list[int]] = [[] for _ in self.automata]
        classes = self.classes.listed(S)
        self._require_starts(i for i, c in enumerate(classes) if c in self.classes.starts)
        for c in classes:
            for k in self._advance(c):
                found[k].append(self.position - 1)
        return [array("q", positions) for positions in found]

    def can_still(self) -> list[bool]:
        """For each expression whether it may take place at an event to come."""
        return [q in states for q, states in zip(self.states, self._coaccessible, strict=True)]

    @cached_property
    def _coaccessible(self) -> list[frozenset[int]]:
        return list(map(coaccessible_states, self.automata))

    def _advance(self, c: int) -> list[int]:
        """Read an event of the class."""
        self._tabulate()
        self.states = [steps[q] for steps, q in zip(self._steps[c], self.states, strict=True)]
        self.position += 1
        return [k for k, A in enumerate(self.automata) if self.states[k] in A.accepting]

    def _tabulate(self) -> None:
        """Extend the tables to the classes that are new."""
        for types in self.classes.types[len(self._steps) :]:
            self._steps.append([column(A, a) for A, a in zip(self.automata, types, strict=True)])

    def _require_starts(self, places: Iterable[int]) -> None:
        """None of the start events among the next events, which are at these places there, is a late one."""
        for i in islice(places, 2):
            require_first(Event(START), self.position + i)


def column(A: DFA, a: int) -> list[int]:
    """The state after each state with an event of the type; a start event that comes later has been refused."""
    return [following.get((a, NO_VARIABLE), 0) for following in A.following]
