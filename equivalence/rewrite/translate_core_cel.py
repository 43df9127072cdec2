"""Translate core-CEL into CEL and CEL into core-CEL, after renaming variables so that each name has one meaning.

A variable of core-CEL holds one event, a variable of CEL a set of events. So into CEL, the formula is split until each
set that a filter tests holds just the event of the valuation; into core-CEL, each event gets a variable of its own, and
a set in a filter becomes these variables in turn. The result has exactly the same complex events on every stream. A
formula for which this cannot be done is refused with the reason, and not translated into one that is nearly right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import count, product
from typing import TypeAlias, assert_never

from cerify.equivalence.rewrite.trees import mapped
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import Variables, bound, defined_outside_iteration, free, mentioned, variables
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.predicates import Attribute, Predicate, about, mapped_predicate, mentions

Renaming = Mapping[str, str]


class Names:
    """A set of used names, which makes fresh names."""

    def __init__(self, used: frozenset[str]) -> None:
        self._used = set(used)
        self._written: dict[str, str] = {}

    def unused(self, like: str) -> str:
        """Reserve a name and return it: `like`, or a fresh name made from it if `like` is in use."""
        if like in self._used:
            return self.fresh(like)
        self._used.add(like)
        return like

    def fresh(self, like: str) -> str:
        """Reserve and return an unused name: `like` with a number appended."""
        name = next(name for i in count(2) if (name := f"{like}{i}") not in self._used)
        self._used.add(name)
        self._written[name] = self.find_original(like)
        return name

    def find_original(self, name: str) -> str:
        """Return the user's name for a variable that was renamed, for messages."""
        return self._written.get(name, name)


def types_of(phi: core.Formula) -> frozenset[str]:
    """Return the event types of a formula."""
    return frozenset(psi.type for psi in core.subformulas(phi) if isinstance(psi, core.CoreEventAtom))


def named_apart(phi: core.Formula) -> tuple[core.Formula, Names]:
    """Rename variables so that each iteration has variables of its own and no variable is an event type.

    Each round of an iteration binds its variables anew (the clause of +), so their names may change. Outside iterations
    a variable keeps its name, unless an event type has the same name, because in CEL an event type is itself a
    variable.
    """
    types, open_ = types_of(phi), free(phi)
    names = Names(types | variables(phi))
    # With the variables outside iterations: those keep the names of the user, and the variables of the rounds give way.
    taken = set(types | open_)

    def scope(defined: frozenset[str], around: Renaming) -> Renaming:
        # Sorted, so that a translation has the same names in every run.
        chosen = {x: names.fresh(x) if x in taken else x for x in sorted(defined)}
        taken.update(chosen.values())
        return {**around, **chosen}

    def renamed(psi: core.Formula, name: Renaming) -> core.Formula:
        match psi:
            case core.CoreEventAtom(R, x):
                return core.CoreEventAtom(R, name[x], span=psi.span)
            case core.CoreFilter(rho, condition):
                return core.CoreFilter(renamed(rho, name), renamed_condition(condition, name), span=psi.span)
            case core.CoreOr(left, right) | core.CoreSeq(left, right):
                return type(psi)(renamed(left, name), renamed(right, name), span=psi.span)
            case core.CorePlus(rho):
                return core.CorePlus(renamed(rho, scope(defined_outside_iteration(rho), name)), span=psi.span)
            case core.CoreSelection(rho):
                return type(psi)(renamed(rho, name), span=psi.span)
            case _:
                assert_never(psi)

    root = {x: names.fresh(x) if x in types else x for x in sorted(open_)}
    return renamed(phi, root), names


