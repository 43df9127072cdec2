"""SQL's MATCH_RECOGNIZE over a data frame, as a data frame; Spark SQL has no such clause."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.languages import language_named
from cerify.languages.language import Options
from cerify.plan import Want, plan
from cerify.semantics.arguments import require_kind
from cerify.semantics.budget import Budget
from cerify.semantics.errors import IllFormed, InputError, Unsupported, errors_in
from cerify.semantics.row_pattern import syntax
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.resolve import resolved
from cerify.semantics.row_pattern.typed import type_of, types_of
from cerify.semantics.row_pattern.wellformed import require_columns
from cerify.semantics.trees import subtrees
from cerify.semantics.values import ValueType
from cerify.spark.batch import by_key
from cerify.spark.columns import TYPES, column, require_frame, require_sortable
from cerify.spark.runs.row_patterns import RowQuery, output_rows
from cerify.spark.runs.rows import AT_ONCE, Columns
from cerify.spark.runs.start import EVENTS

ONE_TASK = "without PARTITION BY all rows are one partition, which one task gathers and reads"
MEASURES: Mapping[ValueType | None, T.DataType] = {
    "int": T.LongType(),
    "float": T.DoubleType(),
    "string": T.StringType(),
    "bool": T.BooleanType(),
    "timestamp": T.TimestampType(),
    None: T.NullType(),
}
"""The types of the columns of measures."""


@dataclass(frozen=True)
class Recognition:
    """A clause for data frames of one schema.

    output: the schema of its output table. order: the columns of ORDER BY, with whether each descends, and whether its
    NULLs come first. moved: the columns that workers read. why_not: as of Plan.
    """

    query: RowQuery
    output: T.StructType
    order: tuple[tuple[str, bool, bool], ...]
    moved: tuple[str, ...]
    why_not: Mapping[str, Unsupported]


def match_recognize(
    df: DataFrame, clause: str, *, budget: Budget = Budget(), partition_rows: int = EVENTS, clustered: bool = False
) -> DataFrame:
    """The output table of MATCH_RECOGNIZE over the rows of a data frame, as a data frame.

    clause: the text from MATCH_RECOGNIZE to its closing parenthesis. Columns that are shown as they are have the types
    of the data frame, measures BIGINT, DOUBLE, STRING, BOOLEAN or TIMESTAMP. Rows that are NULL in PARTITION BY are a
    partition. A partition is gathered in a task, up to partition_rows rows. clustered is as for `match`.

    Raises ParseError, IllFormed, Unsupported and InputError before any row is read. Errors in the rows are raised by
    the action that reads them, as those of `match`: two rows of a partition with the same place in the order, a
    partition that is too long, AFTER MATCH SKIP that leads nowhere.
    """
    require_frame(df)
    found = recognition(df.schema, clause, budget, partition_rows)
    keys = [*map(column, found.query.columns.keys)]
    order = [
        getattr(column(name), f"{'desc' if descending else 'asc'}_nulls_{'first' if nulls_first else 'last'}")()
        for name, descending, nulls_first in found.order
    ]
    some = df.select(*map(column, found.moved))
    if not keys:
        warnings.warn(ONE_TASK, stacklevel=2)
    rows = by_key(some, keys, order, clustered=clustered) if keys else some.repartition(1).sortWithinPartitions(*order)
    return rows.mapInArrow(partial(output_rows, query=found.query), found.output)


def described_clause(df: DataFrame, clause: str) -> dict[str, str]:
    """How `match_recognize` would run a clause over a data frame, as lines with names. Raises as it does."""
    found = recognition(df.schema, clause)
    query, refused = found.query, "".join(f"; not {name}: {why.message}" for name, why in found.why_not.items())
    order = (
        f"{name}{' DESC' if descending else ''} NULLS {'FIRST' if nulls_first else 'LAST'}"
        for name, descending, nulls_first in found.order
    )
    return {
        "partitions": f"by {', '.join(query.columns.keys)}, in one shuffle" if query.columns.keys else ONE_TASK,
        "order": ", ".join(order),
        "columns": ", ".join(found.moved),
        "evaluator": query.evaluator + refused,
        "memory": f"a task holds some {AT_ONCE} rows, or a longer partition, of up to {query.longest} rows",
        "output": ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in found.output),
    }


def recognition(schema: T.StructType, clause: str, budget: Budget = Budget(), longest: int = EVENTS) -> Recognition:
    """A clause for data frames of a schema. Raises ParseError, IllFormed, Unsupported and InputError."""
    require_kind("budget", budget, Budget, "a cerify.Budget")
    language, types = language_named("row-pattern"), {one.name: _value_type(one.dataType) for one in schema}
    with errors_in(clause), budget.timed():
        q: MatchRecognize = language.parse(clause)
        require_columns(q, types)
        q = resolved(q, types)
        keys = tuple(dict.fromkeys(one.name for one in q.partition))
        if not q.order:
            raise IllFormed("the rows of a data frame are in no order: write ORDER BY", q.span)
        if not (q.all_columns or q.partition or q.measures):
            raise IllFormed("the output has no column: write MEASURES or ALL ROWS PER MATCH", q.span)
        order: dict[str, tuple[bool, bool]] = {}
        for one in q.order:
            nulls_first = one.descending if one.nulls is None else one.nulls == "FIRST"
            order.setdefault(one.column.name, (one.descending, nulls_first))
        read = _read(q, schema)
        first = tuple(dict.fromkeys((*keys, *order))) if q.all_columns else keys
        others = tuple(name for name in types if q.all_columns and name not in first)
        moved = tuple(dict.fromkeys((*keys, *order, *read, *others)))
        _require_distinct(q, schema, moved, (*first, *others))
        for name in (*keys, *order):
            require_sortable(schema, name)
        measures = tuple((one.name, type_of(one.expression, types_of(types))) for one in q.measures)
        fast = plan(language, q, None, Want(Options(budget=budget), "kernel"))
        chosen = fast if fast.evaluator is not None else plan(language, q, None, Want(Options(budget=budget)))
    query = RowQuery(
        clause, tuple(types), Columns(tuple(order), keys), read, first, measures, others, chosen.chosen, budget, longest
    )
    fields = [T.StructField(name, schema[name].dataType) for name in (*first, *others)]
    fields[len(first) : len(first)] = [T.StructField(name, MEASURES[type_]) for name, type_ in measures]
    ordered = tuple((name, *how) for name, how in order.items())
    return Recognition(query, T.StructType(fields), ordered, moved, {**fast.why_not, **chosen.why_not})


def _value_type(kind: T.DataType) -> ValueType | None:
    return next((name for name, kinds in TYPES.items() if isinstance(kind, kinds)), None)


def _read(q: MatchRecognize, schema: T.StructType) -> tuple[str, ...]:
    """The columns that conditions and measures look at. Raises InputError for one of a type that they do not have."""
    found = [node for e in q.expressions for node in subtrees(e) if isinstance(node, syntax.Column)]
    for node in found:
        kind = schema[node.name].dataType
        if _value_type(kind) is None and not isinstance(kind, T.NullType):
            wanted = "conditions and measures are of numbers, strings, Booleans, dates and timestamps"
            raise InputError(f"column {node.name!r} is {kind.simpleString()}; {wanted}, so convert it", node.span)
    return tuple(dict.fromkeys(node.name for node in found))


def _require_distinct(q: MatchRecognize, schema: T.StructType, moved: Sequence[str], shown: Sequence[str]) -> None:
    """Raises InputError for two columns of one name in the data frame, or in the output."""
    for name in moved:
        if (times := schema.names.count(name)) > 1:
            raise InputError(f"there are {times} columns {name!r}; the columns are {', '.join(schema.names)}")
    taken = {name.lower() for name in shown}
    for one in q.measures:
        if one.name.lower() in taken:
            raise InputError(f"the output has a column {one.name!r} already; give the measure another name", one.span)
