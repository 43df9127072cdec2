"""Errata of tods21."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import DamagedText, Erratum

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
        damage="No: it would have to change the places of two words.",
    ),
    Erratum(
        "Theorem 6.2, contiguous iteration",
        ("tods21.thm6.2:cplus",),
        "For ψ⊕, a fresh state q between rounds. Marking transitions into a final state may enter q, and marking "
        "transitions out of an initial state may leave it.",
        THEOREM_6_2,
        "A round of a single event would have to lead from q back to q. Both printed sets of transitions have one end "
        "among the states of ψ, so that a round of one event can be the first or the last, but never a middle one.",
        damage="No: a whole set of transitions is missing, and the words have none.",
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
        damage="No: π_L and START are in the formulas, and the words explain both.",
    ),
    Erratum(
        "Theorem 7.2, NXT, LAST and MAX",
        ("tods21.thm7.2:nxt", "tods21.thm7.2:last", "tods21.thm7.2:max"),
        "States (R, W), or (R, W, T): R for runs with the same valuation as the present one, W for those that win over "
        "it, T for those that lose.",
        "Theorem 7.2 stands, with other constructions",
        "A run with the same support but other variables is in none of the sets, so that what it wins by afterwards is "
        "not seen. The proof of the invariants passes over it; with one variable per event it holds.",
        damage="No: the invariants in words are about the same sets.",
    ),
    Erratum(
        "Proposition 8.12, the property that separates",
        ("tods21.prop8.12:strictness",),
        "Appendix B: a formula is strict-bounded if into each of its larger valuations any event can be inserted at "
        "some i with min(sup(μ)) ≤ i < max(sup(μ)), where the event comes to stand *before* the one at i.",
        PROPOSITION_8_12,
        "STRICT(A+), which is to have no equivalent in CEL\\* with `:`, is strict-bounded itself, so that the property "
        "does not separate it. With the corrected range it is not strict-bounded, and Lemma B.1 holds.",
        damage="No: ≤ and < would have to change places, and the result of an insertion agrees with the range.",
    ),
    Erratum(
        "Proposition 8.12, the rewriting of contiguous sequences",
        ("tods21.prop8.12:containment",),
        "Cases for `;`, FILTER, OR, + and event types on either side of `:`.",
        PROPOSITION_8_12,
        "The inner `:` becomes `STRICT(A ; A)`, and for `A : STRICT(A ; A)` there is no case.",
    ),
    Erratum(
        "Proposition 8.15, the rewriting of contiguous iteration",
        ("tods21.prop8.15",),
        "The rewriting of `:` and ⊕ by cases, with those of Proposition 8.12.",
        "Proposition 8.15 stands for pointwise filters and the formulas looked at, with one case more",
        "As for Proposition 8.12: there is no case for STRICT beside `:`.",
    ),
    Erratum(
        "Theorem 9.1 and Algorithm 1, the delay",
        ("tods21.thm9.1",),
        "Algorithm 1: line 7 calls ENUMERATE for the rest of the list. The text says that the number of backtracking "
        "steps is at most the size of the last output.",
        "Theorem 9.1 stands, with line 7 as a loop",
        "Each node of a list has a call of its own, and the calls come back one by one. So the time between two "
        "outputs grows with the lengths of the lists, which the length of an output does not bound. With line 7 as a "
        "loop, or where a machine removes tail calls, there is one call for each event of the output.",
    ),
    Erratum(
        "Table 1, windowing",
        ("tods21.tab1:windowing",),
        "Windowing is ticked for CEL, and crossed for unary CEL and CEA. Section 4: not in unary CEL in general.",
        "a window of so many events is in unary CEL and CEA; one of a time is not",
        "The example of section 4 is a window of 100 events. A CEA counts them; by Theorem 6.3 it has a formula.",
        damage="No: section 4 says the same of the window of 100 events.",
    ),
    Erratum(
        "Definition 8.7, the valuation of a *-run",
        ("tods21.def8.7",),
        "μ(A) = {i_k | A ∈ L_i}, for a run of k steps with 0 < i_1.",
        "Proposition 8.8 and Theorem 8.9 stand, with the other index",
        damage="Of the index perhaps; not of 0 < i_1: the definition has S = t_1 t_2 …, other than section 4.",
    ),
    Erratum(
        "Proposition 8.13, STRICT below STRICT",
        ("tods21.prop8.13",),
        "Appendix C: an induction over the formulas of CEL* with STRICT, with cases for R, IN, `;`, FILTER, OR and +.",
        "Proposition 8.13 stands",
        "The operand of STRICT may be a STRICT itself, which has no case; it does nothing.",
    ),
    Erratum(
        "Proposition 8.15, unary predicates",
        ("tods21.prop8.15:arity",),
        "For a set of unary CEL predicates. Section 4 calls a predicate n-ary if it relates n sets of tuples.",
        "Proposition 8.15 stands for pointwise predicates, those of unary formulas in Definition 4.1",
        "The proof pushes a filter down to single events, which only a pointwise predicate allows.",
        damage="No: the statement and its proof say unary in words.",
    ),
    Erratum(
        "Section 9.1, the delay where nothing is output",
        ("tods21.sec9.1:delay",),
        "If ⟦A⟧_n(S) is empty, then delay_i(A, S, 1) = k.",
        "the definition stands, with a bound on the whole phase",
        damage="Of the index perhaps; not of a delay that there is not.",
    ),
    Erratum(
        "Section 9.2, equation (**)",
        ("tods21.thm9.1:recursion",),
        "From ⟦A⟧_{i−1} to ⟦A⟧_i by Δ(p, t_i, •), adding i, where ⟦A⟧_i is about t_0 … t_{i−1}.",
        "the proof of correctness stands, with the other index",
        damage="No: the index is the same in all places of the equation and of the words after it.",
    ),
)


DAMAGED = (
    DamagedText(
        ("tods21.sec7.1:strict",),
        "Section 7.1: STRICT keeps μ if k ∉ sup(μ) for every k between two positions of sup(μ).",
        "∉ for ∈. The words beside it say that sup(μ) is an interval.",
    ),
    DamagedText(
        ("tods21.thm8.9:to-cel",),
        "The proof of Theorem 8.9 has φ_kk in the recursion, where that of Theorem 6.3 has φ_kk⊕.",
        "A lost +.",
    ),
    DamagedText(
        ("tods21.prop8.13:seq",),
        "Appendix C: STRICT(ρ1 ; ρ2) ≡ STRICT(ρ1) ; STRICT(ρ2).",
        "; for `:`, on the right. Section 8.2 says that each ; is replaced by `:`.",
    ),
    DamagedText(
        ("tods21.prop8.15:or",),
        "Appendix E, the case OR, part (5): (ρ1 ; ρ2)⊕ : (φ1⊕ : (ρ1 ; ρ2))⊕.",
        "A lost ⊕ behind the second (ρ1 ; ρ2).",
    ),
)
