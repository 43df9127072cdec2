"""The algorithms and constructions of cep17 as they are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias

from cerify.automata.algebra.finite import types
from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Marks, Transition
from cerify.semantics.cel.denote import sup
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.events import ComplexEvent, Event, Stream
from cerify.semantics.predicates import Both, Predicate, holds, satisfied
from cerify.semantics.trees import children
from proofs_tests.claims import cea_runs

# ---- cep17 algorithms ----
# cep17, Algorithms 1 to 8, as the text beside them says: their listings are lost in the copy at hand.
#
# The text names the procedures, the methods of lists, nodes, queues and stacks, the lines at which things happen, and
# the
# order in which they do. What it leaves open is a parameter here, and the readings are in docs/errata.md. Transitions
# are
# taken by Delta, which gives the one state of an I/O-deterministic automaton, or the set of states of any.

Set = frozenset[int]
Output = list[list[ComplexEvent]]
"""For each position what Enumerate has output there, in its order, repetitions and all."""


class List:
    """A linked list of nodes as the pair of its start and its end; the nodes themselves point to the next."""

    def __init__(self, start: Node | None = None, end: Node | None = None) -> None:
        self.start, self.end = start, end
        self.iterator: Node | None = None

    def empty(self) -> bool:
        return self.start is None

    def add(self, n: Node) -> None:
        """At the beginning."""
        n.next = self.start
        self.start, self.end = n, self.end or n

    def append(self, list_: List) -> None:
        """At the end."""
        if self.end is None:
            self.start = list_.start
        else:
            self.end.next = list_.start
        self.end = list_.end

    def lazycopy(self) -> List:
        return List(self.start, self.end)

    def begin(self) -> None:
        self.iterator = self.start

    def next_(self) -> Node | None:
        n = self.iterator
        if n is not None:
            self.iterator = None if n is self.end else n.next
        return n

    def at_end(self) -> bool:
        return self.iterator is None


@dataclass(eq=False)
class Node:
    position: int
    list: List = field(default_factory=List)
    next: Node | None = None


def sink() -> Node:
    """The node that each path ends with; its list is empty."""
    return Node(-1)


class Delta:
    """The transitions on one event."""

    def __init__(self, A: CEA, t: Event) -> None:
        self.A, self.t = A, t

    def of(self, p: int, m: Marks) -> Set:
        return frozenset(s.target for s in self.A.leaving[p] if s.marks == m and holds(s.predicate, self.t))

    def __call__(self, T: Set, m: Marks) -> Set:
        return frozenset[int]().union(*(self.of(p, m) for p in T))


# --- Algorithm 1 ------------------------------------------------------------------------------------------------------


def evaluate(A: CEA, S: Stream) -> Output:
    """Algorithm 1, for I/O-deterministic A."""
    (q0,) = A.initial
    lists = {q: List() for q in range(A.states)}
    lists[q0].add(sink())
    output: Output = []
    for i, t in enumerate(S):
        delta = Delta(A, t)
        old = {q: list_.lazycopy() for q, list_ in lists.items()}  # lines 7 and 8
        lists = {q: List() for q in range(A.states)}
        for q, list_ in old.items():  # lines 9 to 13
            if not list_.empty():
                for q_ in delta.of(q, MARKED):
                    lists[q_].add(Node(i, list_))
                for q_ in delta.of(q, UNMARKED):
                    lists[q_].append(list_)
        output.append(list(enumerate_([lists[q] for q in A.final], i)))
    return output


# --- Algorithm 2 ------------------------------------------------------------------------------------------------------


def enumerate_(lists: list[List], i: int) -> Iterator[ComplexEvent]:
    """Enumerate: the nodes of position i, which are on top of the lists."""
    for list_ in lists:
        list_.begin()
        while (n := list_.next_()) is not None and n.position == i:
            yield from enum_all(n, frozenset())


def enum_all(n: Node, C: ComplexEvent) -> Iterator[ComplexEvent]:
    """EnumAll: depth first, by recursion."""
    if n.position == -1:
        yield C
    else:
        n.list.begin()
        while (n_ := n.list.next_()) is not None:
            yield from enum_all(n_, C | {n.position})


# --- Algorithm 3 ------------------------------------------------------------------------------------------------------


class Stack:
    """A black-white stack."""

    def __init__(self) -> None:
        self.elements: list[tuple[Node, str]] = []

    def push_black(self, n: Node) -> None:
        self.elements.append((n, "black"))

    def push_white(self, n: Node) -> None:
        self.elements.append((n, "white"))

    def pop(self) -> Node:
        return self.elements.pop()[0]

    def empty(self) -> bool:
        return not self.elements

    def pop_white(self) -> None:
        """Pop all the white nodes at the top."""
        while self.elements and self.elements[-1][1] == "white":
            self.elements.pop()

    def recap(self) -> list[int]:
        """# and the positions of all but the node on top; nothing where there are no others."""
        return [n.position for n, _ in self.elements[:-1]]


