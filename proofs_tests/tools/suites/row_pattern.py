"""The clauses of WINDOW that the suite puts to an engine, by feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import TypeAlias

from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern.scalars import columns_in
from cerify.semantics.row_pattern.syntax import ROW
from cerify.semantics.values import Value
from proofs_tests.support import vary_reading
from proofs_tests.tools.mutants.row_pattern import ERROR, MEANING, MUTANTS
from proofs_tests.tools.suites.row_guide import EXAMPLES
from proofs_tests.tools.suites.source import Printed, Source, parsed

# ---- windows ----
#

FALLS = "B AS x < PREV(x)"
OVERLAPPING = "A AS x > 0, B AS x > 1"
APART = "A AS x = 1, B AS x = 2"


def window(
    pattern: str,
    define: str = "",
    measures: str = "",
    end: str = "UNBOUNDED",
    skip: str = "",
    seek: str = "",
    by: str = "",
    subset: str = "",
) -> str:
    """The clause of these parts; end is that of the frame, by is PARTITION BY and ORDER BY."""
    parts = (
        by,
        measures and f"MEASURES {measures}",
        "ROWS BETWEEN CURRENT ROW AND " + ("CURRENT ROW" if end == "CURRENT ROW" else f"{end} FOLLOWING"),
        skip and f"AFTER MATCH SKIP {skip}",
        seek,
        f"PATTERN ({pattern})",
        subset and f"SUBSET {subset}",
        define and f"DEFINE {define}",
    )
    return f"WINDOW ({' '.join(filter(None, parts))})"


def frames(pattern: str, define: str, *ends: str, **rest: str) -> list[str]:
    """A clause for each end of the frame."""
    return [window(pattern, define, end=end, **rest) for end in ends]


WINDOWS: Mapping[str, list[str]] = {
    "row-window": [
        *frames("A B+", FALLS, "UNBOUNDED", "1", "2", "3"),
        *frames("A+", "A AS x > 0", "UNBOUNDED", "CURRENT ROW", "1", "2", skip="TO NEXT ROW"),
        *frames("A | ()", "A AS x = 1", "UNBOUNDED", "CURRENT ROW", measures="COUNT(*) AS n"),
        *frames("A B?", "B AS NEXT(x) IS NULL", "1", "2", "UNBOUNDED", skip="TO NEXT ROW"),
        *frames("A", "A AS PREV(x) IS NULL", "UNBOUNDED", "CURRENT ROW"),
        *frames("A", "A AS NEXT(x) IS NULL", "UNBOUNDED", "CURRENT ROW", "1"),
        *(
            window(pattern, OVERLAPPING, "CLASSIFIER() AS c, LAST(x) AS l", end, skip)
            for pattern, end in (("A B", "2"), ("A+ B", "UNBOUNDED"), ("(A | B)+", "2"))
            for skip in ("PAST LAST ROW", "TO NEXT ROW", "TO LAST B")
            if skip[-1] != "B" or "|" not in pattern
        ),
        window("A B+ C", f"{FALLS}, C AS x > PREV(x)", skip="TO FIRST C"),
        window("A B+? C?", "B AS x >= A.x", "RUNNING SUM(x) AS s, FINAL COUNT(B.*) AS n"),
        window("A B*", "B AS COUNT(*) < 3 AND x >= FIRST(A.x)", "FIRST(x) AS f, LAST(x, 1) AS l", "3"),
        *(
            window("A B*", FALLS, f"{measure} AS m", end)
            for measure in ("PREV(x)", "NEXT(x)", "PREV(A.x)", "NEXT(LAST(x), 2)", "PREV(FIRST(x, 1), 1)")
            for end in ("2", "UNBOUNDED")
        ),
        *(
            window(pattern, define, measures, end, by=by)
            for by in ("PARTITION BY p", "PARTITION BY p ORDER BY o DESC", "ORDER BY o")
            for pattern, define, measures, end in (
                ("A B+", "B AS x >= PREV(x)", "", "UNBOUNDED"),
                ("A+", "A AS x > 0", "SUM(x) AS s, NEXT(x) AS n", "1"),
            )
        ),
        window("A {- B -} A?", OVERLAPPING, "COUNT(*) AS n"),
        window("PERMUTE(A, B)", APART, "CLASSIFIER() AS c", "2", "TO NEXT ROW"),
        window("A B* A", OVERLAPPING, "COUNT(U.*) AS n, CLASSIFIER(U) AS c", "3", subset="U = (A, B)"),
        window("(A?)*", "A AS x = 1", "COUNT(*) AS n, LAST(x) AS l"),
        window("A??", "A AS x = 1", "COUNT(*) AS n", "1", "TO NEXT ROW"),
        window("(A | B){2,3}?", OVERLAPPING, end="2", skip="TO NEXT ROW"),
    ],
    "row-seek": [
        *(
            window("A+", "A AS x > NEXT(x)", "FIRST(x) AS f", end, skip, "SEEK")
            for end in ("UNBOUNDED", "2", "1")
            for skip in ("PAST LAST ROW", "TO NEXT ROW")
        ),
        *(
            window("A", "A AS x = 2", "COUNT(*) AS n", end, skip, "SEEK")
            for end in ("UNBOUNDED", "CURRENT ROW", "1", "3")
            for skip in ("", "TO NEXT ROW")
        ),
        *frames("A B", APART, "UNBOUNDED", "2", "3", seek="SEEK", skip="TO LAST B"),
        *frames("A B", OVERLAPPING, "UNBOUNDED", "2", seek="INITIAL", skip="TO NEXT ROW"),
        *frames("A B*", FALLS, "1", "UNBOUNDED", measures="PREV(x) AS p, LAST(x) AS l", seek="SEEK"),
        *frames("A", "A AS PREV(x) = 1", "UNBOUNDED", "1", "2", seek="SEEK", skip="TO NEXT ROW"),
        *frames("A", "A AS NEXT(x) IS NULL", "UNBOUNDED", "1", seek="SEEK", skip="TO NEXT ROW"),
        *frames("A | ()", "A AS x > 1", "UNBOUNDED", "1", measures="COUNT(*) AS n", seek="SEEK"),
        *(
            window("A B+", "B AS x > A.x", "MAX(x) AS m", end, "TO NEXT ROW", "SEEK", by)
            for by in ("PARTITION BY p", "PARTITION BY p ORDER BY o", "ORDER BY o DESC")
            for end in ("UNBOUNDED", "3")
        ),
        window("A+ B", "A AS x < 2, B AS x = SUM(A.x)", "CLASSIFIER() AS c", "4", "TO NEXT ROW", "SEEK"),
        window("A | B", "A AS x = 3, B AS x = 1", "CLASSIFIER() AS c", "UNBOUNDED", "TO NEXT ROW", "SEEK"),
    ],
}


# ---- queries ----
# The clauses that the suite of MATCH_RECOGNIZE puts to an engine, by feature, with the place that defines it.

PAGE = "ISO/IEC 9075-2, R010"
WINDOW = "ISO/IEC 9075-2, R020"
CLAUSES: Mapping[str, str] = {
    "row-variable": f"{PAGE}: row pattern, a variable",
    "row-concatenation": f"{PAGE}: row pattern, concatenation",
    "row-alternation": f"{PAGE}: row pattern, alternation",
    "row-quantified": f"{PAGE}: row pattern, quantifiers",
    "row-reluctant": f"{PAGE}: row pattern, reluctant quantifiers",
    "row-empty": f"{PAGE}: row pattern, the empty pattern; decisions/row-patterns.md, iterations of no rows",
    "row-anchor": f"{PAGE}: row pattern, anchors",
    "row-permute": f"{PAGE}: row pattern, PERMUTE",
    "row-exclusion": f"{PAGE}: row pattern, exclusion",
    "row-skip": f"{PAGE}: AFTER MATCH SKIP",
    "row-partition": f"{PAGE}: PARTITION BY",
    "row-order": f"{PAGE}: ORDER BY; decisions/row-patterns.md, NULL and rows that tie",
    "row-define": f"{PAGE}: DEFINE, running semantics",
    "row-null": f"{PAGE}: DEFINE, three-valued logic",
    "row-physical": f"{PAGE}: PREV and NEXT",
    "row-logical": f"{PAGE}: FIRST and LAST",
    "row-running": f"{PAGE}: MEASURES, RUNNING and FINAL",
    "row-aggregate": f"{PAGE}: aggregates",
    "row-classifier": f"{PAGE}: CLASSIFIER",
    "row-match-number": f"{PAGE}: MATCH_NUMBER; decisions/row-patterns.md, empty matches",
    "row-subset": f"{PAGE}: SUBSET",
    "row-output": f"{PAGE}: rows per match",
    "row-expression": "ISO/IEC 9075-2: value expressions; decisions/row-patterns.md, numbers",
    "row-long": f"{PAGE}: row pattern, matches of many rows",
    "row-nested": f"{PAGE}: row pattern, clauses made at random",
    "row-window": f"{WINDOW}: the frame of a row",
    "row-seek": f"{WINDOW}: SEEK",
}

QUERIES_APART = "A AS x = 1, B AS x = 2, C AS x = 3"
QUERIES_OVERLAPPING = "A AS x > 0, B AS x > 1, C AS x <> 2"
OPEN = "B AS x > 1"
ALL = "ALL ROWS PER MATCH"


def clause(
    pattern: str,
    define: str = "",
    measures: str = "",
    rows: str = "",
    skip: str = "",
    subset: str = "",
    by: str = "",
) -> str:
    """The clause of these parts; by is PARTITION BY and ORDER BY. DEFINE has the conditions of its variables alone."""
    here = [part for part in define.split(", ") if part.split(" AS ")[0] in pattern] if "(" not in define else [define]
    parts = (
        by,
        measures and f"MEASURES {measures}",
        rows,
        skip and f"AFTER MATCH SKIP {skip}",
        f"PATTERN ({pattern})",
        subset and f"SUBSET {subset}",
        f"DEFINE {', '.join(here)}" if here and here != [""] else "",
    )
    return f"MATCH_RECOGNIZE ({' '.join(filter(None, parts))})"


def crossed(patterns: str, *defines: str, **rest: str) -> list[str]:
    """A clause for each of the patterns, which are apart by semicolons, with one of the conditions in turn."""
    listed = patterns.split(";")
    return [clause(p.strip(), define, **rest) for p, define in zip(listed, cycle(defines), strict=False)]


def shown(measures: str, *patterns: str, define: str = QUERIES_OVERLAPPING, rows: str = ALL, **rest: str) -> list[str]:
    """A clause for each of the measures, which are apart by semicolons, and each pattern."""
    return [
        clause(pattern, define, f"{measure.strip()} AS m", rows, **rest)
        for measure in measures.split(";")
        for pattern in patterns
    ]


def conditions(pattern: str, texts: Iterable[str], **rest: str) -> list[str]:
    """A clause for each text of DEFINE."""
    return [clause(pattern, text, **rest) for text in texts]


PATTERNS: Mapping[str, list[str]] = {
    "row-variable": crossed("A; B; A B; B A; A A; A B C", QUERIES_APART, OPEN, QUERIES_OVERLAPPING),
    "row-concatenation": crossed(
        "A B; B A; A B C; C B A; A A B; A B A; (A B) (C A); A (B C); A+ B A; A* B+ C?",
        QUERIES_APART,
        QUERIES_OVERLAPPING,
    ),
    "row-alternation": crossed(
        "A | B; B | A; (A | B) C; (B | A) C; A B | A; A | A B; (A | A B) C; (A | B) (A | B); A | B | C; C | B | A; "
        "(A B | A) (B | C); (A | B)+ C; (B | A)* C; A (B | C) | A C; (A+ | B) C; (A | B C)+",
        QUERIES_APART,
        QUERIES_OVERLAPPING,
        OPEN,
    ),
    "row-quantified": crossed(
        "A*; A+; A?; A{2}; A{2,}; A{,2}; A{1,2}; A{2,3}; A{0}; A* B; A+ B; A? B; A{2} B; A{2,} B; A{,2} B; A{1,3} B; "
        "A{3}; A* A; A+ A B; A* B*; A+ B+; A? A; (A B)*; (A B)+ A; (A B){2}; (A B?)+; (A+ B)*; (A+ B){2,}; "
        "(A | B){2,3}; (A | B)+; (A{2}){2}; (A{1,2}){2} B; (A* B){1,2} C; (A+)+ B; ((A | B)+ C)*",
        QUERIES_APART,
        QUERIES_OVERLAPPING,
    ),
    "row-reluctant": crossed(
        "A*?; A+?; A??; A{1,2}?; A{2,}?; A{,2}?; A*? B; A+? B; A?? B; A{1,3}? B; A{2,}? B; A{,2}? B; A+? B+; A* B+?; "
        "A+? B+? C; (A B??)+; (A+? B?)+ C; (A | B)+? C; (A*? B)+?; (A+ B*)+? C; (A+? B)+; A?? A; (A{1,2}? B?){2}; "
        "(A+ | B)*? C; A+? (B | C)",
        QUERIES_APART,
        QUERIES_OVERLAPPING,
    ),
    "row-empty": crossed(
        "(); () A; A (); () | A; A | (); (A | ()) B; (() | A) B; (A?){2}; (A*){2,3} B; ((A)??)?; ((A)?){2}; (A??)*; "
        "(A*)*; (A*)+ B; (A? B?)*; (A? B?)+ C; (() | A | B){0,2} C? $; (A*)*? B; (() | A){2} B; (A | ()){2,} B; "
        "((A?)?)? B; (A{0,1}){3}; (A??){,2} B; ((A*)+)* B; (()*) A; (A? | B)* C",
        QUERIES_APART,
        QUERIES_OVERLAPPING,
    ),
    "row-anchor": crossed(
        "^ A; A $; ^ A $; ^ A+ B; A+ B $; ^ (A | B)* $; (^ A | B) C; A (B $ | C); ^; $; (^ | A) B; A ($ | B); A* $; "
        "(A $ | B)+; ^ A*? $",
        QUERIES_APART,
        QUERIES_OVERLAPPING,
        skip="TO NEXT ROW",
    )
    + crossed("^ A; A $; ^ A+ B; A+ $; (^ A | B) C?", QUERIES_OVERLAPPING, by="PARTITION BY p"),
    "row-permute": crossed(
        "PERMUTE(A, B); PERMUTE(B, A); PERMUTE(A, B, C); PERMUTE(C, B, A); PERMUTE(A, B) C; PERMUTE(A+, B); "
        "PERMUTE(A?, B); PERMUTE(A, B?, C); PERMUTE(A, B)+; PERMUTE(A B, C); PERMUTE(A, B | C); A PERMUTE(B, C) A?; "
        "PERMUTE(A*, B+); PERMUTE(B, C, A); PERMUTE(A)",
        QUERIES_APART,
        QUERIES_OVERLAPPING,
    ),
    "row-exclusion": shown(
        "x; CLASSIFIER(); COUNT(*); FINAL LAST(x)",
        "A {- B -} C",
        "{- A -} B",
        "A {- B+ -}",
        "(A {- B -})+",
        "A+ {- B* -} C?",
        "A {- B | C -} A?",
        "{- A B -}",
        "A {- B {- C -} -} A?",
        "A ({- B -} | C)+",
    ),
}

SKIPPED = ("A B", "A+ B+", "A B+ C?", "A+", "(A | B)+ C", "A? B", "A B C")
WITH_UNION = ("A B", "A+ B+ C", "(A | B)+ C")
SKIPS: Mapping[str, list[str]] = {
    "row-skip": [
        *(
            clause(pattern, define, skip=skip)
            for skip in ("PAST LAST ROW", "TO NEXT ROW", "TO LAST B", "TO FIRST B")
            for pattern in SKIPPED
            for define in (QUERIES_APART, QUERIES_OVERLAPPING)
            if skip[-2:] != " B" or ("B" in pattern and "?" not in pattern and not pattern.startswith("("))
        ),
        *(
            clause(pattern, QUERIES_OVERLAPPING, skip=skip, subset=subset)
            for pattern in WITH_UNION
            for skip, subset in (("TO LAST U", "U = (A, B)"), ("TO LAST U", "U = (B, A)"), ("TO B", ""))
        ),
        *(clause(pattern, QUERIES_OVERLAPPING, skip="TO NEXT ROW") for pattern in ("A*", "A??", "(A B)?", "B* A?")),
    ],
    "row-partition": [
        clause(pattern, define, measures, rows, by=by)
        for by in ("PARTITION BY p", "PARTITION BY p, z", "PARTITION BY z ORDER BY o")
        for pattern, define, measures, rows in (
            ("A B", QUERIES_OVERLAPPING, "", ""),
            ("A+ B", QUERIES_APART, "MATCH_NUMBER() AS m", ""),
            ("A B*", "B AS x > PREV(x)", "", ""),
            ("A+", "A AS x >= 1", "PREV(x) AS m, NEXT(x) AS k", ALL),
            ("A B?", "A AS NEXT(x) > 0", "COUNT(*) AS m", ALL),
            ("A*", "A AS x > 1", "MATCH_NUMBER() AS m", ""),
        )
    ],
    "row-order": [
        clause(pattern, define, by=f"ORDER BY {by}")
        for by in (
            "o", "o DESC", "o NULLS FIRST", "o DESC NULLS LAST", "o, x", "o DESC, x", "x, o DESC NULLS FIRST", "z, o"
        )
        for pattern, define in (("A B", "B AS x > A.x"), ("A B+", "B AS x >= PREV(x)"), ("A+", "A AS x <> 2"))
    ],
    "row-output": [
        clause(pattern, QUERIES_OVERLAPPING, measures, rows)
        for rows in (
            "ONE ROW PER MATCH",
            "ALL ROWS PER MATCH",
            "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
            "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
        )
        for pattern, measures in (
            ("A B", "x AS m"), ("B*", "COUNT(*) AS m"), ("(A B)?", "CLASSIFIER() AS m"), ("A+? B", "A.x AS m, B.x AS n")
        )
    ],
}  # fmt: skip

DEFINED = (
    "B AS x > A.x", "B AS x > FIRST(A.x)", "B AS COUNT(B.*) < 3", "B AS SUM(x) < 6", "B AS SUM(B.x) <= 4",
    "B AS AVG(x) > 1", "B AS MAX(A.x) < x", "B AS MIN(x) = x", "B AS LAST(B.x, 1) < x", "B AS FIRST(B.x) <= x",
    "B AS COUNT(*) > 2", "B AS A.x = 1 OR x = 2", "B AS NOT x = A.x", "B AS x > A.x AND x < 3",
    "A AS COUNT(A.*) <= 2, B AS x <> LAST(A.x)", "A AS x = FIRST(A.x), B AS x > LAST(A.x)",
    "B AS LAST(x, 1) = 1", "B AS CLASSIFIER(A) = 'A' AND x > 1", "A AS x > 0, B AS COUNT(A.x) = 2",
    "B AS PREV(CLASSIFIER()) = 'A' OR x = 3",
)  # fmt: skip
TESTED = (
    "A AS x > 1", "A AS NOT x > 1", "A AS x = x", "A AS x <> 1", "A AS NOT x = 1", "A AS x IS NULL",
    "A AS x IS NOT NULL", "A AS x = NULL", "A AS x IN (1, NULL)", "A AS x NOT IN (1, NULL)", "A AS x NOT IN (1, 2)",
    "A AS x BETWEEN NULL AND 2", "A AS x NOT BETWEEN NULL AND 2", "A AS x > 1 OR y > 1", "A AS x > 1 AND y > 1",
    "A AS NOT (x > 1 AND y > 1)", "A AS NOT (x > 1 OR y > 1)", "A AS (x > 1) IS NULL", "A AS x = y",
    "A AS (x = 1 OR NULL) IS NULL", "A AS (x = 1 AND NULL) IS NULL", "A AS COALESCE(x, y, 2) = 2",
    "A AS CASE WHEN x > 1 THEN TRUE ELSE y > 1 END", "A AS x + y > 2", "A AS x + y IS NULL", "A AS x < 2",
    "A AS x >= y",
)  # fmt: skip
COMPUTED = (
    "A AS x / 2 = 1", "A AS -x / 2 = -1", "A AS (1 - x) / 2 = 0", "A AS (x - 3) % 2 = -1", "A AS x % 2 = 1",
    "A AS x * 2 = 2", "A AS x - 1 > 0", "A AS x - y - 1 = 0", "A AS x - (y - 1) = 2", "A AS x + y * 2 = 3",
    "A AS (x + y) * 2 = 4", "A AS -x < -1", "A AS ABS(x - 2) = 1", "A AS x < 2", "A AS x <= 2", "A AS x > 2",
    "A AS x >= 2", "A AS x <> 2", "A AS x = 2", "A AS x BETWEEN 1 AND 2", "A AS x NOT BETWEEN 1 AND 2",
    "A AS x BETWEEN 2 AND 1", "A AS x IN (1, 3)", "A AS x NOT IN (1, 3)", "A AS z LIKE 'a%'", "A AS z LIKE 'a_'",
    "A AS z LIKE '%b'", "A AS z NOT LIKE '%b%'", "A AS z LIKE 'a$%' ESCAPE '$'", "A AS z || 'b' = 'ab'",
    "A AS 'a' || z = 'ab'", "A AS z < 'b'", "A AS z = ''", "A AS CAST(x AS DOUBLE) / 2 = 0.5",
    "A AS CAST(x / 2.0 AS BIGINT) = 1", "A AS CAST(x AS VARCHAR) = '1'", "A AS CAST('1' AS BIGINT) = x",
    "A AS CASE WHEN x = 1 THEN 2 WHEN x = 2 THEN 3 ELSE 0 END > y", "A AS CASE WHEN x > 1 THEN x = y END",
    "A AS CASE x WHEN 1 THEN y = 1 WHEN 2 THEN y = 2 ELSE FALSE END", "A AS x = 1 OR x = 2 AND y = 1",
    "A AS (x = 1 OR x = 2) AND y = 1", "A AS NOT x = 1 AND y = 1", "A AS x / 0 IS NULL",
)  # fmt: skip
MOVED = (
    "B AS x > PREV(x)", "B AS x < NEXT(x)", "B AS x = PREV(x, 2)", "B AS PREV(x) IS NULL", "B AS NEXT(x) IS NULL",
    "B AS x > PREV(x) AND x < NEXT(x)", "B AS x > PREV(A.x)", "B AS x >= PREV(FIRST(A.x))",
    "B AS x <> NEXT(LAST(A.x), 1)",
    "B AS PREV(x, 0) = 2", "B AS PREV(LAST(B.x, 1)) < x", "B AS NEXT(FIRST(A.x), 2) = x", "B AS PREV(x + y) > 1",
    "A AS NEXT(x) > x, B AS PREV(x, 1) = A.x", "B AS NEXT(x, 2) = x", "B AS PREV(FIRST(x)) IS NULL",
)  # fmt: skip
EXPRESSIONS: Mapping[str, list[str]] = {
    "row-define": [
        clause(pattern, text, skip=skip) for text in DEFINED for pattern, skip in (("A+ B+", ""), ("A (A | B)* B", ""))
    ],
    "row-null": [clause(pattern, text) for text in TESTED for pattern in ("A", "A+ B")],
    "row-physical": [
        *(clause("A+ B+", text, skip="TO NEXT ROW") for text in MOVED),
        *(clause("A B+", text, by="PARTITION BY p") for text in MOVED),
        *shown("PREV(x); NEXT(x); PREV(A.x); PREV(FIRST(A.x, 1)); NEXT(LAST(B.x), 2); PREV(x, 2)", "A+ B*", "A B+"),
        *shown("PREV(x, 2); NEXT(x); PREV(FIRST(x), 1)", "A B*", by="PARTITION BY p"),
    ],
    "row-logical": shown(
        "FIRST(x); LAST(x); FIRST(A.x); LAST(A.x); FIRST(B.x); LAST(A.x, 1); FIRST(A.x, 1); FIRST(x, 2); LAST(x, 2); "
        "B.x; A.x - B.x; FINAL FIRST(B.x, 1); LAST(x + y)",
        "A+ B",
        "(A | B)+",
        "A B* A",
    ),
    "row-running": shown(
        "RUNNING LAST(x); FINAL LAST(x); FINAL FIRST(B.x); COUNT(*); FINAL COUNT(*); SUM(A.x); FINAL SUM(A.x); "
        "FINAL LAST(A.x, 1); LAST(B.x); FINAL MAX(x); FINAL COUNT(B.*) - COUNT(B.*)",
        "A+ B+",
        "(A | B)+ A",
    )
    + shown("RUNNING LAST(x); FINAL FIRST(B.x); COUNT(*); SUM(A.x)", "A+ B+", "A B? A", rows=""),
    "row-aggregate": shown(
        "COUNT(*); COUNT(A.*); COUNT(B.x); SUM(x); SUM(B.x); AVG(x); AVG(A.x); MIN(x); MAX(B.x); MIN(A.x); MAX(x); "
        "SUM(x + y); COUNT(y)",
        "A+ B",
        "(A | B)+",
        define="B AS x > 1 OR y > 1",
    )
    + shown("COUNT(*); SUM(B.x); AVG(x); MAX(B.x); COUNT(B.x)", "A+ B?", "B* A", rows=""),
    "row-classifier": shown(
        "CLASSIFIER(); CLASSIFIER(A); CLASSIFIER(B); PREV(CLASSIFIER()); FIRST(CLASSIFIER()); LAST(CLASSIFIER(), 1); "
        "FINAL LAST(CLASSIFIER())",
        "A+ B",
        "(B | A)* C?",
    )
    + shown("CLASSIFIER(U); LAST(CLASSIFIER(U)); CLASSIFIER()", "A+ B C?", "(C | B | A)+", subset="U = (A, B)")
    + conditions(
        "A (B | C)+",
        (
            "C AS PREV(CLASSIFIER()) = 'B'",
            "B AS CLASSIFIER() = 'B' AND x > 1",
            "B AS LAST(CLASSIFIER(), 1) = 'A'",
            "C AS FIRST(CLASSIFIER()) = 'A' AND x > 1, B AS x > 2",
        ),
    ),
    "row-match-number": [
        *shown("MATCH_NUMBER()", "A", "A+ B", "B*", "B??", "(A B)?", rows=""),
        *shown("MATCH_NUMBER()", "A+ B", "B*", "B* A??", by="PARTITION BY p"),
        *shown("MATCH_NUMBER()", "B*", "A??", rows="ALL ROWS PER MATCH OMIT EMPTY MATCHES"),
        *shown("MATCH_NUMBER()", "A+ B", "B*", skip="TO NEXT ROW"),
        *conditions(
            "A B*",
            ("A AS x = MATCH_NUMBER()", "B AS MATCH_NUMBER() < 2", "A AS MATCH_NUMBER() < 3, B AS x > MATCH_NUMBER()"),
        ),
        *conditions("A+", ("A AS x >= MATCH_NUMBER()", "A AS COUNT(*) <= MATCH_NUMBER()"), by="PARTITION BY p"),
    ],
    "row-subset": [
        *shown(
            "COUNT(U.*); SUM(U.x); FIRST(U.x); LAST(U.x, 1); U.x; CLASSIFIER(U)",
            "A B+ C",
            "(A | B | C)+",
            subset="U = (A, C)",
        ),
        *shown("COUNT(U.*); LAST(U.x); FINAL COUNT(V.*)", "A+ B* C?", subset="U = (B, A), V = (C)"),
        *(
            clause(pattern, text, subset="U = (A, B)")
            for text in ("C AS x > U.x", "B AS COUNT(U.*) < 3", "C AS x = FIRST(U.x)", "C AS LAST(U.x, 1) < x")
            for pattern in ("A B* C", "(A | B)+ C")
        ),
    ],
    "row-expression": [clause("A", text, skip="TO NEXT ROW") for text in COMPUTED]
    + [clause("A+ B", text) for text in COMPUTED[::3]]
    + shown("x / 2; -x % 2; z || z; ABS(y - x); CAST(x AS VARCHAR); CAST(y AS DOUBLE) / 2", "A+ B?"),
    "row-long": crossed(
        "A+; A* B; (A | B)+; (A B?)+; A+? $; (A+ B?)* C; ((A | B)* C?)+; A{10}; A{3,12} B?; (A{2}){4,}; (A? B?){5,}",
        "A AS x > 0, B AS x = 0, C AS x = 1",
        "A AS x >= 0",
    ),
    "row-nested": Path(__file__).with_name("row_nested.txt").read_text(encoding="utf-8").splitlines(),
}

QUERIES: Mapping[str, tuple[str, ...]] = {
    feature: tuple(dict.fromkeys(listed)) for feature, listed in {**PATTERNS, **SKIPS, **EXPRESSIONS, **WINDOWS}.items()
}


# ---- suite ----
# The suite of MATCH_RECOGNIZE: its clauses, and random tables for them.
#
# Where another reading gives another answer the text of the case's clause names it: an engine that fails just there
# has
# that reading.

POOLS: dict[str, tuple[Value, ...]] = {
    "p": (0, 1),
    "o": (1, 2, 2, 3, 10),
    "x": (0, 1, 1, 2, 2, 3),
    "y": (0, 1, 2),
    "z": ("a", "ab", "b", "B", "a%", ""),
}
TYPES = {"p": "int", "o": "int", "x": "int", "y": "int", "z": "string"}
ABSENT = {"p": 0.15, "o": 0.15, "x": 0.08, "y": 0.2, "z": 0.15}
MORE_ABSENT = frozenset({"row-null", "row-aggregate", "row-order"})
Table: TypeAlias = list[dict[str, Value]]
TRIES = 24  # tables looked at for these
TABLES = 2  # taken for one clause
LENGTHS = {"row-long": (9, 22), "row-expression": (3, 5), "row-null": (3, 6)}
MOST = 24  # matches of a case
EXACT, LEAST, MOST_OF_64 = 2**53, -(2**63), 2**63 - 1


def column(*values: Value) -> Table:
    """A table of the column x alone."""
    return [{"x": value} for value in values]


def chain(length: int) -> str:
    """A clause with so many variables, of which each has a condition that only its own row meets."""
    names = [f"V{n}" for n in range(1, length + 1)]
    return clause(" ".join(names), ", ".join(f"{name} AS x = {n}" for n, name in enumerate(names, 1)))


SEPARATING: tuple[tuple[str, str, Table], ...] = (
    (
        "row-empty",
        "MATCH_RECOGNIZE (PATTERN ((() | A | B){0,2} C? $) DEFINE C AS COUNT(B.*) = 1)",
        column(1, 1),
    ),
    ("row-null", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS NOT x NOT IN (1, NULL))", column(2, 1)),
    ("row-reluctant", "MATCH_RECOGNIZE (PATTERN (A*? B) DEFINE B AS x > 1)", column(1, 2, 2)),
    ("row-classifier", clause("(A | B) C", "C AS PREV(CLASSIFIER()) = 'B'"), column(1, 1)),
    # numbers that need exactness
    ("row-expression", clause("A", f"A AS x = {EXACT + 1}"), column(EXACT, EXACT + 1)),
    ("row-expression", clause("A B", "B AS x > A.x"), column(EXACT, EXACT + 1, EXACT + 1)),
    ("row-expression", clause("A B", "B AS x > A.x"), column(MOST_OF_64, LEAST, MOST_OF_64)),
    ("row-expression", clause("A", f"A AS x > {2**32}"), column(1, 2**32, 2**32 + 1)),
    ("row-expression", clause("A", "A AS x = 0.30000000000000004"), [{"x": 0.3}, {"x": 0.30000000000000004}]),
    ("row-expression", clause("A B", "B AS y = A.x"), [{"x": 1, "y": 2.0}, {"x": 3, "y": 1.0}]),
    ("row-expression", clause("A", "A AS z < '9'"), [{"z": "10"}, {"z": "9"}, {"z": "8"}]),
    ("row-aggregate", clause("A+", "", "SUM(x) AS m"), column(EXACT, 1)),
    ("row-aggregate", clause("A+", "", "SUM(x) AS m"), column(2**31 - 1, 1)),
    ("row-order", clause("A B", "B AS y > A.y", by="ORDER BY o"), [{"o": EXACT + 1, "y": 2}, {"o": EXACT, "y": 1}]),
    (
        "row-partition",
        clause("A B", "", by="PARTITION BY p"),
        [{"p": EXACT}, {"p": EXACT + 1}, {"p": EXACT}, {"p": EXACT + 1}],
    ),
    # matches and clauses of many parts
    *(("row-long", chain(length), column(*range(1, length), 0)) for length in (20, 65)),  # the last row is wrong
    ("row-long", clause("A{65}", "A AS x > 0"), column(*[1] * 65)),
    ("row-long", clause("A{65}", "A AS x > 0"), column(*[1] * 64)),
    ("row-long", clause("A+ B", "A AS x = 1, B AS x = 2"), column(*[1] * 64, 2)),
)
"""Clauses with a table that few random tables are like: wrong semantics have another answer there."""
READ = {f"{name}={value}" for name, value in vary_reading(STANDARD)}
READINGS = {m.name.removeprefix("axis: "): m for m in MUTANTS if m.name.removeprefix("axis: ") in READ}


def candidates(feature: str, query: str) -> list[Stream]:
    """The first tables on which the definition has an answer, and most of them some matches."""
    rng, found, q = Random(query), list[Stream](), parsed("row-pattern", query)
    names = [name for name in POOLS if name in {one.name.lower() for one in columns_in(q)}] or ["x"]
    for S in islice(tables(rng, feature, names), TRIES):
        right = MEANING.matches(q, S)
        if S not in found and right not in (None, ERROR) and len(right or ()) <= MOST and (right or rng.random() < 0.1):
            found.append(S)
        if len(found) == TABLES:
            break
    return found


def printed() -> Iterator[Printed]:
    """The clauses and tables that are not chosen."""
    for feature, query, table in SEPARATING:
        kinds = {name: "float" if type(value) is float else TYPES[name] for row in table for name, value in row.items()}
        schema = Schema({ROW: {name: kinds[name] for name in POOLS if name in kinds}})  # type: ignore[misc]
        yield feature, query, Stream([Event(ROW, row) for row in table], schema)
    for example in EXAMPLES:
        yield example.feature, example.clause, example.stream


def tables(rng: Random, feature: str, names: list[str]) -> Iterator[Stream]:
    """Random tables with these columns."""
    low, high = LENGTHS.get(feature, (2, 8))
    schema = Schema({ROW: {name: TYPES[name] for name in names}})  # type: ignore[misc]
    factor = 2.0 if feature in MORE_ABSENT else 1.0
    while True:
        yield Stream(
            [
                Event(ROW, {n: rng.choice(POOLS[n]) for n in names if rng.random() >= ABSENT[n] * factor})
                for _ in range(rng.randint(low, high))
            ],
            schema,
        )


def other_readings(feature: str, query: str, S: Stream) -> Iterator[str]:
    """The section of the standard's guide, and the other readings with another answer."""
    q, right = parsed("row-pattern", query), MEANING.matches(parsed("row-pattern", query), S)
    yield from (
        f"ISO/IEC 19075-5:2021, {e.section}" for e in EXAMPLES if parsed("row-pattern", e.clause) == q and e.stream == S
    )
    apart = [name for name, m in READINGS.items() if m.concerns(q, S) and m.matches(q, S) != right]
    if apart:
        yield f"not with {' or '.join(apart)}"


SOURCE = Source(
    "row-pattern",
    "row-pattern",
    CLAUSES,
    QUERIES,
    candidates,
    TABLES,
    MEANING,
    MUTANTS,
    printed,
    notes=other_readings,
    choosing=lambda feature: (),
)
