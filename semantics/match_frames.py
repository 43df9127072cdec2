"""Matches as tables that people read: columns for the attributes of each variable, for results, and for open matches.

`Matches.to_arrow()` without a stream has only positions, the form that programs exchange. Here a row has the attributes
of its match's events, so that an analyst need not join positions with rows. A variable that binds one event in each
match has columns of values; a variable that binds several events in some match has columns of lists.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Literal, overload

from cerify.semantics.arguments import did_you_mean, not_collecting, timed_items
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import TYPE, Events, Match, Stream
from cerify.semantics.packages import naming_extras, np, pa, pc
from cerify.semantics.values import (
    NanosecondInterval,
    NanosecondTime,
    has_nanoseconds,
    nanoseconds,
    nanoseconds_of_interval,
    plain,
    show_time,
)

OutputFormat = Literal["csv", "parquet", "jsonl"]
ROWS_TOGETHER = 100_000  # of a file of text, so that the texts of a part fit one array
OUTPUT_SUFFIXES: Mapping[str, OutputFormat] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


@dataclass(frozen=True)
class PositionArrays:
    """Matches as integer arrays of NumPy: match i has the positions events[offsets[i]:offsets[i + 1]]."""

    at: Any
    offsets: Any
    events: Any

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, i: int) -> Match:
        start, end = self.offsets[i], self.offsets[i + 1]
        return Match(int(self.at[i]), tuple(self.events[start:end].tolist()))

    @classmethod
    def joined(cls, parts: Sequence[PositionArrays]) -> PositionArrays:
        """Concatenate the matches of these parts, in order."""
        none = np.empty(0, np.int64)
        lengths = np.concatenate([none, *(np.diff(part.offsets) for part in parts)])
        at, events = (np.concatenate([none, *some]) for some in ([p.at for p in parts], [p.events for p in parts]))
        return cls(at, np.append(0, np.cumsum(lengths)), events)

    def shifted(self, by: int) -> PositionArrays:
        """Return the matches with all positions increased by `by`."""
        return PositionArrays(self.at + by, self.offsets, self.events + by) if by else self

    def part(self, start: int, end: int) -> PositionArrays:
        """Return the matches from index start up to end."""
        offsets = self.offsets[start : end + 1]
        return PositionArrays(self.at[start:end], offsets - offsets[0], self.events[offsets[0] : offsets[-1]])

    def json_lines(self) -> str:
        """Return each match as a line of JSON; the last line has no line break.

        Arrow puts the numbers into the text of one match, which is faster than to make an object for each.
        """
        # The template is made by `Match.json`, so that the two forms of a line cannot drift apart.
        before, between, after = re.split("-1|-2", json.dumps(Match(-1, (-2,)).json()))
        texts = pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), pa.array(self.events).cast(pa.string()))
        positions, at = pc.binary_join(texts, ", "), pa.array(self.at).cast(pa.string())
        lines = pc.binary_join_element_wise(before, at, between, positions, after, "")
        return str(_joined(lines, "\n"))

    def make_objects(self) -> list[Match]:
        """Return all matches as objects of the class Match."""
        events, ends = self.events.tolist(), self.offsets.tolist()
        with not_collecting():
            bounds = zip(self.at.tolist(), ends[:-1], ends[1:], strict=True)
            return [Match(at, tuple(events[start:end])) for at, start, end in timed_items(bounds)]

    def table(self) -> pa.Table:
        """Return the matches as the table that `Matches.to_arrow` returns without a stream."""

        return table_of_positions(pa.array(self.at, pa.int64()), self.lists())

    def lists(self) -> pa.Array:
        """Return the positions of the events of each match, as an Arrow array of lists."""
        return pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), pa.array(self.events, pa.int64()))


class MatchColumns:
    """The columns of some matches over a stream.

    attributes: the attributes to show, in order; None for all that the matches' events have, in the order of the
    stream. open_: for each match, whether it is open. Raises IllFormed for an attribute that no event has.
    """

    def __init__(
        self,
        matches: Sequence[Match],
        S: Stream,
        attributes: Sequence[str] | None = None,
        open_: Sequence[bool] | None = None,
    ) -> None:
        self._matches = matches
        self._arrays = matches.arrays if isinstance(matches, Matches) and S.is_columnar else None
        shown = dict.fromkeys(S.attribute_names())
        if missing := [name for name in attributes or () if name not in shown and name != TYPE]:
            S.require_read(missing)
            shown = dict.fromkeys(S.attribute_names())  # with those that ask for elements of lists
        self._S = S
        known = {TYPE, *S.known_attributes(shown)}
        for name in attributes or ():
            if name not in known:
                raise IllFormed(f"no event has the attribute {name!r}{did_you_mean(name, known)}")
        self._attributes = list(shown) if attributes is None else list(attributes)
        self._open = open_ if open_ is not None and any(open_) else None

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns by name: `at`, `events`, attributes of variables, results, and `open` if a match is open.

        The columns are lists; they are Arrow arrays if both the matches and the stream are arrays.
        """
        if self._arrays is None:
            found = self._columns_of_matches()
        else:
            matches = PlacedMatches(self._arrays, self._S)
            layout = TableLayout(self._attributes)
            layout.add(matches)
            found = layout.columns_of(matches)
        if self._open is not None:
            found[_free("open", found)] = [True if is_open else None for is_open in self._open]
        return found

    def columns_of_attributes(self) -> dict[str, Sequence[Any]]:
        """Return all columns except the positions, `at` and `events`."""
        return {name: values for name, values in self.columns().items() if name not in ("at", "events")}

    def _columns_of_matches(self) -> dict[str, Any]:
        matches = self._matches
        found: dict[str, list[Any]] = {
            "at": [match.at for match in matches],
            "events": [list(match.events) for match in matches],
        }
        bound = [dict(self._bindings(match)) for match in matches]
        for variable in dict.fromkeys(name for bindings in bound for name in bindings):
            places = [bindings.get(variable, ()) for bindings in bound]
            # All matches decide together: a column has one type, so one match with two events makes lists of all cells.
            several = any(len(some) > 1 for some in places)
            for attribute in self._attributes:
                cells = [[self._value(p, attribute) for p in some] for some in places]
                if all(value is None for cell in cells for value in cell):
                    continue
                name = _free(f"{variable}.{attribute}", found)
                found[name] = cells if several else [cell[0] if cell else None for cell in cells]
        results = [match.result.attributes if match.result is not None else {} for match in matches]
        for name in dict.fromkeys(name for result in results for name in result):
            found[_free(name, found)] = [result.get(name) for result in results]
        return found

    def _bindings(self, match: Match) -> Iterable[tuple[str, tuple[int, ...]]]:
        """Return the positions of each variable; without bindings each event type serves as a variable."""
        if match.bindings is not None:
            # in the order of the first events, as a pattern is read
            return sorted(match.bindings, key=lambda one: one[1][:1])
        found: dict[str, list[int]] = {}
        for p in match.events:
            found.setdefault(self._S[p].type, []).append(p)
        return [(type_, tuple(places)) for type_, places in found.items()]

    def _value(self, p: int, attribute: str) -> Any:
        event = self._S[p]
        return event.type if attribute == TYPE else event.get(attribute)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


