"""Matches as tables that people read: an attribute of each variable as a column, results as columns, and open matches.

`Matches.to_arrow()` without a stream is the form that programs exchange: positions alone. Here a row has what the
events of its match say, so that an analyst need not join positions with rows. A variable that binds one event in each
match has columns of values; one that binds several in some match has columns of lists.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from cerify.semantics.arguments import did_you_mean
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import TYPE, Event, Match, Stream
from cerify.semantics.nanoseconds import NanosecondInterval, NanosecondTime, nanoseconds, nanoseconds_of_interval
from cerify.semantics.packages import naming_extras, pa
from cerify.semantics.values import has_nanoseconds, plain, show_time

OutputFormat = Literal["csv", "parquet", "jsonl"]
OUTPUT_SUFFIXES: Mapping[str, OutputFormat] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def _attributes_of(S: Stream) -> dict[str, None]:
    """Return the attributes that events have, in the order of the stream."""
    return dict.fromkeys(name for event in S.events for name in event.attributes) if len(S) else {}


class MatchColumns:
    """The columns of some matches over a stream.

    attributes: those that are shown, in their order; None for all that the events of the matches have, in the order of
    the stream. open_: which of the matches are open. Raises IllFormed for an attribute that no event has.
    """

    def __init__(
        self,
        matches: Sequence[Match],
        S: Stream,
        attributes: Sequence[str] | None = None,
        open_: Sequence[bool] | None = None,
    ) -> None:
        self._matches = matches
        shown = _attributes_of(S)
        if missing := [name for name in attributes or () if name not in shown and name != TYPE]:
            S.require_read(missing)
            shown = _attributes_of(S)  # with those that ask for elements of lists
        self._events = S.events if len(S) else ()
        known = {TYPE, *S.known_attributes(shown)}
        for name in attributes or ():
            if name not in known:
                raise IllFormed(f"no event has the attribute {name!r}{did_you_mean(name, known)}")
        self._attributes = list(shown) if attributes is None else list(attributes)
        self._open = open_ if open_ is not None and any(open_) else None

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns by name: at and events, those of variables, those of results, and open if any is."""
        found: dict[str, list[Any]] = {
            "at": [match.at for match in self._matches],
            "events": [list(match.events) for match in self._matches],
        }
        bound = [dict(self._bindings(match)) for match in self._matches]
        for variable in dict.fromkeys(name for bindings in bound for name in bindings):
            places = [bindings.get(variable, ()) for bindings in bound]
            several = any(len(some) > 1 for some in places)
            for attribute in self._attributes:
                cells = [[self._value(p, attribute) for p in some] for some in places]
                if all(value is None for cell in cells for value in cell):
                    continue
                name = self._free(f"{variable}.{attribute}", found)
                found[name] = cells if several else [cell[0] if cell else None for cell in cells]
        results = [match.result.attributes if match.result is not None else {} for match in self._matches]
        for name in dict.fromkeys(name for result in results for name in result):
            found[self._free(name, found)] = [result.get(name) for result in results]
        if self._open is not None:
            found[self._free("open", found)] = [True if is_open else None for is_open in self._open]
        return found

    def _bindings(self, match: Match) -> Iterable[tuple[str, tuple[int, ...]]]:
        """Return the positions of each variable; without bindings the type of an event stands for one."""
        if match.bindings is not None:
            # in the order of the first events, as a pattern is read
            return sorted(match.bindings, key=lambda one: one[1][:1])
        found: dict[str, list[int]] = {}
        for p in match.events:
            found.setdefault(self._events[p].type, []).append(p)
        return [(type_, tuple(places)) for type_, places in found.items()]

    def _value(self, p: int, attribute: str) -> Any:
        event: Event = self._events[p]
        return event.type if attribute == TYPE else event.get(attribute)

    @staticmethod
    def _free(name: str, taken: Mapping[str, Any]) -> str:
        while name in taken:
            name += "_"
        return name


