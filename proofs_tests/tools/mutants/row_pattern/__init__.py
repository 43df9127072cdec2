"""Wrong semantics of MATCH_RECOGNIZE: the axes on which engines differ, and mistakes in each operator."""

from cerify.hypotheses.interpretation import choices_of
from cerify.hypotheses.row_pattern import AXES, departure
from proofs_tests.tools.mutants.row_pattern.clauses import CLAUSES
from proofs_tests.tools.mutants.row_pattern.expressions import EXPRESSIONS
from proofs_tests.tools.mutants.row_pattern.model import MEANING, RowMutant
from proofs_tests.tools.mutants.row_pattern.patterns import PATTERNS
from proofs_tests.tools.mutants.row_pattern.windows import WINDOWS

UNSEEN = frozenset({"skip_to_nothing", "skip_to_first"})
"""The axes that bear on errors, of which no case of a suite has one as its answer."""

AXIS_MUTANTS = tuple(
    RowMutant(f"axis: {name}={value}", departure(choices_of({name: value}, AXES)), frozenset(axis.operators))
    for name, axis in AXES.items()
    if name not in UNSEEN
    for value in axis.values[1:]
)
MUTANTS = (*PATTERNS, *EXPRESSIONS, *CLAUSES, *WINDOWS, *AXIS_MUTANTS)

__all__ = ["MEANING", "MUTANTS", "RowMutant"]
