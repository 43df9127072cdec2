"""What a mutant of SASE+ is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from cerify.automata.evaluator import Output
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import TIME, Bindings, Event, Match, Stream, result_of
from cerify.semantics.predicates import Arithmetic, Attribute, Predicate, Term, mapped_predicate, satisfied
from cerify.semantics.readings import DECIDED, NO_OPERATIONS, Operation, Operations, Reading
from cerify.semantics.sase import clauses, interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import (
    Bound,
    Chosen,
    Conditions,
    Edge,
    SaseAbsences,
    SaseDefinition,
    bindings,
    matches_by,
    placed,
    value_of,
)
from cerify.semantics.sase.interpreter import Finder, positions_of
from cerify.semantics.sase.syntax import names_of
from cerify.semantics.values import Value
from proofs_tests.support import vary_reading
from proofs_tests.tools.mutants.mutant import Mutant, drawn

# ---- model ----
#

BUDGET = Budget(valuations=20_000, matches=2_000)
Answers: TypeAlias = Callable[[sase.Tree, Stream], "list[Match] | None"]


@dataclass(frozen=True)
class SaseMutant(Mutant):
    """answers: the matches of that engine, None where it is no other engine on that query."""

    answers: Answers

    def matches(self, query: sase.Tree, S: Stream, output: Output = "valuations") -> frozenset[Match] | None:
        """The matches, with bindings and results; None where they take too long."""
        try:
            found = self.answers(query, S)
        except CerifyError:
            return None
        return None if found is None else frozenset(found)


def wrong(feature: str, ways: Mapping[str, Answers]) -> tuple[SaseMutant, ...]:
    """The mutants that get a feature wrong, each by the way in which it does."""
    return tuple(SaseMutant(f"{feature}: {way}", found) for way, found in ways.items())


MEANING = SaseMutant("none", lambda q, S: interpreter.matches_of(q, S, bindings, budget=BUDGET))


# ---- ways ----
# Ways to be wrong: one part of the meaning is another, and all else is right.

Kept: TypeAlias = Callable[[sase.SaseQuery, Stream, list[Bindings]], Iterable[Bindings]]
"""Some of the bindings of a query over a stream, which are given in order."""


def axis(value: str) -> Answers:
    """A meaning that the hypotheses about engines have."""
    mutant = drawn("sase")(value, value)
    return lambda q, S: None if (found := mutant.matches(q, S, "valuations")) is None else list(found)


def finding(find: Finder) -> Answers:
    """Other bindings."""
    return lambda q, S: interpreter.matches_of(q, S, find, budget=BUDGET)


def by(definition: type[SaseDefinition]) -> Answers:
    """Another definition of what the bindings are."""

    return finding(partial(matches_by, definition))


def absent(absences: type[SaseAbsences]) -> Answers:
    """Another meaning of negation."""

    class Wrong(SaseDefinition):
        def __init__(self, *asked: Any) -> None:
            super().__init__(*asked)
            self.absences = absences(self.q, self.S, self.reading, self.operations, self.watch)

    return by(Wrong)


def valued(value: Callable[[Attribute, Bound, Stream], Value | None]) -> Answers:
    """Another value of the references and aggregates of WHERE."""

    class Wrong(SaseDefinition):
        def satisfied(self, c: Predicate, bound: dict[str, tuple[int, ...]]) -> bool:
            return satisfied(c, lambda attribute: value(attribute, bound, self.S))

    return by(Wrong)


def kept(keep: Kept) -> Answers:
    """Some of the right bindings."""

    def find(
        q: sase.SaseQuery, S: Stream, reading: Reading, budget: Budget, operations: Operations
    ) -> Iterable[Bindings]:
        return keep(q, S, sorted(bindings(q, S, reading, budget, operations)))

    return finding(find)


def asked(other: Callable[[sase.Tree], sase.Tree], operations: Operations = NO_OPERATIONS) -> Answers:
    """Another query is asked."""

    def found(q: sase.Tree, S: Stream) -> list[Match] | None:
        instead = other(q)
        return (
            None if instead == q else interpreter.matches_of(instead, S, bindings, budget=BUDGET, operations=operations)
        )

    return found


def read(other: Callable[[sase.SaseQuery], sase.SaseQuery], operations: Operations = NO_OPERATIONS) -> Answers:
    """Every query block is read as another one."""

    def blocks(q: Any) -> Any:
        match q:
            case sase.SaseUnion(parts):
                return sase.SaseUnion(tuple(map(other, parts)))
            case sase.Program(queries):
                return sase.Program(tuple(map(blocks, queries)))
        return other(q)

    return asked(blocks, operations)


def answered(change: Callable[[Match], Match]) -> Answers:
    """Another answer for each of the right matches."""
    return lambda q, S: sorted({change(m) for m in interpreter.matches_of(q, S, bindings, budget=BUDGET)})


# ---- queries ----
# Queries read as others: their strategies, their conditions, and what these speak of.


def where(block: Callable[[sase.Block], sase.Block], q: sase.SaseQuery) -> sase.SaseQuery:
    """Other blocks of WHERE."""
    return replace(q, where=tuple(map(block, q.where)))


def with_conjuncts(keep: Callable[[sase.Conjunct], sase.Conjunct | None], q: sase.SaseQuery) -> sase.SaseQuery:
    """Other conjuncts of WHERE, or fewer."""
    return where(lambda b: replace(b, conjuncts=tuple(d for c in b.conjuncts if (d := keep(c)) is not None)), q)


def edge_of(c: sase.Conjunct, q: sase.SaseQuery) -> Edge | None:
    """When a condition is looked at; None for an equivalence test."""
    return None if isinstance(c.condition, sase.Equivalence) else placed(c.condition, q.pattern).edge


def strategy(old: sase.Strategy, new: sase.Strategy) -> Answers:
    """One strategy taken for another, also where none is written."""

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        named = where(lambda b: replace(b, strategy=new) if b.strategy == old else b, q)
        bare = not q.where or any(b.strategy is None for b in q.where)
        if old != sase.DEFAULT or not bare:
            return named
        given = tuple(c for b in q.where for c in b.conjuncts)
        return replace(q, where=(sase.Block(new, tuple(sase.Selected(k.variable) for k in q.pattern), given),))

    return read(other)


def strategies(chosen: Callable[[list[sase.Strategy]], list[sase.Strategy]]) -> Answers:
    """The strategies of a query that has several, in other places."""

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        said = [b.strategy or sase.DEFAULT for b in q.where]
        if len(said) < 2:
            return q
        blocks = zip(q.where, chosen(said), strict=True)
        return replace(q, where=tuple(replace(b, strategy=strategy) for b, strategy in blocks))

    return read(other)


def conjuncts(change: Callable[[sase.Conjunct], sase.Conjunct | None]) -> Answers:
    """Conjuncts of WHERE changed, or left out."""
    return read(lambda q: with_conjuncts(change, q))


def without(edge: Edge) -> Answers:
    """The conditions that are looked at there left out."""
    return read(lambda q: with_conjuncts(lambda c: None if edge_of(c, q) == edge else c, q))


def placing(old: sase.Index, new: sase.Index, on: Edge | None = None) -> Answers:
    """A reference to one event taken for one to another: in all conditions, or in those looked at there."""

    def moved(a: Attribute) -> Attribute:
        return replace(a, place=new) if isinstance(a, sase.Reference) and a.place == old else a

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        def changed(c: sase.Conjunct) -> sase.Conjunct:
            if isinstance(c.condition, sase.Equivalence) or on not in (None, edge_of(c, q)):
                return c
            return replace(c, condition=mapped_predicate(c.condition, moved))

        return with_conjuncts(changed, q)

    return read(other)


# ---- patterns ----
# Mutants that get PATTERN wrong: events, sequences, and Kleene plus.


class _AnyType(SaseDefinition):
    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        if chosen and not self.in_window(chosen[0][1], p):
            return False
        return self.agrees(chosen, p, self.tests) and self.satisfies(chosen, k, p, self.conditions)


class _SharedEvent(SaseDefinition):
    """An event may be the last of one component and the first of the next."""

    def following(self, chosen: Chosen) -> Iterator[tuple[int, int]]:
        yield from super().following(chosen)
        if chosen and chosen[-1][0] + 1 < len(self.pattern) and self.selects(chosen, chosen[-1][0] + 1, chosen[-1][1]):
            yield chosen[-1][0] + 1, chosen[-1][1]


class _LaterTimes(SaseDefinition):
    """Two events of one match have different times."""

    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        time = self.S[p].get(TIME)
        same = chosen and time is not None and time == self.S[chosen[-1][1]].get(TIME)
        return not same and super().selects(chosen, k, p)


def consuming(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
    """No event belongs to two matches."""
    used: set[int] = set()
    for M in sorted(found, key=lambda M: (positions_of(M)[-1], positions_of(M))):
        if used.isdisjoint(positions_of(M)):
            used.update(positions_of(M))
            yield M


def _best(at: int, best: Callable[[Sequence[Bindings]], Bindings]) -> Kept:
    """One match of those that have the same first event, or the same last one."""

    def keep(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
        groups: dict[int, list[Bindings]] = {}
        for M in found:
            groups.setdefault(positions_of(M)[at], []).append(M)
        return (best(group) for group in groups.values())

    return keep


def _size(M: Bindings) -> tuple[Any, ...]:
    return len(positions_of(M)), M


def _at_most_seven(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
    arrays = {k.variable for k in q.pattern if k.kleene}
    return (M for M in found if all(len(at) <= 7 for variable, at in M if variable in arrays))


PATTERNS = (
    *wrong(
        "event",
        {
            "any type": by(_AnyType),
            "one position later": answered(lambda m: replace(m, at=m.at + 1)),
            "reported at its first event": answered(lambda m: replace(m, at=min(m.events))),
        },
    ),
    *wrong(
        "sequence",
        {
            "each event in one match": kept(consuming),
            "components share an event": by(_SharedEvent),
            "one match for each end": kept(_best(-1, max)),
            "one match for each beginning": kept(_best(0, min)),
            "equal times are no sequence": by(_LaterTimes),
        },
    ),
    *wrong(
        "kleene",
        {
            "once": axis("loop=single"),
            "twice at least": axis("loop=at-least-two"),
            "at most seven times": kept(_at_most_seven),
            "the longest from each beginning": kept(_best(0, lambda group: max(group, key=_size))),
            "the shortest from each beginning": kept(_best(0, lambda group: min(group, key=_size))),
            "greedy": axis("loop=greedy"),
        },
    ),
)


# ---- conditions ----
# Mutants that get conditions wrong: on one event, on the event before, and on what is selected so far.


def _first_block(q: sase.SaseQuery) -> sase.SaseQuery:
    return replace(q, where=(*q.where[:1], *(replace(b, conjuncts=()) for b in q.where[1:])))


class _NotOfTheFirst(SaseDefinition):
    """a[i] speaks of i > 1."""

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        if (chosen and chosen[-1][0] == k) or not self.pattern[k].kleene:
            return super().satisfies(chosen, k, p, conditions)
        first = {place: said for place, said in conditions.items() if place[1] != "each"}
        return super().satisfies(chosen, k, p, first)


class _LaterFromTheFirstOn(SaseDefinition):
    """a[i-1] and a[..i-1] are asked for of the first event too."""

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        bound = dict(self.bindings((*chosen, (k, p))))
        return super().satisfies(chosen, k, p, conditions) and all(
            self.satisfied(c, bound) for c in conditions.get((k, "later"), ())
        )


def _previous_in_stream(a: Attribute, bound: Bound, S: Stream) -> Value | None:
    if isinstance(a, sase.Reference) and a.place == "previous" and (at := bound.get(a.variable or "", ())):
        return S[at[-1] - 1].get(a.name) if at[-1] else None
    return value_of(bound, S)(a)


def _running(
    change: Callable[[tuple[int, ...]], tuple[int, ...]],
) -> Callable[[Attribute, Bound, Stream], Value | None]:
    """A running aggregate over other positions than all but the last."""

    def value(a: Attribute, bound: Bound, S: Stream) -> Value | None:
        if isinstance(a, sase.SaseAggregate) and a.running:
            at = change(tuple(bound.get(a.variable or "", ())))
            return value_of({**bound, a.variable or "": at}, S)(replace(a, running=False))
        return value_of(bound, S)(a)

    return value


CONDITIONS = (
    *wrong("predicate", {"ignored": without("first"), "one block only": read(_first_block)}),
    *wrong(
        "iterator",
        {
            "of the first event only": placing("current", "first", on="each"),
            "not of the first event": by(_NotOfTheFirst),
            "of the last event only": placing("current", "last", on="each"),
        },
    ),
    *wrong(
        "correlated",
        {
            "with the first event": placing("previous", "first"),
            "a[1] is the event before": placing("first", "previous", on="later"),
            "the event before in the stream": valued(_previous_in_stream),
            "from the first event on": by(_LaterFromTheFirstOn),
        },
    ),
    *wrong(
        "running",
        {
            "with the event itself": valued(_running(lambda at: at)),
            "the event before alone": valued(_running(lambda at: at[-2:-1])),
            "without the first event": valued(_running(lambda at: at[1:-1])),
        },
    ),
)


# ---- aggregates ----
# Mutants that take one aggregate for another.


def _computed(function: str, operation: Operation) -> Answers:
    """The aggregate computed in another way."""
    return _instead(function, lambda a: replace(a, function="wrong", parameter=None), {"wrong": operation})


def _named(function: str, other: str) -> Answers:
    """One function taken for another."""
    return _instead(function, lambda a: replace(a, function=other))


def _instead(
    function: str, change: Callable[[sase.SaseAggregate], sase.SaseAggregate], operations: Operations = NO_OPERATIONS
) -> Answers:
    """An aggregate taken for another, in all clauses; the results keep their names."""

    def attribute(a: Attribute) -> Attribute:
        return change(a) if isinstance(a, sase.SaseAggregate) and a.function == function else a

    def term(t: Term) -> Term:
        if isinstance(t, Arithmetic):
            return Arithmetic(t.operator, term(t.left), term(t.right))
        return attribute(t) if isinstance(t, Attribute) else t

    def conjunct(c: sase.Conjunct) -> sase.Conjunct:
        if isinstance(c.condition, sase.Equivalence):
            return c
        return replace(c, condition=mapped_predicate(c.condition, attribute))

    def other(q: sase.SaseQuery) -> sase.SaseQuery:
        items = tuple(
            sase.Item(sase.Simple(term(item.output.term)), name) if isinstance(item.output, sase.Simple) else item
            for item, name in zip(q.returned.items, names_of(q.returned), strict=True)
        )
        if all(a.output == b.output for a, b in zip(items, q.returned.items, strict=True)):
            items = q.returned.items
        having = None if q.having is None else mapped_predicate(q.having, attribute)
        return replace(with_conjuncts(conjunct, q), having=having, returned=replace(q.returned, items=items))

    return read(other, operations)


def _of_different(value: Callable[[frozenset[Any]], Any]) -> Operation:
    """Of each value once."""
    return Operation(frozenset(), lambda v: frozenset([v]), frozenset.union, value)


def _zero_if_none(function: Callable[[Iterable[Any]], Any]) -> Operation:
    return Operation((), lambda v: (v,), lambda a, b: a + b, lambda state: function(state) if state else 0)


FLOORED = Operation(
    (0, 0), lambda v: (v, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s: s[0] // s[1] if s[1] else None
)

AGGREGATES = wrong(
    "aggregate",
    {
        "sum of different values": _computed("sum", _of_different(sum)),
        "avg rounded down": _computed("avg", FLOORED),
        "avg is sum": _named("avg", "sum"),
        "count of all events": _instead("count", lambda a: replace(a, name="")),
        "min of nothing is 0": _computed("min", _zero_if_none(min)),
        "max of nothing is 0": _computed("max", _zero_if_none(max)),
        "min and max": _named("min", "max"),
        "highest of different values": _computed(
            "highest", _of_different(lambda state: sorted(state, reverse=True)[1] if len(state) > 1 else None)
        ),
        "highest counted from the other end": _named("highest", "lowest"),
        "highest is max": _instead("highest", lambda a: replace(a, function="max", parameter=None)),
        "lowest is min": _instead("lowest", lambda a: replace(a, function="min", parameter=None)),
    },
)


# ---- strategies ----
# Mutants that get wrong what may be passed over: equivalence tests, the four strategies, and several in one query.

Rule: TypeAlias = Callable[[SaseDefinition, Chosen, int, int], bool]
"""Whether the event at the second position may be skipped, while the component of the first number is awaited."""

SC, PC, SN, SA = sase.STRATEGIES


def _agreeing(inside: bool) -> type[SaseDefinition]:
    """[x] holds among the events of a Kleene plus alone, or between components alone."""

    class Agreeing(SaseDefinition):
        def selects(self, chosen: Chosen, k: int, p: int) -> bool:
            tests = self.tests
            self.tests = tests if _is_inside(chosen, k) == inside else []
            try:
                return super().selects(chosen, k, p)
            finally:
                self.tests = tests

    return Agreeing


def _is_inside(chosen: Chosen, k: int) -> bool:
    """Whether a Kleene plus goes on."""
    return bool(chosen) and chosen[-1][0] == k


def _skips(strategy: sase.Strategy, rule: Rule) -> Answers:
    """Another rule for what may be skipped, for the components of one strategy."""

    class Skipping(SaseDefinition):
        def skips(self, chosen: Chosen, k: int, r: int) -> bool:
            if clauses.strategy_of(self.q, self.pattern[k].variable) == strategy:
                return rule(self, chosen, k, r)
            return super().skips(chosen, k, r)

    return by(Skipping)


def _irrelevant(inside: bool, elsewhere: bool) -> Rule:
    """What cannot be selected is skipped, inside a Kleene plus or between components; elsewhere all, or nothing."""
    return lambda d, chosen, k, r: not d.selects(chosen, k, r) if _is_inside(chosen, k) == inside else elsewhere


def _other_types(d: SaseDefinition, chosen: Chosen, k: int, r: int) -> bool:
    return d.S[r].type != d.pattern[k].type


def _partition_of_types(d: SaseDefinition, chosen: Chosen, k: int, r: int) -> bool:
    return not d.in_partition(chosen, k, r) or _other_types(d, chosen, k, r)


def _of_another_value(d: SaseDefinition, chosen: Chosen, k: int, r: int) -> bool:
    """An event that has none of the attributes belongs to every partition."""
    return any(d.S[r].get(x) is not None for x in d.tests) and not d.in_partition(chosen, k, r)


class _KleeneSkipsForTheNext(SaseDefinition):
    """What lies before the next component is skipped by the strategy of the component before it."""

    def comes_next(self, chosen: Chosen, p: int) -> bool:
        k = chosen[-1][0]
        before = clauses.strategy_of(self.q, self.pattern[k].variable)

        def skipped(r: int) -> bool:
            return before == SA or (before != SC and self.skips(chosen, k + 1, r))

        return self.selects(chosen, k + 1, p) and any(all(map(skipped, range(t, p))) for t in self.stops(chosen, p))


STRATEGIES = (
    *wrong(
        "equivalence",
        {
            "ignored": conjuncts(lambda c: None if isinstance(c.condition, sase.Equivalence) else c),
            "absent values agree": axis("absent=null-equal"),
            "inside a Kleene plus only": by(_agreeing(inside=True)),
            "between components only": by(_agreeing(inside=False)),
        },
    ),
    *wrong(
        "strict",
        {
            "skip till next match": strategy(SC, SN),
            "skip till any match": strategy(SC, SA),
            "inside a Kleene plus only": _skips(SC, _irrelevant(inside=False, elsewhere=False)),
            "between components only": _skips(SC, _irrelevant(inside=True, elsewhere=False)),
            "other types do not count": axis("strategy@strict=other-types"),
        },
    ),
    *wrong(
        "partition",
        {
            "strict": strategy(PC, SC),
            "skip till next match": strategy(PC, SN),
            "types are partitions": _skips(PC, _partition_of_types),
            "what is underlined does not count": conjuncts(
                lambda c: replace(c, underlined=isinstance(c.condition, sase.Equivalence))
            ),
            "absent values belong to it": _skips(PC, _of_another_value),
        },
    ),
    *wrong(
        "next",
        {
            "skip till any match": strategy(SN, SA),
            "strict": strategy(SN, SC),
            "any match inside a Kleene plus": _skips(SN, _irrelevant(inside=False, elsewhere=True)),
            "any match between components": _skips(SN, _irrelevant(inside=True, elsewhere=True)),
            "other types are skipped alone": axis("strategy@next=other-types"),
            "strict between components": _skips(SN, _irrelevant(inside=True, elsewhere=False)),
        },
    ),
    *wrong(
        "any",
        {
            "skip till next match": strategy(SA, SN),
            "strict": strategy(SA, SC),
            "next match inside a Kleene plus": _skips(SA, _irrelevant(inside=True, elsewhere=True)),
            "next match between components": _skips(SA, _irrelevant(inside=False, elsewhere=True)),
        },
    ),
    *wrong(
        "mixed",
        {
            "the first strategy for all": strategies(lambda said: said[:1] * len(said)),
            "the last strategy for all": strategies(lambda said: said[-1:] * len(said)),
            "strategies exchanged": strategies(lambda said: said[::-1]),
            "the component before skips": by(_KleeneSkipsForTheNext),
        },
    ),
)


# ---- stopping ----
# Mutants that get wrong when a Kleene plus, or a match, is over: its last event, `!`, its stop, and the window.


def _has_stopped(d: SaseDefinition, chosen: Chosen, t: int) -> bool:
    return t == len(d.S) or not (d.passes(chosen, t) or d.selects(chosen, chosen[-1][0], t))


class _EndsWhenStopped(SaseDefinition):
    """The condition on the last event is asked for, and that the Kleene plus has stopped."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        return super().may_stop(chosen, t) and (not self.ends(chosen[-1][0]) or _has_stopped(self, chosen, t))


