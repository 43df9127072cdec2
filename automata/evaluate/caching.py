"""The evaluators of a process share what they compile."""

from __future__ import annotations

import gc

from cerify.automata.cea.blowup_diagnosis import COMPILED_CEL
from cerify.automata.evaluate.core import COMPILED_CORE_CEL

QUERIES = 80  # of which what is compiled is kept


def share_compiled() -> None:
    """Let the evaluators of CEL and core-CEL compile each of the last queries once, from now on."""
    gc.set_threshold(100_000)  # a campaign makes many small objects, and few cycles
    COMPILED_CEL.retain(QUERIES)
    COMPILED_CORE_CEL.retain(QUERIES)
