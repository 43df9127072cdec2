"""The printed queries, each with a stream that shows what the text says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cerify.semantics.events import Event, Stream
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.values import Value
from proofs_tests.tools.suites.sase.queries import printed
from proofs_tests.unit.semantics.sase.printed import QUERIES

LOADING = QUERIES["icde08.q1"]
CONTAMINATION = QUERIES["icde08.q2"]
ROUTE = QUERIES["sase07.q4"].replace("count(b[]) <= 3", "count(b[]) <= 3 and c.origin = b[b.LEN].location")
"""Query 4, with the end of the route, which is said to be a connected path to the last scan."""
COURIERS = f"{ROUTE}; {QUERIES['sase07.q5']}"


def stocks(*values: printed.Row) -> Stream:
    """Stock events: time, symbol, price, volume."""
    return Stream(printed.stocks(*values))


def loading(*said: str) -> Stream:
    """Of one dock: Start:1, End:1 for the session 1, and pallet, case."""
    return Stream(printed.loading(*said))


def shipments(*said: str) -> Stream:
    """W for an alert about the site W, W>X for a shipment; one a minute."""
    made = []
    for minute, word in enumerate(said):
        site, arrow, to = word.partition(">")
        attributes: dict[str, Value] = {"from": site, "to": to} if arrow else {"type": "contaminated", "site": site}
        made.append(Event("Shipment" if arrow else "Alert", attributes | {"time": 60 * minute}))
    return Stream(made)


def scans(*said: printed.Row) -> Stream:
    """Scans: object, courier, origin, location; one an hour."""
    return Stream(printed.scans(*said))


FOUR_HOPS = [
    (3, 7, None, "New York"),
    *((3, 8, a, b) for a, b in zip(["New York", *"pqrs"], [*"pqrs", "Amherst"], strict=True)),
]


def anomalies(objects: int) -> Stream:
    """So many objects of courier 7 that come to Amherst from nowhere."""
    scanned = [[(o, 7, None, "New York"), (o, 7, "Chicago", "Amherst")] for o in range(objects)]
    return scans(*(row for pair in scanned for row in pair))


def answered(text: str, S: Stream) -> list[Mapping[str, Any]]:
    """The results of a query, or of the last of several, in the order of its matches."""
    return [m.result.attributes for m in matches_of(parse(text), S, bindings) if m.result is not None]


# by id: the query, the stream, the values of the results
EXAMPLES: dict[str, tuple[str, Stream, list[list[Any]]]] = {
    "sase07.q1": (
        QUERIES["sase07.q1"],
        Stream(
            [
                Event("NEWS", {"type": "bad", "time": 0}),
                *printed.GOOGLE,
                Event("NEWS", {"type": "good", "time": 10_100}),
                *printed.LATER,
            ]
        ),
        [[19]],
    ),
    "sase07.q2": (
        QUERIES["sase07.q2"],
        stocks(
            (0, "GOOG", 10, 5),
            (60, "IBM", 10, 9),
            (120, "GOOG", 12, 7),
            (180, "GOOG", 11, 900),  # a fluctuation: skipped
            (240, "IBM", 20, 1),  # its volume falls: HAVING
            (300, "GOOG", 15, 6),
            (360, "GOOG", 20, 5),
            (420, "GOOG", 20, 5),
        ),
        [["GOOG", [10, 12, 15, 20]]],
    ),
    "sase07.q3": (
        QUERIES["sase07.q3"],
        stocks(
            (0, "GOOG", 10, 1200),
            (60, "GOOG", 20, 1100),
            (120, "IBM", 50, 10),
            (180, "GOOG", 16, 1300),  # above the average, 15, but not above the price before it
            (240, "GOOG", 9, 1250),  # neither
            (300, "GOOG", 30, 1000),  # below 80 % of 1300: the volume plummets
        ),
        [
            ["GOOG", [{"price": p, "volume": v} for p, v in selected], {"price": 30, "volume": 1000}]
            for selected in ([(10, 1200), (20, 1100), (16, 1300)], [(16, 1300)])
        ],
    ),
    "sase07.q4": (ROUTE, scans(*printed.NORMAL, *printed.ASTRAY, *FOUR_HOPS), [[2, 7], [3, 8]]),
    "sase07.q5": (COURIERS, anomalies(10), [[7, list(range(10))]]),
    "icde08.q1": (
        LOADING,
        loading("Start:1", "pallet", "case", "pallet", "End:2", "End:1", "pallet"),
        [[1, 2, [{"tag_id": t, "reader_id": 1} for t in (1, 3)]]],
    ),
    "icde08.q2": (
        CONTAMINATION,
        shipments("W", "W>X", "V>Y", "X>Y", "X>Z", "Y>Q"),
        [["contaminated", "W", list(path)] for path in ("X", "XY", "XYQ", "XZ")],
    ),
}
