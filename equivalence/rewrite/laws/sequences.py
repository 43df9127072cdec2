"""Laws of sequencing and iteration, and of what anchors them."""

from __future__ import annotations

from cerify.equivalence.rewrite.laws.law import Law, holds

SPLITS = "Both sides split the interval at the same two places."
UNION = "A union on one side of a split is a union of the results."
ROUNDS = "Both sides are the unions over all numbers of rounds."

SEQUENCES: tuple[Law, ...] = (
    holds("; is associative", "(phi ; psi) ; chi", "phi ; (psi ; chi)", SPLITS),
    holds(": is associative", "(phi : psi) : chi", "phi : (psi : chi)", SPLITS),
    holds(
        "; then : associates",
        "(phi ; psi) : chi",
        "phi ; (psi : chi)",
        "The last event of phi ; psi can only be next to chi if it is one of psi.",
    ),
    holds(
        ": then ; associates",
        "(phi : psi) ; chi",
        "phi : (psi ; chi)",
        "The first event of psi ; chi can only be next to phi if it is one of psi.",
    ),
    holds("; over OR on the left", "(phi OR psi) ; chi", "(phi ; chi) OR (psi ; chi)", UNION),
    holds("; over OR on the right", "phi ; (psi OR chi)", "(phi ; psi) OR (phi ; chi)", UNION),
    holds(": over OR on the left", "(phi OR psi) : chi", "(phi : chi) OR (psi : chi)", UNION),
    holds(": over OR on the right", "phi : (psi OR chi)", "(phi : psi) OR (phi : chi)", UNION),
    holds(
        ": is below ;", "(phi ; psi) OR (phi : psi)", "phi ; psi", "Contiguity is one more condition on the same pairs."
    ),
    holds(": is ; and :", "(phi ; psi) AND (phi : psi)", "phi : psi", "The smaller of two sets is their meet."),
    holds(
        ": of single events",
        "(A ; B) WITHIN 2 EVENTS",
        "A : B",
        "Two events in a window of two are neighbours.",
    ),
)

ITERATION: tuple[Law, ...] = (
    holds("+ unfolds on the left", "phi+", "phi OR (phi ; phi+)", "This is the clause of +."),
    holds("+ unfolds on the right", "phi+", "phi OR (phi+ ; phi)", ROUNDS),
    holds(":+ unfolds on the left", "phi:+", "phi OR (phi : phi:+)", "This is the clause of :+."),
    holds(":+ unfolds on the right", "phi:+", "phi OR (phi:+ : phi)", ROUNDS),
    holds("+ unfolds twice", "phi+", "phi OR (phi ; phi) OR (phi ; phi ; phi+)", ROUNDS),
    holds("+ is idempotent", "(phi+)+", "phi+", "Rounds of rounds are rounds."),
    holds(":+ is idempotent", "(phi:+):+", "phi:+", "Contiguous rounds of contiguous rounds are contiguous rounds."),
    holds("+ of :+", "(phi:+)+", "phi+", "A contiguous round is a round, and one round is contiguous."),
    holds(":+ of +", "(phi+):+", "phi+", "Already phi+ once has all of phi+, and no rounds give more."),
    holds(":+ is below +", "phi+ OR phi:+", "phi+", "Contiguity is one more condition in each round."),
    holds("+ and :+", "phi+ AND phi:+", "phi:+", "The smaller of two sets is their meet."),
    holds("+ begins or ends with a round", "phi ; phi+", "phi+ ; phi", "Both sides have two rounds or more."),
    holds(":+ begins or ends with a round", "phi : phi:+", "phi:+ : phi", "Both sides have two rounds or more."),
    holds("+ after +", "phi+ ; phi+", "phi ; phi+", "Both sides have two rounds or more."),
    holds(":+ after :+", "phi:+ : phi:+", "phi : phi:+", "Both sides have two rounds or more."),
    holds("; slides through +", "(phi ; psi)+ ; phi", "phi ; (psi ; phi)+", "Only the brackets of the rounds move."),
    holds(": slides through :+", "(phi : psi):+ : phi", "phi : (psi : phi):+", "Only the brackets of the rounds move."),
    holds("+ of OR of +", "(phi+ OR psi+)+", "(phi OR psi)+", "Every round of the left is several of the right."),
    holds(":+ of OR of :+", "(phi:+ OR psi:+):+", "(phi OR psi):+", "Every round of the left is several of the right."),
    holds("+ of OR", "(phi OR psi)+", "phi+ OR psi+ OR (phi OR psi)+", "Rounds of one kind are rounds of either."),
)

