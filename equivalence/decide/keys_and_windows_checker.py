"""Check whether a certificate proves its claim about formulas with partitions and windows on values.

docs/theory/equivalence.md has the argument: to see whether a match that ends with the last event has one key, or fits
in a window, compare each of its events with the last one. For each case of the last event's keys, this module
translates the two formulas to unary formulas over events with two more facts: whether they have the last event's key,
and how near the last event they are. No code of keys_and_windows.py is used. The check trusts what checker.py trusts,
and `pieces`, the part of the algebra that cuts the values of one attribute.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import islice, product
from random import Random
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra, tests_of
from cerify.automata.algebra.values import pieces, tested_attribute
from cerify.automata.cea.compile import after_last, after_max, after_next, compile_cel, generators
from cerify.automata.cea.model import CEA, FIRST_OF, HELD, LAST_OF, UNMARKED, VISIBLE, Marks, seen_at
from cerify.equivalence.decide.clocks_checker import (
    PIECES,
    AttributeOptions,
    ClosedList,
    KnownEvent,
    NestedAutomaton,
    NotClosed,
)
from cerify.equivalence.verdict import Certificate, Order, PieceProof
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, check_time, timed_items
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import TIME, Event, Schema
from cerify.semantics.predicates import (
    Comparison,
    Constant,
    InRange,
    OfType,
    OneOf,
    Predicate,
    classify_event,
    mentions,
    nodes,
)
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import EPOCH, INT64, Value, ValueType, value_type_of

# ---------------------------------------------------------------------------------------------------------------------
# Try events at the edges of predicates, to find types of events that a list lacks.
#
# A type is the set of the predicates that an event satisfies (tods21, Definition 5.6). A certificate needs the list of
# all types, which the predicate algebra computes. This module proves nothing: it makes events from the constants of the
# predicates and their neighbours. If one of these events has a type that is not listed, the certificate is wrong.

Test: TypeAlias = Comparison | OneOf | InRange
MOST = 500  # the greatest number of events that are tried of one event type
USUAL: tuple[Value, ...] = (0, 1, -1, 0.0, 0.5, math.nan, math.inf, -math.inf, "", "a", False, True)
TICK = timedelta(microseconds=1)
EARLIEST, LATEST = (time.replace(tzinfo=UTC) for time in (datetime.min, datetime.max))
OTHER = "an event type of no predicate"


def unlisted(predicates: Sequence[Predicate], types: Collection[frozenset[int]], schema: Schema | None) -> Event | None:
    """Search for an event whose set of satisfied predicates is missing in `types`; return it, or None.

    types: sets of indices of predicates. The event fits the schema, if there is one. Only some events are tried, so
    None proves nothing. Raises BudgetExceeded.
    """
    events = timed_items(_events(predicates, schema), 1)
    return next((event for event in events if classify_event(predicates, event) not in types), None)


def _events(predicates: Sequence[Predicate], schema: Schema | None) -> Iterator[Event]:
    """Yield events of each event type with values at the edges: all combinations of values, or MOST random ones."""
    found = [node for P in predicates for node in nodes(P)]
    tests = [node for node in found if isinstance(node, Comparison | OneOf | InRange)]
    names = list(dict.fromkeys(attribute.name for P in predicates for attribute in mentions(P)))
    edges = {name: [*USUAL, *(edge for c in _constants(name, tests) for edge in _around(c))] for name in names}
    named = [node.type for node in found if isinstance(node, OfType)]
    for R in [*dict.fromkeys(named), OTHER] if schema is None else schema.types:
        allowed = None if schema is None else schema.types[R]
        pools = [_pool(edges[name], name, allowed) for name in names]
        for choice in _choices(pools):
            yield Event(R, {name: v for name, v in zip(names, choice, strict=True) if v is not None})


def _choices(pools: Sequence[Sequence[Value | None]]) -> Iterator[tuple[Value | None, ...]]:
    """Yield all choices of one value from each pool, or MOST random choices."""
    if math.prod(map(len, pools)) <= MOST:
        yield from product(*pools)
        return
    # Always the same choices: a certificate that is accepted once is accepted again.
    rng = Random(0)
    for _ in range(MOST):
        yield tuple(rng.choice(pool) for pool in pools)


def _pool(edges: Sequence[Value], name: str, allowed: Mapping[str, ValueType] | None) -> list[Value | None]:
    """Return the edges that the schema allows as values of an attribute, and None for a missing value."""
    if allowed is None or (name == TIME and name not in allowed):
        return [*edges, None]
    wanted = allowed.get(name)
    fitting = [v for v in edges if value_type_of(v) == wanted and (not isinstance(v, int) or v in INT64)]
    return [*fitting, None]


def _constants(name: str, tests: Sequence[Test]) -> Iterator[Value]:
    """Yield the constants of the tests that mention an attribute."""
    for test in tests:
        if any(attribute.name == name for attribute in mentions(test)):
            for node in nodes(test):
                match node:
                    case Constant(value):
                        yield value
                    case OneOf(_, values):
                        yield from values
                    case InRange(_, low, high):
                        yield from (low, high)


def _around(constant: Value) -> Iterator[Value]:
    """Yield the constant and values next to it. Those of a number are whole numbers and floats."""
    yield constant
    match constant:
        case int() | float() if not isinstance(constant, bool) and -math.inf < constant < math.inf:
            whole = math.floor(constant)
            yield from (whole - 1, whole, whole + 1)
            # A larger whole number has no float, and Python raises OverflowError.
            if abs(constant) <= sys.float_info.max:
                near = float(constant)
                yield from (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
        case str():
            yield from (constant + "\0", constant[:-1])
        case datetime():
            yield from (constant + step for step in (TICK, -TICK) if EARLIEST < constant < LATEST)


# ---------------------------------------------------------------------------------------------------------------------
# The check of a certificate.

MARK = "\0match"
UNITS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 60 * 60, "day": 24 * 60 * 60}
LONGEST_TIME = 400_000_000_000  # seconds: more than there are between any two timestamps
KINDS_OF_VALUE: tuple[Value, ...] = (0, 7, -7, 0.25, "", "z", "k2", True, False, EPOCH)
States: TypeAlias = frozenset[int]
Truths: TypeAlias = tuple[bool, ...]


class NotProved(Exception):
    """Raised if the certificate does not prove its claim; the message says why."""


@dataclass(frozen=True)
class Place:
    """Says where a sub-formula stands in the whole formula.

    at_end: whether its matches end where the reported match ends. alone: whether each of its matches is judged on its
    own, and not compared or joined with others.
    """

    at_end: bool = True
    alone: bool = True


def places_in(phi: cel.Formula, place: Place) -> list[Place]:
    """Return the places of a formula's operands, given the formula's place."""
    inside = Place(False, False)
    if isinstance(phi, cel.Seq | cel.ContiguousSeq):
        return [inside, Place(place.at_end, False)]
    if isinstance(phi, cel.Unless):
        return [place, inside]
    if isinstance(phi, cel.Or | cel.And):
        return [place, place]
    if isinstance(phi, cel.In | cel.Filter | cel.Start | cel.Strict | cel.Within | cel.PartitionBy | cel.PerKey):
        return [place]
    if isinstance(phi, cel.Project | cel.Next | cel.Last | cel.Max):
        return [Place(place.at_end, False)]
    return [inside for _ in children(phi)]


@dataclass
class ComparedAttributes:
    """The attributes by which the formulas compare events, collected by walking through them.

    tests: the tests of the keys that are compared with the last event's key. held: the attributes that are compared in
    other ways. groups: the sets of two or more attributes that are compared with each other.
    """

    schema: Schema | None
    tests: dict[str, list[Predicate]] = field(default_factory=dict)
    held: dict[str, list[Predicate]] = field(default_factory=dict)
    groups: list[set[str]] = field(default_factory=list)
    widths: dict[str, list[int | float]] = field(default_factory=dict)

    def collect(self, formulas: Sequence[cel.Formula]) -> None:
        """Record keys, widths and the tests of keys, in the order in which the formulas have them."""
        # The groups come first, because an attribute of a group is never compared with the last event's key
        # (`is_of_last`).
        for psi in (psi for phi in formulas for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter)):
            for pair in filter(None, map(equal_values, cel.atoms(psi.condition))):
                names = {a.name for a in pair}
                if len(names) > 1:
                    touched = [group for group in self.groups if group & names]
                    self.groups = [*(g for g in self.groups if g not in touched), names.union(*touched)]
        for phi in formulas:
            self._collect_in(phi, Place())
        for name, found in self.widths.items():
            self.widths[name] = sorted(set(found))
        for phi in formulas:
            for P in generators(phi):
                for test in tests_of(P):
                    tested = tested_attribute(test)
                    if tested in self.tests and test not in self.tests[tested]:
                        self.tests[tested].append(test)
                    if tested in self.held and test not in self.held[tested] and not self.is_grouped(tested):
                        self.held[tested].append(test)

    def is_grouped(self, name: str | None) -> bool:
        """Return whether an attribute is compared with another attribute."""
        return any(name in group for group in self.groups)

    def group_of(self, name: str) -> int:
        """Return the number of the group of attributes to which this one belongs."""
        grouped = next((i for i, group in enumerate(self.groups) if name in group), None)
        return len(self.groups) + list(self.held).index(name) if grouped is None else grouped

    def is_of_last(self, phi: cel.PartitionBy, place: Place) -> bool:
        """Return whether a partition requires the key of the last event."""
        return place.at_end and is_end_held(phi.phi, None) and not self.is_grouped(phi.attribute)

    def equations(
        self, condition: cel.Condition, phi: cel.Formula, place: Place
    ) -> Iterator[tuple[tuple[pred.Attribute, pred.Attribute], bool]]:
        """Yield the equations, such as A.k = B.k, among the conditions that AND joins in a filter on phi.

        Each comes with True if it makes the events of its variables have the same key as the last event of the match.
        """
        holders = holders_of_end(phi) if place.at_end else frozenset[str]()
        names, bound = _names_in(phi), surely_bound(phi)
        parts = _flattened(condition)
        pairs = [p for part in parts if (p := equal_values(part)) and names.issuperset(str(a.variable) for a in p)]
        for pair in pairs:
            is_one = pair[0].name == pair[1].name and not self.is_grouped(pair[0].name)
            reached = _reached(pair, [p for p in pairs if p[0].name == p[1].name])
            yield pair, is_one and bool(reached & holders) and reached <= bound

    def _collect_equations(self, condition: cel.Condition, phi: cel.Formula, place: Place) -> None:
        for pair, is_of_last in self.equations(condition, phi, place):
            for attribute in pair:
                (self.tests if is_of_last else self.held).setdefault(attribute.name, [])
        for part in _flattened(condition):
            if isinstance(part, cel.Disjunction):
                self._collect_equations(part.left, phi, place)
                self._collect_equations(part.right, phi, place)

    def _collect_in(self, phi: cel.Formula, place: Place) -> None:
        """Record the attributes by which a formula at a place compares events."""
        if isinstance(phi, cel.PartitionBy):
            (self.tests if self.is_of_last(phi, place) else self.held).setdefault(phi.attribute, [])
        elif isinstance(phi, cel.PerKey):
            for name in phi.attributes:
                if self.is_grouped(name):
                    raise NotProved(f"PER KEY has the attribute {name}, which is also compared with another attribute")
                self.tests.setdefault(name, [])
        elif isinstance(phi, cel.Filter):
            self._collect_equations(phi.condition, phi.phi, place)
        if place.at_end and isinstance(phi, cel.Within) and not isinstance(phi.window, cel.EventWindow):
            name, width = self.measured(phi.window)
            self.widths.setdefault(name, []).append(width)
        for psi, where in zip(children(phi), places_in(phi, place), strict=True):
            self._collect_in(psi, where)

    def type_of(self, name: str) -> str | None:
        """Return the type that the schema gives an attribute; None without a schema."""
        if self.schema is None:
            return None
        return self.schema.attributes.get(name, "timestamp" if name == TIME else "")

    def measured(self, window: cel.TimeWindow | cel.AttributeWindow) -> tuple[str, int | float]:
        """Return the attribute of a window, and the greatest distance that it allows."""
        if isinstance(window, cel.TimeWindow):
            name, width = TIME, window.amount * UNITS[window.unit]
        else:
            name, width = window.attribute, window.width
        if not 0 <= width < math.inf:
            return name, width
        if self.type_of(name) == "int":
            # Differences of whole numbers are whole, and those of 64-bit numbers less than 2^65: all wider windows are
            # one.
            return name, min(int(width // 1), 2**65)
        if self.type_of(name) == "timestamp":
            if width >= LONGEST_TIME:
                return name, LONGEST_TIME
            ticks = int(Fraction(width) * 1_000_000) + 100  # the definition compares seconds as a float
            while ticks / 1_000_000 > width:
                ticks -= 1
            width = ticks / 1_000_000
        return name, int(width) if width == int(width) else width

    def truths(self, key: str, value: Value | None) -> Truths:
        """Return, for each test of a key, whether a value passes it."""
        return tuple(pred.satisfied(test, lambda _: value) for test in self.tests_of(key))

    def tests_of(self, key: str) -> list[Predicate]:
        """Return the tests of a key or of another compared attribute."""
        return self.tests[key] if key in self.tests else self.held[key]

    def find_truths(self, key: str) -> set[Truths]:
        """Return the results of a key's tests for known values, without values such as NaN that do not equal
        themselves.
        """
        value_type = self.type_of(key)
        if value_type == "":
            return set()
        known = pieces(self.tests_of(key), value_type)  # type: ignore[arg-type]
        tried = [*known.values(), *(v for v in KINDS_OF_VALUE if value_type is None or _fits(v, value_type))]
        return {self.truths(key, v) for v in tried if v is not None and v == v}

    def without_key(self, key: str) -> set[Truths]:
        """Return the results of a key's tests for an absent value, and for NaN."""
        return {self.truths(key, None)} | (
            {self.truths(key, math.nan)} if self.type_of(key) in (None, "float") else set()
        )


