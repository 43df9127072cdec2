"""Events, schemas, streams and matches, which all languages share (tods21, section 4)."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args, overload

from cerify.semantics.arguments import require_kind, timed_items
from cerify.semantics.errors import IllFormed, InputError, InputWarning
from cerify.semantics.packages import naming_extras, np, pa, pc
from cerify.semantics.values import (
    KIND_OF,
    PATTERNS,
    PLAIN,
    Value,
    ValueType,
    encodable,
    is_text,
    joined,
    parse_time,
    plain,
    value_of,
    value_type_of,
)

TYPE = "type"  # the reserved key, and column, of an event's type
TIME = "time"  # the reserved key, and column, of an event's time


ComplexEvent: TypeAlias = frozenset[int]
"""A finite set of positions (tods21, section 4)."""

Valuation: TypeAlias = frozenset[tuple[str, int]]
"""A map from variables to complex events, as the set of its pairs (variable, position) (tods21, section 4).

A variable in no pair is mapped to the empty complex event.
"""

Bindings: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""The pairs (variable, positions) of a match."""


Order = Literal["strict", "non-decreasing", "any"]
"""The order of the times of a stream: each later than those before, none earlier, or any. An event may have no time."""


class ArrowTable(Protocol):
    """A table of any library that follows the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@dataclass(frozen=True, slots=True)
class Event:
    """A tuple of a relation: its type, and its attributes with a value (an absent attribute has none)."""

    type: str
    attributes: Mapping[str, Value] = field(default_factory=dict)

    def get(self, name: str) -> Value | None:
        """The value of an attribute, or None if the event has none of that name."""
        return self.attributes.get(name)


@dataclass(frozen=True)
class Schema:
    """The attributes of each event type and their value types (tods21, section 4).

    An attribute name has one value type throughout a schema: a stream keeps one Arrow column for each. order is the
    order of the times of streams, for comparisons of queries: "strict", "non-decreasing" or "any"; None leaves it open.
    Equality of schemas ignores it.
    """

    types: Mapping[str, Mapping[str, ValueType]]
    order: Order | None = field(default=None, kw_only=True, compare=False)
    timed: ClassVar[bool] = True
    """Whether every event may have a time, which the types need not name."""
    mixed: ClassVar[frozenset[str]] = frozenset()
    """The attributes that have values of several types, see ObservedSchema."""

    def __post_init__(self) -> None:
        seen: dict[str, tuple[str, ValueType]] = {}
        if self.order not in (None, *get_args(Order)):
            raise IllFormed(f"the order of times is {self.order!r}; use {', '.join(get_args(Order))}")
        wanted = 'a mapping, as {"T": {"id": "int"}}'
        if not isinstance(self.types, Mapping):
            require_kind("the types of a schema", self.types, Mapping, wanted)
        for name, attributes in self.types.items():
            if not isinstance(attributes, Mapping):
                require_kind("the types of a schema", attributes, Mapping, wanted)
            if wrong := [
                text for text in (name, *attributes) if not ((type(text) is str and text.isascii()) or is_text(text))
            ]:
                raise IllFormed(f"a schema has the name {wrong[0]!r}; each of its names is to be a text")
            for attribute, value_type in attributes.items():
                if value_type not in KIND_OF:
                    raise IllFormed(f"attribute {name}.{attribute} has type {value_type!r}; use {', '.join(KIND_OF)}")
                if attribute == TYPE:
                    raise IllFormed(f"{name}.{TYPE} is reserved for the event's type; name the attribute differently")
                other, known = seen.setdefault(attribute, (name, value_type))
                if known != value_type:
                    raise IllFormed(
                        f"attribute {attribute!r} is {known} in {other} and {value_type} in {name}; "
                        "an attribute name has one type throughout a schema, so rename one of the two"
                    )

    @cached_property
    def attributes(self) -> Mapping[str, ValueType]:
        """Every attribute of every type, with its value type."""
        return {name: value_type for attributes in self.types.values() for name, value_type in attributes.items()}

    def has(self, type_: str, attribute: str) -> bool:
        """Whether the events of a type of the schema may have an attribute."""
        return attribute in self.types[type_] or (attribute == TIME and self.timed)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Schema:
        """The schema that the events themselves show; an attribute with integers and floats is a float.

        The attributes of each type are in the order in which the events first have them, whatever the type, as the
        columns of a table are: arguments of event expressions mean the same with this schema and without.

        Raises InputError where an attribute is of several types, and for what is no event.
        """
        types: dict[str, dict[str, ValueType]] = {}
        order: dict[str, None] = {}
        for position, event in enumerate(items_of(events)):
            if not isinstance(event, Event):
                raise InputError(f"event {position} is {event!r}; a schema is of events: Schema.of(Stream(rows))")
            attributes = types.setdefault(event.type, {})
            order |= dict.fromkeys(event.attributes)
            for name, value in event.attributes.items():
                new = value_type_of(value)
                seen = attributes.setdefault(name, new)
                if (both := joined(seen, new)) is None:
                    raise InputError(
                        f"event {position}, attribute {name!r}: {new}, where an earlier {event.type} has {seen}; "
                        "an attribute has one type, so rename one of the two"
                    )
                attributes[name] = both
        floats = {name for attributes in types.values() for name, kind in attributes.items() if kind == "float"}
        for attributes in types.values():
            attributes.update({name: "float" for name, kind in attributes.items() if kind == "int" and name in floats})
        return cls({T: {name: its[name] for name in order if name in its} for T, its in types.items()})


def require_schema(schema: object) -> None:
    """Raises IllFormed for what is neither a Schema nor None."""
    if schema is not None and not isinstance(schema, Schema):
        raise IllFormed(f"a schema is a cerify.Schema, not a {type(schema).__name__}; write Schema({{...}})")


@dataclass(frozen=True, slots=True, order=True)
class Result:
    """The attributes of the event that a query makes of a match, by name; compared by their text, see `result_of`."""

    text: str
    attributes: Mapping[str, Any] = field(compare=False, repr=False)

    @property
    def written(self) -> str:
        """The text with the attributes in the order of RETURN."""
        return json.dumps(plain(self.attributes), ensure_ascii=False)


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """One answer of a query: the position after whose event it is reported, and its positions in ascending order.

    bindings are the pairs (variable, positions) in the order of the variables' names, None if they were not requested.
    result has the attributes of the event that the query makes of the match, None if it makes none.
    """

    at: int
    events: tuple[int, ...]
    bindings: Bindings | None = None
    result: Result | None = field(default=None, repr=False)

    def more(self) -> dict[str, Any]:
        """Return the fields that the match adds to its form as JSON."""
        return {}


Events: TypeAlias = Iterable[Event | Mapping[str, Any]] | ArrowTable
"""What a stream is made from: see Stream."""


class Stream(Sequence[Event]):
    """A finite prefix of a stream: a sequence of events, backed by an Arrow table with one row per position.

    The table has the column "type" and one column for each attribute name, with null for an event that lacks it. It
    is built from the events when it is first needed, and the other way round.

    A stream is made from events; from mappings with the key "type"; or from a table: of Arrow, a data frame of pandas
    or polars, or anything with `__arrow_c_stream__`. A table has the column "type" without nulls, and its columns
    become of the types in ARROW if that loses nothing. Values may be None, for an absent attribute, scalars of NumPy,
    dates, and times without an offset, taken as UTC. Of mappings and tables texts that are ISO 8601 times become times,
    see docs/decisions/times.md; of events they stay texts. Raises InputError for other values of events; of mappings
    and tables these are left out, and `require_read` raises the reason.
    columns: those of the table or file, else None. fits: whether the events are known to fit the schema; `as_stream`,
    which takes files and other names of columns, and `match` require it. unread: what the data has and the events do
    not, each with the reason.
    """

    def __init__(self, events: Events = (), schema: Schema | None = None, columns: list[str] | None = None) -> None:
        self._events: tuple[Event, ...] | None = None
        self._table: pa.Table | None = None
        require_schema(schema)
        self.schema, self.columns, self.fits = schema, columns, schema is None
        self.unread: Mapping[str, str] = {}
        if is_table(events):
            from cerify.semantics.arrow_columns import arrow_table, stream_table
            from cerify.semantics.arrow_rows import rows_of_table
            from cerify.semantics.time_columns import FieldReading

            if schema is None:
                unread: dict[str, str] = {}
                table = stream_table(arrow_table(events, unread), TYPE, checked=False)
                read = rows_of_table(table, FieldReading(), "the table", "row {}".format)
                warn_of_units("the table", read.notes)
                self._table, self.unread = read.table, unread | read.unread
            else:
                self._table = stream_table(arrow_table(events), TYPE)
            self.columns = [*self._table.column_names, *self.unread]
        elif schema is None:
            items = list(items_of(events))
            if items and all(isinstance(item, Mapping) for item in items):
                self._take_objects(items)
            else:
                self._events = tuple(_checked(event, n, schema) for n, event in enumerate(items))
        else:
            self._events = tuple(_checked(event, n, schema) for n, event in enumerate(items_of(events)))

    def _take_objects(self, items: Sequence[Mapping[str, Any]]) -> None:
        from cerify.semantics.object_rows import ObjectRows
        from cerify.semantics.time_columns import FieldReading

        rows = ObjectRows(FieldReading(), "", "event {}".format)
        for item in items:
            rows.add(item)
        self._events, self.unread = tuple(rows.events()), rows.unread
        warn_of_units("the events", rows.notes)

    @classmethod
    def of_checked(cls, events: Sequence[Event], unread: Mapping[str, str]) -> Stream:
        """The stream of events whose values a reader has checked, with the reasons why others are left out."""
        S = cls()
        S._events, S.unread = tuple(events), unread
        return S

    @classmethod
    def from_table(cls, table: Any, schema: Schema | None = None) -> Stream:
        """The stream of the rows of a table, a batch or a data frame, whose columns mean what their types say.

        Texts stay texts, and numbers are seconds; `Stream(table)` reads those that are times. Raises InputError for
        anything else, and for a column that cannot be an attribute.
        """
        if not is_table(table):
            raise InputError(f"{type(table).__name__} is no table; give one of Arrow, or a frame of pandas or polars")
        from cerify.semantics.arrow_columns import arrow_table, stream_table

        S = cls((), schema)
        S._events, S._table = None, stream_table(arrow_table(table), TYPE)
        S.columns = S._table.column_names
        return S

    def require_read(self, names: Iterable[str] | None = None) -> Stream:
        """Return the stream. Raises InputError if it was read without one of these attributes (None: without any)."""
        folded = None if names is None else {name.casefold() for name in names}  # SQL's names have no case
        for name, reason in self.unread.items():
            if folded is None or name.casefold() in folded:
                raise InputError(reason)
        return self

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in order."""
        if self._events is None:
            self._events = tuple(_events_of(self.table))
        return self._events

    @property
    def table(self) -> pa.Table:
        """The Arrow table behind the stream."""
        if self._table is None:
            self._table = _table_of(self.events, self.schema)
        return self._table

    @property
    def is_columnar(self) -> bool:
        """Whether the stream has its Arrow table already."""
        return self._table is not None

    def part(self, start: int, length: int) -> Stream:
        """The stream of the length events from position start on; their positions start at 0 again."""
        part = Stream((), self.schema, self.columns)
        part.fits, part.unread = self.fits, self.unread
        part._events = None if self._events is None else self._events[start : start + length]
        part._table = None if self._table is None else self._table.slice(start, length)
        return part

    def __len__(self) -> int:
        return len(self._events) if self._events is not None else self.table.num_rows

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        return self.events[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __eq__(self, other: object) -> bool:
        """Whether both have equal events in the same order, and equal schemas; 1 equals 1.0, but not True."""
        if not isinstance(other, Stream):
            return NotImplemented
        alike = len(self) == len(other) and self.schema == other.schema
        return alike and all(_same(mine, theirs) for mine, theirs in zip(self.events, other.events, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), *(event.type for event in self.part(0, 8))))

    def __repr__(self) -> str:
        return f"Stream({len(self)} events)"


