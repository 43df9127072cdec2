"""The columns of a table, partition by partition: as Arrow arrays, or as lists if their values have several types.

Arrow is fast, but a column has one type, integers have 64 bits, and some operators round. So each step on whole columns
either has exactly the result of the definition, or raises SeveralTypes or Inexact; the values are then computed row by
row in Python. A column with several types is not refused, because the definition gives it a meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from cerify.automata.row_pattern.compile import value_in
from cerify.automata.row_pattern.evaluate import key_values, ranks
from cerify.semantics import trees
from cerify.semantics.arguments import timed_items
from cerify.semantics.arrow_columns import ARROW, VALUE_TYPES, is_nanoseconds
from cerify.semantics.events import Stream
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.row_pattern import scalars
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import RowType
from cerify.semantics.row_pattern.scalars import Nullable, column_values
from cerify.semantics.row_pattern.syntax import MatchRecognize, Order
from cerify.semantics.values import (
    EXACT,
    FIRST_TIME,
    KIND_OF,
    LAST_TIME,
    NanosecondInterval,
    NanosecondTime,
    Value,
    ValueKind,
    microseconds,
    value_type_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


DURATION: pa.DataType = pa.duration("us")


class SeveralTypes(Exception):
    """Raised if no Arrow type of cerify's columns (ARROW) can hold some values without loss.

    The values are then of several types, or have more than 64 bits, or nanoseconds.
    """


def array_of(values: Sequence[Nullable]) -> pa.Array:
    """Return the values as an array of a type in ARROW, or of nulls. Raises SeveralTypes."""
    types = {_type_of(value) for value in values if value is not None}
    if len(types) > 1:
        raise SeveralTypes
    try:
        return pa.array(values, types.pop()) if types else pa.nulls(len(values))
    except (pa.ArrowInvalid, OverflowError):
        raise SeveralTypes from None


def arrow_type(type_: RowType) -> pa.DataType:
    """Return the Arrow type for values of this type of expressions."""
    return DURATION if type_ == "interval" else ARROW[type_]


def _type_of(value: Value | timedelta) -> pa.DataType:
    if isinstance(value, NanosecondTime | NanosecondInterval):
        raise SeveralTypes
    return DURATION if isinstance(value, timedelta) else ARROW[value_type_of(value)]


@dataclass(frozen=True)
class PartitionedTable:
    """The rows of a table, partition by partition, each sorted by ORDER BY; partitions come in the order of their first
    rows.

    order: int64, the position of each row in the table; None if the table has this order already. starts: int64, the
    row at which each partition begins, then the number of rows.
    """

    S: Stream
    order: NDArray[np.int64] | None
    starts: NDArray[np.int64]

    @classmethod
    def from_stream(cls, q: MatchRecognize, S: Stream) -> PartitionedTable:
        """Divide the rows of a stream by PARTITION BY of a clause, and sort them by its ORDER BY.

        The clause must write the names of columns as the table has them, in upper and lower case.
        """
        table = cls(S, None, np.array([0, len(S)] if len(S) else [0], np.int64))
        order = table._sorted(q.order)
        if not q.partition:
            return cls(S, order, table.starts)
        codes, number = table._groups(q.partition)
        # NumPy sorts integers of at most 16 bits in linear time if the sort must be stable.
        codes = codes.astype(np.min_scalar_type(number))
        together = np.argsort(codes if order is None else codes[order], kind="stable")
        order = together if order is None else order[together]
        ordered = None if (order[1:] > order[:-1]).all() else order
        return cls(S, ordered, np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=number))]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.S)

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """Return, for each row in the order of the partitions, its position in the original table."""
        return np.arange(len(self.S)) if self.order is None else self.order

    @cached_property
    def lists(self) -> Mapping[str, list[Nullable]]:
        """Return the columns as lists."""
        columns: Mapping[str, list[Any]] = column_values(self.S)
        if self.order is None:
            return columns
        places = self.order.tolist()
        return {name: [values[place] for place in places] for name, values in columns.items()}

    def array(self, name: str) -> pa.Array:
        """Return a column; a missing column is NULL in each row. Raises SeveralTypes."""
        if not self.S.is_columnar:
            return array_of(self.lists[name]) if name in self.lists else pa.nulls(len(self))
        if name not in self.S.table.column_names:
            return pa.nulls(len(self))
        column = self.S.table[name]
        if is_nanoseconds(column.type):
            raise SeveralTypes  # arithmetic is that of microseconds
        if pa.types.is_dictionary(column.type):
            column = column.cast(ARROW["string"])
        array = (
            # The array without elements is for columns without chunks: concat_arrays needs at least one.
            column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)])
        )
        return array if self.order is None else array.take(pa.array(self.order))

    def shifted(self, array: pa.Array, rows: int) -> pa.Array:
        """Return for each row the value of a later row of its partition: the one `rows` rows after it.

        If `rows` is negative, the row is an earlier one. A row outside the partition gives NULL.
        """
        length = len(self)
        # A shift by more rows than there are leads outside every partition, as one by all of them does.
        far = min(abs(rows), length)
        if not far:
            return array
        missing = pa.nulls(far, array.type)
        moved = [missing, array.slice(0, length - far)] if rows < 0 else [array.slice(far), missing]
        found = pa.concat_arrays(moved)
        if len(self.starts) <= 2:
            return found
        inside, near = np.ones(length, np.bool_), np.minimum(np.diff(self.starts), far)
        first = self.starts[:-1] if rows < 0 else self.starts[1:] - near  # of the rows whose value is missing
        inside[np.arange(near.sum()) + np.repeat(first - np.cumsum(near) + near, near)] = False
        return pc.if_else(pa.array(inside), found, pa.scalar(None, array.type))

    def _groups(self, keys: Sequence[rows.Expression]) -> tuple[NDArray[np.int64], int]:
        """Return for each row the number of its group, and the number of groups.

        Groups are numbered from 0 in the order of their first rows.
        """
        codes, distinct = self._encoded(keys[0])
        for e in keys[1:]:
            own, its = self._encoded(e)
            # Numbered anew after each key, so that the products stay below the square of the number of rows.
            codes, distinct = _encoded(pa.array(codes * len(its) + own))
        return codes, len(distinct)

    def _sorted(self, order: Sequence[Order]) -> NDArray[np.int64] | None:
        """Return the order of the rows, stable for ties; None if they are in order already."""
        if not order or (len(order) == 1 and self._ascends(order[0])):
            return None
        return np.lexsort([self._ranks(one) for one in reversed(order)]).astype(np.int64)

    def _ascends(self, one: Order) -> bool:
        """Return whether a single column of numbers or times proves that the rows are already in order."""
        try:
            array = self._key(one.column)
        except SeveralTypes:
            return False
        if array.null_count or array.type not in (ARROW["int"], ARROW["float"], ARROW["timestamp"]):
            return False
        values = array.to_numpy()
        before, after = (values[1:], values[:-1]) if one.descending else (values[:-1], values[1:])
        return bool((before <= after).all())

    def _ranks(self, one: Order) -> NDArray[Any]:
        """Return for each row the rank of its value in a column of ORDER BY."""
        nulls_first = one.descending if one.nulls is None else one.nulls == "FIRST"
        try:
            codes, distinct = _encoded(self._key(one.column))
        except SeveralTypes:
            values = key_values(one.column, self.lists, len(self))
            return np.array(ranks(values, len(self), one.descending, nulls_first))
        at = np.empty(len(distinct), np.int64)
        at[pc.sort_indices(distinct).to_numpy()] = np.arange(len(distinct))  # a null is the last
        number = len(distinct) - distinct.null_count
        if one.descending:
            at[at < number] = number - 1 - at[at < number]
        if distinct.null_count and nulls_first:
            at[at == number] = -1
        return at[codes]

    def _key(self, e: rows.Expression) -> pa.Array:
        """Return the values of an expression of PARTITION BY or ORDER BY. Raises SeveralTypes."""
        if isinstance(e, rows.RowColumn):
            return self.array(e.name)
        column = ColumnConditions(self).values(e)
        column = column.cast(pa.int64()) if column.type == DURATION else column
        return pa.repeat(column, len(self)) if isinstance(column, pa.Scalar) else column

    def _encoded(self, e: rows.Expression) -> tuple[NDArray[np.int64], pa.Array]:
        try:
            return _encoded(self._key(e))
        except SeveralTypes:
            values = ranks(key_values(e, self.lists, len(self)), len(self), False, False)
            return _encoded(pa.array(values, pa.int64()))


def _encoded(array: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Number the distinct values, NULL included, in the order of their first occurrence; return numbers and values."""
    if array.type == ARROW["float"]:
        array = pc.add(array, 0.0)  # -0.0 and 0.0 are one value
    if array.type == ARROW["bool"]:
        array = array.cast(pa.int8())
    encoded = array.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


