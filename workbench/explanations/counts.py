"""How many events a formula asks for: why a set with too many or too few is no match, whatever the events are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import assert_never

from cerify.explanations.evidence import braces
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.show import show
from cerify.semantics.events import ComplexEvent
from cerify.semantics.trees import children

SHOWN = 4
KEEPING = (
    cel.In | cel.Filter | cel.Start | cel.Unless | cel.Within | cel.PartitionBy
    | cel.Strict | cel.Next | cel.Last | cel.Max
)  # fmt: skip
"""The operators that keep matches of their first operand as they are, so that they change no number of events."""


def miscounted(phi: cel.Formula, C: ComplexEvent) -> tuple[cel.Formula, str, str] | None:
    """The part of phi whose clause makes C too large or too small, the clause, and why; None if the number is right."""
    while isinstance(phi, KEEPING):
        phi = children(phi)[0]
    most = len(C) + sum(isinstance(psi, cel.Event) for psi in cel.subformulas(cel.expanded(phi)))
    possible = counts(phi, most)
    if not possible or len(C) in possible:
        return None
    few = len(C) < min(possible)
    how = (
        "too few events" if few else "too many events" if len(C) > max(possible) else "a number of events that is wrong"
    )
    message = f"{braces(C)} has {how}: {show(phi)} takes {_words(sorted(possible), most, endless(phi))}, not {len(C)}"
    return phi, OPERATORS[type(phi)].title, message


def counts(phi: cel.Formula, most: int) -> frozenset[int]:
    """The numbers of events, up to a bound, that the clauses alone let a match of phi have."""
    found: dict[int, frozenset[int]] = {}
    for psi in reversed(list(cel.subformulas(phi))):
        below = [found[id(child)] for child in children(psi)]
        match psi:
            case cel.Event():
                numbers = {1}
            case cel.Seq() | cel.ContiguousSeq():
                numbers = {a + b for a, b in product(*below)}
            case cel.Plus() | cel.ContiguousPlus():
                numbers = _sums(below[0], most)
            case cel.Or():
                numbers = {*below[0], *below[1]}
            case cel.And():
                numbers = {*below[0]} & below[1]
            case cel.All():  # the two may share events
                numbers = {n for a, b in product(*below) for n in range(max(a, b), a + b + 1)}
            case cel.Project():  # any of the events may be dropped, also of more than are counted here
                numbers = set(range(most + 1 if endless(psi) else max(below[0], default=-1) + 1))
            case (
                cel.In() | cel.Filter() | cel.Start() | cel.Unless() | cel.Within() | cel.PartitionBy()
                | cel.Strict() | cel.Next() | cel.Last() | cel.Max()
            ):  # fmt: skip
                numbers = {*below[0]}
            case cel.Derived():
                numbers = {*counts(psi.expansion, most)}
            case _:
                assert_never(psi)
        found[id(psi)] = frozenset(n for n in numbers if n <= most)
    return found[id(phi)]


def endless(phi: cel.Formula) -> bool:
    """Whether there is an iteration in phi, so that it may have matches of any size."""
    return any(isinstance(part, cel.Plus | cel.ContiguousPlus) for part in cel.subformulas(cel.expanded(phi)))


def _sums(numbers: Iterable[int], most: int) -> set[int]:
    """The sums of one or more of the numbers."""
    found = set(numbers)
    pending = list(found)
    while pending:
        a = pending.pop()
        new = {a + b for b in numbers if a + b <= most} - found
        found |= new
        pending += new
    return found


def _words(possible: list[int], most: int, more: bool) -> str:
    """The numbers in words; a run up to the bound goes on, and there may be more beyond it."""
    start = most
    while start - 1 in possible:
        start -= 1
    runs_on = more and most in possible and start < most
    listed = [str(n) for n in possible if not runs_on or n < start] + ([f"{start} or more"] if runs_on else [])
    if len(listed) > SHOWN or (more and not runs_on):
        return ", ".join(listed[:SHOWN]) + " and so on"
    return listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " or " + listed[-1]
