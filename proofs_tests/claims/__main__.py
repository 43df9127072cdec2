"""Run the ledger, or some of its entries: `cerify claims`, or `python -m proofs_tests.claims`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from cerify.commands.options import completes, progress_bar
from cerify.semantics.errors import MissingPackage
from cerify.semantics.files import write_whole
from cerify.semantics.packages import installed
from cerify.terminal import echo

if TYPE_CHECKING:
    from proofs_tests.claims.ledger import Effort

WIDTH = 80
PACKAGES = ("networkx", "numpy", "pyarrow", "pytest", "rich", "z3")  # that the checks of some entries import


def require_installed(names: Iterable[str], extra: str) -> None:
    """Raise MissingPackage, with the name of the extra to install, if some of these packages are not installed."""
    if missing := [name for name in names if not installed(name)]:
        listed = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        are = "is" if len(missing) == 1 else "are"
        raise MissingPackage(f"this needs {listed}, which {are} not installed: pip install 'cerify[{extra}]'")


def _ids(_: click.Context) -> Iterable[str]:
    """The ids of all entries."""
    from proofs_tests.claims.everything import LEDGER

    return LEDGER


@click.command()
@click.argument("ids", nargs=-1, shell_complete=completes(_ids))
@click.option(
    "--budget",
    "effort",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="quick takes seconds for an entry at most; full looks at more, some minutes for a few of them.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="all cores",
    help="Processes that check.",
)
@click.option("--json", "as_json", is_flag=True, help="One object per entry.")
@click.option(
    "--planted",
    "plants",
    is_flag=True,
    help="Plant an error beside each entry, and say whether its quick check finds it; fails if one does not.",
)
@click.option(
    "--write",
    "path",
    type=click.Path(path_type=Path),
    help="Write the page of all claims, quickly checked, the errata beside it, and the totals in the README above.",
)
def main(ids: tuple[str, ...], effort: Effort, jobs: int, as_json: bool, plants: bool, path: Path | None) -> None:
    """Check the claims of the papers. Without IDs, all of them; an ID may be a prefix, such as tods21.thm6.2.

    The ledger is part of the project's source, so this runs in a checkout. It needs the extra docs.
    """
    require_installed(PACKAGES, "docs")
    from proofs_tests.claims import errata_page  # not above: the claims need packages, which help does not
    from proofs_tests.claims.everything import LEDGER
    from proofs_tests.claims.ledger import OPEN
    from proofs_tests.claims.page import STATUSES, page, with_totals
    from proofs_tests.claims.run import checked, planted

    if path is not None:
        written = page(jobs)
        if wrong := list(errata_page.problems()):
            raise click.ClickException("; ".join(wrong))
        write_whole(path, written)
        write_whole(path.with_name("errata.md"), errata_page.page())
        readme = path.resolve().parent.parent / "README.md"
        if readme.exists():
            write_whole(readme, with_totals(readme.read_text(encoding="utf-8")))
        return
    chosen = [id_ for id_ in LEDGER if not ids or id_.startswith(ids)]
    if unknown := [id_ for id_ in ids if not any(one.startswith(id_) for one in LEDGER)]:
        papers = sorted({id_.partition(".")[0] for id_ in LEDGER})
        alike = ", ".join(one for id_ in unknown for one in get_close_matches(id_, LEDGER, 4)) or ", ".join(papers)
        known = f"docs/claims.md has them all, such as {alike}"
        raise click.UsageError(f"no entry begins with {' or '.join(unknown)}; {known}")
    if plants:
        _plant(planted([id_ for id_ in chosen if id_ not in OPEN], jobs), as_json)
        return
    counts = Counter[str]()
    with progress_bar() as bar:
        task = bar.add_task("claims", total=len(chosen))
        for found in checked(chosen, effort, jobs):
            bar.advance(task)
            counts[found["status"]] += 1
            echo(json.dumps(found, ensure_ascii=False) if as_json else entry_text(found))
    if not as_json:
        echo(", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status]))


def _plant(found: Iterable[Mapping[str, Any]], as_json: bool) -> None:
    """Print for each entry the error planted and whether the check finds it. Ends with status 1 if one does not."""
    total = missed = 0
    for one in found:
        total, missed = total + 1, missed + (not one["found"])
        if as_json:
            echo(json.dumps(one, ensure_ascii=False))
        elif one["what"] is None:
            echo(f"{one['id']}: NO ERROR IS PLANTED")
        else:
            echo(f"{one['id']}: {one['what']}: {'found' if one['found'] else 'NOT FOUND'}, {one['seconds']} s")
    if not as_json:
        echo(f"{total - missed} of {total} found")
    if missed:
        raise SystemExit(1)


def entry_text(found: Mapping[str, Any]) -> str:
    """Format an entry in lines of at most WIDTH characters: id, status and evidence, then the claim and its check."""
    evidence = f", {found['evidence']}" if found["evidence"] else ""
    heading = f"{found['id']}: {found['status']}{evidence}, {found['seconds']} s"
    parts = {
        "claim": found.get("title"),
        "read as": found.get("reading"),
        "checked": found["bound"],
        "corrected": found.get("correction"),
    }
    lines = (f"{name}: {' '.join(text.split())}" for name, text in parts.items() if text)
    body = (wrap(line, WIDTH, initial_indent="    ", subsequent_indent="        ") for line in lines)
    return "\n".join([heading, *chain.from_iterable(body)])


if __name__ == "__main__":
    main()
