"""Automata with a match buffer, NFA^b: sase07, section 3.1 and appendix A.2.

A = (Q, E, θ, q1, F). Q is a line of singleton states s and pairs of states p[1], p[i], and a final state at its end.
Every edge carries a formula, its θ. A formula is data: what it says of the event that is looked at, and of those in the
buffer, is decided in run.py, and what it looks like on paper in show.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from cerify.semantics.predicates import Predicate
from cerify.semantics.sase.syntax import Window

Move = Literal["begin", "take", "ignore", "proceed"]
"""The four kinds of edges."""

Part = Literal["begin", "take", "ignore", "proceed", "forced-stop", "auto-stop"]
"""What has a formula: the edges, and the two conditions that termination is put together from (section 3.2)."""


@dataclass(frozen=True, slots=True)
class State:
    """A state: single s, first p[1] and more p[i] of a pair, or final F. It awaits events of the variable."""

    kind: Literal["single", "first", "more", "final"]
    variable: str = ""

    @property
    def name(self) -> str:
        """As Figure 2 writes it: b, a[1], a[i], F."""
        match self.kind:
            case "single":
                return self.variable
            case "first":
                return f"{self.variable}[1]"
            case "more":
                return f"{self.variable}[i]"
            case "final":
                return "F"


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a formula: θ_b_begin, θ_a[i]_forced-stop."""

    state: State
    part: Part

    @property
    def name(self) -> str:
        """As Figure 2 writes it."""
        return f"θ_{self.state.name}_{self.part}"


# --- formulas on edges ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Truth:
    """True, or False."""

    value: bool


@dataclass(frozen=True, slots=True)
class Negation:
    """¬ f."""

    inner: Formula


@dataclass(frozen=True, slots=True)
class Conjunction:
    """f ∧ g ∧ …; of no parts it is True."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """f ∨ g ∨ …; of no parts it is False."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Typed:
    """The event looked at, as the one that the state awaits, is of the type that PATTERN gives."""

    state: State
    type: str


@dataclass(frozen=True, slots=True)
class Test:
    """A predicate of WHERE, the event looked at being the one that the state awaits; of the buffer alone if None."""

    predicate: Predicate
    state: State | None


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The event looked at comes within the window of the first event of the buffer, or, if over, after it."""

    state: State
    first: State
    window: Window
    closed: bool
    over: bool


@dataclass(frozen=True, slots=True)
class Theta:
    """The formula of that name, written by its name."""

    label: Label


Formula: TypeAlias = Truth | Negation | Conjunction | Disjunction | Typed | Test | Elapsed | Theta

TRUE, FALSE = Truth(True), Truth(False)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge; its formula is the θ of its source and its kind."""

    source: State
    move: Move
    target: State

    @property
    def label(self) -> Label:
        """The name of its formula."""
        return Label(self.source, self.move)


@dataclass(frozen=True)
class NFAb:
    """A = (Q, E, θ, q1, F): the states in their order, q1 the first of them and F the last."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    theta: Mapping[Label, Formula]

    @property
    def initial(self) -> State:
        """q1."""
        return self.states[0]

    @property
    def final(self) -> State:
        """F."""
        return self.states[-1]


def line(states: tuple[State, ...]) -> tuple[Edge, ...]:
    """The edges that a line of states has (A.2): loops to ignore but on q1 and F, begin, take and proceed."""
    edges: list[Edge] = []
    for q, following in pairwise(states):
        if q.kind == "more":
            edges += [Edge(q, "take", q), Edge(q, "ignore", q), Edge(q, "proceed", following)]
        else:
            edges += [Edge(q, "begin", following)] + [Edge(q, "ignore", q)] * (q != states[0])
    return tuple(edges)
