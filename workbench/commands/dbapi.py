"""An adapter for any database with a Python DB-API module (PEP 249): `cerify conform --dbapi MODULE`.

For each case the adapter creates and fills a table, with many rows per INSERT where the database supports it. Then it
runs one or two SELECTs with the clause. MATCH_NUMBER and CLASSIFIER of all rows show the matches, and the clause's own
rows show its measures. The arguments go to the module's `connect`: NAME=VALUE as keyword arguments, and JSON as values.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from decimal import Decimal
from itertools import count
from typing import Any

from cerify.commands.engine import serve
from cerify.conformance import sql
from cerify.languages.language import Options
from cerify.protocol import EngineInfo
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.packages import import_package
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize

VERSIONS = (  # tried in this order: most databases, Oracle, Snowflake, Databricks, SQL Server, SQLite
    "SELECT VERSION()",
    "SELECT version_full FROM product_component_version",
    "SELECT CURRENT_VERSION()",
    "SELECT current_version().dbsql_version",
    "SELECT @@VERSION",
    "SELECT sqlite_version()",
)
ROWS_AT_ONCE = 500
PROBE = "MATCH_RECOGNIZE (ORDER BY x ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS x > PREV(x))"


class Database:
    """A connection on which cases are evaluated one after the other, each in its own table.

    module: the DB-API module. missing: why the database cannot answer any case, "" if it can.
    """

    def __init__(self, module: Any, arguments: Sequence[str]) -> None:
        self.module = module
        positional = [_value(text) for text in arguments if "=" not in text]
        named = {name: _value(text) for name, _, text in (one.partition("=") for one in arguments if "=" in one)}
        self.connection = module.connect(*positional, **named)
        self.numbers = count()
        self.at_once = ROWS_AT_ONCE
        self.missing = self._probed()

    def version(self) -> str:
        """Return the server's version in one line, or the module's version if the server does not report its own."""
        for statement in VERSIONS:
            try:
                rows = self._executed(statement)
            except self.module.Error:
                self._rolled_back()
                continue
            if rows and (told := " ".join(str(next(iter(rows[0].values()))).split())):
                return told
        return str(getattr(self.module, "__version__", "unknown"))

    def _probed(self) -> str:
        S = Stream([Event(ROW, {"x": 1}), Event(ROW, {"x": 2})], Schema({ROW: {"x": "int"}}))
        try:
            self.matches(parse(PROBE), S)
        except (self.module.Error, Unsupported) as error:
            self._rolled_back()
            first = str(error).strip().splitlines()
            return f"{self.module.__name__} has no MATCH_RECOGNIZE: {first[0] if first else type(error).__name__}"
        return ""

    def answer(self, q: MatchRecognize, S: Stream, options: Options) -> Sequence[Match]:
        """Return the matches of a clause. Raises Unsupported if the database does not have MATCH_RECOGNIZE at all."""
        if self.missing:
            raise Unsupported(self.missing)
        return self.matches(q, S)

    def matches(self, q: MatchRecognize, S: Stream) -> list[NumberedMatch]:
        """Return the matches of a clause over a stream, with their measures.

        Raises Unsupported, and the errors of the DB-API.
        """
        table = f"cerify_{next(self.numbers)}"
        try:
            self._executed(created(table, S))
            self._fill(table, list(sql.values(S)))
            return sql.matches(q, [self._executed(sql.select(table, one)) for one in sql.build_clauses(q, len(S))])
        except self.module.NotSupportedError as error:
            raise Unsupported(str(error)) from None
        except self.module.Error:
            self._rolled_back()  # otherwise some databases refuse further statements in this transaction
            raise
        finally:
            with suppress(self.module.Error):
                self._executed(f"DROP TABLE {table}")

    def _fill(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert the rows, many in a statement, or one by one if the database does not support such an INSERT."""
        start = 0
        while start < len(rows):
            try:
                self._executed(inserted(table, rows[start : start + self.at_once]))
            except self.module.Error:
                if self.at_once == 1 or len(rows) == 1:
                    raise
                self.at_once = 1
            else:
                start += self.at_once

    def _rolled_back(self) -> None:
        with suppress(self.module.Error, AttributeError):
            self.connection.rollback()

    def _executed(self, statement: str) -> list[sql.Row]:
        """Return the rows of a statement, each a mapping from lower-case column names; none if it is not a query."""
        with closing(self.connection.cursor()) as cursor:
            cursor.execute(statement)
            if cursor.description is None:
                return []
            names = [str(column[0]).lower() for column in cursor.description]
            return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]


def created(table: str, S: Stream) -> str:
    """Return the statement that creates the table for a stream; an additional column has the positions."""
    return f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in sql.columns(S).items())})"


def inserted(table: str, rows: Sequence[Sequence[Any]]) -> str:
    """Return the statement that inserts these rows into the table."""
    listed = (", ".join(map(sql.literal, row)) for row in rows)
    return f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in listed)}"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # Not JSON, so a plain text: a password then needs no quotes.
        return text


def _plain(value: Any) -> Any:
    """Convert a value of the DB-API to a value of cerify: a Decimal to a number."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def main(name: str, *arguments: str) -> None:
    """Serve the database of a DB-API module over the engine protocol. The arguments are those of the module's
    `connect`.

    Raises InputError if the module does not exist, or does not connect.
    """
    try:
        module = import_package(name)
    except ImportError as error:
        raise InputError(f"the DB-API module {name!r} cannot be imported: {error}") from None
    if not (hasattr(module, "connect") and hasattr(module, "Error")):
        raise InputError(f"{name!r} is not a DB-API module: it has no `connect`, or no `Error`")
    try:
        database = Database(module, arguments)
    # Drivers raise different errors for wrong arguments of `connect`.
    except (module.Error, TypeError, ValueError, OSError) as error:
        raise InputError(f"{name}.connect({', '.join(arguments)}) failed: {error}") from None
    serve(EngineInfo(name, database.version(), ["row-pattern"]), {"row-pattern": database.answer})


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except InputError as error:
        sys.exit(error.message)
