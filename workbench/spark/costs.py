"""What each key of a data frame costs: its rows, its matches, and the seconds of its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import perf_counter
from typing import Unpack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.semantics.arguments import require_keywords
from cerify.semantics.budget import Budget
from cerify.semantics.cel.registered import Predicates
from cerify.semantics.errors import CerifyError, InputError, InternalError
from cerify.spark.batch import MatchOptions, by_key, prepare
from cerify.spark.columns import column, selected
from cerify.spark.errors import serialize_error
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns, Rows, gathered, rows_of
from cerify.spark.runs.run import Run
from cerify.spark.runs.start import starting

COSTS = {"rows": T.LongType(), "matches": T.DoubleType(), "seconds": T.DoubleType(), "error": T.StringType()}


def key_costs(df: DataFrame, query: str, **options: Unpack[MatchOptions]) -> DataFrame:
    """What each key costs, a row for each, the slowest ones first.

    The columns are those of the key; `rows`; `matches`, their number, rounded beyond 15 digits; `seconds`, those in
    which a worker evaluates the rows of the key, each key by itself; and `error`, the message where the evaluation
    fails, else null. The options are those of `match`, of which partition_by is required. With output="count" matches
    are counted, else they are listed. Raises as `match` does.
    """
    require_keywords(key_costs, options, MatchOptions)
    prepared = prepare(df, query, options)
    columns = prepared.columns
    if not columns.keys:
        raise InputError("partition_by names the columns of the key, whose costs are measured")
    if taken := [name for name in columns.keys if name in COSTS]:
        raise InputError(f"the answer has a column {taken[0]!r}; rename the column of the key")
    answer = T.StructType(
        [prepared.df.schema[name] for name in columns.keys] + [T.StructField(*one) for one in COSTS.items()]
    )
    task = partial(
        _costs,
        query=prepared.query.to_json(),
        columns=columns,
        budget=prepared.budget,
        counts=prepared.output == "count",
        predicates=prepared.query.predicates,
    )
    keys, order = [*map(column, columns.keys)], [*map(column, columns.order)]
    rows = by_key(selected(prepared.df, columns), keys, order, clustered=prepared.clustered)
    return rows.mapInArrow(task, answer).sort("seconds", ascending=False)


class _Key:
    """The costs of one key so far."""

    def __init__(self, run: Run, key: dict[str, pa.Array], counts: bool) -> None:
        self._run, self._key, self._counts = run, key, counts
        self._rows, self._matches, self._seconds = 0, 0, 0.0
        self._error: str | None = None

    def read(self, rows: Rows) -> None:
        """Evaluate some rows."""
        self._rows += rows.table.num_rows
        self._timed(lambda: self._run.count(rows.table) if self._counts else len(self._run.push(rows.table)))

    def finish(self) -> pa.RecordBatch:
        """Evaluate the end of the stream; the row of the answer."""
        self._timed(lambda: self._run.finish_count() if self._counts else len(self._run.finish()))
        values = (self._rows, float(self._matches), self._seconds, self._error)
        kinds = (pa.int64(), pa.float64(), pa.float64(), pa.string())
        found = {name: pa.array([v], kind) for name, v, kind in zip(COSTS, values, kinds, strict=True)}
        return pa.record_batch(self._key | found)

    def _timed(self, step: Callable[[], int]) -> None:
        if self._error is not None:
            return
        started = perf_counter()
        try:
            self._matches += step()
        except InternalError:
            raise
        except CerifyError as error:
            self._error = error.message
        self._seconds += perf_counter() - started


def _costs(
    batches: Iterable[pa.RecordBatch],
    query: str,
    columns: Columns,
    budget: Budget,
    counts: bool,
    predicates: Predicates,
) -> Iterator[pa.RecordBatch]:
    with serialize_error():
        parsed = Query.from_json(query, predicates)
        make = starting(parsed, budget)
        current: _Key | None = None
        for some in rows_of(gathered(batches), columns, parsed.schema):
            for rows in some.streams():
                if rows.begins or current is None:
                    if current is not None:
                        yield current.finish()
                    current = _Key(make(), rows.key, counts)
                current.read(rows)
        if current is not None:
            yield current.finish()
