"""Events, streams and schemas as JSON: the form they have in the engine protocol, in suites and in JSON Lines files.

An event is {"type": "T", attribute: value, ...}. The key "time" is reserved: integer seconds, which stay an integer, or
ISO 8601, which becomes a timestamp. A null is an absent attribute. With a schema every value has to fit it (an integer
fits a float; a timestamp is ISO 8601 text); without one JSON's own types are taken.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from cerify.semantics.arguments import check_time, listed
from cerify.semantics.arrow_columns import may_be_rounded, values_of_text
from cerify.semantics.arrow_types import ARROW
from cerify.semantics.errors import InputError, shortened
from cerify.semantics.events import TIME, TYPE, Event, Order, Schema, Stream
from cerify.semantics.packages import arrow_json, installed, naming_extras, pa, pc
from cerify.semantics.tables import TYPE_OPTION, CsvSource, fitted_table, native_buffer, require_text, what_else
from cerify.semantics.values import (
    INT64,
    Value,
    ValueType,
    is_exact_float,
    joined,
    parse_time,
    show_time,
    value_type_of,
)

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

JSON_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "a Boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
}
ORDER = "$order"  # the key of a schema that has the order of times
HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


class _Doubled(Exception):
    """An object has a key twice."""


def text_of(path: Path) -> str:
    """The text of a file. Raises InputError where there is none, or where it cannot be read or is not in UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")  # editors of Windows begin a file with a byte order mark
    except FileNotFoundError:
        raise InputError(f"no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {what_else(error.object) or 'not text in UTF-8'}") from None


