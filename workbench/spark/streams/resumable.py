"""Runs that are put aside between batches: what is asked of them, whatever the language."""

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
        """Of the next event."""

    @abstractmethod
    def save(self) -> bytes:
        """What is known, to go on from later; no more than later matches need."""

    @abstractmethod
    def reachable(self) -> NDArray[np.int64]:
        """After a save: the positions that later matches may have, and perhaps some more."""


class Compiled(ABC):
    """A query as its runs share it."""

    @abstractmethod
    def start(self) -> Resumable:
        """A run over a stream of which nothing is known yet."""

    @abstractmethod
    def restore(self, saved: bytes) -> Resumable:
        """The run that was saved. Raises InputError for the state of anything else."""

    @property
    @abstractmethod
    def widths(self) -> Mapping[str, Width]:
        """The windows on values, by attribute."""

    @property
    @abstractmethod
    def is_memoryless(self) -> bool:
        """Whether a run of which such a window has passed finds what a new one finds."""
