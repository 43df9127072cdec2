"""Claims of tods21, section 9, about update time and delay, by counted operations; and its Figure 7."""

from __future__ import annotations

from collections.abc import Callable

from cerify.automata.cea.compile import compile_cel
from cerify.automata.evaluate.ces import BOTTOM, NOTHING, CompactComplexEventSet, NodeList
from cerify.automata.evaluate.tables import classify
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import ComplexEvent
from proofs_tests.claims import printed_tods21
from proofs_tests.claims.cep17_measured import FLAT, LENGTHS, LINEAR, QUERIES, random_types
from proofs_tests.claims.ledger import Effort, Finding, Status, claim, plant
from proofs_tests.claims.measure import chain, counted_2021, delays, doublings, exponent, guess, update_times
from proofs_tests.support import stream

SIZES = (3, 10, 30, 100, 350)


def _update_exponent() -> tuple[float, int]:
    """The largest exponent of the update time in the length of the stream, of six queries, and the most operations."""
    found, most = 0.0, 0
    for text in QUERIES.values():
        A = compile_cel(parse(text))
        running, tally = counted_2021(A)
        types = classify(running.automaton.A.predicates, random_types(LENGTHS[-1], "ABCD", seed=9))
        times = update_times(running, tally, types)
        found = max(found, exponent(LENGTHS, [max(times[n // 2 : n]) for n in LENGTHS]))
        most = max(most, *times)
    return found, most


ONE_FRAME_A_NODE = "after ENUMERATE returns from the last node of a list, it returns from every node before it"
A_LOOP = (
    "line 7 continues with next(n1) in the same call: lines 2 to 5; then, while n1 ≠ n2: n1 ← next(n1), and lines 2 to "
    "5"
)


def printed_delays(n: int, line_7_is_a_loop: bool) -> list[tuple[int, int]]:
    """The steps before each output of Algorithm 1, and its length, for A ; B ; C at the end of n times A, B, B and C.

    The chain of B's node that is listed first has the n nodes of A; the other has them too.
    """
    types = "A" * n + "BBC"
    *_, (D, T) = printed_tods21.tables(0, len(types), _chain("ABC", types))
    steps = printed_tods21.Steps()
    listed = printed_tods21.enumerate_(D, *T[3], steps, line_7_is_a_loop)
    return [(operations, len(C)) for operations, C in printed_tods21.delays(listed, steps)]


def _chain(pattern: str, types: str) -> printed_tods21.Delta:
    """The automaton of A ; B ; C: it waits in every state but the last."""

    def delta(p: int, i: int, marked: bool) -> int | None:
        if p == len(pattern):
            return None
        return p if not marked else p + 1 if types[i] == pattern[p] else None

    return delta


def printed_update(k: int, length: int) -> int:
    """The most calls of extend and append that an event costs Algorithm 2, for A ; ... ; A, k times, on so many A."""
    delta, most = _chain("A" * k, "A" * length), 0
    D, T = printed_tods21.CCES(), {0: (BOTTOM, BOTTOM)}
    for i in range(length):
        before = len(D.event) + len(D.next)
        T = printed_tods21.update(D, T, i, delta)
        most = max(most, len(D.event) + len(D.next) - before)
    return most


@claim(
    "tods21.thm9.1",
    "Algorithms 1 and 2 as listed, for I/O-deterministic CEA with one variable: update time |A| times the time "
    "of a predicate, and output-linear delay (the theorem stands)",
    "algorithm",
)
def _(effort: Effort) -> Finding:
    flat, most = _update_exponent()
    sizes, times, ratios = [], [], []
    for k in SIZES if effort == "quick" else (*SIZES, 1000):
        running, tally = counted_2021(chain(k))
        # every event is an A: the type with both bits set
        times.append(max(update_times(running, tally, [3] * (k + 10))))
        sizes.append(chain(k).size)
    outputs = 2_000 if effort == "quick" else 20_000
    lengths = (10, 100, 1000)
    for n in lengths:
        running, tally = counted_2021(compile_cel(parse("A+ ; B")))
        for type_ in classify(running.automaton.A.predicates, stream("A " * n + "B")):
            running.push(type_)
        ratios.append(max(operations / length for operations, length in delays(running, tally, outputs)))
    grows, delay = exponent(sizes, times), exponent(lengths, ratios)
    changes = [printed_update(k, k + 5) for k in SIZES]
    printed_lengths = (100, 1000, 10_000)
    printed = [max(steps for steps, _ in printed_delays(n, line_7_is_a_loop=False)) for n in printed_lengths]
    looped = [max(steps for steps, _ in printed_delays(n, line_7_is_a_loop=True)) for n in printed_lengths]
    as_printed, corrected = exponent(printed_lengths, printed), exponent(printed_lengths, looped)
    bound = (
        f"Algorithm 1 as printed: at most {', '.join(map(str, printed))} steps (parts of a call between calls and "
        f"outputs) between outputs of three events on {', '.join(map(str, printed_lengths))} A followed by B B C, "
        f"exponent {as_printed:.2f}. With line 7 as a loop: at most {max(looped)}, exponent {corrected:.2f}. "
        f"Algorithm 2 as printed: at most {changes[-1]} changes of the data structure for one event, exponent "
        f"{exponent(SIZES, changes):.2f} in the number of states, {SIZES[0]} to {SIZES[-1]}. The library, whose "
        f"Enumerate has the loop: operations for one event have exponent {flat:.2f} in the length of the stream, "
        f"{LENGTHS[0]} to {LENGTHS[-1]} events, at most {most} for six queries, and {grows:.2f} in |A| from "
        f"{sizes[0]} to {sizes[-1]}. Before each of the first {outputs} outputs of A+ ; B: at most "
        f"{max(ratios):.1f} for each of its events, exponent {delay:.2f} in the number of A, {lengths[0]} to "
        f"{lengths[-1]}"
    )
    fits = flat < FLAT and grows < LINEAR and delay < FLAT and corrected < FLAT
    fits = fits and exponent(SIZES, changes) < LINEAR
    counterexample = {
        "query": "A ; B ; C",
        "events": [{"type": R} for R in "AABBC"],
        "values": f"the same with {printed_lengths[-1]} A instead of 2",
        "expected": f"steps between two outputs that depend only on their 3 events: at most {max(looped)}",
        "got": f"{printed[-1]} steps",
        "why": ONE_FRAME_A_NODE,
    }
    status: Status = "refuted" if not fits else "holds" if as_printed < FLAT else "holds-corrected"
    if status != "holds-corrected":
        return Finding(status, "measured", bound)
    return Finding(status, "measured", bound, counterexample, A_LOOP)


@claim(
    "tods21.cor9.3",
    "Any CEA is evaluated with 2^|A|-update time, and output-linear delay",
    "corollary",
    "by the library's form of the algorithms of thm9.1, with line 7 as a loop. The library determinizes the "
    "CEA as events come; the cost of building a state is not counted",
)
def _(effort: Effort) -> Finding:
    running, tally = counted_2021(guess(1))
    times = update_times(running, tally, [1] * LENGTHS[-1])
    flat = exponent(LENGTHS, [max(times[n // 2 : n]) for n in LENGTHS])
    states, times, active, ratios, outputs = [], [], [], [], 500
    for k in range(1, 9 if effort == "quick" else 11):
        running, tally = counted_2021(guess(k))
        times.append(max(update_times(running, tally, [1] * (2 * k + 8))))
        states.append(guess(k).states)
        active.append(len(running.T))
        ratios.append(max(operations / length for operations, length in delays(running, tally, outputs)))
    grows = doublings(states, times)
    bound = (
        f"operations for one event: exponent {flat:.2f} in the length of the stream, {LENGTHS[0]} to {LENGTHS[-1]} "
        f"events. For automata that must remember the last marks, with |Q| from {states[0]} to {states[-1]}: "
        f"{active[0]} to {active[-1]} active states and {times[0]} to {times[-1]} operations, 2 to the {grows:.2f} "
        f"|Q|. Before each of the first {outputs} outputs: at most {max(ratios):.1f} for each of its events"
    )
    fits = flat < FLAT and grows < 1.1 and max(ratios) < 10
    return Finding("holds" if fits else "refuted", "measured", bound)


def _figure_7() -> tuple[CompactComplexEventSet, dict[int, int]]:
    """The structure of the figure, by the operations of the section; its nodes by their labels."""
    D = CompactComplexEventSet()
    node: dict[int, int] = {}

    def extend(label: int, first: int, last: int) -> None:
        node[label] = D.extend(label, frozenset(), (first, last))

    extend(1, BOTTOM, BOTTOM)
    extend(2, node[1], node[1])
    D.append(node[1], BOTTOM)
    extend(3, node[1], BOTTOM)
    D.append(node[2], node[3])
    extend(4, BOTTOM, BOTTOM)
    extend(5, node[2], node[3])
    D.append(node[3], node[4])
    extend(6, node[2], node[4])
    D.append(node[5], node[6])
    return D, node


def nodes_of(D: CompactComplexEventSet, nodes: NodeList) -> list[int]:
    """list(n, n'): from the one along next to the other."""
    node, last = nodes
    found = [node]
    while node != last:
        node = D.next[node]
        found.append(node)
    return found


def valid(D: CompactComplexEventSet) -> bool:
    """Properties 1 to 4 of a compact complex event set; 5 is that no list of it has a complex event twice."""
    acyclic = all(len(_along_next(D, n)) <= len(D) for n in range(len(D)))
    inner = range(1, len(D))
    if not acyclic or not all(D.last[n] in _along_next(D, D.first[n]) for n in inner):
        return False
    return all(
        child == BOTTOM or D.event[n] > D.event[child] for n in inner for child in nodes_of(D, (D.first[n], D.last[n]))
    )


def _along_next(D: CompactComplexEventSet, n: int) -> list[int]:
    """What n can reach; longer than the set itself if there is a cycle."""
    found = []
    while n != NOTHING and len(found) <= len(D):
        found.append(n)
        n = D.next[n]
    return found


@claim(
    "tods21.fig7",
    "The data structure of Algorithms 1 and 2",
    "figure",
    "the library's structure, with the operations of section 9.2. The drawing is missing in our copy; each "
    "position is one node, as the text says",
)
def _(effort: Effort) -> Finding:
    D, node = _figure_7()

    def CE(first: int, last: int) -> list[ComplexEvent]:
        return [frozenset(D.complex_event(path)) for path in D.enumerate((node[first], node[last]))]

    told = {
        (5, 5): [{1, 2, 5}, {1, 3, 5}, {3, 5}],
        (2, 4): [{1, 2}, {1, 3}, {3}, {4}],
        (5, 6): [{5, 2, 1}, {5, 3, 1}, {5, 3}, {6, 2, 1}, {6, 3, 1}, {6, 3}, {6, 4}],
    }
    same = all(len(CE(*ends)) == len(Cs) and set(CE(*ends)) == set(map(frozenset, Cs)) for ends, Cs in told.items())
    once = all(len(CE(n, m)) == len(set(CE(n, m))) for n in node for m in node if node[m] in _along_next(D, node[n]))
    bound = "the set of the text, CE(5) and CE(2, 4); the five properties of its nodes and of all its lists"
    return Finding("holds" if same and once and valid(D) else "refuted", "example", bound)


plant(
    "tods21.thm9.1",
    "line 7 is a call in the correction too",
    printed_tods21,
    "enumerate_",
    lambda right: lambda D, n1, n2, steps, line_7_is_a_loop: right(D, n1, n2, steps),
)


def _looks_back(extend: Callable[..., int]) -> Callable[..., int]:
    def slow(self: CompactComplexEventSet, position: int, marks: frozenset[str], children: NodeList) -> int:
        for n in range(0, len(self), 50):
            self.event[n]
        return extend(self, position, marks, children)

    return slow


plant("tods21.cor9.3", "extend goes through the nodes that there are", CompactComplexEventSet, "extend", _looks_back)
plant(
    "tods21.fig7",
    "extend takes the last child only",
    CompactComplexEventSet,
    "extend",
    lambda right: lambda self, position, marks, nodes: right(self, position, marks, (nodes[1], nodes[1])),
)
