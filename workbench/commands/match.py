"""cerify match: print the matches of a query over a file of events.

Matches are printed while they are found, so that a long stream shows its first ones at once. With `--output rows` the
whole table is needed first. The last part is `cerify count`, which takes the same options and lists nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from cerify.api import parse, plan_query, read_query, show
from cerify.automata.evaluator import Consumption, Output
from cerify.commands.options import (
    CONSUMPTIONS,
    EVENTS,
    FILE,
    OUTPUT,
    SELECTIONS,
    AtLeast,
    ChoiceOption,
    FileSource,
    are_large,
    argument,
    echoed_notes,
    echoed_warnings,
    format_of,
    group,
    language,
    option,
    parse_attributes,
    progress_over,
    takes,
    warn_of_never,
)
from cerify.commands.rules import with_rule_of
from cerify.languages import language_named
from cerify.languages.language import (
    DENOTATIONAL,
    EVALUATORS,
    Evaluators,
    Language,
    Options,
    OutputTable,
    ValuedMatch,
    reading_options,
)
from cerify.parts import FileQuery
from cerify.plan import Plan
from cerify.semantics.arguments import Budget, Selection, choices, parse_reading, timed_items
from cerify.semantics.ecs import shown_fields
from cerify.semantics.errors import InputError, MissingPackage, TooManyMatches, Unsupported, errors_in
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.files import NotInParts, write_bytes
from cerify.semantics.json_events import parse_json, text_of
from cerify.semantics.match_frames import MatchColumns, Matches, OutputFormat, shown_cell, written_table
from cerify.semantics.readings import DialectName, Reading, RowReading, SigmaReading
from cerify.semantics.values import Value, plain
from cerify.terminal import echo, echo_lines, on_terminal, printable, table_lines

if TYPE_CHECKING:
    from cerify.semantics.row_pattern.syntax import Product
    from cerify.statements import Pasted, PastedTable


from cerify.api import count

TABLE_ROWS = 100
MOST_LINES = 1_000_000  # the most lines of JSON without --limit
LINES_TOGETHER = 20_000  # lines printed at once if all matches are known; else each match is printed when it is found


def _other_answers(kind: type) -> str:
    """Return, as text, each field of a class of readings with its values other than the default."""
    return ", ".join(f"{name}={'|'.join(answers[1:])}" for name, answers in choices(kind).items())


@dataclass(frozen=True)
class MatchArguments:
    """The arguments and options of `cerify match`."""

    query: str = argument()
    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1)
    query_file: Path | None = option(
        "--query", type=FILE, metavar="FILE", help="A query as the JSON of its syntax tree, instead of QUERY."
    )
    language: str = language()
    evaluator: str | None = option(
        "--evaluator",
        type=ChoiceOption(EVALUATORS),
        help="kernel: the automaton, compiled to machine code; denotational: the reference evaluator, slow but for "
        "every query.  [default: automaton, or denotational if the automaton does not support the query]",
    )
    source: FileSource = group(FileSource)
    output: Literal["matches", "rows"] | None = option(
        "--output",
        type=ChoiceOption(["matches", "rows"]),
        help="Print the matches, or the table that the query computes (MATCH_RECOGNIZE).  [default: matches; rows "
        "for a SELECT]",
    )
    dialect: str | None = option(
        "--dialect",
        type=ChoiceOption(get_args(DialectName)),
        help="The SQL dialect of QUERY, a clause of MATCH_RECOGNIZE or a SELECT with one.",
    )
    limit: int | None = option(
        "--limit",
        type=AtLeast(1),
        metavar="N",
        help=f"Stop after N matches.  [default: {TABLE_ROWS} in the table, {MOST_LINES} with --json]",
    )
    valuations: bool = option(
        "--valuations", is_flag=True, help="Show which variable binds which positions, or values."
    )
    readings: tuple[str, ...] = option(
        "--reading",
        multiple=True,
        metavar="NAME=VALUE",
        help="Another answer to a question that the papers of SASE+, SQL or Sigma leave open, such as "
        f"window=closed or nulls=last; may be given again. SASE+: {_other_answers(Reading)}. MATCH_RECOGNIZE: "
        f"{_other_answers(RowReading)}. Sigma: {_other_answers(SigmaReading)}.",
    )
    selection: str = option(
        "--selection",
        type=SELECTIONS,
        default=Selection.ALL.value,
        help="Keep only the matches that this selection strategy selects among all of QUERY.",
    )
    consumption: str = option(
        "--consumption",
        type=CONSUMPTIONS,
        default=Consumption.NONE.value,
        help="Which events later matches cannot use; any: all events up to the match's position.",
    )
    time_limit: float | None = option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop with an error after this time.",
    )
    show: str | None = option(
        "--show", metavar="ATTRIBUTES", help="Show these attributes of the matched events, such as user_id,price."
    )
    out: Path | None = option(
        "-o", type=OUTPUT, metavar="FILE", help="Write the matches to a file, with their attributes as columns."
    )
    output_format: OutputFormat | None = option(
        "--output-format",
        type=ChoiceOption(get_args(OutputFormat)),
        help="The format of the file, if its suffix does not say it.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print one match per line, as JSON.")

    @property
    def attributes(self) -> list[str] | None:
        """Return the attributes to show; None if the option is not given."""
        return parse_attributes(self.show)


@click.command()
@takes(MatchArguments)
def match_command(args: MatchArguments) -> int:
    """Print the matches of QUERY over the events in FILE.

    FILE is CSV, JSON, JSON Lines, Parquet or Arrow IPC; - is standard input. Several files are one stream, in their
    order. Positions count from 0.

    Exit status: 0 if something matched, 1 if nothing did, 2 on an error.
    """
    source = args.source
    args = _with_query(args)
    query, language_ = with_rule_of(args.query, args.language, takes_statements=True)
    args = replace(args, query=query, language=language_)
    args, pasted = _pasted(args)
    if not args.file and (pasted is None or pasted.reads_file):
        raise click.UsageError("Missing argument 'FILE...'.")
    if args.file and pasted is not None and not pasted.reads_file:
        raise click.UsageError("the statement contains its own table; leave FILE out")
    schema = source.schema_for(args.language)
    chosen = pasted is not None and pasted.below is not None
    if chosen and args.output != "rows":
        raise click.UsageError("FROM has a query, and its rows have no positions in FILE; leave --output matches out")
    S = table = None
    if pasted is not None:
        with errors_in(pasted.text), Budget(seconds=args.time_limit).timed():
            S = source.read_in(language_named(args.language), args.file) if args.file else Stream([])
            table = _table_of(pasted, S, parse_reading(RowReading, args.readings))
            S = table.S
            args = replace(args, query=language_named(args.language).syntax.show(table.clause))
            source.warn_of_fit(pasted.text, args.language, S, table.clause)
        # The clause then has columns that the file, and so its schema, does not have.
        schema = None if chosen or pasted.windows else schema
    lang, tree = read_query(args.query, args.language, schema)
    if args.valuations and lang.answer and not lang.takes_place:
        raise click.UsageError(f"{lang.answer}; leave out --valuations")
    if args.output == "rows" and type(lang.evaluators).output_table is Evaluators.output_table:
        raise click.UsageError(f"a query in {lang.title} makes no table; leave --output rows out")
    output: Output = "valuations" if args.valuations and not lang.answer else "matches"
    consumption, selection = Consumption(args.consumption), Selection(args.selection)
    budget = Budget(seconds=args.time_limit)
    options = Options(output, budget, consumption=consumption, **reading_options(lang, args.readings))
    with errors_in(args.query), budget.timed():
        plan = plan_query(tree, args.language, schema, options, args.evaluator, selection)
        printed, status = _print_parts(lang, plan, options, args) if S is None else (0, None)
        if status is None:
            S = source.read_for(args.query, args.language, args.file) if S is None else S
            if "row_reading" in lang.settings:
                from cerify.statements import truncated_divisions

                _warn_of_divisions(truncated_divisions(tree, S), args)
            with _pointing_to_denotational(plan):
                status = _print(lang, plan, S, options, args, table, printed)
        if status == 1:
            warn_of_never(lang, tree, schema, args.query)
        return status


def _with_query(args: MatchArguments) -> MatchArguments:
    """Return the arguments, with the text of the query that --query gives as JSON.

    With --query, the first argument is a file of events.
    """
    if args.query_file is None:
        return args
    obj = parse_json(text_of(args.query_file), str(args.query_file))
    try:
        tree = parse(obj if isinstance(obj, dict) else {"node": obj}, args.language)
    except InputError as error:
        raise InputError(f"{args.query_file}: {error.message}") from None
    return replace(args, query=show(tree), file=(args.query, *args.file), query_file=None)


def _pasted(args: MatchArguments) -> tuple[MatchArguments, Pasted | None]:
    """Return the arguments, and the MATCH_RECOGNIZE clause or SELECT that the user pasted; None if the query is another
    one.

    If a SELECT was pasted, the query in the returned arguments is the clause inside it.
    """
    if "row_reading" not in language_named(args.language).settings:
        if args.dialect is not None:
            raise click.UsageError("--dialect is only for queries in MATCH_RECOGNIZE; leave it out")
        return args, None
    from cerify.semantics.row_pattern.statement import is_statement
    from cerify.semantics.row_pattern.syntax import show as show_clause
    from cerify.statements import read_pasted, reading_texts, split_duration

    if args.dialect is None and not is_statement(args.query):
        return args, None
    duration, others = split_duration(args.readings)
    with echoed_warnings(args.query):
        pasted = read_pasted(args.query, args.dialect or "standard", duration)
    output = args.output or ("matches" if pasted.statement is None else "rows")
    readings = (*reading_texts(pasted.reading), *others)  # the last of two answers to one question counts
    return replace(args, query=show_clause(pasted.clause), readings=readings, output=output), pasted


def _warn_of_divisions(divisions: Iterable[Product], args: MatchArguments) -> None:
    """Warn on standard error of divisions of integers, unless --dialect or --reading determines their result."""
    from cerify.semantics.row_pattern.check import WHOLE
    from cerify.semantics.row_pattern.syntax import show_expression

    if args.dialect is None and not any(one.strip().startswith("integer_division") for one in args.readings):
        for text in dict.fromkeys(map(show_expression, divisions)):
            echo(f"cerify: warning: {text} {WHOLE}", error=True)


def _table_of(pasted: Pasted, S: Stream, reading: RowReading) -> PastedTable:
    """Return a pasted clause or SELECT with the table that it reads; write warnings about it to standard error."""
    with echoed_warnings(pasted.text):
        return pasted.over(S, reading)


def _print(
    lang: Language[Any],
    plan: Plan[Any],
    S: Stream,
    options: Options,
    args: MatchArguments,
    table: PastedTable | None,
    printed: int = 0,
) -> int:
    """Print the results of the plan, and return the exit status. printed: how many matches were printed before."""
    if args.output == "rows":
        made = plan.output_table(S)
        if table is not None and table.pasted.statement is not None:
            from cerify.statements import truncated_around

            _warn_of_divisions(truncated_around(table.pasted.statement, made), args)
        return _print_rows(made if table is None else table.output(made, options.row_reading), args)
    matches = _matches_to_show(plan, S, args)
    is_open = lang.evaluators.open_test(plan.query, S, options)
    if args.out is not None:
        return _write(matches, S, is_open, args)
    shown = Shown(S, args.attributes, is_open)
    if args.as_json:
        return _warn_of_more(_print_json(matches, shown, args.limit or MOST_LINES, printed), args.limit)
    results = lang.results and args.attributes is None
    return _print_table(timed_items(matches), shown, args.limit or TABLE_ROWS, args.valuations or results, results)


def _print_parts(
    lang: Language[Any], plan: Plan[Any], options: Options, args: MatchArguments
) -> tuple[int, int | None]:
    """Print or write matches while Parquet files are being read.

    Return the number of printed matches, and the exit status. The status is None if an option or the query needs all
    events first: then read the files as a whole and continue after the printed matches.
    """
    alone = (args.as_json and args.attributes is None) or args.out is not None
    whole = options.consumption is not Consumption.NONE or args.evaluator or args.valuations or args.source.strict
    if not alone or whole or not args.source.is_parquet(args.file):
        return 0, None
    if lang.evaluators.open_test(plan.query, Stream([]), options) is not None:
        return 0, None
    number = 0
    with suppress(NotInParts):
        with echoed_notes(), nullcontext(None) if args.out is None else progress_over(args.file) as report:
            found = FileQuery(lang, plan.query, args.file, options, report)
            if found.reach is None and are_large(args.file):
                echo("cerify: note: the query has no window around it, so memory grows with the files", error=True)
            if args.out is not None:
                format_ = format_of(args.out, args.output_format)
                number = found.write(args.out, format_, args.attributes, args.limit)
            else:
                most, shown = args.limit or MOST_LINES, Shown(Stream([]), None, None)
                for matches in found.matches():
                    number += _print_json(matches, shown, most - number)
                    if number > most:
                        break
        return number, _warn_of_more(number, args.limit) if args.out is None else _report_written(number, args.out)
    return number, None


def _report_written(number: int, path: Path) -> int:
    """Say how many matches were written to a file, and return the exit status."""
    echo(f"{number} match{'' if number == 1 else 'es'} written to {path}", error=True)
    return 0 if number else 1


def _warn_of_more(number: int, limit: int | None) -> int:
    """Warn of matches that are not printed, unless a limit was given; return the exit status."""
    if limit is None and number > MOST_LINES:
        echo(f"cerify: warning: the first {MOST_LINES} matches; there are more: --limit N prints N", error=True)
    return 0 if number else 1


def _matches_to_show(plan: Plan[Any], S: Stream, args: MatchArguments) -> Iterable[Match]:
    if args.valuations:
        return plan.with_values(S)
    if args.limit is None and (args.as_json or args.out is not None):
        with suppress(TooManyMatches):  # then they are found one by one
            return plan.in_full(S)
    return plan.matches(S)


@contextmanager
def _pointing_to_denotational(plan: Plan[Any]) -> Iterator[None]:
    """Add to the message of Unsupported that the evaluator `denotational` supports the query, unless it was already
    tried.
    """
    try:
        yield
    except Unsupported as error:
        if isinstance(error, MissingPackage) or DENOTATIONAL in (plan.evaluator, *plan.why_not):
            raise
        raise Unsupported(f"{error.message}; try --evaluator {DENOTATIONAL}", error.span) from None


@dataclass(frozen=True)
class Shown:
    """The data of a match to show besides its positions: attributes of its events, and whether the match is open."""

    S: Stream
    attributes: list[str] | None
    is_open: Callable[[Match], bool] | None

    def columns(self, match: Match) -> dict[str, Any]:
        """Return the requested attributes of a match by column. Raises IllFormed if no event has one of these
        attributes.
        """
        if self.attributes is None:
            return {}
        found = MatchColumns([match], self.S, self.attributes).columns_of_attributes()
        return {name: values[0] for name, values in found.items()}


def _write_rows(made: OutputTable, args: MatchArguments) -> int:
    assert args.out is not None
    rows = made.rows[: args.limit]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(made.columns)}
    write_bytes(args.out, written_table(columns, format_of(args.out, args.output_format)))
    echo(f"{len(rows)} row{'' if len(rows) == 1 else 's'} written to {args.out}", error=True)
    return 0 if rows else 1


def _write(found: Iterable[Match], S: Stream, is_open: Callable[[Match], bool] | None, args: MatchArguments) -> int:
    """Write the matches to a file, and return the exit status."""
    assert args.out is not None
    format_ = format_of(args.out, args.output_format)
    matches: Sequence[Match] = (
        found if isinstance(found, Matches) and args.limit is None else list(islice(timed_items(found), args.limit))
    )
    open_ = None if is_open is None else [is_open(match) for match in matches]
    columns = MatchColumns(matches, S, args.attributes, open_).columns()
    write_bytes(args.out, written_table(columns, format_))
    return _report_written(len(matches), args.out)


def _print_json(matches: Iterable[Match], shown: Shown, most: int, first: int = 0) -> int:
    """Print the matches from index `first` up to `most`, a line each.

    Return the number of matches printed so far, including those before `first`, or most + 1 if there are further
    matches.
    """
    arrays = matches.arrays if isinstance(matches, Matches) else None
    if arrays is not None and shown.attributes is None and shown.is_open is None:
        for start in range(first, min(len(arrays), most), LINES_TOGETHER):
            echo(arrays.part(start, min(start + LINES_TOGETHER, most)).json_lines())
        return min(len(arrays), most + 1)
    together = LINES_TOGETHER if isinstance(matches, Sequence) else 1
    rest, number = islice(timed_items(matches), first, None), first
    while block := list(islice(rest, min(together, most - number))):
        echo("\n".join(_json_line(match, shown) for match in block))
        number += len(block)
    return number + any(True for _ in rest)


def _json_line(match: Match, shown: Shown) -> str:
    line = match.json()
    if shown.attributes is not None:
        line["shown"] = plain(shown.columns(match))
    if shown.is_open is not None and shown.is_open(match):
        line["open"] = True
    return json.dumps(line, ensure_ascii=False)


def _print_rows(made: OutputTable, args: MatchArguments) -> int:
    """Print the rows, with --json as one object; with -o write them to a file. Return the exit status."""
    if args.out is not None:
        return _write_rows(made, args)
    shown = made.rows[: args.limit or (None if args.as_json else TABLE_ROWS)]
    if args.as_json:
        echo(json.dumps(OutputTable(made.columns, shown).json(), ensure_ascii=False))
        return 0 if made else 1
    cells = [["NULL" if value is None else printable(str(_encode_value(value))) for value in row] for row in shown]
    if made.columns:
        echo_lines(table_lines([*map(printable, made.columns)], cells, ()))
    more = f", of which the first {len(shown)} are shown" if len(shown) < len(made) else ""
    echo(f"{len(made)} row{'' if len(made) == 1 else 's'}{more}")
    return 0 if made else 1


def _print_table(found: Iterator[Match], shown: Shown, limit: int, valuations: bool, results: bool) -> int:
    # One more than is shown, to know whether there are more.
    S, matches = shown.S, list(islice(found, limit + 1))
    if not matches:
        echo(f"no match in {len(S)} events{'; cerify explain QUERY FILE says why' if S else ''}")
        return 1
    with_open = shown.is_open is not None and any(map(shown.is_open, matches[:limit]))
    valuations &= not results or any(match.bindings for match in matches)
    columns: Mapping[str, Sequence[Any]] = {}
    if shown.attributes is not None:
        columns = MatchColumns(matches[:limit], S, shown.attributes).columns_of_attributes()
    headings = ["at", "events", *["bindings"] * valuations, *["result"] * results, *columns, *["open"] * with_open]
    headings += ["rows"] * on_terminal()
    rows = []
    for number, match in enumerate(matches[:limit]):
        cells = [str(match.at), _positions(match.events)]
        if valuations:
            values = match.values if isinstance(match, ValuedMatch) else ()
            bound = [
                *((X, _encode_value(v)) for X, v in values),
                *((x, _positions(p)) for x, p in match.bindings or ()),
            ]
            cells.append("\n".join(printable(f"{variable}: {shown}") for variable, shown in bound))
        if results:
            named = plain(match.result.attributes).items() if match.result is not None else ()
            written = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in named)
            cells.append("\n".join(map(printable, written)))
        cells += [printable(shown_cell(values[number])) for values in columns.values()]
        cells += ["open" if shown.is_open and shown.is_open(match) else ""] * with_open
        if on_terminal():
            cells.append("\n".join(f"{p}  {_row(S.part(p, 1)[0])}" for p in match.events))
        rows.append(cells)
    echo_lines(table_lines(headings, rows))
    if len(matches) > limit:
        echo(f"the first {limit} matches; there are more: --limit N shows N of them, --json all")
    else:
        echo(f"{len(matches)} match{'' if len(matches) == 1 else 'es'} in {len(S)} events")
    return 0


def _positions(positions: tuple[int, ...]) -> str:
    return " ".join(map(str, positions))


def _row(event: Event) -> str:
    values = ((name, "null" if value is None else _encode_value(value)) for name, value in shown_fields(event))
    return printable(" ".join([event.type, *(f"{name}={value}" for name, value in values)]))


def _encode_value(value: Value | timedelta) -> int | float | str:
    if isinstance(value, tuple):  # of ARRAY_AGG
        return json.dumps(plain(value), ensure_ascii=False)
    return value if isinstance(value, int | float | str) else str(plain(value))


# ---------------------------------------------------------------------------------------------------------------------
# cerify count: count the matches of a query over files of events.


@dataclass(frozen=True)
class CountArguments:
    """The arguments and options of `cerify count`."""

    query: str = argument()
    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    language: str = language()
    source: FileSource = group(FileSource)
    time_limit: float | None = option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop with an error after this time.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print an object with the number, as JSON.")


@click.command()
@takes(CountArguments)
def count_command(args: CountArguments) -> int:
    """Print how many matches QUERY has over the events in FILE.

    Matches are counted without being listed if an evaluator supports that. QUERY may also be a rule in EQL, given as a
    file .eql or .toml.

    Exit status: 0 if something matched, 1 if nothing did, 2 on an error.
    """
    budget = Budget(seconds=args.time_limit)
    text, language_ = with_rule_of(args.query, args.language)
    _, tree = read_query(text, language_, args.source.schema_for(language_))
    with errors_in(text), budget.timed():
        plain = args.source.is_parquet(args.file)
        with echoed_warnings(text):
            events: Any = args.file if plain else args.source.read_in(language_named(language_), args.file)
            number = count(tree, events, strict=args.source.strict, budget=budget)
    echo(json.dumps({"count": number}) if args.as_json else str(number))
    return 0 if number else 1
