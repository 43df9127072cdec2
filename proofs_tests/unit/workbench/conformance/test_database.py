"""The adapter of databases: a module whose MATCH_RECOGNIZE is the definition passes, and others do not."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from cerify import protocol
from cerify.commands.dbapi import ROWS_AT_ONCE, Database, created, inserted, main
from cerify.conformance import sql
from cerify.conformance.cases import load
from cerify.conformance.engines import command_of_database
from cerify.conformance.harness import Engine, message_of
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.conformance.run import conform
from cerify.languages.language import DENOTATIONAL, Options
from cerify.languages.row_pattern import LANGUAGE
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Schema, Stream, result_of
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import ROW
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.conformance import fake_database

# ---- dbapi ----
#

CASES = load("row-pattern")
FAKE = fake_database.__name__


def wrong(arguments: list[str], cases: list[Case], module: ModuleType = fake_database) -> list[str]:
    """The ids of the cases that a database gives another answer to."""
    database, failing = Database(module, arguments), []
    for case in cases:
        try:
            given = database.answer(parse(case.query), stream_of(case), Options("valuations"))
        except module.Error:
            given = []
        if set(given) != set(case.matches):
            failing.append(case.id)
    return failing


@pytest.mark.parametrize("start", sampled(range(8), (0,)))
def test_a_database_with_the_definition_passes_the_suite(start: int) -> None:
    assert not wrong([], CASES[start::8])


@pytest.mark.parametrize(
    ("axis", "value", "feature"),
    [
        ("skip", "next-row", "row-skip"),
        ("alternation", "last", "row-alternation"),
        ("match-number", "goes-on", "row-match-number"),
        ("empty", "dropped", "row-empty"),
    ],
)
def test_a_database_that_departs_does_not(axis: str, value: str, feature: str) -> None:
    assert wrong([f"axis={axis}", f"value={value}"], [case for case in CASES if case.feature == feature][:30])


@pytest.mark.parametrize("axis", ["", "frame"])
def test_windows_in_a_database(axis: str) -> None:
    """Random clauses of WINDOW; of a database whose PREV and NEXT see the partition some answers are wrong."""
    database, generator = (
        Database(fake_database, [f"axis={axis}", "value=partition"] if axis else []),
        LANGUAGE.require_cases().generator(),
    )
    profile, differ = generator.profiles["windows"], 0
    for number in range(40):
        q, S = generator.case(Random(number), profile, 8, 6)
        S = Stream(S, Schema({ROW: {"p": "int", "o": "int", "x": "int", "y": "float", "z": "string"}}))
        expected = LANGUAGE.evaluators.matches(q, S, DENOTATIONAL, Options("valuations"))
        differ += database.answer(q, S, Options("valuations")) != sorted(expected)
    assert (differ > 0) == bool(axis)


def test_a_database_without_the_clause_says_so_of_each_case() -> None:
    for module, arguments in ((sqlite3, [":memory:"]), (fake_database, ["value=refused"])):
        database = Database(module, arguments)
        with pytest.raises(Unsupported, match=rf'{module.__name__} has no MATCH_RECOGNIZE: near ".*": syntax error'):
            database.answer(parse(CASES[0].query), stream_of(CASES[0]), Options("valuations"))


@pytest.mark.thorough
def test_the_report_on_a_database() -> None:
    cases = [case for case in CASES if case.feature == "row-skip"][:12]
    passed = conform(command_of_database(FAKE, []), cases)
    assert passed.conforms
    assert (passed.engine, passed.totals["passed"]) == (FAKE, 12)
    refused = conform(command_of_database("sqlite3", [":memory:"]), cases)
    assert refused.totals["skipped"] == 12
    assert not refused.conforms


@pytest.mark.thorough
def test_an_error_of_the_database_is_an_error() -> None:
    report = conform(
        command_of_database(FAKE, ["value=broken"]), [c for c in CASES if c.feature == "row-quantified"][:6]
    )
    assert report.totals["error"] > 0
    assert any("an internal error" in result.detail for result in report.results)


def test_a_table_has_the_values() -> None:
    S = Stream(
        [Event("row", {"x": 1, "s": "it's"}), Event("row", {"x": 2, "b": True})],
        Schema({"row": {"x": "int", "s": "string", "b": "bool"}}),
    )
    assert created("t", S) == "CREATE TABLE t (cerify_place BIGINT, x BIGINT, s VARCHAR(200), b BOOLEAN)"
    assert inserted("t", list(sql.values(S))) == "INSERT INTO t VALUES (0, 1, 'it''s', NULL), (1, 2, NULL, TRUE)"


@pytest.mark.parametrize(("value", "inserts"), [("", 3), ("single", 1201)])
def test_rows_are_inserted_many_at_once_where_the_database_can(value: str, inserts: int) -> None:
    """Else one by one, from the first table of two rows on, which is that of the probe."""
    database = Database(fake_database, [f"value={value}"] if value else [])
    S = Stream([Event(ROW, {"x": 1})] * 1201, Schema({ROW: {"x": "int"}}))
    before = database.connection.inserts
    q = parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > 1)")
    assert database.answer(q, S, Options("valuations")) == []
    assert database.connection.inserts - before == inserts


def test_the_version_is_what_the_server_says() -> None:
    """Statements that it does not know are passed over, and the transaction that they end is rolled back."""
    assert Database(fake_database, []).version() == "Fake 7.1 (test)"
    assert Database(sqlite3, [":memory:"]).version() == sqlite3.sqlite_version


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("json",), "'json' is not a DB-API module: it has no `connect`"),
        (("sqlite3",), r"sqlite3.connect\(\) failed: .*'database'"),
        (("sqlite3", "/no/such/folder/file"), r"sqlite3.connect\(/no/such/folder/file\) failed: unable to open"),
    ],
)
def test_a_database_that_cannot_be_opened_is_an_input_error(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        main(*arguments)


def test_a_module_that_is_not_there_is_an_input_error() -> None:
    with pytest.raises(InputError, match="the DB-API module 'no_such_database' cannot be imported"):
        main("no_such_database")


# ---- a recorded session ----
#

RECORD = Path(__file__).with_name("trino.jsonl")


class Session:
    """A module of the DB-API that answers as a recorded server did, and requires the same statements in the same order.

    With the module of a server it asks that instead, and records. `python -m` this file, with the arguments of the
    module's connect, writes the record anew: of Trino 483 as `io.trino.server.testing.TestingTrinoServer` starts it,
    with the memory connector, and its client 0.340.
    """

    __name__ = "trino.dbapi"

    class Error(Exception):
        """As in PEP 249."""

    class NotSupportedError(Error):
        """As in PEP 249."""

    def __init__(self, exchanges: list[Any], server: Any = None) -> None:
        self.exchanges, self.server, self.place = exchanges, server, 0
        self.names: list[str] | None = None
        self.rows: list[Any] = []

    def connect(self, **named: Any) -> Session:
        self.connection = self.server and self.server.connect(**named)
        return self

    def cursor(self) -> Session:
        return self

    def execute(self, statement: str) -> None:
        if self.server:
            self.exchanges.append([statement, *self._asked(statement)])
        asked, self.names, self.rows, error = self.exchanges[self.place]
        self.place += 1
        assert statement == asked
        if error is not None:
            raise self.Error(error)

    def _asked(self, statement: str) -> tuple[list[str] | None, list[Any], str | None]:
        try:
            with closing(self.connection.cursor()) as cursor:
                cursor.execute(statement)
                names = cursor.description and [column[0] for column in cursor.description]
                return names, [list(row) for row in cursor.fetchall()] if names else [], None
        except self.server.Error as error:
            return None, [], str(error).partition(", query_id")[0]

    @property
    def description(self) -> list[tuple[str]] | None:
        return None if self.names is None else [(name,) for name in self.names]

    def fetchall(self) -> list[Any]:
        return self.rows

    def close(self) -> None:
        pass

    rollback = close


def replay(session: Session, cases: list[Case], **connect: Any) -> tuple[str, list[str]]:
    """Ask a session what the adapter asks of a server; return the server's version and the failing cases."""
    database = Database(session, [f"{name}={value}" for name, value in connect.items()])
    assert not database.missing
    told, failing = database.version(), []
    for case in cases:
        try:
            given = set(database.answer(parse(case.query), stream_of(case), Options("valuations")))
        except session.Error:
            given = set()
        failing += [] if given == set(case.matches) else [case.id]
    q = parse("MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(t) AS t, x / 4.0 AS y PATTERN (A))")
    moment = datetime(2026, 11, 29, 12, 30, 1, 500, UTC)
    S = Stream([Event(ROW, {"t": moment, "x": 3})], Schema({ROW: {"t": "timestamp", "x": "int"}}))
    (match,) = database.answer(q, S, Options("valuations"))
    assert match.result == result_of({"t": moment, "y": 0.75})
    S = Stream([Event(ROW, {"x": 0})] * (ROWS_AT_ONCE + 1), Schema({ROW: {"x": "int"}}))
    assert database.answer(parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > 1)"), S, Options("valuations")) == []
    with pytest.raises(session.Error, match="Division by zero"):
        database.answer(parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS 1 / x > 1)"), S, Options("valuations"))
    return told, failing


