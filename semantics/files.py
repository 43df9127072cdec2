"""Streams of events from files: CSV, JSON Lines, Parquet and Arrow IPC, by path or from standard input.

A null, and in CSV an empty cell, is an absent attribute. Rows keep their order: a row's place is its position, whatever
its time is. A message about a row of CSV or JSON Lines names its line, from 1; one of Parquet or Arrow IPC its
position, from 0.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, get_args

from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import TIME, TYPE, Events, Schema, Stream, is_table, items_of, observed, require_schema
from cerify.semantics.json_events import (
    BYTE_ORDER_MARK,
    parse_json,
    read_json_lines,
    reserving,
    schema_of_json,
    typed,
    with_type,
)
from cerify.semantics.packages import installed, naming_extras, pa
from cerify.semantics.tables import CsvSource, line_of, native_buffer, native_file, require_text, stream_of_csv
from cerify.semantics.values import ValueType

Format = Literal["csv", "jsonl", "parquet", "arrow"]

STDIN = "-"
SUFFIXES: Mapping[str, Format] = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
PARQUET = b"PAR1"  # how a file begins and ends
IPC_FILE, IPC_STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # how the two forms of Arrow IPC begin; the first ends so too
VALUE_BYTES = 8  # that a value takes in memory, about
LARGEST_CLAIM, MOST_COMPRESSED = 2**30, 1000  # a file may unpack to a gigabyte, or to a thousand times its size


def read(
    source: str | Path,
    *,
    format: Format | None = None,
    schema: Schema | None = None,
    type_column: str = TYPE,
    time_column: str | None = None,
    default_type: str | None = None,
    attributes: Set[str] | None = None,
) -> Stream:
    """Read the events of a file, or of standard input if the source is "-". Raises InputError.

      >>> import cerify, pathlib, tempfile
      >>> file = pathlib.Path(tempfile.mkdtemp(), "events.csv")
      >>> _ = file.write_text("type,x\\nA,1\\nB,2\\n")
      >>> cerify.read(file)[1]
      Event(type='B', attributes={'x': 2})

    The format is that of the file's suffix, or else of its first bytes, unless it is given. With a schema every
    value has to fit it. type_column and time_column are the fields that hold an event's type and its time, which become
    "type" and "time"; a time is in whole seconds, or ISO 8601 or a timestamp. default_type is the type of events
    without that field; None makes them an error. attributes are those that are wanted, None for all: of Parquet other
    columns are not read, and the types are not unpacked.
    """
    require_schema(schema)
    if format is not None and format not in get_args(Format):
        raise InputError(f"no format {format!r}; there is {', '.join(get_args(Format))}")
    reserved = {type_column: TYPE} | ({} if time_column is None else {time_column: TIME})
    with _reading(str(source)):
        opened = _source(str(source))
        match format or SUFFIXES.get(Path(source).suffix.lower()) or _sniffed(opened):
            case "csv":
                return _csv(opened, schema, reserved, default_type)
            case "jsonl":
                return read_json_lines(opened, schema, reserved, default_type)
            case "parquet":
                rows = with_type(_read_parquet(opened, reserved, attributes), type_column, default_type)
                return _positioned(rows, schema, reserved, opened.name, attributes is not None)
            case "arrow":
                rows = with_type(_read_ipc(opened), type_column, default_type)
                return _positioned(rows, schema, reserved, opened.name)


def as_stream(
    source: Events | str | Path,
    *,
    schema: Schema | None = None,
    format: Format | None = None,
    type_column: str = TYPE,
    time_column: str | None = None,
    default_type: str | None = None,
    attributes: Set[str] | None = None,
) -> Stream:
    """Return the stream of any source of events: a Stream, what a Stream is made from, or a file by its path.

      >>> import cerify
      >>> len(cerify.as_stream([{"type": "A", "x": 1}, {"type": "B"}]))
      2

    The options are those of `read`: with a schema every value has to fit it, type_column and time_column name the
    columns, or keys, of an event's type and time, and default_type is the type of events without one; format is for
    files alone. Raises InputError.
    """
    if isinstance(source, str | Path):
        return read(
            source,
            format=format,
            schema=schema,
            type_column=type_column,
            time_column=time_column,
            default_type=default_type,
            attributes=attributes,
        )
    if schema is not None:
        require_schema(schema)
    if isinstance(source, Stream) and schema in (None, source.schema):
        return source
    reserved = {type_column: TYPE} | ({} if time_column is None else {time_column: TIME})
    given = source.table if isinstance(source, Stream) else source
    if not is_table(given):
        items = (
            reserving(typed(item, type_column, default_type), reserved, f"event {n}")
            if isinstance(item, Mapping)
            else item
            for n, item in enumerate(items_of(source))
        )
        S = Stream(items, schema)
        if schema is None:
            return S
        given, reserved = S.table, {TYPE: TYPE}
    from cerify.semantics.arrow_columns import arrow_table

    table = with_type(arrow_table(given), type_column, default_type)
    if schema is None and reserved == {TYPE: TYPE}:
        return Stream(table)
    return _fitted(table, schema, reserved, "the events", "event {}".format)


def read_schema(
    text: str, *, type_column: str = TYPE, time_column: str | None = None, default_type: str | None = None
) -> Schema:
    """The schema in a JSON file, or in the text itself if it starts with "{". Raises InputError, IllFormed.

    Of a file of events, by its suffix, it is the schema that the events show; the columns and default type are those
    of `read`.
    """
    if text.lstrip().startswith("{"):
        return schema_of_json(parse_json(text, "schema"))
    if Path(text).suffix.lower() in SUFFIXES:
        return observed(read(text, type_column=type_column, time_column=time_column, default_type=default_type))
    with _reading(text):
        source = _source(text)
        require_text(source)
        with source.open() as file:
            obj = parse_json(file.read(), source.name)
    try:
        return schema_of_json(obj)
    except CerifyError as error:
        raise type(error)(f"{source.name}: {error.message}") from None


def _source(path: str) -> CsvSource:
    if path == STDIN:
        data = sys.stdin.buffer.read()
        return CsvSource("standard input", lambda: io.BytesIO(data))
    if not path or "\0" in path:
        raise InputError(f"{path!r} is no name of a file")
    if os.path.isfile(path):  # False for a name that is too long, which the reading below says
        Path(path).open("rb").close()
        return CsvSource(path, lambda: Path(path).open("rb"))
    data = Path(path).read_bytes()  # a pipe, which can be read only once
    return CsvSource(path, lambda: io.BytesIO(data))


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Errors of the operating system inside, when a file is opened or later, become InputErrors that name the file."""
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
    return "jsonl" if start.removeprefix(BYTE_ORDER_MARK).lstrip().startswith((b"{", b"[")) else "csv"


