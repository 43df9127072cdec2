"""Streams of events from files: CSV, JSON Lines, Parquet and Arrow IPC, by path or from standard input.

A null, and in CSV an empty cell, is an absent attribute. Rows keep their order: a row's place is its position, whatever
its time is. Messages about rows of CSV and JSON Lines name the line, from 1; messages about rows of Parquet and Arrow
IPC name the position, from 0.
"""

from __future__ import annotations

import dataclasses
import glob
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, TypeGuard, cast, get_args

from cerify.semantics.arguments import timed_items
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import (
    TIME,
    TYPE,
    Events,
    Schema,
    Stream,
    is_table,
    items_of,
    observed,
    require_schema,
    warn_of_units,
)
from cerify.semantics.file_shapes import (
    PACKED,
    joined_streams,
    require_known_kind,
    sorted_by_time,
    text_in_some,
    unpacked,
    what_line_log,
    with_commas,
    with_header,
)
from cerify.semantics.json_events import parse_json, schema_of_json
from cerify.semantics.object_rows import ObjectRows, fitted_objects, flattened
from cerify.semantics.packages import installed, naming_extras, pa, pc
from cerify.semantics.tables import CsvSource, line_of, native_buffer, native_file, require_text, stream_of_csv
from cerify.semantics.time_columns import FieldReading, TimeReading, typed
from cerify.semantics.values import KIND_OF, TimeUnit, ValueKind, ValueType, kind

if TYPE_CHECKING:
    from cerify.semantics.arrow_rows import ReadTable
import re

from cerify.semantics.arrow_columns import may_be_rounded
from cerify.semantics.arrow_rows import ReadTable, rows_of_table
from cerify.semantics.events import Event
from cerify.semantics.file_shapes import documents
from cerify.semantics.json_events import event_of_json, kind_in_json
from cerify.semantics.packages import arrow_json
from cerify.semantics.time_columns import FORMS, how_to_type
from cerify.semantics.values import (
    is_exact_float,
    joined,
    value_type_of,
)

Format = Literal["csv", "jsonl", "parquet", "arrow", "xes", "ocel"]

