"""Take WITHIN and PARTITION BY off a formula, so that an automaton can evaluate the rest (tods21, section 4, sugar).

WITHIN and PARTITION BY filter valuations by their support, the set of all their positions. They commute with every
operator that does not change supports and judges each valuation separately: IN, FILTER, START, STRICT, the left of
UNLESS. Other operators join supports, project, or compare valuations. Under them WITHIN and PARTITION BY cannot be
taken off, and the formula is refused. Windows that count events are an exception, because an automaton can count. See
docs/decisions/windows.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from math import floor, isfinite
from typing import TypeAlias, assert_never

from cerify.automata.cea.model import CEA
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import TIME, Event
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import NanosecondTime, Value, kind, nanoseconds

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}

Width: TypeAlias = int | float
Key: TypeAlias = tuple[tuple[str, Value], ...]


class Unordered(InputError):
    """Raised if the values of a window's attribute decrease, so that old partial matches cannot be dropped.

    attribute: the name of the attribute. row: for a batch, its first row with a value less than an earlier one.
    """

    attribute, row = "", -1


def decrease(attribute: str, position: int, row: int = -1) -> Unordered:
    """Return the error for an event whose value is less than an earlier value, at this position and row."""
    how = " (--sort; in Python, as_stream with sort=True)" if attribute == TIME else ""
    error = Unordered(
        f"position {position}: {attribute!r} is less than before; "
        f"a window on it needs ascending values, so sort the stream by it{how}"
    )
    error.attribute, error.row = attribute, row
    return error


@dataclass(frozen=True)
class Windows:
    """The windows and keys around a formula. Of several windows of one kind, only the tightest is kept.

    events: the number of events in a window, or None. widths: pairs (attribute, width). attributes: the attributes that
    are equal in all events of a match (PARTITION BY). keys: the attributes of PER KEY; the rest of the formula is
    evaluated over the stream of each key. key_events: the number of events of the key in a window, or None. skipped:
    attributes whose values an event must have, as times or numbers; other events are in no stream. values: for LAST of
    events with different values, such as LAST(A{3 DISTINCT [user]}), the attribute and the number of events; the rest
    is then a formula for a single event.
    """

    events: int | None = None
    widths: tuple[tuple[str, Width], ...] = ()
    attributes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    key_events: int | None = None
    skipped: tuple[str, ...] = ()
    values: tuple[str, int] | None = None

    @property
    def windowed(self) -> bool:
        """Return whether there is a window. If so, a match that binds no events is left out, because it lies in no
        window.
        """
        return self.events is not None or self.key_events is not None or bool(self.widths)

    @property
    def everything(self) -> bool:
        """Return whether there is no window, no partition and no key, so that a match may use any events of
        the stream.
        """
        return not (self.windowed or self.attributes or self.keys or self.values)

    @property
    def divided(self) -> bool:
        """Return whether there are both PER KEY and PARTITION BY on another attribute."""
        return bool(self.keys and self.attributes)


@dataclass(frozen=True, kw_only=True)
class Scope(Windows):
    """A formula split in two: its core, and the windows and partitions around the core."""

    core: Formula


def strip_windows(phi: Formula) -> Scope | Unsupported:
    """Split a formula into its core and the windows and keys around it.

    Return Unsupported if a window or key remains inside the core. A formula inside PER KEY sees only the events of the
    key; a formula outside sees all events. So PER KEY is moved out of IN, FILTER, WITHIN and PARTITION BY, but not out
    of START, STRICT and UNLESS, which look at the whole stream.
    """
    scope = take_off_windows(phi)
    return scope if (refused := refuse_inside(scope.core)) is None else refused


def take_off_windows(phi: Formula) -> Scope:
    """Split a formula like `strip_windows`, but return a scope even if windows remain inside its core."""
    whole = phi
    events: list[int] = []
    key_events: list[int] = []
    widths: dict[str, Width] = {}
    attributes: dict[str, None] = {}
    keys: dict[str, None] = {}
    passed: list[Formula] = []
    while True:
        match phi:
            case cel.Within(psi, window):
                if isinstance(window, cel.EventWindow):
                    (key_events if keys else events).append(window.count)
                else:
                    a, width = width_of(window)
                    widths[a] = min(widths.get(a, width), width)
                phi = psi
            case cel.PartitionBy(psi, a):
                attributes[a] = None
                phi = psi
            case cel.PerKey(psi, names):
                if key_events or not all(isinstance(node, cel.In | cel.Filter) for node in passed):
                    break
                keys.update(dict.fromkeys(names))
                phi = psi
            case cel.Preference(cel.PerKey(psi, names)):
                # a law: the matches that are compared end with one event, and so are of one key
                phi = cel.PerKey(replace(phi, phi=psi), names, span=phi.span)
            case cel.In(psi, _) | cel.Restriction(psi) | cel.Unless(psi, _):
                passed.append(phi)
                phi = psi
            case (
                cel.EventAtom()
                | cel.Project()
                | cel.Iteration()
                | cel.Preference()
                | cel.Sequencing()
                | cel.Combination()
                | cel.Derived()
            ):
                break
            case _:
                assert_never(phi)
    if not (events or widths or attributes or keys):  # the same object: what is compiled is found by identity
        phi, passed = whole, []
    for node in reversed(passed):
        phi = replace(rebuilt(node, [phi, *children(node)[1:]]), span=node.span)
    within = min(events, default=None), tuple(widths.items()), tuple(a for a in attributes if a not in keys)
    return Scope(*within, tuple(keys), min(key_events, default=None), core=phi)


def refuse_inside(core: Formula) -> Unsupported | None:
    """Return Unsupported if a window, a partition or PER KEY stands inside the remaining formula; None if none does."""
    for psi in cel.subformulas(core):
        if isinstance(psi, cel.PerKey):
            return Unsupported(
                "batch evaluation supports PER KEY only around the whole formula (FILTER, IN, WITHIN and "
                "PARTITION BY may stand outside it); collect the stream and use cerify.match",
                psi.span,
            )
        if isinstance(psi, cel.PartitionBy) or (
            isinstance(psi, cel.Within) and not isinstance(psi.window, cel.EventWindow)
        ):
            return Unsupported(
                "batch evaluation supports a partition or a window on values only around the whole formula "
                "(FILTER, IN, START and STRICT may stand outside it, and so may UNLESS after it); collect the stream "
                "and use cerify.match",
                psi.span,
            )
    return None


def width_of(window: cel.TimeWindow | cel.AttributeWindow) -> tuple[str, Width]:
    """Return the attribute of a window, and the width in the attribute's unit (for the time: seconds)."""
    match window:
        case cel.TimeWindow(amount, unit):
            return TIME, amount * SECONDS[unit]
        case cel.AttributeWindow(width, a):
            return a, width
        case _:
            assert_never(window)


