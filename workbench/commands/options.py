"""Command options as dataclass fields, so that the name, the type and the help of an option are in one place.

`takes` makes a click command from a dataclass, so a command receives one typed object instead of twenty parameters.
Options that several commands share, such as those for files of events, are a dataclass of their own that others include
with `group`. Progress bars and early results of long commands are at the end.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cached_property, partial, wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from cerify.automata.evaluator import Consumption
from cerify.equivalence.verdict import Level, Order
from cerify.languages import DEFAULT, LANGUAGES, language_named, meant_language
from cerify.languages.language import Language
from cerify.plan import require_events_fit, require_fit
from cerify.semantics.arguments import MOST, Budget, Selection, did_you_mean, short_repr
from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    InputError,
    InputWarning,
    QueryWarning,
    Unsupported,
    shortened,
)
from cerify.semantics.events import TIME, TYPE, Schema, Stream, observed
from cerify.semantics.file_shapes import sorted_by_time
from cerify.semantics.files import STDIN, Format, read_schema, read_stream
from cerify.semantics.funnel_queries import parse_attribute
from cerify.semantics.match_frames import OUTPUT_SUFFIXES, OutputFormat
from cerify.semantics.packages import installed, naming_extras
from cerify.semantics.readings import DialectName
from cerify.semantics.time_columns import TimeReading
from cerify.semantics.values import TimeUnit
from cerify.terminal import echo, ending_signals, printable, screen

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


class ChoiceOption(click.Choice):  # type: ignore[type-arg]
    """An option with a fixed list of names. The message for any other name suggests the nearest."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"It is one of {', '.join(map(repr, self.choices))}"

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        message = super().get_invalid_choice_message(value, ctx).removesuffix(".")
        return message + did_you_mean(str(value), self.choices)


class AtLeast(click.IntRange):
    """An option type: a whole number from `min` to 10**18."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number > MOST:
            self.fail(f"{short_repr(number)} is too large: the largest number is 10**18", param, ctx)
        return number


SELECTIONS = ChoiceOption([one.value for one in Selection])
CONSUMPTIONS = ChoiceOption([one.value for one in Consumption])
LEVELS = ChoiceOption(get_args(Level))
ORDERS = ChoiceOption(get_args(Order))
FILE = click.Path(path_type=Path)
RULES = (".eql", ".toml", ".sql", ".yml", ".yaml")
"""The suffixes of files that hold a query."""


class EventsPath(click.Path):
    """An option type: a path to a file of events. If the query and the file are swapped, the error says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        query = "" if ctx is None else str(ctx.params.get("query"))
        swapped = value.endswith(RULES) or not (value == "-" or os.path.exists(value))
        if swapped and os.path.isfile(query) and not query.endswith(RULES):  # isfile is False for an invalid name
            self.fail(f"{query!r} is a file of events: give the query first, then the file", param, ctx)
        return super().convert(value, param, ctx)


EVENTS = EventsPath(allow_dash=True, readable=False)


class OutputPath(click.Path):
    """An option type: a file or folder to write. If it cannot be written, the error comes before any work begins."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        existing = next(one for one in (path, *path.absolute().parents) if os.path.exists(one))  # False for a bad name
        if existing != path and self.file_okay and existing != path.absolute().parent:
            self.fail(f"the folder {path.parent} does not exist; create it first", param, ctx)
        if existing != path and not existing.is_dir():
            self.fail(f"{existing} is not a folder", param, ctx)
        if not os.access(existing, os.W_OK):
            self.fail(f"{existing} cannot be written to", param, ctx)
        return path


OUTPUT = OutputPath(dir_okay=False, path_type=Path)
OUTPUT_FOLDER = OutputPath(file_okay=False, path_type=Path)


def format_of(out: Path, given: OutputFormat | None = None) -> OutputFormat:
    """Return the format for a file with a table: the given format, or the format of its suffix. Raises UsageError."""
    found = given or OUTPUT_SUFFIXES.get(out.suffix.lower())
    if found is None:
        known = ", ".join(OUTPUT_SUFFIXES)
        raise click.UsageError(f"the file {out} must end in one of {known}; or give --output-format")
    return found


def parse_attributes(names: str | None) -> list[str] | None:
    """Parse the attributes in the text of --show; return None without the option."""
    return None if names is None else [parse_attribute(name) for name in names.split(",") if name.strip()]


PARAMETERS, GROUP = "parameters", "group"  # keys of a field's metadata


class LanguageChoice(ChoiceOption):
    """An option type: the name of a language, including languages registered after the command was imported."""

    def __init__(self) -> None:
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(LANGUAGES)

    @choices.setter
    def choices(self, _: object) -> None:
        """Ignore assignments by click: the choices are always the languages of the registry."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for an unknown name; it suggests languages with a similar name or title."""
        return click.Choice.get_invalid_choice_message(self, value, ctx).removesuffix(".") + meant_language(str(value))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name of a language. Installed packages are searched only if no built-in language has the name."""
        return value if value in LANGUAGES else super().convert(value, param, ctx)


language_option = click.option("--language", type=LanguageChoice(), default=DEFAULT, show_default=True)
dialect_option = click.option(
    "--dialect",
    type=ChoiceOption(get_args(DialectName)),
    help="MATCH_RECOGNIZE: the dialect of QUERY.  [default: standard]",
)
READINGS = (
    "MATCH_RECOGNIZE: another answer to an open question, such as nulls=last, integer_division=exact or "
    "duration=closed; may be given again."
)
reading_option = click.option("--reading", "readings", multiple=True, metavar="NAME=VALUE", help=READINGS)


def completes(names: Callable[[click.Context], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a function for shell completion: it returns the names that begin with the typed text.

    It returns no names if `names` raises CerifyError.
    """

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        with suppress(CerifyError):
            return [name for name in names(ctx) if name.startswith(incomplete)]
        return []

    return complete