def _fits(value: Value, value_type: str) -> bool:
    return {bool: "bool", int: "int", float: "float", str: "string"}.get(type(value), "timestamp") == value_type


def equal_values(atom: cel.Condition) -> tuple[pred.Attribute, pred.Attribute] | None:
    """Return the two sides of an atom such as A.k = B.k or A.pid = B.ppid; None for other atoms."""
    if isinstance(atom, cel.Correlated) and isinstance(atom.predicate, pred.Comparison):
        P = atom.predicate
        a, b = P.left, P.right
        if P.comparator == "=" and isinstance(a, pred.Attribute) and isinstance(b, pred.Attribute):
            return a, b
    return None


def holders_of_end(phi: cel.Formula) -> frozenset[str]:
    """Return the variables that hold the event at the end of the interval in every valuation."""
    if isinstance(phi, cel.EventAtom):
        return frozenset([phi.type])
    if isinstance(phi, cel.Seq | cel.ContiguousSeq):
        return holders_of_end(phi.right)
    if isinstance(phi, cel.Or | cel.All):
        return holders_of_end(phi.left).intersection(holders_of_end(phi.right))
    if isinstance(phi, cel.And):
        return holders_of_end(phi.left).union(holders_of_end(phi.right))
    if isinstance(phi, cel.Unless):
        return holders_of_end(phi.left)
    (inner,) = children(phi)
    held = holders_of_end(inner)
    if isinstance(phi, cel.Project):
        return held.intersection(phi.variables)
    return held.union([phi.variable]) if isinstance(phi, cel.In) and held else held


