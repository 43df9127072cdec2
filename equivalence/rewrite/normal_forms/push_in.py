"""IN pushed to the event types: tods21, appendix B (proof of Proposition 8.12), for all of CEL.

`phi IN A` leaves the support as it is, and what variables other than A hold. So it goes below every operator that
looks at no more than supports, and to both sides where valuations are united. Three operators look at what A held
before. For a filter the paper renames A below to a fresh variable; the same helps AND, which compares valuations, and
PROJECT. PROJECT, too, decides what is bound: only events that a kept variable holds. Here the fresh variables are
hidden again by a PROJECT, so that the valuations are the same, where the paper is content with the same complex
events.
"""

from __future__ import annotations

from itertools import count
from typing import assert_never

from cerify.automata.evaluate.decorrelation import binding_subformulas
from cerify.equivalence.rewrite.normal_forms.limit import NODES, check_nodes
from cerify.equivalence.rewrite.normal_forms.variables import Variables, bindable, spoken_of
from cerify.equivalence.rewrite.trees import names
from cerify.semantics.budget import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicates import Attribute, mapped_predicate
from cerify.semantics.trees import children, rebuilt


def push_in(phi: cel.Formula, nodes: int = NODES) -> cel.Formula:
    """phi with every IN on an event type or on another such IN: the same valuations. Raises BudgetExceeded."""
    with depth_limited(phi.span):
        phi = cel.expanded(phi)
        pushing = _Pushing(phi, nodes)
        return pushing.hidden(pushing.pushed(phi))


class _Pushing:
    """One rewriting, and the fresh variables that it has made."""

    def __init__(self, phi: cel.Formula, nodes: int) -> None:
        self.nodes = nodes
        self.taken = set(names(phi))
        self.fresh: set[str] = set()

    def pushed(self, phi: cel.Formula) -> cel.Formula:
        """phi with every IN on an event type; its valuations bind fresh variables too."""
        below = [self.pushed(psi) for psi in children(phi)]
        match phi:
            case cel.In(_, A):
                (psi,) = below
                if _looks_at(psi, A):
                    psi = renamed(psi, A, self.variable_like(A))
                psi = bound(psi, A, None)
            case cel.And():
                psi = cel.And(*map(self.hidden, below))
            case (
                cel.Event() | cel.Filter() | cel.Project() | cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.All()
                | cel.Unless() | cel.Plus() | cel.ContiguousPlus() | cel.Start() | cel.Strict() | cel.Next()
                | cel.Last() | cel.Max() | cel.Within() | cel.PartitionBy() | cel.Derived()
            ):  # fmt: skip
                psi = rebuilt(phi, below)
            case _:
                assert_never(phi)
        check_nodes(cel.size(psi), self.nodes, phi)
        return psi

    def hidden(self, phi: cel.Formula) -> cel.Formula:
        """phi without the fresh variables in its valuations."""
        L = bindable(phi)
        return phi if L.isdisjoint(self.fresh) else cel.Project(L - self.fresh, phi)

    def variable_like(self, A: str) -> str:
        """A name that is used nowhere yet."""
        name = next(name for name in (f"{A}_{n}" for n in count(1)) if name not in self.taken)
        self.taken.add(name)
        self.fresh.add(name)
        return name


def bound(phi: cel.Formula, A: str, L: Variables | None) -> cel.Formula:
    """phi IN A for a phi that binds A nowhere but as an event type, if at all; with L, A holds only what L holds."""
    match phi:
        case cel.Event() | cel.In():
            here = bindable(phi)
            if L is not None and here.isdisjoint(L):
                return cel.Project(here - {A}, phi) if A in here else phi  # the event keeps its other names
            return phi if A in here else cel.In(phi, A)
        case cel.Project(kept, psi):
            return cel.Project(kept | {A}, bound(psi, A, kept if L is None else kept & L))
        case cel.Unless(left, right):
            return cel.Unless(bound(left, A, L), right)
        case (
            cel.Filter() | cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.And() | cel.All() | cel.Plus()
            | cel.ContiguousPlus() | cel.Start() | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Within()
            | cel.PartitionBy() | cel.Derived()
        ):  # fmt: skip
            return rebuilt(phi, [bound(psi, A, L) for psi in children(phi)])
        case _:
            assert_never(phi)


def renamed(phi: cel.Formula, A: str, B: str) -> cel.Formula:
    """phi with B for A; the event type A goes on binding A too, and what the right of UNLESS binds, nobody sees."""
    match phi:
        case cel.Event(R):
            return cel.In(phi, B) if R == A else phi
        case cel.In(psi, C):
            return cel.In(renamed(psi, A, B), B if C == A else C)
        case cel.Filter(psi, condition):
            return cel.Filter(renamed(psi, A, B), _renamed_in(condition, A, B))
        case cel.Project(L, psi):
            return cel.Project(L - {A} | {B} if A in L else L, renamed(psi, A, B))
        case cel.Unless(left, right):
            return cel.Unless(renamed(left, A, B), right)
        case (
            cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.And() | cel.All() | cel.Plus() | cel.ContiguousPlus()
            | cel.Start() | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Within() | cel.PartitionBy()
            | cel.Derived()
        ):  # fmt: skip
            return rebuilt(phi, [renamed(psi, A, B) for psi in children(phi)])
        case _:
            assert_never(phi)


def _renamed_in(condition: cel.Condition, A: str, B: str) -> cel.Condition:
    match condition:
        case cel.Every(C, p):
            return cel.Every(B if C == A else C, p)
        case cel.Correlated(p):
            return cel.Correlated(
                mapped_predicate(p, lambda a: Attribute(a.name, B if a.variable == A else a.variable))
            )
        case cel.Named(name, variables):
            return cel.Named(name, tuple(B if C == A else C for C in variables))
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            return type(condition)(_renamed_in(left, A, B), _renamed_in(right, A, B))
        case _:
            assert_never(condition)


def _looks_at(phi: cel.Formula, A: str) -> bool:
    """Whether it matters to phi what A holds inside, or could."""
    return any(
        (isinstance(psi, cel.Filter) and A in spoken_of(psi.condition))
        or (isinstance(psi, cel.And | cel.Project) and A in names(psi))
        for psi in binding_subformulas(phi)
    )
