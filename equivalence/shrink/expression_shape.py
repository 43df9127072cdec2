"""Event expressions written as trees of CEL, operator by operator, so that what works on these works on them.

An operator is a formula of as many operands, made of ; alone, bound to a variable that names the operator. That means
nothing in CEL; it serves campaigns and shrinking, which take formulas apart. Arguments are operands too, and so are
definitions, with what they define.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from cerify.equivalence.rewrite.trees import at_each_node
from cerify.equivalence.shrink.smaller import (
    Candidates,
    fewer_events,
    fewer_names,
    less_declared,
    simpler_predicates,
    simpler_values,
    smaller_formulas,
)
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.operators import OPERATORS
from cerify.semantics.events import Stream
from cerify.semantics.operators import named
from cerify.semantics.predicates import Attribute, Comparison, Constant

BY_NAME = named(OPERATORS)
NARY = ("relative", "prior", "sequence")
LEAVES: Mapping[str, expr.Leaf] = {"null": expr.Null(), "any": expr.AnyEvent(), "first": expr.First()}
EVENT, NAME, VALUE, CONSTRAINT = "event", "name", "value", "constraint"


def as_cel_tree(E: expr.Expression) -> cel.Formula:
    """The tree of an expression."""
    below = [as_cel_tree(F) for F in expr.children(E)]
    match E:
        case expr.Primitive(T, arguments, mask):
            tree: cel.Formula = cel.In(cel.Event(T), EVENT)
            tree = tree if mask is None else cel.Filter(tree, cel.Every(EVENT, mask))
            return _operator("called", [tree, *map(_argument, arguments)]) if arguments else tree
        case expr.Named(name, arguments):
            return _operator("named", [cel.In(cel.Event(name), NAME), *map(_argument, arguments)])
        case expr.Constraint(comparison):
            return cel.Filter(cel.In(cel.Event("e"), CONSTRAINT), cel.Every(CONSTRAINT, comparison))
        case expr.Let(definitions, _):
            heads = [[cel.In(cel.Event(d.name), NAME), *map(_argument, d.parameters)] for d in definitions]
            bodies = [_operator("define", [*head, body]) for head, body in zip(heads, below[:-1], strict=True)]
            return _operator("let", [*bodies, below[-1]])
        case expr.Null() | expr.AnyEvent() | expr.First():
            return cel.In(cel.Event("e"), OPERATORS[type(E)].name)
        case expr.Variable(x):
            return cel.In(cel.Event(x), "variable")
        case expr.Exists(x, _):
            return cel.In(cel.Seq(below[0], cel.Event(x)), "exists")
        case expr.Equated(_, x):
            return cel.In(cel.Seq(below[0], cel.Event(x)), "equated")
        case expr.Nth(n, _) | expr.EveryNth(n, _):
            return _operator(f"{OPERATORS[type(E)].name}_{n}", below)
    return _operator(OPERATORS[type(E)].name, below)


def of_cel_tree(phi: cel.Formula) -> expr.Expression:
    """The expression of which this is the tree. Raises Unsupported if there is none."""
    match phi:
        case cel.Filter(cel.In(cel.Event(T), "event"), cel.Every("event", mask)):
            return expr.Primitive(T, (), mask)
        case cel.In(cel.Event(T), "event"):
            return expr.Primitive(T)
        case cel.In(cel.Event(), leaf) if leaf in LEAVES:
            return LEAVES[leaf]
        case cel.In(cel.Event(x), "variable"):
            return expr.Variable(x)
        case cel.In(cel.Seq(F, cel.Event(x)), "exists"):
            return expr.Exists(x, of_cel_tree(F))
        case cel.In(cel.Seq(F, cel.Event(x)), "equated"):
            return expr.Equated(of_cel_tree(F), x)
        case cel.Filter(cel.In(cel.Event(), "constraint"), cel.Every("constraint", Comparison() as comparison)):
            return expr.Constraint(comparison)
        case cel.In(inner, "called" | "named" | "let" as operator):
            return _with_names(operator, _operands(inner), phi)
        case cel.In(inner, operator):
            return _expression(operator, [of_cel_tree(F) for F in _operands(inner)], phi)
        case _:
            raise Unsupported("not the tree of an event expression", phi.span)


def smaller_counts(phi: cel.Formula, S: Stream) -> Candidates:
    """<n> and every <n> with a smaller n."""

    def local(psi: cel.Formula) -> Iterator[cel.Formula]:
        if isinstance(psi, cel.In):
            name, _, n = psi.variable.rpartition("_")
            if name in ("nth", "every") and n.isdecimal():
                yield from (
                    cel.In(psi.phi, f"{name}_{m}") for m in dict.fromkeys((1, int(n) // 2, int(n) - 1)) if m > 0
                )

    return ((other, S) for other in at_each_node(phi, local))


def without_names(E: expr.Expression) -> expr.Expression:
    """The expression with its definitions written out. What it takes place at may differ: names have scopes."""
    if not isinstance(E, expr.Let):
        return E
    known: dict[str, expr.Definition] = {}

    def written(F: expr.Expression, values: Mapping[str, expr.Argument]) -> expr.Expression:
        match F:
            case expr.Named(name, arguments) if name in known:
                given = (values.get(X, X) if isinstance(X, str) else X for X in arguments)
                return written(known[name].body, dict(zip(known[name].parameters, given, strict=True)))
            case expr.Primitive(T, arguments, mask):
                return expr.Primitive(T, tuple(values.get(X, X) if isinstance(X, str) else X for X in arguments), mask)
        return expr.rebuilt(F, tuple(written(G, values) for G in expr.children(F)))

    known.update((definition.name, definition) for definition in E.definitions)
    return written(E.body, {})


WAYS = (fewer_events, smaller_formulas, smaller_counts, simpler_predicates, fewer_names, less_declared, simpler_values)
"""What can be made smaller in such a tree, what cuts deepest first."""


def _expression(operator: str, operands: list[expr.Expression], phi: cel.Formula) -> expr.Expression:
    name, _, n = operator.rpartition("_")
    made: expr.Expression | None = None
    match operands, BY_NAME.get(operator):
        case [F], None if n.isdecimal() and int(n) > 0 and name in ("nth", "every"):
            made = expr.Nth(int(n), F) if name == "nth" else expr.EveryNth(int(n), F)
        case [_, _, *_], known if known is not None and operator in NARY:
            made = known.node(tuple(operands))
        case _, known if known is not None and known.plain and len(operands) == len(known.node.operands):
            made = known.node(*operands)
    if made is None:
        raise Unsupported("not the tree of an event expression", phi.span)
    return made


def _with_names(operator: str, operands: list[cel.Formula], phi: cel.Formula) -> expr.Expression:
    match operator, operands:
        case "called", [first, *rest]:
            called = of_cel_tree(first)
            if isinstance(called, expr.Primitive) and not called.arguments:
                return expr.Primitive(called.type, tuple(map(_of_argument, rest)), called.mask)
        case "named", [cel.In(cel.Event(name), "name"), *rest]:
            return expr.Named(name, tuple(map(_of_argument, rest)))
        case "let", [*definitions, body]:
            return expr.Let(tuple(map(_definition, definitions)), of_cel_tree(body))
    raise Unsupported("not the tree of an event expression", phi.span)


def _definition(phi: cel.Formula) -> expr.Definition:
    match phi:
        case cel.In(inner, "define"):
            match _operands(inner):
                case [cel.In(cel.Event(name), "name"), *parameters, body]:
                    names = [X for X in map(_of_argument, parameters) if isinstance(X, str)]
                    return expr.Definition(name, tuple(names), of_cel_tree(body))
    raise Unsupported("not the tree of a definition", phi.span)


def _argument(argument: expr.Argument) -> cel.Formula:
    if isinstance(argument, str):
        return cel.In(cel.Event(argument), "attribute")
    test = Comparison("=", Attribute(VALUE), argument)
    return cel.Filter(cel.In(cel.Event("e"), VALUE), cel.Every(VALUE, test))


def _of_argument(phi: cel.Formula) -> expr.Argument:
    match phi:
        case cel.In(cel.Event(X), "attribute"):
            return X
        case cel.Filter(cel.In(_, "value"), cel.Every(_, Comparison("=", Attribute("value"), Constant() as value))):
            return value
        case _:
            raise Unsupported("not the tree of an argument", phi.span)


def _operator(name: str, below: Sequence[cel.Formula]) -> cel.Formula:
    return cel.In(reduce(cel.Seq, below), name)


def _operands(phi: cel.Formula) -> list[cel.Formula]:
    found: list[cel.Formula] = []
    while isinstance(phi, cel.Seq):
        found.append(phi.right)
        phi = phi.left
    return [phi, *reversed(found)]
