"""Search all streams up to a length for a difference between two CEL formulas, with z3.

This is for formulas that compare events in ways that no decider supports. For each length, the clauses of the
definition are written out over all positions, and only the types and values of events are left to z3. So no operator
has to be encoded in the logic of z3, but the valuations grow exponentially with the length. The interpreter confirms
each difference: an error here may hide one, but cannot make one up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias, TypeVar, assert_never

from cerify.automata.algebra.finite import OTHER, tests_of
from cerify.automata.algebra.solver import BOUNDS, Symbol, TooHard, compared, constant, formula, value_of, variable
from cerify.equivalence.decide.replay import replayed
from cerify.equivalence.verdict import Bounded, Different, Level, Order, Undecided
from cerify.semantics.arguments import Budget, time_left, timed_items
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Event, Schema, Stream, Valuation
from cerify.semantics.packages import z3
from cerify.semantics.predicates import (
    Arithmetic,
    Attribute,
    Comparator,
    Constant,
    InRange,
    Like,
    OneOf,
    Predicate,
    mentions,
    nodes,
)
from cerify.semantics.values import ValueType, value_type_of

WRONG: Mapping[Order, Comparator] = {"strict": ">=", "non-decreasing": ">"}  # of an earlier time and a later time
SMALL = 10  # a stream that is shown has whole numbers from 0 to this, if possible
SIMPLE = (*range(SMALL + 1), *range(20, 101, 10))  # and these floats


class UnknownStream:
    """A stream whose events are not known: z3 variables for the type of each event and for each of its attributes."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._numbers = {R: k for k, R in enumerate(schema.types)}
        self._attributes: dict[str, ValueType] = {TIME: "timestamp", **schema.attributes}

    def type_is(self, p: int, R: str) -> Any:
        """Return the constraint that the event at p has type R."""
        return z3.Int(f"type {p}") == self._numbers[R] if R in self._numbers else z3.BoolVal(False)

    def value(self, p: int, name: str) -> Symbol | None:
        """Return the variable of an attribute of the event at p; None if no event has the attribute."""
        return self._value(p, name) if name in self._attributes else None

    def _value(self, p: int, name: str) -> Symbol:
        value_type = self._attributes[name]
        return Symbol(value_type, variable(f"{name} {p}", value_type), z3.Bool(f"{name} of {p}"))

    def holds(self, P: Predicate, p: int) -> Any:
        """Return the constraint that the event at p satisfies P. Raises TooHard."""
        return self.related(P, lambda _: p, p)

    def related(self, P: Predicate, position: Callable[[Attribute], int], p: int = -1) -> Any:
        """Return the constraint that P is true of the events at the positions of its attributes.

        Raises TooHard.
        """
        return formula(P, lambda a: self.value(position(a), a.name), lambda R: self.type_is(p, R))

    def schema_holds(self, p: int) -> Any:
        """Return the constraint that the event at p fits the schema.

        It has a type of the schema and only attributes of that type, with values in their range.
        """
        facts = [z3.Or([self.type_is(p, R) for R in self._numbers])]
        for name, value_type in self._attributes.items():
            symbol = self._value(p, name)
            if name != TIME or TIME in self.schema.attributes:
                having = [self.type_is(p, R) for R, attributes in self.schema.types.items() if name in attributes]
                facts.append(z3.Implies(symbol.defined, z3.Or(having)))
            if (bounds := BOUNDS.get(value_type)) is not None:
                facts += [symbol.expression >= bounds[0], symbol.expression <= bounds[1]]
        return z3.And(facts)

    def in_order(self, p: int, order: Order) -> list[Any]:
        """Return the constraints that the time of the event at p is in order with each earlier time.

        An absent time, or NaN, is in order with every other time.
        """
        if order == "any":
            return []
        now = self._value(p, TIME)
        earlier = [self._value(q, TIME) for q in range(p)]
        return [z3.Not(z3.And(before.defined, now.defined, compared(WRONG[order], before, now))) for before in earlier]

    def plain(self, p: int) -> Any:
        """Return the constraint that the event at p is easy to read: it has all attributes, small numbers, and a later
        time.
        """
        facts = []
        if p > 0:
            before, now = self._value(p - 1, TIME), self._value(p, TIME)
            facts.append(z3.Implies(z3.And(before.defined, now.defined), before.expression <= now.expression))
        for name, value_type in self.schema.attributes.items():
            symbol = self._value(p, name)
            having = [self.type_is(p, R) for R, attributes in self.schema.types.items() if name in attributes]
            facts.append(z3.Implies(z3.Or(having), symbol.defined))
            if value_type == "int":
                facts += [symbol.expression >= 0, symbol.expression <= SMALL]
            if value_type == "float":
                x = symbol.expression
                facts += [z3.Or([x == z3.FPVal(n, x.sort()) for n in SIMPLE]), z3.Not(z3.fpIsNegative(x))]
        return z3.And(facts)

    def stream(self, model: z3.ModelRef, length: int) -> Stream:
        """Return the stream of a model, with `length` events."""
        return Stream([self._event(model, p) for p in range(length)], self.schema)

    def _event(self, model: z3.ModelRef, p: int) -> Event:
        R = next(R for R in self._numbers if z3.is_true(model.evaluate(self.type_is(p, R), model_completion=True)))
        values = {}
        for name in self._attributes:
            symbol = self._value(p, name)
            if z3.is_true(model.evaluate(symbol.defined, model_completion=True)):
                values[name] = value_of(model.evaluate(symbol.expression, model_completion=True), symbol.kind)
        return Event(R, values)


