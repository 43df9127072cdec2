"""Options of an evaluation of SASE+: answers to questions that sase07 and icde08 leave open, and a user's own
aggregates.

Each field of Reading is a question, and its default is this project's answer. The reasons, and for each question a
stream on which the answers differ, are in docs/decisions/sase.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from cerify.semantics.values import Value


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
    negation_in_front: a negated first component looks back to the window's beginning, or to the stream's.
    negated_series: the strategy of a negated Kleene plus determines which of its series count, or any series counts.
    non_overlap: which of the overlapping matches of a partition is output: the match that ends first, the match that
        starts first, or the longest match.
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
