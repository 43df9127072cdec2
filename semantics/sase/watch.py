"""The budget of a search, outside the definition that makes its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from cerify.semantics.budget import check_time
from cerify.semantics.errors import BudgetExceeded

T = TypeVar("T")


class Watch(Protocol):
    """Passes on the steps of a search, or raises where there are too many."""

    def __call__(self, steps: Iterable[T], /) -> Iterable[T]: ...


class Counted:
    """A watch over at most `limit` steps, in one search or several. Raises BudgetExceeded."""

    def __init__(self, limit: int, what: str) -> None:
        self.limit, self.what, self.number = limit, what, 0

    def __call__(self, steps: Iterable[T], /) -> Iterator[T]:
        for step in steps:
            check_time()
            self.number += 1
            if self.number > self.limit:
                raise BudgetExceeded(
                    f"more than {self.limit} {self.what}; the definition is followed one by one, so give a shorter "
                    "stream, a window, or a stricter strategy"
                )
            yield step


def unwatched(steps: Iterable[T], /) -> Iterable[T]:
    """The steps, as many as there are."""
    return steps
