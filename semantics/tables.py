"""Read CSV files, small ones in plain Python and large ones with Arrow, and fit Arrow tables to a schema.

`stream_of_csv` avoids the import of Arrow. It returns the same events as Arrow's reader (`read_csv`) if it is clear
which type Arrow would infer for each column; a property test compares the two. The lines of rows are found in plain
Python too, and only for messages.
"""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import BinaryIO, Literal, NoReturn

from cerify.semantics.arguments import format_names
from cerify.semantics.arrow_columns import (
    ARROW,
    VALUE_TYPES,
    RowLocation,
    canonical,
    first,
    lossless,
    may_be_rounded,
    require_kept,
    values_of_text,
)
from cerify.semantics.errors import InputError, InputWarning
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream
from cerify.semantics.packages import arrow_csv, pa, pc
from cerify.semantics.time_columns import (
    NO_TYPE,
    BadTime,
    FieldReading,
    TimeReading,
    are_date_times,
    first_doubled,
    rename_fields,
    times_as_declared,
    times_of_column,
    times_of_texts,
)
from cerify.semantics.values import (
    BLANKS,
    EXACT,
    INT64,
    PATTERNS,
    Value,
    ValueType,
    blanks_around,
    quote_text,
)

BLOCK = 2**20  # bytes that Arrow reads at a time; a row must end within them

SAVE_AS_UTF_8 = ": save the file as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW"
"""Advice on a file in another encoding; most files that are not UTF-8 are in Windows-1252."""

UTF_16, UTF_32 = (f"it is text in UTF-{bits}: save it as UTF-8" for bits in (16, 32))
MARKS: Mapping[bytes, str] = {
    b"\xff\xfe\0\0": UTF_32,  # must stand before UTF-16, because it begins with the mark of UTF-16
    b"\0\0\xfe\xff": UTF_32,
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
    b"\x1f\x8b": "it is compressed (gzip): unpack it first",
}
"""The first bytes of files that are not text in UTF-8, and a sentence about each kind."""

TEXT = re.compile(r"(?!(?i:nan|inf|infinity|true|false|0x.*)\Z)[A-Za-z_](.*\S)?", re.DOTALL)
"""Cells that can only be text, whatever the other cells of their column are."""

TIME_OF_DAY = re.compile(r"\d\d:\d\d(:\d\d)?")
CLEAR: Mapping[ValueType, Sequence[re.Pattern[str]]] = {
    "int": [re.compile(r"-?[0-9]{1,18}")],
    "bool": [re.compile("true|True|TRUE|false|False|FALSE")],
    "float": [re.compile(r"-?[0-9]{1,15}(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")],
}
"""For each value type, forms of cells: if all cells of a column have one same form, the column is of this type."""

PADDED = "-?0[0-9]"
"""The beginning of an id such as 007, which is not 7. One such cell turns a column of numbers into texts."""


SMALL = 2**16  # bytes


@dataclass(frozen=True)
class CsvSource:
    """A CSV file: its name in messages, and a function that opens it.

    added_lines: the number of lines, such as a header, that cerify puts before the lines of the file itself.
    """

    name: str
    open: Callable[[], BinaryIO]
    added_lines: int = 0

    @property
    def is_large(self) -> bool:
        """Return whether Arrow would read the file faster than plain Python, including the time to import Arrow."""
        with self.open() as file:
            return len(file.read(SMALL + 1)) > SMALL


NEEDS_ARROW = "need Arrow's reader: pip install 'cerify[columns]'; or give a schema"


def what_else(data: bytes) -> str:
    """Return a sentence about a file that begins with these bytes; "" if they are none of MARKS."""
    return next((what for mark, what in MARKS.items() if data.startswith(mark)), "")


def require_text(source: CsvSource) -> None:
    """Raise InputError if the beginning of the file is not text in UTF-8."""
    with source.open() as file:
        if what := what_else(file.read(4)):
            raise InputError(f"{source.name}: {what}")


def line_of(source: CsvSource, row: int) -> str:
    """Return the file and the line of a row, for messages. Rows count from 0 after the header, lines from 1."""
    try:
        line, _ = next(islice(records(source), row + 1, None))
    except (csv.Error, StopIteration):
        return f"{source.name}, row {row} after the header"
    return f"{source.name}, line {line}"