def _csv(source: CsvSource, schema: Schema | None, reserved: Mapping[str, str], default_type: str | None) -> Stream:
    """The stream of a CSV file: of a small one in plain Python, if it is clear what each column is; else by Arrow.

    Rows without a type of their own are read by Arrow where it is installed, which keeps the order of the columns.
    """
    require_text(source)
    if (not source.is_large and default_type is None) or not installed("pyarrow"):
        try:
            return stream_of_csv(source, schema, reserved, default_type)
        except InputError:
            if not installed("pyarrow"):
                raise
    from cerify.semantics.tables import read_csv

    fields = {meant: name for name, meant in reserved.items()}
    known: dict[str, ValueType] = {fields[TYPE]: "string"}
    for name, value_type in schema.attributes.items() if schema is not None else ():
        known[fields.get(name, name)] = value_type
    table = with_type(read_csv(source, known), fields[TYPE], default_type)
    return _fitted(table, schema, reserved, source.name, lambda row: line_of(source, row))


def _fitted(
    table: pa.Table,
    schema: Schema | None,
    reserved: Mapping[str, str],
    name: str,
    place: Callable[[int], str],
    coded: bool = False,
) -> Stream:
    from cerify.semantics.tables import fitted_table

    S = Stream(fitted_table(table, schema, reserved, name, place, coded), schema)
    S.fits = True
    return S


