"""How far back a match may begin, event by event: `lookback_bounds` for a stream that has not ended."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from cerify.automata.evaluate.scope import Unordered, Width, Windows, decrease, measurable, within_width
from cerify.semantics.events import Event
from cerify.semantics.values import Value, kind


@dataclass
class RunningWindow:
    """A window on an attribute, and the (position, value) of the events that the next one may still reach."""

    attribute: str
    width: Width
    reached: deque[tuple[int, Value]] = field(default_factory=deque)

    def read(self, position: int, event: Event) -> int | None:
        """The first position that the event reaches, None if it is in no match. Raises Unordered."""
        value = event.get(self.attribute)
        if value is None or not measurable(value) or not within_width(self.width, [value]):
            return None
        if self.reached:
            last = self.reached[-1][1]
            if kind(last) != kind(value):
                was = f"{self.attribute!r} was a {kind(last)} before and is a {kind(value)} now"
                raise Unordered(f"position {position}: {was}; a window on it needs values of one kind")
            if last > value:  # type: ignore[operator]
                raise decrease(self.attribute, position)
        self.reached.append((position, value))
        while not within_width(self.width, [self.reached[0][1], value]):
            self.reached.popleft()
        return self.reached[0][0]


class RunningBounds:
    """The windows of a formula along a stream."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self.ranges = [RunningWindow(a, width) for a, width in windows.widths]

    def copy(self) -> RunningBounds:
        """Another one at the same place of the stream."""
        other = RunningBounds(self._windows)
        other.ranges = [RunningWindow(one.attribute, one.width, one.reached.copy()) for one in self.ranges]
        return other

    def read(self, position: int, event: Event) -> tuple[int, bool]:
        """The first position of a match that ends with the event, and whether it can be in one. Raises Unordered."""
        counted = 0 if self._windows.events is None else position - self._windows.events + 1
        reached = [window.read(position, event) for window in self.ranges]
        return max([0, counted, *(low for low in reached if low is not None)]), None not in reached
