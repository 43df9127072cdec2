"""Errata of sase07; icde08 has none."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import Erratum

NOTE = """A match is the positions of each component. Why each reading was taken: [SASE+](decisions/sase.md). Some of
these may be damage of the text at hand; then the correction is what stood there. No theorem is touched but for what is
said of Theorem 4.1."""
NOTE_OF_ICDE08 = """What `icde08.break` says of ! holds in the readings that [claims](claims.md) gives; others are in
[SASE+](decisions/sase.md)."""

DEFINITION = "a definition, with an index or an identifier changed"
FIGURE = "a figure or a table, with a formula changed"

ERRATA = (
    Erratum(
        "Query 3 in Figure 2 and Table 1",
        ("sase07.fig2", "sase07.tab1"),
        "`a[i].price > avg(a[i-1].price)`, four times.",
        FIGURE,
        "The average is then that of one price. Query 3 and section 3.2 take it of all before, by which events are "
        'selected that are not above the last one. Table 1 also says "Group Contiguity" where it means strict '
        "contiguity.",
    ),
    Erratum(
        "Figure 1",
        ("sase07.fig1",),
        "After the price of 20 at point 2, Query 2 without ! goes on to the 20 at point 3. Below, x = 1 and 2 stand "
        "for the prices 10 and 20.",
        FIGURE,
        "The condition has >, so that ! changes nothing.",
    ),
    Erratum(
        "Appendix A.2, the identifiers on an edge",
        ("sase07.def-nfab",),
        "The identifiers on an edge are those up to its state, and `a.len` is not on take and ignore edges.",
        DEFINITION,
        "Figure 2 itself is otherwise, for `θ_a[i]_ignore` too.",
    ),
    Erratum(
        "Appendix A.2, the moves of a run",
        ("sase07.def-run",),
        "The proceed move has `a.len = n`, the begin move `θ_{t_k}_begin`, and the take and proceed moves `e_{v_n}`.",
        DEFINITION,
        "In the state `a[n]` the event `a[n]` is only looked at, and the printed move takes it for the last one "
        "selected. The edge by which a component begins leaves the state before it, so that the printed begin move is "
        "wrong for any query of two components.",
    ),
    Erratum(
        "Strategies that relax each other",
        ("sase07.strategies",),
        "Each selection strategy relaxes the one before.",
        "a remark that holds unless a Kleene plus without an end condition is last",
        "A Kleene plus in last place goes on for as long as nothing stops it, and less stops it where more is skipped.",
    ),
    Erratum(
        "Aggregates are associative",
        ("sase07.aggregates",),
        "sum and avg are associative.",
        "a remark that holds of exact numbers",
        "Sums of binary64 are rounded, at each step.",
    ),
    Erratum(
        "Section 4, Cayuga",
        ("sase07.cayuga:sections",),
        "Section 4: SASE+ with skip till next match is Cayuga.",
        "a remark, of which section 6 has the right form",
        "Section 6 puts partition contiguity in Cayuga too, and no small query by skip till next match has the matches "
        "of this one.",
    ),
    Erratum(
        "Theorem 4.1, closure under Kleene plus",
        ("sase07.thm4.1:1-2",),
        "SASE+ without aggregation is closed under Kleene plus, and so has every regular set.",
        "with composition it stands; simple queries have less than the regular sets",
        "A Kleene plus is of single events, and not of what a SEQ finds.",
    ),
    Erratum(
        "Lemma 4.2, the word problem of S5",
        ("sase07.lem4.2",),
        "An aggregate from v to π(v), with v = 1 at both ends.",
        "Lemma 4.2 stands, with another aggregate",
        "That v = 1 at both ends says that 1 is fixed, not that the product is the identity.",
    ),
)
