"""Mutants that count the rounds of a bounded iteration wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.bounded import ContiguousRepeat, Repeat
from cerify.semantics.cel.syntax import Formula
from proofs_tests.tools.mutants.cel.model import CelMutant
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
