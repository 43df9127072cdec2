"""The update phase in C, where there is a compiler: loop.c, made in a folder of its own and loaded from there."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.evaluate.unwindowed_store import NODE, ROOTS

SOURCE = Path(__file__).with_name("loop.c")


@cache
def library() -> ctypes.CDLL | None:
    """The compiled loop, None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    path = Path(tempfile.mkdtemp()) / "loop.so"
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", path, SOURCE], check=True)
    return ctypes.CDLL(str(path))


def loop_in_c(classes: NDArray[np.int32], evaluator: CompiledCelEvaluator) -> Callable[[], object] | None:
    """The loop over a column of classes, with room for all nodes; None where there is no C compiler."""
    found = library()
    if found is None:
        return None
    tables, states = evaluator.transitions, evaluator.tables.final.size

    def run() -> int:
        ends, runs = np.full((states, 2), -1, np.int32), np.zeros(states, np.int64)
        ends[0], runs[0] = 0, 1
        tree = np.empty(classes.size * max(1, len(tables.marks)) + 1, NODE)
        roots = np.empty((ROOTS + tables.finals.size, 4), np.int64)
        scratch, numbers = (
            np.empty(4 * states + len(tables.marks), np.int32),
            np.empty(states + len(tables.marks)),
        )
        arrays = [_pointer(a) for a in (tables.skip, tables.begin, tables.marks, tables.finals)]
        more = [_pointer(a) for a in (tables.ended, tables.moving, tables.busy, tree, ends, runs, roots)]
        update = found.update
        update.restype = ctypes.c_int64
        nodes: int = update(
            _pointer(classes), ctypes.c_int64(classes.size), ctypes.c_int32(states), *arrays,
            ctypes.c_int32(tables.finals.size), *more, ctypes.c_int64(len(roots)), _pointer(scratch), _pointer(numbers),
        )  # fmt: skip
        return nodes

    return run


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
