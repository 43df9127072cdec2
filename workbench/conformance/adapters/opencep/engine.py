"""OpenCEP, to be imported when its checkout is on the path: a pattern over a stream, and when each match is reported."""

import collections
import collections.abc
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from chains import Alternative, Binding, Condition, Json, Leaf, Match, Operator, Window

collections.Callable = collections.abc.Callable  # OpenCEP imports it from here, where Python 3.10 has it no more

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

EPOCH = datetime(5000, 1, 1)
UNBOUNDED = timedelta(days=1_000_000)


class Types(EventTypeClassifier):
    """The type of an event."""

    def get_event_type(self, event_payload: Any) -> str:
        return event_payload["event"]["type"]


class Formatter(DataFormatter):
    """The parts of an event that OpenCEP asks for."""

    def __init__(self) -> None:
        super().__init__(Types())

    def parse_event(self, raw_data: Any) -> Any:
        return dict(raw_data)

    def get_event_timestamp(self, event_payload: Any) -> datetime:
        return EPOCH + timedelta(seconds=event_payload["seconds"])


class Input(InputStream):
    """The events one by one; `position` is that of the event which is read at the moment."""

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
    """The matches, each with the position at which it was added."""

    def __init__(self, source: Input) -> None:
        self.source = source
        self.found: list[tuple[int, Any]] = []

    def add_item(self, item: Any) -> None:
        self.found.append((self.source.position, item))

    def close(self) -> None:
        pass


def search(
    pattern: Alternative, window: Window | None, events: Sequence[Json], seconds: Sequence[float]
) -> list[Match]:
    """The matches of one pattern, by OpenCEP."""
    width = UNBOUNDED if window is None else timedelta(seconds=window.width)
    policy = ConsumptionPolicy(contiguous=_runs(pattern)) if pattern.contiguous else None
    condition = AndCondition(*map(_condition, pattern.conditions))
    source = Input(events, seconds)
    output = Output(source)
    CEP([Pattern(_structure(pattern.root), condition, width, policy)]).run(source, output, Formatter())
    return [
        (at, [[e.payload["position"] for e in getattr(step, "primitive_events", [step])] for step in match.events])
        for at, match in output.found
    ]


def _runs(pattern: Alternative) -> list[list[str]]:
    """The longest sequences of leaves that are contiguous."""
    runs: list[list[str]] = []
    names = [leaf.name for leaf in pattern.leaves]
    for first, second in sorted(set(pattern.contiguous), key=lambda pair: names.index(pair[0])):
        if runs and runs[-1][-1] == first:
            runs[-1].append(second)
        else:
            runs.append([first, second])
    return runs


def _structure(step: Leaf | Operator) -> Any:
    if isinstance(step, Leaf):
        one = PrimitiveEventStructure(step.type, step.name)
        if step.absent:
            return NegationOperator(one)
        return KleeneClosureOperator(one, step.least, step.most) if step.closure else one
    return (SeqOperator if step.name == "SEQ" else AndOperator)(*map(_structure, step.steps))


def _condition(condition: Condition) -> Any:
    def holds(*payloads: Any) -> bool:
        lists = [payload if isinstance(payload, list) else [payload] for payload in payloads]
        binding: Binding = {n: [p["event"] for p in of] for n, of in zip(condition.names, lists, strict=True)}
        return condition.test(binding)

    return SimpleCondition(*(Variable(name, lambda payload: payload) for name in condition.names), relation_op=holds)
