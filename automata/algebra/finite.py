"""The finite Boolean algebra that some predicates generate: its atoms are their types, its elements sets of types.

An automaton's predicates are combined again and again on the way through a compiler. Here each combination is a set of
types, so that what is equal is recognized, what is empty is dropped, and a predicate is written down as a short
decision over the generators, however it came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from cerify.automata.algebra.minterms import Minterm, minterms
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InternalError
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Anything, Both, Either, Not, OfType, Predicate

Mask: TypeAlias = int
"""A set of types: bit i for the i-th."""

Decision: TypeAlias = Predicate | bool

TYPES = 4096  # that is twelve tests that have nothing to do with each other; each type is a step of each state


def types(predicates: Sequence[Predicate], budget: Budget = Budget()) -> list[tuple[frozenset[int], Predicate]]:
    """types(P) of Definition 5.6: each satisfiable choice of the predicates, by index, with its predicate.

    The predicates returned exclude each other, and every event is in one of them. Raises BudgetExceeded.
    """
    return Algebra(predicates, budget).types(predicates)


class Algebra:
    """All Boolean combinations of the generators; without the solver some of its types may be empty."""

    def __init__(
        self,
        generators: Iterable[Predicate],
        budget: Budget = Budget(),
        schema: Schema | None = None,
        solver: bool = False,
    ) -> None:
        self._generators = generators
        self.budget = budget
        self.schema = schema
        self.solver = solver
        self._masks: dict[Predicate, Mask] = {}
        self._predicates: dict[Mask, Predicate] = {}

    @cached_property
    def generators(self) -> list[Predicate]:
        """The generators, each once, the event's type first, as a person would distinguish them."""
        return sorted(dict.fromkeys(self._generators), key=lambda P: not isinstance(P, OfType))

    @cached_property
    def atoms(self) -> tuple[Minterm, ...]:
        """The types, each with an event of it. Raises BudgetExceeded."""
        budget = replace(self.budget, states=min(self.budget.states, TYPES))
        atoms = minterms(self.generators, self.schema, budget, self.solver)
        for g, generator in enumerate(self.generators):
            self._masks[generator] = sum(1 << i for i, atom in enumerate(atoms) if g in atom.chosen)
        return atoms

    @cached_property
    def everything(self) -> Mask:
        """The set of all types."""
        return (1 << len(self.atoms)) - 1

    def mask(self, predicate: Predicate) -> Mask:
        """The types whose events are in the predicate, a combination of the generators. Raises BudgetExceeded."""
        everything = self.everything  # fills in the generators' masks
        if (mask := self._masks.get(predicate)) is None:
            match predicate:
                case Anything():
                    mask = everything
                case Not(inner):
                    mask = everything & ~self.mask(inner)
                case Both(left, right):
                    mask = self.mask(left) & self.mask(right)
                case Either(left, right):
                    mask = self.mask(left) | self.mask(right)
                case _:
                    raise InternalError(f"{predicate} is no combination of the generators")
            self._masks[predicate] = mask
        return mask

    def predicate(self, mask: Mask) -> Predicate:
        """The events of these types."""
        if (predicate := self._predicates.get(mask)) is None:
            decision = self.decision(self.everything, mask)
            predicate = decision if not isinstance(decision, bool) else Anything() if decision else Not(Anything())
            self._predicates[mask] = predicate
            self._masks[predicate] = mask
        return predicate

    def types(self, predicates: Sequence[Predicate]) -> list[tuple[frozenset[int], Predicate]]:
        """types(P) of Definition 5.6 for combinations of the generators. Raises BudgetExceeded."""
        split: list[tuple[frozenset[int], Mask]] = [(frozenset(), self.everything)]
        for i, P in enumerate(predicates):
            mask = self.mask(P)
            halves = [(c | {i}, part & mask) for c, part in split] + [(c, part & ~mask) for c, part in split]
            split = [(chosen, part) for chosen, part in halves if part]
        return [(chosen, self.predicate(part)) for chosen, part in split]

    def decision(self, among: Mask, wanted: Mask) -> Decision:
        """A predicate that, on events whose type is one of these, is true of the wanted types only."""
        if wanted in (0, among):
            return wanted == among
        cuts = [(P, self._masks[P]) for P in self.generators if self._masks[P] & among not in (0, among)]
        P, mask = min(cuts, key=lambda cut: _undecided(among & cut[1], wanted) + _undecided(among & ~cut[1], wanted))
        return _choice(P, self.decision(among & mask, wanted & mask), self.decision(among & ~mask, wanted & ~mask))


def _undecided(among: Mask, wanted: Mask) -> bool:
    return wanted & among not in (0, among)


def _choice(P: Predicate, yes: Decision, no: Decision) -> Predicate:
    """yes for the events in P, no for the others."""
    if yes is True and no is False:
        return P
    if isinstance(yes, bool):
        if isinstance(no, bool):
            return Not(P)
        return Either(P, no) if yes else Both(Not(P), no)
    if isinstance(no, bool):
        return Either(Not(P), yes) if no else Both(P, yes)
    return Either(Both(P, yes), Both(Not(P), no))
