"""The meaning of the apps that the adapter for Siddhi writes: patterns and sequences of SiddhiQL, by its query guide.

With `every`, each event that fits the first step begins. In a sequence the next step takes the next event, in a pattern
the next one that fits. A count ends at the first event of the next step, in the last place at its first. `not … and` is
the end of it all at an event that is not to be; `within` is the time that all events are less apart. A comparison
with NULL is false.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from proofs_tests.unit.workbench.conformance.conditions import Event, Value, condition
from proofs_tests.unit.workbench.conformance.stand_in import Json

APP = re.compile(
    r"@app:playback define stream Events \((.*?)\); @info\(name = 'matches'\) from every (.*?)"
    r"(?: within (\d+) milliseconds)? select (.*) insert into Matches;"
)
FILTER = r"Events\[((?:[^\[\]\"]|\"[^\"]*\"|\[\w+\])*)\]"
STEP = re.compile(rf"(?:not {FILTER} and )?(\w+)={FILTER}(\+|<\d+:\d*>)?(?: (,|->) |$)")
Taken: TypeAlias = tuple[tuple[int, ...], ...]
"""The positions of each step."""


@dataclass(frozen=True)
class Step:
    """A step, and what must not come before it; most is None without an upper bound."""

    name: str
    filter: Value
    absent: Value | None
    least: int
    most: int | None


def rows(translation: Json) -> Iterator[Json]:
    """What is selected of each match over the rows of the stream, with the position at which it is reported."""
    found = APP.fullmatch(translation["app"])
    assert found is not None, translation["app"]
    columns, pattern, within, selected = found.groups()
    names = [column.split()[0] for column in columns.split(", ")]
    events: list[Event] = [dict(zip(names, row, strict=True)) for row in translation["rows"]]
    steps, connectives = steps_of(pattern)
    run = Run(steps, events, translation["times"], int(within) if within else None)
    outputs = [condition(item.rpartition(" as ")[0]) for item in selected.split(", ")]
    for start in range(len(events)):
        if (taken := run.found(start, "," in connectives)) is not None:
            scope = run.scope(taken)
            yield {"at": max(taken[-1]), "row": [output(scope) for output in outputs]}


def steps_of(pattern: str) -> tuple[list[Step], set[str]]:
    """The steps, and what is between them."""
    found = list(STEP.finditer(pattern))
    assert "".join(one[0] for one in found) == pattern, pattern
    return [step_of(*one.groups()[:4]) for one in found], {one[5] for one in found if one[5]}


def step_of(absent: str | None, name: str, filter_: str, count: str | None) -> Step:
    """A step from its parts."""
    least, most = 1, 1 if count is None else None
    if count is not None and count != "+":
        bounds = count[1:-1].split(":")
        least, most = int(bounds[0]), int(bounds[1]) if bounds[1] else None
    return Step(name, condition(filter_, False), None if absent is None else condition(absent, False), least, most)


@dataclass(frozen=True)
class Run:
    """The steps over the events with their times, in milliseconds."""

    steps: Sequence[Step]
    events: Sequence[Event]
    times: Sequence[int]
    within: int | None

    def scope(self, taken: Taken) -> dict[str, list[Event]]:
        """The events of each step so far."""
        return {step.name: [self.events[p] for p in of] for step, of in zip(self.steps, taken, strict=False)}

    def fits(self, filter_: Value, taken: Taken, p: int) -> bool:
        """Whether the filter of a step is true of the event, and it is within the time."""
        late = self.within is not None and bool(taken) and self.times[p] - self.times[taken[0][0]] >= self.within
        return not late and filter_({**self.scope(taken), "": [self.events[p]]}) is True

    def found(self, start: int, strict: bool) -> Taken | None:
        """The match that begins at an event, if there is one; strict: of a sequence."""
        taken: Taken = ()
        for p in range(start, len(self.events)):
            last = self.steps[len(taken) - 1] if taken else None
            step = self.steps[len(taken)]
            enough = last is None or len(taken[-1]) >= last.least
            if enough and step.absent is not None and self.fits(step.absent, taken, p):
                return None
            if enough and self.fits(step.filter, taken, p):
                taken = (*taken, (p,))
                if len(taken) == len(self.steps):
                    return taken
            elif last is not None and len(taken[-1]) != last.most and self.fits(last.filter, taken, p):
                taken = (*taken[:-1], (*taken[-1], p))
            elif last is None or strict:
                return None
        return None