def reports_at_last_event(A: CEA) -> bool:
    """Return whether each complex event is reported at its last event: no step into a final state skips."""
    return all(t.marks or t.target not in A.final for t in A.transitions)


def fingerprint(A: CEA, windows: Windows, options: str) -> str:
    """Return a hash of an automaton, its windows and options; evaluators with equal hashes can exchange states."""
    steps = [(t.source, repr(t.predicate), sorted(t.marks), t.target) for t in A.transitions]
    of_windows: tuple[object, ...] = windows.events, windows.widths, windows.attributes
    if windows.keys:  # states that were saved before there was PER KEY are still read
        of_windows += windows.keys, windows.key_events
    if windows.skipped or windows.values:
        of_windows += windows.skipped, windows.values
    return sha256(repr((steps, sorted(A.initial), sorted(A.final), of_windows, options)).encode()).hexdigest()


def key_of(attributes: Sequence[str], event: Event) -> Key | None:
    """Return the key of an event; None if a value is absent or NaN, which equals nothing."""
    key = []
    for a in attributes:
        value = event.get(a)
        if value is None or value != value:
            return None
        key.append((kind(value), value))
    return tuple(key)


class KindOfValues:
    """Checks that all values of the attribute in DISTINCT, as in A{3 DISTINCT [user]}, are of one kind."""

    def __init__(self, windows: Windows) -> None:
        self.attribute = "" if windows.values is None else windows.values[0]
        self.kind = ""

    def require(self, kinds: Iterable[str]) -> None:
        """Raise InputError unless all values, of this batch and of earlier batches, are of one kind."""
        found = sorted({*kinds, self.kind} - {""})
        if len(found) > 1:
            raise InputError(
                f"the values of {self.attribute!r} are {' and '.join(f'{name}s' for name in found)}; in batches, "
                "DISTINCT needs values of one kind: collect the stream and use cerify.match"
            )
        self.kind = "".join(found)

    def of_events(self, S: Sequence[Event]) -> list[Value | None]:
        """Return, for each event, its value of the attribute in DISTINCT, or None if it has none.

        Without DISTINCT, return None for each event. Raises InputError if the values are of several kinds, like
        `require`.
        """
        values = [event.get(self.attribute) if self.attribute else None for event in S]
        self.require(kind(value) for value in values if value is not None)
        return values


