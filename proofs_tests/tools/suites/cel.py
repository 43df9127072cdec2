"""Make the suite of CEL: its queries, the streams that detect most mutants, and the answers of the definition.

The first part has mutants that are right about an operator at the top of a query or of plain events, and wrong about it
elsewhere.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, pairwise, product
from random import Random
from typing import cast

from cerify.automata.evaluator import Output
from cerify.conformance.cases import SUITES, load
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import CelProfile
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import (
    NONE,
    Meaning,
    Valuations,
    at,
    bind,
    clause,
    last_at_most,
    next_at_most,
    spans_at_most,
    sup,
)
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, subformulas
from cerify.semantics.events import TIME, ComplexEvent, Event, Schema, Stream, Valuation
from cerify.semantics.predicates import mentions, satisfied
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import value_type_of
from proofs_tests.tools.choosing import greedy_cover, most_killing
from proofs_tests.tools.mutants.cel import LONG as LONG_MUTANTS
from proofs_tests.tools.mutants.cel import MEANING, CelMutant, Clause, instead, unary
from proofs_tests.tools.mutants.cel import MUTANTS as PLAIN
from proofs_tests.tools.mutants.mutant import Mutant, drawn, killed_by
from proofs_tests.tools.suites import cel_queries as queries
from proofs_tests.tools.suites import separating
from proofs_tests.tools.suites.cel_queries import CLAUSES, EXAMPLES, FILES, LONG, READINGS, Example, Group, witnesses
from proofs_tests.tools.suites.source import case_of
from proofs_tests.tools.suites.twins import twins

# ---- nested mutants ----
#

Rivals = Callable[[Formula, int, int, Meaning], Valuations]
Wins = Callable[[ComplexEvent, Iterable[ComplexEvent]], bool]


def on(kind: type[Formula], local: Callable[..., Iterable[Valuation] | None]) -> Clause:
    """A clause that differs for one operator only."""
    return lambda phi, S, i, j, meaning: local(phi, S, i, j, meaning) if isinstance(phi, kind) else None


# --- strategies -------------------------------------------------------------------------------------------------------

WINS: dict[str, tuple[type[Formula], Wins]] = {
    "nxt": (cel.Next, lambda C, others: all(next_at_most(other, C) for other in others)),
    "last": (cel.Last, lambda C, others: all(last_at_most(other, C) for other in others)),
    "max": (cel.Max, lambda C, others: not any(other > C for other in others)),
}


def selecting(name: str, rivals: Rivals) -> Iterable[CelMutant]:
    """Each strategy, comparing with other valuations than those of its interval."""
    for feature, (kind, wins) in WINS.items():

        def local(
            phi: cel.Strategy, S: Stream, i: int, j: int, meaning: Meaning, wins: Wins = wins
        ) -> Iterable[Valuation]:
            others = {sup(mu) for mu in rivals(phi.phi, i, j, meaning)}
            return (mu for mu in meaning(phi.phi, i, j) if wins(sup(mu), others))

        yield CelMutant(f"{feature}: {name}", kind=kind, clause=on(kind, local))


def judged(name: str, kind: type[cel.Strategy], wins: Callable[[ComplexEvent, list[ComplexEvent]], bool]) -> CelMutant:
    """A strategy with another order."""

    def local(phi: cel.Strategy, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
        mus = meaning(phi.phi, i, j)
        supports = [sup(mu) for mu in mus]
        return (mu for mu in mus if wins(sup(mu), supports))

    return CelMutant(name, kind=kind, clause=on(kind, local))


def _any_start(psi: Formula, i: int, j: int, meaning: Meaning) -> Valuations:
    return NONE.union(*(meaning(psi, k, j) for k in range(j + 1)))


def _any_end(psi: Formula, i: int, j: int, meaning: Meaning) -> Valuations:
    return NONE.union(*(meaning(psi, i, k) for k in range(i, j + 1)))


def at_the_top_only(name: str, kind: type[cel.Strategy]) -> CelMutant:
    """A strategy that is ignored inside a formula."""
    drop = instead(lambda psi: psi.phi if isinstance(psi, kind) else None)
    return CelMutant(name, lambda phi: rebuilt(phi, [drop(child) for child in children(phi)]))


def _inside_strict(psi: Formula) -> Formula | None:
    match psi:
        case cel.Seq(left, right):
            return cel.ContiguousSeq(left, right)
        case cel.Plus(below):
            return cel.ContiguousPlus(below)
        case _:
            return None


def below_strategies(name: str, kind: type[cel.Filter | cel.Within | cel.PartitionBy]) -> CelMutant:
    """A condition on the selected matches, taken for one on those to select from."""

    def pushed(phi: Formula) -> Formula | None:
        if isinstance(phi, kind) and isinstance(selected := phi.phi, cel.Next | cel.Last | cel.Max):
            return rebuilt(selected, [rebuilt(phi, children(selected))])
        return None

    return CelMutant(name, instead(pushed))


# --- the other operators ----------------------------------------------------------------------------------------------


def _first_that_fits(phi: cel.Seq, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    for k in range(i, j):
        if mus := meaning(phi.left, i, k):
            first = min((e for e in range(k + 1, len(S)) if meaning(phi.right, k + 1, e)), default=None)
            if first == j:
                yield from (mu1 | mu2 for mu1 in mus for mu2 in meaning(phi.right, k + 1, j))


def _among_its_types(phi: cel.ContiguousSeq, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    types = {psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom)}
    for k in range(i, j):
        for mu1, mu2 in product(meaning(phi.left, i, k), meaning(phi.right, k + 1, j)):
            if mu1 and mu2 and not any(S[p].type in types for p in range(max(sup(mu1)) + 1, min(sup(mu2)))):
                yield mu1 | mu2


def _no_skip_inside(phi: cel.ContiguousSeq, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return (mu for mu in clause(phi, S, i, j, meaning) if max(sup(mu)) == j and min(sup(mu)) == i)


def _last_round_binds(phi: cel.Plus, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    yield from meaning(phi.phi, i, j)
    for k in range(i, j):
        for mu1, mu2 in product(meaning(phi.phi, i, k), meaning(phi, k + 1, j)):
            yield mu2 | frozenset(("", p) for p in sup(mu1))


def _exclusive(phi: cel.Or, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return meaning(phi.left, i, j) ^ meaning(phi.right, i, j)


def _one_interval(phi: cel.All, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, j), meaning(phi.right, i, j)))


def _from_one_start(phi: cel.All, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    for k in range(i, j + 1):
        yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, j), meaning(phi.right, i, k)))
        yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, k), meaning(phi.right, i, j)))


def _side_by_side(phi: cel.All, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    """ALL without a gap between the two: the printed construction of Theorem 6.2."""
    for k in range(i, j + 1):
        for a in range(i, min(k + 2, j + 1)):
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, k), meaning(phi.right, a, j)))
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.right, i, k), meaning(phi.left, a, j)))
    for a in range(i, j + 1):
        for k in range(a, j + 1):
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, j), meaning(phi.right, a, k)))
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.right, i, j), meaning(phi.left, a, k)))


def _guarded_from_the_stream_start(phi: cel.Unless, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    inside = ((a, b) for b in range(j + 1) for a in range(b + 1))
    return NONE if any(meaning(phi.right, a, b) for a, b in inside) else meaning(phi.left, i, j)


def _projected_empty(phi: cel.Project, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return (mu for mu in clause(phi, S, i, j, meaning) if mu)


def _still_there(phi: cel.Project, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    """PROJECT that hides variables, and leaves the events in the match."""
    for mu in meaning(phi.phi, i, j):
        kept = frozenset(pair for pair in mu if pair[0] in phi.variables)
        yield kept | frozenset(("", p) for p in sup(mu) - sup(kept))


def _first_bound(phi: cel.In, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    A = phi.variable
    return (mu - at(mu, A) | bind(A, {min(sup(mu))} if mu else ()) for mu in meaning(phi.phi, i, j))


def _kept(phi: cel.In, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    A = phi.variable
    return (mu if at(mu, A) else mu | bind(A, sup(mu)) for mu in meaning(phi.phi, i, j))


def _in_step(phi: cel.Filter, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    """A correlation that compares the first with the first, the second with the second, and so on."""
    if not isinstance(c := phi.condition, cel.Correlated):
        return None
    P = c.predicate

    def accepted(mu: Valuation) -> bool:
        ranges = [[S[p] for _, p in sorted(at(mu, m.variable))] for m in mentions(P)]
        for events in zip(*ranges, strict=False):
            remaining = iter(events)
            if not satisfied(P, lambda m, events=remaining: next(events).get(m.name)):  # type: ignore[misc]
                return False
        return True

    return (mu for mu in meaning(phi.phi, i, j) if accepted(mu))


def _first_and_last(phi: cel.Within, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    def ends(mu: Valuation) -> frozenset[int]:
        return frozenset({min(sup(mu)), max(sup(mu))}) if mu else frozenset()

    return (mu for mu in meaning(phi.phi, i, j) if spans_at_most(phi.window, ends(mu), S))


def _counting_the_match(phi: cel.Within, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(window := phi.window, cel.EventWindow):
        return None
    return (mu for mu in meaning(phi.phi, i, j) if mu and len(sup(mu)) <= window.count)


def _of_the_interval(phi: cel.Within, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    """A window that reaches to the event at which the match is reported."""
    return (mu for mu in meaning(phi.phi, i, j) if mu and spans_at_most(phi.window, sup(mu) | {j}, S))


def _in_seconds(phi: Formula) -> Formula | None:
    match phi:
        case cel.Within(psi, cel.TimeWindow(amount, _)):
            return cel.Within(psi, cel.TimeWindow(amount, "second"))
        case _:
            return None


def _agreeing(pairs: Callable[[list[int], Stream], Iterable[tuple[int, int]]]) -> Clause:
    def local(phi: cel.PartitionBy, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
        def agree(mu: Valuation) -> bool:
            return all(S[p].get(phi.attribute) == S[q].get(phi.attribute) for p, q in pairs(sorted(sup(mu)), S))

        return (mu for mu in meaning(phi.phi, i, j) if agree(mu))

    return on(cel.PartitionBy, local)


NESTED: tuple[Mutant, ...] = (
    *selecting("compared from every start", _any_start),
    *selecting("compared from the start of the stream", lambda psi, i, j, meaning: meaning(psi, 0, j)),
    next(iter(selecting("compared with earlier ends too", _any_end))),  # in LAST and MAX these never win
    judged("nxt: the other way round", cel.Next, lambda C, others: all(next_at_most(C, other) for other in others)),
    judged("last: the other way round", cel.Last, lambda C, others: all(last_at_most(C, other) for other in others)),
    judged("max: the minimal ones", cel.Max, lambda C, others: not any(other < C for other in others)),
    judged(
        "nxt: the earliest first event", cel.Next, lambda C, o: min(C, default=0) == min(min(D, default=0) for D in o)
    ),
    judged(
        "last: the latest first event", cel.Last, lambda C, o: min(C, default=0) == max(min(D, default=0) for D in o)
    ),
    judged("nxt: the shortest", cel.Next, lambda C, o: len(C) == min(map(len, o))),
    judged("last: the longest", cel.Last, lambda C, o: len(C) == max(map(len, o))),
    at_the_top_only("strict: at the top only", cel.Strict),
    at_the_top_only("nxt: at the top only", cel.Next),
    at_the_top_only("last: at the top only", cel.Last),
    at_the_top_only("max: at the top only", cel.Max),
    unary("strict: ; read as : inside", cel.Strict, instead(_inside_strict)),
    below_strategies("filter: applied below the strategy", cel.Filter),
    below_strategies("within: applied below the strategy", cel.Within),
    below_strategies("partition: applied below the strategy", cel.PartitionBy),
    CelMutant("seq: the first right part that fits", kind=cel.Seq, clause=on(cel.Seq, _first_that_fits)),
    CelMutant("cseq: other types between", kind=cel.ContiguousSeq, clause=on(cel.ContiguousSeq, _among_its_types)),
    CelMutant(
        "cseq: from the start of its interval", kind=cel.ContiguousSeq, clause=on(cel.ContiguousSeq, _no_skip_inside)
    ),
    CelMutant("plus: the last round binds", kind=cel.Plus, clause=on(cel.Plus, _last_round_binds)),
    unary(
        "plus: at most three times",
        cel.Plus,
        lambda phi: cel.Or(cel.Or(phi, cel.Seq(phi, phi)), cel.Seq(phi, cel.Seq(phi, phi))),
    ),
    unary(
        "cplus: at most three times",
        cel.ContiguousPlus,
        lambda phi: cel.Or(
            cel.Or(phi, cel.ContiguousSeq(phi, phi)), cel.ContiguousSeq(phi, cel.ContiguousSeq(phi, phi))
        ),
    ),
    CelMutant("or: exclusive", kind=cel.Or, clause=on(cel.Or, _exclusive)),
    CelMutant("all: one interval for both", kind=cel.All, clause=on(cel.All, _one_interval)),
    CelMutant("all: one start for both", kind=cel.All, clause=on(cel.All, _from_one_start)),
    CelMutant("all: nothing between the two", kind=cel.All, clause=on(cel.All, _side_by_side)),
    CelMutant(
        "unless: from the start of the stream", kind=cel.Unless, clause=on(cel.Unless, _guarded_from_the_stream_start)
    ),
    drawn("cel")("unless: from the first event of the match", "negation=any-between"),
    CelMutant("project: what is left empty is dropped", kind=cel.Project, clause=on(cel.Project, _projected_empty)),
    CelMutant("project: the events stay", kind=cel.Project, clause=on(cel.Project, _still_there)),
    CelMutant("in: the first event only", kind=cel.In, clause=on(cel.In, _first_bound)),
    CelMutant("in: not if it is bound already", kind=cel.In, clause=on(cel.In, _kept)),
    CelMutant("filter: correlated in step", kind=cel.Filter, clause=on(cel.Filter, _in_step)),
    CelMutant("within: between the first and the last event", kind=cel.Within, clause=on(cel.Within, _first_and_last)),
    CelMutant("within: the events of the match", kind=cel.Within, clause=on(cel.Within, _counting_the_match)),
    CelMutant("within: to where it is reported", kind=cel.Within, clause=on(cel.Within, _of_the_interval)),
    CelMutant("within: every unit a second", instead(_in_seconds)),
    CelMutant(
        "partition: the first and the last agree",
        kind=cel.PartitionBy,
        clause=_agreeing(lambda C, S: [(C[0], C[-1])] if C else []),
    ),
    CelMutant(
        "partition: events of one type agree",
        kind=cel.PartitionBy,
        clause=_agreeing(lambda C, S: ((p, q) for p, q in product(C, C) if S[p].type == S[q].type)),
    ),
    CelMutant(
        "partition: every other event agrees", kind=cel.PartitionBy, clause=_agreeing(lambda C, S: pairwise(C[::2]))
    ),
)


# ---- suite ----
# The suite of CEL: queries chosen by hand (queries/) and at random, each with streams that kill mutants.

Chosen = tuple[Formula, Stream, Output]
CHOOSING = (*PLAIN, *NESTED)  # by which streams are chosen
MUTANTS = (*CHOOSING, *LONG_MUTANTS)

STREAMS_PER_QUERY = 2  # of those that tell the most mutants from the meaning
GENERATED = 8  # cases of each feature with a generated query


@dataclass(frozen=True)
class Edition:
    """What was added to the suite at one time; the cases of an edition stay as they are when a later one comes.

    mutants: those that its streams are chosen by. candidates: streams looked at for one query.
    files: those whose features it has cases of.
    first, first_generated: where its numbers begin, for the queries chosen by hand and for those generated.
    surroundings: what the generated queries are made of; None if there are none.
    """

    groups: tuple[Group, ...]
    mutants: tuple[Mutant, ...]
    files: tuple[str, ...]
    candidates: int
    first: int
    first_generated: int
    surroundings: CelProfile | None


BEFORE_DERIVED = ("cel-core", "cel-figure3", "cel-strategies", "cel-windows")

EDITIONS = (
    Edition(queries.PLAIN, PLAIN, BEFORE_DERIVED, 40, 1, 501, generate.CORE),
    Edition(queries.NESTED, CHOOSING, BEFORE_DERIVED, 12, 601, 901, generate.EVERYTHING),
    Edition(queries.ROUNDS, CHOOSING, ("cel-derived",), 40, 1001, 1501, generate.CORE),
    Edition(queries.TRIALS, CHOOSING, BEFORE_DERIVED, 8, 2001, 2501, None),
)
TWINS = 3001  # the first number of a twin, in each feature


def cases_of_file(name: str) -> Iterator[Case]:
    """The cases of one file of the suite, by feature."""
    return (found for feature in FILES[name] for found in suite() if found.feature == feature)


@cache
def suite() -> tuple[Case, ...]:
    """All cases, with their twins, and those on long streams; where two would ask the same, the first."""
    first: dict[tuple[str, str, str], Case] = {}
    for case in (*_suite(), *map(example, LONG), *separating_cases()):
        first.setdefault(asked(case), case)
    cases = tuple(first.values())
    return (*cases, *twins_of(cases))


def asked(case: Case) -> tuple[str, str, str]:
    """Return the question of a case; no two cases have the same."""
    return case.query, json.dumps(list(case.events)), case.output


@cache
def published() -> tuple[tuple[int, Case], ...]:
    """Return the number of each shipped case that has one, and the case: `cel/seq/017` has 17."""
    shipped = (case for name in FILES if (SUITES / f"{name}.jsonl").exists() for case in load(name))
    numbered = ((case.id.removeprefix(f"cel/{case.feature}/"), case) for case in shipped)
    return tuple((int(number), case) for number, case in numbered if number.isdecimal())


def twins_of(cases: Sequence[Case]) -> list[Case]:
    """Return the twins of the cases that are not among them, by number. A published twin keeps its number."""
    known = set(map(asked, cases))
    numbers = {asked(case): number for number, case in published() if number >= TWINS}
    last = Counter({case.feature: number for number, case in published() if number >= TWINS})
    made: list[tuple[int, Case]] = []
    for feature, phi, S in twins(cases):
        twin = case_of("cel", feature, feature, CLAUSES[feature], show(phi), S, "matches")
        if asked(twin) in known:
            continue
        known.add(asked(twin))
        if (number := numbers.get(asked(twin))) is None:
            number = last[feature] = max(last[feature] + 1, TWINS)
        made.append((number, replace(twin, id=f"cel/{feature}/{number}")))
    return [twin for _, twin in sorted(made, key=lambda one: one[0])]


def _suite() -> Iterator[Case]:
    yield from map(example, EXAMPLES)
    with ProcessPoolExecutor() as pool:
        asked_for = [(n, feature) for n, edition in enumerate(EDITIONS) for feature in features(edition)]
        yield from chain.from_iterable(pool.map(cases_of, *zip(*asked_for, strict=True)))
    yield from map(example, READINGS)
    for name, feature, query, stream, output in witnesses():
        yield case_of("cel", name, feature, CLAUSES[feature], query, stream, output)


def features(edition: Edition) -> Iterator[str]:
    """The features of the edition's files, in their order."""
    return (feature for name in edition.files for feature in FILES[name])


