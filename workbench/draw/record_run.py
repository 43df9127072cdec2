"""What is looked at of an evaluation of CEL on its way through a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cerify.automata.cea.io_determinize import MARKED
from cerify.automata.cea.model import Marks
from cerify.automata.evaluate.decorrelation import is_mark
from cerify.draw.recording import Graph
from cerify.semantics.events import Valuation

Path = tuple[int, ...]


class Run(Protocol):
    """An evaluation that is looked at."""

    graph: Graph

    def push(self, n: int, type_: int) -> None: ...

    def state_rows(self) -> Iterator[tuple[int, str, Path]]:
        """The active states of the I/O-deterministic automaton, each with a key's text and its nodes."""

    def live(self) -> frozenset[int]: ...

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        """The complex events at the last position read."""


def label(position: int, marks: Marks) -> str:
    """The position, and the variables of the query that mark it."""
    own = sorted(A for A in marks - MARKED if not is_mark(A))
    return " ".join((str(position), ", ".join(own))).strip()
