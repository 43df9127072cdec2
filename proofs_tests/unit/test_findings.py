"""The programs that reproduce findings: each is short, and uses the engine without cerify."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proofs_tests.tools.engine_board import FINDINGS

MOST = 40
PROGRAMS = sorted(p for p in FINDINGS.glob("*/*") if p.suffix in (".java", ".py", ".cpp", ".hpp"))
COMMENTS = re.compile(r'\A""".*?"""|^\s*/\*.*?\*/|^\s*(//|#(?!include)).*?$', re.DOTALL | re.MULTILINE)


def code(text: str) -> list[str]:
    """The lines of a program without comments and blank lines."""
    return [line for line in COMMENTS.sub("", text).splitlines() if line.strip()]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_program_has_forty_lines_at_most_and_does_not_use_cerify(path: Path) -> None:
    lines = code(path.read_text(encoding="utf-8"))
    assert len(lines) <= MOST
    assert not [line for line in lines if re.search(r"\b(import|include|from)\b.*cerify", line)]


def test_every_engine_with_findings_has_a_program() -> None:
    assert {path.parent for path in FINDINGS.glob("*/findings.json")} == {path.parent for path in PROGRAMS}


def test_comments_and_blank_lines_do_not_count() -> None:
    assert code("/** A\n * b. */\nclass A {\n\n    // c\n}\n") == ["class A {", "}"]
    assert code('"""Doc.\n\nMore."""\n# c\nimport cerify\n') == ["import cerify"]
    assert code("#include <a>\n") == ["#include <a>"]
