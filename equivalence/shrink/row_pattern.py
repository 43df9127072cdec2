"""Simplify clauses of MATCH_RECOGNIZE, for shrinking and campaigns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from cerify.equivalence.shrink.shrink import QueryOperations, TreeShape, dropped, varied
from cerify.semantics import trees
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import columns_in
from cerify.semantics.row_pattern.syntax import (
    MatchRecognize,
    Order,
    RowSkip,
    RowsPerMatch,
    RowWindow,
    constructs,
    show,
)
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value

T = TypeVar("T")
PATTERN: TreeShape[Any] = TreeShape(trees.children, trees.rebuilt)
EXPRESSION: TreeShape[Any] = PATTERN
LISTS = ("define", "measures", "partition", "order", "subsets")


def size(q: MatchRecognize) -> int:
    """Return the number of nodes in the pattern and the expressions, plus the number of parts of other clauses."""
    nodes = sum(1 for root in (q.pattern, *q.expressions) for _ in subtrees(root))
    return nodes + sum(len(getattr(q, name)) for name in LISTS) + sum(len(one.members) for one in q.subsets)


def complexity(q: MatchRecognize) -> int:
    """Return how far a clause is from the simplest one: a sum over its window, output, skip, order and nodes."""
    nodes = [*subtrees(q.pattern), *(node for e in q.expressions for node in subtrees(e))]
    window = 0 if q.window is None else 1 + q.window.seek + (-1 if (end := q.window.following) is None else end) + 1
    output = ("one", "all", "all omit empty", "all with unmatched").index(q.rows)
    skip = ("past last row", "next row", "last", "first").index(q.skip.to)
    return (
        window
        + output
        + skip
        + q.longest
        + sum(one.descending + (one.nulls is not None) for one in q.order)
        + sum(map(_complexity, nodes))
    )


def _complexity(node: rows.Pattern | rows.Expression) -> int:
    match node:
        case rows.Quantified(_, low, high, greedy):
            return 2 * low + (2 * high if high is not None else 1) + (not greedy)
        case rows.RowVariable(name):
            return ord(name[0])
        case rows.Logical(_, _, offset, semantics):
            return offset + (semantics == "FINAL")
        case rows.Physical(_, _, offset):
            return abs(offset - 1)
        case rows.RowAggregate() | rows.Count():
            return int(node.semantics == "FINAL")
        case rows.IsNull() | rows.RowBetween() | rows.RowIn() | rows.RowLike():
            return int(node.negated)
    return 0


def pruned(q: MatchRecognize) -> MatchRecognize:
    """Drop variables that the pattern lacks from DEFINE, SUBSET and AFTER MATCH SKIP."""
    unions = (replace(one, members=tuple(A for A in one.members if A in q.primary)) for one in q.subsets)
    q = replace(
        q,
        define=tuple(one for one in q.define if one.variable in q.primary),
        subsets=tuple(one for one in unions if one.members),
    )
    return replace(q, skip=RowSkip()) if q.skip.variable not in (None, *q.unions) else q


def fewer_clauses(q: MatchRecognize) -> Iterator[MatchRecognize]:
    """Yield the clause without one part, or with simpler output, window, skip or order."""
    for name in LISTS:
        for fewer in dropped(getattr(q, name)):
            changed: Any = {name: fewer}
            yield pruned(replace(q, **changed))
    simpler: tuple[RowsPerMatch, ...] = ("one", "all")
    yield from (replace(q, rows=rows_) for rows_ in simpler)
    if q.window is not None:
        yield replace(q, window=None)
        yield from (replace(q, window=window) for window in (RowWindow(), replace(q.window, seek=False)))
        if q.window.following:
            yield replace(q, window=replace(q.window, following=q.window.following - 1))
    if q.longest:
        yield replace(q, longest=False)
    yield from (replace(q, skip=skip) for skip in (RowSkip(), RowSkip("next row")))
    for order in varied(q.order, lambda one: (Order(one.column),)):
        yield replace(q, order=order)


def smaller_patterns(q: MatchRecognize) -> Iterator[MatchRecognize]:
    """Yield the clause with a pattern in which a descendant replaces an ancestor; then with simpler quantifiers,
    shorter PERMUTE or other variables.
    """
    for p in (*PATTERN.parts_instead(q.pattern), *PATTERN.at_each_node(q.pattern, lambda p: _simpler(p, q.primary))):
        yield pruned(replace(q, pattern=p))


def _simpler(p: rows.Pattern, variables: tuple[str, ...]) -> Iterator[rows.Pattern]:
    match p:
        case rows.Quantified(inner, low, high, _):
            for bounds in ((0, None), (1, None), (0, 1), (low, low), (max(low - 1, 0), high)):
                yield rows.Quantified(inner, *bounds)
            if high:
                yield rows.Quantified(inner, min(low, high - 1), high - 1, p.greedy)
        case rows.Permute(parts):
            yield from (rows.Permute(fewer) for fewer in dropped(parts) if fewer)
        case rows.RowVariable():
            yield from map(rows.RowVariable, variables)


def smaller_expressions(q: MatchRecognize) -> Iterator[MatchRecognize]:
    """Yield the clause with an expression in which a descendant replaces an ancestor; then with simpler navigation."""

    def find_smaller(e: rows.Expression) -> Iterator[rows.Expression]:
        yield from EXPRESSION.parts_instead(e)
        yield from EXPRESSION.at_each_node(e, _plainer)

    for define in varied(q.define, lambda one: (replace(one, condition=e) for e in find_smaller(one.condition))):
        yield replace(q, define=define)
    for measures in varied(q.measures, lambda one: (replace(one, expression=e) for e in find_smaller(one.expression))):
        yield replace(q, measures=measures)


def _plainer(e: rows.Expression) -> Iterator[rows.Expression]:
    match e:
        case rows.Logical(function, argument, offset, _):
            yield rows.Logical(function, argument, max(offset - 1, 0))
            yield rows.Logical("LAST", argument, offset)
        case rows.Physical(function, argument, offset):
            yield rows.Physical(function, argument, 1)
        case rows.Collection():
            yield rows.Count()
        case rows.RowAggregate(function, argument):
            yield rows.RowAggregate(function, argument)
            yield rows.Count()
        case rows.RowColumn(name, A, quoted) if A is not None:
            yield rows.RowColumn(name, None, quoted)
        case rows.IsNull() | rows.RowBetween() | rows.RowIn() | rows.RowLike():
            yield replace(e, negated=False)
            if isinstance(e, rows.RowIn) and len(e.items) > 1:
                yield from (replace(e, items=fewer) for fewer in dropped(e.items))


def attributes(q: MatchRecognize) -> Iterator[str]:
    """Yield the columns in a clause."""
    return (one.name for one in columns_in(q))


def mapped(
    q: MatchRecognize, name: Callable[[str], str] | None = None, value: Callable[[Value], Value] | None = None
) -> MatchRecognize:
    """Return the clause with other constants. It names no event types, and its variables keep their names."""

    def other(e: rows.Expression) -> rows.Expression:
        if isinstance(e, rows.RowConstant):
            shown = e.value
            if value is None or shown is None or isinstance(shown, timedelta):
                return e
            return rows.RowConstant(value(shown))
        return trees.rebuilt(e, [other(operand) for operand in rows.below(e)])

    return replace(
        q,
        define=tuple(replace(one, condition=other(one.condition)) for one in q.define),
        measures=tuple(replace(one, expression=other(one.expression)) for one in q.measures),
    )


def nothing(q: MatchRecognize) -> Iterator[Any]:
    """Yield nothing, because a clause has neither event types nor predicates on events."""
    return iter(())


ROW_PATTERN = QueryOperations[MatchRecognize](
    parse=parse,
    show=show,
    reductions=(fewer_clauses, smaller_patterns, smaller_expressions),
    size=size,
    complexity=complexity,
    types=nothing,
    attributes=attributes,
    predicates=nothing,
    mapped=mapped,
    operators=constructs,
    require_wellformed=require_wellformed,
)
