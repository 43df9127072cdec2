"""How automata evaluate a formula: by one automaton, by its candidates, or by an operator on sets of valuations.

One automaton carries a formula whose filters across events can be checked on the paths that it enumerates
(decorrelation.py). Where something in the formula needs more than one valuation at a time, one automaton finds
*candidates*, all valuations of the formula and maybe others, and each is checked by the formula's clauses
(membership.py). The operators whose valuations are chosen or made out of a set stand in plans of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from cerify.automata.cea.blowup_diagnosis import lazily
from cerify.automata.cea.compile import compares, compilable, correlated
from cerify.automata.cea.io_determinize import MARKED, Determinized
from cerify.automata.cea.model import CEA, UNMARKED
from cerify.automata.evaluate.binding_analysis import analyze_bindings
from cerify.automata.evaluate.decorrelation import (
    ResidualFilter,
    decorrelated,
    is_mark,
)
from cerify.automata.evaluate.partitions import partitioned
from cerify.automata.evaluate.scope import Scope, strip_windows
from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import InternalError, Unsupported
from cerify.semantics.trees import children, rebuilt


@dataclass(frozen=True)
class AutomatonPlan:
    """A formula that one automaton evaluates: its scope, and the filters that are checked on its paths."""

    scope: Scope
    checks: tuple[ResidualFilter, ...] = ()

    def automaton(self, output: Output, budget: Budget) -> Determinized:
        """The automaton, with marks; for matches with one variable beside them. Raises BudgetExceeded."""
        return lazily(self.scope.core, budget, None if output == "valuations" else _one_variable)


@dataclass(frozen=True)
class CheckedPlan:
    """A formula that is checked on candidates, and their plan. refused: why one automaton does not evaluate it."""

    phi: Formula
    candidates: AutomatonPlan
    refused: Unsupported


Collecting: TypeAlias = cel.Next | cel.Last | cel.Max | cel.Project | cel.In
"""The operators that are applied to all valuations over an interval: their results are not checked one by one."""


@dataclass(frozen=True)
class CollectedPlan:
    """An operator that is applied to all valuations of its operand over an interval. refused: as in CheckedPlan."""

    phi: Collecting
    operand: EvaluationPlan
    refused: Unsupported


EvaluationPlan: TypeAlias = AutomatonPlan | CheckedPlan | CollectedPlan
"""How automata evaluate a formula."""


def evaluation_plan(phi: Formula, budget: Budget = Budget()) -> EvaluationPlan | Unsupported:
    """How automata evaluate the formula; Unsupported for registered predicates. Raises BudgetExceeded."""
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter):
            for atom in cel.atoms(psi.condition):
                if isinstance(atom, cel.Named):
                    return Unsupported(f"no automaton carries a registered predicate such as {atom.name}", atom.span)
    with depth_limited(phi.span):
        return _planned(phi, budget)


def required_plan(phi: Formula, budget: Budget = Budget()) -> EvaluationPlan:
    """As `evaluation_plan`. Raises Unsupported for registered predicates, and BudgetExceeded."""
    plan = evaluation_plan(phi, budget)
    if isinstance(plan, Unsupported):
        raise plan
    return plan


def _one_variable(A: CEA) -> CEA:
    """The automaton with one variable in place of those that are no marks."""

    own = {L: frozenset(filter(is_mark, L)) for L in A.marks}
    return A.remarked({L: marks | (MARKED if len(marks) < len(L) else UNMARKED) for L, marks in own.items()})


def rebinds(phi: cel.In) -> bool:
    """Whether the variable may bind events in the operand too, so that it hides what they were."""
    return any(phi.variable in kind for kind in analyze_bindings(phi.phi).possible)


def _planned(phi: Formula, budget: Budget) -> EvaluationPlan:
    carried = _automaton_plan(phi, budget)
    if isinstance(carried, AutomatonPlan):
        return carried
    match phi:
        case cel.Derived():
            return _planned(phi.expansion, budget)
        case cel.Next() | cel.Last() | cel.Max() | cel.Project():
            return CollectedPlan(phi, _planned(phi.phi, budget), carried)
        case cel.In() if rebinds(phi):
            return CollectedPlan(phi, _planned(phi.phi, budget), carried)
        case (
            cel.Event() | cel.In() | cel.Filter() | cel.Seq() | cel.Plus() | cel.ContiguousSeq() | cel.ContiguousPlus()
            | cel.Start() | cel.Or() | cel.And() | cel.All() | cel.Unless() | cel.Strict() | cel.Within()
            | cel.PartitionBy()
        ):  # fmt: skip
            return CheckedPlan(phi, _candidates(phi, budget), carried)
        case _:
            assert_never(phi)


def _automaton_plan(phi: Formula, budget: Budget) -> AutomatonPlan | Unsupported:
    """The formula without the filters that are to be checked, or why one automaton does not evaluate what is left."""
    if not any(isinstance(psi, cel.Filter) and correlated(psi.condition) for psi in cel.subformulas(phi)):
        scope = strip_windows(phi)
        if isinstance(scope, Scope):
            return AutomatonPlan(scope)
    query = decorrelated(partitioned(phi), budget)
    if isinstance(query, Unsupported):
        return query
    scope = strip_windows(query.phi)
    return scope if isinstance(scope, Unsupported) else AutomatonPlan(scope, query.checks)


def _candidates(phi: Formula, budget: Budget) -> AutomatonPlan:
    """The plan of a formula with all valuations of phi: with the comparisons that are left of phi, if it has one."""
    psi = _pointwise(phi)
    for candidate in (psi, _without_comparisons(psi)):
        found = _automaton_plan(candidate, budget)
        if isinstance(found, AutomatonPlan):
            return found
    raise InternalError("a formula that compares no events is evaluated by its automaton")


def _pointwise(phi: Formula) -> Formula:
    """phi less the operators that ask for several valuations of a formula that compares events; it has all of phi's.

    Such a formula is then nowhere but where more of its valuations make more of those of phi.
    """
    if compilable(phi):
        return phi
    match phi:
        case cel.Next(psi) | cel.Last(psi) | cel.Max(psi):
            return _pointwise(psi)
        case cel.Unless(left, right):
            return replace(phi, left=_pointwise(left)) if compilable(right) else _pointwise(left)
        case cel.Derived():
            return _pointwise(phi.expansion)
        case (
            cel.Event() | cel.In() | cel.Filter() | cel.Seq() | cel.Plus() | cel.ContiguousSeq() | cel.ContiguousPlus()
            | cel.Project() | cel.Start() | cel.Or() | cel.And() | cel.All() | cel.Strict() | cel.Within()
            | cel.PartitionBy()
        ):  # fmt: skip
            return rebuilt(phi, [_pointwise(psi) for psi in children(phi)])
        case _:
            assert_never(phi)


def _without_comparisons(phi: Formula) -> Formula:
    """phi, of which _pointwise has been taken, less all that compares events; it has all valuations of phi."""
    if compilable(phi):
        return phi
    below = [_without_comparisons(psi) for psi in children(phi)]
    return below[0] if compares(phi) else rebuilt(phi, below)
