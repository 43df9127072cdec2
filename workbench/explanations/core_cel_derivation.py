"""Why a complex event belongs to a formula of core-CEL: its derivation by the clauses of cep17, sections 3 and 4.

Letters as in cerify.semantics.core_cel.denote. The oracle is its Interpreter: each step's complex event and valuation
are a pair that the interpreter itself gives for the step's formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from cerify.explanations.derivation import comparison
from cerify.explanations.evidence import braces, event, listed
from cerify.explanations.step import Step, tree_of
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.denote import Valuation
from cerify.semantics.core_cel.interpreter import Choice, Interpreter, is_function, without
from cerify.semantics.core_cel.operators import OPERATORS
from cerify.semantics.core_cel.show import show, show_condition
from cerify.semantics.core_cel.variables import Variables, defined_outside_iteration, free, mentioned
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import mentions


@dataclass(frozen=True)
class Node:
    """A step: C is a complex event of the formula under nu, with what the clause was applied with, and facts."""

    formula: core.Formula
    C: ComplexEvent
    nu: Valuation
    detail: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()


def derivations(phi: core.Formula, C: ComplexEvent, oracle: Interpreter) -> Iterator[Node]:
    """All derivations of C from phi over the oracle's stream, in a fixed order. Raises BudgetExceeded."""
    try:
        for nu in _valuations(phi, C, oracle):
            yield from _derive(phi, C, nu, oracle)
    except RecursionError:
        raise BudgetExceeded("the derivation is too deep; explain a shorter match", phi.span) from None


def _valuations(phi: core.Formula, C: ComplexEvent, oracle: Interpreter) -> list[Valuation]:
    """The valuations under which phi has C."""
    return sorted((nu for D, nu in oracle.meaning(phi, min(C)) if D == C), key=sorted)


def _derive(phi: core.Formula, C: ComplexEvent, nu: Valuation, oracle: Interpreter) -> Iterator[Node]:
    def over(psi: core.Formula, mus: Iterable[Valuation], detail: str, *facts: str) -> Iterator[Node]:
        for mu in mus:
            for child in _derive(psi, C, mu, oracle):
                yield Node(phi, C, nu, detail, facts, (child,))

    def parts(left: core.Formula, right: core.Formula, detail: str) -> Iterator[Node]:
        fresh = defined_outside_iteration(left) if isinstance(phi, core.Plus) else frozenset()
        for C1, nu1, C2, nu2 in _splits(left, right, C, oracle):
            if is_function(nu1 | nu2) and without(nu1 | nu2, fresh) == nu:
                for one in _derive(left, C1, nu1, oracle):
                    for two in _derive(right, C2, nu2, oracle):
                        yield Node(phi, C, nu, f"{detail}{braces(C1)}, then {braces(C2)}", (), (one, two))

    S = oracle.S
    match phi:
        case core.Event(R, _):
            yield Node(phi, C, nu, f"S[{min(C)}] has type {R}", (event(min(C), S),))
        case core.Filter(psi, condition):
            mus = _within(nu, mentioned(condition), _valuations(psi, C, oracle))
            yield from over(psi, mus, "", f"{show_condition(condition)}: {values(condition, nu, S)}")
        case core.Or(left, right):
            for side, psi in (("left", left), ("right", right)):
                if (C, nu) in oracle.meaning(psi, min(C)):
                    yield from over(psi, [nu], f"by the {side} side")
        case core.Seq(left, right):
            yield from parts(left, right, "")
        case core.Plus(psi):
            fresh = defined_outside_iteration(psi)
            mus = [mu for mu in _valuations(psi, C, oracle) if without(mu, fresh) == nu]
            yield from over(psi, mus, "the last round")
            yield from parts(psi, phi, "one round ")
        case core.Strict(psi):
            yield from over(psi, [nu], "", f"all positions from {min(C)} to {max(C)}")
        case core.Next(psi) | core.Last(psi) | core.Max(psi):
            mus = _within(nu, free(psi), _valuations(psi, C, oracle))
            symbol = OPERATORS[type(phi)].symbol
            losers = [D for D in rivals(phi, C, nu, oracle) if D != C and (symbol != "MAX" or D < C)]
            yield from over(psi, mus, "", *(comparison(symbol, C, D) for D in losers[:3]))
        case _:
            assert_never(phi)


def _within(nu: Valuation, X: Variables, mus: Iterable[Valuation]) -> list[Valuation]:
    """The valuations that nu extends, to variables of X."""
    return [mu for mu in mus if mu <= nu and {x for x, _ in nu - mu} <= X]


def _splits(
    left: core.Formula, right: core.Formula, C: ComplexEvent, oracle: Interpreter
) -> Iterator[tuple[ComplexEvent, Valuation, ComplexEvent, Valuation]]:
    """The pairs of left and of right whose complex events are a first part of C and the rest."""
    places = sorted(C)
    for n in range(1, len(places)):
        C1, C2 = frozenset(places[:n]), frozenset(places[n:])
        for nu1 in _valuations(left, C1, oracle):
            for nu2 in _valuations(right, C2, oracle):
                yield C1, nu1, C2, nu2


def rivals(phi: Choice, C: ComplexEvent, nu: Valuation, oracle: Interpreter) -> list[ComplexEvent]:
    """What the strategy compares C with: complex events with its last position, under what surrounds the strategy."""
    fresh = defined_outside_iteration(phi.phi)
    around = without(nu, fresh)
    found = {D for D, mu in oracle.pairs(phi.phi) if max(D) == max(C) and is_function(without(mu, fresh) | around)}
    return sorted(found, key=sorted)


def values(condition: core.Condition, nu: Valuation, S: Stream) -> str:
    """The events that the condition speaks of, with the values of the attributes that it mentions."""
    at, shown = dict(nu), list[str]()
    for atom in core.atoms(condition):
        asked = (
            (atom.variable, m.name) if isinstance(atom, core.Unary) else (m.variable, m.name)
            for m in mentions(atom.predicate)
        )
        shown += [f"{x} is {event(at[x], S, [name])}" for x, name in asked if x in at]
    return listed(dict.fromkeys(shown))


def steps_of(root: Node) -> Step:
    """A derivation as a tree of steps."""

    def step(node: Node, children: tuple[Step, ...]) -> Step:
        operator = OPERATORS[type(node.formula)]
        clause = f"{operator.clause}: {node.detail}" if node.detail else operator.clause
        bound = ", ".join(f"{x} -> {p}" for x, p in sorted(node.nu))
        fields = {"formula": show(node.formula), "events": sorted(node.C), "valuation": dict(sorted(node.nu))}
        fields |= {"citation": operator.clause, "detail": node.detail, "evidence": list(node.facts)}
        return Step(show(node.formula), braces(node.C), bound, clause, node.facts, children, json=fields)

    return tree_of(root, lambda node: node.children, step)
