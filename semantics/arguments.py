"""Check the arguments of public functions. An argument of a wrong kind raises IllFormed, which names it.

First the checks (`require_kind`, `require_whole`) and their suggestions (`did_you_mean`). Then `Budget`, the limits of
one computation: its clock is a context variable, so nested calls share the time that the outermost call got, and loops
only call `check_time`. Last the selection strategies, and the readings of what a definition leaves open.
"""

from __future__ import annotations

import gc
import math
import re
import reprlib
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import Enum
from numbers import Integral, Real
from types import UnionType
from typing import Any, TypeVar, get_args, get_type_hints

from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Span, TooManyMatches

LANGUAGE_ARGUMENT = r'language="([^"]+)"'
"""How messages name the argument for a language; the command line and the playground replace it by their own."""


MOST = 10**18
"""The largest value of an argument that limits something; Python can still count one step beyond it."""


def short_repr(value: object) -> str:
    """Return the repr of a value, shortened for a message."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no number of more digits
        return f"a number of more than {sys.get_int_max_str_digits()} digits"


def require_kind(name: str, value: object, kind: type | UnionType, wanted: str) -> None:
    """Raise IllFormed unless the value is an instance of `kind`.

    wanted: what messages call an instance, such as "a cerify.Budget".
    """
    if not isinstance(value, kind):
        raise IllFormed(f"{name}: expected {wanted}, not {short_repr(value)}")


def require_whole(name: str, value: object, least: int = 0) -> None:
    """Raise IllFormed unless the value is a whole number from `least` to 10**18."""
    # bool is a subclass of int in Python, but True as a limit is a mistake.
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise IllFormed(f"{name}: expected a whole number of at least {least}, not {short_repr(value)}")
    if int(value) > MOST:
        raise IllFormed(f"{name}: expected at most 10**18, not {short_repr(value)}")


def require_seconds(name: str, value: object) -> None:
    """Raise IllFormed unless the value is a number of at least 0 that fits in a float."""
    try:
        if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
            raise IllFormed(f"{name}: expected a number of at least 0, not {short_repr(value)}")
    except OverflowError:
        raise IllFormed(f"{name}: expected a number that fits in a float, not {short_repr(value)}") from None


def require_keywords(function: Callable[..., Any], given: Iterable[str], options: type | None = None) -> None:
    """Raise IllFormed if a name in `given` is neither a keyword argument of the function nor a key of `options`.

    options: a TypedDict, or None. The message suggests the most similar name.
    """
    names = {*(function.__kwdefaults__ or ()), *(() if options is None else options.__annotations__)}
    for name in given:
        if name not in names:
            meant = did_you_mean(name, names) or f"; it has {', '.join(sorted(names))}"
            raise IllFormed(f"{function.__name__} has no argument {name!r}{meant}")


_NUMBER = re.compile(r"\d+")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar of the names; None if none is similar enough.

    A name with another first letter must be even more similar. A name that differs only in the digits of a number is
    not returned, because it is another member of a series.
    """
    series = _NUMBER.sub("0", name)
    near = get_close_matches(name, [one for one in names if one == name or _NUMBER.sub("0", one) != series], 1)
    alike = near if near and near[0][:1] == name[:1] else get_close_matches(name, near, 1, 0.75)  # not "id" for "kind"
    return next(iter(alike), None)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return '; did you mean NAME?' with the most similar name, to append to a message; "" if no name is similar."""
    near = nearest(name, names)
    return "" if near is None else f"; did you mean {near!r}?"


def format_names(names: Collection[str]) -> str:
    """Return the first ten names as text for a message, and the total if there are more.

    All are quoted if one of them begins or ends with a blank.
    """
    first = list(names)[:10]
    few = ", ".join(map(repr, first) if any(name != name.strip() for name in first) else first) or "none"
    return few if len(names) <= 10 else f"{few}, ... ({len(names)} in all)"


# ---------------------------------------------------------------------------------------------------------------------
# What a computation may use before it stops with a typed error.

T = TypeVar("T")
CHECKED_TOGETHER = 256  # items between two looks at the clock
_LIMIT: ContextVar[tuple[float, float]] = ContextVar("_LIMIT", default=(math.inf, math.inf))
"""The time (of the monotonic clock) at which the current call has to end, and how many seconds it was given."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on the work of one call. The code that does the work checks its limit.

    valuations: how many valuations an interpreter may make, over all sub-formulas and intervals.
    states: how many states, and how many transitions, one automaton may have.
    matches: how many complex events one evaluation may return.
    seconds: how much time may pass during one call of a public function, one batch of an evaluator, or the check of
        one certificate; None for no limit.

    Raises IllFormed for a limit that is not a number of at least 0.
    """

    valuations: int = 2_000_000
    states: int = 100_000
    matches: int = 1_000_000
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("valuations", "states", "matches"):
            require_whole(name, getattr(self, name))
        if self.seconds is not None:
            require_seconds("seconds", self.seconds)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Return a context with a time limit: `check_time` raises BudgetExceeded when the seconds of this budget, or of
        an enclosing context, are over.

        In the context, too deep recursion and whole numbers with too many digits to print also raise BudgetExceeded.
        """
        seconds = math.inf if self.seconds is None else float(self.seconds)  # it may be a Fraction
        before = _LIMIT.set(min(_LIMIT.get(), (time.monotonic() + seconds, seconds)))
        try:
            with depth_limited():
                yield
        except ValueError as error:
            if "set_int_max_str_digits" in str(error):  # Python's message for a number that is too long to write
                digits = sys.get_int_max_str_digits()
                raise BudgetExceeded(
                    f"the whole number has more than {digits} digits, too many to print; use smaller numbers"
                ) from None
            raise
        finally:
            _LIMIT.reset(before)


