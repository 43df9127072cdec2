"""cerify schema: show what files of events contain, and suggest options for reading them.

The first part summarizes a stream: types, attributes, ranges, and which attributes may be times. Suggestions are
guesses from names and values, so the command only prints them as options, and never applies them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import click

from cerify.commands.options import EVENTS, FileSource, argument, group, language, option, takes
from cerify.languages import language_named
from cerify.semantics.arguments import timed_items
from cerify.semantics.ecs import TIMESTAMP
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Stream, observed
from cerify.semantics.file_shapes import python_lists
from cerify.semantics.json_events import json_of_schema
from cerify.semantics.predicates import TIME_NAMES, name_without_unit, show_name, unit_in
from cerify.semantics.time_columns import FROM_1990, likely_formats, unit_of
from cerify.semantics.values import Value, ValueType, joined, plain, show_time, value_type_of
from cerify.terminal import echo, echo_lines, printable, table_lines

# ---------------------------------------------------------------------------------------------------------------------
# Summarize a stream: its event types, its attributes with kinds and ranges, and which attributes may be the key, the
# time or the type.

MOST_DISTINCT = 100_000  # the most distinct values that are counted for an attribute
TYPE_NAMES = (
    "type", "event", "kind", "action", "activity", "name", "eventname", "event.action", "event.category", "eventtype",
    "event_type", "event_name", "eventid", "event_id", "method", "_path", "@stream",
)  # fmt: skip
LOG_NAMES = ("_path", "@stream")
"""Fields that name an event's Zeek log. The log is the event's type even if all events are from one log."""

KEY_MIN_REPEATS, TYPE_MOST_KINDS = 2, 50


@dataclass
class AttributeSummary:
    """A summary of the values of one attribute.

    value_type is None if the values are of several kinds. distinct is None for more than MOST_DISTINCT values.
    """

    name: str
    present: int = 0
    value_type: ValueType | None = None
    mixed: bool = False
    low: Value | None = None
    high: Value | None = None
    values: Counter[Value] | None = field(default_factory=Counter)

    @property
    def distinct(self) -> int | None:
        """Return the number of different values; None if there are too many."""
        return None if self.values is None else len(self.values)

    @cached_property
    def time_formats(self) -> list[str]:
        """Return the formats other than ISO 8601 that fit the texts, if the attribute's name suggests a time."""
        is_named = self.value_type == "string" and _time_rank(self.name) < 2 * len(TIME_NAMES)
        return likely_formats(self.values) if is_named and self.values else []

    def see(self, value: Value) -> None:
        """Count a value of the attribute in the summary."""
        self.present += 1
        new = value_type_of(value)
        if self.value_type is None and not self.mixed:
            self.value_type = new
        elif self.value_type is not None and (both := joined(self.value_type, new)) is not None:
            self.value_type = both
        else:
            self.value_type, self.mixed = None, True
        if not self.mixed and new != "bool":
            self.low = value if self.low is None or value < self.low else self.low  # type: ignore[operator]
            self.high = value if self.high is None or value > self.high else self.high  # type: ignore[operator]
        if self.values is not None:
            self.values[value] += 1
            if len(self.values) > MOST_DISTINCT:
                self.values = None

    def json(self) -> dict[str, Any]:
        """Return the summary as JSON."""
        kind = "mixed" if self.mixed else self.value_type
        found: dict[str, Any] = {"kind": kind, "present": self.present, "distinct": self.distinct}
        if self.low is not None:
            found |= {"min": plain(self.low), "max": plain(self.high)}
        return found


