"""What a computation may use before it stops with a typed error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cerify.semantics.errors import BudgetExceeded, Span


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on what one call may build; each is checked by whoever builds it.

    valuations: valuations made by a denotational interpreter, over all sub-formulas and intervals.
    states: states, or transitions where these are the larger number, of one automaton.
    matches: complex events handed out by one evaluation.
    seconds: by the clock on the wall, None for as long as it needs: how long a denotational interpreter may take; each
        automaton that is built, so that a formula may take as long for every operator; each search for the types of
        events; what determinizing along a stream adds up to, reading it left out; the filters that compare events,
        from the first match to the last; and the check of a certificate.
    """

    valuations: int = 2_000_000
    states: int = 100_000
    matches: int = 1_000_000
    seconds: float | None = None


@contextmanager
def depth_limited(span: Span | None = None) -> Iterator[None]:
    """Inside, a tree nested deeper than Python's own limit on recursion is a BudgetExceeded."""
    try:
        yield
    except RecursionError:
        raise BudgetExceeded(
            "the formula is nested too deeply; write it with fewer operators inside each other", span
        ) from None
