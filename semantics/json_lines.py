"""Streams of events from JSON: an object on each line, an array of objects, or objects over several lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from cerify.semantics.arrow_columns import may_be_rounded
from cerify.semantics.arrow_rows import ReadTable, rows_of_table
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream, warn_of_units
from cerify.semantics.file_shapes import documents
from cerify.semantics.json_events import event_of_json, kind_in_json, parse_json
from cerify.semantics.object_rows import ObjectRows, fitted_objects, flattened
from cerify.semantics.packages import arrow_json, installed, pa, pc
from cerify.semantics.tables import CsvSource, native_buffer, require_text
from cerify.semantics.time_columns import FORMS, FieldReading, how_to_type, typed
from cerify.semantics.values import (
    ValueType,
    is_exact_float,
    joined,
    value_type_of,
)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_json_lines(source: CsvSource, schema: Schema | None, reading: FieldReading) -> Stream:
    """Read a file of JSON Lines. A large file is read by Arrow if this certainly gives the same events."""
    require_text(source)
    if schema is not None:
        return _fitting(source, schema, reading)
    by_object = reading.records is not None or (reading.keep_fields and _has_null(source))
    if not by_object and source.is_large and installed("pyarrow"):
        found = table_of_json_lines(source, reading)
        if found is not None:
            warn_of_units(source.name, found.notes)
            return Stream.from_table(found.table)
    places: list[str] = []
    rows = ObjectRows(reading, source.name, places.__getitem__)
    for place, parsed in _json_values(source, reading.records):
        places.append(place)
        if not isinstance(parsed, dict):
            raise InputError(f"{source.name}, {place}: an event is a JSON object, not {kind_in_json(parsed)}")
        rows.add(parsed)
    _require_events(len(places), source)
    if reading.time_column is not None and not rows.has(TIME):
        raise InputError(f"{source.name}: no event has the field {reading.time_column!r} for the time")
    S = Stream.of_checked(rows.events(), rows.unread, rows.lists())
    warn_of_units(source.name, rows.notes)
    return S


def _has_null(source: CsvSource) -> bool:
    """Return whether a line of a file has the word null, which may be a field's value."""
    with source.open() as file:
        return any(b"null" in line for line in file)


def _require_events(number: int, source: CsvSource) -> None:
    if not number:
        raise InputError(f"{source.name}: no events; write one event on each line")


def _fitting(source: CsvSource, schema: Schema, reading: FieldReading) -> Stream:
    """Return the stream of events that all fit a schema."""
    fields = {meant: name for name, meant in reading.reserved.items()}
    places: list[str] = []
    objects: list[Any] = []
    for place, parsed in _json_values(source, reading.records):
        where = f"{source.name}, {place}"
        obj = flattened(parsed, where, schema.attributes) if isinstance(parsed, dict) else parsed
        if isinstance(obj, dict):
            obj = typed(obj, reading.type_column, reading.default_type)
        obj = reserving(obj, reading.reserved, where)
        if isinstance(obj, dict) and isinstance(obj.get(TYPE), str):
            obj[TYPE] = reading.types.get(obj[TYPE], obj[TYPE])
        if not isinstance(obj, dict):
            event_of_json(obj, schema, where, fields)  # raises
        places.append(place)
        objects.append(obj)
    _require_events(len(objects), source)
    objects, notes = fitted_objects(objects, schema, reading, lambda row: f"{source.name}, {places[row]}")
    warn_of_units(source.name, notes)
    events: list[Event] = []
    columns = _Columns(fields)
    for place, obj in zip(places, objects, strict=True):
        where = f"{source.name}, {place}"
        events.append(event_of_json(obj, schema, where, fields))
        columns.see(events[-1], place, where)
    if reading.time_column is not None and TIME not in columns.types:
        raise InputError(f"{source.name}: no event has the field {reading.time_column!r} for the time")
    columns.check_exact(source.name)
    floats = {name for name, value_type in columns.types.items() if value_type == "float"}
    S = Stream([_with_floats(event, floats - {TIME}) for event in events], schema)
    S.fits = True
    return S


