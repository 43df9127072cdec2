"""An evaluator of batches for every language: it evaluates the definition again over all events so far."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, Generic, TypeVar

from cerify.automata.evaluator import Consumption, Counters, Evaluator
from cerify.languages.language import DENOTATIONAL, Language, Options
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.packages import pa

F = TypeVar("F")


class DefinitionEvaluator(Evaluator, Generic[F]):
    """The matches of a query by its language's definition; each batch costs as much as the whole stream up to its end.

    waits: whether a match may depend on events after its position, so that all matches are returned by `finish`.
    schema: that of all batches. Raises what the definition raises, and IllFormed for a query that waits and consumes.
    """

    STATE = "definition"

    def __init__(
        self, language: Language[F], query: F, waits: bool, options: Options = Options(), schema: Schema | None = None
    ) -> None:
        if waits and options.consumption is not Consumption.NONE:
            raise IllFormed("a query whose matches depend on later events cannot consume events")
        self.language, self.query, self.options, self.budget = language, query, options, options.budget
        self.waits_for_end, self.default_type, self.schema = waits, language.row_type, schema
        self._begin = 0  # the position after the last match that consumed
        self._events = Stream([], schema)

    def read(self, S: Stream, limit: int | None = None) -> list[Match]:
        """As `push`, of a Stream. Raises BudgetExceeded; then nothing has changed."""
        events, first, begin = Stream([*self._events, *S], self.schema), len(self._events), self._begin
        found: list[Match] = []
        if self.options.consumption is Consumption.ANY:
            for n in range(first, len(events)):
                here = [m for m in self._matches(events, begin, n + 1) if m.at == n]
                begin = n + 1 if here else begin
                found += here
        elif not self.waits_for_end:
            found = self._matches(events, 0, len(events), first, limit)
        if limit is None and len(found) > self.options.budget.matches:
            raise BudgetExceeded(f"more than {self.options.budget.matches} matches; allow more: Budget(matches=...)")
        self._events, self._begin, self.position = events, begin, len(events)
        return sorted(found)[:limit]

    def rest(self) -> list[Match]:
        """All matches of a query that waits."""
        return sorted(self._matches(self._events, 0, len(self._events))) if self.waits_for_end else []

    @property
    def identity(self) -> str:
        name, text = self.language.name, self.language.show(self.query)
        options = [self.options.output, repr(self.options.reading), self.options.consumption.value, self.waits_for_end]
        schema = [] if self.schema is None else [{R: dict(types) for R, types in self.schema.types.items()}]
        return json.dumps([name, text, *options, *schema])

    def dump(self) -> bytes:
        """All events so far, as an Arrow stream."""
        table, sink = self._events.table.replace_schema_metadata({"begin": str(self._begin)}), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    def load(self, data: bytes) -> None:
        table = pa.ipc.open_stream(data).read_all()
        begin = int(table.schema.metadata[b"begin"])
        if not 0 <= begin <= table.num_rows:
            raise ValueError("a position is out of range")
        self._events, self._begin, self.position = Stream.from_table(table, self.schema), begin, table.num_rows

    @property
    def counters(self) -> Counters:
        """The events; there are neither nodes nor states."""
        return Counters(self.position, 0, 0)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.language, self.query, self.waits_for_end, self.options, self.schema)

    def _matches(self, S: Stream, begin: int, end: int, first: int = 0, limit: int | None = None) -> list[Match]:
        """The matches of a part of the stream, from the first position on, with positions in the stream.

        Raises BudgetExceeded unless there is a limit.
        """
        most = self.options.budget.matches
        part = self.language.matches(self.query, S.part(begin, end - begin), DENOTATIONAL, self.options)
        new = (match for match in part if match.at >= first - begin)
        found = list(islice(new, most + 1 if limit is None else limit))
        if limit is None and len(found) > most:
            raise BudgetExceeded(f"more than {most} matches; allow more: Budget(matches=...)")
        return [_moved(match, begin) for match in found] if begin else found


def _moved(match: Match, by: int) -> Match:
    """A match with positions that are greater by a number."""
    bindings = match.bindings and tuple((A, tuple(p + by for p in positions)) for A, positions in match.bindings)
    return replace(match, at=match.at + by, events=tuple(p + by for p in match.events), bindings=bindings)
