"""Mutants that read other events than there are, or report something else than they found."""

from __future__ import annotations

from collections.abc import Callable

from cerify.semantics.cel.denote import sup
from cerify.semantics.events import Event
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.cel.model import CelMutant, Reported


def on_values(name: str, change: Callable[[Value], Value]) -> CelMutant:
    """A mutant that reads attribute values as others."""
    return CelMutant(name, events=lambda event: Event(event.type, {a: change(v) for a, v in event.attributes.items()}))


def _bounded(reported: Reported, kept: Callable[[frozenset[int], list[frozenset[int]]], bool]) -> Reported:
    at_once = {n: [sup(mu) for m, mu in reported if m == n] for n, _ in reported}
    return frozenset((n, mu) for n, mu in reported if kept(sup(mu), at_once[n]))


def _not_overlapping(reported: Reported) -> Reported:
    used: set[int] = set()
    result = set()
    for n, mu in sorted(reported, key=lambda pair: (pair[0], sorted(pair[1]))):
        if not sup(mu) & used:
            used |= sup(mu)
            result.add((n, mu))
    return frozenset(result)


def _once(reported: Reported) -> Reported:
    return frozenset((n, mu) for n, mu in reported if not any(m < n and sup(nu) == sup(mu) for m, nu in reported))


ANSWERS: tuple[CelMutant, ...] = (
    on_values("filter: floats cut to integers", lambda v: float(int(v)) if isinstance(v, float) else v),
    on_values("filter: strings in lower case", lambda v: v.lower() if isinstance(v, str) else v),
    on_values("filter: booleans as true", lambda v: True if isinstance(v, bool) else v),
    CelMutant("filter: absent is 0", events=lambda event: Event(event.type, {"x": 0, "y": 0, **event.attributes})),
    CelMutant(
        "event: the longest match of a position",
        reported=lambda r: _bounded(r, lambda C, all_: len(C) == max(map(len, all_))),
    ),
    CelMutant(
        "event: the shortest match of a position",
        reported=lambda r: _bounded(r, lambda C, all_: len(C) == min(map(len, all_))),
    ),
    CelMutant(
        "event: one match of a position",
        reported=lambda r: _bounded(r, lambda C, all_: sorted(C) == min(map(sorted, all_))),
    ),
    CelMutant("event: matches do not overlap", reported=_not_overlapping),
    CelMutant("event: a complex event reported once", reported=_once),
    CelMutant(
        "event: reported at its last event only",
        reported=lambda r: frozenset((n, mu) for n, mu in r if mu and max(sup(mu)) == n),
    ),
    CelMutant("event: reported one position later", reported=lambda r: frozenset((n + 1, mu) for n, mu in r)),
    CelMutant(
        "event: reported at its first event", reported=lambda r: frozenset((min(sup(mu), default=n), mu) for n, mu in r)
    ),
)