def renamed_condition(condition: core.Condition, name: Renaming) -> core.Condition:
    """Return the condition with its variables renamed."""
    match condition:
        case core.Unary(x, predicate):
            return core.Unary(name[x], predicate, span=condition.span)
        case core.CoreCorrelated(predicate):
            about = mapped_predicate(predicate, lambda a: Attribute(a.name, name[a.variable or ""]))
            return core.CoreCorrelated(about, span=condition.span)
        case core.CoreConjunction(left, right) | core.CoreDisjunction(left, right):
            return type(condition)(renamed_condition(left, name), renamed_condition(right, name), span=condition.span)
        case _:
            assert_never(condition)


# ---------------------------------------------------------------------------------------------------------------------
# Where NXT, LAST and MAX say the same in core-CEL and in CEL.
#
# In core-CEL a strategy compares complex events with the same last position over the whole stream (cep17, section 4),
# in CEL those of an interval (tods21, section 7.1). The two are the same where the interval begins with the stream: at
# the root, in an operand of OR, under a filter or another strategy, in the left operand of ; but neither in the right
# one nor in an iteration. They are the same everywhere, too, if there is nothing to choose: if all complex events have
# one event, or, for MAX, as many events as each other.


NAMES: dict[type[core.AnyCorePreference], str] = {core.CoreNext: "NXT", core.CoreLast: "LAST", core.CoreMax: "MAX"}


def keeps_all(phi: core.AnyCorePreference) -> bool:
    """Return whether the strategy keeps all matches for sure: all have one event or, under MAX, equally many events."""
    events = events_of(phi.phi)
    return events == 1 or (events is not None and isinstance(phi, core.CoreMax))


def events_of(phi: core.Formula) -> int | None:
    """Return the number of events in each complex event of phi; None if the form of phi does not fix it."""
    match phi:
        case core.CoreEventAtom():
            return 1
        case core.CoreOr(left, right):
            one, two = events_of(left), events_of(right)
            return one if one == two else None
        case core.CoreSeq(left, right):
            one, two = events_of(left), events_of(right)
            return None if one is None or two is None else one + two
        case core.CorePlus():
            return None
        case core.CoreFilter(psi, _) | core.CoreSelection(psi):
            return events_of(psi)
        case _:
            assert_never(phi)


def not_first(phi: core.AnyCorePreference, span: Span | None) -> Unsupported:
    """Return the error for a strategy on a subformula that may begin after the stream does."""
    name = NAMES[type(phi)]
    return Unsupported(
        f"{name} can be translated only at the beginning of the formula: after `;` or in an iteration, core-CEL also "
        f"compares its matches with matches that begin earlier, and CEL does not",
        span,
    )


# ---------------------------------------------------------------------------------------------------------------------
# core-CEL in CEL: a formula with the same complex events at every position of every stream.
#
# `R AS x` becomes `R IN x`, and a filter on x becomes a filter on the set x. This is right where x holds just the event
# of the valuation. To that end the formula is split into alternatives, the ways through its ORs, as in the proofs that
# a formula can be made safe and brought into LP-normal form (cep17, section 5, Theorems 1 and 2):
# - an alternative that defines a variable on both sides of a sequence has no complex event, and is dropped;
# - a filter is put around the smallest part of the alternative that holds its variables; until then it is pending;
# - a filter inside an iteration on one variable of the rounds is put around the iteration, because a filter on a set in
#   CEL tests the events of all rounds. A filter inside an iteration on variables from outside it becomes a filter on
#   the whole iteration, which is split by the filters that its rounds use.
# Alternatives are distinguished only where a filter depends on them, or a sequence that defines the same variable.
# docs/guide/translations.md lists the formulas that are refused, with streams on which the languages differ.

NOTHING: Variables = frozenset()
CHOICES: Mapping[type[core.AnyCorePreference], type[cel.AnyPreference]] = {
    core.CoreNext: cel.Next,
    core.CoreLast: cel.Last,
    core.CoreMax: cel.Max,
}


def to_cel(phi: core.Formula, budget: Budget = Budget()) -> cel.Formula:
    """Return a CEL formula with the complex events of phi at every position.

    Raises Unsupported if CEL has no such formula or this translation finds none, and BudgetExceeded if the formula
    would be too large.
    """
    found = translated(phi, budget)
    if isinstance(found, Unsupported):
        raise found
    return found


