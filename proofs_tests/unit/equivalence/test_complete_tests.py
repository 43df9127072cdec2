"""Complete tests: every automaton of bounded size that answers them as the query does is the query's own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from click.testing import CliRunner

from cerify.cli import cerify
from cerify.conformance.cases import load
from cerify.equivalence.complete_tests import Letter, MarkedDFA, Types, marked_dfa, vectors
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Stream

Steps = dict[tuple[int, Letter], int]


def marked_words(stream: Types) -> list[tuple[Letter, ...]]:
    """All markings of a stream."""
    return [tuple(zip(stream, marks, strict=True)) for marks in product((False, True), repeat=len(stream))]


def passing(dfa: MarkedDFA, streams: list[Types], states: int) -> Iterator[tuple[Steps, dict[int, bool]]]:
    """All automata of up to `states` states that answer all prefixes of all markings of the streams as the query does.

    A transition or a final state is chosen when a word first needs it, a new state being the next number, so that each
    automaton is met once up to the names of its states. Short words come first, as they exclude most.
    """
    words = sorted((word for stream in streams for word in marked_words(stream)), key=len)

    def search(number: int, place: int, state: int, steps: Steps, final: dict[int, bool]) -> Iterator[None]:
        if number == len(words):
            yield
            return
        word = words[number]
        right = dfa.accepts(word[:place])
        if place and final.setdefault(state, right) != right:
            return
        if place == len(word):
            yield from search(number + 1, 0, 0, steps, final)
            return
        key = state, word[place]
        if key in steps:
            yield from search(number, place + 1, steps[key], steps, final)
            return
        for target in range(min(states, max(steps.values(), default=0) + 2)):
            steps[key] = target
            known = dict(final)
            yield from search(number, place + 1, target, steps, final)
            final.clear()
            final.update(known)
            del steps[key]

    steps: Steps = {}
    final: dict[int, bool] = {}
    for _ in search(0, 0, 0, steps, final):
        yield dict(steps), dict(final)


def same_language(dfa: MarkedDFA, steps: Steps, final: dict[int, bool]) -> bool:
    """Whether an automaton is complete where it can be reached, and has the language of the query."""
    pending, seen = [(0, 0)], {(0, 0)}
    for p, q in pending:
        for letter in dfa.letters:
            if (q, letter) not in steps:
                return False
            pair = dfa.steps[p][letter], steps[q, letter]
            if dfa.final[pair[0]] != final.get(pair[1]):
                return False
            if pair not in seen:
                seen.add(pair)
                pending.append(pair)
    return True


EXHAUSTED = [("A", 0), ("A : A", 0), ("A", 1), ("A ; A", 0)]


@pytest.mark.thorough
@pytest.mark.parametrize(("query", "more"), EXHAUSTED)
def test_every_small_automaton_that_passes_is_the_querys(query: str, more: int) -> None:
    dfa = marked_dfa(parse(query))
    states = len(dfa.steps) + more
    found = 0
    for steps, final in passing(dfa, vectors(dfa, states), states):
        assert same_language(dfa, steps, final)
        found += 1
    assert found


def test_fewer_streams_let_a_wrong_automaton_pass() -> None:
    dfa = marked_dfa(parse("A : A"))
    *others, longest = vectors(dfa)
    assert any(not same_language(dfa, *one) for one in passing(dfa, [*others, longest[:-1]], len(dfa.steps)))


@pytest.mark.parametrize("query", ["A ; B", "A+ ; B", "(A OR B) : C", "(A ; B) UNLESS C", "A FILTER A.x > 1"])
def test_the_automaton_is_that_of_the_complex_events(query: str) -> None:
    phi = parse(query)
    dfa = marked_dfa(phi)
    for length in range(1, 4):
        for types in product(range(len(dfa.events)), repeat=length):
            S = Stream([dfa.events[type_] for type_ in types])
            right = complex_events(phi, S, length - 1)
            for word in marked_words(types):
                C = frozenset(p for p, (_, marked) in enumerate(word) if marked)
                assert dfa.accepts(word) == (C in right), (types, word)


def test_sizes_grow_with_the_bound() -> None:
    dfa = marked_dfa(parse("A ; B"))
    sizes = [len(vectors(dfa, len(dfa.steps) + more)) for more in range(3)]
    assert sizes == sorted(set(sizes))
    with pytest.raises(InputError, match="give at least as many"):
        vectors(dfa, len(dfa.steps) - 1)
    with pytest.raises(Unsupported):
        marked_dfa(parse("(A ; B) FILTER A.x = B.x"))


def test_the_command_writes_a_suite(tmp_path: object) -> None:
    from pathlib import Path

    written = CliRunner().invoke(cerify, ["vectors", "A : B", "--json"], standalone_mode=False)
    assert isinstance(tmp_path, Path)
    (tmp_path / "v.jsonl").write_text(written.stdout, encoding="utf-8")
    cases = load(str(tmp_path / "v.jsonl"))
    assert len(cases) == len(vectors(marked_dfa(parse("A : B"))))
    assert any(case.matches for case in cases)
