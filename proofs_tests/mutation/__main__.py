"""The table of mutants: `python -m proofs_tests.mutation [CLAUSE...] [--json]`; exit status 1 if one survives."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console
from rich.table import Table

from proofs_tests.mutation.kill import killed
from proofs_tests.mutation.patches import PATCHES, clauses


@click.command()
@click.argument("only", nargs=-1, metavar="[CLAUSE]...")
@click.option("--json", "as_json", is_flag=True, help="One object per mutant.")
def main(only: tuple[str, ...], as_json: bool) -> None:
    """Make each mutant of the clauses, and say which law and which case of the conformance suite tell it apart."""
    if unknown := set(only) - set(clauses()):
        raise click.UsageError(f"no clause {', '.join(sorted(unknown))}; there are {'  '.join(clauses())}")
    found = [killed(patch) for patch in PATCHES if not only or patch.clause in only]
    table = Table("clause", "place", "mutant", "breaks the law", "fails the case")
    for kill in found:
        patch = kill.patch
        if as_json:
            said = {"clause": patch.clause, "place": patch.place, "old": patch.old, "new": patch.new}
            click.echo(json.dumps({**said, "law": kill.law, "case": kill.case}, ensure_ascii=False))
        table.add_row(patch.clause, patch.place, patch.name, kill.law or "-", kill.case or "SURVIVES")
    if not as_json:
        Console().print(table)
        by_law, by_case = sum(kill.law is not None for kill in found), sum(kill.case is not None for kill in found)
        click.echo(f"{len(found)} mutants: {by_case} fail a case, {by_law} break a law")
    sys.exit(any(kill.case is None for kill in found))


if __name__ == "__main__":
    main()
