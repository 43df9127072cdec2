"""The syntax trees of EQL, and their text.

A query is an event query, a sequence or a sample, followed by pipes. A condition is a tree of `and`, `or` and `not`
over tests of one event. Two trees are equal if they are the same query, wherever they stood in a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar, Literal, TypeAlias, assert_never

from cerify.semantics.errors import Span
from cerify.semantics.trees import Tree, subtrees

UNITS = {
    "d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "micros": 1,
}  # fmt: skip
"""The units of maxspan in microseconds."""
MOST_RUNS = 100

Comparator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
MatchOperator: TypeAlias = Literal[":", "like", "like~", "regex", "regex~", "in", "in~"]


class _EqlNode(Tree):
    span: Span | None = field(default=None, kw_only=True)  # not positional: no part of a tree's value


# --- expressions and conditions ---------------------------------------------------------------------------------------


class SingleCondition(_EqlNode):
    """The base class of single conditions, such as comparisons, and of their terms.

    Conditions that `not`, `and` and `or` make from others have classes of their own.
    """


class EventField(SingleCondition):
    """A field of the event, named with dots. optional: the field is written with `?`; as a key, it may be null."""

    name: str
    optional: bool = False


class FieldConstant(SingleCondition):
    """A number, a string, true, false or null."""

    value: int | float | str | bool | None


class FunctionCall(SingleCondition):
    """A call of a documented function. folded: whether it is written with `~` and ignores case."""

    operands: ClassVar = ("arguments",)
    name: str
    folded: bool
    arguments: tuple[Condition, ...]


class FieldArithmetic(SingleCondition):
    """`left operator right`, where the operator is `+`, `-`, `*`, `/` or `%`."""

    operands: ClassVar = ("left", "right")
    operator: str
    left: Condition
    right: Condition


class FieldComparison(SingleCondition):
    """`left comparator right`."""

    operands: ClassVar = ("left", "right")
    comparator: Comparator
    left: Condition
    right: Condition


class ValueLookup(SingleCondition):
    """`term operator (values)`: `in` tests whether the term equals a value, other operators whether it matches one."""

    operands: ClassVar = ("term",)
    operator: MatchOperator
    term: Condition
    values: tuple[int | float | str | bool | None, ...]


class NegatedCondition(_EqlNode):
    """`not condition`."""

    operands: ClassVar = ("condition",)
    condition: Condition


class AllConditions(_EqlNode):
    """Two or more conditions joined by `and`."""

    operands: ClassVar = ("conditions",)
    conditions: tuple[Condition, ...]


class AnyConditions(_EqlNode):
    """Two or more conditions joined by `or`."""

    operands: ClassVar = ("conditions",)
    conditions: tuple[Condition, ...]


Condition: TypeAlias = (
    EventField
    | FieldConstant
    | FunctionCall
    | FieldArithmetic
    | FieldComparison
    | ValueLookup
    | NegatedCondition
    | AllConditions
    | AnyConditions
)

# --- queries ----------------------------------------------------------------------------------------------------------


class EventFilter(_EqlNode):
    """`category where condition`. The category None is `any`."""

    category: str | None
    condition: Condition


class SequenceStep(_EqlNode):
    """`[filter] by keys with runs=n`. missing: whether the step is written with `!`, so that its event must not
    occur.
    """

    filter: EventFilter
    keys: tuple[EventField, ...] = ()
    runs: int = 1
    missing: bool = False


class MaximalSpan(_EqlNode):
    """The number and the unit of `maxspan=`, such as 5m."""

    count: int
    unit: str

    @property
    def microseconds(self) -> int:
        """Return the span in microseconds."""
        return self.count * UNITS[self.unit]


class EventSequence(_EqlNode):
    """`sequence by keys with maxspan=span steps until [until]`."""

    keys: tuple[EventField, ...]
    maxspan: MaximalSpan | None
    steps: tuple[SequenceStep, ...]
    until: SequenceStep | None = None


class EventSample(_EqlNode):
    """`sample by keys steps`: one event for each step, in any order."""

    keys: tuple[EventField, ...]
    steps: tuple[SequenceStep, ...]


class MatchPipe(_EqlNode):
    """`| head n` or `| tail n`."""

    name: Literal["head", "tail"]
    count: int


class EqlQuery(_EqlNode):
    """A query of EQL: a body, and pipes after it."""

    body: EventFilter | EventSequence | EventSample
    pipes: tuple[MatchPipe, ...] = ()


def filters_of(query: EqlQuery) -> Iterator[EventFilter]:
    """Return the filters of a query in their order; the filter of `until` comes last."""
    match query.body:
        case EventFilter():
            yield query.body
        case EventSequence(_, _, steps, until):
            yield from (step.filter for step in steps)
            if until is not None:
                yield until.filter
        case EventSample(_, steps):
            yield from (step.filter for step in steps)
        case _:
            assert_never(query.body)


def fields_of(condition: Condition) -> list[EventField]:
    """Return the fields in a condition, from left to right, with repetitions."""
    return [node for node in subtrees(condition) if isinstance(node, EventField)]


def step_keys(query: EventSequence | EventSample, step: SequenceStep) -> tuple[EventField, ...]:
    """Return the fields whose values are an event's key at a step: the keys of the query, then the keys of the step."""
    return (*query.keys, *step.keys)


