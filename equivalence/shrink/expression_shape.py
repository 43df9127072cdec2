"""Event expressions written as trees of CEL, operator by operator, so that what works on these works on them.

An operator is a formula of as many operands, made of ; alone, bound to a variable that names the operator. That means
nothing in CEL; it serves campaigns and shrinking, which take formulas apart. Expressions with arguments, constraints
and names are not written so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported
from cerify.semantics.gehani import syntax as ev

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
EVENT = "event"


def as_cel_tree(E: ev.Expression) -> cel.Formula:
    """The tree of an expression. Raises Unsupported for one with arguments, constraints or names."""
    below = [as_cel_tree(F) for F in ev.children(E)]
    match E:
        case ev.Primitive(T, (), mask):
            tree = cel.In(cel.Event(T), EVENT)
            return tree if mask is None else cel.Filter(tree, cel.Every(EVENT, mask))
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
        case ev.Primitive() | ev.Constraint() | ev.Named() | ev.Let():
            raise Unsupported("arguments, constraints and names are not written as a tree of CEL", E.span)
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
        case cel.In(inner, operator):
            return _expression(operator, [of_cel_tree(F) for F in _operands(inner)], phi)
        case _:
            raise Unsupported("not the tree of an event expression", phi.span)


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


def _operator(name: str, below: Sequence[cel.Formula]) -> cel.Formula:
    return cel.In(reduce(cel.Seq, below), name)


def _operands(phi: cel.Formula) -> list[cel.Formula]:
    found: list[cel.Formula] = []
    while isinstance(phi, cel.Seq):
        found.append(phi.right)
        phi = phi.left
    return [phi, *reversed(found)]
