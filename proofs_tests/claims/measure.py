"""Operations counted, and how they grow: for claims about update time and delay. No clock is read.

What is counted: transitions looked at and states asked for them, and every access to the arrays of the data structure.
Everything else an algorithm does is a constant number of steps for each of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import log, log2
from statistics import linear_regression
from typing import Any
from unittest.mock import patch

from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Determinized, Steps, Transition, single_variable
from cerify.automata.evaluate.ces import CompactComplexEventSet, Evaluation
from cerify.semantics.predicates import Anything, OfType
from proofs_tests.claims import cep17_evaluation
from proofs_tests.claims.cep17_evaluation import Delta


class Tally:
    """How many operations there were."""

    def __init__(self) -> None:
        self.operations = 0

    def since(self, before: int) -> int:
        return self.operations - before


class _Array(list[int]):
    """An array of the data structure whose accesses are counted."""

    tally: Tally

    def __getitem__(self, i: Any) -> Any:
        self.tally.operations += 1
        return super().__getitem__(i)

    def __setitem__(self, i: Any, value: Any) -> None:
        self.tally.operations += 1
        super().__setitem__(i, value)

    def append(self, value: int) -> None:
        self.tally.operations += 1
        super().append(value)


def watch(D: CompactComplexEventSet, tally: Tally) -> None:
    """Count the accesses to a data structure from now on."""
    for name in ("event", "first", "last", "next"):
        array = _Array(getattr(D, name))
        array.tally = tally
        setattr(D, name, array)


class CountedDelta(Delta):
    """Counts the states that are asked for their transitions, and the transitions looked at."""

    def __init__(self, A: CEA, tally: Tally) -> None:
        super().__init__(A)
        self.tally = tally

    def of(self, q: int, type_: int, marked: bool) -> list[int]:
        self.tally.operations += 1 + len(self._leaving[q][marked])
        return super().of(q, type_, marked)


class CountedStack(cep17_evaluation.BlackWhiteStack):
    """Counts the operations on the stack of EnumAll*."""

    tally: Tally

    def push(self, node: int) -> None:
        self.tally.operations += 1
        super().push(node)

    def blacken(self, left: tuple[int, int]) -> None:
        self.tally.operations += 1
        super().blacken(left)

    def pop_white(self) -> tuple[int, int]:
        self.tally.operations += 1
        return super().pop_white()


def counted(A: CEA, strategy: cep17_evaluation.Strategy) -> tuple[cep17_evaluation.Evaluation, Tally]:
    """An evaluation by the algorithms of cep17 that counts what it does."""
    tally = Tally()
    with patch.object(cep17_evaluation, "Delta", lambda A: CountedDelta(A, tally)):
        running = cep17_evaluation.evaluation(A, strategy)
    watch(running.D, tally)
    return running, tally


class CountedDeterminized(Determinized):
    """Counts the states of tods21, Algorithm 2, that are asked where they go, and the answers."""

    def __init__(self, A: CEA, tally: Tally) -> None:
        super().__init__(A)
        self.tally = tally

    def step(self, state: int, type_: int) -> Steps:
        found = super().step(state, type_)
        self.tally.operations += 1 + len(found)
        return found


def counted_2021(A: CEA) -> tuple[Evaluation, Tally]:
    """An evaluation by Algorithms 1 and 2 of tods21 that counts what it does."""
    tally = Tally()
    running = Evaluation(CountedDeterminized(single_variable(A), tally))
    watch(running.D, tally)
    return running, tally


def update_times(running: cep17_evaluation.Evaluation | Evaluation, tally: Tally, types: Sequence[int]) -> list[int]:
    """The operations of each event."""
    times = []
    for type_ in types:
        before = tally.operations
        running.push(type_)
        times.append(tally.since(before))
    return times


def gaps(running: cep17_evaluation.Evaluation, tally: Tally, symbols: int) -> Iterator[int]:
    """The operations before each of the first symbols that EnumAll* writes at the present position."""
    CountedStack.tally = tally
    with patch.object(cep17_evaluation, "BlackWhiteStack", CountedStack):
        tape = (symbol for root in running.roots() for symbol in cep17_evaluation.enum_all(running.D, root))  # type: ignore[arg-type]
        before = tally.operations
        for _ in islice(tape, symbols):
            yield tally.since(before)
            before = tally.operations


def delays(running: Evaluation, tally: Tally, outputs: int) -> Iterator[tuple[int, int]]:
    """The operations before each of the first outputs of tods21, Algorithm 1, with the length of the output."""
    before = tally.operations
    for path in islice(running.completed(), outputs):
        yield tally.since(before), len(path)
        before = tally.operations


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """k, where the values grow as the k-th power of the sizes: the slope of the fit in logarithms."""
    return linear_regression([log(n) for n in sizes], [log(v) for v in values]).slope


def doublings(sizes: Sequence[float], values: Sequence[float]) -> float:
    """k, where the values grow as 2 to the power of k times the size."""
    return linear_regression(sizes, [log2(v) for v in values]).slope


# --- automata that grow -----------------------------------------------------------------------------------------------


def chain(k: int) -> CEA:
    """A ; A ; ... ; A, k times: I/O-deterministic, and after k events every state is active."""
    skips = [Transition(q, Anything(), UNMARKED, q) for q in range(k)]
    takes = [Transition(q, OfType("A"), MARKED, q + 1) for q in range(k)]
    return CEA(k + 1, (*skips, *takes), frozenset({0}), frozenset({k}))


def guess(k: int) -> CEA:
    """Some event and the last one are marked, k events lie between them, and of these any.

    Which of the last k events are marked is what a determinized automaton has to know.
    """
    loops = [Transition(0, Anything(), m, 0) for m in (UNMARKED, MARKED)]
    steps = [Transition(q, Anything(), m, q + 1) for q in range(1, k) for m in (UNMARKED, MARKED)]
    edges = (*loops, Transition(0, Anything(), MARKED, 1), *steps, Transition(k, Anything(), MARKED, k + 1))
    return CEA(k + 2, edges, frozenset({0}), frozenset({k + 1}))


def choice(k: int) -> CEA:
    """The same, but that of each two events exactly one is marked, so that no complex event is larger than another."""
    edges: list[Transition] = []

    def two(p: int, q: int, between: int) -> None:
        for first, second, middle in ((MARKED, UNMARKED, between), (UNMARKED, MARKED, between + 1)):
            edges.append(Transition(p, Anything(), first, middle))
            edges.append(Transition(middle, Anything(), second, q))

    two(0, 0, k + 2)
    edges.append(Transition(k + 2, Anything(), UNMARKED, 1))  # the first of the two was marked: this one is remembered
    for q in range(1, k + 1):
        two(q, q + 1, k + 2 + 2 * q)
    return CEA(3 * k + 4, tuple(edges), frozenset({0}), frozenset({k + 1}))
