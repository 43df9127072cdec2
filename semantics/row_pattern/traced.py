"""The search for a match by the definition, with every attempt to label a row."""

from __future__ import annotations

from dataclasses import dataclass, field

from cerify.semantics.row_pattern.denote import Labelling, Meaning
from cerify.semantics.row_pattern.expressions import value


@dataclass(frozen=True)
class Attempt:
    """A row that was given a label after the labels before it, and whether its condition is true; None for unknown."""

    labels: tuple[str, ...]
    outcome: bool | None
    there: bool  # whether there is a row


@dataclass(frozen=True)
class Traced(Meaning):
    """The labellings at a row, with all attempts."""

    attempts: list[Attempt] = field(default_factory=list)

    def feasible(self, w: Labelling) -> bool:
        found = super().feasible(w)
        there = self.s + len(w) <= self.visible.stop
        condition = self.q.conditions.get(w[-1].variable)
        known = found if found or not there or condition is None else value(condition, self.frame(w, len(w)))
        outcome = known if isinstance(known, bool) else None
        self.attempts.append(Attempt(tuple(label.variable for label in w), outcome, there))
        return found
