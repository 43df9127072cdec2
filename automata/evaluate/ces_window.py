"""Sets of complex events that know how recent they are: the structure behind windows, after the CORE engine's tECS.

A node stands for a set of complex events, each path from it to the terminator for one of them:

    Bottom    the terminator: one complex event, without positions
    Output    the complex events of a child, each with one more position, later than all of theirs
    Union     those of its left and those of its right; the two have none in common

latest is the latest first position of a node's complex events. So that enumeration skips what begins too early without
looking into it, and never goes far for the next output, these hold for every node (od is 0 for a node that is no union,
and for a union 1 more than that of its left):

    (1) a union's latest is that of its left, and not less than that of its right;
    (2) od is at most 3;
    (3) in a *safe* node the left is no union, and od of the right is at most 2; a node that is no union is safe.

Between events the sets of one state are kept as a *series*: safe nodes of which the first is no union, the latest of
each less than that of the one before it, but for the second, where it may be the same. A series has at most as many
nodes as the automaton has states, and one more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from cerify.automata.cea.model import Marks
from cerify.semantics.events import Valuation

FOREVER = 1 << 62


class Bottom:
    """The terminator; its complex event has not begun, so that it can begin at any position to come."""

    __slots__ = ()
    latest: int = FOREVER


class Output:
    """Each complex event of the child, and a position marked with marks."""

    __slots__ = ("child", "latest", "marks", "position")

    def __init__(self, position: int, marks: Marks, child: Node) -> None:
        self.position = position
        self.marks = marks
        self.child = child
        self.latest: int = position if isinstance(child, Bottom) else child.latest


class Union:
    """The complex events of both; right is None once all of its begin too early to matter."""

    __slots__ = ("latest", "left", "right")

    def __init__(self, left: Node, right: Node | None) -> None:
        self.left = left
        self.right = right
        self.latest: int = left.latest


Node: TypeAlias = Bottom | Output | Union
Series: TypeAlias = list[Node]

BOTTOM = Bottom()


def merge(series: Series) -> Node:
    """The safe node of all that is in a series."""
    node = series[-1]
    for left in reversed(series[:-1]):
        node = Union(left, node)
    return node


def add(series: Series, other: Series) -> Series:
    """The series of both. The more recent argument is changed and returned; the other must not be used again."""
    if other[0].latest > series[0].latest:
        series, other = other, series
    node = merge(other)
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
    """The safe node of two safe nodes that are equally recent."""
    if not isinstance(n1, Union):
        return Union(n1, n2)
    if not isinstance(n2, Union):
        return Union(n2, n1)
    rest = [node for node in (n1.right, n2.right) if node is not None]
    rest.sort(key=lambda node: -node.latest)
    tail = None if not rest else rest[0] if len(rest) == 1 else Union(rest[0], rest[1])
    return Union(n1.left, Union(n2.left, tail))


def enumerate_(node: Node, low: Sequence[int] | Mapping[int, int]) -> Iterator[list[Output]]:
    """Each complex event of a node that is in its window once, as its nodes from the latest position to the first.

    low[i] is the least position at which one that ends at i may begin. The list that is yielded is the algorithm's own
    and changes with the next step. The time between two outputs is linear in their lengths: what is pending has an
    output in the window, by (1), and is at most three unions away from the next node of it, by (2).
    """
    path: list[Output] = []
    pending: list[tuple[Node, int]] = [(node, 0)]
    bound = 0
    while pending:
        node, depth = pending.pop()
        del path[depth:]
        match node:
            case Bottom():
                yield path
            case Output():
                if not path:
                    bound = low[node.position]
                path.append(node)
                pending.append((node.child, depth + 1))
            case Union():
                if node.right is not None and (not path or node.right.latest >= bound):
                    pending.append((node.right, depth))
                pending.append((node.left, depth))


def number(node: Node, low: Sequence[int] | Mapping[int, int]) -> int:
    """How many complex events enumerate_ would list, in time linear in the number of nodes for each ending position."""
    total, ends = 0, [node]
    while ends:
        end = ends.pop()
        match end:
            case Bottom():
                total += 1
            case Output():
                total += _paths(end, low[end.position])
            case Union():
                ends.extend(child for child in (end.left, end.right) if child is not None)
    return total


def _paths(root: Node, bound: int) -> int:
    """The complex events of a node that begin at bound or later."""
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
    """The nodes that a node leads to."""
    match node:
        case Bottom():
            return ()
        case Output():
            return (node.child,)
        case Union():
            return (node.left,) if node.right is None else (node.left, node.right)


def forget(roots: Iterable[Node], bound: int) -> int:
    """Drop all complex events below the roots that begin before the bound; returns the number of nodes left."""
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Union) and node.right is not None and node.right.latest < bound:
            node.right = None
        pending.extend(children(node))
    return len(seen)


def complex_event(path: list[Output]) -> tuple[int, ...]:
    """The positions of a path, ascending."""
    return tuple(node.position for node in reversed(path))


def valuation(path: list[Output]) -> Valuation:
    """The valuation of a path."""
    return frozenset((variable, node.position) for node in path for variable in node.marks)
