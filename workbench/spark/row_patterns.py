"""Evaluate SQL's MATCH_RECOGNIZE over a data frame, because Spark SQL has no such clause.

Partitions are the keys: a task gets whole partitions and evaluates many of them at once on the columns. The second half
makes the output schema on the driver, where Spark needs it before any row is read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.automata.row_pattern.columns import arrow_type
from cerify.automata.row_pattern.compile import Automaton
from cerify.automata.row_pattern.compiled import LabelArrays, MatchRows, output_blocks
from cerify.languages import language_named
from cerify.languages.language import Options
from cerify.languages.row_pattern import RegisterOutput, blocks_by
from cerify.plan import Want, plan
from cerify.semantics.arguments import Budget, require_kind
from cerify.semantics.arrow_columns import canonical, numbers_of_decimals
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported, errors_in
from cerify.semantics.events import TYPE, Stream
from cerify.semantics.row_pattern import syntax
from cerify.semantics.row_pattern.check import RowType, require_columns, type_of, types_of
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import resolved, with_columns
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize
from cerify.semantics.trees import subtrees
from cerify.spark.answers import batches_of
from cerify.spark.batch import by_key
from cerify.spark.columns import (
    column,
    map_in_arrow,
    require_frame,
    require_sortable,
    sql_path,
    value_type,
    with_paths,
)
from cerify.spark.rows import AT_ONCE, Columns, begins_of, gathered, place, same, unused
from cerify.spark.runs import EVENTS
from cerify.spark.transport import serialize_error

# ---------------------------------------------------------------------------------------------------------------------
# The output table of MATCH_RECOGNIZE on a worker: whole partitions are gathered, and many are evaluated at once.
#
# The rows come grouped by the columns of PARTITION BY, and in order. Rows without a value there are a partition, too.

PARTITION, PLACE = "cerify_partition", "\0cerify_place"  # the latter stands beside names of columns


@dataclass(frozen=True)
class RowQuery:
    """A clause as plain data, to be sent to workers.

    names: the columns of the data frame. columns: the columns of PARTITION BY and ORDER BY. read: the columns that
    conditions and measures use. first, measures, others: the columns of the output, in this order. A measure is (name,
    type, column): column is the one whose values it shows unchanged, as FIRST(A.x) shows x, or None. longest: the
    greatest number of rows in a partition.
    """

    text: str
    names: tuple[str, ...]
    columns: Columns
    read: tuple[str, ...]
    first: tuple[str, ...]
    measures: tuple[tuple[str, RowType | None, str | None], ...]
    others: tuple[str, ...]
    evaluator: str
    budget: Budget
    longest: int

    @property
    def number(self) -> str:
        """Return a name, of no column of the data frame, for a column with the numbers of the partitions."""
        return unused(PARTITION, self.names)

    @property
    def clause(self) -> MatchRecognize:
        """Return the clause for a table on a worker: partitioned by the number of the partition, with columns named by
        index.

        A measure that shows a column unchanged returns places of rows in the table, so its column can have any type.
        """
        return _clause(self.text, self.names, self.read)


@lru_cache(64)
def _clause(text: str, names: tuple[str, ...], read: tuple[str, ...]) -> MatchRecognize:
    # Without its keys, because the rows come grouped and in order: evaluating expressions and sorting again would be
    # wasted.
    q = replace(resolved(parse(text), names), partition=(), order=())
    q = with_columns(
        with_places(q), lambda one: one if one.name == PLACE else replace(one, name=str(read.index(one.name)))
    )
    return replace(q, partition=(syntax.RowColumn(PARTITION, quoted=True),))


def with_places(q: MatchRecognize) -> MatchRecognize:
    """Return the clause with the column PLACE instead of the real column in each measure that shows a column
    unchanged.
    """
    return replace(
        q, measures=tuple(replace(one, expression=_split_chosen_column(one.expression)[0]) for one in q.measures)
    )


def _split_chosen_column(e: syntax.Expression) -> tuple[syntax.Expression, str | None]:
    """Return an expression with the column PLACE instead of the column that it only chooses from, and that column.

    For any other expression, return the expression itself and None.
    """
    match e:
        case syntax.RowColumn():
            return replace(e, name=PLACE, quoted=True), e.name
        case syntax.Logical() | syntax.Physical() | syntax.Collection(function="ARRAY_AGG", distinct=False):
            inner, name = _split_chosen_column(e.argument)
            return replace(e, argument=inner), name
    return e, None


def output_rows(batches: Iterable[pa.RecordBatch], query: RowQuery) -> Iterator[pa.RecordBatch]:
    """Yield the output table of a clause in batches. batches: the input rows of a task, grouped by partition,
    in order.
    """
    with serialize_error(), errors_in(query.text):
        for table in whole_partitions(batches, query):
            with query.budget.timed():
                yield from _answered(table, query)


def whole_partitions(batches: Iterable[pa.RecordBatch], query: RowQuery) -> Iterator[pa.Table]:
    """Gather the rows of a task to tables that have whole partitions; a new column has the number of the partition.

    Raises InputError for two rows with the same place in the order, and BudgetExceeded for a partition with too many
    rows.
    """
    gathering: list[pa.Table] = []
    last: pa.RecordBatch | None = None
    number = rows = 0  # the last partition so far, and how many rows it has
    for batch in gathered(batches):
        begins = begins_of(batch, last, query.columns)
        if last is not None and same(last, batch.slice(0, 1), query.columns.keys):
            # The batch goes on with the partition of the batch before.
            del begins[0]
        # The partition that goes on began that many rows before this batch.
        edges = np.array([-rows, *begins, batch.num_rows])
        sizes = np.diff(edges)
        if sizes.max() > query.longest:
            key = replace(query.columns, order=())
            where = place(batch, max(0, int(edges[sizes.argmax()])), key) or "the data frame, which is one partition"
            raise BudgetExceeded(
                f"{where}: more than {query.longest} rows; a partition is gathered as a whole, so PARTITION BY more "
                "columns, or allow more: match_recognize(..., partition_rows=...)"
            )
        numbers = number + np.searchsorted(begins, np.arange(batch.num_rows), "right")
        table = pa.Table.from_batches([batch]).append_column(query.number, pa.array(numbers, pa.int64()))
        if begins:
            if gathering or begins[-1]:
                # Only up to the last partition, which may go on in the next batch.
                yield pa.concat_tables([*gathering, table.slice(0, begins[-1])])
            gathering, table = [], table.slice(begins[-1])
        gathering.append(table)
        last, number, rows = batch.slice(batch.num_rows - 1), int(numbers[-1]), int(sizes[-1])
    if gathering:
        yield pa.concat_tables(gathering)


def _answered(table: pa.Table, query: RowQuery) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the output for some partitions. Raises IllFormed if AFTER MATCH SKIP has no row to skip to."""
    q, S = query.clause, _stream(table, query)
    found = blocks_by(query.evaluator)(q, S, query.budget)
    by_registers = [RegisterOutput(replace(q, measures=(one,)), S) for one in q.measures]
    first = 0  # the row up to which it is known whether rows are in a match
    try:
        for block in output_blocks(q, found):
            measures = [
                block.spread(_measure(block.made, output, found[1], table, *typed))
                for output, typed in zip(by_registers, query.measures, strict=True)
            ]
            first = block.end
            shown = {name: table[name].take(block.places) for name in (*query.first, *query.others)}
            named = dict(zip((name for name, *_ in query.measures), measures, strict=True))
            names = (*query.first, *named, *query.others)
            yield from batches_of([pa.table({**shown, **named}).select(names)])
    except IllFormed as error:  # about the last match that was found
        key = place(table, max(0, first - 1), replace(query.columns, order=()))
        error.message = f"{key}: {error.message}" if key else error.message
        raise


