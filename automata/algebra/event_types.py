"""The coarsest algebra of tuple predicates: it knows that an event has one type, and of attributes it knows nothing.

What it calls unsatisfiable is; what it calls satisfiable may still be empty, which costs size and never correctness:
no event is ever in an empty predicate.
"""

from __future__ import annotations

from typing import assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.predicates import atoms, outcomes

OTHER = None  # any event type that the predicate does not name


def satisfiable(predicate: pred.Predicate) -> bool:
    """Whether some event may be in the predicate, its comparisons taken as free choices."""
    names = {atom.type for atom in atoms(predicate) if isinstance(atom, pred.OfType)}
    return any(outcomes(predicate, lambda atom, name=name: _possible(atom, name))[0] for name in [*names, OTHER])  # type: ignore[misc]


def _possible(atom: pred.Atomic, name: str | None) -> tuple[bool, bool]:
    """Whether the predicate can be true, and whether it can be false, of an event of the type."""
    match atom:
        case pred.Anything():
            return True, False
        case pred.OfType(R):
            return name == R, name != R
        case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
            return True, True
        case _:
            assert_never(atom)
