"""What of a SASE+ query other languages can say: its components, how gaps are passed over, its conditions by place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cerify.automata.nfab.edges import EdgeTest, Layout, Tested, match_layout
from cerify.semantics.errors import Span, Unsupported
from cerify.semantics.predicates import Predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import Reading

NEXT: sase.Strategy = "skip_till_next_match"

Edge = Literal["first", "each", "later", "end"]
"""The events of a component that a condition is about: the first, all, all but the first, or the last."""

EDGE: Mapping[frozenset[Tested], Edge] = {
    frozenset({"begin"}): "first",
    frozenset({"begin", "take"}): "each",
    frozenset({"take"}): "later",
    frozenset({"proceed"}): "end",
}


@dataclass(frozen=True)
class Condition:
    """A conjunct, its component, and the events of it that it is about."""

    condition: Predicate
    component: int
    edge: Edge
    span: Span | None


@dataclass(frozen=True)
class Shape:
    """A query without what only SASE+ has."""

    pattern: tuple[sase.Component, ...]
    strategies: tuple[sase.Strategy, ...]
    single: tuple[Condition, ...]
    correlated: tuple[Condition, ...]
    tests: tuple[str, ...]
    window: sase.Window | None
    closed: bool

    def how(self, n: int) -> sase.Strategy:
        """The strategy of a component."""
        return self.strategies[n]

    def gap(self, n: int) -> sase.Strategy:
        """How what lies before a component's first event is passed over."""
        return self.strategies[n]

    def at(self, n: int, edge: Edge) -> list[Predicate]:
        """The conditions on single events that are about these events of a component."""
        return [p.condition for p in self.single if (p.component, p.edge) == (n, edge)]


def shape_of(q: sase.Query, reading: Reading) -> Shape:
    """The shape of a query. Raises Unsupported for what is not translated."""
    layout = match_layout(q)
    _require_plain(q, layout)
    strategies = tuple(layout.strategies[k.variable] for k in q.pattern)
    found = [_condition(test, q) for test in layout.tests]
    single = tuple(p for p in found if _is_single(p.condition))
    correlated = tuple(p for p in found if not _is_single(p.condition))
    tests = [(c.condition.attribute, c.span) for c in _conjuncts(q) if isinstance(c.condition, sase.Equivalence)]
    # where one event is selected alone, what its strategy skips is nothing
    skipping = [s for n, (k, s) in enumerate(zip(q.pattern, strategies, strict=True)) if n or k.kleene]
    for p in correlated:
        _require_one_of_many(p, q)
    if NEXT in skipping and (correlated or tests):
        span = correlated[0].span if correlated else tests[0][1]
        raise Unsupported(
            "what skip_till_next_match passes over is here seen by comparing it with the match; CEL's UNLESS, and an "
            "event expression, look at events without the match: use skip_till_any_match, or conditions on one event",
            span,
        )
    for n, k in enumerate(q.pattern):
        if k.kleene:
            _require_stop(q, n, strategies, any((p.component, p.edge) == (n, "end") for p in found), reading)
    if "partition_contiguity" in skipping:
        raise Unsupported(
            "partition_contiguity asks for no event of the match's own partition between two of its events; "
            "PARTITION BY only makes the events of a match agree: use skip_till_any_match with the equivalence test",
            q.where[0].span if q.where else q.span,
        )
    if NEXT in skipping and reading.kleene_skips != "own" and any(k.kleene for k in q.pattern):
        raise Unsupported("the translation of skip_till_next_match is for the reading kleene_skips=own", q.span)
    return Shape(
        q.pattern, strategies, single, correlated, tuple(x for x, _ in tests), q.within, reading.window == "closed"
    )


def _conjuncts(q: sase.Query) -> list[sase.Conjunct]:
    return [conjunct for block in q.where for conjunct in block.conjuncts]


def _require_plain(q: sase.Query, layout: Layout) -> None:
    """Raises Unsupported for the clauses that the other languages lack."""
    for k in q.pattern:
        if k.negated:
            raise Unsupported("a negated component is not translated: write it with UNLESS by hand", k.span)
        if k.variable in layout.cuts:
            raise Unsupported("`!` stops an array by what comes next; leave it out", k.span)
    if q.having is not None:
        raise Unsupported("HAVING filters results, and the other language has none", q.span)
    if q.returned.non_overlap:
        raise Unsupported("NON-OVERLAP compares matches with each other", q.returned.span)
    if q.source is not None:
        raise Unsupported("FROM reads the results of another query; the other language reads the stream alone", q.span)
    for c in _conjuncts(q):
        if c.underlined:
            raise Unsupported("an underlined predicate says what a partition is; the other language has none", c.span)


def _condition(test: EdgeTest, q: sase.Query) -> Condition:
    for a in mentions(test.predicate):
        if isinstance(a, sase.Aggregate):
            raise Unsupported("an aggregate is about all events of an array; the other language has none", test.span)
        if isinstance(a, sase.Reference) and a.place == "previous":
            raise Unsupported(
                "a[i-1] compares neighbours in an array; a filter of CEL compares each event of one set with each of "
                "another: on a rise 1 3 2 4 it would ask for all pairs",
                test.span,
            )
    component = next(n for n, k in enumerate(q.pattern) if k.variable == test.variable)
    return Condition(test.predicate, component, EDGE[test.edges], test.span)


def _is_single(p: Predicate) -> bool:
    """Whether a condition is about one event."""
    return len({(a.variable, a.place if isinstance(a, sase.Reference) else "") for a in mentions(p)}) == 1


def _require_one_of_many(p: Condition, q: sase.Query) -> None:
    """A set of several events may be mentioned once: CEL lets each mention range on its own."""
    many = [a for a in mentions(p.condition) if isinstance(a, sase.Reference) and a.place == "current"]
    if len(many) > 1:
        raise Unsupported(
            "the condition mentions a[i] twice and another event too; in a filter of CEL the two would range over the "
            "events of a each on its own: split the condition",
            p.span,
        )


def _require_stop(q: sase.Query, n: int, strategies: tuple[sase.Strategy, ...], ended: bool, reading: Reading) -> None:
    """Raises Unsupported where an array stops by what comes after it, or where two strategies meet at its end."""
    k, how = q.pattern[n], strategies[n]
    if n + 1 < len(q.pattern):
        if strategies[n + 1] != how:
            raise Unsupported(
                f"after an array under {how} a component under {strategies[n + 1]}: use one strategy",
                q.pattern[n + 1].span,
            )
        return
    if ended or reading.last_kleene == "every":
        return
    if how != "skip_till_any_match" or reading.stream_end == "waits":
        raise Unsupported(
            "an array in last place goes on until it stops, which the events after it decide: on A A the first A is no "
            "match, on A alone it is. A formula knows no events to come: give a condition on the last event, or the "
            "reading last_kleene=every",
            k.span,
        )
