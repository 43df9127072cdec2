"""Check the rules of EQL that its grammar does not express, and whether a query fits a schema."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, TIMESTAMP, network_of
from cerify.semantics.errors import IllFormed, Span
from cerify.semantics.events import TIME, Schema
from cerify.semantics.patterns import flaw
from cerify.semantics.predicates import Problem, find_nearest_name, unknown_type
from cerify.semantics.trees import subtrees
from cerify.semantics.values import KIND_OF, kind

Broken = tuple[str, Span | None]


def require_wellformed(query: eql.EqlQuery) -> None:
    """Raise IllFormed for the first rule that the query breaks."""
    for message, span in _broken_rules(query):
        raise IllFormed(message, span)


def problems(query: eql.EqlQuery, schema: Schema | None) -> list[Problem]:
    """Return the rules that the query breaks and, with a schema, where the query does not fit the schema."""
    found = [Problem("reference", message, span) for message, span in _broken_rules(query)]
    if schema is not None:
        absent: dict[str | None, dict[str, eql.EventField]] = {}  # by category; None for fields that no event has
        for filter_ in eql.filters_of(query):
            found += _unfit(filter_, schema)
            for field in eql.fields_of(filter_.condition):
                _note_absent(field, filter_.category, schema, absent)
        for key in (key for keys in _keys_of(query) for key in keys):
            _note_absent(key, None, schema, absent)
        found += (_absent_problem(category, list(named.values()), schema) for category, named in absent.items())
        body = query.body
        if isinstance(body, eql.EventSequence) and body.maxspan is not None:
            found += _timeless(schema, body.maxspan.span)
    first: dict[tuple[str, str], Problem] = {}  # a field that no event has is reported once, at its first place
    for problem in found:
        first.setdefault((problem.rule, problem.message), problem)
    return list(first.values())


def require_typed(query: eql.EqlQuery, schema: Schema) -> None:
    """Raise IllFormed for the first rule that the query breaks, or the first place where it does not fit the schema.

    A field that only other categories have is no reason to raise.
    """
    for problem in problems(query, schema):
        if not problem.partial:
            raise IllFormed(problem.hinted, problem.span)


def _broken_rules(query: eql.EqlQuery) -> Iterator[Broken]:
    match query.body:
        case eql.EventSequence(_, maxspan, steps, until):
            positive = sum(step.runs for step in steps if not step.missing)
            missing = [step for step in steps if step.missing]
            if not positive:
                yield "all events of this sequence are missing events; add a step without !", query.body.span
            elif positive == 1 and not missing:
                yield "this sequence has only one step; add a step, or write the event query alone", query.body.span
            if missing and maxspan is None:
                yield (
                    "a missing event needs `with maxspan`: without a time limit, the event can come at any later time",
                    missing[0].span,
                )
            yield from _key_numbers((*steps, *(() if until is None else (until,))))
        case eql.EventSample(keys, steps):
            if not keys and not all(step.keys for step in steps):
                yield "this sample has a step without join keys; write `sample by field`", query.body.span
            for step in steps:
                if step.missing or step.runs != 1:
                    yield "a step of a sample cannot be a missing event or have `with runs`", step.span
            yield from _key_numbers(steps)
        case eql.EventFilter():
            pass
    for pipe in query.pipes:
        if pipe.count < 1:
            yield f"{pipe.name} needs a number of at least 1", pipe.span
    for filter_ in eql.filters_of(query):
        yield from _broken_tests(filter_.condition)


def _key_numbers(steps: tuple[eql.SequenceStep, ...]) -> Iterator[Broken]:
    for step in steps:
        if len(step.keys) != len(steps[0].keys):
            first, here = len(steps[0].keys), len(step.keys)
            yield (
                f"all steps need the same number of keys after `by`: the first step has {first}, this step has {here}",
                step.span,
            )


def _broken_tests(condition: eql.Condition) -> Iterator[Broken]:
    for node in subtrees(condition):
        match node:
            case eql.ValueLookup(operator, _, values):
                texts = [value for value in values if isinstance(value, str)]
                if operator not in ("in", "in~") and len(texts) < len(values):
                    yield f"{operator} compares with strings; use == or in for other values", node.span
                for pattern in texts if operator in ("regex", "regex~") else ():
                    if (reason := flaw(pattern)) is not None:
                        yield f"not a regular expression: {reason}", node.span
            case eql.FunctionCall("cidrMatch", _, (_, *blocks)):
                for block in blocks:
                    if isinstance(block, eql.FieldConstant) and (
                        not isinstance(block.value, str) or network_of(block.value) is None
                    ):
                        text = eql.show_constant(block.value)
                        if block.value is not None:
                            yield f'{text} is not a block of addresses, as in "10.0.0.0/8"', block.span
            case eql.FieldComparison(comparator, _, eql.FieldConstant(None)) if comparator not in ("==", "!="):
                yield f"null cannot be compared with {comparator}; use == or !=", node.span
            case _ if not isinstance(node, eql.Condition):
                raise TypeError(node)
    yield from _no_truth(condition)


def _no_truth(condition: eql.Condition) -> Iterator[Broken]:
    """Yield a problem for each term, such as a number or a text, that stands in the place of a condition."""
    match condition:
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            for part in parts:
                yield from _no_truth(part)
        case eql.NegatedCondition(part):
            yield from _no_truth(part)
        case eql.FieldConstant(value) if not isinstance(value, bool) and value is not None:
            yield f"{eql.show_constant(value)} is not a condition; compare it with a field", condition.span
        case eql.FieldArithmetic():
            yield "arithmetic is not a condition; compare its result", condition.span
        case eql.FunctionCall(name) if name not in ("cidrMatch", "endsWith", "startsWith", "stringContains"):
            yield f"{name} is not a condition; compare its result", condition.span
        case eql.FunctionCall() | eql.EventField() | eql.FieldConstant() | eql.FieldComparison() | eql.ValueLookup():
            pass


def _keys_of(query: eql.EqlQuery) -> Iterator[tuple[eql.EventField, ...]]:
    match query.body:
        case eql.EventSequence(keys, _, steps, until):
            yield keys
            yield from (step.keys for step in (*steps, *(() if until is None else (until,))))
        case eql.EventSample(keys, steps):
            yield keys
            yield from (step.keys for step in steps)
        case eql.EventFilter():
            pass


def _unfit(filter_: eql.EventFilter, schema: Schema) -> Iterator[Problem]:
    category = filter_.category
    if category is not None and (category in schema.types or CATEGORY not in schema.attributes):
        yield from unknown_type(category, schema, filter_.span)  # an event of several categories has the first as type
    for node in subtrees(filter_.condition):
        if isinstance(node, eql.FieldComparison) and isinstance(node.left, eql.EventField):
            if isinstance(node.right, eql.FieldConstant) and node.right.value is not None:
                yield from _wrong_kinds(node.left, (node.right.value,), schema, node.span)
        elif isinstance(node, eql.ValueLookup) and isinstance(node.term, eql.EventField):
            yield from _wrong_kinds(node.term, node.values, schema, node.span)


def _note_absent(
    field: eql.EventField, category: str | None, schema: Schema, absent: dict[str | None, dict[str, eql.EventField]]
) -> None:
    """Record a field that no event has, or no event of the category; a field written with `?` may be absent."""
    if field.optional or field.name in (CATEGORY, TIMESTAMP, TIME):
        return
    if field.name not in schema.attributes:
        absent.setdefault(None, {}).setdefault(field.name, field)
    elif category in schema.types and not schema.has(str(category), field.name):
        absent.setdefault(category, {}).setdefault(field.name, field)


def _absent_problem(category: str | None, fields: list[eql.EventField], schema: Schema) -> Problem:
    """Return the problem of fields that no event, or no event of the category, has."""
    first, span = fields[0], fields[0].span
    names = f"the field {first.name!r}" if len(fields) == 1 else f"the fields {', '.join(f.name for f in fields)}"
    if category is not None:
        return Problem("attribute", f"no {category} event has {names}, which other events have", span, partial=True)
    near = {field.name: find_nearest_name(field.name, schema.attributes) for field in fields}
    if len(fields) == 1:
        message = f"no event has {names}; write ?{eql.show_field(first)} if it may be absent"
        return Problem("attribute", message, span, near[first.name])
    meant = ", ".join(f"{one} for {name}" for name, one in near.items() if one is not None)
    message = f"no event has {names}; write ? before those that may be absent"
    return Problem("attribute", f"{message}; did you mean {meant}?" if meant else message, span)


def _wrong_kinds(
    field: eql.EventField, values: tuple[object, ...], schema: Schema, span: Span | None
) -> Iterator[Problem]:
    known = schema.attributes.get(field.name)
    if known is None or field.name in schema.mixed:
        return
    for value in values:
        if isinstance(value, bool | int | float | str) and kind(value) != KIND_OF[known]:
            message = f"{field.name} is a {KIND_OF[known]} and {value!r} a {kind(value)}, so they are never equal"
            yield Problem("kind", message, span)
            return


def _timeless(schema: Schema, span: Span | None) -> Iterator[Problem]:
    if not {TIME, TIMESTAMP} & schema.attributes.keys():
        message = "maxspan measures time, but the events have no times, so there are no matches"
        yield Problem("attribute", message, span, advice="name the field with the time, as in --time @timestamp")
