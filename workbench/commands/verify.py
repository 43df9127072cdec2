"""cerify verify: whether a certificate of equivalence or containment proves what it claims."""

from __future__ import annotations

from pathlib import Path

import click

from cerify.equivalence.decide.certificate import Certificate
from cerify.languages import language_named
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError

SECONDS = 600  # whoever sends a certificate cannot keep the checker busy for longer


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> int:
    """Check the certificate in FILE, as cerify equiv --certificate writes it, without trusting who found it.

    Exit status: 0 if it proves its claim, 1 if not, 2 if it is no certificate or takes more than ten minutes to check.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {error}") from None
    certificate = Certificate.from_json(text, str(file))
    wrong = language_named(certificate.language).flaw(certificate, Budget(seconds=SECONDS))
    claim = {"equivalent": "is equivalent to", "contained": "is contained in"}[certificate.claim]
    what = "complex events" if certificate.level == "events" else "valuations"
    said = (
        f"{certificate.left}  {claim}  {certificate.right}  ({what}{', under a schema' if certificate.schema else ''})"
    )
    if wrong is None:
        click.echo(f"{click.style('proved', fg='green', bold=True)}: {said}")
        return 0
    click.echo(f"{click.style('not proved', fg='red', bold=True)}: {said}\n{wrong}")
    return 1
