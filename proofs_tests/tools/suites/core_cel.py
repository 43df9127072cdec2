"""The suite of core-CEL: its queries, and random streams for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.tools.mutants.core_cel import MEANING, MUTANTS
from proofs_tests.tools.suites import separating
from proofs_tests.tools.suites.source import Printed, Source

CLAUSES = {
    "core-examples": "cep17 section 2, Figure 1 of tods21",
    "core-event": "cep17 section 3, R AS x",
    "core-filter": "cep17 section 3, FILTER",
    "core-binding": "cep17 section 3, one valuation for the whole formula",
    "core-or": "cep17 section 3, OR",
    "core-seq": "cep17 section 3, sequencing",
    "core-plus": "cep17 section 3, iteration",
    "core-strict": "cep17 section 4, STRICT",
    "core-nxt": "cep17 section 4, NXT",
    "core-last": "cep17 section 4, LAST",
    "core-max": "cep17 section 4, MAX",
}

FIRE = "FILTER x.tmp > 40 AND y.hum <= 25 AND x.id = 0 AND y.id = 0"
RISE = "x.hum < 30 AND z.hum > 60"
EXAMPLES = (
    f"(T AS x ; H AS y) {FIRE}",
    f"(T AS x ; H AS y OR H AS y ; T AS x) {FIRE}",
    f"(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) FILTER {RISE} AND x.id = 1 AND z.id = 1",
    f"(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER {RISE} AND x.id = z.id",
    "H AS x FILTER y.tmp > 40",
    "T AS x ; T AS x",
    "T AS x ; ((T AS y FILTER x.tmp >= 40) OR (H AS y FILTER x.tmp < 40))",
    f"STRICT((T AS x ; H AS y) {FIRE})",
    f"NXT((T AS x ; H AS y) {FIRE})",
    f"LAST((T AS x ; H AS y) {FIRE})",
    f"MAX((H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) FILTER {RISE} AND x.id = 1 AND z.id = 1)",
)
FIGURE_1 = (
    ("H", 2, 25), ("T", 0, 45), ("H", 0, 20), ("H", 1, 25), ("T", 1, 40),
    ("T", 0, 42), ("T", 1, 25), ("H", 1, 70), ("H", 0, 18),
)  # fmt: skip

QUERIES: dict[str, tuple[str, ...]] = {
    "core-event": ("A AS x", "A AS x OR B AS x", "A AS x ; B AS y ; A AS z"),
    "core-filter": (
        "A AS x FILTER x.a = 1",
        "A AS x FILTER x.a = 1 AND x.b = 1",
        "A AS x FILTER x.a = 1 OR x.b = 1",
        "A AS x FILTER x[a = 1 or b = 2]",
        "A AS x FILTER x.a < x.b",
        "A AS x ; (B AS y FILTER y.a = 1)",
        "(A AS x ; B AS y) FILTER x.a < y.a",
        "(A AS x ; B AS y) FILTER y.a = x.a + 1",
        "(A AS x ; B AS y ; A AS z) FILTER x.a = z.a AND (y.a = x.a OR y.b = z.b)",
        "(A AS x OR B AS x) FILTER x.a = 1",
    ),
    "core-binding": (
        "A AS x FILTER y.a = 1",
        "(A AS x FILTER y.a = 1) FILTER y.b = 2",
        "(A AS x FILTER y.a = 1) FILTER y.a = x.b",
        "(A AS x OR B AS y) FILTER x.a = 1",
        "A AS x ; (B AS y FILTER y.a = x.a)",
        "(A AS x FILTER x.a < y.a) ; B AS y",
        "A AS x ; A AS x",
        "(A AS x OR B AS y) ; (A AS x OR B AS y)",
        "(A AS x OR B AS y) ; (A AS x OR B AS y) FILTER x.a = y.a",
        "A AS x ; ((A AS y FILTER x.a = 1) OR (B AS y FILTER x.a = 0))",
    ),
    "core-or": (
        "A AS x OR B AS y",
        "(A AS x ; B AS y) OR (B AS y ; A AS x)",
        "(A AS x OR B AS y) ; A AS z",
        "(A AS x FILTER x.a = 1) OR (A AS y FILTER y.b = 1)",
        "(A AS x)+ OR (B AS y)+",
    ),
    "core-seq": (
        "A AS x ; B AS y",
        "A AS x ; A AS y",
        "(A AS x ; B AS y) ; C AS z",
        "A AS x ; (B AS y ; C AS z)",
        "A AS x ; B AS y FILTER x.a = y.a",
        "(A AS x ; B AS y)+ ; C AS z",
    ),
    "core-plus": (
        "(A AS x)+",
        "(A AS x FILTER x.a = 1)+",
        "(A AS x ; B AS y)+",
        "((A AS x ; B AS y) FILTER x.a = y.a)+",
        "(A AS x OR B AS y)+",
        "A AS x ; (A AS x)+",
        "A AS x ; (B AS y FILTER y.a = x.a)+",
        "A AS x ; (B AS y FILTER x.a = 1)+",
        "A AS x ; ((B AS y FILTER y.a = x.a) OR A AS y)+",
        "A AS x ; ((B AS y FILTER x.a = 1) OR (A AS y FILTER x.b = 1))+",
        "(A AS x)+ FILTER x.a = 1",
        "A AS x ; (A AS x)+ FILTER x.a = 1",
        "(A AS x ; (B AS y FILTER y.a = x.a)+)+",
        "((A AS x)+ ; B AS y)+",
        "A AS x ; ((B AS x OR B AS y) FILTER x.a = 2)+",
    ),
    "core-strict": (
        "STRICT(A AS x ; B AS y)",
        "STRICT((A AS x)+)",
        "STRICT(A AS x ; B AS y) ; A AS z",
        "(STRICT(A AS x ; B AS y))+",
        "STRICT((A AS x ; (B AS y)+) FILTER x.a = 1)",
    ),
    "core-nxt": (
        "NXT(A AS x ; B AS y)",
        "NXT((A AS x)+)",
        "NXT((A AS x)+ ; B AS y)",
        "NXT(A AS x OR (B AS y ; A AS z))",
        "NXT((A AS x ; B AS y) FILTER x.a = y.a)",
        "NXT(A AS x ; B AS y) FILTER x.a = 1",
        "A AS x ; NXT(B AS y ; A AS z)",
        "A AS x ; NXT((B AS y)+)",
        "(NXT((A AS x)+ ; B AS y))+",
        "A AS x ; NXT((B AS y ; B AS z) FILTER y.a = x.a)",
    ),
    "core-last": (
        "LAST(A AS x ; B AS y)",
        "LAST((A AS x)+)",
        "LAST(A AS x OR (B AS y ; A AS z))",
        "LAST(A AS x ; B AS y ; A AS z)",
        "LAST((A AS x ; B AS y) FILTER x.a = y.a)",
        "LAST((A AS x ; B AS y ; A AS z) FILTER x.a = y.a)",
        "A AS x ; LAST((B AS y)+)",
        "A AS x ; LAST(B AS y ; A AS z)",
        "(LAST((A AS x)+ ; B AS y))+",
    ),
    "core-max": (
        "MAX((A AS x)+)",
        "MAX(A AS x ; B AS y)",
        "MAX(A AS x OR (B AS y ; A AS z))",
        "MAX((A AS x FILTER x.a = 1)+ ; B AS y)",
        "MAX((A AS x)+ OR (B AS y ; A AS z))",
        "MAX((A AS x)+) FILTER y.a = 1",
        "A AS x ; MAX((B AS y)+)",
        "(MAX((A AS x)+ ; B AS y))+",
        "A AS x ; MAX(B AS y OR ((B AS y ; B AS z) FILTER z.a = x.a))",
    ),
}
SCHEMA = Schema({R: {"a": "int", "b": "int"} for R in "ABC"})
CANDIDATES = 40  # streams looked at for one query
STREAMS_PER_QUERY = 2
LENGTH = 6


LONG = (
    ("core-plus", "(A AS x)+", "A" * 8),
    ("core-plus", "(A AS x ; B AS y)+", "AB" * 6),
    ("core-plus", "(A AS x)+ ; B AS y", "A" * 8 + "B"),
    ("core-seq", " ; ".join(f"{R} AS {x}" for R, x in zip("ABCABCABC", "abcdefghi", strict=True)), "ABC" * 3),
    ("core-or", " OR ".join(f"{R} AS {x}" for R, x in zip("ABCABCABC", "abcdefghi", strict=True)), "CBA" * 3),
    ("core-strict", "STRICT((A AS x)+)", "A" * 12),
    ("core-max", "MAX((A AS x)+)", "A" * 10),
)
"""Iterations of many rounds and chains of many parts, by feature, each with the types of its stream."""


def printed() -> Iterator[Printed]:
    """The examples of the papers over the stream of Figure 1, and queries over long streams."""
    farm = Stream(
        [Event(R, {"id": id_, "tmp" if R == "T" else "hum": value}) for R, id_, value in FIGURE_1],
        Schema({"T": {"id": "int", "tmp": "int"}, "H": {"id": "int", "hum": "int"}}),
    )
    yield from (("core-examples", query, farm) for query in EXAMPLES)
    for feature, query, types in LONG:
        yield feature, query, Stream([Event(R, {"a": n, "b": 1}) for n, R in enumerate(types)], SCHEMA)
    yield from separating.printed(separating.CORE_CEL)


def streams(feature: str, query: str) -> list[Stream]:
    """Random streams of the types A and B, with a C here and there, the shorter ones first."""
    rng = Random(query)
    pool = [Event(R, {"a": a, "b": b}) for R, a, b in product("AAABBBC", range(3), range(3))]
    lists = [[rng.choice(pool) for _ in range(rng.randint(2, LENGTH))] for _ in range(CANDIDATES)]
    return [Stream(events, SCHEMA) for events in sorted(lists, key=len)]


SOURCE = Source("core-cel", "core-cel", CLAUSES, QUERIES, streams, STREAMS_PER_QUERY, MEANING, MUTANTS, printed)