# ---------------------------------------------------------------------------------------------------------------------
# Evaluate conditions that look only at columns, on all rows at once; compile.value_in evaluates them on one row.
#
# Arrow's arithmetic has a fixed width, its comparison of an integer with a float rounds the integer, and a column has
# one type. Where this could change the result, the expression is evaluated row by row, or, if it reads a single value
# of the row, once for each distinct value.

Column: TypeAlias = pa.Array | pa.Scalar
"""A value for each row, or one value for all rows."""

COMPARE: Mapping[str, Callable[[Column, Column], Column]] = {
    "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal, "=": pc.equal, "<>": pc.not_equal,
}  # fmt: skip
CHECKED: Mapping[str, Callable[[Column, Column], Column]] = {
    "+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked, "/": pc.divide_checked,
}  # fmt: skip
FLOAT: Mapping[str, Callable[[Column, Column], Column]] = {
    "+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide,
}  # fmt: skip


class Inexact(Exception):
    """Raised if Arrow's result for columns might differ from the result row by row."""


@dataclass(frozen=True)
class ColumnConditions:
    """Computes expressions for all rows of a table at once.

    found: the columns computed so far, by their expressions.
    """

    table: PartitionedTable
    found: dict[rows.Expression, Column] = field(default_factory=dict)

    def values(self, e: rows.Expression) -> Column:
        """Return for each row the value of an expression on columns. Raises SeveralTypes."""
        return _Rowwise(self, "").value(e)

    def truths(self, e: rows.Expression, variable: str) -> NDArray[np.bool_]:
        """Return for each row whether the condition of a variable is true."""
        own = _Rowwise(self, variable)
        try:
            column = own.value(e)
        except SeveralTypes:
            return np.array([value is True for value in own.by_rows(e)], np.bool_)
        if column.type != ARROW["bool"]:
            return np.zeros(len(self.table), np.bool_)
        if isinstance(column, pa.Scalar):
            return np.full(len(self.table), column.as_py() is True)
        filled: NDArray[np.bool_] = column.fill_null(False).to_numpy(zero_copy_only=False)
        return filled


