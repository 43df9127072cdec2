"""The orders of the selection strategies (tods21, section 7): Lemma 7.1, and what one more event does to them.

A set of positions is an uninterpreted predicate on the integers, so that nothing bounds it. Two finite sets that differ
have a first and a last position in which they do: that they have is all that is used of their being finite.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from proofs_tests.lemmas.lemma import lemma

C, D, E = (z3.Function(name, z3.IntSort(), z3.BoolSort()) for name in "CDE")
d, e, n, x = z3.Ints("d e n x")
a, b = z3.Bools("a b")


def first(d: z3.ArithRef, C: z3.FuncDeclRef, D: z3.FuncDeclRef) -> z3.BoolRef:
    """d is the first position in which the sets differ."""
    return z3.And(C(d) != D(d), z3.ForAll(x, z3.Implies(x < d, C(x) == D(x))))


def last(d: z3.ArithRef, C: z3.FuncDeclRef, D: z3.FuncDeclRef) -> z3.BoolRef:
    """d is the last position in which the sets differ."""
    return z3.And(C(d) != D(d), z3.ForAll(x, z3.Implies(x > d, C(x) == D(x))))


def transitive(difference: Callable[..., z3.BoolRef], m: z3.ArithRef) -> z3.BoolRef:
    """If D wins over C at d, and E over D at e, then E wins over C at m."""
    below = z3.And(difference(d, C, D), D(d), difference(e, D, E), E(e))
    return z3.Implies(below, z3.And(difference(m, C, E), E(m)))


def lesser(d: z3.ArithRef, e: z3.ArithRef) -> z3.ArithRef:
    """The lesser of the two."""
    return z3.If(d < e, d, e)


def greater(d: z3.ArithRef, e: z3.ArithRef) -> z3.ArithRef:
    """The greater of the two."""
    return z3.If(d < e, e, d)


def before(n: z3.ArithRef, *sets: z3.FuncDeclRef) -> z3.BoolRef:
    """All positions of the sets are before n."""
    return z3.And(*(z3.ForAll(x, z3.Implies(A(x), x < n)) for A in sets))


def extended(A: z3.FuncDeclRef, n: z3.ArithRef, marked: z3.BoolRef) -> Callable[[z3.ArithRef], z3.BoolRef]:
    """The set with n, if it is marked."""
    return lambda x: z3.Or(A(x), z3.And(marked, x == n))


C_, D_ = extended(C, n, a), extended(D, n, b)
EQUAL = z3.ForAll(x, C(x) == D(x))


def within(C: Callable[..., z3.BoolRef], D: Callable[..., z3.BoolRef]) -> z3.BoolRef:
    """C is a subset of D."""
    return z3.ForAll(x, z3.Implies(C(x), D(x)))


def strictly(C: Callable[..., z3.BoolRef], D: Callable[..., z3.BoolRef]) -> z3.BoolRef:
    """C is a proper subset of D."""
    return z3.And(within(C, D), z3.Not(within(D, C)))


lemma(
    "orders.next-antisymmetric",
    "The first position in which two sets differ is in exactly one of them, and there is one such position only.",
    z3.Implies(z3.And(first(d, C, D), first(e, C, D)), z3.And(d == e, C(d) != D(d))),
    z3.Implies(z3.And(first(d, C, D), last(e, C, D)), d == e),
)
lemma(
    "orders.next-transitive",
    "If D wins over C at d, and E over D at e, then E wins over C at the lesser of d and e (NXT).",
    transitive(first, lesser(d, e)),
    transitive(first, greater(d, e)),
)
lemma(
    "orders.last-antisymmetric",
    "The last position in which two sets differ is in exactly one of them, and there is one such position only.",
    z3.Implies(z3.And(last(d, C, D), last(e, C, D)), z3.And(d == e, C(d) != D(d))),
    z3.Implies(z3.And(last(d, C, D), first(e, C, D)), d == e),
)
lemma(
    "orders.last-transitive",
    "If D wins over C at d, and E over D at e, then E wins over C at the greater of d and e (LAST).",
    transitive(last, greater(d, e)),
    transitive(last, lesser(d, e)),
)
lemma(
    "orders.next-extended",
    "One more event does not change who wins under NXT: the first difference stays the first.",
    z3.Implies(z3.And(before(n, C, D), first(d, C, D)), first(d, C_, D_)),
    z3.Implies(z3.And(before(n, C, D), last(d, C, D)), last(d, C_, D_)),
)
lemma(
    "orders.next-tied",
    "Between equal sets, the one that marks the next event wins under NXT.",
    z3.Implies(z3.And(before(n, C, D), EQUAL, a != b), first(n, C_, D_)),
    z3.Implies(z3.And(EQUAL, a != b), first(n, C_, D_)),
)
lemma(
    "orders.last-decided",
    "Under LAST the next event decides, where one marks it and the other does not, whatever was before.",
    z3.Implies(z3.And(before(n, C, D), a != b), last(n, C_, D_)),
    z3.Implies(z3.And(before(n, C, D), z3.Or(a, b)), last(n, C_, D_)),
)
lemma(
    "orders.last-kept",
    "Under LAST an event that both mark, or neither, leaves the winner as it was.",
    z3.Implies(z3.And(before(n, C, D), a == b, last(d, C, D)), last(d, C_, D_)),
    z3.Implies(z3.And(before(n, C, D), last(d, C, D)), last(d, C_, D_)),
)
lemma(
    "orders.max-extended",
    "With one more event, C is a proper subset of D exactly if it was and not C alone marks it, or they were equal and "
    "D alone marks it.",
    z3.Implies(
        before(n, C, D),
        strictly(C_, D_) == z3.Or(z3.And(strictly(C, D), z3.Implies(a, b)), z3.And(EQUAL, b, z3.Not(a))),
    ),
    z3.Implies(before(n, C, D), strictly(C_, D_) == z3.And(strictly(C, D), z3.Implies(a, b))),
)
