"""Examples of Oracle's Data Warehousing Guide, "SQL for Pattern Matching", with the results that it describes."""

from itertools import permutations

import pytest

from cerify.automata.row_pattern import evaluate
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern import interpreter
from cerify.semantics.row_pattern.output import Output
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.campaigns.row_patterns import Finder
from proofs_tests.unit.semantics.row_pattern.tables import table

PRICES = (12, 17, 19, 21, 25, 12, 15, 20, 24, 25, 19, 15, 25, 25, 14, 12, 14, 24, 23, 22)
TICKER = table("symbol tstamp price", *(("ACME", day, price) for day, price in enumerate(PRICES, 1)))
V, W = "STRT DOWN+ UP+", "STRT DOWN+ UP+ DOWN+ UP+"


@pytest.fixture(params=[interpreter.answers, evaluate.answers], ids=["definition", "automaton"])
def find(request: pytest.FixtureRequest) -> Finder:
    found: Finder = request.param
    return found


def shown(find: Finder, measures: str, rows: str, pattern: str = V) -> list[tuple[object, ...]]:
    """The rows of the output, without the symbol."""
    q = parse(
        f"""MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY tstamp MEASURES {measures} {rows} PER MATCH
        AFTER MATCH SKIP TO LAST UP PATTERN ({pattern})
        DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price))"""
    )
    return [row[1:] for row in Output(q, TICKER).rows(find(q, TICKER))]


def test_one_row_for_each_v(find: Finder) -> None:
    """A row may be in two matches: the end of one is the start of the next, on the 10th."""
    measures = "STRT.tstamp AS start_tstamp, LAST(DOWN.tstamp) AS bottom_tstamp, LAST(UP.tstamp) AS end_tstamp"
    assert shown(find, measures, "ONE ROW") == [(5, 6, 10), (10, 12, 13), (14, 16, 18)]


def test_all_rows_of_each_v(find: Finder) -> None:
    measures = (
        "FINAL LAST(DOWN.tstamp) AS bottom, FINAL LAST(UP.tstamp) AS top, MATCH_NUMBER() AS n, CLASSIFIER() AS var"
    )
    labels = {1: "STRT DOWN UP UP UP UP", 2: "STRT DOWN DOWN UP", 3: "STRT DOWN DOWN UP UP"}
    ends = {1: (6, 10), 2: (12, 13), 3: (16, 18)}
    starts = {1: 5, 2: 10, 3: 14}
    expected = [
        (starts[n] + k, *ends[n], n, label, PRICES[starts[n] + k - 1])
        for n in labels
        for k, label in enumerate(labels[n].split())
    ]
    assert shown(find, measures, "ALL ROWS") == expected


def test_aggregates_of_a_variable_and_of_all_rows(find: Finder) -> None:
    measures = """FINAL COUNT(UP.tstamp) AS up_days, FINAL COUNT(tstamp) AS total_days,
        RUNNING COUNT(tstamp) AS cnt_days, price - STRT.price AS price_dif"""
    assert [row[1:5] for row in shown(find, measures, "ALL ROWS")] == [
        (4, 6, 1, 0), (4, 6, 2, -13), (4, 6, 3, -10), (4, 6, 4, -5), (4, 6, 5, -1), (4, 6, 6, 0),
        (1, 4, 1, 0), (1, 4, 2, -6), (1, 4, 3, -10), (1, 4, 4, 0),
        (2, 5, 1, 0), (2, 5, 2, -11), (2, 5, 3, -13), (2, 5, 4, -11), (2, 5, 5, -1),
    ]  # fmt: skip


def test_one_w(find: Finder) -> None:
    measures = "MATCH_NUMBER() AS n, STRT.tstamp AS start_tstamp, FINAL LAST(UP.tstamp) AS end_tstamp"
    assert {row[1:4] for row in shown(find, measures, "ALL ROWS", W)} == {(1, 5, 13)}


WAVE = (1000, 775, 900, 775, 900, 775, 900, 775, 800, 550, 900, 800, 1100, 800, 550, 800, 875, 950, 600, 300)
CLICKS = {
    "Mary": (1, 11, 23, 34, 44, 53, 63),
    "Richard": (3, 13, 23, 33, 43, 54, 63),
    "Sam": (2, 12, 22, 32, 43, 47, 48, 59, 60, 68),
}


