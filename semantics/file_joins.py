"""Join several files to one stream, if they agree on the types of attributes, and sort streams by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream, observed
from cerify.semantics.packages import pa
from cerify.semantics.values import Value, ValueType, is_exact_float, joined, kind

Parts = Sequence[tuple[str, Stream]]
"""The files by name, each with its events."""


def text_in_some(parts: Parts) -> frozenset[str]:
    """Return the attributes that are texts in some files and times in others; the joined stream has them as texts."""
    kinds: dict[str, set[str]] = {}
    for _, S in parts:
        for name, value_type in observed(S).attributes.items():
            kinds.setdefault(name, set()).add(value_type)
    return frozenset(name for name, found in kinds.items() if name != TIME and {"string", "timestamp"} <= found)


def joined_streams(parts: Parts, schema: Schema | None) -> Stream:
    """Return the events of several files as one stream.

    As in one file, attributes with values of two kinds are left out, with the reason in `unread`. Raises InputError if
    there are no files.
    """
    if not parts:
        raise InputError("there are no files of events; give at least one")
    unread: dict[str, str] = {}
    types: dict[str, tuple[ValueType, str]] = {}
    for path, S in parts:
        unread = {**S.unread, **unread}
        for name, new in observed(S).attributes.items():
            known, first = types.setdefault(name, (new, path))
            if (both := joined(known, new)) is None:
                reason = f"{path}, field {name!r}: {new}, but {known} in {first}; an attribute has one type throughout"
                unread.setdefault(name, f"{reason} a stream")
            else:
                types[name] = both, first
    floats = {name for name, (value_type, _) in types.items() if value_type == "float"}
    if all(S.is_columnar for _, S in parts):
        tables = [_readable(S.table, floats, unread) for _, S in parts]
        joint = Stream.from_table(pa.concat_tables(tables, promote_options="permissive"), schema)
    else:
        joint = Stream([_with(event, floats, unread) for _, S in parts for event in S.events], schema)
    if all(S.columns is not None for _, S in parts):
        joint.columns = list(dict.fromkeys(name for _, S in parts for name in S.columns or ()))
    joint.fits, joint.unread = True, unread
    lists = [python_lists(S) for _, S in parts]
    joint.lists = {
        name: [row for (_, S), its in zip(parts, lists, strict=True) for row in its.get(name, [None] * len(S))]
        for name in dict.fromkeys(name for its in lists for name in its)
    }
    return joint


def python_lists(S: Stream) -> dict[str, list[Any]]:
    """Return, for each attribute that has lists, the list or None of each event."""
    return {name: rows if isinstance(rows, list) else rows.to_pylist() for name, rows in S.lists.items()}


def _readable(table: pa.Table, floats: set[str], unread: dict[str, str]) -> pa.Table:
    from cerify.semantics.arrow_columns import lossless

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name == TYPE:
            columns[name] = column.cast(pa.string())
        elif name not in unread:
            columns[name] = lossless(column, "float", name, "row {}".format) if name in floats else column
    return pa.table(columns)


def _with(event: Event, floats: set[str], unread: dict[str, str]) -> Event:
    found = {}
    for name, value in event.attributes.items():
        if name in floats and type(value) is int:
            if not is_exact_float(value):
                raise InputError(f"field {name!r}: {value} cannot be stored exactly as a 64-bit float")
            value = float(value)
        if name not in unread:
            found[name] = value
    return Event(event.type, found)


def sorted_by_time(S: Stream) -> Stream:
    """Return the stream in the order of its times; events of equal times stay in order.

    An event without a time stays behind the event before it. Raises InputError if the times cannot be read, or are of
    two kinds.
    """
    S.require_read([TIME])
    last: Value | None = None
    keys: list[tuple[bool, Any]] = []
    for event in S.events:
        time = event.get(TIME)
        last = last if time is None else time
        keys.append((last is not None, last))
    known = {kind(key) for _, key in keys if key is not None}
    if len(known) > 1 or known & {"string", "bool"}:
        raise InputError("the events cannot be sorted: their times are of several kinds; write all in one form")
    order = sorted(range(len(keys)), key=lambda n: (keys[n][0], keys[n][1] if keys[n][0] else 0, n))
    if order == list(range(len(order))):
        return S
    if S.is_columnar:
        made = Stream.from_table(S.table.take(order), S.schema)
    else:
        made = Stream.of_checked([S.events[n] for n in order], S.unread)
        made.schema = S.schema
    made.fits, made.unread, made.renamed, made.columns = S.fits, S.unread, S.renamed, S.columns
    made.lists = {name: [rows[n] for n in order] for name, rows in python_lists(S).items()}
    return made