def _stream(table: pa.Table, query: RowQuery) -> Stream:
    """Return the read columns as a stream. Raises InputError for a time outside Python's range."""
    columns = {
        # All rows have one type: a dictionary of one word, instead of a text for each row.
        TYPE: pa.DictionaryArray.from_arrays(np.zeros(len(table), np.int32), [ROW]),
        PARTITION: table[query.number],
        PLACE: pa.array(np.arange(len(table))),
    }
    for number, name in enumerate(query.read):
        column = canonical(
            numbers_of_decimals(table[name]), name, "the data", lambda row: place(table, row, query.columns)
        )
        if not pa.types.is_null(column.type):  # a missing column is NULL in all rows
            columns[str(number)] = column
    return Stream.from_table(pa.table(columns))


def _measure(
    made: MatchRows,
    output: RegisterOutput,
    automaton: Automaton,
    table: pa.Table,
    name: str,
    type_: RowType | None,
    column: str | None,
) -> pa.Array:
    """Return the values of one measure of an output. Raises InputError for a value that its type cannot hold."""
    values = made.measure(output.clause.measures[0].expression)
    if values is None:
        values = _row_by_row(output, automaton, made.block)
    if column is not None and isinstance(output.clause.measures[0].expression, syntax.Collection):
        lists = pa.array(values, pa.list_(pa.int64()))
        listed = table[column].take(lists.values).combine_chunks()
        return pa.ListArray.from_arrays(lists.offsets, listed, mask=lists.is_null())
    if column is not None:
        return table[column].take(pa.array(values, pa.int64())).combine_chunks()
    if type_ is None:
        return pa.nulls(len(values))
    try:
        return values.cast(arrow_type(type_)) if isinstance(values, pa.Array) else pa.array(values, arrow_type(type_))
    except (pa.ArrowInvalid, OverflowError) as error:
        raise InputError(
            f"the measure {name} cannot be stored exactly as a 64-bit {type_}, so CAST it: {error}"
        ) from None


