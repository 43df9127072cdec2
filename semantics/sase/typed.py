"""Type errors of a query of SASE+, under a schema of the input and the types of its own queries' results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TypeAlias, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.arguments import listed
from cerify.semantics.errors import Span
from cerify.semantics.events import TIME, Schema
from cerify.semantics.predicate_types import Problem, kind_problems, meant, timeless, unmeasured
from cerify.semantics.predicates import mapped_predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import conjuncts
from cerify.semantics.sase.naming import names_of, type_of
from cerify.semantics.sase.show import as_written, show_attribute
from cerify.semantics.sase.streams import blocks_of, in_order, source_of, stream_of
from cerify.semantics.values import ValueType, value_type_of

Types: TypeAlias = Mapping[str, Mapping[str, ValueType | None]]
"""The attributes of each event type of a stream; a value type is None where it is not known."""


def type_problems(q: sase.Tree, schema: Schema | None) -> list[Problem]:
    """The type errors of a query that has no other problems; of its own streams only, if there is no schema."""
    found: list[Problem] = []
    for query, types in _with_types(q, schema):
        for part in blocks_of(query):
            if types is not None:
                found.extend(_in_block(part, types))
    return list(dict.fromkeys(found))


def derived_types(q: sase.Tree, schema: Schema | None) -> Mapping[str, Types]:
    """The event types of the named streams of a query that has no other problems."""
    return {name: _returned(query, types) for query, types in _with_types(q, schema) if (name := stream_of(query))}


def _with_types(q: sase.Tree, schema: Schema | None) -> Iterator[tuple[sase.Query | sase.Union, Types | None]]:
    """Each query with the types of the stream that it reads, None for the input without a schema."""
    streams: dict[str, Types] = {}
    for query in in_order(q):
        source = source_of(blocks_of(query)[0])
        types: Types | None = streams[source] if source is not None else _input(schema)
        shown = source is None and schema is not None and not schema.timed
        yield query, types if types is None or shown else _timed(types)
        if (name := stream_of(query)) is not None:
            streams[name] = _returned(query, types)


def _input(schema: Schema | None) -> Types | None:
    """The types of the input; a value type is None where the attribute has values of several."""
    if schema is None or not schema.mixed:
        return None if schema is None else schema.types
    return {R: {a: None if a in schema.mixed else t for a, t in of.items()} for R, of in schema.types.items()}


def _timed(types: Types) -> Types:
    """The types of a stream in which every event may have a time, of a value type that need not be known."""
    return {R: {TIME: None, **attributes} for R, attributes in types.items()}


def _returned(query: sase.Query | sase.Union, types: Types | None) -> Types:
    """The types of the result events."""
    found: dict[str, dict[str, ValueType | None]] = {}
    for part in blocks_of(query):
        attributes = found.setdefault(type_of(part.returned), {})
        for name, item in zip(names_of(part.returned), part.returned.items, strict=True):
            output = item.output
            attributes[name] = value_type(output.term, part, types) if isinstance(output, sase.Simple) else None
    return found


def value_type(term: pred.Term, q: sase.Query, types: Types | None) -> ValueType | None:
    """The value type of a term over a match, None where it is not known."""
    match term:
        case pred.Constant(value):
            return value_type_of(value)
        case pred.Arithmetic(symbol, left, right):
            ints = value_type(left, q, types) == value_type(right, q, types) == "int"
            return "int" if ints and symbol != "/" else "float"
        case sase.Aggregate(function="count"):
            return "int"
        case sase.Aggregate(function="avg"):
            return "float"
        case sase.Aggregate(function="sum" | "min" | "max" | "highest" | "lowest") | sase.Reference():
            return _attribute_type(term, q, types)
        case pred.Attribute():
            return None
        case _:
            assert_never(term)


def _attribute_type(attribute: pred.Attribute, q: sase.Query, types: Types | None) -> ValueType | None:
    if types is None:
        return None
    type_ = next(k.type for k in q.pattern if k.variable == attribute.variable)
    return types.get(type_, {}).get(attribute.name)


def _in_block(q: sase.Query, types: Types) -> Iterator[Problem]:
    for k in q.pattern:
        if k.type not in types:
            message = f"unknown event type {k.type}; the stream has {listed(types)}"
            yield Problem("event_type", message, k.span, meant(k.type, types))
    if q.within is not None:
        span = q.within.span
        untimed = (p for k in q.pattern for p in _lacking(q, sase.Reference(TIME, k.variable), types, span))
        kinds = (p for k in q.pattern for p in unmeasured(types.get(k.type, {}).get(TIME), span))
        yield from islice(chain(timeless(types.values(), span), untimed, kinds), 1)
    for conjunct in conjuncts(q):
        match conjunct.condition:
            case sase.Equivalence(name):
                for k in q.pattern:
                    yield from _lacking(q, sase.Reference(name, k.variable), types, conjunct.span)
            case p:
                yield from _condition(q, p, types, conjunct.span)
    if q.having is not None:
        yield from _condition(q, q.having, types, q.having_span)
    for item in q.returned.items:
        match item.output:
            case sase.Simple(term):  # a comparison with itself finds the operands that are no numbers
                yield from _condition(q, pred.Comparison("=", term, term), types, item.span)
            case sase.Series(a, name):
                yield from _lacking(q, sase.Reference(name, a), types, item.span)
            case sase.Composite(a, _, names) | sase.CompositeSeries(a, names):
                for name in names:
                    yield from _lacking(q, sase.Reference(name, a), types, item.span)
            case _:
                assert_never(item.output)


def _condition(q: sase.Query, p: pred.Predicate, types: Types, span: Span | None) -> Iterator[Problem]:
    shown: dict[str, ValueType] = {}
    for a in mentions(p):
        yield from _lacking(q, a, types, span)
        yield from _aggregated(q, a, types, span)
        if (known := value_type(a, q, types)) is not None:
            shown[show_attribute(a)] = known
    yield from kind_problems(mapped_predicate(p, as_written), Schema({"": shown}), span)


def _lacking(q: sase.Query, a: pred.Attribute, types: Types, span: Span | None) -> Iterator[Problem]:
    """An attribute that the events of the variable do not have."""
    type_ = next(k.type for k in q.pattern if k.variable == a.variable)
    if type_ not in types or a.name == "" or a.name in types[type_]:
        return
    names = [name for name, known in types[type_].items() if name != TIME or known is not None]
    message = f"{type_}, which {a.variable} may hold, has no attribute {a.name!r}; it has {listed(names)}"
    yield Problem("attribute", message, span, meant(a.name, names))


def _aggregated(q: sase.Query, a: pred.Attribute, types: Types, span: Span | None) -> Iterator[Problem]:
    """An aggregate of values of a kind for which it is not defined."""
    match a, _attribute_type(a, q, types):
        case sase.Aggregate(function="sum" | "avg"), ("string" | "bool" | "timestamp") as known:
            yield Problem("arithmetic", f"{show_attribute(a)}: {a.name} is a {known}, where a number is needed", span)
        case sase.Aggregate(function="min" | "max" | "highest" | "lowest"), "bool":
            yield Problem("order", f"{show_attribute(a)}: {a.name} is a bool, and these have no order", span)
