"""Events, and the schemas that they fit (tods21, section 4).

A `Schema` says which attributes the events of a type have, of which value types, and how times may follow each other.
Queries are checked against it before any event is read. An `ObservedSchema` only describes events that were read: an
attribute that it lacks may still occur later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

from cerify.semantics.arguments import require_kind, timed_items
from cerify.semantics.errors import IllFormed, InputError
from cerify.semantics.values import KIND_OF, TimeUnit, Value, ValueType, is_text, joined, value_type_of

TYPE = "type"  # the reserved key, and column, of an event's type
TIME = "time"  # the reserved key, and column, of an event's time
NO_CATEGORY = "(none)"
"""The type of a document without `event.category` in EQL. No query of EQL can ask for it as a category."""
NULL = "[null]"
"""The end of the name of an attribute which is true if a field is null: x[null] for the field x.

Only readers for a language that distinguishes a null from an absent field keep nulls in this way.
"""
FIELD = "[field]"
"""The end of the name of an attribute with a document's own field "type" or "time": type[field], time[field].

An event has its type and its time under these two names, whatever field of the document they were read from.
"""

Order = Literal["strict", "non-decreasing", "any"]
"""How times may follow each other: each is later than all before it, none is earlier, or any order.

An event may have no time.
"""


def attribute_of(name: str) -> str:
    """Return the attribute that holds a field of a document. Only reserved names differ: see `FIELD`.

    `field_name` is the inverse.

    >>> from cerify.semantics.schemas import attribute_of
    >>> attribute_of("time"), attribute_of("user.name")
    ('time[field]', 'user.name')
    """
    return name + FIELD if name in (TYPE, TIME) else name


def field_name(attribute: str) -> str:
    """Return the name of the document's field whose value an attribute has; the inverse of `attribute_of`."""
    return attribute.replace(FIELD, "", 1)


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its type, and the values of its attributes. The mapping has no entry for an absent attribute."""

    type: str
    attributes: Mapping[str, Value] = field(default_factory=dict)

    def get(self, name: str) -> Value | None:
        """Return the value of an attribute, or None if the event does not have the attribute."""
        return self.attributes.get(name)


def named_values(event: Event) -> Iterator[tuple[str, Value | None]]:
    """Yield the fields of an event with their values; None for a field that is null (see `NULL`)."""
    for name, value in event.attributes.items():
        if not name.endswith(NULL):
            yield name, value
        elif (field_name := name.removesuffix(NULL)) not in event.attributes:
            yield field_name, None


UNIT_TYPES: Mapping[str, TimeUnit] = {f"timestamp[{unit}]": unit for unit in get_args(TimeUnit)}
"""The value types for numbers since 1970 that mean times, each with the unit of the numbers."""


@dataclass(frozen=True)
class Schema:
    """The attributes of each event type and their value types (tods21, section 4).

    An attribute name has one value type throughout a schema, because a stream keeps one Arrow column for each name. If
    an attribute has the type timestamp[s], [ms], [us] or [ns], readers convert its numbers since 1970 to times; `types`
    then has timestamp, and `units` the unit. order: how times may follow each other when queries are compared; None
    leaves it open. Equality of schemas ignores units and order.
    """

    types: Mapping[str, Mapping[str, ValueType]]
    order: Order | None = field(default=None, kw_only=True, compare=False)
    units: Mapping[str, TimeUnit] = field(default_factory=dict, init=False, repr=False, compare=False)
    timed: ClassVar[bool] = True
    """Whether every event may have a time even if its type does not list one."""
    mixed: ClassVar[frozenset[str]] = frozenset()
    """The attributes that have values of several types, see ObservedSchema."""

    def __post_init__(self) -> None:
        seen: dict[str, tuple[str, ValueType]] = {}
        units: dict[str, TimeUnit] = {}
        if self.order not in (None, *get_args(Order)):
            raise IllFormed(f"the order of times is {self.order!r}; use {', '.join(get_args(Order))}")
        wanted = 'a mapping, as {"T": {"id": "int"}}'
        if not isinstance(self.types, Mapping):
            require_kind("the types of a schema", self.types, Mapping, wanted)
        for name, attributes in self.types.items():
            if not isinstance(attributes, Mapping):
                require_kind("the types of a schema", attributes, Mapping, wanted)
            # `isascii` comes first, because it is true of nearly all names and much cheaper than `is_text`.
            if wrong := [
                text for text in (name, *attributes) if not ((type(text) is str and text.isascii()) or is_text(text))
            ]:
                raise IllFormed(f"a schema has the name {wrong[0]!r}; each of its names must be a text")
            for attribute, declared in attributes.items():
                value_type = declared
                if value_type not in KIND_OF:
                    if (unit := UNIT_TYPES.get(value_type)) is None:
                        use = f"{', '.join(KIND_OF)}, or timestamp[s|ms|us|ns] for numbers since 1970"
                        raise IllFormed(f"attribute {name}.{attribute} has type {value_type!r}; use {use}")
                    value_type, units[attribute] = "timestamp", unit
                if attribute == TYPE:
                    raise IllFormed(f"{name}.{TYPE} is reserved for the event's type; name the attribute differently")
                other, known = seen.setdefault(attribute, (name, value_type))
                if known != value_type:
                    raise IllFormed(
                        f"attribute {attribute!r} is {known} in {other} and {value_type} in {name}; "
                        "an attribute name has one type throughout a schema, so rename one of the two"
                    )
        if units:
            plain_types = {
                name: {attribute: "timestamp" if attribute in units else known for attribute, known in its.items()}
                for name, its in self.types.items()
            }
            object.__setattr__(self, "types", plain_types)  # the dataclass is frozen
            object.__setattr__(self, "units", units)

    @cached_property
    def attributes(self) -> Mapping[str, ValueType]:
        """Return every attribute of every type, with its value type."""
        return {name: value_type for attributes in self.types.values() for name, value_type in attributes.items()}

    def has(self, type_: str, attribute: str) -> bool:
        """Return whether the events of a type of the schema may have an attribute."""
        return attribute in self.types[type_] or (attribute == TIME and self.timed)

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> Schema:
        """Return the schema inferred from these events. An attribute with both integers and floats is a float.

        The attributes of each type are in the order in which they first occur in events of any type. A table's columns
        have the same order, so arguments of event expressions mean the same with this schema and without a schema.

        Raises InputError for an attribute of several types, and for an object that is not an event.
        """
        types: dict[str, dict[str, ValueType]] = {}
        order: dict[str, None] = {}
        for position, event in enumerate(items_of(events)):
            if not isinstance(event, Event):
                raise InputError(
                    f"event {position} is {event!r}, which is not an event; write Schema.from_events(Stream(rows))"
                )
            attributes = types.setdefault(event.type, {})
            order |= dict.fromkeys(event.attributes)
            for name, value in event.attributes.items():
                new = value_type_of(value)
                seen = attributes.setdefault(name, new)
                if (both := joined(seen, new)) is None:
                    raise InputError(
                        f"event {position}, attribute {name!r}: {new}, but an earlier {event.type} has {seen}; an "
                        "attribute has one type, so rename one of the two"
                    )
                attributes[name] = both
        # Values of one attribute in events of two types share a column, so a float in one type makes floats in all.
        floats = {name for attributes in types.values() for name, kind in attributes.items() if kind == "float"}
        for attributes in types.values():
            attributes.update({name: "float" for name, kind in attributes.items() if kind == "int" and name in floats})
        return cls({T: {name: its[name] for name in order if name in its} for T, its in types.items()})


def require_schema(schema: object) -> None:
    """Raise IllFormed unless the argument is a Schema or None."""
    if schema is not None and not isinstance(schema, Schema):
        raise IllFormed(f"a schema must be a cerify.Schema, not a {type(schema).__name__}; write Schema({{...}})")


@dataclass(frozen=True)
class ObservedSchema(Schema):
    """A schema made from events: each type has the attributes of its events. The time may be among them.

    mixed: the attributes with values of several types in the stream; their value types here mean nothing.
    """

    timed: ClassVar[bool] = False
    mixed: frozenset[str] = field(default=frozenset())  # type: ignore[misc]

    def __post_init__(self) -> None:
        """Skip the check of Schema: attributes of events are valid, or in `mixed`."""


def items_of(events: object) -> Iterable[Any]:
    """Yield the given events one by one. Raises InputError for an object that is not a collection of events.

    Raises BudgetExceeded if the time of the call is over.
    """
    if isinstance(events, str) or not isinstance(events, Iterable):
        raise InputError(
            f"events must be a Stream, a list or a table, not {events!r}; read a file with cerify.read_stream"
        )
    return timed_items(events, 1)  # a generator may take long for one event
