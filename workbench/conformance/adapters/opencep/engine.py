"""Search a pattern in a stream by OpenCEP, and record where it reports matches. Its checkout must be on the path."""

import collections
import collections.abc
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from chains import EPOCH, Alternative, Code, Json, Match, Window, build_pattern

collections.Callable = collections.abc.Callable  # OpenCEP imports it from collections, which lacks it since Python 3.10

from base.DataFormatter import DataFormatter, EventTypeClassifier  # noqa: E402
from base.Pattern import Pattern  # noqa: E402
from base.PatternStructure import (  # noqa: E402
    AndOperator,
    KleeneClosureOperator,
    NegationOperator,
    PrimitiveEventStructure,
    SeqOperator,
)
from CEP import CEP  # noqa: E402
from condition.CompositeCondition import AndCondition  # noqa: E402
from condition.Condition import SimpleCondition, Variable  # noqa: E402
from misc.ConsumptionPolicy import ConsumptionPolicy  # noqa: E402
from stream.Stream import InputStream, OutputStream  # noqa: E402


class Types(EventTypeClassifier):
    """Tells OpenCEP the type of an event."""

    def get_event_type(self, event_payload: Any) -> str:
        return event_payload["event"]["type"]


class Formatter(DataFormatter):
    """Reads the parts of an event that OpenCEP needs."""

    def __init__(self) -> None:
        super().__init__(Types())

    def parse_event(self, raw_data: Any) -> Any:
        return dict(raw_data)

    def get_event_timestamp(self, event_payload: Any) -> datetime:
        return EPOCH + timedelta(seconds=event_payload["seconds"])


class Input(InputStream):
    """Yields the events one by one; `position` is the position of the event that OpenCEP reads."""

    def __init__(self, events: Sequence[Json], seconds: Sequence[float]) -> None:
        self.position = -1
        self.events, self.seconds = events, seconds

    def __next__(self) -> Any:
        if self.position + 1 == len(self.events):
            raise StopIteration
        self.position += 1
        at = self.position
        return {"position": at, "seconds": self.seconds[at], "event": self.events[at]}


class Output(OutputStream):
    """Stores each match with the position at which it was reported."""

    def __init__(self, source: Input) -> None:
        self.source = source
        self.found: list[tuple[int, Any]] = []

    def add_item(self, item: Any) -> None:
        self.found.append((self.source.position, item))

    def close(self) -> None:
        pass


def taken_events(payload: Any) -> Any:
    """Return the event of a step; for a closure the list of its events."""
    return [one["event"] for one in payload] if isinstance(payload, list) else payload["event"]


def function(names: Sequence[str], code: Code) -> Callable[..., bool]:
    """Return the condition as a function of the events of each name."""
    return lambda *taken: code.value(dict(zip(names, taken)))


def search(
    pattern: Alternative, window: Window | None, events: Sequence[Json], seconds: Sequence[float]
) -> list[Match]:
    """Return the matches of one pattern that OpenCEP reports."""
    stream = Input(events, seconds)
    output = Output(stream)
    names = sys.modules[__name__]  # of OpenCEP, and the functions of this module
    CEP([build_pattern(pattern, window, names)]).run(stream, output, Formatter())
    return [
        (at, [[e.payload["position"] for e in getattr(step, "primitive_events", [step])] for step in match.events])
        for at, match in output.found
    ]
