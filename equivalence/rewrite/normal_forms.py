"""Normal forms of core-CEL and CEL formulas: disjunctive, LP-normal, safe, with FILTER or IN pushed down.

A normal form may be exponentially larger than its formula. So its number of nodes is limited, and the sizes of products
are computed before the products are built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias, assert_never

from cerify.automata.cea.compile import symbol
from cerify.automata.evaluate.evaluation_plan import binding_subformulas
from cerify.equivalence.rewrite.trees import names, variables_of
from cerify.semantics.arguments import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import Variables as check_Variables
from cerify.semantics.core_cel.check import bound as check_bound
from cerify.semantics.core_cel.check import defined_outside_iteration, free, problems
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Attribute, Comparison, Not, Predicate, mapped_predicate
from cerify.semantics.trees import children, rebuilt

NODES = 10_000
"""The default for the greatest number of nodes of a normal form."""

CHAIN = 64  # the greatest number of disjuncts in a row; more are joined as a tree, which is less deep


def check_nodes(made: int, limit: int, phi: cel.Formula | core.Formula) -> None:
    """Raise BudgetExceeded if the formula would be rewritten to more nodes than the limit."""
    if made > limit:
        raise BudgetExceeded(
            f"the normal form of this {symbol(phi)} alone would have {made} nodes, but {limit} are allowed; "
            "rewrite a part of the formula, or allow more",
            phi.span,
        )


def joined(Or: Any, disjuncts: Sequence[Any]) -> Any:
    """Return the OR of the formulas, in their order.

    More than CHAIN formulas are joined as a balanced tree, because the parser refuses trees that are too deep.
    """
    if len(disjuncts) > CHAIN:
        half = len(disjuncts) // 2
        return Or(joined(Or, disjuncts[:half]), joined(Or, disjuncts[half:]))
    phi, *others = disjuncts
    for psi in others:
        phi = Or(phi, psi)
    return phi


def product_size(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the total number of nodes if each formula on the left is joined with each one on the right by an operator.

    left, right: the sizes of the formulas from which the pairs are made.
    """
    return len(right) * sum(left) + len(left) * sum(right) + len(left) * len(right)


def filtered(phis: list[Any], condition: cel.Condition | core.Condition) -> list[Any]:
    """Apply the filter to each formula; return the filtered formulas.

    AND in the condition becomes one filter inside another; for OR, there is a formula for each side.
    """
    match condition:
        case cel.Conjunction(left, right) | core.CoreConjunction(left, right):
            return filtered(filtered(phis, left), right)
        case cel.Disjunction(left, right) | core.CoreDisjunction(left, right):
            return filtered(phis, left) + filtered(phis, right)
        case cel.Every() | cel.Correlated() | cel.Named():
            return [cel.Filter(phi, condition, span=condition.span) for phi in phis]
        case core.Unary() | core.CoreCorrelated():
            return [core.CoreFilter(phi, condition, span=condition.span) for phi in phis]
        case _:
            assert_never(condition)


def filtered_size(condition: cel.Condition | core.Condition, sizes: Sequence[int]) -> int:
    """Return the number of nodes of the OR of the results of `filtered` for formulas of these sizes."""
    count, nodes = _filtered_nodes(condition, len(sizes), sum(sizes))
    return nodes + count - 1


def _filtered_nodes(condition: cel.Condition | core.Condition, count: int, size: int) -> tuple[int, int]:
    """Return the numbers of formulas and nodes that `filtered` makes from `count` formulas with `size` nodes in all."""
    match condition:
        case cel.Conjunction(left, right) | core.CoreConjunction(left, right):
            return _filtered_nodes(right, *_filtered_nodes(left, count, size))
        case cel.Disjunction(left, right) | core.CoreDisjunction(left, right):
            (count1, size1), (count2, size2) = _filtered_nodes(left, count, size), _filtered_nodes(right, count, size)
            return count1 + count2, size1 + size2
        case cel.Every() | cel.Correlated() | cel.Named() | core.Unary() | core.CoreCorrelated():
            return count, size + count
        case _:
            assert_never(condition)


