"""Read logs in the Elastic Common Schema: nested objects, arrays, `@timestamp`, files and folders of NDJSON.

A document has its fields in nested objects, under names with dots, or both. Here each field is one attribute, named
with dots. An array of n values becomes n attributes: `process.args`, `process.args[1]`, `process.args[2]`, and so on.
Nulls in an array are left out. An array of objects becomes one array for each field, as in an Elasticsearch index. The
type of an event is the first value of `event.category`, or the type that the language gives to a document without one;
its time is `@timestamp`, in ISO 8601 or in milliseconds since
1970. With `keep_fields`, all fields of the document are attributes, also those from which type and time are read.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, cast

from cerify.semantics.arguments import timed_items
from cerify.semantics.errors import InputError, InputWarning
from cerify.semantics.events import TIME, TYPE, Event, Stream
from cerify.semantics.file_shapes import PACKED, require_known_kind, unpacked
from cerify.semantics.files import STDIN, expand_pattern, naming_file, open_source
from cerify.semantics.json_events import parse_json
from cerify.semantics.schemas import FIELD, NO_CATEGORY, NULL, attribute_of, field_name, named_values
from cerify.semantics.tables import SAVE_AS_UTF_8, CsvSource, what_else
from cerify.semantics.values import FRACTION, INT64, Value, parse_time

CATEGORY, TIMESTAMP, UNCATEGORIZED = "event.category", "@timestamp", "event"
SUFFIXES = frozenset({".ndjson", ".jsonl", ".json"})
OWN_FIELD = re.compile(rf"^({TYPE}|{TIME})((?:\[.*\])?)$")
RESERVED = frozenset(name + end for name in (TYPE, TIME) for end in ("", NULL))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DEEPEST = 100
SHORT_TIME = len("2026-01-31T12:00:00.250000Z")


def read_ecs(
    source: str | Path | Sequence[str | Path],
    category_field: str = CATEGORY,
    time_field: str = TIMESTAMP,
    keep_fields: bool = False,
    default_type: str = UNCATEGORIZED,
) -> Stream:
    """Return the events of a file, a folder, a pattern, standard input ("-"), or a list of these.

    A file has one document on each line, or one array of documents. Search hits, with the document in `_source`, are
    read too, and gzip and Zstandard files are unpacked. In a folder all JSON files are read, in the order of their
    names. Events keep the order of the files. Time digits beyond microseconds are cut off, with an InputWarning.
    keep_fields, default_type: see `event_of_document`. Raises InputError, which names file, line and field.
    """
    files = [file for one in _sources(source) for file in _files_of(one)]
    documents = (one for file in files for one in _documents(file))
    S = stream_of_documents(documents, category_field, time_field, keep_fields, default_type)
    if not len(S):
        raise InputError(f"{', '.join(map(str, _sources(source)))}: no events; write one document on each line")
    return S


def stream_of_documents(
    documents: Iterable[tuple[object, str]],
    category_field: str = CATEGORY,
    time_field: str = TIMESTAMP,
    keep_fields: bool = False,
    default_type: str = UNCATEGORIZED,
) -> Stream:
    """Return a stream with an event for each document. Raises InputError.

    documents: pairs of a document and its place, which messages name.
    """
    cut: list[str] = []
    events = [
        event_of_document(document, where, category_field, time_field, cut, keep_fields, default_type)
        for document, where in timed_items(documents)
    ]
    if cut:
        warnings.warn(InputWarning(f"{cut[0]}: digits of a time beyond microseconds are cut off"), stacklevel=2)
    S = Stream()
    S._events = tuple(events)  # values from JSON need no check
    return S


def looks_like_ecs(source: str | Path | Sequence[str | Path]) -> bool:
    """Return whether the first document of a source (see `read_ecs`) has a field of ECS, or has no text in `type`.

    The answer is also true for a folder or a .json file that cannot be read, so that `read_ecs` reports the error.
    Standard input can still be read in full afterwards.
    """
    first = str(next(iter(_sources(source)), ""))
    if first == STDIN:
        data = sys.stdin.buffer.read()
        # Standard input can be read once. It is replaced by a copy, so that `read_ecs` still finds all of it.
        sys.stdin = io.TextIOWrapper(io.BytesIO(data))
        packed = unpacked(CsvSource("standard input", lambda: io.BytesIO(data)))
        with packed.open() as file:
            if not file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
                return False
        document = next((one for one, _ in _documents_of(packed)), None)
        return _is_document(document)
    if not os.path.isdir(first) and not _has_suffix(first):
        return False
    try:
        files = _files_of(first)
        with warnings.catch_warnings(action="ignore"):  # `read_ecs` will give them
            document = next((one for one, _ in _documents(files[0])), None)
    except InputError:
        return os.path.isdir(first) or Path(first).suffix.lower() == ".json"
    return _is_document(document)


def _is_document(document: Any) -> bool:
    if not isinstance(document, Mapping):
        return False
    marked = TIMESTAMP in document or CATEGORY in document or isinstance(document.get("event"), dict)
    return marked or "_source" in document or not isinstance(document.get("type"), str)


def _sources(source: str | Path | Sequence[str | Path]) -> Sequence[str | Path]:
    return [source] if isinstance(source, str | Path) else source


def _has_suffix(file: str) -> bool:
    path = Path(file)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower() in SUFFIXES


def _files_of(source: str | Path) -> list[str]:
    """Return the JSON files of a folder or the files of a pattern, sorted by name; or the file. Raises InputError."""
    if not os.path.isdir(source):
        return expand_pattern(str(source))
    files = sorted(f for f in Path(source).rglob("*") if _has_suffix(f.name) and f.is_file())
    if not files:
        raise InputError(f"{source}: no file ends in {', '.join(sorted(SUFFIXES))}")
    return list(map(str, files))


def event_of_document(
    document: object,
    where: str,
    category_field: str = CATEGORY,
    time_field: str = TIMESTAMP,
    cut: list[str] | None = None,
    keep_fields: bool = False,
    default_type: str = UNCATEGORIZED,
) -> Event:
    """Return the event of a document; an InputError names its place, `where`.

    cut: if this list is empty and digits of a time beyond microseconds were cut off, `where` is added to it.
    keep_fields: whether every field becomes an attribute. This includes the field of the time, fields called "type" or
        "time" (see `FIELD`), and fields that are null or an array with a null (see `NULL`).
    default_type: the type of a document without a category.

    >>> event_of_document({"event": {"category": ["process"]}, "process.args": ["a", "b"]}, "line 1").attributes
    {'event.category': 'process', 'process.args': 'a', 'process.args[1]': 'b'}
    """
    # A search hit. A document may have a field of its own with this name, whose value is then no object.
    if isinstance(document, Mapping) and isinstance(document.get("_source"), Mapping):
        document = document["_source"]
    if not isinstance(document, Mapping):
        raise InputError(f"{where}: an event is a JSON object, not {type(document).__name__}")
    attributes: dict[str, Value] = {}
    nulls: dict[str, None] | None = {} if keep_fields else None
    _collect(document, "", attributes, where, 0, nulls)
    attributes |= {name + NULL: True for name in nulls or () if name not in attributes}
    time = attributes.get(time_field)
    if not keep_fields:
        attributes.pop(time_field, None)
    # Few documents have such a field; the others are spared a pass over all names.
    elif not attributes.keys().isdisjoint(RESERVED):
        attributes = {OWN_FIELD.sub(rf"\1{FIELD}\2", name): value for name, value in attributes.items()}
    if time is not None:
        attributes[TIME] = _time(time, where, time_field, [] if cut is None else cut)
    category = attributes.get(category_field)
    return Event(category if isinstance(category, str) and category else default_type, attributes)


def document_of_event(event: Event) -> dict[str, Any]:
    """Return the document from which `event_of_document` makes this event: nested objects and arrays."""
    document: dict[str, Any] = {}
    time = event.attributes.get(TIME)
    if time is not None:
        document[TIMESTAMP] = timestamp_of(time)
    arrays: dict[str, list[Any]] = {}
    for name, value in event.attributes.items():
        own = field_name(name)
        base, bracket, _ = own.partition("[")
        if own.endswith(NULL):
            arrays.setdefault(own.removesuffix(NULL), [])
        elif name != TIME:
            plain = value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
            # The name of a field may end in brackets. It is an element of an array only if the first element is there.
            is_element = bracket and name.removesuffix(own.removeprefix(base)) in event.attributes
            arrays.setdefault(base if is_element else own, []).append(plain)
    if CATEGORY not in arrays and event.type not in (NO_CATEGORY, UNCATEGORIZED):
        arrays[CATEGORY] = [event.type]
    for name, values in sorted(arrays.items()):
        _set_nested(document, name, values if len(values) > 1 else next(iter(values), None))
    return document


def timestamp_of(time: Value) -> str:
    """Return a time as ISO 8601 text in UTC, as documents have it. A number is in seconds since 1970."""
    at = time if isinstance(time, datetime) else EPOCH + timedelta(seconds=float(time))
    return at.isoformat(timespec="milliseconds" if at.microsecond % 1000 == 0 else "auto").replace("+00:00", "Z")


def shown_fields(event: Event) -> Iterator[tuple[str, Value | None]]:
    """Yield the fields of an event to show to a user, with their values, None for a null.

    A field with the same value as the event's type or time, from which it was read, is not shown again.

    >>> list(shown_fields(Event("event", {"time[field]": "noon", "time": 3})))
    [('time', 'noon')]
    """
    time = event.attributes.get(TIME)
    own = event.attributes.get(attribute_of(TIME), time)
    for name, value in named_values(event):
        if name == TIME:
            is_shown = own == time and TIMESTAMP not in event.attributes
        else:
            is_shown = (name, value) not in ((attribute_of(TYPE), event.type), (attribute_of(TIME), time))
        if is_shown:
            yield field_name(name), value


def _set_nested(document: dict[str, Any], name: str, value: Any) -> None:
    """Put a value under a dotted name into nested objects; keep the dotted name if another value is in the way."""
    first, dot, rest = name.partition(".")
    if dot and rest and first and isinstance(document.setdefault(first, {}), dict):
        _set_nested(document[first], rest, value)
    else:
        document[name] = value


def _collect(
    fields: Mapping[str, Any],
    prefix: str,
    attributes: dict[str, Value],
    where: str,
    depth: int,
    nulls: dict[str, None] | None,
) -> None:
    """Add the fields of an object, and of the objects in it, to `attributes` under their dotted names.

    The names of fields that are null, or arrays with a null, are added to `nulls` unless it is None. The code compares
    exact types for speed: it runs once for each value.
    """
    for key, value in fields.items():
        name = prefix + key
        kind = type(value)
        if (kind is str or kind is bool or kind is float) and name not in attributes:
            attributes[name] = value
        elif kind is dict:
            if depth >= DEEPEST:
                raise InputError(f"{where}, field {name!r}: objects are nested more than {DEEPEST} deep")
            _collect(value, f"{name}.", attributes, where, depth + 1, nulls)
        elif kind is list:
            if nulls is not None and None in value:
                nulls[name] = None
            for inner in _flat(value, name, where):
                if type(inner) is dict:
                    _collect(inner, f"{name}.", attributes, where, depth + 1, nulls)
                else:
                    _add(attributes, name, inner)
        elif value is not None:
            _add(attributes, name, value)
        elif nulls is not None:
            nulls[name] = None


def _flat(values: list[Any], name: str, where: str, depth: int = 0) -> Iterator[Any]:
    """Yield the elements of an array, and of the arrays in it, without nulls."""
    if depth >= DEEPEST:
        raise InputError(f"{where}, field {name!r}: arrays are nested more than {DEEPEST} deep")
    for value in values:
        if isinstance(value, list):
            yield from _flat(value, name, where, depth + 1)
        elif value is not None:
            yield value


def _add(attributes: dict[str, Value], name: str, value: Any) -> None:
    """Add a value to a field: under the field's name, or as `name[n]` if the field already has n values."""
    # Elasticsearch's unsigned_long is beyond 64 bits; as a text it keeps all digits, as a float it would not.
    if type(value) is int and value not in INT64:
        value = str(value)
    at, n = name, 0
    while at in attributes:
        n += 1
        at = f"{name}[{n}]"
    attributes[at] = value


