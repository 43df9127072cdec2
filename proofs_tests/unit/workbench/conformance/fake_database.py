"""A module of Python's DB-API whose MATCH_RECOGNIZE is the definition, or departs from it in one axis.

`connect(axis="skip", value="next-row")`; with value="refused" it has no MATCH_RECOGNIZE, with "broken" it fails, with
"single" an INSERT has one row. Like PostgreSQL it refuses what follows an error until the transaction is rolled back.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any

from cerify.hypotheses.interpretation import choices_of
from cerify.hypotheses.row_pattern import AXES, LookingOutput, departure
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.row_pattern import interpreter
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import ROW

__version__ = "1"
KINDS = {"BIGINT": "int", "DOUBLE PRECISION": "float", "VARCHAR(200)": "string", "BOOLEAN": "bool"}


class Error(Exception):
    """As in PEP 249."""


class NotSupportedError(Error):
    """As in PEP 249."""


class Cursor:
    """A cursor over the tables of its connection, by name: their columns with types, and their rows."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: Sequence[tuple[str]] | None = None
        self.rows: list[tuple[Any, ...]] = []

    def execute(self, statement: str) -> None:
        self.description, self.rows = None, []
        if self.connection.is_aborted:
            raise Error("current transaction is aborted")
        try:
            self._execute(statement)
        except Error:
            self.connection.is_aborted = self.connection.value != "single"
            raise

    def _execute(self, statement: str) -> None:
        parts = re.fullmatch(r"(CREATE TABLE|INSERT INTO|SELECT .*? FROM|DROP TABLE) (\w+) ?(.*)", statement, re.DOTALL)
        if statement == "SELECT CURRENT_VERSION()":
            self.description, self.rows = [("V",)], [("Fake 7.1\n(test)",)]
        if parts is None or parts[2] == "product_component_version":
            if self.rows:
                return
            raise Error(f"no such function: {statement}")
        kind, name, rest = parts.groups()
        tables = self.connection.tables
        if kind == "CREATE TABLE":
            columns = [column.partition(" ")[::2] for column in rest[1:-1].split(", ")]
            tables[name] = ([(column, KINDS[type_]) for column, type_ in columns], [])
        elif kind == "INSERT INTO":
            text = re.sub(r"\bNULL\b", "None", rest.removeprefix("VALUES "))
            rows = literal_eval(f"[{text.replace('TRUE', 'True').replace('FALSE', 'False')}]")
            if len(rows) > 1 and self.connection.value == "single":
                raise Error("SQL command not properly ended")
            self.connection.inserts += 1
            tables[name][1].extend(rows)
        elif kind == "DROP TABLE":
            del tables[name]
        else:
            self._select(rest, *tables[name])

    def _select(self, text: str, columns: list[tuple[str, str]], values: list[tuple[Any, ...]]) -> None:
        if self.connection.value == "refused":
            raise Error('near "(": syntax error')
        if self.connection.value == "broken" and "+" in text and "PREV" not in text:
            raise Error("an internal error")
        try:
            names, self.rows = table(*answered(text, columns, values, self.connection.choices))
        except CerifyError as error:
            raise Error(error.message) from None
        self.description = [(name,) for name in names]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows

    def close(self) -> None:
        pass


class Connection:
    """A connection, with the tables that were created."""

    def __init__(self, choices: dict[str, str], value: str) -> None:
        self.choices, self.value = choices, value
        self.is_aborted, self.inserts = False, 0
        self.tables: dict[str, tuple[list[tuple[str, str]], list[tuple[Any, ...]]]] = {}

    def cursor(self) -> Cursor:
        return Cursor(self)

    def rollback(self) -> None:
        self.is_aborted = False


def connect(axis: str = "", value: str = "") -> Connection:
    """A connection to a database without tables."""
    return Connection({axis: value} if axis else {}, value)


def answered(
    text: str, columns: Sequence[tuple[str, str]], values: Sequence[Sequence[Any]], choices: Mapping[str, str] = {}
) -> tuple[LookingOutput, list[NumberedMatch]]:
    """The matches of a clause over a table, and what makes rows of them. Raises CerifyError.

    columns: their names and types. choices: the axes in which the answer departs from the definition.
    """
    events = [Event(ROW, {n: v for (n, _), v in zip(columns, row, strict=True) if v is not None}) for row in values]
    q = parse(text.replace("WINDOW cerify_window AS", "WINDOW"))
    S = Stream(events, Schema({ROW: dict(columns)}))  # type: ignore[arg-type]
    made = departure(choices_of(choices, AXES))
    found = made.list_matches(q, S, Budget(valuations=50_000))
    q = made.clause(q)
    parts = interpreter.partitions(q, interpreter.table_of(S), made.reading)
    return LookingOutput(q, S, made.reading, lambda f: f, parts), found


def table(output: LookingOutput, found: Sequence[NumberedMatch]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns, and the rows; of WINDOW with the number of each row in its partition."""
    names, rows = [name.upper() for name in output.columns], list(output.rows(found))
    if output.clause.window is None:
        return names, rows
    numbers = [number for places in output.partitions for number in range(1, len(places) + 1)]
    return [*names, "CERIFY_ROW"], [(*row, number) for row, number in zip(rows, numbers, strict=True)]
