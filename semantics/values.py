"""Values of attributes: their types, which of them can be compared, and how exact they are.

An int in a column has 64 bits, a float is a binary64, and a timestamp is UTC with microseconds, or with nanoseconds if
the data has them (NanosecondTime). The readers of files, of JSON and of Arrow tables, the predicates and the protocol
share these definitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from cerify.semantics.errors import InputError, Unsupported

# ---------------------------------------------------------------------------------------------------------------------
# Times with nanoseconds, and differences between them, as subclasses of Python's datetime and timedelta.
#
# Logs of containers and of Windows write nine or seven digits of a second, and Python's datetime has six. Dropping the
# other digits can change the answer to "within 1 second". Plain numbers of nanoseconds would lose the properties of
# times: their comparison with `timestamp '…'`, their printing, their parts. Objects of the subclasses are compared,
# subtracted and printed exactly by all code that knows datetime and timedelta; code that is limited to microseconds
# calls `microseconds`, which raises Unsupported. A time that is a whole number of microseconds is always a plain
# datetime, so equal times are of one class.

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
        # datetime pickles its own bytes only, so a copy would lose the nanosecond and the ticks.
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


# ---------------------------------------------------------------------------------------------------------------------
# Values and their types.

Value: TypeAlias = bool | int | float | str | datetime
ValueType = Literal["int", "float", "string", "bool", "timestamp"]
"""The types of values that a schema gives to attributes."""

TimeUnit = Literal["s", "ms", "us", "ns"]
"""Seconds, milliseconds, microseconds or nanoseconds since 1970."""

ValueKind = Literal["number", "string", "bool", "timestamp", "interval"]
"""The kinds of values. Only values of the same kind can be compared. Only SQL's expressions have intervals."""

KIND_OF: Mapping[ValueType, ValueKind] = {
    "int": "number",
    "float": "number",
    "string": "string",
    "bool": "bool",
    "timestamp": "timestamp",
}
PLAIN = frozenset({bool, int, float})
"""The Python classes of which every instance is a value."""

EXACT = 2**53
"""A float can represent every integer of at most this magnitude exactly."""

INT64 = range(-(2**63), 2**63)
Microseconds: TypeAlias = int | Fraction
"""Microseconds since 1970; a Fraction if the time has nanoseconds."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_TIME, LAST_TIME = (time.replace(tzinfo=UTC) for time in (datetime.min, datetime.max))
"""The first and the last possible time, in the years 1 and 9999."""


PATTERNS: Mapping[ValueType, tuple[str, str]] = {
    "int": ("-?[0-9]+", "an integer"),
    "float": (r"(?i)[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan", "a number"),
    "bool": ("(?i)true|false", "true or false"),
}
"""For a column with this value type, the form of its cells as a regular expression, and their name in messages."""

FRACTION = re.compile(r"([.,]\d{6})(\d+)", re.ASCII)
"""The fraction of a second: the six digits that a timestamp has, and the digits beyond."""

BEYOND_MICROSECONDS = "has digits beyond microseconds; --round-times cuts them off, in Python round_times=True"
BEYOND_NANOSECONDS = "has digits beyond nanoseconds; --round-times cuts them off, in Python round_times=True"
NANOSECONDS_OUT_OF_RANGE = (
    "is outside the years 1678 to 2261. Other values of the column have nanoseconds, which fit in 64 bits only in "
    "these years; --round-times cuts them off, in Python round_times=True"
)
"""What is wrong with a time, as the end of a message."""

BLANKS = "; the blanks around it belong to the value: remove them"


def quote_text(text: str) -> str:
    """Return the text in quotes for a message, shortened if it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def blanks_around(cell: str) -> str:
    """Return BLANKS, advice for a message, if the cell has blanks around a number, a truth value or a date; else ""."""
    forms = (*(pattern for pattern, _ in PATTERNS.values()), r"\d{4}-\d\d-\d\d.*")
    if (bare := cell.strip()) == cell or not any(re.fullmatch(form, bare) for form in forms):
        return ""
    return BLANKS


