"""Filters that compare events removed from a formula, to be checked on the matches of what is left, which is unary.

An automaton looks at one event at a time, so such a filter is checked on the matches that the automaton finds. For
this the events that the filter's variables bind get *marks*, extra variables that only the filter uses: a mark is set
where the variable is bound inside the filter's operand, and PROJECT keeps it with the variable. A filter in an
iteration is checked for each round; so rounds alternate between two marks (their colours), and a new round begins where
the colour changes. The formula that is left has the valuations of the original one plus marks, and more: those that
fail a filter.

This is exact where the rest of the formula depends on each filtered valuation alone. Where it compares them with each
other (NXT, LAST, MAX), or depends on whether there is any (the right of UNLESS), the answer is Unsupported, and
membership.py checks the formula. See docs/decisions/correlated.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias, assert_never

from cerify.automata.cea.compile import ValueWindow, compilable, correlated
from cerify.automata.evaluate.binding_analysis import Variables, analyze_bindings
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.predicates import Attribute, Comparison, mentions
from cerify.semantics.trees import children, subtrees

MARK = "◦"  # what the name of a mark begins with, and no name in a query

Colours: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class ResidualFilter:
    """A filter to be checked, or a window. marks: the mark of each variable; a window has one, of all its events.

    rounds: the colours of the iterations around it, from the outermost to the innermost.
    """

    condition: Condition | ValueWindow
    marks: Mapping[str, str]
    rounds: tuple[Colours, ...] = ()

    @classmethod
    def of(
        cls, condition: Condition, mark: Callable[[str], str] = lambda A: A, rounds: tuple[Colours, ...] = ()
    ) -> ResidualFilter:
        """The filter of a condition, given the mark of each variable: itself, if it is checked on whole valuations."""
        variables = dict.fromkeys(A for atom in cel.atoms(condition) for A in _variables(atom))
        return cls(condition, {A: mark(A) for A in variables}, rounds)


@dataclass(frozen=True)
class Decorrelated:
    """A formula without filters that compare events, and these filters."""

    phi: Formula
    checks: tuple[ResidualFilter, ...]


def decorrelated(phi: Formula, budget: Budget = Budget()) -> Decorrelated | Unsupported:
    """The formula without its filters that compare events, or why they cannot be removed. Raises BudgetExceeded."""
    with depth_limited(phi.span):
        decorrelator = _Decorrelator(budget)
        psi = decorrelator.outer(phi)
        return decorrelator.refused or Decorrelated(psi, tuple(decorrelator.checks))


def is_mark(variable: str) -> bool:
    """Whether it is none of the query's own variables."""
    return variable.startswith(MARK)


