"""Funnels as queries: the text of a funnel or of a sequence, and its answer on a stream.

    FUNNEL view, cart[price > 3], pay WITHIN 7 days BY user
    FUNNEL view, pay WITHIN 1 hour BY user MODE strict_once
    SEQUENCE '(?1).*(?2)' OF view, pay BY user

A funnel has the parts that `cerify.funnel` takes: WITHIN, BY, START first, ORDER time or strict, BETWEEN not STEP, and
MODE, a reading of ClickHouse's windowFunnel. The answer of a funnel has a row for each key, with the key's level. The
answer of a sequence has a row for each key with a match, with the positions of the events that satisfy the conditions.
Levels and matches are those of semantics/funnels.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias

from cerify.semantics.arguments import did_you_mean, format_names, require_kind
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import (
    AttributeWindow,
    EventAtom,
    EventWindow,
    Every,
    Filter,
    TimeWindow,
    Window,
    Within,
)
from cerify.semantics.errors import CerifyError, IllFormed, InputError, ParseError, Span, errors_in
from cerify.semantics.events import TIME, TYPE, Event, Match, Stream, result_of
from cerify.semantics.funnels import (
    FUNNEL_MODES,
    ChainReading,
    FunnelRow,
    Time,
    deepest_chain,
    longest_attempt,
    parse_sequence_pattern,
    sequence_rows,
)
from cerify.semantics.parsing import UNITS_REWRITTEN
from cerify.semantics.predicates import (
    Predicate,
    Problem,
    kind_problems,
    meant_name,
    mentions,
    satisfied,
    show_predicate,
)
from cerify.semantics.schemas import Schema
from cerify.semantics.values import Value, encodable, exact_microseconds

# ---------------------------------------------------------------------------------------------------------------------
# The text of a funnel: its steps and its window, in the syntax of CEL.

SECONDS_OF = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_IN_QUOTES = re.compile(r'"((?:[^"]|"")+)"\s*(?=\[|\Z)')


@dataclass(frozen=True)
class FunnelStep:
    """A step: events of a type (None: any) that satisfy a predicate (None: no condition). text: the step as written."""

    WORD: ClassVar[str] = "Step"
    text: str
    type: str | None
    predicate: Predicate | None


@dataclass(frozen=True)
class FunnelWindow:
    """The longest allowed time from the first step to the last. text: the window as written."""

    WORD: ClassVar[str] = "Span"
    text: str
    window: Window

    def on_axis(self, unit: int, floating: bool) -> int | float:
        """Return the length of the window in the unit of the attribute's values.

        unit: how many of these units make a second; 1 for a window such as `10 [x]`, whose length has the attribute's
        unit. floating: whether the values are floats; if not, the result is rounded down.
        """
        match self.window:
            case TimeWindow(amount, name):
                # A fraction of the text: 0.1 is one tenth here, not the nearest float.
                width = Fraction(str(amount)) * SECONDS_OF[name]
            case AttributeWindow(amount, _):
                width = Fraction(str(amount))
            case EventWindow(count):
                return count - 1
        # Differences of integers are at most a width if they are at most its floor, and integers compare exactly.
        return float(width * unit) if floating else math.floor(width * unit)


@dataclass(frozen=True)
class FunnelQuestion:
    """A funnel and its options, as `cerify.funnel` takes them."""

    WORD: ClassVar[str] = "Funnel"
    steps: tuple[FunnelStep, ...]
    by: str | None = None
    window: FunnelWindow | None = None
    start: Literal["best", "first"] = "best"
    order: Literal["stream", "time", "strict"] = "stream"
    between: FunnelStep | None = None
    mode: str | None = None


def parse_step(text: object) -> FunnelStep:
    """Parse the text of a step: `view`, `view[price > 3]` or `[price > 3]`. Raises IllFormed, ParseError.

    The event type before the bracket may be in double quotes, as in a query; it may have blanks and hyphens also
    without quotes.

    >>> parse_step("add to cart").type, parse_step('"add to cart"[price > 3]').type
    ('add to cart', 'add to cart')
    """
    if not isinstance(text, str):
        raise IllFormed(f"a step is a text such as 'view' or 'view[price > 3]', not {text!r}")
    if not encodable(text):
        half = next(i for i, character in enumerate(text) if not encodable(character))
        raise _in_step("a character is not valid Unicode", text, Span(half, half + 1))
    if (in_quotes := _IN_QUOTES.match(text.lstrip())) is not None:
        name, rest = in_quotes[1].replace('""', '"'), text.lstrip()[in_quotes.end() :]
        _, bracket, condition = rest.partition("[")
    else:
        name, bracket, condition = text.partition("[")
        name = name.strip()
    if not bracket:
        if not name:
            raise IllFormed("a step is empty: write an event type, or [condition]")
        return FunnelStep(text.strip(), name, None)
    if not condition.rstrip().endswith("]"):
        raise _in_step("the condition is not closed: end it with ]", text, Span(len(text), len(text)))
    # CEL's own parser reads the condition, so that steps have all conditions of a query. Places of errors are shifted
    # back.
    prefix = "e FILTER e["
    try:
        tree = parse(prefix + condition)
    except CerifyError as error:
        shift = len(text) - len(condition) - len(prefix)
        span = error.span and Span(max(0, error.span.start + shift), max(0, error.span.end + shift))
        raise _in_step(error.message, text, span) from None
    if not (isinstance(tree, Filter) and isinstance(tree.phi, EventAtom) and isinstance(tree.condition, Every)):
        raise _in_step("the brackets must hold one condition on the event", text, None)
    return FunnelStep(text.strip(), name or None, tree.condition.predicate)


def parse_attribute(text: str) -> str:
    """Return the attribute that a text names, plain or in double quotes as in a query.

    >>> parse_attribute("user.id"), parse_attribute('"user.id"')
    ('user.id', 'user.id')
    """
    in_quotes = _IN_QUOTES.fullmatch(text.strip())
    return text.strip() if in_quotes is None else in_quotes[1].replace('""', '"')


def parse_window(given: object) -> FunnelWindow:
    """Return the window of a text or a timedelta. Raises IllFormed.

    >>> parse_window("7 days").window
    TimeWindow(amount=7, unit='day')
    """
    if isinstance(given, timedelta):
        seconds = given / timedelta(seconds=1)
        given = f"{int(seconds) if seconds == int(seconds) else seconds!r} seconds"
    if not isinstance(given, str):
        raise IllFormed(f"within: expected a text such as '7 days', not {given!r}")
    text = re.sub(r"(?i)\bevents?\b", "EVENTS", given.strip())
    text = re.sub(r"(?i)(seconds?|minutes?|hours?|days?)$", lambda unit: unit[0].lower(), text)
    try:
        tree = parse(f"e WITHIN {text}")
    except CerifyError:
        tree = None
    if not (isinstance(tree, Within) and isinstance(tree.phi, EventAtom)):
        lengths = (re.sub(rf"^{form}$", new, text) for form, new in UNITS_REWRITTEN)
        meant = [f"{length!r}, as" for length in lengths if length != text]
        raise IllFormed(
            f"within: {given!r} is not a window; write {' '.join([*meant, repr('90 seconds')])}, '30 minutes', "
            "'4 hours', '7 days', '100 EVENTS', or '10 [attribute]'"
        )
    return FunnelWindow(given.strip(), tree.window)


def _in_step(message: str, text: str, span: Span | None) -> ParseError:
    error = ParseError(f"in the step {text!r}: {message}", span)
    error.text = text
    return error


# ---------------------------------------------------------------------------------------------------------------------
# The text and the answer of a query.

MOST_STEPS = 32
SECOND = 1_000_000
CLAUSES = ("WITHIN", "BY", "START", "ORDER", "BETWEEN", "MODE")
CLICKHOUSE_CALL = re.compile(r"\b(windowFunnel|sequence(?:Match|MatchEvents|Count)|retention)\s*\(")
_WORD = re.compile(rf"(?<![\w.])({'|'.join((*CLAUSES, 'OF'))})(?![\w.])")


@dataclass(frozen=True)
class SequenceQuestion:
    """A query for the keys that have a match of a pattern of ClickHouse's sequenceMatch, and for the matched positions.

    steps: the conditions of the pattern: `(?1)` is the first step. by: the attribute that is the key.
    """

    WORD: ClassVar[str] = "Sequence"
    pattern: str
    steps: tuple[FunnelStep, ...]
    by: str | None = None


KeyedQuestion: TypeAlias = FunnelQuestion | SequenceQuestion
_Key: TypeAlias = tuple[bool, Value | None]  # whether the key is a Boolean, because True equals 1; and the key
StepHolds: TypeAlias = Callable[[FunnelStep, Event], bool | None]
"""Returns whether an event satisfies a step; None hides the event from all steps."""


# --- text -------------------------------------------------------------------------------------------------------------


def parse_keyed_question(text: str) -> KeyedQuestion:
    """Parse the text of a funnel or of a sequence. Raises ParseError, IllFormed.

    >>> parse_keyed_question("FUNNEL view, pay WITHIN 1 hour BY user").by
    'user'
    """
    with errors_in(text):
        word = re.match(r"\s*(FUNNEL|SEQUENCE)(?![\w.])", text)
        if not text.strip():
            raise ParseError("the query is empty", Span(len(text), len(text)))
        if word is None:
            call = CLICKHOUSE_CALL.search(text)
            wrong = (
                "the query begins with neither FUNNEL nor SEQUENCE"
                if call is None
                else f"{call[1]} is a function of ClickHouse: cerify translate --from clickhouse reads calls of it"
            )
            span = Span(0, min(len(text), 1)) if call is None else Span(call.start(1), call.end(1))
            raise ParseError(f"{wrong}; write a funnel as in FUNNEL view, pay WITHIN 1 hour BY user", span)
        parts, clauses = _parts_of(text, word.end())
        if word[1] == "FUNNEL":
            if "OF" in clauses:
                raise ParseError("a funnel has no OF; leave it out, or begin with SEQUENCE", clauses["OF"][1])
            given = {name.lower(): part for name, (part, _) in clauses.items()}
            return make_funnel_question(parts, **given)
        for name, (_, span) in clauses.items():
            if name not in ("OF", "BY"):
                raise ParseError(f"a sequence has no {name}; leave it out", span)
        pattern = re.fullmatch(r"'([^']*)'", ", ".join(parts))
        if pattern is None or "OF" not in clauses:
            raise ParseError(
                "write a sequence as in SEQUENCE '(?1)(?2)' OF view, pay BY user", Span(word.end(), len(text))
            )
        of, span = clauses["OF"]
        steps = tuple(map(parse_step, _parts_of(of, 0)[0]))
        if not 1 <= len(steps) <= MOST_STEPS:
            raise IllFormed(f"a sequence has 1 to {MOST_STEPS} conditions, not {len(steps)}", span)
        most = max((int(n) for n in re.findall(r"\(\?([0-9]{1,9})\)", pattern[1])), default=0)
        if most > len(steps):
            raise IllFormed(f"the pattern uses (?{most}), but there are only {len(steps)} conditions")
        parse_sequence_pattern(pattern[1])
        return SequenceQuestion(pattern[1], steps, _attribute(clauses["BY"][0] if "BY" in clauses else None))


def show_keyed_question(question: KeyedQuestion) -> str:
    """Return the text of a funnel or of a sequence, which parses back to it."""
    steps = ", ".join(map(_show_step, question.steps))
    by = None if question.by is None else _quoted(question.by)
    if isinstance(question, SequenceQuestion):
        return f"SEQUENCE '{question.pattern}' OF {steps}" + ("" if by is None else f" BY {by}")
    clauses = (
        ("WITHIN", question.window and question.window.text),
        ("BY", by),
        ("START", question.start if question.start != "best" else None),
        ("ORDER", question.order if question.order != "stream" else None),
        ("BETWEEN not", question.between and _show_step(question.between)),
        ("MODE", question.mode),
    )
    return " ".join([f"FUNNEL {steps}", *(f"{word} {part}" for word, part in clauses if part)])


def make_funnel_question(
    steps: Sequence[str],
    by: str | None = None,
    within: str | timedelta | None = None,
    start: str = "best",
    order: str = "stream",
    between: str | None = None,
    mode: str | None = None,
) -> FunnelQuestion:
    """Return the funnel with these parts, as `cerify.funnel` takes them. Raises IllFormed, ParseError."""
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise IllFormed(f'steps must be a list, such as ["view", "cart"], not {steps!r}')
    if not 1 <= len(steps) <= MOST_STEPS:
        raise IllFormed(f"a funnel has 1 to {MOST_STEPS} steps, not {len(steps)}")
    require_kind("by", by, str | None, "the name of an attribute")
    for name, value, known in (("start", start, ("best", "first")), ("order", order, ("stream", "time", "strict"))):
        if value not in known:
            raise IllFormed(f"{name}: expected {' or '.join(known)}, not {value!r}{did_you_mean(str(value), known)}")
    if mode is not None:
        if mode not in FUNNEL_MODES:
            hint = did_you_mean(mode, FUNNEL_MODES)
            raise IllFormed(f"there is no mode {mode!r}{hint}; choose one of {format_names(FUNNEL_MODES)}")
        if within is None:
            raise IllFormed("a mode of ClickHouse's windowFunnel needs a window: within='7 days'")
        if start != "best" or order != "stream" or between is not None:
            raise IllFormed("mode cannot be combined with start, order or between: leave them out")
    return FunnelQuestion(
        tuple(map(parse_step, steps)),
        _attribute(by),
        None if within is None else parse_window(within),
        "first" if start == "first" else "best",
        "time" if order == "time" else "strict" if order == "strict" else "stream",
        None if between is None else parse_step(_negated(between)),
        mode,
    )


def _attribute(by: str | None) -> str | None:
    if by == TYPE:
        raise IllFormed(f"by={TYPE!r} gives each key events of one type only; name another attribute")
    return None if by is None else parse_attribute(by)


def _negated(between: str) -> str:
    require_kind("between", between, str, 'a text as "not refund"')
    word, _, step = between.strip().partition(" ")
    if word.lower() != "not" or not step.strip():
        raise IllFormed(f'between: expected a text of the form "not STEP", as "not refund"; got {between!r}')
    return step


def _parts_of(text: str, start: int) -> tuple[list[str], dict[str, tuple[str, Span]]]:
    """Return (steps, clauses) of the text from `start` on: clauses maps each keyword to its text and place."""
    parts: list[str] = []
    clauses: dict[str, tuple[str, Span]] = {}
    word, begun, at, depth = "", start, start, 0

    def finish(end: int) -> None:
        part = text[begun:end].strip()
        if word in clauses:
            raise ParseError(f"{word} is written twice", Span(begun, end))
        if not part:
            raise ParseError(f"something is missing {f'after {word}' if word else 'here'}", Span(begun, end))
        if word:
            clauses[word] = part, Span(begun, end)
        else:
            parts.append(part)

    while at < len(text):
        character = text[at]
        found = _WORD.match(text, at) if not depth else None
        if character in "'\"":
            closing = text.find(character, at + 1)
            if closing == -1:
                raise ParseError("the text in quotation marks does not end", Span(at, len(text)))
            at = closing + 1
            continue
        depth += (character in "([{") - (character in ")]}")
        if found is not None:
            finish(at)
            word, begun, at = found[1], found.end(), found.end()
            continue
        if character == "," and depth <= 0 and not word:
            finish(at)
            begun = at + 1
        at += 1
    finish(len(text))
    return parts, clauses


def _show_step(step: FunnelStep) -> str:
    """Return the text of a step. Its type is in quotation marks if it would otherwise be read as something else."""
    name = "" if step.type is None else _quoted(step.type)
    return name + ("" if step.predicate is None else f"[{show_predicate(step.predicate)}]")


def _quoted(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][\w.]*", name) and name not in (*CLAUSES, "OF")
    return name if plain else '"' + name.replace('"', '""') + '"'


def query_constructs(query: KeyedQuestion) -> frozenset[str]:
    """Return the names of the constructs of a query: sequence, funnel, parts of its mode, clauses, conditions."""
    found = {"condition"} if any(step.predicate is not None for step in query.steps) else set[str]()
    if query.by is not None:
        found.add("partition")
    if isinstance(query, SequenceQuestion):
        return frozenset(found | {"sequence"})
    found |= {"funnel"} if query.mode is None else set(query.mode.split(","))
    found |= {"between"} if query.between is not None else set()
    found |= {"start"} if query.start != "best" else set()
    found |= {"order"} if query.order != "stream" else set()
    match None if query.window is None else query.window.window:
        case TimeWindow():
            found.add("within-time")
        case EventWindow():
            found.add("within-events")
        case AttributeWindow():
            found.add("within-attribute")
    return frozenset(found)


def step_problems(question: KeyedQuestion, schema: Schema) -> Iterator[Problem]:
    """Yield the problems of the steps: types and attributes that no event has, comparisons of values of two kinds."""
    between = question.between if isinstance(question, FunnelQuestion) else None
    for step in (*question.steps, *([between] if between is not None else [])):
        of_step = f"of the step {step.text!r}"
        if step.type is not None and step.type not in schema.types:
            near = meant_name(step.type, schema.types)
            others = f"; the types are {format_names(sorted(schema.types))}" if near is None else ""
            yield Problem("event_type", f"no event has the type {step.type!r} {of_step}{others}", None, near)
        if step.predicate is None:
            continue
        for name in dict.fromkeys(attribute.name for attribute in mentions(step.predicate)):
            if name not in schema.attributes and name != TIME:
                near = meant_name(name, schema.attributes)
                yield Problem("attribute", f"no event has the attribute {name!r} {of_step}", None, near)
            elif step.type is not None and step.type in schema.types and not schema.has(step.type, name):
                have = format_names([*schema.types[step.type]])
                message = f"no event of type {step.type!r} has the attribute {name!r} {of_step}; it has {have}"
                yield Problem("attribute", message, None)
        for problem in kind_problems(step.predicate, schema, None):
            yield replace(problem, message=f"in the step {step.text!r}, {problem.message}")


# --- answers ----------------------------------------------------------------------------------------------------------


def is_of_step(step: FunnelStep, event: Event) -> bool:
    """Return whether an event is of a step: it has the step's type and satisfies its condition."""
    if step.type is not None and step.type != event.type:
        return False
    return step.predicate is None or satisfied(step.predicate, lambda attribute: event.get(attribute.name), event.type)


