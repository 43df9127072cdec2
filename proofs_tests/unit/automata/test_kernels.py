"""The loops of event expressions: four automata at once, over one array of classes or over its parts."""

import numpy as np
import pytest

from cerify.automata.dfa.kernels import advance_four, advance_one

STEP = np.array([[1, 2, 0], [2, 2, 1]], np.int32)
ACCEPTING = np.array([0, 1, 1], np.uint8)
STARTS = (0, 1, 2, 0)


@pytest.mark.parametrize("cut", [0, 3, 7])
def test_four_automata_are_four_times_one(cut: int) -> None:
    classes = np.array([0, 1, 1, 0, 1, 0, 0, 1, 0], np.int32)
    states, counts = np.array(STARTS, np.int64), np.zeros(4, np.int64)
    ends = [list[int]() for _ in STARTS]
    for base, part in ((0, classes[:cut]), (cut, classes[cut:])):
        out = np.zeros((4, part.size + 1), np.int64)
        advance_four(part, base, STEP, ACCEPTING, states, counts, *out)
        for k, found in enumerate(ends):
            found += [*out[k, : counts[k]]]
    for k, start in enumerate(STARTS):
        state, count, ends_ = (
            np.array([start], np.int64),
            np.zeros(1, np.int64),
            np.zeros(classes.size + 1, np.int64),
        )
        alone = list[int]()
        for base, part in ((0, classes[:cut]), (cut, classes[cut:])):
            advance_one(part, base, STEP, ACCEPTING, state, count, ends_)
            alone += [*ends_[: count[0]]]
        assert (states[k], ends[k]) == (state[0], alone)
