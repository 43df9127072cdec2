"""cerify explain: explain why something matched, or why it did not; cerify misses: how far each start came.

What an explanation contains is decided by the explainer of the language (`explanations/`); here it is asked for and
printed. `cerify draw` and `cerify step`, which show a query's automaton and its work on a stream, are in this module
because they take the same query and events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import click

from cerify.api import diagram_of, hoa_of, plan_query, preference_tree, read_query, record
from cerify.automata.evaluator import Output
from cerify.commands.options import (
    EVENTS,
    OUTPUT,
    READINGS,
    AtLeast,
    ChoiceOption,
    FileSource,
    argument,
    echo_written,
    either,
    format_of,
    group,
    language,
    option,
    parse_attributes,
    sql_dialect,
    takes,
    warn_of_never,
)
from cerify.commands.rules import with_rule_of, with_table_of
from cerify.draw.diagram import Diagram, cropped_page, document, dot, markup, page, svg, tikz, write_page
from cerify.draw.stepper import stepper, summary
from cerify.draw.timeline import MOST_ROWS, WHOLE, drawn, match_row, places_row
from cerify.explanations.explanation import Explainer, Request, explanation_lines, listing_lines
from cerify.explanations.near_misses import MISSES, NearMissReport
from cerify.languages.language import Language, Options, reading_options
from cerify.semantics.arguments import Budget, short_repr
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported, errors_in
from cerify.semantics.events import ComplexEvent, Match, Stream, Valuation
from cerify.semantics.files import write_bytes, write_whole
from cerify.semantics.match_frames import MatchColumns, shown_cell, written_table
from cerify.semantics.values import plain
from cerify.terminal import Line, echo, echo_lines, table_lines

FUNNEL = Budget(seconds=2.0)  # the time for the funnel of a query without matches


@dataclass(frozen=True)
class ExplainArguments:
    """The arguments and options of `cerify explain`."""

    query: str = argument()
    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    language: str = language()
    dialect: str | None = sql_dialect()
    readings: tuple[str, ...] = option(
        "--reading",
        multiple=True,
        metavar="NAME=VALUE",
        help=f"{READINGS} Sigma: each answer of cerify match.",
    )
    match_text: str | None = option(
        "--match", metavar="POSITIONS", help="The positions to explain, as in 1,8.  [default: matches]"
    )
    valuation_text: str | None = option(
        "--valuation",
        metavar="JSON",
        help='Explain why the variables bind these positions, such as {"T": [1], "H": [8]}.',
    )
    output: Output = option(
        "--output",
        type=ChoiceOption(get_args(Output)),
        default="matches",
        help="Without --match: explain each match, or each valuation of each match.",
    )
    at: int | None = option(
        "--at",
        type=int,
        metavar="N",
        help="The position at which the match is reported.  [default: the last of POSITIONS]",
    )
    derivations: int = option(
        "--derivations", type=AtLeast(1), default=1, metavar="N", help="With --match: show up to N derivations."
    )
    limit: int = option(
        "--limit", type=AtLeast(1), default=10, metavar="N", help="Without --match: explain the first N matches."
    )
    source: FileSource = group(FileSource)
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")
    html_file: Path | None = option("--html", type=OUTPUT, metavar="FILE", help="Write an HTML page.")


@click.command()
@takes(ExplainArguments)
def explain_command(args: ExplainArguments) -> int:
    """Explain why positions of FILE are a match of QUERY, or why they are not.

    With --valuation, explain why the variables bind their positions. Without --match and --valuation, explain the
    matches of the stream in their order. For an event expression, explain the event --at N; for a query of SASE+, the
    runs that bind the positions. FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. Positions count
    from 0.

    Exit status: 0 if the positions are a match, 1 if not (for a whole stream: if it has no match), 2 on an error.
    """
    query, language_, S = with_table_of(
        args.query, args.language, args.source, args.file, args.dialect, args.readings, takes_readings=True
    )
    args = replace(args, query=query, language=language_)
    match_text, valuation_text = args.match_text, args.valuation_text
    schema = args.source.schema_for(args.language) if S is None else None
    lang, tree = read_query(query, args.language, schema)
    if lang.answer and (valuation_text is not None or args.output != "matches"):
        raise click.UsageError(f"{lang.answer}; leave out --valuation and --output valuations")
    with errors_in(query):
        events = args.source.read_for(query, args.language, args.file) if S is None else S
        if args.readings and S is None:
            options = Options(**reading_options(lang, args.readings))
            explainer = lang.explanations.explainer_in_reading(tree, events, query, options)
        else:
            explainer = lang.explanations.explainer(tree, events, query)
        request = Request(
            None if match_text is None else positions(match_text, explainer),
            None if valuation_text is None else valuation(valuation_text, explainer),
            args.at,
            args.derivations,
            args.limit,
            args.output,
        )
        found = explainer.explain_request(request)
        listing = explainer.all(request) if found is None else None
        if listing is not None and not (listing.found or listing.reasons) and args.at is None and explainer.S:
            listing = replace(listing, reasons=tuple(funnel(lang, tree, explainer)))
        shown = [found] if listing is None else listing.found
        if args.html_file is not None:
            from cerify.explanations.explanation import render

            write_whole(args.html_file, render(explainer, shown, listing))
        if args.as_json:
            answer = explainer.json(found) if listing is None else explainer.listing_json(listing)
            echo(json.dumps(answer, ensure_ascii=False))
        else:
            echo_lines(explanation_lines(explainer, found) if listing is None else listing_lines(explainer, listing))
        if shown and explainer.view(shown[0]).matched:
            return 0
        warn_of_never(lang, tree, schema, query)
        return 1


def funnel(lang: Language[Any], tree: Any, explainer: Explainer[Any]) -> Iterator[str]:
    """Yield lines on how far the sequences of a query without matches came, step by step.

    Yield none if the query is not a sequence, or if the search takes too long.
    """
    try:
        report = lang.explanations.near_misses(tree, explainer.S, 1, FUNNEL)
    except (Unsupported, InputError, BudgetExceeded):
        return
    yield from report.show_sentences()
    yield f"cerify misses lists the starts that did not complete. {explainer.hint}".rstrip()


def positions(text: str, explainer: Explainer[Any]) -> ComplexEvent:
    """Parse the positions in the text of --match. Raises InputError."""
    places: list[int] = []
    for part in text.split(",") if text.strip() else ():
        if not re.fullmatch(r"\s*[0-9]{1,40}\s*", part):  # Python refuses numbers of more than 4,300 digits
            raise InputError(
                f"--match takes positions, separated by commas, as in 1,8; {short_repr(part.strip())} is not a position"
            )
        explainer.require_on_stream(int(part), "--match")
        places.append(int(part))
    if places != sorted(set(places)):
        raise InputError(
            f"--match takes each position once, in ascending order: {','.join(map(str, sorted(set(places))))}"
        )
    return frozenset(places)


def valuation(text: str, explainer: Explainer[Any]) -> Valuation:
    """Parse the valuation in the text of --valuation. Raises InputError."""
    try:
        read_ = json.loads(text)
    except (ValueError, RecursionError):
        read_ = None
    wrong = '--valuation takes a JSON object of variables and the positions that each binds, as in {"T": [1], "H": [8]}'
    if not isinstance(read_, dict):
        raise InputError(wrong)
    for places in read_.values():
        if not isinstance(places, list) or any(type(p) is not int for p in places):
            raise InputError(wrong)
        for p in places:
            explainer.require_on_stream(p, "--valuation")
    return frozenset((A, p) for A, places in read_.items() for p in places)


# ---------------------------------------------------------------------------------------------------------------------
# cerify draw: the automaton of a query, a stream with its matches, or the ways to label the rows, as a picture.

PICTURES = (".svg", ".html", ".pdf")
TEXTS = (".dot", ".hoa", ".tex")
"""The suffixes of files that `draw -o` can write: pictures, and texts of automata for other programs."""


@dataclass(frozen=True)
class DrawArguments:
    """The arguments and options of `cerify draw`."""

    query: str = argument()
    file: str | None = argument(required=False, type=EVENTS)
    tree: int | None = option(
        "--tree",
        type=int,
        metavar="ROW",
        help="With FILE, draw the ways to label the rows from ROW on (MATCH_RECOGNIZE).",
    )
    language: str = language()
    output_file: Path | None = option(
        "-o",
        "--output",
        type=OUTPUT,
        metavar="FILE",
        help="Write to FILE; its suffix says what: .svg, .html, .pdf; for an automaton also .dot, .hoa, .tex (TikZ).",
    )
    printed: str | None = either(
        option("--svg", flag_value="svg", help="Print the picture."),
        option("--dot", flag_value="dot", help="Print the automaton for Graphviz."),
        option(
            "--hoa", flag_value="hoa", help="Print the automaton in the HOA format (not of SASE+, MATCH_RECOGNIZE)."
        ),
    )
    source: FileSource = group(FileSource)
    as_json: bool = option("--json", is_flag=True, help="With -o, print what was written as one JSON object.")


@click.command()
@takes(DrawArguments)
def draw_command(args: DrawArguments) -> int:
    """Draw the automaton of QUERY; with FILE, draw the events of FILE and the matches of QUERY.

    With --tree, draw how variables can be assigned to the rows from ROW on, the preferred assignment first.

    FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. The picture needs no other file and follows the
    reader's choice of light or dark. With -o it goes to a file, with --svg, --dot or --hoa to standard output. For
    .pdf, Chromium must be installed.

    Exit status: 0 if the picture was drawn, 2 on an error.
    """
    _require_consistent(args)
    query, language_ = with_rule_of(args.query, args.language)
    args = replace(args, query=query, language=language_)
    output_file = args.output_file
    form = args.printed or (output_file.suffix.removeprefix(".") if output_file is not None else "")
    with errors_in(query):
        if args.file is None or args.tree is not None:
            title = "Automaton" if args.tree is None else "Labellings"
            diagram = _diagram(args)
            node, edge = ("node", "branch") if diagram.is_tree else ("state", "arrow")
            says = f"{_count(len(diagram.states), node)}, {_count(len(diagram.edges), edge)}"
            match form:
                case "dot":
                    text = dot(diagram)
                case "tex":
                    text = tikz(diagram)
                case "hoa":
                    text = hoa_of(query, args.language, args.source.schema)
                case _:
                    text = svg(diagram)
        else:
            title = "Stream and matches"
            text, says = _stream(query, args.language, args.source.read_for(query, args.language, args.file))
    if form == "svg":
        text = document(text)
    elif form == "pdf":
        text = cropped_page(text)
    elif form == "html":
        text = page("draw/drawing.html", title=title, query=query, says=f"{says}.", drawing=markup(text))
    if output_file is None:
        echo(text, newline=False)
        return 0
    write_page(output_file, text)
    echo_written(query, args.language, output_file, says, args.as_json)
    return 0


def _require_consistent(args: DrawArguments) -> None:
    """Raise UsageError for options that cannot be combined."""
    output_file, printed = args.output_file, args.printed
    if (output_file is None) == (printed is None):
        raise click.UsageError("write the picture to a file with -o FILE, or print it with --svg, --dot or --hoa")
    suffix = output_file.suffix if output_file is not None else f".{printed}"
    if suffix not in PICTURES + TEXTS:
        raise click.UsageError(
            f"cerify draw cannot write a {suffix or 'file without a suffix'}; name a file that ends in "
            f"{', '.join(PICTURES)}, or for an automaton in {', '.join(TEXTS)}"
        )
    if args.tree is not None and (args.file is None or suffix == ".hoa"):
        raise click.UsageError("--tree needs FILE, the table with this row, and does not support --hoa")
    if args.file is not None and args.tree is None and suffix in TEXTS:
        raise click.UsageError(
            f"only an automaton can be written as {suffix}; for a stream with its matches, use {', '.join(PICTURES)}"
        )
    if args.as_json and output_file is None:
        raise click.UsageError("--json needs -o, since the picture itself is printed without -o")


def _diagram(args: DrawArguments) -> Diagram:
    """Return the diagram to draw: the automaton, or with --tree the tree of assignments of variables to rows."""
    if args.file is None or args.tree is None:
        return diagram_of(args.query, args.language, args.source.schema)
    S = args.source.read_for(args.query, args.language, args.file)
    return preference_tree(args.query, S, args.tree, args.language)


def _stream(query: str, language: str, S: Stream) -> tuple[str, str]:
    plan = plan_query(query, language, S.schema, Options(), None)
    if plan.language.takes_place:
        found = list(plan.matches(S))
        shown = found if len(S) <= WHOLE else found[:MOST_ROWS]
        rows = [places_row(" ".join(query.split()), [match.at for match in shown])]
        says = f"{_count(len(S), 'event')}, it takes place at {len(found)} of them"
    else:
        found = list(islice(plan.matches(S), MOST_ROWS + 1))
        shown = found[:MOST_ROWS]
        rows = list(map(match_row, shown))
        says = f"{_count(len(S), 'event')}, {_count(len(shown), 'match')}"
    if len(found) > len(shown):
        says = f"{says}; only the first {len(shown)} are drawn" if rows[0].at is None else f"{says}, and there are more"
    return drawn(S, rows), says


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 'es' if word.endswith('ch') else 's'}"


# ---------------------------------------------------------------------------------------------------------------------
# cerify step: the run of an evaluator over a stream, as a page on which the reader steps forward and back.


@dataclass(frozen=True)
class StepArguments:
    """The arguments and options of `cerify step`."""

    query: str = argument()
    file: str = argument(type=EVENTS)
    language: str = language()
    output_file: Path = option(
        "-o", "--output", type=OUTPUT, metavar="FILE", required=True, help="Write the page to FILE.html."
    )
    valuations: bool = option("--valuations", is_flag=True, help="Show which variable binds which positions (CEL).")
    source: FileSource = group(FileSource)
    as_json: bool = option("--json", is_flag=True, help="Print what was written as one JSON object.")


@click.command()
@takes(StepArguments)
def step_command(args: StepArguments) -> int:
    """Show the evaluator at work: QUERY over the events of FILE, one step for each event.

    FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. The page needs no other file. It shows the
    stream, the automaton with its active states, the partial matches in these states, and the matches. The reader can
    step forward and back.

    Exit status: 0 if the page was written, 2 on an error.
    """
    if args.output_file.suffix != ".html":
        raise click.UsageError(f"the file of -o must end in .html, not {args.output_file.name}")
    query, language_ = with_rule_of(args.query, args.language)
    args = replace(args, query=query, language=language_)
    with errors_in(args.query):
        S = args.source.read_for(args.query, args.language, args.file)
        run = record(args.query, S, args.language, "valuations" if args.valuations else "matches")
        text = stepper(run)
    write_whole(args.output_file, text)
    echo_written(args.query, args.language, args.output_file, summary(run), args.as_json)
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# cerify misses: show how far each start of a sequence came, and which step incomplete sequences lacked.

SHOWN = 20  # the most near misses in a table on the terminal


@dataclass(frozen=True)
class MissesArguments:
    """The arguments and options of `cerify misses`."""

    query: str = argument()
    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    language: str = language()
    limit: int | None = option(
        "--limit",
        type=AtLeast(1),
        metavar="N",
        help="List N near misses, the deepest first.  [default: 20, or 1,000 in a file]",
    )
    time_limit: float | None = option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop with an error after this time.",
    )
    source: FileSource = group(FileSource)
    show: str | None = option(
        "--show", metavar="ATTRIBUTES", help="Show these attributes of the events of near misses, such as time,amount."
    )
    out: Path | None = option(
        "-o", type=OUTPUT, metavar="FILE", help="Write the near misses to a file (.csv, .parquet, .jsonl)."
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")


@click.command()
@takes(MissesArguments)
def misses_command(args: MissesArguments) -> int:
    """Print how far the sequences of QUERY came over the events in FILE, step by step.

    For each event that takes the first step without completing the sequence, print the steps taken and the cause. QUERY
    is a sequence of single events, with windows, keys and UNLESS, or a sequence in EQL, by its text or a file .eql or
    .toml. FILE is CSV, JSON Lines, Parquet or Arrow IPC.

    Exit status: 0 if a sequence completed, 1 if none did, 2 on an error.
    """
    query, language_ = with_rule_of(args.query, args.language)
    lang, tree = read_query(query, language_, args.source.schema_for(language_))
    budget = Budget(seconds=args.time_limit)
    limit = args.limit or (SHOWN if args.out is None else MISSES)
    format_ = None if args.out is None else format_of(args.out)
    with errors_in(query), budget.timed():
        S = args.source.read_for(query, language_, args.file)
        funnel = lang.explanations.near_misses(tree, S, limit, budget)
    names = parse_attributes(args.show)
    matches = [Match(miss.start, miss.events) for miss in funnel.misses]
    shown = {} if names is None and args.out is None else MatchColumns(matches, S, names).columns_of_attributes()
    if args.out is not None and format_ is not None:
        write_bytes(args.out, written_table(_columns(funnel) | shown, format_))
    if args.as_json:
        echo(json.dumps(funnel.json(), ensure_ascii=False))
    else:
        for line in funnel.show_sentences():
            echo(line)
        if funnel.misses and args.out is None:
            echo_lines(_table(funnel, shown))
        if funnel.left_out:
            echo(f"and {funnel.left_out:,} more; --limit N lists more")
    if args.out is not None:
        number = len(funnel.misses)
        echo(f"{number:,} near miss{'' if number == 1 else 'es'} written to {args.out}", error=True)
    return 0 if funnel.completed else 1


def _columns(funnel: NearMissReport) -> dict[str, list[Any]]:
    """Return the near misses as the columns of a table, with a column for each attribute of the key."""
    misses = funnel.misses
    names = dict.fromkeys(name for miss in misses for name in miss.key)
    return {
        "start": [miss.start for miss in misses],
        **{name: [miss.key.get(name) for miss in misses] for name in names},
        "steps": [miss.depth for miss in misses],
        "events": [list(miss.events) for miss in misses],
        "missing": [miss.missing for miss in misses],
        "cause": [miss.cause for miss in misses],
        "event": [miss.event for miss in misses],
        "message": [miss.message for miss in misses],
    }


def _table(funnel: NearMissReport, shown: Mapping[str, Sequence[Any]]) -> list[Line]:
    names = list(dict.fromkeys(name for miss in funnel.misses for name in miss.key))
    rows = [
        (
            str(miss.start),
            *(str(plain(miss.key.get(name, ""))) for name in names),
            f"{miss.depth} of {len(funnel.steps)}",
            ", ".join(map(str, miss.events)),
            *(shown_cell(values[i]) for values in shown.values()),
            miss.message,
        )
        for i, miss in enumerate(funnel.misses)
    ]
    return table_lines(("start", *names, "steps", "events", *shown, "what is missing"), rows)
