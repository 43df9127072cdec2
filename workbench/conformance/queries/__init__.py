"""The queries that the suite puts to an engine, by feature, with the events to ask them of."""

from cerify.conformance.queries.filters import FILTERS
from cerify.conformance.queries.nested_operators import COMBINATIONS, ITERATIONS, SEQUENCES
from cerify.conformance.queries.nested_selections import SELECTIONS
from cerify.conformance.queries.nested_selections import WINDOWS as NESTED_WINDOWS
from cerify.conformance.queries.nested_variables import BINDINGS, CORRELATIONS
from cerify.conformance.queries.operators import OPERATORS, SELECTING, WINDOWS

CLAUSES = {
    "examples": "tods21 section 3, Figure 1",
    "event": "tods21 Figure 3, tuple selection",
    "in": "tods21 Figure 3, variable binding",
    "filter": "tods21 Figure 3, filtering",
    "seq": "tods21 Figure 3, non-contiguous sequencing",
    "plus": "tods21 Figure 3, non-contiguous iteration",
    "cseq": "tods21 Figure 3, contiguous sequencing",
    "cplus": "tods21 Figure 3, contiguous iteration",
    "or": "tods21 Figure 3, disjunction",
    "project": "tods21 Figure 3, variable projection",
    "start": "tods21 Figure 3, anchoring",
    "and": "tods21 Figure 3, conjunction",
    "all": "tods21 Figure 3, interleaved conjunction",
    "unless": "tods21 Figure 3, guarded negation",
    "strict": "tods21 section 7.1, STRICT",
    "nxt": "tods21 section 7.1, NXT",
    "last": "tods21 section 7.1, LAST",
    "max": "tods21 section 7.1, MAX",
    "within": "tods21 section 4, the predicate Q of windows",
    "partition": "tods21 section 4, W.a = W.a",
}

FILES: dict[str, tuple[str, ...]] = {
    "cel-core": ("examples", "event", "seq", "cseq", "plus", "cplus", "or", "in", "filter"),
    "cel-figure3": ("project", "start", "and", "all", "unless"),
    "cel-strategies": ("strict", "nxt", "last", "max"),
    "cel-windows": ("within", "partition"),
}

PLAIN = (*OPERATORS, *FILTERS, *SELECTING, *WINDOWS)
NESTED = (*SEQUENCES, *ITERATIONS, *COMBINATIONS, *BINDINGS, *SELECTIONS, *NESTED_WINDOWS, *CORRELATIONS)
