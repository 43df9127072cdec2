"""How automata evaluate a formula: by one automaton, by its candidates, or by an operator on sets of valuations.

One automaton suffices for a formula whose cross-event filters can be checked on the paths that it enumerates. If a part
of the formula needs more than one valuation at a time, an automaton finds *candidates* (all valuations of the formula
and maybe others), and each is checked by the formula's clauses (membership.py). Operators that choose from a set of
valuations, or combine them, have plans of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias, assert_never

from cerify.automata.cea.compile import (
    EventChain,
    ValueWindow,
    compares,
    compilable,
    correlated,
    distinct_chain,
    fixed_chain,
    greatest_chain,
    lazily,
    round_of_distinct,
)
from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Determinized
from cerify.automata.evaluate.scope import Scope, refuse_inside, strip_windows, take_off_windows
from cerify.automata.evaluator import Output
from cerify.semantics.arguments import Budget, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.predicates import Attribute, Comparison, mentions
from cerify.semantics.trees import children, rebuilt, subtrees

# ---------------------------------------------------------------------------------------------------------------------
# Which variables bind events in the valuations of a formula, as far as its syntax shows: a clause for each operator.
#
# The analysis holds for all streams (tods21, Figure 3): `definite` may lack variables but has no wrong ones; `possible`
# may have sets that never occur but lacks none.

Variables: TypeAlias = frozenset[str]

MAX_SETS = 5_000  # combinations of a set of variables from each operand of ALL


@dataclass(frozen=True)
class BindingAnalysis:
    """The variables and events that the valuations of a formula bind.

    definite: the variables that bind an event in every valuation. binds: whether every valuation binds an event.
    possible: sets of variables; each is all the variables that may bind one event at the same time.
    """

    definite: Variables
    binds: bool
    possible: frozenset[Variables]


def analyze_bindings(phi: cel.Formula) -> BindingAnalysis:
    """Return which variables bind events in the valuations of phi, on whatever interval of whatever stream.

    Raises BudgetExceeded if there are too many sets of variables.
    """
    match phi:
        case cel.EventAtom(R):
            return BindingAnalysis(frozenset({R}), True, frozenset({frozenset({R})}))
        case cel.In(psi, A):
            h = analyze_bindings(psi)
            definite = h.definite | {A} if h.binds else h.definite
            return BindingAnalysis(definite, h.binds, frozenset(kind | {A} for kind in h.possible))
        case cel.Project(L, psi):
            h = analyze_bindings(psi)
            binds = bool(h.definite & L) or (h.binds and all(kind & L for kind in h.possible))
            return BindingAnalysis(h.definite & L, binds, frozenset(kind & L for kind in h.possible if kind & L))
        case cel.Or(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            return BindingAnalysis(h.definite & k.definite, h.binds and k.binds, h.possible | k.possible)
        case cel.And(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            # Both sides have the same valuation, so each event has the same variables on both.
            return BindingAnalysis(h.definite | k.definite, h.binds or k.binds, h.possible & k.possible)
        case cel.Seq(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            return BindingAnalysis(h.definite | k.definite, h.binds or k.binds, h.possible | k.possible)
        case cel.ContiguousSeq(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            return BindingAnalysis(h.definite | k.definite, True, h.possible | k.possible)
        case cel.All(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            if len(h.possible) * len(k.possible) > MAX_SETS:
                raise BudgetExceeded(
                    "the operands of ALL bind too many different sets of variables; bind fewer variables in them",
                    phi.span,
                )
            together = frozenset(a | b for a in h.possible for b in k.possible)
            return BindingAnalysis(h.definite | k.definite, h.binds or k.binds, h.possible | k.possible | together)
        case cel.Start(psi) | cel.Within(psi, _):  # a valuation of these binds an event
            h = analyze_bindings(psi)
            return BindingAnalysis(h.definite, True, h.possible)
        case cel.Unless(psi, _):
            return analyze_bindings(psi)
        case cel.Narrowing() | cel.Iteration() | cel.PerKey():
            return analyze_bindings(phi.phi)
        case cel.Derived():
            return analyze_bindings(phi.expansion)
        case _:
            assert_never(phi)


# ---------------------------------------------------------------------------------------------------------------------
# Filters that are equivalent to PARTITION BY, rewritten as such: all events of a match agree on an attribute.
#
# phi FILTER A1.x = B1.x AND ... AND An.x = Bn.x has the same valuations as phi PARTITION BY [x], over every interval,
# if there is a set K of variables such that
#
#     (1) K is connected by the equations, and each variable of K binds an event in every valuation of phi; or K is one
#         variable A with the equation A.x = A.x;
#     (2) each event of a valuation of phi is bound by a variable of K, or by a variable that an equation sets equal to
#         one of K (which then binds an event in every valuation).
#
# If the filter is satisfied, (1) makes the events of K agree, along the equations; and by (2) each other event agrees
# with some event of K. If all events agree, each equation is true. BindingAnalysis has what decides (1) and (2).

Equation = tuple[str, str]


def partitioned(phi: Formula) -> Formula:
    """Return phi with cross-event filters rewritten as equivalent PARTITION BY.

    A filter is rewritten only where `strip_windows` can remove the partition.
    """
    match phi:
        case cel.Filter():
            psi, conditions = _filters(phi)
            inner = partitioned(psi)  # where all filters together make no partition, some of them make none either
            return _partitioned(inner, conditions) or _filtered(phi, inner)
        case cel.In() | cel.Restriction() | cel.PerKey():
            return replace(phi, phi=partitioned(phi.phi))
        case cel.Unless(left, _):
            return replace(phi, left=partitioned(left))
        case cel.EventAtom() | cel.Project() | cel.Iteration() | cel.Preference() | cel.Derived():
            return phi
        case cel.Sequencing() | cel.Combination():
            # `strip_windows` stops here too, and a partition further inside would have to be taken apart again.
            return phi
        case _:
            assert_never(phi)


def batch_scope(phi: Formula) -> Scope | Unsupported:
    """Return the scope of a formula (its windows and keys), with filters as partitions where they are equivalent.

    If the formula cannot be evaluated in batches, return the reason.
    """
    with depth_limited(phi.span):
        if (counted := scope_of_counts(phi)) is not None:
            return counted
        psi = partitioned(phi)
    for node in cel.subformulas(psi):
        if isinstance(node, cel.Filter) and correlated(node.condition):
            return Unsupported(
                "the compiled evaluator supports a cross-event filter only if it makes all events of a match equal on "
                "one attribute, as PARTITION BY does; use evaluator='automaton', or collect the stream and use "
                "cerify.match",
                node.span,
            )
    return strip_windows(psi)


def scope_of_counts(phi: Formula) -> Scope | None:
    """Return the scope of LAST(...), with the windows and keys that stand inside it moved outside.

    Return None for any other formula, and if the windows inside count other events than those outside, such as only the
    events of a key. Moving is correct because LAST takes the latest events: if its greatest match over all events fits
    in the window, it is also the greatest match in the window. There is one difference: a window inside LAST skips
    events without the measured value.
    """
    outer = take_off_windows(phi)
    if not isinstance(outer.core, cel.Preference):
        return None
    inner = take_off_windows(outer.core.phi)
    if refuse_inside(inner.core) is not None:
        return None
    last = replace(outer.core, phi=inner.core)
    fixed = fixed_chain(last)
    core: Formula | None = last if fixed is not None and fixed.is_last and not inner.everything else None
    values = None
    if (chain := distinct_chain(last)) is not None:
        core, values = round_of_distinct(chain, inner.core), (str(chain.distinct), len(chain.runs))
    if core is None:
        return None
    keys = tuple(dict.fromkeys([*outer.keys, *inner.keys, *inner.attributes]))
    widths = dict(outer.widths)
    for a, width in inner.widths:
        widths[a] = min(width, widths.get(a, width))
    both = *outer.keys, *inner.keys
    counted = (
        (outer.keys, outer.key_events),
        (both, inner.key_events),
        (outer.keys, inner.events if outer.keys else None),
    )
    of_keys = [(names, n) for names, n in counted if n is not None]
    if any(set(names) != set(keys) for names, _ in of_keys) or not set(outer.attributes) <= set(keys):
        return None
    events = [n for n in (outer.events, None if outer.keys else inner.events) if n is not None]
    return Scope(
        min(events, default=None),
        tuple(widths.items()),
        (),
        keys,
        min((n for _, n in of_keys), default=None),
        tuple(a for a, _ in inner.widths),
        values,
        core=core,
    )


def agreeing(equations: Iterable[Equation], h: BindingAnalysis) -> bool:
    """Return whether equations such as A.x = B.x, all on one attribute, make all events of a match agree on it.

    h: the variables that the formula binds. The answer is True if some variables, each bound in every match, are
    connected by the equations, and each event of a match is bound to one of them, or to a variable equated with one of
    them.
    """
    equations = set(equations)
    alone = {A for A, B in equations if A == B}
    for A in sorted({A for equation in equations for A in equation}):
        K = _connected(A, equations, h.definite) if A in h.definite else frozenset({A})
        beside = {C for B, C in _both_ways(equations) if B in K} if A in h.definite else set[str]()
        if (len(K) > 1 or A in alone) and all(kind & (K | beside) for kind in h.possible):
            return True
    return False


def _partitioned(psi: Formula, conditions: list[Condition]) -> Formula | None:
    """Return psi with the conditions around it, some as PARTITION BY; None if all of them stay filters."""
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
    """Return the formula inside nested filters, and the conditions of these filters, the innermost first."""
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
    """Return psi inside the outermost filters of phi."""
    filters: list[cel.Filter] = []
    while isinstance(phi, cel.Filter):
        filters.append(phi)
        phi = phi.phi
    for node in reversed(filters):
        psi = replace(node, phi=psi)
    return psi


def _equation(condition: Condition) -> Iterator[tuple[str, Equation]]:
    """Yield the attribute and the variables if the condition is A.x = B.x; nothing for other conditions."""
    match condition:
        case cel.Correlated(Comparison("=", Attribute(a, str(A)), Attribute(b, str(B)))) if a == b:
            yield a, (A, B)


def _both_ways(equations: Iterable[Equation]) -> Iterator[Equation]:
    for A, B in equations:
        yield A, B
        yield B, A


def _connected(A: str, equations: Iterable[Equation], among: Variables) -> Variables:
    """Return the variables in `among` that equations connect with A, and A itself."""
    found, edges = {A}, [(B, C) for B, C in _both_ways(equations) if B in among and C in among]
    while new := {C for B, C in edges if B in found} - found:
        found |= new
    return frozenset(found)


# ---------------------------------------------------------------------------------------------------------------------
# Filters that compare events removed from a formula, to be checked on the matches of what is left, which is unary.
#
# An automaton looks at one event at a time, so such a filter is checked on the matches that the automaton finds. For
# this the events that the filter's variables bind get *marks*, extra variables that only the filter uses: a mark is
# set where the variable is bound inside the filter's operand, and PROJECT keeps it with the variable. A filter in an
# iteration is checked for each round; so rounds alternate between two marks (their colours), and a new round begins
# where the colour changes. The formula that is left has the valuations of the original one plus marks, and more: those
# that fail a filter.
#
# This is exact where the rest of the formula depends on each filtered valuation alone. Where it compares them with
# each other (NXT, LAST, MAX), or depends on whether there is any (the right of UNLESS), the answer is Unsupported, and
# membership.py checks the formula. See docs/decisions/correlated.md.

MARK = "◦"  # begins the names of marks, and no name in a query

Colours: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class ResidualFilter:
    """A filter or a window that the automaton does not check, so that it must be checked for each match.

    marks: for each variable the mark that the automaton gives its events; a window has one mark for all its events.
    rounds: for each iteration around the filter, the outermost first, the two marks (colours) that its rounds have in
    turn.
    """

    condition: Condition | ValueWindow
    marks: Mapping[str, str]
    rounds: tuple[Colours, ...] = ()

    @classmethod
    def from_condition(
        cls, condition: Condition, mark: Callable[[str], str] = lambda A: A, rounds: tuple[Colours, ...] = ()
    ) -> ResidualFilter:
        """Return the filter of a condition. mark: a function from a variable to its mark; rounds: see this class."""
        variables = dict.fromkeys(A for atom in cel.atoms(condition) for A in _variables(atom))
        return cls(condition, {A: mark(A) for A in variables}, rounds)


@dataclass(frozen=True)
class Decorrelated:
    """A formula whose filters that compare events were removed, and the removed filters."""

    phi: Formula
    checks: tuple[ResidualFilter, ...]


def decorrelated(phi: Formula, budget: Budget = Budget()) -> Decorrelated | Unsupported:
    """Return the formula without the filters that compare events; or the reason why they cannot be removed.

    Raises BudgetExceeded.
    """
    with depth_limited(phi.span):
        decorrelator = _Decorrelator(budget)
        psi = decorrelator.outer(phi)
        return decorrelator.refused or Decorrelated(psi, tuple(decorrelator.checks))


def is_mark(variable: str) -> bool:
    """Return whether a variable was added by the compiler rather than by the query."""
    return variable.startswith(MARK)


class _Decorrelator:
    """Removes the filters, bottom up, and numbers the filters and the iterations.

    refused: the first reason why a filter cannot be removed. If it is set, the results of the methods mean nothing.
    """

    def __init__(self, budget: Budget) -> None:
        self.checks: list[ResidualFilter] = []
        self.refused: Unsupported | None = None
        self._budget = budget
        self._iterations = 0

    def outer(self, phi: Formula) -> Formula:
        """Remove the filters of phi. `strip_windows` must be able to remove all operators around phi."""
        match phi:
            case cel.PartitionBy(psi, a):
                return cel.PartitionBy(self._whole(self.outer(psi), phi), a, span=phi.span)
            case cel.PerKey():
                return replace(phi, phi=self.outer(phi.phi))
            case cel.Filter(psi, condition):
                return self._filtered(self.outer(psi), condition, ())
            case cel.In() | cel.Restriction():
                return replace(phi, phi=self._whole(self.outer(phi.phi), phi))
            case cel.Unless(left, _):
                self._require_unary(phi.right, "UNLESS depends on whether its right side has any match")
                return replace(phi, left=self.outer(left))
            case cel.EventAtom() | cel.Project() | cel.Iteration() | cel.Preference() | cel.Derived():
                return self._decorrelate(phi, ())
            case cel.Sequencing() | cel.Combination():
                return self._decorrelate(phi, ())
            case _:
                assert_never(phi)

    def _decorrelate(self, phi: Formula, rounds: tuple[Colours, ...]) -> Formula:
        if self.refused or compilable(phi):
            return phi
        match phi:
            case cel.EventAtom():
                return phi
            case cel.Filter(psi, condition):
                return self._filtered(self._decorrelate(psi, rounds), condition, rounds)
            case cel.PartitionBy(_, a):
                return self._checked(phi, _equal(a), rounds)
            case cel.Within(psi, window) if isinstance(window, ValueWindow):
                if not analyze_bindings(psi).binds:
                    return self._refuse(
                        "a match of the formula in this window may bind no event, and is then in no window", phi
                    )
                return self._checked(phi, window, rounds)
            case cel.Project(L, psi):
                below = self._decorrelate(psi, rounds)
                return cel.Project(L | _marks(below), below, span=phi.span)
            case cel.In() | cel.Restriction():
                return replace(phi, phi=self._whole(self._decorrelate(phi.phi, rounds), phi))
            case cel.Seq() | cel.Or() | cel.All():
                return replace(
                    phi, left=self._decorrelate(phi.left, rounds), right=self._decorrelate(phi.right, rounds)
                )
            case cel.ContiguousSeq():
                left, right = self._decorrelate(phi.left, rounds), self._decorrelate(phi.right, rounds)
                return replace(phi, left=self._whole(left, phi), right=self._whole(right, phi))
            case cel.Iteration():
                return self._decorrelate_iteration(phi, rounds)
            case cel.And():
                return self._joined(phi, rounds)
            case cel.Unless(left, right):
                self._require_unary(right, "UNLESS depends on whether its right side has any match")
                return replace(phi, left=self._decorrelate(left, rounds))
            case cel.Preference():
                return self._refuse(
                    "NXT, LAST and MAX compare the matches of this formula with each other, so cross-event "
                    "filters would have to be applied to it first",
                    phi,
                )
            case cel.PerKey():
                return self._refuse(
                    "this PER KEY is inside another operator, so cross-event filters would have to be applied to its "
                    "operand first",
                    phi,
                )
            case cel.Derived():
                return self._decorrelate(phi.expansion, rounds)
            case _:
                assert_never(phi)

    def _filtered(self, psi: Formula, condition: Condition, rounds: tuple[Colours, ...]) -> Formula:
        match condition:
            case cel.Conjunction(left, right):
                return self._filtered(self._filtered(psi, left, rounds), right, rounds)
            case _ if not correlated(condition):
                return cel.Filter(psi, condition)
            case _:
                check = ResidualFilter.from_condition(condition, self._mark, rounds)
                self.checks.append(check)
                return _mark_variables(psi, check.marks)

    def _checked(
        self, phi: cel.PartitionBy | cel.Within, condition: Condition | ValueWindow, rounds: tuple[Colours, ...]
    ) -> Formula:
        """Return the operand with one mark on all its events, so that the condition can be checked on it."""
        # Added before the operand is visited, whose checks are numbered by the length of the list: marks must differ.
        W = self._mark("")
        self.checks.append(ResidualFilter(condition, {"": W}, rounds))
        return cel.In(self._whole(self._decorrelate(phi.phi, rounds), phi), W)

    def _mark(self, A: str) -> str:
        return f"{MARK}{len(self.checks)}.{A}"

    def _decorrelate_iteration(self, phi: cel.Plus | cel.ContiguousPlus, rounds: tuple[Colours, ...]) -> Formula:
        """Mark the rounds of an iteration with two alternating colours.

        The result is one round, or pairs of rounds, or pairs and one more round.
        """
        colours = f"{MARK}+{self._iterations}", f"{MARK}-{self._iterations}"
        self._iterations += 1
        psi = self._decorrelate(phi.phi, (*rounds, colours))
        if isinstance(phi, cel.ContiguousPlus):
            # Only to refuse: two rounds of `:+` meet at their last and first events, so each must be bound.
            self._whole(psi, phi)
        elif not self.refused and not analyze_bindings(psi).binds:
            return self._refuse(
                "a round of this iteration may bind no event, so that rounds cannot be distinguished", phi
            )
        seq = cel.Seq if isinstance(phi, cel.Plus) else cel.ContiguousSeq
        one, two = (cel.In(psi, colour) for colour in colours)
        pairs = type(phi)(seq(one, two))
        return cel.Or(cel.Or(one, pairs), seq(pairs, one))

    def _joined(self, phi: cel.And, rounds: tuple[Colours, ...]) -> Formula:
        """Build AND of two sides.

        An event of one side may also have any marks of the other side, because both sides must have the same valuation.
        """
        left, right = (self._whole(self._decorrelate(psi, rounds), phi) for psi in (phi.left, phi.right))
        return cel.And(self._freed(left, right, phi), self._freed(right, left, phi))

    def _freed(self, psi: Formula, other: Formula, phi: Formula) -> Formula:
        if self.refused:
            return psi
        marks = _marks(other)
        choices = sorted({tuple(sorted(kind & marks)) for kind in analyze_bindings(other).possible})
        if choices in ([], [()]):
            return psi
        for node in binding_subformulas(psi):
            if isinstance(node, cel.Project) and not all(
                kind & node.variables for kind in analyze_bindings(node.phi).possible
            ):
                return self._refuse(
                    "PROJECT drops events on one side of AND, and the other side has a cross-event filter", phi
                )
        freed = _at_events(psi, lambda R: reduce(cel.Or, [reduce(cel.In, choice, R) for choice in choices]), marks)
        if cel.size(freed) > self._budget.states:
            raise BudgetExceeded(
                f"with cross-event filters, AND takes more than {self._budget.states} operators; compare fewer events",
                phi.span,
            )
        return freed

    def _whole(self, psi: Formula, around: Formula) -> Formula:
        """Return psi if it binds every event that it marks. Otherwise refuse the formula, because the operator `around`
        looks at the support.
        """
        if not self.refused and any(all(map(is_mark, kind)) for kind in analyze_bindings(psi).possible):
            self._refuse(
                "a PROJECT in this formula drops events that a cross-event filter inside it compares, but the operator "
                "around the formula depends on the remaining events",
                around,
            )
        return psi

    def _require_unary(self, psi: Formula, why: str) -> None:
        if not compilable(psi):
            self._refuse(f"{why}, so cross-event filters would have to be applied to this formula first", psi)

    def _refuse(self, why: str, phi: Formula) -> Formula:
        self.refused = self.refused or Unsupported(why, phi.span)
        return phi


def _equal(a: str) -> Condition:
    """Return the condition `W.a = W.a`: all events of W have the same value of a (tods21, section 4)."""
    return cel.Correlated(Comparison("=", Attribute(a, ""), Attribute(a, "")))


def _variables(atom: cel.Atom) -> Iterable[str]:
    match atom:
        case cel.Every(A, _):
            return (A,)
        case cel.Correlated(P):
            return (m.variable or "" for m in mentions(P))
        case cel.Named():
            raise AssertionError(f"the registered predicate {atom.name} has not been refused")
        case _:
            assert_never(atom)


def _marks(phi: Formula) -> Variables:
    """Return the marks that a formula sets."""
    return frozenset(
        psi.variable for psi in binding_subformulas(phi) if isinstance(psi, cel.In) and is_mark(psi.variable)
    )


def binding_subformulas(phi: Formula) -> Iterator[Formula]:
    """Return the sub-formulas of phi that can bind events: all except those in the right operand of UNLESS."""
    return subtrees(phi, lambda psi: (psi.left,) if isinstance(psi, cel.Unless) else children(psi))


def _mark_variables(phi: Formula, marks: Mapping[str, str]) -> Formula:
    """Return phi with IN added, so that the events of each of these variables are also bound to its mark."""
    match phi:
        case cel.EventAtom(R):
            return cel.In(phi, marks[R]) if R in marks else phi
        case cel.In(psi, A):
            below = replace(phi, phi=_mark_variables(psi, {B: mark for B, mark in marks.items() if B != A}))
            return cel.In(below, marks[A]) if A in marks else below
        case cel.Project(L, psi):
            kept = {A: mark for A, mark in marks.items() if A in L}
            return replace(phi, variables=L | frozenset(kept.values()), phi=_mark_variables(psi, kept))
        case cel.Unless(left, _):
            return replace(phi, left=_mark_variables(left, marks))
        case cel.Sequencing() | cel.Combination():
            return replace(phi, left=_mark_variables(phi.left, marks), right=_mark_variables(phi.right, marks))
        case cel.Narrowing() | cel.Iteration() | cel.PerKey():
            return replace(phi, phi=_mark_variables(phi.phi, marks))
        case cel.Derived():
            return _mark_variables(phi.expansion, marks)
        case _:
            assert_never(phi)


def _at_events(phi: Formula, event: Callable[[Formula], Formula], kept: Variables) -> Formula:
    """Return phi with `event` applied to each event type; PROJECT also keeps the variables `kept`."""
    match phi:
        case cel.EventAtom():
            return event(phi)
        case cel.Project(L, psi):
            return replace(phi, variables=L | kept, phi=_at_events(psi, event, kept))
        case cel.Unless(left, _):
            return replace(phi, left=_at_events(left, event, kept))
        case cel.Sequencing() | cel.Combination():
            return replace(phi, left=_at_events(phi.left, event, kept), right=_at_events(phi.right, event, kept))
        case cel.In() | cel.Narrowing() | cel.Iteration() | cel.PerKey():
            return replace(phi, phi=_at_events(phi.phi, event, kept))
        case cel.Derived():
            return _at_events(phi.expansion, event, kept)
        case _:
            assert_never(phi)


@dataclass(frozen=True)
class AutomatonPlan:
    """A formula that one automaton evaluates: its windows and keys, and the filters that are checked for each match."""

    scope: Scope
    checks: tuple[ResidualFilter, ...] = ()

    def automaton(self, output: Output, budget: Budget) -> Determinized:
        """Return the automaton of the formula without its windows and keys. Its marks show which filters to check.

        Unless output is "valuations", all variables of the query become one. Raises BudgetExceeded.
        """
        return lazily(self.scope.core, budget, None if output == "valuations" else _one_variable)


@dataclass(frozen=True)
class CheckedPlan:
    """The plan of a formula that one automaton cannot evaluate: find possible matches, and check each.

    candidates: the plan that finds the possible matches. refused: why one automaton cannot evaluate the formula.
    """

    phi: Formula
    candidates: AutomatonPlan
    refused: Unsupported


Collecting: TypeAlias = cel.AnyPreference | cel.Project | cel.In
"""The operators that are applied to all valuations over an interval: their results are not checked one by one."""


@dataclass(frozen=True)
class CollectedPlan:
    """The plan of an operator, such as MAX, that needs all valuations of its operand over an interval at once.

    operand: the plan of its operand. refused: why one automaton cannot evaluate it.
    """

    phi: Collecting
    operand: EvaluationPlan
    refused: Unsupported


@dataclass(frozen=True)
class PerKeyPlan:
    """PER KEY around a formula that one automaton cannot evaluate.

    operand: the plan of this formula. refused: why one automaton cannot evaluate it.
    """

    phi: cel.PerKey
    operand: EvaluationPlan
    refused: Unsupported


EvaluationPlan: TypeAlias = AutomatonPlan | CheckedPlan | CollectedPlan | PerKeyPlan
"""How automata evaluate a formula."""


def counted_in_scope(plan: EvaluationPlan) -> tuple[EventChain, Scope] | None:
    """Return (chain, scope) if the plan is LAST or NXT of a chain inside windows and keys; None for any other plan.

    scope: these windows and keys.
    """
    match plan:
        case CollectedPlan(phi, AutomatonPlan(scope, ())) if (chain := greatest_chain(phi, scope.core)) is not None:
            return chain, scope
        case CollectedPlan(phi, AutomatonPlan()):
            inside = strip_windows(phi.phi)
            if isinstance(inside, Scope) and (chain := distinct_chain(phi, inside.core)) is not None:
                return chain, inside
    return None


def evaluation_plan(phi: Formula, budget: Budget = Budget()) -> EvaluationPlan | Unsupported:
    """Return the plan by which automata evaluate the formula; Unsupported for registered predicates.

    Raises BudgetExceeded.
    """
    one_event_at_a_time = True  # as long as no filter, partition or window compares events
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter):
            for atom in cel.atoms(psi.condition):
                if isinstance(atom, cel.Named):
                    return Unsupported(
                        f"an automaton cannot evaluate a registered predicate such as {atom.name}; use "
                        "evaluator='denotational'",
                        atom.span,
                    )
                one_event_at_a_time = one_event_at_a_time and isinstance(atom, cel.Every)
        elif isinstance(psi, cel.Within | cel.PartitionBy | cel.PerKey):
            one_event_at_a_time = False
    if one_event_at_a_time:
        return AutomatonPlan(Scope(core=phi))
    with depth_limited(phi.span):
        return _plan_evaluation(phi, budget)


def required_plan(phi: Formula, budget: Budget = Budget()) -> EvaluationPlan:
    """Same as `evaluation_plan`, but raises Unsupported (for registered predicates) instead of returning it."""
    plan = evaluation_plan(phi, budget)
    if isinstance(plan, Unsupported):
        raise plan
    return plan


def _one_variable(A: CEA) -> CEA:
    """Return the automaton with all variables of the query, but not the marks, replaced by a single variable."""

    # Marks stay apart, because the checks of filters look at them; one variable makes fewer states.
    own = {L: frozenset(filter(is_mark, L)) for L in A.marks}
    return A.remarked({L: marks | (MARKED if len(marks) < len(L) else UNMARKED) for L, marks in own.items()})


def rebinds(phi: cel.In) -> bool:
    """Return whether the operand of IN may already bind events to the variable of IN, which then hides that binding."""
    return any(phi.variable in kind for kind in analyze_bindings(phi.phi).possible)


def _plan_evaluation(phi: Formula, budget: Budget) -> EvaluationPlan:
    carried = _automaton_plan(phi, budget)
    if isinstance(carried, AutomatonPlan):
        return carried
    match phi:
        case cel.Derived():
            return _plan_evaluation(phi.expansion, budget)
        case cel.Preference() | cel.Project():
            return CollectedPlan(phi, _plan_evaluation(phi.phi, budget), carried)
        case cel.In() if rebinds(phi):
            return CollectedPlan(phi, _plan_evaluation(phi.phi, budget), carried)
        case cel.PerKey():
            return PerKeyPlan(phi, _plan_evaluation(phi.phi, budget), carried)
        case (
            cel.EventAtom()
            | cel.In()
            | cel.Restriction()
            | cel.Iteration()
            | cel.Sequencing()
            | cel.Combination()
            | cel.Unless()
        ):
            return CheckedPlan(phi, _candidates(phi, budget), carried)
        case _:
            assert_never(phi)


def _automaton_plan(phi: Formula, budget: Budget) -> AutomatonPlan | Unsupported:
    """Return the plan without the filters that are checked later.

    If one automaton cannot evaluate the rest, return the reason.
    """
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
    """Return the plan of a formula that has all valuations of phi and perhaps others.

    If one automaton cannot evaluate the cross-event filters that remain in it, all of them are left out.
    """
    psi = _pointwise(phi)
    for candidate in (psi, _without_comparisons(psi)):
        found = _automaton_plan(candidate, budget)
        if isinstance(found, AutomatonPlan):
            return found
    raise InternalError(f"no automaton finds the candidates of {phi}")


def _pointwise(phi: Formula) -> Formula:
    """Over-approximate phi: drop operators that compare valuations of formulas with cross-event filters.

    In the result, a cross-event filter stands only where additional valuations of its operand can only add valuations
    of phi.
    """
    if compilable(phi):
        return phi
    match phi:
        case cel.PerKey(psi, names):
            found = _anywhere(psi)
            for a in names:
                found = cel.PartitionBy(found, a)
            return found
        case cel.Preference(psi):
            return _pointwise(psi)
        case cel.Unless(left, right):
            # Without its filters the right side would have more matches, and UNLESS would then lose valuations.
            return replace(phi, left=_pointwise(left)) if compilable(right) else _pointwise(left)
        case cel.Derived():
            return _pointwise(phi.expansion)
        case (
            cel.EventAtom()
            | cel.In()
            | cel.Project()
            | cel.Restriction()
            | cel.Iteration()
            | cel.Sequencing()
            | cel.Combination()
        ):
            return rebuilt(phi, [_pointwise(psi) for psi in children(phi)])
        case _:
            assert_never(phi)


def _anywhere(phi: Formula) -> Formula:
    """Return a formula that has, over the whole stream, all valuations that phi has over a part of it.

    Conditions that depend on the events outside a match are dropped: `:` becomes `;`, and START, STRICT, UNLESS,
    windows of events, NXT, LAST, MAX and PER KEY are left out.
    """
    match phi:
        case cel.EventAtom():
            return phi
        case cel.ContiguousSeq(left, right):
            return cel.Seq(_anywhere(left), _anywhere(right))
        case cel.ContiguousPlus(psi):
            return cel.Plus(_anywhere(psi))
        case cel.Unless(psi, _) | cel.Within(psi, cel.EventWindow()):
            return _anywhere(psi)
        case cel.Start(psi) | cel.Strict(psi) | cel.Preference(psi) | cel.PerKey(psi, _):
            return _anywhere(psi)
        case cel.Derived():
            return _anywhere(phi.expansion)
        case cel.In() | cel.Filter() | cel.Project() | cel.PartitionBy() | cel.Within() | cel.Plus():
            return rebuilt(phi, [_anywhere(phi.phi)])
        case cel.Seq() | cel.Combination():
            return rebuilt(phi, [_anywhere(psi) for psi in children(phi)])
        case _:
            assert_never(phi)


def _without_comparisons(phi: Formula) -> Formula:
    """Drop all cross-event filters from phi, to which _pointwise was applied. The result has every valuation of phi."""
    if compilable(phi):
        return phi
    below = [_without_comparisons(psi) for psi in children(phi)]
    return below[0] if compares(phi) else rebuilt(phi, below)
