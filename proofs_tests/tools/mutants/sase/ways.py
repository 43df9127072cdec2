"""Ways to be wrong: one part of the meaning is another, and all else is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from cerify.semantics.arguments import Budget
from cerify.semantics.events import Bindings, Match, Stream
from cerify.semantics.predicates import Attribute, Predicate, satisfied
from cerify.semantics.sase import interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import Bound, SaseAbsences, SaseDefinition, bindings, matches_by
from cerify.semantics.sase.interpreter import Finder
from cerify.semantics.sase.syntax import NO_OPERATIONS, Operations, Reading
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.sase.model import BUDGET, Answers

Kept: TypeAlias = Callable[[sase.SaseQuery, Stream, list[Bindings]], Iterable[Bindings]]
"""Some of the bindings of a query over a stream, which are given in order."""


def finding(find: Finder) -> Answers:
    """Other bindings."""
    return lambda q, S: interpreter.matches_of(q, S, find, budget=BUDGET)


def by(definition: type[SaseDefinition]) -> Answers:
    """Another definition of what the bindings are."""

    return finding(partial(matches_by, definition))


def absent(absences: type[SaseAbsences]) -> Answers:
    """Another meaning of negation."""

    class Wrong(SaseDefinition):
        def __init__(self, *asked: Any) -> None:
            super().__init__(*asked)
            self.absences = absences(self.q, self.S, self.reading, self.operations, self.watch)

    return by(Wrong)


def valued(value: Callable[[Attribute, Bound, Stream], Value | None]) -> Answers:
    """Another value of the references and aggregates of WHERE."""

    class Wrong(SaseDefinition):
        def satisfied(self, c: Predicate, bound: dict[str, tuple[int, ...]]) -> bool:
            return satisfied(c, lambda attribute: value(attribute, bound, self.S))

    return by(Wrong)


def kept(keep: Kept) -> Answers:
    """Some of the right bindings."""

    def find(
        q: sase.SaseQuery, S: Stream, reading: Reading, budget: Budget, operations: Operations
    ) -> Iterable[Bindings]:
        return keep(q, S, sorted(bindings(q, S, reading, budget, operations)))

    return finding(find)


def asked(other: Callable[[sase.Tree], sase.Tree], operations: Operations = NO_OPERATIONS) -> Answers:
    """Another query is asked."""

    def found(q: sase.Tree, S: Stream) -> list[Match] | None:
        instead = other(q)
        return (
            None if instead == q else interpreter.matches_of(instead, S, bindings, budget=BUDGET, operations=operations)
        )

    return found


def read(other: Callable[[sase.SaseQuery], sase.SaseQuery], operations: Operations = NO_OPERATIONS) -> Answers:
    """Every query block is read as another one."""

    def blocks(q: Any) -> Any:
        match q:
            case sase.SaseUnion(parts):
                return sase.SaseUnion(tuple(map(other, parts)))
            case sase.Program(queries):
                return sase.Program(tuple(map(blocks, queries)))
        return other(q)

    return asked(blocks, operations)


def answered(change: Callable[[Match], Match]) -> Answers:
    """Another answer for each of the right matches."""
    return lambda q, S: sorted({change(m) for m in interpreter.matches_of(q, S, bindings, budget=BUDGET)})
