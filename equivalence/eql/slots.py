"""Two EQL sequences side by side: their shapes and keys, and the states of both slot machines for one key.

A slot machine has a place for each step, at which one unfinished sequence can wait. A state does not keep the events
themselves, only which waiting sequences share events, and in which order these came. So there are finitely many states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cerify.semantics.eql import syntax as eql

Slots: TypeAlias = tuple[tuple[int, ...], ...]
"""For each place of a machine, the events of the sequence that waits there, numbered as they came; () for none."""
State: TypeAlias = tuple[Slots, Slots]


@dataclass(frozen=True)
class SlotRule:
    """A sequence for the search: the filter numbers of the steps and of `until`, and the window in microseconds."""

    steps: tuple[int, ...]
    until: int | None
    window: int | None

    def after(self, slots: Slots, passes: frozenset[int], event: int) -> tuple[Slots, tuple[int, ...]]:
        """Return the slots after an event that passes these filters, and the sequence that it completes, or ()."""
        places = list(slots)
        ended: tuple[int, ...] = ()
        for i in range(len(self.steps) - 1, -1, -1):
            if self.steps[i] not in passes:
                continue
            moved = () if i == 0 else places[i - 1]
            if i > 0 and not moved:
                continue
            if i > 0:
                places[i - 1] = ()
            if i == len(self.steps) - 1:
                ended = (*moved, event)
            else:
                places[i] = (*moved, event)
        return ((),) * len(slots) if self.until in passes else tuple(places), ended


def key_fields(query: eql.EqlQuery) -> Iterator[eql.EventField]:
    body = query.body
    if not isinstance(body, eql.EventFilter):
        until = (body.until,) if isinstance(body, eql.EventSequence) and body.until is not None else ()
        for step in (*body.steps, *until):
            yield from eql.step_keys(body, step)


def key_shape(query: eql.EqlQuery) -> set[tuple[eql.EventField, ...]]:
    """Return the keys of the steps, each as a tuple of fields; there is only one if all steps have the same key."""
    body = query.body
    if isinstance(body, eql.EventFilter):
        return {()}
    until = (body.until,) if isinstance(body, eql.EventSequence) and body.until is not None else ()
    return {eql.step_keys(body, step) for step in (*body.steps, *until)}


def with_keys_in_order(query: eql.EqlQuery) -> eql.EqlQuery:
    """Return the query with the fields of its key in a fixed order, which does not change the matches."""
    body = query.body
    if isinstance(body, eql.EventFilter):
        return query
    until = (body.until,) if isinstance(body, eql.EventSequence) and body.until is not None else ()
    steps = (*body.steps, *until)
    places = sorted(
        zip(*(eql.step_keys(body, step) for step in steps), strict=True),
        key=lambda fields: [(field.name, field.optional) for field in fields],
    )
    if all(len(set(fields)) == 1 for fields in places):
        ordered = [replace(step, keys=()) for step in steps]
        keys = tuple(fields[0] for fields in places)
    else:
        ordered = [replace(step, keys=tuple(fields[i] for fields in places)) for i, step in enumerate(steps)]
        keys = ()
    if isinstance(body, eql.EventSample):
        return replace(query, body=replace(body, keys=keys, steps=tuple(ordered)))
    steps_, last = (tuple(ordered[:-1]), ordered[-1]) if until else (tuple(ordered), None)
    return replace(query, body=replace(body, keys=keys, steps=steps_, until=last))


def shape_of(query: eql.EqlQuery) -> object:
    """Return the query without the conditions of its steps, with keys at each step, and `runs=n` as n steps."""
    nothing = eql.EventFilter(None, eql.FieldConstant(True))
    body = query.body
    if isinstance(body, eql.EventFilter):
        return query.pipes

    def bare(step: eql.SequenceStep) -> eql.SequenceStep:
        return replace(step, filter=nothing, keys=eql.step_keys(body, step), runs=1, span=None)

    steps = tuple(map(bare, body.steps if isinstance(body, eql.EventSample) else eql.step_expanded(body)))
    if isinstance(body, eql.EventSample):
        return ("sample", steps, query.pipes)
    window = None if body.maxspan is None else body.maxspan.microseconds
    return ("sequence", window, steps, None if body.until is None else bare(body.until), query.pipes)


def expanded_filters(query: eql.EqlQuery) -> list[eql.EventFilter]:
    """Return the filters of a query: the filter of a step with `runs=n` n times, and the filter of `until` last."""
    if not isinstance(query.body, eql.EventSequence):
        return list(eql.filters_of(query))
    until = [] if query.body.until is None else [query.body.until]
    return [step.filter for step in (*eql.step_expanded(query.body), *until)]


def expanded_steps(query: eql.EqlQuery) -> list[eql.SequenceStep]:
    """Return the steps that have an event in a match, a step with `runs=n` n times; a filter is one step."""
    match query.body:
        case eql.EventFilter():
            return [eql.SequenceStep(query.body)]
        case eql.EventSequence():
            return [step for step in eql.step_expanded(query.body) if not step.missing]
        case eql.EventSample():
            return list(query.body.steps)


def first_events(state: State) -> list[int]:
    """Return the first events of the waiting sequences, in the order in which they came."""
    return sorted({slot[0] for slots in state for slot in slots if slot})


def step_rules(
    rules: tuple[SlotRule, SlotRule], state: State, passes: frozenset[int], old: int
) -> tuple[State, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the state of both rules after an event that passes these filters, and the sequence that each rule
    completes, or ().

    old: how many first events of waiting sequences are now too old for the window.
    """
    gone = set(first_events(state)[:old])
    kept = [tuple(() if slot and slot[0] in gone else slot for slot in slots) for slots in state]
    event = 1 + max((p for slots in kept for slot in slots for p in slot), default=-1)
    (one, left), (other, right) = (rule.after(slots, passes, event) for rule, slots in zip(rules, kept, strict=True))
    used = sorted({p for slots in (one, other) for slot in slots for p in slot})
    rank = {p: i for i, p in enumerate(used)}
    renamed: list[Slots] = [tuple(tuple(rank[p] for p in slot) for slot in slots) for slots in (one, other)]
    return (renamed[0], renamed[1]), (left, right)


def path_to(back: dict[State, tuple[State, int, int] | None], state: State) -> list[tuple[int, int]]:
    path = []
    while (step := back[state]) is not None:
        state, n, old = step
        path.append((n, old))
    return path[::-1]