@dataclass(frozen=True)
class _Rowwise:
    """Evaluates expressions in the condition of a variable."""

    conditions: ColumnConditions
    variable: str

    def value(self, e: rows.Expression) -> Column:
        """Return the values of an expression. Raises SeveralTypes."""
        try:
            if isinstance(e, rows.Lookup):
                return self._looked_up(e)
            return combined(e, [self.value(operand) for operand in rows.below(e)])
        except (Inexact, SeveralTypes, pa.ArrowException):
            by_value = self.by_value(e)
            return array_of(self.by_rows(e)) if by_value is None else by_value

    def by_rows(self, e: rows.Expression) -> list[Nullable]:
        """Return the values of an expression, row by row."""
        lists, starts = self.conditions.table.lists, self.conditions.table.starts.tolist()
        found: list[Nullable] = []
        for start, end in pairwise(starts):
            own = {name: values[start:end] for name, values in lists.items()}
            found += [value_in(e, self.variable, own, r, end - start) for r in timed_items(range(end - start))]
        return found

    def by_value(self, e: rows.Expression) -> Column | None:
        """Evaluate an expression that reads a single value of the row, once for each distinct value.

        Return None for other expressions.
        """
        looked_up = set(rows.lookups(e))
        if isinstance(e, rows.Lookup) or len(looked_up) != 1:
            return None
        (one,) = looked_up
        column = self.value(one)
        if isinstance(column, pa.Scalar) or column.type not in (ARROW["int"], ARROW["float"], ARROW["string"]):
            return None
        encoded = column.dictionary_encode(null_encoding="encode")
        values = {"": encoded.dictionary.to_pylist()}
        of_value, number = _replaced(e, one, rows.RowColumn("", quoted=True)), len(encoded.dictionary)
        made = [value_in(of_value, self.variable, values, r, number) for r in timed_items(range(number))]
        return array_of(made).take(encoded.indices)

    def _looked_up(self, e: rows.Lookup) -> Column:
        found = self.conditions.found
        match e:
            case rows.RowColumn(name):
                if e not in found:
                    found[e] = self.conditions.table.array(name)
                return found[e]
            # Shared by the conditions of all variables: why_not allows only columns inside PREV and NEXT.
            case rows.Physical(function, argument, offset):
                if e not in found:
                    column = self.value(argument)
                    if isinstance(column, pa.Scalar):
                        column = pa.repeat(column, len(self.conditions.table))
                    found[e] = self.conditions.table.shifted(column, offset if function == "NEXT" else -offset)
                return found[e]
            case rows.Classifier():
                return pa.scalar(self.variable)
            case rows.Logical(_, argument):
                return self.value(argument)
            case rows.RowMatchNumber() | rows.Count() | rows.RowAggregate():
                raise AssertionError("why_not did not refuse this expression")
            case _:
                assert_never(e)


