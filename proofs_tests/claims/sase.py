"""Claims of sase07 and icde08: entered by the modules named sase_…"""

from __future__ import annotations

from proofs_tests.claims import (  # noqa: F401  (each enters its claims)
    sase_automaton,
    sase_examples,
    sase_fragments,
    sase_power,
    sase_space,
    sase_strategies,
)
