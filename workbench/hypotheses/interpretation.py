"""Axes: the independent questions on which engines differ, each with its possible answers.

A hypothesis is a value for each axis, and an `Interpretation` evaluates queries under it; all languages share the axes
of reporting and of conditions, which come first. Then the questions that tell values apart: templates of queries with
short streams, in stages: the questions of a stage do not depend on the axes of later ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import chain, groupby, pairwise, permutations, product
from math import prod
from typing import Any, Literal, TypeAlias, assert_never, cast, get_args

from cerify.automata.evaluator import Output
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import TIME, Event, Match, Stream
from cerify.semantics.json_events import stream_of_json
from cerify.semantics.patterns import matches
from cerify.semantics.predicates import Attribute, Comparator, Predicate, Term
from cerify.semantics.values import Value, kind

Choices: TypeAlias = Mapping[str, str]
"""A mapping from the name of each axis of a language to the chosen value."""

Json = dict[str, Any]

AT_MOST = {f"at-most-{n}": n for n in range(2, 8)}
"""For each value of the axis `loop` that limits the rounds of an iteration, the maximum number of rounds."""

AT_MOST_SAYS = {name: f"at most {n}" for name, n in AT_MOST.items()}
"""For each of these values, its meaning as text."""


@dataclass(frozen=True)
class Axis:
    """A question on which engines differ, with its possible answers, the values.

    An axis seq@cseq is the axis seq for the operator cseq alone. If a hypothesis names seq, and seq is not an axis
    itself, its value holds for all axes seq@... whose values include it and that the hypothesis does not name.
    operators: the names of the operators for which the axis matters, as in the table of operators of the language;
    empty if it matters for every query. says: what the values mean, in a sentence with a part for each value, in their
    order: "subject: one; another".
    """

    name: str
    values: tuple[str, ...]
    operators: tuple[str, ...] = ()
    says: str = ""

    @property
    def default(self) -> str:
        """Return the value with the meaning that the language's definition gives."""
        return self.values[0]

    @property
    def subject(self) -> str:
        """Return the subject of the sentence; "" if it has none, as the meaning of the first value includes it."""
        first, _, _ = self.says.partition("; ")
        return first.rpartition(": ")[0]

    @property
    def meanings(self) -> Mapping[str, str]:
        """Return the meaning of each value; empty for an axis whose sentence does not give them."""
        parts = self.says.removeprefix(f"{self.subject}: ").split("; ")
        return dict(zip(self.values, parts, strict=True)) if len(parts) == len(self.values) else {}

    @property
    def base(self) -> str:
        """Return the name of the axis without "@" and the operator."""
        return self.name.partition("@")[0]


def axes(*given: Axis) -> Mapping[str, Axis]:
    """Return a mapping from the names of the axes to the axes."""
    return {axis.name: axis for axis in given}


def sentence(subject: str, values: Iterable[str], meanings: Mapping[str, str]) -> str:
    """Describe the meanings of these values of an axis in a sentence."""
    return f"{subject}: {'; '.join(meanings[value] for value in values)}"


def choices_of(hypothesis: Mapping[str, str], of: Mapping[str, Axis]) -> Choices:
    """Return the value of every axis, by a hypothesis or else the default. Raises InputError for an unknown axis or
    value.
    """
    for name, value in hypothesis.items():
        concerned_axes = [axis for axis in of.values() if name in (axis.name, axis.base)]
        if not concerned_axes:
            raise InputError(f"there is no axis {name!r}; there are {', '.join(of)}")
        if not any(allows(axis, value) for axis in concerned_axes):
            values = dict.fromkeys(v for axis in concerned_axes for v in axis.values)
            raise InputError(f"the axis {name} has the values {', '.join(values)}, not {value!r}")
    return {name: _value(axis, hypothesis, of) for name, axis in of.items()}


def _value(axis: Axis, hypothesis: Mapping[str, str], of: Mapping[str, Axis]) -> str:
    if axis.name in hypothesis:
        return hypothesis[axis.name]
    # Only if no axis has the short name itself: `seq` is then about `;` alone, and `seq@cseq` has to be named.
    general = hypothesis.get(axis.base) if axis.base not in of else None
    return general if general is not None and allows(axis, general) else axis.default


def allows(axis: Axis, value: str) -> bool:
    """Return whether the axis has the value. The axis window-default accepts every number of seconds."""
    return value in axis.values or (axis.name == "window-default" and value.isdigit())


def concerned(of: Mapping[str, Axis], operators: Iterable[str]) -> list[Axis]:
    """Return the axes that matter for a query with these operators."""
    present = set(operators)
    return [axis for axis in of.values() if not axis.operators or not present.isdisjoint(axis.operators)]


