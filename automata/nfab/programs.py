"""Compile conditions between events to programs over numbers, which the compiled loops interpret.

Numbers must be exact in binary64, so whole numbers must be below 2^53. Times are microseconds. Strings are numbered, in
their order if a condition compares them by order. evaluate.BlockRunner evaluates the conditions that are refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import repeat
from typing import Any, Literal, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.evaluate.scope_columns import encode_keys, in_one_piece
from cerify.automata.evaluate.tables import classified
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.compile import absence_layout
from cerify.automata.nfab.evaluate import QueryPlan, StatePlan
from cerify.semantics import predicates as pred
from cerify.semantics.arrow_columns import ARROW, NANOSECONDS_IN_LOOPS, VALUE_TYPES, is_nanoseconds
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME, TYPE, Stream, dictionary_of
from cerify.semantics.predicates import mentions
from cerify.semantics.readings import NO_OPERATIONS, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import Value, ValueType, microseconds

Code = list[tuple[int, int]]
Edge = Literal["event", "end"]
"""When a condition is tested: on the awaited event, or when the component is complete."""

RANKED: Mapping[str, int] = {"min": op.SMALLEST, "lowest": op.SMALLEST, "max": op.LARGEST, "highest": op.LARGEST}
MOST_RANKED = 64  # registers of one aggregate
AGGREGATES = ("count", "sum", "avg", *RANKED)
COMPARE: Mapping[pred.Comparator, int] = {
    "<": op.LESS,
    "<=": op.LESS_EQUAL,
    ">": op.GREATER,
    ">=": op.GREATER_EQUAL,
    "=": op.EQUAL,
    "!=": op.UNEQUAL,
}
ARITHMETIC: Mapping[pred.Operator, int] = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "/": op.DIVIDE}
STATES = 62  # bits of a number


def why_not(q: sase.SaseQuery) -> Unsupported | None:
    """Return why the compiled evaluator does not support the query, on any stream; None if it does."""
    if (states := sum(1 + k.kleene for k in q.pattern)) > STATES:
        return Unsupported(
            f"the pattern has {states} states, but the compiled evaluator supports only {STATES}; "
            "use evaluator='automaton'"
        )
    conditions = [conjunct.condition for block in q.where for conjunct in block.conjuncts]
    mentioned = [a for p in conditions if not isinstance(p, sase.Equivalence) for a in mentions(p)]
    for a in (a for a in mentioned if isinstance(a, sase.SaseAggregate)):
        if a.function not in AGGREGATES:
            return Unsupported(
                f"the compiled evaluator does not support your own aggregate {a.function}; use evaluator='automaton'"
            )
        if a.parameter and a.parameter > MOST_RANKED:
            return Unsupported(
                f"the compiled evaluator supports {a.function} only up to rank {MOST_RANKED}; use evaluator='automaton'"
            )
    return None


@dataclass(frozen=True)
class TypedCode:
    """Code that puts a value on the stack, and the kind of this value."""

    code: Code
    kind: ValueType


@dataclass
class Programs:
    """The conditions of a query, compiled for columns of known kinds. A name without a column has no value.

    code, constants, columns and registers grow with each condition. registers: the first register for each (how,
    variable, column, k). updates: by variable, the updates of registers. strings: the number of each string; in_order:
    whether the numbers are in the order of the strings. patterns: string patterns, by the column of their results.
    depth: the greatest number of values on the stack. refused: the first reason why a condition cannot be compiled. If
    it is set, the code must not be used.
    """

    kinds: Mapping[str, ValueType]
    code: Code = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    registers: dict[tuple[int, str, str, int], int] = field(default_factory=dict)
    size: int = 0
    updates: dict[str, list[tuple[int, int, int, int]]] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    string_constants: list[int] = field(default_factory=list)
    in_order: bool = False
    patterns: dict[str, pred.Like] = field(default_factory=dict)
    depth: int = 0
    refused: Unsupported | None = None

    def conditions(self, some: tuple[pred.Predicate, ...], state: StatePlan, edge: Edge) -> tuple[int, int]:
        """Add the code of a conjunction of conditions; return its first index and the index after its last."""
        return self.conjunction([self.condition(p, state, edge) for p in some])

    def conjunction(self, codes: list[Code]) -> tuple[int, int]:
        """Add the code of a conjunction of codes; return its first index and the index after its last."""
        start = len(self.code)
        for n, code in enumerate(codes):
            self.code += code if n == 0 else [*code, (op.AND, 0)]
        self.depth = max(self.depth, _depth(self.code[start:]))
        return start, len(self.code)

    def elapsed(self, first: str, seconds: float, comparator: pred.Comparator) -> Code:
        """Return code that compares the seconds since the event of the variable `first` with `seconds`.

        If events have no times, the comparison is false.
        """
        of = self.kinds.get(TIME)
        if of not in ("int", "float", "timestamp"):
            self.column(TIME)  # so that a later batch with times is refused
            return [(op.FALSE, 0)]
        since = [(op.COLUMN, self.column(TIME)), (op.REGISTER, self.register(op.FIRST, first, TIME)), (op.SUBTRACT, 0)]
        if of == "timestamp":
            since += [*self.constant(1e6).code, (op.DIVIDE, 0)]
        return self.compared(comparator, TypedCode(since, "float"), self.constant(float(seconds)))

    def condition(self, p: pred.Predicate, state: StatePlan, edge: Edge) -> Code:
        """Return the code of a condition; it leaves 1 or 0 on the stack."""
        match p:
            case pred.Anything():
                return [(op.TRUE, 0)]
            case pred.Comparison(comparator, left, right):
                return self.compared(comparator, self.term(left, state, edge), self.term(right, state, edge))
            case pred.OneOf(term, values):
                found = self.term(term, state, edge)
                code: Code = [(op.FALSE, 0)]
                for value in values:
                    code += [*self.compared("=", found, self.constant(value)), (op.OR, 0)]
                return code
            case pred.InRange(term, low, high):
                found = self.term(term, state, edge)
                above = self.compared("<=", self.constant(low), found)
                return [*above, *self.compared("<=", found, self.constant(high)), (op.AND, 0)]
            case pred.Not(inner):
                return [*self.condition(inner, state, edge), (op.NOT, 0)]
            case pred.Both(a, b):
                return [*self.condition(a, state, edge), *self.condition(b, state, edge), (op.AND, 0)]
            case pred.Either(a, b):
                return [*self.condition(a, state, edge), *self.condition(b, state, edge), (op.OR, 0)]
            case pred.Like(sase.Reference() as term, pattern):
                name = f"{term.name} like {pattern!r}"
                self.patterns[name] = pred.Like(pred.Attribute(term.name), pattern)
                # A new mapping: the caller's has the columns of the table, and this is none of them.
                self.kinds = {**self.kinds, name: "bool"}
                found = self.term(replace(term, name=name), state, edge)
                return self.compared("=", found, self.constant(True))
            case pred.Like() | pred.OfType():
                self.refuse("a string pattern on a computed value")
                return [(op.FALSE, 0)]
            case _:
                assert_never(p)

    def term(self, t: pred.Term, state: StatePlan, edge: Edge) -> TypedCode | None:
        """Return the code of a term; None if the term never has a value."""
        match t:
            case sase.SaseAggregate():
                return self._aggregate(t, state, edge)
            case pred.Attribute():
                return self._reference(t, state, edge)
            case pred.Constant(value):
                return self.constant(value)
            case pred.Arithmetic(symbol, a, b):
                left, right = self.term(a, state, edge), self.term(b, state, edge)
                if left is None or right is None or {left.kind, right.kind} - {"int", "float"}:
                    return None
                code: Code = [*left.code, *right.code, (ARITHMETIC[symbol], 0)]
                # The result of exact numbers may be beyond 2^53, which only shows when it is computed. For a float the
                # definition rounds in the same way.
                if symbol != "/" and left.kind == right.kind == "int":
                    return TypedCode([*code, (op.CHECK, 0)], "int")
                return TypedCode(code, "float")
            case _:
                assert_never(t)

    def constant(self, value: Value) -> TypedCode:
        """Return the code of a value written in the query."""
        match value:
            case bool():
                number, of = float(value), "bool"
            case int():
                if abs(value) >= op.EXACT:
                    self.refuse(f"numbers beyond 2^53, such as {value}")
                # Cut off, because float() fails for huge numbers; the program is not used then.
                number, of = float(max(-op.EXACT, min(value, op.EXACT))), "int"
            case float():
                number, of = value, "float"
            case str():
                number, of = float(self.strings.setdefault(value, len(self.strings))), "string"
                self.string_constants.append(len(self.constants))
            case datetime():
                number, of = float(microseconds(value)), "timestamp"
        self.constants.append(number)
        return TypedCode([(op.CONSTANT, len(self.constants) - 1)], of)  # type: ignore[arg-type]

    def column(self, name: str) -> int:
        """Return the number of a column, creating the column if needed."""
        return self.columns.setdefault(name, len(self.columns))

    def register(self, how: int, variable: str, name: str, k: int = 1) -> int:
        """Return the number of a register (the first of k registers), creating it if needed."""
        key = (how, variable, name, k)
        if key not in self.registers:
            self.registers[key] = self.size
            self.size += k
            column = self.column(name) if name else 0
            detail = k if how in RANKED.values() else self.kinds.get(name) == "int"
            self.updates.setdefault(variable, []).append((how, self.registers[key], column, detail))
        return self.registers[key]

    def test(self, name: str, variables: list[str]) -> int:
        """Return the register of an equivalence test: the value of the last selected event, whatever its variable."""
        register = self.registers[op.LAST, "", name, 1] = self.size
        self.size += 1
        for variable in variables:
            self.updates.setdefault(variable, []).append((op.LAST, register, self.column(name), 0))
        return register

    @property
    def string_registers(self) -> list[int]:
        """Return the registers of strings."""
        return [
            register + i
            for (how, _, name, k), register in self.registers.items()
            if self.kinds.get(name) == "string" and how in (op.FIRST, op.LAST, *RANKED.values())
            for i in range(k)
        ]

    def _reference(self, a: pred.Attribute, state: StatePlan, edge: Edge) -> TypedCode | None:
        assert isinstance(a, sase.Reference)
        of = self.kinds.get(a.name)
        if of is None:
            self.column(a.name)  # so that a later batch with values of this attribute is refused
            return None
        variable, own = a.variable or "", a.variable == state.variable and edge == "event"
        match a.place:
            case "current" | "last" if own:
                return TypedCode([(op.COLUMN, self.column(a.name))], of)
            case "only" | "first" if own and state.kind != "more":
                return TypedCode([(op.COLUMN, self.column(a.name))], of)
            case "previous" if own:
                return (
                    TypedCode([(op.REGISTER, self.register(op.LAST, variable, a.name))], of)
                    if state.kind == "more"
                    else None
                )
            case "previous":
                self.refuse("the last but one event of a finished Kleene plus")
                return None
            case "only" | "first":
                return TypedCode([(op.REGISTER, self.register(op.FIRST, variable, a.name))], of)
            case "current" | "last":
                return TypedCode([(op.REGISTER, self.register(op.LAST, variable, a.name))], of)
            case at:
                assert_never(at)

    def _aggregate(self, a: sase.SaseAggregate, state: StatePlan, edge: Edge) -> TypedCode | None:
        """Return the code of an aggregate. For a running aggregate it reads the value before the awaited event."""
        variable, of = a.variable or "", self.kinds.get(a.name)
        if a.running and not (variable == state.variable and state.kind == "more" and edge == "event"):
            self.refuse("a running aggregate outside its Kleene plus")
        if a.function == "count":
            how = op.COUNT if a.name else op.NUMBER
            return TypedCode([(op.REGISTER, self.register(how, variable, a.name))], "int")
        if a.function in ("sum", "avg"):
            number = of in ("int", "float", None)
            sum_ = (op.REGISTER, self.register(op.SUM if number else op.VOID, variable, a.name))
            if a.function == "sum":
                return TypedCode([sum_], of if of == "float" else "int")
            return TypedCode([sum_, (op.REGISTER, self.register(op.COUNT, variable, a.name)), (op.DIVIDE, 0)], "float")
        if of is None or of == "bool":
            self.column(a.name)  # so that a later batch with values of this attribute is refused
            return None
        self.in_order |= of == "string"
        k = a.parameter or 1
        return TypedCode([(op.REGISTER, self.register(RANKED[a.function], variable, a.name, k) + k - 1)], of)

    def compared(self, comparator: pred.Comparator, left: TypedCode | None, right: TypedCode | None) -> Code:
        """Return code that compares two terms; FALSE if one has no value or their kinds cannot be compared."""
        numbers = {"int", "float"}
        if left is None or right is None or (left.kind != right.kind and not {left.kind, right.kind} <= numbers):
            return [(op.FALSE, 0)]
        if comparator not in ("=", "!="):
            if left.kind == "bool":
                return [(op.FALSE, 0)]
            self.in_order |= left.kind == "string"
        return [*left.code, *right.code, (COMPARE[comparator], 0)]

    def refuse(self, what: str) -> None:
        """Record what prevents the compilation of a condition, unless an earlier reason is recorded."""
        why = f"the compiled evaluator does not support {what}; use evaluator='automaton'"
        self.refused = self.refused or Unsupported(why)


def _depth(code: Code) -> int:
    """Return the greatest number of values that the code puts on the stack."""
    depth = most = 0
    for operation, _ in code:
        depth += 1 if operation < op.NOT else -1 if operation > op.CHECK else 0
        most = max(most, depth)
    return most


# ---------------------------------------------------------------------------------------------------------------------
# Arrow columns as numbers for the compiled loops: partitions, times, and the values that conditions compare.

MOST_UNUSED = 65_536  # partitions without runs, above which they are dropped


def kinds_of(table: pa.Table) -> dict[str, ValueType]:
    """Return the kinds of the columns that have values."""
    kinds = {name: kind_of(table[name].type) for name in table.column_names if name != TYPE}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def kind_of(type_: pa.DataType) -> ValueType | None:
    """Return the kind of a column, given its Arrow type; None if the column has no values."""
    return "string" if pa.types.is_dictionary(type_) else VALUE_TYPES.get(type_)


class ColumnEncoder:
    """Encodes the partitions, times and values of one stream as numbers, batch by batch.

    Strings and partitions are numbered in the order of their first occurrence. refused: the first reason why a batch
    cannot be encoded. If it is set, the results of the methods mean nothing.
    """

    def __init__(self, routes: tuple[str, ...], programs: Programs) -> None:
        self.routes = routes
        self.names = tuple(programs.columns)
        self.kinds: Mapping[str, ValueType] = programs.kinds
        self.strings, self.in_order, self._patterns = dict(programs.strings), programs.in_order, programs.patterns
        self.scale = 1e6 if self.kinds.get(TIME) == "timestamp" else 1.0
        self._partitions: dict[Any, int] = {None: 0}
        self._last = -np.inf
        self.refused: Unsupported | None = None

    @property
    def partitions(self) -> int:
        """Return the number of partitions so far, plus one: number 0 stands for events without a partition."""
        return len(self._partitions)

    def keys(self, table: pa.Table) -> NDArray[np.int32]:
        """Return the partition number of each row (int32 [rows]); 0 if a value is missing or NaN."""
        n = table.num_rows
        if not self.routes:
            self._partitions.setdefault((), 1)
            return np.ones(n, np.int32)
        if any(self._kind(table, name) is None for name in self.routes):
            return np.zeros(n, np.int32)
        codes, keys, _ = encode_keys(table, self.routes)
        numbers = np.fromiter(map(self._partitions.get, keys, repeat(-1)), np.int32, len(keys))
        for x in np.flatnonzero(numbers < 0).tolist():
            numbers[x] = self._partitions.setdefault(keys[x], len(self._partitions))
        return numbers[codes]

    def drop_unused(self, alive: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Drop the partitions without runs if most partitions have none. Return the old numbers of the remaining ones.

        Return None if no partition is dropped. alive: for each partition whether it has runs.
        """
        # Dropping renumbers all partitions, so it waits until at least half of them are unused.
        if not self.routes or len(alive) < 2 * int(alive.sum()) + MOST_UNUSED:
            return None
        # Number 0 has no runs and is no partition, but it stands for the events without one.
        alive[0] = True
        kept = np.flatnonzero(alive)
        new = {old: number for number, old in enumerate(kept.tolist())}
        self._partitions = {key: new[old] for key, old in self._partitions.items() if old in new}
        return kept

    def times(self, table: pa.Table, windowed: bool, ascending: bool = True) -> NDArray[np.float64]:
        """Return the times (float64 [rows], NaN if absent); an empty array without a window.

        If `ascending`, times that do not ascend are refused. The array is read-only, as Arrow's columns are, so that
        numba compiles for one kind of array only.
        """
        times = self._times(table, windowed, ascending)
        times.flags.writeable = False
        return times

    def _times(self, table: pa.Table, windowed: bool, ascending: bool) -> NDArray[np.float64]:
        if not windowed:
            return np.zeros(0)
        if not ascending:
            if self._kind(table, TIME) not in ("int", "float", "timestamp"):
                return np.full(table.num_rows, np.nan)
            times, there = self._floats(table[TIME])
            return np.where(there, times, np.nan)
        if self._kind(table, TIME) not in ("int", "float", "timestamp"):
            self._refuse("the query has a window, but the events have no times that are numbers or timestamps")
            return np.zeros(0)
        times, there = self._floats(table[TIME])
        ascends = not times.size or (times[0] >= self._last and (times[1:] >= times[:-1]).all())
        if not (there.all() and np.isfinite(times).all() and ascends):
            self._refuse("an event has no time, or a smaller time than the event before it; sort the stream")
        if times.size:
            self._last = times[-1]
        return times

    def columns(self, table: pa.Table) -> NDArray[np.float64]:
        """Return the values that conditions compare, float64 [rows, 2 D]. After each column comes a column that is 1
        for rows with a value, else 0.
        """
        data = np.zeros((table.num_rows, 2 * len(self.names)))
        for at, name in enumerate(self.names):
            if name in self._patterns:
                classes, masks = classified([self._patterns[name]], Stream.from_table(table))
                data[:, 2 * at], data[:, 2 * at + 1] = np.array(masks or [0])[classes], 1.0
            elif self._kind(table, name) is not None:
                data[:, 2 * at], data[:, 2 * at + 1] = self._floats(table[name])
        return data

    def sorted_strings(self, table: pa.Table) -> NDArray[np.float64] | None:
        """Renumber the strings in their order; return an array with the new number of each old number.

        Return None if the numbers are already in order.
        """
        names = [name for name in self.names if self._kind(table, name) == "string"]
        texts = {text for name in names for text in dictionary_of(table[name]).dictionary.to_pylist()} - {None}
        ordered = sorted({*self.strings, *texts})
        if ordered == list(self.strings):
            return None
        number = {text: n for n, text in enumerate(ordered)}
        new = np.array([number[text] for text in self.strings] or [0], np.float64)
        self.strings = number
        return new

    def _kind(self, table: pa.Table, name: str) -> ValueType | None:
        """Return the kind of a column, which must be the same as in the first batch."""
        kind = kind_of(table[name].type) if name in table.column_names and name != TYPE else None
        if kind == "timestamp" and is_nanoseconds(table[name].type):
            self._refuse(NANOSECONDS_IN_LOOPS.format(name))
            return None
        if kind is None or kind == self.kinds.get(name):
            return kind
        before = self.kinds.get(name)
        first = "no value" if before is None else f"values of the type {before}"
        self._refuse(
            f"the column {name} has values of the type {kind}, but had {first} in the first batch; give all batches "
            "the same columns, or use evaluator='automaton'"
        )
        return None

    def _floats(self, column: pa.ChunkedArray) -> tuple[NDArray[np.float64], NDArray[np.bool_] | np.bool_]:
        """Return a column as numbers, and a mask of the rows that have values, or True if all have."""
        there = column.is_valid().to_numpy() if column.null_count else np.True_
        kind = kind_of(column.type)
        if is_nanoseconds(column.type):
            self._refuse(NANOSECONDS_IN_LOOPS.format("of the time"))
            return np.zeros(len(column)), there
        if kind == "string":
            encoded = dictionary_of(column)
            numbers = [self.strings.setdefault(text, len(self.strings)) for text in encoded.dictionary.to_pylist()]
            of = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            return np.array(numbers or [0], np.float64)[of], there
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if kind == "timestamp":
            column = column.cast(ARROW["timestamp"]).cast(pa.int64())
        elif kind == "bool":
            column = column.cast(pa.int64())
        if kind in ("int", "timestamp"):
            extremes = pc.min_max(column).as_py()
            if extremes["min"] is not None and not (extremes["min"] > -op.EXACT and extremes["max"] < op.EXACT):
                self._refuse("the compiled evaluator does not support numbers beyond 2^53; use evaluator='automaton'")
                return np.zeros(len(column)), there
        if column.null_count:
            column = column.fill_null(0)
        return in_one_piece(column.cast(pa.float64())), there

    def _refuse(self, why: str) -> None:
        self.refused = self.refused or Unsupported(why)


