"""SELECT statements around MATCH_RECOGNIZE over a stream, in a dialect: the clause, then what stands around it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, cast, get_args

from cerify.api import match
from cerify.languages.language import OutputTable
from cerify.semantics import trees
from cerify.semantics.errors import IllFormed, MissingPackage, QueryWarning, Unsupported, errors_in
from cerify.semantics.events import TYPE, Event, Events, Stream
from cerify.semantics.files import as_stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.dialects import (
    STANDARD_SQL,
    DialectName,
    SqlDialect,
    dialect_named,
    meant_reading,
    require_in_dialect,
    with_meant_nulls,
)
from cerify.semantics.row_pattern.interpreter import table_of
from cerify.semantics.row_pattern.parse import Duration, parse
from cerify.semantics.row_pattern.scalars import STANDARD, RowReading, columns_of, resolve_column
from cerify.semantics.row_pattern.show_dialects import show_in_dialect
from cerify.semantics.row_pattern.statement import PlainSelect, Statement, is_statement, parse_statement
from cerify.semantics.row_pattern.statement_rows import select_rows
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize


class SqlTree(Protocol):
    """A tree of sqlglot, as far as it is needed: what writes itself in a dialect."""

    def sql(self, dialect: Any = ...) -> str:
        """Return the text in a dialect."""


@dataclass(frozen=True)
class Pasted:
    """A text as it was pasted: its statement, None for a clause alone, its clause, and what this means.

    In the clause an order that leaves the place of NULL open says where the dialect has it.
    """

    text: str
    dialect: SqlDialect
    statement: Statement | None
    clause: MatchRecognize
    reading: RowReading

    @property
    def below(self) -> PlainSelect | None:
        """The selection in FROM or WITH that the clause reads in place of the table."""
        return None if self.statement is None else self.statement.below

    def table(self, S: Stream, reading: RowReading) -> Stream:
        """Return the rows that the clause reads, given the file or frame. Raises IllFormed.

        Warns of NULL where the dialect passes over it and the standard does not.
        """
        if self.below is not None:
            with errors_in(self.text):
                S = _selected_stream(self.below, S, self.dialect, reading)
        if self.dialect.passes_null and (column := _navigated_null(self.clause, S)) is not None:
            message = (
                f"{column.name} is NULL in some rows; FIRST and LAST pass over it in {self.dialect.title}, and here "
                "they give it, as in the standard"
            )
            warnings.warn(QueryWarning(message, column.span), stacklevel=3)
        return S

    def selected(self, made: OutputTable, reading: RowReading) -> OutputTable:
        """Return the rows of the statement, given the output table of its clause. Raises IllFormed."""
        if self.statement is None:
            return made
        with errors_in(self.text):
            if len(set(made.columns)) < len(made.columns):
                raise IllFormed("two columns of the clause's output have one name; give a measure another one")
            columns, found = select_rows(self.statement, made.columns, made.rows, self.dialect, reading)
            return OutputTable(columns, tuple(found))


def _navigated_null(q: MatchRecognize, S: Stream) -> rows.RowColumn | None:
    """Return a column in FIRST or LAST of a measure that is NULL in some row; None if there is none."""
    names = columns_of(S)
    for e in (node for one in q.measures for node in trees.subtrees(one.expression)):
        for column in trees.subtrees(e) if isinstance(e, rows.Logical) else ():
            if isinstance(column, rows.RowColumn):
                name = resolve_column(column, names)
                if any(name not in row for row in table_of(S)):
                    return column
    return None


def _selected_stream(chosen: PlainSelect, S: Stream, dialect: SqlDialect, reading: RowReading) -> Stream:
    """Return the rows of a selection over a stream, as a stream."""
    S = S if chosen.below is None else _selected_stream(chosen.below, S, dialect, reading)
    names = columns_of(S)
    table = [[row.get(name) for name in names] for row in table_of(S)]
    columns, found = select_rows(chosen, names, table, dialect, reading)
    events = []
    for row in found:
        there = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        if any(isinstance(value, timedelta) for value in there.values()):
            raise IllFormed("a table holds no intervals: select the two times, and subtract them in the clause")
        events.append(Event(str(there.pop(TYPE, ROW)), there))  # type: ignore[arg-type]
    return Stream(events)


def read_pasted(text: str, dialect: str = "standard", duration: Duration = "open") -> Pasted:
    """Return what a text means in a dialect: a clause, or a SELECT around one.

    duration: whether matches of WITHIN and LIMIT DURATION may take as long as they say (closed). Raises ParseError,
    Unsupported for what the dialect refuses, IllFormed.
    """
    known = dialect_named(dialect)
    with errors_in(text):
        statement = parse_statement(text, known, duration) if is_statement(text) else None
        clause = parse(text, known, duration=duration) if statement is None else statement.clause
        require_in_dialect(clause, known)
        reading = meant_reading(
            [*clause.keys, *clause.expressions, *(() if statement is None else statement.expressions)], known
        )
        return Pasted(text, known, statement, with_meant_nulls(clause, known), reading)


def reading_texts(reading: RowReading) -> tuple[str, ...]:
    """Return the answers of a reading that are not the decided ones, as --reading takes them."""
    pairs = ((one.name, getattr(reading, one.name), getattr(STANDARD, one.name)) for one in fields(reading))
    return tuple(f"{name}={answer}" for name, answer, decided in pairs if answer != decided)


def split_duration(readings: Iterable[str]) -> tuple[Duration, tuple[str, ...]]:
    """Return the answer to `duration` among readings as --reading takes them, and the others. Raises IllFormed."""
    duration: Duration = "open"
    others = []
    for text in readings:
        name, _, answer = text.partition("=")
        if name.strip() != "duration":
            others.append(text)
        elif answer.strip() in get_args(Duration):
            duration = cast("Duration", answer.strip())
        else:
            raise IllFormed(f"duration is {' or '.join(get_args(Duration))}, not {answer.strip() or 'nothing'}")
    return duration, tuple(others)


def written_out(q: MatchRecognize, reading: RowReading) -> MatchRecognize:
    """Return the clause that means under the decided reading what this one means under another.

    Raises Unsupported for a reading that the text of a clause cannot say.
    """
    others = replace(reading, nulls=STANDARD.nulls, integer_division=STANDARD.integer_division)
    if others != STANDARD:
        named = ", ".join(reading_texts(others))
        raise Unsupported(f"the reading {named} is followed with cerify match alone")

    def exact(e: rows.Expression) -> rows.Expression:
        changed: rows.Expression = trees.rebuilt(e, [exact(operand) for operand in rows.below(e)]) if e.operands else e
        if isinstance(changed, rows.Product) and changed.operator == "/" and not _has_fraction(changed):
            changed = replace(changed, left=rows.Product(changed.left, "*", rows.RowConstant(1.0), span=e.span))
        return replace(changed, span=e.span)

    if reading.integer_division == "exact":
        q = replace(
            q,
            define=tuple(replace(one, condition=exact(one.condition)) for one in q.define),
            measures=tuple(replace(one, expression=exact(one.expression)) for one in q.measures),
            partition=tuple(map(exact, q.partition)),
            order=tuple(replace(one, column=exact(one.column)) for one in q.order),
        )
    return with_meant_nulls(q, replace(STANDARD_SQL, nulls=reading.nulls))


def _has_fraction(e: rows.Expression) -> bool:
    """Whether an expression is a float if it is a number, by a constant in it."""
    if isinstance(e, rows.RowConstant):
        return isinstance(e.value, float)
    return isinstance(e, rows.Product | rows.Sum | rows.Negative) and any(map(_has_fraction, rows.below(e)))


SQLGLOT: tuple[DialectName, ...] = ("trino", "oracle", "snowflake")
"""The dialects whose MATCH_RECOGNIZE sqlglot keeps as it is. In that of Databricks FIRST and LAST lose their offset."""


def read_sqlglot(tree: SqlTree, dialect: DialectName = "trino") -> Pasted:
    """Return what a tree of sqlglot means, of a SELECT or of its MATCH_RECOGNIZE alone, as `read_pasted` does.

    dialect: in which sqlglot writes the tree, by its own method; no package is needed here. Raises Unsupported for one
    that sqlglot does not have, and what `read_pasted` raises.
    """
    _require_in_sqlglot(dialect)
    return read_pasted(tree.sql(dialect=dialect).strip(), dialect)


def write_sqlglot(q: MatchRecognize, dialect: DialectName = "trino", table: str = "t") -> Any:
    """Return the tree of sqlglot of a SELECT with a clause of the standard over a table, as a dialect has it.

    Raises Unsupported for what the dialect or sqlglot does not have, MissingPackage where sqlglot is not installed.
    """
    _require_in_sqlglot(dialect)
    try:
        import sqlglot  # type: ignore[import-not-found]
    except ImportError:
        raise MissingPackage("trees of sqlglot need the package sqlglot: pip install sqlglot") from None
    text, _ = show_in_dialect(q, STANDARD_SQL, dialect_named(dialect))
    try:
        tree = sqlglot.parse_one(f"SELECT * FROM {table} {text}", read=dialect)
    except (sqlglot.errors.ParseError, TypeError) as error:
        raise Unsupported(f"sqlglot does not read the clause: {str(error).splitlines()[0]}", q.span) from None
    again = replace(read_sqlglot(tree, dialect).clause, span=None)
    if again != replace(read_pasted(text, dialect).clause, span=None):
        raise Unsupported("sqlglot reads the clause as another one", q.span)
    return tree


def _require_in_sqlglot(dialect: str) -> None:
    if dialect not in SQLGLOT:
        raise Unsupported(f"sqlglot does not keep MATCH_RECOGNIZE in {dialect}; it does in {', '.join(SQLGLOT)}")


def select(text: str, events: Events | str | Path, *, dialect: str = "standard") -> OutputTable:
    """Return the rows of a SELECT over one MATCH_RECOGNIZE, or the output table of a clause alone.

    events are what `cerify.match` takes: they are the table in FROM, whatever its name. Raises what `match` raises.

    >>> clause = "MATCH_RECOGNIZE (MEASURES A.x AS b PATTERN (A))"
    >>> select(f"SELECT m.b + 1 AS c FROM t {clause} AS m WHERE b > 1;", [{"x": 2}])
    OutputTable(columns=('c',), rows=((3,),))
    """
    pasted = read_pasted(text, dialect)
    S = pasted.table(as_stream(events, default_type=ROW), pasted.reading)
    made = match(pasted.clause, S, output="rows", row_reading=pasted.reading)
    return pasted.selected(made, pasted.reading)
