"""The evaluator of funnels over columns, held against the definition."""

import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cerify.automata import funnels
from cerify.automata.funnels import MODES, find_chains, find_mode_levels, first_step_back, group_rows, sorted_by_time
from cerify.semantics.errors import IllFormed
from cerify.semantics.funnels import FUNNEL_MODES
from proofs_tests.campaigns.funnels import evaluator_differences

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.mark.parametrize("n", [1, 2, 4])
def test_it_has_the_chains_and_levels_of_the_definition(n: int) -> None:
    assert list(evaluator_differences(Random(n), 400, n)) == []


def test_a_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = {**MODES, "strict_increase": MODES["windowFunnel"]}
    monkeypatch.setattr(funnels, "MODES", planted)
    assert {d.what.split()[0] for d in evaluator_differences(Random(2), 400, 2)} == {"strict_increase"}


def test_both_have_the_same_modes() -> None:
    assert set(MODES) == set(FUNNEL_MODES)


def test_python_runs_the_same_loops() -> None:
    """Where numba is not installed the loops are functions of Python over lists."""
    code = """
from random import Random
from cerify.semantics import packages
packages.installed = lambda name: name != "numba"
from cerify.automata import funnel_kernels
from proofs_tests.campaigns.funnels import evaluator_differences
assert not hasattr(funnel_kernels.chain_levels, "py_func")
print(sum(1 for n in (1, 3) for _ in evaluator_differences(Random(n), 100, n)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.stdout == "0\n", ran.stderr


def test_rows_of_many_keys_are_put_together_in_their_order() -> None:
    """More than 1024 keys are placed in two rounds."""
    random = np.random.default_rng(1)
    codes = random.integers(0, 5_000, 20_000).astype(np.int32)
    positions = np.arange(20_000)
    for kept in (None, positions % 3 > 0):
        rows = group_rows(codes, 5_000, positions * 2, positions % 8, kept)
        there = positions if kept is None else positions[kept]
        assert (rows.rows == there[np.argsort(codes[there], kind="stable")]).all()
        assert (rows.times == rows.rows * 2).all()
        assert (rows.masks == rows.rows % 8).all()
        assert (np.diff(rows.starts) == np.bincount(codes[there], minlength=5_000)).all()


def test_times_that_go_back_are_found_within_a_key_only() -> None:
    codes, times = np.array([0, 1, 0, 1, 0], np.int32), np.array([5, 1, 6, 2, 4])
    rows = group_rows(codes, 3, times, np.ones(5, np.int64))
    assert first_step_back(rows) == (2, 4)
    assert sorted_by_time(rows).rows.tolist() == [4, 0, 2, 1, 3]
    assert first_step_back(sorted_by_time(rows)) is None


def test_a_window_of_floats_and_none() -> None:
    times = np.array([0.0, 0.25])
    rows = group_rows(np.zeros(2, np.int32), 1, times, np.array([1, 2]))
    windows = (0.25, 0.2, None)
    levels = [find_chains(rows, 2, w, first=False, increasing=False).levels[0] for w in windows]
    assert levels == [2, 1, 2]


def test_an_unknown_mode_is_named() -> None:
    rows = group_rows(np.zeros(0, np.int32), 1, np.arange(0), np.arange(0))
    with pytest.raises(IllFormed, match="no mode 'strict'"):
        find_mode_levels(rows, 2, 10, "strict")