def is_end_held(phi: cel.Formula, among: frozenset[str] | None) -> bool:
    """Return whether in each valuation a variable of `among` (None: any variable) holds the interval's last event."""
    if isinstance(phi, cel.EventAtom):
        return among is None or phi.type in among
    if isinstance(phi, cel.Project):
        return is_end_held(phi.phi, phi.variables if among is None else phi.variables.intersection(among))
    if isinstance(phi, cel.In):
        everything = among is None or phi.variable in among
        return is_end_held(phi.phi, None if everything or among is None else among.difference([phi.variable]))
    if isinstance(phi, cel.Or | cel.All):
        return is_end_held(phi.left, among) and is_end_held(phi.right, among)
    if isinstance(phi, cel.And):
        return is_end_held(phi.left, among) or is_end_held(phi.right, among)
    if isinstance(phi, cel.Seq | cel.ContiguousSeq):
        return is_end_held(phi.right, among)
    return is_end_held(children(phi)[0], among)


def surely_bound(phi: cel.Formula) -> frozenset[str]:
    """Return the variables that hold some event in every valuation."""
    if isinstance(phi, cel.EventAtom):
        return frozenset([phi.type])
    if isinstance(phi, cel.Seq | cel.ContiguousSeq | cel.All | cel.And):
        return surely_bound(phi.left).union(surely_bound(phi.right))
    if isinstance(phi, cel.Or):
        return surely_bound(phi.left).intersection(surely_bound(phi.right))
    if isinstance(phi, cel.Unless):
        return surely_bound(phi.left)
    (inner,) = children(phi)
    bound = surely_bound(inner)
    if isinstance(phi, cel.Project):
        return bound.intersection(phi.variables)
    return bound.union([phi.variable]) if isinstance(phi, cel.In) and bound else bound


