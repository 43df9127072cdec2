"""cerify translate: a query in another language, with the same complex events at every position.

An event expression takes place at single events: there these are the ends of the matches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from cerify.equivalence.rewrite.translate.sase_to_cel import sase_to_cel
from cerify.equivalence.rewrite.translate.sase_to_expression import sase_to_expression
from cerify.equivalence.rewrite.translate.to_cel import to_cel
from cerify.equivalence.rewrite.translate.to_core_cel import to_core_cel
from cerify.semantics.cel import parse as cel_parse
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.show import show as show_cel
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.show import show as show_core_cel
from cerify.semantics.errors import BudgetExceeded, ParseError, Unsupported, errors_in
from cerify.semantics.event_expressions import parse as expression_parse
from cerify.semantics.event_expressions.show import show as show_expression
from cerify.semantics.parsing import MAX_DEPTH
from cerify.semantics.sase import parse as sase_parse
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import Reading, read_reading
from cerify.semantics.sase.wellformed import require_wellformed

SOURCES = ("cel", "core-cel", "sase")
TARGETS = ("cel", "core-cel", "event-expression")
F = TypeVar("F")


@click.command()
@click.argument("query")
@click.option("--from", "from_", type=click.Choice(SOURCES), required=True, help="The language of QUERY.")
@click.option("--to", type=click.Choice(TARGETS), required=True, help="The language to write it in.")
@click.option("--reading", multiple=True, metavar="NAME=VALUE", help="SASE+: another reading, as window=closed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(query: str, from_: str, to: str, reading: tuple[str, ...], as_json: bool) -> int:
    """Write QUERY in another language, so that it has the same complex events at every position of every stream.

    An event expression takes place where a match ends.

    Exit status: 0 if it could be translated, 1 if not, 2 if QUERY is no formula.
    """
    if from_ == to:
        raise click.UsageError("--from and --to are the same language")
    if (from_, to) not in TRANSLATIONS:
        known = ", ".join(f"{one} to {other}" for one, other in TRANSLATIONS)
        raise click.UsageError(f"there is no translation from {from_} to {to}; there are {known}")
    if reading and from_ != "sase":
        raise click.UsageError("--reading is for queries of SASE+")
    read = read_reading(reading)
    parse, translated = TRANSLATIONS[from_, to]
    with errors_in(query):
        phi = parse(query)
    text: str | None = None
    refusal: Unsupported | BudgetExceeded | None = None
    try:
        with errors_in(query):
            text = translated(phi, read)
    except (Unsupported, BudgetExceeded) as error:
        refusal = error
    if as_json:
        span = refusal and refusal.span and [refusal.span.start, refusal.span.end]
        reason = None if refusal is None else {"message": refusal.message, "span": span}
        answer = {"from": from_, "to": to, "query": text, "refused": reason}
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        click.echo(text if refusal is None else f"no translation: {refusal.described()}")
    return 0 if refusal is None else 1


def _to_cel(phi: core.Formula, reading: Reading) -> str:
    psi = to_cel(phi)
    return _read_back(show_cel(psi), psi, cel_parse.parse)


def _to_core_cel(phi: cel.Formula, reading: Reading) -> str:
    psi = to_core_cel(phi)
    return _read_back(show_core_cel(psi), psi, core_parse.parse)


def _sase_to_cel(q: sase.Tree, reading: Reading) -> str:
    psi = sase_to_cel(q, reading)
    return _read_back(show_cel(psi), psi, cel_parse.parse)


def _sase_to_expression(q: sase.Tree, reading: Reading) -> str:
    E = sase_to_expression(q, reading)
    return _read_back(show_expression(E), E, expression_parse.parse)


def _sase(query: str) -> sase.Tree:
    q = sase_parse.parse(query)
    require_wellformed(q)
    return q


def _read_back(text: str, psi: F, parse: Callable[[str], F]) -> str:
    """The text, if it is one of the formula."""
    try:
        if parse(text) == psi:
            return text
    except ParseError:
        pass
    except BudgetExceeded:
        raise BudgetExceeded(f"in the other language it would be nested more than {MAX_DEPTH} operators deep") from None
    raise Unsupported("a type, variable or attribute is called like a word of the other language; give it another name")


TRANSLATIONS: Mapping[tuple[str, str], tuple[Callable[[str], Any], Callable[[Any, Reading], str]]] = {
    ("core-cel", "cel"): (core_parse.parse, _to_cel),
    ("cel", "core-cel"): (cel_parse.parse, _to_core_cel),
    ("sase", "cel"): (_sase, _sase_to_cel),
    ("sase", "event-expression"): (_sase, _sase_to_expression),
}
