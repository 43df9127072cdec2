"""The soak for a moment: counts are compared, and memory that grows is seen."""

from __future__ import annotations

import pytest

from proofs_tests import soak
from proofs_tests.soak import Memory, events, queries


@pytest.mark.parametrize("name", soak.QUERIES)
def test_the_counts_are_those_of_the_loops(name: str) -> None:
    done, found, _ = events(name, 20_000, 60, size=4_000)
    assert done == 20_000
    assert found > 100


def test_a_wrong_count_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "EVENTS", soak.EVENTS + 1)
    with pytest.raises(AssertionError, match=r"by key: .* matches"):
        events("by key", 20_000, 60, size=4_000)


def test_queries_are_decided() -> None:
    done, differ, _ = queries(40, 60, each=10)
    assert done == 40
    assert 20 < differ <= 40


def test_memory_that_grows_is_seen() -> None:
    assert Memory(list(range(100)), [500.0 + i % 7 for i in range(100)]).flat
    assert not Memory(list(range(100)), [500.0 + i for i in range(100)]).flat
