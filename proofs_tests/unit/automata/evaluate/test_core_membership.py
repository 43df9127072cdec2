"""core-CEL with filters across events where CEL has no formula: candidates, their check by clauses, the definition."""

from collections import Counter
from random import Random

import pytest

from cerify.automata.evaluate import compiled, core
from cerify.equivalence.generate import core_cel as generate
from cerify.equivalence.generate.core_cel import ANYTHING
from cerify.equivalence.rewrite.translate_core_cel import translated
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from proofs_tests.support import sampled, stream

CANDIDATES = {"readable": core.matches, "kernel": compiled.core_matches}


def found(phi: Formula, S: Stream, name: str = "readable", budget: Budget = Budget()) -> list[Match]:
    return sorted(core.iterate_core_matches(phi, S, budget, CANDIDATES[name]))


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize(
    ("query", "types", "a", "expected"),
    [
        ("A AS x FILTER y.a = x.a", "A B", [1, 1], {(0,)}),
        ("A AS x FILTER y.a > x.a", "A A B", [1, 2, 2], {(0,)}),  # a later event of any type
        ("A AS x ; NXT(B AS y ; B AS z FILTER y.a = x.a)", "A B B B", [2, 1, 2, 3], {(0, 2, 3)}),
        ("A AS x ; LAST(B AS y ; B AS z FILTER z.a >= x.a)", "A B B B", [2, 1, 2, 3], {(0, 1, 2), (0, 2, 3)}),
        ("A AS x ; MAX(B AS y OR (B AS y ; B AS z FILTER z.a = x.a))", "A B B", [2, 1, 2], {(0, 1), (0, 1, 2)}),
        ("(A AS x ; B AS y FILTER y.a = x.a)+ ; C AS z", "A B A B C", [1, 1, 2, 2, 0],
         {(0, 1, 4), (2, 3, 4), (0, 1, 2, 3, 4)}),
        ("STRICT(A AS x ; B AS y FILTER y.a = z.a)", "A B C A B", [1, 1, 3, 2, 3], {(0, 1), (3, 4)}),
    ],
)  # fmt: skip
def test_each_clause(query: str, types: str, a: list[int], expected: set[tuple[int, ...]], name: str) -> None:
    phi, S = parse(query), stream(types, a=list(a))
    assert {match.events for match in found(phi, S, name)} == expected
    assert matches_of(phi, S) == found(phi, S, name)


@pytest.mark.parametrize("cases", sampled([200, 420], [200]))
def test_random_formulas_agree_with_the_definition(cases: int) -> None:
    """Those that have no formula of CEL, and one in four of the others that compare events."""
    outcomes: Counter[str] = Counter()
    for i in range(cases):
        rng = Random(f"core membership/{i}")
        phi = generate.formula(rng, ANYTHING, rng.randint(3, 9))
        refused = isinstance(translated(phi, Budget(states=2_000)), Unsupported)
        if not (refused or i % 4 == 0):
            continue
        S = generate.stream(rng, ANYTHING, rng.randint(2, 7), phi)
        try:
            expected = matches_of(phi, S, Budget(valuations=5_000))
            answer = found(phi, S, budget=Budget(states=3_000))
        except BudgetExceeded:
            continue
        assert answer == expected, (show(phi), S.events)
        outcomes[f"{'refused' if refused else 'carried'} {'matched' if expected else 'nothing'}"] += 1
    assert outcomes["refused matched"] > 8 * cases / 420
    assert outcomes["carried matched"] > 8 * cases / 420


def test_a_check_without_rivals_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    phi, S = parse("A AS x ; NXT(B AS y ; B AS z FILTER z.a >= x.a)"), stream("A B B B", a=[2, 1, 2, 3])
    assert found(phi, S) == matches_of(phi, S)
    monkeypatch.setattr(core, "_selected", lambda phi, C, rivals: True)
    assert found(phi, S) != matches_of(phi, S)


def test_the_check_ends_with_its_budget() -> None:
    phi, S = parse("(A AS x)+ ; B AS y FILTER z.a > y.a FILTER w.a > z.a"), stream(" ".join("A" * 9 + "B"), a=[1] * 10)
    with pytest.raises(BudgetExceeded, match="were tried on more than 5000"):
        found(phi, S, budget=Budget(valuations=5_000))