# ---------------------------------------------------------------------------------------------------------------------
# Make core-CEL formulas from parts of other formulas.

NEVER = Comparison("<", Attribute(TIME), Attribute(TIME))
"""A predicate that no event satisfies, because core-CEL has no `false`. Every event may have a time."""


def with_children(phi: core.Formula, below: Sequence[core.Formula]) -> core.Formula:
    """Return the formula with other operands, and with its span, so that messages can show the place."""
    return replace(rebuilt(phi, below), span=phi.span)


def never(phi: core.Formula, x: str | None = None) -> core.Formula:
    """Return a safe formula in LP-normal form that never matches. It defines x; without x, some variable of phi."""
    event = next(
        psi for psi in core.subformulas(phi) if isinstance(psi, core.CoreEventAtom) and x in (None, psi.variable)
    )
    return core.CoreFilter(event, core.Unary(event.variable, NEVER))


def replace_body(phi: core.CorePlus | core.Strategy, body: core.Formula) -> core.Formula:
    """Replace the body of phi, an iteration or a strategy, by `body`.

    The caller ensures that `body` has the same complex events under each valuation; it may define fewer variables.
    Raises Unsupported if phi compares matches by a variable that `body` does not define.
    """
    lost = (defined_outside_iteration(phi.phi) - defined_outside_iteration(body)) & free(body)
    match phi:
        case core.CorePlus():
            return core.CorePlus(joined(core.CoreOr, [body, *(never(phi.phi, x) for x in sorted(lost))]), span=phi.span)
        case core.CoreStrict():
            return core.CoreStrict(body, span=phi.span)
        case core.CorePreference():
            if lost:
                raise Unsupported(
                    f"only an alternative that never matches defines {', '.join(sorted(lost))}, and "
                    f"{symbol(phi)} compares matches that differ in it. Such a formula is not rewritten: define "
                    "it in each alternative",
                    phi.span,
                )
            return with_children(phi, [body])
        case _:
            assert_never(phi)


# ---------------------------------------------------------------------------------------------------------------------
# Disjunctive normal form of core-CEL: cep17, Lemma 2.
#
# Every OR is at the top, or at the top of the body of an iteration. The lemma is for formulas without strategies. Here
# STRICT distributes over OR as a filter does. NXT, LAST and MAX choose among the complex events of all disjuncts, so
# they keep their operand in disjunctive normal form, as an iteration does.

Disjuncts: TypeAlias = list[core.Formula]


def core_disjunctive(phi: core.Formula, nodes: int = NODES) -> core.Formula:
    """Return the disjunctive normal form of phi, with the same complex events under each valuation.

    Raises BudgetExceeded.
    """
    with depth_limited(phi.span):
        return _or(_disjuncts(phi, nodes))


def _or(disjuncts: Disjuncts) -> core.Formula:
    phi: core.Formula = joined(core.CoreOr, disjuncts)
    return phi


def _disjuncts(phi: core.Formula, nodes: int) -> Disjuncts:
    """Return formulas without OR (except inside iterations and strategies) whose union is phi, without duplicates."""
    below = [_disjuncts(psi, nodes) for psi in children(phi)]
    sizes = [[core.size(psi) for psi in disjuncts] for disjuncts in below]
    found: Disjuncts
    match phi:
        case core.CoreEventAtom():
            found = [phi]
        case core.CoreOr():
            found = below[0] + below[1]
        case core.CoreFilter(_, condition):
            check_nodes(filtered_size(condition, sizes[0]), nodes, phi)
            found = filtered(below[0], condition)
        case core.CoreStrict():
            found = [with_children(phi, [psi]) for psi in below[0]]
        case core.CoreSeq():
            check_nodes(product_size(*sizes), nodes, phi)
            found = [with_children(phi, [left, right]) for left in below[0] for right in below[1]]
        case core.CorePlus() | core.CorePreference():
            found = [with_children(phi, [_or(below[0])])]
        case _:
            assert_never(phi)
    # Equal disjuncts would multiply in the products around them.
    found = list(dict.fromkeys(found))
    check_nodes(sum(map(core.size, found)) + len(found) - 1, nodes, phi)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# LP-normal form for every well-formed formula of core-CEL: cep17, Theorem 2.
