"""The meaning of the apps that the adapter for Siddhi writes: patterns and sequences of SiddhiQL, by its query guide.

With `every`, each event that fits the first step begins. In a sequence the next step takes the next event; a count has
some in a row, and each number within its bounds is a way. In a pattern a step takes the next event that fits; a count
ends at the first event of the next step. In the last place a count ends at its least number. `not … and` ends it all at
an event that is not to be; `within` is the time that all events are less apart. A condition on NULL is not true.
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

    @property
    def counts(self) -> bool:
        """Whether it takes some events."""
        return (self.least, self.most) != (1, 1)


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
        for taken in run.sequences((), start) if "," in connectives or len(steps) == 1 else run.patterns((), start):
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
    return Step(name, condition(filter_), None if absent is None else condition(absent), least, most)


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

    def sequences(self, taken: Taken, p: int) -> Iterator[Taken]:
        """The ways to go on with the next step at an event."""
        step, own = self.steps[len(taken)], (*taken, ())
        while p < len(self.events) and self.fits(step.filter, own if own[-1] else taken, p):
            own, p = (*taken, (*own[-1], p)), p + 1
            if len(own[-1]) >= step.least:
                if len(own) == len(self.steps):
                    yield own
                    return
                yield from self.sequences(own, p)
            if len(own[-1]) == step.most:
                return

    def patterns(self, taken: Taken, start: int) -> Iterator[Taken]:
        """The way, if there is one, from the event at which it begins."""
        for p in range(start, len(self.events)):
            k = len(taken)
            last = self.steps[k - 1] if taken else None
            step = self.steps[k]
            enough = last is None or len(taken[-1]) >= last.least
            if enough and step.absent is not None and self.fits(step.absent, taken, p):
                return
            if enough and self.fits(step.filter, taken, p):
                taken = (*taken, (p,))
                if len(taken) == len(self.steps):
                    yield taken
                    return
            elif last is None:
                return
            elif last.counts and len(taken[-1]) != last.most and self.fits(last.filter, taken, p):
                taken = (*taken[:-1], (*taken[-1], p))
