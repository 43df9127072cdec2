"""The finite Boolean algebra that some predicates generate: its atoms are their types, its elements sets of types.

An automaton's predicates are combined again and again on the way through a compiler. Here each combination is a set of
types, so that what is equal is recognized, what is empty is dropped, and a predicate is written down as a short
decision over the generators, however it came about.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeAlias, assert_never

from cerify.automata.algebra.solver import MIRRORED, Allowed, Test, Values, fits, solve
from cerify.automata.algebra.values import DEFAULT, Truth, pieces, tested_attribute
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, InternalError
from cerify.semantics.events import TIME, Event, Schema
from cerify.semantics.predicates import (
    Anything,
    Both,
    Either,
    Not,
    OfType,
    Predicate,
    atoms,
    combined,
    mentions,
    outcomes,
)
from cerify.semantics.values import Value, ValueType

# ---------------------------------------------------------------------------------------------------------------------
# The types of events with respect to some predicates, decided: tods21, Definition 5.6.
#
# A type is a choice of the predicates that hold, such that some event is in all of these and in none of the others. It
# is found by fixing first the event's type, then one attribute after the other to each of the pieces into which the
# tests of the predicates cut its values (values.py). Tests that are not simple, such as arithmetic and comparisons of
# two attributes, are left to a solver (solver.py), and where that gives up the type is kept, without an event to show
# for it.

Residual: TypeAlias = pred.Predicate | bool
"""A predicate in which some tests are replaced by their truth values."""

Residuals: TypeAlias = tuple[Residual, ...]
OTHER = "Other"  # the name, varied where it is taken, of an event type that no predicate names


@dataclass(frozen=True)
class Minterm:
    """A type of events: the indices of the true predicates, and an event of the type (None: the solver found none)."""

    chosen: frozenset[int]
    witness: Event | None


def minterms(
    predicates: Sequence[pred.Predicate], schema: Schema | None = None, budget: Budget = Budget(), solver: bool = True
) -> tuple[Minterm, ...]:
    """Return all types with respect to the predicates; with a schema those that its events can have. Raises
    BudgetExceeded.

    Without the solver a choice of the tests that are not simple counts as possible unless simple rules exclude it.
    """
    search = _Search(budget, solver)
    found: dict[Truth, Event | None] = {}
    named = list(dict.fromkeys(test for P in predicates for test in tests_of(P) if isinstance(test, pred.OfType)))
    for R in _event_types(named, schema):
        is_R: dict[Test, bool] = {test: test.type == R for test in named}
        residuals = tuple(_assume(P, is_R) for P in predicates)
        for truth, values in search.types(residuals, None if schema is None else schema.types[R]).items():
            if found.get(truth) is None:
                found[truth] = values if values is None else _event(R, values, schema)
    return tuple(Minterm(frozenset(i for i, yes in enumerate(t) if yes), event) for t, event in found.items())


def _event_types(named: list[pred.OfType], schema: Schema | None) -> list[str]:
    if schema is not None:
        return list(schema.types)
    names = [test.type for test in named]
    other = OTHER
    while other in names:
        other += "_"
    return [*names, other]


def _event(R: str, values: Values, schema: Schema | None) -> Event:
    """Return the event with these values; what they leave open gets the default of its type, if there is a schema."""
    defaults = {} if schema is None else {name: DEFAULT[value_type] for name, value_type in schema.types[R].items()}
    return Event(R, {name: value for name, value in {**defaults, **values}.items() if value is not None})


class _Search:
    """Search for the types that residuals can have on events of one type; remembers results."""

    def __init__(self, budget: Budget, solver: bool) -> None:
        self.budget = budget
        self.solver = solver
        self._until = None if budget.seconds is None else time.monotonic() + budget.seconds
        self._known: dict[tuple[Residuals, tuple[tuple[str, ValueType], ...]], dict[Truth, Values | None]] = {}

    def types(self, residuals: Residuals, allowed: Allowed) -> dict[Truth, Values | None]:
        """Each truth that the residuals can have together, with values that show it."""
        tests = list(dict.fromkeys(test for P in residuals if not isinstance(P, bool) for test in tests_of(P)))
        if not tests:
            return {tuple(P is True for P in residuals): {}}
        key = (residuals, tuple((allowed or {}).items()))
        if key not in self._known:
            attribute = _separate(tests)
            split = (
                self._solve_tests(residuals, tests, allowed)
                if attribute is None
                else (self._cut(residuals, tests, attribute, allowed))
            )
            found: dict[Truth, Values | None] = {}
            for truth, values in split:
                check_time()  # of the call under way, of which this may be one of many questions
                if found.get(truth) is None:
                    found[truth] = values
                if len(found) > self.budget.states:
                    raise BudgetExceeded(f"the {len(residuals)} predicates have more than {self.budget.states} types")
                if self._until is not None and time.monotonic() > self._until:
                    seconds = f"{self.budget.seconds} seconds"
                    raise BudgetExceeded(f"the types of {len(residuals)} predicates take more than {seconds} to find")
            self._known[key] = found
        return self._known[key]

    def _cut(
        self, residuals: Residuals, tests: list[Test], attribute: str, allowed: Allowed
    ) -> Iterator[tuple[Truth, Values | None]]:
        """Yield the attribute set to a value of each piece, and then the rest."""
        about = [test for test in tests if tested_attribute(test) == attribute]
        if allowed is not None and attribute not in allowed and attribute != TIME:
            cut: dict[Truth, Value | None] = {tuple(False for _ in about): None}
        else:
            cut = pieces(about, (allowed or {}).get(attribute))
        for truth, value in cut.items():
            known = dict(zip(about, truth, strict=True))
            for rest, values in self.types(tuple(_assume(P, known) for P in residuals), allowed).items():
                yield rest, values if values is None else {attribute: value, **values}

    def _solve_tests(
        self, residuals: Residuals, tests: list[Test], allowed: Allowed
    ) -> Iterator[tuple[Truth, Values | None]]:
        """Each choice of the tests that decides the residuals, if a solver does not exclude it."""
        pending: list[tuple[Residuals, dict[Test, bool]]] = [(residuals, {})]
        while pending:
            check_time()
            residuals, known = pending.pop()
            test = next((t for P in residuals if not isinstance(P, bool) for t in tests_of(P)), None)
            if test is not None:
                for choice in (False, True):
                    chosen = {**known, test: choice}
                    if fits(test, chosen, allowed):
                        pending.append((tuple(_assume(P, {test: choice}) for P in residuals), chosen))
                if len(pending) > self.budget.states:
                    raise BudgetExceeded(
                        f"{len(tests)} comparisons of several attributes have too many combinations; compare fewer "
                        "attributes with each other"
                    )
            elif (solution := solve(known, allowed, self.solver)).possible:
                yield tuple(P is True for P in residuals), solution.values


def tests_of(predicate: pred.Predicate) -> Iterator[Test]:
    """Return the tests that a predicate combines, left to right, with repetitions; `3 < x` is the test `x > 3`."""
    parts = (predicate,) if isinstance(predicate, pred.Atomic) else atoms(predicate)
    return (_oriented(atom) for atom in parts if not isinstance(atom, pred.Anything))


@lru_cache(maxsize=4096)
def _oriented(test: Test) -> Test:
    """Return the comparison with its terms in one order, so that `3 < x` and `x > 3` are one test."""
    if isinstance(test, pred.Comparison) and _rank(test.left) > _rank(test.right):
        return pred.Comparison(MIRRORED[test.comparator], test.right, test.left)
    return test


def _rank(term: pred.Term) -> tuple[bool, str]:
    return isinstance(term, pred.Constant), repr(term)


def _separate(tests: list[Test]) -> str | None:
    """Return an attribute of which there are only simple tests, if there is one."""
    entangled = {a.name for test in tests if tested_attribute(test) is None for a in mentions(test)}
    return next((a for test in tests if (a := tested_attribute(test)) is not None and a not in entangled), None)


def _assume(residual: Residual, known: Mapping[Test, bool]) -> Residual:
    """Return the predicate with some tests replaced by their truth values, simplified."""
    if isinstance(residual, bool):
        return residual

    def of_atom(atom: pred.Atomic) -> Residual:
        if isinstance(atom, pred.Anything):
            return True
        test = _oriented(atom)
        return known.get(test, test)

    if isinstance(residual, pred.Atomic):
        return of_atom(residual)
    return combined(
        residual,
        of_atom,
        lambda inner: not inner if isinstance(inner, bool) else pred.Not(inner),
        lambda left, right: _combined(pred.Both, left, right, False),
        lambda left, right: _combined(pred.Either, left, right, True),
    )


def _combined(
    connective: type[pred.Both] | type[pred.Either], left: Residual, right: Residual, decisive: bool
) -> Residual:
    if left is decisive or right is decisive:
        return decisive
    if isinstance(left, bool):
        return right
    return left if isinstance(right, bool) else connective(left, right)


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
        """Return the generators, each once, the event's type first, as a person would distinguish them."""
        return sorted(dict.fromkeys(self._generators), key=lambda P: not isinstance(P, OfType))

    @cached_property
    def atoms(self) -> tuple[Minterm, ...]:
        """Return the types, each with an event of it. Raises BudgetExceeded."""
        budget = replace(self.budget, states=min(self.budget.states, TYPES))
        atoms = minterms(self.generators, self.schema, budget, self.solver)
        for g, generator in enumerate(self.generators):
            self._masks[generator] = sum(1 << i for i, atom in enumerate(atoms) if g in atom.chosen)
        return atoms

    @cached_property
    def everything(self) -> Mask:
        """Return the set of all types."""
        return (1 << len(self.atoms)) - 1

    def masks(self, predicates: Iterable[Predicate]) -> dict[Predicate, Mask]:
        """Return the types of each predicate, as `mask` does. Raises BudgetExceeded."""
        return {predicate: self.mask(predicate) for predicate in predicates}

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
                    raise InternalError(f"{predicate} is not a combination of the generators")
            self._masks[predicate] = mask
        return mask

    def predicate(self, mask: Mask) -> Predicate:
        """Return the events of these types."""
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
        """Return a predicate that is true of the wanted types, among these types."""
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


# ---------------------------------------------------------------------------------------------------------------------
# The coarsest algebra of tuple predicates: it knows that an event has one type, and of attributes it knows nothing.
#
# What it calls unsatisfiable is; what it calls satisfiable may still be empty, which costs size and never correctness:
# no event is ever in an empty predicate.

OTHER_TYPE = None  # any event type that the predicate does not name


def satisfiable(predicate: pred.Predicate) -> bool:
    """Return whether some event may be in the predicate, its comparisons taken as free choices."""
    names = {atom.type for atom in atoms(predicate) if isinstance(atom, pred.OfType)}
    return any(outcomes(predicate, lambda atom, name=name: _possible(atom, name))[0] for name in [*names, OTHER_TYPE])  # type: ignore[misc]


def _possible(atom: pred.Atomic, name: str | None) -> tuple[bool, bool]:
    """Return whether the predicate can be true, and whether it can be false, of an event of the type."""
    match atom:
        case pred.Anything():
            return True, False
        case pred.OfType(R):
            return name == R, name != R
        case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
            return True, True
        case _:
            assert_never(atom)
