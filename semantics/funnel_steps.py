"""The text of a funnel: its steps and its window, in the syntax of CEL."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import ClassVar, Literal

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
from cerify.semantics.errors import CerifyError, IllFormed, ParseError, Span
from cerify.semantics.parsing import UNITS_REWRITTEN
from cerify.semantics.predicates import Predicate
from cerify.semantics.values import encodable

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
        """Return the length of the window in the unit of an attribute's values.

        unit: how many of these units make a second; 1 for a window on an attribute. floating: whether the values are
        floats; if not, the result is rounded down.
        """
        match self.window:
            case TimeWindow(amount, name):
                width = Fraction(str(amount)) * SECONDS_OF[name]
            case AttributeWindow(amount, _):
                width, unit = Fraction(str(amount)), unit
            case EventWindow(count):
                return count - 1
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
