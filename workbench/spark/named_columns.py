"""Columns that a caller names by expressions or as fields of structs, as columns of the data frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.semantics.errors import InputError
from cerify.spark.columns import quoted

ColumnName = str | Column
SORT_ORDER = re.compile(r"(ASC|DESC) NULLS (FIRST|LAST)( AS .*)?'>$")  # the end of such a Column as text


class ColumnNames(TypedDict, total=False):
    """Keyword arguments of match that name columns; it documents them."""

    order_by: Required[ColumnName | Sequence[ColumnName]]
    partition_by: ColumnName | Sequence[ColumnName] | None
    type_col: ColumnName | None
    id_col: ColumnName | None
    attributes: Mapping[str, ColumnName]


def with_named(df: DataFrame, names: ColumnNames) -> tuple[DataFrame, dict[str, Any]]:
    """The data frame with a column for each name of ColumnNames, and the arguments of columns_of.

    A Column has the name that Spark gives it, see Column.alias, and takes the place of a column of this name. Raises
    InputError for a field of a struct whose name is that of a column, and for a sort order in place of a Column.
    """
    added: dict[str, Column] = {}

    def name_of(purpose: str, one: ColumnName) -> str:
        if isinstance(one, str) and (one in df.columns or "." not in one):
            return one
        field = _field(df, one) if isinstance(one, str) else _value(purpose, one)
        name = df.select(field).columns[0]
        if isinstance(one, str) and name in df.columns:
            raise InputError(f"{one}: there is a column {name!r} too; write F.col({one!r}).alias(…)")
        added[name] = field
        return name

    given: dict[str, Any] = {
        "order_by": [name_of("order_by", one) for one in _listed(names.get("order_by"))],
        "partition_by": [name_of("partition_by", one) for one in _listed(names.get("partition_by"))],
    }
    if (type_col := names.get("type_col")) is not None:
        given["type_col"] = name_of("type_col", type_col)
    if (id_col := names.get("id_col")) is not None:
        given["id_col"] = name_of("id_col", id_col)
    for name, one in names.get("attributes", {}).items():
        added[name] = _value("attributes", one) if isinstance(one, Column) else _field(df, one)
    return df.withColumns(added) if added else df, given


def _listed(given: ColumnName | Sequence[ColumnName] | None) -> Sequence[ColumnName]:
    return () if given is None else [given] if isinstance(given, ColumnName) else given


def _value(purpose: str, one: Column) -> Column:
    """The Column. Raises InputError for a sort order, which has no values; Spark says so only when rows are read."""
    if SORT_ORDER.search(str(one)):
        raise InputError(
            f"{purpose}: {one} is a sort order, and rows are read from the least value to the greatest; "
            "give a Column of values, for a descending order of numbers -F.col(…)"
        )
    return one


def _field(df: DataFrame, path: str) -> Column:
    """The column of this name, or the field of a struct at this path. Raises InputError."""
    if path in df.columns:
        return F.col(quoted(path))
    kind: T.DataType = df.schema
    for part in path.split("."):
        if not isinstance(kind, T.StructType) or part not in kind.names:
            raise InputError(f"there is no column {path!r}; the columns are {', '.join(df.columns)}")
        kind = kind[part].dataType
    return F.col(".".join(map(quoted, path.split("."))))
