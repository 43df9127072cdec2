"""The queries that the suite of SASE+ puts to an engine, by feature, with the place that defines the feature."""

from __future__ import annotations

from collections.abc import Mapping

from proofs_tests.tools.suites.sase.queries.absent import ABSENT
from proofs_tests.tools.suites.sase.queries.answering import ANSWERING
from proofs_tests.tools.suites.sase.queries.readings import READINGS
from proofs_tests.tools.suites.sase.queries.selecting import SELECTING
from proofs_tests.tools.suites.sase.queries.skipping import SKIPPING

CLAUSES: Mapping[str, str] = {
    "sase-printed": "sase07 section 2.2, Queries 1 to 5; icde08 Figure 1",
    "sase-event": "sase07 section 2.2, PATTERN",
    "sase-sequence": "sase07 section 2.2, SEQ",
    "sase-kleene": "sase07 section 2.2, Kleene plus",
    "sase-predicate": "sase07 section A.1, good formulas",
    "sase-iterator": "sase07 section 2.2, individual iterator predicates",
    "sase-correlated": "sase07 section 2.2, correlated iterator predicates",
    "sase-running": "sase07 section 2.2, running aggregates",
    "sase-aggregate": "sase07 section 2.2.4, aggregates",
    "sase-equivalence": "sase07 section 2.2, equivalence tests",
    "sase-strict": "sase07 section 2.2.1, strict contiguity",
    "sase-partition": "sase07 section 2.2.1, partition contiguity",
    "sase-next": "sase07 section 2.2.1, skip till next match",
    "sase-any": "sase07 section 2.2.1, skip till any match",
    "sase-mixed": "sase07 section 2.2.1, one strategy for each component",
    "sase-end": "sase07 section 2.2.2, condition on the last event selected",
    "sase-cut": "sase07 section 2.2.2, !",
    "sase-stop": "sase07 section 3.2, termination criteria",
    "sase-within": "sase07 section 2.2.2, window constraints",
    "sase-negation": "sase07 section 2.2.3, negation",
    "sase-negated-kleene": "sase07 section 2.2.3, negation on Kleene closure",
    "sase-negation-front": "sase07 section 2.2.3; decisions/sase.md, negation in front",
    "sase-negation-end": "sase07 section 2.2.3; decisions/sase.md, negation at the end",
    "sase-having": "sase07 section 2.2, HAVING",
    "sase-return": "sase07 sections 2.1 and 2.2, RETURN",
    "sase-non-overlap": "icde08 section II.C, NON-OVERLAP",
    "sase-union": "sase07 section 2.2.4, UNION",
    "sase-composition": "sase07 sections 2.2.4 and 5, composition",
    "sase-values": "decisions/sase-language.md, values that are absent",
    "sase-reading-last_kleene": "decisions/sase.md, Kleene plus in last place",
    "sase-reading-cut_in_last_place": "decisions/sase.md, ! in last place",
    "sase-reading-stream_end": "decisions/sase.md, the end of a stream",
    "sase-reading-window": "decisions/sase.md, the bound of the window",
    "sase-reading-kleene_skips": "decisions/sase.md, what a Kleene plus skips",
    "sase-reading-negation_in_front": "decisions/sase.md, negation in front",
    "sase-reading-negated_series": "decisions/sase.md, a negated Kleene plus",
    "sase-reading-non_overlap": "decisions/sase.md, NON-OVERLAP",
}

QUERIES: Mapping[str, tuple[str, ...]] = {**SELECTING, **SKIPPING, **ABSENT, **ANSWERING, **READINGS}
