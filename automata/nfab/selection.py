"""What an event is to a run: whether a state selects it, or skips it (sase07, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from cerify.automata.nfab.cells import Values
from cerify.automata.nfab.plan import Place, Plan
from cerify.semantics.events import Event
from cerify.semantics.predicates import compare, satisfied
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import Reading


@dataclass(slots=True, eq=False)
class Look:
    """The event looked at, and which of the clauses on one event it satisfies, as far as that was asked."""

    event: Event
    position: int
    known: dict[tuple[int, bool], bool]


class Selection:
    """The formulas on the edges of one query."""

    def __init__(self, q: sase.Query, reading: Reading, plan: Plan) -> None:
        self.q, self.reading, self.plan = q, reading, plan

    def select(self, place: Place, values: Values, look: Look) -> Values | None:
        """The values after selecting the event, None if it is not what the state awaits (θ_select)."""
        event = look.event
        if not self.passes(place, look):
            return None
        if self.q.within is not None and not self.spans(values[0], event):
            return None
        cells = self.plan.cells
        if not all(compare("=", event.get(x), values[at]) for at, x in enumerate(cells.tests, 1)):
            return None
        new = cells.selected(values, place.variable, place.kind != "more", event)
        read = cells.reader(new)
        return new if all(satisfied(p, read) for p in place.related) else None

    def passes(self, place: Place, look: Look) -> bool:
        """The type of the event, and the clauses that speak of it alone."""
        at = (place.component, place.kind == "more")
        if at not in look.known:
            event = look.event
            look.known[at] = event.type == place.type and all(
                satisfied(p, lambda a: event.get(a.name)) for p in place.own
            )
        return look.known[at]

    def skips(self, place: Place, values: Values, look: Look, selected: Values | None) -> bool:
        """Whether the event may be passed over (θ_skip: Table 1)."""
        match place.strategy:
            case "strict_contiguity":
                return False
            case "partition_contiguity":
                return not self._in_partition(place, values, look)
            case "skip_till_next_match":
                return selected is None
            case "skip_till_any_match":
                return True
            case strategy:
                assert_never(strategy)

    def _in_partition(self, place: Place, values: Values, look: Look) -> bool:
        cells = self.plan.cells
        for at, x in enumerate(cells.tests, 1):
            if x in self.plan.marked and not compare("=", look.event.get(x), values[at]):
                return False
        if not place.marked:
            return True
        read = cells.reader(cells.selected(values, place.variable, place.kind != "more", look.event))
        return all(satisfied(p, read) for p in place.marked)

    def follows(self, place: Place, values: Values, look: Look) -> bool:
        """Whether the event is one for the next component (θ_begin of the next state)."""
        if place.is_last or (place.end and not place.careful):
            return False
        return self.select(self.plan.places[place.number + 1], values, look) is not None

    def is_ended(self, place: Place, values: Values) -> bool:
        """Whether the conditions on the component as a whole hold."""
        read = self.plan.cells.reader(values)
        return all(satisfied(p, read) for p in place.end)

    def spans(self, first: Event, event: Event) -> bool | None:
        """Whether an event comes within the window of the first of a run; None where their times do not tell."""
        window = self.q.within
        return True if window is None else clauses.spans(window, first, event, self.reading.window == "closed")
