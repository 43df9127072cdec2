"""Puts the Python engine of EQL under test: rules in EQL as they are, and CEL's chains as rules.

    python eql_adapter.py

A chain of CEL becomes `sequence by k with maxspan=10s [A where …] …`. The engine gets EQL in Elasticsearch's syntax.
Its answers should be judged by the reading ENDGAME of cerify.semantics.readings.
"""

import json
import re
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from cerify.adapter import (
    AdapterProblem,
    Chain,
    ChainStep,
    Found,
    RunMessage,
    Skip,
    compare,
    on_chains,
    serve,
    version_of,
)

COMPARATORS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
WORDS = frozenset("and any as by false in join macro not null of or sample sequence true until where with".split())
TICKS = 10_000_000  # of the engine's clock, in a second
PLACE = "__position"
CLAIMS = {
    "operators": ["seq", "or", "in", "project", "filter", "within", "partition", "unless", "repeat"],
    "predicates": ["comparison", "in", "range", "not", "and", "or"],
    "ordered_time": True,
}


def rule_of(chain: Chain) -> str:
    """Return the rule of a chain. Raises Skip if EQL cannot express it."""
    if chain.across or any(step.adjacent or step.adjacent_rounds for step in chain.steps):
        raise Skip("EQL compares events only by keys, and has no adjacent steps")
    terms = [clause_of(step) for step in chain.steps for _ in range(runs_of(step))]
    window, key, last = chain.window, chain.key, len(chain.steps) - 1
    head, tail = "sequence", ""
    if key is not None:
        head += f" by {name_of(key)}"
    if window is not None:
        if window.kind != "time" or window.width != int(window.width):
            raise Skip("maxspan must be a time in whole seconds")
        head += f" with maxspan={int(window.width)}s"
    for absence in chain.absences:
        if tail or (absence.after, absence.until) != (0, last):
            raise Skip("EQL has one `until`, which applies from the first step on")
        tail = f" until {clause_of(ChainStep(absence.type, frozenset(), absence.conditions))}"
    if len(terms) == 1:
        if head != "sequence" or tail:
            raise Skip("a sequence needs at least two steps")
        return terms[0][1:-1]
    return f"{head} {' '.join(terms)}{tail}"


def runs_of(step: ChainStep) -> int:
    """Return the number of events of a step. Its clause is repeated that often, because the Python engine lacks `with
    runs`.
    """
    if step.least != step.most:
        raise Skip("EQL needs a fixed number of repetitions for a step, but this query leaves the number open")
    return step.least


def clause_of(step: ChainStep) -> str:
    """Return the clause of a step, in brackets."""
    return f"[{name_of(step.type)} where {' and '.join(map(condition_of, step.conditions)) or 'true'}]"


def name_of(text: str) -> str:
    """Return a name in the form of EQL. Raises Skip for other names."""
    if not re.fullmatch(r"[A-Za-z_]\w*", text) or text.lower() in WORDS or text == "time":
        raise Skip(f"{text} cannot be a name in EQL")
    return text


def condition_of(tree: dict[str, Any]) -> str:
    """Return a condition on one event in EQL, in parentheses."""
    match tree["node"]:
        case "Anything":
            return "true"
        case "Comparison":
            return f"({term_of(tree['left'])} {COMPARATORS[tree['comparator']]} {term_of(tree['right'])})"
        case "OneOf":
            return f"({term_of(tree['term'])} in ({', '.join(map(constant_of, tree['values']))}))"
        case "InRange":
            name = term_of(tree["term"])
            return f"({name} >= {constant_of(tree['low'])} and {name} <= {constant_of(tree['high'])})"
        case "Complement":
            return f"(not {condition_of(tree['predicate'])})"
        case "Both" | "Either" as node:
            word = "and" if node == "Both" else "or"
            return f"({condition_of(tree['left'])} {word} {condition_of(tree['right'])})"
        case other:
            raise Skip(f"conditions with {other} are not translated")


def term_of(tree: dict[str, Any]) -> str:
    """Return an attribute or a constant in EQL."""
    if tree["node"] == "Attribute":
        return name_of(tree["name"])
    if tree["node"] == "Constant":
        return constant_of(tree["value"])
    raise Skip("conditions must compare attributes or constants")


