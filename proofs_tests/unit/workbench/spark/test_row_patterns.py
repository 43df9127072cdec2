"""MATCH_RECOGNIZE on Spark, without Spark: what the driver makes of a clause, and a worker of its rows."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("numba")

from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from cerify.automata.row_pattern import compiled, kernels
from cerify.automata.row_pattern.compiled import MatchRows
from cerify.equivalence.generate.row_pattern import PROFILES
from cerify.semantics.arrow_columns import ARROW
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, Unsupported
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import MatchRecognize, show
from cerify.semantics.values import EXACT, INT64, value_type_of
from cerify.spark import row_patterns, rows
from cerify.spark.row_patterns import recognition
from cerify.spark.runs import SparkQuery
from cerify.spark.transport import WorkerError, deserialize_error
from proofs_tests.support import sampled
from proofs_tests.unit.automata.test_row_pattern_compiled import FLOATS, INTS, TEXTS, TIMES, WORDS
from proofs_tests.unit.workbench.spark.spark_cases import SCHEMA, Row, arrow, by_partition, expected, grouped
from proofs_tests.unit.workbench.spark.spark_cases import case_row_tables as case


def found(q: MatchRecognize, data: list[Row], rng: Random, schema: pa.Schema = SCHEMA) -> dict[Row, list[Row]]:
    """The rows of the output by the task of a worker; their types are those that the driver promises."""
    made = recognition(from_arrow_schema(schema), show(q))
    table = arrow(grouped(data, q, rng, schema.names), schema).select(made.moved)
    answer: list[tuple[object, ...]] = []
    for batch in row_patterns.output_rows(table.to_batches(rng.choice((1, 3, 100))), made.query):
        assert batch.schema.types == to_arrow_schema(made.output, timezone="UTC").types
        answer += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return by_partition(answer, len(q.partition))


def difference(
    seeds: range, monkeypatch: pytest.MonkeyPatch, used: set[str], profiles: tuple[str, ...] = ("everything", "columns")
) -> str:
    """The first clause of which a worker makes other rows than the definition; "" if there is none."""
    for seed in seeds:
        rng = Random(seed)
        monkeypatch.setattr(rows, "AT_ONCE", rng.choice((1, 5, 1000)))
        monkeypatch.setattr(compiled, "MATCHES", rng.choice((1, 1024)))
        q, data = case(rng, PROFILES[rng.choice(profiles)], 4)
        used.add(recognition(from_arrow_schema(SCHEMA), show(q)).query.evaluator)
        try:
            right = expected(q, data)
        except BudgetExceeded:  # each partition is within the budget, all of them are not
            continue
        if found(q, data, rng) != right:
            return f"{seed}: {show(q)}"
    return ""


@pytest.mark.parametrize("seeds", sampled([range(25), range(25, 1_500)], [range(25)]))
def test_a_worker_and_the_definition_agree(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[str] = set()
    assert difference(seeds, monkeypatch, used) == ""
    assert used == {"automaton", "kernel"}


@pytest.mark.parametrize("number", sampled([25, 40], [25]))
def test_a_worker_and_the_definition_agree_on_windows(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    used: set[str] = set()
    assert difference(range(number), monkeypatch, used, ("windows", "windows on columns")) == ""
    assert used == {"automaton", "kernel"}


PLANTED: dict[str, tuple[object, str, object]] = {
    "unmatched rows are left out": (compiled, "unmatched", lambda *_: np.empty(0, np.int64)),
    "a partition goes on in the next batch": (row_patterns, "same", lambda *_: True),
    "ties are looked for, keys are not": (row_patterns, "begins_of", lambda *_: [0]),
    "a match is in one row": (MatchRows, "_range", lambda self, _: (self.ends - 1, self.ends)),
    "aggregates are mistaken for each other": (kernels, "FOLDS", ("MIN", "MAX", "AVG", "SUM")),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PLANTED[fault])
    assert difference(range(140, 1000), monkeypatch, set())


LOOKUPS = (
    "FIRST(A.x)", "LAST(x, 1)", "SUM(x)", "AVG(y)", "AVG(B.x)", "MIN(z)", "MAX(B.y)", "MIN(x)", "MAX(y)", "COUNT(A.z)",
    "PREV(A.x, 2)", "NEXT(LAST(B.y), 1)", "NEXT(FIRST(x, 1), 99999999999999999999)", "CLASSIFIER()", "CLASSIFIER(B)",
    "PREV(CLASSIFIER())", "FIRST(CLASSIFIER(), 1)", "FINAL LAST(x)", "FINAL LAST(CLASSIFIER())", "SUM(x * y)",
    "COALESCE(x, y)", "CAST(x AS VARCHAR)", "SUM(x) / COUNT(*)", "FINAL SUM(B.y)", "MIN(CLASSIFIER())",
    "COUNT(U.*)", "CASE WHEN CLASSIFIER() = 'A' THEN x ELSE y END", "MATCH_NUMBER() * x", "LAST(x + MATCH_NUMBER())",
    "NULL", "SUM(1)",
    "FINAL COUNT(*) - COUNT(*)", "AVG(x) - AVG(y)", "MAX(z)", "CAST(LAST(z) AS TIMESTAMP)", "99999999999999999999",
)  # fmt: skip
ALL, NEXT = "ALL ROWS PER MATCH", "AFTER MATCH SKIP TO NEXT ROW"
PATTERNS = (
    "PATTERN (A B+)",
    f"{ALL} PATTERN (A B*)",
    f"{ALL} {NEXT} PATTERN (B? {{- A -}} B)",
    f"{ALL} WITH UNMATCHED ROWS {NEXT} PATTERN (A+? B | B)",
)


@pytest.mark.parametrize("seed", sampled(range(200), [1]))
def test_measures_of_all_types_at_their_limits(seed: int) -> None:
    rng = Random(seed)
    pools = {name: rng.choice([INTS, FLOATS, WORDS, [True, False], TIMES, [0, 1, 2]]) for name in "xyz"}
    schema = pa.schema(
        [("t", pa.int64()), ("n", pa.int64()), *((a, ARROW[value_type_of(v[0])]) for a, v in pools.items())]
    )
    data = [
        (rng.randrange(3), n, *(None if rng.random() < 0.2 else rng.choice(pool) for pool in pools.values()))
        for n in range(30)
    ]
    typed = 0
    for measure in (*LOOKUPS, *TEXTS):
        rest = f"{rng.choice(PATTERNS)} SUBSET U = (A, B) DEFINE A AS n % 3 <> 0"
        q = parse(f"MATCH_RECOGNIZE (PARTITION BY t ORDER BY n MEASURES {measure} AS m {rest})")
        try:
            ((_, type_, _),) = recognition(from_arrow_schema(schema), show(q)).query.measures
        except IllFormed:
            continue
        right = expected(q, data, schema)
        typed += 1
        values = [row[1 if q.rows == "one" else 2] for its in right.values() for row in its]
        bounds = range(-EXACT, EXACT + 1) if type_ == "float" else INT64
        if any(isinstance(value, int) and value not in bounds for value in values):
            with pytest.raises(WorkerError, match="measure m cannot be stored exactly") as raised:
                found(q, data, rng, schema)
            assert isinstance(deserialize_error(raised.value), CerifyError)
            continue
        assert found(q, data, rng, schema) == right, (show(q), data)
    assert typed > 20


def test_functions_that_find_matches_say_which_one_makes_tables() -> None:
    """Found by a trial: `match` took the clause, and Spark failed while it read the answer."""
    with pytest.raises(Unsupported, match=r"use cerify\.spark\.match_recognize"):
        _ = SparkQuery("MATCH_RECOGNIZE (PATTERN (A))", "row-pattern").parsed


def test_a_column_with_the_name_of_the_workers_own() -> None:
    q = parse("""MATCH_RECOGNIZE (PARTITION BY cerify_partition ORDER BY n MEASURES LAST(cerify_partition) AS m
        ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS cerify_partition > 0)""")
    schema = pa.schema([("cerify_partition", pa.int64()), ("n", pa.int64())])
    data = [(key, n) for key in (0, 1, 7) for n in range(3)]
    assert found(q, data, Random(0), schema) == expected(q, data, schema)


def test_a_name_that_no_column_has() -> None:
    assert rows.unused("cerify_row", ["a"]) == "cerify_row"
    assert rows.unused("cerify_row", ["Cerify_Row", "cerify_row_"]) == "cerify_row__"


def test_the_sum_of_a_column_without_values_is_null() -> None:
    q = parse("MATCH_RECOGNIZE (PARTITION BY t ORDER BY n MEASURES SUM(x) AS s, AVG(x) AS a PATTERN (A B))")
    schema = pa.schema([("t", pa.int64()), ("n", pa.int64()), ("x", pa.int64())])
    data = [(0, n, None) for n in range(4)]
    assert found(q, data, Random(0), schema) == expected(q, data, schema)
