"""Streams and matches, which all languages share (tods21, section 4); exports the events of `schemas` too.

A `Stream` is a sequence of events with two forms: Python objects and Arrow columns. It is made from one and computes
the other when it is first needed, because readable evaluators loop over objects and compiled ones over columns. The
last part observes a schema: the attributes and value types that the events of each type have.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, overload

from cerify.semantics.errors import InputError, InputWarning
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.schemas import (
    NO_CATEGORY,
    TIME,
    TYPE,
    Event,
    ObservedSchema,
    Order,
    Schema,
    items_of,
    require_schema,
)
from cerify.semantics.values import (
    PATTERNS,
    PLAIN,
    Value,
    ValueType,
    encodable,
    is_text,
    parse_time,
    plain,
    value_of,
    value_type_of,
)

__all__ = [
    "NO_CATEGORY",
    "TIME",
    "TYPE",
    "ArrowTable",
    "Bindings",
    "ComplexEvent",
    "Event",
    "Events",
    "Match",
    "ObservedSchema",
    "Order",
    "Result",
    "Schema",
    "Stream",
    "Valuation",
    "bindings_of",
    "is_table",
    "items_of",
    "observed",
    "require_schema",
    "result_of",
    "text_among_numbers",
    "warn_of_units",
]

ComplexEvent: TypeAlias = frozenset[int]
"""A finite set of positions (tods21, section 4)."""

Valuation: TypeAlias = frozenset[tuple[str, int]]
"""A map from variables to complex events, as the set of its pairs (variable, position) (tods21, section 4).

A variable without a pair is mapped to the empty complex event.
"""

Bindings: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""The pairs (variable, positions) of a match."""


