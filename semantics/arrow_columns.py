"""Convert Arrow columns of any origin to columns of cerify's value types, without loss.

Arguments for messages: `field` is the name of the column, and `place` returns the place of a row in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

from cerify.semantics.arguments import did_you_mean, short_repr, timed_items
from cerify.semantics.errors import InputError
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.values import (
    BEYOND_NANOSECONDS,
    EXACT,
    INT64,
    NANOSECONDS_OUT_OF_RANGE,
    PATTERNS,
    Value,
    ValueType,
    blanks_around,
    first_out_of_range,
    has_nanoseconds,
    microseconds,
    nanoseconds,
    parse_time,
    quote_text,
    time_at,
    time_at_nanoseconds,
    value_type_of,
)

# ---------------------------------------------------------------------------------------------------------------------
# The Arrow type of each value type.
#
# The two tables are built on first use, because Arrow is not installed everywhere.

K = TypeVar("K")
V = TypeVar("V")


class LazyTable(Mapping[K, V]):
    """A mapping that is built on first use."""

    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._make = make

    @cached_property
    def _table(self) -> Mapping[K, V]:
        return self._make()

    def __getitem__(self, key: K) -> V:
        return self._table[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _arrow_types() -> Mapping[ValueType, pa.DataType]:
    return {
        "int": pa.int64(),
        "float": pa.float64(),
        "string": pa.string(),
        "bool": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }


def _value_types() -> Mapping[pa.DataType, ValueType]:
    return {arrow: value_type for value_type, arrow in ARROW.items()} | {nanosecond_type(): "timestamp"}


ARROW: Mapping[ValueType, pa.DataType] = LazyTable(_arrow_types)
VALUE_TYPES: Mapping[pa.DataType, ValueType] = LazyTable(_value_types)
"""The value type of each Arrow type that a stream's columns may have: those of ARROW, and times with nanoseconds."""


NANOSECONDS_IN_LOOPS = (
    "the column {} has times with nanoseconds, but the compiled evaluator keeps only microseconds: use another "
    "evaluator, or round the times with --round-times (in Python, round_times=True)"
)
"""The reason why a compiled loop does not take a column."""


def is_nanoseconds(type_: pa.DataType) -> bool:
    """Return whether a column of this type has times with nanoseconds."""
    return bool(pa.types.is_timestamp(type_) and type_.unit == "ns")


def nanosecond_type() -> pa.DataType:
    """Return the type of a column with times that have nanoseconds."""
    return pa.timestamp("ns", tz="UTC")


def array_of_times(times: Sequence[datetime | None]) -> pa.Array:
    """Return the times as an array of microseconds, or of nanoseconds if a time has any. Raises OverflowError."""
    if not has_nanoseconds(times):
        return pa.array(times, ARROW["timestamp"])
    return pa.array([None if time is None else nanoseconds(time) for time in times], pa.int64()).cast(nanosecond_type())


DIGITS = {"int": 18, "float": 15}
"""Decimals with at most this many digits stay different, and in the same order, as numbers of the type."""


EXACT_POWER = 22
"""The largest power of ten that a float has exactly."""


def type_of_decimals(precision: int, scale: int) -> ValueType | None:
    """Return a value type that keeps all decimals with this precision and scale distinct; None if there is none."""
    if scale <= 0:
        return "int" if precision - scale <= DIGITS["int"] else None
    return "float" if precision <= DIGITS["float"] else None


