"""Filters that compare events: what is taken out of a formula, what is checked, and agreement with the definition."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, product
from random import Random

import pytest

from cerify.automata.cea.compile import correlated
from cerify.automata.evaluate import compiled, streaming
from cerify.automata.evaluate.evaluation_plan import (
    CheckedPlan,
    agreeing,
    analyze_bindings,
    decorrelated,
    partitioned,
    required_plan,
)
from cerify.automata.evaluate.membership import CorrelatedFilterChecker, Spending
from cerify.automata.evaluate.scope import strip_windows
from cerify.automata.evaluate.streaming import without_marks
from cerify.equivalence.generate.cel import EVERYTHING, case
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter, matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.predicates import Attribute, Comparison
from proofs_tests.claims.search import BINARY, UNARY, Space
from proofs_tests.support import EXAMPLES, FIGURE_1, stream
from proofs_tests.unit.automata.evaluate.cases import scoped_case

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
        ("(PROJECT[B](A OR B FILTER B.x < B.x))+ ; C", "PROJECT", "bind nothing"),
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
    with pytest.raises(BudgetExceeded, match="what makes them fewer is WITHIN"):
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
    with pytest.raises(BudgetExceeded, match="filters that compare events took more than 0 seconds"):
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