def warn_of_units(name: str, notes: Iterable[str]) -> None:
    """Issue the warnings about columns of the time whose unit was found out."""
    for note in notes:
        warnings.warn(InputWarning(f"{name}, {note}"), stacklevel=4)


def is_table(source: object) -> bool:
    """Whether the source is a table or data frame of any library, which `arrow_table` converts."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def items_of(events: object) -> Iterable[Any]:
    """The events one by one, as they are given. Raises InputError for what cannot be iterated, BudgetExceeded."""
    if isinstance(events, str) or not isinstance(events, Iterable):
        raise InputError(f"events are a Stream, a list or a table, not {events!r}; a file is read by cerify.read")
    return timed_items(events, 1)  # one event may be long in coming


def bindings_of(mu: Valuation) -> Bindings:
    """A valuation as the pairs (variable, positions), both ascending."""
    positions: dict[str, list[int]] = {}
    for variable, position in sorted(mu):
        positions.setdefault(variable, []).append(position)
    return tuple((variable, tuple(places)) for variable, places in positions.items())


def result_of(attributes: Mapping[str, Any]) -> Result:
    """The result with these attributes. Its text is JSON in which 2.0 is 2, and a time its ISO 8601 text."""
    return Result(json.dumps(plain(attributes), ensure_ascii=False, sort_keys=True), attributes)


def _same(one: Event, other: Event) -> bool:
    return one == other and all(
        isinstance(v, bool) == isinstance(other.get(a), bool) for a, v in one.attributes.items()
    )


def _checked(event: Event | Mapping[str, object], position: int, schema: Schema | None) -> Event:
    """The event with values that are of our types, each by its class. Raises InputError."""
    if isinstance(event, Mapping):
        event = _of_mapping(event, position, schema)
    if not isinstance(event, Event):
        raise InputError(f"event {position} is {event!r}; write Event('T', {{'x': 1}}) or {{'type': 'T', 'x': 1}}")
    if not is_text(event.type):
        raise InputError(f"event {position}: its type is {event.type!r}; it is to be a text")
    if not isinstance(event.attributes, Mapping):
        raise InputError(f"event {position}: its attributes are {event.attributes!r}; write them as {{'x': 1}}")
    for name, value in event.attributes.items():
        if not is_text(name) or (type(value) not in PLAIN and not (type(value) is str and encodable(value))):
            break
    else:
        return event
    if (wrong := next((name for name in event.attributes if not is_text(name)), ...)) is not ...:
        raise InputError(f"event {position}: an attribute is called {wrong!r}; its name is to be a text")
    values = ((name, value_of(v, f"event {position}, attribute {name!r}")) for name, v in event.attributes.items())
    return Event(event.type, {name: value for name, value in values if value is not None})


def _of_mapping(obj: Mapping[str, Any], position: int, schema: Schema | None) -> Event:
    """The event of a mapping; text is parsed as a time under the key "time" and where the schema has a timestamp."""
    if TYPE not in obj:
        keys = ", ".join(map(str, obj))
        raise InputError(f"event {position}: no key {TYPE!r} for the event type; the keys are {keys}")
    declared = {} if schema is None else schema.attributes
    attributes = {name: value for name, value in obj.items() if name != TYPE}
    for name, value in attributes.items():
        if isinstance(value, str) and declared.get(name, "timestamp" if name == TIME else None) == "timestamp":
            try:
                attributes[name] = parse_time(value)
            except ValueError as error:
                raise InputError(f"event {position}, attribute {name!r}: {value!r} {error}") from None
    return Event(obj[TYPE], attributes)


def _table_of(events: Sequence[Event], schema: Schema | None) -> pa.Table:
    from cerify.semantics.arrow_columns import table_of_values

    declared = dict(schema.attributes) if schema is not None else {}
    columns = declared | {k: v for k, v in Schema.of(events).attributes.items() if k not in declared}
    values = {name: [event.get(name) for event in events] for name in columns}
    return table_of_values(TYPE, [event.type for event in events], columns, values)


def _events_of(table: pa.Table) -> Iterator[Event]:
    from cerify.semantics.arrow_columns import values_in

    names = [name for name in table.column_names if name != TYPE]
    columns = [values_in(table[name]) for name in names]
    for i, type_ in enumerate(table[TYPE].to_pylist()):
        row = ((name, column[i]) for name, column in zip(names, columns, strict=True))
        yield Event(type_, {name: value for name, value in row if value is not None})


# ---------------------------------------------------------------------------------------------------------------------
# The schema that a stream shows: which attributes the events of each type have, and of which value types.


@dataclass(frozen=True)
class ObservedSchema(Schema):
    """A schema made from events: a type has the attributes that some event of it has, the time among them or not.

    mixed: the attributes of which the stream has values of several types; their value type here stands for any.
    """

    timed: ClassVar[bool] = False
    mixed: frozenset[str] = field(default=frozenset())  # type: ignore[misc]

    def __post_init__(self) -> None:
        """Nothing is checked: what events have is a schema, or in mixed."""


def observed(S: Stream) -> ObservedSchema:
    """Return the schema that a stream shows.

      >>> import cerify
      >>> dict(cerify.observed(cerify.as_stream([{"type": "A", "x": 1}])).types)
      {'A': {'x': 'int'}}

    The attributes of a type are in the order in which its events first have them.
    A stream with a table is looked at by columns. An attribute with integers and floats is a float.
    """
    return _of_table(S.table) if S.is_columnar else _of_events(S)


def _of_events(S: Stream) -> ObservedSchema:
    types: dict[str, dict[str, None]] = {}
    samples: dict[str, dict[type, Value]] = {}
    for event in S.events:
        names = types.setdefault(event.type, {})
        for name, value in event.attributes.items():
            names[name] = None
            samples.setdefault(name, {})[type(value)] = value
    found = {name: {value_type_of(value) for value in classes.values()} for name, classes in samples.items()}
    known: dict[str, ValueType] = {
        name: "float" if "float" in value_types else min(value_types) for name, value_types in found.items()
    }
    mixed = frozenset(name for name, types_ in found.items() if len(types_) > 1 and types_ != {"int", "float"})
    return ObservedSchema(
        {R: {name: known[name] for name in names if name != TYPE} for R, names in types.items()}, mixed
    )


def _of_table(table: pa.Table) -> ObservedSchema:
    from cerify.semantics.arrow_types import ARROW

    encoded = table[TYPE].cast(ARROW["string"]).combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    types: list[str] = encoded.dictionary.to_pylist()
    found = {name: _value_type(table[name]) for name in table.column_names if name != TYPE}
    known = {name: value_type for name, value_type in found.items() if value_type is not None}
    firsts = {name: _first_rows(codes, table[name], len(types)) for name in known}
    shown: dict[str, Mapping[str, ValueType]] = {}
    for code, R in enumerate(types):
        rows = {name: first[code] for name, first in firsts.items() if first[code] < len(codes)}
        shown[R] = {name: known[name] for name in sorted(rows, key=rows.__getitem__)}
    return ObservedSchema(shown)


def text_among_numbers(S: Stream, name: str) -> tuple[int, str] | None:
    """The first event, with its value, whose attribute is no number; None unless others have texts of numbers.

    The values of the attribute are texts.
    """
    number, _ = PATTERNS["float"]
    if S.is_columnar:
        column = S.table[name].cast(pa.string())
        is_number = pc.match_substring_regex(column, rf"\A(?:{number})\z")
        row = pc.index(is_number, False).as_py()
        return (row, column[row].as_py()) if row >= 0 and pc.any(is_number).as_py() else None
    cells = {n: str(event.attributes[name]) for n, event in enumerate(S.events) if name in event.attributes}
    texts = {n: cell for n, cell in cells.items() if not re.fullmatch(number, cell)}
    return next(iter(texts.items())) if 0 < len(texts) < len(cells) else None


def _value_type(column: pa.ChunkedArray) -> ValueType | None:
    """The value type of a column, None for one without values."""
    from cerify.semantics.arrow_types import VALUE_TYPES

    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return VALUE_TYPES.get(type_)


def _first_rows(codes: np.ndarray, column: pa.ChunkedArray, types: int) -> list[int]:
    """For each event type, by its code, the first row with a value; the number of rows where there is none."""
    first = np.full(types, len(codes))
    rows = pc.indices_nonzero(column.is_valid()).to_numpy().astype(np.int64)
    first[codes[rows][::-1]] = rows[::-1]  # of rows of one type the last assignment, that is the first row, counts
    return first.tolist()


# ---------------------------------------------------------------------------------------------------------------------
# The matches of a query as a list that becomes an Arrow table or a data frame.


class Matches(list[Match]):
    """Matches in a list, which is equal to any list of the same matches.

    open: of each match, whether events to come could still take it away; None if that holds of none. Such a match has a
    negation at its end whose window is not over where the stream ends.
    """

    open: Sequence[bool] | None = None

    def to_arrow(self, stream: Stream | None = None, attributes: Sequence[str] | None = None) -> pa.Table:
        """A table with one row for each match.

        Without a stream it has the columns of RESULT; a result is JSON, with its attributes in the order of RETURN.
        With the stream that was matched it has an attribute of each variable as a column, as "A.price", and those of
        results; see match_frames.py. attributes are those that are shown, None for all. Raises IllFormed for one that
        no event has.
        """
        if stream is not None:
            from cerify.semantics.match_frames import MatchColumns, table_of_columns

            return table_of_columns(MatchColumns(self, stream, attributes, self.open).columns())
        from cerify.semantics.match_tables import RESULT, table_of_matches

        written = [None if m.result is None else m.result.written for m in self]
        return table_of_matches(self).set_column(3, RESULT.field("result"), pa.array(written, pa.string()))

    def to_pandas(self, stream: Stream | None = None, attributes: Sequence[str] | None = None) -> Any:
        """The table of to_arrow as a pandas data frame; bindings are dicts.

        Positions count rows from 0, whatever the labels of a frame's rows are: of a frame that was filtered,
        `frame.iloc[list(match.events)]` are the rows of a match. Raises ImportError where pandas is not installed.
        """
        return self.to_arrow(stream, attributes).to_pandas(maps_as_pydicts="strict")

    def to_polars(self, stream: Stream | None = None, attributes: Sequence[str] | None = None) -> Any:
        """The table of to_arrow as a frame of polars. Raises ImportError where polars is not installed."""
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
