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

from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.list_kernels import BLOCK
from cerify.automata.evaluate.match_stores import ROOTS

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
    nclasses, nodes = len(tables.skip), classes.size * max(1, len(tables.marks)) + 1

    def run() -> int:
        refs, runs = np.zeros(states, np.int32), np.zeros(states, np.int64)
        refs[0], runs[0] = -1, 1
        roots = np.empty((ROOTS + tables.finals.size, 3), np.int64)
        inputs = (tables.skip, tables.begin, tables.marks, tables.finals)
        more = (tables.ended, tables.moving, tables.busy, np.empty((3, nodes), np.int32))
        scratch = (
            np.empty(states, np.int32), np.empty(states, np.int32), np.empty(states, np.int64),
            np.empty((len(tables.marks), 3), np.int64), np.empty(nclasses, np.int32),
            np.zeros((2 * nclasses, 7), np.int32), np.empty(2 * BLOCK + 1, np.int64),
        )  # fmt: skip
        update = found.update
        update.restype = ctypes.c_int64
        made: int = update(
            _pointer(classes), ctypes.c_int64(classes.size), ctypes.c_int32(states), ctypes.c_int32(nclasses),
            *map(_pointer, inputs), ctypes.c_int32(tables.finals.size), *map(_pointer, more), ctypes.c_int64(nodes),
            _pointer(refs), _pointer(runs), _pointer(roots), ctypes.c_int64(len(roots)), *map(_pointer, scratch),
        )  # fmt: skip
        return made

    return run


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
