"""The queries of the demo: each a question about the flights, the substream it is asked on, and the formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from cerify.examples.flights import Cut


@dataclass(frozen=True)
class Example:
    """A question in words, the substream that bounds it, and the formula of CEL that asks it."""

    name: str
    question: str
    cut: Cut
    query: str


FLIGHTS = ("Departure", "Cancellation")

EXAMPLES: Sequence[Example] = (
    Example(
        "delay cascade",
        "When did delays of one aircraft pile up: three departures from New York in a row, more than 15, then more "
        "than 30, then more than 60 minutes late?",
        Cut(("Departure",), tailnum="N725MQ"),
        "(Departure IN first : Departure IN second : Departure IN third)\n"
        "FILTER first[dep_delay > 15] AND second[dep_delay > 30] AND third[dep_delay > 60]",
    ),
    Example(
        "knock-on delays",
        "After a delay of over an hour, which further late departures of the aircraft lie before one that is on time? "
        "Any selection of them counts, so there are many.",
        Cut(("Departure",), tailnum="N725MQ", days=(date(2013, 7, 1), date(2013, 7, 20))),
        "(Departure IN cause ; Departure+ IN late ; Departure IN recovered)\n"
        "FILTER cause[dep_delay > 60] AND late[dep_delay > 15] AND recovered[dep_delay <= 0]",
    ),
    Example(
        "growing delays",
        "When did delays at one airport grow in three unbroken steps: first all under half an hour, then all under an "
        "hour, then all longer?",
        Cut(("Departure",), origin="LGA"),
        "((Departure IN late):+ : (Departure IN later):+ : (Departure IN latest):+)\n"
        "FILTER late[dep_delay in range(15, 29)] AND later[dep_delay in range(30, 59)] AND latest[dep_delay >= 60]",
    ),
    Example(
        "storm, then cancellations",
        "After which reports of strong wind, thick fog or heavy rain were three or more flights cancelled before the "
        "next report?",
        Cut(("Weather", "Cancellation"), origin="EWR"),
        "(Weather IN storm : Cancellation : Cancellation : Cancellation:+)\n"
        "FILTER storm[wind_speed >= 25 or visib <= 1 or precip >= 0.3]",
    ),
    Example(
        "runs of cancellations",
        "When were five or more flights in a row cancelled, over all three airports, from the last that left before to "
        "the first that left after?",
        Cut(FLIGHTS),
        "Departure : Cancellation : Cancellation : Cancellation : Cancellation : Cancellation:+ : Departure",
    ),
    Example(
        "breakdown and recovery",
        "When did an airport break down between two punctual departures, every flight in between cancelled or over two "
        "hours late?",
        Cut(FLIGHTS, origin="LGA"),
        "(Departure IN before : ((Departure IN late FILTER late[dep_delay > 120]) OR Cancellation):+ : "
        "Departure IN after)\n"
        "FILTER before[dep_delay <= 15] AND after[dep_delay <= 15]",
    ),
    Example(
        "punctual in fog",
        "In which hours between two reports of fog did every flight leave on time?",
        Cut(("Weather", "Departure"), origin="JFK"),
        "(Weather IN before : Departure:+ : Weather IN after)\n"
        "FILTER before[visib < 1] AND after[visib < 1] AND Departure[dep_delay <= 10]",
    ),
    Example(
        "a blizzard's aftermath",
        "In the blizzard of February 2013: snow, later a flight of JetBlue to New England cancelled, later one of "
        "JetBlue that left on time again; every such triple.",
        Cut(origin="JFK", days=(date(2013, 2, 8), date(2013, 2, 9))),
        "(Weather IN snow ; Cancellation ; Departure IN recovered)\n"
        "FILTER snow[temp <= 34 and precip > 0] AND Cancellation[carrier = 'B6' and dest in {'BOS', 'BTV', 'PWM'}]\n"
        "AND recovered[carrier = 'B6' and dep_delay <= 15]",
    ),
)