def translated(phi: core.Formula, budget: Budget = Budget()) -> cel.Formula | Unsupported:
    """Same as `to_cel`, but return Unsupported instead of raising it."""
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
    # CEL has no formula without matches of its own, and R UNLESS R is one.
    if not found:  # no alternative has a complex event
        R = next(cel.EventAtom(psi.type) for psi in core.subformulas(phi) if isinstance(psi, core.CoreEventAtom))
        return cel.Unless(R, R)
    # There is only one: nothing around the formula asks for a variable and nothing is pending, so that all alternatives
    # had the same key and were merged.
    return found[0].phi


@dataclass(frozen=True)
class PendingConstraint:
    """A condition of a filter that the translation still has to put into the formula.

    many: those of its variables that each round of an iteration binds anew.
    """

    atom: core.Condition
    many: Variables = NOTHING

    @property
    def single(self) -> Variables:
        """Return the variables of the condition that hold one event."""
        return mentioned(self.atom) - self.many


PendingConstraints: TypeAlias = frozenset[PendingConstraint]


@dataclass(frozen=True)
class _Alternative:
    """One choice of sides for the ORs of a formula. held: the variables used elsewhere that hold one event in it."""

    held: Variables
    pending: PendingConstraints
    phi: cel.Formula
    nodes: int

    def around(self, operator: Callable[[cel.Formula], cel.Formula]) -> _Alternative:
        """Return the alternative with the operator around its formula."""
        return _Alternative(self.held, self.pending, operator(self.phi), self.nodes + 1)


