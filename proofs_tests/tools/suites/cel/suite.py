"""The suite of CEL: queries chosen by hand (queries/) and at random, each with streams that kill mutants."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from random import Random
from typing import cast

from cerify.automata.evaluator import Output
from cerify.conformance.model import Case
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import CelProfile
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.values import value_type_of
from proofs_tests.tools.choosing import greedy_cover, most_killing
from proofs_tests.tools.mutants.cel import LONG as LONG_MUTANTS
from proofs_tests.tools.mutants.cel import MEANING
from proofs_tests.tools.mutants.cel import MUTANTS as PLAIN
from proofs_tests.tools.mutants.cel.model import CelMutant
from proofs_tests.tools.mutants.mutant import killed_by
from proofs_tests.tools.suites.cel import queries
from proofs_tests.tools.suites.cel.nested_mutants import NESTED
from proofs_tests.tools.suites.cel.queries import CLAUSES, FILES
from proofs_tests.tools.suites.cel.queries.examples import EXAMPLES, LONG, READINGS, Example, witnesses
from proofs_tests.tools.suites.cel.queries.group import Group
from proofs_tests.tools.suites.source import case_of
from proofs_tests.tools.suites.twins import twins

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
    mutants: tuple[CelMutant, ...]
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
    for case in (*_suite(), *map(example, LONG)):
        first.setdefault(asked(case), case)
    cases = tuple(first.values())
    return (*cases, *twins_of(cases))


def asked(case: Case) -> tuple[str, str, str]:
    """What a case asks: no two ask the same."""
    return case.query, json.dumps(list(case.events)), case.output


def twins_of(cases: Sequence[Case]) -> Iterator[Case]:
    """The twins of the cases that are not among them, numbered within each feature."""
    known = set(map(asked, cases))
    numbers: Counter[str] = Counter()
    for feature, phi, S in twins(cases):
        twin = case_of(
            "cel", f"{feature}/{TWINS + numbers[feature]}", feature, CLAUSES[feature], show(phi), S, "matches"
        )
        if asked(twin) not in known:
            known.add(asked(twin))
            numbers[feature] += 1
            yield twin


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
    """The cases of one feature in the edition of that number."""
    edition = EDITIONS[number]
    groups = [group for group in edition.groups if group.feature == feature]
    by_hand = (found for group in groups for found in chosen(group, edition))
    return [
        case_of("cel", f"{feature}/{n:03}", feature, CLAUSES[feature], show(phi), stream, output)
        for first, cases in ((edition.first, by_hand), (edition.first_generated, generated(feature, edition)))
        for n, (phi, stream, output) in enumerate(cases, first)
    ]


def example(given: Example) -> Case:
    """The case of an example, which has its stream."""
    name, clause, feature, query, stream = given
    return case_of("cel", name, feature, clause, query, Stream(stream, Schema.of(stream)), "matches")


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


def kills(phi: Formula, S: Stream, output: Output, mutants: Sequence[CelMutant] = MUTANTS) -> frozenset[str]:
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
