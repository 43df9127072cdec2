"""Claims checked, many at a time: each in a process of its own, handed out in the order of the ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from typing import Any

from cerify.equivalence.differential import end_with_parent
from proofs_tests.claims.everything import LEDGER
from proofs_tests.claims.ledger import PLANTED, Effort, entry


def checked(ids: Sequence[str], effort: Effort, jobs: int) -> Iterator[dict[str, Any]]:
    """The entries of these ids, in their order, by `jobs` processes."""
    if jobs == 1:
        yield from (_checked(id_, effort) for id_ in ids)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool:
        yield from pool.map(_checked, ids, [effort] * len(ids))


def planted(ids: Sequence[str], jobs: int) -> Iterator[dict[str, Any]]:
    """Plant the error of each of these entries and check it, each in a process that is used once, by `jobs` at a time.

    Each object has the entry's id, what is planted, the status that the check gives, whether it finds the error, and
    the seconds. An entry for which no error is planted has `what` null, and has found none.
    """
    context = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([__name__])  # what every process needs is imported once
    with ProcessPoolExecutor(jobs, context, end_with_parent, max_tasks_per_child=1) as pool:
        yield from pool.map(_planted, ids)


def _planted(id_: str) -> dict[str, Any]:
    error, started = PLANTED.get(id_), time.perf_counter()
    status = error.finding().status if error is not None else None
    return {
        "id": id_,
        "what": error.what if error is not None else None,
        "status": status,
        "found": error is not None and status == error.says,
        "seconds": round(time.perf_counter() - started, 3),
    }


def _checked(id_: str, effort: Effort) -> dict[str, Any]:
    return entry(LEDGER[id_], effort)
