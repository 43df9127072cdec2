"""Expressions over histories that come in pieces: the readable evaluator, the compiled one, and the meaning."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cerify.automata.dfa import evaluate
from cerify.automata.dfa import evaluators as compiled
from cerify.automata.dfa.compile import compile_expression, compile_together, order_under
from cerify.automata.dfa.evaluate import Classes, TableRunner
from cerify.automata.dfa.evaluators import CompiledExpressionEvaluator, CompiledRunner, ReadableExpressionEvaluator
from cerify.automata.dfa.parametric import symbolic
from cerify.automata.evaluator import Counters
from cerify.equivalence.generate.expressions import PROFILES, expression, history
from cerify.semantics import columns
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import matches_of, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import Predicate
from proofs_tests.support import sampled, sealed

# ---- dfa evaluate ----
#

EVALUATORS = [TableRunner, CompiledRunner]


@pytest.fixture(autouse=True)
def _columns_and_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories of a few events go the ways of long ones: by columns, and in several pieces."""
    monkeypatch.setattr(evaluate, "SHORT", 4)
    monkeypatch.setattr(evaluate, "CHUNK", 5)
    monkeypatch.setattr(evaluate, "BITS", 3)
    monkeypatch.setattr(compiled, "CHUNK", 3)


@pytest.mark.parametrize("make", EVALUATORS)
@pytest.mark.parametrize("name", PROFILES)
def test_many_expressions_over_one_history_in_pieces(name: str, make: type[TableRunner]) -> None:
    """Batches and single events mixed give what the meaning has of the whole, for 1 to 9 expressions at once."""
    rng = Random(name)
    somewhere = 0
    for n in (1, 1, 2, 3, 4, 5, 8, 9):
        expressions = [expression(rng, PROFILES[name], 5) for _ in range(n)]
        S = history(rng, PROFILES[name], 14)
        evaluator = make([compile_expression(E) for E in expressions])
        found: list[list[int]] = [[] for _ in expressions]
        while (at := evaluator.position) < len(S):
            if rng.random() < 0.4:
                for k in evaluator.push(S[at]):
                    found[k].append(at)
            else:
                for k, positions in enumerate(evaluator.advance(S.part(at, min(rng.randint(0, 8), len(S) - at)))):
                    found[k].extend(positions.tolist())
        expected = [sorted(takes_place(E, S)) for E in expressions]
        assert found == expected
        somewhere += sum(map(bool, expected))
    assert somewhere > 10


def test_both_keep_the_same_state() -> None:
    rng = Random(2)
    automata = [compile_expression(expression(rng, PROFILES["masked"], 6)) for _ in range(6)]
    evaluators = [make(automata) for make in EVALUATORS]
    S = history(rng, PROFILES["masked"], 40)
    left, right = (evaluator.advance(S) for evaluator in evaluators)
    assert all(np.array_equal(one, other) for one, other in zip(left, right, strict=True))
    assert evaluators[0].states == evaluators[1].states
    assert evaluators[0].can_still() == evaluators[1].can_still()
    assert evaluators[0].position == evaluators[1].position == 40


@pytest.mark.parametrize("make", EVALUATORS)
def test_one_alphabet_or_several(make: type[TableRunner]) -> None:
    """Over a table in chunks whose types are numbered already, in each chunk anew, and in which values are missing."""
    texts = ["a", "a[n > 1]", "prior(b, a[n > 1])"]
    types = pa.chunked_array([pa.array(part).dictionary_encode() for part in (["a", "b"], ["a"], ["c", "a", "a"])])
    S = Stream.from_table(pa.table({"type": types, "n": pa.array([2, 2, 1, 3, None, 5])}))
    for automata in (compile_together(list(map(parse, texts))), tuple(compile_expression(parse(t)) for t in texts)):
        assert [list(found) for found in make(automata).advance(S)] == [[0, 2, 4, 5], [0, 5], [5]]


@pytest.mark.parametrize("make", EVALUATORS)
def test_nothing_to_read(make: type[TableRunner]) -> None:
    evaluator = make([compile_expression(parse("a"))])
    assert [list(found) for found in evaluator.advance(Stream())] == [[]]
    assert evaluator.position == 0
    assert make([]).advance(Stream(map(Event, "aaaaaa"))) == []


