"""The output table: which rows and columns it has, and what the measures show. Results as those of Trino 435."""

import pytest

from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.unit.semantics.row_pattern.tables import FALLING, found, numbered, rows, table

FELL = "B AS B.value < PREV(B.value)"
RISES = f"{FELL}, C AS C.value > PREV(C.value)"


def shown(text: str, values: str) -> str:
    """Of each row of the output the measures n and c, as 1B; a dash is NULL."""
    S = numbered(values)
    made = RowOutput(parse(text), S)
    n, c = made.columns.index("n"), made.columns.index("c")
    return " ".join(f"{row[n] or '-'}{row[c] or '-'}" for row in made.rows(found(text, S)))


@pytest.mark.parametrize(
    ("per_match", "pattern", "expected"),
    [
        ("ONE ROW PER MATCH", "B*", "1- 2B 3-"),
        ("", "B*", "1- 2B 3-"),
        ("ONE ROW PER MATCH", "B+", "1B"),
        ("ALL ROWS PER MATCH", "B*", "1- 2B 2B 3-"),
        ("ALL ROWS PER MATCH", "B+", "1B 1B"),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", "B*", "1- 2B 2B 3-"),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "B*", "2B 2B"),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "B+", "1B 1B"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "B+", "-- 1B 1B --"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "B*", "1- 2B 2B 3-"),
    ],
)
def test_rows_per_match(per_match: str, pattern: str, expected: str) -> None:
    measures = "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c"
    text = f"MATCH_RECOGNIZE (ORDER BY id {measures} {per_match} PATTERN ({pattern}) DEFINE {FELL})"
    assert shown(text, FALLING) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A B+ C+", "1A 1B 1B 1C 1C 2A 2B 2C"),
        ("A {- B+ -} C+", "1A 1C 1C 2A 2C"),
        ("{- A -} {- B+ -} C+", "1C 1C 2C"),
        ("A {- {- B+ -} C+ -}", "1A 2A"),
        ("{- A B+ C+ -}", ""),
        ("A B+ {- ()* -} C+", "1A 1B 1B 1C 1C 2A 2B 2C"),
        ("A {- B -}+ {- C -}+", "1A 2A"),
        ("A {- B -}* {- C -}*", "1A 2A"),
        ("A {- C -}{2,3} {- B -}{2,3}", "1A"),
    ],
)
def test_exclusion_leaves_rows_out_of_the_output(pattern: str, expected: str) -> None:
    measures = "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c ALL ROWS PER MATCH"
    text = f"MATCH_RECOGNIZE (ORDER BY id {measures} PATTERN ({pattern}) DEFINE {RISES})"
    assert shown(text, "90 80 70 80 90 50 40 60") == expected


def test_a_row_of_an_earlier_match_is_not_unmatched() -> None:
    text = f"""MATCH_RECOGNIZE (ORDER BY id MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c
        ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{{2}}) DEFINE {FELL})"""
    assert shown(text, "100 100 90 80 70 100") == "-- 1A 1B 1B 2A 2B 2B --"


def test_a_union_variable_stands_for_the_rows_of_its_members() -> None:
    text = """MATCH_RECOGNIZE (ORDER BY id MEASURES MATCH_NUMBER() AS n, CLASSIFIER(U) AS u, CLASSIFIER(W) AS w
        ALL ROWS PER MATCH PATTERN ((L | H) A) SUBSET U = (L, H), W = (A, L, H)
        DEFINE A AS A.value = 80, L AS L.value < 80, H AS H.value > 80)"""
    made = [row[1:4] for row in rows(text, numbered("90 80 70 80"))]
    assert made == [(1, "H", "H"), (1, "H", "A"), (2, "L", "L"), (2, "L", "A")]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("value", [10, 20, 30]),
        ("LAST(value)", [10, 20, 30]),
        ("FINAL LAST(value)", [30, 30, 30]),
        ("RUNNING FIRST(value)", [10, 10, 10]),
        ("FIRST(value, 1)", [None, 20, 20]),
        ("FINAL FIRST(value, 1)", [20, 20, 20]),
        ("LAST(value, 2)", [None, None, 10]),
        ("FINAL LAST(value, 5)", [None, None, None]),
        ("PREV(value)", [None, 10, 20]),
        ("PREV(value, 0)", [10, 20, 30]),
        ("NEXT(value, 2)", [30, None, None]),
        ("PREV(FIRST(value), 1)", [None, None, None]),
        ("NEXT(FIRST(value, 1), 1)", [None, 30, 30]),
        ("PREV(FINAL LAST(value), 1)", [20, 20, 20]),
        ("PREV(value * 2 + 1)", [None, 21, 41]),
        ("COUNT(*)", [1, 2, 3]),
        ("FINAL COUNT(A.*)", [3, 3, 3]),
        ("SUM(value)", [10, 30, 60]),
        ("AVG(A.value)", [10.0, 15.0, 20.0]),
        ("FINAL MIN(value) + MAX(value)", [20, 30, 40]),
        ("COUNT(1)", [1, 2, 3]),
        ("SUM(MATCH_NUMBER())", [1, 2, 3]),
        ("MAX(CLASSIFIER())", ["A", "A", "A"]),
    ],
)
def test_navigation_in_measures(measure: str, expected: list[object]) -> None:
    text = f"MATCH_RECOGNIZE (ORDER BY id MEASURES {measure} AS m ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS true)"
    assert [row[1] for row in rows(text, numbered("10 20 30"))] == expected


def test_measures_of_an_empty_match_look_at_no_row() -> None:
    text = """MATCH_RECOGNIZE (MEASURES MATCH_NUMBER() AS n, COUNT(*) AS k, SUM(value) AS s, value AS v,
        NEXT(value) AS x, CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (()))"""
    assert rows(text, numbered("7"))[0][:6] == (1, 0, None, None, None, None)


def test_the_columns_of_the_output() -> None:
    S = table("a b c", (1, 2, 3))
    body = "PARTITION BY B ORDER BY c MEASURES a + 1 AS m {} PER MATCH PATTERN (A)"
    one, every = (RowOutput(parse(f"MATCH_RECOGNIZE ({body.format(rows_)})"), S) for rows_ in ("ONE ROW", "ALL ROWS"))
    assert one.columns == ("b", "m")
    assert every.columns == ("b", "c", "m", "a")
    assert rows(f"MATCH_RECOGNIZE ({body.format('ALL ROWS')})", S) == [(2, 3, 2, 1)]
