"""Whether a state selects an event, or skips it: sase07, section 3.2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from cerify.automata.nfab.instances import in_window
from cerify.automata.nfab.plan import QueryPlan, StatePlan
from cerify.automata.nfab.registers import RegisterValues
from cerify.semantics.events import Event
from cerify.semantics.predicates import compare, satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import Reading


@dataclass(slots=True, eq=False)
class EventContext:
    """An event and its position, with the states, by number, whose conditions on one event it was found to satisfy."""

    event: Event
    position: int
    passing: dict[int, bool] = field(default_factory=dict)


class Selection:
    """The formulas on the edges of one query."""

    def __init__(self, q: sase.Query, reading: Reading, plan: QueryPlan) -> None:
        self.q, self.reading, self.plan = q, reading, plan

    def select(self, state: StatePlan, values: RegisterValues, at: EventContext) -> RegisterValues | None:
        """The values after selecting the event, None if it is not what the state awaits (θ_select)."""
        event, registers = at.event, self.plan.registers
        if not self.passes(state, at):
            return None
        if self.q.within is not None and not self.spans(values[0], event):
            return None
        if not all(compare("=", event.get(x), values[number]) for number, x in enumerate(registers.tests, 1)):
            return None
        new = registers.after_selecting(values, state.variable, state.kind != "more", event)
        read = registers.reader(new)
        return new if all(satisfied(p, read) for p in state.on_run) else None

    def passes(self, state: StatePlan, at: EventContext) -> bool:
        """Whether the event has the type, and satisfies the conditions on one event."""
        if state.number not in at.passing:
            event = at.event
            at.passing[state.number] = event.type == state.type and all(
                satisfied(p, lambda a: event.get(a.name)) for p in state.on_event
            )
        return at.passing[state.number]

    def skips(
        self, state: StatePlan, values: RegisterValues, at: EventContext, selected: RegisterValues | None
    ) -> bool:
        """Whether the event may be passed over (θ_skip: Table 1)."""
        match state.strategy:
            case "strict_contiguity":
                return False
            case "partition_contiguity":
                return not self._is_in_partition(state, values, at)
            case "skip_till_next_match":
                return selected is None
            case "skip_till_any_match":
                return True
            case strategy:
                assert_never(strategy)

    def _is_in_partition(self, state: StatePlan, values: RegisterValues, at: EventContext) -> bool:
        registers = self.plan.registers
        for number, x in enumerate(registers.tests, 1):
            if x in self.plan.partition and not compare("=", at.event.get(x), values[number]):
                return False
        if not state.in_partition:
            return True
        read = registers.reader(registers.after_selecting(values, state.variable, state.kind != "more", at.event))
        return all(satisfied(p, read) for p in state.in_partition)

    def follows(self, state: StatePlan, values: RegisterValues, at: EventContext) -> bool:
        """Whether the event is one for the next component (θ_begin of the next state), where that is of consequence."""
        if state.is_last or (state.leaving == "by_condition" and state.skips_next):
            return False
        return self.select(self.plan.states[state.number + 1], values, at) is not None

    def is_complete(self, state: StatePlan, values: RegisterValues) -> bool:
        """Whether the conditions on the component as a whole hold."""
        read = self.plan.registers.reader(values)
        return all(satisfied(p, read) for p in state.at_end)

    def spans(self, first: Event, event: Event) -> bool | None:
        """Whether an event is within the window of the first of a run; None where their times cannot be compared."""
        if self.q.within is None:
            return True
        return in_window(self.q.within, self.reading.window == "closed", first, event)