def records(source: CsvSource, errors: str = "replace") -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line on which it starts. Empty lines are skipped, as in Arrow."""
    with source.open() as file, io.TextIOWrapper(file, "utf-8-sig", errors=errors, newline="") as text:
        reader, line = csv.reader(text), 1 - source.added_lines
        for record in reader:
            if record:
                yield line, record
            # A quoted cell may hold line breaks: the reader's own number is that of the last line of a record, but
            # messages name the first.
            line = reader.line_num + 1 - source.added_lines


def require_closed_quotes(source: CsvSource) -> None:
    """Raise InputError if the file ends inside a quoted cell, because readers would end the cell there.

    Such a file has an odd number of quotation marks, unless one stands inside a cell without quotation marks around it.
    So only files with an odd number are read record by record.
    """
    with source.open() as file:
        if not sum(block.count(b'"') for block in iter(partial(file.read, BLOCK), b"")) % 2:
            return
    with source.open() as file, io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="") as text:
        reader, line = csv.reader(text, strict=True), 1
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            if "end of data" in str(error):
                raise InputError(f"{source.name}, line {line}: a quotation mark is opened and never closed") from None


def not_csv(source: CsvSource, reason: str) -> str:
    """Return the message, with the line, for a CSV file that could not be read. This reads the file again."""
    try:
        header: list[str] | None = None
        for line, record in records(source):
            header = header or record
            if len(record) != len(header):
                return (
                    f"{source.name}, line {line}: {len(record)} fields, where the header has {len(header)} "
                    f"({', '.join(header)})"
                )
        if header is None:
            return f"{source.name}: empty; a CSV file starts with a line of column names"
    except csv.Error:
        pass
    if "straddling" in reason:
        with source.open() as file:
            place = next((f", line {n}" for n, data in enumerate(file, 1) if len(data) > BLOCK), "")
        return f"{source.name}{place}: a row of more than {BLOCK:,} bytes; write it as Parquet or JSON Lines"
    if "Empty CSV file" in reason:  # Arrow ignores a single line without a line break
        return f"{source.name}: one line without a line break; a CSV file starts with a line of column names"
    return not_utf8(source) if "UTF" in reason.upper() else f"{source.name}: not a CSV file: {reason}"


def not_utf8(source: CsvSource) -> str:
    """Return the message for a file that is not text in UTF-8, with the first invalid byte."""
    with source.open() as file:
        for line, data in enumerate(file, 1 - source.added_lines):
            try:
                data.decode()
            except UnicodeDecodeError as error:
                return f"{source.name}, line {line}: byte {data[error.start]:#04x} is not text in UTF-8{SAVE_AS_UTF_8}"
    return f"{source.name}: not text in UTF-8{SAVE_AS_UTF_8}"


def stream_of_csv(
    source: CsvSource, schema: Schema | None, reading: FieldReading = FieldReading(), lenient: bool = False
) -> Stream:
    """Return the stream of a CSV file, read without Arrow.

    Raises InputError, also for what only Arrow can read: cells in quotes, and columns whose type is not clear. With
    lenient, columns whose type is not clear are left out of the events.
    """
    header, rows, lines = _table(source)
    own = {} if schema is not None else reading.own_fields(header)
    kept = {attribute: (column, [row[header.index(column)] for row in rows]) for column, attribute in own.items()}
    default = reading.default_type
    if default is not None and reading.type_column not in header:
        header, rows = [*header, reading.type_column], [[*row, default] for row in rows]
    elif default is not None:
        at = header.index(reading.type_column)
        rows = [row if row[at] else [*row[:at], default, *row[at + 1 :]] for row in rows]
    places = [f"line {line}" for line in lines]
    return stream_of_rows(source.name, header, rows, places, schema, reading, lenient, kept)


def stream_of_rows(
    name: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    places: Sequence[str],
    schema: Schema | None = None,
    reading: FieldReading = FieldReading(),
    lenient: bool = False,
    own: Mapping[str, tuple[str, Sequence[str]]] = {},
) -> Stream:
    """Return the stream of rows of cells; an empty cell is an absent attribute.

    own: further attributes, each with the name of its column and its cells (see `FieldReading.own_fields`). In
    messages, `name` stands for the file and `places` for the rows. With lenient and without a schema, columns whose
    cells have no clear type are left out of the events, with the reason in the stream's `unread`.
    """
    declared: Mapping[str, ValueType] = {} if schema is None else schema.attributes
    timed = {} if schema is None else reading.timed_fields(schema)
    hidden = reading.hidden(header)
    kept = [i for i, column in enumerate(header) if column not in hidden]
    columns: dict[str, list[Value | None]] = {}
    unread: dict[str, str] = {}
    names = rename_fields([header[i] for i in kept], reading.reserved, name)
    cells = {attribute: (header[i], [row[i] for row in rows]) for i, attribute in zip(kept, names, strict=True)}
    for attribute, (origin, its) in {**cells, **own}.items():
        column = _Column(name, origin, its, places)
        try:
            columns[attribute] = column.values(attribute, declared.get(attribute), reading, timed.get(attribute))
        except InputError as error:
            if not lenient or schema is not None or attribute == TYPE:
                raise
            unread[attribute] = error.message
    types = [type_ if type_ is None else reading.types.get(str(type_), type_) for type_ in columns.pop(TYPE)]
    events = []
    for row, type_ in enumerate(types):
        attributes = {name: value for name, values in columns.items() if (value := values[row]) is not None}
        if type_ is None:
            raise InputError(f"{name}, {places[row]}: no event type; every event needs one")
        known = attributes if schema is None else schema.types.get(str(type_))
        if known is None:
            raise InputError(f"{name}, {places[row]}: unknown event type {quote_text(str(type_))}")
        if unknown := attributes.keys() - known.keys() - {TIME}:
            raise InputError(f"{name}, {places[row]}: {type_} has no attribute {', '.join(sorted(unknown))}")
        events.append(Event(str(type_), attributes))
    S = Stream(events, schema, [TYPE, *columns, *unread])
    S.fits, S.unread = True, unread
    return S


def _table(source: CsvSource) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the header, the rows, and the line of each row. Raises InputError."""
    with source.open() as file:
        before, quote, _ = file.read().partition(b'"')
    require_closed_quotes(source)
    try:
        lines, found = zip(*records(source, "strict"), strict=True)
    except UnicodeDecodeError:
        raise InputError(not_utf8(source)) from None
    except (csv.Error, ValueError) as error:
        raise InputError(not_csv(source, str(error))) from None
    header, *rows = found
    if any(len(row) != len(header) for row in rows):
        raise InputError(not_csv(source, "its rows have several lengths"))
    if quote:
        line = before.count(b"\n") + 1
        raise InputError(f"{source.name}, line {line}: cells in quotes {NEEDS_ARROW}")
    if unnamed := [i for i, name in enumerate(header) if not name.strip()]:
        _warn_of_unnamed(source.name, unnamed, any(row[i] for row in rows for i in unnamed))
        header, *rows = [[cell for i, cell in enumerate(row) if i not in unnamed] for row in (header, *rows)]
    return header, rows, list(lines[1:])


