"""Smaller queries of SASE+, with smaller streams: the ways, what cuts deepest first, and the order that they descend.

A candidate need not be smaller in fact, nor well-formed: shrinking drops those that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from cerify.equivalence.shrink.shrink import descent
from cerify.equivalence.shrink.smaller import fewer_events, parts, simpler_numbers, simpler_than
from cerify.equivalence.shrink.weight import Weight, name_weight, nodes, value_weight
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Predicate, mapped_predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import conjuncts
from cerify.semantics.sase.conditions import mentions_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.show import show
from cerify.semantics.sase.wellformed import require_wellformed
from cerify.semantics.values import Value

Candidates: TypeAlias = Iterator[tuple[sase.Query, Stream]]


def shrink(
    q: sase.Query, S: Stream, differs: Callable[[sase.Query, Stream], bool], tries: int = 2000
) -> tuple[sase.Query, Stream]:
    """A query and a stream that still differ, and are locally minimal; see `shrink` of CEL."""
    return descent(q, S, differs, tries, WAYS, weight, well_formed)


def well_formed(q: sase.Query) -> bool:
    """Whether the text of the query parses to the same query. Raises ParseError, IllFormed where it does not parse."""
    require_wellformed(q)
    return parse(show(q)) == q


def weight(q: sase.Query, S: Stream) -> Weight:
    """In turn: components, conjuncts and other clauses; events; predicate nodes; what components and blocks carry;
    declared attributes; attribute values there are; how far types, then values and constants are from the simplest."""
    declared = S.schema.types if S.schema is not None else {}
    values = [value for event in S for value in event.attributes.values()]
    return (
        len(q.pattern)
        + len(list(conjuncts(q)))
        + len(q.returned.items)
        + (q.within is not None)
        + (q.having is not None),
        len(S),
        sum(map(nodes, predicates(q))),
        sum(2 * k.kleene + 2 * k.negated for k in q.pattern)
        + sum(1 + sase.STRATEGIES.index(b.strategy) for b in q.where if b.strategy is not None)
        + len(q.where)
        + sum(argument.cut for b in q.where for argument in b.arguments)
        + sum(c.underlined for c in conjuncts(q))
        + sum(not isinstance(item.output, sase.Simple) for item in q.returned.items)
        + q.returned.non_overlap,
        sum(1 + len(attributes) for attributes in declared.values()),
        len(values),
        sum(name_weight(k.type) for k in q.pattern) + sum(name_weight(e.type) for e in S),
        sum(map(value_weight, (*values, *constants(q)))) + (value_weight(q.within.amount) if q.within else 0),
    )


def predicates(q: sase.Query) -> Iterator[Predicate]:
    """The conditions of WHERE and HAVING."""
    yield from (c.condition for c in conjuncts(q) if not isinstance(c.condition, sase.Equivalence))
    if q.having is not None:
        yield q.having


def constants(q: sase.Query) -> list[Value]:
    """The constants of the conditions."""
    found: list[Value] = []

    def seen(value: Value) -> Value:
        found.append(value)
        return value

    for p in predicates(q):
        mapped_predicate(p, value=seen)
    return found


# --- ways -------------------------------------------------------------------------------------------------------------


def fewer_parts(q: sase.Query, S: Stream) -> Candidates:
    """Without a component and all that mentions it, without a clause, a conjunct or an attribute of the result."""
    for k in q.pattern:
        if any(not other.negated for other in q.pattern if other is not k):
            yield without(q, k.variable), S
    yield replace(q, where=(), within=None, having=None), S
    yield replace(q, where=()), S
    yield replace(q, within=None), S
    yield replace(q, having=None), S
    for n, block in enumerate(q.where):
        for m in range(len(block.conjuncts)):
            fewer = replace(block, conjuncts=block.conjuncts[:m] + block.conjuncts[m + 1 :])
            yield replace(q, where=tuple(filter(_is_written, (*q.where[:n], fewer, *q.where[n + 1 :])))), S
    if len(items := q.returned.items) > 1:
        for n in range(len(items)):
            yield replace(q, returned=replace(q.returned, items=items[:n] + items[n + 1 :])), S


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


def simpler_components(q: sase.Query, S: Stream) -> Candidates:
    """One event for a Kleene plus, one that is there for one that must not be, another type."""
    for n, k in enumerate(q.pattern):
        rest = q.pattern[:n], q.pattern[n + 1 :]
        if k.negated:
            yield replace(q, pattern=(*rest[0], replace(k, negated=False), *rest[1])), S
        if k.kleene:
            yield single(replace(q, pattern=(*rest[0], replace(k, kleene=False), *rest[1])), k.variable), S
        for type_ in sorted({other.type for other in q.pattern} | {e.type for e in S}):
            yield replace(q, pattern=(*rest[0], replace(k, type=type_), *rest[1])), S
    for n, event in enumerate(S):
        for k in q.pattern:
            yield q, Stream([*S[:n], Event(k.type, event.attributes), *S[n + 1 :]], S.schema)


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


def simpler_blocks(q: sase.Query, S: Stream) -> Candidates:
    """One strategy for all, a simpler one, none; less cut, less underlined; a shorter window, simpler results."""
    every = tuple(conjuncts(q))
    arguments = tuple(argument for b in q.where for argument in b.arguments)
    yield replace(q, where=(sase.Block(None, (), every),) if every else ()), S
    for strategy in sase.STRATEGIES if arguments else ():
        yield replace(q, where=(sase.Block(strategy, arguments, every),)), S
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
        yield from ((replace(q, where=(*q.where[:n], other, *q.where[n + 1 :])), S) for other in others)
    yield replace(q, returned=replace(q.returned, non_overlap=False)), S
    for n, item in enumerate(q.returned.items):
        for a in sorted(_variables(item.output)):
            place: sase.Place = "first" if next(k.kleene for k in q.pattern if k.variable == a) else "only"
            plain = sase.Item(sase.Simple(sase.Reference(TIME, a, place)))
            items = (*q.returned.items[:n], plain, *q.returned.items[n + 1 :])
            yield replace(q, returned=replace(q.returned, items=items)), S
    if q.within is not None:
        for amount in simpler_numbers(q.within.amount):
            yield replace(q, within=replace(q.within, amount=amount)), S


def simpler_predicates(q: sase.Query, S: Stream) -> Candidates:
    """A condition replaced by a part of it, or by a comparison."""
    for n, b in enumerate(q.where):
        for m, c in enumerate(b.conjuncts):
            if not isinstance(c.condition, sase.Equivalence):
                for p in parts(c.condition):
                    simpler = replace(b, conjuncts=(*b.conjuncts[:m], replace(c, condition=p), *b.conjuncts[m + 1 :]))
                    yield replace(q, where=(*q.where[:n], simpler, *q.where[n + 1 :])), S
    if q.having is not None:
        yield from ((replace(q, having=p), S) for p in parts(q.having))


def less_declared(q: sase.Query, S: Stream) -> Candidates:
    """Without an attribute, in all events and in the schema."""
    for name in sorted({name for event in S for name in event.attributes}):
        events = [Event(e.type, {a: v for a, v in e.attributes.items() if a != name}) for e in S]
        types = (
            {T: {a: t for a, t in of.items() if a != name} for T, of in S.schema.types.items()} if S.schema else None
        )
        yield q, Stream(events, None if types is None else Schema(types))
    yield q, Stream(S)


def simpler_values(q: sase.Query, S: Stream) -> Candidates:
    """Simpler attribute values and constants, one by one."""
    for n, event in enumerate(S):
        for name, value in event.attributes.items():
            for simpler in simpler_than(value):
                yield q, Stream([*S[:n], Event(event.type, {**event.attributes, name: simpler}), *S[n + 1 :]], S.schema)
    for n, value in enumerate(constants(q)):
        for simpler in simpler_than(value):
            yield _with_constant(q, n, simpler), S


WAYS = (
    fewer_events,
    fewer_parts,
    simpler_components,
    simpler_blocks,
    simpler_predicates,
    less_declared,
    simpler_values,
)


def _with_constant(q: sase.Query, index: int, value: Value) -> sase.Query:
    """The query with the constant of that index (in the order of `constants`) replaced."""
    place = count()

    def other(old: Value) -> Value:
        return value if next(place) == index else old

    def conjunct(c: sase.Conjunct) -> sase.Conjunct:
        if isinstance(c.condition, sase.Equivalence):
            return c
        return replace(c, condition=mapped_predicate(c.condition, value=other))

    where = tuple(replace(b, conjuncts=tuple(map(conjunct, b.conjuncts))) for b in q.where)
    return replace(q, where=where, having=None if q.having is None else mapped_predicate(q.having, value=other))


def _mentions(p: Predicate, variable: str) -> bool:
    return any(a.variable == variable for a in mentions(p))


def _variables(output: sase.Output) -> set[str]:
    match output:
        case sase.Simple(term):
            return {a.variable or "" for a in mentions_of(term)}
        case sase.Series(a) | sase.Composite(a) | sase.CompositeSeries(a):
            return {a}
