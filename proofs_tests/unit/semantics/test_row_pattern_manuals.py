"""MATCH_RECOGNIZE as manuals show it: the examples of Oracle's and Trino's pages, with the rows they print."""

from __future__ import annotations

from itertools import permutations

import pytest

from cerify.automata.row_pattern import evaluate
from cerify.semantics.errors import IllFormed, ParseError
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern import interpreter
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.campaigns.row_patterns import Finder
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_tables import labels, numbered, rows, table

# ---- oracle examples ----
# Examples of Oracle's Data Warehousing Guide, "SQL for Pattern Matching", with the results that it describes.
#
# Days and minutes are numbers here. Left out are those on a log of failed logins.

PRICES = (12, 17, 19, 21, 25, 12, 15, 20, 24, 25, 19, 15, 25, 25, 14, 12, 14, 24, 23, 22)
TICKER = table("symbol tstamp price", *(("ACME", day, price) for day, price in enumerate(PRICES, 1)))
V, W = "STRT DOWN+ UP+", "STRT DOWN+ UP+ DOWN+ UP+"


@pytest.fixture(params=[interpreter.find_matches, evaluate.find_matches], ids=["definition", "automaton"])
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
    return [row[1:] for row in RowOutput(q, TICKER).rows(find(q, TICKER))]


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
    return list(RowOutput(q, S).rows(find(q, S)))


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


@pytest.mark.parametrize("step", sampled([4, 1], [4]))
def test_permute(find: Finder, step: int) -> None:
    orders = "X{3} B C? D | X{3} D B C? | B C? X{3} D | B C? D X{3} | D X{3} B C? | D B C? X{3}"
    define = "DEFINE X AS p <= 2, B AS p >= 2, C AS p = 3, D AS p = 2"
    for prices in sorted({*permutations((1, 1, 2, 2, 3, 2))})[::step]:
        S = table("p", *((price,) for price in prices))
        measures = "MEASURES FIRST(D.p) AS d, COUNT(*) AS n"
        bodies = [f"{measures} PATTERN ({p}) {define}" for p in ("PERMUTE(X{3}, B C?, D)", orders)]
        assert output(find, bodies[0], S) == output(find, bodies[1], S)


def test_a_union_of_variables(find: Finder) -> None:
    body = """PARTITION BY symbol ORDER BY tstamp
        MEASURES FIRST(STRT.tstamp) AS strt, LAST(DOWN.tstamp) AS bottom, AVG(STDN.price) AS average
        AFTER MATCH SKIP TO LAST UP PATTERN (STRT DOWN+ UP+) SUBSET STDN = (STRT, DOWN)
        DEFINE UP AS UP.price > PREV(UP.price), DOWN AS DOWN.price < PREV(DOWN.price)"""
    assert output(find, body, TICKER) == [("ACME", 5, 6, 18.5), ("ACME", 10, 12, 59 / 3), ("ACME", 14, 16, 17)]


def test_rising_prices_without_what_surrounds_them(find: Finder) -> None:
    body = """PARTITION BY symbol ORDER BY tstamp
        MEASURES FINAL AVG(S.price) AS average, CLASSIFIER() AS c, MATCH_NUMBER() AS n ALL ROWS PER MATCH
        AFTER MATCH SKIP TO LAST B PATTERN ({- A -} B+ {- C+ -}) SUBSET S = (A, B)
        DEFINE A AS A.price >= 10, B AS B.price > PREV(B.price), C AS C.price <= PREV(C.price)"""
    shown = [(day, average, label, n) for _, day, average, label, n, _ in output(find, body, TICKER)]
    days = {1: (18.8, 2, 3, 4, 5), 2: (19.2, 7, 8, 9, 10), 3: (20, 13), 4: (50 / 3, 17, 18)}
    assert shown == [(day, average, "B", n) for n, (average, *its) in days.items() for day in its]


DAYS = table("day price", *((day, float(price)) for day, price in enumerate(WAVE, 1)))


def test_dips_until_the_price_has_returned(find: Finder) -> None:
    body = """ORDER BY day MEASURES A.day AS start, A.price AS high, B.price AS low, COUNT(C.*) + 1 AS days,
        D.day AS finish, D.price AS back PATTERN (A B C* D) DEFINE B AS (B.price - A.price) / A.price < -0.08,
        C AS C.price < A.price, D AS D.price >= A.price"""
    assert output(find, body, DAYS) == [(1, 1000, 775, 11, 13, 1100), (14, 800, 550, 1, 16, 800)]


