"""Logs in the Elastic Common Schema as events: nested objects, arrays, `@timestamp`, files and folders of NDJSON.

A document has fields in objects, in names with dots, or in both. Here each field is one attribute, by its name with
dots. An array of n values is n attributes: `process.args`, `process.args[1]`, `process.args[2]`, and so on; nulls in it
are left out, and an array of objects is one array for each field of these, as an index has it. The type of an event is
the first value of `event.category`, its time is `@timestamp`, in ISO 8601 or in milliseconds since 1970.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from cerify.semantics.arguments import timed_items
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.json_events import parse_json, text_of
from cerify.semantics.values import INT64, Value, parse_time

CATEGORY, TIMESTAMP, UNCATEGORIZED = "event.category", "@timestamp", "event"
SUFFIXES = frozenset({".ndjson", ".jsonl", ".json"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DEEPEST = 100


def read_ecs(path: str | Path, category_field: str = CATEGORY, time_field: str = TIMESTAMP) -> Stream:
    """Return the events of a file of documents, or of all such files of a folder in the order of their names.

    A file has a document in each line, or all of them in an array; hits of a search, with the document in `_source`,
    are taken too. Events stay in the order of the file. Raises InputError, which names file, line and field.
    """
    source = Path(path)
    files = _files_of(source) if source.is_dir() else [source]
    if not files:
        raise InputError(f"{source}: no file of it ends in {', '.join(sorted(SUFFIXES))}")
    events = [
        event_of_document(document, where, category_field, time_field)
        for file in files
        for document, where in timed_items(_documents(file))
    ]
    if not events:
        raise InputError(f"{source}: no events; a log has a document in each line")
    S = Stream()
    S._events = tuple(events)  # of values that JSON has: there is nothing to check
    return S


def _files_of(folder: Path) -> list[Path]:
    return sorted(f for f in folder.rglob("*") if f.suffix.lower() in SUFFIXES)


def looks_like_ecs(path: str | Path) -> bool:
    """Return whether a path is a file of JSON whose first line has a document without a `type`, or a folder of such.

    Of a folder the first file decides.
    """
    source = Path(path)
    if source.is_dir():
        files = _files_of(source)
        return not files or looks_like_ecs(files[0])
    if source.suffix.lower() not in SUFFIXES or not source.is_file():
        return False
    try:
        document = next((one for one, _ in _documents(source)), None)
    except InputError:
        return source.suffix.lower() == ".json"
    if not isinstance(document, Mapping):
        return False
    marked = TIMESTAMP in document or CATEGORY in document or isinstance(document.get("event"), dict)
    return marked or "_source" in document or not isinstance(document.get("type"), str)


def event_of_document(
    document: object, where: str, category_field: str = CATEGORY, time_field: str = TIMESTAMP
) -> Event:
    """Return the event of a document; where is its place for the InputError if it is none.

    >>> event_of_document({"event": {"category": ["process"]}, "process.args": ["a", "b"]}, "line 1").attributes
    {'event.category': 'process', 'process.args': 'a', 'process.args[1]': 'b'}
    """
    if isinstance(document, Mapping) and isinstance(document.get("_source"), Mapping):
        document = document["_source"]
    if not isinstance(document, Mapping):
        raise InputError(f"{where}: an event is a JSON object, not {type(document).__name__}")
    attributes: dict[str, Value] = {}
    _collect(document, "", attributes, where, 0)
    time = attributes.pop(time_field, None)
    if time is not None:
        attributes[TIME] = _time(time, where, time_field)
    category = attributes.get(category_field)
    return Event(category if isinstance(category, str) and category else UNCATEGORIZED, attributes)


def document_of_event(event: Event) -> dict[str, Any]:
    """Return the document of an event, with nested objects and arrays: what event_of_document reads back."""
    document: dict[str, Any] = {}
    time = event.attributes.get(TIME)
    if time is not None:
        at = time if isinstance(time, datetime) else EPOCH + timedelta(seconds=float(time))
        document[TIMESTAMP] = at.isoformat(timespec="milliseconds" if at.microsecond % 1000 == 0 else "auto").replace(
            "+00:00", "Z"
        )
    arrays: dict[str, list[Any]] = {}
    for name, value in event.attributes.items():
        base, bracket, _ = name.partition("[")
        if name != TIME:
            plain = value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
            arrays.setdefault(base if bracket and base in event.attributes else name, []).append(plain)
    if CATEGORY not in arrays and event.type != UNCATEGORIZED:
        arrays[CATEGORY] = [event.type]
    for name, values in sorted(arrays.items()):
        _set_nested(document, name, values[0] if len(values) == 1 else values)
    return document


def _set_nested(document: dict[str, Any], name: str, value: Any) -> None:
    """Put a value under a name with dots into nested objects, where no other value is in the way."""
    first, dot, rest = name.partition(".")
    if dot and rest and first and isinstance(document.setdefault(first, {}), dict):
        _set_nested(document[first], rest, value)
    else:
        document[name] = value


def _collect(fields: Mapping[str, Any], prefix: str, attributes: dict[str, Value], where: str, depth: int) -> None:
    """Add the fields of an object, and of the objects in it, by their names. By type: it runs once for each value."""
    for key, value in fields.items():
        name = prefix + key
        kind = type(value)
        if (kind is str or kind is bool or kind is float) and name not in attributes:
            attributes[name] = value
        elif kind is dict:
            if depth >= DEEPEST:
                raise InputError(f"{where}, field {name!r}: objects are nested more than {DEEPEST} deep")
            _collect(value, f"{name}.", attributes, where, depth + 1)
        elif kind is list:
            for inner in _flat(value, name, where):
                if type(inner) is dict:
                    _collect(inner, f"{name}.", attributes, where, depth + 1)
                else:
                    _add(attributes, name, inner)
        elif value is not None:
            _add(attributes, name, value)


def _flat(values: list[Any], name: str, where: str, depth: int = 0) -> Iterator[Any]:
    """The elements of an array, and of the arrays in it, without nulls."""
    if depth >= DEEPEST:
        raise InputError(f"{where}, field {name!r}: arrays are nested more than {DEEPEST} deep")
    for value in values:
        if isinstance(value, list):
            yield from _flat(value, name, where, depth + 1)
        elif value is not None:
            yield value


def _add(attributes: dict[str, Value], name: str, value: Any) -> None:
    """Add a value to those that a field has already."""
    if type(value) is int and value not in INT64:
        value = str(value)
    at, n = name, 0
    while at in attributes:
        n += 1
        at = f"{name}[{n}]"
    attributes[at] = value


def _time(value: Value, where: str, field: str) -> datetime:
    try:
        if isinstance(value, str) and not value.strip().isdecimal():
            return parse_time(value)
        if isinstance(value, str):
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return EPOCH + timedelta(microseconds=round(value * 1000))
    except (ValueError, OverflowError) as error:
        reason = str(error) if str(error).startswith("is ") else "is no time"
        raise InputError(f"{where}, field {field!r}: {value!r} {reason}") from None
    raise InputError(f"{where}, field {field!r}: a time is ISO 8601, or milliseconds since 1970")


def _documents(file: Path) -> Iterator[tuple[Any, str]]:
    """The documents of a file, each with its place."""
    text = text_of(file)
    if text.lstrip().startswith("["):
        yield from ((one, f"{file}, element {n}") for n, one in enumerate(_array(text, file)))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.isspace():
            where = f"{file}, line {number}"
            yield (_parsed(line) if "\\u" not in line else None) or parse_json(line, where), where


def _array(text: str, file: Path) -> Iterable[Any]:
    found = parse_json(text, str(file))
    return found if isinstance(found, list) else [found]


def _parsed(line: str) -> Any:
    """The value of a line; None where it has to be read again for its error."""
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
