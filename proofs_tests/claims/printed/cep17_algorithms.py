"""cep17, Algorithms 1 to 8, as the text beside them says: their listings are lost in the copy at hand.

The text names the procedures, the methods of lists, nodes, queues and stacks, the lines at which things happen, and the
order in which they do. What it leaves open is a parameter here, and the readings are in docs/errata.md. Transitions are
taken by Delta, which gives the one state of an I/O-deterministic automaton, or the set of states of any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Marks, Transition
from cerify.semantics.events import ComplexEvent, Event, Stream
from cerify.semantics.predicates import holds

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
