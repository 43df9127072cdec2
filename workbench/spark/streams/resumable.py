"""The interface of runs that are saved between batches and restored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.scope import Width
from cerify.spark.runs.run import Run


class Resumable(Run):
    """A run that can be saved."""

    @property
    @abstractmethod
    def position(self) -> int:
        """The position of the next event."""

    @abstractmethod
    def save(self) -> bytes:
        """The state of the run, for `restore`; no more than later matches need."""

    @abstractmethod
    def reachable(self) -> NDArray[np.int64]:
        """After `save`: a superset of the positions that later matches may have, ascending."""


class Compiled(ABC):
    """A compiled query, which its runs share."""

    @abstractmethod
    def start(self) -> Resumable:
        """A run at the beginning of a stream."""

    @abstractmethod
    def restore(self, saved: bytes) -> Resumable:
        """The run that was saved. Raises InputError for the state of another query, or for no state."""

    @property
    @abstractmethod
    def widths(self) -> Mapping[str, Width]:
        """The widths of the windows on values, by attribute."""

    @property
    @abstractmethod
    def is_memoryless(self) -> bool:
        """Whether a run finds the same as a new run once such a window has passed all of its events."""
