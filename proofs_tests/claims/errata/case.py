"""A counterexample of the ledger, as a person reads it: a line for the query, one for the stream, and both results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proofs_tests.claims.markdown import code, escaped

LABELS = {
    "at": "position",
    "events": "stream",
    "got": "as printed",
    "expected only": "expected, and not as printed",
    "got only": "as printed, and not expected",
    "why": "since",
}
AS_CODE = ("query", "compared with", "relaxed by")


def lines(case: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The parts of a counterexample as items of a Markdown list."""
    for key, value in case.items():
        label = f"{indent}- {escaped(LABELS.get(key, key))}:"
        if isinstance(value, Mapping) and "events" in value:
            yield label
            yield from lines(value, indent + "  ")
        else:
            yield f"{label} {_value(key, value)}"


def _value(key: str, value: Any) -> str:
    match value:
        case []:
            return "nothing"
        case [{"type": _}, *_]:
            return code(" ".join(map(_event, value)))
        case {"transitions": transitions, "initial": initial, "final": final}:
            return f"{code(', '.join(map(_transition, transitions)))}; initial {_and(initial)}, final {_and(final)}"
        case Mapping():
            return ", ".join(f"{escaped(name)} {_value(name, part)}" for name, part in value.items())
        case str() if key in AS_CODE:
            return code(value)
        case str():
            return escaped(value)
        case [str(), *_]:
            return ", ".join(map(code, value))
        case [Mapping(), *_]:
            return "; ".join(_value(key, part) for part in value)
        case [list() | tuple(), *_]:
            return ", ".join(map(_match, value))
        case list():
            return _and(value)
        case _:
            return str(value)


def _event(event: Mapping[str, Any]) -> str:
    """A type, and the attributes if it has some: A(x=1)."""
    attributes = ", ".join(f"{name}={value}" for name, value in event.items() if name != "type")
    return f"{event['type']}({attributes})" if attributes else event["type"]


def _transition(t: Mapping[str, Any]) -> str:
    """Source, • with a mark or ◦ without, and target."""
    on = "" if t["on"] == "any" else f" on {t['on']}"
    return f"{t['from']} {'•' if t['mark'] else '◦'} {t['to']}{on}"


def _match(found: Sequence[Any]) -> str:
    """A complex event, {0, 1}; or a valuation, whose variables have names: {A: 0, 1; X: 0}."""
    positions: dict[str, list[int]] = {}
    for at in found:
        variable, position = at if isinstance(at, list | tuple) else ("•", at)
        positions.setdefault(variable, []).append(position)
    unnamed = positions.keys() <= {"•"}
    parts = [", ".join(map(str, at)) if unnamed else f"{X}: {', '.join(map(str, at))}" for X, at in positions.items()]
    return "{" + "; ".join(parts) + "}"


def _and(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))
