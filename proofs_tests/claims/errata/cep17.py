"""Errata of cep17."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import Erratum

NOTE = """The formulas and the listings are lost in the text at hand, so what is checked is what the text around them
says. Where a lost sign could change the matter both readings are told. Automata are given by their transitions, • with
a mark and ◦ without, on any event if none is named."""

THEOREM_4 = "Theorem 4 stands, with other constructions"
THEOREM_6 = "Theorem 6 stands"

ERRATA = (
    Erratum(
        "Lemma B.12",
        ("cep17.lemB.12",),
        "A disjunct that is not safe matches nothing, and can be removed.",
        "the lemma is false; Theorem 1 stands, with the correction",
        "It takes a definition with it, and the variable is then undefined in what is left: see "
        "[normal forms](decisions/normal-forms.md).",
    ),
    Erratum(
        "Theorem 4, LAST",
        ("cep17.appC.3:last", "cep17.lemC.14:last"),
        'Appendix C.3.3: the automaton of LAST is that of NXT with another third condition, and "the only condition '
        'that changes" is that one. So the second still forbids a step to a state that a higher set reaches, with a '
        "mark or without.",
        THEOREM_4 + ". Algorithm 6 does it right",
        "Under LAST a mark wins over everything that does not mark, whatever came before. A run of a higher set that "
        "reaches the state by skipping is beaten by a lower one that marks, and the second condition removes the "
        "winner. Lemma C.14, which is said to carry over, fails with it: two runs with the same marks are in "
        "different sets.",
    ),
    Erratum(
        "Theorem 4, NXT",
        ("cep17.appC.3:nxt",),
        "Appendix C.3.2: a state (q, T) is final if q is final and no higher set of T has a final state.",
        THEOREM_4,
        "The higher set stands for a complex event that ended before. It is no rival of those that end here, since an "
        "accepting run ends with a mark, but it keeps them from being accepted. On the automata of Theorem 3, whose "
        "final states are reached by marks only, the printed construction is right.",
    ),
    Erratum(
        "Algorithm 5, NXT",
        ("cep17.alg5",),
        "Appendix D.3.1: a new final state, and a transition into it for each one that reaches a final state. The "
        "signs are lost that might say that these are only the marking ones.",
        THEOREM_6,
        "If all are meant it is as for Theorem 4, NXT. LAST (Algorithm 6) is right in both readings.",
    ),
    Erratum(
        "Algorithm 8, STRICT",
        ("cep17.alg8",),
        "Appendix D.3.4: line 13 adds the sink to the list of the state that the empty run has reached, and to add is "
        "the method for the beginning of a list (section 7.2).",
        THEOREM_6,
        "Enumerate goes through a list from its beginning and stops at the first node of another position. The sink is "
        "one, and hides what was marked here.",
    ),
    Erratum(
        "Section 8.2, Figure 5",
        ("cep17.fig5",),
        "Selection strategies produce at most one output for each event.",
        "a remark that is false of STRICT and MAX",
        "Of two matches that end at the same event, neither need contain the other, and both may be without gaps.",
    ),
)