def read_hypothesis(texts: Iterable[str], of: Mapping[str, Axis]) -> dict[str, str]:
    """Parse a hypothesis from texts such as seq=strict. Raises InputError for an unknown axis or value."""
    hypothesis: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise InputError(f"{text!r} is not AXIS=VALUE, such as {next(iter(of.values())).name}=…")
        hypothesis[name.strip()] = value.strip()
    choices_of(hypothesis, of)
    return hypothesis


class EngineError(Exception):
    """Raised if the modelled engine answers with an error."""


# ---------------------------------------------------------------------------------------------------------------------
# Which of the matches found an engine reports, and at which position: the axes that bear on every query.

Overlap = Literal[
    "shared",
    "past-last",
    "to-next",
    "consume",
    "consume-latest",
    "once-per-step",
    "leftmost-longest",
    "leftmost-latest",
]
Emit = Literal[
    "complete",
    "one-per-position",
    "longest-per-position",
    "shortest-per-position",
    "latest-per-position",
    "one-per-start",
    "at-end",
    "at-first-event",
    "one-later",
    "needs-next",
    "longest-per-start",
    "first-only",
    "one-per-span",
    "first-per-span",
]

OVERLAP = Axis(
    "overlap",
    get_args(Overlap),
    says="whether two matches may share events: yes; no, each begins after the last event of the one before; each "
    "begins after the first event of the one before; no event is used twice; no event is used twice, and of the "
    "matches that end together the one that begins last is tried first; no event is used twice in the same place of a "
    "match; no, of those that begin first the longest is taken, and the next one begins after its last event; no, of "
    "those that begin first the longest is taken, and among equally long ones the one with the latest events",
)
EMIT = Axis(
    "emit",
    get_args(Emit),
    says="which matches are reported, and when: all, when they are complete; of those at one position, the first; of "
    "those at one position, the longest; of those at one position, the shortest; of those at one position, the one "
    "that begins last; of those with the same first event, the first; all, at the end of the stream; all, at their "
    "first event; all, one position later; all, once another event has come, so that those of the last event are "
    "lost; of those with the same first event, the longest; only the first of all; of those with the same first and "
    "last event, the one with most events, and of these the one with the latest; of those with the same first and last "
    "event, the one with the earliest events",
)
EVENT_ORDER = Axis(
    "event-order",
    ("arrival", "time", "time-either-way", "time-latest-first"),
    says="the order of events: that of arrival; that of their times, and then of arrival; that of their times, in "
    "which equal times have any order; that of their times, in which of equal times the latest arrival is first",
)
TIES = Axis(
    "ties",
    ("in-order", "no-match"),
    says="events with the same time: they may be in one match, in the order that event-order says; they are never in "
    "one match",
)
WINDOW_DEFAULT = Axis(
    "window-default",
    ("none", "60", "3600", "86400"),
    says="the longest time in seconds between the first and the last event of a match where the query has no window",
)

OVERLAP_PER_KEY = Axis(
    "overlap@partition",
    ("stream", "key"),
    ("partition",),
    "under PARTITION BY, overlap and emit choose: among all matches; among those of each key",
)

BACKTRACKING = ("leftmost-first", "leftmost-first-lazy")
"""Values of the axis overlap for which the interpreter finds only the matches that an engine reports."""

BETWEEN_STEPS = "between-steps"
"""The value of the axis ties with which a step never takes an event with the time of the event before."""

REPORTING = frozenset(axis.name for axis in (OVERLAP, EMIT, TIES, WINDOW_DEFAULT, OVERLAP_PER_KEY))
"""The names of the axes that say which matches are reported."""
PER_KEY = OVERLAP_PER_KEY.name
MOST_ORDERS = 120  # orders of the events of a stream that are tried


def reported(
    found: Iterable[Match], S: Stream, choices: Choices, *, windowed: bool, keys: tuple[str, ...] = ()
) -> Iterable[Match]:
    """Return the matches that an engine with these choices reports, at the positions where it reports them.

    windowed: whether the query has a window. keys: attributes; the choices apply separately to the matches of each
    combination of their values.
    """
    possible = [m for m in found if _may_tie(m, S, choices) and (windowed or _in_default_window(m, S, choices))]
    groups: dict[tuple[Value | None, ...], list[Match]] = {}
    for m in possible:
        key = tuple(S[m.events[0]].get(a) for a in keys) if m.events else ()
        groups.setdefault(key, []).append(m)
    overlap = cast("Overlap", choices.get("overlap", "shared"))
    return [m for some in groups.values() for m in emitted(apart(some, overlap), len(S), choices)]


