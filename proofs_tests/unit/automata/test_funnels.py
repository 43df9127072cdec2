"""The evaluator of funnels over columns, held against the definition."""

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cerify.automata import funnels
from cerify.automata.funnels import (
    MODES,
    FunnelRows,
    KeyedRows,
    find_chains,
    find_mode_levels,
    first_step_back,
    sorted_by_time,
)
from cerify.semantics.errors import IllFormed
from cerify.semantics.funnels import FUNNEL_MODES
from proofs_tests.campaigns.funnels import evaluator_differences
from proofs_tests.support import sampled

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.mark.parametrize("n", sampled([1, 2, 4], [2]))
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
from typing import Any
from cerify.semantics import packages
packages.installed = lambda name: name != "numba"
from cerify.automata import funnel_kernels
from proofs_tests.campaigns.funnels import evaluator_differences
assert not hasattr(funnel_kernels.chain_levels, "py_func")
print(sum(1 for n in (1, 3) for _ in evaluator_differences(Random(n), 100, n)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.stdout == "0\n", ran.stderr


def group(codes: Any, keys: int, times: Any, masks: Any) -> FunnelRows:
    """The rows of a few keys, which are one group."""
    rows = KeyedRows(keys, every=False)
    rows.add(0, np.array(codes, np.int32), times, masks)
    ((_, grouped),) = rows.groups()
    return grouped


def test_rows_of_many_keys_are_put_together_in_their_order() -> None:
    """They come in parts and go out in buckets; a row without a key or a step, or that is not kept, is left out."""
    random = np.random.default_rng(1)
    codes = random.integers(-1, 50_000, 200_000).astype(np.int32)
    positions = np.arange(200_000)
    kept, masks = positions % 3 > 0, (positions % 8).astype(np.int16)
    rows = KeyedRows(50_000, every=False)
    for low in range(0, 200_000, 70_000):
        part = slice(low, low + 70_000)
        rows.add(low, codes[part], positions[part] * 2, masks[part], kept[part])
    there = positions[kept & (codes >= 0) & (masks != 0)]
    groups = list(rows.groups())
    assert len(groups) == 4
    assert [first for first, _ in groups] == np.cumsum([0, *(one.keys for _, one in groups[:-1])]).tolist()
    assert (np.concatenate([one.rows for _, one in groups]) == there[np.argsort(codes[there], kind="stable")]).all()
    assert sum(one.keys for _, one in groups) == 50_000
    counts = np.concatenate([np.diff(one.starts) for _, one in groups])
    assert (counts == np.bincount(codes[there], minlength=50_000)).all()
    for _, one in groups:
        assert (one.times == one.rows * 2).all()
        assert (one.masks == one.rows % 8).all()


def test_times_that_go_back_are_found_within_a_key_only() -> None:
    rows = group([0, 1, 0, 1, 0], 3, np.array([5, 1, 6, 2, 4]), np.ones(5, np.int64))
    assert first_step_back(rows) == (2, 4)
    assert sorted_by_time(rows).rows.tolist() == [4, 0, 2, 1, 3]
    assert first_step_back(sorted_by_time(rows)) is None


def test_a_window_of_floats_and_none() -> None:
    rows = group([0, 0], 1, np.array([0.0, 0.25]), np.array([1, 2]))
    windows = (0.25, 0.2, None)
    levels = [find_chains(rows, 2, w, first=False, increasing=False).levels[0] for w in windows]
    assert levels == [2, 1, 2]


def test_an_unknown_mode_is_named() -> None:
    rows = group([], 1, np.arange(0), np.arange(0))
    with pytest.raises(IllFormed, match="no mode 'strict'"):
        find_mode_levels(rows, 2, 10, "strict")
