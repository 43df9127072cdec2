"""Whether AFTER MATCH SKIP TO can fail, as far as the pattern says without its conditions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import permutations, product
from typing import NamedTuple, assert_never

from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize


class Shape(NamedTuple):
    """What a labelling has: any rows; the variable in its first row; the variable in a later one."""

    rows: bool = False
    first: bool = False
    later: bool = False


Shapes = frozenset[Shape]
EMPTY: Shapes = frozenset({Shape()})


def skip_failures(q: MatchRecognize) -> list[str]:
    """In which ways the skip of a clause can fail, each as a sentence; none if it cannot."""
    A = q.skip.variable
    if A is None or A not in q.unions:
        return []
    found = shapes(q.pattern, q.unions[A])
    failures = []
    if any(one.rows and not (one.first or one.later) for one in found):
        failures.append(f"a match may have no row of {A} to skip to")
    if any(one.first and (q.skip.to == "first" or not one.later) for one in found):
        failures.append(f"the row of {A} to skip to may be the first one of the match")
    return failures


def shapes(p: rows.Pattern, wanted: frozenset[str]) -> Shapes:
    """The shapes of the labellings of a pattern, whose variables may be any of `wanted`."""
    match p:
        case rows.Variable(A):
            return frozenset({Shape(True, A in wanted)})
        case rows.Empty() | rows.Anchor():
            return EMPTY
        case rows.Concatenation(left, right):
            return _joined((shapes(left, wanted), shapes(right, wanted)))
        case rows.Alternation(left, right):
            return shapes(left, wanted) | shapes(right, wanted)
        case rows.Permute(parts):
            return frozenset().union(*map(_joined, permutations([shapes(part, wanted) for part in parts])))
        case rows.Exclusion(inner):
            return shapes(inner, wanted)
        case rows.Quantified(inner, low, high):
            return _iterated(shapes(inner, wanted), low, high)
        case _:
            assert_never(p)


def _joined(parts: Iterable[Shapes]) -> Shapes:
    return reduce(lambda one, other: frozenset(_after(u, v) for u, v in product(one, other)), parts, EMPTY)


def _after(u: Shape, v: Shape) -> Shape:
    return Shape(True, u.first, u.later or v.first or v.later) if u.rows else v


def _iterated(once: Shapes, low: int, high: int | None) -> Shapes:
    """The shapes after any number of iterations between two bounds; they repeat after a few."""
    power, found, seen = EMPTY, frozenset[Shape](), set[tuple[bool, Shapes]]()
    n = 0
    while high is None or n <= high:
        if n >= low:
            found |= power
        if (key := (n >= low, power)) in seen and n >= low:
            break
        seen.add(key)
        power, n = _joined((power, once)), n + 1
    return found
