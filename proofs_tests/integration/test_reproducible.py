"""The same bytes of all that is generated, whatever Python it is and whatever seed it hashes texts with."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from proofs_tests.artefacts import generated

NEEDED = "import click, jinja2, jsonschema_rs, lark, networkx, numpy, psutil, pyarrow, pytest, rich, z3"


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
def test_nothing_depends_on_the_hash_seed_or_the_python() -> None:
    first = generated(sys.executable, 0)
    assert len(first) == 14
    for seed in (1, 2):
        assert generated(sys.executable, seed) == first
    for python in other_pythons():
        there = generated(python, 0)
        assert there == {name: digest for name, digest in first.items() if name in there}