class TableLayout:
    """The columns of a table of matches that are stored as arrays.

    Columns are named as in MatchColumns, with event types in place of variables. All matches together decide about
    columns: a column exists if one of them has a value in it, and has lists if one of them has several events of the
    type. So the matches are added first, perhaps in parts, and then their columns are made, without an object for an
    event or a match.

    attributes: the attributes to show, in order; None for all that events have, in the order of the stream. firsts: for
    each attribute the first position with a value. types: the event types of the matches, in order, each with True if a
    match has several events of the type. filled: the pairs of an event type and an attribute with a value in a match.
    """

    def __init__(self, attributes: Sequence[str] | None = None) -> None:
        self._attributes = attributes
        self.firsts: dict[str, int] = {}
        self.types: dict[str, bool] = {}
        self.filled: set[tuple[str, str]] = set()

    def copy(self) -> TableLayout:
        """Return an independent copy of this layout."""
        other = TableLayout(self._attributes)
        other.firsts, other.types, other.filled = {**self.firsts}, {**self.types}, {*self.filled}
        return other

    @property
    def columns(self) -> list[tuple[str, str, bool]]:
        """Return (event type, attribute, whether the column has lists) for each column that the added matches need."""
        shown = sorted(self.firsts, key=self.firsts.__getitem__) if self._attributes is None else self._attributes
        pairs = ((R, name, several) for R, several in self.types.items() for name in shown)
        return [column for column in pairs if column[:2] in self.filled]

    def add(self, matches: PlacedMatches) -> None:
        """Add matches: the columns that they need are then in `columns`."""
        table = matches.S.table
        for name in table.column_names:
            if name not in self.firsts and name != TYPE:
                place = pc.index(table[name].is_valid(), True).as_py()
                self.firsts.update({name: matches.first + place} if place >= 0 else {})
        for R, (places, counts) in matches.by_type.items():
            self.types[R] = self.types.get(R, False) or bool(counts.max() > 1)
            for name in self.firsts if self._attributes is None else self._attributes:
                if (R, name) not in self.filled and (
                    not table[name].null_count or pc.any(table[name].is_valid().take(places)).as_py()
                ):
                    self.filled.add((R, name))

    def columns_of(self, matches: PlacedMatches) -> dict[str, Any]:
        """Return the columns of matches, as Arrow arrays."""
        table, number, moved = matches.S.table, len(matches.arrays), matches.arrays.shifted(matches.first)
        found = {"at": pa.array(moved.at, pa.int64()), "events": moved.lists()}
        for R, name, several in self.columns:
            places, counts = matches.by_type.get(R, (np.empty(0, np.int64), np.zeros(number, np.int64)))
            column = table[name]
            if pa.types.is_dictionary(column.type):
                # The dictionary is how a file or reader stores the column. Users of the table expect texts.
                column = column.cast(pa.string())
            cells = column.take(pa.array(places)).combine_chunks()
            if several:
                cells = pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(counts)), pa.int32()), cells)
            elif len(cells) < number:
                # A match without an event of this type gets a null, so that each column has one cell for each match.
                cells = cells.take(pa.array(np.cumsum(counts) - 1, mask=counts == 0))
            found[_free(f"{R}.{name}", found)] = cells
        return found


