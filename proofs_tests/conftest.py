"""Tests run side by side, a file's in one process, since they share what they have made; so do those of Spark."""

from __future__ import annotations

import pytest

SPARK = "proofs_tests/integration/spark/"


@pytest.hookimpl(tryfirst=True)  # before what reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        file = item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group("spark" if SPARK in file else file))
