"""The queries that the suite puts to an engine, by feature, with the events to ask them of."""

from cerify.semantics.cel.syntax import OPERATORS
from proofs_tests.tools.suites.cel.queries.filters import FILTERS
from proofs_tests.tools.suites.cel.queries.nested_operators import COMBINATIONS, ITERATIONS, SEQUENCES
from proofs_tests.tools.suites.cel.queries.nested_selections import SELECTIONS
from proofs_tests.tools.suites.cel.queries.nested_selections import WINDOWS as NESTED_WINDOWS
from proofs_tests.tools.suites.cel.queries.nested_variables import BINDINGS, CORRELATIONS
from proofs_tests.tools.suites.cel.queries.operators import PLAIN_OPERATORS, SELECTING, WINDOWS
from proofs_tests.tools.suites.cel.queries.rounds import ROUNDS
from proofs_tests.tools.suites.cel.queries.trials import TRIALS

NOT_ASKED = frozenset({"perkey"})
"""Operators that the suite has no cases of: PER KEY is ours, and no engine can have it from the paper."""

CLAUSES = {"examples": "tods21 section 3, Figure 1"} | {
    operator.name: operator.clause for operator in OPERATORS.values() if operator.name not in NOT_ASKED
}

FILES: dict[str, tuple[str, ...]] = {
    "cel-core": ("examples", "event", "seq", "cseq", "plus", "cplus", "or", "in", "filter"),
    "cel-figure3": ("project", "start", "and", "all", "unless"),
    "cel-strategies": ("strict", "nxt", "last", "max"),
    "cel-windows": ("within", "partition"),
    "cel-derived": ("repeat", "crepeat"),
}

PLAIN = (*PLAIN_OPERATORS, *FILTERS, *SELECTING, *WINDOWS)
NESTED = (*SEQUENCES, *ITERATIONS, *COMBINATIONS, *BINDINGS, *SELECTIONS, *NESTED_WINDOWS, *CORRELATIONS)

__all__ = ["CLAUSES", "FILES", "NESTED", "PLAIN", "ROUNDS", "TRIALS"]
