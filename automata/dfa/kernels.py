"""Tables of event expressions in compiled loops over flat arrays; the readable twin is evaluate.TableRunner.

Arrays, with n events, C classes of events, s states of all K automata together (each has its own range of them):

    classes    int32 [n]        the class of each event
    step       int32 [C, s]     the state after a state with an event of a class; of the same automaton
    accepting  uint8 [s]        1 for the states that accept
    states     int32 [K]        the state of each automaton; changed
    out        int32 [K, > n]   where each takes place, by number of event; written
    counts     int64 [K]        how many events that are; written
No event costs a branch: a position is written at each, and written over unless it counts. The numbers are not negative,
and as unsigned ones they need no test whether they count from the end of an array.
"""

from __future__ import annotations

from numba import uint64

from cerify.automata.evaluate.jit import compiled


@compiled
def advance_one(classes, step, accepting, states, out, counts):  # type: ignore[no-untyped-def]
    """Read all events with one automaton (K = 1)."""
    p, m, ends = uint64(states[0]), uint64(0), out[0]
    for i in range(classes.size):
        p = uint64(step[uint64(classes[i]), p])
        ends[m] = i
        m += uint64(accepting[p])
    states[0] = p
    counts[0] = m


@compiled
def advance_four(classes, step, accepting, states, out, counts):  # type: ignore[no-untyped-def]
    """Read all events with four automata (K = 4), whose look-ups wait for memory at the same time."""
    p, q, r, s = uint64(states[0]), uint64(states[1]), uint64(states[2]), uint64(states[3])
    k, l, m, n = uint64(0), uint64(0), uint64(0), uint64(0)
    ends_p, ends_q, ends_r, ends_s = out[0], out[1], out[2], out[3]
    for i in range(classes.size):
        following = step[uint64(classes[i])]
        p, q, r, s = uint64(following[p]), uint64(following[q]), uint64(following[r]), uint64(following[s])
        ends_p[k] = i
        ends_q[l] = i
        ends_r[m] = i
        ends_s[n] = i
        k += uint64(accepting[p])
        l += uint64(accepting[q])
        m += uint64(accepting[r])
        n += uint64(accepting[s])
    states[0], states[1], states[2], states[3] = p, q, r, s
    counts[0], counts[1], counts[2], counts[3] = k, l, m, n