def argument(**attributes: Any) -> Any:
    """Return a dataclass field for a positional argument; the parameters are those of click.argument."""
    return field(metadata={PARAMETERS: (partial(click.argument, **attributes),)})


def option(*flags: str, **attributes: Any) -> Any:
    """Return a dataclass field for an option with these flags, whose default the help shows.

    Parameters are those of click.option.
    """
    shown = {"show_default": True, **attributes} if "default" in attributes else attributes
    return field(metadata={PARAMETERS: (lambda name: click.option(*flags, name, **shown),)})


def once(*flags: str, **attributes: Any) -> Any:
    """Return a dataclass field for an option that may be given at most once."""

    def require_one(ctx: click.Context, param: click.Parameter, values: tuple[Any, ...]) -> Any:
        if len(values) > 1:
            raise click.BadParameter(f"the option is given {len(values)} times; give it once", ctx, param)
        return values[0] if values else None

    return option(*flags, multiple=True, callback=require_one, **attributes)


def engine_dir() -> Any:
    """Return a dataclass field for the option --engine-dir."""
    return option(
        "--engine-dir",
        type=OUTPUT_FOLDER,
        help="Where --engine builds adapters and installs engines; by default the user's cache folder.",
    )


def language() -> Any:
    """Return a dataclass field for the option --language."""
    return option("--language", type=LanguageChoice(), default=DEFAULT)


def sql_dialect(flag: str = "--dialect", of: str = "QUERY") -> Any:
    """Return a dataclass field for a dialect of MATCH_RECOGNIZE. of: the argument whose dialect it is."""
    says = f"MATCH_RECOGNIZE: the dialect of {of}.  [default: standard]"
    return option(flag, type=ChoiceOption(get_args(DialectName)), help=says)


def row_readings() -> Any:
    """Return a dataclass field for --reading, for those readings of MATCH_RECOGNIZE that a clause can express."""
    return option("--reading", multiple=True, metavar="NAME=VALUE", help=READINGS)


def either(*options: Any) -> Any:
    """Return a dataclass field that any of several options can set."""
    return field(metadata={PARAMETERS: tuple(make for one in options for make in one.metadata[PARAMETERS])})


def group(kind: type[Any]) -> Any:
    """Return a dataclass field that holds an instance of another dataclass of options."""
    return field(metadata={GROUP: kind})


def takes(kind: type[T]) -> Callable[[Callable[[T], Any]], Callable[..., Any]]:
    """Return a decorator for a command: the fields of the dataclass `kind` become its parameters.

    The command receives one instance of the dataclass.
    """

    def decorator(command: Callable[[T], Any]) -> Callable[..., Any]:
        @wraps(command)
        def wrapped(**values: Any) -> Any:
            return command(_build_arguments(kind, values))

        # Decorators apply from the innermost out, so the last parameter comes first to keep the order in --help.
        for parameter in reversed(list(_parameters(kind))):
            wrapped = parameter(wrapped)
        return wrapped

    return decorator


def _parameters(kind: type[Any]) -> Iterator[Callable[[Any], Any]]:
    for one in fields(kind):
        if GROUP in one.metadata:
            yield from _parameters(one.metadata[GROUP])
        else:
            yield from (make(one.name) for make in one.metadata[PARAMETERS])


