"""Find the variables, the static properties and the problems of a core-CEL formula (cep17, sections 3 and 5).

The first part computes sets of variables as the paper defines them (`free`, `bound`, `defined`). The second part is
built on them: whether a formula is unary, well-formed, safe or in LP-normal form, and which comparisons its schema
rules out. Nothing here changes what a formula means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Problem, kind_problems, lacking, mentions, never_true, unknown_type
from cerify.semantics.trees import children

Variables: TypeAlias = frozenset[str]


def mentioned(condition: core.Condition) -> Variables:
    """Return the variables x1, ..., xn of the atoms P(x1, ..., xn) of a filter."""
    found: set[str] = set()
    for atom in core.atoms(condition):
        match atom:
            case core.Unary(x, _):
                found.add(x)
            case core.CoreCorrelated(predicate):
                found.update(a.variable for a in mentions(predicate) if a.variable is not None)
            case _:
                assert_never(atom)
    return frozenset(found)


def variables(phi: core.Formula) -> Variables:
    """Return vars(phi): all variables that occur in phi, its filters included (cep17, section 3)."""
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CoreFilter(psi, condition):
            return variables(psi) | mentioned(condition)
        case core.CoreOr() | core.CoreSeq() | core.CorePlus() | core.CoreSelection():
            return frozenset[str]().union(*map(variables, children(phi)))
        case _:
            assert_never(phi)


def defined(phi: core.Formula) -> Variables:
    """Return vdef(phi): the variables x of the sub-formulas R AS x (cep17, section 3)."""
    return frozenset(node.variable for node in core.subformulas(phi) if isinstance(node, core.CoreEventAtom))


def defined_outside_iteration(phi: core.Formula) -> Variables:
    """Return vdef+(phi): the variables x of the sub-formulas R AS x that are not under an iteration (cep17, section
    3).
    """
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CorePlus():
            return frozenset()
        case core.CoreFilter() | core.CoreOr() | core.CoreSeq() | core.CoreSelection():
            return frozenset[str]().union(*map(defined_outside_iteration, children(phi)))
        case _:
            assert_never(phi)


def free(phi: core.Formula) -> Variables:
    """Return the variables of phi, except those that an iteration in phi binds anew in each round.

    Two valuations that agree on these variables give phi the same complex events. cep17 has no name for them.
    """
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CoreFilter(psi, condition):
            return free(psi) | mentioned(condition)
        case core.CorePlus(psi):
            return free(psi) - defined_outside_iteration(psi)
        case core.CoreOr() | core.CoreSeq() | core.CoreSelection():
            return frozenset[str]().union(*map(free, children(phi)))
        case _:
            assert_never(phi)


def bound(phi: core.Formula) -> Variables:
    """Return bound(phi): the variables that hold an event in every complex event of phi (cep17, section 5.1)."""
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CoreOr(left, right):
            return bound(left) & bound(right)
        case core.CoreSeq(left, right):
            return bound(left) | bound(right)
        case core.CorePlus():
            return frozenset()
        case core.CoreFilter(psi, _) | core.CoreSelection(psi):
            return bound(psi)
        case _:
            assert_never(phi)


# ---------------------------------------------------------------------------------------------------------------------
# Static properties of core-CEL formulas (cep17, section 5), and the problems of a formula under a schema.
#
# Evaluation gives every formula a meaning. The matches of a formula that is not well-formed may depend on events after
# their position; a formula that is not safe defines one variable twice in a match; a comparison that the schema rules
# out is false.

Types: TypeAlias = Mapping[str, frozenset[str]]
"""Maps each variable that surely holds an event to the event types that it may have."""


def is_unary(phi: core.Formula) -> bool:
    """Return whether every filter tests single events (cep17, section 6)."""
    return all(
        isinstance(atom, core.Unary)
        for node in core.subformulas(phi)
        if isinstance(node, core.CoreFilter)
        for atom in core.atoms(node.condition)
    )


def is_well_formed(phi: core.Formula, around: Variables = frozenset()) -> bool:
    """Return whether every variable of a filter is bound by a sub-formula around the filter (cep17, section 5.1, as
    printed).

    `around` has the variables that are bound by the formulas around phi.
    """
    around = around | bound(phi)
    if isinstance(phi, core.CoreFilter) and not mentioned(phi.condition) <= around:
        return False
    return all(is_well_formed(psi, around) for psi in children(phi))


def is_safe(phi: core.Formula) -> bool:
    """Return whether no variable is defined, outside iterations, on both sides of a sequence (cep17, section 5.1)."""
    return not any(_twice_defined(node) for node in core.subformulas(phi))


def is_lp_normal(phi: core.Formula) -> bool:
    """Return whether every unary filter on x is applied directly to a definition `R AS x` (cep17, section 5.2).

    AND and OR count as their expansions. Several filters applied directly to one definition count as one filter,
    because predicates are closed under intersection.
    """
    return all(
        _unary_on(node.condition, _local(node.phi))
        for node in core.subformulas(phi)
        if isinstance(node, core.CoreFilter)
    )


def problems(phi: core.Formula, schema: Schema | None = None) -> list[Problem]:
    """Return all problems of the formula and how to fix them; type errors only if there is a schema."""
    found: list[Problem] = []
    _check(phi, {}, schema, found)
    return found


def type_errors(phi: core.Formula, schema: Schema) -> list[Problem]:
    """Return the type errors of the formula under the schema. Wrong uses of variables are not type errors."""
    return [problem for problem in problems(phi, schema) if problem.rule not in ("unbound", "unsafe")]


def require_typed(phi: core.Formula, schema: Schema) -> None:
    """Raise IllFormed for the first type error."""
    for problem in type_errors(phi, schema):
        raise IllFormed(problem.hinted, problem.span)


def _twice_defined(phi: core.Formula) -> Variables:
    if not isinstance(phi, core.CoreSeq):
        return frozenset()
    return defined_outside_iteration(phi.left) & defined_outside_iteration(phi.right)


def _local(phi: core.Formula) -> str | None:
    """Return x if phi is R AS x, with only unary filters of x around it; None otherwise."""
    match phi:
        case core.CoreEventAtom(_, x):
            return x
        case core.CoreFilter(psi, condition):
            return _after(condition, _local(psi))
        case core.CoreOr() | core.CoreSeq() | core.CorePlus() | core.CoreSelection():
            return None
        case _:
            assert_never(phi)


def _after(condition: core.Condition, x: str | None) -> str | None:
    """Return x if the condition tests x alone, by unary filters joined with AND; None otherwise."""
    match condition:
        case core.Unary(y, _):
            return x if x == y else None
        case core.CoreConjunction(left, right):
            return _after(right, _after(left, x))
        case core.CoreCorrelated() | core.CoreDisjunction():
            return None
        case _:
            assert_never(condition)


def _unary_on(condition: core.Condition, x: str | None) -> bool:
    """Return whether every unary atom stands directly on the definition of its variable.

    x: the variable of the filtered formula, if that is R AS x with only unary filters of x; else None.
    """
    match condition:
        case core.Unary(y, _):
            return x == y
        case core.CoreCorrelated():
            return True
        case core.CoreConjunction(left, right):
            return _unary_on(left, x) and _unary_on(right, _after(left, x))
        case core.CoreDisjunction(left, right):
            return _unary_on(left, x) and _unary_on(right, x)
        case _:
            assert_never(condition)


def _check(phi: core.Formula, around: Types, schema: Schema | None, found: list[Problem]) -> None:
    """Append the problems of phi to `found`. `around` are the variables bound around phi, with their types.

    An iteration chooses the variables that it defines anew in each round, so a binding outside does not count inside.
    Taken literally, section 5.1 lets it count; then well-formed formulas could look ahead.
    """
    types = _types(phi)
    around = {**around, **{x: types[x] for x in bound(phi)}}
    match phi:
        case core.CoreEventAtom(R, _):
            found.extend(unknown_type(R, schema, phi.span))
        case core.CoreFilter(_, condition):
            for atom in core.atoms(condition):
                found.extend(_in_atom(atom, around, schema))
        case core.CoreSeq():
            for x in sorted(_twice_defined(phi)):
                message = (
                    f"{x} is defined on both sides of `;`, but holds only one event, so this sequence never matches; "
                    f"rename {x} on one side"
                )
                found.append(Problem("unsafe", message, phi.span))
        case core.CorePlus(psi):
            around = {x: held for x, held in around.items() if x not in defined_outside_iteration(psi)}
        case core.CoreOr() | core.CoreSelection():
            pass
        case _:
            assert_never(phi)
    for psi in children(phi):
        _check(psi, around, schema, found)


def _types(phi: core.Formula) -> Types:
    """Map each variable that is defined outside iterations to the event types of its definitions."""
    match phi:
        case core.CoreEventAtom(R, x):
            return {x: frozenset({R})}
        case core.CorePlus():
            return {}
        case core.CoreFilter() | core.CoreOr() | core.CoreSeq() | core.CoreSelection():
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
        case core.CoreCorrelated(predicate):
            used = dict.fromkeys((attribute.variable or "", attribute.name) for attribute in mentions(predicate))
        case _:
            assert_never(atom)
    for x in sorted(mentioned(atom) - around.keys()):
        known = ", ".join(sorted(around)) or "no variable"
        message = (
            f"{x} may hold no event of the match here, so the filter could depend on a later event; "
            f"bound here: {known}. "
            f"Write AS {x} in every alternative of the filtered formula and outside +, or around it"
        )
        yield Problem("unbound", message, atom.span)
    for x, name in used:
        yield from lacking(x, name, around.get(x, frozenset()), schema, atom.span)
    if isinstance(atom, core.Unary):
        yield from never_true(atom.variable, predicate, around.get(atom.variable, frozenset()), schema, atom.span)
    yield from kind_problems(predicate, schema, atom.span)
