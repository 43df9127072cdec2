"""The questions on which engines of EQL differ, with their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EqlReading:
    """A choice for each point on which engines differ; the default is Elastic's choice. docs/guide/eql.md shows for
    each point a log on which the choices differ.

    case: upper and lower case differ in `==`, `!=`, `<`, `in`, `like`, keys and functions without `~` (exact), or they
        do not (folded).
    absent: a test of a field without a value is false, and its negation true (false); or the test and its negation have
        no truth value (unknown).
    null_keys: events without a value of a key join no sequence (apart), or join each other (joined).
    maxspan: the span counts to the microsecond (exact), or is cut to whole seconds (seconds).
    until: an `until` event ends a sequence if it is the sequence's first event or between its first and last event
        (between), or if it is between them or the last event (last).
    """

    case: Literal["exact", "folded"] = "exact"
    absent: Literal["false", "unknown"] = "false"
    null_keys: Literal["apart", "joined"] = "apart"
    maxspan: Literal["exact", "seconds"] = "exact"
    until: Literal["between", "last"] = "between"


ELASTIC = EqlReading()
"""Elasticsearch's choices, from its documentation; for an `until` event at a step, from its source, SequenceMatcher."""
ENDGAME = EqlReading("folded", "unknown", "joined", "seconds", "last")
"""The choices of Endgame's engine in Python, whose language came before Elasticsearch's."""
