"""The answers of a query by its automata: HAVING, NON-OVERLAP, RETURN, UNION and composition (sase07, section 2.2).

They are written from the papers a second time: with semantics/sase/program.py, the definition, they share the names of
the attributes that RETURN makes (semantics/sase/naming.py). The caller has checked that the query is well-formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, assert_never

from cerify.automata.nfab.edges import OF_PLACE, blocks_of
from cerify.automata.nfab.folds import fold_of
from cerify.automata.nfab.instances import instantiated, values_in
from cerify.semantics.budget import Budget, timed_items
from cerify.semantics.events import TIME, Bindings, Event, Match, Stream, result_of
from cerify.semantics.predicates import Anything, Comparison, Predicate, evaluate, mentions, satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.naming import names_of, type_of
from cerify.semantics.sase.reading import DECIDED, Reading
from cerify.semantics.values import Value, kind

Finder: TypeAlias = Callable[[sase.Query, Stream, Reading, Budget, Operations], Iterable[Bindings]]
"""An evaluator of what PATTERN, WHERE and WITHIN of one block bind: run, answers or compiled."""

Composed: TypeAlias = dict[str, Value | None]


def matches_of(
    q: sase.Tree,
    S: Stream,
    find: Finder,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> list[Match]:
    """All matches of a query, of the last one of a program, sorted, with their results.

    Raises Unsupported for an aggregate that is not registered, IllFormed, BudgetExceeded.
    """
    return _Composition(q, S, find, reading, budget, operations).matches()


class _Composition:
    """The queries of a program over an input stream; a stream is made when the first query reads it."""

    def __init__(
        self, q: sase.Tree, S: Stream, find: Finder, reading: Reading, budget: Budget, operations: Operations
    ) -> None:
        self.queries = q.queries if isinstance(q, sase.Program) else (q,)
        self.find, self.reading, self.budget, self.operations = find, reading, budget, operations
        self.streams: dict[str, Stream] = {sase.INPUT_STREAM: S}
        for part in (part for query in self.queries for part in blocks_of(query)):
            for a in _aggregates(part):
                fold_of(a, operations)  # raises Unsupported before any event is read

    def matches(self) -> list[Match]:
        """The matches of the last query."""
        return sorted({m for m, _ in self._answers(self.queries[-1])})

    def _answers(self, query: sase.Query | sase.Union) -> set[tuple[Match, str]]:
        """The matches of all blocks, each with the type of its result event."""
        return {
            (m, type_of(part.returned))
            for part in blocks_of(query)
            for m in self._of_block(part, self._stream(part.source or sase.INPUT_STREAM))
        }

    def _stream(self, name: str) -> Stream:
        """The stream of that name: the input, or the result events of the query that names it."""
        if name not in self.streams:
            (query,) = (q for q in self.queries if any(part.returned.stream == name for part in blocks_of(q)))
            read = self._stream(blocks_of(query)[0].source or sase.INPUT_STREAM)
            answers = sorted(self._answers(query))
            self.streams[name] = Stream(_result_event(m, type_, read[m.at]) for m, type_ in answers)
        return self.streams[name]

    def _of_block(self, q: sase.Query, S: Stream) -> Iterator[Match]:
        found: Iterable[Bindings] = self.find(q, S, self.reading, self.budget, self.operations)
        having = q.having
        if having is not None:
            found = [M for M in timed_items(found, 1) if satisfied(having, values_in(M, S, self.operations))]
        if q.returned.non_overlap:
            found = non_overlapping(q, found, S, self.reading)
        for M in timed_items(found, 1):
            events = positions_of(M)
            yield Match(events[-1], events, tuple(sorted(M)), result_of(attributes_of(q, M, S, self.operations)))


def positions_of(M: Bindings) -> tuple[int, ...]:
    """All positions that a match binds, ascending."""
    return tuple(sorted(p for _, positions in M for p in positions))


# --- RETURN -----------------------------------------------------------------------------------------------------------


def attributes_of(
    q: sase.Query, M: Bindings, S: Sequence[Event], operations: Operations = NO_OPERATIONS
) -> dict[str, object]:
    """The attributes of the result event of a match, in the order of RETURN."""
    names = names_of(q.returned)
    return {name: _value(item.output, M, S, operations) for name, item in zip(names, q.returned.items, strict=True)}


def _value(output: sase.Output, M: Bindings, S: Sequence[Event], operations: Operations) -> object:
    """A value of one of the four types of section 2.1: atomic or a sequence, simple or composite."""
    events = dict(M)
    match output:
        case sase.Simple(term):
            return evaluate(term, values_in(M, S, operations))
        case sase.Series(variable, name):
            return [S[p].get(name) for p in events[variable]]
        case sase.Composite(variable, place, names):
            p = instantiated(OF_PLACE[place], events[variable])
            return None if p is None else _composed(S[p], names)
        case sase.CompositeSeries(variable, names):
            return [_composed(S[p], names) for p in events[variable]]
        case _:
            assert_never(output)


def _composed(event: Event, names: tuple[str, ...]) -> Composed:
    return {name: event.get(name) for name in names}


def _result_event(m: Match, type_: str, last: Event) -> Event:
    """The event that a match becomes in a named stream, with the time of its last event unless RETURN gives one."""
    made = {} if m.result is None else dict(m.result.attributes)
    attributes = {TIME: last.get(TIME), **{name: value for name, value in made.items() if value is not None}}
    return Event(type_, {name: value for name, value in attributes.items() if value is not None})


def _aggregates(q: sase.Query) -> Iterator[sase.Aggregate]:
    """The aggregates of WHERE, HAVING and RETURN."""
    predicates: list[Predicate] = [q.having or Anything()]
    for block in q.where:
        predicates += [c.condition for c in block.conjuncts if not isinstance(c.condition, sase.Equivalence)]
    terms = [item.output.term for item in q.returned.items if isinstance(item.output, sase.Simple)]
    predicates += [Comparison("=", term, term) for term in terms]
    for p in predicates:
        yield from (a for a in mentions(p) if isinstance(a, sase.Aggregate))


# --- NON-OVERLAP ------------------------------------------------------------------------------------------------------


def non_overlapping(q: sase.Query, found: Iterable[Bindings], S: Sequence[Event], reading: Reading) -> list[Bindings]:
    """The matches that NON-OVERLAP leaves (icde08, section II.C).

    Of each partition that is the best match, then the best of those that do not overlap it, and so on; the reading says
    which is the best.
    """
    partitions: dict[object, list[Bindings]] = {}
    for M in found:
        partitions.setdefault(_partition(q, S[positions_of(M)[0]]), []).append(M)
    chosen = []
    for left in partitions.values():
        while left:
            best = min(timed_items(left), key=lambda M: (_rank(positions_of(M), reading), M))
            chosen.append(best)
            left = [M for M in timed_items(left) if not _overlap(positions_of(M), positions_of(best))]
    return chosen


def _overlap(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    return left[0] <= right[-1] and right[0] <= left[-1]


def _rank(positions: tuple[int, ...], reading: Reading) -> tuple[int, ...]:
    """Smaller for the better match."""
    first, last = positions[0], positions[-1]
    match reading.non_overlap:
        case "earliest_end":
            return last, first
        case "earliest_start":
            return first, last
        case "longest":
            return -len(positions), last, first
        case _:
            assert_never(reading.non_overlap)


def _partition(q: sase.Query, event: Event) -> object:
    """The values of an event that the equivalence tests compare, with their kinds."""
    key = []
    for block in q.where:
        for conjunct in block.conjuncts:
            if isinstance(conjunct.condition, sase.Equivalence):
                value = event.get(conjunct.condition.attribute)
                key.append(None if value is None else (kind(value), value))
    return tuple(key)
