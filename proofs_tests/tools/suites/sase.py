"""Queries of SASE+ as texts, put together from their clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from random import Random
from typing import TypeAlias

from cerify.explanations.explanation import braces
from cerify.semantics.events import TIME, Event, Match, Schema, Stream
from cerify.semantics.sase.clauses import CONSTRUCTS
from cerify.semantics.sase.parse import parse
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.mutant import killed_by
from proofs_tests.tools.mutants.sase import MEANING, MUTANTS, READING_FEATURE
from proofs_tests.tools.mutants.sase import READINGS as SASE_READINGS
from proofs_tests.tools.suites import separating
from proofs_tests.tools.suites.source import Printed, Source

# ---- text ----
#

STRICT, PARTITION = "strict_contiguity", "partition_contiguity"
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"


def query(pattern: str, where: str = "", rest: str = "", returned: str = "1 AS one") -> str:
    """The query of these clauses; rest is WITHIN and HAVING."""
    return " ".join(filter(None, (f"PATTERN SEQ({pattern})", where and f"WHERE {where}", rest, f"RETURN {returned}")))


def block(strategy: str, arguments: str, said: str = "") -> str:
    """A block of WHERE."""
    return f"{strategy}({arguments}) {{ {said} }}"


# ---- printed ----
# The queries that sase07 and icde08 print, with streams that show what the text says of them.
#
# Queries 2 to 5 of sase07 as put together again from its text; Query 1 asks for kind in place of type.

Row: TypeAlias = tuple[Value | None, ...]

QUERY_1 = (
    "PATTERN SEQ(NEWS a, STOCK+ b[]) WHERE a.kind = 'bad' and b[i].symbol = 'GOOG' WITHIN 4 hours "
    "RETURN sum(b[].volume)"
)
QUERY_2 = (
    "PATTERN SEQ(STOCK+ a[]) WHERE skip_till_next_match(a[]!) { [symbol] and a[1].price = 10 and "
    "a[i].price > a[i-1].price and a[a.LEN].price = 20 } WITHIN 1 hours HAVING avg(a[].volume) >= a[1].volume "
    "RETURN a[1].symbol, a[].price"
)
QUERY_3 = (
    "PATTERN SEQ(STOCK+ a[], STOCK b) WHERE skip_till_next_match(a[]!, b) { [symbol] and a[1].volume > 1000 and "
    "a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume } WITHIN 1 hours "
    "RETURN a[1].symbol, a[].(price, volume), b.(price, volume)"
)
QUERY_4 = (
    "PATTERN SEQ(SCAN a, ~SCAN+ b[], SCAN c) WHERE skip_till_next_match(a, b[], c) { [object_id] and "
    "a.location = 'New York' and c.location = 'Amherst' and b[1].origin = a.location and "
    "b[i].origin = b[i-1].location and count(b[]) <= 3 and c.origin = b[b.LEN].location } "
    "RETURN anomaly(a.object_id AS object_id, c.courier_id AS courier_id) IN STREAM anomalies"
)
QUERY_5 = (
    f"{QUERY_4}; FROM anomalies PATTERN SEQ(anomaly+ a[]) WHERE [courier_id] and count(a[]) >= 2 WITHIN 1 weeks "
    "RETURN a[1].courier_id, a[].object_id"
)
LOADING = (
    "FROM InputStream PATTERN SEQ(Start a, RFID+ b[], End c) WHERE skip_till_next_match(a, b[]!, c) { [loading_dock] "
    "and a.session_id = c.session_id and b[i].packaging_level = 'pallet' } "
    "RETURN a.session_id, count(b[]), b[].(tag_id, reader_id)"
)
CONTAMINATION = (
    "FROM InputStream PATTERN SEQ(Alert a, Shipment+ b[]) WHERE skip_till_any_match(a, b[]) { a.kind = 'contaminated' "
    "and b[1].from = a.site and b[i].from = b[i-1].to } WITHIN 3 hours RETURN a.kind, a.site, b[].to"
)


def rows(type_: str, names: str, *values: Row) -> list[Event]:
    """Events of a type, as rows of their attributes; None where one is absent."""
    return [Event(type_, {n: v for n, v in zip(names.split(), row, strict=True) if v is not None}) for row in values]


def stocks(*values: Row) -> list[Event]:
    """Stock events: time, symbol, price, volume."""
    return rows("STOCK", "time symbol price volume", *values)


def scans(*values: Row) -> list[Event]:
    """Scans: object, courier, origin, location; one an hour."""
    names = "object_id courier_id origin location time"
    return rows("SCAN", names, *((*row, 3600 * hour) for hour, row in enumerate(values)))


def loading(*said: str) -> list[Event]:
    """Of one dock: Start:1, End:1 for the session 1, and pallet, case."""
    made = []
    for tag, word in enumerate(said):
        type_, _, session = word.partition(":")
        own: dict[str, Value] = {"packaging_level": type_, "tag_id": tag, "reader_id": 1}
        attributes: dict[str, Value] = {"session_id": int(session)} if session else own
        made.append(Event(type_ if session else "RFID", {"loading_dock": "d"} | attributes))
    return made


def shipments(*said: str) -> list[Event]:
    """W for an alert about the site W, W>X for a shipment; one each half an hour."""
    made = []
    for half, word in enumerate(said):
        site, arrow, to = word.partition(">")
        attributes: dict[str, Value] = {"from": site, "to": to} if arrow else {"kind": "contaminated", "site": site}
        made.append(Event("Shipment" if arrow else "Alert", attributes | {TIME: 1800 * half}))
    return made


NORMAL: tuple[Row, ...] = (
    (1, 7, None, "New York"),
    (1, 7, "New York", "Hartford"),
    (1, 7, "Hartford", "Amherst"),
)
ASTRAY: tuple[Row, ...] = ((2, 7, None, "New York"), (2, 7, "Chicago", "Boston"), (2, 7, "Boston", "Amherst"))
FOUR_HOPS: tuple[Row, ...] = (
    (3, 8, None, "New York"),
    *((3, 8, a, b) for a, b in zip(["New York", *"pqrs"], [*"pqrs", "Amherst"], strict=True)),
)
THREE_HOPS: tuple[Row, ...] = (
    (4, 8, None, "New York"),
    *((4, 8, a, b) for a, b in zip(["New York", *"pqr"], [*"pqr", "Amherst"], strict=True)),
)
FROM_NOWHERE: tuple[Row, ...] = tuple(
    row for o in range(3) for row in ((o, 7, None, "New York"), (o, 7, "Chicago", "Amherst"))
)
NEWS = rows("NEWS", "kind time", ("bad", 0))
GOOGLE = rows("STOCK", "time symbol volume", (3600, "GOOG", 10), (3700, "IBM", 5), (10_000, "GOOG", 7))
LATER = rows("STOCK", "time symbol volume", (14_399, "GOOG", 2), (14_400, "GOOG", 1))

EXAMPLES: tuple[tuple[str, list[Event]], ...] = (
    (QUERY_1, [*NEWS, *GOOGLE, *rows("NEWS", "kind time", ("good", 10_100)), *LATER]),
    (QUERY_1, [*GOOGLE, *rows("NEWS", "kind time", ("bad", 12_000)), *LATER]),
    (QUERY_1, [*rows("NEWS", "kind time", ("good", 0)), *GOOGLE]),
    (
        QUERY_2,
        stocks(
            (0, "GOOG", 10, 5),
            (60, "IBM", 10, 9),
            (120, "GOOG", 12, 7),
            (180, "GOOG", 11, 900),
            (240, "IBM", 20, 1),
            (300, "GOOG", 15, 6),
            (360, "GOOG", 20, 5),
            (420, "GOOG", 20, 5),
        ),
    ),
    (QUERY_2, stocks((0, "GOOG", 10, 5), (60, "GOOG", 19, 7), (3600, "GOOG", 20, 6))),
    (QUERY_2, stocks((0, "GOOG", 10, 5), (60, "GOOG", 20, 7), (120, "GOOG", 25, 7), (180, "GOOG", 20, 6))),
    (
        QUERY_3,
        stocks(
            (0, "GOOG", 10, 1200),
            (60, "GOOG", 20, 1100),
            (120, "IBM", 50, 10),
            (180, "GOOG", 16, 1300),
            (240, "GOOG", 9, 1250),
            (300, "GOOG", 30, 1000),
        ),
    ),
    (QUERY_3, stocks((0, "GOOG", 10, 1200), (60, "GOOG", 20, 900), (120, "GOOG", 30, 500))),
    (QUERY_3, stocks((0, "GOOG", 10, 1000), (60, "GOOG", 20, 700), (120, "GOOG", 30, 500))),
    (QUERY_4, scans(*NORMAL, *ASTRAY, *FOUR_HOPS)),
    (QUERY_4, scans(*NORMAL)),
    (QUERY_4, scans(*THREE_HOPS)),
    (QUERY_5, scans(*FROM_NOWHERE)),
    (QUERY_5, scans(*NORMAL, *ASTRAY, *FOUR_HOPS)),
    (LOADING, loading("Start:1", "pallet", "case", "pallet", "End:2", "End:1", "pallet")),
    (LOADING, loading("Start:1", "pallet", "End:1", "pallet", "End:1")),
    (LOADING, loading("Start:1", "case", "End:1")),
    (CONTAMINATION, shipments("W", "W>X", "V>Y", "X>Y", "X>Z", "Y>Q")),
    (CONTAMINATION, shipments("W", "W>X", "X>W", "W>Y", "V", "V>X", "X>Z")),
)


# ---- selecting ----
# What is selected: events, sequences, Kleene plus, conditions, aggregates, equivalence tests.

SELECTING: Mapping[str, tuple[str, ...]] = {
    "sase-event": (
        query("A a"),
        query("A a", "a.x = 1"),
        query("A a", returned="a.x"),
        query("A a", "a.x > a.y"),
        query("A a, B b", "a.x = 1"),
    ),
    "sase-sequence": (
        query("A a, B b"),
        query("A a, A b"),
        query("A a, B b, A c"),
        query("A a, B b", block(ANY, "a, b")),
        query("A a, A b, A c", block(ANY, "a, b, c")),
        query("A a, A b, A c", block(STRICT, "a, b, c")),
    ),
    "sase-kleene": (
        query("A+ a[]"),
        query("A+ a[]", block(STRICT, "a[]")),
        query("A+ a[]", block(ANY, "a[]")),
        query("A+ a[], B b"),
        query("A a, B+ b[]"),
        query("A a, B+ b[], C c"),
        query("A+ a[], B+ b[]"),
        query("A+ a[], A b"),
        query("A+ a[], A+ b[]", block(ANY, "a[], b[]")),
        query("A+ a[], A b", block(STRICT, "a[], b")),
    ),
    "sase-predicate": (
        query("A a, B b", "a.x = 1 and b.x = 2"),
        query("A a, B b", "b.x = a.x"),
        query("A a, B b", "b.x > a.x + 1"),
        query("A a, B b, A c", "c.x > a.x and b.y = a.y"),
        query("A a, B b", "(b.x = a.x or b.x > 2)"),
        query("A+ a[], B b", "b.x = a[1].x"),
        query("A+ a[], B b", "b.x = a[a.LEN].x"),
        query("A a, B b", "not b.x = a.x"),
        query("A a, B b", "b.x * 2 = a.x + b.y"),
        query("A a, B b", f"{block(ANY, 'a', 'a.x = 1')} {block(ANY, 'b', 'b.x > a.x')}"),
        query("A a, B+ b[]", f"{block(NEXT, 'a', 'a.y = 1')} {block(STRICT, 'b[]', 'b[1].x = a.x')}"),
        query("A a, B b, C c", "(c.x = a.x or c.x = b.x)"),
        query("A a, B b", block(ANY, "a, b", "(b.x = a.x or b.y = a.y) and b.x > 0")),
        query("A a, B b, C c", block(ANY, "a, b, c", "(c.x = a.x or c.x = b.x) and c.y = 1")),
    ),
    "sase-iterator": (
        query("A+ a[]", "a[i].x = 1"),
        query("A+ a[]", "a[i].x != 1"),
        query("A+ a[], B b", "a[i].x > 1"),
        query("A a, B+ b[]", "b[i].x > a.x"),
        query("A+ a[]", block(STRICT, "a[]", "a[i].x > 0")),
        query("A+ a[]", block(ANY, "a[]", "a[i].x < 2")),
        query("A+ a[]", "(a[i].x = 1 or a[i].x = 3)"),
        query("A a, B+ b[], C c", "b[i].x = a.x and c.x > a.x"),
    ),
    "sase-correlated": (
        query("A+ a[]", "a[i].x > a[i-1].x"),
        query("A+ a[]", "a[i].x = a[i-1].x + 1"),
        query("A+ a[]", "a[i].x >= a[1].x"),
        query("A+ a[]", block(STRICT, "a[]", "a[i].x > a[i-1].x")),
        query("A+ a[]", block(ANY, "a[]", "a[i].x > a[i-1].x")),
        query("A+ a[], B b", "a[i].x != a[i-1].x"),
        query("A a, B+ b[]", "b[1].x = a.x and b[i].x > b[i-1].x"),
        query("A+ a[]", "(a[i].x > a[i-1].x or a[i].x = 0)"),
        query("A+ a[], B b", block(ANY, "a[], b", "a[i].x > a[1].x and b.x < a[a.LEN].x")),
    ),
    "sase-running": (
        query("A+ a[]", "a[i].x > avg(a[..i-1].x)"),
        query("A+ a[]", "a[i].x >= sum(a[..i-1].x)"),
        query("A+ a[]", "a[i].x > max(a[..i-1].x)"),
        query("A+ a[]", "a[i].x <= min(a[..i-1].x)"),
        query("A+ a[]", "a[i].x > count(a[..i-1].x)"),
        query("A+ a[], B b", "a[i].x > avg(a[..i-1].x) and b.x < a[a.LEN].x"),
        query("A+ a[]", block(STRICT, "a[]", "a[i].x != sum(a[..i-1].x)")),
        query("A+ a[]", block(ANY, "a[]", "a[i].x > avg(a[..i-1].x)")),
        query("A+ a[]", "a[i].x > highest(2, a[..i-1].x)"),
    ),
    "sase-aggregate": (
        query("A+ a[]", returned="count(a[]), sum(a[].x), avg(a[].x), min(a[].x), max(a[].x)"),
        query("A+ a[]", returned="count(a[].z), sum(a[].z), avg(a[].z), min(a[].z), max(a[].z)"),
        query("A+ a[]", block(STRICT, "a[]", "sum(a[].x) = 3")),
        query("A+ a[]", block(ANY, "a[]", "avg(a[].x) > 1")),
        query("A+ a[]", block(NEXT, "a[]", "count(a[]) = 2")),
        query("A+ a[], B b", "b.x > avg(a[].x)"),
        query("A+ a[], B b", "b.x = count(a[])"),
        query("A+ a[], B b", "b.x = max(a[].x)"),
        query("A+ a[], B b", "b.x >= sum(a[].z)"),
        query("A+ a[], B b", "b.x = min(a[].z)"),
        query("A+ a[]", returned="highest(2, a[].x), lowest(2, a[].x)"),
        query("A+ a[]", rest="HAVING highest(2, a[].x) > 1", returned="lowest(1, a[].x)"),
        query("A+ a[], B+ b[]", "count(b[]) = count(a[])", returned="sum(a[].x) AS s, sum(b[].x) AS t"),
        query("A+ a[], B b", "b.x = count(a[].z)"),
    ),
    "sase-equivalence": (
        query("A a, B b", "[y]"),
        query("A+ a[]", "[y]"),
        query("A+ a[], B b", "[y]"),
        query("A a, B b, A c", "[y] and c.x > a.x"),
        query("A+ a[]", block(STRICT, "a[]", "[y]")),
        query("A+ a[], B b", block(ANY, "a[], b", "[y]")),
        query("A a, B b", "[z]"),
        query("A+ a[]", "[z]"),
        query("A a, B b", "[x] and [y]"),
        query("A a, B+ b[]", "[z] and b[i].x > 0"),
    ),
}


# ---- skipping ----
# What is passed over, and when a Kleene plus or a match is over.

SKIPPING: Mapping[str, tuple[str, ...]] = {
    "sase-strict": (
        query("A a, B b", block(STRICT, "a, b")),
        query("A+ a[], B b", block(STRICT, "a[], b")),
        query("A a, B+ b[]", block(STRICT, "a, b[]")),
        query("A a, B b, A c", block(STRICT, "a, b, c")),
        query("A+ a[]", block(STRICT, "a[]", "a[i].x > a[i-1].x")),
        query("A a, B b", block(STRICT, "a, b", "b.x > a.x")),
        query("A a, B+ b[], A c", block(STRICT, "a, b[], c", "[y]")),
        query("A+ a[], B+ b[]", block(STRICT, "a[], b[]")),
    ),
    "sase-partition": (
        query("A a, B b", block(PARTITION, "a, b", "[y]")),
        query("A+ a[]", block(PARTITION, "a[]", "[y]")),
        query("A+ a[], B b", block(PARTITION, "a[], b", "[y]")),
        query("A+ a[]", block(PARTITION, "a[]", "[y] and a[i].x > a[i-1].x")),
        query("A a, B b", block(PARTITION, "a, b", "[y] and b.x > a.x")),
        query("A a, B b", block(PARTITION, "a, b", "[y] and _( b.x > a.x )_")),
        query("A+ a[]", block(PARTITION, "a[]", "_( a[i].x > 0 )_ and a[i].y = 1")),
        query("A+ a[], B b", block(PARTITION, "a[], b", "_( [y] )_ and [x]")),
        query("A a, B+ b[], C c", block(PARTITION, "a, b[], c", "[y]")),
        query("A a, B b", block(PARTITION, "a, b", "[z]")),
        query("A+ a[]", block(PARTITION, "a[]", "_( [x] )_ and [y]")),
    ),
    "sase-next": (
        query("A a, B b"),
        query("A a, B b", block(NEXT, "a, b", "b.x > a.x")),
        query("A+ a[]", block(NEXT, "a[]", "a[i].x > a[i-1].x")),
        query("A+ a[], B b", block(NEXT, "a[], b", "b.x = 1")),
        query("A a, B b, C c", "b.x > a.x and c.x > b.x"),
        query("A a, B+ b[]", "b[i].x > a.x"),
        query("A+ a[], A b", "b.x = 2 and a[i].x != 2"),
        query("A a, A b, A c", "[y]"),
        query("A a, B+ b[], C c", "b[i].x = 1 and c.x = 2"),
    ),
    "sase-any": (
        query("A a, B b", block(ANY, "a, b")),
        query("A a, B b", block(ANY, "a, b", "b.x > a.x")),
        query("A+ a[]", block(ANY, "a[]", "a[i].x > a[i-1].x")),
        query("A+ a[], B b", block(ANY, "a[], b")),
        query("A a, B+ b[]", block(ANY, "a, b[]")),
        query("A a, B b, C c", block(ANY, "a, b, c", "[y]")),
        query("A+ a[], B b", block(ANY, "a[], b", "a[i].x > a[i-1].x and b.x > a[a.LEN].x")),
        query("A a, B+ b[]", block(ANY, "a, b[]", "b[1].x = a.x and b[i].x = b[i-1].y")),
    ),
    "sase-mixed": (
        query("A a, B b, C c", f"{block(STRICT, 'a, b')} {block(ANY, 'c')}"),
        query("A+ a[], B b", f"{block(STRICT, 'a[]')} {block(NEXT, 'b')}"),
        query("A+ a[], B b", f"{block(NEXT, 'a[]')} {block(STRICT, 'b')}"),
        query("A+ a[], B b", f"{block(ANY, 'a[]')} {block(NEXT, 'b')}"),
        query("A+ a[], B b", f"{block(NEXT, 'a[]')} {block(ANY, 'b')}"),
        query("A a, B+ b[]", f"{block(NEXT, 'a')} {block(STRICT, 'b[]')}"),
        query("A a, B+ b[], C c", f"{block(ANY, 'a')} {block(STRICT, 'b[]')} {block(NEXT, 'c', 'c.x > a.x')}"),
        query("A+ a[], B b", f"{block(STRICT, 'a[]', 'a[i].x > 0')} {block(ANY, 'b')}"),
        query("A+ a[], B+ b[]", f"{block(NEXT, 'a[]')} {block(STRICT, 'b[]')}"),
        query("A a, B b, C c", f"{block(PARTITION, 'a, b', '[y]')} {block(ANY, 'c')}"),
    ),
    "sase-end": (
        query("A+ a[]", "a[a.LEN].x = 2"),
        query("A+ a[]", block(STRICT, "a[]", "a[a.LEN].x = 2")),
        query("A+ a[]", block(ANY, "a[]", "a[a.LEN].x = 2")),
        query("A+ a[], B b", "a[a.LEN].x > 1"),
        query("A+ a[]", "a[i].x > a[i-1].x and a[a.LEN].x > 1"),
        query("A a, B+ b[]", "b[b.LEN].x = a.x"),
        query("A+ a[], B b", block(STRICT, "a[], b", "a[a.LEN].x = 1")),
        query("A+ a[]", "a[a.LEN].x > a[1].x"),
        query("A+ a[], B b", "count(a[]) >= 2 and b.x = a[a.LEN].x"),
        query("A+ a[]", block(STRICT, "a[]", "a[a.LEN].time - a[1].time < 3")),
        query("A+ a[], A b", "a[a.LEN].x > 1 and b.x < a[a.LEN].x"),
    ),
    "sase-cut": (
        query("A+ a[], B b", block(NEXT, "a[]!, b")),
        query("A+ a[], B b", block(NEXT, "a[]!, b", "b.x > a[a.LEN].x")),
        query("A+ a[]", block(NEXT, "a[]!", "a[a.LEN].x = 2")),
        query("A+ a[]", block(ANY, "a[]!", "a[a.LEN].x = 2")),
        query("A+ a[], A b", block(NEXT, "a[]!, b", "b.x = 2")),
        query("A+ a[], A b", block(ANY, "a[]!, b", "b.x > 1")),
        query("A+ a[], B b", block(STRICT, "a[]!, b", "a[a.LEN].x > 0")),
        query("A+ a[], B b", block(NEXT, "a[]!, b", "a[a.LEN].x > 1 and b.x = 1")),
        query("A a, B+ b[], C c", block(NEXT, "a, b[]!, c", "c.x > a.x")),
        query("A+ a[], B+ b[], C c", block(NEXT, "a[]!, b[], c")),
        query("A+ a[], B+ b[], C c", block(NEXT, "a[], b[]!, c")),
        query("A+ a[], A b, B c", block(NEXT, "a[]!, b, c", "b.x < a[a.LEN].x and c.x > b.x")),
        query("A+ a[]", block(NEXT, "a[]!", "count(a[]) = 2")),
        query("A+ a[], A b", block(STRICT, "a[]!, b", "b.x < a[a.LEN].x")),
        query("A+ a[], B b", block(NEXT, "a[], b")),
        query("A a, B+ b[], C c", block(NEXT, "a, b[], c")),
    ),
    "sase-stop": (
        query("A+ a[], B b", f"{block(STRICT, 'a[]')} {block(NEXT, 'b')}"),
        query("A+ a[], B b", f"{block(PARTITION, 'a[]', '[y]')} {block(NEXT, 'b')}"),
        query("A+ a[], A b", block(STRICT, "a[], b", "a[i].x > a[i-1].x")),
        query("A+ a[]", block(STRICT, "a[]"), "WITHIN 3 seconds"),
        query("A+ a[]", block(ANY, "a[]"), "WITHIN 2 seconds"),
        query("A+ a[]", "a[i].x > 0", "WITHIN 3 seconds"),
        query("A+ a[]", block(PARTITION, "a[]", "[y] and a[i].x > a[i-1].x")),
        query("A+ a[], B b", block(ANY, "a[], b"), "WITHIN 3 seconds"),
        query("A+ a[], B+ b[]", f"{block(STRICT, 'a[]')} {block(NEXT, 'b[]')}", "WITHIN 4 seconds"),
    ),
    "sase-within": (
        query("A a, B b", rest="WITHIN 3 seconds"),
        query("A a, B b, C c", rest="WITHIN 4 seconds"),
        query("A a, B b", block(ANY, "a, b"), "WITHIN 3 seconds"),
        query("A+ a[], B b", rest="WITHIN 3 seconds"),
        query("A a, B b", block(ANY, "a, b"), "WITHIN 1 minutes"),
        query("A a, B b", rest="WITHIN 1 hours"),
        query("A+ a[]", "a[a.LEN].x > 0", "WITHIN 3 seconds"),
        query("A a, B b", "b.x > a.x", "WITHIN 2.5 seconds"),
        query("A a, B b, A c", block(ANY, "a, b, c"), "WITHIN 3 seconds"),
        query("A a, B b", block(ANY, "a, b"), "WITHIN 1.5 seconds"),
        query("A+ a[]", block(ANY, "a[]"), "WITHIN 2.5 seconds"),
        query("A a, B b", rest="WITHIN 0.05 minutes"),
    ),
}


# ---- absent ----
# What must not happen.

ABSENT: Mapping[str, tuple[str, ...]] = {
    "sase-negation": (
        query("A a, ~B b, C c"),
        query("A a, ~B b, C c", "b.x > 1"),
        query("A a, ~B b, C c", "b.x = a.x"),
        query("A a, ~B b, C c", "b.x > c.x"),
        query("A a, ~B b, C c", "[y]"),
        query("A a, ~A b, A c"),
        query("A a, ~A b, A c", block(ANY, "a, c")),
        query("A a, ~B b, C c", block(ANY, "a, b, c", "b.x > 0 and c.x > a.x")),
        query("A+ a[], ~B b, C c", "b.x = a[a.LEN].x"),
        query("A a, ~B b, A+ c[]", "b.x > 1"),
        query("A a, ~B b, ~C c, A d"),
        query("A a, B b, ~C c, A d", block(ANY, "a, b, d")),
        query("A a, ~B b, C c", block(STRICT, "a, b, c")),
        query("A a, ~B b, C c", "[y] and b.x > 0", "WITHIN 4 seconds"),
        query("A a, C c, ~B b, A d"),
        query("A a, ~B b, C c, A d"),
        query("A a, C c, ~B b, A d", block(ANY, "a, c, d")),
    ),
    "sase-negated-kleene": (
        query("A a, ~B+ b[], C c", "count(b[]) >= 2"),
        query("A a, ~B+ b[], C c", "b[i].x > b[i-1].x and count(b[]) >= 2"),
        query("A a, ~B+ b[], C c", "b[1].x = a.x and b[b.LEN].x = c.x"),
        query("A a, ~B+ b[], C c", "b[i].x > 0 and sum(b[].x) > 3"),
        query("A a, ~B+ b[], C c", block(ANY, "a, b[], c", "count(b[]) = 2")),
        query("A a, ~B+ b[], A c", block(STRICT, "a") + block(STRICT, "b[]", "count(b[]) >= 2") + block(ANY, "c")),
        query("A a, ~B+ b[], C c", "[y] and count(b[]) >= 2"),
        query("A a, ~A+ b[], A c", block(ANY, "a, b[], c", "b[i].x > b[i-1].x and count(b[]) >= 2")),
        query("A a, ~B+ b[], C c", "b[1].x > 1"),
    ),
    "sase-negation-front": (
        query("~B b, A a", rest="WITHIN 3 seconds"),
        query("~B b, A a"),
        query("~B b, A a", "b.x = a.x", "WITHIN 4 seconds"),
        query("~B b, A a, C c", "b.x > 0", "WITHIN 4 seconds"),
        query("~B b, A a", "[y]", "WITHIN 4 seconds"),
        query("~B b, A+ a[]", "b.x > a[1].x", "WITHIN 3 seconds"),
        query("~B+ b[], A a", "count(b[]) >= 2", "WITHIN 5 seconds"),
    ),
    "sase-negation-end": (
        query("A a, ~B b", rest="WITHIN 3 seconds"),
        query("A a, ~B b", "b.x = a.x", "WITHIN 4 seconds"),
        query("A a, C c, ~B b", "b.x > 0", "WITHIN 4 seconds"),
        query("A a, ~B b", "[y]", "WITHIN 4 seconds"),
        query("A a, ~A b", rest="WITHIN 2 seconds"),
        query("A+ a[], ~B b", "b.x > a[a.LEN].x", "WITHIN 3 seconds"),
        query("A a, ~B+ b[]", "count(b[]) >= 2", "WITHIN 5 seconds"),
        query("~C c, A a, ~B b", rest="WITHIN 3 seconds"),
    ),
}


# ---- answering ----
# What is answered: HAVING, RETURN, NON-OVERLAP, UNION and composition; values that are absent.

ANSWERING: Mapping[str, tuple[str, ...]] = {
    "sase-having": (
        query("A a, B b", rest="HAVING a.x < b.x"),
        query("A+ a[]", rest="HAVING count(a[]) >= 2"),
        query("A+ a[]", rest="HAVING avg(a[].x) >= a[1].x"),
        query("A+ a[], B b", rest="HAVING a[1].x = b.x or b.y = 1"),
        query("A+ a[]", block(ANY, "a[]"), "HAVING sum(a[].x) = 3"),
        query("A+ a[]", block(NEXT, "a[]!", "a[a.LEN].x = 2"), "HAVING max(a[].x) = 2"),
        query("A a, B b", block(ANY, "a, b", "b.y = a.y"), "HAVING a.x + b.x = 3"),
        query("A+ a[], B b", rest="HAVING not a[a.LEN].x = b.x"),
    ),
    "sase-return": (
        query("A a, B b", returned="a.x, b.y"),
        query("A a, B b", returned="a.x, b.x"),
        query("A a", returned="a.x AS first, a.y AS second, a.x + a.y AS both"),
        query("A+ a[]", returned="a[].x"),
        query("A+ a[]", returned="a[].(x, y)"),
        query("A a", returned="a.(x, y)"),
        query("A+ a[]", returned="a[1].(x, y) AS start, a[a.LEN].x AS end"),
        query("A a, B b", returned="pair(a.x AS l, b.x AS r)"),
        query("A+ a[]", returned="a[].z, a[1].z"),
        query("A a", returned="a.(x, z), a.z"),
        query("A+ a[], B b", returned="b.x * 2, count(a[]), 'so' AS word"),
        query("A+ a[], B b", returned="a[].(x, y) AS all, b.(x, y)"),
        query("A+ a[]", returned="a[].x AS xs, avg(a[].x) AS mean"),
    ),
    "sase-non-overlap": (
        query("A a, B b", block(ANY, "a, b"), returned="NON-OVERLAP r(a.x AS x)"),
        query("A a, B b", block(ANY, "a, b", "[y]"), returned="NON-OVERLAP r(a.y AS y)"),
        query("A+ a[]", block(ANY, "a[]"), returned="NON-OVERLAP r(count(a[]) AS n)"),
        query("A a, B b", block(ANY, "a, b"), "HAVING a.x < b.x", "NON-OVERLAP r(a.x AS x)"),
        query("A+ a[], B b", block(ANY, "a[], b", "[y]"), returned="NON-OVERLAP r(a[].x AS x)"),
        query("A a, B b", "b.x = a.x", returned="NON-OVERLAP r(a.x AS x)"),
        query("A a, B b, A c", block(ANY, "a, b, c", "[y]"), "HAVING c.x >= a.x", "NON-OVERLAP r(a.x AS x)"),
    ),
    "sase-union": (
        f"{query('A a', returned='a.x')} UNION {query('B b', returned='b.x')}",
        f"{query('A a', returned='a.x')} UNION {query('A a', returned='a.y')}",
        f"{query('A a', 'a.x = 1', returned='a.x')} UNION {query('A a', 'a.y = 1', returned='a.x')}",
        f"{query('A a, B b')} UNION {query('A+ a[], C c', returned='count(a[]) AS n')}",
        f"{query('A+ a[]', returned='sum(a[].x) AS s')} UNION {query('B b', returned='b.x AS s')} "
        f"UNION {query('C c', returned='c.x AS s')}",
        f"{query('A a', returned='r(a.x AS x) IN STREAM rs')} UNION {query('B b', returned='r(b.y AS x)')}; "
        "FROM rs PATTERN SEQ(r+ a[]) RETURN a[].x",
    ),
    "sase-composition": (
        f"{query('A a', 'a.x > 0', returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a, r b) RETURN a.x, b.x",
        f"{query('A a, B b', block(ANY, 'a, b'), returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r+ a[]) WITHIN 2 seconds RETURN a[].x",
        f"{query('A+ a[]', rest='HAVING count(a[]) >= 2', returned='r(sum(a[].x) AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a) RETURN a.x",
        f"{query('A a, B b', block(ANY, 'a, b'), returned='r(a.y AS y) IN STREAM rs')}; "
        f"FROM rs PATTERN SEQ(r a, r b) WHERE {block(STRICT, 'a, b', '[y]')} RETURN a.y",
        f"{query('A a, B b', returned='r(a.x AS x, b.y AS y) IN STREAM rs')}; "
        f"FROM rs PATTERN SEQ(r+ a[]) WHERE {block(PARTITION, 'a[]', '[y]')} RETURN a[].x; "
        "PATTERN SEQ(A a) RETURN a.x",
        f"{query('A a, B b', block(ANY, 'a, b'), returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a, r b) WHERE b.x > a.x RETURN s(b.x AS x) IN STREAM ss; "
        "FROM ss PATTERN SEQ(s+ a[]) RETURN count(a[])",
        f"{query('A a, B b', rest='HAVING b.x > a.x', returned='rs(b.x - a.x AS d) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(rs+ a[]) WHERE a[i].d >= a[i-1].d WITHIN 4 seconds RETURN a[].d",
    ),
    "sase-values": (
        query("A a, B b", "b.z = a.z"),
        query("A a, B b", "b.z > a.z - 1"),
        query("A+ a[]", "a[i].z >= a[i-1].z"),
        query("A a", "not a.z = 1"),
        query("A+ a[]", "a[i].z > sum(a[..i-1].z) - 2"),
        query("A a, B b", "(b.z = 0 or b.x = 1)"),
        query("A a, B b", "a.s = 'u' and b.s != a.s"),
        query("A a, B b", "b.f > a.x"),
        query("A a, B b", "b.f + a.f = 2"),
        query("A+ a[]", "[s] and sum(a[].f) >= 1", returned="sum(a[].f), avg(a[].f)"),
        query("A a, B b", "[f]"),
        query("A a, B b", "a.t = true and b.t = false"),
        query("A+ a[]", "a[i].s > a[i-1].s", returned="a[].s, min(a[].s), max(a[].f)"),
    ),
}


# ---- readings ----
# What the papers leave open: on some stream another reading has other matches.

READINGS: Mapping[str, tuple[str, ...]] = {
    "sase-reading-last_kleene": (
        query("A+ a[]"),
        query("A+ a[]", block(STRICT, "a[]")),
        query("A a, B+ b[]", "b[i].x > a.x"),
        query("A a, B+ b[]", block(PARTITION, "a, b[]", "[y]")),
        query("A+ a[]", "a[i].x > a[i-1].x", "WITHIN 3 seconds"),
    ),
    "sase-reading-cut_in_last_place": (
        query("A+ a[]", block(NEXT, "a[]!")),
        query("A a, B+ b[]", block(NEXT, "a, b[]!", "b[i].x > a.x")),
        query("A a, B+ b[]", block(ANY, "a, b[]!")),
        query("A+ a[]", block(STRICT, "a[]!")),
    ),
    "sase-reading-stream_end": (
        query("A+ a[]", rest="WITHIN 4 seconds"),
        query("A a, B+ b[]"),
        query("A+ a[]", block(STRICT, "a[]")),
        query("A a, ~B b", rest="WITHIN 3 seconds"),
        query("A a, C+ c[], ~B b", rest="WITHIN 4 seconds"),
    ),
    "sase-reading-window": (
        query("A a, B b", rest="WITHIN 2 seconds"),
        query("A+ a[]", rest="WITHIN 2 seconds"),
        query("A+ a[], B b", block(ANY, "a[], b"), "WITHIN 3 seconds"),
        query("A a, ~B b", rest="WITHIN 2 seconds"),
        query("~B b, A a", rest="WITHIN 2 seconds"),
    ),
    "sase-reading-kleene_skips": (
        query("A+ a[], B b"),
        query("A+ a[], B b", "b.x > 0"),
        query("A a, B+ b[], C c"),
        query("A+ a[], B+ b[]"),
        query("A+ a[], B b", "a[i].x > a[i-1].x and b.x > a[a.LEN].x"),
    ),
    "sase-reading-negation_in_front": (
        query("~B b, A a", rest="WITHIN 2 seconds"),
        query("~B b, A a, C c", "b.x = a.x", "WITHIN 3 seconds"),
        query("~B+ b[], A a", "count(b[]) >= 2", "WITHIN 3 seconds"),
        query("~B b, A+ a[]", "[y]", "WITHIN 3 seconds"),
    ),
    "sase-reading-negated_series": (
        query("A a, ~B+ b[], C c", " ".join((block(STRICT, "b[]", "count(b[]) >= 2"), block(ANY, "a, c")))),
    ),
    "sase-reading-non_overlap": (
        query("A a, B b", "b.x = a.x", returned="NON-OVERLAP r(a.x AS x)"),
        query("A a, C+ c[], B b", "b.x = a.x", returned="NON-OVERLAP r(count(c[]) AS n)"),
        query("A+ a[], B b", block(ANY, "a[], b", "[y]"), returned="NON-OVERLAP r(count(a[]) AS n)"),
    ),
}


# ----   init   ----
# The queries that the suite of SASE+ puts to an engine, by feature, with the place that defines the feature.

CLAUSES: Mapping[str, str] = {
    "sase-printed": "sase07 section 2.2, Queries 1 to 5; icde08 Figure 1",
    **{f"sase-{construct.name}": construct.source for construct in CONSTRUCTS},
    "sase-values": "decisions/sase-language.md, values that are absent",
    "sase-reading-last_kleene": "decisions/sase.md, Kleene plus in last place",
    "sase-reading-cut_in_last_place": "decisions/sase.md, ! in last place",
    "sase-reading-stream_end": "decisions/sase.md, the end of a stream",
    "sase-reading-window": "decisions/sase.md, the bound of the window",
    "sase-reading-kleene_skips": "decisions/sase.md, what a Kleene plus skips",
    "sase-reading-negation_in_front": "decisions/sase.md, negation in front",
    "sase-reading-negated_series": "decisions/sase.md, a negated Kleene plus",
    "sase-reading-non_overlap": "decisions/sase.md, NON-OVERLAP",
}

QUERIES: Mapping[str, tuple[str, ...]] = {**SELECTING, **SKIPPING, **ABSENT, **ANSWERING, **READINGS}


# ---- suite ----
# The suite of SASE+: its queries, and random streams for them.
#
# Where another reading of the papers gives another answer the clause of the case names it: an engine that fails just
# there has that reading.

POOLS: dict[str, tuple[Value, ...]] = {
    "x": (0, 1, 1, 2, 2, 3),
    "y": (0, 1),
    "z": (0, 1, 2),
    "s": ("u", "u", "v", ""),
    "f": (0.0, 0.5, 1.0, 1.5),
    "t": (True, False),
}
SOMETIMES = frozenset("zsf")  # attributes that events may lack
SUITE_ABSENT = 0.3
SCHEMA = Schema(
    {
        T: {TIME: "int", "x": "int", "y": "int", "z": "int", "s": "string", "f": "float", "t": "bool"}
        for T in ("A", "B", "C", "D")
    }
)
UNITS = {"MINUTES": 12, "HOURS": 720}  # how fast the clock runs
CANDIDATES = 24  # streams to choose from for one query
TRIES = 600  # streams looked at for these
STREAMS = 3  # taken for one query
LENGTH = 7
SHOWN = 3  # matches of another reading that a clause writes out


EIGHT = ", ".join(f"{R} {R.lower()}{n}" for n, R in enumerate("ABCDABCD"))
LONG = (
    ("sase-sequence", f"PATTERN SEQ({EIGHT})", "ABCDABCD"),
    ("sase-kleene", "PATTERN SEQ(A+ a[])", "A" * 8),
    ("sase-kleene", "PATTERN SEQ(B b, A+ a[], C c)", "B" + "A" * 8 + "C"),
    ("sase-strict", "PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity(a[], b) { }", "A" * 10 + "B"),
    ("sase-next", "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) { }", "ACAACAAACAAB"),
    ("sase-any", "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { }", "A" * 8 + "B"),
    ("sase-aggregate", "PATTERN SEQ(A+ a[], B b) RETURN count(a[]), sum(a[].x), max(a[].x)", "A" * 9 + "B"),
)
"""Kleene plus over many events and many components, by feature, each with the types of its stream."""


def printed() -> Iterator[Printed]:
    """The printed queries, with streams that show what the papers say of them, and queries over long streams."""
    yield from (("sase-printed", query, Stream(S, Schema.from_events(S))) for query, S in EXAMPLES)
    for feature, query, types in LONG:
        yield feature, query, Stream([Event(R, {"x": n}) for n, R in enumerate(types)], SCHEMA)
    yield from separating.printed(separating.SASE)


def other_readings(feature: str, query: str, S: Stream) -> Iterator[str]:
    """The other readings that have other matches; of the case of a reading with these matches."""
    q, others = parse(query), []
    for reading in SASE_READINGS:
        right, found = MEANING.matches(q, S), reading.matches(q, S)
        name, choice = reading.name.removeprefix(READING_FEATURE).split(": ")
        if found is None or found == right:
            continue
        if feature == f"sase-{READING_FEATURE}{name}":
            yield f"{name}={choice} has {_shown(sorted(found))}"
        else:
            others.append(f"{name}={choice}")
    if others:
        yield f"not with {' or '.join(others)}"


def _shown(matches: list[Match]) -> str:
    if not matches:
        return "nothing"
    return " ".join(braces(m.events) for m in matches[:SHOWN]) + (" and more" if len(matches) > SHOWN else "")


def candidates(feature: str, query: str) -> list[Stream]:
    """The streams to choose from, the shorter ones first; of a reading those on which another one differs."""
    others = [reading for reading in SASE_READINGS if reading.name.startswith(_own(feature))]
    tried = (S for S in islice(streams(feature, query), TRIES) if _is_askable(query, S))
    apart = (S for S in tried if not others or killed_by(parse(query), S, MEANING, others))
    return sorted(islice(apart, CANDIDATES), key=len)


def _is_askable(query: str, S: Stream) -> bool:
    """Whether the protocol has the matches: a derived stream may be longer than the one that is sent."""
    return all(match.at < len(S) for match in MEANING.matches(parse(query), S) or ())


def _own(feature: str) -> str:
    """How the names of a feature's mutants begin."""
    return f"{feature.removeprefix('sase-')}: "