#
# First a filter on one event is popped up to a sequence that always binds its variable, where it becomes a case
# distinction. Then it is pushed down to the definitions of the variable. Filters across events stay where they are.

Path: TypeAlias = tuple[int, ...]
"""The path from a formula to a sub-formula: the number of the operand at each node, from the outside in."""


def lp_normal(phi: core.Formula, nodes: int = NODES) -> core.Formula:
    """Return a formula in LP-normal form with the complex events of phi.

    Between a filter and the definition of its variable there may be no iteration that chooses the variable anew. This
    requires slightly more than well-formedness as printed (docs/decisions/core-cel.md). Raises IllFormed, Unsupported,
    BudgetExceeded.
    """
    with depth_limited(phi.span):
        for problem in problems(phi):
            if problem.rule == "unbound":
                raise IllFormed(f"only well-formed formulas have an LP-normal form: {problem.message}", problem.span)
        return _down(_popped(_desugared(phi, nodes), nodes))


def _desugared(phi: core.Formula, nodes: int) -> core.Formula:
    """Return phi with AND and OR of filters expanded."""
    below = [_desugared(psi, nodes) for psi in children(phi)]
    if not isinstance(phi, core.CoreFilter):
        return with_children(phi, below)
    check_nodes(filtered_size(phi.condition, [core.size(below[0])]), nodes, phi)
    psi: core.Formula = joined(core.CoreOr, filtered(below, phi.condition))
    return psi


def _popped(phi: core.Formula, nodes: int) -> core.Formula:
    """Return phi with each unary filter moved to a formula that binds its variable (the first step of the proof)."""
    path = _unbound(phi) if isinstance(phi, core.CoreSeq) else None
    if path is None:
        psi = with_children(phi, [_popped(psi, nodes) for psi in children(phi)])
    else:
        atom = _at(phi, path)
        # This ends, because in both cases one filter less is below.
        passed, failed = _assume_filter(phi, path, True), _assume_filter(phi, path, False)
        assert passed is not None
        psi = core.CoreFilter(_popped(passed, nodes), atom)
        if failed is not None:
            negated = core.Unary(atom.variable, Not(atom.predicate), span=atom.span)
            psi = core.CoreOr(psi, core.CoreFilter(_popped(failed, nodes), negated))
    check_nodes(core.size(psi), nodes, phi)
    return psi


def _unbound(phi: core.CoreSeq) -> Path | None:
    """Return the path to a unary filter on a variable that phi binds, but that is not bound below the filter; or
    None.
    """
    for n, psi in enumerate(children(phi)):
        if (path := _unbound_in(psi, check_bound(phi), frozenset())) is not None:
            return (n, *path)
    return None


def _unbound_in(phi: core.Formula, outer: check_Variables, varied: check_Variables) -> Path | None:
    """Return the path that `_unbound` returns.

    outer: the variables bound around phi. varied: the variables that a strategy on the path may bind anew.
    """
    outer = outer - check_bound(phi)
    match phi:
        case core.CoreFilter(_, core.Unary(x, _) as atom) if x in outer:
            if x in varied:
                raise Unsupported(
                    f"{x} is defined outside a strategy and inside it, so the matches that the strategy compares "
                    f"may differ in {x}. cerify has no LP-normal form for this: rename {x} outside or inside",
                    atom.span,
                )
            return ()
        case core.CorePreference(psi):
            varied = varied | defined_outside_iteration(psi)
        case (
            core.CoreEventAtom()
            | core.CoreFilter()
            | core.CoreOr()
            | core.CoreSeq()
            | core.CorePlus()
            | core.CoreStrict()
        ):
            pass
        case _:
            assert_never(phi)
    for n, psi in enumerate(children(phi)):
        if (path := _unbound_in(psi, outer, varied)) is not None:
            return (n, *path)
    return None


