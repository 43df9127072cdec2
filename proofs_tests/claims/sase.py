"""Claims of sase07 and icde08: listed, and open as long as their language is not there."""

from __future__ import annotations

from proofs_tests.claims.ledger import Kind, open_claim

WHY = "the language is not implemented yet"

SASE07: dict[str, tuple[str, Kind]] = {
    **{f"q{n}": (f"Query {n} returns what the text says", "example") for n in range(1, 6)},
    "fig1": ("Figure 1", "figure"),
    "fig2": ("Figure 2: the automaton of Query 3", "figure"),
    "tab1": ("The ignore edges of each strategy", "figure"),
    "strategies": ("How the selection strategies contain each other", "remark"),
    "termination": ("The three kinds of termination", "definition"),
    "negation": ("Negation", "definition"),
    "composition": ("Composition of queries", "definition"),
    "aggregates": ("Aggregates are associative and have an identity", "remark"),
    "good-formula": ("Good formulas", "definition"),
    "def-nfab": ("Automata with a buffer", "definition"),
    "def-run": ("Their runs", "definition"),
    "lemA.1": ("Lemma A.1", "lemma"),
    **{f"thm{n}": (f"Theorem {n}", "theorem") for n in ("4.1", "4.3", "4.5", "4.6")},
    "lem4.2": ("The word problem of S5", "lemma"),
    "lem4.4": ("Reachability with an order, both parts", "lemma"),
    "sqlts": ("The fragment that is SQL-TS", "remark"),
    "cayuga": ("The fragment that is Cayuga", "remark"),
}
ICDE08: dict[str, tuple[str, Kind]] = {
    "q1": ("Query 1", "example"),
    "q2": ("Query 2", "example"),
    "break": ("! changes the result of Query 2 and not that of Query 1", "example"),
    "nonoverlap": ("Results that do not overlap", "remark"),
}

for _paper, _claims in (("sase07", SASE07), ("icde08", ICDE08)):
    for _id, (_title, _kind) in _claims.items():
        open_claim(f"{_paper}.{_id}", _title, _kind, WHY)
