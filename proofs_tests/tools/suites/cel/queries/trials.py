"""Queries for what engines got wrong on trial and no case showed: deep groups, filters across events, far times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from proofs_tests.tools.suites.cel.queries.group import Group, Pool, each

X: Pool = ("x", (0, 1, 2))
ONE: Pool = ("x", (0, 1))
Y: Pool = ("y", (0, 1))
TWO_TYPES = ("A", "B")
FAR: Pool = ("time", (0, 1, 3_600, 90_000, 3_000_000, 100_000_000))
SECONDS: Pool = ("time", (0, 1, 2, 3, 4))
TENTHS: Pool = (
    "time",
    tuple(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms) for ms in (0, 400, 500, 600, 1500, 1600)),
)

DEEP: tuple[Group, ...] = (
    Group(
        "seq",
        (
            "((A ; B) ; (A ; C)) ; B",
            "A ; (B ; (A ; (B ; A)))",
            "((A OR (B ; C)) ; A) ; B",
            "A ; ((B OR (C ; A)) ; (B OR C))",
            "(((A ; B) OR C) ; A) OR B",
            "((A+ ; B) ; A+) ; B",
            "A ; (B+ ; (A ; B)+)",
            "A+ ; B+ ; A+",
            "(A OR B)+ ; B+",
            "(A OR B)+ ; (B OR C)+",
            "(A ALL B) ; C",
            "(B ALL A) ; C",
            "C ; (A ALL B)",
            "(A ALL B) ; (A ALL C)",
            "((A ; B) ALL C) ; A",
            "((A ALL B) ; C) ALL A",
        ),
        length=6,
    ),
    *(
        Group(
            feature,
            each(
                "((A ; B){p} ; A){p}",
                "((A : B){p} : A){p}",
                "(((A ; B){p} ; A){p} ; B){p}",
                "((A OR (B ; A)){p} ; B){p}",
                "((A{p} ; B){p} ; A){p}",
                "(A ; (B ; A{p}){p}){p}",
                p=plus,
            ),
            types=TWO_TYPES,
            length=6,
        )
        for feature, plus in (("plus", "+"), ("cplus", ":+"))
    ),
)

ACROSS_EVENTS: tuple[Group, ...] = (
    Group(
        "filter",
        (
            "(A ; B) FILTER A.x = B.x AND A.x > 0",
            "(A ; B) FILTER A.x = B.x OR B.x = 1",
            "(A ; B) FILTER (A.x = 1 OR B.x = 1) AND A.x < B.x",
            "(A ; B) FILTER A.x < B.x OR A.x = B.x AND A.x = 1",
            "(A ; B ; C) FILTER A.x = B.x AND B.x = C.x",
            "(A ; B ; C) FILTER A.x = B.x OR B.x = C.x",
            "(A ; B ; C) FILTER (A.x = B.x OR B.x = C.x) AND A.x != C.x",
            "(A+ ; B) FILTER A.x = B.x OR B.x = 1",
            "(A+ ; B) FILTER A.x = B.x AND A.x > 0",
            "(A OR B ; C) FILTER A.x = 1 OR B.x = C.x",
        ),
        (X,),
    ),
    Group(
        "filter",
        (
            "(A ; B) FILTER (A.x = 1 OR B.x = 1) AND (A.y = 1 OR B.y = 1)",
            "(A ; B) FILTER A.x = B.x AND (A.y = 1 OR B.y = 1)",
            "(A ; B) FILTER A.x = B.x OR A.y = B.y",
        ),
        (ONE, Y),
        TWO_TYPES,
    ),
)

TWO_VARIABLES: tuple[Group, ...] = (
    Group(
        "in",
        ("A IN X IN Y", "(A IN X) IN Y ; B", "((A IN X ; B) IN Y ; A) IN X", "(A IN X OR A IN Y)", "(A IN X)+ IN Y"),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "in",
        (
            "A IN X IN Y FILTER X.x = 1 AND Y.x > 0",
            "(A IN X IN Y ; B) FILTER X.x = B.x AND Y.x = 1",
            "(A IN X ; A IN X IN Y) FILTER X.x = Y.x",
            "((A ; B) IN X ; A) FILTER X.x = 1 OR A.x = 1",
        ),
        (ONE,),
        TWO_TYPES,
    ),
)

TIMES: tuple[Group, ...] = (
    Group("seq", ("A ; B", "A ; A", "A ; B ; A"), (FAR,), TWO_TYPES, ordered=True),
    Group("cseq", ("A : B", "A : A"), (FAR,), TWO_TYPES, ordered=True),
    Group("plus", ("A+", "A+ ; B"), (FAR,), TWO_TYPES, ordered=True),
    Group(
        "within",
        ("A ; B WITHIN 1.5 seconds", "A+ WITHIN 2.5 seconds", "A ; B ; A WITHIN 0.05 minutes"),
        (SECONDS,),
        TWO_TYPES,
        ordered=True,
    ),
    Group(
        "within",
        ("A ; B WITHIN 0.5 seconds", "A+ WITHIN 1.5 seconds", "A ; B WITHIN 1.1 seconds"),
        (TENTHS,),
        TWO_TYPES,
        ordered=True,
    ),
    Group("within", ("A ; B WITHIN 1.5 [x]", "A+ WITHIN 0.5 [x]"), (("x", (0.0, 0.5, 1.0, 1.5, 2.0)),), TWO_TYPES),
)

TRIALS = (*DEEP, *ACROSS_EVENTS, *TWO_VARIABLES, *TIMES)