def _at(phi: core.Formula, path: Path) -> core.Unary:
    """Return the atom of the filter at the end of the path."""
    for n in path:
        phi = children(phi)[n]
    assert isinstance(phi, core.CoreFilter)
    assert isinstance(phi.condition, core.Unary)
    return phi.condition


def _assume_filter(phi: core.Formula, path: Path, holds: bool) -> core.Formula | None:
    """Simplify phi under the assumption that the filter at the end of the path holds, or does not hold.

    Return None if phi then has no complex event.
    """
    if not path:
        return children(phi)[0] if holds else None
    n, *rest = path
    below = list(children(phi))
    inside = _assume_filter(below[n], tuple(rest), holds)
    if inside is None:
        return below[1 - n] if isinstance(phi, core.CoreOr) else None
    match phi:
        case core.CorePlus() | core.CoreSelection():
            return replace_body(phi, inside)
        case core.CoreEventAtom() | core.CoreFilter() | core.CoreOr() | core.CoreSeq():
            below[n] = inside
            return with_children(phi, below)
        case _:
            assert_never(phi)


def _down(phi: core.Formula) -> core.Formula:
    """Return phi with each unary filter moved to the definitions of its variable (the second step of the proof)."""
    below = [_down(psi) for psi in children(phi)]
    if isinstance(phi, core.CoreFilter) and isinstance(phi.condition, core.Unary):
        return _placed(below[0], phi.condition)
    return with_children(phi, below)


def _placed(phi: core.Formula, atom: core.Unary) -> core.Formula:
    """Return phi FILTER atom with the filter at the definitions of its variable, which phi must bind."""
    match phi:
        case core.CoreEventAtom():
            return core.CoreFilter(phi, atom)
        case core.CoreSeq(left, right):
            if atom.variable in check_bound(left):
                return core.CoreSeq(_placed(left, atom), right, span=phi.span)
            return core.CoreSeq(left, _placed(right, atom), span=phi.span)
        case core.CoreFilter() | core.CoreOr() | core.CoreStrict():
            return with_children(phi, [_placed(psi, atom) for psi in children(phi)])
        case core.CorePreference():
            raise Unsupported(
                f"{symbol(phi)} chooses before the filter on {atom.variable} applies. LP-normal form would "
                f"filter first, so that {symbol(phi)} could choose another match: write the filter "
                f"inside {symbol(phi)} if you mean that",
                atom.span,
            )
        case core.CorePlus():
            raise AssertionError("an iteration binds nothing")
        case _:
            assert_never(phi)


# ---------------------------------------------------------------------------------------------------------------------
# A safe formula for every formula of core-CEL: cep17, Theorem 1 (Lemmas 2 and B.12).
#
# In disjunctive normal form, an unsafe disjunct requires that one variable holds two events. So it has no complex event
# and is removed. The proof overlooks a consequence: if an iteration chose a variable anew in each round only because of
# that disjunct, the variable would now be chosen outside. So if the iteration still uses the variable, an impossible
# disjunct keeps defining it.


def safe(phi: core.Formula, nodes: int = NODES) -> core.Formula:
    """Return a safe formula with the complex events of phi, in disjunctive normal form.

    Raises BudgetExceeded, Unsupported.
    """
    with depth_limited(phi.span):
        return _possible(core_disjunctive(phi, nodes)) or never(phi)


def _possible(phi: core.Formula) -> core.Formula | None:
    """Return phi without its impossible disjuncts; None if all are impossible."""
    match phi:
        case core.CoreEventAtom():
            return phi
        case core.CoreOr():
            found = [psi for psi in map(_possible, children(phi)) if psi is not None]
            return with_children(phi, found) if len(found) == 2 else found[0] if found else None
        case core.CorePlus() | core.CoreSelection():
            body = _possible(phi.phi)
            return None if body is None else replace_body(phi, body)
        case core.CoreFilter():
            filtered = _possible(phi.phi)
            return None if filtered is None else with_children(phi, [filtered])
        case core.CoreSeq():
            left, right = map(_possible, children(phi))
            if left is None or right is None or check_bound(left) & check_bound(right):
                return None
            if shared := defined_outside_iteration(left) & defined_outside_iteration(right):
                raise Unsupported(
                    f"both sides of `;` define {', '.join(sorted(shared))}, and a strategy on one side compares "
                    "matches with and without it. cerify cannot make it safe: rename the variable on one side",
                    phi.span,
                )
            return core.CoreSeq(left, right, span=phi.span)
        case _:
            assert_never(phi)