def test_v_and_u_shapes(find: Finder) -> None:
    prices = (*PRICES[:16], 12, *PRICES[17:])
    body = """ORDER BY day MEASURES STRT.day AS start, DOWN.day AS bottom, UP.day AS finish
        AFTER MATCH SKIP TO LAST UP PATTERN (STRT DOWN+ FLAT* UP+) DEFINE DOWN AS DOWN.price < PREV(DOWN.price),
        FLAT AS FLAT.price = PREV(FLAT.price), UP AS UP.price > PREV(UP.price)"""
    assert output(find, body, table("day price", *enumerate(prices, 1))) == [(5, 6, 10), (10, 12, 13), (14, 16, 18)]


def test_five_inverted_vs(find: Finder) -> None:
    """Elliott waves: of each row how many are labelled, and its label."""
    rises = ", ".join(f"{A} AS {A}.price {'><'[n % 2]} PREV({A}.price)" for n, A in enumerate("QRSTUVWXYZ"))
    body = f"""ORDER BY day MEASURES COUNT(*) AS k, COUNT(Q.*) AS q, CLASSIFIER() AS c ALL ROWS PER MATCH
        AFTER MATCH SKIP TO LAST Z PATTERN (P Q+ R+ S+ T+ U+ V+ W+ X+ Y+ Z+) DEFINE {rises}"""
    shown = [row[:4] for row in output(find, body, DAYS)]
    assert shown == [(k + 1, k, int(k > 1), label) for k, label in enumerate("PQRSTUVWXYZ", 1)]


WAVES = (
    36.25, 36.47, 36.36, 36.25, 36.36, 36.70, 36.50, 36.66, 36.98, 37.08, 37.43, 37.68, 37.66, 37.32, 37.16, 36.98,
    37.19, 37.45, 37.79, 37.49, 37.30, 37.08, 37.34, 37.54, 37.69, 37.60, 37.93, 38.17,
)  # fmt: skip


def test_waves_of_three_or_four_days(find: Finder) -> None:
    body = """ORDER BY day MEASURES V.day AS start, Z.day AS finish, COUNT(W.price) AS w, COUNT(X.price) AS x,
        COUNT(Y.price) AS y, COUNT(Z.price) AS z ALL ROWS PER MATCH
        AFTER MATCH SKIP TO LAST Z PATTERN (V W{3,4} X{3,4} Y{3,4} Z{3,4}) DEFINE W AS W.price > PREV(W.price),
        X AS X.price < PREV(X.price), Y AS Y.price > PREV(Y.price), Z AS Z.price < PREV(Z.price)"""
    shown = output(find, body, table("day price", *enumerate(WAVES, 1)))
    assert [row[0] for row in shown] == [*range(8, 23)]
    assert [shown[n][1:7] for n in (0, 4, 8, 11, 14)] == [
        (8, None, 0, 0, 0, 0), (8, None, 4, 0, 0, 0), (8, None, 4, 4, 0, 0), (8, None, 4, 4, 3, 0), (8, 22, 4, 4, 3, 3),
    ]  # fmt: skip


def test_w_shapes_that_overlap(find: Finder) -> None:
    """The search goes on in the middle of a match."""
    body = """ORDER BY day MEASURES MATCH_NUMBER() AS n, P.day AS start, T.day AS finish, MIN(Q.price) AS q,
        MAX(R.price) AS r AFTER MATCH SKIP TO LAST R PATTERN (P Q+ R+ S+ T+) DEFINE Q AS Q.price < PREV(Q.price),
        R AS R.price > PREV(R.price), S AS S.price < PREV(S.price), T AS T.price > PREV(T.price)"""
    assert output(find, body, DAYS) == [
        (1, 1, 5, 775, 900), (2, 3, 7, 775, 900), (3, 5, 9, 775, 900), (4, 7, 11, 775, 800), (5, 9, 13, 550, 900),
        (6, 11, 18, 800, 1100),
    ]  # fmt: skip


