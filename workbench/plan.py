"""Choose the evaluator for a query, and check that the query fits its events. No other module makes this choice.

By default, the first evaluator of AUTOMATIC that supports the query is chosen. If all matches or their number are
wanted, over LONG events or more, the compiled evaluator (`kernel`) is chosen if it supports the query. It gives the
same answers, but its code is compiled at the first use on a machine, which takes seconds.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import islice, pairwise, product
from math import ceil, inf, nextafter
from typing import Any, Generic, TypeAlias, TypeVar, assert_never

from cerify.automata.evaluate.scope import SECONDS, ReachBounds, RunningWindow, Width
from cerify.automata.evaluator import Consumption, Counters, Evaluator
from cerify.languages.language import DENOTATIONAL, Evaluation, Language, Options, OutputTable, without_numba
from cerify.semantics.arguments import (
    CHECKED_TOGETHER,
    check_time,
    format_names,
    require_kind,
    require_whole,
    short_repr,
    timed_items,
    too_many_matches,
)
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import extents
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import (
    BudgetExceeded,
    IllFormed,
    InputError,
    QueryWarning,
    TooManyMatches,
    Unsupported,
    errors_in,
)
from cerify.semantics.events import (
    TIME,
    TYPE,
    Event,
    Match,
    ObservedSchema,
    Schema,
    Stream,
    observed,
    text_among_numbers,
)
from cerify.semantics.match_frames import Matches
from cerify.semantics.packages import pa, pc
from cerify.semantics.predicates import Attribute, Problem, Rule
from cerify.semantics.readings import ELASTIC, SPECIFICATION
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import INT64, Value, ValueType, is_exact_float, kind, plain, quote_text, value_type_of

# ---------------------------------------------------------------------------------------------------------------------
# A batch evaluator for every language, which runs the reference evaluator again over all events so far.

F = TypeVar("F")
T = TypeVar("T")


class DefinitionEvaluator(Evaluator, Generic[F]):
    """A batch evaluator that evaluates the language's definition again over all events so far.

    A batch costs as much as the whole stream up to the batch's end. waits: whether a match may depend on events after
    its position; then only `finish` returns matches. schema: the schema of all batches. evaluator: the name of the
    evaluator of whole streams that is used. reach: how far back a match looks, if that is known. Then earlier events
    are forgotten, and a batch costs as much as its own events and the events in reach.

    Raises the errors of the evaluator, and IllFormed for a query that waits and consumes. With a reach, raises
    Unordered if the values of a window's attribute decrease.
    """

    STATE = "definition"

    def __init__(
        self,
        language: Language[F],
        query: F,
        waits: bool,
        options: Options = Options(),
        schema: Schema | None = None,
        evaluator: str = DENOTATIONAL,
        reach: ReachBounds | None = None,
    ) -> None:
        if waits and options.consumption is not Consumption.NONE:
            raise IllFormed(
                "the matches of this query depend on later events, so it cannot consume events; leave consumption out"
            )
        self.language, self.query, self.options, self.budget = language, query, options, options.budget
        self.waits_for_end, self.default_type, self.schema = waits, language.row_type, schema
        self.evaluator, self.reach = evaluator, reach
        self._forgotten = 0  # events that are out of reach
        self._begin = 0  # the position after the last match that consumed
        self._events = Stream([], schema)

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        """Read the next events of the stream, and return the new matches.

        Raises BudgetExceeded; the state of the evaluator is then unchanged.
        """
        events, first, begin = Stream([*self._events, *S], self.schema), len(self._events), self._begin
        found: list[Match] = []
        kept = _first_in_reach(self.reach, events)
        if self.options.consumption is Consumption.ANY:
            # Position by position: a match that consumes events changes what later positions may use.
            for n in range(first, len(events)):
                here = [m for m in self._matches(events, begin, n + 1) if m.at == n]
                begin = n + 1 if here else begin
                found += here
        elif not self.waits_for_end:
            found = self._matches(events, 0, len(events), first, limit)
        if limit is None and len(found) > self.options.budget.matches:
            raise too_many_matches(self.options.budget.matches)
        found = [match.shifted(self._forgotten) for match in found] if self._forgotten else found
        self._events, self._begin = events.part(kept, len(events) - kept) if kept else events, begin
        self._forgotten, self.position = self._forgotten + kept, self._forgotten + len(events)
        return sorted(found)[:limit]

    def flush(self) -> list[Match]:
        """Return all matches if matches may depend on later events; otherwise none, because `push` returned them."""
        return sorted(self._matches(self._events, 0, len(self._events))) if self.waits_for_end else []

    @property
    def identity(self) -> str:
        name, text = self.language.name, self.language.syntax.show(self.query)
        options = [self.options.output, repr(self.options.reading), self.options.consumption.value, self.waits_for_end]
        # Only what differs from the default: states that earlier releases stored keep their identity.
        options += [] if self.options.eql_reading == ELASTIC else [repr(self.options.eql_reading)]
        options += [] if self.options.sigma_reading == SPECIFICATION else [repr(self.options.sigma_reading)]
        schema = [] if self.schema is None else [{R: dict(types) for R, types in self.schema.types.items()}]
        options += [] if self.reach is None else [self.evaluator, str(self.reach)]
        return json.dumps([name, text, *options, *schema])

    def dump(self) -> bytes:
        """Return the state, which is all stored events, as an Arrow stream."""
        numbers = {"begin": str(self._begin), "forgotten": str(self._forgotten)}
        table, sink = self._events.table.replace_schema_metadata(numbers), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    def load(self, data: bytes) -> None:
        table = pa.ipc.open_stream(data).read_all()
        begin, forgotten = (int(table.schema.metadata[name]) for name in (b"begin", b"forgotten"))
        if not 0 <= begin <= table.num_rows or forgotten < 0 or (forgotten and self.reach is None):
            raise ValueError("a position is out of range")
        self._events, self._begin, self._forgotten = Stream.from_table(table, self.schema), begin, forgotten
        self.position = forgotten + table.num_rows

    @property
    def counters(self) -> Counters:
        """Return the number of events read; the numbers of nodes and states are 0, because there are none."""
        return Counters(self.position, 0, 0)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        how = self.options, self.schema, self.evaluator, self.reach
        return type(self), (self.language, self.query, self.waits_for_end, *how)

    def _matches(self, S: Stream, begin: int, end: int, first: int = 0, limit: int | None = None) -> list[Match]:
        """Return the matches over the events from `begin` to `end` that end at `first` or later.

        Raises BudgetExceeded unless there is a limit.
        """
        most = self.options.budget.matches
        part = self.language.evaluators.matches(self.query, S.part(begin, end - begin), self.evaluator, self.options)
        new = (match for match in part if match.at >= first - begin)
        # One more than allowed tells "too many" apart from "exactly as many".
        found = list(islice(new, most + 1 if limit is None else limit))
        if limit is None and len(found) > most:
            raise too_many_matches(most)
        return [match.shifted(begin) for match in found] if begin else found


def _first_in_reach(reach: ReachBounds | None, S: Stream) -> int:
    """Return the index of the first event of S on which a match after S may depend. Raises Unordered."""
    if reach is None:
        return 0
    # With widths, a reach of one event says nothing of its own.
    lows = [] if reach.events == 1 and reach.widths else [len(S) - reach.events + 1]
    for a, width in reach.widths:
        window, low = RunningWindow(a, width), 0
        for p, event in enumerate(S):
            low = max(low, window.advance(p, event) or 0)
        lows.append(low)
    # The minimum, because an event is needed if one of the windows reaches it.
    return max(0, min(lows))


AUTOMATIC = ("automaton", "denotational")
COMPILED = "kernel"
LONG = 50_000
"""The number of events from which the compiled evaluator is used by default. On as many events, the automaton takes
about a second.
"""


def prefers_compiled(evaluator: str | None, events: int) -> bool:
    """Return whether to try the compiled evaluator first: no evaluator is named, numba is installed, the stream is
    long.
    """
    return evaluator is None and events >= LONG and without_numba() is None


@dataclass(frozen=True)
class Want:
    """A request for an evaluation: its options, and the name of an evaluator, or None to let `plan` choose.

    batches: whether the stream comes batch by batch. counting: whether only the number of matches is wanted; then an
    evaluator that can count in batches is preferred. events: the length of the stream, if counting.
    """

    options: Options = field(default_factory=Options)
    evaluator: str | None = None
    batches: bool = False
    counting: bool = False
    events: int = 0


@dataclass(frozen=True)
class Plan(Generic[F]):
    """A query with the evaluator that was chosen for it; `evaluator` is None if no candidate supports the query.

    why_not: for each candidate that does not support the query, the reason. evaluation: a function that evaluates a
    whole stream. batches: an evaluator that reads batches, if the request was for batches. named: whether the user
    named the evaluator.
    """

    language: Language[F]
    query: F
    options: Options
    evaluator: str | None
    why_not: Mapping[str, Unsupported]
    evaluation: Evaluation | None = None
    batches: Evaluator | None = None
    named: bool = False

    def matches(self, S: Stream) -> Iterable[Match]:
        """Return all matches, ordered by their positions. Raises Unsupported, BudgetExceeded."""
        _ = self.chosen_evaluator
        assert self.evaluation is not None
        return self.evaluation(S)

    def all_matches(self, S: Stream) -> Sequence[Match]:
        """Return all matches, sorted. Raises the errors that `unsorted` raises."""
        found = self.unsorted(S)
        return found if self.language.keeps_order or isinstance(found, Matches) else sorted(found)

    def first_matches(self, S: Stream, limit: int) -> list[Match]:
        """Return the first `limit` matches found, sorted. Raises Unsupported, BudgetExceeded."""
        found = list(timed_items(islice(self.matches(S), limit)))
        return found if self.language.keeps_order else sorted(found)

    def unsorted(self, S: Stream) -> Sequence[Match]:
        """Return all matches, in the order in which they are found.

        Raises Unsupported, and BudgetExceeded, also if there are more than budget.matches.
        """
        limit = self.options.budget.matches
        matches = self.in_full(S)
        if isinstance(matches, Matches):
            return matches
        found: list[Match] = []
        for number, match in enumerate(islice(matches, limit + 1), 1):
            if number % CHECKED_TOGETHER == 0:
                check_time()
            found.append(match)
        if len(found) > limit:
            raise too_many_matches(limit)
        return found

    def in_full(self, S: Stream) -> Iterable[Match]:
        """Return all matches, for a caller that needs all of them. On a long stream, the compiled evaluator finds them.

        If that does not support the query, or exceeds the budget, the chosen evaluator is used. Raises TooManyMatches.
        """
        loops = self.language.evaluators.get(COMPILED)
        if loops is None or self.options.consumption is not Consumption.NONE:
            return self.matches(S)

        def match_by_loops(query: F, S: Stream, options: Options) -> Sequence[Match] | None:
            evaluate = loops.prepare(query, S.schema, options)
            if isinstance(evaluate, Unsupported):
                return None
            found = evaluate(S)
            return found if isinstance(found, Matches) else list(islice(found, options.budget.matches + 1))

        found = self._try_loops(match_by_loops, S)
        return self.matches(S) if found is None else found

    def output_table(self, S: Stream) -> OutputTable:
        """Return the output table of the query. Raises the errors that `unsorted` raises."""
        evaluators = self.language.evaluators
        table = self._try_loops(evaluators.table_by_loops, S)
        return evaluators.output_table(self.query, S, self.unsorted(S), self.options) if table is None else table

    def _try_loops(self, by_loops: Callable[[F, Stream, Options], T | None], S: Stream) -> T | None:
        """Return the compiled evaluator's answer if the plan may choose it and the stream is long; else None.

        Also return None if the compiled evaluator does not support the query, or exceeds the budget. Raises
        TooManyMatches.
        """
        if self.evaluator is None or self.named or not prefers_compiled(None, len(S)):
            return None
        try:
            return by_loops(self.query, S, self.options)
        except TooManyMatches:
            raise
        except BudgetExceeded:
            check_time()
            return None

    def with_values(self, S: Stream) -> Iterable[Match]:
        """Return the matches; in a language with attribute variables, each match has the values of its variables."""
        if self.options.consumption is not Consumption.NONE:
            return self.matches(S)
        return self.language.evaluators.with_values(self.query, S, self.chosen_evaluator, self.options)

    @property
    def rewrites(self) -> tuple[str, ...]:
        """Return the languages into which the evaluator rewrites the query, one after the other."""
        return () if self.evaluator is None else self.language.evaluators.rewrites(self.query, self.evaluator)

    @property
    def chosen_evaluator(self) -> str:
        """Return the name of the evaluator. Raises Unsupported, with the last candidate's reason, if there is none."""
        if self.evaluator is None:
            raise list(self.why_not.values())[-1]
        return self.evaluator