@pytest.mark.parametrize("make", EVALUATORS)
def test_a_start_event_comes_first(make: type[TableRunner]) -> None:
    """A late one is refused, and leaves everything as it was."""
    evaluator = make([compile_expression(parse("<2> !NULL")), compile_expression(parse("start"))])
    assert evaluator.push(Event("start")) == [1]
    with pytest.raises(InputError, match="event 1 is a start event"):
        evaluator.push(Event("start"))
    with pytest.raises(InputError, match="event 3 is a start event"):
        evaluator.advance(Stream(map(Event, ["a", "a", "start"])))
    with pytest.raises(InputError, match="event 6 is a start event"):
        make([compile_expression(parse("a"))]).advance(Stream(map(Event, ["start", *"aaaaa", "start", "start"])))
    assert evaluator.push(Event("a")) == [0]


def test_what_can_still_take_place() -> None:
    evaluator = TableRunner([compile_expression(parse(text)) for text in ("<2> a", "a and !before(b)", "any")])
    assert evaluator.can_still() == [True, True, True]
    evaluator.push(Event("b"))
    assert evaluator.can_still() == [True, False, True]
    evaluator.advance(Stream(map(Event, "aa")))
    assert evaluator.can_still() == [False, False, True]


def test_a_mask_is_evaluated_once_for_all_expressions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Predicate] = []
    of_column = columns.mask
    monkeypatch.setattr(columns, "mask", lambda P, table: asked.append(P) or of_column(P, table))
    monkeypatch.setattr(evaluate, "CHUNK", 100)
    texts = ["a[n > 1]", "b[n > 1]", "prior(a[n > 1], a[n > 2])", "a[n > 2] or c"]
    automata = [compile_expression(parse(text)) for text in texts]
    S = Stream(Event("abc"[i % 3], {"n": i % 4}) for i in range(50))
    CompiledRunner(automata).advance(S)
    assert len(asked) == len(set(asked)) == 2


def test_classes_are_no_more_than_the_automata_tell_apart() -> None:
    """By columns and event by event alike; types that nobody names are one class, and so is all that a mask refuses."""
    automata = [compile_expression(parse(text)) for text in ("a[n > 5]", "b", "a[n > 5] and first")]
    events = [Event(T, {"n": n}) for T in ("a", "b", "c", "d") for n in range(10)]
    one, other = Classes(automata), Classes(automata)
    assert one.of_stream(Stream(events)).tolist() == [other.of_event(event) for event in events]
    assert one.types == other.types
    assert len(one.types) == 3  # a[n > 5]; b; everything else


@pytest.mark.parametrize("bits", sampled([3, 8, 32], [8]))
def test_more_masks_than_fit_into_a_number(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "BITS", bits)
    masks = [parse(f"a[n > {i}]") for i in range(70)]
    automata = [compile_expression(E) for E in masks if isinstance(E, expr.Primitive)]
    S = Stream(Event("a", {"n": i * 37 % 71}) for i in range(71))
    found = CompiledRunner(automata).advance(S)
    assert [len(positions) for positions in found] == [70 - i for i in range(70)]


# ---- dfa evaluator ----
# Event expressions behind the interface of all evaluators: in batches, saved, restored, pickled, counted.

SCHEMA = Schema({"a": {"n": "int", "at": "timestamp"}, "b": {"n": "int", "at": "timestamp"}})
TIMES = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
PLAIN = ["a and !before(b)", "<2> a or every <3> b", "prefix(a[n > 1] and first) or sequence(a, b)"]
VALUED = ["prior(a(I), b(I))", "prior(a(I, T), b(J, T)) and I != J", "p(I) := prior(a(I), b(I)); !p(1) and b(J) = x"]


def evaluators(text: str) -> list[ReadableExpressionEvaluator]:
    E = parse(text)
    if text in VALUED:
        return [ReadableExpressionEvaluator(symbolic(E, order_under(SCHEMA)))]
    A = compile_expression(E, SCHEMA)
    return [ReadableExpressionEvaluator(A), CompiledExpressionEvaluator(A)]