def _holds_something(phi: cel.Formula) -> bool:
    """Return whether every valuation holds some event."""
    return bool(surely_bound(phi)) or not any(isinstance(psi, cel.Project) for psi in cel.subformulas(phi))


@dataclass(frozen=True)
class UnaryReading:
    """Translates formulas to unary formulas, in one case of the last event's keys.

    keys: the case; for each key the results of its tests on the last event's value, None if the last event has no key.
    parts: for each window around a part of a match its width, and for each register the attributes compared with its
    value.
    """

    compared: ComparedAttributes
    keys: Mapping[str, Truths | None]
    order: Order
    parts: list[int | float | tuple[str, ...]] = field(default_factory=list)

    def agrees(self, key: str) -> Predicate:
        """Return a predicate that is true of events with the key of the last event."""
        wanted = self.keys[key]
        if wanted is None:
            return pred.Not(pred.Anything())
        literals = [t if yes else pred.Not(t) for t, yes in zip(self.compared.tests[key], wanted, strict=True)]
        piece = _conjunction(literals)
        if _one_value(self.compared, key, wanted) and piece is not None:
            return piece
        bit = pred.Comparison("=", pred.Attribute(f"\0same {key}"), pred.Constant(True))
        return bit if piece is None else pred.Both(bit, piece)

    def may_be_last(self, key: str) -> Predicate:
        """Return a predicate that an event must satisfy to be the last one of the stream, in the case `keys`.

        key: the attribute that the predicate tests.
        """
        if self.keys[key] is not None:
            return self.agrees(key)
        tests = self.compared.tests[key]
        nothing: list[Value | None] = [None]
        if self.compared.type_of(key) in (None, "float"):
            nothing.append(math.nan)
        options: list[Predicate] = []
        for truths in dict.fromkeys(self.compared.truths(key, value) for value in nothing):
            literals = [t if yes else pred.Not(t) for t, yes in zip(tests, truths, strict=True)]
            options.append(_conjunction(literals) or pred.Anything())
        return options[0] if len(options) == 1 else pred.Either(options[0], options[1])

    @staticmethod
    def is_near(name: str, i: int) -> Predicate:
        """Return a predicate that is true of events whose `name` is within the i-th window of the last event's."""
        return pred.Comparison("<=", pred.Attribute(f"\0near {name}"), pred.Constant(i))

    def has_time(self) -> Predicate:
        """Return a predicate that is true of events with a time that windows can measure."""
        if self.compared.type_of(TIME) in ("string", "bool"):
            return pred.Not(pred.Anything())
        return pred.Comparison("=", pred.Attribute("\0timed"), pred.Constant(True))

    def part(self, phi: cel.Within, width: int | float) -> cel.Formula:
        """Translate a window around a part of a match: mark the part's first and last event by variables.

        The translation also requires that all events of the part have a time. Raises NotProved.
        """
        if self.order == "any" or self.compared.type_of(TIME) == "float" or not width >= 0:
            raise NotProved(
                "a window is around a part of the match, and its width is negative, or times may decrease or be rounded"
            )
        body = _with_all_in(self.unary(phi.phi, Place(False, False)), self.has_time())
        self.parts.append(width)
        number = len(self.parts) - 1
        return cel.In(cel.In(body, FIRST_OF + str(number)), LAST_OF + str(number))

    def unary(self, phi: cel.Formula, place: Place) -> cel.Formula:
        """Translate a formula to a unary one, whose filters are on single events.

        place: where the formula stands in the whole one. Raises NotProved if events are compared in an unsupported way.
        """
        if isinstance(phi, cel.PartitionBy) and self.compared.is_of_last(phi, place):
            return _with_all_in(self.unary(phi.phi, place), self.agrees(phi.attribute))
        if isinstance(phi, cel.PartitionBy):
            if not place.at_end and not _holds_something(phi.phi):
                raise NotProved("PARTITION BY is around a formula that can match without binding an event")
            body = self.unary(phi.phi, place)
            (held,) = self.register(phi.attribute)
            return self.emptied(_with_all_in(body, held), len(self.parts) - 1, place)
        if isinstance(phi, cel.Within) and not isinstance(phi.window, cel.EventWindow):
            name, width = self.compared.measured(phi.window)
            if name == TIME and not place.at_end:
                return self.part(phi, width)
            self._require_end(phi, place)
            if not place.alone and (name != TIME or self.order == "any"):
                raise NotProved(
                    "a window is under an operator that looks at other matches, and its values may decrease"
                )
            if not width >= 0:
                raise NotProved("a window has a negative width")
            return _with_all_in(self.unary(phi.phi, place), self.is_near(name, self.compared.widths[name].index(width)))
        if isinstance(phi, cel.PerKey):
            if not place.at_end:
                raise NotProved("PER KEY is around a match that may end before it is reported")
            inner = self.unary(phi.phi, place)
            for name in phi.attributes:
                inner = cel.Filter(inner, cel.Every(VISIBLE, self.agrees(name)))
            return inner
        if isinstance(phi, cel.Filter):
            body, first = self.unary(phi.phi, place), len(self.parts)
            body = cel.Filter(body, self.condition(phi.condition, phi.phi, place))
            for register in range(first, len(self.parts)):
                body = self.emptied(body, register, place)
            return body
        below, known = [], len(self.parts)
        for i, (psi, where) in enumerate(zip(children(phi), places_in(phi, place), strict=True)):
            known = len(self.parts) if isinstance(phi, cel.Unless) and i == 1 else known
            below.append(self.unary(psi, where))
        if len(self.parts) > known and isinstance(phi, cel.And | cel.Unless | cel.Project):
            raise NotProved("a window or key of a part is under AND, under PROJECT, or on the right of UNLESS")
        return rebuilt(phi, below) if below else phi

    def register(self, *names: str) -> list[Predicate]:
        """Add a register; return for each attribute the condition "has the value of the register"."""
        self.parts.append(names)
        marks = [f"{HELD}{len(self.parts) - 1} {name}" for name in names]
        return [pred.Comparison("=", pred.Attribute(mark), pred.Constant(True)) for mark in marks]

    @staticmethod
    def emptied(phi: cel.Formula, register: int, place: Place) -> cel.Formula:
        """Return the formula with a variable for its last event, after which the register's value is forgotten.

        Return the formula unchanged if the match ends there.
        """
        return phi if place.at_end else cel.In(phi, LAST_OF + str(register))

    @staticmethod
    def _require_end(phi: cel.Within, place: Place) -> None:
        if not place.at_end or not is_end_held(phi.phi, None):
            raise NotProved("a window is around a match that may end before it is reported")

    def condition(self, condition: cel.Condition, phi: cel.Formula, place: Place) -> cel.Condition:
        """Return the condition of a filter on phi as a condition on single events."""
        if not any(isinstance(atom, cel.Correlated | cel.Named) for atom in cel.atoms(condition)):
            return condition
        if isinstance(condition, cel.Disjunction):
            return cel.Disjunction(*(self.condition(side, phi, place) for side in (condition.left, condition.right)))
        names, bound = _names_in(phi), surely_bound(phi)
        of_last = [pair for pair, is_of_last in self.compared.equations(condition, phi, place) if is_of_last]
        made: list[cel.Condition] = []
        for part in _flattened(condition):
            pair = equal_values(part)
            if isinstance(part, cel.Every):
                made.append(part)
            elif isinstance(part, cel.Disjunction):
                made.append(self.condition(part, phi, place))
            elif pair is None:
                raise NotProved("a filter compares events by something other than equal attributes")
            elif (variables := {str(a.variable) for a in pair}) <= names:
                if pair in of_last:
                    here = dict.fromkeys(str(a.variable) for a in pair)
                    made.extend(cel.Every(A, self.agrees(pair[0].name)) for A in here)
                elif not variables <= bound:
                    raise NotProved("a filter compares events of a variable that may hold no event")
                else:
                    held = self.register(pair[0].name, pair[1].name)
                    made.extend(cel.Every(str(a.variable), P) for a, P in zip(pair, held, strict=True))
        whole = made[0] if made else cel.Every(MARK, pred.Anything())
        for part in made[1:]:
            whole = cel.Conjunction(whole, part)
        return whole


