"""MATCH_RECOGNIZE in compiled loops over columns: as the definition, and as the readable automaton."""

import math
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from cerify.automata.row_pattern import compiled, evaluate
from cerify.automata.row_pattern.columns import ColumnConditions, PartitionedTable
from cerify.automata.row_pattern.compile import MOST_STATES, truths
from cerify.equivalence.generate.row_pattern import PROFILES, _Maker, case
from cerify.languages import LANGUAGES
from cerify.languages.language import Options
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import column_values
from cerify.semantics.row_pattern.syntax import ROW, show
from cerify.semantics.values import Value
from proofs_tests.campaigns.row_patterns import JUDGED, answer, compared
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_tables import table

pytest.importorskip("numba")


@pytest.mark.parametrize("cases", sampled([70, 10_000], [70]))
def test_the_definition_and_the_loops_agree(cases: int) -> None:
    kinds, difference = compared(range(cases), JUDGED)
    assert difference == ""
    assert min(kinds[kind] for kind in ("matched", "none", "ill_formed")) > 5


INTS: list[Value] = [0, 1, -1, 2, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
FLOATS: list[Value] = [0.0, -0.0, 0.5, -1.5, 1.0, 2.0**53, 1e308, 5e-324, math.inf, -math.inf, math.nan]
TIMES: list[Value] = [
    datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), datetime.max,
]  # fmt: skip
WORDS: list[Value] = ["", "a", "ab", "b", "Z", "\u00e9", "\U0001f600", "2020-01-01", "1"]
POOLS: list[list[Value]] = [INTS, FLOATS, WORDS, [True, False], TIMES, [*INTS, *FLOATS], [1, "1", True, 0.5], []]


def columns(rng: Random, length: int) -> Stream:
    """A table whose columns are of any type, of several, or of none."""
    pools = {name: rng.choice(POOLS) for name in "xyz"}

    def row() -> Event:
        values = {name: rng.choice(pool) for name, pool in pools.items() if pool and rng.random() > 0.2}
        return Event(ROW, {"p": rng.randrange(3), **values})

    return Stream(row() for _ in range(length))


TEXTS = (
    "x < y", "x = PREV(y)", "x + y > NEXT(x, 2)", "x * y <> x - y", "x / y >= 1", "x / y < 0.5", "x % y = 1",
    "-x < ABS(y)",
    "z || z = 'aa'", "z LIKE 'a%'", "z LIKE z", "COALESCE(x, y, z) = x", "CASE WHEN x > y THEN x ELSE y END >= x",
    "CASE WHEN x IS NULL THEN 'a' ELSE z END = 'a'", "x IN (1, y, 0.5, NULL)", "x NOT IN (1, 2)", "x BETWEEN y AND z",
    "CAST(x AS VARCHAR) = z", "CAST(x AS BIGINT) = y", "CAST(x AS DOUBLE) < y", "CAST(z AS TIMESTAMP) = x", "x",
    "CAST(x AS BOOLEAN)", "NOT (x < y OR y < z)", "x > 9007199254740993", "x < 1e300", "CLASSIFIER() = 'A' AND x = y",
    "PREV(x + 1, 3) IS NULL", "PREV(COALESCE(x, 1), 1) = 1", "NEXT(CASE WHEN x > 1 THEN 1 ELSE 0 END) = 0",
    "x > 99999999999999999999", "missing IS NULL", "x - PREV(x) > 10 AND z = PREV(z)", "1 = 1", "NULL",
    "x || y IS NULL", "x - y <= INTERVAL '1' HOUR", "x - PREV(x) > INTERVAL '0' SECOND", "x + INTERVAL '1' DAY > y",
    "x - INTERVAL '9999' DAY < y", "(x - y) * 2 <> y - x", "(x - y) / 2 = ABS(x - y)", "- (x - y) >= x - NEXT(y)",
    "(x - y) + (y - x) = INTERVAL '0' DAY", "EXTRACT(HOUR FROM x) = 0", "EXTRACT(DAY FROM x - y) > 1",
    "DATE_TRUNC('year', x) = y", "ROUND(x, 1) = FLOOR(y)", "UPPER(z) = z", "x - y IS NULL",
    "CAST(x - y AS VARCHAR) = 'PT0S'",
    "x + (y - x) = y", "COALESCE(x - y, INTERVAL '1' DAY) = INTERVAL '1' DAY",
)  # fmt: skip


@pytest.mark.parametrize("seed", sampled(range(6), range(0, 6, 3)))
def test_conditions_on_columns_are_those_on_rows(seed: int) -> None:
    """Of all types, at their limits, where Arrow's arithmetic and comparisons are not those of the rows."""
    rng = Random(seed)
    make = _Maker(rng, ["A"], PROFILES["everything"])
    clause = "MATCH_RECOGNIZE ({} PATTERN (A) DEFINE A AS {})"
    for partition in ("", "PARTITION BY p"):
        conditions = [parse(clause.format(partition, text)).conditions["A"] for text in TEXTS]
        conditions += [make.condition(0, 3) for _ in range(30)]
        S = columns(rng, 40)
        q = parse(clause.format(partition, "x = 1"))
        made = PartitionedTable.from_stream(q, S)
        lists, bounds = made.lists, made.starts.tolist()
        for e in conditions:
            expected: list[bool] = []
            for start, end in pairwise(bounds):
                own = {name: values[start:end] for name, values in lists.items()}
                expected += truths(e, "A", own, end - start)
            assert ColumnConditions(made).truths(e, "A").tolist() == expected, e


