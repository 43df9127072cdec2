"""Laws of the selection strategies, of windows and of partitions."""

from __future__ import annotations

from cerify.equivalence.rewrite.laws.law import Law, holds

EACH = "Both are done to each valuation on its own."
AGAIN = "What was selected is all there is to select from."
ONE = "What is selected has one support."
GUARD = "The guard does not look at valuations."
BETTER = "A better part makes a better whole."
INTERVALS = "Neighbouring intervals join to one, and the parts of an interval are intervals."

STRATEGIES: tuple[Law, ...] = (
    *(holds(f"{W} is idempotent", f"{W}({W}(phi))", f"{W}(phi)", AGAIN) for W in ("STRICT", "NXT", "LAST", "MAX")),
    *(holds(f"{W} of MAX", f"{W}(MAX(phi))", f"{W}(phi)", "The greatest is maximal.") for W in ("NXT", "LAST")),
    *(holds(f"MAX of {W}", f"MAX({W}(phi))", f"{W}(phi)", ONE) for W in ("NXT", "LAST")),
    holds("NXT of LAST", "NXT(LAST(phi))", "LAST(phi)", ONE),
    holds("LAST of NXT", "LAST(NXT(phi))", "NXT(phi)", ONE),
    *(
        holds(f"{W} is below MAX", f"{W}(phi) AND MAX(phi)", f"{W}(phi)", "The greatest is maximal.")
        for W in ("NXT", "LAST")
    ),
    *(
        holds(f"{W} is below its operand", f"{W}(phi) OR phi", "phi", "A strategy selects.")
        for W in ("STRICT", "NXT", "LAST", "MAX")
    ),
    holds("STRICT over OR", "STRICT(phi OR psi)", "STRICT(phi) OR STRICT(psi)", EACH),
    holds("STRICT over AND", "STRICT(phi AND psi)", "STRICT(phi) AND psi", EACH),
    *(
        holds(
            f"{W} of OR in two steps",
            f"{W}(phi OR psi)",
            f"{W}({W}(phi) OR {W}(psi))",
            "The best of all is best in its part.",
        )
        for W in ("NXT", "LAST", "MAX")
    ),
    *(
        holds(f"{W} and UNLESS", f"{W}(phi UNLESS psi)", f"{W}(phi) UNLESS psi", GUARD)
        for W in ("STRICT", "NXT", "LAST", "MAX")
    ),
    *(
        holds(f"{W} of ; in two steps", f"{W}(phi ; psi)", f"{W}({W}(phi) ; {W}(psi))", BETTER)
        for W in ("NXT", "LAST", "MAX")
    ),
    *(holds(f"{W} of + in two steps", f"{W}(phi+)", f"{W}({W}(phi)+)", BETTER) for W in ("NXT", "LAST", "MAX")),
    holds(
        "MAX of : in two steps",
        "MAX(phi : psi)",
        "MAX(MAX(phi) : MAX(psi))",
        "What includes a first or last position keeps it.",
    ),
    holds(
        "MAX of :+ in two steps", "MAX(phi:+)", "MAX(MAX(phi):+)", "What includes a first or last position keeps it."
    ),
    holds(
        "NXT of : in two steps",
        "NXT(phi : psi)",
        "NXT(phi : NXT(psi))",
        "A match with the first position is above, in the order next, all that lack it.",
    ),
    holds(
        "LAST of : in two steps",
        "LAST(phi : psi)",
        "LAST(LAST(phi) : psi)",
        "A match with the last position is above, in the order last, all that lack it.",
    ),
    holds(
        "MAX of ALL in two steps",
        "MAX(phi ALL psi)",
        "MAX(MAX(phi) ALL MAX(psi))",
        "Larger parts make a larger whole; but an event may be bound by another part.",
        "events",
    ),
    holds("STRICT over :", "STRICT(phi : psi)", "STRICT(phi) : STRICT(psi)", INTERVALS),
    holds("STRICT over :+", "STRICT(phi:+)", "STRICT(phi):+", INTERVALS),
    holds("STRICT of ; is :", "STRICT(phi ; psi)", "STRICT(phi) : STRICT(psi)", INTERVALS, binding=("phi", "psi")),
    holds("STRICT of + is :+", "STRICT(phi+)", "STRICT(phi):+", INTERVALS, binding=("phi",)),
    holds("STRICT of an event", "STRICT(A)", "A", "One position is an interval."),
)

