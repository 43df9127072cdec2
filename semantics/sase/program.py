"""The answers of a query: HAVING, NON-OVERLAP, RETURN, UNION and composition on top of what finds its bindings.

A result event happens when the last event of its match does; a stream of result events is in the order of these. A
match of a query that reads such a stream binds positions of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from cerify.semantics.budget import Budget, timed_items
from cerify.semantics.events import TIME, Bindings, Event, Match, Result, Schema, Stream, result_of
from cerify.semantics.predicates import mentions, satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.clauses import conjuncts, equivalences
from cerify.semantics.sase.conditions import value_of
from cerify.semantics.sase.folding import operation_of
from cerify.semantics.sase.naming import type_of
from cerify.semantics.sase.reading import DECIDED, Reading
from cerify.semantics.sase.results import result
from cerify.semantics.sase.streams import blocks_of, in_order, queries_of, source_of, stream_of
from cerify.semantics.sase.typed import Types, derived_types
from cerify.semantics.sase.wellformed import require_wellformed
from cerify.semantics.values import kind

Finder: TypeAlias = Callable[[sase.Query, Stream, Reading, Budget, Operations], Iterable[Bindings]]
"""What finds the bindings that PATTERN, WHERE and WITHIN of one query block describe (section 2.2)."""


def matches_of(
    q: sase.Tree,
    S: Stream,
    find: Finder,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> list[Match]:
    """All matches of a query, of the last one of a program, sorted, with their results.

    Raises IllFormed, Unsupported, BudgetExceeded.
    """
    require_wellformed(q)
    for aggregate in aggregates(q):
        operation_of(aggregate, operations)  # one that is not registered is told at once
    streams: dict[str | None, Stream] = {None: S}
    types = derived_types(q, S.schema)
    asked = queries_of(q)[-1]
    for query in in_order(q):
        read = streams[source_of(blocks_of(query)[0])]
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
    raise AssertionError("the query asked is one of the program's")


def aggregates(q: sase.Tree) -> Iterator[sase.Aggregate]:
    """The aggregates of all conditions and results."""
    for part in (part for query in queries_of(q) for part in blocks_of(query)):
        conditions = (c.condition for c in conjuncts(part) if not isinstance(c.condition, sase.Equivalence))
        terms = (item.output.term for item in part.returned.items if isinstance(item.output, sase.Simple))
        having = () if part.having is None else (part.having,)
        for mentioned in map(mentions, (*conditions, *having, *terms)):
            yield from (a for a in mentioned if isinstance(a, sase.Aggregate))


def of_block(
    q: sase.Query, S: Stream, find: Finder, reading: Reading, budget: Budget, operations: Operations
) -> list[Match]:
    """The matches of one query block, sorted."""
    found = [m for m in timed_items(find(q, S, reading, budget, operations), 1) if _has(q, m, S, operations)]
    if q.returned.non_overlap:
        found = without_overlap(q, found, S, reading)
    return sorted(
        Match(max(events), events, tuple(sorted(m)), result_of(result(q, m, S, operations)))
        for m in timed_items(found, 1)
        if (events := positions_of(m))
    )


def positions_of(m: Bindings) -> tuple[int, ...]:
    """All positions that a match binds."""
    return tuple(sorted({p for _, positions in m for p in positions}))


def _has(q: sase.Query, m: Bindings, S: Sequence[Event], operations: Operations) -> bool:
    return q.having is None or satisfied(q.having, value_of(dict(m), S, operations))


# --- NON-OVERLAP ------------------------------------------------------------------------------------------------------


def without_overlap(q: sase.Query, found: Iterable[Bindings], S: Sequence[Event], reading: Reading) -> list[Bindings]:
    """The matches that NON-OVERLAP leaves: of those of a partition that overlap, one (icde08, section II.C).

    They are taken in the order of the reading, each if it overlaps none that is taken already.
    """
    taken: dict[object, list[tuple[int, int]]] = {}
    kept = []
    for m in timed_items(sorted(found, key=lambda m: (_preference(positions_of(m), reading), m))):
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


def _partition(q: sase.Query, event: Event) -> object:
    """The values of the equivalence tests in an event, with their kinds; all events of a match agree on them."""
    values = (event.get(attribute) for attribute, _ in equivalences(q))
    return tuple((None if value is None else kind(value), value) for value in values)


# --- streams of result events -----------------------------------------------------------------------------------------


def _event(made: Result, type_: str, last: Event) -> Event:
    """The result event of a match, with the time of its last event unless RETURN gives it one."""
    time = last.get(TIME)
    attributes = {} if time is None else {TIME: time}
    return Event(type_, attributes | {name: value for name, value in made.attributes.items() if value is not None})


def _schema(types: Types) -> Schema | None:
    """The schema of a stream of result events, None where a value type is not known."""
    known = {
        name: {a: value_type for a, value_type in attributes.items() if value_type is not None}
        for name, attributes in types.items()
    }
    return Schema(known) if known == types else None
