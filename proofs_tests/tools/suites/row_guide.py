"""The examples of the standard's guide to row patterns, ISO/IEC 19075-5:2021, with the results that it prints.

Queries, data and results are those that the public tests of two databases have from its sections; the guide itself was
not to be had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.row_pattern.syntax import ROW
from cerify.semantics.values import Value

Row: TypeAlias = dict[str, Value]


class GuideExample(NamedTuple):
    """A section, the feature of the suite under which its example is, the clause, the rows and what is printed.

    printed has for each match that has a row of the result the positions of its rows and the values of its measures by
    name, a list where there is one for each row.
    """

    section: str
    feature: str
    clause: str
    rows: Sequence[Row]
    printed: Sequence[tuple[tuple[int, ...], dict[str, Any]]]

    @property
    def stream(self) -> Stream:
        """The rows as a stream with a schema."""
        names: dict[str, str] = {}
        for row in self.rows:
            names |= {name: "string" if isinstance(value, str) else "int" for name, value in row.items()}
        return Stream([Event(ROW, row) for row in self.rows], Schema({ROW: names}))  # type: ignore[dict-item]


DAYS = (8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 22, 23, 24)
PRICES = (50, 60, 49, 40, 35, 45, 45, 45, 43, 47, 52, 70, 60)
TICKER = [{"symbol": "XYZ", "tradeday": f"2009-06-{d:02}", "price": p} for d, p in zip(DAYS, PRICES, strict=True)]
BY = "PARTITION BY symbol ORDER BY tradeday"
FALL_AND_RISE = (
    "PATTERN (A B+ C+) SUBSET U = (A, B, C) DEFINE B AS B.price < PREV(B.price), C AS C.price > PREV(C.price)"
)
RISES = "PATTERN (A*) DEFINE A AS A.price > PREV(A.price)"
PAST = "AFTER MATCH SKIP PAST LAST ROW"
FIRST_V, SECOND_V = (1, 2, 3, 4, 5), (7, 8, 9, 10, 11)
EMPTY_NUMBERS = (1, 3, 4, 5, 7, 8, 9, 11)
PRICED = [{"i": i, "price": 10 * i} for i in range(1, 6)]
NUMBERED = [{"i": i, "price": p} for i, p in enumerate((10, 20, 15, 12, 18, 25), 1)]


def _runs(empty: dict[str, Any], *runs: tuple[tuple[int, ...], dict[str, Any]]) -> list[tuple[tuple[int, ...], Any]]:
    """The matches of RISES in the order of their numbers: eight are empty."""
    found = [((), {**empty, "matchno": n} if "matchno" in empty else empty) for n in EMPTY_NUMBERS]
    for number, run in zip((2, 6, 10), runs, strict=True):
        found.insert(number - 1, run)
    return found


def _letters(words: str) -> list[Row]:
    """A row for each word, with the letters of the variables that it may be."""
    return [{"i": i, "z": word} for i, word in enumerate(words.split(), 1)]


def _labelled(pattern: str, rows: str, *printed: tuple[tuple[int, ...], str], section: str) -> GuideExample:
    """An example whose rows may be some letters, and whose matches are labelled with these."""
    used = sorted({letter for letter in pattern if letter.isupper()})
    define = ", ".join(f"{letter} AS z LIKE '%{letter}%'" for letter in used)
    clause = (
        f"MATCH_RECOGNIZE (ORDER BY i MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH {PAST} PATTERN ({pattern}) "
        f"DEFINE {define})"
    )
    return GuideExample(
        section, "row-classifier", clause, _letters(rows), [(at, {"c": [*word]}) for at, word in printed]
    )


EXAMPLES: Sequence[GuideExample] = (
    GuideExample(
        "4.3, Table 2",
        "row-output",
        f"MATCH_RECOGNIZE ({BY} MEASURES MATCH_NUMBER() AS matchno, A.price AS startp, LAST(B.price) AS bottomp, "
        f"LAST(C.price) AS endp, AVG(U.price) AS avgp ONE ROW PER MATCH {PAST} {FALL_AND_RISE})",
        TICKER,
        [
            (FIRST_V, {"matchno": 1, "startp": 60, "bottomp": 35, "endp": 45, "avgp": 45.8}),
            (SECOND_V, {"matchno": 2, "startp": 45, "bottomp": 43, "endp": 70, "avgp": 51.4}),
        ],
    ),
    GuideExample(
        "4.4, Table 3",
        "row-output",
        f"MATCH_RECOGNIZE ({BY} MEASURES MATCH_NUMBER() AS matchno, CLASSIFIER() AS classy, A.price AS startp, "
        "FINAL LAST(B.price) AS bottomp, FINAL LAST(C.price) AS endp, FINAL AVG(U.price) AS avgp "
        f"ALL ROWS PER MATCH {PAST} {FALL_AND_RISE})",
        TICKER,
        [
            (
                at,
                {
                    "matchno": [number] * 5,
                    "classy": [*classy],
                    "startp": [start] * 5,
                    "bottomp": [bottom] * 5,
                    "endp": [end] * 5,
                    "avgp": [average] * 5,
                },
            )
            for at, number, classy, start, bottom, end, average in (
                (FIRST_V, 1, "ABBBC", 60, 35, 45, 45.8),
                (SECOND_V, 2, "ABCCC", 45, 43, 70, 51.4),
            )
        ],
    ),
    GuideExample(
        "4.12.2, Table 6",
        "row-match-number",
        f"MATCH_RECOGNIZE ({BY} MEASURES MATCH_NUMBER() AS matchno, FIRST(A.price) AS firstp, LAST(A.price) AS lastp "
        f"ONE ROW PER MATCH {PAST} {RISES})",
        TICKER,
        _runs(
            {"matchno": None, "firstp": None, "lastp": None},
            ((1,), {"matchno": 2, "firstp": 60, "lastp": 60}),
            ((5,), {"matchno": 6, "firstp": 45, "lastp": 45}),
            ((9, 10, 11), {"matchno": 10, "firstp": 47, "lastp": 70}),
        ),
    ),
    GuideExample(
        "4.12.2, Table 7",
        "row-output",
        f"MATCH_RECOGNIZE ({BY} MEASURES CLASSIFIER() AS classy, FINAL LAST(A.price) AS lastp "
        f"ALL ROWS PER MATCH SHOW EMPTY MATCHES {PAST} {RISES})",
        TICKER,
        _runs(
            {"classy": [None], "lastp": [None]},
            ((1,), {"classy": ["A"], "lastp": [60]}),
            ((5,), {"classy": ["A"], "lastp": [45]}),
            ((9, 10, 11), {"classy": ["A"] * 3, "lastp": [70] * 3}),
        ),
    ),
    GuideExample(
        "4.12.2, Table 8",
        "row-output",
        f"MATCH_RECOGNIZE ({BY} MEASURES MATCH_NUMBER() AS matchno, CLASSIFIER() AS classy "
        f"ALL ROWS PER MATCH OMIT EMPTY MATCHES {PAST} {RISES})",
        TICKER,
        [
            ((1,), {"matchno": [2], "classy": ["A"]}),
            ((5,), {"matchno": [6], "classy": ["A"]}),
            ((9, 10, 11), {"matchno": [10] * 3, "classy": ["A"] * 3}),
        ],
    ),
    GuideExample(
        "4.12.3, Table 9",
        "row-output",
        f"MATCH_RECOGNIZE ({BY} MEASURES CLASSIFIER() AS classy, A.price AS startp, FINAL AVG(U.price) AS avgp "
        f"ALL ROWS PER MATCH WITH UNMATCHED ROWS {PAST} {FALL_AND_RISE})",
        TICKER,
        [
            (FIRST_V, {"classy": [*"ABBBC"], "startp": [60] * 5, "avgp": [45.8] * 5}),
            (SECOND_V, {"classy": [*"ABCCC"], "startp": [45] * 5, "avgp": [51.4] * 5}),
        ],
    ),
    GuideExample(
        "4.10",
        "row-aggregate",
        "MATCH_RECOGNIZE (ORDER BY i MEASURES COUNT(A.price) AS a, COUNT(B.price) AS b, COUNT(C.price) AS c, "
        "COUNT(D.price) AS d, COUNT(S.price) AS s ONE ROW PER MATCH PATTERN (A+ (B+ | C+) D) SUBSET S = (B, D) "
        "DEFINE A AS price <= 20, B AS price IN (30, 40), C AS price = 99, D AS price = 50)",
        PRICED,
        [((0, 1, 2, 3, 4), {"a": 2, "b": 2, "c": 0, "d": 1, "s": 3})],
    ),
    GuideExample(
        "5.6.3, Table 15",
        "row-logical",
        "MATCH_RECOGNIZE (ORDER BY i MEASURES "
        + ", ".join(f"FINAL {f}(A.price, {n}) AS {f[0].lower()}{n}" for f in ("FIRST", "LAST") for n in range(4))
        + " ONE ROW PER MATCH PATTERN (A B A C A) DEFINE A AS price IN (10, 30, 50), B AS price = 20, C AS price = 40)",
        PRICED,
        [((0, 1, 2, 3, 4), {"f0": 10, "f1": 30, "f2": 50, "f3": None, "l0": 50, "l1": 30, "l2": 10, "l3": None})],
    ),
    GuideExample(
        "5.8",
        "row-match-number",
        "MATCH_RECOGNIZE (ORDER BY i MEASURES MATCH_NUMBER() AS mn, CLASSIFIER() AS c "
        f"ALL ROWS PER MATCH {PAST} PATTERN (A+ | B+) "
        "DEFINE A AS MATCH_NUMBER() % 2 = 1 AND A.price > PREV(A.price), "
        "B AS MATCH_NUMBER() % 2 = 0 AND B.price < PREV(B.price))",
        NUMBERED,
        [
            ((1,), {"mn": [1], "c": ["A"]}),
            ((2, 3), {"mn": [2] * 2, "c": ["B"] * 2}),
            ((4, 5), {"mn": [3] * 2, "c": ["A"] * 2}),
        ],
    ),
    _labelled("A{1,2} | B{2,3}", "AB AB B B", ((0, 1), "AA"), ((2, 3), "BB"), section="7.2.2"),
    _labelled("A{1,2} | B{2,3}", "B B B", ((0, 1, 2), "BBB"), section="7.2.2"),
    _labelled("(A | B) (C | D)", "AB CD", ((0, 1), "AC"), section="7.2.3"),
    _labelled("(A | B) (C | D)", "AB D", ((0, 1), "AD"), section="7.2.3"),
    _labelled("(A | B) (C | D)", "B CD", ((0, 1), "BC"), section="7.2.3"),
    _labelled("(A | B){1,2}", "AB AB", ((0, 1), "AA"), section="7.2.4"),
    _labelled("(A | B){1,2}", "AB B", ((0, 1), "AB"), section="7.2.4"),
    _labelled("(A | B){1,2}", "B AB", ((0, 1), "BA"), section="7.2.4"),
    _labelled("(A | B){1,2}?", "AB AB", ((0,), "A"), ((1,), "A"), section="7.2.4"),
    _labelled("A? B+", "B B B", ((0, 1, 2), "BBB"), section="7.3"),
    _labelled("(A??)* B", "B B", ((0,), "B"), ((1,), "B"), section="7.2.8"),
)

ORDERS: Sequence[tuple[str, str, str]] = (
    ("7.2.2", "A{1,2} | B{2,3}", "AA A BBB BB"),
    ("7.2.3", "(A | B) (C | D)", "AC AD BC BD"),
    ("7.2.4", "(A | B){1,2}", "AA AB A BA BB B"),
    ("7.2.4", "(A | B){1,2}?", "A AA AB B BA BB"),
    ("7.2.4", "V{2,4}", "VVVV VVV VV"),
    ("7.2.4", "V{2,4}?", "VV VVV VVVV"),
    ("7.3", "A? B+", "ABBB ABB AB BBBB BBB BB B"),
)
"""A section, a pattern, and its matches where every row may be anything, in the order of preference."""