def _build_arguments(kind: type[T], values: dict[str, Any]) -> T:
    found = {
        one.name: _build_arguments(one.metadata[GROUP], values) if GROUP in one.metadata else values[one.name]
        for one in fields(kind)  # type: ignore[arg-type]
    }
    return kind(**found)


# ---------------------------------------------------------------------------------------------------------------------
# The files of commands: events that are read, with the options that say how.

SOON = 1.0  # seconds to decide whether a query can match at all


@dataclass(frozen=True)
class FileSource:
    """The options for reading events."""

    schema_text: str | None = option(
        "--schema",
        metavar="JSON|FILE",
        help='The types of attributes, as in {"T": {"id": "int", "tmp": "float"}}, or a file of events that has them.',
    )
    time_column: str | None = option("--time", metavar="COLUMN", help="The field with the time of an event.")
    time_unit: TimeUnit | None = option(  # noqa: RUF009
        "--time-unit",
        type=ChoiceOption(get_args(TimeUnit)),
        help="The unit of times that are numbers since 1970.  [default: the unit that puts them into 1990 to 2100]",
    )
    time_format: str | None = option(
        "--time-format",
        metavar="FORMAT",
        help="The format of times that are not ISO 8601, such as '%d/%m/%Y %H:%M:%S'.",
    )
    round_times: bool = option("--round-times", is_flag=True, help="Drop digits of times beyond microseconds.")
    type_column: str = option("--type", metavar="COLUMN", default=TYPE, help="The field with the type of an event.")
    untyped_as: str | None = option(
        "--default-type", metavar="TYPE", help="The type of events without a type, such as the rows of a sensor."
    )
    sort: bool = option("--sort", is_flag=True, help="Sort the events by their time; positions count in that order.")
    records: str | None = option(
        "--records", metavar="PATH", help="Where the list of events is, in a file that is one JSON object."
    )
    header: str | None = option(
        "--header",
        metavar="NAMES",
        help="The names of the columns of a CSV file without a header, such as type,time,user.",
    )
    object_type: str | None = option(
        "--object", metavar="TYPE", help="In an OCEL log: read the events of each object of this type as a sequence."
    )
    renamed_types: tuple[str, ...] = option(
        "--rename-type",
        multiple=True,
        metavar="OLD=NEW",
        help="Read events of the type OLD as events of the type NEW; may be given again.",
    )
    format_: Format | None = option(  # noqa: RUF009
        "--format", type=ChoiceOption(get_args(Format)), help="The format of the file.  [default: by its suffix]"
    )
    strict: bool = option(
        "--strict",
        is_flag=True,
        help="Make it an error if no event has a name of the query, or if the query compares values of two kinds.",
    )

    def schema_for(self, language: str) -> Schema | None:
        """Return the schema of --schema, for queries of a language. Raises InputError."""
        if self.schema_text is None:
            return None
        return schema_of(self.schema_text, self.type_column, self.time_column, self.times, language)

    @cached_property
    def schema(self) -> Schema | None:
        """Return the schema of --schema. Raises InputError."""
        return self.schema_for(DEFAULT)

    def is_parquet(self, files: Sequence[str]) -> bool:
        """Return whether all files are of Parquet, and no option affects how they are read."""
        return bool(files) and self.is_plain and all(file.endswith((".parquet", ".pq")) for file in files)

    @property
    def is_plain(self) -> bool:
        """Return whether no option affects how events are read, so that a command can pass on the path itself."""
        others = (getattr(self, one.name) for one in fields(self) if one.name not in ("type_column", "strict"))
        return self.type_column == TYPE and not any(others)

    @property
    def times(self) -> TimeReading:
        """Return how to read times, as the options say."""
        return TimeReading(self.time_unit, self.time_format, self.round_times)

    @property
    def rename_types(self) -> dict[str, str]:
        """Return the new names of event types, by their names in the data. Raises InputError."""
        pairs = [text.partition("=") for text in self.renamed_types]
        for old, equals, new in pairs:
            if not (old and equals and new):
                raise InputError(f"--rename-type {old}{equals}{new}: write OLD=NEW, as start=begin")
        return {old: new for old, _, new in pairs}

    def read_for(self, query: str, language: str, file: str | tuple[str, ...]) -> Stream:
        """Return the events of files; warn on standard error of parts of the query that do not fit them.

        With --strict the first warning is an error. Raises InputError, IllFormed.
        """
        S = self.read_in(language_named(language), (file,) if isinstance(file, str) else file)
        self.warn_of_fit(query, language, S)
        return S

    def warn_of_fit(self, query: str, language: str, S: Stream, tree: Any = None) -> None:
        """Warn on standard error of parts of a query that do not fit the events.

        With --strict the first warning is an error. tree: the syntax tree of the query, if `query` is not a text of
        this language, for example because it is a SELECT.
        """
        lang = language_named(language)
        for warning in require_fit(lang, lang.syntax.parse(query) if tree is None else tree, S, self.strict):
            warn(warning, query)

    def read_in(self, lang: Language[Any], files: tuple[str, ...]) -> Stream:
        """Return the events of files, read in the language's own format if it has one, else by `read_stream`."""
        own = None
        if self.format_ is None:
            with echoed_notes():
                own = lang.syntax.read_events(
                    files, None if self.type_column == TYPE else self.type_column, self.time_column
                )
        if own is None:
            return self.read_stream(files, lang.row_type, lang.syntax.keeps_nulls)
        if (schema := self.schema_for(lang.name)) is not None:
            require_events_fit(own, schema, others=True)
        return self._as_asked(own, ", ".join(files), lang.title)

    def _as_asked(self, S: Stream, file: str, title: str) -> Stream:
        """Return the events that were read in the language's own format, sorted if --sort is given.

        Raises InputError for an option that does not apply to this format.
        """
        given = {
            "--time-unit": self.time_unit,
            "--time-format": self.time_format,
            "--round-times": self.round_times,
            "--records": self.records,
            "--header": self.header,
            "--object": self.object_type,
            "--rename-type": self.renamed_types,
            "--default-type": self.untyped_as,
        }
        for name, value in given.items():
            if value:
                raise InputError(
                    f"{name} does not apply to {file}, whose documents are read as {title} defines them; leave the "
                    "option out, or give --format jsonl to read the file like any other log"
                )
        return sorted_by_time(S) if self.sort else S

    def read_stream(
        self, file: str | tuple[str, ...], default_type: str | None = None, keep_fields: bool = False
    ) -> Stream:
        """Read the events of one or several files, or of standard input for "-". Raises InputError."""
        if self.untyped_as == "":
            raise InputError("--default-type: the type of an event must not be empty")
        schema = self.schema
        with echoed_notes():
            S = read_stream(
                file,
                format=self.format_,
                schema=schema,
                type_column=self.type_column,
                time_column=self.time_column,
                default_type=self.untyped_as or default_type,
                time_unit=self.time_unit,
                time_format=self.time_format,
                round_times=self.round_times,
                rename_types=self.rename_types,
                records=self.records,
                header=None if self.header is None else [name.strip() for name in self.header.split(",")],
                object_type=self.object_type,
                sort=self.sort,
                keep_fields=keep_fields,
            )
        if self.time_column is not None and len(S) and not _has_time(S):
            files = (file,) if isinstance(file, str) else file
            name = "standard input" if files == (STDIN,) else ", ".join(files)
            raise InputError(f"{name}: no event has a value in the column {self.time_column!r} for the time")
        return S


