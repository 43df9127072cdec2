"""The labellings that patterns prefer, and where the search goes on.

Tables and results are those of the tests and of the documentation of Trino 435, which the definition has to give.
"""

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.unit.semantics.row_pattern.tables import FALLING, found, labels, numbered, rows, table

FELL = "B AS B.value < PREV(B.value)"


def matched(pattern: str, define: str, values: str = FALLING, rest: str = "") -> list[str]:
    return labels(f"MATCH_RECOGNIZE (ORDER BY id {rest} PATTERN ({pattern}) DEFINE {define})", numbered(values))


@pytest.mark.parametrize(
    ("pattern", "define", "expected"),
    [
        ("() | A", "A AS true", "1: 2: 3: 4:"),
        ("^A", "A AS true", "1:A"),
        ("A^", "A AS true", ""),
        ("^A^", "A AS true", ""),
        ("A$", "A AS true", "4:A"),
        ("$A", "A AS true", ""),
        ("A B C", f"{FELL}, C AS C.value = PREV(C.value)", "2:ABC"),
        ("B | C | A", f"{FELL}, C AS C.value <= PREV(C.value)", "1:A 2:B 3:B 4:C"),
        ("PERMUTE(B, C)", f"{FELL}, C AS C.value < PREV(C.value)", "2:BC"),
        ("((A) (B (C)))", f"{FELL}, C AS C.value = PREV(C.value)", "2:ABC"),
    ],
)
def test_each_operator_of_patterns(pattern: str, define: str, expected: str) -> None:
    assert matched(pattern, define) == expected.split()


@pytest.mark.parametrize(
    ("quantified", "expected"),
    [
        ("B* B{,} B{0,}", "1: 2:BBB"),
        ("B*? B{,}? B?? B{,1}? B{,2}? B{,5}?", "1: 2: 3: 4:"),
        ("B+ B{1,} B{2,} B{1,5}", "2:BBB"),
        ("B+? B{1,}? B{1,1} B{1,1}? B{1,5}? B{1} B{1}?", "2:B 3:B 4:B"),
        ("B? B{,1}", "1: 2:B 3:B 4:B"),
        ("B{2,}? B{2} B{2}?", "2:BB"),
        ("B{,2}", "1: 2:BB 4:B"),
        ("B{5,} B{5,}? B{5,7} B{5,7}? B{5}", ""),
        ("B{0} B{0}?", "1: 2: 3: 4:"),
    ],
)
def test_each_quantifier(quantified: str, expected: str) -> None:
    for pattern in quantified.split():
        assert matched(pattern, "B AS B.value <= PREV(B.value)") == expected.split(), pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("()* | B", "1: 2: 3: 4:"),
        ("()+ | B", "1: 2: 3: 4:"),
        ("(){5,} | B", "1: 2: 3: 4:"),
        ("B | ()*", "1: 2:B 3:B 4:"),
        ("(B ()*)*", "1: 2:BB 4:"),
        ("(B ()*)*?", "1: 2: 3: 4:"),
        ("^* | B", "1: 2: 3: 4:"),
        ("^+ | B", "1: 2:B 3:B"),
        ("^* A B", "1:AB"),
        ("$+ | B", "2:B 3:B"),
        ("B A $+", "3:BA"),
        ("((B)?){2}", "1: 2:BB 4:"),  # an iteration of no rows is one
        ("((B)??)?", "1: 2: 3: 4:"),  # and is preferred where the inner pattern prefers it
        ("((B)??)*", "1: 2: 3: 4:"),
        ("(B?){2,} A", "1:A 2:BBA"),
    ],
)
def test_iterations_of_no_rows(pattern: str, expected: str) -> None:
    assert matched(pattern, FELL) == expected.split()


SKIPPED = "B AS B.value < PREV(B.value), C AS C.value > PREV(C.value), D AS false"


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("PAST LAST ROW", "1:ABBC"),
        ("TO NEXT ROW", "1:ABBC 2:ABC 4:ABC"),
        ("TO FIRST C", "1:ABBC 4:ABC"),
        ("TO LAST B", "1:ABBC 4:ABC"),
        ("TO B", "1:ABBC 4:ABC"),
        ("TO U", "1:ABBC 4:ABC"),
    ],
)
def test_where_the_search_goes_on(to: str, expected: str) -> None:
    text = (
        f"MATCH_RECOGNIZE (ORDER BY id AFTER MATCH SKIP {to} PATTERN (A B+ C+ D?) SUBSET U = (C, D) DEFINE {SKIPPED})"
    )
    assert labels(text, numbered("90 80 70 80 70 80")) == expected.split()


