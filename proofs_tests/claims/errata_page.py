"""The page of the errata, docs/errata.md: what is told of each, and what the checks of its claims find."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from proofs_tests.claims.errata import (
    ALL_DAMAGED,
    ALL_ERRATA,
    NOTES,
    TEXTS,
    DamagedText,
    Erratum,
    codes,
    escaped,
    lines,
)
from proofs_tests.claims.everything import PAPERS, of_paper
from proofs_tests.claims.ledger import LEDGER
from proofs_tests.claims.page import STATUSES, quick

INTRODUCTION = """# Errata

Written by `cerify claims --write docs/claims.md`, together with [claims](claims.md), with cerify {version}.

This page lists what fails as printed in the papers. Each erratum names its claims (by their ids in
[claims](claims.md)). It has a counterexample and, unless the claim is refuted, a correction that passes the same check.
The counterexample is the first that the quick check finds when it searches from small cases to large ones, or one made
by hand, which need not be the smallest. *holds-corrected*: fails as printed, holds with the correction. *refuted*:
fails. If nothing is said about damage of the copy, one sign more or less would not correct the text. Claims that may
fail only because our copy is damaged are in [a separate table](#text-that-may-be-damaged).

We read these copies, and had no others with which to compare them:

{texts}

Positions count from 0. {{0, 2}} is a complex event, {{A: 0, 2; X: 0}} a valuation, and A(x=1) an event of type
A. `cerify claims ID --json` prints the case of a claim as data.
"""
ONE_SIGN = "No: one sign more or less would not correct it."


def problems() -> Iterator[str]:
    """Why the errata are not those of the ledger."""
    told = Counter(id_ for erratum in ALL_ERRATA for id_ in erratum.claims)
    damaged = Counter(id_ for text in ALL_DAMAGED for id_ in text.claims)
    for id_ in damaged:
        if id_ not in LEDGER or quick(id_)["status"] != "text-damaged" or damaged[id_] > 1 or told[id_]:
            yield f"{id_} is told as a damaged text, and is none, or twice"
    for id_ in told.keys() - LEDGER.keys():
        yield f"an erratum is about {id_}, which is no claim"
    for id_ in LEDGER:
        status = quick(id_)["status"]
        if status in ("holds-corrected", "refuted") and not told[id_]:
            yield f"{id_} is {status}, and no erratum is about it"
        if status in ("holds", "open", "text-damaged") and told[id_]:
            yield f"an erratum is about {id_}, which is {status}"
        if told[id_] > 1:
            yield f"{told[id_]} errata are about {id_}"


def page() -> str:
    """The page."""
    papers = (line for paper in PAPERS for line in _of(paper))
    texts = "\n".join(f"- {paper}: {text}" for paper, text in TEXTS.items())
    introduction = INTRODUCTION.format(version=version("cerify"), texts=texts)
    return "\n".join([introduction, *_results(), *papers, *_damaged()]).rstrip() + "\n"


def _damaged() -> Iterator[str]:
    """The texts that may be damaged, and what holds if they are."""
    yield from ("## Text that may be damaged", "")
    yield from (
        "In our copy these claims fail, or make no sense. Damage of the copy, mostly of a single sign, would explain "
        "this.",
        "",
    )
    yield from (
        "| claims | in our copy | damage that would explain it | what then holds |",
        "|---|---|---|---|",
    )
    yield from map(_damaged_row, ALL_DAMAGED)
    yield ""


def _damaged_row(text: DamagedText) -> str:
    cells = (codes(text.claims), *(cell.replace("|", "\\|") for cell in (text.printed, text.damage)))
    return f"| {' | '.join(cells)} | {_by_claim({id_: quick(id_)['correction'] for id_ in text.claims})} |"


def _results() -> Iterator[str]:
    """The claims that fail, with what becomes of the result; those of one paper for which it is the same together."""
    yield from ("## Which results stand", "")
    yield from ("| claims that fail as printed | what stands |", "|---|---|")
    rows: dict[tuple[str, str], list[str]] = {}
    for paper in PAPERS:
        for erratum in ALL_ERRATA:
            for id_ in erratum.claims if erratum.paper == paper else ():
                rows.setdefault((paper, erratum.outcome), []).append(id_)
    for (_, outcome), ids in rows.items():
        yield f"| {codes(tuple(ids))} | {outcome} |"
    yield ""


def _of(paper: str) -> Iterator[str]:
    yield from (f"## {paper}", "")
    counts = Counter(quick(claim.id)["status"] for claim in of_paper(paper))
    counted = ", ".join(f"*{status}* {counts[status]}" for status in STATUSES if counts[status])
    yield from (f"{PAPERS[paper]}. {counts.total()} claim{'s' * (counts.total() != 1)}: {counted}.", "")
    if paper in NOTES:
        yield from (NOTES[paper], "")
    for erratum in ALL_ERRATA:
        if erratum.paper == paper:
            yield from _told(erratum)


def _told(erratum: Erratum) -> Iterator[str]:
    found = {id_: quick(id_) for id_ in erratum.claims}
    yield from (f"### {erratum.title}", "")
    statuses = _together({id_: entry["status"] for id_, entry in found.items()})
    yield from ("; ".join(f"{codes(ids)}: *{status}*" for ids, status in statuses) + ".", "")
    yield from (f"*Printed.* {erratum.printed}", "")
    if erratum.damage != ONE_SIGN:
        yield from (f"*Damage of the copy?* {erratum.damage}", "")
    cases = _together({id_: entry["counterexample"] for id_, entry in found.items()})
    yield from (f"*Counterexample{'s' if len(cases) > 1 else ''}*:", "")
    for ids, case in cases:
        if len(cases) > 1:
            yield f"- {codes(ids)}"
        yield from lines(case, "  " if len(cases) > 1 else "")
    yield ""
    if erratum.why is not None:
        yield from (f"*Why.* {erratum.why}", "")
    corrections = {id_: entry["correction"] for id_, entry in found.items() if entry["correction"] is not None}
    if corrections:
        yield from (f"*Correction*: {_by_claim(corrections)}.", "")


def _by_claim(texts: dict[str, str]) -> str:
    """What each claim has; without their ids if all have the same."""
    together = _together(texts)
    if len(together) == 1:
        return escaped(together[0][1])
    return "; ".join(f"{codes(ids)}: {escaped(text)}" for ids, text in together)


def _together(found: dict[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """The ids for which the same is found, with what that is."""
    groups: dict[str, list[str]] = {}
    for id_, what in found.items():
        groups.setdefault(json.dumps(what, sort_keys=True), []).append(id_)
    return [(tuple(ids), found[ids[0]]) for ids in groups.values()]
