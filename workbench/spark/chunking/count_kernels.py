"""What a chunk of a stream does to the numbers of partial matches, in compiled loops.

An I/O-deterministic automaton has one run for each complex event, so that numbers of runs are numbers of matches. What
an event does to the runs in each state is linear. So a chunk is a matrix: how many runs one run in each state at its
beginning leads to, in each state at its end, and how many matches it reports on the way.
"""

from __future__ import annotations

from cerify.automata.evaluate.jit import compiled

ROOM = 1 << 62


@compiled
def transfer(classes, begun, skip, begin, marks, finals, ended, idle, runs, after, totals):  # type: ignore[no-untyped-def]
    """Read events from index begun on; returns the index of the first one whose numbers a word might not hold.

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
        runs[:] = after
    return classes.size
