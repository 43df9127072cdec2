"""cerify match: the matches of a query over a file of events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import click

from cerify.commands.files import Source, reads_events
from cerify.explain.evidence import printable
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import Unsupported, errors_in
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.values import Value, plain, show_time

if TYPE_CHECKING:
    from cerify.semantics.event_expressions.relation import Relation

TABLE_ROWS = 100


@click.command()
@click.argument("query")
@click.argument("file")
@click.option(
    "--language", type=click.Choice(["cel", "core-cel", "event-expression", "sase"]), default="cel", show_default=True
)
@click.option(
    "--evaluator",
    type=click.Choice(["automaton", "denotational"]),
    help="By automaton, or by the definition: slow, for all formulas.  [default: automaton; core-CEL: denotational]",
)
@reads_events
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Stop after N matches.  [default: {TABLE_ROWS} in the table, none with --json]",
)
@click.option("--valuations", is_flag=True, help="Tell which variable has which positions, or values.")
@click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another answer to what the papers of SASE+ leave open, as window=closed; may be given again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one match per line, as JSON.")
def command(
    query: str,
    file: str,
    language: str,
    evaluator: str | None,
    source: Source,
    limit: int | None,
    valuations: bool,
    readings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the matches of QUERY over the events in FILE.

    FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. Positions count from 0.

    Exit status: 0 if something matched, 1 if nothing did, 2 on an error.
    """
    if language == "core-cel" and valuations:
        raise click.UsageError("the answer of a core-CEL query is its complex events; its valuations are not listed")
    if language != "sase" and readings:
        raise click.UsageError("--reading is for SASE+ alone")
    match language:
        case "core-cel":
            prepared = _core_cel(query, evaluator)
        case "event-expression":
            prepared = _event_expression(query, evaluator, valuations)
        case "sase":
            prepared = _sase(query, evaluator, readings)
        case _:
            prepared = _cel(query, evaluator, valuations)
    schema = source.schema
    with errors_in(query):
        if schema is not None:
            prepared.require_typed(schema)
        S = source.read_for(query, language, file)
        found = prepared.matches(S)
        if as_json:
            return _print_json(islice(found, limit))
        return _print_table(found, S, limit or TABLE_ROWS, valuations or language == "sase", language == "sase")


@dataclass(frozen=True, order=True)
class _Valued(Match):
    """An event at which an event expression takes place, with values of its attribute variables for which it does."""

    values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True)
class _Prepared:
    """A parsed query of some language: how to check it against a schema, and how to evaluate it."""

    require_typed: Callable[[Schema], None]
    matches: Callable[[Stream], Iterator[Match]]


def _cel(query: str, evaluator: str | None, valuations: bool) -> _Prepared:
    phi = parse(query)
    return _Prepared(partial(require_typed, phi), lambda S: _matches(phi, S, evaluator, valuations))


def _core_cel(query: str, evaluator: str | None) -> _Prepared:
    from cerify.semantics.core_cel import interpreter, wellformed
    from cerify.semantics.core_cel.parse import parse as parse_core_cel

    phi = parse_core_cel(query)
    by_definition = evaluator != "automaton"
    found = partial(interpreter.matches_of, phi) if by_definition else partial(_by_automaton, phi)
    return _Prepared(partial(wellformed.require_typed, phi), lambda S: iter(found(S)))


def _event_expression(query: str, evaluator: str | None, valuations: bool) -> _Prepared:
    from cerify.automata.dfa.collect import tuples
    from cerify.evaluators import event_automaton, event_expression
    from cerify.semantics.event_expressions import wellformed
    from cerify.semantics.event_expressions.compatible import compatible
    from cerify.semantics.event_expressions.parse import parse as parse_expression

    E = parse_expression(query)

    def found(S: Stream) -> Iterator[Match]:
        if evaluator == "denotational":
            return _rows(compatible(E, S)) if valuations else iter(event_expression(E, S))
        with _pointing_to_denotational():
            return _rows(tuples(E, S)) if valuations else iter(event_automaton(E, S))

    return _Prepared(partial(wellformed.require_typed, E), found)


def _sase(query: str, evaluator: str | None, readings: tuple[str, ...]) -> _Prepared:
    from cerify.evaluators import SASE, sase_matches
    from cerify.semantics.sase.reading import read_reading

    reading, q = read_reading(readings), SASE.parse(query)
    found = partial(sase_matches, evaluator or "automaton", q, reading=reading)
    return _Prepared(partial(SASE.require_typed, q), lambda S: iter(found(S)))


