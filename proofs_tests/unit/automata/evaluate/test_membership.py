"""Formulas that take more than one automaton: their candidates, the check by clauses, and the definition."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from cerify.automata.evaluate import compiled, membership, streaming
from cerify.automata.evaluate.evaluation_plan import AutomatonPlan, CheckedPlan, CollectedPlan, required_plan
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import EVERYTHING, around, clocked, inside
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream, Valuation
from proofs_tests.support import sampled, stream

Evaluate = Callable[..., list[Match]]
EVALUATORS = {"readable": streaming.matches, "kernel": compiled.matches}
COMPARING = replace(EVERYTHING, correlated=0.7, types=("A", "B"), absent=0.05)
SMALL = Budget(valuations=20_000)

CLAUSES = (
    "A ; NXT(A+ ; B FILTER A.x = B.x)",
    "A ; LAST(A+ ; B FILTER A.x = B.x)",
    "(A ; MAX(A+ ; B FILTER A.x < B.x)) FILTER A.x != B.x",
    "NXT((A ; B) FILTER A.x < B.x)+",
    "NXT((A ; B) FILTER A.x < B.x) : C",
    "LAST(A+ FILTER A.x <= A.x):+",
    "(A UNLESS ((B ; B) FILTER B.x < B.x)) ; C",
    "((A OR B) UNLESS NXT((B ; A) FILTER A.x < B.x)) ; C",
    "(PROJECT[B]((A ; B) FILTER A.x < B.x) : C) ; C",
    "(PROJECT[B](A OR B FILTER B.x < B.x))+ ; C",
    "C ; PROJECT[A](NXT((A ; B) FILTER A.x < B.x))",
    "NXT((A ; B) FILTER A.x < B.x) ALL C",
    "A ; (NXT((A ; B) FILTER A.x < B.x) IN X FILTER X.x < 3)",
    "A ; (NXT(((A IN X) ; B) FILTER X.x < B.x) IN X)",
    "(NXT((A ; B) FILTER A.x < B.x) ; C) WITHIN 7 EVENTS",
    "C ; START(MAX((A ; B) FILTER A.x < B.x))",
    "C ; STRICT(MAX((A ; B) FILTER A.x <= B.x))",
    "((NXT((A ; B) FILTER A.x < B.x) OR B) AND (A ; B)) ; C",
    "(NXT((A ; B) PARTITION BY [x]) PARTITION BY [x]) ; C",
    "(NXT((A ; B) WITHIN 1 [x]) WITHIN 1 [x]) ; C",
    "A ; NXT(B ; MAX(A+ ; C FILTER A.x <= C.x))",
    "NXT((A ; A FILTER A.x = A.x) OR (A ; NXT((A ; B) FILTER A.x < B.x)))",
)


@pytest.fixture(params=EVALUATORS)
def evaluate(request: pytest.FixtureRequest) -> Evaluate:
    return EVALUATORS[request.param]


def one(query: str, types: str, x: list[int], evaluate: Evaluate) -> set[tuple[int, ...]]:
    return {match.events for match in evaluate(parse(query), stream(types, x=list(x)))}


@pytest.mark.parametrize("query", CLAUSES)
def test_each_clause_agrees_with_the_definition(query: str, evaluate: Evaluate) -> None:
    phi = parse(query)
    assert not isinstance(required_plan(phi), AutomatonPlan)
    found = 0
    for i in range(12):
        rng = Random(f"clauses/{i}")
        types = " ".join(rng.choices("AABBC", k=9))
        S = stream(types, x=[rng.randint(0, 3) for _ in range(9)])
        output = "valuations" if i % 2 else "matches"
        expected = matches_of(phi, S, output)
        assert evaluate(phi, S, output) == expected, (query, S.events)
        found += len(expected)
    assert found


def test_a_strategy_inside_compares_over_the_interval_that_it_stands_on(evaluate: Evaluate) -> None:
    """After the A at 0 the greatest is {1, 3}, after that at 1 it is {2, 3}, and over the whole stream {0, 3}."""
    assert one("C ; NXT((A ; B) FILTER A.x < B.x)", "C A A B", [0, 1, 2, 3], evaluate) == {(0, 1, 3)}
    assert one("A ; NXT((A ; B) FILTER A.x < B.x)", "A A A B", [1, 1, 2, 3], evaluate) == {(0, 1, 3), (1, 2, 3)}
    assert one("NXT((A ; B) FILTER A.x < B.x)", "A A A B", [1, 1, 2, 3], evaluate) == {(0, 3)}


def test_a_window_inside_an_iteration_is_one_of_each_round(evaluate: Evaluate) -> None:
    found = one("((A ; B) WITHIN 1 [x])+", "A B A B", [0, 1, 5, 6], evaluate)
    assert found == {(0, 1), (2, 3), (0, 1, 2, 3)}


@pytest.mark.parametrize("cases", sampled([160, 320], [160]))
def test_random_formulas_agree_with_the_definition(cases: int) -> None:
    plans: Counter[str] = Counter()
    for i in range(cases):
        rng = Random(f"membership/{i}")
        phi = generate.formula(rng, COMPARING, rng.randint(4, 10))
        for _ in range(rng.choice((0, 1, 1, 2))):
            phi = inside(rng, phi, around)
        plan = required_plan(phi)
        if isinstance(plan, AutomatonPlan):
            continue
        S = clocked(rng, generate.stream(rng, COMPARING, rng.randint(2, 7), phi))
        output = "valuations" if i % 2 == 0 else "matches"
        try:
            expected = matches_of(phi, S, output, SMALL)
        except BudgetExceeded:
            continue
        for name, evaluator in EVALUATORS.items() if i % 4 == 0 else [("readable", streaming.matches)]:
            assert evaluator(phi, S, output) == expected, (name, show(phi), S.events)
        plans[type(plan).__name__ if expected else "nothing"] += 1
    assert plans[CheckedPlan.__name__] > cases / 80
    assert plans[CollectedPlan.__name__] > cases / 80


def test_a_check_that_accepts_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With candidates unchecked, NXT above keeps all of what it is given."""
    phi, S = parse("C ; NXT((A ; B) FILTER A.x < B.x)"), stream("C A A B", x=[0, 1, 2, 3])

    def accepts(self: membership.Membership, phi: cel.Formula, mu: Valuation, i: int, j: int) -> bool:
        return True

    monkeypatch.setattr(membership.Membership, "has", accepts)
    assert streaming.matches(phi, S) != matches_of(phi, S)


def test_a_long_stream_is_read_once_from_each_position_that_matters() -> None:
    """450 events: the matches are those of the strategy without its filter, which is always true here."""
    S = stream(" ".join("ABC" * 150), x=[0, 1, 2] * 150)
    phi, plain = (f"(C ; NXT((A ; B){condition})) WITHIN 9 EVENTS" for condition in (" FILTER A.x < B.x", ""))
    assert streaming.matches(parse(phi), S) == streaming.matches(parse(plain), S)


def test_the_checks_of_a_query_have_one_budget(evaluate: Evaluate) -> None:
    S = Stream(stream(" ".join("A" * 14 + "B"), x=[*range(14), 20]).events)
    with pytest.raises(BudgetExceeded, match="what makes them fewer is WITHIN"):
        evaluate(parse("A ; NXT((A+ ; B) FILTER A.x < B.x)"), S, budget=Budget(valuations=20_000))
