"""What counts as simpler when a failing case is shrunk: numbers, arguments and words that could be left out."""

from __future__ import annotations

import pytest

from cerify.equivalence.shrink import cel, event_expressions, row_pattern
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.row_pattern.parse import parse as parse_rows


@pytest.mark.parametrize("unit", ["EVENTS", "seconds", "[x]"])
def test_a_smaller_window_is_simpler(unit: str) -> None:
    small, large = (cel.complexity(parse_cel(f"A WITHIN {n} {unit}")) for n in (2, 3))
    assert small < large


@pytest.mark.parametrize(
    ("text", "complexity"), [("<3> a", 3), ("every <3> a", 3), ("a(1, X)", 2), ("p(I) := a(I); p(1)", 3)]
)
def test_numbers_and_arguments_of_an_expression_count(text: str, complexity: int) -> None:
    assert event_expressions.complexity(parse_expression(text)) == complexity


@pytest.mark.parametrize("operator", ["relative", "prior", "sequence"])
def test_an_operand_is_left_out(operator: str) -> None:
    smaller = map(show_expression, event_expressions.smaller_expressions(parse_expression(f"{operator}(a, b, c)")))
    assert {f"{operator}(b, c)", f"{operator}(a, c)", f"{operator}(a, b)"} <= set(smaller)


def test_an_event_type_is_no_operator() -> None:
    assert event_expressions.operators(parse_expression("relative(a, b)")) == {"relative"}


@pytest.mark.parametrize(
    ("simpler", "other"),
    [
        ("COUNT(*) > 1", "FINAL COUNT(*) > 1"),
        ("SUM(x) > 1", "FINAL SUM(x) > 1"),
        ("x IS NULL", "x IS NOT NULL"),
        ("x BETWEEN 1 AND 2", "x NOT BETWEEN 1 AND 2"),
        ("x IN (1)", "x NOT IN (1)"),
        ("x LIKE 'a'", "x NOT LIKE 'a'"),
    ],
)
def test_words_of_a_clause_that_may_be_left_out_count(simpler: str, other: str) -> None:
    small, large = (parse_rows(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))") for text in (simpler, other))
    assert row_pattern.complexity(small) < row_pattern.complexity(large)
    if "NOT" in other:
        assert small in [q for reduction in row_pattern.ROW_PATTERN.reductions for q in reduction(large)]