def enum_all_star(n: Node) -> Iterator[ComplexEvent]:
    """EnumAll*: a node is black while its list is not at its end, and white from then on."""
    st = Stack()
    n.list.begin()
    st.push_black(n)
    printed: list[int] = []
    while not st.empty():
        n = st.pop()
        if n.position != -1 and n.list.iterator is n.list.start:
            printed.append(n.position)  # the node is new on the stack, else recap has printed it
        n_ = n.list.next_()
        if n_ is None:  # n is the sink
            yield frozenset(printed)
            st.pop_white()  # line 7
            printed = st.recap()  # line 8
            if not st.empty():
                printed.append(st.elements[-1][0].position)
            continue
        if n.list.at_end():
            st.push_white(n)
        else:
            st.push_black(n)
        n_.list.begin()
        st.push_black(n_)


# --- Algorithm 4 ------------------------------------------------------------------------------------------------------


Enumerate = Callable[[list[List], int], Iterator[ComplexEvent]]


def ndet_evaluate(A: CEA, S: Stream, enumerate_: Enumerate = enumerate_) -> Output:
    """NDetEvaluate: Algorithm 1 over the sets of states."""
    lists: dict[Set, List] = {A.initial: List()}
    lists[A.initial].add(sink())
    output: Output = []
    for i, t in enumerate(S):
        delta = Delta(A, t)
        old, lists = {T: list_.lazycopy() for T, list_ in lists.items()}, {}
        for T, list_ in old.items():
            if T_ := delta(T, MARKED):
                lists.setdefault(T_, List()).add(Node(i, list_))
            if T_ := delta(T, UNMARKED):
                lists.setdefault(T_, List()).append(list_)
        output.append(list(enumerate_([list_ for T, list_ in lists.items() if T & A.final], i)))
    return output


# --- Algorithms 5 and 6 -----------------------------------------------------------------------------------------------


def one_final(A: CEA, marking_only: bool) -> CEA:
    """A with one final state more, the only one: reached by the transitions into the final states of A.

    Of these the text has lost a sign or not: are they all meant, or those that mark?
    """
    into = (
        Transition(t.source, t.predicate, t.marks, A.states)
        for t in A.transitions
        if t.target in A.final and (t.marks or not marking_only)
    )
    return replace(
        A,
        states=A.states + 1,
        transitions=(*A.transitions, *dict.fromkeys(into)),
        final=frozenset({A.states}),
    )


def next_order(queue: list[Set]) -> Iterator[tuple[Set, Marks]]:
    """NextEvaluate: for each set in the queue what marks, and then what does not."""
    for T in queue:
        yield T, MARKED
        yield T, UNMARKED


def last_order(queue: list[Set]) -> Iterator[tuple[Set, Marks]]:
    """LastEvaluate: all that marks before all that does not."""
    for T in queue:
        yield T, MARKED
    for T in queue:
        yield T, UNMARKED


