"""The table of mutants: `python -m proofs_tests.mutation [PREFIX...]`; exit status 1 if one survives."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from proofs_tests.mutation.run import Outcome, outcomes
from proofs_tests.mutation.table import as_object, equivalents, page
from proofs_tests.mutation.targets import group_of, modules, sample


@click.command()
@click.argument("prefixes", nargs=-1, metavar="[PREFIX]...")
@click.option("--shared", is_flag=True, help="Only modules that a definition shares with what is judged by it.")
@click.option("--definitions", is_flag=True, help="Only modules of the definitions.")
@click.option("--again", type=click.Path(exists=True, path_type=Path), help="Only what survived in this JSON file.")
@click.option("--json", "to_json", type=click.Path(path_type=Path), help="Write one object per mutant to this file.")
@click.option("--page", "to_page", type=click.Path(path_type=Path), help="Write the page of the table to this file.")
@click.option("--of", type=click.Path(exists=True, path_type=Path), help="Take the table from this JSON file.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes at a time.")
def main(
    prefixes: tuple[str, ...],
    shared: bool,
    definitions: bool,
    again: Path | None,
    to_json: Path | None,
    to_page: Path | None,
    of: Path | None,
    jobs: int,
) -> None:
    """Make the mutants of the modules whose paths begin with a PREFIX, of all by default, and run their tests."""
    if of is not None:
        rows = _rows(of)
    else:
        paths = [path for path in modules() if not prefixes or path.startswith(prefixes)]
        if shared or definitions:
            wanted = ["shared"] * shared + ["definition"] * definitions
            paths = [path for path in paths if group_of(path) in wanted]
        chosen = sample(paths)
        if again is not None:
            left = {_key(row) for row in _rows(again) if row["status"] != "killed"}
            chosen = [mutant for mutant in chosen if mutant.key in left]
        reasons = equivalents()
        rows = [as_object(one, reasons) for one in _shown(outcomes(chosen, jobs), len(chosen))]
        rows.sort(key=lambda row: (row["module"], row["line"], row["change"], row["number"]))
    if to_json is not None:
        to_json.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    if to_page is not None:
        to_page.write_text(page(rows), encoding="utf-8")
    counts = Counter(row["status"] for row in rows)
    click.echo(f"{len(rows)} mutants: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    for row in rows:
        if row["status"] == "survived":
            click.echo(f"{row['module']}:{row['line']}: {row['function']}: {row['change']}")
    sys.exit(counts["survived"] > 0)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _key(row: dict[str, Any]) -> tuple[str, str, str, int]:
    return row["module"], row["function"], row["change"], row["number"]


def _shown(found: Iterator[Outcome], number: int) -> Iterator[Outcome]:
    """The same, with a line on standard error for each that survived and for each hundred."""
    for n, one in enumerate(found, 1):
        if one.by is None:
            click.echo(f"{n}/{number} survived: {one.mutant.module}:{one.mutant.line} {one.mutant.change}", err=True)
        elif n % 100 == 0:
            click.echo(f"{n}/{number}", err=True)
        yield one


if __name__ == "__main__":
    main()
