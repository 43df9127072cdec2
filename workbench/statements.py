"""Evaluate SELECT statements with a MATCH_RECOGNIZE clause over a stream, in a dialect of SQL.

Evaluators know only the standard's meaning, with its open questions. What a dialect means differently is written out
in the clause before: numbers that are days, texts that are times, the place of NULL in an order. What depends on the
rows, such as the types of columns, is written out when the table is there (`Pasted.over`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, cast, get_args

from cerify.api import match
from cerify.languages.language import OutputTable
from cerify.semantics import trees
from cerify.semantics.arguments import depth_limited, timed_items
from cerify.semantics.errors import IllFormed, MissingPackage, QueryWarning, Unsupported, errors_in
from cerify.semantics.events import TYPE, Event, Events, Stream
from cerify.semantics.files import as_stream
from cerify.semantics.readings import STANDARD, DialectName, RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import Types, may_be_empty, types_of, whole_divisions, with_days
from cerify.semantics.row_pattern.dialects import (
    STANDARD_SQL,
    SqlDialect,
    dialect_named,
    meant_reading,
    plain_texts,
    require_in_dialect,
    with_meant_nulls,
)
from cerify.semantics.row_pattern.interpreter import partitions, table_of
from cerify.semantics.row_pattern.parse import Duration, ListedMeasure, parse
from cerify.semantics.row_pattern.scalars import (
    Nullable,
    aggregated,
    column_values,
    columns_in,
    columns_of,
    key_value,
    resolve_column,
    resolved,
    with_column_names,
    with_expressions,
)
from cerify.semantics.row_pattern.show_dialects import show_in_dialect
from cerify.semantics.row_pattern.statement import (
    SelectItem,
    Statement,
    TableSource,
    WindowColumn,
    cut_windows,
    is_statement,
    parse_statement,
    reads_file,
    select_rows,
    source_rows,
)
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize
from cerify.semantics.values import ValueType, value_type_of


class SqlTree(Protocol):
    """The interface of sqlglot's trees that this module uses: the text of a tree as SQL in a dialect."""

    def sql(self, dialect: Any = ...) -> str:
        """Return the text in a dialect."""


@dataclass(frozen=True)
class Pasted:
    """A text that a user pasted, parsed: its MATCH_RECOGNIZE clause, and the SELECT around it.

    statement: the SELECT; None if the text is a clause alone. clause: the clause, with an explicit place of NULL in its
    order, by default the place in the dialect. reading: the reading that the dialect implies. windows: the columns that
    are aggregates with OVER. lists: the lists or structures that the text builds from measures.
    """

    text: str
    dialect: SqlDialect
    statement: Statement | None
    clause: MatchRecognize
    reading: RowReading
    windows: tuple[WindowColumn, ...] = ()
    lists: tuple[ListedMeasure, ...] = ()

    @property
    def below(self) -> TableSource | None:
        """Return the subquery or table in the text that the clause reads; None if the clause reads the file or data
        frame.
        """
        return None if self.statement is None else self.statement.below

    @property
    def reads_file(self) -> bool:
        """Return whether the text reads a file or data frame; False if it has a table of its own, as VALUES."""
        return reads_file(self.below)

    def over(self, S: Stream, reading: RowReading) -> PastedTable:
        """Apply the text to the rows of a file or data frame: return its clause with the rows that the clause reads.

        Warn if a column of FIRST or LAST is NULL in a row, and the dialect skips such rows, unlike the standard. Raises
        IllFormed, BudgetExceeded.
        """
        clause, columns = self.clause, columns_of(S)
        with errors_in(self.text), depth_limited(None):
            if self.below is not None:
                names, found = source_rows(
                    self.below,
                    columns,
                    [[row.get(name) for name in columns] for row in table_of(S)],
                    self.dialect,
                    reading,
                )
                S, columns = _stream_of(names, found), names
            if self.dialect.empty_is_null:
                S = _without_empty_texts(S)
            if self.windows:
                S = _with_windows(self.windows, clause, S, reading)
            if self.dialect.days:
                clause = with_days(clause, types_in(clause, S), *self.dialect.operands)
        if self.dialect.passes_null and (column := _navigated_null(clause, S)) is not None:
            message = (
                f"{column.name} is NULL in some rows: in {self.dialect.title}, FIRST and LAST skip these rows, but "
                "here they do not, as in standard SQL"
            )
            warnings.warn(QueryWarning(message, column.span), stacklevel=3)
        return PastedTable(self, clause, S, columns)


