"""Mutants that find the right bindings and answer something else: HAVING, RETURN, NON-OVERLAP, UNION, composition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from cerify.semantics.arguments import Budget
from cerify.semantics.events import TIME, Bindings, Event, Match, Stream, result_of
from cerify.semantics.predicates import Attribute, satisfied
from cerify.semantics.sase import clauses, interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import Bound, bindings, value_of
from cerify.semantics.sase.syntax import DECIDED, Operations, Reading
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.sase.model import Answers, wrong
from proofs_tests.tools.mutants.sase.patterns import consuming
from proofs_tests.tools.mutants.sase.queries import with_conjuncts
from proofs_tests.tools.mutants.sase.ways import answered, asked, finding, kept, read, valued


def _result(change: Callable[[str, Any], tuple[str, Any] | None]) -> Answers:
    """Results with other attributes."""

    def changed(m: Match) -> Match:
        given = [] if m.result is None else [change(*item) for item in m.result.attributes.items()]
        return replace(m, result=result_of(dict(item for item in given if item is not None)))

    return answered(changed)


def _without_names(q: sase.SaseQuery) -> sase.SaseQuery:
    items = tuple(replace(item, alias=None) for item in q.returned.items)
    return replace(q, returned=replace(q.returned, items=items))


def _all_in_one(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterable[Bindings]:
    """NON-OVERLAP with all matches in one partition."""
    if not q.returned.non_overlap:
        return found
    if q.having is not None:
        found = [M for M in found if satisfied(q.having, value_of(dict(M), S))]
    untested = with_conjuncts(lambda c: None if isinstance(c.condition, sase.Equivalence) else c, q)
    return interpreter.without_overlap(untested, found, S, DECIDED)


def _before_having(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterable[Bindings]:
    return interpreter.without_overlap(q, found, S, DECIDED) if q.returned.non_overlap else found


def _sharing(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterable[Bindings]:
    """Two matches overlap if they share an event."""
    return consuming(q, S, found) if q.returned.non_overlap else found


def _part(pick: int) -> Answers:
    """One part of a UNION only."""

    def part(q: Any) -> Any:
        match q:
            case sase.SaseUnion(parts):
                return parts[pick]
            case sase.Program(queries):
                return sase.Program(tuple(map(part, queries)))
        return q

    return asked(part)


def _time_of_the_first(q: sase.SaseQuery) -> sase.SaseQuery:
    """Result events that another query reads have the time of the first event of their match."""
    if q.returned.stream is None:
        return q
    k = clauses.positive(q)[0]
    time = sase.Reference(TIME, k.variable, "first" if k.kleene else "only")
    return replace(q, returned=replace(q.returned, items=(*q.returned.items, sase.Item(sase.Simple(time), TIME))))


def _derived(change: Callable[[Stream], list[int]]) -> Answers:
    """A derived stream with some of its events only, or in another order."""

    def find(
        q: sase.SaseQuery, S: Stream, reading: Reading, budget: Budget, operations: Operations
    ) -> Iterable[Bindings]:
        if q.source is None:
            return bindings(q, S, reading, budget, operations)
        order = change(S)
        found = bindings(q, Stream([S[p] for p in order], S.schema), reading, budget, operations)
        return {tuple((a, tuple(sorted(order[p] for p in at))) for a, at in M) for M in found}

    return finding(find)


def _different(S: Stream) -> list[int]:
    """Result events that are equal are one."""

    def said(event: Event) -> object:
        return event.type, tuple(sorted((name, repr(v)) for name, v in event.attributes.items() if name != TIME))

    return [p for p, event in enumerate(S) if said(event) not in map(said, S[:p])]


def _inner_having(q: sase.SaseQuery) -> sase.SaseQuery:
    return q if q.returned.stream is None else replace(q, having=None)


def _absent_is_0(a: Attribute, bound: Bound, S: Stream) -> Value | None:
    value = value_of(bound, S)(a)
    return 0 if value is None else value


RESULTS = (
    *wrong("having", {"ignored": read(lambda q: replace(q, having=None))}),
    *wrong(
        "return",
        {
            "series backwards": _result(lambda name, v: (name, v[::-1] if isinstance(v, list) else v)),
            "the first of a series": _result(lambda name, v: (name, v[:1] if isinstance(v, list) else v)),
            "absent values left out": _result(lambda name, v: None if v is None else (name, v)),
            "AS ignored": read(_without_names),
        },
    ),
    *wrong(
        "non-overlap",
        {
            "ignored": read(lambda q: replace(q, returned=replace(q.returned, non_overlap=False))),
            "one partition": kept(_all_in_one),
            "before HAVING": kept(_before_having),
            "events shared": kept(_sharing),
        },
    ),
    *wrong("union", {"the first part": _part(0), "the last part": _part(-1)}),
    *wrong(
        "composition",
        {
            "the time of the first event": read(_time_of_the_first),
            "equal results are one event": _derived(_different),
            "HAVING of the first query ignored": read(_inner_having),
            "backwards": _derived(lambda S: list(range(len(S)))[::-1]),
        },
    ),
    *wrong("values", {"absent is 0": valued(_absent_is_0)}),
)
