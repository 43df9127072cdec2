"""Events, streams and schemas as JSON, for the engine protocol, suites and JSON Lines files.

An event is {"type": "T", attribute: value, ...}. The key "time" is reserved: integer seconds, which stay an integer, or
ISO 8601, which becomes a timestamp. A null is an absent attribute, or with `keep_nulls` an attribute that says so
(`NULL`). With a schema every value has to fit it (an integer fits a float; a timestamp is ISO 8601 text); without one
JSON's own types are taken.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from cerify.semantics.arguments import check_time, format_names
from cerify.semantics.errors import InputError, shortened
from cerify.semantics.events import TIME, TYPE, Event, Order, Schema, Stream
from cerify.semantics.packages import naming_extras
from cerify.semantics.schemas import NULL, named_values
from cerify.semantics.tables import SAVE_AS_UTF_8, what_else
from cerify.semantics.values import (
    INT64,
    NanosecondTime,
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
    """Raised for an object that has a key twice."""


def text_of(path: Path) -> str:
    """Return the text of a file. Raises InputError if it does not exist, cannot be read, or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")  # editors of Windows begin a file with a byte order mark
    except FileNotFoundError:
        raise InputError(f"no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {what_else(error.object) or f'not text in UTF-8{SAVE_AS_UTF_8}'}") from None


