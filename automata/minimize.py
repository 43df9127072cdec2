"""The smallest deterministic automaton: states that no word distinguishes are merged (Hopcroft's algorithm)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from cerify.semantics.budget import check_time

Letter = TypeVar("Letter", bound=Hashable)


def classes(steps: Sequence[Mapping[Letter, int]], final: Sequence[bool]) -> list[int]:
    """For each state the number of its class, where states of a class accept the same words.

    steps has for each state where each letter leads; a letter that is left out leads to where nothing is accepted.
    Classes are numbered in the order of their first states.
    """
    of = _refined(_sources(steps), [*final, False])
    numbers: dict[int, int] = {}
    return [numbers.setdefault(number, len(numbers)) for number in of[:-1]]


def _sources(steps: Sequence[Mapping[Letter, int]]) -> list[dict[int, list[int]]]:
    """For each letter the states that it leads to, each with those that it comes from.

    Nothing is accepted from one more state, the last.
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
    """Blocks of states are split until all of a block go to the same block with each letter: the block of each."""
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
