"""Errata of sase07; icde08 has none."""

from __future__ import annotations

from proofs_tests.claims.errata.erratum import DamagedText, Erratum

NOTE = """A match is the positions of each component. Why each reading was taken: [SASE+](decisions/sase.md). Some of
these may be damage of the text at hand; then the correction is what stood there. No theorem is touched."""
NOTE_OF_ICDE08 = """What `icde08.break` says of ! holds in the readings that [claims](claims.md) gives; others are in
[SASE+](decisions/sase.md)."""

DEFINITION = "a definition, with an index or an identifier changed"
FIGURE = "a figure or a table, with a formula changed"

ERRATA = (
    Erratum(
        "Figure 1",
        ("sase07.fig1",),
        "After the price of 20 at point 2, Query 2 without ! goes on to the 20 at point 3. Below, x = 1 and 2 stand "
        "for the prices 10 and 20.",
        FIGURE,
        "The condition has >, so that ! changes nothing.",
        damage="No: the words say that each price exceeds the one before, and that point 3 is another match.",
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
        damage="Not all of it: an index may have been misread, but `a.len = n` lacks a whole `− 1`.",
    ),
    Erratum(
        "Footnote 3, avg",
        ("sase07.aggregates",),
        "Section 2.2.4 has avg among the aggregates, and footnote 3 says that these are the associative binary "
        "operations with an identity.",
        "the results stand: avg is the quotient of two of them, sum and count",
        "The average of two averages forgets how many values each is of. As an operation on pairs of a sum and a count "
        "it is associative, on exact numbers.",
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
        "Lemma 4.2, the word problem of S5",
        ("sase07.lem4.2",),
        "An aggregate from v to π(v), with v = 1 at both ends.",
        "Lemma 4.2 stands, with another aggregate",
        "That v = 1 at both ends says that 1 is fixed, not that the product is the identity.",
    ),
)

DAMAGED = (
    DamagedText(
        ("sase07.fig2", "sase07.tab1"),
        "Figure 2 and Table 1: `a[i].price > avg(a[i-1].price)`, four times: the average of one price.",
        "Two lost dots: Query 3 as section 2.2.2 cites it has `avg(a[..i-1].price)`.",
    ),
)
