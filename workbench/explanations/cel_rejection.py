"""Derive why a set of positions is a match of a CEL formula, and relax parts of it to find out why one is not.

A relaxation drops a condition, the order of events, or the type of an event, at one place. If the positions are a match
of the relaxed formula, a derivation shows where the original formula fails: each relaxed part is compared with the part
that it replaced.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations, islice, pairwise, product
from operator import attrgetter
from typing import Literal, TypeAlias, assert_never

from cerify.explanations.explanation import (
    braces,
    event,
    format_list,
    of_window,
    positions,
    reasons_against,
    reasons_for,
)
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
    same_key,
    sup,
)
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import OPERATORS, show, show_window
from cerify.semantics.errors import BudgetExceeded, InternalError
from cerify.semantics.events import ComplexEvent, Event, Stream, Valuation
from cerify.semantics.predicates import Both, compare
from cerify.semantics.trees import children, entry_of, rebuilt, subtrees

# ---------------------------------------------------------------------------------------------------------------------
# Derivations of CEL matches, and the interpreter that finds them, which has limits of its own.
#
# If possible, the interpreter looks only at the events of one match.

ENOUGH = Budget(valuations=500_000)
STEPS = 10_000_000
CHECKED_TOGETHER = 1024  # steps between two looks at the clock; the clause of ALL may take a million without a result

ANY = "?"
"""The name of the variable that binds an event of any type in a relaxed formula. No query can have this name."""


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
                f"explaining this formula takes too many steps on a stream of {len(self.S)} events; "
                "explain a shorter stream"
            )
        return super().meaning(phi, i, j)


class KeyOracle:
    """An interpreter over the events of one key, whose methods take and return positions of the whole stream.

    positions: those of the events of the key. It returns valuations only for intervals that end at one of these events,
    so that each valuation belongs to one interval.
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
    """Return whether the events outside a set C of positions never affect whether C is a complex event of phi.

    They do affect it if phi compares matches, forbids something, or has PROJECT. If they do not, only the events of C
    have to be considered. That is much cheaper, because phi has few matches among them and may have very many on a
    stream.
    """
    phi = cel.expanded(phi)
    return not is_hidden(phi) and all(entry_of(LOCAL, node) for node in cel.subformulas(phi))


