"""A stream for OpenCEP, whose checkout is the argument of the scripts here; without cerify."""
# ruff: noqa: E402

import collections
import collections.abc
import sys
from datetime import datetime, timedelta

collections.Callable = collections.abc.Callable  # type: ignore[attr-defined]  # OpenCEP imports it; gone since 3.10
sys.path.insert(0, sys.argv[1])
from base.DataFormatter import DataFormatter, EventTypeClassifier
from CEP import CEP
from stream.Stream import InputStream, OutputStream


class Types(EventTypeClassifier):
    def get_event_type(self, event_payload):
        return event_payload["type"]


class Formatter(DataFormatter):
    def parse_event(self, raw_data):
        return dict(raw_data)

    def get_event_timestamp(self, event_payload):
        return datetime(2026, 1, 1) + timedelta(seconds=event_payload["time"])


def show(query, stream, expected, *patterns):
    events, matches = InputStream(), OutputStream()
    for at, event in enumerate([{"type": t} for t in stream.split()] if isinstance(stream, str) else stream):
        events._stream.put({"at": at, "time": at} | event)
    events.close()
    try:
        CEP(list(patterns)).run(events, matches, Formatter(Types()))
        got = [(m.pattern_ids, [getattr(step, "primitive_events", [step]) for step in m.events]) for m in matches]
        got = [(*ids, [[event.payload["at"] for event in step] for step in steps]) for ids, steps in got]
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
    print(f"{query}\n  on       {stream}\n  expected {expected}\n  OpenCEP  {got}\n")
