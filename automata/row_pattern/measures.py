"""The rows that matches make, and their measures, as Arrow columns: for many matches at once, from the states of rows.

What a lookup sees of a match is a range of its labelled rows, which are numbered through all matches. The rows of a
variable in a range are counted by running sums, so that each lookup is some arithmetic on whole columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from cerify.automata.evaluate.stores import numba_required
from cerify.automata.row_pattern import evaluate
from cerify.automata.row_pattern.columns import PartitionedTable, SeveralTypes, array_of
from cerify.automata.row_pattern.compile import Automaton, compile_pattern
from cerify.automata.row_pattern.compiled import CompiledRun, Labelled
from cerify.automata.row_pattern.vectors import Column, Conditions, Inexact, combined
from cerify.semantics.arrow_types import ARROW
from cerify.semantics.budget import Budget
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Stream
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.row_pattern import scalars
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.trees import subtrees
from cerify.semantics.values import EXACT, INT64

MATCHES = 1024  # of the readable automaton that are put together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]
    Mask = NDArray[np.bool_]


class MatchRows:
    """The rows of the output that some matches of a clause make.

    of, ends: int64, of each row its match, and how many rows of all matches are labelled up to it. searched, begins,
    places: int64, of each row where in the partitioned table its match is found and where it starts, and the row of the
    table that it shows.
    """

    def __init__(self, q: MatchRecognize, conditions: Conditions, automaton: Automaton, block: Labelled) -> None:
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
            self.of, self.ends = np.append(of[shown], empty), np.append(shown + 1, block.offsets[empty])
            order = np.argsort(self.of, kind="stable")
            self.of, self.ends = self.of[order], self.ends[order]
        self.searched, self.begins = block.searched[self.of], block.begins[self.of]
        seen = self.ends > block.offsets[self.of]
        self.places = np.where(seen, self.labelled[self.ends - 1], self.begins) if q.window is None else self.searched

    def measure(self, e: rows.Expression) -> pa.Array | None:
        """The values of a measure; None where columns do not hold it: values of several types, or beyond 64 bits."""
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
            columns = [self._spread(column, len(self.of)) for column in operands]
            if any(column.type == ARROW["timestamp"] for column in columns):
                raise
            lists = [column.to_pylist() for column in columns]
            return array_of([scalars.combined(e, values, STANDARD) for values in zip(*lists, strict=True)])

    def _looked_up(self, e: rows.Lookup) -> Column:
        match e:
            case rows.Column() | rows.Classifier():
                return self._looked_up(rows.Logical("LAST", e))
            case rows.MatchNumber():
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
            case rows.Aggregate():
                return self._aggregated(e)
            case _:
                assert_never(e)

    def _range(self, semantics: rows.Semantics) -> tuple[Places, Places]:
        """Of each row of the output the labelled rows that it sees: the first, and the one after the last."""
        return self.block.offsets[self.of], self.ends if semantics == "RUNNING" else self.block.offsets[self.of + 1]

    def _rows_of(self, A: str | None) -> tuple[Places, Mask]:
        """For each labelled row, and after the last, how many rows of a variable are before it; and which they are."""
        if A not in self._found:
            its = [A is None or v in self.q.unions[A] for v in self.variables]
            mask = np.array(its, np.bool_)[self.block.states]
            self._found[A] = np.append(0, np.cumsum(mask)), mask
        return self._found[A]

    @cached_property
    def _found(self) -> dict[str | None, tuple[Places, Mask]]:
        return {}

    def _led_to(self, e: rows.Logical) -> tuple[Places, Mask]:
        """The row of the table to which FIRST or LAST leads, and whether there is one."""
        number, mask = self._rows_of(rows.variable_of(e.argument))
        first, end = (number[one] for one in self._range(e.semantics))
        offset = min(e.offset, len(mask) + 1)
        wanted = first + offset if e.function == "FIRST" else end - 1 - offset
        there = (first <= wanted) & (wanted < end)
        its = np.append(np.flatnonzero(mask), len(mask))
        return self.labelled[its[np.where(there, wanted, -1)]], there

    def _in_rows(self, e: rows.Expression, places: Places, there: Mask) -> pa.Array:
        """The values of an expression in these rows of the table. Raises Inexact for one on labels beside others."""
        if not isinstance(e, rows.Classifier):
            return self._of_rows(e).take(pa.array(np.where(there, places, 0), mask=~there))
        first, end = self._range("FINAL")
        label = first + places - self.begins
        there = there & (first <= label) & (label < end)
        codes = pa.array(self._codes[np.where(there, label, -1)], mask=~there)
        return pa.DictionaryArray.from_arrays(codes, pa.array(self._names, pa.string())).cast(pa.string())

    def _of_rows(self, e: rows.Expression) -> pa.Array:
        if any(isinstance(one, rows.Classifier | rows.MatchNumber) for one in subtrees(e)):
            raise Inexact
        return self._spread(self.conditions.values(e), len(self.conditions.table))

    def _aggregated(self, e: rows.Aggregate) -> Column:
        """An aggregate. Raises Inexact for what may be beyond 64 bits, and for the least of texts or Booleans."""
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
    def _codes(self) -> Places:
        """For each labelled row the number of its variable's name."""
        codes = np.array([self._names.index(v) for v in self.variables], np.int64)
        return np.append(codes[self.block.states], 0)

    def _spread(self, column: Column, length: int) -> pa.Array:
        return pa.repeat(column, length) if isinstance(column, pa.Scalar) else column


