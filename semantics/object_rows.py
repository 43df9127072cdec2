"""Events from objects: lines of JSON, and mappings of Python.

Each object has its own attributes, and objects of one file need not agree on them. So reading is lenient: a field that
cannot be an attribute is left out of the events with the reason, which `Stream.require_read` raises for the queries
that name it. Refusing the whole file would make a log useless even if its interesting fields are fine. Fields of nested
objects have their paths as names: {"process": {"name": "x"}} and {"process.name": "x"} have the same attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cerify.semantics.arguments import format_names, short_repr
from cerify.semantics.errors import InputError
from cerify.semantics.schemas import NULL, TIME, TYPE, Event, Schema
from cerify.semantics.time_columns import (
    NO_TYPE,
    BadTime,
    FieldReading,
    TimeReading,
    are_date_times,
    how_to_type,
    is_blank,
    times_as_declared,
    times_of_column,
    times_of_texts,
)
from cerify.semantics.values import (
    INT64,
    NanosecondTime,
    Value,
    ValueType,
    is_exact_float,
    is_text,
    joined,
    value_of,
    value_type_of,
)

DEEPEST = 64  # objects inside each other
MOST_ATTRIBUTES = 10_000  # of all events: objects that are keyed by ids would have one for each id
COUNT = "count"  # the attribute "tags.count" is the number of elements of the list "tags"
ANY = ".any."  # the attribute "tags.any.new" says whether "new" is one of them
SCALARS = frozenset({bool, int, float, str, type(None)})


def flattened(obj: Mapping[str, Any], where: str, declared: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of an object; fields of nested objects have their paths as names.

    An empty object has no fields, and is kept only as the value of a declared attribute, for the schema to refuse.

    Raises InputError for a path that has two values, and for objects that are nested too deeply.
    """
    # Most objects are flat: for them Python's copy replaces the walk below.
    if not _is_nested(obj):
        return dict(obj)
    found: dict[str, Any] = {}
    for name, value in _leaves(obj, where, declared):
        # A null does not contradict a value; only two values do.
        if name in found and found[name] is not None:
            if value is not None and (value != found[name] or type(value) is not type(found[name])):
                raise InputError(
                    f"{where}: {name!r} has two values, {short_repr(found[name])} and {short_repr(value)}: one from a "
                    "field of this name, one from a field inside an object; rename one of them"
                )
            continue
        found[name] = value
    return found


def _leaves(obj: Mapping[str, Any], where: str, declared: Collection[str]) -> Iterator[tuple[str, Any]]:
    # A stack in reverse, so that fields keep the order in which the object has them.
    pending: list[tuple[str, Any, int]] = [(name, value, 0) for name, value in reversed(list(obj.items()))]
    while pending:
        name, value, depth = pending.pop()
        if not isinstance(value, Mapping) or (not value and name in declared):
            yield name, value
            continue
        if depth == DEEPEST:
            raise InputError(f"{where}, field {name[:80]!r}: objects are nested more than {DEEPEST} deep")
        pending.extend((f"{name}.{key}", inner, depth + 1) for key, inner in reversed(list(value.items())))


def listed_objects(obj: Mapping[str, Any]) -> list[str]:
    """Return the paths to lists of objects inside an object; one of these lists may hold the events."""
    found, pending = list[str](), [("", obj, 0)]
    while pending:
        path, value, depth = pending.pop()
        for name, inner in value.items():
            where = f"{path}.{name}" if path else name
            if isinstance(inner, list) and inner and all(isinstance(one, Mapping) for one in inner):
                found.append(where)
            elif isinstance(inner, Mapping) and depth < 3:
                pending.append((where, inner, depth + 1))
    return found


