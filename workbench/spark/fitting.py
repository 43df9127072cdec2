"""Whether a query fits a data frame, found on the driver: comparisons that are never true, and misspelt event types."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame

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

    types: all that there can be, or None; a query that names another one is ill-formed. sample: the number of rows
    whose types are read, by a job; a query that names one which these do not have gets a warning. strict: warnings are
    errors.
    """

    types: Collection[str] | None = None
    sample: int = 0
    strict: bool = False


def warn_of_misfits(df: DataFrame, query: Query, columns: Columns, known: KnownTypes, stacklevel: int) -> None:
    """Issue QueryWarnings about a query over a data frame. Raises IllFormed for a type that is not among known.types.

    stacklevel is counted from the caller.
    """
    with errors_in(query.text):
        for problem in problems(df, query, columns, known):
            if known.strict or (problem.rule == "event_type" and known.types is not None):
                raise IllFormed(problem.hinted, problem.span)
            warning = QueryWarning(problem.hinted, problem.span)
            warning.text = query.text
            warnings.warn(warning, stacklevel=stacklevel + 1)


def problems(df: DataFrame, query: Query, columns: Columns, known: KnownTypes) -> Iterator[Problem]:
    """What cannot hold of the query by the types of the columns, and by the event types that are known."""
    attributes: dict[str, ValueType] = {}
    for name in df.columns:
        if name not in (TYPE, columns.type) and (found := value_type(df.schema[name].dataType)) is not None:
            attributes[name] = found
    if columns.time is not None and TIME not in attributes:
        attributes[TIME] = "timestamp" if value_type(df.schema[columns.time].dataType) == "timestamp" else "int"
    types = known.types
    if types is None and known.sample:
        types = {row[0] for row in df.select(column(columns.type)).limit(known.sample).distinct().collect() if row[0]}
    if types is None:
        types = event_types(query.parsed)
    return misfits(query.plugin, query.parsed, query.schema or ObservedSchema(dict.fromkeys(types, attributes)))
