"""Search with z3 for a table in which given conditions are true at each row: a word lists these conditions by row.

The result is a fact that refutes the word, or a table that has it. z3 gets a weaker model of some expressions
(`SymbolicRows`), so a word that it refutes is impossible in every table. A table that z3 finds may still not have the
word, so each table is checked with the reference evaluator.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, assert_never

from cerify.automata.algebra.values import decidable, samples_of_strings
from cerify.automata.row_pattern.compile import at_fixed_distances, why_not
from cerify.equivalence.verdict import Fact, Letter, Level, Word
from cerify.semantics import trees
from cerify.semantics.arguments import check_time, time_left
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TYPE, Event, Schema, Stream
from cerify.semantics.packages import z3
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.scalars import FUNCTIONS, Nullable, columns_in, combined, resolved, searched_pattern
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize, Order
from cerify.semantics.trees import subtrees
from cerify.semantics.values import (
    FIRST_TIME,
    INT64,
    KIND_OF,
    LAST_TIME,
    Value,
    ValueType,
    microseconds,
    time_at,
    value_type_of,
)

# ---------------------------------------------------------------------------------------------------------------------
# The conditions of MATCH_RECOGNIZE clauses that depend on columns only, and facts about these conditions.
#
# Equal expressions count as one condition, even for different variables. A word says for each row of a partition which
# conditions are true and which are not. A fact is a sequence of letters that the word of no partition contains.

FARTHEST = 50  # how many rows PREV and NEXT may look back or ahead: each row adds constraints for the solver


@dataclass(frozen=True)
class ClausePair:
    """Two clauses with the same partitions and order, and their conditions.

    Raises Unsupported for a condition that depends on the match so far, not only on columns. A column is written as in
    the schema, or else as in its first mention.
    """

    left: MatchRecognize
    right: MatchRecognize

    @classmethod
    def from_clauses(cls, left: MatchRecognize, right: MatchRecognize, schema: Schema | None) -> ClausePair:
        left, right = at_fixed_distances(left), at_fixed_distances(right)
        known = {TYPE: TYPE} | ({} if schema is None else {name.lower(): name for name in schema.attributes})
        for one in (*columns_in(left), *columns_in(right)):
            if not one.quoted:
                known.setdefault(one.name.lower(), one.name)
        names = [*known.values(), *(one.name for q in (left, right) for one in columns_in(q) if one.quoted)]
        found = cls(*(resolved(q, dict.fromkeys(names)) for q in (left, right)))
        for q in (found.left, found.right):
            if (refused := why_not(q)) is not None:
                raise refused
        for e in (*found.left.keys, *found.right.keys):
            if not isinstance(e, rows.RowColumn):
                raise Unsupported("only columns can stand in PARTITION BY and ORDER BY of clauses to compare", e.span)
        if any(found.reach(function) > FARTHEST for function in ("PREV", "NEXT")):
            raise Unsupported(f"PREV or NEXT looks further than {FARTHEST} rows, the limit of a comparison")
        if found.left.window is not None or found.right.window is not None:
            raise Unsupported("clauses with WINDOW cannot be compared, because each row has the match of its own frame")
        if _table_order(found.left) != _table_order(found.right):
            raise Unsupported(
                "the clauses partition or order the rows differently; give both the same PARTITION BY and ORDER BY"
            )
        if _place(found.left) != _place(found.right) and not found.match_at_each_row:
            raise Unsupported(
                "the clauses continue the search at different rows after a match; give both the same AFTER MATCH SKIP"
            )
        return found

    @cached_property
    def conditions(self) -> tuple[rows.Expression, ...]:
        """Return the distinct conditions. The number of a condition is its index."""
        return tuple(dict.fromkeys(e for q in (self.left, self.right) for e in _conditions(q).values()))

    @cached_property
    def of_variables(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return for each of the two clauses the condition numbers of its variables."""
        number = {e: i for i, e in enumerate(self.conditions)}
        left, right = ({A: number[e] for A, e in _conditions(q).items()} for q in (self.left, self.right))
        return left, right

    @property
    def longest(self) -> tuple[bool, bool]:
        """Return for each of the two clauses whether it takes the longest match."""
        return self.left.longest, self.right.longest

    @property
    def match_at_each_row(self) -> bool:
        """Return whether both clauses search for a match at every row."""
        return all(q.skip.to == "next row" or longest(q.pattern) <= 1 for q in (self.left, self.right))

    def labels(self, level: Level) -> Level:
        """Return the level at which to compare the matches that start at one row.

        It is "valuations" if AFTER MATCH SKIP depends on the variables of the rows.
        """
        return level if self.left.skip.variable is None else "valuations"

    def reach(self, function: str) -> int:
        """Return the largest number of rows by which PREV looks back, or NEXT looks ahead."""
        nodes = (node for e in self.conditions for node in trees.subtrees(e))
        return max((e.offset for e in nodes if isinstance(e, rows.Physical) and e.function == function), default=0)