class UnknownPart:
    """A part of an unknown stream: its events at some positions."""

    def __init__(self, whole: UnknownStream | UnknownPart, positions: tuple[int, ...]) -> None:
        self._whole, self._positions = whole, positions

    def type_is(self, p: int, R: str) -> Any:
        """Return the constraint that the event at p has type R."""
        return self._whole.type_is(self._positions[p], R)

    def value(self, p: int, name: str) -> Symbol | None:
        """Return the variable of an attribute of the event at p; None if no event has the attribute."""
        return self._whole.value(self._positions[p], name)

    def holds(self, P: Predicate, p: int) -> Any:
        """Return the constraint that the event at p satisfies P. Raises TooHard."""
        return self._whole.holds(P, self._positions[p])

    def related(self, P: Predicate, position: Callable[[Attribute], int]) -> Any:
        """Return the constraint that P is true of the events at the positions of its attributes.

        Raises TooHard.
        """
        return self._whole.related(P, lambda a: self._positions[position(a)])


# ---------------------------------------------------------------------------------------------------------------------
# Evaluate CEL over a stream of unknown events: each valuation comes with the condition under which it exists.
#
# The clauses are those of Figure 3 and section 7.1 (tods21), written a second time: positions are computed, conditions
# on events are formulas for z3. No code is shared with the interpreter, which confirms every difference found here.

Guard: TypeAlias = Any
Guarded: TypeAlias = dict[Valuation, Guard]

MICROSECONDS = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86400 * 10**6}
FALSE, TRUE = z3.BoolVal(False), z3.BoolVal(True)