def streams(feature: str, query: str) -> Iterator[Stream]:
    """Random streams of different events, mostly of the types in the query."""
    rng = Random(query)
    types = sorted(set(re.findall(r"\b([ABCD])\+? [abcd]\b", query)))
    often = [*types * 4, "D"]
    names = [name for name in POOLS if re.search(rf"[.\[(] ?{name}\b|, {name}\)", query)] or ["x"]
    timed = "WITHIN" in query or TIME in query or "STREAM" in query
    pace = next((pace for unit, pace in UNITS.items() if unit in query.upper()), 1)
    found: set[tuple[object, ...]] = set()
    while True:
        clock, events = 0, []
        with_time = timed or rng.random() < 0.4
        for _ in range(rng.randint(2, LENGTH)):
            values = {a: rng.choice(POOLS[a]) for a in names if a not in SOMETIMES or rng.random() > SUITE_ABSENT}
            clock += pace * rng.choice((0, 1, 1, 2))
            if with_time and not (feature == "sase-within" and rng.random() < 0.07):
                values[TIME] = clock
            events.append(Event(rng.choice(often), values))
        if (key := tuple(map(repr, events))) not in found:
            found.add(key)
            yield Stream(events, SCHEMA)


def kills_own(feature: str, killed: frozenset[str]) -> bool:
    """Whether a mutant of the feature is killed."""
    return any(name.startswith(_own(feature)) for name in killed)


SOURCE = Source(
    "sase",
    "sase",
    CLAUSES,
    QUERIES,
    candidates,
    STREAMS,
    MEANING,
    (*MUTANTS, *SASE_READINGS),
    printed,
    other_readings,
    kills_own,
)
