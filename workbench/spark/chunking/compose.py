"""Queries over a stream without keys and windows whose chunks compose: event expressions, and numbers of matches.

The chunks are read twice: first for the effect of each on every state, which gives the state in which each begins; then
for the matches. Numbers of matches need the first pass only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.semantics.budget import Budget
from cerify.spark.chunking.chunk_run import ChunkRun, answers_of_run, chunk_of
from cerify.spark.chunking.cuts import Cuts, even_cuts, in_chunks
from cerify.spark.chunking.transfer import NOTHING_READ, Effect, transfer_of
from cerify.spark.errors import serialize_error
from cerify.spark.runs.answers import Output, number_columns
from cerify.spark.runs.expression import ExpressionRun, automaton_of
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns, rows_of

READ = "chunk long, effect string"


@dataclass(frozen=True)
class Begins:
    """For each chunk the state in which it begins, the position of its first event, and its number of events."""

    states: tuple[int, ...]
    first: tuple[int, ...]
    owned: tuple[int, ...]


class Continued(ExpressionRun):
    """A run that begins in a given state of the automaton."""

    def __init__(self, A: DFA, state: int) -> None:
        super().__init__(CompiledRunner([A]))
        self._states = [state]


def composed(
    df: DataFrame,
    query: Query,
    columns: Columns,
    output: Output,
    budget: Budget,
    answer: T.StructType,
    parts: int,
) -> DataFrame | None:
    """The answer, by composition of chunks; None if the query does not compose, or has too many states."""
    text = query.to_json()
    expression = query.plugin.takes_place
    if (not expression and output != "count") or transfer_of(text, budget, begins=True) is None:
        return None
    cuts = even_cuts(df, columns, parts)
    chunks = in_chunks(df, columns, cuts)
    read = chunks.mapInArrow(partial(_effects, query=text, columns=columns, budget=budget), READ).collect()
    if any(effect is None for _, effect in read):
        return None
    effects = {c: Effect.from_json(effect) for c, effect in read}
    states, number = composition(effects, cuts)
    if output == "count":
        return df.sparkSession.createDataFrame([number_columns(number)] if effects else [], answer)
    owned = tuple(effects[c].rows if c in effects else 0 for c in range(cuts.chunks))
    begins = Begins(states, tuple(accumulate(owned[:-1], initial=0)), owned)
    task = partial(_answered, query=text, columns=columns, output=output, budget=budget, begins=begins)
    return chunks.mapInArrow(task, answer)


def composition(effects: dict[int, Effect], cuts: Cuts) -> tuple[tuple[int, ...], int]:
    """The state in which each chunk begins (of an expression), and the number of matches of all chunks."""
    runs, states, number = NOTHING_READ, [], 0
    for c in range(cuts.chunks):
        states.append(min(runs, default=0))  # of an expression there is one
        if c in effects:
            runs, more = effects[c].after(runs)
            number += more
    return tuple(states), number


def _effects(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, budget: Budget
) -> Iterator[pa.RecordBatch]:
    """The effect of a chunk, as JSON; null if it follows too many states, or too large numbers."""
    with serialize_error():
        c, rows = chunk_of(batches)
        if c < 0:
            return
        transfer = transfer_of(query, budget, begins=c == 0)
        parts = (part for some in rows_of(rows, columns, Query.from_json(query).schema) for part in some)
        known = transfer is not None and all(transfer.read(part.table) for part in parts)
        effect = transfer.effect().to_json() if known and transfer is not None else None
        yield pa.record_batch({"chunk": pa.array([c], pa.int64()), "effect": pa.array([effect], pa.string())})


def _answered(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, output: Output, budget: Budget, begins: Begins
) -> Iterator[pa.RecordBatch]:
    """The batches of the answer for a chunk whose first state is known."""
    with serialize_error():
        c, rows = chunk_of(batches)
        if c >= 0:
            parsed = Query.from_json(query)
            A = automaton_of(parsed, budget)
            assert A is not None
            by = begins.first[c] if columns.id is None else 0
            run = ChunkRun(Continued(A, begins.states[c]), 0, begins.owned[c], by)
            yield from answers_of_run(rows, run, parsed, columns, output, c)
