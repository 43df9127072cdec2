"""The coarsest algebra of tuple predicates: it knows that an event has one type, and of attributes it knows nothing.

What it calls unsatisfiable is; what it calls satisfiable may still be empty, which costs size and never correctness:
no event is ever in an empty predicate.
"""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.predicates import (
    Anything,
    Both,
    Comparison,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
)


def satisfiable(predicate: Predicate) -> bool:
    """Whether some event may be in the predicate, its comparisons taken as free choices."""
    names = _type_names(predicate)
    return any(_possible(predicate, name)[0] for name in [*names, _OTHER])


_OTHER = None  # any event type that the predicate does not name


def _type_names(predicate: Predicate) -> set[str]:
    match predicate:
        case OfType(name):
            return {name}
        case Not(inner):
            return _type_names(inner)
        case Both(left, right) | Either(left, right):
            return _type_names(left) | _type_names(right)
        case Anything() | Comparison() | OneOf() | InRange() | Like():
            return set()
        case _:
            assert_never(predicate)


def _possible(predicate: Predicate, name: str | None) -> tuple[bool, bool]:
    """Whether the predicate can be true, and whether it can be false, of an event of the type."""
    match predicate:
        case Anything():
            return True, False
        case OfType(R):
            return name == R, name != R
        case Not(inner):
            true, false = _possible(inner, name)
            return false, true
        case Both(left, right):
            (t1, f1), (t2, f2) = _possible(left, name), _possible(right, name)
            return t1 and t2, f1 or f2
        case Either(left, right):
            (t1, f1), (t2, f2) = _possible(left, name), _possible(right, name)
            return t1 or t2, f1 and f2
        case Comparison() | OneOf() | InRange() | Like():
            return True, True
        case _:
            assert_never(predicate)
