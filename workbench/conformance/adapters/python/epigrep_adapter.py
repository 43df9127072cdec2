"""Puts epigrep under test: CEL's chains as its patterns. By default every event that can take a step is tried
(`exhaustive`); with `--first` only the first one, which is epigrep's own default.

    python epigrep_adapter.py [--first]
"""

import json
import sys
from datetime import datetime
from typing import Any

from cerify.adapter import (
    FLIPPED,
    Chain,
    Found,
    RunMessage,
    Skip,
    compare,
    on_chains,
    plain_comparisons,
    serve,
    version_of,
)

OPERATORS = {"=": "Eq", "!=": "NotEq", "<": "Lt", "<=": "Lte", ">": "Gt", ">=": "Gte"}
TAGS: dict[type, str] = {bool: "Bool", int: "Int", float: "Float", str: "String"}
PLACE = "#position"
CLAIMS = {
    "operators": ["seq", "or", "in", "project", "filter", "within", "partition", "unless"],
    "predicates": ["comparison", "range", "and", "correlated"],
    "ordered_time": True,
}


def pattern_of(chain: Chain, first: bool) -> dict[str, Any]:
    """Return the pattern of a chain in epigrep's JSON. Raises Skip if epigrep cannot express it."""
    if any(step.is_loop or step.adjacent for step in chain.steps):
        raise Skip("epigrep has no loops and no adjacent steps")
    steps = [
        {"atom": atom_of(step.type, step.conditions), "transition_from_previous": {"max_elapsed": None, "absence": []}}
        for step in chain.steps
    ]
    steps[0]["transition_from_previous"] = None
    for across in chain.across:
        plain = across.comparison()
        if plain is None or plain[0] == plain[3]:
            raise Skip("epigrep compares exactly two steps in a condition")
        one, attribute, comparator, other, mine = plain
        name = f"{one}.{attribute}"
        captures, references = (
            steps[one]["atom"]["captures"],
            steps[other]["atom"]["reference_predicates"],
        )
        if not any(capture["name"] == name for capture in captures):
            captures.append({"name": name, "attribute": attribute})
        references.append({"attribute": mine, "operator": OPERATORS[FLIPPED[comparator]], "binding": name})
    for span in chain.spans:
        if span.kind in ("time", "events"):
            if span.last != span.first + 1:
                raise Skip("a window must be on two consecutive steps")
            bound(steps[span.last]["transition_from_previous"], span.width - (span.kind == "events"))
        elif span.kind != "key":
            raise Skip("epigrep has no windows on attributes")
    for absence in chain.absences:
        if absence.after < 0 or absence.until != absence.after + 1 or absence.type == chain.steps[absence.until].type:
            raise Skip("epigrep excludes only events of another type, between a step and the next")
        steps[absence.until]["transition_from_previous"]["absence"].append(atom_of(absence.type, absence.conditions))
    return {"steps": steps, "consumption": "FirstSuccessorPerStart" if first else "ExhaustivePerStart"}


def bound(transition: dict[str, Any], width: float) -> None:
    """Limit the time from one step to the next in a transition; the least of several limits applies."""
    old = transition["max_elapsed"]
    transition["max_elapsed"] = int(width) if old is None else min(old, int(width))


def atom_of(type_: str, conditions: Any) -> dict[str, Any]:
    """Return epigrep's JSON for a step: the event type and the conditions on one event."""
    predicates = []
    for attribute, comparator, value in plain_comparisons(conditions):
        if type(value) not in TAGS or attribute == "time":
            raise Skip("conditions must compare numbers, strings or truth values")
        tagged = {TAGS[type(value)]: value}
        predicates.append({"attribute": attribute, "operator": OPERATORS[comparator], "value": tagged})
    return {"event_type": type_, "predicates": predicates, "reference_predicates": [], "captures": []}


def times_of(run: RunMessage, chain: Chain) -> list[int]:
    """Return the time of each event: whole seconds under a window of time, else positions."""
    kinds = {span.kind for span in chain.spans} - {"key"}
    if len(kinds) > 1:
        raise Skip("a pattern can have only one kind of window")
    if kinds != {"time"}:
        return list(range(len(run.events)))
    seconds = run.seconds()
    if any(time != int(time) for time in seconds):
        raise Skip("times must be whole numbers of seconds")
    return [int(time) for time in seconds]


def partition_of(event: dict[str, Any], key: str | None) -> str | None:
    """Return the key of an event as text, the same text for equal numbers.

    Return None if the event has no key; then no match contains it.
    """
    if key is None:
        return "all"
    value = event.get(key)
    if not compare(value, "=", value):
        return None
    return repr(int(value) if isinstance(value, float) and value.is_integer() else value)


def search(run: RunMessage, chain: Chain, first: bool) -> list[Found]:
    """Return the matches that epigrep finds."""
    import epigrep

    text = json.dumps(pattern_of(chain, first))
    run.translate(text)
    key, times, values = chain.key, times_of(run, chain), run.values
    events = [
        epigrep.Event(partition, times[p], event["type"], attributes_of(event) | {PLACE: p})
        for p, event in enumerate(values)
        if (partition := partition_of(event, key)) is not None
    ]
    found = epigrep.match(epigrep.pattern_from_json(text), events)
    places = [[event.attrs[PLACE] for event in match.events] for match in found]
    return [(max(some), [[p] for p in some]) for some in places]


def attributes_of(event: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an event, without its type and its time."""
    attributes = {name: value for name, value in event.items() if name not in ("type", "time")}
    if any(isinstance(value, datetime) for value in attributes.values()):
        raise Skip("attributes cannot be times")
    return attributes


if __name__ == "__main__":
    first = "--first" in sys.argv[1:]
    answer = on_chains(lambda run, chain: search(run, chain, first))
    serve("epigrep-first" if first else "epigrep", version_of("epigrep"), {"cel": answer}, {"cel": CLAIMS})