def lines_of(path: Path) -> list[tuple[str, str]]:
    """Return the lines of a file that are not empty, each with its place, as in `a.jsonl, line 3`.

    Raises InputError in the same cases as `text_of`.
    """
    lines = text_of(path).split("\n")  # not splitlines: JSON may have the other line ends inside a string
    return [(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def parse_json(text: str | bytes, where: str) -> Any:
    """Return the value of a JSON text. Raises InputError.

    Numbers must be finite, and texts valid UTF-8. No object may have a key twice: JSON does not say which value counts.
    """
    try:
        value = json.loads(text, parse_constant=_not_json, parse_float=_finite, object_pairs_hook=_object)
        if "\\u" in (text if isinstance(text, str) else text.decode()):  # the only way to half of a surrogate pair
            _require_whole_pairs(json.dumps(value, ensure_ascii=False), where)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from None
    except UnicodeError:
        raise InputError(f"{where}: not text in UTF-8: write JSON in UTF-8") from None
    except _Doubled as error:
        raise InputError(f"{where}: {error}") from None
    except RecursionError:
        raise InputError(f"{where}: JSON nested too deeply") from None
    except ValueError as error:
        if "set_int_max_str_digits" in str(error):  # Python's advice, which a user of the command cannot follow
            raise InputError(f"{where}: a number is too long; integers have 64 bits") from None
        raise InputError(f"{where}: not JSON: {error}") from None
    return value


def _require_whole_pairs(text: str, where: str) -> None:
    if half := HALF_OF_A_PAIR.search(text):
        raise InputError(
            f"{where}: the escape \\u{ord(half[0]):x} is half of a surrogate pair, not a character; "
            "write both halves, as \\ud83d\\ude00"
        )


def event_of_json(
    obj: object, schema: Schema | None, where: str, fields: Mapping[str, str] = {}, keep_nulls: bool = False
) -> Event:
    """Return the event of a parsed JSON object; `where` is its place, which an InputError names.

    fields are the names that messages give to "type" and "time", if the file has others. keep_nulls: see `NULL`.
    """
    if not isinstance(obj, dict):
        raise InputError(f"{where}: an event is a JSON object, not {kind_in_json(obj)}")
    if not isinstance(type_ := obj.get(TYPE), str) or not type_:
        raise InputError(f"{where}: an event needs the key {fields.get(TYPE, TYPE)!r} with its event type, a string")
    if schema is None:
        types: Mapping[str, ValueType] = {}
    elif (known := schema.types.get(type_)) is not None:
        types = known
    else:
        raise InputError(f"{where}: unknown event type {type_!r}; the schema has {format_names(schema.types)}")
    attributes: dict[str, Value] = {}
    for name, value in obj.items():
        if name == TYPE:
            continue
        if value is None:
            attributes |= {name + NULL: True} if keep_nulls and schema is None and name != TIME else {}
            continue
        field = fields.get(name, name)
        if (value_type := types.get(name)) is not None:
            attributes[name] = _typed(value, value_type, where, field)
        elif name == TIME and isinstance(value, str):
            attributes[name] = _timestamp(value, where, field)
        elif name == TIME and isinstance(value, datetime):
            attributes[name] = value
        elif schema is None or name == TIME:
            attributes[name] = _untyped(value, where, field)
        else:
            raise InputError(
                f"{where}, field {field!r}: unknown attribute; {type_} has {', '.join(types) or 'none in the schema'}"
            )
    return Event(type_, attributes)


def stream_of_json(
    events: Iterable[object],
    schema: Schema | None,
    where: str,
    default_type: str | None = None,
    keep_nulls: bool = False,
) -> Stream:
    """Return the stream of the parsed events; without a schema they have to agree on the type of each attribute.

    default_type is the type of events without a type; None makes such events an error. keep_nulls: see `NULL`.
    """
    typed = ({TYPE: default_type, **obj} if default_type and isinstance(obj, dict) else obj for obj in events)
    read = (event_of_json(obj, schema, f"{where}, event {i}", {}, keep_nulls) for i, obj in enumerate(typed))
    stream = Stream(list(read), schema)
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
    """Return an event as JSON. Raises InputError for a value that JSON cannot write, or an attribute named "type"."""
    if TYPE in event.attributes:
        raise InputError(
            f"field {TYPE!r}: this field holds the event type, so no attribute can have this name; rename the attribute"
        )
    values = {name: None if value is None else _json_of_value(value, name) for name, value in named_values(event)}
    return {TYPE: event.type} | values


def schema_of_json(obj: object) -> Schema:
    """Return the schema of a JSON object {event type: {attribute: value type}}. Raises InputError, IllFormed.

    The key "$order" is not an event type; its value is the order of times.
    """
    if not isinstance(obj, dict):
        raise InputError(f"a schema is a JSON object from event types to their attributes, not {kind_in_json(obj)}")
    types = {type_: attributes for type_, attributes in obj.items() if type_ != ORDER}
    for type_, attributes in types.items():
        if not isinstance(attributes, dict) or not all(isinstance(kind, str) for kind in attributes.values()):
            form = '{"T": {"x": "int"}}'
            raise InputError(f"schema, event type {type_!r}: give an object of attributes and value types, as {form}")
    order = obj.get(ORDER)
    if order is not None and not isinstance(order, str):
        raise InputError(
            f"schema, key {ORDER}: found {kind_in_json(order)}, expected the order of times, such as 'strict'"
        )
    return Schema(types, order=cast("Order | None", order))


def json_of_schema(schema: Schema) -> dict[str, dict[str, str]]:
    """Return the JSON form of the types of a schema."""
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
                raise InputError(f"{where}, field {field!r}: {number} cannot be stored exactly as a 64-bit float")
            return float(number)
        case "timestamp", str() as text:
            return _timestamp(text, where, field)
        case "timestamp", datetime() as time:  # of a reader that knows the unit
            return time
        case _:
            raise InputError(f"{where}, field {field!r}: {kind_in_json(value)}, but the schema has {value_type}")


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
                f"{where}, field {field!r}: the value is {kind_in_json(value)}; an attribute must be a "
                f"number, a string or a Boolean"
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
        if isinstance(value, NanosecondTime):
            raise InputError(f"field {name!r}: {show_time(value)} has nanoseconds, but messages carry microseconds")
        return show_time(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"field {name!r}: {value} cannot be written in JSON")
    return value


def kind_in_json(value: object) -> str:
    """Return the name of a parsed value's kind in JSON, for a message."""
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
    # A hook of `json.loads` gets only the pairs of its object, so the objects of all texts are counted together.
    if next(_OBJECTS) % OBJECTS_TOGETHER == 0:
        check_time()
    obj = dict(pairs)
    if len(obj) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise _Doubled(f"{name!r} has two values in one object")
    return obj


# ---------------------------------------------------------------------------------------------------------------------
# Check JSON values against a JSON Schema of draft 2020-12.

LONGEST = 280  # characters of a message, which has the value in it
LONG = 100_000  # bytes of JSON; in a longer value only one problem is found, because each costs time and memory


class SchemaProblem(NamedTuple):
    """A problem with a part of a value: the keys and indices that lead to it, and a sentence."""

    path: tuple[str | int, ...]
    message: str


class JsonSchema:
    """A JSON schema, prepared for many values. Raises MissingPackage without the extra conform."""

    def __init__(self, schema: dict[str, Any]) -> None:
        with naming_extras():
            # imported late, since it is needed by few commands
            from jsonschema_rs import Draft202012Validator, ValidationError

        self._validator, self._error = Draft202012Validator(schema), ValidationError

    def problem(self, value: Any) -> SchemaProblem | None:
        """Return the problem that is nearest to the top of the value; None if the value meets the schema.

        For a value that takes more than LONG bytes, return any problem. If the validator gives up because a value is
        nested too deeply, the problem is about the whole value.
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
        """Return all errors of a value; only one of them if `one` is true."""
        if not one:
            return list(self._validator.iter_errors(value))
        try:
            self._validator.validate(value)
        except self._error as error:
            return [error]
        return []
