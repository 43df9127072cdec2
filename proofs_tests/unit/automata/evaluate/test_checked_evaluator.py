"""Batches of formulas whose filters compare events, or whose strategies choose among such matches."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import cerify
from cerify.automata.evaluate.checked_evaluator import CheckedEvaluator, batch_plan
from cerify.automata.evaluate.evaluation_plan import AutomatonPlan, CollectedPlan
from cerify.automata.evaluate.scope import Unordered
from cerify.automata.evaluator import Output
from cerify.equivalence.generate import cel as generate
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.campaigns.per_key import in_batches
from proofs_tests.support import sampled

PROFILE = replace(generate.EVERYTHING, correlated=0.6)


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
def test_batches_give_what_the_definition_gives(seed: int) -> None:
    rng, kinds = Random(f"checked {seed}"), set()
    for _ in range(120):
        phi, S = generate.case(rng, PROFILE, 7, 8)
        S = generate.clocked(rng, S)
        phi = generate.around(rng, phi) if rng.random() < 0.4 else phi
        phi = cel.PerKey(phi, ("k",)) if rng.random() < 0.3 else phi
        choosing: list[Formula] = [cel.Next(phi), cel.Last(phi), cel.Max(phi)]
        phi = rng.choice(choosing) if rng.random() < 0.3 else phi
        output: Output = rng.choice(("matches", "valuations"))
        plan = batch_plan(phi)
        if isinstance(plan, Unsupported) or (isinstance(plan, AutomatonPlan) and not plan.checks):
            continue
        try:
            right = matches_of(phi, S, output, Budget(valuations=20_000))
            kinds.add(type(plan))
            found = in_batches(lambda phi=phi, output=output: CheckedEvaluator(phi, output), S, rng)  # type: ignore[misc]
            assert found == right, f"{show(phi)} on {S.events}, {output}"
            assert CheckedEvaluator(phi, output).count(S) == len(right)
        except (BudgetExceeded, Unordered):
            continue
    assert kinds == {AutomatonPlan, CollectedPlan}


S = Stream(Event(R, {"x": n % 4, "time": n}) for n, R in enumerate("ABABBACBAB"))


@pytest.mark.parametrize(
    "query", ["A ; B FILTER A.x < B.x WITHIN 4 seconds", "LAST(A ; B FILTER A.x < B.x)", "A ; (B PARTITION BY [x])"]
)
def test_a_stream_without_end_takes_it_by_default(query: str) -> None:
    evaluator = cerify.compile(query)
    assert isinstance(evaluator, CheckedEvaluator)
    found = [m for start in range(0, 10, 3) for m in evaluator.push(S.part(start, min(3, 10 - start)))]
    assert sorted(found) == list(cerify.match(query, S, evaluator="denotational"))


def test_events_before_the_window_are_let_go() -> None:
    evaluator = CheckedEvaluator(parse("A ; B FILTER A.x < B.x WITHIN 10 EVENTS"))
    for n in range(200):
        evaluator.push(Stream(Event("AB"[n % 2], {"x": m}) for m in range(100)))
    assert len(evaluator.kept) <= 5_000


def test_a_match_consumes() -> None:
    phi = parse("A ; B FILTER A.x < B.x")
    found = CheckedEvaluator(phi, consumption="any").evaluate(S)
    assert [m.events for m in found] == [(0, 1), (2, 3), (5, 7), (8, 9)]
    assert [m.events for m in CheckedEvaluator(phi, consumption="any").push(S, limit=1)] == [(0, 1)]


def test_states_are_of_one_query() -> None:
    evaluator = CheckedEvaluator(parse("A ; B FILTER A.x < B.x"))
    evaluator.push(S)
    with pytest.raises(InputError):
        CheckedEvaluator(parse("A ; B FILTER A.x > B.x")).restore(evaluator.save())


def test_what_needs_all_events_is_refused_with_the_reason() -> None:
    for query in ("A UNLESS (B PARTITION BY [x])", "A ; NXT(A+ ; B FILTER A.x = B.x)", "(A PER KEY [x]) ; B"):
        refused = batch_plan(parse(query))
        assert isinstance(refused, Unsupported)
        assert "for which all events are needed" in refused.message
