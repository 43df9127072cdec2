"""What two evaluators disagree about: the operators of the shrunk query, and how the answers differ.

Two disagreements with the same cause are likely to be one fault. It is a guess, and no more: one fault may have several
causes in this sense, and several faults one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cerify.equivalence.differential.campaign import Disagreement
from cerify.equivalence.differential.judge import Answer, failure
from cerify.equivalence.shrink.cel import CEL
from cerify.equivalence.shrink.operations import QueryOperations
from cerify.equivalence.shrink.weight import weight
from cerify.semantics.events import Match

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


def cause(d: Disagreement, language: QueryOperations[Any] = CEL) -> Cause:
    """The cause of a disagreement about a query of that language."""
    return Cause(tuple(sorted(language.operators(d.phi))), shape(d.left, d.right))


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


def by_cause(
    disagreements: Iterable[Disagreement], language: QueryOperations[Any] = CEL
) -> dict[Cause, list[Disagreement]]:
    """The disagreements of each cause, the lightest first; the causes in the order of their first disagreement."""
    groups: dict[Cause, list[Disagreement]] = {}
    for d in disagreements:
        groups.setdefault(cause(d, language), []).append(d)
    return {
        why: sorted(group, key=lambda d: (weight(language, d.phi, d.stream), d.index)) for why, group in groups.items()
    }


def _same(missing: frozenset[Match], extra: frozenset[Match], look: Callable[[Match], object]) -> bool:
    """Whether the matches are the same in what is looked at."""
    return bool(missing) and set(map(look, missing)) == set(map(look, extra))
