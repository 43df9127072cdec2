"""Queries with strategies, windows and partitions anywhere in them."""

from __future__ import annotations

from datetime import UTC, datetime

from proofs_tests.tools.suites.cel.queries.group import Group, Pool, each

X: Pool = ("x", (0, 1, 2))
ONE: Pool = ("x", (0, 1))
Y: Pool = ("y", (0, 1))
S: Pool = ("s", ("a", "b", "ab"))
TIME: Pool = ("time", (0, 30, 60, 61, 3600, 3601, 7200, 86400, 86401))
CLOCK: Pool = (
    "time",
    tuple(
        datetime(2021, 3, 1, hour, minute, second, tzinfo=UTC)
        for hour, minute, second in ((0, 0, 0), (0, 0, 30), (0, 1, 0), (1, 0, 0), (1, 0, 1))
    ),
)
TWO_TYPES = ("A", "B")
W_NAMES = {"strict": "STRICT", "nxt": "NXT", "last": "LAST", "max": "MAX"}

SELECTIONS: tuple[Group, ...] = tuple(
    group
    for feature, W in W_NAMES.items()
    for group in (
        Group(
            feature,
            each(
                "A ; {W}(A ; B)",
                "{W}(A ; B) ; C",
                "{W}(A ; B) ; {W}(A ; B)",
                "A : {W}(A+)",
                "A : {W}(B ; A)",
                "{W}(A+):+",
                "{W}(A ; B)+",
                "({W}(A+) ; B)+",
                "{W}(A ; A ; A)",
                "{W}(A ALL B)",
                "{W}(A+) ALL B",
                "{W}(A+ UNLESS B)",
                "{W}(A+) UNLESS B",
                "A UNLESS {W}(A ; B)",
                "{W}(A OR B) ; C",
                "{W}((A ; B) OR C)",
                "{W}(A) OR {W}(A ; A)",
                "{W}(A+) AND A+",
                "{W}(A+ AND (A ; A))",
                "START({W}(A ; B))",
                "{W}(START(A ; B))",
                "B ; START({W}(A+))",
                "{W}(PROJECT[A](A ; B))",
                "PROJECT[A]({W}(A ; B))",
                "{W}(PROJECT[](A) OR A)",
                "{W}(A : B)",
                "{W}(A:+)",
                "{W}((A OR B)+)",
                "{W}((A ; B) OR (B ; A) OR (A ; A))",
                W=W,
            ),
            length=5,
        ),
        Group(
            feature,
            each(
                *(f"{{W}}({V}({phi}))" for V in W_NAMES.values() for phi in ("A ; B", "A+")),
                *(f"{{W}}({V}(A+) ; A)" for V in W_NAMES.values()),
                W=W,
            ),
            types=TWO_TYPES,
            length=5,
        ),
        Group(
            feature,
            each(
                *(f"{{W}}({V}(A ; A) OR A)" for V in W_NAMES.values()),
                *(f"{{W}}(A ; {V}(A OR (A ; B)))" for V in W_NAMES.values()),
                W=W,
            ),
            types=TWO_TYPES,
            length=5,
        ),
        Group(
            feature,
            each(
                "{W}(A+) FILTER A.x = 1",
                "{W}(A+ FILTER A.x = 1)",
                "{W}(A+ FILTER A.x = A.x)",
                "{W}(A ; B FILTER A.x < B.x)",
                "{W}(A ; B) FILTER A.x < B.x",
                "{W}((A FILTER A.x > 0)+ ; B)",
                "A ; {W}((A+ ; B) FILTER A.x = B.x)",
                W=W,
            ),
            (X,),
            TWO_TYPES,
        ),
        Group(
            feature,
            each(
                "{W}(A IN X ; A)",
                "{W}(A+ IN X OR A)",
                "{W}((A OR A IN X) ; A)",
                "{W}((A OR A+ IN X) ; A)",
                "{W}(START((A OR A+ IN X) ; A))",
                "{W}(A IN X ALL A IN Y)",
                W=W,
            ),
            types=TWO_TYPES,
            output="valuations",
        ),
        Group(feature, each("{W}((A OR A+ IN X) ; A)", "{W}(START((A OR A+ IN X) ; A))", W=W), types=("A",), length=4),
    )
)

