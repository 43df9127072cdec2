"""Compact complex event sets, and the evaluation that fills them: tods21, section 9.2, with Algorithms 1 and 2.

A node stands for a position, and each path from a node to the terminator stands for a complex event. The children of a
node are a linked list of nodes, given by the first and the last node of the list; `next` leads from each node to the
following one. Nodes are never removed, and `next` is set only once, so a pair of nodes always stands for the same list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from cerify.automata.cea.model import CEA, Determinized, Marks, single_variable
from cerify.automata.evaluate.tables import classify
from cerify.automata.evaluator import Output
from cerify.semantics.arguments import timed_items
from cerify.semantics.events import Match, Stream, Valuation, bindings_of

BOTTOM = 0
NOTHING = -1

NodeList = tuple[int, int]


class CompactComplexEventSet:
    """A growing set of complex events, stored as nodes that share common beginnings.

    Node 0 is the terminator, which the paper writes ⊥.
    """

    def __init__(self) -> None:
        self.event = [NOTHING]
        self.marks: list[frozenset[str]] = [frozenset()]
        self.first = [NOTHING]
        self.last = [NOTHING]
        self.next = [NOTHING]

    def __len__(self) -> int:
        return len(self.event)

    def extend(self, position: int, marks: frozenset[str], children: NodeList) -> int:
        """Add a node for a position with these marks, whose children are the nodes of a list; return its number."""
        self.event.append(position)
        self.marks.append(marks)
        self.first.append(children[0])
        self.last.append(children[1])
        self.next.append(NOTHING)
        return len(self.event) - 1

    def append(self, end: int, start: int) -> None:
        """Append the list whose first node is `start` to the list whose last node is `end`."""
        self.next[end] = start

    def enumerate(self, nodes: NodeList) -> Iterator[list[int]]:
        """Yield each complex event of the list once, as its nodes from the latest position to the first (tods21,
        Algorithm 1).

        The next step changes the yielded list, so copy it to keep it. The time between two outputs is linear in their
        lengths. `pending` replaces the algorithm's recursion: it has the rest of each list in progress, and the length
        of the path when that list began.
        """
        path: list[int] = []
        pending = [(*nodes, 0)]
        while pending:
            node, last, depth = pending.pop()
            del path[depth:]
            if node != last:
                pending.append((self.next[node], last, depth))
            if node == BOTTOM:
                yield path
            else:
                path.append(node)
                pending.append((self.first[node], self.last[node], depth + 1))

    def complex_event(self, path: list[int]) -> tuple[int, ...]:
        """Return the positions of a path, ascending."""
        return tuple(self.event[node] for node in reversed(path))

    def valuation(self, path: list[int]) -> Valuation:
        """Return the valuation that a path of nodes represents: the pairs (variable, position)."""
        return frozenset((variable, self.event[node]) for node in path for variable in self.marks[node])


class Evaluation:
    """Runs an automaton over a stream."""

    def __init__(self, automaton: Determinized) -> None:
        self.automaton = automaton
        self.position = -1
        self.D = CompactComplexEventSet()
        self.T: dict[int, NodeList] = {0: (BOTTOM, BOTTOM)}

    def push(self, type_: int) -> None:
        """Read the next event, given its type as a bit mask (tods21, Algorithm 2, lines 5 to 14: the update phase)."""
        self.position += 1
        D, T, known = self.D, self.T, self.automaton.known
        T_: dict[int, NodeList] = {}
        for p, nodes in T.items():
            if type_ not in known[p]:  # rarely; what is known is looked up here, as this is done for every event
                self.automaton.build(T, type_)
            for marks, q in known[p][type_]:
                if marks:
                    n = D.extend(self.position, marks, nodes)
                    start, end = n, n
                else:
                    start, end = nodes
                if q in T_:  # procedure ADD
                    first, last = T_[q]
                    D.append(last, start)
                    T_[q] = (first, end)
                else:
                    T_[q] = (start, end)
        self.T = T_

    def ends(self) -> Iterator[NodeList]:
        """Yield the lists of complex events that end at the last position read, one for each final state."""
        return (nodes for q, nodes in self.T.items() if self.automaton.final[q])

    def completed(self) -> Iterator[list[int]]:
        """Yield the complex events at the last position read, each as a path of nodes.

        This is the procedure OUTPUT of tods21, Algorithm 2.
        """
        for nodes in self.ends():
            yield from self.D.enumerate(nodes)


def evaluate_automaton(A: CEA, S: Stream) -> Iterator[Match]:
    """Return the matches of an automaton over a stream, lazily and in the order of positions. Raises BudgetExceeded."""
    return read_events(Determinized(single_variable(A)), S, "matches")


def read_events(automaton: Determinized, S: Stream, output: Output) -> Iterator[Match]:
    """Yield the matches of a determinized automaton over a stream, in the order of positions."""
    evaluation = Evaluation(automaton)
    D = evaluation.D
    for n, type_ in enumerate(timed_items(classify(evaluation.automaton.A.predicates, S))):
        evaluation.push(type_)
        for path in evaluation.completed():
            bindings = bindings_of(D.valuation(path)) if output == "valuations" else None
            yield Match(n, D.complex_event(path), bindings)


# ---------------------------------------------------------------------------------------------------------------------
# Sets of complex events that know how recent they are: the structure behind windows, after the CORE engine's tECS.
#
# A node stands for a set of complex events, and each path from the node to the terminator for one of them:
#
#     Bottom    the terminator: one complex event, without positions
#     Output    the complex events of a child, each with one more position at its end
#     Union     the complex events of its left child and of its right child, which have none in common
#
# `latest` is the latest first position of a node's complex events. Enumeration skips complex events that begin too
# early without looking into them, and reaches each next output in a few steps, because three rules hold for every node
# (od is 0 for a node that is no union, and for a union 1 more than the od of its left child):
#
#     (1) the latest of a union equals that of its left child, and is not less than that of its right child;
#     (2) od is at most 3;
#     (3) in a *safe* node the left is no union, and od of the right is at most 2; a node that is no union is safe.
#
# Between events the sets of one state are kept as a *series* of safe nodes. The first node is no union. The latest of
# each node is less than that of the node before it; only the second node may have the same as the first. A series has
# at most one node more than the automaton has states.

FOREVER = 1 << 62


class Bottom:
    """The terminator, the end of each path: one complex event, without positions. It can begin at any later
    position.
    """

    __slots__ = ()
    latest: int = FOREVER


class CesOutput:
    """A node for an event: the complex events of its child, each with one more position at its end."""

    __slots__ = ("child", "latest", "marks", "position")

    def __init__(self, position: int, marks: Marks, child: Node) -> None:
        self.position = position
        self.marks = marks
        self.child = child
        self.latest: int = position if isinstance(child, Bottom) else child.latest


class CesUnion:
    """A node for the union of two sets of complex events.

    right: None after all its complex events have been dropped, because they begin before every window.
    """

    __slots__ = ("latest", "left", "right")

    def __init__(self, left: Node, right: Node | None) -> None:
        self.left = left
        self.right = right
        self.latest: int = left.latest


Node: TypeAlias = Bottom | CesOutput | CesUnion
Series: TypeAlias = list[Node]

WINDOW_BOTTOM = Bottom()


def merge(series: Series) -> Node:
    """Return one node that has all complex events of a series: a list of nodes, the most recent first."""
    node = series[-1]
    for left in reversed(series[:-1]):
        node = CesUnion(left, node)
    return node


def add(series: Series, other: Series) -> Series:
    """Return the union of two series. It changes and returns the more recent one; do not use the other one again."""
    if other[0].latest > series[0].latest:
        series, other = other, series
    node = merge(other)
    # From 1 on: the first node must stay no union, and it is at least as recent as `node`.
    for x in range(1, len(series)):
        if series[x].latest == node.latest:
            series[x] = _union(series[x], node)
            return series
        if series[x].latest < node.latest:
            series.insert(x, node)
            return series
    series.append(node)
    return series


def _union(n1: Node, n2: Node) -> Node:
    """Return a safe node for the union of two safe nodes that are equally recent."""
    if not isinstance(n1, CesUnion):
        return CesUnion(n1, n2)
    if not isinstance(n2, CesUnion):
        return CesUnion(n2, n1)
    # By rule (3) the left child of a safe node is no union, so two unions are taken apart and joined anew.
    rest = [node for node in (n1.right, n2.right) if node is not None]
    rest.sort(key=lambda node: -node.latest)
    tail = None if not rest else rest[0] if len(rest) == 1 else CesUnion(rest[0], rest[1])
    return CesUnion(n1.left, CesUnion(n2.left, tail))


def enumerate_(node: Node, low: Sequence[int] | Mapping[int, int]) -> Iterator[list[CesOutput]]:
    """Yield once each complex event of a node that fits in its window, as its nodes from the latest position to the
    first.

    low[i] is the least position at which a complex event that ends at i may begin. The next step changes the yielded
    list, so copy it to keep it. The time between two outputs is linear in their lengths.
    """
    # Each pending node has an output in the window, by (1) above, and at most three unions lie before it, by (2).
    path: list[CesOutput] = []
    pending: list[tuple[Node, int]] = [(node, 0)]
    bound = 0
    while pending:
        node, depth = pending.pop()
        del path[depth:]
        match node:
            case Bottom():
                yield path
            case CesOutput():
                if not path:
                    bound = low[node.position]
                path.append(node)
                pending.append((node.child, depth + 1))
            case CesUnion():
                if node.right is not None and (not path or node.right.latest >= bound):
                    pending.append((node.right, depth))
                pending.append((node.left, depth))


def number(node: Node, low: Sequence[int] | Mapping[int, int]) -> int:
    """Return the number of complex events that enumerate_ would yield.

    For each ending position it takes time linear in the number of nodes.
    """
    total, ends = 0, [node]
    while ends:
        end = ends.pop()
        match end:
            case Bottom():
                total += 1
            case CesOutput():
                total += _paths(end, low[end.position])
            case CesUnion():
                ends.extend(child for child in (end.left, end.right) if child is not None)
    return total


def _paths(root: Node, bound: int) -> int:
    """Return the number of complex events of a node that begin at bound or later."""
    counts: dict[int, int] = {}
    pending = [root]
    while pending:
        node = pending[-1]
        below = [child for child in children(node) if child.latest >= bound]
        unknown = [child for child in below if id(child) not in counts]
        if unknown:
            pending.extend(unknown)
        else:
            counts[id(node)] = sum(counts[id(child)] for child in below) if below else 1
            pending.pop()
    return counts[id(root)]


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node: one for an output, one or two for a union, none for the terminator."""
    match node:
        case Bottom():
            return ()
        case CesOutput():
            return (node.child,)
        case CesUnion():
            return (node.left,) if node.right is None else (node.left, node.right)


def forget(roots: Iterable[Node], bound: int) -> int:
    """Remove all complex events below the roots that begin before the bound. Return the number of remaining nodes."""
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        # Only right children can be too old: a left child is as recent as its union, and the caller has checked the
        # roots.
        if isinstance(node, CesUnion) and node.right is not None and node.right.latest < bound:
            node.right = None
        pending.extend(children(node))
    return len(seen)


def complex_event(path: list[CesOutput]) -> tuple[int, ...]:
    """Return the positions of a path, ascending."""
    return tuple(node.position for node in reversed(path))


def valuation(path: list[CesOutput]) -> Valuation:
    """Return the valuation that a path of nodes represents: the pairs (variable, position)."""
    return frozenset((variable, node.position) for node in path for variable in node.marks)
