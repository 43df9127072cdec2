"""Wrong semantics of CEL."""

from cerify.conformance.mutants.cel.answers import ANSWERS
from cerify.conformance.mutants.cel.clauses import CLAUSES
from cerify.conformance.mutants.cel.model import CelMutant
from cerify.conformance.mutants.cel.queries import QUERIES
from cerify.conformance.mutants.cel.rounds import ROUNDS

MEANING = CelMutant("none")
MUTANTS: tuple[CelMutant, ...] = (*QUERIES, *CLAUSES, *ANSWERS, *ROUNDS)
