"""SASE+ in tests: streams, small query blocks, the printed queries of the papers, and their matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, product, starmap
from random import Random
from typing import Any, TypeAlias

from cerify.automata.nfab import moves
from cerify.semantics.events import Bindings, Event, Stream
from cerify.semantics.readings import Reading
from cerify.semantics.sase import denote
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import STRATEGIES
from cerify.semantics.values import Value
from proofs_tests.tools.suites import sase as printed

# ---- streams ----
# Short ways to say a stream and to ask what SASE+ matches on it; both definitions have to say the same.

TOKEN = re.compile(r"([A-Z]+)(-?\d*)(?:/(\w+))?(?:@(\d+))?")


def events(text: str) -> Stream:
    """The stream of "A1/k@5 B": types, then x, y after a slash, and time after @, each only where it is written."""
    return Stream([_event(token) for token in text.split()])


def _event(token: str) -> Event:
    matched = TOKEN.fullmatch(token)
    assert matched, token
    type_, x, y, time = matched.groups()
    attributes: dict[str, Value] = {"x": int(x)} if x else {}
    attributes |= {"y": y} if y else {}
    return Event(type_, attributes | ({"time": int(time)} if time else {}))


def query(text: str) -> sase.SaseQuery:
    """The query of a text from PATTERN to WITHIN."""
    q = parse(f"PATTERN {text} RETURN 1 AS one")
    assert isinstance(q, sase.SaseQuery)
    return q


def found(text: str, S: Stream | str, reading: Reading = Reading()) -> list[str]:
    """The matches of a query, as "0 1,2 4": the positions of each component; by both definitions."""
    S = events(S) if isinstance(S, str) else S
    q = query(text)
    expected = denote.bindings(q, S, reading)
    assert moves.bindings(q, S, reading) == expected
    return shown(expected)


def shown(matches: set[Bindings]) -> list[str]:
    """Matches as text, the positions of each component, in order."""
    return sorted(" ".join(",".join(map(str, positions)) for _, positions in M) for M in matches)


# ---- small ----
# All queries of SASE+ and all streams to a size, up to names: for tests and claims that look at every one.

LETTERS = ("A1/k", "A2/k", "A1/l", "B1/k")
KINDS = "to two components with one strategy and at most one condition"
"""What a claim says of the queries that it draws from these."""


def streams(length: int, letters: tuple[str, ...] = LETTERS) -> Iterator[Stream]:
    """All streams of the length over the letters, an event a second.

    A match that begins at a position looks at nothing before it, but for a negation in front; so those that are
    shorter are there as their ends.
    """
    for word in product(letters, repeat=length):
        yield events(" ".join(f"{letter}@{time}" for time, letter in enumerate(word)))


def queries(
    components: int,
    mixed: bool = False,
    negated: bool = False,
    windows: tuple[str, ...] = ("",),
    start: int = 0,
    step: int = 1,
) -> Iterator[sase.SaseQuery]:
    """All queries with `components` components: each strategy for all, or for each its own; with at most one clause.

    Of these, those at the positions start, start + step, and so on.
    """
    return (query(text) for text in texts(components, mixed, negated, windows, start, step))


def texts(
    components: int, mixed: bool, negated: bool, windows: tuple[str, ...], start: int = 0, step: int = 1
) -> Iterator[str]:
    """Their texts."""
    return starmap(_text, islice(_parts(components, mixed, negated, windows), start, None, step))


Array: TypeAlias = tuple[bool, bool, str]
"""Of a component: whether it is an array, whether it is negated, its variable."""
Parts: TypeAlias = tuple[tuple[str, ...], tuple[sase.Strategy, ...], str, tuple[str, ...], str]
"""Of a query: its components, and the strategy of each; its clause; the cut of each; its window."""


def _parts(components: int, mixed: bool, negated: bool, windows: tuple[str, ...]) -> Iterator[Parts]:
    for shape in product(*_kinds(components, negated)):
        if _is_pattern(shape, windows):
            arrays = _arrays(shape)
            for strategies in _strategies(components, mixed):
                for clause, cut, window in product(_clauses(arrays), product(*_cuts(arrays)), windows):
                    yield shape, strategies, clause, cut, window


def text_by_chance(rng: Random, components: int, windows: tuple[str, ...]) -> str:
    """One of those with mixed strategies and negation."""
    shape = tuple(map(rng.choice, _kinds(components, True)))
    if not _is_pattern(shape, windows):
        return text_by_chance(rng, components, windows)
    arrays = _arrays(shape)
    strategies = tuple(rng.choice(STRATEGIES) for _ in shape)
    cut = tuple(map(rng.choice, _cuts(arrays)))
    return _text(shape, strategies, rng.choice(list(_clauses(arrays))), cut, rng.choice(windows))


def _is_pattern(shape: tuple[str, ...], windows: tuple[str, ...]) -> bool:
    return not all(k.startswith("~") for k in shape) and not (shape[-1].startswith("~") and "" in windows)


def _arrays(shape: tuple[str, ...]) -> list[Array]:
    return [("[" in k, k.startswith("~"), k.rstrip("[]")[-1]) for k in shape]


def _cuts(arrays: list[Array]) -> list[tuple[str, ...]]:
    return [("", "!") if array and not absent else ("",) for array, absent, _ in arrays]


def _text(
    shape: tuple[str, ...], strategies: tuple[sase.Strategy, ...], clause: str, cut: tuple[str, ...], window: str
) -> str:
    partition = "[y]" if "partition_contiguity" in strategies else ""
    blocks: list[str] = []
    for i, (array, _, v) in enumerate(_arrays(shape)):
        of_v = clause.removeprefix("count(")[:1] == v
        said = " and ".join(c for c in (partition * (i == 0), clause * of_v) if c)
        blocks.append(f"{strategies[i]}({v}{'[]' * array}{cut[i]}) {{ {said} }}")
    return f"SEQ({', '.join(shape)}) WHERE {' '.join(blocks)} {window}"


def _kinds(components: int, negated: bool) -> list[list[str]]:
    return [
        [f"{no}{t}{k}" for no in ("", "~")[: 1 + negated] for t in "AB" for k in (f" {v}", f"+ {v}[]")]
        for v in "abc"[:components]
    ]


def _strategies(components: int, mixed: bool) -> Iterator[tuple[sase.Strategy, ...]]:
    if mixed:
        return product(STRATEGIES, repeat=components)
    return ((s,) * components for s in STRATEGIES)


def _clauses(arrays: list[Array]) -> Iterator[str]:
    """One clause on each component, begun with its variable, or with count of it; or none."""
    yield ""
    for i, (array, _, v) in enumerate(arrays):
        yield f"{v}[i].x = 1" if array else f"{v}.x = 1"
        if array:
            yield from (f"{v}[i].x >= {v}[i-1].x", f"{v}[{v}.LEN].x = 1", f"count({v}[]) = 2")
        earlier = [other for other in arrays[:i] if not other[1]]
        if earlier:
            before, _, w = earlier[-1]
            yield f"{v}{'[1]' * array}.x > {w}{f'[{w}.LEN]' * before}.x"


def by_chance(rng: Random, length: int) -> Stream:
    """A stream of the length; events follow each other after no time, a second or two."""
    time, said = 0, []
    for _ in range(length):
        time += rng.choice((0, 1, 1, 2))
        said.append(f"{rng.choice(LETTERS)}@{time}")
    return events(" ".join(said))


# ---- printed ----
# The queries that sase07 and icde08 print; 2 to 5 of sase07 as put together again from its text.

QUERIES = {
    "sase07.q1": """PATTERN SEQ(NEWS a, STOCK+ b[])
