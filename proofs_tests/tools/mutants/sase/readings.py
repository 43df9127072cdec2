"""The other readings of what the papers leave open: not wrong, but not ours."""

from __future__ import annotations

from cerify.semantics.sase import interpreter
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.syntax import Reading, list_other_readings
from proofs_tests.tools.mutants.sase.model import BUDGET, Answers, SaseMutant

READING_FEATURE = "reading-"


def _answered(reading: Reading) -> Answers:
    return lambda q, S: interpreter.matches_of(q, S, bindings, reading, BUDGET)


READINGS = tuple(
    SaseMutant(f"{READING_FEATURE}{name}: {answer}", _answered(reading))
    for (name, answer), reading in list_other_readings().items()
)