def _positioned(
    table: pa.Table, schema: Schema | None, reserved: Mapping[str, str], name: str, coded: bool = False
) -> Stream:
    return _fitted(table, schema, reserved, name, lambda row: f"{name}, position {row}", coded)


def _read_parquet(source: CsvSource, reserved: Mapping[str, str], attributes: Set[str] | None) -> pa.Table:
    from cerify.semantics.arrow_columns import is_text

    with naming_extras():
        import pyarrow.parquet as pq  # a fifth of a second, which only those who read Parquet need to wait

    with _errors_of_arrow(source, "a Parquet file"), source.open() as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - len(PARQUET)))
        end = file.read()
        file.seek(0)
        _require_marks(file.read(len(PARQUET)), end, PARQUET)
        native = native_file(file)
        parquet = pq.ParquetFile(native)
        data = parquet.metadata
        # not the metadata of a column: where that is damaged, Arrow ends the process
        _require_plausible(sum(data.row_group(g).total_byte_size for g in range(data.num_row_groups)), size)
        _require_plausible(data.num_rows * data.num_columns * VALUE_BYTES, size)
        names = parquet.schema_arrow.names
        # texts stay in the dictionaries of the file until their size is known: each row may stand for a megabyte
        texts = [field.name for field in parquet.schema_arrow if is_text(field.type)]
        parquet = pq.ParquetFile(native, metadata=data, read_dictionary=texts)
        if attributes is not None and len(set(names)) == len(names):
            return _validated(parquet.read([name for name in names if reserved.get(name, name) in {TYPE, *attributes}]))
        return _validated(parquet.read())


def _read_ipc(source: CsvSource) -> pa.Table:
    with _errors_of_arrow(source, "an Arrow IPC file"), source.open() as file:
        data = file.read()
        if is_file := data.startswith(IPC_FILE):
            _require_marks(data, data, IPC_FILE)
        # of a file, Arrow would allocate what a message claims; of a buffer it takes no more than there is
        table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(native_buffer(data)).read_all()
        _require_plausible(table.num_rows * table.num_columns * VALUE_BYTES, len(data))
        return _validated(table)


@contextmanager
def _errors_of_arrow(source: CsvSource, kind: str) -> Iterator[None]:
    """Errors that Arrow raises inside, for a damaged file, become InputErrors that name the file."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:  # ValueError: a name that is not UTF-8
        reason = " ".join(str(error).split()) or "it claims more memory than there is"
        if "thrift" in reason:
            reason = f"it is damaged ({reason})"
        raise InputError(f"{source.name}: not {kind} that can be read: {reason}") from None


def _require_marks(start: bytes, end: bytes, mark: bytes) -> None:
    """Raises ValueError if a file with this start and this end does not have the mark at both."""
    if not start.startswith(mark):
        raise ValueError(f"it does not begin with {mark.decode()}" if start else "it is empty")
    if not end.endswith(mark):
        raise ValueError(f"it does not end with {mark.decode()}: it was cut, or is still being written")


def _require_plausible(claimed: int, size: int) -> None:
    """Raises ValueError if a file of this many bytes claims to hold more of them than a real one would."""
    if not 0 <= claimed <= max(LARGEST_CLAIM, MOST_COMPRESSED * size):
        raise ValueError(f"it claims {claimed:,} bytes of values, where the file has {size:,}")


def _validated(table: pa.Table) -> pa.Table:
    table.validate(full=True)  # offsets and UTF-8, which Arrow does not check when it reads
    return table


# ---------------------------------------------------------------------------------------------------------------------
# Files that are written whole or not at all, and by one run at a time.


def write_whole(path: Path, text: str) -> None:
    """Replace what is in a file, by a file beside it that is renamed; a reader sees the old text or the new one.

    What is no regular file, such as a pipe, is written to as it is. Raises InputError, and then the file is as it was.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()  # a link stays one
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


def lock(file: IO[Any], path: Path) -> None:
    """Make this process the only one that has locked the file, until it closes it or ends; on Windows, do nothing.

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
    """A context in which this process has locked the file, which is made if it is not there. Raises InputError."""
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    with file:
        lock(file, path)
        yield