WHERE a.type = 'bad' ∧ b[i].symbol = 'GOOG'
WITHIN 4 hours
RETURN sum(b[].volume)""",
    "sase07.q2": """PATTERN SEQ(STOCK+ a[])
WHERE skip_till_next_match(a[]!) {
    [symbol]
    and a[1].price = 10
    and a[i].price > a[i-1].price
    and a[a.LEN].price = 20 }
WITHIN 1 hour
HAVING avg(a[].volume) >= a[1].volume
RETURN a[1].symbol, a[].price""",
    "sase07.q3": """PATTERN SEQ(STOCK+ a[], STOCK b)
WHERE skip_till_next_match(a[]!, b) {
    [symbol]
    a[1].volume > 1000
    a[i].price > avg(a[..i-1].price)
    b.volume < 80% * a[a.LEN].volume }
WITHIN 1 hour
RETURN a[1].symbol, a[].(price, volume), b.(price, volume)""",
    "sase07.q4": """PATTERN SEQ(SCAN a, ~SCAN+ b[], SCAN c)
WHERE skip_till_next_match(a, b[], c) {
    [object_id] and a.location = 'New York' and c.location = 'Amherst'
    and b[1].origin = a.location and b[i].origin = b[i-1].location and count(b[]) <= 3 }
RETURN anomaly(a.object_id AS object_id, c.courier_id AS courier_id) IN STREAM anomalies""",
    "sase07.q5": """FROM anomalies
