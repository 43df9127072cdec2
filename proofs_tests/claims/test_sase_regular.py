"""Finite automata from those with a buffer (sase07, Theorem 4.1), and the samples of queries in its claims."""

from itertools import product

import pytest

from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.moves import Runs
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Stream
from proofs_tests.claims.sase_regular import Regular
from proofs_tests.unit.semantics import sase_cases as small
from proofs_tests.unit.semantics.sase_cases import events, query

LETTERS = tuple(events("A1 A2 B1"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A+ a[], B b)",
        "SEQ(A+ a[], B+ b[]) WHERE b[1].x >= a[a.LEN].x and a[i].x >= a[i-1].x",
        "SEQ(A+ a[], A b) WHERE skip_till_any_match(a[]!, b) { b.x = a[1].x and a[i].x != a[1].x }",
        "SEQ(A+ a[]) WHERE strict_contiguity(a[]) { a[a.LEN].x = 2 }",
    ],
)
def test_what_is_remembered_is_enough(text: str) -> None:
    A = compile_query(query(text))
    N = Regular(A, LETTERS)
    memories = {(): N.initial()}
    accepted = 0
    for word in (word for n in range(1, 5) for word in product(range(3), repeat=n)):
        memories[word] = N.after(memories[word[:-1]], word[-1])
        expected = Runs(A, Stream(LETTERS[x] for x in word)).accepts()
        accepted += expected
        assert N.accepts(memories[word]) == expected, word
        assert memories[word] <= N.states()
    assert accepted > 5


def test_there_are_finitely_many_memories() -> None:
    N = Regular(compile_query(query("SEQ(A+ a[]) WHERE skip_till_any_match(a[]) { }")), LETTERS)
    assert len(N.states()) == 1 + 2 + 4  # no event yet, one, the first and the last


@pytest.mark.parametrize("text", ["SEQ(A a, B b) WITHIN 5 seconds", "SEQ(A+ a[], B b) WHERE b.x > sum(a[].x)"])
def test_windows_and_aggregates_are_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        Regular(compile_query(query(text)), LETTERS)


@pytest.mark.parametrize("step", [5, 9, 17, 39, 41])
def test_the_steps_of_samples_lead_to_queries_with_a_cut_and_a_window_and_to_others(step: int) -> None:
    texts = list(small.texts(2, False, False, ("", "WITHIN 2 seconds"), step=step))
    assert {("!" in text, "WITHIN" in text) for text in texts} == set(product((False, True), repeat=2))
    assert any("count(" in text for text in texts)
