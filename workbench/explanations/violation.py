"""What exactly is broken where a relaxed place of a formula is held against what stood there before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import assert_never

from cerify.explanations.derivation import Node, comparison, supports
from cerify.explanations.evidence import braces, event, listed, of_window, reasons_against
from cerify.explanations.oracle import Oracle
from cerify.explanations.relaxation import Point
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import last_at_most, next_at_most, sup
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.show import show, show_window
from cerify.semantics.errors import InternalError
from cerify.semantics.events import ComplexEvent
from cerify.semantics.trees import children


def violation(point: Point, phi: cel.Formula, place: cel.Formula, node: Node, oracle: Oracle) -> str:
    """Why phi does not have the node's valuation, where the node's formula is phi with the point relaxed.

    place is the part of the query that phi comes from: the two differ where something below is relaxed too.
    """
    i, j, mu, S = node.i, node.j, node.valuation, oracle.S
    C = sup(mu)
    match phi:
        case cel.Event(R):
            return f"there is no event of type {R} at {j}: event {j} is of type {S[j].type}"
        case cel.Filter(psi, condition):
            broken = [a for a in cel.atoms(condition) if mu not in oracle.meaning(cel.Filter(psi, a), i, j)]
            return "; ".join(reasons_against(atom, mu, S) for atom in broken)
        case cel.Within(_, window):
            return f"not within {show_window(window)}: {of_window(window, mu, S)}"
        case cel.PartitionBy(_, name):
            return f"the events differ in [{name}]: {listed(event(p, S, [name]) for p in sorted(C))}"
        case cel.Strict():
            left_out = sorted(set(range(min(C), max(C))) - C)
            return f"STRICT wants an interval: between {min(C)} and {max(C)} it leaves out {listed(map(str, left_out))}"
        case cel.Next() | cel.Last() | cel.Max():
            winner = next(w for w in supports(phi, i, j, oracle) if _beats(phi, w, C))
            name = OPERATORS[type(phi)].symbol
            return f"{name} prefers {comparison(name, winner, C)}"
        case cel.Seq() | cel.ContiguousSeq() if point.kind == "order":
            first, second = (show(side) for side in children(place))
            one, two = (braces(sup(child.valuation)) for child in node.children)
            return f"{first} has to come before {second}, but they are {one} and {two}"
        case cel.ContiguousSeq():
            return " and ".join(_apart([sup(child.valuation) for child in node.children], ":"))
        case cel.ContiguousPlus():
            return " and ".join(_apart(list(_rounds(node)), ":+"))
        case cel.Start():
            first = f"at {min(C)}" if C else "none"
            return f"START wants the first event at {i}, where the interval begins; it is {first}"
        case cel.Unless(_, right):
            within = ((a, b) for b in range(i, j + 1) for a in range(i, b + 1))
            found = next((other for a, b in within for other in supports(right, a, b, oracle)), C)
            return f"UNLESS forbids {show(right)}, and {braces(found)} is one"
        case cel.And(left, right):
            other, side = (left, "left") if point.part == 0 else (right, "right")
            same = C in supports(other, i, j, oracle)
            what = "binds these events to other variables" if same else "does not have these events"
            shown = show(children(place)[point.part])
            return f"AND wants the same valuation on both sides, and the {side} side, {shown}, {what}"
        case cel.Project(L, _):
            dropped = sorted({p for A, p in mu if A not in L} - {p for A, p in mu if A in L})
            return f"PROJECT keeps {', '.join(sorted(L)) or 'no variable'} only, which drops {braces(dropped)}"
        case cel.In() | cel.Plus() | cel.Or() | cel.All() | cel.Seq() | cel.Derived():
            raise InternalError(f"{show(phi)} has nothing to relax", place.span)
        case _:
            assert_never(phi)


def _beats(phi: cel.Next | cel.Last | cel.Max, winner: ComplexEvent, C: ComplexEvent) -> bool:
    match phi:
        case cel.Next():
            return winner != C and next_at_most(C, winner)
        case cel.Last():
            return winner != C and last_at_most(C, winner)
        case cel.Max():
            return winner > C
        case _:
            assert_never(phi)


def _apart(parts: list[ComplexEvent], symbol: str) -> Iterator[str]:
    for one, two in pairwise(parts):
        if not one or not two:
            yield f"a side without events is next to nothing (`{symbol}`)"
        elif max(one) + 1 != min(two):
            yield f"events {max(one)} and {min(two)} are not next to each other (`{symbol}`)"


def _rounds(node: Node) -> Iterator[ComplexEvent]:
    """The complex events of the rounds of an iteration."""
    while len(node.children) == 2:
        yield sup(node.children[0].valuation)
        node = node.children[1]
    yield sup(node.children[0].valuation)
