"""Decide whether two CEL formulas with partitions and windows on time are equivalent, or one contains the other.

The answer holds for all streams. A match that ends with the event at which it is reported can be judged from this last
event: all events of the match have one key if each has the last event's key, and the match fits in a window if each of
its events is near the last event. So a partition or a window around such a match is a filter on single events: "has the
key of the last event" or "is near the last event". The two formulas become unary formulas over streams whose events
have these two facts as hidden attributes. Two keys are enough: the last event's key and one other.

Not all of these streams can exist. "Has the key of the last event" may be true or false for any event. But the last
event is near itself, and if times never decrease, no event is nearer to the last event than a later one. A small
deterministic automaton, `RealStreams`, runs beside the search and accepts only streams that can exist. Filters may test
the key too, so each piece into which they cut its values is a case of its own.

A clock (clocks.py) measures a window on time around a part that ends before the match does (on the left of `;`, under
`+`). A register holds the value that compared events must have, for a partition around such a part, and for an equation
such as `A.pid = B.ppid` that does not involve the last event or compares two attributes. Other formulas raise
Unsupported, with the place.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import reduce
from itertools import islice, product
from typing import TypeAlias, assert_never

from cerify.automata.algebra.finite import Algebra, Mask, tests_of
from cerify.automata.algebra.values import Truth, pieces, tested_attribute
from cerify.automata.cea.compile import (
    MonitorStep,
    after_last,
    after_max,
    after_next,
    compile_cel,
    generators,
    held_mark,
)
from cerify.automata.cea.model import FIRST_OF, HELD, LAST_OF, VISIBLE, Marks, seen_at
from cerify.automata.exploration import Subset, members
from cerify.equivalence.decide.cel import Letter, MarkedNFA, distinguished, marked_nfa, normal_form, simplest_event
from cerify.equivalence.decide.clocks import (
    KEY,
    PIECES,
    ClockedAutomaton,
    ClockedComparison,
    ClockedLetter,
    EitherClocked,
    FilteredClocked,
    Held,
    PlainClocked,
    Registers,
    StrategyClocked,
    Zone,
    earliest_times,
)
from cerify.equivalence.decide.replay import replayed
from cerify.equivalence.verdict import (
    Certificate,
    Claim,
    Contained,
    Different,
    Equivalent,
    Level,
    Order,
    PieceProof,
    Undecided,
)
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, check_time, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant, Not, Predicate, mentions, satisfied
from cerify.semantics.trees import children, rebuilt, subtrees
from cerify.semantics.values import EPOCH, INT64, Value, ValueType

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
HIDDEN = "\0"  # begins the names of attributes that no stream has
WHOLE = HIDDEN + "match"  # the variable that holds a whole match while it is filtered
NOTHING = Not(pred.Anything())
LONGEST = 4 * 10**11  # seconds, which is more than between any two timestamps
WIDEST = 2**65  # more than between any two whole numbers of 64 bits
BACKWARDS = "a window is inside another operator, and times may decrease; use --order non-decreasing"
ELSEWHERE = (
    "is around a part of a match that may end before the match: on the left of `;` or `:`, under `+` or ALL, or on the "
    "right of UNLESS"
)
NOT_BOUND = "a filter compares events of a variable that may hold no event"
NO_TIMES = (
    "no stream was found for a possible difference; the order of times, or a filter on times or keys, may exclude it"
)
UNKNOWN_EVENT = "z3 could not decide whether an event type is possible; write the filters without arithmetic"
ALTERNATIVES = 64  # a formula is split into at most so many formulas without OR
CASES = 256  # at most so many combinations of pieces of the keys' values

Width: TypeAlias = int | float
Keys: TypeAlias = Mapping[str, Truth | None]
"""For each key, which piece contains the last event's value, as the truths of the key's tests; None for no value."""


# --- reading the formulas ---------------------------------------------------------------------------------------------


def last_variables(phi: Formula) -> frozenset[str]:
    """Return the variables that hold the interval's last event in every valuation of an expanded formula."""
    return _join_variables(phi, lambda left, right: right, frozenset[str].intersection)


def always_bound(phi: Formula) -> frozenset[str]:
    """Return the variables that hold an event in every valuation of an expanded formula."""
    return _join_variables(phi, frozenset[str].union, frozenset[str].union)


def _join_variables(
    phi: Formula, in_sequence: Callable[..., frozenset[str]], in_all: Callable[..., frozenset[str]]
) -> frozenset[str]:
    """Return the variables that phi binds. The functions combine the variables of the operands: of a sequence, and of
    ALL.
    """
    below = [_join_variables(psi, in_sequence, in_all) for psi in children(phi)]
    match phi:
        case cel.EventAtom(R):
            return frozenset({R})
        case cel.In(_, A):
            return below[0] | {A} if below[0] else below[0]
        case cel.Project(L, _):
            return below[0] & L
        case cel.Sequencing():
            return in_sequence(*below)
        case cel.All():
            return in_all(*below)
        case cel.And():
            # Both sides have the same valuation, so it binds what either side binds.
            return below[0] | below[1]
        case cel.Or():
            return below[0] & below[1]
        case cel.Narrowing() | cel.Iteration() | cel.PerKey() | cel.Unless():
            return below[0]
        case cel.Derived():
            raise InternalError("the formula is not expanded")
        case _:
            assert_never(phi)


def binds_last(phi: Formula, L: frozenset[str] | None = None) -> bool:
    """Return whether, in every valuation, one of the variables L holds the last event of the interval. None: any
    variable.
    """
    match phi:
        case cel.EventAtom(R):
            return L is None or R in L
        case cel.In(psi, A):
            return binds_last(psi, None if L is None or A in L else L - {A})
        case cel.Project(M, psi):
            return binds_last(psi, M if L is None else L & M)
        case cel.Sequencing(_, right):
            return binds_last(right, L)
        case cel.Or(left, right) | cel.All(left, right):
            return binds_last(left, L) and binds_last(right, L)
        case cel.And(left, right):
            return binds_last(left, L) or binds_last(right, L)
        case cel.Narrowing() | cel.Iteration() | cel.PerKey() | cel.Unless():
            return binds_last(children(phi)[0], L)
        case cel.Derived():
            raise InternalError("the formula is not expanded")
        case _:
            assert_never(phi)


def window_of(window: cel.Window, schema: Schema | None) -> tuple[str, Width] | None:
    """Return the attribute of a window on values and its width; None for a window that counts events.

    If the schema says that the attribute is an integer or a timestamp, the width is rounded down to a whole number (of
    microseconds). Then equal windows have equal widths.
    """
    match window:
        case cel.EventWindow():
            return None
        case cel.TimeWindow(amount, unit):
            name, width = TIME, amount * SECONDS[unit]
        case cel.AttributeWindow(width, name):
            pass
        case _:
            assert_never(window)
    if schema is None or width < 0 or math.isinf(width):
        return name, width
    match schema.attributes.get(name, "timestamp" if name == TIME else None):
        case "int":
            width = min(math.floor(width), WIDEST)
        case "timestamp":
            width = float(whole_microseconds(width))
    return name, int(width) if isinstance(width, float) and width.is_integer() else width


def whole_microseconds(width: Width) -> Fraction:
    """Return the greatest difference of two timestamps, in seconds, that is at most the width."""
    if width >= LONGEST:
        return Fraction(LONGEST)
    ticks = math.floor(Fraction(width) * 10**6)
    while (ticks + 1) / 10**6 <= width:  # the definition compares seconds as a float
        ticks += 1
    return Fraction(ticks, 10**6)


