"""Claims checked, many at a time: each in a process of its own, handed out in the order of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from cerify.equivalence.differential import end_with_parent
from proofs_tests.claims.everything import LEDGER
from proofs_tests.claims.ledger import Effort, entry


def checked(ids: Sequence[str], effort: Effort, jobs: int) -> Iterator[dict[str, Any]]:
    """The entries of these ids, in their order, by `jobs` processes."""
    if jobs == 1:
        yield from (_checked(id_, effort) for id_ in ids)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool:
        yield from pool.map(_checked, ids, [effort] * len(ids))


def _checked(id_: str, effort: Effort) -> dict[str, Any]:
    return entry(LEDGER[id_], effort)
