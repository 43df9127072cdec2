"""The aggregates of SASE+, one event at a time: sase07, section 2.2.4 and footnote 3.

A fold has a start, a step for one more value, and a result. A state is a number, a tuple of values, or None once no
value can come of it; a user's operation has states of its own types. The rules for absent values, kinds and NaN are
those of semantics/sase/folding.py, the definition, of which nothing is used here.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import Event
from cerify.semantics.sase.aggregates import BUILT_IN, NO_OPERATIONS, RANKED, Operation, Operations
from cerify.semantics.sase.syntax import Aggregate
from cerify.semantics.values import Value, kind

State = Any


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate as a loop: the state before the first value, after one more, and the value of a state."""

    start: State
    step: Callable[[State, Value], State]
    result: Callable[[State], Value | None]

    def read(self, state: State, event: Event, name: str) -> State:
        """The state after an event, whose attribute of that name counts if it is there; name "" counts each event."""
        value = event.get(name) if name else 1
        return state if value is None else self.step(state, value)


def fold_of(aggregate: Aggregate, operations: Operations = NO_OPERATIONS) -> Fold:
    """The fold of an aggregate. Raises Unsupported for a name that is not registered, IllFormed without a rank."""
    match aggregate.function:
        case "count":
            return Fold(0, _one_more, _itself)
        case "sum":
            return Fold(0, _added, _itself)
        case "avg":
            return Fold((0, 0), _added_and_counted, _mean)
        case "min":
            return _best(1, highest=False)
        case "max":
            return _best(1, highest=True)
        case "highest" | "lowest" as function:
            if not aggregate.parameter:
                raise IllFormed(f"{function} needs a rank: write {function}(3, …)")
            return _best(aggregate.parameter, highest=function == "highest")
        case name:
            if (operation := operations.get(name)) is None:
                known = ", ".join((*BUILT_IN, *RANKED, *sorted(operations)))
                raise Unsupported(f"the aggregate {name} is not registered; known are {known}")
            return _registered(name, operation)


def value_over(aggregate: Aggregate, events: Iterable[Event], operations: Operations = NO_OPERATIONS) -> Value | None:
    """The value of an aggregate over some events, None if it has none."""
    fold = fold_of(aggregate, operations)
    state = fold.start
    for event in events:
        state = fold.read(state, event, aggregate.name)
    return fold.result(state)


def _itself(state: State) -> Value | None:
    value: Value | None = state
    return value


def _one_more(state: State, value: Value) -> State:
    return state + 1


def _added(state: State, value: Value) -> State:
    if state is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return state + value
    except OverflowError:  # an integer beyond binary64 and a float
        return None


def _added_and_counted(state: State, value: Value) -> State:
    total, number = state
    return _added(total, value), number + 1


def _mean(state: State) -> Value | None:
    total, number = state
    if total is None or number == 0:
        return None
    try:
        mean: Value = total / number
    except OverflowError:
        return None
    return mean


def _best(k: int, highest: bool) -> Fold:
    """The k-th highest or lowest: the state is the k best values, ascending, or a NaN alone.

    Of values that are equal, as 1 and 1.0, the earlier one is the better.
    """

    def step(state: State, value: Value) -> State:
        if state is None or isinstance(value, bool) or (state and kind(state[0]) != kind(value)):
            return None
        if state and _is_nan(state[0]):
            return state
        if _is_nan(value):
            return (value,)
        at = (bisect_left if highest else bisect_right)(state, value)
        values = (*state[:at], value, *state[at:])
        return values[-k:] if highest else values[:k]

    def result(state: State) -> Value | None:
        if not state or (len(state) < k and not _is_nan(state[0])):
            return None
        value: Value = state[0] if highest else state[-1]
        return value

    return Fold((), step, result)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _registered(name: str, operation: Operation) -> Fold:
    """The fold of a user's operation. Where its functions fail, or give what is no value, it raises IllFormed."""

    def step(state: State, value: Value) -> State:
        try:
            return operation.combine(state, operation.lift(value))
        except Exception as error:  # a user's function may raise anything
            raise _failed(name, error) from error

    def result(state: State) -> Value | None:
        try:
            value = operation.result(state)
        except Exception as error:  # a user's function may raise anything
            raise _failed(name, error) from error
        if value is not None and not isinstance(value, get_args(Value)):
            raise IllFormed(f"the aggregate {name} gave {value!r}; it has to give a number, string, bool, time or None")
        return value

    return Fold(operation.identity, step, result)


def _failed(name: str, error: Exception) -> IllFormed:
    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
    return IllFormed(f"the aggregate {name} failed with {reason}")
