"""The *-semantics of complex event automata: tods21, Definition 8.7.

A *-run makes marking transitions only, and skips any events before each of them; it ends with its last mark. Here the
automaton is turned into one whose ordinary runs are the *-runs.
"""

from __future__ import annotations

from cerify.automata.cea.model import CEA, UNMARKED, Transition
from cerify.automata.cea.trim import trim
from cerify.semantics.predicates import Anything


def star(A: CEA) -> CEA:
    """A CEA whose valuations are those of A under the *-semantics."""
    end = A.states
    marking = [t for t in A.transitions if t.marks]
    waiting = [Transition(q, Anything(), UNMARKED, q) for q in range(A.states)]
    ending = [t._replace(target=end) for t in marking if t.target in A.final]
    return trim(CEA(A.states + 1, (*waiting, *marking, *ending), A.initial, frozenset({end})))
