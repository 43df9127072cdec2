"""Readings: answers to the questions about a language that its papers, its standard or its engines leave open.

Each field of a reading is a question, and its default is this project's answer. A reading is data: the definition and
the evaluators both look at it, and each says for itself what an answer means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from cerify.semantics.values import Value

# ---------------------------------------------------------------------------------------------------------------------
# SASE+: questions that sase07 and icde08 leave open, and a user's own aggregates.
#
# The reasons, and for each question a stream on which the answers differ, are in docs/decisions/sase.md.


@dataclass(frozen=True, slots=True)
class Reading:
    """A choice of meaning wherever implementations of SASE+ differ.

    last_kleene: a Kleene plus in last place without a condition on a[a.LEN] is a match when it stops (maximal), or
        after each of its events (every).
    cut_in_last_place: `!` in last place stops the Kleene plus after its first event (first), or does nothing (nothing).
    stream_end: at the end of a finite stream a Kleene plus stops and windows are over (stops), or both wait for more
        events (waits).
    window: last.time - first.time < W (open), or <= W (closed).
    kleene_skips: a Kleene plus under skip_till_next_match skips every event that it cannot select itself (own), or only
        if the next component cannot select it either (neither).
    negation_in_front: a negated first component forbids events from the window's beginning on (window), or from the
        stream's beginning on (stream).
    negated_series: a negated Kleene plus forbids the series of events that its strategy allows (strategy), or any
        series (any).
    non_overlap: of the overlapping matches of a partition, the output has the one that ends first (earliest_end), the
        one that starts first (earliest_start), or the longest one (longest).
    """

    last_kleene: Literal["maximal", "every"] = "maximal"
    cut_in_last_place: Literal["first", "nothing"] = "first"
    stream_end: Literal["stops", "waits"] = "stops"
    window: Literal["open", "closed"] = "open"
    kleene_skips: Literal["own", "neither"] = "own"
    negation_in_front: Literal["window", "stream"] = "window"
    negated_series: Literal["strategy", "any"] = "strategy"
    non_overlap: Literal["earliest_end", "earliest_start", "longest"] = "earliest_end"


DECIDED = Reading()


State: TypeAlias = Any
"""The intermediate value of an operation, before `result`. Its functions agree on its type."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An aggregate: `lift` turns a value into a state, `combine` joins two states, `result` turns a state into a value.

    combine: associative, with the state `identity` as its neutral element.
    """

    identity: State
    lift: Callable[[Value], State]
    combine: Callable[[State, State], State]
    result: Callable[[State], Value | None]


Operations: TypeAlias = Mapping[str, Operation]
"""Aggregates that a user registers, by name: an argument of every evaluator."""

NO_OPERATIONS: Operations = MappingProxyType({})


# ---------------------------------------------------------------------------------------------------------------------
# Questions that the standard leaves open or engines answer differently: each field of RowReading is one.
#
# The reasons, and for each question a clause and a table on which the answers differ, are in
# docs/decisions/row-patterns.md.

DialectName = Literal[
    "standard", "trino", "oracle", "snowflake", "bigquery", "duckdb", "flink", "databricks", "azure"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowReading:
    """A choice of answers to the questions about MATCH_RECOGNIZE that the SQL standard leaves open.

    bounded_iterations: for a quantifier with an upper bound, an iteration of no rows counts like any other (counted),
        or it ends the iterations once their least number is reached (stop), as it always does without an upper bound.
    skip_to_nothing: AFTER MATCH SKIP TO a variable that labels no row of the match is an error (error), or goes to the
        next row (next_row).
    skip_to_first: AFTER MATCH SKIP TO the first row of the match is an error (error), or goes to the next row
        (next_row).
    nulls: the place of NULL in an order without NULLS FIRST or NULLS LAST: above all values (high), below them (low),
        or after them even with DESC (last).
    empty_matches: an empty match has its own number (numbered), or the number of the match before it (unnumbered).
    integer_division: 7 / 2 is 3 (truncated), or 3.5 (exact).
    empty_iterations: a pattern that may match no row may be quantified (accepted), or not (refused).
    """

    bounded_iterations: Literal["counted", "stop"] = "counted"
    skip_to_nothing: Literal["error", "next_row"] = "error"
    skip_to_first: Literal["error", "next_row"] = "error"
    nulls: Literal["high", "low", "last"] = "high"
    empty_matches: Literal["numbered", "unnumbered"] = "numbered"
    integer_division: Literal["truncated", "exact"] = "truncated"
    empty_iterations: Literal["accepted", "refused"] = "accepted"


STANDARD = RowReading()


# ---------------------------------------------------------------------------------------------------------------------
# The questions on which engines of EQL differ, with their answers.


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


# ---------------------------------------------------------------------------------------------------------------------
# Questions that the specification of Sigma's correlations leaves open: each field of SigmaReading is one.

SigmaCase: TypeAlias = Literal["folded", "exact", "wildcards"]
SigmaWindow: TypeAlias = Literal["sliding", "bucketed", "unlimited", "extent"]


@dataclass(frozen=True, slots=True)
class SigmaReading:
    """One answer to each question that the specification leaves open, or that a converter answers in another way.

    The defaults are the decisions of docs/decisions/sigma.md; a test has the smallest log for each.

    window: the timespan that ends at an event (sliding); the bucket that contains the event, where time since 1970 is
        divided into buckets as long as the timespan (bucketed); all of the log up to the event (unlimited); or the
        same, but only if all events of the group are within the timespan (extent).
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
