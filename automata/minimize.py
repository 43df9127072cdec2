"""The smallest deterministic automaton: states that no word tells apart are one (Moore)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def classes(steps: Sequence[Mapping[int, int]], final: Sequence[bool]) -> list[int]:
    """For each state the number of its class, where states of a class accept the same words.

    steps has for each state where each letter leads; a letter that is left out leads to where nothing is accepted.
    """
    of = [int(accepts) for accepts in final]
    while True:
        behaviour = [
            (of[q], frozenset((letter, of[target]) for letter, target in step.items())) for q, step in enumerate(steps)
        ]
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(behaviour))}
        refined = [numbers[kind] for kind in behaviour]
        if len(set(refined)) == len(set(of)):
            return refined
        of = refined
