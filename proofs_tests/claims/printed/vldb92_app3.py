"""Spawned machines as vldb92, appendix 3, prints them: a table of machines, each stepped with each event."""

from __future__ import annotations

from cerify.automata.dfa.model import DFA, Names
from cerify.automata.dfa.parametric import MARK, Symbolic
from cerify.automata.dfa.scopes import kinded
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import satisfied

NOBODY: Names = frozenset()


def spawned(plan: Symbolic, S: Stream) -> frozenset[int]:
    """The events at which a machine accepts whose variables all have values."""
    found: set[int] = set()
    machines = {(None,) * len(plan.variables): (0,) * len(plan.automata)}
    for e, event in enumerate(S):
        told = [(X, kinded(v)) for X, name in plan.sources.get(event.type, ()) if (v := event.get(name)) is not None]
        for key, states in list(machines.items()):  # the parents, which do not know of one another's children yet
            for X, v in told:
                if key[X] is None:
                    machines.setdefault((*key[:X], v, *key[X + 1 :]), states)
        for key, states in machines.items():
            known = {MARK + plan.variables[X]: v[1] for X, v in enumerate(key) if v is not None}
            machines[key] = tuple(
                _step(A, q, Event(event.type, {**event.attributes, **known}))
                for q, A in zip(states, plan.automata.values(), strict=True)
            )
            way = tuple(satisfied(P, lambda X, known=known: known.get(X.name)) for P in plan.constraints)
            k = list(plan.automata).index(way)
            if None not in key and machines[key][k] in plan.automata[way].accepting:
                found.add(e)
    return frozenset(found)


def _step(A: DFA, q: int, event: Event) -> int:
    return A.step(q, A.alphabet.type_of(event), NOBODY)
