"""One worklist loop for all searches: find all reachable nodes, in breadth-first order.

`explore` is the loop: products, determinizations and sets of states give it their successors, and it counts nodes and
edges against a limit, so each construction stops in the same way. After it come Hopcroft's minimization (`classes`),
and sets of states as whole numbers, which are faster to join and to compare than Python's sets.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from cerify.semantics.arguments import check_time
from cerify.semantics.errors import BudgetExceeded

Node = TypeVar("Node", bound=Hashable)
Edge = TypeVar("Edge")


def explore(
    starts: Iterable[Node],
    successors: Callable[[Node], Iterable[tuple[Edge, Node]]],
    limit: int,
    what: str,
    seconds: float | None = None,
) -> dict[Node, list[tuple[Edge, Node]]]:
    """Return each node that can be reached from `starts`, with its outgoing edges, in breadth-first order.

    successors: yields pairs (edge, next node). Raises BudgetExceeded for more than `limit` nodes or edges, or after
    `seconds`; the message begins with `what`, a phrase for the thing that is built.
    """
    until = None if seconds is None else time.monotonic() + seconds
    found: dict[Node, list[tuple[Edge, Node]]] = {}
    pending = deque(dict.fromkeys(starts))
    seen = set(pending)
    edges = 0
    while pending:
        check_time()
        node = pending.popleft()
        # One more than allowed is enough to see that there are too many, and one node may have very many.
        found[node] = list(islice(successors(node), limit - edges + 1))
        edges += len(found[node])
        for _, target in found[node]:
            if target not in seen:
                seen.add(target)
                pending.append(target)
        if len(seen) > limit or edges > limit:
            raise BudgetExceeded(f"{what} has more than {limit} states or transitions")
        if until is not None and time.monotonic() > until:
            raise BudgetExceeded(f"{what} takes more than {seconds} seconds to build")
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The smallest deterministic automaton: states that no word distinguishes are merged (Hopcroft's algorithm).

Letter = TypeVar("Letter", bound=Hashable)


def classes(steps: Sequence[Mapping[Letter, int]], final: Sequence[bool]) -> list[int]:
    """Return the class of each state: states of one class accept the same words.

    steps: for each state the target of each letter; a missing letter leads to a state that accepts nothing. Classes are
    numbered in the order of their first states.
    """
    of = _refined(_sources(steps), [*final, False])
    numbers: dict[int, int] = {}
    return [numbers.setdefault(number, len(numbers)) for number in of[:-1]]


def _sources(steps: Sequence[Mapping[Letter, int]]) -> list[dict[int, list[int]]]:
    """Return for each letter a dict: it maps each state to the states from which the letter leads to that state.

    There is an additional last state, which accepts nothing.
    """
    nowhere = len(steps)
    found = []
    for letter in dict.fromkeys(letter for step in steps for letter in step):
        sources: dict[int, list[int]] = {}
        for q, step in enumerate((*steps, {})):
            sources.setdefault(step.get(letter, nowhere), []).append(q)
        found.append(sources)
    return found


def _refined(sources: list[dict[int, list[int]]], final: list[bool]) -> list[int]:
    """Split blocks until, for each letter, all states of a block go to the same block; return the block of each
    state.
    """
    blocks = [{q for q, accepts in enumerate(final) if accepts is side} for side in (False, True)]
    of = [int(accepts) for accepts in final]
    pending = {0, 1}
    while pending:
        check_time()
        splitter = tuple(blocks[pending.pop()])
        for before in sources:
            inside: dict[int, set[int]] = {}
            for q in splitter:
                for p in before.get(q, ()):
                    inside.setdefault(of[p], set()).add(p)
            for b, part in inside.items():
                if len(part) < len(blocks[b]):
                    blocks[b] -= part
                    for p in part:
                        of[p] = len(blocks)
                    # Of the two halves of a block that has split already, the smaller one is enough.
                    pending.add(len(blocks) if b in pending or len(part) <= len(blocks[b]) else b)
                    blocks.append(part)
    return of


# ---------------------------------------------------------------------------------------------------------------------
# Sets of states as whole numbers: bit q for state q.

Subset: TypeAlias = int


def subset(states: Iterable[int]) -> Subset:
    """Return the set of these states as a bit mask."""
    return sum(1 << q for q in set(states))


def members(states: Subset) -> Iterator[int]:
    """Yield the states of a set, in order."""
    while states:
        lowest = states & -states
        yield lowest.bit_length() - 1
        states ^= lowest


def listed_pairs(pairs: Iterable[tuple[Subset, Subset]]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Convert pairs of sets of states, given as bit masks, to pairs of ascending tuples of states."""
    return [(tuple(members(left)), tuple(members(right))) for left, right in pairs]
