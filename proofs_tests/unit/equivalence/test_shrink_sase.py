"""Shrinking queries of SASE+: the smallest that show a difference, down a well-founded order."""

from collections.abc import Callable
from random import Random

import pytest

from cerify.equivalence.generate.sase import EVERYTHING, case
from cerify.equivalence.shrink.sase import SASE
from cerify.equivalence.shrink.shrink import shrink, ways, weight
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.semantics.sase import denote
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Reading, show
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.sase.streams import events

Differs = Callable[[sase.SaseQuery, Stream], bool]


def between(reading: Reading) -> Differs:
    def differs(q: sase.SaseQuery, S: Stream) -> bool:
        return matches_of(q, S, denote.bindings) != matches_of(q, S, denote.bindings, reading)

    return differs


def small(text: str, stream: str, differs: Differs) -> tuple[str, str]:
    q = parse(text)
    assert isinstance(q, sase.SaseQuery)
    p, S = shrink(SASE, q, events(stream), differs)
    return show(p), " ".join(e.type for e in S)


def test_what_is_not_needed_goes() -> None:
    text = (
        "PATTERN SEQ(~C c, A a, B+ b[]) WHERE strict_contiguity(a) { a.x > 0 } skip_till_any_match(b[]!) { [y] and "
        "(b[i].x > 1 or b[i].x = a.x) } WITHIN 9 hours HAVING count(b[]) < 9 RETURN NON-OVERLAP a.(x, y), b[].x"
    )
    S = "A1/k@1 B2/k@2 C@3 B3/k@4 A1@5"
    assert small(text, S, lambda q, S: len(S) >= 2) == ("PATTERN SEQ(A b) RETURN b.time", "A A")

    def has_kleene(q: sase.SaseQuery, S: Stream) -> bool:
        return any(k.kleene for k in q.pattern) and q.within is not None

    assert small(text, S, has_kleene)[0] == "PATTERN SEQ(B+ b[]) WITHIN 1 hour RETURN b[1].time"


def test_events_keep_their_time() -> None:
    """An engine may need it, to order the events of a stream."""
    q = parse("PATTERN SEQ(A a, B b) WHERE a.x > 0 RETURN a.x")
    assert isinstance(q, sase.SaseQuery)
    _, S = shrink(SASE, q, events("A1@3 C2@4 B1@7"), lambda q, S: len(S) >= 2)
    assert [set(event.attributes) for event in S] == [{"time"}, {"time"}]


@pytest.mark.parametrize(
    ("reading", "events_needed"), [(Reading(window="closed"), 2), (Reading(last_kleene="every"), 2)]
)
def test_differences_of_readings_are_small(reading: Reading, events_needed: int) -> None:
    differs = between(reading)
    for n in range(300):
        q, S = case(Random(n), EVERYTHING, 7, 8)
        if differs(q, S):
            p, T = shrink(SASE, q, S, differs)
            assert differs(p, T)
            assert weight(SASE, p, T) < weight(SASE, q, S)
            assert (len(p.pattern), len(T)) == (1, events_needed), show(p)
            return
    raise AssertionError("no query differs")


@pytest.mark.parametrize("cases", sampled([3, 8], [3]))
def test_candidates_are_queries_or_are_refused_with_an_error(cases: int) -> None:
    """Each candidate that the definition evaluates is written by a text that parses to it."""
    for n in range(cases):
        q, S = case(Random(n), EVERYTHING, 8, 3)
        for way in ways(SASE):
            for p, T in way(q, S):
                try:
                    matches_of(p, T, denote.bindings)
                except CerifyError:
                    continue
                assert parse(show(p)) == p


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a) WHERE a.x > 1 WITHIN 5 seconds RETURN a.x",
        "PATTERN SEQ(~B b, A a) WITHIN 5 seconds RETURN a.x",
    ],
)
def test_no_clause_is_left_empty(text: str) -> None:
    """The only bare predicate goes with its WHERE; the only positive component does not go."""
    asked: list[str] = []

    def differs(q: sase.SaseQuery, S: Stream) -> bool:
        asked.append(show(q))
        return q.within is not None

    q = parse(text)
    assert isinstance(q, sase.SaseQuery)
    p, _ = shrink(SASE, q, events("B1 A2"), differs)
    assert show(p) == "PATTERN SEQ(A a) WITHIN 1 second RETURN a.x"
    assert all(parse(one) for one in asked)