def _rows(relation: Relation) -> Iterator[Match]:
    """The compatible tuples as matches."""
    for e, values in sorted(relation.rows):
        yield _Valued(e, (e,), values=tuple((X, v) for X, (_, v) in zip(relation.variables, values, strict=True)))


def _by_automaton(phi: core.Formula, S: Stream) -> Iterator[Match]:
    """The matches of a core-CEL formula by an automaton, if filters compare events by that of a CEL formula."""
    from cerify.automata.evaluate import core as evaluate_core
    from cerify.equivalence.rewrite.translate.to_cel import to_cel
    from cerify.semantics.core_cel.wellformed import is_unary

    if is_unary(phi):
        yield from evaluate_core.found(phi, S)
        return
    with _pointing_to_denotational():
        psi = to_cel(phi)
    yield from _matches(psi, S, "automaton", valuations=False)


@contextmanager
def _pointing_to_denotational() -> Iterator[None]:
    """What is unsupported inside can be evaluated by the definition."""
    try:
        yield
    except Unsupported as error:
        raise Unsupported(f"{error.message}; try --evaluator denotational", error.span) from None


def _matches(phi: Formula, S: Stream, evaluator: str | None, valuations: bool) -> Iterator[Match]:
    """The matches in the order of their positions; the automaton finds each only when it is asked for."""
    output: Literal["matches", "valuations"] = "valuations" if valuations else "matches"
    if evaluator == "denotational":
        from cerify.evaluators import EVALUATORS

        yield from EVALUATORS["denotational"](phi, S, output, Budget())
        return
    from cerify.automata.evaluate.streaming import found

    with _pointing_to_denotational():
        yield from found(phi, S, output)


def _print_json(matches: Iterator[Match]) -> int:
    status = 1
    for match in matches:
        line: dict[str, Any] = {"at": match.at, "events": list(match.events)}
        if isinstance(match, _Valued):
            line["values"] = {X: _shown(v) for X, v in match.values}
        if match.bindings is not None:
            line["bindings"] = {variable: list(positions) for variable, positions in match.bindings}
        if match.result is not None:
            line["result"] = plain(match.result.attributes)
        click.echo(json.dumps(line, ensure_ascii=False))
        status = 0
    return status


def _print_table(found: Iterator[Match], S: Stream, limit: int, valuations: bool, results: bool) -> int:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    matches = list(islice(found, limit + 1))
    console = Console(highlight=False)
    if not matches:
        console.print(f"no match in {len(S)} events")
        return 1
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("at", justify="right")
    table.add_column("events", overflow="fold")
    if valuations:
        table.add_column("bindings", overflow="fold")
    if results:
        table.add_column("result", overflow="fold")
    if console.is_terminal:
        table.add_column("rows", overflow="fold")
    for match in sorted(matches[:limit]):
        cells = [str(match.at), _positions(match.events)]
        if valuations:
            values = match.values if isinstance(match, _Valued) else ()
            bound = [*((X, _shown(v)) for X, v in values), *((x, _positions(p)) for x, p in match.bindings or ())]
            cells.append("\n".join(printable(f"{variable}: {shown}") for variable, shown in bound))
        if match.result is not None:
            named = plain(match.result.attributes).items()
            said = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in named)
            cells.append("\n".join(map(printable, said)))
        if console.is_terminal:
            cells.append("\n".join(f"{p}  {_row(S.part(p, 1)[0])}" for p in match.events))
        table.add_row(*map(Text, cells))
    # into a pipe lines are as long as they need to be
    console.print(table, width=None if console.is_terminal else 1000)
    if len(matches) > limit:
        console.print(f"the first {limit} matches; there are more: --limit N shows N of them, --json all")
    else:
        console.print(f"{len(matches)} match{'' if len(matches) == 1 else 'es'} in {len(S)} events")
    return 0


def _positions(positions: tuple[int, ...]) -> str:
    return " ".join(map(str, positions))


def _row(event: Event) -> str:
    return printable(" ".join([event.type, *(f"{name}={_shown(value)}" for name, value in event.attributes.items())]))


def _shown(value: Value) -> int | float | str:
    return value if isinstance(value, int | float | str) else show_time(value)