def constant_of(value: Any) -> str:
    """Return a constant in EQL."""
    if isinstance(value, dict) or (isinstance(value, str) and "*" in value):
        raise Skip("constants must be numbers, truth values, or strings without wildcards")
    return json.dumps(value)


def search(run: RunMessage, chain: Chain) -> list[Found]:
    """Return the matches that the engine reports, each at the event that completes it."""
    import eql

    if chain.key is not None and not all(compare(e.get(chain.key), "=", e.get(chain.key)) for e in run.values):
        raise Skip(
            "an event has no value for the key, which EQL needs in every event"
        )  # in one reading, null joins null
    times = run.seconds() if chain.window is not None else list(range(len(run.events)))
    rule = rule_of(chain)
    run.translate(rule)
    engine, found, at = eql.PythonEngine(), [], 0
    engine.add_query(eql.parse_query(rule))
    engine.add_output_hook(lambda result: found.append((at, [event.data[PLACE] for event in result.events])))
    for at, event in enumerate(run.values):
        if any(isinstance(value, datetime) for name, value in event.items() if name != "time"):
            raise Skip("attributes must be numbers, strings or truth values")
        engine.stream_event(eql.Event(event["type"], round(times[at] * TICKS), event | {PLACE: at}))
    at = len(run.events)
    engine.finalize()
    return [(at, divided(places, chain)) for at, places in found]


def divided(places: list[int], chain: Chain) -> list[list[int]]:
    """Return the events of a sequence grouped by step; a step with runs has several."""
    rest = iter(places)
    return [[next(rest) for _ in range(step.least)] for step in chain.steps]


# --- rules in EQL -----------------------------------------------------------------------------------------------------

LINK = "https://eql.readthedocs.io/en/latest/query-guide/index.html"


def run_rule(run: RunMessage) -> list[dict[str, Any]]:
    """Return the matches of a rule that the engine reports, each at its last event."""
    import eql
    from eql import parser

    if run.wants_bindings:
        raise Skip("an answer of EQL has no variables, only events", LINK)
    events = [
        eql.Event(event["type"], ticks_of(event.get("time")), nested(event) | {PLACE: at})
        for at, event in enumerate(run.values)
    ]
    engine, found = eql.PythonEngine(), set()
    try:
        with ExitStack() as stack:
            for syntax in (parser.elasticsearch_syntax, parser.allow_runs, parser.allow_negation, parser.allow_sample):
                stack.enter_context(syntax)
            engine.add_query(parser.parse_query(run.query))
        engine.add_output_hook(lambda result: found.add(tuple(sorted(e.data[PLACE] for e in result.events))))
        engine.stream_events(events)
    except eql.EqlError as error:
        raise AdapterProblem(f"{type(error).__name__}: {error}", "unsupported") from None
    return [{"at": places[-1], "events": list(places)} for places in sorted(found - {()}, key=lambda p: (p[-1], p))]


def ticks_of(time: Any) -> int:
    """Return a time in the units of the engine; 0 for an event without one."""
    return round(time.timestamp() * TICKS) if isinstance(time, datetime) else round((time or 0) * TICKS)


def nested(event: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an event in the engine's form: objects for names with dots, lists for arrays."""
    data: dict[str, Any] = {}
    for name, value in event.items():
        if name in ("type", "time"):
            continue
        if isinstance(value, datetime):
            raise Skip("attributes must be numbers, strings or truth values")
        base, bracket, _ = name.partition("[")
        *path, last = (base if bracket else name).split(".")
        inside = data
        for part in path:
            inside = inside.setdefault(part, {})
            if not isinstance(inside, dict):
                raise Skip(f"a field cannot have a value and also contain another field, as in {name}")
        if last in inside and bracket:
            inside[last] = [*(inside[last] if isinstance(inside[last], list) else [inside[last]]), value]
        else:
            inside[last] = value
    return data


if __name__ == "__main__":
    serve("eql", version_of("eql"), {"cel": on_chains(search), "eql": run_rule}, {"cel": CLAIMS})
