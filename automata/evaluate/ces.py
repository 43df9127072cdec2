"""Compact complex event sets: tods21, section 9.2, with Algorithm 1.

A node stands for a position, and each path from it to the terminator for a complex event. The children of a node are a
list of nodes, given by its first and its last node; it runs from the one to the other along next. Nodes are only
added, and next is set once, so that a pair of nodes always stands for the same list.
"""

from __future__ import annotations

from collections.abc import Iterator

from cerify.semantics.events import Valuation

BOTTOM = 0
NOTHING = -1

NodeList = tuple[int, int]


class CompactComplexEventSet:
    """A growing set of nodes; node 0 is the terminator, written ⊥ in the paper."""

    def __init__(self) -> None:
        self.event = [NOTHING]
        self.marks: list[frozenset[str]] = [frozenset()]
        self.first = [NOTHING]
        self.last = [NOTHING]
        self.next = [NOTHING]

    def __len__(self) -> int:
        return len(self.event)

    def extend(self, position: int, marks: frozenset[str], children: NodeList) -> int:
        """A new node for a position marked with marks; its children are the nodes of a list."""
        self.event.append(position)
        self.marks.append(marks)
        self.first.append(children[0])
        self.last.append(children[1])
        self.next.append(NOTHING)
        return len(self.event) - 1

    def append(self, end: int, start: int) -> None:
        """Append the list that begins with start to the one whose last node is end."""
        self.next[end] = start

    def enumerate(self, nodes: NodeList) -> Iterator[list[int]]:
        """Each complex event of the list once, as its nodes from the latest position to the first (Algorithm 1).

        The list that is yielded is the algorithm's own and changes with the next step. The time between
        two outputs is linear in their lengths. The recursion of the algorithm is kept in pending: the rest of each list
        that is under way, and how long the path was when it began.
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
        """The positions of a path, ascending."""
        return tuple(self.event[node] for node in reversed(path))

    def valuation(self, path: list[int]) -> Valuation:
        """The valuation of a path."""
        return frozenset((variable, self.event[node]) for node in path for variable in self.marks[node])
