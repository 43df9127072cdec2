"""The audit of an engine's log: its verdicts, and their likely causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from pyspark.sql import DataFrame

from cerify.conformance.diagnosis import Cause, Evidence, Piece, PlainMatch, Progress, causes, thinned
from cerify.languages import DEFAULT
from cerify.semantics.arguments import require_keywords
from cerify.semantics.budget import Budget
from cerify.semantics.events import Schema
from cerify.spark.auditing.pieces import BESIDE, Divergence, beside, divergences, sampled, struct_of
from cerify.spark.auditing.verdicts import reports, verdicts
from cerify.spark.batch import match
from cerify.spark.columns import EventColumns, column, columns_of
from cerify.spark.errors import worker_errors
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns

Verdict = Mapping[str, Any]
"""A row of the verdicts, by the names of its columns."""

SAMPLES = 24  # verdicts sampled for each kind and number of events
NO_SEMANTICS = ("duplicated", "malformed")  # kinds that no semantics causes
DISPUTED = "disputed"  # the kind of the verdicts on which the plain definition and the interpreter differ
EXAMPLES = 3  # verdicts shown without a known cause, for each kind and types of events


@dataclass(frozen=True)
class Explained:
    """Divergences that a wrong semantics explains; sampled: their number; verdicts: some of them."""

    cause: Cause
    kinds: tuple[str, ...]
    sampled: int
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Unexplained:
    """Divergences that no known wrong semantics explains, of one kind and of matches of the same types of events.

    piece: the smallest part of the log that shows one, without irrelevant events; None if there is none.
    """

    kind: str
    types: tuple[str, ...]
    sampled: int
    verdicts: tuple[Verdict, ...]
    piece: Piece | None
    about: PlainMatch | None


@dataclass(frozen=True)
class Findings:
    """The number of verdicts of each kind, and the causes of a sample of them."""

    query: Query
    counts: Mapping[str, int]
    explained: tuple[Explained, ...]
    unexplained: tuple[Unexplained, ...]
    sampled: int


@dataclass(frozen=True)
class Audit:
    """What an engine reported about a log, compared with the matches of the query.

    verdicts has a row for each divergence: see cerify.spark.auditing.verdicts.
    """

    verdicts: DataFrame
    query: Query
    _events: DataFrame
    _id: str
    _reported: DataFrame
    _columns: Columns

    @worker_errors()
    def findings(self, samples: int = SAMPLES, progress: Progress = lambda what, done, total: None) -> Findings:
        """The causes of a sample of the verdicts of each kind, with shrunk cases, computed on the driver."""
        stored = self.verdicts.persist()
        try:
            counts = stored.groupBy("kind").count().orderBy("kind").collect()
            rows = sampled(stored, self._columns.keys, samples)
        finally:
            stored.unpersist()
        if not rows:
            return Findings(self.query, {}, (), (), 0)
        both = [*rows, *beside(rows, self._reported, self._columns.keys)]
        found = list(divergences(both, self._events, self._id, self._reported, self._columns, self.query))
        own, others = found[: len(rows)], found[len(rows) :]
        evidence = self._evidence([d for d in own if not d.disputed], others)
        known, _ = causes(self.query.text, self.query.language, evidence, progress)
        of_piece = {id(d.piece): d for d in own if d.piece is not None}
        explained = [(cause, [of_piece.pop(id(one.piece)) for one in cause.explains]) for cause in known]
        left = [d for d in own if d.piece is None or id(d.piece) in of_piece]
        return Findings(
            self.query,
            {row["kind"]: row["count"] for row in counts},
            tuple(_explained(cause, some) for cause, some in explained),
            tuple(_grouped(left, self.query)),
            len(rows),
        )

    def _evidence(self, found: Sequence[Divergence], others: Sequence[Divergence]) -> list[Evidence]:
        """The divergences that a semantics could explain, the smallest first, each with other pieces of its key."""
        of_key: dict[tuple[Any, ...], list[Piece]] = {}
        for other in others:
            if other.piece is not None:
                of_key.setdefault(self._key(other), []).append(other.piece)
        pieces = [(d.piece, self._key(d)) for d in found if d.piece is not None and d.kind not in NO_SEMANTICS]
        pieces.sort(key=lambda pair: len(pair[0].S))
        return [Evidence(piece, tuple(of_key.get(key, ())[:BESIDE])) for piece, key in pieces]

    def _key(self, d: Divergence) -> tuple[Any, ...]:
        return tuple(d.verdict[name] for name in self._columns.keys)


def audit(
    events: DataFrame,
    reported: DataFrame,
    query: str,
    *,
    id_col: str,
    schema: Schema | None = None,
    language: str = DEFAULT,
    budget: Budget = Budget(),
    **names: Unpack[EventColumns],
) -> Audit:
    """The audit of what an engine reported about a log of events, whose columns are named as for `match`.

    reported has the columns of the key, `at`, the id of the event at which a match was reported, and `events`, the ids
    of its events in any order. Raises ParseError, IllFormed, Unsupported and InputError.
    """
    require_keywords(audit, names, EventColumns)
    parsed = Query(query, language, "matches", schema)
    columns = columns_of(events.schema, parsed, id_col=id_col, **names)
    id_ = events.schema[id_col].dataType
    checked = reports(reported, columns.keys, id_)
    due = match(events, query, id_col=id_col, schema=schema, language=language, budget=budget, **names)
    keys = list(columns.keys)
    places = events.select(*map(column, keys), column(id_col).alias("id"), struct_of(columns).alias("place"))
    return Audit(
        verdicts(due.select(*map(column, keys), "at", "events"), checked, places, keys),
        parsed,
        events,
        id_col,
        checked,
        columns,
    )


def _explained(cause: Cause, some: Sequence[Divergence]) -> Explained:
    kinds = tuple(sorted({d.kind for d in some}))
    return Explained(cause, kinds, len(some), tuple(d.verdict for d in some[:EXAMPLES]))


def _grouped(left: Sequence[Divergence], query: Query) -> list[Unexplained]:
    groups: dict[tuple[str, tuple[str, ...]], list[Divergence]] = {}
    for d in left:
        types: tuple[str, ...] = ()
        if d.piece is not None and d.about is not None and d.kind not in NO_SEMANTICS:
            types = tuple(d.piece.S[e].type for e in d.about[1])
        groups.setdefault((DISPUTED if d.disputed else d.kind, types), []).append(d)
    found = []
    for (kind, types), some in sorted(groups.items(), key=lambda group: group[0]):
        smallest = min(some, key=lambda d: (d.piece is None, 0 if d.piece is None else len(d.piece.S)))
        piece, about = smallest.piece, smallest.about
        if piece is not None and about is not None and kind != DISPUTED:
            piece, about = thinned(query.text, query.language, piece, about, smallest.reported_at)
        found.append(Unexplained(kind, types, len(some), tuple(d.verdict for d in some[:EXAMPLES]), piece, about))
    return found
