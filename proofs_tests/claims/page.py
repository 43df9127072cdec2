"""The page of the claims, docs/claims.md: what the ledger says with its quick budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from proofs_tests.claims.errata.everything import erratum_of
from proofs_tests.claims.everything import PAPERS, of_paper
from proofs_tests.claims.ledger import LEDGER, entry
from proofs_tests.claims.markdown import escaped
from proofs_tests.claims.run import checked

STATUSES = ("holds", "holds-corrected", "refuted", "open")
INTRODUCTION = """# The claims of the papers

Every numbered or displayed claim of the five papers, and what a check of it says. *holds*: the claim passes as it is
printed. *holds-corrected*: as printed it fails, with a counterexample, and a correction passes the same check.
*refuted*: it fails. *open*: nothing decides it yet; the last column says why. What fails is told in
[errata](errata.md), and the status of each such claim leads to the place.

Evidence: *decided* covers all streams, or all histories, for the formulas that the last column names; *exhaustive* all
cases to a size; *solver* all values of attributes at the lengths named; *random* a sample; *measured* counted
operations, over the range named; *proof* an argument from other entries. *In Coq* names the theorem that proves the
claim, its correction, or the part of it that stands there, for all queries and streams of a
[model](theory/mechanised.md). The bounds are those of the quick check; `cerify claims --budget full` looks at more,
and `--json` shows the counterexamples. This page is written
by `cerify claims --write docs/claims.md`, together with the errata, here with cerify {version}.
"""
TOTALS = "| paper |"  # how the table of totals begins, here and in the README

_checked: dict[str, dict[str, Any]] = {}


def quick(id_: str) -> dict[str, Any]:
    """The entry with the quick budget, checked once."""
    if id_ not in _checked:
        _checked[id_] = entry(LEDGER[id_], "quick")
    return _checked[id_]


def page(jobs: int = 1) -> str:
    """The page, with every claim checked, by `jobs` processes."""
    left = [id_ for id_ in LEDGER if id_ not in _checked]
    _checked.update(zip(left, checked(left, "quick", jobs), strict=True))
    introduction = INTRODUCTION.format(version=version("cerify"))
    return "\n".join([introduction, *summary(), *(line for paper in PAPERS for line in _of(paper))]) + "\n"


def with_totals(readme: str) -> str:
    """The README with the table of totals as it is now; every claim has to be checked before."""
    before, _, after = readme.partition(TOTALS)
    rest = after.partition("\n\n")[2]
    return before + "\n".join(summary()) + "\n" + rest


def summary() -> Iterator[str]:
    """How many claims of each paper have which status."""
    yield f"{TOTALS} {' | '.join(STATUSES)} |"
    yield f"|---|{'---|' * len(STATUSES)}"
    for paper in PAPERS:
        counts = Counter(quick(claim.id)["status"] for claim in of_paper(paper))
        yield f"| {paper}: {PAPERS[paper]} | {' | '.join(str(counts[status]) for status in STATUSES)} |"
    yield ""


def _of(paper: str) -> Iterator[str]:
    yield f"## {paper}: {PAPERS[paper]}"
    yield ""
    yield "| id | claim | status | evidence | what was looked at |"
    yield "|---|---|---|---|---|"
    for claim in of_paper(paper):
        found = quick(claim.id)
        status = found["status"]
        if (erratum := erratum_of(claim.id)) is not None:
            status = f"[{status}](errata.md#{erratum.anchor})"
        bound = found["bound"] + (f". Reading: {found['reading']}" if found["reading"] else "")
        if found["theorem"]:
            bound += f". In Coq: `{found['theorem']}`"
        cells = (f"`{claim.id}`", claim.title, status, found["evidence"] or "", bound)
        yield "| " + " | ".join(_cell(text) for text in cells) + " |"
    yield ""


def _cell(text: str) -> str:
    """As Markdown has it, but for ids and links."""
    if text.startswith(("`", "[holds", "[refuted")):
        return text
    return escaped(text)
