"""Claims about later work: where a language that came after the five papers stands to CEL (docs/theory/related.md)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, combinations_with_replacement, islice, pairwise, permutations, product
from typing import Any
from unittest.mock import patch

from cerify import contained
from cerify.automata.cea.compile import lazily
from cerify.automata.cea.model import single_variable
from cerify.automata.evaluate import ces, streaming
from cerify.automata.evaluate.compiled import matches
from cerify.automata.evaluate.streaming import ScopedEvaluation
from cerify.automata.evaluate.tables import classify
from cerify.equivalence.rewrite import translate_core_cel
from cerify.equivalence.rewrite.translate_core_cel import to_cel, to_core_cel
from cerify.equivalence.verdict import Contained, Different
from cerify.languages import language_named
from cerify.languages.language import Options
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.ceql import syntax as ceql
from cerify.semantics.ceql.syntax import parse as parse_ceql
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_unary, is_well_formed
from cerify.semantics.core_cel.interpreter import complex_events as core_events
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Arithmetic, Attribute, Comparison
from cerify.semantics.row_pattern.parse import parse as parse_rows
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.interpreter import matches_of as matches_of_sase
from cerify.semantics.sase.parse import parse as parse_sase
from cerify.semantics.sase.syntax import show as show_sase
from proofs_tests.claims import broken, sase_by_cel
from proofs_tests.claims.cep17 import STRATEGIES
from proofs_tests.claims.cep17 import formulas as core_formulas
from proofs_tests.claims.cep17 import streams as core_streams
from proofs_tests.claims.cep17_measured import FLAT
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.measure import exponent
from proofs_tests.claims.search import POSITIVE, Space
from proofs_tests.unit.semantics import sase_cases as small

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
    for letters in product(TYPES + VARIABLES, repeat=2):
        if letters[0] == "y" or letters == ("A", "y") or letters == ("B", "y"):
            continue  # with x for y it is the same query
        for gap, width in product(GAPS, (2, 3, 5)):
            yield SwgQuery("".join(letters), width, (gap,))
    for letters in ("AxB", "xAx", "xxy", "xyx", "xyy", "xxx")[: 1 if effort == "quick" else None]:
        for gaps in product(GAPS, repeat=2):
            yield SwgQuery(letters, 4, gaps)


@claim(
    "icdt22.swg",
    "A subsequence-query with wildcards and gaps over finitely many types is a formula of unary CEL",
    "remark",
    "a statement of docs/theory/related.md, not of the abstract. A gap is the number of positions between two "
    "letters, one less than the distance in the abstract. The width counts the first and the last position, "
    "and is a window of events, which unary CEL has (tods21.tab1:windowing)",
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
    few = 1 if effort == "quick" else 6
    bound = (
        f"{cases} queries: all of two letters from A, B and variables, with {len(GAPS)} gaps and 3 widths, and {few} "
    )
    bound += (
        "hand-made of three, with all pairs of these gaps and a width of 4; on a stream that contains all traces of "
    )
    bound += f"{length} events of 2 types"
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
    "as in the engine's source, where every event has the key; we read only the abstract",
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
    bound = f"{', '.join(formulas)} in widths of 1 and 2, all streams of {length} events of 2 types and "
    bound += f"2 keys: {cases} cases"
    return Finding("holds", "example", bound)


plant(
    "vldb22.partition",
    "PARTITION BY is that of CEL, a filter on the whole stream",
    ceql,
    "NODES",
    lambda nodes: {**nodes, "perkey": lambda phi, keys, span: cel.PartitionBy(phi, keys[0], span=span)},
)


# ---- vldb22: windows ----


class _Counted:
    """Counts how often a node of the structure is looked at, and made."""

    reads = 0

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__"):
            _Counted.reads += 1
        return super().__getattribute__(name)


class _CountedOutput(_Counted, ces.CesOutput):
    pass


class _CountedUnion(_Counted, ces.CesUnion):
    pass


OUTPUTS = 500


def _counted_steps(query: str, types: str, width: int) -> tuple[list[tuple[int, int]], list[float]]:
    """Return how often nodes are read: by each event, to let go of old nodes then, and for each event of an output."""
    S = Stream(map(Event, types))
    automaton = lazily(parse(query), Budget(), single_variable)
    evaluation = ScopedEvaluation(automaton, windowed=True)
    updates, delays = [], []
    with patch.object(ces, "CesOutput", _CountedOutput), patch.object(ces, "CesUnion", _CountedUnion):
        for n, type_ in enumerate(classify(automaton.A.predicates, S)):
            before = _Counted.reads
            with patch.object(evaluation, "_sweep", partial(_swept, evaluation, swept := [0])):
                evaluation.push(type_, (), max(0, n - width + 1))
            updates.append((_Counted.reads - before - swept[0], swept[0]))
        low = [max(0, n - width + 1) for n in range(len(S))]
        before = _Counted.reads
        for node in evaluation.ends():
            for path in islice(ces.enumerate_(node, low), OUTPUTS):
                delays.append((_Counted.reads - before) / len(path))
                before = _Counted.reads
    return updates, delays


def _swept(evaluation: ScopedEvaluation, counted: list[int], low: int) -> None:
    before = _Counted.reads
    ScopedEvaluation._sweep(evaluation, low)
    counted[0] += _Counted.reads - before


@claim(
    "vldb22.window",
    "Under a window, the time for an event depends neither on the stream nor on the window, and the delay is "
    "output-linear",
    "theorem",
    "by this library's structure, with the nodes and unions of the engine's source; we read only the abstract. "
    "The release of old nodes is spread over the events that created them",
)
def _(effort: Effort) -> Finding:
    lengths = (100, 1000, 10_000) if effort == "quick" else (100, 1000, 10_000, 30_000)
    queries, widths, at_width, at_length = ("A+ ; B", "(A OR B)+ ; C"), (10, 100, 1000), 100, 3000
    flat, wide, spread, delays = [], [], 0.0, [0.0]
    for query in queries:
        for sizes, grown in ((lengths, flat), (widths, wide)):
            most = []
            for size in sizes:
                length, width = (size, at_width) if sizes is lengths else (at_length, size)
                updates, gaps = _counted_steps(query, "AAB" * (length // 3) + query[-1], width)
                most.append(max(own for own, _ in updates))
                spread = max(spread, sum(map(sum, updates)) / len(updates))
                delays += gaps
                if spread > 40 or not gaps:
                    return Finding("refuted", "measured", f"{spread:.1f} nodes on the mean, {query}, {width} events")
            grown.append(exponent(sizes, most))
    bound = (
        f"{' and '.join(queries)} on (A A B)* and their last type; most reads of nodes for an event: exponents up "
        f"to {max(flat):.2f} in the length of the stream, {lengths[0]} to {lengths[-1]} events in a window of "
        f"{at_width}, and to {max(wide):.2f} in the window, {widths[0]} to {widths[-1]} events of {at_length}; with "
        f"the release of old nodes, {spread:.1f} at most on average; at most {max(delays):.1f} reads before each of "
        f"the first {OUTPUTS} outputs at the last event, for each event of the output"
    )
    fits = max(*flat, *wide) < FLAT and max(delays) < 10
    return Finding("holds" if fits else "refuted", "measured", bound)


plant("vldb22.window", "old nodes are looked for at each event", streaming, "SWEEP", lambda right: -(10**9))


# ---- icdt20: variables for one event, and for sets of events ----

STAR = Space(("in", "filter", "seq", "or", "plus"), nodes=5, events=3)


@claim(
    "icdt20.unary:sets-to-one",
    "With unary predicates, a formula with variables for sets of events has an equivalent with variables for "
    "single events",
    "theorem",
    "the languages are CEL* with IN, and core-CEL; we read only the abstract",
)
def _(effort: Effort) -> Finding:
    space, cases, count = replace(STAR, nodes=4 if effort == "quick" else 5), 0, 0
    streams = [Stream(word) for n in (1, 2, 3) for word in product(space.alphabet, repeat=n)]
    named = (phi for phi in space.every() if any(isinstance(psi, cel.In) for psi in cel.subformulas(phi)))
    for phi in (*space.every(), *(cel.Filter(phi, cel.Every("X", POSITIVE)) for phi in named)):
        count += 1
        psi = to_core_cel(phi)
        for S in streams:
            cases += 1
            if [core_events(psi, S, n) for n in range(len(S))] != [complex_events(phi, S, n) for n in range(len(S))]:
                return Finding("refuted", "exhaustive", f"{cel.show(phi)} over {S.events}")
    return Finding(
        "holds",
        "exhaustive",
        f"{count} formulas translated by the library, {cases} cases: {space.describe()}; those with IN also below "
        "FILTER X.x > 0",
    )


@claim(
    "icdt20.unary:one-to-sets",
    "With unary predicates, a formula with variables for single events has an equivalent with variables for sets",
    "theorem",
    "well-formed core-CEL as corrected in cep17.thm2, and CEL* with IN; both also with strategies, which the "
    "abstract does not mention. If no event can match, A UNLESS A stands for the empty formula",
)
def _(effort: Effort) -> Finding:
    return _core_to_sets(is_unary, effort)


@claim(
    "icdt20.binary",
    "With binary predicates, variables for sets of events express all that variables for single events do",
    "theorem",
    "well-formed core-CEL as corrected in cep17.thm2, with one comparison of two events, and CEL* with IN and "
    "filters on two variables; both also with strategies, which the abstract does not mention",
)
def _(effort: Effort) -> Finding:
    return _core_to_sets(lambda phi: not is_unary(phi), effort)


def _core_to_sets(applies: Callable[[core.Formula], bool], effort: Effort) -> Finding:
    nodes, cases, count = 4 if effort == "quick" else 5, 0, 0
    formulas = [phi for phi in core_formulas(nodes) if applies(phi) and is_well_formed(phi)]
    smaller = [phi for phi in formulas if core.size(phi) < nodes or not is_unary(phi)]
    iterated = [phi for phi in map(parse_core, COMPARED_IN_ROUNDS) if applies(phi)]
    selected = [kind(phi) for phi in smaller for kind in STRATEGIES]
    for phi in (*formulas, *selected, *iterated):
        psi, count = to_cel(phi), count + 1
        for S in core_streams(4 if phi in iterated else 3):
            cases += 1
            if [core_events(phi, S, n) for n in range(len(S))] != [complex_events(psi, S, n) for n in range(len(S))]:
                return Finding("refuted", "exhaustive", f"{core.show(phi)} over {S.events}")
    inside = f"those to {nodes - 1}" if len(smaller) < len(formulas) else "each"
    bound = (
        f"{count} formulas translated by the library, all to {nodes} nodes, {inside} also in STRICT, NXT, LAST and MAX"
    )
    bound += f", and {len(iterated)} made by hand with a comparison in or around a +" * bool(iterated)
    streams = "3 events, and to 4 for those made by hand," if iterated else "3 events"
    return Finding("holds", "exhaustive", f"{bound}: {cases} cases, all streams to {streams} over 3 tuples")


COMPARED_IN_ROUNDS = (
    "A AS x ; (B AS y FILTER x.a = y.a)+",
    "(A AS x ; B AS y FILTER x.a = y.a)+",
    "A AS x ; (A AS y FILTER x.a = y.a)+ ; B AS z",
    "(A AS x ; (A AS y FILTER x.a = y.a)+)+",
    "A AS x ; ((A AS y FILTER x.a = y.a) OR (B AS y FILTER x.a != y.a))+",
)
"""By single events, each round by itself is compared: what sets have to say of all rounds together."""


APART_OF_TWO = Comparison("!=", Attribute("a", "x"), Attribute("a", "y"))
SUM = Comparison("=", Attribute("a", "A"), Arithmetic("+", Attribute("a", "B"), Attribute("a", "C")))
ALL_APART = "(A+ ; B+) FILTER A.a != B.a"
ALL_BELOW = "(A+ ; B+) FILTER A.a <= B.a"
GREATEST_BELOW = (
    "(A AS x OR (A AS y FILTER y.a <= x.a)+ ; A AS x OR A AS x ; (A AS z FILTER z.a <= x.a)+ OR "
    "(A AS y FILTER y.a <= x.a)+ ; A AS x ; (A AS z FILTER z.a <= x.a)+) ; (B AS w FILTER x.a <= w.a)+"
)
"""Some A is the greatest, and at most each B: by single events, what ALL_BELOW says by sets."""
SUM_IN_ROUNDS = "A AS x ; ((B AS y ; C AS z) FILTER x.a = y.a + z.a)+"


def _values(types: str, values: Iterable[int]) -> Stream:
    return Stream(Event(R, {"a": v}) for R, v in zip(types, values, strict=True))


def _singles(size: int) -> Iterator[core.Formula]:
    """All formulas of core-CEL of exactly so many nodes over A, B, x and y, with the filter x.a != y.a."""
    if size == 1:
        yield from (core.CoreEventAtom(R, x) for R, x in product("AB", "xy"))
    if size > 1:
        for phi in _singles(size - 1):
            yield core.CoreFilter(phi, core.CoreCorrelated(APART_OF_TWO))
            yield core.CorePlus(phi)
    for left in range(1, size - 1):
        for phi, psi in product(_singles(left), list(_singles(size - 1 - left))):
            yield core.CoreOr(phi, psi)
            yield core.CoreSeq(phi, psi)


def _partitions(size: int) -> Iterator[tuple[int, ...]]:
    """All ways in which so many values are equal and different, with the numbers 1, 2, ... as values."""
    if size == 0:
        yield ()
        return
    for values in _partitions(size - 1):
        yield from ((*values, v) for v in range(1, max(values, default=0) + 2))


@claim(
    "icdt20.incomparable:sets",
    "Only variables for sets can express that all of some events differ from all of others",
    "theorem",
    f"by our query {ALL_APART}; the paper has a proof; we read only the abstract. docs/theory/related.md proves "
    "it for formulas of any size without strategies. With <= for != it would be false: a greatest A expresses "
    "it",
)
def _(effort: Effort) -> Finding:
    query, nodes, count = parse(ALL_APART), 5 if effort == "quick" else 6, 0
    streams = [_values("AAABBB", values) for values in _partitions(6)]
    whole = frozenset(range(6))
    right = {S: whole in complex_events(query, S, 5) for S in streams}
    ordered = sorted(streams, key=lambda S: (right[S], [event.get("a") for event in S]))
    some = [*ordered[:1], *ordered[-1:], *ordered]
    for size in range(1, nodes + 1):
        for phi in filter(is_well_formed, _singles(size)):
            count += 1
            if all((whole in core_events(phi, S, 5)) == right[S] for S in some):
                return Finding("refuted", "exhaustive", core.show(phi))
    below, greatest = parse(ALL_BELOW), parse_core(GREATEST_BELOW)
    for S in (_values("AAABBB", values) for values in product((1, 2), repeat=6)):
        if complex_events(below, S, 5) != core_events(greatest, S, 5):
            return Finding("refuted", "exhaustive", f"{GREATEST_BELOW} over {S.events}")
    bound = (
        f"none of all {count} well-formed formulas of core-CEL to {nodes} nodes over A, B, x, y and that comparison "
        "of two variables has all of three A and three B exactly where it holds, on all streams AAABBB, by which "
        "values are equal"
    )
    return Finding("holds", "exhaustive", bound)


def _sets_of(size: int) -> Iterator[tuple[cel.Formula, frozenset[str]]]:
    """All formulas of CEL* of exactly so many nodes, each type once, with the sum of a B and a C; and their types."""
    if size == 1:
        yield from ((cel.EventAtom(R), frozenset({R})) for R in "ABC")
    if size > 1:
        for phi, types in _sets_of(size - 1):
            yield cel.Filter(phi, cel.Correlated(SUM)), types
            yield cel.Plus(phi), types
    for left in range(1, size - 1):
        for (phi, one), (psi, other) in product(_sets_of(left), list(_sets_of(size - 1 - left))):
            if not one & other:
                yield cel.Or(phi, psi), one | other
                yield cel.Seq(phi, psi), one | other


@claim(
    "icdt20.incomparable:one",
    "Only variables for single events can express that each round adds up to an event before them",
    "theorem",
    f"by our query {SUM_IN_ROUNDS}, with a predicate of three variables; the paper has a proof; we read only "
    "the abstract; we have no proof for all sizes. With IN, and B and C twice, a formula could name the two "
    "rounds of A B C B C and filter each",
)
def _(effort: Effort) -> Finding:
    query, nodes, count = parse_core(SUM_IN_ROUNDS), 7 if effort == "quick" else 9, 0
    streams = [_values("ABCBC", (3, *values)) for values in product((1, 2), repeat=4)]
    whole = frozenset(range(5))
    right = {S: whole in core_events(query, S, 4) for S in streams}
    ordered = sorted(streams, key=lambda S: right[S])
    for size in range(1, nodes + 1):
        for phi, types in _sets_of(size):
            count += 1
            if len(types) == 3 and all((whole in complex_events(phi, S, 4)) == right[S] for S in reversed(ordered)):
                return Finding("refuted", "exhaustive", cel.show(phi))
    bound = (
        f"none of all {count} formulas of CEL* without IN, to {nodes} nodes, that use each of A, B and C at most "
        "once, and that comparison, matches all of A B C B C exactly if each round adds up, for all values 3 of A "
        "and 1 and 2 of the others"
    )
    return Finding("holds", "exhaustive", bound)


plant(
    "icdt20.unary:sets-to-one",
    "a filter is left out",
    translate_core_cel,
    "_attach_atom",
    broken.same(),
)
plant(
    "icdt20.unary:one-to-sets icdt20.binary",
    "a filter is left out",
    translate_core_cel,
    "_filtered",
    lambda right: lambda one, condition: iter([one]),
)
plant(
    "icdt20.incomparable:sets",
    "one of the two iterations is made once",
    sys.modules[__name__],
    "ALL_APART",
    lambda text: "(A ; B+) FILTER A.a != B.a",
)
plant(
    "icdt20.incomparable:one",
    "the sum is that of all rounds",
    sys.modules[__name__],
    "SUM_IN_ROUNDS",
    lambda text: "A AS x ; (B AS y ; C AS z)+",
)


# ---- icdt25: hierarchical conjunctive queries ----

JOINS = {
    "A(x), B(x)": ("(A ALL B) PARTITION BY [x]", "AB", lambda a, b: a.get("x") == b.get("x")),
    "A(x), B(x, y), C(x, y)": (
        "(A ALL ((B ALL C) PARTITION BY [x, y])) PARTITION BY [x]",
        "ABC",
        lambda a, b, c: a.get("x") == b.get("x") == c.get("x") and b.get("y") == c.get("y"),
    ),
    "A(x), B(x, y), C(y), which is not hierarchical": (
        "(A ALL B ALL C) FILTER A.x = B.x AND B.y = C.y",
        "ABC",
        lambda a, b, c: a.get("x") == b.get("x") and b.get("y") == c.get("y"),
    ),
}
"""Conjunctive queries, each with a formula, its types, and whether events of these types join."""


@claim(
    "icdt25.joins",
    "A hierarchical query is ALL under nested partitions; another query is ALL under filters",
    "remark",
    "a statement of docs/theory/related.md, as the abstract has automata, not CEL. Queries have no self-joins, "
    "so their bags are sets, and variables name the attributes. Not checked: that PCEA express no other queries",
)
def _(effort: Effort) -> Finding:
    words, cases = permutations("ABC") if effort == "quick" else product("ABC", repeat=3), 0
    streams = [
        Stream(Event(R, {"x": x, "y": y}) for R, (x, y) in zip(word, values, strict=True))
        for word in words
        for values in product(product((0, 1), repeat=2), repeat=3)
    ]
    for text, types, joins in JOINS.values():
        phi = parse(text)
        for S in streams:
            cases += 1
            places = ([n for n, event in enumerate(S) if event.type == R] for R in types)
            wanted = {tuple(sorted(at)) for at in product(*places) if joins(*(S[n] for n in at))}
            if (got := {match.events for match in matches(phi, S)}) != wanted:
                return Finding("refuted", "exhaustive", f"{text} over {S.events}: {sorted(got ^ wanted)[:3]}")
    which = "of A, B and C in any order" if effort == "quick" else "of three events"
    bound = f"{'; '.join(JOINS)}: {cases} cases, all streams {which} with 2 values of x and of y"
    return Finding("holds", "example", bound)


plant(
    "icdt25.joins",
    "ALL is ;",
    sys.modules[__name__],
    "parse",
    lambda right: lambda text: right(text.replace("ALL", ";")),
)


# ---- pods25: time ----

TIMED = ("A", "A ; B", "(A ; B) WITHIN {0} seconds", "A+", "A+ WITHIN {0} seconds", "A OR B", "A : B")


def _timed(types: str, times: Iterable[float]) -> Stream:
    return Stream(Event(R, {"time": t}) for R, t in zip(types, times, strict=True))


@claim(
    "pods25.inside",
    "If all events of a part are in the match, a window on the whole implies the same window on the part, but "
    "not conversely",
    "remark",
    "a statement of docs/theory/related.md: timed CEL bounds the time of a part by an operator, which we read "
    "as WITHIN; we read only the abstract",
)
def _(effort: Effort) -> Finding:
    whole, part = "(A ; B ; C) WITHIN 5 seconds", "((A ; B) WITHIN 5 seconds) ; C"
    found = [contained(parse(whole), parse(part)), contained(parse(part), parse(whole))]
    later = _timed("ABC", (0, 5, 6))
    apart = [{m.events for m in matches(parse(text), later)} for text in (whole, part)]
    if not isinstance(found[0], Contained) or not isinstance(found[1], Different) or apart != [set(), {(0, 1, 2)}]:
        return Finding("refuted", "decided", str(found))
    return Finding("holds", "decided", f"{whole} is contained in {part}, but not conversely: A, B and C at 0, 5 and 6")


@claim(
    "pods25.lower-bound",
    "Windows cannot express a least distance of parts: without UNLESS, UNTIL, ~+, strategies and filters on "
    "times, a match remains if times halve",
    "remark",
    "a statement of docs/theory/related.md: we assume that timed CEL also has lower bounds. Here a filter on "
    "the two parts expresses one if the match has all their events, as it compares each event of one with each "
    "of the other. So does UNLESS: for the first two events of a stream, START(A : B) UNLESS (A : B WITHIN 1 "
    "seconds). UNTIL and ~+ abbreviate formulas with UNLESS",
)
def _(effort: Effort) -> Finding:
    widths, cases = (1, 2), 0
    texts = [text.format(w) for text in TIMED for w in widths]
    pairs = product(list(texts), repeat=2)
    texts += [f"({a}) {operator} ({b})" for a, b in pairs for operator in (";", "ALL")]
    texts = list(dict.fromkeys(texts))[:: 7 if effort == "quick" else 1]
    spaced = [("AB", (0, gap)) for gap in widths]
    spaced += [(types, (0, a, a + b)) for types in ("AAB", "ABB") for a, b in product(widths, repeat=2)]
    for text in texts:
        phi = parse(text)
        for types, times in spaced:
            cases += 1
            before = {m.events for m in matches(phi, _timed(types, times))}
            after = {m.events for m in matches(phi, _timed(types, (t / 2 for t in times)))}
            if not before <= after:
                return Finding("refuted", "exhaustive", f"{text} on {types} at {times}")
    parts = parse("((A ; B) IN X ; C IN Y) FILTER Y.time - X.time >= 5")
    if {m.events for m in matches(parts, _timed("ABCABC", (0, 1, 7, 10, 11, 13)))} != {(0, 1, 2), (0, 1, 5)}:
        return Finding("refuted", "exhaustive", cel.show(parts))
    for far, types in (
        ("(A ; B) FILTER B.time - A.time > 1", "AB"),
        ("START(A : B) UNLESS (A : B WITHIN 1 seconds)", "AB"),
        ("(X OR ((A : A) WITHIN 1 seconds)) UNTIL B", "XAAB"),
        ("(X OR ((A : A) WITHIN 1 seconds))~+", "XAAX"),
    ):
        ends, n = (0, len(types) - 1), range(len(types))
        apart = [ends in {m.events for m in matches(parse(far), _timed(types, (k * t for k in n)))} for t in (2, 1)]
        if apart != [True, False]:
            return Finding("refuted", "exhaustive", far)
    chosen = "every seventh of" if effort == "quick" else "all"
    listed = ", ".join(TIMED).format("1 or 2")
    bound = f"{len(texts)} formulas, {chosen} {listed} and two of them with ; or ALL: {cases} cases, A B, "
    bound += "A A B and A B B with all gaps of 1 and 2; A ; B more than a second apart does not remain"
    return Finding("holds", "example" if effort == "quick" else "exhaustive", bound)


plant(
    "pods25.inside",
    "the part has a narrower window",
    sys.modules[__name__],
    "parse",
    lambda right: lambda text: right(text.replace("((A ; B) WITHIN 5", "((A ; B) WITHIN 4")),
)
plant(
    "pods25.lower-bound",
    "a window of 2 seconds is one of at least 2",
    sys.modules[__name__],
    "parse",
    lambda right: lambda text: right(text.replace("(A ; B) WITHIN 2 seconds", "(A ; B) FILTER B.time - A.time >= 2")),
)


# ---- acel26: bags ----


def _bag(phi: cel.Formula, S: Stream) -> Counter[tuple[int, ...]]:
    """Return the positions of each way to match a formula, of CEL* without filters, anywhere in a stream."""
    match phi:
        case cel.EventAtom(R):
            return Counter((n,) for n, event in enumerate(S) if event.type == R)
        case cel.In(rho, _):
            return _bag(rho, S)
        case cel.Or(left, right):
            return _bag(left, S) + _bag(right, S)
        case cel.Seq(left, right):
            return _in_sequence(_bag(left, S), _bag(right, S))
        case cel.Plus(rho):
            rounds = now = _bag(rho, S)
            while now := _in_sequence(now, _bag(rho, S)):
                rounds = rounds + now
            return rounds
        case _:
            raise NotImplementedError(type(phi).__name__)


def _in_sequence(left: Counter[tuple[int, ...]], right: Counter[tuple[int, ...]]) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for (one, m), (other, k) in product(left.items(), right.items()):
        if one[-1] < other[0]:
            found[one + other] += m * k
    return found


@claim(
    "acel26.bags",
    "The complex events of CEL are those that a bag of matches has at least once; A OR A has each twice",
    "remark",
    "a statement of docs/theory/related.md: a bag counts the ways to match. The abstract has no bag of "
    "matches. Its complex events are bags of tuples, which count equal events without distinguishing them; "
    "only the last case checks this",
)
def _(effort: Effort) -> Finding:
    space, cases, most = Space(("in", "seq", "or", "plus"), nodes=4 if effort == "quick" else 5, events=4), 0, 0
    for phi in space.every():
        for S in map(Stream, product(space.alphabet, repeat=3)):
            cases += 1
            ways = _bag(phi, S)
            most = max([most, *ways.values()])
            if set(ways) != {match.events for match in matches(phi, S)}:
                return Finding("refuted", "exhaustive", f"{cel.show(phi)} over {S.events}")
    twice = _bag(parse("A OR A"), Stream([Event("A")])) == Counter({(0,): 2})
    S = Stream([Event("A", {"v": 1}), Event("A", {"v": 1}), Event("B", {"v": 1})])
    tuples = {tuple(sorted(repr(S[n]) for n in at)) for at in _bag(parse("A ; B"), S)}
    bound = (
        f"{cases} cases, {space.formulas_in_words}, all streams of 3 events over 3 tuples: up to {most} ways to one "
    )
    bound += "complex event; A ; B on two equal A and a B has two complex events in CEL, and one bag of tuples"
    fits = twice and most > 1 and len(tuples) == 1
    return Finding("holds" if fits else "refuted", "exhaustive", bound)


plant(
    "acel26.bags",
    "OR is its left side",
    sys.modules[__name__],
    "_bag",
    broken.for_root(cel.Or, lambda phi, S: _bag(phi.left, S)),
)


# ---- vldb23: row patterns by joins ----


@dataclass(frozen=True)
class JoinedPattern:
    """A clause, and what its first and its last row have to be by themselves: the join that is made before it."""

    clause: str
    first: int
    last: int
    width: int | None = None
    by_previous: bool = False

    def join(self, rows: Rows) -> Iterator[tuple[int, int]]:
        """Return the pairs of places of a first and a last row."""
        for i, j in combinations(range(len(rows)), 2):
            starts = rows[i][1] > rows[i - 1][1] if self.by_previous and i else rows[i][1] == self.first
            if starts and rows[j][1] == self.last and (self.width is None or rows[j][0] - rows[i][0] <= self.width):
                yield i, j

    def kept(self, rows: Rows, distinct: bool = False) -> Rows:
        """Return the rows between the two of some pair; distinct: equal rows once, as a join by value has them."""
        places = sorted({n for i, j in self.join(rows) for n in range(i, j + 1)})
        return tuple(dict.fromkeys(rows[n] for n in places)) if distinct else tuple(rows[n] for n in places)

    def answer(self, rows: Rows) -> list[Any]:
        """Return what the clause says of these rows."""
        S = Stream(Event("row", {"n": n, "x": x}) for n, x in rows)
        found = language_named("row-pattern").evaluators.matches(
            parse_rows(self.clause), S, "denotational", Options("valuations")
        )
        return sorted(tuple(rows[n] for n in match.events) for match in found)


Rows = tuple[tuple[int, int], ...]


def _clause(pattern: str, define: str) -> str:
    return f"MATCH_RECOGNIZE (ORDER BY n MEASURES COUNT(*) AS m PATTERN ({pattern}) DEFINE {define})"


JOINED = (
    JoinedPattern(_clause("A B* C", "A AS x = 1, B AS x < 2, C AS x = 2"), 1, 2),
    JoinedPattern(_clause("A B*? C", "A AS x = 1, C AS x = 2"), 1, 2),
    JoinedPattern(_clause("(A B?)+ C", "A AS x = 1, B AS x = 0, C AS x = 2"), 1, 2),
    JoinedPattern(_clause("A B* C", "A AS x = 1, B AS x >= A.x, C AS x = 2 AND n - A.n <= 2"), 1, 2, width=2),
)
PREVIOUS = JoinedPattern(_clause("A C", "A AS x > PREV(x), C AS x = 2"), 1, 2, by_previous=True)
TWICE = JoinedPattern(_clause("A C C", "A AS x = 1, C AS x = 2"), 1, 2)


def _tables(length: int) -> Iterator[Rows]:
    for n in range(1, length + 1):
        for values in product((0, 1, 2), repeat=n):
            yield tuple(enumerate(values))


@claim(
    "vldb23.joins",
    "A row pattern keeps its matches if we drop rows outside every range from a first to a last row; its "
    "definition must be self-contained, and the rows distinct unless there is a window",
    "theorem",
    "the join is on the first and the last variable of the pattern, with their own conditions and the window; "
    "we read only the abstract, which joins other subsets of variables too",
)
def _(effort: Effort) -> Finding:
    length, cases, left_out = 4 if effort == "quick" else 7, 0, 0
    for joined, rows in product(JOINED, list(_tables(length))):
        cases += 1
        kept = joined.kept(rows)
        left_out += len(kept) < len(rows)
        if joined.answer(kept) != joined.answer(rows):
            return Finding("refuted", "exhaustive", f"{joined.clause} on {rows}")
    bound = f"{len(JOINED)} clauses, all tables to {length} rows of 3 values: {cases} cases, rows dropped in {left_out}"
    return Finding("holds", "example", bound)


def _needed(
    id_: str, title: str, joined: JoinedPattern, tables: Callable[[], Iterator[Rows]], distinct: bool, more: str = ""
) -> None:
    reading = f"the abstract names the condition; we found the smallest table{more}"

    @claim(f"vldb23.joins:{id_}", title, "remark", reading)
    def check(effort: Effort) -> Finding:
        looked_at = 0
        for rows in tables():
            looked_at += 1
            before, after = joined.answer(rows), joined.answer(joined.kept(rows, distinct))
            if before != after:
                told = f"{joined.clause} on {rows}: {before or 'none'} before, {after or 'none'} after"
                bound = f"one hand-made clause, {looked_at} tables to this one, smallest first. {told}"
                return Finding("holds", "example", bound)
        return Finding("refuted", "example", f"no difference on {looked_at} tables")


_needed(
    "self-contained",
    "The rule needs conditions that use only rows of the match",
    PREVIOUS,
    lambda: _tables(4),
    distinct=False,
    more="; the join computes PREV on the whole table",
)
_needed(
    "rows-differ",
    "The rule needs distinct rows if the join finds rows by value and there is no window",
    TWICE,
    lambda: (
        tuple(sorted(rows))
        for k in (1, 2, 3)
        for rows in combinations_with_replacement(list(product((0, 1), (1, 2))), k)
    ),
    distinct=True,
)
plant(
    "vldb23.joins",
    "single rows are left out, not ranges",
    JoinedPattern,
    "kept",
    lambda right: (
        lambda self, rows, distinct=False: tuple(rows[n] for n in sorted({n for pair in self.join(rows) for n in pair}))
    ),
)
plant(
    "vldb23.joins:self-contained vldb23.joins:rows-differ",
    "nothing is left out",
    JoinedPattern,
    "kept",
    lambda right: lambda self, rows, distinct=False: rows,
)


# ---- sigmod14: expensive queries ----

KLEENE = "SEQ(A+ a[], B b)"
STRATEGY_COUNTS = (
    ("skip_till_any_match", KLEENE, "n A and B", lambda n: "A" * n + "B", lambda n: 2**n - 1, "2^n - 1"),
    ("skip_till_next_match", KLEENE, "n times A C, and B", lambda n: "AC" * n + "B", lambda n: n, "n"),
    ("strict_contiguity", KLEENE, "A C, n A and B", lambda n: "AC" + "A" * n + "B", lambda n: n, "n"),
    (
        "skip_till_any_match",
        "SEQ(A a, C c, B b)",
        "n A, n C and B",
        lambda n: "A" * n + "C" * n + "B",
        lambda n: n * n,
        "n^2",
    ),
)
"""Strategies and patterns, each with a stream for each n, and how many results there are."""


@claim(
    "sigmod14.counts",
    "Kleene closure by skip till any match has exponentially many results; by skip till next match or strict "
    "contiguity, or without it, polynomially many",
    "remark",
    "we had only the title and citations by others, so the paper's own bounds are not checked. A series by "
    "next match or contiguity begins at each event",
)
def _(effort: Effort) -> Finding:
    sizes, told = range(1, 9 if effort == "quick" else 13), []
    for strategy, pattern, series, types, results, growth in STRATEGY_COUNTS:
        q = parse_sase(f"PATTERN {pattern} WHERE {strategy}({_variables(pattern)}) {{ }}")
        seen = [len(list(matches_of_sase(q, Stream(map(Event, types(n))), bindings))) for n in sizes]
        if seen != [results(n) for n in sizes]:
            return Finding("refuted", "exhaustive", f"{pattern} by {strategy}: {seen}")
        told.append(f"{pattern} by {strategy} on {series}: {seen[-1]} ({growth})")
    return Finding("holds", "measured", f"all n to {sizes[-1]}. Results for n = {sizes[-1]}: {'; '.join(told)}")


def _variables(pattern: str) -> str:
    return ", ".join(
        f"{name}[ ]" if name == "a" and "+" in pattern else name for name in ("a", "c", "b") if f" {name}" in pattern
    )


plant(
    "sigmod14.counts",
    "skip till any match is skip till next match",
    sys.modules[__name__],
    "parse_sase",
    lambda right: lambda text: right(text.replace("any", "next")),
)


# ---- SASE+ in CEL ----


@claim(
    "sase07.in-cel",
    "Simple queries of SASE+ that the translation supports have formulas of CEL that bind the same events",
    "remark",
    "a statement of docs/theory/related.md, not of the paper",
)
def _(effort: Effort) -> Finding:
    every, window, cases, refused = 41 if effort == "quick" else 5, ("WITHIN 2 seconds",), 0, 0
    queries = [*small.queries(1), *small.queries(2, mixed=True, negated=True, windows=window, step=every)]
    for q in queries:
        try:
            for S in small.streams(3, ("A1/k", "A2/l", "B1/k")):
                if sase_by_cel.bindings(q, S) != bindings(q, S):
                    return Finding("refuted", "random", f"{show_sase(q)} over {S.events}")
                cases += 1
        except Unsupported:
            refused += 1
    bound = f"{len(queries) - refused} queries translated, {refused} refused, with at most one condition: all of one "
    bound += f"component, and a sample (one in {every}) of two with mixed strategies, negations and a window: {cases} "
    bound += "cases, all streams of 3 events of three kinds"
    return Finding("holds", "random", bound)


plant(
    "sase07.in-cel",
    "skip till any match in place of next",
    sase_by_cel,
    "sase_to_cel",
    broken.argument(lambda q: parse_sase(show_sase(q).replace("next_match", "any_match"))),
)


# ---- vldb24: automata with registers ----


@dataclass(frozen=True)
class RegisterAutomaton:
    """A step depends on the registers that have the value of the event, and may write it into one of them."""

    steps: Mapping[tuple[Any, frozenset[int]], tuple[tuple[Any, int | None], ...]]
    initial: Any
    final: frozenset[Any]
    registers: int

    def accepts(self, values: Iterable[int]) -> bool:
        """Return whether some run over the values ends in a final state; before it all registers are empty."""
        now: set[tuple[Any, tuple[int | None, ...]]] = {(self.initial, (None,) * self.registers)}
        for v in values:
            now = {
                (q, held if r is None else (*held[:r], v, *held[r + 1 :]))
                for p, held in now
                for q, r in self.steps.get((p, frozenset(r for r, x in enumerate(held) if x == v)), ())
            }
        return any(q in self.final for q, _ in now)


EMPTY, SAME = frozenset[int](), frozenset({0})
TWICE_SOMEWHERE = RegisterAutomaton(
    {
        (0, EMPTY): ((0, None), (1, 0)),
        **{(1, seen): ((2 if seen else 1, None),) for seen in (EMPTY, SAME)},
        **{(2, seen): ((2, None),) for seen in (EMPTY, SAME)},
    },
    0,
    frozenset({2}),
    1,
)
"""Some value comes twice: guess it, write it down, and wait for it."""


def _all_deterministic(states: int) -> Iterator[RegisterAutomaton]:
    """All with one register and so many states."""
    places = list(product(range(states), (EMPTY, SAME)))
    for taken in product(product(range(states), (None, 0)), repeat=len(places)):
        steps = {place: (step,) for place, step in zip(places, taken, strict=True)}
        for k in range(states + 1):
            for final in combinations(range(states), k):
                yield RegisterAutomaton(steps, 0, frozenset(final), 1)


def _under_window(width: int) -> RegisterAutomaton:
    """The deterministic one for an event whose value is that of one of the width - 1 events before it."""
    registers = width - 1
    sets = [frozenset(chosen) for k in range(registers + 1) for chosen in combinations(range(registers), k)]
    states = list(product(range(registers), (False, True)))
    steps = {((r, hit), seen): (((((r + 1) % registers), bool(seen)), r),) for (r, hit), seen in product(states, sets)}
    return RegisterAutomaton(steps, (0, False), frozenset((r, True) for r in range(registers)), registers)


@claim(
    "vldb24.window",
    "Under a window, automata with registers can be determinized and complemented; without one, some cannot be "
    "determinized",
    "theorem",
    "for two patterns only, with registers compared for equality. We read only the abstract, which claims it "
    "for all symbolic register transducers. Not checked: that without a window complements are lost too",
)
def _(effort: Effort) -> Finding:
    states, length, looked_at = 2, 4 if effort == "quick" else 5, 0
    words = [values for n in range(length + 1) for values in _partitions(n)]
    twice = {values: len(set(values)) < len(values) for values in words}
    if any(TWICE_SOMEWHERE.accepts(values) != twice[values] for values in words):
        return Finding("refuted", "exhaustive", "the automaton that guesses")
    languages = set()
    for A in _all_deterministic(states):
        looked_at += 1
        languages.add(tuple(A.accepts(values) for values in words))
        if tuple(twice.values()) in languages:
            return Finding("refuted", "exhaustive", f"{A}")
    for width, n in product((2, 3, 4), range(1, length + 3)):
        A = _under_window(width)
        complement = replace(A, final=frozenset(product(range(A.registers), (False, True))) - A.final)
        for values in _partitions(n):
            expected = values[-1] in values[max(0, n - width) : -1]
            if A.accepts(values) != expected or complement.accepts(values) == expected:
                return Finding("refuted", "exhaustive", f"{values} in a window of {width} events")
    bound = (
        f'"some value comes twice" is expressed by none of all {looked_at} tables of a deterministic automaton '
        f"with {states} states and a register, which have {len(languages)} languages, on all words to {length} "
        'events up to renaming; "the last value came before", in a window of 2, 3 or 4 events by one made by '
        f"hand and its complement, on all words to {length + 2} events"
    )
    return Finding("holds", "example", bound)


plant(
    "vldb24.window",
    "a register too few",
    sys.modules[__name__],
    "_under_window",
    broken.argument(lambda width: max(2, width - 1)),
)


# ---- languages that others do not contain ----


@claim(
    "vldb92.not-in-core",
    "If a formula of core-CEL, with or without strategies, matches a stream of one event, then it has a match "
    "that ends at the second of two such events. A and !relative(A, A) takes place only at the first",
    "remark",
    "a statement of docs/theory/related.md, not of a paper: so core-CEL does not include event expressions",
)
def _(effort: Effort) -> Finding:
    nodes, cases, events = 3 if effort == "quick" else 4, 0, len(list(core_streams(1)))
    well_formed = [phi for phi in core_formulas(nodes) if is_well_formed(phi)]
    strategies = (core.CoreStrict, core.CoreNext, core.CoreLast, core.CoreMax)
    for phi in (*well_formed, *(strategy(phi) for strategy in strategies for phi in well_formed)):
        for S in core_streams(1):
            cases += 1
            if core_events(phi, S, 0) and not core_events(phi, Stream([*S, *S]), 1):
                return Finding("refuted", "exhaustive", f"{core.show(phi)} over {S.events}")
    first_a = parse_expression("A and !relative(A, A)")
    places = [takes_place(first_a, Stream(map(Event, word))) for word in ("A", "AA")]
    bound = f"docs/theory/related.md; {cases} cases: all well-formed formulas to {nodes} nodes with AS, ;, OR, + and "
    bound += f"FILTER over A, B, x and y, alone and with each strategy around, and each of {events} events; A and "
    bound += "!relative(A, A) takes place at the first event of A, and of A A alone"
    return Finding("holds" if places == [{0}, {0}] else "refuted", "proof", bound)


plant(
    "vldb92.not-in-core",
    "a formula is anchored where the stream begins",
    sys.modules[__name__],
    "core_events",
    broken.result(lambda Cs: frozenset(C for C in Cs if 0 in C)),
)


@claim(
    "sase07.cel-not-in",
    "A simple query without a final negation reports a set of events at one position only; PROJECT[A](A ; B) "
    "of CEL reports an A at each later B",
    "remark",
    "a statement of docs/theory/related.md, not of the paper: so simple queries of SASE+ without a final "
    "negation do not include CEL, if positions of reports count. A match is reported once, however often its "
    "run may end. The event at which a final Kleene plus is reported (docs/decisions/sase.md) does not matter "
    "here: without a condition on a[a.LEN], one event alone has one run, which ends once",
)
def _(effort: Effort) -> Finding:
    every, cases = 17 if effort == "quick" else 3, 0
    for q in [*small.queries(1), *small.queries(2, step=every)]:
        for S in small.streams(3, ("A1/k", "A2/l", "B1/k")):
            found = {(m.at, m.events) for m in matches_of_sase(q, S, bindings)}
            cases += len(found)
            if len({events for _, events in found}) < len(found):
                return Finding("refuted", "random", f"{show_sase(q)} over {S.events}")
    again = [(m.at, m.events) for m in matches(parse("PROJECT[A](A ; B)"), Stream(map(Event, "ABB")))]
    bound = f"{cases} matches: all queries of one component and a sample (one in {every}) of two, with one strategy "
    bound += "and at most one condition, all streams of 3 events of three kinds; and PROJECT[A](A ; B) on A B B"
    return Finding("holds" if again == [(1, (0,)), (2, (0,))] else "refuted", "random", bound)


plant(
    "sase07.cel-not-in",
    "a match is reported again with the next event",
    sys.modules[__name__],
    "matches_of_sase",
    broken.result(lambda found: [m for one in found for m in (one, replace(one, at=one.at + 1))]),
)
