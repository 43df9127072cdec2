"""Simplify funnels and sequences: fewer steps, clauses and parts of patterns, simpler conditions and windows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from cerify.equivalence.rewrite.trees import same
from cerify.equivalence.shrink.cel import narrower_windows
from cerify.equivalence.shrink.shrink import QueryOperations, dropped, parts, value_weight, varied
from cerify.semantics.cel.syntax import AttributeWindow, EventWindow, TimeWindow, Window
from cerify.semantics.errors import IllFormed, ParseError
from cerify.semantics.events import TIME
from cerify.semantics.funnel_queries import (
    KeyedQuestion,
    SequenceQuestion,
    parse_keyed_question,
    query_constructs,
    show_keyed_question,
)
from cerify.semantics.funnel_steps import FunnelQuestion, FunnelStep, FunnelWindow
from cerify.semantics.predicates import Predicate, mapped_predicate, mentions
from cerify.semantics.values import Value

_PATTERN_PART = re.compile(r"\(\?[^)]*\)|\.\*?")


def fewer_parts(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    """Yield the query without a step, a clause or a part of its pattern."""
    return _parsed_again(_fewer_parts(query))


def simpler_steps(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    """Yield the query with a condition left out or replaced by a part of it, or with a narrower window."""
    return _parsed_again(_simpler_steps(query))


def _parsed_again(queries: Iterable[KeyedQuestion]) -> Iterator[KeyedQuestion]:
    """Write and parse each query again; drop queries that break a rule."""
    for query in queries:
        with suppress(IllFormed, ParseError):
            yield parse_keyed_question(show_keyed_question(query))


def _fewer_parts(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    yield from (replace(query, steps=steps) for steps in dropped(query.steps) if steps)
    if query.by is not None:
        yield replace(query, by=None)
    if isinstance(query, SequenceQuestion):
        pattern = tuple(_PATTERN_PART.findall(query.pattern))
        yield from (replace(query, pattern="".join(fewer)) for fewer in dropped(pattern) if fewer)
        return
    if query.mode is not None:
        yield replace(query, mode=None)
    elif query.window is not None:
        yield replace(query, window=None)
    if query.between is not None:
        yield replace(query, between=None)
    if query.start != "best":
        yield replace(query, start="best")
    if query.order != "stream":
        yield replace(query, order="stream")


def _simpler_steps(query: KeyedQuestion) -> Iterator[KeyedQuestion]:
    yield from (replace(query, steps=steps) for steps in varied(query.steps, _simpler_step))
    if isinstance(query, FunnelQuestion):
        if query.between is not None:
            yield from (replace(query, between=step) for step in _simpler_step(query.between))
        if query.window is not None:
            yield from (replace(query, window=_window(other)) for other in narrower_windows(query.window.window))


def _simpler_step(step: FunnelStep) -> Iterator[FunnelStep]:
    if step.predicate is not None:
        if step.type is not None:
            yield replace(step, predicate=None)
            yield replace(step, type=None)
        yield from (replace(step, predicate=P) for P in parts(step.predicate))


def _window(window: Window) -> FunnelWindow:
    match window:
        case TimeWindow(amount, unit):
            return FunnelWindow(f"{amount} {unit}s", window)
        case EventWindow(count):
            return FunnelWindow(f"{count} EVENTS", window)
        case AttributeWindow(width, attribute):
            return FunnelWindow(f"{width} [{attribute}]", window)


def _steps(query: KeyedQuestion) -> Iterator[FunnelStep]:
    """Yield the steps, and the step that is forbidden between them."""
    yield from query.steps
    if isinstance(query, FunnelQuestion) and query.between is not None:
        yield query.between


def _predicates(query: KeyedQuestion) -> Iterator[Predicate]:
    return (step.predicate for step in _steps(query) if step.predicate is not None)


def _types(query: KeyedQuestion) -> Iterator[str]:
    return (step.type for step in _steps(query) if step.type is not None)


def _attributes(query: KeyedQuestion) -> Iterator[str]:
    yield from (mention.name for P in _predicates(query) for mention in mentions(P))
    if query.by is not None:
        yield query.by
    if isinstance(query, FunnelQuestion) and query.window is not None:
        match query.window.window:
            case TimeWindow():
                yield TIME
            case AttributeWindow(_, attribute):
                yield attribute


def mapped(
    query: KeyedQuestion, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same
) -> KeyedQuestion:
    """Return the query with other event types and constants, after writing and parsing it again."""

    def step(one: FunnelStep) -> FunnelStep:
        type_ = None if one.type is None else name(one.type)
        predicate = None if one.predicate is None else mapped_predicate(one.predicate, value=value)
        return FunnelStep(one.text, type_, predicate)

    other = replace(query, steps=tuple(map(step, query.steps)))
    if isinstance(other, FunnelQuestion) and other.between is not None:
        other = replace(other, between=step(other.between))
    return parse_keyed_question(show_keyed_question(other))


def _size(query: KeyedQuestion) -> int:
    pattern = _PATTERN_PART.findall(query.pattern) if isinstance(query, SequenceQuestion) else ()
    return len(query.steps) + len(query_constructs(query)) + len(pattern)


def _complexity(query: KeyedQuestion) -> int:
    match query.window.window if isinstance(query, FunnelQuestion) and query.window is not None else None:
        case TimeWindow(amount, _) | EventWindow(amount) | AttributeWindow(amount, _):
            return value_weight(amount)
    return 0


FUNNELS: QueryOperations[KeyedQuestion] = QueryOperations(
    parse=parse_keyed_question,
    show=show_keyed_question,
    reductions=(fewer_parts, simpler_steps),
    size=_size,
    complexity=_complexity,
    types=_types,
    attributes=_attributes,
    predicates=_predicates,
    mapped=mapped,
    operators=query_constructs,
    expanded=mapped,  # texts of steps as they are shown
)
