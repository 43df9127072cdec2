"""The examples of the paper on small histories."""

from itertools import product

import pytest

from proofs_tests.unit.semantics.event_expressions import examples
from proofs_tests.unit.semantics.event_expressions.examples import EXAMPLES, found


@pytest.mark.parametrize("name", EXAMPLES)
def test_section_2_4_1(name: str) -> None:
    query, S, expected = EXAMPLES[name]
    assert found(query, S) == expected


@pytest.mark.parametrize("query", [examples.NESTED_CUT, examples.PIPED_CUT, examples.CORRELATED_CUT])
def test_three_cuts_with_no_raise_in_between(query: str) -> None:
    assert found(query, "D x D I D D x D D") == [7, 8]


def test_the_three_ways_to_say_three_cuts_agree_on_all_small_histories() -> None:
    for length in range(7):
        for events in product("DIx" if length < 5 else "DI", repeat=length):
            S = " ".join(events)
            assert found(examples.NESTED_CUT, S) == found(examples.PIPED_CUT, S) == found(examples.CORRELATED_CUT, S), S


@pytest.mark.parametrize(
    ("query", "last"),
    [
        (examples.E, {examples.H1: False, examples.H2: False, examples.H3: True}),
        (examples.E_PRIME, {examples.H1: False, examples.H2: True, examples.H3: True}),
        (examples.E_SECOND, {examples.H1: False, examples.H2: False, examples.H3: False}),
    ],
)
def test_what_a_correlation_variable_changes(query: str, last: dict[str, bool]) -> None:
    """Section 5: whether E, E' and E'' take place at the last event of h1, h2 and h3."""
    assert {S: len(S.split()) - 1 in found(query, S) for S in last} == last


def test_the_second_example_of_section_5() -> None:
    assert found(examples.E_NO_D, "a b d c a b c") == [6]
    assert found(examples.E_NO_D, "a b c d c a c") == [2]  # the c just after d: nothing is before it but d itself


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("s1 front h2 front h1 front", []),
        ("s1 wall front", [1]),  # a bad serve: the side wall first
        ("s1 front h2 floor front", [3, 4]),  # a bad hit, and then the front wall after the floor
        ("s1 front h2 wall front floor h1 front", []),
        ("s1 front floor floor floor", [3]),  # nobody returned the ball; only the first bounce too many counts
        ("s1 front floor wall floor", [4]),
        ("s1 front front", [2]),
    ],
)
def test_the_end_of_a_point(S: str, expected: list[int]) -> None:
    """Section 7.1, the disjunction of the three ways in which a point ends."""
    assert found(examples.END_OF_POINT, S) == expected


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("s1 front h2 front h1 front", []),
        ("s1 front floor h2 wall front floor h1 front h2 front", []),
        ("s1 front h2 floor", [3]),
        ("s1 front floor floor floor", [3, 4]),  # every event from the end of the point on
        ("s1 front front", [2]),
        ("s1 front h1", [2]),  # the wrong player: the other expression does not see it
        ("s1 wall front", []),  # a bad serve is no serve here
    ],
)
def test_the_end_of_a_point_by_prefix(S: str, expected: list[int]) -> None:
    """Section 7.1, the point that can no longer go on; as printed it could always go on, by a rally yet to begin."""
    assert found(examples.END_BY_PREFIX, S) == expected
    assert found(examples.END_BY_PREFIX_AS_PRINTED, S) == []


def test_only_the_prefix_tells_the_players_apart() -> None:
    assert found(examples.END_OF_POINT, "s1 front h1 front") == []
    assert found(examples.END_BY_PREFIX, "s1 front h1 front") == [2, 3]


@pytest.mark.parametrize(
    ("event", "S", "expected"),
    [
        ("AT_A(7)", "x EA(7) x LA(7) x", [2]),
        ("AT_A(7)", "EA(7) LA(8) EA(7) x", [1, 3]),  # the event that announces a landing only starts the waiting
        ("LAST_B(7)", "EB(7) LB(8) LB(7) LB(7)", [2]),
        ("LAST_B(7)", "EB(7) LA(7) LB(7)", []),
        ("LAST_B(7)", "EB(7) LB(7) EB(7) x LB(7)", [1, 4]),
        ("UB(7)", "EA(7) x LB(7)", [2]),
        ("UB(7)", "EB(7) x LB(7)", []),
        ("ELAB(7)", "EA(7) LB(7)", [1]),
        ("ELAB(7)", "EA(7) LA(7) LB(7)", []),
        ("ELAB(I)", "EA(7) EA(8) LB(8) LA(7) LB(7)", [2]),
    ],
)
def test_the_airport(event: str, S: str, expected: list[int]) -> None:
    """Section 7.2."""
    assert found(examples.AIRPORT + event, S) == expected
