"""Evaluators of one automaton in several threads: what one of them meets must not get in the way of the others."""

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pyarrow as pa

from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.semantics.cel.parse import parse


def test_threads_may_share_an_automaton() -> None:
    """Row by row, so that each thread meets new types of events while the others read theirs."""
    query = parse(" ; ".join(f"(A IN X{i} FILTER X{i}.t > {i})" for i in range(4)))
    rng = Random(0)
    tables = [pa.table({"type": ["A"] * 60, "t": rng.choices(range(j + 2), k=60)}) for j in range(8)]
    expected = [CompiledCelEvaluator(query).count(table) for table in tables]

    def counted(evaluator: CompiledCelEvaluator, table: pa.Table) -> int:
        return sum(evaluator.count(batch) for batch in table.to_batches(max_chunksize=1))

    for _ in range(10):
        first = CompiledCelEvaluator(query)
        with ThreadPoolExecutor(len(tables)) as pool:
            assert list(pool.map(counted, [first.fresh() for _ in tables], tables)) == expected
