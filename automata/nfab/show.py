"""An NFA^b as text: the line of its states, and the three parts of Figure 2, by the names of sase07."""

from __future__ import annotations

from itertools import pairwise
from typing import assert_never

from cerify.automata.nfab import model as nfab
from cerify.semantics.predicates import Either
from cerify.semantics.sase.show import show_condition

PARTS: tuple[tuple[str, tuple[nfab.Part, ...]], ...] = (
    ("relevant event definition", ("begin", "take")),
    ("event selection strategy", ("ignore",)),
    ("termination criteria", ("forced-stop", "auto-stop", "proceed")),
)
"""The rows of Figure 2(b), and which formulas stand in them."""


def show(A: nfab.NFAb) -> str:
    """The structure of the automaton and the conditions on its edges, as Figure 2 has them."""
    lines = [show_states(A)]
    for title, parts in PARTS:
        labels = [label for part in parts for label in A.theta if label.part == part]
        if labels:
            lines += ["", title, *(f"  {label.name} = {show_formula(A.theta[label])}" for label in labels)]
    return "\n".join(lines)


def show_states(A: nfab.NFAb) -> str:
    """The line of states; loops to take and to ignore follow the state that has them."""
    loops = {q: [e.move for e in A.edges if e.source == e.target == q] for q in A.states}
    forward = {e.source: e.move for e in A.edges if e.source != e.target}
    text = "→ " + _with_loops(A.initial, loops[A.initial])
    for q, following in pairwise(A.states):
        text += f" —{forward[q]}→ {_with_loops(following, loops[following])}"
    return text


def _with_loops(q: nfab.State, loops: list[nfab.Move]) -> str:
    return f"{q.name} ⟲{{{', '.join(loops)}}}" if loops else q.name


def show_formula(f: nfab.Formula) -> str:
    """A formula in the symbols of the paper."""
    match f:
        case nfab.Truth(value):
            return str(value)
        case nfab.Negation(inner):
            return f"¬{_inside(inner)}" if isinstance(inner, nfab.Theta) else f"¬({show_formula(inner)})"
        case nfab.Conjunction(parts):
            return " ∧ ".join(map(_inside, _flat(parts))) or "True"
        case nfab.Disjunction(parts):
            return " ∨ ".join(map(_inside, parts)) or "False"
        case nfab.Typed(state, type_):
            return f"{state.name}: {type_}"
        case nfab.Test(predicate, _):
            return show_condition(predicate)
        case nfab.Elapsed(state, first, window, closed, over):
            sign = {(False, False): "<", (False, True): "≥", (True, False): "≤", (True, True): ">"}[closed, over]
            return f"{state.name}.time - {first.name}.time {sign} {window.seconds}"
        case nfab.Theta(label):
            return label.name
        case _:
            assert_never(f)


def _flat(parts: tuple[nfab.Formula, ...]) -> list[nfab.Formula]:
    """The parts of conjunctions inside a conjunction, as if they were its own."""
    found: list[nfab.Formula] = []
    for part in parts:
        found += _flat(part.parts) if isinstance(part, nfab.Conjunction) else [part]
    return found


def _inside(f: nfab.Formula) -> str:
    """A formula as an operand: in parentheses where it has an operator of its own."""
    if isinstance(f, nfab.Conjunction | nfab.Disjunction) and len(f.parts) == 1:
        return _inside(f.parts[0])
    composed = isinstance(f, nfab.Conjunction | nfab.Disjunction) and len(f.parts) > 1
    disjunction = isinstance(f, nfab.Test) and isinstance(f.predicate, Either)
    return f"({show_formula(f)})" if composed or disjunction else show_formula(f)