def value_of(value: Any, where: str) -> Value | None:
    """Return a Python value as the value of an attribute.

    The result has exactly the class int, float, str or bool, or is a UTC time; a time without an offset is taken as
    UTC. A date becomes its midnight, as in a column, and a scalar of NumPy its Python value. NaT and NA of NumPy and
    pandas become None. Raises InputError for a value without a value type. where: the place of the attribute, for the
    message.
    """
    # By attributes and not by class, so that NumPy and pandas need not be imported.
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = _of_numpy(value, where)
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, datetime) and value != value):
        return None
    if hasattr(value, "to_pydatetime"):  # a Timestamp of pandas
        if value.nanosecond:
            value = value.tz_localize("UTC") if value.tzinfo is None else value
            return time_at_nanoseconds(value.as_unit("ns").value)
        value = value.to_pydatetime()
    match value:
        case bool():
            return value
        case int():
            return int.__int__(value)  # also for a member of an Enum
        case float():
            return float.__float__(value)
        case str() if encodable(value):
            return str.__str__(value)
        case datetime():
            try:
                return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            except OverflowError:
                raise InputError(f"{where}: the time is outside the years 1 to 9999") from None
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case str():
            raise InputError(f"{where}: {value!r} is not valid Unicode text")
        case _:
            raise InputError(
                f"{where}: the value has type {type(value).__name__}; an attribute must be an int, float, string, "
                f"bool or timestamp, so convert it or leave it out"
            )


def _of_numpy(scalar: Any, where: str) -> object:
    """Return the Python value of a scalar of NumPy. For a time outside Python's range, `item` returns an integer."""
    match scalar.dtype.kind:
        case "m":
            return scalar  # a difference of times has no value type
        case "M" if scalar == scalar:
            exact = scalar.astype("datetime64[us]")
            if exact != scalar:
                if (fine := scalar.astype("datetime64[ns]")) != scalar:
                    raise InputError(f"{where}: {scalar} {BEYOND_NANOSECONDS}")
                return time_at_nanoseconds(int(fine.astype("int64")))
            found = scalar.item()
            found = exact.item() if isinstance(found, int) else found
            if isinstance(found, int):
                raise InputError(f"{where}: the time is outside the years 1 to 9999")
            return found
    return scalar.item()


def is_number(value: object) -> bool:
    """Return whether a value is a number; a bool, which Python counts as an int, is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_text(name: object) -> bool:
    """Return whether a name is a text that UTF-8 can encode."""
    return isinstance(name, str) and encodable(name)


def encodable(text: str) -> bool:
    """Return whether a text can be written to files and Arrow columns: it has no half of a surrogate pair."""
    # ASCII has no surrogates; this test costs a fraction of encoding the text.
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def value_type_of(value: Value) -> ValueType:
    """Return the value type of a value."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "string"
        case datetime():
            return "timestamp"


