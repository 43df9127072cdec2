"""core-CEL in CEL: a formula with the same complex events at every position of every stream.

R AS x becomes R IN x, and a filter on x one on the set x: that is right where x holds just the event of the
valuation. To that end the formula is read as a set of alternatives, the ways through its ORs, as in the proofs that a
formula can be made safe and brought into LP-normal form (cep17, section 5, Theorems 1 and 2):
- an alternative that defines a variable on both sides of a sequence has no complex event, and is dropped;
- a filter is put around the smallest part of the alternative that holds its variables; until then it is pending;
- a filter inside an iteration on one variable of the rounds is pending as one on all rounds: that is the meaning of a
  filter on a set in CEL. A filter inside an iteration on variables around it is one on the whole iteration, which is
  split by the filters that its rounds use.
Alternatives are distinguished only where a filter depends on them, or a sequence that defines the same variable.
What is refused, and on which streams the languages differ there: docs/guide/translations.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TypeAlias, assert_never

from cerify.equivalence.rewrite.translate.names import Names, named_apart, renamed_condition
from cerify.equivalence.rewrite.translate.strategies import NAMES, Choice, keeps_all, not_first
from cerify.equivalence.rewrite.trees import mapped
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.variables import Variables, defined_outside_iteration, free, mentioned
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.predicates import Attribute, mentions

NOTHING: Variables = frozenset()
CHOICES: Mapping[type[Choice], type[cel.Next | cel.Last | cel.Max]] = {
    core.Next: cel.Next,
    core.Last: cel.Last,
    core.Max: cel.Max,
}


def to_cel(phi: core.Formula, budget: Budget = Budget()) -> cel.Formula:
    """As `translated`. Raises Unsupported where there is no formula, and BudgetExceeded."""
    found = translated(phi, budget)
    if isinstance(found, Unsupported):
        raise found
    return found


def translated(phi: core.Formula, budget: Budget = Budget()) -> cel.Formula | Unsupported:
    """A CEL formula with the complex events of phi at every position.

    Unsupported where CEL has no such formula or this translation finds none. Raises BudgetExceeded where it would be
    too large.
    """
    try:
        apart, names = named_apart(phi)
        translation = _Translation(names, budget)
        found = translation.alternatives(apart, NOTHING, anchored=True)
    except RecursionError:
        raise BudgetExceeded("the formula is nested too deeply", phi.span) from None
    for one in found:
        for constraint in _ordered(one.pending):
            translation.refuse(translation.looks_ahead(constraint, constraint.single - one.held))
    if translation.refused is not None:
        return translation.refused
    if not found:  # no alternative has a complex event
        R = next(cel.Event(psi.type) for psi in core.subformulas(phi) if isinstance(psi, core.Event))
        return cel.Unless(R, R)
    return found[0].phi


@dataclass(frozen=True)
class PendingConstraint:
    """An atom that has to hold, put nowhere yet; many are those of its variables that each round binds anew."""

    atom: core.Condition
    many: Variables = NOTHING

    @property
    def single(self) -> Variables:
        """Its variables that hold one event."""
        return mentioned(self.atom) - self.many


PendingConstraints: TypeAlias = frozenset[PendingConstraint]


@dataclass(frozen=True)
class _Alternative:
    """A way through a formula. held are the variables that hold one event of it, of those that were asked for."""

    held: Variables
    pending: PendingConstraints
    phi: cel.Formula
    nodes: int

    def around(self, operator: Callable[[cel.Formula], cel.Formula]) -> _Alternative:
        """The alternative under an operator."""
        return _Alternative(self.held, self.pending, operator(self.phi), self.nodes + 1)


class _Translation:
    """Translates, and keeps to a budget: the nodes of a formula, and the alternatives that are looked at.

    refused: the first reason why there is no formula; what the methods return is of no use then.
    """

    def __init__(self, names: Names, budget: Budget) -> None:
        self.refused: Unsupported | None = None
        self.names = names
        self.most = budget.states
        self.made = 0

    def alternatives(self, phi: core.Formula, asked: Variables, anchored: bool) -> list[_Alternative]:
        """The alternatives of phi; asked for are the variables that what surrounds it speaks of.

        anchored: phi begins where the stream does, so that the rivals of a strategy are the same in both languages.
        """
        merged: dict[tuple[Variables, PendingConstraints], _Alternative] = {}
        for one in self.clause(phi, asked, anchored) if self.refused is None else ():
            self.made += 1
            held = one.held & asked.union(*(mentioned(constraint.atom) for constraint in one.pending))
            key = held, one.pending
            merged[key] = _either(merged[key], one) if key in merged else replace(one, held=held)
            if max(self.made, merged[key].nodes) > self.most:
                raise BudgetExceeded(f"the CEL formula would have more than {self.most} nodes", phi.span)
        return list(merged.values())

    def clause(self, phi: core.Formula, asked: Variables, anchored: bool) -> Iterable[_Alternative]:
        """The alternatives of phi by those of what is below it."""
        match phi:
            case core.Event(R, x):
                return [_Alternative(frozenset({x}), frozenset(), cel.In(cel.Event(R), x), 2)]
            case core.Filter(psi, condition):
                below = self.alternatives(psi, asked | mentioned(condition), anchored)
                return (more for one in below for more in _filtered(one, condition))
            case core.Or(left, right):
                return [*self.alternatives(left, asked, anchored), *self.alternatives(right, asked, anchored)]
            case core.Seq(left, right):
                lefts = self.alternatives(left, asked | free(right), anchored)
                rights = self.alternatives(right, asked | free(left), anchored=False)
                return (_sequenced(one, two) for one in lefts for two in rights if not one.held & two.held)
            case core.Plus(psi):
                rounds = self.alternatives(psi, NOTHING, anchored=False)
                return self.iterated([self.round(one, defined_outside_iteration(psi)) for one in rounds])
            case core.Strict(psi):
                return (one.around(cel.Strict) for one in self.alternatives(psi, asked, anchored))
            case core.Next() | core.Last() | core.Max():
                return self.selected(phi, asked, anchored)
            case _:
                assert_never(phi)

    def iterated(self, rounds: Sequence[_Alternative]) -> Iterator[_Alternative]:
        """The alternatives of an iteration, one for each set of constraints about the variables around it only."""
        rounds = [self.apart(one, rounds) for one in rounds]
        for guards in self.unions({_guards(one) for one in rounds}):
            usable = [one for one in rounds if _guards(one) <= guards]
            yield reduce(_either, usable).around(cel.Plus)

    def round(self, one: _Alternative, U: Variables) -> _Alternative:
        """The alternative as that of a round, which chooses the variables U anew: its constraints are on all rounds."""
        pending = set()
        for constraint in _ordered(one.pending):
            local = constraint.single & U
            if not local <= one.held:
                self.refuse(self.looks_ahead(constraint, local - one.held))
            many = constraint.many | local
            about = [a.variable for a in _mentions(constraint.atom) if a.variable in many]
            if len(about) > 1:
                why = (
                    f"the filter compares {self.listed(constraint.single - local)} with "
                    f"{', '.join(map(self.names.written, about))} of one round; a filter of CEL would compare "
                    "the events of different rounds too"
                )
                self.refuse(Unsupported(why, constraint.atom.span))
            pending.add(PendingConstraint(constraint.atom, many))
        return _Alternative(NOTHING, frozenset(pending), one.phi, one.nodes)

    def apart(self, one: _Alternative, rounds: Sequence[_Alternative]) -> _Alternative:
        """The round, in which a variable that a constraint is about is called as in no other round."""
        elsewhere = {psi.variable for other in rounds if other is not one for psi in _bindings(other.phi)}
        about = frozenset[str]().union(*(constraint.many for constraint in one.pending)) & elsewhere
        if not about:
            return one
        name = {y: self.names.fresh(y) for y in sorted(about)}
        pending = (
            PendingConstraint(
                renamed_condition(constraint.atom, {x: name.get(x, x) for x in mentioned(constraint.atom)}),
                frozenset(name.get(y, y) for y in constraint.many),
            )
            for constraint in one.pending
        )
        return replace(one, pending=frozenset(pending), phi=mapped(one.phi, lambda A: name.get(A, A)))

    def unions(self, sets: Iterable[PendingConstraints]) -> list[PendingConstraints]:
        """All unions of one or more of the sets."""
        found: dict[PendingConstraints, None] = {}
        for one in sorted(sets, key=lambda constraints: list(map(repr, _ordered(constraints)))):
            for union in [one, *(one | other for other in found)]:
                found.setdefault(union)
                if len(found) > self.most:
                    raise BudgetExceeded(f"the CEL formula would have more than {self.most} nodes")
        return list(found)

    def selected(self, phi: Choice, asked: Variables, anchored: bool) -> Iterable[_Alternative]:
        """The alternatives of a strategy."""
        found = self.alternatives(phi.phi, asked, anchored)
        if keeps_all(phi):
            return found
        if not anchored:
            self.refuse(not_first(phi, phi.span))
        name = NAMES[type(phi)]
        for one in found:
            for constraint in _ordered(one.pending):
                why = (
                    f"{name} compares here only what passes a filter on {self.listed(constraint.single - one.held)}, "
                    "which is defined outside it; in CEL a filter speaks of what it stands around"
                )
                self.refuse(Unsupported(why, constraint.atom.span))
        if len(found) > 1:
            why = f"the branches under {name} define different variables, and what stands around it tells them apart"
            self.refuse(Unsupported(f"{why}; give these variables other names", phi.span))
        return (one.around(CHOICES[type(phi)]) for one in found)

    def refuse(self, reason: Unsupported) -> None:
        """Record why there is no formula."""
        self.refused = self.refused or reason

    def looks_ahead(self, constraint: PendingConstraint, unbound: Variables) -> Unsupported:
        """The refusal of a filter on variables that need not hold an event."""
        return Unsupported(
            f"{self.listed(unbound)} need not hold an event of the match here, so that any event, even a later one, "
            "may pass the filter, and CEL does not look ahead: define it on every way through the filtered formula",
            constraint.atom.span,
        )

    def listed(self, variables: Variables) -> str:
        """The variables as the user calls them."""
        return ", ".join(sorted(set(map(self.names.written, variables))))


def _either(one: _Alternative, two: _Alternative) -> _Alternative:
    """One or the other, with the constraints of both."""
    return _Alternative(one.held, one.pending | two.pending, cel.Or(one.phi, two.phi), one.nodes + two.nodes + 1)


def _filtered(one: _Alternative, condition: core.Condition) -> Iterator[_Alternative]:
    """The alternative under a filter; AND is one filter after another, OR an OR of filtered formulas."""
    if mentioned(condition) <= one.held:
        yield one.around(lambda psi: cel.Filter(psi, as_cel_condition(condition)))
        return
    match condition:
        case core.Conjunction(left, right):
            yield from (more for half in _filtered(one, left) for more in _filtered(half, right))
        case core.Disjunction(left, right):
            yield from _filtered(one, left)
            yield from _filtered(one, right)
        case core.Unary() | core.Correlated():
            yield replace(one, pending=one.pending | {PendingConstraint(condition)})
        case _:
            assert_never(condition)


def _sequenced(one: _Alternative, two: _Alternative) -> _Alternative:
    """One after the other, with the filters on it that can now be put."""
    held, pending = one.held | two.held, one.pending | two.pending
    settled = frozenset(constraint for constraint in pending if constraint.single <= held)
    both = _Alternative(held, pending - settled, cel.Seq(one.phi, two.phi), one.nodes + two.nodes + 1)
    for constraint in _ordered(settled):
        both = both.around(partial(cel.Filter, condition=as_cel_condition(constraint.atom)))
    return both


def _guards(one: _Alternative) -> PendingConstraints:
    """The constraints of a round that are about nothing in it."""
    return frozenset(constraint for constraint in one.pending if not constraint.many)


def _mentions(condition: core.Condition) -> Iterator[Attribute]:
    """The attributes of other events than one that a condition compares."""
    return (a for atom in core.atoms(condition) if isinstance(atom, core.Correlated) for a in mentions(atom.predicate))


def _bindings(phi: cel.Formula) -> Iterator[cel.In]:
    return (psi for psi in cel.subformulas(phi) if isinstance(psi, cel.In))


def _ordered(constraints: PendingConstraints) -> list[PendingConstraint]:
    """In an order that is the same in every run of the program."""
    return sorted(constraints, key=repr)


def as_cel_condition(condition: core.Condition) -> cel.Condition:
    """The condition on sets that is written like the one on single events, and means the same of sets of one event."""
    match condition:
        case core.Unary(x, predicate):
            return cel.Every(x, predicate, span=condition.span)
        case core.Correlated(predicate):
            return cel.Correlated(predicate, span=condition.span)
        case core.Conjunction(left, right):
            return cel.Conjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case core.Disjunction(left, right):
            return cel.Disjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case _:
            assert_never(condition)
