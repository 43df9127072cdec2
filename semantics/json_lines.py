"""Streams of events from JSON Lines: an object in each line, or all of them in one array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from cerify.semantics.csv_rows import TYPE_OPTION, Source, require_text
from cerify.semantics.default_type import typed
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream
from cerify.semantics.json_events import event_of_json, parse_json
from cerify.semantics.packages import installed
from cerify.semantics.values import ValueType, is_exact_float, joined, value_type_of

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_json_lines(
    source: Source, schema: Schema | None, reserved: Mapping[str, str], default_type: str | None
) -> Stream:
    """The stream of a file of JSON Lines: of a large one by Arrow, if it is clear that that reads the same."""
    require_text(source)
    fields = {meant: name for name, meant in reserved.items()}
    if schema is None and source.is_large and installed("pyarrow"):
        from cerify.semantics.json_table import table_of_json_lines

        table = table_of_json_lines(source, reserved, fields[TYPE], default_type)
        if table is not None:
            return Stream(table)
    events: list[Event] = []
    columns = _Columns(fields)
    for place, parsed in _json_values(source):
        where = f"{source.name}, {place}"
        obj = reserving(
            typed(parsed, fields[TYPE], default_type) if isinstance(parsed, dict) else parsed, reserved, where
        )
        events.append(event_of_json(obj, schema, where, fields))
        columns.see(events[-1], place, where)
    if not events:
        raise InputError(f"{source.name}: no events; JSON Lines has an event in each line")
    for field, meant in reserved.items():
        if meant == TIME and TIME not in columns.types:
            raise InputError(f"{source.name}: no event has the field {field!r} for the time")
    columns.check_exact(source.name)
    floats = {name for name, value_type in columns.types.items() if value_type == "float"}
    S = Stream((_with_floats(event, floats) for event in events), schema)
    S.fits = True
    return S


def _json_values(source: Source) -> Iterator[tuple[str, Any]]:
    """The values in the lines of a file, or the elements of the one array in it, each with its place there."""
    with source.open() as file:
        is_array = file.read(4096).removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"[")
        file.seek(0)
        if is_array:
            for n, element in enumerate(parse_json(file.read(), source.name)):
                yield f"element {n}", element
            return
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"line {number}", parse_json(line, f"{source.name}, line {number}")


def _with_floats(event: Event, names: Set[str]) -> Event:
    """The event with the numbers of these attributes as floats, as they are in a column."""
    return Event(event.type, {a: float(v) if type(v) is int and a in names else v for a, v in event.attributes.items()})


def reserving(obj: Any, reserved: Mapping[str, str], where: str) -> Any:
    """The object with the fields of type and time under their reserved names."""
    if not isinstance(obj, Mapping):
        return obj
    for name, meant in reserved.items():
        if meant == TYPE and name not in obj:
            raise InputError(f"{where}: no field {name!r} for the event type{TYPE_OPTION if name == TYPE else ''}")
        if name != meant and name in obj and meant in obj and meant not in reserved:
            raise InputError(f"{where}: two fields are called {meant!r}; {name!r} takes that name, so rename the other")
    return {reserved.get(name, name): value for name, value in obj.items()}


class _Columns:
    """The value type of each attribute as the lines show it, to refuse the first event that departs from it."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.types: dict[str, ValueType] = {}
        self._fields = fields  # what the file calls the attributes that are renamed
        self._first: dict[str, str] = {}  # the place that first has the attribute, as "line 1"
        self._large: dict[str, tuple[int, str]] = {}  # the first integer that no float carries, and its place

    def see(self, event: Event, place: str, where: str) -> None:
        """Take note of an event. Raises InputError."""
        for name, value in event.attributes.items():
            new = value_type_of(value)
            if name == TIME and new not in ("int", "timestamp"):
                raise InputError(f"{where}, field {self._field(name)}: {new}; a time is in whole seconds or ISO 8601")
            seen, first = self.types.setdefault(name, new), self._first.setdefault(name, place)
            if isinstance(value, int) and not is_exact_float(value):
                self._large.setdefault(name, (value, place))
            if (both := joined(seen, new)) is None:
                raise InputError(
                    f"{where}, field {self._field(name)}: {new}, but {seen} in {first}; an attribute has one "
                    "type throughout a stream"
                )
            self.types[name] = both

    def check_exact(self, file: str) -> None:
        """Raises InputError for an integer that would be rounded because its attribute has floats as well."""
        for name, (value, place) in self._large.items():
            if self.types[name] == "float":
                raise InputError(f"{file}, {place}, field {self._field(name)}: {value} is not exact as 64-bit float")

    def _field(self, name: str) -> str:
        return repr(self._fields.get(name, name))
