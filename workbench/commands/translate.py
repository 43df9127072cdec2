"""cerify translate: a query in another language, with the same complex events at every position."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from cerify.equivalence.rewrite.translate.to_cel import to_cel
from cerify.equivalence.rewrite.translate.to_core_cel import to_core_cel
from cerify.semantics.cel import parse as cel_parse
from cerify.semantics.cel.show import show as show_cel
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel.show import show as show_core_cel
from cerify.semantics.errors import ParseError, Unsupported, errors_in

LANGUAGES = ("cel", "core-cel")
F = TypeVar("F")


@click.command()
@click.argument("query")
@click.option("--from", "from_", type=click.Choice(LANGUAGES), required=True, help="The language of QUERY.")
@click.option("--to", type=click.Choice(LANGUAGES), required=True, help="The language to write it in.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(query: str, from_: str, to: str, as_json: bool) -> int:
    """Write QUERY in another language, so that it has the same complex events at every position of every stream.

    Exit status: 0 if it could be translated, 1 if not, 2 if QUERY is no formula.
    """
    if from_ == to:
        raise click.UsageError("--from and --to are the same language")
    try:
        with errors_in(query):
            text, refusal = TRANSLATIONS[from_, to](query), None
    except Unsupported as error:
        text, refusal = None, error
    if as_json:
        span = refusal and refusal.span and [refusal.span.start, refusal.span.end]
        reason = None if refusal is None else {"message": refusal.message, "span": span}
        answer = {"from": from_, "to": to, "query": text, "refused": reason}
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        click.echo(text if refusal is None else f"no translation: {refusal.described()}")
    return 0 if refusal is None else 1


def _to_cel(query: str) -> str:
    psi = to_cel(core_parse.parse(query))
    return _read_back(show_cel(psi), psi, cel_parse.parse)


def _to_core_cel(query: str) -> str:
    psi = to_core_cel(cel_parse.parse(query))
    return _read_back(show_core_cel(psi), psi, core_parse.parse)


def _read_back(text: str, psi: F, parse: Callable[[str], F]) -> str:
    """The text, if it is one of the formula."""
    try:
        if parse(text) == psi:
            return text
    except ParseError:
        pass
    raise Unsupported("an event type or a variable is called like a word of the other language; give it another name")


TRANSLATIONS: Mapping[tuple[str, str], Callable[[str], str]] = {
    ("core-cel", "cel"): _to_cel,
    ("cel", "core-cel"): _to_core_cel,
}
