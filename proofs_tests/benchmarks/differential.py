"""The figures of differential testing: cases in a CPU second, whole and by what they are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from cerify.automata.evaluate.core import compiled_shared
from cerify.conformance.campaigns import built_in, definition, plan_of
from cerify.equivalence.differential import judge
from cerify.languages import LANGUAGES
from proofs_tests.benchmarks.figure import Figure, rate

NODES = EVENTS = 8
LEAST = 1500  # cases a second


def differential(quick: bool) -> Iterator[Figure]:
    """The figures of `_differential`, with what campaigns share."""
    with compiled_shared():
        yield from _differential(quick)


def _differential(quick: bool) -> Iterator[Figure]:
    """Random cases of the profile core with 8 nodes and 8 events, as `cerify fuzz` makes them, in one process.

    `differential` makes a case and compares the automaton's answer with the definition's. Each part by itself is
    against that: making the cases, and an answer by the definition, the automaton, and the compiled loops.
    """
    count = 300 if quick else 2000
    language = LANGUAGES["cel"]
    reference, evaluators = definition(language), built_in(language)
    plan = plan_of(language, "core", None, reference, cases=count, nodes=NODES, events=EVENTS)
    cases = [plan.case(i) for i in range(count)]

    def compared() -> None:
        outcomes: Counter[str] = Counter()
        for i in range(count):
            own, verdicts = judge(reference, {"automaton": evaluators["automaton"]}, *plan.case(i), "matches")
            outcomes.update(verdict.outcome for verdict in (own, *verdicts.values()))
        assert not outcomes["disagreed"]
        assert outcomes["matched"] > count

    yield rate(
        "differential", count, "cases/s", compared, "itself", compared, f"≥ {LEAST:,}", lambda value, _: value >= LEAST
    )
    parts: dict[str, Callable[[], object]] = {"cases": lambda: [plan.case(i) for i in range(count)]}
    for name, evaluator in {"definition": reference, **evaluators}.items():
        parts[name] = partial(lambda each: [frozenset(each(phi, S, "matches")) for phi, S in cases], evaluator)
    for name, part in parts.items():
        yield rate(f"differential.{name}", count, "cases/s", part, "the whole", compared)
