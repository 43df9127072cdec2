"""The questions on which engines of EQL differ: each field of EqlReading is a question; its default is Elastic's
answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EqlReading:
    """One answer to each question that engines answer in several ways; docs/guide/eql.md has a log for each.

    case: upper and lower case differ in `==`, `!=`, `<`, `in`, `like`, keys and functions without `~` (exact), or they
        do not (folded).
    absent: a test of a field without a value is false, so that `not` makes it true (false), or both have no truth value
        (unknown).
    null_keys: events without a value of a key join no sequence (apart), or join each other (joined).
    maxspan: the span counts to the microsecond (exact), or is cut to whole seconds (seconds).
    until: an `until` event ends a sequence from the sequence's first event on and before its last (between), or after
        its first event and until its last, which is included (last).
    """

    case: Literal["exact", "folded"] = "exact"
    absent: Literal["false", "unknown"] = "false"
    null_keys: Literal["apart", "joined"] = "apart"
    maxspan: Literal["exact", "seconds"] = "exact"
    until: Literal["between", "last"] = "between"


ELASTIC = EqlReading()
"""The reading of Elasticsearch, by its documentation, and for `until` at a step by its source, SequenceMatcher."""
ENDGAME = EqlReading("folded", "unknown", "joined", "seconds", "last")
"""The reading of Endgame's engine in Python, whose language came before Elasticsearch's."""