WINDOWS: tuple[Group, ...] = (
    Group(
        "within",
        (
            "(A ; B) WITHIN 1 EVENTS",
            "(A ; A ; A) WITHIN 3 EVENTS",
            "(A ; A ; A) WITHIN 4 EVENTS",
            "A+ WITHIN 3 EVENTS",
            "A:+ WITHIN 2 EVENTS",
            "(A ; B WITHIN 2 EVENTS)+",
            "A ; (A ; B WITHIN 2 EVENTS)",
            "(A+ WITHIN 2 EVENTS) : B",
            "(A ALL B) WITHIN 2 EVENTS",
            "(A OR (A ; B)) WITHIN 1 EVENTS",
            "((A ; B) UNLESS C) WITHIN 3 EVENTS",
            "NXT(A ; B) WITHIN 2 EVENTS",
            "NXT(A ; B WITHIN 2 EVENTS)",
            "LAST(A+) WITHIN 2 EVENTS",
            "LAST(A+ WITHIN 2 EVENTS)",
            "MAX(A+) WITHIN 2 EVENTS",
            "MAX(A+ WITHIN 2 EVENTS)",
            "STRICT(A+ WITHIN 2 EVENTS)",
            "STRICT(A+) WITHIN 2 EVENTS",
            "START(A ; B WITHIN 3 EVENTS)",
            "A ; START(A ; B WITHIN 3 EVENTS)",
            "PROJECT[](A) WITHIN 2 EVENTS",
            "PROJECT[A](A ; B) WITHIN 2 EVENTS",
            "PROJECT[A](A ; B WITHIN 2 EVENTS)",
            "(A WITHIN 1 EVENTS) ; (B WITHIN 1 EVENTS)",
            "A+ WITHIN 3 EVENTS WITHIN 2 EVENTS",
            "(A ; B WITHIN 2 EVENTS) OR (A ; C WITHIN 3 EVENTS)",
            "A UNLESS (B ; C WITHIN 2 EVENTS)",
            "A+ AND (A ; A WITHIN 2 EVENTS)",
        ),
        length=6,
    ),
    Group(
        "within",
        (
            "A ; B WITHIN 30 seconds",
            "A ; B WITHIN 1 minute",
            "A ; B WITHIN 60 minutes",
            "A ; B WITHIN 1 hour",
            "A ; B WITHIN 2 hours",
            "A ; B WITHIN 1 day",
            "A ; B WITHIN 24 hours",
            "A+ WITHIN 0.5 minutes",
            "(A ; A WITHIN 1 minute) ; B",
            "PROJECT[A](A ; B) WITHIN 1 minute",
        ),
        (TIME,),
        TWO_TYPES,
    ),
    Group(
        "within",
        (
            "A ; B WITHIN 30 seconds",
            "A ; B WITHIN 1 minute",
            "A+ WITHIN 1 hour",
            "A ; B WITHIN 0 seconds",
            "(A ; B WITHIN 1 minute)+",
        ),
        (CLOCK,),
        TWO_TYPES,
    ),
    Group("within", ("A ; B WITHIN 1 hour", "A+ WITHIN 1 minute"), (TIME,), TWO_TYPES, absent=0.3),
    Group(
        "within",
        (
            "A ; A ; A WITHIN 1 [x]",
            "A+ WITHIN 1 [x]",
            "A ; B WITHIN 1 [x]",
            "A ; B WITHIN 2 [x]",
            "A ; B WITHIN 0.5 [x]",
            "NXT(A+) WITHIN 1 [x]",
            "NXT(A+ WITHIN 1 [x])",
            "(A+ WITHIN 1 [x]) ; B",
            "(A WITHIN 0 [x])+",
        ),
        (("x", (0, 1, 2, 3)),),
        TWO_TYPES,
        length=5,
    ),
    Group("within", ("A WITHIN 5 [x]", "A+ WITHIN 1 [x]", "PROJECT[](A) WITHIN 1 [x]"), (X,), TWO_TYPES, absent=0.3),
    Group("within", ("A ; B WITHIN 1 [f]", "A+ WITHIN 0.5 [f]"), (("f", (0.0, 0.5, 1.0, 1.5)),), TWO_TYPES),
    Group(
        "within",
        ("(A IN X ; B) WITHIN 2 EVENTS", "A+ IN X WITHIN 2 EVENTS", "(A+ WITHIN 2 EVENTS) IN X"),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "partition",
        (
            "A ; A ; A PARTITION BY [x]",
            "A ; B ; A PARTITION BY [x]",
            "A : B PARTITION BY [x]",
            "A:+ PARTITION BY [x]",
            "(A ; B PARTITION BY [x])+",
            "(A PARTITION BY [x])+",
            "(A+ PARTITION BY [x]) ; B",
            "A ; (A ; B PARTITION BY [x])",
            "(A ALL B) PARTITION BY [x]",
            "(A ; B) UNLESS (A ; A PARTITION BY [x])",
            "NXT(A ; B) PARTITION BY [x]",
            "NXT(A ; B PARTITION BY [x])",
            "LAST(A+) PARTITION BY [x]",
            "LAST(A+ PARTITION BY [x])",
            "MAX(A+) PARTITION BY [x]",
            "MAX(A+ PARTITION BY [x])",
            "STRICT(A+ PARTITION BY [x])",
            "START(A ; B PARTITION BY [x])",
            "PROJECT[A](A ; B) PARTITION BY [x]",
            "PROJECT[A](A ; B PARTITION BY [x])",
            "PROJECT[](A) PARTITION BY [x]",
            "A ; B PARTITION BY [x] WITHIN 3 EVENTS",
            "(A ; B WITHIN 2 EVENTS) PARTITION BY [x]",
            "A+ AND (A ; A PARTITION BY [x])",
            "(A+ FILTER A.x > 0) PARTITION BY [x]",
        ),
        (ONE,),
        TWO_TYPES,
        length=5,
    ),
    Group(
        "partition",
        (
            "A ; B PARTITION BY [x] PARTITION BY [y]",
            "A+ PARTITION BY [y]",
            "(A ; B PARTITION BY [y]) ; A PARTITION BY [x]",
            "(A ; B) FILTER A.x < B.x PARTITION BY [y]",
        ),
        (X, Y),
        TWO_TYPES,
    ),
    Group("partition", ("A ; B PARTITION BY [s]", "A+ PARTITION BY [s]"), (S,), TWO_TYPES),
    Group(
        "partition",
        (
            "A PARTITION BY [x]",
            "A+ PARTITION BY [x]",
            "A ; B PARTITION BY [x]",
            "(A PARTITION BY [x])+ ; B",
            "PROJECT[](A) PARTITION BY [x]",
            "A UNLESS (B PARTITION BY [x])",
        ),
        (ONE,),
        TWO_TYPES,
        absent=0.4,
    ),
    Group(
        "partition", ("A ; B PARTITION BY [time]", "A+ PARTITION BY [time]"), (("time", (0, 1)),), TWO_TYPES, absent=0.1
    ),
    Group(
        "partition",
        ("(A IN X ; B) PARTITION BY [x]", "A+ IN X PARTITION BY [x]", "(A+ PARTITION BY [x]) IN X"),
        (ONE,),
        TWO_TYPES,
        output="valuations",
    ),
)
