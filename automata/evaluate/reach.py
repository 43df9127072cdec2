"""How many events before a match a query may depend on, as a value; cerify.reach finds it for formulas of CEL.

A stream can be cut into parts that are read apart: each reads that number of events before its own too, and reports the
matches at its own events.
"""

from __future__ import annotations

from dataclasses import dataclass

from cerify.automata.evaluate.scope import Width
from cerify.semantics.events import TIME


@dataclass(frozen=True)
class LookbackBounds:
    """Windows that end with the event at which a match is reported; it depends on nothing before all of them.

    events: the number of events of a window, that event included. widths: windows on values, each with its attribute.
    """

    events: int = 1
    widths: tuple[tuple[str, Width], ...] = ()

    def __str__(self) -> str:
        """The windows in words."""
        widths = [f"{width:g} {'seconds' if name == TIME else f'of {name}'}" for name, width in self.widths]
        events = [f"{self.events} event{'s' * (self.events > 1)}"] if self.events > 1 or not widths else []
        return " and ".join(events + widths)
