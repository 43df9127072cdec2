"""cerify verify: whether a certificate of equivalence or containment proves what it claims."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cerify.equivalence.decide.certificate import Certificate
from cerify.languages import language_named
from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Schema
from cerify.semantics.json_events import json_of_schema, text_of
from cerify.terminal import echo, picked, printable

SHOWN = 1000  # characters of a schema
SECONDS = 600  # whoever sends a certificate cannot keep the checker busy for longer


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(file: Path, as_json: bool) -> int:
    """Check the certificate in FILE, as cerify equiv --certificate writes it, without trusting who found it.

    Exit status: 0 if it proves its claim, 1 if not, 2 if it is no certificate, a query of it does not fit its schema,
    or the check takes more than ten minutes.
    """
    certificate = Certificate.from_json(text_of(file), str(file))
    try:
        wrong = language_named(certificate.language).flaw(certificate, Budget(seconds=SECONDS))
    except CerifyError as error:
        error.span = None  # a line of its query could say that something is proved
        error.message = f"{file}: {error.message}"
        raise
    if as_json:
        answer = picked(certificate, "language", "claim", "level", "left", "right")
        answer |= {"schema": bool(certificate.schema), "proved": wrong is None, "reason": wrong}
        echo(json.dumps(answer, ensure_ascii=False))
        return 0 if wrong is None else 1
    claim = {"equivalent": "is equivalent to", "contained": "is contained in"}[certificate.claim]
    what = "complex events" if certificate.level == "events" else "valuations"
    under = "" if certificate.schema is None else f", under the schema {_shown(certificate.schema)}"
    stated = f"{printable(certificate.left)}  {claim}  {printable(certificate.right)}  ({what}{under})"
    if wrong is None:
        echo(f"proved: {stated}", colour="green")
        return 0
    echo(f"not proved: {stated}", colour="red")
    echo(printable(wrong))
    return 1


def _shown(schema: Schema) -> str:
    """A schema on one line, cut where it is long."""
    text = printable(json.dumps(json_of_schema(schema), ensure_ascii=False))
    rest = len(text) - SHOWN
    return text if rest <= 0 else f"{text[:SHOWN]}… and {rest:,} characters more, which the file has"
