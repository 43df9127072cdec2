"""The matches of a clause by its automaton in compiled loops over columns; the readable twin is evaluate.Run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cerify.automata.evaluate.stores import numba_required
from cerify.automata.row_pattern.columns import PartitionedTable
from cerify.automata.row_pattern.compile import ACCEPT, Automaton
from cerify.automata.row_pattern.conditions import why_not, why_not_compiled
from cerify.automata.row_pattern.distances import at_fixed_distances
from cerify.automata.row_pattern.evaluate import numbered, skip_error
from cerify.automata.row_pattern.vectors import Conditions
from cerify.automata.row_pattern.windows import BEFORE, framed
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from cerify.semantics.packages import np
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.resolve import columns_of, resolved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

MATCHES_TOGETHER = 1 << 16
WORDS = 64  # of 64 bits, for the states of the rows of a partition, for each of budget.valuations: 1 GB by default


@dataclass(frozen=True)
class Labelled:
    """Some matches, one after the other, as arrays, which are written over with the next ones.

    begins, numbers: int64, of each match the row of the partitioned table at which it starts, and its number in its
    partition. offsets, states: the states of the rows of match i are states[offsets[i] : offsets[i + 1]]. searched:
    int64, of each match the row whose search finds it, in WINDOW with SEEK one before its start.
    """

    searched: NDArray[np.int64]
    begins: NDArray[np.int64]
    numbers: NDArray[np.int64]
    offsets: NDArray[np.int64]
    states: NDArray[np.int32]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Of each match the row after its last one, in the partitioned table; an empty match counts for one row."""
        return self.begins + np.maximum(np.diff(self.offsets), 1)

    def matches(self, A: Automaton, positions: Places, windows: bool) -> Iterator[NumberedMatch]:
        """The matches of rows that have these positions."""
        offsets = self.offsets.tolist()
        for i, (r, s, number) in enumerate(
            zip(self.searched.tolist(), self.begins.tolist(), self.numbers.tolist(), strict=True)
        ):
            states = self.states[offsets[i] : offsets[i + 1]].tolist()
            places = positions[s : s + len(states)].tolist()
            yield numbered(A, places[-1] if states and not windows else int(positions[r]), places, states, number)


def answers(q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> Iterator[NumberedMatch]:
    """The matches in the order in which they are found, the partitions in the order of their first row.

    Raises Unsupported for what why_not, at fixed distances, and why_not_compiled refuse and where numba is not
    installed, IllFormed where AFTER MATCH SKIP leads nowhere, and BudgetExceeded.
    """
    yield from CompiledRun(q, S, budget).answers()


class CompiledRun:
    """A clause over one table. Raises Unsupported, BudgetExceeded."""

    def __init__(self, q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> None:
        q = at_fixed_distances(q, budget)
        if (refused := why_not(q) or why_not_compiled(q, budget)) is not None:
            raise refused
        self.q, self.budget = resolved(q, columns_of(S)), budget
        self.framed = framed(self.q, budget)
        self.automaton = self.framed.pattern
        self.table = PartitionedTable.of(self.q, S)

    def answers(self) -> Iterator[NumberedMatch]:
        """The matches in the order in which they are found. Raises as `blocks` does."""
        for block in self.blocks():
            yield from block.matches(self.automaton, self.table.positions, self.q.window is not None)

    def count(self) -> int:
        """The number of the matches. Raises as `blocks` does."""
        return sum(len(block.begins) for block in self.blocks())

    def blocks(self, together: int = MATCHES_TOGETHER) -> Iterator[Labelled]:
        """All matches, some at a time. Raises IllFormed where AFTER MATCH SKIP leads nowhere, and BudgetExceeded."""
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
                self.table.starts, codes, *tables, open_, self._wanted, numbers, begins, found, offsets, states
            )
            some = int(numbers[kernels.FOUND])
            yield self._unframed(begins[:some], found[:some], offsets[: some + 1], states[: offsets[some]])
        if error := int(numbers[kernels.ERROR]):
            raise skip_error(self.q.skip, int(numbers[kernels.MATCH]), error == kernels.FIRST_ROW)

    def _words(self, rows: int) -> int:
        """The words for the states of a row. Raises BudgetExceeded for a partition of too many rows."""
        states = len(self.framed.automaton.variables)
        words, most = _words(states), WORDS * self.budget.valuations
        if (rows + 1) * words > most:
            raise BudgetExceeded(
                f"{rows:,} rows of a partition, with {states:,} states of the pattern, take more than {most:,} words "
                "of 64 bits; divide the table by PARTITION BY, give a smaller pattern, or allow more: "
                f"Budget(valuations=...), {WORDS} words each"
            )
        return words

    def _unframed(self, searched: Places, numbers: Places, offsets: Places, states: NDArray[np.int32]) -> Labelled:
        """The matches with the states of the pattern, without the rows before them."""
        if self.q.window is None:
            return Labelled(searched, searched, numbers, offsets, states)
        states = states % max(1, len(self.automaton.variables))
        before = np.array([A == BEFORE for A in self.automaton.variables], np.bool_)[states]
        left_out = np.append(0, np.cumsum(before))[offsets]
        return Labelled(searched, searched + np.diff(left_out), numbers, offsets - left_out, states[~before])

    @cached_property
    def _conditioned(self) -> list[str]:
        return [*self.framed.q.conditions]

    @property
    def _codes(self) -> NDArray[np.uint8]:
        """The bits of the conditions that are true of each row, eight in a plane."""
        conditions = Conditions(self.table)
        codes = np.zeros((-(-len(self._conditioned) // 8), len(self.table)), np.uint8)
        for i, A in enumerate(self._conditioned):
            true = conditions.truths(self.framed.q.conditions[A], A).view(np.uint8)
            codes[i // 8] |= true << np.uint8(i % 8)
        return codes

    @property
    def _wanted(self) -> NDArray[np.uint8]:
        """1 for the states of the variable to skip to, 2 for those of rows before a match."""
        its = self.q.unions[self.q.skip.variable] if self.q.skip.variable is not None else ()
        wanted = [2 if A == BEFORE else A in its for A in self.automaton.variables]
        return np.resize(np.array(wanted, np.uint8), len(self.framed.automaton.variables))


def _tables(A: Automaton, conditioned: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """What kernels.find calls takes, before, ends, ways, targets and anchors."""
    number = len(A.variables)
    bits = np.arange(256)[:, None] >> np.arange(8) & 1 == 1  # of a byte
    used = slice(0, 1 << min(8, len(conditioned)))
    bit = np.array([conditioned.index(v) if v in conditioned else -1 for v in A.variables], np.int64)
    planes = range(-(-len(conditioned) // 8))
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
    """Sets of states, a Boolean for each, as words of 64 bits."""
    missing = 64 * _words(states.shape[-1]) - states.shape[-1]
    padded = np.pad(states, [*[(0, 0)] * (states.ndim - 1), (0, missing)])
    packed: NDArray[np.uint64] = np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64)
    return packed


def _words(states: int) -> int:
    return max(1, -(-states // 64))
