"""Evaluate filters, keys and times of EQL over the columns of a table.

A test of one field is evaluated once for each distinct value of its column, on an event with that value alone; the
answers are then looked up row by row. So a test means the same over columns as on an event. Only tests of several
fields together are not supported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, TypeAlias, assert_never

from cerify.semantics.arguments import check_time
from cerify.semantics.arrow_columns import NANOSECONDS_IN_LOOPS, is_nanoseconds
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, TIMESTAMP, Key, condition_test, is_plain, key_part, time_of
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import NO_CATEGORY, TIME, TYPE, Event
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.readings import EqlReading
from cerify.semantics.values import INT64, Value, kind

Mask: TypeAlias = Any
"""A column of booleans of numpy."""
NO_KEY, NULL_KEY = -1, 0
TIMELESS = -(2**63)
# The bits of a row: one for each step, bit 62 for `until`, and the sign stays free.
MOST_STEPS = 62
# Two numbers of keys, each below PAIR, make one number of 64 bits.
PAIR = 2**31
MOST_CHOICES = 64  # combinations of elements, one element from each array of a key


def why_not_compiled(query: eql.EqlQuery) -> Unsupported | None:
    """Return why the compiled evaluator does not support a query; None if it does."""
    body = query.body
    if isinstance(body, eql.EventSample):
        return Unsupported("the compiled evaluator does not support samples; use evaluator='automaton'", body.span)
    if isinstance(body, eql.EventSequence):
        if any(step.missing for step in body.steps):
            return Unsupported(
                "the compiled evaluator does not support missing events; use evaluator='automaton'", body.span
            )
        if len(eql.step_expanded(body)) > MOST_STEPS:
            return Unsupported(
                f"the compiled evaluator supports at most {MOST_STEPS} steps; use evaluator='automaton'", body.span
            )
    return None


_COMPARE: dict[str, Any] = {
    "==": lambda a, b: pc.equal(a, b),
    "<": lambda a, b: pc.less(a, b),
    "<=": lambda a, b: pc.less_equal(a, b),
    ">": lambda a, b: pc.greater(a, b),
    ">=": lambda a, b: pc.greater_equal(a, b),
}


class KeyNumbers:
    """Numbers the keys of a log from 1 on; null has the number 0.

    A key of several fields gets its number from pairs of numbers.
    """

    def __init__(self) -> None:
        self.parts: dict[tuple[str, Value], int] = {}
        self.pairs: dict[int, dict[int, int]] = {}

    def of_part(self, part: tuple[str, Value]) -> int:
        """Return the number of a value, given as (kind, value); a new value gets the next number."""
        return self.parts.setdefault(part, len(self.parts) + 1)

    def of_values(self, values: list[Any], null: int, reading: EqlReading) -> list[int]:
        """Return the number of each value of a column whose values are of one kind.

        null: the number for None. reading: says whether strings are compared without case.
        """
        some = next((value for value in values if value is not None), None)
        if some is None or (isinstance(some, str) and reading.case == "folded"):
            return [null if value is None else self.of_part(key_part(value, reading)) for value in values]
        parts, of = self.parts, kind(some)
        return [null if v is None else parts.setdefault((of, v), len(parts) + 1) for v in values]

    def of_pairs(self, place: int, left: Any, right: Any) -> Any:
        """Return a number for each pair (left, right); equal pairs have equal numbers.

        left: the numbers of the first `place` fields of a key. right: those of the field with index `place`.
        """
        both = (left + 1) * PAIR + right + 1
        encoded = pa.array(both).dictionary_encode()
        known = self.pairs.setdefault(place, {})
        lookup = [known.setdefault(pair, len(known) + 1) for pair in encoded.dictionary.to_pylist()]
        return np.array(lookup, np.int64)[encoded.indices.to_numpy()] if lookup else both

    def keys(self, fields: int) -> dict[int, Key]:
        """Return a mapping from numbers to the keys with this many fields."""
        part_of: dict[int, tuple[str, Value] | None] = {number: part for part, number in self.parts.items()}
        part_of[NULL_KEY], found = None, {number: (part,) for number, part in {NULL_KEY: None, **part_of}.items()}
        keys: dict[int, Key] = dict(found)
        for place in range(1, fields):
            keys = {
                number: (*keys[pair // PAIR - 1], part_of[pair % PAIR - 1])
                for pair, number in self.pairs.get(place, {}).items()
                if pair // PAIR - 1 in keys and pair % PAIR  # otherwise a field has no value, so there is no key
            }
        return keys

    @classmethod
    def of_keys(cls, keys: Sequence[Key]) -> tuple[KeyNumbers, list[int]]:
        """Number only these keys, from 1 on. Return (numbering, numbers): the new object, and the new number of each
        key.
        """
        numbers, found = cls(), []
        for K in keys:
            combined = NULL_KEY
            for place, part in enumerate(K):
                mine = NULL_KEY if part is None else numbers.of_part(part)
                known = numbers.pairs.setdefault(place, {}) if place else {}
                pair = (combined + 1) * PAIR + mine + 1
                combined = known.setdefault(pair, len(known) + 1) if place else mine
            found.append(combined)
        return numbers, found


class EqlColumns:
    """The columns of one table, each encoded on first use."""

    def __init__(self, table: pa.Table, reading: EqlReading) -> None:
        self.table, self.reading, self.rows = table, reading, table.num_rows
        self._encoded: dict[str, tuple[Any, list[Any]]] = {}
        self._names = set(table.column_names)

    def filter_rows(self, filter_: eql.EventFilter) -> Mask:
        """Return which rows pass a filter. Raises Unsupported for a condition on several fields."""
        true, _ = self._truth(filter_.condition)
        return true if filter_.category is None else true & self._of_category(filter_.category)

    def _of_category(self, category: str) -> Mask:
        found = self._looked_up(TYPE, lambda value: value == category)
        for name in self._elements(CATEGORY):
            found |= self._looked_up(name, lambda value: value == category)
        return found

    def _elements(self, name: str) -> list[str]:
        """Return the columns of a field: its own, and those for further elements if the field is an array."""
        found = [name] if name in self._names else []
        while found and f"{name}[{len(found)}]" in self._names:
            found.append(f"{name}[{len(found)}]")
        return found

    def _codes(self, name: str) -> tuple[Any, list[Any]]:
        """Return (codes, values): the code of a row is the index of its value, or -1 for null. Raises Unsupported."""
        self._require_microseconds(name)
        if name not in self._encoded:
            check_time()
            column = self.table[name].combine_chunks()
            if isinstance(column, pa.ChunkedArray):
                column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            indices = pc.fill_null(encoded.indices, -1) if encoded.indices.null_count else encoded.indices
            self._encoded[name] = indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
        return self._encoded[name]

    def _codes_of_rows(self, name: str, rows: Any) -> tuple[Any, list[Any]]:
        """Same as `_codes`, but only for some rows. If the column is not encoded yet and the rows are few, only these
        rows are encoded.
        """
        if name in self._encoded or pa.types.is_dictionary(self.table[name].type) or 2 * len(rows) > self.rows:
            codes, values = self._codes(name)
            return codes[rows], values
        self._require_microseconds(name)
        encoded = self.table[name].combine_chunks().take(pa.array(rows)).dictionary_encode()
        indices = pc.fill_null(encoded.indices, -1) if encoded.indices.null_count else encoded.indices
        return indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()

    def _require_microseconds(self, name: str) -> None:
        if is_nanoseconds(self.table[name].type):
            raise Unsupported(NANOSECONDS_IN_LOOPS.format(name))

    def _looked_up(self, name: str, test: Any) -> Mask:
        """Return which rows have a value in this column that passes a test. A row without a value does not pass."""
        codes, values = self._codes(name)
        answers = np.zeros(len(values) + 1, np.bool_)  # the last answer is for null, whose code is -1
        answers[: len(values)] = [value is not None and test(value) for value in values]
        return answers[codes]

    # --- truth --------------------------------------------------------------------------------------------------------

    def _truth(self, condition: eql.Condition) -> tuple[Mask, Mask]:
        """Return the mask of the rows where a condition is true, and the mask of those where it is false.

        On all other rows the condition has no truth value.
        """
        match condition:
            case eql.AllConditions(parts) | eql.AnyConditions(parts):
                return self._joined([self._truth(part) for part in parts], isinstance(condition, eql.AllConditions))
            case eql.NegatedCondition(part):
                true, false = self._truth(part)
                return false, true
            case eql.FieldComparison("!=", left, right) if not _with_null(condition):
                true, false = self._truth(eql.FieldComparison("==", left, right))
                return false, true
            case eql.SingleCondition():
                return self._tested(condition)
            case _:
                assert_never(condition)

    def _joined(self, truths: Sequence[tuple[Mask, Mask]], conjunction: bool) -> tuple[Mask, Mask]:
        trues, falses = zip(*truths, strict=True)
        join, meet = (np.logical_and, np.logical_or) if conjunction else (np.logical_or, np.logical_and)
        true = join.reduce(trues)
        return true, ~true if self.reading.absent == "false" else meet.reduce(falses)

    def _tested(self, test: eql.Condition) -> tuple[Mask, Mask]:
        names = list(dict.fromkeys(field.name for field in eql.fields_of(test)))
        asked = condition_test(test, self.reading)
        if len(names) > 1:
            raise Unsupported(
                "the compiled evaluator does not support a condition on several fields; use evaluator='automaton'",
                test.span,
            )
        absent = asked(Event("", {}))
        columns = self._columns_of(names[0]) if names else []
        true, false = np.zeros(self.rows, np.bool_), np.zeros(self.rows, np.bool_)
        present = np.ones(self.rows, np.bool_)
        if len(columns) == 1 and (compared := self._compared(test, columns[0])) is not None:
            return compared
        for number, column in enumerate(columns):
            codes, values = self._codes(column)
            answers = [asked(Event("", {names[0]: value})) for value in values]
            lookup = np.zeros((2, len(values) + 1), np.bool_)
            lookup[0, : len(values)] = [answer is True for answer in answers]
            lookup[1, : len(values)] = [answer is False for answer in answers]
            present = present & (codes >= 0) if number else codes >= 0
            true |= lookup[0][codes] & present
            false |= lookup[1][codes] & present
        without = ~present if not columns else self._codes(columns[0])[0] < 0
        without = np.ones(self.rows, np.bool_) if not columns else without
        false &= ~true
        if absent is True:
            true |= without
        elif absent is False or (self.reading.absent == "false" and is_plain(test)):
            false |= without
        return true, false

    def _compared(self, test: eql.Condition, name: str) -> tuple[Mask, Mask] | None:
        """Return the masks of `_truth` for a comparison of a column of numbers with a number of its type; None for any
        other test.
        """
        match test:
            case eql.FieldComparison(comparator, eql.EventField(), eql.FieldConstant(int() | float() as value)):
                kind_ = self.table[name].type
                whole = pa.types.is_signed_integer(kind_) and type(value) is int and value in INT64
                if not whole and not (pa.types.is_float64(kind_) and type(value) is float):
                    return None
                true = _COMPARE[comparator](self.table[name], pa.scalar(value, pa.int64() if whole else pa.float64()))
                true = pc.fill_null(true, False).to_numpy()
                if self.reading.absent == "false":
                    return true, ~true
                return true, ~true & self.table[name].is_valid().to_numpy()
        return None

    def _columns_of(self, name: str) -> list[str]:
        """Return the columns of a field, or the substitutes for `event.category` and `@timestamp`."""
        if found := self._elements(name):
            if name == CATEGORY and self.table[name].null_count:
                raise Unsupported(
                    "the compiled evaluator does not support a log in which only some events have event.category; "
                    "use evaluator='automaton'"
                )
            return found
        if name == CATEGORY and pc.any(pc.equal(self.table[TYPE], NO_CATEGORY)).as_py():
            raise Unsupported(
                "the compiled evaluator does not support events without a category; use evaluator='automaton'"
            )
        return {CATEGORY: [TYPE], TIMESTAMP: [TIME] if TIME in self._names else []}.get(name, [])

    # --- keys and times -----------------------------------------------------------------------------------------------

    def element_choices(self, fields: tuple[eql.EventField, ...]) -> list[tuple[int, ...]]:
        """Return all ways to choose one element for each field of a key; there is one way if no field is an array.

        A way has the index of the chosen element for each field. Raises Unsupported if there are too many ways.
        """
        widths = [max(1, len(self._columns_of(field.name))) for field in fields]
        if math.prod(widths) > MOST_CHOICES:
            raise Unsupported(
                f"the compiled evaluator supports at most {MOST_CHOICES} combinations of array elements in a key; "
                "use evaluator='automaton'"
            )
        return list(product(*map(range, widths)))

    def keys(
        self, fields: tuple[eql.EventField, ...], rows: Any, numbers: KeyNumbers, elements: tuple[int, ...] = ()
    ) -> Any:
        """Return the number of each row's key, or NO_KEY. Equal keys have equal numbers, whatever their fields.

        numbers: the keys so far; new keys are added. elements: for each field, the index of the element that belongs to
        the key; by default the first.
        """
        combined = np.zeros(len(rows), np.int64)
        missing = np.zeros(len(rows), np.bool_)
        for place, (field, element) in enumerate(zip(fields, elements or (0,) * len(fields), strict=True)):
            columns = self._columns_of(field.name)[element : element + 1]
            joins = element == 0 and (field.optional or self.reading.null_keys == "joined")
            null = NULL_KEY if joins else NO_KEY
            if columns:
                codes, values = self._codes_of_rows(columns[0], rows)
                lookup = np.full(len(values) + 1, null, np.int64)
                lookup[: len(values)] = numbers.of_values(values, null, self.reading)
                mine = lookup[codes]
            else:
                mine = np.full(len(rows), null, np.int64)
            missing |= mine == NO_KEY
            combined = mine if place == 0 else numbers.of_pairs(place, combined, mine)
        combined = combined.copy()
        combined[missing] = NO_KEY
        return combined

    def times(self) -> Any:
        """Return the time of each row in microseconds; TIMELESS for a row without a time."""
        name = TIME if TIME in self._names else TIMESTAMP if TIMESTAMP in self._names else None
        if name is None:
            return np.full(self.rows, TIMELESS, np.int64)
        column = self.table[name]
        self._require_microseconds(name)
        if pa.types.is_timestamp(column.type):
            return pc.fill_null(column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()), TIMELESS).to_numpy()
        codes, values = self._codes(name)
        lookup = np.full(len(values) + 1, TIMELESS, np.int64)
        for n, value in enumerate(values):
            time = time_of(Event("", {TIME: value}))
            lookup[n] = TIMELESS if time is None else time
        return lookup[codes]


def _with_null(test: eql.FieldComparison) -> bool:
    return any(isinstance(side, eql.FieldConstant) and side.value is None for side in (test.left, test.right))
