"""Evaluate a query over Parquet files part by part, in memory that does not grow with the files.

An evaluator that reads batches keeps what later matches may need, so a part can be forgotten once it was read. Some
queries and files need all events together: a column of texts may be a column of times, a query may not fit its events,
and times may go back. Then NotInParts is raised, perhaps after some parts, and the caller reads the files as a whole,
with the same matches in the same order.

The attributes of a match may be those of events in earlier parts. So the rows that later matches may contain are kept,
which are few if the query has a window around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from cerify.automata.evaluate.scope import ReachBounds, Unordered
from cerify.automata.evaluator import Evaluator
from cerify.languages.language import Language, Options
from cerify.plan import Want, attributes_in, misfits, plan, reach_of, rows_out_of_reach, with_workers
from cerify.semantics.arguments import check_time, too_many_matches
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import TIME, TYPE, ObservedSchema, Stream, add_observed
from cerify.semantics.files import NotInParts, read_in_parts, replaced_file
from cerify.semantics.match_frames import (
    Matches,
    OutputFormat,
    PlacedMatches,
    PositionArrays,
    TableLayout,
    table_writer,
)
from cerify.semantics.packages import pa, pc
from cerify.semantics.values import ValueType

LISTED_ROWS, LISTED_MATCHES = 2**18, 2**23
"""The number of events in each part whose matches are listed, and the most matches that they may have."""


@dataclass(frozen=True)
class FileQuery:
    """A query over Parquet files. Raises NotInParts if the files must be read as a whole.

    report: a function that is called with "events", the number of events read so far, and the number of all events.
    """

    language: Language[Any]
    query: Any
    paths: str | Path | Sequence[str | Path]
    options: Options
    report: Callable[[str, int, int], None] | None = None

    @cached_property
    def reach(self) -> ReachBounds | None:
        """Return how far back from its last event a match may reach, in events or time; None if no limit is known."""
        return reach_of(self.query) if isinstance(self.query, Formula) else None

    def count(self, evaluator: str | None = None, workers: int = 1) -> int:
        """Return the number of matches."""
        number, want = 0, Want(self.options, evaluator, counting=True)
        try:
            for running, S in self._parts(want, workers):
                number += running.count(S)
            return number + len(running.finish())
        except (Unordered, BudgetExceeded):
            check_time()
            raise NotInParts from None

    def matches(self) -> Iterator[Matches]:
        """Yield all matches, part by part, in the order of `match`."""
        for found, _ in self._list_matches():
            yield found

    def all_matches(self) -> Matches:
        """Return all matches. Raises BudgetExceeded if there are more than the budget allows."""
        arrays, number = list[PositionArrays](), 0
        for found in self.matches():
            if found.arrays is None:
                raise NotInParts
            arrays.append(found.arrays)
            if (number := number + len(found)) > self.options.budget.matches:
                raise too_many_matches(self.options.budget.matches)
        return Matches(PositionArrays.joined(arrays))

    def write(
        self, path: Path, format: OutputFormat, attributes: Sequence[str] | None = None, limit: int | None = None
    ) -> int:
        """Write the matches to a file, with the attributes of their events as columns; return their number.

        Whether a column exists, and whether it has lists, depends on all matches. The file is written with the columns
        that its first part needs, and a second time if later parts need others.
        """
        if path.exists() and not path.is_file():
            raise NotInParts
        wanted: TableLayout | None = None
        with replaced_file(path) as file:
            while True:
                file.seek(0)
                file.truncate()
                used, layout, number = self._write(file, format, attributes, limit, wanted)
                if used.columns == layout.columns:
                    return number
                wanted = layout

    def _write(
        self,
        file: BinaryIO,
        format: OutputFormat,
        attributes: Sequence[str] | None,
        limit: int | None,
        wanted: TableLayout | None,
    ) -> tuple[TableLayout, TableLayout, int]:
        """Write the matches with a layout; without one, with that of the first part with matches, as far as it fits.

        Return the layout that was used, the layout of all matches, and their number.
        """
        layout, used, number = TableLayout(attributes), wanted, 0
        with table_writer(file, format) as write:
            for matches in self._placed(attributes, limit):
                layout.add(matches)
                used = layout.copy() if used is None and len(matches.arrays) else used
                if used is not None and (used is wanted or used.columns == layout.columns):
                    write(used.columns_of(matches))
                number += len(matches.arrays)
            if used is None:
                write({"at": pa.array([], pa.int64()), "events": pa.array([], pa.list_(pa.int64()))})
        if not {*(attributes or ())} <= {TYPE, *layout.firsts}:
            raise NotInParts  # for the message about an attribute that no event has
        return used or layout, layout, number

    def _placed(self, attributes: Sequence[str] | None, limit: int | None) -> Iterator[PlacedMatches]:
        """Yield the matches of each part, at most `limit` together, with a stream that has their events."""
        if self.reach is None:
            raise NotInParts
        kept, first = None, 0
        for found, S in self._list_matches(attributes):
            if (arrays := found.arrays) is None or (len(found) and arrays.events.min() < first):
                raise NotInParts
            # Types as codes: kept rows are joined with each new part, and their codes are then not computed from texts
            # again.
            rows = S.table.set_column(S.table.column_names.index(TYPE), TYPE, S.coded_types)
            rows = rows if kept is None else pa.concat_tables([kept, rows])
            arrays = arrays if limit is None else arrays.part(0, limit)
            yield PlacedMatches(arrays.shifted(-first), Stream.from_table(rows, valid=True), first)
            if limit is not None and (limit := limit - len(arrays)) <= 0:
                return
            old = rows_out_of_reach(rows, self.reach)
            kept, first = rows.slice(old), first + old

    def _list_matches(self, attributes: Sequence[str] | None = ()) -> Iterator[tuple[Matches, Stream]]:
        """Yield the matches of each part, and the part. attributes: further attributes to read; None: all."""
        if self.language.evaluators.waits(self.query):  # matches wait for later events, so they come in another order
            raise NotInParts
        budget = replace(self.options.budget, matches=max(LISTED_MATCHES, self.options.budget.matches))
        try:
            for running, S in self._parts(Want(replace(self.options, budget=budget), counting=True), 1, attributes):
                for start in range(0, len(S), LISTED_ROWS):
                    part = S.part(start, LISTED_ROWS)
                    yield Matches(running.push_stream(part)), part
        except (Unordered, BudgetExceeded):
            check_time()
            raise NotInParts from None

    def _parts(
        self, want: Want, workers: int, attributes: Sequence[str] | None = ()
    ) -> Iterator[tuple[Evaluator, Stream]]:
        """Yield the parts of the files, each with the evaluator that has to read it."""
        language, query = self.language, self.query
        needed = attributes_in(language, query)
        if needed is None or language.syntax.reads_documents or language.row_type is not None:
            raise NotInParts
        number, parts = read_in_parts(self.paths, None if attributes is None else needed | {*attributes})
        # The warning may show an example on the stream, for which all events are needed.
        if any(language.syntax.surprises(query, None)):
            raise NotInParts
        made = plan(language, query, None, replace(want, events=number))
        if made.batches is None:
            raise NotInParts
        running = with_workers(made.batches, workers)
        running.needed = needed
        seen: dict[str, dict[str, ValueType]] = {}
        latest, done = None, 0
        for S in parts:
            check_time()
            add_observed(seen, S, needed)
            if any(language.syntax.stream_problems(query, S)):
                raise NotInParts
            if TIME in needed and len(times := S.table[TIME].drop_null()):
                if (latest is not None and times[0].as_py() < latest) or pc.any(pc.less(times[1:], times[:-1])).as_py():
                    raise NotInParts
                latest = times[-1].as_py()
            yield running, S
            done += len(S)
            if self.report is not None:
                self.report("events", done, number)
        # At the end: which attributes and types the events have is known only when all parts are read.
        if any(misfits(language, query, ObservedSchema(seen))):
            raise NotInParts