def answer_by_key(
    question: KeyedQuestion,
    S: Stream,
    mode: str | None = None,
    holds: StepHolds = is_of_step,
    attempts: bool = False,
) -> Iterator[Match]:
    """Yield a match for each row of the answer, at the end of the stream; the match's result is the row.

    mode: the mode of funnels that do not name a mode.
    holds: a function that returns whether an event satisfies a step, or None to hide the event.
    attempts: for a sequence, whether to report each key's longest attempt (see `longest_attempt`) instead of its match.

    A key all of whose events are hidden has the level None. Raises InputError for times that decrease, and for values
    that are not times.
    """
    found_rows, hidden = _rows_by_key(question, S, holds)
    for key, rows in found_rows.items():
        if isinstance(question, SequenceQuestion):
            parts = parse_sequence_pattern(question.pattern)
            found = (longest_attempt if attempts else sequence_rows)(parts, [row for _, row in rows])
            if found is None:
                continue
            ordered = sorted((p for p in rows if p[1].steps), key=lambda one: one[1].time)
            taken = [ordered[i][0] for i in found]
            yield _row(S, sorted(taken), {"key": key[1], "positions": taken})
            continue
        level, chain = _level(question, [row for _, row in rows], mode, S)
        yield _row(
            S, sorted(rows[i][0] for i in chain), {"key": key[1], "level": level if rows or not hidden[key] else None}
        )


