"""Claims of sase07 and icde08 about strategies, negation, aggregates and good formulas."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random
from typing import Any

from cerify.automata.nfab import moves
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Value
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import require_wellformed
from cerify.semantics.sase.denote import bindings, folded, operation_of
from cerify.semantics.sase.syntax import STRATEGIES, show
from proofs_tests.claims.ledger import Effort, Finding, claim
from proofs_tests.claims.sase_search import counterexample, passed, streams
from proofs_tests.unit.semantics.sase import small
from proofs_tests.unit.semantics.sase.examples import COURIERS, FOUR_HOPS, answered, scans
from proofs_tests.unit.semantics.sase.streams import events, query, shown

PATTERNS = (
    "SEQ(A a, B b)",
    "SEQ(A+ a[])",
    "SEQ(A+ a[], B b)",
    "SEQ(A a, A+ b[])",
    "SEQ(A+ a[], A b)",
    "SEQ(A a, B b, A c)",
)
CLAUSES = (
    "[y]",
    "[y] and a[i].x <= a[i-1].x",
    "[y] and a[a.LEN].x = 1",
    "[y] and b.x > a[a.LEN].x",
    "[y] and b.x > a.x",
)


def _stops_by_itself(text: str) -> bool:
    """Whether a Kleene plus without an end condition is last: less skipping stops it sooner."""
    return text.split(") WHERE")[0].endswith("[]") and "a.LEN].x = 1" not in text


def _chains() -> list[tuple[str, tuple[sase.SaseQuery, ...]]]:
    """Queries that differ in their strategy alone, strict contiguity first."""
    found = []
    for pattern, clause in product(PATTERNS, CLAUSES):
        arguments = ", ".join(k.split()[-1] for k in pattern[4:-1].split(", "))
        texts = [f"{pattern} WHERE {strategy}({arguments}) {{ {clause} }}" for strategy in STRATEGIES]
        try:
            queries = tuple(map(query, texts))
            require_wellformed(queries[0])
        except IllFormed:  # the clause is about a variable of another pattern
            continue
        found.append((texts[0], queries))
    return found


@claim(
    "sase07.strategies",
    "Each strategy relaxes the one before: strict, partition, next, any",
    "remark",
    "relaxing: what is a match under one is a match under the next, the other clauses being the same",
)
def _(effort: Effort) -> Finding:
    length = 3 if effort == "quick" else 5
    letters = ("A1/k", "A2/k", "B2/k", "A1/l") if effort == "full" else ("A1/k", "B2/k", "A1/l")
    smallest, looked_at, chains = None, 0, _chains()
    for S in streams(length, letters):
        for text, queries in chains:
            looked_at += 1
            for (q, left), (r, right) in pairwise((q, bindings(q, S)) for q in queries):
                if left <= right:
                    continue
                if not _stops_by_itself(text):
                    return Finding("refuted", "exhaustive", "", counterexample(q, S, left, right))
                smallest = smallest or _not_relaxed(q, r, S)
    longest = max(shown(bindings(_series("skip_till_any_match"), PRICES)), key=len)
    ok = smallest is not None and longest == "0,1,3,4,5,6" and "0,1,2" in shown(bindings(_series(sase.DEFAULT), PRICES))
    return Finding(
        "holds-corrected" if ok else "refuted",
        "exhaustive",
        f"{len(chains)} queries, all streams of up to {length} events of {len(letters)} kinds ({looked_at:,}). "
        "The prices 1 2 7 3 4 5 6: the longest rise under skip till any match skips 7",
        smallest,
        "it does unless a Kleene plus is last and has no condition on its last event: such a one goes on where less "
        "stops it",
    )


def _not_relaxed(q: sase.SaseQuery, relaxed: sase.SaseQuery, S: Stream) -> dict[str, Any]:
    """A match of the first that the second has not."""
    found = counterexample(q, S, bindings(q, S), bindings(relaxed, S))
    matches = {"its matches": found.pop("expected"), "matches of the one that relaxes it": found.pop("got")}
    return found | {"relaxed by": show(relaxed)} | matches


PRICES = events("A1 A2 A7 A3 A4 A5 A6")


def _series(strategy: str) -> sase.SaseQuery:
    return query(f"SEQ(A+ a[]) WHERE {strategy}(a[]) {{ a[i].x > a[i-1].x }}")


@claim(
    "sase07.negation",
    "Negation of single and Kleene components",
    "definition",
    "the scope, and what a strategy means for a negated series, as in docs/decisions/sase.md",
)
def _(effort: Effort) -> Finding:
    rng, asked, found = Random(5), 250 if effort == "quick" else 5_000, 0
    for _ in range(asked):
        text = small.text_by_chance(rng, 3, ("WITHIN 4 seconds",))
        q, S = query(text), small.by_chance(rng, 7)
        left, right = bindings(q, S), moves.bindings(q, S)
        found += bool(left) and "~" in text
        if left != right:
            return Finding("refuted", "random", "", counterexample(q, S, left, right))
    text, three = COURIERS.split(";")[0], [FOUR_HOPS[0], (3, 8, "New York", "q"), *FOUR_HOPS[3:]]
    ok = [len(answered(text, scans(*route))) for route in (FOUR_HOPS, three)] == [1, 0]
    bound = f"{asked} queries and streams by chance ({found} with a negation and a match): runs and definition agree"
    return passed(ok, bound, "random")


@claim("sase07.aggregates", "Aggregates are associative and have an identity", "remark")
def _(effort: Effort) -> Finding:
    pools: dict[str, tuple[Value, ...]] = {"numbers": (-1, 0, 2, 3), "texts": ("", "a", "b")}
    names = [sase.SaseAggregate("x", "a", name) for name in ("count", "sum", "avg", "min", "max")]
    names += [sase.SaseAggregate("x", "a", name, 2) for name in ("highest", "lowest")]
    wrong = looked_at = 0
    for aggregate, pool in product(names, pools.values()):
        op = operation_of(aggregate)
        states = [op.identity, *map(op.lift, pool)]
        states += [op.combine(a, b) for a, b in product(states, repeat=2)]
        for a, b, c in product(states[:12], repeat=3):
            looked_at += 1
            wrong += op.combine(op.combine(a, b), c) != op.combine(a, op.combine(b, c))
        wrong += sum(op.combine(op.identity, a) != a or op.combine(a, op.identity) != a for a in states)
    values = (0.1, 0.2, 0.3)
    op = operation_of(sase.SaseAggregate("x", "a", "sum"))
    left, right = op.combine(op.combine(*values[:2]), values[2]), op.combine(values[0], op.combine(*values[1:]))
    total = folded(sase.SaseAggregate("x", "a", "sum"), [Event("A", {"x": v}) for v in values])
    return Finding(
        "holds-corrected" if not wrong and left != right and total == left else "refuted",
        "exhaustive",
        f"{len(names)} aggregates over integers and texts, triples of states of up to two values ({looked_at:,})",
        {"query": "sum(a[].x)", "values": list(values), "the first two first": left, "the last two first": right},
        "those of exact numbers are; sums of binary64 are rounded, so they are taken in the order of the stream",
    )


GOOD = ("a.x = 1 and b[i].x > a.x", "b[i].x > b[i-1].x", "(c.x = 1 or c.x = a.x) and c.x > b[b.LEN].x", "not c.x = 1")
NOT_GOOD = {
    "c.x = 1 or a.x = 1": "a.x = 1",
    "b[i].x > b[i-1].x or b[1].x = 1": "b[1].x = 1",
    "not (c.x = 1 and a.x = 1)": "not (c.x = 1 and a.x = 1)",
    "(c.x = 1 and c.x > a.x) or c.x = 2": "no clause",
    "c.x > b[i].x": "b[i].x",
}


@claim("sase07.good-formula", "Good formulas: CNF, and each clause is about its last identifier", "definition")
def _(effort: Effort) -> Finding:
    pattern = "SEQ(A a, B+ b[], C c) WHERE"
    ok = True
    for text in GOOD:
        require_wellformed(query(f"{pattern} {text}"))
    for text, named in NOT_GOOD.items():
        try:
            require_wellformed(query(f"{pattern} {text}"))
            ok = False
        except IllFormed as error:
            ok &= named in error.message
    differs = _meaning_depends_on_place()
    bound = f"{len(GOOD)} good formulas, {len(NOT_GOOD)} others, whose clause the error names"
    return passed(ok and differs, bound)


def _meaning_depends_on_place() -> bool:
    """Why: under skip till next match, a clause on b says which b is next; asked of the whole match it filters."""
    S = events("A1 B1 B2")
    on_b, of_match = (shown(bindings(query(text), S)) for text in ("SEQ(A a, B b) WHERE b.x = 2", "SEQ(A a, B b)"))
    return (on_b, of_match) == (["0 2"], ["0 1"])