def cases_of(number: int, feature: str) -> list[Case]:
    """Return the cases of one feature in the edition of that number, each with the answer of the definition.

    A published case of a query that is still asked keeps its number and its stream, as do the generated queries. A new
    query gets the next numbers.
    """
    edition = EDITIONS[number]
    groups = [group for group in edition.groups if group.feature == feature]
    wanted = {(show(parse(query)), group.output) for group in groups for query in group.queries}
    earlier = [(n, case) for n, case in published() if case.feature == feature]
    before = {(case.query, case.output) for _, case in earlier}
    by_hand = {
        n: (case.query, stream_of(case), case.output)
        for n, case in earlier
        if edition.first <= n < edition.first_generated and (case.query, case.output) in wanted
    }
    fresh = [
        replace(group, queries=tuple(q for q in group.queries if (show(parse(q)), group.output) not in before))
        for group in groups
    ]
    new = (found for group in fresh for found in chosen(group, edition))
    after = max(by_hand, default=edition.first - 1) + 1
    by_hand |= {n: (show(phi), S, output) for n, (phi, S, output) in enumerate(new, after)}
    made = {
        n: (case.query, stream_of(case), case.output)
        for n, case in earlier
        if edition.first_generated <= n < edition.first_generated + GENERATED
    }
    if not made:
        found = enumerate(generated(feature, edition), edition.first_generated)
        made = {n: (show(phi), S, output) for n, (phi, S, output) in found}
    return [
        case_of("cel", f"{feature}/{n:03}", feature, CLAUSES[feature], query, S, output)
        for n, (query, S, output) in (*by_hand.items(), *made.items())
    ]


