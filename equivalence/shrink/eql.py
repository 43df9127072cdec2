"""Simplify EQL queries, for shrinking and campaigns: fewer steps, keys, pipes and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from cerify.equivalence.rewrite.trees import same
from cerify.equivalence.shrink.shrink import QueryOperations, dropped, varied
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.parse import parse
from cerify.semantics.trees import children, rebuilt, subtrees

Body = eql.EventFilter | eql.EventSequence | eql.EventSample
TRUE = eql.FieldConstant(True)


def fewer_parts(query: eql.EqlQuery) -> Iterator[eql.EqlQuery]:
    """Yield the query without a step, pipe, key, its window or `until`, or with a step repeated less often."""
    body = query.body
    yield from (eql.EqlQuery(body, pipes) for pipes in dropped(query.pipes))
    if isinstance(body, eql.EventSequence):
        yield from (_with(query, replace(body, steps=steps)) for steps in dropped(body.steps) if steps)
        yield from (_with(query, replace(body, until=None)) for _ in [1] if body.until is not None)
        yield from (_with(query, replace(body, maxspan=None)) for _ in [1] if body.maxspan is not None)
        yield from (_with(query, replace(body, keys=keys)) for keys in dropped(body.keys))
        if body.steps[0].keys:
            until = None if body.until is None else replace(body.until, keys=())
            yield _with(query, replace(body, steps=tuple(replace(s, keys=()) for s in body.steps), until=until))
        yield from (
            _with(query, replace(body, steps=steps))
            for steps in varied(body.steps, lambda s: [replace(s, runs=s.runs - 1)] if s.runs > 1 else [])
        )
    elif isinstance(body, eql.EventSample):
        yield from (_with(query, replace(body, steps=steps)) for steps in dropped(body.steps) if steps)


def simpler_conditions(query: eql.EqlQuery) -> Iterator[eql.EqlQuery]:
    """Yield the query with a condition replaced by a part of it, or left out."""

    def simpler(part: eql.EventFilter) -> Iterator[eql.EventFilter]:
        if part.condition != TRUE:
            yield replace(part, condition=TRUE)
            yield from (replace(part, condition=other) for other in _parts(part.condition))

    yield from (_with(query, body) for body in _with_filters(query.body, simpler))


def _parts(condition: eql.Condition) -> Iterator[eql.Condition]:
    match condition:
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            yield from parts
            for fewer in dropped(parts):
                if len(fewer) > 1:
                    yield type(condition)(fewer)
            for others in varied(parts, _parts):
                yield type(condition)(others)
        case eql.NegatedCondition(part):
            yield part
            yield from (eql.NegatedCondition(other) for other in _parts(part))
        case eql.ValueLookup(operator, term, values) if len(values) > 1:
            yield from (eql.ValueLookup(operator, term, fewer) for fewer in dropped(values))
        case eql.SingleCondition():
            return


def _with(query: eql.EqlQuery, body: Body) -> eql.EqlQuery:
    return eql.EqlQuery(body, query.pipes)


def _with_filters(body: Body, other: Callable[[eql.EventFilter], Iterator[eql.EventFilter]]) -> Iterator[Body]:
    if isinstance(body, eql.EventFilter):
        yield from other(body)
        return
    for steps in varied(body.steps, lambda s: (replace(s, filter=f) for f in other(s.filter))):
        yield replace(body, steps=steps)
    if isinstance(body, eql.EventSequence) and body.until is not None:
        for f in other(body.until.filter):
            yield replace(body, until=replace(body.until, filter=f))


def mapped(query: eql.EqlQuery, name: Callable[[str], str] = same, value: Callable[[Any], Any] = same) -> eql.EqlQuery:
    """Return the query with other categories and constants, and without spans."""

    def condition(node: Any) -> Any:
        match node:
            case eql.FieldConstant(constant):
                return eql.FieldConstant(constant if constant is None else value(constant))
            case eql.ValueLookup(operator, term, constants):
                mine = condition(term)
                return eql.ValueLookup(operator, mine, tuple(c if c is None else value(c) for c in constants))
        return rebuilt(node, [condition(child) for child in children(node)])

    def filtered(part: eql.EventFilter) -> eql.EventFilter:
        category = None if part.category is None else name(part.category)
        return eql.EventFilter(category, condition(part.condition))

    def step(one: eql.SequenceStep) -> eql.SequenceStep:
        return eql.SequenceStep(filtered(one.filter), one.keys, one.runs, one.missing)

    body = query.body
    made: Body
    match body:
        case eql.EventFilter():
            made = filtered(body)
        case eql.EventSequence(keys, maxspan, steps, until):
            made = eql.EventSequence(keys, maxspan, tuple(map(step, steps)), None if until is None else step(until))
        case eql.EventSample(keys, steps):
            made = eql.EventSample(keys, tuple(map(step, steps)))
    return eql.EqlQuery(made, tuple(eql.MatchPipe(pipe.name, pipe.count) for pipe in query.pipes))


def _size(query: eql.EqlQuery) -> int:
    nodes = sum(1 + sum(1 for _ in subtrees(part.condition)) for part in eql.filters_of(query))
    body = query.body
    if isinstance(body, eql.EventFilter):
        return nodes + len(query.pipes)
    keys = len(body.keys) + sum(len(step.keys) for step in body.steps)
    runs = sum(step.runs - 1 for step in body.steps)
    window = isinstance(body, eql.EventSequence) and body.maxspan is not None
    return nodes + len(query.pipes) + keys + runs + window


def _constants(query: eql.EqlQuery) -> int:
    return sum(
        len(node.values) for part in eql.filters_of(query) for node in subtrees(part.condition)
        if isinstance(node, eql.ValueLookup)
    )  # fmt: skip


def _operators(query: eql.EqlQuery) -> list[str]:
    return [type(node).__name__ for part in eql.filters_of(query) for node in subtrees(part.condition)]


def _categories(query: eql.EqlQuery) -> list[str]:
    return [part.category for part in eql.filters_of(query) if part.category is not None]


def _fields(query: eql.EqlQuery) -> list[str]:
    return [field.name for part in eql.filters_of(query) for field in eql.fields_of(part.condition)]


def _no_predicates(query: eql.EqlQuery) -> tuple[()]:
    return ()


def _require_wellformed(query: eql.EqlQuery) -> None:
    from cerify.semantics.eql.check import require_wellformed

    require_wellformed(query)


EQL: QueryOperations[eql.EqlQuery] = QueryOperations(
    parse=parse,
    show=eql.show,
    reductions=(fewer_parts, simpler_conditions),
    size=_size,
    complexity=_constants,
    types=_categories,
    attributes=_fields,
    predicates=_no_predicates,
    mapped=mapped,
    operators=_operators,
    require_wellformed=_require_wellformed,
)
