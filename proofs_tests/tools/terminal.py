"""A picture of commands and what they print: `python -m proofs_tests.tools.terminal` writes that of the README."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "_static" / "terminal.svg"
FARM = "workbench/examples/farm.csv"
HOT = "(T ; H) FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = H.id"
COMMANDS = (
    ["cerify", "equiv", "NXT(T ; H)", "LAST(T ; H)"],
    ["cerify", "explain", HOT, FARM, "--match", "1,7"],
)
STYLES = {"different:": "red", "equivalent:": "green", "{": "red", "rejected": "bold"}
WIDTH = 96


def printed(command: list[str]) -> str:
    """What a command of cerify prints, run in the root of the repository."""
    run = [sys.executable, "-m", "cerify.cli", *command[1:]]
    return subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def picture() -> str:
    """The commands with what they print, as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for command in COMMANDS:
        console.print(Text(f"$ {shlex.join(command)}", style="bold"))
        for line in printed(command).rstrip().splitlines():
            start = next((word for word in STYLES if line.startswith(word)), None)
            console.print(Text(line, style=STYLES[start] if start else ""))
        console.print()
    svg = console.export_svg(title="cerify", unique_id="cerify")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # which are loaded from elsewhere


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