BOUNDED: tuple[Law, ...] = (
    holds("{1} is one round", "phi{1}", "phi", "This is its expansion."),
    holds("{2} is two rounds", "phi{2}", "phi ; phi", "This is its expansion."),
    holds("{1,2} is one round or two", "phi{1,2}", "phi OR (phi ; phi)", "This is its expansion."),
    holds("{1,} is +", "phi{1,}", "phi+", "This is its expansion."),
    holds("{2,} is two rounds or more", "phi{2,}", "phi ; phi+", "This is its expansion."),
    holds("{2,3} begins with a round", "phi{2,3}", "phi ; phi{1,2}", ROUNDS),
    holds("rounds add up", "phi{2} ; phi{1,2}", "phi{3,4}", ROUNDS),
    holds("OR of numbers of rounds", "phi{1,2} OR phi{2,3}", "phi{1,3}", "A union of numbers is a union of matches."),
    holds("rounds of rounds multiply", "(phi{2}){2}", "phi{4}", "Rounds of rounds are rounds."),
    holds("+ of {1,2}", "(phi{1,2})+", "phi+", "Rounds of rounds are rounds."),
    holds(":{1} is one round", "phi:{1}", "phi", "This is its expansion."),
    holds(":{2} is two rounds", "phi:{2}", "phi : phi", "This is its expansion."),
    holds(":{1,} is :+", "phi:{1,}", "phi:+", "This is its expansion."),
    holds(":{2,3} begins with a round", "phi:{2,3}", "phi : phi:{1,2}", ROUNDS),
    holds("contiguous rounds add up", "phi:{2} : phi:{1,2}", "phi:{3,4}", ROUNDS),
    holds(":{1,2} is below {1,2}", "phi{1,2} OR phi:{1,2}", "phi{1,2}", "Contiguity is one more condition."),
)

ANCHORS: tuple[Law, ...] = (
    holds("START is idempotent", "START(START(phi))", "START(phi)", "It asks the same of the same interval twice."),
    holds("START over OR", "START(phi OR psi)", "START(phi) OR START(psi)", "It asks each valuation on its own."),
    holds("START over AND", "START(phi AND psi)", "START(phi) AND psi", "It asks each valuation on its own."),
    holds(
        "START of ;",
        "START(phi ; psi)",
        "START(phi) ; psi",
        "The first position belongs to phi, since psi begins later.",
    ),
    holds(
        "START of :",
        "START(phi : psi)",
        "START(phi) : psi",
        "The first position belongs to phi, since psi begins later.",
    ),
    holds(
        "START of +",
        "START(phi+)",
        "START(phi) OR (START(phi) ; phi+)",
        "The first position is one of the first round.",
    ),
    holds(
        "START of :+",
        "START(phi:+)",
        "START(phi) OR (START(phi) : phi:+)",
        "The first position is one of the first round.",
    ),
    holds(
        "START after :",
        "phi : START(psi)",
        "phi : psi",
        "Contiguity already asks psi to begin where its interval does.",
    ),
    holds(
        "START of UNLESS", "START(phi UNLESS psi)", "START(phi) UNLESS psi", "The guard does not look at valuations."
    ),
    holds("START of STRICT", "START(STRICT(phi))", "STRICT(START(phi))", "Both ask each valuation on its own."),
    holds(
        "START of NXT",
        "START(NXT(phi))",
        "NXT(START(phi))",
        "A match with the first position is above, in the order next, all that lack it.",
    ),
    holds(
        "START of MAX",
        "START(MAX(phi))",
        "MAX(START(phi))",
        "What includes the first position can only grow to what does.",
    ),
    holds(
        "START of WITHIN",
        "START(phi WITHIN 2 EVENTS)",
        "START(phi) WITHIN 2 EVENTS",
        "Both ask each valuation on its own.",
    ),
)
