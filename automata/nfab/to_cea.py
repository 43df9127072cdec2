"""SASE+ queries without correlation as CEL, and so on complex event automata: counted and limited without being built.

The formula has the matches of the query, as valuations, if all of this is so; anything else is Unsupported:
- all components have the strategy skip_till_any_match, or all have strict_contiguity; none is negated, none has `!`;
- each clause of WHERE speaks of one event: of a, a[1], a[i] or a[a.LEN]; equivalence tests need two components or more
  (an event on its own need not have the attribute, while PARTITION BY asks for it);
- a Kleene plus in last place has, under strict contiguity, a condition on a[a.LEN], or counts after each of its events:
  else it goes on for as long as it can, which is told by an event after the match; under skip till any match the end of
  the stream has to stop it;
- with a window, the times of the stream are whole or binary numbers that ascend.
"""

from __future__ import annotations

import math
from functools import reduce

from cerify.automata.evaluate import compiled
from cerify.automata.evaluate.evaluator import Evaluator
from cerify.automata.nfab.plan import ascend
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME, Bindings, Stream
from cerify.semantics.predicates import Predicate, about, mentions
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.conditions import placed
from cerify.semantics.sase.reading import DECIDED, Reading


def formula(q: sase.Query, reading: Reading = DECIDED, times: type = int) -> cel.Formula:
    """The formula of a query over streams whose times are of that type. Raises Unsupported."""
    strategies = {clauses.strategy_of(q, k.variable) for k in q.pattern}
    if clauses.negated(q) or any(clauses.is_cut(q, k.variable) for k in q.pattern):
        raise Unsupported("a query with negation or `!` is no formula of CEL here")
    if len(strategies) > 1 or not strategies <= {"skip_till_any_match", "strict_contiguity"}:
        raise Unsupported("only skip_till_any_match, or strict_contiguity, for all components is a formula of CEL here")
    strict = "strict_contiguity" in strategies
    _require_stop(q, reading, strict)
    components = [_component(q, k, strict) for k in q.pattern]
    phi = reduce(cel.ContiguousSeq if strict else cel.Seq, components)
    tests = dict.fromkeys(x for x, _ in clauses.equivalences(q))
    if tests and len(q.pattern) == 1:
        raise Unsupported("an equivalence test on a single component is no PARTITION BY: one event need not have it")
    for x in tests:
        phi = cel.PartitionBy(phi, x)
    return phi if q.within is None else cel.Within(phi, cel.AttributeWindow(_width(q.within, reading, times), TIME))


def count(q: sase.Query, S: Stream, reading: Reading = DECIDED, budget: Budget = Budget()) -> int:
    """How many matches a query has; none is built. Raises Unsupported and BudgetExceeded."""
    return Evaluator(formula_for(q, S, reading), output="valuations", budget=budget).count_in(S)


def first(
    q: sase.Query, S: Stream, limit: int, reading: Reading = DECIDED, budget: Budget = Budget()
) -> list[Bindings]:
    """Some of the matches, at most so many; no others are built. Raises Unsupported and BudgetExceeded."""
    found = Evaluator(formula_for(q, S, reading), output="valuations", budget=budget).read(S, limit)
    return [_named(q, match.bindings or ()) for match in found]


def bindings(
    q: sase.Query,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """All matches, as run.bindings. Raises Unsupported and BudgetExceeded."""
    found = compiled.matches(formula_for(q, S, reading), S, "valuations", budget)
    return {_named(q, match.bindings or ()) for match in found}


def formula_for(q: sase.Query, S: Stream, reading: Reading = DECIDED) -> cel.Formula:
    """The formula of a query over a stream, of whose times it is asked what a window needs. Raises Unsupported."""
    times: type = int
    if q.within is not None and len(S):
        times = type(S[0].get(TIME))
        if times not in (int, float) or not ascend(S):
            raise Unsupported("a window of SASE+ is one of CEL here only where times are numbers that ascend")
    return formula(q, reading, times)


def _component(q: sase.Query, k: sase.Component, strict: bool) -> cel.Formula:
    """An event, or one or more: the first, the last and all of them as their clauses say."""
    first: list[Predicate] = []
    each: list[Predicate] = []
    last: list[Predicate] = []
    for p, _ in clauses.clauses_of_matches(q):
        place = placed(p, q.pattern)
        if q.pattern[place.component] is not k:
            continue
        places = {a.place for a in mentions(p) if isinstance(a, sase.Reference) and a.variable == k.variable}
        if len(places) != 1 or not all(isinstance(a, sase.Reference) and a.variable == k.variable for a in mentions(p)):
            raise Unsupported("a clause that speaks of more than one event is no formula of CEL here")
        match places.pop():
            case "only" | "first":
                first.append(p)
            case "current":
                each.append(p)
            case "last":
                last.append(p)
            case "previous":
                raise Unsupported("a clause on a[i-1] is no formula of CEL here")

    def event(*some: Predicate) -> cel.Formula:
        phi: cel.Formula = cel.Event(k.type)
        for p in some:
            phi = cel.Filter(phi, cel.Every(k.type, about(p, None)))
        return cel.In(phi, _name(q, k))

    if not k.kleene:
        return event(*first)
    seq, plus = (cel.ContiguousSeq, cel.ContiguousPlus) if strict else (cel.Seq, cel.Plus)
    if not first and not last:
        return plus(event(*each))
    alone, begin, end = event(*first, *each, *last), event(*first, *each), event(*each, *last)
    more = cel.Or(seq(begin, end), seq(begin, seq(plus(event(*each)), end)))
    return cel.Or(alone, more)


def _require_stop(q: sase.Query, reading: Reading, strict: bool) -> None:
    last = q.pattern[-1]
    ended = any(
        place.edge == "end" and q.pattern[place.component] is last
        for p, _ in clauses.clauses_of_matches(q)
        for place in [placed(p, q.pattern)]
    )
    if not last.kleene or ended or reading.last_kleene == "every":
        return
    if strict or reading.stream_end == "waits":
        raise Unsupported("a Kleene plus in last place without a condition on its last event is told by what follows")


def _width(window: sase.Window, reading: Reading, times: type) -> int | float:
    """The width of a window that includes its bound, as those of CEL do."""
    if reading.window == "closed":
        return window.seconds
    return math.ceil(window.seconds) - 1 if times is int else math.nextafter(window.seconds, -math.inf)


def _named(q: sase.Query, pairs: tuple[tuple[str, tuple[int, ...]], ...]) -> Bindings:
    held = dict(pairs)
    return tuple((k.variable, held[_name(q, k)]) for k in q.pattern)


def _name(q: sase.Query, k: sase.Component) -> str:
    """The variable of CEL for a component: its own, unless a type of events, which is a variable of CEL too, has it."""
    name, others = k.variable, {c.type for c in q.pattern} | {c.variable for c in q.pattern if c is not k}
    while name in others:
        name += "_"
    return name
