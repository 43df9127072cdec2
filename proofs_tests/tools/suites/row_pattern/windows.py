"""The clauses of WINDOW that the suite puts to an engine, by feature."""

from __future__ import annotations

from collections.abc import Mapping

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
