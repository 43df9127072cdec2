"""The prioritized automaton of a row pattern as a diagram, its ways numbered in the order of preferment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern
from cerify.draw.diagram import Diagram, Edge, Section, State
from cerify.semantics.budget import Budget
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.show import show_expression

ORDERED = (
    "A way takes a row of the variable that it leads to, if its condition is true. Of the ways from a state on which a "
    "match can be completed the one with the smallest number is taken; on a dotted one the match is complete."
)


def diagram_of_clause(q: MatchRecognize, title: str, budget: Budget) -> Diagram:
    """The automaton of the pattern, and the conditions. Raises BudgetExceeded."""
    A = compile_pattern(q.pattern, budget)
    names = list(_names(A))
    states = (State("in", initial=True), *map(State, names), State("out", final=True))
    edges = [
        edge for source, ways in enumerate((A.first, *A.follow)) for edge in _edges(source, ways, len(A.places) + 1)
    ]
    lines = {
        "DEFINE": tuple(f"{one.variable} AS {show_expression(one.condition)}" for one in q.define),
        "left out of the output": tuple(name for name, excluded in zip(names, A.excluded, strict=True) if excluded),
    }
    table = tuple(Section(heading, its) for heading, its in lines.items() if its)
    return Diagram(title, states, tuple(edges), (ORDERED,), table)


def _names(A: Automaton) -> Iterator[str]:
    """The variable of each state, with a number where it has several."""
    times, seen = Counter(A.variables), Counter[str]()
    for variable in A.variables:
        seen[variable] += 1
        yield f"{variable}{seen[variable]}" if times[variable] > 1 else variable


def _edges(source: int, ways: Sequence[Way], end: int) -> Iterator[Edge]:
    for number, way in enumerate(ways, 1):
        where = " at the first row" * way.start + " after the last row" * way.end
        text = f"{number}{where}"
        if way.target == ACCEPT:
            yield Edge(source, end, (text,), "proceed")
        else:
            yield Edge(source, way.target + 1, (text,), "take")
