"""Lists of nodes: the data structure of cep17, section 7.2.

It is the compact complex event set of tods21: a node stands for a position, and its children are a list of nodes, given
by its first and its last. What cep17 adds is an order. A new node goes to the top of a list and an old list to its end,
so that in the list of a state the nodes of the present position come first, and what ends here is found without a look
at the rest. A list is a pair of nodes, so the lazy copy of the paper is the pair itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.cea.io_determinize import MARKED
from cerify.automata.evaluate.ces import CompactComplexEventSet, NodeList


class NodeLists(CompactComplexEventSet):
    """The nodes, with the two ways to make a list longer; None is the empty list."""

    def add(self, position: int, children: NodeList, nodes: NodeList | None) -> NodeList:
        """The list with a new node on top."""
        n = self.extend(position, MARKED, children)
        if nodes is None:
            return n, n
        self.append(n, nodes[0])
        return n, nodes[1]

    def joined(self, nodes: NodeList | None, more: NodeList) -> NodeList:
        """The list with another one at its end."""
        if nodes is None:
            return more
        self.append(nodes[1], more[0])
        return nodes[0], more[1]

    def top(self, nodes: NodeList, position: int) -> Iterator[int]:
        """The nodes of the position, which are the first ones of the list (Algorithm 2, Enumerate)."""
        node, last = nodes
        while self.event[node] == position:
            yield node
            if node == last:
                return
            node = self.next[node]
