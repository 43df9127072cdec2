"""Translate SASE+ queries into CEL and event expressions, where these can express them.

A strategy of SASE+ says which events a run may skip, given what it has taken so far; a formula sees only the events of
a finished match. Any match and strict contiguity are the two sequencing operators of CEL. Skip till next match needs
UNLESS, which cannot see the match, so conditions that compare events are refused there. Event expressions are
translated from the CEL formula, so that strategies are treated in one place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Literal, assert_never

from cerify.automata.nfab.compile import AT_START, EdgeLayout, EdgeTest, Tested, identifier, match_layout
from cerify.equivalence.rewrite.translate_core_cel import Names
from cerify.semantics import predicates as pred
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicates import Both, Predicate, mapped_predicate, mentions
from cerify.semantics.readings import DECIDED, Reading
from cerify.semantics.sase import syntax as sase

NEXT: sase.Strategy = "skip_till_next_match"
PARTITION: sase.Strategy = "partition_contiguity"

Edge = Literal["first", "each", "later", "end"]
"""The events of a component that a condition is about: the first, all, all but the first, or the last."""

EDGE: Mapping[frozenset[Tested], Edge] = {
    frozenset({"begin"}): "first",
    frozenset({"begin", "take"}): "each",
    frozenset({"take"}): "later",
    frozenset({"proceed"}): "end",
}


@dataclass(frozen=True)
class ShapeCondition:
    """A conjunct of WHERE about one component.

    component: its index. edge: which of its events the conjunct is about: "first", "each", "later" (all but the first)
    or "end" (the last).
    """

    condition: Predicate
    component: int
    edge: Edge
    span: Span | None


@dataclass(frozen=True)
class SaseShape:
    """A query that uses only constructs that CEL also has.

    single, correlated: its conditions on one event and on several events. tests: the attributes of its tests
    [attribute]. keyed: whether its strategies see only events of one key. closed: whether its window includes the
    greatest distance.
    """

    pattern: tuple[sase.Component, ...]
    strategies: tuple[sase.Strategy, ...]
    single: tuple[ShapeCondition, ...]
    correlated: tuple[ShapeCondition, ...]
    tests: tuple[str, ...]
    keyed: bool
    window: sase.SaseWindow | None
    closed: bool

    def how(self, n: int) -> sase.Strategy:
        """Return the strategy of component n. It also says which events may be skipped before the component's first
        event.
        """
        return self.strategies[n]

    def at(self, n: int, edge: Edge) -> list[Predicate]:
        """Return the conditions that test one event, about these events of component n: "first", "each", "later" or
        "end".
        """
        return [p.condition for p in self.single if (p.component, p.edge) == (n, edge)]


def shape_of(q: sase.SaseQuery, reading: Reading) -> SaseShape:
    """Return the components and conditions of a query in a form that CEL can express.

    Raises Unsupported, with the reason, if CEL cannot express the query.
    """
    layout = match_layout(q)
    _require_plain(q, layout)
    strategies = tuple(layout.strategies[k.variable] for k in q.pattern)
    found = [_condition(test, q) for test in layout.tests]
    single = tuple(p for p in found if _is_single(p.condition))
    correlated = tuple(p for p in found if not _is_single(p.condition))
    tests = [(c.condition.attribute, c.span) for c in _conjuncts(q) if isinstance(c.condition, sase.Equivalence)]
    # before a single first event nothing is skipped
    skipping = [s for n, (k, s) in enumerate(zip(q.pattern, strategies, strict=True)) if n or k.kleene]
    for p in correlated:
        _require_one_of_many(p, q)
    # Only strategies that look at the events of a key need PER KEY. Under strict contiguity events of other keys count
    # as well, so that PER KEY would be wrong there.
    keyed = bool(tests) and not {NEXT, PARTITION}.isdisjoint(skipping) and "strict_contiguity" not in skipping
    if NEXT in skipping and (correlated or (tests and not keyed)):
        span = correlated[0].span if correlated else tests[0][1]
        raise Unsupported(
            "the condition compares events, so the events that skip_till_next_match skips depend on the match; UNLESS "
            "in CEL and event expressions cannot see the match: use skip_till_any_match, or conditions on one event",
            span,
        )
    if keyed or not tests:  # only events of the key are seen; without a test the stream is one partition
        strategies = tuple("strict_contiguity" if how == PARTITION else how for how in strategies)
    for n, k in enumerate(q.pattern):
        if k.kleene:
            _require_stop(q, n, strategies, any((p.component, p.edge) == (n, "end") for p in found), reading)
    if PARTITION in skipping and tests and not keyed:
        raise Unsupported(
            "partition_contiguity looks at one partition, strict_contiguity at the whole stream, but PER KEY of CEL "
            "applies to the whole query: use only one of these strategies",
            q.where[0].span if q.where else q.span,
        )
    if NEXT in skipping and reading.kleene_skips != "own" and any(k.kleene for k in q.pattern):
        raise Unsupported(
            "skip_till_next_match of an array can only be translated under the reading kleene_skips=own", q.span
        )
    return SaseShape(
        q.pattern,
        strategies,
        single,
        correlated,
        tuple(x for x, _ in tests),
        keyed,
        q.within,
        reading.window == "closed",
    )


def _conjuncts(q: sase.SaseQuery) -> list[sase.Conjunct]:
    return [conjunct for block in q.where for conjunct in block.conjuncts]


def _require_plain(q: sase.SaseQuery, layout: EdgeLayout) -> None:
    """Raise Unsupported for the clauses that the other languages lack."""
    for k in q.pattern:
        if k.negated:
            raise Unsupported("a negated component is not translated: write it with UNLESS by hand", k.span)
        if k.variable in layout.cuts:
            raise Unsupported(
                "`!` cannot be translated: it makes the end of an array depend on the next event; leave it out", k.span
            )
    if q.having is not None:
        raise Unsupported("HAVING cannot be translated: it filters the results of RETURN, which is left out", q.span)
    if q.returned.non_overlap:
        raise Unsupported(
            "NON-OVERLAP cannot be translated, because it compares matches with each other", q.returned.span
        )
    if q.source is not None:
        raise Unsupported(
            "FROM cannot be translated: it reads the results of another query, but the other language "
            "reads only the stream",
            q.span,
        )
    for c in _conjuncts(q):
        if c.underlined:
            raise Unsupported(
                "an underlined predicate cannot be translated: the other language cannot define partitions by a "
                "predicate",
                c.span,
            )


def _condition(test: EdgeTest, q: sase.SaseQuery) -> ShapeCondition:
    for a in mentions(test.predicate):
        if isinstance(a, sase.SaseAggregate):
            raise Unsupported("the other language has no aggregates over an array", test.span)
        if isinstance(a, sase.Reference) and a.place == "previous":
            raise Unsupported(
                "a[i-1] compares neighbours in an array, but a filter of CEL compares every event of one set with "
                "every event of another",
                test.span,
            )
    component = next(n for n, k in enumerate(q.pattern) if k.variable == test.variable)
    return ShapeCondition(test.predicate, component, EDGE[test.edges], test.span)


def _is_single(p: Predicate) -> bool:
    """Return whether a condition is about one event."""
    return len({(a.variable, a.place if isinstance(a, sase.Reference) else "") for a in mentions(p)}) == 1


def _require_one_of_many(p: ShapeCondition, q: sase.SaseQuery) -> None:
    """Raise Unsupported if a condition mentions a[i] twice: a CEL filter would compare all pairs of events of a."""
    many = [a for a in mentions(p.condition) if isinstance(a, sase.Reference) and a.place == "current"]
    if len(many) > 1:
        raise Unsupported(
            "the condition mentions a[i] twice and another event; a CEL filter would compare all pairs "
            "of events of a: split the condition",
            p.span,
        )


def _require_stop(
    q: sase.SaseQuery, n: int, strategies: tuple[sase.Strategy, ...], ended: bool, reading: Reading
) -> None:
    """Raise Unsupported if a later event decides where an array stops, or if different strategies apply at its end."""
    k, how = q.pattern[n], strategies[n]
    if n + 1 < len(q.pattern):
        if strategies[n + 1] != how:
            raise Unsupported(
                f"an array has the strategy {how}, but the component after it has {strategies[n + 1]}; give both the "
                "same strategy",
                q.pattern[n + 1].span,
            )
        return
    if ended or reading.last_kleene == "every":
        return
    if how != "skip_till_any_match" or reading.stream_end == "waits":
        raise Unsupported(
            "later events decide where an array in last place ends, but a formula cannot see them: the first A is a "
            "match on the stream A, but not on A A. Add a condition on the last event, or use the reading "
            "last_kleene=every",
            k.span,
        )


# ---------------------------------------------------------------------------------------------------------------------
# SASE+ in CEL: a formula whose complex events are the positions of the query's matches.
#
# A variable of the query names the same events in the formula, unless an event type has its name. Skip till any match
# becomes CEL's sequencing, strict contiguity contiguous sequencing. Skip till next match is no strategy of section 7:
# after A it becomes B UNLESS (B ; B), the first B from there on. This formula names the events that are skipped, so
# they must be known without the match: only conditions on single events are allowed. With an equivalence test, skip
# till next match and partition contiguity look only at the events of one key: PER KEY. RETURN is left out.


def sase_to_cel(q: sase.Tree, reading: Reading = DECIDED) -> cel.Formula:
    """Return a CEL formula whose complex events are the matches of q, at all positions of streams in order of time.

    The times may be numbers or timestamps. An open window becomes a closed window, whose width is the next smaller
    float. Raises Unsupported if CEL has no such formula or this translation finds none.
    """
    match q:
        case sase.SaseQuery():
            return _Translation(shape_of(q, reading)).whole()
        case sase.SaseUnion(parts):
            return reduce(cel.Or, (_Translation(shape_of(part, reading)).whole() for part in parts))
        case sase.Program(queries):
            if len(queries) == 1:
                return sase_to_cel(queries[0], reading)
            raise Unsupported(
                "queries that read each other's results cannot be translated: CEL reads only the stream",
                queries[0].span,
            )
        case _:
            assert_never(q)


@dataclass(frozen=True)
class _Parts:
    """The CEL variables of an array: for all its events, for the first, for all but the first, and for the last."""

    all: str
    first: str
    rest: str
    last: str


class _Translation:
    """Builds the formula of one query."""

    def __init__(self, shape: SaseShape) -> None:
        self.shape = shape
        names = Names(frozenset(k.type for k in shape.pattern))
        taken = [names.unused(k.variable) for k in shape.pattern]
        self.names = {
            k.variable: _Parts(v, names.fresh(v), names.fresh(v), names.fresh(v)) if k.kleene else _Parts(v, v, v, v)
            for k, v in zip(shape.pattern, taken, strict=True)
        }
        # Only what a condition compares is named, because the formula of an array grows if its first, later or last
        # events have names of their own (`is_split`).
        self.asked = {self.name(a) for p in shape.correlated for a in mentions(p.condition)}
        later = [p.condition for p in shape.correlated if p.edge == "later"]
        self.asked |= {self.names[a.variable or ""].rest for c in later for a in mentions(c)}

    def whole(self) -> cel.Formula:
        """Return the sequence of the components, inside the conditions, partition and window that compare them."""
        shape = self.shape
        phi = self.component(0)
        for n in range(1, len(shape.pattern)):
            phi = self.sequenced(shape.how(n), phi, self.component(n))
        for p in shape.correlated:
            phi = cel.Filter(phi, _on_sets(self.on_variables(p.condition, p.edge == "later"), p.span))
        if not shape.pattern[0].kleene and len(shape.pattern) == 1:
            return phi  # nothing to compare its event with
        # A match of one event compares nothing, so it may lack the key, which PARTITION BY and PER KEY ask of every
        # event.
        single = self.component(0, alone=True) if len(shape.pattern) == 1 else None
        phi = cel.PerKey(phi, shape.tests) if shape.keyed else reduce(cel.PartitionBy, shape.tests, phi)
        if shape.window is not None:
            phi = cel.Within(phi, _closed_window(shape.window, shape.closed))
        compared = bool(shape.tests) or shape.window is not None
        return cel.Or(single, phi) if single is not None and compared else phi

    def component(self, n: int, alone: bool = False) -> cel.Formula:
        """Return the formula for component n. alone: whether to return it only for arrays of a single event."""
        shape, k = self.shape, self.shape.pattern[n]
        names, how = self.names[k.variable], shape.how(n)
        first, ends = [*shape.at(n, "first"), *shape.at(n, "each")], shape.at(n, "end")
        if not k.kleene:
            return cel.In(self.limited_first(n, self.event(k.type, first)), names.all)
        if not alone and how != "skip_till_next_match" and not self.is_split(n):
            return cel.In(self.translate_closure(how, self.event(k.type, first)), names.all)
        one = self.limited_first(n, self.event(k.type, [*first, *ends]))
        one = self.name_formula(self.name_formula(one, names.first), names.last)
        if alone:
            return cel.In(one, names.all)
        each = shape.at(n, "each")
        following, final = self.event(k.type, each), self.event(k.type, [*each, *ends])
        more, last = self.limited(how, following, following), self.limited(how, following, final)
        rest = self.translate_closure(how, more)
        if ends or names.last in self.asked:
            last = self.name_formula(last, names.last)
            rest = cel.Or(last, self.sequenced(how, rest, last))
        begun = self.name_formula(self.limited_first(n, self.event(k.type, first)), names.first)
        several = self.sequenced(how, begun, self.name_formula(rest, names.rest))
        return cel.In(cel.Or(one, several), names.all)

    def is_split(self, n: int) -> bool:
        """Return whether the first or the last event of an array needs a variable of its own."""
        names = self.names[self.shape.pattern[n].variable]
        conditions = [*self.shape.at(n, "first"), *self.shape.at(n, "end")]
        return bool(conditions) or not self.asked.isdisjoint((names.first, names.rest, names.last))

    # --- strategies ---------------------------------------------------------------------------------------------------

    def sequenced(self, how: sase.Strategy, left: cel.Formula, right: cel.Formula) -> cel.Formula:
        return (cel.ContiguousSeq if how == "strict_contiguity" else cel.Seq)(left, right)

    def translate_closure(self, how: sase.Strategy, phi: cel.Formula) -> cel.Formula:
        return (cel.ContiguousPlus if how == "strict_contiguity" else cel.Plus)(phi)

    def limited(self, how: sase.Strategy, skipped: cel.Formula, phi: cel.Formula) -> cel.Formula:
        """Return phi; under skip_till_next_match, with UNLESS, so that no event `skipped` comes before it."""
        return cel.Unless(phi, cel.Seq(skipped, phi)) if how == "skip_till_next_match" else phi

    def limited_first(self, n: int, phi: cel.Formula) -> cel.Formula:
        """Same as `limited`, for the first event of component n; the skipped events depend on the component before."""
        if n == 0 or self.shape.how(n) != "skip_till_next_match":
            return phi
        shape, k, before = self.shape, self.shape.pattern[n], self.shape.pattern[n - 1]
        wanted = [*shape.at(n, "first"), *shape.at(n, "each")]
        if not before.kleene:
            return self.limited("skip_till_next_match", self.event(k.type, wanted), phi)
        going_on = shape.at(n - 1, "each")
        too_early: cel.Formula = cel.Seq(self.event(before.type, going_on), phi)
        if shape.at(n - 1, "end"):
            # the array may stop before the next event that it could select, and from there its successor waits
            too_early = cel.Seq(cel.Seq(self.event(before.type, going_on), self.event(k.type, wanted)), phi)
            if before.type == k.type:
                too_early = cel.Or(too_early, cel.Seq(self.event(k.type, [*going_on, *wanted]), phi))
        return cel.Unless(phi, too_early)

    # --- conditions ---------------------------------------------------------------------------------------------------

    def event(self, R: str, conditions: Iterable[pred.Predicate]) -> cel.Formula:
        """Return a formula for an event that satisfies its own conditions."""
        phi: cel.Formula = cel.EventAtom(R)
        for p in conditions:
            phi = cel.Filter(phi, cel.Every(R, mapped_predicate(p, lambda a: pred.Attribute(a.name))))
        return phi

    def name_formula(self, phi: cel.Formula, name: str) -> cel.Formula:
        return cel.In(phi, name) if name in self.asked else phi

    def name(self, a: pred.Attribute) -> str:
        """Return the variable of CEL for a reference."""
        names = self.names[a.variable or ""]
        if (form := identifier(a)) in AT_START:
            return names.first
        return names.all if form == "a[i]" else names.last

    def on_variables(self, p: pred.Predicate, later: bool) -> pred.Predicate:
        """Return the condition with CEL variables in place of references. later: whether `a[i]` is an event after the
        first.
        """

        def moved(a: pred.Attribute) -> pred.Attribute:
            name = self.names[a.variable or ""].rest if later and identifier(a) == "a[i]" else self.name(a)
            return pred.Attribute(a.name, name)

        return mapped_predicate(p, moved)


def _on_sets(p: pred.Predicate, span: Span | None) -> cel.Condition:
    """Translate a cross-event predicate into a filter condition. It mentions at most one set of several events, once.

    p is a conjunct of SASE+: a disjunction of comparisons and of negated comparisons.
    """
    if isinstance(p, pred.Either):
        return cel.Disjunction(_on_sets(p.left, span), _on_sets(p.right, span), span=span)
    match list(mentions(p)):
        case [pred.Attribute(_, str(variable))]:
            return cel.Every(variable, pred.about(p, None), span=span)
    return cel.Correlated(p, span=span)


def require_written(phi: cel.Formula) -> cel.Formula:
    """Return the formula. Raises Unsupported for a negated comparison of events, which CEL's syntax cannot write."""
    for psi in cel.subformulas(phi):
        for atom in cel.atoms(psi.condition) if isinstance(psi, cel.Filter) else ():
            if isinstance(atom, cel.Correlated) and isinstance(atom.predicate, pred.Not):
                raise Unsupported(
                    "CEL cannot write `not` before a comparison of two events: write the opposite comparison, which "
                    "holds only where both events have a value",
                    atom.span,
                )
    return phi