def _warn_of_unnamed(file: str, unnamed: Sequence[int], has_values: bool) -> None:
    places = ", ".join(str(i + 1) for i in unnamed)
    why = "no name in line 1" if has_values else "no name and no values"
    warnings.warn(InputWarning(f"{file}: ignored column {places}: {why}"), stacklevel=5)


@dataclass(frozen=True)
class _Column:
    """The cells of a column, the names of its file and column for messages, and the place of each cell."""

    file: str
    field: str
    cells: Sequence[str]
    places: Sequence[str]

    def values(
        self, attribute: str, declared: ValueType | None, reading: FieldReading, how: TimeReading | None = None
    ) -> list[Value | None]:
        """Return the values of the cells, None for an empty cell. Raises InputError, with the place of the cell.

        how: how to read the cells, if the schema declares them as times.
        """
        if (attribute == TIME and declared is None) or (declared is not None and how is not None):
            read_times = times_of_column if declared is None else times_as_declared
            try:
                times, note = read_times([cell or None for cell in self.cells], self.field, how or reading.times)
            except BadTime as error:
                raise InputError(f"{self.file}, {self.places[error.row]}, field {self.field!r}: {error}") from None
            if note is not None:
                warnings.warn(InputWarning(f"{self.file}, {note}"), stacklevel=5)
            for row, time in enumerate(times):
                if isinstance(time, int) and time not in INT64:
                    self._refuse(row, "does not fit in 64 bits")
            return times
        is_text = attribute == TYPE or attribute in reading.texts
        value_type = "string" if is_text else declared or self.inferred()
        if value_type == "timestamp":
            try:
                return times_of_texts(
                    [c or None for c in self.cells], TimeReading(round_times=reading.times.round_times)
                )
            except BadTime as error:
                end = blanks_around(self.cells[error.row])
                raise InputError(f"{self.file}, {self.places[error.row]}, field {self.field!r}: {error}{end}") from None
        return [None if not cell else self.value(row, value_type) for row, cell in enumerate(self.cells)]

    def inferred(self) -> ValueType:
        """Return the type that Arrow infers for the column. Raises InputError if this type is not clear."""
        cells = list(filter(None, self.cells))
        if are_date_times(cells):
            return "timestamp"
        for value_type, forms in CLEAR.items():
            if any(_all(cells, form) for form in forms):
                return "string" if any(map(re.compile(PADDED).match, cells)) else value_type
        if not any(map(TEXT.fullmatch, cells)) and not _all(cells, TIME_OF_DAY):
            row = self._deviating(tuple(chain.from_iterable(CLEAR.values())))
            beside = " beside the values before it" if any(self.cells[:row]) else ""
            spaced = TEXT.fullmatch(self.cells[row].strip())
            advice = BLANKS if spaced else f": correct it; columns of such values {NEEDS_ARROW}"
            self._refuse(row, f"has no clear type{beside}", advice)
        return "string"

    def _deviating(self, forms: Sequence[re.Pattern[str]]) -> int:
        """Return the first row whose cell has none of the forms that all cells before it have."""
        for row, cell in enumerate(self.cells):
            forms = [form for form in forms if not cell or form.fullmatch(cell)]
            if not forms:
                return row
        raise AssertionError("all cells are of one form")

    def value(self, row: int, value_type: Literal["string", "bool", "int", "float"]) -> Value:
        """Return the value of a cell that is not empty. Raises InputError."""
        cell = self.cells[row]
        match value_type:
            case "string":
                return cell
            case _:
                pattern, expected = PATTERNS[value_type]
                if re.fullmatch(pattern, cell) is None:
                    self._refuse(row, f"is not {expected}")
        match value_type:
            case "bool":
                return cell.lower() == "true"
            case "int":
                # The length first: Python converts no text of thousands of digits, and would raise another error.
                if len(cell) > 20 or int(cell) not in INT64:
                    self._refuse(row, "does not fit in 64 bits")
                return int(cell)
            case "float":
                from decimal import Decimal  # here, because the import takes 10 ms and is seldom needed

                if abs(number := float(cell)) >= EXACT and Decimal(cell) != number:
                    self._refuse(row, "cannot be stored exactly as a 64-bit float")
                return number

    def _refuse(self, row: int, problem: str, advice: str = "") -> NoReturn:
        cell = self.cells[row]
        end = blanks_around(cell) or advice
        raise InputError(f"{self.file}, {self.places[row]}, field {self.field!r}: {quote_text(cell)} {problem}{end}")


