"""The texts of formulas and predicates, written down: parentheses where they are needed and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from cerify.semantics.cel import parse as cel_parse
from cerify.semantics.cel import syntax as cel_operators
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel import syntax as core_show
from cerify.semantics.event_expressions import parse as expr_parse
from cerify.semantics.event_expressions import syntax as expr_show
from cerify.semantics.predicates import (
    MENDS,
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
    Rule,
    show_predicate,
    show_value,
)
from cerify.semantics.row_pattern import syntax as row_operators
from cerify.semantics.trees import _place, index_by_name, ranks, spelt, with_operands
from cerify.semantics.values import Value

TEXTS: dict[tuple[Callable[[str], Any], Callable[[Any], str]], tuple[str, ...]] = {
    (cel_parse.parse, cel_operators.show): (
        "A ; B ; C", "A ; (B ; C)", "(A OR B) ; C", "A OR B ; C", "(A ; B)+", "A+ ; B", "A : B:+", "(A : B):+",
        "NXT(A ; B)",         "(A ; B) IN X", "A ; B IN X", "A ; B WITHIN 3 EVENTS", "A ; (B WITHIN 3 EVENTS)",
        "A{2} ; B", "(A ; B){2,3}", "(A AND B) OR C",
        "A AND (B OR C)", "(A UNLESS B) ; C",
    ),
    (core_parse.parse, core_show.show): (
        "A AS x ; B AS y", "A AS x ; (B AS y ; C AS z)", "(A AS x OR B AS x) ; C AS y", "(A AS x ; B AS y)+",
        "MAX(A AS x)",
    ),
    (expr_parse.parse, expr_show.show): (
        "relative(a or b, c)", "prior(a and b, c or d, e)", "firstAfter(a or b, c and d, !e)", "!a and b", "!(a and b)",
        "exists x (a = x)", "(a or b) = x", "<2> (a | b)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("both", "text"), [(both, text) for both, texts in TEXTS.items() for text in texts])
def test_a_formula(both: tuple[Callable[[str], Any], Callable[[Any], str]], text: str) -> None:
    parse, show = both
    assert show(parse(text)) == text


X, Y = Attribute("x"), Attribute("y", "B")
LESS, MORE = Comparison("<", X, Constant(1)), Comparison(">", Y, Constant(2.5))
SUM, PRODUCT = Arithmetic("+", X, Constant(1)), Arithmetic("*", X, Constant(2))


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (Anything(), "TRUE"),
        (OfType("A"), "type = A"),
        (LESS, "x < 1"),
        (OneOf(X, (1, "u")), "x in {1, 'u'}"),
        (InRange(X, 1, 3), "x in range(1, 3)"),
        (Like(X, "u%"), "x like 'u%'"),
        (Not(LESS), "not x < 1"),
        (Not(Both(LESS, MORE)), "not (x < 1 and B.y > 2.5)"),
        (Not(Either(LESS, MORE)), "not (x < 1 or B.y > 2.5)"),
        (Both(LESS, Both(LESS, MORE)), "x < 1 and (x < 1 and B.y > 2.5)"),
        (Both(Both(LESS, LESS), MORE), "x < 1 and x < 1 and B.y > 2.5"),
        (Both(Either(LESS, LESS), MORE), "(x < 1 or x < 1) and B.y > 2.5"),
        (Either(Both(LESS, LESS), MORE), "x < 1 and x < 1 or B.y > 2.5"),
        (Either(LESS, Either(LESS, MORE)), "x < 1 or (x < 1 or B.y > 2.5)"),
        (Either(Either(LESS, LESS), MORE), "x < 1 or x < 1 or B.y > 2.5"),
        (Comparison("=", Arithmetic("+", SUM, Constant(2)), X), "x + 1 + 2 = x"),
        (Comparison("=", Arithmetic("-", X, SUM), X), "x - (x + 1) = x"),
        (Comparison("=", Arithmetic("*", SUM, PRODUCT), X), "(x + 1) * (x * 2) = x"),
        (Comparison("=", Arithmetic("/", PRODUCT, X), X), "x * 2 / x = x"),
        (Comparison("=", Arithmetic("+", PRODUCT, PRODUCT), X), "x * 2 + x * 2 = x"),
    ],
)
def test_a_predicate(predicate: Predicate, text: str) -> None:
    assert show_predicate(predicate) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (-0.5, "-0.5"),
        ("it's", "'it''s'"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "timestamp '2026-01-02T03:04:05Z'"),
    ],
)
def test_a_value(value: Value, text: str) -> None:
    assert show_value(value) == text


def test_each_rule_says_what_to_do() -> None:
    assert set(MENDS) == set(get_args(Rule))


def test_the_tables_of_operators() -> None:
    operators = cel_operators.OPERATORS
    assert set(spelt(operators, "infix")) >= {";", ":", "OR", "AND", "ALL", "UNLESS"}
    assert not set(spelt(operators, "infix")) & {"NXT", "+", "MAX"}
    assert set(spelt(operators, "call")) >= {"NXT", "MAX", "LAST"}
    assert index_by_name(operators)["seq"].node is cel_operators.Seq
    assert cel_operators.Seq in with_operands(operators, 2)
    assert cel_operators.Plus in with_operands(operators, 1)
    assert not set(with_operands(operators, 1)) & {
        cel_operators.Filter,
        cel_operators.In,
        cel_operators.Seq,
        cel_operators.EventAtom,
    }
    places = ranks(operators)
    assert places[cel_operators.Filter] > places[cel_operators.Plus]
    assert sorted(places[node] for node in with_operands(operators, 2)) == list(range(len(with_operands(operators, 2))))


def test_an_operand_below_a_suffix_binds_tighter() -> None:
    found = [operator for operator in row_operators.PATTERNS.values() if operator.position == "suffix"]
    assert found
    assert [_place(operator, operator.node, 0) for operator in found] == [operator.level + 1 for operator in found]