def lines_of(path: Path) -> list[tuple[str, str]]:
    """The lines of a file that are not empty, each with its place, as in `a.jsonl, line 3`.

    Raises InputError, see text_of.
    """
    lines = text_of(path).split("\n")  # not splitlines: JSON may have the other line ends inside a string
    return [(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def parse_json(text: str | bytes, where: str) -> Any:
    """The value that the JSON text writes. Raises InputError.

    Only finite numbers, only text that UTF-8 can carry, and no key twice in an object: which one holds is left open.
    """
    try:
        value = json.loads(text, parse_constant=_not_json, parse_float=_finite, object_pairs_hook=_object)
        if "\\u" in (text if isinstance(text, str) else text.decode()):  # the only way to half of a surrogate pair
            _require_whole_pairs(json.dumps(value, ensure_ascii=False), where)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from None
    except UnicodeError:
        raise InputError(f"{where}: not text in UTF-8") from None
    except _Doubled as error:
        raise InputError(f"{where}: {error}") from None
    except RecursionError:
        raise InputError(f"{where}: JSON nested too deeply") from None
    except ValueError as error:
        if "set_int_max_str_digits" in str(error):  # advice that only programs could follow
            raise InputError(f"{where}: a number is too long; integers have 64 bits") from None
        raise InputError(f"{where}: not JSON: {error}") from None
    return value


def _require_whole_pairs(text: str, where: str) -> None:
    if half := HALF_OF_A_PAIR.search(text):
        raise InputError(
            f"{where}: the escape \\u{ord(half[0]):x} is half of a surrogate pair, and no character; "
            "write both halves, as \\ud83d\\ude00"
        )


def event_of_json(obj: object, schema: Schema | None, where: str, fields: Mapping[str, str] = {}) -> Event:
    """The event of a parsed JSON object; where is its place for the InputError if it is none.

    fields are the names that messages give to "type" and "time", if the file has others.
    """
    if not isinstance(obj, dict):
        raise InputError(f"{where}: an event is a JSON object, not {_kind(obj)}")
    if not isinstance(type_ := obj.get(TYPE), str) or not type_:
        raise InputError(f"{where}: an event has the key {fields.get(TYPE, TYPE)!r} with its event type, a string")
    if schema is None:
        types: Mapping[str, ValueType] = {}
    elif (known := schema.types.get(type_)) is not None:
        types = known
    else:
        raise InputError(f"{where}: unknown event type {type_!r}; the schema has {listed(schema.types)}")
    attributes: dict[str, Value] = {}
    for name, value in obj.items():
        if name == TYPE or value is None:
            continue
        field = fields.get(name, name)
        if (value_type := types.get(name)) is not None:
            attributes[name] = _typed(value, value_type, where, field)
        elif name == TIME and isinstance(value, str):
            attributes[name] = _timestamp(value, where, field)
        elif schema is None or name == TIME:
            attributes[name] = _untyped(value, where, field)
        else:
            raise InputError(
                f"{where}, field {field!r}: unknown attribute; {type_} has {', '.join(types) or 'none in the schema'}"
            )
    return Event(type_, attributes)


def stream_of_json(
    events: Iterable[object], schema: Schema | None, where: str, default_type: str | None = None
) -> Stream:
    """The stream of the parsed events; without a schema they have to agree on the type of each attribute.

    default_type is the type of events that have none; None makes them an error.
    """
    typed = ({TYPE: default_type, **obj} if default_type and isinstance(obj, dict) else obj for obj in events)
    stream = Stream([event_of_json(obj, schema, f"{where}, event {i}") for i, obj in enumerate(typed)], schema)
    stream.fits = True
    seen: dict[str, tuple[int, ValueType]] = {}
    for i, event in enumerate(stream):
        for name, value in event.attributes.items():
            value_type = value_type_of(value)
            first, known = seen.setdefault(name, (i, value_type))
            if joined(value_type, known) is None:
                raise InputError(
                    f"{where}, event {i}, field {name!r}: {value_type}, but {known} in event {first}; "
                    "an attribute has one type throughout a stream"
                )
    return stream


def json_of_event(event: Event) -> dict[str, Any]:
    """The JSON form of an event. Raises InputError for a number that JSON cannot write, or an attribute "type"."""
    if TYPE in event.attributes:
        raise InputError(f"field {TYPE!r}: JSON has the event's type there, so that no attribute can have this name")
    return {TYPE: event.type} | {name: _json_of_value(value, name) for name, value in event.attributes.items()}


def schema_of_json(obj: object) -> Schema:
    """The schema that the JSON stands for: {event type: {attribute: value type}}. Raises InputError, IllFormed.

    The key "$order" is no event type: it has the order of times.
    """
    if not isinstance(obj, dict):
        raise InputError(f"a schema is a JSON object from event types to their attributes, not {_kind(obj)}")
    types = {type_: attributes for type_, attributes in obj.items() if type_ != ORDER}
    for type_, attributes in types.items():
        if not isinstance(attributes, dict) or not all(isinstance(kind, str) for kind in attributes.values()):
            form = '{"T": {"x": "int"}}'
            raise InputError(f"schema, event type {type_!r}: give an object of attributes and value types, as {form}")
    order = obj.get(ORDER)
    if order is not None and not isinstance(order, str):
        raise InputError(f"schema, key {ORDER}: {_kind(order)}, where the order of times is meant, as 'strict'")
    return Schema(types, order=cast("Order | None", order))


def json_of_schema(schema: Schema) -> dict[str, dict[str, str]]:
    """The JSON form of the types of a schema."""
    return {type_: dict(attributes) for type_, attributes in schema.types.items()}


def _typed(value: object, value_type: ValueType, where: str, field: str) -> Value:
    match value_type, value:
        case "bool", bool() as truth:
            return truth
        case "string", str() as text:
            return text
        case "int", int() as number if not isinstance(number, bool):
            return _int64(number, where, field)
        case "float", (int() | float()) as number if not isinstance(number, bool):
            _untyped(number, where, field)
            if isinstance(number, int) and not is_exact_float(number):
                raise InputError(f"{where}, field {field!r}: {number} is not exact as 64-bit float")
            return float(number)
        case "timestamp", str() as text:
            return _timestamp(text, where, field)
        case _:
            raise InputError(f"{where}, field {field!r}: {_kind(value)}, where the schema has {value_type}")


def _untyped(value: object, where: str, field: str) -> Value:
    match value:
        case bool() | str():
            return value
        case int():
            return _int64(value, where, field)
        case float():
            if not math.isfinite(value):
                raise InputError(f"{where}, field {field!r}: too large for a 64-bit float")
            return value
        case _:
            raise InputError(
                f"{where}, field {field!r}: {_kind(value)}; an attribute is a number, a string or a Boolean"
            )


def _int64(value: int, where: str, field: str) -> int:
    if value not in INT64:
        raise InputError(f"{where}, field {field!r}: {str(value)[:40]} does not fit in 64 bits")
    return value


def _timestamp(text: str, where: str, field: str) -> datetime:
    try:
        return parse_time(text)
    except ValueError as error:
        raise InputError(f"{where}, field {field!r}: {text!r} {error}") from None


def _json_of_value(value: Value, name: str) -> bool | int | float | str:
    if isinstance(value, datetime):
        return show_time(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"field {name!r}: {value} cannot be written in JSON")
    return value


def _kind(value: object) -> str:
    """What a parsed value is in JSON, for a message."""
    return JSON_KINDS.get(type(value), "an object")


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"{text} is beyond the floats of 64 bits")
    return value


OBJECTS_TOGETHER = 16  # between two looks at the clock
_OBJECTS = itertools.count()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if next(_OBJECTS) % OBJECTS_TOGETHER == 0:
        check_time()
    obj = dict(pairs)
    if len(obj) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise _Doubled(f"two values for {name!r} in one object")
    return obj


# ---------------------------------------------------------------------------------------------------------------------
# The event type of events that have none, if the caller gives a default.


def with_type(table: pa.Table, type_column: str, default_type: str | None) -> pa.Table:
    """The table, with a column for the type if it has none and there is a default."""
    if default_type is None or type_column in table.column_names:
        return table
    return table.append_column(type_column, pa.repeat(pa.scalar(default_type, pa.string()), table.num_rows))


def typed(obj: Mapping[str, Any], type_column: str, default_type: str | None) -> Mapping[str, Any]:
    """The object with a type: its own, or else the default, if there is one."""
    return obj if default_type is None or type_column in obj else {type_column: default_type, **obj}


# ---------------------------------------------------------------------------------------------------------------------
# Streams of events from JSON Lines: an object in each line, or all of them in one array.

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_json_lines(
    source: CsvSource, schema: Schema | None, reserved: Mapping[str, str], default_type: str | None
) -> Stream:
    """The stream of a file of JSON Lines: of a large one by Arrow, if it is clear that that reads the same."""
    require_text(source)
    fields = {meant: name for name, meant in reserved.items()}
    if schema is None and source.is_large and installed("pyarrow"):
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


def _json_values(source: CsvSource) -> Iterator[tuple[str, Any]]:
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


# ---------------------------------------------------------------------------------------------------------------------
# JSON values held against a JSON Schema of draft 2020-12.

LONGEST = 280  # characters of a message, which has the value in it
LONG = 100_000  # bytes of JSON of a value of which one problem is found, not all: each costs time and kilobytes


class SchemaProblem(NamedTuple):
    """What is wrong with a part of a value: the keys and indices that lead to it, and a sentence."""

    path: tuple[str | int, ...]
    message: str


class JsonSchema:
    """A schema, prepared to be held against many values. Raises MissingPackage without the extra conform."""

    def __init__(self, schema: dict[str, Any]) -> None:
        with naming_extras():
            # imported late, since it is needed by few commands
            from jsonschema_rs import Draft202012Validator, ValidationError

        self._validator, self._error = Draft202012Validator(schema), ValidationError

    def problem(self, value: Any) -> SchemaProblem | None:
        """The problem that is nearest to the top of the value, None if it meets the schema; of a LONG value, any.

        A value that does not, and is nested so deeply that the validator gives up, has a problem as a whole.
        """
        try:
            if self._validator.is_valid(value):
                return None
        except UnicodeEncodeError:
            pass  # half of a surrogate pair, which JSON can write and UTF-8 cannot
        try:
            encoded = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            errors = self._errors(json.loads(encoded), len(encoded) > LONG)
        except (ValueError, RecursionError):
            return SchemaProblem((), "it does not meet its schema, and is nested too deeply to say where")
        problems = [SchemaProblem(tuple(error.instance_path), shortened(error.message, LONGEST)) for error in errors]
        return min(problems, key=lambda problem: len(problem.path), default=None)

    def _errors(self, value: Any, one: bool) -> list[ValidationError]:
        """What is wrong with a value, or one thing that is."""
        if not one:
            return list(self._validator.iter_errors(value))
        try:
            self._validator.validate(value)
        except self._error as error:
            return [error]
        return []


# ---------------------------------------------------------------------------------------------------------------------
# Large files of JSON Lines as Arrow tables, by Arrow's reader.
#
# json_events.py defines what such a file means, and writes the messages about what is wrong with it. Arrow's reader is
# used where it can be seen that it read the same: each line one object, no number that it may have rounded, and texts
# as texts, also those that look like times. For all else there is no table here, and the file is read line by line.

TEXTS = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*+"')  # within a line: Arrow reads blocks of lines on their own
FIRST = 2**20  # bytes that tell which columns look like times; others that do are found when all are read


def table_of_json_lines(
    source: CsvSource, reserved: Mapping[str, str], type_column: str, default_type: str | None
) -> pa.Table | None:
    """The table of a stream's events, as fitted_table returns it; None where the file is to be read line by line."""
    with source.open() as file:
        data = file.read()
    try:
        table = _as_written(data)
        return None if table is None else _of_values(with_type(table, type_column, default_type), reserved, source.name)
    except (pa.ArrowException, ValueError, InputError):  # ValueError: a name that is not UTF-8
        return None


def _as_written(data: bytes) -> pa.Table | None:
    """The values of the objects in the lines; None if they may be others than those that are written."""
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
    if any(name != name.strip() for name in names):  # of which a warning would say that they are in a header
        return None
    return table.select(list(names))


def _has_flat_objects(data: bytes, lines: int) -> bool:
    """Whether each line is one object without values in its values.

    Others end the process in Arrow's reader: nested ones use up its stack, and of a line `null` it reads memory that is
    not its own.
    """
    if b"[" in data or data.count(b"{") != lines or data.count(b"}") != lines:
        data = TEXTS.sub(b"", data)
    begun = data.startswith(b"{") + data.count(b"\n{")
    ended = data.endswith(b"}") + data.count(b"}\n") + data.count(b"}\r\n")
    return b"[" not in data and data.count(b"{") == data.count(b"}") == begun == ended == lines


def _parsed(data: bytes, texts: Mapping[str, pa.DataType]) -> pa.Table:
    options = arrow_json.ParseOptions(explicit_schema=pa.schema(list(texts.items())))
    return arrow_json.read_json(pa.BufferReader(native_buffer(data)), parse_options=options)


def _of_values(table: pa.Table, reserved: Mapping[str, str], name: str) -> pa.Table:
    """The columns of the value types, the reserved ones renamed. Raises InputError."""

    def place(row: int) -> str:
        return f"{name}, line {row + 1}"

    for i, field in enumerate(table.column_names):
        if reserved.get(field, field) == TIME and table.column(i).type == ARROW["string"]:
            table = table.set_column(i, field, values_of_text(table.column(i), "timestamp", field, place))
    return fitted_table(table, None, reserved, name, place)
