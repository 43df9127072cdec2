"""Representatives of the events that may come have each outcome of each combination of masks."""

from datetime import UTC, datetime

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.continuations import FIRST_TIME, LAST_TIME, events_to_come
from cerify.semantics.predicates import (
    Anything,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OneOf,
    Predicate,
    holds,
)
from cerify.semantics.values import Value

X, Y = Attribute("x"), Attribute("y")


def outcomes(*tests: Predicate) -> set[tuple[bool, ...]]:
    events = [event for event in events_to_come({"a": tests}) if event.type == "a"]
    found = [tuple(holds(test, event) for test in tests) for event in events]
    assert len(found) == len(set(found))
    return set(found)


BOTH = {(True,), (False,)}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "test",
    [
        *(Comparison(sign, X, Constant(3)) for sign in ("<", "<=", ">", ">=", "=", "!=")),
        *(Comparison(sign, Constant(3), X) for sign in ("<", "<=", ">", ">=", "=", "!=")),
        *(Comparison(sign, X, Constant(value)) for sign in "<>=" for value in (0.5, "m", NOON)),
        Comparison("=", X, Constant(True)),
        OneOf(X, (1, 5)),
        *(Comparison(sign, X, Constant(value)) for sign in "<>" for value in (1e17, -1e17, 2**60)),
        Comparison("<", X, Constant(LAST_TIME)),
        Comparison(">", X, Constant(FIRST_TIME)),
        Both(Comparison(">", X, Constant(1.0)), Comparison("<", X, Constant(1.5))),
        Both(Comparison(">", X, Constant(1)), Comparison("<", X, Constant(1.5))),
        InRange(X, 1, 5),
        InRange(X, 2, 2),
        Not(Comparison(">", X, Constant(3))),
        Both(Comparison(">", X, Constant(3)), Comparison("<", X, Constant(5))),
        Both(Comparison(">", X, Constant(3)), Comparison("<", Y, Constant(5))),
        Either(Comparison("<", X, Constant(3)), Comparison("<", Y, Constant(5))),
    ],
)
def test_each_mask_is_true_of_one_and_false_of_another(test: Predicate) -> None:
    assert outcomes(test) == BOTH


def test_masks_are_combined_in_all_ways_that_there_are() -> None:
    low, high = Comparison(">", X, Constant(3)), Comparison(">", X, Constant(5))
    assert outcomes(low, high) == {(False, False), (True, False), (True, True)}
    other = Comparison("=", Y, Constant("m"))
    assert len(outcomes(low, high, other)) == 6
    assert outcomes(OneOf(X, (1, 2)), Comparison("=", X, Constant(1))) == {(False, False), (True, False), (True, True)}
    assert outcomes(InRange(X, 1, 3), InRange(X, 2, 4)) == {(a, b) for a in (True, False) for b in (True, False)}
    assert outcomes(Anything()) == {(True,)}


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 2),
        (1, 3),
        (1, 9),
        (0.5, 1),
        (1, 1.5),
        ("k", "m"),
        (NOON, NOON.replace(hour=13)),
        (NOON, NOON.replace(microsecond=2)),
        (-3, 2.25),
        (2.0**53, 2.0**60),
        (-(2.0**60), 2.0**60),
        pytest.param(1.5, 10**400, id="1.5-beyond"),
        pytest.param(-(10**400), 1.5, id="beyond-1.5"),
        pytest.param(-(10**400), 10**400, id="beyond-beyond"),
    ],
)
def test_there_are_values_below_between_and_above(low: Value, high: Value) -> None:
    """Of no value and of one of another kind no comparison is true; 1 and 2 have one between them, of a float."""
    for sign in ("<", "<="):
        one, other = (Comparison(sign, X, Constant(value)) for value in (low, high))
        assert outcomes(one, other) == {(True, True), (False, True), (False, False)}
    one, other = (Comparison("<", X, Constant(low)), Comparison(">=", X, Constant(high)))
    assert outcomes(one, other) == {(True, False), (False, False), (False, True)}
    one, other = (Comparison(">", X, Constant(low)), Comparison("<", X, Constant(high)))
    assert outcomes(one, other) == {(True, True), (True, False), (False, True), (False, False)}
    assert (True, True) not in outcomes(Comparison("<", X, Constant(low)), Comparison(">", X, Constant(high)))


def test_there_is_an_event_of_another_type() -> None:
    types = [event.type for event in events_to_come({"a": (), "other": (), "other_": ()})]
    assert types == ["a", "other", "other_", "other__"]
    assert expr.START not in types


def test_what_is_not_a_comparison_with_a_value_is_refused_at_its_place() -> None:
    with pytest.raises(Unsupported, match="which events may come") as caught:
        events_to_come({"a": (Like(X, "m%"),)}, span=Span(2, 3))
    assert caught.value.span == Span(2, 3)


def test_combinations_are_counted() -> None:
    """Of each attribute: absent, the constant, below, and above."""
    tests = (Comparison("<", X, Constant(1)), Comparison("<", Y, Constant(1)))
    assert len(events_to_come({"a": tests}, Budget(states=16))) == 5
    with pytest.raises(BudgetExceeded, match="the masks of a distinguish more than 15 events"):
        events_to_come({"a": tests}, Budget(states=15))
