"""Mutants that get conditions wrong: on one event, on the event before, and on what is selected so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cerify.semantics.events import Stream
from cerify.semantics.predicates import Attribute
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import Bound, Chosen, Conditions, SaseDefinition, value_of
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.sase.model import wrong
from proofs_tests.tools.mutants.sase.queries import placing, without
from proofs_tests.tools.mutants.sase.ways import by, read, valued


def _first_block(q: sase.SaseQuery) -> sase.SaseQuery:
    return replace(q, where=(*q.where[:1], *(replace(b, conjuncts=()) for b in q.where[1:])))


class _NotOfTheFirst(SaseDefinition):
    """a[i] speaks of i > 1."""

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        if (chosen and chosen[-1][0] == k) or not self.pattern[k].kleene:
            return super().satisfies(chosen, k, p, conditions)
        first = {place: said for place, said in conditions.items() if place[1] != "each"}
        return super().satisfies(chosen, k, p, first)


class _LaterFromTheFirstOn(SaseDefinition):
    """a[i-1] and a[..i-1] are asked for of the first event too."""

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        bound = dict(self.bindings((*chosen, (k, p))))
        return super().satisfies(chosen, k, p, conditions) and all(
            self.satisfied(c, bound) for c in conditions.get((k, "later"), ())
        )


def _previous_in_stream(a: Attribute, bound: Bound, S: Stream) -> Value | None:
    if isinstance(a, sase.Reference) and a.place == "previous" and (at := bound.get(a.variable or "", ())):
        return S[at[-1] - 1].get(a.name) if at[-1] else None
    return value_of(bound, S)(a)


def _running(
    change: Callable[[tuple[int, ...]], tuple[int, ...]],
) -> Callable[[Attribute, Bound, Stream], Value | None]:
    """A running aggregate over other positions than all but the last."""

    def value(a: Attribute, bound: Bound, S: Stream) -> Value | None:
        if isinstance(a, sase.SaseAggregate) and a.running:
            at = change(tuple(bound.get(a.variable or "", ())))
            return value_of({**bound, a.variable or "": at}, S)(replace(a, running=False))
        return value_of(bound, S)(a)

    return value


CONDITIONS = (
    *wrong("predicate", {"ignored": without("first"), "one block only": read(_first_block)}),
    *wrong(
        "iterator",
        {
            "of the first event only": placing("current", "first", on="each"),
            "not of the first event": by(_NotOfTheFirst),
            "of the last event only": placing("current", "last", on="each"),
        },
    ),
    *wrong(
        "correlated",
        {
            "with the first event": placing("previous", "first"),
            "a[1] is the event before": placing("first", "previous", on="later"),
            "the event before in the stream": valued(_previous_in_stream),
            "from the first event on": by(_LaterFromTheFirstOn),
        },
    ),
    *wrong(
        "running",
        {
            "with the event itself": valued(_running(lambda at: at)),
            "the event before alone": valued(_running(lambda at: at[-2:-1])),
            "without the first event": valued(_running(lambda at: at[1:-1])),
        },
    ),
)