def step_expanded(sequence: EventSequence) -> tuple[SequenceStep, ...]:
    """Return the steps with `runs=n` written out as n steps; a missing event stays one step, whatever its `runs`."""
    return tuple(step for step in sequence.steps for _ in range(1 if step.missing else step.runs))


# --- text -------------------------------------------------------------------------------------------------------------

_PLAIN_NAME = re.compile(r"[A-Za-z_@][\w@]*\Z", re.ASCII)
_PLAIN_PART = re.compile(r"[A-Za-z_@0-9][\w@\-]*\Z", re.ASCII)
_RESERVED = frozenset(
    {"and", "or", "not", "in", "like", "regex", "where", "by", "with", "until", "true", "false", "null", "any"}
    | {"sequence", "sample"}
)
_LOOSE, _AND, _NOT, _SUM, _PRODUCT, _FACTOR = range(6)


def show(query: EqlQuery) -> str:
    """Return the text of a query, on one line; parsing it gives the same tree."""
    return " ".join([_show_body(query.body), *(f"| {pipe.name} {pipe.count}" for pipe in query.pipes)])


def _show_body(body: EventFilter | EventSequence | EventSample) -> str:
    match body:
        case EventFilter():
            return show_filter(body)
        case EventSequence(keys, maxspan, steps, until):
            parts = [f"sequence{_show_keys(keys)}"]
            if maxspan is not None:
                parts.append(f"with maxspan={maxspan.count}{maxspan.unit}")
            parts += map(_show_step, steps)
            if until is not None:
                parts.append(f"until {_show_step(until)}")
            return " ".join(parts)
        case EventSample(keys, steps):
            return " ".join([f"sample{_show_keys(keys)}", *map(_show_step, steps)])
        case _:
            assert_never(body)


def _show_step(step: SequenceStep) -> str:
    runs = f" with runs={step.runs}" if step.runs != 1 else ""
    return f"{'!' if step.missing else ''}[{show_filter(step.filter)}]{_show_keys(step.keys)}{runs}"


def _show_keys(keys: tuple[EventField, ...]) -> str:
    return f" by {', '.join(map(show_field, keys))}" if keys else ""


def show_filter(filter_: EventFilter) -> str:
    """Return the text of an event filter, as in `process where true`."""
    return f"{show_category(filter_.category)} where {show_condition(filter_.condition)}"


def show_category(category: str | None) -> str:
    """Return the text of a category: a name, a string if it is not a name, or `any`."""
    if category is None:
        return "any"
    return category if _PLAIN_NAME.match(category) and category not in _RESERVED else show_constant(category)


def show_field(name: EventField) -> str:
    """Return the text of a field. Parts that are not plain names are in backticks."""
    first, *more = name.name.split(".")
    plain = bool(_PLAIN_NAME.match(first)) and (bool(more) or name.optional or first not in _RESERVED)
    if not all(name.name.split(".")):  # a dot at an end, or two dots in a row
        return f"{'?' * name.optional}`{name.name.replace('`', '``')}`"
    parts = [first if plain else _quoted(first), *(p if _PLAIN_PART.match(p) else _quoted(p) for p in more)]
    return "?" * name.optional + ".".join(parts)


def _quoted(part: str) -> str:
    return "`" + part.replace("`", "``") + "`"


def show_constant(value: int | float | str | bool | None) -> str:
    """Return the text of a constant."""
    if isinstance(value, str):
        escaped = (_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in value)
        return f'"{"".join(escaped)}"'
    if isinstance(value, float):
        text = repr(value)
        # Python writes 1e+16 without a point, but an exponent of EQL needs one before it.
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return json.dumps(value)


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def show_condition(condition: Condition) -> str:
    """Return the text of a condition, or of a term."""
    return _show(condition, _LOOSE)


def _show(node: Condition, level: int) -> str:
    """Return the text of a node, in parentheses unless its operator binds at least as tightly as the level."""
    text, own = _text(node)
    return text if own >= level else f"({text})"


def _text(node: Condition) -> tuple[str, int]:
    match node:
        case EventField():
            return show_field(node), _FACTOR
        case FieldConstant(value):
            negative = isinstance(value, int | float) and not isinstance(value, bool) and value < 0
            return show_constant(value), _PRODUCT if negative else _FACTOR
        case FunctionCall(name, folded, arguments):
            return f"{name}{'~' * folded}({', '.join(map(show_condition, arguments))})", _FACTOR
        case FieldArithmetic(operator, left, right):
            own = _SUM if operator in "+-" else _PRODUCT
            return f"{_show(left, own)} {operator} {_show(right, own + 1)}", own
        case FieldComparison(comparator, left, right):
            return f"{_show(left, _SUM)} {comparator} {_show(right, _SUM)}", _NOT
        case ValueLookup(operator, term, values):
            constants = ", ".join(map(show_constant, values))
            alone = len(values) == 1 and operator not in ("in", "in~")
            return f"{_show(term, _SUM)} {operator} {constants if alone else f'({constants})'}", _NOT
        case NegatedCondition(part):
            return f"not {_show(part, _NOT)}", _NOT
        case AllConditions(parts):
            return " and ".join(_show(part, _NOT) for part in parts), _AND
        case AnyConditions(parts):
            return " or ".join(_show(part, _AND) for part in parts), _LOOSE
        case _:
            assert_never(node)
