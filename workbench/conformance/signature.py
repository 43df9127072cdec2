"""How the answer to a case is wrong: the kinds of its difference from the expected one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cerify.conformance.model import FailureKind, Outcome, Result
from cerify.semantics.events import Match

UNANSWERED: dict[Outcome, FailureKind] = {
    "error": "error",
    "protocol": "error",
    "timeout": "timeout",
    "crashed": "crash",
    "memory": "memory",
}

LOOKS: dict[FailureKind, Callable[[Match], object]] = {
    "result": lambda m: (m.at, m.events, m.bindings),
    "bindings": lambda m: (m.at, m.events),
    "position": lambda m: (m.events, m.bindings),
}
"""What two matches have in common that differ in one thing alone."""


def kinds_of(result: Result) -> frozenset[FailureKind]:
    """The kinds of a result's difference; none if it passed, was skipped, or is disputed."""
    if result.outcome in UNANSWERED:
        return frozenset({UNANSWERED[result.outcome]})
    if result.outcome != "failed":
        return frozenset()
    return difference_kinds(result.case.matches, result.matches or ()) or frozenset({"extra"})


def difference_kinds(expected: Iterable[Match], got: Iterable[Match]) -> frozenset[FailureKind]:
    """How two sets of matches differ.

    A missing match is paired with one that is not expected if they differ in one thing alone: the result, the bindings,
    or the position; only what is left is missing, or extra.
    """
    missing, extra = set(expected) - set(got), set(got) - set(expected)
    found: set[FailureKind] = set()
    for kind, look in LOOKS.items():
        if common := set(map(look, missing)) & set(map(look, extra)):
            found.add(kind)
            missing = {m for m in missing if look(m) not in common}
            extra = {m for m in extra if look(m) not in common}
    if missing:
        found.add("missing")
    if extra:
        found.add("extra")
    return frozenset(found)
