"""Negated components: a small automaton of their own, run between the events of a match.

Section 3 of sase07 leaves negation out of the automaton. Here a match of the other components stands if no run of the
negated component's own automaton is in its scope. The scope lies strictly between the neighbours' events. Of a
component in front it begins where the window begins that ends with the match, or with the stream; of one at the end it
is over with the window that begins with the match. What its strategy means: docs/decisions/sase.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cerify.automata.nfab.compile import compile_absence
from cerify.automata.nfab.instances import in_window
from cerify.automata.nfab.moves import Configuration, Runs
from cerify.semantics.events import Bindings, Event
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import Reading


def present(q: sase.Query, k: sase.Component, M: Bindings, runs: Runs) -> bool:
    """Whether events in the scope of the negated component are as it describes, or events to come may be."""
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
    """The positions in the scope of a negated component; None if events to come may be in it too."""
    low, high = neighbours(q, k, M, 0, len(runs.S))
    positions = range(low, high)
    if is_unfinished(q, k, M, runs.S, runs.reading, positions):
        return None
    return in_scope(q, k, M, runs.S, runs.reading, positions)


def neighbours(q: sase.Query, k: sase.Component, M: Bindings, start: int, end: int) -> tuple[int, int]:
    """From where to where the positions between the neighbours' events lie; start and end are those of the stream."""
    bound = dict(M)
    at = q.pattern.index(k)
    before = [c.variable for c in q.pattern[:at] if not c.negated]
    after = [c.variable for c in q.pattern[at:] if not c.negated]
    return (bound[before[-1]][-1] + 1 if before else start), (bound[after[0]][0] if after else end)


def is_unfinished(
    q: sase.Query, k: sase.Component, M: Bindings, S: Sequence[Event], reading: Reading, positions: Iterable[int]
) -> bool:
    """Whether, of the positions behind a match, none is behind its window: then events to come may be in the scope."""
    window = q.within
    if window is None or reading.stream_end == "stops" or not _is_at_end(q, k):
        return False
    first, closed = S[M[0][1][0]], reading.window == "closed"
    return all(in_window(window, closed, first, S[p]) is not False for p in positions)


def in_scope(
    q: sase.Query, k: sase.Component, M: Bindings, S: Sequence[Event], reading: Reading, positions: Iterable[int]
) -> list[int]:
    """Those of the positions, all between the neighbours' events, at which the window lets a component look."""
    window, closed = q.within, reading.window == "closed"
    first, last = M[0][1][0], M[-1][1][-1]
    if window is None:
        return list(positions)
    if _is_in_front(q, k) and reading.negation_in_front == "window":
        return [p for p in positions if in_window(window, closed, S[p], S[last])]
    if _is_at_end(q, k):
        return [p for p in positions if in_window(window, closed, S[first], S[p])]
    return list(positions)


def _is_in_front(q: sase.Query, k: sase.Component) -> bool:
    return all(c.negated for c in q.pattern[: q.pattern.index(k)])


def _is_at_end(q: sase.Query, k: sase.Component) -> bool:
    return all(c.negated for c in q.pattern[q.pattern.index(k) :])
