"""Parse EQL, and check the rules that its grammar does not express; errors name their place in the text.

`_EqlBuilder` makes the tree, with a method for each alternative of the grammar. The second part holds the rules that
Elastic checks after parsing, such as equal numbers of keys in all steps, and the comparison with a schema. They are
apart because a tree may also be built without a text, and must pass the same checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, TIMESTAMP, network_of
from cerify.semantics.errors import IllFormed, ParseError, Span
from cerify.semantics.events import TIME, Schema
from cerify.semantics.parsing import PredicateBuilder, number_of, parsed, parser_of, span_of
from cerify.semantics.patterns import flaw
from cerify.semantics.predicates import Problem, find_nearest_name, unknown_type
from cerify.semantics.schemas import NO_CATEGORY
from cerify.semantics.trees import subtrees
from cerify.semantics.values import KIND_OF, kind

FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "add": (2, 2), "between": (3, 4), "cidrMatch": (2, None), "concat": (1, None), "divide": (2, 2),
    "endsWith": (2, 2), "indexOf": (2, 3), "length": (1, 1), "modulo": (2, 2), "multiply": (2, 2), "number": (1, 2),
    "startsWith": (2, 2), "string": (1, 1), "stringContains": (2, 2), "substring": (2, 3), "subtract": (2, 2),
}  # fmt: skip
"""The documented functions, each with its least and its largest number of arguments; None is no limit."""
_KNOWN = {name.lower(): name for name in FUNCTIONS}
_FOLDABLE = frozenset({"between", "endsWith", "indexOf", "startsWith", "stringContains"})
_ENDGAME = {
    "wildcard": "`field : (\"pattern\", ...)`", "match": "`field regex~ (\"pattern\", ...)`",
    "arraycontains": "`field == value`, which is true if an element equals the value", "arraysearch": "`field : value`",
    "arraycount": "`field : value`", "safe": "the condition alone: a test of a null is not true",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(u\{([0-9A-Fa-f]{2,8})\}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'", "b": "\b", "f": "\f"}


def parse(text: str) -> eql.EqlQuery:
    """Parse the text of a query.

    Raises ParseError, and BudgetExceeded if the query is nested too deeply. The query may still break a rule that only
    `problems` checks.
    """
    return cast("eql.EqlQuery", parsed(text, parser_of("cerify.semantics.eql"), _EqlBuilder()))


@v_args(meta=True, inline=True)
class _EqlBuilder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def start(self, meta: Meta, body: Any, *pipes: eql.MatchPipe) -> eql.EqlQuery:
        return eql.EqlQuery(body, pipes, span=span_of(meta))

    def sequence(self, meta: Meta, header: tuple[Any, Any], *steps: eql.SequenceStep) -> eql.EventSequence:
        keys, maxspan = header
        last = steps[-1]
        until = last if isinstance(last, _Until) else None
        plain = tuple(steps[:-1] if until is not None else steps)
        return eql.EventSequence(keys, maxspan, plain, until.step if until else None, span=span_of(meta))

    def sample(self, meta: Meta, keys: tuple[eql.EventField, ...], *steps: eql.SequenceStep) -> eql.EventSample:
        return eql.EventSample(keys, steps, span=span_of(meta))

    def header(self, meta: Meta, *parts: Any) -> tuple[tuple[eql.EventField, ...], eql.MaximalSpan | None]:
        keys = [part for part in parts if isinstance(part, tuple)]
        spans = [part for part in parts if isinstance(part, eql.MaximalSpan)]
        if len(keys) > 1 or len(spans) > 1:
            raise ParseError("a sequence can have `by` and `with maxspan` only once each", span_of(meta))
        return keys[0] if keys else (), spans[0] if spans else None

    def keys(self, meta: Meta, *fields: eql.EventField) -> tuple[eql.EventField, ...]:
        return fields

    def span(self, meta: Meta, token: Token) -> eql.MaximalSpan:
        count, unit = re.fullmatch(r"([0-9]+)\s*([A-Za-z]*)", str(token)).groups()  # type: ignore[union-attr]
        if unit not in eql.UNITS:
            raise ParseError(
                f"maxspan must be a number with one of the units {', '.join(eql.UNITS)}, as in 30s", span_of(token)
            )
        if len(count) > 12:
            raise ParseError("maxspan has more than 12 digits; write a shorter time", span_of(token))
        return eql.MaximalSpan(int(count), unit, span=span_of(token))

    def step(self, meta: Meta, filter_: eql.EventFilter, *more: Any) -> eql.SequenceStep:
        return _step(meta, filter_, more, False)

    def missing(self, meta: Meta, filter_: eql.EventFilter, *more: Any) -> eql.SequenceStep:
        return _step(meta, filter_, more, True)

    def runs(self, meta: Meta, token: Token) -> int:
        count = int(token) if len(token) < 5 else 0
        if not 1 <= count <= eql.MOST_RUNS:
            raise ParseError(f"runs must be a number from 1 to {eql.MOST_RUNS}", span_of(token))
        return count

    def until(self, meta: Meta, filter_: eql.EventFilter, *keys: Any) -> _Until:
        return _Until(_step(meta, filter_, keys, False))

    def pipe(self, meta: Meta, name: Token, count: Token) -> eql.MatchPipe:
        if name not in ("head", "tail"):
            raise ParseError(f"there is no pipe {str(name)!r}; Elastic's EQL has head and tail", span_of(name))
        return eql.MatchPipe(cast("Any", str(name)), int(number_of(count)), span=span_of(meta))

    def filter(self, meta: Meta, category: str | None, condition: eql.Condition) -> eql.EventFilter:
        return eql.EventFilter(category, condition, span=span_of(meta))

    def category(self, meta: Meta, token: Token) -> str | None:
        if token.type == "NAME":
            return None if token == "any" else str(token)
        text = _text(token)
        if text in ("", NO_CATEGORY):
            raise ParseError("a category must be a name or a string that is not empty", span_of(token))
        return text

    def either(self, meta: Meta, *parts: eql.Condition) -> eql.Condition:
        return parts[0] if len(parts) == 1 else eql.AnyConditions(parts, span=span_of(meta))

    def both(self, meta: Meta, *parts: eql.Condition) -> eql.Condition:
        return parts[0] if len(parts) == 1 else eql.AllConditions(parts, span=span_of(meta))

    def negated(self, meta: Meta, _: Token, part: eql.Condition) -> eql.Condition:
        return eql.NegatedCondition(part, span=span_of(meta))

    def comparison(self, meta: Meta, left: Any, comparator: Token, right: Any) -> Any:
        return eql.FieldComparison(cast("Any", str(comparator)), left, right, span=span_of(meta))

    def lookup(self, meta: Meta, term: eql.Condition, operator: Token, values: tuple[Any, ...]) -> eql.Condition:
        return eql.ValueLookup(cast("Any", str(operator)), term, values, span=span_of(meta))

    def no_lookup(self, meta: Meta, term: Any, _: Token, operator: Token, values: tuple[Any, ...]) -> eql.Condition:
        return eql.NegatedCondition(self.lookup(meta, term, operator, values), span=span_of(meta))

    def pattern(self, meta: Meta, term: eql.Condition, operator: Token, values: Any) -> eql.Condition:
        listed = values if isinstance(values, tuple) else (values.value,)
        return eql.ValueLookup(cast("Any", str(operator)), term, listed, span=span_of(meta))

    def constants(self, meta: Meta, *values: eql.FieldConstant) -> tuple[Any, ...]:
        return tuple(constant.value for constant in values)

    def arithmetic(self, meta: Meta, left: Any, operator: Token, right: Any) -> Any:
        return eql.FieldArithmetic(str(operator), left, right, span=span_of(meta))

    def signed(self, meta: Meta, sign: Token, term: Any) -> Any:
        if isinstance(term, eql.FieldConstant) and type(term.value) in (int, float):
            return self.signed_number(meta, sign, term)
        if sign == "+":
            return term
        return eql.FieldArithmetic("-", eql.FieldConstant(0), term, span=span_of(meta))

    def call(self, meta: Meta, name: Token, *arguments: Any) -> eql.Condition:
        bare, folded = name.rstrip("~"), name.endswith("~")
        known = _KNOWN.get(bare.lower())
        at = span_of(name)
        if known is None:
            hint = _ENDGAME.get(bare.lower())
            meant = f"; write {hint}" if hint else f"; its functions are {', '.join(FUNCTIONS)}"
            raise ParseError(f"Elastic's EQL has no function {bare!r}{meant}", at)
        given = tuple(argument for argument in arguments if argument is not None)
        least, most = FUNCTIONS[known]
        if len(given) < least or (most is not None and len(given) > most):
            wanted = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
            raise ParseError(f"{known} takes {wanted} arguments, but {len(given)} are given", span_of(meta))
        if folded and known not in _FOLDABLE:
            raise ParseError(f"{known} has no form with ~, because it does not compare case: leave ~ out", at)
        return eql.FunctionCall(known, folded, given, span=span_of(meta))

    def signed_number(self, meta: Meta, sign: Token, number: Any) -> eql.Condition:
        value: Any = number.value if isinstance(number, eql.FieldConstant) else number_of(number)
        return eql.FieldConstant(-value if sign == "-" else value, span=span_of(meta))

    def number(self, meta: Meta, token: Token) -> Any:
        return eql.FieldConstant(number_of(token), span=span_of(meta))

    def string(self, meta: Meta, token: Token) -> Any:
        return eql.FieldConstant(_text(token), span=span_of(meta))

    def boolean(self, meta: Meta, token: Token) -> Any:
        return eql.FieldConstant(token == "true", span=span_of(meta))

    def null(self, meta: Meta) -> eql.Condition:
        return eql.FieldConstant(None, span=span_of(meta))

    def field(self, meta: Meta, token: Token) -> eql.EventField:
        text = str(token)
        optional = text.startswith("?")
        parts = re.findall(r"`((?:``|[^`])+)`|([^.`]+)", text[optional:])
        name = ".".join(quoted.replace("``", "`") or plain for quoted, plain in parts)
        return eql.EventField(name, optional, span=span_of(meta))


class _Until:
    """The step of `until`. It has a class of its own to distinguish it from a step of the sequence."""

    def __init__(self, step: eql.SequenceStep) -> None:
        self.step = step


def _step(meta: Meta, filter_: eql.EventFilter, more: tuple[Any, ...], missing: bool) -> eql.SequenceStep:
    keys = [part for part in more if isinstance(part, tuple)]
    runs = [part for part in more if isinstance(part, int)]
    if len(keys) > 1 or len(runs) > 1:
        raise ParseError("a step can have `by` and `with runs` only once each", span_of(meta))
    return eql.SequenceStep(filter_, (keys or [()])[0], (runs or [1])[0], missing, span=span_of(meta))


def _text(token: Token) -> str:
    """Return the text of a string, or of a raw string. Raises ParseError for an unknown escape."""
    if token.startswith('"""'):
        return str(token)[3:-3]
    start = span_of(token).start + 1

    def character(found: re.Match[str]) -> str:
        if found[2] is not None:
            code = int(found[2], 16)
            if code < 0x110000 and code not in range(0xD800, 0xE000):
                return chr(code)
        elif found[1] in _SIMPLE:
            return _SIMPLE[found[1]]
        at = Span(start + found.start(), start + found.end())
        raise ParseError(f'{found[0]!r} is not an escape of EQL; write a backslash as \\\\, or use """..."""', at)

    return _ESCAPE.sub(character, str(token)[1:-1])


# ---------------------------------------------------------------------------------------------------------------------
# Check the rules of EQL that its grammar does not express, and whether a query fits a schema.

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

    A field that only events of other categories have is accepted.
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
