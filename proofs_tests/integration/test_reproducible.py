"""The same bytes of all that is generated, whatever Python it is and whatever seed it hashes texts with."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import cerify

ROOT = Path(__file__).parents[2]
NEEDED = "import click, greenery, jinja2, jsonschema, lark, networkx, numpy, psutil, pyarrow, pytest, rich, z3"


def generated(python: str, seed: int, folder: Path) -> dict[str, str]:
    """The digest of each artefact by its name, in a process of its own that runs the sources as they are."""
    about = folder / "cerify.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cerify\nVersion: {version('cerify')}\n")
    path = os.pathsep.join(map(str, (folder, Path(cerify.__file__).parents[1], ROOT)))
    ran = subprocess.run(
        [python, "-m", "proofs_tests.artefacts"],
        env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ran.returncode, ran.stderr
    return {name: digest for digest, name in (line.split("  ", 1) for line in ran.stdout.splitlines())}


def other_pythons() -> list[str]:
    """Other versions of Python that have what cerify needs; CERIFY_PYTHONS names more of them."""
    names = [*os.environ.get("CERIFY_PYTHONS", "").split(os.pathsep), *(f"python3.{minor}" for minor in (11, 12, 13))]
    found = {}
    for name in filter(None, names):
        try:
            asked = [name, "-c", f"{NEEDED}; import sys; print(sys.version_info[:2])"]
            ran = subprocess.run(asked, capture_output=True, text=True, check=False)
        except OSError:
            continue
        if not ran.returncode:
            found.setdefault(ran.stdout, name)
    found.pop(f"{sys.version_info[:2]}\n", None)
    return list(found.values())


@pytest.mark.thorough
def test_nothing_depends_on_the_hash_seed_or_the_python(tmp_path: Path) -> None:
    first = generated(sys.executable, 0, tmp_path)
    assert len(first) == 14
    for seed in (1, 2):
        assert generated(sys.executable, seed, tmp_path) == first
    for python in other_pythons():
        there = generated(python, 0, tmp_path)
        assert there == {name: digest for name, digest in first.items() if name in there}