def plan(language: Language[F], query: F, schema: Schema | None = None, want: Want = Want()) -> Plan[F]:
    """Choose an evaluator for a query on streams of a schema (None: any stream), and return the plan.

    Raises IllFormed for an evaluator that the language does not have, and for options that the language forbids.
    """
    names = language.evaluators
    if want.evaluator is not None and not isinstance(want.evaluator, str):
        require_kind("evaluator", want.evaluator, str | None, "the name of an evaluator")
    if want.evaluator is not None and want.evaluator not in names:
        raise IllFormed(f"there is no evaluator {want.evaluator!r} of {language.title}; use one of {', '.join(names)}")
    why_not: dict[str, Unsupported] = {}
    ways = (_in_batches, _whole) if want.counting else (_in_batches,) if want.batches else (_whole,)
    first = (COMPILED,) if want.counting and prefers_compiled(want.evaluator, want.events) else ()
    asked = (*first, *AUTOMATIC) if want.evaluator is None else (want.evaluator,)
    considered = [name for name in asked if name in names]
    for name, prepare in product(considered, ways):
        found = prepare(language, name, query, schema, want)
        if not isinstance(found, Unsupported):
            evaluation, batches = found
            named = want.evaluator is not None
            return Plan(language, query, want.options, name, why_not, evaluation, batches, named)
        why_not[name] = found
    return Plan(language, query, want.options, None, why_not)


