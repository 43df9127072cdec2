"""The queries that the suite puts to an engine, by feature, with the events to ask them of."""

from cerify.conformance.queries.filters import FILTERS
from cerify.conformance.queries.nested_operators import COMBINATIONS, ITERATIONS, SEQUENCES
from cerify.conformance.queries.nested_selections import SELECTIONS
from cerify.conformance.queries.nested_selections import WINDOWS as NESTED_WINDOWS
from cerify.conformance.queries.nested_variables import BINDINGS, CORRELATIONS
from cerify.conformance.queries.operators import PLAIN_OPERATORS, SELECTING, WINDOWS
from cerify.semantics.cel.operators import OPERATORS

CLAUSES = {"examples": "tods21 section 3, Figure 1"} | {
    operator.name: operator.clause for operator in OPERATORS.values()
}

FILES: dict[str, tuple[str, ...]] = {
    "cel-core": ("examples", "event", "seq", "cseq", "plus", "cplus", "or", "in", "filter"),
    "cel-figure3": ("project", "start", "and", "all", "unless"),
    "cel-strategies": ("strict", "nxt", "last", "max"),
    "cel-windows": ("within", "partition"),
}

PLAIN = (*PLAIN_OPERATORS, *FILTERS, *SELECTING, *WINDOWS)
NESTED = (*SEQUENCES, *ITERATIONS, *COMBINATIONS, *BINDINGS, *SELECTIONS, *NESTED_WINDOWS, *CORRELATIONS)