@dataclass(frozen=True)
class Measures:
    """The attributes by which two formulas compare events.

    keys: the attributes that must have the last event's value, each with the tests of it in filters. held: the
    attributes that are compared in other ways, with their tests; a register holds their values. groups: the sets of
    held attributes that are compared with each other. widths: the attributes of windows, with the windows' widths.
    entangled: whether an attribute is used in two of these ways, or in a test with other attributes. Then the search
    may consider streams that cannot exist: proofs remain valid, but a difference must be replayed.
    """

    keys: Mapping[str, tuple[Predicate, ...]]
    widths: Mapping[str, tuple[Width, ...]]
    entangled: bool
    schema: Schema | None
    held: Mapping[str, tuple[Predicate, ...]]
    groups: Sequence[frozenset[str]]

    @classmethod
    def from_formulas(cls, formulas: Sequence[Formula], schema: Schema | None) -> Measures:
        """Collect the attributes by which expanded formulas compare events.

        Raises Unsupported for attributes with reserved names.
        """
        keys: dict[str, list[Predicate]] = {}
        widths: dict[str, set[Width]] = {}
        held: dict[str, list[Predicate]] = {}
        places = [place for phi in formulas for place in with_places(phi)]
        groups = groups_of(psi for psi, _ in places)
        for psi, ends in places:
            match psi:
                case cel.PartitionBy(inner, a):
                    by_last = ends and binds_last(inner) and is_alone(a, groups)
                    (keys if by_last else held).setdefault(a, [])
                case cel.PerKey(_, attributes):
                    for a in attributes:
                        if not is_alone(a, groups):
                            why = f"PER KEY has the attribute {a}, which is also compared with another attribute"
                            raise Unsupported(why, psi.span)
                        keys.setdefault(a, [])
                case cel.Filter(inner, condition):
                    found = (e for branch in branches(condition) for e in equations(branch, inner, ends, groups))
                    for equation, by_last in found:
                        for a in (equation.left.name, equation.right.name):
                            (keys if by_last else held).setdefault(a, [])
                case cel.Within(_, window) if ends and (measured := window_of(window, schema)) is not None:
                    widths.setdefault(measured[0], set()).add(measured[1])
        tests = list(dict.fromkeys(test for phi in formulas for P in generators(phi) for test in tests_of(P)))
        names = {a.name for test in tests for a in mentions(test)} | {*keys, *widths, *held}
        if any(name.startswith(HIDDEN) for name in names):
            raise Unsupported("an attribute whose name begins with a zero byte cannot be compared")
        entangled = not keys.keys().isdisjoint(widths) or not held.keys().isdisjoint({*widths, TIME})
        # There are only two Booleans, but the search may give registers any number of different values.
        entangled |= schema is not None and any(schema.attributes.get(name) == "bool" for name in held)
        for test in tests:
            name = tested_attribute(test)
            for tested in (keys, held):
                if name in tested and (tested is keys or is_alone(name, groups)):
                    tested[name].append(test)
            used = {a.name for a in mentions(test)}
            entangled |= not used.isdisjoint({*widths, *(a for group in groups for a in group)})
            entangled |= name is None and not used.isdisjoint({*keys, *held})
        return cls(
            {name: tuple(found) for name, found in keys.items()},
            {name: tuple(sorted(found)) for name, found in widths.items()},
            entangled,
            schema,
            {name: tuple(found) for name, found in held.items()},
            [*groups, *(frozenset({a}) for a in held if is_alone(a, groups))],
        )

    def type_of(self, name: str) -> ValueType | None:
        """Return the type of an attribute in the schema; None without a schema."""
        if self.schema is None:
            return None
        return self.schema.attributes.get(name, "timestamp" if name == TIME else None)

    def pieces(self, key: str) -> dict[Truth, Value | None]:
        """Return the combinations of results that a key's tests can have, each with a value that has these results.

        Such a combination is a piece of the key's values. The value is None if only an absent value gives these
        results.
        """
        tests = self._tests(key)
        if self.schema is not None and key not in self.schema.attributes and key != TIME:
            return {}
        found = dict(pieces(tests, self.type_of(key)))
        for truth, value in found.items():
            if value is None or value != value:
                found[truth] = next(self.values(key, truth), None)
        return found

    def truth(self, key: str, value: Value | None) -> Truth:
        """Return the results of all tests of a key for a value."""
        return tuple(satisfied(test, lambda _: value) for test in self._tests(key))

    def _tests(self, name: str) -> tuple[Predicate, ...]:
        return self.keys[name] if name in self.keys else self.held[name]

    def keyless(self, key: str) -> list[Truth]:
        """Return the results of a key's tests for values that equal nothing: an absent value and, for floats, NaN."""
        nothing: list[Value | None] = [None, math.nan] if self.type_of(key) in (None, "float") else [None]
        return list(dict.fromkeys(self.truth(key, value) for value in nothing))

    def values(self, key: str, truth: Truth) -> Iterator[Value]:
        """Yield different values for which a key's tests have these results, chosen from likely values."""
        seen: list[Value] = []
        for value in self._likely(key):
            if value == value and value not in seen and self.truth(key, value) == truth:
                seen.append(value)
                yield value

    def fits(self, name: str, value: Value, other: Value | None) -> bool:
        """Return whether an attribute may have this value, and each of its tests has the same result as for `other`."""
        value_type = self.type_of(name)
        may_have = value_type is None or _is_of(value, value_type)
        return may_have and self.truth(name, value) == self.truth(name, other)

    def _likely(self, key: str) -> Iterator[Value]:
        value_type = self.type_of(key)
        tests = self._tests(key)
        shown = [v for v in pieces(tests, value_type).values() if v is not None]
        constants = [node.value for test in tests for node in pred.nodes(test) if isinstance(node, Constant)]
        constants += [v for test in tests if isinstance(test, pred.OneOf) for v in test.values]
        near = [v for known in (*shown, *constants) for v in _near(known)]
        for v in (*shown, *constants, *near, *USUAL):
            if value_type is None or _is_of(v, value_type):
                yield v

    def is_single(self, truth: Truth, key: str) -> bool:
        """Return whether a key's tests have these results for one value only, as a true test `x = 3` implies."""
        equal: set[Value] = set()
        for test, holds in zip(self._tests(key), truth, strict=True):
            if holds:
                match test:
                    case Comparison("=", Attribute(), Constant()) | Comparison("=", Constant(), Attribute()):
                        return True
                    case pred.OneOf(Attribute(), values):
                        equal |= {v for v in values if self.truth(key, v) == truth}
                        return len(equal) == 1
        return False


USUAL: tuple[Value, ...] = (
    1, 2, "k1", "k2", 1.0, 2.0, True, False, EPOCH, EPOCH + timedelta(days=1), 0.5, 3, 1000, -1, "",
    "k3", "k4", "k5", 4, 5, 6, 3.0, 4.0, 5.0, *(EPOCH + timedelta(days=d) for d in (2, 3, 4)),
)  # fmt: skip


