"""tods21, section 9.2: Algorithms 1 and 2, line by line, with the steps counted.

The linked lists are as the text has them: `first`, `last` and `next` of a node, `extend` and `append`, whose
preconditions are checked. Each line that runs is a step, and so is each return from a call: a machine has to leave
every frame that it has entered. The calls of Algorithm 1 are kept on a stack of frames, as Python's own is too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

BOTTOM = 0
Pair: TypeAlias = tuple[int, int]
Delta: TypeAlias = Callable[[int, int, bool], int | None]
"""The state to which a state goes on the i-th event, with a mark or without; None if there is no such transition."""


@dataclass
class CCES:
    """(N, ⊥, event, first, last, next): nodes are numbers, ⊥ is 0, and a node without next is not in `next`."""

    event: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    next: dict[int, int] = field(default_factory=dict)

    def extend(self, i: int, n1: int, n2: int) -> int:
        """Return a fresh node for position i whose children are list(n1, n2); n1 has to reach n2."""
        if n2 not in self.nodes(n1, n2):
            raise AssertionError(f"extend: {n1} cannot reach {n2}")
        n = len(self.event) + 1
        self.event[n], self.first[n], self.last[n] = i, n1, n2
        return n

    def append(self, n1: int, n2: int) -> None:
        """Set next(n1) to n2; next(n1) has to be undefined."""
        if n1 in self.next:
            raise AssertionError(f"append: next({n1}) is defined")
        self.next[n1] = n2

    def nodes(self, n1: int, n2: int) -> list[int]:
        """Return list(n1, n2), or what n1 reaches if that is not n2."""
        found = [n1]
        while found[-1] != n2 and found[-1] in self.next:
            found.append(self.next[found[-1]])
            if len(found) > len(self.event) + 1:
                raise AssertionError("next has a cycle")
        return found


@dataclass
class Steps:
    """A count of steps."""

    count: int = 0


def enumerate_(
    D: CCES, n1: int, n2: int, steps: Steps | None = None, line_7_is_a_loop: bool = False
) -> Iterator[frozenset[int]]:
    """Algorithm 1 from ENUMERATE(D, n1, n2, ∅): yield each complex event where line 3 outputs it.

    Args:
        D: the compact complex event set.
        n1: the first node of a list.
        n2: its last node, which n1 can reach.
        steps: is counted up by each line that runs and by each return.
        line_7_is_a_loop: go on with next(n1) in the same call, where the text calls ENUMERATE again.
    """
    steps = steps if steps is not None else Steps()
    frames: list[tuple[int, int, frozenset[int], int]] = [(n1, n2, frozenset(), 2)]
    while frames:
        n1, n2, C, line = frames.pop()
        steps.count += 1
        if line == 2:
            frames.append((n1, n2, C, 6))
            if n1 == BOTTOM:
                yield C
            else:
                frames.append((D.first[n1], D.last[n1], C | {D.event[n1]}, 2))  # line 5
        elif line == 6 and n1 != n2:
            if not line_7_is_a_loop:
                frames.append((n1, n2, C, 8))  # after line 7 there is only the return
            frames.append((D.next[n1], n2, C, 2))


def update(D: CCES, T: dict[int, Pair], i: int, delta: Delta) -> dict[int, Pair]:
    """Lines 6 to 14 of Algorithm 2: return the table after the i-th event."""
    following: dict[int, Pair] = {}
    for p, (n1, n2) in T.items():
        if (q := delta(p, i, True)) is not None:
            n = D.extend(i, n1, n2)
            add(D, following, q, n, n)
        if (q := delta(p, i, False)) is not None:
            add(D, following, q, n1, n2)
    return following


def add(D: CCES, T: dict[int, Pair], q: int, n1: int, n2: int) -> None:
    """ADD(D, T, q, n1, n2), lines 16 to 23."""
    if q not in T:
        T[q] = n1, n2
    else:
        first, last = T[q]
        D.append(last, n1)
        T[q] = first, n2


def tables(initial: int, length: int, delta: Delta) -> Iterator[tuple[CCES, dict[int, Pair]]]:
    """Lines 2 to 14 of Algorithm 2: yield D and T after each of the events."""
    D, T = CCES(), {initial: (BOTTOM, BOTTOM)}
    for i in range(length):
        T = update(D, T, i, delta)
        yield D, T


def problems(D: CCES, T: dict[int, Pair]) -> Iterator[str]:
    """Yield which of the properties (1) to (5) fails, and which precondition that the proof of correctness names."""
    for n1, n2 in T.values():
        if n2 not in D.nodes(n1, n2):
            yield "a pair of T is no list"
        if n2 in D.next:
            yield "the last node of a pair of T has a next one"
    for n in D.event:
        children = D.nodes(D.first[n], D.last[n])
        if D.last[n] not in children:
            yield "(2)"
        if any(child != BOTTOM and D.event[child] >= D.event[n] for child in children):
            yield "(4)"  # and so (3): an edge leads to an earlier position
    starts = {n for n in (BOTTOM, *D.event) if n not in D.next.values()}
    for n in starts:
        reached = D.nodes(n, -1)  # (1): raises if there is a cycle
        for k in range(len(reached)):
            listed = list(enumerate_(D, reached[k], reached[-1]))
            if len(listed) != len(set(listed)):
                yield "(5)"


def delays(outputs: Iterable[frozenset[int]], steps: Steps) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield each output with the steps since the one before it, or since the call."""
    before = steps.count
    for C in outputs:
        yield steps.count - before, C
        before = steps.count