@dataclass(frozen=True)
class PastedTable:
    """A pasted text applied to a table: its clause, the rows that the clause reads, and the columns of these rows."""

    pasted: Pasted
    clause: MatchRecognize
    S: Stream
    columns: tuple[str, ...]

    def output(self, made: OutputTable, reading: RowReading) -> OutputTable:
        """Return the rows of the SELECT, given the output table of its clause (`made`).

        Names of columns are in upper or lower case as in the dialect. Raises IllFormed.
        """
        pasted, statement = self.pasted, self.pasted.statement
        made = _with_lists(_without(made, {one.name for one in pasted.windows}), pasted.lists)
        if pasted.dialect.table_first and self.clause.all_columns:
            first = [name for name in self.columns if name in made.columns]
            made = _select_columns(made, [*first, *(name for name in made.columns if name not in first)])
        quoted = {one.name for one in self.clause.measures if one.quoted} | {one.name for one in pasted.lists}
        if statement is not None:
            with errors_in(pasted.text):
                if len(set(made.columns)) < len(made.columns):
                    raise IllFormed("two columns of the clause's output have the same name; rename a measure")
                columns, found = select_rows(statement, made.columns, made.rows, pasted.dialect, reading)
                made = OutputTable(columns, tuple(found))
            listed = [item for item in statement.items if item.expression is not None]
            quoted |= {item.name or str(getattr(item.expression, "name", "")) for item in listed if _is_quoted(item)}
        return OutputTable(
            tuple(one if one in quoted else _in_case(one, pasted.dialect) for one in made.columns), made.rows
        )


def _in_case(name: str, dialect: SqlDialect) -> str:
    """Return an unquoted name in the case that the dialect gives it: upper, lower, or unchanged."""
    return name.upper() if dialect.names == "upper" else name.lower() if dialect.names == "lower" else name


def _is_quoted(item: SelectItem) -> bool:
    """Return whether the name of an item of SELECT is in quotation marks: its alias, or else its column."""
    return item.quoted if item.name else isinstance(item.expression, rows.RowColumn) and item.expression.quoted


def _select_columns(made: OutputTable, names: Sequence[str]) -> OutputTable:
    """Return the columns of these names, in this order."""
    places = [made.columns.index(name) for name in names]
    return OutputTable(tuple(names), tuple(tuple(row[i] for i in places) for row in made.rows))


def _without(made: OutputTable, names: Collection[str]) -> OutputTable:
    return _select_columns(made, [name for name in made.columns if name not in names]) if names else made


def _with_lists(made: OutputTable, lists: Sequence[ListedMeasure]) -> OutputTable:
    """Return the table with a list in place of the measures from which the list is built; an empty list is NULL."""
    for one in lists:
        sources = [made.columns.index(source) for _, source, _ in one.fields]

        def list_of(row: Sequence[Any], one: ListedMeasure = one, sources: Sequence[int] = sources) -> Any:
            if one.place is not None:
                return _structure(one, [row[i] for i in sources])
            values = [
                range(1, row[i] + 1) if counts else row[i] or ()
                for i, (_, _, counts) in zip(sources, one.fields, strict=True)
            ]
            if not one.fields[0][0]:
                return tuple(values[0]) or None
            names = [name for name, _, _ in one.fields]
            return tuple(dict(zip(names, each, strict=True)) for each in zip(*values, strict=True)) or None

        columns = tuple(one.name if i == sources[0] else name for i, name in enumerate(made.columns))
        changed = tuple(
            tuple(list_of(row) if i == sources[0] else value for i, value in enumerate(row)) for row in made.rows
        )
        made = _without(OutputTable(columns, changed), {made.columns[i] for i in sources[1:]})
    return made


