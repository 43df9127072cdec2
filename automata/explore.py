"""The one worklist loop: all nodes that can be reached, in the order of discovery (breadth first)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import TypeVar

from cerify.semantics.budget import check_time
from cerify.semantics.errors import BudgetExceeded

Node = TypeVar("Node", bound=Hashable)
Edge = TypeVar("Edge")


def explore(
    starts: Iterable[Node],
    successors: Callable[[Node], Iterable[tuple[Edge, Node]]],
    limit: int,
    what: str,
    seconds: float | None = None,
) -> dict[Node, list[tuple[Edge, Node]]]:
    """Each reachable node with its outgoing edges; the keys are in breadth-first order.

    Raises BudgetExceeded once more than limit nodes or edges of the thing named by what would be built, and after so
    many seconds.
    """
    until = None if seconds is None else time.monotonic() + seconds
    found: dict[Node, list[tuple[Edge, Node]]] = {}
    pending = deque(dict.fromkeys(starts))
    seen = set(pending)
    edges = 0
    while pending:
        check_time()
        node = pending.popleft()
        found[node] = list(islice(successors(node), limit - edges + 1))
        edges += len(found[node])
        for _, target in found[node]:
            if target not in seen:
                seen.add(target)
                pending.append(target)
        if len(seen) > limit or edges > limit:
            raise BudgetExceeded(f"{what} has more than {limit} states or transitions")
        if until is not None and time.monotonic() > until:
            raise BudgetExceeded(f"{what} takes more than {seconds} seconds to build")
    return found