LOCAL: Mapping[type, bool] = {
    **dict.fromkeys((cel.Preference, cel.Unless), False),
    **dict.fromkeys((cel.EventAtom, cel.In, cel.Restriction, cel.Project, cel.PerKey), True),
    **dict.fromkeys((cel.Sequencing, cel.Iteration, cel.Combination), True),
}
"""For each operator, or class of operators: whether the events of C alone decide whether C is a complex event of it."""


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
"""(phi, mu, i, j): the claim that the formula phi has the valuation mu over the stream from i to j."""


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
        raise InternalError(f"{show(phi)} has no such valuation over ({i}, {j}) by the interpreter", phi.span)
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
    """Return the operand of phi, and the derivation step of phi without its children.

    This is for operators that keep matches of their operand as they are, so mu is also a valuation of the operand.
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


RelaxationKind = Literal[
    "filter", "window", "partition", "strategy", "contiguity", "anchor", "guard", "conjunction", "projection",
    "order", "type",
]  # fmt: skip
LATE: tuple[RelaxationKind, ...] = ("projection", "order", "type")
"""Kinds of requirements that are dropped last, one at a time: without them, the formula is quite another one."""

KINDS: Mapping[type, RelaxationKind] = {
    cel.Within: "window",
    cel.PartitionBy: "partition",
    cel.PerKey: "partition",
    cel.Strict: "strategy",
    cel.Preference: "strategy",
    cel.Start: "anchor",
    cel.Project: "projection",
    cel.ContiguousPlus: "contiguity",
    cel.Seq: "order",
    cel.EventAtom: "type",
}
"""For each operator with one requirement that can be dropped, the kind of this requirement."""

Restore: TypeAlias = Callable[[cel.Formula], cel.Formula]
Path: TypeAlias = tuple[int, ...]

ONE_KEY = "one key"  # begins the names of attributes that are added to give events of several keys one key


@dataclass(frozen=True)
class RelaxationPoint:
    """A place in a formula where a requirement can be dropped, to see whether the positions are then a match.

    path: the numbers of the children on the way from the root to the node. part: the number of the conjunct of a
    filter, or of the operand of AND, whose requirement is dropped.
    """

    path: Path
    kind: RelaxationKind
    part: int = 0


@dataclass(frozen=True)
class Relaxed:
    """A formula with requirements dropped at some points.

    lost: for the id of each node that replaces a part of the original formula, the points where requirements were
    dropped, each with the part that was replaced there.
    """

    formula: cel.Formula
    lost: dict[int, list[tuple[RelaxationPoint, cel.Formula]]]


def points(phi: cel.Formula, path: Path = ()) -> Iterator[RelaxationPoint]:
    """Yield all places in a formula where a requirement can be dropped, outer nodes first.

    The right side of UNLESS has none, since dropping a requirement there would forbid more.
    """
    match phi:
        case cel.Filter(_, condition):
            for part, _ in enumerate(conjuncts(condition)):
                yield RelaxationPoint(path, "filter", part)
        case cel.ContiguousSeq():
            yield from (RelaxationPoint(path, "contiguity"), RelaxationPoint(path, "order"))
        case cel.Unless(left, _):
            yield RelaxationPoint(path, "guard")
            # Relaxing the right side would forbid more, and so never allow a match.
            yield from points(left, (*path, 0))
            return
        case cel.And():
            yield from (RelaxationPoint(path, "conjunction", part) for part in (0, 1))
        case cel.In() | cel.Plus() | cel.Or() | cel.All() | cel.Derived():
            pass
        case cel.Narrowing() | cel.ContiguousPlus() | cel.PerKey() | cel.Project() | cel.Seq() | cel.EventAtom():
            yield RelaxationPoint(path, entry_of(KINDS, phi))
        case _:
            assert_never(phi)
    for number, child in enumerate(children(phi)):
        yield from points(child, (*path, number))


def relax(phi: cel.Formula, chosen: Collection[RelaxationPoint], types: Iterable[str]) -> Relaxed:
    """Return the formula with the chosen points relaxed. An event whose type is relaxed may have any of `types`."""
    return _Relaxing(chosen, tuple(sorted(types))).result(phi)


def at_path(phi: cel.Formula, path: Path) -> cel.Formula:
    """Return the part of a formula to which a path leads. path: at each node from the root on, the index of the next
    child.
    """
    for number in path:
        phi = children(phi)[number]
    return phi


def conjuncts(condition: cel.Condition) -> list[cel.Condition]:
    """Return the conditions joined by AND in a filter, or by `and` in brackets, left to right."""
    if isinstance(condition, cel.Conjunction):
        return conjuncts(condition.left) + conjuncts(condition.right)
    return [*single_tests(condition)] if isinstance(condition, cel.Every) else [condition]


def single_tests(atom: cel.Atom) -> list[cel.Atom]:
    """Return the parts that `and` joins in a test in brackets, each as a test of its own."""
    if isinstance(atom, cel.Every) and isinstance(atom.predicate, Both):
        sides = (atom.predicate.left, atom.predicate.right)
        return [part for one in sides for part in single_tests(cel.Every(atom.variable, one, span=atom.span))]
    return [atom]


class _Relaxing:
    """A builder of one relaxed formula. It makes each node anew, so that the id of a node tells where in the formula it
    is.
    """

    def __init__(self, chosen: Collection[RelaxationPoint], types: tuple[str, ...]) -> None:
        self.chosen = frozenset(chosen)
        self.types = types
        self.lost: dict[int, list[tuple[RelaxationPoint, cel.Formula]]] = {}

    def result(self, phi: cel.Formula) -> Relaxed:
        return Relaxed(self._at(phi, ()), self.lost)

    def _at(self, phi: cel.Formula, path: Path) -> cel.Formula:
        def below(number: int) -> cel.Formula:
            return self._at(children(phi)[number], (*path, number))

        def drop(kind: RelaxationKind, restore: Restore, part: int = 0, child: int = 0) -> cel.Formula | None:
            point = RelaxationPoint(path, kind, part)
            return self._instead(below(child), point, restore) if point in self.chosen else None

        match phi:
            case cel.EventAtom():
                point = RelaxationPoint(path, "type")
                return self._instead(self._any(), point, lambda _: phi) if point in self.chosen else replace(phi)
            case cel.Filter(_, condition):
                return self._filter(below(0), list(enumerate(conjuncts(condition))), path)
            case cel.Restriction() | cel.Preference() | cel.PerKey() | cel.Project():
                dropped = drop(entry_of(KINDS, phi), lambda psi: replace(phi, phi=psi))
                return dropped or replace(phi, phi=below(0))
            case cel.Unless():
                dropped = drop("guard", lambda psi: replace(phi, left=psi))
                return dropped or replace(phi, left=below(0))
            case cel.And():
                return (
                    drop("conjunction", lambda psi: replace(phi, right=psi), part=0, child=1)
                    or drop("conjunction", lambda psi: replace(phi, left=psi), part=1, child=0)
                    or replace(phi, left=below(0), right=below(1))
                )
            case cel.ContiguousPlus():
                rounds = replace(phi, phi=below(0))
                return self._either(rounds, cel.Plus(rounds.phi), RelaxationPoint(path, "contiguity"))
            case cel.Sequencing():
                left, right = below(0), below(1)
                kept: cel.Formula = replace(phi, left=left, right=right)
                if isinstance(phi, cel.ContiguousSeq):
                    kept = self._either(kept, cel.Seq(left, right), RelaxationPoint(path, "contiguity"))
                return self._either(kept, cel.All(left, right), RelaxationPoint(path, "order"))
            case cel.In() | cel.Plus():
                return replace(phi, phi=below(0))
            case cel.Derived():
                return replace(rebuilt(phi, [below(n) for n, _ in enumerate(children(phi))]), span=phi.span)
            case cel.Or() | cel.All():
                return replace(phi, left=below(0), right=below(1))
            case _:
                assert_never(phi)

    def _instead(self, formula: cel.Formula, point: RelaxationPoint, restore: Restore) -> cel.Formula:
        self.lost.setdefault(id(formula), []).append((point, restore(formula)))
        return formula

    def _either(self, kept: cel.Formula, looser: cel.Formula, point: RelaxationPoint) -> cel.Formula:
        return self._instead(looser, point, lambda _: kept) if point in self.chosen else kept

    def _filter(self, psi: cel.Formula, parts: list[tuple[int, cel.Condition]], path: Path) -> cel.Formula:
        dropped = {part for part, _ in parts if RelaxationPoint(path, "filter", part) in self.chosen}
        kept = [condition for part, condition in parts if part not in dropped]
        formula = cel.Filter(psi, reduce(cel.Conjunction, kept)) if kept else psi
        for part, condition in parts:
            if part in dropped:
                restored = cel.Filter(formula, condition, span=condition.span)
                self._instead(formula, RelaxationPoint(path, "filter", part), lambda _, restored=restored: restored)  # type: ignore[misc]
        return formula

    def _any(self) -> cel.Formula:
        """Return a formula for one event of any of `types`, or of any type if there are none.

        The formula has no visible variable.
        """
        if not self.types:
            return cel.EventAtom(ANY)
        each: list[cel.Formula] = [
            # Under a variable that no text can name: the type itself as a variable would satisfy filters on that type.
            cel.Project(frozenset({ANY}), cel.In(cel.EventAtom(name), ANY))
            for name in self.types
        ]
        return reduce(cel.Or, each[1:], each[0])


# ---------------------------------------------------------------------------------------------------------------------
# How the valuation of a derivation violates the original of a relaxed part.


def violation(point: RelaxationPoint, phi: cel.Formula, place: cel.Formula, node: Derivation, oracle: Asked) -> str:
    """Return the reason why phi lacks a valuation that it would have without the requirement at `point`.

    node: the derivation of the valuation by phi without this requirement. place: the part of the query from which phi
    was made; it differs from phi if a requirement inside it was dropped too.
    """
    i, j, mu, S = node.i, node.j, node.valuation, oracle.S
    C = sup(mu)
    match phi:
        case cel.EventAtom(R):
            return f"there is no event of type {R} at {j}: event {j} is of type {S[j].type}"
        case cel.Filter(psi, condition):
            atoms = [part for a in cel.atoms(condition) for part in single_tests(a)]
            broken = [a for a in atoms if mu not in oracle.meaning(cel.Filter(psi, a), i, j)]
            return "; ".join(reasons_against(atom, mu, S) for atom in broken)
        case cel.Within(_, window):
            return f"not within {show_window(window)}: {of_window(window, mu, S)}"
        case cel.PartitionBy(_, name):
            return f"the events differ in [{name}]: {format_list(event(p, S, [name]) for p in sorted(C))}"
        case cel.PerKey(psi, names):
            key_events = braces(same_key(names, j, S))
            alone = f"among the events of its key alone, {key_events}, this is not a match of {show(psi)}"
            return _differing(names, C, j, S) or alone
        case cel.Strict():
            left_out = sorted(set(places(oracle, min(C), max(C))) - C)
            named = format_list(map(str, left_out))
            return f"STRICT requires consecutive events: between {min(C)} and {max(C)}, the match leaves out {named}"
        case cel.Preference():
            winner = next(w for w in supports(phi, i, j, oracle) if beats(phi, w, C))
            return comparison(OPERATORS[type(phi)].symbol, winner, C)
        case cel.Seq() | cel.ContiguousSeq() if point.kind == "order":
            first, second = (show(side) for side in children(place))
            one, two = (braces(sup(child.valuation)) for child in node.children)
            return f"{first} must come before {second}, but they are {one} and {two}"
        case cel.ContiguousSeq():
            return " and ".join(_apart([sup(child.valuation) for child in node.children], ":", oracle))
        case cel.ContiguousPlus():
            return " and ".join(_apart(list(_rounds(node)), ":+", oracle))
        case cel.Start():
            first = f"at {min(C)}" if C else "none"
            return f"START requires the first event at {i}, where the interval begins; it is {first}"
        case cel.Unless(_, right):
            ends = list(places(oracle, i, j + 1))
            widest, others = ((i, b) for b in ends), ((a, b) for b in ends for a in ends if a <= b)
            within = chain(widest, others)  # the widest suffice, except for START, STRICT and the like
            found = next((other for a, b in within for other in supports(right, a, b, oracle)), C)
            # Without attributes that only the search has added.
            own = {p: [name for name in S[p].attributes if not name.startswith(ONE_KEY)] for p in sorted(found)}
            said = ", ".join(event(p, S, names) for p, names in own.items() if names)
            match_ = f"{braces(found)} is a match of it"
            return f"UNLESS forbids {show(right)}, but {match_}" + (f": {said}" if said else "")
        case cel.And(left, right):
            other, side = (left, "left") if point.part == 0 else (right, "right")
            same = C in supports(other, i, j, oracle)
            what = "binds these events to other variables" if same else "does not have these events"
            shown = show(children(place)[point.part])
            return f"AND requires the same valuation on both sides, but the {side} side, {shown}, {what}"
        case cel.Project(L, _):
            dropped = sorted({p for A, p in mu if A not in L} - {p for A, p in mu if A in L})
            return f"PROJECT keeps {', '.join(sorted(L)) or 'no variable'} only, which drops {braces(dropped)}"
        case cel.In() | cel.Plus() | cel.Or() | cel.All() | cel.Seq() | cel.Derived():
            raise InternalError(f"{show(phi)} has nothing to relax", place.span)
        case _:
            assert_never(phi)


def _apart(parts: list[ComplexEvent], symbol: str, oracle: Asked) -> Iterator[str]:
    for one, two in pairwise(parts):
        if not one or not two:
            yield f"one side has no event that could be next to an event of the other side (`{symbol}`)"
        elif following(oracle, max(one)) != min(two):
            among = " among the events of the key" if isinstance(oracle, KeyOracle) else ""
            yield f"events {max(one)} and {min(two)} are not next to each other{among} (`{symbol}`)"


def _rounds(node: Derivation) -> Iterator[ComplexEvent]:
    """Yield the complex events of the rounds of an iteration."""
    while len(node.children) == 2:
        yield sup(node.children[0].valuation)
        node = node.children[1]
    yield sup(node.children[0].valuation)


# ---------------------------------------------------------------------------------------------------------------------
# Why a set of positions is not a match: the clauses that reject it, and the matches nearest to it. All decisions are
# made by the interpreter.

NEAREST = 5  # the most nearest matches that are listed; others may be equally near
PAIRS = 40  # the most points of a formula for which all pairs are tried
DERIVATIONS = 100  # the most derivations of one valuation that are compared
SEARCH = Budget(valuations=300_000)  # the budget for each kind of relaxation
SEARCH_STEPS = 1_000_000  # the most steps for each kind of relaxation


SHOWN = 4  # the most numbers of events that a message lists
KEEPING = cel.In | cel.Narrowing | cel.Unless | cel.PerKey
"""The operators that keep or drop matches of their first operand, but do not change them or their number of events."""


def miscounted(phi: cel.Formula, C: ComplexEvent) -> tuple[cel.Formula, str, str] | None:
    """If phi cannot have as many events as C, return the responsible part, its clause and the message; else None."""
    # Operators that keep the number of events are no reason for it; the message names the part that decides.
    while isinstance(phi, KEEPING):
        phi = children(phi)[0]
    # So far beyond C that the next larger possible number is found too: a round more adds at most all atoms.
    most = len(C) + sum(isinstance(psi, cel.EventAtom) for psi in cel.subformulas(cel.expanded(phi)))
    possible = counts(phi, most)
    if not possible or len(C) in possible:
        return None
    few = len(C) < min(possible)
    how = "too few events" if few else "too many events" if len(C) > max(possible) else "a wrong number of events"
    message = f"{braces(C)} has {how}: {show(phi)} takes {_words(sorted(possible), most, endless(phi))}, not {len(C)}"
    return phi, OPERATORS[type(phi)].title, message


def counts(phi: cel.Formula, most: int) -> frozenset[int]:
    """Return the possible numbers of events of a match of phi, up to `most`, by its operators alone."""
    found: dict[int, frozenset[int]] = {}
    for psi in reversed(list(cel.subformulas(phi))):
        below = [found[id(child)] for child in children(psi)]
        match psi:
            case cel.EventAtom():
                numbers = {1}
            case cel.Sequencing():
                numbers = {a + b for a, b in product(*below)}
            case cel.Iteration():
                numbers = _sums(below[0], most)
            case cel.Or():
                numbers = {*below[0], *below[1]}
            case cel.And():
                numbers = {*below[0]} & below[1]
            case cel.All():  # the two may share events
                numbers = {n for a, b in product(*below) for n in range(max(a, b), a + b + 1)}
            case cel.Project():  # any event may be dropped, also from matches larger than `most`
                numbers = set(range(most + 1 if endless(psi) else max(below[0], default=-1) + 1))
            case cel.In() | cel.Narrowing() | cel.PerKey() | cel.Unless():
                numbers = {*below[0]}
            case cel.Derived():
                numbers = {*counts(psi.expansion, most)}
            case _:
                assert_never(psi)
        found[id(psi)] = frozenset(n for n in numbers if n <= most)
    return found[id(phi)]


def endless(phi: cel.Formula) -> bool:
    """Return whether phi has an iteration, so that it may have matches of any size."""
    return any(isinstance(part, cel.Iteration) for part in cel.subformulas(cel.expanded(phi)))


def _sums(numbers: Iterable[int], most: int) -> set[int]:
    """Return all sums of one or more of the numbers, with repetition, up to `most`."""
    found = set(numbers)
    pending = list(found)
    while pending:
        a = pending.pop()
        new = {a + b for b in numbers if a + b <= most} - found
        found |= new
        pending += new
    return found


def _words(possible: list[int], most: int, more: bool) -> str:
    """Format possible numbers of events for a message, such as "1, 2 or 4 or more".

    more: whether numbers beyond `most` are possible too; the last run of numbers then has no upper end.
    """
    start = most
    while start - 1 in possible:
        start -= 1
    runs_on = more and most in possible and start < most
    listed = [str(n) for n in possible if not runs_on or n < start] + ([f"{start} or more"] if runs_on else [])
    if len(listed) > SHOWN or (more and not runs_on):
        return ", ".join(listed[:SHOWN]) + " and so on"
    return listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " or " + listed[-1]


def misbound(phi: cel.Formula, mu: Valuation, nearest: Valuation) -> Iterator[tuple[cel.Formula, str, str]]:
    """Yield an explanation for each variable that `nearest` binds differently from mu.

    An explanation has the part of the formula that binds the variable, the clause, and the reason.
    """
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
    return (isinstance(psi, cel.In) and psi.variable == A) or (isinstance(psi, cel.EventAtom) and psi.type == A)


@dataclass(frozen=True)
class Reason:
    """A reason why a set of positions is not a match: one clause of the definition that rejects it.

    formula: the part of the query to which the clause belongs. i, j: the first and the last position of the interval.
    valuation: the bindings that the clause rejects and that would satisfy a relaxed clause; None if the reason is not
    about bindings.
    """

    clause: str
    message: str
    formula: cel.Formula
    i: int
    j: int
    valuation: Valuation | None = None


@dataclass(frozen=True)
class Rejection:
    """The reasons why a set of positions is not a match at n.

    reasons: clauses of the formula that together reject the set; empty if none were found. relaxed: the derivation of
    the set by the formula without these clauses, if there is one. nearest: the matches at n that differ in the fewest
    positions; None if not all matches could be found. gave_up: whether the search for reasons ran out of budget.
    bindings: if the set is a match but does not have the requested valuation, its nearest valuations.
    """

    reasons: tuple[Reason, ...]
    relaxed: Derivation | None
    nearest: tuple[ComplexEvent, ...] | None
    gave_up: bool = False
    bindings: tuple[Valuation, ...] = ()


def reject(phi: cel.Formula, C: ComplexEvent, n: int, S: Stream, predicates: Predicates = NO_PREDICATES) -> Rejection:
    """Explain why C is not a complex event of phi at n; C must not be one. Raises Unsupported, BudgetExceeded."""
    nearest = _nearest(phi, C, n, BoundedOracle(S, predicates=predicates))
    last = max(C, default=n)

    def position(message: str) -> Reason:
        return Reason("position", message, phi, 0, n)

    if last > n:
        late = position(f"event {last} comes after position {n}, at which the match would be reported")
        return Rejection((late,), None, nearest)
    if last < n and is_match(phi, C, last, oracle_for(phi, C, S, predicates)):
        early = position(f"{braces(C)} is a match at {last}, where its last event is, but not at {n}")
        return Rejection((early,), None, nearest)
    known, of_one, T = ((), phi, S) if is_local(phi) else _with_one_key(phi, C, n, S)
    if known and last == n and is_match(of_one, C, n, oracle_for(of_one, C, T, predicates)):
        return Rejection(known, None, nearest)
    gave_up = False
    shapes = {phi: of_one, cel.expanded(phi): cel.expanded(of_one)}
    # As written first, so that reasons name the user's own operators; the expansion is a second chance.
    for at, (shown, psi) in product(dict.fromkeys((n, last)), shapes.items()):
        search = _Search(psi, C, at, T, predicates, shown)
        if found := search.smallest():
            reasons, relaxed = found
            moved = position(f"a match of {braces(C)} would be reported at {at}, where its last event is, not at {n}")
            reasons = (*known, *reasons) if at == n else (moved, *known, *reasons)
            return Rejection(reasons, None if known else relaxed, nearest)
        gave_up |= search.gave_up
    if found_count := miscounted(phi, C):
        place, clause, message = found_count
        return Rejection((*known, Reason(clause, message, place, 0, n)), None, nearest)
    return Rejection(known, None, nearest, gave_up)


def _with_one_key(
    phi: cel.Formula, C: ComplexEvent, n: int, S: Stream
) -> tuple[tuple[Reason, ...], cel.Formula, Stream]:
    """Return the reasons why C has several keys, and phi and S changed so that C has one key.

    If the events of C have several keys for a PER KEY around whole matches, this PER KEY gets a new attribute, which
    has the same value in all events with one of these keys. Further reasons are then searched among these events only.
    Among all events, UNLESS and the strategies would reject nearly every set.
    """
    reasons: list[Reason] = []
    positions_of: dict[str, frozenset[int]] = {}

    def joined(psi: cel.Formula) -> cel.Formula:
        if not isinstance(psi, KEEPING):
            return psi
        below = [joined(children(psi)[0]), *children(psi)[1:]]
        if not isinstance(psi, cel.PerKey) or not (message := _differing(psi.attributes, C, n, S)):
            return replace(rebuilt(psi, below), span=psi.span)
        reasons.append(Reason("partition", message, psi, 0, n))
        found: frozenset[int] = frozenset()
        for p in sorted(C | {n}):
            found |= {p}.union(same_key(psi.attributes, p, S)) if p not in found else found
        positions_of[name := f"{ONE_KEY} {len(positions_of)}"] = found
        return cel.PerKey(below[0], (name,), span=psi.span)

    of_one = joined(phi)
    if not reasons:
        return (), phi, S
    events = (
        Event(e.type, {**e.attributes, **{name: True for name, found in positions_of.items() if p in found}})
        for p, e in enumerate(S)
    )
    return tuple(reasons), of_one, Stream(events)


def _differing(names: Sequence[str], C: ComplexEvent, n: int, S: Stream) -> str | None:
    """Return a sentence that says that the positions in C, and n, have several keys; None if they have one key."""
    if all(compare("=", S[p].get(a), S[n].get(a)) for p in C for a in names):
        return None
    keys = format_list(event(p, S, names) for p in sorted(C | {n}))
    return f"the events are not of one key [{', '.join(names)}]: {keys}"


def reject_binding(phi: cel.Formula, mu: Valuation, known: Sequence[Valuation], n: int) -> Rejection:
    """Explain why mu is not among the valuations of phi at n.

    known: the valuations of phi at n with the same positions; at least one.
    """
    distance = min(len(mu ^ nu) for nu in known)
    nearest = tuple(nu for nu in known if len(mu ^ nu) == distance)[:NEAREST]
    reasons = (Reason(clause, why, place, 0, n) for place, clause, why in misbound(phi, mu, nearest[0]))
    return Rejection(tuple(reasons), None, (sup(mu),), bindings=nearest)


def oracle_for(phi: cel.Formula, C: ComplexEvent, S: Stream, predicates: Predicates = NO_PREDICATES) -> BoundedOracle:
    """Return an oracle that can decide whether C is a complex event of phi over S."""
    return BoundedOracle(alone(S, C) if is_local(phi) else S, predicates=predicates)


def is_match(phi: cel.Formula, C: ComplexEvent, n: int, oracle: BoundedOracle) -> bool:
    """Return whether C is a complex event of phi at n."""
    return any(sup(mu) == C for mu in oracle.meaning(phi, 0, n))


def _nearest(phi: cel.Formula, C: ComplexEvent, n: int, oracle: BoundedOracle) -> tuple[ComplexEvent, ...] | None:
    try:
        candidates = supports(phi, 0, n, oracle)
    except BudgetExceeded:
        return None
    distance = min((len(C ^ other) for other in candidates), default=0)
    return tuple(other for other in candidates if len(C ^ other) == distance)[:NEAREST]


class _Search:
    """A search for the smallest relaxation of a formula that has C as a match."""

    def __init__(
        self, phi: cel.Formula, C: ComplexEvent, n: int, S: Stream, predicates: Predicates, shown: cel.Formula
    ) -> None:
        """Prepare the search. shown: phi as the user wrote it, with the same shape."""
        self.phi, self.C, self.n, self.S, self.predicates, self.shown = phi, C, n, S, predicates, shown
        self.types = {S[p].type for p in C}
        self.gave_up, self.steps, self.own = False, SEARCH_STEPS, alone(S, C)
        self._renew()

    def _renew(self) -> None:
        self.alone = BoundedOracle(self.own, SEARCH, self.steps, self.predicates)
        self.whole = BoundedOracle(self.S, SEARCH, self.steps, self.predicates)
        # Half as much after each time that it was used up, so that the search ends within about twice these steps.
        self.steps = self.steps // 2 + 1

    def smallest(self) -> tuple[tuple[Reason, ...], Derivation] | None:
        """Return the reasons of the smallest relaxation found, and the derivation of C under it; None if no relaxation
        is found.
        """
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

    def _within(self, level: Sequence[RelaxationPoint]) -> tuple[tuple[Reason, ...], Derivation] | None:
        # If even with all points of the level dropped C is no match, no smaller choice of them can make it one.
        if not self._matches(level):
            return None
        chosen = next(self._few(level), None) or self._minimal(level)
        return self._explained(relax(self.phi, chosen, self.types))

    def _few(self, level: Sequence[RelaxationPoint]) -> Iterator[Sequence[RelaxationPoint]]:
        for size in (1, 2) if len(level) <= PAIRS else (1,):
            for chosen in combinations(level, size):
                try:
                    if self._matches(chosen):
                        yield chosen
                except BudgetExceeded:  # for example without PER KEY, where UNLESS sees all events; try the next one
                    self._renew()

    def _minimal(self, chosen: Sequence[RelaxationPoint]) -> Sequence[RelaxationPoint]:
        """Return a subset of the chosen points that suffices and from which no point can be left out.

        Points of projection, order and type are left out first.
        """
        for point in sorted(chosen, key=lambda p: (p.kind not in LATE, -len(p.path))):
            fewer = [other for other in chosen if other != point]
            if self._matches(fewer):
                chosen = fewer
        return chosen

    def _matches(self, chosen: Sequence[RelaxationPoint]) -> bool:
        phi = relax(self.phi, chosen, self.types).formula
        if not is_hidden(phi) and not is_match(phi, self.C, self.n, self.alone):
            return False
        return is_local(phi) or is_match(phi, self.C, self.n, self.whole)

    def _explained(self, relaxed: Relaxed) -> tuple[tuple[Reason, ...], Derivation] | None:
        """Return the reasons why C is rejected, and the derivation of C from the relaxed formula that violates the
        fewest clauses.
        """
        oracle = self.alone if is_local(relaxed.formula) else self.whole
        found = (
            (self._reasons(node, relaxed), node)
            for mu in ordered(oracle.meaning(relaxed.formula, 0, self.n))
            if sup(mu) == self.C
            for node in islice(derivations(relaxed.formula, mu, 0, self.n, oracle), DERIVATIONS)
            if not _overlaps(node, relaxed)
        )
        return min(found, key=lambda pair: len(pair[0]), default=None)

    def _reasons(self, root: Derivation, relaxed: Relaxed) -> tuple[Reason, ...]:
        reasons: dict[str, Reason] = {}
        later_rounds = {id(child) for node in nodes(root) for child in node.children if child.formula is node.formula}
        for node in nodes(root):
            for point, formula in relaxed.lost.get(id(node.formula), ()) if id(node) not in later_rounds else ():
                oracle: Asked = self.alone if is_local(formula) else self.whole
                oracle = oracle if node.key is None else KeyOracle(oracle, node.key)
                if node.valuation not in oracle.meaning(formula, node.i, node.j):
                    place = at_path(self.shown, point.path)
                    message = violation(point, formula, place, node, oracle)
                    reasons.setdefault(message, Reason(point.kind, message, place, node.i, node.j, node.valuation))
        return tuple(reasons.values())


def _overlaps(root: Derivation, relaxed: Relaxed) -> bool:
    """Return whether two sides whose order is relaxed share an event; then the order is not the reason."""
    return any(
        sup(node.children[0].valuation) & sup(node.children[1].valuation)
        for node in nodes(root)
        for point, _ in relaxed.lost.get(id(node.formula), ())
        if point.kind == "order"
    )
