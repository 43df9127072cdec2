"""Wrong semantics of CEL."""

from proofs_tests.tools.mutants.cel.answers import ANSWERS
from proofs_tests.tools.mutants.cel.clauses import CLAUSES
from proofs_tests.tools.mutants.cel.model import CelMutant
from proofs_tests.tools.mutants.cel.queries import QUERIES
from proofs_tests.tools.mutants.cel.rounds import LONG, ROUNDS

__all__ = ["LONG", "MEANING", "MUTANTS"]

MEANING = CelMutant("none")
MUTANTS: tuple[CelMutant, ...] = (*QUERIES, *CLAUSES, *ANSWERS, *ROUNDS)
