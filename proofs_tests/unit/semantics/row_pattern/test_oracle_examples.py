"""Examples 20-1 to 20-4 of Oracle's Data Warehousing Guide (12.1), "SQL for Pattern Matching": V and W shapes."""

import pytest

from cerify.automata.row_pattern import evaluate
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
