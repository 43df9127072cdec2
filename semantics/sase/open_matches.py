"""Find matches that are right by definition but may surprise: open matches, and matches of events without a key.

An open match holds only because the stream ends: its pattern ends in a negation, and its window is not over. It is a
match in the reading stream_end=stops, but not in stream_end=waits (docs/decisions/sase.md). A user who reads a file
that is still being written wants to know the open matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from cerify.semantics.events import TIME, Match, Stream
from cerify.semantics.predicates import Problem, mentions, show_name
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import blocks_of, conjuncts, queries_of, source_of
from cerify.semantics.sase.reading import Reading
from cerify.semantics.values import Microseconds, Value, exact_microseconds


def open_test(q: sase.Tree, S: Stream, reading: Reading) -> Callable[[Match], bool] | None:
    """Return a function that tells whether a match of the query over the stream is open; None if no match can be.

    Only single query blocks over the input are considered.
    """
    if not isinstance(q, sase.SaseQuery) or q.source is not None or q.within is None or reading.stream_end == "waits":
        return None
    if not q.pattern[-1].negated or all(k.negated for k in q.pattern):
        return None
    width, closed = q.within.seconds, reading.window == "closed"
    per_second = 10**6 if any(isinstance(event.get(TIME), datetime) for event in S) else 1
    times = [_ticks(event.get(TIME), per_second) for event in S]
    latest: list[float | Microseconds | None] = [None] * (len(times) + 1)  # the latest time from each position on
    for p in reversed(range(len(times))):
        time, after = times[p], latest[p + 1]
        latest[p] = after if time is None else time if after is None else max(time, after)

    def is_open(match: Match) -> bool:
        begin, last = times[match.events[0]], latest[match.events[-1] + 1]
        if begin is None or last is None:
            return True
        seconds = (last - begin) / per_second
        return seconds <= width if closed else seconds < width

    return is_open


def keyless_events(q: sase.Tree, S: Stream) -> Iterator[Problem]:
    """Yield a problem for each equivalence test, such as [id], that a single event without the attribute passes.

    Only query blocks with one component that is not negated are considered. In a longer match, an event without the
    attribute agrees with no other event, so the test fails.
    """
    for block in (block for query in queries_of(q) for block in blocks_of(query) if source_of(block) is None):
        single = [k for k in block.pattern if not k.negated]
        if len(single) != 1 or single[0].kleene:
            continue
        for conjunct in conjuncts(block):
            if isinstance(conjunct.condition, sase.Equivalence):
                k, name = single[0], conjunct.condition.attribute
                lacking = [n for n, event in enumerate(S) if event.type == k.type and event.get(name) is None]
                if lacking and not _is_named_elsewhere(block, k.variable, name):
                    term = f"{show_name(k.variable)}.{show_name(name)}"
                    message = (
                        f"[{show_name(name)}] compares events of a match with each other, but here a match has one: "
                        f"events of {show_name(k.type)} without {name} match too, such as event {lacking[0]} "
                        f"({len(lacking)} in all); to leave them out add {term} = {term}"
                    )
                    yield Problem("attribute", message, conjunct.span)


def _is_named_elsewhere(block: sase.SaseQuery, variable: str, name: str) -> bool:
    """Return whether another condition uses the attribute of the variable, and so rejects events without it."""
    return any(
        a.name == name and a.variable == variable
        for conjunct in conjuncts(block)
        if not isinstance(conjunct.condition, sase.Equivalence)
        for a in mentions(conjunct.condition)
    )


def _ticks(time: Value | None, per_second: int) -> float | Microseconds | None:
    """Return a time in microseconds, or a number unchanged if per_second is 1; None for other values."""
    if isinstance(time, datetime):
        return exact_microseconds(time)
    return time if isinstance(time, int | float) and not isinstance(time, bool) and per_second == 1 else None