class SymbolicMeaning:
    """The valuations of formulas over the intervals of an unknown stream, each with the constraint under which it
    exists.
    """

    def __init__(self, S: UnknownStream | UnknownPart, budget: Budget) -> None:
        self.S = S
        self._budget = budget
        self._left = budget.valuations
        self._known: dict[tuple[int, int, int], Guarded] = {}
        self._alive: list[cel.Formula] = []  # the keys of _known are ids, so their formulas must stay alive

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Guarded:
        """Return all valuations that phi may have from i to j, each with its condition. Raises BudgetExceeded,
        Unsupported, TooHard.
        """
        key = (id(phi), i, j)
        if key not in self._known:
            self._alive.append(phi)
            self._known[key] = self._united(self._clause(phi, i, j))
        return self._known[key]

    def supports(self, guarded: Guarded) -> dict[ComplexEvent, Guard]:
        """Return the complex events of these valuations, each with the condition under which one of its valuations
        exists.
        """
        guards: dict[ComplexEvent, list[Guard]] = {}
        for mu, guard in guarded.items():
            guards.setdefault(support(mu), []).append(guard)
        return {C: z3.Or(some) for C, some in guards.items()}

    def _united(self, pairs: Iterable[tuple[Valuation, Guard]]) -> Guarded:
        guards: dict[Valuation, list[Guard]] = {}
        for mu, guard in timed_items(pairs):
            self._left -= 1
            if self._left < 0:
                raise BudgetExceeded("streams of this length have too many possible valuations; use a smaller bound")
            if not z3.is_false(guard):
                guards.setdefault(mu, []).append(guard)
        return {mu: some[0] if len(some) == 1 else z3.Or(some) for mu, some in guards.items()}

    def _clause(self, phi: cel.Formula, i: int, j: int) -> Iterator[tuple[Valuation, Guard]]:
        match phi:
            case cel.EventAtom(R):
                yield frozenset({(R, j)}), self.S.type_is(j, R)
            case cel.In(psi, A):
                for mu, guard in self.meaning(psi, i, j).items():
                    kept = frozenset(pair for pair in mu if pair[0] != A)
                    yield kept | {(A, p) for p in support(mu)}, guard
            case cel.Filter(psi, condition):
                for mu, guard in self.meaning(psi, i, j).items():
                    yield mu, z3.And(guard, self._condition(condition, mu))
            case cel.Seq(left, right):
                yield from self._split(left, right, i, j, contiguous=False)
            case cel.ContiguousSeq(left, right):
                yield from self._split(left, right, i, j, contiguous=True)
            case cel.Plus(psi) | cel.ContiguousPlus(psi):
                yield from self.meaning(psi, i, j).items()
                yield from self._split(psi, phi, i, j, contiguous=isinstance(phi, cel.ContiguousPlus))
            case cel.Project(L, psi):
                for mu, guard in self.meaning(psi, i, j).items():
                    yield frozenset(pair for pair in mu if pair[0] in L), guard
            case cel.Start(psi):
                yield from ((mu, guard) for mu, guard in self.meaning(psi, i, j).items() if _begins(mu, i))
            case cel.Or(left, right):
                yield from self.meaning(left, i, j).items()
                yield from self.meaning(right, i, j).items()
            case cel.And(left, right):
                others = self.meaning(right, i, j)
                for mu, guard in self.meaning(left, i, j).items():
                    yield mu, z3.And(guard, others.get(mu, FALSE))
            case cel.All(left, right):
                for (a, b), (c, d) in product(_intervals(i, j), repeat=2):
                    if min(a, c) == i and max(b, d) == j:
                        yield from _pairs(self.meaning(left, a, b), self.meaning(right, c, d))
            case cel.Unless(left, right):
                yield from self._guarded(left, right, i, j)
            case cel.Strict(psi):
                for mu, guard in self.meaning(psi, i, j).items():
                    if len(support(mu)) == 0 or max(support(mu)) - min(support(mu)) + 1 == len(support(mu)):
                        yield mu, guard
            case cel.Next(psi):
                yield from self._selected(psi, i, j, lambda C, rival: min(C ^ rival) in rival)
            case cel.Last(psi):
                yield from self._selected(psi, i, j, lambda C, rival: max(C ^ rival) in rival)
            case cel.Max(psi):
                yield from self._selected(psi, i, j, lambda C, rival: rival > C)
            case cel.Within(psi, window):
                for mu, guard in self.meaning(psi, i, j).items():
                    yield mu, z3.And(guard, self._window(window, support(mu)))
            case cel.PartitionBy(psi, attribute):
                for mu, guard in self.meaning(psi, i, j).items():
                    values = [self.S.value(p, attribute) for p in support(mu)]
                    # Also each value with itself: an absent value, or NaN, equals nothing.
                    yield mu, z3.And(guard, *(compared("=", a, b) for a, b in product(values, repeat=2)))
            case cel.PerKey(psi, names):
                yield from self._per_key(psi, names, i, j)
            case cel.Derived():
                yield from self.meaning(phi.expansion, i, j).items()
            case _:
                assert_never(phi)

    def _guarded(self, left: cel.Formula, right: cel.Formula, i: int, j: int) -> Iterator[tuple[Valuation, Guard]]:
        """Yield the valuations of left UNLESS right."""
        rivals = [guard for a, b in _intervals(i, j) for guard in self.meaning(right, a, b).values()]
        for mu, guard in self.meaning(left, i, j).items():
            yield mu, z3.And(guard, z3.Not(z3.Or(rivals)))

    def _per_key(self, psi: cel.Formula, names: tuple[str, ...], i: int, j: int) -> Iterator[tuple[Valuation, Guard]]:
        """Yield the valuations of psi over those events from i to j that have the key of the event at j.

        Each set of positions that may have this key is one case.
        """

        def same(p: int) -> Guard:
            return z3.And([compared("=", self.S.value(p, a), self.S.value(j, a)) for a in names])

        with_key = [same(p) for p in range(i, j)]
        for chosen in product((True, False), repeat=j - i):
            positions = (*(p for p, is_in in zip(range(i, j), chosen, strict=True) if is_in), j)
            facts = [guard if is_in else z3.Not(guard) for guard, is_in in zip(with_key, chosen, strict=True)]
            part = SymbolicMeaning(UnknownPart(self.S, positions), self._budget)
            for mu, guard in part.meaning(psi, 0, len(positions) - 1).items():
                yield frozenset((A, positions[p]) for A, p in mu), z3.And(same(j), *facts, guard)

    def _split(
        self, left: cel.Formula, right: cel.Formula, i: int, j: int, contiguous: bool
    ) -> Iterator[tuple[Valuation, Guard]]:
        """For each k, join the valuations of left from i to k with the valuations of right from k + 1 to j.

        If contiguous, left must end at k and right must begin at k + 1.
        """
        for k in range(i, j):
            before, after = self.meaning(left, i, k), self.meaning(right, k + 1, j)
            if contiguous:
                before = {mu: guard for mu, guard in before.items() if mu and max(support(mu)) == k}
                after = {mu: guard for mu, guard in after.items() if _begins(mu, k + 1)}
            yield from _pairs(before, after)

    def _selected(
        self, psi: cel.Formula, i: int, j: int, beats: Callable[[ComplexEvent, ComplexEvent], bool]
    ) -> Iterator[tuple[Valuation, Guard]]:
        """Yield the valuations whose support is maximal in the order of the strategy, each with its condition."""
        guarded = self.meaning(psi, i, j)
        rivals = self.supports(guarded)
        for mu, guard in guarded.items():
            C = support(mu)
            better = [there for rival, there in rivals.items() if rival != C and beats(C, rival)]
            yield mu, z3.And(guard, z3.Not(z3.Or(better)))

    def _condition(self, condition: cel.Condition, mu: Valuation) -> Guard:
        match condition:
            case cel.Every(A, P):
                return z3.And([self.S.holds(P, p) for p in positions(mu, A)])
            case cel.Correlated(P):
                ranges = [positions(mu, attribute.variable) for attribute in mentions(P)]
                return z3.And([self._related(P, chosen) for chosen in product(*ranges)])
            case cel.Conjunction(left, right):
                return z3.And(self._condition(left, mu), self._condition(right, mu))
            case cel.Disjunction(left, right):
                return z3.Or(self._condition(left, mu), self._condition(right, mu))
            case cel.Named(name, _):
                raise Unsupported(
                    (
                        f"the registered predicate {name} cannot be evaluated on unknown events; compare the queries "
                        "without it"
                    ),
                    condition.span,
                )
            case _:
                assert_never(condition)

    def _related(self, P: Any, chosen: tuple[int, ...]) -> Guard:
        remaining = iter(chosen)
        return self.S.related(P, lambda _: next(remaining))

    def _window(self, window: cel.Window, C: ComplexEvent) -> Guard:
        match window:
            case cel.EventWindow(count):
                return z3.BoolVal(len(C) > 0 and max(C) - min(C) < count)
            case cel.TimeWindow(amount, unit):
                return self._near(C, TIME, Fraction(amount) * MICROSECONDS[unit])
            case cel.AttributeWindow(width, attribute):
                return self._near(C, attribute, Fraction(width))
            case _:
                assert_never(window)

    def _near(self, C: ComplexEvent, attribute: str, width: Fraction) -> Guard:
        """Return the constraint that all events have the attribute, and no two values differ by more than the width."""
        values = [self.S.value(p, attribute) for p in C]
        # Also each value with itself, so that an event without a value is in no window.
        return z3.And(TRUE if values else FALSE, *(_apart(a, b, width) for a, b in product(values, repeat=2)))