def _near(value: Value) -> Iterator[Value]:
    """Yield the neighbours of a value in its type."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1, value + 0.5, value - 0.5)
        case float():
            yield from (value + 1, value - 1, math.nextafter(value, math.inf), math.nextafter(value, -math.inf))
        case str():
            yield from (value + "2", value + "_", value + "a", "a" + value, value[:-1], value + value)
        case datetime():
            for step in (timedelta(seconds=1), timedelta(microseconds=1)):
                if value.year < 9999:
                    yield value + step
                if value.year > 1:
                    yield value - step


def _is_of(value: Value, value_type: ValueType) -> bool:
    match value:
        case bool():
            return value_type == "bool"
        case int():
            return value_type == "int" and -(2**63) <= value < 2**63
        case float():
            return value_type == "float"
        case str():
            return value_type == "string"
        case datetime():
            return value_type == "timestamp"


@dataclass(frozen=True)
class Equation:
    """An atom such as A.pid = B.ppid, as its two sides."""

    left: Attribute
    right: Attribute

    @property
    def variables(self) -> tuple[str, str]:
        """Return the variables of both sides."""
        return str(self.left.variable), str(self.right.variable)


def equated(condition: cel.Condition) -> Equation | None:
    """Return the equation that a condition states; None if it is not an equation."""
    match condition:
        case cel.Correlated(Comparison("=", Attribute(_, str()) as left, Attribute(_, str()) as right)):
            return Equation(left, right)
    return None


def groups_of(formulas: Iterable[Formula]) -> list[frozenset[str]]:
    """Return the sets of two or more attributes that the filters of some formulas compare with each other."""
    found: list[frozenset[str]] = []
    for phi in formulas:
        for atom in cel.atoms(phi.condition) if isinstance(phi, cel.Filter) else ():
            if (e := equated(atom)) is not None and e.left.name != e.right.name:
                joined = frozenset({e.left.name, e.right.name})
                apart = [group for group in found if group.isdisjoint(joined)]
                found = [*apart, joined.union(*(group for group in found if group not in apart))]
    return found


def is_alone(name: str, groups: Iterable[frozenset[str]]) -> bool:
    """Return whether an attribute is in none of the groups."""
    return not any(name in group for group in groups)


def equations(
    condition: cel.Condition, phi: Formula, ends: bool, groups: Sequence[frozenset[str]]
) -> Iterator[tuple[Equation, bool]]:
    """Yield the equations, such as A.k = B.k, among the conditions that AND joins in a filter on phi.

    Each comes with True if it makes the events of its variables have the same key as the last event of the match.
    ends: whether the last event of phi is that of the match. groups: sets of attributes that other equations compare.
    Equations of variables that never hold an event are left out, because they are true.
    """
    last, bound = last_variables(phi) if ends else frozenset[str](), always_bound(phi)
    known = {*variables_in(phi)}
    here = [e for c in cel.conjuncts(condition) if (e := equated(c)) is not None and known.issuperset(e.variables)]
    classes = _classes([(e.left.name, *e.variables) for e in here if e.left.name == e.right.name])
    for e in here:
        same = (c for c in classes if e.left.name == e.right.name == c[0] and c[1].issuperset(e.variables))
        key, among = next(same, ("", set[str]()))
        yield e, key != "" and is_alone(key, groups) and bool(among & last) and among <= bound


def separate_alternatives(phi: Formula) -> Formula:
    """Move each filter into the sides of an OR, if only some sides bind a variable that it compares.

    For example `(A ; (B OR C)) FILTER A.k = B.k` becomes `(A ; B) FILTER A.k = B.k OR (A ; C)`: a filter on variables
    without events is true.
    """
    if below := children(phi):
        phi = rebuilt(phi, [separate_alternatives(psi) for psi in below])
    if not isinstance(phi, cel.Filter):
        return phi
    compared = {A for atom in cel.atoms(phi.condition) if (e := equated(atom)) is not None for A in e.variables}
    if compared.intersection(variables_in(phi.phi)) <= always_bound(phi.phi):
        return phi
    apart = alternatives(phi.phi)
    sides: list[Formula] = [cel.Filter(psi, phi.condition) for psi in apart]
    return phi if len(sides) > ALTERNATIVES else reduce(cel.Or, sides)


def alternatives(phi: Formula) -> list[Formula]:
    """Return formulas that together have the valuations of this one, with OR removed where possible."""
    match phi:
        case cel.Or(left, right):
            return [*alternatives(left), *alternatives(right)]
        case cel.Restriction() | cel.In() | cel.Project() | cel.PerKey():
            return [rebuilt(phi, [psi]) for psi in alternatives(phi.phi)]
        case cel.Unless(left, right):
            return [rebuilt(phi, [psi, right]) for psi in alternatives(left)]
        case cel.Sequencing() | cel.All() | cel.And():
            # One pair more than allowed is enough to see that there are too many.
            both = product(alternatives(phi.left), alternatives(phi.right))
            return [rebuilt(phi, pair) for pair in islice(both, ALTERNATIVES + 1)]
    return [phi]


def branches(condition: cel.Condition) -> Iterator[cel.Condition]:
    """Yield the condition, and both sides of each OR in it."""
    yield condition
    for part in cel.conjuncts(condition):
        if isinstance(part, cel.Disjunction):
            yield from branches(part.left)
            yield from branches(part.right)


def with_places(phi: Formula, ends: bool = True) -> Iterator[tuple[Formula, bool]]:
    """Yield each sub-formula of an expanded formula, with True if it ends where the whole match ends, else False.

    ends: whether phi itself ends there.
    """
    yield phi, ends
    keep = isinstance(phi, cel.In | cel.Narrowing | cel.Project | cel.PerKey | cel.Or | cel.And)
    last = 1 if isinstance(phi, cel.Sequencing) else 0 if isinstance(phi, cel.Unless) else None
    for i, psi in enumerate(children(phi)):
        yield from with_places(psi, ends and (keep or i == last))


# --- the reduction ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reduction:
    """Translates formulas with keys and windows to unary formulas, in one case of the last event's keys.

    keys: the case; for each key the results of its tests on the last event's value, None if the last event has no key.
    order: the order of the times. parts: filled by `reduced` with the width of each window around a part of the match
    that ends before the match does, and with the attributes that each register (a remembered value) is compared with.
    In the result, variables mark the first and the last event of each part, and the events compared with a register.
    """

    measures: Measures
    keys: Keys
    order: Order
    parts: list[Width | frozenset[str]] = field(default_factory=list)

    def same(self, key: str) -> Predicate:
        """Return a predicate that is true of events with the key of the last event."""
        if (truth := self.keys[key]) is None:
            return NOTHING
        in_piece = _all_of(self.measures.keys[key], truth)
        # The piece has one value: being in it means having the key of the last event, and needs no hidden attribute.
        if self.measures.is_single(truth, key):
            return in_piece
        bit: Predicate = Comparison("=", Attribute(f"{HIDDEN}same {key}"), Constant(True))
        return bit if isinstance(in_piece, pred.Anything) else pred.Both(bit, in_piece)

    def last(self, key: str) -> Predicate:
        """Return a predicate that an event must satisfy to be the last one of the stream, in the case `keys`.

        key: the attribute that the predicate tests.
        """
        if self.keys[key] is not None:
            return self.same(key)
        found: Predicate | None = None
        for truth in self.measures.keyless(key):
            piece = _all_of(self.measures.keys[key], truth)
            found = piece if found is None else pred.Either(found, piece)
        assert found is not None
        return found

    def has(self, name: str) -> Predicate:
        """Return a predicate that is true of events whose type has the attribute in the schema."""
        schema = self.measures.schema
        if schema is None:
            return pred.Anything()
        types: list[Predicate] = [pred.OfType(R) for R in schema.types if schema.has(R, name)]
        return reduce(pred.Either, types) if types else NOTHING

    def near(self, name: str, index: int) -> Predicate:
        """Return a predicate that is true of events whose `name` is within window `index` of the last event's."""
        return Comparison("<=", Attribute(f"{HIDDEN}near {name}"), Constant(index))

    def held_by(self, type_: int, types: Mapping[Predicate, Sequence[int]]) -> ClockedLetter:
        """Return a type of events as a letter of the search with clocks (ClockedLetter), without bounds on its time.

        The letter says which values its events may have in the attributes that registers hold. types: for each
        predicate, the types whose events satisfy it. Raises BudgetExceeded.
        """
        measures, absent, single, present = self.measures, set[str](), set[str](), dict[str, int]()
        keyed = frozenset(a for a in measures.held if a in measures.keys and type_ in types[self.same(a)])
        for name, tests in measures.held.items():
            truth = tuple(type_ in types[test] for test in tests)
            known = sorted(t for t, value in measures.pieces(name).items() if value is not None)
            if len(known) > PIECES:
                raise BudgetExceeded(
                    f"the filters compare {name} with too many constants, which divide its values into more than "
                    f"{PIECES} ranges; use fewer constants"
                )
            if truth in measures.keyless(name):
                absent.add(name)
            if truth in known and type_ in types[self.has(name)]:
                present[name] = known.index(truth)
                single |= {name} if measures.is_single(truth, name) else set()
        return ClockedLetter(
            type_, False, keyed=keyed, absent=frozenset(absent), present=present, single=frozenset(single)
        )

    @property
    def registers(self) -> Registers:
        """Return the attributes compared with each register, and the groups of attributes."""
        registers = {i: part for i, part in enumerate(self.parts) if isinstance(part, frozenset)}
        keyless = frozenset(a for a, truth in self.keys.items() if truth is None)
        return Registers(tuple(self.measures.held), tuple(self.measures.groups), registers, keyless)

    @property
    def has_clocks(self) -> bool:
        """Return whether a window is around a part that ends before the match does."""
        return any(not isinstance(part, frozenset) for part in self.parts)

    @property
    def timed(self) -> Predicate:
        """Return a predicate that is true of events with a time that windows can measure."""
        if self.measures.type_of(TIME) in ("string", "bool"):
            return NOTHING
        return Comparison("=", Attribute(f"{HIDDEN}timed"), Constant(True))

    def _part(self, phi: cel.Within, width: Width) -> Formula:
        """Return the unary formula for a window on time around a part. Variables hold the part's first and last
        events.
        """
        if self.order == "any":
            raise Unsupported(BACKWARDS, phi.span)
        if self.measures.type_of(TIME) == "float":
            raise Unsupported(
                "a window is around a part of a match, and differences of floats are rounded; let times be integers "
                "or timestamps",
                phi.span,
            )
        if not width >= 0:
            raise Unsupported("a window with a negative width cannot be compared", phi.span)
        inner = restricted(self.reduced(phi.phi, False, False), self.timed)
        self.parts.append(width)
        number = len(self.parts) - 1
        return cel.In(cel.In(inner, f"{FIRST_OF}{number}"), f"{LAST_OF}{number}")

    def _register(self, *names: str) -> tuple[int, list[Predicate]]:
        """Create a register; return it, and for each attribute the condition that an event has the register's value."""
        self.parts.append(frozenset(names))
        number = len(self.parts) - 1
        return number, [Comparison("=", Attribute(f"{HELD}{number} {a}"), Constant(True)) for a in names]

    def _without_parts(self, phi: Formula, before: int, where: str) -> None:
        """Raise Unsupported if parts with a window or an equation were added after the first `before` parts."""
        if len(self.parts) > before:
            what = "a window is" if isinstance(self.parts[before], int | float) else "a comparison of keys is"
            raise Unsupported(f"{what} around a part of a match, {where}", phi.span)

    def reduced(self, phi: Formula, ends: bool = True, flat: bool = True) -> Formula:
        """Translate an expanded formula to a unary one.

        ends: whether the interval of phi ends at the event where a match is reported. flat: whether the operators
        around phi judge each match on its own. Raises Unsupported for windows and partitions that cannot be translated.
        """
        match phi:
            case cel.EventAtom():
                return phi
            case cel.PartitionBy(psi, a) if ends and binds_last(psi) and a in self.measures.keys:
                return restricted(self.reduced(psi, ends, flat), self.same(a))
            case cel.PartitionBy(psi, a):
                is_projected = any(isinstance(part, cel.Project) for part in subtrees(psi))
                if not ends and is_projected and not always_bound(psi):
                    why = (
                        "PARTITION BY is around PROJECT, which may drop all events of a part of a match: let PROJECT "
                        "keep a variable that always holds an event"
                    )
                    raise Unsupported(why, phi.span)
                inner = self.reduced(psi, ends, flat)
                number, (holds,) = self._register(a)
                return self._empty_registers(restricted(inner, holds), [number], ends)
            case cel.Within(psi, window) if (measured := window_of(window, self.measures.schema)) is not None:
                name, width = measured
                if not ends and name == TIME:
                    return self._part(phi, width)
                self._require_last(phi, psi, "WITHIN", ends)
                if not flat and name != TIME:
                    raise Unsupported(
                        f"a window on {name} is inside another operator, and the values of {name} may decrease",
                        phi.span,
                    )
                if not flat and self.order == "any":
                    raise Unsupported(BACKWARDS, phi.span)
                if width < 0 or width != width:
                    raise Unsupported("a window with a negative width cannot be compared", phi.span)
                index = self.measures.widths[name].index(width)
                return restricted(self.reduced(psi, ends, flat), self.near(name, index))
            case cel.Filter(psi, condition):
                inner, before = self.reduced(psi, ends, flat), len(self.parts)
                filtered = cel.Filter(inner, self._condition(condition, psi, ends))
                return self._empty_registers(filtered, range(before, len(self.parts)), ends)
            case cel.Sequencing():
                return rebuilt(phi, [self.reduced(phi.left, False, False), self.reduced(phi.right, ends, False)])
            case cel.Or():
                return rebuilt(phi, [self.reduced(psi, ends, flat) for psi in (phi.left, phi.right)])
            case cel.And():
                before = len(self.parts)
                below = [self.reduced(psi, ends, flat) for psi in (phi.left, phi.right)]
                self._without_parts(phi, before, "under AND")
                return rebuilt(phi, below)
            case cel.Unless():
                left, before = self.reduced(phi.left, ends, flat), len(self.parts)
                right = self.reduced(phi.right, False, False)
                self._without_parts(phi, before, "on the right of UNLESS")
                return rebuilt(phi, [left, right])
            case cel.In() | cel.Restriction():
                return rebuilt(phi, [self.reduced(phi.phi, ends, flat)])
            case cel.Project():
                before = len(self.parts)
                below = [self.reduced(phi.phi, ends, False)]
                self._without_parts(phi, before, "under PROJECT")
                return rebuilt(phi, below)
            case cel.Preference():
                return rebuilt(phi, [self.reduced(phi.phi, ends, False)])
            case cel.All() | cel.Iteration():
                # A round, or a side of ALL, may end before the match does.
                return rebuilt(phi, [self.reduced(psi, False, False) for psi in children(phi)])
            case cel.PerKey(psi, attributes):
                if not ends:
                    raise Unsupported(f"PER KEY {ELSEWHERE}", phi.span)
                inner = self.reduced(psi, ends, flat)
                for a in attributes:
                    inner = cel.Filter(inner, cel.Every(VISIBLE, self.same(a)))
                return inner
            case cel.Derived():
                raise InternalError("the formula is not expanded")
            case _:
                assert_never(phi)

    @staticmethod
    def _empty_registers(phi: Formula, registers: Iterable[int], ends: bool) -> Formula:
        """If a match may go on after phi, add marks to the last event of phi that empty the registers."""
        return phi if ends else reduce(lambda psi, i: cel.In(psi, f"{LAST_OF}{i}"), registers, phi)

    def _require_last(self, phi: Formula, psi: Formula, what: str, ends: bool) -> None:
        if not ends:
            raise Unsupported(f"{what} {ELSEWHERE}", phi.span)
        if not binds_last(psi):
            raise Unsupported(f"{what} is around PROJECT, which may leave out the last event of a match", phi.span)

    def _condition(self, condition: cel.Condition, psi: Formula, ends: bool) -> cel.Condition:
        """Return the condition with equations of keys replaced by predicates on single events."""
        if all(isinstance(atom, cel.Every) for atom in cel.atoms(condition)):
            return condition
        if isinstance(condition, cel.Disjunction):
            return cel.Disjunction(
                self._condition(condition.left, psi, ends), self._condition(condition.right, psi, ends)
            )
        held, bound = {*variables_in(psi)}, always_bound(psi)
        groups = [group for group in self.measures.groups if len(group) > 1]
        by_last = {e for e, is_last in equations(condition, psi, ends, groups) if is_last}
        made: list[cel.Condition] = []
        for c in cel.conjuncts(condition):
            if isinstance(c, cel.Every):
                made.append(c)
            elif isinstance(c, cel.Disjunction):
                made.append(self._condition(c, psi, ends))
            elif (equation := equated(c)) is None:
                raise Unsupported("a filter compares events by something other than equal attributes", c.span)
            elif held.issuperset(equation.variables):
                A, B = equation.variables
                if equation in by_last:
                    made += [cel.Every(C, self.same(equation.left.name)) for C in dict.fromkeys((A, B))]
                elif not bound.issuperset((A, B)):
                    raise Unsupported(NOT_BOUND, c.span)
                else:
                    _, (left, right) = self._register(equation.left.name, equation.right.name)
                    made += dict.fromkeys((cel.Every(A, left), cel.Every(B, right)))
        # Equations of variables that hold no event are true; a filter needs some condition.
        return reduce(cel.Conjunction, made) if made else cel.Every(WHOLE, pred.Anything())