def _whole(
    language: Language[F], name: str, query: F, schema: Schema | None, want: Want
) -> tuple[Evaluation, None] | Unsupported:
    """Return a function that evaluates the query over a whole stream, or the reason why evaluator `name` cannot."""
    if want.options.consumption is not Consumption.NONE:
        in_batches = _in_batches(language, name, query, schema, want)
        if isinstance(in_batches, Unsupported):
            return in_batches
        _, evaluator = in_batches

        def evaluate(S: Stream) -> Iterable[Match]:
            return evaluator.fresh().evaluate(S)

        return evaluate, None
    found = language.evaluators[name].prepare(query, schema, want.options)
    return found if isinstance(found, Unsupported) else (found, None)


def _in_batches(
    language: Language[F], name: str, query: F, schema: Schema | None, want: Want
) -> tuple[None, Evaluator] | Unsupported:
    """Return an evaluator that reads batches, or the reason why evaluator `name` cannot."""
    make = language.evaluators[name].batches
    if make is not None:
        made = make(query, schema, want.options)
        if isinstance(made, Unsupported):
            again = None if want.counting or name not in AUTOMATIC else _reading_again(language, name, query, want)
            return made if again is None else (None, again)
        if want.counting and not made.counts:
            return Unsupported(
                f"the evaluator {name} of {language.title} cannot count these matches without listing them"
            )
        made.needed = attributes_in(language, query)
        return None, made
    if name != DENOTATIONAL:
        return Unsupported(
            f"the evaluator {name} of {language.title} evaluates only whole streams: collect the stream and use "
            "cerify.match"
        )
    refused = language.evaluators[name].prepare(query, schema, want.options)
    if isinstance(refused, Unsupported):
        return refused
    if schema is None and language.evaluators.needs_schema(query):
        return Unsupported("arguments, as in order(I, 40), name attributes by position; give a schema with their order")
    evaluator = DefinitionEvaluator(language, query, language.evaluators.waits(query), want.options, schema)
    evaluator.needed = attributes_in(language, query)
    return None, evaluator


