"""From what was reported to the hypothesis behind it, and the smallest case of that."""

from __future__ import annotations

from random import Random

import pytest

from cerify.conformance.defects import SUSPECTS, Evidence, Piece, causes, evaluate_by_definition, thinned
from cerify.semantics.errors import ParseError
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled

QUERY = "(A ; B+ ; C) FILTER A.x > 2 WITHIN 6 EVENTS"


def pieces(wrong: str, count: int, query: str = QUERY, language: str = "cel") -> list[Piece]:
    """Pieces on which an engine with this semantics departs from the meaning."""
    rng = Random(wrong)
    found: list[Piece] = []
    while len(found) < count:
        S = Stream([Event(rng.choice("ABCD"), {"x": rng.randint(0, 4)}) for _ in range(8)])
        reported = SUSPECTS[language][wrong](query, S)
        expected = evaluate_by_definition(query, language, S)
        if reported is not None and reported != expected:
            found.append(Piece(S, expected, frozenset((n, C) for n, C in reported if n < len(S))))
    return found


WRONG = ["window@events=off-by-one", "comparison=inclusive", "loop=greedy", "seq=strict"]


@pytest.mark.parametrize("wrong", sampled(WRONG, WRONG[1:2]))
def test_the_wrong_semantics_is_found_and_its_smallest_case(wrong: str) -> None:
    evidence = [Evidence(piece) for piece in pieces(wrong, 4)]
    (cause, *more), unknown = causes(QUERY, "cel", evidence)
    assert not more
    assert not unknown
    assert wrong in (cause.name, *cause.alike)
    assert cause.explains == tuple(evidence)
    assert cause.smallest is not None
    assert len(cause.smallest.S) <= 3
    assert (
        evaluate_by_definition(cause.smallest.query, "cel", cause.smallest.S)
        == cause.smallest.expected
        != cause.smallest.reported
    )


def test_what_is_reported_one_position_later_is_not_asked_for_past_the_end() -> None:
    (cause,), unknown = causes(QUERY, "cel", map(Evidence, pieces("emit=one-later", 4)))
    assert cause.name == "emit=one-later"
    assert not unknown


def test_two_wrong_engines_in_one_log() -> None:
    evidence = [Evidence(p) for wrong in ("comparison=inclusive", "loop=greedy") for p in pieces(wrong, 4)]
    found, unknown = causes(QUERY, "cel", evidence)
    assert not unknown
    assert {"comparison=inclusive", "loop=greedy"} <= {name for c in found for name in (c.name, *c.alike)}


def test_a_match_that_is_lost_by_chance_has_no_cause() -> None:
    """A semantics that reports nothing would explain it; what is reported beside it says otherwise."""
    S = Stream([Event("A", {"x": 3}), Event("B"), Event("C")])
    right, nothing = evaluate_by_definition(QUERY, "cel", S), frozenset[tuple[int, tuple[int, ...]]]()
    lost, kept = Piece(S, right, nothing), Piece(S, right, right)
    assert causes(QUERY, "cel", [Evidence(lost)])[0]
    found, unknown = causes(QUERY, "cel", [Evidence(lost, (kept,))])
    assert not found
    assert unknown == [Evidence(lost, (kept,))]


@pytest.mark.parametrize(
    ("language", "query", "wrong"),
    [
        ("core-cel", "(A AS a ; B AS b) FILTER a.x > 2", "filter=ignored"),
        ("event-expression", "prior(A, B)", "prior=sequence"),
        ("sase", "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { a.x > 2 } RETURN a.x", "strategy@any=strict"),
    ],
)
def test_every_language_has_its_suspects(language: str, query: str, wrong: str) -> None:
    (cause, *_), _ = causes(query, language, map(Evidence, pieces(wrong, 4, query, language)))
    assert wrong in (cause.name, *cause.alike)
    assert cause.smallest is not None


def test_events_that_do_not_matter_are_left_out() -> None:
    S = Stream([Event("D"), Event("A", {"x": 3}), Event("D"), Event("B"), Event("B"), Event("C")])
    right = evaluate_by_definition(QUERY, "cel", S)
    about = (5, (1, 3, 5))
    piece, moved = thinned(QUERY, "cel", Piece(S, right, right - {about}), about)
    assert [event.type for event in piece.S] == ["A", "B", "C"]
    assert moved == (2, (0, 1, 2))
    assert moved in piece.expected
    assert moved not in piece.reported


def test_of_an_extra_match_what_forbids_it_stays() -> None:
    query = "(A ; C) UNLESS B"
    S = Stream([Event("A"), Event("D"), Event("B"), Event("D"), Event("C")])
    about = (4, (0, 4))
    piece, moved = thinned(query, "cel", Piece(S, evaluate_by_definition(query, "cel", S), frozenset({about})), about)
    assert [event.type for event in piece.S] == ["A", "B", "C"]
    assert moved == (2, (0, 2))


def test_a_query_that_does_not_parse() -> None:
    with pytest.raises(ParseError):
        causes("A ;", "cel", [])
