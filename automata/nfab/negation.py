"""Negated components: a small automaton of their own, run between the events of a match.

Section 3 leaves negation out of the automaton. Here a match of the other components stands if no run of the negated
component's own pattern is in its scope: strictly between the neighbours' events; before the first component from where
the window begins that ends with the match, or from the beginning of the stream; after the last to where the window
ends that begins with the match. How far its strategy counts: docs/decisions/sase.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from cerify.automata.nfab.compile import compile_absence
from cerify.automata.nfab.moves import Configuration, Runs
from cerify.semantics.events import Bindings
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase


def present(q: sase.Query, k: sase.Component, M: Bindings, runs: Runs) -> bool:
    """Whether the negated component k finds something between the events of the match, or may yet."""
    scope = scope_of(q, k, M, runs)
    if not scope:
        return scope is None
    own = Runs(compile_absence(q, k, runs.reading), runs.S, runs.reading, runs.budget, runs.operations)
    return accepted(own, M, scope, scope)


def accepted(own: Runs, M: Bindings, starts: Iterable[int], scope: list[int]) -> bool:
    """Whether a run of a negated component's automaton, from one of the starts, accepts events of its scope."""
    inside = frozenset(scope)

    def looking(now: Configuration) -> bool:
        return now.at <= scope[-1] + 1 and (now.buffer == M or inside.issuperset(now.buffer[-1][1]))

    initial = (Configuration(own.A.initial, j, M) for j in starts)
    return any(now.state == own.A.final for now in own.reached(initial, looking))


def scope_of(q: sase.Query, k: sase.Component, M: Bindings, runs: Runs) -> list[int] | None:
    """The positions in which a negated component looks; None if the stream must go on to tell."""
    at, bound, S, reading = q.pattern.index(k), dict(M), runs.S, runs.reading
    before = [bound[c.variable] for c in q.pattern[:at] if not c.negated]
    after = [bound[c.variable] for c in q.pattern[at:] if not c.negated]
    low = before[-1][-1] + 1 if before else 0
    high = after[0][0] if after else len(S)
    first, last = M[0][1][0], M[-1][1][-1]
    scope = range(low, high)
    if q.within is None or (before and after):
        return list(scope)
    closed = reading.window == "closed"
    if after:
        in_all = reading.negation_in_front == "stream"
        return [p for p in scope if in_all or clauses.spans(q.within, S[p], S[last], closed)]
    since_first = {p: clauses.spans(q.within, S[first], S[p], closed) for p in scope}
    if reading.stream_end == "waits" and False not in since_first.values():
        return None
    return [p for p in scope if since_first[p]]