def _json_values(source: CsvSource, records: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file, each with its place; the file may be JSON Lines or not (see `documents`)."""
    if (found := documents(source, records)) is not None:
        yield from found
        return
    with source.open() as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"line {number}", parse_json(line, f"{source.name}, line {number}")


def _with_floats(event: Event, names: Set[str]) -> Event:
    """Return the event with the numbers of these attributes as floats, as a column would hold them."""
    return Event(event.type, {a: float(v) if type(v) is int and a in names else v for a, v in event.attributes.items()})


def reserving(obj: Any, reserved: Mapping[str, str], where: str) -> Any:
    """Return the object with the fields of type and time under their reserved names. Raises InputError."""
    if not isinstance(obj, Mapping):
        return obj
    for name, meant in reserved.items():
        if meant == TYPE and name not in obj:
            option = how_to_type(name, obj, reserved.values())
            raise InputError(f"{where}: no field {name!r} for the event type{option}")
    hidden = {meant for name, meant in reserved.items() if name != meant} - reserved.keys()
    return {reserved.get(name, name): value for name, value in obj.items() if name not in hidden}


class _Columns:
    """The value type of each attribute in the lines so far. The first event with another type is refused."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.types: dict[str, ValueType] = {}
        self._fields = fields  # what the file calls the attributes that are renamed
        self._first: dict[str, str] = {}  # the place that first has the attribute, as "line 1"
        self._large: dict[str, tuple[int, str]] = {}  # the first integer that no float equals, and its place

    def see(self, event: Event, place: str, where: str) -> None:
        """Record an event. Raises InputError for an attribute with values of two kinds, or for a time that is not a
        time.
        """
        for name, value in event.attributes.items():
            new = value_type_of(value)
            if name == TIME and new not in ("int", "float", "timestamp"):
                raise InputError(f"{where}, field {self._field(name)}: {new}; {FORMS}")
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
        """Raise InputError for an integer that would be rounded because its attribute has floats as well."""
        for name, (value, place) in self._large.items():
            if self.types[name] == "float":
                raise InputError(
                    f"{file}, {place}, field {self._field(name)}: {value} cannot be stored exactly as a 64-bit float"
                )

    def _field(self, name: str) -> str:
        return repr(self._fields.get(name, name))


# ---------------------------------------------------------------------------------------------------------------------
# Large files of JSON Lines as Arrow tables, by Arrow's reader.
#
# json_events.py defines what such a file means, and writes the messages about what is wrong with it. Arrow's reader is
# used only if its result is certainly the same: each line is one object, no number may have been rounded, and texts
# stay texts, even if they look like times. Any other file is read line by line.

TEXTS = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*+"')  # within a line: Arrow reads blocks of lines on their own
FIRST = 2**20  # these bytes usually show which columns look like times; others are found when all bytes are read


def table_of_json_lines(source: CsvSource, reading: FieldReading) -> ReadTable | None:
    """Return the table of a stream's events; None if the file must be read line by line."""
    with source.open() as file:
        data = file.read()
    try:
        table = _as_written(data)
        if table is None or (reading.time_column is not None and reading.time_column not in table.column_names):
            return None
        found = rows_of_table(table, reading, source.name, lambda row: f"{source.name}, line {row + 1}")
    except (pa.ArrowException, ValueError, InputError):  # ValueError: a name that is not UTF-8
        return None
    return None if found.unread else found  # the reader of lines gives the reasons


def _as_written(data: bytes) -> pa.Table | None:
    """Return the table of the objects in the lines; None if Arrow may have changed a value."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if not _has_flat_objects(data, lines):
        return None
    texts: dict[str, pa.DataType] = {}
    names: dict[str, None] = {}  # in the order in which the file first has them; Arrow puts those of a schema first
    for part in (data[: data.rfind(b"\n", 0, FIRST) + 1] or data, data):
        table = _parsed(part, texts)
        names |= dict.fromkeys(table.column_names)
        while times := [field.name for field in table.schema if pa.types.is_timestamp(field.type)]:
            texts |= dict.fromkeys(times, pa.string())
            table = _parsed(part, texts)
    if table.num_rows != lines:
        return None
    table.validate(full=True)
    floats = [column for column in table.columns if pa.types.is_floating(column.type)]
    if any(pc.any(pc.or_(may_be_rounded(column), pc.is_nan(column))).as_py() for column in floats):
        return None
    if any(name != name.strip() for name in names):  # a warning would wrongly speak of a header
        return None
    return table.select(list(names))


def _has_flat_objects(data: bytes, lines: int) -> bool:
    """Return whether each line is one object without objects or lists in it.

    Arrow's reader crashes on other lines: nested values overflow its stack, and a line `null` makes it read invalid
    memory.
    """
    # Texts may have brackets and braces too. They are removed only if the counts differ, since counting is much faster.
    if b"[" in data or data.count(b"{") != lines or data.count(b"}") != lines:
        data = TEXTS.sub(b"", data)
    begun = data.startswith(b"{") + data.count(b"\n{")
    ended = data.endswith(b"}") + data.count(b"}\n") + data.count(b"}\r\n")
    return b"[" not in data and data.count(b"{") == data.count(b"}") == begun == ended == lines


def _parsed(data: bytes, texts: Mapping[str, pa.DataType]) -> pa.Table:
    options = arrow_json.ParseOptions(explicit_schema=pa.schema(list(texts.items())))
    return arrow_json.read_json(pa.BufferReader(native_buffer(data)), parse_options=options)