def _place(q: MatchRecognize) -> tuple[str, frozenset[str]]:
    """Return where AFTER MATCH SKIP goes; for a variable, also return the primary variables that it stands for."""
    return q.skip.to, frozenset() if q.skip.variable is None else q.unions[q.skip.variable]


def _table_order(q: MatchRecognize) -> tuple[frozenset[str], list[tuple[str, bool, str]]]:
    """Return the columns of PARTITION BY, and of ORDER BY with the direction and the place of NULL."""
    order = [(rows.key_name(one.column), one.descending, nulls_of(one)) for one in q.order]
    return frozenset(map(rows.key_name, q.partition)), order


def nulls_of(one: Order) -> str:
    """Return the place of NULL in an order, FIRST or LAST. If the text does not say, NULL is the greatest value."""
    return one.nulls or ("FIRST" if one.descending else "LAST")


def _conditions(q: MatchRecognize) -> dict[str, rows.Expression]:
    return {A: on_row(e, A) for A, e in q.conditions.items()}


def on_row(e: rows.Expression, variable: str) -> rows.Expression:
    """Rewrite the condition of a variable as a condition on the current row, without names of variables."""
    match e:
        case rows.RowColumn():
            return rows.RowColumn(e.name, quoted=True)
        case rows.Classifier():
            return rows.RowConstant(variable)
        case rows.Logical(_, argument):
            return on_row(argument, variable)
    found: rows.Expression = trees.rebuilt(e, [on_row(one, variable) for one in rows.below(e)])
    return found


def known_after(
    facts: Sequence[Fact], known: frozenset[tuple[int, int]], letter: Letter, first: bool
) -> frozenset[tuple[int, int]] | None:
    """Return the pairs (fact, n) such that, after another row, the rows so far end with the first n rows of the fact.

    Return None if they now contain all rows of a fact, because then no table has them; a fact about the end of a
    partition does not count here. known: the pairs before this row. letter: the results of conditions in this row.
    first: whether this is the first row of the partition.
    """
    begun = known | {(i, 0) for i, fact in enumerate(facts) if first or not fact.first}
    longer = {(i, n + 1) for i, n in begun if n < len(facts[i].rows) and facts[i].rows[n] <= letter}
    if any(n == len(facts[i].rows) and not facts[i].last for i, n in longer):
        return None
    return frozenset(longer)


def may_end(facts: Sequence[Fact], known: frozenset[tuple[int, int]]) -> bool:
    """Return whether no fact forbids a partition to end here. known: the pairs that `known_after` returned."""
    return all(n < len(facts[i].rows) for i, n in known)


def longest(p: rows.Pattern) -> int:
    """Return the greatest number of rows that a pattern can match: 0, 1, or 2 for more than one."""
    match p:
        case rows.RowVariable():
            return 1
        case rows.Empty() | rows.Anchor():
            return 0
        case rows.RowConcatenation(left, right):
            return min(2, longest(left) + longest(right))
        case rows.Alternation(left, right):
            return max(longest(left), longest(right))
        case rows.Permute(parts):
            return min(2, sum(map(longest, parts)))
        case rows.Quantified(inner, _, high):
            return min(2, longest(inner) * (2 if high is None else high))
        case rows.Exclusion(inner):
            return longest(inner)
        case _:
            assert_never(p)


# ---------------------------------------------------------------------------------------------------------------------
# The rows of a partition as terms of z3: the values of cells, and where conditions are true.
#
# A value has a kind, and a number that is its place in the order of this kind. Strings lie between the strings of the
# conditions. Without a schema, a column may have a value of any kind, or NULL, in each row. The results of LIKE, CAST
# and || are unknown, and those of arithmetic too, because floats are rounded; only arithmetic on integer columns is
# known. To find a table, arithmetic is assumed to be exact.

