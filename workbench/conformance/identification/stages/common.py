"""Stages that several languages have: about conditions on one event, and about strategies around a query."""

from __future__ import annotations

from cerify.conformance.identification.questions import Json, Stage, Template, events

CONDITIONS = (
    ("comparison", events("A", x=(0, 1, 2)), 1, ("{0}x > 1", "{0}x < 1", "{0}x >= 1", "{0}x <= 1", "{0}x = 1")),
    (
        "connectives",
        events("A", x=(0, 1), y=(0, 1)),
        1,
        ("{0}x = 1 and {0}y = 1", "{0}x = 1 or {0}y = 1", "not {0}x = 1"),
    ),
    (
        "absent",
        events("A", x=(None, 0, 1), y=(None, 0)),
        2,
        ("{0}x = 0", "not {0}x = 1", "{0}x = {0}y", "{0}x != 1", "{0}x < 1"),
    ),
    ("integer-division", events("A", x=(3,)), 1, ("{0}x / 2 = 1",)),
    ("strings", events("A", s=("a", "A")), 1, ("{0}s = 'a'", "{0}s != 'a'")),
    ("like", events("A", s=("a", "ab", "ba")), 1, ("{0}s like 'a'",)),
    ("range", events("A", x=(1, 2, 3)), 1, ("{0}x in range(1, 3)",)),
    ("floats", events("A", x=(1.0, 1.5)), 1, ("{0}x = 1", "{0}x > 1")),
)
"""Of each axis the events, the length of the longest stream, and the conditions; {0} is before an attribute."""


def conditions(query: str, before: str = "", also: tuple[str, ...] = ()) -> tuple[Stage, ...]:
    """The stages about conditions on one event; query has a place for a condition on the attributes of A.

    before: what is written before an attribute. also: axes that are identified together with the comparisons.
    """
    return tuple(
        Stage(
            (*(also if axis == "comparison" else ()), axis),
            tuple(Template(query.format(text.format(before)), letters, longest) for text in texts),
        )
        for axis, letters, longest, texts in CONDITIONS
    )


def selections(*asked: tuple[str, tuple[Json, ...], int]) -> tuple[Stage, ...]:
    """A stage for each strategy, which is put around queries, given with their events and the longest stream."""
    return tuple(
        Stage(
            (f"selection@{name}",),
            tuple(Template(f"{name.upper()}({query})", letters, longest) for query, letters, longest in asked),
        )
        for name in ("nxt", "last", "max", "strict")
    )
