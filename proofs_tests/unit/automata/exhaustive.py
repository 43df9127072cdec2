"""All formulas to a size, compiled, against the denotational interpreter on all streams to a length.

Between them the spaces have every operator and strategy, several variables for one event, formulas that mark nothing,
operands that are anchored, and operands that are single events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import Determinized
from cerify.automata.evaluate.tables import classify
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Event, Stream, Valuation
from proofs_tests.claims.search import BINARY, ONE_EVENT, UNARY, Space

Valuations = frozenset[Valuation]
OPERATORS = tuple(name for name in (*UNARY, *BINARY) if name != "correlated")
TWO = (Event("A", {"x": 0}), Event("B", {"x": 0}))

EVERYTHING = Space(OPERATORS, nodes=4, events=4)
"""Every operator over every other, with filters on the value of an A."""

ANCHORED = Space(("start", "project", "seq", "cseq", "all", "unless", "plus", "nxt"), nodes=5, events=4, alphabet=TWO)
"""Operands that begin or end where nothing is marked, or that mark nothing at all."""

SEVERAL = Space(("in", "seq", "or", "nxt", "last", "max", "strict"), nodes=6, events=4, alphabet=ONE_EVENT)
"""One event marked in several ways, and what the strategies make of it."""

SPACES = {"everything": EVERYTHING, "anchored": ANCHORED, "several": SEVERAL}
QUICK = {
    "everything": replace(EVERYTHING, nodes=3, events=3),
    "anchored": replace(ANCHORED, nodes=4, events=3),
    "several": replace(SEVERAL, nodes=5, events=3),
}


@dataclass(frozen=True)
class Wrong:
    """A formula and a stream on which the automaton departs from the meaning, at the last position."""

    query: str
    stream: tuple[Event, ...]
    expected: Valuations
    found: Valuations


def wrong(phi: cel.Formula, space: Space) -> Wrong | None:
    """A shortest stream of the space on which the automaton of phi departs from its meaning."""
    A = compile_cel(phi)
    automaton = Determinized(A)
    types = classify(A.predicates, Stream(space.alphabet))
    for length in range(1, space.events + 1):
        for chosen in product(range(len(space.alphabet)), repeat=length):
            S = Stream(space.alphabet[e] for e in chosen)
            expected = Interpreter(S).meaning(phi, 0, length - 1)
            runs: dict[int, set[Valuation]] = {0: {frozenset()}}
            for i, e in enumerate(chosen):
                after: dict[int, set[Valuation]] = {}
                for q, mus in runs.items():
                    for marks, p in automaton.step(q, types[e]):
                        after.setdefault(p, set()).update(mu | {(A_, i) for A_ in marks} for mu in mus)
                runs = after
            found = frozenset(mu for q, mus in runs.items() if automaton.final[q] for mu in mus)
            if found != expected:
                return Wrong(show(phi), S.events, expected, found)
    return None
