"""SASE+ as an event expression: it takes place at the events with which a match ends.

By way of the CEL formula, of which the same two operators are there: sequencing is relative, contiguous sequencing
sequence, and B UNLESS (B ; B) after A is the B of the history after A at which relative(B, B) does not take place.
"""

from __future__ import annotations

from functools import reduce

from cerify.equivalence.rewrite.translate.sase_to_cel import sase_to_cel
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicates import Both
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import DECIDED, Reading


def sase_to_expression(q: sase.Tree, reading: Reading = DECIDED) -> expr.Expression:
    """An event expression for the ends of the matches of q, whose conditions are on single events.

    Raises Unsupported where it compares events, or where it is not in CEL.
    """
    return _after(None, sase_to_cel(q, reading), False)


def _after(before: expr.Expression | None, phi: cel.Formula, contiguous: bool) -> expr.Expression:
    """Where phi ends that begins after an event of `before`, or just after one; or anywhere, if that is None."""
    match phi:
        case cel.Event() | cel.Filter():
            E = _event(phi)
            return E if before is None else (expr.Sequence if contiguous else expr.Relative)((before, E))
        case cel.In(psi, _):
            return _after(before, psi, contiguous)
        case cel.Or(left, right):
            return expr.Or(_after(before, left, contiguous), _after(before, right, contiguous))
        case cel.Seq(left, right):
            return _after(_after(before, left, contiguous), right, False)
        case cel.ContiguousSeq(left, right):
            return _after(_after(before, left, contiguous), right, True)
        case cel.ContiguousPlus(psi) if before is not None and contiguous:
            # all events since then are such
            return expr.Relative((before, expr.Not(expr.Happened(expr.Not(_event(psi))))))
        case cel.Plus(psi) if before is not None:
            return expr.Relative((before, expr.RelativePlus(_after(None, psi, False))))
        case cel.Plus(psi) | cel.ContiguousPlus(psi):
            return _after(before, psi, False)  # its last round alone
        case cel.Unless(psi, too_early):
            # what would be too early ends, if at all, where psi does
            E = expr.And(_after(None, psi, False), expr.Not(_after(None, too_early, False)))
            return E if before is None else expr.Relative((before, E))
        case _:
            raise Unsupported("an event expression has no window, and keeps no event to compare another one with")


def _event(phi: cel.Formula) -> expr.Expression:
    """An event with its conditions as a mask."""
    masks = []
    while isinstance(phi, cel.Filter) and isinstance(phi.condition, cel.Every):
        masks.append(phi.condition.predicate)
        phi = phi.phi
    if not isinstance(phi, cel.Event):
        raise Unsupported("an event expression has no window, and keeps no event to compare another one with")
    return expr.Primitive(phi.type, mask=reduce(Both, reversed(masks)) if masks else None)
