"""The whole ledger: importing this enters all claims; LISTED names those that it must have.

An id of LISTED is there if it is an entry, or if entries begin with it and a colon: its parts.
"""

from __future__ import annotations

import re

from proofs_tests.claims import (  # noqa: F401  (each enters its claims, or plants errors for them)
    cep17,
    cep17_automata,
    cep17_measured,
    cep17_sizes,
    definitions,
    eql,
    later,
    planted,
    sase,
    tods21_constructions,
    tods21_contiguity,
    tods21_core,
    tods21_expressible,
    tods21_language,
    tods21_letter,
    tods21_measured,
    tods21_pumping,
    tods21_section6,
    tods21_star,
    vldb92_attributes,
    vldb92_automata,
    vldb92_examples,
    vldb92_language,
    vldb92_occurrences,
    vldb92_power,
)
from proofs_tests.claims.ledger import LEDGER, Claim

PAPERS = {
    "tods21": "A Formal Framework for Complex Event Recognition (2021)",
    "cep17": "Foundations of Complex Event Processing (2017)",
    "sase07": "SASE+ (2007)",
    "icde08": "On Supporting Kleene Closure over Event Streams (2008)",
    "vldb92": "Composite Event Specification in Active Databases (1992)",
    "vldb22": "CORE: a Complex Event Recognition Engine (2022)",
    "icdt22": "Discovering Event Queries from Traces (2022)",
    "icdt20": "On the Expressiveness of Languages for Complex Event Recognition (2020)",
    "icdt25": "Complex Event Recognition Meets Hierarchical Conjunctive Queries (2024)",
    "pods25": "Complex Event Recognition under Time Constraints (2025)",
    "acel26": "A Formal Query Language and Automata Model for Aggregation in Complex Event Recognition (2026)",
    "vldb23": "High-Performance Row Pattern Recognition Using Joins (2023)",
    "vldb24": "Complex Event Recognition with Symbolic Register Transducers (2024)",
    "sigmod14": "On Complexity and Optimization of Expensive Queries in Complex Event Processing (2014)",
    "eql": "Event Query Language, as Elastic documents it (2026)",
}

LATER = ("icdt20", "icdt22", "icdt25", "pods25", "acel26", "vldb22", "vldb23", "vldb24", "sigmod14")
"""The keys of later work, which is one row of the README's table."""


def _under(paper: str, ids: str) -> list[str]:
    return [f"{paper}.{id_}" for id_ in ids.split()]


LISTED: tuple[str, ...] = (
    *_under("tods21", "ex3:phi1 ex3:phi1' ex3:phi2 ex3:phi2' ex3:phi3 ex3:phi3' ex3:phi4 ex3:phi5 fig3 sugar4 window4"),
    *_under("tods21", "def5.1 def5.2 def5.4 ex5.3 prop5.5 def5.6 thm6.2 thm6.3 cor6.4 lem7.1:next lem7.1:last"),
    *_under("tods21", "thm6.2:seq thm6.2:plus thm6.2:cseq thm6.2:cplus thm6.2:in thm6.2:filter thm6.2:project"),
    *_under("tods21", "thm6.2:start thm6.2:or thm6.2:and thm6.2:all thm6.2:unless"),
    *_under("tods21", "thm7.2:strict thm7.2:nxt thm7.2:last thm7.2:max thm7.2:size thm7.2:nxt-size"),
    *_under("tods21", "lem8.2 lem8.3 def8.4 prop8.5 cor8.6 prop8.8 thm8.9:to-cea thm8.9:to-cel rem8.9 cor8.10"),
    *_under(
        "tods21", "cor8.11:and cor8.11:all prop8.12:containment prop8.12:strictness lemB.1 prop8.13 thm8.14 lemD.1"
    ),
    *_under(
        "tods21",
        "tab1:correlation tab1:windowing sec9.1 prop5.5:size prop8.15 fig6 prop9.2 thm9.1 cor9.3 alg1 alg2 fig7 fig8",
    ),
    *_under("cep17", "lem1 thm1 lem2 lemB.8 lemB.10 lemB.12 thm2 thm3 thm4:strict thm4:nxt thm4:last thm4:max"),
    *_under(
        "cep17", "prop1:union prop1:intersection prop1:complement prop1:io-determinization thm5 thm6:strict thm6:nxt"
    ),
    *_under("cep17", "thm6:last thm6:max lemC.14 lemC.16 lemC.18 alg1 alg2 alg3 alg4 alg5 alg6 alg7 alg8 enum*"),
    *_under("cep17", "appC.3 fig4 tab2 fig5 appE:sase appE:espertech ex2 ex5 sec3 sec4 sec5.1 sec5.2 not-in-cel"),
    *_under("sase07", "q1 q2 q3 q4 q5 fig1 fig2 tab1 strategies termination negation composition aggregates"),
    *_under(
        "sase07",
        "sec4:more good-formula def-nfab def-run lemA.1 thm4.1 lem4.2 thm4.3 lem4.4 thm4.5 thm4.6 sqlts cayuga",
    ),
    *_under("icde08", "q1 q2 break nonoverlap"),
    *_under("vldb92", "sec2:masks ops:null-history ops:null ops:event ops:and ops:not ops:relative ops:relative+"),
    *(f"vldb92.derived:{letter}" for letter in "abcdefghijklmnop"),
    *_under("vldb92", "minimal regular:from regular:to ex2.4.1 ex2.4.2 constr:null constr:event constr:and constr:not"),
    *_under("vldb92", "constr:relative constr:relative+ constr:pipe constr:slashplus constr:prefix thm1 cor1 occ"),
    *_under(
        "vldb92", "corr:first corr:second slashplus-corr discount-corr constr-corr thm2 corr-general attr attr-spawn"
    ),
    *_under("vldb22", "partition window"),
    *_under("icdt22", "swg"),
    *_under("icdt20", "unary binary incomparable"),
    *_under("icdt25", "joins"),
    *_under("pods25", "inside lower-bound"),
    *_under("acel26", "bags"),
    *_under("vldb23", "joins joins:self-contained joins:rows-differ"),
    *_under("vldb24", "window"),
    *_under("sigmod14", "counts"),
    *_under("eql", "slots keyless by"),
    *_under("vldb92", "racket:points racket:prefix airport:AT_A airport:LAST_B airport:UB airport:ELAB"),
)


def missing() -> list[str]:
    """The listed ids that have no entry."""
    return [id_ for id_ in LISTED if id_ not in LEDGER and not any(known.startswith(f"{id_}:") for known in LEDGER)]


def of_paper(paper: str) -> list[Claim]:
    """The claims of a paper, in the order of the ids as a reader would sort them."""
    return sorted((c for c in LEDGER.values() if c.id.startswith(f"{paper}.")), key=lambda c: _natural(c.id))


def _natural(id_: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", id_)]
