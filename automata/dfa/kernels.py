"""Evaluate tables of event expressions in compiled loops over flat arrays; the readable twin is evaluate.TableRunner.

Arrays, with n events, C classes of events, and s states of all K automata together (each automaton has its own range of
states):

    classes    int32 [n]        the class of each event
    step       int32 [C, s]     the next state, in the same automaton, for each class and state
    accepting  uint8 [s]        1 for the states that accept
    states     int32 [K]        the state of each automaton; changed
    p_ends …   int64 [> n]      for each automaton the positions at which its expression takes place; written
    counts     int64 [K]        for each automaton the number of these positions; written
No branch depends on an event: its position is always written, and overwritten unless the automaton accepts. Indices are
unsigned, so there is no test whether they count from the end of an array.
"""

from __future__ import annotations

from numba import uint64

from cerify.automata.evaluate.jit import compiled


@compiled
def advance_one(classes, base, step, accepting, states, counts, ends):  # type: ignore[no-untyped-def]
    """Run one automaton (K = 1) over all events; base: the position of the first. For the arrays, see this module."""
    p, m = uint64(states[0]), uint64(0)
    for i in range(classes.size):
        p = uint64(step[uint64(classes[i]), p])
        ends[m] = base + i
        m += uint64(accepting[p])
    states[0] = p
    counts[0] = m


@compiled
def advance_four(  # type: ignore[no-untyped-def]
    classes, base, step, accepting, states, counts, p_ends, q_ends, r_ends, s_ends
):
    """Run four automata (K = 4) over all events, so that their look-ups wait for memory at the same time."""
    p, q, r, s = uint64(states[0]), uint64(states[1]), uint64(states[2]), uint64(states[3])
    k, l, m, n = uint64(0), uint64(0), uint64(0), uint64(0)
    for i in range(classes.size):
        following = step[uint64(classes[i])]
        p, q, r, s = uint64(following[p]), uint64(following[q]), uint64(following[r]), uint64(following[s])
        p_ends[k] = base + i
        q_ends[l] = base + i
        r_ends[m] = base + i
        s_ends[n] = base + i
        k += uint64(accepting[p])
        l += uint64(accepting[q])
        m += uint64(accepting[r])
        n += uint64(accepting[s])
    states[0], states[1], states[2], states[3] = p, q, r, s
    counts[0], counts[1], counts[2], counts[3] = k, l, m, n
