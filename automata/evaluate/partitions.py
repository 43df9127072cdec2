"""Filters that are equivalent to PARTITION BY, rewritten as such: all events of a match agree on an attribute.

phi FILTER A1.x = B1.x AND ... AND An.x = Bn.x has the same valuations as phi PARTITION BY [x], over every interval, if
there is a set K of variables such that

    (1) K is connected by the equations, and each variable of K binds an event in every valuation of phi; or K is one
        variable A with the equation A.x = A.x;
    (2) each event of a valuation of phi is bound by a variable of K, or by one that an equation sets equal to one of K
        (which then binds an event in every valuation).

If the filter is satisfied, (1) makes the events of K agree, along the equations; and by (2) each other event agrees
with some event of K. If all events agree, each equation is true. BindingAnalysis has what decides (1) and (2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from cerify.automata.cea.compile import correlated
from cerify.automata.evaluate.binding_analysis import BindingAnalysis, Variables, analyze_bindings
from cerify.automata.evaluate.scope import Scope, strip_windows
from cerify.semantics.budget import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula
from cerify.semantics.errors import Unsupported
from cerify.semantics.predicates import Attribute, Comparison

Equation = tuple[str, str]


def partitioned(phi: Formula) -> Formula:
    """phi with PARTITION BY in place of such filters, as far as `strip_windows` removes it from the formula."""
    match phi:
        case cel.Filter():
            psi, conditions = _filters(phi)
            inner = partitioned(psi)  # where all filters together make no partition, some of them make none either
            return _partitioned(inner, conditions) or _filtered(phi, inner)
        case cel.In() | cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy():
            return replace(phi, phi=partitioned(phi.phi))
        case cel.Unless(left, _):
            return replace(phi, left=partitioned(left))
        case (
            cel.Event() | cel.Project() | cel.Or() | cel.And() | cel.Seq() | cel.ContiguousSeq() | cel.All()
            | cel.Plus() | cel.ContiguousPlus() | cel.Next() | cel.Last() | cel.Max() | cel.Derived()
        ):  # fmt: skip
            return phi
        case _:
            assert_never(phi)


def batch_scope(phi: Formula) -> Scope | Unsupported:
    """The scope of the formula, with filters as partitions where that is the same, or why no batches are read."""
    with depth_limited(phi.span):
        psi = partitioned(phi)
    for node in cel.subformulas(psi):
        if isinstance(node, cel.Filter) and correlated(node.condition):
            return Unsupported(
                "an evaluator of batches carries a filter across events only if all events of a match agree on an "
                "attribute by it, as by PARTITION BY; collect the stream and use cerify.match, which carries all",
                node.span,
            )
    return strip_windows(psi)


def agreeing(equations: Iterable[Equation], h: BindingAnalysis) -> bool:
    """Whether the equations of an attribute make all events agree on it, by (1) and (2)."""
    equations = set(equations)
    alone = {A for A, B in equations if A == B}
    for A in sorted({A for equation in equations for A in equation}):
        K = _connected(A, equations, h.definite) if A in h.definite else frozenset({A})
        beside = {C for B, C in _both_ways(equations) if B in K} if A in h.definite else set[str]()
        if (len(K) > 1 or A in alone) and all(kind & (K | beside) for kind in h.possible):
            return True
    return False


def _partitioned(psi: Formula, conditions: list[Condition]) -> Formula | None:
    """psi with the conditions, some of them as PARTITION BY; None if all of them stay filters."""
    h = analyze_bindings(psi)
    equations: dict[str, set[Equation]] = {}
    for condition in conditions:
        for a, equation in _equation(condition):
            equations.setdefault(a, set()).add(equation)
    attributes = [a for a in equations if agreeing(equations[a], h)]
    if not attributes:
        return None
    for a in attributes:
        psi = cel.PartitionBy(psi, a)
    for condition in conditions:
        if not any(a in attributes for a, _ in _equation(condition)):
            psi = cel.Filter(psi, condition)
    return psi


def _filters(phi: Formula) -> tuple[Formula, list[Condition]]:
    """What stands in some filters, and their conditions, the innermost first."""
    found: list[Condition] = []
    while isinstance(phi, cel.Filter):
        pending = [phi.condition]
        while pending:
            condition = pending.pop()
            if isinstance(condition, cel.Conjunction):
                pending += [condition.left, condition.right]
            else:
                found.append(condition)
        phi = phi.phi
    return phi, found[::-1]


def _filtered(phi: Formula, psi: Formula) -> Formula:
    """psi in the filters that phi begins with."""
    filters: list[cel.Filter] = []
    while isinstance(phi, cel.Filter):
        filters.append(phi)
        phi = phi.phi
    for node in reversed(filters):
        psi = replace(node, phi=psi)
    return psi


def _equation(condition: Condition) -> Iterator[tuple[str, Equation]]:
    """The attribute and the variables of A.x = B.x; nothing of other conditions."""
    match condition:
        case cel.Correlated(Comparison("=", Attribute(a, str(A)), Attribute(b, str(B)))) if a == b:
            yield a, (A, B)


def _both_ways(equations: Iterable[Equation]) -> Iterator[Equation]:
    for A, B in equations:
        yield A, B
        yield B, A


def _connected(A: str, equations: Iterable[Equation], among: Variables) -> Variables:
    """The variables that equations between some variables lead to from A."""
    found, edges = {A}, [(B, C) for B, C in _both_ways(equations) if B in among and C in among]
    while new := {C for B, C in edges if B in found} - found:
        found |= new
    return frozenset(found)
