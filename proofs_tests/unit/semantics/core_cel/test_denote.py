"""The meaning of core-CEL against the paper's running examples and what each clause says in words."""

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel.interpreter import complex_events, matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream
from proofs_tests.support import FIGURE_1, stream
from proofs_tests.support import complex_events as cel_events
from proofs_tests.unit.semantics.core_cel.examples import EXAMPLES, by_position, events


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_running_examples_on_figure_1(name: str) -> None:
    query, expected = EXAMPLES[name]
    assert by_position(query, FIGURE_1) == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_two_ways_to_ask_agree(name: str) -> None:
    query, expected = EXAMPLES[name]
    for n in range(len(FIGURE_1)):
        assert {tuple(sorted(C)) for C in complex_events(parse(query), FIGURE_1, n)} == expected.get(n, set())


def test_matches_are_reported_at_their_last_position_once_and_sorted() -> None:
    """Two valuations give {1, 2} here: the variable of the other branch may be at any event."""
    phi = parse("A AS x ; (B AS y OR B AS z)")
    assert matches_of(phi, stream("B A B")) == [Match(2, (1, 2))]


def test_an_event_is_one_of_its_type() -> None:
    assert events("A AS x", "B A A") == {(1,), (2,)}


def test_a_sequence_leaves_gaps_but_keeps_the_order() -> None:
    assert events("A AS x ; B AS y", "A B A C B") == {(0, 1), (0, 4), (2, 4)}


def test_one_variable_holds_one_event() -> None:
    """Both sides of a sequence see the same valuation."""
    assert events("A AS x ; A AS x", "A A A") == set()
    assert events("(A AS x OR B AS y) ; (A AS x OR B AS y)", "A B A") == {(0, 1), (1, 2)}


def test_a_filter_sees_the_variables_around_it() -> None:
    S = stream("A B B", a=[1, 2, 1])
    assert events("A AS x ; (B AS y FILTER y.a = x.a)", S) == {(0, 2)}


def test_arithmetic_across_events() -> None:
    S = stream("A B B", a=[1, 2, 3])
    assert events("(A AS x ; B AS y) FILTER y.a - 1 > x.a * 1", S) == {(0, 2)}


def test_both_mentions_of_a_variable_are_one_event() -> None:
    """Unlike in CEL, where each mention ranges over a set of events on its own."""
    S = stream("A A", a=[1, 5])
    assert events("(A AS x)+ FILTER x.a = x.a", S) == events("(A AS x)+", S)
    assert events("A AS x FILTER x.a = x.a AND x[a > 1 and not a = 2]", S) == {(1,)}


def test_and_is_one_filter_after_another_and_or_the_or_of_two() -> None:
    S = stream("A A A", a=[1, 2, 3])
    assert events("A AS x FILTER x.a > 1 AND x.a < 3", S) == events("(A AS x FILTER x.a > 1) FILTER x.a < 3", S)
    assert events("A AS x FILTER x.a < 2 OR x.a > 2", S) == {(0,), (2,)}


def test_iteration_loops_and_skips() -> None:
    assert events("(A AS x)+", "A B A A") == {(0,), (2,), (3,), (0, 2), (0, 3), (2, 3), (0, 2, 3)}


def test_each_round_has_its_own_event_for_what_the_iteration_defines() -> None:
    S = stream("A A A", a=[1, 2, 1])
    assert events("(A AS x FILTER x.a = 1)+", S) == {(0,), (2,), (0, 2)}


def test_what_the_iteration_does_not_define_is_the_same_in_every_round() -> None:
    S = stream("H T H T", a=[1, 1, 2, 2])
    assert events("H AS x ; (T AS y FILTER y.a = x.a)+", S) == {(0, 1), (2, 3)}


def test_a_filter_on_an_iteration_does_not_reach_its_rounds() -> None:
    """vdef+ of the iteration is empty: outside it, y is another variable, and may be at any event."""
    S = stream("T T", a=[1, 2])
    assert events("(T AS y)+ FILTER y.a = 2", S) == events("(T AS y)+", S)
    assert events("(T AS y)+ FILTER y.a = 3", S) == set()


def test_a_variable_defined_around_an_iteration_is_rebound_inside() -> None:
    S = stream("A A A", a=[1, 2, 3])
    assert events("A AS x ; (A AS x)+", S) == {(0, 1), (0, 2), (1, 2), (0, 1, 2)}


def test_nested_iterations_rebind_what_each_defines() -> None:
    """U is vdef+ of the body: the inner iteration sees one h, the outer chooses h anew in each round."""
    S = stream("H T T H T", a=[1, 1, 2, 2, 2])
    found = events("(H AS h ; (T AS y FILTER y.a = h.a)+)+", S)
    assert found == {(0, 1), (3, 4), (0, 1, 3, 4)}


