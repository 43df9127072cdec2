"""Cutting an interval in two, and what is marked in each part: `;`, `:` and STRICT (tods21, Figure 3).

C is what one part marks, D what the other does; a position is an integer, a set an uninterpreted predicate on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import z3

from proofs_tests.lemmas.lemma import lemma

Set: TypeAlias = Callable[..., z3.BoolRef]

C, D = (z3.Function(name, z3.IntSort(), z3.BoolSort()) for name in "CD")
i, j, k, l, f, g, x, y, z = z3.Ints("i j k l f g x y z")


def inside(A: Set, i: z3.ArithRef, j: z3.ArithRef) -> z3.BoolRef:
    """All positions of the set are in the interval."""
    return z3.ForAll(x, z3.Implies(A(x), z3.And(i <= x, x <= j)))


def least(f: z3.ArithRef, A: Set) -> z3.BoolRef:
    """f is the least position of the set."""
    return z3.And(A(f), z3.ForAll(x, z3.Implies(A(x), f <= x)))


def greatest(g: z3.ArithRef, A: Set) -> z3.BoolRef:
    """g is the greatest position of the set."""
    return z3.And(A(g), z3.ForAll(x, z3.Implies(A(x), x <= g)))


def gapless(A: Set) -> z3.BoolRef:
    """The set is an interval: what STRICT asks."""
    return z3.ForAll([x, y, z], z3.Implies(z3.And(A(x), A(z), x <= y, y <= z), A(y)))


def both(x: z3.ArithRef) -> z3.BoolRef:
    """The union of the two sets."""
    return z3.Or(C(x), D(x))


CUT = z3.And(i <= k, k < j, inside(C, i, k), inside(D, k + 1, j))

lemma(
    "intervals.cuts",
    "Cutting off the last part and then the first leaves the same three parts as cutting in the other order.",
    z3.And(i <= l, l < j, i <= k, k < l) == z3.And(i <= k, k < j, k + 1 <= l, l < j),
    z3.And(i <= l, l < j, i <= k, k < l) == z3.And(i <= k, k < j, k <= l, l < j),
)
lemma(
    "intervals.union-inside",
    "What the two parts mark is inside the whole.",
    z3.Implies(CUT, inside(both, i, j)),
    z3.Implies(z3.And(inside(C, i, k), inside(D, k + 1, j)), inside(both, i, j)),
)
lemma(
    "intervals.disjoint",
    "No position is marked in both parts.",
    z3.Implies(CUT, z3.Not(z3.And(C(x), D(x)))),
    z3.Implies(z3.And(inside(C, i, k), inside(D, k, j)), z3.Not(z3.And(C(x), D(x)))),
)
lemma(
    "intervals.first-of-union",
    "The first position marked is that of the first part, if it marks any.",
    z3.Implies(z3.And(CUT, least(f, C)), least(f, both)),
    z3.Implies(z3.And(CUT, least(f, D)), least(f, both)),
)
lemma(
    "intervals.last-of-union",
    "The last position marked is that of the second part, if it marks any.",
    z3.Implies(z3.And(CUT, greatest(g, D)), greatest(g, both)),
    z3.Implies(z3.And(CUT, greatest(g, C)), greatest(g, both)),
)
lemma(
    "intervals.gapless-union",
    "Two sets without gaps that meet at the cut have a union without gaps.",
    z3.Implies(z3.And(CUT, gapless(C), gapless(D), greatest(k, C), least(k + 1, D)), gapless(both)),
    z3.Implies(z3.And(CUT, gapless(C), gapless(D), greatest(f, C), least(g, D)), gapless(both)),
)
lemma(
    "intervals.gapless-parts",
    "If the union of two sets, each with an event, has no gap, then neither has one, and they meet.",
    z3.Implies(
        z3.And(CUT, gapless(both), greatest(f, C), least(g, D)), z3.And(gapless(C), gapless(D), f == k, g == k + 1)
    ),
    z3.Implies(z3.And(CUT, gapless(both), greatest(f, C)), z3.And(gapless(C), gapless(D), f == k)),
)