def table_of_columns(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return the table with these columns; one with values of several kinds is of JSON text."""
    arrays = {}
    for name, values in columns.items():
        try:
            positions = name == "events" and all(isinstance(value, list | None) for value in values)
            arrays[name] = _array_of(values, pa.list_(pa.int64()) if positions else None)
        except (pa.ArrowException, OverflowError):
            arrays[name] = pa.array([None if v is None else json.dumps(plain(v), ensure_ascii=False) for v in values])
    return pa.table(arrays)


def _array_of(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array:
    """Return an array, of nanoseconds where a time, an interval or one in a list has some, which Arrow would drop."""
    known = [value for cell in values for value in (cell if isinstance(cell, list) else [cell]) if value is not None]
    of_times = has_nanoseconds(known) and all(isinstance(value, datetime) for value in known)
    fine = {NanosecondTime, NanosecondInterval} & set(map(type, known))
    if not fine or not (of_times or all(isinstance(value, timedelta) for value in known)):
        if fine:
            raise pa.ArrowInvalid("times with nanoseconds and others")
        return pa.array(values, kind)
    ticks = nanoseconds if of_times else nanoseconds_of_interval
    whole = [[ticks(v) for v in c] if isinstance(c, list) else None if c is None else ticks(c) for c in values]
    exact = pa.timestamp("ns", tz="UTC") if of_times else pa.duration("ns")
    lists = any(isinstance(cell, list) for cell in values)
    return pa.array(whole, pa.list_(pa.int64()) if lists else pa.int64()).cast(pa.list_(exact) if lists else exact)


def written_table(columns: Mapping[str, Sequence[Any]], format: OutputFormat) -> bytes:
    """Return the bytes of a file with these columns, in this format. CSV has lists as JSON."""
    rows = zip(*columns.values(), strict=True)
    match format:
        case "parquet":
            import pyarrow.parquet as pq

            sink = pa.BufferOutputStream()
            pq.write_table(table_of_columns(columns), sink)
            return bytes(sink.getvalue())
        case "jsonl":
            objects = ({name: plain(v) for name, v in zip(columns, row, strict=True) if v is not None} for row in rows)
            return "".join(json.dumps(obj, ensure_ascii=False) + "\n" for obj in objects).encode()
        case "csv":
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([shown_cell(value) for value in row] for row in rows)
            return text.getvalue().encode()


def shown_cell(value: Any) -> str:
    """Return the text of a cell: "" for none, true and false as JSON has them, lists as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool | list | tuple | Mapping):
        return json.dumps(plain(value), ensure_ascii=False)
    return show_time(value) if isinstance(value, datetime) else str(value)


class Matches(list[Match]):
    """Matches in a list, which is equal to any list of the same matches.

    open: of each match, whether events to come could still take it away; None if that holds of none. Such a match has a
    negation at its end whose window is not over where the stream ends.
    """

    open: Sequence[bool] | None = None

    def to_arrow(self, stream: Stream | None = None, attributes: Sequence[str] | None = None) -> pa.Table:
        """Return a table with one row for each match.

        Without a stream it has the columns of RESULT; a result is JSON, with its attributes in the order of RETURN.
        With the stream that was matched it has an attribute of each variable as a column, as "A.price", and those of
        results; see MatchColumns. attributes are those that are shown, None for all. Raises IllFormed for one that
        no event has.
        """
        if stream is not None:
            return table_of_columns(MatchColumns(self, stream, attributes, self.open).columns())
        from cerify.semantics.match_tables import RESULT, table_of_matches

        written = [None if m.result is None else m.result.ordered_text for m in self]
        return table_of_matches(self).set_column(3, RESULT.field("result"), pa.array(written, pa.string()))

    def to_pandas(self, stream: Stream | None = None, attributes: Sequence[str] | None = None) -> Any:
        """Return the table of to_arrow as a pandas data frame; bindings are dicts.

        Positions count rows from 0, whatever the labels of a frame's rows are: of a frame that was filtered,
        `frame.iloc[list(match.events)]` are the rows of a match. Raises ImportError where pandas is not installed.
        """
        return self.to_arrow(stream, attributes).to_pandas(maps_as_pydicts="strict")

    def to_polars(self, stream: Stream | None = None, attributes: Sequence[str] | None = None) -> Any:
        """Return the table of to_arrow as a frame of polars. Raises ImportError where polars is not installed."""
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