@dataclass(frozen=True)
class StreamSummary:
    """A summary of the events of a stream.

    events: their number. types: the number of events of each type. of_types: the attributes of each type. attributes: a
    summary of each attribute. unread: fields of the data that the events lack, each with the reason. lists_of_objects:
    the attributes whose values are lists with objects only.
    """

    events: int
    types: dict[str, int]
    of_types: dict[str, list[str]]
    attributes: dict[str, AttributeSummary]
    unread: dict[str, str]
    lists_of_objects: tuple[str, ...] = ()

    def likely_keys(self) -> list[AttributeSummary]:
        """Return the attributes that may group events: they have several values, each twice or more on average."""
        found = []
        for one in self.attributes.values():
            several = one.values is not None and 1 < len(one.values) <= one.present / KEY_MIN_REPEATS
            if one.name != TIME and several and one.value_type in ("int", "string"):
                found.append(one)
        return sorted(found, key=lambda one: -(one.distinct or 0))

    def likely_times(self) -> list[AttributeSummary]:
        """Return the attributes that may be the time of an event, the likeliest one first."""
        found = [one for one in self.attributes.values() if _may_be_time(one) or one.time_formats]
        return sorted(
            found,
            key=lambda one: (
                one.name != TIME,
                _is_of_case(one),
                bool(one.time_formats),
                _time_rank(one.name),
                -one.present,
            ),
        )

    def suggestions(self, typed: bool) -> list[str]:
        """Return command-line options that may be right for this stream.

        typed: whether the events have types of their own.
        """
        found = []
        if not typed:
            likely = [one for one in self.attributes.values() if one.values is not None]
            likely = [
                one
                for one in likely
                if one.present == self.events and (one.name not in LOG_NAMES) < len(one.values or ()) <= TYPE_MOST_KINDS
            ]
            likely = [one for one in likely if one.value_type in ("string", "int") and not _is_of_case(one)]
            likely = [one for one in likely if _time_rank(one.name) == 2 * len(TIME_NAMES)]
            likely.sort(key=lambda one: (_rank(one.name, TYPE_NAMES), len(one.values or ())))
            found += [f"--type {shlex.quote(one.name)}" for one in likely[:1]]
        if self.events == 1:  # perhaps a document that has the events in a list
            found += [f"--records {shlex.quote(name)}" for name in self.lists_of_objects]
        times = self.likely_times()
        if TIME not in self.attributes and times:
            found.append(f"--time {shlex.quote(times[0].name)}")
            low, high = times[0].low, times[0].high
            if isinstance(low, int | float) and isinstance(high, int | float):
                unit = unit_of(low, high)  # seconds if no unit makes these numbers a date
                unit = unit_in(times[0].name) or unit if unit == "s" and low < FROM_1990 else unit
                found += [f"--time-unit {unit}"] * (unit != "s")
            found += [f"--time-format {shlex.quote(form)}" for form in times[0].time_formats[:1]]
        return found

    def json(self) -> dict[str, Any]:
        """Return the summary as JSON."""
        return {
            "events": self.events,
            "types": {
                type_: {"count": number, "attributes": self.of_types[type_]} for type_, number in self.types.items()
            },
            "attributes": {name: one.json() for name, one in self.attributes.items()},
            "keys": [one.name for one in self.likely_keys()],
            "times": [one.name for one in self.likely_times()],
            "unread": self.unread,
        }


def summarized(S: Stream) -> StreamSummary:
    """Return the summary of a stream. Raises BudgetExceeded."""
    types: Counter[str] = Counter()
    of_types: dict[str, dict[str, None]] = {}
    attributes: dict[str, AttributeSummary] = {}
    for event in timed_items(S.events):
        types[event.type] += 1
        names = of_types.setdefault(event.type, {})
        for name, value in event.attributes.items():
            names[name] = None
            if name not in attributes:
                attributes[name] = AttributeSummary(name)
            attributes[name].see(value)
    listed = {type_: list(names) for type_, names in of_types.items()}
    lists = ((name, [one for row in rows for one in row or ()]) for name, rows in python_lists(S).items())
    of_objects = tuple(name for name, found in lists if found and all(isinstance(one, Mapping) for one in found))
    return StreamSummary(len(S), dict(types.most_common()), listed, attributes, dict(S.unread), of_objects)


def _may_be_time(one: AttributeSummary) -> bool:
    if one.name == TIME or one.value_type == "timestamp":
        return True
    if one.value_type not in ("int", "float") or _time_rank(one.name) == 2 * len(TIME_NAMES):
        return False
    if not isinstance(one.low, int | float) or not isinstance(one.high, int | float):
        return False
    is_day = one.name.casefold() in ("date", "datetime") and one.high < FROM_1990  # such as 20240131, or a day's number
    return not is_day


def _is_of_case(one: AttributeSummary) -> bool:
    return one.name.startswith("case:")


