"""The output table of MATCH_RECOGNIZE on a worker: whole partitions are gathered, and many are evaluated at once.

The rows come grouped by the columns of PARTITION BY, and in order. Rows without a value there are a partition, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from cerify.automata.row_pattern.compile import Automaton
from cerify.automata.row_pattern.compiled import Labelled
from cerify.automata.row_pattern.measures import MatchRows, unmatched
from cerify.automata.row_pattern.vectors import Conditions
from cerify.languages.row_pattern import RegisterOutput, blocks_by
from cerify.semantics.arrow_columns import canonical
from cerify.semantics.arrow_types import ARROW
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, errors_in
from cerify.semantics.events import TYPE, Stream
from cerify.semantics.row_pattern import syntax
from cerify.semantics.row_pattern.clauses import ROW, MatchRecognize
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.resolve import resolved, with_columns
from cerify.semantics.values import ValueType
from cerify.spark.errors import serialize_error
from cerify.spark.runs.answers import batches_of
from cerify.spark.runs.rows import Columns, begins_of, gathered, place, same, unused

PARTITION = "cerify_partition"


@dataclass(frozen=True)
class RowQuery:
    """A clause as it is sent to workers: plain data.

    names: the columns of the data frame. columns: those of PARTITION BY and ORDER BY. read: those that conditions and
    measures look at. first, measures, others: the columns of the output in their order, measures with their types.
    longest: the most rows of a partition.
    """

    text: str
    names: tuple[str, ...]
    columns: Columns
    read: tuple[str, ...]
    first: tuple[str, ...]
    measures: tuple[tuple[str, ValueType | None], ...]
    others: tuple[str, ...]
    evaluator: str
    budget: Budget
    longest: int

    @property
    def number(self) -> str:
        """The name of the column that has the numbers of the partitions beside those of the data frame."""
        return unused(PARTITION, self.names)

    @property
    def clause(self) -> MatchRecognize:
        """The clause over the columns that are read, called by their numbers, and the number of the partition."""
        return _clause(self.text, self.names, self.read)


@lru_cache(64)
def _clause(text: str, names: tuple[str, ...], read: tuple[str, ...]) -> MatchRecognize:
    q = replace(resolved(parse(text), names), partition=(), order=())
    q = with_columns(q, lambda one: replace(one, name=str(read.index(one.name))))
    return replace(q, partition=(syntax.Column(PARTITION, quoted=True),))


def output_rows(batches: Iterable[pa.RecordBatch], query: RowQuery) -> Iterator[pa.RecordBatch]:
    """The batches of the output table for some rows, grouped by partition, in order."""
    with serialize_error(), errors_in(query.text):
        for table in whole_partitions(batches, query):
            with query.budget.timed():
                yield from _answered(table, query)


def whole_partitions(batches: Iterable[pa.RecordBatch], query: RowQuery) -> Iterator[pa.Table]:
    """The rows with the numbers of their partitions, some whole partitions at a time.

    Raises InputError for two rows with the same place in the order, and BudgetExceeded for too long a partition.
    """
    gathering: list[pa.Table] = []
    last: pa.RecordBatch | None = None
    number = rows = 0  # the last partition so far, and how many rows it has
    for batch in gathered(batches):
        begins = begins_of(batch, last, query.columns)
        if last is not None and same(last, batch.slice(0, 1), query.columns.keys):
            del begins[0]
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
                yield pa.concat_tables([*gathering, table.slice(0, begins[-1])])
            gathering, table = [], table.slice(begins[-1])
        gathering.append(table)
        last, number, rows = batch.slice(batch.num_rows - 1), int(numbers[-1]), int(sizes[-1])
    if gathering:
        yield pa.concat_tables(gathering)


def _answered(table: pa.Table, query: RowQuery) -> Iterator[pa.RecordBatch]:
    """The rows of the output for some partitions. Raises IllFormed where AFTER MATCH SKIP leads nowhere."""
    q, S = query.clause, _stream(table, query)
    partitioned, automaton, blocks = blocks_by(query.evaluator)(q, S, query.budget)
    conditions, nothing = Conditions(partitioned), np.empty(0, np.int64)
    by_registers = [RegisterOutput(replace(q, measures=(one,)), S) for one in q.measures]
    first = covered = 0  # rows of which it is known whether they are in a match, and the row up to which matches reach
    try:
        empty = Labelled(nothing, nothing, nothing, np.zeros(1, np.int64), nothing.astype(np.int32))
        for block in chain(blocks, [empty]):
            made = MatchRows(q, conditions, automaton, block)
            measures = [
                _measure(made, output, automaton, *typed)
                for output, typed in zip(by_registers, query.measures, strict=True)
            ]
            places, end = made.places, int(block.searched[-1]) + 1 if len(block.searched) else len(S)
            if q.rows == "all with unmatched" or q.window is not None:
                more = unmatched(q, block, first, end, covered)
                order = np.argsort(np.append(made.searched, more), kind="stable")
                places = np.append(places, more)[order]
                measures = [pa.concat_arrays([one, pa.nulls(len(more), one.type)]).take(order) for one in measures]
                covered = int(block.ends.max(initial=covered))
            first = end
            shown = {name: table[name].take(places) for name in (*query.first, *query.others)}
            named = dict(zip((name for name, _ in query.measures), measures, strict=True))
            names = (*query.first, *named, *query.others)
            yield from batches_of([pa.table({**shown, **named}).select(names)])
    except IllFormed as error:  # of the last match that was found
        key = place(table, max(0, first - 1), replace(query.columns, order=()))
        error.message = f"{key}: {error.message}" if key else error.message
        raise


def _stream(table: pa.Table, query: RowQuery) -> Stream:
    """The columns that are read as those of a stream. Raises InputError for a time that Python does not have."""
    columns = {
        TYPE: pa.DictionaryArray.from_arrays(np.zeros(len(table), np.int32), [ROW]),
        PARTITION: table[query.number],
    }
    for number, name in enumerate(query.read):
        column = canonical(table[name], name, "the data", lambda row: place(table, row, query.columns))
        if not pa.types.is_null(column.type):  # one that is missing is NULL throughout
            columns[str(number)] = column
    return Stream.from_table(pa.table(columns))


def _measure(
    made: MatchRows, output: RegisterOutput, automaton: Automaton, name: str, type_: ValueType | None
) -> pa.Array:
    """The values of the measure of an output. Raises InputError for one that its type does not hold."""
    values = made.measure(output.clause.measures[0].expression)
    if values is None:
        values = _row_by_row(output, automaton, made.block)
    if type_ is None:
        return pa.nulls(len(values))
    try:
        return values.cast(ARROW[type_]) if isinstance(values, pa.Array) else pa.array(values, ARROW[type_])
    except (pa.ArrowInvalid, OverflowError) as error:
        raise InputError(f"the measure {name} is not exact as 64-bit {type_}, so CAST it: {error}") from None


def _row_by_row(output: RegisterOutput, automaton: Automaton, block: Labelled) -> list[Any]:
    """The values of a measure by registers, where columns do not hold them."""
    found = block.matches(automaton, np.arange(len(output.S)), output.clause.window is not None)
    return [value for match in found for _, (value,) in output.measured(match)]