def numbers_of_decimals(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column of decimals as int64 or as the nearest float64 (see `type_of_decimals`), others unchanged."""
    if not pa.types.is_decimal(column.type):
        return column
    precision, scale = column.type.precision, column.type.scale
    if scale <= 0:
        return column.cast(pa.int64())
    if scale > EXACT_POWER:
        return column.cast(pa.string()).cast(pa.float64())
    column = column.cast(pa.decimal128(precision, scale))
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_nearest_floats(chunk) for chunk in column.chunks], pa.float64())
    return _nearest_floats(column)


def _nearest_floats(column: pa.Array) -> pa.Array:
    # a cast by Arrow multiplies by a power of ten that is no float, and so misses the nearest float by a digit
    whole = np.frombuffer(column.buffers()[1], "<i8").reshape(-1, 2)[column.offset : column.offset + len(column), 0]
    return pa.array(whole / 10.0**column.type.scale, mask=pc.is_null(column).to_numpy(zero_copy_only=False))


# ---------------------------------------------------------------------------------------------------------------------
# Columns of text to columns of values, with the place of the first cell that is no value.

RowLocation: TypeAlias = Callable[[int], str]
"""Returns the place of a row, counted from 0, in its file, for messages."""

ZONE = r"(?i)\d\d(z|[+-]\d\d(:?\d\d)?)\z"
WHOLE = r"\A\s*[+-]?[0-9]+\s*\z"
DATE = r"\A\d\d\d\d-\d\d-\d\d\z"


def values_of_text(text: pa.ChunkedArray, value_type: ValueType, field: str, place: RowLocation) -> pa.ChunkedArray:
    """Parse a column of texts as values of this type; nulls stay null. Raises InputError for the first wrong cell."""
    match value_type:
        case "string":
            return text
        case "timestamp":
            return _timestamps(text, field, place)
        case _:
            # Arrow's own parser reads more and less than the other readers do, so the form is checked first: every
            # reader has to accept the same cells.
            pattern, expected = PATTERNS[value_type]
            wrong = pc.invert(pc.match_substring_regex(text, rf"\A(?:{pattern})\z"))
            if (row := first(wrong)) is not None:
                _refuse(text, row, f"is not {expected}{blanks_around(text[row].as_py())}", field, place)
            return _numbers(text, value_type, field, place)


def may_be_rounded(floats: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return for each float whether it is so large that the conversion from text may have rounded it."""
    return pc.greater_equal(pc.abs(floats), EXACT)


def require_kept(text: pa.ChunkedArray, floats: pa.ChunkedArray, field: str, place: RowLocation) -> None:
    """Raise InputError for the first text whose number is too large for a float, or is a whole number that was rounded.

    floats: the texts, converted to floats.
    """
    too_large = pc.and_(pc.is_inf(floats), pc.match_substring_regex(text, "[0-9]"))
    if (row := first(too_large)) is not None:
        _refuse(text, row, "is too large for a 64-bit float", field, place)
    # Only whole numbers: whoever writes 0.1 expects rounding, but an id of 17 digits must not become another id.
    rows = pc.indices_nonzero(pc.and_(may_be_rounded(floats), pc.match_substring_regex(text, WHOLE)))
    written, read = text.take(rows).to_pylist(), floats.take(rows).to_pylist()
    for row, cell, value in zip(rows.to_pylist(), written, read, strict=True):
        # exact, as comparisons of the two are, and without the limit on the digits of an int
        if Decimal(cell) != value:
            _refuse(text, row, "cannot be stored exactly as a 64-bit float", field, place)


def first(flags: pa.ChunkedArray) -> int | None:
    """Return the first row whose flag is true; None if no flag is."""
    row: int = pc.index(flags, True).as_py()
    return row if row >= 0 else None


def first_failure(column: pa.ChunkedArray, convert: Callable[[pa.ChunkedArray], object]) -> int:
    """Return the first row for which the conversion of the column raises ArrowInvalid; there must be one."""
    good, bad = 0, len(column)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            # Rows before `good` are known to convert, so only the new half is tried; the work is linear in the column.
            convert(column.slice(good, middle - good))
            good = middle
        except pa.ArrowInvalid:
            bad = middle
    return good


def _numbers(text: pa.ChunkedArray, value_type: ValueType, field: str, place: RowLocation) -> pa.ChunkedArray:
    def convert(cells: pa.ChunkedArray) -> pa.ChunkedArray:
        return cells.cast(ARROW[value_type])

    try:
        values = convert(text)
    except pa.ArrowInvalid:
        _refuse(text, first_failure(text, convert), "does not fit in 64 bits", field, place)
    if value_type == "float":
        require_kept(text, values, field, place)
    return values


def _timestamps(text: pa.ChunkedArray, field: str, place: RowLocation) -> pa.ChunkedArray:
    """Parse texts as times. Arrow reads the usual forms at once; for others, parse_time, which defines the forms, reads
    each text.
    """
    # Arrow's cast to a type with a zone needs an offset in each text, and a time of day.
    offset = pc.if_else(pc.match_substring_regex(text, ZONE), "", "Z")
    rest = pc.if_else(pc.match_substring_regex(text, DATE), "T00:00:00Z", offset)
    try:
        times = pc.binary_join_element_wise(text, rest, "").cast(ARROW["timestamp"])
        if _first_out_of_years(times) is None:
            return times
    except pa.ArrowInvalid:
        pass
    parsed: list[datetime | None] = []
    for row, cell in enumerate(text.to_pylist()):
        try:
            parsed.append(None if cell is None else parse_time(cell, keep_nanoseconds=True))
        except ValueError as error:
            _refuse(text, row, f"{error}{blanks_around(cell)}", field, place)
    if (row_ := first_out_of_range(parsed)) is not None:
        _refuse(text, row_, NANOSECONDS_OUT_OF_RANGE, field, place)
    return pa.chunked_array([array_of_times(parsed)])


def _first_out_of_years(times: pa.ChunkedArray) -> int | None:
    """Return the first row whose time, in microseconds, is outside the years 1 to 9999."""
    ticks = times.cast(pa.int64())
    low, high = (bound.as_py() for bound in pc.min_max(ticks).values())
    if low is None or (low >= EARLIEST and high <= LATEST):
        return None
    return first(pc.or_(pc.less(ticks, EARLIEST), pc.greater(ticks, LATEST)))


def _refuse(text: pa.ChunkedArray, row: int, problem: str, field: str, place: RowLocation) -> NoReturn:
    raise InputError(f"{place(row)}, field {field!r}: {quote_text(text[row].as_py())} {problem}")


EARLIEST, LATEST = map(microseconds, (datetime.min, datetime.max))
LARGEST_TEXTS, MOST_REPEATED = 2**30, 16
"""The texts of a dictionary may take a gigabyte plus 16 times the memory of the column."""


def arrow_table(source: object, unread: dict[str, str] | None = None) -> pa.Table:
    """Return the Arrow table of a table or data frame of any library. Raises InputError.

    It accepts Arrow tables and record batches, pandas frames (without their index), and objects with the method
    `__arrow_c_stream__` or `__arrow_c_array__`, such as polars frames. NaN in a pandas frame becomes null. If `unread`
    is given, pandas columns that Arrow cannot represent are left out, and `unread` gets the reasons.
    """
    try:
        table = _converted(source, unread)
        table.validate(full=True)  # that texts are UTF-8, which Arrow does not check when it receives them
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"this {type(source).__name__} cannot be read as a table of events: {error}") from None
    return table