def _time_rank(name: str) -> int:
    """Return the rank of a name by TIME_NAMES, without its unit: "time ms" ranks as "time"."""
    return _rank(name_without_unit(name), TIME_NAMES)


def _rank(name: str, names: Sequence[str]) -> int:
    """Return the rank of a name by a list of names; lower ranks are better.

    The rank of a name in the list is its index. A name whose last part, after a point or a colon, is in the list ranks
    behind all names of the list. The rank of any other name is twice the length of the list.
    """
    folded = name.casefold()
    if folded in names:
        return names.index(folded)
    last = re.split("[.:]", folded)[-1]
    return len(names) + names.index(last) if last in names else 2 * len(names)


def _show_value(value: Value | None) -> Value | None:
    return show_time(value) if isinstance(value, datetime) else value


def shown_range(one: AttributeSummary) -> str:
    """Return the range of the values as text; for texts, the three most frequent values."""
    if one.value_type == "string" and one.values is not None:
        return ", ".join(_cut(str(value)) for value, _ in one.values.most_common(3))
    return "" if one.low is None else f"{_cut(str(_show_value(one.low)))} to {_cut(str(_show_value(one.high)))}"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def listed_names(names: Iterable[str]) -> str:
    """Return the names with commas between them, each as a query writes it."""
    return ", ".join(map(show_name, names))


# ---------------------------------------------------------------------------------------------------------------------
# The command.

UNTYPED = "event"  # the type of events in a file without types
MOST_TYPES = 50


@dataclass(frozen=True)
class SchemaArguments:
    """The arguments and options of `cerify schema`."""

    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    source: FileSource = group(FileSource)
    language: str = language()
    as_schema: bool = option("--as-schema", is_flag=True, help="Print only the schema, as --schema takes it.")
    as_json: bool = option("--json", is_flag=True, help="Print the summary as JSON.")


@click.command()
@takes(SchemaArguments)
def schema_command(args: SchemaArguments) -> int:
    """Print what the events in FILE have: types, attributes, kinds, ranges, and what may be a key or the time.

    Names are printed as a query must write them. The events need no types. At the end, options for reading the file are
    suggested. With --language eql, documents of the Elastic Common Schema are read as EQL reads them: arrays,
    categories, `@timestamp`.
    """
    typed = True
    try:
        S = args.source.read_in(language_named(args.language), args.file)
    except InputError:
        if args.source.type_column != TYPE:
            raise
        S, typed = args.source.read_stream(args.file, UNTYPED), False
    if args.as_schema:
        echo(json.dumps(json_of_schema(observed(S)), ensure_ascii=False))
        return 0
    summary = summarized(S)
    suggested = summary.suggestions(typed)
    if not typed and TIMESTAMP in summary.attributes and any(n.startswith("event.") for n in summary.attributes):
        suggested.insert(0, "--language eql")  # for the documents of the Elastic Common Schema
    if args.as_json:
        echo(json.dumps(summary.json() | {"suggestions": suggested}, ensure_ascii=False, allow_nan=False))
        return 0
    _print_summary(summary, typed, suggested)
    return 0


def _print_summary(summary: StreamSummary, typed: bool, suggested: list[str]) -> None:
    echo(f"{summary.events} events" + ("" if typed else ", none of which has a type"))
    if typed:
        rows = [
            [printable(show_name(type_)), str(number), printable(listed_names(summary.of_types[type_]))]
            for type_, number in list(summary.types.items())[:MOST_TYPES]
        ]
        echo_lines(table_lines(["type", "events", "attributes"], rows))
    keys, times = {one.name for one in summary.likely_keys()}, {one.name for one in summary.likely_times()[:1]}
    rows = []
    for one in summary.attributes.values():
        uses = [*["a key?"] * (one.name in keys), *["the time?"] * (one.name in times)]
        distinct = "many" if one.distinct is None else str(one.distinct)
        kind = "mixed" if one.mixed else str(one.value_type)
        cells = [show_name(one.name), kind, str(one.present), distinct, shown_range(one), ", ".join(uses)]
        rows.append([*map(printable, cells)])
    echo_lines(table_lines(["attribute", "kind", "events", "values", "range", "use"], rows))
    for reason in summary.unread.values():
        echo(f"left out: {printable(reason)}")
    if suggested:
        echo(f"options that may help: {' '.join(suggested)}")