@dataclass(frozen=True)
class PlacedMatches:
    """Matches in arrays, and the stream with their events. first: the position of the stream's first event."""

    arrays: PositionArrays
    S: Stream
    first: int = 0

    @cached_property
    def by_type(self) -> dict[str, tuple[Any, Any]]:
        """Return, for each event type in the matches, (rows, counts).

        rows: the stream's rows of the matched events of the type, match by match. counts: how many of them each match
        has. The types are in the order in which they first occur in the matches.
        """
        events, number = self.arrays.events, len(self.arrays)
        owners = np.repeat(np.arange(number), np.diff(self.arrays.offsets))
        types = self.S.coded_types.indices.to_numpy()[events]
        found = [(code, np.flatnonzero(types == code)) for code in np.flatnonzero(np.bincount(types))]
        return {
            self.S.coded_types.dictionary[code].as_py(): (events[of], np.bincount(owners[of], minlength=number))
            for code, of in sorted(found, key=lambda one: one[1][0])
        }


def table_of_columns(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return the table with these columns; a column with values of several kinds becomes a column of JSON texts."""
    arrays = {}
    for name, values in columns.items():
        if isinstance(values, pa.Array):
            arrays[name] = values
            continue
        try:
            kind = None
            if name == "at" and all(type(value) is int for value in values):
                kind = pa.int64()
            elif name == "events" and all(isinstance(value, list) for value in values):
                kind = pa.list_(pa.int64())
            arrays[name] = _array_of(values, kind)
        except (pa.ArrowException, OverflowError):
            arrays[name] = pa.array([None if v is None else json.dumps(plain(v), ensure_ascii=False) for v in values])
    return pa.table(arrays)


def _array_of(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array:
    """Return the values as an Arrow array. Times and intervals keep their nanoseconds, which Arrow alone would drop."""
    known = [value for cell in values for value in (cell if isinstance(cell, list) else [cell]) if value is not None]
    of_times = has_nanoseconds(known) and all(isinstance(value, datetime) for value in known)
    fine = {NanosecondTime, NanosecondInterval} & set(map(type, known))
    if not fine or not (of_times or all(isinstance(value, timedelta) for value in known)):
        if fine:
            raise pa.ArrowInvalid("times with nanoseconds and others")
        return pa.array(values, kind)
    ticks = nanoseconds if of_times else nanoseconds_of_interval
    whole = [
        [None if v is None else ticks(v) for v in c] if isinstance(c, list) else None if c is None else ticks(c)
        for c in values
    ]
    exact = pa.timestamp("ns", tz="UTC") if of_times else pa.duration("ns")
    lists = any(isinstance(cell, list) for cell in values)
    return pa.array(whole, pa.list_(pa.int64()) if lists else pa.int64()).cast(pa.list_(exact) if lists else exact)


def written_table(columns: Mapping[str, Sequence[Any]], format: OutputFormat) -> bytes:
    """Return the bytes of a file with these columns, in this format. In CSV, lists are written as JSON."""
    if format == "parquet" or all(isinstance(values, pa.Array) for values in columns.values()):
        file = io.BytesIO()
        with table_writer(file, format) as write:
            write(columns)
        return file.getvalue()
    rows = zip(*map(_python_values, columns.values()), strict=True)
    match format:
        case "jsonl":
            objects = ({name: plain(v) for name, v in zip(columns, row, strict=True) if v is not None} for row in rows)
            return "".join(json.dumps(obj, ensure_ascii=False) + "\n" for obj in objects).encode()
        case "csv":
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([shown_cell(value) for value in row] for row in rows)
            return text.getvalue().encode()


@contextmanager
def table_writer(file: BinaryIO, format: OutputFormat) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Return a context with a function that writes the next rows, given as columns; all calls have the same columns.

    In formats of text the columns are Arrow arrays.
    """
    parquet: Any = None
    header = True

    def write(columns: Mapping[str, Any]) -> None:
        nonlocal parquet, header
        table = table_of_columns(columns)
        if format == "parquet":
            import pyarrow.parquet as pq

            parquet = parquet or pq.ParquetWriter(file, table.schema)
            parquet.write_table(table)
            return
        if header and format == "csv":
            file.write(_written_row(columns).encode())
        header = False
        for part in table.to_batches(ROWS_TOGETHER):
            file.write(_written_rows(part, format))

    try:
        yield write
    finally:
        if parquet is not None:
            parquet.close()


def _written_row(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _written_rows(rows: pa.RecordBatch, format: OutputFormat) -> bytes:
    """Return the bytes that `written_table` returns for these rows, without making an object for each value."""
    fields: list[Any] = []
    for name, values in zip(rows.schema.names, rows.columns, strict=True):
        if format == "jsonl":  # a null is left out with its name
            texts = pc.binary_join_element_wise(f"{', ' if fields else '{'}{_json(name)}: ", _texts(values, _json), "")
        else:
            texts = _texts(values, lambda value: _written_row([shown_cell(value), ""])[:-2])
            if pa.types.is_list(values.type):
                quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
                texts = pc.if_else(pc.match_substring_regex(texts, '[,"]'), quoted, texts)
        fields.append(pc.fill_null(texts, ""))
    between, end = ("", "}\n") if format == "jsonl" else (",", "\n")
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*fields, between), end, "")
    return bytes(_joined(lines, "").as_buffer())