def _converted(source: Any, unread: dict[str, str] | None) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):  # "pandas" alone in 3
        return _of_pandas(source) if unread is None else _parts_of_pandas(source, unread)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return pa.Table.from_batches(list(timed_items(reader, 1)), reader.schema)  # there may be no end of them
    return pa.Table.from_batches([pa.record_batch(source)])


def _parts_of_pandas(frame: Any, unread: dict[str, str]) -> pa.Table:
    """Return the table of the columns that Arrow can represent; add the other columns to `unread`, with the reasons."""
    try:
        return _of_pandas(frame)
    except (InputError, pa.ArrowException, TypeError, ValueError):
        if len(set(frame.columns)) < len(frame.columns):
            raise
    columns: dict[str, Any] = {}
    for name in frame.columns:
        try:
            # Column by column: a failure of the whole frame does not say which columns are at fault.
            columns[str(name)] = _of_pandas(frame[[name]]).column(0)
        except InputError as error:
            unread[str(name)] = error.message
        except (pa.ArrowException, TypeError, ValueError) as error:
            unread[str(name)] = f"column {name!r}: {error}"
    return pa.table(columns)


def _of_pandas(frame: Any) -> pa.Table:
    try:
        return _whole_numbers_with_gaps(pa.Table.from_pandas(frame, preserve_index=False), frame)
    except OverflowError:  # which has neither column nor row
        large = (
            f"row {row}, column {name!r}: {short_repr(value)}"
            for name, column in frame.items()
            for row, value in enumerate(column)
            if isinstance(value, int) and value not in INT64
        )
        raise InputError(f"{next(large, 'a whole number')} does not fit in 64 bits") from None
    except pa.ArrowException:  # which has the column, but no row
        for name, column in frame.items():
            if column.dtype == object and (found := _misfit(column)) is not None:
                raise InputError(f"column {name!r}: {found}; an attribute has values of one type") from None
        raise


