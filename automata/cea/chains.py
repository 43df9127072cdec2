"""LAST and NXT of events one after the other: an automaton with a state for each event.

For any formula a strategy runs beside a monitor that follows all rivals (strategies.py), whose states are sets. Of
sixty events that is more than there is room for, though there is nothing to compare: of a *chain*, single events one
after the other and in a fixed number, as A{60} or A{3} ; B, the greatest match is found by taking what comes.

- LAST compares from the end. The event before the last one is the latest that fits, since a later one leaves more room
  for those before it; and so on. So between two events of the match there is none that could have stood in the place of
  the earlier one.
- NXT compares from the beginning. Each event but the last is the earliest that fits. So between two events there is
  none that could have stood in the place of the later one; before the last event anything may stand.

With {n,} the greatest match in both orders has all events that fit, since a match that contains another one is above
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import or_
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.model import CEA, UNMARKED, VISIBLE, Marks, Transition, intersection
from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicates import Anything, OfType, Predicate

Link: TypeAlias = tuple[tuple[Predicate, Marks], ...]
"""One event of a chain: the ways to mark it, each with the events that can be marked so."""


@dataclass(frozen=True)
class EventChain:
    """Events one after the other.

    endless: whether the last one may come again and again. guard: the events of which none may be between two events of
    the chain, nor be a later one of these; only of a chain of one kind.
    """

    links: tuple[Link, ...]
    endless: bool = False
    guard: Link | None = None

    @property
    def runs(self) -> Runs:
        """Return the links, with how many times each comes in a row."""
        return tuple((link, sum(1 for _ in same)) for link, same in groupby(self.links))


def chain_of(phi: cel.Formula) -> EventChain | None:
    """The chain that a formula is; None for a formula that is none, by its form."""
    while isinstance(phi, cel.Derived):  # {n} is a sequence, and {n,} ends with +
        phi = phi.expansion
    match phi:
        case cel.Plus(psi):
            links = _links(psi)
            return None if links is None or len(links) != 1 else EventChain(links, endless=True)
        case cel.Seq(left, cel.Plus(psi)):
            links, last = _links(left), _links(psi)
            alike = links is not None and last is not None and {*links} == {*last}
            return EventChain((*links, *last), endless=True) if alike and links and last else None
    links = _links(phi)
    return _guarded(phi) if links is None else EventChain(links)


def _guarded(phi: cel.Formula) -> EventChain | None:
    """The chain of A ; (A UNLESS B){n}: events of one kind without another event in between; None for other formulas.

    The event before one that is taken is the latest of the kind, or the earliest one, whatever is taken else: so what
    is greatest without the guard is so with it, between two events that the guard forbids.
    """
    first, *others = _parts(phi)
    link, guards = _links(first), set[Link]()
    for part in others:
        guarded = cel.split_guard(part)
        if guarded is None or _links(guarded[0]) != link:
            return None
        guard = _links(guarded[1])
        if guard is None or len(guard) != 1:
            return None
        guards.add(guard[0])
    if link is None or len(link) != 1 or len(guards) != 1:
        return None
    return EventChain(link * (1 + len(others)), guard=guards.pop())


def _parts(phi: cel.Formula) -> list[cel.Formula]:
    """The operands of a sequence, in their order, whatever parentheses stand around them."""
    match phi:
        case cel.Seq(left, right):
            return [*_parts(left), *_parts(right)]
        case cel.Derived():
            return _parts(phi.expansion)
    return [phi]


Runs: TypeAlias = tuple[tuple[Link, int], ...]
"""The links of a chain, with how many times each comes in a row."""


def runs_of_last(phi: cel.Formula) -> Runs | None:
    """Return the links and their counts if phi is LAST of a chain of a fixed length; None for any other formula.

    >>> from cerify.semantics.cel.parse import parse
    >>> [count for _, count in runs_of_last(parse("LAST(A{60} ; B ; C{3})"))]
    [60, 1, 3]
    """
    chain = chain_of(phi.phi) if isinstance(phi, cel.Last) else None
    return None if chain is None or chain.endless or chain.guard is not None else chain.runs


def greatest_runs(phi: cel.Formula, chain: cel.Formula | None = None) -> tuple[bool, Runs, Link | None] | None:
    """Return whether phi is LAST, the runs, and the guard, if phi is LAST or NXT of a chain of a fixed length.

    None for any other formula. chain: the chain, where it is the operand less its windows and keys.
    """
    if not isinstance(phi, cel.Next | cel.Last):
        return None
    found = chain_of(phi.phi if chain is None else chain)
    return None if found is None or found.endless else (isinstance(phi, cel.Last), found.runs, found.guard)


def _links(phi: cel.Formula) -> tuple[Link, ...] | None:
    match phi:
        case cel.EventAtom(R):
            return (((OfType(R), frozenset({R})),),)
        case cel.In(psi, A):
            links = _links(psi)
            return None if links is None else tuple(tuple((P, L | {A}) for P, L in link) for link in links)
        case cel.Filter(psi, condition):
            links = _links(psi)
            return None if links is None else _filtered(links, condition)
        case cel.Seq(left, right):
            one, two = _links(left), _links(right)
            return None if one is None or two is None else one + two
        case cel.Or(left, right):
            one, two = _links(left), _links(right)
            single = one is not None and two is not None and len(one) == len(two) == 1
            return ((*one[0], *two[0]),) if single and one and two else None
        case cel.Derived():
            return _links(phi.expansion)
    return None


def _filtered(links: tuple[Link, ...], condition: cel.Condition) -> tuple[Link, ...] | None:
    """The chain where a filter holds of each event, as long as that is a condition on each alone."""
    match condition:
        case cel.Every(A, Q) if A != VISIBLE:
            return tuple(tuple((intersection(P, Q) if A in L else P, L) for P, L in link) for link in links)
        case cel.Conjunction(left, right):
            found = _filtered(links, left)
            return None if found is None else _filtered(found, right)
        case cel.Disjunction(left, right) if len(links) == 1:
            one, two = _filtered(links, left), _filtered(links, right)
            return None if one is None or two is None else ((*one[0], *two[0]),)
    return None


def greatest_of_chain(strategy: cel.Next | cel.Last, chain: EventChain, algebra: Algebra) -> CEA:
    """The automaton of LAST or NXT of a chain; with a guard, of LAST. State k has taken k events.

    Raises BudgetExceeded.
    """
    links, n = chain.links, len(chain.links)
    allowed = Anything() if chain.guard is None else _negate_link(chain.guard, algebra)
    others = {link: _negate_link(link, algebra) for link in dict.fromkeys(links)}
    transitions = []
    for k, link in enumerate(links):
        if chain.endless:
            between = others[links[0]]
        elif isinstance(strategy, cel.Last):
            between = others[links[k - 1]] if k else Anything()
        else:
            between = others[link] if k < n - 1 else Anything()
        if k and chain.guard is not None:
            between, link = intersection(between, allowed), tuple((intersection(P, allowed), L) for P, L in link)
        transitions.append(Transition(k, between, UNMARKED, k))
        transitions += [Transition(k, P, L, k + 1) for P, L in link]
        if chain.endless and k == n - 1:
            transitions += [Transition(k, P, L, n + 1) for P, L in link]
    if chain.endless:  # state n + 1 waits for one more
        transitions.append(Transition(n + 1, others[links[0]], UNMARKED, n + 1))
        transitions += [Transition(n + 1, P, L, q) for P, L in links[0] for q in (n, n + 1)]
    return CEA(n + 2 if chain.endless else n + 1, tuple(transitions), frozenset({0}), frozenset({n}))


def _negate_link(link: Link, algebra: Algebra) -> Predicate:
    """The events that cannot stand at this place."""
    taken = reduce(or_, (algebra.mask(P) for P, _ in link))
    return algebra.predicate(algebra.everything & ~taken)
