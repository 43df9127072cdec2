"""Wrong semantics, on purpose: each mutant departs from the meaning of CEL in one way that an engine might.

The suite's cases are chosen so that every mutant gives a wrong answer on some of them. Their names begin with the
feature that they get wrong.
"""

from cerify.conformance.mutants.answers import ANSWERS
from cerify.conformance.mutants.clauses import CLAUSES
from cerify.conformance.mutants.model import Mutant
from cerify.conformance.mutants.nested import NESTED
from cerify.conformance.mutants.queries import QUERIES

PLAIN: tuple[Mutant, ...] = (*QUERIES, *CLAUSES, *ANSWERS)
MUTANTS: tuple[Mutant, ...] = (*PLAIN, *NESTED)