class ArrowTable(Protocol):
    """A table of any library that follows the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@dataclass(frozen=True, slots=True, order=True)
class Result:
    """The attributes, by name, of the event that RETURN or MEASURES makes from a match.

    Two results are equal if their texts are equal; see `result_of`.
    """

    text: str
    attributes: Mapping[str, Any] = field(compare=False, repr=False)

    @property
    def ordered_text(self) -> str:
        """Return the text with the attributes in the order of RETURN."""
        return json.dumps(plain(self.attributes), ensure_ascii=False)


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """One answer of a query.

    at: the position of the event after which the match is reported. events: the positions of the match, ascending.
    bindings: the pairs (variable, positions) in the order of the variables' names, None if they were not requested.
    result: the attributes of the event that the query makes of the match, None if it makes no event.
    """

    at: int
    events: tuple[int, ...]
    bindings: Bindings | None = None
    result: Result | None = field(default=None, repr=False)

    def json(self) -> dict[str, Any]:
        """Return the match as a JSON object, with the fields that all programs and commands exchange.

        A field that the query does not give is left out. A subclass adds its own fields.
        """
        found: dict[str, Any] = {"at": self.at, "events": list(self.events)}
        if self.bindings is not None:
            found["bindings"] = {variable: list(positions) for variable, positions in self.bindings}
        if self.result is not None:
            found["result"] = plain(self.result.attributes)
        return found

    def shifted(self, by: int) -> Match:
        """Return the match with all positions increased by `by`."""
        bindings = self.bindings and tuple((A, tuple(p + by for p in positions)) for A, positions in self.bindings)
        return replace(self, at=self.at + by, events=tuple(p + by for p in self.events), bindings=bindings)


Events: TypeAlias = Iterable[Event | Mapping[str, Any]] | ArrowTable
"""What a stream is made from: see Stream."""


class Stream(Sequence[Event]):
    """A finite prefix of a stream: a sequence of events, backed by an Arrow table with one row per position.

    The table has the column "type" and one column for each attribute name, with null for an event that lacks it. The
    table is built from the events, or the events from the table, when first needed.

    A stream is made from events; from mappings with the key "type"; or from a table: of Arrow, a data frame of pandas
    or polars, or anything with `__arrow_c_stream__`. A table has the column "type" without nulls, and its columns are
    converted to the types in ARROW if that loses nothing. Values may be None, for an absent attribute, scalars of
    NumPy, dates, and times without an offset, taken as UTC. In mappings and tables, texts that are ISO 8601 times
    become times (docs/decisions/times.md); in events they stay texts. Other values in events raise InputError. In
    mappings and tables the attributes with other values are left out, and `require_read` raises the reason.

    columns: the columns of the table or file, else None.
    fits: whether a check has already shown that the events fit the schema.
    unread: the fields of the data that the events do not have, each with the reason.
    renamed: for each field that was renamed, the name of its attribute.
    """

    def __init__(self, events: Events = (), schema: Schema | None = None, columns: list[str] | None = None) -> None:
        self._events: tuple[Event, ...] | None = None
        self._table: pa.Table | None = None
        require_schema(schema)
        self.schema, self.columns, self.fits = schema, columns, schema is None
        self.unread: Mapping[str, str] = {}
        self.renamed: Mapping[str, str] = {}
        self.lists: Mapping[str, Any] = {}
        self._meant: dict[str, list[str]] = {}  # for each test for an element that no list has, likely spellings
        if is_table(events):
            from cerify.semantics.arrow_columns import arrow_table, stream_table
            from cerify.semantics.arrow_rows import rows_of_table
            from cerify.semantics.time_columns import FieldReading

            if schema is None:
                unread: dict[str, str] = {}
                table = stream_table(arrow_table(events, unread), TYPE, checked=False)
                read = rows_of_table(table, FieldReading(), "the table", "row {}".format)
                warn_of_units("the table", read.notes)
                self._table, self.unread, self.lists = read.table, unread | read.unread, read.lists
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
        self._events, self.unread, self.lists = tuple(rows.events()), rows.unread, rows.lists()
        warn_of_units("the events", rows.notes)

    @classmethod
    def of_checked(
        cls, events: Sequence[Event], unread: Mapping[str, str], lists: Mapping[str, Any] = MappingProxyType({})
    ) -> Stream:
        """Return the stream of events whose values a reader has checked.

        unread: the attributes that were left out, with the reasons. lists: for each attribute that has lists, the list
        or None of each event.
        """
        S = cls()
        S._events, S.unread, S.lists = tuple(events), unread, lists
        return S

    @classmethod
    def from_table(cls, table: Any, schema: Schema | None = None, valid: bool = False) -> Stream:
        """Return the stream of the rows of a table, a batch or a data frame, with values by the column types.

        Texts stay texts, and times that are numbers are seconds; to parse times use `Stream(table)`. Raises InputError
        for another source, and for a column that cannot be an attribute. valid: whether an Arrow table is known to be
        sound and to have only supported types, so that it is not checked again.
        """
        if not is_table(table):
            raise InputError(
                f"{type(table).__name__} is not a table; give an Arrow table, or a frame of pandas or polars"
            )
        from cerify.semantics.arrow_columns import arrow_table, stream_table

        S = cls((), schema)
        S._events, S._table = None, stream_table(table if valid else arrow_table(table), TYPE, checked=not valid)
        S.columns = S._table.column_names
        return S

    def require_read(self, names: Iterable[str] | None = None) -> Stream:
        """Return the stream. Raises InputError if one of these attributes (None: any) was left out or renamed."""
        names = None if names is None else list(names)
        if names is not None and self.lists:
            self._add_elements(names)
        folded = None if names is None else {name.casefold() for name in names}  # SQL's names have no case
        for name, reason in self.unread.items():
            if folded is None or name.casefold() in folded:
                raise InputError(reason)
        for name, attribute in self.renamed.items():
            if folded is not None and name.casefold() in folded:
                raise InputError(f"the field {name!r} is read as the attribute {attribute}: write {attribute} instead")
        return self

    def _add_elements(self, names: Iterable[str]) -> None:
        """Add a Boolean attribute for each name like "tags.any.new": it says whether the list "tags" has the element
        "new".
        """
        from cerify.semantics.object_rows import elements_of, meant_elements

        names = [name for name in names if ".any." in name]
        lists = {name: v if isinstance(v, list) else v.to_pylist() for name, v in self.lists.items() if names}
        for name in sorted({*names} - {*self._meant}):
            flags = elements_of(name, lists)
            if self._table is not None and name in self._table.column_names:
                continue
            # A real attribute of this name wins over the test for an element.
            if self._events is not None and any(name in event.attributes for event in self._events):
                continue
            if not any(flags or ()) and (meant := meant_elements(name, lists)) is not None:
                self._meant[name] = meant
            if flags is None:
                continue
            if self._events is not None:
                self._events = tuple(
                    event if flag is None else Event(event.type, {**event.attributes, name: flag})
                    for event, flag in zip(self._events, flags, strict=True)
                )
            if self._table is not None:
                self._table = self._table.append_column(name, pa.array(flags, pa.bool_()))
            self.columns = None if self.columns is None else [*self.columns, name]

    def known_attributes(self, names: Iterable[str]) -> list[str]:
        """Return the names to look up in the stream. A name such as `items.any.x1` that matches no element of a list is
        replaced by likely spellings, such as `items.sku.any.x1`.
        """
        meant = [name for others in self._meant.values() for name in others]
        return list(dict.fromkeys([*(name for name in names if name not in self._meant), *meant]))

    def attribute_names(self) -> list[str]:
        """Return the attributes that events have, in the order of the stream."""
        if self._events is not None:
            return list(dict.fromkeys(name for event in self._events for name in event.attributes))
        valid = {name: pc.index(self.table[name].is_valid(), True).as_py() for name in self.table.column_names}
        return sorted((name for name in valid if name != TYPE and valid[name] >= 0), key=valid.__getitem__)

    @property
    def events(self) -> tuple[Event, ...]:
        """Return all events, in order."""
        if self._events is None:
            self._events = tuple(_events_of(self.table))
        return self._events

    @cached_property
    def coded_types(self) -> pa.DictionaryArray:
        """Return the event types as a dictionary array: the distinct types, and for each event the index of its
        type.
        """
        return dictionary_of(self.table[TYPE])

    @property
    def table(self) -> pa.Table:
        """Return the Arrow table behind the stream."""
        if self._table is None:
            self._table = _table_of(self.events, self.schema)
        return self._table

    @property
    def is_columnar(self) -> bool:
        """Return whether the Arrow table of the stream is already made."""
        return self._table is not None

    def part(self, start: int, length: int) -> Stream:
        """Return the stream of `length` events from position `start` on; its positions start at 0."""
        part = Stream((), self.schema, self.columns)
        part.fits, part.unread, part.renamed = self.fits, self.unread, self.renamed
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
        """Return whether the streams have equal schemas, and equal events in the same order. The value 1 equals 1.0,
        but not True.
        """
        if not isinstance(other, Stream):
            return NotImplemented
        alike = len(self) == len(other) and self.schema == other.schema
        return alike and all(_same(mine, theirs) for mine, theirs in zip(self.events, other.events, strict=True))

    def __hash__(self) -> int:
        # A few events are enough for a hash. Values are left out, because 1 == 1.0 and columns may hold either.
        return hash((len(self), *(event.type for event in self.part(0, 8))))

    def __repr__(self) -> str:
        return f"Stream({len(self)} events)"


def warn_of_units(name: str, notes: Iterable[str]) -> None:
    """Issue an InputWarning for each note about a time column whose unit was inferred from its numbers.

    name: the file or table to which the notes apply.
    """
    for note in notes:
        warnings.warn(InputWarning(f"{name}, {note}"), stacklevel=4)


def is_table(source: object) -> bool:
    """Return whether the source is a table or data frame of any library, which `arrow_table` converts."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def bindings_of(mu: Valuation) -> Bindings:
    """Return a valuation as the pairs (variable, positions), both ascending."""
    positions: dict[str, list[int]] = {}
    for variable, position in sorted(mu):
        positions.setdefault(variable, []).append(position)
    return tuple((variable, tuple(places)) for variable, places in positions.items())