def test_three_large_transactions_within_an_hour(find: Finder) -> None:
    minutes = (0, 5, 10, 11, 16, 19, 20, 33, 36, 48, 59, 69, 79, 89)
    volumes = (35, 15, 5, 42, 7, 5, 5, 55, 15, 15, 15, 55, 55, 15)
    body = """ORDER BY at MEASURES SUM(A.volume) AS large ALL ROWS PER MATCH PATTERN (A {- B* -} A {- B* -} A)
        DEFINE A AS A.volume > 30 AND A.at - FIRST(A.at) < 60, B AS B.volume <= 30 AND B.at - FIRST(A.at) < 60"""
    S = table("at volume", *zip(minutes, volumes, strict=True))
    assert output(find, body, S) == [(0, 35, 35), (11, 77, 42), (33, 132, 55)]


CALLS = (
    (1354, 1575), (1603, 1829), (1857, 2301), (2320, 2819), (2840, 2964), (64342, 64457), (85753, 85790),
    (85808, 85985), (86011, 86412), (86437, 86546), (163436, 163505), (163534, 163967), (163982, 164454),
)  # fmt: skip


def test_calls_that_were_dropped(find: Finder) -> None:
    body = """PARTITION BY caller ORDER BY start MEASURES A.start AS first, "end" - A.start AS whole,
        SUM("end" - start) AS effective, COUNT(B.*) AS restarts, MATCH_NUMBER() AS n
        PATTERN (A B*) DEFINE B AS B.start - PREV(B."end") < 60"""
    S = table("caller start end", *((1, *call) for call in CALLS))
    shown = [
        (start, effective, whole - effective, *more) for _, start, whole, effective, *more in output(find, body, S)
    ]
    assert shown == [(1354, 1514, 96, 4, 1), (64342, 115, 0, 0, 2), (85753, 724, 69, 3, 3), (163436, 974, 44, 2, 4)]


TRANSFERS = (
    (1, 1_000_000, "deposit", None), (5, 1_200_000, "deposit", None), (6, 1000, "transfer", "bob"),
    (15, 1500, "transfer", "bob"), (20, 1500, "transfer", "allen"), (23, 1000, "transfer", "tim"),
    (26, 1_000_000, "transfer", "tim"), (27, 500_000, "deposit", None),
)  # fmt: skip


def test_suspicious_transfers(find: Finder) -> None:
    """Small ones to several others, then a large one: {15, 20, 23}, as two in a row to the same do not count."""
    S = table("at amount event to", *(row for row in TRANSFERS if row[2] == "transfer"))
    body = """ORDER BY at MEASURES FIRST(at) AS first, Y.at AS last, Y.amount AS amount
        PATTERN ({}) DEFINE Z AS event = 'transfer' AND amount < 2000, X AS event = 'transfer' AND amount <= 2000 {},
        Y AS event = 'transfer' AND amount >= 1000000 AND LAST(X.at) - FIRST(at) < 30 AND Y.at - LAST(X.at) < 10 {}"""
    others = 'AND PREV(X."to") <> X."to"'
    assert output(
        find, body.format("X{3,} Y", "", "").replace("Z AS event = 'transfer' AND amount < 2000, ", ""), S
    ) == [(6, 26, 1_000_000)]
    assert output(find, body.format("Z X{2,} Y", others, "AND SUM(X.amount) + Z.amount < 20000"), S) == [
        (15, 26, 1_000_000)
    ]


# ---- trino page ----
# The page of Trino's documentation on MATCH_RECOGNIZE: each of its examples, and what it says of them.
#
# It prints no results; aggregates other than COUNT, SUM, AVG, MIN and MAX are left out.

V_SHAPE = """MATCH_RECOGNIZE(
     PARTITION BY custkey
     ORDER BY orderdate
     MEASURES
              A.totalprice AS starting_price,
              LAST(B.totalprice) AS bottom_price,
              LAST(U.totalprice) AS top_price
     ONE ROW PER MATCH
     AFTER MATCH SKIP PAST LAST ROW
     PATTERN (A B+ C+ D+)
     SUBSET U = (C, D)
     DEFINE
              B AS totalprice < PREV(totalprice),
              C AS totalprice > PREV(totalprice) AND totalprice <= A.totalprice,
              D AS totalprice > PREV(totalprice)
     )"""
ORDERS = table(
    "custkey orderdate totalprice",
    *((k, d, p) for k, prices in ((1, (90, 80, 70, 80, 90, 95)), (2, (50, 40, 45))) for d, p in enumerate(prices)),
)


