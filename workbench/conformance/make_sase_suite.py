"""Writes the suite of SASE+: `python -m cerify.conformance.make_sase_suite`, always the same.

The queries are chosen by hand; the streams so that as many wrong semantics as possible (sase_mutants) give a wrong
answer. The expected matches are those of the definition. Where another reading of the papers gives another answer the
clause of the case says so: an engine that fails just there has that reading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from multiprocessing import get_context
from random import Random
from typing import cast

from cerify.conformance.cases import save
from cerify.conformance.choosing import departing, telling
from cerify.conformance.model import Case
from cerify.conformance.sase_mutants import MUTANTS, READING_FEATURE, READINGS, Mutant, answers
from cerify.conformance.sase_queries import CLAUSES, QUERIES
from cerify.conformance.sase_queries.printed import EXAMPLES
from cerify.explain.evidence import braces
from cerify.semantics.events import TIME, Event, Match, Schema, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.sase import program
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.show import show
from cerify.semantics.values import Value

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


def main() -> None:
    """Write the file."""
    asked = [(feature, query) for feature in QUERIES for query in QUERIES[feature]]
    with get_context("spawn").Pool() as pool:
        chosen_ = pool.starmap(chosen, asked, chunksize=4)
    numbers: dict[str, int] = {}
    cases = list(printed())
    for (feature, query), streams in zip(asked, chosen_, strict=True):
        for S in streams:
            numbers[feature] = numbers.get(feature, 0) + 1
            cases.append(case(feature, numbers[feature], query, S))
    save("sase", cases)


def printed() -> Iterator[Case]:
    """The printed queries, with streams that show what the papers say of them."""
    for number, (query, S) in enumerate(EXAMPLES, 1):
        yield case("sase-printed", number, query, Stream(S, Schema.of(S)))


def case(feature: str, number: int, query: str, S: Stream) -> Case:
    """One case; its matches have bindings and results."""
    q = parse(query)
    return Case(
        id=f"sase/{feature}/{number:03}",
        feature=feature,
        clause="; ".join((CLAUSES[feature], *other_readings(feature, query, S))),
        language="sase",
        query=show(q),
        schema=json_of_schema(cast("Schema", S.schema)),
        events=[json_of_event(event) for event in S],
        output="valuations",
        matches=program.matches_of(q, S, bindings),
    )


def other_readings(feature: str, query: str, S: Stream) -> Iterator[str]:
    """What other readings say: of the case of a reading its matches, else which of them have others."""
    q, others = parse(query), []
    for reading in READINGS:
        right, found = answers(q, S), answers(q, S, reading)
        name, choice = reading.name.removeprefix(READING_FEATURE).split(": ")
        if found is None or found == right:
            continue
        if feature == f"sase-{READING_FEATURE}{name}":
            yield f"{name}={choice} has {_shown(found)}"
        else:
            others.append(f"{name}={choice}")
    if others:
        yield f"not with {' or '.join(others)}"


def _shown(matches: list[Match]) -> str:
    if not matches:
        return "nothing"
    return " ".join(braces(m.events) for m in matches[:SHOWN]) + (" and more" if len(matches) > SHOWN else "")


def chosen(feature: str, query: str) -> list[Stream]:
    """The streams that tell the most mutants from the meaning; of two that are as good the shorter one."""
    found = [(S, kills(query, S)) for S in candidates(feature, query)]
    told = [(S, killed) for S, killed in found if any(name.startswith(_own(feature)) for name in killed)]
    return list(telling(told if len(told) >= STREAMS else found, STREAMS))


def candidates(feature: str, query: str) -> list[Stream]:
    """The streams to choose from, the shorter ones first; of a reading those on which another one differs."""
    others = [reading for reading in READINGS if reading.name.startswith(_own(feature))]
    tried = (S for S in islice(streams(feature, query), TRIES) if _is_askable(query, S))
    telling_ = (S for S in tried if not others or kills(query, S, others))
    return sorted(islice(telling_, CANDIDATES), key=len)


def _is_askable(query: str, S: Stream) -> bool:
    """Whether the protocol has the matches: a derived stream may be longer than the one that is sent."""
    return all(match.at < len(S) for match in answers(parse(query), S) or ())


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


def kills(query: str, S: Stream, mutants: Collection[Mutant] = (*MUTANTS, *READINGS)) -> frozenset[str]:
    """Which of the mutants, and of the other readings, give another answer than the meaning does."""
    q = parse(query)
    right = answers(q, S)
    found = ((mutant.name, answers(q, S, mutant)) for mutant in mutants)
    return departing(right, found)


if __name__ == "__main__":
    main()