@pytest.mark.parametrize(("to", "why"), [("A", "would match again"), ("D", "no row of match 1 is labelled D")])
def test_a_skip_that_leads_nowhere_is_an_error(to: str, why: str) -> None:
    text = f"MATCH_RECOGNIZE (ORDER BY id AFTER MATCH SKIP TO {to} PATTERN (A B+ C+ D?) DEFINE {SKIPPED})"
    with pytest.raises(IllFormed, match=why) as error:
        labels(text, numbered("90 80 70 80 70 80"))
    assert error.value.span is not None
    assert text[error.value.span.start : error.value.span.end] == f"AFTER MATCH SKIP TO {to}"


@pytest.mark.parametrize(
    ("define", "values", "expected"),
    [
        ("X AS value = A.value", "1 1", "1:AX"),
        ("X AS value = B.value", "1 1", "1:BX"),
        ("X AS value = PREV(LAST(A.value), 3) + FIRST(A.value) + PREV(LAST(B.value), 2)", "1 2 3 4 5 6", "1:BAAABX"),
    ],
)
def test_a_condition_looks_at_what_is_labelled(define: str, values: str, expected: str) -> None:
    assert matched("(A | B)* X", define, values) == expected.split()


def test_a_condition_looks_at_labels() -> None:
    condition = "PREV(CLASSIFIER(U), 1) = 'A' AND LAST(CLASSIFIER(), 3) = 'B' AND FIRST(CLASSIFIER(U)) = 'B'"
    text = f"""MATCH_RECOGNIZE (ORDER BY value MEASURES CLASSIFIER() AS c, {condition} AS d ALL ROWS PER MATCH
        PATTERN ((A | B)* X $) SUBSET U = (A, B) DEFINE X AS {condition})"""
    shown = [(1, "B", None), (2, "B", False), (3, "A", False), (4, "A", True), (5, "X", True)]
    assert rows(text, table("value", *((v,) for v in range(1, 6)))) == shown


def test_partitions_and_their_order() -> None:
    """The V shape of Trino's documentation; rows of one customer are in the order of their dates."""
    S = table(
        "custkey orderdate totalprice",
        ("cust_1", 11, 100), ("cust_1", 12, 200), ("cust_2", 13, 8), ("cust_1", 14, 100),
        ("cust_2", 15, 4), ("cust_1", 16, 50), ("cust_1", 17, 100), ("cust_2", 18, 6),
    )  # fmt: skip
    text = """MATCH_RECOGNIZE (
        PARTITION BY custkey ORDER BY orderdate
        MEASURES A.totalprice AS starting_price, LAST(B.totalprice) AS bottom_price, LAST(C.totalprice) AS top_price
        PATTERN (A B+ C+)
        DEFINE B AS totalprice < PREV(totalprice), C AS totalprice > PREV(totalprice) AND totalprice <= A.totalprice)"""
    assert rows(text, S) == [("cust_1", 200, 50, 100), ("cust_2", 8, 4, 6)]
    one, other = found(text, S)
    assert (one.events, one.match_number, one.at) == ((1, 3, 5, 6), 1, 6)
    assert (other.events, other.match_number, other.bindings) == ((2, 4, 7), 1, (("A", (2,)), ("B", (4,)), ("C", (7,))))


def test_the_order_puts_rows_that_tie_as_they_come() -> None:
    S = table("k", (2,), (1,), (2,), (None,))
    assert found("MATCH_RECOGNIZE (ORDER BY k PATTERN (A+))", S)[0].events == (1, 0, 2, 3)
    assert found("MATCH_RECOGNIZE (ORDER BY k DESC NULLS LAST PATTERN (A+))", S)[0].events == (0, 2, 1, 3)
    assert found("MATCH_RECOGNIZE (ORDER BY k NULLS FIRST PATTERN (A+))", S)[0].events == (3, 1, 0, 2)


def test_null_is_one_partition_and_true_is_not_1() -> None:
    S = table("k", (None,), (0,), (None,))
    assert [m.events for m in found("MATCH_RECOGNIZE (PARTITION BY k PATTERN (A+))", S)] == [(0, 2), (1,)]


def test_a_match_is_as_long_as_it_is() -> None:
    """Longer than Python lets functions call each other."""
    S = table("x", *((n,) for n in range(1500)))
    assert [len(m.events) for m in found("MATCH_RECOGNIZE (PATTERN (A+ B) DEFINE A AS x > -1)", S)] == [1500]


def test_the_budget_bounds_the_labellings() -> None:
    S = numbered("1 1 1 1 1 1 1 1 1 1 1 1")
    q = parse("MATCH_RECOGNIZE (PATTERN ((A | B)* C) DEFINE C AS COUNT(A.*) = 100)")
    with pytest.raises(BudgetExceeded, match="more than 1000 labellings"):
        list(find_matches(q, S, budget=Budget(valuations=1000)))
