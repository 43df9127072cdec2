"""Random event expressions of a given size, and histories on which they are likely to take place.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from typing import get_args

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import arguments, constrained
from cerify.semantics.event_expressions.syntax import OPERATORS, Expression
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Comparator, Comparison, Constant, Term
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
    operator = rng.choices(names, cum_weights=list(accumulate(weights)))[0]
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