def _by_alternatives(phi: cel.Formula) -> cel.Formula:
    """Move OR out of the filters that compare a variable which only one side of the OR binds."""
    if children(phi):
        phi = rebuilt(phi, [_by_alternatives(psi) for psi in children(phi)])
    if isinstance(phi, cel.Filter):
        pairs = [pair for pair in map(equal_values, cel.atoms(phi.condition)) if pair is not None]
        compared = {str(a.variable) for pair in pairs for a in pair} & _names_in(phi.phi)
        sides = _sides_of(phi.phi)
        if not compared <= surely_bound(phi.phi) and len(sides) <= 64:
            first, *rest = [cel.Filter(side, phi.condition) for side in sides]
            phi = first
            for other in rest:
                phi = cel.Or(phi, other)
    return phi


def _sides_of(phi: cel.Formula) -> list[cel.Formula]:
    """Return formulas without OR whose valuations together are those of phi: one formula for each choice of sides."""
    if isinstance(phi, cel.Or):
        return _sides_of(phi.left) + _sides_of(phi.right)
    if isinstance(phi, cel.EventAtom | cel.Preference | cel.Iteration):
        return [phi]
    below = [[psi] if isinstance(phi, cel.Unless) and i else _sides_of(psi) for i, psi in enumerate(children(phi))]
    # One more than `_by_alternatives` accepts, so that it sees that there are too many without building all of them.
    return [rebuilt(phi, chosen) for chosen in islice(product(*below), 65)]


def _flattened(condition: cel.Condition) -> list[cel.Condition]:
    if isinstance(condition, cel.Conjunction):
        return _flattened(condition.left) + _flattened(condition.right)
    return [condition]


def _reached(
    pair: tuple[pred.Attribute, pred.Attribute], pairs: Sequence[tuple[pred.Attribute, pred.Attribute]]
) -> set[str]:
    """Return the variables that the pairs make equal to one of this pair."""
    reached = {str(a.variable) for a in pair}
    # Each round but the last adds a variable, so as many rounds as pairs are enough.
    for _ in pairs:
        for a, b in pairs:
            if a.name == pair[0].name and {str(a.variable), str(b.variable)} & reached:
                reached |= {str(a.variable), str(b.variable)}
    return reached


