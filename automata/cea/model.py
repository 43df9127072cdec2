"""Complex event automata: tods21, Definition 5.1.

Letters, here and in every module of this package:
    A  an automaton      p, q  states      P  a tuple predicate      L  a set of variables, empty for not marking
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from cerify.semantics.predicates import Predicate

Marks = frozenset[str]
UNMARKED: Marks = frozenset()


class Transition(NamedTuple):
    """From source to target on an event in the predicate, which is marked with the variables of marks."""

    source: int
    predicate: Predicate
    marks: Marks
    target: int


@dataclass(frozen=True)
class CEA:
    """(Q, Delta, I, F) with Q = {0, ..., states - 1}."""

    states: int
    transitions: tuple[Transition, ...]
    initial: frozenset[int]
    final: frozenset[int]

    @property
    def size(self) -> int:
        """|A|: the number of states plus the number of transitions."""
        return self.states + len(self.transitions)

    def remarked(self, other: Mapping[Marks, Marks]) -> CEA:
        """The same automaton with other marks on its transitions; of transitions that become equal one is left."""
        remarked = dict.fromkeys(t._replace(marks=other[t.marks]) for t in self.transitions)
        return replace(self, transitions=tuple(remarked))

    @cached_property
    def marks(self) -> frozenset[Marks]:
        """The different marks of the transitions."""
        return frozenset(t.marks for t in self.transitions)

    def shifted(self, by: int) -> CEA:
        """The same automaton with its states renumbered from by on, to stand beside one of by states."""
        return CEA(
            self.states,
            tuple(t._replace(source=t.source + by, target=t.target + by) for t in self.transitions),
            frozenset(q + by for q in self.initial),
            frozenset(q + by for q in self.final),
        )

    @cached_property
    def leaving(self) -> tuple[tuple[Transition, ...], ...]:
        """The transitions that leave each state."""
        leaving: list[list[Transition]] = [[] for _ in range(self.states)]
        for transition in self.transitions:
            leaving[transition.source].append(transition)
        return tuple(map(tuple, leaving))

    @cached_property
    def steps(self) -> tuple[tuple[tuple[int, Marks, int], ...], ...]:
        """The transitions that leave each state: 1 << i for the i-th of the predicates, the marks, and the target."""
        bit = {P: 1 << i for i, P in enumerate(self.predicates)}
        return tuple(tuple((bit[t.predicate], t.marks, t.target) for t in leaving) for leaving in self.leaving)

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """The distinct predicates of the transitions, in order of first use."""
        return tuple(dict.fromkeys(transition.predicate for transition in self.transitions))