# ---------------------------------------------------------------------------------------------------------------------
# Compile a query for columns of some kinds: write its states and conditions as the arrays of kernels.py.

STRATEGIES = dict(zip(sase.STRATEGIES, (op.STRICT, op.PARTITION, op.NEXT, op.ANY), strict=True))
KINDS = {"single": op.SINGLE, "first": op.FIRST_OF_MORE, "more": op.MORE}


@dataclass(frozen=True)
class ArrayLayout:
    """A query compiled for columns of given kinds (numbers, texts, ...), as the arrays that the compiled loops read.

    plan: the states and conditions. work: scratch memory. initial: the registers of a new run. negated: int64 [K, 5],
    for each of the K negated components the fields STATE to SIDE of opcodes.py. begins: int64, the first state of each
    component.
    """

    programs: Programs
    plan: NDArray[np.int32]
    work: NDArray[np.float64]
    initial: NDArray[np.float64]
    negated: NDArray[np.int64]
    begins: NDArray[np.int64]


class CompiledPlan:
    """The plans of a query and of its negated components, and the attributes by which runs are looked up.

    ascending: whether times ascend. If not, the window is a condition on each event, and no attribute is used to look
    up runs.
    """

    def __init__(self, q: sase.SaseQuery, reading: Reading, ascending: bool) -> None:
        self.q, self.reading, self.ascending = q, reading, ascending
        self.matched = QueryPlan(q, reading, NO_OPERATIONS)
        self.absent = [(k, self._absent(k)) for k in q.pattern if k.negated]
        plans = [self.matched, *(plan for _, plan in self.absent)]
        self.placed = [(plan, state) for plan in plans for state in plan.states]
        found = [plan.routes for plan in plans] if ascending or q.within is None else [()]
        self.routes = tuple(x for x in found[0] if all(x in other for other in found))

    def _absent(self, k: sase.Component) -> QueryPlan:
        layout = absence_layout(self.q, k)
        if self.reading.negated_series == "any":
            layout = replace(layout, strategies={k.variable: "skip_till_any_match"})
        return QueryPlan(self.q, self.reading, NO_OPERATIONS, layout)

    def layout(self, kinds: dict[str, ValueType]) -> ArrayLayout | Unsupported:
        """Return the conditions compiled for columns of these kinds, or the reason why that is impossible."""
        plan, programs = self.matched, Programs(kinds)
        variables = [k.variable for k in plan.pattern]
        tests = [x for x in plan.registers.tests if x not in self.routes]
        tested = [(programs.test(x, variables), programs.column(x), x in plan.partition) for x in tests]
        ranges = [self._conditions(programs, state, n) for n, (_, state) in enumerate(self.placed)]
        if programs.refused is not None:
            return programs.refused
        constants = 2 * (programs.depth + 1)
        work = np.array([0.0] * constants + programs.constants)
        initial = np.zeros(2 * programs.size + 1)
        for (how, *_), register in programs.registers.items():
            # Counts and sums have a value, 0, before the first event; other registers have none.
            initial[2 * register + 2] = how in (op.NUMBER, op.COUNT, op.SUM, op.VOID)
        begins = [state.number for state in plan.states if state.kind != "more"]
        rows = _rows(self, programs, ranges, tested, constants)
        return ArrayLayout(programs, rows, work, initial, self._negated(), np.array(begins, np.int64))

    def _conditions(self, programs: Programs, state: StatePlan, n: int) -> list[tuple[int, int]]:
        """Return the programs TEST, MARK, END and OVER of a state; n is its number among all states."""
        within, first = self.q.within, self.matched.pattern[0].variable
        selecting, over = [programs.condition(p, state, "event") for p in state.on_run], []
        if within is not None and not self.ascending and 0 < n < len(self.matched.states):
            closed = self.reading.window == "closed"
            selecting.append(programs.elapsed(first, within.seconds, "<=" if closed else "<"))
            if state.kind == "more":
                over.append(programs.elapsed(first, within.seconds, ">" if closed else ">="))
        marked = state.in_partition if state.strategy == "partition_contiguity" else ()
        return [
            programs.conjunction(selecting),
            programs.conditions(marked, state, "event"),
            programs.conditions(state.at_end, state, "end"),
            programs.conjunction(over),
        ]

    def _negated(self) -> NDArray[np.int64]:
        pattern, rows, first = self.q.pattern, list[list[int]](), len(self.matched.states)
        for k, plan in self.absent:
            at = pattern.index(k)
            before = sum(not c.negated for c in pattern[:at]) - 1
            behind = -1 if all(c.negated for c in pattern[at:]) else before + 1
            side = op.BETWEEN
            if self.q.within is not None and before < 0 and self.reading.negation_in_front == "window":
                side = op.IN_FRONT
            elif self.q.within is not None and before >= 0 and behind < 0:
                side = op.AT_END
            rows.append([first, bool(plan.states[-1].at_end), before, behind, side])
            first += len(plan.states)
        return np.array(rows, np.int64).reshape(-1, 5)


