"""Wrong semantics of SASE+.

Other readings of what the papers leave open stand beside them: they are not wrong, but a case has to tell them from
ours.
"""

from proofs_tests.tools.mutants.sase.aggregates import AGGREGATES
from proofs_tests.tools.mutants.sase.conditions import CONDITIONS
from proofs_tests.tools.mutants.sase.model import MEANING, SaseMutant
from proofs_tests.tools.mutants.sase.negation import NEGATION
from proofs_tests.tools.mutants.sase.patterns import PATTERNS
from proofs_tests.tools.mutants.sase.readings import READING_FEATURE, READINGS
from proofs_tests.tools.mutants.sase.results import RESULTS
from proofs_tests.tools.mutants.sase.stopping import STOPPING
from proofs_tests.tools.mutants.sase.strategies import STRATEGIES

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