class _Translation:
    """Translates core-CEL into CEL. The budget bounds the nodes of each formula, and the number of alternatives.

    refused: the first reason why there is no formula. If it is set, the results of the methods mean nothing.
    """

    def __init__(self, names: Names, budget: Budget) -> None:
        self.refused: Unsupported | None = None
        self.names = names
        self.most = budget.states
        self.made = 0

    def alternatives(self, phi: core.Formula, asked: Variables, anchored: bool) -> list[_Alternative]:
        """Return the alternatives of phi: formulas without OR that together have its complex events.

        asked: the variables that the formula around phi uses. anchored: whether phi begins where the stream does, so
        that a strategy compares the same complex events in both languages.
        """
        merged: dict[tuple[Variables, PendingConstraints], _Alternative] = {}
        for one in self.clause(phi, asked, anchored) if self.refused is None else ():
            self.made += 1
            # A variable that nothing else uses is forgotten: with all variables in the key, n ORs would give 2^n
            # alternatives.
            held = one.held & asked.union(*(mentioned(constraint.atom) for constraint in one.pending))
            key = held, one.pending
            merged[key] = _either(merged[key], one) if key in merged else replace(one, held=held)
            if max(self.made, merged[key].nodes) > self.most:
                raise BudgetExceeded(f"the CEL formula would have more than {self.most} nodes", phi.span)
        return list(merged.values())

    def clause(self, phi: core.Formula, asked: Variables, anchored: bool) -> Iterable[_Alternative]:
        """Return the alternatives of phi, computed from the alternatives of its operands."""
        match phi:
            case core.CoreEventAtom(R, x):
                return [_Alternative(frozenset({x}), frozenset(), cel.In(cel.EventAtom(R), x), 2)]
            case core.CoreFilter(psi, condition):
                below = self.alternatives(psi, asked | mentioned(condition), anchored)
                return (more for one in below for more in _filtered(one, condition))
            case core.CoreOr(left, right):
                return [*self.alternatives(left, asked, anchored), *self.alternatives(right, asked, anchored)]
            case core.CoreSeq(left, right):
                lefts = self.alternatives(left, asked | free(right), anchored)
                rights = self.alternatives(right, asked | free(left), anchored=False)
                return (_sequenced(one, two) for one in lefts for two in rights if not one.held & two.held)
            case core.CorePlus(psi):
                rounds = self.alternatives(psi, NOTHING, anchored=False)
                return self.translate_iteration([self.round(one, defined_outside_iteration(psi)) for one in rounds])
            case core.CoreStrict(psi):
                return (one.around(cel.Strict) for one in self.alternatives(psi, asked, anchored))
            case core.CorePreference():
                return self.selected(phi, asked, anchored)
            case _:
                assert_never(phi)

    def translate_iteration(self, rounds: Sequence[_Alternative]) -> Iterator[_Alternative]:
        """Yield the alternatives of an iteration: one for each union of the guards of its rounds."""
        # Different ways through the body may use a variable of one name. In CEL its set would hold the events of all of
        # them, and the filter of one way would test the events of another.
        rounds = [self.apart(one, rounds) for one in rounds]
        for guards in self.unions({_guards(one) for one in rounds}):
            usable = [one for one in rounds if _guards(one) <= guards]
            yield reduce(_either, usable).around(cel.Plus)

    def round(self, one: _Alternative, U: Variables) -> _Alternative:
        """Return the alternative as one round of an iteration. U: the variables that each round binds anew."""
        pending = set()
        for constraint in _ordered(one.pending):
            # A variable of the round must be defined on this way through the body: what is missing here cannot come
            # later, because the next round binds its variables anew.
            local = constraint.single & U
            if not local <= one.held:
                self.refuse(self.looks_ahead(constraint, local - one.held))
            many = constraint.many | local
            about = [a.variable for a in _mentions(constraint.atom) if a.variable in many]
            if len(about) > 1:
                why = (
                    f"the filter compares {self.show_all(constraint.single - local)} with "
                    f"{', '.join(map(self.names.find_original, about))} of the same round of an iteration; in CEL, "
                    "the filter would also compare events of different rounds"
                )
                self.refuse(Unsupported(why, constraint.atom.span))
            pending.add(PendingConstraint(constraint.atom, many))
        return _Alternative(NOTHING, frozenset(pending), one.phi, one.nodes)

    def apart(self, one: _Alternative, rounds: Sequence[_Alternative]) -> _Alternative:
        """Give fresh names to the variables of a round's constraints that other rounds also bind; return the round."""
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
        """Return all unions of one or more of the sets."""
        found: dict[PendingConstraints, None] = {}
        # Sets have no order that is the same in every run, and the order of the unions decides the form of the formula.
        for one in sorted(sets, key=lambda constraints: list(map(repr, _ordered(constraints)))):
            for union in [one, *(one | other for other in found)]:
                found.setdefault(union)
                if len(found) > self.most:
                    raise BudgetExceeded(f"the CEL formula would have more than {self.most} nodes")
        return list(found)

    def selected(self, phi: core.AnyCorePreference, asked: Variables, anchored: bool) -> Iterable[_Alternative]:
        """Return the alternatives of phi, whose outermost operator is a strategy."""
        found = self.alternatives(phi.phi, asked, anchored)
        # Before the test of the place: a strategy with nothing to choose from is right in an iteration, too.
        if keeps_all(phi):
            return found
        if not anchored:
            self.refuse(not_first(phi, phi.span))
        name = NAMES[type(phi)]
        for one in found:
            for constraint in _ordered(one.pending):
                why = (
                    f"{name} compares only complex events that pass a filter on "
                    f"{self.show_all(constraint.single - one.held)}, which is defined outside {name}; a filter of CEL "
                    f"inside {name} cannot test it"
                )
                self.refuse(Unsupported(why, constraint.atom.span))
        if len(found) > 1:
            why = f"the branches under {name} define different variables, which the formula around {name} uses"
            self.refuse(Unsupported(f"{why}; give these variables other names", phi.span))
        return (one.around(CHOICES[type(phi)]) for one in found)

    def refuse(self, reason: Unsupported) -> None:
        """Record why there is no formula."""
        self.refused = self.refused or reason

    def looks_ahead(self, constraint: PendingConstraint, unbound: Variables) -> Unsupported:
        """Return the reason to refuse a filter on variables that may hold no event."""
        return Unsupported(
            f"{self.show_all(unbound)} may hold no event here, so the filter could depend on a later event, but CEL "
            f"does not look ahead: write AS {self.show_all(unbound)} in every alternative of the formula and outside +",
            constraint.atom.span,
        )

    def show_all(self, variables: Variables) -> str:
        """Format variables for a message, with the names that the user gave them."""
        return ", ".join(sorted(set(map(self.names.find_original, variables))))


