"""What a mutant of CEL is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TypeAlias

from cerify.automata.evaluator import Output
from cerify.equivalence.rewrite.trees import same
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import (
    NONE,
    SECONDS,
    Meaning,
    Valuations,
    at,
    bind,
    clause,
    first,
    last,
    satisfies,
    sup,
)
from cerify.semantics.cel.syntax import Condition, ContiguousRepeat, Formula, Repeat, subformulas
from cerify.semantics.events import Event, Match, Stream, Valuation, bindings_of
from cerify.semantics.predicates import (
    Arithmetic,
    Both,
    Comparison,
    Either,
    InRange,
    Like,
    Not,
    OneOf,
    Predicate,
    Term,
    holds,
    mentions,
    satisfied,
)
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.mutant import Mutant, drawn

_drawn = drawn("cel")

# ---- model ----
#

Clause: TypeAlias = Callable[[Formula, Stream, int, int, Meaning], Iterable[Valuation] | None]
Reported: TypeAlias = frozenset[tuple[int, Valuation]]
"""What is reported over a whole stream: pairs of a position and a valuation."""


@dataclass(frozen=True)
class CelMutant(Mutant):
    """Another query is evaluated, over other events, an operator has another clause, or the answer is changed.

    kind: the operator whose clause is another.
    """

    asked: Callable[[Formula], Formula] = same
    events: Callable[[Event], Event] = same
    kind: type[Formula] | None = None
    clause: Clause = lambda phi, S, i, j, meaning: None
    reported: Callable[[Reported], Reported] = same

    def matches(self, query: Formula, S: Stream, output: Output = "matches") -> frozenset[Match]:
        """The matches, with bindings where these are wanted."""
        phi, S = self.asked(query), Stream(map(self.events, S), S.schema)
        known: dict[tuple[int, int, int], Valuations] = {}

        def meaning(psi: Formula, i: int, j: int) -> Valuations:
            key = (id(psi), i, j)
            if key not in known:
                mus = self.clause(psi, S, i, j, meaning)
                known[key] = frozenset(clause(psi, S, i, j, meaning) if mus is None else mus)
            return known[key]

        found = self.reported(frozenset((n, mu) for n in range(len(S)) for mu in meaning(phi, 0, n)))
        with_bindings = output == "valuations"
        return frozenset(
            Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if with_bindings else None) for n, mu in found
        )

    def concerns(self, query: Formula, S: Stream) -> bool:
        """Whether it changes the query, one of the events, the clause of an operator in the query, or the answer."""
        if self.kind is not None:
            return any(isinstance(psi, self.kind) for psi in subformulas(query))
        if self.asked is not same:
            return self.asked(query) != query
        if self.events is not same:
            return any(self.events(event) != event for event in S)
        return True


# ---- queries ----
# Mutants that ask another query: an operator, a condition or a predicate taken for another.


def instead(local: Callable[[Formula], Formula | None]) -> Callable[[Formula], Formula]:
    """The formula with every node for which local gives something replaced by that, from the leaves up."""

    def replaced(phi: Formula) -> Formula:
        phi = rebuilt(phi, [replaced(child) for child in children(phi)])
        return local(phi) or phi

    return replaced


def binary(name: str, kind: type[Formula], other: Callable[[Formula, Formula], Formula]) -> CelMutant:
    """A mutant that takes one operator on two formulas for another."""
    return CelMutant(name, instead(lambda phi: other(*children(phi)) if isinstance(phi, kind) else None))


def unary(name: str, kind: type[Formula], other: Callable[[Formula], Formula]) -> CelMutant:
    """A mutant that takes one operator on one formula for another."""
    return CelMutant(name, instead(lambda phi: other(children(phi)[0]) if isinstance(phi, kind) else None))


def conditions(name: str, local: Callable[[Condition], Condition | None]) -> CelMutant:
    """A mutant that takes the conditions of filters, or parts of them, for others."""

    def condition(c: Condition) -> Condition:
        if isinstance(c, cel.Conjunction | cel.Disjunction):
            c = type(c)(condition(c.left), condition(c.right))
        return local(c) or c

    def formula(phi: Formula) -> Formula | None:
        return cel.Filter(phi.phi, condition(phi.condition)) if isinstance(phi, cel.Filter) else None

    return CelMutant(name, instead(formula))


def comparing(name: str, local: Callable[[Predicate], Predicate | None]) -> CelMutant:
    """A mutant that takes predicates, or parts of them, for others."""

    def predicate(P: Predicate) -> Predicate:
        match P:
            case Both(left, right) | Either(left, right):
                P = type(P)(predicate(left), predicate(right))
            case Not(inner):
                P = Not(predicate(inner))
        return local(P) or P

    def condition(c: Condition) -> Condition | None:
        match c:
            case cel.Every(A, P):
                return cel.Every(A, predicate(P))
            case cel.Correlated(P):
                return cel.Correlated(predicate(P))
        return None

    return conditions(name, condition)


def comparator(wrong: str, right: str) -> CelMutant:
    """A mutant that takes one comparator for another."""
    return comparing(
        f"filter: {right} taken for {wrong}",
        lambda P: Comparison(wrong, P.left, P.right) if isinstance(P, Comparison) and P.comparator == right else None,  # type: ignore[arg-type]
    )


def arithmetic(wrong: str, right: str) -> CelMutant:
    """A mutant that takes one operation on numbers for another."""

    def term(t: Term) -> Term:
        if not isinstance(t, Arithmetic):
            return t
        return Arithmetic(wrong if t.operator == right else t.operator, term(t.left), term(t.right))  # type: ignore[arg-type]

    return comparing(
        f"filter: {right} taken for {wrong}",
        lambda P: Comparison(P.comparator, term(P.left), term(P.right)) if isinstance(P, Comparison) else None,
    )


def reordered(left: Formula, right: Formula) -> Formula:
    """The two in either order."""
    return cel.Or(cel.Seq(left, right), cel.Seq(right, left))


QUERIES: tuple[Mutant, ...] = (
    binary("seq: contiguous", cel.Seq, cel.ContiguousSeq),
    binary("seq: in any order", cel.Seq, reordered),
    binary("seq: the other way round", cel.Seq, lambda left, right: cel.Seq(right, left)),
    binary("seq: taken for OR", cel.Seq, cel.Or),
    binary("seq: taken for ALL", cel.Seq, cel.All),
    binary("cseq: taken for ;", cel.ContiguousSeq, cel.Seq),
    binary("cseq: taken for STRICT", cel.ContiguousSeq, lambda left, right: cel.Strict(cel.Seq(left, right))),
    binary("cseq: the other way round", cel.ContiguousSeq, lambda left, right: cel.ContiguousSeq(right, left)),
    binary("or: left only", cel.Or, lambda left, right: left),
    binary("or: right only", cel.Or, lambda left, right: right),
    binary("or: taken for ALL", cel.Or, cel.All),
    binary("or: taken for AND", cel.Or, cel.And),
    binary("and: taken for OR", cel.And, cel.Or),
    binary("and: taken for ALL", cel.And, cel.All),
    binary("and: left only", cel.And, lambda left, right: left),
    binary("and: right only", cel.And, lambda left, right: right),
    binary("all: one after the other", cel.All, reordered),
    binary("all: taken for ;", cel.All, cel.Seq),
    binary("all: taken for AND", cel.All, cel.And),
    binary("all: taken for OR", cel.All, cel.Or),
    _drawn("unless: the guard ignored", "negation=ignored"),
    binary("unless: the other way round", cel.Unless, lambda left, right: cel.Unless(right, left)),
    unary("plus: once", cel.Plus, lambda phi: phi),
    unary("plus: at most twice", cel.Plus, lambda phi: cel.Or(phi, cel.Seq(phi, phi))),
    unary("plus: at least twice", cel.Plus, lambda phi: cel.Seq(phi, cel.Plus(phi))),
    unary("plus: contiguous", cel.Plus, cel.ContiguousPlus),
    unary("plus: greedy", cel.Plus, lambda phi: cel.Max(cel.Plus(phi))),
    unary("plus: the latest", cel.Plus, lambda phi: cel.Last(cel.Plus(phi))),
    _drawn("cplus: once", "loop@cplus=single"),
    unary("cplus: at most twice", cel.ContiguousPlus, lambda phi: cel.Or(phi, cel.ContiguousSeq(phi, phi))),
    unary("cplus: at least twice", cel.ContiguousPlus, lambda phi: cel.ContiguousSeq(phi, cel.ContiguousPlus(phi))),
    _drawn("cplus: taken for +", "loop@cplus=all"),
    unary("cplus: taken for STRICT", cel.ContiguousPlus, lambda phi: cel.Strict(cel.Plus(phi))),
    unary("cplus: greedy", cel.ContiguousPlus, lambda phi: cel.Max(cel.ContiguousPlus(phi))),
    unary("in: ignored", cel.In, lambda phi: phi),
    CelMutant(
        "in: other variables forgotten",
        instead(lambda phi: cel.Project(frozenset({phi.variable}), phi) if isinstance(phi, cel.In) else None),
    ),
    _drawn("filter: ignored", "filter=ignored"),
    _drawn("project: ignored", "project=ignored"),
    unary("project: to nothing", cel.Project, lambda phi: cel.Project(frozenset(), phi)),
    _drawn("start: ignored", "start=ignored"),
    _drawn("strict: ignored", "selection@strict=ignored"),
    unary("strict: the longest", cel.Strict, lambda phi: cel.Max(cel.Strict(phi))),
    _drawn("nxt: ignored", "selection@nxt=ignored"),
    _drawn("nxt: taken for LAST", "selection@nxt=last"),
    _drawn("nxt: taken for MAX", "selection@nxt=max"),
    _drawn("nxt: taken for STRICT", "selection@nxt=strict"),
    _drawn("last: ignored", "selection@last=ignored"),
    _drawn("last: taken for NXT", "selection@last=nxt"),
    _drawn("last: taken for MAX", "selection@last=max"),
    _drawn("max: ignored", "selection@max=ignored"),
    _drawn("max: taken for NXT", "selection@max=nxt"),
    _drawn("max: taken for LAST", "selection@max=last"),
    comparator("<=", "<"),
    comparator("<", "<="),
    comparator(">=", ">"),
    comparator(">", ">="),
    comparator("<", ">"),
    comparator(">", "<"),
    comparator(">=", "="),
    comparator("<=", "="),
    comparator(">", "!="),
    comparator("<", "!="),
    arithmetic("-", "+"),
    arithmetic("+", "-"),
    arithmetic("+", "*"),
    arithmetic("*", "/"),
    comparing(
        "filter: in with the first value only",
        lambda P: OneOf(P.term, P.values[:1]) if isinstance(P, OneOf) else None,
    ),
    comparing(
        "filter: in with the last value only",
        lambda P: OneOf(P.term, P.values[-1:]) if isinstance(P, OneOf) else None,
    ),
    comparing(
        "filter: range open below",
        lambda P: Both(P, Not(OneOf(P.term, (P.low,)))) if isinstance(P, InRange) else None,
    ),
    comparing(
        "filter: range open above",
        lambda P: Both(P, Not(OneOf(P.term, (P.high,)))) if isinstance(P, InRange) else None,
    ),
    comparing(
        "filter: like at the beginning",
        lambda P: Like(P.term, f"(?:{P.pattern}).*") if isinstance(P, Like) else None,
    ),
    comparing("filter: like at the end", lambda P: Like(P.term, f".*(?:{P.pattern})") if isinstance(P, Like) else None),
    comparing("filter: like in any case", lambda P: Like(P.term, f"(?i){P.pattern}") if isinstance(P, Like) else None),
    comparing("filter: not ignored", lambda P: P.predicate if isinstance(P, Not) else None),
    comparing("filter: and taken for or", lambda P: Either(P.left, P.right) if isinstance(P, Both) else None),
    comparing("filter: or taken for and", lambda P: Both(P.left, P.right) if isinstance(P, Either) else None),
    comparing(
        "filter: != true of an absent attribute",
        lambda P: Not(Comparison("=", P.left, P.right)) if isinstance(P, Comparison) and P.comparator == "!=" else None,
    ),
    comparing(
        "filter: not false of an absent attribute",
        lambda P: Both(P, Comparison("=", next(mentions(P)), next(mentions(P)))) if isinstance(P, Not) else None,
    ),
    conditions(
        "filter: AND taken for OR",
        lambda c: cel.Disjunction(c.left, c.right) if isinstance(c, cel.Conjunction) else None,
    ),
    conditions(
        "filter: OR taken for AND",
        lambda c: cel.Conjunction(c.left, c.right) if isinstance(c, cel.Disjunction) else None,
    ),
    conditions("filter: the left of OR only", lambda c: c.left if isinstance(c, cel.Disjunction) else None),
    conditions("filter: the left of AND only", lambda c: c.left if isinstance(c, cel.Conjunction) else None),
    conditions(
        "filter: OR for each event on its own",
        lambda c: (
            cel.Every(c.left.variable, Either(c.left.predicate, c.right.predicate))
            if isinstance(c, cel.Disjunction)
            and isinstance(c.left, cel.Every)
            and isinstance(c.right, cel.Every)
            and c.left.variable == c.right.variable
            else None
        ),
    ),
)


# ---- clauses ----
# Mutants that read a clause of the semantics wrongly.


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


CLAUSES: tuple[Mutant, ...] = (
    CelMutant("event: of any type", kind=cel.EventAtom, clause=_any_type),
    CelMutant("event: reported again later", kind=cel.EventAtom, clause=_again),
    CelMutant("cseq: off by one", kind=cel.ContiguousSeq, clause=_off_by_one),
    CelMutant("or: the right only where the left fails", kind=cel.Or, clause=_left_first),
    _drawn("and: the same events suffice", "and=events"),
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
    _drawn("start: at the start of the stream", "start=stream"),
    _drawn("in: binds the last event only", "in=last"),
    CelMutant("strict: off by one", kind=cel.Strict, clause=_nearly_strict),
    CelMutant("max: most events", kind=cel.Max, clause=_largest),
    CelMutant("filter: two mentions, one event", kind=cel.Filter, clause=_one_for_all_mentions),
    windowing("within: one longer", lambda span, width: span <= width + 1),
    windowing("within: open at the end", lambda span, width: span < width),
    CelMutant(
        "within: ignored", kind=cel.Within, clause=lambda phi, S, i, j, meaning: _below(cel.Within, phi, i, j, meaning)
    ),
    CelMutant("within: windows side by side", kind=cel.Within, clause=_side_by_side),
    _drawn("partition: ignored", "partition=ignored"),
    CelMutant("partition: neighbours only", kind=cel.PartitionBy, clause=_neighbours_agree),
    CelMutant("partition: absent values agree", kind=cel.PartitionBy, clause=_absent_agree),
    _drawn("filter: some event", "filter-loop=some"),
    filtering("filter: some event, and there is one", any),
    _drawn("filter: all, and there is one", "unbound=false"),
    _drawn("filter: the last event", "filter-loop=last"),
    _drawn("filter: the first event", "filter-loop=first"),
)


# ---- answers ----
# Mutants that read other events than there are, or report something else than they found.


def on_values(name: str, change: Callable[[Value], Value]) -> CelMutant:
    """A mutant that reads attribute values as others."""
    return CelMutant(name, events=lambda event: Event(event.type, {a: change(v) for a, v in event.attributes.items()}))


def _bounded(reported: Reported, kept: Callable[[frozenset[int], list[frozenset[int]]], bool]) -> Reported:
    at_once = {n: [sup(mu) for m, mu in reported if m == n] for n, _ in reported}
    return frozenset((n, mu) for n, mu in reported if kept(sup(mu), at_once[n]))


def _not_overlapping(reported: Reported) -> Reported:
    used: set[int] = set()
    result = set()
    for n, mu in sorted(reported, key=lambda pair: (pair[0], sorted(pair[1]))):
        if not sup(mu) & used:
            used |= sup(mu)
            result.add((n, mu))
    return frozenset(result)


def _once(reported: Reported) -> Reported:
    return frozenset((n, mu) for n, mu in reported if not any(m < n and sup(nu) == sup(mu) for m, nu in reported))


ANSWERS: tuple[Mutant, ...] = (
    on_values("filter: floats cut to integers", lambda v: float(int(v)) if isinstance(v, float) else v),
    on_values("filter: strings in lower case", lambda v: v.lower() if isinstance(v, str) else v),
    on_values("filter: booleans as true", lambda v: True if isinstance(v, bool) else v),
    CelMutant("filter: absent is 0", events=lambda event: Event(event.type, {"x": 0, "y": 0, **event.attributes})),
    CelMutant(
        "event: the longest match of a position",
        reported=lambda r: _bounded(r, lambda C, all_: len(C) == max(map(len, all_))),
    ),
    CelMutant(
        "event: the shortest match of a position",
        reported=lambda r: _bounded(r, lambda C, all_: len(C) == min(map(len, all_))),
    ),
    CelMutant(
        "event: one match of a position",
        reported=lambda r: _bounded(r, lambda C, all_: sorted(C) == min(map(sorted, all_))),
    ),
    CelMutant("event: matches do not overlap", reported=_not_overlapping),
    CelMutant("event: a complex event reported once", reported=_once),
    CelMutant(
        "event: reported at its last event only",
        reported=lambda r: frozenset((n, mu) for n, mu in r if mu and max(sup(mu)) == n),
    ),
    CelMutant("event: reported one position later", reported=lambda r: frozenset((n + 1, mu) for n, mu in r)),
    _drawn("event: reported at its first event", "emit=at-first-event"),
)


# ---- rounds ----
# Mutants that count the rounds of an iteration wrong.


def _rounds(
    feature: str, kind: type[Repeat], other: type[Repeat], plus: Callable[[Formula], Formula]
) -> Iterator[CelMutant]:
    def mutant(mistake: str, local: Callable[[Repeat], Formula]) -> CelMutant:
        name = f"{feature}: {mistake}"
        return CelMutant(name, instead(lambda phi: local(phi) if type(phi) is kind and isinstance(phi, kind) else None))

    def bounded(phi: Repeat, least: int, most: int | None) -> Formula:
        return kind(phi.phi, least, None if most is None else max(least, most))

    yield mutant("one round fewer is enough", lambda phi: bounded(phi, max(1, phi.least - 1), phi.most))
    yield mutant("one round more is needed", lambda phi: bounded(phi, phi.least + 1, phi.most))
    yield mutant("one round more is allowed", lambda phi: bounded(phi, phi.least, phi.most and phi.most + 1))
    yield mutant("no upper bound", lambda phi: bounded(phi, phi.least, None))
    yield mutant("no lower bound", lambda phi: bounded(phi, 1, phi.most))
    yield mutant("the lower bound alone", lambda phi: bounded(phi, phi.least, phi.least))
    yield mutant("the bounds ignored", lambda phi: plus(phi.phi))
    yield mutant("once", lambda phi: phi.phi)
    yield mutant("greedy", cel.Max)
    yield mutant("the other kind", lambda phi: other(phi.phi, phi.least, phi.most))


ROUNDS: tuple[Mutant, ...] = (
    *_rounds("repeat", Repeat, ContiguousRepeat, cel.Plus),
    *_rounds("crepeat", ContiguousRepeat, Repeat, cel.ContiguousPlus),
)


def _at_most_seven(kind: type[cel.Plus] | type[cel.ContiguousPlus]) -> Clause:
    """An iteration that goes on for seven rounds and no longer."""
    adjacent = kind is cel.ContiguousPlus

    def clause(phi: Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Valuations | None:
        if not isinstance(phi, kind):
            return None
        psi = phi.phi

        @cache
        def rounds(most: int, i: int) -> Valuations:
            if most == 1:
                return frozenset(meaning(psi, i, j))
            more = (
                mu1 | mu2
                for k in range(i, j)
                for mu1 in meaning(psi, i, k)
                for mu2 in rounds(most - 1, k + 1)
                if not adjacent or (mu1 and mu2 and last(mu1) == k and first(mu2) == k + 1)
            )
            return frozenset(meaning(psi, i, j)).union(more)

        return rounds(7, i)

    return clause


LONG: tuple[Mutant, ...] = (
    CelMutant("plus: at most seven times", kind=cel.Plus, clause=_at_most_seven(cel.Plus)),
    CelMutant("cplus: at most seven times", kind=cel.ContiguousPlus, clause=_at_most_seven(cel.ContiguousPlus)),
)
"""Mutants that differ on long streams alone; streams that are chosen by what they kill are too short for them."""


# ----   init   ----
# Wrong semantics of CEL.

__all__ = ["LONG", "MEANING", "MUTANTS"]

MEANING = CelMutant("none")
MUTANTS: tuple[Mutant, ...] = (*QUERIES, *CLAUSES, *ANSWERS, *ROUNDS)
