"""Wrong semantics of SASE+, on purpose: each departs from the meaning in one way that an engine might.

The cases of the suite are chosen so that every mutant gives a wrong answer on some of them. Their names begin with the
feature that they get wrong. Other readings of what the papers leave open stand beside them: they are not wrong, but a
case has to tell them from ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, get_args, get_type_hints

from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Event, Match, Stream, Value, result_of
from cerify.semantics.predicates import Arithmetic, Attribute, Predicate, Term, mapped_predicate, satisfied
from cerify.semantics.sase import clauses, program
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.absence import Absences
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operation, Operations
from cerify.semantics.sase.conditions import Bindings, Bound, Edge, placed, value_of
from cerify.semantics.sase.denote import Chosen, Conditions, Definition, bindings
from cerify.semantics.sase.program import Finder
from cerify.semantics.sase.reading import DECIDED, Reading
from cerify.semantics.sase.results import names_of

BUDGET = Budget(valuations=20_000, matches=2_000)
Answers: TypeAlias = Callable[[sase.Tree, Stream], "list[Match] | None"]
READING_FEATURE = "reading-"


@dataclass(frozen=True)
class Mutant:
    """One way to be wrong: the answers of that engine, None where it is not another one on that query."""

    name: str
    answers: Answers


def answers(q: sase.Tree, S: Stream, mutant: Mutant | None = None) -> list[Match] | None:
    """The matches by the meaning, or by a mutant of it; None where it does not get that far."""
    try:
        return program.matches_of(q, S, bindings, budget=BUDGET) if mutant is None else mutant.answers(q, S)
    except CerifyError:
        return None


# --- ways to be wrong -------------------------------------------------------------------------------------------------


def _finding(find: Finder, q: sase.Tree, S: Stream) -> list[Match]:
    return program.matches_of(q, S, find, budget=BUDGET)


def _by(definition: type[Definition]) -> Answers:
    """Another definition of what the bindings are."""

    def find(q: sase.Query, S: Stream, reading: Reading, budget: Budget, operations: Operations) -> Iterable[Bindings]:
        return set(definition(q, S, reading, budget, operations).matches())

    return partial(_finding, find)


def _absent(absences: type[Absences]) -> Answers:
    """Another meaning of negation."""

    class Wrong(Definition):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.absences = absences(self.q, self.S, self.reading, self.operations, self._look)

    return _by(Wrong)


def _valued(value: Callable[[Attribute, Bound, Stream], Value | None]) -> Answers:
    """Another value of the references and aggregates of WHERE."""

    class Wrong(Definition):
        def satisfied(self, c: Predicate, bound: dict[str, tuple[int, ...]]) -> bool:
            return satisfied(c, lambda attribute: value(attribute, bound, self.S))

    return _by(Wrong)


def _kept(keep: Callable[[sase.Query, Stream, list[Bindings]], Iterable[Bindings]]) -> Answers:
    """Some of the right bindings."""

    def find(q: sase.Query, S: Stream, reading: Reading, budget: Budget, operations: Operations) -> Iterable[Bindings]:
        return keep(q, S, sorted(bindings(q, S, reading, budget, operations)))

    return partial(_finding, find)


def _read(other: Callable[[sase.Query], sase.Query], operations: Operations = NO_OPERATIONS) -> Answers:
    """Every query block is read as another one."""

    def answered(q: sase.Tree, S: Stream) -> list[Match] | None:
        instead = _blocks(q, other)
        return None if instead == q else program.matches_of(instead, S, bindings, budget=BUDGET, operations=operations)

    return answered


def _blocks(q: sase.Tree, other: Callable[[sase.Query], sase.Query]) -> sase.Tree:
    match q:
        case sase.Query():
            return other(q)
        case sase.Union(parts):
            return sase.Union(tuple(map(other, parts)))
        case sase.Program(queries):
            return sase.Program(tuple(_blocks(query, other) for query in queries))  # type: ignore[misc]


def _answered(change: Callable[[Match], Match]) -> Answers:
    """Another answer for each of the right matches."""
    return lambda q, S: sorted({change(m) for m in program.matches_of(q, S, bindings, budget=BUDGET)})


def _result(change: Callable[[str, Any], tuple[str, Any] | None]) -> Answers:
    """Results with other attributes."""

    def changed(m: Match) -> Match:
        given = [] if m.result is None else [change(*item) for item in m.result.attributes.items()]
        return replace(m, result=result_of(dict(item for item in given if item is not None)))

    return _answered(changed)


def _reading(name: str, choice: str) -> Mutant:
    """Another reading."""
    reading = replace(DECIDED, **{name: choice})  # type: ignore[arg-type]
    return Mutant(
        f"{READING_FEATURE}{name}: {choice}",
        lambda q, S: program.matches_of(q, S, bindings, reading, BUDGET),
    )


# --- queries read as others -------------------------------------------------------------------------------------------


def _where(block: Callable[[sase.Block], sase.Block], q: sase.Query) -> sase.Query:
    return replace(q, where=tuple(map(block, q.where)))


def _strategy(old: sase.Strategy, new: sase.Strategy) -> Answers:
    """One strategy taken for another, also where none is written."""

    def other(q: sase.Query) -> sase.Query:
        named = _where(lambda b: replace(b, strategy=new) if b.strategy == old else b, q)
        bare = not q.where or any(b.strategy is None for b in q.where)
        if old != sase.DEFAULT or not bare:
            return named
        given = tuple(c for b in q.where for c in b.conjuncts)
        return replace(q, where=(sase.Block(new, tuple(sase.Selected(k.variable) for k in q.pattern), given),))

    return _read(other)


def _strategies(chosen: Callable[[list[sase.Strategy]], list[sase.Strategy]]) -> Answers:
    """The strategies of a query that has several, in other places."""

    def other(q: sase.Query) -> sase.Query:
        said = [b.strategy or sase.DEFAULT for b in q.where]
        if len(said) < 2:
            return q
        blocks = zip(q.where, chosen(said), strict=True)
        return replace(q, where=tuple(replace(b, strategy=strategy) for b, strategy in blocks))

    return _read(other)


def _conjuncts(keep: Callable[[sase.Conjunct, sase.Query], sase.Conjunct | None]) -> Answers:
    """Conjuncts of WHERE changed, or left out."""

    def other(q: sase.Query) -> sase.Query:
        return _where(lambda b: replace(b, conjuncts=tuple(d for c in b.conjuncts if (d := keep(c, q)) is not None)), q)

    return _read(other)


def _conditions(
    change: Callable[[Attribute], Attribute], on: tuple[Edge, ...] = ("first", "each", "later", "end")
) -> Answers:
    """Other references in the conditions that are looked at on those edges."""

    def changed(c: sase.Conjunct, q: sase.Query) -> sase.Conjunct:
        if isinstance(c.condition, sase.Equivalence) or placed(c.condition, q.pattern).edge not in on:
            return c
        return replace(c, condition=mapped_predicate(c.condition, change))

    return _conjuncts(changed)


def _place(old: sase.Place, new: sase.Place) -> Callable[[Attribute], Attribute]:
    return lambda a: replace(a, place=new) if isinstance(a, sase.Reference) and a.place == old else a


def _aggregate(function: str, change: Callable[[sase.Aggregate], sase.Aggregate] | Operation) -> Answers:
    """An aggregate taken for another, in all clauses; the results keep their names."""
    if isinstance(change, Operation):
        return _aggregate_as(function, lambda a: replace(a, function="wrong", parameter=None), {"wrong": change})
    return _aggregate_as(function, change, NO_OPERATIONS)


def _aggregate_as(function: str, change: Callable[[sase.Aggregate], sase.Aggregate], operations: Operations) -> Answers:
    def attribute(a: Attribute) -> Attribute:
        return change(a) if isinstance(a, sase.Aggregate) and a.function == function else a

    def term(t: Term) -> Term:
        if isinstance(t, Arithmetic):
            return Arithmetic(t.operator, term(t.left), term(t.right))
        return attribute(t) if isinstance(t, Attribute) else t

    def conjunct(c: sase.Conjunct) -> sase.Conjunct:
        if isinstance(c.condition, sase.Equivalence):
            return c
        return replace(c, condition=mapped_predicate(c.condition, attribute))

    def other(q: sase.Query) -> sase.Query:
        items = tuple(
            sase.Item(sase.Simple(term(item.output.term)), name) if isinstance(item.output, sase.Simple) else item
            for item, name in zip(q.returned.items, names_of(q.returned), strict=True)
        )
        if all(a == b or a.output == b.output for a, b in zip(items, q.returned.items, strict=True)):
            items = q.returned.items
        changed = _where(lambda b: replace(b, conjuncts=tuple(map(conjunct, b.conjuncts))), q)
        having = None if q.having is None else mapped_predicate(q.having, attribute)
        return replace(changed, having=having, returned=replace(q.returned, items=items))

    return _read(other, operations)


def _returned(**changes: Any) -> Callable[[sase.Query], sase.Query]:
    return lambda q: replace(q, returned=replace(q.returned, **changes))


def _without_kleene(negated: bool) -> Callable[[sase.Query], sase.Query]:
    """A negated Kleene plus is read as one event; conditions that need the array fail."""

    def one(q: sase.Query) -> sase.Query:
        single = {k.variable for k in q.pattern if k.kleene and k.negated == negated}
        if not single:
            return q
        pattern = tuple(replace(k, kleene=k.kleene and k.variable not in single) for k in q.pattern)

        def only(a: Attribute) -> Attribute:
            return replace(a, place="only") if isinstance(a, sase.Reference) and a.variable in single else a

        def kept(c: sase.Conjunct) -> sase.Conjunct | None:
            if isinstance(c.condition, sase.Equivalence):
                return c
            edge = placed(c.condition, q.pattern).edge
            about = bool(clauses.variables(c.condition) & single)
            if about and edge not in ("first", "each"):
                return None
            return replace(c, condition=mapped_predicate(c.condition, only)) if about else c

        where = tuple(
            replace(b, conjuncts=tuple(d for c in b.conjuncts if (d := kept(c)) is not None)) for b in q.where
        )
        return replace(q, pattern=pattern, where=where)

    return one


# --- other definitions ------------------------------------------------------------------------------------------------


class _AnyType(Definition):
    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        if chosen and not self.in_window(chosen[0][1], p):
            return False
        return self.agrees(chosen, p, self.tests) and self.satisfies(chosen, k, p, self.conditions)


class _SharedEvent(Definition):
    """An event may be the last of one component and the first of the next."""

    def following(self, chosen: Chosen) -> Iterator[tuple[int, int]]:
        yield from super().following(chosen)
        if chosen and chosen[-1][0] + 1 < len(self.pattern) and self.selects(chosen, chosen[-1][0] + 1, chosen[-1][1]):
            yield chosen[-1][0] + 1, chosen[-1][1]


class _Greedy(Definition):
    """A Kleene plus is left only where it can go on no longer."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or t == len(self.S):
            return super().may_stop(chosen, t)
        return super().may_stop(chosen, t) and (self.must_stop(chosen, t) or not self.selects(chosen, k, t))