def _either(one: _Alternative, two: _Alternative) -> _Alternative:
    """Return the OR of two alternatives, with the constraints of both."""
    return _Alternative(one.held, one.pending | two.pending, cel.Or(one.phi, two.phi), one.nodes + two.nodes + 1)


def _filtered(one: _Alternative, condition: core.Condition) -> Iterator[_Alternative]:
    """Yield the alternatives of `one` under a filter: AND becomes two filters, OR becomes alternatives."""
    # As a whole where it can be placed: taken apart, an OR in the condition would double the alternatives.
    if mentioned(condition) <= one.held:
        yield one.around(lambda psi: cel.Filter(psi, as_cel_condition(condition)))
        return
    match condition:
        case core.CoreConjunction(left, right):
            yield from (more for half in _filtered(one, left) for more in _filtered(half, right))
        case core.CoreDisjunction(left, right):
            yield from _filtered(one, left)
            yield from _filtered(one, right)
        case core.Unary() | core.CoreCorrelated():
            yield replace(one, pending=one.pending | {PendingConstraint(condition)})
        case _:
            assert_never(condition)


def _sequenced(one: _Alternative, two: _Alternative) -> _Alternative:
    """Return the sequence of two alternatives, inside the pending filters on variables that the sequence defines."""
    held, pending = one.held | two.held, one.pending | two.pending
    # As soon as its variables are there: a filter that is still pending below a strategy is refused, because without it
    # the strategy would choose from other complex events.
    settled = frozenset(constraint for constraint in pending if constraint.single <= held)
    both = _Alternative(held, pending - settled, cel.Seq(one.phi, two.phi), one.nodes + two.nodes + 1)
    for constraint in _ordered(settled):
        both = both.around(partial(cel.Filter, condition=as_cel_condition(constraint.atom)))
    return both


def _guards(one: _Alternative) -> PendingConstraints:
    """Return the constraints of a round that mention none of the round's own variables."""
    return frozenset(constraint for constraint in one.pending if not constraint.many)


def _mentions(condition: core.Condition) -> Iterator[Attribute]:
    """Yield the attributes in the cross-event comparisons of a condition."""
    return (
        a for atom in core.atoms(condition) if isinstance(atom, core.CoreCorrelated) for a in mentions(atom.predicate)
    )


def _bindings(phi: cel.Formula) -> Iterator[cel.In]:
    return (psi for psi in cel.subformulas(phi) if isinstance(psi, cel.In))


def _ordered(constraints: PendingConstraints) -> list[PendingConstraint]:
    """Return the constraints in an order that is the same in every run of the program."""
    return sorted(constraints, key=repr)


def as_cel_condition(condition: core.Condition) -> cel.Condition:
    """Return the equivalent condition of CEL, where each variable holds a set of one event."""
    match condition:
        case core.Unary(x, predicate):
            return cel.Every(x, predicate, span=condition.span)
        case core.CoreCorrelated(predicate):
            return cel.Correlated(predicate, span=condition.span)
        case core.CoreConjunction(left, right):
            return cel.Conjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case core.CoreDisjunction(left, right):
            return cel.Disjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case _:
            assert_never(condition)