def combined(e: rows.Scalar, operands: list[Column]) -> Column:
    """Compute an operator or function of SQL for all rows at once, given the columns of its operands.

    Raises Inexact, SeveralTypes, and errors of Arrow.
    """
    match e:
        case rows.RowConstant(value):
            return _constant(value)
        case rows.Negative():
            return _sign(operands[0], pc.negate_checked, pc.negate)
        case rows.Absolute():
            return _sign(operands[0], pc.abs_checked, pc.abs)
        case rows.Sum(_, sign, _) | rows.Product(_, sign, _):
            return _arithmetic(sign, *operands)
        case rows.Cast(_, type_):
            return _cast(operands[0], type_)
        case rows.Coalesce():
            return pc.coalesce(*_alike(operands))
        case rows.RowCase():
            # An unknown condition takes ELSE; Arrow's if_else would give NULL.
            return pc.if_else(pc.fill_null(_truth(operands[0]), False), *_alike(operands[1:]))
        case rows.RowComparison(_, comparator, _):
            return _compared(comparator, *operands)
        case rows.IsNull(_, negated):
            return (pc.is_valid if negated else pc.is_null)(operands[0])
        case rows.RowBetween(_, _, _, negated):
            above, below = _compared(">=", *operands[:2]), _compared("<=", operands[0], operands[2])
            return _negated(pc.and_kleene(above, below), negated)
        case rows.RowIn(_, _, negated):
            found = pa.scalar(False)
            for item in operands[1:]:
                found = pc.or_kleene(found, _compared("=", operands[0], item))
            return _negated(found, negated)
        case rows.RowLike() | rows.RowCall() | rows.Extract():
            raise Inexact
        case rows.RowNot():
            return pc.invert(_truth(operands[0]))
        case rows.RowAnd():
            return pc.and_kleene(_truth(operands[0]), _truth(operands[1]))
        case rows.RowOr():
            return pc.or_kleene(_truth(operands[0]), _truth(operands[1]))
        case _:
            assert_never(e)


def _replaced(e: rows.Expression, one: rows.Expression, by: rows.Expression) -> rows.Expression:
    if e == one:
        return by
    return replace(trees.rebuilt(e, [_replaced(operand, one, by) for operand in rows.below(e)]), span=e.span)


def _constant(value: Nullable) -> pa.Scalar:
    if value is None:
        return pa.scalar(None)
    try:
        return pa.scalar(value, _type_of(value))
    except OverflowError:  # beyond 64 bits
        raise Inexact from None


def _kind(column: Column) -> ValueKind | None:
    """Return the kind of a column's values, which decides how they can be compared; None if all are NULL."""
    if pa.types.is_null(column.type):
        return None
    return "interval" if column.type == DURATION else KIND_OF[VALUE_TYPES[column.type]]


