"""Dialects of MATCH_RECOGNIZE: what each takes, refuses and means, and translations that keep the matches."""

from datetime import UTC, datetime
from typing import Any

import pytest

import cerify
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, ParseError, Unsupported
from cerify.semantics.row_pattern.dialects import (
    DIALECTS,
    dialect_named,
    meant_reading,
    require_in_dialect,
    with_meant_nulls,
)
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import RowReading
from cerify.semantics.row_pattern.show_dialects import show_in_dialect
from cerify.semantics.row_pattern.syntax import show, show_expression
from proofs_tests.unit.semantics.row_pattern.tables import table


def in_dialect(text: str, name: str) -> Any:
    dialect = dialect_named(name)
    q = parse(f"MATCH_RECOGNIZE ({text})", dialect)
    require_in_dialect(q, dialect)
    return q


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("standard", "NULLIF(x, 1)", "CASE WHEN x = 1 THEN NULL ELSE x END"),
        ("standard", "MOD(x, 2)", "x % 2"),
        ("oracle", "NVL(x, 1)", "COALESCE(x, 1)"),
        ("oracle", "NVL2(x, 1, 2)", "CASE WHEN x IS NOT NULL THEN 1 ELSE 2 END"),
        ("snowflake", "IFF(x > 1, 2, 3)", "CASE WHEN x > 1 THEN 2 ELSE 3 END"),
        ("trino", "IF(x > 1, 2)", "CASE WHEN x > 1 THEN 2 ELSE NULL END"),
        ("snowflake", "LAG(x)", "PREV(x)"),
        ("snowflake", "lead(x, 2)", "NEXT(x, 2)"),
        ("snowflake", "MATCH_SEQUENCE_NUMBER()", "COUNT(*)"),
        ("snowflake", "CLASSIFIER", "CLASSIFIER()"),
        ("snowflake", "match_number", "MATCH_NUMBER()"),
        ("bigquery", '"text"', "'text'"),
        ("bigquery", "`a b`", '"a b"'),
        ("duckdb", "LEAST(x, 3)", "CASE WHEN 3 IS NULL OR x <= 3 THEN x ELSE 3 END"),
    ],
)
def test_what_a_dialect_has_beside_the_standard(name: str, text: str, value: str) -> None:
    q = parse(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))", dialect_named(name))
    assert show_expression(q.measures[0].expression) == value


@pytest.mark.parametrize("name", ["standard", "duckdb"])
def test_least_and_greatest_of_null(name: str) -> None:
    """NULL where one argument is, but the others' in DuckDB."""
    for text, expected in (("LEAST(x, y, 5)", 3), ("GREATEST(x, y, 5)", 7)):
        q = parse(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))", dialect_named(name))
        table = cerify.match(q, [{"x": 7, "y": 3}, {"x": 7, "z": 1}, {"y": 3}], output="rows")
        nulls = {"LEAST(x, y, 5)": [5, 3], "GREATEST(x, y, 5)": [7, 5]}[text]
        assert [row[0] for row in table.rows] == [expected, *(nulls if name == "duckdb" else [None, None])]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("bigquery", "ORDER BY x PATTERN (A) DEFINE A AS TRUE", "requires MEASURES"),
        ("bigquery", "MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TRUE", "requires ORDER BY"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A B) DEFINE A AS TRUE", "DEFINE B AS TRUE"),
        ("bigquery", "ORDER BY x MEASURES A.x AS n PATTERN (A) DEFINE A AS TRUE", "in no aggregate"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS COUNT(*) > 1", "in DEFINE"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A{2}?) DEFINE A AS TRUE", "reluctant"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE", "ALL ROWS"),
        ("flink", "ORDER BY x PATTERN (A | B) DEFINE A AS TRUE", "alternation"),
        ("flink", "ORDER BY x PATTERN ((A B)+ C) DEFINE A AS TRUE", "a group"),
        ("flink", "ORDER BY x PATTERN (A B*) DEFINE A AS TRUE", "greedy"),
        ("flink", "ORDER BY x PATTERN (A B) DEFINE A AS x > PREV(x)", "PREV and NEXT"),
        ("flink", "ORDER BY x PATTERN (^ A) DEFINE A AS TRUE", r"\^ and"),
        ("flink", "ORDER BY x PATTERN (A)", "requires DEFINE"),
        ("snowflake", "PATTERN (A B) SUBSET U = (A, B) DEFINE A AS TRUE", "SUBSET"),
        ("oracle", "MEASURES CLASSIFIER(A) AS c PATTERN (A) DEFINE A AS TRUE", "CLASSIFIER with an argument"),
        ("oracle", "PATTERN (A)", "requires DEFINE"),
        ("snowflake", "PATTERN (A) DEFINE A AS x > LAG(x, 1, 0)", "takes 1 to 2 arguments"),
        ("snowflake", "PATTERN (A) DEFINE A AS x > LAG(x, y)", "whole number"),
        ("trino", "PATTERN (A) DEFINE A AS NULLIF(x) = 1", "takes 2 arguments"),
    ],
)
def test_what_a_dialect_refuses(name: str, text: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason) as error:
        in_dialect(text, name)
    assert error.value.span is not None


