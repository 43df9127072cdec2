"""Questions that the specification of Sigma's correlations leaves open: each field of SigmaReading is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

SigmaCase: TypeAlias = Literal["folded", "exact", "wildcards"]
SigmaWindow: TypeAlias = Literal["sliding", "bucketed", "unlimited", "extent"]


@dataclass(frozen=True, slots=True)
class SigmaReading:
    """One answer to each question that the specification leaves open, or that a converter answers in another way.

    The defaults are the decisions of docs/decisions/sigma.md; a test has the smallest log for each.

    window: the timespan that ends at an event (sliding), or the piece of time that contains it, if time since 1970 is
        cut into pieces of the timespan (bucketed); all of the log up to the event (unlimited); or the same, but only if
        all events of the group are within the timespan (extent).
    edge: events exactly the timespan apart are together (closed), or not (open).
    instant: events of one time come one after the other in the order of the log (log), or at once (together).
    alerts: a group raises an alert at each event at which the condition holds (event), only if it did not hold at the
        event before (episode), only with events of no earlier alert (consumed), only at its last event (last), or only
        once (first).
    groups: values are compared as they are (exact), without case (folded), or not at all (ignored).
    values: the same for the values of value_count.
    null_groups: events without a value of a group field are in no group (apart), or null is a value (joined).
    null_values: events without the counted value are left out (apart), or stay but add nothing (kept).
    order: temporal_ordered requires the order of the rules (rules), or not (any).
    counted: an event that several rules match counts, and its value is added, once (events), or once for each rule
        (matches).
    resolution: times are exact (exact), or cut to seconds (seconds).
    percentile: on a line between two values (linear), or the value of the nearest rank (nearest).
    case: texts of detections without `cased` match in any case (folded), only in their own case (exact), or in any case
        only if they have wildcards (wildcards).
    absent: a test of a field without a value is false, so that its `not` is true (false), or neither the test nor its
        `not` is true (unknown).
    """

    window: SigmaWindow = "sliding"
    edge: Literal["closed", "open"] = "closed"
    instant: Literal["log", "together"] = "log"
    alerts: Literal["event", "episode", "consumed", "last", "first"] = "event"
    groups: Literal["exact", "folded", "ignored"] = "exact"
    values: Literal["exact", "folded"] = "exact"
    null_groups: Literal["apart", "joined"] = "apart"
    null_values: Literal["apart", "kept"] = "apart"
    order: Literal["rules", "any"] = "rules"
    counted: Literal["events", "matches"] = "events"
    resolution: Literal["exact", "seconds"] = "exact"
    percentile: Literal["linear", "nearest"] = "linear"
    case: SigmaCase = "folded"
    absent: Literal["false", "unknown"] = "false"


SPECIFICATION = SigmaReading()
"""What the specification says, with the decisions of this project where it says nothing."""
