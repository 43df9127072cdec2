"""Prints what pandas-match-recognize 0.2.5 answers to the clauses of README.md, without cerify."""

import logging

import pandas
from pandas_match_recognize import match_recognize

logging.disable(logging.CRITICAL)


def show(pattern, define, *values, skip="PAST LAST ROW", measure="CLASSIFIER()", order="n", per="ALL ROWS"):
    rows = pandas.DataFrame({"n": range(len(values)), "x": values})
    query = f"""SELECT * FROM rows MATCH_RECOGNIZE (ORDER BY {order} MEASURES {measure} AS c {per} PER MATCH
        AFTER MATCH SKIP {skip} PATTERN ({pattern}) {define and f"DEFINE {define}"})"""
    found = match_recognize(query, rows)
    print(
        f"{measure}, {skip}, {pattern}, {define}, on {list(values)}:",
        found[[column for column in ("n", "c") if column in found]].values.tolist() if len(found) else "nothing",
    )


for condition in ("x <> 2", "x != 2", "x / 2 = 1", "x"):
    show("A", f"A AS {condition}", 0, 1, 2, 3)
show("A", "A AS NOT (x > 1)", 0, None, 2)
for pattern in ("B A | A B", "PERMUTE(B, A)", "B A"):
    show(pattern, "A AS x > 0, B AS x > 1", 2, 1)
for pattern, skip in (("A | A B", "PAST LAST ROW"), ("A+ B", "PAST LAST ROW"), ("A+ B", "TO NEXT ROW")):
    show(pattern, "A AS x > 0, B AS x > 1", 1, 2, 3, skip=skip)
show("A B", "A AS x > 0, B AS x > 1", 1, 2, measure="B.x")
for condition in ("x LIKE 'a%'", "x || 'b' = 'ab'", "CASE WHEN x > 'a' THEN TRUE ELSE FALSE END"):
    show("A", f"A AS {condition}", "a", "b")
for condition in ("CAST(x AS VARCHAR) = '2'", "x NOT BETWEEN 2 AND 3", "x + 1 IS NULL", "(x - 3) % 2 = -1"):
    show("A", f"A AS {condition}", 0, 2, None)
show("A B", "B AS COUNT(A.*) = 1", 1, 2)
show("A B+", "B AS FIRST(B.x) <= x", 2, 0, 2)
for pattern in ("A*? B", "A* B", "A?? B", "(() | A) B"):
    show(pattern, "A AS x = 1, B AS x = 2", 1, 2)
show("A*", "A AS x > 0", 0, 2, skip="TO NEXT ROW")
show("(^ A | B) C", "A AS x = 1, B AS x = 2, C AS x = 3", 3, 2, 3, 1)
show("A+", "", 9007199254740992, 1, measure="SUM(x)")
show("A+", "", 1, None, 2, order="x DESC", measure="x")
show("A (B)", "", 1, 2, measure="SUM(B.x)")
for measure in ("FIRST(A.x, 1)", "NEXT(FINAL LAST(x))", "LAST(CLASSIFIER(A), 1)", "PREV(CLASSIFIER(A))", "COUNT(A.*)"):
    show("{- A -}" if "COUNT" in measure else "A", "", 7, 8, measure=measure, per="ONE ROW")
for per in ("ONE ROW", "ALL ROWS"):
    show("A{0}? {- A -}", "", 7, 8, measure="x", per=per)
for pattern in ("(A+){2,}?", "(A{2,}?)+", "(B*)* A", "C (B{2}){0,2}?", "A{2} (C A*)?", "A{2} | C", "B (B? C)"):
    show(pattern, "", *range({"(": 4, "C": 2, "A": 1, "B": 2}[pattern[0]]), measure="MATCH_NUMBER()")
