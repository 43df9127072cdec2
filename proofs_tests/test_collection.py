"""The lists of conftest.py name files that are there, and an install that is not current is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

import cerify
from proofs_tests.conftest import FIRST, FOLDERS, HERE, QUICK, ROOT, SINGLE, missing_links


@pytest.mark.parametrize("file", sorted({*FIRST, *QUICK, *SINGLE}))
def test_a_file_that_is_listed_is_there(file: str) -> None:
    assert (HERE / file).exists()


def test_the_quick_tests_are_of_every_chapter() -> None:
    assert {file.split("/")[1] for file in QUICK} == set(FOLDERS)
    subjects = ("conformance", "draw", "eql", "explain", "funnels", "grade", "nfab", "spark")
    assert [subject for subject in subjects if not any(subject in file for file in QUICK)] == []


def test_a_module_without_a_link_is_found(tmp_path: Path) -> None:
    """The links of an install, one of which is missing and one of which leads to a file that was renamed."""
    assert missing_links(Path(cerify.__file__).parent) == []
    for folder, place in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            link = tmp_path / place / path.relative_to(ROOT / folder)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    assert missing_links(tmp_path) == []
    (tmp_path / "cli.py").unlink()
    (tmp_path / "semantics" / "events.py").unlink()
    (tmp_path / "semantics" / "events.py").symlink_to(tmp_path / "renamed.py")
    assert missing_links(tmp_path) == ["workbench/cli.py", "semantics/events.py"]
