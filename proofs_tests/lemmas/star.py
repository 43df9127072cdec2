"""CEL*: the last event is marked, the beginning does not matter, matches can be moved apart (tods21, section 8)."""

from __future__ import annotations

import z3

from proofs_tests.lemmas.intervals import CUT, C, D, both, f, g, i, inside, j, k, least, x, y
from proofs_tests.lemmas.lemma import lemma

h = z3.Int("h")
moved = z3.Function("moved", z3.IntSort(), z3.IntSort())  # where an event of the match is in another stream


def increasing() -> z3.BoolRef:
    """Marked events keep their order when they are moved."""
    return z3.ForAll([x, y], z3.Implies(z3.And(both(x), both(y), x < y), moved(x) < moved(y)))


lemma(
    "star.last-event",
    "If the second part marks its last event, the whole does (Lemma 8.2, the case of `;`).",
    z3.Implies(z3.And(CUT, D(j)), z3.And(both(j), inside(both, i, j))),
    z3.Implies(z3.And(CUT, C(k)), both(j)),
)
lemma(
    "star.any-beginning",
    "An interval that begins at or before the first event of the whole leaves the first part one that begins at or "
    "before its own first event, and not empty (Lemma 8.3, the case of `;`).",
    z3.Implies(z3.And(CUT, C(k), least(f, both), h <= f), z3.And(h <= k, z3.ForAll(x, z3.Implies(C(x), h <= x)))),
    z3.Implies(z3.And(CUT, least(f, both), h <= f), h <= k),
)
lemma(
    "star.moved-cut",
    "Moved in order, the events of the first part end where its last one goes, and those of the second come after "
    "(Proposition 8.5, the case of `;`).",
    z3.Implies(
        z3.And(CUT, C(k), increasing()),
        z3.And(
            z3.ForAll(x, z3.Implies(C(x), moved(x) <= moved(k))),
            z3.ForAll(x, z3.Implies(D(x), moved(x) >= moved(k) + 1)),
        ),
    ),
    z3.Implies(z3.And(CUT, least(g, D), increasing()), z3.ForAll(x, z3.Implies(C(x), moved(x) + 1 == moved(g)))),
)