def history_dfa_evaluator(rng: Random, length: int) -> Stream:
    pools = {"n": [0, 1, 2, None], "at": [*TIMES, None]}
    drawn = [{name: rng.choice(pool) for name, pool in pools.items()} for _ in range(length)]
    attributes = [{name: v for name, v in one.items() if v is not None} for one in drawn]
    return Stream([Event(rng.choice("ab"), one) for one in attributes], SCHEMA)


@pytest.mark.parametrize("text", [*PLAIN, *VALUED])
def test_batches_states_and_counts(text: str) -> None:
    """Cut anywhere, saved and restored or pickled there, it is as the definition has it."""
    rng, somewhere = Random(text), 0
    for fresh in evaluators(text):
        for _ in range(8):
            S, E = history_dfa_evaluator(rng, 12), pickle.loads(pickle.dumps(fresh))
            expected = matches_of(parse(text), S)
            somewhere += bool(expected)
            cut, other = rng.randint(0, len(S)), pickle.loads(pickle.dumps(fresh))
            found = E.push(S.part(0, cut))
            assert other.count(S.part(0, cut)) == len(found)
            restored = pickle.loads(pickle.dumps(fresh))
            restored.restore(E.save())
            copied = pickle.loads(pickle.dumps(E))
            rest = S.part(cut, len(S) - cut)
            after = E.push(rest)
            assert found + after == expected
            assert restored.push(rest) == copied.push(rest) == after
            assert other.count(rest) == len(after)
            assert (E.position, E.finish()) == (len(S), [])
            assert (E.counters.events, restored.counters.events) == (len(S), len(S) - cut)
    assert somewhere > 4


def test_counters() -> None:
    (readable, _) = evaluators("a")
    readable.push(history_dfa_evaluator(Random(1), 3))
    assert readable.counters == Counters(3, 0, 2)
    (monitor,) = evaluators("prior(a(I), b(I))")
    monitor.push([Event("a", {"n": 1}), Event("a", {"n": 2}), Event("b", {"n": 2})])
    assert monitor.counters.nodes == 3  # the choice without a value, 1 and 2


@pytest.mark.parametrize("text", [PLAIN[0], VALUED[1]])
def test_a_state_of_something_else_or_a_damaged_one_is_refused(text: str) -> None:
    E, S = evaluators(text)[0], history_dfa_evaluator(Random(3), 6)
    E.push(S)
    state = json.loads(E.dump())
    fresh = evaluators(text)[0]
    (other,) = evaluators(VALUED[0])
    with pytest.raises(InputError, match="another query"):
        other.restore(E.save())
    for bad in (b"", b"[]", b"{"):
        with pytest.raises(InputError, match="not a valid saved state"):
            fresh.restore(bad)
        with pytest.raises(InputError, match="damaged"):
            fresh.restore(sealed(fresh, bad))
    machines = [None, [], [1000], [[]], [[[None], [0]]], [-1]]
    for damaged in [{"position": -1}, {"position": 2**62}, {"position": None}, *({"machine": m} for m in machines)]:
        with pytest.raises(InputError, match="damaged"):
            fresh.restore(sealed(fresh, json.dumps(state | damaged).encode()))
    assert fresh.push(S) == matches_of(parse(text), S)
    with pytest.raises(InputError, match="already read events"):
        fresh.restore(E.save())


@pytest.mark.parametrize("text", [PLAIN[0], VALUED[0]])
def test_a_late_start_event_leaves_the_evaluator_as_it_was(text: str) -> None:
    S = history_dfa_evaluator(Random(5), 6)
    for E in evaluators(text):
        with pytest.raises(InputError, match="event 3 is a start event"):
            E.push([*S[:3], Event("start"), *S[3:]])
        assert E.push(S) == matches_of(parse(text), S)


def test_after_an_error_inside_a_batch_there_is_no_state() -> None:
    E = ReadableExpressionEvaluator(symbolic(parse(VALUED[0]), order_under(SCHEMA)), Budget(states=3))
    with pytest.raises(BudgetExceeded):
        E.push([Event("a", {"n": n}) for n in range(9)])
    for use in (E.save, lambda: E.push([])):
        with pytest.raises(InputError, match="inside an earlier batch"):
            use()
    few = ReadableExpressionEvaluator(compile_expression(parse("a")), Budget(matches=2))
    with pytest.raises(BudgetExceeded, match="more than 2 matches"):
        few.push([Event("a")] * 3)
