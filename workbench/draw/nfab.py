"""The automaton of a query of SASE+ as Figure 2 of sase07 prints that of Query 3: states, and a table of formulas."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.nfab.compile import compile_absence, compile_query
from cerify.automata.nfab.model import NFAb
from cerify.automata.nfab.show import PARTS, show_formula
from cerify.draw.diagram import Diagram, Edge, Section, State
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.show import show_component
from cerify.semantics.sase.streams import blocks_of, queries_of

NAMED = (
    "The formula of an edge has the name of its state and kind. A match is what is in the buffer when a run is in F."
)
ABSENT = "A match stands if no run of a negated component's automaton is in its scope."


def diagram_of_query(q: sase.Tree, title: str) -> Diagram:
    """All automata of a query: one for each block, and one for each negated component."""
    states: list[State] = []
    edges: list[Edge] = []
    sections: list[Section] = []
    automata = list(_automata(q))
    for name, A in automata:
        place = {state: len(states) + i for i, state in enumerate(A.states)}
        states += [State(state.name, state == A.initial, state == A.final) for state in A.states]
        edges += [Edge(place[e.source], place[e.target], (e.label.name.rpartition("_")[2],), e.move) for e in A.edges]
        if len(automata) > 1:
            sections.append(Section(name))
        sections += table(A)
    notes = (NAMED, ABSENT) if any(name.startswith("~") for name, _ in automata) else (NAMED,)
    return Diagram(title, tuple(states), tuple(edges), notes, tuple(sections))


def table(A: NFAb) -> Iterator[Section]:
    """Figure 2(b): the formulas by what they are for."""
    for title, parts in PARTS:
        labels = [label for part in parts for label in A.theta if label.part == part]
        if labels:
            yield Section(title, tuple(f"{label.name} = {show_formula(A.theta[label])}" for label in labels))


def _automata(q: sase.Tree) -> Iterator[tuple[str, NFAb]]:
    for block in (block for query in queries_of(q) for block in blocks_of(query)):
        yield f"SEQ({', '.join(map(show_component, block.pattern))})", compile_query(block)
        for k in block.pattern:
            if k.negated:
                yield show_component(k), compile_absence(block, k)
