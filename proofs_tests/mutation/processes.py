"""Work in processes that are forked from one that has the heavy libraries, and no cerify."""

from __future__ import annotations

import gc
import importlib
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO, TypeVar

from proofs_tests.mutation.targets import ROOT

T = TypeVar("T")

LIBRARIES = ("numpy", "pyarrow", "pyarrow.compute", "lark", "z3", "numba", "greenery", "jsonschema_rs", "rich", "click",
             "hypothesis", "jinja2")  # fmt: skip
MEMORY = 8 << 30


def in_processes(tasks: Iterable[T], work: Callable[[T, TextIO], None], jobs: int) -> Iterator[tuple[T, list[str]]]:
    """Each task, as it is done, with the lines that its process has written; `jobs` processes at a time."""
    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    assert "cerify" not in sys.modules, "mutants are made of what is not imported yet"
    gc.freeze()
    left = iter(tasks)
    running: dict[int, T] = {}
    with TemporaryDirectory() as folder:
        while True:
            while len(running) < jobs:
                try:
                    task = next(left)
                except StopIteration:
                    break
                running[_started(task, work, Path(folder))] = task
            if not running:
                return
            pid, _ = os.wait()
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            yield running.pop(pid), (Path(folder) / str(pid)).read_text(encoding="utf-8").splitlines()


def _started(task: T, work: Callable[[T, TextIO], None], folder: Path) -> int:
    """The process that works on a task, and writes to a file of its number."""
    if pid := os.fork():
        return pid
    try:
        os.setsid()  # a group of its own, which is killed with all that it started
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.chdir(ROOT)
        with (folder / str(os.getpid())).open("w", buffering=1, encoding="utf-8") as out:
            work(task, out)
    finally:
        os._exit(0)
