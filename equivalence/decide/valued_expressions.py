"""Event expressions with attribute variables compared: a proof that the two agree for all values, or a difference.

A proof. Let each variable be an attribute that all events have (a(X) is a[n = X] for the first attribute n of a). If E
and F are equivalent so, they are for each choice of values: give each event of the history these values. If the
variables also have their values from the same places, E and F take place for the same choices. For containment it is
enough that those of E are among those of F.

A difference. Over a few values, there are finitely many choices, and an expression is the disjunction of its
expressions for each. Two such automata differ on a history or they do not; one that is found is a difference. Where
all variables have their values from attributes of truth values, two values are all, and no difference is a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product

from cerify.automata.dfa.arguments import ArgumentOrder, kinded, order_under
from cerify.automata.dfa.ground import grounded, with_terms
from cerify.automata.dfa.scopes import ArgumentPosition, argument_places, ranging_variables
from cerify.equivalence.claim import Claim
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Attribute, Comparison, Constant
from cerify.semantics.values import Value, ValueType, kind

EACH = 3  # values of a variable that a difference is looked for with, at least


def body_of(E: expr.Expression) -> expr.Expression:
    """The expression behind the definitions."""
    return E.body if isinstance(E, expr.Let) else E


def sources(E: expr.Expression) -> dict[str, frozenset[ArgumentPosition]]:
    """The attribute variables, each with the places that it has its values from."""
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    places = argument_places(body_of(E), definitions)
    return {X: places.get(X, frozenset()) for X in ranging_variables(body_of(E))}


def pairings(
    E: expr.Expression, F: expr.Expression, claim: Claim, schema: Schema, budget: Budget
) -> Iterator[tuple[expr.Expression, expr.Expression, Schema]]:
    """The two with their variables read as attributes, those of F being some of E's, under the schema with these.

    Each variable of F is one of E that has its values from the same places, or for containment from some of them.
    Raises Unsupported where there is prefix or a constraint.
    """
    left, right = sources(E), sources(F)
    types: dict[str, ValueType] = {}
    names = {X: _fresh(X, schema) for X in left}
    for X, where in left.items():
        value_types = {schema.attributes[name] for _, name in attributes_of({X: where}, schema)}
        if len(value_types) != 1:
            raise Unsupported(f"{X} does not have its values from attributes of one type", E.span)
        types[names[X]] = value_types.pop()
    wider = Schema({T: {**attributes, **types} for T, attributes in schema.types.items()})
    for chosen_ones in product(left, repeat=len(right)):
        pairs = [(left[X], right[Y]) for X, Y in zip(chosen_ones, right, strict=True)]
        if claim == "equivalent":
            fits = sorted(chosen_ones) == sorted(left) and all(p == q for p, q in pairs)
        else:
            fits = all(p <= q for p, q in pairs)
        if fits:
            renamed = {Y: names[X] for X, Y in zip(chosen_ones, right, strict=True)}
            yield _as_attributes(E, names, schema, budget), _as_attributes(F, renamed, schema, budget), wider


def _fresh(X: str, schema: Schema) -> str:
    while X in schema.attributes:
        X += "_"
    return X


def _as_attributes(E: expr.Expression, names: Mapping[str, str], schema: Schema, budget: Budget) -> expr.Expression:
    def decide(comparison: Comparison) -> bool:
        raise Unsupported(
            "they do not differ over a few values, but there is no proof where there are constraints", E.span
        )

    if any(isinstance(F, expr.Prefix) for F in expr.subexpressions(E)):
        raise Unsupported("they do not differ over a few values, but there is no proof where there is prefix", E.span)
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    terms = {X: Attribute(name) for X, name in names.items()}
    return with_terms(body_of(E), terms, decide, definitions, order_under(schema), budget)


def values_for(E: expr.Expression, F: expr.Expression) -> dict[ValueType, list[Value]]:
    """Some values of each type: those that the two name, and others."""
    named: list[Value] = []
    for G in (*expr.subexpressions(E), *expr.subexpressions(F)):
        match G:
            case expr.Primitive(_, given) | expr.Named(_, given):
                named += [argument.value for argument in given if isinstance(argument, Constant)]
            case expr.Constraint(Comparison(_, left, right)):
                named += [side.value for side in (left, right) if isinstance(side, Constant)]
    few: dict[ValueType, list[Value]] = {
        "bool": [False, True],
        "int": list(range(EACH)),
        "float": [float(n) for n in range(EACH)],
        "string": list("xyz"),
    }
    for value_type, pool in few.items():
        if value_type != "bool":
            pool += [v for v in named if kind(v) == kind(pool[0])]
    return few


def over_values(
    E: expr.Expression, schema: Schema, pools: Mapping[ValueType, Sequence[Value]], budget: Budget
) -> expr.Expression:
    """E on the histories in which its variables have only these values. Raises Unsupported, BudgetExceeded."""
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    order, where = order_under(schema), sources(E)
    found: list[expr.Expression] = []
    for values in product(*(_pool(where[X], schema, pools) for X in where)):
        ground = grounded(body_of(E), dict(zip(where, values, strict=True)), definitions, order, budget)
        seen = (expr.Happened(_has(where[X], v, order)) for X, v in zip(where, values, strict=True))
        found.append(reduce(expr.And, seen, ground))
        if len(found) > budget.states:
            raise BudgetExceeded("there are too many choices of values", E.span)
    return reduce(expr.Or, found) if found else expr.Null()


def attributes_of(where: Mapping[str, frozenset[ArgumentPosition]], schema: Schema) -> Iterator[tuple[str, str]]:
    """The attributes that some variable has its values from, each with its event type."""
    order = order_under(schema)
    return ((T, order[T][k]) for found in where.values() for T, k in sorted(found) if k < len(order.get(T, ())))


def _pool(
    where: frozenset[ArgumentPosition], schema: Schema, pools: Mapping[ValueType, Sequence[Value]]
) -> list[Value]:
    types = {schema.attributes[name] for _, name in attributes_of({"": where}, schema)}
    if unknown := types - pools.keys():
        raise Unsupported(f"no values of the type {', '.join(sorted(unknown))} are tried")
    return list({kinded(v): v for value_type in sorted(types) for v in pools[value_type]}.values())


def _has(where: frozenset[ArgumentPosition], v: Value, order: ArgumentOrder) -> expr.Expression:
    """An event that gives the variable this value."""
    masked: list[expr.Expression] = [
        expr.Primitive(T, (), Comparison("=", Attribute(order[T][k]), Constant(v)))
        for T, k in sorted(where)
        if k < len(order.get(T, ()))
    ]
    return reduce(expr.Or, masked) if masked else expr.Null()
