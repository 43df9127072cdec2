"""Static properties of core-CEL formulas (cep17, section 5), and the problems of a formula under a schema.

Evaluation gives every formula a meaning. The matches of a formula that is not well-formed may depend on events after
their position; a formula that is not safe defines one variable twice in a match; a comparison that the schema rules out
is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.variables import Variables, bound, defined_outside_iteration, mentioned
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Schema
from cerify.semantics.predicate_types import Problem, kind_problems, lacking, never_true, unknown_type
from cerify.semantics.predicates import mentions
from cerify.semantics.trees import children

Types: TypeAlias = Mapping[str, frozenset[str]]
"""The variables that surely hold an event, with the event types that it may have."""


def is_unary(phi: core.Formula) -> bool:
    """Whether every filter is about single events (section 6)."""
    return all(
        isinstance(atom, core.Unary)
        for node in core.subformulas(phi)
        if isinstance(node, core.Filter)
        for atom in core.atoms(node.condition)
    )


def is_well_formed(phi: core.Formula, around: Variables = frozenset()) -> bool:
    """Whether every variable of a filter is bound by a sub-formula that the filter stands in (section 5.1, as printed).

    around holds the variables that are bound by the formulas that phi stands in.
    """
    around = around | bound(phi)
    if isinstance(phi, core.Filter) and not mentioned(phi.condition) <= around:
        return False
    return all(is_well_formed(psi, around) for psi in children(phi))


def is_safe(phi: core.Formula) -> bool:
    """Whether no variable is defined, outside iterations, on both sides of a sequence (section 5.1)."""
    return not any(_twice_defined(node) for node in core.subformulas(phi))


def is_lp_normal(phi: core.Formula) -> bool:
    """Whether every unary filter stands directly on the definition of its variable (section 5.2), AND and OR expanded.

    Filters of one event on top of each other are one filter: predicates are closed under intersection.
    """
    return all(
        _unary_on(node.condition, _local(node.phi)) for node in core.subformulas(phi) if isinstance(node, core.Filter)
    )


def problems(phi: core.Formula, schema: Schema | None = None) -> list[Problem]:
    """All that is wrong with the formula, and how to mend it; its type errors only if there is a schema."""
    found: list[Problem] = []
    _check(phi, {}, schema, found)
    return found


def type_errors(phi: core.Formula, schema: Schema) -> list[Problem]:
    """The type errors of the formula under the schema; how it uses its variables is none."""
    return [problem for problem in problems(phi, schema) if problem.rule not in ("unbound", "unsafe")]


def require_typed(phi: core.Formula, schema: Schema) -> None:
    """Raises IllFormed for the first type error."""
    for problem in type_errors(phi, schema):
        raise IllFormed(problem.hinted, problem.span)


def _twice_defined(phi: core.Formula) -> Variables:
    if not isinstance(phi, core.Seq):
        return frozenset()
    return defined_outside_iteration(phi.left) & defined_outside_iteration(phi.right)


def _local(phi: core.Formula) -> str | None:
    """x, where phi is R AS x with nothing but unary filters of x on it."""
    match phi:
        case core.Event(_, x):
            return x
        case core.Filter(psi, condition):
            return _after(condition, _local(psi))
        case core.Or() | core.Seq() | core.Plus() | core.Strict() | core.Next() | core.Last() | core.Max():
            return None
        case _:
            assert_never(phi)


def _after(condition: core.Condition, x: str | None) -> str | None:
    """x, where a formula that is local to x is so still under the filter."""
    match condition:
        case core.Unary(y, _):
            return x if x == y else None
        case core.Conjunction(left, right):
            return _after(right, _after(left, x))
        case core.Correlated() | core.Disjunction():
            return None
        case _:
            assert_never(condition)


def _unary_on(condition: core.Condition, x: str | None) -> bool:
    """Whether every unary atom stands on the definition of its variable, where the filtered formula is local to x."""
    match condition:
        case core.Unary(y, _):
            return x == y
        case core.Correlated():
            return True
        case core.Conjunction(left, right):
            return _unary_on(left, x) and _unary_on(right, _after(left, x))
        case core.Disjunction(left, right):
            return _unary_on(left, x) and _unary_on(right, x)
        case _:
            assert_never(condition)


def _check(phi: core.Formula, around: Types, schema: Schema | None, found: list[Problem]) -> None:
    """Adds the problems of phi, which stands where the variables around it are bound, to those found.

    An iteration chooses the variables that it defines anew in each round, so that what binds them around it says
    nothing of them inside. By the letter of the definition it would: there well-formed formulas look ahead.
    """
    types = _types(phi)
    around = {**around, **{x: types[x] for x in bound(phi)}}
    match phi:
        case core.Event(R, _):
            found.extend(unknown_type(R, schema, phi.span))
        case core.Filter(_, condition):
            for atom in core.atoms(condition):
                found.extend(_in_atom(atom, around, schema))
        case core.Seq():
            for x in sorted(_twice_defined(phi)):
                message = (
                    f"{x} is defined on both sides of ; and holds one event only, so that the two exclude each other; "
                    "give one of them another name"
                )
                found.append(Problem("unsafe", message, phi.span))
        case core.Plus(psi):
            around = {x: held for x, held in around.items() if x not in defined_outside_iteration(psi)}
        case core.Or() | core.Strict() | core.Next() | core.Last() | core.Max():
            pass
        case _:
            assert_never(phi)
    for psi in children(phi):
        _check(psi, around, schema, found)


def _types(phi: core.Formula) -> Types:
    """The event types of the definitions of each variable outside iterations."""
    match phi:
        case core.Event(R, x):
            return {x: frozenset({R})}
        case core.Plus():
            return {}
        case core.Filter() | core.Or() | core.Seq() | core.Strict() | core.Next() | core.Last() | core.Max():
            types: dict[str, frozenset[str]] = {}
            for psi in children(phi):
                for x, of_variable in _types(psi).items():
                    types[x] = types.get(x, frozenset()) | of_variable
            return types
        case _:
            assert_never(phi)


def _in_atom(atom: core.Atom, around: Types, schema: Schema | None) -> Iterator[Problem]:
    match atom:
        case core.Unary(variable, predicate):
            used = dict.fromkeys((variable, attribute.name) for attribute in mentions(predicate))
        case core.Correlated(predicate):
            used = dict.fromkeys((attribute.variable or "", attribute.name) for attribute in mentions(predicate))
        case _:
            assert_never(atom)
    for x in sorted(mentioned(atom) - around.keys()):
        known = ", ".join(sorted(around)) or "no variable"
        message = (
            f"{x} need not hold an event of the match here, so that any event, even a later one, may pass the filter; "
            f"bound here are {known}: define {x} on every way through the filtered formula, or around it"
        )
        yield Problem("unbound", message, atom.span)
    for x, name in used:
        yield from lacking(x, name, around.get(x, frozenset()), schema, atom.span)
    if isinstance(atom, core.Unary):
        yield from never_true(atom.variable, predicate, around.get(atom.variable, frozenset()), schema, atom.span)
    yield from kind_problems(predicate, schema, atom.span)
