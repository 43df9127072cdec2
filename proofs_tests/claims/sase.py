"""Claims of sase07 and icde08: entered by the modules named sase_…; those that nothing checks yet are listed here."""

from __future__ import annotations

from proofs_tests.claims import (  # noqa: F401  (each enters its claims)
    sase_automaton,
    sase_examples,
    sase_power,
    sase_strategies,
)
from proofs_tests.claims.ledger import Kind, open_claim

OPEN: dict[str, tuple[str, Kind, str]] = {
    "sase07.thm4.6": (
        "All of SASE+: within NSPACE[log n], with complete problems",
        "theorem",
        "no program decides a complexity class; the complete problem is Lemma 4.4, and containment is called obvious",
    ),
    "sase07.sqlts": ("The fragment that is SQL-TS", "remark", "the fragment is checked, but SQL-TS is not implemented"),
    "sase07.cayuga": (
        "The fragment that is Cayuga",
        "remark",
        "the fragment is checked, but Cayuga is not implemented",
    ),
}

for _id, (_title, _kind, _why) in OPEN.items():
    open_claim(_id, _title, _kind, _why)
