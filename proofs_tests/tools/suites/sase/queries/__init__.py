"""The queries that the suite of SASE+ puts to an engine, by feature, with the place that defines the feature."""

from __future__ import annotations

from collections.abc import Mapping

from cerify.semantics.sase.clauses import CONSTRUCTS
from proofs_tests.tools.suites.sase.queries.absent import ABSENT
from proofs_tests.tools.suites.sase.queries.answering import ANSWERING
from proofs_tests.tools.suites.sase.queries.readings import READINGS
from proofs_tests.tools.suites.sase.queries.selecting import SELECTING
from proofs_tests.tools.suites.sase.queries.skipping import SKIPPING

CLAUSES: Mapping[str, str] = {
    "sase-printed": "sase07 section 2.2, Queries 1 to 5; icde08 Figure 1",
    **{f"sase-{construct.name}": construct.source for construct in CONSTRUCTS},
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