def unmatched(q: MatchRecognize, block: Labelled, first: int, end: int, covered: int) -> Any:
    """The rows of the table from first to before end in which no match starts and which are in none.

    In WINDOW those whose search finds none. covered: the row up to which earlier matches reach. block: the matches that
    searches in these rows find.
    """
    if q.window is not None:
        return np.setdiff1d(np.arange(first, end), block.searched)
    reach = np.append(covered, block.ends)
    places = np.arange(first, end)
    last = np.searchsorted(block.begins, places, "right")
    return places[np.maximum.accumulate(reach)[last] <= places]


Found: TypeAlias = tuple[PartitionedTable, Automaton, Iterator[Labelled]]
"""The table partition by partition, the automaton whose states label rows, and the matches, some at a time."""


def compiled_blocks(q: MatchRecognize, S: Stream, budget: Budget) -> Found:
    """The matches by the compiled loops. Raises Unsupported, BudgetExceeded."""
    run = CompiledRun(q, S, budget)
    return run.table, run.automaton, run.blocks()


def readable_blocks(q: MatchRecognize, S: Stream, budget: Budget) -> Found:
    """The matches by the readable automaton. Raises BudgetExceeded."""
    automaton = compile_pattern(q.pattern, budget)
    return PartitionedTable.of(q, S), automaton, _blocks(q, S, automaton, budget)


def _blocks(q: MatchRecognize, S: Stream, automaton: Automaton, budget: Budget) -> Iterator[Labelled]:
    """The matches of the readable automaton; a state is any that labels a row so."""
    state_of = {label: state for state, label in enumerate(zip(automaton.variables, automaton.excluded, strict=True))}
    found, failed = evaluate.answers(q, S, budget), None
    while failed is None:
        some: list[NumberedMatch] = []
        try:
            some.extend(islice(found, MATCHES))
        except IllFormed as error:  # after the match that it concerns
            failed = error
        if not some:
            break
        states: list[int] = []
        for match in some:
            label, excluded = {row: A for A, its in match.bindings or () for row in its}, {*match.excluded}
            states += [state_of[label[row], row in excluded] for row in match.events]
        starts = np.array([match.events[0] if match.events else match.at for match in some])
        yield Labelled(
            np.array([match.at for match in some]) if q.window is not None else starts,
            starts,
            np.array([match.match_number for match in some]),
            np.cumsum([0, *(len(match.events) for match in some)]),
            np.array(states, np.int32),
        )
    if failed is not None:
        raise failed
