"""The adapters of the page "ten minutes": what the page says of them is so, and all of them agree."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cerify.conformance.engines import ADAPTERS

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide"
PAGE = (GUIDE / "ten-minutes.md").read_text(encoding="utf-8")
TOY = GUIDE / "adapters" / "toy.py"


def asked(*command: str) -> tuple[dict[str, Any], dict[str, tuple[object, ...]]]:
    """The summary of a run over `;`, and what the engine said to each case."""
    arguments = ["conform", "--feature", "seq", "--feature", "event", "--json", "--", *command]
    ran = subprocess.run([sys.executable, "-m", "cerify.cli", *arguments], capture_output=True, text=True, timeout=120)
    first, *cases = map(json.loads, ran.stdout.splitlines())
    return first["summary"], {c["id"]: (c["outcome"], str(c["got"]), c["detail"]) for c in cases}


def test_the_page_shows_the_file_and_it_is_short() -> None:
    shown = re.search(r"^`toy\.py`:\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    text = TOY.read_text(encoding="utf-8")
    assert shown is not None
    assert shown[1] == text
    assert text.count("\n") <= 40


@pytest.mark.thorough
def test_the_mended_engine_conforms_on_all_it_claims(tmp_path: Path) -> None:
    wrong, right = re.findall(r"^[-+](    .*)$", PAGE, re.MULTILINE)
    text = TOY.read_text(encoding="utf-8")
    assert text.count(wrong) == 1
    mended = tmp_path / "mended.py"
    mended.write_text(text.replace(wrong, right), encoding="utf-8")
    arguments = ["conform", "--feature", "seq", "--", sys.executable, str(mended)]
    ran = subprocess.run([sys.executable, "-m", "cerify.cli", *arguments], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0
    assert "23 of 102 passed, 79 skipped" in ran.stdout
    assert "conforms on all it claims" in ran.stdout


@dataclass(frozen=True)
class Toy:
    """The toy in another language: what is needed, its file, how it is built and started, and how it is mended.

    In the commands {} is the folder.
    """

    tool: str
    file: str
    build: str
    start: str
    wrong: str
    right: str


TOYS = [
    Toy(
        "go",
        "toy.go",
        "go build -o {}/toy.exe {}/toy.go",
        "{}/toy.exe",
        "waiting[step+1] = longer",
        "waiting[step+1] = append(waiting[step+1], longer...)",
    ),
    Toy(
        "g++",
        "toy.cpp",
        f"g++ -std=c++17 -O1 -I {ADAPTERS}/cpp -o {{}}/toy.exe {{}}/toy.cpp",
        "{}/toy.exe",
        "waiting[step + 1] = longer;",
        "waiting[step + 1].insert(waiting[step + 1].end(), longer.begin(), longer.end());",
    ),
    Toy(
        "javac",
        "Toy.java",
        "javac -d {} {}/Toy.java",
        "java -Xshare:auto -XX:TieredStopAtLevel=1 -cp {} Toy",
        "waiting.set(step + 1, longer);",
        "waiting.set(step + 1, new ArrayList<>(waiting.get(step + 1))); waiting.get(step + 1).addAll(longer);",
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.tool)
def test_the_toy_in_another_language_goes_the_whole_way(toy: Toy, tmp_path: Path) -> None:
    """It answers each case as the one in Python does, mistake included, and conforms when it is mended."""
    if shutil.which(toy.tool) is None:
        pytest.skip(f"no {toy.tool} on this machine")
    text = (TOY.parent / toy.file).read_text(encoding="utf-8")
    assert text.count(toy.wrong) == 1
    assert f"adapters/{toy.file}" in PAGE
    summary, in_python = asked(sys.executable, str(TOY))
    assert summary["totals"]["passed"]
    assert summary["totals"]["failed"]
    assert asked(*built(toy, text, tmp_path))[1] == in_python
    mended, _ = asked(*built(toy, text.replace(toy.wrong, toy.right), tmp_path))
    assert mended["conforms"]
    assert mended["totals"]["passed"] == summary["totals"]["passed"] + summary["totals"]["failed"]


def built(toy: Toy, text: str, folder: Path) -> list[str]:
    """The command that starts the toy with this text, which is built."""
    (folder / toy.file).write_text(text, encoding="utf-8")
    ran = subprocess.run(toy.build.replace("{}", str(folder)).split(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return toy.start.replace("{}", str(folder)).split()
