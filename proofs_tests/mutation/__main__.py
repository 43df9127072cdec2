"""The table of mutants: `python -m proofs_tests.mutation [PREFIX...]`; exit status 1 if one survives."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from proofs_tests.mutation.mutants import Mutant
from proofs_tests.mutation.run import outcomes
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
        rows = _made(chosen, jobs, to_json)
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


def _made(chosen: Sequence[Mutant], jobs: int, to_json: Path | None) -> list[dict[str, Any]]:
    """The table of the mutants; the file has each row as soon as it is there, and all of them in order at the end."""
    reasons = equivalents()
    rows: list[dict[str, Any]] = []
    for one in outcomes(chosen, jobs):
        rows.append(as_object(one, reasons))
        if to_json is not None:
            with to_json.open("w" if len(rows) == 1 else "a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
        if one.by is None or len(rows) % 100 == 0:
            shown = f"{one.mutant.module}:{one.mutant.line} {one.mutant.change}"
            click.echo(f"{len(rows)}/{len(chosen)} {rows[-1]['status']}: {shown}", err=True)
    rows.sort(key=lambda row: (row["module"], row["line"], row["change"], row["number"]))
    if to_json is not None:
        to_json.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return rows


if __name__ == "__main__":
    main()
