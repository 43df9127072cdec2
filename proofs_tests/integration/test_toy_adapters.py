"""The adapters of the page "ten minutes": what the page says of them is so, and the two of them agree."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide"
PAGE = (GUIDE / "ten-minutes.md").read_text(encoding="utf-8")
TOY = GUIDE / "adapters" / "toy.py"


def asked(*command: str) -> tuple[dict[str, object], dict[str, tuple[object, ...]]]:
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


def test_the_mended_engine_conforms_on_all_it_claims(tmp_path: Path) -> None:
    wrong, right = re.findall(r"^[-+](    .*)$", PAGE, re.MULTILINE)
    text = TOY.read_text(encoding="utf-8")
    assert text.count(wrong) == 1
    mended = tmp_path / "mended.py"
    mended.write_text(text.replace(wrong, right), encoding="utf-8")
    arguments = ["conform", "--feature", "seq", "--", sys.executable, str(mended)]
    ran = subprocess.run([sys.executable, "-m", "cerify.cli", *arguments], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0
    assert "15 of 72 passed, 57 skipped" in ran.stdout
    assert "conforms on all it claims" in ran.stdout


@pytest.mark.thorough
def test_python_and_go_give_the_same_answers(tmp_path: Path) -> None:
    if (go := shutil.which("go")) is None:
        pytest.skip("no Go on this machine")
    program = tmp_path / "toy.exe"
    built = subprocess.run(
        [go, "build", "-o", str(program), str(TOY.with_suffix(".go"))], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    summary, in_python = asked(sys.executable, str(TOY))
    _, in_go = asked(str(program))
    assert summary["totals"]["passed"]
    assert summary["totals"]["failed"]
    assert in_go == in_python
