"""CEL in core-CEL: a formula with the same complex events at every position of every stream.

Each event type in the formula gets a variable of its own. What a CEL variable A holds are the events of some of these,
the holders of A. A filter on A is one on each holder, put at its definition; a filter across variables is one for each
choice of a holder for each mention. What core-CEL cannot say, or what this translation does not cover, is refused; the
streams on which the languages differ there are in docs/guide/translations.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import assert_never

from cerify.equivalence.rewrite.translate.names import Names
from cerify.equivalence.rewrite.translate.strategies import Choice, keeps_all, not_first
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.variables import bound, defined_outside_iteration, mentioned
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.predicates import Attribute, Predicate, about, mapped_predicate, mentions

REFUSED: Mapping[type[cel.Formula], str] = {
    cel.Start: "START asks where a match begins; core-CEL knows no beginning of the stream",
    cel.And: "AND asks for the same valuation on both sides; core-CEL has no conjunction of formulas",
    cel.All: "ALL lets matches overlap; in core-CEL one comes after the other",
    cel.Unless: "UNLESS asks for what did not happen; core-CEL has no negation of formulas",
    cel.Within: "WITHIN compares the first event of a match with the last; core-CEL has no name for these",
    cel.PartitionBy: "PARTITION BY compares each two events of a match; core-CEL has no name for them all",
}
CHOICES: Mapping[type[cel.Next | cel.Last | cel.Max], type[Choice]] = {
    cel.Next: core.Next,
    cel.Last: core.Last,
    cel.Max: core.Max,
}


def to_core_cel(phi: cel.Formula, budget: Budget = Budget()) -> core.Formula:
    """A core-CEL formula with the complex events of phi at every position; it is safe and well-formed.

    Raises Unsupported where core-CEL has no such formula or this translation finds none, and BudgetExceeded where it
    would be too large.
    """
    try:
        return _Translation(budget).translated(phi, anchored=True).phi
    except RecursionError:
        raise BudgetExceeded("the formula is nested too deeply", phi.span) from None


Holders = Mapping[str, frozenset[str]]
"""For each core-CEL variable the CEL variables that hold its event."""


@dataclass(frozen=True)
class _Translated:
    """A core-CEL formula, and who holds its events; chosen are the variables that it defines below a strategy."""

    phi: core.Formula
    held_by: Holders
    chosen: frozenset[str] = frozenset()

    def of(self, A: str) -> list[str]:
        """The holders of a CEL variable."""
        return [x for x, held in self.held_by.items() if A in held]


class _Translation:
    """Translates, and keeps to a budget: the nodes of a formula."""

    def __init__(self, budget: Budget) -> None:
        self.names = Names(frozenset())
        self.most = budget.states

    def translated(self, phi: cel.Formula, anchored: bool) -> _Translated:
        """phi in core-CEL; anchored as in to_cel."""
        return self.checked(self.clause(phi, anchored), phi.span)

    def clause(self, phi: cel.Formula, anchored: bool) -> _Translated:
        """phi in core-CEL, by what is below it."""
        match phi:
            case cel.Event(R):
                return self.event(R, x if (x := R.lower()).isidentifier() and x not in ("true", "false") else R)
            case cel.In(psi, A):
                # the variable of a set of one event keeps its name
                found = self.event(psi.type, A) if isinstance(psi, cel.Event) else self.translated(psi, anchored)
                return replace(found, held_by={x: held | {A} for x, held in found.held_by.items()})
            case cel.Filter(psi, condition):
                return self.filtered(self.translated(psi, anchored), condition)
            case cel.Or(left, right):
                one, two = self.translated(left, anchored), self.translated(right, anchored)
                return _joined(core.Or(one.phi, two.phi), one, two)
            case cel.Seq(left, right):
                one, two = self.translated(left, anchored), self.translated(right, anchored=False)
                return _joined(core.Seq(one.phi, two.phi), one, two)
            case cel.Plus(psi):
                found = self.translated(psi, anchored=False)
                return replace(found, phi=core.Plus(found.phi))
            case cel.ContiguousSeq(left, right):
                _require_intervals(phi, (left, right))
                one, two = self.translated(left, anchored), self.translated(right, anchored=False)
                return _joined(core.Strict(core.Seq(one.phi, two.phi)), one, two)
            case cel.ContiguousPlus(psi):
                _require_intervals(phi, (psi,))
                found = self.translated(psi, anchored=False)
                return replace(found, phi=core.Strict(core.Plus(found.phi)))
            case cel.Strict(psi):
                found = self.translated(psi, anchored)
                return replace(found, phi=core.Strict(found.phi))
            case cel.Next(psi) | cel.Last(psi) | cel.Max(psi):
                found = self.translated(psi, anchored)
                chosen = CHOICES[type(phi)](found.phi)
                if keeps_all(chosen):
                    return found
                if not anchored:
                    raise not_first(chosen, phi.span)
                return replace(found, phi=chosen, chosen=frozenset(found.held_by))
            case cel.Project(L, psi):
                found = self.translated(psi, anchored)
                held_by = {x: held & L for x, held in found.held_by.items()}
                if not all(held_by.values()):
                    raise Unsupported("PROJECT leaves events out of the match; core-CEL keeps all", phi.span)
                return replace(found, held_by=held_by)
            case cel.Start() | cel.And() | cel.All() | cel.Unless() | cel.Within() | cel.PartitionBy():
                raise Unsupported(REFUSED[type(phi)], phi.span)
            case cel.Derived():
                return self.clause(phi.expansion, anchored)
            case _:
                assert_never(phi)

    def event(self, R: str, like: str) -> _Translated:
        """An event, and a new variable for it."""
        x = self.names.unused(like)
        return _Translated(core.Event(R, x), {x: frozenset({R})})

    def filtered(self, found: _Translated, condition: cel.Condition) -> _Translated:
        """The formula under a filter on sets."""
        match condition:
            case cel.Conjunction(left, right):
                result = self.filtered(self.filtered(found, left), right)
            case cel.Disjunction(left, right):
                one, two = self.filtered(found, left), self.filtered(found, right)
                result = replace(found, phi=core.Or(one.phi, two.phi))
            case cel.Every(A, predicate):
                result = reduce(_put, (core.Unary(x, predicate, span=condition.span) for x in found.of(A)), found)
            case cel.Correlated(predicate):
                result = reduce(_put, _choices(found, predicate, condition.span), found)
            case cel.Named(name, _):
                raise Unsupported(f"core-CEL has no predicate {name} on sets of events", condition.span)
            case _:
                assert_never(condition)
        return self.checked(result, condition.span)

    def checked(self, found: _Translated, span: Span | None) -> _Translated:
        """The formula, if it is not too large."""
        if core.size(found.phi) > self.most:
            raise BudgetExceeded(f"the core-CEL formula would have more than {self.most} nodes", span)
        return found


def _joined(phi: core.Formula, one: _Translated, two: _Translated) -> _Translated:
    return _Translated(phi, {**one.held_by, **two.held_by}, one.chosen | two.chosen)


def _require_intervals(phi: cel.Formula, operands: tuple[cel.Formula, ...]) -> None:
    """Raises Unsupported where an operand of a contiguous operator may have gaps: STRICT asks for none at all."""
    for psi in operands:
        if not _is_interval(psi):
            raise Unsupported(
                "a contiguous operator whose operand may leave gaps: core-CEL has STRICT, which leaves none anywhere",
                psi.span or phi.span,
            )


def _is_interval(phi: cel.Formula) -> bool:
    """Whether by its form every complex event of phi is an interval."""
    match phi:
        case cel.Event() | cel.ContiguousSeq() | cel.ContiguousPlus() | cel.Strict():
            return True  # the contiguous operators, because operands with gaps are refused
        case cel.Or(left, right):
            return _is_interval(left) and _is_interval(right)
        case cel.In(psi, _) | cel.Filter(psi, _) | cel.Project(_, psi) | cel.Next(psi) | cel.Last(psi) | cel.Max(psi):
            return _is_interval(psi)
        case cel.Derived():
            return _is_interval(phi.expansion)
        case (
            cel.Seq() | cel.Plus() | cel.Start() | cel.And() | cel.All() | cel.Unless() | cel.Within()
            | cel.PartitionBy()
        ):  # fmt: skip
            return False
        case _:
            assert_never(phi)


# --- filters on single events -----------------------------------------------------------------------------------------


def _choices(found: _Translated, predicate: Predicate, span: Span | None) -> Iterator[core.Atom]:
    """The predicate on single events, for each choice of a holder for each mention."""
    single = defined_outside_iteration(found.phi)
    for holders in product(*(found.of(a.variable or "") for a in mentions(predicate))):
        if len([x for x in holders if x not in single]) > 1:
            raise Unsupported("the filter compares events of different rounds of an iteration with each other", span)
        remaining = iter(holders)
        chosen = mapped_predicate(predicate, lambda a, left=remaining: Attribute(a.name, next(left)))  # type: ignore[misc]
        if len(set(holders)) == 1:
            yield core.Unary(holders[0], about(chosen, None), span=span)
        else:
            yield core.Correlated(chosen, span=span)


def _put(found: _Translated, atom: core.Atom) -> _Translated:
    """The formula, where the atom holds of those of its complex events that have all its variables.

    A unary filter goes on the definition of its variable; another one around the formula if that binds all its
    variables, and if it binds all but one on the definition of that one.
    """
    inside = mentioned(atom) if isinstance(atom, core.Unary) else mentioned(atom) - bound(found.phi)
    if len(inside) == 1 and not inside & found.chosen:
        (x,) = inside
        return replace(found, phi=_on_definition(found.phi, x, atom))
    if mentioned(atom) <= bound(found.phi):
        return replace(found, phi=core.Filter(found.phi, atom))
    if inside & found.chosen:
        raise Unsupported(
            "the filter stands around a strategy and speaks of events that not every match has once; "
            "in core-CEL it would have to stand inside, where the strategy chooses among what passes",
            atom.span,
        )
    raise Unsupported("the filter compares events of two branches, of which a match need have neither", atom.span)


def _on_definition(phi: core.Formula, x: str, atom: core.Atom) -> core.Formula:
    """The formula with the filter on each definition of x."""
    match phi:
        case core.Event(_, y):
            return core.Filter(phi, atom) if x == y else phi
        case core.Filter(psi, condition):
            return core.Filter(_on_definition(psi, x, atom), condition)
        case core.Or(left, right) | core.Seq(left, right):
            return type(phi)(_on_definition(left, x, atom), _on_definition(right, x, atom))
        case core.Plus(psi) | core.Strict(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            return type(phi)(_on_definition(psi, x, atom))
        case _:
            assert_never(phi)
