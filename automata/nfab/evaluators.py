"""Query blocks of SASE+ behind the interface of all evaluators, readable and compiled.

The state is the events that a run under way may have begun with, and those after them: read again, they lead to the
same runs. So it is bounded by the window; without one, by the oldest run.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from cerify.automata.evaluator import Counters, Evaluator
from cerify.automata.nfab.evaluate import BlockRunner, require_matches
from cerify.automata.nfab.instances import values_in
from cerify.automata.nfab.results import attributes_of, positions_of
from cerify.automata.nfab.stored import StoredEvents
from cerify.semantics.budget import Budget, timed_items
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Bindings, Match, Stream, result_of
from cerify.semantics.packages import pa
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.reading import DECIDED, Reading
from cerify.semantics.sase.show import show

if TYPE_CHECKING:
    from cerify.automata.nfab.compiled import CompiledBlockRunner

T = TypeVar("T")
SPARE = 4_096  # events that may be stored without being needed


def block_of(q: sase.Tree) -> sase.Query | Unsupported:
    """The query if it is one block over the input, or why it is not evaluated in batches."""
    if not isinstance(q, sase.Query) or q.source not in (None, sase.INPUT_STREAM):
        return Unsupported("in batches one query block is evaluated, over the input; collect the stream for others")
    if q.returned.non_overlap:
        return Unsupported("NON-OVERLAP compares matches with later ones; collect the stream")
    return q


class BlockEvaluator(Evaluator):
    """The matches of one query block over its input stream, with bindings and results.

    Raises Unsupported for a query that is no such block, see `block_of`.
    """

    STATE = "query block"

    def __init__(
        self,
        q: sase.Tree,
        reading: Reading = DECIDED,
        budget: Budget = Budget(),
        operations: Operations = NO_OPERATIONS,
    ) -> None:
        block = block_of(q)
        if isinstance(block, Unsupported):
            raise block
        self.q, self.reading, self.budget, self.operations = block, reading, budget, operations
        self._events = StoredEvents()
        self._most = SPARE
        self.begin(0)

    def read(self, S: Stream, limit: int | None = None) -> list[Match]:
        """As `push`, of a Stream. Raises BudgetExceeded also for more than budget.matches."""
        return self._matches(self._advanced(S, lambda: self._runner.bound(S)), limit)

    def rest(self) -> list[Match]:
        """The matches that the end of the stream completes."""
        return self._matches(self._runner.bound_at_end())

    def tally(self, S: Stream) -> int:
        """As `count`; without HAVING and negated components the matches are not listed."""
        if self.q.having is not None or any(k.negated for k in self.q.pattern):
            return len(self.read(S))
        return self._advanced(S, lambda: self._runner.count(S))

    @property
    def identity(self) -> str:
        return json.dumps([type(self).__name__, show(self.q), repr(self.reading), sorted(self.operations)])

    def dump(self) -> bytes:
        """The events still needed, as an Arrow stream."""
        self._delete_unneeded()
        head = {"start": str(self._events.start), **self.columns()}
        table, sink = self._events.table().replace_schema_metadata(head), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    def load(self, data: bytes) -> None:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
        head = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        if (start := int(head["start"])) < 0:
            raise ValueError("the position is negative")
        E = self.fresh()
        E.begin(start)
        E._events, E.position = StoredEvents(start), start
        S = Stream.from_table(E.with_columns(table, head))
        if len(S):
            E._advanced(S, lambda: E._runner.count(S))  # its matches have been returned before
        self.__dict__.update(E.__dict__)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.q, self.reading, self.budget, dict(self.operations))

    # --- what the two define ------------------------------------------------------------------------------------------

    @abstractmethod
    def runner(self) -> BlockRunner | CompiledBlockRunner:
        """What evaluates the block."""

    def begin(self, start: int) -> None:
        """Begin with the event at that position."""
        self._runner = self.runner()
        self._runner.begin(start)

    def columns(self) -> dict[str, str]:
        """What has to be saved of the columns."""
        return {}

    def with_columns(self, table: pa.Table, head: dict[str, str]) -> pa.Table:
        """The saved events with the columns that `columns` described."""
        return table

    @property
    def counters(self) -> Counters:
        """nodes: those of the shared buffer, or in compiled loops of each run. states: those of the automaton."""
        return Counters(self.position - self._first, self._runner.made, len(self._runner.plan.states))

    # --- for both -----------------------------------------------------------------------------------------------------

    def _advanced(self, S: Stream, advance: Callable[[], T]) -> T:
        """What `advance` returns, which reads the batch, once its events are stored."""
        self._require_whole()
        if self.position - self._events.start > self._most:
            self._delete_unneeded()
        self._whole = False
        self._events.add(S)
        found = advance()
        self.position += len(S)
        self._whole = True
        return found

    def _matches(self, found: Iterable[Bindings], limit: int | None = None) -> list[Match]:
        having = self.q.having
        matches = []
        for M in timed_items(found, 1):
            if having is None or satisfied(having, values_in(M, self._events, self.operations)):
                events = positions_of(M)
                result = result_of(attributes_of(self.q, M, self._events, self.operations))
                matches.append(Match(events[-1], events, tuple(sorted(M)), result))
        if limit is None:
            require_matches(len(matches), self.budget)
        return sorted(matches)[:limit]

    def _delete_unneeded(self) -> None:
        """Delete the events that no match to come has, but the last one, whose time later ones are compared with."""
        self._events.delete_before(min(self._runner.oldest(), max(self.position - 1, 0)))
        self._most = 2 * (self.position - self._events.start) + SPARE


class ReadableEvaluator(BlockEvaluator):
    """The matches of one query block in readable Python. With WITHIN the times of the stream have to ascend."""

    def runner(self) -> BlockRunner:
        return BlockRunner(self.q, self.reading, self.budget, self.operations)


class CompiledEvaluator(BlockEvaluator):
    """The matches of one query block by compiled loops. Raises Unsupported, also at the first batch."""

    _runner: CompiledBlockRunner

    def runner(self) -> CompiledBlockRunner:
        from cerify.automata.nfab.compiled import CompiledBlockRunner

        return CompiledBlockRunner(self.q, self.reading, self.budget)

    def columns(self) -> dict[str, str]:
        return {"kinds": json.dumps(self._runner.kinds)}

    def with_columns(self, table: pa.Table, head: dict[str, str]) -> pa.Table:
        from cerify.semantics.arrow_types import ARROW

        for name, kind in json.loads(head["kinds"]).items():
            if name not in table.column_names:
                table = table.append_column(name, pa.nulls(table.num_rows, ARROW[kind]))
        return table
