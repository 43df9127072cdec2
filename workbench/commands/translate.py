"""cerify translate: a query in another language, with the same complex events at every position.

An event expression takes place at single events: there these are the ends of the matches.
"""

from __future__ import annotations

import json
from typing import Any

import click

from cerify.api import read_query
from cerify.commands.options import LanguageChoice
from cerify.languages import DEFAULT, LANGUAGES
from cerify.languages.language import Language
from cerify.semantics.errors import BudgetExceeded, ParseError, Unsupported, errors_in
from cerify.semantics.parsing import MAX_DEPTH
from cerify.semantics.sase.reading import read_reading
from cerify.terminal import echo


@click.command()
@click.argument("query")
@click.option(
    "--from", "--language", "from_", type=LanguageChoice(), default=DEFAULT, show_default=True, help="That of QUERY."
)
@click.option("--to", type=LanguageChoice(), required=True, help="The language to write it in.")
@click.option("--reading", multiple=True, metavar="NAME=VALUE", help="SASE+: another reading, as window=closed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(query: str, from_: str, to: str, reading: tuple[str, ...], as_json: bool) -> int:
    """Write QUERY in another language, so that it has the same complex events at every position of every stream.

    An event expression takes place where a match ends.

    Exit status: 0 if it could be translated, 1 if not, 2 if QUERY is no formula.
    """
    if from_ == to:
        raise click.UsageError("--from and --to are the same language")
    lang = LANGUAGES[from_]
    if to not in lang.translations:
        known = ", ".join(f"{name} to {other}" for name, one in LANGUAGES.items() for other in one.translations)
        raise click.UsageError(f"there is no translation from {from_} to {to}; there are {known}")
    if reading and "reading" not in lang.settings:
        raise click.UsageError("--reading is for queries of SASE+")
    read = read_reading(reading)
    _, phi = read_query(query, from_)
    text: str | None = None
    refusal: Unsupported | BudgetExceeded | None = None
    try:
        with errors_in(query):
            text = _written(lang.translations[to](phi, read), LANGUAGES[to])
    except (Unsupported, BudgetExceeded) as error:
        refusal = error
    if as_json:
        span = refusal and refusal.span and [refusal.span.start, refusal.span.end]
        reason = None if refusal is None else {"message": refusal.message, "span": span}
        answer = {"from": from_, "to": to, "query": text, "refused": reason}
        echo(json.dumps(answer, ensure_ascii=False))
    else:
        echo(str(text) if refusal is None else f"no translation: {refusal.described()}")
    return 0 if refusal is None else 1


def _written(psi: Any, language: Language[Any]) -> str:
    """The text of a tree, if it is parsed as that tree again."""
    text = language.show(psi)
    try:
        if language.parse(text) == psi:
            return text
    except ParseError:
        pass
    except BudgetExceeded:
        raise BudgetExceeded(f"in the other language it would be nested more than {MAX_DEPTH} operators deep") from None
    raise Unsupported("a type, variable or attribute is called like a word of the other language; give it another name")
