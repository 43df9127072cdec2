"""Wrong semantics of SASE+.

Other readings of what the papers leave open stand beside them: they are not wrong, but a case has to tell them from
ours.
"""

from cerify.conformance.mutants.sase.aggregates import AGGREGATES
from cerify.conformance.mutants.sase.conditions import CONDITIONS
from cerify.conformance.mutants.sase.model import MEANING, SaseMutant
from cerify.conformance.mutants.sase.negation import NEGATION
from cerify.conformance.mutants.sase.patterns import PATTERNS
from cerify.conformance.mutants.sase.readings import READING_FEATURE, READINGS
from cerify.conformance.mutants.sase.results import RESULTS
from cerify.conformance.mutants.sase.stopping import STOPPING
from cerify.conformance.mutants.sase.strategies import STRATEGIES

__all__ = ["MEANING", "MUTANTS", "READINGS", "READING_FEATURE", "SaseMutant"]

MUTANTS: tuple[SaseMutant, ...] = (
    *PATTERNS,
    *CONDITIONS,
    *AGGREGATES,
    *STRATEGIES,
    *STOPPING,
    *NEGATION,
    *RESULTS,
)
