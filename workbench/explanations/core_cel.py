"""Explain core-CEL matches: derivations of a match, and reasons why positions are not a match.

Derivations come first, then reasons: a smallest set of conditions and strategies without which the positions would be a
match. It is kept apart from the explanations of CEL, since cep17 assigns one event to a variable and so has other
derivations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TypeAlias, assert_never

from cerify.explanations.cel_rejection import comparison
from cerify.explanations.explanation import (
    ExplanationPart,
    ExplanationStep,
    ExplanationView,
    Json,
    Listing,
    MembershipAnswer,
    PlainExplainer,
    Request,
    braces,
    event,
    format_list,
    json_of_tree,
    numbered,
    tree_of,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import Variables, defined_outside_iteration, free, mentioned
from cerify.semantics.core_cel.denote import Valuation, last_at_most, next_at_most, satisfies
from cerify.semantics.core_cel.interpreter import CoreInterpreter, is_function, without
from cerify.semantics.core_cel.syntax import OPERATORS, Formula, show, show_condition
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Match, Stream
from cerify.semantics.predicates import mentions
from cerify.semantics.trees import children, rebuilt

# ---------------------------------------------------------------------------------------------------------------------
# Why a complex event belongs to a formula of core-CEL: its derivation by the clauses of cep17, sections 3 and 4.
#
# Variables are named as in cerify.semantics.core_cel.denote. The interpreter (the oracle) decides: each step's complex
# event and valuation are a pair that it returns for the step's formula.


@dataclass(frozen=True)
class CoreDerivation:
    """A step of a derivation: C is a complex event of the formula under the valuation nu.

    detail: how the clause was applied. facts: facts about the stream that it needs.
    """

    formula: core.Formula
    C: ComplexEvent
    nu: Valuation
    detail: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[CoreDerivation, ...] = ()


def derivations(phi: core.Formula, C: ComplexEvent, oracle: CoreInterpreter) -> Iterator[CoreDerivation]:
    """Yield all derivations of C from phi over the oracle's stream, in a fixed order. Raises BudgetExceeded."""
    try:
        for nu in _valuations(phi, C, oracle):
            yield from _derive(phi, C, nu, oracle)
    except RecursionError:
        raise BudgetExceeded("the derivation is too deep; explain a shorter match", phi.span) from None


def _valuations(phi: core.Formula, C: ComplexEvent, oracle: CoreInterpreter) -> list[Valuation]:
    """Return the valuations under which C is a complex event of phi."""
    return sorted((nu for D, nu in oracle.meaning(phi, min(C)) if D == C), key=sorted)


def _derive(phi: core.Formula, C: ComplexEvent, nu: Valuation, oracle: CoreInterpreter) -> Iterator[CoreDerivation]:
    def over(psi: core.Formula, mus: Iterable[Valuation], detail: str, *facts: str) -> Iterator[CoreDerivation]:
        for mu in mus:
            for child in _derive(psi, C, mu, oracle):
                yield CoreDerivation(phi, C, nu, detail, facts, (child,))

    def parts(left: core.Formula, right: core.Formula, detail: str) -> Iterator[CoreDerivation]:
        fresh = defined_outside_iteration(left) if isinstance(phi, core.CorePlus) else frozenset()
        for C1, nu1, C2, nu2 in _splits(left, right, C, oracle):
            if is_function(nu1 | nu2) and without(nu1 | nu2, fresh) == nu:
                for one in _derive(left, C1, nu1, oracle):
                    for two in _derive(right, C2, nu2, oracle):
                        yield CoreDerivation(phi, C, nu, f"{detail}{braces(C1)}, then {braces(C2)}", (), (one, two))

    S = oracle.S
    match phi:
        case core.CoreEventAtom(R, _):
            yield CoreDerivation(phi, C, nu, f"S[{min(C)}] has type {R}", (event(min(C), S),))
        case core.CoreFilter(psi, condition):
            mus = _within(nu, mentioned(condition), _valuations(psi, C, oracle))
            yield from over(psi, mus, "", f"{show_condition(condition)}: {values(condition, nu, S)}")
        case core.CoreOr(left, right):
            for side, psi in (("left", left), ("right", right)):
                if (C, nu) in oracle.meaning(psi, min(C)):
                    yield from over(psi, [nu], f"by the {side} side")
        case core.CoreSeq(left, right):
            yield from parts(left, right, "")
        case core.CorePlus(psi):
            fresh = defined_outside_iteration(psi)
            mus = [mu for mu in _valuations(psi, C, oracle) if without(mu, fresh) == nu]
            yield from over(psi, mus, "the last round")
            yield from parts(psi, phi, "one round ")
        case core.CoreStrict(psi):
            yield from over(psi, [nu], "", f"all positions from {min(C)} to {max(C)}")
        case core.CorePreference(psi):
            mus = _within(nu, free(psi), _valuations(psi, C, oracle))
            symbol = OPERATORS[type(phi)].symbol
            losers = [D for D in rivals(phi, C, nu, oracle) if D != C and (symbol != "MAX" or D < C)]
            yield from over(psi, mus, "", *(comparison(symbol, C, D) for D in losers[:3]))
        case _:
            assert_never(phi)


