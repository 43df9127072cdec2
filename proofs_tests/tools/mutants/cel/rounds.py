"""Mutants that count the rounds of an iteration wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import Meaning, Valuations, first, last
from cerify.semantics.cel.syntax import ContiguousRepeat, Formula, Repeat
from cerify.semantics.events import Stream
from proofs_tests.tools.mutants.cel.model import CelMutant, Clause
from proofs_tests.tools.mutants.cel.queries import instead


def _rounds(
    feature: str, kind: type[Repeat], other: type[Repeat], plus: Callable[[Formula], Formula]
) -> Iterator[CelMutant]:
    def mutant(mistake: str, local: Callable[[Repeat], Formula]) -> CelMutant:
        name = f"{feature}: {mistake}"
        return CelMutant(name, instead(lambda phi: local(phi) if type(phi) is kind and isinstance(phi, kind) else None))

    def bounded(phi: Repeat, least: int, most: int | None) -> Formula:
        return kind(phi.phi, least, None if most is None else max(least, most))

    yield mutant("one round fewer is enough", lambda phi: bounded(phi, max(1, phi.least - 1), phi.most))
    yield mutant("one round more is needed", lambda phi: bounded(phi, phi.least + 1, phi.most))
    yield mutant("one round more is allowed", lambda phi: bounded(phi, phi.least, phi.most and phi.most + 1))
    yield mutant("no upper bound", lambda phi: bounded(phi, phi.least, None))
    yield mutant("no lower bound", lambda phi: bounded(phi, 1, phi.most))
    yield mutant("the lower bound alone", lambda phi: bounded(phi, phi.least, phi.least))
    yield mutant("the bounds ignored", lambda phi: plus(phi.phi))
    yield mutant("once", lambda phi: phi.phi)
    yield mutant("greedy", cel.Max)
    yield mutant("the other kind", lambda phi: other(phi.phi, phi.least, phi.most))


ROUNDS: tuple[CelMutant, ...] = (
    *_rounds("repeat", Repeat, ContiguousRepeat, cel.Plus),
    *_rounds("crepeat", ContiguousRepeat, Repeat, cel.ContiguousPlus),
)


def _at_most_seven(kind: type[cel.Plus] | type[cel.ContiguousPlus]) -> Clause:
    """An iteration that goes on for seven rounds and no longer."""
    adjacent = kind is cel.ContiguousPlus

    def clause(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Valuations | None:
        if not isinstance(phi, kind):
            return None
        psi = phi.phi

        @cache
        def rounds(most: int, i: int) -> Valuations:
            if most == 1:
                return frozenset(meaning(psi, i, j))
            more = (
                mu1 | mu2
                for k in range(i, j)
                for mu1 in meaning(psi, i, k)
                for mu2 in rounds(most - 1, k + 1)
                if not adjacent or (mu1 and mu2 and last(mu1) == k and first(mu2) == k + 1)
            )
            return frozenset(meaning(psi, i, j)).union(more)

        return rounds(7, i)

    return clause


LONG: tuple[CelMutant, ...] = (
    CelMutant("plus: at most seven times", kind=cel.Plus, clause=_at_most_seven(cel.Plus)),
    CelMutant("cplus: at most seven times", kind=cel.ContiguousPlus, clause=_at_most_seven(cel.ContiguousPlus)),
)
"""Mutants that differ on long streams alone; streams that are chosen by what they kill are too short for them."""
