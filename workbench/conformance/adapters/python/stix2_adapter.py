"""Puts stix2-matcher under test: CEL's chains as patterns, `([A:x > 1] FOLLOWEDBY [B:y = 2]) WITHIN 5 SECONDS`.

    python stix2_adapter.py

An event is an observation of one object, seen once and at one instant. For users the matcher returns only its first
binding; here all bindings are read from its listener.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from cerify.adapter import Chain, ChainStep, Found, RunMessage, Skip, on_chains, serve, version_of

PLACE = "cerify_position"
SHAPE = "%Y-%m-%dT%H:%M:%S.%fZ"
LINK = "https://docs.oasis-open.org/cti/stix/v2.1/os/stix-v2.1-os.html"
CLAIMS = {
    "operators": ["seq", "or", "in", "project", "filter", "within", "repeat"],
    "predicates": ["comparison", "in", "range", "and", "or"],
    "ordered_time": True,
}


def pattern_of(chain: Chain) -> str:
    """Return the pattern of a chain. Raises Skip for what patterns cannot express."""
    if chain.across or chain.absences or any(step.adjacent or step.adjacent_rounds for step in chain.steps):
        raise Skip("STIX does not compare observations, and has neither adjacent steps nor absences", LINK)
    text = " FOLLOWEDBY ".join(map(observation_of, chain.steps))
    if chain.key is not None:
        raise Skip("STIX patterns have no keys", LINK)
    if (window := chain.window) is not None:
        width = window.width - (window.kind == "events")
        if window.kind == "attribute" or width <= 0:
            raise Skip("WITHIN needs a time longer than 0", LINK)
        text = f"({text}) WITHIN {width} SECONDS"
    return text


def observation_of(step: ChainStep) -> str:
    """Return the observations of a step: a comparison expression, repeated as often as the step takes events."""
    if step.least != step.most:
        raise Skip("REPEATS needs a fixed number", LINK)
    if not re.fullmatch(r"[A-Za-z_]\w*", step.type, re.ASCII):
        raise Skip(f"{step.type} cannot be an object type", LINK)
    conditions = [f"{step.type}:{PLACE} >= 0", *(condition_of(tree, step.type) for tree in step.conditions)]
    text = f"[{' AND '.join(conditions)}]"
    return text if step.least == 1 else f"({text} REPEATS {step.least} TIMES)"


def condition_of(tree: dict[str, Any], of: str) -> str:
    """Return a condition on the object of a type in parentheses."""
    match tree["node"]:
        case "Anything":
            return f"{of}:{PLACE} >= 0"
        case "Comparison" if tree["left"]["node"] == "Attribute" and tree["right"]["node"] == "Constant":
            return f"{path_of(tree['left'], of)} {tree['comparator']} {constant_of(tree['right']['value'])}"
        case "OneOf" if tree["term"]["node"] == "Attribute":
            return f"{path_of(tree['term'], of)} IN ({', '.join(map(constant_of, tree['values']))})"
        case "InRange" if tree["term"]["node"] == "Attribute":
            path = path_of(tree["term"], of)
            return f"({path} >= {constant_of(tree['low'])} AND {path} <= {constant_of(tree['high'])})"
        case "Both" | "Either" as node:
            word = "AND" if node == "Both" else "OR"
            return f"({condition_of(tree['left'], of)} {word} {condition_of(tree['right'], of)})"
        case other:
            raise Skip(f"{other} is not translated: in STIX a negated condition is false if the property is missing", LINK)


def path_of(tree: dict[str, Any], of: str) -> str:
    """Return the path of an attribute. Raises Skip for names that are references or the type."""
    name = tree["name"]
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in ("type", "id", "time") or re.search("_refs?$", name):
        raise Skip(f"{name} cannot be a property", LINK)
    return f"{of}:{name}"


def constant_of(value: Any) -> str:
    """Return a constant of STIX."""
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, bool | int | float) and "e" not in repr(value):
        return json.dumps(value)
    raise Skip("constants must be numbers without exponents, ASCII strings or truth values", LINK)


def observations(run: RunMessage, chain: Chain) -> list[dict[str, Any]]:
    """Return the events as observed data of STIX 2.0, one second apart if no window is on time."""
    window = chain.window
    times = run.seconds() if window is not None and window.kind == "time" else range(len(run.events))
    if any(early == late for early, late in pairwise(times)):
        run.translate("-- some observations have the same time, and FOLLOWEDBY has no order for them")
    observed = []
    for place, (event, seconds) in enumerate(zip(run.values, times, strict=True)):
        if any(isinstance(value, datetime) for name, value in event.items() if name != "time"):
            raise Skip("attributes must be numbers, strings or truth values", LINK)
        try:
            at = (datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime(SHAPE)
        except OverflowError:
            raise Skip("times must be in the years 1 to 9999", LINK) from None
        attributes = {name: value for name, value in event.items() if name not in ("type", "time")}
        observed.append(
            {"type": "observed-data", "id": f"observed-data--{place}", "first_observed": at, "last_observed": at,
             "number_observed": 1, "objects": {"0": {"type": event["type"], PLACE: place, **attributes}}}
        )  # fmt: skip
    return observed


def search(run: RunMessage, chain: Chain) -> list[Found]:
    """Return the bindings of the pattern, each reported at the last of its observations."""
    from stix2matcher.matcher import MatchListener, Pattern

    text = pattern_of(chain)
    run.translate(text)
    listener = MatchListener(observations(run, chain), stix_version="2.0")
    Pattern(text).walk(listener)
    found = []
    for binding in listener.matched():
        rest = iter(binding)
        taken = [[next(rest) for _ in range(step.least)] for step in chain.steps]
        found.append((max(binding), [sorted(places) for places in taken]))
    return found


if __name__ == "__main__":
    serve("stix2-matcher", version_of("stix2-matcher"), {"cel": on_chains(search)}, {"cel": CLAIMS})
