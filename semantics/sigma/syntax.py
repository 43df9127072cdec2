"""The trees of Sigma rules.

A detection is a condition on one event; here it is a condition of EQL, which also has wildcards, comparison without
case, networks and arrays. A correlation counts or orders the alerts of other rules, in groups and within a timespan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import ClassVar, Literal, TypeAlias, get_args

from cerify.semantics.eql import syntax as eql
from cerify.semantics.schemas import NULL, field_name
from cerify.semantics.trees import Tree, children, rebuilt

CorrelationKind: TypeAlias = Literal[
    "event_count", "value_count", "temporal", "temporal_ordered", "value_sum", "value_avg", "value_percentile"
]
KINDS: tuple[CorrelationKind, ...] = get_args(CorrelationKind)
TEMPORAL: tuple[CorrelationKind, ...] = ("temporal", "temporal_ordered")
NUMERIC: tuple[CorrelationKind, ...] = ("value_sum", "value_avg", "value_percentile")
Threshold: TypeAlias = tuple[Literal["gt", "gte", "lt", "lte", "eq", "neq"], int | float]


class SigmaDetection(Tree):
    """A rule about one event, with its name, id or title, and its logsource.

    selections: the parts of `detection`, by name, that the condition combines; equality ignores them.
    """

    operands: ClassVar = ("condition",)
    name: str
    condition: eql.Condition
    logsource: str = ""
    selections: tuple[tuple[str, eql.Condition], ...] = field(default=(), kw_only=True)


class SigmaCorrelation(Tree):
    """A rule about the alerts of other rules.

    group_by: the names of the group's fields. keys: for each rule, the attributes (see `attribute_of`) that these names
    stand for, by the aliases. seconds: the timespan. thresholds: all of them must hold. values: for each rule, the
    attributes that are counted or added up. percentile: from 0 to 100, only for value_percentile. timespan: its text,
    which equality ignores.
    """

    operands: ClassVar = ("rules",)
    name: str
    kind: CorrelationKind
    rules: tuple[SigmaDetection | SigmaCorrelation, ...]
    group_by: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    seconds: int
    thresholds: tuple[Threshold, ...]
    values: tuple[tuple[str, ...], ...]
    percentile: float | None = None
    timespan: str = field(default="", kw_only=True)


SigmaRule: TypeAlias = SigmaDetection | SigmaCorrelation


class SigmaQuery(Tree):
    """The rules of a text that raise alerts: no correlation refers to them, or `generate` is set.

    text: the YAML. unused: the detections, aliases and keys that have no effect, as tuples (rule, key, name): `key` is
    where the rule should use the part called `name`. Equality ignores both.
    """

    operands: ClassVar = ("rules",)
    rules: tuple[SigmaRule, ...]
    text: str = field(default="", kw_only=True)
    unused: tuple[tuple[str, str, str], ...] = field(default=(), kw_only=True)


def rules_of(query: SigmaQuery) -> Iterator[SigmaRule]:
    """Yield each rule of a query after the rules that it refers to; equal rules once."""
    seen: set[SigmaRule] = set()

    def below(rule: SigmaRule) -> Iterator[SigmaRule]:
        if rule in seen:
            return
        seen.add(rule)
        if isinstance(rule, SigmaCorrelation):
            for part in rule.rules:
                yield from below(part)
        yield rule

    for rule in query.rules:
        yield from below(rule)


def has_field(name: str) -> eql.Condition:
    """Return the condition that an event has a field, whose value may be null."""
    return eql.AnyConditions(tuple(eql.FieldComparison("!=", eql.EventField(n), ABSENT) for n in (name, name + NULL)))


def field_there(condition: eql.Condition) -> str | None:
    """Return the name of the field if the condition is one that `has_field` returns; else None."""
    match condition:
        case eql.AnyConditions((eql.FieldComparison("!=", eql.EventField(name), _), _)) if condition == has_field(name):
            return name
    return None


ABSENT = eql.FieldConstant(None)
SIGNS: Mapping[str, str] = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
"""The modifiers for comparisons with numbers."""


def show_condition(condition: eql.Condition) -> str:
    """Return the text of a condition, with tests written as in rules.

    >>> show_condition(eql.NegatedCondition(eql.ValueLookup("like", eql.EventField("User"), ("*root",))))
    'not User|cased: "*root"'
    """
    return _show(_with_field_names(condition))


def _with_field_names(condition: eql.Condition) -> eql.Condition:
    if isinstance(condition, eql.EventField):
        return eql.EventField(field_name(condition.name))
    return rebuilt(condition, [_with_field_names(part) for part in children(condition)])


def _show(condition: eql.Condition) -> str:
    if (there := field_there(condition)) is not None:
        return f"{there}|exists: true"
    match condition:
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            word = " and " if isinstance(condition, eql.AllConditions) else " or "
            return word.join(map(_in_brackets, parts))
        case eql.NegatedCondition(part):
            name = field_there(part)
            return f"not {_in_brackets(part)}" if name is None else f"{name}|exists: false"
        case eql.FieldComparison("==", eql.EventField(name), eql.EventField(other)):
            return f"{name}|fieldref: {other}"
        case eql.FieldComparison("!=", eql.EventField(name), eql.FieldConstant(None)):
            return f'{name}: "*"'
        case eql.FieldComparison(sign, eql.EventField(name), eql.FieldConstant() as constant):
            modifier = "" if sign == "==" else f"|{SIGNS.get(sign, 'neq')}"
            return f"{name}{modifier}: {eql.show_condition(constant)}"
        case eql.FunctionCall("cidrMatch", _, (eql.EventField(name), eql.FieldConstant(block))):
            return f"{name}|cidr: {block}"
        case eql.ValueLookup("regex" | "regex~" as operator, eql.EventField(name), (str(pattern),)):
            written = SEARCHED.fullmatch(pattern)
            flags = "".join(f"|{flag}" for flag in ("i" * (operator == "regex~")) + (written[1] if written else ""))
            return f"{name}|re{flags}: {written[2] if written else pattern}"
        case eql.ValueLookup(operator, eql.EventField(name), values):
            cased = operator in ("in", "like") and any(isinstance(v, str) and v != v.swapcase() for v in values)
            shown = [v for v in values if not isinstance(v, str)] or values  # a number is looked for as a text too
            return f"{name}{'|cased' * cased}: {' or '.join(map(eql.show_constant, shown))}"
    return eql.show_condition(condition)


def _in_brackets(part: eql.Condition) -> str:
    several = isinstance(part, eql.AllConditions | eql.AnyConditions) and field_there(part) is None
    return f"({_show(part)})" if several else _show(part)


SEARCHED = re.compile(r"\(\?s:\.\*\)\(\?([sm]*):(.*)\)\(\?s:\.\*\)", re.DOTALL)
"""The form of a regular expression that is searched for in a text, with groups for its flags and its pattern."""
