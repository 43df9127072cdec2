"""The compiled loops run as Python, where an index out of bounds is an error; machine code writes over other memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent
FILES = (
    "evaluate/test_counting.py",
    "evaluate/test_evaluator.py",
    "evaluate/test_scope.py",
    "evaluate/test_states.py",
    "test_compiled.py",
    "test_dfa_evaluator.py",
    "nfab/test_agree.py",
    "row_pattern/test_compiled.py",
)


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
def test_the_loops_stay_within_their_arrays(file: str) -> None:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "not thorough", FOLDER / file]
    ran = subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-4000:]