def _row(S: Stream, events: list[int], result: Mapping[str, Any]) -> Match:
    return Match(len(S) - 1, tuple(events), (), result_of(result))


def _level(question: FunnelQuestion, rows: list[FunnelRow], mode: str | None, S: Stream) -> tuple[int, Sequence[int]]:
    floating = any(isinstance(row.time, float) for row in rows)
    window = None if question.window is None else question.window.on_axis(_unit(question, S), floating)
    n, mode = len(question.steps), question.mode or mode
    if mode is not None:
        # A mode needs a window; without one the length of all rows excludes nothing.
        return FUNNEL_MODES[mode](rows, n, window if window is not None else _span(rows)), ()
    chain = deepest_chain(rows, n, ChainReading(window, question.start == "first", question.order == "strict"))
    return len(chain), chain


def _span(rows: list[FunnelRow]) -> Time:
    times = [row.time for row in rows]
    return max(times, default=0) - min(times, default=0)


def _unit(question: FunnelQuestion, S: Stream) -> int:
    name = _axis(question)
    return SECOND if name is not None and any(isinstance(event.get(name), datetime) for event in S) else 1


def _axis(question: KeyedQuestion) -> str | None:
    """Return the attribute in which the window is measured and by which events are ordered; None for positions."""
    if isinstance(question, SequenceQuestion):
        return TIME
    needed = question.order != "stream" or question.mode is not None
    match None if question.window is None else question.window.window:
        case AttributeWindow(_, attribute):
            if question.order != "stream" and attribute != TIME:
                raise IllFormed(f"a window on {attribute} needs events in the order of the stream: leave order out")
            return attribute
        case TimeWindow():
            return TIME
        case EventWindow() if needed:
            raise IllFormed(
                "order and mode cannot be combined with a window of EVENTS: give a time window, or leave them out"
            )
    return TIME if needed else None