def _whole_numbers_with_gaps(table: pa.Table, frame: Any) -> pa.Table:
    """Return the table with integers where pandas has floats only because some cells are missing."""
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        # Without gaps pandas would have kept integers, so floats were meant; a column of nulls shows nothing.
        if not 0 < column.null_count < len(column) or str(frame.dtypes.iloc[at]) != "float64":
            continue
        if pc.all(pc.and_(pc.equal(column, pc.floor(column)), pc.invert(may_be_rounded(column)))).as_py():
            table = table.set_column(at, name, column.cast(pa.int64()))
    return table


def _misfit(column: Any) -> str | None:
    """Describe the first value that Arrow cannot store in a column with the column's first value; None if all fit."""
    values = [(row, value) for row, value in enumerate(column) if value is not None]
    for row, value in values:
        try:
            pa.array([values[0][1], value], from_pandas=True)
        except pa.ArrowException:
            if value is values[0][1]:
                return f"row {row} has {short_repr(value)}, which Arrow cannot represent"
            return f"row {row} has {short_repr(value)}, but row {values[0][0]} has {short_repr(values[0][1])}"
    return None


def stream_table(table: pa.Table, type_column: str, checked: bool = True) -> pa.Table:
    """Return the table with each column converted to the type in ARROW that a stream uses for its values. Raises
    InputError.

    The table must have the column `type_column`, of texts without nulls. If `checked` is false, only the presence of
    that column is checked, and nothing is converted.
    """
    if type_column not in table.column_names:
        names = table.column_names
        hint = did_you_mean(type_column, names) or "; name it with as_stream(events, type_column='...')"
        there = f"the columns are {', '.join(names)}" if names else "there are no columns"
        raise InputError(f"no column {type_column!r} for the event type; {there}{hint}")
    if not table.num_rows:  # the columns of a frame without rows are of any type
        table = table.set_column(table.column_names.index(type_column), type_column, pa.array([], ARROW["string"]))
    if not checked:
        return table
    table = _with_value_types(table)
    if table[type_column].type != ARROW["string"] and not pa.types.is_dictionary(table[type_column].type):
        raise InputError(f"the column {type_column!r} holds {table[type_column].type}; the event type must be a string")
    nulls = table[type_column].is_null().to_pylist() if table[type_column].null_count else []
    if nulls:
        raise InputError(f"row {nulls.index(True)}: the column {type_column!r} is empty; every event needs a type")
    return table


