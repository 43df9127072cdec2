"""Every example in the documentation is run: Python sessions, and command lines with what they print."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cerify import cli
from proofs_tests.support import sampled

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`([\w.-]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PROGRESS = re.compile(r"^cerify: .*: [\d,]+ of [\d,]+\n", re.MULTILINE)
"""What a command that takes long prints beside its results, which depends on the machine."""
PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
"""The search path of an activated environment, which has "python" and "cerify"."""

LONG = {
    f"docs/guide/{page}.md" for page in ("spark", "spark-audit", "spark-campaign", "spark-scale", "spark-streaming")
}
"""Pages whose examples take half a minute each."""
ASKING = "docs/guide/identify.md"
"""The page whose commands ask several engines some hundred questions each."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


SHORT = [page for page in PAGES if name(page) not in LONG]
WITH_COMMANDS = [page for page in PAGES if CONSOLE.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", sampled(PAGES, SHORT), ids=name)
def test_python_sessions(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def in_this_process(argv: list[str], folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """What `cerify` with these arguments prints, run in this process, which has imported everything already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("sys.argv", ["cerify", *argv])
        patch.setenv("PATH", PROGRAMS)
        with pytest.raises(SystemExit):
            cli.main()
    out, err = capfd.readouterr()
    return out + err


def in_a_process(argv: list[str], folder: Path) -> str:
    """What a command prints, run as a reader of the page runs it."""
    ran = subprocess.run(
        argv, cwd=folder, env=os.environ | {"PATH": PROGRAMS}, capture_output=True, text=True, timeout=300
    )
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("processes", sampled([False, True], [False]), ids=["in one process", "in processes"])
@pytest.mark.parametrize("page", sampled(WITH_COMMANDS, [page for page in SHORT if name(page) != ASKING]), ids=name)
def test_command_lines(page: Path, processes: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In order, in one folder that holds the files a page shows; "..." stands for anything."""
    text = page.read_text(encoding="utf-8")
    for folder in ("docs", "workbench"):  # the README names files of the repository
        (tmp_path / folder).symlink_to(ROOT / folder)
    for file, content in FILE.findall(text):
        (tmp_path / file).write_text(content, encoding="utf-8")
    for block in CONSOLE.findall(text):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            program, *arguments = shlex.split(command)
            assert program in ("cerify", "python")
            if program == "cerify" and not processes:
                got = in_this_process(arguments, tmp_path, capfd)
            else:
                module = ["-m", "cerify.cli"] if program == "cerify" else []
                got = in_a_process([sys.executable, *module, *arguments], tmp_path)
            got = PROGRESS.sub("", got)
            assert doctest.OutputChecker().check_output(expected, got, OPTIONS), f"$ {command}\n{got}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"


def test_fences_of_boxes_have_lines_of_their_own() -> None:
    """A fence inside a paragraph makes the rest of the page a part of the box."""
    lines = [(name(page), line) for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()]
    options = [line for line in lines if re.search(r"(^|\s):(class|name|open):", line[1])]
    assert [line for line in lines if ":::" in line[1] and not re.fullmatch(r":{3,}(\{[\w-]+\}.*)?", line[1])] == []
    assert [line for line in options if not re.fullmatch(r":\w+:( [\w-]+)?", line[1])] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_link_to_a_module_says_its_name(page: Path) -> None:
    links = re.findall(r"\[[^\]\n]*?([\w/]+\.py)[^\]\n]*\]\(([^)#:]+\.py)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not link[1].endswith(link[0])] == []


def test_the_picture_of_a_terminal_is_current() -> None:
    from proofs_tests.tools.terminal import PICTURE, picture

    assert picture() == PICTURE.read_text(encoding="utf-8"), "run python -m proofs_tests.tools.terminal"
    assert "url(" not in picture().replace("url(#", "")