def _reading_again(language: Language[F], name: str, query: F, want: Want) -> Evaluator | None:
    """Return a batch evaluator that reads the events in reach again with each batch.

    Return None if the reach is unbounded, if events are consumed, or if the evaluator does not support the query.
    """
    if want.options.consumption is not Consumption.NONE or not isinstance(query, Formula):
        return None
    reach = reach_of(query)
    if reach is None or isinstance(language.evaluators[name].prepare(query, None, want.options), Unsupported):
        return None
    evaluator = DefinitionEvaluator(language, query, False, want.options, None, name, reach)
    evaluator.needed = attributes_in(language, query)
    return evaluator


def with_workers(evaluator: Evaluator, workers: int) -> Evaluator:
    """Return an evaluator that reads each batch with `workers` threads. Raises IllFormed, Unsupported."""
    require_whole("workers", workers, 1)
    if workers == 1:
        return evaluator
    if (missing := without_numba()) is not None:
        raise missing
    from cerify.automata.evaluate.parallel import parallel

    return parallel(evaluator, workers, reach_of)


# ---------------------------------------------------------------------------------------------------------------------
# The attributes that a query may use: only these are read from the data.


def attributes_in(language: Language[Any], query: Any) -> frozenset[str] | None:
    """Return the names of all attributes that a query may use; None if it may use any attribute.

    It may use any if it names a user-defined predicate, or if its arguments stand for attributes by position. The trees
    of a plug-in language are unknown here, so its queries may also use any.
    """
    if not type(language.syntax).__module__.startswith("cerify."):
        return None
    found = set[str]()
    for node in nodes_of(query):
        match node:
            case cel.Named():
                return None
            case Attribute(name):
                found.add(name)
                continue
        if isinstance(node, language.syntax.positional) and node.arguments:
            return None
        if isinstance(node, language.syntax.timed):
            found.add(TIME)
        if isinstance(node, language.syntax.naming_others):
            continue
        for part in ("attribute", "attributes", "name", "names"):
            value = getattr(node, part, ())
            found.update([value] if isinstance(value, str) else value if isinstance(value, tuple) else ())
    return frozenset(found - {""})


