"""Errata of vldb92."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import DamagedText, Erratum

NOTE = """A stream is a history. What is expected, and what is got as printed, are the events at which the expression
takes place. Why each reading was taken: [event expressions](decisions/event-expressions.md)."""

DEFINABLE = "the operator is definable, by the corrected formula"
CONSTRUCTED = "Theorem 1 and Corollary 1 stand, with the corrected construction"
TUPLES = "occurrence tuples are there where the expression takes place, by the corrected clause"
ANY = "`any` does not take place at the start event, with which the history of a system begins; !NULL does."

ERRATA = (
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
        "The automaton of F /+ E",
        ("vldb92.constr:slashplus",),
        "Section 3: after the first E, the machine reads E from its start state.",
        CONSTRUCTED,
        "Read from the start, E is asked of the history from there on, and not of the whole one.",
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
        "Theorem 2",
        ("vldb92.thm2",),
        "Appendix 2: the states are marked with the variables that are at the event; those of `E = x = y` first with "
        "x, and then with y.",
        "Theorem 2 stands, by automata over other letters",
        "Both variables are at one event, and x = y and y = x have to be the same.",
    ),
    Erratum(
        "A bad hit",
        ("vldb92.racket:H2",),
        "Section 7.1: the next event after a hit must be the front wall. "
        "H2 = (!wall) | ((first ∧ !front) /+ (h1 ∨ h2)).",
        "the sentence has an expression, by sequence",
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

DAMAGED = (
    DamagedText(
        ("vldb92.derived:a",), "Section 2.3 a: E ∨ F = !(E ∧ !F), which is !E ∨ F.", "A lost ! before the first E."
    ),
    DamagedText(
        ("vldb92.derived:k",),
        "Section 2.3 k: h'_i is told for 1 ≤ i < m − 1 and for m, so that h'_{m−1} is missing.",
        "One sign: ≤ for <, or 1 ≤ i < m.",
    ),
)
