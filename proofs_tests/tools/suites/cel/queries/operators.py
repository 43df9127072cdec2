"""Queries for each operator, with a few for its interplay with the others."""

from __future__ import annotations

from proofs_tests.tools.suites.cel.queries.group import Group, Pool

X: Pool = ("x", (0, 1, 2))

PLAIN_OPERATORS: tuple[Group, ...] = (
    Group("event", ("A", "B", "C"), length=3),
    Group("event", ("A", "a", "AB", "A_1", "Événement"), types=("A", "a", "AB", "A_1", "Événement"), length=3),
    Group("event", ("A", "B"), output="valuations"),
    Group(
        "seq",
        (
            "A ; B",
            "A ; A",
            "A ; B ; C",
            "A ; (B ; C)",
            "A ; B ; A",
            "(A OR B) ; C",
            "A ; (A ; B)",
            "(A : B) ; C",
            "A ; (B : C)",
        ),
    ),
    Group("seq", ("A ; B", "A ; A", "A ; B ; A"), output="valuations"),
    Group(
        "cseq",
        (
            "A : B",
            "A : A",
            "A : B : C",
            "A : (B : C)",
            "A : B : A",
            "(A ; B) : C",
            "A : (B ; C)",
            "(A OR B) : A",
            "A+ : B",
            "A : B+",
            "(A : B) OR (A ; B)",
        ),
    ),
    Group("cseq", ("A : B", "(A ; A) : A"), output="valuations"),
    Group(
        "plus",
        (
            "A+",
            "A+ ; B",
            "A ; B+",
            "A ; B+ ; C",
            "(A ; B)+",
            "(A OR B)+",
            "(A : B)+",
            "A++",
            "(A+ ; B)+",
            "(A ; B)+ ; C",
            "A+ ; A",
        ),
    ),
    Group("plus", ("A+", "(A ; B+)+", "(A IN X ; B)+"), output="valuations"),
    Group(
        "cplus",
        (
            "A:+",
            "A:+ ; B",
            "A:+ : B",
            "A ; B:+",
            "(A ; B):+",
            "(A : B):+",
            "(A OR B):+",
            "A:+:+",
            "A:++",
            "A+:+",
            "A : B:+ : C",
        ),
    ),
    Group("cplus", ("A:+", "(A ; B):+"), output="valuations"),
    Group(
        "or",
        (
            "A OR B",
            "A OR A",
            "A OR (A ; B)",
            "(A ; B) OR (B ; A)",
            "(A : B) OR C",
            "A OR B OR C",
            "A+ OR B",
            "(A OR (A ; B)) : C",
        ),
    ),
    Group("or", ("A OR B", "(A IN X) OR (A IN Y)", "(A ; B) OR (A ; B) IN X"), output="valuations"),
    Group(
        "in", ("(A IN X ; A) FILTER X.x > A.x", "(A ; B) IN X FILTER X.x > 0", "(A+ IN X ; B) FILTER X.x >= 1"), (X,)
    ),
    Group("in", ("(A IN X ; A IN Y) FILTER X.x = 1 AND Y.x = 2", "(A IN B ; B) FILTER B.x > 0"), (X,)),
    Group(
        "in",
        (
            "A IN X",
            "A IN A",
            "(A ; B) IN A",
            "(A ; B) IN X",
            "A IN X IN Y",
            "(A IN X ; B) IN X",
            "(A IN X ; B IN X)",
            "(A ; B) IN X ; C IN X",
            "A+ IN X",
            "(A IN X)+",
            "(A IN B ; B) IN A",
            "((A ; B) IN A ; A) IN B",
        ),
        output="valuations",
    ),
    Group(
        "project",
        (
            "PROJECT[A](A ; B)",
            "PROJECT[B](A ; B)",
            "PROJECT[](A ; B)",
            "PROJECT[Z](A)",
            "PROJECT[A](A+ ; B)",
            "PROJECT[A](A ; B) ; C",
            "PROJECT[B](A ; B) : C",
            "C : PROJECT[B](A ; B)",
            "PROJECT[A](A : B)+",
            "PROJECT[A, C](A ; B ; C)",
            "PROJECT[A](A OR B)",
        ),
    ),
    Group("project", ("PROJECT[X]((A IN X ; B) FILTER B.x > 0)", "PROJECT[A](A ; B) FILTER B.x > 0"), (X,)),
    Group(
        "project",
        ("PROJECT[A](A ; B)", "PROJECT[X](A IN X)", "PROJECT[X](A IN X ; B)", "PROJECT[A, X]((A ; B) IN X)"),
        output="valuations",
    ),
    Group(
        "start",
        (
            "START(A)",
            "START(A ; B)",
            "START(A+)",
            "A ; START(B)",
            "A : START(B)",
            "START(A) ; B",
            "START(A):+",
            "START(A)+",
            "START(A OR B)",
            "START(A : B) ; C",
            "START(START(A) ; B)",
            "(A ; START(B)) OR C",
        ),
    ),
    Group("start", ("START(A+)", "A ; START(B)"), output="valuations"),
    Group(
        "and",
        (
            "A AND A",
            "A AND B",
            "(A ; B) AND (A : B)",
            "A+ AND A:+",
            "(A OR B) AND (B OR C)",
            "(A ; B) AND (A OR B)",
            "A+ AND (A ; A)",
            "(A AND A) ; B",
            "A IN X AND A IN X",
            "A IN X AND A IN Y",
            "A AND A IN X",
            "(A+ ; B) AND (A : B+)",
        ),
    ),
    Group("and", ("(A FILTER A.x > 0) AND (A FILTER A.x < 2)", "A+ AND (A+ FILTER A.x = 1)"), (X,)),
    Group("and", ("A+ AND A:+", "A IN X AND A", "(A ; B) AND (A : B)"), output="valuations"),
    Group(
        "all",
        (
            "A ALL B",
            "A ALL A",
            "(A ; B) ALL C",
            "(A ; B) ALL (A ; C)",
            "A ALL B ALL C",
            "A+ ALL B",
            "(A ALL B) ; C",
            "(A ALL B) : C",
            "(A ALL B)+",
            "A ALL (A OR B)",
            "(A : B) ALL C",
        ),
    ),
    Group("all", ("(A ALL B) FILTER A.x = B.x", "(A ALL B) FILTER A.x < 1 AND B.x > 0"), (X,)),
    Group("all", ("A ALL B", "A IN X ALL A IN Y", "A ALL A"), output="valuations"),
    Group(
        "unless",
        (
            "A UNLESS B",
            "(A ; B) UNLESS C",
            "A ; (B UNLESS C)",
            "(A UNLESS C) ; B",
            "A+ UNLESS B",
            "(A UNLESS B)+",
            "(A ; B) UNLESS (A : B)",
            "(A : B) UNLESS C",
            "A UNLESS A",
            "(A ; A) UNLESS (B ; B)",
            "(A UNLESS B) OR C",
            "START(A ; B) UNLESS C",
            "A UNLESS START(B)",
            "(A ; B) UNLESS START(C)",
        ),
    ),
    Group("unless", ("(A ; B) UNLESS (C FILTER C.x > 0)", "(A UNLESS (A FILTER A.x = 0)) ; B"), (X,)),
    Group("unless", ("A+ UNLESS B", "(A IN X ; B) UNLESS C"), output="valuations"),
)

