"""What two evaluators disagree about: the operators of the shrunk query, and how the answers differ.

Two disagreements with the same cause are likely to be one fault. It is a guess, and no more: one fault may have several
causes in this sense, and several faults one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cerify.equivalence.differential.campaign import Disagreement
from cerify.equivalence.differential.judge import Answer, failure
from cerify.equivalence.shrink.sase import weight as weigh_sase
from cerify.equivalence.shrink.weight import Weight, weight
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.syntax import subformulas
from cerify.semantics.events import Match
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.fragment import operators, strategies

Shape: TypeAlias = Literal["missing", "extra", "missing and extra", "position", "bindings", "result"] | str
"""How the right answer differs from the left: matches are missing, are too many, are at another position, are bound
otherwise, have another result; or the kind of failure of one of the two."""


@dataclass(frozen=True, order=True)
class Cause:
    """The operators of the query, sorted, and the shape of the difference."""

    operators: tuple[str, ...]
    shape: Shape

    def __str__(self) -> str:
        return f"{' '.join(self.operators) or 'an event type'}: {self.shape}"


def cause(d: Disagreement) -> Cause:
    """The cause of a disagreement."""
    if isinstance(d.phi, sase.Query):
        used = {*operators(d.phi), *strategies(d.phi)}
    else:
        used = {OPERATORS[type(psi)].symbol for psi in subformulas(d.phi) if psi.operands}
    return Cause(tuple(sorted(used)), shape(d.left, d.right))


def shape(left: Answer, right: Answer) -> Shape:
    """How the answers differ."""
    if isinstance(left, str) or isinstance(right, str):
        return failure(right) or f"{failure(left)} of the reference"
    missing, extra = left - right, right - left
    if _same(missing, extra, lambda match: (match.at, match.events, match.bindings)):
        return "result"
    if _same(missing, extra, lambda match: (match.at, match.events)):
        return "bindings"
    if _same(missing, extra, lambda match: (match.events, match.bindings)):
        return "position"
    return "missing and extra" if missing and extra else "missing" if missing else "extra"


def by_cause(disagreements: Iterable[Disagreement]) -> dict[Cause, list[Disagreement]]:
    """The disagreements of each cause, the lightest first; the causes in the order in which they were met."""
    groups: dict[Cause, list[Disagreement]] = {}
    for d in disagreements:
        groups.setdefault(cause(d), []).append(d)
    return {why: sorted(group, key=lambda d: (_weight(d), d.index)) for why, group in groups.items()}


def _weight(d: Disagreement) -> Weight:
    return weigh_sase(d.phi, d.stream) if isinstance(d.phi, sase.Query) else weight(d.phi, d.stream)


def _same(missing: frozenset[Match], extra: frozenset[Match], look: Callable[[Match], object]) -> bool:
    """Whether the matches are the same in what is looked at."""
    return bool(missing) and set(map(look, missing)) == set(map(look, extra))
