"""Compute the rows of a SELECT around one MATCH_RECOGNIZE from the output table of its clause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from cerify.semantics import trees
from cerify.semantics.arguments import timed_items
from cerify.semantics.errors import IllFormed
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import RowType, with_meant_operands
from cerify.semantics.row_pattern.dialects import STANDARD_SQL, SqlDialect
from cerify.semantics.row_pattern.reading import STANDARD, RowReading
from cerify.semantics.row_pattern.scalars import Nullable, aggregated, collected, combined, resolve_column
from cerify.semantics.row_pattern.statement import LiteralTable, PlainSelect, SelectItem, SortItem, TableSource
from cerify.semantics.values import kind, value_type_of

_KINDS = ("bool", "number", "string", "timestamp", "interval")


def select_rows(
    statement: PlainSelect,
    columns: Sequence[str],
    table: Sequence[Sequence[Nullable]],
    dialect: SqlDialect = STANDARD_SQL,
    reading: RowReading = STANDARD,
) -> tuple[tuple[str, ...], list[tuple[Nullable, ...]]]:
    """Return the columns and the rows of a selection from a table. For a statement, the table is its clause's output.

    Raises IllFormed for a name that the table does not have, and BudgetExceeded at the time-out.
    """

    @cache
    def type_at(place: int) -> RowType | None:
        there: list[Any] = [row[place] for row in table if row[place] is not None]
        types: set[RowType] = {"interval" if isinstance(one, timedelta) else value_type_of(one) for one in there}
        return types.pop() if len(types) == 1 else "float" if types == {"int", "float"} else None

    def resolved(e: rows.Expression) -> rows.Expression:
        e = _resolved(e, statement, columns)
        if not dialect.days:
            return e
        return with_meant_operands(e, lambda column: type_at(columns.index(column.name)), *dialect.operands)

    names: list[str] = []
    chosen: list[rows.Expression] = []
    for item in statement.items:
        if item.expression is None:
            names += columns
            chosen += [rows.RowColumn(name, None, True) for name in columns]
        else:
            e = resolved(item.expression)
            names.append(e.name if isinstance(e, rows.RowColumn) and not item.name else item.name)
            chosen.append(e)
    aliases = {name.lower(): e for item, name, e in _named_items(statement, names, chosen) if item.name}
    where = None if statement.where is None else resolved(statement.where)
    sorts = [
        replace(one, expression=_sort_expression(one.expression, statement, columns, aliases, chosen))
        for one in statement.order
    ]
    kept = []
    for row in timed_items(table):
        values = dict(zip(columns, row, strict=True))
        if where is None or _value(where, values, reading) is True:
            kept.append(values)
    nodes = (e for root in chosen for e in trees.subtrees(root))
    if (counted := next((e for e in nodes if isinstance(e, rows.Count | rows.RowAggregate)), None)) is not None:
        if any(item.expression is None for item in statement.items):
            raise IllFormed("* stands beside an aggregate of all rows; leave one of them out", counted.span)
        made = tuple(_aggregate_value(e, kept, reading) for e in chosen)
        return tuple(names), [made][: statement.limit]
    for one in reversed(sorts):
        kept = _ordered(kept, one, dialect, reading)
    if statement.limit is not None:
        kept = kept[: statement.limit]
    return tuple(names), [tuple(_value(e, values, reading) for e in chosen) for values in timed_items(kept)]


def source_rows(
    source: TableSource,
    columns: Sequence[str],
    table: Sequence[Sequence[Nullable]],
    dialect: SqlDialect = STANDARD_SQL,
    reading: RowReading = STANDARD,
) -> tuple[tuple[str, ...], list[tuple[Nullable, ...]]]:
    """Return the columns and rows of the table in FROM, given the columns and rows of the file or frame. Raises
    IllFormed.
    """
    if isinstance(source, LiteralTable):
        return source.names, [tuple(_literal(e, reading) for e in row) for row in timed_items(source.rows)]
    if isinstance(source, PlainSelect):
        below = (columns, table)
        if source.below is not None:
            below = source_rows(source.below, columns, table, dialect, reading)
        names, found = select_rows(source, *below, dialect, reading)
    else:
        parts = [source_rows(part, columns, table, dialect, reading) for part in source.parts]
        names, found = parts[0][0], [row for _, rows_ in parts for row in rows_]
        for (other, _), place in zip(parts, source.places, strict=True):
            if len(other) != len(names):
                raise IllFormed(
                    f"the query before UNION ALL has {len(names)} columns, and the one after it {len(other)}", place
                )
    if source.names and len(source.names) != len(names):
        raise IllFormed(f"there are {len(source.names)} names for {len(names)} columns: {', '.join(source.names)}")
    return source.names or names, found


def _literal(e: rows.Expression, reading: RowReading) -> Nullable:
    """Return the value of an expression in VALUES. Raises IllFormed for a column in it."""
    if (column := next((one for one in trees.subtrees(e) if isinstance(one, rows.RowColumn)), None)) is not None:
        raise IllFormed(f"there is no column {column.name} here: a row of VALUES has constants", column.span)
    return _value(e, {}, reading)


def _named_items(
    statement: PlainSelect, names: Sequence[str], chosen: Sequence[rows.Expression]
) -> Iterator[tuple[SelectItem, str, rows.Expression]]:
    """Yield the items other than *, with their names and expressions."""
    others = [item for item in statement.items if item.expression is not None]
    pairs = list(zip(names, chosen, strict=True))
    starred = len(pairs) - len(others)
    count = sum(item.expression is None for item in statement.items)
    at = 0
    for item in statement.items:
        if item.expression is None:
            at += starred // count
        else:
            yield item, *pairs[at]
            at += 1


def _resolved(e: rows.Expression, statement: PlainSelect, columns: Sequence[str]) -> rows.Expression:
    """Return the expression with its columns spelled as in the output. Raises IllFormed for an unknown column."""
    if isinstance(e, rows.RowColumn):
        known = {name.upper() for name in (statement.alias, statement.table.split(".")[-1].strip()) if name}
        if e.variable is not None and e.variable.upper() not in known:
            raise IllFormed(
                f"the output is not called {e.variable}; it is {statement.alias or statement.table}", e.span
            )
        name = resolve_column(e, columns)
        if name not in columns:
            raise IllFormed(f"the output has no column {e.name}; it has {', '.join(columns) or 'none'}", e.span)
        return rows.RowColumn(name, None, True, span=e.span)
    return replace(trees.rebuilt(e, [_resolved(one, statement, columns) for one in rows.below(e)]), span=e.span)


def _sort_expression(
    e: rows.Expression,
    statement: PlainSelect,
    columns: Sequence[str],
    aliases: Mapping[str, rows.Expression],
    chosen: Sequence[rows.Expression],
) -> rows.Expression:
    """Return the expression to sort by: an item by its alias or its number, or an expression over the output.

    Raises IllFormed for a constant that is not the number of an item.
    """
    if isinstance(e, rows.RowConstant):
        if type(e.value) is int and 1 <= e.value <= len(chosen):
            return chosen[e.value - 1]
        raise IllFormed(f"ORDER BY needs a column, or its number from 1 to {len(chosen)}", e.span)
    if isinstance(e, rows.RowColumn) and e.variable is None and e.name.lower() in aliases:
        return aliases[e.name.lower()]
    return _resolved(e, statement, columns)


def _value(e: rows.Expression, row: Mapping[str, Nullable], reading: RowReading) -> Nullable:
    if isinstance(e, rows.RowColumn):
        return row[e.name]
    assert not isinstance(e, rows.Lookup)
    return combined(e, [_value(operand, row, reading) for operand in rows.below(e)], reading)


def _aggregate_value(e: rows.Expression, table: Sequence[Mapping[str, Nullable]], reading: RowReading) -> Any:
    """Return the value of an expression with aggregates of all rows. Raises IllFormed for a column outside of them."""
    match e:
        case rows.Count():
            return len(table)
        case rows.Collection():
            return collected(e, [[_value(one, row, reading) for one in rows.below(e)] for row in table])
        case rows.RowAggregate(function, argument):
            return aggregated(function, [_value(argument, row, reading) for row in table])
        case rows.RowColumn():
            raise IllFormed(
                f"{e.name} stands beside an aggregate of all rows, and GROUP BY is not supported; "
                "leave one of them out",
                e.span,
            )
    assert not isinstance(e, rows.Lookup)  # others do not stand around a clause
    return combined(e, [_aggregate_value(one, table, reading) for one in rows.below(e)], reading)


def _ordered(
    table: list[dict[str, Nullable]], one: SortItem, dialect: SqlDialect, reading: RowReading
) -> list[dict[str, Nullable]]:
    pairs = [(_value(one.expression, row, reading), row) for row in table]
    there = sorted((p for p in pairs if p[0] is not None), key=lambda p: _key(p[0]), reverse=one.descending)
    nulls = [row for value, row in pairs if value is None]
    first = {"high": one.descending, "low": not one.descending, "last": False}[dialect.nulls]
    if one.nulls is not None:
        first = one.nulls == "FIRST"
    rest = [row for _, row in there]
    return nulls + rest if first else rest + nulls


def _key(value: Nullable) -> tuple[int, bool, Nullable]:
    assert value is not None
    if isinstance(value, tuple | list):
        raise IllFormed("ORDER BY has a list from ARRAY_AGG, and lists have no order; order by another column")
    return _KINDS.index(kind(value)), value != value, 0 if value != value else value
