"""What a computation may use before it stops with a typed error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on what one call may build; each is checked by whoever builds it.

    valuations: valuations made by a denotational interpreter, over all sub-formulas and intervals.
    states: states, or transitions where these are the larger number, of one automaton.
    matches: complex events handed out by one evaluation.
    """

    valuations: int = 2_000_000
    states: int = 100_000
    matches: int = 1_000_000