def _rows_by_key(
    question: KeyedQuestion, S: Stream, holds: StepHolds
) -> tuple[dict[_Key, list[tuple[int, FunnelRow]]], Counter[_Key]]:
    """Return (rows, hidden): the rows of each key with their positions, in order, and each key's count of hidden
    events.
    """
    axis, found, hidden = _axis(question), dict[_Key, list[tuple[int, FunnelRow]]](), Counter[_Key]()
    barring = None if isinstance(question, SequenceQuestion) else question.between
    for p, event in enumerate(S):
        key = None if question.by is None else event.get(question.by)
        # NaN is no key either: it equals no other value, so each such event would be a key of its own.
        if question.by is not None and (key is None or key != key):
            continue
        # Before the event is tested, because a key has a row in the answer even if it reaches no step.
        rows = found.setdefault((isinstance(key, bool), key), [])
        time = p if axis is None else _number(event.get(axis), axis)
        if time is None:
            continue
        held = [holds(step, event) for step in question.steps]
        if None in held:
            hidden[isinstance(key, bool), key] += 1
            continue
        steps = frozenset(i for i, one in enumerate(held, start=1) if one)
        rows.append((p, FunnelRow(time, steps, barring is not None and bool(holds(barring, event)))))
    in_order = isinstance(question, SequenceQuestion) or question.order != "stream" or question.mode is not None
    if in_order:
        return {key: sorted(rows, key=lambda one: one[1].time) for key, rows in found.items()}, hidden
    if axis is not None:
        for rows in found.values():
            _require_order([row for row in rows if row[1].steps or row[1].barred], axis)
    return found, hidden


def _number(value: Value | None, axis: str) -> Time | None:
    match value:
        case None:
            return None
        case datetime():
            return exact_microseconds(value)
        case bool() | str():
            raise InputError(f"the attribute {axis!r} has the value {value!r}; a funnel needs numbers or timestamps")
        case float() if value != value:
            return None
    return value


def _require_order(rows: list[tuple[int, FunnelRow]], axis: str) -> None:
    for (before, one), (after, other) in pairwise(rows):
        if other.time < one.time:
            raise InputError(
                f"event {after} has a smaller {axis} than event {before} of the same key; to read the events of a key "
                "by time, write ORDER time"
            )
