"""Writes the conformance suite: `python -m cerify.conformance.make_suite` makes its files anew, always the same.

The queries are chosen by hand (queries/) and at random; the streams are chosen so that as many wrong semantics as
possible (mutants) give a wrong answer. The expected matches are those of the denotational semantics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, product
from random import Random
from typing import Any, cast

from cerify.conformance import queries
from cerify.conformance.cases import save
from cerify.conformance.choosing import telling
from cerify.conformance.model import Case
from cerify.conformance.mutants import MUTANTS, PLAIN
from cerify.conformance.mutants.model import Mutant, Reported, report
from cerify.conformance.queries import CLAUSES, FILES
from cerify.conformance.queries.examples import EXAMPLES, READINGS, Example, witnesses
from cerify.conformance.queries.group import Group
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import Profile
from cerify.evaluators import Output, denotational
from cerify.semantics.budget import Budget
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Event, Match, Schema, Stream, bindings_of
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.values import value_type_of

Chosen = tuple[Formula, Stream, Output]

STREAMS_PER_QUERY = 2  # of those that tell the most mutants from the meaning
GENERATED = 8  # cases of each feature with a generated query


@dataclass(frozen=True)
class Edition:
    """What was added to the suite at one time; the cases of an edition stay as they are when a later one comes.

    mutants: those that its streams are chosen by. candidates: streams looked at for one query.
    first, first_generated: where its numbers begin, for the queries chosen by hand and for those generated.
    surroundings: what the generated queries are made of.
    """

    groups: tuple[Group, ...]
    mutants: tuple[Mutant, ...]
    candidates: int
    first: int
    first_generated: int
    surroundings: Profile


EDITIONS = (
    Edition(queries.PLAIN, PLAIN, 40, 1, 501, generate.CORE),
    Edition(queries.NESTED, MUTANTS, 12, 601, 901, generate.EVERYTHING),
)


def main() -> None:
    """Write all files of the suite."""
    cases = list(suite())
    for name, features in FILES.items():
        save(name, (case for feature in features for case in cases if case.feature == feature))


def suite() -> Iterator[Case]:
    """All cases; where two would ask the same, the first."""
    asked: set[tuple[str, str, str]] = set()
    for found in _suite():
        question = found.query, json.dumps(list(found.events)), found.output
        if question not in asked:
            asked.add(question)
            yield found


def _suite() -> Iterator[Case]:
    yield from map(example, EXAMPLES)
    with ProcessPoolExecutor() as pool:
        asked_for = product(range(len(EDITIONS)), chain.from_iterable(FILES.values()))
        yield from chain.from_iterable(pool.map(cases_of, *zip(*asked_for, strict=True)))
    yield from map(example, READINGS)
    for name, feature, query, stream, output in witnesses():
        yield case(f"cel/{name}", feature, CLAUSES[feature], query, stream, output)


def cases_of(number: int, feature: str) -> list[Case]:
    """The cases of one feature in the edition of that number."""
    edition = EDITIONS[number]
    groups = [group for group in edition.groups if group.feature == feature]
    by_hand = (found for group in groups for found in chosen(group, edition))
    return [
        case(f"cel/{feature}/{n:03}", feature, CLAUSES[feature], show(phi), stream, output)
        for first, cases in ((edition.first, by_hand), (edition.first_generated, generated(feature, edition)))
        for n, (phi, stream, output) in enumerate(cases, first)
    ]


def example(told: Example) -> Case:
    """A case that is told with its stream."""
    name, clause, feature, query, stream = told
    return case(f"cel/{name}", feature, clause, query, Stream(stream, Schema.of(stream)), "matches")


def case(id_: str, feature: str, clause: str, query: str, stream: Stream, output: Output) -> Case:
    """One case, with the matches that the denotational semantics gives."""
    return Case(
        id=id_,
        feature=feature,
        clause=clause,
        language="cel",
        query=query,
        schema=json_of_schema(cast("Schema", stream.schema)),
        events=[json_of_event(event) for event in stream],
        output=output,
        matches=denotational(parse(query), stream, output, Budget()),
    )


def matches(reported: Reported, output: Output) -> set[Match]:
    """What is reported, as matches with or without the bindings."""
    return {Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if output == "valuations" else None) for n, mu in reported}


# --- streams for a query ----------------------------------------------------------------------------------------------


def chosen(group: Group, edition: Edition) -> Iterator[Chosen]:
    """Each query of a group with the streams that tell the most."""
    for query in group.queries:
        phi = parse(query)
        killed = ((S, kills(phi, S, group.output, edition.mutants)) for S in streams(group, query, edition.candidates))
        yield from ((phi, S, group.output) for S, _ in cover(killed, STREAMS_PER_QUERY))


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
    return [Stream([thinned(rng, event, group.absent) for event in S], schema) for S in sorted(found, key=len)]


def thinned(rng: Random, event: Event, absent: float) -> Event:
    """The event without a share of its attributes."""
    return Event(event.type, {name: value for name, value in event.attributes.items() if rng.random() >= absent})


def kills(phi: Formula, S: Stream, output: Output, mutants: Sequence[Mutant] = MUTANTS) -> frozenset[str]:
    """The mutants that give another answer than the meaning does."""
    meant = report(phi, S)

    def reported(mutant: Mutant) -> Reported:
        return mutant.reported(meant) if mutant.changes_only_the_answer else report(phi, S, mutant)

    right = matches(meant, output)
    return frozenset(m.name for m in mutants if m.concerns(phi, S) and matches(reported(m), output) != right)


def cover(candidates: Iterable[tuple[Any, frozenset[str]]], most: int) -> Iterator[tuple[Any, frozenset[str]]]:
    """Greedily, those that kill what none before did, the earlier one of two that are as good; at least one."""
    remaining = list(candidates)
    killed: frozenset[str] = frozenset()
    for number in range(most):
        best = max(remaining, key=lambda candidate: len(candidate[1] - killed), default=None)
        if best is None or (number and not best[1] - killed):
            return
        remaining.remove(best)
        killed |= best[1]
        yield best


# --- generated queries ------------------------------------------------------------------------------------------------


def generated(feature: str, edition: Edition) -> Iterator[Chosen]:
    """Random queries that use a feature's operator, chosen so that its own mutants are told apart most often."""
    if feature in ("examples", "event", "within", "partition"):
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
    yield from telling(candidates, GENERATED)


def profile_for(feature: str, surroundings: Profile) -> Profile:
    """Formulas in which a feature's operator is frequent among others."""
    operators = [(name, 2) for name, _ in surroundings.operators if name != feature]
    correlated = 0.2 if feature == "filter" else 0.0
    return replace(surroundings, operators=(*operators, (feature, 6)), correlated=correlated)


if __name__ == "__main__":
    main()
