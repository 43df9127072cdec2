"""The state that a query has between batches: what is saved of its runs, and the choice among these."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from math import ceil, inf, nextafter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.cea.model import CEA
from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.evaluate.partitions import batch_scope
from cerify.automata.evaluate.reach import LookbackBounds
from cerify.automata.evaluate.scope import Width, reports_at_last_event
from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.automata.saved_state import seal, unseal
from cerify.semantics.arrow_types import ARROW
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError, Unsupported, errors_in
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Anything
from cerify.spark.runs.query import Query
from cerify.spark.runs.reach import reach_of_query
from cerify.spark.runs.run import Classes, Run, shift_positions
from cerify.spark.runs.start import CelRun, ExpressionRun, automaton_of, start

QUERIES = 16  # compiled queries cached in a process
EXPRESSION = "event expression on Spark"
WINDOW, POSITION = "window on Spark", b"cerify position"


class Resumable(Run):
    """A run that can be saved."""

    @property
    @abstractmethod
    def position(self) -> int:
        """The position of the next event."""

    @abstractmethod
    def save(self) -> bytes:
        """The state of the run, for `restore`; no more than later matches need."""

    @abstractmethod
    def reachable(self) -> NDArray[np.int64]:
        """After `save`: a superset of the positions that later matches may have, ascending."""


class Compiled(ABC):
    """A compiled query, which its runs share."""

    @abstractmethod
    def start(self) -> Resumable:
        """A run at the beginning of a stream."""

    @abstractmethod
    def restore(self, saved: bytes) -> Resumable:
        """The run that was saved. Raises InputError for the state of another query, or for no state."""

    @property
    @abstractmethod
    def state(self) -> str:
        """What a saved run contains, in words."""

    @property
    @abstractmethod
    def widths(self) -> Mapping[str, Width]:
        """The widths of the windows on values, by attribute."""

    @property
    @abstractmethod
    def is_memoryless(self) -> bool:
        """Whether a run finds the same as a new run once such a window has passed all of its events."""


class ResumableCel(CelRun, Resumable):
    """A run whose saved state has no events that its windows have passed."""

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self._evaluator.position

    def save(self) -> bytes:
        """The arrays of the evaluator, in the format of its `save`."""
        E = self._evaluator
        used = E.store.compact(self.reaches)
        if E.scope.attributes:
            E.keys.keep(used)
        return E.save()

    def reachable(self) -> NDArray[np.int64]:
        """The positions of the events in the nodes of the match store."""
        return np.unique(self._evaluator.store.positions)


class CompiledCel(Compiled):
    """A formula with its automaton, given an evaluator that has read nothing."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator = evaluator

    def start(self) -> ResumableCel:
        """A run with a new evaluator of the automaton."""
        return ResumableCel(self._evaluator.fresh())

    def restore(self, saved: bytes) -> ResumableCel:
        """The run that was saved. Raises InputError for the state of another formula, or for no state."""
        E = self._evaluator.fresh()
        E.restore(saved)
        return ResumableCel(E)

    @property
    def state(self) -> str:
        """The partial matches, and what bounds them."""
        scope = self._evaluator.scope
        bounded = scope.events is not None or scope.widths
        return f"partial matches{' within the window' if bounded else ', which no window bounds'}"

    @property
    def widths(self) -> Mapping[str, Width]:
        """The windows around the formula."""
        return dict(self._evaluator.scope.widths)

    @property
    def is_memoryless(self) -> bool:
        """Whether is_memoryless holds for the automaton."""
        return is_memoryless(self._evaluator.automaton.A)


def is_memoryless(A: CEA) -> bool:
    """Whether a match depends on no events before its first, and is reported at its last event.

    This holds if a run that has marked nothing stays in an initial state, whatever it reads. After an interval without
    events that is longer than a window on values the state of the automaton is then that of a new one.
    """
    stays = {t.source for t in A.transitions if not t.marks and t.predicate == Anything() and t.source == t.target}
    moves = {t.source for t in A.transitions if not t.marks and t.source != t.target}
    return A.initial <= stays - moves and reports_at_last_event(A)


class ResumableExpression(ExpressionRun, Resumable):
    """One state of one automaton."""

    def __init__(self, evaluator: CompiledRunner, automaton: str, state: int = 0, position: int = 0) -> None:
        super().__init__(evaluator)
        self._automaton, self._states, self._position = automaton, [state], position

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self._position

    def save(self) -> bytes:
        """The state as JSON."""
        (state,) = self._states
        return seal(EXPRESSION, self._automaton, json.dumps({"state": state, "position": self._position}).encode())

    def reachable(self) -> NDArray[np.int64]:
        """No positions: a match is the event at which the expression takes place."""
        return np.empty(0, np.int64)


class CompiledExpression(Compiled):
    """An expression with its automaton."""

    def __init__(self, A: DFA) -> None:
        self._evaluator, self._states = CompiledRunner([A]), len(A.following)
        self._automaton = A.fingerprint

    def start(self) -> ResumableExpression:
        """A run in the first state."""
        return ResumableExpression(self._evaluator, self._automaton)

    def restore(self, saved: bytes) -> ResumableExpression:
        """The run that was saved. Raises InputError for the state of another expression, or for no state."""
        fields = json.loads(unseal(saved, EXPRESSION, self._automaton))
        state, position = int(fields["state"]), int(fields["position"])
        if not 0 <= state < self._states:
            raise InputError("the saved state is damaged: the automaton has no such state; start again")
        return ResumableExpression(self._evaluator, self._automaton, state, position)

    @property
    def state(self) -> str:
        """The state of the automaton."""
        return "the number of a state of an automaton"

    @property
    def widths(self) -> Mapping[str, Width]:
        """No windows."""
        return {}

    @property
    def is_memoryless(self) -> bool:
        """False: an expression depends on all events before."""
        return False