def _apart(a: Symbol | None, b: Symbol | None, width: Fraction) -> Guard:
    """Return the constraint that b is at most the width above a."""
    if a is None or b is None or a.kind in ("string", "bool"):
        return FALSE
    both = z3.And(a.defined, b.defined)
    if a.kind == "float":
        return compared("<=", Symbol("float", b.expression - a.expression, both), constant(float(width)))
    return z3.And(both, b.expression - a.expression <= width.numerator // width.denominator)


def support(mu: Valuation) -> ComplexEvent:
    """Return all positions that a valuation uses."""
    return frozenset(p for _, p in mu)


def positions(mu: Valuation, A: str | None) -> list[int]:
    """Return the positions that a valuation binds to a variable."""
    return [p for B, p in mu if B == A]


def _begins(mu: Valuation, i: int) -> bool:
    return len(mu) > 0 and min(support(mu)) == i


def _intervals(i: int, j: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(i, j + 1) for b in range(a, j + 1))


def _pairs(left: Guarded, right: Guarded) -> Iterator[tuple[Valuation, Guard]]:
    for (mu1, guard1), (mu2, guard2) in product(left.items(), right.items()):
        yield mu1 | mu2, z3.And(guard1, guard2)


# ---------------------------------------------------------------------------------------------------------------------
# Infer a schema from formulas: the event types that they name and one more, each with every attribute they mention.


def inferred_schema(*formulas: cel.Formula) -> Schema:
    """Infer a schema: an attribute has the type of the values it is compared with, or int if there are none.

    Raises IllFormed if an attribute is compared with values of different types.
    """
    tests = [test for phi in formulas for P in _predicates(phi) for test in tests_of(P)]
    found: dict[str, set[ValueType]] = {a.name: set() for test in tests for a in mentions(test)}
    for phi in formulas:
        for psi in cel.subformulas(phi):
            if isinstance(psi, cel.Within) and isinstance(psi.window, cel.AttributeWindow):
                found.setdefault(psi.window.attribute, set()).add("int")
            elif isinstance(psi, cel.PartitionBy):
                found.setdefault(psi.attribute, set())
            elif isinstance(psi, cel.PerKey):
                for attribute in psi.attributes:
                    found.setdefault(attribute, set())
    for _ in range(len(found) + 1):  # attributes in a chain of comparisons have one type; a round does one comparison
        for test in tests:
            together = {a.name for a in mentions(test)}
            types = set(_types(test)).union(*(found[name] for name in together))
            for name in together:
                found[name] |= types
    for name, types in found.items():
        if types - {"int", "float"} and len(types) > 1:
            raise IllFormed(f"{name} is compared with values of the types {', '.join(sorted(types))}; give a schema")
    attributes: dict[str, ValueType] = {
        name: _choose_type(types) for name, types in found.items() if name != TIME or types
    }
    named = {psi.type: None for phi in formulas for psi in cel.subformulas(phi) if isinstance(psi, cel.EventAtom)}
    other = OTHER + "_" * max((len(R) for R in named if R.startswith(OTHER)), default=0)
    return Schema(dict.fromkeys((*named, other), attributes))


def _choose_type(types: set[ValueType]) -> ValueType:
    return "float" if "float" in types else next(iter(types), "int")


def _predicates(phi: cel.Formula) -> Iterator[Predicate]:
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter):
            for atom in cel.atoms(psi.condition):
                if not isinstance(atom, cel.Named):
                    yield atom.predicate