def _time(value: Value, where: str, field: str, cut: list[str]) -> datetime:
    try:
        if isinstance(value, str) and not value.strip().isdecimal():
            if len(value) > SHORT_TIME and (digits := FRACTION.search(value)) is not None:
                cut += [where] * (not cut and bool(digits[2].strip("0")))
                value = value[: digits.start(2)] + value[digits.end(2) :]
            return parse_time(value)
        if isinstance(value, str):
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return EPOCH + timedelta(microseconds=round(value * 1000))
    except (ValueError, OverflowError) as error:
        reason = str(error) if str(error).startswith("is ") else "is not a time"
        raise InputError(f"{where}, field {field!r}: {value!r} {reason}") from None
    raise InputError(f"{where}, field {field!r}: the value is not a time; write ISO 8601, or milliseconds since 1970")


def _documents(file: str) -> Iterator[tuple[Any, str]]:
    """Yield the documents of a file, each with its place."""
    with naming_file(file):
        yield from _documents_of(unpacked(open_source(file)))


def _documents_of(source: CsvSource) -> Iterator[tuple[Any, str]]:
    """Yield the documents of a source, each with its place; an array is read as a whole, JSON Lines line by line."""
    require_known_kind(source)
    name = source.name
    try:
        with source.open() as opened, io.TextIOWrapper(opened, encoding="utf-8-sig", newline="\n") as file:
            begun = False
            for number, line in enumerate(file, 1):
                if line.isspace():
                    continue
                # "{" alone on a line is a document that is written over several lines; JSON Lines has a whole one on
                # each.
                if not begun and (line.lstrip().startswith("[") or line.strip() == "{"):
                    array = enumerate(_array(line + file.read(), name))
                    yield from ((one, f"{name}, element {n}") for n, one in array)
                    return
                begun, where = True, f"{name}, line {number}"
                # The fast parser first; `parse_json` says what is wrong. An escape may be half of a surrogate pair,
                # which only the latter refuses.
                yield (_parsed(line) if "\\u" not in line else None) or parse_json(line, where), where
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: {what_else(error.object) or f'not text in UTF-8{SAVE_AS_UTF_8}'}") from None


def _array(text: str, name: str) -> Iterable[Any]:
    """Parse a text, and return the elements of its array, the hits of its search response, or its one document."""
    found = parse_json(text, name)
    hits = found.get("hits") if isinstance(found, dict) else None
    if isinstance(hits, dict) and isinstance(hits.get("hits"), list):
        return cast("list[Any]", hits["hits"])
    return found if isinstance(found, list) else [found]


def _parsed(line: str) -> Any:
    """Return the parsed value of a line; None if the line must be parsed again to report its error."""
    try:
        value, end = _SCAN(line, 0)
    except (ValueError, RecursionError, StopIteration):
        return None
    return value if line[end:].isspace() or end == len(line) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


_SCAN = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]
