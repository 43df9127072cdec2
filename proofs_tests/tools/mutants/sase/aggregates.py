"""Mutants that take one aggregate for another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from cerify.semantics.predicates import Arithmetic, Attribute, Term, mapped_predicate
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import NO_OPERATIONS, Operation, Operations, names_of
from proofs_tests.tools.mutants.sase.model import Answers, wrong
from proofs_tests.tools.mutants.sase.queries import with_conjuncts
from proofs_tests.tools.mutants.sase.ways import read


def _computed(function: str, operation: Operation) -> Answers:
    """The aggregate computed in another way."""
    return _instead(function, lambda a: replace(a, function="wrong", parameter=None), {"wrong": operation})


def _named(function: str, other: str) -> Answers:
    """One function taken for another."""
    return _instead(function, lambda a: replace(a, function=other))


def _instead(
    function: str, change: Callable[[sase.SaseAggregate], sase.SaseAggregate], operations: Operations = NO_OPERATIONS
) -> Answers:
    """An aggregate taken for another, in all clauses; the results keep their names."""

    def attribute(a: Attribute) -> Attribute:
        return change(a) if isinstance(a, sase.SaseAggregate) and a.function == function else a

    def term(t: Term) -> Term:
        if isinstance(t, Arithmetic):
            return Arithmetic(t.operator, term(t.left), term(t.right))
        return attribute(t) if isinstance(t, Attribute) else t

    def conjunct(c: sase.Conjunct) -> sase.Conjunct:
        if isinstance(c.condition, sase.Equivalence):
            return c
        return replace(c, condition=mapped_predicate(c.condition, attribute))

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        items = tuple(
            sase.Item(sase.Simple(term(item.output.term)), name) if isinstance(item.output, sase.Simple) else item
            for item, name in zip(q.returned.items, names_of(q.returned), strict=True)
        )
        if all(a.output == b.output for a, b in zip(items, q.returned.items, strict=True)):
            items = q.returned.items
        having = None if q.having is None else mapped_predicate(q.having, attribute)
        return replace(with_conjuncts(conjunct, q), having=having, returned=replace(q.returned, items=items))

    return read(other, operations)


def _of_different(value: Callable[[frozenset[Any]], Any]) -> Operation:
    """Of each value once."""
    return Operation(frozenset(), lambda v: frozenset([v]), frozenset.union, value)


def _zero_if_none(function: Callable[[Iterable[Any]], Any]) -> Operation:
    return Operation((), lambda v: (v,), lambda a, b: a + b, lambda state: function(state) if state else 0)


FLOORED = Operation(
    (0, 0), lambda v: (v, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s: s[0] // s[1] if s[1] else None
)

AGGREGATES = wrong(
    "aggregate",
    {
        "sum of different values": _computed("sum", _of_different(sum)),
        "avg rounded down": _computed("avg", FLOORED),
        "avg is sum": _named("avg", "sum"),
        "count of all events": _instead("count", lambda a: replace(a, name="")),
        "min of nothing is 0": _computed("min", _zero_if_none(min)),
        "max of nothing is 0": _computed("max", _zero_if_none(max)),
        "min and max": _named("min", "max"),
        "highest of different values": _computed(
            "highest", _of_different(lambda state: sorted(state, reverse=True)[1] if len(state) > 1 else None)
        ),
        "highest counted from the other end": _named("highest", "lowest"),
        "highest is max": _instead("highest", lambda a: replace(a, function="max", parameter=None)),
        "lowest is min": _instead("lowest", lambda a: replace(a, function="min", parameter=None)),
    },
)
