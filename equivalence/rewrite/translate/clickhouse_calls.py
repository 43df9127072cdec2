"""Parse pasted ClickHouse calls of windowFunnel, sequenceMatch and sequenceCount."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce

from cerify.semantics import predicates as pred
from cerify.semantics.errors import ParseError, Span, Unsupported, errors_in
from cerify.semantics.events import TYPE
from cerify.semantics.funnel_steps import FunnelStep
from cerify.semantics.predicates import show_predicate
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.parse import parse as parse_clause
from cerify.semantics.row_pattern.syntax import show_expression

_CALL = re.compile(r"\b(windowFunnel|sequenceMatch|sequenceCount)\s*\(", re.IGNORECASE)
_GROUP = re.compile(r"\bGROUP\s+BY\s+(`[^`]+`|\"[^\"]+\"|[A-Za-z_]\w*)\s*(,)?", re.IGNORECASE)
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "<>": "="}


@dataclass(frozen=True)
class ClickHouseCall:
    """A call: its function and parameters, the column of times, the conditions with their places, and the key."""

    function: str
    parameters: tuple[str, ...]
    time: str
    conditions: tuple[tuple[str, Span], ...]
    by: str | None


def parse_call(text: str) -> ClickHouseCall:
    """Parse a call, alone or in a SELECT whose GROUP BY has the key. Raises ParseError, Unsupported."""
    with errors_in(text):
        found = _CALL.search(text)
        if found is None:
            raise ParseError(
                "there is no call of windowFunnel, sequenceMatch or sequenceCount; paste one", Span(0, len(text))
            )
        if (other := _CALL.search(text, found.end())) is not None:
            raise Unsupported("there are two calls; translate one at a time", Span(*other.span()))
        parameters, after = _arguments(text, found.end())
        opening = re.compile(r"\s*\(").match(text, after)
        if opening is None:
            raise ParseError("write the arguments after the parameters: (time, condition, …)", Span(after, after))
        arguments, end = _arguments(text, opening.end())
        if len(arguments) < 2:
            raise ParseError("at least a time and one condition are expected here", Span(opening.end(), end))
        grouped = _GROUP.search(text, end)
        if grouped is not None and grouped[2]:
            raise Unsupported("there are several keys; give one column in GROUP BY", Span(*grouped.span()))
        time = arguments[0][0].strip('`" ')
        if not re.fullmatch(r"[A-Za-z_]\w*", time):
            inner = re.search(r"\(\s*([A-Za-z_]\w*)\s*[,)]", time)  # toDateTime(time)
            if inner is None:
                raise Unsupported("the first argument must be a column of times", arguments[0][1])
            time = inner[1]
        by = None if grouped is None else grouped[1].strip('`"')
        names = {name.lower(): name for name in ("windowFunnel", "sequenceMatch", "sequenceCount")}
        texts = tuple(parameter for parameter, _ in parameters)
        return ClickHouseCall(names[found[1].lower()], texts, time, tuple(arguments[1:]), by)


def steps_of(call: ClickHouseCall) -> list[FunnelStep]:
    """Return the conditions of a call as steps. Raises ParseError, Unsupported."""
    column = type_column(call)
    return [_step(condition, column, span) for condition, span in condition_trees(call)]


def type_column(call: ClickHouseCall) -> str:
    """Return the column of event types: `type` if a condition compares it with a text, or no column is compared.

    Otherwise return the column that is compared with a text in most conditions.
    """
    names = Counter(
        name for condition, _ in condition_trees(call) for name in {name for name, _ in _equal_texts(condition)}
    )
    if not names:
        return TYPE
    return TYPE if TYPE in names else names.most_common(1)[0][0]


def condition_trees(call: ClickHouseCall) -> list[tuple[rows.Expression, Span]]:
    """Return the conditions of a call with their places. Raises ParseError, Unsupported."""
    return [(_expression(text, span), span) for text, span in call.conditions]


def _expression(text: str, span: Span) -> rows.Expression:
    """Parse a condition by the grammar of SQL conditions in DEFINE."""
    clause = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS "
    try:
        (definition,) = parse_clause(f"{clause}{text.replace('==', '=')})").define
    except ParseError as error:
        raise ParseError(f"in the condition {text!r}: {error.message}", span) from None
    except Unsupported as error:
        raise Unsupported(f"in the condition {text!r}: {error.message}", span) from None
    return definition.condition


def _conjuncts(condition: rows.Expression) -> Iterator[rows.Expression]:
    if isinstance(condition, rows.RowAnd):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _equal_texts(condition: rows.Expression) -> Iterator[tuple[str, str]]:
    """Yield the column and the text of each part of a conjunction that says that they are equal."""
    for part in _conjuncts(condition):
        match part:
            case rows.RowComparison(rows.RowColumn(name, None), "=", rows.RowConstant(str(text))):
                yield name, text
            case rows.RowComparison(rows.RowConstant(str(text)), "=", rows.RowColumn(name, None)):
                yield name, text


def _step(condition: rows.Expression, column: str, span: Span) -> FunnelStep:
    types = [text for name, text in _equal_texts(condition) if name == column]
    if not types:
        raise Unsupported(f"each condition must name an event type, such as {column} = 'view'", span)
    if len(set(types)) > 1:
        raise Unsupported("the condition is never true: an event has one type", span)
    others = [part for part in _conjuncts(condition) if (column, types[0]) not in _equal_texts(part)]
    predicates = [_predicate(part, False, span) for part in others]
    predicate = reduce(pred.Both, predicates) if predicates else None
    text = types[0] if predicate is None else f"{types[0]}[{show_predicate(predicate)}]"
    return FunnelStep(text, types[0], predicate)


def _predicate(e: rows.Expression, negated: bool, span: Span) -> pred.Predicate:
    """Return a condition, or its negation, as a predicate.

    NOT is moved down to the comparisons, because in SQL the NOT of an unknown comparison is unknown.
    """
    match e:
        case rows.RowAnd(left, right) | rows.RowOr(left, right):
            both = isinstance(e, rows.RowAnd) != negated
            kind: type[pred.Both] | type[pred.Either] = pred.Both if both else pred.Either
            return kind(_predicate(left, negated, span), _predicate(right, negated, span))
        case rows.RowNot(inner):
            return _predicate(inner, not negated, span)
        case rows.RowComparison(left, sign, right):
            written = _NEGATED[sign] if negated else "!=" if sign == "<>" else sign
            return pred.Comparison(written, _term(left, span), _term(right, span))  # type: ignore[arg-type]
        case rows.RowIn(operand, options, inverted):
            if inverted != negated:
                parts: list[pred.Predicate] = [
                    pred.Comparison("!=", _term(operand, span), _term(one, span)) for one in options
                ]
                return reduce(pred.Both, parts)
            equal: list[pred.Predicate] = [
                pred.Comparison("=", _term(operand, span), _term(one, span)) for one in options
            ]
            return reduce(pred.Either, equal)
        case rows.RowBetween(operand, low, high, inverted):
            term = _term(operand, span)
            if inverted != negated:
                return pred.Either(
                    pred.Comparison("<", term, _term(low, span)), pred.Comparison(">", term, _term(high, span))
                )
            return pred.Both(
                pred.Comparison(">=", term, _term(low, span)), pred.Comparison("<=", term, _term(high, span))
            )
    raise Unsupported(f"CEL cannot express {show_expression(e)}: compare columns with values", span)


def _term(e: rows.Expression, span: Span) -> pred.Term:
    match e:
        case rows.RowColumn(name, None):
            return pred.Attribute(name)
        case rows.RowConstant(value) if value is not None and not isinstance(value, timedelta):
            return pred.Constant(value)
        case rows.Sum(left, ("+" | "-") as sign, right) | rows.Product(left, ("*" | "/") as sign, right):
            return pred.Arithmetic(sign, _term(left, span), _term(right, span))
        case rows.Negative(rows.RowConstant(int() | float() as number)):
            return pred.Constant(-number)
    raise Unsupported(f"CEL cannot express {show_expression(e)}: compare columns with values", span)


def _arguments(text: str, start: int) -> tuple[list[tuple[str, Span]], int]:
    """Return the arguments after an opening parenthesis, with their places, and the position after the closing one."""
    arguments: list[tuple[str, Span]] = []
    depth, at, begun = 0, start, start
    while at < len(text):
        character = text[at]
        if character in "'\"`":
            closing = text.find(character, at + 1)
            while closing != -1 and text[closing + 1 : closing + 2] == character:
                closing = text.find(character, closing + 2)
            if closing == -1:
                raise ParseError("the text in quotation marks does not end", Span(at, len(text)))
            at = closing
        elif character in "([":
            depth += 1
        elif character in ")]" and depth:
            depth -= 1
        elif character in ",)" and not depth:
            words = text[begun:at]
            if words.strip():
                left = begun + len(words) - len(words.lstrip())
                arguments.append((words.strip(), Span(left, left + len(words.strip()))))
            elif character == "," or arguments:
                raise ParseError("an argument is missing here", Span(begun, at + 1))
            if character == ")":
                return arguments, at + 1
            begun = at + 1
        at += 1
    raise ParseError("the parenthesis is not closed", Span(start - 1, start))
