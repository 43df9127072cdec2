"""Compute the results of queries: the result events that RETURN makes of matches (sase07, sections 2.1 and 2.2).

The bindings of one block come from a `Finder`, such as the definition in `denote.py`; everything after them is here, in
the order of the clauses: HAVING, NON-OVERLAP, RETURN, UNION and composition. `automata/nfab/evaluators.py` does the
same for the faster evaluators. It was written from the papers a second time, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, assert_never

from cerify.semantics.arguments import Budget, timed_items
from cerify.semantics.events import TIME, Bindings, Event, Match, Result, Schema, Stream, result_of
from cerify.semantics.predicates import Problem, Term, evaluate, mentions, satisfied, show_name
from cerify.semantics.readings import DECIDED, NO_OPERATIONS, Operations, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import Types, derived_types, require_wellformed
from cerify.semantics.sase.clauses import blocks_of, conjuncts, equivalences, in_order, queries_of, source_of, stream_of
from cerify.semantics.sase.denote import operation_of, position, value_of
from cerify.semantics.sase.syntax import names_of, type_of
from cerify.semantics.values import Microseconds, Value, exact_microseconds, kind

Composed: TypeAlias = dict[str, Value | None]
"""A value of a composite type, by the names of its parts."""

ResultValue: TypeAlias = Value | Composed | list[Value | None] | list[Composed] | None
"""A value of one of four types: atomic or sequence, each simple or composite. None if it is absent."""


def result(
    q: sase.SaseQuery, match: Bindings, S: Sequence[Event], operations: Operations = NO_OPERATIONS
) -> dict[str, ResultValue]:
    """Return the attributes of the result event that RETURN makes of a match."""
    bound = dict(match)
    values = (_value(item.output, bound, S, operations) for item in q.returned.items)
    return dict(zip(names_of(q.returned), values, strict=True))


def _value(
    output: sase.Output, bound: Mapping[str, tuple[int, ...]], S: Sequence[Event], operations: Operations
) -> ResultValue:
    match output:
        case sase.Simple(term):
            return simple(term, bound, S, operations)
        case sase.SaseSeries(b, name):
            return [S[p].get(name) for p in bound[b]]
        case sase.Composite(a, place, names):
            p = position(bound[a], place)
            return None if p is None else {name: S[p].get(name) for name in names}
        case sase.CompositeSeries(b, names):
            return [{name: S[p].get(name) for name in names} for p in bound[b]]
        case _:
            assert_never(output)


def simple(
    term: Term, bound: Mapping[str, tuple[int, ...]], S: Sequence[Event], operations: Operations = NO_OPERATIONS
) -> Value | None:
    """Return the value of a term, such as a reference or an aggregate, for a match."""
    return evaluate(term, value_of(bound, S, operations))


# ---------------------------------------------------------------------------------------------------------------------
# The results of a query: HAVING, NON-OVERLAP, RETURN, UNION and composition, applied to the bindings that are found.
#
# A result event happens at the last event of its match; a stream of result events is in this order. A match of a query
# that reads such a stream binds positions in that stream.

Finder: TypeAlias = Callable[[sase.SaseQuery, Stream, Reading, Budget, Operations], Iterable[Bindings]]
"""A function that finds the bindings by PATTERN, WHERE and WITHIN of one query block (section 2.2)."""


def matches_of(
    q: sase.Tree,
    S: Stream,
    find: Finder,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> list[Match]:
    """Return all matches of a query, sorted, with their results; for a program, the matches of its last query.

    Raises IllFormed, Unsupported, BudgetExceeded.
    """
    require_wellformed(q)
    for aggregate in aggregates(q):
        operation_of(aggregate, operations)  # raises at once if it is not registered
    streams: dict[str | None, Stream] = {None: S}
    types = derived_types(q, S.schema)
    asked = queries_of(q)[-1]
    # In the order of dependence, so that each stream is complete before a query reads it.
    for query in in_order(q):
        read = streams[source_of(blocks_of(query)[0])]
        # A set, because blocks of a UNION may give the same match with the same result.
        found = {
            (m, type_of(part.returned))
            for part in blocks_of(query)
            for m in of_block(part, read, find, reading, budget, operations)
        }
        if query is asked:
            return sorted({m for m, _ in found})
        if (name := stream_of(query)) is not None:
            events = [_event(m.result, type_, read[m.at]) for m, type_ in sorted(found) if m.result is not None]
            streams[name] = Stream(events, _schema(types[name]))
    raise AssertionError("the requested query must be one of the program")


def aggregates(q: sase.Tree) -> Iterator[sase.SaseAggregate]:
    """Yield the aggregates of all conditions and results."""
    for part in (part for query in queries_of(q) for part in blocks_of(query)):
        conditions = (c.condition for c in conjuncts(part) if not isinstance(c.condition, sase.Equivalence))
        terms = (item.output.term for item in part.returned.items if isinstance(item.output, sase.Simple))
        having = () if part.having is None else (part.having,)
        for mentioned in map(mentions, (*conditions, *having, *terms)):
            yield from (a for a in mentioned if isinstance(a, sase.SaseAggregate))


def of_block(
    q: sase.SaseQuery, S: Stream, find: Finder, reading: Reading, budget: Budget, operations: Operations
) -> list[Match]:
    """Return the matches of one query block, sorted."""
    found = [m for m in timed_items(find(q, S, reading, budget, operations), 1) if _has(q, m, S, operations)]
    if q.returned.non_overlap:
        found = without_overlap(q, found, S, reading)
    return sorted(
        Match(max(events), events, tuple(sorted(m)), result_of(result(q, m, S, operations)))
        for m in timed_items(found, 1)
        if (events := positions_of(m))
    )


def positions_of(m: Bindings) -> tuple[int, ...]:
    """Return all positions that a match binds."""
    return tuple(sorted({p for _, positions in m for p in positions}))


def _has(q: sase.SaseQuery, m: Bindings, S: Sequence[Event], operations: Operations) -> bool:
    return q.having is None or satisfied(q.having, value_of(dict(m), S, operations))


# --- NON-OVERLAP ------------------------------------------------------------------------------------------------------


def without_overlap(
    q: sase.SaseQuery, found: Iterable[Bindings], S: Sequence[Event], reading: Reading
) -> list[Bindings]:
    """Return the matches that NON-OVERLAP keeps: none overlaps another match of its partition (icde08, section II.C).

    Matches are considered in the order of the reading; each is kept unless it overlaps a match that is kept already.
    """
    taken: dict[object, list[tuple[int, int]]] = {}
    kept = []
    # The match itself breaks ties, or the result would depend on the order in which an evaluator finds matches.
    for m in timed_items(sorted(found, key=lambda m: (_preference(positions_of(m), reading), m))):
        # The last position stands twice, so that a match of one event can be unpacked too.
        first, *_, last = (*positions_of(m), positions_of(m)[-1])
        others = taken.setdefault(_partition(q, S[first]), [])
        if all(last < start or end < first for start, end in others):
            others.append((first, last))
            kept.append(m)
    return kept


def _preference(positions: tuple[int, ...], reading: Reading) -> tuple[int, ...]:
    start, end = positions[0], positions[-1]
    match reading.non_overlap:
        case "earliest_end":
            return (end, start)
        case "earliest_start":
            return (start, end)
        case "longest":
            return (-len(positions), end, start)


def _partition(q: sase.SaseQuery, event: Event) -> object:
    """Return the event's values for the equivalence tests, with their kinds; all events of a match have the same."""
    values = (event.get(attribute) for attribute, _ in equivalences(q))
    return tuple((None if value is None else kind(value), value) for value in values)


