"""The questions on which engines of EQL differ: each field of EqlReading is a question; its default is Elastic's
answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EqlReading:
    """One answer to each question that engines answer in several ways; docs/guide/eql.md has a log for each.

    case: whether `==`, `!=`, `<`, `in`, `like`, keys and functions without `~` tell upper from lower case (exact), or
    do not (folded). absent: a test of a field without a value is false, so that `not` makes it true (false), or it has
    no truth value, and `not` neither (unknown). null_keys: events without a value of a key join none (apart), or join
    each other (joined). maxspan: the span to the microsecond (exact), or cut to whole seconds (seconds). until: a
    sequence is ended by an event from its first one on, before the last (between), or after its first one, up to and
    with the last (last).
    """

    case: Literal["exact", "folded"] = "exact"
    absent: Literal["false", "unknown"] = "false"
    null_keys: Literal["apart", "joined"] = "apart"
    maxspan: Literal["exact", "seconds"] = "exact"
    until: Literal["between", "last"] = "between"


ELASTIC = EqlReading()
"""What Elasticsearch means, as its documentation says it; of `until` at a step also its source, SequenceMatcher."""
ENDGAME = EqlReading("folded", "unknown", "joined", "seconds", "last")
"""What the engine for Python means, whose language came before Elasticsearch's."""