def example(given: Example) -> Case:
    """The case of an example, which has its stream."""
    name, clause, feature, query, stream = given
    return case_of("cel", name, feature, clause, query, Stream(stream, Schema.from_events(stream)), "matches")


def separating_cases() -> Iterator[Case]:
    """The cases that are made to separate two meanings."""
    for number, (feature, query, S) in enumerate(separating.printed(separating.CEL), 1):
        yield example((f"apart/{number:02}", CLAUSES[feature], feature, query, S))


# --- streams for a query ----------------------------------------------------------------------------------------------


def chosen(group: Group, edition: Edition) -> Iterator[Chosen]:
    """Each query of a group with the streams that kill the most mutants."""
    for query in group.queries:
        phi = parse(query)
        killed = ((S, kills(phi, S, group.output, edition.mutants)) for S in streams(group, query, edition.candidates))
        yield from ((phi, S, group.output) for S in greedy_cover(killed, STREAMS_PER_QUERY))


def streams(group: Group, query: str, candidates: int) -> list[Stream]:
    """Candidate streams for a query: all short ones if there are few enough, else a random choice of them."""
    schema = Schema({R: {name: value_type_of(pool[0]) for name, pool in group.attributes} for R in group.types})
    events = [
        Event(R, dict(zip((name for name, _ in group.attributes), values, strict=True)))
        for R in group.types
        for values in product(*(pool for _, pool in group.attributes))
    ]
    rng = Random(query)
    if sum(len(events) ** n for n in range(1, group.length + 1)) <= 2 * candidates and not group.absent:
        return [Stream(S, schema) for n in range(1, group.length + 1) for S in product(events, repeat=n)]
    found = [[rng.choice(events) for _ in range(rng.randint(1, group.length))] for _ in range(candidates)]
    if group.ordered:
        found = [sorted(S, key=lambda event: cast("float", event.get(TIME))) for S in found]
    return [Stream([thinned(rng, event, group.absent) for event in S], schema) for S in sorted(found, key=len)]