def is_timed(language: Language[Any], query: Any) -> bool:
    """Return whether a query has a time window, or another operator that needs events in the order of their times."""
    return any(
        isinstance(node, language.syntax.ordered) or (isinstance(node, cel.AttributeWindow) and node.attribute == TIME)
        for node in nodes_of(query)
    )


def nodes_of(tree: Any) -> Iterator[Any]:
    """Yield the nodes of a syntax tree of any language, including conditions and terms."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple | list | frozenset):
            pending.extend(node)
        elif is_dataclass(node) and not isinstance(node, type):
            yield node
            pending.extend(getattr(node, part.name) for part in fields(node))


# ---------------------------------------------------------------------------------------------------------------------
# Whether a query fits its events: names that the events do not have, and comparisons that are never true.

NAMES: frozenset[Rule] = frozenset({"event_type", "attribute", "unbound"})
TEXT_AS_TIME = "a time is a number or a timestamp; as_stream(events, schema=...) reads times of text"
KINDS: frozenset[Rule] = frozenset({"kind", "arithmetic", "order", "like"})


def misfits(language: Language[Any], query: Any, schema: Schema) -> Iterator[Problem]:
    """Yield problems with names that the schema or the query lacks, and with comparisons of values of different kinds.

    If the schema was inferred from events (`observed`), an attribute is missing only if none of the event types that
    the variable can hold has it. Comparisons of attributes with values of several types are then not checked.
    """
    seen = isinstance(schema, ObservedSchema)
    for problem in language.syntax.problems(query, schema):
        if problem.rule in NAMES | KINDS and not (seen and problem.partial):
            yield problem


def require_fit(language: Language[Any], query: Any, S: Stream, strict: bool = False) -> list[QueryWarning]:
    """Return the warnings about a query over a stream; with `strict`, most of them are errors.

    If the stream has a schema, a query or an event that does not fit it is an error, and only a variable that nothing
    binds is a warning. If the stream has no schema, it is an error if its table lacks a column that the query needs
    (`Syntax.missing_columns`). A stream without schema and events has no warnings. Raises IllFormed, InputError.
    """
    missing: list[Problem] = []
    if S.unread or S.renamed:
        S.require_read(attributes_in(language, query))
    if S.schema is not None:
        language.syntax.require_typed(query, S.schema)
        require_events_fit(S, S.schema)
        # A filter on a variable that nothing binds has a meaning (docs/decisions/filters.md), but is mostly a typo.
        found = [problem for problem in language.syntax.problems(query, S.schema) if problem.rule == "unbound"]
    else:
        seen = observed(S)
        if S.lists:
            attributes = {
                R: {name: its.get(name, "bool") for name in S.known_attributes(its)} for R, its in seen.types.items()
            }
            seen = ObservedSchema(attributes, seen.mixed)
        if "" in seen.types:
            n = next(n for n, event in enumerate(S) if not event.type)
            raise InputError(f"event {n}: its type is empty; every event needs a type")
        misfitting = misfits(language, query, seen) if seen.types else ()
        found = [_with_text(problem, S, seen, language) for problem in misfitting]
        found += language.syntax.stream_problems(query, S)
        columns = S.known_attributes(S.columns or ()) if S.lists else S.columns or ()
        if seen.types or {*columns} - {TYPE}:  # without rows a file may be read without its header
            missing = [] if S.columns is None else list(language.syntax.missing_columns(query, columns))
    for problem in (missing + (found if strict else []))[:1]:
        raise IllFormed(problem.hinted, problem.span)
    found += language.syntax.surprises(query, S)
    return [*(QueryWarning(problem.hinted, problem.span) for problem in found), *_times_back(language, query, S)]


def _times_back(language: Language[Any], query: Any, S: Stream) -> Iterator[QueryWarning]:
    """Yield a warning if a query depends on the order of times and the times of the stream decrease somewhere."""
    if not is_timed(language, query):
        return
    from cerify.semantics.eql.conditions import TIMESTAMP

    if S.is_columnar:  # checked by columns, so that events are built only if there is a warning
        from cerify.semantics.arrow_columns import VALUE_TYPES

        columns = [S.table[name].drop_null() for name in (TIME, TIMESTAMP) if name in S.table.column_names]
        ascends = [c.type in VALUE_TYPES and not pc.any(pc.less(c[1:], c[:-1])).as_py() for c in columns]
        if len(columns) < 2 and all(ascends):
            return
    times = ((n, event.attributes.get(TIME, event.attributes.get(TIMESTAMP))) for n, event in enumerate(S))
    measured = ((n, time) for n, time in times if time is not None and kind(time) in ("number", "timestamp"))
    for (m, before), (n, time) in pairwise(measured):
        if kind(before) == kind(time) and time < before:  # type: ignore[operator]
            yield QueryWarning(
                f"the time goes back from {plain(before)} of event {m} to {plain(time)} of event {n}: events are "
                "matched in the order of the stream. To sort them by time: --sort; in Python, as_stream with sort=True"
            )
            return


def require_events_fit(S: Stream, schema: Schema, others: bool = False) -> None:
    """Raise InputError for an event that does not fit the schema, because proofs under the schema do not hold for it.

    A stream is checked only once, and by columns if it has a table. others: whether events may have attributes that the
    schema lacks.
    """
    if S.fits:
        return
    if S.is_columnar:
        from cerify.semantics.arrow_columns import ARROW, first
        from cerify.semantics.tables import fitted_table

        fitted_table(S.table, schema, {TYPE: TYPE}, "the events", "event {}".format)
        untyped = TIME in S.table.column_names and TIME not in schema.attributes  # fitted_table reads texts as times
        if untyped and S.table[TIME].type == ARROW["string"] and (row := first(S.table[TIME].is_valid())) is not None:
            raise InputError(f"event {row}, attribute {TIME!r}: {TEXT_AS_TIME}")
    else:
        for n, event in enumerate(S):
            _require_event_fits(event, n, schema, others)
    # A stream with further attributes fits this caller only, so the next one has to check again.
    S.fits = not others


def _require_event_fits(event: Event, n: int, schema: Schema, others: bool) -> None:
    if (types := schema.types.get(event.type)) is None:
        raise InputError(f"event {n}: unknown event type {event.type!r}; the schema has {format_names(schema.types)}")
    for name, value in event.attributes.items():
        if (wanted := types.get(name)) is not None:
            if (reason := _unfit(value, wanted)) is not None:
                raise InputError(f"event {n}, attribute {name!r}: {reason}")
        elif name != TIME:
            if others:
                continue
            raise InputError(
                f"event {n}, attribute {name!r}: unknown attribute; {event.type} has {format_names(types)}"
            )
        elif isinstance(value, str | bool):
            raise InputError(f"event {n}, attribute {name!r}: {TEXT_AS_TIME}")


def _unfit(value: Value, wanted: ValueType) -> str | None:
    """Return why a value does not have the type; None if it does.

    An integer that a float represents exactly counts as a float.
    """
    found = value_type_of(value)
    if found != wanted and (found, wanted) != ("int", "float"):
        return f"{found}, but the schema has {wanted}"
    if isinstance(value, int) and value not in INT64:
        return f"{short_repr(value)} does not fit in 64 bits"
    if found != wanted and isinstance(value, int) and not is_exact_float(value):
        return f"{value} cannot be stored exactly as a 64-bit float"
    return None


def _with_text(problem: Problem, S: Stream, seen: ObservedSchema, language: Language[Any]) -> Problem:
    """Return the problem; if an attribute is a text in some events and a number in others, name the first such text."""
    for name, value_type in seen.attributes.items():
        named = problem.rule in KINDS and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", problem.message)
        if named and value_type == "string" and name not in seen.mixed and (found := text_among_numbers(S, name)):
            n, text = found
            item = "event" if language.row_type is None else language.row_type
            message = f"{problem.message}; {name} is {quote_text(text)} in {item} {n} and a number in others"
            return replace(problem, message=message)
    return problem


@dataclass(frozen=True)
class FirstBatch:
    """Checks a query against the first batch of an evaluator, and issues warnings.

    text: the text of the query, if it is known.
    """

    language: Language[Any]
    query: Any
    text: str | None
    strict: bool

    def __call__(self, S: Stream) -> None:
        """Check the query against the first batch. Raises IllFormed as `require_fit` does.

        The stack level of the warnings assumes that this is called by a method that `push` or `count` calls.
        """
        with errors_in(self.text):
            warn_of_misfits(self.language, self.query, S, text=self.text, strict=self.strict, stacklevel=4)


def warn_of_misfits(
    language: Language[Any], query: Any, S: Stream, *, text: str | None, strict: bool, stacklevel: int
) -> None:
    """Issue the warnings about a query over a stream by `warnings.warn`. Raises IllFormed as `require_fit` does.

    text: the query's text, if it is known. stacklevel: the caller that the warning names; 1 is the caller of this
    function.
    """
    for warning in require_fit(language, query, S, strict):
        warning.text = text
        warnings.warn(warning, stacklevel=stacklevel + 1)


# ---------------------------------------------------------------------------------------------------------------------
# The reach of a formula: how many events before a match it may depend on.
#
# Over the stream from i to j, a formula can have other valuations than over the stream from its beginning to j. The
# valuations are the same if i precedes all events on which the formula depends. A formula has a reach if these events
# lie in windows that end at j. By the clauses of tods21, Figure 3, and of section 7.1:
#
# - A formula whose operators look only at valuations has, over a shorter interval, the valuations that lie in that
#   interval (semantics/cel/interpreter.py). So if all valuations lie in a window, it depends only on that window.
#   WITHIN and neighbouring events give such windows.
# - An operator whose clause is over one interval depends on the same events as its operands. So NXT, LAST, MAX and
#   PROJECT have the reach of their operand, and a window around them changes nothing: NXT(A ; B) WITHIN 5 EVENTS
#   depends on all events before.
# - START depends on the beginning of the stream, and UNLESS on matches of its right side anywhere in it.

Found: TypeAlias = ReachBounds | None


def reach_of(phi: Formula) -> Found:
    """Return how far back from its last event a match of the formula may reach; None if no limit is known."""
    phi = _without_hiding(cel.expanded(phi))
    known, found = extents(phi), dict[int, Found]()
    for psi in reversed(list(cel.subformulas(phi))):
        found[id(psi)] = _reach(psi, [found[id(child)] for child in children(psi)], known[id(psi)].inherits)
    return found[id(phi)]


def _without_hiding(phi: Formula) -> Formula:
    """Return the formula without each PROJECT that drops no event."""
    psi, kept = cel.split_projection(phi)
    if kept is not None:
        from cerify.automata.evaluate.evaluation_plan import analyze_bindings

        if all(kind & kept for kind in analyze_bindings(psi).possible):
            return _without_hiding(psi)
    return rebuilt(phi, [_without_hiding(child) for child in children(phi)])


def _reach(phi: Formula, below: list[Found], inherits: bool) -> Found:
    match phi:
        case cel.EventAtom():
            return ReachBounds()
        case cel.Within(_, window):
            return _narrower(below[0], window) if inherits else below[0]
        case cel.In() | cel.Filter() | cel.Strict() | cel.PartitionBy() | cel.Project() | cel.Preference():
            return below[0]
        case cel.PerKey():  # a given number of events of one key may span any distance, but a width bounds them
            return below[0] if below[0] is not None and below[0].events == 1 else None
        case cel.Or() | cel.And():
            return _both(below[0], below[1])
        case cel.ContiguousSeq():
            left, right = below
            if inherits and left and right and not left.widths and not right.widths:
                # The left side ends right before the right one begins, so their windows of events follow each other.
                return ReachBounds(left.events + right.events)
            return None
        case cel.Restriction() | cel.Iteration() | cel.Sequencing() | cel.Combination() | cel.Unless():
            # There may be gaps of any length between the events, or the formula may depend on all events before them.
            return None
        case cel.Derived():
            raise AssertionError("derived operators are expanded before")
        case _:
            assert_never(phi)


def _narrower(inside: Found, window: cel.Window) -> Found:
    """Return the reach of a formula in a window, given the reach of the formula itself, or None.

    If both the window and the formula limit the reach, either limit would be correct.
    """
    match window:
        case cel.EventWindow(count):
            return ReachBounds(max(1, count if inside is None or inside.widths else min(count, inside.events)))
        case cel.TimeWindow(amount, unit):
            width = TIME, amount * SECONDS[unit]
        case cel.AttributeWindow(extent, a):
            width = a, extent
        case _:
            assert_never(window)
    if inside is None or (inside.events == 1 and [a for a, _ in inside.widths] == [width[0]]):
        return ReachBounds(1, (min([width, *(inside.widths if inside else ())]),))
    return inside


def _both(left: Found, right: Found) -> Found:
    if left is None or right is None:
        return None
    widths = dict(left.widths)
    for a, width in right.widths:
        widths[a] = max(width, widths.get(a, width))
    return ReachBounds(max(left.events, right.events), tuple(widths.items()))


def rows_out_of_reach(rows: pa.Table, reach: ReachBounds) -> int:
    """Return how many of the first rows no later match can contain, because all windows have passed them."""
    kept = min(rows.num_rows, reach.events - 1)
    for name, width in reach.widths:
        kept = max(kept, rows.num_rows - _before(rows[name], width))
    return int(rows.num_rows - kept)


def _before(values: pa.ChunkedArray, width: Width) -> int:
    """Return the number of ascending values that are less than the last one minus the width."""
    if pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.timestamp("us", "UTC"), safe=False).cast(pa.int64())
        width *= 10**6
    last = pc.max(values).as_py()
    if last is None:
        return 0
    low = last - ceil(width) if isinstance(last, int) else nextafter(last - width, -inf)
    return int(pc.sum(pc.less(values, low)).as_py() or 0)
