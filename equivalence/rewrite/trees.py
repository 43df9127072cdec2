"""Rebuild formulas with other operands, names, attributes or constants, and list the names in them.

One function renames event types and variables alike, because in CEL an event type is itself a variable. Lists have
repetitions and a fixed order, so that what is made from them is the same in every run. Spans are dropped: they are
places in the text of the formula before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula
from cerify.semantics.predicates import Attribute, Predicate, mapped_predicate, mentions
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value

T = TypeVar("T")


def same(x: T) -> T:
    """Return the argument."""
    return x


def mapped(
    phi: Formula,
    name: Callable[[str], str] = same,
    attribute: Callable[[str], str] = same,
    value: Callable[[Value], Value] = same,
) -> Formula:
    """Replace names (of event types and variables), attributes and constants in a formula; return it without spans."""

    def predicate(P: Predicate) -> Predicate:
        return mapped_predicate(P, lambda a: Attribute(attribute(a.name), a.variable and name(a.variable)), value)

    def condition(c: Condition) -> Condition:
        match c:
            case cel.Every(A, P):
                return cel.Every(name(A), predicate(P))
            case cel.Correlated(P):
                return cel.Correlated(predicate(P))
            case cel.Named(P_, variables):
                return cel.Named(P_, tuple(map(name, variables)))
            case cel.Conjunction(left, right) | cel.Disjunction(left, right):
                return type(c)(condition(left), condition(right))
            case _:
                assert_never(c)

    def formula(psi: Formula) -> Formula:
        return with_names(psi, [formula(child) for child in children(psi)], name, attribute, condition)

    return formula(phi)


def with_names(
    phi: Formula,
    below: Sequence[Formula],
    name: Callable[[str], str],
    attribute: Callable[[str], str],
    condition: Callable[[Condition], Condition],
) -> Formula:
    """Rebuild a node over the operands `below`, replace names, attributes and conditions in its own fields, and drop
    its span.
    """
    if isinstance(phi, cel.Plain | cel.Derived):
        return rebuilt(phi, below)
    match phi:
        case cel.EventAtom(R):
            return cel.EventAtom(name(R))
        case cel.In(_, A):
            return cel.In(below[0], name(A))
        case cel.Filter(_, c):
            return cel.Filter(below[0], condition(c))
        case cel.Project(L, _):
            return cel.Project(frozenset(map(name, sorted(L))), below[0])
        case cel.PartitionBy(_, a):
            return cel.PartitionBy(below[0], attribute(a))
        case cel.PerKey(_, attributes):
            return cel.PerKey(below[0], tuple(dict.fromkeys(map(attribute, attributes))))
        case cel.Within(_, cel.AttributeWindow(width, a)):
            return cel.Within(below[0], cel.AttributeWindow(width, attribute(a)))
        case cel.Within():
            return rebuilt(phi, below)
        case _:
            assert_never(phi)


def predicates(phi: Formula) -> Iterator[Predicate]:
    """Yield the predicates in the filters of a formula."""
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter):
            yield from (atom.predicate for atom in cel.atoms(psi.condition) if not isinstance(atom, cel.Named))


def names(phi: Formula) -> Iterator[str]:
    """Yield the event types and variables in a formula, with repetitions, in a fixed order."""
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Plain):
            continue
        match psi:
            case cel.EventAtom(R):
                yield R
            case cel.In(_, A):
                yield A
            case cel.Project(L, _):
                yield from sorted(L)
            case cel.Filter(_, condition):
                for atom in cel.atoms(condition):
                    yield from variables_of(atom)
            case cel.Within() | cel.PartitionBy() | cel.PerKey() | cel.Derived():
                pass
            case _:
                assert_never(psi)


def variables_of(atom: cel.Atom) -> tuple[str, ...]:
    """Return the variables in an atom, with repetitions."""
    match atom:
        case cel.Every(A, _):
            return (A,)
        case cel.Correlated(P):
            return tuple(a.variable for a in mentions(P) if a.variable is not None)
        case cel.Named(_, variables):
            return variables
        case _:
            assert_never(atom)


def attribute_names(phi: Formula) -> Iterator[str]:
    """Yield the attributes used in a formula, with repetitions, in a fixed order."""
    for P in predicates(phi):
        yield from (a.name for a in mentions(P))
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.PartitionBy):
            yield psi.attribute
        elif isinstance(psi, cel.PerKey):
            yield from psi.attributes
        elif isinstance(psi, cel.Within):
            match psi.window:
                case cel.AttributeWindow(_, a):
                    yield a
                case cel.TimeWindow():
                    yield "time"
                case cel.EventWindow():
                    pass
                case _:
                    assert_never(psi.window)


def constants(phi: Formula) -> list[Value]:
    """Return the constants in the filters of a formula, with repetitions, in the order in which `mapped` meets them."""
    return noted(lambda note: mapped(phi, value=note))


def noted(visit: Callable[[Callable[[T], T]], object]) -> list[T]:
    """Run `visit` with a function that records its arguments; return the recorded values in order.

    The function returns each value unchanged.
    """
    found: list[T] = []

    def note(one: T) -> T:
        found.append(one)
        return one

    visit(note)
    return found
