"""The adapter of any database with a module of Python's DB-API (PEP 249): `cerify conform --dbapi MODULE`.

A case is a table that is created and filled, and one or two SELECTs with the clause: MATCH_NUMBER and CLASSIFIER of all
rows show the matches, and the clause's own rows its measures. The arguments go to the module's `connect`, NAME=VALUE by
name, those that are JSON as their values.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from itertools import count
from typing import Any, TypeAlias

from cerify.commands.engine import serve
from cerify.languages.language import Options
from cerify.protocol import EngineInfo
from cerify.semantics import trees
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream, result_of
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import ROW, MatchRecognize, Measure
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.resolve import columns_of
from cerify.semantics.row_pattern.show import show, show_expression
from cerify.semantics.values import ValueType

TYPES: Mapping[ValueType, str] = {
    "int": "BIGINT",
    "float": "DOUBLE PRECISION",
    "string": "VARCHAR(200)",
    "bool": "BOOLEAN",
    "timestamp": "TIMESTAMP",
}
PLACE, NUMBER, LABEL = "cerify_place", "cerify_number", "cerify_label"
PROBE = "MATCH_RECOGNIZE (ORDER BY x ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS x > PREV(x))"

Row: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[Any, ...]


class Database:
    """A connection, on which cases are evaluated one after the other, each in a table of its own.

    module: that of the DB-API. missing: why it cannot answer anything, "" if it can.
    """

    def __init__(self, module: Any, arguments: Sequence[str]) -> None:
        self.module = module
        positional = [_value(text) for text in arguments if "=" not in text]
        named = {name: _value(text) for name, _, text in (one.partition("=") for one in arguments if "=" in one)}
        self.connection = module.connect(*positional, **named)
        self.numbers = count()
        self.missing = self._probed()

    def _probed(self) -> str:
        S = Stream([Event(ROW, {"x": 1}), Event(ROW, {"x": 2})], Schema({ROW: {"x": "int"}}))
        try:
            self.matches(parse(PROBE), S, Options())
        except (self.module.Error, Unsupported) as error:
            first = str(error).strip().splitlines()
            return f"{self.module.__name__} has no MATCH_RECOGNIZE: {first[0] if first else type(error).__name__}"
        return ""

    def answer(self, q: MatchRecognize, S: Stream, options: Options) -> list[Match]:
        """As matches. Raises Unsupported where the database has no such clause at all."""
        if self.missing:
            raise Unsupported(self.missing)
        return self.matches(q, S, options)

    def matches(self, q: MatchRecognize, S: Stream, options: Options) -> list[Match]:
        """The matches with their results. Raises Unsupported, and the errors of the DB-API."""
        table = f"cerify_{next(self.numbers)}"
        try:
            for statement in created(table, S):
                self._executed(statement)
            found = labelled(q, self._selected(table, showing_labels(q)))
            if q.measures:
                own = replace(q, measures=(*q.measures, Measure(rows.MatchNumber(), NUMBER)))
                found = with_results(q, found, self._selected(table, own))
            return sorted(found.values())
        except self.module.NotSupportedError as error:
            raise Unsupported(str(error)) from None
        finally:
            with suppress(self.module.Error):
                self._executed(f"DROP TABLE {table}")

    def _selected(self, table: str, q: MatchRecognize) -> list[Row]:
        return self._executed(f"SELECT * FROM {table} {show(q)}")

    def _executed(self, statement: str) -> list[Row]:
        """The rows of a statement by the names of their columns in lower case; none if it is no query."""
        with closing(self.connection.cursor()) as cursor:
            cursor.execute(statement)
            if cursor.description is None:
                return []
            names = [str(column[0]).lower() for column in cursor.description]
            return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]


def created(table: str, S: Stream) -> Iterator[str]:
    """The statements that make the table of a stream, with the positions in a column of its own."""
    schema = S.schema or Schema.of(S)
    names = columns_of(S)
    kinds = [TYPES[schema.attributes[name]] if name in schema.attributes else TYPES["string"] for name in names]
    columns = [f"{PLACE} BIGINT", *(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))]
    yield f"CREATE TABLE {table} ({', '.join(columns)})"
    for place, event in enumerate(S):
        row = {**event.attributes, "type": event.type}
        yield f"INSERT INTO {table} VALUES ({', '.join([str(place), *(_literal(row.get(name)) for name in names)])})"


def showing_labels(q: MatchRecognize) -> MatchRecognize:
    """The clause with all rows of each match, also those that it leaves out, and their labels."""

    def included(p: Any) -> Any:
        below = [included(one) for one in trees.children(p)]
        return below[0] if isinstance(p, rows.Exclusion) else trees.rebuilt(p, below) if below else p

    measures = (Measure(rows.MatchNumber(), NUMBER), Measure(rows.Classifier(), LABEL))
    return replace(q, pattern=included(q.pattern), rows="all", measures=measures)


def labelled(q: MatchRecognize, found: Sequence[Row]) -> dict[Key, NumberedMatch]:
    """The matches by partition and number, of the rows that show their labels."""
    grouped: dict[Key, list[Row]] = {}
    for row in found:
        grouped.setdefault(_key(q, row), []).append(row)
    answer = {}
    for key, group in grouped.items():
        events = tuple(row[PLACE] for row in group if row[LABEL] is not None)
        bound: dict[str, list[int]] = {}
        for row in group:
            if row[LABEL] is not None:
                bound.setdefault(row[LABEL], []).append(row[PLACE])
        bindings = tuple((A, tuple(sorted(bound[A]))) for A in sorted(bound))
        answer[key] = NumberedMatch(group[-1][PLACE], events, bindings, match_number=int(group[0][NUMBER]))
    return answer


def with_results(q: MatchRecognize, found: dict[Key, NumberedMatch], shown: Sequence[Row]) -> dict[Key, NumberedMatch]:
    """The matches with the measures as their results, of the rows that the clause itself shows.

    Raises Unsupported where a row belongs to no match.
    """
    names = [one.name for one in q.measures]
    values: dict[Key, dict[str, list[Any]]] = {key: {name: [] for name in names} for key in found}
    for row in shown:
        if row[NUMBER] is None:  # a row without a match
            continue
        if _key(q, row) not in values:
            raise Unsupported(f"a row of match {row[NUMBER]} is shown, which is no match when all rows are")
        for name in names:
            values[_key(q, row)][name].append(row[name.lower()])
    one = q.rows == "one"
    return {
        key: replace(match, result=result_of({n: v[0] if one and v else v for n, v in values[key].items()}))
        for key, match in found.items()
    }


def _key(q: MatchRecognize, row: Row) -> Key:
    return (*(row[one.name.lower()] for one in q.partition), row[NUMBER])


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain(value: Any) -> Any:
    """A value of the DB-API as one of ours."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return value


def _literal(value: Any) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}'"
    return show_expression(rows.Constant(value))


def main(name: str, *arguments: str) -> None:
    """Serve the database behind a DB-API module over the protocol. Raises InputError if there is no such module."""
    try:
        module = import_module(name)
    except ImportError as error:
        raise InputError(f"no module {name!r} of the DB-API: {error}") from None
    database = Database(module, arguments)
    version = str(getattr(module, "__version__", getattr(module, "sqlite_version", "unknown")))
    serve(EngineInfo(name, version, ["row-pattern"]), {"row-pattern": database.answer})


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except InputError as error:
        sys.exit(error.message)