# ---------------------------------------------------------------------------------------------------------------------
# CEL in core-CEL: a formula with the same complex events at every position of every stream.
#
# Each event type in the formula gets a variable of its own. A CEL variable A holds the events of some of these
# variables, called the holders of A. A filter on A becomes a filter on each holder, at the holder's definition. In a
# cross-event filter, each mention of a variable is replaced by one of its holders, in all combinations.
# docs/guide/translations.md lists the formulas that are refused, with streams on which the languages differ.

REFUSED: Mapping[type[cel.Formula], str] = {
    cel.Start: "START tests where a match begins; core-CEL cannot refer to the beginning of the stream",
    cel.And: "AND needs the same valuation on both sides; core-CEL has no conjunction of formulas",
    cel.All: "ALL lets matches overlap; core-CEL can only put one after the other",
    cel.Unless: "UNLESS requires absent events; core-CEL has no negation of formulas",
    cel.Within: "WITHIN compares the first event of a match with the last; core-CEL has no names for these events",
    cel.PartitionBy: "PARTITION BY compares all events of a match; core-CEL has no variable that holds all of them",
    cel.PerKey: "PER KEY looks at the events of one key at a time; core-CEL looks at the whole stream",
}
CORE_CHOICES: Mapping[type[cel.AnyPreference], type[core.AnyCorePreference]] = {
    cel.Next: core.CoreNext,
    cel.Last: core.CoreLast,
    cel.Max: core.CoreMax,
}


def to_core_cel(phi: cel.Formula, budget: Budget = Budget()) -> core.Formula:
    """Return a safe and well-formed core-CEL formula with the complex events of phi at every position.

    Raises Unsupported if core-CEL has no such formula or this translation finds none, and BudgetExceeded if the formula
    would be too large.
    """
    try:
        return _CoreTranslation(budget).translated(phi, anchored=True).phi
    except RecursionError:
        raise BudgetExceeded("the formula is nested too deeply", phi.span) from None


Holders = Mapping[str, frozenset[str]]
"""Maps each core-CEL variable to the CEL variables that hold the same event."""


@dataclass(frozen=True)
class _Translated:
    """A core-CEL formula, and the variables that hold its events. chosen: the variables that phi defines under a
    strategy.
    """

    phi: core.Formula
    held_by: Holders
    chosen: frozenset[str] = frozenset()

    def find_holders(self, A: str) -> list[str]:
        """Return the core-CEL variables whose events the CEL variable A holds."""
        return [x for x, held in self.held_by.items() if A in held]


