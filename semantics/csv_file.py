"""CSV files as Arrow tables, with the line of each row for messages.

A header line names the columns. An empty cell, quoted or not, is an absent value: CSV cannot tell an empty string from
none. Columns whose value type is known are read as text and converted; the others get the type that Arrow infers from
all their cells. A whole number that a column of floats would round is refused. A column without a name and without
values, as trailing commas write it, is left out with an InputWarning; one with values is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from cerify.semantics.arrow_inputs import native_file
from cerify.semantics.csv_rows import Source, first_doubled, line_of, not_csv, not_utf8, require_closed_quotes
from cerify.semantics.errors import InputError, InputWarning
from cerify.semantics.packages import arrow_csv, pa, pc
from cerify.semantics.text_columns import first, may_be_rounded, require_kept, values_of_text
from cerify.semantics.values import ValueType, shown


def read_csv(source: Source, known: Mapping[str, ValueType]) -> pa.Table:
    """The table of a CSV file, given the value types of some of its columns, or of others too. Raises InputError."""
    require_closed_quotes(source)
    texts = dict.fromkeys(known, pa.string())
    table = _parsed(source, texts)
    if times := [f.name for f in table.schema if pa.types.is_time(f.type)]:  # to Arrow, not to us, 12:30 is a value
        table = _parsed(source, texts | dict.fromkeys(times, pa.string()))
    if any(pa.types.is_binary(field.type) for field in table.schema):  # inferred for text that is not UTF-8
        raise InputError(not_utf8(source))

    def place(row: int) -> str:
        return line_of(source, row)

    table = _named(source, table)
    names = table.column_names
    table = pa.Table.from_arrays(  # at once: a table with one column replaced is a copy of all of them
        [
            values_of_text(column, known[name], name, place) if name in known else column
            for name, column in zip(names, table.columns, strict=True)
        ],
        names,
    )
    inferred = [f.name for f in table.schema if f.name not in known and pa.types.is_floating(f.type)]
    if large := [name for name in inferred if pc.any(may_be_rounded(table[name])).as_py()]:  # seldom: read twice
        written = _parsed(source, dict.fromkeys(large, pa.string()))
        for name in large:
            require_kept(written[name], table[name], name, place)
    return table


def _parsed(source: Source, column_types: Mapping[str, pa.DataType]) -> pa.Table:
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
                ),
            )
            names = table.column_names
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise InputError(not_csv(source, str(error))) from None
    if (doubled := first_doubled([name for name in names if name.strip()])) is not None:
        raise InputError(f"{source.name}, line 1: two columns are called {doubled!r}; give each its own name")
    return table


def _named(source: Source, table: pa.Table) -> pa.Table:
    """The table without the columns that have neither a name nor a value. Raises InputError for one with a value."""
    unnamed = [i for i, name in enumerate(table.column_names) if not name.strip()]
    for i in unnamed:
        if (row := first(table.column(i).is_valid())) is not None:
            raise InputError(
                f"{line_of(source, row)}, column {i + 1}: {shown(str(table.column(i)[row].as_py()))}, but the column "
                "has no name in line 1; name it there, or write the file without it"
            )
    if not unnamed:
        return table
    places = ", ".join(str(i + 1) for i in unnamed)
    warnings.warn(InputWarning(f"{source.name}: left out without name and values: column {places}"), stacklevel=4)
    return table.select([i for i in range(table.num_columns) if i not in unnamed])
