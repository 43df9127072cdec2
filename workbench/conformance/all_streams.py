"""One query on all short streams: how often an engine is wrong, and on which shortest one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from cerify.conformance.elements import operations_of
from cerify.conformance.harness import Engine
from cerify.conformance.model import FAILURES, Case, Result
from cerify.conformance.oracle import Oracle
from cerify.conformance.run import judged_again
from cerify.languages.language import Language
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.values import Value

MOST = 200_000  # streams
VALUES = 3  # of each attribute
OTHERS = ("Z", "Other", "Nothing")  # names for a type that the query does not name


@dataclass(frozen=True)
class Search:
    """What an engine did on the streams: how many it was asked, the wrong answers, and why it ended early, or "".

    disputed: the answers where the plain definition contradicts the expected matches, which is no fault of the engine.
    """

    asked: int
    wrong: Sequence[Result]
    disputed: Sequence[Result]
    skipped: int
    planned: int
    ended: str = ""

    @property
    def shortest(self) -> Result | None:
        """The first wrong answer, which is on a shortest stream."""
        return self.wrong[0] if self.wrong else None


def events_of(language: Language[Any], query: Any) -> list[Event]:
    """The events that streams are made of: of each type of the query, and one other, with some values of attributes.

    The values are the query's own constants and their neighbours, as far as there is room.
    """
    operations = operations_of(language)
    if operations is None:
        raise InputError(f"the types of a query in {language.title} are not known; use the suite or `cerify match`")
    types = list(dict.fromkeys(operations.types(query)))
    other = next(name for name in OTHERS if name not in types)
    attributes = sorted(set(operations.attributes(query)) - {TIME})
    values = _values(operations.constants(query))
    return [
        Event(R, dict(zip(attributes, chosen, strict=True)))
        for R in [*types, other]
        for chosen in product(values, repeat=len(attributes))
    ]


def _values(constants: Sequence[Value]) -> list[Value]:
    found: dict[Value, None] = {}
    for value in constants:
        found[value] = None
        if isinstance(value, int | float) and type(value) is not bool:
            found[value + 1] = None
    for simple in (0, 1):
        found[simple] = None
    return list(found)[:VALUES]


def all_streams(events: Sequence[Event], longest: int, timed: bool) -> Iterator[Stream]:
    """All streams of at most that many events, the shortest first; timed: the event at position i is at second i."""
    for length in range(1, longest + 1):
        for chosen in product(events, repeat=length):
            times = [{TIME: i} if timed else {} for i in range(length)]
            yield Stream([Event(e.type, {**e.attributes, **at}) for e, at in zip(chosen, times, strict=True)])


def search(
    engine: Engine, language: Language[Any], text: str, longest: int, output: Any, progress: Any = lambda d, t: None
) -> Search:
    """What an engine does with a query on all streams of at most `longest` events. Raises ParseError, InputError."""
    query = language.parse(text)
    letters = events_of(language, query)
    planned = sum(len(letters) ** length for length in range(1, longest + 1))
    if planned > MOST:
        raise InputError(f"there are {planned:,} streams of at most {longest} events; at most {MOST:,} are tried")
    wrong: list[Result] = []
    disputed: list[Result] = []
    asked = skipped = 0
    oracle, ended = Oracle(), ""
    try:
        for S in all_streams(letters, longest, "WITHIN" in text.upper()):
            progress(asked, planned)
            origin = Case(f"all/{asked}", "fuzz", "", language.name, text, None, (), output, ())
            result = judged_again(engine.run(oracle.case(query, S, origin)), query, S, oracle)
            asked += 1
            skipped += result.outcome == "skipped"
            if result.outcome == "not_run":
                ended = result.detail
                break
            if result.outcome == "disputed":
                disputed.append(result)
            elif result.outcome in FAILURES:
                wrong.append(result)
    except KeyboardInterrupt:
        ended = "interrupted"
    return Search(asked, wrong, disputed, skipped, planned, ended)
