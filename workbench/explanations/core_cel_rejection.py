"""Which conditions and strategies of a formula of core-CEL are in the way of a complex event.

They are a smallest set without which the formula has it. A derivation from what is left shows what breaks each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import TypeAlias, assert_never

from cerify.explanations.core_cel_derivation import Node, derivations, rivals, values
from cerify.explanations.derivation import comparison
from cerify.explanations.evidence import listed
from cerify.semantics.budget import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.denote import Valuation, last_at_most, next_at_most, satisfies
from cerify.semantics.core_cel.interpreter import Choice, Interpreter, without
from cerify.semantics.core_cel.operators import OPERATORS
from cerify.semantics.core_cel.show import show_condition
from cerify.semantics.core_cel.variables import defined_outside_iteration, mentioned
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.trees import children, rebuilt

TRIED = 256  # sets of conditions and strategies

Restriction: TypeAlias = core.Filter | core.Strategy


def reasons(phi: core.Formula, C: ComplexEvent, S: Stream, budget: Budget = Budget()) -> tuple[str, ...]:
    """What is in the way of C, which is no complex event of phi; () if it is more than conditions and strategies.

    Raises BudgetExceeded.
    """
    phi = _single_conditions(phi)
    places = [node for node in core.subformulas(phi) if isinstance(node, Restriction)]
    sets = (left_out for n in range(1, len(places) + 1) for left_out in combinations(places, n))
    for left_out in islice(sets, TRIED):
        taken: dict[int, list[Restriction]] = {}
        psi = _without(phi, {id(node) for node in left_out}, taken)
        oracle = Interpreter(S, budget)
        for root in islice(derivations(psi, C, oracle), 1):
            return tuple(dict.fromkeys(_broken(root, taken, oracle)))
    return ()


def miscounted(phi: core.Formula, C: ComplexEvent) -> str | None:
    """That C has more events, or fewer, than any complex event of phi; None if it has not."""
    least, most = _sizes(phi)
    if least <= len(C) and (most is None or len(C) <= most):
        return None
    possible = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
    return f"it has too {'few' if len(C) < least else 'many'} events: a match has {possible}, not {len(C)}"


def _sizes(phi: core.Formula) -> tuple[int, int | None]:
    """The least and the greatest number of events of a match, by the pattern alone; None: there is no greatest."""
    match phi:
        case core.Event():
            return 1, 1
        case core.Seq(left, right):
            (a, b), (c, d) = _sizes(left), _sizes(right)
            return a + c, None if b is None or d is None else b + d
        case core.Or(left, right):
            (a, b), (c, d) = _sizes(left), _sizes(right)
            return min(a, c), None if b is None or d is None else max(b, d)
        case core.Plus(inner):
            return _sizes(inner)[0], None
        case core.Filter() | core.Strict() | core.Next() | core.Last() | core.Max():
            return _sizes(phi.phi)
        case _:
            assert_never(phi)


def _single_conditions(phi: core.Formula) -> core.Formula:
    """The formula with a filter of its own for each condition of a conjunction."""
    below = [_single_conditions(child) for child in children(phi)]
    if isinstance(phi, core.Filter) and isinstance(phi.condition, core.Conjunction):
        inner = core.Filter(below[0], phi.condition.left)
        return _single_conditions(core.Filter(inner, phi.condition.right))
    return rebuilt(phi, below)


def _without(phi: core.Formula, left_out: set[int], taken: dict[int, list[Restriction]]) -> core.Formula:
    """The formula without these nodes, by their identities; taken: for each node below one what stood around it."""
    below = [_without(child, left_out, taken) for child in children(phi)]
    if id(phi) in left_out and isinstance(phi, Restriction):
        taken.setdefault(id(below[0]), []).append(phi)
        return below[0]
    return rebuilt(phi, below)


def _broken(root: Node, taken: dict[int, list[Restriction]], oracle: Interpreter) -> Iterator[str]:
    """How the steps of a derivation break what was taken away around them."""
    pending = [(root, root.nu)]
    while pending:
        node, nu = pending.pop()
        for restriction in taken.get(id(node.formula), ()):
            yield from _violation(restriction, node, nu, oracle)
        around = without(nu, defined_outside_iteration(node.formula.phi)) if isinstance(node.formula, core.Plus) else nu
        pending.extend(
            (one, one.nu | without(around, frozenset(x for x, _ in one.nu))) for one in reversed(node.children)
        )


def _violation(restriction: Restriction, node: Node, nu: Valuation, oracle: Interpreter) -> Iterator[str]:
    """Why the restriction does not have the step's complex event; nothing where it has, as in other rounds.

    nu: the valuation of the step, and of what surrounds it.
    """
    C, S = node.C, oracle.S
    match restriction:
        case core.Filter(_, condition):
            extended = oracle.extended(nu, mentioned(condition))
            if not any(satisfies(mu, condition, S) for mu in extended):
                shown = values(condition, nu, S)
                yield f"{show_condition(condition)} is false{f': {shown}' if shown else ' of every event'}"
        case core.Strict():
            if missing := sorted(set(range(min(C), max(C))) - C):
                left_out = listed(map(str, missing))
                yield f"STRICT wants an interval: between {min(C)} and {max(C)} it leaves out {left_out}"
        case core.Next() | core.Last() | core.Max():
            choice = type(restriction)(node.formula)
            symbol = OPERATORS[type(choice)].symbol
            found = (D for D in rivals(choice, C, nu, oracle) if _beats(choice, D, C))
            yield from (f"{symbol} prefers {comparison(symbol, D, C)}" for D in islice(found, 1))
        case _:
            assert_never(restriction)


def _beats(choice: Choice, D: ComplexEvent, C: ComplexEvent) -> bool:
    match choice:
        case core.Next():
            return D != C and next_at_most(C, D)
        case core.Last():
            return D != C and last_at_most(C, D)
        case core.Max():
            return D > C
        case _:
            assert_never(choice)