# ---------------------------------------------------------------------------------------------------------------------
# Disjunctive normal form of CEL: every OR is moved as far out as the meaning allows.
#
# Operators that look at one valuation at a time, or combine one valuation of each operand, distribute over OR: their
# clauses in tods21, Figure 3, are unions. Five do not, and keep their operand in disjunctive normal form: each round of
# `+` and `:+` may choose another disjunct, and NXT, LAST and MAX compare the valuations of all disjuncts with each
# other. UNLESS requires that its right side has no valuation, so an OR there becomes a chain of UNLESS.

CelDisjuncts: TypeAlias = list[cel.Formula]


def disjunctive(phi: cel.Formula, nodes: int = NODES) -> cel.Formula:
    """Return the disjunctive normal form of phi, with the same valuations. It may be exponentially larger.

    Raises BudgetExceeded.
    """
    with depth_limited(phi.span):
        return _cel_or(_cel_disjuncts(cel.expanded(phi), nodes))


def _cel_or(disjuncts: CelDisjuncts) -> cel.Formula:
    phi: cel.Formula = joined(cel.Or, disjuncts)
    return phi


def _cel_disjuncts(phi: cel.Formula, nodes: int) -> CelDisjuncts:
    """Return formulas without OR (except inside iterations and strategies) whose union is phi, without duplicates."""
    if isinstance(phi, cel.Derived):
        return _cel_disjuncts(phi.expansion, nodes)
    below = [_cel_disjuncts(psi, nodes) for psi in children(phi)]
    sizes = [[cel.size(psi) for psi in disjuncts] for disjuncts in below]
    found: CelDisjuncts
    match phi:
        case cel.EventAtom(R):
            found = [cel.EventAtom(R)]
        case cel.Or():
            found = below[0] + below[1]
        case cel.Filter(_, condition):
            check_nodes(filtered_size(condition, sizes[0]), nodes, phi)
            found = filtered(below[0], condition)
        case cel.In() | cel.Project() | cel.Restriction() | cel.PerKey():
            found = [rebuilt(phi, [psi]) for psi in below[0]]
        case cel.Sequencing() | cel.And() | cel.All():
            check_nodes(product_size(*sizes), nodes, phi)
            found = [rebuilt(phi, [left, right]) for left in below[0] for right in below[1]]
        case cel.Unless():
            check_nodes(sum(sizes[0]) + len(sizes[0]) * (sum(sizes[1]) + len(sizes[1])), nodes, phi)
            found = [_unless(left, below[1]) for left in below[0]]
        case cel.Iteration() | cel.Preference():
            found = [rebuilt(phi, [_cel_or(below[0])])]
        case _:
            assert_never(phi)
    found = list(dict.fromkeys(found))
    check_nodes(sum(map(cel.size, found)) + len(found) - 1, nodes, phi)
    return found


def _unless(phi: cel.Formula, disjuncts: CelDisjuncts) -> cel.Formula:
    """Return phi UNLESS (d1 OR d2 OR ...) as ((phi UNLESS d1) UNLESS d2) ..."""
    for d in disjuncts:
        phi = cel.Unless(phi, d)
    return phi


# ---------------------------------------------------------------------------------------------------------------------
# The variables that the valuations of a CEL formula may bind, and those that its filters mention.

Variables: TypeAlias = frozenset[str]


