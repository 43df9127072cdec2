"""The plan of list_kernels: what events do while the same states have runs, on streams where it is made and ends."""

from itertools import product
from random import Random

import numpy as np
import pytest

from cerify.automata.evaluate import list_kernels, streaming
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.equivalence.generate.cel import PROFILES, formula
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Match, Stream
from proofs_tests.benchmarks.workloads import QUERIES, uniform
from proofs_tests.support import sampled, stream


def calm_stream(random: Random, events: int) -> Stream:
    """Types by chance, of which a few change every now and then: where little changes plans last, then they end."""
    types: list[str] = []
    while len(types) < events:
        some = random.choices("ABCDE", k=random.randint(1, 4))
        types += random.choices(some, k=random.choice([5, 40, 100]))
    return Stream([Event(type_, {"a": random.randint(0, 2), "b": random.randint(0, 2)}) for type_ in types[:events]])


def paths(evaluator: CompiledCelEvaluator) -> list[int]:
    """For each node the number of complex events of the list that it begins."""
    _, child, following = evaluator.store.tree[:3, : evaluator.store.nodes].tolist()
    found = [0]
    for n in range(1, len(child)):
        of_child = found[max(child[n], ~child[n])] + (child[n] < 0)
        found.append(of_child + found[max(following[n], ~following[n])])
    return found


@pytest.mark.parametrize("profile", ["core", "everything"])
@pytest.mark.parametrize("part", sampled(range(30), [0]))
def test_counts_and_lists_over_streams_with_plans(profile: str, part: int) -> None:
    """What is counted for each position, and what the nodes stand for, are what the readable evaluator counts."""
    compared = 0
    for i in range(30 * part, 30 * part + 30):
        random = Random(f"plan/{profile}/{i}")
        phi, S = formula(random, PROFILES[profile], random.randint(2, 8)), calm_stream(random, 300)
        try:
            expected = {n: number for n, number in enumerate(streaming.count_matches(phi, S)) if number}
            evaluator = CompiledCelEvaluator(phi)
        except (Unsupported, BudgetExceeded):
            continue
        if not evaluator.unwindowed:
            continue
        counted: dict[int, int] = {}
        for roots in evaluator.advance(S):
            known = paths(evaluator)
            for position, ref, number in roots.tolist():
                exact = known[max(ref, ~ref)] + (ref < 0)
                assert number == min(exact, list_kernels.CAP)
                counted[position] = counted.get(position, 0) + exact
        assert counted == expected
        compared += 1
    assert compared > 5


@pytest.mark.parametrize(
    ("query", "output"),
    [
        *(
            pytest.param(*one, marks=pytest.mark.thorough if n % 3 else ())
            for n, one in enumerate(
                product(
                    (
                        *QUERIES.values(),
                        "A ; B+ ; C",
                        "((A : B) OR (A ; C)) ; D",
                        "A ; (B OR C) ; (B OR D)",
                        "LAST(A ; B ; C)",
                        "LAST(A ; (B OR C) ; D)",
                    ),
                    ("matches", "valuations"),
                )
            )
        ),
        ("LAST(A+ ; B ; (B OR C)) ; D", "matches"),
        pytest.param("LAST(A+ ; B ; (B OR C)) ; D", "valuations", marks=pytest.mark.thorough),
    ],
)
def test_matches_over_streams_with_plans(query: str, output: str) -> None:
    """New streams begin inside of a batch, where a plan may be in use; whatever is found before leads nowhere."""
    phi, S = parse(query), uniform(2000 if query == QUERIES["Q7"] or "LAST" in query else 160)
    S = S.part(0, 60) if "+" in query and "LAST" not in query else S
    again = Stream([*S, *S, *stream("A A B C D")])
    expected = streaming.matches(phi, S, output)  # type: ignore[arg-type]
    evaluator, length = CompiledCelEvaluator(phi, output), len(S)  # type: ignore[arg-type]
    found: list[Match] = []
    for roots in evaluator.advance(again, begins=np.array([0, length, 2 * length])):
        for matches in evaluator.match_batches(roots):
            ends = matches.offsets.tolist()
            for at, start, end in zip(matches.at.tolist(), ends[:-1], ends[1:], strict=True):
                found.append(Match(at, tuple(matches.events[start:end].tolist())))
    once = sorted(Match(m.at, m.events) for m in expected)
    assert len(once) > 0
    assert sorted(m for m in found if m.at < length) == once
    shifted = [Match(m.at + length, tuple(p + length for p in m.events)) for m in once]
    assert sorted(m for m in found if length <= m.at < 2 * length) == shifted