class _CoreTranslation:
    """Translates CEL into core-CEL. The budget bounds the nodes of the formula."""

    def __init__(self, budget: Budget) -> None:
        self.names = Names(frozenset())
        self.most = budget.states

    def translated(self, phi: cel.Formula, anchored: bool) -> _Translated:
        """Return phi in core-CEL. anchored: phi begins where the stream does."""
        return self.checked(self.clause(phi, anchored), phi.span)

    def clause(self, phi: cel.Formula, anchored: bool) -> _Translated:
        """Same as `translated`, but does not check the size of the result."""
        match phi:
            case cel.EventAtom(R):
                # Types are mostly in upper case, so the variable can be told from the type; true and false would be
                # read as constants.
                return self.event(R, x if (x := R.lower()).isidentifier() and x not in ("true", "false") else R)
            case cel.In(psi, A):
                # the variable of a set of one event keeps its name
                found = self.event(psi.type, A) if isinstance(psi, cel.EventAtom) else self.translated(psi, anchored)
                return replace(found, held_by={x: held | {A} for x, held in found.held_by.items()})
            case cel.Filter(psi, condition):
                return self.filtered(self.translated(psi, anchored), condition)
            case cel.Or(left, right):
                one, two = self.translated(left, anchored), self.translated(right, anchored)
                return _joined(core.CoreOr(one.phi, two.phi), one, two)
            case cel.Seq(left, right):
                one, two = self.translated(left, anchored), self.translated(right, anchored=False)
                return _joined(core.CoreSeq(one.phi, two.phi), one, two)
            case cel.Plus(psi):
                found = self.translated(psi, anchored=False)
                return replace(found, phi=core.CorePlus(found.phi))
            case cel.ContiguousSeq(left, right):
                _require_intervals(phi, (left, right))
                one, two = self.translated(left, anchored), self.translated(right, anchored=False)
                return _joined(core.CoreStrict(core.CoreSeq(one.phi, two.phi)), one, two)
            case cel.ContiguousPlus(psi):
                _require_intervals(phi, (psi,))
                found = self.translated(psi, anchored=False)
                return replace(found, phi=core.CoreStrict(core.CorePlus(found.phi)))
            case cel.Strict(psi):
                found = self.translated(psi, anchored)
                return replace(found, phi=core.CoreStrict(found.phi))
            case cel.Preference(psi):
                found = self.translated(psi, anchored)
                chosen = CORE_CHOICES[type(phi)](found.phi)
                # Left out, so that a filter from outside may still be put on the definitions inside, which a strategy
                # forbids.
                if keeps_all(chosen):
                    return found
                if not anchored:
                    raise not_first(chosen, phi.span)
                return replace(found, phi=chosen, chosen=frozenset(found.held_by))
            case cel.Project(L, psi):
                found = self.translated(psi, anchored)
                # PROJECT that only takes names away is allowed: the events stay, and filters outside cannot use these
                # names.
                held_by = {x: held & L for x, held in found.held_by.items()}
                if not all(held_by.values()):
                    raise Unsupported("core-CEL has no PROJECT, because it keeps all events of a match", phi.span)
                return replace(found, held_by=held_by)
            case cel.Restriction() | cel.And() | cel.All() | cel.Unless() | cel.PerKey():
                raise Unsupported(
                    REFUSED.get(type(phi), f"core-CEL has no {cel.OPERATORS[type(phi)].symbol}"), phi.span
                )
            case cel.Derived():
                return self.clause(phi.expansion, anchored)
            case _:
                assert_never(phi)

    def event(self, R: str, like: str) -> _Translated:
        """Return an event of type R with a new variable, named `like` if that name is free."""
        x = self.names.unused(like)
        return _Translated(core.CoreEventAtom(R, x), {x: frozenset({R})})

    def filtered(self, found: _Translated, condition: cel.Condition) -> _Translated:
        """Translate a filter around the formula `found`."""
        match condition:
            case cel.Conjunction(left, right):
                result = self.filtered(self.filtered(found, left), right)
            case cel.Disjunction(left, right):
                one, two = self.filtered(found, left), self.filtered(found, right)
                result = replace(found, phi=core.CoreOr(one.phi, two.phi))
            case cel.Every(A, predicate):
                result = reduce(
                    _attach_atom, (core.Unary(x, predicate, span=condition.span) for x in found.find_holders(A)), found
                )
            case cel.Correlated(predicate):
                result = reduce(_attach_atom, _choices(found, predicate, condition.span), found)
            case cel.Named(name, _):
                raise Unsupported(f"core-CEL has no predicate {name} on sets of events", condition.span)
            case _:
                assert_never(condition)
        return self.checked(result, condition.span)

    def checked(self, found: _Translated, span: Span | None) -> _Translated:
        """Return the formula, or raise BudgetExceeded if it is too large."""
        # At every node and not only at the end: a filter with OR copies the formula, so a few nested ones would fill
        # the memory first.
        if core.size(found.phi) > self.most:
            raise BudgetExceeded(f"the core-CEL formula would have more than {self.most} nodes", span)
        return found


def _joined(phi: core.Formula, one: _Translated, two: _Translated) -> _Translated:
    return _Translated(phi, {**one.held_by, **two.held_by}, one.chosen | two.chosen)


