"""What sase07 and icde08 leave open, as data: each field of Reading is a question, its default the decided answer.

The reasons, and for each question a stream on which the answers differ, are in docs/decisions/sase.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cerify.semantics import readings


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer to each question that has several in use.

    last_kleene: a Kleene plus in last place without a condition on a[a.LEN] is a match when it stops (maximal), or
        after each of its events (every).
    cut_in_last_place: what `!` does there: it stops the Kleene plus after its first event, or nothing.
    stream_end: the end of a finite stream stops what is under way, or it waits for events that do not come.
    window: last.time - first.time < W (open), or <= W (closed).
    kleene_skips: what a Kleene plus under skip_till_next_match skips: events that it cannot select itself (own), or
        only those that the next component cannot select either (neither).
    negation_in_front: a negated first component looks back to the window's beginning, or to the stream's.
    negated_series: the strategy of a negated Kleene plus says which of its series count, or any series counts.
    non_overlap: of the matches of a partition that overlap, the one that ends first is output, the one that starts
        first, or the longest.
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


def choices() -> dict[str, tuple[str, ...]]:
    """The answers to each question; the decided one comes first."""
    return readings.choices(Reading)


def others() -> dict[tuple[str, str], Reading]:
    """The readings that differ from the decided one in one answer, by the question and that answer."""
    return readings.others(DECIDED)


def read_reading(given: Iterable[str]) -> Reading:
    """The reading of texts as window=closed; other questions have the decided answer. Raises InputError."""
    return readings.read(Reading, given)
