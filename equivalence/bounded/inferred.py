"""A schema read off formulas: the event types they name and one more, each with every attribute they mention."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.algebra.minterms import OTHER, tests_of
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import TIME, Schema
from cerify.semantics.predicates import Arithmetic, Constant, InRange, Like, OneOf, Predicate, mentions, nodes
from cerify.semantics.values import ValueType, value_type_of


def inferred_schema(*formulas: cel.Formula) -> Schema:
    """The schema in which an attribute has the type of what it is compared with; int where it is compared with nothing.

    Raises IllFormed where an attribute is compared with values of different types.
    """
    tests = [test for phi in formulas for P in _predicates(phi) for test in tests_of(P)]
    found: dict[str, set[ValueType]] = {a.name: set() for test in tests for a in mentions(test)}
    for phi in formulas:
        for psi in cel.subformulas(phi):
            if isinstance(psi, cel.Within) and isinstance(psi.window, cel.AttributeWindow):
                found.setdefault(psi.window.attribute, set()).add("int")
            elif isinstance(psi, cel.PartitionBy):
                found.setdefault(psi.attribute, set())
    for _ in range(len(found) + 1):  # what is compared with each other has one type: as many rounds as a chain is long
        for test in tests:
            together = {a.name for a in mentions(test)}
            types = set(_types(test)).union(*(found[name] for name in together))
            for name in together:
                found[name] |= types
    for name, types in found.items():
        if types - {"int", "float"} and len(types) > 1:
            raise IllFormed(f"{name} is compared with values of the types {', '.join(sorted(types))}; give a schema")
    attributes: dict[str, ValueType] = {name: _one(types) for name, types in found.items() if name != TIME or types}
    named = {psi.type: None for phi in formulas for psi in cel.subformulas(phi) if isinstance(psi, cel.Event)}
    other = OTHER + "_" * max((len(R) for R in named if R.startswith(OTHER)), default=0)
    return Schema(dict.fromkeys((*named, other), attributes))


def _one(types: set[ValueType]) -> ValueType:
    return "float" if "float" in types else next(iter(types), "int")


def _predicates(phi: cel.Formula) -> Iterator[Predicate]:
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter):
            for atom in cel.atoms(psi.condition):
                if not isinstance(atom, cel.Named):
                    yield atom.predicate


def _types(test: Predicate) -> Iterator[ValueType]:
    """The types of the constants of a test, and of what is calculated."""
    for node in nodes(test):
        match node:
            case Constant(value):
                yield value_type_of(value)
            case Arithmetic(operator):
                yield "float" if operator == "/" else "int"
            case OneOf(_, values):
                yield from map(value_type_of, values)
            case InRange(_, low, high):
                yield from (value_type_of(low), value_type_of(high))
            case Like():
                yield "string"