class _StoppedIsEnough(SaseDefinition):
    """A Kleene plus that has stopped needs no condition on its last event."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        return super().may_stop(chosen, t) or _has_stopped(self, chosen, t)


def _uncut(q: sase.SaseQuery) -> sase.SaseQuery:
    return where(lambda b: replace(b, arguments=tuple(replace(s, cut=False) for s in b.arguments)), q)


def _all_cut(q: sase.SaseQuery) -> sase.SaseQuery:
    arrays = {k.variable for k in q.pattern if k.kleene and not k.negated}
    return where(lambda b: replace(b, arguments=tuple(replace(s, cut=s.variable in arrays) for s in b.arguments)), q)


class _CutTakesToo(SaseDefinition):
    """`!` stops a Kleene plus after the event that belongs to the next component is taken."""

    def goes_on(self, chosen: Chosen, p: int) -> bool:
        k, last = chosen[-1]
        taken = self.selects(chosen, k, p) and self.next_selects(chosen, p)
        return super().goes_on(chosen, p) or (taken and all(self.passes(chosen, r) for r in range(last + 1, p)))


class _CutsAtAnyEnd(SaseDefinition):
    """`!` does nothing where a condition on the last event is given."""

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        return super().must_stop(chosen, t) and not self.ends(chosen[-1][0])


class _CutsOnlyEnds(SaseDefinition):
    """`!` does nothing but where a condition on the last event is given."""

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or not clauses.is_cut(self.q, self.pattern[k].variable):
            return super().must_stop(chosen, t)
        return _is_over(self, chosen, t)


class _NoAutoStop(SaseDefinition):
    """A Kleene plus before another component is left for an event of that alone."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or k == len(self.pattern) - 1:
            return super().may_stop(chosen, t)
        return t < len(self.S) and self.next_selects(chosen, t)


