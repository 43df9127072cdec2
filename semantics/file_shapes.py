"""Turn files into the plain kind that readers expect: unpack them, find separators, split documents of JSON.

Real files are seldom of that kind. Files whose content is clear are converted here, in memory and within limits, so
that each reader stays simple. For other files, such as binary files, the error names the kind of the file and what to
do.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

from cerify.semantics.arguments import check_time
from cerify.semantics.errors import InputError, InputWarning
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream, observed
from cerify.semantics.json_events import parse_json
from cerify.semantics.object_rows import listed_objects
from cerify.semantics.packages import installed, pa
from cerify.semantics.tables import MARKS, SAVE_AS_UTF_8, CsvSource
from cerify.semantics.time_columns import IS_DATE_TIME, IS_NUMBER, SEPARATORS
from cerify.semantics.values import Value, ValueType, is_exact_float, joined, kind

LARGEST_UNPACKED, MOST_COMPRESSED = 2**30, 1000
"""A compressed file may unpack to a gigabyte, or to a thousand times its size if that is more."""

BLOCK = 2**20
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PACKED = {".gz", ".gzip", ".zst", ".zstd"}
"""Suffixes of compressed files; the suffix of the format stands before them."""

OTHER_KINDS: Mapping[bytes, str] = {
    b"PK\x03\x04": "it is a workbook of a spreadsheet, or another ZIP archive: save the sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "it is an old workbook or document of an office program: save it as CSV",
    b"ElfFile\x00": "it is a log of Windows events (EVTX): write it as JSON Lines, as evtx_dump -o jsonl does",
    b"Obj\x01": "it is an Avro file: write it as Parquet or JSON Lines",
    b"ORC": "it is an ORC file: write it as Parquet",
    b"BZh": "it is compressed (bzip2): unpack it first",
    b"\xfd7zXZ\x00": "it is compressed (xz): unpack it first",
    b"7z\xbc\xaf": "it is a 7z archive: unpack it first",
    b"\x04\x22\x4d\x18": "it is compressed (lz4): unpack it first",
    b"\xd4\xc3\xb2\xa1": "it is a capture of packets (pcap): write its events as JSON Lines, as Zeek does",
    b"\x0a\x0d\x0d\x0a": "it is a capture of packets (pcapng): write its events as JSON Lines, as Zeek does",
    b"version https://git-lfs": "it is a pointer of Git LFS to the file: git lfs pull brings the file",
    b"%PDF": "it is a PDF document",
    b"\x7fELF": "it is a program",
}
"""The first bytes of unsupported kinds of files, and a sentence about each kind and what to do."""

DAY = r"\d\d/[A-Z][a-z]{2}/\d{4}"
# Quoted parts are possessive (`*+`), so that a line of another form fails without backtracking into them.
ACCESS = re.compile(
    rf'(\S+) (\S+) (.+?) \[({DAY}:\d\d:\d\d:\d\d(?: [+-]\d{{4}})?)\] "((?:[^"\\]|\\.)*+)" (\d+|-) (\d+|-)'
    r'(?: "((?:[^"\\]|\\.)*+)" "((?:[^"\\]|\\.)*+)")?(?: (.*))?',
    re.ASCII,
)
ACCESS_FIELDS = ("client", "ident", "user", "time", "method", "path", "protocol", "status", "bytes", "referer", "agent")
"""ACCESS matches a line of a web server's access log (Common or Combined Log Format); the fields name its groups."""