def bindable(phi: cel.Formula) -> Variables:
    """Return the variables that some valuation of phi may bind to an event."""
    match phi:
        case cel.EventAtom(R):
            return frozenset({R})
        case cel.In(psi, A):
            bound = bindable(psi)
            return bound | {A} if bound else bound
        case cel.Project(L, psi):
            return bindable(psi) & L
        case cel.And(left, right):
            return bindable(left) & bindable(right)
        case cel.Unless(left, _):
            return bindable(left)
        case cel.Derived():
            return bindable(phi.expansion)
        case cel.Narrowing() | cel.Iteration() | cel.PerKey() | cel.Sequencing() | cel.Combination():
            return frozenset[str]().union(*map(bindable, children(phi)))
        case _:
            assert_never(phi)


def filter_variables(condition: cel.Condition) -> Variables:
    """Return the variables whose events decide whether a filter's condition is true."""
    return frozenset(A for atom in cel.atoms(condition) for A in variables_of(atom))


# ---------------------------------------------------------------------------------------------------------------------
# Filter push-down for CEL: every filter is moved as close to the events of its variables as its meaning allows.
#
# `A[p]` is a condition on each single event of A. So it moves to both sides of an operator that unites valuations, into
# each round of an iteration, to everything below an `IN A`, and through a PROJECT that keeps A. It stops at event
# types, and at NXT, LAST and MAX: these choose among valuations, and would choose among others if the filter came
# first. Other filters (correlated, registered, or an OR of atoms) move as a whole, to a side that binds all their
# variables. They do not move into an iteration, nor below an IN that binds one of their variables.


def push_filters(phi: cel.Formula, nodes: int = NODES) -> cel.Formula:
    """Return phi with its filters pushed down, with the same valuations. Filters that always hold are removed.

    Raises BudgetExceeded.
    """
    with depth_limited(phi.span):
        return _pushed(cel.expanded(phi), nodes)


def _pushed(phi: cel.Formula, nodes: int) -> cel.Formula:
    below = [_pushed(psi, nodes) for psi in children(phi)]
    psi = _filtered(below[0], phi.condition) if isinstance(phi, cel.Filter) else rebuilt(phi, below)
    check_nodes(cel.size(psi), nodes, phi)
    return psi


def _filtered(phi: cel.Formula, condition: cel.Condition) -> cel.Formula:
    match condition:
        case cel.Conjunction(left, right):
            return _filtered(_filtered(phi, left), right)
        case cel.Every(A, p):
            return _filter_events(phi, frozenset({A}), p)
        case cel.Correlated() | cel.Named() | cel.Disjunction():
            return _whole(phi, condition)
        case _:
            assert_never(condition)


def _filter_events(phi: cel.Formula, L: Variables, p: Predicate) -> cel.Formula:
    """Return phi with a filter, pushed down, that each event of a variable in L satisfies p."""
    L = L & bindable(phi)
    if not L:
        return phi
    match phi:
        case cel.EventAtom(R):
            return cel.Filter(phi, cel.Every(R, p))
        case cel.In(psi, A):  # A holds all that psi matched
            return cel.In(_filter_events(psi, bindable(psi) if A in L else L, p), A)
        case cel.Filter(psi, condition):
            return _through(phi, _filter_events(psi, L - {A for A in L if condition == cel.Every(A, p)}, p))
        case cel.Unless(left, right):
            return cel.Unless(_filter_events(left, L, p), right)
        case cel.Preference():
            # Below the strategy the filter would take away matches that win against others.
            for A in sorted(L):
                phi = cel.Filter(phi, cel.Every(A, p))
            return phi
        case cel.Project() | cel.Restriction() | cel.Iteration() | cel.PerKey():
            return rebuilt(phi, [_filter_events(phi.phi, L, p)])
        case cel.Sequencing() | cel.Combination():
            return rebuilt(phi, [_filter_events(psi, L, p) for psi in children(phi)])
        case cel.Derived():
            return _filter_events(phi.expansion, L, p)
        case _:
            assert_never(phi)


