"""Wrong semantics of SASE+, on purpose: each departs from the meaning in one way that an engine might.

The cases of the suite are chosen so that every mutant gives a wrong answer on some of them. Their names begin with the
feature that they get wrong. Other readings of what the papers leave open stand beside them: they are not wrong, but a
case has to tell them from ours.
"""

from cerify.conformance.sase_mutants.aggregates import AGGREGATES
from cerify.conformance.sase_mutants.conditions import CONDITIONS
from cerify.conformance.sase_mutants.model import Mutant, answers
from cerify.conformance.sase_mutants.negation import NEGATION
from cerify.conformance.sase_mutants.patterns import PATTERNS
from cerify.conformance.sase_mutants.readings import READING_FEATURE, READINGS
from cerify.conformance.sase_mutants.results import RESULTS
from cerify.conformance.sase_mutants.stopping import STOPPING
from cerify.conformance.sase_mutants.strategies import STRATEGIES

__all__ = ["MUTANTS", "READINGS", "READING_FEATURE", "Mutant", "answers"]

MUTANTS: tuple[Mutant, ...] = (
    *PATTERNS,
    *CONDITIONS,
    *AGGREGATES,
    *STRATEGIES,
    *STOPPING,
    *NEGATION,
    *RESULTS,
)