def _joined(texts: pa.Array, between: str) -> pa.Scalar:
    return pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), between)[0]


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _texts(values: pa.Array, encode: Callable[[Any], str]) -> pa.Array:
    """Return the text of each value, null for a null; the text of a list is JSON."""
    from cerify.semantics.arrow_columns import values_in

    if pa.types.is_list(values.type):
        elements = pc.fill_null(_texts(values.flatten(), _json), "null")
        lists = pa.ListArray.from_arrays(pc.subtract(values.offsets, values.offsets[0]), elements)
        return pc.binary_join_element_wise("[", pc.binary_join(lists, ", "), "]", "")
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    if pa.types.is_floating(values.type):  # a dictionary would take 0.0 and -0.0 for one value
        return pa.array([None if v is None else encode(v) for v in values_in(values)], pa.string())
    if pa.types.is_timestamp(values.type) and values.type.unit != "ns":  # as show_time writes them
        texts = values.cast(pa.timestamp("us")).cast(pa.string())  # with a zone this takes ten times as long
        texts = pc.binary_replace_slice(texts, 10, 11, "T")
        texts = pc.if_else(pc.ends_with(texts, ".000000"), pc.binary_replace_slice(texts, 19, 26, ""), texts)
        before, after = encode("x").split("x")  # quotes, in JSON
        return pc.binary_join_element_wise(before, texts, f"Z{after}", "")
    # Each distinct value is encoded once: columns of an export repeat their values.
    coded = values.dictionary_encode()
    return pa.array([encode(v) for v in values_in(coded.dictionary)], pa.string()).take(coded.indices)