class ResumableWindow(Resumable):
    """A run whose state is the rows that a later match may have; the first row has the position `first`."""

    def __init__(
        self, query: Query, budget: Budget, reach: LookbackBounds, rows: pa.Table | None = None, first: int = 0
    ) -> None:
        self._query, self._budget, self._reach = query, budget, reach
        self._rows, self._first = rows, first

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self._first + (0 if self._rows is None else self._rows.num_rows)

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches reported at these events, by evaluating them with the rows of the window before."""
        before = 0 if self._rows is None else self._rows.num_rows
        rows = table if self._rows is None else pa.concat_tables([self._rows, table])
        run = start(self._query, self._budget)
        found = pa.concat_tables([run.push(rows), run.finish()])
        found = shift_positions(found.filter(pc.greater_equal(found["at"], before)), self._first)
        old = _old(rows, self._reach)
        self._rows, self._first = rows.slice(old), self._first + old
        return found

    def save(self) -> bytes:
        """The rows as an Arrow IPC stream, with the position of the first row as metadata."""
        rows = pa.table({}) if self._rows is None else self._rows
        rows = rows.replace_schema_metadata({POSITION: str(self._first).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        return seal(WINDOW, self._query.identity, bytes(sink.getvalue()))

    def reachable(self) -> NDArray[np.int64]:
        """The positions of the rows."""
        return np.arange(self._first, self.position)


class CompiledWindow(Compiled):
    """A query with its reach, whose widths are all on the attribute that orders the rows.

    So every query with a bounded window streams, also where the state of its evaluator cannot be saved: the rows of the
    window are evaluated again.
    """

    def __init__(self, query: Query, budget: Budget, reach: LookbackBounds) -> None:
        self._query, self._budget, self._reach = query, budget, reach
        start(query, budget)

    def start(self) -> ResumableWindow:
        """A run without rows."""
        return ResumableWindow(self._query, self._budget, self._reach)

    def restore(self, saved: bytes) -> ResumableWindow:
        """The run that was saved. Raises InputError for the state of another query, or for no state."""
        rows = pa.ipc.open_stream(self._unsealed(saved)).read_all()
        first = int(rows.schema.metadata[POSITION])
        saved_rows = rows if rows.num_columns else None
        return ResumableWindow(self._query, self._budget, self._reach, saved_rows, first)

    def _unsealed(self, saved: bytes) -> bytes:
        """The saved rows, also those of release 0.1, which were sealed with the query's text."""
        before = self._query.to_json()
        if saved == seal(WINDOW, before, bytes(saved).partition(b"\n")[2]):
            return unseal(saved, WINDOW, before)
        return unseal(saved, WINDOW, self._query.identity)

    @property
    def state(self) -> str:
        """The rows of the window."""
        return f"the rows of the last {self._reach}, which are evaluated again with the next ones"

    @property
    def widths(self) -> Mapping[str, Width]:
        """The widths of the reach."""
        return dict(self._reach.widths)

    @property
    def is_memoryless(self) -> bool:
        """True unless the reach has a number of events."""
        return self._reach.events == 1


def _old(rows: pa.Table, reach: LookbackBounds) -> int:
    """The number of leading rows that no later match can have, since all windows have passed them."""
    kept = min(rows.num_rows, reach.events - 1)
    for name, width in reach.widths:
        kept = max(kept, rows.num_rows - _before(rows[name], width))
    return int(rows.num_rows - kept)


def _before(values: pa.ChunkedArray, width: Width) -> int:
    """The number of ascending values that are less than the last one minus the width."""
    if pa.types.is_timestamp(values.type):
        values, width = values.cast(ARROW["timestamp"]).cast(pa.int64()), width * MICROSECONDS
    last = pc.max(values).as_py()
    if last is None:
        return 0
    low = last - ceil(width) if isinstance(last, int) else nextafter(last - width, -inf)
    return int(pc.sum(pc.less(values, low)).as_py() or 0)


@lru_cache(QUERIES)
def compiled(text: str, clock: str = TIME, budget: Budget = Budget()) -> Compiled:
    """The compiled query of this JSON, cached; its rows are ordered by the attribute clock.

    Raises ParseError, IllFormed, Unsupported, BudgetExceeded.
    """
    return compiled_query(Query.from_json(text), clock, budget)


def compiled_query(query: Query, clock: str = TIME, budget: Budget = Budget()) -> Compiled:
    """The compiled query, as of `compiled`."""
    with errors_in(query.text):
        if (A := automaton_of(query, budget)) is not None:
            return CompiledExpression(A)
        phi = query.in_cel(budget)
        scope = phi if isinstance(phi, Unsupported) else batch_scope(phi)
        if not isinstance(phi, Unsupported) and not isinstance(scope, Unsupported):
            return CompiledCel(CompiledCelEvaluator(phi, query.output, budget=budget, scope=scope))
        assert isinstance(scope, Unsupported)
        reach = reach_of_query(query, budget)
        if reach is None or not {a for a, _ in reach.widths} <= {clock}:
            raise _refused(query, scope)
        return CompiledWindow(query, budget, reach)


def _refused(query: Query, error: Unsupported) -> Unsupported:
    if query.plugin.unsaved:
        return Unsupported(query.plugin.unsaved)
    return Unsupported(
        f"{error.message}; or put WITHIN around it, some events or on the time, which bounds the state", error.span
    )
