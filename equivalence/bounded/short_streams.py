"""All short streams of some events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from cerify.semantics.events import Event, Schema, Stream


def streams_of(letters: Sequence[Event], longest: int, most: int, schema: Schema | None = None) -> Iterator[Stream]:
    """All streams of these events: those of 1 event, of 2, and so on, up to the longest length.

    They end with the greatest length for which all together are at most `most`; those of 1 event are always there.
    """
    number = 0
    for length in range(1, longest + 1):
        number += len(letters) ** length
        if number > most and length > 1:
            return
        yield from (Stream(events, schema) for events in product(letters, repeat=length))