def _rows(
    plan: CompiledPlan,
    programs: Programs,
    ranges: list[list[tuple[int, int]]],
    tested: list[tuple[int, int, bool]],
    constants: int,
) -> NDArray[np.int32]:
    """Return the array `plan` of kernels.py: first the states, then the rows to which they refer by index."""
    rest: list[int] = []
    begin = op.WIDTH * len(plan.placed)

    def stands(rows: list[tuple[int, ...]]) -> tuple[int, int]:
        start = begin + len(rest)
        rest.extend(value for row in rows for value in row)
        return start, begin + len(rest)

    def code_of(span: tuple[int, int]) -> list[tuple[int, ...]]:
        rows: list[tuple[int, ...]] = []
        for operation, argument in programs.code[slice(*span)]:
            match operation:
                case op.COLUMN:
                    argument = 2 * argument
                case op.REGISTER:
                    argument = 2 * argument + 1
                case op.CONSTANT:
                    argument += constants
            rows.append((operation, argument))
        return rows

    tests = stands([(2 * register + 1, 2 * column, marked) for register, column, marked in tested])
    updates = {
        v: stands([(how, 2 * register + 1, 2 * column, k) for how, register, column, k in programs.updates.get(v, [])])
        for v in dict.fromkeys(state.variable for _, state in plan.placed)
    }
    states: list[int] = []
    for (owner, state), spans in zip(plan.placed, ranges, strict=True):
        pairs = [updates[state.variable], *(stands(code_of(span)) for span in spans), tests]
        states += [*_flags(owner, state, spans[-1]), *(at for pair in pairs for at in pair)]
    return np.array([*states, *rest], np.int32)


def _flags(plan: QueryPlan, state: StatePlan, over: tuple[int, int]) -> list[int]:
    following = plan.states[state.number + 1 :][:1]
    skipping = any(after.strategy == "skip_till_any_match" for after in following)
    more, by_condition = state.kind == "more", state.leaving == "by_condition"
    skips = state.strategy == "skip_till_next_match" and not by_condition and over[0] == over[1]
    return [
        KINDS[state.kind],
        STRATEGIES[state.strategy],
        state.component,
        state.is_last,
        state.cut,
        state.leaving == "after_each",
        not state.skips_next,
        by_condition,
        state.stops_by_itself,
        more and not state.is_last and (by_condition or skipping),
        -1 if (after := plan.after_selecting(state)) is None else after.number,
        (3 if more and not state.is_last else 1) if skips else 0,
    ]
