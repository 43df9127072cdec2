"""Explanations of core-CEL: derivations hold clause by clause, and what is in the way is named."""

from __future__ import annotations

from itertools import combinations, islice
from random import Random

import pytest

from cerify import Event, Stream
from cerify.equivalence.generate.core_cel import CORE_CEL_PROFILES, case
from cerify.explanations.core_cel import CoreDerivation, CoreExplainer, CoreFound, derivations, miscounted, reasons
from cerify.explanations.explanation import Request, explanation_lines
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel import denote
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import variables
from cerify.semantics.core_cel.interpreter import CoreInterpreter, matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.trees import children, rebuilt
from proofs_tests.support import sampled

FARM = Stream(
    Event(R, {"id": id_, "tmp" if R == "T" else "hum": value})
    for R, id_, value in (("T", 0, 45), ("H", 0, 20), ("H", 1, 25), ("T", 1, 40), ("T", 0, 42), ("H", 1, 70))
)


def holds(node: CoreDerivation, phi: core.Formula, S: Stream) -> bool:
    """Whether the clause of the step's formula gives its complex event, by the definition without memory."""

    def under(psi: core.Formula, nu: denote.Valuation, i: int) -> denote.ComplexEvents:
        return frozenset(denote.clause(psi, S, nu, i, under)) if i < len(S) else denote.NONE

    anywhere = frozenset((x, 0) for x in variables(phi) - {x for x, _ in node.nu})
    return node.C in under(node.formula, node.nu | anywhere, min(node.C))


def nodes(root: CoreDerivation) -> list[CoreDerivation]:
    return [root, *(below for child in root.children for below in nodes(child))]


def bare(phi: core.Formula) -> core.Formula:
    """The formula without its conditions and strategies."""
    below = [bare(child) for child in children(phi)]
    return below[0] if isinstance(phi, core.CoreFilter | core.Strategy) else rebuilt(phi, below)


@pytest.mark.parametrize("cases", sampled([20, 40], [20]))
@pytest.mark.parametrize("profile", CORE_CEL_PROFILES)
def test_every_match_has_a_derivation_and_every_other_set_a_reason(profile: str, cases: int) -> None:
    rng = Random(profile)
    derived = rejected = 0
    for _ in range(cases):
        phi, S = case(rng, CORE_CEL_PROFILES[profile], 6, 4)
        if len(variables(phi)) > 4:
            continue
        found = {frozenset(m.events) for m in matches_of(phi, S)}
        oracle = CoreInterpreter(S)
        for C in sorted(found, key=sorted)[:4]:
            root = next(derivations(phi, C, oracle))
            assert (root.formula, root.C) == (phi, C)
            assert all(holds(node, phi, S) for node in nodes(root))
            derived += 1
        possible = {frozenset(m.events) for m in matches_of(bare(phi), S)}
        for size in range(1, len(S) + 1):
            for C in islice(map(frozenset, combinations(range(len(S)), size)), 4):
                if C not in found:
                    assert bool(reasons(phi, C, S)) == (C in possible), (phi, C)
                    assert miscounted(phi, C) is None or C not in possible, (phi, C)
                    rejected += 1
    assert derived > cases / 4
    assert rejected > 2.5 * cases


@pytest.mark.parametrize(
    ("query", "C", "reason"),
    [
        ("(T AS x ; H AS y) FILTER x.tmp > 40 AND x.id = y.id", {3, 5}, "x.tmp > 40 is false: x is event 3 (tmp = 40)"),
        ("T AS x ; (H AS y FILTER y.id = x.id)+", {0, 1, 2}, "y.id = x.id is false: y is event 2 (id = 1), x is"),
        ("NXT(T AS x ; H AS y)", {3, 5}, "NXT prefers {0, 5} before {3, 5}: it has 0, the first"),
        ("MAX(T AS x ; (H AS y)+)", {0, 2}, "MAX prefers {0, 1, 2} before {0, 2}: it contains it"),
        ("STRICT(T AS x ; H AS y)", {0, 2}, "STRICT wants an interval: between 0 and 2 it leaves out 1"),
        ("(T AS x ; H AS y) FILTER x.tmp > 40", {0, 1, 2}, "it has too many events: a match has 2, not 3"),
        ("T AS x ; (H AS y OR (H AS y ; T AS z))", {0}, "it has too few events: a match has 2 to 3, not 1"),
        ("T AS x ; (H AS y)+", {0}, "it has too few events: a match has 2 or more, not 1"),
        ("H AS x", {0}, "without its conditions and strategies it has no such events either"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_named(query: str, C: set[int], reason: str) -> None:
    """Of an iteration in the round that breaks the condition."""
    phi = parse(query)
    explainer = CoreExplainer(phi, matches_of(phi, FARM), FARM, query)
    found = explainer.one(Request(frozenset(C)))
    assert isinstance(found, CoreFound)
    (why,) = found.reasons
    assert why.startswith(reason)
    assert any(why in line.text for line in explanation_lines(explainer, found))


def test_beyond_the_budget_a_match_is_still_said_to_be_one() -> None:
    phi = parse("T AS x ; H AS y")
    explainer = CoreExplainer(phi, matches_of(phi, FARM), FARM, "T AS x ; H AS y")
    explainer.oracle = CoreInterpreter(FARM, Budget(valuations=2))
    found = explainer.one(Request(frozenset({0, 1})))
    assert isinstance(found, CoreFound)
    assert found.match
    assert "more than 2 valuations" in found.reasons[0]
