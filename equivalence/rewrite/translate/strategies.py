"""Where NXT, LAST and MAX say the same in core-CEL and in CEL.

In core-CEL a strategy compares complex events with the same last position over the whole stream (cep17, section 4), in
CEL those of an interval (tods21, section 7.1). The two are the same where the interval begins with the stream: at the
root, in an operand of OR, under a filter or another strategy, in the left operand of ; but neither in the right one
nor in an iteration. They are the same everywhere, too, if there is nothing to choose: if all complex events have one
event, or, for MAX, as many events as each other.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import Span, Unsupported

Choice: TypeAlias = core.Next | core.Last | core.Max

NAMES: dict[type[Choice], str] = {core.Next: "NXT", core.Last: "LAST", core.Max: "MAX"}


def keeps_all(phi: Choice) -> bool:
    """Whether by the form of phi the strategy drops nothing."""
    events = events_of(phi.phi)
    return events == 1 or (events is not None and isinstance(phi, core.Max))


def events_of(phi: core.Formula) -> int | None:
    """How many events every complex event of phi has, if by its form they all have as many."""
    match phi:
        case core.Event():
            return 1
        case core.Or(left, right):
            one, two = events_of(left), events_of(right)
            return one if one == two else None
        case core.Seq(left, right):
            one, two = events_of(left), events_of(right)
            return None if one is None or two is None else one + two
        case core.Plus():
            return None
        case core.Filter(psi, _) | core.Strict(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            return events_of(psi)
        case _:
            assert_never(phi)


def not_first(phi: Choice, span: Span | None) -> Unsupported:
    """The error for a strategy that need not begin where the stream does."""
    name = NAMES[type(phi)]
    return Unsupported(
        f"{name} stands after a ; or in an iteration: core-CEL compares there with complex events that begin earlier "
        f"in the stream, CEL does not; only a {name} that the formula begins with can be translated",
        span,
    )
