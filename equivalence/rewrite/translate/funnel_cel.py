"""Translate funnels to CEL queries, and CEL queries to funnels.

A funnel `A, B, C` by key within a window is `(A ; B ; C) WITHIN w PARTITION BY [key]`: a key reaches the last step if
and only if this query has a match of its events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise

from cerify.equivalence.rewrite.translate_core_cel import Names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import EventWindow, show
from cerify.semantics.errors import CerifyError, Unsupported
from cerify.semantics.events import TIME
from cerify.semantics.funnel_steps import FunnelQuestion, FunnelStep, FunnelWindow
from cerify.semantics.predicates import Attribute, Both, Comparison, Predicate, show_predicate

MOST_TYPES = 20  # the greatest number of event types that the query lists for a step without a type


def chain_query(question: FunnelQuestion, types: Sequence[str]) -> cel.Formula:
    """Return the query whose matches are the chains of all steps. types: the event types of the stream.

    Raises Unsupported, with the reason, if CEL has no such query.
    """
    if question.mode is not None:
        raise Unsupported(f"CEL cannot express the mode {question.mode}: docs/guide/funnels.md says what differs")
    if question.start == "first":
        raise Unsupported(
            "start=first needs START and the names of all event types in CEL: `cerify funnel` prints the "
            "query for a file"
        )
    by_positions = question.window is not None and isinstance(question.window.window, EventWindow)
    if question.between is not None and question.by is not None and by_positions:
        raise Unsupported(
            "a window of EVENTS cannot be translated: CEL counts the events of the key, and a funnel all "
            "events of the stream"
        )
    steps = (*question.steps, *([question.between] if question.between else []))
    if not types and (question.between is not None or any(step.type is None for step in steps)):
        raise Unsupported(
            "a step without a type must list all event types in CEL: `cerify funnel` prints the query for a file"
        )
    for step in steps:
        if step.type is None and len(types) > MOST_TYPES:
            raise Unsupported(
                f"the step {step.text} has no type, so the CEL query would have to list all {len(types)} event types"
            )
    variables, phi = _chain(question, types)
    if question.order == "strict":
        later = [
            cel.Correlated(Comparison("<", Attribute(TIME, a), Attribute(TIME, b))) for a, b in pairwise(variables)
        ]
        if later:
            phi = cel.Filter(phi, _all(later))
    if question.window is not None:
        phi = cel.Within(phi, question.window.window)  # around the chain only, because UNLESS looks at earlier events
    if question.between is not None:
        phi = _without(phi, question.between, types, variables)
        if question.by is not None:
            phi = cel.PerKey(phi, (question.by,))  # the event that must not occur in between is of the same key
    if question.by is not None and question.between is None:
        phi = cel.PartitionBy(phi, question.by)
    return phi


def query_text(question: FunnelQuestion, types: Sequence[str]) -> str:
    """Return the text of `chain_query`. Also raises Unsupported if a name is a keyword of CEL."""
    phi = chain_query(question, types)
    text = show(phi)
    try:
        if parse(text) == phi:
            return text
    except CerifyError:
        pass
    raise Unsupported("an event type or an attribute has the name of a CEL keyword; rename it")


def _chain(question: FunnelQuestion, types: Sequence[str]) -> tuple[list[str], cel.Formula]:
    """Return the variables of the steps, and the sequence of the steps with their conditions as a formula."""
    named = [step.type for step in question.steps if step.type is not None]
    names = Names(frozenset((*named, *types)))
    conditioned = question.order == "strict" or any(step.predicate is not None for step in question.steps)
    variables: list[str] = []
    parts: list[cel.Formula] = []
    conditions: list[cel.Condition] = []
    for i, step in enumerate(question.steps):
        part = _events(step, types)
        variable = step.type
        if variable is None or (conditioned and named.count(variable) > 1):
            variable = names.unused(f"step{i + 1}")
            part = cel.In(part, variable)
        variables.append(variable)
        parts.append(part)
        if step.predicate is not None:
            conditions.append(cel.Every(variable, step.predicate))
    phi = reduce(cel.Seq, parts)
    return variables, cel.Filter(phi, _all(conditions)) if conditions else phi


def _events(step: FunnelStep, types: Sequence[str]) -> cel.Formula:
    names = [step.type] if step.type is not None else list(types) or ["any"]
    return _any_of(names)


def _without(phi: cel.Formula, between: FunnelStep, types: Sequence[str], variables: Sequence[str]) -> cel.Formula:
    """Return the chain, with the condition that no event of `between` occurs from its first event to its last.

    UNLESS looks at a whole interval, so the interval must begin where the chain begins: at the beginning of the stream,
    or after any event, which PROJECT removes from the match.
    """
    other = _events(between, types)
    if between.predicate is not None:
        other = cel.Filter(cel.In(other, "between"), cel.Every("between", between.predicate))
    clear = cel.Unless(cel.Start(phi), other)
    kept = frozenset(variables)
    return cel.Or(clear, cel.Project(kept, cel.Seq(cel.In(_any_of(types), "before"), clear)))


def _any_of(types: Sequence[str]) -> cel.Formula:
    events: list[cel.Formula] = [cel.EventAtom(type_) for type_ in types]
    return reduce(cel.Or, events)


def _all(conditions: Sequence[cel.Condition]) -> cel.Condition:
    return reduce(cel.Conjunction, conditions)


# --- from CEL ---------------------------------------------------------------------------------------------------------


def chain_of(phi: cel.Formula) -> FunnelQuestion:
    """Return the funnel whose last level a CEL query finds. Raises Unsupported, with the place, for other queries.

    A funnel is `A ; B ; …` of event types, with conditions on single events, a window, and one attribute of PARTITION
    BY or PER KEY. If a filter requires that each time is greater than the one before, the order of the funnel is
    strict. An absent event between steps must be written as `chain_query` writes it.

    >>> [step.text for step in chain_of(parse("(A ; B FILTER B.x > 1) WITHIN 7 days PARTITION BY [id]")).steps]
    ['A', 'B[x > 1]']
    """
    windows: list[cel.Window] = []
    keys: list[str] = []
    conditions: list[cel.Condition] = []
    between: FunnelStep | None = None
    inner: cel.Formula | None = phi
    while inner is not None:
        phi, inner = inner, None
        match phi:
            case cel.Or(cel.Unless(cel.Start(chain), other), beside) if not windows and _is_same(phi, beside):
                inner, between = chain, _step_of(other)
            case cel.Within(chain, window):
                inner = chain
                windows.append(window)
            case cel.PartitionBy(chain, attribute) if not _has_unless(chain):
                inner = chain
                keys.append(attribute)
            case cel.PerKey(chain, (attribute,)) if not windows:
                inner = chain
                keys.append(attribute)
            case cel.Filter(chain, condition):
                inner = chain
                conditions.append(condition)
    if len(windows) > 1 or len(set(keys)) > 1:
        raise Unsupported(
            "the formula has several windows or several keys; a funnel can have only one of each", phi.span
        )
    variables: list[tuple[str, str]] = []  # the variable and the type of each step
    for part in _steps(phi):
        name, inner = (part.variable, part.phi) if isinstance(part, cel.In) else (None, part)
        if isinstance(inner, cel.Filter):  # a condition on this step only
            conditions.append(inner.condition)
            inner = inner.phi
            if isinstance(inner, cel.In):
                name, inner = inner.variable, inner.phi
        if not isinstance(inner, cel.EventAtom):
            raise Unsupported("a funnel must be a sequence of event types, such as A ; B ; C", part.span)
        variables.append((name or inner.type, inner.type))
    predicates, increasing = _conditions(conditions, [name for name, _ in variables])
    steps = []
    for i, (_, type_) in enumerate(variables):
        predicate = predicates.get(i)
        steps.append(FunnelStep(_step_text(type_, predicate), type_, predicate))
    return FunnelQuestion(
        tuple(steps),
        keys[0] if keys else None,
        FunnelWindow("", windows[0]) if windows else None,
        order="strict" if increasing else "stream",
        between=between,
    )


def _has_unless(phi: cel.Formula) -> bool:
    """Return whether a formula has UNLESS, which PARTITION BY does not restrict to the events of a key."""
    return any(isinstance(node, cel.Unless) for node in cel.subformulas(phi))


def _is_same(phi: cel.Formula, beside: cel.Formula) -> bool:
    """Return whether the right side of an OR is the left side after an additional first event, as `_without` writes
    it.
    """
    match phi, beside:
        case cel.Or(clear, _), cel.Project(_, cel.Seq(cel.In(_, _), after)):
            return clear == after
    return False


def _step_of(phi: cel.Formula) -> FunnelStep:
    """Return the step whose events are the matches of a formula.

    Raises Unsupported if the matches are not events of one type.
    """
    match phi:
        case cel.EventAtom(type_):
            return FunnelStep(type_, type_, None)
        case cel.Filter(cel.In(cel.EventAtom(type_), name), cel.Every(variable, predicate)) if name == variable:
            return FunnelStep(_step_text(type_, predicate), type_, predicate)
    raise Unsupported(
        "the event that is forbidden in between must be of one type, with or without a condition", phi.span
    )


def _step_text(type_: str, predicate: Predicate | None) -> str:
    return type_ if predicate is None else f"{type_}[{show_predicate(predicate)}]"


def _steps(phi: cel.Formula) -> Iterator[cel.Formula]:
    if isinstance(phi, cel.Seq):
        yield from _steps(phi.left)
        yield from _steps(phi.right)
    else:
        yield phi


def _conditions(conditions: Sequence[cel.Condition], names: Sequence[str]) -> tuple[dict[int, Predicate], bool]:
    """Return the predicate of each step that has one, and whether times increase. Raises Unsupported."""
    predicates: dict[int, Predicate] = {}
    increasing: set[tuple[str, str]] = set()
    for condition in conditions:
        for atom in _conjuncts(condition):
            match atom:
                case cel.Every(variable, predicate):
                    for i, name in enumerate(names):
                        if name == variable:
                            predicates[i] = Both(predicates[i], predicate) if i in predicates else predicate
                case cel.Correlated(Comparison("<", Attribute(attribute, str(a)), Attribute(other, str(b)))) if (
                    attribute == other == TIME
                ):
                    increasing.add((a, b))
                case _:
                    raise Unsupported(
                        "this condition compares events; a funnel can only compare them by increasing times", atom.span
                    )
    wanted = set(pairwise(names))
    if increasing and (increasing != wanted or len(set(names)) < len(names)):
        raise Unsupported("in a funnel, either each step must be later than the step before it, or none must be")
    return predicates, bool(increasing)


def _conjuncts(condition: cel.Condition) -> Iterator[cel.Condition]:
    if isinstance(condition, cel.Conjunction):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition
