"""Shrinking and campaigns of SASE+: how a query gets simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cerify.equivalence.rewrite.trees import same
from cerify.equivalence.shrink.operations import QueryOperations, Reduction
from cerify.equivalence.shrink.smaller import parts, simpler_numbers
from cerify.equivalence.shrink.weight import value_weight
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Attribute, Predicate, mapped_predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import conjuncts
from cerify.semantics.sase.fragment import operators as operators_of
from cerify.semantics.sase.fragment import strategies
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.show import show
from cerify.semantics.sase.streams import blocks_of, queries_of
from cerify.semantics.sase.wellformed import require_wellformed
from cerify.semantics.values import Value


def blocks(q: sase.Tree) -> list[sase.Query]:
    """The query blocks of a query, of its unions and of the queries that it reads."""
    return [block for query in queries_of(q) for block in blocks_of(query)]


@dataclass(frozen=True)
class InEachBlock:
    """The reduction of a query of which each block is reduced as local does; it can be pickled, as a function can."""

    local: Reduction[sase.Query]

    def __call__(self, q: sase.Tree) -> Iterator[sase.Tree]:
        match q:
            case sase.Query():
                yield from self.local(q)
            case sase.Union(below):
                for i, part in enumerate(below):
                    yield from (sase.Union((*below[:i], p, *below[i + 1 :])) for p in self.local(part))
            case sase.Program(queries):
                for i, query in enumerate(queries):
                    yield from (
                        sase.Program((*queries[:i], other, *queries[i + 1 :]))
                        for other in self(query)
                        if not isinstance(other, sase.Program)
                    )


def fewer_blocks(q: sase.Tree) -> Iterator[sase.Tree]:
    """A part of a union, a union of fewer parts, a program of fewer queries."""
    match q:
        case sase.Query():
            return
        case sase.Union(below):
            yield from below
            yield from (sase.Union((*below[:i], *below[i + 1 :])) for i in range(len(below)))
        case sase.Program(queries):
            yield from queries
            yield from (sase.Program((*queries[:i], *queries[i + 1 :])) for i in range(len(queries)))
            for i, query in enumerate(queries):
                yield from (
                    sase.Program((*queries[:i], other, *queries[i + 1 :]))
                    for other in fewer_blocks(query)
                    if not isinstance(other, sase.Program)
                )


def size(q: sase.Tree) -> int:
    """The number of components, conjuncts, other clauses and attributes of the result."""
    return sum(map(_size, blocks(q)))


def _size(q: sase.Query) -> int:
    clauses = (q.within is not None) + (q.having is not None) + (q.source is not None)
    return len(q.pattern) + len(list(conjuncts(q))) + len(q.returned.items) + clauses


def complexity(q: sase.Tree) -> int:
    """How far components, blocks and results are from plain ones, and the window from the shortest."""
    return sum(map(_complexity, blocks(q)))


def _complexity(q: sase.Query) -> int:
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
    """The event types of the components."""
    return (k.type for block in blocks(q) for k in block.pattern)


def attributes(q: sase.Tree) -> Iterator[str]:
    """The time, by which the events of a stream are ordered; shrinking tries to do without each of the others."""
    return iter((TIME,))


def predicates(q: sase.Tree) -> Iterator[Predicate]:
    """The conditions of WHERE and HAVING."""
    for block in blocks(q):
        yield from (c.condition for c in conjuncts(block) if not isinstance(c.condition, sase.Equivalence))
        if block.having is not None:
            yield block.having


def mapped(q: sase.Tree, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same) -> sase.Tree:
    """The query with other event types, and other constants in its conditions."""

    def conjunct(c: sase.Conjunct) -> sase.Conjunct:
        if isinstance(c.condition, sase.Equivalence):
            return c
        return replace(c, condition=mapped_predicate(c.condition, value=value))

    match q:
        case sase.Union(below):
            return sase.Union(tuple(_query(mapped(part, name, value)) for part in below))
        case sase.Program(queries):
            others = (mapped(query, name, value) for query in queries)
            return sase.Program(tuple(other for other in others if not isinstance(other, sase.Program)))
        case sase.Query():
            pattern = tuple(replace(k, type=name(k.type)) for k in q.pattern)
            where = tuple(replace(b, conjuncts=tuple(map(conjunct, b.conjuncts))) for b in q.where)
            having = None if q.having is None else mapped_predicate(q.having, value=value)
            return replace(q, pattern=pattern, where=where, having=having)


def _query(q: sase.Tree) -> sase.Query:
    assert isinstance(q, sase.Query)
    return q


def operators(q: sase.Tree) -> set[str]:
    """The names of the operators and strategies of a query."""
    return {*operators_of(q), *strategies(q)}


# --- reductions of a block --------------------------------------------------------------------------------------------


def fewer_parts(q: sase.Query) -> Iterator[sase.Query]:
    """Without a component and all that mentions it, without a clause, a conjunct or an attribute of the result."""
    for k in q.pattern:
        if any(not other.negated for other in q.pattern if other is not k):
            yield without(q, k.variable)
    yield replace(q, where=(), within=None, having=None)
    yield replace(q, where=())
    yield replace(q, within=None)
    yield replace(q, having=None)
    for n, block in enumerate(q.where):
        for m in range(len(block.conjuncts)):
            fewer = replace(block, conjuncts=block.conjuncts[:m] + block.conjuncts[m + 1 :])
            yield replace(q, where=tuple(filter(_is_written, (*q.where[:n], fewer, *q.where[n + 1 :]))))
    if len(items := q.returned.items) > 1:
        for n in range(len(items)):
            yield replace(q, returned=replace(q.returned, items=items[:n] + items[n + 1 :]))


def without(q: sase.Query, variable: str) -> sase.Query:
    """The query without a component, and without what mentions it; another component is positive."""

    def kept(c: sase.Conjunct) -> bool:
        return isinstance(c.condition, sase.Equivalence) or not _mentions(c.condition, variable)

    blocks = tuple(
        sase.Block(
            b.strategy,
            tuple(argument for argument in b.arguments if argument.variable != variable),
            tuple(filter(kept, b.conjuncts)),
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
    """Whether a block can be written: it gives a strategy to some variable, or it is bare and has predicates."""
    return bool(b.arguments) if b.strategy is not None else bool(b.conjuncts)


def simpler_components(q: sase.Query) -> Iterator[sase.Query]:
    """One event for a Kleene plus, one that is there for one that must not be."""
    for n, k in enumerate(q.pattern):
        rest = q.pattern[:n], q.pattern[n + 1 :]
        if k.negated:
            yield replace(q, pattern=(*rest[0], replace(k, negated=False), *rest[1]))
        if k.kleene:
            yield single(replace(q, pattern=(*rest[0], replace(k, kleene=False), *rest[1])), k.variable)


def single(q: sase.Query, variable: str) -> sase.Query:
    """The query in which the variable is no array any more."""

    def one(a: Attribute) -> Attribute:
        return sase.Reference(a.name or TIME, variable) if a.variable == variable else a

    def block(b: sase.Block) -> sase.Block:
        conjuncts_ = tuple(
            c if isinstance(c.condition, sase.Equivalence) else replace(c, condition=mapped_predicate(c.condition, one))
            for c in b.conjuncts
        )
        arguments = tuple(replace(a, cut=a.cut and a.variable != variable) for a in b.arguments)
        return replace(b, arguments=arguments, conjuncts=conjuncts_)

    items = tuple(
        sase.Item(sase.Simple(sase.Reference(TIME, variable))) if variable in _variables(item.output) else item
        for item in q.returned.items
    )
    having = None if q.having is None else mapped_predicate(q.having, one)
    return replace(q, where=tuple(map(block, q.where)), having=having, returned=replace(q.returned, items=items))


def simpler_blocks(q: sase.Query) -> Iterator[sase.Query]:
    """One strategy for all, a simpler one, none; less cut, less underlined; a shorter window, simpler results."""
    every = tuple(conjuncts(q))
    arguments = tuple(argument for b in q.where for argument in b.arguments)
    yield replace(q, where=(sase.Block(None, (), every),) if every else ())
    for strategy in sase.STRATEGIES if arguments else ():
        yield replace(q, where=(sase.Block(strategy, arguments, every),))
    for n, b in enumerate(q.where):
        others = [replace(b, strategy=strategy) for strategy in sase.STRATEGIES if b.strategy is not None]
        others += [
            replace(b, arguments=tuple(replace(a, cut=a.cut and i != m) for i, a in enumerate(b.arguments)))
            for m in range(len(b.arguments))
        ]
        others += [
            replace(
                b, conjuncts=tuple(replace(c, underlined=c.underlined and i != m) for i, c in enumerate(b.conjuncts))
            )
            for m in range(len(b.conjuncts))
        ]
        yield from (replace(q, where=(*q.where[:n], other, *q.where[n + 1 :])) for other in others)
    yield replace(q, returned=replace(q.returned, non_overlap=False))
    for n, item in enumerate(q.returned.items):
        for a in sorted(_variables(item.output)):
            place: sase.Place = "first" if next(k.kleene for k in q.pattern if k.variable == a) else "only"
            plain = sase.Item(sase.Simple(sase.Reference(TIME, a, place)))
            items = (*q.returned.items[:n], plain, *q.returned.items[n + 1 :])
            yield replace(q, returned=replace(q.returned, items=items))
    if q.within is not None:
        for amount in simpler_numbers(q.within.amount):
            yield replace(q, within=replace(q.within, amount=amount))


def simpler_predicates(q: sase.Query) -> Iterator[sase.Query]:
    """A condition replaced by a part of it, or by a comparison."""
    for n, b in enumerate(q.where):
        for m, c in enumerate(b.conjuncts):
            if not isinstance(c.condition, sase.Equivalence):
                for p in parts(c.condition):
                    simpler = replace(b, conjuncts=(*b.conjuncts[:m], replace(c, condition=p), *b.conjuncts[m + 1 :]))
                    yield replace(q, where=(*q.where[:n], simpler, *q.where[n + 1 :]))
    if q.having is not None:
        yield from (replace(q, having=p) for p in parts(q.having))


def _mentions(p: Predicate, variable: str) -> bool:
    return any(a.variable == variable for a in mentions(p))


def _variables(output: sase.Output) -> set[str]:
    match output:
        case sase.Simple(term):
            return {a.variable or "" for a in mentions(term)}
        case sase.Series(a) | sase.Composite(a) | sase.CompositeSeries(a):
            return {a}


REDUCTIONS: tuple[Reduction[sase.Tree], ...] = (
    fewer_blocks,
    *map(InEachBlock, (fewer_parts, simpler_components, simpler_blocks, simpler_predicates)),
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
