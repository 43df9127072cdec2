"""Run the ledger, or some of its entries: `python -m proofs_tests.claims [ID...] [--json] [--write docs/claims.md]`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from proofs_tests.claims import everything  # noqa: F401  (enters the claims)
from proofs_tests.claims.ledger import LEDGER, Effort, entry
from proofs_tests.claims.page import page


@click.command()
@click.argument("ids", nargs=-1)
@click.option("--budget", "effort", type=click.Choice(["quick", "full"]), default="full", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One object per entry.")
@click.option("--write", "path", type=click.Path(path_type=Path), help="Write the page of all claims, quickly checked.")
def main(ids: tuple[str, ...], effort: Effort, as_json: bool, path: Path | None) -> None:
    """Check claims of the papers. Without IDs, all of them; an ID may be a prefix, such as tods21.thm6.2."""
    if path is not None:
        path.write_text(page(), encoding="utf-8")
        return
    chosen = [claim for id_, claim in LEDGER.items() if not ids or id_.startswith(ids)]
    if not chosen:
        raise click.UsageError(f"no entry begins with {' or '.join(ids)}; there are {', '.join(LEDGER)}")
    table = Table("claim", "status", "evidence", "bound", "seconds")
    for claim in chosen:
        found = entry(claim, effort)
        if as_json:
            click.echo(json.dumps(found, ensure_ascii=False))
        evidence = found["evidence"] or ""
        table.add_row(found["id"], found["status"], evidence, found["bound"], str(found["seconds"]))
    if not as_json:
        Console().print(table)


if __name__ == "__main__":
    main()
