"""Readable evaluators of batches against the definition, in random batches, saved in between."""

from __future__ import annotations

import json
import pickle
from io import BytesIO
from random import Random
from typing import Any

import numpy as np
import pytest

from cerify.automata.evaluate.compiled import CompiledCelEvaluator, CompiledCoreEvaluator
from cerify.automata.evaluate.readable import ReadableCelEvaluator, ReadableCoreEvaluator
from cerify.automata.evaluate.scope import Unordered
from cerify.automata.evaluator import Consumption, Evaluator, Output
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Match, Stream, bindings_of
from proofs_tests.support import sampled, sealed, stream
from proofs_tests.unit.automata.exhaustive import scoped_case

# ---- consumption ----
# What is consumed by a match: nothing, or everything so far; the evaluator of batches against the definition.


def defined(phi: Formula, S: Stream, consume: Consumption, output: Output) -> list[Match]:
    """The matches at each position over the interval from where the last one that consumed has left off."""
    interpreter, begin, found = Interpreter(S, Budget(valuations=100_000)), 0, set()
    for n in range(len(S)):
        here = interpreter.meaning(phi, begin, n)
        for mu in here:
            bindings = bindings_of(mu) if output == "valuations" else None
            found.add(Match(n, tuple(sorted({p for _, p in mu})), bindings))
        if here and consume is Consumption.ANY:
            begin = n + 1
    return sorted(found)


@pytest.mark.parametrize("cases", sampled([30, 60], [30]))
@pytest.mark.parametrize("output", ["matches", "valuations"])
@pytest.mark.parametrize("consume", Consumption)
@pytest.mark.parametrize("scoped", [False, True], ids=["formulas", "windows and partitions"])
def test_as_the_definition_says(consume: Consumption, output: Output, scoped: bool, cases: int) -> None:
    again = 0
    for i in range(cases):
        rng = Random(f"consumption/{scoped}/{i}")
        profile = PROFILES[rng.choice(("everything", "core"))]
        phi, S = scoped_case(rng, profile) if scoped else case(rng, profile, 8, 9)
        try:
            evaluator = CompiledCelEvaluator(phi, output=output, consumption=consume, budget=Budget(states=5000))
            expected = defined(phi, S, consume, output)
            cut = rng.randint(0, len(S))
            found = evaluator.push_stream(S.part(0, cut)) + evaluator.push_stream(S.part(cut, len(S) - cut))
        except (BudgetExceeded, Unsupported, InputError):
            continue
        assert found == expected, (show(phi), S.events)
        again += len({match.at for match in expected}) > 1  # what comes after a first match
    assert again > 8 * cases / 60


# ---- readable ----
#

SCOPED = "(A ; B) WITHIN 9 [time] PARTITION BY [k]"


def in_batches(evaluator: Evaluator, S: Stream, rng: Random) -> tuple[list[Match], int]:
    """The matches of batches between which the evaluator is pickled, and the counts of another one."""
    counter, found, counted, at = pickle.loads(pickle.dumps(evaluator)), [], 0, 0
    while at < len(S):
        batch = S.part(at, rng.randint(1, len(S)))
        new = evaluator.push(batch)
        number = counter.count(batch)
        assert number == len(new)
        found, counted, at = found + new, counted + number, at + len(batch)
        evaluator = pickle.loads(pickle.dumps(evaluator))
        assert evaluator.position == at
    return found + evaluator.finish(), counted


@pytest.mark.parametrize("cases", sampled([40, 80], [40]))
@pytest.mark.parametrize("output", ["matches", "valuations"])
@pytest.mark.parametrize("consumption", Consumption)
@pytest.mark.parametrize("scoped", [False, True], ids=["formulas", "windows and partitions"])
def test_formulas_of_cel(consumption: Consumption, output: Output, scoped: bool, cases: int) -> None:
    compared = 0
    for i in range(cases):
        rng = Random(f"readable/{scoped}/{i}")
        profile = PROFILES[rng.choice(("everything", "core"))]
        phi, S = scoped_case(rng, profile) if scoped else case(rng, profile, 8, 9)
        try:
            evaluator = ReadableCelEvaluator(phi, output, consumption, Budget(states=2000))
            expected = defined(phi, S, consumption, output)
            found, _ = in_batches(evaluator, S, rng)
        except (BudgetExceeded, Unsupported, Unordered):
            continue
        assert sorted(found) == expected, (show(phi), S.events)
        compared += bool(expected)
    assert compared > 15 * cases / 80


@pytest.mark.parametrize("streams", sampled([5, 12], [5]))
@pytest.mark.parametrize("make", [ReadableCoreEvaluator, CompiledCoreEvaluator])
@pytest.mark.parametrize(
    "query",
    [
        "A AS x ; B AS y",
        "(A AS x)+ ; B AS x",
        "NXT(A AS x ; B AS y)",
        "(A AS x ; B AS y FILTER x[a = 1]) FILTER y[a > 0]",
        "MAX(((A AS y ; B AS z) FILTER x[a = 1]) OR B AS z) ; B AS x",
    ],
)
def test_formulas_of_core_cel(
    query: str, make: type[ReadableCoreEvaluator | CompiledCoreEvaluator], streams: int
) -> None:
    phi, rng = parse_core(query), Random(query)
    waits, matched = make(phi).waits, 0
    for _ in range(streams):
        S = Stream([Event(rng.choice("AB"), {"a": rng.randint(0, 1)}) for _ in range(6)])
        found, counted = in_batches(make(phi), S, rng)
        assert sorted(found) == sorted(matches_of(phi, S))
        assert counted == (0 if waits else len(found))
        matched += bool(found)
    assert matched