def output(find: Finder, body: str, S: Stream) -> list[tuple[object, ...]]:
    """The rows of the output table of a clause."""
    q = parse(f"MATCH_RECOGNIZE ({body})")
    return list(Output(q, S).rows(find(q, S)))


def test_running_and_final_aggregates(find: Finder) -> None:
    body = """MEASURES RUNNING AVG(A.price) AS r, FINAL AVG(A.price) AS f ALL ROWS PER MATCH
        PATTERN (A+) DEFINE A AS A.price >= AVG(A.price)"""
    shown = output(find, body, table("price", (10,), (16,), (13,), (9,)))
    assert shown == [(10, 13, 10), (13, 13, 16), (13, 13, 13), (9, 9, 9)]  # the fourth row is a match of its own


def test_the_aggregate_of_an_optional_variable(find: Finder) -> None:
    body = """MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH
        PATTERN (A? B+) DEFINE A AS A.price > 100, B AS B.price > COUNT(A.*) * 50"""
    assert output(find, body, table("price", (60,), (70,), (40,))) == [("B", 60), ("B", 70), ("B", 40)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("FIRST(A.price, 0)", 10),
        ("FIRST(A.price, 1)", 30),
        ("FIRST(A.price, 2)", 50),
        ("FIRST(A.price, 3)", None),
        ("LAST(A.price, 2)", 10),
        ("LAST(A.price, 1)", 30),
        ("LAST(A.price)", 50),
        ("PREV(B.price, 1)", 10),
        ("PREV(B.price, 2)", None),
        ("NEXT(B.price, 2)", 40),
    ],
)
def test_navigation(find: Finder, expression: str, value: int | None) -> None:
    S = table("price", *((price,) for price in (10, 20, 30, 40, 50)))
    assert output(find, f"MEASURES {expression} AS e PATTERN (A B A C A)", S) == [(value,)]


def test_nested_navigation(find: Finder) -> None:
    """The last row but one of A, three rows back: before the match."""
    S = table("price tax", *((10 * n, n) for n in range(1, 7)))
    body = "MEASURES PREV(LAST(A.price + A.tax, 1), 3) AS e PATTERN (A B A C A) DEFINE A AS price > 10"
    assert output(find, body, S) == [(11,)]


def test_price_dips(find: Finder) -> None:
    S = table("day price", *((day, float(price)) for day, price in enumerate(WAVE, 1)))
    body = """ORDER BY day MEASURES B.day AS dip, ((B.price - A.price) * 100) / A.price AS drop
        AFTER MATCH SKIP TO B PATTERN (A B) DEFINE B AS (B.price - A.price) / A.price < -0.08"""
    shown = output(find, body, S)
    assert [row[0] for row in shown] == [2, 4, 6, 8, 10, 12, 14, 15, 19, 20]
    assert [shown[n][1] for n in (0, 4, 9)] == [-22.5, -31.25, -50]


def test_sessions_of_clicks(find: Finder) -> None:
    S = table("at user", *((at, user) for user, times in CLICKS.items() for at in times))
    body = """PARTITION BY user ORDER BY at MEASURES MATCH_NUMBER() AS n, FIRST(at) AS start, COUNT(*) AS events,
        LAST(at) - FIRST(at) AS duration PATTERN (B S*) DEFINE S AS at - PREV(at) <= 10"""
    assert output(find, body, S) == [
        ("Mary", 1, 1, 2, 10), ("Mary", 2, 23, 1, 0), ("Mary", 3, 34, 4, 29), ("Richard", 1, 3, 5, 40),
        ("Richard", 2, 54, 2, 9), ("Sam", 1, 2, 4, 30), ("Sam", 2, 43, 3, 5), ("Sam", 3, 59, 3, 9),
    ]  # fmt: skip


def test_permute(find: Finder) -> None:
    orders = "X{3} B C? D | X{3} D B C? | B C? X{3} D | B C? D X{3} | D X{3} B C? | D B C? X{3}"
    define = "DEFINE X AS p <= 2, B AS p >= 2, C AS p = 3, D AS p = 2"
    for prices in sorted({*permutations((1, 1, 2, 2, 3, 2))}):
        S = table("p", *((price,) for price in prices))
        measures = "MEASURES FIRST(D.p) AS d, COUNT(*) AS n"
        bodies = [f"{measures} PATTERN ({p}) {define}" for p in ("PERMUTE(X{3}, B C?, D)", orders)]
        assert output(find, bodies[0], S) == output(find, bodies[1], S)
