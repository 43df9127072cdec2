"""The definition of a predicate on one event, with every answer written down."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cerify.semantics.events import Event, Schema
from cerify.semantics.predicates import (
    Anything,
    Arithmetic,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
    about,
    compare,
    evaluate,
    holds,
    mapped_predicate,
    matches,
    mentions,
    never_true,
)
from cerify.semantics.values import Value

X, Y = Attribute("x"), Attribute("y")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON.replace(hour=13)
EVENT = Event("A", {"x": 2, "y": 0.5, "s": "uv", "b": True, "t": NOON})
YES, NO = Comparison("=", X, Constant(2)), Comparison("=", X, Constant(3))


@pytest.mark.parametrize(
    ("left", "right", "true"),
    [
        (1, 2, "< <= !="), (2, 2, "<= >= ="), (3, 2, "> >= !="), (2, 2.0, "<= >= ="), (1.5, 2, "< <= !="),
        ("a", "b", "< <= !="), ("a", "a", "<= >= ="), ("", "a", "< <= !="), (NOON, LATER, "< <= !="),
        (NOON, NOON, "<= >= ="),
        (True, True, "="), (True, False, "!="), (False, True, "!="),
        (1, "1", ""), (1, True, ""), (True, 1, ""), (NOON, 1, ""), (None, 1, ""), (1, None, ""), (None, None, ""),
        (float("nan"), float("nan"), "!="), (float("inf"), 1, "> >= !="), (-0.0, 0, "<= >= ="),
        (2**53 + 1, 2.0**53, "> >= !="),
    ],
)  # fmt: skip
def test_comparisons(left: Value | None, right: Value | None, true: str) -> None:
    assert [sign for sign in ("<", "<=", ">", ">=", "=", "!=") if compare(sign, left, right)] == [  # type: ignore[arg-type]
        sign for sign in ("<", "<=", ">", ">=", "=", "!=") if sign in true.split()
    ]


@pytest.mark.parametrize(
    ("symbol", "left", "right", "value"),
    [
        ("+", 2, 3, 5), ("-", 2, 3, -1), ("*", 2, 3, 6), ("/", 3, 2, 1.5), ("/", 4, 2, 2.0), ("+", 0.5, 1, 1.5),
        ("/", 1, 0, None), ("+", "a", "b", None), ("+", True, 1, None), ("+", 1, True, None), ("-", None, 1, None),
        ("-", 1, None, None), ("*", NOON, 2, None), ("/", 10**400, 1, None),
    ],
)  # fmt: skip
def test_arithmetic(symbol: str, left: Value | None, right: Value | None, value: Value | None) -> None:
    values = {"x": left, "y": right}
    found = evaluate(Arithmetic(symbol, X, Y), lambda a: values[a.name])  # type: ignore[arg-type]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("predicate", "true"),
    [
        (Anything(), True),
        (OfType("A"), True), (OfType("B"), False),
        (OneOf(X, (1, 2)), True), (OneOf(X, (1, 3)), False), (OneOf(X, ("2",)), False),
        (OneOf(Attribute("z"), (1,)), False),
        (OneOf(X, ()), False),
        (InRange(X, 1, 3), True), (InRange(X, 2, 2), True), (InRange(X, 2.5, 3), False), (InRange(X, 0, 1), False),
        (InRange(X, "1", 3), False), (InRange(Attribute("t"), NOON, LATER), True),
        (Like(Attribute("s"), "u."), True), (Like(Attribute("s"), "u"), False), (Like(Attribute("s"), "v"), False),
        (Like(Attribute("s"), "u|uvw"), False), (Like(X, "2"), False), (Like(Attribute("z"), ".*"), False),
        (Not(YES), False), (Not(NO), True), (Not(Comparison("=", Attribute("z"), Constant(1))), True),
        (Both(YES, YES), True), (Both(YES, NO), False), (Both(NO, YES), False), (Both(NO, NO), False),
        (Either(YES, YES), True), (Either(YES, NO), True), (Either(NO, YES), True), (Either(NO, NO), False),
        (Comparison("<", Arithmetic("*", X, Y), Constant(2)), True),
        (Not(Both(OfType("A"), Not(OfType("B")))), False),
        (Either(OfType("B"), Both(OfType("A"), YES)), True),
    ],
)  # fmt: skip
def test_predicates(predicate: Predicate, true: bool) -> None:
    assert holds(predicate, EVENT) is true


def test_a_pattern_matches_the_whole_of_a_text_over_several_lines() -> None:
    assert matches("a.b", "a-b")
    assert not matches("a", "a\n")
    assert not matches("a|b", "ab")
    assert not matches("a", 1)
    assert not matches("a", None)


EVERYTHING = Both(
    Either(Not(Comparison("<", Arithmetic("+", X, Constant(1)), Y)), OneOf(X, (1, 2))),
    Both(InRange(Y, 1, 2), Both(Like(X, "u"), Both(Anything(), OfType("A")))),
)


def test_the_attributes_of_a_predicate_are_listed_left_to_right() -> None:
    assert list(mentions(EVERYTHING)) == [X, Y, X, Y, X]
    assert list(mentions(OfType("A"))) == []


def test_the_attributes_and_constants_of_a_predicate_are_replaced() -> None:
    BX, BY = Attribute("x", "B"), Attribute("y", "B")
    assert about(EVERYTHING, "B") == Both(
        Either(Not(Comparison("<", Arithmetic("+", BX, Constant(1)), BY)), OneOf(BX, (1, 2))),
        Both(InRange(BY, 1, 2), Both(Like(BX, "u"), Both(Anything(), OfType("A")))),
    )
    assert about(about(EVERYTHING, "B"), None) == EVERYTHING
    assert mapped_predicate(EVERYTHING, value=lambda v: str(v)) == Both(
        Either(Not(Comparison("<", Arithmetic("+", X, Constant("1")), Y)), OneOf(X, ("1", "2"))),
        Both(InRange(Y, "1", "2"), Both(Like(X, "u"), Both(Anything(), OfType("A")))),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Constant(1), Constant(True)), (Constant(1), Constant(1.0)), (OneOf(X, (1,)), OneOf(X, (True,))),
        (InRange(X, 0, 1), InRange(X, 0, 1.0)), (InRange(X, 0, 1), InRange(X, False, 1)),
        (OneOf(X, (1,)), OneOf(Y, (1,))),
        (InRange(X, 0, 1), InRange(Y, 0, 1)),
    ],
)  # fmt: skip
def test_constants_of_other_types_are_other_constants(one: object, other: object) -> None:
    assert one != other
    assert len({one, other}) == 2


def test_what_is_true_of_every_event_is_no_problem_and_what_no_type_can_make_true_is() -> None:
    schema = Schema({"A": {"x": "int"}, "B": {"y": "int"}})
    held = frozenset({"A", "B"})
    assert list(never_true("v", Anything(), held, schema, None, held)) == []
    assert list(never_true("v", OfType("A"), held, schema, None)) == []
    both = Both(Comparison("=", Attribute("x"), Constant(1)), Comparison("=", Attribute("y"), Constant(1)))
    (problem,) = never_true("v", both, held, schema, None)
    assert problem.message == "this is never true for the types that v may hold: A has x; B has y"
