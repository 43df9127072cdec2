"""The selection strategies as values (tods21, section 7; cep17, section 4)."""

from __future__ import annotations

from enum import Enum

from cerify.semantics.errors import IllFormed


class Selection(Enum):
    """Which matches of a query are wanted: all, or those that a strategy around the whole query keeps."""

    ALL = "all"
    STRICT = "strict"
    NEXT = "next"
    LAST = "last"
    MAX = "max"

    @classmethod
    def of(cls, strategy: Selection | str) -> Selection:
        """The strategy, also by its value. Raises IllFormed for a value that there is not."""
        try:
            return cls(strategy)
        except ValueError:
            names = ", ".join(one.value for one in cls)
            raise IllFormed(f"there is no selection {strategy!r}; use one of {names}") from None