def _structure(one: ListedMeasure, values: Sequence[Any]) -> Any:
    """Return a structure with the values of the first or the last row of a variable; NULL if there is no such row."""
    labels, *found = values
    places = [
        n for n, A in enumerate(labels or (), 1) if one.variable is None or A.casefold() == one.variable.casefold()
    ]
    if not places:
        return None
    pairs = zip(one.fields[1:], found, strict=True)
    return {name: places[one.place or 0] if counts else value for (name, _, counts), value in pairs}


def _with_windows(windows: Sequence[WindowColumn], q: MatchRecognize, S: Stream, reading: RowReading) -> Stream:
    """Return the rows with a column for each aggregate with OVER.

    The aggregate of a row is over rows of its partition, in the order of the clause.
    """
    names = columns_of(S)
    q = resolved(q, (*names, *(one.name for one in windows)))
    table: list[dict[str, Any]] = [dict(row) for row in table_of(S)]
    arguments = [None if one.argument is None else with_column_names(one.argument, names) for one in windows]
    for places in partitions(q, [*table], reading):
        for one, argument in zip(windows, arguments, strict=True):
            values = [True if argument is None else key_value(argument, table[place], reading) for place in places]
            # Without bounds all rows have the same frame: one value instead of a number of steps quadratic in the rows.
            whole = aggregated(one.function, values) if one.start is None and one.end is None else None
            for k, place in enumerate(timed_items(places)):
                start = 0 if one.start is None else max(k + one.start, 0)
                end = len(values) if one.end is None else max(k + one.end + 1, 0)
                found = whole if one.start is None and one.end is None else aggregated(one.function, values[start:end])
                if found is not None:
                    table[place][one.name] = found
    events = []
    for row in table:
        events.append(Event(str(row.pop(TYPE, ROW)), row))
    return Stream(events)


def _without_empty_texts(S: Stream) -> Stream:
    """Return the rows, with NULL in place of each empty text."""
    if not any("" in values for values in column_values(S).values()):
        return S
    return Stream(
        [
            Event(event.type, {name: value for name, value in event.attributes.items() if value != ""})
            for event in S.events
        ]
    )


def truncated_divisions(q: MatchRecognize, S: Stream) -> Iterator[rows.Product]:
    """Yield the divisions of a clause that drop a fraction, because the operands are integers in all these rows."""
    yield from _whole_divisions(q.expressions, lambda: types_in(q, S))


def truncated_around(statement: Statement, made: OutputTable) -> Iterator[rows.Product]:
    """Yield the divisions in a SELECT list, WHERE and ORDER BY that drop a fraction, given the clause's output."""
    columns = {name: [row[i] for row in made.rows] for i, name in enumerate(made.columns)}
    listed = (
        *(item.expression for item in statement.items),
        statement.where,
        *(one.expression for one in statement.order),
    )
    yield from _whole_divisions([e for e in listed if e is not None], lambda: _types_of_values(columns))


def _whole_divisions(expressions: Sequence[rows.Expression], types: Callable[[], Types]) -> Iterator[rows.Product]:
    nodes = (e for root in expressions for e in trees.subtrees(root))
    if any(isinstance(e, rows.Product) and e.operator == "/" for e in nodes):
        known = types()
        for root in expressions:
            yield from whole_divisions(root, known)


def types_in(q: MatchRecognize, S: Stream) -> Types:
    """Return the types of the columns that a clause mentions, inferred from their values.

    The type of a column with values of several types is None.
    """
    names = columns_of(S)
    mentioned = {resolve_column(one, names) for one in columns_in(q)}
    values = column_values(S)
    return _types_of_values({name: values[name] for name in mentioned & values.keys()})


