"""Laws of filters, strategies and windows that one might expect and that fail, each with the smallest witness found."""

from __future__ import annotations

from cerify.equivalence.rewrite.laws.law import Law, Witness, fails

# fmt: off
CONDITIONS: tuple[Law, ...] = (
    fails(
        "FILTER OR over +", "phi+ FILTER P(X) OR Q(X)", "(phi FILTER P(X) OR Q(X))+",
        "On the right each round may choose.",
        Witness(("A IN X",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "or in brackets is OR", "phi FILTER X[x > 0 or x < 1]", "phi FILTER X.x > 0 OR X.x < 1",
        "In brackets each event may choose.",
        Witness(("A+ IN X",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "a correlation over ;", "(phi ; psi) FILTER X.x = X.x", "(phi FILTER X.x = X.x) ; (psi FILTER X.x = X.x)",
        "The two parts are not compared on the right.",
        Witness(("A IN X", "A IN X"), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "a correlation over +", "phi+ FILTER X.x = X.x", "(phi FILTER X.x = X.x)+",
        "The rounds are not compared on the right.",
        Witness(("A IN X",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "a mention is the same event", "phi FILTER X.x = X.x", "phi FILTER X[x = x]",
        "Outside brackets each mention ranges on its own.",
        Witness(("A+ IN X",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "not > is <=", "phi FILTER X[not x > 0]", "phi FILTER X.x <= 0",
        "An absent value is neither.",
        Witness(("A IN X",), "A", 0), "events",
    ),
    fails(
        "not = is !=", "phi FILTER X[not x = 0]", "phi FILTER X.x != 0",
        "An absent value is neither.",
        Witness(("A IN X",), "A", 0), "events",
    ),
    fails(
        "FILTER and UNLESS FILTER", "phi FILTER P(X)", "phi UNLESS (phi FILTER Q(X))",
        "UNLESS asks for any match inside, and a filter on what is not bound holds.",
        Witness(("A",), "A", 0, (0,)), "events",
    ),
    fails(
        "FILTER and NXT", "NXT(phi) FILTER P(X)", "NXT(phi FILTER P(X))",
        "The best may be filtered out.",
        Witness(("A+ IN X",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "FILTER and LAST", "LAST(phi) FILTER P(X)", "LAST(phi FILTER P(X))",
        "The best may be filtered out.",
        Witness(("A+ IN X",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "FILTER and MAX", "MAX(phi) FILTER P(X)", "MAX(phi FILTER P(X))",
        "The best may be filtered out.",
        Witness(("A+ IN X",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "NXT over OR", "NXT(phi OR psi)", "NXT(phi) OR NXT(psi)",
        "Each part has a best of its own.",
        Witness(("A", "A+"), "A A", 1), "events",
    ),
    fails(
        "LAST over OR", "LAST(phi OR psi)", "LAST(phi) OR LAST(psi)",
        "Each part has a best of its own.",
        Witness(("A", "A+"), "A A", 1), "events",
    ),
    fails(
        "MAX over OR", "MAX(phi OR psi)", "MAX(phi) OR MAX(psi)",
        "A maximal one of a part may be included in one of the other.",
        Witness(("A", "A+"), "A A", 1), "events",
    ),
    fails(
        "NXT over AND", "NXT(phi AND psi)", "NXT(phi) AND NXT(psi)",
        "The best of both need not be the best of each.",
        Witness(("A", "A+"), "A A", 1), "events",
    ),
    fails(
        "LAST over AND", "LAST(phi AND psi)", "LAST(phi) AND LAST(psi)",
        "The best of both need not be the best of each.",
        Witness(("A", "A+"), "A A", 1), "events",
    ),
    fails(
        "MAX over AND", "MAX(phi AND psi)", "MAX(phi) AND MAX(psi)",
        "What is maximal in both need not be maximal in each.",
        Witness(("A", "A+"), "A A", 1), "events",
    ),
    fails(
        "NXT over ;", "NXT(phi ; psi)", "NXT(phi) ; NXT(psi)",
        "Each split has a best of its own.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        "LAST over ;", "LAST(phi ; psi)", "LAST(phi) ; LAST(psi)",
        "Each split has a best of its own.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        "MAX over ;", "MAX(phi ; psi)", "MAX(phi) ; MAX(psi)",
        "Each split has maximal ones of its own.",
        Witness(("A", "A+"), "A A A", 2), "events",
    ),
    fails(
        "NXT of : in two steps, both", "NXT(phi : psi)", "NXT(NXT(phi) : NXT(psi))",
        "The best of phi may end too early to be next to psi.",
        Witness(("B OR PROJECT[A](A ; B)", "A"), "A B A", 2), "events",
    ),
    fails(
        "LAST of : in two steps, both", "LAST(phi : psi)", "LAST(LAST(phi) : LAST(psi))",
        "The best of psi may begin too late to be next to phi.",
        Witness(("A", "B ; A"), "A B B A", 3), "events",
    ),
    fails(
        "NXT of ALL in two steps", "NXT(phi ALL psi)", "NXT(NXT(phi) ALL NXT(psi))",
        "What a part wins may be in the other part already.",
        Witness(("A ; (B OR C) ; A", "C"), "A C B A", 3), "events",
    ),
    fails(
        "LAST of ALL in two steps", "LAST(phi ALL psi)", "LAST(LAST(phi) ALL LAST(psi))",
        "What a part wins may be in the other part already.",
        Witness(("A ; B", "A ; B"), "A A B", 2), "events",
    ),
    fails(
        "NXT is LAST", "NXT(phi)", "LAST(phi)",
        "The first difference decides in one, the last in the other.",
        Witness(("A ; A",), "A A A", 2), "events",
    ),
    fails(
        "NXT is MAX", "NXT(phi)", "MAX(phi)",
        "There may be several maximal matches.",
        Witness(("A ; A",), "A A A", 2), "events",
    ),
    fails(
        "LAST is MAX", "LAST(phi)", "MAX(phi)",
        "There may be several maximal matches.",
        Witness(("A ; A",), "A A A", 2), "events",
    ),
    fails(
        "MAX of STRICT", "MAX(STRICT(phi))", "STRICT(MAX(phi))",
        "A strict match may be included in one that is not.",
        Witness(("A+",), "A B A", 2), "events",
    ),
    fails(
        "NXT of STRICT", "NXT(STRICT(phi))", "STRICT(NXT(phi))",
        "The best match may have a gap.",
        Witness(("A+",), "A B A", 2), "events",
    ),
    fails(
        "LAST of STRICT", "LAST(STRICT(phi))", "STRICT(LAST(phi))",
        "The best match may have a gap.",
        Witness(("A+",), "A B A", 2), "events",
    ),
    fails(
        "STRICT of ; is : of the same", "STRICT(phi ; psi)", "phi : psi",
        "The parts may have gaps.",
        Witness(("A", "A+"), "A A A A", 3), "events",
    ),
    fails(
        "STRICT of + is :+ of the same", "STRICT(phi+)", "phi:+",
        "The rounds may have gaps.",
        Witness(("A+",), "A A A", 2), "events",
    ),
    fails(
        "STRICT of ; is :, with what binds nothing", "STRICT(phi ; psi)", "STRICT(phi) : STRICT(psi)",
        "What binds nothing is next to nothing.",
        Witness(("A", "PROJECT[A](B)"), "A B", 1), "events",
    ),
    fails(
        "STRICT over ALL", "STRICT(phi ALL psi)", "STRICT(phi) ALL STRICT(psi)",
        "One part may fill the gap of the other, and two intervals may have a gap between them.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        "MAX of ALL in two steps, with variables", "MAX(phi ALL psi)", "MAX(MAX(phi) ALL MAX(psi))",
        "A match may have the largest support by another part than the largest one.",
        Witness(("A", "A+ IN X"), "A A A", 2),
    ),
    fails(
        "WITHIN over ;", "(phi ; psi) WITHIN 2 EVENTS", "(phi WITHIN 2 EVENTS) ; (psi WITHIN 2 EVENTS)",
        "The parts may be far from each other.",
        Witness(("A", "A"), "A A A", 2), "events",
    ),
    fails(
        "WITHIN of ; is :", "(phi ; psi) WITHIN 2 EVENTS", "phi : psi",
        "Contiguous parts may be long.",
        Witness(("A", "A+"), "A A A", 2), "events",
    ),
    fails(
        "WITHIN and NXT", "NXT(phi) WITHIN 2 EVENTS", "NXT(phi WITHIN 2 EVENTS)",
        "The best match may be too long.",
        Witness(("A+",), "A A A", 2), "events",
    ),
    fails(
        "WITHIN and MAX", "MAX(phi) WITHIN 2 EVENTS", "MAX(phi WITHIN 2 EVENTS)",
        "The maximal match may be too long.",
        Witness(("A+",), "A A A", 2), "events",
    ),
    fails(
        "PARTITION BY over ;", "(phi ; psi) PARTITION BY [x]", "(phi PARTITION BY [x]) ; (psi PARTITION BY [x])",
        "The two parts are not compared on the right.",
        Witness(("A", "A"), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "PARTITION BY over +", "phi+ PARTITION BY [x]", "(phi PARTITION BY [x])+",
        "The rounds are not compared on the right.",
        Witness(("A",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "PARTITION BY and NXT", "NXT(phi) PARTITION BY [x]", "NXT(phi PARTITION BY [x])",
        "The best match may disagree.",
        Witness(("A+",), "A A", 1, (0, 1)), "events",
    ),
    fails(
        "PARTITION BY is a window of width 0", "phi PARTITION BY [x]", "phi WITHIN 0 [x]",
        "What binds nothing is in no window.",
        Witness(("PROJECT[A](B)",), "B", 0, (0,)), "events",
    ),
    fails(
        "PARTITION BY binds nothing", "phi PARTITION BY [x]", "(phi IN W) FILTER W.x = W.x",
        "W is bound on the right.",
        Witness(("A",), "A", 0, (0,)),
    ),
)
