"""cep17, proof of Theorem 4 (appendix C.3): the automata of STRICT, NXT, LAST and MAX, with the names of the text.

The formulas are lost in the copy at hand; the five conditions of NXT are told in words. T is the sequence of sets. A
state of the automaton for NXT or LAST is (q, T), and for MAX (T, U). Runs are followed over a stream, event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Marks
from cerify.semantics.events import ComplexEvent, Stream
from proofs_tests.claims.printed.cep17_algorithms import Delta, Set

Sets: TypeAlias = tuple[Set, ...]
Ranked: TypeAlias = tuple[int, Sets]
Pair: TypeAlias = tuple[Set, Set]


def tpo(sets: list[Set]) -> Sets:
    """Total pre-ordering: of each state the first occurrence, and no empty sets."""
    seen: Set = frozenset()
    kept = []
    for T in sets:
        if T - seen:
            kept.append(T - seen)
        seen |= T
    return tuple(kept)


def next_sets(T: Sets, delta: Delta) -> Sets:
    return tpo([delta(Ti, m) for Ti in T for m in (MARKED, UNMARKED)])


def last_sets(T: Sets, delta: Delta) -> Sets:
    return tpo([delta(Ti, m) for m in (MARKED, UNMARKED) for Ti in T])


def next_steps(state: Ranked, delta: Delta) -> Iterator[tuple[Marks, Ranked]]:
    """The transitions of the automaton for NXT."""
    yield from _steps(state, delta, next_sets)


def last_steps(state: Ranked, delta: Delta) -> Iterator[tuple[Marks, Ranked]]:
    """The transitions of the automaton for LAST: of the five conditions the third alone is another."""
    yield from _steps(state, delta, last_sets)


def last_steps_corrected(state: Ranked, delta: Delta) -> Iterator[tuple[Marks, Ranked]]:
    """The second and the fourth are others too: only a mark is better than a mark, and any mark better than none."""
    p, T = state
    i = rank(state)
    for m in (MARKED, UNMARKED):
        for q in delta.of(p, m):
            better = any(q in delta(Tj, m) for Tj in T[:i])
            marked_too = m == UNMARKED and any(q in delta(Tj, MARKED) for Tj in T)
            if not better and not marked_too and not _lower(state, i, q, m, delta):
                yield m, (q, last_sets(T, delta))


def _steps(state: Ranked, delta: Delta, sets: Callable[[Sets, Delta], Sets]) -> Iterator[tuple[Marks, Ranked]]:
    p, T = state
    i = rank(state)
    for m in (MARKED, UNMARKED):
        for q in delta.of(p, m):  # 1
            better = any(q in delta(Tj, m_) for Tj in T[:i] for m_ in (MARKED, UNMARKED))  # 2
            marked_too = m == UNMARKED and q in delta(T[i], MARKED)  # 4
            if not better and not marked_too and not _lower(state, i, q, m, delta):
                yield m, (q, sets(T, delta))  # 3


def rank(state: Ranked) -> int:
    q, T = state
    return next(i for i, Ti in enumerate(T) if q in Ti)


def _lower(state: Ranked, i: int, q: int, m: Marks, delta: Delta) -> bool:
    """5: a smaller state of the same set goes the same way."""
    p, T = state
    return any(q in delta.of(p_, m) for p_ in T[i] if p_ < p)


def ranked_accepts(A: CEA, state: Ranked) -> bool:
    q, T = state
    return q in A.final and not any(Tj & A.final for Tj in T[: rank(state)])


def strict_steps(state: tuple[int, int], delta: Delta) -> Iterator[tuple[Marks, tuple[int, int]]]:
    """Two copies of A: unmarked in the first, marked in the second, and marked from the first to the second."""
    q, copy = state
    for q_ in delta.of(q, MARKED):
        yield MARKED, (q_, 2)
    if copy == 1:
        for q_ in delta.of(q, UNMARKED):
            yield UNMARKED, (q_, 1)


def strict_accepts(A: CEA, state: tuple[int, int]) -> bool:
    q, copy = state
    return copy == 2 and q in A.final


def max_steps(state: Pair, delta: Delta) -> Iterator[tuple[Marks, Pair]]:
    T, U = state
    U_ = delta(U, MARKED)
    yield MARKED, (delta(T, MARKED) - U_, U_)
    U_ = delta(U, MARKED) | delta(U, UNMARKED) | delta(T, MARKED)
    yield UNMARKED, (delta(T, UNMARKED) - U_, U_)


def max_accepts(A: CEA, state: Pair) -> bool:
    T, U = state
    return bool(T & A.final) and not U & A.final


Steps: TypeAlias = Callable[[Any, Delta], Iterator[tuple[Marks, Any]]]
Runs: TypeAlias = list[set[tuple[ComplexEvent, Any]]]


def runs(A: CEA, S: Stream, steps: Steps, start: list[Any]) -> Runs:
    """The complex event and the last state of each run of an automaton that is given by its steps, by their lengths."""
    found: Runs = [{(frozenset(), state) for state in start}]
    for i, t in enumerate(S):
        delta = Delta(A, t)
        found.append({(C | {i} if m else C, after) for C, state in found[-1] for m, after in steps(state, delta)})
    return found


def ranked_start(A: CEA) -> list[Ranked]:
    return [(q, (A.initial,)) for q in sorted(A.initial)]


def max_start(A: CEA) -> list[Pair]:
    return [(A.initial, frozenset())]


def outputs(
    A: CEA, S: Stream, steps: Steps, start: list[Any], accepts: Callable[[CEA, Any], bool]
) -> list[set[ComplexEvent]]:
    """The complex events at each position: those of the accepting runs that end with a mark there."""
    return [
        {C for C, state in ending if n in C and accepts(A, state)}
        for n, ending in enumerate(runs(A, S, steps, start)[1:])
    ]
