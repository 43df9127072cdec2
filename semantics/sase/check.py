"""Check a query of SASE+: its form, and its types by the schema of the input and the results of its own queries.

The first part computes the types of all streams, from the input to each query's results, and reports terms that do not
fit them. The second part reports what is wrong whatever the stream is. A query without problems is remembered, because
evaluators, explanations and deciders all require it to be well-formed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import TypeAlias, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.arguments import depth_limited, format_names
from cerify.semantics.errors import IllFormed, Span
from cerify.semantics.events import TIME, TYPE, Schema
from cerify.semantics.predicates import (
    Attribute,
    Both,
    Either,
    Not,
    Predicate,
    Problem,
    find_nearest_name,
    kind_problems,
    mapped_predicate,
    meant_name,
    mentions,
    timeless,
    unmeasured,
)
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import (
    blocks_of,
    conjuncts,
    equivalences,
    in_order,
    index_by_stream,
    negated,
    queries_of,
    source_of,
    stream_of,
    variables,
)
from cerify.semantics.sase.denote import placed, rank
from cerify.semantics.sase.syntax import (
    names_of,
    show_attribute,
    show_component,
    show_condition,
    show_output,
    type_of,
)
from cerify.semantics.values import ValueType, value_type_of

Types: TypeAlias = Mapping[str, Mapping[str, ValueType | None]]
"""The attributes of each event type of a stream; a value type is None if it is not known."""


def type_problems(q: sase.Tree, schema: Schema | None) -> list[Problem]:
    """Return the type errors of a query that has no other problems.

    Without a schema, return only the errors in queries that read a stream which another of the queries writes.
    """
    found: list[Problem] = []
    for query, types in _with_types(q, schema):
        for part in blocks_of(query):
            if types is not None:
                found.extend(_in_block(part, types, schema is not None and not schema.timed))
    return list(dict.fromkeys(found))


def derived_types(q: sase.Tree, schema: Schema | None) -> Mapping[str, Types]:
    """Return the event types of each named stream of a query that has no other problems."""
    return {name: _returned(query, types) for query, types in _with_types(q, schema) if (name := stream_of(query))}


def _with_types(q: sase.Tree, schema: Schema | None) -> Iterator[tuple[sase.SaseQuery | sase.SaseUnion, Types | None]]:
    """Yield each query with the types of the stream that it reads, None for the input without a schema."""
    streams: dict[str, Types] = {}
    queries = in_order(q)
    for query in queries:
        source = source_of(blocks_of(query)[0])
        types: Types | None = streams[source] if source is not None else _input(schema)
        shown = source is None and schema is not None and not schema.timed
        yield query, types if types is None or shown else _timed(types)
        if len(queries) > 1 and (name := stream_of(query)) is not None:
            streams[name] = _returned(query, types)


def _input(schema: Schema | None) -> Types | None:
    """Return the types of the input; a value type is None if the attribute has values of several types."""
    if schema is None or not schema.mixed:
        return None if schema is None else schema.types
    return {R: {a: None if a in schema.mixed else t for a, t in of.items()} for R, of in schema.types.items()}


def _timed(types: Types) -> Types:
    """Return the types of a stream in which every event may have a time of unknown type."""
    return {R: {TIME: None, **attributes} for R, attributes in types.items()}


def _returned(query: sase.SaseQuery | sase.SaseUnion, types: Types | None) -> Types:
    """Return the types of the result events."""
    found: dict[str, dict[str, ValueType | None]] = {}
    for part in blocks_of(query):
        attributes = found.setdefault(type_of(part.returned), {})
        for name, item in zip(names_of(part.returned), part.returned.items, strict=True):
            output = item.output
            attributes[name] = value_type(output.term, part, types) if isinstance(output, sase.Simple) else None
    return found


def value_type(term: pred.Term, q: sase.SaseQuery, types: Types | None) -> ValueType | None:
    """Return the value type of a term over a match; None if it is not known."""
    match term:
        case pred.Constant(value):
            return value_type_of(value)
        case pred.Arithmetic(symbol, left, right):
            ints = value_type(left, q, types) == value_type(right, q, types) == "int"
            return "int" if ints and symbol != "/" else "float"
        case sase.SaseAggregate(function="count"):
            return "int"
        case sase.SaseAggregate(function="avg"):
            return "float"
        case sase.SaseAggregate(function="sum" | "min" | "max" | "highest" | "lowest") | sase.Reference():
            return _attribute_type(term, q, types)
        case pred.Attribute():
            return None
        case _:
            assert_never(term)


def _attribute_type(attribute: pred.Attribute, q: sase.SaseQuery, types: Types | None) -> ValueType | None:
    if types is None:
        return None
    type_ = next(k.type for k in q.pattern if k.variable == attribute.variable)
    return types.get(type_, {}).get(attribute.name)


def _in_block(q: sase.SaseQuery, types: Types, observed: bool) -> Iterator[Problem]:
    """Yield the type errors of a block. observed: the types come from events, so a negated type may be missing."""
    for k in q.pattern:
        if k.type not in types and not (observed and k.negated):
            message = f"unknown event type {k.type}; the stream has {format_names(types)}"
            yield Problem("event_type", message, k.span, meant_name(k.type, types))
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
            case sase.Simple(term):  # comparing the term with itself finds operands that are not numbers
                yield from _condition(q, pred.Comparison("=", term, term), types, item.span)
            case sase.SaseSeries(a, name):
                yield from _lacking(q, sase.Reference(name, a), types, item.span)
            case sase.Composite(a, _, names) | sase.CompositeSeries(a, names):
                for name in names:
                    yield from _lacking(q, sase.Reference(name, a), types, item.span)
            case _:
                assert_never(item.output)


def _condition(q: sase.SaseQuery, p: pred.Predicate, types: Types, span: Span | None) -> Iterator[Problem]:
    shown: dict[str, ValueType] = {}
    mentioned = list(mentions(p))
    texts = {a: show_attribute(a) for a in mentioned}
    for a in mentioned:
        yield from _lacking(q, a, types, span)
        yield from _aggregated(q, a, types, span)
        if (known := value_type(a, q, types)) is not None:
            shown[texts[a]] = known
    yield from kind_problems(mapped_predicate(p, lambda a: pred.WrittenTerm(texts[a])), Schema({"": shown}), span)


def _lacking(q: sase.SaseQuery, a: pred.Attribute, types: Types, span: Span | None) -> Iterator[Problem]:
    """Yield a problem if the events of the variable do not have the attribute."""
    type_ = next(k.type for k in q.pattern if k.variable == a.variable)
    if type_ not in types or a.name == "" or a.name in types[type_]:
        return
    names = [name for name, known in types[type_].items() if name != TIME or known is not None]
    message = f"{type_}, which {a.variable} may hold, has no attribute {a.name!r}; it has {format_names(names)}"
    yield Problem("attribute", message, span, meant_name(a.name, names))


def _aggregated(q: sase.SaseQuery, a: pred.Attribute, types: Types, span: Span | None) -> Iterator[Problem]:
    """Yield a problem if the aggregate is not defined for values of the attribute's kind."""
    match a, _attribute_type(a, q, types):
        case sase.SaseAggregate(function="sum" | "avg"), ("string" | "bool" | "timestamp") as known:
            yield Problem("arithmetic", f"{show_attribute(a)}: {a.name} is a {known}, but a number is needed", span)
        case sase.SaseAggregate(function="min" | "max" | "highest" | "lowest"), "bool":
            yield Problem("order", f"{show_attribute(a)}: {a.name} is a bool, and Booleans have no order", span)