def _ranked(A: CEA, S: Stream, order: Callable[[list[Set]], Iterator[tuple[Set, Marks]]]) -> Output:
    lists = {q: List() for q in range(A.states)}
    for q in A.initial:
        lists[q].add(sink())
    queue = [A.initial]
    output: Output = []
    for i, t in enumerate(S):
        delta = Delta(A, t)
        old = {q: list_.lazycopy() for q, list_ in lists.items()}
        lists = {q: List() for q in range(A.states)}
        queue_: list[Set] = []
        for T, m in order(queue):  # UpdateMarking, UpdateNotMarking
            U: set[int] = set()
            for p in sorted(T):
                for q in sorted(delta.of(p, m)):
                    if q not in U and not any(q in other for other in queue_):
                        if m == MARKED:
                            lists[q].add(Node(i, old[p]))
                        else:
                            lists[q].append(old[p])
                        U.add(q)
            if U:
                queue_.append(frozenset(U))
        queue = queue_
        output.append(list(enumerate_([lists[q] for q in A.final], i)))
    return output


def next_evaluate(A: CEA, S: Stream, marking_only: bool = False) -> Output:
    """Algorithm 5."""
    return _ranked(one_final(A, marking_only), S, next_order)


def last_evaluate(A: CEA, S: Stream, marking_only: bool = False) -> Output:
    """Algorithm 6."""
    return _ranked(one_final(A, marking_only), S, last_order)


# --- Algorithm 7 ------------------------------------------------------------------------------------------------------


def max_evaluate(A: CEA, S: Stream) -> Output:
    """MaxEvaluate, with MoveMarking and MoveNotMarking."""
    start = (A.initial, frozenset[int]())
    lists: dict[tuple[Set, Set], List] = {start: List()}
    lists[start].add(sink())
    output: Output = []
    for i, t in enumerate(S):
        delta = Delta(A, t)
        old, lists = {TU: list_.lazycopy() for TU, list_ in lists.items()}, {}
        for (T, U), list_ in old.items():
            U_ = delta(U, MARKED)
            T_ = delta(T, MARKED) - U_
            lists.setdefault((T_, U_), List()).add(Node(i, list_))
            U_ = delta(U, MARKED) | delta(U, UNMARKED) | delta(T, MARKED)
            T_ = delta(T, UNMARKED) - U_
            lists.setdefault((T_, U_), List()).append(list_)
        final = [list_ for (T, U), list_ in lists.items() if T & A.final and not U & A.final]
        output.append(list(enumerate_(final, i)))
    return output


# --- Algorithm 8 ------------------------------------------------------------------------------------------------------


def strict_evaluate(A: CEA, S: Stream, at_the_end: bool = False) -> Output:
    """StrictEvaluate, for I/O-deterministic A; line 13 adds the sink, and add is the method for the beginning."""
    (empty,) = A.initial
    lists = {q: List() for q in range(A.states)}
    lists[empty].add(sink())
    alive = True
    output: Output = []
    for i, t in enumerate(S):
        delta = Delta(A, t)
        old = {q: list_.lazycopy() for q, list_ in lists.items()}
        lists = {q: List() for q in range(A.states)}
        for q, list_ in old.items():
            if not list_.empty():
                for q_ in delta.of(q, MARKED):
                    lists[q_].add(Node(i, list_))
        unmarked = delta.of(empty, UNMARKED)
        alive = alive and bool(unmarked)
        if alive:
            (empty,) = unmarked  # line 12
            n = sink()
            if at_the_end:
                lists[empty].append(List(n, n))
            else:
                lists[empty].add(n)  # line 13
        output.append(list(enumerate_([lists[q] for q in A.final], i)))
    return output


# ---- cep17 prop1 ----
# cep17, proof of Proposition 1, letter for letter: union, intersection, I/O-determinization and complement.
#
# A CEA of cep17 marks a position or not, and its runs end with a mark; complex_events says what it outputs.

