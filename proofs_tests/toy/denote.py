"""The meaning of words: which intervals of a stream are a match."""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.events import Stream
from proofs_tests.toy.syntax import Letter, Then, Word


def holds(word: Word, S: Stream, i: int, j: int) -> bool:
    """Whether the events from i to j, both inclusive, are the word."""
    match word:
        case Letter(type_):
            return i == j and S[i].type == type_
        case Then(left, right):
            return any(holds(left, S, i, k) and holds(right, S, k + 1, j) for k in range(i, j))
        case _:
            assert_never(word)
