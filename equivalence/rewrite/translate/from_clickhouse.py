"""Translate pasted ClickHouse calls of windowFunnel, sequenceMatch and sequenceCount to CEL or MATCH_RECOGNIZE.

windowFunnel returns a level; the CEL query has a match if the level is the last one. Not every mode has an exact
translation, so each translation lists the differences. Each difference has a smallest stream that shows it, in the
notation `1:A 2:B` of times and steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cerify.equivalence.rewrite.translate.clickhouse_calls import (
    ClickHouseCall,
    condition_trees,
    parse_call,
    steps_of,
    type_column,
)
from cerify.equivalence.rewrite.translate.funnel_cel import query_text
from cerify.semantics.cel.syntax import TimeWindow
from cerify.semantics.errors import ParseError, Unsupported, errors_in
from cerify.semantics.events import TIME, TYPE
from cerify.semantics.funnel_steps import FunnelQuestion, FunnelStep, FunnelWindow
from cerify.semantics.row_pattern.parse import parse as parse_clause
from cerify.semantics.row_pattern.syntax import show_expression
from cerify.semantics.sequence_patterns import (
    AnyRow,
    AnyRows,
    OfCondition,
    SequencePart,
    TimeClause,
    parse_sequence_pattern,
)

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