class _Decorrelator:
    """Removes the filters, bottom up, and numbers them and the iterations.

    refused: the first reason why a filter cannot be removed; what the methods return is of no use then.
    """

    def __init__(self, budget: Budget) -> None:
        self.checks: list[ResidualFilter] = []
        self.refused: Unsupported | None = None
        self._budget = budget
        self._iterations = 0

    def outer(self, phi: Formula) -> Formula:
        """phi, if nothing stands around it but operators that `strip_windows` passes."""
        match phi:
            case cel.PartitionBy(psi, a):
                return cel.PartitionBy(self._whole(self.outer(psi), phi), a, span=phi.span)
            case cel.In() | cel.Start() | cel.Strict() | cel.Within():
                return replace(phi, phi=self._whole(self.outer(phi.phi), phi))
            case cel.Filter(psi, condition):
                return self._filtered(self.outer(psi), condition, ())
            case cel.Unless(left, _):
                self._require_unary(phi.right, "UNLESS depends on whether its right side has any match")
                return replace(phi, left=self.outer(left))
            case (
                cel.Event() | cel.Project() | cel.Or() | cel.And() | cel.Seq() | cel.ContiguousSeq() | cel.All()
                | cel.Plus() | cel.ContiguousPlus() | cel.Next() | cel.Last() | cel.Max() | cel.Derived()
            ):  # fmt: skip
                return self._taken(phi, ())
            case _:
                assert_never(phi)

    def _taken(self, phi: Formula, rounds: tuple[Colours, ...]) -> Formula:
        if self.refused or compilable(phi):
            return phi
        match phi:
            case cel.Event():
                return phi
            case cel.Filter(psi, condition):
                return self._filtered(self._taken(psi, rounds), condition, rounds)
            case cel.PartitionBy(_, a):
                return self._checked(phi, _equal(a), rounds)
            case cel.Within(psi, window) if isinstance(window, ValueWindow):
                if not analyze_bindings(psi).binds:
                    return self._refuse("what this window is around may bind nothing, and is then not in it", phi)
                return self._checked(phi, window, rounds)
            case cel.Project(L, psi):
                below = self._taken(psi, rounds)
                return cel.Project(L | _marks(below), below, span=phi.span)
            case cel.In() | cel.Start() | cel.Strict() | cel.Within():
                return replace(phi, phi=self._whole(self._taken(phi.phi, rounds), phi))
            case cel.Seq() | cel.Or() | cel.All():
                return replace(phi, left=self._taken(phi.left, rounds), right=self._taken(phi.right, rounds))
            case cel.ContiguousSeq():
                left, right = self._taken(phi.left, rounds), self._taken(phi.right, rounds)
                return replace(phi, left=self._whole(left, phi), right=self._whole(right, phi))
            case cel.Plus():
                return self._iterated(phi, rounds)
            case cel.ContiguousPlus():
                return self._iterated(phi, rounds)
            case cel.And():
                return self._joined(phi, rounds)
            case cel.Unless(left, right):
                self._require_unary(right, "UNLESS depends on whether its right side has any match")
                return replace(phi, left=self._taken(left, rounds))
            case cel.Next() | cel.Last() | cel.Max():
                return self._refuse(
                    "NXT, LAST and MAX compare the matches of this formula with each other, so it would have to be "
                    "filtered across events before",
                    phi,
                )
            case cel.Derived():
                return self._taken(phi.expansion, rounds)
            case _:
                assert_never(phi)

    def _filtered(self, psi: Formula, condition: Condition, rounds: tuple[Colours, ...]) -> Formula:
        match condition:
            case cel.Conjunction(left, right):
                return self._filtered(self._filtered(psi, left, rounds), right, rounds)
            case _ if not correlated(condition):
                return cel.Filter(psi, condition)
            case _:
                check = ResidualFilter.of(condition, self._mark, rounds)
                self.checks.append(check)
                return _marked(psi, check.marks)

    def _checked(
        self, phi: cel.PartitionBy | cel.Within, condition: Condition | ValueWindow, rounds: tuple[Colours, ...]
    ) -> Formula:
        """The operand with a mark on all its events, on which the condition is checked."""
        W = self._mark("")
        self.checks.append(ResidualFilter(condition, {"": W}, rounds))
        return cel.In(self._whole(self._taken(phi.phi, rounds), phi), W)

    def _mark(self, A: str) -> str:
        return f"{MARK}{len(self.checks)}.{A}"

    def _iterated(self, phi: cel.Plus | cel.ContiguousPlus, rounds: tuple[Colours, ...]) -> Formula:
        """Rounds of two colours in turn: one, or one and two again and again, or these and one more."""
        colours = f"{MARK}+{self._iterations}", f"{MARK}-{self._iterations}"
        self._iterations += 1
        psi = self._taken(phi.phi, (*rounds, colours))
        if isinstance(phi, cel.ContiguousPlus):
            self._whole(psi, phi)
        elif not self.refused and not analyze_bindings(psi).binds:
            return self._refuse(
                "a round of this iteration may bind nothing, so that rounds cannot be distinguished", phi
            )
        seq = cel.Seq if isinstance(phi, cel.Plus) else cel.ContiguousSeq
        one, two = (cel.In(psi, colour) for colour in colours)
        pairs = type(phi)(seq(one, two))
        return cel.Or(cel.Or(one, pairs), seq(pairs, one))

    def _joined(self, phi: cel.And, rounds: tuple[Colours, ...]) -> Formula:
        """Both sides have the same valuation; so what one side marks, the other may mark in any way."""
        left, right = (self._whole(self._taken(psi, rounds), phi) for psi in (phi.left, phi.right))
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
                return self._refuse("PROJECT drops events on a side of AND whose other side compares events", phi)
        freed = _at_events(psi, lambda R: _any_of([reduce(cel.In, choice, R) for choice in choices]), marks)
        if cel.size(freed) > self._budget.states:
            raise BudgetExceeded(f"AND takes more than {self._budget.states} nodes; compare fewer events", phi.span)
        return freed

    def _whole(self, psi: Formula, around: Formula) -> Formula:
        """psi, if each event that it marks is one that it binds: the operator around it depends on the support."""
        if not self.refused and any(all(map(is_mark, kind)) for kind in analyze_bindings(psi).possible):
            self._refuse(
                "a PROJECT in this formula drops events that a filter inside compares; the operator around it depends "
                "on the events that are left",
                around,
            )
        return psi

    def _require_unary(self, psi: Formula, why: str) -> None:
        if not compilable(psi):
            self._refuse(f"{why}, so this formula would have to be filtered across events before", psi)

    def _refuse(self, why: str, phi: Formula) -> Formula:
        self.refused = self.refused or Unsupported(why, phi.span)
        return phi