# ---------------------------------------------------------------------------------------------------------------------
# The problems of a query of SASE+ that show before any event is read (sase07, sections 2.2 and A.1).


def problems(q: sase.Tree, schema: Schema | None = None) -> list[Problem]:
    """Return all problems of the query, with type errors only if there is a schema and no other problem."""
    with depth_limited(q.span):
        if _is_wellformed(q):
            return [] if schema is None else type_problems(q, schema)
        return _all_problems(q, schema)


@lru_cache(maxsize=64)
def _is_wellformed(q: sase.Tree) -> bool:
    """Return whether the query has no problem that can be found without a schema.

    The answer is cached, because several steps of one request need it. Problems are not cached, because an equal query
    may have them at other places of its text.
    """
    return not _all_problems(q, None)


def _all_problems(q: sase.Tree, schema: Schema | None) -> list[Problem]:
    """Return the problems of a query; nothing is cached."""
    found = [problem for query in queries_of(q) for part in blocks_of(query) for problem in _check_block(part)]
    found.extend(_streams(q))
    return found or type_problems(q, schema)


def require_wellformed(q: sase.Tree) -> None:
    """Raise IllFormed for the first problem that can be found without a schema."""
    _raise_first(problems(q))


def require_typed(q: sase.Tree, schema: Schema) -> None:
    """Raise IllFormed for the first problem, type errors included."""
    _raise_first(problems(q, schema))


