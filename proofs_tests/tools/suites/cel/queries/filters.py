"""Queries for filters: every comparator and test, connectives, correlation, value types, absent attributes."""

from __future__ import annotations

from datetime import UTC, datetime

from proofs_tests.tools.suites.cel.queries.group import Group, Pool

X: Pool = ("x", (0, 1, 2))
Y: Pool = ("y", (0, 1, 2))
F: Pool = ("f", (0.5, 1.0, 1.5, 2.0))
S: Pool = ("s", ("", "a", "A", "ab", "b", "b'c"))
B: Pool = ("b", (True, False))
T: Pool = (
    "t",
    (datetime(2021, 3, 1, tzinfo=UTC), datetime(2021, 3, 1, 12, tzinfo=UTC), datetime(2021, 3, 2, tzinfo=UTC)),
)


FILTERS: tuple[Group, ...] = (
    # every comparator, and the other tests of one event
    Group("filter", tuple(f"A FILTER A.x {op} 1" for op in ("<", "<=", ">", ">=", "=", "!=")), (X,), ("A", "B")),
    Group(
        "filter", ("A FILTER A.x < A.y", "A FILTER A[x < y]", "A FILTER A[x = y]", "A FILTER A[x >= y]"), (X, Y), ("A",)
    ),
    Group("filter", tuple(f"A+ FILTER A.x {op} 1" for op in ("<", "=", "!=")), (X,), ("A", "B")),
    Group("filter", ("A FILTER A.x in {0, 2}", "A FILTER A[not x in {0, 1}]", "A FILTER A.x in {1}"), (X,), ("A", "B")),
    Group(
        "filter",
        (
            "A FILTER A.x in range(1, 2)",
            "A FILTER A.x in range(1, 1)",
            "A+ FILTER A.x in range(0, 2)",
            "A FILTER A.x in range(2, 1)",
            "A FILTER A[not x in range(1, 2)]",
        ),
        (("x", (0, 1, 2, 3)),),
        ("A", "B"),
    ),
    # connectives inside the brackets speak of one event, those outside of the whole match
    Group(
        "filter",
        (
            "A FILTER A[x > 0 and y > 0]",
            "A FILTER A[x > 0 or y > 0]",
            "A FILTER A[not (x > 0 and y > 0)]",
            "A FILTER A[not x > 0 and y > 0]",
            "A FILTER A[x = 0 or x = 1 and y = 2]",
        ),
        (X, Y),
        ("A",),
    ),
    Group(
        "filter",
        (
            "A+ FILTER A[x < 1 or x > 1]",
            "A+ FILTER A.x < 1 OR A.x > 1",
            "A+ FILTER A.x > 0 AND A.x < 2",
            "A+ FILTER A[x > 0 and x < 2]",
            "A+ FILTER A.x = 0 OR A.x = 1",
        ),
        (X,),
        ("A", "B"),
    ),
    Group(
        "filter",
        (
            "(A ; B) FILTER A.x > 0 AND B.x > 0",
            "(A ; B) FILTER A.x > 0 OR B.x > 0",
            "(A ; B) FILTER (A.x = 0 OR B.x = 0) AND (A.x = 1 OR B.x = 1)",
            "(A ; B) FILTER A.x = 0 AND B.x = 0 OR A.x = 1 AND B.x = 1",
        ),
        (X,),
        ("A", "B"),
    ),
    Group(
        "filter",
        (
            "A FILTER A.x > 0 FILTER A.x < 2",
            "(A FILTER A.x > 0) ; B",
            "(A FILTER A.x = 1)+ ; B",
            "(A FILTER A.x = 1 OR A.x = 2) : (A FILTER A.x = 0)",
        ),
        (X,),
    ),
    # a filter on a variable that the match does not bind holds
    Group(
        "filter",
        (
            "A FILTER X.x > 1",
            "(A OR B) FILTER A.x > 0",
            "(A OR B) FILTER A.x > 0 AND B.x < 2",
            "A FILTER B.x = A.x",
            "(A IN X OR B) FILTER X.x > 0 OR A.x > 0",
        ),
        (X,),
    ),
    # correlation: each mention ranges over the events of its variable on its own
    Group(
        "filter", tuple(f"(A ; B) FILTER A.x {op} B.x" for op in ("<", "<=", ">", ">=", "=", "!=")), (X,), ("A", "B")
    ),
    Group(
        "filter",
        (
            "A+ FILTER A.x = A.x",
            "A+ FILTER A.x <= A.x",
            "A+ FILTER A[x = x]",
            "A+ FILTER A.x != A.x",
            "(A+ ; B) FILTER A.x < B.x",
            "(A+ ; B+) FILTER A.x = B.x",
            "(A IN X ; A+ IN Y) FILTER X.x < Y.x",
        ),
        (X,),
        ("A", "B"),
    ),
    Group(
        "filter",
        (
            "(A ; B) FILTER A.x < B.x OR A.y = B.y",
            "(A ; B) FILTER A.x = B.x AND A.y = B.y",
            "(A ; B) FILTER A.x + A.y = B.x",
            "(A+ ; B) FILTER A.x + A.y = B.x",
        ),
        (X, Y),
        ("A", "B"),
    ),
    # arithmetic
    Group(
        "filter",
        (
            "A FILTER A[x + y = 2]",
            "A FILTER A[x - y > 0]",
            "A FILTER A[x * y >= 2]",
            "A FILTER A[x / y = 1]",
            "A FILTER A[x / y > 1]",
            "A FILTER A[x - y - 1 = 0]",
            "A FILTER A[x - (y - 1) = 0]",
            "A FILTER A[x * 2 + y = 4]",
            "A FILTER A[not x / y = 1]",
            "A FILTER A[-x < y - 2]",
            "A FILTER A[x / 2 = 0.5]",
            "A FILTER A[x / 4 * 4 = x]",
        ),
        (X, Y),
        ("A",),
    ),
    # floats, and integers beside them
    Group(
        "filter",
        (
            "A FILTER A.f > 1",
            "A FILTER A.f = 1",
            "A FILTER A.f = 1.0",
            "A FILTER A.f in {1, 2}",
            "A FILTER A.f in range(0.75, 1.5)",
            "A FILTER A.f * 2 = 3",
        ),
        (F,),
        ("A",),
    ),
    Group(
        "filter",
        ("A FILTER A[x = f]", "A FILTER A[x < f]", "A FILTER A.x < 1.5", "A FILTER A.x >= 1.0"),
        (X, F),
        ("A",),
    ),
    # strings, booleans, times
    Group(
        "filter",
        (
            "A FILTER A.s = 'a'",
            "A FILTER A.s != 'a'",
            "A FILTER A.s < 'ab'",
            "A FILTER A.s >= 'a'",
            "A FILTER A.s = ''",
            "A FILTER A.s = 'b''c'",
            "A FILTER A.s in {'a', 'b'}",
        ),
        (S,),
        ("A",),
    ),
    Group(
        "filter",
        (
            "A FILTER A.s like 'a'",
            "A FILTER A.s like 'a.*'",
            "A FILTER A.s like '.*b'",
            "A FILTER A.s like 'a|b'",
            "A FILTER A.s like '[a-b]+'",
            "A FILTER A[not s like 'a.*']",
            "A FILTER A.s like ''",
        ),
        (S,),
        ("A",),
    ),
    Group(
        "filter",
        ("A FILTER A.b = true", "A FILTER A.b != true", "A FILTER A.b = false", "A+ FILTER A.b = A.b"),
        (B,),
        ("A",),
    ),
    Group(
        "filter",
        (
            "A FILTER A.t > timestamp '2021-03-01'",
            "A FILTER A.t = timestamp '2021-03-01T12:00:00Z'",
            "A FILTER A.t <= timestamp '2021-03-01T13:00:00+01:00'",
            "A FILTER A.t in range(timestamp '2021-03-01T01:00:00Z', timestamp '2021-03-02T00:00:00Z')",
            "(A ; B) FILTER A.t < B.t",
        ),
        (T,),
        ("A", "B"),
    ),
    # a comparison with an attribute that is absent is false
    Group(
        "filter",
        (
            "A FILTER A.x >= 0",
            "A FILTER A.x != 1",
            "A FILTER A[not x = 1]",
            "A FILTER A[x < 1 or x >= 1]",
            "A FILTER A[x = x]",
            "A FILTER A[x + y >= 0]",
            "A FILTER A.x in {0, 1}",
            "A+ FILTER A.x < 2",
            "(A ; B) FILTER A.x = B.x",
            "(A ; B) FILTER A.x != B.x",
        ),
        (X, Y),
        ("A", "B"),
        absent=0.4,
    ),
    Group(
        "filter",
        ("A+ FILTER A.x > 0", "(A IN X ; B) FILTER X.x > 0", "(A+ ; B) FILTER A.x <= B.x", "(A OR B) FILTER A.x > 0"),
        (X,),
        ("A", "B"),
        output="valuations",
    ),
)