class _StopsAnywhere(SaseDefinition):
    def may_stop(self, chosen: Chosen, t: int) -> bool:
        return super().may_stop(chosen, t) if self.ends(chosen[-1][0]) else True


def _is_over(d: SaseDefinition, chosen: Chosen, t: int) -> bool:
    """Whether the event there comes after the window."""
    return t < len(d.S) and d.spans(chosen[0][1], t) is False


class _WindowDoesNotStop(SaseDefinition):
    def must_stop(self, chosen: Chosen, t: int) -> bool:
        return not _is_over(self, chosen, t) and super().must_stop(chosen, t)

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        kept_open = _is_over(self, chosen, t) and not self.ends(chosen[-1][0])
        return not kept_open and super().may_stop(chosen, t)


class _WindowOfNeighbours(SaseDefinition):
    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        inside = not chosen or self.q.within is None or self.spans(chosen[-1][1], p) is True
        return inside and super().selects(chosen, k, p)

    def in_window(self, first: int, p: int) -> bool:
        return True


class _WindowOfPositions(SaseDefinition):
    def spans(self, first: int, p: int) -> bool | None:
        return None if self.q.within is None else p - first < self.q.within.seconds


class _NoTimeIsInside(SaseDefinition):
    def in_window(self, first: int, p: int) -> bool:
        return self.q.within is None or self.spans(first, p) is not False


