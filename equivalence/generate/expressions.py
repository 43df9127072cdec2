"""Random event expressions of a given size, and histories on which they are likely to take place.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases. The last part
simplifies expressions, for shrinking and campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import cast, get_args

from cerify.equivalence.generate.shrink import Generator, QueryOperations, TreeShape, dropped, parts
from cerify.equivalence.rewrite.trees import same
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import arguments, constrained
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import OPERATORS, Expression, show, size, subexpressions
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import (
    Attribute,
    Comparator,
    Comparison,
    Constant,
    Predicate,
    Term,
    mapped_predicate,
    mentions,
)
from cerify.semantics.trees import index_by_name
from cerify.semantics.values import Value, value_type_of

BY_NAME = index_by_name(OPERATORS)
CHAINED = ("relative", "prior", "sequence")  # operators with two or more operands
BINARY = {name for name, operator in BY_NAME.items() if len(operator.node.operands) == 2} | {*CHAINED}


@dataclass(frozen=True)
class ExpressionProfile:
    """The parameters of random expressions and histories.

    operators: their weights; operators without a weight are never chosen. attributes: every event has all of them; the
    values of an attribute and the constants in masks come from one pool. masked: the share of primitive events that
    have a mask. special: the share of NULL, any and first among the leaves. start: the share of histories that begin
    with the start event. absent: the share of attributes without a value. variables: the attribute variables. argued:
    the share of primitive events that have arguments. constrained: the share of leaves that are constraints on
    variables. named: the share of expressions with a named expression p(I).
    """

    operators: tuple[tuple[str, int], ...]
    types: tuple[str, ...] = ("a", "b", "c")
    attributes: tuple[tuple[str, tuple[Value, ...]], ...] = (("n", (0, 1, 2)),)
    masked: float = 0.0
    special: float = 0.2
    start: float = 0.0
    absent: float = 0.0
    variables: tuple[str, ...] = ()
    argued: float = 0.0
    constrained: float = 0.0
    named: float = 0.0

    @property
    def schema(self) -> Schema:
        """Return the schema of the histories that do not begin with the start event."""
        return Schema({T: {name: value_type_of(pool[0]) for name, pool in self.attributes} for T in self.types})


BASE = ExpressionProfile((("and", 3), ("not", 3), ("relative", 4), ("relative_plus", 2)))
"""NULL, primitive events, and the operators of section 2.2."""

DERIVED = replace(
    BASE,
    operators=tuple(
        (name, 3 if name == "relative" else 2)
        for name, operator in BY_NAME.items()
        if operator.node.operands and name not in ("exists", "equated")
    ),
)
"""The same profile with all operators of section 2.3."""

MASKED = replace(DERIVED, masked=0.5)
"""The same with masks."""

STARTED = replace(DERIVED, start=0.5)
"""The same profile with histories that begin with the start event."""

CORRELATED = replace(DERIVED, operators=(*DERIVED.operators, ("exists", 6)), special=0.15)
"""The same with correlation variables."""

VALUED = replace(
    DERIVED,
    types=("a", "b"),
    attributes=(("n", (0, 1)), ("m", (0, 1))),
    variables=("I", "J"),
    argued=0.7,
    constrained=0.08,
    named=0.2,
    special=0.12,
)
"""The same profile with attribute variables, constraints and named expressions."""

EVERYTHING = replace(VALUED, operators=CORRELATED.operators, masked=0.15, start=0.15)
"""All of these."""

PROFILES = {"base": BASE, "derived": DERIVED, "masked": MASKED, "started": STARTED, "correlated": CORRELATED}
"""The profiles without attribute variables."""

VALUED_PROFILES = {"valued": VALUED, "everything": EVERYTHING}
PARAMETER = "I"
NAME = "p"


def case(rng: Random, profile: ExpressionProfile, nodes: int, events: int) -> tuple[Expression, Stream]:
    """Return an expression of up to `nodes` nodes and a history of up to `events` events; large ones are frequent."""
    E = expression(rng, profile, max(rng.randint(1, nodes), rng.randint(1, nodes)))
    return E, history(rng, profile, max(rng.randint(0, events), rng.randint(0, events)))


def expression(rng: Random, profile: ExpressionProfile, nodes: int) -> Expression:
    """Return an expression of `nodes` nodes, as `size` counts; it has fewer if the operators do not allow that."""
    if not (nodes > 4 and profile.named and rng.random() < profile.named):
        return _placed(_expression(rng, replace(profile, named=0.0), nodes, ()), ())
    inside = rng.randint(1, nodes - 3)  # automata do not support a definition with variables besides its parameter
    body = _expression(rng, replace(profile, named=0.0, variables=(PARAMETER,)), inside, ())
    definition = expr.ExpressionDefinition(NAME, (PARAMETER,), _placed(body, (PARAMETER,)))
    return expr.Let((definition,), _placed(_expression(rng, profile, nodes - 1 - inside, ()), ()))


def history(rng: Random, profile: ExpressionProfile, length: int) -> Stream:
    """Return a history of that length; its schema has the start event if it begins with one."""
    schema = profile.schema
    events = [
        Event(rng.choice(profile.types), {name: rng.choice(pool) for name, pool in profile.attributes})
        for _ in range(length)
    ]
    if profile.absent:
        events = [_with_gaps(rng, profile.absent, event) for event in events]
    if events and rng.random() < profile.start:
        events[0] = Event(expr.START)
        schema = Schema({expr.START: {}, **schema.types})
    return Stream(events, schema)


def _with_gaps(rng: Random, absent: float, event: Event) -> Event:
    return Event(event.type, {name: v for name, v in event.attributes.items() if rng.random() >= absent})


def _expression(rng: Random, profile: ExpressionProfile, nodes: int, variables: tuple[str, ...]) -> Expression:
    """Return an expression in which the variables may occur."""
    if nodes > 1 and variables and rng.random() < 0.2:
        return expr.Equated(_expression(rng, profile, nodes - 1, variables[:-1]), variables[-1])
    allowed = [(name, weight) for name, weight in profile.operators if nodes > 2 or name not in BINARY]
    allowed = [(name, weight) for name, weight in allowed if nodes > 3 or name != "first_after"]
    if nodes == 1 or not allowed:
        return _leaf(rng, profile, variables)
    names, weights = zip(*allowed, strict=True)
    operator = rng.choices(names, weights)[0]
    if operator == "exists":
        x = f"x{len(variables)}"
        return expr.Exists(x, _expression(rng, profile, nodes - 1, (*variables, x)))
    instances = BY_NAME[operator].instances()
    make = instances[0] if len(instances) == 1 else rng.choice(instances)
    inside = () if operator == "relative_plus" else variables  # no correlation variable may be free in relative+
    sizes = _sizes(rng, operator, nodes - 1)
    found: Expression = make(*(_expression(rng, profile, size, inside) for size in sizes))
    return found


def _sizes(rng: Random, operator: str, nodes: int) -> tuple[int, ...]:
    """Return the sizes of the operands, whose sum is `nodes`."""
    if operator not in BINARY and operator != "first_after":
        return (nodes,)
    left = rng.randint(1, nodes - (1 if operator in BINARY else 2))
    right = nodes - left
    if right > 1 and (operator == "first_after" or (operator in CHAINED and rng.random() < 0.3)):
        middle = rng.randint(1, right - 1)
        return left, middle, right - middle
    return left, right


def _leaf(rng: Random, profile: ExpressionProfile, variables: tuple[str, ...]) -> Expression:
    if variables and rng.random() < 0.5:
        return expr.ExpressionVariable(rng.choice(variables))
    if rng.random() < profile.special:
        return rng.choice((expr.Null(), expr.AnyEvent(), expr.First()))
    if profile.start and rng.random() < 0.1:
        return expr.Primitive(expr.START)
    if profile.named and rng.random() < 0.5:
        return expr.ExpressionNamed(NAME, (_argument(rng, profile, 0),))
    if profile.constrained and rng.random() < profile.constrained:
        terms: list[Term] = [*map(Attribute, profile.variables), Constant(rng.choice(profile.attributes[0][1]))]
        left = Attribute(rng.choice(profile.variables))
        return expr.Constraint(Comparison(rng.choice(get_args(Comparator)), left, rng.choice(terms)))
    mask = None
    if rng.random() < profile.masked:
        name, pool = rng.choice(profile.attributes)
        mask = Comparison(rng.choice(get_args(Comparator)), Attribute(name), Constant(rng.choice(pool)))
    given: tuple[expr.Argument, ...] = ()
    if profile.argued and rng.random() < profile.argued:
        given = tuple(_argument(rng, profile, k) for k in range(rng.randint(1, len(profile.attributes))))
    return expr.Primitive(rng.choice(profile.types), given, mask)


def _placed(E: Expression, parameters: tuple[str, ...]) -> Expression:
    """Return the expression without constraints on variables that occur nowhere else."""
    names = {*parameters, *(X for F in expr.subexpressions(E) for X in arguments(F))}

    def place(F: Expression) -> Expression:
        if isinstance(F, expr.Constraint) and not names.issuperset(constrained(F)):
            return expr.AnyEvent()
        return expr.rebuilt(F, tuple(map(place, expr.children(F))))

    return place(E) if any(isinstance(F, expr.Constraint) for F in expr.subexpressions(E)) else E


def _argument(rng: Random, profile: ExpressionProfile, k: int) -> expr.Argument:
    return rng.choice(profile.variables) if rng.random() < 0.85 else Constant(rng.choice(profile.attributes[k][1]))


def expression_case(rng: Random, profile: ExpressionProfile, nodes: int, events: int) -> tuple[Expression, Stream]:
    """Return a random expression, and a random history for it, without a schema."""
    E, S = case(rng, profile, nodes, events)
    return E, Stream(S)


def expression_stream(rng: Random, profile: ExpressionProfile, length: int, E: Expression) -> Stream:
    """Return another history, without a schema."""
    return Stream(history(rng, profile, length))


EXPRESSION_GENERATOR = Generator[Expression]({**PROFILES, **VALUED_PROFILES}, expression_case, expression_stream)


# ---------------------------------------------------------------------------------------------------------------------
# Simplify event expressions, for shrinking and campaigns.

SHAPE = TreeShape[Expression](expr.children, expr.rebuilt)


def smaller_expressions(E: Expression) -> Iterator[Expression]:
    """Yield simpler expressions: a descendant in place of an ancestor, fewer operands, arguments or definitions, or no
    mask or variable.
    """
    yield from SHAPE.parts_instead(E)
    yield from SHAPE.at_each_node(E, _fewer)


def _fewer(E: Expression) -> Iterator[Expression]:
    match E:
        case expr.Relative(below) | expr.Prior(below) | expr.Sequence(below) if len(below) > 2:
            yield from map(type(E), dropped(below))
        case expr.Primitive(T, arguments, mask):
            if mask is not None:
                yield expr.Primitive(T, arguments)
            if arguments:
                yield expr.Primitive(T, arguments[:-1], mask)
        case expr.Let(definitions, body):
            yield from (expr.Let(fewer, body) for fewer in dropped(definitions))
        case expr.Exists(x, operand):
            yield without_variable(operand, x)


def without_variable(E: Expression, x: str) -> Expression:
    """Return the expression without a correlation variable: AnyEvent replaces its uses."""
    if isinstance(E, expr.ExpressionVariable) and E.name == x:
        return expr.AnyEvent()
    below = tuple(without_variable(F, x) for F in expr.children(E))
    return below[0] if isinstance(E, expr.Equated) and E.variable == x else expr.rebuilt(E, below)


def smaller_counts(E: Expression) -> Iterator[Expression]:
    """Yield the expression with a smaller n in one `<n>` or `every <n>`."""

    def local(F: Expression) -> Iterator[Expression]:
        if isinstance(F, expr.Counted):
            yield from (replace(F, n=m) for m in dict.fromkeys((1, F.n // 2, F.n - 1)) if 0 < m < F.n)

    return SHAPE.at_each_node(E, local)


def simpler_predicates(E: Expression) -> Iterator[Expression]:
    """Yield the expression with one mask or constraint replaced by a simpler one."""

    def local(F: Expression) -> Iterator[Expression]:
        match F:
            case expr.Primitive(T, arguments, mask) if mask is not None:
                yield from (expr.Primitive(T, arguments, P) for P in parts(mask))
            case expr.Constraint(comparison):
                yield from (expr.Constraint(P) for P in parts(comparison) if isinstance(P, Comparison))

    return SHAPE.at_each_node(E, local)


def mapped(E: Expression, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same) -> Expression:
    """Return the expression with `name` and `value` applied, without spans.

    name: renames event types, variables and definitions. value: replaces constants.
    """

    def argument(given: expr.Argument) -> expr.Argument:
        return name(given) if isinstance(given, str) else Constant(value(given.value))

    def predicate(P: Predicate, attribute: Callable[[str], str] = same) -> Predicate:
        return mapped_predicate(P, lambda a: Attribute(attribute(a.name), a.variable), value)

    below = tuple(mapped(F, name, value) for F in expr.children(E))
    match E:
        case expr.Primitive(T, arguments, mask):
            other = None if mask is None else predicate(mask)
            return expr.Primitive(name(T), tuple(map(argument, arguments)), other)
        case expr.ExpressionNamed(p, arguments):
            return expr.ExpressionNamed(name(p), tuple(map(argument, arguments)))
        case expr.Constraint(comparison):
            return expr.Constraint(cast("Comparison", predicate(comparison, name)))
        case expr.ExpressionVariable(x):
            return expr.ExpressionVariable(name(x))
        case expr.Exists(x, _):
            return expr.Exists(name(x), below[0])
        case expr.Equated(_, x):
            return expr.Equated(below[0], name(x))
        case expr.Let(definitions, _):
            heads = ((name(d.name), tuple(map(name, d.parameters))) for d in definitions)
            others = tuple(expr.ExpressionDefinition(*head, body) for head, body in zip(heads, below[:-1], strict=True))
            return expr.Let(others, below[-1])
    return expr.rebuilt(E, below)


def without_names(E: Expression) -> Expression:
    """Return the expression with its definitions substituted; as names have scopes, its meaning may differ."""
    if not isinstance(E, expr.Let):
        return E
    known: dict[str, expr.ExpressionDefinition] = {}

    def substitute_values(F: Expression, values: Mapping[str, expr.Argument]) -> Expression:
        match F:
            case expr.ExpressionNamed(name, arguments) if name in known:
                given = (values.get(X, X) if isinstance(X, str) else X for X in arguments)
                return substitute_values(known[name].body, dict(zip(known[name].parameters, given, strict=True)))
            case expr.Primitive(T, arguments, mask):
                return expr.Primitive(T, tuple(values.get(X, X) if isinstance(X, str) else X for X in arguments), mask)
        return expr.rebuilt(F, tuple(substitute_values(G, values) for G in expr.children(F)))

    known.update((definition.name, definition) for definition in E.definitions)
    return substitute_values(E.body, {})


def predicates(E: Expression) -> Iterator[Predicate]:
    """Yield the masks and constraints in an expression."""
    for F in subexpressions(E):
        if isinstance(F, expr.Primitive) and F.mask is not None:
            yield F.mask
        if isinstance(F, expr.Constraint):
            yield F.comparison


def attributes(E: Expression) -> Iterator[str]:
    """Yield the attributes that masks read. Arguments read attributes by position, not by name."""
    return (a.name for F in subexpressions(E) if isinstance(F, expr.Primitive) and F.mask for a in mentions(F.mask))


def complexity(E: Expression) -> int:
    """Return the sum of all n in `<n>` and `every <n>`, plus the number of arguments and definitions."""
    found = 0
    for F in subexpressions(E):
        match F:
            case expr.Nth(n, _) | expr.EveryNth(n, _):
                found += n
            case expr.Primitive(_, arguments, _) | expr.ExpressionNamed(_, arguments):
                found += len(arguments)
            case expr.Let(definitions, _):
                found += len(definitions)
    return found


def types(E: Expression) -> Iterator[str]:
    """Yield the event types in an expression."""
    return (F.type for F in subexpressions(E) if isinstance(F, expr.Primitive))


def operators(E: Expression) -> set[str]:
    """Return the symbols of the operators of an expression; `:=` for definitions."""
    kinds = {type(F) for F in subexpressions(E)} - {expr.Primitive}
    return {":=" if kind is expr.Let else OPERATORS[kind].symbol for kind in kinds}


EVENT_EXPRESSION = QueryOperations[Expression](
    parse,
    show,
    (smaller_expressions, smaller_counts, simpler_predicates),
    size,
    complexity,
    types,
    attributes,
    predicates,
    mapped,
    operators,
    expanded=without_names,
)
