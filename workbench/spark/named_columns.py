"""Columns that a caller names by expressions or as fields of structs, as columns of the data frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Required, TypedDict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.semantics.arguments import require_kind
from cerify.semantics.errors import InputError
from cerify.spark.columns import near_column, quoted

ColumnName = str | Column
SORT_ORDER = re.compile(r"(ASC|DESC) NULLS (FIRST|LAST)( AS .*)?'>$")  # the end of such a Column as text


class EventNames(TypedDict, total=False):
    """Keyword arguments of match and match_stream that name columns of events; match documents them."""

    type_col: ColumnName | None
    id_col: ColumnName | None
    attributes: Mapping[str, ColumnName]


class ColumnNames(EventNames, total=False):
    """Keyword arguments of match that name columns; it documents them."""

    order_by: Required[ColumnName | Sequence[ColumnName]]
    partition_by: ColumnName | Sequence[ColumnName] | None


def with_named(df: DataFrame, names: Mapping[str, Any]) -> tuple[DataFrame, dict[str, Any]]:
    """The data frame with a column for each name of ColumnNames, and the arguments of columns_of.

    A Column has the name that Spark gives it, see Column.alias, and takes the place of a column of this name. Raises
    InputError as `resolved` does.
    """
    given, added = resolved(df.schema, names, lambda one: df.select(one).columns[0])
    columns = {name: one if isinstance(one, Column) else F.col(sql_path(df.schema, one)) for name, one in added.items()}
    return df.withColumns(columns) if columns else df, given


def resolved(
    rows: T.StructType, names: Mapping[str, Any], name_of: Callable[[Column], str]
) -> tuple[dict[str, Any], dict[str, ColumnName]]:
    """The arguments of columns_of, and by its name each column that has to be added: a Column, or the path to a field.

    name_of is the name that Spark gives to a Column. Raises InputError for a field that there is not, a name that two
    columns would have, and a sort order in place of a Column.
    """
    added: dict[str, ColumnName] = {}

    def add(purpose: str, name: str, one: ColumnName) -> str:
        if str(added.setdefault(name, one)) != str(one):
            raise InputError(f"{purpose}: two columns would have the name {name!r}; give one of them another by alias")
        return name

    def named(purpose: str, one: ColumnName) -> str:
        require_kind(purpose, one, ColumnName, "a name of a column")
        if isinstance(one, Column):
            return add(purpose, name_of(_value(purpose, one)), one)
        if one in rows.names or "." not in one:
            return one
        name = field_at(rows, one, purpose).name
        if name in rows.names:
            raise InputError(f"{one}: there is a column {name!r} too; write F.col({one!r}).alias(…)")
        return add(purpose, name, one)

    given: dict[str, Any] = {
        purpose: [named(purpose, one) for one in listed(purpose, names.get(purpose))]
        for purpose in ("order_by", "partition_by")
    }
    for purpose in ("type_col", "id_col"):
        if (one := names.get(purpose)) is not None:
            given[purpose] = named(purpose, one)
    for name, one in names.get("attributes", {}).items():
        require_kind(f"attributes, {name}", one, ColumnName, "a name of a column")
        if isinstance(one, Column):
            _value("attributes", one)
        else:
            field_at(rows, one, "attributes")
        add("attributes", name, one)
    return {**given, "listed": rows.names}, added


def listed(purpose: str, given: ColumnName | Sequence[ColumnName] | None) -> Sequence[ColumnName]:
    """The names of columns in an argument that names one or several. Raises IllFormed."""
    if given is None:
        return ()
    require_kind(purpose, given, ColumnName | list | tuple, "a column, or a list of them")
    return [given] if isinstance(given, ColumnName) else given


def field_at(rows: T.StructType, path: str, purpose: str) -> T.StructField:
    """The column of this name, or the field of a struct at this path. Raises InputError."""
    if path in rows.names:
        return rows[path]
    found = T.StructField("", rows)
    for part in path.split("."):
        kind = found.dataType
        if not isinstance(kind, T.StructType) or part not in kind.names:
            near = near_column(rows, path)
            raise InputError(f"{purpose}: there is no column {path!r}; the columns are {', '.join(rows.names)}{near}")
        found = kind[part]
    return found


def sql_path(rows: T.StructType, path: str) -> str:
    """The column of this name, or the field of a struct at this path, as Spark SQL has it."""
    return quoted(path) if path in rows.names else ".".join(map(quoted, path.split(".")))


def _value(purpose: str, one: Column) -> Column:
    """The Column. Raises InputError for a sort order, which has no values; Spark says so only when rows are read."""
    if SORT_ORDER.search(str(one)):
        raise InputError(
            f"{purpose}: {one} is a sort order, and rows are read from the least value to the greatest; "
            "give a Column of values, for a descending order of numbers -F.col(…)"
        )
    return one
