"""Tables and answers of the tests of MATCH_RECOGNIZE, written short."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cerify.semantics.arguments import Budget
from cerify.semantics.events import Stream
from cerify.semantics.readings import STANDARD, RowReading
from cerify.semantics.row_pattern.interpreter import RowOutput, find_matches
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import ROW

FALLING = "90 80 70 70"


def table(columns: str, *values: Iterable[Any]) -> Stream:
    """The table with these columns and rows; None is NULL."""
    names = columns.split()
    return Stream({"type": ROW, **dict(zip(names, row, strict=True))} for row in values)


def numbered(values: str, name: str = "value") -> Stream:
    """The table with the columns id, from 1, and value; a dot is NULL."""
    read = (None if word == "." else int(word) for word in values.split())
    return table(f"id {name}", *enumerate(read, 1))


def found(text: str, S: Stream, reading: RowReading = STANDARD) -> list[NumberedMatch]:
    """The matches by the definition."""
    return list(find_matches(parse(text), S, reading, Budget(valuations=20_000)))


def labels(text: str, S: Stream, reading: RowReading = STANDARD) -> list[str]:
    """Of each match its labels, one letter for each row, after the number of its first row from 1."""
    shown = []
    for match in found(text, S, reading):
        label = {place: A for A, bound in match.bindings or () for place in bound}
        first = match.events[0] if match.events else match.at
        shown.append(f"{first + 1}:{''.join(label[place] for place in match.events)}")
    return shown


def rows(text: str, S: Stream, reading: RowReading = STANDARD) -> list[tuple[Any, ...]]:
    """The rows of the output table."""
    return list(RowOutput(parse(text), S, reading).rows(found(text, S, reading)))
