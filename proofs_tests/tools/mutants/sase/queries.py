"""Queries read as others: their strategies, their conditions, and what these speak of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cerify.semantics.predicates import Attribute, mapped_predicate
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import Edge, placed
from proofs_tests.tools.mutants.sase.model import Answers
from proofs_tests.tools.mutants.sase.ways import read


def where(block: Callable[[sase.Block], sase.Block], q: sase.SaseQuery) -> sase.SaseQuery:
    """Other blocks of WHERE."""
    return replace(q, where=tuple(map(block, q.where)))


def with_conjuncts(keep: Callable[[sase.Conjunct], sase.Conjunct | None], q: sase.SaseQuery) -> sase.SaseQuery:
    """Other conjuncts of WHERE, or fewer."""
    return where(lambda b: replace(b, conjuncts=tuple(d for c in b.conjuncts if (d := keep(c)) is not None)), q)


def edge_of(c: sase.Conjunct, q: sase.SaseQuery) -> Edge | None:
    """When a condition is looked at; None for an equivalence test."""
    return None if isinstance(c.condition, sase.Equivalence) else placed(c.condition, q.pattern).edge


def strategy(old: sase.Strategy, new: sase.Strategy) -> Answers:
    """One strategy taken for another, also where none is written."""

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        named = where(lambda b: replace(b, strategy=new) if b.strategy == old else b, q)
        bare = not q.where or any(b.strategy is None for b in q.where)
        if old != sase.DEFAULT or not bare:
            return named
        given = tuple(c for b in q.where for c in b.conjuncts)
        return replace(q, where=(sase.Block(new, tuple(sase.Selected(k.variable) for k in q.pattern), given),))

    return read(other)


def strategies(chosen: Callable[[list[sase.Strategy]], list[sase.Strategy]]) -> Answers:
    """The strategies of a query that has several, in other places."""

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        said = [b.strategy or sase.DEFAULT for b in q.where]
        if len(said) < 2:
            return q
        blocks = zip(q.where, chosen(said), strict=True)
        return replace(q, where=tuple(replace(b, strategy=strategy) for b, strategy in blocks))

    return read(other)


def conjuncts(change: Callable[[sase.Conjunct], sase.Conjunct | None]) -> Answers:
    """Conjuncts of WHERE changed, or left out."""
    return read(lambda q: with_conjuncts(change, q))


def without(edge: Edge) -> Answers:
    """The conditions that are looked at there left out."""
    return read(lambda q: with_conjuncts(lambda c: None if edge_of(c, q) == edge else c, q))


def placing(old: sase.Index, new: sase.Index, on: Edge | None = None) -> Answers:
    """A reference to one event taken for one to another: in all conditions, or in those looked at there."""

    def moved(a: Attribute) -> Attribute:
        return replace(a, place=new) if isinstance(a, sase.Reference) and a.place == old else a

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        def changed(c: sase.Conjunct) -> sase.Conjunct:
            if isinstance(c.condition, sase.Equivalence) or on not in (None, edge_of(c, q)):
                return c
            return replace(c, condition=mapped_predicate(c.condition, moved))

        return with_conjuncts(changed, q)

    return read(other)
