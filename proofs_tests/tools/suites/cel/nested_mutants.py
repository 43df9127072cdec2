"""Mutants that are right about an operator at the top of a query or of plain events, and wrong about it elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise, product

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import (
    NONE,
    Meaning,
    Valuations,
    at,
    bind,
    clause,
    last_at_most,
    next_at_most,
    spans_at_most,
    sup,
)
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.events import ComplexEvent, Stream, Valuation
from cerify.semantics.predicates import mentions, satisfied
from cerify.semantics.trees import children, rebuilt
from proofs_tests.tools.mutants.cel.model import CelMutant, Clause
from proofs_tests.tools.mutants.cel.queries import instead, unary

Rivals = Callable[[Formula, int, int, Meaning], Valuations]
Wins = Callable[[ComplexEvent, Iterable[ComplexEvent]], bool]


def on(kind: type[Formula], local: Callable[..., Iterable[Valuation] | None]) -> Clause:
    """A clause that differs for one operator only."""
    return lambda phi, S, i, j, meaning: local(phi, S, i, j, meaning) if isinstance(phi, kind) else None


# --- strategies -------------------------------------------------------------------------------------------------------

WINS: dict[str, tuple[type[Formula], Wins]] = {
    "nxt": (cel.Next, lambda C, others: all(next_at_most(other, C) for other in others)),
    "last": (cel.Last, lambda C, others: all(last_at_most(other, C) for other in others)),
    "max": (cel.Max, lambda C, others: not any(other > C for other in others)),
}


def selecting(name: str, rivals: Rivals) -> Iterable[CelMutant]:
    """Each strategy, comparing with other valuations than those of its interval."""
    for feature, (kind, wins) in WINS.items():

        def local(
            phi: cel.Strategy, S: Stream, i: int, j: int, meaning: Meaning, wins: Wins = wins
        ) -> Iterable[Valuation]:
            others = {sup(mu) for mu in rivals(phi.phi, i, j, meaning)}
            return (mu for mu in meaning(phi.phi, i, j) if wins(sup(mu), others))

        yield CelMutant(f"{feature}: {name}", kind=kind, clause=on(kind, local))


def judged(name: str, kind: type[cel.Strategy], wins: Callable[[ComplexEvent, list[ComplexEvent]], bool]) -> CelMutant:
    """A strategy with another order."""

    def local(phi: cel.Strategy, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
        mus = meaning(phi.phi, i, j)
        supports = [sup(mu) for mu in mus]
        return (mu for mu in mus if wins(sup(mu), supports))

    return CelMutant(name, kind=kind, clause=on(kind, local))


def _any_start(psi: Formula, i: int, j: int, meaning: Meaning) -> Valuations:
    return NONE.union(*(meaning(psi, k, j) for k in range(j + 1)))


def _any_end(psi: Formula, i: int, j: int, meaning: Meaning) -> Valuations:
    return NONE.union(*(meaning(psi, i, k) for k in range(i, j + 1)))


def at_the_top_only(name: str, kind: type[cel.Strategy]) -> CelMutant:
    """A strategy that is ignored inside a formula."""
    drop = instead(lambda psi: psi.phi if isinstance(psi, kind) else None)
    return CelMutant(name, lambda phi: rebuilt(phi, [drop(child) for child in children(phi)]))


def _inside_strict(psi: Formula) -> Formula | None:
    match psi:
        case cel.Seq(left, right):
            return cel.ContiguousSeq(left, right)
        case cel.Plus(below):
            return cel.ContiguousPlus(below)
        case _:
            return None


def below_strategies(name: str, kind: type[cel.Filter | cel.Within | cel.PartitionBy]) -> CelMutant:
    """A condition on the selected matches, taken for one on those to select from."""

    def pushed(phi: Formula) -> Formula | None:
        if isinstance(phi, kind) and isinstance(selected := phi.phi, cel.Next | cel.Last | cel.Max):
            return rebuilt(selected, [rebuilt(phi, children(selected))])
        return None

    return CelMutant(name, instead(pushed))


# --- the other operators ----------------------------------------------------------------------------------------------


def _first_that_fits(phi: cel.Seq, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    for k in range(i, j):
        if mus := meaning(phi.left, i, k):
            first = min((e for e in range(k + 1, len(S)) if meaning(phi.right, k + 1, e)), default=None)
            if first == j:
                yield from (mu1 | mu2 for mu1 in mus for mu2 in meaning(phi.right, k + 1, j))


def _among_its_types(phi: cel.ContiguousSeq, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    types = {psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom)}
    for k in range(i, j):
        for mu1, mu2 in product(meaning(phi.left, i, k), meaning(phi.right, k + 1, j)):
            if mu1 and mu2 and not any(S[p].type in types for p in range(max(sup(mu1)) + 1, min(sup(mu2)))):
                yield mu1 | mu2


def _no_skip_inside(phi: cel.ContiguousSeq, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return (mu for mu in clause(phi, S, i, j, meaning) if max(sup(mu)) == j and min(sup(mu)) == i)


def _last_round_binds(phi: cel.Plus, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    yield from meaning(phi.phi, i, j)
    for k in range(i, j):
        for mu1, mu2 in product(meaning(phi.phi, i, k), meaning(phi, k + 1, j)):
            yield mu2 | frozenset(("", p) for p in sup(mu1))


def _exclusive(phi: cel.Or, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return meaning(phi.left, i, j) ^ meaning(phi.right, i, j)


def _one_interval(phi: cel.All, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, j), meaning(phi.right, i, j)))


def _from_one_start(phi: cel.All, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    for k in range(i, j + 1):
        yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, j), meaning(phi.right, i, k)))
        yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, k), meaning(phi.right, i, j)))


def _side_by_side(phi: cel.All, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    """ALL without a gap between the two: the printed construction of Theorem 6.2."""
    for k in range(i, j + 1):
        for a in range(i, min(k + 2, j + 1)):
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, k), meaning(phi.right, a, j)))
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.right, i, k), meaning(phi.left, a, j)))
    for a in range(i, j + 1):
        for k in range(a, j + 1):
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.left, i, j), meaning(phi.right, a, k)))
            yield from (mu1 | mu2 for mu1, mu2 in product(meaning(phi.right, i, j), meaning(phi.left, a, k)))


def _guarded_from_the_stream_start(phi: cel.Unless, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    inside = ((a, b) for b in range(j + 1) for a in range(b + 1))
    return NONE if any(meaning(phi.right, a, b) for a, b in inside) else meaning(phi.left, i, j)


def _guarded_later(phi: cel.Unless, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    def spoilt(mu: Valuation) -> bool:
        first = min(sup(mu), default=i)
        return any(meaning(phi.right, a, b) for b in range(first, j + 1) for a in range(first, b + 1))

    return (mu for mu in meaning(phi.left, i, j) if not spoilt(mu))


def _projected_empty(phi: cel.Project, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    return (mu for mu in clause(phi, S, i, j, meaning) if mu)


def _still_there(phi: cel.Project, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    """PROJECT that hides variables, and leaves the events in the match."""
    for mu in meaning(phi.phi, i, j):
        kept = frozenset(pair for pair in mu if pair[0] in phi.variables)
        yield kept | frozenset(("", p) for p in sup(mu) - sup(kept))


def _first_bound(phi: cel.In, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    A = phi.variable
    return (mu - at(mu, A) | bind(A, {min(sup(mu))} if mu else ()) for mu in meaning(phi.phi, i, j))


def _kept(phi: cel.In, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    A = phi.variable
    return (mu if at(mu, A) else mu | bind(A, sup(mu)) for mu in meaning(phi.phi, i, j))


def _in_step(phi: cel.Filter, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    """A correlation that compares the first with the first, the second with the second, and so on."""
    if not isinstance(c := phi.condition, cel.Correlated):
        return None
    P = c.predicate

    def accepted(mu: Valuation) -> bool:
        ranges = [[S[p] for _, p in sorted(at(mu, m.variable))] for m in mentions(P)]
        for events in zip(*ranges, strict=False):
            remaining = iter(events)
            if not satisfied(P, lambda m, events=remaining: next(events).get(m.name)):  # type: ignore[misc]
                return False
        return True

    return (mu for mu in meaning(phi.phi, i, j) if accepted(mu))


def _first_and_last(phi: cel.Within, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    def ends(mu: Valuation) -> frozenset[int]:
        return frozenset({min(sup(mu)), max(sup(mu))}) if mu else frozenset()

    return (mu for mu in meaning(phi.phi, i, j) if spans_at_most(phi.window, ends(mu), S))


def _counting_the_match(phi: cel.Within, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(window := phi.window, cel.EventWindow):
        return None
    return (mu for mu in meaning(phi.phi, i, j) if mu and len(sup(mu)) <= window.count)


def _of_the_interval(phi: cel.Within, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    """A window that reaches to the event at which the match is reported."""
    return (mu for mu in meaning(phi.phi, i, j) if mu and spans_at_most(phi.window, sup(mu) | {j}, S))


def _in_seconds(phi: Formula) -> Formula | None:
    match phi:
        case cel.Within(psi, cel.TimeWindow(amount, _)):
            return cel.Within(psi, cel.TimeWindow(amount, "second"))
        case _:
            return None


def _agreeing(pairs: Callable[[list[int], Stream], Iterable[tuple[int, int]]]) -> Clause:
    def local(phi: cel.PartitionBy, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
        def agree(mu: Valuation) -> bool:
            return all(S[p].get(phi.attribute) == S[q].get(phi.attribute) for p, q in pairs(sorted(sup(mu)), S))

        return (mu for mu in meaning(phi.phi, i, j) if agree(mu))

    return on(cel.PartitionBy, local)


NESTED: tuple[CelMutant, ...] = (
    *selecting("compared from every start", _any_start),
    *selecting("compared from the start of the stream", lambda psi, i, j, meaning: meaning(psi, 0, j)),
    next(iter(selecting("compared with earlier ends too", _any_end))),  # in LAST and MAX these never win
    judged("nxt: the other way round", cel.Next, lambda C, others: all(next_at_most(C, other) for other in others)),
    judged("last: the other way round", cel.Last, lambda C, others: all(last_at_most(C, other) for other in others)),
    judged("max: the minimal ones", cel.Max, lambda C, others: not any(other < C for other in others)),
    judged(
        "nxt: the earliest first event", cel.Next, lambda C, o: min(C, default=0) == min(min(D, default=0) for D in o)
    ),
    judged(
        "last: the latest first event", cel.Last, lambda C, o: min(C, default=0) == max(min(D, default=0) for D in o)
    ),
    judged("nxt: the shortest", cel.Next, lambda C, o: len(C) == min(map(len, o))),
    judged("last: the longest", cel.Last, lambda C, o: len(C) == max(map(len, o))),
    at_the_top_only("strict: at the top only", cel.Strict),
    at_the_top_only("nxt: at the top only", cel.Next),
    at_the_top_only("last: at the top only", cel.Last),
    at_the_top_only("max: at the top only", cel.Max),
    unary("strict: ; read as : inside", cel.Strict, instead(_inside_strict)),
    below_strategies("filter: applied below the strategy", cel.Filter),
    below_strategies("within: applied below the strategy", cel.Within),
    below_strategies("partition: applied below the strategy", cel.PartitionBy),
    CelMutant("seq: the first right part that fits", kind=cel.Seq, clause=on(cel.Seq, _first_that_fits)),
    CelMutant("cseq: other types between", kind=cel.ContiguousSeq, clause=on(cel.ContiguousSeq, _among_its_types)),
    CelMutant(
        "cseq: from the start of its interval", kind=cel.ContiguousSeq, clause=on(cel.ContiguousSeq, _no_skip_inside)
    ),
    CelMutant("plus: the last round binds", kind=cel.Plus, clause=on(cel.Plus, _last_round_binds)),
    unary(
        "plus: at most three times",
        cel.Plus,
        lambda phi: cel.Or(cel.Or(phi, cel.Seq(phi, phi)), cel.Seq(phi, cel.Seq(phi, phi))),
    ),
    unary(
        "cplus: at most three times",
        cel.ContiguousPlus,
        lambda phi: cel.Or(
            cel.Or(phi, cel.ContiguousSeq(phi, phi)), cel.ContiguousSeq(phi, cel.ContiguousSeq(phi, phi))
        ),
    ),
    CelMutant("or: exclusive", kind=cel.Or, clause=on(cel.Or, _exclusive)),
    CelMutant("all: one interval for both", kind=cel.All, clause=on(cel.All, _one_interval)),
    CelMutant("all: one start for both", kind=cel.All, clause=on(cel.All, _from_one_start)),
    CelMutant("all: nothing between the two", kind=cel.All, clause=on(cel.All, _side_by_side)),
    CelMutant(
        "unless: from the start of the stream", kind=cel.Unless, clause=on(cel.Unless, _guarded_from_the_stream_start)
    ),
    CelMutant("unless: from the first event of the match", kind=cel.Unless, clause=on(cel.Unless, _guarded_later)),
    CelMutant("project: what is left empty is dropped", kind=cel.Project, clause=on(cel.Project, _projected_empty)),
    CelMutant("project: the events stay", kind=cel.Project, clause=on(cel.Project, _still_there)),
    CelMutant("in: the first event only", kind=cel.In, clause=on(cel.In, _first_bound)),
    CelMutant("in: not if it is bound already", kind=cel.In, clause=on(cel.In, _kept)),
    CelMutant("filter: correlated in step", kind=cel.Filter, clause=on(cel.Filter, _in_step)),
    CelMutant("within: between the first and the last event", kind=cel.Within, clause=on(cel.Within, _first_and_last)),
    CelMutant("within: the events of the match", kind=cel.Within, clause=on(cel.Within, _counting_the_match)),
    CelMutant("within: to where it is reported", kind=cel.Within, clause=on(cel.Within, _of_the_interval)),
    CelMutant("within: every unit a second", instead(_in_seconds)),
    CelMutant(
        "partition: the first and the last agree",
        kind=cel.PartitionBy,
        clause=_agreeing(lambda C, S: [(C[0], C[-1])] if C else []),
    ),
    CelMutant(
        "partition: events of one type agree",
        kind=cel.PartitionBy,
        clause=_agreeing(lambda C, S: ((p, q) for p, q in product(C, C) if S[p].type == S[q].type)),
    ),
    CelMutant(
        "partition: every other event agrees", kind=cel.PartitionBy, clause=_agreeing(lambda C, S: pairwise(C[::2]))
    ),
)
