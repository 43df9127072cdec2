"""The table of mutants: `python -m proofs_tests.mutation [PREFIX...]`; exit status 1 if one survives."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from proofs_tests.mutation.mutants import Mutant
from proofs_tests.mutation.run import Outcome, outcomes, outcomes_of
from proofs_tests.mutation.table import Row, as_object, equivalents, key_of, killers, page, write_killers
from proofs_tests.mutation.targets import deletions, group_of, modules, sample


@click.command()
@click.argument("prefixes", nargs=-1, metavar="[PREFIX]...")
@click.option("--shared", is_flag=True, help="Only modules that a definition shares with what is judged by it.")
@click.option("--definitions", is_flag=True, help="Only modules of the definitions.")
@click.option("--operators", is_flag=True, help="All tables of operators, each without an entry, and nothing else.")
@click.option("--most", type=click.IntRange(1), help="The number of tables of operators; a hash says which.")
@click.option(
    "--again", type=click.Path(exists=True, path_type=Path), help="Only what this JSON file does not have as killed."
)
@click.option("--json", "to_json", type=click.Path(path_type=Path), help="Write one object per mutant to this file.")
@click.option(
    "--page",
    "to_page",
    type=click.Path(path_type=Path),
    help="Write the page of the table to this file, and next to the command which test killed which mutant.",
)
@click.option(
    "--of", multiple=True, type=click.Path(exists=True, path_type=Path), help="Take the table from these JSON files."
)
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    help="The folder in which it stands which tests pass through which function; measured first if it is not there.",
)
@click.option(
    "--test", "tests", multiple=True, metavar="TEST", help="Run this file of tests only, with options of pytest."
)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes at a time.")
def main(
    prefixes: tuple[str, ...],
    shared: bool,
    definitions: bool,
    operators: bool,
    most: int | None,
    again: Path | None,
    to_json: Path | None,
    to_page: Path | None,
    of: tuple[Path, ...],
    measured: Path | None,
    tests: tuple[str, ...],
    jobs: int,
) -> None:
    """Make the mutants of the modules whose paths begin with a PREFIX, of all by default, and run their tests."""
    if of:
        rows = [row for file in of for row in _rows(file)]
    else:
        paths = [path for path in modules() if not prefixes or path.startswith(prefixes)]
        if shared or definitions:
            wanted = ["shared"] * shared + ["definition"] * definitions
            paths = [path for path in paths if group_of(path) in wanted]
        chosen = deletions(paths, most) if operators else sample(paths)
        keys, reasons = {mutant.key for mutant in chosen}, equivalents()
        old = [row for row in (_rows(again) if again else ()) if row["status"] == "killed" and key_of(row) in keys]
        done = {key_of(row) for row in old}
        old += [as_object(Outcome(m, None, ()), reasons) for m in chosen if m.key in reasons and m.key not in done]
        done.update(reasons)
        with TemporaryDirectory() as folder:
            todo = [mutant for mutant in chosen if mutant.key not in done]
            place = measured or Path(folder)
            made = outcomes_of(tests, todo, jobs) if tests else outcomes(todo, jobs, place, killers())
            rows = _made(todo, made, to_json, old)
    if to_page is not None:
        made_of = {key_of(row) for row in rows}
        left = [mutant for mutant in sample(modules()) if mutant.key not in made_of]
        to_page.write_text(page(rows, left), encoding="utf-8")
        write_killers(rows)
    counts = Counter(row["status"] for row in rows)
    click.echo(f"{len(rows)} mutants: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    for row in rows:
        if row["status"] == "survived":
            click.echo(f"{row['module']}:{row['line']}: {row['function']}: {row['change']}")
    sys.exit(counts["survived"] > 0)


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _made(chosen: Sequence[Mutant], made: Iterable[Outcome], to_json: Path | None, old: list[Row]) -> list[Row]:
    """The table of the mutants, after old rows; the file has each row as soon as it is there, in order at the end."""
    rows = list(old)
    _write(rows, to_json)
    for n, one in enumerate(made, 1):
        rows.append(as_object(one, {}))
        if to_json is not None:
            with to_json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
        if one.by is None or n % 100 == 0:
            shown = f"{one.mutant.module}:{one.mutant.line} {one.mutant.change}"
            click.echo(f"{n}/{len(chosen)} {rows[-1]['status']}: {shown}", err=True)
    rows.sort(key=lambda row: (row["module"], row["line"], row["change"], row["number"]))
    _write(rows, to_json)
    return rows


def _write(rows: Iterable[Row], to_json: Path | None) -> None:
    if to_json is not None:
        to_json.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
