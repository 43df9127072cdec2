"""The schema that a stream shows: which attributes the events of each type have, and of which value types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from cerify.semantics.events import TYPE, Schema, Stream
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.values import PATTERNS, Value, ValueType, value_type_of


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
    """The schema that a stream shows; the attributes of a type are in the order in which its events first have them.

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