def _whole(phi: cel.Formula, condition: cel.Condition) -> cel.Formula:
    """Return phi FILTER condition, with the filter pushed down while one operand has all events of the condition's
    variables.
    """
    L = filter_variables(condition)
    if _holds_anyway(condition, bindable(phi)):
        return phi
    match phi:
        case cel.Filter(psi, other):
            return phi if other == condition else _through(phi, _whole(psi, condition))
        case cel.In(psi, A) if A not in L:
            return cel.In(_whole(psi, condition), A)
        case cel.Project(kept, psi) if kept >= L:
            return cel.Project(kept, _whole(psi, condition))
        case cel.Sequencing() | cel.All() if L.isdisjoint(bindable(phi.right)):
            return rebuilt(phi, [_whole(phi.left, condition), phi.right])
        case cel.Sequencing() | cel.All() if L.isdisjoint(bindable(phi.left)):
            return rebuilt(phi, [phi.left, _whole(phi.right, condition)])
        case cel.Unless(left, right):
            return cel.Unless(_whole(left, condition), right)
        case cel.Or() | cel.And() | cel.Restriction() | cel.PerKey():
            return rebuilt(phi, [_whole(psi, condition) for psi in children(phi)])
        case cel.EventAtom() | cel.In() | cel.Project() | cel.Preference() | cel.Sequencing() | cel.All():
            return cel.Filter(phi, condition)
        case cel.Iteration():
            # An iteration binds a variable in every round, and the condition is about all rounds together.
            return cel.Filter(phi, condition)
        case cel.Derived():
            return _whole(phi.expansion, condition)
        case _:
            assert_never(phi)


def _through(phi: cel.Filter, below: cel.Formula) -> cel.Formula:
    """Return the filter phi with its operand rewritten to `below`.

    If `below` is the old operand with new filters around it, return phi with these filters around it.
    """
    new: list[cel.Condition] = []
    psi = below
    while psi is not phi.phi:
        if not isinstance(psi, cel.Filter):
            return cel.Filter(below, phi.condition)
        new.append(psi.condition)
        psi = psi.phi
    filtered: cel.Formula = phi
    for condition in reversed(new):
        filtered = cel.Filter(filtered, condition)
    return filtered


def _holds_anyway(condition: cel.Condition, bound: Variables) -> bool:
    """Return whether the condition holds because one of its variables has no event (docs/decisions/filters.md)."""
    match condition:
        case cel.Every() | cel.Correlated():
            return not frozenset(variables_of(condition)) <= bound
        case cel.Named():
            return False
        case cel.Conjunction(left, right):
            return _holds_anyway(left, bound) and _holds_anyway(right, bound)
        case cel.Disjunction(left, right):
            return _holds_anyway(left, bound) or _holds_anyway(right, bound)
        case _:
            assert_never(condition)


# ---------------------------------------------------------------------------------------------------------------------
# IN pushed to the event types: tods21, appendix B (proof of Proposition 8.12), for all of CEL.
#
# `phi IN A` changes neither the support nor the events of variables other than A. So it moves below every operator that
# looks only at supports, and to both sides of an operator that unites valuations. Three operators look at the events
# that A had before: FILTER, AND (which compares valuations) and PROJECT. For a filter the paper renames A below to a
# fresh variable; this works for AND and PROJECT too. PROJECT also decides which events A gets: only those of a variable
# that it keeps. In the end a PROJECT hides the fresh variables, so that the valuations are the same; the paper only
# keeps the complex events.


def push_in(phi: cel.Formula, nodes: int = NODES) -> cel.Formula:
    """Return phi with every IN moved to an event type, or to another such IN; the valuations are the same.

    Raises BudgetExceeded.
    """
    with depth_limited(phi.span):
        phi = cel.expanded(phi)
        pushing = _Pushing(phi, nodes)
        return pushing.hidden(pushing.pushed(phi))