def _types_of_values(columns: Mapping[str, Iterable[Any]]) -> Types:
    known: dict[str, ValueType | None] = {}
    for name, values in columns.items():
        there = [value for value in values if value is not None]
        types = {None if isinstance(value, timedelta | tuple) else value_type_of(value) for value in there}
        types = {"float"} if types == {"int", "float"} else types
        known[name] = types.pop() if len(types) == 1 else None
    return types_of(known)


def _navigated_null(q: MatchRecognize, S: Stream) -> rows.RowColumn | None:
    """Return a column in FIRST or LAST of a measure that is NULL in some row; None if there is no such column."""
    names = columns_of(S)
    for e in (node for one in q.measures for node in trees.subtrees(one.expression)):
        for column in trees.subtrees(e) if isinstance(e, rows.Logical) else ():
            if isinstance(column, rows.RowColumn):
                name = resolve_column(column, names)
                if any(name not in row for row in table_of(S)):
                    return column
    return None


def _stream_of(names: Sequence[str], found: Iterable[Sequence[Nullable]]) -> Stream:
    """Return rows as a stream. Raises IllFormed for intervals and lists, which a table cannot hold."""
    events = []
    for row in found:
        there: dict[str, Any] = {name: value for name, value in zip(names, row, strict=True) if value is not None}
        if any(isinstance(value, timedelta) for value in there.values()):
            raise IllFormed("a table cannot hold intervals: select the two times, and subtract them in the clause")
        events.append(Event(str(there.pop(TYPE, ROW)), there))
    return Stream(events)


def read_pasted(text: str, dialect: str = "standard", duration: Duration = "open") -> Pasted:
    """Parse a clause of MATCH_RECOGNIZE, or a SELECT with one, in a dialect.

    duration: "closed" if a match may take exactly as long as WITHIN or LIMIT DURATION says, "open" if it must be
    shorter. Raises ParseError, IllFormed, and Unsupported for a part that the dialect does not have.
    """
    known = dialect_named(dialect)
    with errors_in(text), depth_limited(None):
        spoken = replace(known, texts=frozenset())
        plain, windows = cut_windows(plain_texts(text, known), spoken)
        statement = parse_statement(plain, spoken, duration) if is_statement(plain) else None
        lists: list[ListedMeasure] = [] if statement is None else [*statement.lists]
        clause = parse(plain, spoken, duration=duration, lists=lists) if statement is None else statement.clause
        require_in_dialect(clause, known)
        if known.name == "databricks" and may_be_empty(clause.pattern):
            says = f"{known.title} does not report empty matches; here they are reported, and this pattern has some"
            warnings.warn(QueryWarning(says, clause.pattern.span), stacklevel=2)
        reading = meant_reading(
            [*clause.keys, *clause.expressions, *(() if statement is None else statement.expressions)], known
        )
        return Pasted(text, known, statement, with_meant_nulls(clause, known), reading, windows, tuple(lists))


def reading_texts(reading: RowReading) -> tuple[str, ...]:
    """Return the answers in which a reading differs from the standard one, in the form of the option --reading."""
    pairs = ((one.name, getattr(reading, one.name), getattr(STANDARD, one.name)) for one in fields(reading))
    return tuple(f"{name}={answer}" for name, answer, decided in pairs if answer != decided)


def split_duration(readings: Iterable[str]) -> tuple[Duration, tuple[str, ...]]:
    """Split the values of the option --reading: return the value of `duration`, and the others.

    Raises IllFormed for a value that `duration` cannot have.
    """
    duration: Duration = "open"
    others = []
    for text in readings:
        name, _, answer = text.partition("=")
        if name.strip() != "duration":
            others.append(text)
        elif answer.strip() in get_args(Duration):
            duration = cast("Duration", answer.strip())
        else:
            raise IllFormed(f"duration must be {' or '.join(get_args(Duration))}, not {answer.strip() or 'nothing'}")
    return duration, tuple(others)


