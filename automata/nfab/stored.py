"""The end of a stream that comes in batches: the batches still needed, by the positions of the whole stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import overload

from cerify.semantics.events import Event, Stream
from cerify.semantics.packages import pa


class StoredEvents(Sequence[Event]):
    """The events from position `start` on; len is that of the whole stream."""

    def __init__(self, start: int = 0) -> None:
        self.start = self._end = start
        self._firsts: list[int] = []
        self._parts: list[Stream] = []
        self._events: dict[int, Event] = {}  # those that were asked for: aggregates read an event many times

    def add(self, S: Stream) -> None:
        """Store one more batch."""
        if len(S):
            self._firsts.append(self._end)
            self._parts.append(S)
            self._end += len(S)

    def delete_before(self, start: int) -> None:
        """Delete the events before that position."""
        self.start = max(self.start, min(start, self._end))
        while self._parts and self._firsts[0] + len(self._parts[0]) <= self.start:
            del self._firsts[0], self._parts[0]
            self._events.clear()

    def table(self) -> pa.Table:
        """The stored events; a column is there if an event has a value for it.

        Raises InputError where an attribute has values of several types, of which no column has all.
        """
        streams = [
            S.part(max(0, self.start - first), len(S)) for first, S in zip(self._firsts, self._parts, strict=True)
        ]
        try:
            return pa.concat_tables([S.table for S in (streams or [Stream()])], promote_options="permissive")
        except pa.ArrowException:  # no type has the values of both columns, as of a number and a text
            return Stream([event for S in streams for event in S]).table

    def __len__(self) -> int:
        return self._end

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return [self[p] for p in range(*index.indices(self._end))]
        if not self.start <= index < self._end:
            raise IndexError(index)
        if index not in self._events:
            at = bisect_right(self._firsts, index) - 1
            self._events[index] = self._parts[at].part(index - self._firsts[at], 1)[0]
        return self._events[index]
