"""Puts rustevex under test: CEL's chains as patterns of tokens with times, and with one numeric value for each token.

    python rustevex_adapter.py
"""

import math
from typing import Any

from cerify.adapter import Chain, Found, RunMessage, Skip, on_chains, plain_comparisons, serve, version_of

LINK = "https://github.com/AJLozaLab/rustevex/tree/main/docs"
CLAIMS = {
    "operators": ["seq", "or", "in", "project", "filter", "within", "repeat", "unless"],
    "predicates": ["comparison", "range", "and"],
    "ordered_time": True,
}


def elements_of(chain: Chain) -> tuple[list[dict[str, Any]], str | None]:
    """Return the arguments of each `add_event`, and the attribute whose numbers are the values of the tokens."""
    if chain.across or chain.key is not None or any(step.adjacent or step.adjacent_rounds for step in chain.steps):
        raise Skip("a pattern has no keys and no adjacent steps, and does not compare events", LINK)
    if any(step.least != step.most for step in chain.steps):
        raise Skip("an element of rustevex is one token, without loops", LINK)
    ranges = [bounds_of(step.conditions) for step in chain.steps]
    guards = {absence.until: absence for absence in chain.absences}
    if len(guards) < len(chain.absences):
        raise Skip("only one token can block an element", LINK)
    blocked = {until: bounds_of(absence.conditions) for until, absence in guards.items()}
    names = {name for name, *_ in [*ranges, *blocked.values()] if name is not None}
    if len(names) > 1:
        raise Skip("a token has only one value, so all conditions must be on one attribute", LINK)
    elements = []
    for n, (step, (_, low, high)) in enumerate(zip(chain.steps, ranges, strict=True)):
        element: dict[str, Any] = {"match_token": step.type, "min_val": low, "max_val": high}
        if n in guards:
            absence = guards[n]
            if absence.after < 0 or n != absence.after + 1 or absence.type == step.type or step.least > 1:
                raise Skip("a blocking token must come between two elements, and have another type", LINK)
            element |= {"block_token": absence.type, "block_min_val": blocked[n][1], "block_max_val": blocked[n][2]}
        elements += [element] * step.least
    if len(elements) > 64:
        raise Skip("a pattern has at most 64 elements", LINK)
    return elements, next(iter(names), None)


def bounds_of(conditions: Any) -> tuple[str | None, float, float]:
    """Return the attribute, and the least and the greatest number that conditions allow; NaN for no bound."""
    name, low, high = None, math.nan, math.nan
    for attribute, comparator, value in plain_comparisons(conditions):
        if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 2**53:
            raise Skip("values must be numbers", LINK)
        if name not in (None, attribute) or attribute == "time":
            raise Skip("a token has only one value, so all conditions must be on one attribute", LINK)
        name = attribute
        if comparator not in (">=", "<=", "="):
            raise Skip("bounds on values must use >=, <= or =", LINK)
        if comparator in (">=", "="):
            low = value if math.isnan(low) else max(low, value)
        if comparator in ("<=", "="):
            high = value if math.isnan(high) else min(high, value)
    return name, float(low), float(high)


def value_of(event: dict[str, Any], attribute: str | None) -> float:
    """Return the value of an event's token; NaN where it has none."""
    value = event.get(attribute) if attribute is not None else None
    if value is None:
        return math.nan
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 2**53:
        raise Skip("values must be numbers", LINK)
    return float(value)


def times_of(run: RunMessage) -> list[int | float]:
    """Return the time of each event in seconds; rustevex takes times as floats, so they must be exact as floats."""
    times = run.seconds()
    if any(abs(time) > 2**53 for time in times):
        raise Skip("rustevex reads times as floats, which cannot represent times beyond 2^53 exactly", LINK)
    return times


def search(run: RunMessage, chain: Chain) -> list[Found]:
    """Return the matches that rustevex finds, each at its last token."""
    from rustevex import EventExpressions, Pattern

    elements, attribute = elements_of(chain)
    window = chain.window
    bound = math.inf if window is None else float(window.width - (window.kind == "events"))
    if window is not None and window.kind == "attribute":
        raise Skip("a window must be of time or of events", LINK)
    times = times_of(run) if window is not None and window.kind == "time" else range(len(run.events))
    pattern = Pattern(max_dt=bound)
    told = [f"Pattern(max_dt={bound})"]
    for element in elements:
        told.append("add_event(" + ", ".join(f"{k}={v!r}" for k, v in element.items() if v == v) + ")")
        pattern.add_event(**element)
    run.translate(".".join(told))
    values = [value_of(event, attribute) for event in run.events] if attribute is not None else None
    tokens = [event["type"] for event in run.events]
    found = EventExpressions(pattern).match_stream(tokens, [float(t) for t in times], values=values)
    matches = []
    for row in found["el_stream_idx"].tolist():
        rest = iter(row)
        matches.append((max(row), [[next(rest) for _ in range(step.least)] for step in chain.steps]))
    return matches


if __name__ == "__main__":
    serve("rustevex", version_of("rustevex"), {"cel": on_chains(search)}, {"cel": CLAIMS})
