"""Complete tests: every automaton of bounded size that answers them as the query does is the query's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

import pytest
from click.testing import CliRunner

from cerify.cli import cerify
from cerify.conformance.cases import load
from cerify.equivalence.complete_tests import (
    KeyedTest,
    Letter,
    MarkedDFA,
    Types,
    keyed_tests,
    marked_dfa,
    minimal,
    vectors,
)
from cerify.equivalence.decide.keys_and_windows import Real
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Schema, Stream

# ---- complete tests ----
#

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


# ---- complete keyed tests ----
# Complete tests of queries with keys and windows: every small wrong engine is found.

Table = list[dict[Letter, int]]
ONE_TYPE = Schema({"A": {"k": "int"}})
QUERIES: list[tuple[str, Schema]] = [
    ("A ; A PARTITION BY [k]", ONE_TYPE),
    ("A : A PARTITION BY [k]", ONE_TYPE),
    ("A ; A WITHIN 5 seconds", Schema({"A": {}})),
    ("NXT(A ; A WITHIN 5 seconds)", Schema({"A": {}})),
]
RIGHT = "A ; B WITHIN 5 seconds PARTITION BY [k]"
WRONG = [
    "A ; B WITHIN 4.999999 seconds PARTITION BY [k]",
    "A ; B WITHIN 5.000001 seconds PARTITION BY [k]",
    "A ; B WITHIN 5 seconds",
    "A ; B PARTITION BY [k]",
    "A : B WITHIN 5 seconds PARTITION BY [k]",
    "NXT(A ; B) WITHIN 5 seconds PARTITION BY [k]",
    "NXT(A ; B WITHIN 5 seconds PARTITION BY [k])",
    "LAST(A ; B) WITHIN 5 seconds PARTITION BY [k]",
    "(A+ ; B) WITHIN 5 seconds PARTITION BY [k]",
]


def accepts(steps: Table, final: list[bool], word: tuple[Letter, ...]) -> bool:
    state = 0
    for letter in word:
        state = steps[state][letter]
    return final[state]


def changed(test: KeyedTest) -> Iterator[tuple[Table, list[bool]]]:
    """The automaton with one transition that leads elsewhere, or one state that is final or is not."""
    dfa = test.automaton
    states = range(len(dfa.steps))
    for state, letter, target in product(states, dfa.letters, states):
        if dfa.steps[state][letter] != target:
            steps = [dict(row) for row in dfa.steps]
            steps[state][letter] = target
            yield steps, list(dfa.final)
    for state in states:
        yield [dict(row) for row in dfa.steps], [yes != (q == state) for q, yes in enumerate(dfa.final)]


def is_wrong(test: KeyedTest, steps: Table, final: list[bool]) -> bool:
    """Whether it answers another way on some stream."""
    dfa = test.automaton
    pending = [(test.real.start, 0, 0)]
    seen = set(pending)
    for real, p, q in pending:
        for letter in dfa.letters:
            if (after := test.real.step(real, letter[0])) is None:
                continue
            node = after, dfa.steps[p][letter], steps[q][letter]
            if test.real.accepts(after) and dfa.final[node[1]] != final[node[2]]:
                return True
            if node not in seen:
                seen.add(node)
                pending.append(node)
    return False


def size(test: KeyedTest, steps: Table, final: list[bool]) -> int:
    """The states that the answers on real streams need: words of no stream are in no language."""
    letters = test.automaton.letters
    pending: list[tuple[Real, int] | None] = [(test.real.start, 0)]
    number = {pending[0]: 0}
    made: Table = []
    accepting: list[bool] = []
    for node in pending:
        row: dict[Letter, int] = {}
        for letter in letters:
            after = None if node is None else test.real.step(node[0], letter[0])
            target = None if node is None or after is None else (after, steps[node[1]][letter])
            if target not in number:
                number[target] = len(pending)
                pending.append(target)
            row[letter] = number[target]
        made.append(row)
        accepting.append(node is not None and test.real.accepts(node[0]) and final[node[1]])
    return len(minimal(made, accepting, test.automaton.events).steps)


def is_found(test: KeyedTest, words: list[Types], steps: Table, final: list[bool]) -> bool:
    """Whether a word of the test, with some marks, shows that it is wrong."""
    for word in words:
        for marks in product((False, True), repeat=len(word)):
            marked = tuple(zip(word, marks, strict=True))
            if accepts(steps, final, marked) != test.automaton.accepts(marked):
                return True
    return False


@pytest.mark.parametrize(("query", "schema"), QUERIES)
def test_every_engine_with_one_fault_is_found(query: str, schema: Schema) -> None:
    wrong = 0
    for test in keyed_tests(parse(query), schema).cases:
        words = test.words()
        for steps, final in changed(test):
            if is_wrong(test, steps, final) and size(test, steps, final) <= len(test.automaton.steps):
                wrong += 1
                assert is_found(test, words, steps, final)
    assert wrong >= 40


def test_with_fewer_streams_a_fault_is_not_found() -> None:
    test = keyed_tests(parse(QUERIES[0][0]), ONE_TYPE).cases[0]
    few = [word for word in test.words() if len(word) < 3]
    wrong = [engine for engine in changed(test) if is_wrong(test, *engine)]
    assert not all(is_found(test, few, *engine) for engine in wrong)


@pytest.mark.parametrize("wrong", WRONG)
def test_engines_that_misread_the_window_or_the_key_are_found(wrong: str) -> None:
    phi, psi = parse(RIGHT), parse(wrong)
    streams = keyed_tests(phi).streams()
    assert any(complex_events(phi, S, n) != complex_events(psi, S, n) for S in streams for n in range(len(S)))


@pytest.mark.parametrize("query", [RIGHT, "NXT(A ; B WITHIN 5 seconds)", "(A ; B) FILTER A[k = 1] PARTITION BY [k]"])
def test_words_say_what_the_definition_says_of_their_streams(query: str) -> None:
    phi = parse(query)
    for test in keyed_tests(phi).cases:
        for word in test.words()[::5]:
            S = test.stream(word)
            assert isinstance(S, Stream)
            right = complex_events(phi, S, len(S) - 1)
            for marks in product((False, True), repeat=len(word)):
                C = frozenset(p for p, marked in enumerate(marks) if marked)
                assert test.automaton.accepts(tuple(zip(word, marks, strict=True))) == (C in right)


def test_edges_of_a_window_and_two_keys_are_there() -> None:
    streams = keyed_tests(parse(RIGHT)).streams()
    spans = {
        (S[len(S) - 1].attributes["time"] - event.attributes["time"]).total_seconds()  # type: ignore[operator]
        for S in streams
        for event in S
        if "time" in event.attributes and "time" in S[len(S) - 1].attributes
    }
    assert {4.999999, 5.0, 5.000001} <= spans
    assert {event.get("k") for S in streams for event in S} == {None, 1, 2}


def test_what_is_not_carried_is_refused() -> None:
    with pytest.raises(Unsupported, match="around a part of a match"):
        keyed_tests(parse("(A WITHIN 5 seconds) ; B"))
    with pytest.raises(InputError, match="give at least as many"):
        keyed_tests(parse(RIGHT)).streams(3)


def test_the_command_writes_a_suite_of_a_keyed_query() -> None:
    written = CliRunner().invoke(cerify, ["vectors", "A : A PARTITION BY [k]", "--json"], standalone_mode=False)
    cases = [json.loads(line) for line in written.stdout.splitlines()]
    assert {len(case["matches"]) > 0 for case in cases} == {True, False}
    assert {event.get("k") for case in cases for event in case["events"]} == {None, 1, 2}
