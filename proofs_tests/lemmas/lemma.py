"""What a lemma is, and how z3 proves it; LEMMAS has all of them once everything.py is imported."""

from __future__ import annotations

from dataclasses import dataclass

import z3

PATIENCE = 20_000  # milliseconds for one lemma


@dataclass(frozen=True)
class Lemma:
    """A lemma: what it says in words, what has to be valid, and the same with one hypothesis or one sign changed.

    The broken statement has a counterexample: it shows that the check of the right one can fail.
    """

    id: str
    says: str
    statement: z3.BoolRef
    broken: z3.BoolRef


LEMMAS: dict[str, Lemma] = {}


def lemma(id: str, says: str, statement: z3.BoolRef, broken: z3.BoolRef) -> None:
    """Enter a lemma."""
    if id in LEMMAS:
        raise ValueError(f"two lemmas are called {id}")
    LEMMAS[id] = Lemma(id, says, statement, broken)


def refuted(statement: z3.BoolRef) -> bool:
    """Whether the statement has a counterexample; False if it is valid. Raises TimeoutError where z3 does not say."""
    solver = z3.Solver()
    solver.set("timeout", PATIENCE)
    solver.add(z3.Not(statement))
    result = solver.check()
    if result == z3.unknown:
        raise TimeoutError(f"z3 gives up: {solver.reason_unknown()}")
    return bool(result == z3.sat)


def proved(*ids: str) -> bool:
    """Whether all of these lemmas are valid. Raises TimeoutError where z3 does not say."""
    return not any(refuted(LEMMAS[id_].statement) for id_ in ids)
