"""Mutants that read a clause of the semantics wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import NONE, SECONDS, Meaning, at, bind, clause, satisfies, sup
from cerify.semantics.cel.syntax import Condition, Formula
from cerify.semantics.events import Event, Stream, Valuation
from cerify.semantics.predicates import Predicate, holds, mentions, satisfied
from proofs_tests.tools.mutants.cel.model import CelMutant, Clause


def spread(mu: Valuation) -> int:
    """How many positions a valuation skips between its first and its last."""
    C = sup(mu)
    return max(C) - min(C) + 1 - len(C) if C else 0


def _any_type(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    return {bind(phi.type, {j})} if isinstance(phi, cel.EventAtom) else None


def _again(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.EventAtom):
        return None
    return (bind(phi.type, {k}) for k in range(i, j + 1) if S[k].type == phi.type)


def _off_by_one(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.ContiguousSeq):
        return None
    pairs = ((mu1, mu2) for k in range(i, j) for mu1 in meaning(phi.left, i, k) for mu2 in meaning(phi.right, k + 1, j))
    return (mu1 | mu2 for mu1, mu2 in pairs if mu1 and mu2 and min(sup(mu2)) - max(sup(mu1)) <= 2)


def _left_first(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    return meaning(phi.left, i, j) or meaning(phi.right, i, j) if isinstance(phi, cel.Or) else None


def _same_events(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.And):
        return None
    found = {sup(mu) for mu in meaning(phi.right, i, j)}
    return (mu for mu in meaning(phi.left, i, j) if sup(mu) in found)


def _disjoint(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.All):
        return None
    apart = cel.All(phi.left, phi.right)
    lefts = [mu for k in range(i, j + 1) for mu in meaning(phi.left, i, k)]
    rights = [mu for k in range(i, j + 1) for mu in meaning(phi.right, i, k)]
    whole = frozenset(clause(apart, S, i, j, meaning))
    return (mu1 | mu2 for mu1 in lefts for mu2 in rights if not sup(mu1) & sup(mu2) and mu1 | mu2 in whole)


def _guarded(intervals: Callable[[int, int], Iterable[tuple[int, int]]]) -> Clause:
    def wrong(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
        if not isinstance(phi, cel.Unless):
            return None
        return NONE if any(meaning(phi.right, a, b) for a, b in intervals(i, j)) else meaning(phi.left, i, j)

    return wrong


def _within_match(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    """UNLESS that looks only between the first and the last event of the match."""
    if not isinstance(phi, cel.Unless):
        return None
    guard = phi.right

    def spoilt(mu: Valuation) -> bool:
        inside = range(min(sup(mu)), max(sup(mu)) + 1) if mu else range(0)
        return any(meaning(guard, a, b) for a in inside for b in inside if a <= b)

    return (mu for mu in meaning(phi.left, i, j) if not spoilt(mu))


def _stream_start(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    return (mu for mu in meaning(phi.phi, i, j) if mu and min(sup(mu)) == 0) if isinstance(phi, cel.Start) else None


def _last_event(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.In):
        return None
    A = phi.variable
    return (mu - at(mu, A) | bind(A, {max(sup(mu))} if mu else ()) for mu in meaning(phi.phi, i, j))


def _nearly_strict(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    return (mu for mu in meaning(phi.phi, i, j) if spread(mu) <= 1) if isinstance(phi, cel.Strict) else None


def _largest(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.Max):
        return None
    mus = meaning(phi.phi, i, j)
    most = max((len(sup(mu)) for mu in mus), default=0)
    return (mu for mu in mus if len(sup(mu)) == most)


def filtering(name: str, every: Callable[[list[bool]], bool]) -> CelMutant:
    """A mutant that takes a filter on the events of a variable for something other than: all satisfy it."""

    def accepted(mu: Valuation, c: Condition, S: Stream) -> bool:
        match c:
            case cel.Every(A, P):
                return every([holds(P, S[p]) for _, p in sorted(at(mu, A))])
            case cel.Correlated(P):
                ranges = [[S[p] for _, p in sorted(at(mu, m.variable))] for m in mentions(P)]
                return every([_across(P, events) for events in product(*ranges)])
            case cel.Conjunction(left, right):
                return accepted(mu, left, S) and accepted(mu, right, S)
            case cel.Disjunction(left, right):
                return accepted(mu, left, S) or accepted(mu, right, S)
        return satisfies(mu, c, S)

    def wrong(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
        if not isinstance(phi, cel.Filter):
            return None
        return (mu for mu in meaning(phi.phi, i, j) if accepted(mu, phi.condition, S))

    return CelMutant(name, kind=cel.Filter, clause=wrong)


def _across(P: Predicate, events: Iterable[Event]) -> bool:
    remaining = iter(list(events))
    return satisfied(P, lambda m: next(remaining).get(m.name))


def _one_for_all_mentions(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    """Two mentions of a variable speak of the same event."""
    if not (isinstance(phi, cel.Filter) and isinstance(c := phi.condition, cel.Correlated)):
        return None
    P, variables = c.predicate, sorted({m.variable or "" for m in mentions(c.predicate)})

    def accepted(mu: Valuation) -> bool:
        choices = product(*([p for _, p in at(mu, A)] for A in variables))
        chosen = (dict(zip(variables, places, strict=True)) for places in choices)
        return all(_across(P, [S[places[m.variable or ""]] for m in mentions(P)]) for places in chosen)

    return (mu for mu in meaning(phi.phi, i, j) if accepted(mu))


def _below(
    kind: type[cel.Within | cel.PartitionBy], phi: Formula, i: int, j: int, meaning: Meaning
) -> Iterable[Valuation] | None:
    return meaning(phi.phi, i, j) if isinstance(phi, kind) else None


def windowing(name: str, fits: Callable[[float, float], bool]) -> CelMutant:
    """A mutant with another comparison of what a match spans and how long the window is."""

    def wrong(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
        match phi:
            case cel.Within(psi, cel.EventWindow(count)):
                return (mu for mu in meaning(psi, i, j) if mu and fits(max(sup(mu)) - min(sup(mu)), count - 1))
            case cel.Within(psi, cel.TimeWindow(amount, unit)):
                return (mu for mu in meaning(psi, i, j) if fits(_span("time", mu, S), amount * SECONDS[unit]))
            case cel.Within(psi, cel.AttributeWindow(width, a)):
                return (mu for mu in meaning(psi, i, j) if fits(_span(a, mu, S), width))
        return None

    return CelMutant(name, kind=cel.Within, clause=wrong)


def _span(a: str, mu: Valuation, S: Stream) -> float:
    values = [S[p].get(a) for p in sup(mu)]
    numbers = [value for value in values if isinstance(value, int | float)]
    return max(numbers) - min(numbers) if numbers and len(numbers) == len(values) else float("inf")


def _side_by_side(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.Within) or not isinstance(phi.window, cel.EventWindow):
        return None
    count = phi.window.count
    return (mu for mu in meaning(phi.phi, i, j) if mu and max(sup(mu)) // count == min(sup(mu)) // count)


def _neighbours_agree(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.PartitionBy):
        return None
    a = phi.attribute
    return (
        mu for mu in meaning(phi.phi, i, j) if all(S[p].get(a) == S[p - 1].get(a) for p in sup(mu) if p - 1 in sup(mu))
    )


def _absent_agree(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation] | None:
    if not isinstance(phi, cel.PartitionBy):
        return None
    return (mu for mu in meaning(phi.phi, i, j) if len({S[p].get(phi.attribute) for p in sup(mu)}) <= 1)


CLAUSES: tuple[CelMutant, ...] = (
    CelMutant("event: of any type", kind=cel.EventAtom, clause=_any_type),
    CelMutant("event: reported again later", kind=cel.EventAtom, clause=_again),
    CelMutant("cseq: off by one", kind=cel.ContiguousSeq, clause=_off_by_one),
    CelMutant("or: the right only where the left fails", kind=cel.Or, clause=_left_first),
    CelMutant("and: the same events suffice", kind=cel.And, clause=_same_events),
    CelMutant("all: no event shared", kind=cel.All, clause=_disjoint),
    CelMutant(
        "unless: the guard over the whole interval only", kind=cel.Unless, clause=_guarded(lambda i, j: [(i, j)])
    ),
    CelMutant(
        "unless: the guard at the end only",
        kind=cel.Unless,
        clause=_guarded(lambda i, j: [(a, j) for a in range(i, j + 1)]),
    ),
    CelMutant(
        "unless: the guard from the start only",
        kind=cel.Unless,
        clause=_guarded(lambda i, j: [(i, b) for b in range(i, j + 1)]),
    ),
    CelMutant("unless: the guard inside the match only", kind=cel.Unless, clause=_within_match),
    CelMutant("start: at the start of the stream", kind=cel.Start, clause=_stream_start),
    CelMutant("in: binds the last event only", kind=cel.In, clause=_last_event),
    CelMutant("strict: off by one", kind=cel.Strict, clause=_nearly_strict),
    CelMutant("max: most events", kind=cel.Max, clause=_largest),
    CelMutant("filter: two mentions, one event", kind=cel.Filter, clause=_one_for_all_mentions),
    windowing("within: one longer", lambda span, width: span <= width + 1),
    windowing("within: open at the end", lambda span, width: span < width),
    CelMutant(
        "within: ignored", kind=cel.Within, clause=lambda phi, S, i, j, meaning: _below(cel.Within, phi, i, j, meaning)
    ),
    CelMutant("within: windows side by side", kind=cel.Within, clause=_side_by_side),
    CelMutant(
        "partition: ignored",
        kind=cel.PartitionBy,
        clause=lambda phi, S, i, j, meaning: _below(cel.PartitionBy, phi, i, j, meaning),
    ),
    CelMutant("partition: neighbours only", kind=cel.PartitionBy, clause=_neighbours_agree),
    CelMutant("partition: absent values agree", kind=cel.PartitionBy, clause=_absent_agree),
    filtering("filter: some event", lambda held: any(held) or not held),
    filtering("filter: some event, and there is one", any),
    filtering("filter: all, and there is one", lambda held: all(held) and bool(held)),
    filtering("filter: the last event", lambda held: not held or held[-1]),
    filtering("filter: the first event", lambda held: not held or held[0]),
)
