"""The evaluators of a process share what they compile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from cerify.automata.cea.blowup_diagnosis import COMPILED_CEL
from cerify.automata.evaluate.core import COMPILED_CORE_CEL

QUERIES = 80  # of which what is compiled is kept


def share_compiled() -> None:
    """Let the evaluators of CEL and core-CEL compile each of the last queries once, from now on."""
    gc.set_threshold(100_000)  # a campaign makes many small objects, and few cycles
    COMPILED_CEL.retain(QUERIES)
    COMPILED_CORE_CEL.retain(QUERIES)


@contextmanager
def compiled_shared() -> Iterator[None]:
    """A context with `share_compiled`, after which it is as before, and nothing of it is left."""
    threshold, before = gc.get_threshold(), (COMPILED_CEL.retained, COMPILED_CORE_CEL.retained)
    share_compiled()
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        COMPILED_CEL.retain(before[0])
        COMPILED_CORE_CEL.retain(before[1])
