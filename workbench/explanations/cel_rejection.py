"""Relax parts of a formula to find out why a set of positions is not a match.

A relaxation drops a condition, the order of events, or the type of an event, at one place. If the positions are a match
of the relaxed formula, a derivation shows where the original formula fails: each relaxed part is compared with the part
that it replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations, islice, pairwise, product
from typing import Literal, TypeAlias, assert_never

from cerify.explanations.cel_derivation import (
    ANY,
    Asked,
    BoundedOracle,
    Derivation,
    KeyOracle,
    alone,
    beats,
    comparison,
    derivations,
    following,
    is_hidden,
    is_local,
    nodes,
    ordered,
    places,
    supports,
)
from cerify.explanations.explanation import braces, event, format_list, of_window, positions, reasons_against
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import NO_PREDICATES, Predicates, same_key, sup
from cerify.semantics.cel.syntax import OPERATORS, show, show_window
from cerify.semantics.errors import BudgetExceeded, InternalError
from cerify.semantics.events import ComplexEvent, Event, Stream, Valuation
from cerify.semantics.predicates import Both, compare
from cerify.semantics.trees import children, entry_of, rebuilt

RelaxationKind = Literal[
    "filter", "window", "partition", "strategy", "contiguity", "anchor", "guard", "conjunction", "projection",
    "order", "type",
]  # fmt: skip
LATE: tuple[RelaxationKind, ...] = ("projection", "order", "type")
"""Kinds that are relaxed last, one at a time, because without them the formula describes quite different events."""

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
"""The kind of relaxation for each operator that has only one."""

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

    lost: for the id of each node that replaces others, the points, and the formulas that it replaces.
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
    """Return the part of a formula at a path of numbers of children."""
    for number in path:
        phi = children(phi)[number]
    return phi


def conjuncts(condition: cel.Condition) -> list[cel.Condition]:
    """Return the conditions joined by AND in a filter, or by `and` in brackets, left to right."""
    if isinstance(condition, cel.Conjunction):
        return conjuncts(condition.left) + conjuncts(condition.right)
    return [*single_tests(condition)] if isinstance(condition, cel.Every) else [condition]


def single_tests(atom: cel.Atom) -> list[cel.Atom]:
    """Return the tests joined by `and` in brackets."""
    if isinstance(atom, cel.Every) and isinstance(atom.predicate, Both):
        sides = (atom.predicate.left, atom.predicate.right)
        return [part for one in sides for part in single_tests(cel.Every(atom.variable, one, span=atom.span))]
    return [atom]


class _Relaxing:
    """A builder of one relaxed formula. Every node of the result is a new object, so that its id tells its place."""

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
    """Return the reason why phi does not have the node's valuation. The node's formula is phi with the point relaxed.

    place: the part of the query from which phi was made. It differs from phi if a part below it is also relaxed.
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

    Each PER KEY around whole matches for which the events of C have several keys gets a new attribute instead, which
    all events with these keys share. Further reasons are then searched among these events only: among all events,
    UNLESS and the strategies would reject nearly every set.
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

    known: the valuations with the same positions, at least one.
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
        """Return a part of the chosen points that suffices and of which each is needed.

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
        """Return the derivation of C that violates the fewest clauses, and its reasons, which come first."""
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
