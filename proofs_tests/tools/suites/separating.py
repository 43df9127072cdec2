"""Cases that separate two meanings which no chosen stream separates, each on a stream that was made for it.

Conditions on later steps, absent keys, widths with a fraction, strings by their order, numbers that need exactness,
long chains, times at both ends of 64 bits, and two operators that no other query has together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.values import Value
from proofs_tests.tools.suites.source import Printed

Columns: TypeAlias = Mapping[str, Sequence[Value | None]]
Asked: TypeAlias = tuple[str, str, str, Columns]
"""A feature, a query, the types of the events, and their attributes, of which None is an absent one."""

DOUBLE, LONG = 2**53, 2**63
SECOND = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n / 2) for n in range(5)]


def chain(parts: int) -> tuple[str, str]:
    """A chain of parts of different types, and the types of its events, with one of another type in the middle."""
    names = [f"E{n}" for n in range(parts)]
    return " ; ".join(names), " ".join([*names[: parts // 2], "Z", *names[parts // 2 :]])


CEL: tuple[Asked, ...] = (
    ("filter", "(A ; B ; C) FILTER A.x = 1 AND B.x = 2 AND C.x = 3", "A B B C C", {"x": [1, 1, 2, 1, 3]}),
    ("filter", "(A ; B ; C) FILTER B.x < C.x", "A B B C", {"x": [0, 5, 1, 3]}),
    ("filter", "(A ; B ; C) FILTER B.x = 1 AND B.x < C.x", "A B B C C", {"x": [0, 0, 1, 1, 2]}),
    ("filter", f"A FILTER A.x = {DOUBLE + 1}", "A A", {"x": [DOUBLE, DOUBLE + 1]}),
    ("filter", "(A ; B) FILTER A.x < B.x", "A B B", {"x": [DOUBLE, DOUBLE, DOUBLE + 1]}),
    ("filter", f"A FILTER A.x >= {LONG - 1}", "A A", {"x": [LONG - 2, LONG - 1]}),
    ("filter", f"A FILTER A.x <= {-LONG}", "A A", {"x": [-LONG, 1 - LONG]}),
    ("filter", "(A ; B) FILTER A.x = B.x", "A B B", {"x": [0.1, 0.10000000000000002, 0.1]}),
    ("filter", "A FILTER A.x = 0.10000000000000002", "A A", {"x": [0.1, 0.10000000000000002]}),
    ("filter", "(A ; B) FILTER A.x = B.x", "A B B", {"x": [1, 1.0, 1.5]}),
    ("filter", "A FILTER A.x > 1.5", "A A A", {"x": [1, 2, 3]}),
    ("filter", "A FILTER A.s < 'a'", "A A A", {"s": ["B", "a", "b"]}),
    ("filter", "A FILTER A.s < '9'", "A A A", {"s": ["10", "9", "a"]}),
    ("filter", "A FILTER A[s like 'a']", "A A A A", {"s": ["a", "ab", "ba", "bab"]}),
    *(("seq", *chain(parts), {}) for parts in (20, 64, 65)),
    ("within", "(A ; B) WITHIN 10 seconds", "A B", {"time": [-LONG, LONG - 1]}),
    ("within", "(A ; B) WITHIN 10 seconds", "A B B", {"time": [LONG - 12, LONG - 2, LONG - 1]}),
    ("within", "(A ; B) WITHIN 10 seconds", "A B B", {"time": [-LONG, 10 - LONG, 11 - LONG]}),
    ("within", "(A ; B) WITHIN 1.5 minutes", "A B B B", {"time": [0, 60, 90, 91]}),
    ("within", "(A ; B) WITHIN 0.5 seconds", "A B B", {"time": SECOND[:3]}),
    ("within", "(A ; B) WITHIN 2.5 [x]", "A B B", {"x": [0.0, 2.5, 3.0]}),
    ("partition", "((A ; C) UNLESS B) PARTITION BY [k]", "A B C", {"k": [1, 2, 1]}),
    ("partition", "(A ; B) PARTITION BY [k]", "A B A B B", {"k": [None, None, 1, None, 1]}),
    ("partition", "(A ; B) PARTITION BY [k]", "A A B B", {"k": [1, 2, 2, 1]}),
    ("partition", "(A ; B) PARTITION BY [k]", "A B B", {"k": [1, 1.0, 1.5]}),
    ("partition", "(A ; B) PARTITION BY [k]", "A B B", {"k": [DOUBLE, DOUBLE + 1, DOUBLE]}),
    ("partition", "((A OR B) ; A) PARTITION BY [k]", "A B A A", {"k": [1, 2, 2, 1]}),
    ("partition", "A{2,3} PARTITION BY [k]", "A A A A", {"k": [1, 2, 1, 1]}),
    ("partition", "A:{2,3} PARTITION BY [k]", "A A A A", {"k": [1, 2, 2, 1]}),
    ("filter", "((A ; B) WITHIN 3 EVENTS) FILTER A.x < B.x", "A A B B", {"x": [0, 2, 1, 3]}),
    ("crepeat", "A:{2,3} FILTER A.x > 0", "A A A A", {"x": [1, 1, 0, 1]}),
    ("within", "A{2,3} WITHIN 3 EVENTS", "A A B A", {}),
    ("within", "A:{2,3} WITHIN 2 EVENTS", "A A A", {}),
    ("all", "A{2,3} ALL B", "A B A A", {}),
    ("all", "A:{2} ALL B", "A B A A", {}),
    ("and", "A{2} AND A+", "A A B A", {}),
    ("and", "A:{2} AND A:+", "A A B A", {}),
    ("project", "PROJECT[A](A{2} ; B)", "A A B A B", {}),
    ("project", "PROJECT[A](A:{2} ; B)", "A A B A B", {}),
    ("strict", "STRICT(A{2,3})", "A A B A", {}),
    ("strict", "STRICT(A:{1,2} ; B)", "A A B C B", {}),
    ("last", "LAST(A{2,3})", "A A A A", {}),
    ("last", "LAST(A:{2,3})", "A A A A", {}),
    ("repeat", "(A:{2}){2}", "A A B A A A", {}),
    ("partition", "((A ; B) WITHIN 2 EVENTS) PARTITION BY [k]", "A A B B", {"k": [1, 2, 1, 1]}),
    ("partition", "((A ; A) WITHIN 3 EVENTS) PARTITION BY [k]", "A A A A", {"k": [1, 2, 2, 1]}),
    ("filter", "A ; (B FILTER B.x = 1 OR B.y = 1)", "A B B", {"x": [0, 0, 1], "y": [0, 0, 0]}),
    ("filter", "(A FILTER A.x = 1 OR A.y = 1) ; B", "A A B", {"x": [1, 0, 0], "y": [0, 0, 0]}),
)

CORE_CEL: tuple[Asked, ...] = (
    ("core-filter", "A AS a FILTER a[x = y]", "A A A", {"x": [None, None, 0], "y": [None, 0, 0]}),
    ("core-filter", "A AS a FILTER a[not x = 1]", "A A A", {"x": [None, 0, 1]}),
    ("core-filter", "A AS a FILTER a[x != 1]", "A A A", {"x": [None, 0, 1]}),
    ("core-filter", "A AS a FILTER a[s != 'a']", "A A A", {"s": ["a", "A", "b"]}),
    ("core-filter", "A AS a FILTER a[s < 'b']", "A A A", {"s": ["B", "a", "b"]}),
    ("core-filter", "A AS a FILTER a[x >= 2.5]", "A A", {"x": [2, 3]}),
    ("core-filter", "A AS a FILTER a[s like 'a']", "A A A A", {"s": ["a", "ab", "ba", "bab"]}),
    ("core-filter", "A AS a FILTER a[x in range(1, 3)]", "A A A A", {"x": [0, 1, 3, 4]}),
    ("core-filter", "A AS a FILTER a[x / 2 = 1]", "A A", {"x": [2, 3]}),
    ("core-filter", "A AS a FILTER a[x = 1 and y = 1]", "A A A", {"x": [0, 1, 1], "y": [1, 0, 1]}),
    ("core-filter", f"A AS a FILTER a[x = {DOUBLE}]", "A A", {"x": [DOUBLE, DOUBLE + 1]}),
    ("core-filter", "(A AS a ; B AS b) FILTER a.x = b.x", "A B B", {"x": [1, 1.0, 1.5]}),
    ("core-seq", "A AS a ; B AS b", "A A B", {"time": [1, 5_001, 5_101]}),
    ("core-seq", "A AS a ; B AS b", "A B", {"time": [99, 99]}),
    ("core-seq", "A AS a ; B AS b", "B A B", {"time": [3, 2, 2]}),
)

ANY = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { } RETURN a.time"
SASE: tuple[Asked, ...] = (
    ("sase-predicate", "PATTERN SEQ(A a) WHERE a.s like 'a' RETURN a.s", "A A A A", {"s": ["a", "ab", "ba", "bab"]}),
    ("sase-predicate", "PATTERN SEQ(A a) WHERE a.x in range(1, 3) RETURN a.x", "A A A A", {"x": [0, 1, 3, 4]}),
    ("sase-predicate", "PATTERN SEQ(A a) WHERE a.s = 'a' RETURN a.s", "A A", {"s": ["a", "A"]}),
    ("sase-predicate", "PATTERN SEQ(A a) WHERE a.x / 2 = 1 RETURN a.x", "A A", {"x": [2, 3]}),
    ("sase-predicate", f"PATTERN SEQ(A a) WHERE a.x = {DOUBLE} RETURN a.x", "A A", {"x": [DOUBLE, DOUBLE + 1]}),
    ("sase-sequence", ANY, "A B B", {"time": [1, 101, 5_001]}),
    ("sase-sequence", ANY, "B A B", {"time": [3, 2, 2]}),
)

EVENT_EXPRESSIONS: tuple[Asked, ...] = tuple(
    ("ev-mask", f"A[{condition}]", types, columns)
    for condition, types, columns in (
        ("x != 1", "A A A", {"x": [None, 0, 1]}),
        ("x = y", "A A A", {"x": [None, None, 0], "y": [None, 0, 0]}),
        ("not x = 1", "A A A", {"x": [None, 0, 1]}),
        ("x >= 2.5", "A A", {"x": [2, 3]}),
        ("x / 2 = 1", "A A", {"x": [2, 3]}),
        (f"x = {DOUBLE}", "A A", {"x": [DOUBLE, DOUBLE + 1]}),
        ("x in range(1, 3)", "A A A A", {"x": [0, 1, 3, 4]}),
        ("s >= 'a'", "A A A", {"s": ["B", "a", "b"]}),
        ("s = 'a'", "A A", {"s": ["a", "A"]}),
        ("s like 'a'", "A A A A", {"s": ["a", "ab", "ba", "bab"]}),
    )
)


def stream_of_columns(types: str, columns: Columns) -> Stream:
    """A stream with the schema that its own values have."""
    events = [
        Event(R, {name: value for name, values in columns.items() if (value := values[n]) is not None})
        for n, R in enumerate(types.split())
    ]
    return Stream(events, Schema.from_events(Stream(events)))


def printed(some: Sequence[Asked]) -> Iterator[Printed]:
    """These cases, as a source of a suite takes them."""
    yield from ((feature, query, stream_of_columns(types, columns)) for feature, query, types, columns in some)
