"""The queries that sase07 and icde08 print, with streams that show what the text says of them."""

from __future__ import annotations

from cerify.conformance.sase_suite_queries import (
    CONTAMINATION,
    LOADING,
    QUERY_1,
    QUERY_2,
    QUERY_3,
    QUERY_4,
    QUERY_5,
)
from cerify.semantics.events import TIME, Event, Value

Row = tuple[Value | None, ...]


def _rows(type_: str, names: str, *rows: Row) -> list[Event]:
    """Events of a type, as rows of their attributes; None where one is absent."""
    return [Event(type_, {n: v for n, v in zip(names.split(), row, strict=True) if v is not None}) for row in rows]


def _stocks(*rows: Row) -> list[Event]:
    return _rows("STOCK", "time symbol price volume", *rows)


def _scans(*rows: Row) -> list[Event]:
    """Scans: object, courier, origin, location; one an hour."""
    names = "object_id courier_id origin location time"
    return _rows("SCAN", names, *((*row, 3600 * hour) for hour, row in enumerate(rows)))


def _loading(*said: str) -> list[Event]:
    """Of one dock: Start:1, End:1 for the session 1, and pallet, case."""
    made = []
    for tag, word in enumerate(said):
        type_, _, session = word.partition(":")
        own: dict[str, Value] = {"packaging_level": type_, "tag_id": tag, "reader_id": 1}
        attributes: dict[str, Value] = {"session_id": int(session)} if session else own
        made.append(Event(type_ if session else "RFID", {"loading_dock": "d"} | attributes))
    return made


def _shipments(*said: str) -> list[Event]:
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
NEWS = _rows("NEWS", "kind time", ("bad", 0))
GOOGLE = _rows("STOCK", "time symbol volume", (3600, "GOOG", 10), (3700, "IBM", 5), (10_000, "GOOG", 7))
LATER = _rows("STOCK", "time symbol volume", (14_399, "GOOG", 2), (14_400, "GOOG", 1))

EXAMPLES: tuple[tuple[str, list[Event]], ...] = (
    (QUERY_1, [*NEWS, *GOOGLE, *_rows("NEWS", "kind time", ("good", 10_100)), *LATER]),
    (QUERY_1, [*GOOGLE, *_rows("NEWS", "kind time", ("bad", 12_000)), *LATER]),
    (QUERY_1, [*_rows("NEWS", "kind time", ("good", 0)), *GOOGLE]),
    (
        QUERY_2,
        _stocks(
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
    (QUERY_2, _stocks((0, "GOOG", 10, 5), (60, "GOOG", 19, 7), (3600, "GOOG", 20, 6))),
    (QUERY_2, _stocks((0, "GOOG", 10, 5), (60, "GOOG", 20, 7), (120, "GOOG", 25, 7), (180, "GOOG", 20, 6))),
    (
        QUERY_3,
        _stocks(
            (0, "GOOG", 10, 1200),
            (60, "GOOG", 20, 1100),
            (120, "IBM", 50, 10),
            (180, "GOOG", 16, 1300),
            (240, "GOOG", 9, 1250),
            (300, "GOOG", 30, 1000),
        ),
    ),
    (QUERY_3, _stocks((0, "GOOG", 10, 1200), (60, "GOOG", 20, 900), (120, "GOOG", 30, 500))),
    (QUERY_3, _stocks((0, "GOOG", 10, 1000), (60, "GOOG", 20, 700), (120, "GOOG", 30, 500))),
    (QUERY_4, _scans(*NORMAL, *ASTRAY, *FOUR_HOPS)),
    (QUERY_4, _scans(*NORMAL)),
    (QUERY_4, _scans(*THREE_HOPS)),
    (QUERY_5, _scans(*FROM_NOWHERE)),
    (QUERY_5, _scans(*NORMAL, *ASTRAY, *FOUR_HOPS)),
    (LOADING, _loading("Start:1", "pallet", "case", "pallet", "End:2", "End:1", "pallet")),
    (LOADING, _loading("Start:1", "pallet", "End:1", "pallet", "End:1")),
    (LOADING, _loading("Start:1", "case", "End:1")),
    (CONTAMINATION, _shipments("W", "W>X", "V>Y", "X>Y", "X>Z", "Y>Q")),
    (CONTAMINATION, _shipments("W", "W>X", "X>W", "W>Y", "V", "V>X", "X>Z")),
)