def streams_in_order(S: Stream, how: str) -> Iterator[tuple[Stream, Sequence[int]]]:
    """Yield the streams that an engine evaluates instead of S, each with the original positions of its events.

    There are several if the order of equal times is open. how: a value of the axis event-order. Raises Unsupported if
    times cannot be compared, or many are equal.
    """
    if not moves_events(S, how):
        yield S, range(len(S))
        return
    time: Callable[[int], Any] = lambda p: S[p].get(TIME)  # noqa: E731
    ties = [list(tied) for _, tied in groupby(sorted(range(len(S)), key=time), time)]
    step = -1 if how == "time-latest-first" else 1
    ways = [list(permutations(tied)) if how == "time-either-way" else [tuple(tied[::step])] for tied in ties]
    if prod(map(len, ways)) > MOST_ORDERS:
        raise Unsupported(f"events with equal times can be put in more than {MOST_ORDERS} orders")
    for way in product(*ways):
        places = list(chain.from_iterable(way))
        yield Stream([S[p] for p in places], S.schema), places


def moves_events(S: Stream, how: str) -> bool:
    """Return whether a value of the axis event-order changes the order of S, or leaves a part of it open.

    Raises Unsupported if times cannot be compared.
    """
    times = [S[p].get(TIME) for p in range(len(S))] if how != "arrival" else []
    # A stream without any time keeps its order: there is nothing to sort by.
    if not times or times.count(None) == len(times):
        return False
    if len({kind(t) for t in times if t is not None}) > 1 or any(t is None or t != t for t in times):
        raise Unsupported("the events cannot be sorted by time: some of their times cannot be compared")
    compared: list[Any] = list(times)
    return any(a > b or (a == b and how != "time") for a, b in pairwise(compared))


def _moved(m: Match, places: Sequence[int]) -> Match:
    """Return a match with the original positions of its events, reported when all of them have arrived."""
    events = tuple(sorted(places[p] for p in m.events))
    bindings = m.bindings and tuple((A, tuple(sorted(places[p] for p in some))) for A, some in m.bindings)
    # At the last arrival, because an engine cannot report a match before all its events have come.
    return replace(m, at=max((places[m.at], *events)), events=events, bindings=bindings)


def restricted(m: Match, shown: frozenset[str], output: str) -> Match:
    """Return a match, which must have bindings, reduced to the events of these variables."""
    bindings = tuple((A, some) for A, some in m.bindings or () if A in shown)
    events = tuple(sorted({p for _, some in bindings for p in some}))
    return replace(m, events=events, bindings=None if output == "matches" else bindings)


def _may_tie(m: Match, S: Stream, choices: Choices) -> bool:
    if choices.get("ties") != "no-match":
        return True
    times = [S[p].get(TIME) for p in m.events]
    present = [time for time in times if time is not None]
    return len(set(present)) == len(present)


def _in_default_window(m: Match, S: Stream, choices: Choices) -> bool:
    width = choices.get("window-default", "none")
    if width == "none" or not m.events:
        return True
    seconds = seconds_between(S[m.events[0]], S[m.events[-1]])
    return seconds is None or seconds <= int(width)


def seconds_between(first: Event, last: Event) -> float | None:
    """Return the seconds from one event's time to the other's; None if their times cannot be compared."""
    match first.get(TIME), last.get(TIME):
        case (datetime() as t1, datetime() as t2):
            return (t2 - t1).total_seconds()
        case (int() | float() as t1, int() | float() as t2) if not isinstance(t1, bool) and not isinstance(t2, bool):
            return t2 - t1
        case _:
            return None


def apart(found: list[Match], overlap: Overlap) -> list[Match]:
    """Choose matches that do not overlap, in the way that the choice `overlap` says, and return them.

    Matches are tried by their ends; for leftmost-longest and leftmost-latest, by their beginnings. A match that
    overlaps one chosen before is left out. Of matches with the same end, the one that begins first is tried first; with
    consume-latest, the one that begins last. Matches with the same events count as one.
    """
    if overlap == "shared" or overlap in BACKTRACKING:
        return found
    taken: set[tuple[int, ...]] = set()
    result: list[Match] = []
    used: set[tuple[int, int]] = set()
    since = -1

    def places(m: Match) -> list[tuple[int, int]]:
        """Return the events that a match uses, each with its step if the step matters."""
        return [(step if overlap == "once-per-step" else 0, p) for step, p in enumerate(m.events)]

    order: Mapping[str, Callable[[Match], tuple[object, ...]]] = {
        "consume-latest": lambda m: (m.at, [-p for p in m.events]),
        "leftmost-longest": lambda m: (m.events[:1], -m.at, -len(m.events), m.events),
        "leftmost-latest": lambda m: (m.events[:1], -m.at, -len(m.events), [-p for p in m.events]),
    }
    for m in sorted(found, key=order.get(overlap, lambda m: (m.at, m.events))):
        # Bindings of one set of events are one match: the second one must not be rejected by the first.
        if m.events not in taken and m.events:
            match overlap:
                case "past-last" | "to-next" | "leftmost-longest" | "leftmost-latest":
                    free = m.events[0] > since
                case "consume" | "consume-latest" | "once-per-step":
                    free = used.isdisjoint(places(m))
                case _:
                    assert_never(overlap)
            if not free:
                continue
            since = m.events[0] if overlap == "to-next" else m.events[-1]
            used.update(places(m))
            taken.add(m.events)
        result.append(m)
    return result