class _Once(Definition):
    def goes_on(self, chosen: Chosen, p: int) -> bool:
        return False


class _NotOfTheFirst(Definition):
    """a[i] speaks of i > 1."""

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        if (chosen and chosen[-1][0] == k) or not self.pattern[k].kleene:
            return super().satisfies(chosen, k, p, conditions)
        first = {place: said for place, said in conditions.items() if place[1] != "each"}
        return super().satisfies(chosen, k, p, first)


class _LaterFromTheFirstOn(Definition):
    """a[i-1] and a[..i-1] are asked for of the first event too."""

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        bound = dict(self.bindings((*chosen, (k, p))))
        return super().satisfies(chosen, k, p, conditions) and all(
            self.satisfied(c, bound) for c in conditions.get((k, "later"), ())
        )


class _AbsentAgrees(Definition):
    def agrees(self, chosen: Chosen, p: int, tests: Iterable[str]) -> bool:
        last = self.S[chosen[-1][1]] if chosen else self.S[p]
        return all(self.S[p].get(x) == last.get(x) for x in tests)


class _AgreesInside(Definition):
    """[x] holds among the events of a Kleene plus alone."""

    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        tests, self.tests = self.tests, self.tests if chosen and chosen[-1][0] == k else []
        try:
            return super().selects(chosen, k, p)
        finally:
            self.tests = tests