SYMBOLS = (MARKED, UNMARKED)


def complex_events(A: CEA, S: Stream, n: int) -> frozenset[ComplexEvent]:
    return frozenset(C for C in map(sup, cea_runs.valuations(A, S, n)) if n in C)


def union(A: CEA, B: CEA) -> CEA:
    shifted = (t._replace(source=t.source + A.states, target=t.target + A.states) for t in B.transitions)
    return CEA(
        A.states + B.states,
        (*A.transitions, *shifted),
        A.initial | {q + A.states for q in B.initial},
        A.final | {q + A.states for q in B.final},
    )


def intersection(A: CEA, B: CEA) -> CEA:
    def pair(p: int, q: int) -> int:
        return p * B.states + q

    both = tuple(
        Transition(pair(t.source, u.source), Both(t.predicate, u.predicate), t.marks, pair(t.target, u.target))
        for t, u in product(A.transitions, B.transitions)
        if t.marks == u.marks
    )
    starts, ends = product(A.initial, B.initial), product(A.final, B.final)
    return CEA(A.states * B.states, both, frozenset(pair(*pq) for pq in starts), frozenset(pair(*pq) for pq in ends))


def determinized(A: CEA) -> CEA:
    """All sets of states, numbered as bit masks; of each a transition for every type and symbol."""
    found = []
    split = types(A.predicates)
    for R in range(2**A.states):
        for chosen, P in split:
            satisfied = {A.predicates[i] for i in chosen}
            for symbol in SYMBOLS:
                U = {
                    t.target
                    for t in A.transitions
                    if R >> t.source & 1 and t.marks == symbol and t.predicate in satisfied
                }
                found.append(Transition(R, P, symbol, sum(1 << q for q in U)))
    final = frozenset(R for R in range(2**A.states) if any(R >> q & 1 for q in A.final))
    return CEA(2**A.states, tuple(found), frozenset({sum(1 << q for q in A.initial)}), final)


def complement(A: CEA) -> CEA:
    D = determinized(A)
    return CEA(D.states, D.transitions, D.initial, frozenset(range(D.states)) - D.final)


# ---- cep17 sec3 ----
# cep17, section 3: the meaning of core-CEL, clause by clause, for one valuation of all variables at a time.
#
# The formulas are lost in the copy at hand; the clauses are taken from the words around them. Nothing is shared with
# the
# library but the syntax and the predicates. A valuation maps every variable to one position.

Nu = Mapping[str, int]


def defined(phi: core.Formula, outside_iteration: bool = False) -> frozenset[str]:
    """vdef(phi), the variables of its subformulas R AS x; or vdef+(phi), of those outside the scope of every +."""
    if isinstance(phi, core.CoreEventAtom):
        return frozenset({phi.variable})
    if isinstance(phi, core.CorePlus) and outside_iteration:
        return frozenset()
    return frozenset[str]().union(*(defined(psi, outside_iteration) for psi in children(phi)))


def complex_events_sec3(phi: core.Formula, S: Stream, variables: frozenset[str]) -> frozenset[ComplexEvent]:
    """⟦phi⟧(S): the C of some valuation of the variables, which are all that phi mentions."""
    found = (meaning(phi, S, nu, len(S)) for nu in valuations(variables, S))
    return frozenset[ComplexEvent]().union(*found)


def valuations(variables: frozenset[str], S: Stream) -> Iterator[Nu]:
    names = sorted(variables)
    return (dict(zip(names, at, strict=True)) for at in product(range(len(S)), repeat=len(names)))