def _in_seconds(q: sase.SaseQuery) -> sase.SaseQuery:
    return q if q.within is None else replace(q, within=replace(q.within, unit="seconds"))


STOPPING = (
    *wrong(
        "end",
        {
            "of every event": placing("last", "current", on="end"),
            "ignored": without("end"),
            "and the Kleene plus has stopped": by(_EndsWhenStopped),
            "or the Kleene plus has stopped": by(_StoppedIsEnough),
        },
    ),
    *wrong(
        "cut",
        {
            "ignored": read(_uncut),
            "of every Kleene plus": read(_all_cut),
            "takes the next component's event too": by(_CutTakesToo),
            "not at a condition on the last event": by(_CutsAtAnyEnd),
            "at a condition on the last event only": by(_CutsOnlyEnds),
        },
    ),
    *wrong(
        "stop",
        {
            "for the next component only": by(_NoAutoStop),
            "anywhere": by(_StopsAnywhere),
            "the window does not stop": by(_WindowDoesNotStop),
        },
    ),
    *wrong(
        "within",
        {
            "ignored": read(lambda q: replace(q, within=None)),
            "between neighbours": by(_WindowOfNeighbours),
            "counts events": by(_WindowOfPositions),
            "always seconds": read(_in_seconds),
            "no time is inside": by(_NoTimeIsInside),
        },
    ),
)


