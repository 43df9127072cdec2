"""The meaning of CEL against the paper's own figures and against what each clause says in words."""

import time
from datetime import UTC, datetime
from random import Random

import pytest

from cerify.equivalence.generate.cel import PROFILES, case
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.denote import Meaning, Valuations, clause, last_at_most, next_at_most
from cerify.semantics.cel.interpreter import Interpreter, valuations
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, Last, Max, Next, show, subformulas
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from proofs_tests.support import EXAMPLES, FIGURE_1, by_position, complex_events, stream


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_section_3_give_the_printed_results(name: str) -> None:
    query, printed = EXAMPLES[name]
    assert by_position(query, FIGURE_1) == printed


def mus(query: str, types: str, at: int) -> set[frozenset[tuple[str, int]]]:
    return set(valuations(parse(query), stream(types), at))


def test_an_event_type_is_a_variable() -> None:
    assert mus("A", "B A", 1) == {frozenset({("A", 1)})}


def test_in_rebinds_rather_than_adds() -> None:
    """The variable A held position 0 only; after IN it holds all that was matched."""
    assert mus("(A ; B) IN A", "A B", 1) == {frozenset({("A", 0), ("A", 1), ("B", 1)})}


def test_sequencing_orders_without_contiguity() -> None:
    assert complex_events("A ; B", "A A B", 2) == {(0, 2), (1, 2)}


def test_iteration_skips() -> None:
    assert complex_events("A+", "A B A A", 3) == {(3,), (2, 3), (0, 3), (0, 2, 3)}


def test_contiguous_iteration_takes_a_third_round() -> None:
    """Two rounds are easy to get right by accident: the construction must loop."""
    assert complex_events("A:+", "A A A", 2) == {(2,), (1, 2), (0, 1, 2)}


def test_contiguity_is_between_the_rounds_not_within_them() -> None:
    """The note of section 4 on (R;S) and (R:S) under contiguous iteration."""
    assert (0, 2, 3, 4) in complex_events("(R ; S):+", "R T S R S", 4)
    assert (0, 2, 3, 4) not in complex_events("(R : S):+", "R T S R S", 4)


def test_contiguity_counts_from_the_operands_own_events() -> None:
    assert complex_events("A : B", "A C B B", 2) == set()
    assert complex_events("A : B", "C A B", 2) == {(1, 2)}


def test_a_filter_on_an_unbound_variable_holds() -> None:
    """Every event of nothing satisfies anything."""
    assert complex_events("A FILTER Z.x > 1", "A", 0) == {(0,)}


def test_a_filter_asks_every_event_of_the_variable() -> None:
    S = stream("A A", x=[1, 5])
    assert complex_events("A+ FILTER A.x > 3", S, 1) == {(1,)}


def test_or_in_a_filter_is_the_union_of_two_filtered_formulas() -> None:
    """Not: each event satisfies one of the two."""
    S = stream("A A", x=[1, 5])
    assert complex_events("A+ FILTER A.x < 2 OR A.x > 4", S, 1) == {(1,)}
    assert complex_events("A+ FILTER A[x < 2 or x > 4]", S, 1) == {(1,), (0, 1)}


def test_mentions_of_a_correlated_filter_range_independently() -> None:
    """A.x = A.x compares every event of A with every other; A[x = x] compares each with itself."""
    S = stream("A A", x=[1, 5])
    assert complex_events("A+ FILTER A.x = A.x", S, 1) == {(1,)}
    assert complex_events("A+ FILTER A[x = x]", S, 1) == {(1,), (0, 1)}


def test_correlation_compares_all_pairs() -> None:
    S = stream("A A B", x=[1, 3, 2])
    assert complex_events("A+ ; B FILTER A.x < B.x", S, 2) == {(0, 2)}


def test_project_forgets_events() -> None:
    assert complex_events("PROJECT[A](A ; B)", "A B", 1) == {(0,)}
    assert complex_events("PROJECT[](A ; B)", "A B", 1) == {()}


def test_start_anchors_at_the_interval_not_at_the_stream() -> None:
    assert complex_events("START(A)", "B A", 1) == set()
    assert complex_events("B ; START(A)", "B A", 1) == {(0, 1)}
    assert complex_events("B ; START(A)", "B C A", 2) == set()