def _row_by_row(output: RegisterOutput, automaton: Automaton, block: LabelArrays) -> list[Any]:
    """Return the values of a measure computed row by row, for values that columns cannot hold."""
    found = block.matches(automaton, np.arange(len(output.S)), output.clause.window is not None)
    return [value for match in found for _, (value,) in output.measured(match)]


ONE_TASK = (
    "without PARTITION BY all rows are one partition, which one task gathers and reads; add PARTITION BY if you can"
)
MEASURES: Mapping[RowType | None, T.DataType] = {
    "int": T.LongType(),
    "float": T.DoubleType(),
    "string": T.StringType(),
    "bool": T.BooleanType(),
    "timestamp": T.TimestampType(),
    "interval": T.DayTimeIntervalType(),
    None: T.NullType(),
}
"""The types of the columns of measures."""


@dataclass(frozen=True)
class Recognition:
    """A clause of MATCH_RECOGNIZE, checked and prepared for data frames of one schema.

    output: the schema of its output table. order: for each column of ORDER BY (name, descending, nulls first). moved:
    the columns sent to workers. why_not: by evaluator, why it was not chosen, as in Plan.
    """

    query: RowQuery
    output: T.StructType
    order: tuple[tuple[str, bool, bool], ...]
    moved: tuple[str, ...]
    why_not: Mapping[str, Unsupported]


def match_recognize(
    df: DataFrame, clause: str, *, budget: Budget = Budget(), partition_rows: int = EVENTS, clustered: bool = False
) -> DataFrame:
    """Return the output table of MATCH_RECOGNIZE over the rows of a data frame, as a data frame.

    clause: the text from MATCH_RECOGNIZE to its closing parenthesis. Columns of the input keep their types, and so do
    measures that only choose rows, such as FIRST(A.x), or list them, such as ARRAY_AGG(A.x). Other measures are BIGINT,
    DOUBLE, STRING, BOOLEAN, TIMESTAMP or an interval. Rows with NULL in PARTITION BY form a partition. One task gathers
    a whole partition, of at most partition_rows rows. clustered: see `match`.

    Raises ParseError, IllFormed, Unsupported and InputError before any row is read. Errors in the rows are raised by
    the action that reads them, as for `match`: two rows of a partition with the same place in the order, a partition
    that is too long, AFTER MATCH SKIP without a row to skip to.
    """
    require_frame(df)
    _require_at_rest(df)
    found = recognition(df.schema, clause, budget, partition_rows)
    keys = [*map(column, found.query.columns.keys)]
    order = [
        getattr(column(name), f"{'desc' if descending else 'asc'}_nulls_{'first' if nulls_first else 'last'}")()
        for name, descending, nulls_first in found.order
    ]
    some = df.select(*(F.col(sql_path(df.schema, name)).alias(name) for name in found.moved))
    if not keys:
        warnings.warn(ONE_TASK, stacklevel=2)
    rows = by_key(some, keys, order, clustered=clustered) if keys else some.repartition(1).sortWithinPartitions(*order)
    return map_in_arrow(rows, partial(output_rows, query=found.query), found.output)


def described_clause(df: DataFrame, clause: str) -> dict[str, str]:
    """Return how `match_recognize` would run a clause over a data frame: texts by their headings.

    Raises what `match_recognize` raises.
    """
    _require_at_rest(df)
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


def _require_at_rest(df: DataFrame) -> None:
    """Raise InputError for a streaming data frame, because Spark does not sort its rows."""
    if df.isStreaming:
        raise InputError(
            "match_recognize cannot read a stream, because a partition of a stream has no end; write the "
            "stream to a table "
            "and read that, or use cerify.spark.match_stream with a query in CEL"
        )