def meaning(phi: core.Formula, S: Stream, nu: Nu, rounds: int) -> frozenset[ComplexEvent]:
    """Return ⟦phi⟧(S, nu), with at most `rounds` rounds of an iteration; len(S) rounds are no restriction."""
    match phi:
        case core.CoreEventAtom(R, x):
            return frozenset({frozenset({nu[x]})}) if S[nu[x]].type == R else frozenset()
        case core.CoreFilter(rho, condition):
            return meaning(rho, S, nu, rounds) if satisfies(condition, S, nu) else frozenset()
        case core.CoreOr(left, right):
            return meaning(left, S, nu, rounds) | meaning(right, S, nu, rounds)
        case core.CoreSeq(left, right):
            return concatenated(meaning(left, S, nu, rounds), meaning(right, S, nu, rounds))
        case core.CorePlus(rho):
            return iterated(rho, S, nu, rounds)
        case _:
            raise NotImplementedError(f"section 3 has no {type(phi).__name__}")


def concatenated(left: frozenset[ComplexEvent], right: frozenset[ComplexEvent]) -> frozenset[ComplexEvent]:
    return frozenset(C1 | C2 for C1, C2 in product(left, right) if max(C1) < min(C2))


def iterated(rho: core.Formula, S: Stream, nu: Nu, rounds: int) -> frozenset[ComplexEvent]:
    """For some nu' a C of rho, or of rho ; rho+, under nu with the variables of U as in nu'."""
    found: frozenset[ComplexEvent] = frozenset()
    for chosen in valuations(defined(rho, outside_iteration=True), S):
        changed = {**nu, **chosen}
        first = meaning(rho, S, changed, len(S))
        found |= first
        if first and rounds > 1:
            found |= concatenated(first, iterated(rho, S, changed, rounds - 1))
    return found


def satisfies(condition: core.Condition, S: Stream, nu: Nu) -> bool:
    match condition:
        case core.Unary(x, P):
            return _asked(P, S, {**nu, "": nu[x]})
        case core.CoreCorrelated(P):
            return _asked(P, S, nu)
        case _:
            raise NotImplementedError("AND and OR are sugar")


def _asked(P: Predicate, S: Stream, nu: Nu) -> bool:
    return satisfied(P, lambda a: S[nu[a.variable or ""]].get(a.name))


# ---- cep17 thm4 ----
# cep17, proof of Theorem 4 (appendix C.3): the automata of STRICT, NXT, LAST and MAX, with the names of the text.
#
# The formulas are lost in the copy at hand; the five conditions of NXT are told in words. T is the sequence of sets.
# A
# state of the automaton for NXT or LAST is (q, T), and for MAX (T, U). Runs are followed over a stream, event by
# event.

Sets: TypeAlias = tuple[Set, ...]
Ranked: TypeAlias = tuple[int, Sets]
Pair: TypeAlias = tuple[Set, Set]


def tpo(sets: list[Set]) -> Sets:
    """Total pre-ordering: of each state the first occurrence, and no empty sets."""
    seen: Set = frozenset()
    kept = []
    for T in sets:
        if T - seen:
            kept.append(T - seen)
        seen |= T
    return tuple(kept)


def next_sets(T: Sets, delta: Delta) -> Sets:
    return tpo([delta(Ti, m) for Ti in T for m in (MARKED, UNMARKED)])


def last_sets(T: Sets, delta: Delta) -> Sets:
    return tpo([delta(Ti, m) for m in (MARKED, UNMARKED) for Ti in T])


def next_steps(state: Ranked, delta: Delta) -> Iterator[tuple[Marks, Ranked]]:
    """The transitions of the automaton for NXT."""
    yield from _steps(state, delta, next_sets)


def last_steps(state: Ranked, delta: Delta) -> Iterator[tuple[Marks, Ranked]]:
    """The transitions of the automaton for LAST: of the five conditions the third alone is another."""
    yield from _steps(state, delta, last_sets)


