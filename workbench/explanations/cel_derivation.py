"""Derivations of CEL matches, and the interpreter that finds them, which has limits of its own.

If possible, the interpreter looks only at the events of one match.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeAlias, assert_never

from cerify.explanations.explanation import braces, event, of_window, reasons_for
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import (
    NO_PREDICATES,
    NONE,
    Predicates,
    Valuations,
    interleavings,
    last_at_most,
    next_at_most,
    sup,
)
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import OPERATORS, show, show_window
from cerify.semantics.errors import BudgetExceeded, InternalError
from cerify.semantics.events import ComplexEvent, Event, Stream, Valuation
from cerify.semantics.trees import entry_of, subtrees

ENOUGH = Budget(valuations=500_000)
STEPS = 10_000_000
CHECKED_TOGETHER = 1024  # steps between two looks at the clock; the clause of ALL may take a million without a result

ANY = "?"
"""The variable of an event whose type an explanation leaves free; the text of a formula cannot have this name."""


class BoundedOracle(Interpreter):
    """The denotational interpreter with a limit on how often it evaluates a sub-formula over an interval.

    With this limit, an explanation ends even on a long stream with few matches.
    """

    def __init__(
        self, S: Stream, budget: Budget = ENOUGH, steps: int = STEPS, predicates: Predicates = NO_PREDICATES
    ) -> None:
        super().__init__(S, budget, predicates)
        self._left = steps

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """Return the valuations of phi over the stream from i to j. Raises BudgetExceeded, Unsupported."""
        self._left -= 1
        if self._left % CHECKED_TOGETHER == 0:
            check_time()
        if self._left < 0:
            raise BudgetExceeded(
                f"an explanation evaluates the definition over every interval, and {len(self.S)} events have too many "
                "intervals for this formula; explain a shorter stream"
            )
        return super().meaning(phi, i, j)


class KeyOracle:
    """An interpreter over the events of one key, whose methods take and return positions of the whole stream.

    positions: those of the events of the key. It returns valuations only for intervals that end with one of these
    events; otherwise several intervals would have the same valuations.
    """

    def __init__(self, whole: Interpreter | KeyOracle, positions: tuple[int, ...]) -> None:
        self.whole: Interpreter = whole.whole if isinstance(whole, KeyOracle) else whole
        self.S, self.positions = self.whole.S, positions
        self._known: dict[tuple[int, int, int], Valuations] = {}
        self._alive: list[cel.Formula] = []

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """Return the valuations of phi over the stream from i to j. Raises BudgetExceeded, Unsupported."""
        if (key := (id(phi), i, j)) not in self._known:
            # The table is by identity, and the identity of a formula that is gone could be given to another.
            self._alive.append(phi)
            self._known[key] = self._computed(phi, i, j)
        return self._known[key]

    def _computed(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        l, m = bisect_left(self.positions, i), bisect_left(self.positions, j)
        if l > m or m == len(self.positions) or self.positions[m] != j:
            return NONE
        mus = self.whole.of_part(phi, self.positions, l, m)
        return frozenset(frozenset((A, self.positions[p]) for A, p in mu) for mu in mus)


Asked: TypeAlias = Interpreter | KeyOracle
"""An interpreter of formulas: over the whole stream, or over the events of one key."""


def of_key(oracle: Asked, names: tuple[str, ...], j: int) -> KeyOracle:
    """Return an oracle that sees only the events with the same key as the event at j."""
    C = (oracle.whole if isinstance(oracle, KeyOracle) else oracle).facts.same_key(names, j)
    return KeyOracle(oracle, tuple(p for p in C if not isinstance(oracle, KeyOracle) or p in oracle.positions))


def places(oracle: Asked, i: int, j: int) -> Iterable[int]:
    """Return the positions from i to j - 1; for a KeyOracle, only those of its events."""
    if isinstance(oracle, KeyOracle):
        return oracle.positions[bisect_left(oracle.positions, i) : bisect_left(oracle.positions, j)]
    return range(i, j)


def following(oracle: Asked, p: int) -> int:
    """Return the position after p; for a KeyOracle, the position of its next event."""
    if isinstance(oracle, KeyOracle):
        n = bisect_right(oracle.positions, p)
        return oracle.positions[n] if n < len(oracle.positions) else len(oracle.S)
    return p + 1


def alone(S: Stream, C: ComplexEvent) -> Stream:
    """Return the stream with every event outside C changed to a type that no formula uses; attributes stay."""
    # Attributes stay, because a window or key may look at any event; with the type "" no step can take it.
    return Stream(S[p] if p in C else Event("", S[p].attributes) for p in range(len(S)))


def is_hidden(phi: cel.Formula) -> bool:
    """Return whether phi has PROJECT, so that a valuation may depend on events outside its support."""
    return any(isinstance(node, cel.Project) and node.variables != {ANY} for node in cel.subformulas(phi))


def is_local(phi: cel.Formula) -> bool:
    """Return whether the events of C alone decide whether C is a complex event of phi.

    Other events matter where matches are compared, where something must not occur, and under PROJECT. Looking at C
    alone is much cheaper: a loose formula has few matches within one set, and very many on a stream.
    """
    phi = cel.expanded(phi)
    return not is_hidden(phi) and all(entry_of(LOCAL, node) for node in cel.subformulas(phi))


LOCAL: Mapping[type, bool] = {
    **dict.fromkeys((cel.Preference, cel.Unless), False),
    **dict.fromkeys((cel.EventAtom, cel.In, cel.Restriction, cel.Project, cel.PerKey), True),
    **dict.fromkeys((cel.Sequencing, cel.Iteration, cel.Combination), True),
}
"""For each operator or kind: whether the events of a valuation alone decide that it is one."""


# ---------------------------------------------------------------------------------------------------------------------
# Why a valuation belongs to a formula: its derivation by the clauses of tods21, Figure 3 and section 7.1.
#
# Variables are named as in cerify.semantics.cel.denote. A derivation is built from the root down. The interpreter (the
# oracle) decides: each node's valuation is one that it returns for the node's formula and interval.

FIGURE_3 = "tods21, Figure 3"
STRATEGIES = "tods21, section 7.1"
SUGAR = "tods21, section 4"

_Restriction: TypeAlias = (
    cel.Filter | cel.Start | cel.Unless | cel.Strict | cel.Next | cel.Last | cel.Max | cel.Within | cel.PartitionBy
    | cel.Derived
)  # fmt: skip


_Claim: TypeAlias = tuple[cel.Formula, Valuation, int, int]
"""The claim that a formula has a valuation over the stream from one position to another."""


@dataclass(frozen=True)
class Derivation:
    """A step of a derivation: by this clause, the formula has the valuation over the stream from i to j.

    clause: the name of the clause. citation: its place in a paper. detail: how it was applied, as in "k = 4". evidence:
    facts about the stream on which its side conditions depend. key: if only the events of one key are considered, their
    positions. All positions are those of the whole stream.
    """

    formula: cel.Formula
    i: int
    j: int
    valuation: Valuation
    clause: str
    citation: str
    detail: str = ""
    evidence: tuple[str, ...] = ()
    children: tuple[Derivation, ...] = ()
    key: tuple[int, ...] | None = None


def derivations(phi: cel.Formula, mu: Valuation, i: int, j: int, oracle: Asked) -> Iterator[Derivation]:
    """Yield all derivations of the valuation mu from phi over the stream from i to j; none if phi does not have mu.

    The order is fixed. Raises BudgetExceeded, Unsupported.
    """
    try:
        if mu in oracle.meaning(phi, i, j):
            yield from _derive(phi, mu, i, j, oracle)
    except RecursionError:
        raise BudgetExceeded("the derivation is too deep; explain a shorter stream", phi.span) from None


def nodes(root: Derivation) -> Iterator[Derivation]:
    """Yield all nodes of a derivation, each before its children."""
    return subtrees(root, attrgetter("children"))


def ordered(mus: Iterable[Valuation]) -> list[Valuation]:
    """Sort valuations in an order that is the same in every run."""
    return sorted(mus, key=lambda mu: sorted((p, A) for A, p in mu))


def _derive(phi: cel.Formula, mu: Valuation, i: int, j: int, oracle: Asked) -> Iterator[Derivation]:
    key = oracle.positions if isinstance(oracle, KeyOracle) else None

    def over(detail: str, *operands: _Claim, evidence: tuple[str, ...] = ()) -> Iterator[Derivation]:
        """Yield a step for each combination of derivations of its one or two operands.

        detail: how the clause was applied. evidence: facts on which its side conditions depend.
        """
        title = OPERATORS[type(phi)].title
        for first in _derive(*operands[0], oracle):
            for rest in _derive(*operands[1], oracle) if len(operands) > 1 else [None]:
                children = (first,) if rest is None else (first, rest)
                yield Derivation(phi, i, j, mu, title, FIGURE_3, detail, evidence, children, key)

    if mu not in oracle.meaning(phi, i, j):
        raise InternalError(f"a derivation of {show(phi)} over ({i}, {j}) is not one by the interpreter", phi.span)
    match phi:
        case cel.EventAtom(R):
            fact = event(j, oracle.S)
            yield Derivation(phi, i, j, mu, "event type", FIGURE_3, f"S[{j}] has type {R}", (fact,), key=key)
        case cel.In(psi, A):
            for nu in ordered(oracle.meaning(psi, i, j)):
                if frozenset(pair for pair in nu if pair[0] != A) | {(A, p) for p in sup(nu)} == mu:
                    yield from over(f"{A} binds {braces(sup(nu))}", (psi, nu, i, j))
        case cel.Seq(left, right) | cel.ContiguousSeq(left, right):
            for k, one, two in _splits(phi, mu, i, j, oracle):
                touching = f"the left side ends at {k}, the right side begins at {following(oracle, k)}"
                evidence = (touching,) if isinstance(phi, cel.ContiguousSeq) else ()
                yield from over(f"k = {k}", (left, one, i, k), (right, two, k + 1, j), evidence=evidence)
        case cel.Plus(psi) | cel.ContiguousPlus(psi):
            if mu in oracle.meaning(psi, i, j):
                yield from over("the last round", (psi, mu, i, j))
            for k, one, two in _splits(phi, mu, i, j, oracle):
                yield from over(f"one round up to k = {k}, then more", (psi, one, i, k), (phi, two, k + 1, j))
        case cel.Project(L, psi):
            for nu in ordered(oracle.meaning(psi, i, j)):
                if frozenset(pair for pair in nu if pair[0] in L) == mu:
                    dropped = sup(nu) - sup(mu)
                    yield from over(f"drops the positions {braces(dropped)}" if dropped else "", (psi, nu, i, j))
        case cel.Or(left, right):
            for side, psi in (("left", left), ("right", right)):
                if mu in oracle.meaning(psi, i, j):
                    yield from over(f"by the {side} side", (psi, mu, i, j))
        case cel.And(left, right):
            yield from over("the same valuation on both sides", (left, mu, i, j), (right, mu, i, j))
        case cel.All(left, right):
            for i1, j1, i2, j2 in sorted(interleavings(i, j)):
                for one, two in _parts(mu, oracle.meaning(left, i1, j1), oracle.meaning(right, i2, j2)):
                    where = f"({i1}, {j1}) on the left, ({i2}, {j2}) on the right"
                    yield from over(where, (left, one, i1, j1), (right, two, i2, j2))
        case cel.PerKey():
            yield from _of_key(phi, mu, i, j, oracle)
        case cel.Restriction() | cel.Preference() | cel.Unless() | cel.Derived():
            psi, alone = _unchanged(phi, mu, i, j, oracle)
            for child in _derive(psi, mu, i, j, oracle):
                yield replace(alone, children=(child,), key=key)
        case _:
            assert_never(phi)


def _of_key(phi: cel.PerKey, mu: Valuation, i: int, j: int, oracle: Asked) -> Iterator[Derivation]:
    """Yield a step of PER KEY above each derivation of its operand, over the events with the key of the event at j."""
    inner = of_key(oracle, phi.attributes, j)
    facts = (event(j, oracle.S, phi.attributes), f"the events of this key are {braces(inner.positions)}")
    key, operator = oracle.positions if isinstance(oracle, KeyOracle) else None, OPERATORS[cel.PerKey]
    for child in _derive(phi.phi, mu, i, j, inner):
        yield Derivation(phi, i, j, mu, operator.title, operator.clause, "", facts, (child,), key)


def _unchanged(phi: _Restriction, mu: Valuation, i: int, j: int, oracle: Asked) -> tuple[cel.Formula, Derivation]:
    """Return the operand from which phi takes mu unchanged, and the step of the derivation without its children.

    This is for operators that keep matches of their operand as they are.
    """
    S = oracle.S

    def node(clause: str, of: str, *evidence: str, detail: str = "") -> Derivation:
        return Derivation(phi, i, j, mu, clause, of, detail, evidence)

    match phi:
        case cel.Filter(psi, condition):
            return psi, node("filter", FIGURE_3, *reasons_for(condition, mu, S))
        case cel.Start(psi):
            return psi, node("anchoring", FIGURE_3, detail=f"the first position is i = {i}")
        case cel.Unless(left, right):
            among = " among the events of the key" if isinstance(oracle, KeyOracle) else ""
            fact = f"{show(right)} has no valuation over any interval within ({i}, {j}){among}"
            return left, node("guarded negation", FIGURE_3, fact)
        case cel.Strict(psi):
            span = f"{min(sup(mu))} to {max(sup(mu))}, without a gap" if mu else "nothing, which has no gap"
            return psi, node("STRICT", STRATEGIES, detail=f"the support is {span}")
        case cel.Preference(psi):
            lost = list(_losers(phi, sup(mu), supports(psi, i, j, oracle)))
            detail = f"preferred to {len(lost)} other candidates" if lost else "there was no other candidate"
            return psi, node(OPERATORS[type(phi)].symbol, STRATEGIES, *lost, detail=detail)
        case cel.Within(psi, window):
            return psi, node("window", SUGAR, f"within {show_window(window)}: {of_window(window, mu, S)}")
        case cel.PartitionBy(psi, name):
            return psi, node("partition", SUGAR, *sorted({event(p, S, [name]) for p in sup(mu)}))
        case cel.Derived():
            operator = OPERATORS[type(phi)]
            return phi.expansion, node(operator.title, operator.clause, detail="by its expansion")
        case _:
            assert_never(phi)


def supports(phi: cel.Formula, i: int, j: int, oracle: Asked) -> list[ComplexEvent]:
    """Return the complex events of phi from i to j, in a fixed order."""
    return sorted(set(map(sup, oracle.meaning(phi, i, j))), key=sorted)


def _splits(
    phi: cel.Seq | cel.ContiguousSeq | cel.Plus | cel.ContiguousPlus, mu: Valuation, i: int, j: int, oracle: Asked
) -> Iterator[tuple[int, Valuation, Valuation]]:
    """Yield each position k at which mu can be split, with the valuations of the left and of the right side.

    The right side of an iteration is the iteration itself.
    """
    left, right = (phi.left, phi.right) if isinstance(phi, cel.Seq | cel.ContiguousSeq) else (phi.phi, phi)
    touching = isinstance(phi, cel.ContiguousSeq | cel.ContiguousPlus)
    for k in places(oracle, i, j):
        for one, two in _parts(mu, oracle.meaning(left, i, k), oracle.meaning(right, k + 1, j)):
            meeting = one and two and max(sup(one)) == k and min(sup(two)) == following(oracle, k)
            if not touching or meeting:
                yield k, one, two


def _parts(
    mu: Valuation, lefts: Iterable[Valuation], rights: Iterable[Valuation]
) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs of a left and a right valuation whose union is mu."""
    # Only parts of mu can be joined to mu, and they are few, so the quadratic loop below is short.
    fitting = ordered(nu for nu in rights if nu <= mu)
    for one in ordered(nu for nu in lefts if nu <= mu) if fitting else ():
        for two in fitting:
            if one | two == mu:
                yield one, two


def _losers(phi: cel.Preference, C: ComplexEvent, candidates: Iterable[ComplexEvent]) -> Iterator[str]:
    """Yield a reason for each candidate to which the strategy prefers C."""
    for other in candidates:
        if beats(phi, C, other):
            yield comparison(OPERATORS[type(phi)].symbol, C, other)


def beats(phi: cel.Preference, winner: ComplexEvent, loser: ComplexEvent) -> bool:
    """Return whether a strategy prefers one complex event to another."""
    if isinstance(phi, cel.Max):
        return winner > loser
    at_most = next_at_most if isinstance(phi, cel.Next) else last_at_most
    return winner != loser and at_most(loser, winner)


def comparison(strategy: str, winner: ComplexEvent, loser: ComplexEvent) -> str:
    """Return a sentence that says why MAX, NXT or LAST prefers one complex event to another."""
    preference = f"{strategy} prefers {braces(winner)} to {braces(loser)}"
    if strategy == "MAX":
        return f"{preference}, a subset of it"
    p, which = (min(winner ^ loser), "first") if strategy == "NXT" else (max(winner ^ loser), "last")
    return f"{preference}, because of {p}, the {which} position in which they differ"
