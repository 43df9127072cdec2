"""SELECT statements around MATCH_RECOGNIZE over a stream, in a dialect: the clause, then what stands around it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from cerify.api import match
from cerify.languages.language import OutputTable
from cerify.semantics.errors import IllFormed, errors_in
from cerify.semantics.events import Events
from cerify.semantics.row_pattern.dialects import (
    SqlDialect,
    dialect_named,
    meant_reading,
    require_in_dialect,
    with_meant_nulls,
)
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import STANDARD, RowReading
from cerify.semantics.row_pattern.statement import Statement, is_statement, parse_statement
from cerify.semantics.row_pattern.statement_rows import select_rows
from cerify.semantics.row_pattern.syntax import MatchRecognize


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

    def selected(self, made: OutputTable, reading: RowReading) -> OutputTable:
        """Return the rows of the statement, given the output table of its clause. Raises IllFormed."""
        if self.statement is None:
            return made
        with errors_in(self.text):
            if len(set(made.columns)) < len(made.columns):
                raise IllFormed("two columns of the clause's output have one name; give a measure another one")
            columns, rows = select_rows(self.statement, made.columns, made.rows, self.dialect, reading)
            return OutputTable(columns, tuple(rows))


def read_pasted(text: str, dialect: str = "standard") -> Pasted:
    """Return what a text means in a dialect: a clause, or a SELECT around one.

    Raises ParseError, Unsupported for what the dialect refuses, IllFormed.
    """
    known = dialect_named(dialect)
    with errors_in(text):
        statement = parse_statement(text, known) if is_statement(text) else None
        clause = parse(text, known) if statement is None else statement.clause
        require_in_dialect(clause, known)
        reading = meant_reading([*clause.expressions, *(() if statement is None else statement.expressions)], known)
        return Pasted(text, known, statement, with_meant_nulls(clause, known), reading)


def reading_texts(reading: RowReading) -> tuple[str, ...]:
    """Return the answers of a reading that are not the decided ones, as --reading takes them."""
    pairs = ((one.name, getattr(reading, one.name), getattr(STANDARD, one.name)) for one in fields(reading))
    return tuple(f"{name}={answer}" for name, answer, decided in pairs if answer != decided)


def select(text: str, events: Events | str | Path, *, dialect: str = "standard") -> OutputTable:
    """Return the rows of a SELECT over one MATCH_RECOGNIZE, or the output table of a clause alone.

    events are what `cerify.match` takes: they are the table in FROM, whatever its name. Raises what `match` raises.

    >>> clause = "MATCH_RECOGNIZE (MEASURES A.x AS b PATTERN (A))"
    >>> select(f"SELECT m.b + 1 AS c FROM t {clause} AS m WHERE b > 1;", [{"x": 2}])
    OutputTable(columns=('c',), rows=((3,),))
    """
    pasted = read_pasted(text, dialect)
    made = match(pasted.clause, events, output="rows", row_reading=pasted.reading)
    return pasted.selected(made, pasted.reading)
