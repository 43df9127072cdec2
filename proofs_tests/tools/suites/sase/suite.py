"""The suite of SASE+: its queries, and random streams for them.

Where another reading of the papers gives another answer the clause of the case names it: an engine that fails just
there has that reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from random import Random

from cerify.explanations.explanation import braces
from cerify.semantics.events import TIME, Event, Match, Schema, Stream
from cerify.semantics.sase.parse import parse
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.mutant import killed_by
from proofs_tests.tools.mutants.sase import MEANING, MUTANTS, READING_FEATURE, READINGS
from proofs_tests.tools.suites.sase.queries import CLAUSES, QUERIES
from proofs_tests.tools.suites.sase.queries.printed import EXAMPLES
from proofs_tests.tools.suites.source import Printed, Source

POOLS: dict[str, tuple[Value, ...]] = {
    "x": (0, 1, 1, 2, 2, 3),
    "y": (0, 1),
    "z": (0, 1, 2),
    "s": ("u", "u", "v", ""),
    "f": (0.0, 0.5, 1.0, 1.5),
    "t": (True, False),
}
SOMETIMES = frozenset("zsf")  # attributes that events may lack
ABSENT = 0.3
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
    yield from (("sase-printed", query, Stream(S, Schema.of(S))) for query, S in EXAMPLES)
    for feature, query, types in LONG:
        yield feature, query, Stream([Event(R, {"x": n}) for n, R in enumerate(types)], SCHEMA)


def other_readings(feature: str, query: str, S: Stream) -> Iterator[str]:
    """The other readings that have other matches; of the case of a reading with these matches."""
    q, others = parse(query), []
    for reading in READINGS:
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
    others = [reading for reading in READINGS if reading.name.startswith(_own(feature))]
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
            values = {a: rng.choice(POOLS[a]) for a in names if a not in SOMETIMES or rng.random() > ABSENT}
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
    (*MUTANTS, *READINGS),
    printed,
    other_readings,
    kills_own,
)
