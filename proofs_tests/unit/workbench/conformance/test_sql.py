"""MATCH_RECOGNIZE in SQL: what is sent of a case, and the matches that tables show."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from cerify import protocol
from cerify.conformance import sql
from cerify.conformance.cases import load
from cerify.conformance.harness import Engine, message_of
from cerify.conformance.model import Case
from cerify.conformance.run import conform
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError
from proofs_tests.support import sampled

CASES = load("row-pattern")


def case(query: str, events: Sequence[dict[str, Any]], schema: dict[str, str]) -> Case:
    return Case("c", "f", "", "row-pattern", query, {"row": schema}, events, "valuations", [])


def test_the_clause_its_table_and_the_statements_are_sent() -> None:
    query = "MATCH_RECOGNIZE (ORDER BY t MEASURES s || 'x' AS m PATTERN ({- A -}))"
    events = [{"type": "row", "t": "2020-01-02T03:04:05", "s": "it's"}, {"type": "row"}]
    sent = message_of(case(query, events, {"t": "timestamp", "s": "string"}))["sql"]
    protocol.read(protocol.line(message_of(case(query, events, {"t": "timestamp", "s": "string"}))), "run")
    assert sent["columns"] == [
        {"name": "cerify_place", "type": "BIGINT"},
        {"name": "t", "type": "TIMESTAMP(6)"},
        {"name": "s", "type": "VARCHAR(200)"},
    ]
    assert sent["rows"] == [[0, "2020-01-02T03:04:05Z", "it's"], [1, None, None]]
    assert (sent["clause"]["pattern"], sent["clause"]["define"], sent["variables"]) == ("PATTERN ({- A -})", "", ["A"])
    labels, own = sent["statements"]
    with_table = labels.removesuffix(sent["selects"][0])
    assert sent["statements"] == [with_table + select for select in sent["selects"]]
    assert labels == (
        "WITH cerify_rows AS (SELECT * FROM (VALUES "
        "(CAST(0 AS BIGINT), CAST(TIMESTAMP '2020-01-02 03:04:05' AS TIMESTAMP(6)), CAST('it''s' AS VARCHAR(200))), "
        "(CAST(1 AS BIGINT), CAST(NULL AS TIMESTAMP(6)), CAST(NULL AS VARCHAR(200)))) "
        "AS cerify_values (cerify_place, t, s)) SELECT * FROM cerify_rows MATCH_RECOGNIZE (ORDER BY t, cerify_place "
        "MEASURES MATCH_NUMBER() AS cerify_number, CLASSIFIER() AS cerify_label ALL ROWS PER MATCH SHOW EMPTY MATCHES "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (A) DEFINE A AS 1 = 1)"
    )
    assert own.endswith(
        "MATCH_RECOGNIZE (ORDER BY t, cerify_place MEASURES s || 'x' AS m, MATCH_NUMBER() AS cerify_number "
        "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN ({- A -}) DEFINE A AS 1 = 1)"
    )
    empty = message_of(case(query, [], {"t": "timestamp"}))["sql"]["statements"][0]
    assert (
        "(VALUES (CAST(NULL AS BIGINT), CAST(NULL AS TIMESTAMP(6)))) AS cerify_values (cerify_place, t) WHERE" in empty
    )
    assert "sql" not in message_of(replace(CASES[0], language="cel", query="A"))
    assert "sql" not in message_of(replace(CASES[0], query="MATCH_RECOGNIZE ("))


def test_the_statement_of_a_window_has_the_rows_of_each_match() -> None:
    query = """WINDOW (PARTITION BY p ORDER BY x DESC MEASURES LAST(x) AS "low" ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING
        SEEK PATTERN (A B*) DEFINE B AS x < PREV(x))"""
    events = [{"type": "row", "p": 0, "x": x} for x in (3, 2, 1)]
    sent = message_of(case(query, events, {"p": "int", "x": "int"}))["sql"]
    assert sent["selects"] == [
        'SELECT cerify_place, p, "low" OVER cerify_window AS "low", cerify_count OVER cerify_window AS cerify_count, '
        "cerify_place_0 OVER cerify_window AS cerify_place_0, cerify_label_0 OVER cerify_window AS cerify_label_0, "
        "cerify_place_1 OVER cerify_window AS cerify_place_1, cerify_label_1 OVER cerify_window AS cerify_label_1, "
        "ROW_NUMBER() OVER (PARTITION BY p ORDER BY x DESC, cerify_place) AS cerify_row FROM cerify_rows "
        'WINDOW cerify_window AS (PARTITION BY p ORDER BY x DESC, cerify_place MEASURES LAST(x) AS "low", '
        "COUNT(*) AS cerify_count, FIRST(cerify_place) AS cerify_place_0, FIRST(CLASSIFIER()) AS cerify_label_0, "
        "FIRST(cerify_place, 1) AS cerify_place_1, FIRST(CLASSIFIER(), 1) AS cerify_label_1 "
        "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP PAST LAST ROW SEEK PATTERN (A B*) "
        "DEFINE B AS x < PREV(x))"
    ]


def test_tables_for_what_is_no_clause_are_a_wrong_answer() -> None:
    for other in (replace(CASES[0], language="cel", query="A"), replace(CASES[0], query="MATCH_RECOGNIZE (")):
        with pytest.raises(InputError, match="it has tables, and the query is no clause"):
            sql.answer(other, [{"columns": [], "rows": []}])


ENGINE = """
import json, sys
from proofs_tests.unit.workbench.conformance import fake_database