def _within(nu: Valuation, X: Variables, mus: Iterable[Valuation]) -> list[Valuation]:
    """Return the valuations in `mus` that are a part of nu, if the rest of nu has only variables in X."""
    return [mu for mu in mus if mu <= nu and {x for x, _ in nu - mu} <= X]


def _splits(
    left: core.Formula, right: core.Formula, C: ComplexEvent, oracle: CoreInterpreter
) -> Iterator[tuple[ComplexEvent, Valuation, ComplexEvent, Valuation]]:
    """Yield each way to split C into a first part that `left` matches and a rest that `right` matches.

    Each part comes with its valuation.
    """
    places = sorted(C)
    for n in range(1, len(places)):
        # Only this way: in a sequence all events of the left side come before those of the right side.
        C1, C2 = frozenset(places[:n]), frozenset(places[n:])
        for nu1 in _valuations(left, C1, oracle):
            for nu2 in _valuations(right, C2, oracle):
                yield C1, nu1, C2, nu2


def rivals(phi: core.AnyCorePreference, C: ComplexEvent, nu: Valuation, oracle: CoreInterpreter) -> list[ComplexEvent]:
    """Return the complex events that the strategy phi compares with each other, including C.

    They have the same last position as C, and are compatible with nu, the valuation of the formula around phi.
    """
    fresh = defined_outside_iteration(phi.phi)
    around = without(nu, fresh)
    found = {D for D, mu in oracle.pairs(phi.phi) if max(D) == max(C) and is_function(without(mu, fresh) | around)}
    return sorted(found, key=sorted)


def values(condition: core.Condition, nu: Valuation, S: Stream) -> str:
    """Format the attributes that the condition mentions, with the values that they have in the events of nu."""
    at, shown = dict(nu), list[str]()
    for atom in core.atoms(condition):
        asked = (
            (atom.variable, m.name) if isinstance(atom, core.Unary) else (m.variable, m.name)
            for m in mentions(atom.predicate)
        )
        shown += [f"{x} is {event(at[x], S, [name])}" for x, name in asked if x in at]
    return format_list(dict.fromkeys(shown))


def steps_of(root: CoreDerivation) -> ExplanationStep:
    """Return a derivation as a tree of steps."""

    def step(node: CoreDerivation, children: tuple[ExplanationStep, ...]) -> ExplanationStep:
        operator = OPERATORS[type(node.formula)]
        clause = f"{operator.clause}: {node.detail}" if node.detail else operator.clause
        bound = ", ".join(f"{x} -> {p}" for x, p in sorted(node.nu))
        fields = {"formula": show(node.formula), "events": sorted(node.C), "valuation": dict(sorted(node.nu))}
        fields |= {"citation": operator.clause, "detail": node.detail, "evidence": list(node.facts)}
        return ExplanationStep(show(node.formula), braces(node.C), bound, clause, node.facts, children, json=fields)

    return tree_of(root, lambda node: node.children, step)


# ---------------------------------------------------------------------------------------------------------------------
# Which conditions and strategies of a formula of core-CEL reject a complex event: a smallest set without which it is a
# match. Its derivation by the rest of the formula shows how it violates each of them.

TRIED = 256  # the most sets of conditions and strategies that are tried

