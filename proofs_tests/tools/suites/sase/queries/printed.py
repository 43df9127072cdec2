"""The queries that sase07 and icde08 print, with streams that show what the text says of them.

Queries 2 to 5 of sase07 as put together again from its text; Query 1 asks for kind in place of type.
"""

from __future__ import annotations

from typing import TypeAlias

from cerify.semantics.events import TIME, Event
from cerify.semantics.values import Value

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
