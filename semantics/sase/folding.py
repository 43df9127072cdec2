"""The values of the aggregates of SASE+ by their definition: sase07, section 2.2.4 and footnote 3.

An operation folds the values of an attribute over the events of an array, in the order of the stream: the identity
first, then `combine` with the lifted value of one event after the other. The rules that every evaluator follows:
- an event that lacks the attribute counts for nothing, which is what the identity is for;
- a value of the wrong kind leaves the aggregate without a value, and so does a number too large;
- sum and avg are exact on integers; with a float each step is the addition of binary64, in the order of the stream;
- min, max, highest and lowest are defined for numbers, strings and times, of one kind only; a NaN among them gives NaN;
- highest(k, …) is the k-th highest value, repetitions counted, and has no value where there are fewer.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, cast, get_args

from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import Event
from cerify.semantics.sase.aggregates import BUILT_IN, NO_OPERATIONS, RANKED, Operation, Operations, State
from cerify.semantics.sase.syntax import Aggregate
from cerify.semantics.values import Value, kind


def operation_of(aggregate: Aggregate, operations: Operations = NO_OPERATIONS) -> Operation:
    """The operation that an aggregate names. Raises Unsupported where it is not registered."""
    match aggregate.function:
        case "count":
            return _COUNT
        case "sum":
            return _SUM
        case "avg":
            return _AVG
        case "min" | "max" as function:
            return ranked(1, "lowest" if function == "min" else "highest")
        case "highest" | "lowest" as function:
            if not aggregate.parameter:
                raise IllFormed(f"{function} needs to know how many: write {function}(3, …)")
            return ranked(aggregate.parameter, function)
        case name:
            if (operation := operations.get(name)) is None:
                known = ", ".join((*BUILT_IN, *RANKED, *sorted(operations)))
                raise Unsupported(f"the aggregate {name} is not registered; known are {known}")
            return _guarded(name, operation)


def extended(operation: Operation, state: State, event: Event, name: str) -> State:
    """The state after one more event, whose attribute of that name counts; with name "" every event does."""
    value = 1 if name == "" else event.get(name)
    return state if value is None else operation.combine(state, operation.lift(value))


def folded(aggregate: Aggregate, events: Iterable[Event], operations: Operations = NO_OPERATIONS) -> Value | None:
    """The value of an aggregate over some events, None if it has none."""
    operation = operation_of(aggregate, operations)
    state = operation.identity
    for event in events:
        state = extended(operation, state, event, aggregate.name)
    return operation.result(state)


# --- those of the language --------------------------------------------------------------------------------------------


class _Undefined:
    """A state without a value; what it is combined with has none either."""


UNDEFINED = _Undefined()


def _count_lift(value: Value) -> State:
    return 1


_COUNT = Operation(0, _count_lift, operator.add, lambda state: state)


def _number(value: Value) -> State:
    return value if kind(value) == "number" else UNDEFINED


def _plus(left: State, right: State) -> State:
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    try:
        return left + right
    except OverflowError:  # an integer beyond binary64 and a float
        return UNDEFINED


def _defined(state: State) -> Value | None:
    value: Value | None = None if state is UNDEFINED else state
    return value


def _average(state: State) -> Value | None:
    sum_, count = state
    if sum_ is UNDEFINED or count == 0:
        return None
    try:
        value: Value = sum_ / count
    except OverflowError:
        return None
    return value


_SUM = Operation(0, _number, _plus, _defined)
_AVG = Operation(
    (0, 0),
    lambda value: (_number(value), 1),
    lambda left, right: (_plus(left[0], right[0]), left[1] + right[1]),
    _average,
)


def ranked(k: int, end: Literal["highest", "lowest"]) -> Operation:
    """The k-th highest or lowest value; the state is the k best values, or UNDEFINED, or a NaN alone."""
    return Operation((), _ranked_lift, partial(_best, k, end == "highest"), partial(_kth, k))


def _ranked_lift(value: Value) -> State:
    return UNDEFINED if isinstance(value, bool) else (value,)


def _best(k: int, highest: bool, left: State, right: State) -> State:
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    values = (*left, *right)
    if len(set(map(kind, values))) > 1:
        return UNDEFINED
    if nans := [value for value in values if _is_nan(value)]:
        return (nans[0],)
    return tuple(sorted(values, reverse=highest)[:k])


def _kth(k: int, state: State) -> Value | None:
    if state is UNDEFINED:
        return None
    value: Value | None = state[k - 1] if len(state) >= k else state[0] if state and _is_nan(state[0]) else None
    return value


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


# --- those of a user --------------------------------------------------------------------------------------------------


def _guarded(name: str, operation: Operation) -> Operation:
    """The operation; where its functions fail, or give what is no value, it raises IllFormed."""

    def tried(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception as error:  # whatever a user's function raises is that aggregate's failure
                reason = f"{type(error).__name__}: {error}".removesuffix(": ")
                raise IllFormed(f"the aggregate {name} failed with {reason}") from error

        return call

    def result(state: State) -> Value | None:
        value = tried(operation.result)(state)
        if value is not None and not isinstance(value, get_args(Value)):
            raise IllFormed(f"the aggregate {name} gave {value!r}; it has to give a number, string, bool, time or None")
        return cast("Value | None", value)

    return Operation(operation.identity, tried(operation.lift), tried(operation.combine), result)