WINDOWS: tuple[Law, ...] = (
    holds(
        "WITHIN of WITHIN",
        "(phi WITHIN 3 EVENTS) WITHIN 2 EVENTS",
        "phi WITHIN 2 EVENTS",
        "The smaller window decides.",
    ),
    holds(
        "WITHIN of a larger WITHIN",
        "(phi WITHIN 2 EVENTS) WITHIN 3 EVENTS",
        "phi WITHIN 2 EVENTS",
        "The smaller window decides.",
    ),
    holds("WITHIN over OR", "(phi OR psi) WITHIN 2 EVENTS", "(phi WITHIN 2 EVENTS) OR (psi WITHIN 2 EVENTS)", EACH),
    holds("WITHIN over AND", "(phi AND psi) WITHIN 2 EVENTS", "(phi WITHIN 2 EVENTS) AND psi", EACH),
    holds("WITHIN and FILTER", "(phi FILTER P(X)) WITHIN 2 EVENTS", "(phi WITHIN 2 EVENTS) FILTER P(X)", EACH),
    holds("WITHIN and STRICT", "STRICT(phi WITHIN 2 EVENTS)", "STRICT(phi) WITHIN 2 EVENTS", EACH),
    holds("WITHIN and UNLESS", "(phi UNLESS psi) WITHIN 2 EVENTS", "(phi WITHIN 2 EVENTS) UNLESS psi", GUARD),
    holds(
        "WITHIN on an attribute and on positions",
        "(phi WITHIN 1 [x]) WITHIN 2 EVENTS",
        "(phi WITHIN 2 EVENTS) WITHIN 1 [x]",
        EACH,
    ),
    *(
        holds(
            f"WITHIN of {op} may look into the parts first",
            f"((phi WITHIN 2 EVENTS) {op} (psi WITHIN 2 EVENTS)) WITHIN 2 EVENTS",
            f"(phi {op} psi) WITHIN 2 EVENTS",
            "The parts span no more than the whole.",
            binding=("phi", "psi"),
        )
        for op in (";", ":", "ALL")
    ),
    holds(
        "WITHIN of + may look into the rounds first",
        "(phi WITHIN 2 EVENTS)+ WITHIN 2 EVENTS",
        "phi+ WITHIN 2 EVENTS",
        "The rounds span no more than the whole.",
        binding=("phi",),
    ),
    holds("WITHIN in other units", "phi WITHIN 60 seconds", "phi WITHIN 1 minute", "A minute has 60 seconds."),
    holds(
        "PARTITION BY is a filter",
        "phi PARTITION BY [x]",
        "(phi IN W) FILTER W.x = W.x",
        "This is what it stands for.",
        "events",
    ),
    holds("PARTITION BY is idempotent", "(phi PARTITION BY [x]) PARTITION BY [x]", "phi PARTITION BY [x]", EACH),
    holds(
        "PARTITION BY commutes with PARTITION BY",
        "(phi PARTITION BY [x]) PARTITION BY [y]",
        "(phi PARTITION BY [y]) PARTITION BY [x]",
        EACH,
    ),
    holds(
        "PARTITION BY over OR",
        "(phi OR psi) PARTITION BY [x]",
        "(phi PARTITION BY [x]) OR (psi PARTITION BY [x])",
        EACH,
    ),
    holds("PARTITION BY over AND", "(phi AND psi) PARTITION BY [x]", "(phi PARTITION BY [x]) AND psi", EACH),
    holds("PARTITION BY and FILTER", "(phi FILTER P(X)) PARTITION BY [x]", "(phi PARTITION BY [x]) FILTER P(X)", EACH),
    holds(
        "PARTITION BY and WITHIN",
        "(phi WITHIN 2 EVENTS) PARTITION BY [x]",
        "(phi PARTITION BY [x]) WITHIN 2 EVENTS",
        EACH,
    ),
    holds("PARTITION BY and UNLESS", "(phi UNLESS psi) PARTITION BY [x]", "(phi PARTITION BY [x]) UNLESS psi", GUARD),
    holds("PARTITION BY and START", "START(phi PARTITION BY [x])", "START(phi) PARTITION BY [x]", EACH),
    *(
        holds(
            f"PARTITION BY of {op} may look into the parts first",
            f"((phi PARTITION BY [x]) {op} (psi PARTITION BY [x])) PARTITION BY [x]",
            f"(phi {op} psi) PARTITION BY [x]",
            "Pairs of a part are pairs of the whole.",
        )
        for op in (";", ":", "ALL")
    ),
    holds(
        "PARTITION BY of + may look into the rounds first",
        "(phi PARTITION BY [x])+ PARTITION BY [x]",
        "phi+ PARTITION BY [x]",
        "Pairs of a round are pairs of the whole.",
    ),
    holds(
        "an agreeing match spans nothing",
        "phi WITHIN 0 [x]",
        "(phi PARTITION BY [x]) WITHIN 0 [x]",
        "Numbers that differ by nothing are equal.",
    ),
)