def result_of(attributes: Mapping[str, Any]) -> Result:
    """Return the result with these attributes. Its text is JSON, in which 2.0 is written 2, and times are ISO 8601."""
    return Result(json.dumps(plain(attributes), ensure_ascii=False, sort_keys=True), attributes)


def _same(one: Event, other: Event) -> bool:
    return one == other and all(
        isinstance(v, bool) == isinstance(other.get(a), bool) for a, v in one.attributes.items()
    )


def _checked(event: Event | Mapping[str, object], position: int, schema: Schema | None) -> Event:
    """Return the event with its values converted to the supported types. Raises InputError."""
    if isinstance(event, Mapping):
        event = _of_mapping(event, position, schema)
    if not isinstance(event, Event):
        raise InputError(f"event {position} is {event!r}; write Event('T', {{'x': 1}}) or {{'type': 'T', 'x': 1}}")
    if not is_text(event.type):
        raise InputError(f"event {position}: its type is {event.type!r}, which is not a string")
    if not isinstance(event.attributes, Mapping):
        raise InputError(f"event {position}: its attributes are {event.attributes!r}; write them as {{'x': 1}}")
    for name, value in event.attributes.items():
        if not is_text(name) or (type(value) not in PLAIN and not (type(value) is str and encodable(value))):
            break
    else:
        return event
    if (wrong := next((name for name in event.attributes if not is_text(name)), ...)) is not ...:
        raise InputError(f"event {position}: an attribute is called {wrong!r}; its name must be a text")
    values = ((name, value_of(v, f"event {position}, attribute {name!r}")) for name, v in event.attributes.items())
    return Event(event.type, {name: value for name, value in values if value is not None})


def _of_mapping(obj: Mapping[str, Any], position: int, schema: Schema | None) -> Event:
    """Return the event of a mapping. A text is parsed as a time if the schema declares a timestamp, or under the key
    "time".
    """
    if TYPE not in obj:
        keys = ", ".join(map(str, obj))
        raise InputError(f"event {position}: no key {TYPE!r} for the event type; the keys are {keys}")
    declared = {} if schema is None else schema.attributes
    attributes = {name: value for name, value in obj.items() if name != TYPE}
    for name, value in attributes.items():
        if isinstance(value, str) and declared.get(name, "timestamp" if name == TIME else None) == "timestamp":
            try:
                attributes[name] = parse_time(value, keep_nanoseconds=True)
            except ValueError as error:
                raise InputError(f"event {position}, attribute {name!r}: {value!r} {error}") from None
    return Event(obj[TYPE], attributes)