def _all(cells: Sequence[str], form: re.Pattern[str]) -> bool:
    return all(map(form.fullmatch, cells))


# ---------------------------------------------------------------------------------------------------------------------
# Files and bytes for Arrow's readers, without Python objects in them.
#
# Arrow's threads release what they have read after the table is returned. If the interpreter is shutting down then, and
# the release needs Python, the process aborts.


def native_buffer(data: bytes) -> pa.Buffer:
    """Return a copy of the bytes in Arrow's memory."""
    sink = pa.BufferOutputStream()
    sink.write(data)
    return sink.getvalue()


def native_file(file: BinaryIO) -> pa.NativeFile:
    """Return the file from its beginning, for Arrow. Arrow opens it by its name if it has one, or else gets a copy."""
    if (name := getattr(file, "name", None)) is not None:
        return pa.OSFile(os.fsencode(name))
    file.seek(0)
    return pa.BufferReader(native_buffer(file.read()))


# ---------------------------------------------------------------------------------------------------------------------
# CSV files as Arrow tables, with the line of each row for messages.
#
# A header line names the columns. An empty cell, quoted or not, is an absent value, because CSV cannot distinguish it
# from an empty string. Columns whose value type is known are read as text and converted; the others get the type that
# Arrow infers from all their cells. A whole number that a column of floats would round is refused. A column without a
# name, such as trailing commas make, is left out with an InputWarning.


