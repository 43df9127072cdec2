"""`cerify fuzz --spark` on many cases, killed half-way and begun again, and once more without that: the same summary.

Run as: python -m proofs_tests.campaigns.spark_fuzz FOLDER [--cases N] [--mix NAME] [--spark URL] [--once] [-- …]
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click

from cerify.spark.campaign import Folder


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("more", nargs=-1)
@click.option("--cases", type=click.IntRange(2), default=1_000_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--mix", default="automata", show_default=True)
@click.option("--spark", "url", default="local[2]", show_default=True)
@click.option("--once", is_flag=True, help="Only the one that is killed; its summary is compared with none.")
def main(folder: Path, more: tuple[str, ...], cases: int, seed: int, mix: str, url: str, once: bool) -> None:
    """Status 1 if the summaries differ, or a case disagrees."""

    def command(out: str) -> list[str]:
        options = ["--spark", url, "--mix", mix, "--cases", str(cases), "--seed", str(seed), "--json"]
        return [sys.executable, "-m", "cerify.cli", "fuzz", *options, *more, "--out", str(folder / out)]

    killed = subprocess.Popen(command("killed"), stdout=subprocess.DEVNULL, start_new_session=True)
    begun = time.monotonic()
    while sum(end - begin for begin, end in Folder(folder / "killed").done()) < cases // 2:
        if killed.poll() is not None:
            raise click.ClickException("the campaign ended before it was killed")
        time.sleep(0.5)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    click.echo(f"killed after {time.monotonic() - begun:.0f} s")
    first = told(command("killed"))
    click.echo(f"begun again: {json.dumps(first['this_call'])}")
    click.echo(json.dumps(first["summary"], indent=1))
    same = True
    if not once:
        second = told(command("unbroken"))
        click.echo(f"unbroken: {json.dumps(second['this_call'])}")
        same = lasting(first["summary"]) == lasting(second["summary"])
        click.echo("the summaries are the same" if same else "the summaries differ")
    sys.exit(0 if same and not first["summary"]["outcomes"]["disagreed"] else 1)


def told(command: list[str]) -> dict[str, Any]:
    """The first line that the command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        raise click.ClickException(f"status {done.returncode}")
    line: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return line


def lasting(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary without its seconds."""
    return {name: value for name, value in summary.items() if "second" not in name}


if __name__ == "__main__":
    main()
