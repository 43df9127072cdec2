"""Large files of JSON Lines as Arrow tables, by Arrow's reader.

json_events.py defines what such a file means, and writes the messages about what is wrong with it. Arrow's reader is
used where it can be seen that it read the same: each line one object, no number that it may have rounded, and texts as
texts, also those that look like times. For all else there is no table here, and the file is read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cerify.semantics.arrow_inputs import native_buffer
from cerify.semantics.arrow_tables import fitted_table
from cerify.semantics.arrow_types import ARROW
from cerify.semantics.csv_rows import Source
from cerify.semantics.default_type import with_type
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME
from cerify.semantics.packages import arrow_json, pa, pc
from cerify.semantics.text_columns import may_be_rounded, values_of_text

TEXTS = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*+"')  # within a line: Arrow reads blocks of lines on their own
FIRST = 2**20  # bytes that tell which columns look like times; others that do are found when all are read


def table_of_json_lines(
    source: Source, reserved: Mapping[str, str], type_column: str, default_type: str | None
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
