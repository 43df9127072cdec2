"""Cases made from others of the suite, by their times alone: in order, far apart, and at the edge of a window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cerify.conformance.cases import in_order, in_order_of_time
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.languages import LANGUAGES
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import SECONDS
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import Value, value_type_of

FAR = 10_000_000  # seconds between two events, for an engine that has a window where none is asked
FAR_QUERIES = 5  # of each feature below
FAR_FEATURES = frozenset({"core-seq", "core-plus", "sase-sequence", "sase-kleene"})
WIDE = 1_000  # weeks, for a query of SASE+ that needs a window
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
FILLER = Event("Z")


@dataclass(frozen=True)
class Measured:
    """What a window is put around, without any window or with one that nothing exceeds, and the window's width.

    attribute: on which the width is measured; None for a number of events.
    """

    query: Any
    width: int | float
    attribute: str | None


def twins(cases: Sequence[Case]) -> Iterator[tuple[str, Any, Stream]]:
    """A feature, a query as a tree and a stream, for each twin of the cases, which are of one language.

    The cases of a reading have none, since each of them is one on which another reading differs.
    """
    edged: set[tuple[str, str, Measured]] = set()
    far: dict[str, set[str]] = {}
    for case in cases:
        if case.feature.startswith("sase-reading"):
            continue
        query, S = LANGUAGES[case.language].syntax.parse(case.query), stream_of(case)
        measures = list(measured(query))
        if any(one.attribute == TIME for one in measures) and not in_order(S):
            yield case.feature, query, in_order_of_time(S)
        for one in measures:
            if (key := (case.feature, case.query, one)) not in edged and (found := list(edges(case.language, one, S))):
                edged.add(key)
                yield from ((case.feature, query, twin) for twin in found)
        queries = far.setdefault(case.feature, set())
        if case.feature in FAR_FEATURES and case.matches and case.query not in queries and len(queries) < FAR_QUERIES:
            queries.add(case.query)
            yield case.feature, query, with_values(S, TIME, [FAR * p for p in range(len(S))])


def measured(query: Any) -> Iterator[Measured]:
    """The windows of a query of CEL or SASE+."""
    match query:
        case sase.SaseQuery(within=sase.SaseWindow() as window):
            yield Measured(replace(query, within=replace(window, amount=WIDE, unit="weeks")), window.seconds, TIME)
        case sase.SaseQuery() | sase.SaseUnion() | sase.Program():
            return
        case _:
            for phi in (
                LANGUAGES["cel"].syntax.subterms(query) if isinstance(query, LANGUAGES["cel"].syntax.trees) else ()
            ):
                match phi:
                    case cel.Within(psi, cel.EventWindow(n)):
                        yield Measured(unwindowed(psi), n, None)
                    case cel.Within(psi, cel.TimeWindow(amount, unit)):
                        yield Measured(unwindowed(psi), amount * SECONDS[unit], TIME)
                    case cel.Within(psi, cel.AttributeWindow(width, attribute)):
                        yield Measured(unwindowed(psi), width, attribute)


def unwindowed(phi: cel.Formula) -> cel.Formula:
    """The formula without its windows."""
    if isinstance(phi, cel.Within):
        return unwindowed(phi.phi)
    language = LANGUAGES["cel"]
    return language.syntax.rebuilt(phi, tuple(map(unwindowed, language.syntax.children(phi))))


def edges(language: str, of: Measured, S: Stream) -> Iterator[Stream]:
    """The stream so changed that a match has the width as its span, one less, and one more, where that is possible."""
    found = sorted(
        (m.events for m in LANGUAGES[language].evaluators.matches(of.query, S) if len(m.events) > 1), key=len
    )
    for C in found[:1]:
        for span in (of.width, of.width - 1, of.width + 1):
            twin = stretched(S, C, span) if of.attribute is None else spread(S, C, span, of.attribute)
            if twin is not None and span in map(
                span_in(twin, of.attribute), LANGUAGES[language].evaluators.matches(of.query, twin)
            ):
                yield twin


def span_in(S: Stream, attribute: str | None) -> Any:
    """From a match over the stream to its span, None if it has none."""

    def span(m: Any) -> float | None:
        if attribute is None or not m.events:
            return m.events[-1] - m.events[0] + 1 if m.events else None
        values: list[Any] = [S[p].get(attribute) for p in m.events]
        if None in values:
            return None
        difference = max(values) - min(values)
        return difference.total_seconds() if isinstance(difference, timedelta) else float(difference)

    return span


def spread(S: Stream, C: Sequence[int], span: float, attribute: str) -> Stream | None:
    """The stream with values that ascend, and differ by the span between the first and last position of C."""
    if span < 0:
        return None
    first, last = C[0], C[-1]
    between = max(span - 1, 0)
    return with_values(
        S,
        attribute,
        [
            p if p <= first else first + min(p - first, between) if p < last else first + span + p - last
            for p in range(len(S))
        ],
    )


def stretched(S: Stream, C: Sequence[int], span: float) -> Stream | None:
    """The stream without the events between those of C, with others, of a type of their own, in their place."""
    if span < len(C):
        return None
    events = [event for p, event in enumerate(S) if not C[0] < p < C[-1] or p in C]
    events[C[0] + 1 : C[0] + 1] = [FILLER] * (int(span) - len(C))
    return Stream(events, Schema({**S.schema.types, FILLER.type: {}}) if S.schema is not None else None)


def with_values(S: Stream, attribute: str, values: Sequence[int | float]) -> Stream:
    """The stream with other values of one attribute, which every event has; times are timestamps if they must be."""
    schema = S.schema or Schema.from_events(S)
    declared = {kind for attributes in schema.types.values() for name, kind in attributes.items() if name == attribute}
    whole = all(value == int(value) for value in values)
    written: Sequence[Value]
    if attribute == TIME and (declared == {"timestamp"} or not whole):
        written = [EPOCH + timedelta(seconds=value) for value in values]
    elif whole and declared != {"float"}:
        written = list(map(int, values))
    else:
        written = list(map(float, values))
    types = {R: {**attributes, attribute: value_type_of(written[0])} for R, attributes in schema.types.items()}
    events = [Event(e.type, {**e.attributes, attribute: value}) for e, value in zip(S, written, strict=True)]
    return Stream(events, Schema(types))