def _has_time(S: Stream) -> bool:
    """Return whether an event of the stream has a time. For a stream with a table, only the column is checked."""
    if TIME in S.unread:
        return True
    if S.is_columnar:
        return TIME in S.table.column_names and S.table[TIME].null_count < len(S)
    return any(TIME in event.attributes for event in S.events)


def schema_of(
    text: str,
    type_column: str = TYPE,
    time_column: str | None = None,
    times: TimeReading = TimeReading(),
    language: str = DEFAULT,
) -> Schema:
    """Return the schema that an option gives as JSON, or that a file of events has. Raises InputError, IllFormed.

    A file of events is read in the same way as for a query of the language.
    """
    lang = language_named(language)
    default_type = lang.row_type
    with echoed_notes():
        if not text.lstrip().startswith("{") and Path(text).suffix.lower() != ".json":
            own = lang.syntax.read_events(text, None if type_column == TYPE else type_column, time_column)
            if own is not None:
                return observed(own)
        return read_schema(
            text, type_column=type_column, time_column=time_column, default_type=default_type, times=times
        )


def warn(warning: QueryWarning, query: str) -> None:
    """Write a warning to standard error, with its place in the query."""
    warning.text, warning.message = query, shortened(warning.message)
    echo(f"cerify: warning: {warning}", error=True)


