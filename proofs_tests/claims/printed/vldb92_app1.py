"""Occurrence tuples by the clauses of vldb92, appendix 1, as they are printed, and with what they need to agree.

A clause says which tuples satisfy an expression; what others ask of a tuple is only where the expression starts and
ends in it. So the clauses are read as sets of pairs (f_i, e_i), where e_i may be the sequence of rounds of relative+.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import Stream

Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Reading:
    """What is not as printed.

    starts_earlier: a primitive event is found in what has begun before it; printed e_i = f_i.
    effective: where an entry is the rounds of relative+, the event where the last one ends counts; printed, the rounds
    are compared with events, and are none.
    """

    starts_earlier: bool = False
    effective: bool = False


PRINTED = Reading()
MENDED = Reading(starts_earlier=True, effective=True)


def takes_place(E: expr.Expression, S: Stream, reading: Reading) -> frozenset[int]:
    """The events at which there is a tuple for E whose origin is the first event of the history."""
    return frozenset(e for f, e in _pairs(E, S, reading) if f == 0)


def _pairs(E: expr.Expression, S: Stream, reading: Reading) -> frozenset[Pair]:
    h = range(len(S))
    match E:
        case expr.Null():
            return frozenset()
        case expr.Primitive(T):  # 1
            starts = (lambda e: range(e + 1)) if reading.starts_earlier else (lambda e: range(e, e + 1))
            return frozenset((f, e) for e in h if S[e].type == T for f in starts(e))
        case expr.Relative((A, B)):  # 2: succ(e_i) = f_j
            left, right = _ends(A, S, reading), _pairs(B, S, reading)
            return frozenset((f, e) for f, d in left for g, e in right if g == d + 1)
        case expr.RelativePlus(A):  # 3: rounds, each from where the one before it ends
            rounds = _pairs(A, S, reading)
            found: frozenset[Pair] = frozenset()
            new = rounds
            while new:
                found |= new
                new = frozenset((f, e) for f, d in new for g, e in rounds if g == d + 1) - found
            return found
        case expr.ExpressionAnd(A, B):  # 4: f_i = f_j = f_k, e_i = e_j = e_k
            both_rounds = isinstance(A, expr.RelativePlus) and A == B  # then the entries may be equal as sequences
            of = _pairs if both_rounds else _ends
            return of(A, S, reading) & of(B, S, reading)
        case expr.ExpressionNot(A):  # 5
            inside = _pairs(A, S, reading)
            whole = [(f, e) for e in h for f in range(e + 1)]
            return frozenset(whole) - inside  # no tuple of A from f_k to e_k
        case _:
            raise ValueError("the appendix has the base operators only")


def _ends(E: expr.Expression, S: Stream, reading: Reading) -> frozenset[Pair]:
    """The pairs where e_i is asked to be an event."""
    if isinstance(E, expr.RelativePlus) and not reading.effective:
        return frozenset()
    return _pairs(E, S, reading)