def _python_values(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of an Arrow array, or of lists in it, as Python values; other sequences as they are."""
    if not isinstance(values, pa.Array):
        return values
    from cerify.semantics.arrow_columns import values_in

    if not pa.types.is_list(values.type):
        return values_in(values)
    cells, ends = values_in(values.values), values.offsets.to_pylist()
    return [cells[start:end] for start, end in pairwise(ends)]


def shown_cell(value: Any) -> str:
    """Return the text of a cell: "" for None; true, false and lists as in JSON."""
    if value is None:
        return ""
    if isinstance(value, bool | list | tuple | Mapping):
        return json.dumps(plain(value), ensure_ascii=False)
    return show_time(value) if isinstance(value, datetime) else str(value)


class Matches(Sequence[Match]):
    """The matches of a query: a sequence that is equal to any list of the same matches.

    They are made from objects, or from the arrays of compiled loops. Arrays give the number of matches and their
    columns without making objects.

      >>> import cerify
      >>> found = cerify.match("A ; B", [{"type": "A"}, {"type": "B"}])
      >>> found[0].events, found == [cerify.Match(1, (0, 1))]
      ((0, 1), True)

    open: for each match, whether future events could still remove it; None if no match is open. An open match ends in a
    negation whose window is not over at the end of the stream.
    """

    def __init__(self, matches: Iterable[Match] | PositionArrays = ()) -> None:
        if isinstance(matches, Matches):
            matches = matches._found
        self._found: list[Match] | PositionArrays
        self._found = matches if isinstance(matches, list | PositionArrays) else list(matches)
        self.open: Sequence[bool] | None = None

    @property
    def arrays(self) -> PositionArrays | None:
        """Return the matches as arrays; None if they exist as objects."""
        return self._found if isinstance(self._found, PositionArrays) else None

    @property
    def _list(self) -> list[Match]:
        if isinstance(self._found, PositionArrays):
            self._found = self._found.make_objects()
        return self._found

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Match]:
        return iter(self._list)

    @overload
    def __getitem__(self, i: int) -> Match: ...
    @overload
    def __getitem__(self, i: slice) -> list[Match]: ...
    def __getitem__(self, i: int | slice) -> Match | list[Match]:
        # A single match is made alone: showing the first of a million must not make all objects.
        if isinstance(i, int) and isinstance(self._found, PositionArrays) and 0 <= i < len(self):
            return self._found[i]
        return self._list[i]

    def __eq__(self, other: object) -> bool:
        return self._list == list(other) if isinstance(other, list | Matches) else NotImplemented

    def __add__(self, other: Iterable[Match]) -> list[Match]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Match]) -> list[Match]:
        return [*other, *self]

    def __repr__(self) -> str:
        return repr(self._list)

    def to_arrow(self, stream: Events | str | Path | None = None, attributes: Sequence[str] | None = None) -> pa.Table:
        """Return a table with one row for each match.

        Without a stream it has the columns of `result_schema`; a result is JSON, with its attributes in the order of
        RETURN. With the events that `match` was given, it has a column for each attribute of each variable, as
        "A.price", and for each attribute of results; see MatchColumns. attributes are the attributes to show, None for
        all. Raises IllFormed for an attribute that no event has.
        """
        if stream is not None:
            from cerify.semantics.files import as_stream

            stream = stream if isinstance(stream, Stream) else as_stream(stream)
            return table_of_columns(MatchColumns(self, stream, attributes, self.open).columns())
        if self.arrays is not None:
            return self.arrays.table()

        written = [None if m.result is None else m.result.ordered_text for m in self]
        place = result_schema().get_field_index("result")
        return table_of_matches(self).set_column(place, result_schema().field(place), pa.array(written, pa.string()))

    def to_pandas(self, stream: Events | str | Path | None = None, attributes: Sequence[str] | None = None) -> Any:
        """Return the table of to_arrow as a pandas data frame; bindings are dicts.

        Positions count rows from 0 and ignore the index of a frame: `frame.iloc[list(match.events)]` are the rows of a
        match. Raises ImportError if pandas is not installed.
        """
        return self.to_arrow(stream, attributes).to_pandas(maps_as_pydicts="strict")

    def to_polars(self, stream: Events | str | Path | None = None, attributes: Sequence[str] | None = None) -> Any:
        """Return the table of to_arrow as a frame of polars. Raises ImportError if polars is not installed."""
        with naming_extras():
            import polars

        table = self.to_arrow(stream, attributes)
        if stream is None:  # polars has no maps
            kind = pa.list_(pa.struct([("variable", pa.string()), ("positions", pa.list_(pa.int64()))]))
            pairs = [None if m.bindings is None else _pairs(m) for m in self]
            table = table.set_column(2, "bindings", pa.array(pairs, kind))
        return polars.from_arrow(table)


def _pairs(match: Match) -> list[dict[str, Any]]:
    return [{"variable": variable, "positions": list(places)} for variable, places in match.bindings or ()]


# ---------------------------------------------------------------------------------------------------------------------
# The matches of a query as an Arrow table: the columns, and the tables of matches that are objects or arrays.


def match_schema(place: pa.DataType) -> pa.Schema:
    """Return the schema of a table with a row for each match.

    `at` and `events` have the type `place`: they are positions, or other values that identify events. `bindings` maps
    variables to lists of such values, `result` is JSON; both are null if the query does not give them.
    """
    places = pa.list_(place)
    bindings = pa.map_(pa.string(), places)
    return pa.schema([("at", place), ("events", places), ("bindings", bindings), ("result", pa.string())])


@cache
def result_schema() -> pa.Schema:
    """Return the schema of a table of matches whose events are given by their positions."""
    return match_schema(pa.int64())


@cache
def no_matches() -> pa.Table:
    """Return a table of matches without rows."""
    return result_schema().empty_table()


def table_of_matches(matches: Sequence[Any]) -> pa.Table:
    """Return a table with the columns of `result_schema` and a row for each match.

    The matches are of the class events.Match.
    """
    if not matches:  # a shortcut, because short streams often have no match
        return no_matches()
    columns: list[Any] = [
        [m.at for m in matches],
        [m.events for m in matches],
        [m.bindings for m in matches],
        [None if m.result is None else m.result.text for m in matches],
    ]
    return pa.table(
        [pa.array(values, kind) for values, kind in zip(columns, result_schema().types, strict=True)], result_schema()
    )


def table_of_positions(at: pa.ChunkedArray | pa.Array, events: pa.ChunkedArray | pa.Array) -> pa.Table:
    """Return a table with the columns of `result_schema` for matches that have only positions; the others are null."""
    rest = [pa.nulls(len(at), kind) for kind in result_schema().types[2:]]
    return pa.table([at, events.cast(result_schema().field("events").type), *rest], result_schema())
