"""What is consumed by a match: nothing, or everything so far; the evaluator of batches against the definition."""

from __future__ import annotations

from random import Random

import pytest

from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluator import Consumption, Output
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Match, Stream, bindings_of
from proofs_tests.support import sampled
from proofs_tests.unit.automata.evaluate.cases import scoped_case


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
