"""vldb92, sections 2.2 and 2.3: the formal definitions of the operators, letter for letter.

A history is a tuple of pairs (event-identifier, primitive event), as in the text, and an expression maps it to another.
Only operators that the text defines on histories are here; the others are defined by expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import TypeAlias

from cerify.semantics.event_expressions import syntax as expr

History: TypeAlias = tuple[tuple[int, str], ...]
Applied: TypeAlias = Callable[[expr.Expression, History], History]


def numbered(letters: Iterable[str]) -> History:
    return tuple(enumerate(letters))


def after(h: History, eid: int) -> History:
    """h without the event occurrences whose eids are less than or equal to this one."""
    return tuple((e, a) for e, a in h if e > eid)


def union(h: History, parts: Iterable[History]) -> History:
    found = {o for part in parts for o in part}
    return tuple(o for o in h if o in found)


def applied(E: expr.Expression, h: History) -> History:
    """E[h]."""
    if not h:
        return ()  # 1
    match E:
        case expr.Null():  # 2
            return ()
        case expr.Primitive(a):  # 3
            return tuple(o for o in h if o[1] == a)
        case expr.ExpressionAnd(left, right):  # 4
            return tuple(o for o in applied(left, h) if o in applied(right, h))
        case expr.ExpressionNot(F):  # 5
            return tuple(o for o in h if o not in applied(F, h))
        case expr.Relative((left, right)):  # 6
            return union(h, (applied(right, after(h, e)) for e, _ in applied(left, h)))
        case expr.RelativePlus(F):  # 7: relative^i is empty where i is greater than the number of events
            parts, power = [], F
            for _ in h:
                parts.append(applied(power, h))
                power = expr.Relative((power, F))
            return union(h, parts)
        case expr.Pipe(left, right):  # g
            return applied(right, applied(left, h))
        case _:
            raise NotImplementedError(f"{type(E).__name__} is defined by an expression")


def between(F: expr.Expression, E: expr.Expression, h: History, of: Applied, as_printed: bool) -> History:
    """k: F /+ E. As printed i < m - 1 for the parts between two events of E; otherwise i < m."""
    at = [e for e, _ in of(E, h)]
    m = len(at)
    parts = []
    for i in range(1, m + 1):
        rest = after(h, at[i - 1])
        if i < (m - 1 if as_printed else m):
            parts.append(of(F, tuple((e, a) for e, a in rest if e < at[i])))
        elif i == m:
            parts.append(of(F, rest))
    return union(h, parts)


def prefix(E: expr.Expression, h: History, of: Applied, letters: tuple[str, ...], further: int) -> History:
    """o: some history identical to h up to e has E at an event after e; looked for among `further` events more."""

    def is_viable(n: int) -> bool:
        so_far = tuple(a for _, a in h[: n + 1])
        return any(
            any(position > n for position, _ in of(E, numbered((*so_far, *rest))))
            for more in range(1, further + 1)
            for rest in product(letters, repeat=more)
        )

    return tuple(o for n, o in enumerate(h) if is_viable(n))
