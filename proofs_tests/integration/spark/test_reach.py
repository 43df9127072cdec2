"""How far back a query looks: by hand, and against what the definition finds on the rest of a stream."""

from __future__ import annotations

from random import Random

import pytest

from cerify.api import match
from cerify.automata.evaluate.scope import ReachBounds, within_width
from cerify.equivalence.generate import cel, sase
from cerify.plan import reach_of
from cerify.semantics.cel import syntax as cel_cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.events import Stream
from cerify.semantics.sase.parse import parse as parse_sase
from cerify.spark.runs import reach_of_block
from proofs_tests.support import sampled, stream

AROUND = (
    cel_cel.Next,
    cel_cel.Last,
    cel_cel.Max,
    cel_cel.Strict,
    cel_cel.Start,
    lambda phi: cel_cel.Project(frozenset({"A", "X"}), phi),
)

REACHES = {
    "A": ReachBounds(),
    "A : B : C": ReachBounds(3),
    "A ; B WITHIN 5 EVENTS": ReachBounds(5),
    "(A ; B WITHIN 5 EVENTS) WITHIN 3 EVENTS": ReachBounds(3),
    "A ; B WITHIN 2 minutes": ReachBounds(1, (("time", 120),)),
    "(A ; B WITHIN 2 minutes) WITHIN 30 seconds": ReachBounds(1, (("time", 30),)),
    "(A ; B WITHIN 2 minutes) WITHIN 9 EVENTS": ReachBounds(9),
    "A+ ; B WITHIN 2.5 [x]": ReachBounds(1, (("x", 2.5),)),
    "(A ; B WITHIN 5 EVENTS) OR (C ; D WITHIN 1 minute)": ReachBounds(5, (("time", 60),)),
    "(A ; B WITHIN 5 EVENTS) AND (A ; B WITHIN 3 EVENTS)": ReachBounds(5),
    "(A ; B WITHIN 5 EVENTS) : C": ReachBounds(6),
    "STRICT(A ; B) WITHIN 4 EVENTS PARTITION BY [k]": ReachBounds(4),
    "NXT(A ; B WITHIN 5 EVENTS)": ReachBounds(5),
    "PROJECT[A](A ; B WITHIN 5 EVENTS)": ReachBounds(5),
    "MAX(A+ WITHIN 5 EVENTS) WITHIN 3 EVENTS": ReachBounds(5),
    "A ; B": None,
    "(A ; B WITHIN 5 EVENTS) ; C": None,
    "(A ; B WITHIN 5 EVENTS) ALL C": None,
    "(A WITHIN 5 EVENTS)+": None,
    "NXT(A ; B) WITHIN 5 EVENTS": None,
    "LAST(A ; B) WITHIN 5 EVENTS": None,
    "MAX(A ; B) WITHIN 5 EVENTS": None,
    "PROJECT[A](A ; B) WITHIN 5 EVENTS": None,
    "(A ; B UNLESS C) WITHIN 5 EVENTS": None,
    "A UNLESS (B WITHIN 2 EVENTS)": None,
    "START(A ; B) WITHIN 5 EVENTS": None,
    "NXT(A ; B WITHIN 5 EVENTS) : C": None,
}


@pytest.mark.parametrize("query", REACHES)
def test_the_reach_of_a_formula(query: str) -> None:
    assert reach_of(parse(query)) == REACHES[query]


def test_over_a_longer_stream_a_formula_has_the_valuations_that_it_has_within_its_reach() -> None:
    rng, found, matched = Random(3), 0, 0
    while found < 400:
        phi, S = cel.scoped_case(rng, cel.WINDOWS, 7, 8)
        if rng.random() < 0.5:
            phi = rng.choice(AROUND)(phi)
        if (reach := reach_of(phi)) is not None:
            found += 1
            matched += _same_within(phi, S, reach)
    assert matched > 400


@pytest.mark.parametrize(
    "query", ["A ; B WITHIN 5 EVENTS", "NXT(A ; B WITHIN 5 EVENTS)", "PROJECT[B](A ; B WITHIN 5 EVENTS)"]
)
def test_less_than_the_reach_is_too_little(query: str) -> None:
    with pytest.raises(AssertionError):
        _same_within(parse(query), stream("A C C C B"), ReachBounds(4))


def _same_within(phi: Formula, S: Stream, reach: ReachBounds) -> int:
    """At how many positions there is a valuation; at all, they are those of any stream that has the reach."""
    meaning, matched = Interpreter(S).meaning, 0
    for j in range(len(S)):
        low = max(0, j - reach.events + 1)
        for a, width in reach.widths:
            low = min([low, *(p for p in range(j) if within_width(width, [S[p].get(a), S[j].get(a)]))])
        whole = meaning(phi, 0, j)
        matched += bool(whole)
        for i in range(low + 1):
            assert meaning(phi, i, j) == whole, (show(phi), reach, i, j)
    return matched


@pytest.mark.parametrize(
    ("query", "reach"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 2 minutes RETURN a.x", ReachBounds(1, (("time", 120),))),
        ("PATTERN SEQ(A+ a[], B b) WITHIN 5 seconds RETURN b.x", ReachBounds(1, (("time", 5),))),
        ("PATTERN SEQ(A a, B b) RETURN a.x", None),
        ("PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity(a, b, c) { a.x < c.x } RETURN a.x", ReachBounds(3)),
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity(b) { } WITHIN 5 seconds RETURN a.x", ReachBounds(2)),
        ("PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity(a, b) { } RETURN a.x", None),
        ("PATTERN SEQ(A a, B+ b[], C c) WHERE strict_contiguity(a, b[], c) { } RETURN a.x", None),
        ("PATTERN SEQ(A a, B+ b[]) WITHIN 5 seconds RETURN a.x", None),
        ("PATTERN SEQ(A a, ~C c, B b) WITHIN 5 seconds RETURN a.x", None),
        ("PATTERN SEQ(A a, B b) WITHIN 5 seconds RETURN NON-OVERLAP R(a.x)", None),
    ],
)
def test_the_reach_of_a_query_of_sase(query: str, reach: ReachBounds | None) -> None:
    assert reach_of_block(parse_sase(query)) == reach


@pytest.mark.parametrize("cases", sampled([1_500, 4_000], [1_500]))
def test_a_query_of_adjacent_events_finds_the_same_in_its_reach(cases: int) -> None:
    rng, found, matched = Random(5), 0, 0
    for _ in range(cases):
        q, S = sase.case(rng, rng.choice(list(sase.PROFILES.values())), 7, 10)
        reach = reach_of_block(q)
        if reach is None or reach.widths:
            continue
        found += 1
        for m in match(q, S):
            first = max(0, m.at - reach.events + 1)
            near = match(q, Stream(list(S)[first : m.at + 1]))
            assert tuple(p - first for p in m.events) in {n.events for n in near}, q
            matched += 1
    assert (found > 100, matched > 100) == (True, True)