def _require_intervals(phi: cel.Formula, operands: tuple[cel.Formula, ...]) -> None:
    """Raise Unsupported if an operand of `:` or `:+` may have gaps, because STRICT allows no gaps."""
    for psi in operands:
        if not _is_interval(psi):
            raise Unsupported(
                "an operand of `:` or `:+` may have gaps; core-CEL has only STRICT, which allows no gaps",
                psi.span or phi.span,
            )


def _is_interval(phi: cel.Formula) -> bool:
    """Return whether the form of phi shows that all its complex events are intervals."""
    match phi:
        case cel.EventAtom() | cel.ContiguousSeq() | cel.ContiguousPlus() | cel.Strict():
            return True  # the contiguous operators, because operands with gaps are refused
        case cel.Or(left, right):
            return _is_interval(left) and _is_interval(right)
        case cel.In() | cel.Filter() | cel.Project() | cel.Preference():
            return _is_interval(phi.phi)
        case cel.Derived():
            return _is_interval(phi.expansion)
        case cel.Restriction() | cel.Plus() | cel.PerKey() | cel.Seq() | cel.And() | cel.All() | cel.Unless():
            return False
        case _:
            assert_never(phi)


# --- filters on single events -----------------------------------------------------------------------------------------


def _choices(found: _Translated, predicate: Predicate, span: Span | None) -> Iterator[core.Atom]:
    """Yield the predicate on single events: each variable is replaced by one that holds an event of it, in all
    combinations.
    """
    single = defined_outside_iteration(found.phi)
    for holders in product(*(found.find_holders(a.variable or "") for a in mentions(predicate))):
        if len([x for x in holders if x not in single]) > 1:
            raise Unsupported("the filter compares events of different rounds of an iteration with each other", span)
        # `mapped_predicate` meets the attributes in the order of `mentions`, so each takes its own holder. One variable
        # may occur twice with two holders, which a map from names to names could not say.
        remaining = iter(holders)
        chosen = mapped_predicate(predicate, lambda a, left=remaining: Attribute(a.name, next(left)))  # type: ignore[misc]
        if len(set(holders)) == 1:
            yield core.Unary(holders[0], about(chosen, None), span=span)
        else:
            yield core.CoreCorrelated(chosen, span=span)


def _attach_atom(found: _Translated, atom: core.Atom) -> _Translated:
    """Filter the complex events that have all variables of the atom.

    A unary filter is put on the definition of its variable. Any other filter is put around the formula if every complex
    event has all its variables. If only one variable may be missing, the filter is put on the definition of that
    variable.
    """
    # A variable that every complex event binds can be tested outside; what remains can be tested only where it is
    # defined.
    inside = mentioned(atom) if isinstance(atom, core.Unary) else mentioned(atom) - bound(found.phi)
    if len(inside) == 1 and not inside & found.chosen:
        (x,) = inside
        return replace(found, phi=_on_definition(found.phi, x, atom))
    if mentioned(atom) <= bound(found.phi):
        return replace(found, phi=core.CoreFilter(found.phi, atom))
    if inside & found.chosen:
        raise Unsupported(
            "core-CEL can express this filter only inside the strategy, where it would change what the strategy "
            "chooses; write it there if you mean that",
            atom.span,
        )
    raise Unsupported(
        "because of OR, a match may lack several of the events that the filter compares; write the filter inside OR",
        atom.span,
    )


def _on_definition(phi: core.Formula, x: str, atom: core.Atom) -> core.Formula:
    """Return the formula with the filter on each definition of x."""
    match phi:
        case core.CoreEventAtom(_, y):
            return core.CoreFilter(phi, atom) if x == y else phi
        case core.CoreFilter(psi, condition):
            return core.CoreFilter(_on_definition(psi, x, atom), condition)
        case core.CoreOr(left, right) | core.CoreSeq(left, right):
            return type(phi)(_on_definition(left, x, atom), _on_definition(right, x, atom))
        case core.CorePlus(psi) | core.CoreSelection(psi):
            return type(phi)(_on_definition(psi, x, atom))
        case _:
            assert_never(phi)