@pytest.mark.parametrize("seed", range(20))
def test_partitions_of_columns_are_those_of_rows(seed: int) -> None:
    rng = Random(seed)
    S = columns(rng, 30)
    for by in ("", "PARTITION BY x", "PARTITION BY y, p", "PARTITION BY x, y, z"):
        for order in ("", "ORDER BY x", "ORDER BY x DESC", "ORDER BY y NULLS FIRST, z DESC NULLS LAST", "ORDER BY p"):
            q = parse(f"MATCH_RECOGNIZE ({by} {order} PATTERN (A))")
            made = PartitionedTable.from_stream(q, S)
            places = np.split(made.positions, made.starts[1:-1])
            assert [part.tolist() for part in places] == evaluate.partitions(q, column_values(S), len(S)), (by, order)


def test_a_table_in_order_is_not_sorted() -> None:
    S = table("x y", (1, 3), (1, 2), (2, 2))
    for order, kept in (("x", True), ("y DESC", True), ("x DESC", False), ("y", False)):
        made = PartitionedTable.from_stream(parse(f"MATCH_RECOGNIZE (ORDER BY {order} PATTERN (A))"), S)
        assert (made.order is None) == kept


def test_patterns_of_several_words_and_planes() -> None:
    """More than 64 states, and more than 8 conditions."""
    names = [f"V{n}" for n in range(12)]
    defined = ", ".join(f"{name} AS x = {n}" for n, name in enumerate(names))
    for pattern in (" ".join(names * 7), f"({' | '.join(names)}){{1,8}} V3", "(V1 V2? V3*?){30} V4?"):
        q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE {defined})")
        S = table("x", *((n,) for n in [*range(12)] * 9))
        expected = answer(evaluate.find_matches, q, S)
        assert answer(compiled.find_matches, q, S) == expected
        assert len(expected) > (0 if "{30}" not in pattern else -1)


@pytest.mark.parametrize(
    ("skip", "pattern", "length"),
    [
        ("PAST LAST ROW", "A", 70),
        ("TO NEXT ROW", "A+", 40),
        ("TO LAST A", "A A", 70),
        ("PAST LAST ROW", "()", 70),
    ],
)
def test_arrays_that_are_full_are_emptied(skip: str, pattern: str, length: int) -> None:
    """Of matches, and of the labels of their rows; with the second partition they begin anew."""
    q = parse(f"MATCH_RECOGNIZE (PARTITION BY p AFTER MATCH SKIP {skip} PATTERN ({pattern}))")
    S = table("p", *((n >= length - 3,) for n in range(length)))
    run = compiled.CompiledRun(q, S)
    blocks = [(b.begins.copy(), b.numbers.copy(), b.offsets.copy()) for b in run.blocks(16)]
    assert len(blocks) > 1
    begins, numbers = (np.concatenate([block[k] for block in blocks]) for k in (0, 1))
    sizes = np.concatenate([np.diff(block[2]) for block in blocks])
    expected = list(evaluate.find_matches(q, S))
    assert numbers.tolist() == [m.match_number for m in expected]
    assert begins.tolist() == [m.events[0] if m.events else m.at for m in expected]
    assert sizes.tolist() == [len(m.events) for m in expected]
    assert run.count() == len(expected)


def test_the_states_of_a_large_partition_end_in_an_error() -> None:
    q = parse("MATCH_RECOGNIZE (PARTITION BY p PATTERN (A{70}))")
    S = table("p", *((n % 2,) for n in range(200)))  # two words for each of 101 rows
    with pytest.raises(BudgetExceeded, match="100 rows and a pattern of 70 states"):
        compiled.CompiledRun(q, S, Budget(valuations=3)).count()
    assert compiled.CompiledRun(q, S, Budget(valuations=4)).count() == 2


def test_what_it_refuses() -> None:
    q = parse("MATCH_RECOGNIZE (PATTERN (A+ B) DEFINE B AS x > FIRST(A.x))")
    with pytest.raises(Unsupported, match="the match so far"):
        compiled.CompiledRun(q, table("x", (1,)))
    q = parse(f"MATCH_RECOGNIZE (PATTERN (A{{{MOST_STATES + 1}}}))")
    with pytest.raises(Unsupported, match=f"{MOST_STATES + 1} states"):
        compiled.CompiledRun(q, table("x", (1,)))


@pytest.mark.parametrize("seeds", sampled([range(50), range(50, 10_000)], [range(50)]))
def test_the_output_table_of_the_loops_is_that_of_the_definition(seeds: range) -> None:
    evaluators, compared, pandas = LANGUAGES["row-pattern"].evaluators, 0, pytest.importorskip("pandas")
    for seed in seeds:
        q, S = case(Random(seed), PROFILES["columns"], 10, 12)
        try:
            expected = evaluators.output_table(q, S, evaluators.matches(q, S), Options())
        except CerifyError:
            continue
        for stream in (S, Stream.from_table(S.table)):
            found = evaluators.table_by_loops(q, stream, Options())
            if found is not None:
                compared += 1
                assert (repr(found.columns), repr(found.rows)) == (repr(expected.columns), repr(expected.rows)), show(q)
                assert len(found) == len(expected)
                pandas.testing.assert_frame_equal(found.to_pandas(), expected.to_pandas())
                assert found.to_arrow().equals(expected.to_arrow())
    assert compared > len(seeds) / 2
