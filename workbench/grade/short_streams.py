"""All short streams over a few values, for queries that no decider compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product

from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.values import Value

STREAMS = 1600  # that are tried at most
LONGEST = 5


def short_streams(schema: Schema, values: Mapping[str, Sequence[Value]]) -> Iterator[Stream]:
    """All streams of the schema whose attributes have these values: those of 1 event, of 2, and so on.

    They end with the greatest length for which all together are few enough. Times never decrease.
    """
    letters = list(_events(schema, values))
    made = 0
    for length in range(1, LONGEST + 1):
        made += len(letters) ** length
        if made > STREAMS and length > 1:
            return
        for events in product(letters, repeat=length):
            if _in_time(events):
                yield Stream(events, schema)


def _events(schema: Schema, values: Mapping[str, Sequence[Value]]) -> Iterator[Event]:
    for type_, attributes in schema.types.items():
        for chosen in product(*(values[name] for name in attributes)):
            yield Event(type_, dict(zip(attributes, chosen, strict=True)))


def _in_time(events: Sequence[Event]) -> bool:
    """Whether no event happens before the one in front of it."""
    times = [event.get(TIME) for event in events]
    return all(t1 <= t2 for t1, t2 in pairwise(times) if isinstance(t1, int) and isinstance(t2, int))