def _closed_window(window: sase.SaseWindow, closed: bool) -> cel.TimeWindow:
    """Return the closed window of CEL that has the same matches as a window of SASE+.

    An open window becomes closed with the greatest float below its width. No difference of times lies between the two:
    differences of timestamps are compared as floats, and those of integers are whole numbers.
    """
    return cel.TimeWindow(window.seconds if closed else math.nextafter(window.seconds, -math.inf), "second")


# ---------------------------------------------------------------------------------------------------------------------
# SASE+ as an event expression: it takes place at the events with which a match ends.
#
# The CEL formula is translated: sequencing becomes `relative`, contiguous sequencing `sequence`. After A, B UNLESS
# (B ; B) becomes the B in the history after A at which relative(B, B) does not take place.


def sase_to_expression(q: sase.Tree, reading: Reading = DECIDED) -> expr.Expression:
    """Return an event expression that takes place where the matches of q end.

    Raises Unsupported if q compares events or cannot be translated into CEL.
    """
    return _after(None, sase_to_cel(q, reading), False)


def _after(before: expr.Expression | None, phi: cel.Formula, contiguous: bool) -> expr.Expression:
    """Return an expression that takes place where phi ends, if phi begins after an event of `before`.

    contiguous: whether phi begins directly after that event. If `before` is None, phi begins anywhere.
    """
    match phi:
        case cel.EventAtom() | cel.Filter():
            E = _event(phi)
            return E if before is None else (expr.Sequence if contiguous else expr.Relative)((before, E))
        case cel.In(psi, _):
            return _after(before, psi, contiguous)
        case cel.Or(left, right):
            return expr.ExpressionOr(_after(before, left, contiguous), _after(before, right, contiguous))
        case cel.Seq(left, right):
            return _after(_after(before, left, contiguous), right, False)
        case cel.ContiguousSeq(left, right):
            return _after(_after(before, left, contiguous), right, True)
        case cel.ContiguousPlus(psi) if before is not None and contiguous:
            # every event since `before` is a psi
            return expr.Relative((before, expr.ExpressionNot(expr.Happened(expr.ExpressionNot(_event(psi))))))
        case cel.Plus(psi) if before is not None:
            return expr.Relative((before, expr.RelativePlus(_after(None, psi, False))))
        case cel.Plus(psi) | cel.ContiguousPlus(psi):
            return _after(before, psi, False)  # its last round alone
        case cel.Unless(psi, too_early):
            # what would be too early ends, if at all, where psi does
            E = expr.ExpressionAnd(_after(None, psi, False), expr.ExpressionNot(_after(None, too_early, False)))
            return E if before is None else expr.Relative((before, E))
        case _:
            raise Unsupported("event expressions have no windows and cannot compare two events")


def _event(phi: cel.Formula) -> expr.Expression:
    """Return an event with its conditions as a mask."""
    masks = []
    while isinstance(phi, cel.Filter) and isinstance(phi.condition, cel.Every):
        masks.append(phi.condition.predicate)
        phi = phi.phi
    if not isinstance(phi, cel.EventAtom):
        raise Unsupported("event expressions have no windows and cannot compare two events")
    # The outermost filter was found first, and was the last in the query.
    return expr.Primitive(phi.type, mask=reduce(Both, reversed(masks)) if masks else None)
