"""Which calls in a text of SQL are run as functions over data frames, without Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from cerify.spark.sql import TABLE, find_calls

CALL = "cel_match(TABLE(t), 'A ; B', order_by => 'n')"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (f"SELECT * FROM {CALL}", [["TABLE(t)", "'A ; B'", "order_by => 'n'"]]),
        (f"from {CALL.upper()} SELECT at", [["TABLE(T)", "'A ; B'", "ORDER_BY => 'N'"]]),
        (f"SELECT * FROM a JOIN {CALL} AS m ON a.n = m.at, {CALL}", [["TABLE(t)", "'A ; B'", "order_by => 'n'"]] * 2),
        (r"SELECT * FROM cel_match(TABLE(t), 'a, \') (')", [["TABLE(t)", r"'a, \') ('"]]),
        (r"""SELECT * FROM cel_match(TABLE(`a, (b`), r'\', "(,", ")")""", [["TABLE(`a, (b`)", r"r'\'", '"(,"', '")"']]),
        (
            "SELECT * FROM cel_match(TABLE(SELECT f(a, b), c FROM t), array('k', 'l'))",
            [["TABLE(SELECT f(a, b), c FROM t)", "array('k', 'l')"]],
        ),
        (f"SELECT '{CALL.replace(chr(39), '')}', `{CALL}` FROM t", []),
        ("SELECT cel_match FROM t", []),
        (f"SELECT * FROM t, LATERAL {CALL}", []),
        (f"SELECT * FROM other.{CALL}", []),
        (f"CREATE VIEW v AS SELECT * FROM {CALL}", []),
        (f"WITH t AS (SELECT * FROM u) SELECT * FROM {CALL}", []),
        (f"SELECT * FROM (WITH t AS (SELECT * FROM u) SELECT * FROM {CALL})", []),
        ("SELECT * FROM cel_match(TABLE(t), 'A'", []),
        ("", []),
    ],
)
def test_calls_are_found_outside_texts_and_names(text: str, arguments: list[list[str]]) -> None:
    """In a statement with WITH, TABLE(t) may be a table that is known there alone."""
    found = list(find_calls(text, {"CEL_MATCH"}))
    assert [[argument.strip() for argument in given] for _, given, _ in found] == arguments
    assert all(
        text[call.start() : end].upper().startswith("CEL_MATCH(") and text[end - 1] == ")" for call, _, end in found
    )


def test_a_table_with_a_partition_stays_as_it_is() -> None:
    assert TABLE.fullmatch(" table ( t ) ") is not None
    assert TABLE.fullmatch("TABLE(t) PARTITION BY k") is None