def test_one_of_the_formulas_looks_ahead() -> None:
    assert ReadableCoreEvaluator(parse_core("(A AS y ; B AS z) FILTER x[a = 1]")).waits


def test_a_batch_that_is_out_of_order_changes_nothing() -> None:
    S = Stream([Event("A", {"time": 5, "k": 1}), Event("B", {"time": 4, "k": 1})])
    evaluator = ReadableCelEvaluator(parse(SCOPED))
    before = evaluator.save()
    with pytest.raises(Unordered, match="position 1: 'time' is less"):
        evaluator.push(S)
    assert evaluator.save() == before
    assert evaluator.push([S[0], Event("B", {"time": 6, "k": 1})]) == [Match(1, (0, 1))]


def test_what_is_kept_is_bounded_by_the_window() -> None:
    evaluator, sizes = ReadableCelEvaluator(parse("A+ ; B WITHIN 5 EVENTS")), []
    for _ in range(3):
        evaluator.count(stream("A A B " * 1000))
        sizes.append(len(evaluator.save()))
    assert sizes[2] < 2 * sizes[0]
    assert evaluator.counters.events == 9000
    again = pickle.loads(pickle.dumps(evaluator))
    again.push(stream("A A B"))
    assert again.counters.events == 3
    compiled = CompiledCelEvaluator(parse("A+ ; B WITHIN 5 EVENTS"))
    compiled.push(stream("A A B " * 3000))
    assert compiled.counters.nodes >= evaluator.counters.nodes > 9000


def test_an_evaluator_that_stopped_inside_a_batch_says_so() -> None:
    evaluator = ReadableCelEvaluator(parse("A+"), budget=Budget(matches=5))
    with pytest.raises(BudgetExceeded, match="more than 5 matches in a batch"):
        evaluator.push(stream("A A A A"))
    for what in (evaluator.save, lambda: evaluator.push(stream("A"))):
        with pytest.raises(InputError, match="stopped inside"):
            what()


def test_states_of_something_else_are_refused() -> None:
    evaluator = ReadableCelEvaluator(parse(SCOPED))
    evaluator.push([Event("A", {"time": 5, "k": 1}), Event("A", {"time": 6, "k": "x"})])
    state = evaluator.save()
    with pytest.raises(InputError, match="already read events"):
        evaluator.restore(state)
    for other in (SCOPED.replace("9", "8"), SCOPED.replace("[k]", "[m]"), "A ; C"):
        with pytest.raises(InputError, match="another query"):
            ReadableCelEvaluator(parse(other)).restore(state)
    with pytest.raises(InputError, match="not a valid saved state"):
        ReadableCelEvaluator(parse(SCOPED)).restore(b"{}")


def test_damaged_roots_of_a_formula_that_looks_ahead_are_refused() -> None:
    phi = parse_core("(A AS y ; B AS z) FILTER x[a = 1]")
    evaluator = CompiledCoreEvaluator(phi)
    evaluator.push(stream("A A B", a=[1, 1, 1]))
    arrays = dict(np.load(BytesIO(evaluator.dump())))
    assert arrays["last"].tolist() == [[2, 3, 2]]
    assert arrays["tree"][2].tolist() == [0, 0, 1, 0]  # the list of the nodes 2 and 1, for each A one
    far = 10**9
    rows: tuple[Any, ...] = ([[2, 0, 2]], [[2, 4, 2]], [[2, ~4, 2]], [[2, far, 2]], [[[2], [3], [2]]], [2, 3, 2])
    for damage in (np.array(row, np.int64) for row in rows):
        file = BytesIO()
        np.savez(file, **(arrays | {"last": damage}))
        with pytest.raises(InputError, match="damaged"):
            CompiledCoreEvaluator(phi).restore(sealed(evaluator, file.getvalue()))


DAMAGES: list[dict[str, Any]] = [
    {"position": None}, {"nodes": [[9, ["•"], 0]]}, {"nodes": [[0, ["•"], 1]]}, {"nodes": [[1, 0]]}, {"low": [1]},
    {"table": [[[99], []]]}, {"table": [[[0], [[[["number", 1]], [7]]]]]}, {"windows": []}, {"unmarked": [99]},
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: next(iter(damage)))
def test_damaged_states_are_refused(damage: dict[str, Any]) -> None:
    evaluator = ReadableCelEvaluator(parse(SCOPED))
    evaluator.push([Event("A", {"time": 5, "k": 1})])
    state = json.loads(evaluator.dump())
    assert ReadableCelEvaluator(parse(SCOPED)).restore(sealed(evaluator, json.dumps(state).encode())) is None
    with pytest.raises(InputError, match="damaged"):
        ReadableCelEvaluator(parse(SCOPED)).restore(sealed(evaluator, json.dumps(state | damage).encode()))
