"""The flat arrays of the compiled loops, which live from batch to batch and grow; kernels.py says what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.nfab import opcodes as op


class Memory:
    """The arrays of one evaluator; registers is how many numbers a run has."""

    def __init__(self, registers: int) -> None:
        self.numbers = np.zeros(10, np.int64)
        self.numbers[op.FREE] = -1
        self.deleted = 0  # nodes
        self.head = np.array([[-1, 0]], np.int32)
        self.runs, self.registers = np.empty((0, 3), np.int32), np.empty((0, registers))
        self.nodes = np.empty((1024, 5), np.int64)
        self.queue_times, self.queue_keys = np.empty(64), np.empty(64, np.int32)
        self.pending = np.empty(64, np.int64)
        self.offsets = np.zeros(1024, np.int64)
        self.labels, self.events = np.empty(4096, np.uint8), np.empty(4096, np.int64)

    def make_room(self, key: int) -> None:
        """Enlarge the array that was too short at an event of that partition."""
        numbers, at_most = self.numbers, 3 * int(self.head[key, 1]) + 4
        match numbers[op.NEEDED]:
            case op.ROOM_FOR_PENDING:
                most = max(at_most, int(self.head[:, 1].max()))
                self.pending = _grown(self.pending, 2 * (int(numbers[op.PENDING]) + most))
            case op.ROOM_FOR_NODES:
                from cerify.automata.nfab.kernels import clear

                before = int(numbers[op.NODES])
                clear(self.nodes, self.runs, self.head, self.pending, numbers)
                self.deleted += before - int(numbers[op.NODES])
                if 2 * (needed := int(numbers[op.NODES]) + at_most) > len(self.nodes):
                    self.nodes = _grown(self.nodes, 4 * needed)
            case op.ROOM_FOR_RUNS:
                there, more = len(self.runs), 2 * (int(numbers[op.ALIVE]) + at_most)
                self.runs, self.registers = _grown(self.runs, more), _grown(self.registers, more)
                self.runs[there:, 0] = np.arange(there - 1, more - 1)
                self.runs[there, 0] = numbers[op.FREE]
                numbers[op.FREE] = more - 1
            case op.ROOM_IN_QUEUE:
                begin, end = int(numbers[op.QUEUE_FROM]), int(numbers[op.QUEUE_TO])
                room = max(64, 2 * (end - begin))
                self.queue_times = _grown(self.queue_times[begin:end], room)
                self.queue_keys = _grown(self.queue_keys[begin:end], room)
                numbers[op.QUEUE_FROM], numbers[op.QUEUE_TO] = 0, end - begin
            case op.OUTPUT:
                length = int(self.nodes[self.pending[numbers[op.PENDING] - 1], 3])
                if int(numbers[op.FOUND]) + 1 == len(self.offsets):
                    self.offsets = _grown(self.offsets, 2 * len(self.offsets))
                if (needed := int(numbers[op.EVENTS]) + length) > len(self.events):
                    self.labels, self.events = _grown(self.labels, 2 * needed), _grown(self.events, 2 * needed)
        numbers[op.NEEDED] = 0

    def resize(self, partitions: int) -> None:
        """Make room for the runs of that many partitions."""
        if (more := partitions - len(self.head)) > 0:
            self.head = np.concatenate([self.head, np.array([[-1, 0]] * more, np.int32)])

    def retain(self, partitions: NDArray[np.int64]) -> None:
        """Delete all partitions but these, which include all that have runs, and number these anew."""
        numbers = np.zeros(len(self.head), np.int32)
        numbers[partitions] = np.arange(len(partitions))
        self.head = self.head[partitions]
        queued = slice(int(self.numbers[op.QUEUE_FROM]), int(self.numbers[op.QUEUE_TO]))
        self.queue_keys[queued] = numbers[self.queue_keys[queued]]


def _grown(array: NDArray[Any], length: int) -> NDArray[Any]:
    """A copy of the array of that length, with zeros behind the old values."""
    larger = np.zeros((length, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
