"""Read process-mining logs: XES (IEEE 1849), and OCEL 2.0 as JSON, XML or SQLite.

An XES log groups events by case. A stream has no groups, so the cases are merged by time, and each event gets the
attributes of its case, such as "case:concept:name". Events with equal times keep the order of the file. In OCEL an
event belongs to several objects. It becomes one event with the ids of its objects. If the caller chooses a type of
objects, it becomes one event for each object of that type instead, and the object's id is the case.

XML is parsed by expat piece by piece. Document types are refused, so that there are no entities to expand. The depth
of nesting and the time are limited.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.parsers import expat

from cerify.semantics.arguments import check_time
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Stream
from cerify.semantics.json_events import parse_json
from cerify.semantics.object_rows import ObjectRows
from cerify.semantics.tables import CsvSource
from cerify.semantics.time_columns import FieldReading
from cerify.semantics.values import parse_time

CASE = "case:concept:name"
DEEPEST = 64  # levels of nested elements
BLOCK = 2**16
XES_KINDS = ("string", "date", "int", "float", "boolean", "id")
SQLITE = b"SQLite format 3\x00"


def read_xes(source: CsvSource, reading: FieldReading) -> Stream:
    """Return the events of an XES log as a stream. Raises InputError.

    An event's type is the field concept:name, and its time is time:timestamp, unless `reading` names other fields.
    """
    log = _XesLog(source.name)
    _parse_xml(source, log.start, log.end, lambda text: None)
    if not log.events:
        raise InputError(f"{source.name}: the file has no events; an XES log has <event> elements in <trace> elements")
    type_ = "concept:name" if reading.type_column == TYPE else reading.type_column
    time = "time:timestamp" if reading.time_column is None else reading.time_column
    return _stream(source, reading, log.events, log.unread, type_, time)


def read_ocel(source: CsvSource, reading: FieldReading) -> Stream:
    """Read an OCEL 2.0 log in JSON, XML or SQLite, and return its events as a stream. Raises InputError."""
    with source.open() as file:
        start = file.read(64)
    if start.startswith(SQLITE):
        log = _ocel_of_sqlite(source)
    elif start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        xml = _OcelXml(source.name)
        _parse_xml(source, xml.start, xml.end, xml.text)
        log = xml.log
    else:
        log = _ocel_of_json(source)
    if not log.events:
        raise InputError(f"{source.name}: the file has no events; an OCEL 2.0 log has a list of events")
    time = TIME if reading.time_column is None else reading.time_column
    events = list(log.rows(source.name, reading.object_type))
    return _stream(source, reading, events, log.unread, reading.type_column, time)


def _stream(
    source: CsvSource,
    reading: FieldReading,
    events: list[dict[str, Any]],
    unread: Mapping[str, str],
    type_: str,
    time: str,
) -> Stream:
    """Return the events as a stream, sorted by time. An event without a time follows the event before it in its case.

    unread: for each field with a malformed value, the reason. Raises InputError if the field of the type or of the time
    is among them.
    """
    for name in (type_, time):
        if name in unread:
            raise InputError(unread[name])
    keys: list[tuple[datetime | None, int]] = []
    last: datetime | None = None
    for n, event in enumerate(events):
        found = event.get(time)
        if n and event.get(CASE) != events[n - 1].get(CASE):
            last = None
        last = found if isinstance(found, datetime) else last
        keys.append((last, n))
    order = sorted(range(len(events)), key=lambda n: (keys[n][0] is not None, keys[n][0] or datetime.min, n))
    # logs declare the types of values, so a string stays a text even if it looks like a time
    texts = frozenset(name for event in events for name in event)
    placed = FieldReading(type_, time, reading.default_type, reading.times, texts, reading.types)
    rows = ObjectRows(placed, source.name, lambda row: f"event {order[row]}")
    for n in order:
        check_time()
        rows.add(events[n])
    rows.unread.update(unread)
    return Stream.of_checked(rows.events(), rows.unread)


# --- XML --------------------------------------------------------------------------------------------------------------


def _parse_xml(source: CsvSource, start: Any, end: Any, text: Any) -> None:
    """Parse an XML file; call `start` and `end` for each element, and `text` for each text. Raises InputError."""
    parser = expat.ParserCreate()
    depth = 0

    def started(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InputError(
                f"{source.name}, line {parser.CurrentLineNumber}: elements are nested more than {DEEPEST} deep"
            )
        start(name.rpartition(":")[2] if ":" in name else name, attributes, parser.CurrentLineNumber)

    def ended(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name.rpartition(":")[2] if ":" in name else name)

    def refused(*_: Any) -> None:
        raise InputError(
            f"{source.name}: the file has a document type, which is not supported: remove the <!DOCTYPE> declaration"
        )

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = started, ended, text
    parser.StartDoctypeDeclHandler = refused
    parser.buffer_text = True
    try:
        with source.open() as file:
            while block := file.read(BLOCK):
                check_time()
                parser.Parse(block)
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InputError(f"{source.name}, line {error.lineno}: not XML: {expat.ErrorString(error.code)}") from None


class _XesLog:
    """Collects the events of a log of XES while expat parses it."""

    def __init__(self, name: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.unread: dict[str, str] = {}
        self._name = name
        self._case: dict[str, Any] = {}
        self._event: dict[str, Any] | None = None
        self._in_trace = self._in_global = False
        self._inside = 0  # the number of open attributes; attributes can be nested
        self._first = 0  # the index of the first event of the trace

    def start(self, tag: str, attributes: Mapping[str, str], line: int) -> None:
        if tag == "global":
            self._in_global = True
        elif self._in_global:
            return
        elif tag == "trace":
            self._in_trace, self._case, self._first = True, {}, len(self.events)
        elif tag == "event":
            self._event = {}
        elif tag in (*XES_KINDS, "list", "container"):
            self._inside += 1
            holder = self._event if self._event is not None else self._case if self._in_trace else None
            if self._inside == 1 and holder is not None and tag in XES_KINDS:
                name, text = attributes.get("key", ""), attributes.get("value", "")
                where = f"{self._name}, line {line}, {name!r}"
                as_read = name if holder is self._event else f"case:{name}"
                holder[name] = _xes_value(tag, text, where, as_read, self.unread)

    def end(self, tag: str) -> None:
        if tag == "global":
            self._in_global = False
        elif self._in_global:
            return
        elif tag == "event" and self._event is not None:
            self.events.append(self._event)
            self._event = None
        elif tag == "trace":
            case = {f"case:{name}": value for name, value in self._case.items()}
            for n in range(self._first, len(self.events)):
                self.events[n] = {**self.events[n], **case}
            self._in_trace = False
        elif tag in (*XES_KINDS, "list", "container"):
            self._inside -= 1


def _xes_value(kind: str, text: str, where: str, name: str, unread: dict[str, str]) -> Any:
    """Return the value of a field. If the text is malformed, return the text, and add the field to `unread`."""
    try:
        match kind:
            case "date":
                return parse_time(text, keep_nanoseconds=True)
            case "int":
                return int(text)
            case "float":
                return float(text)
            case "boolean":
                return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
    except (ValueError, KeyError) as error:
        reason = str(error) if kind == "date" else f"is not a valid {kind}"
        unread.setdefault(name, f"{where}: {text[:60]!r} {reason}")
    return text


# --- OCEL -------------------------------------------------------------------------------------------------------------


FIRST_OCEL = "this is an OCEL 1.0 log: convert it to OCEL 2.0, for example with pm4py.write_ocel2, or to CSV"


@dataclass
class _OcelLog:
    """Events, each with the ids of its objects, and the type of each object."""

    events: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def rows(self, name: str, object_type: str | None) -> Iterator[dict[str, Any]]:
        """Yield each event as a row, with the ids of its objects in a column for each type of objects.

        With an object type, yield instead one row for each object of this type, with the object's id as the case.
        """
        if object_type is not None and object_type not in self.types.values():
            there = ", ".join(sorted(set(self.types.values()))) or "none"
            raise InputError(f"{name}: no objects of the type {object_type!r}; the types of objects are {there}")
        for event, ids in self.events:
            by_type: dict[str, list[str]] = {}
            for one in dict.fromkeys(ids):
                by_type.setdefault(self.types.get(one, ""), []).append(one)
            if object_type is not None:
                for one in by_type.get(object_type, ()):
                    yield event | {CASE: one}
                continue
            found = {type_: some[0] if len(some) == 1 else some for type_, some in by_type.items() if type_}
            yield {**found, **event}


def _ocel_time(text: Any, where: str) -> datetime:
    try:
        return parse_time(str(text), keep_nanoseconds=True)
    except ValueError as error:
        raise InputError(f"{where}, field 'time': {str(text)[:60]!r} {error}") from None


def _ocel_of_json(source: CsvSource) -> _OcelLog:
    with source.open() as file:
        whole = parse_json(file.read(), source.name)
    log = _OcelLog()
    if not isinstance(whole, dict) or not all(isinstance(whole.get(name), list) for name in ("events", "objects")):
        if isinstance(whole, dict) and "ocel:events" in whole:
            raise InputError(f"{source.name}: {FIRST_OCEL}")
        raise InputError(f"{source.name}: not an OCEL 2.0 log: expected an object with the lists events and objects")
    for n, one in enumerate(whole["objects"]):
        if not isinstance(one, dict) or not all(isinstance(one.get(name), str) for name in ("id", "type")):
            raise InputError(f"{source.name}, object {n}: an object needs an id and a type")
        log.types[one["id"]] = one["type"]
    kinds = _declared(whole.get("eventTypes"))
    for n, one in enumerate(whole["events"]):
        where = f"{source.name}, event {n}"
        if not isinstance(one, dict) or not all(isinstance(one.get(name), str) for name in ("id", "type", "time")):
            raise InputError(f"{where}: an event needs an id, a type and a time")
        event = {TYPE: one["type"], TIME: _ocel_time(one["time"], where), "ocel:id": one["id"]}
        for attribute in one.get("attributes") or ():
            name = str(attribute.get("name"))
            kind = kinds.get((one["type"], name), "")
            event[name] = _ocel_value(kind, attribute.get("value"), f"{where}, {name!r}", name, log.unread)
        ids = [str(related.get("objectId")) for related in one.get("relationships") or ()]
        log.events.append((event, ids))
    return log


def _declared(types: Any) -> dict[tuple[str, str], str]:
    """Return the declared value types by event type and attribute name."""
    found = {}
    for type_ in types if isinstance(types, list) else ():
        for attribute in type_.get("attributes") or ():
            found[str(type_.get("name")), str(attribute.get("name"))] = str(attribute.get("type"))
    return found


def _ocel_value(kind: str, value: Any, where: str, name: str, unread: dict[str, str]) -> Any:
    if not isinstance(value, str):
        return value
    kinds = {"time": "date", "timestamp": "date", "date": "date", "integer": "int", "int": "int", "float": "float"}
    return _xes_value(kinds.get(kind, "boolean" if kind == "boolean" else "string"), value, where, name, unread)


class _OcelXml:
    """Collects the events and objects of an OCEL 2.0 log in XML while expat parses it."""

    def __init__(self, name: str) -> None:
        self.log = _OcelLog()
        self._name = name
        self._part = ""  # objects, events or event-types
        self._type = ""
        self._kinds: dict[tuple[str, str], str] = {}
        self._event: dict[str, Any] | None = None
        self._ids: list[str] = []
        self._attribute: str | None = None
        self._text = ""
        self._where = name

    def start(self, tag: str, attributes: Mapping[str, str], line: int) -> None:
        self._where = f"{self._name}, line {line}"
        if tag in ("event-types", "object-types") or (tag in ("events", "objects") and self._event is None):
            self._part = tag
        elif tag == "event-type":
            self._type = attributes.get("name", "")
        elif tag == "attribute" and self._part == "event-types":
            self._kinds[self._type, attributes.get("name", "")] = attributes.get("type", "")
        elif tag == "object" and self._part == "objects":
            self.log.types[attributes.get("id", "")] = attributes.get("type", "")
        elif tag == "event" and self._part == "events":
            if not attributes:  # OCEL 1.0 has the id in an element
                raise InputError(f"{self._name}: {FIRST_OCEL}")
            time = _ocel_time(attributes.get("time", ""), self._where)
            self._event = {TYPE: attributes.get("type", ""), TIME: time, "ocel:id": attributes.get("id", "")}
            self._ids = []
        elif self._event is not None and tag == "attribute":
            self._attribute, self._text = attributes.get("name", ""), ""
        elif self._event is not None and tag in ("relationship", "object"):
            self._ids.append(attributes.get("object-id", ""))

    def text(self, text: str) -> None:
        if self._attribute is not None:
            self._text += text

    def end(self, tag: str) -> None:
        if tag == "attribute" and self._event is not None and self._attribute is not None:
            kind = self._kinds.get((self._event[TYPE], self._attribute), "")
            name, where = self._attribute, f"{self._where}, {self._attribute!r}"
            self._event[name] = _ocel_value(kind, self._text.strip(), where, name, self.log.unread)
            self._attribute = None
        elif tag == "event" and self._event is not None:
            self.log.events.append((self._event, self._ids))
            self._event = None


def _ocel_of_sqlite(source: CsvSource) -> _OcelLog:
    """Return the log in an OCEL 2.0 SQLite file. A copy is read, so that the file is neither changed nor locked."""
    with tempfile.TemporaryDirectory() as folder, source.open() as file:
        path = Path(folder) / "log.sqlite"
        path.write_bytes(file.read())
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            database.set_progress_handler(_still_time, 100_000)
            try:
                return _of_tables(database, source.name)
            except (sqlite3.Error, UnicodeDecodeError) as error:  # UnicodeDecodeError: a column name is not UTF-8
                check_time()
                raise InputError(f"{source.name}: not an OCEL 2.0 log in SQLite: {error}") from None


def _still_time() -> int:
    try:
        check_time()
    except Exception:
        return 1
    return 0


def _of_tables(database: sqlite3.Connection, name: str) -> _OcelLog:
    database.execute("PRAGMA trusted_schema = OFF")
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'EVENTS' AND type = 'table'").fetchone():
        raise InputError(f"{name}: {FIRST_OCEL}")
    log = _OcelLog(types=dict(database.execute("SELECT ocel_id, ocel_type FROM object")))
    ids: dict[str, list[str]] = {}
    for event_id, object_id in database.execute("SELECT ocel_event_id, ocel_object_id FROM event_object"):
        ids.setdefault(event_id, []).append(object_id)
    tables = dict(database.execute("SELECT ocel_type, ocel_type_map FROM event_map_type"))
    rows: dict[str, dict[str, Any]] = {}
    for type_, table in tables.items():
        quoted = '"' + f"event_{table}".replace('"', '""') + '"'
        found = database.execute(f"SELECT * FROM {quoted}")
        columns = [column[0] for column in found.description]
        for row in found:
            cells = dict(zip(columns, row, strict=True))
            event_id, time = str(cells.pop("ocel_id")), cells.pop("ocel_time", None)
            where = f"{name}, event {event_id!r}"
            rows[event_id] = {TYPE: type_, TIME: _ocel_time(time, where), "ocel:id": event_id} | {
                column: value for column, value in cells.items() if value is not None
            }
    for (event_id,) in database.execute("SELECT ocel_id FROM event"):
        if (event := rows.get(str(event_id))) is not None:
            log.events.append((event, ids.get(event_id, [])))
    return log
