"""Writes the conformance suite: `python -m cerify.conformance.make_suite` makes its files anew, always the same.

The queries are chosen by hand (queries/) and at random; the streams are chosen so that as many wrong semantics as
possible (mutants) give a wrong answer. The expected matches are those of the denotational semantics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from random import Random
from typing import Any, cast

from cerify.conformance.cases import SUITES, line_of_case
from cerify.conformance.model import Case
from cerify.conformance.mutants import MUTANTS
from cerify.conformance.mutants.model import Mutant, Reported, report
from cerify.conformance.queries import CLAUSES, FILES, GROUPS
from cerify.conformance.queries.examples import EXAMPLES
from cerify.conformance.queries.group import Group
from cerify.equivalence import generate
from cerify.equivalence.generate import Operator, Profile
from cerify.evaluators import Output, denotational
from cerify.semantics.budget import Budget
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Event, Match, Schema, Stream, bindings_of, value_type_of
from cerify.semantics.json_events import json_of_event, json_of_schema

Chosen = tuple[Formula, Stream, Output]

STREAMS_PER_QUERY = 2  # of those that tell the most mutants from the meaning
CANDIDATES = 40  # streams looked at for one query
GENERATED = 8  # cases of each feature with a generated query
FIRST_GENERATED = 501  # their numbers begin here, so that a query added by hand does not change their ids


def main() -> None:
    """Write all files of the suite."""
    cases = list(suite())
    SUITES.mkdir(exist_ok=True)
    for name, features in FILES.items():
        lines = (f"{line_of_case(case)}\n" for feature in features for case in cases if case.feature == feature)
        (SUITES / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")


def suite() -> Iterator[Case]:
    """All cases."""
    for name, clause, feature, query, stream in EXAMPLES:
        yield case(f"cel/{name}", feature, clause, query, Stream(stream, Schema.of(stream)), "matches")
    for feature in chain.from_iterable(FILES.values()):
        by_hand = (found for group in GROUPS if group.feature == feature for found in chosen(group))
        for first, cases in ((1, by_hand), (FIRST_GENERATED, generated(feature))):
            for number, (phi, stream, output) in enumerate(cases, first):
                yield case(f"cel/{feature}/{number:03}", feature, CLAUSES[feature], show(phi), stream, output)


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


def chosen(group: Group) -> Iterator[Chosen]:
    """Each query of a group with the streams that tell the most."""
    for query in group.queries:
        phi = parse(query)
        killed = ((S, kills(phi, S, group.output)) for S in streams(group, query))
        yield from ((phi, S, group.output) for S, _ in cover(killed, STREAMS_PER_QUERY))


def streams(group: Group, query: str) -> list[Stream]:
    """Candidate streams for a query: all short ones if there are few enough, else a random choice of them."""
    schema = Schema({R: {name: value_type_of(pool[0]) for name, pool in group.attributes} for R in group.types})
    events = [
        Event(R, dict(zip((name for name, _ in group.attributes), values, strict=True)))
        for R in group.types
        for values in product(*(pool for _, pool in group.attributes))
    ]
    rng = Random(query)
    if sum(len(events) ** n for n in range(1, group.length + 1)) <= 2 * CANDIDATES and not group.absent:
        return [Stream(S, schema) for n in range(1, group.length + 1) for S in product(events, repeat=n)]
    found = [[rng.choice(events) for _ in range(rng.randint(1, group.length))] for _ in range(CANDIDATES)]
    return [Stream([thinned(rng, event, group.absent) for event in S], schema) for S in sorted(found, key=len)]


def thinned(rng: Random, event: Event, absent: float) -> Event:
    """The event without a share of its attributes."""
    return Event(event.type, {name: value for name, value in event.attributes.items() if rng.random() >= absent})


def kills(phi: Formula, S: Stream, output: Output, mutants: Sequence[Mutant] = MUTANTS) -> frozenset[str]:
    """The mutants that give another answer than the meaning does."""
    right = matches(report(phi, S), output)
    return frozenset(m.name for m in mutants if m.concerns(phi, S) and matches(report(phi, S, m), output) != right)


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


def generated(feature: str) -> Iterator[Chosen]:
    """Random queries that use a feature's operator, chosen so that its own mutants are told apart most often."""
    if feature in ("examples", "event", "within", "partition"):
        return
    own = [mutant for mutant in MUTANTS if mutant.name.startswith(f"{feature}:")]
    profile = profile_for(cast("Operator", feature))
    rng = Random(f"generated/{feature}")
    candidates: list[tuple[Chosen, frozenset[str]]] = []
    while len(candidates) < CANDIDATES:
        phi = generate.formula(rng, profile, rng.randint(3, 6))
        S = generate.stream(rng, profile, rng.randint(2, 5), phi)
        output: Output = "valuations" if rng.random() < 0.25 else "matches"
        if killed := kills(phi, S, output, own):
            candidates.append(((phi, S, output), killed))
    often: Counter[str] = Counter()
    for _ in range(GENERATED):
        # a mutant counts less the more often it is killed already
        best = max(candidates, key=lambda candidate: sum(1 / (1 + often[name]) ** 2 for name in candidate[1]))
        candidates.remove(best)
        often.update(best[1])
        yield best[0]


def profile_for(feature: Operator) -> Profile:
    """Formulas of the core in which a feature's operator is frequent."""
    operators = [(name, 2) for name, _ in generate.CORE.operators if name != feature]
    correlated = 0.2 if feature == "filter" else 0.0
    return replace(generate.CORE, operators=(*operators, (feature, 6)), correlated=correlated)


if __name__ == "__main__":
    main()