class _Pushing:
    """A single rewriting, with the fresh variables that it has made."""

    def __init__(self, phi: cel.Formula, nodes: int) -> None:
        self.nodes = nodes
        self.taken = set(names(phi))
        self.fresh: set[str] = set()

    def pushed(self, phi: cel.Formula) -> cel.Formula:
        """Return phi with every IN moved to an event type; the valuations also bind fresh variables."""
        below = [self.pushed(psi) for psi in children(phi)]
        match phi:
            case cel.In(_, A):
                (psi,) = below
                if _looks_at(psi, A):
                    psi = renamed(psi, A, self.variable_like(A))
                psi = bound(psi, A, None)
            case cel.And():
                psi = cel.And(*map(self.hidden, below))
            case cel.EventAtom() | cel.Project() | cel.Narrowing() | cel.Iteration() | cel.PerKey() | cel.Derived():
                psi = rebuilt(phi, below)
            case cel.Sequencing() | cel.Combination() | cel.Unless():
                psi = rebuilt(phi, below)
            case _:
                assert_never(phi)
        check_nodes(cel.size(psi), self.nodes, phi)
        return psi

    def hidden(self, phi: cel.Formula) -> cel.Formula:
        """Return phi without the fresh variables in its valuations."""
        L = bindable(phi)
        return phi if L.isdisjoint(self.fresh) else cel.Project(L - self.fresh, phi)

    def variable_like(self, A: str) -> str:
        """Return a fresh variable with a name like A."""
        name = next(name for name in (f"{A}_{n}" for n in count(1)) if name not in self.taken)
        self.taken.add(name)
        self.fresh.add(name)
        return name


def bound(phi: cel.Formula, A: str, L: Variables | None) -> cel.Formula:
    """Return a formula with the meaning of phi IN A in which IN is only at event types.

    In phi, only an event type may bind A. L: None, or the variables whose events A gets.
    """
    match phi:
        case cel.EventAtom() | cel.In():
            here = bindable(phi)
            if L is not None and here.isdisjoint(L):
                return cel.Project(here - {A}, phi) if A in here else phi  # the event keeps its other names
            return phi if A in here else cel.In(phi, A)
        case cel.Project(kept, psi):
            return cel.Project(kept | {A}, bound(psi, A, kept if L is None else kept & L))
        case cel.Unless(left, right):
            return cel.Unless(bound(left, A, L), right)
        case cel.Narrowing() | cel.Iteration() | cel.PerKey() | cel.Sequencing() | cel.Combination() | cel.Derived():
            return rebuilt(phi, [bound(psi, A, L) for psi in children(phi)])
        case _:
            assert_never(phi)


def renamed(phi: cel.Formula, A: str, B: str) -> cel.Formula:
    """Return phi with the variable B in place of A. An event of type A is then bound to both A and B.

    The right side of UNLESS is not changed, because its bindings do not matter.
    """
    match phi:
        case cel.EventAtom(R):
            return cel.In(phi, B) if R == A else phi
        case cel.In(psi, C):
            return cel.In(renamed(psi, A, B), B if C == A else C)
        case cel.Filter(psi, condition):
            return cel.Filter(renamed(psi, A, B), rename_variable(condition, A, B))
        case cel.Project(L, psi):
            return cel.Project(L - {A} | {B} if A in L else L, renamed(psi, A, B))
        case cel.Unless(left, right):
            return cel.Unless(renamed(left, A, B), right)
        case cel.Narrowing() | cel.Iteration() | cel.PerKey() | cel.Sequencing() | cel.Combination() | cel.Derived():
            return rebuilt(phi, [renamed(psi, A, B) for psi in children(phi)])
        case _:
            assert_never(phi)


def rename_variable(condition: cel.Condition, A: str, B: str) -> cel.Condition:
    """Return the condition with the variable B in place of A."""
    match condition:
        case cel.Every(C, p):
            return cel.Every(B if C == A else C, p)
        case cel.Correlated(p):
            return cel.Correlated(
                mapped_predicate(p, lambda a: Attribute(a.name, B if a.variable == A else a.variable))
            )
        case cel.Named(name, variables):
            return cel.Named(name, tuple(B if C == A else C for C in variables))
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            return type(condition)(rename_variable(left, A, B), rename_variable(right, A, B))
        case _:
            assert_never(condition)


def _looks_at(phi: cel.Formula, A: str) -> bool:
    """Return whether the meaning of phi depends on the events of A inside it."""
    return any(
        (isinstance(psi, cel.Filter) and A in filter_variables(psi.condition))
        or (isinstance(psi, cel.And | cel.Project) and A in names(psi))
        for psi in binding_subformulas(phi)
    )