# ---- negation ----
# Mutants that get negation wrong: what must not be there, and where.


class _Never(SaseAbsences):
    def forbid(self, M: Bindings) -> bool:
        return False


class _OfTypeAlone(SaseAbsences):
    def satisfy(self, *_: Any) -> bool:
        return True


class _NoTests(SaseAbsences):
    def agrees(self, *_: Any) -> bool:
        return True


class _Touching(SaseAbsences):
    """The scope has the neighbours' events."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        near = {p for _, places in M for p in places}
        return None if scope is None else sorted({*scope, *(p for p in near if {p - 1, p + 1} & set(scope))})


class _FirstOfTypeAlone(SaseAbsences):
    """Only the first event of the type in the scope is looked at."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        return scope if scope is None else [p for p in scope if self.S[p].type == k.type][:1]


class _InTheWholeMatch(SaseAbsences):
    """A negated component between others is looked for from the first event of the match to its last."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        bound = {p for _, places in M for p in places}
        if k == self.q.pattern[0] or _is_last(self, k):
            return super().scope(k, M)
        return [p for p in range(min(bound), max(bound) + 1) if p not in bound]


class _NoEnd(SaseAbsences):
    """Conditions on the whole of a negated Kleene plus are not asked for."""

    def satisfy(self, k: sase.Component, M: Bindings, series: tuple[int, ...], edges: Any, only: Any = None) -> bool:
        return edges == ("end",) or super().satisfy(k, M, series, edges, only)


class _NothingInFront(SaseAbsences):
    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        return self.q.pattern.index(k) > 0 and super().is_there(k, M)


class _NothingAtTheEnd(SaseAbsences):
    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        return not _is_last(self, k) and super().is_there(k, M)


class _ToTheEndOfTheStream(SaseAbsences):
    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        return list(range(M[-1][1][-1] + 1, len(self.S))) if _is_last(self, k) else super().scope(k, M)


class _WindowOfTheLast(SaseAbsences):
    """At the end, the window is counted from the last event of the match."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        if not _is_last(self, k) or self.q.within is None:
            return super().scope(k, M)
        last = M[-1][1][-1]
        return [p for p in range(last + 1, len(self.S)) if self.spans(self.q.within, last, p)]