Restriction: TypeAlias = core.CoreFilter | core.Strategy


def reasons(phi: core.Formula, C: ComplexEvent, S: Stream, budget: Budget = Budget()) -> tuple[str, ...]:
    """Return reasons why C is not a complex event of phi, found by removing conditions and strategies.

    Return () if C is not a complex event without them either. Raises BudgetExceeded.
    """
    # One condition for each filter, so that a reason names only the condition that fails.
    phi = _single_conditions(phi)
    places = [node for node in core.subformulas(phi) if isinstance(node, Restriction)]
    # Small sets first, since the first one found is the reason: nothing in it could be left in.
    sets = (left_out for n in range(1, len(places) + 1) for left_out in combinations(places, n))
    for left_out in islice(sets, TRIED):
        taken: dict[int, list[Restriction]] = {}
        psi = _without(phi, {id(node) for node in left_out}, taken)
        oracle = CoreInterpreter(S, budget)
        for root in islice(derivations(psi, C, oracle), 1):
            return tuple(dict.fromkeys(_broken(root, taken, oracle)))
    return ()


def miscounted(phi: core.Formula, C: ComplexEvent) -> str | None:
    """Return a message if C has more events, or fewer, than any complex event of phi; None otherwise."""
    least, most = _sizes(phi)
    if least <= len(C) and (most is None or len(C) <= most):
        return None
    possible = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
    return f"there are too {'few' if len(C) < least else 'many'} events: a match has {possible}, not {len(C)}"


def _sizes(phi: core.Formula) -> tuple[int, int | None]:
    """Return the least and the greatest number of events that the pattern allows; None for no greatest number."""
    match phi:
        case core.CoreEventAtom():
            return 1, 1
        case core.CoreSeq(left, right):
            (a, b), (c, d) = _sizes(left), _sizes(right)
            return a + c, None if b is None or d is None else b + d
        case core.CoreOr(left, right):
            (a, b), (c, d) = _sizes(left), _sizes(right)
            return min(a, c), None if b is None or d is None else max(b, d)
        case core.CorePlus(inner):
            return _sizes(inner)[0], None
        case core.CoreFilter() | core.CoreSelection():
            return _sizes(phi.phi)
        case _:
            assert_never(phi)


def _single_conditions(phi: core.Formula) -> core.Formula:
    """Return the formula with each conjunction split, so that every filter has one condition."""
    below = [_single_conditions(child) for child in children(phi)]
    if isinstance(phi, core.CoreFilter) and isinstance(phi.condition, core.CoreConjunction):
        inner = core.CoreFilter(below[0], phi.condition.left)
        return _single_conditions(core.CoreFilter(inner, phi.condition.right))
    return rebuilt(phi, below)


def _without(phi: core.Formula, left_out: set[int], taken: dict[int, list[Restriction]]) -> core.Formula:
    """Return the formula without the nodes whose ids are in left_out.

    Also add to `taken`, for the id of each remaining node, the removed nodes directly around it.
    """
    below = [_without(child, left_out, taken) for child in children(phi)]
    if id(phi) in left_out and isinstance(phi, Restriction):
        taken.setdefault(id(below[0]), []).append(phi)
        return below[0]
    return rebuilt(phi, below)


def _broken(root: CoreDerivation, taken: dict[int, list[Restriction]], oracle: CoreInterpreter) -> Iterator[str]:
    """Yield messages on how the steps of a derivation violate the restrictions that were removed around them."""
    pending = [(root, root.nu)]
    while pending:
        node, nu = pending.pop()
        for restriction in taken.get(id(node.formula), ()):
            yield from _violation(restriction, node, nu, oracle)
        around = (
            without(nu, defined_outside_iteration(node.formula.phi)) if isinstance(node.formula, core.CorePlus) else nu
        )
        pending.extend(
            (one, one.nu | without(around, frozenset(x for x, _ in one.nu))) for one in reversed(node.children)
        )


