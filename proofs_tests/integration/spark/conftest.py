"""One Spark session for all tests of this folder; without pyspark they are skipped.

Tests with a session are thorough; CI runs most of them in a step of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.python.authenticate.socketTimeout": "120s",  # in which a worker starts, on a machine that has much to do
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # so that keys end inside batches, and last over several
}

collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Makes the tests with a session thorough."""
    for item in items:
        of_session = isinstance(item, pytest.Function) and "spark" in item.fixturenames
        if of_session and item.path.parent == Path(__file__).parent:
            item.add_marker("thorough")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from cerify.spark.session import session

    folder: Path = tmp_path_factory.mktemp("spark")
    spark = session("local[2]", **SETTINGS, **{"spark.sql.warehouse.dir": str(folder / "warehouse")})
    yield spark
    spark.stop()