def _classes(equations: Sequence[tuple[str, str, str]]) -> list[tuple[str, set[str]]]:
    """Return for each attribute the sets of variables that equations connect."""
    found: list[tuple[str, set[str]]] = []
    for key, A, B in equations:
        joined = {A, B}
        for other in [c for c in found if c[0] == key and c[1] & joined]:
            joined |= other[1]
            found.remove(other)
        found.append((key, joined))
    return found


def variables_in(phi: Formula) -> Iterator[str]:
    """Yield the variables that a formula may bind. A filter on any other variable is true, because that variable holds
    no event.
    """
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.EventAtom):
            yield psi.type
        elif isinstance(psi, cel.In):
            yield psi.variable
        elif isinstance(psi, cel.Filter):
            every = (atom for atom in cel.atoms(psi.condition) if isinstance(atom, cel.Every))
            yield from (mark for atom in every if (mark := held_mark(atom.predicate)) is not None)


def restricted(phi: Formula, P: Predicate) -> Formula:
    """Return a formula with only those valuations of phi whose events all satisfy P."""
    names = frozenset((*variables_in(phi), held_mark(P) or WHOLE))
    return cel.Project(names - {WHOLE}, cel.Filter(cel.In(phi, WHOLE), cel.Every(WHOLE, P)))


