"""Two complex event automata as one finite automaton that reads words.

A letter is a type of events with a set of marks, so that a word is a stream with what a run marks in it. Two automata
have the same valuations everywhere exactly if they accept the same words other than the empty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra, Mask
from cerify.automata.cea.model import CEA, Marks
from cerify.automata.subsets import Subset, members, subset
from cerify.semantics.events import Event
from cerify.semantics.values import Value

Letter: TypeAlias = int
"""Type t with the m-th set of marks is t * len(marks) + m."""


@dataclass(frozen=True)
class MarkedNFA:
    """The disjoint union of two automata: the states of the right one come after those of the left.

    types: each type as a set of the algebra's types, between which the automata do not distinguish. events: an event of
    each, None where z3 returned unknown. steps: where each letter leads from each state.
    """

    types: tuple[Mask, ...]
    events: tuple[Event | None, ...]
    marks: tuple[Marks, ...]
    steps: tuple[Mapping[Letter, Subset], ...]
    left: Subset
    right: Subset
    final: Subset

    def after(self, subset: Subset) -> dict[Letter, Subset]:
        """Where each letter leads that leads anywhere."""
        reached: dict[Letter, Subset] = {}
        for q in members(subset):
            for letter, targets in self.steps[q].items():
                reached[letter] = reached.get(letter, 0) | targets
        return reached

    def event(self, letter: Letter) -> Event | None:
        """An event of the letter's type; None where z3 returned unknown."""
        return self.events[letter // len(self.marks)]


def marked_nfa(A: CEA, B: CEA, algebra: Algebra) -> MarkedNFA:
    """The union of both automata, over the types of events that they distinguish. Raises BudgetExceeded."""
    masks = {P: algebra.mask(P) for P in dict.fromkeys((*A.predicates, *B.predicates))}
    grouped: dict[tuple[bool, ...], Mask] = {}
    for i in range(len(algebra.atoms)):
        behaviour = tuple(bool(mask >> i & 1) for mask in masks.values())
        grouped[behaviour] = grouped.get(behaviour, 0) | 1 << i
    types = tuple(grouped.values())
    types_of = {P: [t for t, type_ in enumerate(types) if type_ & mask] for P, mask in masks.items()}
    marks = tuple(dict.fromkeys(t.marks for t in (*A.transitions, *B.transitions)))
    number = {L: m for m, L in enumerate(marks)}
    steps: list[dict[Letter, Subset]] = [{} for _ in range(A.states + B.states)]
    for automaton, offset in ((A, 0), (B, A.states)):
        for t in automaton.transitions:
            step = steps[t.source + offset]
            for type_ in types_of[t.predicate]:
                letter = type_ * len(marks) + number[t.marks]
                step[letter] = step.get(letter, 0) | 1 << (t.target + offset)
    return MarkedNFA(
        types,
        tuple(_simplest(algebra.atoms[i].witness for i in members(type_)) for type_ in types),
        marks,
        tuple(steps),
        subset(A.initial),
        subset(q + A.states for q in B.initial),
        subset(A.final) | subset(q + A.states for q in B.final),
    )


def _simplest(events: Iterable[Event | None]) -> Event | None:
    """The event with the fewest and shortest values."""
    known = [event for event in events if event is not None]
    return min(known, key=lambda e: (len(e.attributes), sum(map(_length, e.attributes.values()))), default=None)


def _length(value: Value) -> int:
    return len(str(value))
