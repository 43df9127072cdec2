"""Laws of OR, AND, ALL and UNLESS. What matches nowhere is written phi UNLESS phi."""

from __future__ import annotations

from cerify.equivalence.rewrite.laws.law import Law, holds

SETS = "Valuations are a set, and the clause is the operation on sets."
HULL = "Both sides range over all intervals with the same hull."
GUARD = "The guard does not look at valuations."
INSIDE = "Whether the guard matches somewhere inside is the same."

LATTICE: tuple[Law, ...] = (
    holds("OR is associative", "(phi OR psi) OR chi", "phi OR (psi OR chi)", SETS),
    holds("OR is commutative", "phi OR psi", "psi OR phi", SETS),
    holds("OR is idempotent", "phi OR phi", "phi", SETS),
    holds("AND is associative", "(phi AND psi) AND chi", "phi AND (psi AND chi)", SETS),
    holds("AND is commutative", "phi AND psi", "psi AND phi", SETS),
    holds("AND is idempotent", "phi AND phi", "phi", SETS),
    holds("OR absorbs AND", "phi OR (phi AND psi)", "phi", SETS),
    holds("AND absorbs OR", "phi AND (phi OR psi)", "phi", SETS),
    holds("AND over OR", "phi AND (psi OR chi)", "(phi AND psi) OR (phi AND chi)", SETS),
    holds("OR over AND", "phi OR (psi AND chi)", "(phi OR psi) AND (phi OR chi)", SETS),
    holds("ALL is associative", "(phi ALL psi) ALL chi", "phi ALL (psi ALL chi)", HULL),
    holds("ALL is commutative", "phi ALL psi", "psi ALL phi", "The clause is symmetric."),
    holds(
        "ALL over OR",
        "phi ALL (psi OR chi)",
        "(phi ALL psi) OR (phi ALL chi)",
        "A union of operands is one of results.",
    ),
    holds("ALL is above its own operand", "(phi ALL phi) OR phi", "phi ALL phi", "The two may be the same match."),
    holds("ALL is above AND", "(phi ALL psi) OR (phi AND psi)", "phi ALL psi", "Both may have the whole interval."),
    holds("ALL is above ;", "(phi ALL psi) OR (phi ; psi)", "phi ALL psi", "The two parts of a split have the hull."),
    holds("ALL is above ; turned round", "(phi ALL psi) OR (psi ; phi)", "phi ALL psi", "The clause is symmetric."),
    holds("AND of what is alike in both", "A AND B", "A UNLESS A", "No event has two types."),
)

UNLESS: tuple[Law, ...] = (
    holds("nothing", "phi UNLESS phi", "psi UNLESS psi", "Where phi matches, phi matches inside."),
    holds("nothing and OR", "(phi UNLESS phi) OR psi", "psi", "The empty set is the unit of union."),
    holds("nothing and ;", "(phi UNLESS phi) ; psi", "phi UNLESS phi", "There is no first part."),
    holds("nothing after :", "psi : (phi UNLESS phi)", "phi UNLESS phi", "There is no second part."),
    holds("nothing and ALL", "(phi UNLESS phi) ALL psi", "phi UNLESS phi", "There is no first part."),
    holds("nothing, iterated", "(phi UNLESS phi)+", "phi UNLESS phi", "There is no first round."),
    holds("UNLESS nothing", "phi UNLESS (psi UNLESS psi)", "phi", "A guard that never matches forbids nothing."),
    holds("UNLESS over OR", "(phi OR psi) UNLESS chi", "(phi UNLESS chi) OR (psi UNLESS chi)", GUARD),
    holds("UNLESS over AND", "(phi AND psi) UNLESS chi", "(phi UNLESS chi) AND psi", GUARD),
    holds("UNLESS OR", "phi UNLESS (psi OR chi)", "(phi UNLESS psi) UNLESS chi", "Neither guard matches inside."),
    holds(
        "UNLESS OR, by De Morgan",
        "phi UNLESS (psi OR chi)",
        "(phi UNLESS psi) AND (phi UNLESS chi)",
        "Neither guard matches inside.",
    ),
    holds("UNLESS is idempotent", "(phi UNLESS psi) UNLESS psi", "phi UNLESS psi", GUARD),
    holds("UNLESS commutes with UNLESS", "(phi UNLESS psi) UNLESS chi", "(phi UNLESS chi) UNLESS psi", GUARD),
    holds(
        "UNLESS what includes it", "phi UNLESS (phi OR psi)", "phi UNLESS phi", "Where phi matches, so does the guard."
    ),
    holds("UNLESS +", "phi UNLESS psi+", "phi UNLESS psi", "The first round of a match is one inside."),
    holds("UNLESS :+", "phi UNLESS psi:+", "phi UNLESS psi", "The first round of a match is one inside."),
    holds("UNLESS IN", "phi UNLESS (psi IN X)", "phi UNLESS psi", INSIDE),
    holds("UNLESS PROJECT", "phi UNLESS PROJECT[X](psi)", "phi UNLESS psi", INSIDE),
    holds("UNLESS NXT", "phi UNLESS NXT(psi)", "phi UNLESS psi", "Of finitely many matches one is the greatest."),
    holds("UNLESS LAST", "phi UNLESS LAST(psi)", "phi UNLESS psi", "Of finitely many matches one is the greatest."),
    holds("UNLESS MAX", "phi UNLESS MAX(psi)", "phi UNLESS psi", "Of finitely many matches one is maximal."),
    holds(
        "UNLESS ALL is UNLESS both",
        "phi UNLESS (psi ALL chi)",
        "(phi UNLESS psi) OR (phi UNLESS chi)",
        "Two matches inside have a hull inside.",
    ),
    holds(
        "UNLESS ; only adds",
        "(phi UNLESS psi) OR (phi UNLESS (psi ; chi))",
        "phi UNLESS (psi ; chi)",
        "A match of psi ; chi has one of psi inside.",
    ),
    holds(
        "the guard may look into the parts first",
        "((phi UNLESS chi) ; (psi UNLESS chi)) UNLESS chi",
        "(phi ; psi) UNLESS chi",
        "What matches inside a part matches inside the whole.",
    ),
    holds(
        "UNLESS a single event, over ;",
        "(phi ; psi) UNLESS C",
        "(phi UNLESS C) ; (psi UNLESS C)",
        "One event lies in one of the two parts.",
    ),
    holds(
        "UNLESS a single event, over :",
        "(phi : psi) UNLESS C",
        "(phi UNLESS C) : (psi UNLESS C)",
        "One event lies in one of the two parts.",
    ),
    holds("UNLESS a single event, over +", "phi+ UNLESS C", "(phi UNLESS C)+", "One event lies in one of the rounds."),
    holds(
        "UNLESS a single event, over :+", "phi:+ UNLESS C", "(phi UNLESS C):+", "One event lies in one of the rounds."
    ),
)