@dataclass(frozen=True)
class LookbackBounds:
    """Bounds for the beginning of a match: if its last event is at i, its first event is at low[i] or later.

    low never decreases; with a window of events of a key, this holds only along the stream of each key. marks[i]:
    whether the event at i can be in a match. unordered: the windows on attributes whose values decrease. Positions
    cannot express these windows, so each match has to be checked. keys: for each event the key of its stream, None if
    it is in no stream. overall: the bounds without the window of events of a key.
    """

    low: list[int]
    marks: list[bool]
    unordered: tuple[tuple[str, Width], ...]
    keys: list[Key | None]
    overall: list[int]


def lookback_bounds(scope: Scope, S: Sequence[Event]) -> LookbackBounds:
    """Return how far back the windows of a formula reach on a whole stream, and which events can be in a match."""
    low = [0 if scope.events is None else max(0, i - scope.events + 1) for i in range(len(S))]
    marks = [key_of(scope.attributes, event) is not None for event in S]
    unordered = []
    for a, width in scope.widths:
        values = [event.get(a) for event in S]
        present = [i for i, value in enumerate(values) if within_width(width, [value])]
        for i in set(range(len(S))).difference(present):
            marks[i] = False
        if not _ascending([values[i] for i in present]):
            unordered.append((a, width))
            continue
        begin = 0
        for i in present:
            while not within_width(width, [values[present[begin]], values[i]]):
                begin += 1
            low[i] = max(low[i], present[begin])
    for i in range(1, len(S)):
        low[i] = max(low[i], low[i - 1])
    keys = [key_of(scope.keys, event) for event in S]
    overall = low
    if scope.key_events is not None:
        last, low = LastOfKeys(scope.key_events), list(low)
        for i, key in enumerate(keys):
            low[i] = max(low[i], 0 if key is None else last.advance(i, key))
    return LookbackBounds(low, marks, tuple(unordered), keys, overall)