def emitted(found: list[Match], length: int, choices: Choices) -> list[Match]:
    """Return the matches that the choice `emit` reports, at the positions where it reports them."""
    emit = cast("Emit", choices.get("emit", "complete"))
    match emit:
        case "complete":
            return found
        case "one-per-position":
            return _best(found, lambda m: m.at, lambda m: (m.events,))
        case "longest-per-position":
            return _best(found, lambda m: m.at, lambda m: (-len(m.events), m.events))
        case "shortest-per-position":
            return _best(found, lambda m: m.at, lambda m: (len(m.events), m.events))
        case "latest-per-position":
            return _best(found, lambda m: m.at, lambda m: (-m.events[0] if m.events else 1, m.events))
        case "one-per-start":
            return _best(found, lambda m: m.events[:1], lambda m: (m.at, m.events))
        case "at-end":
            return [replace(m, at=length - 1) for m in found]
        case "at-first-event":
            return [replace(m, at=m.events[0] if m.events else m.at) for m in found]
        case "one-later":
            return [replace(m, at=m.at + 1) for m in found if m.at + 1 < length]
        case "needs-next":
            return [m for m in found if m.at + 1 < length]
        case "longest-per-start":
            return _best(found, lambda m: m.events[:1], lambda m: (-m.at, -len(m.events), m.events))
        case "first-only":
            return _best(found, lambda m: (), lambda m: (m.at, m.events))
        case "one-per-span":
            latest = lambda m: (-len(m.events), [-p for p in m.events])  # noqa: E731
            return _best(found, lambda m: (m.at, m.events[:1], m.events[-1:]), latest)
        case "first-per-span":
            return _best(found, lambda m: (m.at, m.events[:1], m.events[-1:]), lambda m: m.events)
        case _:
            assert_never(emit)


def _best(found: list[Match], group: Any, order: Any) -> list[Match]:
    """Return, for each group of matches, the matches that come first in the order: several if they are equal in it."""
    result: list[Match] = []
    for _, some in groupby(sorted(found, key=group), key=group):
        matches = list(some)
        first = min(map(order, matches))
        # All with the best order: several bindings of one complex event stand or fall together.
        result += [m for m in matches if order(m) == first]
    return result


# ---------------------------------------------------------------------------------------------------------------------
# What the hypotheses about one language consist of: axes, and an interpreter that takes a value for each.

BUDGET = Budget(valuations=200_000, matches=20_000, seconds=2.0)
"""The budget of one answer."""

Found = Callable[[Any, Stream, Choices, Output, Budget], Iterable[Match]]
"""A function that finds all matches of a syntax tree over a stream, before the engine selects which ones it reports."""

Parts = Callable[[Any, Choices], Sequence[Any]]
"""A function that returns the syntax trees that an engine evaluates, independently of each other, for one query.

Raises BudgetExceeded.
"""

Unhidden = Callable[[Any, Choices], tuple[Any, frozenset[str] | None]]
"""A function that returns a syntax tree without PROJECT, and the variables that PROJECT shows (None for all).

It is needed because an engine chooses among matches with all their events, also with those that it does not show.
"""


