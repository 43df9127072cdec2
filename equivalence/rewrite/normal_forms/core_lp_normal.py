"""LP-normal form for every well-formed formula of core-CEL: cep17, Theorem 2.

A filter on one event is first popped up to a sequence that surely binds its variable, where it becomes a case
distinction, and then pushed down to the definitions of the variable. Filters across events stay where they are.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.equivalence.rewrite.normal_forms.core_trees import around, with_children
from cerify.equivalence.rewrite.normal_forms.limit import NODES, check_nodes, filtered, filtered_size, joined, named
from cerify.semantics.budget import depth_limited
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.variables import Variables, bound, defined_outside_iteration
from cerify.semantics.core_cel.wellformed import problems
from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.predicates import Not
from cerify.semantics.trees import children

Path: TypeAlias = tuple[int, ...]
"""The way from a formula to one inside it: which operand to go to, from the outside in."""


def lp_normal(phi: core.Formula, nodes: int = NODES) -> core.Formula:
    """A formula in LP-normal form with the complex events of phi. Raises IllFormed, Unsupported, BudgetExceeded.

    The proof needs a variable's definition around each of its filters, and none of an iteration between the two: what
    `problems` asks, which is a little more than well-formed by the letter (docs/decisions/core-cel.md).
    """
    with depth_limited(phi.span):
        for problem in problems(phi):
            if problem.rule == "unbound":
                raise IllFormed(f"only well-formed formulas have an LP-normal form: {problem.message}", problem.span)
        return _down(_popped(_desugared(phi, nodes), nodes))


def _desugared(phi: core.Formula, nodes: int) -> core.Formula:
    """phi with AND and OR of filters as what they are short for."""
    below = [_desugared(psi, nodes) for psi in children(phi)]
    if not isinstance(phi, core.Filter):
        return with_children(phi, below)
    check_nodes(filtered_size(phi.condition, [core.size(below[0])]), nodes, phi)
    psi: core.Formula = joined(core.Or, filtered(below, phi.condition))
    return psi


def _popped(phi: core.Formula, nodes: int) -> core.Formula:
    """phi with every unary filter on a formula that binds its variable (the first step of the proof)."""
    path = _unbound(phi) if isinstance(phi, core.Seq) else None
    if path is None:
        psi = with_children(phi, [_popped(psi, nodes) for psi in children(phi)])
    else:
        atom = _at(phi, path)
        passed, failed = _decided(phi, path, True), _decided(phi, path, False)
        assert passed is not None
        psi = core.Filter(_popped(passed, nodes), atom)
        if failed is not None:
            negated = core.Unary(atom.variable, Not(atom.predicate), span=atom.span)
            psi = core.Or(psi, core.Filter(_popped(failed, nodes), negated))
    check_nodes(core.size(psi), nodes, phi)
    return psi


def _unbound(phi: core.Seq) -> Path | None:
    """The way to a unary filter on a variable that no formula below phi binds around it, but phi does."""
    for n, psi in enumerate(children(phi)):
        if (path := _unbound_in(psi, bound(phi), frozenset())) is not None:
            return (n, *path)
    return None


def _unbound_in(phi: core.Formula, outer: Variables, varied: Variables) -> Path | None:
    """The same, where variables are bound around phi; some of them are varied by a strategy in between.

    An iteration in between needs no mention: it defines no such variable, or the formula was refused.
    """
    outer = outer - bound(phi)
    match phi:
        case core.Filter(_, core.Unary(x, _) as atom) if x in outer:
            if x in varied:
                raise Unsupported(
                    f"{x} is defined around a strategy, and on a way through it; the matches that the strategy "
                    "compares may then differ in it, and Theorem 2 does not speak of selection strategies: "
                    "give one of them another name",
                    atom.span,
                )
            return ()
        case core.Next(psi) | core.Last(psi) | core.Max(psi):
            varied = varied | defined_outside_iteration(psi)
        case core.Event() | core.Filter() | core.Or() | core.Seq() | core.Plus() | core.Strict():
            pass
        case _:
            assert_never(phi)
    for n, psi in enumerate(children(phi)):
        if (path := _unbound_in(psi, outer, varied)) is not None:
            return (n, *path)
    return None


def _at(phi: core.Formula, path: Path) -> core.Unary:
    """The atom of the filter at the end of the path."""
    for n in path:
        phi = children(phi)[n]
    assert isinstance(phi, core.Filter)
    assert isinstance(phi.condition, core.Unary)
    return phi.condition


def _decided(phi: core.Formula, path: Path, holds: bool) -> core.Formula | None:
    """phi where the filter at the end of the path is known to hold, or not to; None if phi then has nothing."""
    if not path:
        return children(phi)[0] if holds else None
    n, *rest = path
    below = list(children(phi))
    inside = _decided(below[n], tuple(rest), holds)
    if inside is None:
        return below[1 - n] if isinstance(phi, core.Or) else None
    match phi:
        case core.Plus() | core.Strict() | core.Next() | core.Last() | core.Max():
            return around(phi, inside)
        case core.Event() | core.Filter() | core.Or() | core.Seq():
            below[n] = inside
            return with_children(phi, below)
        case _:
            assert_never(phi)


def _down(phi: core.Formula) -> core.Formula:
    """phi with every unary filter on the definitions of its variable (the second step of the proof)."""
    below = [_down(psi) for psi in children(phi)]
    if isinstance(phi, core.Filter) and isinstance(phi.condition, core.Unary):
        return _placed(below[0], phi.condition)
    return with_children(phi, below)


def _placed(phi: core.Formula, atom: core.Unary) -> core.Formula:
    """phi FILTER atom, where phi binds the variable."""
    match phi:
        case core.Event():
            return core.Filter(phi, atom)
        case core.Seq(left, right):
            if atom.variable in bound(left):
                return core.Seq(_placed(left, atom), right, span=phi.span)
            return core.Seq(left, _placed(right, atom), span=phi.span)
        case core.Filter() | core.Or() | core.Strict():
            return with_children(phi, [_placed(psi, atom) for psi in children(phi)])
        case core.Next() | core.Last() | core.Max():
            raise Unsupported(
                f"{named(phi)} chooses before the filter on {atom.variable} does, and to filter first would let it "
                "choose another match; Theorem 2 does not speak of selection strategies: filter inside it if that "
                "is meant",
                atom.span,
            )
        case core.Plus():
            raise AssertionError("an iteration binds nothing")
        case _:
            assert_never(phi)
