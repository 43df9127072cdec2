"""Simplify SASE+ queries, for shrinking and campaigns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeVar, cast

from cerify.equivalence.rewrite.trees import same
from cerify.equivalence.shrink.shrink import (
    QueryOperations,
    Reduction,
    dropped,
    parts,
    simpler_numbers,
    value_weight,
    varied,
)
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Attribute, Predicate, mapped_predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import require_wellformed
from cerify.semantics.sase.clauses import blocks_of, conjuncts, queries_of, strategies
from cerify.semantics.sase.clauses import operators as operators_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show
from cerify.semantics.values import Value

N = TypeVar("N", bound=sase.SaseNode)
T = TypeVar("T")


def blocks(q: sase.Tree) -> list[sase.SaseQuery]:
    """Return the query blocks of a query, of its unions and of the queries that it reads."""
    return [block for query in queries_of(q) for block in blocks_of(query)]


def at_each_node(root: N, local: Callable[[Any], Iterable[Any]]) -> Iterator[N]:
    """Yield the tree with one node replaced, for each replacement that `local` offers, outermost first."""
    yield from local(root)
    for name in (field.name for field in fields(root)):
        value: Any = getattr(root, name)
        below = value if isinstance(value, tuple) else (value,)
        for others in varied(
            below, lambda child: at_each_node(child, local) if isinstance(child, sase.SaseNode) else ()
        ):
            changed: Any = {name: others if isinstance(value, tuple) else others[0]}
            yield replace(root, **changed)


def with_changes(tree: T, change: Callable[[Any], Any]) -> T:
    """Return the tree with `change` applied to each node, left to right, operands first."""
    if isinstance(tree, tuple):
        return cast("T", tuple(with_changes(part, change) for part in tree))
    if not isinstance(tree, sase.SaseNode):
        return tree
    below = {field.name: with_changes(getattr(tree, field.name), change) for field in fields(tree)}
    return cast("T", change(replace(tree, **below)))


def with_conditions(node: sase.SaseNode, change: Callable[[Predicate], Predicate]) -> sase.SaseNode:
    """Apply `change` to the condition of a conjunct or of HAVING; return any other node unchanged."""
    match node:
        case sase.Conjunct(p) if not isinstance(p, sase.Equivalence):
            return replace(node, condition=change(p))
        case sase.SaseQuery() if node.having is not None:
            return replace(node, having=change(node.having))
    return node


def size(q: sase.Tree) -> int:
    """Return the number of components, conjuncts, other clauses and attributes of the result."""
    return sum(map(_size, blocks(q)))


def _size(q: sase.SaseQuery) -> int:
    clauses = (q.within is not None) + (q.having is not None) + (q.source is not None)
    return len(q.pattern) + len(list(conjuncts(q))) + len(q.returned.items) + clauses


def complexity(q: sase.Tree) -> int:
    """Return how far a query is from the simplest one: a sum over its components, blocks, results and window."""
    return sum(map(_complexity, blocks(q)))


def _complexity(q: sase.SaseQuery) -> int:
    return (
        sum(2 * k.kleene + 2 * k.negated for k in q.pattern)
        + sum(1 + sase.STRATEGIES.index(b.strategy) for b in q.where if b.strategy is not None)
        + len(q.where)
        + sum(argument.cut for b in q.where for argument in b.arguments)
        + sum(c.underlined for c in conjuncts(q))
        + sum(not isinstance(item.output, sase.Simple) for item in q.returned.items)
        + q.returned.non_overlap
        + (value_weight(q.within.amount) if q.within is not None else 0)
    )


def types(q: sase.Tree) -> Iterator[str]:
    """Yield the event types of the components."""
    return (k.type for block in blocks(q) for k in block.pattern)


def attributes(q: sase.Tree) -> Iterator[str]:
    """Yield only the time, because it orders the events. Shrinking tries to drop every other attribute."""
    return iter((TIME,))


def predicates(q: sase.Tree) -> Iterator[Predicate]:
    """Yield the conditions of WHERE and HAVING."""
    for block in blocks(q):
        yield from (c.condition for c in conjuncts(block) if not isinstance(c.condition, sase.Equivalence))
        if block.having is not None:
            yield block.having


def mapped(q: sase.Tree, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same) -> sase.Tree:
    """Return the query with other event types, and other constants in its conditions."""

    def change(node: sase.SaseNode) -> sase.SaseNode:
        if isinstance(node, sase.Component):
            return replace(node, type=name(node.type))
        return with_conditions(node, lambda p: mapped_predicate(p, value=value))

    return with_changes(q, change)


def operators(q: sase.Tree) -> set[str]:
    """Return the names of the operators and strategies of a query."""
    return {*operators_of(q), *strategies(q)}


# --- reductions at one node -------------------------------------------------------------------------------------------


def fewer_blocks(node: sase.SaseNode) -> Iterator[sase.SaseNode]:
    """Yield a part of a union, a union with fewer parts, or a program with fewer queries."""
    match node:
        case sase.SaseUnion(parts_):
            yield from (*parts_, *map(sase.SaseUnion, dropped(parts_)))
        case sase.Program(queries):
            yield from (*queries, *map(sase.Program, dropped(queries)))


def fewer_parts(q: sase.SaseNode) -> Iterator[sase.SaseQuery]:
    """Yield the query without one component (and all mentions of it), one clause, one conjunct, or one attribute of the
    result.
    """
    if not isinstance(q, sase.SaseQuery):
        return
    for k in q.pattern:
        if any(not other.negated for other in q.pattern if other is not k):
            yield without(q, k.variable)
    yield replace(q, where=(), within=None, having=None)
    yield replace(q, where=())
    yield replace(q, within=None)
    yield replace(q, having=None)
    for where in varied(q.where, lambda b: (replace(b, conjuncts=fewer) for fewer in dropped(b.conjuncts))):
        yield replace(q, where=tuple(filter(_is_written, where)))
    for items in dropped(q.returned.items):
        if items:
            yield replace(q, returned=replace(q.returned, items=items))


def without(q: sase.SaseQuery, variable: str) -> sase.SaseQuery:
    """Return the query without a component and its mentions. Some other component must be positive."""

    def is_kept(c: sase.Conjunct) -> bool:
        return isinstance(c.condition, sase.Equivalence) or not _mentions(c.condition, variable)

    blocks = tuple(
        sase.Block(
            b.strategy,
            tuple(argument for argument in b.arguments if argument.variable != variable),
            tuple(filter(is_kept, b.conjuncts)),
        )
        for b in q.where
    )
    pattern = tuple(k for k in q.pattern if k.variable != variable)
    there = next(k for k in pattern if not k.negated)
    items = tuple(item for item in q.returned.items if variable not in _variables(item.output))
    if not items:
        items = (sase.Item(sase.Simple(sase.Reference(TIME, there.variable, "first" if there.kleene else "only"))),)
    return replace(
        q,
        pattern=pattern,
        where=tuple(filter(_is_written, blocks)),
        having=None if q.having is not None and _mentions(q.having, variable) else q.having,
        returned=replace(q.returned, items=items),
    )


def _is_written(b: sase.Block) -> bool:
    """Return whether a block can be written as text: it gives some variable a strategy, or has bare predicates."""
    return bool(b.arguments) if b.strategy is not None else bool(b.conjuncts)


def simpler_components(q: sase.SaseNode) -> Iterator[sase.SaseQuery]:
    """Yield the query with one component no longer negated, or no longer a Kleene plus."""
    if not isinstance(q, sase.SaseQuery):
        return
    for pattern in varied(q.pattern, lambda k: (replace(k, negated=False),)):
        yield replace(q, pattern=pattern)
    yield from (single(q, k.variable) for k in q.pattern if k.kleene)


def single(q: sase.SaseQuery, variable: str) -> sase.SaseQuery:
    """Return the query in which the variable is no longer an array."""

    def rename_variable(a: Attribute) -> Attribute:
        return sase.Reference(a.name or TIME, variable) if a.variable == variable else a

    def change(node: sase.SaseNode) -> sase.SaseNode:
        match node:
            case sase.Component() if node.variable == variable:
                return replace(node, kleene=False)
            case sase.Selected() if node.variable == variable:
                return replace(node, cut=False)
            case sase.Item(output) if variable in _variables(output):
                return sase.Item(sase.Simple(sase.Reference(TIME, variable)))
        return with_conditions(node, lambda p: mapped_predicate(p, rename_variable))

    return with_changes(q, change)


def simpler_blocks(node: sase.SaseNode) -> Iterator[sase.SaseNode]:
    """Yield the node with one part made simpler: its strategies, a cut or underline, its window or its results."""
    match node:
        case sase.SaseQuery():
            every = tuple(conjuncts(node))
            arguments = tuple(argument for b in node.where for argument in b.arguments)
            yield replace(node, where=(sase.Block(None, (), every),) if every else ())
            for strategy in sase.STRATEGIES if arguments else ():
                yield replace(node, where=(sase.Block(strategy, arguments, every),))
            kleene = {k.variable: k.kleene for k in node.pattern}

            def plain(item: sase.Item) -> Iterator[sase.Item]:
                for a in sorted(_variables(item.output)):
                    yield sase.Item(sase.Simple(sase.Reference(TIME, a, "first" if kleene[a] else "only")))

            for items in varied(node.returned.items, plain):
                yield replace(node, returned=replace(node.returned, items=items))
        case sase.Block() if node.strategy is not None:
            yield from (replace(node, strategy=strategy) for strategy in sase.STRATEGIES)
        case sase.Selected():
            yield replace(node, cut=False)
        case sase.Conjunct():
            yield replace(node, underlined=False)
        case sase.Return():
            yield replace(node, non_overlap=False)
        case sase.SaseWindow():
            yield from (replace(node, amount=amount) for amount in simpler_numbers(node.amount))


def simpler_predicates(node: sase.SaseNode) -> Iterator[sase.SaseNode]:
    """Yield the node with its condition replaced by a part of it, or by a comparison."""
    match node:
        case sase.Conjunct(p) if not isinstance(p, sase.Equivalence):
            yield from (replace(node, condition=part) for part in parts(p))
        case sase.SaseQuery() if node.having is not None:
            yield from (replace(node, having=part) for part in parts(node.having))


def _mentions(p: Predicate, variable: str) -> bool:
    return any(a.variable == variable for a in mentions(p))


def _variables(output: sase.Output) -> set[str]:
    match output:
        case sase.Simple(term):
            return {a.variable or "" for a in mentions(term)}
        case sase.SaseSeries(a) | sase.Composite(a) | sase.CompositeSeries(a):
            return {a}


REDUCTIONS: tuple[Reduction[sase.Tree], ...] = tuple(
    partial(at_each_node, local=local)
    for local in (fewer_blocks, fewer_parts, simpler_components, simpler_blocks, simpler_predicates)
)

SASE = QueryOperations[sase.Tree](
    parse,
    show,
    REDUCTIONS,
    size,
    complexity,
    types,
    attributes,
    predicates,
    mapped,
    operators,
    require_wellformed,
)
