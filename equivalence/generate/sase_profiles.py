"""Profiles of random queries of SASE+ and streams: which constructs they have, how often, and over which values."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cerify.semantics.events import TIME, Schema
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import Value, ValueType, value_type_of


@dataclass(frozen=True)
class Profile:
    """What random queries and streams are made of; the shares are of what could have it.

    attributes: every type has each of them; its values in streams and the constants in conditions come from one pool.
    mixed: queries with a strategy for each component. default: queries with bare predicates.
    related: the right sides of conditions that speak of other events. aggregated: those that aggregate, left or right.
    led: streams led to a match. constant: results are a constant.
    """

    types: tuple[str, ...] = ("A", "B", "C")
    attributes: tuple[tuple[str, tuple[Value, ...]], ...] = (("x", (0, 1, 2, 3)), ("y", (0, 1)))
    strategies: tuple[sase.Strategy, ...] = sase.STRATEGIES
    mixed: float = 0.3
    default: float = 0.15
    kleene: float = 0.5
    negated: float = 0.0
    cut: float = 0.25
    equivalence: float = 0.3
    underlined: float = 0.1
    related: float = 0.5
    aggregated: float = 0.0
    within: float = 0.3
    having: float = 0.0
    non_overlap: float = 0.0
    absent: float = 0.0
    led: float = 0.7
    constant: bool = False

    @property
    def schema(self) -> Schema:
        """The schema of the streams."""
        attributes: dict[str, ValueType] = {name: value_type_of(pool[0]) for name, pool in self.attributes}
        return Schema({T: {**attributes, TIME: "int"} for T in self.types})


PLAIN = Profile()
"""All strategies, Kleene plus anywhere, correlated conditions, equivalence tests, windows and `!`."""

PER_EVENT = replace(PLAIN, related=0.0)
"""The same with conditions on single events and equivalence tests alone."""

AGGREGATES = replace(PLAIN, aggregated=0.4, having=0.3)
"""Plain, with aggregates, running and of all events, and HAVING."""

NEGATION = replace(AGGREGATES, aggregated=0.2, negated=0.35, within=0.5)
"""The same with negated components, single and Kleene."""

EVERYTHING = replace(
    NEGATION,
    attributes=(*PLAIN.attributes, ("f", (0.0, 0.5, 1.5)), ("s", ("", "a", "ab")), ("b", (False, True))),
    non_overlap=0.1,
    absent=0.05,
)
"""The same with values of other kinds, some of them absent, and NON-OVERLAP."""

NEXT = replace(
    PLAIN,
    strategies=("strict_contiguity", "skip_till_next_match"),
    mixed=0.0,
    default=0.0,
    kleene=0.25,
    cut=1.0,
    negated=0.1,
    constant=True,
)
"""What engines have whose patterns take the next event: one such strategy, Kleene plus with `!`, constant results."""

PROFILES = {
    "plain": PLAIN,
    "per-event": PER_EVENT,
    "aggregates": AGGREGATES,
    "negation": NEGATION,
    "everything": EVERYTHING,
    "next": NEXT,
}
