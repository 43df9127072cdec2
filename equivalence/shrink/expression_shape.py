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
from cerify.semantics.events import Stream
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.predicates import Attribute, Comparison, Constant

UNARY: Mapping[str, type[ev.Unary]] = {
    "not": ev.Not,
    "relative_plus": ev.RelativePlus,
    "before": ev.Before,
    "happened": ev.Happened,
    "prefix": ev.Prefix,
}
BINARY: Mapping[str, type[ev.Binary]] = {
    "and": ev.And,
    "or": ev.Or,
    "pipe": ev.Pipe,
    "after": ev.After,
    "between": ev.Between,
    "series": ev.Series,
}
NARY: Mapping[str, type[ev.Nary]] = {"relative": ev.Relative, "prior": ev.Prior, "sequence": ev.Sequence}
COUNTED: Mapping[str, type[ev.Counted]] = {"nth": ev.Nth, "every": ev.EveryNth}
LEAVES: Mapping[str, ev.Leaf] = {"null": ev.Null(), "any": ev.AnyEvent(), "first": ev.First()}
NAMES = {kind: name for kinds in (UNARY, BINARY, NARY, COUNTED) for name, kind in kinds.items()}
LEAF_NAMES = {type(E): name for name, E in LEAVES.items()}
EVENT, NAME, VALUE, CONSTRAINT = "event", "name", "value", "constraint"


def as_cel_tree(E: ev.Expression) -> cel.Formula:
    """The tree of an expression."""
    below = [as_cel_tree(F) for F in ev.children(E)]
    match E:
        case ev.Primitive(T, arguments, mask):
            tree: cel.Formula = cel.In(cel.Event(T), EVENT)
            tree = tree if mask is None else cel.Filter(tree, cel.Every(EVENT, mask))
            return _operator("called", [tree, *map(_argument, arguments)]) if arguments else tree
        case ev.Named(name, arguments):
            return _operator("named", [cel.In(cel.Event(name), NAME), *map(_argument, arguments)])
        case ev.Constraint(comparison):
            return cel.Filter(cel.In(cel.Event("e"), CONSTRAINT), cel.Every(CONSTRAINT, comparison))
        case ev.Let(definitions, _):
            heads = [[cel.In(cel.Event(d.name), NAME), *map(_argument, d.parameters)] for d in definitions]
            bodies = [_operator("define", [*head, body]) for head, body in zip(heads, below[:-1], strict=True)]
            return _operator("let", [*bodies, below[-1]])
        case ev.Null() | ev.AnyEvent() | ev.First():
            return cel.In(cel.Event("e"), LEAF_NAMES[type(E)])
        case ev.Variable(x):
            return cel.In(cel.Event(x), "variable")
        case ev.Exists(x, _):
            return cel.In(cel.Seq(below[0], cel.Event(x)), "exists")
        case ev.Equated(_, x):
            return cel.In(cel.Seq(below[0], cel.Event(x)), "equated")
        case ev.FirstAfter():
            return _operator("first_after", below)
        case ev.Nth(n, _) | ev.EveryNth(n, _):
            return _operator(f"{NAMES[type(E)]}_{n}", below)
        case _:
            return _operator(NAMES[type(E)], below)