def _names_in(phi: cel.Formula) -> set[str]:
    """Return the variables that may hold an event, and the names of registers with which events are compared."""
    atoms = (psi for psi in cel.subformulas(phi) if isinstance(psi, cel.EventAtom | cel.In))
    tests = (a for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter) for a in cel.atoms(psi.condition))
    return {psi.type if isinstance(psi, cel.EventAtom) else psi.variable for psi in atoms} | {
        mark for test in tests if isinstance(test, cel.Every) and (mark := _register_mark(test.predicate))
    }


def _register_mark(P: Predicate) -> str:
    """Return the mark of a condition on a register; the empty text for other predicates."""
    is_one = isinstance(P, pred.Comparison) and isinstance(P.left, pred.Attribute) and P.left.name.startswith(HELD)
    return P.left.name if is_one else ""  # type: ignore[union-attr]


def _with_all_in(phi: cel.Formula, P: Predicate) -> cel.Formula:
    """Return the formula restricted to valuations whose events are all in P; the helper variable is projected away."""
    kept = frozenset((_names_in(phi) | {_register_mark(P)}) - {MARK, ""})
    return cel.Project(kept, cel.Filter(cel.In(phi, MARK), cel.Every(MARK, P)))


def _conjunction(literals: Sequence[Predicate]) -> Predicate | None:
    found: Predicate | None = None
    for literal in literals:
        found = literal if found is None else pred.Both(found, literal)
    return found


def _one_value(compared: ComparedAttributes, key: str, wanted: Truths) -> bool:
    """Return whether exactly one value satisfies the tests that are true."""
    for test, yes in zip(compared.tests_of(key), wanted, strict=True):
        if yes and isinstance(test, pred.Comparison) and test.comparator == "=":
            return True
        if yes and isinstance(test, pred.OneOf):
            return len({v for v in test.values if compared.truths(key, v) == wanted}) == 1
    return False


def flaw_in_cases(certificate: Certificate, budget: Budget) -> str | None:
    """Return the flaw in a certificate that has cases; None if it proves its claim. Raises BudgetExceeded."""
    assert certificate.cases is not None
    check_time()
    formulas = [_by_alternatives(cel.expanded(parse(text))) for text in (certificate.left, certificate.right)]
    compared = ComparedAttributes(certificate.schema)
    try:
        compared.collect(formulas)
    except NotProved as error:
        return str(error)
    given = {tuple(sorted(case.keys)): case for case in certificate.cases}
    for case in certificate.cases:
        if dict(case.keys).keys() != compared.tests.keys():
            return "a case of the certificate has other keys than the queries"
        if any(t is not None and len(t) != len(compared.tests[k]) for k, t in case.keys):
            return "a case of the certificate has other tests than the queries"
    choices = [[None, *sorted(compared.find_truths(key))] for key in compared.tests]
    for chosen in product(*choices):
        if tuple(sorted(zip(compared.tests, chosen, strict=True))) not in given:
            return f"the certificate has no case for the keys {dict(zip(compared.tests, chosen, strict=True))}"
    try:
        for case in certificate.cases:
            _check_case(case, formulas, compared, certificate, budget)
    except NotProved as error:
        return str(error)
    return None


def _check_case(
    case: PieceProof,
    formulas: Sequence[cel.Formula],
    compared: ComparedAttributes,
    certificate: Certificate,
    budget: Budget,
) -> None:
    reading = UnaryReading(compared, dict(case.keys), certificate.order)
    phi, psi = (reading.unary(phi, Place()) for phi in formulas)
    near = [reading.is_near(name, i) for name, widths in compared.widths.items() for i in range(len(widths))]
    last = [reading.may_be_last(key) for key in compared.tests]
    schema = certificate.schema
    has_windows = any(not isinstance(part, tuple) for part in reading.parts)
    if schema is not None:
        schema = Schema(
            {
                R: {
                    **kinds,
                    **{f"\0same {k}": "bool" for k in compared.tests if k in kinds or (k == TIME and schema.timed)},
                    **({"\0timed": "bool"} if has_windows and (TIME in kinds or schema.timed) else {}),
                    **{f"\0near {a}": "int" for a in compared.widths if a in kinds or (a == TIME and schema.timed)},
                }
                for R, kinds in schema.types.items()
            }
        )
    timed = [reading.has_time()] if has_windows else []
    held = [test for tests in compared.held.values() for test in tests]
    if compared.held and schema is not None:
        held += [pred.OfType(R) for R in schema.types]
    algebra = Algebra([*generators(phi), *generators(psi), *near, *last, *timed, *held], budget, schema, case.solver)
    if (event := unlisted(algebra.generators, {atom.chosen for atom in algebra.atoms}, schema)) is not None:
        raise NotProved(f"the certificate does not cover events such as {event}")
    if reading.parts:
        _check_clocked(case, (phi, psi), reading, certificate, algebra)
        return
    A, B = compile_cel(phi, budget, algebra), compile_cel(psi, budget, algebra)
    A, B = seen_at(A, certificate.level), seen_at(B, certificate.level)
    limits = tuple(map(len, compared.widths.values()))
    _check_relation(case, _Sides(A, B, algebra), _letters(compared, reading, algebra), limits, certificate.claim)


