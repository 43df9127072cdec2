"""The files of commands: events that are read, with the options that say how."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from cerify.commands.options import Choice, option
from cerify.fit import require_fit
from cerify.languages import language_named
from cerify.languages.language import Language
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, InputWarning, QueryWarning, Unsupported, shortened
from cerify.semantics.events import TIME, TYPE, Schema, Stream
from cerify.semantics.readers import STDIN, Format, read, read_schema
from cerify.terminal import echo

SOON = 1.0  # seconds for the question whether a query can match at all


@dataclass(frozen=True)
class Source:
    """How events are read, as the options say."""

    schema_text: str | None = option(
        "--schema",
        metavar="JSON|FILE",
        help='As {"T": {"id": "int", "tmp": "float"}}; or a file of events, of which it is the schema.',
    )
    time_column: str | None = option("--time", metavar="COLUMN", help="The field with the events' time.")
    type_column: str = option("--type", metavar="COLUMN", default=TYPE, help="The one with the type.")
    format_: Format | None = option(
        "--format", type=Choice(get_args(Format)), help="If not what the file's suffix says."
    )
    strict: bool = option(
        "--strict", is_flag=True, help="A name that no event has, or values of two kinds compared, is an error."
    )

    @cached_property
    def schema(self) -> Schema | None:
        """The schema that is given. Raises InputError."""
        if self.schema_text is None:
            return None
        return schema_of(self.schema_text, self.type_column, self.time_column)

    def read_for(self, query: str, language: str, file: str) -> Stream:
        """The events of a file that a query is to be run over; warnings about the two are written to standard error.

        With --strict the first of these is an error. Raises InputError, IllFormed.
        """
        lang = language_named(language)
        S = self.read(file, lang.row_type)
        for warning in require_fit(lang, lang.parse(query), S, self.strict):
            warn(warning, query)
        return S

    def read(self, file: str, default_type: str | None = None) -> Stream:
        """The events of a file; of standard input if it is called -. Raises InputError."""
        schema = self.schema
        with _notes():
            S = read(
                file,
                format=self.format_,
                schema=schema,
                type_column=self.type_column,
                time_column=self.time_column,
                default_type=default_type,
            )
        if self.time_column is not None and len(S) and not _has_time(S):
            name = "standard input" if file == STDIN else file
            raise InputError(f"{name}: no event has a value in the column {self.time_column!r} for the time")
        return S


def _has_time(S: Stream) -> bool:
    """Whether an event has a time; a stream with a table is looked at by its column."""
    if S.is_columnar:
        return TIME in S.table.column_names and S.table[TIME].null_count < len(S)
    return any(TIME in event.attributes for event in S.events)


def schema_of(
    text: str, type_column: str = TYPE, time_column: str | None = None, default_type: str | None = None
) -> Schema:
    """The schema that an option gives, as JSON or a file. Raises InputError, IllFormed.

    default_type is the type of events in the file that have none; None makes them an error.
    """
    with _notes():
        return read_schema(text, type_column=type_column, time_column=time_column, default_type=default_type)


def warn(warning: QueryWarning, query: str) -> None:
    """Writes a warning to standard error, with the place in the query that it is about."""
    warning.text, warning.message = query, shortened(warning.message)
    echo(f"cerify: warning: {warning}", error=True)


def warn_of_never(lang: Language[Any], query: Any, schema: Schema | None, text: str) -> None:
    """Writes to standard error what of a query without matches has none on any stream, where that is soon decided."""
    with suppress(BudgetExceeded, Unsupported), Budget(seconds=SOON).timed():
        for problem in lang.check(query, schema).problems:
            if problem.rule == "never":
                warn(QueryWarning(problem.hinted, problem.span), text)


@contextmanager
def _notes() -> Iterator[None]:
    """Writes what is left out of the files that are read inside to standard error."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always", InputWarning)
        yield
    for warning in issued:
        echo(f"cerify: note: {shortened(str(warning.message))}", error=True)