class _AgreesBetween(Definition):
    """[x] holds between components alone."""

    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        tests, self.tests = self.tests, [] if chosen and chosen[-1][0] == k else self.tests
        try:
            return super().selects(chosen, k, p)
        finally:
            self.tests = tests


class _Skipping(Definition):
    """Another rule for what may be skipped, for the components of one strategy."""

    strategy: sase.Strategy

    def skips(self, chosen: Chosen, k: int, r: int) -> bool:
        if clauses.strategy_of(self.q, self.pattern[k].variable) == self.strategy:
            return self.instead(chosen, k, r)
        return super().skips(chosen, k, r)

    def instead(self, chosen: Chosen, k: int, r: int) -> bool:
        raise NotImplementedError

    def inside(self, chosen: Chosen, k: int) -> bool:
        """Whether a Kleene plus goes on."""
        return chosen[-1][0] == k


def _skips(strategy: sase.Strategy, rule: Callable[[_Skipping, Chosen, int, int], bool]) -> Answers:
    kind = type("_Wrong", (_Skipping,), {"strategy": strategy, "instead": rule})
    return _by(kind)


def _strict_inside(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    return not d.inside(chosen, k) and not d.selects(chosen, k, r)


def _strict_between(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    return d.inside(chosen, k) and not d.selects(chosen, k, r)


def _other_types(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    return d.S[r].type != d.pattern[k].type


def _partition_of_types(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    return not d.in_partition(chosen, k, r) or d.S[r].type != d.pattern[k].type


def _next_inside(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    return not d.inside(chosen, k) or not d.selects(chosen, k, r)


def _next_between(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    return d.inside(chosen, k) or not d.selects(chosen, k, r)


def _relevant_inside(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    return d.inside(chosen, k) and not d.selects(chosen, k, r)


def _first_agrees(d: _Skipping, chosen: Chosen, k: int, r: int) -> bool:
    """The partition is that of an event which says nothing: it is skipped if it lacks an attribute, else never."""
    return all(d.S[r].get(x) is None for x in d.tests)


class _KleeneSkipsForTheNext(Definition):
    """What lies before the next component is skipped by the strategy of the component before it."""

    def comes_next(self, chosen: Chosen, p: int) -> bool:
        k = chosen[-1][0]
        if not self.selects(chosen, k + 1, p):
            return False
        before = clauses.strategy_of(self.q, self.pattern[k].variable)
        return any(
            all(before == "skip_till_any_match" or (before != "strict_contiguity" and self.skips(chosen, k + 1, r))
                for r in range(t, p))
            for t in self.stops(chosen, p)
        )  # fmt: skip


class _EndsWhenStopped(Definition):
    """The condition on the last event is asked for, and that the Kleene plus has stopped."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        stopped = t == len(self.S) or not (self.passes(chosen, t) or self.selects(chosen, k, t))
        return super().may_stop(chosen, t) and (not self.ends(k) or stopped)


class _StoppedIsEnough(Definition):
    """A Kleene plus that has stopped needs no condition on its last event."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        stopped = t == len(self.S) or not (self.passes(chosen, t) or self.selects(chosen, k, t))
        return super().may_stop(chosen, t) or stopped


class _NoAutoStop(Definition):
    """A Kleene plus before another component is left for an event of that alone."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or k == len(self.pattern) - 1:
            return super().may_stop(chosen, t)
        return t < len(self.S) and self.next_selects(chosen, t)


class _StopsAnywhere(Definition):
    def may_stop(self, chosen: Chosen, t: int) -> bool:
        return super().may_stop(chosen, t) if self.ends(chosen[-1][0]) else True


class _WindowDoesNotStop(Definition):
    def must_stop(self, chosen: Chosen, t: int) -> bool:
        if t < len(self.S) and self.spans(chosen[0][1], t) is False:
            return False
        return super().must_stop(chosen, t)

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        over = t < len(self.S) and self.spans(chosen[0][1], t) is False
        return False if over and not self.ends(chosen[-1][0]) else super().may_stop(chosen, t)


class _CutTakesToo(Definition):
    """`!` stops a Kleene plus after the event that belongs to the next component is taken."""

    def goes_on(self, chosen: Chosen, p: int) -> bool:
        k, last = chosen[-1]
        taken = self.selects(chosen, k, p) and self.next_selects(chosen, p)
        return super().goes_on(chosen, p) or (taken and all(self.passes(chosen, r) for r in range(last + 1, p)))


class _CutsAtAnyEnd(Definition):
    """`!` does nothing where a condition on the last event is given."""

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        return super().must_stop(chosen, t) and not self.ends(chosen[-1][0])


class _CutsOnlyEnds(Definition):
    """`!` does nothing but where a condition on the last event is given."""

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or not clauses.is_cut(self.q, self.pattern[k].variable):
            return super().must_stop(chosen, t)
        return t < len(self.S) and self.spans(chosen[0][1], t) is False


class _WindowOfNeighbours(Definition):
    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        inside = not chosen or self.q.within is None or self.spans(chosen[-1][1], p) is True
        return inside and super().selects(chosen, k, p)

    def in_window(self, first: int, p: int) -> bool:
        return True


class _WindowOfPositions(Definition):
    def spans(self, first: int, p: int) -> bool | None:
        return None if self.q.within is None else p - first < self.q.within.seconds


class _NoTimeIsInside(Definition):
    def in_window(self, first: int, p: int) -> bool:
        return self.q.within is None or self.spans(first, p) is not False


class _LaterTimes(Definition):
    """Two events of one match have different times."""

    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        same = (
            chosen and self.S[p].get("time") is not None and self.S[p].get("time") == self.S[chosen[-1][1]].get("time")
        )
        return not same and super().selects(chosen, k, p)


# --- negation ---------------------------------------------------------------------------------------------------------


class _OfTypeAlone(Absences):
    def satisfy(self, *_: Any) -> bool:
        return True


class _NoTests(Absences):
    def agrees(self, *_: Any) -> bool:
        return True


class _NoEnd(Absences):
    """Conditions on the whole of a negated Kleene plus are not asked for."""

    def satisfy(
        self,
        k: sase.Component,
        M: Bindings,
        series: tuple[int, ...],
        edges: tuple[Edge, ...],
        only: list[Predicate | sase.Equivalence] | None = None,
    ) -> bool:
        return edges == ("end",) or super().satisfy(k, M, series, edges, only)


class _Touching(Absences):
    """The scope has the neighbours' events."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        near = {p for _, places in M for p in places}
        return None if scope is None else sorted({*scope, *(p for p in near if {p - 1, p + 1} & set(scope))})


class _NextAlone(Absences):
    """Only what comes right after, or right before, counts."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        at = self.q.pattern.index(k)
        return scope if scope is None else scope[-1:] if at == 0 else scope[:1]


class _FirstOfTypeAlone(Absences):
    """Only the first event of the type in the scope is looked at."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        return scope if scope is None else [p for p in scope if self.S[p].type == k.type][:1]


class _InTheWholeMatch(Absences):
    """A negated component between others is looked for from the first event of the match to its last."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        at = self.q.pattern.index(k)
        bound = {p for _, places in M for p in places}
        if at in (0, len(self.q.pattern) - 1):
            return super().scope(k, M)
        return [p for p in range(min(bound), max(bound) + 1) if p not in bound]


class _NothingInFront(Absences):
    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        return self.q.pattern.index(k) > 0 and super().is_there(k, M)


class _NothingAtTheEnd(Absences):
    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        return self.q.pattern.index(k) < len(self.q.pattern) - 1 and super().is_there(k, M)


class _ToTheEndOfTheStream(Absences):
    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        last = self.q.pattern.index(k) == len(self.q.pattern) - 1
        return list(range(M[-1][1][-1] + 1, len(self.S))) if last else super().scope(k, M)


class _WindowOfTheLast(Absences):
    """At the end, the window is counted from the last event of the match."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        if self.q.pattern.index(k) < len(self.q.pattern) - 1 or self.q.within is None:
            return super().scope(k, M)
        last = M[-1][1][-1]
        return [p for p in range(last + 1, len(self.S)) if self.spans(self.q.within, last, p)]


# --- values -----------------------------------------------------------------------------------------------------------


def _absent_is_0(a: Attribute, bound: Bound, S: Stream) -> Value | None:
    value = value_of(bound, S)(a)
    return 0 if value is None else value


def _previous_in_stream(a: Attribute, bound: Bound, S: Stream) -> Value | None:
    if isinstance(a, sase.Reference) and a.place == "previous" and (at := bound.get(a.variable or "", ())):
        return S[at[-1] - 1].get(a.name) if at[-1] else None
    return value_of(bound, S)(a)


def _running(
    change: Callable[[tuple[int, ...]], tuple[int, ...]],
) -> Callable[[Attribute, Bound, Stream], Value | None]:
    """A running aggregate over other positions than all but the last."""

    def value(a: Attribute, bound: Bound, S: Stream) -> Value | None:
        if isinstance(a, sase.Aggregate) and a.running:
            at = change(tuple(bound.get(a.variable or "", ())))
            return value_of({**bound, a.variable or "": at}, S)(replace(a, running=False))
        return value_of(bound, S)(a)

    return value


# --- matches and results ----------------------------------------------------------------------------------------------


def _positions(M: Bindings) -> tuple[int, ...]:
    return program.positions_of(M)


def _consuming(q: sase.Query, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
    """No event belongs to two matches."""
    used: set[int] = set()
    for M in sorted(found, key=lambda M: (_positions(M)[-1], _positions(M))):
        if used.isdisjoint(_positions(M)):
            used.update(_positions(M))
            yield M


def _best(
    key: Callable[[Bindings], Any], best: Callable[[Sequence[Bindings]], Bindings]
) -> Callable[[sase.Query, Stream, list[Bindings]], Iterator[Bindings]]:
    """One match of those that have the same key."""

    def keep(q: sase.Query, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
        groups: dict[Any, list[Bindings]] = {}
        for M in found:
            groups.setdefault(key(M), []).append(M)
        return (best(group) for group in groups.values())

    return keep


def _longest(group: Sequence[Bindings]) -> Bindings:
    return max(group, key=lambda M: (len(_positions(M)), M))


def _shortest(group: Sequence[Bindings]) -> Bindings:
    return min(group, key=lambda M: (len(_positions(M)), M))


def _twice(q: sase.Query, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
    arrays = {k.variable for k in q.pattern if k.kleene}
    return (M for M in found if all(len(at) > 1 for variable, at in M if variable in arrays))


def _overlap(
    q: sase.Query, S: Stream, found: list[Bindings], partition: bool = True, having: bool = False
) -> Iterable[Bindings]:
    """NON-OVERLAP before HAVING, or with all matches in one partition."""
    if not q.returned.non_overlap:
        return found
    if having and q.having is not None:
        found = [M for M in found if satisfied(q.having, value_of(dict(M), S))]
    tested = tuple(
        replace(
            b,
            conjuncts=tuple(c for c in b.conjuncts if partition or not isinstance(c.condition, sase.Equivalence)),
        )
        for b in q.where
    )
    return program.without_overlap(replace(q, where=tested), found, S, DECIDED)


def _sharing(q: sase.Query, S: Stream, found: list[Bindings]) -> Iterable[Bindings]:
    """Two matches overlap if they share an event."""
    return _consuming(q, S, found) if q.returned.non_overlap else found


def _derived(change: Callable[[Stream], list[int]]) -> Answers:
    """A derived stream with some of its events only, or in another order."""

    def find(q: sase.Query, S: Stream, reading: Reading, budget: Budget, operations: Operations) -> Iterable[Bindings]:
        if q.source is None:
            return bindings(q, S, reading, budget, operations)
        order = change(S)
        found = bindings(q, Stream([S[p] for p in order], S.schema), reading, budget, operations)
        return {tuple((a, tuple(sorted(order[p] for p in at))) for a, at in M) for M in found}

    return partial(_finding, find)


def _different(S: Stream) -> list[int]:
    """Result events that are equal are one."""

    def said(event: Event) -> object:
        return event.type, tuple(sorted((name, repr(v)) for name, v in event.attributes.items() if name != "time"))

    return [p for p, event in enumerate(S) if said(event) not in map(said, S[:p])]


def _time_of_the_first(q: sase.Query) -> sase.Query:
    """Result events that another query reads have the time of the first event of their match."""
    if q.returned.stream is None:
        return q
    k = clauses.positive(q)[0]
    time = sase.Reference("time", k.variable, "first" if k.kleene else "only")
    return replace(q, returned=replace(q.returned, items=(*q.returned.items, sase.Item(sase.Simple(time), "time"))))


def _one_part(pick: int) -> Answers:
    def part(q: Any) -> Any:
        return q.parts[pick] if isinstance(q, sase.Union) else q

    def answered(q: sase.Tree, S: Stream) -> list[Match] | None:
        instead = sase.Program(tuple(map(part, q.queries))) if isinstance(q, sase.Program) else part(q)
        return None if instead == q else program.matches_of(instead, S, bindings, budget=BUDGET)

    return answered


def _inner_having(q: sase.Query) -> sase.Query:
    return q if q.returned.stream is None else replace(q, having=None)


def _distinct_sum() -> Operation:
    return Operation(frozenset(), lambda v: frozenset([v]), frozenset.union, lambda state: sum(state))


def _second_of_different() -> Operation:
    return Operation(
        frozenset(),
        lambda v: frozenset([v]),
        frozenset.union,
        lambda state: sorted(state, reverse=True)[1] if len(state) > 1 else None,
    )


def _floored() -> Operation:
    return Operation(
        (0, 0), lambda v: (v, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s: s[0] // s[1] if s[1] else None
    )


def _zero_if_none(function: Callable[[Iterable[Any]], Any]) -> Operation:
    return Operation((), lambda v: (v,), lambda a, b: a + b, lambda state: function(state) if state else 0)


def _named(function: str) -> Callable[[sase.Aggregate], sase.Aggregate]:
    return lambda a: replace(a, function=function)


READINGS = tuple(
    _reading(name, choice)
    for name, kind in get_type_hints(Reading).items()
    for choice in get_args(kind)
    if choice != getattr(DECIDED, name)
)
"""The other readings: not wrong, but not ours."""

SC, PC, SN, SA = sase.STRATEGIES

MUTANTS = (
    Mutant("event: any type", _by(_AnyType)),
    Mutant("sequence: each event in one match", _kept(_consuming)),
    Mutant("event: one position later", _answered(lambda m: replace(m, at=m.at + 1))),
    Mutant("event: reported at its first event", _answered(lambda m: replace(m, at=min(m.events)))),
    Mutant("sequence: components share an event", _by(_SharedEvent)),
    Mutant("sequence: one match for each end", _kept(_best(lambda M: _positions(M)[-1], max))),
    Mutant("sequence: one match for each beginning", _kept(_best(lambda M: _positions(M)[0], min))),
    Mutant("sequence: equal times are no sequence", _by(_LaterTimes)),
    Mutant("kleene: once", _by(_Once)),
    Mutant("kleene: twice at least", _kept(_twice)),
    Mutant("kleene: the longest from each beginning", _kept(_best(lambda M: _positions(M)[0], _longest))),
    Mutant("kleene: the shortest from each beginning", _kept(_best(lambda M: _positions(M)[0], _shortest))),
    Mutant("kleene: greedy", _by(_Greedy)),
    Mutant("predicate: ignored", _conjuncts(
        lambda c, q: c if isinstance(c.condition, sase.Equivalence) or placed(c.condition, q.pattern).edge != "first"
        else None
    )),
    Mutant("predicate: one block only", _read(lambda q: replace(q, where=(
        *q.where[:1], *(replace(b, conjuncts=()) for b in q.where[1:])
    )))),
    Mutant("iterator: of the first event only", _conditions(_place("current", "first"), ("each",))),
    Mutant("iterator: not of the first event", _by(_NotOfTheFirst)),
    Mutant("iterator: of the last event only", _conditions(_place("current", "last"), ("each",))),
    Mutant("correlated: with the first event", _conditions(_place("previous", "first"))),
    Mutant("correlated: a[1] is the event before", _conditions(_place("first", "previous"), ("later",))),
    Mutant("correlated: the event before in the stream", _valued(_previous_in_stream)),
    Mutant("correlated: from the first event on", _by(_LaterFromTheFirstOn)),
    Mutant("running: with the event itself", _valued(_running(lambda at: at))),
    Mutant("running: the event before alone", _valued(_running(lambda at: at[-2:-1]))),
    Mutant("running: without the first event", _valued(_running(lambda at: at[1:-1]))),
    Mutant("aggregate: sum of different values", _aggregate("sum", _distinct_sum())),
    Mutant("aggregate: avg rounded down", _aggregate("avg", _floored())),
    Mutant("aggregate: avg is sum", _aggregate("avg", _named("sum"))),
    Mutant("aggregate: count of all events", _aggregate("count", lambda a: replace(a, name=""))),
    Mutant("aggregate: min of nothing is 0", _aggregate("min", _zero_if_none(min))),
    Mutant("aggregate: max of nothing is 0", _aggregate("max", _zero_if_none(max))),
    Mutant("aggregate: min and max", _aggregate("min", _named("max"))),
    Mutant("aggregate: highest of different values", _aggregate("highest", _second_of_different())),
    Mutant("aggregate: highest counted from the other end", _aggregate("highest", _named("lowest"))),
    Mutant("aggregate: highest is max", _aggregate("highest", lambda a: replace(a, function="max", parameter=None))),
    Mutant("aggregate: lowest is min", _aggregate("lowest", lambda a: replace(a, function="min", parameter=None))),
    Mutant("equivalence: ignored", _conjuncts(
        lambda c, q: None if isinstance(c.condition, sase.Equivalence) else c
    )),
    Mutant("equivalence: absent values agree", _by(_AbsentAgrees)),
    Mutant("equivalence: inside a Kleene plus only", _by(_AgreesInside)),
    Mutant("equivalence: between components only", _by(_AgreesBetween)),
    Mutant("strict: skip till next match", _strategy(SC, SN)),
    Mutant("strict: skip till any match", _strategy(SC, SA)),
    Mutant("strict: inside a Kleene plus only", _skips(SC, _strict_inside)),
    Mutant("strict: between components only", _skips(SC, _strict_between)),
    Mutant("strict: other types do not count", _skips(SC, _other_types)),
    Mutant("partition: strict", _strategy(PC, SC)),
    Mutant("partition: skip till next match", _strategy(PC, SN)),
    Mutant("partition: types are partitions", _skips(PC, _partition_of_types)),
    Mutant("partition: what is underlined does not count", _conjuncts(
        lambda c, q: replace(c, underlined=isinstance(c.condition, sase.Equivalence))
    )),
    Mutant("partition: absent values belong to it", _skips(PC, lambda d, chosen, k, r: not _first_agrees(
        d, chosen, k, r
    ) and not d.in_partition(chosen, k, r))),
    Mutant("next: skip till any match", _strategy(SN, SA)),
    Mutant("next: strict", _strategy(SN, SC)),
    Mutant("next: any match inside a Kleene plus", _skips(SN, _next_between)),
    Mutant("next: any match between components", _skips(SN, _next_inside)),
    Mutant("next: other types are skipped alone", _skips(SN, _other_types)),
    Mutant("next: strict between components", _skips(SN, _relevant_inside)),
    Mutant("any: skip till next match", _strategy(SA, SN)),
    Mutant("any: strict", _strategy(SA, SC)),
    Mutant("any: next match inside a Kleene plus", _skips(SA, _next_inside)),
    Mutant("any: next match between components", _skips(SA, _next_between)),
    Mutant("mixed: the first strategy for all", _strategies(lambda said: said[:1] * len(said))),
    Mutant("mixed: the last strategy for all", _strategies(lambda said: said[-1:] * len(said))),
    Mutant("mixed: strategies exchanged", _strategies(lambda said: said[::-1])),
    Mutant("mixed: the component before skips", _by(_KleeneSkipsForTheNext)),
    Mutant("end: of every event", _conditions(_place("last", "current"), ("end",))),
    Mutant("end: ignored", _conjuncts(
        lambda c, q: c if isinstance(c.condition, sase.Equivalence) or placed(c.condition, q.pattern).edge != "end"
        else None
    )),
    Mutant("end: and the Kleene plus has stopped", _by(_EndsWhenStopped)),
    Mutant("end: or the Kleene plus has stopped", _by(_StoppedIsEnough)),
    Mutant("cut: ignored", _read(lambda q: _where(
        lambda b: replace(b, arguments=tuple(replace(s, cut=False) for s in b.arguments)), q
    ))),
    Mutant("cut: of every Kleene plus", _read(lambda q: _where(
        lambda b: replace(b, arguments=tuple(
            replace(s, cut=any(k.kleene and k.variable == s.variable and not k.negated for k in q.pattern))
            for s in b.arguments
        )), q
    ))),
    Mutant("cut: takes the next component's event too", _by(_CutTakesToo)),
    Mutant("cut: not at a condition on the last event", _by(_CutsAtAnyEnd)),
    Mutant("cut: at a condition on the last event only", _by(_CutsOnlyEnds)),
    Mutant("stop: for the next component only", _by(_NoAutoStop)),
    Mutant("stop: anywhere", _by(_StopsAnywhere)),
    Mutant("stop: the window does not stop", _by(_WindowDoesNotStop)),
    Mutant("within: ignored", _read(lambda q: replace(q, within=None))),
    Mutant("within: between neighbours", _by(_WindowOfNeighbours)),
    Mutant("within: counts events", _by(_WindowOfPositions)),
    Mutant("within: always seconds", _read(
        lambda q: q if q.within is None else replace(q, within=replace(q.within, unit="seconds"))
    )),
    Mutant("within: no time is inside", _by(_NoTimeIsInside)),
    Mutant("negation: ignored", _absent(type("_Never", (Absences,), {"forbid": lambda self, M: False}))),
    Mutant("negation: conditions ignored", _absent(_OfTypeAlone)),
    Mutant("negation: equivalence tests ignored", _absent(_NoTests)),
    Mutant("negation: with the neighbours' events", _absent(_Touching)),
    Mutant("negation: right after only", _absent(_NextAlone)),
    Mutant("negation: the first of the type only", _absent(_FirstOfTypeAlone)),
    Mutant("negation: in the whole match", _absent(_InTheWholeMatch)),
    Mutant("negated-kleene: one event", _read(_without_kleene(negated=True))),
    Mutant("negated-kleene: conditions on the whole ignored", _absent(_NoEnd)),
    Mutant("negation-front: ignored", _absent(_NothingInFront)),
    Mutant("negation-front: right before only", _absent(_NextAlone)),
    Mutant("negation-end: ignored", _absent(_NothingAtTheEnd)),
    Mutant("negation-end: to the end of the stream", _absent(_ToTheEndOfTheStream)),
    Mutant("negation-end: the window from the last event", _absent(_WindowOfTheLast)),
    Mutant("having: ignored", _read(lambda q: replace(q, having=None))),
    Mutant("return: series backwards", _result(lambda name, v: (name, v[::-1] if isinstance(v, list) else v))),
    Mutant("return: the first of a series", _result(lambda name, v: (name, v[:1] if isinstance(v, list) else v))),
    Mutant("return: absent values left out", _result(lambda name, v: None if v is None else (name, v))),
    Mutant("return: AS ignored", _read(lambda q: replace(q, returned=replace(
        q.returned, items=tuple(replace(item, alias=None) for item in q.returned.items)
    )))),
    Mutant("non-overlap: ignored", _read(_returned(non_overlap=False))),
    Mutant("non-overlap: one partition", _kept(partial(_overlap, partition=False, having=True))),
    Mutant("non-overlap: before HAVING", _kept(_overlap)),
    Mutant("non-overlap: events shared", _kept(_sharing)),
    Mutant("union: the first part", _one_part(0)),
    Mutant("union: the last part", _one_part(-1)),
    Mutant("composition: the time of the first event", _read(_time_of_the_first)),
    Mutant("composition: equal results are one event", _derived(_different)),
    Mutant("composition: HAVING of the first query ignored", _read(_inner_having)),
    Mutant("composition: backwards", _derived(lambda S: list(range(len(S)))[::-1])),
    Mutant("values: absent is 0", _valued(_absent_is_0)),
)  # fmt: skip
