"""Automata with a match buffer, NFA^b: sase07, section 3.1 and appendix A.2.

A = (Q, E, θ, q1, F). Q is a line of singleton states s and pairs of states p[1], p[i], with a final state at its end.
Every edge carries a formula, its θ. A formula is data: moves.py evaluates it on the current event and the buffer, and
`show_formula` writes it in the notation of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias, assert_never

from cerify.semantics.predicates import Either, Predicate
from cerify.semantics.sase.syntax import SaseWindow, show_condition

Move = Literal["begin", "take", "ignore", "proceed"]
"""The four kinds of edges."""

Part = Literal["begin", "take", "ignore", "proceed", "forced-stop", "auto-stop"]
"""The parts that have a formula: the edges, and the two conditions that determine termination (section 3.2)."""


@dataclass(frozen=True, slots=True)
class NfabState:
    """A state that waits for events of its variable: a single s, p[1] or p[i] of a Kleene plus, or the final F."""

    kind: Literal["single", "first", "more", "final"]
    variable: str = ""

    @property
    def name(self) -> str:
        """Return the name of the state in the notation of sase07, Figure 2: b, a[1], a[i], F."""
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
class NfabLabel:
    """The name of a formula by its state and edge, such as θ_b_begin or θ_a[i]_forced-stop."""

    state: NfabState
    part: Part

    @property
    def name(self) -> str:
        """Return the name of the label in the notation of sase07, Figure 2."""
        return f"θ_{self.state.name}_{self.part}"


# --- formulas on edges ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Truth:
    """The formula True, or False."""

    value: bool


@dataclass(frozen=True, slots=True)
class Negation:
    """The formula ¬ f."""

    inner: Formula


@dataclass(frozen=True, slots=True)
class NfabConjunction:
    """The formula f ∧ g ∧ …; without parts it is True."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class NfabDisjunction:
    """The formula f ∨ g ∨ …; without parts it is False."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class TypeTest:
    """Tests whether the current event has the type of the state's component."""

    state: NfabState
    type: str


@dataclass(frozen=True, slots=True)
class NfabTest:
    """Tests a predicate of WHERE on the buffer and the current event.

    The current event stands for the event that `state` waits for. If `state` is None, only the buffer is tested.
    """

    predicate: Predicate
    state: NfabState | None


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Tests whether the current event is inside the window that begins with the first event; with `over`, after it.

    closed: whether the window includes an event exactly at its end.
    """

    state: NfabState
    first: NfabState
    window: SaseWindow
    closed: bool
    over: bool


@dataclass(frozen=True, slots=True)
class Theta:
    """Refers to another formula by its name."""

    label: NfabLabel


Formula: TypeAlias = Truth | Negation | NfabConjunction | NfabDisjunction | TypeTest | NfabTest | Elapsed | Theta

TRUE, FALSE = Truth(True), Truth(False)


@dataclass(frozen=True, slots=True)
class NfabEdge:
    """An edge of the automaton. The paper names its formula by the source and the move, as in θ_b_begin."""

    source: NfabState
    move: Move
    target: NfabState

    @property
    def label(self) -> NfabLabel:
        """Return the name of the edge's formula."""
        return NfabLabel(self.source, self.move)


@dataclass(frozen=True)
class NFAb:
    """The NFA^b of a SASE+ query: A = (Q, E, θ, q1, F) (sase07, section 3). states: in order, from q1 to F."""

    states: tuple[NfabState, ...]
    edges: tuple[NfabEdge, ...]
    theta: Mapping[NfabLabel, Formula]

    @property
    def initial(self) -> NfabState:
        """Return the first state, q1."""
        return self.states[0]

    @property
    def final(self) -> NfabState:
        """Return the final state, F."""
        return self.states[-1]