class LastOfKeys:
    """A window of the last n events of each key: their positions. Memory grows with the number of keys."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.positions: dict[Key, deque[int]] = {}

    def advance(self, position: int, key: Key) -> int:
        """Return the first position of the window that ends with the event of the key at this position."""
        last = self.positions.setdefault(key, deque(maxlen=self._count))
        last.append(position)
        return last[0] if len(last) == self._count else 0


def measurable(value: Value | None) -> bool:
    """Return whether a value can be measured by a window: it is a time or a finite number."""
    match value:
        case None | bool() | str():
            return False
        case datetime():
            return True
        case int() | float():
            return isinstance(value, int) or isfinite(value)
        case _:
            assert_never(value)


@lru_cache(maxsize=64)
def _whole_nanoseconds(width: Width) -> float:
    """Return a width in seconds as nanoseconds, rounded down."""
    return floor(Fraction(width) * 10**9) if isfinite(width) else width


def within_width(width: Width, values: Sequence[Value | None]) -> bool:
    """Return whether the values are all numbers or all times, and their greatest difference is at most the width."""
    if not values or not all(map(measurable, values)) or len({kind(v) for v in values if v is not None}) > 1:
        return False
    match min(values), max(values):  # type: ignore[type-var]
        case (datetime() as first, datetime() as last):
            if isinstance(first, NanosecondTime) or isinstance(last, NanosecondTime):
                return nanoseconds(last) - nanoseconds(first) <= _whole_nanoseconds(width)
            return (last - first).total_seconds() <= width
        case (int() | float() as first, int() | float() as last):
            try:
                return last - first <= width
            except OverflowError:  # a whole number beyond binary64 and a float
                return False
        case _:
            return False


def _ascending(values: list[Value | None]) -> bool:
    kinds = {kind(v) for v in values if v is not None}
    return len(kinds) <= 1 and all(v <= w for v, w in pairwise(values))  # type: ignore[operator]


# ---------------------------------------------------------------------------------------------------------------------
# How many events before a match may matter to a query; cerify.plan computes this for formulas of CEL.
#
# So a stream can be cut into parts that are read separately: the reader of a part also reads that many events before
# the part, but reports only the matches at events of the part.


@dataclass(frozen=True)
class ReachBounds:
    """The reach of a query into the past: the windows that end with the event at which a match is reported.

    Events before all of these windows do not matter. events: the number of events of a window, including the last one.
    widths: windows on values, as pairs (attribute, width).
    """

    events: int = 1
    widths: tuple[tuple[str, Width], ...] = ()

    def __str__(self) -> str:
        """Return the windows in words."""
        widths = [f"{width:g} {'seconds' if name == TIME else f'of {name}'}" for name, width in self.widths]
        events = [f"{self.events} event{'s' * (self.events > 1)}"] if self.events > 1 or not widths else []
        return " and ".join(events + widths)


# ---------------------------------------------------------------------------------------------------------------------
# How far back a match may begin, event by event: `lookback_bounds` for a stream that has not ended.


@dataclass
class RunningWindow:
    """A window on an attribute, and the (position, value) pairs of events that the next event's window may still
    contain.
    """

    attribute: str
    width: Width
    reached: deque[tuple[int, Value]] = field(default_factory=deque)

    def advance(self, position: int, event: Event) -> int | None:
        """Return the first position of the window that ends with this event; None if the event cannot be in a match.

        Raises Unordered.
        """
        value = event.get(self.attribute)
        if value is None or not measurable(value) or not within_width(self.width, [value]):
            return None
        if self.reached:
            last = self.reached[-1][1]
            if kind(last) != kind(value):
                was = f"{self.attribute!r} was a {kind(last)} before and is a {kind(value)} now"
                raise Unordered(f"position {position}: {was}; a window on it needs values of one kind")
            if last > value:  # type: ignore[operator]
                raise decrease(self.attribute, position)
        self.reached.append((position, value))
        while not within_width(self.width, [self.reached[0][1], value]):
            self.reached.popleft()
        return self.reached[0][0]


class RunningBounds:
    """Computes the windows of a formula event by event along a stream."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self.ranges = [RunningWindow(a, width) for a, width in windows.widths]
        self.of_keys = None if windows.key_events is None else LastOfKeys(windows.key_events)

    def copy(self) -> RunningBounds:
        """Return a copy at the same position of the stream. Windows of events of a key are shared with the original."""
        other = RunningBounds(self._windows)
        other.ranges = [RunningWindow(one.attribute, one.width, one.reached.copy()) for one in self.ranges]
        other.of_keys = self.of_keys  # it changes only once a batch is known to be in order
        return other

    def advance(self, position: int, event: Event) -> tuple[int, bool, bool]:
        """Read the next event. Return (low, admitted, seen). Raises Unordered.

        low: the first position at which a match that ends with the event may begin. admitted: whether the event can be
        in a match. seen: whether it belongs to a stream at all. A window of events of a key is left out: see `of_key`.
        """
        counted = 0 if self._windows.events is None else position - self._windows.events + 1
        reached = {window.attribute: window.advance(position, event) for window in self.ranges}
        out = [a for a, low in reached.items() if low is None]
        low = max([0, counted, *(low for low in reached.values() if low is not None)])
        return low, not out, not any(a in self._windows.skipped for a in out)

    def of_key(self, position: int, key: Key | None) -> int:
        """Read an event of the key; return the first position in the window of the key's last events.

        Return 0 if there is no such window.
        """
        return 0 if self.of_keys is None or key is None else self.of_keys.advance(position, key)