@dataclass(frozen=True)
class Interpretation:
    """The axes of a language and its interpreter.

    found: the interpreter. operators: a function that returns the names of the operators in a syntax tree. require: a
    function that raises IllFormed for a tree that `found` does not support. compared: whether a profile compares
    matches by position and events ("matches"), by results ("groups"), or with their bindings ("valuations").
    strategies: the operators that are selection strategies. keys: a function that returns the partition attributes of a
    tree. parts, unhidden: see `Parts` and `Unhidden`. stages: the stages of questions that identify an engine. shapes:
    queries with several operators, each with its events; they are asked first, because random queries rarely look like
    them. around: templates into which random queries are put in turn, because the generator makes neither windows nor
    keys. twice: for some operators, two questions (query, stream of types) that differ only in their types; the first
    query names a type twice. repeats: a function that returns whether a tree names a type twice.
    """

    axes: Mapping[str, Axis]
    found: Found
    operators: Callable[[Any], frozenset[str]]
    require: Callable[[Any], None] = lambda query: None
    compared: Literal["matches", "valuations", "groups"] = "matches"
    strategies: frozenset[str] = frozenset()
    keys: Callable[[Any], tuple[str, ...]] = lambda query: ()
    parts: Parts = lambda query, choices: (query,)
    unhidden: Unhidden = lambda query, choices: (query, None)
    stages: tuple[Stage, ...] = ()
    shapes: tuple[tuple[str, tuple[Json, ...]], ...] = ()
    around: tuple[str, ...] = ("{}",)
    twice: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = field(default_factory=dict)
    repeats: Callable[[Any], bool] = lambda query: False

    def matches(
        self, query: Any, S: Stream, choices: Choices, output: Output = "matches", budget: Budget = BUDGET
    ) -> frozenset[Match]:
        """Return the matches of a syntax tree that an engine with these choices reports.

        Raises EngineError if the engine answers with an error, IllFormed, Unsupported and BudgetExceeded.
        """
        self.require(query)
        matches: set[Match] = set()
        for part in self.parts(query, choices):
            whole, shown = self.unhidden(part, choices)
            wanted: Output = output if shown is None else "valuations"
            found = self.found_in_order(whole, S, choices, wanted, budget)
            matches.update(self.reported(found, whole, shown, S, choices, output))
        return frozenset(matches)

    def reported(
        self, found: Iterable[Match], query: Any, shown: frozenset[str] | None, S: Stream, choices: Choices, output: str
    ) -> Iterable[Match]:
        """Return those of the matches that an engine with these choices reports, at the positions where it reports
        them.

        shown: the variables whose events are kept in the matches; None for all. If it is not None, the matches in
        `found` must have bindings.
        """
        unlimited = choices.get(WINDOW_DEFAULT.name, WINDOW_DEFAULT.default) == WINDOW_DEFAULT.default
        windowed = unlimited or self.has_window(query)
        keys = self.keys(query) if choices.get(PER_KEY) == "key" else ()
        some = reported(found, S, choices, windowed=windowed, keys=keys)
        return some if shown is None else (restricted(m, shown, output) for m in some)

    def found_in_order(
        self, query: Any, S: Stream, choices: Choices, output: Output, budget: Budget
    ) -> Iterable[Match]:
        """Return all matches over the stream, with its events in the order in which the engine takes them.

        No choice has left out any match yet (see `reported`). The positions are those in S. Raises EngineError,
        Unsupported and BudgetExceeded.
        """
        how = choices.get(EVENT_ORDER.name, EVENT_ORDER.default)
        if not moves_events(S, how):
            return self.found(query, S, choices, output, budget)
        return {
            _moved(m, places)
            for ordered, places in streams_in_order(S, how)
            for m in self.found(query, ordered, choices, output, budget)
        }

    def has_window(self, query: Any) -> bool:
        """Return whether a syntax tree has a window."""
        return any(name.startswith("within") for name in self.operators(query))


# ---------------------------------------------------------------------------------------------------------------------
# The truth of conditions on attributes where absent values, arithmetic and comparison are choices.

ABSENT = Axis(
    "absent",
    ("false", "unknown", "null-equal", "null-unequal", "zero", "error"),
    says="a comparison with an absent attribute: false; unknown, so that its negation is not true either; = is true "
    "if both are absent, and != if one is; != is true, even if both are absent; absent is 0; an error",
)
DIVISION = Axis(
    "integer-division",
    ("exact", "truncating"),
    says="the quotient of two integers: exact; cut to a whole number",
)
COMPARISON = Axis(
    "comparison",
    ("exact", "inclusive", "exclusive", "reversed", "unequal-false"),
    says="comparisons: as they are; < and > are taken for <= and >=; <= and >= are taken for < and >; < and > are "
    "exchanged, and so are <= and >=; != is never true",
)
CONNECTIVES = Axis(
    "connectives",
    ("exact", "and-as-or", "or-as-and", "not-ignored"),
    says="and, or and not inside a condition on one event: as they are; and is taken for or; or is taken for "
    "and; not is ignored",
)
STRINGS = Axis(
    "strings",
    ("exact", "any-case", "unordered"),
    says="strings are compared: as they are; without regard to upper and lower case; by = and != only, and none is "
    "less or greater",
)
LIKE = Axis(
    "like",
    ("whole", "beginning", "anywhere"),
    says="like matches: the whole string; its beginning; a part of it",
)
RANGE = Axis(
    "range",
    ("closed", "open-below", "open-above"),
    says="in range(a, b): both ends are in; a is out; b is out",
)
FLOATS = Axis(
    "floats",
    ("exact", "truncated", "apart"),
    says="floats are compared: as they are; without their fraction; as they are, but none equals an integer",
)
INTEGERS = Axis(
    "integers",
    ("exact", "doubles"),
    says="integers are compared: as they are; as floating-point numbers, so that two integers beyond 2^53 may be equal",
)
CONSTANTS = Axis("constants", ("exact", "truncated"), says="numbers in a query: are as written; lose their fraction")

CONDITIONS = (ABSENT, DIVISION, COMPARISON, CONNECTIVES, STRINGS, LIKE, RANGE, FLOATS, INTEGERS, CONSTANTS)
"""The axes of conditions, which all languages have."""

ValueOf: TypeAlias = Callable[[Attribute], Value | None]