def test_and_wants_the_same_valuation() -> None:
    assert complex_events("(A ; B) AND (A : B)", "A A B", 2) == {(1, 2)}
    assert complex_events("A IN X AND A IN Y", "A", 0) == set()


def test_all_lets_the_two_overlap_and_be_the_same_event() -> None:
    assert complex_events("A ALL A", "A A", 1) == {(1,), (0, 1)}


def test_unless_looks_at_every_interval_inside() -> None:
    assert complex_events("(A ; B) UNLESS C", "A B", 1) == {(0, 1)}
    assert complex_events("(A ; B) UNLESS C", "C A B", 2) == set()
    assert complex_events("A ; (B UNLESS C)", "C A B", 2) == {(1, 2)}


def test_strategies_of_section_7_on_the_running_examples() -> None:
    phi1, phi3 = EXAMPLES["phi1"][0], EXAMPLES["phi3"][0]
    assert complex_events(f"STRICT({phi1})", FIGURE_1, 8) == set()
    assert complex_events(f"STRICT({phi1})", FIGURE_1, 2) == {(1, 2)}
    assert complex_events(f"NXT({phi1})", FIGURE_1, 8) == {(1, 8)}
    assert complex_events(f"LAST({phi1})", FIGURE_1, 8) == {(5, 8)}
    assert complex_events(f"MAX({phi1})", FIGURE_1, 8) == {(1, 8), (5, 8)}
    for strategy in ("NXT", "LAST", "MAX"):
        assert complex_events(f"{strategy}({phi3})", FIGURE_1, 7) == {(3, 4, 6, 7)}


def test_the_orders_of_the_strategies() -> None:
    assert next_at_most(frozenset({5, 8}), frozenset({1, 8}))
    assert not next_at_most(frozenset({1, 8}), frozenset({5, 8}))
    assert last_at_most(frozenset({1, 8}), frozenset({5, 8}))
    assert not last_at_most(frozenset({5, 8}), frozenset({1, 8}))


def test_what_blows_up_stops_with_a_typed_error() -> None:
    with pytest.raises(BudgetExceeded):
        valuations(parse("A+"), stream("A " * 30), 29, Budget(valuations=1000))
    with pytest.raises(BudgetExceeded):
        valuations(parse("A:+"), stream("A " * 3000), 2999, Budget(valuations=10**9))


def test_a_window_of_events_has_so_many_events() -> None:
    assert complex_events("A ; B WITHIN 3 EVENTS", "A A C B", 3) == {(1, 3)}
    assert complex_events("A WITHIN 1 EVENTS", "C A", 1) == {(1,)}
    assert complex_events("PROJECT[](A) WITHIN 9 EVENTS", "A", 0) == set()


def test_a_window_of_time_is_closed() -> None:
    S = stream("A A B", time=[0, 1, 3601])
    assert complex_events("A ; B WITHIN 1 hour", S, 2) == {(1, 2)}
    assert complex_events("A ; B WITHIN 60 minutes", S, 2) == {(1, 2)}
    times = [datetime(2013, 1, 1, h, tzinfo=UTC) for h in (0, 1, 5)]
    assert complex_events("A ; B WITHIN 4 hours", stream("A A B", time=list(times)), 2) == {(1, 2)}


def test_a_window_on_an_attribute_spans_all_events_in_any_order() -> None:
    S = stream("A A B", x=[9, 4, 5])
    assert complex_events("A+ ; B WITHIN 4 [x]", S, 2) == {(0, 2), (1, 2)}
    assert complex_events("A+ ; B WITHIN 5 [x]", S, 2) == {(0, 2), (1, 2), (0, 1, 2)}
    assert complex_events("A WITHIN 5 [y]", S, 0) == set()
    assert complex_events("A ; B WITHIN 5 [y]", S, 2) == set()


def test_a_window_is_on_what_is_still_bound() -> None:
    """As the filter Q(W) on phi IN W would be."""
    assert complex_events("PROJECT[B](A ; B) WITHIN 1 EVENTS", "A C B", 2) == {(2,)}


