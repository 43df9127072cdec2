"""The ledger: what an entry is, how entries are collected, and how one is checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from proofs_tests.claims.theorems import theorem

Kind = Literal[
    "theorem",
    "lemma",
    "proposition",
    "corollary",
    "definition",
    "construction",
    "example",
    "algorithm",
    "figure",
    "remark",
]
Status = Literal["holds", "holds-corrected", "refuted", "open"]
Evidence = Literal["decided", "exhaustive", "solver", "random", "proof", "measured"]
Effort = Literal["quick", "full"]


@dataclass(frozen=True)
class Finding:
    """What a check found; bound says in words and numbers what it covered, or why nothing decides it."""

    status: Status
    evidence: Evidence | None
    bound: str
    counterexample: dict[str, Any] | None = None
    correction: str | None = None


@dataclass(frozen=True)
class Claim:
    """A numbered or displayed claim of a paper, with its check."""

    id: str
    title: str
    kind: Kind
    check: Callable[[Effort], Finding]
    reading: str | None = None


LEDGER: dict[str, Claim] = {}


def claim(id: str, title: str, kind: Kind, reading: str | None = None) -> Callable[[Callable[[Effort], Finding]], None]:
    """Enter the decorated check into the ledger; it is told whether to look at little or at much."""

    def enter(check: Callable[[Effort], Finding]) -> None:
        if id in LEDGER:
            raise ValueError(f"two entries are called {id}")
        LEDGER[id] = Claim(id, title, kind, check, reading)

    return enter


def open_claim(id: str, title: str, kind: Kind, why: str) -> None:
    """Enter a claim that nothing decides yet."""
    claim(id, title, kind)(lambda effort: Finding("open", None, why))


def entry(claim: Claim, effort: Effort = "full") -> dict[str, Any]:
    """The claim checked, as one object of the ledger."""
    started = time.perf_counter()
    finding = claim.check(effort)
    return {
        "id": claim.id,
        "title": claim.title,
        "kind": claim.kind,
        **asdict(finding),
        "reading": claim.reading,
        "theorem": theorem(claim.id),
        "seconds": round(time.perf_counter() - started, 3),
    }
