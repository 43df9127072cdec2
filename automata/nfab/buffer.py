"""The shared match buffer: the events that the runs have selected, each stored once for all runs that extend it.

Others keep one stack of events for each state, and mark each pointer with the version numbers of the runs it is for
(doi 10.1145/1376616.1376634), so that runs can share an entry without sharing what lies before it. Here a node is
never changed once it is there, so that pointers need no versions: who can reach a node can use all that lies before
it. The price is a node for each run that selects an event, where a stack has an entry and a pointer for each run.
What is won is that runs whose futures are the same become one run, whose node points to the last nodes of all. So the
nodes may stand for exponentially many matches, which are counted without being listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from cerify.semantics.events import Bindings

Path: TypeAlias = "tuple[int, int, Path] | None"
"""Some last events of a match: component and position of the first of them, and the rest."""


@dataclass(slots=True, eq=False)
class Node:
    """An event selected for a component, after one of the nodes before it; without any it is the first of its runs.

    Nodes that differ stand for different events selected so far; count says for how many.
    """

    component: int
    position: int
    before: tuple[Node, ...] = ()
    count: int = field(init=False)
    is_match: bool = False

    def __post_init__(self) -> None:
        self.count = sum(node.count for node in self.before) if self.before else 1


def matches_of(node: Node, variables: Sequence[str]) -> Iterator[Bindings]:
    """The bindings of all paths from a node back to a first one."""
    pending: list[tuple[Node, Path]] = [(node, None)]
    while pending:
        node, after = pending.pop()
        path: Path = (node.component, node.position, after)
        if node.before:
            pending.extend((before, path) for before in node.before)
        else:
            yield tuple(
                (variables[k], tuple(position for _, position in events))
                for k, events in groupby(_events(path), lambda pair: pair[0])
            )


def _events(path: Path) -> Iterator[tuple[int, int]]:
    while path is not None:
        component, position, path = path
        yield component, position