def test_options_of_bigquery() -> None:
    clause = "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TRUE OPTIONS (use_longest_match = {})"
    assert in_dialect(clause.format("FALSE"), "bigquery").measures
    with pytest.raises(Unsupported, match="longest match"):
        in_dialect(clause.format("TRUE"), "bigquery")


def test_names_are_quoted_by_the_dialect() -> None:
    with pytest.raises(ParseError, match="not with backticks"):
        in_dialect("PATTERN (A) DEFINE A AS `x` > 1", "trino")
    assert in_dialect("ORDER BY y PATTERN (A) DEFINE A AS `x` > 1", "flink")
    with pytest.raises(IllFormed, match="did you mean 'snowflake'"):
        dialect_named("snowflakes")


@pytest.mark.parametrize(
    ("name", "rows", "first"),
    [("standard", [1, None], 1), ("trino", [1, None], 1), ("bigquery", [1, None], None), ("flink", [1, None], None)],
)
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_the_place_of_null(name: str, rows: list[int | None], first: int | None, direction: str) -> None:
    q = parse(f"MATCH_RECOGNIZE (ORDER BY x {direction} MEASURES LAST(y) AS y PATTERN (A))", dialect_named(name))
    table = [{"x": x, "y": i} if x is not None else {"y": i} for i, x in enumerate(rows)]
    made = cerify.match(with_meant_nulls(q, dialect_named(name)), table, output="rows")
    nulls_first = {"standard": direction == "DESC", "trino": False}.get(name, direction == "ASC")
    assert [row[0] for row in made.rows] == ([1, 0] if nulls_first else [0, 1])


def test_flink_goes_on_at_the_next_row() -> None:
    text = "ORDER BY x PATTERN (A B) DEFINE B AS TRUE"
    found = {
        name: len(cerify.match(in_dialect(text, name), [{"x": i} for i in range(4)]))
        for name in ("standard", "flink", "trino")
    }
    assert found == {"standard": 2, "flink": 3, "trino": 2}


def test_division_is_exact_where_the_dialect_has_it_so() -> None:
    q = in_dialect("MEASURES A.x / 2 AS h PATTERN (A) DEFINE A AS TRUE", "oracle")
    assert meant_reading(q.expressions, DIALECTS["oracle"]) == RowReading(integer_division="exact")
    assert meant_reading(q.expressions, DIALECTS["trino"]) == RowReading()


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", ["standard", "trino", "duckdb"])
def test_random_clauses_keep_their_matches_in_another_dialect(source: str, target: str) -> None:
    """What is translated without a difference has the same matches under the other dialect's meaning."""
    here, there = dialect_named(source), dialect_named(target)
    translated = refused = 0
    for seed in range(60):
        q, S = cerify.generate("row-pattern", seed=seed, profile="everything", nodes=8, events=6)
        q = parse(show(q), here)
        try:
            text, differences = show_in_dialect(q, here, there)
        except Unsupported:
            refused += 1
            continue
        if differences:
            continue
        again = with_meant_nulls(parse(text, there), there)
        try:
            mine = cerify.match(
                with_meant_nulls(q, here), S, language="row-pattern", row_reading=meant_reading(q.expressions, here)
            )
            theirs = cerify.match(again, S, language="row-pattern", row_reading=meant_reading(again.expressions, there))
        except (BudgetExceeded, IllFormed, CerifyError):
            continue
        assert mine == theirs, text
        translated += 1
    assert translated > 20 or refused > 20


