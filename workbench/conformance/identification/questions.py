"""The questions that an engine may be asked: queries, and for each the streams over a few events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from cerify.semantics.events import Stream
from cerify.semantics.json_events import stream_of_json

Json = dict[str, Any]
MOST_STREAMS = 250  # streams of one template that are looked at, the shortest first


@dataclass(frozen=True)
class Template:
    """A query and the events of which its streams consist.

    letters: events as JSON. The key "after" is the number of seconds since the event before; the stream then has
    times: whole seconds, or ISO 8601 if some "after" is a float. longest: the length of the longest stream. before:
    events with which every stream begins.
    """

    query: str
    letters: tuple[Json, ...]
    longest: int
    before: tuple[Json, ...] = ()

    def streams(self) -> Iterator[list[Json]]:
        """The streams as JSON, the shortest first."""
        number = 0
        for length in range(1, self.longest + 1):
            for word in product(self.letters, repeat=length):
                if number == MOST_STREAMS:
                    return
                number += 1
                yield self.timed([*self.before, *word])

    def timed(self, word: list[Json]) -> list[Json]:
        """The events with their times."""
        if not any("after" in event for event in self.letters):
            return [dict(event) for event in word]
        exact = any(isinstance(event.get("after"), float) for event in self.letters)
        now, events = 0.0, []
        for event in word:
            now += event.get("after", 0)
            text = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=now)).isoformat()
            events.append({k: v for k, v in event.items() if k != "after"} | {"time": text if exact else int(now)})
        return events


@dataclass(frozen=True)
class Stage:
    """Axes that are identified together, by these templates; the templates use no axis of a later stage."""

    axes: tuple[str, ...]
    templates: tuple[Template, ...]


@dataclass(frozen=True)
class Question:
    """One query over one stream; key is the stream as text."""

    query: str
    events: tuple[Mapping[str, Any], ...]
    S: Stream
    key: str


def questions(template: Template) -> Iterator[Question]:
    """The questions of a template, the shortest first."""
    for events in template.streams():
        yield Question(template.query, tuple(events), stream_of_json(events, None, "a question"), json.dumps(events))


def types(text: str) -> tuple[Json, ...]:
    """Events of these types without attributes: "A B"."""
    return tuple({"type": name} for name in text.split())


def events(names: str, **columns: tuple[Any, ...]) -> tuple[Json, ...]:
    """Every type with every combination of values; None leaves the attribute out."""
    return tuple(
        {"type": name} | {a: v for a, v in zip(columns, values, strict=True) if v is not None}
        for name in names.split()
        for values in product(*columns.values())
    )