def missing_columns(q: sase.Tree, columns: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each equivalence test over the input, such as [id], whose attribute is not among these
    columns.
    """
    for block in (block for query in queries_of(q) for block in blocks_of(query) if source_of(block) is None):
        for conjunct in conjuncts(block):
            match conjunct.condition:
                case sase.Equivalence(name) if name not in columns:
                    names = [one for one in columns if one != TYPE]
                    message = f"there is no column {name!r} for [{name}]; the events have {format_names(names)}"
                    yield Problem("attribute", message, conjunct.span, meant_name(name, names))


def _raise_first(found: Iterable[Problem]) -> None:
    for problem in found:
        raise IllFormed(f"{problem.message}; {problem.mend}", problem.span)


# --- one query block --------------------------------------------------------------------------------------------------


def _check_block(q: sase.SaseQuery) -> Iterator[Problem]:
    yield from _pattern(q)
    if len({k.variable for k in q.pattern}) == len(q.pattern):
        yield from _strategies(q)
        for conjunct in conjuncts(q):
            if not isinstance(conjunct.condition, sase.Equivalence):
                yield from _conjunct(q, conjunct.condition, conjunct.underlined, conjunct.span)
        if q.having is not None:
            yield from _complete(q, mentions(q.having), "HAVING", q.having_span)
        yield from _check_returned(q)


def _pattern(q: sase.SaseQuery) -> Iterator[Problem]:
    for variable, times in Counter(k.variable for k in q.pattern).items():
        if times > 1:
            span = [k.span for k in q.pattern if k.variable == variable][1]
            yield Problem("twice", f"{variable} is declared {times} times", span)
    if all(k.negated for k in q.pattern):
        yield Problem(
            "negation", "all components of the pattern are negated", q.pattern[0].span if q.pattern else q.span
        )
    elif q.pattern[-1].negated and q.within is None:
        last = show_component(q.pattern[-1])
        message = f"{last} at the end of the pattern needs WITHIN: without it, such an event may come at any later time"
        yield Problem("negation", message, q.pattern[-1].span)
    if q.within is not None and q.within.amount <= 0:
        yield Problem("window", "the length of the window is not positive, so no event is in it", q.within.span)


def _strategies(q: sase.SaseQuery) -> Iterator[Problem]:
    arguments = [argument for block in q.where for argument in block.arguments]
    times = Counter(argument.variable for argument in arguments)
    components = {k.variable: k for k in q.pattern}
    for argument in arguments:
        a = argument.variable
        if a not in components:
            yield _unknown(q, a, argument.span)
        elif argument.cut and not (components[a].kleene and not components[a].negated):
            message = f"{a}!: `!` is only for a Kleene plus without ~"
            yield Problem("strategy", message, argument.span)
    for a in [a for a, n in times.items() if n > 1]:
        span = [argument.span for argument in arguments if argument.variable == a][1]
        yield Problem("strategy", f"{a} has two strategies", span)
    left = [k.variable for k in q.pattern if not k.negated and k.variable not in times]
    if arguments and left:
        yield Problem(
            "strategy", f"{', '.join(left)} {'has' if len(left) == 1 else 'have'} no strategy", q.where[0].span
        )
    for block in q.where:
        if (
            block.strategy == "partition_contiguity"
            and not any(c.underlined for c in conjuncts(q))
            and not equivalences(q)
        ):
            yield Problem(
                "partition", "partition_contiguity needs a partition, but no condition defines one", block.span
            )
        named = {argument.variable for argument in block.arguments}
        for conjunct in block.conjuncts:
            p = conjunct.condition
            if (
                isinstance(p, sase.Equivalence)
                or not named
                or not variables(p)
                or not variables(p) <= components.keys()
            ):
                continue
            k = q.pattern[placed(p, q.pattern).component]
            if not k.negated and k.variable not in named:
                message = (
                    f"{show_condition(p)} is in the block of a strategy for other variables, but "
                    f"decides which {k.variable} is selected"
                )
                yield Problem("strategy", message, conjunct.span)


def _conjunct(q: sase.SaseQuery, p: Predicate, underlined: bool, span: Span | None) -> Iterator[Problem]:
    """Yield the problems of a formula, whose identifiers must fit the pattern and its edge (sase07, A.1 and A.2)."""
    text = show_condition(p)
    mentioned = list(mentions(p))
    if not mentioned:
        yield Problem("good_formula", f"{text} refers to no event", span)
        return
    if wrong := list(_unfit(q, mentioned, span)):
        yield from wrong
        return
    if len(absent := sorted(variables(p) & negated(q))) > 1:
        message = f"{text} mentions {' and '.join(absent)}, which are negated: a condition may mention only one of them"
        yield Problem("good_formula", message, span)
        return
    place = placed(p, q.pattern)
    last = q.pattern[place.component].variable
    ranks = {rank(a) for a in mentioned if a.variable == last}
    for a in mentioned:
        if _moving(a) and (a.variable != last or 3 in ranks):
            while_ = f"{last} is selected" if a.variable != last else f"{last} is complete"
            message = f"{show_attribute(a)} in {text}: i has no meaning when {while_}"
            yield Problem("reference", message, span)
            return
    aggregated = next((a for a in mentioned if isinstance(a, sase.SaseAggregate)), None)
    if underlined and aggregated is not None:
        message = f"{show_attribute(aggregated)}: a predicate that defines partitions cannot have aggregates"
        yield Problem("partition", message, span)
    atoms = list(_literals(p))
    for atom in atoms:
        if isinstance(atom, Both | Either | Not):
            message = f"{text} is not a clause: each operand of `or` must be a comparison or the negation of one"
            yield Problem("good_formula", message, span)
            return
    for atom in atoms:
        if not any(a.variable == last and rank(a) == max(ranks) for a in mentions(atom)):
            identifier = next(show_attribute(a) for a in mentioned if a.variable == last and rank(a) == max(ranks))
            lacking = show_condition(atom)
            message = f"{text}: each operand of `or` must contain the last identifier, {identifier}; {lacking} does not"
            yield Problem("good_formula", message, span)


def _literals(p: Predicate) -> Iterator[Predicate]:
    """Yield the parts of a disjunction, each without the negation before it."""
    if isinstance(p, Either):
        yield from _literals(p.left)
        yield from _literals(p.right)
    else:
        yield p.predicate if isinstance(p, Not) else p


def _check_returned(q: sase.SaseQuery) -> Iterator[Problem]:
    arrays = {k.variable for k in q.pattern if k.kleene}
    for item in q.returned.items:
        match item.output:
            case sase.Simple(term):
                yield from _complete(q, mentions(term), "RETURN", item.span)
            case sase.Composite(a, place, names):
                yield from _complete(q, [sase.Reference(names[0], a, place)], "RETURN", item.span)
            case sase.SaseSeries(a) | sase.CompositeSeries(a):
                if a in arrays:
                    yield from _complete(q, [sase.SaseAggregate("", a)], "RETURN", item.span)
                elif a in {k.variable for k in q.pattern}:
                    yield Problem(
                        "reference", f"{show_output(item.output)}: {a} is a single event, not an array", item.span
                    )
                else:
                    yield _unknown(q, a, item.span)
    for name, times in Counter(names_of(q.returned)).items():
        if times > 1:
            yield Problem(
                "twice", f"{times} attributes of the result are called {name}; name them with AS", q.returned.span
            )


def _complete(q: sase.SaseQuery, mentioned: Iterable[Attribute], clause: str, span: Span | None) -> Iterator[Problem]:
    """Yield a problem for each reference without meaning in a complete match: with i, or to a negated component."""
    for a in mentioned:
        if wrong := list(_unfit(q, [a], span)):
            yield from wrong
        elif _moving(a):
            yield Problem(
                "reference", f"{show_attribute(a)} in {clause}: i has no meaning once the match is complete", span
            )
        elif a.variable in negated(q):
            message = f"{show_attribute(a)} in {clause}: {a.variable} is negated, so a match has no {a.variable}"
            yield Problem("unbound", message, span)


def _unfit(q: sase.SaseQuery, mentioned: Iterable[Attribute], span: Span | None) -> Iterator[Problem]:
    """Yield a problem for each identifier that names no component of the pattern."""
    arrays = {k.variable: k.kleene for k in q.pattern}
    for a in mentioned:
        variable = a.variable or ""
        if variable not in arrays:
            yield _unknown(q, variable, span)
        elif arrays[variable] == (isinstance(a, sase.Reference) and a.place == "only"):
            what = "an array" if arrays[variable] else "one event"
            yield Problem("reference", f"{show_attribute(a)}: {variable} is {what}", span)


def _moving(a: Attribute) -> bool:
    """Return whether a reference or an aggregate depends on the index i."""
    return a.running if isinstance(a, sase.SaseAggregate) else isinstance(a, sase.Reference) and rank(a) in (1, 2)


def _unknown(q: sase.SaseQuery, variable: str, span: Span | None) -> Problem:
    declared = ", ".join(k.variable for k in q.pattern)
    message = f"the pattern declares no {variable}; it has {declared}"
    return Problem("unbound", message, span, find_nearest_name(variable, [k.variable for k in q.pattern]))


# --- queries that read each other -------------------------------------------------------------------------------------


def _streams(q: sase.Tree) -> Iterator[Problem]:
    makers = index_by_stream(q)
    named = Counter(name for query in queries_of(q) if (name := stream_of(query)) is not None)
    for name in [name for name, times in named.items() if times > 1]:
        yield Problem("twice", f"two queries write the stream {name}", makers[name].span)
    sources = False
    for query in queries_of(q):
        parts = blocks_of(query)
        if len({part.returned.stream for part in parts} - {None}) > 1:
            yield Problem("twice", "the parts of a UNION write one stream, but give it different names", query.span)
        if len({source_of(part) for part in parts}) > 1:
            yield Problem("stream", "the parts of a UNION read different streams", query.span)
        for part in parts:
            if (name := source_of(part)) is not None and name not in makers:
                sources = True
                known = ", ".join(makers) or "none"
                yield Problem(
                    "stream",
                    f"no query writes a stream {name}; there is {known}",
                    part.span,
                    find_nearest_name(name, makers),
                )
            elif name is not None:
                yield from _check_atomic_outputs(name, makers[name])
    if not sources:
        try:
            in_order(q)
        except IllFormed as error:
            yield Problem("stream", error.message, error.span)


def _check_atomic_outputs(name: str, query: sase.SaseQuery | sase.SaseUnion) -> Iterator[Problem]:
    """Yield a problem for each attribute of the result that is not an atomic value (sase07, section 2.2.4).

    name: the stream of the results, which another query reads.
    """
    for part in blocks_of(query):
        for item in part.returned.items:
            if not isinstance(item.output, sase.Simple):
                message = f"{show_output(item.output)} is not a single value, but another query reads the stream {name}"
                yield Problem("result", message, item.span)
