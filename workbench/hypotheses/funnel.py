"""Hypotheses about funnels, as axes (aspects of meaning): the meanings of ClickHouse, and of conditions on absent
attributes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf, nextafter

from cerify.automata.evaluator import Output
from cerify.hypotheses.interpretation import (
    CONDITIONS,
    Axis,
    Choices,
    ConditionVariant,
    Interpretation,
    Stage,
    Template,
    axes,
    events,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import AttributeWindow, EventWindow, TimeWindow, Window
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.funnel_queries import FunnelQuestion, FunnelStep, KeyedQuestion, answer_by_key, query_constructs
from cerify.semantics.funnels import FUNNEL_MODES

CHAIN = "chain"
AXES = axes(
    Axis(
        "mode",
        (CHAIN, *FUNNEL_MODES),
        ("funnel",),
        "a funnel without a mode: is the best chain of different events in the order of the stream; is windowFunnel, "
        "with equal times in any order and a row in several steps; is windowFunnel with different rows; compares a row "
        "only with the newest one of the step before; is the best chain whose times increase; ends at a row that "
        "matches no step, and at one whose step is not next; ends at a row that matches no step; ends at the first "
        "repeated step",
    ),
    Axis(
        "unmatched",
        ("none", "attempt"),
        ("sequence",),
        "a key without a match of a sequence: has no row; has the rows of the longest beginning of a match",
    ),
    Axis(
        "absent",
        ("false", "hidden"),
        ("condition",),
        "a comparison with an absent attribute: is false; is unknown, and hides the event from all steps, so that a "
        "key with no other event has no level",
    ),
    Axis(
        "window",
        ("closed", "open", "unlimited"),
        ("within-time", "within-events", "within-attribute"),
        "a last step at the width after the first: is in; is out; is in, and so is any later one: WITHIN is ignored",
    ),
    Axis("partition", ("keys", "ignored"), ("partition",), "BY: gives a row for each key; is ignored"),
)
UNLIMITED = 10**18  # the amount of a window that no events exceed


def changed_window(window: Window, how: str) -> Window:
    """Return the window that an engine with a value of the axis `window` applies."""

    def changed(length: float) -> float:
        return UNLIMITED if how == "unlimited" else nextafter(length, -inf)

    match window:
        case EventWindow(count):
            return EventWindow(UNLIMITED if how == "unlimited" else count - 1)
        case TimeWindow(amount, unit):
            return TimeWindow(changed(amount), unit)
        case AttributeWindow(width, attribute):
            return AttributeWindow(changed(width), attribute)


def find_matches(q: KeyedQuestion, S: Stream, choices: Choices, output: Output, budget: Budget) -> Iterable[Match]:
    """Return the rows of an engine with these choices. Raises InputError, BudgetExceeded."""
    as_defined = {axis.name: axis.default for axis in CONDITIONS}
    variant = ConditionVariant(as_defined | ({"absent": "unknown"} if choices["absent"] == "hidden" else {}))

    def holds(step: FunnelStep, event: Event) -> bool | None:
        if step.type is not None and step.type != event.type:
            return False
        if step.predicate is None:
            return True
        if variant.as_defined:
            return variant.satisfied(step.predicate, lambda attribute: event.get(attribute.name), event.type)
        return variant.truth(step.predicate, lambda attribute: event.get(attribute.name), event.type)

    if choices["partition"] == "ignored":
        q = replace(q, by=None)
    if isinstance(q, FunnelQuestion) and q.window is not None and choices["window"] != "closed":
        q = replace(q, window=replace(q.window, window=changed_window(q.window.window, choices["window"])))
    mode = None if choices["mode"] == CHAIN or not isinstance(q, FunnelQuestion) else choices["mode"]
    with budget.timed():
        return list(answer_by_key(q, S, mode, holds, choices["unmatched"] == "attempt"))


_VALUES = events("a", k=(1,), x=(0, 1, 2, 3), after=(0, 1))
STAGES = (
    Stage(
        ("partition",),
        (
            Template("FUNNEL a WITHIN 9 seconds BY k", events("a b", k=(1, 2), after=(1,)), 3),
            Template("SEQUENCE '(?1)' OF a BY k", events("a b", k=(1, 2), after=(1,)), 3),
        ),
    ),
    Stage(
        ("mode",),
        (
            Template("FUNNEL a, b WITHIN 9 seconds BY k", events("a b n", k=(1,), after=(0, 1)), 3),
            Template("FUNNEL a, b, c WITHIN 9 seconds BY k", events("a b c n", k=(1,), after=(1,)), 4),
            Template("FUNNEL a, b WITHIN 9 seconds BY k", events("a b", k=(1,), after=(0, 1)), 4),
            Template("FUNNEL a[x < 2], [x in {1, 2}] WITHIN 9 seconds BY k", _VALUES, 2),
        ),
    ),
    Stage(
        ("window",),
        (
            Template("FUNNEL a, b WITHIN 2 seconds BY k", events("a b", k=(1,), after=(1, 2)), 3),
            Template("FUNNEL a, b, c WITHIN 2 seconds BY k", events("a b c", k=(1,), after=(1, 2)), 3),
        ),
    ),
    Stage(("unmatched",), (Template("SEQUENCE '(?1)(?2)' OF a, b BY k", events("a b", k=(1,), after=(1,)), 4),)),
    Stage(
        ("absent",),
        (
            Template("SEQUENCE '(?1)(?2)' OF a, b, b[x > 0] BY k", events("a b", k=(1,), x=(None, 0), after=(1,)), 4),
            Template("FUNNEL a, b, b[x > 0] WITHIN 9 seconds BY k", events("a b", k=(1,), x=(None, 1), after=(1,)), 4),
        ),
    ),
)

INTERPRETATION = Interpretation(AXES, find_matches, query_constructs, compared="groups", stages=STAGES)
