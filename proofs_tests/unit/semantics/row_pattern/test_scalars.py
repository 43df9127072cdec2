"""The values of operators: three-valued logic, arithmetic, LIKE, CAST."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

import cerify
from cerify.semantics.row_pattern.scalars import _like
from proofs_tests.unit.semantics.row_pattern.tables import rows, table

S = table(
    "i f s b n t l u",
    (7, 2.5, "ab", True, None, "2020-01-02T03:04:05Z", "a\nb", datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("TRUE AND n", None), ("FALSE AND n = 1", False), ("TRUE OR n = 1", True), ("FALSE OR n = 1", None),
        ("NOT n = 1", None), ("NOT b", False), ("n = n", None), ("n <> 1", None), ("n IS NULL", True),
        ("i IS NOT NULL", True), ("i IN (1, 7)", True), ("i IN (1, NULL)", None), ("i NOT IN (1, NULL)", None),
        ("i NOT IN (7, NULL)", False), ("i BETWEEN 1 AND NULL", None), ("i BETWEEN 8 AND NULL", False),
        ("i NOT BETWEEN 8 AND NULL", True), ("i / 2", 3), ("-7 / 2", -3), ("-7 % 2", -1), ("i / 2.0", 3.5),
        ("i / 0", None), ("i % 0", None), ("f * 2", 5.0), ("i - f", 4.5), ("1e308 * 10", None), ("- i", -7),
        ("ABS(-i)", 7), ("ABS(s)", None), ("s || 'c'", "abc"), ("s || n", None), ("i = 7.0", True), ("i = 'a'", None),
        ("b = 1", None), ("s < 'b'", True), ("COALESCE(n, i, 1)", 7), ("COALESCE(n, n)", None),
        ("CASE WHEN n = 1 THEN 1 WHEN i = 7 THEN 2 ELSE 3 END", 2), ("CASE n WHEN NULL THEN 1 END", None),
        ("s LIKE 'a%'", True), ("s LIKE 'a'", False), ("s LIKE '_b'", True), ("s LIKE 'A%'", False),
        ("n LIKE 'a'", None), ("l LIKE 'a%b'", True), ("l LIKE 'a_b'", True),
        ("'a%' LIKE 'a!%' ESCAPE '!'", True), ("'ab' LIKE 'a!%' ESCAPE '!'", False), ("'a.b' LIKE 'a_b'", True),
        ("'axb' LIKE 'a.b'", False), ("s NOT LIKE 'b%'", True),
        ("CAST(f AS BIGINT)", 3), ("CAST(-2.5 AS BIGINT)", -3), ("CAST('12' AS BIGINT)", 12),
        ("CAST('a' AS BIGINT)", None),
        ("CAST(i AS DOUBLE)", 7.0), ("CAST(i AS VARCHAR)", "7"), ("CAST(b AS VARCHAR)", "true"),
        ("CAST('TRUE' AS BOOLEAN)", True), ("CAST(b AS BIGINT)", 1), ("CAST(n AS VARCHAR)", None),
        ("CAST(CAST(t AS TIMESTAMP) AS VARCHAR)", "2020-01-02T03:04:05Z"),
        ("CAST(CAST(t AS TIMESTAMP) AS BIGINT)", None), ("CAST(CAST(t AS TIMESTAMP) AS DOUBLE)", None),
        ("CAST(t AS TIMESTAMP) < TIMESTAMP '2020-01-02 03:04:06'", True),
        ("TIMESTAMP '2020-01-02' - DATE '2020-01-01'", timedelta(days=1)),
        ("u - INTERVAL '5' SECOND = DATE '2020-01-02'", False),
        ("u - INTERVAL '1 hour 4 minutes' ", datetime(2020, 1, 2, 2, 0, 5, tzinfo=UTC)),
        ("INTERVAL '1 02:03' DAY TO MINUTE", timedelta(days=1, hours=2, minutes=3)),
        ("INTERVAL '1' HOUR * 1.5", timedelta(minutes=90)), ("INTERVAL 90 MINUTE / 3", timedelta(minutes=30)),
        ("ABS(INTERVAL '-2' WEEK)", timedelta(days=14)), ("INTERVAL '1' DAY / 0", None), ("INTERVAL '1' DAY * b", None),
        ("u + INTERVAL '9999999' DAY", None), ("u + n", None), ("u - u", timedelta()), ("u + u", None),
        ("CAST(INTERVAL '26:00:00.5' HOUR TO SECOND AS VARCHAR)", "P1DT2H0.5S"),
        ("INTERVAL '1' DAY > INTERVAL '23' HOUR", True),
        ("EXTRACT(HOUR FROM u)", 3),
        ("EXTRACT(YEAR FROM n)", None),
        ("EXTRACT(EPOCH FROM u - DATE '2020-01-02')", 11045.0), ("EXTRACT(MINUTE FROM INTERVAL '-90' MINUTE)", -30),
        ("EXTRACT(DAY FROM INTERVAL '50' HOUR)", 2), ("DATE_TRUNC('hour', u)", datetime(2020, 1, 2, 3, tzinfo=UTC)),
        ("DATE_TRUNC('week', u)", datetime(2019, 12, 30, tzinfo=UTC)),
        ("DATE_TRUNC('quarter', u)", datetime(2020, 1, 1, tzinfo=UTC)),
        ("ROUND(f)", 3.0), ("ROUND(-f)", -3.0), ("ROUND(2.345, 2)", 2.35),
        ("ROUND(i, -1)", 10),
        ("FLOOR(-f)", -3.0), ("CEILING(f)", 3.0), ("FLOOR(i)", 7), ("SIGN(-f)", -1), ("SQRT(-f)", None),
        ("POWER(2, 10)", 1024.0),
        ("POWER(10, 999)", None), ("LN(0)", None), ("UPPER(s)", "AB"), ("LENGTH(s)", 2), ("TRIM(' a ')", "a"),
        ("UPPER(i)", None),
        ("SUBSTRING('abcd' FROM 2 FOR 2)", "bc"), ("SUBSTR('abcd', 0, 2)", "a"), ("SUBSTRING('abcd', 3)", "cd"),
        ("SUBSTRING('abcd', 2, -1)", None), ("REPLACE(s, 'a', 'xx')", "xxb"),

        ("CONCAT(s, 'c', 'd')", "abcd"), ("DATEDIFF(HOUR, u - INTERVAL '4' MINUTE, u)", 0),
        ("DATEDIFF('hours', u - INTERVAL '5' MINUTE, u)", 1),
        ("TIMESTAMPDIFF(MINUTE, u, u - INTERVAL '90' SECOND)", -1),
    ],
)  # fmt: skip
def test_the_value_of_an_expression(expression: str, expected: Any) -> None:
    value = rows(f"MATCH_RECOGNIZE (MEASURES {expression} AS m PATTERN (A))", S)[0][0]
    assert (value, type(value)) == (expected, type(expected))


def test_aggregates_pass_over_null() -> None:
    T = table("x s", (1, "b"), (None, None), (4, "a"))
    measures = "COUNT(*), COUNT(x), SUM(x), AVG(x), MIN(s), MAX(s), SUM(s), SUM(CASE WHEN x = 9 THEN x END)"
    named = ", ".join(f"{e} AS m{n}" for n, e in enumerate(measures.split(", ")))
    assert rows(f"MATCH_RECOGNIZE (MEASURES {named} PATTERN (A+))", T) == [(3, 2, 5, 2.5, "a", "b", None, None)]


def test_aggregates_of_values_of_two_kinds_have_no_value() -> None:
    T = table("x", (1,), ("b",), (4,))
    measures = ", ".join(f"{e}(x) AS m{n}" for n, e in enumerate(("SUM", "AVG", "MIN", "MAX", "COUNT")))
    assert rows(f"MATCH_RECOGNIZE (MEASURES {measures} PATTERN (A+))", T) == [(None, None, None, None, 3)]


def test_like_takes_no_more_steps_than_the_lengths_multiplied() -> None:
    """Each % doubled the steps: with twenty of them a match did not end."""
    query = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s LIKE '{}')"
    events = [{"type": "row", "s": "a" * 2_000}]
    assert not cerify.match(query.format("%a" * 40 + "%b"), events, language="row-pattern")
    assert cerify.match(query.format("%a" * 40 + "%_a"), events, language="row-pattern")


def test_like_finds_what_all_divisions_of_the_text_find() -> None:
    """Against the definition: some division of the text into a part for each sign of the pattern."""

    def alike(text: str, pattern: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "%":
            return any(alike(text[i:], pattern[1:]) for i in range(len(text) + 1))
        return text[:1] != "" and pattern[0] in ("_", text[0]) and alike(text[1:], pattern[1:])

    rng = Random(1)
    for _ in range(2_000):
        pattern, text = (
            "".join(rng.choices("ab_%%", k=rng.randrange(8))),
            "".join(rng.choices("ab\n", k=rng.randrange(8))),
        )
        assert (_like(text, pattern, ()) is True) == alike(text, pattern), (text, pattern)