def of_cel_tree(phi: cel.Formula) -> ev.Expression:
    """The expression of which this is the tree. Raises Unsupported if there is none."""
    match phi:
        case cel.Filter(cel.In(cel.Event(T), "event"), cel.Every("event", mask)):
            return ev.Primitive(T, (), mask)
        case cel.In(cel.Event(T), "event"):
            return ev.Primitive(T)
        case cel.In(cel.Event(), leaf) if leaf in LEAVES:
            return LEAVES[leaf]
        case cel.In(cel.Event(x), "variable"):
            return ev.Variable(x)
        case cel.In(cel.Seq(F, cel.Event(x)), "exists"):
            return ev.Exists(x, of_cel_tree(F))
        case cel.In(cel.Seq(F, cel.Event(x)), "equated"):
            return ev.Equated(of_cel_tree(F), x)
        case cel.Filter(cel.In(cel.Event(), "constraint"), cel.Every("constraint", Comparison() as comparison)):
            return ev.Constraint(comparison)
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
            if name in COUNTED and n.isdecimal():
                yield from (
                    cel.In(psi.phi, f"{name}_{m}") for m in dict.fromkeys((1, int(n) // 2, int(n) - 1)) if m > 0
                )

    return ((other, S) for other in at_each_node(phi, local))


def without_names(E: ev.Expression) -> ev.Expression:
    """The expression with its definitions written out. What it takes place at may differ: names have scopes."""
    if not isinstance(E, ev.Let):
        return E
    known: dict[str, ev.Definition] = {}

    def written(F: ev.Expression, values: Mapping[str, ev.Argument]) -> ev.Expression:
        match F:
            case ev.Named(name, arguments) if name in known:
                given = (values.get(X, X) if isinstance(X, str) else X for X in arguments)
                return written(known[name].body, dict(zip(known[name].parameters, given, strict=True)))
            case ev.Primitive(T, arguments, mask):
                return ev.Primitive(T, tuple(values.get(X, X) if isinstance(X, str) else X for X in arguments), mask)
            case _:
                return ev.rebuilt(F, tuple(written(G, values) for G in ev.children(F)))

    known.update((definition.name, definition) for definition in E.definitions)
    return written(E.body, {})


WAYS = (fewer_events, smaller_formulas, smaller_counts, simpler_predicates, fewer_names, less_declared, simpler_values)
"""What can be made smaller in such a tree, what cuts deepest first."""


def _expression(operator: str, operands: list[ev.Expression], phi: cel.Formula) -> ev.Expression:
    name, _, n = operator.rpartition("_")
    match operands:
        case [F] if operator in UNARY:
            return UNARY[operator](F)
        case [F] if name in COUNTED and n.isdecimal() and int(n) > 0:
            return COUNTED[name](int(n), F)
        case [F, G] if operator in BINARY:
            return BINARY[operator](F, G)
        case [_, _, *_] if operator in NARY:
            return NARY[operator](tuple(operands))
        case [F, G, H] if operator == "first_after":
            return ev.FirstAfter(F, G, H)
        case _:
            raise Unsupported("not the tree of an event expression", phi.span)


def _with_names(operator: str, operands: list[cel.Formula], phi: cel.Formula) -> ev.Expression:
    match operator, operands:
        case "called", [first, *rest]:
            called = of_cel_tree(first)
            if isinstance(called, ev.Primitive) and not called.arguments:
                return ev.Primitive(called.type, tuple(map(_of_argument, rest)), called.mask)
        case "named", [cel.In(cel.Event(name), "name"), *rest]:
            return ev.Named(name, tuple(map(_of_argument, rest)))
        case "let", [*definitions, body]:
            return ev.Let(tuple(map(_definition, definitions)), of_cel_tree(body))
    raise Unsupported("not the tree of an event expression", phi.span)


def _definition(phi: cel.Formula) -> ev.Definition:
    match phi:
        case cel.In(inner, "define"):
            match _operands(inner):
                case [cel.In(cel.Event(name), "name"), *parameters, body]:
                    names = [X for X in map(_of_argument, parameters) if isinstance(X, str)]
                    return ev.Definition(name, tuple(names), of_cel_tree(body))
    raise Unsupported("not the tree of a definition", phi.span)


def _argument(argument: ev.Argument) -> cel.Formula:
    if isinstance(argument, str):
        return cel.In(cel.Event(argument), "attribute")
    test = Comparison("=", Attribute(VALUE), argument)
    return cel.Filter(cel.In(cel.Event("e"), VALUE), cel.Every(VALUE, test))


def _of_argument(phi: cel.Formula) -> ev.Argument:
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