def _machine(phi: cel.Formula, algebra: Algebra) -> NestedAutomaton:
    """Return the automaton of a formula. Raises NotClosed if a strategy on parts is inside another operator."""

    def has_parts(psi: cel.Formula) -> bool:
        return any(name.startswith((FIRST_OF, HELD)) for name in _names_in(psi))

    choosing = [psi for psi in cel.subformulas(phi) if isinstance(psi, cel.Next | cel.Last | cel.Max)]
    if not any(map(has_parts, choosing)):
        return NestedAutomaton("plain", algebra, [], compile_cel(phi, algebra.budget, algebra))
    if isinstance(phi, cel.Or):
        return NestedAutomaton("either", algebra, [_machine(phi.left, algebra), _machine(phi.right, algebra)])
    if isinstance(phi, cel.Next | cel.Last | cel.Max):
        step = after_next if isinstance(phi, cel.Next) else after_last if isinstance(phi, cel.Last) else after_max
        return NestedAutomaton("strategy", algebra, [_machine(phi.phi, algebra)], monitor=step)
    if isinstance(phi, cel.In) and not phi.variable.startswith((FIRST_OF, LAST_OF)):
        held = frozenset([phi.variable])
        return NestedAutomaton("filter", algebra, [_machine(phi.phi, algebra)], shown=lambda L, _: L | held if L else L)
    if isinstance(phi, cel.Project):
        kept = phi.variables
        return NestedAutomaton("filter", algebra, [_machine(phi.phi, algebra)], shown=lambda L, _: L & kept)
    if isinstance(phi, cel.Filter) and all(
        isinstance(c, cel.Every) and not _register_mark(c.predicate) for c in _flattened(phi.condition)
    ):
        tests = [(c.variable, algebra.mask(c.predicate)) for c in cel.atoms(phi.condition) if isinstance(c, cel.Every)]

        def fails(type_: int) -> set[str]:
            return {variable for variable, mask in tests if not mask >> type_ & 1}

        return NestedAutomaton(
            "filter",
            algebra,
            [_machine(phi.phi, algebra)],
            shown=lambda L, type_: None if L & fails(type_) else L,
            unseen=lambda type_: VISIBLE in fails(type_),
        )
    raise NotClosed(
        "NXT, LAST or MAX is around a part with its own window or key; around such a strategy only OR, FILTER and IN "
        "can be checked"
    )


def _check_clocked(
    case: PieceProof,
    formulas: tuple[cel.Formula, cel.Formula],
    reading: UnaryReading,
    certificate: Certificate,
    algebra: Algebra,
) -> None:
    """Raise NotProved if the pairs of a case with windows on parts do not form a proof."""
    compared = reading.compared
    ends, tick = compared.widths.get(TIME, []), _tick(reading)
    edges = [*(int(Fraction(w) / tick) if w < math.inf else math.inf for w in ends), math.inf]
    letters = _letters(compared, reading, algebra)
    place = list(compared.widths).index(TIME) if ends else 0
    events = []
    has_windows = any(not isinstance(part, tuple) for part in reading.parts)
    for type_, (zones, _) in enumerate(letters):
        options = _options(compared, reading, algebra, type_)
        if not has_windows:
            events.append(KnownEvent(type_, False, 0, math.inf, options))
            continue
        timed, zone = bool(algebra.mask(reading.has_time()) >> type_ & 1), zones[place] if ends else 0
        if timed or zone == len(ends):  # what is near the last event has a time
            events.append(KnownEvent(type_, timed, edges[zone - 1] + 1 if timed and zone else 0, edges[zone], options))
    limits = tuple(map(len, compared.widths.values()))

    def follow(state: tuple[int, ...], type_: int) -> tuple[int, ...] | None:
        zones, may_end = letters[type_]
        if any(before < zone < limit for zone, before, limit in zip(zones, state, limits, strict=False)):
            return None
        return (*(min(zone, before) for zone, before in zip(zones, state, strict=False)), int(may_end))

    def forget_marks(marks: Marks) -> Marks:
        if certificate.level == "valuations":
            return marks
        return frozenset({MARK}) if marks and certificate.level == "events" else UNMARKED

    try:
        phi, psi = (_machine(phi, algebra) for phi in formulas)
        widths = [math.inf if isinstance(w, tuple) or w == math.inf else int(Fraction(w) / tick) for w in reading.parts]
        gap = int(certificate.order == "strict")
        keyless = frozenset(name for name, truths in case.keys if truths is None)
        groups = {i: compared.group_of(w[0]) for i, w in enumerate(reading.parts) if isinstance(w, tuple)}
        closed = ClosedList(
            (phi, psi), events, follow, lambda state: bool(state[-1]), widths, gap, forget_marks, groups, keyless
        )
        closed.check(case.clocked or (), (*limits, 0), certificate.claim == "contained")
    except NotClosed as error:
        raise NotProved(str(error)) from None


def _options(
    compared: ComparedAttributes, reading: UnaryReading, algebra: Algebra, type_: int
) -> tuple[AttributeOptions, ...]:
    """Return for each attribute that registers hold the values that it may have in events of a type."""

    def is_in(P: Predicate) -> bool:
        return bool(algebra.mask(P) >> type_ & 1)

    found = []
    for name, tests in compared.held.items():
        truths, known = tuple(map(is_in, tests)), sorted(compared.find_truths(name))
        if len(known) > PIECES:
            raise NotProved(f"the tests of {name} divide its values into more than {PIECES} ranges")
        schema = compared.schema
        has = schema is None or any(is_in(pred.OfType(R)) for R in schema.types if schema.has(R, name))
        is_last = name in compared.tests and is_in(reading.agrees(name))
        lonely = _one_value(compared, name, truths)
        piece = known.index(truths) if has and truths in known else None
        lacks = truths in compared.without_key(name)
        found.append(AttributeOptions(name, compared.group_of(name), is_last, lacks, piece, lonely))
    return tuple(found)


