"""Times with nanoseconds, and differences between them, as subclasses of Python's datetime and timedelta.

Logs of containers and of Windows write nine or seven digits of a second, and Python's datetime has six. Dropping the
other digits can change the answer to "within 1 second". Plain numbers of nanoseconds would lose the properties of
times: their comparison with `timestamp '…'`, their printing, their parts. Objects of the subclasses are compared,
subtracted and printed exactly by all code that knows datetime and timedelta; code that is limited to microseconds calls
`microseconds`, which raises Unsupported. A time that is a whole number of microseconds is always a plain datetime, so
equal times are of one class.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FEWEST_NANOSECONDS, MOST_NANOSECONDS = -(2**63) + 1, 2**63 - 1
"""The bounds of nanoseconds since 1970 in a column of 64 bits: in the years 1677 and 2262."""


class NanosecondTime(datetime):
    """A UTC time with digits beyond microseconds: `nanosecond` has them, from 1 to 999.

    Make one with `time_at_nanoseconds`. ticks: the nanoseconds since 1970, by which times are compared.
    """

    __slots__ = ("nanosecond", "ticks")
    nanosecond: int
    ticks: int

    @property
    def whole(self) -> datetime:
        """Return the time without the digits beyond microseconds."""
        return datetime(
            self.year, self.month, self.day, self.hour, self.minute, self.second, self.microsecond, tzinfo=UTC
        )

    def __eq__(self, other: object) -> bool:
        return nanoseconds(self) == nanoseconds(other) if isinstance(other, datetime) else NotImplemented

    def __ne__(self, other: object) -> bool:  # datetime's own does not call __eq__
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return nanoseconds(self) < nanoseconds(other) if isinstance(other, datetime) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return nanoseconds(self) <= nanoseconds(other) if isinstance(other, datetime) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return nanoseconds(self) > nanoseconds(other) if isinstance(other, datetime) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return nanoseconds(self) >= nanoseconds(other) if isinstance(other, datetime) else NotImplemented

    def __hash__(self) -> int:
        return hash(nanoseconds(self))

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, datetime):
            return interval_of_nanoseconds(nanoseconds(self) - nanoseconds(other))
        return self + -other if isinstance(other, timedelta) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        if isinstance(other, datetime):
            return interval_of_nanoseconds(nanoseconds(other) - nanoseconds(self))
        return NotImplemented

    def __add__(self, other: timedelta) -> datetime:  # type: ignore[override]
        if not isinstance(other, timedelta):
            return NotImplemented
        return time_at_nanoseconds(nanoseconds(self) + nanoseconds_of_interval(other))

    __radd__ = __add__  # type: ignore[assignment]

    def astimezone(self, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        """Return the time itself for UTC; for another zone, the time there without the digits beyond microseconds."""
        return self if tz is UTC else self.whole.astimezone(tz)

    def replace(self, *args: Any, **fields: Any) -> datetime:  # type: ignore[override]
        """Return the time with other fields; a given microsecond replaces all digits after the second."""
        changed = self.whole.replace(*args, **fields)
        keeps = len(args) < 7 and "microsecond" not in fields and changed.tzinfo is UTC
        return time_at_nanoseconds(nanoseconds(changed) + self.nanosecond) if keeps else changed

    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        """Return the ISO 8601 text, with nine digits of the second unless timespec asks for fewer."""
        if timespec not in ("auto", "nanoseconds"):
            return self.whole.isoformat(sep, timespec)
        text, _, zone = self.whole.isoformat(sep, "microseconds").rpartition("+")
        return f"{text}{self.nanosecond:03}+{zone}"

    def __str__(self) -> str:
        return self.isoformat(" ")

    def __repr__(self) -> str:
        return f"NanosecondTime({self.isoformat()!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return time_at_nanoseconds, (nanoseconds(self),)


class NanosecondInterval(timedelta):
    """A difference of times with digits beyond microseconds: `nanosecond` has them, from 1 to 999.

    Make one with `interval_of_nanoseconds`. The timedelta itself is the interval, rounded down to microseconds.
    """

    __slots__ = ("nanosecond",)
    nanosecond: int

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, timedelta)
        return nanoseconds_of_interval(self) == nanoseconds_of_interval(other) if same else NotImplemented  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: timedelta) -> bool:
        return nanoseconds_of_interval(self) < nanoseconds_of_interval(other)

    def __le__(self, other: timedelta) -> bool:
        return nanoseconds_of_interval(self) <= nanoseconds_of_interval(other)

    def __gt__(self, other: timedelta) -> bool:
        return nanoseconds_of_interval(self) > nanoseconds_of_interval(other)

    def __ge__(self, other: timedelta) -> bool:
        return nanoseconds_of_interval(self) >= nanoseconds_of_interval(other)

    def __hash__(self) -> int:
        return hash(nanoseconds_of_interval(self))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, timedelta):
            return interval_of_nanoseconds(nanoseconds_of_interval(self) + nanoseconds_of_interval(other))
        if isinstance(other, datetime):
            return time_at_nanoseconds(nanoseconds(other) + nanoseconds_of_interval(self))
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, timedelta) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> timedelta:
        return interval_of_nanoseconds(-nanoseconds_of_interval(self))

    def __pos__(self) -> timedelta:
        return self

    def __abs__(self) -> timedelta:
        return interval_of_nanoseconds(abs(nanoseconds_of_interval(self)))

    def __mul__(self, other: Any) -> timedelta:
        """Return the interval multiplied by a number, rounded to nanoseconds."""
        if not isinstance(other, int | float | Fraction):
            return NotImplemented
        return interval_of_nanoseconds(round(nanoseconds_of_interval(self) * Fraction(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Return a float for another interval; for a number, the interval divided by it, rounded to nanoseconds."""
        if isinstance(other, timedelta):
            return nanoseconds_of_interval(self) / nanoseconds_of_interval(other)
        return interval_of_nanoseconds(round(nanoseconds_of_interval(self) / Fraction(other)))

    def __rtruediv__(self, other: timedelta) -> float:
        return nanoseconds_of_interval(other) / nanoseconds_of_interval(self)

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, timedelta):
            return nanoseconds_of_interval(self) // nanoseconds_of_interval(other)
        return interval_of_nanoseconds(nanoseconds_of_interval(self) // other)

    def __rfloordiv__(self, other: timedelta) -> int:
        return nanoseconds_of_interval(other) // nanoseconds_of_interval(self)

    def __mod__(self, other: timedelta) -> timedelta:
        return interval_of_nanoseconds(nanoseconds_of_interval(self) % nanoseconds_of_interval(other))

    def __bool__(self) -> bool:
        return True  # nanosecond is never 0

    def total_seconds(self) -> Any:
        """Return the seconds as a Fraction, which compares exactly with the widths of windows."""
        return Fraction(nanoseconds_of_interval(self), 10**9)

    def __repr__(self) -> str:
        return f"NanosecondInterval({nanoseconds_of_interval(self)})"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return interval_of_nanoseconds, (nanoseconds_of_interval(self),)


def nanoseconds(time: datetime) -> int:
    """Return the nanoseconds from 1970 to a UTC time.

    >>> nanoseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000000
    """
    if isinstance(time, NanosecondTime):
        return time.ticks
    return (time - EPOCH) // MICROSECOND * 1000


def time_at_nanoseconds(ticks: int) -> datetime:
    """Return the time that is this many nanoseconds after 1970. Raises OverflowError beyond the years 1 to 9999.

    >>> time_at_nanoseconds(1), time_at_nanoseconds(1000).microsecond
    (NanosecondTime('1970-01-01T00:00:00.000000001+00:00'), 1)
    """
    micros, rest = divmod(ticks, 1000)
    whole = EPOCH + timedelta(microseconds=micros)
    if not rest:
        return whole
    time = NanosecondTime(
        whole.year, whole.month, whole.day, whole.hour, whole.minute, whole.second, whole.microsecond, tzinfo=UTC
    )
    time.nanosecond, time.ticks = rest, ticks
    return time


def nanoseconds_of_interval(interval: timedelta) -> int:
    """Return the nanoseconds of a difference of times."""
    micros = (interval.days * 86_400 + interval.seconds) * 10**6 + interval.microseconds
    return micros * 1000 + (interval.nanosecond if isinstance(interval, NanosecondInterval) else 0)


def interval_of_nanoseconds(ticks: int) -> timedelta:
    """Return the difference of times of this many nanoseconds.

    >>> interval_of_nanoseconds(1_000_000_800).total_seconds()
    Fraction(1250001, 1250000)
    """
    micros, rest = divmod(ticks, 1000)
    if not rest:
        return timedelta(microseconds=micros)
    interval = NanosecondInterval(microseconds=micros)
    interval.nanosecond = rest
    return interval