NULL, NUMBER, NAN, TEXT, TRUTH, TIME, SPAN = range(7)  # no column holds a span, the difference of two times
KINDS: Mapping[ValueType, tuple[int, ...]] = {
    "int": (NUMBER,), "float": (NUMBER, NAN), "string": (TEXT,), "bool": (TRUTH,), "timestamp": (TIME,),
}  # fmt: skip
CALLED: Mapping[str, tuple[int, ...]] = {
    "number": (NUMBER, NAN), "string": (TEXT,), "bool": (TRUTH,), "timestamp": (TIME,),
}  # fmt: skip
"""The kinds that an argument or the result of a function may have."""
Truth = tuple[Any, Any]
"""Whether a condition is true, and whether it is false; NULL is neither."""


class ValuePoint(NamedTuple):
    """A value: its kind, and its place among the values of this kind."""

    kind: Any
    at: Any


class SymbolicRows:
    """Some rows of a partition, and the rows around them that conditions look at, as z3 terms.

    exact: True to find a table, with arithmetic that is assumed to be exact; False to prove facts, which must hold for
    every rounding.
    """

    def __init__(self, clauses: ClausePair, schema: Schema | None, number: int, exact: bool) -> None:
        self.clauses, self.number, self.exact = clauses, number, exact
        self.schema = schema
        self.types: Mapping[str, ValueType] = {} if schema is None else schema.attributes
        self.null = ValuePoint(z3.IntVal(NULL), z3.RealVal(0))
        self.nodes = [one for e in clauses.conditions for one in subtrees(e)]
        values = (one.value for one in self.nodes if isinstance(one, rows.RowConstant))
        event_types = () if schema is None else schema.types
        self.texts = sorted({one for one in values if isinstance(one, str)} | {*self._like_texts(), *event_types})
        self.texts = sorted({*self.texts, *self._texts_of_calls()})
        key = (*clauses.left.partition, *(one.column for one in clauses.left.order[:1]))
        columns = [one for one in self.nodes if isinstance(one, rows.RowColumn)]
        typed = () if schema is None or {*schema.types} == {ROW} else (TYPE,)
        self.names = tuple(dict.fromkeys((*(rows.key_name(one) for one in (*columns, *key)), *typed)))
        self.around = range(-max(1, clauses.reach("PREV")), number + max(1, clauses.reach("NEXT")))

    @cached_property
    def calculates(self) -> bool:
        """Return whether a condition has `+` or `-`. Then operands may be times."""
        return any(isinstance(one, rows.Sum) and one.operator != "||" for one in self.nodes)

    @cached_property
    def likes(self) -> list[rows.RowLike]:
        """Return the conditions with LIKE."""
        return [one for one in self.nodes if isinstance(one, rows.RowLike)]

    def _like_texts(self) -> Iterator[str]:
        """Yield some texts that match the LIKE patterns, and some that do not."""
        for one in self.likes if self.exact else ():
            if isinstance(one.pattern, rows.RowConstant) and isinstance(pattern := one.pattern.value, str):
                yield from (
                    "",
                    "~",
                    pattern.replace("%", "").replace("_", "a"),
                    pattern.replace("%", "a").replace("_", "b"),
                )

    @cached_property
    def calls(self) -> list[rows.RowCall]:
        """Return the function calls that depend on columns."""
        return [one for one in self.nodes if isinstance(one, rows.RowCall) and rows.lookups(one)]

    def _texts_of_calls(self) -> Iterator[str]:
        """Yield a text of each class that regular expressions distinguish, and arguments and results of functions."""
        if not self.exact or not self.calls:
            return
        patterns = {
            pattern
            for one in self.calls
            if one.function == "REGEXP_LIKE" and isinstance(value := getattr(one.arguments[1], "value", None), str)
            and (pattern := _flags_first(searched_pattern(value) or "")) and decidable(pattern)
        }  # fmt: skip
        with suppress(BudgetExceeded):
            yield from samples_of_strings(self.texts, sorted(patterns))
        for one in self.calls:
            for text in dict.fromkeys(cased for t in self.texts for cased in (t, t.lower(), t.upper())):
                made = _of_text(one, text)
                yield from (text, made) if isinstance(made, str) else (text,)

    # --- rows and cells -----------------------------------------------------------------------------------------------

    def has_row(self, r: int) -> Any:
        """Return the z3 term that says that the partition has row r."""
        return z3.Bool(f"there {r}")

    def cell(self, name: str, r: int) -> ValuePoint:
        at = z3.ToReal(z3.Int(f"whole {r} {name}")) if self.types.get(name) == "int" else z3.Real(f"value {r} {name}")
        return ValuePoint(z3.Int(f"kind {r} {name}"), at)

    def literal(self, i: int, true: bool, r: int) -> Any:
        """Return the z3 literal that says that condition i is true in row r, or false if `true` is False."""
        return z3.Bool(f"condition {i} {r}") if true else z3.Not(z3.Bool(f"condition {i} {r}"))

    def collect_literals(self, word: Word, first: bool, last: bool) -> list[Any]:
        """Return the literals that say that the rows of a word exist, and which conditions are true or false in each.

        first, last: whether they also say that no row comes before the word, or after it, in the partition.
        """
        ends = [z3.Not(self.has_row(-1))] * first + [z3.Not(self.has_row(len(word)))] * last
        literals = [self.literal(i, true, r) for r, letter in enumerate(word) for i, true in letter]
        return [*ends, *literals, *(self.has_row(r) for r in range(len(word)))]

    def rules(self) -> Iterator[Any]:
        """Yield the constraints on every table: no gaps between rows, values of the columns' types, one partition key,
        rows in order, and the meaning of the conditions.
        """
        for r, after in pairwise(self.around):
            known = z3.And(self.has_row(r), self.has_row(after))
            if r < 0:
                yield z3.Implies(self.has_row(r), self.has_row(after))
            if after >= self.number:
                yield z3.Implies(self.has_row(after), self.has_row(r))
            for one in self.clauses.left.partition:
                mine, other = (self.cell(rows.key_name(one), row) for row in (r, after))
                yield z3.Implies(known, z3.And(mine.kind == other.kind, mine.at == other.at))
            # Only the first key: later keys order ties. A proof allows any order of ties, and a table is made without
            # them.
            for order in self.clauses.left.order[:1]:
                ends = [self.cell(rows.key_name(order.column), end) for end in (r, after)]
                low, high = reversed(ends) if order.descending else ends
                strictly, back = self._compared("<", low, high)[0], self._compared(">", low, high)[0]
                yield z3.Implies(known, strictly if self.exact else z3.Not(back))
                null = [end.kind == NULL for end in ends]
                first, later = null if nulls_of(order) == "LAST" else reversed(null)
                yield z3.Implies(z3.And(known, first), later)
        for name in self.names:
            kinds = (NULL, *KINDS[self.types[name]]) if name in self.types else tuple(range(SPAN))
            for r in self.around:
                x = self.cell(name, r)
                yield among(x.kind, (TEXT,) if name == TYPE else kinds)
                yield z3.Implies(x.kind == TRUTH, z3.Or(x.at == 0, x.at == 1))
                if self.calculates:
                    in_years = z3.And(x.at >= microseconds(FIRST_TIME), x.at <= microseconds(LAST_TIME))
                    yield z3.Implies(x.kind == TIME, z3.And(z3.IsInt(x.at), in_years))
                if self.exact and (self.likes or self.calls):
                    yield z3.Implies(x.kind == TEXT, among(x.at, range(len(self.texts))))
        if self.schema is not None:
            yield from self._of_schema(self.schema)
        for r in range(self.number):
            for i, e in enumerate(self.clauses.conditions):
                yield self.literal(i, True, r) == self._truth(e, r)[0]

    # --- expressions --------------------------------------------------------------------------------------------------

    def _value(self, e: rows.Expression, r: int) -> ValuePoint:
        """Return the value of an expression in the row r."""
        match e:
            case rows.RowColumn(name):
                return self.cell(name, r)
            case rows.Physical(function, argument, offset):
                other = r + (offset if function == "NEXT" else -offset)
                return _either(self.has_row(other), self._value(argument, other), self.null)
            case _ if not rows.lookups(e):
                return self._constant(_folded(e))
            case rows.RowCase(condition, result, otherwise):
                return _either(self._truth(condition, r)[0], self._value(result, r), self._value(otherwise, r))
            case rows.Coalesce(arguments):
                found = self.null
                for one in reversed(arguments):
                    x = self._value(one, r)
                    found = _either(x.kind == NULL, found, x)
                return found
            case rows.Negative(operand):
                x = self._value(operand, r)
                return _either(among(x.kind, (NUMBER, NAN, SPAN)), ValuePoint(x.kind, -x.at), self.null)
            case rows.Absolute(operand):
                x = self._value(operand, r)
                positive = ValuePoint(x.kind, z3.If(x.at < 0, -x.at, x.at))
                return _either(among(x.kind, (NUMBER, NAN, SPAN)), positive, self.null)
            case rows.Sum(left, sign, right) | rows.Product(left, sign, right):
                return self._calculated(sign, left, right, r)
            case rows.Cast(operand, type_):
                x = self._value(operand, r)
                same = among(x.kind, (NULL, TEXT) if type_ == "VARCHAR" else (NULL,))
                if self.exact and type_ in ("BIGINT", "DOUBLE"):
                    whole = z3.And(x.kind == NUMBER, type_ == "DOUBLE" or z3.IsInt(x.at))
                    return _either(z3.Or(same, whole), x, self.null)
                return _either(same, x, _unknown(f"CAST AS {type_}", x))
            case rows.RowCall(function, arguments):
                return self._called(e, function, [self._value(one, r) for one in arguments])
            case rows.Extract(part, operand):
                return self.null if self.exact else _unknown(f"EXTRACT {part}", self._value(operand, r))
        true, false = self._truth(e, r)
        kind = z3.If(z3.Or(true, false), z3.IntVal(TRUTH), z3.IntVal(NULL))
        return ValuePoint(kind, z3.If(true, z3.RealVal(1), z3.RealVal(0)))

    def _called(self, e: rows.RowCall, function: str, values: Sequence[ValuePoint]) -> ValuePoint:
        """Return the value of a function: for a table the value for each text, else an unknown value of its type."""
        known = FUNCTIONS[function]
        varying = [x for x, one in zip(values, e.arguments, strict=True) if rows.lookups(one)]
        if self.exact:
            found = self.null
            for i, text in enumerate(self.texts if len(varying) == 1 else ()):
                is_text = z3.And(varying[0].kind == TEXT, varying[0].at == i)
                found = _either(is_text, self._constant(_of_text(e, text)), found)
            return found
        found = _unknown(function, *values)
        fits = (among(x.kind, CALLED[kind]) for x, kind in zip(values, known.kinds, strict=False))
        own = "number" if known.result == "number" else KIND_OF[known.result]
        return _either(z3.And(*fits, among(found.kind, (*CALLED[own], NULL))), found, self.null)

    def _constant(self, value: Nullable) -> ValuePoint:
        """Return the point of a constant. Raises Unsupported for infinity and for an integer beyond binary64."""
        match value:
            case None:
                return self.null
            case bool():
                return _point(TRUTH, int(value))
            case int() | float():
                if value != value:
                    return _point(NAN, 0)
                if abs(value) > sys.float_info.max:
                    raise Unsupported("a condition has a constant that is infinite, or too large for a 64-bit float")
                return _point(NUMBER, Fraction(value))
            case str():
                return _point(TEXT, self.texts.index(value)) if value in self.texts else _unknown(f"text {value}")
            case datetime():
                return _point(TIME, microseconds(value))
            case timedelta():
                return _point(SPAN, value // timedelta(microseconds=1))

    def _calculated(self, sign: str, left: rows.Expression, right: rows.Expression, r: int) -> ValuePoint:
        """Return the value of + - * / % on numbers, and of || on texts; `_timed` gives the value on other operands.

        It is NULL after a division by 0. An unknown value may also be NULL, because a result may be too large.
        """
        x, y = self._value(left, r), self._value(right, r)
        kind = TEXT if sign == "||" else NUMBER
        whole = self._is_whole(left) and self._is_whole(right)
        if sign in "+-*" and (self.exact or whole):
            result = _point(NUMBER, {"+": x.at + y.at, "-": x.at - y.at, "*": x.at * y.at}[sign])
        elif (sign == "/" and self.exact) or (sign in "/%" and whole):
            # SQL rounds quotients towards 0, z3 rounds them down.
            size = z3.ToReal(z3.ToInt(z3.Abs(x.at) / z3.Abs(y.at)))
            truncated = z3.If((x.at < 0) == (y.at < 0), size, -size)
            both = whole or (not self._has_float(left, right) and z3.And(z3.IsInt(x.at), z3.IsInt(y.at)))
            divided = x.at - y.at * truncated if sign == "%" else z3.If(both, truncated, x.at / y.at)
            result = _either(y.at == 0, self.null, _point(NUMBER, divided))
        else:
            found = _unknown(sign, x, y)
            result = _either(found.kind == kind, found, self.null)
        return _either(z3.And(x.kind == kind, y.kind == kind), result, self._timed(sign, x, y))

    def _timed(self, sign: str, x: ValuePoint, y: ValuePoint) -> ValuePoint:
        """Return the value of an operator on times and spans, and NULL on other operands.

        A time outside the years 1 to 9999 is NULL. A span times or divided by a number is unknown.
        """
        if sign in ("*", "/"):
            numbers = z3.And(x.kind == NUMBER, y.kind == SPAN) if sign == "*" else z3.BoolVal(False)
            found = _unknown(sign, x, y)
            spans = z3.Or(z3.And(x.kind == SPAN, y.kind == NUMBER), numbers)
            return _either(z3.And(spans, among(found.kind, (SPAN, NULL))), found, self.null)
        if sign not in ("+", "-"):
            return self.null
        at = x.at + y.at if sign == "+" else x.at - y.at
        years = z3.And(at >= microseconds(FIRST_TIME), at <= microseconds(LAST_TIME))
        results = {(TIME, SPAN): TIME, (SPAN, SPAN): SPAN} | (
            {(SPAN, TIME): TIME} if sign == "+" else {(TIME, TIME): SPAN}
        )
        found = self.null
        for (one, other), kind in results.items():
            fits = z3.And(x.kind == one, y.kind == other, years if kind == TIME else True)
            found = _either(fits, ValuePoint(z3.IntVal(kind), at), found)
        return found

    def _has_float(self, *operands: rows.Expression) -> bool:
        """Return whether the operands have a float constant, or a column that is a float in the schema."""
        nodes = (node for e in operands for node in subtrees(e))
        return any(
            isinstance(node.value, float)
            if isinstance(node, rows.RowConstant)
            else isinstance(node, rows.RowColumn) and self.types.get(node.name) == "float"
            for node in nodes
        )

    def _is_whole(self, e: rows.Expression) -> bool:
        """Return whether an expression is always an integer, of any size, or NULL."""
        match e:
            case rows.RowColumn(name):
                return self.types.get(name) == "int"
            case rows.RowConstant(value):
                return isinstance(value, int) and not isinstance(value, bool)
            case rows.Sum(left, "+" | "-", right) | rows.Product(left, _, right):
                return self._is_whole(left) and self._is_whole(right)
            case rows.Negative(one) | rows.Absolute(one) | rows.Physical(_, one):
                return self._is_whole(one)
        return False

    def _of_schema(self, schema: Schema) -> Iterator[Any]:
        """Yield the constraints of the schema: a row has an event type, and values only in the columns of that type.
        Integers have 64 bits.
        """
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
        """Return two z3 conditions: that an expression is true in row r, and that it is false."""
        match e:
            case rows.RowComparison(left, comparator, right):
                return self._compared(comparator, self._value(left, r), self._value(right, r))
            case rows.IsNull(operand, negated):
                null = self._value(operand, r).kind == NULL
                return _turned((null, z3.Not(null)), negated)
            case rows.RowBetween(operand, low, high, negated):
                x = self._value(operand, r)
                above, under = (self._value(end, r) for end in (low, high))
                return _turned(_both(self._compared(">=", x, above), self._compared("<=", x, under)), negated)
            case rows.RowIn(operand, items, negated):
                x = self._value(operand, r)
                equal = []
                for one in items:
                    check_time()
                    equal.append(self._compared("=", x, self._value(one, r)))
                return _turned((z3.Or([t for t, _ in equal]), z3.And([f for _, f in equal])), negated)
            case rows.RowLike(operand, pattern, escape, negated):
                x, y = self._value(operand, r), self._value(pattern, r)
                there, alike = z3.And(x.kind == TEXT, y.kind == TEXT), _unknown(f"LIKE {escape}", x, y).at > 0
                if self.exact and not rows.lookups(pattern):
                    alike = among(x.at, [i for i, text in enumerate(self.texts) if _alike(text, e)])
                return _turned((z3.And(there, alike), z3.And(there, z3.Not(alike))), negated)
            case rows.RowNot(operand):
                return _turned(self._truth(operand, r), True)
            case rows.RowAnd(left, right):
                return _both(self._truth(left, r), self._truth(right, r))
            case rows.RowOr(left, right):
                return _turned(_both(_turned(self._truth(left, r), True), _turned(self._truth(right, r), True)), True)
        x = self._value(e, r)
        return z3.And(x.kind == TRUTH, x.at == 1), z3.And(x.kind == TRUTH, x.at == 0)

    def _compared(self, comparator: str, x: ValuePoint, y: ValuePoint) -> Truth:
        """Compare values of the same kind, where NaN is also a number. A comparison of different kinds is NULL."""
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


def _folded(e: rows.Expression) -> Nullable:
    """Return the value of an expression that depends on no row."""
    assert not isinstance(e, rows.Lookup)
    return combined(e, [_folded(one) for one in rows.below(e)], STANDARD)


def _alike(text: str, e: rows.RowLike) -> bool:
    return combined(replace(e, negated=False), [text, _folded(e.pattern)], STANDARD) is True


def _flags_first(pattern: str) -> str:
    """Return nearly the same pattern with its flags at the beginning, where `decidable` allows them."""
    fold = "i" * ("(?i)" in pattern)
    return f"(?{fold}s)" + pattern.replace("(?s:.*)", ".*").replace("(?i)", "")


def _of_text(e: rows.RowCall, text: str) -> Nullable:
    """Return the value of a function call if this text is its argument that depends on a column."""
    return combined(e, [text if rows.lookups(one) else _folded(one) for one in e.arguments], STANDARD)


def _point(kind: int, at: Any) -> ValuePoint:
    return ValuePoint(z3.IntVal(kind), z3.RealVal(str(at)) if isinstance(at, int | Fraction) else at)


def _unknown(function: str, *of: ValuePoint) -> ValuePoint:
    """Return an unknown value of a function. It is the same whenever the arguments are the same."""
    given = [part for one in of for part in one]
    sorts = [part.sort() for part in given]
    kind, at = (z3.Function(f"{function} {sort}", *sorts, sort) for sort in (z3.IntSort(), z3.RealSort()))
    return ValuePoint(kind(*given), at(*given)) if given else ValuePoint(z3.IntVal(TEXT), z3.Real(function))


def _either(condition: Any, one: ValuePoint, other: ValuePoint) -> ValuePoint:
    return ValuePoint(z3.If(condition, one.kind, other.kind), z3.If(condition, one.at, other.at))


def among(kind: Any, kinds: Iterable[int]) -> Any:
    """Return the z3 condition that a kind is one of these."""
    return z3.Or([kind == one for one in kinds])


def _turned(truth: Truth, negated: bool) -> Truth:
    return truth[::-1] if negated else truth


def _both(one: Truth, other: Truth) -> Truth:
    return z3.And(one[0], other[0]), z3.Or(one[1], other[1])


STEPS = 500_000  # z3's limit for one question: with a time limit the answer would depend on the machine
SMALL = 9  # the numbers of a table are from 0 to this number, if possible
MADE_LEAST = 60  # in a table of at most so many cells, each value is made as small as possible
COMPARING = rows.RowComparison | rows.RowBetween | rows.RowIn | rows.RowLike


@dataclass(frozen=True)
class Solver:
    """Asks z3 whether a table of the schema can have given rows.

    A word is a sequence of rows; for each row it says which conditions are true and which are false.
    """

    clauses: ClausePair
    schema: Schema | None

    def refuted(self, word: Word) -> Fact | None:
        """Return a fact that proves that no partition has this word; None if no fact is found."""
        asked = _Question(SymbolicRows(self.clauses, self.schema, len(word), exact=False))
        there, literal = asked.rows.has_row, asked.rows.literal
        known: dict[Any, tuple[int, tuple[int, bool] | None]] = {there(r): (r, None) for r in range(len(word))}
        known |= {literal(i, true, r): (r, (i, true)) for r, letter in enumerate(word) for i, true in letter}
        first, last = z3.Not(there(-1)), z3.Not(there(len(word)))
        core = asked.core([first, last, *known])
        if core is None:
            return None
        of_rows = [known[one] for one in core if one in known]
        begin = 0 if first in core else min(r for r, _ in of_rows)
        end = len(word) if last in core else 1 + max(r for r, _ in of_rows)
        letters = (frozenset(pair for s, pair in of_rows if pair and s == r) for r in range(begin, end))
        return Fact(tuple(letters), first in core, last in core)

    def holds(self, fact: Fact) -> bool:
        """Return whether z3 proves a fact: that no partition has consecutive rows with the results that it lists."""
        asked = _Question(SymbolicRows(self.clauses, self.schema, len(fact.rows), exact=False))
        return bool(asked.answer(asked.rows.collect_literals(fact.rows, fact.first, fact.last)) == z3.unsat)

    def tables(self, word: Word) -> Iterator[Stream]:
        """Yield tables of one partition whose rows are those of a word; without NULLs and with small numbers first."""
        asked = _Question(SymbolicRows(self.clauses, self.schema, len(word), exact=True))
        known = asked.rows.collect_literals(word, True, True)
        for simpler in asked.simpler():
            if asked.answer([*known, *simpler]) == z3.sat:
                try:
                    table = asked.least([*known, *simpler], self.schema)
                except (OverflowError, ValueError):  # a number is beyond the floats, or has too many digits
                    continue
                yield table


class _Question:
    """A solver with the constraints on some rows of a partition."""

    def __init__(self, rows_: SymbolicRows) -> None:
        self.rows = rows_
        self.solver = z3.Solver()
        self.solver.set("rlimit", STEPS)
        self.solver.add(*rows_.rules())

    def answer(self, known: Sequence[Any]) -> Any:
        check_time()
        if (left := time_left()) < math.inf:
            self.solver.set("timeout", max(1, int(1000 * left)))
        return self.solver.check(*known)

    def core(self, known: Sequence[Any]) -> list[Any] | None:
        """Return a minimal contradictory part of `known`; None if no contradiction is proved."""
        if self.answer(known) != z3.unsat:
            return None
        # Made minimal, because a fact with fewer letters excludes more words, and fewer facts are then needed.
        core = list(self.solver.unsat_core())
        for one in list(core):
            without = [other for other in core if not other.eq(one)]
            if self.answer(without) == z3.unsat:
                core = without
        return core

    def simpler(self) -> Iterator[list[Any]]:
        """Yield constraints that make a table simpler, the simplest table first."""
        cells = [(name, self.rows.cell(name, r)) for name in self.rows.names for r in range(self.rows.number)]
        expected = {name: self._expected(name) for name in self.rows.names}
        usual = [among(x.kind, (NULL, expected[name], *[NAN] * (expected[name] == NUMBER))) for name, x in cells]
        filled = [x.kind == expected[name] for name, x in cells]
        small = [z3.And(z3.IsInt(x.at), x.at >= 0, x.at <= SMALL) for name, x in cells if expected[name] == NUMBER]
        yield [*filled, *small]
        yield [*usual, *small]
        yield usual
        yield []

    def _expected(self, name: str) -> int:
        """Return the kind of a column in the schema, or else of the constants it is compared with, or else NUMBER."""
        if name == TYPE:
            return TEXT
        if name in self.rows.types:
            return KINDS[self.rows.types[name]][0]
        near = (
            one
            for e in self.rows.nodes
            if isinstance(e, COMPARING)
            for one in [list(subtrees(e))]
            if rows.RowColumn(name, quoted=True) in one
        )
        found = [value for some in near for one in some[:1] for value in rows.constants(one)]
        spans = any(isinstance(one, rows.RowConstant) and isinstance(one.value, timedelta) for s in near for one in s)
        return TIME if spans else next((KINDS[value_type_of(value)][0] for value in found), NUMBER)

    def least(self, known: list[Any], schema: Schema | None) -> Stream:
        """Return a table with the least possible integer in each cell, so that the table does not depend on the
        solver.
        """
        cells = [self.rows.cell(name, r) for r in range(self.rows.number) for name in self.rows.names if name != TYPE]
        for x in cells if len(cells) <= MADE_LEAST else ():
            for n in range(SMALL + 1):
                if self.answer([*known, x.kind == NUMBER, x.at == n]) == z3.sat:
                    known = [*known, x.kind == NUMBER, x.at == n]
                    break
        self.answer(known)
        return self.table(schema)

    def table(self, schema: Schema | None) -> Stream:
        """Return the rows that the solver has found."""
        model = self.solver.model()
        found: dict[tuple[str, int], tuple[int, Fraction]] = {}
        for name in self.rows.names:
            for r in range(self.rows.number):
                kind, at = (model.evaluate(part, model_completion=True) for part in self.rows.cell(name, r))
                found[name, r] = kind.as_long(), Fraction(at.numerator_as_long(), at.denominator_as_long())
        texts = self._texts(at for kind, at in found.values() if kind == TEXT)
        events = []
        for r in range(self.rows.number):
            cells = {name: self._typed(name, _decode_value(*found[name, r], texts)) for name in self.rows.names}
            type_ = cells.pop(TYPE, ROW)
            events.append(Event(str(type_), {name: value for name, value in cells.items() if value is not None}))
        return Stream(events, schema)

    def _typed(self, name: str, value: Value | None) -> Value | None:
        """Return a value of the column's type. A float column gets no integers, because their division differs."""
        return float(value) if type(value) is int and self.rows.types.get(name) == "float" else value

    def _texts(self, points: Iterable[Fraction]) -> dict[Fraction, str]:
        """Return a text for each point, in the same order as the points.

        The points 0, 1, 2, … have the texts of the conditions.
        """
        found = {Fraction(i): text for i, text in enumerate(self.rows.texts)}
        before, n = "", 0
        for point in sorted({*points, *found}):
            if point in found:
                before, n = found[point], 0
            else:
                n += 1
                found[point] = f"{before}{chr(ord('a') + n - 1)}"
        return found


def _decode_value(kind: int, at: Fraction, texts: Mapping[Fraction, str]) -> Value | None:
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