def read_csv(
    source: CsvSource,
    known: Mapping[str, ValueType],
    unread: dict[str, str] | None = None,
    time_column: str | None = None,
) -> pa.Table:
    """Return the table of a CSV file. Raises InputError.

    known: the value types of some columns; the file may lack some of them. unread: if given, a column whose numbers
    floats would round is left out of the table, and the reason is added to this mapping.
    """
    require_closed_quotes(source)
    texts = dict.fromkeys(known, pa.string())
    table = _parsed(source, texts)
    if times := [f.name for f in table.schema if pa.types.is_time(f.type)]:  # Arrow reads 12:30 as a time of day
        table = _parsed(source, texts := texts | dict.fromkeys(times, pa.string()))
    numbers = [f.name for f in table.schema if f.type in (ARROW["int"], ARROW["float"]) and f.name.strip()]
    if numbers := [name for name in numbers if name not in {*known, time_column or TIME}]:
        # The numbers are read once more as texts, because Arrow's numbers no longer show the zeros of 007.
        written = _parsed(source, dict.fromkeys(numbers, pa.string()), numbers)
        forms = {name: pc.match_substring_regex(written[name], rf"^\s*{PADDED}") for name in numbers}
        if padded := [name for name, found in forms.items() if pc.any(found).as_py()]:
            table = _parsed(source, texts | dict.fromkeys(padded, pa.string()))
    if any(pa.types.is_binary(field.type) for field in table.schema):  # inferred for text that is not UTF-8
        raise InputError(not_utf8(source))

    def place(row: int) -> str:
        return line_of(source, row)

    table = _drop_unnamed(source, table)
    names = table.column_names
    table = pa.Table.from_arrays(  # at once, because replacing one column copies all of them
        [
            values_of_text(column, known[name], name, place) if name in known else column
            for name, column in zip(names, table.columns, strict=True)
        ],
        names,
    )
    inferred = [f.name for f in table.schema if f.name not in known and pa.types.is_floating(f.type)]
    if large := [name for name in inferred if pc.any(may_be_rounded(table[name])).as_py()]:  # rare: read twice
        written = _parsed(source, dict.fromkeys(large, pa.string()))
        for name in large:
            try:
                require_kept(written[name], table[name], name, place)
            except InputError as error:
                if unread is None:
                    raise
                unread[name] = error.message
                table = table.drop_columns([name])
    return table


def _parsed(source: CsvSource, column_types: Mapping[str, pa.DataType], only: Sequence[str] = ()) -> pa.Table:
    with source.open() as file:
        try:
            table = arrow_csv.read_csv(
                native_file(file),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    null_values=[""],
                    strings_can_be_null=True,
                    true_values=["true", "True", "TRUE"],  # not 1, which is a number
                    false_values=["false", "False", "FALSE"],
                    column_types=column_types,
                    include_columns=only,
                ),
            )
            names = table.column_names
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise InputError(not_csv(source, str(error))) from None
    if (doubled := first_doubled([name for name in names if name.strip()])) is not None:
        raise InputError(f"{source.name}, line 1: two columns are called {doubled!r}; give each its own name")
    return table


def _drop_unnamed(source: CsvSource, table: pa.Table) -> pa.Table:
    """Drop the columns without a name, which pandas writes for row labels; a warning lists them."""
    unnamed = [i for i, name in enumerate(table.column_names) if not name.strip()]
    if not unnamed:
        return table
    _warn_of_unnamed(source.name, unnamed, any(table.column(i).null_count < len(table) for i in unnamed))
    return table.select([i for i in range(table.num_columns) if i not in unnamed])


