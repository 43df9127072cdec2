"""Errata of vldb92."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import Erratum

NOTE = """A stream is a history. What is expected, and what is got as printed, are the events at which the expression
takes place. Why each reading was taken: [event expressions](decisions/event-expressions.md)."""

DEFINABLE = "the operator is definable, by the corrected formula"
CONSTRUCTED = "Theorem 1 and Corollary 1 stand, with the corrected construction"
TUPLES = "occurrence tuples are there where the expression takes place, by the corrected clause"
ANY = "`any` does not take place at the start event, with which the history of a system begins; !NULL does."

ERRATA = (
    Erratum("Disjunction", ("vldb92.derived:a",), "Section 2.3 a: E ∨ F = !(E ∧ !F).", DEFINABLE, "That is !E ∨ F."),
    Erratum("The first event", ("vldb92.derived:f",), "Section 2.3 f: `first = !relative(any, any)`.", DEFINABLE, ANY),
    Erratum(
        "The n-th occurrence",
        ("vldb92.derived:h", "vldb92.derived:h1"),
        "Section 2.3 h: `<n> E` is defined with `any`.",
        DEFINABLE,
        ANY,
    ),
    Erratum(
        "Every n-th occurrence",
        ("vldb92.derived:i",),
        "Section 2.3 i: `every <n> E` is defined with `any`.",
        DEFINABLE,
        ANY,
    ),
    Erratum(
        "Between two occurrences",
        ("vldb92.derived:k",),
        "Section 2.3 k: of the m events at which E takes place, `F /+ E` looks between the i-th and the next one, for "
        "1 ≤ i < m − 1.",
        DEFINABLE,
        "The last pair of neighbours is left out.",
    ),
    Erratum(
        "The automaton of F /+ E",
        ("vldb92.constr:slashplus",),
        "Section 3: after the first E, the machine reads E from its start state.",
        CONSTRUCTED,
        "Read from the start, E is asked of the history from there on, and not of the whole one.",
    ),
    Erratum(
        "The automaton of a negation",
        ("vldb92.constr:not-any",),
        "Section 3: any deterministic automaton for E, whose start state stays non-accepting.",
        CONSTRUCTED,
        "An automaton that comes back to its start state does not accept there, after events at which it should.",
    ),
    Erratum(
        "The automaton of prefix(E)",
        ("vldb92.constr:prefix-empty",),
        "Section 3: a state accepts if a sequence of primitive events leads from it to a state that accepts E. Nothing "
        "says that the sequence is not empty.",
        CONSTRUCTED,
        "By its definition, prefix(E) takes place where E can still do so at an event to come.",
    ),
    Erratum(
        "Occurrence tuples of an event",
        ("vldb92.occ:event",),
        "Appendix 1: e_i = f_i.",
        TUPLES,
        "So an event is found only where the history that is looked at begins, and not later in it.",
    ),
    Erratum(
        "Occurrence tuples of relative and and",
        ("vldb92.occ:relative", "vldb92.occ:and"),
        "Appendix 1, clauses 2 and 4: e_i is compared.",
        TUPLES,
        "Where the operand is relative+, e_i is the sequence of its rounds, and no event equals that.",
    ),
    Erratum(
        "Occurrence tuples of a negation",
        ("vldb92.occ:not",),
        "Appendix 1: there is no tuple of A for the sub-history, if that means any part of it.",
        TUPLES,
        "A tuple that ends earlier would forbid !A at every event after it.",
    ),
    Erratum(
        "Theorem 2",
        ("vldb92.thm2",),
        "Appendix 2: the states are marked with the variables that are at the event; those of `E = x = y` first with "
        "x, and then with y.",
        "Theorem 2 stands, by automata over other letters",
        "Both variables are at one event, and x = y and y = x have to be the same.",
    ),
    Erratum(
        "Machines spawned for several attributes",
        ("vldb92.attr-spawn:several",),
        "Appendix 3 is for one attribute, and says that several are no harder: an event spawns one machine for its "
        "value from each machine there is.",
        "the method stands, with the corrected spawning",
        "An event can bring a new value for several variables. In the example a(1) has to spawn the machine of I = 1 "
        "and J = 1.",
    ),
    Erratum(
        "The end of a point, by its three ways",
        ("vldb92.racket:points",),
        "Section 7.1: H1 ∨ H2 ∨ H3.",
        "the formula does not say what the text asks for, as it does not tell the players apart; the formulation with "
        "prefix does",
    ),
    Erratum(
        "The end of a point, by prefix",
        ("vldb92.racket:prefix",),
        "Section 7.1: four exchanges, each a sequence, that may begin anywhere.",
        "the formulation with prefix stands, with its exchanges anchored",
        "An exchange that may begin anywhere lets every rally go on, so that the point never ends.",
    ),
)