INCLUSIVE: dict[Comparator, Comparator] = {"<": "<=", ">": ">="}
EXCLUSIVE: dict[Comparator, Comparator] = {"<=": "<", ">=": ">"}
REVERSED: dict[Comparator, Comparator] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class ConditionVariant:
    """Evaluates predicates on events as an engine with these choices does."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.truncates = choices.get("integer-division") == "truncating"
        # Most hypotheses are about other things; for them the shared code saves the three-valued logic below.
        self.as_defined = all(choices.get(axis.name, axis.default) == axis.default for axis in CONDITIONS)

    def satisfied(self, predicate: Predicate, value_of: ValueOf, type_: str = "") -> bool:
        """Return whether the predicate is true. Raises EngineError if the engine answers with an error."""
        if self.as_defined:
            return pred.satisfied(predicate, value_of, type_)
        return self.truth(predicate, value_of, type_) is True

    def truth(self, P: Predicate, value_of: ValueOf, type_: str) -> bool | None:
        """Return the truth value of a predicate; None for unknown, which occurs only with `absent=unknown`."""
        match P:
            case pred.Anything():
                return True
            case pred.OfType(name):
                return type_ == name
            case pred.Comparison(comparator, left, right):
                return self.compared(comparator, self.value(left, value_of), self.value(right, value_of))
            case pred.OneOf(term, values):
                value = self.value(term, value_of)
                return self.either([self.compared("=", value, self.write_constant(v)) for v in values])
            case pred.InRange(term, low, high):
                value = self.value(term, value_of)
                above: Comparator = "<" if self.choices["range"] == "open-below" else "<="
                below: Comparator = "<" if self.choices["range"] == "open-above" else "<="
                return self.both(
                    [
                        self.ordered(above, self.write_constant(low), value),
                        self.ordered(below, value, self.write_constant(high)),
                    ]
                )
            case pred.Like(term, pattern):
                return self.like(pattern, self.value(term, value_of))
            case pred.Not(inner):
                found = self.truth(inner, value_of, type_)
                return found if found is None or self.choices["connectives"] == "not-ignored" else not found
            case pred.Both(left_, right_):
                parts = [self.truth(left_, value_of, type_), self.truth(right_, value_of, type_)]
                return self.either(parts) if self.choices["connectives"] == "and-as-or" else self.both(parts)
            case pred.Either(left_, right_):
                parts = [self.truth(left_, value_of, type_), self.truth(right_, value_of, type_)]
                return self.both(parts) if self.choices["connectives"] == "or-as-and" else self.either(parts)
            case _:
                assert_never(P)

    def both(self, parts: list[bool | None]) -> bool | None:
        """Return the conjunction in three-valued logic."""
        return False if False in parts else None if None in parts else True

    def either(self, parts: list[bool | None]) -> bool | None:
        """Return the disjunction in three-valued logic."""
        return True if True in parts else None if None in parts else False

    def compared(self, comparator: Comparator, left: Value | None, right: Value | None) -> bool | None:
        """Compare two values as the engine does for a comparator in the query; None for unknown.

        The engine may read `<` as `<=`, for example, or the reverse.
        """
        match self.choices["comparison"]:
            case "inclusive":
                comparator = INCLUSIVE.get(comparator, comparator)
            case "exclusive":
                comparator = EXCLUSIVE.get(comparator, comparator)
            case "reversed":
                comparator = REVERSED.get(comparator, comparator)
            case "unequal-false" if comparator == "!=":
                return False
        return self.ordered(comparator, left, right)

    def ordered(self, comparator: Comparator, left: Value | None, right: Value | None) -> bool | None:
        """Compare two values; None for unknown. The engine's choices say what holds for absent values, texts and
        numbers.
        """
        if left is None or right is None:
            match self.choices["absent"]:
                case "unknown":
                    return None
                case "null-equal":
                    return (left is right) == (comparator == "=") if comparator in ("=", "!=") else False
                case "null-unequal":
                    return comparator == "!="
                case "error":
                    raise EngineError("an attribute of the condition is absent")
        if isinstance(left, str) and comparator not in ("=", "!=") and self.choices["strings"] == "unordered":
            return False
        if (
            self.choices["floats"] == "apart"
            and comparator in ("=", "!=")
            and {type(left), type(right)} == {int, float}
        ):
            return comparator == "!="
        if self.choices["integers"] == "doubles" and left is not None and right is not None:
            left, right = as_double(left), as_double(right)
        return pred.compare(comparator, left, right)

    def like(self, pattern: str, value: Value | None) -> bool | None:
        """Return whether a string matches the pattern; None for unknown.

        By the engine's choice the whole string must match, or its beginning, or any part of it.
        """
        if value is None and self.choices["absent"] == "unknown":
            return None
        if value is None and self.choices["absent"] == "error":
            raise EngineError("an attribute of the condition is absent")
        match self.choices["like"]:
            case "beginning":
                pattern = f"(?:{pattern})(?s:.*)"
            case "anywhere":
                pattern = f"(?s:.*)(?:{pattern})(?s:.*)"
        return matches(f"(?i:{pattern})" if self.choices["strings"] == "any-case" else pattern, value)

    def value(self, term: Term, value_of: ValueOf) -> Value | None:
        """Return the value of a term; None if an attribute is absent."""
        match term:
            case Attribute():
                found = value_of(term)
                return 0 if found is None and self.choices["absent"] == "zero" else self.read_value(found)
            case pred.Constant(value):
                return self.write_constant(value)
            case pred.Arithmetic(symbol, left, right):
                a, b = self.value(left, value_of), self.value(right, value_of)
                if a is None or b is None:
                    return None
                if symbol == "/" and type(a) is int and type(b) is int and b and self.truncates:
                    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                return pred.evaluate(pred.Arithmetic(symbol, pred.Constant(a), pred.Constant(b)), lambda _: None)
            case _:
                assert_never(term)

    def write_constant(self, value: Value) -> Value | None:
        """Return the value that the engine reads for a constant of the query."""
        if isinstance(value, float) and self.choices["constants"] == "truncated" and abs(value) < float("inf"):
            return self.read_value(int(value))
        return self.read_value(value)

    def read_value(self, value: Value | None) -> Value | None:
        """Return the value that the engine reads for a value of an event."""
        match value:
            case str() if self.choices["strings"] == "any-case":
                return value.lower()
            case float() if self.choices["floats"] == "truncated" and abs(value) < float("inf"):
                return float(int(value))
        return value


def as_double(value: Value) -> Value:
    """Return an integer as the nearest floating-point number; any other value as it is."""
    return float(value) if type(value) is int and abs(value) < 2**1023 else value


# ---------------------------------------------------------------------------------------------------------------------
# The questions that an engine may be asked: queries, and for each the streams over a few events.

MOST_STREAMS = 250  # streams of one template, the shortest first


@dataclass(frozen=True)
class Template:
    """A query, and the events of which its streams are made.

    letters: the events as JSON. Their key "after" is the number of seconds since the event before; the streams then
    have times, as whole seconds, or as ISO 8601 if some "after" is a float. longest: the length of the longest stream;
    there are at most MOST_STREAMS streams. before: events with which every stream begins. single: whether a match has
    one event; then one more stream has all of `letters`.
    """

    query: str
    letters: tuple[Json, ...]
    longest: int
    before: tuple[Json, ...] = ()
    single: bool = False

    def streams(self) -> Iterator[list[Json]]:
        """Yield streams made of the template's events (`letters`), as JSON, the shortest first.

        If each match is a single event (`single`), a stream of all `letters`, one after the other, comes last.
        """
        number = 0
        for length in range(1, self.longest + 1):
            for word in product(self.letters, repeat=length):
                if number == MOST_STREAMS:
                    return
                number += 1
                yield self.timed([*self.before, *word])
        if self.single:
            yield self.timed([*self.letters])

    def timed(self, word: list[Json]) -> list[Json]:
        """Return the events, with times in place of "after"."""
        if not any("after" in event for event in self.letters):
            return [dict(event) for event in word]
        exact = any(isinstance(event.get("after"), float) for event in self.letters)
        now = 100.0 if any(event.get("after", 0) < 0 for event in self.letters) else 0.0
        events = []
        for event in word:
            now += event.get("after", 0)
            text = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=now)).isoformat()
            events.append({k: v for k, v in event.items() if k != "after"} | {"time": text if exact else int(now)})
        return events


@dataclass(frozen=True)
class Stage:
    """A step of an identification: these templates make questions about these axes, which are identified together.

    The answers to the questions do not depend on axes of later stages.
    """

    axes: tuple[str, ...]
    templates: tuple[Template, ...]


@dataclass(frozen=True)
class EngineQuestion:
    """A question for an engine: one query over one stream. key: the stream as text.

    kind: the query, and whether times decrease in the stream. An engine may refuse one kind of question and answer
    another.
    """

    query: str
    events: tuple[Mapping[str, Any], ...]
    S: Stream
    key: str

    @cached_property
    def kind(self) -> tuple[str, bool]:
        times = [event["time"] for event in self.events if "time" in event]
        return self.query, any(a > b for a, b in pairwise(times))


def questions(template: Template) -> Iterator[EngineQuestion]:
    """Yield the questions of a template, the shortest first."""
    return (question_on(template.query, events) for events in template.streams())


def question_on(query: str, events: Sequence[Json]) -> EngineQuestion:
    """Return the question for a query and events given as JSON."""
    text = json.dumps(events)
    return EngineQuestion(query, tuple(events), _stream_of_question(text), text)


@lru_cache(maxsize=1 << 15)
def _stream_of_question(text: str) -> Stream:
    """Return the stream that JSON describes, cached because many templates ask about the same streams."""
    return stream_of_json(json.loads(text), None, "a question", keep_nulls=True)


def types(text: str) -> tuple[Json, ...]:
    """Return an event without attributes for each type in a text such as "A B"."""
    return tuple({"type": name} for name in text.split())


def events(names: str, **columns: tuple[Any, ...]) -> tuple[Json, ...]:
    """Return an event of every type with every combination of values; None leaves the attribute out."""
    return tuple(
        {"type": name} | {a: v for a, v in zip(columns, values, strict=True) if v is not None}
        for name in names.split()
        for values in product(*columns.values())
    )


# ---------------------------------------------------------------------------------------------------------------------
# Stages that several languages have: about conditions on one event, and about strategies around a query.

CONDITION_STAGES: tuple[tuple[str, tuple[tuple[tuple[Json, ...], int, tuple[str, ...]], ...]], ...] = (
    (
        "comparison",
        (
            (
                events("A", x=(0, 1, 2)),
                1,
                ("{0}x > 1", "{0}x < 1", "{0}x >= 1", "{0}x <= 1", "{0}x = 1", "{0}x != 1"),
            ),
            (events("A", x=(0, 1), y=(0, 1)), 1, ("{0}x < {0}y",)),
        ),
    ),
    (
        "connectives",
        ((events("A", x=(0, 1), y=(0, 1)), 1, ("{0}x = 1 and {0}y = 1", "{0}x = 1 or {0}y = 1", "not {0}x = 1")),),
    ),
    (
        "absent",
        (
            (
                events("A", x=(None, 0, 1), y=(None, 0)),
                1,
                ("{0}x = 0", "not {0}x = 1", "{0}x = {0}y", "{0}x != 1", "{0}x < 1", "{0}x > 0"),
            ),
            (events("A", s=(None, "a", "b")), 1, ("{0}s != 'a'", "not {0}s = 'a'", "{0}s > 'a'")),
            (events("A", z=(None, 0.5, 2.5)), 1, ("{0}z < 1.5", "{0}z > 1.5")),
        ),
    ),
    (
        "strings",
        (
            # of "10" some engines make a number, which is not less than a text
            (events("A", s=("a", "A", "b", "10")), 1, ("{0}s = 'a'", "{0}s != 'a'", "{0}s >= 'a'", "{0}s < 'b'")),
        ),
    ),
    ("like", ((events("A", s=("a", "ab", "ba")), 1, ("{0}s like 'a'",)),)),
    ("range", ((events("A", x=(1, 2, 3)), 1, ("{0}x in range(1, 3)",)),)),
    (
        "floats",
        (
            # the last one is 1 in single precision
            (events("A", x=(1.0, 1.5, 1.0000000000000002)), 1, ("{0}x = 1", "{0}x > 1")),
        ),
    ),
    (
        "integers",
        (
            # as a text, 10^16 is less than 2^53
            (events("A", x=(2**53, 2**53 + 1, 10**16)), 1, (f"{{0}}x = {2**53}", f"{{0}}x > {2**53}")),
        ),
    ),
    (
        "constants",
        (
            (events("A", x=(1, 2, 3)), 1, ("{0}x > 1.5", "{0}x >= 2.5", "{0}x < 1.5", "{0}x = 1.5")),
            (events("A", z=(1.0, 1.5, 2.0, 2.5)), 1, ("{0}z < 2.5", "{0}z = 1.5")),
        ),
    ),
    (
        "integer-division",
        ((events("A", x=(1, 3)), 1, ("{0}x / 2 = 1", "{0}x / 2 = 1.5", "{0}x / 2 > 1", "{0}x / 2 < 1.5")),),
    ),
)
"""For each axis about conditions, its questions: the events of the streams, the length of the longest stream, and the
conditions. In a condition, {0} stands before each attribute, for a variable.
"""


def conditions(query: str, before: str = "", also: tuple[str, ...] = ()) -> tuple[Stage, ...]:
    """Return the stages of questions about conditions on one event.

    query: a query with {} in place of a condition on the attributes of A. before: the text before each attribute, such
    as "A.". also: axes that are identified together with the comparisons.
    """
    return tuple(
        Stage(
            (*(also if axis == "comparison" else ()), axis),
            tuple(
                Template(query.format(text.format(before)), letters, longest, single=True)
                for letters, longest, texts in parts
                for text in texts
            ),
        )
        for axis, parts in CONDITION_STAGES
    )


def selections(*asked: tuple[str, tuple[Json, ...], int]) -> tuple[Stage, ...]:
    """Return stages of questions that identify the meaning of each selection strategy.

    asked: for each query to which the strategies are applied, its text, the events of its streams, and the length of
    the longest stream.
    """
    return tuple(
        Stage(
            (f"selection@{name}",),
            tuple(Template(f"{name.upper()}({query})", letters, longest) for query, letters, longest in asked),
        )
        for name in ("nxt", "last", "max", "strict")
    )
