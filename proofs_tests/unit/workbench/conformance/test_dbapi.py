"""The adapter of databases: a module whose MATCH_RECOGNIZE is the definition passes, and others do not."""

from __future__ import annotations

import sqlite3
from random import Random
from types import ModuleType

import pytest

from cerify.commands.dbapi import Database, created, main
from cerify.conformance.cases import load
from cerify.conformance.engines import command_of_database
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.conformance.run import conform
from cerify.languages.language import DENOTATIONAL, Options
from cerify.languages.row_pattern import LANGUAGE
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import ROW
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.conformance import fake_database

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
        LANGUAGE.generator(),
    )
    profile, differ = generator.profiles["windows"], 0
    for number in range(40):
        q, S = generator.case(Random(number), profile, 8, 6)
        S = Stream(S, Schema({ROW: {"p": "int", "o": "int", "x": "int", "y": "float", "z": "string"}}))
        expected = LANGUAGE.matches(q, S, DENOTATIONAL, Options("valuations"))
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
    assert list(created("t", S)) == [
        "CREATE TABLE t (cerify_place BIGINT, x BIGINT, s VARCHAR(200), b BOOLEAN)",
        "INSERT INTO t VALUES (0, 1, 'it''s', NULL)",
        "INSERT INTO t VALUES (1, 2, NULL, TRUE)",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("json",), "'json' is no module of the DB-API: it has no connect"),
        (("sqlite3",), r"sqlite3.connect\(\) failed: .*'database'"),
        (("sqlite3", "/no/such/folder/file"), r"sqlite3.connect\(/no/such/folder/file\) failed: unable to open"),
    ],
)
def test_a_database_that_cannot_be_opened_is_an_input_error(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        main(*arguments)


def test_a_module_that_is_not_there_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no module 'no_such_database' of the DB-API"):
        main("no_such_database")
