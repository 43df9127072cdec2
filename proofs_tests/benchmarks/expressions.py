"""The figures of event expressions: one and fifty over a stream, against bare look-ups in the same tables."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pyarrow as pa
from numba import njit

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.evaluate import TableRunner, column
from cerify.automata.dfa.evaluators import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.equivalence.generate.expressions import MASKED, expression
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Stream
from proofs_tests.benchmarks.figure import Figure, rate

CUT = "(I or D) | sequence(D, D, D)"  # section 2.4.2
RETURNS = "!wall | (sequence(floor, floor) or sequence(front, front) | first) /+ (h1 or h2 or s1 or s2)"  # after 7.1


@njit
def look_up(classes, table):  # type: ignore[no-untyped-def]
    """Read the column of classes, look each up, and keep nothing but the state."""
    state = 0
    for i in range(classes.size):
        state = table[classes[i], state]
    return state


def stream_of(types: list[str], events: int) -> Stream:
    """Types uniform over these, and an attribute n from 0 to 2."""
    random = np.random.default_rng(1)
    names = pa.array(np.array(types)[random.integers(0, len(types), events)])
    return Stream.from_table(pa.table({"type": names, "n": pa.array(random.integers(0, 3, events))}))


def some(number: int) -> list[DFA]:
    """Automata of random expressions of 8 nodes, with masks, each of which can take place."""
    random, automata = Random(5), []
    while len(automata) < number:
        A = compile_expression(expression(random, MASKED, 8))
        if A.accepting:
            automata.append(A)
    return automata


def expressions(quick: bool) -> Iterator[Figure]:
    """Classes given; then from Arrow columns, all that is asked of the events included; and the readable evaluator."""
    events = 500_000 if quick else 4_000_000
    cut, returns = ([compile_expression(parse(text))] for text in (CUT, RETURNS))
    fifty = some(50)
    for name, automata, types in (
        ("expressions.cut", cut, [*"IDABCEFG"]),
        ("expressions.returns", returns, ["wall", "floor", "front", "h1", "h2", "s1", "s2", "other"]),
        ("expressions.50", fifty, [*"abcdefgh"]),
    ):
        S = stream_of(types, events)
        evaluator = CompiledRunner(automata)
        classes = evaluator.classes.of_stream(S)
        tables = [
            np.array([column(A, types_[k]) for types_ in evaluator.classes.types], np.int32)
            for k, A in enumerate(automata)
        ]
        least = 5e7 if len(automata) == 1 else 4e6
        yield rate(
            name,
            events,
            "events/s",
            lambda evaluator=evaluator, classes=classes: evaluator.read_classes(classes),  # type: ignore[misc]
            "bare look-ups",
            lambda tables=tables, classes=classes: [look_up(classes, table) for table in tables],  # type: ignore[misc]
            target=f"≥ {least:.0e}, ≤ 1.1 × the look-ups",
            met=lambda value, ratio, least=least: value >= least and ratio >= 1 / 1.1,  # type: ignore[misc]
        )
        yield rate(
            f"{name}.columns",
            events,
            "events/s",
            lambda automata=automata, S=S: CompiledRunner(automata).advance(S),  # type: ignore[misc]
            "classes given",
            lambda evaluator=evaluator, classes=classes: evaluator.read_classes(classes),  # type: ignore[misc]
            target="≥ 4e+06",
            met=lambda value, ratio: value >= 4e6,
        )
    S = stream_of([*"IDABCEFG"], events // 20)
    yield rate(
        "expressions.readable",
        len(S),
        "events/s",
        lambda: TableRunner(cut).advance(S),
        "compiled",
        lambda: CompiledRunner(cut).advance(S),
    )
