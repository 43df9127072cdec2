"""Why a set of positions is no match: the clauses that reject it, and the matches nearest to it.

A relaxed formula of which the set is a match shows what is in the way: in the set's derivation by that formula, each
relaxed place is held against what stood there before. All verdicts are the interpreter's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product
from typing import assert_never

from cerify.explanations.derivation import Node, derivations, nodes, ordered, supports
from cerify.explanations.evidence import braces, positions
from cerify.explanations.oracle import Oracle, alone, is_hidden, is_local
from cerify.explanations.relaxation import LATE, Point, Relaxed, at_path, points, relax
from cerify.explanations.violation import violation
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates
from cerify.semantics.cel.show import show
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Stream, Valuation
from cerify.semantics.trees import children

NEAREST = 5  # matches named as nearest; those beyond are as near as the last
PAIRS = 40  # points of a formula up to which every two of them are tried together
DERIVATIONS = 100  # derivations of one valuation that are compared
SEARCH = Budget(valuations=300_000)  # for each kind of relaxation, as are the steps
SEARCH_STEPS = 1_000_000


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


def misbound(phi: cel.Formula, mu: Valuation, nearest: Valuation) -> Iterator[tuple[cel.Formula, str, str]]:
    """For each variable that binds something else in nearest: the part of phi that binds it, the clause, and why."""
    for A in sorted({A for A, _ in mu ^ nearest}):
        asked, bound = (braces(positions(nu, A)) for nu in (mu, nearest))
        binders = [psi for psi in cel.subformulas(phi) if _binds(psi, A)]
        hiding = [psi for psi in cel.subformulas(phi) if isinstance(psi, cel.Project) and A not in psi.variables]
        if not binders:
            yield phi, "variable binding", f"nothing in the formula binds {A}"
        elif hiding and not positions(nearest, A):
            kept = ", ".join(sorted(hiding[0].variables)) or "no variable"
            yield hiding[0], "projection", f"PROJECT keeps {kept} only, so {A} binds nothing, not {asked}"
        else:
            clause = "variable binding" if isinstance(binders[0], cel.In) else "event type"
            binding = " or ".join(dict.fromkeys(map(show, binders)))
            yield binders[0], clause, f"{binding} binds {A} to {bound}, not to {asked}"


def _binds(psi: cel.Formula, A: str) -> bool:
    return (isinstance(psi, cel.In) and psi.variable == A) or (isinstance(psi, cel.Event) and psi.type == A)


@dataclass(frozen=True)
class Reason:
    """A clause that rejects the set.

    formula is the part of the query where it stands, i and j the interval, valuation what the clause rejects: it
    would belong to formula if the clause asked for less. A reason about the position has no valuation.
    """

    clause: str
    message: str
    formula: cel.Formula
    i: int
    j: int
    valuation: Valuation | None = None


@dataclass(frozen=True)
class Rejection:
    """Why the set is no match at n.

    reasons: all have to go before it is one; empty if none was found.
    relaxed: the derivation of the set by the formula without them, where there is one. nearest: the matches at n that
    differ in the fewest positions; None if those could not all be found. gave_up: the search for reasons ran out of
    budget. bindings: where the set is a match and a valuation of it was asked about, the valuations nearest to that.
    """

    reasons: tuple[Reason, ...]
    relaxed: Node | None
    nearest: tuple[ComplexEvent, ...] | None
    gave_up: bool = False
    bindings: tuple[Valuation, ...] = ()


def reject(phi: cel.Formula, C: ComplexEvent, n: int, S: Stream, predicates: Predicates = NO_PREDICATES) -> Rejection:
    """Why C is not among the complex events of phi at n; it must not be one. Raises Unsupported, BudgetExceeded."""
    nearest = _nearest(phi, C, n, Oracle(S, predicates=predicates))
    last = max(C, default=n)

    def position(message: str) -> Reason:
        return Reason("position", message, phi, 0, n)

    if last > n:
        late = position(f"event {last} comes after position {n}, at which the match would be reported")
        return Rejection((late,), None, nearest)
    if last < n and is_match(phi, C, last, oracle_for(phi, C, S, predicates)):
        early = position(f"{braces(C)} is a match at {last}, where its last event is; it is not one at {n}")
        return Rejection((early,), None, nearest)
    gave_up = False
    for at, psi in product(dict.fromkeys((n, last)), dict.fromkeys((phi, cel.expanded(phi)))):
        search = _Search(psi, C, at, S, predicates)
        if found := search.smallest():
            reasons, relaxed = found
            moved = position(f"a match of {braces(C)} would be reported at {at}, where its last event is, not at {n}")
            return Rejection(reasons if at == n else (moved, *reasons), relaxed, nearest)
        gave_up |= search.gave_up
    if found_count := miscounted(phi, C):
        place, clause, message = found_count
        return Rejection((Reason(clause, message, place, 0, n),), None, nearest)
    return Rejection((), None, nearest, gave_up)


def reject_binding(phi: cel.Formula, mu: Valuation, known: Sequence[Valuation], n: int) -> Rejection:
    """Why mu is not among the valuations of phi at n; known are those with the same positions, one or more."""
    distance = min(len(mu ^ nu) for nu in known)
    nearest = tuple(nu for nu in known if len(mu ^ nu) == distance)[:NEAREST]
    reasons = (Reason(clause, why, place, 0, n) for place, clause, why in misbound(phi, mu, nearest[0]))
    return Rejection(tuple(reasons), None, (sup(mu),), bindings=nearest)


def oracle_for(phi: cel.Formula, C: ComplexEvent, S: Stream, predicates: Predicates = NO_PREDICATES) -> Oracle:
    """An oracle that can tell whether C is a complex event of phi over S."""
    return Oracle(alone(S, C) if is_local(phi) else S, predicates=predicates)


def is_match(phi: cel.Formula, C: ComplexEvent, n: int, oracle: Oracle) -> bool:
    """Whether C is a complex event of phi at n."""
    return any(sup(mu) == C for mu in oracle.meaning(phi, 0, n))


def _nearest(phi: cel.Formula, C: ComplexEvent, n: int, oracle: Oracle) -> tuple[ComplexEvent, ...] | None:
    try:
        candidates = supports(phi, 0, n, oracle)
    except BudgetExceeded:
        return None
    distance = min((len(C ^ other) for other in candidates), default=0)
    return tuple(other for other in candidates if len(C ^ other) == distance)[:NEAREST]


class _Search:
    """Looks for the smallest relaxation of which C is a match."""

    def __init__(self, phi: cel.Formula, C: ComplexEvent, n: int, S: Stream, predicates: Predicates) -> None:
        self.phi, self.C, self.n, self.S, self.predicates = phi, C, n, S, predicates
        self.types = {S[p].type for p in C}
        self.gave_up = False
        self._renew()

    def _renew(self) -> None:
        self.alone = Oracle(alone(self.S, self.C), SEARCH, SEARCH_STEPS, self.predicates)
        self.whole = Oracle(self.S, SEARCH, SEARCH_STEPS, self.predicates)

    def smallest(self) -> tuple[tuple[Reason, ...], Node] | None:
        """The reasons of the smallest relaxation found, and the derivation by it; None if there is none."""
        everything = list(points(self.phi))
        early = [point for point in everything if point.kind not in LATE]
        late = [[point for point in everything if point.kind == kind] for kind in LATE]
        for more in ([], *late, list(chain(*late))):
            try:
                if found := self._within(early + more):
                    return found
            except BudgetExceeded:
                self.gave_up = True
                self._renew()
        return None

    def _within(self, level: Sequence[Point]) -> tuple[tuple[Reason, ...], Node] | None:
        if not self._matches(level):
            return None
        chosen = next(self._few(level), None) or self._minimal(level)
        return self._explained(relax(self.phi, chosen, self.types))

    def _few(self, level: Sequence[Point]) -> Iterator[Sequence[Point]]:
        for size in (1, 2) if len(level) <= PAIRS else (1,):
            yield from (chosen for chosen in combinations(level, size) if self._matches(chosen))

    def _minimal(self, chosen: Sequence[Point]) -> Sequence[Point]:
        """A relaxation none of whose points can be taken back; those of order and type are taken back first."""
        for point in sorted(chosen, key=lambda p: (p.kind not in LATE, -len(p.path))):
            fewer = [other for other in chosen if other != point]
            if self._matches(fewer):
                chosen = fewer
        return chosen

    def _matches(self, chosen: Sequence[Point]) -> bool:
        phi = relax(self.phi, chosen, self.types).formula
        if not is_hidden(phi) and not is_match(phi, self.C, self.n, self.alone):
            return False
        return is_local(phi) or is_match(phi, self.C, self.n, self.whole)

    def _explained(self, relaxed: Relaxed) -> tuple[tuple[Reason, ...], Node] | None:
        """The reasons that the derivation of C with the fewest broken places shows, and that derivation."""
        oracle = self.alone if is_local(relaxed.formula) else self.whole
        found = (
            (self._reasons(node, relaxed), node)
            for mu in ordered(oracle.meaning(relaxed.formula, 0, self.n))
            if sup(mu) == self.C
            for node in islice(derivations(relaxed.formula, mu, 0, self.n, oracle), DERIVATIONS)
            if not _overlaps(node, relaxed)
        )
        return min(found, key=lambda pair: len(pair[0]), default=None)

    def _reasons(self, root: Node, relaxed: Relaxed) -> tuple[Reason, ...]:
        reasons: dict[str, Reason] = {}
        later_rounds = {id(child) for node in nodes(root) for child in node.children if child.formula is node.formula}
        for node in nodes(root):
            for point, formula in relaxed.lost.get(id(node.formula), ()) if id(node) not in later_rounds else ():
                oracle = self.alone if is_local(formula) else self.whole
                if node.valuation not in oracle.meaning(formula, node.i, node.j):
                    place = at_path(self.phi, point.path)
                    message = violation(point, formula, place, node, oracle)
                    reasons.setdefault(message, Reason(point.kind, message, place, node.i, node.j, node.valuation))
        return tuple(reasons.values())


def _overlaps(root: Node, relaxed: Relaxed) -> bool:
    """Whether the two sides of a sequence whose order is free share an event: then the order is not the reason."""
    return any(
        sup(node.children[0].valuation) & sup(node.children[1].valuation)
        for node in nodes(root)
        for point, _ in relaxed.lost.get(id(node.formula), ())
        if point.kind == "order"
    )
