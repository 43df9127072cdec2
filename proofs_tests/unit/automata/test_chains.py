"""LAST and NXT of events one after the other: an automaton that is linear in their number, and what counts them."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from cerify.automata.cea.chains import chain_of, last_of_kind
from cerify.automata.cea.compile import compile_cel
from cerify.automata.evaluate import streaming
from cerify.automata.evaluate.chain_store import ChainStore
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.parallel import ParallelEvaluator
from cerify.automata.evaluate.readable import ReadableCelEvaluator
from cerify.automata.evaluate.scope import Unordered
from cerify.automata.evaluator import Output
from cerify.equivalence.generate import cel as generate
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import SMALL, Formula, Repeat, show
from cerify.semantics.events import Event, Stream
from proofs_tests.campaigns.per_key import in_batches
from proofs_tests.support import sampled
from proofs_tests.unit.automata.evaluate.test_per_key import long_stream, pushed


def link(rng: Random, deep: bool = False) -> Formula:
    R = rng.choice("AB")
    chance = rng.random()
    if chance < 0.5:
        return cel.EventAtom(R)
    if chance < 0.7:
        return cel.In(cel.EventAtom(R), "X")
    if chance < 0.9 or deep:
        return cel.Filter(cel.EventAtom(R), cel.Every(R, SMALL))
    return cel.Or(link(rng, deep=True), link(rng, deep=True))


def chain(rng: Random) -> Formula:
    if rng.random() < 0.2:
        one = link(rng)
        return cel.Plus(one) if rng.random() < 0.5 else Repeat(one, rng.randint(1, 3), None)
    phi: Formula | None = None
    for _ in range(rng.choice((1, 1, 2, 3))):
        n = rng.choice((1, 1, 2, 3))
        part = link(rng) if n == 1 else Repeat(link(rng), n, n)
        phi = part if phi is None else cel.Seq(phi, part)
    assert phi is not None
    chance = rng.random()
    if chance < 0.2:
        return cel.In(phi, "Y")
    return cel.Filter(phi, cel.Every("X", SMALL)) if chance < 0.4 else phi


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
def test_the_greatest_match_of_a_chain_is_that_of_the_definition(seed: int) -> None:
    rng = Random(f"chains {seed}")
    for _ in range(150):
        inner = chain(rng)
        phi: Formula = cel.Next(inner) if rng.random() < 0.5 else cel.Last(inner)
        assert chain_of(inner) is not None, show(phi)
        phi = cel.Seq(cel.EventAtom("A"), phi) if rng.random() < 0.3 else phi  # over intervals that begin later
        S = generate.stream(rng, generate.EVERYTHING, rng.randint(1, 9), phi)
        output: Output = rng.choice(("matches", "valuations"))
        assert streaming.matches(phi, S, output) == matches_of(phi, S, output, Budget(10**6)), f"{show(phi)} {S.events}"


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
def test_counting_them_gives_the_same(seed: int) -> None:
    """LAST of so many, in windows and by key, in batches of which states are saved: the positions alone are kept."""
    rng = Random(f"counts {seed}")
    kept = 0
    for _ in range(60):
        n = rng.choice((1, 2, 3))
        phi: Formula = cel.Last(Repeat(link(rng), n, n))
        if rng.random() < 0.5:
            phi = generate.around(rng, phi)
        if rng.random() < 0.7:
            phi = cel.PerKey(phi, rng.choice((("k",), ("k", "x"))))
        phi = generate.around(rng, phi)
        S = generate.clocked(rng, generate.stream(rng, generate.EVERYTHING, rng.randint(3, 10), phi))
        right = matches_of(phi, S)
        E = CompiledCelEvaluator(phi) if not ReadableCelEvaluator(phi).scope.divided else None
        kept += E is not None and isinstance(E.store, ChainStore)
        assert streaming.matches(phi, S) == right, f"{show(phi)} {S.events}"
        try:
            for make in (ReadableCelEvaluator,) if E is None else (ReadableCelEvaluator, CompiledCelEvaluator):
                assert in_batches(partial(make, phi), S, rng) == right, f"{show(phi)} {S.events}"
            assert E is None or E.count(S) == len(right)
        except Unordered:
            pass
    assert kept >= 20


def test_sixty_of_a_hundred() -> None:
    S = Stream(Event("A" if n % 3 else "B", {"k": n % 2, "time": n}) for n in range(300))
    for query in ("LAST(A{60})", "LAST(A{60}) PER KEY [k] WITHIN 200 seconds", "NXT(A{60}) PER KEY [k]"):
        A = compile_cel(parse("LAST(A{60})"))
        assert A.states == 61
        found = streaming.matches(parse(query), S)
        assert all(len(m.events) == 60 for m in found)
        assert len(found) == 200 - 59 * (1 + ("PER KEY" in query)), query
    (first, *_) = streaming.matches(parse("LAST(A{60}) PER KEY [k] WITHIN 200 seconds"), S)
    assert first.events == tuple(n for n in range(first.at + 1) if n % 3 and n % 2 == first.at % 2)[-60:]


def test_an_event_that_is_in_no_window_is_one_of_the_last() -> None:
    """LAST prefers it, and then the window refuses the match."""
    S = Stream([Event("A", {"t": 0}), Event("A"), Event("A", {"t": 1}), Event("A", {"t": 2})])
    phi = parse("LAST(A{2}) WITHIN 9 [t]")
    assert [m.events for m in matches_of(phi, S)] == [(2, 3)]
    for E in (ReadableCelEvaluator(phi), CompiledCelEvaluator(phi)):
        assert [m.events for m in E.evaluate(S)] == [(2, 3)]


def test_what_is_a_chain() -> None:
    assert last_of_kind(parse("LAST(A{60})")) == 60
    assert last_of_kind(parse("LAST((A OR B FILTER A.x > 1){2} ; (A OR B FILTER A.x > 1))")) == 3
    assert last_of_kind(parse("LAST(A{2} ; B)")) is None
    assert last_of_kind(parse("NXT(A{2})")) is None
    assert last_of_kind(parse("LAST(A{2,})")) is None
    for query in ("A:{2}", "A : B", "A{1,2}", "A+ ; B", "A UNLESS B", "(A ; B) OR A", "PROJECT[A](A)", "A AND A"):
        assert chain_of(parse(query)) is None, query


LONG = [
    "LAST(A{5}) PER KEY [k] WITHIN 40 [t]",
    "LAST((A OR B){9}) WITHIN 30 [t]",
    "LAST(A{3}) WITHIN 9 EVENTS PER KEY [k]",
]


@pytest.mark.parametrize("query", LONG)
def test_long_streams(query: str) -> None:
    phi, S = parse(query), long_stream(3_000, 11)
    expected = pushed(ReadableCelEvaluator(phi), S, 1_000)
    assert expected
    for size in (7, 700, 3_000):
        assert sorted(pushed(CompiledCelEvaluator(phi), S, size)) == sorted(expected)
    threads = ParallelEvaluator(CompiledCelEvaluator(phi), 2, None)
    assert sorted((m.at, m.events) for m in threads.push(S)) == sorted(expected)
    assert CompiledCelEvaluator(phi, consumption="any").evaluate(S) == ReadableCelEvaluator(
        phi, consumption="any"
    ).evaluate(S)


def test_keys_that_are_over_are_forgotten() -> None:
    n = 20_000
    S = Stream(Event("A", {"k": i // 2}) for i in range(n))
    E = CompiledCelEvaluator(parse("LAST(A{2}) PER KEY [k] WITHIN 10 EVENTS"))
    assert sum(E.count(S.part(start, 100)) for start in range(0, n, 100)) == n // 2
    assert isinstance(E.store, ChainStore)
    assert E.keys.size <= 1_024
