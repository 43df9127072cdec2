"""Comparing two automata on all streams, with the decider's search; a difference is a shortest stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.model import CEA
from cerify.equivalence.decide.cel import Separation, marked_nfa, separate, stream_of
from cerify.semantics.cel import syntax as cel
from cerify.semantics.events import Schema, Stream
from cerify.semantics.json_events import json_of_event
from cerify.semantics.predicates import OfType, Predicate
from proofs_tests.claims import cea_runs

LIMIT = 100_000
SCHEMA = Schema({"A": {"x": "int"}, "B": {"x": "int"}})
"""Closed: every event is an A or a B, as where a proof writes R1 OR ... OR Rr for all types."""


def algebra(*formulas: cel.Formula, of: Iterable[Predicate] = (), schema: Schema | None = None) -> Algebra:
    """The predicates of the formulas, and those given, with everything that they tell apart."""
    wanted = [P for phi in formulas for P in generators(phi)]
    return Algebra([*wanted, *of, OfType("A"), OfType("B")], schema=schema, solver=True)


def separated(A: CEA, B: CEA, over: Algebra, contained: bool = False) -> Stream | None:
    """A shortest stream at whose end the two have different valuations, or A has one that B has not; None if none."""
    automata = marked_nfa(A, B, over)
    found = separate(automata, LIMIT, contained)
    if not isinstance(found, Separation):
        return None
    S = stream_of(found, automata, over.schema)
    assert S is not None, "every type of these filters has an event"
    return S


def differ(phi: cel.Formula, A: CEA, schema: Schema | None = None) -> Stream | None:
    """A shortest stream at whose end the formula and the automaton have different valuations; None if none."""
    over = algebra(phi, of=A.predicates, schema=schema)
    return separated(compile_cel(phi, algebra=over), A, over)


def shown(S: Stream, **sides: CEA) -> dict[str, Any]:
    """The stream, and the valuations of each automaton at its last position, sorted."""
    return {
        "events": [json_of_event(event) for event in S],
        "at": len(S) - 1,
        **{name: sorted(sorted(mu) for mu in cea_runs.valuations(A, S, len(S) - 1)) for name, A in sides.items()},
    }