PATTERN SEQ(anomaly+ a[])
WHERE [courier_id] and count(a[]) >= 10
WITHIN 1 weeks
RETURN a[1].courier_id, a[].object_id""",
    "icde08.q1": """FROM InputStream
PATTERN SEQ(Start a, RFID+ b[], End c)
WHERE skip_till_next_match(a, b[] !, c) {
    [loading_dock] and a.session_id = c.session_id and b[i].packaging_level = 'pallet' }
RETURN a.session_id, count(b[]), b[].(tag_id, reader_id)""",
    "icde08.q2": """FROM InputStream
PATTERN SEQ(Alert a, Shipment+ b[])
WHERE skip_till_any_match(a, b[]) {
    a.type = 'contaminated' and b[1].from = a.site and b[i].from = b[i-1].to }
WITHIN 3 hours
RETURN a.type, a.site, b[].to""",
}

Q4_AND_Q5 = f"{QUERIES['sase07.q4']};\n{QUERIES['sase07.q5']}"
"""Query 5 reads what Query 4 makes, so that they are one program."""


# ---- examples ----
# The printed queries, each with a stream that shows what the text says of it.

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


def anomalies(objects: int, others: int = 0) -> Stream:
    """So many objects of courier 7 that come to Amherst from nowhere, and others of courier 8."""
    couriers = [7] * objects + [8] * others
    scanned = [[(o, c, None, "New York"), (o, c, "Chicago", "Amherst")] for o, c in enumerate(couriers)]
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
            (500, "SUN", 10, 5),
            (4200, "SUN", 20, 5),  # after more than an hour
        ),
        [["GOOG", [10, 12, 15, 20]]],
    ),
    "sase07.q3": (
        QUERIES["sase07.q3"],
        stocks(
            (0, "GOOG", 10, 1200),
            (30, "GOOG", 5, 990),  # too small a volume to begin with
            (60, "GOOG", 20, 1100),
            (120, "IBM", 50, 10),
            (180, "GOOG", 16, 1300),  # above the average, 15, but not above the price before it
            (240, "GOOG", 9, 1250),  # neither
            (300, "GOOG", 30, 1000),  # below 80 % of 1300: the volume plummets
            (400, "SUN", 10, 1200),
            (4100, "SUN", 20, 900),  # after more than an hour
        ),
        [
            ["GOOG", [{"price": p, "volume": v} for p, v in selected], {"price": 30, "volume": 1000}]
            for selected in ([(10, 1200), (20, 1100), (16, 1300)], [(16, 1300)])
        ],
    ),
    "sase07.q4": (ROUTE, scans(*printed.NORMAL, *printed.ASTRAY, *FOUR_HOPS), [[2, 7], [3, 8]]),
    "sase07.q5": (COURIERS, anomalies(10, 1), [[7, list(range(10))]]),
    "icde08.q1": (
        LOADING,
        loading("Start:1", "pallet", "case", "End:2", "pallet", "End:1", "pallet"),
        [[1, 2, [{"tag_id": t, "reader_id": 1} for t in (1, 4)]]],
    ),
    "icde08.q2": (
        CONTAMINATION,
        shipments("W", "W>X", "V>Y", "X>Y", "X>Z", "Y>Q"),
        [["contaminated", "W", list(path)] for path in ("X", "XY", "XYQ", "XZ")],
    ),
}
