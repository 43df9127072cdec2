"""Claims of vldb92 about attributes: section 6 and appendix 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from cerify.automata.dfa.collect import collected, found_in
from cerify.automata.dfa.valued import Valued
from cerify.equivalence.generate.expressions import VALUED, VALUED_PROFILES, case
from cerify.semantics.events import Event, Stream
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.compatible import compatible
from cerify.semantics.gehani.denote import takes_place
from cerify.semantics.gehani.history import places_of
from cerify.semantics.gehani.parse import parse
from cerify.semantics.gehani.show import show
from proofs_tests.claims.ledger import Effort, Finding, Status, claim
from proofs_tests.claims.printed.vldb92_app3 import spawned

SEEN = "the values are those that an event has had; the machine without a value says nothing of others"


@claim(
    "vldb92.attr",
    "Collection of all compatible tuples of attribute values",
    "algorithm",
    reading="a tuple has the variables in several places, or in the head of the definition; the method is left open",
)
def _(effort: Effort) -> Finding:
    rng, cases, rows = Random(61), 0, 0
    for profile in VALUED_PROFILES.values():
        for _ in range(40 if effort == "quick" else 1500):
            E, S = case(rng, profile, 9, 8)
            cases += 1
            expected, got = compatible(E, S).rows, [tuple(row.values()) for row in collected(E, S).to_pylist()]
            rows += len(got)
            if got != sorted((e, *values) for e, values in expected) or {row[0] for row in got} != takes_place(E, S):
                return Finding("refuted", "random", f"{show(E)} over {S.events}")
    return Finding(
        "holds", "random", f"{cases} cases with {rows} tuples: expressions to 9 nodes, histories to 8 events"
    )


def _agree(cases: int, letters: tuple[str, ...], run: Callable[[ev.Expression, Stream], frozenset[int]]) -> Finding:
    """Against one expression for each value, on random expressions with these variables and without prefix."""
    operators = tuple(pair for pair in VALUED.operators if pair[0] != "prefix")
    profile, rng, asked, found = replace(VALUED, variables=letters, operators=operators), Random(62), 0, 0
    while asked < cases:
        E, S = case(rng, profile, 9, 8)
        if not (one_each := Valued(E, places_of(S))).variables:
            continue
        asked += 1
        expected = takes_place(E, S)
        found += bool(expected)
        if run(E, S) != expected or one_each.events(S) != expected:
            return Finding("refuted", "random", f"{show(E)} over {S.events}")
    return Finding("holds", "random", f"{asked} cases, {found} of which take place; without prefix")


@claim("vldb92.attr-spawn", "Machines spawned for the values of one attribute", "construction", SEEN)
def _(effort: Effort) -> Finding:
    return _agree(60 if effort == "quick" else 3000, ("I",), spawned)


@claim(
    "vldb92.attr-spawn:several",
    "Machines spawned for the values of several attributes",
    "construction",
    f"{SEEN}; the machine that an event spawns goes on with that event, and spawns no other by it",
)
def _(effort: Effort) -> Finding:
    E = parse("prior(a(I), b(I)) and prior(a(J), b(J))")
    S = Stream([Event("a", {"n": 1}), Event("b", {"n": 1})])
    expected, got = sorted(takes_place(E, S)), sorted(spawned(E, S))
    again = _agree(60 if effort == "quick" else 3000, ("I", "J"), lambda E, S: frozenset(found_in(E, S)))
    status: Status = "holds-corrected" if again.status == "holds" and expected != got else "refuted"
    shown = {
        "query": show(E),
        "events": [{"type": event.type, **event.attributes} for event in S],
        "expected": expected,
        "got": got,
    }
    correction = "an event that has a new value for several variables spawns a machine for each choice among them"
    return Finding(status, "random", f"corrected: {again.bound}", shown, correction)