# --- streams of result events -----------------------------------------------------------------------------------------


def _event(made: Result, type_: str, last: Event) -> Event:
    """Return the result event of a match, with the time of the match's last event unless RETURN gives a time."""
    time = last.get(TIME)
    attributes = {} if time is None else {TIME: time}
    return Event(type_, attributes | {name: value for name, value in made.attributes.items() if value is not None})


def _schema(types: Types) -> Schema | None:
    """Return the schema of a stream of result events; None if a value type is not known."""
    known = {
        name: {a: value_type for a, value_type in attributes.items() if value_type is not None}
        for name, attributes in types.items()
    }
    return Schema(known) if known == types else None


# ---------------------------------------------------------------------------------------------------------------------
# Find matches that are right by definition but may surprise: open matches, and matches of events without a key.
#
# An open match holds only because the stream ends: its pattern ends in a negation, and its window is not over. It is a
# match in the reading stream_end=stops, but not in stream_end=waits (docs/decisions/sase.md). A user who reads a file
# that is still being written wants to know the open matches.


def open_test(q: sase.Tree, S: Stream, reading: Reading) -> Callable[[Match], bool] | None:
    """Return a function that tells whether later events could still remove a match, which is then called open.

    Return None if no match can be open. Only single query blocks over the input are considered.
    """
    if not isinstance(q, sase.SaseQuery) or q.source is not None or q.within is None or reading.stream_end == "waits":
        return None
    if not q.pattern[-1].negated or all(k.negated for k in q.pattern):
        return None
    width, closed = q.within.seconds, reading.window == "closed"
    per_second = 10**6 if any(isinstance(event.get(TIME), datetime) for event in S) else 1
    times = [_ticks(event.get(TIME), per_second) for event in S]
    # The maximum and not the last time: a stream may be out of order, and one late event is enough to end a window.
    latest: list[float | Microseconds | None] = [None] * (len(times) + 1)  # the latest time from each position on
    for p in reversed(range(len(times))):
        time, after = times[p], latest[p + 1]
        latest[p] = after if time is None else time if after is None else max(time, after)

    def is_open(match: Match) -> bool:
        begin, last = times[match.events[0]], latest[match.events[-1] + 1]
        # No time shows that the window is over.
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
                        f"[{show_name(name)}] compares the events of a match, but here a match has only one event. So "
                        f"events of {show_name(k.type)} without {name} match too, such as event {lacking[0]} "
                        f"({len(lacking)} in all). To leave them out, add {term} = {term}"
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