def test_a_translation_writes_what_the_other_dialect_reads() -> None:
    q = in_dialect(
        "PARTITION BY sym ORDER BY day MEASURES FINAL LAST(B.price) AS p PATTERN (A B+) "
        'DEFINE A AS TRUE, B AS MOD(price, 2) = 1 AND CAST(price AS BIGINT) > "it is"',
        "trino",
    )
    text, differences = show_in_dialect(q, DIALECTS["trino"], DIALECTS["bigquery"])
    assert differences == ()
    assert "ORDER BY day NULLS LAST" in text
    assert "MEASURES LAST(B.price) AS p AFTER MATCH" in text
    assert "MOD(price, 2) = 1 AND CAST(price AS INT64) > `it is`" in text
    divided = in_dialect("MEASURES A.x / 2 AS h PATTERN (A) DEFINE A AS TRUE", "trino")
    assert "division" in show_in_dialect(divided, DIALECTS["trino"], DIALECTS["oracle"])[1][0]
    with pytest.raises(Unsupported, match="does not have alternation"):
        show_in_dialect(
            in_dialect("ORDER BY x PATTERN (A | B) DEFINE A AS TRUE", "trino"), DIALECTS["trino"], DIALECTS["flink"]
        )


@pytest.mark.parametrize(
    ("source", "text", "target", "written"),
    [
        ("standard", "MEASURES LENGTH(FIRST(z)) AS l PATTERN (A) DEFINE A AS TRUE", "oracle", "LENGTH(FIRST(z)) AS l"),
        ("oracle", "MEASURES SUBSTR(z, 2) AS l PATTERN (A) DEFINE A AS TRUE", "duckdb", "SUBSTRING(z, 2) AS l"),
        ("standard", "PATTERN (A) DEFINE A AS t > u - INTERVAL '1:30' HOUR TO MINUTE", "trino", "INTERVAL '90' MINUTE"),
        ("duckdb", "PATTERN (A) DEFINE A AS t > u - INTERVAL 90 MINUTE", "snowflake", "INTERVAL '90 MINUTE'"),
        ("snowflake", "PATTERN (A) DEFINE A AS DATEDIFF(hour, t, u) > 1", "duckdb", "DATEDIFF('HOUR', t, u)"),
        ("flink", "ORDER BY t PATTERN (A) DEFINE A AS TIMESTAMPDIFF(DAY, t, u) > 1", "trino", "DATE_DIFF('DAY', t, u)"),
        ("bigquery", "ORDER BY t MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TIMESTAMP_DIFF(u, t, DAY) > 1", "trino",
         "DATE_DIFF('DAY', t, u)"),
        ("trino", "MEASURES EXTRACT(SECOND FROM t) AS s PATTERN (A) DEFINE A AS TRUE", "oracle",
         "CAST(FLOOR(EXTRACT(SECOND FROM t)) AS NUMBER(19)) AS s"),
    ],
)  # fmt: skip
def test_times_and_functions_from_one_dialect_to_another(source: str, text: str, target: str, written: str) -> None:
    q = parse(f"MATCH_RECOGNIZE ({text})", DIALECTS[source])  # type: ignore[index]
    assert written in show_in_dialect(q, DIALECTS[source], DIALECTS[target])[0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("source", "text", "target"),
    [
        ("snowflake", "MEASURES DATEDIFF(DAY, t, u) AS d PATTERN (A) DEFINE A AS TRUE", "trino"),
        ("standard", "MEASURES EXTRACT(SECOND FROM t) AS s PATTERN (A) DEFINE A AS TRUE", "trino"),
        ("standard", "MEASURES EXTRACT(EPOCH FROM t) AS s PATTERN (A) DEFINE A AS TRUE", "oracle"),
        ("standard", "MEASURES DATE_TRUNC('day', t) AS s PATTERN (A) DEFINE A AS TRUE", "oracle"),
    ],
)
def test_what_means_something_else_in_a_dialect_is_not_translated(source: str, text: str, target: str) -> None:
    q = parse(f"MATCH_RECOGNIZE ({text})", DIALECTS[source])  # type: ignore[index]
    with pytest.raises(Unsupported):
        show_in_dialect(q, DIALECTS[source], DIALECTS[target])  # type: ignore[index]


def test_within_is_less_than_its_width_in_flink() -> None:
    minutes = [datetime(2020, 1, 1, 0, n, tzinfo=UTC) for n in (0, 30, 59)]
    S = table("t", *((t,) for t in minutes))
    text = "MATCH_RECOGNIZE (ORDER BY t AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN INTERVAL '30' MINUTE {})"
    for define in ("DEFINE A AS TRUE", "DEFINE B AS TRUE"):
        q = parse(text.format(define), DIALECTS["flink"])
        for evaluator in ("denotational", "automaton"):
            assert [m.events for m in cerify.match(q, S, language="row-pattern", evaluator=evaluator)] == [(1, 2)]