def _all_of(tests: Sequence[Predicate], truth: Truth) -> Predicate:
    """Return the conjunction of the tests that hold and the complements of the others."""
    found: Predicate = pred.Anything()
    for test, holds in zip(tests, truth, strict=True):
        literal = test if holds else Not(test)
        found = literal if isinstance(found, pred.Anything) else pred.Both(found, literal)
    return found


def needs_order(phi: Formula, schema: Schema | None, flat: bool = True) -> bool:
    """Return whether `Reduction` translates an expanded formula correctly only for times that do not decrease."""
    if isinstance(phi, cel.Within) and not flat and window_of(phi.window, schema) is not None:
        return True
    judged = isinstance(
        phi,
        cel.In | cel.Restriction | cel.Or | cel.And | cel.PerKey | cel.Unless,
    )
    return any(needs_order(psi, schema, flat and judged) for psi in children(phi))


# --- the search -------------------------------------------------------------------------------------------------------

Real: TypeAlias = tuple[int, ...]
"""Facts about a stream so far: for each attribute of windows the nearest zone of an event, then 1 if the stream may end
here.

Zone i has the events within the i-th width and not within a narrower one. The zone after all widths has the events that
are further away, or have no value.
"""


class RealStreams:
    """A deterministic automaton that accepts a sequence of event types if some stream has these types.

    Not every sequence is possible: for example, an event cannot be nearer to the last event than a later event is.
    """

    def __init__(self, reduction: Reduction, types: Sequence[Mask], algebra: Algebra) -> None:
        self.start: Real = (*(len(widths) for widths in reduction.measures.widths.values()), 0)
        self._zones: list[list[int]] = []
        self._may_be_last: list[bool] = []
        for type_ in types:
            zones = [
                next((i for i in range(len(widths)) if type_ & algebra.mask(reduction.near(name, i))), len(widths))
                for name, widths in reduction.measures.widths.items()
            ]
            self._zones.append(zones)
            self._may_be_last.append(
                all(z in (0, len(w)) for z, w in zip(zones, reduction.measures.widths.values(), strict=True))
                and all(type_ & algebra.mask(reduction.last(key)) for key in reduction.measures.keys)
            )
        self._far = [len(widths) for widths in reduction.measures.widths.values()]

    def step(self, state: Real, type_: int) -> Real | None:
        """Return the state after one more event; None if no stream continues in this way."""
        nearest = []
        for before, zone, far in zip(state, self._zones[type_], self._far, strict=False):
            # Events without a value are in the last zone too, and may come at any time.
            if zone < far and zone > before:
                return None
            nearest.append(min(before, zone))
        return (*nearest, int(self._may_be_last[type_]))

    def zones(self, type_: int) -> Sequence[int]:
        """Return, for each attribute of a window, the range of the distance from an event of this type to the last
        event.

        The ranges are numbered from the nearest to the farthest, as in `Real`.
        """
        return self._zones[type_]

    @staticmethod
    def accepts(state: Real) -> bool:
        """Return whether a stream may end here."""
        return bool(state[-1])


@dataclass(frozen=True)
class Word:
    """A shortest word that some stream has and that exactly one of the two automata accepts."""

    letters: tuple[Letter, ...]


Node: TypeAlias = tuple[Real, Subset, Subset]