def test_a_v_shape_past_the_starting_point() -> None:
    q = parse(V_SHAPE)
    for find in (interpreter.find_matches, evaluate.find_matches):
        assert list(RowOutput(q, ORDERS).rows(find(q, ORDERS))) == [(1, 90, 70, 95)]
    shown = V_SHAPE.replace("ONE ROW", "ALL ROWS").replace("A B+ C+ D+", "A {- B+ C+ -} D+")
    assert rows(shown, ORDERS) == [(1, 0, 90, None, None, 90), (1, 5, 90, 70, 95, 95)]


EXPRESSIONS = (
    "A.totalprice", "U.orderdate", "orderstatus", "CLASSIFIER()", "CLASSIFIER(A)", "CLASSIFIER(U)", "MATCH_NUMBER()",
    "FIRST(A.totalprice, 2)", "LAST(A.totalprice, 2)", "PREV(A.totalprice, 2)", "NEXT(A.totalprice, 2)",
    "PREV(FIRST(A.totalprice, 3), 2)", "LAST('pattern_variable_' || CLASSIFIER())", "NEXT(U.totalprice + 10)",
    "LAST(CLASSIFIER() = 'A' OR totalprice > 10)", "LAST(CLASSIFIER(U) = 'A' OR U.totalprice > 10)",
    "avg(A.totalprice)", "avg(U.totalprice)", "avg(totalprice)", "count(*)", "count()", "count(totalprice)",
    "count(A.totalprice)", "count(A.*)", "count(U.*)", "count(1)", "RUNNING LAST(A.totalprice)",
    "FINAL LAST(A.totalprice)",
    "RUNNING avg(A.totalprice)", "FINAL count(A.*)",
)  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_that_are_correct(expression: str) -> None:
    require_wellformed(parse(f"MATCH_RECOGNIZE (MEASURES {expression} AS e PATTERN (A B) SUBSET U = (A, B))"))


@pytest.mark.parametrize("expression", ["LAST(1)", "LAST(A.totalprice + B.totalprice)", "SUM(LAST(totalprice))"])
def test_expressions_that_are_not(expression: str) -> None:
    with pytest.raises((IllFormed, ParseError)):
        require_wellformed(parse(f"MATCH_RECOGNIZE (MEASURES {expression} AS e PATTERN (A B))"))
    with pytest.raises(IllFormed, match="FINAL needs the whole match"):
        require_wellformed(parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS FINAL LAST(x) > 1)"))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("A B C", "1:ABC"),
        ("A | B | C", "1:A 2:A 3:A"),
        ("PERMUTE(A, B, C)", "1:ABC"),
        ("^ A", "1:A"),
        ("A $", "3:A"),
        ("()", "1: 2: 3:"),
        ("A{,}", "1:AAA"),
        ("A{2}", "1:AA"),
        ("A{1,2}", "1:AA 3:A"),
        ("A{1,2}?", "1:A 2:A 3:A"),
        ("A{,2}", "1:AA 3:A"),
        ("A?", "1:A 2:A 3:A"),
        ("A??", "1: 2: 3:"),
    ],
)
def test_patterns(pattern: str, found: str) -> None:
    assert labels(f"MATCH_RECOGNIZE (PATTERN ({pattern}))", numbered("1 2 3")) == found.split()


@pytest.mark.parametrize(
    ("skip", "message"), [("TO A", "the first row of match 1"), ("TO LAST C", "match 1 has no row of it")]
)
def test_skips_that_fail(skip: str, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        labels(f"MATCH_RECOGNIZE (AFTER MATCH SKIP {skip} PATTERN (A B C?) DEFINE C AS id < 0)", numbered("1 2 3"))


def test_an_empty_match_and_an_unmatched_row() -> None:
    measures = "MATCH_NUMBER() AS n, CLASSIFIER() AS c, value AS v, LAST(value) AS l, COUNT(*) AS k, SUM(value) AS s"
    body = f"MEASURES {measures} ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN ({{}}) DEFINE A AS value > 5"
    S = numbered("1 7")
    empty, full = (1, None, None, None, 0, None), ("A", 7, 7, 1, 7)
    assert [row[:6] for row in rows(f"MATCH_RECOGNIZE ({body.format('A?')})", S)] == [empty, (2, *full)]
    assert [row[:6] for row in rows(f"MATCH_RECOGNIZE ({body.format('A')})", S)] == [(None,) * 6, (1, *full)]