def test_the_adapter_and_a_recorded_server() -> None:
    """The server gives its version and takes many rows at once; its values of Python are read as ours."""
    head, *exchanges = (json.loads(line, object_hook=_value) for line in RECORD.read_text().splitlines())
    session = Session(exchanges)
    cases = [case for case in CASES if case.id in head["cases"]]
    assert replay(session, cases) == (head["version"], head["failing"])
    assert session.place == len(exchanges)
    assert max(len(statement.split("), (")) for statement, *_ in exchanges if "INSERT" in statement) == ROWS_AT_ONCE


def _value(obj: dict[str, Any]) -> Any:
    """Read a value that JSON does not have, written as its type and its text."""
    kinds: dict[str, Callable[[str], Any]] = {"datetime": datetime.fromisoformat, "Decimal": Decimal}
    return next((kinds[kind](text) for kind, text in obj.items() if kind in kinds), obj)


# ---- sql ----
# MATCH_RECOGNIZE in SQL: what is sent of a case, and the matches that tables show.


def case(query: str, events: Sequence[dict[str, Any]], schema: dict[str, str]) -> Case:
    return Case("c", "f", "", "row-pattern", query, {"row": schema}, events, "valuations", [])


def test_the_clause_its_table_and_the_statements_are_sent() -> None:
    query = "MATCH_RECOGNIZE (ORDER BY t MEASURES s || 'x' AS m PATTERN ({- A -}))"
    events = [{"type": "row", "t": "2020-01-02T03:04:05", "s": "it's"}, {"type": "row"}]
    sent = message_of(case(query, events, {"t": "timestamp", "s": "string"}))["sql"]
    protocol.parse_message(protocol.line(message_of(case(query, events, {"t": "timestamp", "s": "string"}))), "run")
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
        with pytest.raises(InputError, match="the answer has tables, but the query is not"):
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
    protocol.parse_message(json.dumps({"id": "c", "tables": tables}), "answer")
    clause = f"MATCH_RECOGNIZE ({'MEASURES A.x AS y ' if problem == 'IndexError' else ''}PATTERN (A))"
    with pytest.raises(InputError, match=f"the matches cannot be read from the tables: {problem}"):
        sql.answer(case(clause, [{"type": "row", "x": 1}], {"x": "int"}), tables)


def test_reading_tables_is_bounded_by_the_time_of_the_caller() -> None:
    tables = [{"columns": ["x"], "rows": [[1]]}]
    with pytest.raises(BudgetExceeded), Budget(seconds=0).timed():
        sql.answer(case("MATCH_RECOGNIZE (PATTERN (A))", [], {}), tables)


def test_one_kind_of_answer() -> None:
    with pytest.raises(InputError, match="error, not matches and tables"):
        protocol.parse_message('{"id": "c", "tables": [], "matches": []}', "answer")


if __name__ == "__main__":
    recorded: list[Any] = []
    chosen = [case for case in CASES if re.search(r"/row-(?!long|nested|seek).*/00[19]$", case.id)]
    named = dict(argument.split("=") for argument in sys.argv[1:])
    version, failing = replay(Session(recorded, import_module("trino.dbapi")), chosen, **named)
    lines = [{"version": version, "cases": [case.id for case in chosen], "failing": failing}, *recorded]
    text = [json.dumps(line, default=lambda value: {type(value).__name__: str(value)}) for line in lines]
    RECORD.write_text("".join(f"{line}\n" for line in text))