def table_of_values(
    type_column: str,
    types: Sequence[str],
    value_types: Mapping[str, ValueType],
    values: Mapping[str, Sequence[Value | None]],
) -> pa.Table:
    """Return the table of a stream from its event types, and from the value type and the values of each attribute.

    Each sequence has one element per event. Raises InputError for a value that is not of its attribute's type.
    """
    arrays = {type_column: pa.array(types, pa.string())}
    for name, value_type in value_types.items():
        # Arrow would turn True and 1.5 into 1
        # By class, so that each class is looked at once and not each value.
        for class_ in set(map(type, values[name])) - {type(None)}:
            position = next(i for i, value in enumerate(values[name]) if type(value) is class_)
            found = value_type_of(cast("Value", values[name][position]))
            if found != value_type and (found, value_type) != ("int", "float"):
                told = f"the value has type {found}, but the column has type {value_type}"
                raise InputError(f"event {position}, attribute {name!r}: {told}")
        try:
            is_time = value_type == "timestamp"
            arrays[name] = array_of_times(values[name]) if is_time else pa.array(values[name], ARROW[value_type])  # type: ignore[arg-type]
        except OverflowError:
            if (row := first_out_of_range(values[name])) is not None:
                reason = f"{values[name][row]} {NANOSECONDS_OUT_OF_RANGE}"
                raise InputError(f"event {row}, attribute {name!r}: {reason}") from None
            position, large = next((i, v) for i, v in enumerate(values[name]) if isinstance(v, int) and v not in INT64)
            raise InputError(
                f"event {position}, attribute {name!r}: {short_repr(large)} does not fit in 64 bits"
            ) from None
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(
                f"attribute {name!r}: not every value fits the column's type {value_type}: {error}"
            ) from None
    return pa.table(arrays)


def values_in(column: pa.ChunkedArray) -> list[Value | None]:
    """Return the values of a column as Python values, with None for each null. The column's type must be in ARROW."""
    if pa.types.is_timestamp(column.type):
        # read as ticks from the epoch: as_py of a zoned timestamp needs a time zone database
        if is_nanoseconds(column.type):
            return [None if t is None else time_at_nanoseconds(t) for t in column.cast(pa.int64()).to_pylist()]
        ticks = column.cast(ARROW["timestamp"]).cast(pa.int64()).to_pylist()
        return [None if t is None else time_at(t) for t in ticks]
    values: list[Value | None] = column.to_pylist()
    return values


def _with_value_types(table: pa.Table) -> pa.Table:
    """Return the table with every column in a type of ARROW; texts may stay dictionaries. Raises InputError."""
    names, types = table.column_names, table.schema.types
    if len(set(names)) < len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {doubled!r}; give each its own name")
    # A column of these types is taken as it is; a timestamp may be outside the years that Python has.
    ready = {arrow.id for name, arrow in ARROW.items() if name != "timestamp"}
    if all(type_.id in ready for type_ in types):
        return table
    return pa.table({name: _normalize_column(table[name], name) for name in names})


def _normalize_column(column: pa.ChunkedArray, field: str) -> pa.ChunkedArray:
    """Return the column in its canonical type; a dictionary of distinct texts stays as it is."""
    return column if has_each_text_once(column) else canonical(column, field, "the table", "row {}".format)


def has_each_text_once(column: pa.ChunkedArray) -> bool:
    """Return whether a column is dictionary-encoded, with a dictionary of distinct texts and without nulls."""
    if not pa.types.is_dictionary(column.type) or column.type.value_type != ARROW["string"]:
        return False
    dictionaries = [chunk.dictionary for chunk in column.chunks]
    # With a text twice in the dictionary, two codes would stand for one event type.
    return all(d.null_count == 0 and len(pc.unique(d)) == len(d) for d in dictionaries)


