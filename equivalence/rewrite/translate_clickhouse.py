"""Translate pasted ClickHouse calls of windowFunnel, sequenceMatch and sequenceCount to CEL or MATCH_RECOGNIZE.

windowFunnel returns a level; the CEL query has a match if the level is the last one. Not every mode has an exact
translation, so each translation lists the differences. Each difference has a smallest stream that shows it, in the
notation `1:A 2:B` of times and steps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce

from cerify.equivalence.rewrite.translate_funnels import query_text
from cerify.semantics import predicates as pred
from cerify.semantics.cel.syntax import TimeWindow
from cerify.semantics.errors import ParseError, Span, Unsupported, errors_in
from cerify.semantics.events import TIME, TYPE
from cerify.semantics.funnel_queries import FunnelQuestion, FunnelStep, FunnelWindow
from cerify.semantics.funnels import AnyRow, AnyRows, OfCondition, SequencePart, TimeClause, parse_sequence_pattern
from cerify.semantics.predicates import show_predicate
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.parse import parse as parse_clause
from cerify.semantics.row_pattern.syntax import show_expression

# ---------------------------------------------------------------------------------------------------------------------
# Parse pasted ClickHouse calls of windowFunnel, sequenceMatch and sequenceCount.

_CALL = re.compile(r"\b(windowFunnel|sequenceMatch|sequenceCount)\s*\(", re.IGNORECASE)
_GROUP = re.compile(r"\bGROUP\s+BY\s+(`[^`]+`|\"[^\"]+\"|[A-Za-z_]\w*)\s*(,)?", re.IGNORECASE)
_QUOTED_OR_DOUBLE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|==")
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
    # In ClickHouse `==` is `=`, but inside a text it is part of the text.
    sql = _QUOTED_OR_DOUBLE.sub(lambda found: "=" if found[0] == "==" else found[0], text)
    try:
        (definition,) = parse_clause(f"{clause}{sql})").define
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


# ---------------------------------------------------------------------------------------------------------------------
# Translate the parsed calls.

DIFFERENCES = {
    "windowFunnel": ("windowFunnel reads rows of equal times in any order: 1:B 1:A is level 2, but not A ; B",),
    "strict_once": ("strict_once reads rows of equal times in any order: 1:B 1:A is level 2, but not A ; B",),
    "strict_increase,strict_once": (),
    "strict_increase": ("strict_increase forgets the earlier of two rows of a step: 1:A 2:A 2:B is level 1",),
    "strict_order": (
        "strict_order ends at a row that matches no step: 1:A 2:- 3:B is level 1",
        "strict_order ends at a step that is not due: 1:A 2:C 3:B 4:C is level 1 of A, B, C",
        "strict_order reads rows of equal times by step: 1:B 1:A is level 2, but not A ; B",
    ),
    "strict_order,allow_reentry": (
        "strict_order ends at a row that matches no step, with allow_reentry too: 1:A 2:- 3:B is level 1",
        "strict_order reads rows of equal times by step: 1:B 1:A is level 2, but not A ; B",
    ),
    "strict_deduplication": (
        "strict_deduplication ends at a step that repeats: 1:A 2:B 3:B 4:C is level 2 of A, B, C",
        "strict_deduplication reads rows of equal times by step: 1:B 1:A is level 2, but not A ; B",
    ),
}
"""For each mode, the cases in which its last level and the chain in CEL differ."""
SHARED = "in {mode}, a row that satisfies two conditions takes both steps at once; in CEL, an event takes one step"
UNKNOWN = "ClickHouse hides a row from all steps if one condition is NULL; here it is hidden from that step only"

_NUMBER = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True)
class TranslatedCall:
    """The query for a call, and sentences that say where the two differ; no sentences if they mean the same."""

    query: str
    differences: tuple[str, ...]


def call_to_cel(text: str) -> TranslatedCall:
    """Return the CEL query that has a match if windowFunnel returns its last level, or if sequenceMatch is true.

    Raises ParseError, Unsupported.

    >>> call_to_cel("windowFunnel(60, 'strict_increase', 'strict_once')(time, type = 'a', type = 'b')").query
    'a ; b FILTER a.time < b.time WITHIN 60 seconds'
    """
    call = parse_call(text)
    with errors_in(text):
        if call.function == "windowFunnel":
            return _funnel_to_cel(call)
        parts = _pattern_of(call)
        numbers = [part.number for part in parts if isinstance(part, OfCondition)]
        gaps = [type(part) for part in parts][1::2]
        if len(numbers) != (len(parts) + 1) // 2 or any(gap is not AnyRows for gap in gaps):
            raise Unsupported("only patterns (?1).*(?2).*… can be translated to CEL; for others use --to row-pattern")
        if call.function == "sequenceCount":
            raise Unsupported(
                "sequenceCount counts matches that do not overlap, but CEL reports all; use --to row-pattern"
            )
        steps = steps_of(call)
        order = "in sequenceMatch rows of equal times keep the order in which they are read, which can be any"
        question = FunnelQuestion(tuple(steps[number - 1] for number in numbers), call.by)
        return TranslatedCall(query_text(question, ()), (order, *_about_columns(call), *_about_nulls(steps)))


def call_to_row_pattern(text: str) -> TranslatedCall:
    """Return the MATCH_RECOGNIZE clause whose matches sequenceCount counts. sequenceMatch is true if there is a match.

    Raises ParseError, Unsupported.
    """
    call = parse_call(text)
    with errors_in(text):
        if call.function == "windowFunnel":
            raise Unsupported("MATCH_RECOGNIZE cannot express the level of a funnel; use --to cel")
        return _sequence_to_rows(call, _pattern_of(call))


# --- windowFunnel -----------------------------------------------------------------------------------------------------


def _funnel_to_cel(call: ClickHouseCall) -> TranslatedCall:
    if not call.parameters or not _NUMBER.fullmatch(call.parameters[0]):
        raise Unsupported("the first parameter of windowFunnel must be a whole number: the window")
    given = [parameter.strip("'") for parameter in call.parameters[1:]]
    mode = next((known for known in DIFFERENCES if sorted(known.split(",")) == sorted(given or ["windowFunnel"])), None)
    if mode is None:
        raise Unsupported(
            f"there is no translation of the modes {', '.join(given)} together; use one of {'; '.join(DIFFERENCES)}"
        )
    steps = steps_of(call)
    window = FunnelWindow(call.parameters[0], TimeWindow(int(call.parameters[0]), "second"))
    increasing = "strict_increase" in mode
    question = FunnelQuestion(tuple(steps), call.by, window, order="strict" if increasing else "stream")
    differences = list(DIFFERENCES[mode])
    types = [step.type for step in steps]
    if len(set(types)) < len(types) and "strict_once" not in mode and not increasing:
        differences.append(SHARED.format(mode=mode))
    return TranslatedCall(query_text(question, ()), (*differences, *_about_columns(call), *_about_nulls(steps)))


def _about_nulls(steps: Sequence[FunnelStep]) -> list[str]:
    return [UNKNOWN] if any(step.predicate is not None for step in steps) else []


def _about_columns(call: ClickHouseCall) -> list[str]:
    told = [f"the time is the column {call.time}: --time {call.time}"] if call.time != TIME else []
    column = type_column(call)
    return [*told, *([f"the event type is the column {column}: --type {column}"] if column != TYPE else [])]


# --- sequenceMatch, sequenceCount -------------------------------------------------------------------------------------


def _pattern_of(call: ClickHouseCall) -> tuple[SequencePart, ...]:
    if len(call.parameters) != 1 or not re.fullmatch(r"'[^']*'", call.parameters[0]):
        raise Unsupported(f"{call.function} takes exactly one parameter, the pattern")
    parts = parse_sequence_pattern(call.parameters[0][1:-1])
    for part in parts:
        if isinstance(part, OfCondition) and part.number > len(call.conditions):
            raise ParseError(
                f"(?{part.number}) stands for condition {part.number}, but there are only {len(call.conditions)}"
            )
    # The parser has made sure that some row is asked for, so neither loop empties the pattern.
    while isinstance(parts[0], AnyRows):  # rows before the first and after the last row of a match
        parts = parts[1:]
    while isinstance(parts[-1], AnyRows):
        parts = parts[:-1]
    return parts


def _sequence_to_rows(call: ClickHouseCall, parts: Sequence[SequencePart]) -> TranslatedCall:
    """Return a clause with a variable for each row of the pattern, and a variable for the rows that are skipped in
    between.

    sequenceMatch first drops rows that meet no condition, so `.` stands for a row that meets some condition.
    """
    conditions = [show_expression(condition) for condition, _ in condition_trees(call)]
    some = " OR ".join(f"({condition})" for condition in conditions)
    pattern: list[str] = []
    define: list[str] = []
    gap, clause, before = "", None, ""
    for part in parts:
        match part:
            case AnyRows():
                if clause is not None:
                    raise Unsupported(
                        f"a time clause next to .* has no translation, because it would limit other rows' times: "
                        f"{'(?1)(?t<=9).*(?2)'}"
                    )
                gap = "ANY_ROW*?"
            case TimeClause():
                if gap == "ANY_ROW*?":
                    raise Unsupported(
                        f"a time clause next to .* has no translation, because it would limit other rows' times: "
                        f"{'(?1).*(?t<=9)(?2)'}"
                    )
                # As ClickHouse documents, any rows may lie between the two that a time clause compares.
                gap, clause = "ANY_ROW*?", part
            case AnyRow() | OfCondition():
                name = f"ROW_{len(define) + 1}"
                condition = some if isinstance(part, AnyRow) else f"({conditions[part.number - 1]})"
                if clause is not None:
                    sign = "=" if clause.sign == "==" else clause.sign
                    condition = f"({condition}) AND {call.time} - {before}.{call.time} {sign} {clause.distance}"
                pattern += [gap, name] if gap else [name]
                define.append(f"{name} AS {condition}")
                gap, clause, before = "NO_STEP*?", None, name
    if "NO_STEP*?" in pattern:
        # And not NOT: a row for which the conditions are unknown is dropped like one that meets none.
        define.append(f"NO_STEP AS ({some}) IS NOT TRUE")
    keyed = "" if call.by is None else f"PARTITION BY {_sql_name(call.by)} "
    query = (
        f"MATCH_RECOGNIZE ({keyed}ORDER BY {call.time} AFTER MATCH SKIP PAST LAST ROW "
        f"PATTERN ({' '.join(pattern)}) DEFINE {', '.join(define)})"
    )
    parse_clause(query)
    told = ["in sequenceMatch rows of equal times keep the order in which they are read, which can be any"]
    if any(isinstance(part, TimeClause) for part in parts):
        told.append(f"{call.time} must be a column of numbers, such as seconds")
    told.append(UNKNOWN)
    return TranslatedCall(query, tuple(told))


def _sql_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f'"{name}"'


CALL_TRANSLATIONS: tuple[tuple[str, Callable[[str], TranslatedCall]], ...] = (
    ("cel", call_to_cel),
    ("row-pattern", call_to_row_pattern),
)
"""The languages that calls are translated to."""
