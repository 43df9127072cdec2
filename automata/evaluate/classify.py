"""The types of a stream's events with respect to an automaton's predicates, as bit masks (tods21, Definition 5.6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cerify.semantics.events import Stream
from cerify.semantics.predicates import Predicate, holds

SHORT = 256  # events; below this, going event by event is faster than going by columns


def classify(predicates: Sequence[Predicate], S: Stream) -> list[int]:
    """For each event of the stream the mask in which bit i is set if the event is in predicates[i]."""
    if len(S) < SHORT:
        return [sum(1 << i for i, P in enumerate(predicates) if holds(P, event)) for event in S]
    from cerify.semantics.columns import mask

    types = np.zeros(len(S), dtype=object if len(predicates) > 62 else np.int64)
    for i, P in enumerate(predicates):
        types += mask(P, S.table).to_numpy(zero_copy_only=False).astype(types.dtype) * (1 << i)
    result: list[int] = types.tolist()
    return result