def thinned(rng: Random, event: Event, absent: float) -> Event:
    """The event without a share of its attributes."""
    return Event(event.type, {name: value for name, value in event.attributes.items() if rng.random() >= absent})


def kills(phi: Formula, S: Stream, output: Output, mutants: Sequence[Mutant] = MUTANTS) -> frozenset[str]:
    """The mutants that give other matches than the meaning does."""
    return killed_by(phi, S, MEANING, mutants, output)


# --- generated queries ------------------------------------------------------------------------------------------------


def generated(feature: str, edition: Edition) -> Iterator[Chosen]:
    """Random queries that use a feature's operator, chosen so that its own mutants are killed most often."""
    if feature in ("examples", "event", "within", "partition") or edition.surroundings is None:
        return
    own = [mutant for mutant in edition.mutants if mutant.name.startswith(f"{feature}:")]
    profile = profile_for(feature, edition.surroundings)
    seed = "generated" if edition is EDITIONS[0] else f"generated from {edition.first_generated}"
    rng = Random(f"{seed}/{feature}")
    candidates: list[tuple[Chosen, frozenset[str]]] = []
    while len(candidates) < edition.candidates:
        phi = generate.formula(rng, profile, rng.randint(3, 6))
        S = generate.stream(rng, profile, rng.randint(2, 5), phi)
        output: Output = "valuations" if rng.random() < 0.25 else "matches"
        if killed := kills(phi, S, output, own):
            candidates.append(((phi, S, output), killed))
    yield from most_killing(candidates, GENERATED)


def profile_for(feature: str, surroundings: CelProfile) -> CelProfile:
    """Formulas in which a feature's operator is frequent among others."""
    operators = [(name, 2) for name, _ in surroundings.operators if name != feature]
    correlated = 0.2 if feature == "filter" else 0.0
    return replace(surroundings, operators=(*operators, (feature, 6)), correlated=correlated)
