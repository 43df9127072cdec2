"""The questions about MATCH_RECOGNIZE: clauses, and tables with the columns p, x and y."""

from __future__ import annotations

from cerify.conformance.identification.questions import Stage, Template, events

X = events("row", x=(0, 1))
X3 = events("row", x=(1, 2, 3))
WITH_NULL = events("row", x=(None, 0, 1))
PARTS = events("row", p=(0, 1), x=(0, 1))
ABC = "DEFINE A AS x = 1, B AS x = 2, C AS x = 3"


def _rows(pattern: str, rest: str = "", measures: str = "", skip: str = "", by: str = "") -> str:
    """The clause of these parts; rest follows the pattern, and of measures all rows are shown."""
    shown = f"MEASURES {measures} ALL ROWS PER MATCH" if measures else ""
    after = f"AFTER MATCH SKIP {skip}" if skip else ""
    return f"MATCH_RECOGNIZE ({' '.join(filter(None, (by, shown, after, f'PATTERN ({pattern})', rest)))})"


def _window(pattern: str, rest: str, end: str = "UNBOUNDED", skip: str = "") -> str:
    """The clause of WINDOW of these parts."""
    after = f"AFTER MATCH SKIP {skip} " if skip else ""
    return f"WINDOW (ROWS BETWEEN CURRENT ROW AND {end} FOLLOWING {after}PATTERN ({pattern}) {rest})"


def _asked(axes: str, *queries: str, letters: tuple[dict[str, object], ...] = X, longest: int = 4) -> Stage:
    return Stage(tuple(axes.split()), tuple(Template(query, letters, longest) for query in queries))


STAGES = (
    _asked("skip", _rows("A B"), _rows("A B", skip="TO NEXT ROW")),
    _asked(
        "preference empty empty_matches bounds bounded_iterations empty_iterations reluctant",
        _rows("A? B", "DEFINE A AS x = 1"),
        _rows("A?", "DEFINE A AS x = 1", "MATCH_NUMBER() AS n"),
        _rows("A+ B", "DEFINE A AS x = 1"),
        _rows("A{1,2}", "DEFINE A AS x = 1"),
        _rows("A+?"),
        _rows("A*? B", "DEFINE B AS x = 1"),
        _rows("(A?)*", "DEFINE A AS x = 1"),
        _rows("(A?){0,2} $", "DEFINE A AS x = 1"),
        _rows("((A)??){0,2} B? $", "DEFINE A AS x = 1"),
        _rows("(() | A | B){0,2} C? $", "DEFINE C AS COUNT(B.*) = 1"),
    ),
    _asked(
        "alternation",
        _rows("(A | B) C?", "DEFINE C AS x = 1"),
        _rows("A | A B"),
        _rows("A B | A"),
        _rows("A B | C", "DEFINE A AS x = 1"),
    ),
    _asked(
        "permute",
        _rows("PERMUTE(A, B)"),
        _rows("PERMUTE(A, B, C)", ABC),
        _rows("PERMUTE(A, B)", "DEFINE A AS x = 1"),
        letters=X3,
    ),
    _asked("anchors", _rows("^ A", skip="TO NEXT ROW"), _rows("A $")),
    _asked("exclusion", _rows("A {- B -}", "", "x AS m")),
    _asked(
        "skip-to skip_to_nothing skip_to_first",
        _rows("A B B", "DEFINE A AS x = 1", skip="TO LAST B"),
        _rows("A B B", "DEFINE A AS x = 1", skip="TO FIRST B"),
        _rows("A B?", "DEFINE B AS x = 1", skip="TO B"),
        _rows("A B", skip="TO FIRST A"),
        longest=5,
    ),
    _asked(
        "running offset",
        _rows("A B", "", "LAST(x) AS m, FINAL LAST(x) AS n"),
        _rows("A A", "", "LAST(x, 1) AS m, FIRST(x, 1) AS n"),
    ),
    _asked("match-number", _rows("A", "", "MATCH_NUMBER() AS n", by="PARTITION BY p"), letters=PARTS),
    _asked("partition", _rows("A B", by="PARTITION BY p"), letters=PARTS),
    _asked("nulls order", _rows("A B", by="ORDER BY x"), _rows("A B", by="ORDER BY x DESC"), letters=WITH_NULL),
    _asked(
        "physical",
        _rows("A B", "DEFINE B AS x > PREV(x)"),
        _rows("A", "DEFINE A AS PREV(x) = 1"),
        _rows("A", "DEFINE A AS PREV(x) = 1", by="PARTITION BY p"),
        letters=PARTS,
    ),
    _asked(
        "frame frame-end seek",
        _window("A", "DEFINE A AS PREV(x) IS NULL"),
        _window("A", "DEFINE A AS NEXT(x) IS NULL", "1"),
        _window("A+", "DEFINE A AS x = 1", "1", "TO NEXT ROW"),
        _window("A", "DEFINE A AS x = 1", skip="TO NEXT ROW SEEK"),
        _window("A", "DEFINE A AS x = 1", "1", "PAST LAST ROW SEEK"),
    ),
    _asked(
        "unknown",
        *(_rows("A", f"DEFINE A AS {text}") for text in ("NOT x = 1", "x = NULL", "(x > 0) IS NULL", "x = y")),
        letters=events("row", x=(None, 0, 1), y=(None, 0)),
        longest=2,
    ),
    _asked("union", _rows("A B", "SUBSET U = (A, B)", "CLASSIFIER(U) AS c")),
    _asked("count", _rows("A A", "", "COUNT(x) AS n"), letters=WITH_NULL),
    _asked("integer_division", _rows("A", "DEFINE A AS x / 2 = 1"), letters=X3, longest=2),
    Stage(
        (),
        (
            Template(_rows("(A | B)+ C", ABC), X3, 4),
            Template(_rows("A+? B* C?", ABC, skip="TO NEXT ROW"), X3, 4),
            Template(_rows("(A B?){1,2}", "DEFINE B AS x > PREV(x)", "CLASSIFIER() AS c"), X, 4),
        ),
    ),
)
