"""Random formulas under windows and partitions, with streams on which they make a difference."""

from __future__ import annotations

from random import Random

from cerify.equivalence.generate.cel import CelProfile, around, case, clocked
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Stream


def scoped_case(rng: Random, profile: CelProfile, nodes: int = 8, events: int = 9) -> tuple[Formula, Stream]:
    """A case of the profile, in one to three windows and partitions; some of them stand under another operator."""
    phi, S = case(rng, profile, nodes, events)
    for _ in range(rng.choice((1, 1, 2, 3))):
        phi = around(rng, phi)
        if rng.random() < 0.2:
            phi = rng.choice((cel.Start, cel.Strict, lambda psi: cel.In(psi, "X")))(phi)
    return phi, clocked(rng, S)
