"""The ledger: what an entry is, how entries are collected, and how one is checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal
from unittest.mock import patch

from cerify.semantics.errors import InternalError
from proofs_tests.claims.errata import damaged_text
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
Status = Literal["holds", "holds-corrected", "refuted", "open", "text-damaged"]
Evidence = Literal["decided", "exhaustive", "solver", "random", "proof", "measured", "example"]
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


@dataclass(frozen=True)
class Planted:
    """An error put in the place of something that a check is about, which the check has to find.

    broken makes the wrong one from the right one, which is the attribute of a module or a class. says is the status by
    which the check shows that it has found the error.
    """

    claim: str
    what: str
    owner: Any
    attribute: str
    broken: Callable[[Any], Any]
    says: Status = "refuted"

    def finding(self) -> Finding:
        """Return what the quick check says with the error in place; a check that stops by an assertion refutes."""
        with patch.object(self.owner, self.attribute, self.broken(getattr(self.owner, self.attribute))):
            try:
                return LEDGER[self.claim].check("quick")
            except (AssertionError, InternalError) as error:
                return Finding("refuted", None, f"the check stops: {error}")


LEDGER: dict[str, Claim] = {}
OPEN: set[str] = set()
"""The claims without a check."""

PLANTED: dict[str, Planted] = {}
"""One planted error for each claim that has a check, beside the check."""


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
    OPEN.add(id)


def plant(
    claims: str | Iterable[str],
    what: str,
    owner: Any,
    attribute: str,
    broken: Callable[[Any], Any],
    says: Status = "refuted",
) -> None:
    """Declare an error that the quick checks of some claims find, each of them by itself.

    Args:
        claims: their ids, with spaces between, or a collection of ids.
        what: what is wrong, in a phrase.
        owner: the module or class that has the attribute; where a name is imported, the module that imports it.
        attribute: what is replaced while the check runs.
        broken: makes the wrong one from the right one.
        says: the status of the claim with the error in place; "holds" only for a claim that is refuted without it.
    """
    for id_ in claims.split() if isinstance(claims, str) else claims:
        if id_ in PLANTED:
            raise ValueError(f"two errors are planted for {id_}")
        PLANTED[id_] = Planted(id_, what, owner, attribute, broken, says)


def entry(claim: Claim, effort: Effort = "full") -> dict[str, Any]:
    """The claim checked, as one object of the ledger."""
    started = time.perf_counter()
    finding = claim.check(effort)
    if finding.status == "holds-corrected" and damaged_text(claim.id) is not None:
        finding = replace(finding, status="text-damaged")
    elif finding.status == "holds" and (text := damaged_text(claim.id)) is not None and text.mended is not None:
        case = {"expected": text.mended, "got": text.printed}
        finding = replace(finding, status="text-damaged", counterexample=case, correction=text.mended)
    return {
        "id": claim.id,
        "title": claim.title,
        "kind": claim.kind,
        **asdict(finding),
        "reading": claim.reading,
        "theorem": theorem(claim.id),
        "seconds": round(time.perf_counter() - started, 3),
    }
