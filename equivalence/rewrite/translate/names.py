"""Names for variables: fresh ones, and a core-CEL formula in which no name stands for two things."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.variables import defined_outside_iteration, free, variables
from cerify.semantics.predicates import Attribute, mapped_predicate

Renaming = Mapping[str, str]


class Names:
    """The names that are in use; gives one that is not."""

    def __init__(self, used: frozenset[str]) -> None:
        self._used = set(used)
        self._written: dict[str, str] = {}

    def unused(self, like: str) -> str:
        """This name, or if it is in use a fresh one like it."""
        if like in self._used:
            return self.fresh(like)
        self._used.add(like)
        return like

    def fresh(self, like: str) -> str:
        """A name that is not in use, made of this one and a number. It is in use from now on."""
        name = next(name for i in count(2) if (name := f"{like}{i}") not in self._used)
        self._used.add(name)
        self._written[name] = self.written(like)
        return name

    def written(self, name: str) -> str:
        """What the formula that was given calls what has this name now: what a message about it calls it."""
        return self._written.get(name, name)


def types_of(phi: core.Formula) -> frozenset[str]:
    """The event types of a formula."""
    return frozenset(psi.type for psi in core.subformulas(phi) if isinstance(psi, core.Event))


def named_apart(phi: core.Formula) -> tuple[core.Formula, Names]:
    """The same formula, in which each iteration has variables of its own and none is called like an event type.

    What an iteration defines is chosen anew in each round, whatever its name (the clause of +); so the name may change.
    Outside iterations a variable keeps its name, unless that of an event type: there CEL knows one of its own.
    """
    types, open_ = types_of(phi), free(phi)
    names = Names(types | variables(phi))
    taken = set(types | open_)

    def scope(defined: frozenset[str], around: Renaming) -> Renaming:
        chosen = {x: names.fresh(x) if x in taken else x for x in sorted(defined)}
        taken.update(chosen.values())
        return {**around, **chosen}

    def renamed(psi: core.Formula, name: Renaming) -> core.Formula:
        match psi:
            case core.Event(R, x):
                return core.Event(R, name[x], span=psi.span)
            case core.Filter(rho, condition):
                return core.Filter(renamed(rho, name), renamed_condition(condition, name), span=psi.span)
            case core.Or(left, right) | core.Seq(left, right):
                return type(psi)(renamed(left, name), renamed(right, name), span=psi.span)
            case core.Plus(rho):
                return core.Plus(renamed(rho, scope(defined_outside_iteration(rho), name)), span=psi.span)
            case core.Strict(rho) | core.Next(rho) | core.Last(rho) | core.Max(rho):
                return type(psi)(renamed(rho, name), span=psi.span)
            case _:
                assert_never(psi)

    root = {x: names.fresh(x) if x in types else x for x in sorted(open_)}
    return renamed(phi, root), names


def renamed_condition(condition: core.Condition, name: Renaming) -> core.Condition:
    """The condition about other variables."""
    match condition:
        case core.Unary(x, predicate):
            return core.Unary(name[x], predicate, span=condition.span)
        case core.Correlated(predicate):
            about = mapped_predicate(predicate, lambda a: Attribute(a.name, name[a.variable or ""]))
            return core.Correlated(about, span=condition.span)
        case core.Conjunction(left, right) | core.Disjunction(left, right):
            return type(condition)(renamed_condition(left, name), renamed_condition(right, name), span=condition.span)
        case _:
            assert_never(condition)
