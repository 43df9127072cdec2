"""Errata of tods21."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import Erratum

THEOREM_6_2 = "Theorem 6.2 stands, with other constructions"
PROPOSITION_8_12 = "Proposition 8.12 stands: one case more, and another range"
DEFINITIONS = "a definition, with a sign or an order changed"

ERRATA = (
    Erratum(
        "Section 4, the windowing predicate",
        ("tods21.window4",),
        "Q asks for first − last < 100.",
        DEFINITIONS,
        "That always holds: see [windows](decisions/windows.md).",
    ),
    Erratum(
        "Theorem 6.2, contiguous iteration",
        ("tods21.thm6.2:cplus",),
        "For ψ⊕, a fresh state q between rounds. Marking transitions into a final state may enter q, and marking "
        "transitions out of an initial state may leave it.",
        THEOREM_6_2,
        "A round of a single event would have to lead from q back to q. Both printed sets of transitions have one end "
        "among the states of ψ, so that a round of one event can be the first or the last, but never a middle one.",
    ),
    Erratum(
        "Theorem 6.2, UNLESS",
        ("tods21.thm6.2:unless",),
        "ψ1 runs beside the determinized automaton of π∅(ψ2), and accepts where that one does not.",
        THEOREM_6_2,
        "The printed automaton only asks whether ψ2 has a match on the whole interval read. Figure 3 asks for every "
        "interval inside.",
    ),
    Erratum(
        "Theorem 6.2, ALL",
        ("tods21.thm6.2:all",),
        "A product in which one operand may move alone while the other is in an initial or a final state.",
        THEOREM_6_2,
        "While one operand is done and the other has not begun, neither may move, so that nothing can lie between the "
        "two. Where an operand skips by itself before its first event this does not show; anchored by START it does.",
    ),
    Erratum(
        "Theorem 6.3",
        ("tods21.thm6.3",),
        "For a transition (q, P, L, q') the formula `ψ = π_L((R1 OR … OR Rr) IN (L ∪ {A}) FILTER P(A))` with a fresh "
        "variable A. The formulas are joined with `:` and ⊕, and START is put around the whole.",
        "Theorem 6.3 stands, and Corollary 6.4 with it",
        "Where L is empty, π_L leaves a valuation that binds nothing. An event that is skipped then has neither a "
        "first nor a last position for `:` to compare. However one reads that, START asks that the first event *bound* "
        "be the first of the stream, so that an automaton may not begin by skipping.",
    ),
    Erratum(
        "Section 7.1, STRICT",
        ("tods21.sec7.1:strict",),
        "STRICT keeps μ if k ∉ sup(μ) for every k between two positions of sup(μ).",
        DEFINITIONS,
        "That forbids what it should ask for: see [strategies](decisions/strategies.md).",
    ),
    Erratum(
        "Theorem 7.2, NXT, LAST and MAX",
        ("tods21.thm7.2:nxt", "tods21.thm7.2:last", "tods21.thm7.2:max"),
        "States (R, W), or (R, W, T): R for runs with the same valuation as the present one, W for those that win over "
        "it, T for those that lose.",
        "Theorem 7.2 stands, with other constructions",
        "A run with the same support but other variables is in none of the sets, so that what it wins by afterwards is "
        "not seen. The proof of the invariants passes over it; with one variable per event it holds.",
    ),
    Erratum(
        "Theorem 8.9, from automata to formulas",
        ("tods21.thm8.9:to-cel",),
        "In the text at hand: `φ_ij^k = φ_ij^(k−1) OR (φ_ik ; φ_kj) OR (φ_ik ; φ_kk ; φ_kj)`, all of k − 1. The proof "
        "of Theorem 6.3 has `φ_kk⊕` in this place, so a + may have been lost. Both readings are checked.",
        "Theorem 8.9 stands",
        "A run can come through the state k any number of times, and the formula lets it stay there once.",
    ),
    Erratum(
        "Proposition 8.12, the property that separates",
        ("tods21.prop8.12:strictness",),
        "Appendix B: a formula is strict-bounded if into each of its larger valuations any event can be inserted at "
        "some i with min(sup(μ)) ≤ i < max(sup(μ)), where the event comes to stand *before* the one at i.",
        PROPOSITION_8_12,
        "STRICT(A+), which is to have no equivalent in CEL\\* with `:`, is strict-bounded itself, so that the property "
        "does not separate it. With the corrected range it is not strict-bounded, and Lemma B.1 holds.",
    ),
    Erratum(
        "Proposition 8.12, the rewriting of contiguous sequences",
        ("tods21.prop8.12:containment",),
        "Cases for `;`, FILTER, OR, + and event types on either side of `:`.",
        PROPOSITION_8_12,
        "The inner `:` becomes `STRICT(A ; A)`, and for `A : STRICT(A ; A)` there is no case.",
    ),
    Erratum(
        "Proposition 8.13, STRICT of a sequence",
        ("tods21.prop8.13:seq",),
        "In the text at hand: STRICT(ρ1 ; ρ2) ≡ STRICT(ρ1) ; STRICT(ρ2). The second `;` may be a damaged `:`, which "
        "the text around asks for.",
        "Proposition 8.13 stands, with `:`",
    ),
    Erratum(
        "Proposition 8.15, the rewriting of contiguous iteration",
        ("tods21.prop8.15",),
        "The rewriting of `:` and ⊕ by cases, with those of Proposition 8.12.",
        "Proposition 8.15 stands for the formulas looked at; one equivalence changes",
        "As for Proposition 8.12, and by the equivalence that the next erratum is about.",
    ),
    Erratum(
        "Proposition 8.15, the case OR",
        ("tods21.prop8.15:or",),
        "In the text at hand, part (5) of (φ1 OR (ρ1 ; ρ2))⊕ is (ρ1 ; ρ2)⊕ : (φ1⊕ : (ρ1 ; ρ2))⊕. An iteration of the "
        "second ρ1 ; ρ2 may have been lost.",
        "Proposition 8.15 stands for the formulas looked at; one equivalence changes",
        "After a φ1 there is room for one ρ1 ; ρ2 only, so that ρ φ ρ ρ is in none of the five parts (ρ for ρ1 ; ρ2). "
        "The other displayed equivalences hold.",
    ),
)
