"""The arguments and results of the compiled loops: batches of events and of matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

CHUNK = 16_384  # complex events enumerated at a time; what is written of them stays in a cache

Numbers: TypeAlias = tuple[NDArray[np.int64], NDArray[Any]]
"""Positions int64 [n], ascending, and a number for each: int64, or object (Python's integers) where that overflows."""


@dataclass(frozen=True)
class EventBatch:
    """Consecutive events as arrays.

    base: the position of the first. classes, keys: the number of each event's class, and of its key or -1. admitted:
    whether a match can have it. low: the least position at which a match that ends there may begin. Without windows and
    partitions only base and classes are used.
    """

    base: int
    classes: NDArray[np.int32]
    keys: NDArray[np.int32]
    admitted: NDArray[np.bool_]
    low: NDArray[np.int64]

    def part(self, start: int, end: int) -> EventBatch:
        """The events from one index to before another."""
        rows = slice(start, end)
        return EventBatch(self.base + start, self.classes[rows], self.keys[rows], self.admitted[rows], self.low[rows])

    def then(self, other: EventBatch) -> EventBatch:
        """These events, and others that follow them."""
        return EventBatch(
            self.base,
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.admitted, other.admitted]),
            np.concatenate([self.low, other.low]),
        )

    @classmethod
    def of_classes(cls, classes: NDArray[np.int32]) -> EventBatch:
        """A whole stream without windows and partitions."""
        none = np.zeros(0, np.int32)
        return cls(0, classes, none, none.astype(np.bool_), none.astype(np.int64))


@dataclass(frozen=True)
class MatchBatch:
    """Complex events: the position at which each is found, and as in an Arrow list array offsets and positions.

    labels: how each of these is marked, an index into Tables.labels; empty if they are not wanted.
    """

    at: NDArray[np.int64]
    offsets: NDArray[np.int64]
    events: NDArray[np.int64]
    labels: NDArray[np.int32]

    def first(self, number: int) -> MatchBatch:
        """The first complex events, a number of them."""
        end = self.offsets[number]
        return MatchBatch(self.at[:number], self.offsets[: number + 1], self.events[:end], self.labels[:end])


class Enumeration:
    """The state and the buffers of an enumeration in a compiled loop; they grow where a complex event needs it."""

    def __init__(self, labelled: bool) -> None:
        self.path, self.marks = np.empty(1024, np.int64), np.empty(1024, np.int32)
        self.pending = np.empty((1024, 2), np.int32)
        self.state = np.zeros(4, np.int64)
        self._run = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int64), np.zeros(2 * CHUNK, np.int32)
        self._labelled, self._room = labelled, 4 * CHUNK

    def match_batches(self, kernel: Any, roots: NDArray[np.int64], nodes: Any) -> Any:
        """The complex events of the roots in these nodes, by a loop such as enumerate_lists or enumerate_scoped."""
        r = -1
        while r < roots.shape[0]:
            at, offsets = np.empty(CHUNK, np.int64), np.empty(CHUNK + 1, np.int64)
            offsets[0] = 0
            events = np.empty(self._room, np.int64)
            labels = np.empty(self._room if self._labelled else 0, np.int32)
            r, found = kernel(
                roots, r, nodes, self.path, self.marks, self.pending, self.state, self._run, at, offsets, events, labels
            )
            if found:
                yield MatchBatch(at, offsets, events, labels).first(found)
            elif r < roots.shape[0]:  # something does not fit: the path, the stack, or one complex event
                self.path, self.marks, self.pending = (
                    np.concatenate([x, np.empty_like(x)]) for x in (self.path, self.marks, self.pending)
                )
                self._room *= 2


def total(numbers: NDArray[Any]) -> int:
    """The sum of numbers that are not negative, whatever its size."""
    if numbers.dtype == object:
        return sum(numbers.tolist())
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFFFFFF).sum())


def enlarged(tree: NDArray[Any], nodes: int, size: int) -> NDArray[Any]:
    """An array of a larger size that begins with the nodes of a tree."""
    larger = np.zeros((*tree.shape[:-1], size), tree.dtype)  # what no kernel writes is saved, too
    width = nodes * tree.itemsize
    larger.view(np.uint8)[..., :width] = tree.view(np.uint8)[..., :width]  # field by field numpy is slow
    return larger


def require(condition: bool | np.bool_, otherwise: str) -> None:
    """Raises ValueError unless the condition is true."""
    if not condition:
        raise ValueError(otherwise)
