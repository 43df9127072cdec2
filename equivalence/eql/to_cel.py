"""EQL without keys in CEL: a formula whose complex events are the matches, on logs whose fields have one value each.

A sequence p1 ... pn `until` u is

    p1 ; (((p2 UNLESS (p2 ; p2)) ; ... ; (pn UNLESS (pn ; pn))) UNLESS ((p1 ; ... ; pn) OR u)) WITHIN w

`p UNLESS (p ; p)` is the next p, and no run that begins later, and no u, may stand in what follows the first event.
With keys there is no such formula: UNLESS sees the events of all keys.
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.cel import syntax as cel
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, TIMESTAMP
from cerify.semantics.eql.functions import fold
from cerify.semantics.errors import Unsupported

SECONDS = 1_000_000
SPECIAL = frozenset(r"\.+*?()|[]{}^$")


def eql_to_cel(query: eql.EqlQuery) -> cel.Formula:
    """Return the formula of CEL with the matches of a query, where times ascend and no field has several values.

    Raises Unsupported for keys, samples, missing events, pipes, `any`, and conditions that CEL does not have.
    """
    body = query.body
    if query.pipes:
        raise Unsupported("CEL reports all matches; leave the pipe out", query.pipes[0].span)
    if isinstance(body, eql.EventFilter):
        return _filter(body, "a")
    if isinstance(body, eql.EventSample):
        raise Unsupported("a sample is one match for each key, and CEL reports all", body.span)
    for step in (*body.steps, *([] if body.until is None else [body.until])):
        if body.keys or step.keys:
            raise Unsupported("with keys there is no such formula: UNLESS sees the events of all keys", step.span)
        if step.missing:
            raise Unsupported("a missing event is not written in CEL here", step.span)
    steps = [_filter(step.filter, f"e{i}") for i, step in enumerate(eql.step_expanded(body), 1)]
    following: list[cel.Formula] = [cel.Unless(p, cel.Seq(p, p)) for p in steps[1:]]
    against: cel.Formula = reduce(cel.Seq, steps)
    if body.until is not None:
        against = cel.Or(against, _filter(body.until.filter, "u"))
    phi: cel.Formula = cel.Seq(steps[0], cel.Unless(reduce(cel.Seq, following), against))
    if body.maxspan is not None:
        width = body.maxspan.microseconds
        if width % SECONDS:
            raise Unsupported("a window of CEL is of whole seconds", body.maxspan.span)
        phi = cel.Within(phi, cel.TimeWindow(width // SECONDS, "second"))
    return phi


def _filter(part: eql.EventFilter, variable: str) -> cel.Formula:
    if part.category is None:
        raise Unsupported("CEL has no event of any type; write a category", part.span)
    event: cel.Formula = cel.EventAtom(_plain(part.category, part.span))
    if part.condition == eql.FieldConstant(True):
        return event
    return cel.Filter(cel.In(event, variable), cel.Every(variable, _predicate(part.condition)))


def _plain(name: str, span: object) -> str:
    if not name.isidentifier():
        raise Unsupported(f"{name!r} is no name in CEL", span)  # type: ignore[arg-type]
    return name


def _predicate(condition: eql.Condition) -> pred.Predicate:
    """The predicate that an event satisfies if the condition is true of it. Raises Unsupported."""
    match condition:
        case eql.AllConditions(parts):
            return reduce(pred.Both, map(_predicate, parts))
        case eql.AnyConditions(parts):
            return reduce(pred.Either, map(_predicate, parts))
        case eql.NegatedCondition(part):
            if _has_function(part):
                raise Unsupported("a function of a null has no truth value, which CEL does not have", part.span)
            return pred.Not(_predicate(part))
        case eql.FieldConstant(value):
            return pred.Anything() if value is True else pred.Not(pred.Anything())
        case eql.EventField():
            return pred.Comparison("=", _attribute(condition), pred.Constant(True))
        case eql.FieldComparison(comparator, eql.EventField() as field, eql.FieldConstant(value)):
            return _comparison(comparator, field, value)
        case eql.ValueLookup(operator, eql.EventField() as field, values):
            return _lookup(operator, field, values)
        case eql.FunctionCall(name, folded, (eql.EventField() as field, eql.FieldConstant(str() as text))):
            if name in ("startsWith", "endsWith", "stringContains") and (text or name != "stringContains"):
                before, after = ("" if name == "startsWith" else ANY), ("" if name == "endsWith" else ANY)
                return pred.Like(_attribute(field), before + _pattern(text, folded, False) + after)
        case eql.FieldComparison() | eql.ValueLookup() | eql.FunctionCall() | eql.FieldArithmetic():
            pass
        case _:
            assert_never(condition)
    raise Unsupported(f"CEL has no condition for {eql.show_condition(condition)}", condition.span)


def _has_function(condition: eql.Condition) -> bool:
    return isinstance(condition, eql.FunctionCall) and condition.name != "startsWith"


def _attribute(field: eql.EventField) -> pred.Attribute:
    if field.name in (CATEGORY, TIMESTAMP):
        raise Unsupported(f"{field.name} is no attribute in CEL", field.span)
    return pred.Attribute(_plain(field.name, field.span))


def _comparison(comparator: eql.Comparator, field: eql.EventField, value: object) -> pred.Predicate:
    attribute = _attribute(field)
    if value is None:
        present = pred.Comparison("=", attribute, attribute)
        return pred.Not(present) if comparator == "==" else present
    constant = pred.Constant(value)  # type: ignore[arg-type]
    match comparator:
        case "==":
            return pred.Comparison("=", attribute, constant)
        case "!=":
            return pred.Not(pred.Comparison("=", attribute, constant))
        case "<" | "<=" | ">" | ">=":
            return pred.Comparison(comparator, attribute, constant)
        case _:
            assert_never(comparator)


ANY = r"(.|\n)*"


def _lookup(operator: eql.MatchOperator, field: eql.EventField, values: tuple[object, ...]) -> pred.Predicate:
    attribute = _attribute(field)
    if operator == "in":
        return pred.OneOf(attribute, tuple(v for v in values if v is not None))  # type: ignore[misc]
    if operator == "regex~" or (operator == "in~" and not all(isinstance(v, str) for v in values)):
        raise Unsupported(f"{operator} is not written in CEL here", field.span)
    patterns = [
        str(v) if operator == "regex" else _pattern(str(v), operator != "like", operator != "in~") for v in values
    ]
    likes: list[pred.Predicate] = [pred.Like(attribute, pattern) for pattern in patterns]
    return reduce(pred.Either, likes)


def _pattern(text: str, folded: bool, wild: bool) -> str:
    """The regular expression of a text, in which * and ? may be wildcards."""
    return "".join(_letter(c, folded) if not wild or c not in "*?" else {"*": ANY, "?": r"(.|\n)"}[c] for c in text)


def _letter(c: str, folded: bool) -> str:
    cases = {c} | ({o for o in (c.lower(), c.upper()) if len(o) == 1 and fold(o) == fold(c)} if folded else set())
    if len(cases) > 1:
        return f"[{''.join(sorted(cases))}]"
    return f"\\{c}" if c in SPECIAL else c
