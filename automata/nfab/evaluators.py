"""Query blocks of SASE+ behind the interface of all evaluators, readable and compiled.

The saved state is the events from the beginning of the oldest run on. Reading them again leads to the same runs. So its
size is bounded by the window or, without a window, by the age of the oldest run.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, assert_never

from cerify.automata.evaluator import Batch, Counters, Evaluator
from cerify.automata.nfab.compile import OF_PLACE, blocks_of
from cerify.automata.nfab.evaluate import BlockRunner, StoredEvents, require_matches
from cerify.automata.nfab.moves import fold_of, instantiated, values_in
from cerify.semantics.arguments import Budget, timed_items
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME, Bindings, Event, Match, Stream, result_of
from cerify.semantics.packages import pa
from cerify.semantics.predicates import Predicate, Term, evaluate, mentions, satisfied
from cerify.semantics.readings import DECIDED, NO_OPERATIONS, Operations, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import names_of, show, type_of
from cerify.semantics.values import Value, kind

if TYPE_CHECKING:
    from cerify.automata.nfab.compiled import CompiledBlockRunner


# ---------------------------------------------------------------------------------------------------------------------
# The answers of a query by its automata: HAVING, NON-OVERLAP, RETURN, UNION and composition (sase07, section 2.2).
#
# They are written from the papers a second time. With the reference evaluator, semantics/sase/interpreter.py, they
# share only the names of the attributes that RETURN makes (semantics/sase/syntax.py). The caller has checked that the
# query is well-formed.

Finder: TypeAlias = Callable[[sase.SaseQuery, Stream, Reading, Budget, Operations], Iterable[Bindings]]
"""A function that returns the bindings of PATTERN, WHERE and WITHIN of one block, such as evaluate.bindings."""

Composed: TypeAlias = dict[str, Value | None]


def matches_of(
    q: sase.Tree,
    S: Stream,
    find: Finder,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> list[Match]:
    """Return all matches of a query, sorted, with their results; for a program, the matches of its last query.

    Raises Unsupported for an aggregate that is not registered, IllFormed, BudgetExceeded.
    """
    return _Composition(q, S, find, reading, budget, operations).matches()


class _Composition:
    """The queries of a program over an input stream. A named stream is made when a query first reads it."""

    def __init__(
        self, q: sase.Tree, S: Stream, find: Finder, reading: Reading, budget: Budget, operations: Operations
    ) -> None:
        self.queries = q.queries if isinstance(q, sase.Program) else (q,)
        self.find, self.reading, self.budget, self.operations = find, reading, budget, operations
        self.streams: dict[str, Stream] = {sase.INPUT_STREAM: S}
        self.blocks = {query: blocks_of(query) for query in self.queries}
        for part in (part for blocks in self.blocks.values() for part in blocks):
            for a in _aggregates(part):
                fold_of(a, operations)  # raises Unsupported before any event is read

    def matches(self) -> list[Match]:
        """Return the matches of the last query."""
        return sorted({m for m, _ in self._find_answers(self.queries[-1])})

    def _find_answers(self, query: sase.SaseQuery | sase.SaseUnion) -> set[tuple[Match, str]]:
        """Return the matches of all blocks, each with the type of its result event."""
        return {
            (m, type_of(part.returned))
            for part in self.blocks[query]
            for m in self._of_block(part, self._stream(part.source or sase.INPUT_STREAM))
        }

    def _stream(self, name: str) -> Stream:
        """Return the stream of that name: the input, or the result events of the query whose result has that name."""
        if name not in self.streams:
            (query,) = (q for q in self.queries if any(part.returned.stream == name for part in blocks_of(q)))
            read = self._stream(blocks_of(query)[0].source or sase.INPUT_STREAM)
            answers = sorted(self._find_answers(query))
            self.streams[name] = Stream(_result_event(m, type_, read[m.at]) for m, type_ in answers)
        return self.streams[name]

    def _of_block(self, q: sase.SaseQuery, S: Stream) -> Iterator[Match]:
        found: Iterable[Bindings] = self.find(q, S, self.reading, self.budget, self.operations)
        having = q.having
        if having is not None:
            found = [M for M in timed_items(found, 1) if satisfied(having, values_in(M, S, self.operations))]
        if q.returned.non_overlap:
            found = non_overlapping(q, found, S, self.reading)
        for M in timed_items(found, 1):
            events = positions_of(M)
            yield Match(events[-1], events, tuple(sorted(M)), result_of(attributes_of(q, M, S, self.operations)))


def positions_of(M: Bindings) -> tuple[int, ...]:
    """Return the positions of all events of a match, ascending."""
    return tuple(sorted(p for _, positions in M for p in positions))


# --- RETURN -----------------------------------------------------------------------------------------------------------


def attributes_of(
    q: sase.SaseQuery, M: Bindings, S: Sequence[Event], operations: Operations = NO_OPERATIONS
) -> dict[str, object]:
    """Return the attributes of the result event of a match, in the order of RETURN."""
    names = names_of(q.returned)
    return {name: _value(item.output, M, S, operations) for name, item in zip(names, q.returned.items, strict=True)}


def _value(output: sase.Output, M: Bindings, S: Sequence[Event], operations: Operations) -> object:
    """Return the value of an output: simple or composite, atomic or a sequence (sase07, section 2.1)."""
    events = dict(M)
    match output:
        case sase.Simple(term):
            return evaluate(term, values_in(M, S, operations))
        case sase.SaseSeries(variable, name):
            return [S[p].get(name) for p in events[variable]]
        case sase.Composite(variable, place, names):
            p = instantiated(OF_PLACE[place], events[variable])
            return None if p is None else _composed(S[p], names)
        case sase.CompositeSeries(variable, names):
            return [_composed(S[p], names) for p in events[variable]]
        case _:
            assert_never(output)


def _composed(event: Event, names: tuple[str, ...]) -> Composed:
    return {name: event.get(name) for name in names}


def _result_event(m: Match, type_: str, last: Event) -> Event:
    """Return the result event of a match for a named stream.

    Unless RETURN sets its time, it has the time of the last event of the match.
    """
    made = {} if m.result is None else dict(m.result.attributes)
    attributes = {TIME: last.get(TIME), **{name: value for name, value in made.items() if value is not None}}
    return Event(type_, {name: value for name, value in attributes.items() if value is not None})


def _aggregates(q: sase.SaseQuery) -> Iterator[sase.SaseAggregate]:
    """Yield the aggregates of WHERE, HAVING and RETURN."""
    parts: list[Predicate | Term] = [] if q.having is None else [q.having]
    for block in q.where:
        parts += [c.condition for c in block.conjuncts if not isinstance(c.condition, sase.Equivalence)]
    parts += [item.output.term for item in q.returned.items if isinstance(item.output, sase.Simple)]
    for part in parts:
        yield from (a for a in mentions(part) if isinstance(a, sase.SaseAggregate))


# --- NON-OVERLAP ------------------------------------------------------------------------------------------------------


def non_overlapping(
    q: sase.SaseQuery, found: Iterable[Bindings], S: Sequence[Event], reading: Reading
) -> list[Bindings]:
    """Return the matches that NON-OVERLAP keeps (icde08, section II.C).

    From each partition it takes the best match, then the best match that overlaps no match taken before, and so on.
    reading: answers to questions that the papers leave open; it determines which match is the best.
    """
    partitions: dict[object, list[Bindings]] = {}
    for M in found:
        partitions.setdefault(_partition(q, S[positions_of(M)[0]]), []).append(M)
    chosen = []
    for left in partitions.values():
        while left:
            best = min(timed_items(left), key=lambda M: (_rank(positions_of(M), reading), M))
            chosen.append(best)
            left = [M for M in timed_items(left) if not _overlap(positions_of(M), positions_of(best))]
    return chosen


def _overlap(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    return left[0] <= right[-1] and right[0] <= left[-1]


def _rank(positions: tuple[int, ...], reading: Reading) -> tuple[int, ...]:
    """Return a sort key by which better matches come first."""
    first, last = positions[0], positions[-1]
    match reading.non_overlap:
        case "earliest_end":
            return last, first
        case "earliest_start":
            return first, last
        case "longest":
            return -len(positions), last, first
        case _:
            assert_never(reading.non_overlap)


def _partition(q: sase.SaseQuery, event: Event) -> object:
    """Return the values of an event that the equivalence tests compare, with their kinds."""
    key = []
    for block in q.where:
        for conjunct in block.conjuncts:
            if isinstance(conjunct.condition, sase.Equivalence):
                value = event.get(conjunct.condition.attribute)
                key.append(None if value is None else (kind(value), value))
    return tuple(key)


T = TypeVar("T")
SPARE = 4_096  # events that may be stored without being needed


def block_of(q: sase.Tree) -> sase.SaseQuery | Unsupported:
    """Return the query if it is one block over the input; otherwise the reason why it cannot run in batches."""
    if not isinstance(q, sase.SaseQuery) or q.source not in (None, sase.INPUT_STREAM):
        return Unsupported(
            "batch evaluation supports only a single query block that reads the input; for other queries collect the "
            "stream and use cerify.match"
        )
    if q.returned.non_overlap:
        return Unsupported(
            "batch evaluation does not support NON-OVERLAP, which compares matches with later matches; collect the "
            "stream and use cerify.match"
        )
    return q


class BlockEvaluator(Evaluator):
    """Finds the matches of one query block over its input stream, with bindings and results.

    Raises Unsupported for any other query; see `block_of`.
    """

    state_word: ClassVar[str]
    """The word for the evaluator in saved states."""

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

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        """Read the next events like `push`, given a Stream. Raises BudgetExceeded for more than
        budget.matches matches.
        """
        return self._matches(self._advanced(S, lambda: self._runner.bound(S)), limit)

    def flush(self) -> list[Match]:
        """Return the matches that the end of the stream completes."""
        return self._matches(self._runner.bound_at_end())

    def tally(self, S: Stream) -> int:
        """Return the number of matches like `count`. Matches are listed only for HAVING and negated components."""
        if self.q.having is not None or any(k.negated for k in self.q.pattern):
            return len(self.push_stream(S))
        return self._advanced(S, lambda: self._runner.count(S))

    @property
    def identity(self) -> str:
        return json.dumps([self.state_word, show(self.q), repr(self.reading), sorted(self.operations)])

    def dump(self) -> bytes:
        """Return the events that are still needed as an Arrow stream."""
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

    # --- what the subclasses define -----------------------------------------------------------------------------------

    @abstractmethod
    def runner(self) -> BlockRunner | CompiledBlockRunner:
        """Return the runner that evaluates the block."""

    def begin(self, start: int) -> None:
        """Begin with the event at that position."""
        self._runner = self.runner()
        self._runner.begin(start)

    def columns(self) -> dict[str, str]:
        """Return the names and kinds of columns that the header of a saved state must have."""
        return {}

    def with_columns(self, table: pa.Table, head: dict[str, str]) -> pa.Table:
        """Return the table of saved events with additional columns: those that only the header of the saved state
        names.
        """
        return table

    @property
    def counters(self) -> Counters:
        """Return the counters. nodes: the number of nodes of the shared buffer; in the compiled evaluator each run has
        its own nodes.
        """
        return Counters(self.position - self._first, self._runner.node_count, len(self._runner.plan.states))

    # --- for both -----------------------------------------------------------------------------------------------------

    def _advanced(self, S: Stream, advance: Callable[[], T]) -> T:
        """Store the events of a batch and return the result of `advance`, which reads the batch."""
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
        """Delete the events that no future match contains. The last event stays: later times are compared with it."""
        self._events.delete_before(min(self._runner.oldest(), max(self.position - 1, 0)))
        # Twice what is left, because finding the oldest run visits all runs.
        self._most = 2 * (self.position - self._events.start) + SPARE


class ReadableSaseEvaluator(BlockEvaluator):
    """Finds the matches of one query block in readable Python. With WITHIN the times of the stream have to ascend."""

    state_word = "ReadableEvaluator"

    def runner(self) -> BlockRunner:
        return BlockRunner(self.q, self.reading, self.budget, self.operations)


class CompiledSaseEvaluator(BlockEvaluator):
    """Finds the matches of one query block with compiled code.

    Raises Unsupported for a query that it does not support, or later for a batch with values that it does not support.
    """

    state_word = "CompiledEvaluator"

    _runner: CompiledBlockRunner

    def runner(self) -> CompiledBlockRunner:
        from cerify.automata.nfab.compiled import CompiledBlockRunner

        return CompiledBlockRunner(self.q, self.reading, self.budget)

    def count_all(self, S: Stream) -> int:
        """Return the number of matches of a whole stream.

        If the compiled evaluator cannot read the events, the readable one counts.
        """
        from cerify.automata.nfab.compiled import bindings

        if self.q.having is None:
            number = self.runner().tried_count_all(S)
            if not isinstance(number, Unsupported):
                return number
            if not any(k.negated for k in self.q.pattern):
                return ReadableSaseEvaluator(*self.remade()[1]).count_all(S)
        return len(matches_of(self.q, S, bindings, self.reading, self.budget, self.operations))

    def tally(self, S: Stream) -> int:
        """Read the next events; return the number of matches. Matches are built only for a query with HAVING."""
        if self.q.having is not None:
            return len(self.push_stream(S))
        return self._advanced(S, lambda: self._runner.count(S))

    def push_arrow(self, batch: Batch, limit: int | None = None) -> pa.Table:
        """Read the next events like `push`, but return a table with the columns `at` and `events`.

        Match objects are built only for HAVING or with a limit.
        """
        if self.q.having is not None or limit is not None:
            return super().push_arrow(batch, limit)
        from cerify.automata.evaluate.tables import sorted_arrays

        with self.budget.timed():
            S = self._opened(batch)
            found = sorted_arrays(self._advanced(S, lambda: list(self._runner.match_batches(S))))
            require_matches(len(found), self.budget)
            return found.table().select(["at", "events"])

    def columns(self) -> dict[str, str]:
        return {"kinds": json.dumps(self._runner.kinds)}

    def with_columns(self, table: pa.Table, head: dict[str, str]) -> pa.Table:
        from cerify.semantics.arrow_columns import ARROW

        for name, type_name in json.loads(head["kinds"]).items():
            if name not in table.column_names:
                table = table.append_column(name, pa.nulls(table.num_rows, ARROW[type_name]))
        return table
