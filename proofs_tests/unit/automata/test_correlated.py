"""Filters that compare events: what is taken out of a formula, what is checked, and agreement with the definition."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, product
from random import Random

import pytest

import cerify
from cerify.automata.cea.compile import correlated
from cerify.automata.evaluate import compiled, core, membership, streaming
from cerify.automata.evaluate.evaluation_plan import (
    AutomatonPlan,
    CheckedPlan,
    CollectedPlan,
    agreeing,
    analyze_bindings,
    decorrelated,
    partitioned,
    required_plan,
)
from cerify.automata.evaluate.membership import CorrelatedFilterChecker, Spending
from cerify.automata.evaluate.readable import CheckedEvaluator, batch_plan
from cerify.automata.evaluate.scope import Unordered, strip_windows
from cerify.automata.evaluate.streaming import without_marks
from cerify.automata.evaluator import Output
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import core_cel as generate_core
from cerify.equivalence.generate.cel import EVERYTHING, around, case, clocked, inside
from cerify.equivalence.generate.core_cel import ANYTHING
from cerify.equivalence.rewrite.translate_core_cel import translated
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter, matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.core_cel.interpreter import matches_of as matches_of_core
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.core_cel.syntax import Formula as CoreFormula
from cerify.semantics.core_cel.syntax import show as show_core
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Match, Stream, Valuation
from cerify.semantics.predicates import Attribute, Comparison
from proofs_tests.campaigns.per_key import in_batches
from proofs_tests.claims.search import BINARY, UNARY, Space
from proofs_tests.support import EXAMPLES, FIGURE_1, sampled, stream
from proofs_tests.unit.automata.exhaustive import scoped_case

# ---- correlated ----
#

Evaluate = Callable[..., list[Match]]
EVALUATORS = {"readable": streaming.matches, "kernel": compiled.matches}
PROFILE = replace(EVERYTHING, correlated=0.5)
SMALL = Budget(valuations=20_000)
EVENTS = (Event("A", {"x": 0}), Event("A", {"x": 1}), Event("A"), Event("B", {"x": 0}), Event("B", {"x": 1}))


@pytest.fixture(params=EVALUATORS)
def evaluate(request: pytest.FixtureRequest) -> Evaluate:
    return EVALUATORS[request.param]


def needs_checks(phi: cel.Formula) -> bool:
    """Whether one automaton, with windows and partitions around the whole, is not enough."""
    across = any(isinstance(psi, cel.Filter) and correlated(psi.condition) for psi in cel.subformulas(phi))
    return across or isinstance(strip_windows(phi), Unsupported)


@pytest.mark.parametrize(("windows", "cases"), [(False, 500), (True, 300)])
def test_the_evaluators_agree_with_the_definition(windows: bool, cases: int) -> None:
    outcomes: Counter[str] = Counter()
    for i in range(cases):
        rng = Random(f"correlated/{i}")
        phi, S = scoped_case(rng, PROFILE, 8, 7) if windows else case(rng, PROFILE, 9, 8)
        if not needs_checks(phi):
            continue
        output = "valuations" if i % 2 == 0 else "matches"
        try:
            expected = matches_of(phi, S, output, SMALL)
        except BudgetExceeded:
            continue
        for name, evaluator in EVALUATORS.items() if i % 5 == 0 else [("readable", streaming.matches)]:
            assert evaluator(phi, S, output) == expected, (name, show(phi), S.events)
            outcomes["matched" if expected else "nothing"] += 1
    assert outcomes["matched"] > 0.05 * cases


@pytest.mark.thorough
def test_small_formulas_have_the_valuations_that_pass_the_checks() -> None:
    """By the definition alone: what is carried, less what fails a check, is the formula. All formulas to 4 nodes, and
    those on A ; B under the filter to 6.
    """
    operators = ("in", "correlated", "plus", "cplus", "project", "strict", "seq", "cseq", "or", "and", "all", "unless")
    space = Space(operators, 4, 3)
    looked_at = failed = 0
    streams = list(space.streams(3))
    pair = UNARY["correlated"](parse("A ; B"))
    around = [f(pair) for f in UNARY.values()]
    around += [
        f(psi, g) for f in BINARY.values() for g in (*around, parse("A ; B"), cel.EventAtom("A")) for psi in (pair,)
    ]
    around += [cel.Plus(psi) for psi in around]
    phis = (phi for phi in space.every() if needs_checks(phi))
    for i, phi in enumerate(chain(around, phis)):
        taken = decorrelated(phi)
        if isinstance(taken, Unsupported):
            continue
        for S in streams[i % 3 :: 3]:
            expected, candidates = Interpreter(S).meaning(phi, 0, 2), Interpreter(S).meaning(taken.phi, 0, 2)
            checker = CorrelatedFilterChecker(taken.checks, S, Spending(Budget()))
            passing = {mu for mu in candidates if checker.passes(mu)}
            assert set(map(without_marks, passing)) == expected, (show(phi), S.events)
            failed += len(candidates) - len(passing)
            looked_at += 1
    assert looked_at > 500
    assert failed > 50


def equations() -> list[cel.Condition]:
    """Some equations on x, alone and together."""
    pairs = [("A", "B"), ("A", "A"), ("X", "A"), ("X", "X"), ("X", "B")]
    atoms = [cel.Correlated(Comparison("=", Attribute("x", A), Attribute("x", B))) for A, B in pairs]
    return [*atoms, *(cel.Conjunction(c, d) for c, d in product(atoms[:3], atoms[1:]) if c is not d)]


def test_a_filter_that_becomes_a_partition_is_one_on_all_small_formulas() -> None:
    """All formulas to 3 nodes under equations: the rewriting is right wherever it is done, and it is done."""
    space = Space(("in", "plus", "project", "seq", "or", "all", "unless", "nxt"), 3, 3, EVENTS)
    done = left = 0
    streams = [S for length in (1, 2, 3) for S in space.streams(length)]
    for i, (psi, condition) in enumerate(product(space.every(), equations())):
        phi = cel.Filter(psi, condition)
        rewritten = partitioned(phi)
        if rewritten == phi or not isinstance(rewritten, cel.PartitionBy):
            left += 1
            continue
        done += 1
        for S in streams[i % 9 :: 9]:
            n = len(S) - 1
            assert Interpreter(S).meaning(rewritten, 0, n) == Interpreter(S).meaning(phi, 0, n), (show(phi), S.events)
    assert done > 100
    assert left > 100


@pytest.mark.parametrize(
    ("query", "whole"),
    [
        ("A ; B FILTER A.x = B.x", True),
        ("A ; B+ FILTER B.x = A.x", True),
        ("(A ; B ; (C OR A)) FILTER A.x = B.x AND C.x = A.x", True),
        ("A+ FILTER A.x = A.x", True),
        ("(A ; B) IN X FILTER X.x = X.x", True),
        ("A OR B FILTER A.x = B.x", False),  # neither is always there, so that an A alone passes
        ("A ; B ; C FILTER A.x = B.x", False),  # C is free
        ("A ; (B OR C) FILTER A.x = B.x AND B.x = C.x", False),  # without a B nothing says A and C are equal
        ("A ; B FILTER A.x = B.y", False),
        ("A ; B FILTER A.x <= B.x", False),
        ("A ; B FILTER A.x = B.x OR A.y = B.y", False),
    ],
)
def test_which_filters_are_partitions(query: str, whole: bool) -> None:
    assert isinstance(partitioned(parse(query)), cel.PartitionBy) == whole


def test_what_makes_all_events_agree() -> None:
    h = analyze_bindings(parse("A ; (B OR C)"))
    assert h.definite == {"A"}
    assert agreeing([("A", "B"), ("C", "A")], h) is False  # A alone does not agree with itself where x is absent
    assert agreeing([("A", "B"), ("C", "A"), ("A", "A")], h) is True


def test_the_example_of_the_paper(evaluate: Evaluate) -> None:
    query, printed = EXAMPLES["phi5"]
    assert evaluate(parse(query), FIGURE_1) == sorted(Match(n, C) for n, events in printed.items() for C in events)


@pytest.mark.parametrize(
    ("query", "types", "x", "expected"),
    [
        ("(A ; B)+ FILTER A.x = B.x", "A B A B", [1, 1, 2, 2], {(0, 1), (2, 3)}),
        ("((A ; B) FILTER A.x = B.x)+", "A B A B", [1, 1, 2, 2], {(0, 1), (2, 3), (0, 1, 2, 3)}),
        ("((A ; B) FILTER A.x = B.x):+", "A B A B", [1, 1, 2, 2], {(0, 1), (2, 3), (0, 1, 2, 3)}),
        ("((A ; B) FILTER A.x < B.x) OR (A ; B)", "A B", [2, 1], {(0, 1)}),
        ("((A ; B) FILTER A.x < B.x) OR (A ; B)", "A B", [1, 2], {(0, 1)}),
        ("PROJECT[B]((A ; B) FILTER A.x = B.x)", "A A B", [1, 2, 2], {(2,)}),
        ("PROJECT[B]((A ; B) FILTER A.x = B.x)", "A A B", [1, 3, 2], set()),
        ("(((A ; B) FILTER A.x = B.x)+ ; C)+", "A B C A B C", [1, 1, 0, 2, 3, 0], {(0, 1, 2), (0, 1, 5)}),
        ("((A ; B) FILTER A.x < B.x) AND (A ; B)", "A A B", [1, 3, 2], {(0, 2)}),
        ("((A ; C) FILTER A.x = C.x) ALL B", "A B C", [1, 5, 1], {(0, 1, 2)}),
        ("MAX((A+ ; B) FILTER A.x < B.x)", "A A B", [1, 3, 2], {(0, 2)}),
        ("A UNLESS ((B IN X ; B IN Y) FILTER X.x != Y.x)", "B B A", [1, 2, 0], set()),
        ("A UNLESS ((B IN X ; B IN Y) FILTER X.x != Y.x)", "B B A", [1, 1, 0], {(2,)}),
        ("A UNLESS START((B IN X ; B IN Y) FILTER X.x != Y.x)", "C B B A", [0, 1, 2, 0], set()),
        ("((A ; B) PARTITION BY [x])+", "A B A B", [1, 1, 2, 2], {(0, 1), (2, 3), (0, 1, 2, 3)}),
        ("(A ; B) FILTER A.x < B.x OR A[x > 7]", "A B A B", [8, 1, 3, 2], {(0, 1), (0, 3)}),
        ("(((A : B) FILTER A.x < B.x) OR C):+", "A B C A B", [1, 2, 0, 3, 4],
         {(0, 1), (2,), (3, 4), (0, 1, 2), (2, 3, 4), (0, 1, 2, 3, 4)}),
    ],
)  # fmt: skip
def test_what_is_asked_of_which_round(
    query: str, types: str, x: list[int], expected: set[tuple[int, ...]], evaluate: Evaluate
) -> None:
    S = stream(types, x=list(x))
    assert {m.events for m in matches_of(parse(query), S)} == expected
    for output in ("matches", "valuations"):
        found = evaluate(parse(query), S, output)
        assert found == matches_of(parse(query), S, output)
        assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("query", "place", "reason"),
    [
        ("NXT((A ; B) FILTER A.x < B.x) ; C", "NXT((A ; B) FILTER A.x < B.x)", "compare the matches"),
        ("(A UNLESS ((B ; B) FILTER B.x < B.x)) ; C", "(B ; B) FILTER B.x < B.x", "whether its right side"),
        ("(PROJECT[A]((A ; B) FILTER A.x < B.x) : C) ; C", ": C", "drops events"),
        ("(PROJECT[B](A OR B FILTER B.x < B.x))+ ; C", "PROJECT", "bind no event"),
    ],
)
def test_what_no_one_automaton_evaluates_says_where_and_why(query: str, place: str, reason: str) -> None:
    plan = required_plan(parse(query))
    assert isinstance(plan, CheckedPlan)
    assert reason in plan.refused.message
    span = plan.refused.span
    assert span is not None
    assert place in query[span.start : span.end]


def test_a_path_is_given_up_at_the_first_event_that_fails(evaluate: Evaluate) -> None:
    """2^200 candidates, of which each fails with its latest event, or with that and the one before."""
    S = stream(" ".join("A" * 200), x=[1] * 200)
    assert evaluate(parse("A+ FILTER A.x < A.x"), S, budget=Budget(valuations=1000)) == []
    found = evaluate(parse("(A IN X ; A+ IN Y) FILTER Y.x != Y.x"), S, budget=Budget(valuations=100_000))
    assert found == []


def test_too_many_candidates_end_in_a_budget_error(evaluate: Evaluate) -> None:
    S = stream(" ".join("A" * 30 + "B"), x=[*range(30), 5])
    with pytest.raises(BudgetExceeded, match="add WITHIN, PARTITION BY"):
        evaluate(parse("A+ ; B FILTER A.x != B.x"), S, budget=Budget(valuations=10_000))


def test_matches_are_counted_by_enumerating_them_and_found_lazily() -> None:
    phi, S = parse("A+ ; B FILTER A.x != B.x"), stream("A A B A B", x=[1, 2, 1, 3, 3])
    at = Counter(m.at for m in matches_of(phi, S))
    assert list(streaming.count_matches(phi, S)) == [at[n] for n in range(5)]
    long = stream(" ".join("AB" * 400), x=[i % 7 for i in range(800)])
    first = next(streaming.iterate_matches(phi, long, budget=Budget(valuations=100)))
    assert first == Match(1, (0, 1))


def test_the_check_of_filters_ends_with_its_seconds() -> None:
    """With no seconds at all the clock is past the limit at its first reading, whatever the machine."""
    checker = CorrelatedFilterChecker((), [], Spending(Budget(seconds=0)))
    with pytest.raises(BudgetExceeded, match="cross-event filters took more than 0 seconds"):
        deque((checker.spend() for _ in range(1_000)), maxlen=0)


def test_an_event_of_both_sides_of_all_has_the_variables_of_both() -> None:
    kinds = [{"A"}, {"B"}, {"A", "B"}]
    assert analyze_bindings(parse("A ALL B")).possible == frozenset(map(frozenset, kinds))


@pytest.mark.parametrize(
    ("a", "b", "passes"),
    [((1, 5), (2, 1), False), ((1, 5), (2, 6), True), ((2, 5), (2, 1), True), ((3, 5), (2, 6), False)],
)
def test_a_conjunction_inside_a_disjunction(
    a: tuple[int, int], b: tuple[int, int], passes: bool, evaluate: Evaluate
) -> None:
    """With one half of the conjunction false, and the other side of the disjunction too, nothing passes."""
    phi = parse("(A ; B) FILTER (A.x < B.x AND A.y < B.y) OR A.x = B.x")
    S = Stream(Event(type_, {"x": x, "y": y}) for type_, (x, y) in (("A", a), ("B", b)))
    assert evaluate(phi, S) == matches_of(phi, S) == ([Match(1, (0, 1))] if passes else [])


# ---- checked evaluator ----
# Batches of formulas whose filters compare events, or whose strategies choose among such matches.

CHECKED_EVALUATOR_PROFILE = replace(generate.EVERYTHING, correlated=0.6)


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
def test_batches_give_what_the_definition_gives(seed: int) -> None:
    rng, kinds = Random(f"checked {seed}"), set()
    for _ in range(120):
        phi, S = generate.case(rng, CHECKED_EVALUATOR_PROFILE, 7, 8)
        S = generate.clocked(rng, S)
        phi = generate.around(rng, phi) if rng.random() < 0.4 else phi
        phi = cel.PerKey(phi, ("k",)) if rng.random() < 0.3 else phi
        choosing: list[Formula] = [cel.Next(phi), cel.Last(phi), cel.Max(phi)]
        phi = rng.choice(choosing) if rng.random() < 0.3 else phi
        output: Output = rng.choice(("matches", "valuations"))
        plan = batch_plan(phi)
        if isinstance(plan, Unsupported) or (isinstance(plan, AutomatonPlan) and not plan.checks):
            continue
        try:
            right = matches_of(phi, S, output, Budget(valuations=20_000))
            kinds.add(type(plan))
            found = in_batches(lambda phi=phi, output=output: CheckedEvaluator(phi, output), S, rng)  # type: ignore[misc]
            assert found == right, f"{show(phi)} on {S.events}, {output}"
            assert CheckedEvaluator(phi, output).count(S) == len(right)
        except (BudgetExceeded, Unordered):
            continue
    assert kinds == {AutomatonPlan, CollectedPlan}


S = Stream(Event(R, {"x": n % 4, "time": n}) for n, R in enumerate("ABABBACBAB"))


@pytest.mark.parametrize(
    "query", ["A ; B FILTER A.x < B.x WITHIN 4 seconds", "LAST(A ; B FILTER A.x < B.x)", "A ; (B PARTITION BY [x])"]
)
def test_a_stream_without_end_takes_it_by_default(query: str) -> None:
    evaluator = cerify.compile(query)
    assert isinstance(evaluator, CheckedEvaluator)
    found = [m for start in range(0, 10, 3) for m in evaluator.push(S.part(start, min(3, 10 - start)))]
    assert sorted(found) == list(cerify.match(query, S, evaluator="denotational"))


def test_events_before_the_window_are_let_go() -> None:
    evaluator = CheckedEvaluator(parse("A ; B FILTER A.x < B.x WITHIN 10 EVENTS"))
    for n in range(200):
        evaluator.push(Stream(Event("AB"[n % 2], {"x": m}) for m in range(100)))
    assert len(evaluator.kept) <= 5_000


def test_a_match_consumes() -> None:
    phi = parse("A ; B FILTER A.x < B.x")
    found = CheckedEvaluator(phi, consumption="any").evaluate(S)
    assert [m.events for m in found] == [(0, 1), (2, 3), (5, 7), (8, 9)]
    assert [m.events for m in CheckedEvaluator(phi, consumption="any").push(S, limit=1)] == [(0, 1)]


def test_states_are_of_one_query() -> None:
    evaluator = CheckedEvaluator(parse("A ; B FILTER A.x < B.x"))
    evaluator.push(S)
    with pytest.raises(InputError):
        CheckedEvaluator(parse("A ; B FILTER A.x > B.x")).restore(evaluator.save())


def test_what_needs_all_events_is_refused_with_the_reason() -> None:
    for query in ("A UNLESS (B PARTITION BY [x])", "A ; NXT(A+ ; B FILTER A.x = B.x)", "(A PER KEY [x]) ; B"):
        refused = batch_plan(parse(query))
        assert isinstance(refused, Unsupported)
        assert "checking a match needs all earlier events" in refused.message


# ---- membership ----
# Formulas that take more than one automaton: their candidates, the check by clauses, and the definition.

COMPARING = replace(EVERYTHING, correlated=0.7, types=("A", "B"), absent=0.05)

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
    with pytest.raises(BudgetExceeded, match="add WITHIN, PARTITION BY"):
        evaluate(parse("A ; NXT((A+ ; B) FILTER A.x < B.x)"), S, budget=Budget(valuations=20_000))


# ---- core membership ----
# core-CEL with filters across events where CEL has no formula: candidates, their check by clauses, the definition.

CANDIDATES = {"readable": core.matches, "kernel": compiled.core_matches}


def found(phi: CoreFormula, S: Stream, name: str = "readable", budget: Budget = Budget()) -> list[Match]:
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
    phi, S = parse_core(query), stream(types, a=list(a))
    assert {match.events for match in found(phi, S, name)} == expected
    assert matches_of_core(phi, S) == found(phi, S, name)


@pytest.mark.parametrize("cases", sampled([200, 420], [200]))
def test_random_formulas_agree_with_the_definition_core_membership(cases: int) -> None:
    """Those that have no formula of CEL, and one in four of the others that compare events."""
    outcomes: Counter[str] = Counter()
    for i in range(cases):
        rng = Random(f"core membership/{i}")
        phi = generate_core.formula(rng, ANYTHING, rng.randint(3, 9))
        refused = isinstance(translated(phi, Budget(states=2_000)), Unsupported)
        if not (refused or i % 4 == 0):
            continue
        S = generate_core.stream(rng, ANYTHING, rng.randint(2, 7), phi)
        try:
            expected = matches_of_core(phi, S, Budget(valuations=5_000))
            answer = found(phi, S, budget=Budget(states=3_000))
        except BudgetExceeded:
            continue
        assert answer == expected, (show_core(phi), S.events)
        outcomes[f"{'refused' if refused else 'carried'} {'matched' if expected else 'nothing'}"] += 1
    assert outcomes["refused matched"] > 8 * cases / 420
    assert outcomes["carried matched"] > 8 * cases / 420


def test_a_check_without_rivals_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    phi, S = parse_core("A AS x ; NXT(B AS y ; B AS z FILTER z.a >= x.a)"), stream("A B B B", a=[2, 1, 2, 3])
    assert found(phi, S) == matches_of_core(phi, S)
    monkeypatch.setattr(core, "_selected", lambda phi, C, rivals: True)
    assert found(phi, S) != matches_of_core(phi, S)


def test_the_check_ends_with_its_budget() -> None:
    phi, S = (
        parse_core("(A AS x)+ ; B AS y FILTER z.a > y.a FILTER w.a > z.a"),
        stream(" ".join("A" * 9 + "B"), a=[1] * 10),
    )
    with pytest.raises(BudgetExceeded, match="were tried on more than 5000"):
        found(phi, S, budget=Budget(valuations=5_000))