def _tick(reading: UnaryReading) -> Fraction:
    """Return the unit of times in seconds: the unit in the schema, or else a small part of every width."""
    kind = reading.compared.type_of(TIME)
    if kind in ("int", "timestamp"):
        return Fraction(1, 1 if kind == "int" else 1_000_000)
    mine = [w for w in reading.parts if not isinstance(w, tuple)]
    parts = [Fraction(w).denominator for w in (*mine, *reading.compared.widths.get(TIME, [])) if w < math.inf]
    whole = math.lcm(1, *parts)
    return Fraction(1, whole * (1000 if whole <= 1000 else 1024))


def _letters(
    compared: ComparedAttributes, reading: UnaryReading, algebra: Algebra
) -> list[tuple[tuple[int, ...], bool]]:
    """Return (zones, may_end) for each type of events: the zone of its distance for each attribute of windows, and
    whether it may be the last event's type.
    """
    found = []
    for type_ in range(len(algebra.atoms)):
        zones: list[int] = []
        ends = True
        for name, widths in compared.widths.items():
            zone = 0
            while zone < len(widths) and not algebra.mask(reading.is_near(name, zone)) >> type_ & 1:
                zone += 1
            zones.append(zone)
            ends = ends and zone in (0, len(widths))
        ends = ends and all(algebra.mask(reading.may_be_last(key)) >> type_ & 1 for key in compared.tests)
        found.append((tuple(zones), ends))
    return found


@dataclass(frozen=True)
class _Sides:
    """The two automata side by side: states of the right one are numbered after those of the left one."""

    left: CEA
    right: CEA
    algebra: Algebra

    def is_final(self, q: int) -> bool:
        n = self.left.states
        return q in self.left.final if q < n else q - n in self.right.final

    def moves(self, states: States) -> Iterator[tuple[int, Marks, int]]:
        """Yield (type, marks, target) for each transition of the states and each type of events that takes it."""
        n = self.left.states
        for q in states:
            for t in self.left.leaving[q] if q < n else self.right.leaving[q - n]:
                mask = self.algebra.mask(t.predicate)
                target = t.target if q < n else t.target + n
                for type_ in range(len(self.algebra.atoms)):
                    if mask >> type_ & 1:
                        yield type_, t.marks, target

    def stepped(self, states: States) -> dict[tuple[int, Marks], States]:
        """Return the targets of the set, for each type of events and each set of marks."""
        found: dict[tuple[int, Marks], set[int]] = {}
        for type_, marks, target in self.moves(states):
            found.setdefault((type_, marks), set()).add(target)
        return {letter: frozenset(reached) for letter, reached in found.items()}


def _check_relation(
    case: PieceProof,
    sides: _Sides,
    letters: Sequence[tuple[tuple[int, ...], bool]],
    limits: tuple[int, ...],
    claim: str,
) -> None:
    """Raise NotProved if the pairs do not prove that both automata accept the same streams.

    Only streams that can exist count: of two events near the last one, the later is at least as near, and the last
    event can be the last. limits: for each attribute of windows, the zone of values outside every window.
    """
    n = sides.left.states
    count = n + sides.right.states
    pairs: dict[tuple[int, ...], list[tuple[States, States]]] = {}
    for state, left, right in case.relation:
        if any(q >= count for q in (*left, *right)):
            raise NotProved(f"the certificate names a state that the automata do not have; they have {count} states")
        if len(state) != len(limits) + 1:
            raise NotProved("a pair of the certificate lacks the state that says which streams can exist")
        pairs.setdefault(state, []).append((frozenset(left), frozenset(right)))
    todo = [(state, x, y) for state, known in pairs.items() for x, y in known]
    for state, x, y in todo:
        if state[-1] and any(map(sides.is_final, x)) != any(map(sides.is_final, y)):
            raise NotProved(
                f"the certificate has the pair {sorted(x)}, {sorted(y)} of sets of states, but only one is final"
            )
    start_left = frozenset(sides.left.initial)
    start_right = frozenset(q + n for q in sides.right.initial)
    todo.append(((*limits, 0), start_left | start_right if claim == "contained" else start_left, start_right))
    for state, x, y in todo:
        from_x, from_y = sides.stepped(x), sides.stepped(y)
        for type_, marks in from_x.keys() | from_y.keys():
            check_time()
            zones, ends = letters[type_]
            if any(before < zone < limit for zone, before, limit in zip(zones, state, limits, strict=False)):
                continue  # no stream has this event here, because times do not decrease
            after = (*(min(zone, before) for zone, before in zip(zones, state, strict=False)), int(ends))
            x_ = from_x.get((type_, marks), frozenset())
            y_ = from_y.get((type_, marks), frozenset())
            if not _are_equal(x_, y_, pairs.get(after, [])):
                raise NotProved(
                    f"the certificate is incomplete: an event leads from its pair {sorted(x)}, {sorted(y)} to "
                    f"{sorted(x_)}, {sorted(y_)}, and no listed pairs prove that these sets of states are equivalent"
                )


def _are_equal(x: States, y: States, known: Sequence[tuple[States, States]]) -> bool:
    """Return whether the known equations between sets make two sets equal."""
    return x == y or _closed(x, known) == _closed(y, known)


def _closed(states: States, known: Sequence[tuple[States, States]]) -> States:
    """Return the set with all states that the equations add to it."""
    while True:
        check_time()
        more = states
        for a, b in known:
            if a <= more or b <= more:
                more = more | a | b
        if more == states:
            return states
        states = more