def _null(type_: str = "bool") -> pa.Scalar:
    return pa.scalar(None, ARROW[type_])  # type: ignore[index]


def _truth(column: Column) -> Column:
    return column if column.type == ARROW["bool"] else _null()


def _negated(column: Column, negated: bool) -> Column:
    return pc.invert(column) if negated else column


def _alike(columns: list[Column]) -> list[Column]:
    """Return the columns with all-NULL columns cast to the type of the others. Raises Inexact for mixed types."""
    types = {column.type for column in columns if not pa.types.is_null(column.type)}
    if len(types) > 1:
        raise Inexact
    if not types:
        return columns
    (type_,) = types
    return [pa.scalar(None, type_) if pa.types.is_null(column.type) else column for column in columns]


def _compared(comparator: str, left: Column, right: Column) -> Column:
    if _kind(left) is None or _kind(left) != _kind(right):
        return _null()
    if left.type != right.type:
        left, right = (_exact_floats(column) for column in (left, right))
    return COMPARE[comparator](left, right)


def _exact_floats(column: Column) -> Column:
    if column.type == ARROW["int"]:
        bounds = pc.min_max(column) if isinstance(column, pa.Array) else {"min": column, "max": column}
        if any((bound := bounds[name].as_py()) is not None and abs(bound) > EXACT for name in ("min", "max")):
            raise Inexact
    return _floats(column)


def _floats(column: Column) -> Column:
    return column.cast(ARROW["float"], safe=False)


def _finite(column: Column) -> Column:
    return pc.if_else(pc.is_finite(column), column, _null("float"))


def _sign(column: Column, of_int: Callable[[Column], Column], of_float: Callable[[Column], Column]) -> Column:
    if _kind(column) == "interval":
        raise Inexact
    if _kind(column) != "number":
        return pa.scalar(None)
    return of_int(column) if column.type == ARROW["int"] else of_float(column)


def _arithmetic(sign: str, left: Column, right: Column) -> Column:
    kinds = {_kind(left), _kind(right)}
    if sign == "||":
        return pc.binary_join_element_wise(left, right, "") if kinds == {"string"} else pa.scalar(None)
    if kinds != {"number"}:
        return _timed(sign, left, right)
    whole = left.type == right.type == ARROW["int"]
    if sign in "/%":
        zero = pa.scalar(0, right.type)
        # A division by zero has no value; for whole numbers Arrow would raise an error instead, for the whole column.
        right = pc.if_else(pc.equal(right, zero), pa.scalar(None, right.type), right)
    if sign == "%":
        if not whole:
            raise Inexact  # Arrow has no remainder
        return pc.subtract_checked(left, pc.multiply_checked(pc.divide_checked(left, right), right))
    return CHECKED[sign](left, right) if whole else _finite(FLOAT[sign](_floats(left), _floats(right)))


def _timed(sign: str, left: Column, right: Column) -> Column:
    """Add or subtract times and intervals.

    Raises Inexact for other operators, and for times outside the years 1 to 9999.
    """
    kind = scalars.TIMED.get((_kind(left), sign, _kind(right)))
    if kind is None:
        return pa.scalar(None)
    if sign not in CHECKED or sign == "*":
        raise Inexact
    found = CHECKED[sign](left, right)
    if kind == "timestamp":
        bounds = pc.min_max(found) if isinstance(found, pa.Array) else {"min": found, "max": found}
        first, last = (bounds[name].cast(pa.int64()).as_py() for name in ("min", "max"))
        if first is not None and not (microseconds(FIRST_TIME) <= first and last <= microseconds(LAST_TIME)):
            raise Inexact
    return found


def _cast(column: Column, type_: rows.SqlType) -> Column:
    if pa.types.is_null(column.type):
        return column
    if column.type == DURATION:
        raise Inexact
    match VALUE_TYPES[column.type], type_:
        case ("int", "BIGINT") | ("string", "VARCHAR") | ("bool", "BOOLEAN") | ("timestamp", "TIMESTAMP"):
            return column
        case (("int" | "float"), "DOUBLE"):
            return _finite(_floats(column))
        case _:
            raise Inexact