@contextmanager
def echoed_warnings(query: str) -> Iterator[None]:
    """Write the warnings about a query, and about files that this context reads, to standard error, each once."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always", QueryWarning)
        yield
    for message in {str(one.message): one.message for one in issued}.values():
        if isinstance(message, QueryWarning):
            warn(message, query)
        elif isinstance(message, InputWarning):
            echo(f"cerify: note: {shortened(str(message))}", error=True)


def warn_of_never(lang: Language[Any], query: Any, schema: Schema | None, text: str) -> None:
    """Warn on standard error about parts of a query that can never match, if that can be decided quickly."""
    with suppress(BudgetExceeded, Unsupported), Budget(seconds=SOON).timed():
        for problem in lang.syntax.check(query, schema).problems:
            if problem.rule == "never":
                warn(QueryWarning(problem.hinted, problem.span), text)


@contextmanager
def echoed_notes() -> Iterator[None]:
    """Write notes to standard error about data that the readers in this context leave out of files."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always", InputWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in issued):
        echo(f"cerify: note: {shortened(message)}", error=True)


# ---------------------------------------------------------------------------------------------------------------------
# The progress of long commands on standard error: a bar on a terminal, elsewhere a line now and then.

EVERY = 20.0  # seconds between two lines if standard error is not a terminal

Report = Callable[[str, int, int], None]
"""A function that is called with the name of a step, the amount done, and the total amount."""


def progress_bar(transient: bool = True) -> Progress:
    """Return a progress bar on standard error, with a description, the amounts done and planned, and the time taken.

    A transient bar is removed at the end. Raises MissingPackage.
    """
    with naming_extras():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = screen(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=transient, disable=not console.is_terminal)


LARGE_FILES = 2**28  # bytes


def are_large(files: Sequence[str]) -> bool:
    """Return whether it takes a while to read these files."""
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file)) >= LARGE_FILES


@contextmanager
def progress_over(files: Sequence[str]) -> Iterator[Report | None]:
    """Yield a function that shows progress if the files are large and rich is installed; else None."""
    if not installed("rich") or not are_large(files):
        yield None
        return
    with progress() as report:
        yield report


@contextmanager
def progress(every: float = EVERY) -> Iterator[Report]:
    """Yield a function that shows progress: on a terminal as a bar, which is removed at the end, otherwise as lines.

    every: the seconds between two lines. A step that takes longer prints several lines.
    """
    with progress_bar() as bar:
        task = bar.add_task("starting", total=None)
        began, ended, line = time.monotonic(), threading.Event(), "starting"

        def report(what: str, done: int, total: int) -> None:
            nonlocal line
            bar.update(task, description=what, completed=done, total=total)
            line = f"{printable(what)}: {done:,} of {total:,}"

        def print_lines() -> None:
            while not ended.wait(every):
                echo(f"cerify: {line}, after {time.monotonic() - began:,.0f} s", error=True)

        printer = threading.Thread(target=print_lines, daemon=True)
        if bar.disable:
            printer.start()
        try:
            yield report
        finally:
            ended.set()
            if bar.disable:
                printer.join()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt in this context, so that a command can report results so far."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set signal handlers
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in ending_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


EARLY_SECONDS = 10.0


@dataclass
class EarlyResults:
    """A printer that writes results of a long run to standard error as they are found.

    In a run shorter than `seconds`, it prints nothing. Standard output gets only the report, so that programs can read
    it in the same way after short and long runs. Example: early = EarlyResults(); early.add("d1 ...");
    early.print_due()
    """

    seconds: float = field(default_factory=lambda: EARLY_SECONDS)
    _waiting: list[str] = field(default_factory=list)
    _started: float = field(default_factory=time.monotonic)

    def add(self, text: str) -> None:
        """Print a result of one or more lines, or keep it until the run has taken long enough."""
        self._waiting.append(text)
        self.print_due()

    def print_due(self) -> None:
        """Print the results that were kept, if the run has taken long enough."""
        if self._waiting and time.monotonic() - self._started >= self.seconds:
            for text in self._waiting:
                echo(text, error=True)
            self._waiting.clear()


# ---------------------------------------------------------------------------------------------------------------------
# The line that a command prints about a file that it has written.


def echo_written(query: str, language: str, file: Path, summary: str, as_json: bool) -> None:
    """Print the path of a written file and what it shows, as a line or as one JSON object."""
    answer = {"language": language, "query": query, "file": str(file), "summary": summary}
    echo(json.dumps(answer, ensure_ascii=False) if as_json else f"{file}: {summary}")
