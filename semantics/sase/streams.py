"""The streams that queries make and read: a directed graph (sase07, sections 2.2.4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from cerify.semantics.errors import IllFormed
from cerify.semantics.sase import syntax as sase


def queries_of(q: sase.Tree) -> tuple[sase.Query | sase.Union, ...]:
    """The queries of a program, in the order of the text; the last one has the answers."""
    return q.queries if isinstance(q, sase.Program) else (q,)


def blocks_of(q: sase.Query | sase.Union) -> tuple[sase.Query, ...]:
    """The query blocks that UNION connects."""
    return q.parts if isinstance(q, sase.Union) else (q,)


def stream_of(q: sase.Query | sase.Union) -> str | None:
    """The name of the stream that a query makes, if it is named; that of a union is named in one of its parts."""
    return next((part.returned.stream for part in blocks_of(q) if part.returned.stream is not None), None)


def source_of(part: sase.Query) -> str | None:
    """The name of the stream that a query block reads, None for the input."""
    return None if part.source == sase.INPUT_STREAM else part.source


def made(q: sase.Tree) -> Mapping[str, sase.Query | sase.Union]:
    """The queries that make a named stream."""
    return {name: query for query in queries_of(q) if (name := stream_of(query)) is not None}


def in_order(q: sase.Tree) -> tuple[sase.Query | sase.Union, ...]:
    """The queries of a program, each after those it reads. Raises IllFormed where they read each other in a circle."""
    queries, makers = queries_of(q), made(q)
    index = {id(query): n for n, query in enumerate(queries)}
    graph = {
        n: {index[id(makers[name])] for part in blocks_of(query) if (name := source_of(part)) in makers}  # type: ignore[index]
        for n, query in enumerate(queries)
    }
    try:
        return tuple(queries[n] for n in TopologicalSorter(graph).static_order())
    except CycleError as error:
        cycle: list[int] = error.args[1]
        names = " reads ".join(str(stream_of(queries[n])) for n in reversed(cycle))
        raise IllFormed(f"streams that read each other in a circle: {names}", queries[cycle[0]].span) from None
