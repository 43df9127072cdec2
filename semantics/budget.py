"""What a computation may use before it stops with a typed error."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from cerify.semantics.arguments import require_seconds, require_whole
from cerify.semantics.errors import BudgetExceeded, Span

T = TypeVar("T")
CHECKED_TOGETHER = 256  # items between two looks at the clock
_LIMIT: ContextVar[tuple[float, float]] = ContextVar("_LIMIT", default=(math.inf, math.inf))
"""When the time of the call under way is up, by the monotonic clock, and how many seconds it was given."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on what one call may build; each is checked by whoever builds it.

    valuations: valuations made by a denotational interpreter, over all sub-formulas and intervals.
    states: states, or transitions where these are the larger number, of one automaton.
    matches: complex events handed out by one evaluation.
    seconds: by the clock on the wall, how long one call of a public function, one batch that an evaluator reads, or
        the check of a certificate may take; None for as long as it needs.

    Raises IllFormed for a limit that is no number from 0 on.
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
        """A context in which `check_time` raises once the seconds are over, or those of a context around this one.

        What is nested too deeply for Python is a BudgetExceeded in it, too, and a number that Python cannot write.
        """
        seconds = math.inf if self.seconds is None else float(self.seconds)  # it may be a Fraction
        before = _LIMIT.set(min(_LIMIT.get(), (time.monotonic() + seconds, seconds)))
        try:
            with depth_limited():
                yield
        except ValueError as error:
            if "set_int_max_str_digits" in str(error):  # the advice of Python, of a number that it is to write
                digits = sys.get_int_max_str_digits()
                raise BudgetExceeded(f"a whole number of more than {digits} digits has no text") from None
            raise
        finally:
            _LIMIT.reset(before)


def too_many_matches(most: int) -> BudgetExceeded:
    """The error of an evaluation that has more matches than the budget."""
    return BudgetExceeded(
        f"more than {most} matches; count them, ask for the first ones, or allow more: Budget(matches=...)"
    )


def time_left() -> float:
    """The seconds that the call under way may still take; infinity if it has no limit."""
    until, _ = _LIMIT.get()
    return until - time.monotonic()


def check_time() -> None:
    """Raises BudgetExceeded if the time of the call under way is over."""
    until, seconds = _LIMIT.get()
    if time.monotonic() > until:
        more = "allow more: Budget(seconds=...), or --time-limit"
        raise BudgetExceeded(f"it takes more than {seconds:g} seconds; simplify it, or {more}")


def timed_items(items: Iterable[T], together: int = CHECKED_TOGETHER) -> Iterator[T]:
    """The items, as long as there is time, which is looked at once for so many together. Raises BudgetExceeded."""
    for i, item in enumerate(items):
        if i % together == 0:
            check_time()
        yield item


@contextmanager
def depth_limited(span: Span | None = None) -> Iterator[None]:
    """Inside, a tree nested deeper than Python's own limit on recursion is a BudgetExceeded."""
    try:
        yield
    except RecursionError:
        raise BudgetExceeded(
            "the formula is nested too deeply; write it with fewer operators inside each other", span
        ) from None