def test_a_well_formed_formula_does_not_look_ahead_but_another_may() -> None:
    """The answer at position 0 depends on what comes at 1."""
    assert events("H AS x FILTER y.a = 7", stream("H T", a=[1, 7])) == {(0,)}
    assert events("H AS x FILTER y.a = 7", stream("H T", a=[1, 6])) == set()


def test_a_variable_that_nothing_binds_is_the_same_event_in_all_filters() -> None:
    S = stream("A B", a=[1, 2])
    assert events("(A AS x FILTER y.a = 1) FILTER y.a = 2", S) == set()
    assert events("(A AS x FILTER y.a = 1) FILTER y.a = x.a", S) == {(0,)}


def test_a_rebound_variable_that_a_branch_leaves_open_looks_ahead_though_well_formed_as_printed() -> None:
    phi = "A AS x ; ((B AS x OR B AS y) FILTER x.a = 7)+"
    assert events(phi, stream("A B C", a=[1, 1, 7])) == {(0, 1)}
    assert events(phi, stream("A B C", a=[1, 1, 6])) == set()


def test_strategies_on_the_running_examples() -> None:
    phi1, phi3 = EXAMPLES["phi1"][0], EXAMPLES["phi3"][0]
    assert by_position(f"STRICT({phi1})", FIGURE_1) == {2: {(1, 2)}}
    assert by_position(f"NXT({phi1})", FIGURE_1) == {2: {(1, 2)}, 8: {(1, 8)}}
    assert by_position(f"LAST({phi1})", FIGURE_1) == {2: {(1, 2)}, 8: {(5, 8)}}
    assert by_position(f"MAX({phi1})", FIGURE_1) == {2: {(1, 2)}, 8: {(1, 8), (5, 8)}}
    for strategy in ("NXT", "LAST", "MAX"):
        assert by_position(f"{strategy}({phi3})", FIGURE_1) == {7: {(3, 4, 6, 7)}}


def test_strict_is_an_interval() -> None:
    assert events("STRICT((A AS x)+)", "A B A A") == {(0,), (2,), (3,), (2, 3)}


def test_strategies_compare_over_the_whole_stream() -> None:
    """There are no intervals as in CEL: a rival may begin before what the strategy is sequenced after."""
    assert events("A AS x ; NXT(B AS y ; C AS z)", "B A B C") == set()
    assert cel_events("A ; NXT(B ; C)", "B A B C", at=3) == {(1, 2, 3)}
    assert events("A AS x ; LAST(B AS y ; C AS z)", "B A B C") == {(1, 2, 3)}


def test_strategies_do_not_compare_across_last_positions() -> None:
    assert events("MAX((A AS x)+)", "A A") == {(0,), (0, 1)}


def test_rivals_keep_what_surrounds_the_strategy() -> None:
    """With x at any event {1, 3} would be a rival of {2, 3}, though the pair does not belong to this H."""
    S = stream("H T T T", id=[0, 1, 0, 0])
    phi = "H AS x ; NXT((T AS y ; T AS z) FILTER y.id = x.id)"
    assert events(phi, S) == {(0, 2, 3)}


def test_what_a_strategy_defines_can_be_filtered_outside_it() -> None:
    S = stream("A A B", a=[1, 2, 0])
    assert events("NXT(A AS x ; B AS y) FILTER x.a = 1", S) == {(0, 2)}
    assert events("NXT(A AS x ; B AS y) FILTER x.a = 2", S) == set()


def test_the_empty_stream_has_no_complex_event() -> None:
    assert matches_of(parse("A AS x FILTER y.a = 1"), Stream()) == []


@pytest.mark.parametrize(
    ("query", "length"),
    [
        pytest.param("(A AS x)+", 40, marks=pytest.mark.thorough),
        ("MAX((A AS x)+)", 40),
        ("((A AS x)+ ; (A AS y)+)+", 30),
        ("A AS x FILTER p.a = q.a AND r.a = s.a AND t.a = u.a", 40),
    ],
)
def test_what_blows_up_stops_with_a_typed_error(query: str, length: int) -> None:
    with pytest.raises(BudgetExceeded):
        matches_of(parse(query), stream("A " * length), Budget(valuations=50_000))


def test_a_budget_of_seconds_ends_what_takes_longer() -> None:
    with pytest.raises(BudgetExceeded, match=r"more than 0\.05 seconds; .*so far [1-9]\d* valuations"):
        matches_of(parse("(A AS x)+"), stream("A " * 40), Budget(valuations=10**9, seconds=0.05))


def test_a_long_stream_stops_with_a_typed_error() -> None:
    with pytest.raises(BudgetExceeded):
        matches_of(parse("B AS y ; (A AS x)+"), stream("B " + "A " * 3000))