STDIN = "-"
SUFFIXES: Mapping[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xes": "xes",
    ".xmlocel": "ocel",
    ".jsonocel": "ocel",
    ".sqlite": "ocel",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
PARQUET = b"PAR1"  # how a file begins and ends
IPC_FILE, IPC_STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # how the two forms of Arrow IPC begin; the first ends so too
VALUE_BYTES = 8  # the memory that a value takes, roughly
PART_ROWS = 2**20
"""The number of events in each part when a large file is read in parts."""
DELTAS = {"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}
"""Encodings of texts in Parquet that Arrow does not read as a dictionary."""
LARGEST_CLAIM, MOST_COMPRESSED = 2**30, 1000  # a file may unpack to a gigabyte, or to a thousand times its size


def read_stream(
    source: str | Path | Sequence[str | Path],
    *,
    format: Format | None = None,
    schema: Schema | None = None,
    type_column: str = TYPE,
    time_column: str | None = None,
    default_type: str | None = None,
    attributes: Set[str] | None = None,
    time_unit: TimeUnit | None = None,
    time_format: str | None = None,
    round_times: bool = False,
    texts: Set[str] = frozenset(),
    rename_types: Mapping[str, str] = MappingProxyType({}),
    records: str | None = None,
    object_type: str | None = None,
    header: Sequence[str] | None = None,
    sort: bool = False,
    keep_fields: bool = False,
) -> Stream:
    r"""Read the events of a file, or of standard input if the source is "-". Raises InputError.

      >>> import cerify, pathlib, tempfile
      >>> file = pathlib.Path(tempfile.mkdtemp(), "events.csv")
      >>> _ = file.write_text("type,x\nA,1\nB,2\n")
      >>> cerify.read_stream(file)[1]
      Event(type='B', attributes={'x': 2})

    Without `format`, the file's suffix tells the format, or else its first bytes do. With a schema every value
    has to fit it. Without one, fields that cannot be attributes are left out, and `Stream.require_read` raises the
    reason. type_column and time_column are the fields that hold an event's type and its time, which become "type" and
    "time"; both may be paths into objects. default_type is the type of events without a type; with None such an event
    is an error. attributes are the attributes that you need, None for all: other columns of a Parquet file are not
    read.

    A time is ISO 8601, a timestamp, or a number since 1970. time_unit is the unit of such numbers ("s", "ms", "us",
    "ns"); None infers it, with an InputWarning unless it is seconds. time_format is the format of times in texts, as
    strptime takes it. round_times cuts digits beyond microseconds off; without it nanoseconds are kept. texts:
    attributes whose values stay strings even if all of them look like times. rename_types gives event types other
    names: {"start": "begin"} reads the type start as begin. records is the path to the list of events in a file that is
    one JSON object, such as "Records". object_type is for OCEL logs: an event is read once for each of its objects of
    this type; None reads each event once. header has the column names of a CSV file without a header. With sort, events
    are sorted by time, and positions count in that order. With keep_fields, the fields from which type and time are
    read also become attributes: fields called type and time as type[field] and time[field], others under their names.
    A field x that is null in JSON then gives the attribute x[null] with the value true. In CSV and Parquet, null is an
    absent field.

    Files are unpacked (gzip, Zstandard), and their fields may be separated by semicolons, tabs or bars. Several files
    are read as one stream, in the given order; the files of a pattern such as "logs/*.jsonl", in the order of their
    names.
    """
    times = TimeReading(time_unit, time_format, round_times)
    reading = FieldReading(
        type_column, time_column, default_type, times, texts, rename_types, records, object_type, header, keep_fields
    )
    S = _read_all(source, reading, format, schema, attributes)
    return _finish(S, source, reading, sort)


def as_stream(
    source: Events | str | Path | Sequence[str | Path],
    *,
    schema: Schema | None = None,
    format: Format | None = None,
    type_column: str = TYPE,
    time_column: str | None = None,
    default_type: str | None = None,
    attributes: Set[str] | None = None,
    time_unit: TimeUnit | None = None,
    time_format: str | None = None,
    round_times: bool = False,
    texts: Set[str] = frozenset(),
    rename_types: Mapping[str, str] = MappingProxyType({}),
    records: str | None = None,
    object_type: str | None = None,
    header: Sequence[str] | None = None,
    sort: bool = False,
    keep_fields: bool = False,
) -> Stream:
    """Return the stream of any source: a Stream, events, dicts, a table or frame, or the path of a file.

      >>> import cerify
      >>> len(cerify.as_stream([{"type": "A", "x": 1}, {"type": "B"}]))
      2

    The options are those of `read_stream`. With a schema every value has to fit it. type_column and time_column name
    the columns, or keys, of an event's type and time. default_type is the type of events without a type. format is for
    files alone. texts: attributes whose values stay strings even if all of them look like times. Raises InputError.
    """
    times = TimeReading(time_unit, time_format, round_times)
    reading = FieldReading(
        type_column, time_column, default_type, times, texts, rename_types, records, object_type, header, keep_fields
    )
    if is_path(source):
        S = _read_all(source, reading, format, schema, attributes)
    else:
        S = _convert_events(cast("Events", source), reading, schema)
    return _finish(S, source, reading, sort)


def _finish(S: Stream, source: object, reading: FieldReading, sort: bool) -> Stream:
    """Return the stream, sorted by time if `sort` is true; set `renamed` for the field from which the time was read."""
    # In EQL @timestamp is the time, whatever field it is read from.
    is_renamed = reading.time_column not in (None, TIME, "@timestamp") and not reading.keep_fields
    # A stream that the caller gave is returned as it is, so its own field must not be changed.
    if is_renamed and S is not source:
        S.renamed = {cast("str", reading.time_column): TIME}
    return sorted_by_time(S) if sort else S


def is_path(source: object) -> TypeGuard[str | Path | Sequence[str | Path]]:
    """Return whether a source of events is the path of a file, or a list of paths."""
    return isinstance(source, str | Path) or (
        isinstance(source, list | tuple) and bool(source) and all(isinstance(one, str | Path) for one in source)
    )


def _read_all(
    source: Any, reading: FieldReading, format: Format | None, schema: Schema | None, attributes: Set[str] | None
) -> Stream:
    """Return the stream that `read_stream` reads, from one file or several."""
    require_schema(schema)
    if format is not None and format not in get_args(Format):
        raise InputError(f"there is no format {format!r}; use one of {', '.join(get_args(Format))}")
    given = [source] if isinstance(source, str | Path) else list(source)
    paths = [path for one in given for path in expand_pattern(str(one))]
    if len(paths) == 1:
        return _read_file(paths[0], reading, format, schema, attributes)
    parts = [(path, _read_file(path, reading, format, schema, attributes)) for path in paths]
    # A column that one file has as times and another as texts is read again as texts in all; the first reading cannot
    # know.
    if schema is None and (mixed := text_in_some(parts)):
        reading = dataclasses.replace(reading, texts=reading.texts | mixed)
        parts = [(path, _read_file(path, reading, format, schema, attributes)) for path in paths]
    return joined_streams(parts, schema)


def expand_pattern(path: str) -> list[str]:
    """Return the files that a path or pattern names, in order. Raises InputError."""
    # An existing file wins over the pattern: names such as log[1].csv are common.
    if path == STDIN or not glob.has_magic(path) or os.path.lexists(path):
        return [path]
    found = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
    if not found:
        raise InputError(f"no file {path}, and no file matches it as a pattern")
    return found


def _read_file(
    source: str, reading: FieldReading, format: Format | None, schema: Schema | None, attributes: Set[str] | None
) -> Stream:
    """Return the stream that `read_stream` reads, from one file."""
    with naming_file(source):
        opened = unpacked(open_source(source))
        found = format or _format_of(Path(source)) or _sniffed(opened)
        if found == "jsonl" and format is None and _is_ocel(opened):
            found = "ocel"
        require_known_kind(opened)
        if found in ("csv", "jsonl") and (what := what_line_log(opened)):
            raise InputError(f"{opened.name}: {what}")
        match found:
            case "csv":
                return _csv(opened, schema, reading)
            case "jsonl":
                return read_json_lines(opened, schema, reading)
            case "parquet":
                return _positioned(_read_parquet(opened, reading.reserved, attributes), schema, reading, opened.name)
            case "arrow":
                return _positioned(_read_ipc(opened), schema, reading, opened.name)
            case "xes" | "ocel":
                from cerify.semantics.process_logs import read_ocel, read_xes

                S = read_xes(opened, reading) if found == "xes" else read_ocel(opened, reading)
                return S if schema is None else _convert_events(S, FieldReading(), schema)


def _format_of(path: Path) -> Format | None:
    """Return the format for the suffix of a file, ignoring the suffix of a compression; None for an unknown suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def _convert_events(source: Events, reading: FieldReading, schema: Schema | None) -> Stream:
    """Return the stream that `as_stream` makes of a source that is not a file."""
    require_schema(schema)
    if isinstance(source, Stream) and schema in (None, source.schema):
        return source
    given = source.table if isinstance(source, Stream) else source
    if not is_table(given):
        items = list(items_of(source))
        if schema is None and items and all(isinstance(item, Mapping) for item in items):
            return _stream_of_objects(items, reading)
        if schema is not None:
            known = schema.attributes
            items = [flattened(x, f"event {n}", known) if isinstance(x, Mapping) else x for n, x in enumerate(items)]
        typed_items = [
            _renamed(
                reserving(typed(item, reading.type_column, reading.default_type), reading.reserved, f"event {n}"),
                reading,
            )
            if isinstance(item, Mapping)
            else item
            for n, item in enumerate(items)
        ]
        if schema is not None and all(isinstance(item, Mapping) for item in items):
            fitted, notes = fitted_objects(typed_items, schema, reading, "event {}".format, "attribute")
            typed_items = list(fitted)
            warn_of_units("the events", notes)
        S = Stream(typed_items, schema)
        if schema is None:
            return S
        given, reading = S.table, FieldReading(times=reading.times)
    from cerify.semantics.arrow_columns import arrow_table

    unread: dict[str, str] = {}
    table = arrow_table(given, unread if schema is None else None)
    S = _stream_of_table(table, schema, reading, "the events", "event {}".format)
    S.unread = {**unread, **S.unread}
    return S


def _renamed(obj: Mapping[str, Any], reading: FieldReading) -> Mapping[str, Any]:
    """Return the object with its event type renamed, if the reading renames this type."""
    type_ = obj.get(TYPE)
    return {**obj, TYPE: reading.types[type_]} if isinstance(type_, str) and type_ in reading.types else obj


def _stream_of_objects(items: list[Any], reading: FieldReading) -> Stream:
    rows = ObjectRows(reading, "", "event {}".format)
    for item in items:
        rows.add(item)
    events = rows.events()
    if reading.time_column is not None and not rows.has(TIME):
        raise InputError(f"no event has the field {reading.time_column!r} for the time")
    warn_of_units("the events", rows.notes)
    return Stream.of_checked(events, rows.unread, rows.lists())


def kinds_of_times(S: Stream, names: Set[str] | None = None) -> Iterator[tuple[str, ValueKind]]:
    """Yield each attribute whose values may be times, with the kind of its first value.

    These are the attributes with texts or times; the attribute `time` may have numbers too. names: the attributes to
    look at, all by default.
    """
    if S.is_columnar:
        from cerify.semantics.arrow_columns import VALUE_TYPES

        for name, column in zip(S.table.column_names, S.table.columns, strict=True):
            value_type = VALUE_TYPES.get(column.type, "string")  # of a dictionary of texts
            looked_at = name != TYPE and (names is None or name in names) and column.null_count < len(column)
            if looked_at and (name == TIME or value_type in ("string", "timestamp")):
                yield name, KIND_OF[value_type]
        return
    pending = None if names is None else set(names)
    seen = set[str]()
    for event in S.events:
        for name, value in event.attributes.items():
            if name not in seen and (pending is None or name in pending):
                seen.add(name)
                if isinstance(value, str | datetime) or name == TIME:
                    yield name, kind(value)
        if pending is not None and len(seen) == len(pending):
            return


def read_schema(
    text: str,
    *,
    type_column: str = TYPE,
    time_column: str | None = None,
    default_type: str | None = None,
    times: TimeReading = TimeReading(),
) -> Schema:
    """Return the schema in a JSON file, or in the text itself if it starts with "{". Raises InputError, IllFormed.

    If the file's suffix is that of a file of events, return the schema that the events show. The columns and the
    default type are those of `read_stream`; times says how to read the time.
    """
    if text.lstrip().startswith("{"):
        return schema_of_json(parse_json(text, "schema"))
    if _format_of(Path(text)) is not None and Path(text).suffix.lower() != ".json":  # a JSON file may hold a schema
        S = read_stream(
            text,
            type_column=type_column,
            time_column=time_column,
            default_type=default_type,
            time_unit=times.unit,
            time_format=times.format,
            round_times=times.round_times,
        )
        return observed(S)
    with naming_file(text):
        source = open_source(text)
        require_text(source)
        with source.open() as file:
            obj = parse_json(file.read(), source.name)
    try:
        return schema_of_json(obj)
    except CerifyError as error:
        raise type(error)(f"{source.name}: {error.message}") from None


def open_source(path: str) -> CsvSource:
    """Return the source of a file, or the content of standard input. Raises InputError, OSError."""
    if path == STDIN:
        data = sys.stdin.buffer.read()
        return CsvSource("standard input", lambda: io.BytesIO(data))
    if not path or "\0" in path:
        raise InputError(f"{path!r} is not a file name")
    if os.path.isfile(path):  # False for a name that is too long; reading it, below, raises the error
        # Opened once here, so that the error about a file that cannot be opened comes from this call.
        Path(path).open("rb").close()
        return CsvSource(path, lambda: Path(path).open("rb"))
    data = Path(path).read_bytes()  # a pipe, which can be read only once
    return CsvSource(path, lambda: io.BytesIO(data))


@contextmanager
def naming_file(path: str) -> Iterator[None]:
    """Return a context that turns errors of the operating system into InputErrors, which name the file."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except OSError as error:
        name = "standard input" if path == STDIN else path
        raise InputError(f"cannot read {name}: {error.strerror or error}") from None


def _sniffed(source: CsvSource) -> Format:
    with source.open() as file:
        start = file.read(4096)
    if start.startswith(PARQUET):
        return "parquet"
    if start.startswith((IPC_FILE, IPC_STREAM)):
        return "arrow"
    text = start.removeprefix(BYTE_ORDER_MARK).lstrip()
    if start.startswith(b"SQLite format 3"):
        return "ocel"
    if text.startswith(b"<") and b"<log" in text:
        return "ocel" if b"<object-types" in text or b"<event-types" in text else "xes"
    return "jsonl" if text.startswith((b"{", b"[")) else "csv"


def _is_ocel(source: CsvSource) -> bool:
    """Return whether a file of JSON begins as an OCEL 2.0 log does."""
    with source.open() as file:
        start = file.read(4096).removeprefix(BYTE_ORDER_MARK).lstrip()
    return start.startswith(b"{") and (b'"objectTypes"' in start or b'"eventTypes"' in start)


def _csv(source: CsvSource, schema: Schema | None, reading: FieldReading) -> Stream:
    """Return the stream of a CSV file. Plain Python reads a small file with clear columns, Arrow reads any other.

    If Arrow is installed, it also reads files with a default type, because it keeps the order of the columns.
    """
    require_text(source)
    if reading.header is not None:
        source = with_header(source, reading.header)
    shape = with_commas(source)
    source = shape.source
    reading = dataclasses.replace(reading, default_type=reading.default_type or shape.default_type)
    # Importing Arrow takes longer than reading a small file.
    if (not source.is_large and reading.default_type is None) or not installed("pyarrow"):
        try:
            return stream_of_csv(source, schema, reading, lenient=not installed("pyarrow"))
        except InputError:
            if not installed("pyarrow"):
                raise
    from cerify.semantics.tables import read_csv

    known: dict[str, ValueType] = {reading.type_column: "string"}
    for name in reading.texts:
        known[name] = "string"
    if reading.times.format is not None:
        known[reading.time_column or TIME] = "string"
    timed = {} if schema is None else reading.timed_fields(schema)
    for name, value_type in schema.attributes.items() if schema is not None else ():
        known[reading.field(name)] = "string" if name in timed else value_type
    unread: dict[str, str] = {}
    table = read_csv(source, known, unread if schema is None else None, reading.time_column)
    S = _stream_of_table(table, schema, reading, source.name, lambda row: line_of(source, row))
    left_out = {
        TIME if name == reading.time_column else name: reason
        for name, reason in unread.items()
        if name != TIME or reading.time_column in (None, TIME)
    }
    S.unread = {**left_out, **S.unread}
    S.columns = [*(S.columns or ()), *(name for name in left_out if name not in (S.columns or ()))]
    return S


def _stream_of_table(
    table: pa.Table,
    schema: Schema | None,
    reading: FieldReading,
    name: str,
    place: Callable[[int], str],
) -> Stream:
    """Return the stream of a table's rows. With a schema each value must fit it; without one, reading is lenient."""
    if schema is None:
        from cerify.semantics.arrow_rows import rows_of_table

        found = rows_of_table(table, reading, name, place)
        warn_of_units(name, found.notes)
        return _stream_of_read(found)
    from cerify.semantics.arrow_rows import timed_table
    from cerify.semantics.tables import fitted_table

    table, notes = timed_table(table, schema, reading, name, place)
    warn_of_units(name, notes)
    S = Stream.from_table(fitted_table(table, schema, reading.reserved, name, place), schema)
    S.fits = True
    return S


def _stream_of_read(found: ReadTable) -> Stream:
    """Return the stream of a table that a reader has validated."""
    S = Stream.from_table(found.table, valid=True)
    S.unread, S.lists, S.fits = found.unread, found.lists, True
    S.columns = [*found.table.column_names, *found.unread]
    return S


def _positioned(table: pa.Table, schema: Schema | None, reading: FieldReading, name: str) -> Stream:
    return _stream_of_table(table, schema, reading, name, partial(_position, name, 0))


def _position(name: str, first: int, row: int) -> str:
    return f"{name}, position {first + row}"


class NotInParts(Exception):
    """Raised for files that cannot be read part by part, because a column must be read as a whole."""


def read_in_parts(
    source: str | Path | Sequence[str | Path], attributes: Set[str] | None
) -> tuple[int, Iterator[Stream]]:
    """Read Parquet files part by part: return the number of events, and an iterator of consecutive streams.

    attributes: the names to read; None for all. Raises InputError. Raises NotInParts, also from the iterator, if a
    column must be read as a whole: nested values, texts that may all be times, or numeric times whose unit differs
    between parts.
    """
    given = [source] if isinstance(source, str | Path) else source
    files = [_openable_in_parts(path, attributes) for one in given for path in expand_pattern(str(one))]
    number = sum(parquet.metadata.num_rows for _, parquet, _ in files)
    # The first part decides which columns are texts, so there must be one.
    if not number:
        raise NotInParts
    return number, _read_parts(files)


def _openable_in_parts(path: str, attributes: Set[str] | None) -> tuple[CsvSource, Any, list[str]]:
    """Return a Parquet file, opened, and the names of its columns to read. Raises InputError, NotInParts."""
    if Path(path).suffix not in (".parquet", ".pq") or not os.path.isfile(path):
        raise NotInParts
    with naming_file(path):
        opened = unpacked(open_source(path))
        with _errors_of_arrow(opened, "a Parquet file"):
            parquet, kept = _open_parquet(opened, {}, attributes)
        schema = parquet.schema_arrow
    names = schema.names if kept is None else kept
    if len({*names}) < len(names) or {TYPE, *(attributes or ())} - {*names}:
        raise NotInParts
    if any(not _reads_alone(schema.field(name)) for name in names):
        raise NotInParts
    return opened, parquet, names


def _read_parts(files: Sequence[tuple[CsvSource, Any, list[str]]]) -> Iterator[Stream]:
    """Yield the parts of Parquet files. The first part decides which columns are texts. Raises NotInParts."""
    from cerify.semantics.arrow_rows import rows_of_table

    reading, kinds = FieldReading(), None
    for opened, parquet, names in files:
        first, notes = 0, None
        batches = parquet.iter_batches(_batch_rows(parquet), columns=names, use_threads=pa.cpu_count() > 1)
        while True:
            with naming_file(opened.name), _errors_of_arrow(opened, "a Parquet file"):
                if (batch := next(batches, None)) is None:
                    break
                table = _validated(pa.Table.from_batches([batch]))
            found = rows_of_table(table, reading, opened.name, partial(_position, opened.name, first))
            seen = {field.name: field.type for field in found.table.schema if field.name != TYPE}
            if kinds is None:
                kinds = seen
                written = {field.name for field in table.schema if _has_texts(field.type)} - {TYPE}
                if any(seen.get(name) != pa.string() or table[name].null_count == len(table) for name in written):
                    raise NotInParts  # a later part decides
                reading = FieldReading(texts=written)
            if notes is None:
                warn_of_units(opened.name, notes := found.notes)
            if seen != kinds or found.notes != notes or found.unread:
                raise NotInParts
            yield _stream_of_read(found)
            first += len(table)


def bounds_in_parquet(source: str | Path, name: str) -> tuple[int, int] | None:
    """Return the least and the largest whole number of a column from the statistics of a Parquet file.

    Return None if the file has no such statistics. The statistics of a file that was written by hand may be wrong.
    """
    with naming_file(str(source)):
        opened = unpacked(open_source(str(source)))
        with _errors_of_arrow(opened, "a Parquet file"):
            parquet, _ = _open_parquet(opened, {}, {name})
    if not pa.types.is_integer(parquet.schema_arrow.field(name).type):
        return None
    index = parquet.schema_arrow.names.index(name)
    groups = map(parquet.metadata.row_group, range(parquet.metadata.num_row_groups))
    said = [group.column(index).statistics for group in groups]
    if not said or any(one is None or not one.has_min_max for one in said):
        return None
    return min(one.min for one in said), max(one.max for one in said)


def _reads_alone(field: Any) -> bool:
    """Return whether a part of the column can be read without the rest, unless its values say otherwise."""
    kind = field.type
    if _has_texts(kind) or field.name == TYPE:
        return _has_texts(kind) and field.name != TIME
    tests = pa.types.is_timestamp, pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean
    return any(test(kind) for test in tests)


def _has_texts(kind: pa.DataType) -> bool:
    """Return whether a column of this type has texts, perhaps in a dictionary."""
    from cerify.semantics.arrow_columns import is_text

    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _read_parquet(source: CsvSource, reserved: Mapping[str, str], attributes: Set[str] | None) -> pa.Table:
    with _errors_of_arrow(source, "a Parquet file"):
        parquet, kept = _open_parquet(source, reserved, attributes)
        if (rows := _batch_rows(parquet)) == PART_ROWS:
            return _validated(parquet.read(kept))
        with source.open() as file:
            size = file.seek(0, io.SEEK_END)
        batches, total = list[Any](), 0
        for batch in timed_items(parquet.iter_batches(rows, columns=kept), 1):
            batches.append(batch)
            total += batch.nbytes
            _require_plausible(total, size)
        return _validated(pa.Table.from_batches(batches) if batches else parquet.read(kept))


def _batch_rows(parquet: Any) -> int:
    """Return how many rows of a Parquet file are read at a time.

    In the encoding DELTA_BYTE_ARRAY a text repeats the beginning of the text before it. So each text may be as long as
    its whole column in the row group. The texts of the rows that are read at a time have at most 256 MiB together.
    """
    data = parquet.metadata
    groups = (data.row_group(g) for g in range(data.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(group.num_columns))
    longest = max((chunk.total_uncompressed_size for chunk in chunks if DELTAS & {*chunk.encodings}), default=0)
    return min(PART_ROWS, max(1, 2**28 // longest)) if longest > 0 else PART_ROWS


def _open_parquet(source: CsvSource, reserved: Mapping[str, str], attributes: Set[str] | None) -> tuple[Any, Any]:
    """Return (file, names): names are the columns to read, None for all."""
    from cerify.semantics.arrow_columns import is_text

    with naming_extras():
        import pyarrow.parquet as pq  # a fifth of a second, which only those who read Parquet need to wait

    with source.open() as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - len(PARQUET)))
        end = file.read()
        file.seek(0)
        _require_marks(file.read(len(PARQUET)), end, PARQUET)
        native = native_file(file)
        parquet = pq.ParquetFile(native)
        data = parquet.metadata
        # the metadata of columns is not read yet: if it is damaged, Arrow ends the process
        _require_plausible(sum(data.row_group(g).total_byte_size for g in range(data.num_row_groups)), size)
        _require_plausible(data.num_rows * data.num_columns * VALUE_BYTES, size)
        names = parquet.schema_arrow.names
        # texts stay in the dictionaries of the file until their size is known: each row may stand for a megabyte
        chunks = [data.row_group(g).column(i) for g in range(data.num_row_groups) for i in range(data.num_columns)]
        deltas = {chunk.path_in_schema for chunk in chunks if DELTAS & {*chunk.encodings}}
        texts = [field.name for field in parquet.schema_arrow if is_text(field.type) and field.name not in deltas]
        # Arrow would keep what it reads ahead until the end of the file
        parquet = pq.ParquetFile(native, metadata=data, read_dictionary=texts, buffer_size=2**18, pre_buffer=False)
        if attributes is not None and len(set(names)) == len(names):
            wanted = {TYPE, *attributes, *reserved}
            roots = {name[:i] for name in wanted for i, sign in enumerate(name) if sign == "."}  # of paths into structs
            return parquet, [name for name in names if reserved.get(name, name) in wanted or name in roots]
        return parquet, None


def _read_ipc(source: CsvSource) -> pa.Table:
    with _errors_of_arrow(source, "an Arrow IPC file"), source.open() as file:
        data = file.read()
        if is_file := data.startswith(IPC_FILE):
            _require_marks(data, data, IPC_FILE)
        # from a file, Arrow would allocate as much as a message claims; from a buffer, no more than there is
        table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(native_buffer(data)).read_all()
        _require_plausible(table.num_rows * table.num_columns * VALUE_BYTES, len(data))
        return _validated(table)


@contextmanager
def _errors_of_arrow(source: CsvSource, kind: str) -> Iterator[None]:
    """Turn errors that Arrow raises for a damaged file into InputErrors that name the file."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:  # ValueError: a name that is not UTF-8
        reason = " ".join(str(error).split()) or "the file claims more memory than there is"
        if "thrift" in reason:
            reason = f"the file is damaged ({reason})"
        raise InputError(f"{source.name}: not {kind} that can be read: {reason}") from None


def _require_marks(start: bytes, end: bytes, mark: bytes) -> None:
    """Raise ValueError unless a file begins and ends with the mark of its format."""
    if not start.startswith(mark):
        raise ValueError(f"the file does not begin with {mark.decode()}" if start else "the file is empty")
    if not end.endswith(mark):
        raise ValueError(f"the file does not end with {mark.decode()}: it was cut off, or is still being written")


def _require_plausible(claimed: int, size: int) -> None:
    """Raise ValueError if a file of `size` bytes claims to hold more bytes of values than a real file would."""
    if not 0 <= claimed <= max(LARGEST_CLAIM, MOST_COMPRESSED * size):
        raise ValueError(f"the file claims {claimed:,} bytes of values, but has only {size:,}")


def _validated(table: pa.Table) -> pa.Table:
    """Return the table if its offsets, UTF-8 and indices are sound, which Arrow does not check when it reads."""
    for column in table.columns:
        if not pa.types.is_dictionary(column.type):
            column.validate(full=True)
            continue
        for chunk in column.chunks:  # whose own check of indices takes five times as long
            for part in (chunk.indices, chunk.dictionary):
                part.validate(full=True)
            low, high = pc.min_max(chunk.indices).values()
            for index in (low, high):
                if index.is_valid and not 0 <= index.as_py() < len(chunk.dictionary):
                    raise pa.ArrowInvalid(f"index {index} in a dictionary of {len(chunk.dictionary)} texts")
    return table


# ---------------------------------------------------------------------------------------------------------------------
# Files that are written whole or not at all, and by one run at a time.


def write_whole(path: Path, text: str) -> None:
    """Replace a file's content by renaming a new file; a reader sees the old text or the new one, never a part.

    A special file, such as a pipe, is written to directly. If writing fails, the old content is kept, and InputError is
    raised.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()  # a link stays a link
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            beside.write_text(text, encoding="utf-8", newline="\n")
            if target.exists():
                with target.open("rb+"):  # a file that may not be written to is not replaced either
                    shutil.copymode(target, beside)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Replace the content of a file by these bytes, as `write_whole` replaces a text. Raises InputError."""
    with replaced_file(path) as file:
        file.write(data)


@contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """Return a context with a new file to write to; it replaces the file at the path if the context ends without an
    error.

    Raises InputError.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        target = path.resolve()
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                yield file
            if target.exists():
                shutil.copymode(target, beside)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def lock(file: IO[Any], path: Path) -> None:
    """Lock the file for this process alone, until it closes the file or ends; on Windows, do nothing.

    Raises InputError if another process has locked it.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike flock, not inherited by processes that are started
    except BlockingIOError:
        raise InputError(f"another run writes to {path}; wait until it is over, or give another name") from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Return a context in which this process has locked the file, which is created if needed. Raises InputError."""
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    with file:
        lock(file, path)
        yield


# ---------------------------------------------------------------------------------------------------------------------
# Streams of events from JSON: an object on each line, an array of objects, or objects over several lines.

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
    """Return the object with its field for the type renamed to "type", and its field for the time to "time".

    reserved: the names of these fields in the data, each with its new name. An object that is not a mapping is
    unchanged. Raises InputError if the field for the type is missing.
    """
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
