"""Histories in streams, as the definition reads them: the start event, and the order of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions.syntax import START
from cerify.semantics.events import TIME, Schema, Stream

Places: TypeAlias = Mapping[str, tuple[str, ...]]
"""The attributes of each event type, in their order."""


def places_of(S: Stream) -> Places:
    """The attributes of each type in the order of the schema; without one, in that in which the stream first has them.

    That is the order of the columns of the stream's table, whatever the type, so that a stream that is written to a
    file and read again means the same. The time of an event is not counted among them.
    """
    if S.schema is not None:
        return in_order(S.schema)
    everywhere = list(dict.fromkeys(name for event in S for name in event.attributes if name != TIME))
    seen: dict[str, set[str]] = {}
    for event in S:
        seen.setdefault(event.type, set()).update(event.attributes)
    return {T: tuple(filter(names.__contains__, everywhere)) for T, names in seen.items()}


def in_order(schema: Schema) -> Places:
    """The attributes of each type of a schema but for the time, in order."""
    return {T: tuple(name for name in names if name != TIME) for T, names in schema.types.items()}


def require_start_first(S: Stream) -> None:
    """Raises InputError if a start event is anywhere but at the beginning (section 2.1)."""
    for e, event in enumerate(S):
        if event.type == START and e > 0:
            raise InputError(f"event {e} is a {START} event; a history has one at its beginning or none")
