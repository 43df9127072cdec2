"""The answers of the readable evaluator on a whole stream: all bindings of a query, the first of them, or how many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cerify.automata.nfab.evaluate import BlockRunner, require_matches
from cerify.automata.nfab.plan import ascend
from cerify.semantics.budget import Budget
from cerify.semantics.events import Bindings, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.reading import DECIDED, Reading


def bindings(
    q: sase.Query,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """The bindings of a query over a stream. Raises BudgetExceeded."""
    E = BlockRunner(q, reading, budget, operations, ordered=ascend(S))
    found = {*E.read(S), *E.finish()}
    require_matches(len(found), budget)
    return found


def count(
    q: sase.Query,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> int:
    """The number of matches. They are not listed, unless a negated component has to be tried on each."""
    E = BlockRunner(q, reading, budget, operations, ordered=ascend(S))
    if E.absences is not None:
        return sum(1 for _ in _all(E, S))
    return E.count(S) + sum(node.count for node in E.end())


def first(
    q: sase.Query,
    S: Stream,
    limit: int,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> list[Bindings]:
    """The matches completed first, at most that many; the stream is read no further than these need."""
    return list(islice(_all(BlockRunner(q, reading, budget, operations, ordered=ascend(S)), S), limit))


def _all(E: BlockRunner, S: Stream) -> Iterator[Bindings]:
    for event in S:
        yield from E.listed(E.nodes(event))
    yield from E.listed(E.end())