# ---------------------------------------------------------------------------------------------------------------------
# From an Arrow table of any origin to the table of a stream, each column of one of our value types.


def fitted_table(
    table: pa.Table, schema: Schema | None, reserved: Mapping[str, str], name: str, place: RowLocation
) -> pa.Table:
    """Return the table with every column of a type in ARROW and the reserved columns renamed. Raises InputError.

    reserved maps the columns of the event type and of the time to "type" and "time". For messages, name is the name of
    the file, and place returns the place of a row in it.
    """
    in_file = table.column_names
    table = table.rename_columns(rename_fields(in_file, reserved, name))
    fields = dict(zip(table.column_names, in_file, strict=True))  # for messages
    columns = {column: canonical(table[column], field, name, place) for column, field in fields.items()}
    columns[TYPE] = _types(columns[TYPE], fields[TYPE], schema, place)
    if TIME in columns and (schema is None or TIME not in schema.attributes):
        columns[TIME] = _times(columns[TIME], fields[TIME], place)
    if schema is not None:
        for column in columns.keys() - {TYPE}:
            columns[column] = _fitted(columns[column], column, fields[column], columns[TYPE], schema, place)
    return pa.table({column: values for column, values in columns.items() if not pa.types.is_null(values.type)})


def _types(types: pa.ChunkedArray, field: str, schema: Schema | None, place: RowLocation) -> pa.ChunkedArray:
    if pa.types.is_null(types.type):
        types = types.cast(ARROW["string"])
    if types.type != ARROW["string"]:
        raise InputError(f"{place(0)}, field {field!r}: the event type must be a string, not {VALUE_TYPES[types.type]}")
    if (row := first(pc.fill_null(pc.equal(types, ""), True))) is not None:
        raise InputError(f"{place(row)}, field {field!r}: {NO_TYPE}")
    if schema is not None:
        unknown = pc.invert(pc.is_in(types, pa.array(list(schema.types), ARROW["string"])))
        if (row := first(unknown)) is not None:
            raise InputError(
                f"{place(row)}, field {field!r}: unknown event type {quote_text(types[row].as_py())}; "
                f"the schema has {format_names(schema.types)}"
            )
    return types


def _times(times: pa.ChunkedArray, field: str, place: RowLocation) -> pa.ChunkedArray:
    """Return the times as integer seconds or timestamps; a column of text is read in the form of its first cell."""
    if times.type == ARROW["string"]:
        cell = next((cell.as_py() for cell in times if cell.is_valid), "")
        return values_of_text(times, "int" if cell.lstrip("-").isdecimal() else "timestamp", field, place)
    if times.type == ARROW["bool"] and (row := first(times.is_valid())) is not None:
        raise InputError(
            f"{place(row)}, field {field!r}: {VALUE_TYPES[times.type]}; a time is in seconds or ISO 8601, "
            "such as 2013-01-31T14:05:00Z"
        )
    return times


def _fitted(
    column: pa.ChunkedArray, attribute: str, field: str, types: pa.ChunkedArray, schema: Schema, place: RowLocation
) -> pa.ChunkedArray:
    """Return the column in the schema's type, after a check that no event of another type has a value."""
    owners = [type_ for type_, attributes in schema.types.items() if attribute in attributes or attribute == TIME]
    foreign = pc.and_(column.is_valid(), pc.invert(pc.is_in(types, pa.array(owners, ARROW["string"]))))
    if (row := first(foreign)) is not None:
        type_ = types[row].as_py()
        known = ", ".join(schema.types[type_]) or "none in the schema"
        raise InputError(f"{place(row)}, field {field!r}: unknown attribute; {type_} has {known}")
    declared = schema.attributes.get(attribute)
    if declared is None or VALUE_TYPES.get(column.type) == declared:
        return column
    if pa.types.is_null(column.type) or {VALUE_TYPES[column.type], declared} == {"int", "float"}:
        return lossless(column, declared, field, place)
    row = first(column.is_valid())
    if row is None:
        return pa.chunked_array([pa.nulls(len(column), ARROW[declared])])
    raise InputError(f"{place(row)}, field {field!r}: {VALUE_TYPES[column.type]}, but the schema has {declared}")
