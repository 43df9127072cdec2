"""Laws of the operators that one might expect and that fail, each with the smallest witness found."""

from __future__ import annotations

from cerify.equivalence.rewrite.laws.law import Law, Witness, fails

# fmt: off
OPERATORS: tuple[Law, ...] = (
    fails(
        "; is commutative", "phi ; psi", "psi ; phi",
        "; orders its operands.",
        Witness(("A", "B"), "A B", 1), "events",
    ),
    fails(
        ": is commutative", "phi : psi", "psi : phi",
        ": orders its operands.",
        Witness(("A", "B"), "A B", 1), "events",
    ),
    fails(
        "; is idempotent", "phi ; phi", "phi",
        "Two matches, one after the other, are not one.",
        Witness(("A",), "A", 0), "events",
    ),
    fails(
        ": is idempotent", "phi : phi", "phi",
        "Two matches, side by side, are not one.",
        Witness(("A",), "A", 0), "events",
    ),
    fails(
        "; is :", "phi ; psi", "phi : psi",
        "; may skip events.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        "; and : change places", "(phi : psi) ; chi", "(phi ; psi) : chi",
        "The place that may skip events is another one.",
        Witness(("A", "A", "A"), "A A A A", 3), "events",
    ),
    fails(
        "; over AND", "phi ; (psi AND chi)", "(phi ; psi) AND (phi ; chi)",
        "A valuation of both may be split in two ways.",
        Witness(("A+", "A", "A ; A"), "A A A", 2),
    ),
    fails(
        ": over AND", "phi : (psi AND chi)", "(phi : psi) AND (phi : chi)",
        "A valuation of both may be split in two ways.",
        Witness(("A+", "A", "A ; A"), "A A A", 2),
    ),
    fails(
        "+ is :+", "phi+", "phi:+",
        "+ may skip events between the rounds.",
        Witness(("A",), "A A A", 2), "events",
    ),
    fails(
        "+ over OR", "(phi OR psi)+", "phi+ OR psi+",
        "The rounds may alternate.",
        Witness(("A", "B"), "A B", 1), "events",
    ),
    fails(
        "+ over AND", "(phi AND psi)+", "phi+ AND psi+",
        "The two may have different rounds.",
        Witness(("A", "A ; A"), "A A", 1),
    ),
    fails(
        "+ over ;", "(phi ; psi)+", "phi+ ; psi+",
        "The rounds of phi may come one after the other.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        ":+ over ;", "(phi ; psi):+", "(phi : psi):+",
        "Only the rounds are contiguous, not what is in them.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        ":+ of : is + of :", "(phi : psi):+", "(phi : psi)+",
        "Only the rounds are contiguous on the left, only their parts on the right.",
        Witness(("A", "A"), "A A A A A", 4), "events",
    ),
    fails(
        "+ as twice", "phi+", "phi OR (phi ; phi)",
        "There may be a third round.",
        Witness(("A",), "A A A", 2), "events",
    ),
    fails(
        ":+ as twice", "phi:+", "phi OR (phi : phi)",
        "There may be a third round.",
        Witness(("A",), "A A A", 2), "events",
    ),
    fails(
        "ALL is idempotent", "phi ALL phi", "phi",
        "It may be two different matches.",
        Witness(("A",), "A A", 1), "events",
    ),
    fails(
        "ALL is ; in either order", "phi ALL psi", "(phi ; psi) OR (psi ; phi)",
        "The two may overlap, and may be the same.",
        Witness(("A", "A"), "A", 0), "events",
    ),
    fails(
        "ALL over AND", "phi ALL (psi AND chi)", "(phi ALL psi) AND (phi ALL chi)",
        "The two parts on the right may be others.",
        Witness(("A IN X", "A", "A IN X"), "A", 0),
    ),
    fails(
        "AND over ALL", "phi AND (psi ALL chi)", "(phi AND psi) ALL (phi AND chi)",
        "A match of both need not be made of matches of phi.",
        Witness(("A", "A", "A"), "A A", 1),
    ),
    fails(
        "IN inside AND", "(phi AND psi) IN X", "(phi IN X) AND psi",
        "AND wants the same variables on both sides.",
        Witness(("A", "A"), "A", 0), "events",
    ),
    fails(
        "UNLESS AND, by De Morgan", "phi UNLESS (psi AND chi)", "(phi UNLESS psi) OR (phi UNLESS chi)",
        "Both may match inside, but never in the same way.",
        Witness(("A", "A", "A IN X"), "A", 0), "events",
    ),
    fails(
        "UNLESS over ;", "(phi ; psi) UNLESS chi", "(phi UNLESS chi) ; (psi UNLESS chi)",
        "What is forbidden may lie across the two parts.",
        Witness(("A", "A", "A ; A"), "A A", 1), "events",
    ),
    fails(
        "UNLESS over +", "phi+ UNLESS psi", "(phi UNLESS psi)+",
        "What is forbidden may lie across two rounds.",
        Witness(("A", "A ; A"), "A A", 1), "events",
    ),
    fails(
        "UNLESS a single event, over ALL", "(phi ALL psi) UNLESS C", "(phi UNLESS C) ALL (psi UNLESS C)",
        "The event may lie between the two.",
        Witness(("A", "A"), "A C A", 2), "events",
    ),
    fails(
        "UNLESS ;", "phi UNLESS (psi ; chi)", "(phi UNLESS psi) OR (phi UNLESS chi)",
        "One match of each need not come in this order.",
        Witness(("A", "A", "A"), "A", 0), "events",
    ),
    fails(
        "UNLESS :", "phi UNLESS (psi : chi)", "phi UNLESS (psi ; chi)",
        "The two may come, but not side by side.",
        Witness(("A", "A", "A"), "A B A", 2), "events",
    ),
    fails(
        "UNLESS UNLESS", "phi UNLESS (psi UNLESS chi)", "phi UNLESS psi",
        "The guard is guarded itself.",
        Witness(("A", "A", "A"), "A", 0), "events",
    ),
    fails(
        "UNLESS twice", "phi UNLESS (phi UNLESS psi)", "phi AND psi",
        "UNLESS asks for intervals, not for the same match.",
        Witness(("A", "A IN X"), "A", 0), "events",
    ),
    fails(
        "UNLESS START", "phi UNLESS START(psi)", "phi UNLESS psi",
        "PROJECT may have taken away what began where the interval does.",
        Witness(("B", "PROJECT[A](B)"), "B", 0), "events",
    ),
    fails(
        "UNLESS STRICT", "phi UNLESS STRICT(psi)", "phi UNLESS psi",
        "There may be a match, but none without a gap.",
        Witness(("A", "A ; A"), "A B A", 2), "events",
    ),
    fails(
        "UNLESS is associative", "(phi UNLESS psi) UNLESS chi", "phi UNLESS (psi UNLESS chi)",
        "On the right chi takes away from what is forbidden.",
        Witness(("A", "A", "A"), "A", 0), "events",
    ),
    fails(
        "IN changes no valuation", "phi IN X", "phi",
        "X is bound on the left.",
        Witness(("A",), "A", 0),
    ),
    fails(
        "IN keeps the last name only", "(phi IN X) IN Y", "phi IN Y",
        "X stays bound.",
        Witness(("A",), "A", 0),
    ),
    fails(
        "IN over AND", "(phi AND psi) IN X", "(phi IN X) AND (psi IN X)",
        "Valuations that differ in X become equal.",
        Witness(("A", "A IN X"), "A", 0),
    ),
    fails(
        "IN and FILTER of its variable", "(phi IN X) FILTER P(X)", "(phi FILTER P(X)) IN X",
        "X has other events on the right.",
        Witness(("A",), "A", 0, (0,)), "events",
    ),
    fails(
        "PROJECT over :", "PROJECT[A](phi : psi)", "PROJECT[A](phi) : PROJECT[A](psi)",
        "The neighbours may be gone.",
        Witness(("A", "B"), "A B", 1), "events",
    ),
    fails(
        "PROJECT over :+", "PROJECT[A](phi:+)", "PROJECT[A](phi):+",
        "The neighbours may be gone.",
        Witness(("A OR B",), "A B", 1), "events",
    ),
    fails(
        "PROJECT over AND", "PROJECT[A](phi AND psi)", "PROJECT[A](phi) AND PROJECT[A](psi)",
        "Different valuations become equal.",
        Witness(("A", "A IN X"), "A", 0),
    ),
    fails(
        "PROJECT and START", "PROJECT[A](START(phi))", "START(PROJECT[A](phi))",
        "The first event may be gone.",
        Witness(("B",), "B", 0), "events",
    ),
    fails(
        "PROJECT and STRICT", "PROJECT[A](STRICT(phi))", "STRICT(PROJECT[A](phi))",
        "A gap may come or go.",
        Witness(("A ; B",), "A A B", 2), "events",
    ),
    fails(
        "PROJECT and MAX", "PROJECT[A](MAX(phi))", "MAX(PROJECT[A](phi))",
        "What is left may be included in something else that is left.",
        Witness(("B ; A+",), "B A B A", 3), "events",
    ),
    fails(
        "PROJECT and FILTER of a variable that goes", "PROJECT[A](phi FILTER P(X))", "PROJECT[A](phi) FILTER P(X)",
        "A filter on what is not bound holds.",
        Witness(("A IN X",), "A", 0, (0,)), "events",
    ),
    fails(
        "START over ;", "START(phi ; psi)", "START(phi) ; START(psi)",
        "On the right psi begins right after the split.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        "START over +", "START(phi+)", "START(phi)+",
        "Each round has an interval of its own.",
        Witness(("A",), "A A A", 2), "events",
    ),
    fails(
        "START over ALL", "START(phi ALL psi)", "(START(phi) ALL psi) OR (phi ALL START(psi))",
        "On the right one of the two starts its own interval, which may begin later.",
        Witness(("A", "A"), "A A", 1), "events",
    ),
    fails(
        "START of ALL", "START(phi ALL psi)", "START(phi) ALL START(psi)",
        "Only one of the two has to begin at once; what PROJECT has left may begin later than its interval.",
        Witness(("B", "PROJECT[A](B)"), "B", 0), "events",
    ),
    fails(
        "START of LAST", "START(LAST(phi))", "LAST(START(phi))",
        "What is last among those that begin at once need not be last of all.",
        Witness(("A ; A",), "A A A", 2), "events",
    ),
)
