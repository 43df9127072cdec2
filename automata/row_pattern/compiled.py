"""Find the matches of a clause with its automaton in compiled loops; the readable twin is evaluate.RowPartition.

Conditions are evaluated on whole columns and become bits; the loops read only these bits and tables of the automaton.
Clauses whose conditions look at the match so far are left to the readable twin, because a loop would need registers of
any type. Matches and measures are computed in blocks as arrays: Python objects for each row would take most of the
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from cerify.automata.evaluate.compiled import numba_required
from cerify.automata.row_pattern import evaluate
from cerify.automata.row_pattern.columns import (
    Column,
    ColumnConditions,
    Inexact,
    PartitionedTable,
    SeveralTypes,
    array_of,
    combined,
)
from cerify.automata.row_pattern.compile import (
    ACCEPT,
    BEFORE,
    Automaton,
    at_fixed_distances,
    compile_pattern,
    framed,
    why_not,
    why_not_compiled,
)
from cerify.automata.row_pattern.evaluate import numbered, skip_error
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.arrow_columns import ARROW
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import Stream
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern import scalars
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.scalars import NumberedMatch, columns_of, resolved
from cerify.semantics.row_pattern.syntax import MatchRecognize
from cerify.semantics.trees import subtrees
from cerify.semantics.values import EXACT, INT64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

MATCHES_TOGETHER = 1 << 16
WORDS = 64  # the states of a partition's rows may take so many words of 64 bits times budget.valuations (default: 1 GB)


@dataclass(frozen=True)
class LabelArrays:
    """Matches as arrays, one after the other. The next matches overwrite these arrays.

    begins, numbers: int64, for each match the row of the partitioned table at which it starts, and its number in its
    partition. offsets, states: the states of the rows of match i are states[offsets[i] : offsets[i + 1]]. searched:
    int64, for each match the row whose search finds it; in WINDOW with SEEK it may lie before the start.
    """

    searched: NDArray[np.int64]
    begins: NDArray[np.int64]
    numbers: NDArray[np.int64]
    offsets: NDArray[np.int64]
    states: NDArray[np.int32]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Return for each match the row after its last row, in the partitioned table.

        An empty match counts for one row.
        """
        return self.begins + np.maximum(np.diff(self.offsets), 1)

    def matches(self, A: Automaton, positions: Places, windows: bool) -> Iterator[NumberedMatch]:
        """Yield the matches with the positions of their rows.

        A: the automaton of the pattern. positions: the position of each row of the partitioned table. windows: whether
        the clause has WINDOW; a match is then reported at the row whose search finds it, otherwise at its last row.
        """
        offsets = self.offsets.tolist()
        for i, (r, s, number) in enumerate(
            zip(self.searched.tolist(), self.begins.tolist(), self.numbers.tolist(), strict=True)
        ):
            states = self.states[offsets[i] : offsets[i + 1]].tolist()
            places = positions[s : s + len(states)].tolist()
            yield numbered(A, places[-1] if states and not windows else int(positions[r]), places, states, number)