def test_a_partition_wants_equal_values_of_every_event() -> None:
    S = stream("A A B", id=[1, 2, 1])
    assert complex_events("A ; B PARTITION BY [id]", S, 2) == {(0, 2)}
    assert complex_events("A PARTITION BY [id]", "A", 0) == set()
    for query in ("A+ ; B", "A ; B OR A"):
        bound = f"({query}) IN W FILTER W.id = W.id"
        assert by_position(f"({query}) PARTITION BY [id]", S) == by_position(bound, S)


def test_a_valuation_that_binds_nothing_is_not_contiguous_to_anything() -> None:
    assert complex_events("PROJECT[](A) : B", "A B", 1) == set()
    assert complex_events("START(PROJECT[](A))", "A", 0) == set()
    assert complex_events("STRICT(PROJECT[](A))", "A", 0) == {()}


def plainly(S: Stream) -> Meaning:
    """The meaning over S by the clauses and nothing else."""
    known: dict[tuple[int, int, int], Valuations] = {}

    def meaning(psi: Formula, i: int, j: int) -> Valuations:
        if (id(psi), i, j) not in known:
            known[id(psi), i, j] = frozenset(clause(psi, S, i, j, meaning))
        return known[id(psi), i, j]

    return meaning


@pytest.mark.parametrize("profile", ["core", "everything"])
def test_the_interpreter_skips_no_clause_that_has_a_valuation(profile: str) -> None:
    """It does not follow clauses that can add nothing; here they are all followed."""
    rng = Random(11)
    for _ in range(150):
        phi, S = case(rng, PROFILES[profile], nodes=8, events=6)
        interpreter, meaning = Interpreter(S), plainly(S)
        intervals = [(i, j) for i in range(len(S)) for j in range(i, len(S))]
        rng.shuffle(intervals)
        for psi in rng.sample(list(subformulas(phi)), k=len(list(subformulas(phi)))):
            for i, j in intervals:
                assert interpreter.meaning(psi, i, j) == meaning(psi, i, j), (show(psi), i, j)


def test_a_budget_of_seconds_ends_what_takes_longer() -> None:
    began = time.monotonic()
    with pytest.raises(BudgetExceeded, match=r"more than 0\.05 seconds; .*so far [1-9]\d* valuations, over [1-9]"):
        valuations(parse("A+"), stream("A " * 40), 39, Budget(valuations=10**9, seconds=0.05))
    assert time.monotonic() - began < 5


def test_a_budget_of_seconds_ends_what_finds_nothing() -> None:
    with pytest.raises(BudgetExceeded, match="seconds"):
        valuations(parse("(A ; B FILTER B.x = 2) UNLESS C"), stream("A B " * 30), 59, Budget(seconds=0.0))


@pytest.mark.parametrize("strategy", ["NXT", "LAST", "MAX"])
def test_a_strategy_looks_at_the_clock_while_it_compares(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but one valuation lose to that one alone: nothing is found until it comes, and six seconds went by."""
    S, phi = stream("A " * 10), parse(f"{strategy}(A+)")
    assert isinstance(phi, Next | Last | Max)
    interpreter = Interpreter(S)
    assert len(interpreter.meaning(phi.phi, 0, 9)) == 512
    time_of_start, ticks = time.monotonic(), iter(range(10_000))
    with Budget(seconds=300).timed():
        monkeypatch.setattr("time.monotonic", lambda: time_of_start + next(ticks))
        with pytest.raises(BudgetExceeded, match="300 seconds"):
            interpreter.meaning(phi, 0, 9)


def test_valuations_found_again_count_too() -> None:
    """A round of A+ and the rounds of (A+)+ can be cut in many places: the budget is about the work."""
    with pytest.raises(BudgetExceeded, match="valuations"):
        valuations(parse("A++"), stream("A " * 10), 9, Budget(valuations=5_000))


def test_nan_and_infinities_are_in_no_window() -> None:
    """The difference of infinity and itself is not a number; a NaN is not at any distance, wherever it stands."""
    nan, inf = float("nan"), float("inf")
    for values in ([nan, 1.0], [1.0, nan], [inf, inf], [1.0, inf]):
        assert complex_events("A ; A WITHIN 5 [x]", stream("A A", x=values), 1) == set()
    assert complex_events("A WITHIN 5 [x]", stream("A", x=[nan]), 0) == set()
    assert complex_events("A WITHIN 5 [x]", stream("A", x=[inf]), 0) == set()