def _is_last(absences: SaseAbsences, k: sase.Component) -> bool:
    return absences.q.pattern.index(k) == len(absences.q.pattern) - 1


def _one_event(q: sase.SaseQuery) -> sase.SaseQuery:
    """A negated Kleene plus is read as one event; conditions that need the array are left out."""
    single = {k.variable for k in q.pattern if k.kleene and k.negated}
    pattern = tuple(replace(k, kleene=k.kleene and k.variable not in single) for k in q.pattern)

    def only(a: Attribute) -> Attribute:
        return replace(a, place="only") if isinstance(a, sase.Reference) and a.variable in single else a

    def kept(c: sase.Conjunct) -> sase.Conjunct | None:
        if isinstance(c.condition, sase.Equivalence) or not clauses.variables(c.condition) & single:
            return c
        if edge_of(c, q) not in ("first", "each"):
            return None
        return replace(c, condition=mapped_predicate(c.condition, only))

    return replace(with_conjuncts(kept, q), pattern=pattern)


NEGATION = (
    *wrong(
        "negation",
        {
            "ignored": absent(_Never),
            "conditions ignored": absent(_OfTypeAlone),
            "equivalence tests ignored": absent(_NoTests),
            "with the neighbours' events": absent(_Touching),
            "right after only": axis("negation=next"),
            "the first of the type only": absent(_FirstOfTypeAlone),
            "in the whole match": absent(_InTheWholeMatch),
        },
    ),
    *wrong("negated-kleene", {"one event": read(_one_event), "conditions on the whole ignored": absent(_NoEnd)}),
    *wrong("negation-front", {"ignored": absent(_NothingInFront), "right before only": axis("negation=next")}),
    *wrong(
        "negation-end",
        {
            "ignored": absent(_NothingAtTheEnd),
            "to the end of the stream": absent(_ToTheEndOfTheStream),
            "the window from the last event": absent(_WindowOfTheLast),
        },
    ),
)


