"""Whether the test of types finds a mutant: mypy with the mutant in the place of the module."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import local

from proofs_tests.mutation.mutants import Mutant, mutated
from proofs_tests.mutation.targets import ROOT, source

TYPES = "proofs_tests/test_architecture.py::test_checks_pass[types]"
"""The test that runs mypy."""


def with_type_errors(mutants: Sequence[Mutant], jobs: int) -> Iterator[Mutant]:
    """Those in which mypy finds an error that it does not find in the module; `jobs` processes at a time.

    Comments are lost in the text of a tree, so that mypy reports what a comment allows in the module as well.
    """
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        checker = _Checker(Path(folder))
        yield from (mutant for mutant, found in zip(mutants, pool.map(checker.finds, mutants), strict=True) if found)


class _Checker:
    """Runs mypy in several threads, each with a cache of its own in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own = local()
        self._of_module = cache(self._of_text)

    def finds(self, mutant: Mutant) -> bool:
        """Whether there is an error in the mutant that there is not in its module."""
        text = source(mutant.module)
        before = self._of_module(mutant.module, ast.unparse(ast.parse(text)))
        return not self._of_text(mutant.module, ast.unparse(mutated(mutant, text))) <= before

    def _of_text(self, module: str, text: str) -> frozenset[str]:
        """The errors with this text in the place of a module, without lines."""
        own = self._folder()
        (own / "mutant.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(own / "cache")]
        command += ["--shadow-file", module, str(own / "mutant.py")]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return frozenset(_errors(ran.stdout.splitlines()))

    def _folder(self) -> Path:
        """The folder of this thread, with what mypy knows of the modules as they are."""
        if not hasattr(self._own, "folder"):
            self._own.folder = Path(mkdtemp(dir=self.folder))
            if (ROOT / ".mypy_cache").exists():
                shutil.copytree(ROOT / ".mypy_cache", self._own.folder / "cache")
        folder: Path = self._own.folder
        return folder


def _errors(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if (found := re.fullmatch(r"(\S+?):\d+: (error: .*)", line)) is not None:
            yield f"{found[1]}: {found[2]}"
