"""Whether a query fits the events that it is run over: names that they do not have, comparisons that are never true."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cerify.languages.language import Language
from cerify.semantics.arguments import listed, short_repr
from cerify.semantics.errors import IllFormed, InputError, QueryWarning, errors_in
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream
from cerify.semantics.observed import ObservedSchema, observed, text_among_numbers
from cerify.semantics.predicate_types import Problem, Rule
from cerify.semantics.values import INT64, Value, ValueType, is_exact_float, shown, value_type_of

NAMES: frozenset[Rule] = frozenset({"event_type", "attribute", "unbound"})
TEXT_AS_TIME = "a time is a number or a timestamp; as_stream(events, schema=...) reads times of text"
KINDS: frozenset[Rule] = frozenset({"kind", "arithmetic", "order", "like"})


def misfits(language: Language[Any], query: Any, schema: Schema) -> Iterator[Problem]:
    """What a query names that the schema or the query does not have, and what it compares with values of another kind.

    Of a schema made from events (`observed`) an attribute counts as missing if no event type that the variable can hold
    has it, and comparisons of attributes with values of several types are not looked at.
    """
    seen = isinstance(schema, ObservedSchema)
    for problem in language.problems(query, schema):
        if problem.rule in NAMES | KINDS and not (seen and problem.partial):
            yield problem


def require_fit(language: Language[Any], query: Any, S: Stream, strict: bool = False) -> list[QueryWarning]:
    """The warnings about a query over a stream; with strict they are errors.

    With a schema of the stream's own, a query or an event that does not fit it is an error, and only a variable that
    nothing binds is a warning. Without one a column that the query needs of a table (`Language.missing_columns`), and
    that the stream's table does not have, is an error. A stream without schema and events has no warnings. Raises
    IllFormed, InputError.
    """
    missing: list[Problem] = []
    if S.schema is not None:
        language.require_typed(query, S.schema)
        require_events_fit(S, S.schema)
        # A filter on a variable that nothing binds has a meaning (docs/decisions/filters.md), and is most often a typo.
        found = [problem for problem in language.problems(query, S.schema) if problem.rule == "unbound"]
    else:
        seen = observed(S)
        if "" in seen.types:
            n = next(n for n, event in enumerate(S) if not event.type)
            raise InputError(f"event {n}: its type is empty; every event has a type")
        misfitting = misfits(language, query, seen) if seen.types else ()
        found = [_with_text(problem, S, seen, language) for problem in misfitting]
        columns = S.columns or ()
        if seen.types or {*columns} - {TYPE}:  # without rows a file may be read without its header
            missing = [] if S.columns is None else list(language.missing_columns(query, columns))
    for problem in (missing + (found if strict else []))[:1]:
        raise IllFormed(problem.hinted, problem.span)
    return [QueryWarning(problem.hinted, problem.span) for problem in found]


def require_events_fit(S: Stream, schema: Schema) -> None:
    """Raises InputError for an event that is none of the schema: what is proved under it does not hold of that.

    A stream is checked once; one that has a table is checked by columns.
    """
    if S.fits:
        return
    if S.is_columnar:
        from cerify.semantics.arrow_tables import fitted_table
        from cerify.semantics.arrow_types import ARROW
        from cerify.semantics.text_columns import first

        fitted_table(S.table, schema, {TYPE: TYPE}, "the events", "event {}".format)
        untyped = TIME in S.table.column_names and TIME not in schema.attributes  # which fitted_table reads as times
        if untyped and S.table[TIME].type == ARROW["string"] and (row := first(S.table[TIME].is_valid())) is not None:
            raise InputError(f"event {row}, attribute {TIME!r}: {TEXT_AS_TIME}")
    else:
        for n, event in enumerate(S):
            _require_event_fits(event, n, schema)
    S.fits = True


def _require_event_fits(event: Event, n: int, schema: Schema) -> None:
    if (types := schema.types.get(event.type)) is None:
        raise InputError(f"event {n}: unknown event type {event.type!r}; the schema has {listed(schema.types)}")
    for name, value in event.attributes.items():
        if (wanted := types.get(name)) is not None:
            if (reason := _unfit(value, wanted)) is not None:
                raise InputError(f"event {n}, attribute {name!r}: {reason}")
        elif name != TIME:
            raise InputError(f"event {n}, attribute {name!r}: unknown attribute; {event.type} has {listed(types)}")
        elif isinstance(value, str | bool):
            raise InputError(f"event {n}, attribute {name!r}: {TEXT_AS_TIME}")


def _unfit(value: Value, wanted: ValueType) -> str | None:
    """Why the value is none of that type, which an exact integer is of floats; None if it is one."""
    found = value_type_of(value)
    if found != wanted and (found, wanted) != ("int", "float"):
        return f"{found}, where the schema has {wanted}"
    if isinstance(value, int) and value not in INT64:
        return f"{short_repr(value)} does not fit in 64 bits"
    if found != wanted and isinstance(value, int) and not is_exact_float(value):
        return f"{value} is not exact as 64-bit float"
    return None


def _with_text(problem: Problem, S: Stream, seen: ObservedSchema, language: Language[Any]) -> Problem:
    """The problem, with the first event that makes texts of the other values of an attribute, which are numbers."""
    for name, value_type in seen.attributes.items():
        named = problem.rule in KINDS and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", problem.message)
        if named and value_type == "string" and name not in seen.mixed and (found := text_among_numbers(S, name)):
            n, text = found
            item = "event" if language.row_type is None else language.row_type
            message = f"{problem.message}; {name} is {shown(text)} in {item} {n} and a number in others"
            return replace(problem, message=message)
    return problem


@dataclass(frozen=True)
class FirstBatch:
    """Issues the warnings about a query over the first batch that an evaluator reads; text is the query's, if known."""

    language: Language[Any]
    query: Any
    text: str | None
    strict: bool

    def __call__(self, S: Stream) -> None:
        """Raises IllFormed as require_fit does. It is called by a method that push or count calls."""
        with errors_in(self.text):
            warn_of_misfits(self.language, self.query, S, text=self.text, strict=self.strict, stacklevel=4)


def warn_of_misfits(
    language: Language[Any], query: Any, S: Stream, *, text: str | None, strict: bool, stacklevel: int
) -> None:
    """Issue the warnings about a query over a stream by `warnings.warn`. Raises IllFormed, see require_fit.

    text is the query's text, if it is known; stacklevel is counted from the caller.
    """
    for warning in require_fit(language, query, S, strict):
        warning.text = text
        warnings.warn(warning, stacklevel=stacklevel + 1)