def kind(value: Value | timedelta) -> ValueKind:
    """Return the kind of a value; only values of the same kind can be compared."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case datetime():
            return "timestamp"
        case timedelta():
            return "interval"


def joined(one: ValueType, other: ValueType) -> ValueType | None:
    """Return the value type that covers both types (int and float: float); None if there is none."""
    if one == other:
        return one
    return "float" if {one, other} == {"int", "float"} else None


def is_exact_float(number: int) -> bool:
    """Return whether a float can represent this 64-bit integer exactly."""
    return float(number) == number


def plain(value: Any) -> Any:
    """Return a result's value for JSON: a time or an interval as text, a whole float as an integer, NaN and infinity
    as null.
    """
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() else value
    if isinstance(value, timedelta):
        return show_interval(value)
    return show_time(value) if isinstance(value, datetime) else value


def parse_time(text: str, keep_nanoseconds: bool = False) -> datetime:
    """Return the UTC time of an ISO 8601 text; one without an offset is taken as UTC.

    keep_nanoseconds: whether digits beyond microseconds are read, as in data; in queries and the protocol they are an
    error. Raises ValueError; its message continues a sentence about the text, as in "is not an ISO 8601 time".
    """
    rest = ""
    if (fraction := FRACTION.search(text)) is not None and (rest := fraction[2].rstrip("0")):  # Python would drop it
        if not keep_nanoseconds:
            raise ValueError(BEYOND_MICROSECONDS)
        if len(rest) > 3:
            raise ValueError(BEYOND_NANOSECONDS)
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        return time_at_nanoseconds(nanoseconds(time) + int(rest.ljust(3, "0"))) if rest else time
    except (ValueError, OverflowError) as error:
        if isinstance(error, OverflowError) or str(error).startswith("year"):
            raise ValueError("is outside the years 1 to 9999") from None
        raise ValueError("is not an ISO 8601 time, such as 2013-01-31T14:05:00Z") from None


def show_time(time: datetime) -> str:
    """Return the ISO 8601 text of a UTC time, with Z for its offset."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def show_interval(interval: timedelta) -> str:
    """Return the ISO 8601 text of a difference of times, in days, hours, minutes and seconds.

    >>> show_interval(timedelta(hours=25, seconds=1.5))
    'P1DT1H1.5S'
    """
    seconds, fraction = divmod(abs(nanoseconds_of_interval(interval)), 10**9)
    days, hours, minutes = seconds // 86_400, seconds // 3_600 % 24, seconds // 60 % 60
    written = f"{seconds % 60}" + (f".{fraction:09}".rstrip("0") if fraction else "")
    clock = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + f"{written}S" * (written != "0")
    text = f"{days}D" * bool(days) + f"T{clock}" * bool(clock)
    return ("-" if interval < timedelta(0) else "") + "P" + (text or "T0S")


def microseconds(time: datetime) -> int:
    """Return the microseconds from the epoch to a time, as in Arrow; a time without an offset is taken as UTC.

    Raises Unsupported for a time with nanoseconds, which would be lost; see `exact_microseconds`.
    """
    if isinstance(time, NanosecondTime):
        raise Unsupported(
            f"{show_time(time)} has nanoseconds, which are not supported here; --round-times cuts them off"
        )
    return ((time.replace(tzinfo=UTC) if time.tzinfo is None else time) - EPOCH) // timedelta(microseconds=1)


def time_at(ticks: int) -> datetime:
    """Return the time that is this many microseconds after the epoch."""
    return EPOCH + timedelta(microseconds=ticks)


def exact_microseconds(time: datetime) -> Microseconds:
    """Return the microseconds from the epoch to a time; a Fraction for a time with nanoseconds.

    >>> exact_microseconds(parse_time("1970-01-01T00:00:00.0000015Z", keep_nanoseconds=True))
    Fraction(3, 2)
    """
    return Fraction(nanoseconds(time), 1000) if isinstance(time, NanosecondTime) else microseconds(time)


def show_seconds(ticks: Microseconds) -> str:
    """Return this number of microseconds as a text in seconds, with all digits.

    >>> show_seconds(2_500_000), show_seconds(Fraction(1_000_000_800, 1000))
    ('2.5', '1.0000008')
    """
    whole, rest = divmod(abs(round(ticks * 1000)), 10**9)
    return f"{'-' * (ticks < 0)}{whole}" + (f".{rest:09}".rstrip("0") if rest else "")


def has_nanoseconds(values: Iterable[object]) -> bool:
    """Return whether one of the values is a time with nanoseconds."""
    return NanosecondTime in set(map(type, values))


def first_out_of_range(values: Sequence[object]) -> int | None:
    """Return the first row whose time does not fit in a column of nanoseconds.

    Return None if all times fit, or if no time has nanoseconds.
    """
    if not has_nanoseconds(values):
        return None
    times = ((row, nanoseconds(value)) for row, value in enumerate(values) if isinstance(value, datetime))
    return next((row for row, ticks in times if not FEWEST_NANOSECONDS <= ticks <= MOST_NANOSECONDS), None)