def find_matches(q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> Iterator[NumberedMatch]:
    """Yield the matches in the order in which they are found; partitions come in the order of their first rows.

    Raises Unsupported for a clause that `why_not` (after `at_fixed_distances`) or `why_not_compiled` refuses, and if
    numba is not installed; IllFormed if AFTER MATCH SKIP has no row to skip to; and BudgetExceeded.
    """
    yield from CompiledRun(q, S, budget).find_matches()


class CompiledRun:
    """Evaluates a clause on one table. Raises Unsupported, BudgetExceeded."""

    def __init__(self, q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> None:
        q = at_fixed_distances(q, budget)
        if (refused := why_not(q) or why_not_compiled(q, budget)) is not None:
            raise refused
        self.q, self.budget = resolved(q, columns_of(S)), budget
        self.framed = framed(self.q, budget)
        self.automaton = self.framed.pattern
        self.table = PartitionedTable.from_stream(self.q, S)

    def find_matches(self) -> Iterator[NumberedMatch]:
        """Yield the matches in the order in which they are found. Raises the errors of `blocks`."""
        for block in self.blocks():
            yield from block.matches(self.automaton, self.table.positions, self.q.window is not None)

    def count(self) -> int:
        """Return the number of the matches. Raises the errors of `blocks`."""
        return sum(len(block.begins) for block in self.blocks())

    def blocks(self, together: int = MATCHES_TOGETHER) -> Iterator[LabelArrays]:
        """Yield all matches in blocks. Raises BudgetExceeded; IllFormed if AFTER MATCH SKIP has no row to skip to."""
        with numba_required():
            from cerify.automata.row_pattern import kernels
        longest = int(np.diff(self.table.starts).max(initial=0))
        open_ = np.empty((longest + 1, self._words(longest)), np.uint64)
        numbers = np.zeros(7, np.int64)
        numbers[kernels.SKIP] = {
            "past last row": kernels.PAST_LAST, "next row": kernels.NEXT, "first": kernels.FIRST, "last": kernels.LAST,
        }[self.q.skip.to]  # fmt: skip
        begins, found, offsets = (np.empty(together + more, np.int64) for more in (0, 0, 1))
        states = np.empty(max(longest, together), np.int32)
        tables, codes = _tables(self.framed.automaton, self._conditioned), self._codes
        while numbers[kernels.PARTITION] < len(self.table.starts) - 1 and not numbers[kernels.ERROR]:
            check_time()
            kernels.find(
                self.table.starts, codes, *tables, open_, self._skip_targets, numbers, begins, found, offsets, states
            )
            some = int(numbers[kernels.FOUND])
            yield self._unframed(begins[:some], found[:some], offsets[: some + 1], states[: offsets[some]])
        if error := int(numbers[kernels.ERROR]):
            raise skip_error(self.q.skip, int(numbers[kernels.MATCH]), error == kernels.FIRST_ROW)

    def _words(self, rows: int) -> int:
        """Return how many words the states of a row take. Raises BudgetExceeded for a partition of too many rows."""
        states = len(self.framed.automaton.variables)
        words, most = _words(states), WORDS * self.budget.valuations
        if (rows + 1) * words > most:
            raise BudgetExceeded(
                f"a partition of {rows:,} rows and a pattern of {states:,} states need more than {most * 8:,} bytes, "
                "the limit of Budget(valuations=...); divide the table by PARTITION BY, use a smaller pattern, or "
                "raise the budget"
            )
        return words

    def _unframed(self, searched: Places, numbers: Places, offsets: Places, states: NDArray[np.int32]) -> LabelArrays:
        """Return the matches in terms of the pattern's states, without the rows that SEEK skips before them."""
        if self.q.window is None:
            return LabelArrays(searched, searched, numbers, offsets, states)
        states = states % max(1, len(self.automaton.variables))
        before = np.array([A == BEFORE for A in self.automaton.variables], np.bool_)[states]
        left_out = np.append(0, np.cumsum(before))[offsets]
        return LabelArrays(searched, searched + np.diff(left_out), numbers, offsets - left_out, states[~before])

    @cached_property
    def _conditioned(self) -> list[str]:
        return [*self.framed.q.conditions]

    @property
    def _codes(self) -> NDArray[np.uint8]:
        """Return the conditions that are true of each row, as bits; a plane has eight conditions."""
        conditions = ColumnConditions(self.table)
        codes = np.zeros((-(-len(self._conditioned) // 8), len(self.table)), np.uint8)
        for i, A in enumerate(self._conditioned):
            true = conditions.truths(self.framed.q.conditions[A], A).view(np.uint8)
            codes[i // 8] |= true << np.uint8(i % 8)
        return codes

    @property
    def _skip_targets(self) -> NDArray[np.uint8]:
        """Return for each state 1 if its variable is the skip target, 2 if the state is for rows before a match, else
        0.
        """
        its = self.q.unions[self.q.skip.variable] if self.q.skip.variable is not None else ()
        wanted = [2 if A == BEFORE else A in its for A in self.automaton.variables]
        return np.resize(np.array(wanted, np.uint8), len(self.framed.automaton.variables))


def _tables(A: Automaton, conditioned: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """Return the arrays that kernels.find calls takes, before, ends, ways, targets and anchors, in this order."""
    number = len(A.variables)
    bits = np.arange(256)[:, None] >> np.arange(8) & 1 == 1  # of a byte
    used = slice(0, 1 << min(8, len(conditioned)))
    bit = np.array([conditioned.index(v) if v in conditioned else -1 for v in A.variables], np.int64)
    planes = range(-(-len(conditioned) // 8))
    # A byte of conditions is an index: the loop looks up eight conditions at once instead of testing each.
    takes = [bits[used, bit % 8] | (bit // 8 != plane) for plane in planes]  # without a condition the plane is -1
    leads = np.zeros((-(-number // 8) * 8, number), np.bool_)
    for s, ways in enumerate(A.follow):
        leads[[way.target for way in ways if way.target != ACCEPT and not way.end], s] = True
    before = [bits[: 1 << min(8, number)].astype(np.uint8) @ leads[t : t + 8] > 0 for t in range(0, number, 8)]
    last = np.array([any(way.target == ACCEPT for way in ways) for ways in A.follow], np.bool_)
    ends = np.array([any(way.target == ACCEPT and not way.end for way in ways) for ways in A.follow], np.bool_)
    flat = [way for ways in (*A.follow, A.first) for way in ways]
    return (
        _packed(np.array(takes, np.bool_).reshape(len(takes), used.stop, number)),
        _packed(np.array(before, np.bool_).reshape(len(before), 1 << min(8, number), number)),
        _packed(np.array([ends, last])),
        np.cumsum([0, *map(len, A.follow), len(A.first)]).astype(np.int64),
        np.array([way.target for way in flat], np.int32),
        np.array([way.start | way.end << 1 for way in flat], np.uint8),
    )


def _packed(states: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack sets of states, given as a Boolean for each state, into words of 64 bits."""
    missing = 64 * _words(states.shape[-1]) - states.shape[-1]
    padded = np.pad(states, [*[(0, 0)] * (states.ndim - 1), (0, missing)])
    packed: NDArray[np.uint64] = np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64)
    return packed


def _words(states: int) -> int:
    return max(1, -(-states // 64))


# ---------------------------------------------------------------------------------------------------------------------
# Compute the output rows of many matches at once, with their measures, as Arrow columns, from the states of rows.
#
# A lookup sees a range of the match's labelled rows, which are numbered through all matches. Running sums count the
# rows of a variable in a range, so each lookup is arithmetic on whole columns.

MATCHES = 1024  # of the readable automaton in one block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    RowPlaces = NDArray[np.int64]
    Mask = NDArray[np.bool_]


class MatchRows:
    """The output rows of some matches of a clause.

    of: int64, the match of each output row. ends: int64, for each output row the number of rows of all these matches up
    to it. searched, begins: int64, the rows of the partitioned table at which the match is found and starts. places:
    int64, the row of the table that the output row shows.
    """

    def __init__(
        self, q: MatchRecognize, conditions: ColumnConditions, automaton: Automaton, block: LabelArrays
    ) -> None:
        self.q, self.conditions, self.block = q, conditions, block
        self.variables = automaton.variables
        lengths = np.diff(block.offsets)
        of = np.repeat(np.arange(len(lengths)), lengths)
        within = np.arange(len(of)) - np.repeat(block.offsets[:-1], lengths)
        self.labelled = np.append(block.begins[of] + within, 0)  # the row of each label; the last stands for none
        if q.rows == "one":
            self.of, self.ends = np.arange(len(lengths)), block.offsets[1:]
        else:
            shown = np.flatnonzero(~np.array(automaton.excluded, np.bool_)[block.states])
            empty = np.flatnonzero(lengths == 0)[: 0 if q.rows == "all omit empty" else None]
            self.of, self.ends = of[shown], shown + 1
            if len(empty):
                self.of, self.ends = np.append(self.of, empty), np.append(self.ends, block.offsets[empty])
                order = np.argsort(self.of, kind="stable")
                self.of, self.ends = self.of[order], self.ends[order]
        self.searched, self.begins = block.searched[self.of], block.begins[self.of]
        seen = self.ends > block.offsets[self.of]
        self.places = np.where(seen, self.labelled[self.ends - 1], self.begins) if q.window is None else self.searched

    def measure(self, e: rows.Expression) -> pa.Array | None:
        """Return the values of a measure in the output rows as a column.

        Return None if no column can hold them (several types, or beyond 64 bits).
        """
        try:
            return self._spread(self._value(e), len(self.of))
        except (Inexact, SeveralTypes, pa.ArrowException):
            return None

    def _value(self, e: rows.Expression) -> Column:
        if isinstance(e, rows.Lookup):
            return self._looked_up(e)
        operands = [self._value(operand) for operand in rows.below(e)]
        try:
            return combined(e, operands)
        except (Inexact, pa.ArrowException):
            if not operands:
                raise
            # The definition is applied row by row where Arrow's operator could give another result.
            columns = [self._spread(column, len(self.of)) for column in operands]
            if any(column.type == ARROW["timestamp"] for column in columns):
                raise
            lists = [column.to_pylist() for column in columns]
            return array_of([scalars.combined(e, values, STANDARD) for values in zip(*lists, strict=True)])

    def _looked_up(self, e: rows.Lookup) -> Column:
        match e:
            case rows.RowColumn() | rows.Classifier():
                return self._looked_up(rows.Logical("LAST", e))
            case rows.RowMatchNumber():
                return pa.array(self.block.numbers[self.of])
            case rows.Count(A, semantics):
                number, _ = self._rows_of(A)
                first, end = self._range(semantics)
                return pa.array(number[end] - number[first])
            case rows.Logical(_, argument):
                return self._in_rows(argument, *self._led_to(e))
            case rows.Physical(function, argument, offset):
                inner = argument if isinstance(argument, rows.Logical) else rows.Logical("LAST", argument)
                places, there = self._led_to(inner)
                starts, far = self.conditions.table.starts, min(offset, len(self.conditions.table))
                places = places + (far if function == "NEXT" else -far)
                partition = np.searchsorted(starts, self.begins, "right") - 1
                first, end = starts[partition], starts[partition + 1]
                if (window := self.q.window) is not None:
                    first = self.searched
                    end = end if window.following is None else np.minimum(end, first + window.following + 1)
                return self._in_rows(inner.argument, places, there & (first <= places) & (places < end))
            case rows.RowAggregate():
                return self._aggregated(e)
            case _:
                assert_never(e)

    def _range(self, semantics: rows.Semantics) -> tuple[RowPlaces, RowPlaces]:
        """Return for each output row the range of labelled rows that it sees: the first, and the one after the last."""
        return self.block.offsets[self.of], self.ends if semantics == "RUNNING" else self.block.offsets[self.of + 1]

    def _rows_of(self, A: str | None) -> tuple[RowPlaces, Mask]:
        """Return (number, mask). mask: which labelled rows belong to the variable. number: for each row, how many of
        these come before it; at the end, how many there are.
        """
        if A not in self._places_of:
            its = [A is None or v in self.q.unions[A] for v in self.variables]
            mask = np.array(its, np.bool_)[self.block.states]
            self._places_of[A] = np.append(0, np.cumsum(mask)), mask
        return self._places_of[A]

    @cached_property
    def _places_of(self) -> dict[str | None, tuple[RowPlaces, Mask]]:
        return {}

    def _led_to(self, e: rows.Logical) -> tuple[RowPlaces, Mask]:
        """Return for each output row the table row to which FIRST or LAST refers, and whether there is one."""
        number, mask = self._rows_of(rows.variable_of(e.argument))
        first, end = (number[one] for one in self._range(e.semantics))
        # A larger offset leads to no row, either, and could overflow 64 bits.
        offset = min(e.offset, len(mask) + 1)
        wanted = first + offset if e.function == "FIRST" else end - 1 - offset
        there = (first <= wanted) & (wanted < end)
        return self._labelled_of(rows.variable_of(e.argument))[np.where(there, wanted, -1)], there

    def _labelled_of(self, A: str | None) -> RowPlaces:
        """Return the table rows that belong to the variable, in order; the last element stands for none."""
        if A not in self._rows_by_variable:
            _, mask = self._rows_of(A)
            self._rows_by_variable[A] = np.append(self.labelled[:-1][mask], 0)
        return self._rows_by_variable[A]

    @cached_property
    def _rows_by_variable(self) -> dict[str | None, RowPlaces]:
        return {}

    def _in_rows(self, e: rows.Expression, places: RowPlaces, there: Mask) -> pa.Array:
        """Return the values of an expression in these rows of the table. Raises Inexact if the expression also depends
        on labels.
        """
        if not isinstance(e, rows.Classifier):
            return self._of_rows(e).take(pa.array(np.where(there, places, 0), mask=~there))
        first, end = self._range("FINAL")
        label = first + places - self.begins
        there = there & (first <= label) & (label < end)
        codes = pa.array(self._codes[np.where(there, label, -1)], mask=~there)
        return pa.DictionaryArray.from_arrays(codes, pa.array(self._names, pa.string())).cast(pa.string())

    def _of_rows(self, e: rows.Expression) -> pa.Array:
        if any(isinstance(one, rows.Classifier | rows.RowMatchNumber) for one in subtrees(e)):
            raise Inexact
        return self._spread(self.conditions.values(e), len(self.conditions.table))

    def _aggregated(self, e: rows.RowAggregate) -> Column:
        """Compute an aggregate. Raises Inexact for results beyond 64 bits, and for MIN or MAX of texts or Booleans."""
        if isinstance(e, rows.Collection):
            raise Inexact
        with numba_required():
            from cerify.automata.row_pattern import kernels
        _, mask = self._rows_of(rows.variable_of(e.argument))
        column, labelled = self._of_rows(e.argument), self.labelled[:-1]
        used = mask & column.is_valid().to_numpy(zero_copy_only=False)[labelled]
        first, end = self._range(e.semantics)
        total = np.append(0, np.cumsum(used))
        number = total[end] - total[first]
        if e.function == "COUNT" or pa.types.is_null(column.type):
            return pa.array(number) if e.function == "COUNT" else pa.nulls(len(number))
        type_, timed = column.type, column.type == ARROW["timestamp"] and e.function in ("MIN", "MAX")
        if type_ not in (ARROW["int"], ARROW["float"]) and not timed:
            raise Inexact
        if type_ == ARROW["int"] and e.function in ("SUM", "AVG"):
            # A bound of every partial sum. Beyond it, 64 bits would wrap, and the float of an average would be rounded.
            bound = max((abs(one) for one in pc.min_max(column).as_py().values() if one is not None), default=0)
            if bound * len(labelled) > (EXACT if e.function == "AVG" else INT64[-1]):
                raise Inexact
        values = (column.cast(pa.int64()) if timed else column).fill_null(0).to_numpy()
        folded = np.empty(len(labelled) + 1, values.dtype)  # one more, where there is no row
        kernels.fold(values, labelled, used, self.block.offsets, kernels.FOLDS.index(e.function), folded)
        found = pa.array(folded[end - 1], mask=number == 0)
        if e.function == "AVG":
            found = pc.divide(found.cast(pa.float64()), pa.array(np.maximum(number, 1)).cast(pa.float64()))
        if e.function in ("SUM", "AVG") and pa.types.is_floating(found.type):
            found = pc.if_else(pc.is_finite(found), found, pa.scalar(None, found.type))
        return found.cast(type_) if timed else found

    @cached_property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(self.variables))

    @cached_property
    def _codes(self) -> RowPlaces:
        """Return for each labelled row the number of its variable's name in the output."""
        codes = np.array([self._names.index(v) for v in self.variables], np.int64)
        return np.append(codes[self.block.states], 0)

    def _spread(self, column: Column, length: int) -> pa.Array:
        return pa.repeat(column, length) if isinstance(column, pa.Scalar) else column


def unmatched(q: MatchRecognize, block: LabelArrays, first: int, end: int, covered: int) -> Any:
    """Return the rows of the table, from first to end - 1, that belong to no match.

    In WINDOW these are the rows whose search finds no match. block: the matches found by searches in these rows.
    covered: the row after the last row of the earlier matches.
    """
    if q.window is not None:
        return np.setdiff1d(np.arange(first, end), block.searched)
    reach = np.append(covered, block.ends)
    places = np.arange(first, end)
    last = np.searchsorted(block.begins, places, "right")
    return places[np.maximum.accumulate(reach)[last] <= places]


Found: TypeAlias = tuple[PartitionedTable, Automaton, Iterator[LabelArrays]]
"""The table partition by partition, the automaton whose states label rows, and the matches in blocks."""


@dataclass(frozen=True)
class OutputBlock:
    """Some rows of the output, in order.

    made: the rows of the block that belong to matches. places: for each row of the block, the row of the partitioned
    table that it shows. order: for each row of the block, its index in the rows of `made` followed by the rows without
    a match; None if all rows belong to `made`. end: the row of the table up to which matches have been searched.
    """

    made: MatchRows
    places: RowPlaces
    order: RowPlaces | None
    end: int

    def spread(self, values: pa.Array) -> pa.Array:
        """Return a measure's values for all rows of the block: NULL for rows without a match.

        values: the values for the rows of `made`.
        """
        if self.order is None:
            return values
        return pa.concat_arrays([values, pa.nulls(len(self.order) - len(values), values.type)]).take(self.order)

    def spread_list(self, values: list[Any]) -> list[Any]:
        """Same as `spread`, but for a list; rows without a match get None."""
        return values if self.order is None else [values[i] if i < len(values) else None for i in self.order.tolist()]


def output_blocks(q: MatchRecognize, found: Found) -> Iterator[OutputBlock]:
    """Yield the output table of a clause in blocks of rows, given its matches.

    Raises IllFormed if AFTER MATCH SKIP has no row to skip to, and BudgetExceeded, as the search for matches does.
    """
    partitioned, automaton, blocks = found
    conditions, nothing = ColumnConditions(partitioned), np.empty(0, np.int64)
    first = covered = 0  # all matches of the rows before `first` are known; matches reach up to the row `covered`
    empty = LabelArrays(nothing, nothing, nothing, np.zeros(1, np.int64), nothing.astype(np.int32))
    for block in chain(blocks, [empty]):
        made = MatchRows(q, conditions, automaton, block)
        places, order = made.places, None
        end = int(block.searched[-1]) + 1 if len(block.searched) else len(partitioned)
        if q.rows == "all with unmatched" or q.window is not None:
            more = unmatched(q, block, first, end, covered)
            order = np.argsort(np.append(made.searched, more), kind="stable")
            places = np.append(places, more)[order]
            covered = int(block.ends.max(initial=covered))
        first = end
        yield OutputBlock(made, places, order, end)


def compiled_blocks(q: MatchRecognize, S: Stream, budget: Budget) -> Found:
    """Find the matches of a clause, in blocks, with the compiled evaluator. Raises Unsupported, BudgetExceeded."""
    run = CompiledRun(q, S, budget)
    return run.table, run.automaton, run.blocks()


def readable_blocks(q: MatchRecognize, S: Stream, budget: Budget) -> Found:
    """Find the matches of a clause, in blocks, with the readable automaton. Raises BudgetExceeded."""
    automaton = compile_pattern(q.pattern, budget)
    return PartitionedTable.from_stream(q, S), automaton, _blocks(q, S, automaton, budget)


def _blocks(q: MatchRecognize, S: Stream, automaton: Automaton, budget: Budget) -> Iterator[LabelArrays]:
    """Yield blocks of matches of the readable automaton. Each row gets a state that has the row's label."""
    state_of = {label: state for state, label in enumerate(zip(automaton.variables, automaton.excluded, strict=True))}
    found, failed = evaluate.find_matches(q, S, budget), None
    while failed is None:
        some: list[NumberedMatch] = []
        try:
            some.extend(islice(found, MATCHES))
        except IllFormed as error:  # raised after the match that the error concerns
            failed = error
        if not some:
            break
        states: list[int] = []
        for match in some:
            label, excluded = {row: A for A, its in match.bindings or () for row in its}, {*match.excluded}
            states += [state_of[label[row], row in excluded] for row in match.events]
        starts = np.array([match.events[0] if match.events else match.at for match in some])
        yield LabelArrays(
            np.array([match.at for match in some]) if q.window is not None else starts,
            starts,
            np.array([match.match_number for match in some]),
            np.cumsum([0, *(len(match.events) for match in some)]),
            np.array(states, np.int32),
        )
    if failed is not None:
        raise failed