def separate_real(
    automata: MarkedNFA, real: RealStreams, limit: int, contained: bool, known_events: bool
) -> Word | list[Node]:
    """Return a shortest possible word that only one automaton accepts, or pairs that prove that there is none.

    A word is possible if some stream has it; `real` accepts these words. A pair has a state of `real` and two sets of
    states that accept the same words from there. limit: the greatest number of pairs. contained, known_events: as in
    `cel.separate`. Raises BudgetExceeded.
    """
    relation: dict[Real, list[tuple[Subset, Subset]]] = {}
    parents: dict[Node, tuple[Node | None, Letter]] = {}
    pending: deque[Node] = deque()
    marks = len(automata.marks)

    def extend(node: Node, parent: Node | None) -> None:
        state, left, right = node
        after_left, after_right = automata.after(left), automata.after(right)
        for letter in sorted(after_left.keys() | after_right.keys()):
            if known_events and automata.event(letter) is None:
                continue
            if (reached := real.step(state, letter // marks)) is None:
                continue
            successor = (reached, after_left.get(letter, 0), after_right.get(letter, 0))
            if successor not in parents:
                parents[successor] = (parent, letter)
                pending.append(successor)

    # The left is contained in the right exactly if the union of both equals the right.
    both = automata.left | automata.right if contained else automata.left
    extend((real.start, both, automata.right), None)
    count = 0
    while pending:
        check_time()
        node = pending.popleft()
        state, left, right = node
        if real.accepts(state) and bool(left & automata.final) != bool(right & automata.final):
            letters: list[Letter] = []
            at: Node | None = node
            while at is not None:
                at, letter = parents[at]
                letters.append(letter)
            return Word(tuple(reversed(letters)))
        known = relation.setdefault(state, [])
        if left == right or normal_form(left, known) == normal_form(right, known):
            continue
        known.append((left, right))
        count += 1
        if count > limit or len(parents) > 10 * limit:
            raise BudgetExceeded(f"comparing needs more than {limit} states; allow more: Budget(states=...)")
        extend(node, node)
    return [(state, left, right) for state, pairs in relation.items() for left, right in pairs]


def compare_reduced(
    phi: Formula, psi: Formula, claim: Claim, level: Level, schema: Schema | None, order: Order, budget: Budget
) -> Equivalent | Contained | Different | Undecided:
    """Return the verdict on two formulas with keys and windows, for streams with times in this order.

    Raises Unsupported if the reduction does not support one of the formulas, and BudgetExceeded.
    """
    with depth_limited(phi.span):
        left, right = (separate_alternatives(cel.expanded(chi)) for chi in (phi, psi))
        measures = Measures.from_formulas((left, right), schema)
        holds = order if needs_order(left, schema) or needs_order(right, schema) else "any"
        cases: list[PieceProof] = []
        shortest: tuple[int, Different] | None = None
        doubt: str | None = None
        # All cases, even after a difference: another case may have a shorter one.
        for keys in cases_of(measures):
            reduction = Reduction(measures, keys, order)
            outcome = _decide_case(phi, psi, left, right, reduction, claim, level, budget)
            match outcome:
                case PieceProof():
                    cases.append(outcome)
                case Different():
                    length = len(outcome.stream)
                    if shortest is None or length < shortest[0]:
                        shortest = length, outcome
                case str():
                    doubt = outcome
        if shortest is not None:
            exact = doubt is None and not measures.entangled and shortest[1].shortest
            found = shortest[1]
            return Different(found.stream, found.at, found.left_only, found.right_only, exact)
        if doubt is not None:
            return Undecided(doubt)
        solver = any(case.solver for case in cases)
        certificate = Certificate(
            claim, show(phi), show(psi), level, schema, solver, (), order=holds, cases=tuple(cases)
        )
        return Contained(certificate) if claim == "contained" else Equivalent(certificate)


def is_reducible(phi: Formula, schema: Schema | None = None, order: Order = "non-decreasing") -> bool:
    """Return whether compare_reduced supports all partitions and windows of a formula, within its budget."""
    try:
        with depth_limited(phi.span):
            expanded = separate_alternatives(cel.expanded(phi))
            measures = Measures.from_formulas((expanded,), schema)
            # Any case will do: whether an operator is supported does not depend on the keys of the last event.
            require_layers(Reduction(measures, dict.fromkeys(measures.keys), order).reduced(expanded), expanded)
    except (Unsupported, BudgetExceeded):
        return False
    return True


def cases_of(measures: Measures) -> list[dict[str, Truth | None]]:
    """Return all cases of the last event's keys.

    A case says, for each key, in which piece of its values the last event's value is; None if the last event has no
    value. Raises BudgetExceeded if there are too many cases.
    """
    choices: list[list[Truth | None]] = []
    for key in measures.keys:
        present = [truth for truth, value in measures.pieces(key).items() if value is not None]
        choices.append([*present, None])
    if math.prod(map(len, choices)) > CASES:
        raise BudgetExceeded(
            f"the filters divide the values of the keys into more than {CASES} cases; partition by fewer attributes, "
            "or compare keys with fewer constants"
        )
    return [dict(zip(measures.keys, chosen, strict=True)) for chosen in product(*choices)]


def _decide_case(
    phi: Formula,
    psi: Formula,
    left: Formula,
    right: Formula,
    reduction: Reduction,
    claim: Claim,
    level: Level,
    budget: Budget,
) -> PieceProof | Different | str:
    """Decide one case: return its proof, a difference that was replayed, or the reason why there is neither."""
    measures = reduction.measures
    first, second = reduction.reduced(left), reduction.reduced(right)
    require_layers(first, left)
    require_layers(second, right)
    near = [reduction.near(name, i) for name, widths in measures.widths.items() for i in range(len(widths))]
    known = [
        *near,
        *(reduction.last(key) for key in measures.keys),
        *([reduction.timed] if reduction.has_clocks else []),
    ]
    known += [P for name, tests in measures.held.items() for P in (reduction.has(name), *tests)]
    schema = with_hidden(measures, measures.schema, reduction.has_clocks)
    one_way = claim == "contained"
    reason = ""
    # The next is tried only if a difference needs an event that may not exist. A proof among known events alone, in the
    # last try, proves nothing.
    for solver, known_events in ((False, False), (True, False), (True, True)):
        algebra = Algebra([*generators(first), *generators(second), *known], budget, schema, solver)
        if reduction.parts:
            outcome = _compare_clocked(first, second, reduction, algebra, known, level, one_way, known_events)
            if isinstance(outcome, Stream):
                return _replay(phi, psi, outcome, reduction, one_way, level, not known_events, budget)
            if outcome is not None:
                return reason if known_events and isinstance(outcome, PieceProof) else outcome
            reason = UNKNOWN_EVENT
            continue
        A, B = compile_cel(first, budget, algebra), compile_cel(second, budget, algebra)
        A, B = seen_at(A, level), seen_at(B, level)
        automata = marked_nfa(A, B, algebra, known)
        real = RealStreams(reduction, automata.types, algebra)
        found = separate_real(automata, real, budget.states, one_way, known_events)
        if not isinstance(found, Word):
            if known_events:
                return reason
            relation = tuple((s, tuple(members(x)), tuple(members(y))) for s, x, y in found)
            return PieceProof(tuple(reduction.keys.items()), solver, relation)
        reason = UNKNOWN_EVENT
        events = [automata.event(letter) for letter in found.letters]
        if any(event is None for event in events):
            continue
        zones = [real.zones(letter // len(automata.marks)) for letter in found.letters]
        S = stream_of_word([e for e in events if e is not None], zones, reduction)
        if S is None:
            return NO_TIMES
        return _replay(phi, psi, S, reduction, one_way, level, not known_events, budget)
    return reason


def _replay(
    phi: Formula, psi: Formula, S: Stream, reduction: Reduction, one_way: bool, level: Level, shortest: bool,
    budget: Budget,
) -> Different | str:  # fmt: skip
    """Return the difference on a stream; if there is none, because the stream cannot exist, return the reason."""
    try:
        return replayed(phi, psi, S, one_way, level, shortest, budget)
    except InternalError:
        if not reduction.measures.entangled and reduction.order != "strict":
            raise
        return "a filter tests the attribute of a window, or compares the attribute of a key with others"


MONITORS: Mapping[type, MonitorStep] = {cel.Next: after_next, cel.Last: after_last, cel.Max: after_max}


def clocked_automaton(phi: Formula, algebra: Algebra, types: dict[Predicate, Sequence[int]]) -> ClockedAutomaton:
    """Return the automaton with clocks of a reduced formula that has passed `require_layers`.

    types: maps each predicate to the types whose events satisfy it, by number. This function adds the predicates of the
    formula; the caller must add the numbers before the automaton's first step.
    """
    if not selects_parts(phi):
        compiled = compile_cel(phi, algebra.budget, algebra)
        types.update(dict.fromkeys(compiled.predicates, ()))
        return PlainClocked(compiled, types)
    below = [clocked_automaton(psi, algebra, types) for psi in children(phi)]
    match phi:
        case cel.Preference():
            return StrategyClocked(below[0], MONITORS[type(phi)])
        case cel.Or():
            return EitherClocked(below[0], below[1])
        case cel.In(_, A):
            return FilteredClocked(below[0], lambda L, _: L | {A} if L else L, lambda _: False)
        case cel.Project(_, _):
            return FilteredClocked(below[0], lambda L, _: L & phi.variables, lambda _: False)
        case cel.Filter(_, condition):
            tests = [atom for atom in cel.atoms(condition) if isinstance(atom, cel.Every)]
            types.update({test.predicate: () for test in tests})

            def failed(type_: int) -> set[str]:
                return {test.variable for test in tests if type_ not in types[test.predicate]}

            return FilteredClocked(
                below[0], lambda L, t: L if failed(t).isdisjoint(L) else None, lambda t: VISIBLE in failed(t)
            )
    raise InternalError(f"the formula has not passed require_layers: {show(phi)}")


def selects_parts(phi: Formula) -> bool:
    """Return whether a reduced formula has NXT, LAST or MAX around a part with its own window or partition."""
    selecting = (psi for psi in cel.subformulas(phi) if type(psi) in MONITORS)
    return any(name.startswith((FIRST_OF, HELD)) for psi in selecting for name in variables_in(psi))


def require_layers(phi: Formula, original: Formula) -> None:
    """Raise Unsupported if NXT, LAST or MAX is around a part with its own window or key, and inside an unsupported
    operator.

    Only OR, FILTER, IN and other strategies may stand around such a strategy. original: the formula before its
    reduction, for the place in the message.
    """
    if not selects_parts(phi):
        return
    is_layer = isinstance(phi, cel.Preference | cel.Or | cel.Project)
    match phi:
        case cel.In(_, A):
            is_layer = not A.startswith((FIRST_OF, LAST_OF))
        case cel.Filter(_, condition):
            parts = [*subtrees(condition)]
            is_layer = not any(isinstance(part, cel.Disjunction) for part in parts) and not any(
                isinstance(part, cel.Every) and held_mark(part.predicate) is not None for part in parts
            )
    if not is_layer:
        raise Unsupported(
            "NXT, LAST or MAX is around a part with its own window or key; around such a strategy only OR, FILTER and "
            "IN can be decided",
            original.span,
        )
    for psi in children(phi):
        require_layers(psi, original)


def _compare_clocked(
    first: Formula,
    second: Formula,
    reduction: Reduction,
    algebra: Algebra,
    known: Sequence[Predicate],
    level: Level,
    one_way: bool,
    known_events: bool,
) -> PieceProof | Stream | str | None:
    """Return the proof of a case with windows on parts, or a stream on which the two formulas differ.

    Return None if an event of the stream is unknown, and a text that says why if no stream is found. Raises
    Unsupported, BudgetExceeded.
    """
    measures = reduction.measures
    parts = [math.inf if isinstance(part, frozenset) else part for part in reduction.parts]
    tick = tick_of(measures, parts)
    ends, widths = ([_ticks(w, tick) for w in some] for some in (measures.widths.get(TIME, ()), parts))
    known = [*known, *(reduction.same(a) for a in measures.held if a in measures.keys)]
    types: dict[Predicate, Sequence[int]] = dict.fromkeys(known, ())
    both = EitherClocked(clocked_automaton(first, algebra, types), clocked_automaton(second, algebra, types))
    masks, numbers = distinguished(algebra, types)
    types.update(numbers)
    real = RealStreams(reduction, masks, algebra)
    place = list(measures.widths).index(TIME) if ends else -1
    letters = []
    for t, mask in enumerate(masks):
        if known_events and simplest_event(algebra, mask) is None:
            continue
        letter = reduction.held_by(t, types)
        if reduction.has_clocks:
            timed, zone = t in types[reduction.timed], real.zones(t)[place] if ends else 0
            least = ends[zone - 1] + 1 if timed and zone else 0
            most = ends[zone] if timed and zone < len(ends) else math.inf
            if timed or zone == len(ends):
                letters.append(replace(letter, timed=timed, least=least, most=most))
        else:
            letters.append(letter)
    comparison = ClockedComparison(
        both,
        letters,
        real.step,
        real.accepts,
        widths,
        int(max((w for w in (*widths, *ends) if w < math.inf), default=0)),
        int(reduction.order == "strict"),
        lambda marks: _marks_at(marks, level),
        reduction.registers,
    )
    found = comparison.search(real.start, one_way, algebra.budget.states)
    if isinstance(found, list):
        relation = tuple((pair.known, pair.left, pair.right, _bounds(pair.zone)) for pair in found)
        return PieceProof(tuple(reduction.keys.items()), algebra.solver, (), relation)
    word, bounds, held = found
    events = [simplest_event(algebra, masks[letter.type]) for letter in word]
    if any(event is None for event in events):
        return None
    if not reduction.has_clocks:
        zones = [real.zones(letter.type) for letter in word]
        S = stream_of_word([e for e in events if e is not None], zones, reduction, held=held)
        return NO_TIMES if S is None else S
    # Whole seconds first, because they are easier to read.
    for step in (max(1, int(1 / tick)), 1):
        if (times := earliest_times(len(word), bounds, step)) is not None:
            offsets = [t * tick if letter.timed else None for t, letter in zip(times, word, strict=True)]
            zones = [real.zones(letter.type) for letter in word]
            S = stream_of_word([e for e in events if e is not None], zones, reduction, times=offsets, held=held)
            if S is not None:
                return S
    return NO_TIMES


def _marks_at(marks: Marks, level: Level) -> Marks:
    return marks if level == "valuations" else frozenset({WHOLE} if marks and level == "events" else ())


def _bounds(zone: Zone) -> tuple[tuple[int | None, ...], ...]:
    return tuple(tuple(None if bound == math.inf else int(bound) for bound in row) for row in zone)


def tick_of(measures: Measures, parts: Sequence[Width]) -> Fraction:
    """Return a unit of time, in seconds, of which all relevant differences are multiples.

    If times are rational, the unit must be smaller than any difference between sums of widths, divided by the number of
    events between.
    """
    if measures.type_of(TIME) == "int":
        return Fraction(1)
    if measures.type_of(TIME) == "timestamp":
        return Fraction(1, 10**6)
    finite = [Fraction(w) for w in (*parts, *measures.widths.get(TIME, ())) if math.isfinite(w)]
    denominator = math.lcm(1, *(w.denominator for w in finite))
    return Fraction(1, denominator * (1000 if denominator <= 1000 else 1024))


def _ticks(width: Width, tick: Fraction) -> int | float:
    return math.floor(Fraction(width) / tick) if math.isfinite(width) else math.inf


def with_hidden(measures: Measures, schema: Schema | None, timed: bool = False) -> Schema | None:
    """Return the schema with two more attributes: "has the key of the last event" and "is near the last event"."""
    if schema is None:
        return None
    types: dict[str, dict[str, ValueType]] = {}
    for R, attributes in schema.types.items():
        more: dict[str, ValueType] = {f"{HIDDEN}same {k}": "bool" for k in measures.keys if schema.has(R, k)}
        more |= {f"{HIDDEN}near {a}": "int" for a in measures.widths if schema.has(R, a)}
        if timed and schema.has(R, TIME):
            more[f"{HIDDEN}timed"] = "bool"
        types[R] = {**attributes, **more}
    return Schema(types)


# --- a difference as a stream -----------------------------------------------------------------------------------------


def stream_of_word(
    events: Sequence[Event],
    zones: Sequence[Sequence[int]],
    reduction: Reduction,
    at_edges: bool = False,
    times: Sequence[Fraction | None] | None = None,
    held: Sequence[Held] = (),
) -> Stream | None:
    """Return a stream with events of the types that the search has found, in this order; None if no stream is found.

    events: for each position an event of the type, with the hidden attributes that say whether it has the last event's
    key. zones: for each event and each attribute of a window, the range of its distance from the last event, by number.
    at_edges: whether this distance must be the greatest of the range. times: the times of the events in seconds, if
    known. held: where each event's values in registers come from.
    """
    measures = reduction.measures
    rows: list[dict[str, Value | None]] = [dict(event.attributes) for event in events]
    for key in measures.keys:
        _put_keys(rows, key, reduction)
    if held and not _put_held(rows, held, measures):
        return None
    names = list(measures.widths)
    for name in dict.fromkeys((*names, *([] if times is None else [TIME]))):
        if name == TIME and times is not None:
            values: list[Value | None] | None = _values_of_times(times, measures.type_of(TIME))
        else:
            values = _values_in_zones(name, [z[names.index(name)] for z in zones], reduction, at_edges)
        if values is None:
            return None
        for row, event, value in zip(rows, events, values, strict=True):
            if value is None or measures.schema is None or measures.schema.has(event.type, name):
                row[name] = value
    made = [
        Event(e.type, {n: v for n, v in row.items() if v is not None and not n.startswith(HIDDEN)})
        for e, row in zip(events, rows, strict=True)
    ]
    return Stream(made, measures.schema)


def _put_keys(rows: Sequence[dict[str, Value | None]], key: str, reduction: Reduction) -> None:
    """Give each event the last event's key or another key, as its hidden attribute says."""
    measures, truth = reduction.measures, reduction.keys[key]
    if truth is None:
        is_absent = measures.truth(key, rows[-1].get(key)) == measures.truth(key, None)
        rows[-1][key] = None if is_absent else math.nan
        return
    values = measures.values(key, truth)
    mine = next(values, None)
    other = next(values, None)
    for row in rows:
        own = row.get(key)
        if measures.truth(key, own) != truth:
            continue
        same = row.get(f"{HIDDEN}same {key}") is True or measures.is_single(truth, key)
        row[key] = mine if same else None if measures.truth(key, None) == truth and other is None else other


def _put_held(rows: Sequence[dict[str, Value | None]], held: Sequence[Held], measures: Measures) -> bool:
    """Give equal values to events that must have equal values, and different values to all others; return whether it
    succeeds.
    """
    for group in measures.groups:
        places: dict[tuple[int, int], list[tuple[dict[str, Value | None], str]]] = {}
        used: list[Value | None] = []
        for row, values in zip(rows, held, strict=True):
            for name in sorted(group & measures.held.keys()):
                if (value := values[name]) is None:
                    truth = measures.truth(name, row.get(name))
                    row[name] = next((v for v in (None, math.nan) if measures.truth(name, v) == truth), row.get(name))
                elif value == KEY:
                    used.append(row.get(name))
                else:
                    places.setdefault(value, []).append((row, name))
        for same in places.values():
            row, name = same[0]
            fitting = (v for v in measures.values(name, measures.truth(name, row.get(name))) if v not in used)
            value = next((v for v in fitting if all(measures.fits(a, v, row.get(a)) for row, a in same)), None)
            if value is None:
                return False
            used.append(value)
            for row, name in same:
                row[name] = value
    return True


def _values_of_times(times: Sequence[Fraction | None], value_type: ValueType | None) -> list[Value | None]:
    """Return values for times in seconds: timestamps, or numbers if a timestamp is not exact or the schema has int."""
    known = [t for t in times if t is not None]
    is_time = value_type != "int" and all((t * 10**6).denominator == 1 and t < LONGEST / 8 for t in known)
    whole = all(t.denominator == 1 for t in known)
    return [None if t is None else _value_at(t, is_time, whole, value_type) for t in times]


def _values_in_zones(
    name: str, zones: Sequence[int], reduction: Reduction, at_edges: bool
) -> list[Value | None] | None:
    """Return values of a window's attribute that put each event in its zone; None if that is impossible."""
    measures = reduction.measures
    widths = [Fraction(w) if math.isfinite(w) else Fraction(10**9) for w in measures.widths[name]]
    if zones[-1] == len(widths):  # the last event has no value, so that nothing is near it
        return [None] * len(zones)
    value_type = measures.type_of(name)
    if value_type in ("string", "bool"):
        return None if any(z < len(widths) for z in zones) else [None] * len(zones)
    is_time = value_type == "timestamp" or (value_type is None and name == TIME and widths[-1] < LONGEST / 2)
    if is_time:
        widths = [whole_microseconds(float(w)) for w in widths]
    whole = not is_time and value_type != "float" and all(w.denominator == 1 for w in widths)
    tick = Fraction(1, 10**6) if is_time else Fraction(1) if whole or value_type == "int" else Fraction(1, 2**20)
    strict = reduction.order == "strict" and name == TIME
    offsets: list[Fraction | None] = [None] * len(zones)
    far = len(widths)
    latest = Fraction(0)
    # Backwards, because zones are measured from the last event.
    for p in reversed(range(len(zones))):
        zone = zones[p]
        if p == len(zones) - 1:
            offsets[p] = Fraction(0)
            continue
        # An earlier event is in a window, so this one cannot be too far away by its value: it has none.
        if zone == far and any(z < far for z in zones[:p]):
            continue
        least = latest + tick if strict else latest
        if zone > 0:
            low, high = widths[zone - 1], widths[zone] if zone < far else None
            step = next((s for s in (Fraction(1), tick) if high is None or low + s <= high), None)
            if step is None:
                return None
            least = max(least, low + step)
        if zone < far and least > widths[zone]:
            return None
        offsets[p] = latest = widths[zone] if at_edges and zone < far else least
    longest = max((o for o in offsets if o is not None), default=Fraction(0))
    if longest >= (LONGEST / 2 if is_time else INT64.stop):
        if value_type in ("timestamp", "int"):
            return None
        whole = False
    values = [None if o is None else _value_at(longest - o, is_time, whole, value_type) for o in offsets]
    right = all(_zone(v, values[-1], measures.widths[name]) == zone for v, zone in zip(values, zones, strict=True))
    return values if right else None


def _zone(value: Value | None, last: Value | None, widths: Sequence[Width]) -> int:
    """Return the index of the least width that is at least the distance of a value from the last value.

    Return the number of widths if there is no such width.
    """
    if isinstance(value, datetime) and isinstance(last, datetime):
        distance: Width = abs((last - value).total_seconds())
    elif isinstance(value, int | float) and isinstance(last, int | float):
        distance = abs(last - value)
    else:
        return len(widths)
    return next((i for i, width in enumerate(widths) if distance <= width), len(widths))


def _value_at(distance: Fraction, is_time: bool, whole: bool, value_type: ValueType | None) -> Value:
    """Return the value of an attribute that is this distance above its least value."""
    if is_time:
        return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(distance * 10**6))
    return int(distance) if whole or value_type == "int" else float(distance)