def _types(test: Predicate) -> Iterator[ValueType]:
    """Yield the types of the constants and of the arithmetic in a test."""
    for node in nodes(test):
        match node:
            case Constant(value):
                yield value_type_of(value)
            case Arithmetic(operator):
                yield "float" if operator == "/" else "int"
            case OneOf(_, values):
                yield from map(value_type_of, values)
            case InRange(_, low, high):
                yield from (value_type_of(low), value_type_of(high))
            case Like():
                yield "string"


# ---------------------------------------------------------------------------------------------------------------------
# Compare formulas that no automaton evaluates, on all streams up to a length, for all attribute values, with a solver.
#
# Lengths are tried in ascending order, so a difference is a shortest stream. A schema gives the types of attribute
# values; if none is given, it is inferred from the formulas.

SECONDS = 60.0
Found = TypeVar("Found", Valuation, ComplexEvent)


def compare(
    phi: Formula,
    psi: Formula,
    length: int,
    level: Level = "events",
    one_way: bool = False,
    schema: Schema | None = None,
    budget: Budget = Budget(),
    order: Order = "any",
) -> Bounded | Different | Undecided:
    """Search all streams of at most `length` events for one on which phi and psi differ.

    Return Different with such a stream, Bounded if there is none, or Undecided. one_way: count only matches of phi that
    psi lacks. order: the order of the times of the streams. All solver calls together take at most SECONDS.
    """
    deadline = time.monotonic() + min(SECONDS, time_left())
    reached = 0
    try:
        schema = schema or inferred_schema(phi, psi)
        S = UnknownStream(schema)
        symbolic = SymbolicMeaning(S, budget)
        solver = z3.Solver()
        for n in range(length):
            solver.add(S.schema_holds(n), *S.in_order(n, order))
            # The constraints on events stay for longer streams; only the question about this length is taken back.
            solver.push()
            left, right = symbolic.meaning(phi, 0, n), symbolic.meaning(psi, 0, n)
            solver.add(_differs(left, right, level, one_way, symbolic))
            answer = _checked(solver, deadline)
            if answer == z3.sat:
                model = solver.model()
                # Asked a second time only to show simpler values; the first model is as good a proof.
                solver.add([S.plain(p) for p in range(n + 1)])
                model = solver.model() if _checked(solver, deadline) == z3.sat else model
                return replayed(phi, psi, S.stream(model, n + 1), one_way, level, True, budget)
            if answer != z3.unsat:
                return Undecided(f"z3 could not decide streams of {n + 1} events; shorter streams do not differ")
            solver.pop()
            reached = n + 1
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(f"{error.message}; streams of up to {reached} events do not differ")
    except TooHard:
        return Undecided("z3 cannot decide filters with patterns, or with quotients of integers")
    return Bounded(length, schema)


def _checked(solver: z3.Solver, deadline: float) -> z3.CheckSatResult:
    solver.set("timeout", max(1, int(1000 * (deadline - time.monotonic()))))
    return solver.check()


def _differs(left: Guarded, right: Guarded, level: Level, one_way: bool, symbolic: SymbolicMeaning) -> Guard:
    """Return the constraint that some valuation, or complex event, belongs to one side only.

    At the level of positions, one side has a match and the other has none. If one_way, only the left side's matches
    count.
    """
    if level == "valuations":
        return z3.Or(_lacking(left, right) + ([] if one_way else _lacking(right, left)))
    if level == "positions":
        some, other = z3.Or(list(left.values())), z3.Or(list(right.values()))
        return z3.And(some, z3.Not(other)) if one_way else some != other
    here, there = symbolic.supports(left), symbolic.supports(right)
    return z3.Or(_lacking(here, there) + ([] if one_way else _lacking(there, here)))


def _lacking(here: Mapping[Found, Guard], there: Mapping[Found, Guard]) -> list[Guard]:
    """Return for each match of `here` the constraint that it exists and that `there` does not have it."""
    false = z3.BoolVal(False)
    return [z3.And(guard, z3.Not(there.get(found, false))) for found, guard in here.items()]
