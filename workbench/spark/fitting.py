"""Whether a query fits a data frame, found on the driver: comparisons that are never true, and misspelt event types."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.fit import misfits
from cerify.semantics.errors import IllFormed, QueryWarning, errors_in
from cerify.semantics.events import TIME, TYPE
from cerify.semantics.observed import ObservedSchema
from cerify.semantics.predicate_types import Problem
from cerify.semantics.values import ValueType
from cerify.spark.columns import column, event_types, value_type
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns


@dataclass(frozen=True)
class KnownTypes:
    """The event types of the data.

    types: all that there can be, one or several, or None; a query that names another one is ill-formed. sample: the
    number of rows whose types are read, by a job; a query that names one which these do not have gets a warning.
    strict: warnings are errors.
    """

    types: str | Collection[str] | None = None
    sample: int = 0
    strict: bool = False


def warn_of_misfits(df: DataFrame, query: Query, columns: Columns, known: KnownTypes, stacklevel: int) -> None:
    """Issue QueryWarnings about a query over a data frame. Raises as `tolerated` does.

    stacklevel is counted from the caller.
    """
    for problem in tolerated(df, query, columns, known):
        warning = QueryWarning(problem.hinted, problem.span)
        warning.text = query.text
        warnings.warn(warning, stacklevel=stacklevel + 1)


def tolerated(df: DataFrame, query: Query, columns: Columns, known: KnownTypes) -> list[Problem]:
    """The problems of a query over a data frame that are warned of.

    Raises IllFormed for one that is an error: a type that is not among known.types, and with known.strict each.
    """
    with errors_in(query.text):
        found = list(problems(df.schema, query, columns, types_of(df, columns, known)))
        for problem in found:
            if known.strict or (problem.rule == "event_type" and known.types is not None):
                raise IllFormed(problem.hinted, problem.span)
    return found


def types_of(df: DataFrame, columns: Columns, known: KnownTypes) -> Collection[str] | None:
    """The event types that are listed, or those of a sample of the rows; None for neither."""
    if known.types is None and known.sample:
        rows = df.select(column(columns.type)).limit(known.sample).distinct().collect()
        return sorted(row[0] for row in rows if row[0])
    return [known.types] if isinstance(known.types, str) else known.types


def problems(
    rows: T.StructType, query: Query, columns: Columns, types: Collection[str] | None = None
) -> Iterator[Problem]:
    """What cannot hold of the query by the types of the columns, and by the event types if they are known."""
    attributes: dict[str, ValueType] = {}
    for one in rows:
        if one.name not in (TYPE, columns.type) and (found := value_type(one.dataType)) is not None:
            attributes[one.name] = found
    if columns.time is not None and TIME not in attributes:
        attributes[TIME] = "timestamp" if value_type(rows[columns.time].dataType) == "timestamp" else "int"
    seen = event_types(query.parsed) if types is None else types
    return misfits(query.plugin, query.parsed, query.schema or ObservedSchema(dict.fromkeys(seen, attributes)))