def _table_of(events: Sequence[Event], schema: Schema | None) -> pa.Table:
    from cerify.semantics.arrow_columns import table_of_values

    declared = dict(schema.attributes) if schema is not None else {}
    columns = declared | {k: v for k, v in Schema.from_events(events).attributes.items() if k not in declared}
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


def observed(S: Stream) -> ObservedSchema:
    """Return a schema with the types and attributes that occur in a stream.

      >>> import cerify
      >>> dict(cerify.observed(cerify.as_stream([{"type": "A", "x": 1}])).types)
      {'A': {'x': 'int'}}

    The attributes of a type are in the order in which its events first have them. An attribute with integers and floats
    is a float.
    """
    return _of_columns(S) if S.is_columnar else _of_events(S)


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


def _of_columns(S: Stream) -> ObservedSchema:
    table, encoded = S.table, S.coded_types
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    types: list[str] = encoded.dictionary.to_pylist()
    found = {name: column_value_type(table[name]) for name in table.column_names if name != TYPE}
    known = {name: value_type for name, value_type in found.items() if value_type is not None}
    firsts = {name: _first_rows(codes, table[name], len(types)) for name in known}
    shown: dict[str, Mapping[str, ValueType]] = {}
    seen = _first_rows(codes, table[TYPE], len(types))  # a dictionary may have them in another order, or more
    for code in sorted((code for code, row in enumerate(seen) if row < len(codes)), key=seen.__getitem__):
        rows = {name: first[code] for name, first in firsts.items() if first[code] < len(codes)}
        shown[types[code]] = {name: known[name] for name in sorted(rows, key=rows.__getitem__)}
    return ObservedSchema(shown)


def dictionary_of(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column as one dictionary array: its distinct values, and for each row the index of its value."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    combined = encoded.unify_dictionaries().combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


_FIRST_ROWS = 2**14  # these rows usually have all event types


def add_observed(seen: dict[str, dict[str, ValueType]], S: Stream, attributes: Collection[str]) -> None:
    """Add the event types and attributes of a stream with a table to `seen`, which has those of earlier streams.

    attributes: the attributes that a type gets only if its events have them. Each type gets all other attributes of the
    stream.
    """
    types = _types_in(S.table[TYPE])
    for R in types:
        seen.setdefault(R, {})
    for name in S.known_attributes(S.table.column_names):
        if name == TYPE:
            continue
        value_type: ValueType | None = "bool"  # of a likely spelling of a test for an element, which has no column
        having = types
        if name in S.table.column_names:
            value_type = column_value_type(S.table[name])
            if name in attributes and S.table[name].null_count:
                having = _types_in(S.table[TYPE].filter(S.table[name].is_valid()))
        if value_type is not None:
            for R in having:
                seen[R][name] = value_type


def _types_in(column: Any) -> list[str]:
    """Return the different values of a column of event types, sorted."""
    found: set[str] = set()
    for chunk in column.chunks:
        first = chunk[:_FIRST_ROWS].unique()
        whole = pa.types.is_dictionary(chunk.type) and len(first) == len(chunk.dictionary)
        found.update((first if whole else chunk.unique()).to_pylist())
    return sorted(found)


def text_among_numbers(S: Stream, name: str) -> tuple[int, str] | None:
    """Return the first event whose text is not a number, and the text.

    Return None if every text is a number, or no text is one. name: an attribute whose values are texts.
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


def column_value_type(column: pa.ChunkedArray) -> ValueType | None:
    """Return the value type of a column; None for a column without values."""
    from cerify.semantics.arrow_columns import VALUE_TYPES

    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return VALUE_TYPES.get(type_)


def _first_rows(codes: np.ndarray, column: pa.ChunkedArray, types: int) -> list[int]:
    """Return for each event type the first row of the type with a value in the column, or the number of rows.

    codes: the code of each row's type. types: the number of types; the result is in the order of their codes.
    """
    first = np.full(types, len(codes))
    for part in (column[:_FIRST_ROWS], column):
        rows = np.flatnonzero(part.is_valid().to_numpy())  # indices_nonzero of Arrow needs a chunk (PyArrow 20)
        first[codes[rows][::-1]] = rows[::-1]  # of rows of one type the last assignment, that is the first row, counts
        if (first < len(codes)).all():
            break
    return first.tolist()