def _equal(a: str) -> Condition:
    """All events of a variable agree on an attribute: W.a = W.a (section 4)."""
    return cel.Correlated(Comparison("=", Attribute(a, ""), Attribute(a, "")))


def _variables(atom: cel.Atom) -> Iterable[str]:
    match atom:
        case cel.Every(A, _):
            return (A,)
        case cel.Correlated(P):
            return (m.variable or "" for m in mentions(P))
        case cel.Named():
            raise AssertionError("a formula with a registered predicate is refused before")
        case _:
            assert_never(atom)


def _marks(phi: Formula) -> Variables:
    """The marks that a formula sets."""
    return frozenset(
        psi.variable for psi in binding_subformulas(phi) if isinstance(psi, cel.In) and is_mark(psi.variable)
    )


def binding_subformulas(phi: Formula) -> Iterator[Formula]:
    """All formulas in phi that bind something of its valuations: not what is on the right of UNLESS."""
    return subtrees(phi, lambda psi: (psi.left,) if isinstance(psi, cel.Unless) else children(psi))


def _marked(phi: Formula, marks: Mapping[str, str]) -> Formula:
    """phi where the events that a variable binds have the variable's mark too."""
    match phi:
        case cel.Event(R):
            return cel.In(phi, marks[R]) if R in marks else phi
        case cel.In(psi, A):
            below = replace(phi, phi=_marked(psi, {B: mark for B, mark in marks.items() if B != A}))
            return cel.In(below, marks[A]) if A in marks else below
        case cel.Project(L, psi):
            kept = {A: mark for A, mark in marks.items() if A in L}
            return replace(phi, variables=L | frozenset(kept.values()), phi=_marked(psi, kept))
        case cel.Unless(left, _):
            return replace(phi, left=_marked(left, marks))
        case cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.And() | cel.All():
            return replace(phi, left=_marked(phi.left, marks), right=_marked(phi.right, marks))
        case (
            cel.Filter() | cel.Plus() | cel.ContiguousPlus() | cel.Start()
            | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Within() | cel.PartitionBy()
        ):  # fmt: skip
            return replace(phi, phi=_marked(phi.phi, marks))
        case cel.Derived():
            return _marked(phi.expansion, marks)
        case _:
            assert_never(phi)


def _at_events(phi: Formula, event: Callable[[Formula], Formula], kept: Variables) -> Formula:
    """phi with other formulas for its event types, whose variables PROJECT keeps."""
    match phi:
        case cel.Event():
            return event(phi)
        case cel.Project(L, psi):
            return replace(phi, variables=L | kept, phi=_at_events(psi, event, kept))
        case cel.Unless(left, _):
            return replace(phi, left=_at_events(left, event, kept))
        case cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.And() | cel.All():
            return replace(phi, left=_at_events(phi.left, event, kept), right=_at_events(phi.right, event, kept))
        case (
            cel.Filter() | cel.Plus() | cel.ContiguousPlus() | cel.Start()
            | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.In() | cel.Within() | cel.PartitionBy()
        ):  # fmt: skip
            return replace(phi, phi=_at_events(phi.phi, event, kept))
        case cel.Derived():
            return _at_events(phi.expansion, event, kept)
        case _:
            assert_never(phi)


def _any_of(phis: list[Formula]) -> Formula:
    return reduce(cel.Or, phis)
