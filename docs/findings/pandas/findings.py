"""Prints what pandas-match-recognize 0.2.5 answers to the clauses of README.md, without cerify."""

import logging

import pandas
from pandas_match_recognize import match_recognize

logging.disable(logging.CRITICAL)


def show(pattern, define, *values, skip="PAST LAST ROW", measure="CLASSIFIER()"):
    rows = pandas.DataFrame({"n": range(len(values)), "x": values})
    query = f"""SELECT * FROM rows MATCH_RECOGNIZE (ORDER BY n MEASURES {measure} AS c ALL ROWS PER MATCH
        AFTER MATCH SKIP {skip} PATTERN ({pattern}) DEFINE {define})"""
    found = match_recognize(query, rows)
    print(
        f"{measure}, {skip}, {pattern}, {define}, on {list(values)}:",
        found[["n", "c"]].values.tolist() if len(found) else "nothing",
    )


show("A", "A AS x <> 2", 1, 2, 3)
show("A", "A AS x != 2", 1, 2, 3)
show("A", "A AS NOT (x > 1)", 0, None, 2)
show("B A | A B", "A AS x > 0, B AS x > 1", 2, 1)
show("PERMUTE(B, A)", "A AS x > 0, B AS x > 1", 2, 1)
show("B A", "A AS x > 0, B AS x > 1", 2, 1)
show("A", "A AS x / 2 = 1", 2, 3)
show("A | A B", "A AS x > 0, B AS x > 1", 1, 2, 3)
show("A+ B", "A AS x > 0, B AS x > 1", 1, 2, 3, skip="TO NEXT ROW")
show("A+ B", "A AS x > 0, B AS x > 1", 1, 2, 3)
show("A B", "A AS x > 0, B AS x > 1", 1, 2, measure="B.x")
