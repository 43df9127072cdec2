"""Every example in the documentation is run: Python sessions, and command lines with what they print."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`([\w.-]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_sessions(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("page", [p for p in PAGES if CONSOLE.search(p.read_text(encoding="utf-8"))], ids=name)
def test_command_lines(page: Path, tmp_path: Path) -> None:
    """In order, in one folder that holds the files a page shows; "..." stands for anything."""
    text = page.read_text(encoding="utf-8")
    for file, content in FILE.findall(text):
        (tmp_path / file).write_text(content, encoding="utf-8")
    for block in CONSOLE.findall(text):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            program, *arguments = shlex.split(command)
            argv = {
                "cerify": [sys.executable, "-m", "cerify.cli"],
                "python": [sys.executable],
            }[program] + arguments
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
            environment = os.environ | {"PATH": path}  # so that "python" is there, as in an activated environment
            ran = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
            got = ran.stdout + ran.stderr
            assert doctest.OutputChecker().check_output(expected, got, OPTIONS), f"$ {command}\n{got}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"
