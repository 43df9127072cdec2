"""The effect of a chunk of a stream on the numbers of partial matches, as compiled loops.

An I/O-deterministic automaton has one run for each complex event, so numbers of runs are numbers of matches. The effect
of an event on the numbers of runs in the states is linear. So a chunk is a matrix: the number of runs in each state at
its end that result from one run in each state at its beginning, and a vector: the number of matches they report.
"""

from __future__ import annotations

from cerify.automata.evaluate.jit import compiled

ROOM = 1 << 62


@compiled
def transfer(classes, begun, skip, begin, marks, finals, ended, idle, runs, after, totals):  # type: ignore[no-untyped-def]
    """Read events from index begun on; returns the index of the first event after which a number might exceed int64.

    skip, begin, marks, finals, ended: those of TransitionTables. idle: bool [classes], whether such an event changes
    nothing. runs, after: int64 [states, K], the runs in each state that come of one run in each of K states; after is
    scratch. totals: int64 [K], the matches they have reported. States in which nothing is left to do are emptied.
    """
    states, starts = runs.shape
    limit = ROOM // (states + marks.shape[0] + 1)
    for i in range(begun, classes.size):
        c = classes[i]
        if idle[c]:
            continue
        after[:] = 0
        for p in range(states):
            q = skip[c, p]
            if q >= 0:
                for k in range(starts):
                    after[q, k] += runs[p, k]
        for t in range(begin[c], begin[c + 1]):
            p, q = marks[t, 0], marks[t, 2]
            for k in range(starts):
                after[q, k] += runs[p, k]
        for q in range(states):
            for k in range(starts):
                if after[q, k] > limit:
                    return i
        for k in range(starts):
            if totals[k] > ROOM:
                return i
        for f in range(finals.size):
            q = finals[f]
            for k in range(starts):
                totals[k] += after[q, k]
            if ended[q]:
                after[q] = 0
        for q in range(states):  # for `runs[:] = after` numba compiles, for seconds, what to say of unequal shapes
            for k in range(starts):
                runs[q, k] = after[q, k]
    return classes.size