def line(states: tuple[NfabState, ...]) -> tuple[NfabEdge, ...]:
    """Return the edges of states in a line (sase07, A.2): begin, take and proceed, and ignore except on q1 and F."""
    edges: list[NfabEdge] = []
    for q, following in pairwise(states):
        if q.kind == "more":
            edges += [NfabEdge(q, "take", q), NfabEdge(q, "ignore", q), NfabEdge(q, "proceed", following)]
        else:
            # q1 has no ignore edge: a run begins with its first event, so there is nothing before it to ignore.
            edges += [NfabEdge(q, "begin", following)] + [NfabEdge(q, "ignore", q)] * (q != states[0])
    return tuple(edges)


# ---------------------------------------------------------------------------------------------------------------------
# An NFA^b as text: the line of its states, and the three parts of Figure 2, by the names of sase07.

PARTS: tuple[tuple[str, tuple[Part, ...]], ...] = (
    ("relevant event definition", ("begin", "take")),
    ("event selection strategy", ("ignore",)),
    ("termination criteria", ("forced-stop", "auto-stop", "proceed")),
)
"""The rows of Figure 2(b), and the formulas in each row."""


def show(A: NFAb) -> str:
    """Return the structure of the automaton and the conditions on its edges, in the form of sase07, Figure 2."""
    lines = [show_states(A)]
    for title, parts in PARTS:
        labels = [label for part in parts for label in A.theta if label.part == part]
        if labels:
            lines += ["", title, *(f"  {label.name} = {show_formula(A.theta[label])}" for label in labels)]
    return "\n".join(lines)


def show_states(A: NFAb) -> str:
    """Return the line of states; the loops take and ignore of a state are written after it."""
    loops = {q: [e.move for e in A.edges if e.source == e.target == q] for q in A.states}
    forward = {e.source: e.move for e in A.edges if e.source != e.target}
    text = "→ " + _with_loops(A.initial, loops[A.initial])
    for q, following in pairwise(A.states):
        text += f" —{forward[q]}→ {_with_loops(following, loops[following])}"
    return text


def _with_loops(q: NfabState, loops: list[Move]) -> str:
    return f"{q.name} ⟲{{{', '.join(loops)}}}" if loops else q.name


def show_formula(f: Formula) -> str:
    """Return a formula in the symbols of the paper."""
    match f:
        case Truth(value):
            return str(value)
        case Negation(inner):
            return f"¬{_inside(inner)}" if isinstance(inner, Theta) else f"¬({show_formula(inner)})"
        case NfabConjunction(parts):
            return " ∧ ".join(map(_inside, _flat(parts))) or "True"
        case NfabDisjunction(parts):
            return " ∨ ".join(map(_inside, parts)) or "False"
        case TypeTest(state, type_):
            return f"{state.name}: {type_}"
        case NfabTest(predicate, _):
            return show_condition(predicate)
        case Elapsed(state, first, window, closed, over):
            # The negation of < is ≥, and that of ≤ is >: a closed window is over only after its width.
            sign = {(False, False): "<", (False, True): "≥", (True, False): "≤", (True, True): ">"}[closed, over]
            return f"{state.name}.time - {first.name}.time {sign} {window.seconds}"
        case Theta(label):
            return label.name
        case _:
            assert_never(f)


def _flat(parts: tuple[Formula, ...]) -> list[Formula]:
    """Return the parts of a conjunction, with nested conjunctions taken apart."""
    found: list[Formula] = []
    for part in parts:
        found += _flat(part.parts) if isinstance(part, NfabConjunction) else [part]
    return found


def _inside(f: Formula) -> str:
    """Return a formula as an operand: in parentheses if it has an operator."""
    if isinstance(f, NfabConjunction | NfabDisjunction) and len(f.parts) == 1:
        return _inside(f.parts[0])
    composed = isinstance(f, NfabConjunction | NfabDisjunction) and len(f.parts) > 1
    disjunction = isinstance(f, NfabTest) and isinstance(f.predicate, Either)
    return f"({show_formula(f)})" if composed or disjunction else show_formula(f)