def fitted_objects(
    objects: Sequence[Mapping[str, Any]],
    schema: Schema,
    reading: FieldReading,
    place: Callable[[int], str],
    word: str = "field",
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return (objects, warnings): flat objects, with their times converted, and warnings about the units of times.

    Lists are left out, because no schema has them; the attributes that stand for a list, such as the number of its
    elements, are kept if the schema has them. A value that is not a time is kept, so that the schema refuses it. Raises
    InputError, IllFormed.
    """
    fitted: list[dict[str, Any]] = []
    for obj in objects:
        kept = dict(obj)
        for name, value in obj.items():
            if isinstance(value, list | tuple) and name not in schema.attributes:
                del kept[name]
                if (counted := f"{name}.{COUNT}") in schema.attributes:
                    kept.setdefault(counted, len(value))
                for asked in schema.attributes:
                    if asked.startswith(name) and (found := elements_of(asked, {name: [value]})):
                        kept.setdefault(asked, found[0])
        fitted.append(kept)
    notes: list[str] = []
    timed = reading.timed_fields(schema)
    declared = [name for name, value_type in schema.attributes.items() if value_type == "timestamp"]
    for name in dict.fromkeys([*timed, *declared]):
        values = [obj.get(name) for obj in fitted]
        kinds = {type(value) for value in values} - {type(None)}
        if kinds != {str} and not (name in timed and kinds and kinds <= {int, float}):
            continue
        try:
            if name in timed:
                read_times = times_as_declared if name in schema.attributes else times_of_column
                times, note = read_times(values, reading.field(name), timed[name])
            else:
                times, note = times_of_texts(values, TimeReading(round_times=reading.times.round_times)), None
        except BadTime as error:
            raise InputError(f"{place(error.row)}, {word} {reading.field(name)!r}: {error}") from None
        notes += [] if note is None else [note]
        for obj, time in zip(fitted, times, strict=True):
            if time is not None:
                obj[name] = time
    return fitted, notes


def what_list(name: str, paths: Collection[str] = ("",)) -> str:
    """Return why a list is not an attribute, and which attributes stand for it.

    paths: the paths to the values in its elements: [""] if elements are values, [] if queries cannot test elements.
    """
    counted = f"number of elements is the attribute {f'{name}.{COUNT}'!r}"
    if not paths:
        return f"a list, whose {counted}"
    if "" not in paths:
        has = f"{f'{name}.FIELD{ANY}x'!r} says whether an element has x as its FIELD ({format_names(paths)})"
        return f"a list of objects, whose {counted}; {has}"
    return f"a list, whose {counted}; {f'{name}{ANY}x'!r} says whether x is one of them"


def paths_of_first(rows: Iterable[Sequence[Any] | None]) -> list[str]:
    """Return the paths (see `what_list`) to the values in the first element of these lists that is not null."""
    return next((list(_paths(one)) for row in rows for one in row or () if one is not None), [""])


def _paths(element: Any) -> Iterator[str]:
    """Yield the paths to the values of a list's element, "" if the element is a value itself."""
    pending = [("", element, 0)]
    while pending:
        path, value, depth = pending.pop()
        if isinstance(value, Mapping):
            if depth < DEEPEST:
                inner = [(f"{path}.{key}" if path else str(key), one, depth + 1) for key, one in value.items()]
                pending.extend(reversed(inner))
        elif not isinstance(value, list | tuple) or (
            path and (not value or any(not isinstance(one, Mapping | list | tuple) for one in value))
        ):
            yield path


def asked_element(name: str, lists: Collection[str]) -> tuple[str, str, str] | None:
    """Split an attribute like "items.sku.any.x1" into the list, the path in its elements (or ""), and the text.

    Return None if the attribute names none of the lists.
    """
    at = name.find(ANY)
    # ".any." may be part of a field's name, so every place where the name can be split is tried.
    while at > 0:
        path, element = name[:at], name[at + len(ANY) :]
        for known in lists:
            if path == known or path.startswith(f"{known}."):
                return known, path[len(known) + 1 :], element
        at = name.find(ANY, at + 1)
    return None


def elements_of(name: str, lists: Mapping[str, Sequence[Sequence[Any] | None]]) -> list[bool | None] | None:
    """Return for each event whether its list has the element that an attribute names; None if it names no list.

    The attribute "tags.any.new" asks for "new" in the list "tags", and "items.sku.any.x1" for an object in the list
    "items" whose "sku" is "x1". Numbers and Booleans are written as in JSON. An event without the list has None.

      >>> elements_of("tags.any.new", {"tags": [["new", "sale"], [], None]})
      [True, False, None]
    """
    if (asked := asked_element(name, lists)) is None:
        return None
    known, keys, text = asked
    return [None if row is None else any(_has(one, keys, text) for one in row) for row in lists[known]]


def meant_elements(name: str, lists: Mapping[str, Sequence[Sequence[Any] | None]]) -> list[str] | None:
    """Return likely spellings of an attribute like "items.any.x1" that matches no element; None if it matches some.

      >>> meant_elements("items.any.x1", {"items": [[{"sku": "x1"}], []]})
      ['items.sku.any.x1']

    Return None also if the list is empty in all events. If some spellings match an element, return only these.
    """
    if (asked := asked_element(name, lists)) is not None:
        known, keys, text = asked
        elements = [one for row in lists[known] for one in row or () if one is not None]
        paths = {known: dict.fromkeys(path for one in elements for path in _paths(one))}
        if keys in paths[known] or not elements:
            return None
    else:
        text = name.partition(ANY)[2]
        paths = {known: dict.fromkeys(paths_of_first(its)) for known, its in lists.items()}
    meant = [f"{known}.{path}".rstrip(".") + ANY + text for known, its in paths.items() for path in its]
    return [one for one in meant if any(elements_of(one, lists) or ())] or meant


def _has(element: Any, keys: str, text: str) -> bool:
    if keys:
        if not isinstance(element, Mapping):
            return False
        fields = flattened(element, keys)
        element = fields.get(keys)
        if isinstance(element, list | tuple):
            return any(_has(one, "", text) for one in element)
    if isinstance(element, bool):
        return text == ("true" if element else "false")
    if isinstance(element, int | float):
        # JSON makes no difference between 2 and 2.0, so 2.0 is found by both texts.
        return text in (str(element), str(int(element)) if element == element // 1 else "")
    return isinstance(element, str) and element == text


class ObjectRows:
    """Collects objects, and makes events of them.

    place: the function from a row's number to its place, such as "line 3". name: the file's name, "" for Python
    objects.
    """

    def __init__(self, reading: FieldReading, name: str, place: Callable[[int], str]) -> None:
        self._reading, self._name, self._place = reading, name, place
        self._is_json = bool(name)
        # classes whose values need no check after the first; whole numbers of JSON may be too long
        self._as_they_are = frozenset({bool, float} if self._is_json else {bool, int, float})
        self._types: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self._classes: dict[str, dict[type, int]] = {}  # by attribute the classes of values, with first rows
        self._lists: dict[str, dict[int, Sequence[Any]]] = {}  # for each attribute its rows with a list
        self.unread: dict[str, str] = {}
        self.notes: list[str] = []

    def where(self, row: int) -> str:
        """Return the place of a row, with the file's name."""
        return f"{self._name}, {self._place(row)}" if self._name else self._place(row)

    def add(self, obj: Mapping[str, Any]) -> None:
        """Add the next object. Raises InputError if it has no type, or two values for the same path."""
        row = len(self._rows)
        fields = flattened(obj, self.where(row)) if _is_nested(obj) else obj
        type_column, time_column, known = self._reading.type_column, self._reading.time_column, self._classes
        attributes: dict[str, Any] = {}
        # A value of a known class needs no check. So the check runs a few times for each attribute, not once for each
        # value.
        unseen: list[str] = []  # attributes without a value of this class in an earlier event
        type_: Any = None
        for name, value in fields.items():
            if name == type_column:
                type_ = value
                continue
            if value is None and self._reading.keep_fields and name not in (TYPE, TIME, time_column):
                name, value = f"{name}{NULL}", True
            if value is None or name == TYPE:
                continue  # the field that --type names takes this name
            if time_column is not None:
                if name == time_column:
                    name = TIME
                elif name == TIME:
                    continue
            attributes[name] = value
            class_ = type(value)
            seen = known.get(name)
            is_like_others = seen is not None and class_ in seen
            if not (is_like_others and (class_ in self._as_they_are or (class_ is str and value.isascii()))):
                unseen.append(name)
        for name, attribute in self._reading.own_fields(fields).items() if self._reading.keep_fields else ():
            attribute, value = (attribute, fields[name]) if fields[name] is not None else (attribute + NULL, True)
            attributes[attribute] = value
            unseen.append(attribute)
        named = type_ if type(type_) is str and type_ and type_.isascii() else self._type(type_, fields, row)
        self._types.append(self._reading.types.get(named, named))
        for name in unseen:
            self._see(name, attributes, row)
        self._rows.append(attributes)

    def _type(self, value: Any, fields: Mapping[str, Any], row: int) -> str:
        field = self._reading.type_column
        if isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]  # as the Elastic Common Schema has its categories
        if isinstance(value, str) and value:
            if not is_text(value):
                raise InputError(f"{self.where(row)}: its type is {value!r}; it must be a text")
            return str.__str__(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(int(value) if float(value).is_integer() and abs(value) < 2**63 else value)
        if is_blank(value) and self._reading.default_type is not None:
            return self._reading.default_type
        if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a scalar of NumPy
            return self._type(value.item(), fields, row)
        if field not in fields:
            near = f"; the fields are {', '.join(map(str, list(fields)[:20]))}" if not self._is_json else ""
            option = how_to_type(field, fields, self._reading.reserved.values())
            if lists := listed_objects(fields):
                option = f"; its lists of objects are {', '.join(lists[:10])}: name the list of events with --records"
            raise InputError(f"{self.where(row)}: no field {field!r} for the event type{near}{option}")
        if self._is_json:
            raise InputError(f"{self.where(row)}: an event needs the key {field!r} with its event type, a string")
        what = NO_TYPE if value == "" else f"{value!r}; it must be a text"
        raise InputError(f"{self.where(row)}: its type is {what}")

    def _see(self, name: str, attributes: dict[str, Any], row: int) -> None:
        """Check and convert a value, and record its class."""
        if name not in self._classes and not is_text(name):
            raise InputError(f"{self.where(row)}: the attribute name {name!r} is not a string")
        value = attributes[name]
        class_ = type(value)
        if class_ is list or class_ is tuple:
            del attributes[name]
            self._set_aside(name, row, what_list(name))
            self._lists.setdefault(name, {})[row] = value
            name, value, class_ = f"{name}.{COUNT}", len(value), int
            if name in attributes:
                return
            attributes[name] = value
        elif class_ not in (bool, int, float, str) or (class_ is str and not value.isascii()):
            try:
                found = value_of(value, self.where(row))
            except InputError as error:
                _, _, reason = error.message.partition(self.where(row) + ": ")
                del attributes[name]
                self._set_aside(name, row, reason or error.message)
                return
            if found is None:
                del attributes[name]
                return
            if isinstance(found, NanosecondTime) and self._reading.times.round_times:
                found = found.whole
            attributes[name], class_ = found, type(found)
            value = found
        if class_ is int and self._is_json and value not in INT64:
            self._set_aside(name, row, f"{str(value)[:40]} does not fit in 64 bits")
        if (classes := self._classes.get(name)) is None:
            if len(self._classes) >= MOST_ATTRIBUTES:
                raise InputError(
                    f"{self.where(row)}: the event has more than {MOST_ATTRIBUTES:,} attributes; an object whose "
                    "keys are ids gives an attribute for each id, so write it as a list"
                )
            classes = self._classes[name] = {}
        if class_ not in classes:
            classes[class_] = row

    def _set_aside(self, name: str, row: int, reason: str) -> None:
        field = self._reading.field(name)
        word = "field" if self._is_json else "attribute"
        self.unread.setdefault(name, f"{self.where(row)}, {word} {field!r}: {reason}")

    def events(self) -> list[Event]:
        """Return the events. The attributes that cannot be read are in `unread`, and warnings in `notes`."""
        for name, classes in self._classes.items():
            if name in self.unread:
                continue
            try:
                if name == TIME:
                    self._read_time()
                elif set(classes) == {str} and name not in self._reading.texts:
                    self._read_texts(name)
                elif self._is_json and len(classes) > 1:
                    self._join(name, classes)
            except BadTime as error:
                self._set_aside(name, error.row, str(error))
        for name, rows in self._lists.items():
            reason = what_list(name, paths_of_first(rows.values()))
            self.unread[name] = self.unread[name].replace(what_list(name), reason)
        for name in self.unread:
            for row, attributes in enumerate(self._rows):
                # Left out of all events: a filter that sees the attribute in some of them would give wrong answers.
                value = attributes.pop(name, None)
                if value is not None and name in self._lists:
                    self._lists[name][row] = [value]  # where others have lists, a single value is a list of one
        return [Event(type_, attributes) for type_, attributes in zip(self._types, self._rows, strict=True)]

    def lists(self) -> dict[str, list[Sequence[Any] | None]]:
        """Return, for each attribute that has lists, the list or None of each event; call this after `events`."""
        return {name: [rows.get(row) for row in range(len(self._rows))] for name, rows in self._lists.items()}

    def has(self, name: str) -> bool:
        """Return whether an event has the attribute, readable or not."""
        return name in self._classes or name in self.unread

    def _read_time(self) -> None:
        values = [attributes.get(TIME) for attributes in self._rows]
        times, note = times_of_column(values, self._reading.field(TIME), self._reading.times)
        self.notes += [] if note is None else [note]
        self._replace(TIME, times)

    def _read_texts(self, name: str) -> None:
        start = self._rows[self._classes[name][str]][name]
        if not are_date_times([start]):
            return
        values = [attributes.get(name) for attributes in self._rows]
        if are_date_times(values):
            self._replace(name, times_of_texts(values, TimeReading(round_times=self._reading.times.round_times)))

    def _replace(self, name: str, values: Iterable[Value | None]) -> None:
        for attributes, value in zip(self._rows, values, strict=True):
            if value is not None:
                attributes[name] = value
            else:
                attributes.pop(name, None)

    def _join(self, name: str, classes: Mapping[type, int]) -> None:
        """Turn integers into floats in attributes with both; set aside attributes of several kinds."""
        (seen, first), *others = ((value_type_of(self._rows[row][name]), row) for row in classes.values())
        known: ValueType = seen
        for new, row in others:
            if (both := joined(known, new)) is None:
                reason = f"{new}, but {known} in {self._place(first)}; an attribute has one type throughout a stream"
                self._set_aside(name, row, reason)
                return
            known = both
        for row, attributes in enumerate(self._rows):
            if type(value := attributes.get(name)) is int:
                if not is_exact_float(value):
                    self._set_aside(name, row, f"{value} cannot be stored exactly as a 64-bit float")
                    return
                attributes[name] = float(value)


def _is_nested(obj: Mapping[str, Any]) -> bool:
    return any(type(value) not in SCALARS and isinstance(value, Mapping) for value in obj.values())
