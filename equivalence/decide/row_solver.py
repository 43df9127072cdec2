"""What z3 says of words of conditions in a partition: a fact that a word goes against, or a table that has the word.

A value is of a kind and a point of a line, on which the values of this kind have their order; texts are between those
that the conditions name. Without a schema a column has a value of any kind in each row, or NULL. Whether a word is
impossible does not depend on what LIKE, CAST, || and arithmetic give, which floats round, but for + - * on columns of
whole numbers. For a table arithmetic is exact, and the definition tries the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from cerify.equivalence.decide.row_words import ClausePair, Fact, Word
from cerify.semantics.budget import check_time, time_left
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TYPE, Event, Schema, Stream
from cerify.semantics.packages import z3
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import ROW
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.scalars import combined
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, ValueType, microseconds, time_at, value_type_of

STEPS = 2_000_000  # of z3 for one question; a limit of time would make the answer depend on the machine
SMALL = 9  # a table has numbers from 0 to this one where it can
NULL, NUMBER, NAN, TEXT, TRUTH, TIME = range(6)
KINDS: Mapping[ValueType, tuple[int, ...]] = {
    "int": (NUMBER,), "float": (NUMBER, NAN), "string": (TEXT,), "bool": (TRUTH,), "timestamp": (TIME,),
}  # fmt: skip
Truth = tuple[Any, Any]
"""Whether a condition is true, and whether it is false; NULL is neither."""


class Point(NamedTuple):
    """A value: its kind, and where it is among the values of this kind."""

    kind: Any
    at: Any


@dataclass(frozen=True)
class Solver:
    """Asks z3 about the conditions of two clauses, on tables of a schema."""

    clauses: ClausePair
    schema: Schema | None

    def refuted(self, word: Word) -> Fact | None:
        """A fact that the word of a whole partition goes against; None if there is none, or none was found."""
        asked = _Rows(self.clauses, self.schema, len(word), exact=False)
        known: dict[Any, tuple[int, tuple[int, bool] | None]] = {asked.there(r): (r, None) for r in range(len(word))}
        known |= {asked.literal(i, true, r): (r, (i, true)) for r, letter in enumerate(word) for i, true in letter}
        first, last = z3.Not(asked.there(-1)), z3.Not(asked.there(len(word)))
        core = asked.core([first, last, *known])
        if core is None:
            return None
        of_rows = [known[one] for one in core if one in known]
        begin = 0 if first in core else min(r for r, _ in of_rows)
        end = len(word) if last in core else 1 + max(r for r, _ in of_rows)
        letters = (frozenset(pair for s, pair in of_rows if pair and s == r) for r in range(begin, end))
        return Fact(tuple(letters), first in core, last in core)

    def holds(self, fact: Fact) -> bool:
        """Whether no partition has the rows of a fact, as far as z3 can tell."""
        asked = _Rows(self.clauses, self.schema, len(fact.rows), exact=False)
        return bool(asked.answer(asked.known(fact.rows, fact.first, fact.last)) == z3.unsat)

    def tables(self, word: Word) -> Iterator[Stream]:
        """Tables of one partition that may have a word: those without NULLs and with small numbers first."""
        asked = _Rows(self.clauses, self.schema, len(word), exact=True)
        known = asked.known(word, True, True)
        for simpler in asked.simpler():
            if asked.answer([*known, *simpler]) == z3.sat:
                yield asked.table(self.schema)


class _Rows:
    """Some rows of a partition, and those around them that conditions look at."""

    def __init__(self, clauses: ClausePair, schema: Schema | None, number: int, exact: bool) -> None:
        self.clauses, self.number, self.exact = clauses, number, exact
        self.types: Mapping[str, ValueType] = {} if schema is None else schema.attributes
        self.null = Point(z3.IntVal(NULL), z3.RealVal(0))
        self.solver = z3.Solver()
        self.solver.set("rlimit", STEPS)
        self.nodes = [one for e in clauses.conditions for one in subtrees(e)]
        values = (one.value for one in self.nodes if isinstance(one, rows.Constant))
        self.texts = sorted({one for one in values if isinstance(one, str)} | {*self._like_texts()})
        key = (*clauses.left.partition, *(one.column for one in clauses.left.order[:1]))
        columns = [one for one in self.nodes if isinstance(one, rows.Column)]
        self.names = tuple(dict.fromkeys(one.name for one in (*columns, *key)))
        self.around = range(-max(1, clauses.reach("PREV")), number + max(1, clauses.reach("NEXT")))
        self.solver.add(*self._rules())

    @cached_property
    def likes(self) -> list[rows.Like]:
        """The conditions with LIKE."""
        return [one for one in self.nodes if isinstance(one, rows.Like)]

    def _like_texts(self) -> Iterator[str]:
        """For tables: some texts that are like the patterns, and some that are not."""
        for one in self.likes if self.exact else ():
            if isinstance(one.pattern, rows.Constant) and isinstance(pattern := one.pattern.value, str):
                yield from (
                    "",
                    "~",
                    pattern.replace("%", "").replace("_", "a"),
                    pattern.replace("%", "a").replace("_", "b"),
                )

    # --- rows and cells -----------------------------------------------------------------------------------------------

    def there(self, r: int) -> Any:
        """Whether the partition has a row r."""
        return z3.Bool(f"there {r}")

    def cell(self, name: str, r: int) -> Point:
        return Point(z3.Int(f"kind {r} {name}"), z3.Real(f"value {r} {name}"))

    def literal(self, i: int, true: bool, r: int) -> Any:
        """A literal that stands for the truth of a condition in a row."""
        return z3.Bool(f"condition {i} {r}") if true else z3.Not(z3.Bool(f"condition {i} {r}"))

    def known(self, word: Word, first: bool, last: bool) -> list[Any]:
        """The literals of rows that are there; first, last: as the first, the last rows of a partition."""
        ends = [z3.Not(self.there(-1))] * first + [z3.Not(self.there(len(word)))] * last
        literals = [self.literal(i, true, r) for r, letter in enumerate(word) for i, true in letter]
        return [*ends, *literals, *(self.there(r) for r in range(len(word)))]

    def _rules(self) -> Iterator[Any]:
        """Rows have no gaps, columns their kinds, partitions one key and an order; conditions are what they say."""
        for r, after in pairwise(self.around):
            known = z3.And(self.there(r), self.there(after))
            if r < 0:
                yield z3.Implies(self.there(r), self.there(after))
            if after >= self.number:
                yield z3.Implies(self.there(after), self.there(r))
            for one in self.clauses.left.partition:
                mine, other = self.cell(one.name, r), self.cell(one.name, after)
                yield z3.Implies(known, z3.And(mine.kind == other.kind, mine.at == other.at))
            for order in self.clauses.left.order[:1]:
                ends = [self.cell(order.column.name, end) for end in (r, after)]
                low, high = reversed(ends) if order.descending else ends
                strictly, back = self._compared("<", low, high)[0], self._compared(">", low, high)[0]
                yield z3.Implies(known, strictly if self.exact else z3.Not(back))
                null = [end.kind == NULL for end in ends]
                first, later = (
                    null if (order.nulls or ("FIRST" if order.descending else "LAST")) == "LAST" else reversed(null)
                )
                yield z3.Implies(z3.And(known, first), later)
        for name in self.names:
            kinds = (NULL, *KINDS[self.types[name]]) if name in self.types else tuple(range(6))
            for r in self.around:
                x = self.cell(name, r)
                yield _among(x.kind, (TEXT,) if name == TYPE else kinds)
                yield z3.Implies(x.kind == TRUTH, z3.Or(x.at == 0, x.at == 1))
                if self.types.get(name) == "int":
                    yield z3.IsInt(x.at)
                if self.exact and self.likes:
                    yield z3.Implies(x.kind == TEXT, _among(x.at, range(len(self.texts))))
        for r in range(self.number):
            for i, e in enumerate(self.clauses.conditions):
                yield self.literal(i, True, r) == self._truth(e, r)[0]

    # --- expressions --------------------------------------------------------------------------------------------------

    def _value(self, e: rows.Expression, r: int) -> Point:
        """The value of an expression in the row r."""
        match e:
            case rows.Column(name):
                return self.cell(name, r)
            case rows.Physical(function, argument, offset):
                other = r + (offset if function == "NEXT" else -offset)
                return _either(self.there(other), self._value(argument, other), self.null)
            case _ if not rows.lookups(e):
                return self._constant(_folded(e))
            case rows.Case(condition, result, otherwise):
                return _either(self._truth(condition, r)[0], self._value(result, r), self._value(otherwise, r))
            case rows.Coalesce(arguments):
                found = self.null
                for one in reversed(arguments):
                    x = self._value(one, r)
                    found = _either(x.kind == NULL, found, x)
                return found
            case rows.Negative(operand):
                x = self._value(operand, r)
                return _either(_among(x.kind, (NUMBER, NAN)), Point(x.kind, -x.at), self.null)
            case rows.Absolute(operand):
                x = self._value(operand, r)
                positive = Point(x.kind, z3.If(x.at < 0, -x.at, x.at))
                return _either(_among(x.kind, (NUMBER, NAN)), positive, self.null)
            case rows.Sum(left, sign, right) | rows.Product(left, sign, right):
                return self._calculated(sign, left, right, r)
            case rows.Cast(operand, type_):
                x = self._value(operand, r)
                same = _among(x.kind, (NULL, TEXT) if type_ == "VARCHAR" else (NULL,))
                if self.exact and type_ in ("BIGINT", "DOUBLE"):
                    whole = z3.And(x.kind == NUMBER, type_ == "DOUBLE" or z3.IsInt(x.at))
                    return _either(z3.Or(same, whole), x, self.null)
                return _either(same, x, _unknown(f"CAST AS {type_}", x))
        true, false = self._truth(e, r)
        kind = z3.If(z3.Or(true, false), z3.IntVal(TRUTH), z3.IntVal(NULL))
        return Point(kind, z3.If(true, z3.RealVal(1), z3.RealVal(0)))

    def _constant(self, value: Value | None) -> Point:
        """Raises Unsupported for infinity."""
        match value:
            case None:
                return self.null
            case bool():
                return _point(TRUTH, int(value))
            case int() | float():
                if math.isinf(value):
                    raise Unsupported("infinity is compared with")
                return _point(NAN, 0) if math.isnan(value) else _point(NUMBER, Fraction(value))
            case str():
                return _point(TEXT, self.texts.index(value)) if value in self.texts else _unknown(f"text {value}")
            case datetime():
                return _point(TIME, microseconds(value))

    def _calculated(self, sign: str, left: rows.Expression, right: rows.Expression, r: int) -> Point:
        """What + - * / % make of numbers, and || of texts; NULL of other values, and where it is too large."""
        x, y = self._value(left, r), self._value(right, r)
        kind = TEXT if sign == "||" else NUMBER
        if sign in "+-*" and (self.exact or (self._is_whole(left) and self._is_whole(right))):
            result = _point(NUMBER, {"+": x.at + y.at, "-": x.at - y.at, "*": x.at * y.at}[sign])
        elif sign == "/" and self.exact:
            both_whole, size = z3.And(z3.IsInt(x.at), z3.IsInt(y.at)), z3.ToReal(z3.ToInt(z3.Abs(x.at) / z3.Abs(y.at)))
            truncated = z3.If((x.at < 0) == (y.at < 0), size, -size)
            divided = _point(NUMBER, z3.If(both_whole, truncated, x.at / y.at))
            result = _either(y.at == 0, self.null, divided)
        else:
            found = _unknown(sign, x, y)
            result = _either(found.kind == kind, found, self.null)
        return _either(z3.And(x.kind == kind, y.kind == kind), result, self.null)

    def _is_whole(self, e: rows.Expression) -> bool:
        """Whether an expression is a whole number of any size, or NULL."""
        match e:
            case rows.Column(name):
                return self.types.get(name) == "int"
            case rows.Constant(value):
                return isinstance(value, int) and not isinstance(value, bool)
            case rows.Sum(left, "+" | "-", right) | rows.Product(left, "*", right):
                return self._is_whole(left) and self._is_whole(right)
            case rows.Negative(one) | rows.Absolute(one) | rows.Physical(_, one):
                return self._is_whole(one)
        return False

    def _truth(self, e: rows.Expression, r: int) -> Truth:
        """Whether an expression, as a condition, is true in the row r, and whether it is false."""
        match e:
            case rows.Comparison(left, comparator, right):
                return self._compared(comparator, self._value(left, r), self._value(right, r))
            case rows.IsNull(operand, negated):
                null = self._value(operand, r).kind == NULL
                return _turned((null, z3.Not(null)), negated)
            case rows.Between(operand, low, high, negated):
                x = self._value(operand, r)
                above, under = (self._value(end, r) for end in (low, high))
                return _turned(_both(self._compared(">=", x, above), self._compared("<=", x, under)), negated)
            case rows.In(operand, items, negated):
                x = self._value(operand, r)
                equal = [self._compared("=", x, self._value(one, r)) for one in items]
                return _turned((z3.Or([t for t, _ in equal]), z3.And([f for _, f in equal])), negated)
            case rows.Like(operand, pattern, escape, negated):
                x, y = self._value(operand, r), self._value(pattern, r)
                there, alike = z3.And(x.kind == TEXT, y.kind == TEXT), _unknown(f"LIKE {escape}", x, y).at > 0
                if self.exact and not rows.lookups(pattern):
                    alike = _among(x.at, [i for i, text in enumerate(self.texts) if _alike(text, e)])
                return _turned((z3.And(there, alike), z3.And(there, z3.Not(alike))), negated)
            case rows.Not(operand):
                return _turned(self._truth(operand, r), True)
            case rows.And(left, right):
                return _both(self._truth(left, r), self._truth(right, r))
            case rows.Or(left, right):
                return _turned(_both(_turned(self._truth(left, r), True), _turned(self._truth(right, r), True)), True)
        x = self._value(e, r)
        return z3.And(x.kind == TRUTH, x.at == 1), z3.And(x.kind == TRUTH, x.at == 0)

    def _compared(self, comparator: str, x: Point, y: Point) -> Truth:
        """A comparison of values of one kind, of which NaN is one of the numbers; else NULL."""
        ordered = z3.And(x.kind == y.kind, x.kind != NULL, x.kind != NAN)
        unordered = z3.And(_among(x.kind, (NUMBER, NAN)), _among(y.kind, (NUMBER, NAN)), z3.Not(ordered))
        true = z3.Or(z3.And(ordered, COMPARE[comparator](x.at, y.at)), z3.And(unordered, comparator == "<>"))
        return true, z3.And(z3.Or(ordered, unordered), z3.Not(true))

    # --- questions ----------------------------------------------------------------------------------------------------

    def answer(self, known: Sequence[Any]) -> Any:
        check_time()
        if (left := time_left()) < math.inf:
            self.solver.set("timeout", max(1, int(1000 * left)))
        return self.solver.check(*known)

    def core(self, known: Sequence[Any]) -> list[Any] | None:
        """Some of what is known that cannot be together, none of which can be left out; None if it can be."""
        if self.answer(known) != z3.unsat:
            return None
        core = list(self.solver.unsat_core())
        for one in list(core):
            without = [other for other in core if not other.eq(one)]
            if self.answer(without) == z3.unsat:
                core = without
        return core

    # --- tables -------------------------------------------------------------------------------------------------------

    def simpler(self) -> Iterator[list[Any]]:
        """What makes a table simpler, the simplest first."""
        cells = [(name, self.cell(name, r)) for name in self.names for r in range(self.number)]
        expected = {name: self._expected(name) for name in self.names}
        usual = [_among(x.kind, (NULL, expected[name], *[NAN] * (expected[name] == NUMBER))) for name, x in cells]
        filled = [x.kind == expected[name] for name, x in cells]
        small = [z3.And(z3.IsInt(x.at), x.at >= 0, x.at <= SMALL) for name, x in cells if expected[name] == NUMBER]
        yield [*filled, *small]
        yield [*usual, *small]
        yield usual
        yield []

    def _expected(self, name: str) -> int:
        """The kind of a column: that of the schema, or of what it is compared with, or a number."""
        if name == TYPE:
            return TEXT
        if name in self.types:
            return KINDS[self.types[name]][0]
        near = (
            one
            for e in self.nodes
            if isinstance(e, COMPARING)
            for one in [list(subtrees(e))]
            if rows.Column(name, quoted=True) in one
        )
        found = (one.value for some in near for one in some if isinstance(one, rows.Constant) and one.value is not None)
        return next((KINDS[value_type_of(value)][0] for value in found), NUMBER)

    def table(self, schema: Schema | None) -> Stream:
        """The rows that the solver has found."""
        model = self.solver.model()
        found: dict[tuple[str, int], tuple[int, Fraction]] = {}
        for name in self.names:
            for r in range(self.number):
                kind, at = (model.eval(part, model_completion=True) for part in self.cell(name, r))
                found[name, r] = kind.as_long(), Fraction(at.numerator_as_long(), at.denominator_as_long())
        texts = self._texts(at for kind, at in found.values() if kind == TEXT)
        events = []
        for r in range(self.number):
            cells = {name: _read(*found[name, r], texts) for name in self.names}
            type_ = cells.pop(TYPE, ROW)
            events.append(Event(str(type_), {name: value for name, value in cells.items() if value is not None}))
        return Stream(events, schema)

    def _texts(self, points: Iterable[Fraction]) -> dict[Fraction, str]:
        """Texts in the order of points; those of the conditions are at the whole numbers from 0 on."""
        found = {Fraction(i): text for i, text in enumerate(self.texts)}
        before, n = "", 0
        for point in sorted({*points, *found}):
            if point in found:
                before, n = found[point], 0
            else:
                n += 1
                found[point] = f"{before}{chr(ord('a') + n - 1)}"
        return found


COMPARING = rows.Comparison | rows.Between | rows.In | rows.Like
COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
}


def _read(kind: int, at: Fraction, texts: Mapping[Fraction, str]) -> Value | None:
    match kind:
        case 1:
            return int(at) if at.denominator == 1 else float(at)
        case 2:
            return math.nan
        case 3:
            return texts[at]
        case 4:
            return at == 1
        case 5:
            return time_at(round(at))
    return None


def _folded(e: rows.Expression) -> Value | None:
    """The value of an expression that looks at no row."""
    assert not isinstance(e, rows.Lookup)
    return combined(e, [_folded(one) for one in rows.below(e)], STANDARD)


def _alike(text: str, e: rows.Like) -> bool:
    return combined(replace(e, negated=False), [text, _folded(e.pattern)], STANDARD) is True


def _point(kind: int, at: Any) -> Point:
    return Point(z3.IntVal(kind), z3.RealVal(str(at)) if isinstance(at, int | Fraction) else at)


def _unknown(function: str, *of: Point) -> Point:
    """What a function gives, of which nothing is known but that it gives the same of the same."""
    given = [part for one in of for part in one]
    sorts = [part.sort() for part in given]
    kind, at = (z3.Function(f"{function} {sort}", *sorts, sort) for sort in (z3.IntSort(), z3.RealSort()))
    return Point(kind(*given), at(*given)) if given else Point(z3.IntVal(TEXT), z3.Real(function))


def _either(condition: Any, one: Point, other: Point) -> Point:
    return Point(z3.If(condition, one.kind, other.kind), z3.If(condition, one.at, other.at))


def _among(kind: Any, kinds: Sequence[int]) -> Any:
    return z3.Or([kind == one for one in kinds])


def _turned(truth: Truth, negated: bool) -> Truth:
    return truth[::-1] if negated else truth


def _both(one: Truth, other: Truth) -> Truth:
    return z3.And(one[0], other[0]), z3.Or(one[1], other[1])
