"""Queries of every language by chance, each with a stream that fits it, and the matches that runs found."""

import json
from collections.abc import Iterable
from random import Random

import pyarrow as pa

from cerify.equivalence.generate import core_cel, expressions, sase
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.core_cel.syntax import show as show_core_cel
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.events import Event, Match, Result, Stream
from cerify.semantics.match_tables import RESULT
from cerify.semantics.sase.syntax import show as show_sase
from cerify.spark.runs import SparkQuery

LANGUAGES = ("cel", "core-cel", "event-expression", "sase")
WINDOWS = (None, cel.EventWindow(3), cel.EventWindow(6), cel.TimeWindow(4, "second"))


def pair(rng: Random, language: str, nodes: int = 7, events: int = 14) -> tuple[SparkQuery, Stream]:
    """A query and a stream; the stream has a column of times that ascend, strictly in SASE+."""
    match language:
        case "cel":
            phi, S = case(rng, PROFILES[rng.choice(("core", "everything", "typed", "correlated"))], nodes, events)
            if (window := rng.choice(WINDOWS)) is not None:
                phi = cel.Within(phi, window)
            S = Stream([Event(event.type, {**event.attributes, "time": i}) for i, event in enumerate(S)])
            return SparkQuery(show(phi), language, rng.choice(("matches", "valuations"))), S
        case "core-cel":
            profile = rng.choice(list(core_cel.CORE_CEL_PROFILES.values()))
            psi, S = core_cel.case(rng, profile, nodes, events)
            return SparkQuery(show_core_cel(psi), language), Stream(S)
        case "event-expression":
            E, S = expressions.case(rng, rng.choice(list(expressions.PROFILES.values())), nodes, events)
            return SparkQuery(show_expression(E), language, schema=rng.choice((None, S.schema))), S
        case _:
            q, S = sase.case(rng, rng.choice(list(sase.PROFILES.values())), nodes, events)
            return SparkQuery(show_sase(q), language), Stream(S)


def matches(tables: Iterable[pa.Table]) -> list[Match]:
    """What tables of results say, one match for each row."""
    found = []
    for table in tables:
        assert table.schema == RESULT
        for row in table.to_pylist():
            bound, result = row["bindings"], row["result"]
            found.append(
                Match(
                    row["at"],
                    tuple(row["events"]),
                    None if bound is None else tuple((v, tuple(positions)) for v, positions in bound),
                    None if result is None else Result(result, json.loads(result)),
                )
            )
    return sorted(found)
