"""The rows of a partition as terms of z3: what its cells hold, and where conditions are true.

A value is of a kind and a point of a line, on which the values of this kind have their order; texts are between those
that the conditions name. Without a schema a column has a value of any kind in each row, or NULL. What LIKE, CAST and ||
give is not known, nor what arithmetic gives, which floats round, but on columns of whole numbers; for a table it is
taken to be exact.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from cerify.equivalence.decide.certificate import Word
from cerify.equivalence.decide.row_words import ClausePair, nulls_of
from cerify.semantics.budget import check_time
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TYPE, Schema
from cerify.semantics.packages import z3
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import ROW
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.scalars import combined
from cerify.semantics.trees import subtrees
from cerify.semantics.values import INT64, Value, ValueType, microseconds

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


class Rows:
    """Some rows of a partition, and those around them that conditions look at, as terms of z3.

    exact: for a table, in which arithmetic is exact; else for facts, which hold whatever is rounded.
    """

    def __init__(self, clauses: ClausePair, schema: Schema | None, number: int, exact: bool) -> None:
        self.clauses, self.number, self.exact = clauses, number, exact
        self.schema = schema
        self.types: Mapping[str, ValueType] = {} if schema is None else schema.attributes
        self.null = Point(z3.IntVal(NULL), z3.RealVal(0))
        self.nodes = [one for e in clauses.conditions for one in subtrees(e)]
        values = (one.value for one in self.nodes if isinstance(one, rows.Constant))
        event_types = () if schema is None else schema.types
        self.texts = sorted({one for one in values if isinstance(one, str)} | {*self._like_texts(), *event_types})
        key = (*clauses.left.partition, *(one.column for one in clauses.left.order[:1]))
        columns = [one for one in self.nodes if isinstance(one, rows.Column)]
        typed = () if schema is None or {*schema.types} == {ROW} else (TYPE,)
        self.names = tuple(dict.fromkeys((*(one.name for one in (*columns, *key)), *typed)))
        self.around = range(-max(1, clauses.reach("PREV")), number + max(1, clauses.reach("NEXT")))

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
        at = z3.ToReal(z3.Int(f"whole {r} {name}")) if self.types.get(name) == "int" else z3.Real(f"value {r} {name}")
        return Point(z3.Int(f"kind {r} {name}"), at)

    def literal(self, i: int, true: bool, r: int) -> Any:
        """A literal that stands for the truth of a condition in a row."""
        return z3.Bool(f"condition {i} {r}") if true else z3.Not(z3.Bool(f"condition {i} {r}"))

    def known(self, word: Word, first: bool, last: bool) -> list[Any]:
        """The literals of rows that are there; first, last: as the first, the last rows of a partition."""
        ends = [z3.Not(self.there(-1))] * first + [z3.Not(self.there(len(word)))] * last
        literals = [self.literal(i, true, r) for r, letter in enumerate(word) for i, true in letter]
        return [*ends, *literals, *(self.there(r) for r in range(len(word)))]

    def rules(self) -> Iterator[Any]:
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
                first, later = null if nulls_of(order) == "LAST" else reversed(null)
                yield z3.Implies(z3.And(known, first), later)
        for name in self.names:
            kinds = (NULL, *KINDS[self.types[name]]) if name in self.types else tuple(range(6))
            for r in self.around:
                x = self.cell(name, r)
                yield among(x.kind, (TEXT,) if name == TYPE else kinds)
                yield z3.Implies(x.kind == TRUTH, z3.Or(x.at == 0, x.at == 1))
                if self.exact and self.likes:
                    yield z3.Implies(x.kind == TEXT, among(x.at, range(len(self.texts))))
        if self.schema is not None:
            yield from self._of_schema(self.schema)
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
                return _either(among(x.kind, (NUMBER, NAN)), Point(x.kind, -x.at), self.null)
            case rows.Absolute(operand):
                x = self._value(operand, r)
                positive = Point(x.kind, z3.If(x.at < 0, -x.at, x.at))
                return _either(among(x.kind, (NUMBER, NAN)), positive, self.null)
            case rows.Sum(left, sign, right) | rows.Product(left, sign, right):
                return self._calculated(sign, left, right, r)
            case rows.Cast(operand, type_):
                x = self._value(operand, r)
                same = among(x.kind, (NULL, TEXT) if type_ == "VARCHAR" else (NULL,))
                if self.exact and type_ in ("BIGINT", "DOUBLE"):
                    whole = z3.And(x.kind == NUMBER, type_ == "DOUBLE" or z3.IsInt(x.at))
                    return _either(z3.Or(same, whole), x, self.null)
                return _either(same, x, _unknown(f"CAST AS {type_}", x))
        true, false = self._truth(e, r)
        kind = z3.If(z3.Or(true, false), z3.IntVal(TRUTH), z3.IntVal(NULL))
        return Point(kind, z3.If(true, z3.RealVal(1), z3.RealVal(0)))

    def _constant(self, value: Value | None) -> Point:
        """Raises Unsupported for infinity, and for a whole number beyond binary64."""
        match value:
            case None:
                return self.null
            case bool():
                return _point(TRUTH, int(value))
            case int() | float():
                if value != value:
                    return _point(NAN, 0)
                if abs(value) > sys.float_info.max:
                    raise Unsupported("a number beyond binary64, or infinity, is compared with")
                return _point(NUMBER, Fraction(value))
            case str():
                return _point(TEXT, self.texts.index(value)) if value in self.texts else _unknown(f"text {value}")
            case datetime():
                return _point(TIME, microseconds(value))

    def _calculated(self, sign: str, left: rows.Expression, right: rows.Expression, r: int) -> Point:
        """What + - * / % make of numbers, and || of texts; NULL of other values, and where it is too large."""
        x, y = self._value(left, r), self._value(right, r)
        kind = TEXT if sign == "||" else NUMBER
        whole = self._is_whole(left) and self._is_whole(right)
        if sign in "+-*" and (self.exact or whole):
            result = _point(NUMBER, {"+": x.at + y.at, "-": x.at - y.at, "*": x.at * y.at}[sign])
        elif (sign == "/" and self.exact) or (sign in "/%" and whole):
            size = z3.ToReal(z3.ToInt(z3.Abs(x.at) / z3.Abs(y.at)))
            truncated = z3.If((x.at < 0) == (y.at < 0), size, -size)
            both = whole or (not self._has_float(left, right) and z3.And(z3.IsInt(x.at), z3.IsInt(y.at)))
            divided = x.at - y.at * truncated if sign == "%" else z3.If(both, truncated, x.at / y.at)
            result = _either(y.at == 0, self.null, _point(NUMBER, divided))
        else:
            found = _unknown(sign, x, y)
            result = _either(found.kind == kind, found, self.null)
        return _either(z3.And(x.kind == kind, y.kind == kind), result, self.null)

    def _has_float(self, *operands: rows.Expression) -> bool:
        """Whether a column or constant is a float, as the schema or the text has it."""
        nodes = (node for e in operands for node in subtrees(e))
        return any(
            isinstance(node.value, float)
            if isinstance(node, rows.Constant)
            else isinstance(node, rows.Column) and self.types.get(node.name) == "float"
            for node in nodes
        )

    def _is_whole(self, e: rows.Expression) -> bool:
        """Whether an expression is a whole number of any size, or NULL."""
        match e:
            case rows.Column(name):
                return self.types.get(name) == "int"
            case rows.Constant(value):
                return isinstance(value, int) and not isinstance(value, bool)
            case rows.Sum(left, "+" | "-", right) | rows.Product(left, _, right):
                return self._is_whole(left) and self._is_whole(right)
            case rows.Negative(one) | rows.Absolute(one) | rows.Physical(_, one):
                return self._is_whole(one)
        return False

    def _of_schema(self, schema: Schema) -> Iterator[Any]:
        """A row has one of the event types, and values in the columns of its type alone; whole numbers have 64 bits."""
        place = {R: self.texts.index(R) for R in schema.types}
        for r in self.around:
            type_ = self.cell(TYPE, r)
            yield among(type_.at, place.values())
            for name in self.names:
                x = self.cell(name, r)
                if lacking := [place[R] for R in place if name != TYPE and not schema.has(R, name)]:
                    yield z3.Implies(among(type_.at, lacking), x.kind == NULL)
                if self.types.get(name) == "int":
                    yield z3.And(x.at >= INT64.start, x.at < INT64.stop)

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
                equal = []
                for one in items:
                    check_time()
                    equal.append(self._compared("=", x, self._value(one, r)))
                return _turned((z3.Or([t for t, _ in equal]), z3.And([f for _, f in equal])), negated)
            case rows.Like(operand, pattern, escape, negated):
                x, y = self._value(operand, r), self._value(pattern, r)
                there, alike = z3.And(x.kind == TEXT, y.kind == TEXT), _unknown(f"LIKE {escape}", x, y).at > 0
                if self.exact and not rows.lookups(pattern):
                    alike = among(x.at, [i for i, text in enumerate(self.texts) if _alike(text, e)])
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
        unordered = z3.And(among(x.kind, (NUMBER, NAN)), among(y.kind, (NUMBER, NAN)), z3.Not(ordered))
        true = z3.Or(z3.And(ordered, COMPARE[comparator](x.at, y.at)), z3.And(unordered, comparator == "<>"))
        return true, z3.And(z3.Or(ordered, unordered), z3.Not(true))


COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
}


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


def among(kind: Any, kinds: Iterable[int]) -> Any:
    """The condition of z3 that a kind is one of these."""
    return z3.Or([kind == one for one in kinds])


def _turned(truth: Truth, negated: bool) -> Truth:
    return truth[::-1] if negated else truth


def _both(one: Truth, other: Truth) -> Truth:
    return z3.And(one[0], other[0]), z3.Or(one[1], other[1])
