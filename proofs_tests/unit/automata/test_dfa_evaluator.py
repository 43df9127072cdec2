"""Event expressions behind the interface of all evaluators: in batches, saved, restored, pickled, counted."""

import json
import pickle
from datetime import UTC, datetime
from random import Random

import pytest

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.evaluators import CompiledExpressionEvaluator, ReadableExpressionEvaluator
from cerify.automata.dfa.parametric import symbolic
from cerify.automata.dfa.scopes import order_under
from cerify.automata.evaluator import Counters
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.event_expressions.interpreter import matches_of
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.support import sealed

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


def history(rng: Random, length: int) -> Stream:
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
            S, E = history(rng, 12), pickle.loads(pickle.dumps(fresh))
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
    readable.push(history(Random(1), 3))
    assert readable.counters == Counters(3, 0, 2)
    (monitor,) = evaluators("prior(a(I), b(I))")
    monitor.push([Event("a", {"n": 1}), Event("a", {"n": 2}), Event("b", {"n": 2})])
    assert monitor.counters.nodes == 3  # the choice without a value, 1 and 2


@pytest.mark.parametrize("text", [PLAIN[0], VALUED[1]])
def test_a_state_of_something_else_or_a_damaged_one_is_refused(text: str) -> None:
    E, S = evaluators(text)[0], history(Random(3), 6)
    E.push(S)
    state = json.loads(E.dump())
    fresh = evaluators(text)[0]
    (other,) = evaluators(VALUED[0])
    with pytest.raises(InputError, match="another query"):
        other.restore(E.save())
    for bad in (b"", b"[]", b"{"):
        with pytest.raises(InputError, match="no saved state"):
            fresh.restore(bad)
        with pytest.raises(InputError, match="damaged"):
            fresh.restore(sealed(fresh, bad))
    machines = [None, [], [1000], [[]], [[[None], [0]]], [-1]]
    for damaged in [{"position": -1}, {"position": 2**62}, {"position": None}, *({"machine": m} for m in machines)]:
        with pytest.raises(InputError, match="damaged"):
            fresh.restore(sealed(fresh, json.dumps(state | damaged).encode()))
    assert fresh.push(S) == matches_of(parse(text), S)
    with pytest.raises(InputError, match="nothing yet"):
        fresh.restore(E.save())


@pytest.mark.parametrize("text", [PLAIN[0], VALUED[0]])
def test_a_late_start_event_leaves_the_evaluator_as_it_was(text: str) -> None:
    S = history(Random(5), 6)
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