def is_text(type_: pa.DataType) -> bool:
    """Return whether a column of this type has texts."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def value_type_of_column(type_: pa.DataType) -> ValueType | None:
    """Return the value type of a column with this Arrow type.

    None for dictionaries and decimals, which have to be decoded first, and for types that no attribute has.
    """
    is_ = pa.types
    if is_.is_boolean(type_):
        return "bool"
    if is_.is_integer(type_):
        return "int"
    if is_.is_floating(type_):
        return "float"
    if is_text(type_):
        return "string"
    return "timestamp" if is_.is_timestamp(type_) or is_.is_date(type_) else None


def require_moderate(column: pa.ChunkedArray, field: str, name: str) -> None:
    """Raise InputError if decoding a dictionary of texts would take far more memory than the column takes now."""
    indices = sum(chunk.indices.nbytes for chunk in column.chunks)
    # chunks may share a dictionary, which may be of views, of which Arrow knows no nbytes
    dictionaries = max((chunk.dictionary.get_total_buffer_size() for chunk in column.chunks), default=0)
    most = LARGEST_TEXTS + MOST_REPEATED * (indices + dictionaries)
    # none of the texts is longer than the dictionary
    if is_text(column.type.value_type) and len(column) * dictionaries > most:
        size = sum(map(_bytes_of_texts, column.chunks))
        if size > most:
            raise InputError(
                f"{name}, field {field!r}: its texts take {size:,} bytes, but the column has "
                f"{indices + dictionaries:,}; store the texts without a dictionary"
            )


def _decoded(column: pa.ChunkedArray, field: str, name: str) -> pa.ChunkedArray:
    """Replace a dictionary by its values. Raises InputError if they take far more memory than the column does."""
    require_moderate(column, field, name)
    if pa.types.is_string_view(column.type.value_type):  # polars has these dictionaries, and Arrow cannot cast them
        column = pa.chunked_array(
            map(_of_plain_texts, column.chunks), pa.dictionary(column.type.index_type, pa.string())
        )
    try:
        return column.cast(column.type.value_type)
    except pa.ArrowException as error:  # as for a chunk of more than 2 GiB, or intervals of pandas
        raise InputError(f"{name}, field {field!r}: its values cannot be read: {error}") from None


def _of_plain_texts(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))


def _bytes_of_texts(chunk: pa.DictionaryArray) -> int:
    """Return the number of bytes that the texts of a chunk take without the dictionary."""
    lengths = pc.binary_length(chunk.dictionary.cast(pa.large_string()))
    return pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0


def canonical(column: pa.ChunkedArray, field: str, name: str, place: RowLocation) -> pa.ChunkedArray:
    """Return the column converted to the Arrow type that a stream uses for its values; a column of nulls is unchanged.

    Dictionaries are decoded, and times without an offset are taken as UTC. Raises InputError for an unsupported type,
    and for a value that would change.
    """
    if pa.types.is_null(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        return canonical(_decoded(column, field, name), field, name, place)
    value_type = value_type_of_column(column.type)
    if value_type is None:
        raise InputError(
            f"{name}, field {field!r}: the column has type {column.type}; an attribute must be {', '.join(ARROW)}; "
            f"convert the column or leave it out"
        )
    column = lossless(column, value_type, field, place)
    if value_type == "timestamp" and not is_nanoseconds(column.type):
        row = _first_out_of_years(column)
        if row is not None:
            raise InputError(f"{place(row)}, field {field!r}: the time is outside the years 1 to 9999")
    return column


def lossless(column: pa.ChunkedArray, value_type: ValueType, field: str, place: RowLocation) -> pa.ChunkedArray:
    """Convert the column to the Arrow type of a value type. Raises InputError, which names the row, if a value would
    change.

    Times keep their nanoseconds.
    """

    def convert(values: pa.ChunkedArray) -> pa.ChunkedArray:
        return values.cast(ARROW[value_type])

    try:
        return convert(column)
    except pa.ArrowInvalid:
        if value_type == "timestamp" and is_nanoseconds(column.type):
            return column.cast(nanosecond_type())
        row = first_failure(column, convert)
        value = column.slice(row, 1).cast(pa.string())[0].as_py()
        problem = (
            BEYOND_NANOSECONDS if value_type == "timestamp" else f"cannot be stored exactly as a 64-bit {value_type}"
        )
        raise InputError(f"{place(row)}, field {field!r}: {value} {problem}") from None