LINE_LOGS: Sequence[tuple[re.Pattern[bytes], str]] = (
    (re.compile(rb"<\d{1,3}>\d? ?"), "it is a log of syslog"),
    (re.compile(rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d "), "it is a log of syslog"),
    (re.compile(rb"(CEF|LEEF):\d"), "it is a log in CEF or LEEF"),
    (re.compile(rf'[^\n]* \[{DAY}:[^\]\n]*\] "'.encode()), "it is an access log in an unknown format"),
    (re.compile(rb"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:.]+ \d{4}\] \["), "it is the error log of a web server"),
    (re.compile(rb"\d{4}/\d\d/\d\d [\d:]{8} \[\w+\] \d+#"), "it is the error log of a web server"),
    (
        re.compile(rb"\[?\d{4}-\d\d-\d\d[ T][\d:]{8}[,.]\d+\]? .*\b(TRACE|DEBUG|INFO|WARN|ERROR)\b"),
        "it is the log of a program",
    ),
)
"""The beginning of the lines of each kind of log without columns, and the name of the kind."""

DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+(,[0-9]+)?", re.ASCII)
ZEEK = b"#separator "


@dataclass(frozen=True)
class Shape:
    """A file to read. default_type: the type of all its events, if the file names one for all of them; else None."""

    source: CsvSource
    default_type: str | None = None


ACTION = re.compile(
    rb'\s*\{\s*"(?:index|create|delete)"\s*:\s*\{(?:\s*"_\w+"\s*:\s*(?:"[^"]*"|\d+|null)\s*,?)*\s*\}\s*\}\s*'
)
"""A line of Elasticsearch's bulk API that says what to do with the next line."""


def unpacked(source: CsvSource) -> CsvSource:
    """Return the source of the unpacked content of a compressed file; any other source is unchanged. Raises InputError.

    Files of gzip and Zstandard are unpacked in memory, the latter by Arrow. In files for Elasticsearch's bulk API, the
    lines that say what to do with the next document become empty.
    """
    with source.open() as file:
        start = file.read(4)
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if start.startswith(GZIP):
            data = _within_limit(source, gzip.GzipFile(fileobj=file), size, (OSError, EOFError, zlib.error))
        elif start == ZSTD:
            if not installed("pyarrow"):
                raise InputError(
                    f"{source.name}: the file is compressed (Zstandard); to read it, pip install 'cerify[columns]'"
                )
            packed = pa.CompressedInputStream(pa.BufferReader(file.read()), "zstd")
            data = _within_limit(source, packed, size, (OSError, pa.ArrowException))
        else:
            return _without_actions(source)
    return _without_actions(CsvSource(source.name, lambda: io.BytesIO(data)))


def _without_actions(source: CsvSource) -> CsvSource:
    """Return documents in the form of Elasticsearch's bulk API without the lines of actions; other files unchanged."""
    with source.open() as file:
        if not ACTION.fullmatch(next(_lines(file), b"")):
            return source
        file.seek(0)
        lines = [b"\n" if ACTION.fullmatch(line) else line for line in _lines(file)]
    what = 'lines such as {"index": …} are actions of Elasticsearch, not events: they are left out'
    warnings.warn(InputWarning(f"{source.name}: {what}"), stacklevel=4)
    data = b"".join(lines)
    return CsvSource(source.name, lambda: io.BytesIO(data))


def _within_limit(source: CsvSource, packed: Any, size: int, errors: tuple[type[Exception], ...]) -> bytes:
    most, parts, total = max(LARGEST_UNPACKED, MOST_COMPRESSED * size), list[bytes](), 0
    try:
        while part := packed.read(BLOCK):
            check_time()
            parts.append(bytes(part))
            if (total := total + len(part)) > most:
                raise InputError(f"{source.name}: the file has {size:,} bytes, but unpacks to more than {most:,} bytes")
    except errors as error:
        raise InputError(f"{source.name}: the file is compressed, but damaged: {error}") from None
    return b"".join(parts)


def require_known_kind(source: CsvSource) -> None:
    """Raise InputError for a file of a known but unsupported kind; the message says what to do."""
    with source.open() as file:
        start = file.read(4096)
    what = next((what for mark, what in OTHER_KINDS.items() if start.startswith(mark)), "")
    what = what or next((what for mark, what in MARKS.items() if start.startswith(mark)), "")
    what = what or ("it is a tar archive: unpack it first" if start[257:262] == b"ustar" else "")
    if what:
        raise InputError(f"{source.name}: {what}")


def what_line_log(source: CsvSource) -> str:
    """Return a sentence that names the kind of a log without columns and says what to do; "" for an unknown kind."""
    with source.open() as file:
        start = file.read(4096)
    if is_access_log(start.partition(b"\n")[0]):
        return ""
    for pattern, what in LINE_LOGS:
        if pattern.match(start):
            return f"{what}, whose lines have no columns: write its events as CSV or JSON Lines first"
    return ""


# --- text with separators ---------------------------------------------------------------------------------------------


def with_commas(source: CsvSource) -> Shape:
    """Convert a file of separated text to CSV: commas between fields, numbers with a decimal point, one line of names.

    If the header has semicolons, tabs or bars but no comma, they are the separators. Commas at the end of the header,
    which spreadsheets write for columns without a name, do not count. With semicolons, a column has decimal commas if
    all its cells are numbers and some have a comma. A log of Zeek names its own separator and columns. Raises
    InputError.
    """
    with source.open() as file:
        start = file.read(BLOCK)
    text = start.removeprefix(b"\xef\xbb\xbf")
    if text.startswith(ZEEK):
        return _of_zeek(source)
    line, _, _ = text.partition(b"\n")
    header = line.rstrip(b"\r,") if any(sign.encode() in line for sign in SEPARATORS) else line
    if is_access_log(header):
        return _of_access_log(source)
    separator = next((sign for sign in SEPARATORS if sign.encode() in header), None)
    _warn_of_header(source, header.replace(b"," if separator is None or b"," in header else separator.encode(), b","))
    if separator is None or b"," in header:
        return Shape(source)
    rows = list(_cells(source, separator))
    if header != line.rstrip(b"\r"):
        rows[0][-1] = rows[0][-1].rstrip(",")
    if separator == ";" and (commas := _decimal_commas(rows)):
        names = ", ".join(rows[0][i] for i in commas if i < len(rows[0]))
        warnings.warn(InputWarning(f"{source.name}: these columns are read with decimal commas: {names}"), stacklevel=2)
        rows = [rows[0], *([c.replace(",", ".") if i in commas else c for i, c in enumerate(row)] for row in rows[1:])]
    return Shape(dataclasses.replace(_as_csv(source, rows), added_lines=source.added_lines))


def with_header(source: CsvSource, names: Sequence[str]) -> CsvSource:
    """Return a separated text file with a line of column names put before it. Raises InputError."""
    if isinstance(names, str) or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(f"header: expected the names of the columns, such as ['type', 'time'], not {names!r}")
    with source.open() as file:
        data = file.read().removeprefix(b"\xef\xbb\xbf")
    first, _, _ = data.partition(b"\n")
    separator = next((sign for sign in SEPARATORS if sign.encode() in first and b"," not in first), ",")
    written = io.StringIO()
    csv.writer(written, delimiter=separator, lineterminator="\n").writerow(names)
    whole = written.getvalue().encode() + data
    return CsvSource(source.name, lambda: io.BytesIO(whole), added_lines=1)


def _warn_of_header(source: CsvSource, line: bytes) -> None:
    """Warn if the first line looks like an event: a number or a date stands where a column's name should."""
    if source.added_lines:
        return
    try:
        cells = next(csv.reader([line.decode("utf-8", "replace")]), [])
    except csv.Error:  # the reader of the file reports it
        return
    if data := next((cell for cell in cells if IS_NUMBER.fullmatch(cell) or IS_DATE_TIME.fullmatch(cell)), None):
        problem = f"the first line should have the names of the columns, but {data!r} looks like a value"
        warnings.warn(
            InputWarning(
                f"{source.name}: {problem}; if the file has no names, give them by --header NAMES, in Python header"
            ),
            stacklevel=3,
        )


def _cells(source: CsvSource, separator: str) -> Iterator[list[str]]:
    """Yield the records of separated text. An empty line gives an empty record, so that lines keep their numbers."""
    with source.open() as file, io.TextIOWrapper(file, "utf-8-sig", errors="strict", newline="") as text:
        try:
            yield from csv.reader(text, delimiter=separator)
        except UnicodeDecodeError:
            raise InputError(f"{source.name}: not text in UTF-8{SAVE_AS_UTF_8}") from None
        except csv.Error as error:
            raise InputError(f"{source.name}: {error}") from None


def _decimal_commas(rows: Sequence[Sequence[str]]) -> set[int]:
    """Return the columns that hold numbers, some of them with a decimal comma."""
    found = set[int]()
    for i in range(len(rows[0]) if rows else 0):
        cells = [row[i] for row in rows[1:] if i < len(row) and row[i]]
        if any("," in cell for cell in cells) and all(map(DECIMAL_COMMA.fullmatch, cells)):
            found.add(i)
    return found


def _as_csv(source: CsvSource, rows: Sequence[Sequence[str]]) -> CsvSource:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    data = written.getvalue().encode()
    return CsvSource(source.name, lambda: io.BytesIO(data))


def is_access_log(line: bytes) -> bool:
    """Return whether a line is from the access log of a web server."""
    return ACCESS.fullmatch(line.decode("utf-8", "replace").rstrip("\r\n")) is not None


def _of_access_log(source: CsvSource) -> Shape:
    """Return the access log of a web server as CSV. Raises InputError for a line of another form."""
    rows: list[list[str]] = []
    with source.open() as file, io.TextIOWrapper(file, "utf-8", errors="replace", newline="\n") as text:
        for number, line in enumerate(text, 1):
            check_time()
            if not (line := line.rstrip("\r\n")):
                rows.append([])
                continue
            if (found := ACCESS.fullmatch(line)) is None:
                raise InputError(
                    f"{source.name}, line {number}: this is not a line of an access log, unlike the lines before; "
                    "correct the line"
                )
            client, ident, user, time, request, status, size, referer, agent, rest = (x or "" for x in found.groups())
            try:
                moment = datetime.strptime(time, "%d/%b/%Y:%H:%M:%S" + " %z" * (" " in time)).isoformat()
            except ValueError:
                moment = time  # as in every other file, queries that use the time will be refused
            parts = request.split(" ") if request.count(" ") == 2 else ["-", request, ""]
            cells = [client, ident, user, moment, *parts, status, size, referer, agent, rest]
            rows.append(["" if cell == "-" else re.sub(r'\\(["\\])', r"\1", cell) for cell in cells])
            rows[-1][4] = parts[0]  # "-" if the request is malformed: the method may be the event type
    names = [*ACCESS_FIELDS, "rest"]
    kept = [i for i in range(len(names)) if any(row and row[i] for row in rows)]
    lines = _as_csv(source, [[row[i] for i in kept] if row else [] for row in rows]).open().read()
    header = ",".join(names[i] for i in kept).encode() + b"\n"
    return Shape(CsvSource(source.name, lambda: io.BytesIO(header + lines), added_lines=1), "request")


def _of_zeek(source: CsvSource) -> Shape:
    """Return a log of Zeek as CSV. Its lines with # name the columns; they become empty lines."""
    with source.open() as file:
        separator = _escape(file.readline().removeprefix(ZEEK).strip().decode("utf-8", "replace"))
    if len(separator) != 1:
        raise InputError(f"{source.name}, line 1: the separator of a Zeek log must be one character, not {separator!r}")
    rows: list[list[str]] = []
    names: list[str] = []
    kinds: list[str] = []
    # Zeek's defaults, for a log whose header does not say otherwise.
    unset, empty, path = "-", "(empty)", None
    with source.open() as file, io.TextIOWrapper(file, "utf-8", errors="replace", newline="\n") as text:
        for number, line in enumerate(text, 1):
            check_time()
            word, *cells = line.rstrip("\r\n").split(separator)
            match word:
                case "#fields":
                    if names and names != cells:
                        raise InputError(
                            f"{source.name}, line {number}: a second #fields has other columns; split the file there"
                        )
                    names = cells
                case "#types":
                    kinds = cells
                case "#path" if cells:
                    path = cells[0]
                case "#unset_field" if cells:
                    unset = cells[0]
                case "#empty_field" if cells:
                    empty = cells[0]
            if word.startswith("#") or not names:
                rows.append([])
                continue
            row = [word, *cells]
            rows.append([_of_zeek_cell(c, kinds[i : i + 1], unset, empty) for i, c in enumerate(row)])
    if not names:
        raise InputError(f"{source.name}: the log of Zeek has no line #fields; add one with the names of the columns")
    first = next((i for i, row in enumerate(rows) if row), len(rows))
    rows[max(0, first - 1)] = names  # in place of a line with #, so that the rows keep their line numbers
    return Shape(_as_csv(source, rows), path)


def _of_zeek_cell(cell: str, kinds: Sequence[str], unset: str, empty: str) -> str:
    if cell in (unset, empty):
        return ""
    if "bool" in kinds:
        return {"T": "true", "F": "false"}.get(cell, cell)
    return _escape(cell) if "\\x" in cell else cell


def _escape(text: str) -> str:
    return re.sub(r"\\x([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)


# --- documents of JSON ------------------------------------------------------------------------------------------------


def documents(source: CsvSource, records: str | None) -> Iterator[tuple[str, Any]] | None:
    """Return the objects of a JSON file that is not JSON Lines, each with its place; None for JSON Lines.

    The file has one array, objects over several lines, or one object with a list of events at the path `records`. If
    there is no list at this path, InputError names the lists that there are.
    """
    with source.open() as file:
        first_line = next((line for line in _lines(file) if line.strip()), b"").lstrip(b"\xef\xbb\xbf").strip()
    if records is None and (not first_line or (first_line.startswith(b"{") and _is_json(first_line))):
        return None
    with source.open() as file:
        data = file.read()
    if first_line.startswith(b"[") and records is None:
        return _elements(parse_json(data, source.name), "element")
    text = data.removeprefix(b"\xef\xbb\xbf")
    if not text.lstrip().startswith((b"{", b"[")):
        return None
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return None
    values = _values(decoded, source.name)
    if values is None:
        return None  # the reader of lines reports what is wrong
    if records is not None:
        return _elements(_list_at(values[0], records, source.name), f"element of {records}")
    return _elements(values, "object")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(BLOCK):
        yield line


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _values(text: str, name: str) -> list[Any] | None:
    """Return the JSON values in a text, one after the other; None if the text has anything else."""
    decoder, at, found = json.JSONDecoder(), 0, list[Any]()
    blank = re.compile(r"[\s,]*")
    while (at := blank.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        check_time()
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.append(parse_json(text[at:end], f"{name}, object {len(found)}"))
        at = end
    return found


def _list_at(value: Any, path: str, name: str) -> list[Any]:
    whole = value
    # A key of the document may have a dot in its name; it is then meant as a whole.
    for part in [path] if isinstance(value, dict) and path in value else path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, list):
        there = listed_objects(whole) if isinstance(whole, dict) else []
        hint = f"; lists of objects are {', '.join(there[:10])}" if there else ""
        raise InputError(f"{name}: there is no list at {path!r}{hint}")
    return value


def _elements(values: Sequence[Any], what: str) -> Iterator[tuple[str, Any]]:
    return ((f"{what} {n}", value) for n, value in enumerate(values))


# ---------------------------------------------------------------------------------------------------------------------
# Join several files to one stream, if they agree on the types of attributes, and sort streams by time.

Parts = Sequence[tuple[str, Stream]]
"""The files by name, each with its events."""


def text_in_some(parts: Parts) -> frozenset[str]:
    """Return the attributes that are texts in some files and times in others; the joined stream has them as texts."""
    kinds: dict[str, set[str]] = {}
    for _, S in parts:
        for name, value_type in observed(S).attributes.items():
            kinds.setdefault(name, set()).add(value_type)
    return frozenset(name for name, found in kinds.items() if name != TIME and {"string", "timestamp"} <= found)


def joined_streams(parts: Parts, schema: Schema | None) -> Stream:
    """Return the events of several files as one stream.

    As in one file, attributes with values of two kinds are left out, with the reason in `unread`. Raises InputError if
    there are no files.
    """
    if not parts:
        raise InputError("there are no files of events; give at least one")
    unread: dict[str, str] = {}
    types: dict[str, tuple[ValueType, str]] = {}
    for path, S in parts:
        unread = {**S.unread, **unread}
        for name, new in observed(S).attributes.items():
            known, first = types.setdefault(name, (new, path))
            if (both := joined(known, new)) is None:
                reason = f"{path}, field {name!r}: {new}, but {known} in {first}; an attribute has one type throughout"
                unread.setdefault(name, f"{reason} a stream")
            else:
                types[name] = both, first
    floats = {name for name, (value_type, _) in types.items() if value_type == "float"}
    if all(S.is_columnar for _, S in parts):
        tables = [_readable(S.table, floats, unread) for _, S in parts]
        joint = Stream.from_table(pa.concat_tables(tables, promote_options="permissive"), schema)
    else:
        joint = Stream([_with(event, floats, unread) for _, S in parts for event in S.events], schema)
    if all(S.columns is not None for _, S in parts):
        joint.columns = list(dict.fromkeys(name for _, S in parts for name in S.columns or ()))
    joint.fits, joint.unread = True, unread
    lists = [python_lists(S) for _, S in parts]
    joint.lists = {
        name: [row for (_, S), its in zip(parts, lists, strict=True) for row in its.get(name, [None] * len(S))]
        for name in dict.fromkeys(name for its in lists for name in its)
    }
    return joint


def python_lists(S: Stream) -> dict[str, list[Any]]:
    """Return, for each attribute that has lists, the list or None of each event."""
    return {name: rows if isinstance(rows, list) else rows.to_pylist() for name, rows in S.lists.items()}


def _readable(table: pa.Table, floats: set[str], unread: dict[str, str]) -> pa.Table:
    from cerify.semantics.arrow_columns import lossless

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name == TYPE:
            columns[name] = column.cast(pa.string())
        elif name not in unread:
            columns[name] = lossless(column, "float", name, "row {}".format) if name in floats else column
    return pa.table(columns)


def _with(event: Event, floats: set[str], unread: dict[str, str]) -> Event:
    found = {}
    for name, value in event.attributes.items():
        if name in floats and type(value) is int:
            if not is_exact_float(value):
                raise InputError(f"field {name!r}: {value} cannot be stored exactly as a 64-bit float")
            value = float(value)
        if name not in unread:
            found[name] = value
    return Event(event.type, found)


def sorted_by_time(S: Stream) -> Stream:
    """Return the stream in the order of its times; events of equal times stay in order.

    An event without a time stays behind the event before it. Raises InputError if the times cannot be read, or are of
    two kinds.
    """
    S.require_read([TIME])
    last: Value | None = None
    keys: list[tuple[bool, Any]] = []
    for event in S.events:
        time = event.get(TIME)
        last = last if time is None else time
        keys.append((last is not None, last))
    known = {kind(key) for _, key in keys if key is not None}
    if len(known) > 1 or known & {"string", "bool"}:
        raise InputError("the events cannot be sorted: their times are of several kinds; write all in one form")
    order = sorted(range(len(keys)), key=lambda n: (keys[n][0], keys[n][1] if keys[n][0] else 0, n))
    if order == list(range(len(order))):
        return S
    if S.is_columnar:
        made = Stream.from_table(S.table.take(order), S.schema)
    else:
        made = Stream.of_checked([S.events[n] for n in order], S.unread)
        made.schema = S.schema
    made.fits, made.unread, made.renamed, made.columns = S.fits, S.unread, S.renamed, S.columns
    made.lists = {name: [rows[n] for n in order] for name, rows in python_lists(S).items()}
    return made