STRATEGIES = {"strict": "STRICT", "nxt": "NXT", "last": "LAST", "max": "MAX"}

SELECTING: tuple[Group, ...] = tuple(
    group
    for feature, W in STRATEGIES.items()
    for group in (
        Group(
            feature,
            (
                f"{W}(A ; B)",
                f"{W}(A+)",
                f"{W}(A+ ; B)",
                f"{W}(A ; B+)",
                f"{W}((A ; B)+)",
                f"{W}(A OR (A ; B))",
                f"{W}((A OR B)+ ; C)",
                f"{W}((A ; A ; B) OR (C ; B))",
                f"{W}(A+) ; B",
                f"{W}(A ; B) : C",
                f"(A ; {W}(B+))+",
            ),
        ),
        Group(feature, (f"{W}(A+ ; B) FILTER A.x > 0", f"{W}((A+ ; B) FILTER A.x > 0)"), (X,), ("A", "B")),
        Group(feature, (f"{W}(A IN X OR A IN Y)", f"{W}((A IN X OR A)+)"), output="valuations"),
    )
)

WINDOWS: tuple[Group, ...] = (
    Group(
        "within",
        (
            "A ; B WITHIN 2 EVENTS",
            "A ; B WITHIN 3 EVENTS",
            "A+ WITHIN 2 EVENTS",
            "(A ; B WITHIN 2 EVENTS) ; C",
            "PROJECT[A](A ; B) WITHIN 1 EVENTS",
            "A WITHIN 1 EVENTS",
        ),
        length=5,
    ),
    Group(
        "within",
        ("A ; B WITHIN 4 seconds", "A+ WITHIN 1 minute", "A ; B WITHIN 1 hour", "A : B WITHIN 0 seconds"),
        (("time", (0, 4, 5, 60, 61, 3600)),),
        ("A", "B"),
    ),
    Group("within", ("A ; B WITHIN 2 [x]", "A+ WITHIN 1 [x]", "A ; B WITHIN 0 [x]"), (X,), ("A", "B"), absent=0.2),
    Group(
        "partition", ("A ; B PARTITION BY [x]", "A+ PARTITION BY [x]", "(A ; B)+ PARTITION BY [x]"), (X,), ("A", "B")
    ),
    Group(
        "partition",
        ("A ; B PARTITION BY [x]", "A PARTITION BY [x]", "(A ; B PARTITION BY [x]) ; A", "A+ ; B PARTITION BY [x]"),
        (X,),
        ("A", "B"),
        absent=0.3,
    ),
)
