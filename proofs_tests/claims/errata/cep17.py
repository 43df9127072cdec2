"""Errata of cep17."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import DamagedText, Erratum

NOTE = """The formulas and the listings are lost in the text at hand, so what is checked is what the text around them
says. What rests on a formula or a listing that is lost is among the damaged texts. Automata are given by their
transitions, • with a mark and ◦ without, on any event if none is named."""

ERRATA = (
    Erratum(
        "The proof of Lemma B.12",
        ("cep17.lemB.12:proof",),
        "A disjunct that is not safe matches nothing, and so it can be removed.",
        "Lemma B.12 stands, and Theorem 1 with it: only this step of the proof changes",
        "It takes a definition with it, and the variable is then undefined in what is left: see "
        "[normal forms](decisions/normal-forms.md).",
    ),
    Erratum(
        "Section 8.2, Figure 5",
        ("cep17.fig5",),
        "Selection strategies produce at most one output for each event.",
        "a remark that is false of STRICT and MAX",
        "Of two matches that end at the same event, neither need contain the other, and both may be without gaps.",
    ),
)

DAMAGED = (
    DamagedText(
        ("cep17.appC.3:last", "cep17.lemC.14:last"),
        'Appendix C.3.3: of the five conditions on a transition "the only condition that changes" against NXT is the '
        "third. So the second still forbids a step to a state that a higher set reaches, with a mark or without.",
        "The conditions are formulas and are lost; the second may be another one here. Algorithm 6 does it right.",
    ),
    DamagedText(
        ("cep17.appC.3:nxt",),
        "Appendix C.3.2: (q, T) is final if q is final and something holds of all higher sets of T; taken to be that "
        "they have no final state.",
        "What holds of them is a formula, and lost. On the automata of Theorem 3, whose final states are reached by "
        "marks only, the reading is right.",
    ),
    DamagedText(
        ("cep17.alg5",),
        "Appendix D.3.1: a new final state, and a transition into it for each one that reaches a final state.",
        "The signs that might say that these are the marking ones are lost.",
    ),
    DamagedText(
        ("cep17.alg8",),
        "Appendix D.3.4: line 13 adds the sink to the list of the state that the empty run has reached, and to add is "
        "the method for the beginning of a list (section 7.2).",
        "The listing is lost; line 13 may have had another method.",
    ),
)
