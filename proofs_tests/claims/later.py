"""Claims about later work: where a language that came after the five papers stands to CEL (docs/theory/related.md)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product

from cerify.automata.evaluate.compiled import matches
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.ceql import syntax as ceql
from cerify.semantics.ceql.parse import parse as parse_ceql
from cerify.semantics.events import Event, Stream
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Finding, claim, plant

TYPES = "AB"
VARIABLES = "xy"
GAPS = ((0, 0), (0, 1), (1, 2), (0, None), (1, None))


@dataclass(frozen=True)
class SwgQuery:
    """A subsequence-query with wildcards and gaps: types and variables, a width, and a gap between each two letters."""

    letters: str
    width: int
    gaps: tuple[tuple[int, int | None], ...]

    def embeddings(self, trace: str) -> set[tuple[int, ...]]:
        """Return the positions at which the query occurs in a trace of types, straight from the definition."""
        return {
            (first, *rest)
            for first in range(len(trace))
            for rest in combinations(range(first + 1, min(first + self.width, len(trace))), len(self.letters) - 1)
            if self.fits(trace, (first, *rest))
        }

    def fits(self, trace: str, places: tuple[int, ...]) -> bool:
        """Return whether the letters stand at these positions: one type for each variable, and the gaps."""
        types: dict[str, str] = {}
        for letter, place in zip(self.letters, places, strict=True):
            wanted = types.setdefault(letter, trace[place]) if letter in VARIABLES else letter
            if wanted != trace[place]:
                return False
        between = (later - place - 1 for place, later in pairwise(places))
        bounds = zip(between, self.gaps, strict=True)
        return all(low <= gap and (high is None or gap <= high) for gap, (low, high) in bounds)


def formula_of(query: SwgQuery) -> str:
    """Return a formula of CEL over these types with the embeddings as complex events."""
    used = sorted(set(query.letters) & set(VARIABLES))
    chosen = (dict(zip(used, types, strict=True)) for types in product(TYPES, repeat=len(used)))
    chains = " OR ".join(f"({_chain(query, types)})" for types in chosen)
    return f"PROJECT[v](({chains}) WITHIN {query.width} EVENTS)"


def _chain(query: SwgQuery, types: dict[str, str]) -> str:
    first, *rest = (f"({types.get(letter, letter)} IN v)" for letter in query.letters)
    for letter, (low, high) in zip(rest, query.gaps, strict=True):
        if high is None:
            first = f"(({' : '.join([first, *[_any()] * low])}) ; {letter})"
        else:
            ways = (" : ".join([first, *[_any()] * n, letter]) for n in range(low, high + 1))
            first = f"({' OR '.join(f'({way})' for way in ways)})"
    return first


def _any() -> str:
    return f"({' OR '.join(TYPES)})"


def _queries(effort: Effort) -> Iterator[SwgQuery]:
    for letters in product(TYPES[0] + VARIABLES, repeat=2):
        for gap, width in product(GAPS, (2, 3, 5)):
            yield SwgQuery("".join(letters), width, (gap,))
    for letters in ("AxB", "xAx", "xxy", "xyx", "xyy", "xxx")[: 1 if effort == "quick" else None]:
        for gaps in product(GAPS, repeat=2):
            yield SwgQuery(letters, 4, gaps)


@claim(
    "icdt22.swg",
    "A subsequence-query with wildcards and gaps is a formula of unary CEL",
    "remark",
    "a gap is the number of positions between two letters; the width counts the first and the last",
)
def _(effort: Effort) -> Finding:
    length, cases = (4 if effort == "quick" else 7), 0
    trace = "".join("".join(part) for part in product(TYPES, repeat=length))
    S = Stream(map(Event, trace))
    for query in _queries(effort):
        got = {match.events for match in matches(parse(formula_of(query)), S)}
        wanted = query.embeddings(trace)
        if got != wanted:
            seen = {"query": repr(query), "trace": trace, "difference": sorted(got ^ wanted)[:3]}
            return Finding("refuted", "exhaustive", repr(query), seen)
        cases += 1
    bound = f"{cases} queries of 2 and 3 letters, on a stream that has all traces of {length} events of 2 types in it"
    return Finding("holds", "exhaustive", bound)


plant("icdt22.swg", "only an A stands in a gap", sys.modules[__name__], "_any", broken.always("A"))


# ---- vldb22: CORE ----

PARTITIONED = ("A : B", "A+ ; B", "A :+", "A ; B", "(A ; B)+", "A ; B OR B : A")


def _by_streams_of_keys(formula: str, S: Stream, width: int) -> set[tuple[int, ...]]:
    """Return the matches in the stream of each key, at their positions in the whole one, if not too wide."""
    found: set[tuple[int, ...]] = set()
    for key in {event.get("k") for event in S}:
        places = [n for n, event in enumerate(S) if event.get("k") == key]
        phi = parse_ceql(f"SELECT * FROM S WHERE {formula}").formula
        alone = Stream([S[n] for n in places])
        for C in (C for n in range(len(alone)) for C in complex_events(phi, alone, n)):
            events = tuple(places[n] for n in sorted(C))
            if events[-1] - events[0] <= width:
                found.add(events)
    return found


@claim(
    "vldb22.partition",
    "PARTITION BY evaluates a query on the stream of each key; WITHIN n EVENTS is a distance of positions",
    "definition",
    "as the engine's source has it, where every event has the key; of the paper the abstract was read",
)
def _(effort: Effort) -> Finding:
    length, cases = (3 if effort == "quick" else 5), 0
    formulas = PARTITIONED[: 3 if effort == "quick" else None]
    rows = [Event(type_, {"k": key}) for type_ in TYPES for key in (1, 2)]
    for formula, width in product(formulas, (1, 2)):
        phi = parse_ceql(f"SELECT * FROM S WHERE {formula} PARTITION BY [k] WITHIN {width} EVENTS").formula
        for events in product(rows, repeat=length):
            S = Stream(events)
            got = {match.events for match in matches(phi, S)}
            if got != (wanted := _by_streams_of_keys(formula, S, width)):
                shown = [f"{event.type}{event.get('k')}" for event in S]
                seen = {"stream": shown, "formula": sorted(got), "streams of keys": sorted(wanted)}
                return Finding("refuted", "exhaustive", formula, seen)
            cases += 1
    bound = f"{len(formulas)} formulas, two widths, all streams of {length} events of 2 types and 2 keys: {cases} cases"
    return Finding("holds", "exhaustive", bound)


plant(
    "vldb22.partition",
    "PARTITION BY is that of CEL, a filter on the whole stream",
    ceql,
    "NODES",
    lambda nodes: {**nodes, "perkey": lambda phi, keys, span: cel.PartitionBy(phi, keys[0], span=span)},
)