def written_out(q: MatchRecognize, reading: RowReading) -> MatchRecognize:
    """Return a clause whose meaning under the standard reading is the meaning of `q` under `reading`.

    Raises Unsupported for a reading that the text of a clause cannot express.
    """
    others = replace(reading, nulls=STANDARD.nulls, integer_division=STANDARD.integer_division)
    if others != STANDARD:
        named = ", ".join(reading_texts(others))
        raise Unsupported(f"only cerify match supports the reading {named}")

    def exact(e: rows.Expression) -> rows.Expression:
        changed: rows.Expression = trees.rebuilt(e, [exact(operand) for operand in rows.below(e)]) if e.operands else e
        if isinstance(changed, rows.Product) and changed.operator == "/" and not _has_fraction(changed):
            changed = replace(changed, left=rows.Product(changed.left, "*", rows.RowConstant(1.0), span=e.span))
        return replace(changed, span=e.span)

    if reading.integer_division == "exact":
        q = with_expressions(q, exact)
    return with_meant_nulls(q, replace(STANDARD_SQL, nulls=reading.nulls))


def _has_fraction(e: rows.Expression) -> bool:
    """Return whether a constant makes the expression a float."""
    if isinstance(e, rows.RowConstant):
        return isinstance(e.value, float)
    return isinstance(e, rows.Product | rows.Sum | rows.Negative) and any(map(_has_fraction, rows.below(e)))


SQLGLOT: tuple[DialectName, ...] = ("trino", "oracle", "snowflake")
"""The dialects whose MATCH_RECOGNIZE sqlglot keeps unchanged. For Databricks it drops the offsets of FIRST and LAST."""


def read_sqlglot(tree: SqlTree, dialect: DialectName = "trino") -> Pasted:
    """Parse sqlglot's tree of a SELECT with MATCH_RECOGNIZE, or of only the clause. See `read_pasted`.

    dialect: the dialect in which `tree.sql` writes the text that is parsed; sqlglot itself need not be installed.
    Raises Unsupported if sqlglot does not support MATCH_RECOGNIZE in this dialect, and the errors of `read_pasted`.
    """
    _require_in_sqlglot(dialect)
    return read_pasted(tree.sql(dialect=dialect).strip(), dialect)


def write_sqlglot(q: MatchRecognize, dialect: DialectName = "trino", table: str = "t") -> Any:
    """Return a SELECT with a clause of MATCH_RECOGNIZE as a tree of sqlglot, in a dialect.

    q: a clause of the standard. table: the name of the table in FROM. Raises Unsupported for a clause that the dialect
    or sqlglot does not support, and MissingPackage if sqlglot is not installed.
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
        raise Unsupported("sqlglot reads this clause as a different one: its tree has another meaning", q.span)
    return tree


def _require_in_sqlglot(dialect: str) -> None:
    if dialect not in SQLGLOT:
        raise Unsupported(f"sqlglot does not keep MATCH_RECOGNIZE in {dialect}; it does in {', '.join(SQLGLOT)}")


def select(text: str, events: Events | str | Path = (), *, dialect: str = "standard") -> OutputTable:
    """Return the rows of a SELECT over one MATCH_RECOGNIZE, or the output table of a clause alone.

    events: the table in FROM, whatever its name; see `cerify.match`. Raises the errors of `match`.

    >>> clause = "MATCH_RECOGNIZE (MEASURES A.x AS b PATTERN (A))"
    >>> select(f"SELECT m.b + 1 AS c FROM t {clause} AS m WHERE b > 1;", [{"x": 2}])
    OutputTable(columns=('c',), rows=((3,),))
    >>> select(f"SELECT * FROM (VALUES (7)) AS t (x) {clause}").rows
    ((7,),)
    """
    pasted = read_pasted(text, dialect)
    table = pasted.over(as_stream(events, default_type=ROW), pasted.reading)
    made = match(table.clause, table.S, output="rows", row_reading=pasted.reading)
    return table.output(made, pasted.reading)
