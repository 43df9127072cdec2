"""The prioritized automaton row by row: all threads at once, in the order of preferment, for conditions on columns.

A thread is a labelling of the rows so far that can still be part of the match. Of two threads in one state the
preferred one alone goes on, as what follows is the same; where a thread is complete, those after it are cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way
from cerify.automata.row_pattern.conditions import Columns, truths
from cerify.semantics.row_pattern.clauses import MatchRecognize

Fate = Literal["goes on", "complete", "stuck", "false", "same state", "cut"]
"""Of a thread that may take a row in a state.

The row is taken, and there is a way on, the match is complete, or neither; the condition is not true; a preferred
thread has taken the row in this state; a preferred thread is complete.
"""


@dataclass(frozen=True)
class Thread:
    """The states of the rows so far, the ways on that are preferred to its end, and whether it is complete."""

    states: tuple[int, ...]
    ways: tuple[Way, ...]
    complete: bool


@dataclass(frozen=True)
class Attempt:
    """The states of a thread, the last of them that in which it may take the row, and what becomes of it."""

    states: tuple[int, ...]
    fate: Fate


@dataclass(frozen=True)
class Layer:
    """A row that is read: all attempts, and the threads that go on, both in the order of preferment.

    preferred: the states of the most preferred labelling that is complete by now, if there is one.
    """

    r: int
    attempts: tuple[Attempt, ...]
    threads: tuple[Thread, ...]
    preferred: tuple[int, ...] | None


@dataclass(frozen=True)
class Threads:
    """The columns of a partition; the clause's conditions look at columns alone (conditions.why_not)."""

    q: MatchRecognize
    automaton: Automaton
    columns: Columns
    length: int

    def layers(self, s: int) -> Iterator[Layer]:
        """The search for the match that starts at a row: row by row until no thread is left.

        The first layer, without attempts, is the one before that row.
        """
        begin = self._thread((), self.automaton.first, s, s == 0)
        layer = Layer(s, (), (begin,) if begin.ways else (), () if begin.complete else None)
        yield layer
        for r in range(s, self.length):
            if not layer.threads:
                return
            layer = self._read(layer, r)
            yield layer

    def match_at(self, s: int, number: int) -> list[int] | None:
        """The states of the rows of the match that starts at a row; None where there is none."""
        *_, last = self.layers(s)
        return None if last.preferred is None else [*last.preferred]

    @cached_property
    def _true(self) -> dict[str, list[bool]]:
        return {A: truths(e, A, self.columns, self.length) for A, e in self.q.conditions.items()}

    def _thread(self, states: tuple[int, ...], ways: Sequence[Way], r: int, at_start: bool) -> Thread:
        """The thread after these states, before the row r; a way is open where its anchors hold and it has a row."""
        onward: list[Way] = []
        for way in ways:
            if (way.start and not at_start) or (way.end and r < self.length):
                continue
            if way.target == ACCEPT:
                return Thread(states, tuple(onward), True)
            if r < self.length:
                onward.append(way)
        return Thread(states, tuple(onward), False)

    def _read(self, before: Layer, r: int) -> Layer:
        attempts, threads, reached, preferred = [], [], set[int](), before.preferred
        is_complete = False
        for thread in before.threads:
            for way in thread.ways:
                states, A = (*thread.states, way.target), self.automaton.variables[way.target]
                fate: Fate
                if is_complete:
                    fate = "cut"
                elif way.target in reached:
                    fate = "same state"
                elif A in self._true and not self._true[A][r]:
                    fate = "false"
                else:
                    reached.add(way.target)
                    after = self._thread(states, self.automaton.follow[way.target], r + 1, False)
                    fate = "complete" if after.complete else "goes on" if after.ways else "stuck"
                    if after.complete:
                        preferred, is_complete = states, True
                    if after.ways:
                        threads.append(after)
                attempts.append(Attempt(states, fate))
        return Layer(r, tuple(attempts), tuple(threads), preferred)
