"""EnumAll*: enumeration with constant delay (cep17, appendix D.1, Algorithm 3).

The output is a tape: for each complex event its positions, the latest first, and then END. Between two symbols on the
tape lies a constant number of steps, also where a complex event shares nothing with the one before but its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cerify.automata.evaluate.cep17.lists import NodeLists
from cerify.automata.evaluate.ces import BOTTOM, NodeList

END = -1


@dataclass
class BlackWhiteStack:
    """A stack of nodes, each with the list of its children that are still to be visited.

    A node is black as long as it has such children, and white from then on. Only the first size entries of nodes count:
    what lies above is overwritten, so that popping any number of nodes is one step.
    """

    nodes: list[int] = field(default_factory=list)
    size: int = 0
    black: list[tuple[int, NodeList]] = field(default_factory=list)
    """Of each black node its place in the stack, and the children that are left."""

    def push(self, node: int) -> None:
        if self.size == len(self.nodes):
            self.nodes.append(node)
        else:
            self.nodes[self.size] = node
        self.size += 1

    def blacken(self, left: NodeList) -> None:
        """The node on top has these children left."""
        self.black.append((self.size - 1, left))

    def pop_white(self) -> NodeList:
        """Pop the white nodes at the top; the black one below is white from now on, and these children are left."""
        place, left = self.black.pop()
        self.size = place + 1
        return left

    def recap(self, D: NodeLists) -> Iterator[int]:
        """The positions of the stack, bottom first."""
        for place in range(self.size):
            yield D.event[self.nodes[place]]


def enum_all(D: NodeLists, root: int) -> Iterator[int]:
    """The tape of all paths from a node to the terminator."""
    stack = BlackWhiteStack()
    stack.push(root)
    yield D.event[root]
    left = D.first[root], D.last[root]
    while True:
        node, last = left
        if node != last:
            stack.blacken((D.next[node], last))
        if node != BOTTOM:
            stack.push(node)
            yield D.event[node]
            left = D.first[node], D.last[node]
            continue
        yield END
        if not stack.black:
            return
        left = stack.pop_white()
        yield from stack.recap(D)


def complex_events(tape: Iterator[int]) -> Iterator[tuple[int, ...]]:
    """What is written on a tape, the positions ascending."""
    path: list[int] = []
    for symbol in tape:
        if symbol == END:
            yield tuple(reversed(path))
            path = []
        else:
            path.append(symbol)