# ---- results ----
# Mutants that find the right bindings and answer something else: HAVING, RETURN, NON-OVERLAP, UNION, composition.


def _result(change: Callable[[str, Any], tuple[str, Any] | None]) -> Answers:
    """Results with other attributes."""

    def changed(m: Match) -> Match:
        given = [] if m.result is None else [change(*item) for item in m.result.attributes.items()]
        return replace(m, result=result_of(dict(item for item in given if item is not None)))

    return answered(changed)


def _without_names(q: sase.SaseQuery) -> sase.SaseQuery:
    items = tuple(replace(item, alias=None) for item in q.returned.items)
    return replace(q, returned=replace(q.returned, items=items))


def _all_in_one(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterable[Bindings]:
    """NON-OVERLAP with all matches in one partition."""
    if not q.returned.non_overlap:
        return found
    if q.having is not None:
        found = [M for M in found if satisfied(q.having, value_of(dict(M), S))]
    untested = with_conjuncts(lambda c: None if isinstance(c.condition, sase.Equivalence) else c, q)
    return interpreter.without_overlap(untested, found, S, DECIDED)


def _before_having(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterable[Bindings]:
    return interpreter.without_overlap(q, found, S, DECIDED) if q.returned.non_overlap else found


def _sharing(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterable[Bindings]:
    """Two matches overlap if they share an event."""
    return consuming(q, S, found) if q.returned.non_overlap else found


def _part(pick: int) -> Answers:
    """One part of a UNION only."""

    def part(q: Any) -> Any:
        match q:
            case sase.SaseUnion(parts):
                return parts[pick]
            case sase.Program(queries):
                return sase.Program(tuple(map(part, queries)))
        return q

    return asked(part)


def _time_of_the_first(q: sase.SaseQuery) -> sase.SaseQuery:
    """Result events that another query reads have the time of the first event of their match."""
    if q.returned.stream is None:
        return q
    k = clauses.positive(q)[0]
    time = sase.Reference(TIME, k.variable, "first" if k.kleene else "only")
    return replace(q, returned=replace(q.returned, items=(*q.returned.items, sase.Item(sase.Simple(time), TIME))))


def _derived(change: Callable[[Stream], list[int]]) -> Answers:
    """A derived stream with some of its events only, or in another order."""

    def find(
        q: sase.SaseQuery, S: Stream, reading: Reading, budget: Budget, operations: Operations
    ) -> Iterable[Bindings]:
        if q.source is None:
            return bindings(q, S, reading, budget, operations)
        order = change(S)
        found = bindings(q, Stream([S[p] for p in order], S.schema), reading, budget, operations)
        return {tuple((a, tuple(sorted(order[p] for p in at))) for a, at in M) for M in found}

    return finding(find)


def _different(S: Stream) -> list[int]:
    """Result events that are equal are one."""

    def said(event: Event) -> object:
        return event.type, tuple(sorted((name, repr(v)) for name, v in event.attributes.items() if name != TIME))

    return [p for p, event in enumerate(S) if said(event) not in map(said, S[:p])]


def _inner_having(q: sase.SaseQuery) -> sase.SaseQuery:
    return q if q.returned.stream is None else replace(q, having=None)


RESULTS = (
    *wrong("having", {"ignored": read(lambda q: replace(q, having=None))}),
    *wrong(
        "return",
        {
            "series backwards": _result(lambda name, v: (name, v[::-1] if isinstance(v, list) else v)),
            "the first of a series": _result(lambda name, v: (name, v[:1] if isinstance(v, list) else v)),
            "absent values left out": _result(lambda name, v: None if v is None else (name, v)),
            "AS ignored": read(_without_names),
        },
    ),
    *wrong(
        "non-overlap",
        {
            "ignored": read(lambda q: replace(q, returned=replace(q.returned, non_overlap=False))),
            "one partition": kept(_all_in_one),
            "before HAVING": kept(_before_having),
            "events shared": kept(_sharing),
        },
    ),
    *wrong("union", {"the first part": _part(0), "the last part": _part(-1)}),
    *wrong(
        "composition",
        {
            "the time of the first event": read(_time_of_the_first),
            "equal results are one event": _derived(_different),
            "HAVING of the first query ignored": read(_inner_having),
            "backwards": _derived(lambda S: list(range(len(S)))[::-1]),
        },
    ),
    *wrong("values", {"absent is 0": axis("absent=zero")}),
)


# ---- readings ----
# The other readings of what the papers leave open: not wrong, but not ours.

READING_FEATURE = "reading-"


def _answered(reading: Reading) -> Answers:
    return lambda q, S: interpreter.matches_of(q, S, bindings, reading, BUDGET)


READINGS = tuple(
    SaseMutant(f"{READING_FEATURE}{name}: {answer}", _answered(reading))
    for (name, answer), reading in vary_reading(DECIDED).items()
)


# ----   init   ----
# Wrong semantics of SASE+.
#
# Other readings of what the papers leave open stand beside them: they are not wrong, but a case has to tell them from
# ours.

__all__ = ["MEANING", "MUTANTS", "READINGS", "READING_FEATURE", "SaseMutant"]

MUTANTS: tuple[SaseMutant, ...] = (
    *PATTERNS,
    *CONDITIONS,
    *AGGREGATES,
    *STRATEGIES,
    *STOPPING,
    *NEGATION,
    *RESULTS,
)