TYPES = {"BIGINT": "int", "DOUBLE PRECISION": "float", "VARCHAR(200)": "string", "BOOLEAN": "bool"}
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "start":
        answer = {"protocol": 1, "engine": {"name": "e", "version": "1"}, "languages": ["row-pattern"]}
    elif message["cmd"] == "stop":
        break
    else:
        sql, tables = message["sql"], []
        for select in sql["selects"]:
            cursor = fake_database.connect().cursor()
            columns = [(one["name"], TYPES[one["type"]]) for one in sql["columns"]]
            cursor._select(select.partition("FROM cerify_rows ")[2], columns, sql["rows"])
            names = [name for name, in cursor.description]
            tables.append({"columns": names, "rows": [list(row) for row in cursor.fetchall()][%s]})
        answer = {"id": message["id"], "tables": tables}
    print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("step", sampled([27, 9], [27]))
def test_an_engine_that_answers_with_tables(step: int) -> None:
    cases = [one for one in CASES if one.feature in ("row-output", "row-partition", "row-exclusion")][::step]
    right = conform([sys.executable, "-c", ENGINE % ":"], cases)
    assert (right.totals["passed"], right.conforms) == (len(cases), True)
    with Engine([sys.executable, "-c", ENGINE % "1:"]) as wrong:
        assert wrong.run(cases[0]).outcome == "failed"


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ([{"columns": ["x"], "rows": [[1]]}], "KeyError: 'cerify_number'"),
        ([{"columns": ["x"], "rows": [[1, 2]]}], "ValueError"),
        ([{"columns": ["cerify_number", "cerify_place", "cerify_label"], "rows": [[None, 0, "A"]]}], "TypeError"),
        ([{"columns": [], "rows": []}], "IndexError"),
    ],
)
def test_tables_that_show_no_matches(tables: list[dict[str, Any]], problem: str) -> None:
    protocol.read(json.dumps({"id": "c", "tables": tables}), "answer")
    clause = f"MATCH_RECOGNIZE ({'MEASURES A.x AS y ' if problem == 'IndexError' else ''}PATTERN (A))"
    with pytest.raises(InputError, match=f"the tables do not show matches: {problem}"):
        sql.answer(case(clause, [{"type": "row", "x": 1}], {"x": "int"}), tables)


def test_reading_tables_is_bounded_by_the_time_of_the_caller() -> None:
    tables = [{"columns": ["x"], "rows": [[1]]}]
    with pytest.raises(BudgetExceeded), Budget(seconds=0).timed():
        sql.answer(case("MATCH_RECOGNIZE (PATTERN (A))", [], {}), tables)


def test_one_kind_of_answer() -> None:
    with pytest.raises(InputError, match="it has matches and tables, where one of"):
        protocol.read('{"id": "c", "tables": [], "matches": []}', "answer")