def too_many_matches(most: int) -> TooManyMatches:
    """Return the error for an evaluation that has more matches than the budget allows."""
    return TooManyMatches(
        f"more than {most} matches; count them, ask for the first ones, or allow more: Budget(matches=...)"
    )


ALLOW_MORE_TIME = "Budget(seconds=...), or --time-limit"


def time_left() -> float:
    """Return the seconds that the current call may still take; infinity if it has no limit."""
    until, _ = _LIMIT.get()
    return until - time.monotonic()


def check_time() -> None:
    """Raise BudgetExceeded if the time of the current call is over."""
    until, seconds = _LIMIT.get()
    if time.monotonic() > until:
        raise BudgetExceeded(
            f"the call takes more than {seconds:g} seconds; simplify the query, or allow more: {ALLOW_MORE_TIME}"
        )


def timed_items(items: Iterable[T], together: int = CHECKED_TOGETHER) -> Iterator[T]:
    """Yield the items. Raises BudgetExceeded if the time of the current call is over.

    together: how many items are yielded for each look at the clock.
    """
    for i, item in enumerate(items):
        if i % together == 0:
            check_time()
        yield item


@contextmanager
def not_collecting() -> Iterator[None]:
    """Return a context in which Python's garbage collector is off.

    Matches and automata form no reference cycles. If there are many, the collector would take half of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def depth_limited(span: Span | None = None) -> Iterator[None]:
    """Return a context that turns Python's error for too deep recursion into BudgetExceeded, at `span`."""
    try:
        yield
    except RecursionError:
        raise BudgetExceeded("the formula is nested too deeply; use fewer operators inside each other", span) from None


# ---------------------------------------------------------------------------------------------------------------------
# The selection strategies as values (tods21, section 7; cep17, section 4).


class Selection(Enum):
    """Which matches of a query are returned: all, or only those that a selection strategy around the query keeps."""

    ALL = "all"
    STRICT = "strict"
    NEXT = "next"
    LAST = "last"
    MAX = "max"

    @classmethod
    def from_value(cls, strategy: Selection | str) -> Selection:
        """Return the selection strategy with a name such as "max", or the given strategy.

        Raises IllFormed for an unknown name.
        """
        try:
            return cls(strategy)
        except ValueError:
            names = ", ".join(one.value for one in cls)
            raise IllFormed(f"there is no selection {strategy!r}; use one of {names}") from None


# ---------------------------------------------------------------------------------------------------------------------
# Readings answer the questions that the source of a language leaves open: one field for each, with a default answer.

R = TypeVar("R")


def choices(kind: type) -> dict[str, tuple[str, ...]]:
    """Return the possible answers to each question of a class of readings; the default answer comes first.

    A reading answers the questions that the definition of a language leaves open. Each field of its class is a
    question.
    """
    kinds = get_type_hints(kind)
    return {one.name: get_args(kinds[one.name]) for one in fields(kind)}


def parse_reading(kind: type[R], given: Iterable[str]) -> R:
    """Return the reading that texts such as "window=closed" describe; the other questions get their default answers.

    Raises InputError for an unknown question or answer.
    """
    known, chosen = choices(kind), {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in known:
            raise InputError(f"a reading has no question {name!r}; its questions are {', '.join(known)}")
        if value not in known[name]:
            raise InputError(f"reading {name}: expected {' or '.join(known[name])}, not {value!r}")
        chosen[name] = value
    return kind(**chosen)