def _violation(restriction: Restriction, node: CoreDerivation, nu: Valuation, oracle: CoreInterpreter) -> Iterator[str]:
    """Yield the reasons why the restriction rejects the step's complex event; none if it accepts the event.

    nu: the valuation of the step and of the formula around it.
    """
    C, S = node.C, oracle.S
    match restriction:
        case core.CoreFilter(_, condition):
            extended = oracle.extended(nu, mentioned(condition))
            if not any(satisfies(mu, condition, S) for mu in extended):
                shown = values(condition, nu, S)
                yield f"{show_condition(condition)} is false{f': {shown}' if shown else ' of every event'}"
        case core.CoreStrict():
            if missing := sorted(set(range(min(C), max(C))) - C):
                left_out = format_list(map(str, missing))
                gap = f"between {min(C)} and {max(C)}, the match leaves out {left_out}"
                yield f"STRICT requires consecutive events: {gap}"
        case core.CorePreference():
            choice = type(restriction)(node.formula)
            symbol = OPERATORS[type(choice)].symbol
            found = (D for D in rivals(choice, C, nu, oracle) if _beats(choice, D, C))
            yield from (comparison(symbol, D, C) for D in islice(found, 1))
        case _:
            assert_never(restriction)


def _beats(choice: core.AnyCorePreference, D: ComplexEvent, C: ComplexEvent) -> bool:
    match choice:
        case core.CoreNext():
            return D != C and next_at_most(C, D)
        case core.CoreLast():
            return D != C and last_at_most(C, D)
        case core.CoreMax():
            return D > C
        case _:
            assert_never(choice)


PATTERN = (
    "even without its conditions and strategies, the formula does not match these events: it needs other types, or "
    "another order"
)


@dataclass(frozen=True)
class CoreFound(MembershipAnswer):
    """The answer about a set of positions: derivations if it is a match, else the reasons why not.

    more: whether there are more derivations.
    """

    derivations: tuple[CoreDerivation, ...] = ()
    more: bool = False
    reasons: tuple[str, ...] = ()


class CoreExplainer(PlainExplainer):
    """An explainer that uses the reference evaluator; beyond the budget, it only says whether the positions are a
    match.
    """

    legend = "“x -> 1” says that the variable x holds event 1."

    def __init__(self, phi: Formula, matches: Sequence[Match], S: Stream, query: str) -> None:
        super().__init__(matches, S, query)
        self.phi, self.oracle = phi, CoreInterpreter(S)

    def explain_request(self, request: Request) -> MembershipAnswer | None:
        found = super().explain_request(request)
        return None if found is None else self._explained(found, request.count)

    def all(self, request: Request) -> Listing[MembershipAnswer]:
        listed = super().all(request)
        return replace(listed, found=[self._explained(one, request.count) for one in listed.found])

    def json(self, found: MembershipAnswer) -> Json:
        assert isinstance(found, CoreFound)
        if not found.match:
            return super().json(found) | {"reasons": list(found.reasons)}
        trees = [json_of_tree(steps_of(root)) for root in found.derivations]
        return super().json(found) | {"derivations": trees, "more": found.more}

    def view(self, found: MembershipAnswer) -> ExplanationView:
        assert isinstance(found, CoreFound)
        view = super().view(found)
        whys = (ExplanationPart("what is in the way", lines=found.reasons),) if found.reasons else ()
        derived = numbered("derivation", [ExplanationPart(trees=(steps_of(root),)) for root in found.derivations])
        return replace(view, parts=(*derived, *whys, *view.parts), more="derivations" if found.more else "")

    def _explained(self, found: MembershipAnswer, count: int) -> CoreFound:
        known = CoreFound(found.events, found.at, found.match, found.nearest)
        try:
            if found.match:
                roots = tuple(islice(derivations(self.phi, found.events, self.oracle), count + 1))
                return replace(known, derivations=roots[:count], more=len(roots) > count)
            if not found.events:
                return replace(known, reasons=("a match of core-CEL has at least one event",))
            if found.at != max(found.events):
                return replace(known, reasons=(f"a match is reported at its last event, {max(found.events)}",))
            return replace(known, reasons=self._reasons(found.events))
        except BudgetExceeded as error:
            return replace(known, reasons=(error.message,))

    def _reasons(self, C: ComplexEvent) -> tuple[str, ...]:
        """Return the reasons why C is not a match. If its number of events is wrong, that is the only reason given."""
        count = miscounted(self.phi, C)
        return (count,) if count is not None else reasons(self.phi, C, self.S) or (PATTERN,)