def recognition(schema: T.StructType, clause: str, budget: Budget = Budget(), longest: int = EVENTS) -> Recognition:
    """Parse a clause, check it against the schema of a data frame, and prepare it for workers.

    Raises ParseError, IllFormed, Unsupported and InputError.
    """
    require_kind("budget", budget, Budget, "a cerify.Budget")
    language = language_named("row-pattern")
    given, schema = schema.names, with_paths(schema)
    types = {one.name: value_type(one.dataType) for one in schema}
    with errors_in(clause), budget.timed():
        q: MatchRecognize = language.syntax.parse(clause)
        require_columns(q, types)
        q = resolved(q, types)
        for e in q.keys:
            if not isinstance(e, syntax.RowColumn):
                raise Unsupported(
                    f"on Spark a key is a column: add one with {syntax.show_expression(e)} to the data frame", e.span
                )
        keys = tuple(dict.fromkeys(map(syntax.key_name, q.partition)))
        if not q.order:
            raise IllFormed("the rows of a data frame are in no order: write ORDER BY", q.span)
        if not (q.all_columns or q.partition or q.measures):
            raise IllFormed("the output has no column: write MEASURES or ALL ROWS PER MATCH", q.span)
        order: dict[str, tuple[bool, bool]] = {}
        for one in q.order:
            # By default NULL is above all values, as in the reading `nulls=high`.
            nulls_first = one.descending if one.nulls is None else one.nulls == "FIRST"
            order.setdefault(syntax.key_name(one.column), (one.descending, nulls_first))
        read = _find_read_columns(with_places(q), schema)
        first = tuple(dict.fromkeys((*keys, *order))) if q.all_columns else keys
        others = tuple(name for name in given if q.all_columns and name not in first)
        values = [_split_chosen_column(one.expression)[1] for one in q.measures]
        moved = tuple(dict.fromkeys((*keys, *order, *read, *(one for one in values if one is not None), *others)))
        _require_distinct(q, schema, moved, (*first, *others))
        for name in (*keys, *order):
            require_sortable(schema, name)
        for measure, of in zip(q.measures, values, strict=True):
            lists = (
                isinstance(e, syntax.Collection) and e.function == "ARRAY_AGG" for e in subtrees(measure.expression)
            )
            if of is None and any(lists):
                raise Unsupported(
                    "on Spark, a measure with ARRAY_AGG must be just ARRAY_AGG(column), without DISTINCT", measure.span
                )
        typed = (type_of(one.expression, types_of(types)) for one in q.measures)
        measures = tuple(zip((one.name for one in q.measures), typed, values, strict=True))
        fast = plan(language, q, None, Want(Options(budget=budget), "kernel"))
        chosen = fast if fast.evaluator is not None else plan(language, q, None, Want(Options(budget=budget)))
    query = RowQuery(
        clause,
        tuple(types),
        Columns(tuple(order), keys),
        read,
        first,
        measures,
        others,
        chosen.chosen_evaluator,
        budget,
        longest,
    )
    fields = [T.StructField(name, schema[name].dataType) for name in (*first, *others)]
    for i, (name, type_, of) in enumerate(measures, len(first)):
        kind = MEASURES[type_] if of is None else schema[of].dataType
        listed = of is not None and isinstance(q.measures[i - len(first)].expression, syntax.Collection)
        fields.insert(i, T.StructField(name, T.ArrayType(kind) if listed else kind))
    ordered = tuple((name, *how) for name, how in order.items())
    return Recognition(query, T.StructType(fields), ordered, moved, {**fast.why_not, **chosen.why_not})


def _find_read_columns(q: MatchRecognize, schema: T.StructType) -> tuple[str, ...]:
    """Return the columns that conditions and measures read. Raises InputError for an unsupported type."""
    nodes = (node for e in q.expressions for node in subtrees(e))
    found = [node for node in nodes if isinstance(node, syntax.RowColumn) and node.name != PLACE]
    for node in found:
        kind = schema[node.name].dataType
        if value_type(kind) is None and not isinstance(kind, T.NullType):
            wanted = "conditions and measures are of numbers, strings, Booleans, dates and timestamps"
            raise InputError(f"column {node.name!r} is {kind.simpleString()}; {wanted}, so convert it", node.span)
    return tuple(dict.fromkeys(node.name for node in found))


def _require_distinct(q: MatchRecognize, schema: T.StructType, moved: Sequence[str], shown: Sequence[str]) -> None:
    """Raise InputError if two columns of the data frame, or of the output, have the same name."""
    for name in moved:
        if (times := schema.names.count(name)) > 1:
            raise InputError(f"there are {times} columns {name!r}; the columns are {', '.join(schema.names)}")
    # Spark takes names of columns as equal if they differ only in case.
    taken = {name.lower() for name in shown}
    for one in q.measures:
        if one.name.lower() in taken:
            raise InputError(f"the output has a column {one.name!r} already; give the measure another name", one.span)