def last_steps_corrected(state: Ranked, delta: Delta) -> Iterator[tuple[Marks, Ranked]]:
    """The second and the fourth are others too: only a mark is better than a mark, and any mark better than none."""
    p, T = state
    i = rank(state)
    for m in (MARKED, UNMARKED):
        for q in delta.of(p, m):
            better = any(q in delta(Tj, m) for Tj in T[:i])
            marked_too = m == UNMARKED and any(q in delta(Tj, MARKED) for Tj in T)
            if not better and not marked_too and not _lower(state, i, q, m, delta):
                yield m, (q, last_sets(T, delta))


def _steps(state: Ranked, delta: Delta, sets: Callable[[Sets, Delta], Sets]) -> Iterator[tuple[Marks, Ranked]]:
    p, T = state
    i = rank(state)
    for m in (MARKED, UNMARKED):
        for q in delta.of(p, m):  # 1
            better = any(q in delta(Tj, m_) for Tj in T[:i] for m_ in (MARKED, UNMARKED))  # 2
            marked_too = m == UNMARKED and q in delta(T[i], MARKED)  # 4
            if not better and not marked_too and not _lower(state, i, q, m, delta):
                yield m, (q, sets(T, delta))  # 3


def rank(state: Ranked) -> int:
    q, T = state
    return next(i for i, Ti in enumerate(T) if q in Ti)


def _lower(state: Ranked, i: int, q: int, m: Marks, delta: Delta) -> bool:
    """5: a smaller state of the same set goes the same way."""
    p, T = state
    return any(q in delta.of(p_, m) for p_ in T[i] if p_ < p)


def ranked_accepts(A: CEA, state: Ranked) -> bool:
    q, T = state
    return q in A.final and not any(Tj & A.final for Tj in T[: rank(state)])


def strict_steps(state: tuple[int, int], delta: Delta) -> Iterator[tuple[Marks, tuple[int, int]]]:
    """Two copies of A: unmarked in the first, marked in the second, and marked from the first to the second."""
    q, copy = state
    for q_ in delta.of(q, MARKED):
        yield MARKED, (q_, 2)
    if copy == 1:
        for q_ in delta.of(q, UNMARKED):
            yield UNMARKED, (q_, 1)


def strict_accepts(A: CEA, state: tuple[int, int]) -> bool:
    q, copy = state
    return copy == 2 and q in A.final


def max_steps(state: Pair, delta: Delta) -> Iterator[tuple[Marks, Pair]]:
    T, U = state
    U_ = delta(U, MARKED)
    yield MARKED, (delta(T, MARKED) - U_, U_)
    U_ = delta(U, MARKED) | delta(U, UNMARKED) | delta(T, MARKED)
    yield UNMARKED, (delta(T, UNMARKED) - U_, U_)


def max_accepts(A: CEA, state: Pair) -> bool:
    T, U = state
    return bool(T & A.final) and not U & A.final


Steps: TypeAlias = Callable[[Any, Delta], Iterator[tuple[Marks, Any]]]
Runs: TypeAlias = list[set[tuple[ComplexEvent, Any]]]


def runs(A: CEA, S: Stream, steps: Steps, start: list[Any]) -> Runs:
    """The complex event and the last state of each run of an automaton that is given by its steps, by their lengths."""
    found: Runs = [{(frozenset(), state) for state in start}]
    for i, t in enumerate(S):
        delta = Delta(A, t)
        found.append({(C | {i} if m else C, after) for C, state in found[-1] for m, after in steps(state, delta)})
    return found


def ranked_start(A: CEA) -> list[Ranked]:
    return [(q, (A.initial,)) for q in sorted(A.initial)]


def max_start(A: CEA) -> list[Pair]:
    return [(A.initial, frozenset())]


def outputs(
    A: CEA, S: Stream, steps: Steps, start: list[Any], accepts: Callable[[CEA, Any], bool]
) -> list[set[ComplexEvent]]:
    """The complex events at each position: those of the accepting runs that end with a mark there."""
    return [
        {C for C, state in ending if n in C and accepts(A, state)}
        for n, ending in enumerate(runs(A, S, steps, start)[1:])
    ]
