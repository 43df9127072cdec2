"""Convert a query to a sequence of steps, each taken by one event, for near misses and funnels.

`A ; (B UNLESS C) ; D PER KEY [k] WITHIN 10 minutes` has three steps, A, B and D; B is guarded by C. Whether an event
takes a step depends on this event alone. Whether one step follows another depends on a window, a key, and forbidden
events in between. So it is defined how far a sequence that begins with an event came. This is not defined for formulas
that compare matches, such as those with NXT, or that combine events in other ways.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from cerify.automata.cea.model import intersection
from cerify.automata.evaluate.evaluation_plan import partitioned
from cerify.automata.evaluate.scope import Scope, strip_windows
from cerify.semantics.arguments import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import ContiguousRepeat, Repeat, show
from cerify.semantics.errors import Unsupported
from cerify.semantics.predicates import OfType, Predicate

Ways: TypeAlias = tuple[tuple[Predicate, frozenset[str]], ...]
"""The ways for one event to take a step: the predicate that it satisfies, and the variables that bind it."""

LISTED = 60  # the most steps of a sequence


@dataclass(frozen=True)
class StepOfSequence:
    """One step of a sequence, taken by one event.

    text: the part of the query. types: the event types that can take the step. guards: conditions that no event may
    satisfy after the step before and up to this step. next_to: whether the event must directly follow the event of the
    step before. loops: whether the step may repeat.
    """

    text: str
    ways: Ways
    types: frozenset[str]
    guards: tuple[tuple[str, Predicate], ...] = ()
    next_to: bool = False
    loops: bool = False


@dataclass(frozen=True)
class StepSequence:
    """The steps of a query, and the windows and keys around them; scope.core is the formula of the steps."""

    steps: tuple[StepOfSequence, ...]
    scope: Scope


def sequence_of(phi: cel.Formula) -> StepSequence | Unsupported:
    """Return the steps of a query, or the reason why it is not a sequence. Raises BudgetExceeded."""
    with depth_limited(phi.span):
        scope = strip_windows(partitioned(phi))
        if isinstance(scope, Unsupported):
            return scope
        steps = _steps(scope.core)
    if isinstance(steps, Unsupported):
        return steps
    if steps[0].guards:
        return Unsupported(
            "UNLESS around the first step depends on all events before it; put it around a later step", phi.span
        )
    if len(steps) > LISTED:
        return Unsupported(f"the query has more than {LISTED} steps; near misses support no more", phi.span)
    return StepSequence(steps, scope)


def _steps(phi: cel.Formula) -> tuple[StepOfSequence, ...] | Unsupported:
    match phi:
        case cel.EventAtom(R):
            return (StepOfSequence(R, ((OfType(R), frozenset({R})),), frozenset({R})),)
        case cel.In(psi, A):
            steps = _steps(psi)
            return steps if isinstance(steps, Unsupported) else tuple(_bound(step, A) for step in steps)
        case cel.Filter(psi, condition):
            steps = _steps(psi)
            return steps if isinstance(steps, Unsupported) else _filtered(steps, condition)
        case cel.Seq(left, right) | cel.ContiguousSeq(left, right):
            one, two = _steps(left), _steps(right)
            if isinstance(one, Unsupported) or isinstance(two, Unsupported):
                return one if isinstance(one, Unsupported) else two
            next_to = isinstance(phi, cel.ContiguousSeq)
            return (*one, replace(two[0], next_to=next_to), *two[1:])
        case cel.Or(left, right):
            return _either(phi, _steps(left), _steps(right))
        case cel.Unless(left, right):
            return _guarded(phi, _steps(left), _steps(right))
        case cel.Plus(psi):
            return _repeated(phi, _steps(psi), 1, more=True)
        case Repeat(psi, least, most) if not isinstance(phi, ContiguousRepeat):
            return _repeated(phi, _steps(psi), least, more=most != least)
    return _no_steps(phi)


def _no_steps(phi: cel.Formula) -> Unsupported:
    return Unsupported(
        f"`{show(phi)}` is not a sequence of steps: single events, joined by ; or :, with +, {{n}} and UNLESS around "
        "single events",
        phi.span,
    )


def _single(steps: tuple[StepOfSequence, ...] | Unsupported) -> StepOfSequence | None:
    """Return the only step of a sequence, if it has no guard; else None."""
    return steps[0] if isinstance(steps, tuple) and len(steps) == 1 and not steps[0].guards else None


def _bound(step: StepOfSequence, A: str) -> StepOfSequence:
    return replace(step, ways=tuple((P, L | {A}) for P, L in step.ways))


def _either(
    phi: cel.Or, left: tuple[StepOfSequence, ...] | Unsupported, right: tuple[StepOfSequence, ...] | Unsupported
) -> tuple[StepOfSequence, ...] | Unsupported:
    one, two = _single(left), _single(right)
    if one is None or two is None or one.loops or two.loops:
        return _no_steps(phi)
    return (StepOfSequence(show(phi), (*one.ways, *two.ways), one.types | two.types),)


def _guarded(
    phi: cel.Unless, left: tuple[StepOfSequence, ...] | Unsupported, right: tuple[StepOfSequence, ...] | Unsupported
) -> tuple[StepOfSequence, ...] | Unsupported:
    forbidden = _single(right)
    if isinstance(left, Unsupported) or len(left) > 1 or left[0].loops or forbidden is None:
        return _no_steps(phi)
    guards = tuple((show(phi.right), P) for P, _ in forbidden.ways)
    return (replace(left[0], guards=(*left[0].guards, *guards)),)


def _repeated(
    phi: cel.Formula, steps: tuple[StepOfSequence, ...] | Unsupported, least: int, more: bool
) -> tuple[StepOfSequence, ...] | Unsupported:
    """Return the steps of an iteration: `least` copies of its only step. more: whether the last copy may repeat."""
    step = _single(steps)
    return _no_steps(phi) if step is None else (*(step,) * (least - 1), replace(step, loops=more))


def _filtered(steps: tuple[StepOfSequence, ...], condition: cel.Condition) -> tuple[StepOfSequence, ...] | Unsupported:
    match condition:
        case cel.Every(A, Q):
            return tuple(
                replace(step, ways=tuple((intersection(P, Q) if A in L else P, L) for P, L in step.ways))
                for step in steps
            )
        case cel.Conjunction(left, right):
            found = _filtered(steps, left)
            return found if isinstance(found, Unsupported) else _filtered(found, right)
    return Unsupported(
        "this filter compares events, or has OR; near misses support only filters on single steps", condition.span
    )
